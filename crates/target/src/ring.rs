//! The way of a record from a worker to the truth writer: a ring of atomics with one writer and one reader.
//!
//! ```text
//! worker ── push: twelve stores ──► [ 65 536 records ] ──► writer thread, which looks every 20 ms
//! ```
//!
//! A push costs no lock and no system call, so that stamping does not move what is stamped. A full ring loses
//! the record and the worker counts it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use units::{Instant, Picos};

const WORDS: usize = 12;
const CAPACITY: usize = 65_536;

/// What became of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The head was complete, as read.
    pub arrival: Instant,
    /// The whole request was; the same as `arrival` without a body.
    pub complete: Instant,
    /// The last byte of the request could be read, by the kernel's stamp; the same as `complete` where there is
    /// none.
    pub readable: Instant,
    /// Just before the first byte of the answer was written; `FAR` if none was.
    pub answer: Instant,
    /// Just before its last piece was written; `FAR` as above.
    pub written: Instant,
    /// What the target took of the TLS handshake before this request, where it is its connection's first.
    pub prepared: Picos,
    /// The connection was accepted.
    pub accepted: Instant,
    /// Which connection, counted from 0 in the order they were accepted.
    pub conn: u64,
    /// 0 if there was no answer.
    pub status: u16,
    pub how: How,
    /// Bytes of HTTP, head included.
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// From `X-Tare-Seq` or `?seq=`.
    pub seq: Option<u64>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum How {
    /// Answered in full.
    Whole = 0,
    /// Reset before or within the answer, as programmed.
    Reset = 1,
    /// Half a body and a close, as programmed.
    Half = 2,
    /// Never answered, as programmed.
    Silent = 3,
    /// Answered with bad framing, as programmed.
    Garbage = 4,
    /// The client or the end of the run came before the answer was complete.
    Gone = 5,
}

impl How {
    pub const ALL: [Self; 6] =
        [Self::Whole, Self::Reset, Self::Half, Self::Silent, Self::Garbage, Self::Gone];

    /// The word in the truth file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Reset => "reset",
            Self::Half => "half",
            Self::Silent => "silent",
            Self::Garbage => "garbage",
            Self::Gone => "gone",
        }
    }
}

impl Record {
    fn to_words(self) -> [u64; WORDS] {
        let code = u64::from(self.status) | (self.how as u64) << 16;
        [
            self.arrival.since_epoch().as_picos(),
            self.complete.since_epoch().as_picos(),
            self.answer.since_epoch().as_picos(),
            self.accepted.since_epoch().as_picos(),
            self.conn,
            code,
            self.bytes_in,
            self.bytes_out,
            self.seq.unwrap_or(u64::MAX),
            self.readable.since_epoch().as_picos(),
            self.written.since_epoch().as_picos(),
            self.prepared.as_picos(),
        ]
    }

    fn from_words(words: [u64; WORDS]) -> Self {
        let [
            arrival,
            complete,
            answer,
            accepted,
            conn,
            code,
            bytes_in,
            bytes_out,
            seq,
            readable,
            written,
            prepared,
        ] = words;
        Self {
            arrival: Instant::from_picos(arrival),
            complete: Instant::from_picos(complete),
            answer: Instant::from_picos(answer),
            accepted: Instant::from_picos(accepted),
            conn,
            status: code as u16,
            how: How::ALL[(code >> 16) as usize % How::ALL.len()],
            bytes_in,
            bytes_out,
            seq: (seq != u64::MAX).then_some(seq),
            readable: Instant::from_picos(readable),
            written: Instant::from_picos(written),
            prepared: Picos::from_picos(prepared),
        }
    }
}

struct Ring {
    slots: Box<[[AtomicU64; WORDS]]>,
    written: AtomicUsize,
    read: AtomicUsize,
}

/// The worker's end.
pub(crate) struct Producer {
    ring: Arc<Ring>,
    written: usize,
    /// The reader was at least this far when last looked at.
    read: usize,
}

/// The writer thread's end.
pub(crate) struct Consumer {
    ring: Arc<Ring>,
}

pub(crate) fn ring() -> (Producer, Consumer) {
    let slots = (0..CAPACITY).map(|_| [const { AtomicU64::new(0) }; WORDS]).collect();
    let ring = Arc::new(Ring { slots, written: AtomicUsize::new(0), read: AtomicUsize::new(0) });
    (Producer { ring: ring.clone(), written: 0, read: 0 }, Consumer { ring })
}

impl Producer {
    /// False when the ring is full.
    pub fn push(&mut self, record: Record) -> bool {
        if self.written.wrapping_sub(self.read) >= CAPACITY {
            self.read = self.ring.read.load(Ordering::Acquire);
            if self.written.wrapping_sub(self.read) >= CAPACITY {
                return false;
            }
        }
        let slot = &self.ring.slots[self.written % CAPACITY];
        for (word, value) in slot.iter().zip(record.to_words()) {
            word.store(value, Ordering::Relaxed);
        }
        self.written = self.written.wrapping_add(1);
        self.ring.written.store(self.written, Ordering::Release);
        true
    }
}

impl Consumer {
    /// Takes everything that is there.
    pub fn drain(&mut self, mut each: impl FnMut(Record)) {
        let written = self.ring.written.load(Ordering::Acquire);
        let mut read = self.ring.read.load(Ordering::Relaxed);
        while read != written {
            let slot = &self.ring.slots[read % CAPACITY];
            each(Record::from_words(std::array::from_fn(|i| slot[i].load(Ordering::Relaxed))));
            read = read.wrapping_add(1);
        }
        self.ring.read.store(read, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(n: u64) -> Record {
        Record {
            arrival: Instant::from_picos(n),
            complete: Instant::from_picos(n + 1),
            readable: Instant::from_picos(n),
            answer: Instant::FAR,
            written: Instant::FAR,
            prepared: Picos::from_picos(n / 3),
            accepted: Instant::from_picos(n / 2),
            conn: n * 3,
            status: 503,
            how: How::Garbage,
            bytes_in: n,
            bytes_out: n + 2,
            seq: n.is_multiple_of(2).then_some(n),
        }
    }

    #[test]
    fn records_cross_threads_whole_and_in_order() {
        let (mut producer, mut consumer) = ring();
        let count = 300_000;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for n in 0..count {
                    while !producer.push(record(n)) {
                        std::thread::yield_now();
                    }
                }
            });
            let mut next = 0;
            while next < count {
                consumer.drain(|got| {
                    assert_eq!(got, record(next));
                    next += 1;
                });
                std::thread::yield_now();
            }
        });
    }

    #[test]
    fn a_full_ring_says_so() {
        let (mut producer, mut consumer) = ring();
        let taken = (0..CAPACITY as u64 + 5).filter(|n| producer.push(record(*n))).count();
        assert_eq!(taken, CAPACITY);
        consumer.drain(|_| {});
        assert!(producer.push(record(0)));
    }
}
