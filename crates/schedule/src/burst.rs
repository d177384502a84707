//! Many at once, at even intervals.
//!
//! ```text
//! due(n) = floor(n / size) · every
//!
//!      │█   █   █   █   █
//! sent │█   █   █   █   █
//!      └┴───┴───┴───┴───┴── t
//!           every
//! ```

use crate::curve::Curve;
use units::Picos;

/// `size` departures at each of the times of `starts`.
pub struct Burst<C> {
    pub starts: C,
    pub size: u64,
}

impl<C: Curve> Curve for Burst<C> {
    fn due(&self, n: u64) -> Picos {
        self.starts.due(n / self.size)
    }

    fn roughly_before(&self, end: Picos) -> u64 {
        self.starts.roughly_before(end).saturating_mul(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constant::Constant;
    use crate::curve::{assert_guess_is_near, count_before};

    #[test]
    fn all_of_a_burst_are_due_at_once() {
        let burst = Burst { starts: Constant::every(Picos::from_millis(250)).unwrap(), size: 100 };
        for (n, millis) in
            [(0, 0), (99, 0), (100, 250), (199, 250), (200, 500), (4_000_000_000, 10_000_000_000)]
        {
            assert_eq!(burst.due(n), Picos::from_millis(millis), "{n}");
        }
        // Bursts at 0, 250, 500, 750 ms; the one at 1 s is not before 1 s.
        assert_eq!(count_before(&burst, Picos::from_secs(1)), 400);
        assert_eq!(count_before(&burst, Picos::from_picos(1_000_000_000_001)), 500);
        assert_eq!(count_before(&burst, Picos::ZERO), 0);
    }

    #[test]
    fn the_guess_is_near() {
        let burst = Burst { starts: Constant::every(Picos::from_millis(250)).unwrap(), size: 100 };
        assert_guess_is_near(&burst, [0, 249, 250, 251, 86_400_000].map(Picos::from_millis));
    }
}
