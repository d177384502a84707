//! Records passed between crates, and the `Record` trait.
//!
//! ```text
//! schedule ── Departure ──► engine ── Event ──► measure
//!
//!   due ──► (blocked) ──► (own lateness) ──► sent ──► first_byte ──► (readable) ──► done
//!    └──────────── lateness ─────────────────┘└─────────────── service ──────────────┘
//!    └──────────────────────────── latency (gross) ──────────────────────────────────┘
//!                                                                      └── unread ───┘
//!   tare = own lateness + unread          net = gross − tare
//! ```

use crate::bytes::Bytes;
use crate::engine_counters::EngineCounters;
use crate::outcome::{Fate, Miss, Outcome};
use crate::picos::{Instant, Picos};

/// One thing that shall leave at one time. Made by `schedule`, carried out by an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Position in the whole schedule, from 0; unique over all shares.
    pub seq: u64,
    /// When it shall leave.
    pub due: Instant,
}

/// What became of one departure. Fixed size, `Copy`, no strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub seq: u64,
    /// When it should have left: from the schedule (open loop), or when its connection became free (closed
    /// loop).
    pub due: Instant,
    /// When the generator first acted on the wire for it: `connect()` if a connection had to be opened,
    /// otherwise the first write. `Instant::FAR` if it never left.
    pub sent: Instant,
    /// When the first byte of the answer was read; `Instant::FAR` if none was.
    pub first_byte: Instant,
    /// When the outcome was known.
    pub done: Instant,
    /// Bytes of HTTP (before TLS) written and read for it, heads included.
    pub bytes_out: Bytes,
    pub bytes_in: Bytes,
    pub outcome: Outcome,
    /// The part of `sent − due` in which the plan's own limit on connections held it back: the target's
    /// slowness, not the generator's lateness.
    pub blocked: Picos,
    /// How long the last byte of the answer lay unread in this machine, by the kernel's receive stamp: the
    /// generator's own delay after the target was done. Delays in reading what a new connection needed first
    /// (proxy, handshake) are added, and those in letting a body go that waited for a 100 (Continue).
    pub unread: Picos,
    /// How much longer the generator may have delayed the answer, where no stamp tells: at worst this, perhaps
    /// nothing.
    pub unread_bound: Picos,
    /// Which name or URL group it counts for.
    pub group: Group,
}

impl Event {
    /// A departure that never left, known at `done`. What did leave adds to it when, and what came back.
    pub const fn unsent(departure: Departure, outcome: Outcome, done: Instant) -> Self {
        Self {
            seq: departure.seq,
            due: departure.due,
            sent: Instant::FAR,
            first_byte: Instant::FAR,
            done,
            bytes_out: Bytes::ZERO,
            bytes_in: Bytes::ZERO,
            outcome,
            blocked: Picos::ZERO,
            unread: Picos::ZERO,
            unread_bound: Picos::ZERO,
            group: Group(0),
        }
    }

    /// `done − due`: the gross time.
    #[inline]
    pub fn latency(&self) -> Picos {
        self.done.since(self.due)
    }
    /// `done − sent`.
    #[inline]
    pub fn service(&self) -> Picos {
        self.done.since(self.sent)
    }
    /// `sent − due`; `None` if it never left.
    #[inline]
    pub fn lateness(&self) -> Option<Picos> {
        (self.sent != Instant::FAR).then(|| self.sent.since(self.due))
    }
    /// The part of the lateness that is the generator's own: `sent − due − blocked`.
    #[inline]
    pub fn own_lateness(&self) -> Option<Picos> {
        self.lateness().map(|lateness| lateness - self.blocked)
    }
    /// What the generator itself took of the gross time: its own lateness and the time that the answer lay
    /// unread. What is merely bounded is no part of it.
    #[inline]
    pub fn tare(&self) -> Picos {
        (self.own_lateness().unwrap_or(Picos::ZERO) + self.unread).min(self.latency())
    }
    /// `gross − tare`: what the target and the network took.
    #[inline]
    pub fn net(&self) -> Picos {
        self.latency() - self.tare()
    }
}

