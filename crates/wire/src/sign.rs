//! A signature put into a frame that somebody else has made.

use crate::signature::{LENGTH, Signature};
use crate::{checksum, parse};

impl Signature {
    /// Writes the signature over the first bytes of the frame's payload, where [`Signature::find`] looks for
    /// it, and keeps the checksum of UDP, TCP and ICMP as right or as wrong as it was. Returns whether there
    /// was room; if not, the frame is as it was.
    pub fn put(&self, frame: &mut [u8]) -> bool {
        let Some(tuple) = parse::summary(frame) else { return false };
        let range = tuple.payload_range();
        // What lies behind the length in the headers is padding, which a checksum does not hold.
        if range.len() < LENGTH {
            return false;
        }
        let room = frame.get_mut(range.start..).and_then(<[u8]>::first_chunk_mut::<LENGTH>);
        let Some(room) = room else { return false };
        let before = checksum::sum(room);
        self.write(room);
        let after = checksum::sum(room);
        keep_checksum(frame, &tuple, before, after);
        true
    }
}

/// HC' = ~(~HC + ~m + m') (RFC 1624), with sums of words for m and m'. The payload is at an even distance from
/// where each of these transports begins.
fn keep_checksum(frame: &mut [u8], tuple: &parse::Tuple, before: u64, after: u64) {
    if !tuple.is_ip() || tuple.is_later_fragment {
        return;
    }
    // RFC 768, RFC 9293, RFC 792 and RFC 4443.
    let at = match tuple.protocol {
        parse::UDP => 6,
        parse::TCP => 16,
        parse::ICMP | parse::ICMPV6 => 2,
        _ => return,
    };
    let field = frame.get_mut(usize::from(tuple.transport) + at..).and_then(<[u8]>::first_chunk_mut::<2>);
    let Some(field) = field else { return };
    let old = u16::from_be_bytes(*field);
    let total = u64::from(!old) + u64::from(!checksum::fold(before)) + after;
    let new = match tuple.protocol {
        // There is none.
        parse::UDP if old == 0 => 0,
        parse::UDP => checksum::finish_udp(total),
        _ => checksum::finish(total),
    };
    *field = new.to_be_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::template::{Echo, Layer, Mac, Payload, Sizes, Spec, StreamSpec, Template, Times};
    use alloc::vec;
    use alloc::vec::Vec;

    const TIMES: Times =
        Times { due_unix_ns: 1_700_000_000_000_000_000, sent_unix_ns: 1_700_000_000_000_000_900 };

    fn frame(layers: Vec<Layer>, sign: bool) -> Vec<u8> {
        let (sizes, payload) = (Sizes::Fixed(301), Payload::Random);
        let stream = StreamSpec { weight: 1, layers, sizes, payload, sign, ..StreamSpec::default() };
        let template = Template::build(&Spec { streams: vec![stream], seed: 42 }).unwrap();
        let mut room = vec![0; 301];
        let length = template.write(5, TIMES, &mut room, &mut 0);
        room.truncate(length);
        room
    }

    fn transports() -> [Layer; 4] {
        [
            Layer::Udp { source: 1024, destination: 9, checksum: true },
            Layer::Udp { source: 1024, destination: 9, checksum: false },
            samples::tcp(),
            Layer::Echo(Echo { request: true, identifier: 5, sequence: 6 }),
        ]
    }

    /// A template signs frames in another way: it writes the sums of a whole frame.
    #[test]
    fn a_frame_that_is_signed_afterwards_is_as_if_it_had_been_made_so() {
        let Times { due_unix_ns, sent_unix_ns } = TIMES;
        let signature = Signature { stream: 0, seq: 5, due_unix_ns, sent_unix_ns };
        for network in samples::networks() {
            for transport in transports() {
                let layers =
                    vec![Layer::ethernet(Mac([2; 6]), Mac([4; 6])), network.clone(), transport.clone()];
                let mut ours = frame(layers.clone(), false);
                assert!(signature.put(&mut ours));
                assert_eq!(ours, frame(layers, true), "{network:?} {transport:?}");
                assert_eq!(Signature::find(&ours), Some(signature));
            }
        }
    }

    #[test]
    fn without_room_nothing_is_written() {
        let layers = vec![Layer::ethernet(Mac([2; 6]), Mac([4; 6])), samples::networks()[0].clone()];
        let whole = frame([layers, vec![transports()[0].clone()]].concat(), false);
        let (least, signature) = (14 + 20 + 8 + LENGTH, Signature::default());
        for cut in 0..least {
            let mut short = whole[..cut].to_vec();
            assert!(!signature.put(&mut short), "{cut}");
            assert_eq!(short, whole[..cut]);
        }
        assert!(signature.put(&mut whole[..least].to_vec()));
    }

    #[test]
    fn a_checksum_of_udp_that_comes_out_as_0_is_written_as_ffff() {
        let layers = vec![
            Layer::ethernet(Mac([2; 6]), Mac([4; 6])),
            samples::networks()[0].clone(),
            transports()[0].clone(),
        ];
        let mut ours = frame(layers, false);
        let signature = Signature { seq: 5, ..Signature::default() };
        let mut signed = ours.clone();
        assert!(signature.put(&mut signed));
        // A word behind the signature that is larger by the checksum leaves none.
        let word = |frame: &[u8], at: usize| u64::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
        let larger = checksum::fold(word(&ours, 62) + word(&signed, 40));
        ours[62..64].copy_from_slice(&larger.to_be_bytes());
        crate::finish(&mut ours, false);
        assert!(signature.put(&mut ours));
        assert_eq!(word(&ours, 40), 0xffff);
    }

    #[test]
    fn a_later_fragment_has_no_checksum_to_keep() {
        let layers = vec![
            Layer::ethernet(Mac([2; 6]), Mac([4; 6])),
            samples::networks()[0].clone(),
            transports()[0].clone(),
        ];
        let mut later = frame(layers, false);
        later[21] = 1;
        let signature = Signature {
            seq: 5,
            sent_unix_ns: TIMES.sent_unix_ns,
            due_unix_ns: TIMES.sent_unix_ns,
            stream: 0,
        };
        assert!(signature.put(&mut later));
        assert_eq!(Signature::read(&later[34..]), Some(signature));
    }
}
