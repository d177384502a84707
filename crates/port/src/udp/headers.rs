//! Frames and datagrams: what of a frame goes to a socket, and the headers that a received payload gets back,
//! so that whoever reads frames finds a signature where it always is.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use wire::checksum::{Pseudo, finish, finish_udp, sum};

const ETHERNET: usize = 14;
const UDP: usize = 8;
const PROTOCOL: u8 = 17;

/// Where the UDP payload of a frame is; `None` if it is no UDP datagram in one piece.
pub(super) fn payload(frame: &[u8]) -> Option<Range<usize>> {
    let two = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let mut at = 12;
    while matches!(two(at)?, 0x8100 | 0x88a8) {
        at += 4;
    }
    let ip = at + 2;
    let udp = match two(at)? {
        0x0800 if frame.get(ip + 9) == Some(&PROTOCOL) && two(ip + 6)? & 0x3fff == 0 => {
            ip + usize::from(frame[ip] & 15) * 4
        }
        0x86dd if frame.get(ip + 6) == Some(&PROTOCOL) => ip + 40,
        _ => return None,
    };
    let length = usize::from(two(udp + 4)?);
    let range = udp + UDP..udp + length;
    (length >= UDP && range.end <= frame.len()).then_some(range)
}

/// The headers of every frame that is received.
pub(super) struct Headers {
    bytes: Vec<u8>,
    pseudo: Pseudo,
    is_ipv4: bool,
}

impl Headers {
    /// For datagrams from `peer` to `own`.
    pub fn new(peer: SocketAddr, own: SocketAddr) -> Option<Self> {
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        let pseudo = match (peer.ip(), own.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                bytes.extend([0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, PROTOCOL, 0, 0]);
                bytes.extend(source.octets());
                bytes.extend(destination.octets());
                Pseudo::V4 { source, destination }
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, PROTOCOL, 64]);
                bytes.extend(source.octets());
                bytes.extend(destination.octets());
                Pseudo::V6 { source, destination }
            }
            _ => return None,
        };
        bytes.extend(peer.port().to_be_bytes());
        bytes.extend(own.port().to_be_bytes());
        bytes.extend([0; 4]);
        Some(Self { bytes, pseudo, is_ipv4: peer.is_ipv4() })
    }

    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Puts them into the start of a room, once.
    pub fn write(&self, room: &mut [u8]) {
        room[..self.bytes.len()].copy_from_slice(&self.bytes);
    }

    /// Sets what depends on the payload, which is `kept` long here and `length` in truth.
    pub fn finish(&self, room: &mut [u8], kept: usize, length: usize) {
        let udp = self.bytes.len() - UDP;
        let datagram = (UDP + length) as u16;
        if self.is_ipv4 {
            let total = (udp - ETHERNET) as u16 + datagram;
            room[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&total.to_be_bytes());
            room[ETHERNET + 10..ETHERNET + 12].fill(0);
            let checksum = finish(sum(&room[ETHERNET..udp]));
            room[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum.to_be_bytes());
        } else {
            room[ETHERNET + 4..ETHERNET + 6].copy_from_slice(&datagram.to_be_bytes());
        }
        room[udp + 4..udp + 6].copy_from_slice(&datagram.to_be_bytes());
        room[udp + 6..udp + 8].fill(0);
        let total = self.pseudo.sum(PROTOCOL, UDP + length) + sum(&room[udp..udp + UDP + kept]);
        room[udp + 6..udp + 8].copy_from_slice(&finish_udp(total).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rebuilt(peer: &str, own: &str, payload: &[u8]) -> Vec<u8> {
        let headers = Headers::new(peer.parse().unwrap(), own.parse().unwrap()).unwrap();
        let mut room = vec![0; headers.length() + payload.len()];
        headers.write(&mut room);
        room[headers.length()..].copy_from_slice(payload);
        headers.finish(&mut room, payload.len(), payload.len());
        room
    }

    #[test]
    fn checksums_are_right_by_the_rule_that_all_words_sum_to_ffff() {
        let frame = rebuilt("198.18.0.1:1024", "198.18.0.2:9", b"abc");
        assert_eq!(wire::checksum::fold(sum(&frame[14..34])), 0xffff);
        let pseudo =
            Pseudo::V4 { source: "198.18.0.1".parse().unwrap(), destination: "198.18.0.2".parse().unwrap() };
        assert_eq!(wire::checksum::fold(pseudo.sum(17, 11) + sum(&frame[34..])), 0xffff);
        let frame = rebuilt("[fd00::1]:1024", "[fd00::2]:9", b"abc");
        let pseudo =
            Pseudo::V6 { source: "fd00::1".parse().unwrap(), destination: "fd00::2".parse().unwrap() };
        assert_eq!(wire::checksum::fold(pseudo.sum(17, 11) + sum(&frame[54..])), 0xffff);
    }

    #[test]
    fn what_is_no_whole_datagram_has_no_payload() {
        let good = rebuilt("198.18.0.1:1024", "198.18.0.2:9", b"abc");
        assert_eq!(payload(&good), Some(42..45));
        let with = |at: usize, byte: u8| {
            let mut frame = good.clone();
            frame[at] = byte;
            payload(&frame)
        };
        // Another ethertype, TCP, a fragment, a datagram longer than its frame, one shorter than its header.
        for (at, byte) in [(13, 6), (23, 6), (20, 0x20), (39, 12), (39, 7)] {
            assert_eq!(with(at, byte), None, "byte {at}");
        }
        let mut tagged = good.clone();
        tagged.splice(12..12, [0x81, 0, 0, 42]);
        assert_eq!(payload(&tagged), Some(46..49));
    }

    proptest! {
        #[test]
        fn a_payload_is_found_again(data in proptest::collection::vec(any::<u8>(), 0..2000), v6: bool) {
            let (peer, own) = if v6 { ("[fd00::1]:7", "[fd00::2]:8") } else { ("198.18.0.1:7", "198.18.0.2:8") };
            let frame = rebuilt(peer, own, &data);
            let range = payload(&frame).unwrap();
            prop_assert_eq!(&frame[range], &data[..]);
        }

        #[test]
        fn no_frame_makes_it_fail(data in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = payload(&data);
        }
    }
}
