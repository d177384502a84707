//! A rate made of straight lines, one after another: the common ground of ramps and stages.
//!
//! ```text
//! rate │      ╱──╲              N(t) = ∫₀ᵗ rate          departures before t
//!      │   ╱      ╲             due(n) = floor(sup { t : N(t) ≤ n })
//!      │╱          ╲
//!      └────────────── t        on a line from a to b over T, for x departures after its start:
//!                                   a·t + (b − a)·t² / (2T) = x
//! ```
//!
//! | symbol | unit |
//! |---|---|
//! | a, b | events each picosecond, as numerators over one denominator D |
//! | t, T | picoseconds, whole |
//! | N, n, x | departures; kept as 2·D·x, which is whole at the end of every line |
//!
//! With everything multiplied by 2·D·T the equation has whole numbers only, `2a·t·T + (b − a)·t² ≤ 2Dx·T`, in
//! at most 226 bits. A floating-point root gives a guess; the largest whole t that satisfies the inequality
//! is then found by trying, in 256 bits. So each due time is the exact floor, and the guess cannot change it.
//! The supremum matters on lines of rate zero: nothing is due there, but at the next time when something is.

use crate::curve::Curve;
use crate::rational::{divide, saturating_picos, saturating_u64};
use crate::search::first_without;
use ethnum::U256;
use units::Picos;

pub struct Lines {
    denominator: u128,
    lines: Vec<Line>,
    /// Where the last line ends.
    end: u64,
    /// 2·D·(departures before `end`).
    total: U256,
    /// The rate after the last line, as a numerator; `None` ends the schedule there.
    tail: Option<u128>,
}

struct Line {
    start: u64,
    over: u64,
    /// Rates at its ends, as numerators.
    from: u128,
    to: u128,
    /// 2·D·(departures before `start`).
    before: U256,
}

impl Lines {
    /// `parts` are each line's rate at its start and at its end, as numerators over `denominator`, and its
    /// length. Lengths of zero are left out.
    pub fn new(
        denominator: u128,
        parts: impl Iterator<Item = (u128, u128, Picos)>,
        tail: Option<u128>,
    ) -> Self {
        let mut whole = Self { denominator, lines: Vec::new(), end: 0, total: U256::ZERO, tail };
        for (from, to, over) in parts.filter(|(.., over)| !over.is_zero()) {
            let over = over.as_picos();
            whole.lines.push(Line { start: whole.end, over, from, to, before: whole.total });
            whole.end = whole.end.saturating_add(over);
            whole.total += (U256::from(from) + U256::from(to)) * U256::from(over);
        }
        whole
    }

    /// 2·D·n.
    fn scaled(&self, n: u64) -> U256 {
        U256::from(n) * U256::from(self.denominator) * U256::new(2)
    }

    /// 2·D·N(end), rounded down.
    fn scaled_before(&self, end: u64) -> U256 {
        if end >= self.end {
            let tail = U256::from(self.tail.unwrap_or(0)) * U256::new(2);
            return self.total + tail * U256::from(end - self.end);
        }
        let at = self.lines.partition_point(|line| line.start <= end) - 1;
        let line = &self.lines[at];
        line.before + line.reached(end - line.start) / U256::from(line.over)
    }

    /// Nothing is ever due.
    pub fn is_empty(&self) -> bool {
        self.total == U256::ZERO && self.tail.is_none()
    }
}

impl Line {
    /// 2·D·T·(departures within t of its start).
    fn reached(&self, t: u64) -> U256 {
        let (t, over) = (U256::from(t), U256::from(self.over));
        let even = U256::new(2) * U256::from(self.from) * over;
        if self.to >= self.from {
            t * (even + U256::from(self.to - self.from) * t)
        } else {
            t * (even - U256::from(self.from - self.to) * t)
        }
    }

    /// The last whole picosecond at which no more than x departures were reached, from 2·D·x.
    fn offset(&self, scaled: U256) -> Picos {
        if self.from == self.to {
            return saturating_picos(divide(scaled, U256::from(self.from) * U256::new(2)).0);
        }
        let limit = scaled * U256::from(self.over);
        let beyond = first_without(self.guess(scaled), self.over, |t| self.reached(t) <= limit);
        // At t = 0 nothing was reached, so at least that satisfied it.
        Picos::from_picos(beyond.saturating_sub(1))
    }

    /// One more than the positive root of `a·t + (b − a)·t² / (2T) = x`, in the form that does not cancel:
    /// `t = 2x / (a + √(a² + 2(b − a)x / T))`.
    fn guess(&self, scaled: U256) -> u64 {
        let (from, to, over) = (self.from as f64, self.to as f64, self.over as f64);
        let twice = scaled.as_f64();
        let root = (from * from + (to - from) * twice / over).max(0.0).sqrt();
        (twice / (from + root)) as u64 + 1
    }
}

impl Curve for Lines {
    fn due(&self, n: u64) -> Picos {
        let scaled = self.scaled(n);
        if scaled >= self.total {
            let Some(tail) = self.tail else { return Picos::MAX };
            let after = divide(scaled - self.total, U256::from(tail) * U256::new(2)).0;
            return saturating_picos(after + U256::from(self.end));
        }
        // The last line that starts with no more than n reached: lines of rate zero before it are passed
        // over.
        let at = self.lines.partition_point(|line| line.before <= scaled) - 1;
        let line = &self.lines[at];
        Picos::from_picos(line.start) + line.offset(scaled - line.before)
    }

    fn roughly_before(&self, end: Picos) -> u64 {
        saturating_u64(divide(self.scaled_before(end.as_picos()), self.scaled(1)).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guess_of_an_offset_is_near() {
        // One event each microsecond and three, over a second, up and down: D = 10⁶ ps.
        for (from, to) in [(1, 3), (3, 1), (0, 2), (2, 0)] {
            let over = 1_000_000_000_000;
            let line = Line { start: 0, over, from, to, before: U256::ZERO };
            for n in [1, 2, 1_000, 400_000, 999_999u64] {
                let scaled = U256::from(n) * U256::new(2_000_000);
                let (guess, found) = (line.guess(scaled), line.offset(scaled).as_picos() + 1);
                // Double precision has 53 bits for the 40 of this time.
                assert!(guess.abs_diff(found) <= 4, "{n} from {from} to {to}: {guess}, not {found}");
            }
        }
    }
}
