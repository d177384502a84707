//! Running counts. Each worker owns its counters and is the only one that writes them: a plain store, no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

const STATUSES: usize = 1_000;

/// One worker's counters.
pub(crate) struct Counters {
    pub accepted: AtomicU64,
    /// Requests read to their end.
    pub requests: AtomicU64,
    /// Requests that ended without a complete answer.
    pub unanswered: AtomicU64,
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
    pub handshakes: AtomicU64,
    /// Handshakes that failed.
    pub handshakes_failed: AtomicU64,
    /// Records that found no room on their way to the truth file.
    pub truth_lost: AtomicU64,
    statuses: Box<[AtomicU64]>,
}

impl Counters {
    pub fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            accepted: zero(),
            requests: zero(),
            unanswered: zero(),
            bytes_in: zero(),
            bytes_out: zero(),
            handshakes: zero(),
            handshakes_failed: zero(),
            truth_lost: zero(),
            statuses: (0..STATUSES).map(|_| zero()).collect(),
        }
    }

    pub fn answered(&self, status: u16) {
        if let Some(counter) = self.statuses.get(usize::from(status)) {
            add(counter, 1);
        }
    }
}

/// Adds without a locked instruction: only for the counter's one owner.
pub(crate) fn add(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}

/// The target's counts since it started, or since they were reset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub accepted: u64,
    /// Connections open now; a reset does not change it.
    pub open: u64,
    pub open_peak: u64,
    /// Requests read to their end.
    pub requests: u64,
    /// Complete answers by status, ascending; statuses that did not occur are left out.
    pub answers: Vec<(u16, u64)>,
    /// Requests that ended without a complete answer.
    pub unanswered: u64,
    /// Bytes of HTTP, inside TLS.
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub handshakes: u64,
    pub handshakes_failed: u64,
    pub truth_lost: u64,
}

impl Stats {
    /// Answers with this status.
    pub fn status(&self, status: u16) -> u64 {
        self.answers.iter().find(|(s, _)| *s == status).map_or(0, |(_, count)| *count)
    }

    pub(crate) fn to_json(&self) -> String {
        let answers: Vec<String> = self.answers.iter().map(|(s, n)| format!("\"{s}\":{n}")).collect();
        format!(
            "{{\"requests\":{},\"answers\":{{{}}},\"unanswered\":{},\"accepted\":{},\"open\":{},\
             \"open_peak\":{},\"bytes_in\":{},\"bytes_out\":{},\"handshakes\":{},\"handshakes_failed\":{},\
             \"truth_lost\":{}}}\n",
            self.requests,
            answers.join(","),
            self.unanswered,
            self.accepted,
            self.open,
            self.open_peak,
            self.bytes_in,
            self.bytes_out,
            self.handshakes,
            self.handshakes_failed,
            self.truth_lost,
        )
    }

    fn minus(mut self, base: &Self) -> Self {
        self.accepted -= base.accepted;
        self.requests -= base.requests;
        self.unanswered -= base.unanswered;
        self.bytes_in -= base.bytes_in;
        self.bytes_out -= base.bytes_out;
        self.handshakes -= base.handshakes;
        self.handshakes_failed -= base.handshakes_failed;
        self.truth_lost -= base.truth_lost;
        for (status, count) in &mut self.answers {
            *count -= base.status(*status);
        }
        self.answers.retain(|(_, count)| *count > 0);
        self
    }
}

/// All workers' counters, and what they stood at when they were last reset.
pub(crate) struct Board {
    workers: Vec<Counters>,
    base: Mutex<Stats>,
    /// Open connections over all workers, for the peak: changed once a connection, not once a request.
    pub open: AtomicU64,
    pub open_peak: AtomicU64,
}

impl Board {
    pub fn new(workers: usize) -> Self {
        Self {
            workers: (0..workers).map(|_| Counters::new()).collect(),
            base: Mutex::new(Stats::default()),
            open: AtomicU64::new(0),
            open_peak: AtomicU64::new(0),
        }
    }

    pub fn worker(&self, index: usize) -> &Counters {
        &self.workers[index]
    }

    pub fn opened(&self) {
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.open_peak.fetch_max(open, Ordering::Relaxed);
    }

    pub fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    fn total(&self) -> Stats {
        let sum = |field: fn(&Counters) -> &AtomicU64| -> u64 {
            self.workers.iter().map(|w| field(w).load(Ordering::Relaxed)).sum()
        };
        let status =
            |s: usize| -> u64 { self.workers.iter().map(|w| w.statuses[s].load(Ordering::Relaxed)).sum() };
        Stats {
            accepted: sum(|w| &w.accepted),
            open: self.open.load(Ordering::Relaxed),
            open_peak: self.open_peak.load(Ordering::Relaxed),
            requests: sum(|w| &w.requests),
            answers: (0..STATUSES).map(|s| (s as u16, status(s))).filter(|(_, n)| *n > 0).collect(),
            unanswered: sum(|w| &w.unanswered),
            bytes_in: sum(|w| &w.bytes_in),
            bytes_out: sum(|w| &w.bytes_out),
            handshakes: sum(|w| &w.handshakes),
            handshakes_failed: sum(|w| &w.handshakes_failed),
            truth_lost: sum(|w| &w.truth_lost),
        }
    }

    pub fn read(&self) -> Stats {
        let base = self.base.lock().unwrap_or_else(PoisonError::into_inner);
        self.total().minus(&base)
    }

    /// Everything since the start, whatever was reset.
    pub fn read_all(&self) -> Stats {
        self.total()
    }

    pub fn reset(&self) {
        let mut base = self.base.lock().unwrap_or_else(PoisonError::into_inner);
        *base = self.total();
        self.open_peak.store(self.open.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}
