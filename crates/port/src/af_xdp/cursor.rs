//! Where the two ends of a ring stand: arithmetic alone, no memory and no kernel.
//!
//! ```text
//!   consumed ──►│░░░░░░░░░░░░│◄── produced          both run on and on, modulo 2³²
//!               └── filled ──┘                      place in the ring = position mod size
//! ```
//!
//! Each end moves its own position, and looks at the other's now and then: what it saw last can only be too
//! careful.

/// The end that fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filling {
    size: u32,
    produced: u32,
    /// As far as the other end was seen to be.
    consumed: u32,
}

impl Filling {
    /// `size` is a power of two.
    pub const fn new(size: u32) -> Self {
        debug_assert!(size.is_power_of_two());
        Self { size, produced: 0, consumed: 0 }
    }

    /// Places known to be free.
    pub const fn room(&self) -> u32 {
        self.size - self.produced.wrapping_sub(self.consumed)
    }

    /// The other end is at `consumed`.
    pub const fn saw(&mut self, consumed: u32) {
        self.consumed = consumed;
    }

    /// Places that are taken and not known to be emptied.
    pub const fn filled(&self) -> u32 {
        self.produced.wrapping_sub(self.consumed)
    }

    /// Index of the n-th free place, `n < room()`.
    pub const fn place(&self, n: u32) -> usize {
        (self.produced.wrapping_add(n) & (self.size - 1)) as usize
    }

    /// Index of the last place that the other end is known to have emptied.
    pub const fn place_before(&self) -> usize {
        (self.consumed.wrapping_sub(1) & (self.size - 1)) as usize
    }

    /// `count` places were filled; what the position is now.
    pub const fn advance(&mut self, count: u32) -> u32 {
        debug_assert!(count <= self.room());
        self.produced = self.produced.wrapping_add(count);
        self.produced
    }
}

/// The end that empties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emptying {
    size: u32,
    consumed: u32,
    produced: u32,
}

impl Emptying {
    pub const fn new(size: u32) -> Self {
        debug_assert!(size.is_power_of_two());
        Self { size, consumed: 0, produced: 0 }
    }

    /// Entries known to be there.
    pub const fn ready(&self) -> u32 {
        self.produced.wrapping_sub(self.consumed)
    }

    pub const fn saw(&mut self, produced: u32) {
        self.produced = produced;
    }

    /// Index of the n-th entry, `n < ready()`.
    pub const fn place(&self, n: u32) -> usize {
        (self.consumed.wrapping_add(n) & (self.size - 1)) as usize
    }

    pub const fn advance(&mut self, count: u32) -> u32 {
        debug_assert!(count <= self.ready());
        self.consumed = self.consumed.wrapping_add(count);
        self.consumed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// Steps of both ends, and how many entries each would like to move.
    fn steps() -> impl Strategy<Value = Vec<(bool, u32, bool)>> {
        proptest::collection::vec((any::<bool>(), 0u32..40, any::<bool>()), 1..200)
    }

    proptest! {
        /// Against a queue, from any position (also just before 2³² wraps).
        #[test]
        fn a_ring_is_a_queue(bits in 0u32..6, start: u32, steps in steps()) {
            let size = 1 << bits;
            let mut filling = Filling { size, produced: start, consumed: start };
            let mut emptying = Emptying { size, produced: start, consumed: start };
            let (mut produced, mut consumed) = (start, start);
            let mut ring = vec![0u64; size as usize];
            let mut model = VecDeque::new();
            let mut next = 0u64;
            for (fills, want, looks) in steps {
                if fills {
                    if looks { filling.saw(consumed); }
                    let count = want.min(filling.room());
                    prop_assert!(model.len() as u32 + count <= size, "no entry is overwritten");
                    for n in 0..count {
                        ring[filling.place(n)] = next;
                        model.push_back(next);
                        next += 1;
                    }
                    produced = filling.advance(count);
                } else {
                    if looks { emptying.saw(produced); }
                    let count = want.min(emptying.ready());
                    for n in 0..count {
                        prop_assert_eq!(Some(ring[emptying.place(n)]), model.pop_front());
                    }
                    consumed = emptying.advance(count);
                }
            }
            filling.saw(consumed);
            prop_assert_eq!(filling.filled() as usize, model.len());
            prop_assert_eq!(filling.room(), size - model.len() as u32);
        }
    }
}
