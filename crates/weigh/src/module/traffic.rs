//! Frames that come in to a simulated module, as a capture file (classic format, nanoseconds).

use crate::backload::Traffic;
use crate::frames::{self, Body, Route};
use crate::{Mac, WeighError};
use std::net::Ipv4Addr;
use wire::Times;

/// The generator's addresses (`port::fpga::generator`), and those of who sends to it.
const OWN: (Mac, Ipv4Addr, u16) = (Mac([2, 0x18, 0, 0, 0, 1]), Ipv4Addr::new(198, 18, 0, 1), 1_024);
const OTHER: (Mac, Ipv4Addr, u16) = (Mac([2, 0x18, 0, 0, 0, 2]), Ipv4Addr::new(198, 18, 0, 2), 9);
/// Ports that nobody, and that another program has: to the module both are ports.
const CLOSED: u16 = 9;
const OPEN: u16 = 10;

/// One frame, which comes in again and again.
pub struct Incoming {
    /// Without its FCS, which a capture leaves out.
    frame: Vec<u8>,
}

impl Incoming {
    /// Frames of `size` bytes with their FCS.
    ///
    /// # Errors
    /// A size that does not hold the headers.
    pub fn new(kind: Traffic, size: usize) -> Result<Self, WeighError> {
        let (body, port) = match kind {
            Traffic::UdpClosed => (Body::Datagram, CLOSED),
            Traffic::UdpOpen => (Body::Datagram, OPEN),
            Traffic::TcpSyn => (Body::Syn, CLOSED),
            Traffic::Answers => (Body::Datagram, OWN.2),
        };
        let route = Route { source: OTHER, destination: (OWN.0, OWN.1, port) };
        let template = frames::template(&route, size, body)?;
        let (mut frame, mut mark) = (vec![0; size], 0);
        let times = Times { due_unix_ns: wire::signature::EPOCH_UNIX_NS, ..Times::default() };
        let length = template.write(0, times, &mut frame, &mut mark);
        frame.truncate(length);
        Ok(Self { frame })
    }

    /// A datagram of `size` bytes with its FCS.
    pub fn udp(size: usize) -> Self {
        let mut frame = vec![2, 0x18, 0, 0, 0, 1, 2, 0x18, 0, 0, 0, 2, 8, 0];
        frame.extend([0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 2, 198, 18, 0, 1]);
        frame.extend([4, 0, 0, 9, 0, 26, 0, 0]);
        frame.resize(size - port::FCS, 0);
        Self { frame }
    }

    /// As close as a wire allows: a file of one frame is played so.
    pub fn at_line_rate(&self) -> Vec<u8> {
        self.at(std::iter::once(0))
    }

    /// A file of one frame at each of these times, which rise.
    pub fn at(&self, times_ns: impl Iterator<Item = u64>) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 0xffff, 1] {
            file.extend(word.to_le_bytes());
        }
        let length = self.frame.len() as u32;
        for at_ns in times_ns {
            let (seconds, rest) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
            for word in [seconds as u32, rest as u32, length, length] {
                file.extend(word.to_le_bytes());
            }
            file.extend(&self.frame);
        }
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_a_frame_of_its_own() {
        let of = |kind, size| Incoming::new(kind, size).unwrap().frame;
        for size in [64, 1_518] {
            for kind in Traffic::ALL {
                assert_eq!(of(kind, size).len(), size - 4, "{kind:?}");
            }
        }
        // Protocol and destination port: UDP 17, TCP 6.
        let told = |kind| (of(kind, 64)[23], u16::from_be_bytes([of(kind, 64)[36], of(kind, 64)[37]]));
        assert_eq!(Traffic::ALL.map(told), [(17, 9), (17, 10), (6, 9), (17, 1_024)]);
    }

    #[test]
    fn frames_stand_at_their_times() {
        let incoming = Incoming::udp(64);
        let file = incoming.at([5, 2_000_000_007].into_iter());
        assert_eq!(file.len(), 24 + 2 * (16 + 60));
        let word = |at: usize| u32::from_le_bytes(*file[at..].first_chunk().unwrap());
        assert_eq!((word(24), word(28), word(32)), (0, 5, 60));
        assert_eq!((word(100), word(104)), (2, 7));
        assert_eq!(incoming.at_line_rate().len(), 100);
    }
}
