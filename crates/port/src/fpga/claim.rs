//! One program of this host at a time speaks with a board: a second hello would take the first one's credits
//! away, and neither would be told.
//!
//! Whoever speaks listens at an abstract socket whose name has the interface in it. Such names are those of one
//! network namespace, as interfaces are; the kernel takes them back when the program ends, however it does, and
//! tells who listens.

use crate::PortError;
use crate::interface::Interface;
use std::io::{self, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// The right to speak with the board behind an interface, until it is dropped.
#[derive(Debug)]
pub(super) struct Claim {
    _listener: UnixListener,
}

impl Claim {
    /// # Errors
    /// Another program has it, which is named.
    pub fn on(interface: &Interface) -> Result<Self, PortError> {
        let what = || format!("the module at {}", interface.name);
        let failed = |error| PortError::System { what: what(), error };
        let address = address(interface.index).map_err(failed)?;
        match UnixListener::bind_addr(&address) {
            Ok(listener) => Ok(Self { _listener: listener }),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                let who = holder(&address)
                    .map_or_else(|| "a program".to_owned(), |process| format!("process {process}"));
                let why = format!(
                    "{who} uses it, and would lose its frames: a module has one host; wait until that ends, or \
                     end it"
                );
                Err(PortError::Unavailable { what: what(), why })
            }
            Err(error) => Err(failed(error)),
        }
    }
}

fn address(interface: u32) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("tare module {interface}"))
}

/// Number of the process that listens there.
fn holder(address: &SocketAddr) -> Option<i32> {
    let stream = UnixStream::connect_addr(address).ok()?;
    let credentials = rustix::net::sockopt::socket_peercred(&stream).ok()?;
    Some(credentials.pid.as_raw_nonzero().get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_has_one_host_and_the_second_is_told_who_is_the_first() {
        let name = "lo";
        let interface = Interface::find(name).unwrap();
        let first = Claim::on(&interface).unwrap();
        let error = Claim::on(&interface).unwrap_err();
        let own = format!("process {} uses it", std::process::id());
        assert!(error.is_users() && error.to_string().contains(&own), "{error}");
        drop(first);
        Claim::on(&interface).unwrap();
    }
}
