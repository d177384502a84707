//! Events for tests.

use units::{Bytes, Cause, Event, Group, Instant, Miss, Outcome, Picos};

pub fn at(ns: u64) -> Instant {
    Instant::EPOCH + Picos::from_nanos(ns)
}

/// A complete answer with status 200, 10 bytes out and 20 in; the first byte came halfway.
pub fn answer(seq: u64, due_ns: u64, sent_ns: u64, done_ns: u64) -> Event {
    Event {
        seq,
        due: at(due_ns),
        sent: at(sent_ns),
        first_byte: at(sent_ns.midpoint(done_ns)),
        done: at(done_ns),
        bytes_out: Bytes::new(10),
        bytes_in: Bytes::new(20),
        outcome: Outcome::Status(200),
        blocked: Picos::ZERO,
        unread: Picos::ZERO,
        unread_bound: Picos::ZERO,
        group: Group(0),
    }
}

pub fn failed(seq: u64, due_ns: u64, done_ns: u64, cause: Cause) -> Event {
    Event {
        outcome: Outcome::Failed(cause),
        first_byte: Instant::FAR,
        ..answer(seq, due_ns, due_ns, done_ns)
    }
}

/// Given up when it was due: there was no port.
pub fn missed(seq: u64, due_ns: u64) -> Event {
    Event {
        outcome: Outcome::Missed(Miss::NoPort),
        sent: Instant::FAR,
        first_byte: Instant::FAR,
        bytes_out: Bytes::ZERO,
        bytes_in: Bytes::ZERO,
        ..answer(seq, due_ns, due_ns, due_ns)
    }
}
