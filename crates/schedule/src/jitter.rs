//! Random displacement of each due time, that leaves the rate as it is.
//!
//! ```text
//!             d(n−1)        d(n)            d(n+1)        x(n) = d(n) + j·(d(n+1) − d(n))    j ≥ 0
//! ──────────────┼─────────────┼───────────────┼────            d(n) + j·(d(n) − d(n−1))    j < 0
//!                     ├───────┼───────┤                   j evenly in ± share, from the seed and n
//!                        x(n) somewhere                   due(n) = median(x(n−1), x(n), x(n+1))
//! ```
//!
//! Each time moves from its own exact place, so the displacements do not add up: the n-th is never more than
//! a gap from where it would be, after any number of departures.
//!
//! Up to a share of one half, x never descends and the median is x(n) itself. Above, neighbours may change
//! places, but no more than neighbours: x(n) ≤ d(n+1) ≤ x(n+2). In such a sequence the median of three *is*
//! the n-th smallest (everything up to n − 2 is at most x(n) and x(n+1); everything from n + 2 is at least
//! x(n−1) and x(n)), so the times are the same, only in order.
//!
//! No time moves over an end of the run or of its warm-up, so that each has as many as without jitter. That
//! shortens ways, and so changes nothing of the above.

use crate::curve::Curve;
use crate::random::{Purpose, Random};
use crate::stream::Offset;
use units::{Fraction, Picos};

/// How far to move, by number.
#[derive(Clone, Copy)]
struct Displacement {
    share: Fraction,
    random: Random,
    ends: Ends,
}

/// Times that nothing moves over: where the warm-up and the run end.
pub type Ends = [Picos; 2];

impl Displacement {
    fn new(share: Fraction, seed: u64, ends: Ends) -> Self {
        Self { share, random: Random::new(seed, Purpose::Jitter), ends }
    }

    /// x(n), rounded towards d(n).
    fn moved(self, n: u64, previous: Picos, at: Picos, next: Picos) -> Picos {
        // Evenly from −2³¹ to 2³¹ − 1.
        let part = (self.random.at(n) >> 32) as u32 as i32;
        let moved = if part < 0 { at - self.of(at - previous, part) } else { at + self.of(next - at, part) };
        self.ends.into_iter().fold(moved, |moved, end| match at < end {
            true => moved.min(end - Picos::from_picos(1)),
            false => moved.max(end),
        })
    }

    /// share · |part| / 2³¹ of the gap.
    fn of(self, gap: Picos, part: i32) -> Picos {
        // At most 2⁶⁴ · 10⁶ · 2³¹ < 2¹¹⁵.
        let product = u128::from(gap.as_picos())
            * u128::from(self.share.millionths())
            * u128::from(part.unsigned_abs());
        Picos::from_picos_u128(product / (u128::from(Fraction::ONE.millionths()) << 31))
    }

    fn keeps_order(self) -> bool {
        self.share.millionths() <= Fraction::ONE.millionths() / 2
    }
}

fn median(a: Picos, b: Picos, c: Picos) -> Picos {
    a.min(b).max(a.max(b).min(c))
}

/// A curve with every due time displaced.
pub struct Jitter<C> {
    inner: C,
    displacement: Displacement,
}

impl<C: Curve> Jitter<C> {
    pub fn new(inner: C, share: Fraction, seed: u64, ends: Ends) -> Self {
        Self { inner, displacement: Displacement::new(share, seed, ends) }
    }

    /// x(n). The first cannot go back, the last cannot go on.
    fn moved(&self, n: u64) -> Picos {
        let at = self.inner.due(n);
        if at == Picos::MAX {
            return at;
        }
        let previous = n.checked_sub(1).map_or(Picos::ZERO, |before| self.inner.due(before));
        let next = match self.inner.due(n.saturating_add(1)) {
            Picos::MAX => at,
            next => next,
        };
        self.displacement.moved(n, previous, at, next)
    }
}

