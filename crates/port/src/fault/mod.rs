//! `fault`: a port whose frames are lost, doubled, overtaken, held back or damaged, as often as was asked for and never
//! otherwise. For tests that must find exactly that.
//!
//! ```text
//!   transmit ─► Mill ─► port behind it ─► Mill ─► receive
//!               which frames: a share (1%, seeded), every=N, or at=N+M (counted from 0)
//! ```
//!
//! Frames that are held back leave when the port is next used, waited for or flushed, not by themselves.

mod choice;
mod mill;

use crate::about::{About, Choice};
use crate::{
    Address, Counters, DropPlace, Faults, For, Frame, Instruction, Port, PortError, Slot, Stamp, Wish,
};
use choice::Plan;
use mill::{Item, Mill};
use std::os::fd::BorrowedFd;
use units::Picos;

/// Most frames of one call.
const BATCH: usize = 256;
/// How often a frame that is held back is looked for while waiting.
const LOOK: Picos = Picos::from_micros(50);

pub(crate) struct Fault {
    inner: Box<dyn Port>,
    about: About,
    /// Frames that leave, and frames that have come; `None` where nothing is done to them.
    outward: Option<Mill>,
    inward: Option<Mill>,
    room: Vec<u8>,
    mark: u64,
    counters: Counters,
}

/// Checks the options without opening anything.
pub(crate) fn check(address: &Address) -> Result<(), PortError> {
    Plan::read(address, 0).map(drop)
}

/// Wraps a port that is open.
pub(crate) fn wrap(address: &Address, wish: &Wish, inner: Box<dyn Port>) -> Result<Box<dyn Port>, PortError> {
    let plan = Plan::read(address, wish.queue)?;
    let mut about = inner.about().clone();
    about.name = address.to_string();
    about.can.batch = about.can.batch.min(BATCH);
    about.can.zero_copy = false;
    about.choices.push(Choice { what: "fault", chosen: plan.to_string(), why: "asked for".to_owned() });
    let mill = |wanted: bool, salt: u64| wanted.then(|| Mill::new(plan.salted(salt)));
    let (outward, inward) = (mill(plan.on.transmits(), 0), mill(plan.on.receives(), 1));
    let room = vec![0; about.longest];
    Ok(Box::new(Fault { inner, about, outward, inward, room, mark: 0, counters: Counters::default() }))
}

impl Fault {
    /// Hands over what may leave now, as far as there is room.
    fn push(&mut self) -> Result<(), PortError> {
        let Some(mill) = &mut self.outward else { return Ok(()) };
        mill.ripen(clock::monotonic_ns());
        while !mill.ready().is_empty() {
            let mut next = mill.ready().iter();
            let taken = self.inner.transmit(mill.ready().len(), &mut |slot| {
                let Some(item) = next.next() else { return };
                slot.data[..item.data.len()].copy_from_slice(&item.data);
                (slot.length, slot.launch) = (item.data.len(), item.stamp);
                // The room's bytes are not what another writer left.
                *slot.mark = 0;
            })?;
            if taken == 0 {
                break;
            }
            mill.release(taken);
        }
        Ok(())
    }

