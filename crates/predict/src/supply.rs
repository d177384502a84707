//! What this machine has: limits and tables that a plan may run into.
//!
//! Everything is read from files under a root, so that it is tested on fixtures; what is absent is `None`,
//! never guessed.

use crate::Demand;
use std::net::{IpAddr, UdpSocket};
use std::path::Path;

/// `net.ipv4.tcp_tw_reuse`: whether a port whose last connection is in TIME_WAIT may be taken again after a
/// second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeWaitReuse {
    Never,
    Always,
    /// The default since Linux 4.19.
    #[default]
    Loopback,
}

/// Connection tracking, where the kernel has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conntrack {
    pub max: u64,
    pub count: u64,
    /// Seconds that a closed TCP connection, and a flow of UDP, stays in the table.
    pub time_wait_s: u64,
    pub udp_s: u64,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supply {
    /// CPUs that this process may use.
    pub usable: Vec<u32>,
    /// Addresses that connections are to leave from, and that are not this machine's.
    pub strange_ips: Vec<IpAddr>,
    /// Available, in bytes.
    pub memory_bytes: Option<u64>,
    /// The hard limit on open files, which the engine raises its own to; `None` also where there is none.
    pub descriptors: Option<u64>,
    /// Ephemeral ports for each pair of addresses.
    pub ports: Option<u64>,
    pub reuse: TimeWaitReuse,
    /// Sockets that may be in TIME_WAIT; further ones are closed at once.
    pub time_wait_buckets: Option<u64>,
    pub conntrack: Option<Conntrack>,
    /// Connections that may wait to be accepted (`somaxconn`), for a target on this machine.
    pub accept_queue: Option<u64>,
    /// Frames that may wait for a CPU's softirq (`netdev_max_backlog`): what loopback passes through.
    pub backlog: Option<u64>,
    /// Frames that may wait in the interface's own queue (`txqueuelen`).
    pub transmit_queue: Option<u64>,
    /// Why the command would end before it sends anything, where the caller has looked: in its own words.
    pub refused: Option<String>,
    /// Slots of the driver's transmit ring, where the caller knows them.
    pub ring: Option<u64>,
}

impl Supply {
    /// How many CPUs this process may use.
    pub fn cpus(&self) -> u32 {
        self.usable.len().max(1) as u32
    }

    /// The same, with those of the demand's source addresses that cannot be bound here.
    pub fn for_demand(self, demand: &Demand) -> Self {
        let ips = demand.requests.iter().flat_map(|requests| &requests.source_ips).copied();
        let strange_ips = ips.filter(|ip| UdpSocket::bind((*ip, 0)).is_err()).collect();
        Self { strange_ips, ..self }
    }

    /// This machine, now. `interface` is the one that frames leave from.
    pub fn read(interface: Option<&str>) -> Self {
        Self::read_at(Path::new("/"), interface)
    }

    /// With `root` in the place of `/`, for tests.
    pub fn read_at(root: &Path, interface: Option<&str>) -> Self {
        let text = |path: &str| std::fs::read_to_string(root.join(path)).ok();
        let number = |path: &str| text(path)?.trim().parse::<u64>().ok();
        let sysctl = |name: &str| number(&format!("proc/sys/net/{name}"));
        let of_interface = |file: &str| number(&format!("sys/class/net/{}/{file}", interface?));
        Self {
            strange_ips: Vec::new(),
            usable: text("proc/self/status").and_then(|text| allowed(&text)).unwrap_or_else(|| vec![0]),
            memory_bytes: text("proc/meminfo")
                .and_then(|text| field(&text, "MemAvailable:"))
                .map(|kib| kib * 1_024),
            descriptors: text("proc/self/limits").and_then(|text| hard_limit(&text, "Max open files")),
            ports: text("proc/sys/net/ipv4/ip_local_port_range").and_then(|text| ports(&text)),
            reuse: match sysctl("ipv4/tcp_tw_reuse") {
                Some(0) => TimeWaitReuse::Never,
                Some(1) => TimeWaitReuse::Always,
                _ => TimeWaitReuse::Loopback,
            },
            time_wait_buckets: sysctl("ipv4/tcp_max_tw_buckets"),
            conntrack: sysctl("netfilter/nf_conntrack_max").map(|max| Conntrack {
                max,
                count: sysctl("netfilter/nf_conntrack_count").unwrap_or(0),
                time_wait_s: sysctl("netfilter/nf_conntrack_tcp_timeout_time_wait").unwrap_or(120),
                udp_s: sysctl("netfilter/nf_conntrack_udp_timeout").unwrap_or(30),
            }),
            accept_queue: sysctl("core/somaxconn"),
            backlog: sysctl("core/netdev_max_backlog"),
            transmit_queue: of_interface("tx_queue_len"),
            ring: None,
            refused: None,
        }
    }
}

/// CPUs that this process may use.
fn allowed(status: &str) -> Option<Vec<u32>> {
    os::cpus::parse_list(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// The second number after the label; `None` also for `unlimited`.
fn hard_limit(limits: &str, label: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(label))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn ports(range: &str) -> Option<u64> {
    let mut numbers = range.split_ascii_whitespace().map(str::parse::<u64>);
    let (first, last) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(last.checked_sub(first)? + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_read_and_what_is_absent_stays_so() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("proc/self/status", "Name:\ttare\nCpus_allowed_list:\t0-2,8\n"),
            ("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:   1000 kB\n"),
            ("proc/self/limits", "Limit  Soft  Hard\nMax open files   1024   20000   files\n"),
            ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
            ("proc/sys/net/ipv4/tcp_tw_reuse", "0\n"),
            ("proc/sys/net/netfilter/nf_conntrack_max", "65536\n"),
            ("sys/class/net/eth0/tx_queue_len", "1000\n"),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let supply = Supply::read_at(root.path(), Some("eth0"));
        assert_eq!((supply.cpus(), supply.memory_bytes), (4, Some(1_024_000)));
        // 60 999 − 32 768 + 1
        assert_eq!((supply.descriptors, supply.ports), (Some(20_000), Some(28_232)));
        assert_eq!((supply.reuse, supply.transmit_queue), (TimeWaitReuse::Never, Some(1_000)));
        assert_eq!(supply.conntrack, Some(Conntrack { max: 65_536, count: 0, time_wait_s: 120, udp_s: 30 }));
        assert_eq!((supply.backlog, supply.accept_queue, supply.ring), (None, None, None));
        assert_eq!(Supply::read_at(&root.path().join("none"), None).cpus(), 1);
    }

    #[test]
    fn this_machine_has_a_cpu_and_ports() {
        let supply = Supply::read(None);
        assert!(supply.cpus() >= 1 && supply.ports.is_some_and(|ports| ports > 0));
    }
}
