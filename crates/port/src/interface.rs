//! What is known of a network interface: asked of the kernel by netlink and by ethtool's ioctl, without `/sys`
//! (which shows the interfaces of the namespace that mounted it, not of this thread's) and without other
//! programs.
//!
//! ```text
//! Interface::find(name) ─┬ netlink   index, MAC, MTU, flags, counters
//!                        ├ ethtool   driver, speed, queues, stamps, the driver's own counters; offloads,
//!                        │           rings, coalescing
//!                        └ netdev    what it can do for XDP
//! ```
//!
//! An [`Interface`] belongs to the namespace of the thread that found it, wherever it is used.

mod ethtool;
pub(crate) mod features;
mod host_use;
mod netlink;
mod qdisc;
mod route;
mod rtnetlink;
mod setup;
mod stamps;

pub use ethtool::{Queues, Stamping};
pub(crate) use ethtool::{set_name, with_request};
pub use qdisc::{Etf, Fq, Qdisc, Times};
pub(crate) use route::Route;
pub use setup::{Coalescing, InterfaceSetup, Rings, XdpFeatures};
pub(crate) use stamps::StampGuard;

use crate::{Address, PortError};
use netlink::Netlink;
use std::io;
use std::net::SocketAddr;

/// One interface. What was found stays as it was; [`Interface::state`] and [`Interface::statistics`] ask again.
#[derive(Debug)]
pub struct Interface {
    netlink: Netlink,
    pub index: u32,
    pub name: String,
    /// None on interfaces without Ethernet's addresses.
    pub mac: Option<[u8; 6]>,
    pub mtu: u32,
    /// Frames have an Ethernet header (also on the loopback interface, whose addresses are zero).
    pub is_ethernet: bool,
    pub is_loopback: bool,
    /// Where the driver tells it.
    pub speed_bps: Option<u64>,
    pub queues: Queues,
    pub driver: Option<String>,
    pub stamping: Stamping,
}

/// Watches whether the interface of a port loses its link, from any thread and namespace.
#[derive(Debug)]
pub struct LinkWatch {
    netlink: Netlink,
    index: u32,
    name: String,
    is_here: bool,
}

impl LinkWatch {
    /// Of the interface of that port, in the namespace that it is in; `None` if it has none, or nobody tells.
    pub fn of(port: &Address) -> Option<Self> {
        let port = port.innermost();
        let interface = port.interface()?;
        let found = crate::namespace::within(port, || Interface::find(interface)).ok()?;
        let is_here = port.namespace().is_none();
        Some(Self { netlink: found.netlink, index: found.index, name: found.name, is_here })
    }

    /// The interface's name, if it is in the namespace of this process.
    pub fn name_here(&self) -> Option<&str> {
        self.is_here.then_some(&self.name)
    }

    /// How often the link was lost since the interface was made. `None` if the interface is gone.
    pub fn losses(&self) -> Option<u64> {
        self.netlink.link_losses(self.index).ok().flatten()
    }
}

/// How an interface is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Frames can pass: it is switched on and has a carrier.
    Up,
    Down,
    /// It was removed, or moved to another namespace.
    Gone,
}

/// The kernel's counters of an interface, since it was made. Names as in `struct rtnl_link_stats64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    pub rx_packets: u64,
    pub rx_bytes: u64,
    pub rx_errors: u64,
    /// No room in the kernel or the driver.
    pub rx_dropped: u64,
    /// No room in the card.
    pub rx_missed: u64,
    pub rx_over: u64,
    pub rx_fifo: u64,
    pub rx_nohandler: u64,
    pub tx_packets: u64,
    pub tx_bytes: u64,
    pub tx_errors: u64,
    pub tx_dropped: u64,
    pub tx_fifo: u64,
    pub tx_carrier: u64,
}

impl Interface {
    /// Looks `name` up in the namespace of this thread.
    ///
    /// # Errors
    /// `NoInterface`, which names the nearest and what there is.
    pub fn find(name: &str) -> Result<Self, PortError> {
        let netlink = Netlink::open().map_err(|error| system("asking for interfaces", error))?;
        let links = netlink.links().map_err(|error| system("asking for interfaces", error))?;
        let Some(found) = links.iter().find(|link| link.name == name) else {
            let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
            return Err(PortError::NoInterface { interface: name.into(), advice: advice(name, &names) });
        };
        let ask = ethtool::Ethtool::new(&netlink, name);
        Ok(Self {
            index: found.index,
            name: found.name.clone(),
            mac: found.mac.filter(|_| !found.is_loopback),
            mtu: found.mtu,
            is_ethernet: found.is_ethernet,
            is_loopback: found.is_loopback,
            speed_bps: ask.speed_bps(),
            queues: ask.queues().unwrap_or(found.queues),
            driver: ask.driver(),
            stamping: ask.stamping(),
            netlink,
        })
    }

