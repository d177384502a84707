//! Whether departures left as the arrival process that was asked for: the run's *fidelity*.
//!
//! ```text
//! left(n) = due(n) + own lateness(n)   gap(n) = left(n) − left(n−1), within one thread's share of the schedule
//!
//! even      distance = share of gaps that are off by more than a quarter of a gap, or 50 µs if that is more
//! Poisson   distance = Kolmogorov and Smirnov's D between F(gap) and an even distribution   (stats::fidelity)
//! ```
//!
//! What waited because the plan's connections were busy is the target's slowness, and no matter here. Memory is
//! flat: the gaps of a Poisson process are kept as counts in 1 000 cells.

use crate::series::Series;
use crate::totals::RunTotals;
use stats::fidelity::erlang;
use units::{Picos, Rate};

/// The arrival process that was asked for, where there is a test of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskedArrivals {
    /// A closed loop, a rate that changes, a recording.
    #[default]
    Other,
    /// The same gap throughout, over all threads.
    Even(Picos),
    Poisson(Rate),
}

/// A gap that is off by less is never a matter: a CPU that is woken or interrupted costs as much at any time.
pub(crate) const FLOOR: Picos = Picos::from_micros(50);
/// A distance that nobody would see in a queue.
const NEAR: f64 = 0.02;
/// However high the rate, an even process is no Poisson process: its distance is 1 − 1/e = 0.63.
const FARTHEST: f64 = 0.4;
/// Of an even process: one gap in a hundred.
const EVEN_LIMIT: f64 = 0.01;

/// An arrival process that departures are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    Even,
    Poisson,
}

impl Process {
    /// As `result.json` has it.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Poisson => "poisson",
        }
    }
}

/// How far the gaps are from those that were asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fidelity {
    pub process: Process,
    pub gaps: u64,
    /// From 0, which is exact, to 1.
    pub distance: f64,
    pub limit: f64,
}

impl AskedArrivals {
    /// What F(gap) is of, for one of so many shares of the schedule; `None` unless Poisson.
    pub(crate) fn expected(self, shares: u64) -> Option<Expected> {
        let Self::Poisson(rate) = self else { return None };
        let shares = u32::try_from(shares.max(1)).unwrap_or(u32::MAX);
        Some(Expected { shares, per_pico: rate.as_per_second_f64() / 1e12 })
    }
}

/// Gaps of one share of a Poisson process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    shares: u32,
    per_pico: f64,
}

impl Expected {
    /// F(gap).
    #[inline]
    pub fn share(&self, gap: Picos) -> f64 {
        erlang(self.shares, gap.as_picos() as f64 * self.per_pico)
    }
}

impl RunTotals {
    /// `None` where nothing was asked that can be tested, or nothing left.
    pub fn fidelity(&self) -> Option<Fidelity> {
        match self.asked {
            AskedArrivals::Other => None,
            AskedArrivals::Even(gap) => self.even(gap),
            AskedArrivals::Poisson(rate) => self.poisson(rate),
        }
    }

    fn even(&self, gap: Picos) -> Option<Fidelity> {
        let errors = self.series.of(Series::GapError);
        let tolerance = Picos::from_picos(gap.as_picos() / 4).max(FLOOR).as_nanos();
        let off: u64 = errors
            .iter_recorded()
            .filter(|bucket| errors.lowest_equivalent(bucket.value_iterated_to()) > tolerance)
            .map(|bucket| bucket.count_at_value())
            .sum();
        let gaps = errors.len();
        let distance = off as f64 / gaps.max(1) as f64;
        (gaps > 0).then_some(Fidelity { process: Process::Even, gaps, distance, limit: EVEN_LIMIT })
    }

