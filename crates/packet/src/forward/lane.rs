//! One thread's work: frames of one queue of each port, both ways.

use super::batch::{Batch, MOST};
use super::{Back, Full};
use filter::{Action, Fields, View};
use port::{For, Frame, Passed, Port, PortError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use units::Picos;

/// What happens to frames between the ports.
pub enum Work {
    /// All go on.
    Pass,
    Judge(Box<View>),
}

/// What came of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Frames that arrived.
    pub arrived: u64,
    pub forwarded: u64,
    pub forwarded_bytes: u64,
    pub filtered: u64,
    pub filtered_bytes: u64,
    /// Counted and freed, where there is no other port.
    pub received: u64,
    pub received_bytes: u64,
    /// Given up because the port had no room.
    pub full: u64,
    /// Longer than the other port takes.
    pub too_long: u64,
    /// Given up because the other port had no link.
    pub down: u64,
}

impl Moved {
    pub fn add(&mut self, other: &Self) {
        self.arrived += other.arrived;
        self.forwarded += other.forwarded;
        self.forwarded_bytes += other.forwarded_bytes;
        self.filtered += other.filtered;
        self.filtered_bytes += other.filtered_bytes;
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        self.full += other.full;
        self.too_long += other.too_long;
        self.down += other.down;
    }

    /// Frames whose end is known.
    pub const fn ended(&self) -> u64 {
        self.forwarded + self.filtered + self.received + self.full + self.too_long + self.down
    }
}

/// One direction between two ports.
struct Way {
    batch: Batch,
    judged: bool,
    /// Tries in vain since something left.
    tries: u32,
    /// Nothing will ever come again.
    over: bool,
}

/// See the module.
pub struct Lane {
    inward: Box<dyn Port>,
    outward: Option<Box<dyn Port>>,
    work: Work,
    there: Way,
    back: Option<Way>,
    full: Full,
    /// How often it has been idle: waits change sides.
    idle: u32,
}

impl Lane {
    pub fn new(
        inward: Box<dyn Port>,
        outward: Option<Box<dyn Port>>,
        work: Work,
        full: Full,
        back: Back,
    ) -> Self {
        let way = |from: &dyn Port, to: Option<&dyn Port>, judged| Way {
            batch: to.map_or_else(Batch::default, |port| Batch::new(from.about(), port.about())),
            judged,
            tries: 0,
            over: false,
        };
        let there = way(&*inward, outward.as_deref(), true);
        let back = match (&outward, back) {
            (Some(outward), Back::Pass) => Some(way(&**outward, Some(&*inward), false)),
            (Some(outward), Back::Rules) => Some(way(&**outward, Some(&*inward), true)),
            (None, _) | (_, Back::Nothing) => None,
        };
        Self { inward, outward, work, there, back, full, idle: 0 }
    }

    /// Ports in order: IN, OUT.
    pub fn ports(&mut self) -> impl Iterator<Item = &mut Box<dyn Port>> {
        std::iter::once(&mut self.inward).chain(self.outward.as_mut())
    }

    /// Frames that held several, of those from IN and those from OUT.
    pub fn merged(&self) -> [u64; 2] {
        [self.there.batch.merged, self.back.as_ref().map_or(0, |way| way.batch.merged)]
    }

    /// Nothing more will come from IN, and nothing waits.
    pub const fn is_over(&self) -> bool {
        self.there.over && self.there.batch.is_empty()
    }

    /// Moves what is there now, at most `most` frames that newly arrive from IN.
    ///
    /// # Errors
    /// A port is gone. What was moved until then is in `moved`.
    pub fn round(&mut self, most: usize, moved: &mut Moved) -> Result<(), PortError> {
        if let Work::Judge(view) = &mut self.work {
            view.refresh();
        }
        match &mut self.outward {
            None => self.there.end(&mut *self.inward, &mut self.work, most, moved),
            Some(outward) => {
                let (inward, outward) = (&mut *self.inward, &mut **outward);
                self.there.step(inward, outward, &mut self.work, self.full, most, moved)?;
                match &mut self.back {
                    Some(back) => back.step(outward, inward, &mut self.work, self.full, MOST, moved),
                    None => Ok(()),
                }
            }
        }
    }

