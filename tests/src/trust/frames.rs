//! Loads of frames, over veth pairs in namespaces of their own: what each command tells beside what tcpdump and
//! the kernel's counters at the other end say.

use super::sabotage::{self, GENERATOR, TARGET};
use super::truth::{Told, Unit};
use super::{Case, Judged};
use crate::bed::{Middlebox, Topology};
use crate::process::wait_until;
use crate::{Process, Run, Running, Tare, TestBed, scratch};
use std::any::Any;
use std::path::Path;
use std::time::Duration;

/// A command whose runs are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frames {
    Send,
    Capture,
    Pace,
    Sweep,
    Forward,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sabotage {
    Nothing,
    Neighbour,
    RealTimeNeighbour,
    Stop(u64),
    Flood,
    /// A receive ring of 16 frames, and frames in bursts.
    SmallRings,
}

const COMMANDS: [(Frames, &str); 5] = [
    (Frames::Send, "send"),
    (Frames::Capture, "capture"),
    (Frames::Pace, "pace"),
    (Frames::Sweep, "sweep"),
    (Frames::Forward, "forward"),
];
const SABOTAGES: [(Sabotage, &str); 6] = [
    (Sabotage::Neighbour, "busy neighbour"),
    (Sabotage::RealTimeNeighbour, "real-time neighbour"),
    (Sabotage::Stop(20), "stopped for 20 ms"),
    (Sabotage::Stop(500), "stopped for 500 ms"),
    (Sabotage::Flood, "flood of frames"),
    (Sabotage::SmallRings, "receive rings of 16"),
];

/// The sink's address, which nobody has to ask for.
const SINK: &str = "02:18:00:00:00:02";

pub fn all() -> Vec<Case> {
    let case = |frames, sabotage, name: &str, way: &str, clean| Case {
        name: name.into(),
        way: way.into(),
        clean,
        make: Box::new(move |_| super::watched(false, || Ok(run(frames, sabotage)))),
    };
    let clean = COMMANDS.map(|(frames, way)| case(frames, Sabotage::Nothing, "frames", way, true));
    let spoilt = SABOTAGES.iter().flat_map(|(sabotage, name)| {
        let touched = COMMANDS.iter().filter(move |(frames, _)| sabotage.touches(*frames));
        touched.map(move |(frames, way)| case(*frames, *sabotage, &format!("frames, {name}"), way, false))
    });
    clean.into_iter().chain(spoilt).collect()
}

fn run(frames: Frames, sabotage: Sabotage) -> Judged {
    let (run, net) = match frames {
        Frames::Send => send(sabotage),
        Frames::Capture => capture(sabotage),
        Frames::Pace => pace(sabotage),
        Frames::Sweep => sweep(sabotage),
        Frames::Forward => forward(sabotage),
    };
    assert!(run.result.is_object(), "no result: {:?} {}", run.code, run.stderr);
    Judged { run, net: net.clone(), gross: net }
}

impl Sabotage {
    /// What sends alone has no ring to receive in.
    fn touches(self, frames: Frames) -> bool {
        self != Self::SmallRings || frames != Frames::Send
    }

    /// How the port at which frames arrive is opened.
    fn receiver(self) -> &'static str {
        if self == Self::SmallRings { "packet,slots=16,receive=slots" } else { "packet" }
    }

    /// How a sender sends that is not what is judged.
    fn bursts(self) -> &'static str {
        if self == Self::SmallRings { "--burst 200" } else { "" }
    }

    /// What goes on for the whole run.
    fn before(self) -> Option<Box<dyn Any>> {
        match self {
            Self::Neighbour => Some(Box::new(sabotage::neighbour())),
            Self::RealTimeNeighbour => Some(Box::new(sabotage::real_time_neighbour())),
            Self::Flood => Some(Box::new(sabotage::Flood::start())),
            Self::Nothing | Self::Stop(_) | Self::SmallRings => None,
        }
    }

    /// What happens once, a while after the load has begun.
    fn during(self, running: &Running) {
        if let Self::Stop(ms) = self {
            sabotage::stop(running, Duration::from_millis(ms));
        }
    }
}

