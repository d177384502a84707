//! How the loop waits for frames, and takes them.

use clock::Clock;
use rustix::io::Errno;
use tcp::{Event, Flags};
use units::{Instant, Picos, Record};

use super::{Fast, GROUP};
use crate::io::Wait;
use crate::io::ports::sleep;
use crate::worker::LONGEST_WAIT;

impl<R: Record> Fast<R> {
    /// Waits for frames, and takes what has come.
    pub(super) fn wait(&mut self, from: Instant) -> Result<(), Errno> {
        self.acknowledge_ends(from);
        let wait = self.nap(from);
        let now = self.clock.now();
        self.sessions.settle(now, &mut self.desk);
        self.sessions.expire(now, &mut self.desk);
        self.grant(now);
        let clock = self.clock;
        let _ = self.sessions.transmit(&|| clock.now(), &mut self.desk);
        self.desk.have_left();
        let patience = match wait {
            _ if self.full => Picos::ZERO,
            Wait::Poll => Picos::ZERO,
            Wait::AtMost(most) => most.min(self.sessions.next_deadline(now)),
            Wait::Forever => self.sessions.next_deadline(now),
        };
        sleep(&mut self.sessions, &self.waker, Some(patience))?;
        if !self.full {
            self.desk.not_before = self.desk.turns.looked();
        }
        let woke = self.clock.now();
        if let Some(pause) = self.desk.turns.woken(from, woke, wait) {
            self.desk.accounts.paused(pause);
        }
        self.desk.turns.begin_reading(&self.clock);
        let count = self.receive(woke)?;
        self.desk.turns.end_reading();
        self.full = count == self.frames;
        self.desk.accounts.counters.waits += 1;
        self.desk.accounts.counters.ready += count as u64;
        self.desk.turns.found(count, from);
        if count == 0 && wait == Wait::Poll {
            let now = self.clock.now();
            self.desk.accounts.spun(from, now);
        }
        self.desk.turns.has_read(from, !self.full);
        Ok(())
    }

    /// The end of a response is acknowledged soon where no further request follows at once: else the target's
    /// TCP would take it for lost, and send it again.
    fn acknowledge_ends(&mut self, now: Instant) {
        while let Some(lane) = self.desk.answered.pop() {
            let lane = self.desk.lanes.peek(lane);
            let Some(id) = lane.id.filter(|_| lane.is_idle()) else { continue };
            let waits = |record: &tcp::Record| record.has(Flags::ASKED) && record.has(Flags::ACK_DUE);
            if self.sessions.record(id).is_some_and(waits) {
                self.sessions.act(id, Event::Answered, now, &mut self.desk);
            }
        }
    }

    /// Takes what has come, and in a closed loop begins what it makes free before it takes more.
    fn receive(&mut self, woke: Instant) -> Result<usize, Errno> {
        let part = if self.desk.pacer.is_closed_loop() { GROUP } else { self.frames };
        // A connection for each request needs more frames, which are cheaper the more of them leave at once.
        let group = if self.plan.connection.keep_alive { GROUP } else { 4 * GROUP };
        let (mut now, mut count, mut begun) = (woke, 0, self.desk.ended);
        loop {
            let took = match self.sessions.receive(part.min(self.frames - count), now, &mut self.desk) {
                Ok(took) => took,
                Err(port::PortError::Down { .. }) => 0,
                Err(_) => return Err(Errno::NODEV),
            };
            count += took;
            let is_over = took < part || count == self.frames;
            let ended = self.desk.ended - begun;
            if !is_over && ended < group {
                continue;
            }
            // No session may be told of an earlier time than before: its peer drops what seems older.
            now = self.clock.now();
            self.grant(now);
            if is_over {
                return Ok(count);
            }
            // No more than have ended: what came for those has been taken, so that the ring does not run over.
            self.launch_some(ended, now);
            // They left later, and their answers come later still.
            now = self.clock.now();
            begun = self.desk.ended;
        }
    }

    fn nap(&mut self, now: Instant) -> Wait {
        let wait = self.next_wait(now);
        match (wait, self.desk.turns.nap(self.desk.accounts.counters.open)) {
            (Wait::AtMost(most), Some(nap)) if nap < most && !self.full => {
                // What is owed leaves before the sleep.
                self.clock.sleep_until(now + nap);
                self.desk.accounts.counters.naps += 1;
                self.desk.accounts.counters.napped += self.clock.now().since(now);
                Wait::AtMost(Picos::ZERO)
            }
            _ => wait,
        }
    }

    fn next_wait(&mut self, now: Instant) -> Wait {
        let wake = self.next_wake();
        if let Some(due) = wake
            && !self.desk.limit.holds()
            && self.desk.pacer.is_near(due, now)
        {
            let reached = self.desk.pacer.spin_until(due, &self.clock, now);
            self.desk.accounts.spun(now, reached);
            self.launch_due(reached);
            return Wait::Poll;
        }
        let lanes = &mut self.desk.lanes;
        let deadlines = [lanes.next_deadline(), lanes.next_spent()];
        let until = deadlines.into_iter().flatten().fold(now + LONGEST_WAIT, |until, (_, at)| until.min(at));
        self.desk.pacer.wait(now, until, wake)
    }

    fn next_wake(&mut self) -> Option<Instant> {
        let due = self.desk.pacer.next()?.due;
        if !self.desk.limit.holds() && !self.desk.pacer.has_pending() {
            return Some(due);
        }
        Some(self.desk.limit.wake(self.desk.lanes.open(), due + self.plan.request.timeout))
    }
}
