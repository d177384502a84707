//! What a plan asks for, in figures.

use std::net::IpAddr;

/// How much is asked for at the most, in requests or frames a second.
#[derive(Clone, Debug, PartialEq)]
pub enum AskedRate {
    PerSecond(f64),
    /// A closed loop, or `--rate max`: as fast as port, target and generator let it.
    AsFastAsItGoes,
    /// Only the run will tell; why.
    NotKnown(String),
}

impl AskedRate {
    pub const fn per_second(&self) -> Option<f64> {
        match self {
            Self::PerSecond(rate) => Some(*rate),
            Self::AsFastAsItGoes | Self::NotKnown(_) => None,
        }
    }
}

/// One plan, whatever its command.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The subcommand: `http`, `send`, `pace`…
    pub command: &'static str,
    /// Of all threads together, at its highest.
    pub rate: AskedRate,
    /// Seconds from the first departure to the last, warm-up included; `None` if the plan does not say.
    pub length_s: Option<f64>,
    /// Engine threads that the plan asks for; `None` leaves it to the program (a CPU less than there are).
    pub threads: Option<u32>,
    /// CPUs that the plan names.
    pub cpus: Vec<u32>,
    pub requests: Option<RequestDemand>,
    pub frames: Option<FrameDemand>,
    /// Addresses of the ports that frames leave by, and of those that they come in by.
    pub leaves_by: Vec<String>,
    pub comes_by: Vec<String>,
}

/// What requests need besides CPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestDemand {
    /// Connections that are open at once: as the plan says, or at most.
    pub connections: u32,
    /// The plan names the number; without it, only that many are opened as the target's slowness needs.
    pub names_connections: bool,
    /// New connections for each request: 0 keeps them alive, 1 is a connection each, 0.1 one for ten requests.
    pub opened_per_request: f64,
    /// The share of the requests that is HTTPS.
    pub tls_share: f64,
    /// Local addresses that connections leave from; empty if the kernel chooses.
    pub source_ips: Vec<IpAddr>,
    /// Addresses of the target that connections are spread over.
    pub target_addresses: u32,
    /// Of the first URL, or the proxy.
    pub host: Option<String>,
    /// The target is on this machine.
    pub is_loopback: bool,
    /// There are no ports: a Unix socket.
    pub is_unix: bool,
    /// A TCP of our own (`--via`): its connections are no sockets, and use neither descriptors nor ports of the
    /// kernel's. How many ports it has.
    pub own_ports: Option<u64>,
    /// What the forecast cannot weigh: bodies that are sent, templates…
    pub beside: Vec<&'static str>,
}

/// What frames need besides CPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameDemand {
    /// Kinds of port in the order in which they would be taken: one, or those that `auto` chooses from.
    pub kinds: Vec<&'static str>,
    pub interface: Option<String>,
    /// Frames that the port's own ring is made for (its option `slots`).
    pub slots: Option<u64>,
    /// Mean and longest frame, in bytes with FCS.
    pub mean_size: f64,
    pub longest: u32,
    /// Frames that leave back to back.
    pub burst: u64,
    /// Different flows, as connection tracking counts them.
    pub flows: u64,
    /// What the forecast cannot weigh: signatures, receivers…
    pub beside: Vec<&'static str>,
}

impl Demand {
    /// Of a command that sends nothing of its own accord.
    pub fn passive(command: &'static str, length_s: Option<f64>, threads: u32, comes_by: &str) -> Self {
        Self {
            command,
            rate: AskedRate::NotKnown("it receives at whatever rate frames arrive".to_owned()),
            length_s,
            threads: Some(threads),
            cpus: Vec::new(),
            requests: None,
            frames: None,
            leaves_by: Vec::new(),
            comes_by: vec![comes_by.to_owned()],
        }
    }

    /// Engine threads, where `cpus` may be used.
    pub fn threads_of(&self, cpus: u32) -> u32 {
        self.threads.unwrap_or_else(|| cpus.saturating_sub(1)).max(1)
    }
}
