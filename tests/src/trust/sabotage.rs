//! Tools of a saboteur. Each is gone when it is dropped, ends by itself, and touches nothing that is not its
//! own.

use crate::bed::{Namespace, TestBed, run_in};
use crate::{Process, Running, Tare, scratch};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// The CPU under the generator, and the one under the target.
pub const GENERATOR: &str = "0";
pub const TARGET: &str = "1";

/// A process on the generator's CPU with this scheduling (`chrt --fifo 20`, or nothing), of at most 8 s of CPU
/// time.
pub fn beside(scheduling: &str, program: &[&str]) -> Process {
    on(GENERATOR, scheduling, program)
}

fn on(cpu: &str, scheduling: &str, program: &[&str]) -> Process {
    let front = format!("prlimit --cpu=8:8 taskset -c {cpu} {scheduling}");
    let words = front.split_whitespace().chain(program.iter().copied());
    let argv: Vec<String> = words.map(str::to_owned).collect();
    Process::start(&argv, |command| {
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    })
}

/// A loop that never waits.
pub fn neighbour() -> Process {
    beside("", &["sh", "-c", "while :; do :; done"])
}

/// A loop at real-time priority that works for some tens of milliseconds and then rests, for at most 100 times.
pub fn real_time_neighbour() -> Process {
    let script = "i=0; while [ $i -lt 100 ]; do i=$((i+1)); j=0; \
        while [ $j -lt 40000 ]; do j=$((j+1)); done; sleep 0.05; done";
    beside("chrt --fifo 20", &["sh", "-c", script])
}

/// Programs on the target's CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowd {
    /// A loop that never waits, at the target's own niceness, at the lowest, or in `SCHED_BATCH`.
    Loop,
    Niced,
    Batch,
    /// Two that start one process of a few milliseconds after the other, as a compiler's driver does.
    Brief,
    /// A loop in a control group that gets half of the CPU.
    Group,
}

impl std::fmt::Display for Crowd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Loop => "a loop",
            Self::Niced => "a niced loop",
            Self::Batch => "a batch loop",
            Self::Brief => "brief processes",
            Self::Group => "a loop in a group",
        })
    }
}

/// Such programs, for at most 8 s of CPU time each.
pub struct Crowded {
    _programs: Vec<Process>,
    _group: Option<Quota>,
}

impl Crowded {
    pub fn start(crowd: Crowd) -> Result<Self, String> {
        const LOOP: &str = "while :; do :; done";
        const BRIEF: &str = "n=0; while [ $n -lt 2000 ]; do n=$((n+1)); \
            sh -c 'i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done'; done";
        let group = if crowd == Crowd::Group { Some(Quota::of(50)?) } else { None };
        let enter = group.as_ref().map_or_else(String::new, |group| format!("{}; ", group.script()));
        let (front, script, count) = match crowd {
            Crowd::Loop | Crowd::Group => ("", LOOP, 1),
            Crowd::Niced => ("nice -n 19", LOOP, 1),
            Crowd::Batch => ("chrt --batch 0", LOOP, 1),
            Crowd::Brief => ("", BRIEF, 2),
        };
        let script = format!("{enter}{script}");
        let one = || on(TARGET, front, &["sh", "-c", &script]);
        let programs = std::iter::repeat_with(one).take(count).collect();
        Ok(Self { _programs: programs, _group: group })
    }
}

/// Fills and frees memory: half of what is free, at most 1.5 GiB.
pub fn memory_hog() -> Process {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free_kib = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let free_kib: u64 =
        free_kib.and_then(|text| text.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0);
    let size = (free_kib / 2).min(1_536 * 1_024);
    beside("", &["dd", "if=/dev/zero", "of=/dev/null", &format!("bs={size}K"), "count=6"])
}

/// Stops the run for so long, once it has run for a while.
pub fn stop(running: &Running, length: Duration) {
    running.sleep_until(Duration::from_millis(600));
    running.process.signal(Signal::STOP);
    std::thread::sleep(length);
    running.process.signal(Signal::CONT);
}

/// A control group that gets a part of a CPU.
pub struct Quota(PathBuf);

