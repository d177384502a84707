//! How long a tick of the time-stamp counter is.
//!
//! The counter and CLOCK_MONOTONIC are read together at two moments, 10 ms apart or more:
//!
//! ```text
//! counter    b₀ ────── b₁          a bracket: counter, clock, counter
//! monotonic       m
//!
//! picoseconds per tick = 1000 · (Σm₂ − Σm₁) / (Σc₂ − Σc₁)         c = (b₀ + b₁) / 2
//! ```
//!
//! Each moment is the sum over the tightest of many brackets, so an interrupt inside one does not count and the
//! clock's step of 1 ns averages out. The clock is read at the same place within every tight bracket, so that
//! this error cancels between the two moments; what is left was measured here as under 0.1 ppm over 20 ms
//! (`benches/loops/weigh_clock.rs`), and falls as 1 / length when the clock is calibrated again later.
//! CLOCK_MONOTONIC itself may be steered by NTP during a run; `check` shows it.

use crate::raw;

/// Brackets that are tried at one moment, and how many of the tightest are kept.
const TRIED: usize = 192;
const KEPT: usize = 16;

/// Both clocks at one moment, as sums over the kept brackets (kept whole so that no division rounds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Σ (b₀ + b₁): twice the counter, `KEPT` times.
    ticks_2k: u128,
    /// Σ m in nanoseconds.
    ns_k: u128,
    /// Width of the widest bracket that was kept, in ticks.
    pub width_ticks: u64,
    /// The counter went down within a bracket or from one to the next.
    pub went_back: bool,
}

impl Moment {
    /// Takes about 20 µs.
    pub fn take() -> Self {
        let mut brackets = [(u64::MAX, 0u64, 0u64); TRIED];
        let mut went_back = false;
        let mut last = 0;
        for bracket in &mut brackets {
            let before = raw::ticks_ordered();
            let ns = raw::monotonic_ns();
            let after = raw::ticks_ordered();
            went_back |= before < last || after < before;
            last = after;
            *bracket = (after.saturating_sub(before), before, ns);
        }
        brackets.sort_unstable();
        let tightest = &brackets[..KEPT];
        Self {
            ticks_2k: tightest
                .iter()
                .map(|(width, before, _)| 2 * u128::from(*before) + u128::from(*width))
                .sum(),
            ns_k: tightest.iter().map(|(_, _, ns)| u128::from(*ns)).sum(),
            width_ticks: tightest[KEPT - 1].0,
            went_back,
        }
    }

    /// Both clocks as a test says.
    #[cfg(test)]
    pub fn fake(ticks: u64, ns: u64, width_ticks: u64) -> Self {
        let k = KEPT as u128;
        Self { ticks_2k: 2 * k * u128::from(ticks), ns_k: k * u128::from(ns), width_ticks, went_back: false }
    }

    pub fn ticks(&self) -> u64 {
        (self.ticks_2k / (2 * KEPT as u128)) as u64
    }

    pub fn ns(&self) -> u64 {
        (self.ns_k / KEPT as u128) as u64
    }
}

/// Ticks to picoseconds: `picos = (ticks · multiplier) >> 48`, one 64 × 64 → 128-bit multiplication.
///
/// A tick of 0.26 ns gives a multiplier of 2⁵⁶, so its rounding is 10⁻¹⁷ of the whole: 0.3 ps in a day. The
/// product cannot overflow, and picoseconds in a `u64` last 213 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    multiplier: u64,
}

const SHIFT: u32 = 48;

impl Scale {
    /// The rate between two moments; `None` when the second is not later on both clocks, or when a tick is
    /// longer than 65 ns (2¹⁶ ps).
    pub fn between(first: &Moment, second: &Moment) -> Option<Self> {
        let ticks_2k = second.ticks_2k.checked_sub(first.ticks_2k)?;
        let ns_k = second.ns_k.checked_sub(first.ns_k)?;
        // Σm · 1000 ps · 2 (the ticks are doubled), in 48 binary places; a year of nanoseconds stays below
        // 2¹²⁸.
        let multiplier = (ns_k.checked_mul(2_000)? << SHIFT).checked_div(ticks_2k)?;
        u64::try_from(multiplier).ok().filter(|m| *m > 0).map(|multiplier| Self { multiplier })
    }

    #[inline(always)]
    pub fn picos(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.multiplier)) >> SHIFT) as u64
    }

    /// By how many millionths `self` runs faster than `other`.
    pub fn ppm_from(self, other: Self) -> f64 {
        (self.multiplier as f64 / other.multiplier as f64 - 1.0) * 1e6
    }

    /// Ticks per second.
    pub fn hertz(self) -> u64 {
        ((1_000_000_000_000u128 << SHIFT) / u128::from(self.multiplier)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(ticks: u64, ns: u64) -> Moment {
        Moment::fake(ticks, ns, 100)
    }

    #[test]
    fn a_counter_of_2_6_ghz_is_converted_without_drift() {
        // 26 ticks are 10 ns = 10 000 ps, so 100 days (8.64e6 s) are 22.464e15 ticks.
        let scale = Scale::between(&moment(500, 77), &moment(500 + 52_000_000, 77 + 20_000_000)).unwrap();
        assert_eq!(scale.hertz(), 2_600_000_000);
        let picos = scale.picos(22_464_000_000_000_000);
        assert!(8_640_000_000_000_000_000 - picos < 100, "{picos}");
        assert_eq!(scale.picos(0), 0);
    }

    #[test]
    fn a_slow_counter_and_a_fast_one_both_fit() {
        for hertz in [16_000_000u64, 1_000_000_000, 6_000_000_000] {
            let scale = Scale::between(&moment(0, 0), &moment(hertz, 1_000_000_000)).unwrap();
            let day = scale.picos(hertz * 86_400);
            assert!(86_400_000_000_000_000 - day < 40, "{hertz}: {day}");
        }
        assert_eq!(Scale::between(&moment(0, 0), &moment(10_000_000, 1_000_000_000)), None);
    }

    #[test]
    fn clocks_that_stand_still_give_no_rate() {
        assert_eq!(Scale::between(&moment(5, 5), &moment(5, 10)), None);
        assert_eq!(Scale::between(&moment(5, 5), &moment(10, 5)), None);
        assert_eq!(Scale::between(&moment(5, 5), &moment(4, 10)), None);
    }

    #[test]
    fn a_year_of_uptime_does_not_overflow() {
        let year = 31_536_000u64;
        let scale =
            Scale::between(&moment(0, 0), &moment(3_000_000_000 * year, 1_000_000_000 * year)).unwrap();
        assert_eq!(scale.hertz(), 3_000_000_000);
    }
}
