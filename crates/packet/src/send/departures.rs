//! When frames leave: exact due times that can be steered while the run goes on, in shares whose union is the
//! whole.
//!
//! ```text
//!        even   due(n) = floor(n · per / events)
//!        burst  due(n) = floor(⌊n / size⌋ · size · per / events)
//!        cycle  due(n) = ⌊n / length⌋ · total + starts[n mod length]      gap lists, replay
//!        shaped due(n) as `schedule` has it                               ramps, steps, stages, sines, Poisson
//!
//!  stretch i:   from ≤ due < from of the next;   due(n) = from + pattern(n − base) − pattern(first − base)
//!  paused:      no departures; what was due moves behind the pause
//! ```
//!
//! How many departures lie before a change is computed, not counted: each share knows it without asking the
//! others.

use super::shaped::Shaped;
use schedule::{Schedule, Share};
use std::sync::Arc;
use units::{Departure, Instant, Picos, Rate};

/// The shape of a load, from its own beginning.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    Even(Rate),
    /// `size` frames at once, each `size` gaps.
    Bursts {
        rate: Rate,
        size: u64,
    },
    Cycle(Cycle),
    Shaped(Shaped),
}

/// Times that repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Offsets from the beginning of the cycle; never descending.
    starts: Arc<[u64]>,
    /// Length of the cycle in picoseconds, at least the last start.
    total: u64,
    /// Others have departures of the same recording: times count from its beginning, not from the first here.
    is_part: bool,
}

impl Cycle {
    /// Departure 0 is at once, departure n follows departure n − 1 after gap number (n − 1) mod count. `None`
    /// without gaps, or if all of them together are 0 or over 213 days.
    pub fn of_gaps(gaps: &[Picos]) -> Option<Self> {
        let mut sum = 0u64;
        let mut starts = Vec::with_capacity(gaps.len());
        for gap in gaps {
            starts.push(sum);
            sum = sum.checked_add(gap.as_picos())?;
        }
        (sum > 0).then(|| Self { starts: starts.into(), total: sum, is_part: false })
    }

    /// Departures at these offsets; `total` after the first the whole begins again.
    pub fn of_times(starts: Vec<Picos>, total: Picos) -> Option<Self> {
        let starts: Vec<u64> = starts.into_iter().map(Picos::as_picos).collect();
        let (first, last) = (*starts.first()?, *starts.last()?);
        let is_ordered = first == 0 && starts.is_sorted() && last <= total.as_picos() && !total.is_zero();
        is_ordered.then(|| Self { starts: starts.into(), total: total.as_picos(), is_part: false })
    }

    /// Some of the departures of a cycle of that length: the first need not be at its beginning.
    pub fn of_part(starts: Vec<Picos>, total: Picos) -> Option<Self> {
        let starts: Vec<u64> = starts.into_iter().map(Picos::as_picos).collect();
        let last = *starts.last()?;
        let is_ordered = starts.is_sorted() && last <= total.as_picos() && !total.is_zero();
        is_ordered.then(|| Self { starts: starts.into(), total: total.as_picos(), is_part: true })
    }

    /// The gaps: number n is between departures n and n + 1.
    pub fn gaps(&self) -> Arc<[Picos]> {
        let ends = self.starts.iter().skip(1).chain(std::iter::once(&self.total));
        self.starts.iter().zip(ends).map(|(start, end)| Picos::from_picos(end - start)).collect()
    }

    /// Departures of one round; never 0.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.starts.len() as u64
    }

    pub fn total(&self) -> Picos {
        Picos::from_picos(self.total)
    }

    fn due(&self, n: u64) -> Picos {
        let (round, place) = (n / self.len(), n % self.len());
        let picos = u128::from(round) * u128::from(self.total) + u128::from(self.starts[place as usize]);
        Picos::from_picos_u128(picos)
    }

    fn before(&self, end: Picos) -> u64 {
        let (rounds, rest) = (end.as_picos() / self.total, end.as_picos() % self.total);
        let in_round = self.starts.partition_point(|start| *start < rest) as u64;
        // A last start that is the total itself is the next round's first: it is due at its end.
        let carried =
            self.starts.len() as u64 - self.starts.partition_point(|start| *start < self.total) as u64;
        let whole = rounds.saturating_mul(self.len());
        match rest {
            0 => whole.saturating_sub(if rounds > 0 { carried } else { 0 }),
            _ => whole.saturating_add(in_round),
        }
    }
}

