//! How long frames take a wire.

use port::FCS;
use units::Picos;

/// Bytes of the shortest frame, without FCS.
pub const SHORTEST: usize = 60;
/// What is on the wire around a frame: preamble with delimiter, and the least gap.
const AROUND: usize = 8 + 12;

/// What a frame of `length` bytes (without FCS) takes a wire of this speed, with its preamble, its FCS and the
/// least gap behind it. Nothing where the speed is not known.
pub fn on_the_wire(length: usize, speed_bps: Option<u64>) -> Picos {
    let bits = 8 * (length.max(SHORTEST) + FCS + AROUND) as u128;
    let took = speed_bps.filter(|bps| *bps > 0).map_or(0, |bps| bits * 1_000_000_000_000 / u128::from(bps));
    Picos::from_picos(u64::try_from(took).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_as_long_as_its_bytes_and_what_is_around_it() {
        // 84 bytes of 8 ns, 1538 of 8 ns, and of 0.8 ns.
        assert_eq!(on_the_wire(60, Some(1_000_000_000)), Picos::from_nanos(672));
        assert_eq!(on_the_wire(14, Some(1_000_000_000)), Picos::from_nanos(672));
        assert_eq!(on_the_wire(1_514, Some(1_000_000_000)), Picos::from_nanos(12_304));
        assert_eq!(on_the_wire(1_514, Some(10_000_000_000)), Picos::from_picos(1_230_400));
        assert_eq!((on_the_wire(60, None), on_the_wire(60, Some(0))), (Picos::ZERO, Picos::ZERO));
    }
}
