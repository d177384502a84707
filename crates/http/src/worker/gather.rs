//! When a closed loop may sleep while answers gather.
//!
//! A thread that sleeps in the kernel is woken by the first answer; waking it costs the target's core more than
//! the answer did, and the batch it finds is small. Where answers come every few microseconds and many more are
//! on their way, the thread sleeps by the clock instead and takes what has gathered: fewer wake-ups, more
//! requests a second and a shorter queue at the target. An answer is seen later by at most one nap: about a
//! tenth of the time that it took, as at least `IN_FLIGHT` requests wait at the same time.

use units::{Instant, Picos};

/// Asked for; the kernel's timer makes about 0.1 ms of it on a virtual machine.
const NAP: Picos = Picos::from_micros(20);
/// So many requests must be on their way on this thread, or the target would run dry meanwhile.
const IN_FLIGHT: u64 = 32;
/// So many answers in a window make napping worth it: one each 25 µs.
const DENSE: u64 = 40;
const WINDOW: Picos = Picos::from_millis(1);

/// How densely answers have come of late.
#[derive(Debug)]
pub struct Gather {
    enabled: bool,
    since: Instant,
    answers: u64,
    dense: bool,
}

impl Gather {
    pub fn new(enabled: bool) -> Self {
        Self { enabled, since: Instant::EPOCH, answers: 0, dense: false }
    }

    /// `answers` sockets were ready.
    pub fn saw(&mut self, answers: u64, now: Instant) {
        self.answers += answers;
        let span = now.since(self.since);
        if span >= WINDOW {
            self.dense = u128::from(self.answers) * u128::from(WINDOW.as_picos())
                >= u128::from(DENSE) * u128::from(span.as_picos());
            (self.since, self.answers) = (now, 0);
        }
    }

    /// How long to sleep before the sockets are looked at, with so many requests on their way.
    pub fn nap(&self, in_flight: u64) -> Option<Picos> {
        (self.enabled && self.dense && in_flight >= IN_FLIGHT).then_some(NAP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::EPOCH + Picos::from_micros(micros)
    }

    /// After a second of one answer each so many microseconds.
    fn after(gap: u64, enabled: bool) -> Gather {
        let mut gather = Gather::new(enabled);
        (0..1_000_000 / gap).for_each(|n| gather.saw(1, at(n * gap)));
        gather
    }

    #[test]
    fn only_dense_answers_from_a_full_target_are_gathered() {
        assert_eq!(after(10, true).nap(64), Some(NAP));
        assert_eq!(after(10, true).nap(IN_FLIGHT - 1), None, "the target would run dry");
        assert_eq!(after(100, true).nap(64), None, "10 000 a second are worth a wake-up each");
        assert_eq!(after(10, false).nap(64), None);
    }

    #[test]
    fn it_ends_when_answers_stop() {
        let mut gather = after(10, true);
        gather.saw(0, at(1_002_000));
        assert_eq!(gather.nap(64), None);
    }
}
