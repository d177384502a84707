//! Whether the loop went round as it meant to, or stood still: stopped, preempted, or its machine taken away.
//!
//! ```text
//!   wall time  ├──────────────────────────────────────────────────────────────┤
//!              └─ meant to wait ─┘└─ worked (CPU time) ─┘└─ stood still: a pause ─┘
//! ```
//!
//! Work is bounded: a turn handles sockets for [`TURN`] at most. CPU time beyond that is no work of the loop's
//! (a hypervisor that takes the CPU away may book what it took as the thread's), so it counts as a pause too.

use units::{Instant, Picos};

/// Sockets are handled for this long before the loop looks at its other duties.
pub const TURN: Picos = Picos::from_micros(500);
/// The CPU's time is asked for once in so long, as asking is a system call.
const LOOK: Picos = Picos::from_micros(500);
/// The most that a turn works for: sockets, then departures that fell due meanwhile, and one handshake.
const WORK: Picos = Picos::from_millis(2);
/// From here on it is a pause.
pub const SHORTEST: Picos = Picos::from_millis(1);

/// A time in which the loop stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When it ended, at the latest.
    pub until: Instant,
    pub length: Picos,
}

/// See the module.
#[derive(Debug)]
pub struct Pulse {
    since: Instant,
    cpu_ns: u64,
    waited: Picos,
}

impl Pulse {
    pub fn new(now: Instant, cpu_ns: u64) -> Self {
        Self { since: now, cpu_ns, waited: Picos::ZERO }
    }

    /// The loop waited for `took`, and had meant to wait for `meant` at most.
    pub fn waited(&mut self, meant: Picos, took: Picos) {
        self.waited += took.min(meant);
    }

    /// Once a turn: the pause since the last look, if there was one. `cpu_ns` is this thread's CPU time.
    pub fn turn(&mut self, now: Instant, cpu_ns: impl FnOnce() -> u64) -> Option<Pause> {
        let wall = now.since(self.since);
        if wall < LOOK {
            return None;
        }
        let cpu = cpu_ns();
        let worked = Picos::from_nanos(cpu.saturating_sub(self.cpu_ns)).min(WORK);
        let length = wall - self.waited - worked;
        *self = Self::new(now, cpu);
        (length >= SHORTEST).then_some(Pause { until: now, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::EPOCH + Picos::from_micros(micros)
    }
    fn micros(micros: u64) -> Picos {
        Picos::from_micros(micros)
    }

    #[test]
    fn waiting_and_working_are_no_pause() {
        let mut pulse = Pulse::new(at(0), 0);
        // 20 ms asleep as meant, 600 µs of work.
        pulse.waited(micros(20_000), micros(20_000));
        assert_eq!(pulse.turn(at(20_600), || 600_000), None);
    }

    #[test]
    fn waking_late_is_a_pause() {
        let mut pulse = Pulse::new(at(0), 0);
        // Asked for 20 ms, woken after 65 ms: 45 ms stood still.
        pulse.waited(micros(20_000), micros(65_000));
        assert_eq!(pulse.turn(at(65_000), || 10_000).map(|pause| pause.length), Some(micros(44_990)));
    }

    #[test]
    fn losing_the_cpu_at_work_is_a_pause() {
        let mut pulse = Pulse::new(at(0), 1_000_000);
        // 30 ms passed, of which this thread had 0.4 ms of a CPU.
        let pause = pulse.turn(at(30_000), || 1_400_000);
        assert_eq!(pause, Some(Pause { until: at(30_000), length: micros(29_600) }));
        assert_eq!(pulse.turn(at(30_400), || unreachable!("too soon to ask")), None);
    }

    #[test]
    fn cpu_time_that_no_turn_needs_is_a_pause() {
        let mut pulse = Pulse::new(at(0), 0);
        // A hypervisor took 10 ms and the kernel booked it as this thread's.
        assert_eq!(pulse.turn(at(10_000), || 10_000_000).map(|pause| pause.length), Some(micros(8_000)));
    }
}
