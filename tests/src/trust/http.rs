//! Loads of requests: a target whose behaviour is known, a load on it, and whoever spoils it.

use super::clean::{Clean, USUAL};
use super::sabotage::{self, Crowd, GENERATOR, TARGET};
use super::truth::{self, Queue, Told};
use super::{Judged, Mode, Outcome};
use crate::bed::TestBed;
use crate::run::AHEAD;
use crate::target::Truth;
use crate::{Run, Running, Tare, Target, scratch};
use std::any::Any;
use std::io::Write;
use std::time::Duration;

/// What spoils a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// A control group that gives so many percent of a CPU.
    Quota(u32),
    Neighbour,
    RealTimeNeighbour,
    /// SIGSTOP for so many milliseconds.
    Stop(u64),
    /// The same with an open loop that has few connections: what was due meanwhile waits for one of them.
    StopFewConnections(u64),
    Memory,
    Descriptors,
    Ports,
    Buffers,
    /// One answer of 100 MB among 499 of 600 bytes, whose checksum is wanted.
    HugeAnswer,
    Handshakes,
    FullDisk,
    FullSink,
    SlowSink,
    Clock,
    /// CLOCK_REALTIME as the program sees it, by libfaketime: the kernel's stamps follow the true one.
    FakedClock,
    LinkDown,
    Flood,
    Connections,
    Lines,
    /// Other programs on the target's CPU.
    Crowd(Crowd),
}

/// Each with the lengths that matter.
pub const ALL: &[Sabotage] = &[
    Sabotage::Quota(20),
    Sabotage::Quota(60),
    Sabotage::Neighbour,
    Sabotage::RealTimeNeighbour,
    Sabotage::Stop(20),
    Sabotage::Stop(200),
    Sabotage::Stop(2_000),
    Sabotage::StopFewConnections(200),
    Sabotage::StopFewConnections(1_000),
    Sabotage::Memory,
    Sabotage::Descriptors,
    Sabotage::Ports,
    Sabotage::Buffers,
    Sabotage::HugeAnswer,
    Sabotage::Handshakes,
    Sabotage::FullDisk,
    Sabotage::FullSink,
    Sabotage::SlowSink,
    Sabotage::Clock,
    Sabotage::FakedClock,
    Sabotage::LinkDown,
    Sabotage::Flood,
    Sabotage::Connections,
    Sabotage::Lines,
    Sabotage::Crowd(Crowd::Loop),
    Sabotage::Crowd(Crowd::Niced),
    Sabotage::Crowd(Crowd::Batch),
    Sabotage::Crowd(Crowd::Brief),
    Sabotage::Crowd(Crowd::Group),
];

impl Sabotage {
    /// Where nothing would be different, one way of driving sockets is enough.
    pub fn applies(self, mode: Mode) -> bool {
        match self {
            Self::StopFewConnections(_) => mode.open,
            Self::Handshakes => mode.tls,
            Self::Memory
            | Self::FullDisk
            | Self::FullSink
            | Self::SlowSink
            | Self::Clock
            | Self::FakedClock
            | Self::Ports
            | Self::Crowd(_) => mode.uring == mode.tls,
            Self::Lines => !mode.tls,
            _ => true,
        }
    }
}

impl std::fmt::Display for Sabotage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = match self {
            Self::Quota(percent) => return write!(f, "quota of {percent} %"),
            Self::Neighbour => "busy neighbour",
            Self::RealTimeNeighbour => "real-time neighbour",
            Self::Stop(ms) => return write!(f, "stopped for {ms} ms"),
            Self::StopFewConnections(ms) => return write!(f, "stopped for {ms} ms, 4 connections"),
            Self::Memory => "memory pressure",
            Self::Descriptors => "64 descriptors",
            Self::Ports => "100 ports",
            Self::Buffers => "4 KiB buffers",
            Self::HugeAnswer => "a huge response",
            Self::Handshakes => "handshake storm",
            Self::FullDisk => "full disk",
            Self::FullSink => "full sink",
            Self::SlowSink => "slow sink",
            Self::Clock => "stepped clock",
            Self::FakedClock => "stepped clock (libfaketime)",
            Self::Crowd(crowd) => return write!(f, "target beside {crowd}"),
            Self::LinkDown => "link down",
            Self::Flood => "flood of frames",
            Self::Connections => "10 000 connections",
            Self::Lines => "5 M lines",
        };
        f.write_str(words)
    }
}

