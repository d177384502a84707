//! Back-to-back frames (RFC 2544 §26.4, RFC 9004): the longest burst at the highest rate of which nothing is
//! lost.
//!
//! Bursts grow twofold until one loses frames, then the interval is halved until its bounds are `width` apart.
//! One such search is one trial; of many the mean, its interval, the least and the most are told.

/// One search for the longest burst. No I/O.
#[derive(Clone, Debug)]
pub struct BurstSearch {
    /// Longest burst without loss, 0 if none was seen yet.
    kept: u64,
    /// Shortest burst with loss.
    lost: Option<u64>,
    most: u64,
    next: u64,
    width: f64,
}

impl BurstSearch {
    /// `most` frames at the utmost; `width` is relative.
    pub fn new(first: u64, most: u64, width: f64) -> Self {
        Self { kept: 0, lost: None, most: most.max(1), next: first.clamp(1, most.max(1)), width }
    }

    /// Frames of the next burst; `None` when the longest is known.
    pub fn next(&self) -> Option<u64> {
        let is_over = match self.lost {
            Some(lost) => lost <= self.kept + 1 || (lost - self.kept) as f64 <= lost as f64 * self.width,
            None => self.kept >= self.most,
        };
        (!is_over).then_some(self.next)
    }

    /// Takes in what became of a burst of `frames`.
    pub fn learn(&mut self, frames: u64, is_lost: bool) {
        if is_lost {
            self.lost = Some(self.lost.map_or(frames, |lost| lost.min(frames)));
            // A shorter burst loses what a longer one did not: the target is not the same twice, and the
            // shorter counts.
            self.kept = self.kept.min(frames.saturating_sub(1));
        } else if self.lost.is_none_or(|lost| frames < lost) {
            self.kept = self.kept.max(frames);
        }
        self.next = match self.lost {
            Some(lost) => self.kept + (lost - self.kept) / 2,
            None => self.kept.saturating_mul(2).clamp(1, self.most),
        };
    }

    /// The longest burst without loss.
    pub const fn longest(&self) -> u64 {
        self.kept
    }

    /// Whether no burst lost anything: the true figure is higher.
    pub const fn is_unlimited(&self) -> bool {
        self.lost.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn search(buffer: u64, most: u64, width: f64) -> (BurstSearch, usize) {
        let mut search = BurstSearch::new(64, most, width);
        let mut bursts = 0;
        while let Some(frames) = search.next() {
            search.learn(frames, frames > buffer);
            bursts += 1;
            assert!(bursts < 100);
        }
        (search, bursts)
    }

    #[test]
    fn a_buffer_of_known_length_is_found_to_the_frame() {
        assert_eq!(search(3_000, 1 << 20, 0.0).0.longest(), 3_000);
        assert_eq!(search(0, 1 << 20, 0.0).0.longest(), 0);
        assert_eq!(search(1, 1 << 20, 0.0).0.longest(), 1);
        let (endless, _) = search(u64::MAX, 10_000, 0.0);
        assert!(endless.is_unlimited() && endless.longest() == 10_000);
    }

    proptest! {
        #[test]
        fn any_buffer_is_found_within_the_width(buffer in 1u64..1_000_000) {
            let (search, bursts) = search(buffer, 2_000_000, 0.01);
            prop_assert!(search.longest() <= buffer);
            prop_assert!(search.longest() as f64 >= buffer as f64 * 0.98 - 1.0, "{} of {buffer}", search.longest());
            prop_assert!(bursts < 40);
        }
    }
}
