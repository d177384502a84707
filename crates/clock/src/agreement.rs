//! Whether the run's clock still agrees with the kernel's, so that a clock that jumps or drifts is found.
//!
//! ```text
//! offset = (ours now − ours then) − (CLOCK_MONOTONIC now − CLOCK_MONOTONIC then)
//! limit  = 50 µs + 100 ppm · (ours now − ours then)
//! ```
//!
//! 100 ppm is the 0.01 % to which rates are judged; 50 µs lets one interrupt fall between two readings.
//! CLOCK_MONOTONIC is read through libc here, as other code of the process reads it. CLOCK_BOOTTIME minus
//! CLOCK_MONOTONIC is the time that the machine was suspended: during a run it may not grow.

use crate::{Clock, HostClock, raw};
use std::fmt;
use units::{Instant, Picos};

const ALLOWANCE_PICOS: u64 = 50_000_000;
const PPM: u64 = 100;
/// Readings per comparison; the one with the least time around it counts.
const READINGS: usize = 8;

/// What a comparison of two clocks found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// How far our clock is ahead of CLOCK_MONOTONIC, in picoseconds; negative is behind.
    pub offset_picos: i64,
    /// The length of time over which it was compared.
    pub over: Picos,
    /// The most that `offset_picos` may be either way.
    pub limit: Picos,
    /// Time that the machine was suspended meanwhile.
    pub suspended: Picos,
}

impl Agreement {
    /// Our clock has neither jumped nor drifted, and the machine was not suspended.
    pub fn holds(&self) -> bool {
        self.offset_picos.unsigned_abs() <= self.limit.as_picos() && self.suspended <= self.limit
    }

    /// The offset in millionths of the time over which it grew.
    pub fn ppm(&self) -> f64 {
        if self.over.is_zero() { 0.0 } else { self.offset_picos as f64 / self.over.as_picos() as f64 * 1e6 }
    }

    /// How much of its limit it uses, over 1 when it does not hold.
    fn strain(&self) -> f64 {
        let worst = self.offset_picos.unsigned_abs().max(self.suspended.as_picos());
        worst as f64 / self.limit.as_picos() as f64
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = Picos::from_picos(self.offset_picos.unsigned_abs());
        let side = if self.offset_picos < 0 { "behind" } else { "ahead of" };
        write!(f, "{offset:#} {side} CLOCK_MONOTONIC after {:#} (limit {:#})", self.over, self.limit)?;
        if !self.suspended.is_zero() {
            write!(f, ", suspended for {:#}", self.suspended)?;
        }
        Ok(())
    }
}

/// All clocks at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Base {
    ours: Instant,
    libc_ns: u64,
    /// CLOCK_BOOTTIME − CLOCK_MONOTONIC.
    suspended_ns: u64,
}

impl Base {
    pub fn take(clock: &HostClock) -> Self {
        let reading = |_| {
            let before = clock.now();
            let libc_ns = raw::libc_monotonic_ns();
            let width = clock.now().since(before);
            (width, before + Picos::from_picos(width.as_picos() / 2), libc_ns)
        };
        let (_, ours, libc_ns) =
            (0..READINGS).map(reading).min_by_key(|(width, ..)| *width).expect("READINGS is not zero");
        Self { ours, libc_ns, suspended_ns: suspended_ns() }
    }

    pub fn since(&self, earlier: &Self) -> Agreement {
        let over = self.ours.since(earlier.ours);
        let libc_picos = (i128::from(self.libc_ns) - i128::from(earlier.libc_ns)) * 1_000;
        let offset = i128::from(over.as_picos()) - libc_picos;
        Agreement {
            offset_picos: offset.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
            over,
            limit: Picos::from_picos(ALLOWANCE_PICOS + over.as_picos() / 1_000_000 * PPM),
            suspended: Picos::from_nanos(self.suspended_ns.saturating_sub(earlier.suspended_ns)),
        }
    }
}

/// Boot time is read between two readings of the monotonic clock; the closest of a few counts.
fn suspended_ns() -> u64 {
    let reading = |_| {
        let before = raw::monotonic_ns();
        let boot = raw::boottime_ns();
        (raw::monotonic_ns() - before, boot.saturating_sub(before))
    };
    (0..READINGS).map(reading).min().map_or(0, |(_, suspended)| suspended)
}

/// Checks a clock from interval to interval, so that a small jump late in a long run is found too: the limit
/// over one interval is tighter than over the whole run.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    clock: HostClock,
    start: Base,
    last: Base,
}

impl Watch {
    pub(crate) fn new(clock: HostClock, start: Base) -> Self {
        Self { clock, start, last: Base::take(&clock) }
    }

    /// Compares since the last check and since the calibration, and returns the worse of the two.
    pub fn check(&mut self) -> Agreement {
        let now = Base::take(&self.clock);
        let (step, whole) = (now.since(&self.last), now.since(&self.start));
        self.last = now;
        if step.strain() > whole.strain() { step } else { whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(ours_us: u64, libc_us: u64, suspended_us: u64) -> Base {
        let ours = Instant::EPOCH + Picos::from_micros(ours_us);
        Base { ours, libc_ns: libc_us * 1_000, suspended_ns: suspended_us * 1_000 }
    }

    #[test]
    fn the_limit_grows_by_a_hundred_ppm() {
        let start = base(1_000, 700_000, 5);
        // One second later by both: no offset, limit 50 µs + 1 s · 100 ppm = 150 µs.
        let same = base(1_001_000, 1_700_000, 5).since(&start);
        assert_eq!((same.offset_picos, same.limit), (0, Picos::from_micros(150)));
        assert!(same.holds());
        // 149 µs ahead holds, 151 µs behind does not: 151 µs in 0.999849 s by ours.
        assert!(base(1_001_149, 1_700_000, 5).since(&start).holds());
        let behind = base(1_000_849, 1_700_000, 5).since(&start);
        assert_eq!(behind.offset_picos, -151_000_000);
        assert!(!behind.holds());
    }

    #[test]
    fn a_jump_either_way_and_a_suspension_do_not_hold() {
        let start = base(0, 10_000_000, 0);
        assert!(!base(1_000_000, 13_000_000, 0).since(&start).holds());
        assert!(!base(1_000_000, 9_000_000, 0).since(&start).holds());
        assert!(!base(1_000_000, 11_000_000, 400).since(&start).holds());
        let jumped = base(1_000_000, 13_000_000, 0).since(&start);
        assert_eq!(jumped.to_string(), "2.00 s behind CLOCK_MONOTONIC after 1.00 s (limit 150 µs)");
        assert_eq!(jumped.ppm(), -2_000_000.0);
    }

    #[test]
    fn a_watch_finds_a_small_jump_late_in_a_run() {
        // After 1000 s the whole run's limit is 100 ms; a jump of 10 ms shows within the last second only.
        let (start, last) = (base(0, 0, 0), base(999_000_000, 999_000_000, 0));
        let now = base(1_000_000_000, 1_000_010_000, 0);
        assert!(now.since(&start).holds());
        assert!(!now.since(&last).holds());
    }

    #[test]
    fn a_real_watch_holds() {
        let clock = HostClock::calibrate();
        let mut watch = clock.watch();
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(5));
            let agreement = watch.check();
            assert!(agreement.holds(), "{agreement}");
        }
    }
}
