//! The ways that are weighed: which port, and who says when a packet left it.

use crate::WeighError;
use crate::frames::{self, Body};
use crate::stage::Stage;
use crate::stamps::{Capture, ErrorQueue, Gate, Method, OtherEnd, Reader};
use crate::wall::Wall;
use clock::Stopwatch;
use port::interface::Interface;
use port::{Address, Direction, Port, Wish};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use units::Picos;
use wire::Times;

/// A kind of port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    Udp,
    Packet,
    Xdp,
    Live,
    Mem,
}

impl Way {
    pub const ALL: [Self; 5] = [Self::Udp, Self::Packet, Self::Xdp, Self::Live, Self::Mem];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Packet => "packet",
            Self::Xdp => "xdp",
            Self::Live => "live",
            Self::Mem => "mem",
        }
    }

    /// One of so many packets is stamped, where nobody says otherwise: as many as the stamps keep up with.
    pub const fn usual_each(self) -> u64 {
        match self {
            Self::Live => 64,
            _ => 1,
        }
    }

    /// Whether packets leave where a peer's capture alone sees them.
    const fn passes_no_tap(self) -> bool {
        matches!(self, Self::Xdp | Self::Live)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|way| way.name() == text);
        found.ok_or_else(|| {
            format!("'{text}' is not a port to weigh; expected udp, packet, xdp, live, mem, all or fpga:sim")
        })
    }
}

/// What is to be opened.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub way: Way,
    pub size: usize,
    pub threads: usize,
    /// `Tx` or `Capture`.
    pub stamp: Method,
    /// A power of two up to 256.
    pub each: u64,
    /// A wrapper in front of the port: `fault,delay=100%,hold=1ms`.
    pub through: Option<String>,
    /// Whether arrivals are read, too.
    pub reads: bool,
    pub wall: Wall,
}

/// All that is needed to send and to learn of stamps.
pub struct Opened {
    pub ports: Vec<Box<dyn Port>>,
    pub probes: Vec<Option<Box<dyn Port>>>,
    pub readers: Vec<Box<dyn Reader>>,
    /// Other ends of `mem`, where the reader shall send, too.
    pub gate: Option<Gate>,
    pub method: Method,
    pub place: String,
    pub why: String,
    pub address: String,
}

/// Opens it, with the best way to learn of stamps that works here.
///
/// # Errors
/// The port cannot be had, or nothing stamps what it sends.
pub fn open(stage: &Stage, wanted: &Wanted) -> Result<Opened, WeighError> {
    if wanted.way == Way::Mem {
        return open_mem(wanted);
    }
    if wanted.way.passes_no_tap() {
        let why = format!("no capture sees what {} sends", wanted.way);
        return open_peer(stage, wanted, why);
    }
    if wanted.stamp == Method::Capture {
        return open_capture(stage, wanted, "as requested".into());
    }
    match open_tx(stage, wanted)? {
        Ok(opened) => Ok(opened),
        Err(why) => open_capture(stage, wanted, why),
    }
}

/// The port's address, as it is opened where the generator is.
fn address(stage: &Stage, wanted: &Wanted, keeps_qdisc: bool) -> Result<Address, WeighError> {
    let to = stage.route.destination;
    let plain = match wanted.way {
        Way::Udp if wanted.reads => format!("udp,gso=no,port={}:{}:{}", stage.route.source.2, to.1, to.2),
        Way::Udp => format!("udp,gso=no:{}:{}", to.1, to.2),
        Way::Packet if keeps_qdisc => format!("packet,qdisc=keep:{}", stage.interface),
        way => format!("{way}:{}", stage.interface),
    };
    let text = match &wanted.through {
        Some(wrapper) => format!("{wrapper}:{plain}"),
        None => plain,
    };
    Ok(text.parse()?)
}

fn open_ports(stage: &Stage, wanted: &Wanted, address: &Address) -> Result<Vec<Box<dyn Port>>, WeighError> {
    // Each thread has a port of its own: sockets are told apart by themselves, queues of AF_XDP by their
    // number.
    let has_queues = wanted.way == Way::Xdp;
    let wish = |index: usize| Wish {
        queue: if has_queues { index as u32 } else { 0 },
        queues: if has_queues { wanted.threads as u32 } else { 1 },
        direction: if wanted.reads { Direction::Both } else { Direction::Transmit },
        frame: wanted.size - port::FCS,
        ..Wish::default()
    };
    stage
        .at_generator(|| (0..wanted.threads).map(|index| Ok(port::open(address, &wish(index))?)).collect())?
}

