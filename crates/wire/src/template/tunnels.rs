//! Headers around the packet that a stream is about: where it begins, and which lengths around it differ
//! between sizes.

use super::spec::Layer;
use alloc::vec::Vec;

/// The layer that is about the packet within: the last IP header, or ARP.
fn network(layers: &[Layer]) -> usize {
    let is_network =
        |layer: &Layer| matches!(layer, Layer::Ipv4 { .. } | Layer::Ipv6 { .. } | Layer::Arp { .. });
    layers.iter().rposition(is_network).unwrap_or(0)
}

/// How many packets are around the one that the stream is about.
pub(super) fn levels(layers: &[Layer]) -> usize {
    let (around, _) = layers.split_at(network(layers));
    let is_label = |layer: &Layer| matches!(layer, Layer::Mpls { .. });
    let labels = usize::from(around.iter().any(is_label));
    let others = around.iter().filter(|layer| {
        matches!(layer, Layer::Pppoe { .. } | Layer::Gre { .. } | Layer::Vxlan { .. } | Layer::Gtpu { .. })
    });
    labels + others.count()
}

/// Offsets of lengths, and of checksums over them, in the headers around.
pub(super) fn lengths(layers: &[Layer]) -> Vec<u16> {
    let mut places = Vec::new();
    let mut at = 0;
    for layer in &layers[..network(layers)] {
        let of_layer: &[usize] = match layer {
            Layer::Ipv4 { .. } => &[2, 10],
            Layer::Ipv6 { .. } | Layer::Udp { .. } | Layer::Pppoe { .. } => &[4],
            Layer::Gtpu { .. } => &[2],
            _ => &[],
        };
        places.extend(of_layer.iter().map(|place| (at + place) as u16));
        at += layer.length();
    }
    places
}

/// Whether a checksum of the headers around covers what is within, which varies.
pub(super) fn covers_what_varies(layers: &[Layer]) -> bool {
    let around = &layers[..network(layers)];
    around.iter().any(|layer| matches!(layer, Layer::Udp { checksum: true, .. }))
}

#[cfg(test)]
mod tests {
    use crate::template::{Layer, Mac, Sizes, Spec, StreamSpec, Template, Times};
    use crate::{Signature, inner, samples};
    use alloc::vec;
    use alloc::vec::Vec;

    fn frame(layers: &[Layer], size: usize, sign: bool) -> Vec<u8> {
        let sizes = Sizes::Fixed(size);
        let stream = StreamSpec { weight: 1, layers: layers.to_vec(), sizes, sign, ..StreamSpec::default() };
        let template = Template::build(&Spec { streams: vec![stream], seed: 42 }).unwrap();
        let mut room = vec![0; size];
        let length = template.write(5, Times::default(), &mut room, &mut 0);
        room.truncate(length);
        room
    }

    #[test]
    fn what_a_tunnel_carries_is_found_and_is_as_it_is_without() {
        let ethernet = Layer::ethernet(Mac([2; 6]), Mac([4; 6]));
        let [four, six] = samples::networks();
        let udp = |destination, checksum| Layer::Udp { source: 1024, destination, checksum };
        let label = |label| Layer::Mpls { label, class: 5, ttl: 64 };
        // Where the packet within begins, by the lengths of the headers.
        for (tunnel, at) in [
            (vec![label(100), label(200)], 14 + 4 + 4),
            (vec![Layer::Pppoe { session: 17 }], 14 + 8),
            (vec![four.clone(), Layer::Gre { key: None }], 14 + 20 + 4),
            (vec![six.clone(), Layer::Gre { key: Some(5) }], 14 + 40 + 8),
            (
                vec![four.clone(), udp(4_789, false), Layer::Vxlan { network: 7 }, ethernet.clone()],
                14 + 20 + 8 + 8 + 14,
            ),
            (vec![four.clone(), udp(2_152, false), Layer::Gtpu { tunnel: 9 }], 14 + 20 + 8 + 8),
        ] {
            for inside in [vec![four.clone(), udp(9, true)], vec![six.clone(), samples::tcp()]] {
                let plain = frame(&[vec![ethernet.clone()], inside.clone()].concat(), 214 - at, false);
                let layers = [vec![ethernet.clone()], tunnel.clone(), inside].concat();
                let made = frame(&layers, 200, false);
                let within = inner::within(&made, 1).unwrap();
                assert_eq!((usize::from(within.network), inner::within(&made, 2)), (at, None), "{layers:?}");
                assert_eq!(made[at..], plain[14..], "{layers:?}");
                let sizes = Sizes::List(vec![200, 180]);
                let both = StreamSpec { weight: 1, layers: layers.clone(), sizes, ..StreamSpec::default() };
                let template = Template::build(&Spec { streams: vec![both], seed: 42 }).unwrap();
                for (seq, size) in [(0, 200), (1, 180)] {
                    let mut room = vec![0; 196];
                    let length = template.write(seq, Times::default(), &mut room, &mut 0);
                    assert_eq!(room[..length], frame(&layers, size, false), "{layers:?}");
                }
                let signed = frame(&layers, 200, true);
                assert_eq!(Signature::find(&signed).map(|found| found.seq), Some(5), "{layers:?}");
            }
        }
    }
}
