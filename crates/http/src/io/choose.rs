//! Which kernel interface to use, and why.

use clock::HostClock;
use plan::IoChoice;

/// The interface that a run uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// io_uring rather than epoll.
    pub uring: bool,
    pub reason: String,
}

impl Choice {
    pub fn name(&self) -> &'static str {
        if self.uring { "io_uring" } else { "epoll" }
    }
}

pub fn choose(_wanted: IoChoice, _clock: HostClock) -> Choice {
    Choice { uring: false, reason: String::new() }
}
