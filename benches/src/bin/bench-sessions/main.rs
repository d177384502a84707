//! `tare http --via` beside others: over a veth pair, the other end in a network namespace of its own.
//!
//! ```text
//! bench-sessions [--quick] [--rounds N] [--seconds N] [--connections N]
//!
//!   CPU 0, generator's namespace                   CPU 1, sink's namespace
//!   wrk │ h2load │ tare │ tare --via ─── veth ──── nginx, one worker, 600 bytes │ tare target --over
//! ```
//!
//! | case | asks |
//! |---|---|
//! | `beside_wrk` | requests a second and CPU for each of them: kept connections, and one for each request |
//! | `profile` | whose CPU time it is: the target's TCP, system calls, our own code and its parts |
//! | `https` | CPU for each request, beside h2load |
//! | `even` | how even 20 000 requests a second arrive, beside the kernel's sockets |
//! | `many` | memory of each of a million connections; `--quick` has 100 000 |
//!
//! Each round has one run of every kind, so that a machine that becomes slower does so for all. Printed are
//! medians over rounds. The kernel does much of the target's work where the generator sends (veth has no wire
//! between them), and that counts as the generator's. So the first two cases are made once more with the sink's
//! interface polled by a thread of the kernel (threaded NAPI), as if there were a wire.

mod beside_wrk;
mod even;
#[path = "../../stamps/evenness.rs"]
mod evenness;
#[allow(dead_code, reason = "shared with bench-live, whose flags all have numbers")]
#[path = "../../flags.rs"]
mod flags;
mod https;
mod many;
mod profile;
mod program;
#[path = "../../scratch.rs"]
mod scratch;
#[allow(dead_code, reason = "shared with bench-http, which needs more of it")]
#[path = "../../stats.rs"]
mod stats;

use anyhow::{Result, ensure};
use bed::Topology;
use rustix::thread::CpuSet;

/// The server's address in every bed.
const SERVER: &str = "198.18.0.2";
const PORT: u16 = 8080;
/// The generator's.
const CPU: &str = "0";
const SERVERS_CPU: usize = 1;

/// Only the result is printed, whatever is thought of it.
const QUIET: [&str; 4] = ["--json", "--no-progress", "--no-save", "--accept-invalid"];
/// One address of our own.
const VIA: &str = "--via packet:gen0,ip=198.18.0.10/24";

struct Options {
    rounds: u64,
    seconds: u64,
    connections: u64,
    is_quick: bool,
}

fn main() -> Result<()> {
    let options = options()?;
    ensure!(
        std::thread::available_parallelism()?.get() > SERVERS_CPU,
        "one CPU for both ends: the generator would wait for the target"
    );
    let bed = bed::Bed::up(&Topology::unique())?;
    beside_wrk::case(&bed, &options)?;
    profile::case(&bed, &options)?;
    let as_wired = bed::Bed::up(&Topology::unique().with_gro())?;
    poll_in_a_thread(&as_wired)?;
    println!("The same, with the sink's interface polled by a thread of its kernel:\n");
    beside_wrk::case(&as_wired, &options)?;
    profile::case(&as_wired, &options)?;
    drop(as_wired);
    profile::own_code(&options)?;
    https::case(&bed, &options)?;
    even::case(&bed, &options)?;
    many::case(&bed, &options)
}

/// What the sink's kernel does with frames is then that thread's time, not the sender's.
fn poll_in_a_thread(bed: &bed::Bed) -> Result<()> {
    let mut command = bed.sink().command("sh");
    let status = command.args(["-c", "echo 1 > /sys/class/net/sink0/threaded"]).status()?;
    ensure!(status.success(), "this kernel has no threads for NAPI");
    Ok(())
}

fn options() -> Result<Options> {
    let (mut rounds, mut seconds, mut connections) = (5, 3, 64);
    let mut numbers =
        [("--rounds", &mut rounds), ("--seconds", &mut seconds), ("--connections", &mut connections)];
    let is_quick = flags::read_beside(&mut numbers, "--quick")?;
    Ok(Options { rounds, seconds, connections, is_quick })
}

fn only(cpu: usize) -> CpuSet {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    cpus
}
