//! Both ends of each kind of port, and frames that every kind carries.

use bed::{Bed, Topology};
use port::{Address, Direction, For, Port, PortError, Wish};
use std::process::Command;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use units::Picos;

pub const PATIENCE: Picos = Picos::from_millis(2_000);

/// A kind of port, and what can be expected of it.
pub struct TestedPort {
    pub name: &'static str,
    pub open: fn(&Wish) -> Result<Ends, PortError>,
    /// Nothing is ever lost on the way: whoever is too fast has to wait.
    pub holds_back: bool,
    /// There is an interface that can be switched off.
    pub has_link: bool,
    /// The other end receives while this one sends.
    pub is_live: bool,
    /// Only the payload of datagrams is carried.
    pub is_udp: bool,
    /// The first end only sends.
    pub one_way: bool,
}

pub struct Ends {
    pub a: Box<dyn Port>,
    b: Option<Box<dyn Port>>,
    /// Opens the other end, where that has to come later.
    late: Option<Box<dyn Fn() -> Box<dyn Port>>>,
    pub bed: Option<Bed>,
    /// What has to stay open meanwhile.
    pub others: Vec<Box<dyn Port>>,
    _folder: Option<TempDir>,
    pub is_ipv6: bool,
    /// The right to use devices of DPDK, of which a process has few.
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Ends {
    pub fn b(&mut self) -> &mut Box<dyn Port> {
        self.b.get_or_insert_with(|| self.late.as_ref().expect("one of both")())
    }

    pub fn close_b(&mut self) -> Option<Box<dyn Port>> {
        self.b.take()
    }

    /// `ip` in the namespace of the first end.
    pub fn ip(&self, words: &str) {
        let namespace = &self.bed.as_ref().expect("a kind with a link has a bed").generator().name;
        let status = Command::new("ip").args(["-n", namespace]).args(words.split(' ')).status().unwrap();
        assert!(status.success(), "ip {words}");
    }

    /// The interface of the first end.
    pub fn interface(&self) -> String {
        self.a.about().interface.clone().unwrap_or_else(|| "gen0".to_owned())
    }
}

fn plain(a: Box<dyn Port>, b: Box<dyn Port>) -> Ends {
    Ends { b: Some(b), ..alone(a) }
}

fn alone(a: Box<dyn Port>) -> Ends {
    Ends { a, b: None, late: None, bed: None, others: Vec::new(), _folder: None, is_ipv6: false, _turn: None }
}

fn name() -> String {
    format!("conform{}", number())
}

/// One that no other test has.
fn number() -> u32 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

fn opened(address: &str, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    port::open(&address.parse::<Address>()?, wish)
}

pub fn mem(wish: &Wish) -> Result<Ends, PortError> {
    let address = format!("mem:{}", name());
    Ok(plain(opened(&address, wish)?, opened(&address, wish)?))
}

/// Wrappers that change nothing, one in another, around `inner`.
fn around(inner: &str, folder: &TempDir) -> String {
    let (file, lines) = (folder.path().join("r.pcapng"), folder.path().join("lines"));
    let (file, lines) = (file.display(), lines.display());
    // No run has a frame of that number: nothing is lost or held.
    let never = u64::MAX;
    format!(
        "fault,drop=at={never},delay=at={never},on=both:record,file={file}:trace,most=50,file={lines}:{inner}"
    )
}

pub fn wrapped(wish: &Wish) -> Result<Ends, PortError> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let inner = format!("mem:{}", name());
    let ends = plain(opened(&around(&inner, &folder), wish)?, opened(&inner, wish)?);
    Ok(Ends { _folder: Some(folder), ..ends })
}

pub fn wrapped_packet(wish: &Wish) -> Result<Ends, PortError> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let a = around("packet:gen0", &folder);
    let ends = veth(Topology::unique(), &a, "packet:sink0", wish)?;
    Ok(Ends { _folder: Some(folder), ..ends })
}

pub fn pcap(wish: &Wish) -> Result<Ends, PortError> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let address = format!("pcap:{}", folder.path().join("a.pcapng").display());
    let a = opened(&address, &Wish { direction: Direction::Transmit, ..wish.clone() })?;
    let late = move || opened(&address, &Wish::receive()).expect("the file was written");
    Ok(Ends { late: Some(Box::new(late)), _folder: Some(folder), ..alone(a) })
}

/// A port of this kind at each end of a veth pair.
fn veth(topology: Topology, a: &str, b: &str, wish: &Wish) -> Result<Ends, PortError> {
    let is_ipv6 = topology.ipv6;
    let bed = Bed::up(&topology).expect("namespaces can be made");
    let b = bed.sink().run_in(|| opened(b, &Wish { frame: 1_514, ..wish.clone() })).expect("a namespace")?;
    let a = bed.generator().run_in(|| opened(a, wish)).expect("a namespace")?;
    Ok(Ends { bed: Some(bed), is_ipv6, ..plain(a, b) })
}

