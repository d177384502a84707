//! What the interface counted, set beside what was asked for.

use crate::sender::{Pace, Step};

/// Frames and bytes that an interface received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    pub frames: u64,
    pub bytes: u64,
}

impl Arrived {
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            frames: self.frames.saturating_sub(earlier.frames),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }
}

/// Of what was asked for, less than this is nothing; a flood has no such figure, but more than a few frames.
/// Where only a few are asked for, none may be in time.
const NOTHING: f64 = 0.01;
const FEW: f64 = 10.0;
/// How far the mean length may be from what was asked for, and of how many frames at least.
const OFF: f64 = 0.02;
const SOME: u64 = 100;
/// How far the rate may be from what was asked for without a remark.
const FAR: f64 = 0.2;

/// Why a trial does not count, if it does not, and what else is remarked of it. Steps and counts are those of
/// [`super::with_settling`].
pub fn judge(steps: &[Step], arrived: &[Arrived], size: usize) -> (Option<String>, Option<String>) {
    let (mut failure, mut remark, mut all) = (None, None, Arrived::default());
    let mut last_rate = 0.0;
    // What comes without the command is in what comes with it.
    let silence = steps.first().map_or(0, |step| step.length_ns).max(1) as f64;
    let before = arrived.first().map_or(0, |arrived| arrived.frames) as f64 / silence;
    let beyond = |step: &Step, came: &Arrived| {
        came.frames.saturating_sub((before * step.length_ns as f64).round() as u64)
    };
    let pairs = steps.iter().zip(arrived).skip(1).collect::<Vec<_>>();
    for pair in pairs.chunks_exact(2) {
        let [(settling, early), (step, came)] = [pair[0], pair[1]];
        if step.pace == Pace::Silence {
            let (frames, rate) =
                (beyond(step, came), beyond(step, came) as f64 * 1e9 / step.length_ns as f64);
            if frames >= SOME && rate > last_rate * FAR {
                failure.get_or_insert(format!(
                    "{rate:.0}/s still arrived when the command had ended: all that it sends must end with it"
                ));
            }
            continue;
        }
        all = Arrived { frames: all.frames + came.frames, bytes: all.bytes + came.bytes };
        let frames = beyond(step, came);
        let rate = frames as f64 * 1e9 / step.length_ns as f64;
        last_rate = rate;
        let asked = step.pace.rate().map_or("as many as possible".to_owned(), |rate| format!("{rate:.0}/s"));
        let part = step.pace.rate().map_or(1.0, |asked| rate / asked);
        if is_nothing(step, frames) {
            failure.get_or_insert(format!("{rate:.0}/s arrived, not {asked}"));
        } else if is_nothing(settling, beyond(settling, early)) {
            remark.get_or_insert(format!(
                "the first frames came more than {:.1} s after the command's start, so the incoming rates are too \
                 low",
                settling.length_ns as f64 / 1e9
            ));
        } else if frames >= SOME && !(1.0 - FAR..=1.0 + FAR).contains(&part) {
            remark.get_or_insert(format!("{rate:.0}/s arrived, not {asked}"));
        }
    }
    let mean = all.bytes as f64 / all.frames.max(1) as f64;
    // Some interfaces count the FCS, and some do not.
    let (least, most) = ((size - port::FCS) as f64 * (1.0 - OFF), size as f64 * (1.0 + OFF));
    if all.frames >= SOME && !(least..=most).contains(&mean) {
        let said = format!("frames that arrived had {mean:.0} B on average, not {size} B");
        remark = Some(remark.map_or(said.clone(), |other| format!("{other}; {said}")));
    }
    (failure, remark)
}

fn is_nothing(step: &Step, frames: u64) -> bool {
    let asked = step.pace.rate().map(|rate| rate * step.length_ns as f64 / 1e9);
    (frames as f64) < asked.map_or(FEW, |asked| if asked < FEW { 0.0 } else { (asked * NOTHING).max(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 000/s for a second, after a second to start.
    fn of(early: u64, frames: u64, bytes: u64) -> (Option<String>, Option<String>) {
        let step = |pace| Step { pace, length_ns: 1_000_000_000 };
        let (none, even) = (step(Pace::Silence), step(Pace::Even(1_000.0)));
        let arrived = |frames, bytes| Arrived { frames, bytes };
        let counts =
            [arrived(0, 0), arrived(early, 60 * early), arrived(frames, bytes), arrived(0, 0), arrived(0, 0)];
        judge(&[none, even, even, none, none], &counts, 64)
    }

    #[test]
    fn nothing_that_arrived_is_a_failure_and_a_late_start_a_remark() {
        assert_eq!(of(900, 1_000, 60_000), (None, None));
        assert_eq!(of(900, 1_000, 64_000), (None, None));
        assert_eq!(of(0, 9, 540).0.unwrap(), "9/s arrived, not 1000/s");
        let (failure, remark) = of(3, 700, 42_000);
        assert!(failure.is_none() && remark.unwrap().contains("more than 1.0 s"));
        assert_eq!(of(500, 400, 24_000), (None, Some("400/s arrived, not 1000/s".into())));
        let slow = [Pace::Silence, Pace::Even(3.0), Pace::Even(3.0)];
        let slow = slow.map(|pace| Step { pace, length_ns: 1_000_000_000 });
        assert_eq!(judge(&slow, &[Arrived::default(); 3], 64), (None, None), "none may be in time");
        let flood = [Pace::Silence, Pace::Flood, Pace::Flood].map(|pace| Step { pace, length_ns: 1 });
        assert!(judge(&flood, &[Arrived::default(); 3], 64).0.unwrap().ends_with("not as many as possible"));
        // What a neighbour sends all the time is not the command's.
        let even = |pace| Step { pace, length_ns: 1_000_000_000 };
        let steps = [Pace::Silence, Pace::Even(4_000.0), Pace::Even(4_000.0)].map(even);
        let neighbour = Arrived { frames: 100, bytes: 6_000 };
        assert_eq!(judge(&steps, &[neighbour; 3], 64).0.unwrap(), "0/s arrived, not 4000/s");
    }

    #[test]
    fn frames_that_do_not_end_with_the_command_are_a_failure() {
        let step = |pace| Step { pace, length_ns: 1_000_000_000 };
        let paces = [Pace::Silence, Pace::Even(1e3), Pace::Even(1e3), Pace::Silence, Pace::Silence];
        let judged = |after| {
            let counts = [0, 900, 1_000, 500, after].map(|frames| Arrived { frames, bytes: 60 * frames });
            judge(&paces.map(step), &counts, 64)
        };
        assert_eq!(judged(150), (None, None));
        assert!(judged(900).0.unwrap().starts_with("900/s still arrived when the command had ended"));
    }

    #[test]
    fn frames_of_another_size_are_remarked() {
        // Two percent below 60 bytes, without FCS, and above 64.
        assert_eq!(of(900, 1_000, 58_900), (None, None));
        assert_eq!(of(900, 1_000, 58_700).1.unwrap(), "frames that arrived had 59 B on average, not 64 B");
        assert!(of(900, 1_000, 65_300).1.is_some() && of(900, 1_000, 1_514_000).1.is_some());
        // Too few to tell.
        assert_eq!(of(900, 90, 90_000), (None, None));
    }
}
