//! MAC and IP addresses of a bed: fixed, so that every example can name them.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A MAC address, written `02:18:00:00:00:01`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Number `n` of a bed: a locally administered unicast address.
    pub const fn of(n: u8) -> Self {
        Self([0x02, 0x18, 0, 0, 0, n])
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl Serialize for Mac {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes: Option<Vec<u8>> = text.split(':').map(|part| u8::from_str_radix(part, 16).ok()).collect();
        let six = bytes.and_then(|bytes| <[u8; 6]>::try_from(bytes).ok());
        six.map(Self).ok_or_else(|| serde::de::Error::custom(format!("'{text}' is not a MAC address")))
    }
}

/// One of the two networks of a bed: 198.18.N.0/24 (RFC 2544, for benchmarks) and fd00:18:N::/64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(pub u8);

impl Network {
    pub const fn ipv4(self, host: u8) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, self.0, host)
    }

    pub const fn ipv6(self, host: u8) -> Ipv6Addr {
        Ipv6Addr::new(0xfd00, 0x18, self.0 as u16, 0, 0, 0, 0, host as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_the_ranges_for_benchmarks_and_print_as_written() {
        assert_eq!(Mac::of(1).to_string(), "02:18:00:00:00:01");
        assert_eq!(Network(1).ipv4(2).to_string(), "198.18.1.2");
        assert_eq!(Network(0).ipv6(1).to_string(), "fd00:18::1");
        let back: Mac = serde_json::from_str("\"02:18:00:00:00:fe\"").unwrap();
        assert_eq!(back, Mac::of(254));
        assert!(serde_json::from_str::<Mac>("\"02:18\"").is_err());
    }
}
