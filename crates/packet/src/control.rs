//! What the threads of a run and those who steer it share: whether to stop, and why.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Why a run stops before its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Halt {
    #[default]
    No,
    /// The user wants it.
    Interrupted,
    /// A port failed, an interface is gone…
    Failed,
    /// A limit of the plan came true that ends the run (`--abort-if`).
    Aborted,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Control {
    halt: AtomicU8,
    why: Mutex<Option<String>>,
    stop: AtomicBool,
}

impl Control {
    pub fn halt(&self) -> Halt {
        match self.halt.load(Ordering::Relaxed) {
            0 => Halt::No,
            1 => Halt::Interrupted,
            2 => Halt::Failed,
            _ => Halt::Aborted,
        }
    }

    /// Whether threads shall end now.
    #[inline]
    pub fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The same as a flag, for calls that watch it themselves.
    pub const fn stop_flag(&self) -> &AtomicBool {
        &self.stop
    }

    pub fn interrupt(&self) {
        self.end(1, None);
    }

    pub fn fail(&self, why: String) {
        self.end(2, Some(why));
    }

    pub fn abort(&self, why: String) {
        self.end(3, Some(why));
    }

    fn end(&self, halt: u8, why: Option<String>) {
        if let (Some(why), Ok(mut known)) = (why, self.why.lock()) {
            known.get_or_insert(why);
        }
        let _ = self.halt.compare_exchange(0, halt, Ordering::Relaxed, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The first reason that was given.
    pub fn why(&self) -> Option<String> {
        self.why.lock().ok().and_then(|why| why.clone())
    }
}
