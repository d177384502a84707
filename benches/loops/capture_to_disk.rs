//! Captures a port to a file for some seconds, and says what came and what it cost: the capture alone, without
//! plan, store and report. To set beside tcpdump: the same frames, the same file system, CPU time of each
//! process.
//!
//! ```text
//! capture_to_disk packet:veth0 /dev/shm/a.pcapng 5 [plain]     plain: neither flows nor signatures
//! ```

#[path = "shared.rs"]
mod shared;

use clock::HostClock;
use packet::capture::{Capture, Keeping, Settings};
use packet::{Job, JobControl};
use port::pcap::Rotation;
use shared::Silence;
use std::sync::Arc;
use units::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, file, seconds, rest @ ..] = &words[..] else {
        return Err("capture_to_disk PORT FILE SECONDS [plain]".into());
    };
    let is_plain = rest.first().is_some_and(|word| word == "plain");
    let keeping = Keeping { path: file.into(), rotation: Rotation::default(), buffer: 64_000_000 };
    let settings = Settings {
        length: Some(seconds.parse()?),
        file: (file != "-").then_some(keeping),
        flows: !is_plain,
        signatures: !is_plain,
        ..Settings::new(address.parse()?)
    };
    let capture = Box::new(Capture::open(settings, HostClock::calibrate())?);
    let mut make = |_: Instant| -> packet::Recorders { vec![Box::new(Silence)] };
    let findings = capture.start(Arc::new(JobControl::default()), &mut make)?.join();
    for port in &findings.report.ports {
        println!("received {} lost {:?}", port.received, port.drops);
    }
    findings.notes.iter().chain(&findings.labels).for_each(|sentence| println!("{sentence}"));
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the room is that of a `struct rusage`, which the call fills.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: zeroed is a valid value, whether or not the call filled it.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    println!("cpu user {:.3} sys {:.3}", seconds(usage.ru_utime), seconds(usage.ru_stime));
    Ok(())
}
