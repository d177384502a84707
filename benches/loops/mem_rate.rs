//! What the engine alone can do: build frames, vary three fields, sign, hand over, receive and verify, on one
//! core over `mem`.
//!
//! ```text
//! SendJob ─► flood ─► [ mem ═ mem ─► receive, verify ]      one thread: the port reads each batch back as
//!                                                           soon as it has been handed over
//! ```
//!
//! The sending is that of `tare send --rate max`, its thread and its records. Prints millions of frames per
//! second of this process's own CPU time for each of some trials, and the median: `cargo run --release -p
//! tare-benches --bin mem_rate [FRAMES]`.

#[path = "shared.rs"]
mod shared;

use clock::HostClock;
use packet::send::SendJob;
use packet::{Job, JobControl};
use plan::packets::send::SendPlanFile;
use port::Frame;
use shared::{Loop, Silence, cpu_s};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::Instant;
use wire::Signature;

const FRAMES: u64 = 20_000_000;
const TRIALS: usize = 5;

/// Millions of frames a second of CPU time; every frame is verified.
fn trial(size: usize, frames: u64, clock: HostClock) -> Result<f64, Box<dyn std::error::Error>> {
    let text = format!(
        "[send]\nport = \"mem:loop\"\nrate = \"max\"\nframes = {frames}\n[frames]\nsize = {size}\nsign = true\n\
         dst_mac = \"02:00:00:00:00:02\"\nvary = [\"src=198.18.0.1..198.18.0.254\", \"sport=1024..5119\", \"dport=9..1008\"]\n"
    );
    let (plan, _) = SendPlanFile::from_toml(&text, "mem_rate")?.resolve()?;
    let verified = Arc::new(AtomicU64::new(0));
    let (seen, mut expected, mut right) = (verified.clone(), 0, 0);
    let looped = Loop::new(move |frame: &Frame<'_>| {
        let is_right = Signature::find(frame.data).is_some_and(|found| found.seq == expected);
        right += u64::from(is_right);
        seen.store(right, Ordering::Relaxed);
        expected += 1;
    });
    let job = Box::new(SendJob::through(plan, Box::new(looped), clock)?);
    let mut make = |_: Instant| -> packet::Recorders { vec![Box::new(Silence)] };
    let running = job.start(Arc::new(JobControl::default()), &mut make)?;
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
