//! CLOCK_REALTIME beside a run's clock: what kernel receive stamps mean as instants, and when that clock was
//! stepped.
//!
//! The kernel stamps packets with CLOCK_REALTIME. Both clocks are slewed alike, so their distance changes
//! slowly, by the drift of the calibration alone, unless somebody sets the clock. Then stamps mean nothing
//! until they are all newer.

use crate::{Clock, HostClock, raw};
use units::{Instant, Picos};

/// Drift that two readings may show without a step: 100 ppm of the time between them, and this much for the
/// reading.
const READING: u64 = 20_000;
/// Readings that take longer were interrupted, and are tried again.
const WIDTH: Picos = Picos::from_micros(2);
const TRIES: u32 = 4;
/// After a step, stamps that were made before it may still come for this long.
const QUARANTINE: Picos = Picos::from_millis(200);

/// Converts stamps of CLOCK_REALTIME to instants. One for each thread; `look` first, then `instant` for stamps
/// read since.
#[derive(Clone, Copy, Debug)]
pub struct Realtime {
    /// CLOCK_REALTIME minus the run's clock, in nanoseconds.
    offset_ns: i128,
    looked_at: Instant,
    distrusted_until: Instant,
    steps: u64,
}

impl Realtime {
    /// Reads both clocks for the first time.
    pub fn new(clock: &HostClock) -> Self {
        let (offset_ns, looked_at, _) = read(clock);
        Self { offset_ns, looked_at, distrusted_until: Instant::EPOCH, steps: 0 }
    }

    /// Reads both clocks. About 60 ns.
    #[inline]
    pub fn look(&mut self, clock: &HostClock) {
        let (offset_ns, now, width) = read(clock);
        self.take(offset_ns, now, width);
    }

    fn take(&mut self, offset_ns: i128, now: Instant, width: Picos) {
        // An interrupted reading says nothing of the offset; the one before is off by its drift alone.
        if width > WIDTH {
            return;
        }
        let drift = now.since(self.looked_at).as_nanos() / 10_000 + READING;
        if offset_ns.abs_diff(self.offset_ns) > u128::from(drift) {
            self.distrusted_until = now + QUARANTINE;
            self.steps += 1;
        }
        (self.offset_ns, self.looked_at) = (offset_ns, now);
    }

    /// The instant of a stamp in nanoseconds since 1970; `None` shortly after the clock was stepped.
    #[inline]
    pub fn instant(&self, unix_ns: u64) -> Option<Instant> {
        if self.looked_at < self.distrusted_until {
            return None;
        }
        let since_epoch = u64::try_from(i128::from(unix_ns) - self.offset_ns).ok()?;
        Some(Instant::EPOCH + Picos::from_nanos(since_epoch))
    }

    /// How often CLOCK_REALTIME was stepped.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

/// The offset in nanoseconds, when it was read, and how long that took.
#[inline]
fn read(clock: &HostClock) -> (i128, Instant, Picos) {
    let mut best = one(clock);
    for _ in 1..TRIES {
        if best.2 <= WIDTH {
            break;
        }
        let next = one(clock);
        if next.2 < best.2 {
            best = next;
        }
    }
    best
}

#[inline]
fn one(clock: &HostClock) -> (i128, Instant, Picos) {
    let before = clock.now();
    let unix = raw::unix_ns();
    let after = clock.now();
    let width = after.since(before);
    let middle = before.since_epoch().as_nanos() + width.as_nanos() / 2;
    (i128::from(unix) - i128::from(middle), after, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::EPOCH + Picos::from_micros(micros)
    }

    #[test]
    fn a_stamp_of_now_is_now() {
        let clock = HostClock::calibrate();
        let mut realtime = Realtime::new(&clock);
        realtime.look(&clock);
        let before = clock.now();
        let stamp = raw::unix_ns();
        let after = clock.now();
        let found = realtime.instant(stamp).expect("nobody sets the clock meanwhile");
        // The reading's own width, 2 µs.
        let slack = Picos::from_micros(3);
        assert!(found + slack >= before && found <= after + slack, "{before:?} {found:?} {after:?}");
    }

    #[test]
    fn a_step_makes_stamps_unknown_for_a_while() {
        let mut realtime = Realtime {
            offset_ns: 1_000_000_000,
            looked_at: at(0),
            distrusted_until: Instant::EPOCH,
            steps: 0,
        };
        // 100 ppm of 10 ms are 1 µs; a reading may be off by 20 µs.
        realtime.take(1_000_000_500, at(10_000), Picos::ZERO);
        assert_eq!(realtime.instant(1_000_005_500), Some(at(5)));
        // Set back by 300 ms.
        realtime.take(700_000_500, at(20_000), Picos::ZERO);
        assert_eq!((realtime.instant(700_005_500), realtime.steps()), (None, 1));
        realtime.take(700_000_500, at(220_001), Picos::ZERO);
        assert_eq!(realtime.instant(700_005_500), Some(at(5)));
    }

    #[test]
    fn an_interrupted_reading_is_no_step() {
        let mut realtime =
            Realtime { offset_ns: 1_000, looked_at: at(0), distrusted_until: Instant::EPOCH, steps: 0 };
        realtime.take(900_000, at(1_000), Picos::from_millis(1));
        assert_eq!((realtime.steps(), realtime.instant(6_000)), (0, Some(at(5))));
    }
}
