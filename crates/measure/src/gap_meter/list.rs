//! Where frames are in a list of gaps: found again when one is lost, or one more comes, instead of a list that
//! is shifted for ever.
//!
//! ```text
//!   list        100  200  300 │ 100  200  300 │ …
//!   measured    100  200    400    200  300   …      the frame between 300 and 100 is missing
//! ```
//!
//! A gap is judged [`AHEAD`] gaps after it was measured: those that follow tell whether it was late, or whether
//! the list must be taken up elsewhere. It is only where the gaps from there on fit better by far, so that no
//! stall is explained away: a list of equal gaps is never left, and its error is told.

use std::collections::VecDeque;
use units::Picos;

/// Gaps that are looked at behind the one that is judged.
const AHEAD: usize = 8;
/// Places of the list that are tried.
const MOST: usize = 1_024;
/// So many times better must another place fit.
const BETTER: i64 = 3;

/// Where the frames are in the list.
#[derive(Clone, Debug, Default)]
pub(super) struct Follower {
    /// The place of the first that waits.
    at: usize,
    /// Measured, not judged yet; in picoseconds.
    pending: VecDeque<i64>,
    /// Gaps until another place is looked for, after a search that found none.
    rest: usize,
    /// Times that the list was taken up elsewhere.
    pub slips: u64,
}

/// A gap with what the list asks for, in picoseconds.
pub(super) type GapPair = (i64, i64);

/// What explains the gaps that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The first is a gap over so many of the list.
    Over(usize),
    /// The first is the one so many places further on.
    Further(usize),
    /// A frame came between that is none of the list's: the first two are one gap.
    Parted,
}

impl Follower {
    /// One more gap was measured; the one that is judged now, if any is.
    #[inline]
    pub fn push(&mut self, gap_ps: i64, list: &[Picos]) -> Option<GapPair> {
        self.pending.push_back(gap_ps);
        if self.pending.len() <= AHEAD { None } else { self.judge(list) }
    }

    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Judges one of those that wait, at the end.
    pub fn next(&mut self, list: &[Picos]) -> Option<GapPair> {
        let gap = self.pending.pop_front()?;
        let asked = asked(list, self.at);
        self.at = (self.at + 1) % list.len();
        Some((gap, asked))
    }

    fn judge(&mut self, list: &[Picos]) -> Option<GapPair> {
        let (own, next) = (asked(list, self.at), asked(list, self.at + 1));
        // Within a burst all gaps are asked to be none; a frame that it lacks is found at its end.
        let least = if own.min(next) > 0 { own.min(next) } else { own.max(next) };
        let place = if self.rest > 0 {
            self.rest -= 1;
            None
        } else if least > 0 && (self.pending[0] - own).saturating_abs() > least / 4 {
            self.search(list)
        } else {
            None
        };
        let Some(place) = place else { return self.next(list) };
        self.slips += 1;
        match place {
            Place::Over(count) => {
                let sum = (0..count).map(|n| asked(list, self.at + n)).fold(0, i64::saturating_add);
                self.at = (self.at + count) % list.len();
                self.pending.pop_front().map(|gap| (gap, sum))
            }
            Place::Further(count) => {
                self.at = (self.at + count) % list.len();
                self.next(list)
            }
            Place::Parted => {
                let first = self.pending.pop_front().unwrap_or(0);
                if let Some(second) = self.pending.front_mut() {
                    *second = second.saturating_add(first);
                }
                None
            }
        }
    }

    /// Where the gaps that wait fit better by far than where they are expected.
    #[cold]
    fn search(&mut self, list: &[Picos]) -> Option<Place> {
        self.rest = AHEAD;
        let first = self.pending[0];
        // What the gaps from number `from` on are off, where that one is at `place`; beyond `most` it does not
        // matter by how much.
        let off = |from: usize, place: usize, most: i64| {
            let mut sum = 0_i64;
            for (n, gap) in self.pending.iter().skip(from).enumerate() {
                sum = sum.saturating_add((gap - asked(list, place + n)).saturating_abs());
                if sum >= most {
                    break;
                }
            }
            sum
        };
        let (here, behind) = (off(0, self.at, i64::MAX), off(1, self.at + 1, i64::MAX));
        let mut best = (here / BETTER, None);
        let mut consider = |own: i64, from: usize, at: usize, must_tell: bool, place| {
            let own = own.saturating_abs();
            let rest = off(from, at, best.0);
            let is_told = !must_tell || rest.saturating_mul(BETTER) < behind;
            if own.saturating_add(rest) < best.0 && is_told {
                best = (own.saturating_add(rest), Some(place));
            }
        };
        // Where the first gap is another than any of the list, those behind it must say so as well: one that is
        // late is no other.
        let mut sum = asked(list, self.at);
        for count in 2..MOST {
            sum = sum.saturating_add(asked(list, self.at + count - 1));
            consider(first.saturating_sub(sum), 1, self.at + count, true, Place::Over(count));
        }
        let both = first.saturating_add(self.pending[1]).saturating_sub(asked(list, self.at));
        consider(both, 2, self.at + 1, true, Place::Parted);
        for count in 1..list.len().min(MOST) {
            let own = first.saturating_sub(asked(list, self.at + count));
            consider(own, 1, self.at + count + 1, false, Place::Further(count));
        }
        if best.1.is_some() {
            self.rest = 0;
        }
        best.1
    }
}

fn asked(list: &[Picos], at: usize) -> i64 {
    i64::try_from(list[at % list.len()].as_picos()).unwrap_or(i64::MAX)
}
