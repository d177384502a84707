//! What a thread of this process has used of a CPU.

use crate::raw;

/// A thread of this process, by the kernel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadCpu(i32);

impl ThreadCpu {
    /// The thread that calls.
    pub fn this() -> Self {
        Self(rustix::thread::gettid().as_raw_nonzero().get())
    }

    pub const fn of(tid: i32) -> Self {
        Self(tid)
    }

    pub const fn tid(self) -> i32 {
        self.0
    }

    /// Nanoseconds on a CPU since it began; `None` once it has ended.
    pub fn used_ns(self) -> Option<u64> {
        // As the kernel numbers these clocks: the thread's number inverted, and two flags (of a thread; all of
        // it).
        raw::cpu_clock_ns((!self.0 << 3) | 0b110)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_uses_time_while_it_works_alone() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            tell.send(ThreadCpu::this()).unwrap();
            let _ = ended.recv();
        });
        let (this, other) = (ThreadCpu::this(), told.recv().unwrap());
        let (before, asleep) = (this.used_ns().unwrap(), other.used_ns().unwrap());
        while this.used_ns().unwrap() < before + 20_000_000 {}
        assert!(other.used_ns().unwrap() < asleep + 20_000_000);
        drop(end);
        sleeper.join().unwrap();
        // The kernel ends it a little later than it is joined.
        let patience = crate::Deadline::after(std::time::Duration::from_secs(10));
        while other.used_ns().is_some() && !patience.is_over() {
            std::thread::yield_now();
        }
        assert_eq!(other.used_ns(), None);
    }
}
