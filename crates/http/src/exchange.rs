//! One request and its answer: the times and the counts that belong to it.

use units::{Bytes, Departure, Event, Group, Instant, Miss, Outcome, Picos};

use crate::redirect::Chain;
use crate::request::Meta;
use crate::response::RequestFacts;
use crate::rules::{BodyCheck, Wanted};
use crate::same::UrlKey;

/// A request on its way.
#[derive(Debug)]
pub struct Exchange {
    pub departure: Departure,
    pub sent: Instant,
    pub first_byte: Instant,
    pub blocked: Picos,
    /// Bytes of it that the kernel took, before TLS; of all its requests, if it was sent more than once.
    pub bytes_out: u64,
    /// Bytes of the request on its way that the kernel has not taken.
    pub unwritten: u64,
    /// How much its connection had written for the wire when its first byte left; `None` until then.
    pub written_before: Option<u64>,
    pub bytes_in: u64,
    /// The part of `bytes_in` that is body.
    pub body_in: u64,
    /// From its new connection being ready until the first byte; zero on a connection that was there before.
    pub waited: Picos,
    /// See [`Event::unread`] and [`Event::unread_bound`].
    pub unread: Picos,
    pub unread_bound: Picos,
    pub group: Group,
    pub asked: RequestFacts,
    /// The final status, once its head has come.
    pub status: u16,
    /// What its answer must be.
    pub rules: Wanted,
    /// When its request was written first; written then, it is the same again.
    pub written_at: Instant,
    /// How often it was sent again, since it was not the target's to answer.
    pub again: u8,
    /// The redirects that it has followed.
    pub chain: Option<Box<Chain>>,
    pub check: Option<Box<BodyCheck>>,
    /// Which URL it is, where bodies of the same URL are compared.
    pub url: Option<UrlKey>,
}

impl Exchange {
    /// What the generator itself took of its time, if it ends at `done`: see [`Event::tare`].
    pub fn tare(&self, done: Instant) -> Picos {
        let lateness = self.sent.since(self.departure.due) - self.blocked;
        lateness + self.unread.min(done.since(self.sent))
    }

    /// The record of how it ended at `done`.
    pub fn event(&self, outcome: Outcome, done: Instant) -> Event {
        Event {
            seq: self.departure.seq,
            due: self.departure.due,
            sent: self.sent,
            first_byte: self.first_byte,
            done,
            bytes_out: Bytes::new(self.bytes_out),
            bytes_in: Bytes::new(self.bytes_in),
            outcome,
            blocked: self.blocked,
            // No delay in reading is longer than the whole time since it left; with what the answer before it
            // may have lain unread, none is longer than all that is not known to be the generator's.
            unread: self.unread.min(done.since(self.sent)),
            unread_bound: self.unread_bound.min(done.since(self.departure.due) - self.tare(done)),
            group: self.group,
        }
    }

    /// The record of one that the generator could not carry to its end: its last request never left. An earlier
    /// one may have.
    pub fn missed(&self, why: Miss, now: Instant) -> Event {
        Event { sent: Instant::FAR, first_byte: Instant::FAR, ..self.event(Outcome::Missed(why), now) }
    }

    /// One that was begun at the clock's epoch and to which nothing has happened.
    #[cfg(any(test, feature = "fuzzed"))]
    pub fn begun(seq: u64) -> Self {
        let (departure, epoch) = (Departure { seq, due: Instant::EPOCH }, Instant::EPOCH);
        let meta = Meta { group: Group(0), asked: RequestFacts::default() };
        Self::leaving(departure, &meta, Wanted::BY_PLAN, Picos::ZERO, epoch)
    }

    /// One that was written and leaves now, after the plan's limits had held it back for so long.
    pub fn leaving(departure: Departure, meta: &Meta, rules: Wanted, blocked: Picos, now: Instant) -> Self {
        Self {
            departure,
            sent: now,
            first_byte: Instant::FAR,
            blocked,
            bytes_out: 0,
            unwritten: 0,
            written_before: None,
            bytes_in: 0,
            body_in: 0,
            waited: Picos::ZERO,
            unread: Picos::ZERO,
            unread_bound: Picos::ZERO,
            group: meta.group,
            asked: meta.asked,
            status: 0,
            rules,
            written_at: now,
            again: 0,
            chain: None,
            check: None,
            url: None,
        }
    }
}
