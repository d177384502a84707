//! What ends a command in order: Ctrl-C, SIGTERM, and the end of its terminal.

use crate::status::Failure;
use anyhow::anyhow;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{SigId, flag};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// What the end of the terminal means.
#[derive(Default)]
struct HangUp {
    /// It is another command of this program's, and ends nothing.
    is_taken: bool,
    /// What is to be undone then.
    ends: Vec<SigId>,
}

static HANG_UP: Mutex<HangUp> = Mutex::new(HangUp { is_taken: false, ends: Vec::new() });

/// From now on SIGHUP sets `signal` and ends nothing. False if it cannot be handled.
pub fn take_hang_up(signal: &Arc<AtomicBool>) -> bool {
    if flag::register(SIGHUP, signal.clone()).is_err() {
        return false;
    }
    let mut hang_up = HANG_UP.lock().unwrap_or_else(PoisonError::into_inner);
    hang_up.is_taken = true;
    hang_up.ends.drain(..).for_each(|id| _ = signal_hook::low_level::unregister(id));
    true
}

/// From now on the first of these signals sets `stop`. Once `quits` is set, the next one ends the program at
/// once.
///
/// # Errors
/// They cannot be handled.
pub fn heed(stop: &Arc<AtomicBool>, quits: Option<&Arc<AtomicBool>>) -> Result<(), Failure> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    // Whoever starts a program by `nohup` wants it to outlive the terminal.
    let mut hang_up = HANG_UP.lock().unwrap_or_else(PoisonError::into_inner);
    let is_left = hang_up.is_taken || ignores(&status, SIGHUP);
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| *signal != SIGHUP || !is_left) {
        let quit = quits.map(|quits| flag::register_conditional_shutdown(signal, 130, quits.clone()));
        for id in quit.into_iter().chain([flag::register(signal, stop.clone())]) {
            let id = id.map_err(|error| Failure::wrong(anyhow!("cannot handle signals: {error}")))?;
            if signal == SIGHUP {
                hang_up.ends.push(id);
            }
        }
    }
    Ok(())
}

/// A file that reaches the limit of `ulimit -f` fails like a full disk, instead of ending the program.
pub fn survive_full_files() {
    // What cannot be handled ends the program, as it did before.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Whether a process ignores a signal, by its `status` in /proc (proc_pid_status(5)).
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nohup_ignores_stays_ignored() {
        // Signal n is bit n - 1: SIGHUP is 1, SIGINT 2.
        assert!(ignores("Name:\ttare\nSigIgn:\t0000000000000001\n", SIGHUP));
        assert!(!ignores("SigIgn:\t0000000000000002\n", SIGHUP));
        assert!(ignores("SigIgn:\t0000000000000003\n", SIGINT));
        assert!(!ignores("", SIGHUP));
    }
}
