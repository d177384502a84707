//! How much the host may send: a valve before the tap that opens a little more than the pace while few frames
//! wait here, and a little less when many do. Pure; what turns the valve is in `valve`.
//!
//! ```text
//!   socket ─► qdisc (tbf: the valve) ─► tap ─► queue here ─► wire at the pace
//!      ▲            │ frames that wait here still belong to their socket,
//!      └────────────┘ so that TCP and a blocking UDP socket stop by themselves
//! ```
//!
//! Frames in a tap belong to nobody any more, and a tap that is full drops. So the long wait must be before it.

use super::timetable::Pace;
use units::{Instant, Picos};

/// Frames that may wait here before the valve closes a little, and so few that it opens again.
const MANY: usize = 192;
const FEW: usize = 48;
/// How far the valve opens beside the pace.
const WIDE: f64 = 1.08;
const NARROW: f64 = 0.92;
/// Bytes a second that pass a valve which is shut: it knows no zero.
const SHUT: f64 = 1_000.0;
/// The valve is set at most so often.
const LEAST: Picos = Picos::from_millis(20);
/// A valve this close to where it should be stays.
const CLOSE: f64 = 0.01;

/// Decides how the valve is set.
#[derive(Clone, Debug)]
pub struct Quota {
    is_wide: bool,
    /// Nothing leaves for now.
    is_shut: bool,
    /// Bytes per second that the valve lets pass.
    set: f64,
    set_at: Option<Instant>,
    /// Moving mean of the bytes of a frame.
    mean: f64,
}

impl Quota {
    /// Frames of `longest` bytes until others are seen.
    pub fn new(longest: usize) -> Self {
        Self { is_wide: true, is_shut: false, set: 0.0, set_at: None, mean: longest as f64 }
    }

    /// Nothing leaves until it is opened again: the host is kept back as far as the valve can.
    pub fn shut(&mut self, is_shut: bool) {
        self.is_shut = is_shut;
    }

    /// A frame of so many bytes came by.
    #[inline]
    pub fn saw(&mut self, bytes: usize) {
        self.mean += (bytes as f64 - self.mean) / 64.0;
    }

    /// Bytes per second (of frames without FCS) that the valve shall let pass from now on; `None` if it may
    /// stay as it is.
    #[inline]
    pub fn look(&mut self, waiting: usize, pace: &Pace, now: Instant) -> Option<u64> {
        if self.set_at.is_some_and(|at| now.since(at) < LEAST) {
            return None;
        }
        self.is_wide = match waiting {
            MANY.. => false,
            ..=FEW => true,
            _ => self.is_wide,
        };
        let factor = match (self.is_shut, self.is_wide) {
            (true, _) => 0.0,
            (false, true) => WIDE,
            (false, false) => NARROW,
        };
        let wanted = (pace.frames_per_second(self.mean) * self.mean * factor).clamp(SHUT, 1e12);
        if (wanted / self.set - 1.0).abs() < CLOSE {
            return None;
        }
        (self.set, self.set_at) = (wanted, Some(now));
        Some(wanted as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    #[test]
    fn the_valve_keeps_the_queue_between_few_and_many() {
        // 8 000 frames of 1000 bytes a second leave; the host sends whatever the valve lets pass. Steps of 1
        // ms.
        let pace = Pace::Frames(Rate::per_second(8_000).unwrap());
        let mut quota = Quota::new(1_000);
        let (mut waiting, mut valve, mut settings) = (0.0f64, 0.0, 0);
        let (mut most, mut least_later) = (0.0f64, f64::INFINITY);
        for ms in 0..10_000u64 {
            if let Some(set) = quota.look(waiting as usize, &pace, Instant::EPOCH + Picos::from_millis(ms)) {
                (valve, settings) = (set as f64, settings + 1);
            }
            waiting = (waiting + valve / 1_000.0 / 1_000.0 - 8.0).max(0.0);
            most = most.max(waiting);
            if ms > 2_000 {
                least_later = least_later.min(waiting);
            }
        }
        assert!(most < MANY as f64 + 40.0 && least_later > 0.0, "{most} {least_later}");
        // A swing from few to many takes 144 / (0.08 · 8000) = 225 ms: some 45 settings in ten seconds.
        assert!((20..90).contains(&settings), "{settings}");
    }

    #[test]
    fn a_valve_is_shut_while_nothing_leaves_and_opens_again() {
        let pace = Pace::Frames(Rate::per_second(1_000).unwrap());
        let mut quota = Quota::new(1_000);
        let at = |ms| Instant::EPOCH + Picos::from_millis(ms);
        let open = Some((1_000.0 * 1_000.0 * WIDE) as u64);
        assert_eq!(quota.look(0, &pace, at(0)), open);
        quota.shut(true);
        assert_eq!((quota.look(0, &pace, at(100)), quota.look(0, &pace, at(200))), (Some(1_000), None));
        quota.shut(false);
        assert_eq!(quota.look(0, &pace, at(300)), open);
    }

    #[test]
    fn small_frames_make_the_valve_of_a_pace_in_frames_narrower() {
        let pace = Pace::Frames(Rate::per_second(1_000).unwrap());
        let mut quota = Quota::new(1_500);
        let at = |ms| Instant::EPOCH + Picos::from_millis(ms);
        assert_eq!(quota.look(0, &pace, at(0)), Some((1_000.0 * 1_500.0 * WIDE) as u64));
        assert_eq!(quota.look(0, &pace, at(100)), None);
        for _ in 0..2_000 {
            quota.saw(100);
        }
        let set = quota.look(0, &pace, at(200)).unwrap();
        assert!(set.abs_diff((1_000.0 * 100.0 * WIDE) as u64) < 10, "{set}");
    }
}
