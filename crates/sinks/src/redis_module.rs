//! A run of which Redis has only what the FPGA module wrote there by itself (hdl/session/session_redis.sv),
//! made into rows as a collector does: for `tare report redis://HOST/RUN`.
//!
//! ```text
//! tare:RUN:module   stream   an entry for 40 departures: `events`, 40 times 32 bytes; id n-0, n from 1
//! ```
//!
//! The lowest byte of a number comes first. Times but `due` are ticks of 8 ns after that.
//!
//! | bytes | | bytes | |
//! |---|---|---|---|
//! | 0–5 | due, in ticks | 16–19 | sent |
//! | 6 | outcome; 255: this is no event | 20–23 | connected |
//! | 8–9, 10–11 | session, status | 24–27 | first byte |
//! | 12–15 | bytes of the body | 28–31 | done |

use crate::exporter::SinkError;
use crate::place::Place;
use crate::redis_link::Link;
use crate::redis_streams::{exists, text};
use measure::{IntervalRow, Settings, recorders};
use redis::Value;
use units::{Bytes, Cause, Departure, EngineCounters, Event, Instant, Miss, Outcome, Picos, Record};

/// Of the module's clock.
const TICK: Picos = Picos::from_nanos(8);
const EVENT_BYTES: usize = 32;
const NO_EVENT: u8 = 255;
/// Entries asked for at once: some hundred kilobytes.
const PAGE: &str = "256";

/// What there is of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub events: u64,
    pub commands: u64,
    /// The number of the last command: so many had been sent, at least.
    pub last: u64,
    /// The lowest due time.
    first_due: Option<u64>,
}

impl Found {
    pub fn lost(&self) -> u64 {
        self.last.saturating_sub(self.commands)
    }
}

/// The module's stream of a run.
pub struct ModuleStream<'a> {
    pub place: &'a Place,
    pub key: String,
}

impl ModuleStream<'_> {
    pub fn is_there(&self, link: &mut Link) -> Result<bool, SinkError> {
        exists(link, &self.key)
    }

    /// Gives `sink` every interval, from the first departure's due time on.
    pub fn rows(
        &self,
        link: &mut Link,
        mut sink: impl FnMut(&IntervalRow) -> Result<(), SinkError>,
    ) -> Result<Found, SinkError> {
        let mut found = Found::default();
        self.each(link, |number, events| {
            found.commands += 1;
            found.last = number;
            for event in events {
                found.events += 1;
                found.first_due = Some(found.first_due.map_or(event.due, |due| due.min(event.due)));
            }
            Ok(())
        })?;
        let origin = found.first_due.unwrap_or(0);
        let settings = Settings { answered: true, simulated: true, ..Settings::from_origin(Instant::EPOCH) };
        let (mut collector, recorders) = recorders(settings);
        let mut counters = EngineCounters::default();
        let mut now = Instant::EPOCH;
        let mut outcome = Ok(());
        let mut take = |row: &IntervalRow| {
            if outcome.is_ok() {
                outcome = sink(row);
            }
        };
        for mut recorder in recorders {
            let mut seq = 0;
            self.each(link, |_, events| {
                for stored in events {
                    let event = stored.event(seq, origin);
                    seq += 1;
                    now = now.max(event.done);
                    // What ends in a new interval closes the one before.
                    recorder.tick(now, &counters);
                    collector.poll(now, &mut take);
                    counters.offered += 1;
                    counters.due += 1;
                    recorder.event(&event);
                }
                Ok(())
            })?;
            recorder.tick(now, &counters);
        }
        collector.finish(now, &mut take);
        outcome.map(|()| found)
    }

    /// All entries in their order: their numbers, and their events.
    fn each(
        &self,
        link: &mut Link,
        mut take: impl FnMut(u64, &mut dyn Iterator<Item = Stored>) -> Result<(), SinkError>,
    ) -> Result<(), SinkError> {
        let mut from = 1;
        loop {
            let asked = ["XRANGE", &self.key, &format!("{from}-0"), "+", "COUNT", PAGE];
            let entries = match link.ask(&asked)? {
                Value::Array(entries) => entries,
                other => return Err(link.strange("XRANGE", &other)),
            };
            if entries.is_empty() {
                return Ok(());
            }
            for entry in &entries {
                let read = read_entry(entry).filter(|(number, _)| *number >= from);
                let (number, bytes) = read.ok_or_else(|| self.damaged())?;
                take(number, &mut bytes.chunks_exact(EVENT_BYTES).filter_map(Stored::read))?;
                from = number + 1;
            }
        }
    }

    fn damaged(&self) -> SinkError {
        self.place.refused(format!("an entry of {} is not what the module writes", self.key))
    }
}

