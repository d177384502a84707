//! Where the page is served.

use crate::LiveError;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::str::FromStr;

/// T-A-R-E on a telephone's keys.
const PORT: u16 = 8273;

/// What `--live` names: an address, a port, both, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    ip: IpAddr,
    /// `None`: 8273, or any free one if that is taken.
    port: Option<u16>,
}

impl Default for Address {
    fn default() -> Self {
        Self { ip: IpAddr::V4(Ipv4Addr::LOCALHOST), port: None }
    }
}

impl FromStr for Address {
    type Err = LiveError;

    fn from_str(typed: &str) -> Result<Self, LiveError> {
        let here = Self::default();
        if typed.is_empty() || typed == "localhost" {
            return Ok(here);
        }
        let no_address = || LiveError::NoAddress { typed: typed.to_owned() };
        let rest = typed.strip_prefix("localhost:").or(typed.strip_prefix(':')).unwrap_or(typed);
        if let Ok(port) = rest.parse::<u16>() {
            return Ok(Self { port: Some(port), ..here });
        }
        if let Ok(both) = typed.parse::<SocketAddr>() {
            return Ok(Self { ip: both.ip(), port: Some(both.port()) });
        }
        let bare = typed.strip_prefix('[').and_then(|typed| typed.strip_suffix(']')).unwrap_or(typed);
        let ip = bare.parse().map_err(|_| no_address())?;
        Ok(Self { ip, port: None })
    }
}

impl Address {
    /// Only programs of this machine reach it.
    pub fn is_loopback(self) -> bool {
        self.ip.is_loopback()
    }

    /// What is asked for, with the usual port where none is named.
    pub(crate) fn wanted(self) -> SocketAddr {
        self.with_port(self.port.unwrap_or(PORT))
    }

    fn with_port(self, port: u16) -> SocketAddr {
        SocketAddr::new(self.ip, port)
    }

    /// Listens there. A port that was named is taken or refused; the usual one has others to stand in.
    pub(crate) fn listen(self) -> Result<TcpListener, LiveError> {
        let wanted = self.wanted();
        match TcpListener::bind(wanted) {
            Err(_) if self.port.is_none() => TcpListener::bind(self.with_port(0)),
            other => other,
        }
        .map_err(|error| LiveError::Bind { address: wanted, error })
    }
}

/// Whether a request's `Host` is a name that only this machine gives itself. A page from elsewhere whose name
/// was made to point at 127.0.0.1 (DNS rebinding) has its own name there. The port says nothing: it may have
/// been forwarded.
pub(crate) fn names_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(name, _)| name),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_port_an_ip_or_both() {
        let parsed = |typed: &str| typed.parse::<Address>().map(|a| (a.ip.to_string(), a.port)).ok();
        let here = || "127.0.0.1".to_owned();
        assert_eq!(parsed(""), Some((here(), None)));
        assert_eq!(parsed("9000"), Some((here(), Some(9000))));
        assert_eq!(parsed(":9000"), Some((here(), Some(9000))));
        assert_eq!(parsed("localhost:9000"), Some((here(), Some(9000))));
        assert_eq!(parsed("0.0.0.0"), Some(("0.0.0.0".to_owned(), None)));
        assert_eq!(parsed("[::1]:80"), Some(("::1".to_owned(), Some(80))));
        assert_eq!(parsed("::1"), Some(("::1".to_owned(), None)));
        for wrong in ["http://a/", "host", "1.2.3.4:x", "70000", "1.2.3"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_usual_port_has_others_to_stand_in_and_a_named_one_has_not() {
        let first = Address::default().listen().unwrap();
        let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
        let second = Address::default().listen().unwrap();
        assert_ne!(port(&first), port(&second));
        let taken = Address { port: Some(port(&first)), ..Address::default() };
        assert!(matches!(taken.listen(), Err(LiveError::Bind { .. })));
    }

    #[test]
    fn only_names_of_this_machine_pass() {
        for host in [
            "localhost",
            "LOCALHOST:9",
            "a.localhost",
            "127.0.0.1:8273",
            "127.9.9.9",
            "[::1]:80",
            "localhost.",
        ] {
            assert!(names_loopback(host), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8273",
            "127.0.0.1.evil.example",
            "localhost.evil",
            "",
            "[::2]",
            "0.0.0.0",
        ] {
            assert!(!names_loopback(host), "{host}");
        }
    }
}
