//! Where packets go while they are weighed: a bed of its own, an interface that was named, or the loopback
//! interface.
//!
//! ```text
//!   bed        ┌ generator ┐ gen0 ── veth ── sink0 ┌ sink ┐    packets to a station that is not there:
//!                                                              sink0 drops them
//!   named      this namespace, the interface and the address that were given
//!   loopback   where there is no privilege for a bed: UDP alone
//! ```

use crate::WeighError;
use crate::elsewhere::Arrived;
use crate::frames::Route;
use crate::stamps::Gate;
use crate::ways::Way;
use bed::{Bed, Namespace, Topology};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use wire::template::Mac;

/// Host number of the station that is not there, in the bed's network.
const NOBODY: u8 = 99;
/// Discard (RFC 863).
const DISCARD: u16 = 9;
/// Where packets of the raw ports come from.
const FROM: u16 = 49_152;
/// What a bed's interfaces carry at most.
const MTU: u32 = 1_500;

/// See the module. What was made goes away with it.
pub struct Stage {
    bed: Option<Bed>,
    pub interface: String,
    pub peer_interface: Option<String>,
    pub route: Route,
    /// Address of the generator, where somebody can send to it.
    pub own: Option<(Mac, Ipv4Addr)>,
    pub against: String,
    /// Takes what comes over the loopback interface, and never looks at it.
    _sink: Option<UdpSocket>,
}

impl Stage {
    /// Two namespaces and a veth pair.
    ///
    /// # Errors
    /// No privilege, or no `ip`.
    pub fn bed() -> Result<Self, WeighError> {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("weigh-{}-{number}", std::process::id());
        let bed = Bed::up(&Topology::new(name).mtu(MTU))?;
        let end = bed.generator().interface().clone();
        let (mac, address) = (Mac(end.mac.0), end.ipv4.unwrap_or(Ipv4Addr::UNSPECIFIED));
        let octets = address.octets();
        let nobody = Ipv4Addr::new(octets[0], octets[1], octets[2], NOBODY);
        let nobodys_mac = bed::Mac::of(NOBODY);
        let known = [
            "neigh",
            "replace",
            &nobody.to_string(),
            "lladdr",
            &nobodys_mac.to_string(),
            "dev",
            &end.name,
            "nud",
        ]
        .map(str::to_owned);
        run(bed.generator(), "ip", &[known.as_slice(), &["permanent".to_owned()]].concat())?;
        Ok(Self {
            interface: end.name,
            peer_interface: Some(bed.sink().interface().name.clone()),
            route: Route { source: (mac, address, FROM), destination: (Mac(nobodys_mac.0), nobody, DISCARD) },
            own: Some((mac, address)),
            against: "veth pair in its own namespaces; the far end drops frames that are not for it".into(),
            bed: Some(bed),
            _sink: None,
        })
    }

    /// An interface of this namespace, and whom to send to.
    ///
    /// # Errors
    /// There is no such interface, or nobody knows the hardware address of `to`.
    pub fn named(interface: &str, to: SocketAddrV4, to_mac: Option<Mac>) -> Result<Self, WeighError> {
        let found = port::interface::Interface::find(interface)?;
        let mac = Mac(found.mac.unwrap_or_default());
        let Some(to_mac) = to_mac.or_else(|| neighbour(interface, *to.ip())) else {
            return Err(WeighError::Wrong(format!(
                "--to {to}: {interface} does not know the MAC address of {}; give --to-mac, or ping the \
                 address once",
                to.ip()
            )));
        };
        let own = route_source(to).unwrap_or(Ipv4Addr::UNSPECIFIED);
        Ok(Self {
            bed: None,
            interface: interface.to_owned(),
            peer_interface: None,
            route: Route { source: (mac, own, FROM), destination: (to_mac, *to.ip(), to.port()) },
            own: None,
            against: format!("{to} over {interface}"),
            _sink: None,
        })
    }

    /// The loopback interface, with a socket that takes packets and never reads them.
    ///
    /// # Errors
    /// No socket can be opened.
    pub fn loopback() -> Result<Self, WeighError> {
        let failed =
            |source| WeighError::System { what: "a socket of the loopback interface".into(), source };
        let sink = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let port = sink.local_addr().map_err(failed)?.port();
        let nobody = Mac([0; 6]);
        Ok(Self {
            bed: None,
            interface: "lo".into(),
            peer_interface: None,
            route: Route {
                source: (nobody, Ipv4Addr::LOCALHOST, FROM),
                destination: (nobody, Ipv4Addr::LOCALHOST, port),
            },
            own: None,
            against: "loopback interface, a socket that no program reads".into(),
            _sink: Some(sink),
        })
    }

    pub fn generator(&self) -> Option<&Namespace> {
        self.bed.as_ref().map(Bed::generator)
    }

    pub fn peer(&self) -> Option<&Namespace> {
        self.bed.as_ref().map(Bed::sink)
    }

    /// Does something where the generator is.
    ///
    /// # Errors
    /// The namespace is gone.
    pub fn at_generator<T: Send>(&self, action: impl FnOnce() -> T + Send) -> Result<T, WeighError> {
        within(self.generator(), action)
    }

    /// Does something at the other end.
    ///
    /// # Errors
    /// There is none, or it is gone.
    pub fn at_peer<T: Send>(&self, action: impl FnOnce() -> T + Send) -> Result<T, WeighError> {
        match self.peer() {
            None => Err(WeighError::Wrong(format!("Tare does not own the other end of {}", self.interface))),
            Some(peer) => within(Some(peer), action),
        }
    }