impl<C: Curve> Curve for Jitter<C> {
    fn due(&self, n: u64) -> Picos {
        let at = self.moved(n);
        if at == Picos::MAX || self.displacement.keeps_order() {
            return at;
        }
        let previous = n.checked_sub(1).map_or(Picos::ZERO, |before| self.moved(before));
        median(previous, at, self.moved(n.saturating_add(1)))
    }

    fn roughly_before(&self, end: Picos) -> u64 {
        self.inner.roughly_before(end)
    }
}

/// x(n) of a sequence that is drawn one by one.
pub struct Moved<I> {
    inner: I,
    displacement: Displacement,
    n: u64,
    previous: Picos,
    ahead: Option<Offset>,
}

impl<I: Iterator<Item = Offset>> Moved<I> {
    pub fn new(inner: I, share: Fraction, seed: u64, ends: Ends) -> Self {
        let displacement = Displacement::new(share, seed, ends);
        Self { inner, displacement, n: 0, previous: Picos::ZERO, ahead: None }
    }
}

impl<I: Iterator<Item = Offset>> Iterator for Moved<I> {
    type Item = Offset;

    fn next(&mut self) -> Option<Offset> {
        let (at, next) = match with_next(&mut self.ahead, &mut self.inner)? {
            Ok((at, next)) => (at, next.unwrap_or(at)),
            Err(failure) => return Some(Err(failure)),
        };
        let moved = self.displacement.moved(self.n, self.previous, at, next);
        self.n += 1;
        self.previous = at;
        Some(Ok(moved))
    }
}

/// Puts a sequence in order in which only neighbours may have changed places.
pub struct Ordered<I> {
    inner: I,
    previous: Picos,
    ahead: Option<Offset>,
}

impl<I: Iterator<Item = Offset>> Ordered<I> {
    pub fn new(inner: I) -> Self {
        Self { inner, previous: Picos::ZERO, ahead: None }
    }
}

impl<I: Iterator<Item = Offset>> Iterator for Ordered<I> {
    type Item = Offset;

    fn next(&mut self) -> Option<Offset> {
        let (at, next) = match with_next(&mut self.ahead, &mut self.inner)? {
            Ok((at, next)) => (at, next.unwrap_or(Picos::MAX)),
            Err(failure) => return Some(Err(failure)),
        };
        let previous = std::mem::replace(&mut self.previous, at);
        Some(Ok(median(previous, at, next)))
    }
}