    /// The way of UDP from one to the other, in the namespace of this thread.
    ///
    /// # Errors
    /// What sending would fail with.
    pub(crate) fn route(own: SocketAddr, peer: SocketAddr) -> io::Result<Route> {
        route::towards(&Netlink::open()?, own, peer)
    }

    /// The same now, in the namespace of this interface.
    pub(crate) fn route_there(&self, own: SocketAddr, peer: SocketAddr) -> io::Result<Route> {
        route::towards(&self.netlink, own, peer)
    }

    /// The one with that index, in the namespace of this thread.
    pub(crate) fn of_index(index: u32) -> Option<Self> {
        let links = Netlink::open().and_then(|netlink| netlink.links()).ok()?;
        Self::find(&links.into_iter().find(|link| link.index == index)?.name).ok()
    }

    /// Names of all interfaces in the namespace of this thread.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn names() -> Result<Vec<String>, PortError> {
        let links = Netlink::open().and_then(|netlink| netlink.links());
        let links = links.map_err(|error| system("asking for interfaces", error))?;
        Ok(links.into_iter().map(|link| link.name).collect())
    }

    /// How the host's own stack uses this interface, which would miss its frames: `it has addresses`, `it
    /// belongs to 'br0'`, `'eth0.5' lies on it`; `None` if it does not.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn used_by_host(&self) -> Result<Option<String>, PortError> {
        let asked = host_use::of(&self.netlink, self.index);
        asked.map_err(|error| system("asking who uses the interface", error))
    }

    /// Whether a default route leads through this interface, also by way of a bridge, a bond or a VLAN.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn is_way_out(&self) -> Result<bool, PortError> {
        let asked = host_use::is_way_out(&self.netlink, self.index);
        asked.map_err(|error| system("asking for routes", error))
    }

    /// How it is now. Known by its index: another of the same name is not taken for it.
    pub fn state(&self) -> Link {
        match self.netlink.flags(self.index) {
            // The kernel follows the carrier with its own view (IFF_RUNNING) up to a second later.
            Ok((name, flags)) if flags & libc::IFF_UP != 0 => {
                let carrier = ethtool::has_carrier(&self.netlink, &name);
                if carrier.unwrap_or(flags & libc::IFF_RUNNING != 0) { Link::Up } else { Link::Down }
            }
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Link::Gone,
            _ => Link::Down,
        }
    }

    /// How often its link was lost since it was made; 0 where nobody tells.
    pub fn link_losses(&self) -> u64 {
        self.netlink.link_losses(self.index).ok().flatten().unwrap_or(0)
    }

    /// The error for a port whose interface is in that state; `None` if it is up.
    pub fn trouble(&self) -> Option<PortError> {
        match self.state() {
            Link::Up => None,
            Link::Down => Some(PortError::Down { interface: self.name.clone() }),
            Link::Gone => Some(PortError::Gone { interface: self.name.clone() }),
        }
    }

    /// The kernel's counters.
    ///
    /// # Errors
    /// `Gone`, or the kernel does not tell.
    pub fn statistics(&self) -> Result<Statistics, PortError> {
        self.netlink.statistics(self.index).map_err(|error| match error.raw_os_error() {
            Some(libc::ENODEV) => PortError::Gone { interface: self.name.clone() },
            _ => system("reading the interface's counters", error),
        })
    }

    /// The driver's own counters, by the names it gives them; empty if it has none.
    pub fn driver_statistics(&self) -> Vec<(String, u64)> {
        ethtool::Ethtool::new(&self.netlink, &self.name).statistics()
    }

    /// Queueing disciplines that frames on their way out pass.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn qdiscs(&self) -> Result<Vec<Qdisc>, PortError> {
        qdisc::of(&self.netlink, self.index).map_err(|error| system("asking for queueing disciplines", error))
    }

    /// Frames that they have dropped, whoever sent them; 0 where nobody tells.
    pub(crate) fn queue_drops(&self) -> u64 {
        qdisc::drops(&self.netlink, self.index).unwrap_or(0)
    }

    /// Which XDP program is here, who holds it, and what to do so that another can be: `None` if there is none.
    pub fn xdp_occupant(&self) -> Option<String> {
        let (number, is_native) = self.netlink.xdp_program(self.index).ok().flatten()?;
        Some(occupant(&self.name, number, is_native, bpf::program_name(number), bpf::link_holder(number)))
    }

    /// Whether an XDP program could be attached: ports of this process share one.
    ///
    /// # Errors
    /// Somebody else has one here.
    pub fn check_unoccupied(&self) -> Result<(), PortError> {
        let Some((number, is_native)) = self.netlink.xdp_program(self.index).ok().flatten() else {
            return Ok(());
        };
        let holder = bpf::link_holder(number);
        if holder.as_ref().is_some_and(|holder| holder.process == std::process::id()) {
            return Ok(());
        }
        let why = occupant(&self.name, number, is_native, bpf::program_name(number), holder);
        Err(PortError::Unavailable { what: format!("XDP at '{}'", self.name), why })
    }

    /// What it is asked through: a socket in its namespace.
    pub fn descriptor(&self) -> std::os::fd::BorrowedFd<'_> {
        self.netlink.fd()
    }

    /// Whether somebody has it receive all frames, whomever they are for.
    pub fn is_promiscuous(&self) -> bool {
        self.netlink.flags(self.index).is_ok_and(|(_, flags)| flags & libc::IFF_PROMISC != 0)
    }

    /// Longest frame that may leave as the MTU is now, without a tag; `None` if the kernel does not tell.
    pub fn longest_now(&self) -> Option<usize> {
        self.netlink.mtu(self.index).ok().map(|mtu| mtu + 14)
    }

    /// Longest frame that may leave, without FCS: the MTU, an Ethernet header, and one VLAN tag, which the
    /// kernel allows on top of it.
    pub fn longest(&self, tagged: bool) -> usize {
        self.mtu as usize + 14 + if tagged { 4 } else { 0 }
    }
}

