//! Whole-system tests: the harness. The suites are four programs in `tests/`, with a module for each theme.
//!
//! ```text
//! test ─► Tare (arguments, limits, namespaces) ─► Run { status, result }  every one checked for conservation
//!   │
//!   ├──► Target   `tare target`, with the truth that it writes
//!   ├──► Nginx    the real one, with its own access log
//!   ├──► Recorder a server that writes down what it was sent
//!   ├──► Wire     a scripted TCP server for what no decent server does
//!   ├──► TestBed  namespaces and veth pairs, for frames
//!   ├──► trust    runs that something tries to spoil, beside what the target says of them
//!   ├──► forecasts plans of many kinds, forecast and run
//!   └──► browser  a headless Chromium that opens a page
//! ```
//!
//! - The binary is `target/release/tare`; `cargo build --release -p tare` makes it.
//! - Everything listens on loopback, or in a namespace that the test made; every process is ended by its pid,
//!   also when a test panics.
//! - A test that measures time takes [`alone`], or [`light`] if it leaves the CPUs idle and some milliseconds
//!   more do no harm; every other takes [`beside_others`]. So a measurement shares the machine with no other
//!   test, or with another that is as light.
//! - A test that lacks a program or a privilege fails and says what is missing. One that the machine makes
//!   meaningless (its CPUs are with others, no figure is the same twice) says so by [`skipped`], and is counted
//!   as that.

#![forbid(unsafe_code)]

pub mod bed;
pub mod browser;
pub mod check;
pub mod devtools;
pub mod forecasts;
pub mod lock;
pub mod module;
pub mod nginx;
pub mod process;
pub mod recipe;
pub mod recorder;
pub mod run;
pub mod target;
pub mod tmux;
pub mod trust;
pub mod wire;

pub use bed::TestBed;
pub use lock::{alone, beside_others, light};
pub use nginx::Nginx;
pub use process::Process;
pub use recorder::Recorder;
pub use run::{Run, Running, Tare};
pub use target::Target;

use std::path::PathBuf;

/// The release binary, beside this test's own executable: `target/release/deps/x` → `target/release/tare`.
pub fn binary() -> PathBuf {
    let own = std::env::current_exe().expect("a running test knows its file");
    let release = own.ancestors().find(|dir| dir.join("tare").is_file());
    release.expect("no `tare` beside the tests: run cargo build --release -p tare first").join("tare")
}

/// Fails the test if `program` is not installed.
pub fn need(program: &str) {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let found = path.split(':').any(|dir| PathBuf::from(dir).join(program).is_file());
    assert!(found, "{program} is not installed: make test installs what the tests need");
}

/// Debian's libfaketime, which stands between a program and its C library's clocks.
pub fn libfaketime() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").expect("/usr/lib").flatten().map(|entry| entry.path());
    let mut found = folders.map(|dir| dir.join("faketime/libfaketimeMT.so.1")).filter(|path| path.is_file());
    found.next().expect("libfaketime is not installed: apt-get install -y libfaketime")
}

/// Fails the test if it does not run as root, which namespaces, mounts and raised limits need.
pub fn need_root() {
    assert!(
        rustix::process::geteuid().is_root(),
        "this test makes namespaces or raises limits: run it as root"
    );
}

/// A scratch folder that is removed at the end.
pub fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("tare-system-").tempdir().expect("a scratch folder can be made")
}

/// Makes a measurement again if it fails, at most `tries` times: a pause of the machine, or another program's
/// work, may be in one of them. Only for what depends on time; what is counted must be right at once. Where the
/// hypervisor gave this machine's CPUs to others during each of the tries, they say nothing: that is printed,
/// and is no failure.
pub fn patiently(tries: usize, measure: impl Fn()) {
    let mut least = f64::INFINITY;
    for left in (0..tries).rev() {
        let before = CpuTimes::now();
        // The message of a failure is printed.
        let Err(failure) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(&measure)) else { return };
        least = least.min(before.stolen());
        if left == 0 && least < STOLEN {
            std::panic::resume_unwind(failure);
        }
    }
    skipped(&format!(
        "in each of {tries} tries other machines had {:.0} % or more of these CPUs",
        least * 100.0
    ));
}

/// Says that a test could not show what it is for. Nothing of a passing test's words is shown, so they are kept
/// for the totals as well (`scripts/test.sh` reads them).
pub fn skipped(why: &str) {
    use std::io::Write;
    eprintln!("SKIPPED: {why}");
    let Some(path) = std::env::var_os("TARE_SKIPPED") else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| writeln!(file, "SKIPPED: {}", why.replace('\n', " ")));
    written.expect("the list of skipped tests can be written");
}

/// Share of the CPUs' time from which on times that were measured say nothing: the verdict's own limit for
/// INVALID.
const STOLEN: f64 = 0.05;

/// What `/proc/stat` has counted, in its own units.
struct CpuTimes {
    all: u64,
    stolen: u64,
}

impl CpuTimes {
    fn now() -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        // user nice system idle iowait irq softirq steal; what guests had is in user and nice already.
        let times: Vec<u64> =
            line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
        Self { all: times.iter().sum(), stolen: times.get(7).copied().unwrap_or(0) }
    }

    /// Share of the time since then that others had.
    fn stolen(&self) -> f64 {
        let now = Self::now();
        now.stolen.saturating_sub(self.stolen) as f64 / now.all.saturating_sub(self.all).max(1) as f64
    }
}

/// CLOCK_MONOTONIC in nanoseconds: what `tare target` stamps with.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Fails unless `value` is within `share` of `expected`.
#[track_caller]
pub fn assert_close(what: &str, value: f64, expected: f64, share: f64) {
    let off = (value - expected).abs() / expected.abs();
    assert!(
        off <= share,
        "{what} is {value}, {:.2} % off {expected} (allowed {:.2} %)",
        off * 100.0,
        share * 100.0
    );
}
