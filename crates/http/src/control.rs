//! The one thing that threads share while they run: whether to stop, and why.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

/// Why a run stops before its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Halt {
    #[default]
    No,
    /// The user wants it.
    Interrupted,
    /// The file of requests was truncated.
    SourceLost,
    /// The generator can not go on.
    Failed,
    /// A limit of the plan came true that ends the run (`--abort-if`).
    Aborted,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Control {
    halt: AtomicU8,
    why: Mutex<Option<String>>,
}

impl Control {
    pub fn halt(&self) -> Halt {
        match self.halt.load(Ordering::Relaxed) {
            0 => Halt::No,
            1 => Halt::Interrupted,
            2 => Halt::SourceLost,
            4 => Halt::Aborted,
            _ => Halt::Failed,
        }
    }

    /// Ends the run now; what is on its way is cut off. Safe in a signal handler.
    pub fn interrupt(&self) {
        let _ = self.halt.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub fn lose_source(&self, why: String) {
        self.stop(2, why);
    }

    pub fn fail(&self, why: String) {
        self.stop(3, why);
    }

    /// Ends the run now, as `interrupt` does; `why` is the limit and its value.
    pub fn abort(&self, why: String) {
        self.stop(4, why);
    }

    fn stop(&self, halt: u8, why: String) {
        if let Ok(mut known) = self.why.lock() {
            known.get_or_insert(why);
        }
        let _ = self.halt.compare_exchange(0, halt, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// In words, if it was not the user.
    pub fn why(&self) -> Option<String> {
        self.why.lock().ok().and_then(|why| why.clone())
    }
}