impl Pattern {
    /// Offset of departure n from the beginning.
    pub fn due(&self, n: u64) -> Picos {
        match self {
            Self::Even(rate) => rate.due(n),
            Self::Bursts { rate, size } => rate.due(n / size * size),
            Self::Cycle(cycle) => cycle.due(n),
            Self::Shaped(shaped) => shaped.due(n),
        }
    }

    /// Departures with an offset strictly before `end`; `most` are enough.
    pub fn before(&self, end: Picos, most: u64) -> u64 {
        match self {
            Self::Even(rate) => rate.events_before(end),
            // A burst has begun when its first departure is due.
            Self::Bursts { rate, size } => rate.events_before(end).div_ceil(*size).saturating_mul(*size),
            Self::Cycle(cycle) => cycle.before(end),
            Self::Shaped(shaped) => shaped.before(end, most),
        }
    }

    /// How long `frames` departures take, the gap after the last included. `None` where that is no length: of a
    /// single frame of a recording.
    pub fn length(&self, frames: u64) -> Option<Picos> {
        match self {
            Self::Even(rate) | Self::Bursts { rate, .. } => Some(rate.due(frames)),
            Self::Cycle(cycle) => Some(cycle.due(frames)).filter(|_| cycle.total > 1),
            Self::Shaped(shaped) if shaped.is_drawn() => None,
            Self::Shaped(shaped) => Some(shaped.due(frames)).filter(|due| *due < Picos::MAX),
        }
    }

    /// How long it lasts where it ends by itself.
    pub fn whole(&self) -> Option<Picos> {
        match self {
            Self::Shaped(shaped) => shaped.length(),
            _ => None,
        }
    }

    /// The one gap between departures, if there is but one.
    pub fn gap(&self) -> Option<Picos> {
        match self {
            Self::Even(rate) => Some(rate.gap()),
            Self::Bursts { .. } | Self::Cycle(_) | Self::Shaped(_) => None,
        }
    }

    /// The gap by which threads decide how to wait: the one that there is, or that at the highest rate.
    pub fn waiting_gap(&self) -> Option<Picos> {
        match self {
            Self::Shaped(shaped) => shaped.smallest_gap(),
            _ => self.gap(),
        }
    }

    /// The rate, if there is one that can be set.
    pub const fn rate(&self) -> Option<Rate> {
        match self {
            Self::Even(rate) | Self::Bursts { rate, .. } => Some(*rate),
            Self::Cycle(_) | Self::Shaped(_) => None,
        }
    }

    /// The same shape at another rate; `None` where the times are given one by one.
    fn at_rate(&self, rate: Rate) -> Option<Self> {
        match self {
            Self::Even(_) => Some(Self::Even(rate)),
            Self::Bursts { size, .. } => Some(Self::Bursts { rate, size: *size }),
            Self::Cycle(_) | Self::Shaped(_) => None,
        }
    }

    /// The number from which a stretch that begins with departure `first` counts: lists go on where they were.
    fn base(&self, first: u64) -> u64 {
        if matches!(self, Self::Cycle(_) | Self::Shaped(_)) { 0 } else { first }
    }

    /// Whether a total costs as many draws as there are departures.
    const fn is_drawn(&self) -> bool {
        matches!(self, Self::Shaped(shaped) if shaped.is_drawn())
    }
}

/// A stretch of the run with one pattern.
#[derive(Clone, Debug)]
struct Stretch {
    /// Offset from the origin; departure `first` is due then (or later, if it is paused).
    from: Picos,
    first: u64,
    pattern: Pattern,
    is_paused: bool,
    /// Where departure `first` is in the pattern.
    begun: Picos,
}

impl Stretch {
    fn new(from: Picos, first: u64, pattern: Pattern, is_paused: bool) -> Self {
        let begun = pattern.due(first - pattern.base(first));
        Self { from, first, pattern, is_paused, begun }
    }

    /// The same where others share the times: where the pattern is then does not depend on who has which
    /// departure.
    fn in_step(self, before: Option<&Self>) -> Self {
        if !matches!(&self.pattern, Pattern::Cycle(cycle) if cycle.is_part) {
            return self;
        }
        let begun = match before {
            None => Picos::ZERO,
            Some(before) if before.is_paused => before.begun,
            Some(before) => before.begun + (self.from - before.from),
        };
        Self { begun, ..self }
    }