    /// Waits until something can be moved, for at most `patience`.
    ///
    /// # Errors
    /// A port is gone.
    pub fn wait(&mut self, patience: Picos) -> Result<(), PortError> {
        self.idle = self.idle.wrapping_add(1);
        let stuck_there = !self.there.batch.is_empty();
        let stuck_back = self.back.as_ref().is_some_and(|way| !way.batch.is_empty());
        let both = [Some(&*self.inward), self.outward.as_deref()];
        if !stuck_there && !stuck_back && self.back.is_some() && wait_for_any(&both, patience) {
            return Ok(());
        }
        let result = match (&mut self.outward, stuck_there, stuck_back) {
            (Some(outward), true, _) => outward.wait(For::Transmit, patience),
            (_, _, true) => self.inward.wait(For::Transmit, patience),
            (Some(outward), ..) if self.back.is_some() && self.idle.is_multiple_of(2) => {
                outward.wait(For::Receive, patience)
            }
            _ => self.inward.wait(For::Receive, patience),
        };
        match result {
            Ok(_) | Err(PortError::Over { .. } | PortError::Down { .. } | PortError::Unable { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Gives up what waits; how many frames.
    pub fn give_up(&mut self) -> u64 {
        self.there.batch.clear() + self.back.as_mut().map_or(0, |way| way.batch.clear())
    }

    /// Hands the counters of the rules over.
    pub fn hand_over(&mut self) {
        if let Work::Judge(view) = &mut self.work {
            view.hand_over();
        }
    }
}

/// Receives frames, and keeps those that may pass. First all are read, and the tables touched where they will
/// be looked up: these accesses do not wait for each other, while decisions would. Then all are decided.
fn judge(
    from: &mut dyn Port,
    view: &mut View,
    batch: &mut Batch,
    most: usize,
    moved: &mut Moved,
) -> Result<usize, PortError> {
    let (firewall, hits) = view.parts();
    let (mut fields, mut touched) = ([Fields::Other; MOST], 0);
    let received = from.receive(most, &mut |frame| {
        let read = Fields::of(frame.data);
        touched ^= firewall.touch(&read);
        match batch.hold(frame) {
            Some(room) => fields[usize::from(room)] = read,
            None => {
                let decision = firewall.decide_fields(&read);
                hits.count(decision, frame.length as u64);
                match decision.action() {
                    Action::Pass => moved.too_long += 1,
                    Action::Drop => moved.filter(frame.length),
                }
            }
        }
    });
    std::hint::black_box(touched);
    batch.settle(|room, length| {
        let decision = firewall.decide_fields(&fields[room]);
        hits.count(decision, length as u64);
        let passes = decision.action() == Action::Pass;
        moved.filtered += u64::from(!passes);
        moved.filtered_bytes += if passes { 0 } else { length as u64 };
        passes
    });
    received
}

/// Whether all ports have a descriptor, so that one call could wait for them.
fn wait_for_any(ports: &[Option<&dyn Port>], patience: Picos) -> bool {
    let mut descriptors: Vec<PollFd<'_>> = Vec::with_capacity(2);
    for port in ports.iter().flatten() {
        match port.descriptor() {
            Some(fd) => descriptors.push(PollFd::from_borrowed_fd(fd, PollFlags::IN)),
            None => return false,
        }
    }
    let nanos = patience.as_nanos();
    let time = Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
    // Interrupted or not: the next round looks.
    let _ = poll(&mut descriptors, Some(&time));
    true
}

impl Way {
    /// Receives, judges, sends on.
    fn step(
        &mut self,
        from: &mut dyn Port,
        to: &mut dyn Port,
        work: &mut Work,
        full: Full,
        most: usize,
        moved: &mut Moved,
    ) -> Result<(), PortError> {
        if !self.batch.is_empty() && !self.send(to, full, moved)? {
            return Ok(());
        }
        if self.over {
            return Ok(());
        }
        if full == Full::Wait
            && (!self.judged || matches!(work, Work::Pass))
            && let Some(passed) = from.pass_on(to, most.min(MOST))
        {
            return self.passed(passed, moved);
        }
        let batch = &mut self.batch;
        let mut push = |frame: &Frame<'_>, moved: &mut Moved| {
            moved.too_long += u64::from(!batch.push(frame));
        };
        let judged = if self.judged { Some(work) } else { None };
        let received = match judged {
            Some(Work::Judge(view)) => judge(from, view, batch, most.min(MOST), moved),
            _ => from.receive(most.min(MOST), &mut |frame| push(frame, moved)),
        };
        moved.arrived += self.arrived(received)?;
        if !self.batch.is_empty() {
            self.send(to, full, moved)?;
        }
        Ok(())
    }

    /// Receives, judges, and that is the end of it.
    fn end(
        &mut self,
        from: &mut dyn Port,
        work: &mut Work,
        most: usize,
        moved: &mut Moved,
    ) -> Result<(), PortError> {
        let merged = &mut self.batch.merged;
        let mut free = |frame: &Frame<'_>, moved: &mut Moved| {
            *merged += u64::from(frame.card_work.split);
            moved.received += 1;
            moved.received_bytes += frame.length as u64;
        };
        let received = match work {
            Work::Pass => from.receive(most, &mut |frame| free(frame, moved)),
            Work::Judge(view) => {
                let (firewall, hits) = view.parts();
                from.receive(most, &mut |frame| {
                    let decision = firewall.decide(frame.data);
                    hits.count(decision, frame.length as u64);
                    match decision.action() {
                        Action::Pass => free(frame, moved),
                        Action::Drop => moved.filter(frame.length),
                    }
                })
            }
        };
        moved.arrived += self.arrived(received)?;
        Ok(())
    }

    /// Frames went on by themselves.
    fn passed(&mut self, passed: Result<Passed, PortError>, moved: &mut Moved) -> Result<(), PortError> {
        match passed {
            Ok(passed) => {
                moved.arrived += passed.arrived;
                moved.forwarded += passed.forwarded;
                moved.forwarded_bytes += passed.forwarded_bytes;
                moved.too_long += passed.too_long;
                moved.down += passed.down;
                Ok(())
            }
            Err(PortError::Down { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn arrived(&mut self, received: Result<usize, PortError>) -> Result<u64, PortError> {
        match received {
            Ok(count) => Ok(count as u64),
            Err(PortError::Over { .. }) => {
                self.over = true;
                Ok(0)
            }
            // It may come up again.
            Err(PortError::Down { .. }) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Sends what waits; whether all has left (or was given up).
    fn send(&mut self, to: &mut dyn Port, full: Full, moved: &mut Moved) -> Result<bool, PortError> {
        let left = match self.batch.send(to) {
            Ok(left) => left,
            // Nobody knows when it comes up again: what waited for it would be old then, and what comes behind
            // is lost uncounted.
            Err(PortError::Down { .. }) => {
                moved.down += self.batch.clear();
                return Ok(true);
            }
            Err(error) => return Err(error),
        };
        moved.forwarded += left.frames;
        moved.forwarded_bytes += left.bytes;
        self.tries = if left.frames > 0 { 0 } else { self.tries + 1 };
        if let Full::Drop { tries } = full
            && self.tries >= tries.max(1)
        {
            self.tries = 0;
            moved.full += self.batch.clear();
        }
        Ok(self.batch.is_empty())
    }
}

impl Moved {
    fn filter(&mut self, length: usize) {
        self.filtered += 1;
        self.filtered_bytes += length as u64;
    }
}

#[cfg(test)]
mod tests;