/// On the generator's CPU.
fn pinned(words: &str) -> Tare {
    Tare::packets(words).through(&format!("taskset -c {GENERATOR}")).limit(Duration::from_secs(40))
}

/// Two thousand frames a second; how far their gaps are from 500 us, by the kernel's stamps at the sink.
fn send(sabotage: Sabotage) -> (Run, Vec<Told>) {
    let bed = TestBed::pair();
    let _spoils = sabotage.before();
    let tcpdump = Tcpdump::start(&bed);
    let before = bed.kernel(bed.generator(), "tx_packets");
    let running =
        pinned(&format!("send packet:gen0 -m {SINK} --rate 2k -t 2")).inside(bed.generator()).start();
    sabotage.during(&running);
    let run = running.finish_unchecked();
    let left = bed.kernel(bed.generator(), "tx_packets") - before;
    let stamps = tcpdump.stamps();
    let mut told = vec![frames("sent", run.outcome("sent"), left)];
    // Where frames were lost on the way, gaps at the other end say nothing of how they left.
    if stamps.len() as u64 == left {
        told.extend(gap_errors(&run, &stamps, 500_000));
    }
    (run, told)
}

/// What a receiver counts, beside the kernel.
fn capture(sabotage: Sabotage) -> (Run, Vec<Told>) {
    let bed = TestBed::pair();
    let _spoils = sabotage.before();
    let running = pinned(&format!("capture {}:sink0 -t 4", sabotage.receiver())).inside(bed.sink()).start();
    // It listens a moment after it has begun to heed Ctrl-C.
    running.sleep_until(Duration::from_millis(300));
    let before = bed.kernel(bed.sink(), "rx_packets");
    let sender = sender(&bed, &format!("--rate 50k -t 2 {}", sabotage.bursts()));
    sabotage.during(&running);
    sender.finish_unchecked();
    let arrived = bed.kernel(bed.sink(), "rx_packets") - before;
    let run = running.finish_unchecked();
    let told = vec![frames("received", run.total("done"), arrived)];
    (run, told)
}

/// Frames that come faster than they may leave, and how even they leave.
fn pace(sabotage: Sabotage) -> (Run, Vec<Told>) {
    let bed = TestBed::up(Topology::unique().middlebox(Middlebox::Wire));
    let _spoils = sabotage.before();
    let tcpdump = Tcpdump::start(&bed);
    let middle = bed.middlebox().expect("the topology has one");
    let running = pinned(&format!("pace {}:mid0 packet:mid1 --rate 2k -t 3", sabotage.receiver()))
        .inside(middle)
        .start();
    running.sleep_until(Duration::from_millis(300));
    let sender = sender(&bed, &format!("--rate 2500 -t 1500ms {}", sabotage.bursts()));
    sabotage.during(&running);
    sender.finish_unchecked();
    let run = running.finish_unchecked();
    let stamps = tcpdump.stamps();
    let told = gap_errors(&run, &stamps, 500_000);
    (run, told)
}

/// The highest load that a veth pair takes without loss, of those that are tried: all.
fn sweep(sabotage: Sabotage) -> (Run, Vec<Told>) {
    let bed = TestBed::pair();
    let _spoils = sabotage.before();
    let (near, far) = (bed.generator(), bed.sink());
    bed.ip(far, &format!("link set {} netns {}", far.interface().name, near.name));
    bed.ip(near, &format!("link set {} up", far.interface().name));
    let words = format!(
        "sweep --send packet:gen0 --receive {}:sink0 --sizes 64 --goal ndr --max-rate 2k --no-latency \
         --trial-time 200ms --first-trial-time 100ms --width 5% --bursts 0 --drain 50ms --min-rate 100",
        sabotage.receiver()
    );
    let running = pinned(&words).inside(near).start();
    sabotage.during(&running);
    let run = running.finish_unchecked();
    let rate = run.at("/packets/tables/0/columns").as_array().and_then(|columns| {
        let at = columns.iter().position(|column| column["name"] == "NDR")?;
        run.at(&format!("/packets/tables/0/rows/0/{at}")).as_f64()
    });
    let told = vec![Told::exact("NDR", Unit::Frames, rate.unwrap_or(0.0), 2_000.0)];
    (run, told)
}

