//! Keys while a run shows its progress line: `+` and `-` change the rate, space pauses and resumes, `m` marks,
//! `q` stops.
//!
//! They are read only where standard input and standard error are one's terminal and the run is in its
//! foreground. The terminal gives each key at once and does not show it; what it was before is put back when
//! this is dropped.

use crate::control::{By, JobControl};
use clock::{Clock, HostClock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetpgrp, tcsetattr,
};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Reads keys until it is dropped.
pub struct Keys {
    before: Termios,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Keys {
    /// `None` where there are no keys to be read.
    pub fn start(control: Arc<JobControl>, clock: HostClock) -> Option<Self> {
        let (input, error) = (io::stdin(), io::stderr());
        let is_ours = tcgetpgrp(&input).is_ok_and(|group| group == rustix::process::getpgrp());
        if !(isatty(&input) && isatty(&error) && is_ours) {
            return None;
        }
        let before = tcgetattr(&input).ok()?;
        let mut raw = before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&input, OptionalActions::Now, &raw).ok()?;
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let thread = std::thread::Builder::new()
            .name("tare-keys".to_owned())
            .spawn(move || listen(&control, clock, &is_over))
            .ok();
        // Without the thread, dropping puts the terminal back at once.
        let keys = Self { before, over, thread };
        keys.thread.is_some().then_some(keys)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

fn listen(control: &JobControl, clock: HostClock, over: &AtomicBool) {
    let input = io::stdin();
    while !over.load(Ordering::Relaxed) {
        let mut ready = [PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN)];
        if !matches!(poll(&mut ready, Some(&ROUND)), Ok(1..)) {
            continue;
        }
        let mut keys = [0; 64];
        match rustix::io::read(&input, &mut keys) {
            // The terminal is gone.
            Ok(0) if ready[0].revents().contains(PollFlags::HUP) => return,
            Ok(count) => keys[..count].iter().for_each(|key| press(*key, control, clock)),
            Err(_) => return,
        }
    }
}

fn press(key: u8, control: &JobControl, clock: HostClock) {
    let Some(command) = command_of(key) else { return };
    let said = match control.ask(command, clock.now(), By::Key) {
        Ok(said) | Err(said) => said,
    };
    // A line of its own below the progress; a terminal that is gone does not matter.
    let _ = writeln!(io::stderr().lock(), "\r\x1b[2K{said}");
}

/// What a key asks for.
const fn command_of(key: u8) -> Option<&'static str> {
    Some(match key {
        b'+' | b'=' => "faster",
        b'-' | b'_' => "slower",
        b' ' => "toggle",
        b'm' => "mark",
        b'q' => "stop",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_command_and_others_have_none() {
        let commands: Vec<_> = b"+- qm".iter().filter_map(|key| command_of(*key)).collect();
        assert_eq!(commands, ["faster", "slower", "toggle", "stop", "mark"]);
        assert!((0..=255u8).filter(|key| command_of(*key).is_some()).count() == 7);
    }
}
