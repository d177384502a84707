//! Random numbers by their index: the same everywhere, with nothing to carry.
//!
//! SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, fig. 17):
//! the n-th output is a mix of `seed + (n + 1) · γ`, so any of them can be had alone. It passes BigCrush.

/// 2⁶⁴ divided by the golden ratio, made odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of its own for each purpose, so that jitter and gaps with one seed have nothing in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Gap = 1,
    Jitter = 2,
}

#[derive(Clone, Copy, Debug)]
pub struct Random {
    seed: u64,
}

impl Random {
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        Self { seed: mix(seed ^ mix(purpose as u64)) }
    }

    /// The n-th number, evenly distributed over all `u64`.
    pub fn at(self, n: u64) -> u64 {
        mix(self.seed.wrapping_add(n.wrapping_add(1).wrapping_mul(GAMMA)))
    }

    /// The n-th number in (0, 1], in steps of 2⁻⁵³.
    pub fn unit(self, n: u64) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        ((self.at(n) >> 11) + 1) as f64 * STEP
    }
}

/// `mix64` of the paper, with Stafford's variant 13 of the constants.
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_those_of_the_reference_code() {
        // Seed 1234567, first five outputs of the authors' C code (prng.di.unimi.it/splitmix64.c), as listed
        // under "Pseudo-random numbers/Splitmix64" on rosettacode.org.
        let random = Random { seed: 1_234_567 };
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!([0, 1, 2, 3, 4].map(|n| random.at(n)), expected);
        // The upper 53 bits and one, of 2⁵³.
        let unit = ((expected[0] >> 11) + 1) as f64 / 2f64.powi(53);
        assert_eq!(random.unit(0), unit);
    }

    #[test]
    fn purposes_and_seeds_differ() {
        let first = |seed, purpose| Random::new(seed, purpose).at(0);
        assert_ne!(first(0, Purpose::Gap), first(0, Purpose::Jitter));
        assert_ne!(first(0, Purpose::Gap), first(1, Purpose::Gap));
    }

    #[test]
    fn units_are_above_zero_and_at_most_one() {
        let random = Random::new(7, Purpose::Gap);
        assert!((0..10_000).map(|n| random.unit(n)).all(|u| u > 0.0 && u <= 1.0));
    }
}
