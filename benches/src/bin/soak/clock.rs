//! A step of the machine's wall clock, taken back at once.
//!
//! No process can be given a wall clock of its own while it runs, so all programs of the machine see this one
//! step.

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
