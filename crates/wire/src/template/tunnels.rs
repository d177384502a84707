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
