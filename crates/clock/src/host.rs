//! placeholder until the real thing lands
use units::{Instant, Picos};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Tsc,
    Monotonic,
}
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refused {
    NotInvariant,
}
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    pub worst: Picos,
}
/// The run's clock; all threads hold a copy of the same one.
#[derive(Clone, Copy, Debug)]
pub struct HostClock {
    epoch: std::time::Instant,
}
impl HostClock {
    pub fn calibrate() -> Self {
        Self { epoch: std::time::Instant::now() }
    }
    pub fn source(&self) -> Source {
        Source::Monotonic
    }
}
impl crate::Clock for HostClock {
    fn now(&self) -> Instant {
        Instant::EPOCH + Picos::from_nanos(self.epoch.elapsed().as_nanos() as u64)
    }
}
