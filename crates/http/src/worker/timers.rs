//! Connections that are to be looked at again at a certain time, other than their requests' deadlines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Instant;

/// Why a connection is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Later {
    /// No 100 (Continue) has come for the connection's request of this number, from 1: its body goes without.
    Continue(u32),
    /// Reading may go on.
    Read,
    /// Writing may go on: it was interrupted so that others have their turn.
    Write,
    /// This many addresses were tried; the last has not answered.
    Address(usize),
}

/// See the module. A connection is named by its slot and generation, so that a timer never meets the slot's
/// next connection.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, u32, u32, Later)>>,
}

impl Timers {
    pub(crate) fn set(&mut self, at: Instant, (slot, generation): (u32, u32), what: Later) {
        self.heap.push(Reverse((at, slot, generation, what)));
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes the next one, if it is due, with the time that it was set for.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(Instant, u32, u32, Later)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(timer)| timer)
    }
}
