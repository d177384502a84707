//! When each frame that the host has sent may leave. Pure: no I/O, no clock.
//!
//! ```text
//!   arrived:  a       b c                       d
//!             │       ├─┘ ┐                     │
//!   leaves:   a───gap───b───gap───c             d───gap─── …    due = max(arrived, due before + gap behind it)
//! ```
//!
//! The gap behind a frame is even, one of a list, or what the frame takes at a given rate of bits. Gaps that
//! follow each other without a pause are exact together: what a picosecond cannot hold is carried on. After a
//! pause the timetable begins again: time that nobody used is not made up for.
//!
//! Absolute: gaps count from when the frame before was *due*, so that one that left late makes the next no
//! later. Relative: from when it left.

use crate::on_the_wire::SHORTEST;
use std::sync::Arc;
use units::{Instant, Picos, Rate};

/// What comes between two frames.
#[derive(Clone, Debug, PartialEq)]
pub enum Pace {
    /// The same gap between all, as a rate: `5 µs` is 200 000/s.
    Frames(Rate),
    /// As many bits in a second; each frame counts `overhead` bytes beside its own (24 on the wire: FCS,
    /// preamble, gap).
    Bits { rate: Rate, overhead: usize },
    /// One gap after another, and from the beginning again.
    List(Arc<[Picos]>),
}

impl Pace {
    /// The even gap, if there is one.
    pub fn even_gap(&self) -> Option<Picos> {
        match self {
            Self::Frames(rate) => Some(rate.gap()),
            _ => None,
        }
    }

