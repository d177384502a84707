//! What a driver can do for XDP, by the kernel's `netdev` family of generic netlink (Linux 6.3 and later; its
//! fields are those of linux/netdev.h). No program is attached and no socket is bound: asking costs the
//! interface nothing.
//!
//! ```text
//!   CTRL_CMD_GETFAMILY "netdev" ─► its number ─► NETDEV_CMD_DEV_GET ifindex ─► xdp-features, xsk-features (Linux 6.8)
//! ```

use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use std::io;
use std::os::fd::OwnedFd;

const CONTROLLER: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const DEV_GET: u8 = 1;
const IFINDEX: u16 = 1;
const XDP_FEATURES: u16 = 3;
const XSK_FEATURES: u16 = 6;
const REQUEST: u16 = 1;
const ERROR: u16 = 2;
/// struct nlmsghdr and struct genlmsghdr.
const HEADERS: usize = 16 + 4;

/// `NETDEV_XDP_ACT_*` of linux/netdev.h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpFeatures(pub u64);

impl XdpFeatures {
    /// The driver runs XDP programs itself.
    pub const fn native(self) -> bool {
        self.0 & 1 != 0
    }

    /// A program may send frames on to another interface.
    pub const fn redirect(self) -> bool {
        self.0 & 2 != 0
    }

    /// It transmits frames that XDP redirects to it.
    pub const fn transmit(self) -> bool {
        self.0 & 4 != 0
    }

    /// AF_XDP without a copy.
    pub const fn zero_copy(self) -> bool {
        self.0 & 8 != 0
    }
}

/// `NETDEV_XSK_FLAGS_*`: what AF_XDP may ask for with a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketFeatures(pub u64);

impl SocketFeatures {
    /// A time at which the frame shall leave; frames of a queue keep their order (`TX_LAUNCH_TIME_FIFO`, Linux
    /// 6.15).
    pub const fn launch_time(self) -> bool {
        self.0 & 4 != 0
    }
}

/// Of the interface with that index, in the namespace of this thread.
///
/// # Errors
/// The kernel is older than 6.3, or has no such interface.
pub fn of(index: u32) -> io::Result<XdpFeatures> {
    Ok(XdpFeatures(number(&attribute(&device(index)?, XDP_FEATURES)?)?))
}

/// The same of AF_XDP.
///
/// # Errors
/// The kernel is older than 6.8, or has no such interface.
pub fn of_sockets(index: u32) -> io::Result<SocketFeatures> {
    decode_sockets(&device(index)?)
}

fn decode_sockets(attributes: &[u8]) -> io::Result<SocketFeatures> {
    Ok(SocketFeatures(number(&attribute(attributes, XSK_FEATURES)?)?))
}

/// What the kernel tells of the device: its attributes.
fn device(index: u32) -> io::Result<Vec<u8>> {
    let socket = net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::GENERIC),
    )?;
    let family = ask(&socket, &request(CONTROLLER, GET_FAMILY, FAMILY_NAME, b"netdev\0"))?;
    let family = number(&attribute(&family, FAMILY_ID)?)? as u16;
    ask(&socket, &request(family, DEV_GET, IFINDEX, &index.to_ne_bytes()))
}

/// One message with one attribute.
fn request(family: u16, command: u8, kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let total = HEADERS + length.next_multiple_of(4);
    let mut bytes = Vec::with_capacity(total);
    bytes.extend_from_slice(&(total as u32).to_ne_bytes());
    bytes.extend_from_slice(&family.to_ne_bytes());
    bytes.extend_from_slice(&REQUEST.to_ne_bytes());
    // Sequence number and port: one question, one answer.
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&[command, 1, 0, 0]);
    bytes.extend_from_slice(&(length as u16).to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(total, 0);
    bytes
}

/// The attributes of the answer.
fn ask(socket: &OwnedFd, request: &[u8]) -> io::Result<Vec<u8>> {
    net::send(socket, request, SendFlags::empty())?;
    let mut buffer = vec![0; 32 * 1024];
    let (length, _) = net::recv(socket, &mut buffer[..], RecvFlags::empty())?;
    buffer.truncate(length);
    answered(&buffer)
}

