//! Clock sources with measured precision and overhead, and why a better one was refused.
//!
//! ```text
//! calibrate ──► HostClock (Copy) ── now() ──► Instant        FakeClock for tests
//! ```

mod host;

pub use host::{Agreement, HostClock, Refused, Source};

use units::Instant;

/// Anything that tells the time. Engines take one, so that tests can pass a fake.
pub trait Clock {
    fn now(&self) -> Instant;
}
