//! What the engine alone can do: build frames, vary three fields, sign, hand over, receive and verify, on one
//! core over `mem`.
//!
//! ```text
//! SendJob ─► flood ─► [ mem ═ mem ─► receive, verify ]      one thread: the port reads each batch back when it has been handed over
//! ```
//!
//! The sending is that of `tare send --rate max`, its thread and its records. Prints millions of frames per
//! second of this process's own CPU time for each of some trials, and the median: `cargo run --release -p
//! tare-benches --bin mem_rate [FRAMES]`.

use clock::HostClock;
use packet::send::SendJob;
use packet::{Control, Job};
use plan::packets::send::SendPlanFile;
use port::{About, Counters, For, Frame, Port, PortError, Slot};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::{Bytes, EngineCounters, Event, Fate, Instant, Miss, Phase, Picos, Record};
use wire::Signature;

const FRAMES: u64 = 20_000_000;
const TRIALS: usize = 5;

/// Both ends of a pair: what was handed over is received and verified in the same call.
struct Loop {
    out: port::mem::End,
    back: port::mem::End,
    expected: u64,
    verified: Arc<AtomicU64>,
}

impl Port for Loop {
    fn about(&self) -> &About {
        self.out.about()
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        let taken = self.out.transmit(most, write)?;
        let (mut expected, mut right) = (self.expected, 0);
        self.back.receive(taken, &mut |frame| {
            let is_right = Signature::find(frame.data).is_some_and(|found| found.seq == expected);
            right += u64::from(is_right);
            expected += 1;
        })?;
        self.expected = expected;
        self.verified.fetch_add(right, Ordering::Relaxed);
        Ok(taken)
    }

    fn receive(&mut self, _: usize, _: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        Ok(0)
    }

    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        self.out.flush(patience)
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        self.out.wait(what, patience)
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        self.out.counters()
    }
}

/// Nobody watches.
struct Silence;

impl Record for Silence {
    fn event(&mut self, _: &Event) {}
    fn missed(&mut self, _: Miss, _: u64) {}
    fn frames(&mut self, _: Fate, _: u64, _: Bytes) {}
    fn phase(&mut self, _: Phase, _: Picos) {}
    fn tick(&mut self, _: Instant, _: &EngineCounters) {}
}

/// CPU time of this process so far, in seconds.
fn cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Millions of frames a second of CPU time; every frame is verified.
fn trial(size: usize, frames: u64, clock: HostClock) -> Result<f64, Box<dyn std::error::Error>> {
    let text = format!(
        "[send]\nport = \"mem:loop\"\nrate = \"max\"\nframes = {frames}\n[frames]\nsize = {size}\nsign = true\n\
         dst_mac = \"02:00:00:00:00:02\"\nvary = [\"src=198.18.0.1..198.18.0.254\", \"sport=1024..5119\", \"dport=9..1008\"]\n"
    );
    let (plan, _) = SendPlanFile::from_toml(&text, "mem_rate")?.resolve()?;
    let (out, back) = port::mem::pair(1_024, 1_514);
    let verified = Arc::new(AtomicU64::new(0));
    let looped = Loop { out, back, expected: 0, verified: verified.clone() };
    let job = Box::new(SendJob::through(plan, Box::new(looped), clock)?);
    let mut make = |_: Instant| -> packet::Recorders { vec![Box::new(Silence)] };
    let running = job.start(Arc::new(Control::default()), &mut make)?;
    let before = cpu_s();
    let findings = running.join();
    let took = cpu_s() - before;
    if let Some(label) = findings.labels.first() {
        return Err(label.clone().into());
    }
    assert_eq!(verified.load(Ordering::Relaxed), frames, "every frame arrives with its own number");
    Ok(frames as f64 / took / 1e6)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let frames = std::env::args().nth(1).map_or(Ok(FRAMES), |frames| frames.parse())?;
    let clock = HostClock::calibrate();
    for size in [64, 1_518] {
        let mut rates = (0..TRIALS).map(|_| trial(size, frames, clock)).collect::<Result<Vec<_>, _>>()?;
        rates.sort_by(f64::total_cmp);
        let all: Vec<String> = rates.iter().map(|rate| format!("{rate:.2}")).collect();
        println!("{size} bytes: {:.2} M/s of CPU time (of {TRIALS}: {})", rates[TRIALS / 2], all.join(" "));
    }
    Ok(())
}