impl Quota {
    /// `Err` says why there can be none.
    pub fn of(percent: u32) -> Result<Self, String> {
        let name = format!("tare-trust-{}", std::process::id());
        let quota = percent * 1_000;
        let one = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
            .into_iter()
            .map(|root| (root, "cpu.cfs_quota_us", quota.to_string()));
        let two = ("/sys/fs/cgroup", "cpu.max", format!("{quota} 100000"));
        let mut why = "no control group has a CPU quota".to_owned();
        for (root, file, text) in one.chain([two]) {
            let folder = Path::new(root).join(&name);
            let is_group = Path::new(root).join("cgroup.procs").is_file();
            if !is_group || std::fs::create_dir(&folder).is_err() {
                continue;
            }
            let group = Self(folder);
            match std::fs::write(group.0.join(file), text) {
                Ok(()) => return Ok(group),
                Err(error) => why = format!("{}: {error}", group.0.join(file).display()),
            }
        }
        Err(why)
    }

    /// The script by way of which a program enters.
    pub fn script(&self) -> String {
        format!("echo $$ > {}/cgroup.procs", self.0.display())
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // The kernel lets a group go only when its last process has been reaped.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Frames of 64 bytes as fast as they go, whose receiving is the work of the generator's CPU.
pub struct Flood {
    _sender: Running,
    _bed: TestBed,
}

impl Flood {
    pub fn start() -> Self {
        let bed = TestBed::pair();
        let queue = format!("/sys/class/net/{}/queues/rx-0/rps_cpus", bed.sink().interface().name);
        write_in(bed.sink(), &queue, "1");
        let words = format!("send packet:gen0 --rate max -t 5 -m 02:18:00:00:00:02 --cpus {TARGET}");
        let mut sender = Tare::packets(&words).inside(bed.generator()).start();
        sender.sleep_until(Duration::from_millis(200));
        assert!(sender.process.is_running(), "no flood: {}", sender.stderr());
        Self { _sender: sender, _bed: bed }
    }
}

/// Writes a setting in a namespace.
pub fn write_in(namespace: &Namespace, file: &str, text: &str) {
    let folder = scratch();
    let script = script_in(&folder, &format!("echo {text} > {file}"));
    run_in(namespace, &format!("sh {script}"));
}

/// A script that does something and goes on as the command that follows it, as words that can go in front of
/// one.
pub fn script_in(folder: &TempDir, does: &str) -> String {
    let path = folder.path().join("before.sh");
    std::fs::write(&path, format!("set -e\n{does}\n[ $# = 0 ] || exec \"$@\"\n")).expect("a scratch file");
    path.display().to_string()
}

/// Sets CLOCK_REALTIME on by so much, and 50 ms later back.
pub fn step_the_clock(length: Duration) -> Result<(), String> {
    let step = |forward: bool| {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
        let then = if forward { now + length } else { now - length };
        let then =
            rustix::time::Timespec { tv_sec: then.as_secs() as i64, tv_nsec: i64::from(then.subsec_nanos()) };
        rustix::time::clock_settime(rustix::time::ClockId::Realtime, then).map_err(|error| error.to_string())
    };
    step(true)?;
    std::thread::sleep(Duration::from_millis(50));
    step(false)
}

/// SHA-256 of the target's body of this size, by coreutils' word.
pub fn sha256_of_body(size: usize) -> String {
    use std::io::{Read, Write};
    let target = crate::Target::start("--no-truth");
    let address = target.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut stream = std::net::TcpStream::connect(&address).expect("the target listens");
    let ask = format!("GET /?size={size} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).expect("a request");
    let mut answer = Vec::with_capacity(size + 1_024);
    stream.read_to_end(&mut answer).expect("an answer");
    let body = &answer[answer.len() - size..];
    let folder = scratch();
    let file = folder.path().join("body");
    std::fs::write(&file, body).expect("a scratch file");
    let output = std::process::Command::new("sha256sum").arg(&file).output().expect("sha256sum runs");
    String::from_utf8_lossy(&output.stdout).split_whitespace().next().unwrap_or_default().to_owned()
}