    fn due(&self, n: u64) -> Picos {
        if self.is_paused {
            return Picos::MAX;
        }
        match self.pattern.due(n - self.pattern.base(self.first)) {
            Picos::MAX => Picos::MAX,
            due => self.from + (due - self.begun),
        }
    }

    /// Departures of the whole load due strictly before `end`, if this is the last stretch that begins before
    /// it.
    fn before(&self, end: Picos, most: u64) -> u64 {
        if self.is_paused || end <= self.from {
            return self.first;
        }
        let base = self.pattern.base(self.first);
        base.saturating_add(self.pattern.before((end - self.from) + self.begun, most)).max(self.first)
    }
}

/// Where a load ends: at the first that holds. Both are of the whole load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    pub after: Option<Picos>,
    pub frames: Option<u64>,
}

/// One share of a load, see the module.
#[derive(Clone, Debug)]
pub struct Departures {
    /// Never empty; `from` and `first` never descend.
    stretches: Vec<Stretch>,
    origin: Instant,
    end: Picos,
    pub(super) frames: u64,
    stride: u64,
    next: u64,
    /// The first number that is not sent any more.
    total: u64,
    /// Due time of `next`, kept for even gaps so that it need not be divided out each time.
    step: Option<Step>,
    /// Due time of `next` where it is no even one.
    ahead: Picos,
}

/// Even gaps, one after another, with the remainder carried: the same as `floor(n · per / events)`.
#[derive(Clone, Copy, Debug)]
struct Step {
    due: u64,
    rest: u64,
    whole: u64,
    part: u64,
    events: u64,
}

impl Step {
    /// From departure `n` of the rate on, each `stride` further; `None` if a number would be too large.
    fn new(rate: Rate, from: Picos, n: u64, stride: u64) -> Option<Self> {
        let (events, per) = rate.ratio();
        let at = u128::from(n).checked_mul(u128::from(per.as_picos()))?;
        let step = u128::from(stride).checked_mul(u128::from(per.as_picos()))?;
        let events128 = u128::from(events);
        let due = u64::try_from(at / events128).ok()?.checked_add(from.as_picos())?;
        let whole = u64::try_from(step / events128).ok()?;
        Some(Self { due, rest: (at % events128) as u64, whole, part: (step % events128) as u64, events })
    }

    #[inline]
    fn advance(&mut self) {
        let carry = self.rest as u128 + self.part as u128 >= self.events as u128;
        self.rest = if carry {
            (self.rest as u128 + self.part as u128 - self.events as u128) as u64
        } else {
            self.rest + self.part
        };
        self.due = self.due.saturating_add(self.whole).saturating_add(u64::from(carry));
    }
}

impl Departures {
    pub fn new(pattern: Pattern, ends: Ends, origin: Instant, share: Share) -> Self {
        // Nothing is due at `Instant::FAR`: that means never.
        let end = ends.after.unwrap_or(Picos::MAX).min(Instant::FAR.since(origin));
        let stretches = vec![Stretch::new(Picos::ZERO, 0, pattern, false).in_step(None)];
        let (next, stride) = (share.index().into(), share.of().into());
        let frames = ends.frames.unwrap_or(u64::MAX);
        let ahead = Picos::MAX;
        let mut all = Self { stretches, origin, end, frames, stride, next, total: 0, step: None, ahead };
        all.settle();
        all
    }

    /// What follows from the stretches and from where the share is.
    fn settle(&mut self) {
        // What is drawn ends where it is due too late.
        let is_drawn = self.last().pattern.is_drawn();
        self.total = if is_drawn { self.frames } else { self.before(self.end).min(self.frames) };
        let last = self.last();
        self.step = match last.pattern {
            Pattern::Even(rate) if !last.is_paused && self.next >= last.first => {
                Step::new(rate, last.from, self.next - last.first, self.stride)
            }
            _ => None,
        };
        self.look_ahead();
    }

    #[inline]
    fn look_ahead(&mut self) {
        if self.step.is_none() {
            self.ahead = if self.next < self.total { self.due(self.next) } else { Picos::MAX };
        }
    }

    /// From `at` on the load has this rate.
    ///
    /// # Errors
    /// The gaps are from a file: there is no rate.
    pub fn set_rate(&mut self, at: Instant, rate: Rate) -> Result<(), NoRate> {
        let pattern = self.last().pattern.at_rate(rate).ok_or(NoRate)?;
        self.turn(at, pattern, self.last().is_paused);
        Ok(())
    }

    pub fn pause(&mut self, at: Instant) {
        self.turn(at, self.last().pattern.clone(), true);
    }