    fn take_one(&mut self, write: &mut dyn FnMut(&mut Slot<'_>), now_ns: u64) -> Result<(), PortError> {
        let mut slot = Slot { data: &mut self.room, length: 0, launch: Stamp::NONE, mark: &mut self.mark };
        write(&mut slot);
        let (length, launch) = (slot.length, slot.launch);
        if length > self.room.len() {
            let (port, longest) = (self.about.name.clone(), self.room.len());
            return Err(PortError::TooLong { port, length, longest });
        }
        if let Some(mill) = self.outward.as_mut().filter(|_| length > 0) {
            mill.put(&Item { data: &self.room[..length], length, stamp: launch, lost_before: 0 }, now_ns);
        }
        Ok(())
    }

    /// Brings frames from behind into the mill.
    fn pull(&mut self, most: usize) -> Result<(), PortError> {
        let Some(mill) = &mut self.inward else { return Ok(()) };
        let now_ns = clock::monotonic_ns();
        mill.ripen(now_ns);
        let wanted = most.saturating_sub(mill.ready().len()).min(BATCH);
        let got = self.inner.receive(wanted, &mut |frame| {
            let (length, stamp, lost_before) = (frame.length, frame.stamp, frame.lost_before);
            mill.put(&Item { data: frame.data, length, stamp, lost_before }, now_ns);
        });
        match got {
            // What is held back is still to come.
            Err(error) if error.is_end() && mill.holds() => {
                mill.let_go();
                Ok(())
            }
            other => other.map(drop),
        }
    }
}

impl Port for Fault {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        if self.outward.is_none() {
            return self.inner.transmit(most, write);
        }
        self.push()?;
        let now_ns = clock::monotonic_ns();
        let mut taken = 0;
        // Only while nothing waits for room behind: so the queue is never longer than a batch.
        let is_full = self.outward.as_ref().is_some_and(|mill| !mill.ready().is_empty());
        while !is_full && taken < most.min(BATCH) {
            match self.take_one(write, now_ns) {
                Ok(()) => taken += 1,
                Err(error) => {
                    self.push()?;
                    return Err(error);
                }
            }
        }
        self.counters.full += u64::from(is_full);
        self.push()?;
        Ok(taken)
    }

    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        // A port that is only listened to still lets go of what it held back.
        self.push()?;
        if self.inward.is_none() {
            return self.inner.receive(most, read);
        }
        self.pull(most)?;
        let Some(mill) = &mut self.inward else { return Ok(0) };
        let count = mill.ready().len().min(most);
        for item in mill.ready().iter().take(count) {
            read(&Frame {
                data: &item.data,
                length: item.length,
                stamp: item.stamp,
                lost_before: item.lost_before,
            });
        }
        mill.release(count);
        Ok(count)
    }

    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        let start = clock::monotonic_ns();
        let left = || patience.as_nanos().saturating_sub(clock::monotonic_ns() - start);
        if let Some(mill) = &mut self.outward {
            mill.let_reordered_go();
        }
        while self.outward.as_ref().is_some_and(Mill::has_any) && left() > 0 {
            self.push()?;
            if self.outward.as_ref().is_some_and(Mill::has_any) {
                self.inner.wait(For::Transmit, LOOK.min(Picos::from_nanos(left())))?;
                std::thread::sleep(std::time::Duration::from_micros(20));
            }
        }
        let has_left = self.inner.flush(Picos::from_nanos(left()))?;
        Ok(has_left && !self.outward.as_ref().is_some_and(Mill::has_any))
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        let start = clock::monotonic_ns();
        loop {
            self.push()?;
            let left = patience.as_nanos().saturating_sub(clock::monotonic_ns() - start);
            let mill = if what == For::Receive { &mut self.inward } else { &mut self.outward };
            let (mut is_ready, mut holds) = (false, false);
            if let Some(mill) = mill {
                mill.ripen(clock::monotonic_ns());
                is_ready = (what == For::Receive) != mill.ready().is_empty();
                holds = mill.holds();
            }
            if what == For::Receive && is_ready {
                return Ok(true);
            }
            let pause = if holds { LOOK.min(Picos::from_nanos(left)) } else { Picos::from_nanos(left) };
            let inner_ready = self.inner.wait(what, pause)?;
            if inner_ready && (what == For::Receive || self.outward.is_none() || is_ready) {
                return Ok(true);
            }
            if left == 0 {
                return Ok(false);
            }
        }
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        let full = self.counters.full;
        let mut total = self.inner.counters()?.clone();
        total.full += full;
        for (mill, is_out) in [(&self.outward, true), (&self.inward, false)] {
            let Some(mill) = mill else { continue };
            add(&mut total, mill, is_out);
        }
        total.faults = sum(&self.outward, &self.inward);
        self.counters = Counters { full, ..total };
        Ok(&self.counters)
    }

    fn is_up(&mut self) -> bool {
        self.inner.is_up()
    }

    fn trouble(&mut self) -> Option<PortError> {
        self.inner.trouble()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        // What is held back here makes no descriptor readable.
        self.inner.descriptor().filter(|_| self.inward.is_none())
    }

    fn filter(&mut self, program: &[Instruction]) -> Result<(), PortError> {
        self.inner.filter(program)
    }
}

/// A frame that was lost on its way out counts as sent and as dropped; one that came twice is received once more.
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