    fn poisson(&self, rate: Rate) -> Option<Fidelity> {
        let (gaps, distance) = (self.gaps.count(), self.gaps.distance());
        // The density of the gaps is at most the rate: so far may a shift of all by the floor move their
        // distribution.
        let tolerance = NEAR + rate.as_per_second_f64() * FLOOR.as_secs_f64();
        let limit = tolerance.min(FARTHEST) + self.gaps.by_chance();
        (gaps > 0).then_some(Fidelity { process: Process::Poisson, gaps, distance, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Settings;
    use crate::testing::answer;
    use units::{Instant, Record};

    const RATE: u64 = 200;

    /// 20 000 departures at a mean of 200/s over `threads` shares, which leave at `left(due)`; times in ns.
    fn run(threads: u16, due: impl Iterator<Item = u64>, left: impl Fn(u64) -> u64) -> Fidelity {
        let asked = AskedArrivals::Poisson(Rate::per_second(RATE).unwrap());
        let settings = Settings { threads, asked, gaps: true, ..Settings::from_origin(Instant::EPOCH) };
        let (collector, mut recorders) = crate::recorders(settings);
        for (seq, due) in due.take(20_000).enumerate() {
            let sent = left(due).max(due);
            recorders[seq % usize::from(threads)].event(&answer(seq as u64, due, sent, sent + 1_000));
        }
        drop(recorders);
        let (totals, _) = collector.finish(crate::testing::at(200_000_000_000), &mut |_| ());
        totals.fidelity().unwrap()
    }

    /// Poisson arrivals, made here of SplitMix64 and −ln(u).
    fn poisson() -> impl Iterator<Item = u64> {
        let (mut state, mut time) = (7u64, 0.0);
        std::iter::repeat_with(move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let u = (((z ^ (z >> 31)) >> 11) + 1) as f64 / (1u64 << 53) as f64;
            time += -u.ln() * 1e9 / RATE as f64;
            time as u64
        })
    }

    #[test]
    fn a_poisson_schedule_that_leaves_in_time_is_poisson() {
        for threads in [1, 3] {
            let fidelity = run(threads, poisson(), |due| due + 20_000);
            assert!(fidelity.distance <= 0.02 && fidelity.distance <= fidelity.limit, "{fidelity:?}");
            assert_eq!((fidelity.process, fidelity.gaps), (Process::Poisson, 20_000 - u64::from(threads)));
        }
    }

    #[test]
    fn an_even_schedule_is_none() {
        let fidelity = run(1, (0..).map(|n| n * 1_000_000_000 / RATE), |due| due);
        // All F(gap) are 1 − 1/e.
        assert!(
            (fidelity.distance - 0.632).abs() < 1e-3 && fidelity.distance > fidelity.limit,
            "{fidelity:?}"
        );
    }

    #[test]
    fn a_coarse_timer_is_none() {
        // Leaves at the next whole 10 ms, two mean gaps: P(no gap) is large.
        let coarse = |step: u64| move |due: u64| due.div_ceil(step) * step;
        let fidelity = run(1, poisson(), coarse(10_000_000));
        assert!(fidelity.distance > 0.4 && fidelity.distance > fidelity.limit, "{fidelity:?}");
        // At the next whole 1 ms, a fifth of a mean gap: P(gap = 0) is about 0.1 (∫ of 1 − e^(−λx) over one
        // step).
        let fidelity = run(1, poisson(), coarse(1_000_000));
        assert!(
            (0.06..0.15).contains(&fidelity.distance) && fidelity.distance > fidelity.limit,
            "{fidelity:?}"
        );
    }

    #[test]
    fn of_an_even_schedule_gaps_that_are_off_are_counted() {
        let mut totals = RunTotals::new(1);
        totals.asked = AskedArrivals::Even(Picos::from_millis(1));
        assert_eq!(totals.fidelity(), None);
        let mut data = crate::IntervalData::new(1);
        // A quarter of the gap is 250 µs.
        for error_us in [0, 10, 200, 300] {
            data.series.record(Series::GapError, Picos::from_micros(error_us));
        }
        totals.merge(&data, Instant::EPOCH);
        let expected = Fidelity { process: Process::Even, gaps: 4, distance: 0.25, limit: 0.01 };
        assert_eq!(totals.fidelity(), Some(expected));
    }
}
