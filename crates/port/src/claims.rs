//! Own addresses on an interface are one run's at a time: two would answer each other's connections with
//! resets.
//!
//! The probe for other hosts with these addresses does not find another run on the same interface: what one
//! packet socket sends, another does not receive from the wire. So a run binds a Unix socket for each address,
//! to an abstract name. Such a name is its network namespace's, like the interface: whoever runs there, as
//! whatever user and in whatever container, finds it taken. It is free again when the process ends, however it
//! ends: some 100 ms later, where it was killed.

use crate::Address;
use crate::namespace::within;
use clock::Deadline;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use std::net::IpAddr;
use std::time::Duration;

/// How long a process that was killed may take to end.
const ENDING: Duration = Duration::from_millis(700);
const AGAIN: Duration = Duration::from_millis(20);

/// Addresses that are ours until this is dropped.
#[derive(Debug, Default)]
pub struct Claims {
    _sockets: Vec<OwnedFd>,
}

impl Claims {
    /// On the interface of a port. A port without one has nobody beside it; where nothing can be bound, nothing
    /// is claimed.
    ///
    /// # Errors
    /// The first address that another run has.
    pub fn of(port: &Address, own: &[IpAddr]) -> Result<Self, IpAddr> {
        let port = port.innermost();
        let Some(interface) = port.interface() else { return Ok(Self::default()) };
        os::limits::raise_open_files();
        let until = Deadline::after(ENDING);
        let claim = |address: &IpAddr| patiently(interface, *address, until);
        let claimed = within(port, || Ok(own.iter().map(claim).collect()));
        let claimed: Vec<Result<OwnedFd, Errno>> = claimed.unwrap_or_default();
        let mut sockets = Vec::with_capacity(own.len());
        for (address, claimed) in own.iter().zip(claimed) {
            match claimed {
                Ok(socket) => sockets.push(socket),
                Err(Errno::ADDRINUSE) => return Err(*address),
                Err(_) => {}
            }
        }
        Ok(Self { _sockets: sockets })
    }
}

/// Tries again for a while if it is taken: whoever has it may be ending.
fn patiently(interface: &str, address: IpAddr, until: Deadline) -> Result<OwnedFd, Errno> {
    loop {
        match claim(interface, address) {
            Err(Errno::ADDRINUSE) if !until.is_over() => std::thread::sleep(AGAIN),
            claimed => return claimed,
        }
    }
}

fn claim(interface: &str, address: IpAddr) -> Result<OwnedFd, Errno> {
    let name = SocketAddrUnix::new_abstract_name(format!("tare-via/{interface}/{address}").as_bytes())?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &name)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(port: &str, own: &[&str]) -> Result<Claims, IpAddr> {
        let own: Vec<IpAddr> = own.iter().map(|text| text.parse().expect("an address")).collect();
        Claims::of(&port.parse().expect("a port"), &own)
    }

    #[test]
    fn an_address_is_had_once_on_an_interface_until_its_claim_is_dropped() {
        let mine = claims("packet:claims-test0", &["198.18.0.10", "fd00::10"]).expect("nobody has them");
        // By whatever kind of port, and behind whatever is put before it.
        for port in ["packet:claims-test0", "xdp:claims-test0", "fault,drop=1%:packet:claims-test0"] {
            let again = claims(port, &["198.18.0.9", "198.18.0.10"]).expect_err("the second is had");
            assert_eq!(again.to_string(), "198.18.0.10", "{port}");
            assert_eq!(claims(port, &["fd00::10"]).expect_err("it is had").to_string(), "fd00::10");
        }
        let beside = claims("packet:claims-test0", &["198.18.0.9", "fd00::9"]);
        let elsewhere = claims("packet:claims-test1", &["198.18.0.10"]);
        assert!(beside.is_ok() && elsewhere.is_ok());
        assert!(claims("mem:claims-test0", &["198.18.0.10"]).is_ok(), "nobody is beside memory");
        // Whoever has it may be ending.
        let ending = std::thread::spawn(move || {
            std::thread::sleep(ENDING / 4);
            drop(mine);
        });
        assert!(claims("packet:claims-test0", &["198.18.0.10", "fd00::10"]).is_ok());
        ending.join().expect("it ends");
    }
}
