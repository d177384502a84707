//! Ports of addresses that the host has itself, kept from its kernel.
//!
//! ```text
//!  segment to our port ─┬─► packet socket, XDP socket: us
//!                       └─► the kernel's TCP ─► a socket that listens there ─► its filter ─► dropped
//! ```
//!
//! On each port listens a socket with a filter that lets nothing through. So the kernel gives the port to
//! nobody else, and what arrives there gets no reset, which a port without a socket would send. All of it ends
//! with the sockets, and those with the process, however it ends: nothing has to be put back.

use crate::af_packet::socket::attach;
use crate::{Address, Instruction, PortError};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

/// Ports of each address, where there are not too many addresses.
const EACH: usize = 4096;
/// Sockets in all.
const MOST: usize = 16_384;
/// What a run opens beside them, with room to spare.
const OTHER_FILES: usize = 256;
/// The lowest port that a block may have.
const LOWEST: usize = 1024;
/// The filter: return 0, so that no byte of any segment gets through.
const NOTHING: [Instruction; 1] = [Instruction { code: 0x06, jt: 0, jf: 0, k: 0 }];

/// A block of ports that is ours as long as this lives.
#[derive(Debug)]
pub struct Reserved {
    ports: RangeInclusive<u16>,
    _sockets: Vec<OwnedFd>,
}

impl Reserved {
    /// The highest block of ports that is free on all of these addresses, in the namespace of the port's
    /// address.
    ///
    /// # Errors
    /// No block is free, or there may not be as many sockets.
    pub fn beside(address: &Address, own: &[IpAddr]) -> Result<Self, PortError> {
        crate::namespace::within(address.innermost(), || Self::here(own))
    }

    /// How many ports each of so many addresses gets.
    pub fn each_of(addresses: usize) -> usize {
        EACH.min(MOST / addresses.max(1)).max(1)
    }

    fn here(own: &[IpAddr]) -> Result<Self, PortError> {
        os::limits::raise_open_files();
        let count = Self::each_of(own.len());
        let mut end = 1 << 16;
        while end >= LOWEST + count {
            let ports = (end - count) as u16..=(end - 1) as u16;
            match sockets(own, ports.clone()) {
                Ok(sockets) => return Ok(Self { ports, _sockets: sockets }),
                Err(error) if error.raw_os_error() == Some(libc::EADDRINUSE) => end -= count,
                Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                    let needs = own.len() * count;
                    return Err(PortError::Unavailable {
                        what: format!("{count} ports of each shared address"),
                        why: format!(
                            "they need {needs} open files, more than this process may have; raise the limit with 'ulimit -n {}'",
                            needs + OTHER_FILES
                        ),
                    });
                }
                Err(error) => {
                    return Err(PortError::System {
                        what: "reserving ports of shared addresses".into(),
                        error,
                    });
                }
            }
        }
        Err(PortError::Unavailable {
            what: format!("{count} ports in a row of each shared address"),
            why:
                "sockets of this host use some ports of each such block; close them, or use an address that \
                 the host does not have"
                    .to_owned(),
        })
    }

    pub fn ports(&self) -> RangeInclusive<u16> {
        self.ports.clone()
    }
}

/// One on each port of each address. Without SO_REUSEADDR: whatever has a port keeps it.
fn sockets(own: &[IpAddr], ports: RangeInclusive<u16>) -> io::Result<Vec<OwnedFd>> {
    let mut sockets = Vec::with_capacity(own.len() * ports.len());
    for address in own {
        for port in ports.clone() {
            sockets.push(deaf(SocketAddr::new(*address, port))?);
        }
    }
    Ok(sockets)
}

fn deaf(at: SocketAddr) -> Result<OwnedFd, io::Error> {
    let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let made = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    attach(&made, &NOTHING)?;
    bind(&made, &at)?;
    let listening: Result<(), Errno> = listen(&made, 0);
    listening?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    fn loopback(last: u8) -> IpAddr {
        IpAddr::from([127, 77, 3, last])
    }

    #[test]
    fn nobody_else_gets_a_reserved_port_and_nothing_answers_there() {
        let own = [loopback(1), loopback(2)];
        let reserved = Reserved::here(&own).expect("free ports");
        let ports = reserved.ports();
        assert_eq!(ports.len(), EACH);
        let at = SocketAddr::new(own[1], *ports.start() + 7);
        assert!(TcpListener::bind(at).is_err());
        // A port without a socket would refuse at once.
        let error = TcpStream::connect_timeout(&at, Duration::from_millis(50)).expect_err("it is deaf");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // Another run gets other ports.
        let next = Reserved::here(&own[..1]).expect("free ports").ports();
        assert!(*next.end() < *ports.start() || *next.start() > *ports.end());
        drop(reserved);
        let error = TcpStream::connect(at).expect_err("nobody listens");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn a_block_of_which_a_socket_has_a_port_is_passed_over() {
        let own = [loopback(3)];
        let first = Reserved::here(&own).expect("free ports").ports();
        let _taken = TcpListener::bind((own[0], *first.start() + 100)).expect("it is free again");
        let second = Reserved::here(&own).expect("free ports").ports();
        assert!(!second.contains(&(*first.start() + 100)));
    }
}