/// What a middlebox says that it let through, and that it lost.
fn forward(sabotage: Sabotage) -> (Run, Vec<Told>) {
    let bed = TestBed::up(Topology::unique().middlebox(Middlebox::Wire));
    let _spoils = sabotage.before();
    let middle = bed.middlebox().expect("the topology has one");
    let running =
        pinned(&format!("forward {}:mid0 packet:mid1 -t 4", sabotage.receiver())).inside(middle).start();
    running.sleep_until(Duration::from_millis(300));
    let before = (bed.kernel(middle, "rx_packets"), bed.kernel(bed.sink(), "rx_packets"));
    let sender = sender(&bed, &format!("--rate 20k -t 2 {}", sabotage.bursts()));
    sabotage.during(&running);
    sender.finish_unchecked();
    let came = bed.kernel(middle, "rx_packets") - before.0;
    let run = running.finish_unchecked();
    let went = bed.kernel(bed.sink(), "rx_packets") - before.1;
    let told =
        vec![frames("forwarded", run.outcome("forwarded"), went), frames("came", run.total("offered"), came)];
    (run, told)
}

fn frames(key: &'static str, told: u64, truth: u64) -> Told {
    Told::exact(key, Unit::Frames, told as f64, truth as f64)
}

fn sender(bed: &TestBed, load: &str) -> Running {
    let words = format!("send packet:gen0 -m {SINK} --cpus {TARGET} {load}");
    Tare::packets(&words).inside(bed.generator()).start()
}

/// Percentiles of |gap - requested gap|, as printed and by these stamps.
fn gap_errors(run: &Run, stamps: &[u64], gap_ns: u64) -> Vec<Told> {
    let mut errors: Vec<u64> =
        stamps.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).abs_diff(gap_ns)).collect();
    errors.sort_unstable();
    let printed = &run.result["packets"]["gaps"]["error"];
    let at = |(key, share): (&'static str, f64)| {
        let told = printed[key].as_f64()?;
        let rank = (errors.len() as f64 * share).ceil() as usize;
        let truth = *errors.get(rank.max(1) - 1)? as f64;
        Some(Told::exact(key, Unit::Nanoseconds, told, truth))
    };
    [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)].into_iter().filter_map(at).collect()
}

/// tcpdump at the sink, with nanoseconds, on the other CPU than the generator.
struct Tcpdump {
    process: Process,
    folder: tempfile::TempDir,
}

impl Tcpdump {
    fn start(bed: &TestBed) -> Self {
        crate::need("tcpdump");
        let folder = scratch();
        let file = folder.path().join("seen.pcap");
        let words = format!(
            "ip netns exec {} chrt --fifo 10 taskset -c {TARGET} \
             tcpdump -i sink0 -Q in --nano -B 32768 -Z root -U -s 64 -w {} udp",
            bed.sink().name,
            file.display()
        );
        let argv: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let process = Process::start(&argv, |command| {
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        });
        // It listens when it has written the file's head.
        wait_until("tcpdump listens", || std::fs::metadata(&file).is_ok_and(|file| file.len() >= 24));
        Self { process, folder }
    }

    /// When frames arrived, in nanoseconds.
    fn stamps(mut self) -> Vec<u64> {
        std::thread::sleep(Duration::from_millis(200));
        self.process.end();
        stamps_of(&self.folder.path().join("seen.pcap"))
    }
}

/// Of a pcap file with nanoseconds, read by hand (draft-ietf-opsawg-pcap).
fn stamps_of(path: &Path) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let word = |at: usize| {
        bytes.get(at..at + 4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
    };
    let (mut stamps, mut at) = (Vec::new(), 24);
    while let (Some(seconds), Some(nanos), Some(kept)) = (word(at), word(at + 4), word(at + 8)) {
        stamps.push(u64::from(seconds) * 1_000_000_000 + u64::from(nanos));
        at += 16 + kept as usize;
    }
    stamps
}