fn occupant(
    interface: &str,
    number: u32,
    is_native: bool,
    name: Option<String>,
    holder: Option<bpf::Holder>,
) -> String {
    let name = name.map_or_else(String::new, |name| format!(" '{name}'"));
    let mode = if is_native { "native" } else { "generic" };
    let advice = match holder {
        Some(bpf::Holder { process, name }) => {
            format!("process {process} ({name}) holds it, so end that first")
        }
        None => {
            format!("remove it with 'ip link set dev {interface} xdp off', or end the process that holds it")
        }
    };
    format!("'{interface}' has an XDP program already:{name} (number {number}, {mode}); {advice}")
}

/// What to do about a name that does not exist.
fn advice(name: &str, names: &[&str]) -> String {
    let near = |other: &&&str| strsim::jaro_winkler(name, other) > 0.8;
    let rank = |other: &&str| (strsim::jaro_winkler(name, other) * 1e6) as u64;
    let best = names.iter().filter(near).max_by_key(|other| rank(other));
    let there = match names {
        [] => "this namespace has none at all".to_owned(),
        names => format!("there are: {}", names.join(", ")),
    };
    best.map_or(there.clone(), |best| format!("did you mean '{best}'? {there}"))
}

fn system(what: &str, error: io::Error) -> PortError {
    PortError::System { what: what.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested_and_all_are_listed() {
        assert_eq!(advice("gen1", &["lo", "gen0"]), "did you mean 'gen0'? there are: lo, gen0");
        assert_eq!(advice("gen0", &["lo"]), "there are: lo");
        assert_eq!(advice("gen0", &[]), "this namespace has none at all");
    }

    #[test]
    fn whoever_has_an_xdp_program_here_is_named_with_what_to_do() {
        let holder = bpf::Holder { process: 4711, name: "tare".to_owned() };
        assert_eq!(
            occupant("eth0", 42, true, Some("tare_firewall".to_owned()), Some(holder)),
            "'eth0' has an XDP program already: 'tare_firewall' (number 42, native); process 4711 (tare) holds it, so end that first"
        );
        assert_eq!(
            occupant("eth0", 42, false, None, None),
            "'eth0' has an XDP program already: (number 42, generic); remove it with 'ip link set dev eth0 xdp \
             off', or end the process that holds it"
        );
    }

    #[test]
    fn the_loopback_interface_is_known_everywhere() {
        let lo = Interface::find("lo").unwrap();
        assert!(lo.is_loopback && lo.mac.is_none() && lo.is_ethernet, "{lo:?}");
        assert!(Interface::names().unwrap().contains(&"lo".to_owned()));
        assert_eq!(lo.longest(false), lo.mtu as usize + 14);
        let error = Interface::find("lo1").unwrap_err().to_string();
        assert!(error.starts_with("there is no interface 'lo1'; did you mean 'lo'?"), "{error}");
    }
}