const LENGTH: &str = "--duration 2500ms";

/// What is done once, while a run goes on.
type Act = Box<dyn FnOnce(&Running)>;

/// Everything that a run needs, and what happens while it goes on.
struct Scene {
    target: Target,
    tare: Tare,
    queue: Option<Queue>,
    act: Option<Act>,
    /// Gone when the run is over.
    held: Vec<Box<dyn Any>>,
    /// The kernel's stamps at the target mean nothing either.
    without_stamps: bool,
    /// What the target does when nothing spoils it, in the place of what it did.
    calm: Option<Truth>,
}

fn load(mode: Mode, words: &str, url: &str) -> Tare {
    let io = if mode.uring { "uring" } else { "epoll" };
    let insecure = if mode.tls { "--insecure" } else { "" };
    Tare::http(&format!("--cpus {GENERATOR} -t 1 --io {io} {insecure} {words} {url}"))
}

fn target_words(mode: Mode, words: &str) -> String {
    format!("--cpus {TARGET} {} {words}", if mode.tls { "--tls --tls-versions 1.3" } else { "" })
}

/// The target goes before all else on its CPU: what spoils a run shall spoil the generator.
fn target(mode: Mode, words: &str) -> Target {
    Target::start_through(&AHEAD, &target_words(mode, words))
}

fn target_through(wrapper: &[&str], mode: Mode, words: &str) -> Target {
    let wrapper: Vec<&str> = AHEAD.iter().chain(wrapper).copied().collect();
    Target::start_through(&wrapper, &target_words(mode, words))
}

/// A clean run; `ahead`: at a real-time priority.
pub fn clean(case: &Clean, mode: Mode, ahead: bool) -> Outcome {
    super::watched(ahead, || {
        let folder = scratch();
        let mut words = case.target.to_owned();
        if !case.delays.is_empty() {
            let file = folder.path().join("delays");
            let lines = case.delays.iter().flat_map(|(count, ms)| vec![format!("{ms}ms\n"); *count]);
            std::fs::write(&file, lines.collect::<String>()).expect("a scratch file");
            words += &format!(" --delay file-random:{}", file.display());
        }
        let target = target(mode, &words);
        let shape = if mode.open { case.open } else { case.closed };
        let tare = load(mode, &format!("{shape} {LENGTH}"), &target.url());
        let tare = if ahead { tare.ahead() } else { tare };
        let scene = Scene {
            target,
            tare,
            queue: None,
            act: None,
            held: Vec::new(),
            without_stamps: false,
            calm: None,
        };
        Ok(play(scene))
    })
}

pub fn sabotaged(sabotage: Sabotage, mode: Mode) -> Outcome {
    super::watched(false, || scene(sabotage, mode).map(play))
}

fn play(scene: Scene) -> Judged {
    let Scene { target, tare, queue, act, held, without_stamps, calm } = scene;
    let running = tare.limit(Duration::from_secs(40)).start();
    if let Some(act) = act {
        act(&running);
    }
    let run = running.finish_unchecked();
    let is_calm = calm.is_some();
    let judged = judged(run, calm.unwrap_or_else(|| target.truth()), queue, without_stamps, is_calm);
    drop(held);
    judged
}

fn judged(run: Run, mut truth: Truth, queue: Option<Queue>, without_stamps: bool, is_calm: bool) -> Judged {
    assert!(run.result.is_object(), "no result: {:?} {}", run.code, run.stderr);
    if without_stamps {
        truth.records.iter_mut().for_each(|record| record.readable_ns = record.complete_ns);
    }
    let net_ns = truth::net_ns(&truth, queue);
    let (mut net, mut gross) =
        (truth::compare(&run, "net_ns", net_ns.clone()), truth::compare(&run, "latency_ns", net_ns));
    if is_calm {
        net.iter_mut().chain(&mut gross).for_each(Told::at_most);
    }
    Judged { net, gross, run }
}

