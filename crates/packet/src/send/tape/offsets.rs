//! When frames of a recording are due after its first.

use units::Picos;

/// A stamp this far before one in front of it is of a clock that was set back: gaps go on from there. Less is
/// disorder, as where several queues were captured into one file, and times stay as they are.
const SET_BACK_NS: u64 = 100_000_000;
/// And so far behind it, of one that was set forward.
const SET_FORWARD_NS: u64 = 100 * 86_400 * 1_000_000_000;

/// A longer replay cannot be: due times are counted in picoseconds.
pub const MOST: Picos = Picos::from_secs(200 * 86_400);
/// What is said of it.
pub const TOO_LONG: &str =
    "takes more than 200 days, which is too long; give a larger --speed, or cut it (editcap -A, -B)";

/// What is odd about stamps, by the number of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Odd {
    /// Before the stamp in front of them.
    pub backward: u64,
    /// 0, which stands for none, but in a recording whose clock began there.
    pub unstamped: u64,
    /// More than 100 days behind the stamp in front of them.
    pub ahead: u64,
}

impl std::ops::AddAssign for Odd {
    fn add_assign(&mut self, other: Self) {
        self.backward += other.backward;
        self.unstamped += other.unstamped;
        self.ahead += other.ahead;
    }
}

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offsets {
    first: Option<u64>,
    in_front: u64,
    last: u64,
    /// Stamps of 0, as long as there is no other.
    zeros: u64,
    /// By so much stamps are moved, because clocks were set.
    moved: i128,
    /// A stamp is in front.
    has_begun: bool,
}

impl Offsets {
    /// Nanoseconds from the first frame to the next one, never fewer than to the one in front, and what is odd
    /// about its stamp `at`. One without a stamp is due with the one in front.
    pub fn next(&mut self, at: u64) -> (u64, Odd) {
        let is_real = |at: u64| at > SET_FORWARD_NS;
        match (at, self.first) {
            (0, None | Some(0)) if self.in_front == 0 => {
                self.zeros += 1;
                self.first = Some(0);
                return (0, Odd::default());
            }
            (0, Some(first)) if is_real(first) => {
                return (self.last, Odd { unstamped: 1, ..Odd::default() });
            }
            // The clock did not begin at 0: those so far had no stamp.
            (_, Some(0)) if self.in_front == 0 && is_real(at) => {
                (self.first, self.in_front) = (Some(at), at);
                return (0, Odd { unstamped: std::mem::take(&mut self.zeros), ..Odd::default() });
            }
            _ => {}
        }
        let first = *self.first.get_or_insert(at);
        let in_front = std::mem::replace(&mut self.in_front, at);
        let odd = Odd {
            backward: u64::from(at < in_front),
            ahead: u64::from(self.has_begun && at.saturating_sub(in_front) > SET_FORWARD_NS),
            ..Odd::default()
        };
        self.has_begun = true;
        let now = i128::from(at) + self.moved;
        let latest = i128::from(first) + i128::from(self.last);
        if odd.ahead > 0 || now + i128::from(SET_BACK_NS) < latest {
            self.moved += latest - now;
        } else {
            self.last = self.last.max(u64::try_from(now - i128::from(first)).unwrap_or(0));
        }
        (self.last, odd)
    }

    /// That of the last frame so far.
    pub const fn last(&self) -> u64 {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stamps_ms: &[u64]) -> Vec<u64> {
        let mut offsets = Offsets::default();
        stamps_ms.iter().map(|at| offsets.next(at * 1_000_000).0 / 1_000_000).collect()
    }

    #[test]
    fn disorder_keeps_times_and_a_clock_that_was_set_back_keeps_gaps() {
        assert_eq!(of(&[1_000, 1_010, 1_005, 1_020]), [0, 10, 10, 20]);
        assert_eq!(of(&[1_000, 1_010, 10, 11, 15]), [0, 10, 10, 11, 15]);
        assert_eq!(of(&[1_000, 1, 6, 1_001]), [0, 0, 5, 1_000]);
        assert_eq!(of(&[1_000, 1_500, 800, 900, 100, 200]), [0, 500, 500, 600, 600, 700]);
        let mut offsets = Offsets::default();
        assert_eq!([5, 4, 4, 6].map(|at| offsets.next(at).1.backward), [0, 1, 0, 0]);
        assert_eq!(offsets.last(), 1);
    }

    #[test]
    fn frames_without_a_stamp_and_clocks_that_were_set_forward_leave_no_gap() {
        let year = 365 * 86_400 * 1_000;
        assert_eq!(of(&[0, 0, year, year + 10, 0, year + 30]), [0, 0, 0, 10, 10, 30]);
        // A clock that began at 0.
        assert_eq!(of(&[0, 1_000, 1_010, 1_030]), [0, 1_000, 1_010, 1_030]);
        assert_eq!(of(&[0, 0, 5, 7]), [0, 0, 5, 7]);
        assert_eq!(of(&[1_000, 1_010, year, year + 5, year + 7]), [0, 10, 10, 15, 17]);
        // And back again.
        assert_eq!(of(&[1_000, year, year + 5, 1_020, 1_030]), [0, 0, 5, 5, 15]);
        let mut offsets = Offsets::default();
        let day = 86_400 * 1_000_000_000;
        let odd: Vec<Odd> = [0, 0, 200 * day, 0, 290 * day, 400 * day].map(|at| offsets.next(at).1).to_vec();
        assert_eq!(odd.iter().map(|odd| odd.unstamped).collect::<Vec<_>>(), [0, 0, 2, 1, 0, 0]);
        assert_eq!(odd.iter().map(|odd| odd.ahead).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 1]);
        let mut offsets = Offsets::default();
        assert_eq!(
            [0, 5, 90 * day].map(|at| offsets.next(at)),
            [0, 5, 90 * day].map(|at| (at, Odd::default()))
        );
    }
}
