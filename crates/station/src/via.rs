//! Which port, and which addresses of our own there, as users write it.
//!
//! ```text
//!   packet:eth1,ip=198.18.0.10-25/24
//!   fault,drop=1%:packet,netns=lab:eth1,ip=198.18.0.10/24,ip=fd00::10-fd00::1f/64,gw=198.18.0.1,vlan=7
//!   └────────── the port ─────────────┘└─────────── own addresses, and how they are reached ─────────┘
//! ```
//!
//! Everything before the first `,ip=` is the port's own address, with its options and wrappers.

use crate::StationError;
use crate::range::{self, Addresses};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use wire::ethernet::Mac;

const FORM: &str = "PORT,ip=198.18.0.10-25/24[,ip=fd00::10-fd00::1f/64][,gw=198.18.0.1][,vlan=7][,mac=02:00:00:00:00:01][,mtu=1500]";
const OPTIONS: [&str; 5] = ["ip", "gw", "vlan", "mac", "mtu"];

/// A port and own addresses. What can be known without opening the port is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Via {
    pub port: port::Address,
    pub v4: Option<Addresses>,
    pub v6: Option<Addresses>,
    /// Where frames to other subnets go.
    pub gateway_v4: Option<IpAddr>,
    pub gateway_v6: Option<IpAddr>,
    pub vlan: Option<u16>,
    pub mac: Option<Mac>,
    pub mtu: Option<u16>,
    /// The host has the addresses, too: its kernel answers for them, and the MAC address is its interface's.
    /// Not a part of what is typed here.
    pub shared: bool,
}

impl Via {
    /// The ranges that there are: one or two.
    pub fn ranges(&self) -> impl Iterator<Item = &Addresses> {
        self.v4.iter().chain(&self.v6)
    }

    /// Frames that are for these addresses: what to wish for where the port is opened ([`port::Wish::ours`]).
    pub fn ours(&self) -> port::Match {
        let own = port::Match::new(self.vlan);
        let own = match self.v4.and_then(Addresses::as_v4) {
            Some(range) => own.v4(range),
            None => own,
        };
        match self.v6.and_then(Addresses::as_v6) {
            // Ranges are checked to be in the same 96 bits.
            Some(range) => own.clone().v6(range).unwrap_or(own),
            None => own,
        }
    }

    /// The MAC address for these addresses if nobody says another: locally administered, and of the first of
    /// them, so that it is the same in each run.
    pub fn derived_mac(&self) -> Mac {
        match self.ranges().next().map(Addresses::first) {
            Some(IpAddr::V4(v4)) => {
                let [a, b, c, d] = v4.octets();
                Mac([0x02, 0x74, a, b, c, d])
            }
            Some(IpAddr::V6(v6)) => {
                let [.., a, b, c, d] = v6.octets();
                Mac([0x02, 0x76, a, b, c, d])
            }
            None => Mac([0x02, 0x74, 0, 0, 0, 0]),
        }
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), (String, String)> {
        match name {
            "ip" => self.take_range(value),
            "gw" => self.take_gateway(value),
            "vlan" => {
                let vlan = value.parse().ok().filter(|vlan| (1..4095).contains(vlan));
                let vlan = vlan.ok_or_else(|| wrong(name, value, "vlan=1 to 4094"))?;
                once(&mut self.vlan, vlan, name)
            }
            "mac" => {
                let mac = value.parse().map_err(|_| wrong(name, value, "mac=02:00:00:00:00:01"))?;
                if Mac::is_multicast(mac) || mac.0 == [0; 6] {
                    let problem = format!("{mac} cannot be the MAC address of a host");
                    return Err((
                        problem,
                        "one whose first byte is even, such as mac=02:00:00:00:00:01".into(),
                    ));
                }
                once(&mut self.mac, mac, name)
            }
            "mtu" => {
                let mtu = value.parse().map_err(|_| wrong(name, value, "mtu=1500"))?;
                once(&mut self.mtu, mtu, name)
            }
            other => Err((
                format!("there is no option '{other}'"),
                OPTIONS.map(|name| format!("{name}=…")).join(", "),
            )),
        }
    }

