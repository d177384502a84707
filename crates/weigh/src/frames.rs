//! The packets that are weighed: UDP over IPv4, signed, so that each carries when it was handed over.

use crate::WeighError;
use std::net::Ipv4Addr;
use wire::Template;
use wire::template::{Layer, Mac, Sizes, Spec, StreamSpec};

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub source: (Mac, Ipv4Addr, u16),
    pub destination: (Mac, Ipv4Addr, u16),
}

/// What a frame has above IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    Datagram,
    /// A TCP segment that opens a connection.
    Syn,
}

/// Frames of `size` bytes with their FCS.
///
/// # Errors
/// A size that does not hold the headers.
pub fn template(route: &Route, size: usize, body: Body) -> Result<Template, WeighError> {
    let (source, destination) = (route.source, route.destination);
    let above = match body {
        Body::Datagram => Layer::Udp { source: source.2, destination: destination.2, checksum: false },
        Body::Syn => Layer::Tcp {
            options: Vec::new(),
            source: source.2,
            destination: destination.2,
            sequence: 1,
            acknowledgment: 0,
            flags: SYN,
            window: 65_535,
        },
    };
    let layers = vec![Layer::ethernet(source.0, destination.0), Layer::ipv4(source.1, destination.1), above];
    let sign = body == Body::Datagram;
    let stream = StreamSpec { weight: 1, layers, sizes: Sizes::Fixed(size), sign, ..StreamSpec::default() };
    Template::build(&Spec { streams: vec![stream], seed: 1 })
        .map_err(|error| WeighError::Wrong(format!("frames of {size} bytes: {error}")))
}

/// Where the signature begins in such a frame.
pub const SIGNATURE_AT: usize = 14 + 20 + 8;
/// The lowest byte of the number in a signature (its bits 24 to 31 of the first word).
pub const NUMBER_AT: usize = SIGNATURE_AT + 4;
const SYN: u8 = 0x02;

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Signature, Times};

    #[test]
    fn the_number_of_a_frame_is_where_filters_look_for_it() {
        let end = |n| (Mac([2, 0, 0, 0, 0, n]), Ipv4Addr::new(198, 18, 0, n), 9);
        let template = template(&Route { source: end(1), destination: end(2) }, 64, Body::Datagram).unwrap();
        let (mut frame, mut mark) = ([0; 60], 0);
        let times = Times { due_unix_ns: 1_700_000_000_000_000_000, sent_unix_ns: 1_700_000_000_000_000_007 };
        assert_eq!(template.write(0x1_23, times, &mut frame, &mut mark), 60);
        assert_eq!(frame[NUMBER_AT], 0x23);
        assert_eq!(Signature::read(&frame[SIGNATURE_AT..]).unwrap().sent_unix_ns, 1_700_000_000_000_000_007);
    }
}
