//! The longest time in which no frame arrived, of those that the way is to blame for: a device that is reset
//! forwards nothing for a while.
//!
//! ```text
//!   sent      1 2 3 4 5 6 7 8 9                    1 2             3 4
//!   arrived   1 2             8 9                  1 2             3 4
//!               A ──────────► B   numbers skip       the sender's own: 3 left late, and took no longer
//! ```
//!
//! A frame that nobody stamped arrived between two looks of the thread that receives. If that thread stood
//! still, the time is unsure by as much, and no interruption is made of it.

use units::Picos;

/// Two frames that arrived one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// From the one to the other, in nanoseconds, at least; and how much longer it may have been.
    pub ns: u64,
    pub unsure_ns: u64,
    /// Frames between both that did not arrive.
    pub lost: u64,
}

impl Pause {
    pub const fn length(self) -> Picos {
        Picos::from_nanos(self.ns)
    }

    pub const fn unsure(self) -> Picos {
        Picos::from_nanos(self.unsure_ns)
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    /// Number of the frame before, and between which times it came.
    last: Option<(u64, u64, u64)>,
    /// Whether they count yet.
    pub count: bool,
    pub longest: Option<Pause>,
}

impl Pauses {
    /// Frame `seq` came between `from` and `to`, and had been on its way for `took` nanoseconds at most.
    pub fn frame(&mut self, seq: u64, (from, to): (u64, u64), took: u64) {
        let Some((last, since, before)) = self.last else { return self.last = Some((seq, from, to)) };
        self.last = Some((seq.max(last), from.max(since), to.max(before)));
        let lost = seq.saturating_sub(last + 1);
        let apart = from.saturating_sub(before);
        let took = took.saturating_sub(to - from);
        let unsure_ns = (to - from) + (before - since);
        // Of the frame that was next, what it spent on the way; what came before that is the sender's.
        let ns = if lost > 0 { apart } else { apart.min(took) };
        if self.count && self.longest.is_none_or(|longest| ns > longest.ns) {
            self.longest = Some(Pause { ns, unsure_ns, lost });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn counting() -> Pauses {
        Pauses { count: true, ..Pauses::default() }
    }

    #[test]
    fn an_interruption_is_from_the_last_frame_before_it_to_the_first_after_it() {
        let mut pauses = counting();
        // A frame each millisecond, 1 us on its way; those of 100 to 349 are lost.
        for seq in (0..100).chain(350..500) {
            let at = seq * MS + 1_000;
            pauses.frame(seq, (at, at), 1_000);
        }
        assert_eq!(pauses.longest, Some(Pause { ns: 251 * MS, unsure_ns: 0, lost: 250 }));
    }

    #[test]
    fn a_sender_that_stood_still_is_no_interruption_and_a_device_that_held_frames_is() {
        let mut pauses = counting();
        for (seq, sent_ms, came_ms) in [(0, 0, 0), (1, 1, 1), (2, 500, 500), (3, 501, 801), (4, 502, 801)] {
            pauses.frame(seq, (came_ms * MS, came_ms * MS), (came_ms - sent_ms) * MS);
        }
        assert_eq!(pauses.longest, Some(Pause { ns: 300 * MS, unsure_ns: 0, lost: 0 }));
    }

    #[test]
    fn a_receiver_that_stood_still_makes_no_interruption_of_frames_without_stamps() {
        let mut pauses = counting();
        pauses.frame(0, (0, MS), MS);
        // Read at 400 ms, after a look at 1 ms: all of them may have come long ago.
        for seq in 1..300 {
            pauses.frame(seq, (MS, 400 * MS), (400 - seq) * MS);
        }
        assert_eq!(pauses.longest.map(|longest| longest.ns), Some(0));
        // Lost ones make one that is as long as it is at least.
        pauses.frame(900, (890 * MS, 900 * MS), 0);
        let pause = Pause { ns: 490 * MS, unsure_ns: 10 * MS + 399 * MS, lost: 600 };
        assert_eq!(pauses.longest, Some(pause));
    }

    #[test]
    fn what_came_before_it_counts_is_left_out() {
        let mut pauses = Pauses::default();
        pauses.frame(0, (0, 0), 0);
        pauses.frame(900, (900 * MS, 900 * MS), 0);
        pauses.count = true;
        pauses.frame(910, (910 * MS, 910 * MS), 0);
        assert_eq!(pauses.longest.map(|longest| longest.ns), Some(10 * MS));
    }
}
