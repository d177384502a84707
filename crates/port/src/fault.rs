//! `fault`: a port whose frames are lost, doubled, overtaken, held back or damaged, as often as was asked for
//! and never otherwise. For tests that must find exactly that.
//!
//! ```text
//!   transmit ─► Mill ─► port behind it ─► Mill ─► receive
//!               which frames: a share (1%, seeded), every=N, or at=N+M (counted from 0)
//! ```
//!
//! A frame that is held back for a time leaves when that is over, whoever calls or does not: a thread of this
//! port sees to it. One that others shall overtake leaves behind them, or when the port is flushed.

mod choice;
mod mill;
mod releaser;

use crate::about::{About, Choice};
use crate::{
    Address, CardWork, Counters, Departed, DropPlace, Faults, For, Frame, Instruction, OwnTime, Port,
    PortError, Slot, Stamp, StampClock, Wish,
};
use choice::Plan;
use mill::{Item, Mill};
use releaser::{Core, Releaser, State};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use units::Picos;

/// Most frames of one call.
const BATCH: usize = 256;
/// How often a frame that is held back is looked for while waiting.
const LOOK: Picos = Picos::from_micros(50);

pub(crate) struct Fault {
    about: About,
    core: Arc<Core>,
    /// At work where frames are held for a time on their way out.
    _releaser: Option<Releaser>,
    does: Does,
    /// A second descriptor of the port behind.
    descriptor: Option<OwnedFd>,
    room: Vec<u8>,
    mark: u64,
    /// Times that frames here waited for room behind.
    full: u64,
    counters: Counters,
}

/// In which direction something is done to frames.
#[derive(Clone, Copy, Debug)]
struct Does {
    outward: bool,
    inward: bool,
}

/// Checks the options without opening anything.
pub(crate) fn check(address: &Address) -> Result<(), PortError> {
    Plan::read(address, 0, crate::Direction::Both).map(drop)
}

/// Wraps a port that is open.
pub(crate) fn wrap(address: &Address, wish: &Wish, inner: Box<dyn Port>) -> Result<Box<dyn Port>, PortError> {
    let plan = Plan::read(address, wish.queue, wish.direction)?;
    let does = Does { outward: plan.on.transmits(), inward: plan.on.receives() };
    let mut about = inner.about().clone();
    about.name = address.to_string();
    about.can.batch = about.can.batch.min(BATCH);
    about.can.zero_copy = false;
    if plan.delays() && does.outward {
        about.can.holds += plan.hold;
    }
    about.choices.push(Choice { what: "fault", chosen: plan.to_string(), why: "asked for".to_owned() });
    // What is held back here makes no descriptor readable.
    let descriptor = inner.descriptor().filter(|_| !does.inward).and_then(|fd| fd.try_clone_to_owned().ok());
    let mill = |wanted: bool, salt: u64| wanted.then(|| Mill::new(plan.salted(salt)));
    let state = State::new(inner, mill(does.outward, 0), mill(does.inward, 1));
    let core = Arc::new(Core::new(state));
    let releaser = match plan.delays() && does.outward && wish.direction.transmits() {
        true => Some(Releaser::start(core.clone())?),
        false => None,
    };
    // Four bytes more than the longest: a VLAN tag may come on top of the MTU.
    let room = vec![0; about.longest + 4];
    let (mark, full, counters) = (0, 0, Counters::default());
    Ok(Box::new(Fault { about, core, _releaser: releaser, does, descriptor, room, mark, full, counters }))
}

impl Fault {
    fn push(&self) -> Result<(), PortError> {
        self.core.lock().push()
    }

