//! Lengths and checksums of a frame whose bytes somebody has changed.
//!
//! ```text
//! │ Ethernet │ IPv4 │ UDP │ VXLAN │ Ethernet │ IPv4 │ UDP │ payload
//!                                               lengths from the outside in, checksums from the inside out
//! ```

use crate::bytes::{half, put_half};
use crate::checksum::{self, Pseudo};
use crate::inner::inner;
use crate::parse::{self, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ICMP, ICMPV6, TCP, Tuple, UDP};
use crate::{gtpu, pppoe};
use core::net::IpAddr;

/// Packets within each other that are followed, the outer one included.
const LEVELS: usize = 5;
/// More fragments (RFC 791 §3.1), in the byte that it is in.
const MORE: u8 = 0x20;

/// Makes the checksums of IPv4, UDP, TCP, ICMP and ICMPv6 right, also of packets within the frame's. A UDP
/// checksum of 0 says that there is none, and stays. With `to_the_end` the lengths of IP, UDP, PPPoE and GTP-U
/// first become such that all end where the frame does.
pub fn finish(frame: &mut [u8], to_the_end: bool) {
    if to_the_end {
        lengths_to_the_end(frame);
    }
    if let Some(tuple) = parse::summary(frame) {
        set_all_checksums(frame, &tuple, LEVELS - 1);
    }
}

/// Makes the checksum of UDP or TCP right if nobody has finished it: where a card is to do that, the kernel
/// leaves the sum of the pseudo-header alone in its place. Of 65 536 frames with another wrong checksum one
/// looks so. Whether it was such a frame.
pub fn finish_begun(frame: &mut [u8]) -> bool {
    let is_begun = parse::summary(frame).is_some_and(|tuple| is_begun(frame, &tuple));
    if is_begun {
        finish(frame, false);
    }
    is_begun
}

fn is_begun(frame: &[u8], tuple: &Tuple) -> bool {
    let (transport, end) = (usize::from(tuple.transport), usize::from(tuple.end));
    let at = match tuple.protocol {
        UDP => 6,
        TCP => 16,
        _ => return false,
    };
    if !tuple.is_ip() || tuple.is_later_fragment || end < transport + at + 2 {
        return false;
    }
    let Some(pseudo) = pseudo(tuple) else { return false };
    let sum = pseudo.sum(tuple.protocol, end - transport);
    half(frame, transport + at) == checksum::fold(sum)
        && checksum::fold(sum + checksum::sum(&frame[transport..end])) != 0xffff
}

/// Makes the lengths right alone, as [`finish`] does; checksums stay as they are.
pub fn lengths_to_the_end(frame: &mut [u8]) {
    let mut level = parse::summary(frame);
    for _ in 0..LEVELS {
        let Some(tuple) = level else { break };
        set_lengths(frame, &tuple);
        level = inner(frame, &tuple);
    }
}

/// Those of what is within go first: the outer ones are over them.
fn set_all_checksums(frame: &mut [u8], tuple: &Tuple, levels_within: usize) {
    if levels_within > 0
        && let Some(within) = inner(frame, tuple)
    {
        set_all_checksums(frame, &within, levels_within - 1);
    }
    set_checksums(frame, tuple);
}

fn set_lengths(frame: &mut [u8], tuple: &Tuple) {
    let end = frame.len().min(usize::from(u16::MAX));
    let (network, transport) = (usize::from(tuple.network), usize::from(tuple.transport));
    // A header that is cut off has no length.
    let mut set = |at: usize, from: usize| {
        if at + 2 <= end && from <= end {
            put_half(frame, at, (end - from) as u16);
        }
    };
    match tuple.ethertype {
        ETHERTYPE_IPV4 => set(network + 2, network),
        ETHERTYPE_IPV6 => set(network + 4, network + 40),
        pppoe::ETHERTYPE => set(network + pppoe::field::LENGTH, network + pppoe::field::PROTOCOL),
        _ => {}
    }
    if tuple.is_ip() && tuple.protocol == UDP && !tuple.is_later_fragment {
        set(transport + 4, transport);
        if tuple.destination_port == gtpu::PORT {
            set(transport + 8 + gtpu::field::LENGTH, transport + 8 + gtpu::LENGTH);
        }
    }
}