/// A scene that is not out of the ordinary yet: this load, and a target that takes 2 ms.
fn usual(mode: Mode) -> Scene {
    with(mode, "--delay 2ms", USUAL.open, USUAL.closed)
}

fn with(mode: Mode, at_target: &str, open: &str, closed: &str) -> Scene {
    let target = target(mode, at_target);
    let tare = load(mode, &format!("{} {LENGTH}", if mode.open { open } else { closed }), &target.url());
    Scene { target, tare, queue: None, act: None, held: Vec::new(), without_stamps: false, calm: None }
}

/// In a network of its own, with these settings of its kernel.
fn apart(mode: Mode, settings: &str, at_target: &str, open: &str, closed: &str) -> Scene {
    crate::need_root();
    let folder = scratch();
    let script = sabotage::script_in(&folder, &format!("ip link set lo up\n{settings}"));
    let wrapper = ["unshare", "--net", "sh", &script];
    let target = target_through(&wrapper, mode, &format!("{at_target} --listen 127.0.0.1:8080"));
    let words = format!("{} {LENGTH}", if mode.open { open } else { closed });
    let tare = load(mode, &words, &target.url()).in_network_of(target.process.pid());
    Scene {
        target,
        tare,
        queue: None,
        act: None,
        held: vec![Box::new(folder)],
        without_stamps: false,
        calm: None,
    }
}

impl Scene {
    fn holding(mut self, held: impl Any) -> Self {
        self.held.push(Box::new(held));
        self
    }

    fn acting(self, act: impl FnOnce(&Running) + 'static) -> Self {
        Self { act: Some(Box::new(act)), ..self }
    }

    fn through(self, wrapper: &str) -> Self {
        Self { tare: self.tare.through(wrapper), ..self }
    }
}

/// `Err`: why it cannot be done here.
fn scene(sabotage: Sabotage, mode: Mode) -> Result<Scene, String> {
    Ok(match sabotage {
        Sabotage::Quota(percent) => {
            let quota = sabotage::Quota::of(percent)?;
            let folder = scratch();
            let script = sabotage::script_in(&folder, &quota.script());
            usual(mode).through(&format!("sh {script}")).holding(quota).holding(folder)
        }
        Sabotage::Neighbour => usual(mode).holding(sabotage::neighbour()),
        Sabotage::RealTimeNeighbour => usual(mode).holding(sabotage::real_time_neighbour()),
        Sabotage::Stop(ms) => {
            usual(mode).acting(move |running| sabotage::stop(running, Duration::from_millis(ms)))
        }
        Sabotage::StopFewConnections(ms) => {
            let (connections, rate) = (4, 350);
            let open = format!("--parallel {connections} --rate {rate}");
            let scene = with(mode, "--delay 10ms", &open, "");
            let queue = Some(Queue { connections, gap_ns: 1_000_000_000 / rate });
            Scene { queue, ..scene }.acting(move |running| sabotage::stop(running, Duration::from_millis(ms)))
        }
        Sabotage::Memory => usual(mode).holding(sabotage::memory_hog()),
        Sabotage::Descriptors => {
            with(mode, "--delay 50ms", "--rate 2k", "--parallel 200").through("prlimit --nofile=64:64")
        }
        Sabotage::Ports => apart(
            mode,
            "echo '40000 40099' > /proc/sys/net/ipv4/ip_local_port_range",
            "--delay 100ms",
            "--rate 2k",
            "--parallel 300",
        ),
        Sabotage::Buffers => apart(
            mode,
            "for f in rmem wmem; do echo '4096 4096 4096' > /proc/sys/net/ipv4/tcp_$f; done",
            "--delay 2ms --size 64KiB",
            "--rate 100",
            "--parallel 4",
        ),
        Sabotage::HugeAnswer => huge_answer(mode),
        Sabotage::Handshakes => {
            let each = "--no-keep-alive --no-resumption";
            let open = format!("--rate 300 {each}");
            // The target does not know how long TCP took to connect: next to 10 ms that is nothing.
            with(mode, "--delay 10ms --no-tickets", &open, &format!("--parallel 16 {each}"))
        }
        Sabotage::FullDisk => full_disk(mode),
        Sabotage::FullSink => full_sink(mode),
        Sabotage::SlowSink => slow_sink(mode),
        Sabotage::FakedClock => faked_clock(mode),
        Sabotage::Crowd(crowd) => crowded(mode, crowd)?,
        Sabotage::Clock => {
            let scene = usual(mode).acting(|running| {
                running.sleep_until(Duration::from_millis(800));
                sabotage::step_the_clock(Duration::from_millis(300)).expect("root may set the clock");
            });
            Scene { without_stamps: true, ..scene }
        }
        Sabotage::LinkDown => link_down(mode),
        Sabotage::Flood => usual(mode).holding(sabotage::Flood::start()),
        Sabotage::Connections => {
            let most =
                rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(u64::MAX);
            if most < 10_200 {
                return Err(format!("no process may have more than {most} descriptors here"));
            }
            let (open, closed) = match mode.tls {
                false => ("--rate 3k --max-open 10000", "--parallel 10000"),
                true => ("--rate 400", "--parallel 500"),
            };
            with(mode, "--delay 1500ms", open, closed)
        }
        Sabotage::Lines => lines(mode),
    })
}

