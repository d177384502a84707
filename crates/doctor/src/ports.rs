//! Which ports work here, and why others do not. Nothing is opened on an interface that is in use: an AF_XDP
//! socket may reset a card's queues, and its program takes frames away from the host's stack.
//!
//! ```text
//!   the kernel and our privileges   each kind is opened on a tap, in a namespace made for it and gone at once
//!   a card                          what its driver says that it can (netdev family of netlink)
//! ```

use crate::Device;
use port::{Address, Direction, Wish};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use serde::Serialize;

/// Name of the device that the trial makes in its own namespace.
const TRIAL: &str = "taretry";

/// A way for frames.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PortState {
    /// `packet`, or `xdp:eth0`.
    pub port: String,
    /// `None`: it was not tried.
    pub works: Option<bool>,
    /// How it works, or why it does not.
    pub why: String,
}

impl PortState {
    fn new(port: impl Into<String>, works: Option<bool>, why: impl Into<String>) -> Self {
        Self { port: port.into(), works, why: why.into() }
    }

    /// All kinds, then what each interface has of them.
    pub fn all(devices: &[Device]) -> Vec<Self> {
        let mut states = vec![
            Self::new("mem", Some(true), "in this process"),
            Self::new("pcap", Some(true), "files"),
            Self::new("udp", Some(true), "sockets of this host"),
        ];
        states.extend(trial());
        states.extend(devices.iter().map(best));
        states
    }
}

/// Opens every kind that needs the kernel, in a namespace of its own.
fn trial() -> Vec<PortState> {
    let tried = std::thread::spawn(|| {
        // SAFETY: of this thread alone, which ends right after; no descriptor is shared or left behind.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(std::io::Error::from)?;
        Ok(kinds())
    });
    match tried.join() {
        Ok(Ok(states)) => states,
        Ok(Err(error)) => untried(&error),
        Err(_) => untried(&std::io::Error::other("the trial failed")),
    }
}

/// Without a namespace to try it in: `packet` is harmless on loopback as long as nothing is sent; the rest is
/// not tried.
fn untried(error: &std::io::Error) -> Vec<PortState> {
    let why =
        format!("not tried: cannot make a network namespace for a trial ({error}; needs CAP_SYS_ADMIN)");
    let mut states = vec![state("packet", "packet:lo", &Wish::transmit())];
    states.extend(["xdp", "live", "tap"].map(|kind| PortState::new(kind, None, why.clone())));
    states
}

fn kinds() -> Vec<PortState> {
    let opened =
        format!("tap,address=198.18.0.1/24:{TRIAL}").parse::<Address>().map_err(|error| error.to_string());
    let tap =
        opened.and_then(|address| port::open(&address, &Wish::default()).map_err(|error| error.to_string()));
    let (place, of_tap) = match &tap {
        Ok(_) => (TRIAL, PortState::new("tap", Some(true), "creates its own device for each run")),
        Err(error) => ("lo", PortState::new("tap", Some(false), error.clone())),
    };
    let receive = Wish { direction: Direction::Both, ..Wish::default() };
    vec![
        state("packet", &format!("packet:{place}"), &Wish::default()),
        state("xdp", &format!("xdp,mode=copy:{place}"), &receive),
        state("live", &format!("live:{place}"), &Wish::transmit()),
        of_tap,
    ]
}

fn state(kind: &str, address: &str, wish: &Wish) -> PortState {
    let opened = address.parse::<Address>().and_then(|address| port::open(&address, wish));
    match opened {
        Ok(_) => PortState::new(kind, Some(true), "tried on a temporary device"),
        Err(error) => PortState::new(kind, Some(false), error.to_string().replace(TRIAL, "the trial device")),
    }
}

/// What `auto` would come to on an interface, by what its driver says.
fn best(device: &Device) -> PortState {
    let port = format!("auto:{}", device.name);
    let driver = device.driver.as_deref().unwrap_or("its driver");
    let Some(xdp) = device.setup.xdp else {
        return PortState::new(
            port,
            None,
            format!("the kernel does not report what {driver} supports (Linux 6.3 does)"),
        );
    };
    let taken = match device.is_used {
        true => "packet receives, because this host's network stack uses the interface",
        false => "xdp receives",
    };
    // Where the host's own stack uses it, `auto` leaves its queues alone.
    let why = match (xdp.zero_copy() && !device.is_used, xdp.native()) {
        (true, _) => format!("xdp sends zero-copy ({driver}); {taken}"),
        (false, true) => format!(
            "packet sends at exact times, xdp (with copies) at the highest rate: {driver} supports XDP{}; \
             {taken}",
            if xdp.zero_copy() { ", but the host keeps its queue" } else { " but not zero-copy" }
        ),
        (false, false) => format!(
            "packet sends at exact times, xdp (with copies) at the highest rate: {driver} has no native XDP; \
             {taken}"
        ),
    };
    PortState::new(port, Some(true), why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::interface::{InterfaceSetup, XdpFeatures};

    #[test]
    fn what_a_driver_says_decides_what_is_best() {
        let device = |bits, is_used| Device {
            name: "eth0".into(),
            driver: Some("ice".into()),
            is_used,
            setup: InterfaceSetup { xdp: Some(XdpFeatures(bits)), ..InterfaceSetup::default() },
            ..Device::default()
        };
        assert!(best(&device(0b1111, false)).why.contains("zero-copy (ice); xdp receives"));
        let used = best(&device(0b1111, true)).why;
        assert!(used.contains("the host keeps its queue; packet receives"), "{used}");
        assert!(best(&device(0b0111, true)).why.contains("not zero-copy; packet receives"));
        assert!(best(&device(0, true)).why.contains("no native XDP"));
        let silent = best(&Device { name: "eth0".into(), ..Device::default() });
        assert_eq!((silent.works, silent.port.as_str()), (None, "auto:eth0"));
    }

    #[test]
    fn every_kind_is_told_of_and_the_trial_leaves_nothing_behind() {
        let states = PortState::all(&[]);
        let names: Vec<&str> = states.iter().map(|state| state.port.as_str()).collect();
        assert_eq!(names, ["mem", "pcap", "udp", "packet", "xdp", "live", "tap"]);
        assert!(states.iter().all(|state| !state.why.is_empty()));
        assert!(!port::interface::Interface::names().unwrap().iter().any(|name| name == TRIAL));
    }
}
