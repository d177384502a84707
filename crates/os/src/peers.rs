//! Whom this process connects to, as far as it is known by now, and which of them are on this host.
//!
//! The threads that connect add to it, and whoever watches the machine reads it: a redirect, or a line far down
//! in a file, leads to addresses that nobody knew before the start.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Shared by all who hold a clone of it.
#[derive(Clone, Debug, Default)]
pub struct Peers(Arc<Mutex<Known>>);

/// What is known at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    pub addresses: BTreeSet<SocketAddr>,
    /// The Unix socket in their place.
    pub unix: Option<PathBuf>,
}

impl Peers {
    /// All connections go to this Unix socket.
    pub fn unix(path: PathBuf) -> Self {
        Self(Arc::new(Mutex::new(Known { unix: Some(path), ..Known::default() })))
    }

    pub fn add(&self, addresses: impl IntoIterator<Item = SocketAddr>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).addresses.extend(addresses);
    }

    pub fn known(&self) -> Known {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whether the address is one of this host's, or rather of this network namespace's: only then can a socket
/// have it.
pub fn is_of_this_host(address: SocketAddr) -> bool {
    let ip = address.ip();
    ip.is_loopback() || ip.is_unspecified() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_to_all_and_whether_they_are_of_this_host() {
        let peers = Peers::default();
        let other = peers.clone();
        let [here, elsewhere] = ["127.0.0.2:80", "192.0.2.1:80"].map(|text| text.parse().unwrap());
        other.add([here, elsewhere, here]);
        assert_eq!(peers.known().addresses.into_iter().collect::<Vec<_>>(), [here, elsewhere]);
        assert!(is_of_this_host(here) && is_of_this_host("[::1]:80".parse().unwrap()));
        assert!(!is_of_this_host(elsewhere) && !is_of_this_host("[2001:db8::1]:80".parse().unwrap()));
        assert_eq!(Peers::unix("/run/x".into()).known().unix, Some("/run/x".into()));
    }
}