/// By the sockets' error queues; the inner error says why that does not work here.
fn open_tx(stage: &Stage, wanted: &Wanted) -> Result<Result<Opened, String>, WeighError> {
    let address = address(stage, wanted, false)?;
    let mut ports = open_ports(stage, wanted, &address)?;
    let mut probes: Vec<Option<Box<dyn Port>>> = (0..ports.len()).map(|_| None).collect();
    if wanted.each > 1 {
        // A second socket of each thread, through which one of so many calls goes.
        let plain = Wanted { reads: false, ..wanted.clone() };
        let address = self::address(stage, &plain, false)?;
        probes = open_ports(stage, &plain, &address)?.into_iter().map(Some).collect();
    }
    let mut readers: Vec<Box<dyn Reader>> = Vec::new();
    for (port, probe) in ports.iter_mut().zip(&mut probes) {
        let port = probe.as_mut().unwrap_or(port);
        let Some(socket) = port.outlet() else {
            return Ok(Err(format!("{} has no socket to get timestamps from", port.about().name)));
        };
        let mut queue = match ErrorQueue::open(socket) {
            Ok(queue) => queue,
            Err(error) => return Ok(Err(format!("the kernel refuses SO_TIMESTAMPING: {error}"))),
        };
        if readers.is_empty() && !does_stamp(stage, wanted, &mut **port, &mut queue)? {
            let driver = stage.at_generator(|| Interface::find(&stage.interface).ok()?.driver)?;
            let driver = driver.map_or(String::new(), |driver| format!(" (driver {driver})"));
            return Ok(Err(format!(
                "{}{driver} does not timestamp what it sends: no timestamp came within {} ms of a packet",
                stage.interface,
                TRY.as_millis()
            )));
        }
        readers.push(Box::new(queue));
    }
    Ok(Ok(Opened {
        ports,
        probes,
        readers,
        gate: None,
        method: Method::Tx,
        place: format!("driver of {}", stage.interface),
        why: "SO_TIMESTAMPING: the driver timestamps a packet when it accepts it".into(),
        address: address.to_string(),
    }))
}

/// How long the first stamp is waited for.
const TRY: Duration = Duration::from_millis(200);
const TRIED: usize = 4;

/// Sends a few packets and waits for their stamps.
fn does_stamp(
    stage: &Stage,
    wanted: &Wanted,
    port: &mut dyn Port,
    queue: &mut ErrorQueue,
) -> Result<bool, WeighError> {
    let template = frames::template(&stage.route, wanted.size, Body::Datagram)?;
    for number in 0..TRIED as u64 {
        let now = wanted.wall.hand_over_ns();
        let times = Times { due_unix_ns: now, sent_unix_ns: now };
        port.transmit(1, &mut |slot| slot.length = template.write(number, times, slot.data, slot.mark))?;
    }
    port.flush(Picos::from_millis(50))?;
    let (begun, mut stamped) = (Stopwatch::start(), 0);
    while stamped < TRIED && begun.elapsed() < TRY {
        queue.read(&mut |found| stamped += usize::from(found.is_some()))?;
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(stamped > 0)
}

/// By a capture on the interface itself; at the other end for what passes the queueing discipline by.
fn open_capture(stage: &Stage, wanted: &Wanted, why: String) -> Result<Opened, WeighError> {
    if wanted.way == Way::Packet && stage.peer_interface.is_some() {
        return open_peer(
            stage,
            wanted,
            format!("{why}; no capture sees frames that bypass the queueing discipline"),
        );
    }
    let keeps_qdisc = wanted.way == Way::Packet;
    let address = address(stage, wanted, keeps_qdisc)?;
    let reader = stage.at_generator(|| Capture::open(&stage.interface, true, wanted.each))??;
    let ports = open_ports(stage, wanted, &address)?;
    let more =
        if keeps_qdisc { "; sent through the queueing discipline, so that a capture sees it" } else { "" };
    Ok(Opened {
        probes: ports.iter().map(|_| None).collect(),
        ports,
        readers: vec![Box::new(reader)],
        gate: None,
        method: Method::Capture,
        place: format!("capture on {}", stage.interface),
        why: format!("{why}{more}"),
        address: address.to_string(),
    })
}

/// By a capture at the other end of the pair.
fn open_peer(stage: &Stage, wanted: &Wanted, why: String) -> Result<Opened, WeighError> {
    let Some(peer) = stage.peer_interface.clone() else {
        return Err(WeighError::Wrong(format!(
            "{why}, and Tare does not own the other end of {}",
            stage.interface
        )));
    };
    let gate = match wanted.way {
        Way::Live => Some(stage.at_peer(|| Gate::open(Interface::find(&peer)?.index, wanted.each))??),
        _ => None,
    };
    let address = address(stage, wanted, false)?;
    let reader = stage.at_peer(|| Capture::open(&peer, false, wanted.each))??;
    let ports = open_ports(stage, wanted, &address)?;
    Ok(Opened {
        probes: ports.iter().map(|_| None).collect(),
        ports,
        readers: vec![Box::new(reader)],
        gate,
        method: Method::Peer,
        place: format!("capture on {peer}, the other end of {}", stage.interface),
        why,
        address: address.to_string(),
    })
}

fn open_mem(wanted: &Wanted) -> Result<Opened, WeighError> {
    const SLOTS: usize = 4_096;
    let mut opened = Opened {
        ports: Vec::new(),
        probes: Vec::new(),
        readers: Vec::new(),
        gate: None,
        method: Method::Port,
        place: "the ring between two threads of this process".into(),
        why: "the kernel is not involved: the port timestamps a frame when it is in the ring".into(),
        address: "mem".into(),
    };
    for _ in 0..wanted.threads {
        let stamping = || port::mem::Stamping::Frame;
        let (one, other) = port::mem::stamped_pair(SLOTS, wanted.size.max(64), stamping);
        let one: Box<dyn Port> = Box::new(one);
        let one = match &wanted.through {
            Some(wrapper) => {
                return Err(WeighError::Wrong(format!("mem cannot be weighed through {wrapper}")));
            }
            None => one,
        };
        opened.ports.push(one);
        opened.probes.push(None);
        opened.readers.push(Box::new(OtherEnd::new(Box::new(other))));
    }
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_as_they_are_written() {
        for way in Way::ALL {
            assert_eq!(way.to_string().parse(), Ok(way));
        }
        assert!("pcap".parse::<Way>().unwrap_err().contains("udp, packet, xdp"));
    }
}