fn set_checksums(frame: &mut [u8], tuple: &Tuple) {
    let (network, transport) = (usize::from(tuple.network), usize::from(tuple.transport));
    let end = usize::from(tuple.end);
    let mut is_part = tuple.is_later_fragment;
    if tuple.ethertype == ETHERTYPE_IPV4 {
        is_part |= frame[network + 6] & MORE != 0;
        put_half(frame, network + 10, 0);
        let sum = checksum::finish(checksum::sum(&frame[network..transport]));
        put_half(frame, network + 10, sum);
    }
    // RFC 768, RFC 9293, RFC 792 and RFC 4443: where the checksum is, and how long the least header is.
    let (at, header) = match (tuple.protocol, tuple.ethertype) {
        (UDP, _) => (6, 8),
        (TCP, _) => (16, 20),
        (ICMP, ETHERTYPE_IPV4) | (ICMPV6, ETHERTYPE_IPV6) => (2, 8),
        _ => return,
    };
    // That of a datagram in parts is over all of them.
    if !tuple.is_ip() || is_part || end < transport + header {
        return;
    }
    let is_none = tuple.protocol == UDP && half(frame, transport + at) == 0;
    if is_none {
        return;
    }
    put_half(frame, transport + at, 0);
    let mut total = checksum::sum(&frame[transport..end]);
    if tuple.protocol != ICMP {
        total += pseudo(tuple).map_or(0, |pseudo| pseudo.sum(tuple.protocol, end - transport));
    }
    let sum = if tuple.protocol == UDP { checksum::finish_udp(total) } else { checksum::finish(total) };
    put_half(frame, transport + at, sum);
}