fn read_entry(entry: &Value) -> Option<(u64, &[u8])> {
    let Value::Array(entry) = entry else { return None };
    let [id, Value::Array(fields)] = entry.as_slice() else { return None };
    let number = text(id).split('-').next()?.parse().ok()?;
    match fields.as_slice() {
        [name, Value::BulkString(events)] if text(name) == "events" => Some((number, events)),
        _ => None,
    }
}

/// A departure as the module wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stored {
    due: u64,
    outcome: u8,
    status: u16,
    body: u32,
    sent: u32,
    first: u32,
    done: u32,
}

impl Stored {
    /// `None`: the place is empty.
    fn read(bytes: &[u8]) -> Option<Self> {
        let number = |from: usize, count: usize| {
            bytes[from..from + count].iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let word = |from| number(from, 4) as u32;
        let stored = Self {
            due: number(0, 6),
            outcome: bytes[6],
            status: number(10, 2) as u16,
            body: word(12),
            sent: word(16),
            first: word(24),
            done: word(28),
        };
        (stored.outcome != NO_EVENT).then_some(stored)
    }

    /// Times count from the due time of the first departure.
    fn event(&self, seq: u64, origin: u64) -> Event {
        let at = |ticks: u64| Instant::EPOCH + TICK.saturating_mul(ticks.saturating_sub(origin));
        let after = |ticks: u32| at(self.due + u64::from(ticks));
        let outcome = self.outcome();
        let event = Event::unsent(Departure { seq, due: at(self.due) }, outcome, after(self.done));
        if matches!(outcome, Outcome::Missed(_)) {
            return event;
        }
        Event {
            // What ended before it left left at its end.
            sent: after(if self.sent > 0 { self.sent } else { self.done }),
            first_byte: if self.first > 0 { after(self.first) } else { Instant::FAR },
            bytes_in: Bytes::new(self.body.into()),
            ..event
        }
    }

    /// In the words of every engine; the numbers are `outcome_e`'s (session_engine_pkg.sv).
    fn outcome(&self) -> Outcome {
        // With a connection for each request, it may not have been there; the stream does not say whether the
        // load was such a one.
        let by_part = |first_byte, body| Outcome::Failed(if self.first > 0 { body } else { first_byte });
        match self.outcome {
            0 => Outcome::Status(self.status),
            1 => Outcome::Missed(Miss::NoConnection),
            2 => Outcome::Failed(Cause::ExpectStatus),
            3 => Outcome::Failed(Cause::ExpectBody),
            4 => Outcome::Failed(Cause::FramingHead),
            5 => Outcome::Failed(Cause::FramingHole),
            6 => by_part(Cause::FirstByteClosed, Cause::BodyClosed),
            7 => by_part(Cause::FirstByteTimeout, Cause::BodyTimeout),
            8 => by_part(Cause::FirstByteReset, Cause::BodyReset),
            9 => Outcome::Failed(Cause::ConnectRefused),
            10 => Outcome::Failed(Cause::ConnectUnreachable),
            12 => Outcome::Failed(Cause::ExpectChecksum),
            _ => Outcome::Failed(Cause::SocketOther),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// due 0x0102_0304_0506, done, session 7, status 200, 60 bytes; sent 10, connected 0, first 300, done 400.
    const BYTES: [u8; EVENT_BYTES] = [
        6, 5, 4, 3, 2, 1, 0, 0, 7, 0, 200, 0, 60, 0, 0, 0, //
        10, 0, 0, 0, 0, 0, 0, 0, 0x2c, 1, 0, 0, 0x90, 1, 0, 0,
    ];

    #[test]
    fn an_event_has_its_numbers_lowest_byte_first() {
        let stored = Stored::read(&BYTES).unwrap();
        assert_eq!((stored.due, stored.status, stored.body), (0x0102_0304_0506, 200, 60));
        let event = stored.event(3, stored.due - 5);
        let ticks = |ticks: u64| Instant::EPOCH + Picos::from_nanos(8 * ticks);
        assert_eq!((event.seq, event.outcome), (3, Outcome::Status(200)));
        assert_eq!((event.due, event.sent), (ticks(5), ticks(15)));
        assert_eq!((event.first_byte, event.done), (ticks(305), ticks(405)));
        assert_eq!(Stored::read(&[255; EVENT_BYTES]), None);
    }

    #[test]
    fn what_failed_says_in_which_part() {
        let of = |outcome, first| Stored { outcome, first, ..Stored::read(&BYTES).unwrap() }.outcome();
        assert_eq!(of(1, 0), Outcome::Missed(Miss::NoConnection));
        assert_eq!(of(7, 0), Outcome::Failed(Cause::FirstByteTimeout));
        assert_eq!(of(7, 9), Outcome::Failed(Cause::BodyTimeout));
        assert_eq!(of(12, 9), Outcome::Failed(Cause::ExpectChecksum));
    }
}
