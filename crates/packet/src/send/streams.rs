//! What says when frames leave: one load, or several streams that each have a load of their own.
//!
//! ```text
//! Departures ───────────────────► Due { seq, due, of: None }         the template finds the stream by seq
//! Departures of each stream ─┐
//!                            ├──► Due { seq, due, of: stream, n }    seq is the rank in the whole
//!   start, length, frames    ┘
//! ```

use super::departures::{Departures, Ends, NoRate, Pattern};
use super::tape::TapeTimes;
use crate::PacketError;
use plan::packets::send::SendPlan;
use schedule::{Merge, Part, Schedule, Share};
use units::{Departure, Instant, Picos, Rate};
use wire::template::Spec;

/// Whose frame a departure is: the stream, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Of {
    pub stream: usize,
    pub number: u64,
}

/// A departure, and whose it is where the schedule decides that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    pub departure: Departure,
    pub of: Option<Of>,
}

/// The load of one stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamPattern {
    pub name: String,
    pub pattern: Pattern,
    /// After the origin of the run.
    pub start: Picos,
    /// From its start on.
    pub ends: Ends,
}

impl StreamPattern {
    /// When it ends after the origin of the run, if that is known.
    pub fn end(&self) -> Option<Picos> {
        let by_count = self.ends.frames.and_then(|frames| self.pattern.length(frames));
        let length = [by_count, self.ends.after, self.pattern.whole()].into_iter().flatten().min()?;
        Some(self.start + length)
    }

    fn departures(&self, ends: Ends, origin: Instant) -> Departures {
        let left = ends.after.map(|after| after.saturating_sub(self.start));
        let after = [self.ends.after, left].into_iter().flatten().min();
        // No stream has more than the run.
        let frames = [self.ends.frames, ends.frames].into_iter().flatten().min();
        let ends = Ends { after, frames };
        Departures::new(self.pattern.clone(), ends, origin + self.start, Share::WHOLE)
    }
}

impl Part for Departures {
    fn due(&self, n: u64) -> Option<Instant> {
        self.due_of(n)
    }

    fn before(&self, end: Instant) -> u64 {
        self.passed(end)
    }
}

/// What would make figures by stream wrong, or a stream send nothing.
///
/// # Errors
/// A sentence that names the stream and says what to do.
pub fn check(plan: &SendPlan, spec: &Spec, streams: &[StreamPattern]) -> Result<(), PacketError> {
    let signed = spec.streams.iter().filter(|stream| stream.sign).count();
    if plan.receive.is_some() && signed > 0 && signed < spec.streams.len() {
        return Err(PacketError::Wrong(format!(
            "{signed} of {} streams are signed: with --receive, frames of the others would count as lost; sign all \
             streams, or none",
            spec.streams.len()
        )));
    }
    let ends = plan.duration.unwrap_or(Picos::MAX);
    match streams.iter().find(|stream| stream.start >= ends) {
        Some(late) => Err(PacketError::Wrong(format!(
            "stream '{}' starts at {:#}, but the run ends at {ends:#}: it would send nothing",
            late.name, late.start
        ))),
        None => Ok(()),
    }
}

/// The gap by which threads decide how to wait: of several streams, that of all their highest rates together.
pub fn waiting_gap(pattern: Option<&Pattern>, streams: &[StreamPattern]) -> Option<Picos> {
    match pattern {
        Some(pattern) => gap_of(&[pattern]),
        None => gap_of(&streams.iter().map(|stream| &stream.pattern).collect::<Vec<_>>()),
    }
}

fn gap_of(parts: &[&Pattern]) -> Option<Picos> {
    if let [pattern] = parts {
        return pattern.waiting_gap();
    }
    let gaps = parts.iter().filter_map(|part| part.waiting_gap());
    let per_picosecond: f64 = gaps.map(|gap| 1.0 / gap.as_picos().max(1) as f64).sum();
    (per_picosecond > 0.0).then(|| Picos::from_picos((1.0 / per_picosecond) as u64))
}

