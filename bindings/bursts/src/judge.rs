//! Rules over the frames of a burst.

use filter::{Decision, Fields, Firewall};

/// Frames whose tables are asked for at once, so that the memory works on several.
const AT_ONCE: usize = 16;

/// Decides for each frame, in order.
pub fn judge<'a>(
    firewall: &Firewall,
    frames: impl Iterator<Item = &'a [u8]>,
    mut decided: impl FnMut(Decision),
) {
    let mut fields = [Fields::Other; AT_ONCE];
    let mut frames = frames.peekable();
    while frames.peek().is_some() {
        let mut count = 0;
        let mut touched = 0;
        for (field, frame) in fields.iter_mut().zip(frames.by_ref().take(AT_ONCE)) {
            *field = Fields::of(frame);
            touched ^= firewall.touch(field);
            count += 1;
        }
        // Or the reads would be left out.
        std::hint::black_box(touched);
        fields[..count].iter().for_each(|fields| decided(firewall.decide_fields(fields)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filter::Rules;

    #[test]
    fn a_burst_is_decided_as_its_frames_are() {
        let rules = Rules::parse("drop from 198.18.0.0/25\ndrop all\ndefault pass\nother drop", "r").unwrap();
        let firewall = Firewall::compile(&rules).unwrap();
        let frame = |last: u8| {
            let mut frame = vec![0; 60];
            frame[12..14].copy_from_slice(if last == 9 { &[0x08, 0x06] } else { &[0x08, 0x00] });
            frame[14..18].copy_from_slice(&[0x45, 0, 0, 46]);
            frame[22..24].copy_from_slice(&[64, 253]);
            frame[26..30].copy_from_slice(&[198, 18, 0, last]);
            frame
        };
        // More than go at once, and not a multiple of it.
        let frames: Vec<_> = (0..2 * AT_ONCE as u8 + 5).map(|n| frame(n.wrapping_mul(31))).collect();
        let mut together = Vec::new();
        judge(&firewall, frames.iter().map(Vec::as_slice), |decision| together.push(decision));
        let alone: Vec<_> = frames.iter().map(|frame| firewall.decide(frame)).collect();
        assert_eq!(together, alone);
        assert!(alone.iter().any(|decision| *decision != alone[0]));
    }
}
