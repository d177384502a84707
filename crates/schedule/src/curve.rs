//! Shapes whose n-th due time is a function of n alone.

use crate::search::first_without;
use crate::{Schedule, Share};
use units::{Departure, Instant, Picos};

/// The whole of a shape, before it is shared out: due times by number.
pub trait Curve: Send {
    /// Offset of the n-th departure from the origin, never descending. `Picos::MAX` means never.
    fn due(&self, n: u64) -> Picos;

    /// About how many are due before `end`: a guess from which the search starts.
    fn roughly_before(&self, end: Picos) -> u64;

    /// How many of the first `most` departures have their due time strictly before `end`.
    fn before(&self, end: Picos, most: u64) -> u64 {
        count_before(self, end).min(most)
    }
}

/// How many departures have their due time strictly before `end`.
pub fn count_before<C: Curve + ?Sized>(curve: &C, end: Picos) -> u64 {
    first_without(curve.roughly_before(end), u64::MAX, |n| curve.due(n) < end)
}

/// One share of a curve: every `of`-th departure from `index` on, up to a number known beforehand.
pub struct Indexed<C> {
    curve: C,
    origin: Instant,
    next: u64,
    stride: u64,
    /// The first number that is not sent any more.
    total: u64,
}

impl<C: Curve> Indexed<C> {
    pub fn new(curve: C, end: Picos, requests: u64, origin: Instant, share: Share) -> Self {
        let total = count_before(&curve, end).min(requests);
        Self { curve, origin, next: share.index().into(), stride: share.of().into(), total }
    }
}

impl<C: Curve> Schedule for Indexed<C> {
    fn next(&mut self) -> Option<Departure> {
        if self.next >= self.total {
            return None;
        }
        let seq = self.next;
        self.next = seq.saturating_add(self.stride);
        Some(Departure { seq, due: self.origin + self.curve.due(seq) })
    }

    fn skip_before(&mut self, end: Instant) -> u64 {
        let passed = count_before(&self.curve, end.since(self.origin)).min(self.total);
        let dropped = passed.saturating_sub(self.next).div_ceil(self.stride);
        self.next = self.next.saturating_add(dropped.saturating_mul(self.stride));
        dropped
    }
}

/// That a guess of a curve is as near as its search counts on: within one or two of what is found.
#[cfg(test)]
#[track_caller]
pub fn assert_guess_is_near<C: Curve>(curve: &C, ends: impl IntoIterator<Item = Picos>) {
    for end in ends {
        let (guess, found) = (curve.roughly_before(end), count_before(curve, end));
        assert!(guess.abs_diff(found) <= 2, "before {end:?}: {guess} guessed, {found} found");
    }
}
