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

use units::{Event, Picos};

/// Departures that are remembered; a power of two.
const KEPT: usize = 4096;

/// Number and lateness of one departure.
#[derive(Clone, Copy, Debug)]
struct Slot {
    number: u64,
    lateness: Picos,
}

const FREE: Slot = Slot { number: u64::MAX, lateness: Picos::ZERO };

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

    /// Remembers a departure; the gap errors to the one before it and to the one after it, where known.
    #[inline]
    pub fn push(&mut self, event: &Event) -> [Option<Picos>; 2] {
        let Some(lateness) = event.lateness() else { return [None; 2] };
        let number = if self.shares == 1 { event.seq } else { event.seq / self.shares };
        self.slots[slot_of(number)] = Slot { number, lateness };
        [number.checked_sub(1), number.checked_add(1)].map(|neighbour| self.error(neighbour?, lateness))
    }

    #[inline]
    fn error(&self, neighbour: u64, lateness: Picos) -> Option<Picos> {
        let slot = self.slots[slot_of(neighbour)];
        (slot.number == neighbour && neighbour != FREE.number)
            .then(|| slot.lateness.max(lateness) - slot.lateness.min(lateness))
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
        events.iter().flat_map(push).flatten().map(Picos::as_nanos).collect()
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