/// Index of a name or URL group; the last of a table stands for "other".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Group(pub u16);

impl Group {
    /// Names that figures are kept for; where there are more, the last group is [`Group::OTHER`].
    pub const MOST_NAMES: usize = 63;
    /// The name of the group that has the requests of all further names.
    pub const OTHER: &'static str = "other";

    /// Whether the last of these groups has the requests of further names.
    pub fn are_folded<'a>(mut names: impl ExactSizeIterator<Item = &'a str>) -> bool {
        names.len() == Self::MOST_NAMES + 1 && names.nth(Self::MOST_NAMES) == Some(Self::OTHER)
    }
}

/// Where in its life a request was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Lookup,
    Connect,
    Tls,
    /// From the first act of connecting until a request may be sent: connect, proxy and handshake together.
    Ready,
    Send,
    FirstByte,
    Body,
}

/// Where an engine thread puts what it learns. One per thread; nothing here locks or allocates.
pub trait Record {
    /// A departure ended.
    fn event(&mut self, event: &Event);
    /// `count` departures never left for the same reason; for the rest of a schedule that ends early.
    fn missed(&mut self, why: Miss, count: u64);
    /// The same of requests that had been due for `had` at least: their answers would have taken longer.
    fn given_up(&mut self, why: Miss, count: u64, _had: Picos) {
        self.missed(why, count);
    }
    /// `count` frames ended like this at once, in the same call: for loads without due times, where there is
    /// nothing to be said of each. They count in the interval that is open.
    fn frames(&mut self, fate: Fate, count: u64, bytes: Bytes);
    /// A phase of a connection's life took this long (`Lookup`, `Connect`, `Tls` and `Ready`
    /// are kept, and `FirstByte` of a connection's first request: from `Ready` until the first byte).
    fn phase(&mut self, phase: Phase, took: Picos);
    /// The gap before a frame that arrived was so far from the one that was asked for. Of frames that leave,
    /// gaps are known from their events.
    fn gap_error(&mut self, _error: Picos) {}
    /// The engine's loop stood still for this long from `at` on, though it had neither work for it nor meant to
    /// wait.
    fn pause(&mut self, _at: Instant, _length: Picos) {}
    /// Called once a round: hands the interval over when it is over.
    fn tick(&mut self, now: Instant, counters: &EngineCounters);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_splits_into_blocked_and_own() {
        let at = |nanos| Instant::EPOCH + Picos::from_nanos(nanos);
        let event = Event {
            seq: 0,
            due: at(100),
            sent: at(350),
            first_byte: at(500),
            done: at(700),
            bytes_out: Bytes::ZERO,
            bytes_in: Bytes::ZERO,
            outcome: Outcome::Status(200),
            blocked: Picos::from_nanos(200),
            unread: Picos::from_nanos(30),
            unread_bound: Picos::ZERO,
            group: Group(0),
        };
        assert_eq!(event.latency().as_nanos(), 600);
        assert_eq!(event.service().as_nanos(), 350);
        assert_eq!(event.lateness().unwrap().as_nanos(), 250);
        assert_eq!(event.own_lateness().unwrap().as_nanos(), 50);
        assert_eq!((event.tare().as_nanos(), event.net().as_nanos()), (80, 520));
        let never = Event { sent: Instant::FAR, ..event };
        assert_eq!(never.lateness(), None);
    }

    #[test]
    fn names_are_folded_if_the_last_of_one_too_many_is_other() {
        let names = |count: usize, last: &'static str| {
            let names = std::iter::repeat_n("name", count - 1).chain([last]).collect::<Vec<_>>();
            Group::are_folded(names.into_iter())
        };
        assert!(names(64, "other"));
        assert!(!names(64, "name") && !names(63, "other") && !names(65, "other"));
        assert!(!Group::are_folded(std::iter::empty()));
    }
}