/// A file of requests of which one in 500 has an answer of 100 MB.
fn huge_answer(mode: Mode) -> Scene {
    const SIZE: usize = 100_000_000;
    let target = target(mode, "--delay 2ms");
    let (folder, url) = (scratch(), target.url());
    let small = format!("{{\"url\": \"{url}\"}}\n");
    let sha256 = sabotage::sha256_of_body(SIZE);
    let huge = format!("{{\"url\": \"{url}?size={SIZE}\", \"expect\": {{\"sha256\": \"{sha256}\"}}}}\n");
    let file = folder.path().join("requests.jsonl");
    std::fs::write(&file, format!("{}{huge}{}", small.repeat(300), small.repeat(199)))
        .expect("a scratch file");
    let shape = if mode.open { USUAL.open } else { USUAL.closed };
    let tare = load(mode, &format!("{shape} {LENGTH} --order sequential"), &file.display().to_string());
    Scene {
        target,
        tare,
        queue: None,
        act: None,
        held: vec![Box::new(folder)],
        without_stamps: false,
        calm: None,
    }
}

fn full_disk(mode: Mode) -> Scene {
    crate::need_root();
    let folder = scratch();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).expect("a scratch folder");
    let mount = format!("mount -t tmpfs -o size=64k tare-trust {}", disk.display());
    let script = sabotage::script_in(&folder, &mount);
    let scene = usual(mode);
    let shape = if mode.open { USUAL.open } else { USUAL.closed };
    let words = format!("{shape} {LENGTH} --samples --out {}/run", disk.display());
    let tare = load(mode, &words, &scene.target.url());
    let wrapper = format!("unshare --mount --propagation private sh {script}");
    Scene { tare: tare.through(&wrapper), ..scene }.holding(folder)
}

/// Each request as a line into a file for which there is no room.
fn full_sink(mode: Mode) -> Scene {
    crate::need_root();
    let folder = scratch();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).expect("a scratch folder");
    let mount = format!("mount -t tmpfs -o size=16k tare-trust {}", disk.display());
    let script = sabotage::script_in(&folder, &mount);
    let scene = usual(mode);
    let shape = if mode.open { USUAL.open } else { USUAL.closed };
    let words = format!("{shape} {LENGTH} --to jsonl:{}/rows?events", disk.display());
    let tare = load(mode, &words, &scene.target.url());
    let wrapper = format!("unshare --mount --propagation private sh {script}");
    Scene { tare: tare.through(&wrapper), ..scene }.holding(folder)
}

