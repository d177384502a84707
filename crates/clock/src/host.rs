//! The clock of this machine: the time-stamp counter where it can be trusted, else CLOCK_MONOTONIC.

use crate::Clock;
use crate::agreement::{Agreement, Base, Watch};
use crate::calibration::{Moment, Scale};
use crate::probe::{KernelClock, Refused, probe_tsc};
use crate::raw;
use units::{Instant, Picos};

/// What a clock reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// The CPU's invariant time-stamp counter, converted by a measured rate.
    Tsc,
    /// CLOCK_MONOTONIC, read through the vDSO: steps of 1 ns.
    Monotonic,
}

impl ClockSource {
    /// The name in `environment.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tsc => "tsc",
            Self::Monotonic => "clock_monotonic",
        }
    }
}

/// The run's clock; all threads hold a copy of the same one.
///
/// Its epoch is the start of the calibration, so `now()` is at least 20 ms when the counter is used.
/// Times are rates of CLOCK_MONOTONIC as it was during the calibration. Measured on a 2.6 GHz guest, the rate
/// is within 0.1 ppm of that over 20 ms, and within 0.01 ppm after `recalibrated` a second later.
#[derive(Clone, Copy, Debug)]
pub struct HostClock {
    /// `None` reads CLOCK_MONOTONIC.
    counter: Option<Counter>,
    epoch_ns: u64,
    refused: Option<Refused>,
    precision: Picos,
    overhead: Picos,
    base: Base,
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    scale: Scale,
    /// The counter at the epoch.
    epoch_ticks: u64,
    /// Both clocks at the epoch.
    start: Moment,
}

impl Clock for HostClock {
    /// About 10 ns from the counter, 30 ns from CLOCK_MONOTONIC.
    #[inline]
    fn now(&self) -> Instant {
        match &self.counter {
            Some(counter) => {
                let ticks = raw::ticks().saturating_sub(counter.epoch_ticks);
                Instant::from_picos(counter.scale.picos(ticks))
            }
            None => Instant::from_picos((raw::monotonic_ns() - self.epoch_ns) * 1_000),
        }
    }
}

impl HostClock {
    /// Probes the time-stamp counter, measures its rate against CLOCK_MONOTONIC, and falls back to that if
    /// it may not be trusted. Takes 20 to 30 ms, nearly all asleep.
    pub fn calibrate() -> Self {
        match probe_tsc() {
            Ok(accepted) => {
                let start = accepted.start;
                let counter = Counter { scale: accepted.scale, epoch_ticks: start.ticks(), start };
                Self::build(Some(counter), start.ns(), None)
            }
            Err(why) => Self::build(None, raw::monotonic_ns(), Some(why)),
        }
    }

    /// CLOCK_MONOTONIC without a try at the counter.
    pub fn monotonic() -> Self {
        Self::build(None, raw::monotonic_ns(), Some(Refused::NotWanted))
    }

    fn build(counter: Option<Counter>, epoch_ns: u64, refused: Option<Refused>) -> Self {
        let (precision, overhead) = (Picos::ZERO, Picos::ZERO);
        let unmeasured = Self { counter, epoch_ns, refused, precision, overhead, base: Base::default() };
        let (precision, overhead) = (measure_precision(&unmeasured), measure_overhead(&unmeasured));
        Self { precision, overhead, base: Base::take(&unmeasured), ..unmeasured }
    }

    /// The same clock with its rate measured over all the time since its epoch: the error falls as 1 /
    /// length. The epoch stays; `now()` moves by the correction (under 1 µs each second since the epoch), so
    /// do it before a run's origin is taken, not during the run. Unchanged for CLOCK_MONOTONIC.
    pub fn recalibrated(&self) -> Self {
        let Some(counter) = self.counter else { return *self };
        let Some(scale) = Scale::between(&counter.start, &Moment::take()) else { return *self };
        let corrected = Self { counter: Some(Counter { scale, ..counter }), ..*self };
        Self { base: Base::take(&corrected), ..corrected }
    }

    pub fn source(&self) -> ClockSource {
        if self.counter.is_some() { ClockSource::Tsc } else { ClockSource::Monotonic }
    }

    /// Why the time-stamp counter is not used; `None` when it is.
    pub fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// The clock that the kernel uses, as far as `/sys` tells.
    pub fn kernel_clock(&self) -> KernelClock {
        KernelClock::current()
    }

    /// Smallest step between two readings that differ, measured.
    pub fn precision(&self) -> Picos {
        self.precision
    }

    /// What one reading costs, measured.
    pub fn overhead(&self) -> Picos {
        self.overhead
    }

    /// Ticks of the counter per second; `None` for CLOCK_MONOTONIC.
    pub fn counter_hertz(&self) -> Option<u64> {
        self.counter.map(|counter| counter.scale.hertz())
    }

