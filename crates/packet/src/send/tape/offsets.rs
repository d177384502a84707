//! When frames of a recording are due after its first.

/// A stamp this far before one in front of it is of a clock that was set back: gaps go on from there. Less is
/// disorder, as where several queues were captured into one file, and times stay as they are.
const SET_BACK_NS: u64 = 100_000_000;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offsets {
    first: Option<u64>,
    in_front: u64,
    last: u64,
    /// By so much clocks were set back.
    back: u64,
}

impl Offsets {
    /// Nanoseconds from the first frame to the next one, never fewer than to the one in front, and whether its
    /// stamp `at` is before that one's.
    pub fn next(&mut self, at: u64) -> (u64, bool) {
        let first = *self.first.get_or_insert(at);
        let is_backward = at < self.in_front;
        self.in_front = at;
        let now = at.saturating_add(self.back);
        let latest = first.saturating_add(self.last);
        if now.saturating_add(SET_BACK_NS) < latest {
            self.back += latest - now;
        } else {
            self.last = self.last.max(now.saturating_sub(first));
        }
        (self.last, is_backward)
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
        assert_eq!(of(&[1_000, 0, 5, 1_000]), [0, 0, 5, 1_000]);
        assert_eq!(of(&[1_000, 1_500, 800, 900, 100, 200]), [0, 500, 500, 600, 600, 700]);
        let mut offsets = Offsets::default();
        assert_eq!([5, 4, 4, 6].map(|at| offsets.next(at).1), [false, true, false, false]);
        assert_eq!(offsets.last(), 1);
    }
}
