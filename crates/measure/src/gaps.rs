//! Gap error of one thread, from events that come in any order.
//!
//! With lateness L(n) = sent(n) − due(n), for neighbours in the thread's share of the schedule
//!
//! ```text
//! gap error = |(sent(n) − sent(n−1)) − (due(n) − due(n−1))| = |L(n) − L(n−1)|
//! ```
//!
//! Answers overtake each other, so the last [`KEPT`] departures are remembered by number, and a pair counts
//! when its second half comes. A pair of which one half never left, or whose halves ended further apart than
//! that, has no gap and does not count.

use units::{Event, Instant, Picos};

/// Departures that are remembered; a power of two.
const KEPT: usize = 4096;

/// One departure: its number, its lateness, and when it would have left but for busy connections.
#[derive(Clone, Copy, Debug)]
struct Slot {
    number: u64,
    lateness: Picos,
    left: Instant,
}

const FREE: Slot = Slot { number: u64::MAX, lateness: Picos::ZERO, left: Instant::EPOCH };

/// Between two neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// |measured − asked gap|.
    pub error: Picos,
    /// From the first to the second, own lateness alone; 0 if they overtook each other.
    pub gap: Picos,
}

/// The last departures of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Gaps {
    slots: Box<[Slot; KEPT]>,
    /// Shares into which the schedule was split: share i has the departures with seq ≡ i (mod shares).
    shares: u64,
}

impl Gaps {
    pub fn new(shares: u64) -> Self {
        let slots = vec![FREE; KEPT].into_boxed_slice().try_into().expect("KEPT slots were made");
        Self { slots, shares: shares.max(1) }
    }

    /// Remembers a departure; what is between it and the one before, and the one after, where known.
    #[inline]
    pub fn push(&mut self, event: &Event) -> [Option<Pair>; 2] {
        let (Some(lateness), Some(own)) = (event.lateness(), event.own_lateness()) else { return [None; 2] };
        let number = if self.shares == 1 { event.seq } else { event.seq / self.shares };
        let this = Slot { number, lateness, left: event.due + own };
        self.slots[slot_of(number)] = this;
        let before = number.checked_sub(1).and_then(|before| self.known(before));
        let after = number.checked_add(1).and_then(|after| self.known(after));
        [before.map(|before| pair(before, this)), after.map(|after| pair(this, after))]
    }

    #[inline]
    fn known(&self, number: u64) -> Option<Slot> {
        let slot = self.slots[slot_of(number)];
        (slot.number == number && number != FREE.number).then_some(slot)
    }
}

#[inline]
fn pair(first: Slot, second: Slot) -> Pair {
    Pair {
        error: first.lateness.max(second.lateness) - first.lateness.min(second.lateness),
        gap: second.left.since(first.left),
    }
}

#[inline]
const fn slot_of(number: u64) -> usize {
    number as usize & (KEPT - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::answer;

    fn errors(shares: u64, events: &[(u64, u64)]) -> Vec<u64> {
        let mut gaps = Gaps::new(shares);
        let push = |(seq, lateness_ns): &(u64, u64)| {
            let due_ns = seq * 1_000;
            gaps.push(&answer(*seq, due_ns, due_ns + lateness_ns, due_ns + 10_000_000))
        };
        events.iter().flat_map(push).flatten().map(|pair| pair.error.as_nanos()).collect()
    }

    #[test]
    fn neighbours_count_once_in_any_order() {
        // Lateness 5, 7, 4: |7 − 5| = 2 and |4 − 7| = 3, whichever comes first.
        assert_eq!(errors(1, &[(0, 5), (1, 7), (2, 4)]), [2, 3]);
        assert_eq!(errors(1, &[(2, 4), (0, 5), (1, 7)]), [2, 3]);
    }

    #[test]
    fn a_share_has_neighbours_of_its_own() {
        // Share 1 of 3 has the departures 1, 4, 7; 4 is missing, so 7 has no neighbour.
        assert_eq!(errors(3, &[(1, 5), (4, 9)]), [4]);
        assert_eq!(errors(3, &[(1, 5), (7, 9)]), [0; 0]);
    }

    #[test]
    fn what_never_left_or_is_long_past_has_no_gap() {
        let far = KEPT as u64;
        assert_eq!(errors(1, &[(0, 5), (far, 6), (1, 9)]), [0; 0]);
        let mut gaps = Gaps::new(1);
        assert_eq!(gaps.push(&crate::testing::missed(0, 0)), [None; 2]);
    }
}