    /// CLOCK_MONOTONIC at this clock's epoch, in nanoseconds.
    pub fn epoch_monotonic_ns(&self) -> u64 {
        self.epoch_ns
    }

    /// The CLOCK_MONOTONIC time of an instant, in nanoseconds, so that stamps of two processes can be
    /// compared. As far off as `check` says.
    pub fn to_monotonic_ns(&self, instant: Instant) -> u64 {
        self.epoch_ns.saturating_add(instant.since_epoch().as_nanos())
    }

    /// The instant of a CLOCK_MONOTONIC time; the epoch for times before it.
    pub fn from_monotonic_ns(&self, monotonic_ns: u64) -> Instant {
        Instant::EPOCH + Picos::from_nanos(monotonic_ns.saturating_sub(self.epoch_ns))
    }

    /// Compares with CLOCK_MONOTONIC, since the calibration. Takes about 1 µs.
    pub fn check(&self) -> Agreement {
        Base::take(self).since(&self.base)
    }

    /// Checks from interval to interval, and since the calibration.
    pub fn watch(&self) -> Watch {
        Watch::new(*self, self.base)
    }
}

/// The smallest non-zero step in a thousand pairs of readings.
fn measure_precision(clock: &HostClock) -> Picos {
    let step = |_| {
        let first = clock.now();
        let mut next = clock.now();
        // A clock that stands still for a thousand readings is taken to have steps of a microsecond or more.
        for _ in 0..1_000 {
            if next > first {
                break;
            }
            next = clock.now();
        }
        next.since(first)
    };
    (0..200).map(step).filter(|step| !step.is_zero()).min().unwrap_or(Picos::from_micros(1))
}

/// The least of several means over a hundred readings: interrupts only ever add.
fn measure_overhead(clock: &HostClock) -> Picos {
    const READINGS: u64 = 100;
    let mean = |_| {
        let first = clock.now();
        for _ in 0..READINGS {
            std::hint::black_box(clock.now());
        }
        Picos::from_picos(clock.now().since(first).as_picos() / (READINGS + 1))
    };
    (0..20).map(mean).min().unwrap_or(Picos::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn calibration_is_bounded_and_says_what_it_chose() {
        let start = raw::monotonic_ns();
        let clock = HostClock::calibrate();
        let took = raw::monotonic_ns() - start;
        // 2 · 10 ms of sleep; the rest is for a busy machine.
        assert!(took < 1_000_000_000, "{took} ns");
        assert_eq!(clock.source() == ClockSource::Tsc, clock.refused().is_none());
        assert!(clock.precision() > Picos::ZERO && clock.precision() <= Picos::from_micros(1));
        assert!(clock.overhead() > Picos::ZERO && clock.overhead() < Picos::from_micros(2));
        assert!(clock.epoch_monotonic_ns() >= start);
    }

    #[test]
    fn agrees_with_the_kernel_to_a_few_ppm_and_better_after_recalibration() {
        for clock in [HostClock::calibrate(), HostClock::monotonic()] {
            std::thread::sleep(Duration::from_millis(300));
            // 5 µs in 0.3 s: far above the 0.1 ppm that is usual, far below any swapped unit or wrong scale.
            for clock in [clock, clock.recalibrated()] {
                let agreement = clock.check();
                assert!(agreement.holds(), "{agreement}");
                assert!(agreement.offset_picos.abs() < 5_000_000, "{agreement}");
            }
        }
    }

    #[test]
    fn monotonic_stamps_round_trip_and_match_the_kernels() {
        let clock = HostClock::calibrate();
        let before = raw::monotonic_ns();
        let stamp = clock.to_monotonic_ns(clock.now());
        let after = raw::monotonic_ns();
        // 1 µs for the rate's error over 20 ms and for the unordered read.
        assert!(before - 1_000 <= stamp && stamp <= after + 1_000, "{before} {stamp} {after}");
        let instant = clock.now();
        let back = clock.from_monotonic_ns(clock.to_monotonic_ns(instant));
        assert!(instant.since(back) < Picos::from_nanos(1) && back <= instant);
    }

    #[test]
    fn never_goes_back_on_one_thread() {
        for clock in [HostClock::calibrate(), HostClock::monotonic()] {
            let mut last = Instant::EPOCH;
            for _ in 0..100_000 {
                let now = clock.now();
                assert!(now >= last);
                last = now;
            }
        }
    }

    #[test]
    fn copies_on_other_threads_tell_the_same_time() {
        let clock = HostClock::calibrate();
        let before = clock.now();
        let there = std::thread::spawn(move || clock.now()).join().unwrap();
        assert!(before <= there && there <= clock.now());
    }
}
