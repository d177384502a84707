//! One event as names and values, for sinks that write text. The names are those of docs/samples.md.

use crate::exporter::RunInfo;
use serde::Serialize;
use units::{Event, Instant, Outcome, OutcomeKey, Picos};

/// Times count from the run's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EventFields<'a> {
    pub seq: u64,
    /// Engine thread, from 0.
    pub thread: u16,
    /// Due in the warm-up: not in the figures.
    pub warmup: bool,
    pub due_ns: u64,
    /// Absent if it never left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_ns: Option<u64>,
    pub done_ns: u64,
    /// Only of what was answered or failed, as the figures of a run are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness_ns: Option<u64>,
    pub blocked_ns: u64,
    /// How long the answer lay unread, by the kernel's stamp; of what was answered or failed, as what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tare_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_ns: Option<u64>,
    pub bytes_out: u64,
    pub bytes_in: u64,
    /// `status`, `error`, `missed` or `cut_off`.
    pub class: &'static str,
    pub key: Key,
    /// Name of its group; absent in a run without groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a str>,
}

impl<'a> EventFields<'a> {
    pub fn of(thread: u16, event: &Event, run: &'a RunInfo) -> Self {
        let ended =
            matches!(event.outcome, Outcome::Status(_) | Outcome::Failed(_)) && event.sent != Instant::FAR;
        Self {
            seq: event.seq,
            thread,
            warmup: event.due < Instant::EPOCH + run.warmup,
            due_ns: event.due.since_epoch().as_nanos(),
            sent_ns: at(event.sent),
            first_byte_ns: at(event.first_byte),
            done_ns: event.done.since_epoch().as_nanos(),
            latency_ns: ended.then(|| event.latency().as_nanos()),
            service_ns: ended.then(|| event.service().as_nanos()),
            lateness_ns: event.lateness().map(Picos::as_nanos),
            blocked_ns: event.blocked.as_nanos(),
            unread_ns: ended.then(|| event.unread.as_nanos()),
            tare_ns: ended.then(|| event.tare().as_nanos()),
            net_ns: ended.then(|| event.net().as_nanos()),
            bytes_out: event.bytes_out.get(),
            bytes_in: event.bytes_in.get(),
            class: event.outcome.class().key(),
            key: Key(event.outcome.key()),
            group: group(event, run),
        }
    }
}

fn at(instant: Instant) -> Option<u64> {
    (instant != Instant::FAR).then(|| instant.since_epoch().as_nanos())
}

fn group<'a>(event: &Event, run: &'a RunInfo) -> Option<&'a str> {
    let last = run.groups.len().checked_sub(1)?;
    run.groups.get(usize::from(event.group.0).min(last)).map(String::as_str)
}

/// The code or the cause, as `outcomes` in `result.json` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(pub OutcomeKey);

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Key {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
