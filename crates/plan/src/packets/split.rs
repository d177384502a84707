//! `--split`: by which of two ports a frame of a recording leaves, that of the clients or that of the servers.
//!
//! ```text
//! auto                        by the TCP handshake, the lower port, or who spoke first
//! clients=10.0.0.0/8,fd00::/8 who is in these networks is a client, everybody else a server
//! servers=198.18.1.0/24       the other way round
//! ports, ports=80,8000-8999   these ports are the servers' (0-1023); of other frames as auto
//! ```

use super::frames::read_vary;
use super::lines::Lines;
use super::send::SendPlanFile;
use crate::error::PlanError;
use crate::table::Table;
use crate::typed::TypedList;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use wire::template::Vary;

/// Networks or ranges of ports at most.
const MOST: usize = 64;

/// Who sent a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Clients,
    Servers,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::Clients, Self::Servers];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Clients => "clients",
            Self::Servers => "servers",
        }
    }

    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Clients => Self::Servers,
            Self::Servers => Self::Clients,
        }
    }
}

/// Addresses that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u32,
}

/// It is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoNetwork;

impl FromStr for Network {
    type Err = NoNetwork;

    fn from_str(text: &str) -> Result<Self, NoNetwork> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address.parse().map_err(|_| NoNetwork)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(most), str::parse).map_err(|_| NoNetwork)?;
        if prefix <= most { Ok(Self { address, prefix }) } else { Err(NoNetwork) }
    }
}

impl Network {
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits() ^ other.to_bits()).leading_zeros() >= self.prefix
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()).leading_zeros() >= self.prefix
            }
            _ => false,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// What decides who is a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Split {
    #[default]
    Auto,
    Networks {
        side: Side,
        networks: Vec<Network>,
    },
    /// First and last ports of servers.
    Ports(Vec<(u16, u16)>),
}

/// Ports that only servers have, by convention.
const SYSTEM: (u16, u16) = (0, 1_023);

impl Split {
    /// What is typed; what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let (word, list) =
            text.split_once('=').map_or((text.trim(), None), |(word, list)| (word.trim(), Some(list)));
        let parts: Vec<&str> = list.map_or_else(Vec::new, |list| list.split(',').map(str::trim).collect());
        if parts.len() > MOST {
            return Err(format!("has {} parts; at most {MOST} are possible", parts.len()));
        }
        let networks = |side| {
            let read =
                |part: &&str| part.parse().map_err(|_| format!("has a part '{part}' that is not a network"));
            let networks = parts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
            if networks.is_empty() {
                Err("names no network".to_owned())
            } else {
                Ok(Self::Networks { side, networks })
            }
        };
        match (word, list) {
            ("auto", None) => Ok(Self::Auto),
            ("clients", _) => networks(Side::Clients),
            ("servers", _) => networks(Side::Servers),
            ("ports", None) => Ok(Self::Ports(vec![SYSTEM])),
            ("ports", Some(_)) => {
                let read = |part: &&str| {
                    range(part).ok_or_else(|| format!("has a part '{part}' that is not a port"))
                };
                parts.iter().map(read).collect::<Result<_, _>>().map(Self::Ports)
            }
            _ => Err("is no way to tell clients from servers".to_owned()),
        }
    }
}

fn range(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range: (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    (range.0 <= range.1).then_some(range)
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |parts: Vec<String>| parts.join(",");
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Networks { side, networks } => {
                write!(f, "{}={}", side.name(), joined(networks.iter().map(Network::to_string).collect()))
            }
            Self::Ports(ranges) => {
                let shown = |(first, last): &(u16, u16)| match first == last {
                    true => first.to_string(),
                    false => format!("{first}-{last}"),
                };
                write!(f, "ports={}", joined(ranges.iter().map(shown).collect()))
            }
        }
    }
}

/// A recording that leaves by two ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitPlan {
    /// The port of the servers; that of the clients is the run's own.
    pub servers: String,
    pub by: Split,
    /// What is changed of the clients' frames and of the servers', beside what is changed of all.
    pub vary: [Vec<Vary>; 2],
    /// The same as text.
    pub(super) text: [Vec<String>; 2],
}

impl SplitPlan {
    pub fn vary_of(&self, side: Side) -> &[Vary] {
        &self.vary[side as usize]
    }

