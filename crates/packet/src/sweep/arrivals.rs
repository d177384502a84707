//! What arrived of a trial: each frame once, known by its signature, and how long it took. A frame that arrives
//! damaged has not arrived: it is lost to whoever it was for.

use super::pauses::Pauses;
use crate::signed::{Mark, Reader, from_base};
use hdrhistogram::Histogram;
use measure::packets::Spread;
use port::{Frame, Stamp};
use std::ops::Range;

/// Frames of an earlier trial were due at least this long before.
const APART_NS: u64 = 3_000_000;
/// No trial has so many frames: at the line rate of 10 Gb/s it would take 19 minutes.
const MOST: u64 = 1 << 34;
/// One-way times up to a minute, to three digits.
const LONGEST_NS: u64 = 60_000_000_000;

/// Arrivals of one trial.
#[derive(Debug)]
pub struct Arrivals {
    /// Due times of this trial begin here, in nanoseconds since 1970, and those of all trials there.
    from_unix_ns: u64,
    sweep_unix_ns: u64,
    /// A bit for each frame that may come.
    seen: Vec<u64>,
    pub unique: u64,
    pub duplicated: u64,
    /// A checksum, or the signature itself, is wrong.
    pub damaged: u64,
    /// Frames that are not of this trial.
    pub others: u64,
    /// Of those, frames of an earlier trial: what was waited then was too short.
    pub stragglers: u64,
    one_way: Histogram<u64>,
    /// The slowest, as it was read.
    pub longest_ns: u64,
    /// The number of one frame in the middle, and how long it took.
    tagged: (u64, Option<u64>),
    /// Streams that the frames of this direction have.
    streams: Range<u16>,
    /// What signatures count from: those of another run are far away.
    base: u64,
    /// Interruptions, where they are looked for.
    pub pauses: Option<Pauses>,
    /// All that had arrived by then was read: what is read now and has no stamp came later.
    pub looked_ns: u64,
    reader: Reader,
}

impl Arrivals {
    /// Of a trial of `offered` frames, the first of which is due at `origin_unix_ns`; no trial began before
    /// `sweep_unix_ns`.
    pub fn new(
        offered: u64,
        (streams, base): (Range<u16>, u64),
        origin_unix_ns: u64,
        sweep_unix_ns: u64,
    ) -> Self {
        Self {
            streams,
            base,
            pauses: None,
            looked_ns: origin_unix_ns,
            from_unix_ns: origin_unix_ns.saturating_sub(APART_NS),
            sweep_unix_ns,
            seen: vec![0; usize::try_from(offered.div_ceil(64)).unwrap_or_default()],
            unique: 0,
            duplicated: 0,
            damaged: 0,
            others: 0,
            stragglers: 0,
            longest_ns: 0,
            tagged: (offered / 2, None),
            one_way: no_times(),
            reader: Reader::default(),
        }
    }

    /// A frame came, at `now_unix_ns` unless it was stamped.
    #[inline]
    pub fn frame(&mut self, frame: &Frame<'_>, now_unix_ns: u64) {
        // By which clock it was stamped, and by which signed, is no matter here: the trial is known by its due
        // times.
        let timeless = Frame { stamp: Stamp::NONE, ..*frame };
        let (signature, is_whole) = match self.reader.read(&timeless) {
            Mark::Signed(signature) | Mark::Merged(signature) => (signature, true),
            Mark::Broken(signature, _) => (signature, false),
            Mark::Damaged => return self.damaged += 1,
            Mark::Plain => return self.others += 1,
        };
        let number = from_base(signature.seq, self.base);
        // Those of another run, and of the other direction, come back.
        if number >= MOST || !self.streams.contains(&signature.stream) {
            return self.others += 1;
        }
        if signature.due_unix_ns < self.from_unix_ns {
            self.stragglers += u64::from(signature.due_unix_ns >= self.sweep_unix_ns);
            return self.others += 1;
        }
        if !is_whole {
            return self.damaged += 1;
        }
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        match self.seen.get_mut(word) {
            None => self.others += 1,
            Some(known) if *known & bit != 0 => self.duplicated += 1,
            Some(known) => {
                *known |= bit;
                self.unique += 1;
                let stamp = if frame.stamp.0 == 0 { now_unix_ns } else { frame.stamp.0 };
                let took = stamp.saturating_sub(signature.sent_unix_ns);
                self.one_way.saturating_record(took);
                self.longest_ns = self.longest_ns.max(took);
                if number == self.tagged.0 {
                    self.tagged.1 = Some(took);
                }
                if let Some(pauses) = &mut self.pauses {
                    let since = if frame.stamp.0 == 0 { self.looked_ns.clamp(1, stamp) } else { stamp };
                    pauses.frame(number, (since, stamp), took);
                }
            }
        }
    }