/// For 50 ms of the run the program sees the time of day 300 ms ahead.
fn faked_clock(mode: Mode) -> Scene {
    let folder = scratch();
    let offset = folder.path().join("offset");
    let file = offset.clone();
    let set = move |text: &str| std::fs::write(&file, text).expect("a scratch file");
    set("+0\n");
    let scene = usual(mode);
    let tare = scene
        .tare
        .env("LD_PRELOAD", crate::libfaketime().display().to_string())
        .env("FAKETIME_TIMESTAMP_FILE", offset.display().to_string())
        .env("FAKETIME_NO_CACHE", "1")
        .env("DONT_FAKE_MONOTONIC", "1");
    Scene { tare, ..scene }.holding(folder).acting(move |running| {
        running.sleep_until(Duration::from_millis(800));
        set("+0.3\n");
        std::thread::sleep(Duration::from_millis(50));
        set("+0\n");
    })
}

/// A target of an ordinary priority that responds at once, and others on its CPU. The truth is what it does
/// without them.
fn crowded(mode: Mode, crowd: Crowd) -> Result<Scene, String> {
    let shape = if mode.open { USUAL.open } else { "--parallel 1" };
    let alone = || {
        let target = Target::start(&target_words(mode, "--delay 0ms"));
        let tare = load(mode, &format!("{shape} {LENGTH}"), &target.url());
        Scene { target, tare, ..usual(mode) }
    };
    let calm = alone();
    calm.tare.limit(Duration::from_secs(40)).start().finish_unchecked();
    let calm = calm.target.truth();
    let crowd = sabotage::Crowded::start(crowd)?;
    Ok(Scene { calm: Some(calm), ..alone() }.holding(crowd))
}

/// Each request as a line into a pipe that is read slowly.
fn slow_sink(mode: Mode) -> Scene {
    let folder = scratch();
    let pipe = folder.path().join("pipe").display().to_string();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success(), "mkfifo {pipe}");
    let reads = format!(
        "exec 3<{pipe}; i=0; while [ $i -lt 60 ]; do i=$((i+1)); dd bs=4k count=1 <&3; sleep 0.1; done; cat <&3"
    );
    let reader = crate::Process::start(&["sh".into(), "-c".into(), reads], |command| {
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    });
    let scene = usual(mode);
    let shape = if mode.open { USUAL.open } else { USUAL.closed };
    let tare = load(mode, &format!("{shape} {LENGTH} --to jsonl:{pipe}?events"), &scene.target.url());
    Scene { tare, ..scene }.holding(folder).holding(reader)
}

/// The generator's interface goes down for 300 ms.
fn link_down(mode: Mode) -> Scene {
    let bed = TestBed::pair();
    let inside = format!("ip netns exec {}", bed.sink().name);
    let words: Vec<&str> = inside.split(' ').collect();
    let target = target_through(&words, mode, "--delay 2ms --listen 198.18.0.2:8080");
    let shape = if mode.open { USUAL.open } else { USUAL.closed };
    let tare = load(mode, &format!("{shape} {LENGTH}"), &target.url()).inside(bed.generator());
    let generator = bed.generator().clone();
    let scene =
        Scene { target, tare, queue: None, act: None, held: Vec::new(), without_stamps: false, calm: None };
    scene.holding(bed).acting(move |running| {
        running.sleep_until(Duration::from_millis(800));
        let interface = &generator.interface().name;
        crate::bed::run_in(&generator, &format!("ip link set {interface} down"));
        std::thread::sleep(Duration::from_millis(300));
        crate::bed::run_in(&generator, &format!("ip link set {interface} up"));
    })
}

/// A file of 5 million URLs.
fn lines(mode: Mode) -> Scene {
    let scene = usual(mode);
    let (folder, url) = (scratch(), scene.target.url());
    let path = folder.path().join("urls.txt");
    let file = std::fs::File::create(&path).expect("a scratch file");
    let mut file = std::io::BufWriter::new(file);
    for line in 0..5_000_000 {
        writeln!(file, "{url}{line}").expect("room for 150 MB");
    }
    file.flush().expect("room for 150 MB");
    let shape = if mode.open { USUAL.open } else { USUAL.closed };
    let tare = load(mode, &format!("{shape} {LENGTH}"), &path.display().to_string());
    Scene { tare, ..scene }.holding(folder)
}
