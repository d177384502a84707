//! For how long a target may have waited for acknowledgments that this thread owed it.
//!
//! ```text
//!   this thread  look ─────── stopped ─────────── look ─ acknowledges ─────── look
//!   data              │││││                                           │││││
//!                         └── the target may wait for this thread ──┘
//!                         last of those that a look finds               first of a later look
//! ```
//!
//! A kernel acknowledges what arrives, whoever reads it and when. Here a thread that is late does so late, and
//! a target that has sent all that it may without an acknowledgment waits for it: as long as nothing more
//! arrives, that is how long it may have been. Who is still sending when the acknowledgment leaves did not wait
//! for it.

use std::num::NonZeroU64;
use units::Picos;

/// What a thread that is not late takes from the arrival of data until its acknowledgment has left.
const PROMPT: Picos = Picos::from_micros(50);
/// Between data that one look finds, less than this is how data follows on a link. More may be a wait for what
/// an earlier look acknowledged.
const BRIEF: Picos = Picos::from_micros(200);

/// The last data of a response, so far. Times are of the day.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unacked {
    stamp_ns: u64,
    /// When an acknowledgment left last.
    left_ns: u64,
    /// That for the last data has not left.
    is_owed: bool,
}

impl Unacked {
    /// Whether [`Self::left`] is waited for.
    pub const fn is_owed(&self) -> bool {
        self.is_owed
    }

    /// More data arrived: for how long its sender may have waited since what came before.
    #[inline]
    pub fn found(&mut self, stamp_ns: Option<NonZeroU64>) -> Picos {
        let Some(stamp_ns) = stamp_ns.map(NonZeroU64::get) else { return Picos::ZERO };
        let before = std::mem::replace(self, Self { stamp_ns, is_owed: true, ..*self });
        if before.stamp_ns == 0 {
            return Picos::ZERO;
        }
        let waited = Picos::from_nanos(before.left_ns.min(stamp_ns).saturating_sub(before.stamp_ns));
        match before.is_owed {
            true if waited < BRIEF => Picos::ZERO,
            true => waited,
            false => waited - PROMPT,
        }
    }

    /// Acknowledgments leave.
    pub fn left(&mut self, now_ns: u64) {
        (self.left_ns, self.is_owed) = (now_ns, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    fn found(data: &mut Unacked, us: u64) -> u64 {
        data.found(NonZeroU64::new(us * US)).as_nanos() / US
    }

    #[test]
    fn the_last_data_of_a_look_may_have_kept_its_sender_waiting_until_it_was_acknowledged() {
        let mut data = Unacked::default();
        // Stopped from 120 to 900 us; the target goes on when it hears of it, at 910.
        assert_eq!((found(&mut data, 100), found(&mut data, 120), data.is_owed()), (0, 0, true));
        data.left(900 * US);
        assert!(!data.is_owed());
        assert_eq!(found(&mut data, 910), 780 - 50);
        // Who sends on before that has not waited.
        data.left(1_980 * US);
        assert_eq!(found(&mut data, 930), 0);
        // A target that takes its own time is none that waits.
        data.left(1_000 * US);
        assert_eq!(found(&mut data, 5_000), 70 - 50);
    }

    #[test]
    fn a_backlog_of_several_looks_hides_no_wait() {
        let mut data = Unacked::default();
        // Stopped from 0 to 900 us. A first look finds a part of what came before the window was full, and its
        // acknowledgment lets the target go on: the next look finds the rest, and what the target sent then.
        found(&mut data, 10);
        data.left(900 * US);
        assert_eq!((found(&mut data, 20), found(&mut data, 30)), (0, 0));
        assert_eq!((found(&mut data, 910), found(&mut data, 915)), (870, 0));
    }

    #[test]
    fn data_without_a_stamp_says_nothing() {
        let mut data = Unacked::default();
        found(&mut data, 100);
        data.left(900 * US);
        assert_eq!(data.found(None), Picos::ZERO);
    }
}