    /// How many of the frames `from..to` did not arrive, and the last of them.
    pub fn lost(&self, from: u64, to: u64) -> (u64, Option<u64>) {
        let (mut count, mut last) = (0, None);
        for (word, seen) in (from / 64..to.div_ceil(64)).zip(self.seen.iter().skip((from / 64) as usize)) {
            let first = word * 64;
            let above = u64::MAX << from.saturating_sub(first).min(63);
            let below = u64::MAX >> (first + 64).saturating_sub(to).min(63);
            let lost = !seen & above & below;
            count += u64::from(lost.count_ones());
            last = lost.checked_ilog2().map(|bit| first + u64::from(bit)).or(last);
        }
        (count, last)
    }

    /// How long the frame in the middle took (RFC 2544 §26.2 tags one), in nanoseconds.
    pub const fn tagged_ns(&self) -> Option<u64> {
        self.tagged.1
    }

    /// One-way times in nanoseconds.
    pub fn one_way(self) -> Histogram<u64> {
        self.one_way
    }
}

/// No times yet; histograms of trials are added up.
pub fn no_times() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("bounds that the histogram takes")
}

/// A distribution in a few figures.
pub fn spread(times: &Histogram<u64>) -> Spread {
    if times.is_empty() {
        return Spread::default();
    }
    let at = |quantile| times.value_at_quantile(quantile) as f64;
    Spread {
        count: times.len(),
        mean: times.mean(),
        min: times.min() as f64,
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        max: times.max() as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signed::testing::{self, START};
    use port::CardWork;

    #[test]
    fn a_frame_whose_payload_was_changed_on_its_way_has_not_arrived() {
        let mut arrivals = Arrivals::new(100, (0..1, 0), START, START);
        for number in 0..100 {
            let (mut bytes, at) = testing::frame(number, 0, 200);
            match number {
                // In the payload, behind the signature; in the signature; in the IPv4 header.
                10 => bytes[150] ^= 1,
                20 => bytes[45] ^= 1,
                30 => bytes[22] ^= 1,
                _ => {}
            }
            let frame = Frame {
                data: &bytes,
                length: 200,
                stamp: Stamp(at),
                lost_before: 0,
                card_work: CardWork::NONE,
            };
            arrivals.frame(&frame, at);
        }
        assert_eq!((arrivals.unique, arrivals.damaged, arrivals.others), (97, 3, 0));
        // Of an earlier trial, damaged or not, it is none of these.
        let (mut bytes, at) = testing::frame(7, 0, 200);
        let mut later = Arrivals::new(100, (0..1, 0), START + 1_000_000_000, START);
        for flip in [0, 1] {
            bytes[150] ^= flip;
            let frame = Frame {
                data: &bytes,
                length: 200,
                stamp: Stamp(at),
                lost_before: 0,
                card_work: CardWork::NONE,
            };
            later.frame(&frame, at);
        }
        assert_eq!((later.unique, later.damaged, later.others), (0, 0, 2));
    }

    #[test]
    fn frames_of_another_run_are_no_stragglers_and_not_damaged() {
        let mut arrivals = Arrivals::new(100, (0..1, 1 << 39), START + 1_000_000_000, START);
        for flip in [0, 1] {
            let (mut bytes, at) = testing::frame(7, 0, 200);
            bytes[150] ^= flip;
            let frame = Frame {
                data: &bytes,
                length: 200,
                stamp: Stamp(at),
                lost_before: 0,
                card_work: CardWork::NONE,
            };
            arrivals.frame(&frame, at);
        }
        assert_eq!((arrivals.stragglers, arrivals.damaged, arrivals.others), (0, 0, 2));
    }

    #[test]
    fn the_last_that_was_lost_is_known_of_any_stretch() {
        let mut arrivals = Arrivals::new(300, (0..1, 0), START, START);
        let lost = [0, 63, 64, 130, 255];
        for number in (0..300).filter(|number| !lost.contains(number)) {
            let (bytes, at) = testing::frame(number, 0, 200);
            let frame = Frame {
                data: &bytes,
                length: 200,
                stamp: Stamp(at),
                lost_before: 0,
                card_work: CardWork::NONE,
            };
            arrivals.frame(&frame, at);
        }
        // 128..131 has 130; 131..255 has none; both ends of a word belong to it.
        for (from, to, count, last) in [
            (0, 300, 5, Some(255)),
            (1, 255, 3, Some(130)),
            (63, 64, 1, Some(63)),
            (64, 65, 1, Some(64)),
            (65, 130, 0, None),
            (131, 255, 0, None),
            (131, 256, 1, Some(255)),
            (256, 300, 0, None),
            (10, 10, 0, None),
        ] {
            assert_eq!(arrivals.lost(from, to), (count, last), "{from}..{to}");
        }
    }

    #[test]
    fn frames_of_the_other_direction_are_others() {
        let mut arrivals = Arrivals::new(100, (1..2, 0), START, START);
        let (bytes, at) = testing::frame(0, 0, 200);
        let frame =
            Frame { data: &bytes, length: 200, stamp: Stamp(at), lost_before: 0, card_work: CardWork::NONE };
        arrivals.frame(&frame, at);
        assert_eq!((arrivals.unique, arrivals.others), (0, 1));
    }
}