    /// The writer may spin until its frame is due: meanwhile nobody has the lock.
    fn take_one(&mut self, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<(), PortError> {
        let mut slot = Slot { data: &mut self.room, length: 0, launch: Stamp::NONE, mark: &mut self.mark };
        write(&mut slot);
        let (length, launch) = (slot.length, slot.launch);
        let longest = self.about.longest_like(&self.room);
        if length > longest {
            self.mark = 0;
            return Err(PortError::TooLong { port: self.about.name.clone(), length, longest });
        }
        if length > 0 {
            let data = &self.room[..length];
            let item = Item { data, length, stamp: launch, lost_before: 0, card_work: CardWork::NONE };
            self.core.put(&item);
        }
        Ok(())
    }
}

impl Port for Fault {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        if !self.does.outward {
            return self.core.lock().inner.transmit(most, write);
        }
        self.push()?;
        let mut taken = 0;
        // Only while nothing waits for room behind: so the queue is never longer than a batch.
        let is_full = self.core.lock().is_stuck();
        while !is_full && taken < most.min(self.about.can.batch) {
            match self.take_one(write) {
                Ok(()) => taken += 1,
                // Those before it were taken.
                Err(_) if taken > 0 => break,
                Err(error) => return Err(error),
            }
        }
        self.full += u64::from(is_full);
        self.push()?;
        Ok(taken)
    }

    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        // A port that is only listened to still lets go of what it held back.
        let mut state = self.core.lock();
        state.push()?;
        if !self.does.inward {
            return state.inner.receive(most, read);
        }
        state.pull(most)?;
        let Some(mill) = &mut state.inward else { return Ok(0) };
        let count = mill.ready().len().min(most);
        for item in mill.ready().iter().take(count) {
            read(&Frame {
                data: &item.data,
                length: item.length,
                stamp: item.stamp,
                lost_before: item.lost_before,
                card_work: item.card_work,
            });
        }
        mill.release(count);
        Ok(count)
    }

    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        let start = clock::monotonic_ns();
        let left = || patience.as_nanos().saturating_sub(clock::monotonic_ns() - start);
        if let Some(mill) = &mut self.core.lock().outward {
            mill.let_reordered_go();
        }
        loop {
            let mut state = self.core.lock();
            state.push()?;
            if !state.outward.as_ref().is_some_and(Mill::has_any) {
                return state.inner.flush(Picos::from_nanos(left()));
            }
            if left() == 0 {
                state.inner.flush(Picos::ZERO)?;
                return Ok(false);
            }
            drop(state);
            std::thread::sleep(LOOK.as_std().min(Duration::from_nanos(left())));
        }
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        let until = clock::monotonic_ns().saturating_add(patience.as_nanos());
        loop {
            let mut state = self.core.lock();
            state.push()?;
            let now = clock::monotonic_ns();
            let mill = if what == For::Receive { &mut state.inward } else { &mut state.outward };
            let (mut is_ready, has_mill) = (false, mill.is_some());
            if let Some(mill) = mill {
                mill.ripen(now);
                is_ready = (what == For::Receive) != mill.ready().is_empty();
            }
            if what == For::Receive && is_ready {
                return Ok(true);
            }
            let pause = state.pause(now).min(until.saturating_sub(now));
            let inner_ready = state.wait(what, Picos::from_nanos(pause))?;
            if inner_ready && (what == For::Receive || !has_mill || is_ready) {
                return Ok(true);
            }
            if now >= until {
                return Ok(false);
            }
        }
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        let mut state = self.core.lock();
        let mut total = state.inner.counters()?.clone();
        for (mill, is_out) in [(&state.outward, true), (&state.inward, false)] {
            let Some(mill) = mill else { continue };
            add(&mut total, mill, is_out);
        }
        total.faults = sum(&state.outward, &state.inward);
        total.full += self.full;
        drop(state);
        self.counters = total;
        Ok(&self.counters)
    }

    fn is_up(&mut self) -> bool {
        self.core.lock().inner.is_up()
    }

    fn trouble(&mut self) -> Option<PortError> {
        self.core.lock().inner.trouble()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.descriptor.as_ref().map(AsFd::as_fd)
    }

    fn filter(&mut self, program: &[Instruction]) -> Result<(), PortError> {
        self.core.lock().inner.filter(program)
    }

    fn own_time(&mut self) -> Result<Option<OwnTime>, PortError> {
        self.core.lock().inner.own_time()
    }

    fn stamp_clock(&mut self) -> Option<StampClock> {
        self.core.lock().inner.stamp_clock()
    }

    fn stamp_step_ns(&mut self) -> f64 {
        self.core.lock().inner.stamp_step_ns()
    }

    /// None of frames that this changed on their way out: they are not those that were taken here.
    fn departed(&mut self, most: usize, read: &mut dyn FnMut(&Departed)) -> Result<usize, PortError> {
        if self.does.outward {
            return Ok(0);
        }
        self.core.lock().inner.departed(most, read)
    }
}

/// A frame that was lost on its way out counts as sent and as dropped; one that came twice is received once
/// more.
fn add(total: &mut Counters, mill: &Mill, is_out: bool) {
    let (faults, lost_bytes) = (mill.faults(), mill.lost_bytes());
    let crowded = mill.crowded();
    if is_out {
        total.sent += faults.dropped + crowded;
        total.sent_bytes += lost_bytes;
    } else {
        total.received = mill.released();
        total.received_bytes = mill.released_bytes();
    }
    total.drop(DropPlace::Fault, faults.dropped);
    total.drop(DropPlace::Queue, crowded);
}

fn sum(outward: &Option<Mill>, inward: &Option<Mill>) -> Faults {
    [outward, inward].into_iter().flatten().map(Mill::faults).fold(Faults::default(), |a, b| Faults {
        dropped: a.dropped + b.dropped,
        duplicated: a.duplicated + b.duplicated,
        reordered: a.reordered + b.reordered,
        delayed: a.delayed + b.delayed,
        corrupted: a.corrupted + b.corrupted,
    })
}
