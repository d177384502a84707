//! A range of addresses in one subnet: `198.18.0.10-25/24`, `fd00::10-fd00::1f/64`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Most addresses of a range. Each has 64 thousand ports.
pub const MOST_ADDRESSES: usize = 256;

/// Consecutive addresses of one family, all in one subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Addresses {
    first: IpAddr,
    last: IpAddr,
    prefix: u8,
}

impl Addresses {
    /// # Errors
    /// What is wrong with them, in words.
    pub fn new(first: IpAddr, last: IpAddr, prefix: u8) -> Result<Self, String> {
        let bits = if first.is_ipv4() { 32 } else { 128 };
        if first.is_ipv4() != last.is_ipv4() {
            return Err(format!("{first} and {last} are of different families"));
        }
        if prefix == 0 || prefix > bits {
            return Err(format!("a prefix length of {prefix} is not between 1 and {bits}"));
        }
        let range = Self { first, last, prefix };
        let (from, to) = (number(first), number(last));
        if from > to {
            return Err(format!("{first} comes after {last}"));
        }
        if to - from >= MOST_ADDRESSES as u128 {
            return Err(format!("{first} to {last} are more than {MOST_ADDRESSES} addresses"));
        }
        if from >> 32 != to >> 32 {
            return Err(format!("{first} and {last} differ in their first 96 bits"));
        }
        if !range.subnet_has(last) {
            return Err(format!("{last} is not in {first}/{prefix}"));
        }
        for address in [first, last] {
            if !is_unicast(address) {
                return Err(format!("{address} cannot be the address of a host"));
            }
        }
        if bits == 32 && prefix <= 30 {
            for (at, name) in [(range.network(), "network"), (range.network() | !range.mask(), "broadcast")] {
                if (from..=to).contains(&at) {
                    let address = Ipv4Addr::from(at as u32);
                    return Err(format!("{address} is the {name} address of its subnet"));
                }
            }
        }
        Ok(range)
    }

    pub const fn first(&self) -> IpAddr {
        self.first
    }

    pub const fn prefix(&self) -> u8 {
        self.prefix
    }

    pub const fn is_ipv4(&self) -> bool {
        self.first.is_ipv4()
    }

    pub fn count(&self) -> usize {
        (number(self.last) - number(self.first)) as usize + 1
    }

    pub fn iter(&self) -> impl Iterator<Item = IpAddr> + use<> {
        let (is_v4, from) = (self.is_ipv4(), number(self.first));
        (0..self.count() as u128).map(move |at| address(is_v4, from + at))
    }

    /// As a range of IPv4.
    pub fn as_v4(self) -> Option<RangeInclusive<Ipv4Addr>> {
        match (self.first, self.last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => Some(first..=last),
            _ => None,
        }
    }

    /// As a range of IPv6; the first 96 bits of both ends are the same.
    pub fn as_v6(self) -> Option<RangeInclusive<Ipv6Addr>> {
        match (self.first, self.last) {
            (IpAddr::V6(first), IpAddr::V6(last)) => Some(first..=last),
            _ => None,
        }
    }

    #[inline]
    pub fn has_v4(&self, address: Ipv4Addr) -> bool {
        match (self.first, self.last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => (first..=last).contains(&address),
            _ => false,
        }
    }

    #[inline]
    pub fn has_v6(&self, address: Ipv6Addr) -> bool {
        match (self.first, self.last) {
            (IpAddr::V6(first), IpAddr::V6(last)) => (first..=last).contains(&address),
            _ => false,
        }
    }

    #[inline]
    pub fn has(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.has_v4(address),
            IpAddr::V6(address) => self.has_v6(address),
        }
    }

    /// Whether an address is in the subnet; for IPv6 also link-local ones, which are on every link.
    pub fn subnet_has(&self, address: IpAddr) -> bool {
        if address.is_ipv4() != self.is_ipv4() {
            return false;
        }
        let is_local = matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
        is_local || number(address) & self.mask() == self.network()
    }

    /// Whether it is the subnet's broadcast or network address, which is no host's.
    pub fn is_broadcast(&self, address: IpAddr) -> bool {
        let host = number(address) & !self.mask();
        self.is_ipv4() && self.prefix <= 30 && self.subnet_has(address) && (host == 0 || host == !self.mask())
    }

    fn mask(&self) -> u128 {
        match self.is_ipv4() {
            true => u128::from(u32::MAX << (32 - u32::from(self.prefix))) | u128::MAX << 32,
            false => u128::MAX << (128 - u32::from(self.prefix)),
        }
    }

    fn network(&self) -> u128 {
        number(self.first) & self.mask()
    }
}

/// Whether a host may have it.
pub(crate) fn is_unicast(address: IpAddr) -> bool {
    let is_other = match address {
        IpAddr::V4(v4) => v4.is_broadcast() || v4.octets()[0] == 0 || v4.octets()[0] >= 240,
        IpAddr::V6(v6) => v6.to_ipv4_mapped().is_some(),
    };
    !(is_other || address.is_multicast() || address.is_unspecified() || address.is_loopback())
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(u32::from(v4)),
        IpAddr::V6(v6) => u128::from(v6),
    }
}

fn address(is_v4: bool, number: u128) -> IpAddr {
    if is_v4 { Ipv4Addr::from(number as u32).into() } else { Ipv6Addr::from(number).into() }
}

impl FromStr for Addresses {
    type Err = String;

    /// `FIRST/PREFIX`, `FIRST-LAST/PREFIX`; the last of IPv4 may be its last number alone.
    fn from_str(text: &str) -> Result<Self, String> {
        let (range, prefix) = text.split_once('/').ok_or_else(|| format!("{text} has no prefix length"))?;
        let prefix = prefix.parse().map_err(|_| format!("'{prefix}' is not a prefix length"))?;
        let read = |text: &str| text.parse::<IpAddr>().map_err(|_| format!("'{text}' is not an IP address"));
        let Some((first, last)) = range.split_once('-') else {
            let only = read(range)?;
            return Self::new(only, only, prefix);
        };
        let first = read(first)?;
        let last = match (first, last.parse::<u8>()) {
            (IpAddr::V4(v4), Ok(last)) => {
                let [a, b, c, _] = v4.octets();
                IpAddr::from([a, b, c, last])
            }
            _ => read(last)?,
        };
        Self::new(first, last, prefix)
    }
}

/// The shortest form that is read back as the same.
impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        match (self.first, self.last) {
            (first, last) if first == last => {}
            (IpAddr::V4(first), IpAddr::V4(last)) if first.octets()[..3] == last.octets()[..3] => {
                write!(f, "-{}", last.octets()[3])?;
            }
            (_, last) => write!(f, "-{last}")?,
        }
        write!(f, "/{}", self.prefix)
    }
}