pub fn packet(wish: &Wish) -> Result<Ends, PortError> {
    veth(Topology::unique(), "packet:gen0", "packet:sink0", wish)
}

pub fn packet_ring(wish: &Wish) -> Result<Ends, PortError> {
    veth(Topology::unique(), "packet,mode=ring:gen0", "packet:sink0", wish)
}

pub fn xdp(wish: &Wish) -> Result<Ends, PortError> {
    veth(Topology::unique(), "xdp,mode=copy:gen0", "xdp,mode=copy:sink0", wish)
}

/// Frames made by an XDP program; the other end's own program makes a veth take them.
pub fn live(wish: &Wish) -> Result<Ends, PortError> {
    veth(Topology::unique(), "live:gen0", "xdp,mode=copy:sink0", wish)
}

pub fn auto(wish: &Wish) -> Result<Ends, PortError> {
    veth(Topology::unique(), "auto:gen0", "auto:sink0", wish)
}

pub fn udp(wish: &Wish) -> Result<Ends, PortError> {
    let a = "udp,local=198.18.0.1,port=9000:198.18.0.2:9001";
    veth(Topology::unique(), a, "udp,local=198.18.0.2,port=9001:198.18.0.1:9000", wish)
}

pub fn udp_plain(wish: &Wish) -> Result<Ends, PortError> {
    let a = "udp,gso=no,local=198.18.0.1,port=9000:198.18.0.2:9001";
    veth(Topology::unique(), a, "udp,local=198.18.0.2,port=9001:198.18.0.1:9000", wish)
}

pub fn udp_ipv6(wish: &Wish) -> Result<Ends, PortError> {
    let a = "udp,port=9000:[fd00:18::2]:9001";
    veth(Topology::unique().ipv6(), a, "udp,port=9001:[fd00:18::1]:9000", wish)
}

/// Both ends in other namespaces than this thread.
pub fn udp_netns(wish: &Wish) -> Result<Ends, PortError> {
    let bed = Bed::up(&Topology::unique()).expect("namespaces can be made");
    let end = |namespace: &str, own: u8, other: u8| {
        let (port, to) = (9000 + u16::from(own), 9000 + u16::from(other));
        opened(&format!("udp,netns={namespace},local=198.18.0.{own},port={port}:198.18.0.{other}:{to}"), wish)
    };
    let (a, b) = (end(&bed.generator().name, 1, 2)?, end(&bed.sink().name, 2, 1)?);
    Ok(Ends { bed: Some(bed), ..plain(a, b) })
}

/// What the host itself sees of a tap.
pub fn tap(wish: &Wish) -> Result<Ends, PortError> {
    taps(wish, 1)
}

/// One queue of a tap that has two.
pub fn tap_queues(wish: &Wish) -> Result<Ends, PortError> {
    taps(wish, 2)
}

fn taps(wish: &Wish, queues: u32) -> Result<Ends, PortError> {
    let bed = Bed::up(&Topology::unique()).expect("namespaces can be made");
    let (a, b, others) = bed
        .generator()
        .run_in(|| {
            // The host would speak of its own accord.
            std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").expect("a namespace of ours");
            let queue = |queue| opened("tap:tap0", &Wish { queue, queues, ..wish.clone() });
            let mut all = (0..queues).map(queue).collect::<Result<Vec<_>, _>>()?;
            let b = opened("packet:tap0", &Wish { frame: 1_514, ..wish.clone() })?;
            Ok::<_, PortError>((all.remove(0), b, all))
        })
        .expect("a namespace")?;
    Ok(Ends { bed: Some(bed), others, ..plain(a, b) })
}

/// The simulated module, whose wire ends at the first end of the pair.
pub fn fpga(wish: &Wish) -> Result<Ends, PortError> {
    veth(Topology::unique(), "fpga,wire=gen0:sim", "packet:sink0", wish)
}

/// The simulated module twice: its wire is a cable to itself.
pub fn fpga_loop(wish: &Wish) -> Result<Ends, PortError> {
    let address = format!("fpga,seed={}:sim", number());
    let a = opened(&address, &Wish { direction: Direction::Transmit, ..wish.clone() })?;
    Ok(plain(a, opened(&address, &Wish { direction: Direction::Receive, ..wish.clone() })?))
}

