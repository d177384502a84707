//! A step of the wall clock, taken back at once: the machine's, which all its programs see, or only the run's,
//! by libfaketime. The kernel's receive stamps follow the machine's clock either way.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How far, and for how long.
const OFFSET: Duration = Duration::from_millis(500);
const HELD: Duration = Duration::from_secs(1);

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stepped {
    NotAsked,
    /// Forward, and back.
    Done,
    /// The same, as the run alone sees it.
    Faked,
    /// The machine does not let this process do it.
    Refused(String),
}

/// Steps the wall clock forward, and back a second later.
pub fn step() -> Stepped {
    match Ahead::new() {
        Ok(ahead) => {
            std::thread::sleep(HELD);
            drop(ahead);
            Stepped::Done
        }
        Err(error) => Stepped::Refused(error.to_string()),
    }
}

/// The clock that a program sees, in a file that libfaketime reads.
pub struct FakeClock {
    file: PathBuf,
    offset: Duration,
}

impl FakeClock {
    /// libfaketime reads the file once a second: each look at the clock would cost a run at full rate too much.
    const HELD: Duration = Duration::from_secs(5);

    pub fn new(folder: &Path) -> std::io::Result<Self> {
        let mut clock = Self { file: folder.join("clock"), offset: OFFSET };
        clock.set(Duration::ZERO).map(|()| clock)
    }

    pub fn show_to(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", tare_system_tests::libfaketime())
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            .env("FAKETIME_CACHE_DURATION", "1")
            .env("DONT_FAKE_MONOTONIC", "1");
    }

    /// Forward and, as long as it is held later, back: `since` is how long ago the step was due.
    pub fn step(&mut self, since: Duration) -> std::io::Result<Stepped> {
        self.set(if since < Self::HELD { OFFSET } else { Duration::ZERO })?;
        Ok(Stepped::Faked)
    }

    fn set(&mut self, ahead: Duration) -> std::io::Result<()> {
        if ahead == self.offset {
            return Ok(());
        }
        self.offset = ahead;
        // Whole at any time.
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("+{}\n", ahead.as_secs_f64()))?;
        std::fs::rename(new, &self.file)
    }
}

/// While it lives, the clock is ahead: whatever happens meanwhile, it goes back.
struct Ahead;

impl Ahead {
    fn new() -> std::io::Result<Self> {
        shift(1).map(|()| Self)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Err(error) = shift(-1) {
            eprintln!("soak: the clock is {OFFSET:?} ahead now, for it could not be set back: {error}");
        }
    }
}

/// Moves the clock by one offset, forward or back: adjtimex(2). What went by meanwhile is not lost, as it would
/// be if the time were read and set.
fn shift(direction: i64) -> std::io::Result<()> {
    // SAFETY: timex is plain integers; all zeroes is a valid value.
    let mut by: libc::timex = unsafe { std::mem::zeroed() };
    by.modes = libc::ADJ_SETOFFSET | libc::ADJ_NANO;
    let nanos = direction * OFFSET.as_nanos() as i64;
    // The second part must not be negative.
    by.time =
        libc::timeval { tv_sec: nanos.div_euclid(1_000_000_000), tv_usec: nanos.rem_euclid(1_000_000_000) };
    // SAFETY: the pointer is to a live local of the right type.
    match unsafe { libc::clock_adjtime(libc::CLOCK_REALTIME, &mut by) } {
        -1 => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}
