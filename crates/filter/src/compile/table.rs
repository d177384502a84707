//! Hash tables in flat memory: open addressing, laid out so that a look-up takes a bounded number of steps.
//!
//! Entries are placed in the order of their hash, each at its own place or the next free one behind it. That
//! keeps the longest way short (the same as Robin Hood hashing); a table whose longest way is over
//! [`MOST_STEPS`] is made twice as large. So no traffic, whatever its addresses, makes a look-up longer than
//! that.

/// Most slots that a look-up touches.
pub(crate) const MOST_STEPS: usize = 16;
/// At most this many times more slots than entries, as a power of two.
const MOST_SPARE_BITS: u32 = 6;

pub(crate) const K1: u64 = 0x9e37_79b9_7f4a_7c15;
pub(crate) const K2: u64 = 0xd6e8_feb8_6659_fd93;

/// Words of `N` per slot; a slot whose key words are zero is free.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table<const N: usize> {
    pub slots: Vec<[u64; N]>,
    /// log2 of the places that hashes lead to; behind them are `steps` more.
    pub bits: u32,
    /// Slots that a look-up touches at most.
    pub steps: usize,
}

impl<const N: usize> Table<N> {
    /// `None` if some entry would be too far from its place in any size.
    pub fn new(entries: &[[u64; N]], hash: impl Fn(&[u64; N]) -> u64) -> Option<Self> {
        let least = (entries.len() * 2).max(4).next_power_of_two().ilog2();
        let mut hashed: Vec<(u64, u32)> =
            entries.iter().enumerate().map(|(index, entry)| (hash(entry), index as u32)).collect();
        hashed.sort_unstable();
        (least..=least + MOST_SPARE_BITS).find_map(|bits| place(entries, &hashed, bits))
    }

    /// Where a hash leads to.
    #[inline]
    pub const fn home(&self, hash: u64) -> usize {
        (hash >> (64 - self.bits)) as usize
    }

    /// The slots that an entry with this hash may be in, nearest first.
    #[inline]
    pub fn candidates(&self, hash: u64) -> &[[u64; N]] {
        let home = self.home(hash);
        &self.slots[home..home + self.steps]
    }
}

fn place<const N: usize>(entries: &[[u64; N]], hashed: &[(u64, u32)], bits: u32) -> Option<Table<N>> {
    let mut slots = vec![[0; N]; (1 << bits) + MOST_STEPS];
    let (mut free, mut steps) = (0, 1);
    for &(hash, index) in hashed {
        let home = (hash >> (64 - bits)) as usize;
        let at = free.max(home);
        steps = steps.max(at - home + 1);
        if steps > MOST_STEPS {
            return None;
        }
        slots[at] = entries[index as usize];
        free = at + 1;
    }
    Some(Table { slots, bits, steps })
}

/// The hash of an IPv4 prefix.
#[inline]
pub(crate) const fn hash_prefix4(word: u64) -> u64 {
    word.wrapping_mul(K1)
}

/// The hash of an IPv6 prefix.
#[inline]
pub(crate) const fn hash_prefix6(high: u64, low: u64, length: u64) -> u64 {
    let a = (high ^ length).wrapping_mul(K1);
    let b = ((a ^ (a >> 32)) ^ low).wrapping_mul(K2);
    (b ^ (b >> 32)).wrapping_mul(K1)
}

/// The hash of `tuple << 32 | destination` and the masked tail.
#[inline]
pub(crate) const fn hash_exact4(first: u64, tail: u64) -> u64 {
    let a = first.wrapping_mul(K1);
    ((a ^ (a >> 32)) ^ tail).wrapping_mul(K2)
}

/// The hash of a masked IPv6 destination, `tuple << 40`, and the masked tail.
#[inline]
pub(crate) const fn hash_exact6(high: u64, low: u64, tuple_and_tail: u64) -> u64 {
    let a = high.wrapping_mul(K1);
    let b = ((a ^ (a >> 32)) ^ low).wrapping_mul(K2);
    ((b ^ (b >> 32)) ^ tuple_and_tail).wrapping_mul(K1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_entry_is_further_from_its_place_than_a_look_up_goes() {
        let entries: Vec<[u64; 1]> = (1..=17).map(|entry| [entry]).collect();
        // All in one place: as many as a look-up touches, and one more.
        assert_eq!(Table::new(&entries[..MOST_STEPS], |_| 0).unwrap().steps, MOST_STEPS);
        assert!(Table::new(&entries, |_| 0).is_none());
    }

    proptest! {
        #[test]
        fn every_entry_is_among_the_candidates_of_its_hash(
            keys in proptest::collection::hash_set(1u64..1 << 38, 0..400),
            stride in prop_oneof![Just(1u64), Just(256 << 6), Just(1 << 20)],
        ) {
            let entries: Vec<[u64; 1]> = keys.iter().map(|key| [(key * stride) | 1]).collect();
            let table = Table::new(&entries, |entry| hash_prefix4(entry[0])).unwrap();
            for entry in &entries {
                prop_assert!(table.candidates(hash_prefix4(entry[0])).contains(entry));
            }
        }
    }
}