/// A ring of DPDK: what is sent on it arrives on it.
pub fn dpdk_ring(wish: &Wish) -> Result<Ends, PortError> {
    let turn = crate::dpdk::turn();
    let address = format!("dpdk:net_ring{}", number());
    let a = opened(&address, &Wish { direction: Direction::Transmit, ..wish.clone() })?;
    let b = opened(&address, &Wish { direction: Direction::Receive, ..wish.clone() })?;
    Ok(Ends { _turn: Some(turn), ..plain(a, b) })
}

/// A virtual device of DPDK at each end of a veth pair.
fn dpdk(driver: &str, wish: &Wish) -> Result<Ends, PortError> {
    let turn = crate::dpdk::turn();
    let end = |interface: &str| format!("dpdk:net_{driver}{},iface={interface}", number());
    let ends = veth(Topology::unique(), &end("gen0"), &end("sink0"), wish)?;
    Ok(Ends { _turn: Some(turn), ..ends })
}

pub fn dpdk_af_packet(wish: &Wish) -> Result<Ends, PortError> {
    dpdk("af_packet", wish)
}

pub fn dpdk_pcap(wish: &Wish) -> Result<Ends, PortError> {
    dpdk("pcap", wish)
}

pub fn dpdk_af_xdp(wish: &Wish) -> Result<Ends, PortError> {
    dpdk("af_xdp", wish)
}

/// A UDP datagram in a frame of `length` bytes, numbered, for a host that is none of ours, so that nobody
/// answers.
pub fn frame(number: u32, length: usize, is_ipv6: bool) -> Vec<u8> {
    let mut frame = vec![0x02, 0x18, 0, 0, 0, 0x99, 0x02, 0x18, 0, 0, 0, 0x98];
    let udp = if is_ipv6 {
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        frame.extend(((length - 54) as u16).to_be_bytes());
        frame.extend([17, 64]);
        frame.extend([0xfd; 32]);
        54
    } else {
        frame.extend([0x08, 0x00, 0x45, 0]);
        frame.extend(((length - 14) as u16).to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 98, 198, 18, 0, 99]);
        34
    };
    frame.extend([4, 0, 0, 9]);
    frame.extend(((length - udp) as u16).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(number.to_be_bytes());
    frame.resize(length, (number % 251) as u8);
    frame
}

impl TestedPort {
    /// More frames than any ring holds. A simulation takes a second for twenty milliseconds of its time.
    pub fn many(&self) -> u32 {
        if self.name.starts_with("fpga") { 1_500 } else { 20_000 }
    }

    /// Shortest frame that `frame` can make for this kind and that is no shorter than Ethernet's.
    pub fn shortest(&self, ends: &Ends) -> usize {
        if ends.is_ipv6 { 66 } else { 60 }
    }

    /// What of a frame must arrive as it was.
    pub fn carried<'a>(&self, frame: &'a [u8], is_ipv6: bool) -> &'a [u8] {
        if !self.is_udp {
            return frame;
        }
        &frame[if is_ipv6 { 62 } else { 42 }..]
    }
}

/// Sends these, however many calls it takes.
#[track_caller]
pub fn send(port: &mut dyn Port, frames: &[Vec<u8>]) {
    let (mut sent, until) = (0, Instant::now() + Duration::from_secs(10));
    while sent < frames.len() {
        assert!(Instant::now() < until, "{:?}", port.counters());
        let mut next = sent;
        let taken = port.transmit(frames.len() - sent, &mut |slot| {
            slot.data[..frames[next].len()].copy_from_slice(&frames[next]);
            slot.length = frames[next].len();
            next += 1;
        });
        sent += taken.expect("frames are taken");
        assert_eq!(next, sent, "the writer is called for those taken");
        if sent < frames.len() {
            port.wait(For::Transmit, PATIENCE).expect("it can be waited for");
        }
    }
    assert!(port.flush(PATIENCE).expect("it can be flushed"));
}

/// Receives until `count` frames are there and no more come for a while.
pub fn receive(port: &mut dyn Port, count: usize) -> Vec<Vec<u8>> {
    let (mut frames, until) = (Vec::new(), Instant::now() + Duration::from_secs(8));
    while Instant::now() < until {
        let took = port.receive(100, &mut |frame| {
            assert_eq!(frame.length, frame.data.len());
            frames.push(frame.data.to_vec());
        });
        match took {
            Ok(0) => {}
            Ok(_) => continue,
            Err(error) if error.is_end() => break,
            Err(error) => panic!("{error}"),
        }
        // The first may have to wait until the kernel has asked twice for an address, a second apart.
        let quiet = match frames.len() {
            0 if count > 0 => 3_000,
            n if n < count => 1_000,
            _ => 30,
        };
        let quiet = Picos::from_millis(quiet);
        if !port.wait(For::Receive, quiet).expect("it can be waited for") {
            break;
        }
    }
    frames
}
