//! Rows made by hand, for the tests of the run folder.

use measure::{HealthSample, IntervalData, IntervalRow};
use std::time::{Duration, SystemTime};
use units::{Bytes, EngineCounters, Event, Group, Instant, Miss, Outcome, Picos};

/// A request due at `due_ms` that left 1 ms late and was answered `service_ms` later.
fn answered(due_ms: u64, service_ms: u64, group: u64) -> Event {
    let at = |millis| Instant::EPOCH + Picos::from_millis(millis);
    Event {
        seq: 0,
        due: at(due_ms),
        sent: at(due_ms + 1),
        first_byte: at(due_ms + 1 + service_ms),
        done: at(due_ms + 1 + service_ms),
        bytes_out: Bytes::new(100),
        bytes_in: Bytes::new(600),
        outcome: Outcome::Status(200),
        blocked: Picos::ZERO,
        unread: Picos::ZERO,
        unread_bound: Picos::ZERO,
        group: Group(group as u16),
    }
}

/// The n-th second of a run: n + 1 answers of 9 ms, of two names in turn, and one departure without a port.
pub fn row(n: u64) -> IntervalRow {
    let mut data = Box::new(IntervalData::new(2));
    (0..=n).for_each(|k| data.event(&answered(n * 1000, 9, k % 2)));
    data.missed(Miss::NoPort, 1);
    IntervalRow {
        index: n,
        start: Picos::from_secs(n),
        length: Picos::from_secs(1),
        data,
        counters: EngineCounters { offered: n + 1, due: n + 2, open: 64, ..EngineCounters::default() },
        starved: 0,
        health: Some(HealthSample { span_ns: 1_000_000_000, rss_bytes: 4096, ..HealthSample::default() }),
    }
}

pub fn result() -> store::RunResult {
    store::RunResult {
        schema: store::schema::SCHEMA.to_owned(),
        engine: "http".to_owned(),
        ..store::RunResult::default()
    }
}

pub fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_176_000)
}
