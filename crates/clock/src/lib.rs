//! Clock sources with measured precision and overhead, and why a better one was refused.
//!
//! ```text
//!              ┌─ probe ─► Tsc ────────┐
//! calibrate ───┤   └─ Refused (why)    ├──► HostClock (Copy) ── now() ──► Instant
//!              └─────────► Monotonic ──┘        │                        FakeClock for tests
//!                                               └── check(), watch() ──► Agreement
//! ```
//!
//! An `Instant` is picoseconds since the clock's epoch, which is the start of its calibration.
//! This is the only crate that reads a clock.

mod agreement;
mod calibration;
mod fake;
mod host;
mod patience;
pub mod phc;
pub mod priority;
mod probe;
mod raw;
mod realtime;
mod sleep;
mod thread_cpu;

pub use agreement::{Agreement, Watch};
pub use fake::FakeClock;
pub use host::{ClockSource, HostClock};
pub use patience::{Deadline, Stopwatch};
pub use probe::{KernelClock, Refused};
pub use raw::{clock_ns, monotonic_ns, tai_minus_unix_ns, thread_cpu_ns, unix_ns, wall_time};
pub use realtime::Realtime;
pub use sleep::set_timer_slack_ns;
pub use thread_cpu::ThreadCpu;

use units::Instant;

/// Anything that tells the time. Engines take one, so that tests can pass a fake.
pub trait Clock {
    fn now(&self) -> Instant;
}

impl<C: Clock> Clock for &C {
    fn now(&self) -> Instant {
        (*self).now()
    }
}