/// The next of a sequence together with the one after it. A failure ahead is kept for its own turn.
fn with_next<I: Iterator<Item = Offset>>(
    ahead: &mut Option<Offset>,
    inner: &mut I,
) -> Option<Result<(Picos, Option<Picos>), crate::ScheduleError>> {
    let at = match ahead.take().or_else(|| inner.next())? {
        Ok(at) => at,
        Err(failure) => return Some(Err(failure)),
    };
    *ahead = inner.next();
    let next = ahead.as_ref().and_then(|next| next.as_ref().ok()).copied();
    Some(Ok((at, next)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constant::Constant;
    use crate::curve::assert_guess_is_near;
    use units::Rate;

    const GAP: u64 = 1_000_000_000;
    const ENDLESS: Ends = [Picos::ZERO, Picos::MAX];

    fn jittered(percent: u32, seed: u64) -> Jitter<Constant> {
        let share = Fraction::from_millionths(percent * 10_000).unwrap();
        Jitter::new(Constant(Rate::per_second(1_000).unwrap()), share, seed, ENDLESS)
    }

    #[test]
    fn ten_percent_stays_within_ten_percent_and_fills_it() {
        // Even gaps of 1 ms: displacement within ± 100 µs, mean 0 ± 5σ = 5 · 100/√3/√100 000 = 0.91 µs, and
        // evenly spread: χ² over 20 classes (19 degrees of freedom) below 43.8 with probability 0.999.
        let jitter = jittered(10, 3);
        let moves: Vec<i64> =
            (1..=100_000).map(|n| jitter.due(n).as_picos() as i64 - (n * GAP) as i64).collect();
        assert!(moves.iter().all(|m| m.abs() <= 100_000_000));
        let mean = moves.iter().sum::<i64>() as f64 / 1e5;
        assert!(mean.abs() < 910_000.0, "{mean}");
        let mut counts = [0u32; 20];
        for m in &moves {
            counts[(((m + 100_000_000) / 10_000_000) as usize).min(19)] += 1;
        }
        let chi2: f64 = counts.iter().map(|c| (f64::from(*c) - 5_000.0).powi(2) / 5_000.0).sum();
        assert!(chi2 < 43.8, "{chi2}");
    }

    #[test]
    fn displacements_do_not_add_up() {
        let jitter = jittered(100, 1);
        for n in [1_000_000_000u64, 10_000_000_000] {
            let exact = n * GAP;
            assert!(jitter.due(n).as_picos().abs_diff(exact) <= GAP, "{n}");
        }
    }

    #[test]
    fn a_whole_gap_of_jitter_is_the_same_times_in_order() {
        let jitter = jittered(100, 8);
        let due: Vec<Picos> = (0..20_000).map(|n| jitter.due(n)).collect();
        let mut sorted: Vec<Picos> = (0..20_001).map(|n| jitter.moved(n)).collect();
        assert!(!sorted.is_sorted(), "neighbours do change places at 100 %");
        sorted.sort();
        assert_eq!(due, sorted[..20_000]);
    }

    #[test]
    fn drawn_sequences_move_as_computed_ones_do() {
        for percent in [10, 50, 80, 100] {
            let curve = jittered(percent, 4);
            let share = curve.displacement.share;
            let plain = (0..1_000).map(|n| Ok(curve.inner.due(n)));
            let drawn = Ordered::new(Moved::new(plain, share, 4, ENDLESS)).map(Result::unwrap);
            // The last two differ, as the drawn one ends there.
            assert!(drawn.take(998).eq((0..998).map(|n| curve.due(n))), "{percent} %");
        }
    }

    #[test]
    fn nothing_moves_into_the_run_or_out_of_it() {
        let rate = Rate::per_second(500).unwrap();
        for (percent, seed) in
            [10, 50, 100].into_iter().flat_map(|percent| (0..200).map(move |n| (percent, n)))
        {
            let share = Fraction::from_millionths(percent * 10_000).unwrap();
            let ends = [Picos::from_millis(500), Picos::from_secs(1)];
            let jitter = Jitter::new(Constant(rate), share, seed, ends);
            let counts = ends.map(|end| crate::curve::count_before(&jitter, end));
            assert_eq!(counts, [250, 500], "{percent} %, seed {seed}");
        }
    }

    #[test]
    fn a_failure_comes_in_its_turn() {
        let failing = [Ok(Picos::from_secs(1)), Err(crate::ScheduleError::NoStages)].into_iter();
        let mut drawn = Ordered::new(Moved::new(failing, Fraction::ONE, 0, ENDLESS));
        assert!(drawn.next().unwrap().is_ok());
        assert!(drawn.next().unwrap().is_err());
        assert!(drawn.next().is_none());
    }

    #[test]
    fn times_are_those_of_an_independent_program() {
        // Python 3, with mix() as in tests/all/shares.rs; 1 000/s, 10 %, seed 42:
        //   s=mix(42^mix(2)); d=lambda n: n*10**9
        //   for n in range(6):
        //     p=mix(s+(n+1)*0x9e3779b97f4a7c15&M)>>32; p=p-2**32 if p>=2**31 else p
        //     gap=(d(n)-d(n-1) if n else 0) if p<0 else d(n+1)-d(n)
        //     off=gap*100000*abs(p)//(10**6<<31); print(d(n)-off if p<0 else d(n)+off)
        let constant = Constant("1000".parse().unwrap());
        let jitter = Jitter::new(constant, Fraction::from_millionths(100_000).unwrap(), 42, ENDLESS);
        let due = [0, 1, 2, 3, 4, 5].map(|n| jitter.due(n).as_picos());
        assert_eq!(
            due,
            [66_946_315, 1_063_023_683, 2_008_005_808, 2_960_975_257, 4_064_193_934, 4_952_556_275]
        );
        assert_guess_is_near(&jitter, [0, 1, 999, 86_400_000].map(Picos::from_millis));
    }
}
