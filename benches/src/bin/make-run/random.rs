//! Numbers that look random and are the same every time (SplitMix64, Steele, Lea and Flood 2014).

pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Evenly spread over 0 to 1.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About log-normal around `median`: e to the sum of four even numbers, whose spread is 1/√3.
    pub fn around(&mut self, median: f64, spread: f64) -> f64 {
        let sum: f64 = (0..4).map(|_| self.share() - 0.5).sum();
        median * (sum * 1.732 * spread).exp()
    }
}
