//! How long something takes, and how long it may: for waits on other processes and threads, where no due time
//! is at stake. Whatever is measured for a report takes a [`crate::Clock`].

use std::time::{Duration, Instant};

/// When nobody waits any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    pub fn after(length: Duration) -> Self {
        Self(Instant::now() + length)
    }

    /// Zero once it is over.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    pub fn is_over(self) -> bool {
        self.left().is_zero()
    }
}

/// The time since it was started. The later one is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_comes_once() {
        let (near, far) = (Deadline::after(Duration::ZERO), Deadline::after(Duration::from_secs(60)));
        assert!(near.is_over() && near.left().is_zero());
        assert!(!far.is_over() && far.left() > Duration::from_secs(50) && near < far);
    }

    #[test]
    fn a_stopwatch_goes_on() {
        let earlier = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(2));
        let later = Stopwatch::start();
        assert!(later > earlier && earlier.elapsed() >= Duration::from_millis(2));
    }
}
