//! From an address to an open port.

use crate::{About, Address, Match, Port, PortError, PortKind};
use std::path::Path;

/// What the opener wants of a port, beside its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Which queue, and of how many that will be opened. A kind without queues takes 0 of 1 only, and says so.
    pub queue: u32,
    pub queues: u32,
    pub direction: Direction,
    /// Bytes of the longest frame that will be sent (without FCS). A port that cannot says so before anything
    /// is sent.
    pub frame: usize,
    /// Bytes kept of each received frame; `None` is all.
    pub snap: Option<usize>,
    /// Queues that receive share the frames of one interface by this group.
    pub fanout: Option<u16>,
    /// The thread spins: the port may poll the device rather than wait for interrupts.
    pub busy: bool,
    /// Received frames shall have stamps; a port where that costs time leaves it out otherwise.
    pub stamps: bool,
    /// Somebody will ask when each frame left ([`Port::departed`]).
    pub departures: bool,
    /// The gaps between frames are what is looked for: those of a file that has several interfaces must be of
    /// one.
    pub one_interface: bool,
    /// Only these frames are received, where the port can choose in the kernel (`packet`, `xdp`); elsewhere all
    /// are, and the owner chooses. With `xdp` the host's own stack goes on with the others.
    pub ours: Option<Match>,
    /// Frames have a signature each of which the port writes the time itself, if it can.
    pub signs: bool,
}

/// Which way frames will go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    Transmit,
    Receive,
    #[default]
    Both,
}

impl Direction {
    pub fn transmits(self) -> bool {
        self != Self::Receive
    }

    pub fn receives(self) -> bool {
        self != Self::Transmit
    }
}

impl Default for Wish {
    /// One queue, both ways, frames of 1518 with their FCS.
    fn default() -> Self {
        Self {
            queue: 0,
            queues: 1,
            direction: Direction::Both,
            frame: 1_514,
            snap: None,
            fanout: None,
            busy: false,
            stamps: true,
            departures: false,
            one_interface: false,
            ours: None,
            signs: false,
        }
    }
}

impl Wish {
    pub fn transmit() -> Self {
        Self { direction: Direction::Transmit, ..Self::default() }
    }

    pub fn receive() -> Self {
        Self { direction: Direction::Receive, ..Self::default() }
    }

    /// Refuses several queues, for kinds that have one.
    pub(crate) fn one_queue(&self, address: &Address) -> Result<(), PortError> {
        if self.queues <= 1 && self.queue == 0 {
            return Ok(());
        }
        let why = format!("{} has one queue, not {}", address.kind(), self.queues);
        Err(PortError::Unavailable { what: format!("queue {} of {address}", self.queue), why })
    }
}

/// Opens one queue of the port at `address`.
///
/// # Errors
/// Whatever keeps it from being opened; the sentence says what would be right.
pub fn open(address: &Address, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    crate::namespace::within(address, || open_here(address, wish))
}

/// Whether a port could be opened as wished, as far as that can be told while this host and its files stay as
/// they are, and what it would say of itself then, as far as that is known: no longest frame that is not known
/// to be too long for it.
///
/// # Errors
/// What opening it would say.
pub fn check(address: &Address, wish: &Wish) -> Result<About, PortError> {
    address.check()?;
    if let Some(inner) = address.inner() {
        if let (PortKind::Record, Some(file)) = (address.kind(), address.option("file")) {
            crate::pcap::Writer::check(Path::new(file))?;
        }
        let name = address.to_string();
        return check(inner, wish).map(|about| About { name, ..about });
    }
    crate::namespace::within(address, || match address.kind() {
        PortKind::Packet => crate::af_packet::check(address, wish),
        PortKind::Auto => crate::auto::check(address, wish),
        PortKind::Xdp => crate::af_xdp::check(address, wish),
        PortKind::Live => crate::live::check(address, wish),
        PortKind::Pcap => crate::pcap::check(address, wish),
        PortKind::Tap => crate::tap::check(address, wish),
        PortKind::Dpdk => crate::dpdk::check(address, wish),
        PortKind::Fpga => crate::fpga::check(address, wish),
        // These are nothing but memory and a socket that nothing is sent through.
        PortKind::Mem | PortKind::Udp => open_here(address, wish).map(|port| port.about().clone()),
        PortKind::Fault | PortKind::Record | PortKind::Trace => Err(no_port(address)),
    })
}

fn no_port(wrapper: &Address) -> PortError {
    wrapper.wrong("says no port", &wrapper.kind().form())
}

/// In the namespace of this thread.
fn open_here(address: &Address, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    match address.kind() {
        PortKind::Mem => crate::mem::open(address, wish),
        PortKind::Pcap => crate::pcap::open(address, wish),
        PortKind::Udp => crate::udp::open(address, wish),
        PortKind::Tap => crate::tap::open(address, wish),
        PortKind::Fpga => crate::fpga::open(address, wish),
        PortKind::Fault => crate::fault::wrap(address, wish, behind(address, wish)?),
        PortKind::Record => crate::record::wrap(address, wish, behind(address, wish)?),
        PortKind::Trace => crate::trace::wrap(address, wish, behind(address, wish)?),
        PortKind::Auto => crate::auto::open(address, wish),
        PortKind::Packet => crate::af_packet::open(address, wish),
        PortKind::Xdp => crate::af_xdp::open(address, wish),
        PortKind::Live => crate::live::open(address, wish),
        PortKind::Dpdk => crate::dpdk::open(address, wish),
    }
}

/// Opens the port behind a wrapper, once the wrapper's own options are known to be right.
fn behind(address: &Address, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    address.check()?;
    match address.inner() {
        Some(inner) => open(inner, wish),
        None => Err(no_port(address)),
    }
}
