//! What a script costs: frames with three fields that change, made by the fields of a plan and by Lua, and the
//! same frames without any change, on one core over `mem`.
//!
//! ```text
//! SendJob ─► flood ─► template ─ (burst of 64 ─► LuaJIT ─► checksums) ─► [ mem ═ mem ─► forgotten ]
//! ```
//!
//! The sending is that of `tare send --rate max`. Prints millions of frames per second of this process's own
//! CPU time, the median of some trials: `cargo run --release -p tare-benches --bin script_rate [FRAMES]`.

#[path = "shared.rs"]
mod shared;

use clock::HostClock;
use packet::send::SendJob;
use packet::{Job, JobControl};
use plan::packets::send::SendPlanFile;
use shared::{Loop, Silence, cpu_s};
use std::sync::Arc;
use units::Instant;

const FRAMES: u64 = 10_000_000;
const TRIALS: usize = 5;

/// The same three fields as those of `FIELDS`.
const SCRIPT: &str = "lua = '''
function burst(b)
    for i = 1, b.count do
        local n = b:seq(i)
        b:set32(i, 26, 0xc6120001 + n % 254)
        b:set16(i, 34, 1024 + n % 4096)
        b:set16(i, 36, 9 + n % 1000)
    end
end
'''
";
/// What a script costs that does nothing.
const IDLE: &str = "lua = 'function burst(b) end'\n";
const FIELDS: &str = "vary = [\"src=198.18.0.1..198.18.0.254\", \"sport=1024..5119\", \"dport=9..1008\"]\n";

/// Millions of frames a second of CPU time.
fn trial(
    size: usize,
    frames: u64,
    (script, fields): (&str, &str),
    clock: HostClock,
) -> Result<f64, Box<dyn std::error::Error>> {
    let text = format!(
        "[send]\nport = \"mem:loop\"\nrate = \"max\"\nframes = {frames}\n{script}[frames]\nsize = {size}\n\
         dst_mac = \"02:00:00:00:00:02\"\n{fields}"
    );
    let (plan, _) = SendPlanFile::from_toml(&text, "script_rate")?.resolve()?;
    let job = Box::new(SendJob::through(plan, Box::new(Loop::new(|_: &port::Frame<'_>| ())), clock)?);
    let mut make = |_: Instant| -> packet::Recorders { vec![Box::new(Silence)] };
    let control = Arc::new(JobControl::default());
    let running = job.start(control.clone(), &mut make)?;
    let before = cpu_s();
    let findings = running.join();
    let took = cpu_s() - before;
    if let Some(problem) = control.why() {
        return Err(problem.into());
    }
    assert_eq!(findings.report.ports[0].sent, frames, "all have left");
    Ok(frames as f64 / took / 1e6)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let frames = std::env::args().nth(1).map_or(Ok(FRAMES), |frames| frames.parse())?;
    let clock = HostClock::calibrate();
    let ways = [
        ("one frame over and over", ("", "")),
        ("3 fields of a plan", ("", FIELDS)),
        ("3 fields by a script", (SCRIPT, "")),
        ("a script that does nothing", (IDLE, "")),
    ];
    for size in [64, 1_518] {
        for (name, way) in ways {
            let mut rates =
                (0..TRIALS).map(|_| trial(size, frames, way, clock)).collect::<Result<Vec<_>, _>>()?;
            rates.sort_by(f64::total_cmp);
            println!("{size} B, {name}: {:.2} M/s", rates[TRIALS / 2]);
        }
    }
    Ok(())
}
