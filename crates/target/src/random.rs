//! A small seeded generator of random numbers: SplitMix64 (Steele, Lea, Flood 2014).

/// Same seed and stream, same numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// `stream` tells the workers of one seed apart.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self { state: seed ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03) };
        random.next();
        random
    }

    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform over 0..n (n > 0): the high word of a 64×64-bit product; its bias is below n / 2⁶⁴.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform over (0, 1]: never zero, so that its logarithm is finite.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal, by Box and Muller; the second value of the pair is thrown away.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}