/// What leaves later than this is late, where gaps differ: as an even load's 99th percentile may be. None where
/// some are due at once, or as a list has it.
pub fn late_gap(pattern: Option<&Pattern>, streams: &[StreamPattern]) -> Option<Picos> {
    match pattern {
        Some(pattern) => late_gap_of(&[pattern]),
        None => late_gap_of(&streams.iter().map(|stream| &stream.pattern).collect::<Vec<_>>()),
    }
}

/// What a frame of a burst takes at most, at a port that sends 100 000 a second. (The first burst over a veth
/// pair took 7 us for each, the others 2.)
const SLOWEST: Picos = Picos::from_micros(10);

/// What leaves later than this is late: the time until the next may leave, within which a frame takes nobody's
/// place. Of a burst, whose frames are all due at once and cannot leave so, 10 us for each frame, if that is
/// less than a quarter of the time until the next: what takes longer is no burst any more.
pub fn turn(pattern: &Pattern) -> Option<Picos> {
    match pattern {
        Pattern::Bursts { rate, size } => {
            let quarter = Picos::from_picos(rate.due(*size).as_picos() / 4);
            Some(quarter.min(Picos::from_picos(SLOWEST.as_picos().saturating_mul(*size))))
        }
        _ => pattern.gap(),
    }
}

fn late_gap_of(parts: &[&Pattern]) -> Option<Picos> {
    let differs = |part: &&Pattern| matches!(part, Pattern::Bursts { .. } | Pattern::Cycle(_));
    let gap = if parts.iter().any(differs) { None } else { gap_of(parts) };
    gap.map(|gap| Picos::from_picos(gap.as_picos() / 4))
}

/// See the module.
#[derive(Debug)]
pub enum Timetable {
    One(Departures),
    Several(Merge<Departures>),
    /// Of a recording that is read while it is sent.
    Taped(TapeTimes),
}

impl From<Departures> for Timetable {
    fn from(departures: Departures) -> Self {
        Self::One(departures)
    }
}

impl Timetable {
    /// A share of all these streams; `ends` are those of the run.
    pub fn of_streams(streams: &[StreamPattern], ends: Ends, origin: Instant, share: Share) -> Self {
        let parts = streams.iter().map(|stream| stream.departures(ends, origin)).collect();
        Self::Several(Merge::new(parts, ends.frames, share))
    }

    #[inline]
    pub fn draw(&mut self) -> Option<Due> {
        match self {
            Self::One(departures) => departures.next().map(|departure| Due { departure, of: None }),
            Self::Taped(times) => times.draw().map(|departure| Due { departure, of: None }),
            Self::Several(merge) => merge.draw().map(|turn| Due {
                departure: turn.departure,
                of: Some(Of { stream: turn.part, number: turn.number }),
            }),
        }
    }

    /// When the next departure is due.
    #[inline]
    pub fn peek(&self) -> Option<Instant> {
        match self {
            Self::One(departures) => departures.peek(),
            Self::Taped(times) => times.peek(),
            Self::Several(merge) => merge.peek(),
        }
    }

    /// The departures from `seq` on were drawn and not taken.
    pub fn put_back(&mut self, seq: u64) {
        match self {
            Self::One(departures) => departures.put_back(seq),
            Self::Taped(times) => times.put_back(seq),
            Self::Several(merge) => merge.seek(seq),
        }
    }

    /// The number of the next departure of this share, and how far it is to the one after it.
    pub fn place(&self) -> (u64, u64) {
        match self {
            Self::One(departures) => departures.place(),
            Self::Taped(times) => (times.next(), 1),
            Self::Several(merge) => (merge.rank(), merge.share().of().into()),
        }
    }

    /// Departures of this share that are due strictly before `end`, drawn or not.
    pub fn due_before(&self, end: Instant) -> u64 {
        match self {
            Self::One(departures) => departures.due_before(end),
            Self::Taped(times) => times.before(end),
            Self::Several(merge) => {
                let share = merge.share();
                merge.before(end).saturating_sub(share.index().into()).div_ceil(share.of().into())
            }
        }
    }