    /// Mean frames per second, of frames of so many bytes.
    pub fn frames_per_second(&self, bytes: f64) -> f64 {
        match self {
            Self::Frames(rate) => rate.as_per_second_f64(),
            Self::Bits { rate, overhead } => {
                rate.as_per_second_f64() / ((bytes.max(SHORTEST as f64) + *overhead as f64) * 8.0)
            }
            Self::List(gaps) => {
                let sum: f64 = gaps.iter().map(|gap| gap.as_secs_f64()).sum();
                if sum > 0.0 { gaps.len() as f64 / sum } else { f64::INFINITY }
            }
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Timetable {
    pace: Pace,
    is_relative: bool,
    /// When the next frame may leave at the earliest, and what is left below a picosecond (of the rate's
    /// numerator).
    free: Instant,
    carried: u64,
    at: usize,
}

impl Timetable {
    pub fn new(pace: Pace, is_relative: bool) -> Self {
        Self { pace, is_relative, free: Instant::EPOCH, carried: 0, at: 0 }
    }

    /// When the frame at the head may leave, which arrived then.
    #[inline]
    pub fn due(&self, arrived: Instant) -> Instant {
        arrived.max(self.free)
    }

    /// The frame that was `due` and has so many bytes (without FCS) left at `sent`: the next may after its gap.
    #[inline]
    pub fn left(&mut self, due: Instant, sent: Instant, bytes: usize) {
        let from = if self.is_relative { sent.max(due) } else { due };
        if from != self.free {
            self.carried = 0;
        }
        self.free = from + self.gap(bytes);
    }

    /// Forgets what was: the next frame leaves at once.
    pub fn reset(&mut self) {
        (self.free, self.carried, self.at) = (Instant::EPOCH, 0, 0);
    }

    /// Nothing leaves before this time, and the next frame may then.
    pub fn begins(&mut self, at: Instant) {
        if at > self.free {
            (self.free, self.carried) = (at, 0);
        }
    }

    /// From now on at another pace.
    pub fn change(&mut self, pace: Pace) {
        (self.pace, self.carried, self.at) = (pace, 0, 0);
    }

    pub const fn pace(&self) -> &Pace {
        &self.pace
    }

    #[inline]
    fn gap(&mut self, bytes: usize) -> Picos {
        match &self.pace {
            Pace::Frames(rate) => {
                let (events, per) = rate.ratio();
                exact(1, events, per, &mut self.carried)
            }
            Pace::Bits { rate, overhead } => {
                let (events, per) = rate.ratio();
                exact((bytes.max(SHORTEST) + overhead) as u64 * 8, events, per, &mut self.carried)
            }
            Pace::List(gaps) => {
                let gap = gaps.get(self.at).copied().unwrap_or_default();
                self.at = if self.at + 1 < gaps.len() { self.at + 1 } else { 0 };
                gap
            }
        }
    }
}

/// `units · per / events`, rounded down, with the remainder in `carried` (below `events`).
#[inline]
fn exact(units: u64, events: u64, per: Picos, carried: &mut u64) -> Picos {
    let whole = u128::from(units) * u128::from(per.as_picos()) + u128::from(*carried);
    let events = u128::from(events);
    *carried = (whole % events) as u64;
    Picos::from_picos_u128(whole / events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(picos: u64) -> Instant {
        Instant::EPOCH + Picos::from_picos(picos)
    }

    /// Due times of frames that all arrived at 0, each leaving `late` after it was due.
    fn times(pace: Pace, is_relative: bool, sizes: &[usize], late: u64) -> Vec<u64> {
        let mut table = Timetable::new(pace, is_relative);
        let due = |bytes: &usize| {
            let due = table.due(Instant::EPOCH);
            table.left(due, due + Picos::from_picos(late), *bytes);
            due.since_epoch().as_picos()
        };
        sizes.iter().map(due).collect()
    }

    #[test]
    fn even_gaps_are_exact_over_a_million_frames() {
        // Frame n is due at floor(n · 10¹² / 3): the n-th due time of a rate of 3/s, whatever was rounded
        // before.
        let rate = Rate::per_second(3).unwrap();
        let times = times(Pace::Frames(rate), false, &vec![60; 1_000_001], 0);
        assert_eq!(times[1_000_000], 333_333_333_333_333_333);
        assert_eq!(times[7], 2_333_333_333_333);
    }

    #[test]
    fn bits_count_what_the_wire_counts() {
        // 1514 bytes + 24 = 1538 bytes = 12 304 bits: 123.04 µs at 100 Mbit/s; 60 + 24 bytes: 6.72 µs.
        let pace = Pace::Bits { rate: Rate::per_second(100_000_000).unwrap(), overhead: 24 };
        assert_eq!(times(pace, false, &[1_514, 60, 60], 0), [0, 123_040_000, 129_760_000]);
        // An ACK of 54 bytes is padded: it takes as long.
        let pace = Pace::Bits { rate: Rate::per_second(100_000_000).unwrap(), overhead: 24 };
        assert_eq!(times(pace, false, &[54, 54, 54], 0), [0, 6_720_000, 13_440_000]);
    }

    #[test]
    fn lists_begin_again() {
        let list = Pace::List([5, 7].map(Picos::from_picos).to_vec().into());
        assert_eq!(times(list, false, &[60; 5], 0), [0, 5, 12, 17, 24]);
    }

    #[test]
    fn absolute_gaps_make_up_for_lateness_and_relative_ones_do_not() {
        let pace = Pace::Frames(Rate::new(1, Picos::from_picos(100)).unwrap());
        assert_eq!(times(pace.clone(), false, &[60; 3], 30), [0, 100, 200]);
        assert_eq!(times(pace, true, &[60; 3], 30), [0, 130, 260]);
    }

    #[test]
    fn after_a_pause_nothing_is_made_up_for() {
        let mut table = Timetable::new(Pace::Frames(Rate::new(1, Picos::from_picos(100)).unwrap()), false);
        table.left(at(0), at(0), 60);
        assert_eq!(table.due(at(50)), at(100), "too early: it waits");
        assert_eq!(table.due(at(1_000)), at(1_000), "late: at once");
        table.left(at(1_000), at(1_000), 60);
        assert_eq!(table.due(at(1_000)), at(1_100), "no two frames for the time that nobody used");
        table.reset();
        assert_eq!(table.due(at(1_001)), at(1_001));
    }

    #[test]
    fn frames_that_waited_for_the_beginning_leave_at_their_pace() {
        let mut table = Timetable::new(Pace::Frames(Rate::new(1, Picos::from_picos(100)).unwrap()), false);
        table.left(at(0), at(0), 60);
        table.begins(at(1_000));
        for n in 0..3 {
            assert_eq!(table.due(at(10)), at(1_000 + n * 100));
            table.left(at(1_000 + n * 100), at(1_000 + n * 100), 60);
        }
        table.begins(at(5));
        assert_eq!(table.due(at(10)), at(1_300), "it has begun");
    }

    proptest! {
        /// No two frames are closer than their gap, and a queue that is never empty is served at exactly the
        /// rate.
        #[test]
        fn gaps_are_kept(
            bits in 1_000u64..100_000_000_000,
            frames in prop::collection::vec((60usize..1_515, 0u64..5_000_000), 1..50),
        ) {
            let rate = Rate::per_second(bits).unwrap();
            let mut table = Timetable::new(Pace::Bits { rate, overhead: 24 }, false);
            let (mut arrived, mut before) = (Instant::EPOCH, None::<(Instant, usize)>);
            for (bytes, later) in frames {
                arrived = arrived + Picos::from_picos(later);
                let due = table.due(arrived);
                prop_assert!(due >= arrived);
                if let Some((last, length)) = before {
                    let gap = rate.due((length.max(60) as u64 + 24) * 8);
                    prop_assert!(due.since(last) >= gap);
                    prop_assert!(due == arrived || due.since(last).as_picos() <= gap.as_picos() + 1);
                }
                table.left(due, due, bytes);
                before = Some((due, bytes));
            }
        }
    }
}
