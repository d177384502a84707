//! One rule, and all of them.
//!
//! ```text
//! drop  from 198.18.0.0/24  to 198.19.0.1  proto udp  sport 1024-65535  dport 53
//! ```

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Action {
    #[default]
    Pass,
    Drop,
}

impl Action {
    pub const fn is_drop(self) -> bool {
        matches!(self, Self::Drop)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if self.is_drop() { "drop" } else { "pass" })
    }
}

/// An address prefix whose bits beyond the length are all zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// `None` if the length is more than the address has, or a bit beyond it is set.
    pub fn new(address: IpAddr, length: u8) -> Option<Self> {
        let prefix = Self { address, length };
        let fits = length <= prefix.widest();
        (fits && prefix.bits() & !mask(length) == 0).then_some(prefix)
    }

    /// The prefix of this length that holds the address.
    pub fn around(address: IpAddr, length: u8) -> Self {
        let length = length.min(if address.is_ipv4() { 32 } else { 128 });
        let bits = Self { address, length }.bits() & mask(length);
        let address = match address {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits((bits >> 96) as u32)),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(bits)),
        };
        Self { address, length }
    }

    const fn widest(self) -> u8 {
        if self.is_ipv4() { 32 } else { 128 }
    }

    pub const fn is_ipv4(self) -> bool {
        self.address.is_ipv4()
    }

    pub const fn length(self) -> u8 {
        self.length
    }

    /// The address in the upper bits, whichever family it is.
    pub fn bits(self) -> u128 {
        match self.address {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        }
    }

    pub fn holds(self, address: IpAddr) -> bool {
        let other = Self { address, length: 0 };
        other.is_ipv4() == self.is_ipv4() && (other.bits() ^ self.bits()) & mask(self.length) == 0
    }
}

/// The upper `length` of 128 bits.
pub(crate) const fn mask(length: u8) -> u128 {
    match length {
        0 => 0,
        1..=127 => u128::MAX << (128 - length),
        _ => u128::MAX,
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}
impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A protocol by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Protocol(pub u8);

impl Protocol {
    pub const ICMP: Self = Self(1);
    pub const TCP: Self = Self(6);
    pub const UDP: Self = Self(17);
    pub const DCCP: Self = Self(33);
    pub const ICMPV6: Self = Self(58);
    pub const SCTP: Self = Self(132);
    pub const UDPLITE: Self = Self(136);

    /// Names that rules may use (IANA protocol numbers).
    pub const NAMES: &'static [(&'static str, u8)] = &[
        ("icmp", 1),
        ("igmp", 2),
        ("tcp", 6),
        ("udp", 17),
        ("dccp", 33),
        ("gre", 47),
        ("esp", 50),
        ("ah", 51),
        ("icmpv6", 58),
        ("ospf", 89),
        ("sctp", 132),
        ("udplite", 136),
    ];

    /// Whether its header begins with a source and a destination port.
    pub const fn has_ports(self) -> bool {
        matches!(self, Self::TCP | Self::UDP | Self::DCCP | Self::SCTP | Self::UDPLITE)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMES.iter().find(|(_, number)| *number == self.0) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Ports from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ports {
    pub first: u16,
    pub last: u16,
}

impl Ports {
    pub const fn holds(self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }

    /// 0-65535 says nothing: it is the same as no ports at all.
    pub const fn are_all(self) -> bool {
        self.first == 0 && self.last == u16::MAX
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => write!(f, "{}", self.first),
            false => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

/// One line. What is `None` may be anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rule {
    pub action: Action,
    pub from: Option<Prefix>,
    pub to: Option<Prefix>,
    pub protocol: Option<Protocol>,
    pub sport: Option<Ports>,
    pub dport: Option<Ports>,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.action)?;
        if *self == (Self { action: self.action, ..Self::default() }) {
            return f.write_str(" all");
        }
        let mut part = |word: &str, value: Option<&dyn fmt::Display>| match value {
            Some(value) => write!(f, " {word} {value}"),
            None => Ok(()),
        };
        part("from", self.from.as_ref().map(|v| v as _))?;
        part("to", self.to.as_ref().map(|v| v as _))?;
        part("proto", self.protocol.as_ref().map(|v| v as _))?;
        part("sport", self.sport.as_ref().map(|v| v as _))?;
        part("dport", self.dport.as_ref().map(|v| v as _))
    }
}

/// All rules of a file, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    pub rules: Vec<Rule>,
    /// The line of each, from 1; empty for rules that were not read from text.
    pub lines: Vec<u32>,
    /// For IP packets that no rule matches.
    pub default: Action,
    /// For frames that are neither IPv4 nor IPv6.
    pub other: Action,
}

impl Rules {
    pub const MOST: usize = 8_000_000;

    /// The line of rule `index`, or its position where there is no text.
    pub fn line(&self, index: usize) -> u32 {
        self.lines.get(index).copied().unwrap_or(index as u32 + 1)
    }
}

/// The text that reads back as the same rules.
impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rule in &self.rules {
            writeln!(f, "{rule}")?;
        }
        writeln!(f, "default {}\nother {}", self.default, self.other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_without_text_has_its_position_for_a_line() {
        let written = Rules::parse("# head\ndrop all\n\npass all", "r").unwrap();
        assert_eq!([0, 1].map(|index| written.line(index)), [2, 4]);
        let made = Rules { lines: Vec::new(), ..written };
        assert_eq!([0, 1, 7].map(|index| made.line(index)), [1, 2, 8]);
    }

    #[test]
    fn a_prefix_is_debugged_as_it_is_written() {
        assert_eq!(format!("{:?}", Prefix::around([10, 1, 2, 3].into(), 8)), "10.0.0.0/8");
    }
}