    fn take_range(&mut self, value: &str) -> Result<(), (String, String)> {
        let form = || "ip=198.18.0.10/24, ip=198.18.0.10-25/24 or ip=fd00::10-fd00::1f/64".to_owned();
        let range: Addresses = value.parse().map_err(|problem| (problem, form()))?;
        let (place, family) = if range.is_ipv4() { (&mut self.v4, "IPv4") } else { (&mut self.v6, "IPv6") };
        if let Some(before) = place {
            let problem = format!("{before} and {range} are two ranges of {family}");
            return Err((problem, "one range per family".to_owned()));
        }
        *place = Some(range);
        Ok(())
    }

    fn take_gateway(&mut self, value: &str) -> Result<(), (String, String)> {
        let gateway: IpAddr = value.parse().map_err(|_| wrong("gw", value, "gw=198.18.0.1"))?;
        once(if gateway.is_ipv4() { &mut self.gateway_v4 } else { &mut self.gateway_v6 }, gateway, "gw")
    }

    /// What only the whole shows.
    fn check(&self) -> Result<(), (String, String)> {
        for (gateway, range) in [(self.gateway_v4, &self.v4), (self.gateway_v6, &self.v6)] {
            let Some(gateway) = gateway else { continue };
            let problem = match range {
                None => format!("the gateway {gateway} is of a family without own addresses"),
                Some(range) if range.has(gateway) => format!("the gateway {gateway} is an own address"),
                Some(range) if !range.subnet_has(gateway) => {
                    format!("the gateway {gateway} is not in {range}")
                }
                Some(range) if range.is_broadcast(gateway) || !range::is_unicast(gateway) => {
                    format!("{gateway} cannot be the address of a host")
                }
                Some(_) => continue,
            };
            return Err((problem, "gw=ADDRESS, another host of the same subnet".to_owned()));
        }
        Ok(())
    }
}

fn once<T>(place: &mut Option<T>, value: T, name: &str) -> Result<(), (String, String)> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err((format!("{name} is given twice"), format!("one {name}=…"))),
    }
}

fn wrong(name: &str, value: &str, expected: &str) -> (String, String) {
    (format!("'{value}' is no value for {name}"), expected.to_owned())
}

impl FromStr for Via {
    type Err = StationError;

    fn from_str(text: &str) -> Result<Self, StationError> {
        let text = text.trim();
        let fail = |(problem, expected): (String, String)| StationError::Via {
            text: text.to_owned(),
            problem,
            expected,
        };
        let Some(at) = text.find(",ip=") else {
            return Err(fail(("says no own address".to_owned(), FORM.to_owned())));
        };
        let (port, options) = (&text[..at], &text[at + 1..]);
        let early = |name: &&&str| **name != "ip" && place_of(port).contains(&format!(",{name}="));
        if let Some(name) = OPTIONS.iter().find(early) {
            return Err(fail((format!("{name} stands before the first ip"), FORM.to_owned())));
        }
        let port = port.parse()?;
        let mut via = Self {
            port,
            v4: None,
            v6: None,
            gateway_v4: None,
            gateway_v6: None,
            vlan: None,
            mac: None,
            mtu: None,
            shared: false,
        };
        for option in options.split(',') {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            via.take(name, value).map_err(fail)?;
        }
        via.check().map_err(fail)?;
        Ok(via)
    }
}

/// What is behind the last colon of a port: options of the port stand before it.
fn place_of(port: &str) -> &str {
    port.rsplit(':').next().unwrap_or(port)
}

/// The form that is read back as the same.
impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.port)?;
        self.ranges().try_for_each(|range| write!(f, ",ip={range}"))?;
        for gateway in [self.gateway_v4, self.gateway_v6].into_iter().flatten() {
            write!(f, ",gw={gateway}")?;
        }
        if let Some(vlan) = self.vlan {
            write!(f, ",vlan={vlan}")?;
        }
        if let Some(mac) = self.mac {
            write!(f, ",mac={mac}")?;
        }
        self.mtu.map_or(Ok(()), |mtu| write!(f, ",mtu={mtu}"))
    }
}

#[cfg(test)]
mod tests;