    /// The address of a port for a process of its own, where the generator is.
    pub fn send_address(&self, way: Way) -> Option<String> {
        let to = self.route.destination;
        match way {
            Way::Udp => Some(format!("udp:{}:{}", to.1, to.2)),
            Way::Mem => Some("mem:weigh".to_owned()),
            Way::Packet | Way::Xdp | Way::Live => Some(format!("{way}:{}", self.interface)),
        }
    }

    /// Words of `tare send` that say where frames go.
    pub fn send_destination(&self, way: Way) -> Vec<String> {
        let (mac, address, port) = self.route.destination;
        let [a, b, c, d, e, f] = mac.0;
        let mac = format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}");
        match way {
            Way::Udp => Vec::new(),
            // Somebody must read them.
            Way::Mem => ["--receive", "mem:weigh"].map(str::to_owned).to_vec(),
            Way::Packet | Way::Xdp | Way::Live => {
                ["--dst-mac", &mac, "--dst", &address.to_string(), "--dport", &port.to_string()]
                    .map(str::to_owned)
                    .to_vec()
            }
        }
    }

    /// What the generator's interface has received so far.
    ///
    /// # Errors
    /// It is gone.
    pub fn received(&self) -> Result<Arrived, WeighError> {
        let text = self.at_generator(|| std::fs::read_to_string("/proc/thread-self/net/dev"))?;
        let text = text.map_err(|source| WeighError::System { what: "/proc/net/dev".into(), source })?;
        let line = text.lines().find_map(|line| line.trim().strip_prefix(&self.interface)?.strip_prefix(':'));
        // Bytes, then packets.
        let count = line.and_then(|line| {
            let mut words = line.split_whitespace();
            Some(Arrived { bytes: words.next()?.parse().ok()?, frames: words.next()?.parse().ok()? })
        });
        count.ok_or_else(|| WeighError::Wrong(format!("{} is gone", self.interface)))
    }

    /// What live frames need at the other end: nothing for others.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn open_gate(&self, way: Way) -> Result<Option<Gate>, WeighError> {
        /// None of so many is let on to the kernel's stack there.
        const EACH: u64 = 256;
        let Some(peer) = self.peer_interface.clone().filter(|_| way == Way::Live) else { return Ok(None) };
        let open = || Gate::open(port::interface::Interface::find(&peer)?.index, EACH);
        Ok(Some(self.at_peer(open)??))
    }

    /// Has what arrives at the generator's interface processed by this CPU, as the interrupts of a card would
    /// (RPS).
    ///
    /// # Errors
    /// Why it is not.
    pub fn steer(&self, cpu: u32) -> Result<(), WeighError> {
        let Some(namespace) = self.generator() else {
            return Err(WeighError::Wrong("this needs namespaces made for the weighing".into()));
        };
        let file = format!("/sys/class/net/{}/queues/rx-0/rps_cpus", self.interface);
        // Masks of more than 32 CPUs have commas between their words.
        let words = cpu / 32;
        let mask = format!("{:x}{}", 1u32 << (cpu % 32), ",00000000".repeat(words as usize));
        run(namespace, "sh", &["-c".into(), format!("echo {mask} > {file}")])
    }
}

fn within<T: Send>(
    namespace: Option<&Namespace>,
    action: impl FnOnce() -> T + Send,
) -> Result<T, WeighError> {
    match namespace {
        None => Ok(action()),
        Some(namespace) => Ok(namespace.run_in(action)?),
    }
}

fn run(namespace: &Namespace, program: &str, words: &[String]) -> Result<(), WeighError> {
    let what = || format!("{program} {}", words.join(" "));
    let done = namespace.command(program).args(words).output();
    let done = done.map_err(|source| WeighError::System { what: what(), source })?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    Err(WeighError::System { what: what(), source: std::io::Error::other(said) })
}

/// What the kernel knows of a neighbour (`/proc/net/arp`).
fn neighbour(interface: &str, address: Ipv4Addr) -> Option<Mac> {
    let table = std::fs::read_to_string("/proc/net/arp").ok()?;
    let line = table.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>()).find(|words| {
        words.len() == 6 && words[0] == address.to_string() && words[5] == interface && words[2] != "0x0"
    })?;
    parse_mac(line[3])
}

/// `02:18:00:00:00:01`.
pub fn parse_mac(text: &str) -> Option<Mac> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|part| u8::from_str_radix(part, 16).ok()).collect();
    Some(Mac(bytes?.try_into().ok()?))
}

/// The address that packets to `to` leave from.
fn route_source(to: SocketAddrV4) -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect(to).ok()?;
    match socket.local_addr().ok()?.ip() {
        std::net::IpAddr::V4(address) => Some(address),
        std::net::IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_addresses_are_read() {
        assert_eq!(parse_mac("02:18:00:00:00:0a"), Some(Mac([2, 0x18, 0, 0, 0, 10])));
        for wrong in ["", "02:18:00:00:00", "02:18:00:00:00:0g", "02:18:00:00:00:01:02"] {
            assert_eq!(parse_mac(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn without_privilege_there_is_the_loopback_interface() {
        let stage = Stage::loopback().unwrap();
        assert_ne!(stage.route.destination.2, 0);
        assert_eq!(stage.at_generator(|| 7).unwrap(), 7);
        assert!(stage.at_peer(|| 7).is_err());
    }
}