fn answered(message: &[u8]) -> io::Result<Vec<u8>> {
    let kind = message.get(4..6).map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]));
    match (kind, message.get(16..20)) {
        (Some(ERROR), Some(code)) => {
            let code = i32::from_ne_bytes([code[0], code[1], code[2], code[3]]);
            Err(io::Error::from_raw_os_error(-code))
        }
        (Some(_), Some(_)) => Ok(message[HEADERS..].to_vec()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The value of the first attribute of that kind.
fn attribute(mut bytes: &[u8], kind: u16) -> io::Result<Vec<u8>> {
    while let [low, high, kind_low, kind_high, rest @ ..] = bytes {
        let length = usize::from(u16::from_ne_bytes([*low, *high]));
        // The two highest bits are flags.
        let found = u16::from_ne_bytes([*kind_low, *kind_high]) & 0x3fff;
        let value = length.checked_sub(4).and_then(|length| rest.get(..length));
        let value = value.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        if found == kind {
            return Ok(value.to_vec());
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Err(io::ErrorKind::NotFound.into())
}

/// An integer of two, four or eight bytes.
fn number(bytes: &[u8]) -> io::Result<u64> {
    match bytes {
        [a, b] => Ok(u64::from(u16::from_ne_bytes([*a, *b]))),
        [a, b, c, d] => Ok(u64::from(u32::from_ne_bytes([*a, *b, *c, *d]))),
        [a, b, c, d, e, f, g, h] => Ok(u64::from_ne_bytes([*a, *b, *c, *d, *e, *f, *g, *h])),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_by_kind_and_a_cut_one_is_refused() {
        let mut bytes = Vec::new();
        for (kind, value) in [(1_u16, &[7_u8, 0][..]), (3, &[15, 0, 0, 0, 0, 0, 0, 0])] {
            bytes.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
            bytes.extend_from_slice(&kind.to_ne_bytes());
            bytes.extend_from_slice(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        assert_eq!(number(&attribute(&bytes, 3).unwrap()).unwrap(), 15_u64.to_le());
        assert_eq!(attribute(&bytes, 9).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(attribute(&bytes[..10], 3).is_err());
        assert!(attribute(&[0; 4], 3).is_err());
    }

    #[test]
    fn an_error_message_is_an_error() {
        let mut message = vec![0; 36];
        message[4..6].copy_from_slice(&ERROR.to_ne_bytes());
        message[16..20].copy_from_slice(&(-19_i32).to_ne_bytes());
        assert_eq!(answered(&message).unwrap_err().raw_os_error(), Some(19));
        assert!(answered(&message[..10]).is_err());
    }

    /// An answer as linux/netdev.h has it: NETDEV_A_DEV_IFINDEX (1), _XDP_FEATURES (3),
    /// _XDP_RX_METADATA_FEATURES (5), _XSK_FEATURES (6), byte by byte.
    #[cfg(target_endian = "little")]
    #[test]
    fn a_launch_time_is_read_from_the_bit_that_the_kernels_header_gives_it() {
        let read = |xsk: Option<u8>| {
            let mut message = vec![0; 4];
            message.extend([40, 0, 0, 0, 1, 0, 0, 0, 9, 9, 0, 0]); // type 40, flags, number, sender
            message.extend([1, 1, 0, 0]); // NETDEV_CMD_DEV_GET, version
            message.extend([8, 0, 1, 0, 7, 0, 0, 0]);
            message.extend([12, 0, 3, 0, 0x7f, 0, 0, 0, 0, 0, 0, 0]);
            message.extend([12, 0, 5, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
            message.extend(xsk.into_iter().flat_map(|bits| [12, 0, 6, 0, bits, 0, 0, 0, 0, 0, 0, 0]));
            let length = message.len() as u32;
            message[..4].copy_from_slice(&length.to_ne_bytes());
            decode_sockets(&answered(&message).unwrap()).map(SocketFeatures::launch_time).ok()
        };
        // NETDEV_XSK_FLAGS_TX_TIMESTAMP is 1, _TX_CHECKSUM 2, _TX_LAUNCH_TIME_FIFO 4.
        assert_eq!([7, 4, 3, 0].map(|bits| read(Some(bits)).unwrap()), [true, true, false, false]);
        assert_eq!(read(None), None, "a kernel that tells nothing of AF_XDP");
    }

    #[test]
    fn bits_are_those_of_the_kernels_header() {
        let all = XdpFeatures(0b1111);
        assert!(all.native() && all.redirect() && all.transmit() && all.zero_copy());
        assert!(!XdpFeatures(0b0111).zero_copy() && !XdpFeatures(0).native());
    }
}
