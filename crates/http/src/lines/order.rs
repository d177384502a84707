//! Which request goes at which position: functions of (seed, seq) alone.

/// SplitMix64 (Steele, Lea, Flood 2014): a bijection that mixes all bits.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Random bits that depend on the seed and a position only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    state: u64,
}

impl Draws {
    pub const fn new(seed: u64, position: u64) -> Self {
        // Two rounds, so that neither neighbouring seeds nor neighbouring positions share a stream.
        Self { state: mix(mix(seed.wrapping_add(GOLDEN)).wrapping_add(position.wrapping_mul(GOLDEN))) }
    }

    pub const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Exactly uniform in `0..n` (Lemire 2019): the few draws that would favour some values are drawn again.
    pub const fn below(&mut self, n: u64) -> u64 {
        loop {
            let product = self.next() as u128 * n as u128;
            let low = product as u64;
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }
}

/// A permutation of `0..n` made by a key, in constant memory: a Feistel network over the next even number of
/// bits, walked until it lands in `0..n` (Black and Rogaway 2002). Fewer than four steps on average.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shuffle {
    n: u64,
    half_bits: u32,
    keys: [u64; 6],
}

impl Shuffle {
    /// The permutation of one pass over `n > 0` requests.
    pub fn new(seed: u64, pass: u64, n: u64) -> Self {
        let bits = (64 - (n - 1).leading_zeros()).max(2);
        let mut draws = Draws::new(!seed, pass);
        Self { n, half_bits: bits.div_ceil(2), keys: std::array::from_fn(|_| draws.next()) }
    }

    /// Where position `i` of the pass goes.
    pub fn of(&self, i: u64) -> u64 {
        let mut value = i;
        loop {
            value = self.round_trip(value);
            if value < self.n {
                return value;
            }
        }
    }

    fn round_trip(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right.wrapping_add(key)) & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shuffle_is_a_permutation() {
        for n in (1..200).chain([1_000, 4_096, 4_097, 65_537]) {
            for pass in 0..2 {
                let shuffle = Shuffle::new(7, pass, n);
                let mut seen = vec![false; n as usize];
                (0..n).for_each(|i| assert!(!std::mem::replace(&mut seen[shuffle.of(i) as usize], true)));
            }
        }
    }

    #[test]
    fn passes_and_seeds_differ() {
        let pass = |seed, pass| (0..100).map(|i| Shuffle::new(seed, pass, 100).of(i)).collect::<Vec<_>>();
        assert_ne!(pass(1, 0), pass(1, 1));
        assert_ne!(pass(1, 0), pass(2, 0));
        assert_eq!(pass(1, 0), pass(1, 0));
    }

    #[test]
    fn the_widest_range_works() {
        let shuffle = Shuffle::new(1, 0, u64::MAX);
        assert_ne!(shuffle.of(0), shuffle.of(1));
        assert!(Draws::new(1, 1).below(u64::MAX) < u64::MAX);
        assert_eq!(Draws::new(1, 1).below(1), 0);
    }
}