    pub fn resume(&mut self, at: Instant) {
        self.turn(at, self.last().pattern.clone(), false);
    }

    pub fn is_paused(&self) -> bool {
        self.last().is_paused
    }

    /// The shape of the load now.
    pub fn pattern(&self) -> &Pattern {
        &self.last().pattern
    }

    /// The number of the first departure from `at` on.
    pub fn first_from(&self, at: Instant) -> u64 {
        self.before(at.since(self.origin))
    }

    fn turn(&mut self, at: Instant, pattern: Pattern, is_paused: bool) {
        let from = at.since(self.origin).max(self.last().from);
        let first = self.before(from);
        let stretch = Stretch::new(from, first, pattern, is_paused).in_step(self.stretches.last());
        self.stretches.push(stretch);
        self.settle();
    }

    /// The departures from `seq` on were drawn and not taken: they are drawn again, and due when the pattern of
    /// that time says.
    pub fn put_back(&mut self, seq: u64) {
        self.next = seq;
        self.settle();
    }

    /// The number of the next departure of this share, and how far it is to the one after it.
    pub const fn place(&self) -> (u64, u64) {
        (self.next, self.stride)
    }

    /// When the next departure of this share is due.
    #[inline]
    pub fn peek(&self) -> Option<Instant> {
        if self.next >= self.total {
            return None;
        }
        let due = self.next_due();
        (due < self.end).then(|| self.origin + due)
    }

    #[inline]
    fn next_due(&self) -> Picos {
        match &self.step {
            Some(step) => Picos::from_picos(step.due),
            None => self.ahead,
        }
    }

    #[inline]
    fn advance(&mut self) {
        self.next = self.next.saturating_add(self.stride);
        // A share that learned of a change late may reach the last stretch only now.
        let may_reach_it = self.step.is_none() && matches!(self.last().pattern, Pattern::Even(_));
        match &mut self.step {
            Some(step) => step.advance(),
            None if may_reach_it => self.settle(),
            None => self.look_ahead(),
        }
    }

    /// Departures of this share that are due strictly before `end`, drawn or not.
    pub fn due_before(&self, end: Instant) -> u64 {
        let passed = self.passed(end);
        let index = self.next % self.stride;
        passed.saturating_sub(index).div_ceil(self.stride)
    }

    /// Departures of the whole load due strictly before `end`, and before its own end.
    pub fn passed(&self, end: Instant) -> u64 {
        self.before(end.since(self.origin).min(self.end)).min(self.total)
    }

    /// When the last departure of the whole load is due; `None` if there is none, or no end.
    pub fn last_due(&self) -> Option<Instant> {
        let last = self.total.checked_sub(1).filter(|_| self.total < u64::MAX)?;
        Some(self.origin + self.due(last))
    }

    /// When departure n of the whole load is due.
    pub fn due_of(&self, n: u64) -> Option<Instant> {
        let due = if n < self.total { self.due(n) } else { return None };
        (due < self.end).then(|| self.origin + due)
    }

    /// Departures of the whole load.
    pub fn total(&self) -> u64 {
        self.total
    }

    fn last(&self) -> &Stretch {
        self.stretches.last().expect("there is a first stretch")
    }

    fn stretch(&self, holds: impl Fn(&Stretch) -> bool) -> &Stretch {
        self.stretches.iter().rev().find(|stretch| holds(stretch)).unwrap_or(&self.stretches[0])
    }

    fn due(&self, n: u64) -> Picos {
        self.stretch(|stretch| stretch.first <= n).due(n)
    }

    /// Departures of the whole load due strictly before `end`.
    fn before(&self, end: Picos) -> u64 {
        self.stretch(|stretch| stretch.from < end).before(end, self.frames)
    }
}

/// The gaps are given one by one: there is no rate to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this load takes its gaps from a list or a shape, so its rate cannot be set; pause, resume and set size work"
)]
pub struct NoRate;

impl Schedule for Departures {
    #[inline]
    fn next(&mut self) -> Option<Departure> {
        let due = self.peek()?;
        let seq = self.next;
        self.advance();
        Some(Departure { seq, due })
    }

    fn skip_before(&mut self, end: Instant) -> u64 {
        let passed = self.passed(end);
        let dropped = passed.saturating_sub(self.next).div_ceil(self.stride);
        self.next = self.next.saturating_add(dropped.saturating_mul(self.stride));
        self.settle();
        dropped
    }
}

#[cfg(test)]
mod tests;
