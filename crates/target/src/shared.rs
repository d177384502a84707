//! What all workers share: the settings, the clock, the counters and the programmed times.

use crate::answer::Pattern;
use crate::config::{Origin, TargetConfig};
use crate::stats::Board;
use base64::Engine;
use clock::{Clock, HostClock};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use units::{Instant, Picos};

const NOT_YET: u64 = u64::MAX;

pub(crate) struct Shared {
    pub config: TargetConfig,
    pub clock: HostClock,
    pub board: Board,
    pub pattern: Pattern,
    /// `Basic …` that a request must show.
    pub authorization: Option<Vec<u8>>,
    /// Set once: everything ends.
    pub stop: AtomicBool,
    /// Number of the next connection.
    pub connections: AtomicU64,
    started: Instant,
    first_request: AtomicU64,
    /// Picoseconds at which the next request may be served under `rate`.
    next_slot: AtomicU64,
    /// Tunnels that are open.
    pub tunnels: AtomicU64,
}

impl Shared {
    pub fn new(config: TargetConfig, clock: HostClock) -> Self {
        let encode = |auth: &String| {
            format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(auth)).into_bytes()
        };
        let workers = usize::try_from(config.workers.get()).expect("workers are checked to be at most 256");
        Self {
            board: Board::new(workers),
            pattern: Pattern::new(config.body.as_deref()),
            authorization: config.require_auth.as_ref().map(encode),
            stop: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            started: clock.now(),
            first_request: AtomicU64::new(NOT_YET),
            next_slot: AtomicU64::new(0),
            tunnels: AtomicU64::new(0),
            clock,
            config,
        }
    }

    /// Notes a request's arrival; the first is the origin of programmed times.
    pub fn arrived(&self, at: Instant) {
        if self.first_request.load(Ordering::Relaxed) == NOT_YET {
            let at = at.since_epoch().as_picos();
            let _ = self.first_request.compare_exchange(NOT_YET, at, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// When programmed times count from; `None` before it is known.
    pub fn origin(&self) -> Option<Instant> {
        match self.config.origin {
            Origin::Start => Some(self.started),
            Origin::FirstRequest => {
                let first = self.first_request.load(Ordering::Relaxed);
                (first != NOT_YET).then(|| Instant::from_picos(first))
            }
        }
    }

    /// If nothing shall be served at `now`: until when.
    pub fn stalled_until(&self, now: Instant) -> Option<Instant> {
        let origin = self.origin()?;
        let ends = self.config.stall.iter().filter_map(|window| {
            let from = origin + window.at;
            let to = from + window.length;
            (from <= now && now < to).then_some(to)
        });
        ends.max()
    }

    /// Whether a programmed time, if there is one, has come.
    pub fn has_come(&self, at: Option<Picos>, now: Instant) -> bool {
        matches!((at, self.origin()), (Some(at), Some(origin)) if origin + at <= now)
    }

    /// When a request that is complete at `now` is served under the rate limit: slots are one gap apart and are
    /// handed out in order of arrival. The gap is rounded down to a picosecond, which is faster than
    /// asked by at most 10⁻¹² of a second each request.
    pub fn slot(&self, now: Instant) -> Instant {
        let Some(rate) = self.config.rate else { return now };
        let now = now.since_epoch().as_picos();
        let gap = rate.gap().as_picos();
        let mut next = self.next_slot.load(Ordering::Relaxed);
        loop {
            let slot = next.max(now);
            let after = slot.saturating_add(gap);
            match self.next_slot.compare_exchange_weak(next, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Instant::from_picos(slot),
                Err(seen) => next = seen,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Window;

    #[test]
    fn slots_are_one_gap_apart_and_do_not_save_up() {
        let config = TargetConfig { rate: Some("1000/s".parse().unwrap()), ..TargetConfig::default() };
        let shared = Shared::new(config, HostClock::monotonic());
        let at = |millis| Instant::EPOCH + Picos::from_millis(millis);
        let slots: Vec<Instant> = (0..3).map(|_| shared.slot(at(10))).collect();
        assert_eq!(slots, [at(10), at(11), at(12)]);
        // Idle until 50 ms: the next two are 1 ms apart all the same.
        assert_eq!([shared.slot(at(50)), shared.slot(at(50))], [at(50), at(51)]);
    }

    #[test]
    fn a_stall_begins_with_the_first_request() {
        let window = Window { at: Picos::from_millis(5), length: Picos::from_millis(10) };
        let config = TargetConfig { stall: vec![window], ..TargetConfig::default() };
        let shared = Shared::new(config, HostClock::monotonic());
        let at = |millis| Instant::EPOCH + Picos::from_millis(millis);
        assert_eq!(shared.stalled_until(at(106)), None);
        shared.arrived(at(100));
        shared.arrived(at(103));
        assert_eq!(shared.stalled_until(at(104)), None);
        assert_eq!(shared.stalled_until(at(105)), Some(at(115)));
        assert_eq!(shared.stalled_until(at(114)), Some(at(115)));
        assert_eq!(shared.stalled_until(at(115)), None);
    }
}