    pub(super) fn lines(&self, lines: &mut Lines) {
        lines.text("servers", Some(&self.servers));
        lines.text("split", Some(&self.by));
        lines.texts("client_vary", &self.text[Side::Clients as usize]);
        lines.texts("server_vary", &self.text[Side::Servers as usize]);
    }
}

impl SendPlanFile {
    pub(super) fn split(&self, table: &Table<'_>) -> Result<Option<SplitPlan>, PlanError> {
        let send = &self.send;
        let Some(servers) = table.port_if_any("servers", send.servers.as_ref())? else {
            let others = [
                ("split", send.split.is_some()),
                ("client_vary", send.client_vary.is_some()),
                ("server_vary", send.server_vary.is_some()),
            ];
            let why = "only frames that leave through two ports have sides";
            return match others.into_iter().find(|(_, is_given)| *is_given) {
                Some((key, _)) => Err(table.missing(key, "--servers PORT", why)),
                None => Ok(None),
            };
        };
        if send.replay.is_none() {
            let why = "only the frames of a recording have clients and servers";
            return Err(table.missing("servers", "--replay FILE", why));
        }
        let one_queue = "each of the two ports has one queue";
        let others = [
            ("receive", send.receive.is_some(), "each port only sends; start tare capture at the other ends"),
            ("relative", send.relative == Some(true), "both ports keep the times of one recording"),
            ("queues", send.queues.as_ref().is_some_and(|queues| queues.as_str() != "1"), one_queue),
        ];
        if let Some((key, _, why)) = others.into_iter().find(|(_, is_given, _)| *is_given) {
            return Err(table.both(key, "servers", why));
        }
        if send.port.as_deref().map(str::trim) == Some(servers.as_str()) {
            return Err(table.wrong("servers", &servers, "is the port of the clients", "another port"));
        }
        let text = send.split.as_deref().unwrap_or("auto");
        let by = Split::read(text).map_err(|problem| {
            let expected = "auto, clients=NETWORK,..., servers=NETWORK,... or ports=80,8000-8999";
            table.wrong("split", text, problem, expected)
        })?;
        let (of_clients, clients) = vary("client_vary", send.client_vary.as_ref(), table)?;
        let (of_servers, server) = vary("server_vary", send.server_vary.as_ref(), table)?;
        Ok(Some(SplitPlan { servers, by, vary: [of_clients, of_servers], text: [clients, server] }))
    }
}

fn vary(
    key: &str,
    typed: Option<&TypedList>,
    table: &Table<'_>,
) -> Result<(Vec<Vary>, Vec<String>), PlanError> {
    let (mut all, mut shown) = (Vec::new(), Vec::new());
    for typed in typed.into_iter().flat_map(|list| &list.0) {
        let (text, varied) = read_vary(typed.as_str(), key, &all, table)?;
        all.push(varied);
        shown.push(text);
    }
    Ok((all, shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_reads_back() {
        for text in ["auto", "clients=10.0.0.0/8,fd00::/8", "servers=198.18.1.0/24", "ports=80,8000-8999"] {
            assert_eq!(Split::read(text).unwrap().to_string(), text);
        }
        assert_eq!(Split::read("ports").unwrap().to_string(), "ports=0-1023");
        assert_eq!(Split::read("clients=10.0.0.1").unwrap().to_string(), "clients=10.0.0.1/32");
        for (text, problem) in [
            ("", "is no way to tell clients from servers"),
            ("auto=1", "is no way"),
            ("clients", "names no network"),
            ("clients=10.0.0.0/33", "has a part '10.0.0.0/33' that is not a network"),
            ("ports=", "has a part '' that is not a port"),
            ("ports=9-8", "has a part '9-8' that is not a port"),
            ("ports=70000", "has a part '70000'"),
        ] {
            let said = Split::read(text).unwrap_err();
            assert!(said.starts_with(problem), "{text}: {said}");
        }
    }

    #[test]
    fn networks_have_the_addresses_that_begin_alike() {
        let contains = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(contains("10.0.0.0/8", "10.255.0.1") && !contains("10.0.0.0/8", "11.0.0.1"));
        assert!(contains("0.0.0.0/0", "9.9.9.9") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("fd00::/8", "fdff::1") && contains("::1", "::1") && !contains("::1", "::2"));
    }
}