    /// The number of the first departure from `at` on.
    pub fn first_from(&self, at: Instant) -> u64 {
        match self {
            Self::One(departures) => departures.first_from(at),
            Self::Taped(times) => times.before(at),
            Self::Several(merge) => merge.before(at),
        }
    }

    pub fn is_paused(&self) -> bool {
        match self {
            Self::One(departures) => departures.is_paused(),
            Self::Taped(times) => times.is_paused(),
            Self::Several(merge) => merge.parts().iter().all(Departures::is_paused),
        }
    }

    /// Whether it is paused, and there would be more if it went on.
    pub fn may_go_on(&self) -> bool {
        self.is_paused()
            && match self {
                Self::One(departures) => departures.place().0 < departures.frames,
                Self::Taped(_) => true,
                Self::Several(merge) => {
                    let frames = merge.parts().iter().fold(0u64, |sum, part| sum.saturating_add(part.frames));
                    merge.has_room() && merge.rank() < frames
                }
            }
    }

    /// Takes what has been read meanwhile.
    #[inline]
    pub fn look(&mut self, now: Instant) {
        if let Self::Taped(times) = self {
            times.look(now);
        }
    }

    /// Whether the next departure is yet to be read.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        matches!(self, Self::Taped(times) if times.is_waiting())
    }

    fn change(&mut self, mut change: impl FnMut(usize, &mut Departures)) {
        match self {
            Self::Taped(_) => {}
            Self::One(departures) => change(0, departures),
            Self::Several(merge) => {
                merge.change(|parts| parts.iter_mut().enumerate().for_each(|(n, part)| change(n, part)));
            }
        }
    }

    /// What leaves later than this is late, as the load is now.
    pub fn late_gap(&self) -> Option<Picos> {
        match self {
            Self::One(departures) => late_gap_of(&[departures.pattern()]),
            Self::Taped(_) => None,
            Self::Several(merge) => {
                late_gap_of(&merge.parts().iter().map(Departures::pattern).collect::<Vec<_>>())
            }
        }
    }

    /// [`turn`] of the only stream.
    pub fn turn(&self) -> Option<Picos> {
        match self {
            Self::One(departures) => turn(departures.pattern()),
            Self::Taped(_) | Self::Several(_) => None,
        }
    }

    pub fn pause(&mut self, at: Instant) {
        match self {
            Self::Taped(times) => times.pause(at),
            _ => self.change(|_, departures| departures.pause(at)),
        }
    }

    pub fn resume(&mut self, at: Instant) {
        match self {
            Self::Taped(times) => times.resume(at),
            _ => self.change(|_, departures| departures.resume(at)),
        }
    }

    /// From `at` on this stream, or the one load that there is, has this rate.
    ///
    /// # Errors
    /// It has no rate.
    pub fn set_rate(&mut self, at: Instant, stream: usize, rate: Rate) -> Result<(), NoRate> {
        let mut result = if matches!(self, Self::Taped(_)) { Err(NoRate) } else { Ok(()) };
        self.change(|n, departures| {
            if n == stream {
                result = departures.set_rate(at, rate);
            }
        });
        result
    }

    /// Drops every departure of this share that is due before `end`: how many there were, and of each stream.
    pub fn skip_before(&mut self, end: Instant) -> (u64, Vec<u64>) {
        match self {
            Self::One(departures) => (departures.skip_before(end), Vec::new()),
            Self::Taped(times) => (times.skip_before(end), Vec::new()),
            Self::Several(merge) => {
                let dropped = merge.skip_before(end);
                (dropped.iter().sum(), dropped)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Shape;

    const ORIGIN: Instant = Instant::from_picos(5_000_000_000_000);

    fn at(micros: u64) -> Instant {
        ORIGIN + Picos::from_micros(micros)
    }

    fn even(rate: &str, start_us: u64, ends: Ends) -> StreamPattern {
        let pattern = Pattern::Even(rate.parse().unwrap());
        StreamPattern { name: rate.to_owned(), pattern, start: Picos::from_micros(start_us), ends }
    }

    /// 100 µs apart from the beginning, 250 µs apart from 1 ms for 1 ms, and a ramp.
    fn streams() -> Vec<StreamPattern> {
        let shape = Shape::Ramp {
            from: "1k".parse().unwrap(),
            to: "9k".parse().unwrap(),
            over: Picos::from_millis(2),
        };
        let ramp = super::super::shaped::Shaped::new(shape, 1).unwrap();
        vec![
            even("10k", 0, Ends::default()),
            even("4k", 1_000, Ends { after: Some(Picos::from_millis(1)), frames: None }),
            StreamPattern { pattern: Pattern::Shaped(ramp), ..even("1k", 0, Ends::default()) },
        ]
    }

    fn all(timetable: &mut Timetable) -> Vec<Due> {
        std::iter::from_fn(|| timetable.draw()).collect()
    }

    fn shares(ends: Ends, of: u32) -> Vec<Timetable> {
        (0..of)
            .map(|index| Timetable::of_streams(&streams(), ends, ORIGIN, Share::new(index, of).unwrap()))
            .collect()
    }

    const ENDS: Ends = Ends { after: Some(Picos::from_millis(3)), frames: None };

    #[test]
    fn each_stream_has_its_start_its_length_and_its_numbers() {
        let due = all(&mut shares(ENDS, 1)[0]);
        let of = |stream: usize| -> Vec<u64> {
            let mine = due.iter().filter(|due| due.of.unwrap().stream == stream);
            mine.map(|due| due.departure.due.since(ORIGIN).as_nanos() / 1_000).collect()
        };
        assert_eq!(of(0), (0..30).map(|n| n * 100).collect::<Vec<_>>());
        assert_eq!(of(1), [1_000, 1_250, 1_500, 1_750]);
        // 1 000 t + 2·10⁶ t² departures before t: 10 by 2 ms, then 9 000/s, so the last is number 18.
        assert_eq!(of(2).len(), 19);
        assert!(due.iter().enumerate().all(|(rank, due)| due.departure.seq == rank as u64));
        assert!(due.windows(2).all(|pair| pair[0].departure.due <= pair[1].departure.due));
    }

    /// Of a load that ends by count, a pause behind its last frame holds nothing up.
    #[test]
    fn a_paused_load_goes_on_only_if_there_is_more() {
        let ends = |frames| Ends { after: None, frames: Some(frames) };
        let run = |mut timetable: Timetable, drawn: usize| {
            let all = std::iter::from_fn(|| timetable.draw()).take(drawn).count();
            match &mut timetable {
                Timetable::Several(merge) => {
                    merge.change(|parts| parts.iter_mut().for_each(|part| part.pause(at(1_000_000))))
                }
                Timetable::One(departures) => departures.pause(at(1_000_000)),
                Timetable::Taped(_) => (),
            }
            (all, timetable.may_go_on())
        };
        let one = || Timetable::from(even("10k", 0, ends(5)).departures(Ends::default(), ORIGIN));
        assert_eq!((run(one(), 4), run(one(), 9)), ((4, true), (5, false)));
        let several = |of: Ends| {
            let streams = [even("10k", 0, ends(3)), even("4k", 0, ends(2))];
            Timetable::of_streams(&streams, of, ORIGIN, Share::WHOLE)
        };
        assert_eq!(
            (run(several(Ends::default()), 4), run(several(Ends::default()), 9)),
            ((4, true), (5, false))
        );
        assert_eq!(run(several(ends(4)), 9), (4, false));
    }

    #[test]
    fn a_burst_may_take_a_quarter_of_the_time_to_the_next_and_no_longer_than_frames_take() {
        let rate: units::Rate = "100k".parse().unwrap();
        assert_eq!(turn(&Pattern::Even(rate)), Some(Picos::from_micros(10)));
        assert_eq!(turn(&Pattern::Bursts { rate, size: 100 }), Some(Picos::from_micros(250)));
        let rate: units::Rate = "1k".parse().unwrap();
        assert_eq!(turn(&Pattern::Bursts { rate, size: 100 }), Some(Picos::from_millis(1)));
    }

    #[test]
    fn a_slow_stream_makes_no_burst_beside_it_late_by_less() {
        let bursts = Pattern::Bursts { rate: "5k".parse().unwrap(), size: 500 };
        let slow = even("1", 0, Ends::default());
        let all = [slow.clone(), StreamPattern { pattern: bursts, ..slow.clone() }];
        assert_eq!(late_gap(None, &all), None);
        assert_eq!(late_gap(None, &all[..1]), Some(Picos::from_millis(250)));
        // Each frame of a Poisson load is drawn: the count of the run must end it.
        let shape = Shape::Poisson("5k".parse().unwrap());
        let drawn = super::super::shaped::Shaped::new(shape, 1).unwrap();
        let drawn = StreamPattern { pattern: Pattern::Shaped(drawn), ..slow.clone() };
        let ends = Ends { after: None, frames: Some(100) };
        let mut both = Timetable::of_streams(&[slow, drawn], ends, ORIGIN, Share::WHOLE);
        assert_eq!(all_of(&mut both, 1_000), 100);
        both.skip_before(Instant::FAR);
    }

    fn all_of(timetable: &mut Timetable, most: usize) -> usize {
        std::iter::from_fn(|| timetable.draw()).take(most).count()
    }

    #[test]
    fn shares_agree_also_on_changes() {
        // Paused from 0.5 to 0.8 ms, and stream 1 twice as fast from 1.6 ms on.
        let change = |timetable: &mut Timetable| {
            timetable.pause(at(500));
            timetable.resume(at(800));
            timetable.set_rate(at(1_600), 1, "8k".parse().unwrap()).unwrap();
        };
        let mut whole = shares(ENDS, 1).remove(0);
        change(&mut whole);
        let expected = all(&mut whole);
        for of in [2, 3] {
            let mut together: Vec<Due> = Vec::new();
            for (index, mut share) in shares(ENDS, of).into_iter().enumerate() {
                // One learns of it late, and puts back what it had drawn.
                for _ in 0..index {
                    together.extend(share.draw());
                }
                change(&mut share);
                together.extend(all(&mut share));
            }
            together.sort_unstable_by_key(|due| due.departure.seq);
            assert_eq!(together, expected, "{of}");
        }
        let of_second = expected.iter().filter(|due| due.of.unwrap().stream == 1);
        let due: Vec<u64> = of_second.map(|due| due.departure.due.since(ORIGIN).as_nanos() / 1_000).collect();
        assert_eq!(due, [1_000, 1_250, 1_500, 1_600, 1_725, 1_850, 1_975]);
        let nothing = |due: &&Due| (at(500)..at(800)).contains(&due.departure.due);
        assert_eq!(expected.iter().filter(nothing).count(), 0);
        assert!(whole.set_rate(at(2_000), 2, "8k".parse().unwrap()).is_err(), "a ramp has no rate to be set");
    }

    #[test]
    fn what_is_skipped_is_known_by_stream() {
        let mut whole = shares(ENDS, 1).remove(0);
        assert_eq!(whole.skip_before(at(1_300)), (13 + 2 + 5, vec![13, 2, 5]));
        assert_eq!((whole.place(), whole.due_before(at(1_300))), ((20, 1), 20));
        let frames = Ends { after: None, frames: Some(22) };
        let mut counted = shares(frames, 1).remove(0);
        assert_eq!(counted.skip_before(Instant::FAR).0, 22);
        assert_eq!(counted.draw(), None);
    }
}
