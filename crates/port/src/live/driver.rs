//! Whether a driver sends frames of XDP programs (`ndo_xdp_xmit`), as the kernel tells by generic netlink.
//!
//! ```text
//!   "netdev" ─ CTRL_CMD_GETFAMILY ─► number of the family ─ NETDEV_CMD_DEV_GET ─► XDP features
//! ```
//!
//! Kernels before 6.3 do not tell: there it is seen when the first frames are refused.

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use std::os::fd::OwnedFd;

/// linux/genetlink.h, and `netdev` of linux/netdev.h.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const GET_DEVICE: u8 = 1;
const INTERFACE: u16 = 1;
const XDP_FEATURES: u16 = 3;
/// NETDEV_XDP_ACT_NDO_XMIT.
const SENDS: u64 = 1 << 2;
const NLM_F_REQUEST: u16 = 1;
/// Bytes of the headers before the attributes: of netlink, and of generic netlink.
const HEADERS: usize = 20;

/// Whether the interface with this index takes frames of XDP programs now; `None` if the kernel does not tell.
pub fn sends_for_programs(index: u32) -> Option<bool> {
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::GENERIC))
            .ok()?;
    let family = ask(&socket, CONTROL, GET_FAMILY, FAMILY_NAME, b"netdev\0", FAMILY_ID)?;
    let family = u16::from_ne_bytes(family.get(..2)?.try_into().ok()?);
    let features = ask(&socket, family, GET_DEVICE, INTERFACE, &index.to_ne_bytes(), XDP_FEATURES)?;
    Some(u64::from_ne_bytes(features.get(..8)?.try_into().ok()?) & SENDS != 0)
}

/// Asks with one attribute for one attribute.
fn ask(socket: &OwnedFd, to: u16, command: u8, key: u16, value: &[u8], wanted: u16) -> Option<Vec<u8>> {
    send(socket, &request(to, command, key, value), SendFlags::empty()).ok()?;
    let mut room = vec![0; 16 * 1024];
    let (length, _) = recv(socket, room.as_mut_slice(), RecvFlags::empty()).ok()?;
    attribute(room.get(..length)?, to, wanted).map(<[u8]>::to_vec)
}

fn request(to: u16, command: u8, key: u16, value: &[u8]) -> Vec<u8> {
    let length = HEADERS + 4 + value.len().next_multiple_of(4);
    let mut bytes = Vec::with_capacity(length);
    bytes.extend((length as u32).to_ne_bytes());
    bytes.extend(to.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    // Number and sender: the kernel fills in the latter.
    bytes.extend([0; 8]);
    bytes.extend([command, 1, 0, 0]);
    bytes.extend((4 + value.len() as u16).to_ne_bytes());
    bytes.extend(key.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(length, 0);
    bytes
}

/// An attribute of an answer of that kind; an error is another kind.
fn attribute(answer: &[u8], kind: u16, wanted: u16) -> Option<&[u8]> {
    let half = |at: usize| Some(u16::from_ne_bytes(answer.get(at..at + 2)?.try_into().ok()?));
    if half(4)? != kind {
        return None;
    }
    let mut at = HEADERS;
    loop {
        let length = usize::from(half(at)?);
        if half(at + 2)? & 0x3fff == wanted {
            return answer.get(at + 4..at + length);
        }
        // Every attribute has a header: the loop ends.
        at += length.max(4).next_multiple_of(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attribute_that_was_asked_for_is_found_among_others() {
        let mut answer = request(40, 1, 1, &7u32.to_ne_bytes());
        answer.extend([12, 0, 3, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(attribute(&answer, 40, 3), Some(&[5, 0, 0, 0, 0, 0, 0, 0][..]));
        assert_eq!(attribute(&answer, 40, 1), Some(&[7, 0, 0, 0][..]));
        assert_eq!(attribute(&answer, 40, 9), None);
        // NLMSG_ERROR.
        assert_eq!(attribute(&answer, 2, 3), None);
        for cut in 0..answer.len() {
            assert_eq!(attribute(&answer[..cut], 40, 3), None, "cut at {cut}");
        }
    }

    #[test]
    fn an_index_that_no_interface_has_is_not_known() {
        assert_eq!(sends_for_programs(u32::MAX / 2), None);
    }
}
