//! Sleeping until an instant, and how exactly the kernel may wake a thread.

use crate::{Clock, HostClock, raw};
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute, current_timer_slack, set_current_timer_slack};
use rustix::time::Timespec;
use std::num::NonZeroU64;
use units::{Instant, Picos};

impl HostClock {
    /// Sleeps until `due`, or not at all if that is past. Wakes late, never early: by 50 to 200 µs on a
    /// virtual machine, so whoever wants better sleeps until shortly before and spins.
    pub fn sleep_until(&self, due: Instant) {
        let left = due.since(self.now());
        if left.is_zero() {
            return;
        }
        // The wake-up time is anchored at this reading, not at the epoch, so that what the two clocks have
        // drifted apart since then does not matter.
        let wake = timespec(raw::monotonic_ns().saturating_add(nanos_up(left)));
        while clock_nanosleep_absolute(ClockId::Monotonic, &wake) == Err(Errno::INTR) {}
    }
}

fn nanos_up(length: Picos) -> u64 {
    length.as_picos().div_ceil(1_000)
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

/// Lets the kernel delay this thread's timers by at most this many nanoseconds (its default is 50 000), and
/// returns what it was. Zero would mean the default, so it is taken as 1.
pub fn set_timer_slack_ns(slack_ns: u64) -> std::io::Result<u64> {
    let before = current_timer_slack()?;
    set_current_timer_slack(NonZeroU64::new(slack_ns.max(1)))?;
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wakes_late_never_early() {
        for clock in [HostClock::calibrate(), HostClock::monotonic()] {
            for millis in [0, 1, 5] {
                let due = clock.now() + Picos::from_millis(millis);
                clock.sleep_until(due);
                let woke = clock.now();
                // 2 µs for 100 ppm of 5 ms and the counter's unordered read.
                assert!(woke + Picos::from_micros(2) >= due, "{:#} early", due.since(woke));
                assert!(woke.since(due) < Picos::from_secs(2), "{:#} late", woke.since(due));
            }
        }
    }

    #[test]
    fn a_past_instant_does_not_sleep() {
        let clock = HostClock::monotonic();
        clock.sleep_until(Instant::EPOCH);
        assert!(clock.now() < Instant::EPOCH + Picos::from_secs(2));
    }

    #[test]
    fn timer_slack_is_set_and_the_old_one_returned() {
        std::thread::spawn(|| {
            let first = set_timer_slack_ns(1).unwrap();
            assert!(first > 1, "{first}");
            assert_eq!(set_timer_slack_ns(first).unwrap(), 1);
            assert_eq!(set_timer_slack_ns(0).unwrap(), first);
            assert_eq!(current_timer_slack().unwrap(), 1);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn nanoseconds_are_rounded_up_and_split() {
        assert_eq!(nanos_up(Picos::from_picos(1)), 1);
        assert_eq!(nanos_up(Picos::from_picos(2_000)), 2);
        let time = timespec(3_000_000_007);
        assert_eq!((time.tv_sec, time.tv_nsec), (3, 7));
    }
}
