//! The turns of the loop: when each looked at the sockets, whether it stood still, and how long what it found
//! had lain unread.

use clock::{Clock, HostClock};
use units::{Instant, Picos};

use crate::io::{Chunk, Wait};
use crate::worker::gather::Gather;
use crate::worker::pulse::{Pause, Pulse, SHORTEST, TURN};
use crate::worker::reading::{Delay, Reading};

/// After so many turns that did not come to an end of what is ready, requests time out all the same.
const BEHIND: u32 = 64;

/// See the module.
#[derive(Debug)]
pub(crate) struct Turns {
    reading: Reading,
    pulse: Pulse,
    gather: Gather,
    /// When the last wait returned.
    looked: Instant,
    /// When the wait before that returned: what is ready now was not ready then, but for what a turn left over.
    looked_before: Instant,
    /// What had come by then has been read.
    read: Instant,
    /// Turns since then.
    behind: u32,
    /// How long the last wait took, if the thread may have slept in it and nothing that it brought has been
    /// looked at.
    slept: Option<Picos>,
}

impl Turns {
    /// `gather` if a closed loop may sleep while answers gather.
    pub(crate) fn new(clock: &HostClock, gather: bool) -> Self {
        let now = clock.now();
        Self {
            reading: Reading::new(clock),
            pulse: Pulse::new(now, clock::thread_cpu_ns()),
            gather: Gather::new(gather),
            looked: now,
            looked_before: now,
            read: now,
            behind: 0,
            slept: None,
        }
    }

    /// When the last wait returned.
    pub(crate) fn looked(&self) -> Instant {
        self.looked
    }
    /// When the wait before that returned.
    pub(crate) fn looked_before(&self) -> Instant {
        self.looked_before
    }

    /// A wait that began at `from` has returned. `Some` if the loop stood still.
    pub(crate) fn woken(&mut self, from: Instant, now: Instant, wait: Wait) -> Option<Pause> {
        if let Wait::AtMost(meant) = wait {
            self.pulse.waited(meant, now.since(from));
            self.slept = (!meant.is_zero()).then(|| now.since(from));
        }
        self.looked_before = std::mem::replace(&mut self.looked, now);
        let pause = self.pulse.turn(now, clock::thread_cpu_ns)?;
        // Told once: that answers came meanwhile is the same pause.
        self.slept = None;
        Some(pause)
    }

    /// A turn that began at `from` has read what was ready: all of it, or a part. (What came after the kernel
    /// had looked, but before the wait returned, is not in it: a thread may be stopped in between.)
    pub(crate) fn has_read(&mut self, from: Instant, all: bool) {
        self.behind = if all { 0 } else { self.behind + 1 };
        if all || self.behind >= BEHIND {
            (self.read, self.behind) = (from, 0);
        }
    }
    /// What had come by this instant has been read, so that no response is missing that came in time: a loop
    /// that stood still reads before it judges.
    pub(crate) fn read_until(&self) -> Instant {
        self.read
    }

    /// This many sockets were ready.
    pub(crate) fn found(&mut self, ready: usize, now: Instant) {
        self.gather.saw(ready as u64, now);
    }
    /// How long to sleep before the sockets are looked at, with this many connections open.
    pub(crate) fn nap(&self, open: u64) -> Option<Picos> {
        self.gather.nap(open)
    }

    /// Begins to read what is ready; until when, before the loop has other duties.
    pub(crate) fn begin_reading(&mut self, clock: &HostClock) -> Instant {
        self.reading.look(clock);
        self.looked + TURN
    }
    pub(crate) fn end_reading(&mut self) {
        self.slept = None;
    }

    /// How long a chunk lay unread that was read now: see [`Reading::delay`].
    pub(crate) fn delay(&self, chunk: &Chunk, behind_since: Option<Instant>, now: Instant) -> Delay {
        self.reading.delay(chunk, behind_since, self.looked, now)
    }

    /// The first chunk after a sleep tells whether the thread was woken late, by no more than that sleep took.
    /// A wait that ends at once brings what the one before left over (io_uring): it lay unread in that pause.
    pub(crate) fn woken_late(&mut self, delay: Delay) -> Option<Pause> {
        let length = self.slept.take()?.min(delay.measured);
        (length >= SHORTEST).then_some(Pause { until: self.looked, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_told_once_though_two_waits_bring_what_came_in_it() {
        let clock = HostClock::calibrate();
        let mut turns = Turns::new(&clock, false);
        let begun = clock.now();
        let at = |micros: u64| begun + Picos::from_micros(micros);
        let lay = |micros: u64| Delay { measured: Picos::from_micros(micros), ..Delay::default() };
        let wait = Wait::AtMost(Picos::from_millis(100));
        // Asleep for 5 ms; the first answer came after 3 of them, and lay unread for 2.
        turns.woken(at(0), at(5_000), wait);
        let told = turns.woken_late(lay(2_000)).map(|pause| (pause.until, pause.length));
        assert_eq!(told, Some((at(5_000), Picos::from_millis(2))));
        turns.end_reading();
        // The next wait ends at once, with an answer that came a little later than the first.
        turns.woken(at(5_050), at(5_060), wait);
        assert_eq!(turns.woken_late(lay(1_990)), None);
        turns.end_reading();
        // One that should have ended at once, and did not.
        turns.woken(at(5_100), at(8_100), wait);
        assert_eq!(turns.woken_late(lay(3_500)).map(|pause| pause.length), Some(Picos::from_millis(3)));
    }
}