const fn pseudo(tuple: &Tuple) -> Option<Pseudo> {
    match (tuple.source, tuple.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Pseudo::V4 { source, destination }),
        (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Pseudo::V6 { source, destination }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::template::{Echo, Layer, Mac, Payload, Sizes, Spec, StreamSpec, Template, Times};
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn made(layers: Vec<Layer>, size: usize) -> Vec<u8> {
        let stream = StreamSpec {
            weight: 1,
            layers,
            sizes: Sizes::Fixed(size),
            payload: Payload::Random,
            ..StreamSpec::default()
        };
        let template = Template::build(&Spec { streams: vec![stream], seed: 3 }).unwrap();
        let mut room = vec![0; size];
        let length = template.write(0, Times::default(), &mut room, &mut 0);
        room.truncate(length);
        room
    }

    fn stacks() -> Vec<Vec<Layer>> {
        let ethernet = Layer::ethernet(Mac([2; 6]), Mac([4; 6]));
        let udp = |destination| Layer::Udp { source: 1024, destination, checksum: true };
        let echo = Layer::Echo(Echo { request: true, identifier: 5, sequence: 6 });
        let mut all = Vec::new();
        for network in samples::networks() {
            for transport in [udp(9), samples::tcp(), echo.clone()] {
                all.push(vec![ethernet.clone(), network.clone(), transport]);
            }
        }
        let inside = |tunnel: &[Layer]| {
            let packet = [samples::networks()[0].clone(), udp(9)];
            [core::slice::from_ref(&ethernet), tunnel, &packet].concat()
        };
        let to = |destination| Layer::Udp { source: 1024, destination, checksum: false };
        let [outer, _] = samples::networks();
        all.push(inside(&[Layer::Pppoe { session: 17 }]));
        all.push(inside(&[outer.clone(), to(gtpu::PORT), Layer::Gtpu { tunnel: 5 }]));
        all.push(inside(&[outer.clone(), to(4_789), Layer::Vxlan { network: 7 }, ethernet.clone()]));
        all.push(inside(&[outer, Layer::Gre { key: Some(5) }]));
        all
    }

    fn innermost_payload(frame: &[u8]) -> usize {
        let mut tuple = parse::summary(frame).unwrap();
        while let Some(within) = inner(frame, &tuple) {
            tuple = within;
        }
        tuple.payload.into()
    }

    /// Ethernet, and packets of IPv4 within each other; the last is a datagram with two bytes. All lengths and
    /// checksums are 0, but that of UDP, which is none.
    fn nested(packets: usize) -> Vec<u8> {
        let mut frame = vec![0; 14 + packets * 20 + 10];
        frame[12..14].copy_from_slice(&[8, 0]);
        for packet in 0..packets {
            let at = 14 + packet * 20;
            frame[at] = 0x45;
            frame[at + 9] = if packet + 1 == packets { UDP } else { 4 };
        }
        frame
    }

    #[test]
    fn five_packets_within_each_other_are_finished_and_no_more() {
        for packets in [1, 2, 5, 6] {
            let mut frame = nested(packets);
            lengths_to_the_end(&mut frame);
            let end = frame.len();
            let places = (0..packets).map(|packet| 14 + packet * 20);
            for (packet, at) in places.clone().enumerate() {
                let expected = if packet < LEVELS { end - at } else { 0 };
                assert_eq!(usize::from(half(&frame, at + 2)), expected, "{packet} of {packets}");
            }
            places.clone().for_each(|at| put_half(&mut frame, at + 2, (end - at) as u16));
            finish(&mut frame, false);
            for (packet, at) in places.enumerate() {
                let is_right = crate::ipv4::View::new(&frame[at..]).unwrap().verify().is_ok();
                assert_eq!(is_right, packet < LEVELS, "{packet} of {packets}");
            }
        }
    }

    #[test]
    fn what_is_cut_off_has_neither_length_nor_checksum() {
        let whole = made(stacks().remove(0), 128);
        // 34 bytes of Ethernet and IPv4, then UDP: its length is at 38, and its checksum at 40.
        for size in 34..=44 {
            let mut ours = whole[..size].to_vec();
            finish(&mut ours, true);
            assert_eq!(usize::from(half(&ours, 16)), size - 14);
            if size >= 40 {
                assert_eq!(usize::from(half(&ours, 38)), size - 34);
            } else {
                assert_eq!(ours[34..], whole[34..size], "{size}");
            }
            if size >= 42 {
                let tuple = parse::summary(&ours).unwrap();
                let pseudo = pseudo(&tuple).unwrap();
                crate::udp::View::new(&ours[34..]).unwrap().verify(&pseudo).unwrap();
            } else {
                assert_eq!(ours[size.min(40)..], whole[size.min(40)..size], "{size}");
            }
        }
    }

    #[test]
    fn only_udp_has_no_checksum_of_0() {
        let last_words = |frame: &[u8]| (half(frame, frame.len() - 4), half(frame, frame.len() - 2));
        // As by hand in `udp`: with 6fa9 behind it the sum is ffff.
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0, 0, 30, 0, 0, 0, 0, 64, UDP, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2]);
        frame.extend([4, 0, 0, 9, 0, 10, 1, 1, 0x6f, 0xa9]);
        finish(&mut frame, false);
        assert_eq!(last_words(&frame), (0xffff, 0x6fa9));
        // An echo: 0800 + f7ff = ffff.
        frame[23] = ICMP;
        frame[34..].copy_from_slice(&[8, 0, 1, 1, 0xf7, 0xff, 0, 0, 0, 0]);
        finish(&mut frame, false);
        assert_eq!(half(&frame, 36), 0);
    }

    /// A template makes right frames of each size: one that was cut or lengthened by hand becomes the same.
    #[test]
    fn a_frame_of_another_length_is_as_if_it_had_been_made_so() {
        for layers in stacks() {
            let expected = made(layers.clone(), 200);
            for size in [128, 301] {
                let mut ours = made(layers.clone(), size);
                ours.resize(expected.len(), 0);
                let headers = expected.len() - 100;
                ours[headers..].copy_from_slice(&expected[headers..]);
                let from = innermost_payload(&expected);
                ours[from..].copy_from_slice(&expected[from..]);
                finish(&mut ours, true);
                assert_eq!(ours, expected, "{layers:?} from {size}");
            }
        }
    }

    #[test]
    fn bytes_that_changed_are_summed_anew_and_what_has_no_checksum_gets_none() {
        for layers in stacks() {
            let right = made(layers, 128);
            let mut ours = right.clone();
            let at = right.len() - 1;
            ours[at] ^= 0xff;
            let changed = ours.clone();
            finish(&mut ours, false);
            assert_ne!(ours, changed);
            ours[at] ^= 0xff;
            finish(&mut ours, false);
            assert_eq!(ours, right);
        }
        let mut none = made(stacks().remove(0), 128);
        none[40..42].fill(0);
        finish(&mut none, true);
        assert_eq!(none[40..42], [0, 0]);
        let mut first = made(stacks().remove(0), 128);
        first[20] |= MORE;
        let before = first[40..42].to_vec();
        first[60] ^= 1;
        finish(&mut first, false);
        assert_eq!(first[40..42], before[..], "the first of several parts");
    }

    #[test]
    fn lengths_are_set_without_checksums() {
        for layers in stacks() {
            let mut ours = made(layers, 128);
            ours.resize(200, 0);
            let (mut finished, before) = (ours.clone(), ours.clone());
            lengths_to_the_end(&mut ours);
            finish(&mut finished, true);
            // Once the checksums are right, too, it is the same.
            assert_ne!(ours, before);
            assert_ne!(ours, finished);
            finish(&mut ours, false);
            assert_eq!(ours, finished);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            start in 0_usize..6,
            to_the_end: bool,
        ) {
            let mut frame = bytes;
            let starts: [&[u8]; 6] = [
                &[8, 0, 0x45],
                &[8, 0, 0x4f],
                &[0x86, 0xdd, 0x60],
                &[0x88, 0x64, 0x11, 0],
                &[0x88, 0x47],
                &[0x81, 0, 0, 1, 8, 0, 0x45],
            ];
            if frame.len() > 34 {
                frame[12..12 + starts[start].len()].copy_from_slice(starts[start]);
            }
            finish(&mut frame, to_the_end);
        }
    }
}
