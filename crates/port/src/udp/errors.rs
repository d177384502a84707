//! What the kernel says of datagrams that it had taken: its error queue (ip(7), IP_RECVERR), and what it still
//! holds.

use std::io;
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Entries that are read at once; what is left is read the next time.
const MOST: usize = 1_024;
/// sock_extended_err: errno, origin, type, code, padding, info, data; the host that said so follows.
const ENTRY: usize = 16;

#[repr(C, align(8))]
struct Ancillary([u8; 512]);

/// What was said of datagrams since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub entries: u64,
    /// This host could not send them after all: nobody answers for their next hop.
    pub stranded: u64,
    /// Another host, or the peer, had no use for them.
    pub refused: u64,
}

/// Reads what is in the queue. `own` is the socket's address.
pub(super) fn read(socket: BorrowedFd<'_>, own: IpAddr) -> Said {
    let mut said = Said::default();
    let mut control = Ancillary([0; 512]);
    for _ in 0..MOST {
        // SAFETY: `msghdr` is plain integers and pointers; all zeroes is a value of it.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = control.0.len();
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: the header points to room that outlives the call.
        let got = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut header, flags) };
        if got < 0 {
            break;
        }
        said.entries += 1;
        let length = header.msg_controllen.min(control.0.len());
        match origin(&control.0[..length]) {
            Some(Origin { from, is_for_port: false }) if from == own => said.stranded += 1,
            Some(_) => said.refused += 1,
            // The call that failed has said it, too.
            None => {}
        }
    }
    said
}

/// Of an ICMP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Origin {
    from: IpAddr,
    /// Nobody has the port: the datagram arrived, perhaps on this host.
    is_for_port: bool,
}

/// Port unreachable, of "destination unreachable": types 3 and 1 (RFC 792, RFC 4443).
const PORT_V4: [u8; 2] = [3, 3];
const PORT_V6: [u8; 2] = [1, 4];

/// Who sent the ICMP message, if it was one.
fn origin(mut control: &[u8]) -> Option<Origin> {
    // cmsg(3): length, level, type, value, aligned to 8.
    while let Some((head, rest)) = control.split_at_checked(16) {
        let number = |at: usize| i32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let length = number(0).max(0) as usize;
        let value = rest.get(..length.saturating_sub(16))?;
        match (number(8), number(12)) {
            (libc::IPPROTO_IP, libc::IP_RECVERR) if value.get(4) == Some(&libc::SO_EE_ORIGIN_ICMP) => {
                // sockaddr_in: family, port, address.
                let address: [u8; 4] = value.get(ENTRY + 4..ENTRY + 8)?.try_into().ok()?;
                return Some(Origin {
                    from: Ipv4Addr::from(address).into(),
                    is_for_port: value[5..7] == PORT_V4,
                });
            }
            (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) if value.get(4) == Some(&libc::SO_EE_ORIGIN_ICMP6) => {
                // sockaddr_in6: family, port, flow, address.
                let address: [u8; 16] = value.get(ENTRY + 8..ENTRY + 24)?.try_into().ok()?;
                return Some(Origin {
                    from: Ipv6Addr::from(address).into(),
                    is_for_port: value[5..7] == PORT_V6,
                });
            }
            _ => control = control.get(length.max(16).next_multiple_of(8)..)?,
        }
    }
    None
}

/// Bytes of datagrams that the socket was given and that no driver has had yet, the kernel's own with them.
pub(super) fn held(socket: BorrowedFd<'_>) -> io::Result<usize> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: room for one integer, which the kernel fills.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(bytes.max(0) as usize) }
}

/// How many datagrams of `payload` bytes those are, at least: each takes a power of two for itself, its headers
/// and what the kernel puts behind (skb_shared_info), and a descriptor.
pub(super) fn datagrams(held: usize, payload: usize) -> u64 {
    const BESIDE: usize = 128 + 320;
    const DESCRIPTOR: usize = 256;
    let each = (payload + BESIDE).next_power_of_two() + DESCRIPTOR;
    if held == 0 { 0 } else { (held / each).max(1) as u64 }
}

const _: () = assert!(size_of::<Ancillary>() >= 16 + ENTRY + 28);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_holds_is_at_least_one_datagram() {
        assert_eq!([0, 1, 1_280, 128_000].map(|held| datagrams(held, 200)), [0, 1, 1, 100]);
    }

    #[test]
    fn only_icmp_has_a_sender() {
        let entry = |level: i32, kind: i32, [origin, of, code]: [u8; 3], sender: &[u8]| {
            let mut value = vec![0; ENTRY];
            value[4..7].copy_from_slice(&[origin, of, code]);
            value.extend_from_slice(sender);
            let mut message = (16 + value.len() as u64).to_ne_bytes().to_vec();
            message.extend(level.to_ne_bytes().into_iter().chain(kind.to_ne_bytes()).chain(value));
            message.resize(message.len().next_multiple_of(8), 0);
            message
        };
        let v4 = [2, 0, 0, 0, 198, 18, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let icmp = |code| entry(libc::IPPROTO_IP, libc::IP_RECVERR, [libc::SO_EE_ORIGIN_ICMP, 3, code], &v4);
        let from = IpAddr::from([198, 18, 0, 1]);
        // No way to the host, and no such port there.
        for (code, is_for_port) in [(1, false), (3, true)] {
            let found = Some(Origin { from, is_for_port });
            assert_eq!(origin(&icmp(code)), found);
            let stamp = entry(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, [0; 3], &[]);
            assert_eq!(origin(&[stamp, icmp(code)].concat()), found);
        }
        let local = entry(libc::IPPROTO_IP, libc::IP_RECVERR, [libc::SO_EE_ORIGIN_LOCAL, 3, 1], &v4);
        assert_eq!((origin(&local), origin(&[]), origin(&[1; 20])), (None, None, None));
        let mut v6 = vec![10, 0, 0, 0, 0, 0, 0, 0];
        v6.extend(Ipv6Addr::LOCALHOST.octets());
        for (code, is_for_port) in [(3, false), (4, true)] {
            let what = [libc::SO_EE_ORIGIN_ICMP6, 1, code];
            let icmp6 = entry(libc::IPPROTO_IPV6, libc::IPV6_RECVERR, what, &v6);
            assert_eq!(origin(&icmp6), Some(Origin { from: Ipv6Addr::LOCALHOST.into(), is_for_port }));
        }
    }
}
