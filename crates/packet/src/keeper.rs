//! A port that keeps its own time, for tests.

use crate::JobControl;
use port::{Abilities, About, Counters, Departed, For, Frame, OwnTime, Port, PortError, Slot, Stamp};
use port::{DropPlace, StampedBy};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use units::Picos;

/// One step of the port's clock.
pub const TICK_NS: u64 = 8;
/// The port's time at the start.
pub const BEGIN_NS: u64 = 1_700_000_000_000_000_000;
/// What a frame takes on the wire: nothing leaves earlier after the one before.
const FRAME_NS: u64 = 672;

/// A port with a clock of its own, which goes on only while it has something to do; a queue of few frames; and
/// reports, some of which it loses.
pub struct Keeper {
    about: About,
    counters: Counters,
    now_ns: u64,
    queue: VecDeque<(u64, Stamp)>,
    pub room: usize,
    taken: u64,
    reports: VecDeque<Departed>,
    pub loses_every: u64,
    /// The frame at which the port is gone.
    pub dies_at: u64,
    /// From this frame on the wire has no link.
    pub is_down_at: u64,
    /// From this frame on all are too late, and dropped.
    pub misses_from: u64,
    data: Vec<u8>,
    mark: u64,
    pub launches: Arc<Mutex<Vec<u64>>>,
    control: Arc<JobControl>,
    pub interrupted_at: u64,
}

impl Keeper {
    pub fn new(control: Arc<JobControl>) -> Self {
        let can = Abilities { transmit: true, receive: true, batch: 64, ..Abilities::default() };
        Self {
            about: About { name: "keeper".to_owned(), longest: 1_514, can, ..About::default() },
            counters: Counters::default(),
            now_ns: BEGIN_NS,
            queue: VecDeque::new(),
            room: 8,
            taken: 0,
            reports: VecDeque::new(),
            loses_every: 0,
            dies_at: u64::MAX,
            is_down_at: u64::MAX,
            misses_from: u64::MAX,
            data: vec![0; 2_048],
            mark: 0,
            launches: Arc::default(),
            control,
            interrupted_at: u64::MAX,
        }
    }

    /// One frame leaves, if one waits.
    fn work(&mut self) {
        let Some((number, launch)) = self.queue.pop_front() else { return };
        let start = launch.0.max(self.now_ns).next_multiple_of(TICK_NS);
        self.now_ns = start + FRAME_NS;
        match number < self.misses_from {
            true => self.counters.sent += 1,
            false => self.counters.drop(DropPlace::TransmitLate, 1),
        }
        let is_missed = number >= self.misses_from;
        if is_missed || self.loses_every == 0 || number % self.loses_every != self.loses_every - 1 {
            let late = if launch == Stamp::NONE { 0 } else { start - launch.0.next_multiple_of(TICK_NS) };
            let late = Picos::from_nanos(late);
            let into_nothing = number >= self.is_down_at;
            self.reports.push_back(Departed {
                number,
                launch,
                start: Stamp(start),
                rest: Picos::ZERO,
                late,
                into_nothing,
                missed: is_missed,
            });
        }
        if number == self.interrupted_at {
            self.control.interrupt();
        }
    }
}

impl Port for Keeper {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        for taken in 0..most {
            if self.taken == self.dies_at {
                return if taken > 0 {
                    Ok(taken)
                } else {
                    Err(PortError::Gone { interface: "keeper".into() })
                };
            }
            if self.queue.len() == self.room {
                return Ok(taken);
            }
            let mut slot =
                Slot { data: &mut self.data, length: 0, launch: Stamp::NONE, mark: &mut self.mark };
            write(&mut slot);
            let launch = slot.launch;
            self.launches.lock().unwrap().push(launch.0);
            self.queue.push_back((self.taken, launch));
            self.taken += 1;
        }
        Ok(most)
    }

    fn receive(&mut self, _: usize, _: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        Ok(0)
    }

    fn flush(&mut self, _: Picos) -> Result<bool, PortError> {
        if self.control.stops() {
            // What is not due soon stays.
            return Ok(self.queue.is_empty());
        }
        while !self.queue.is_empty() {
            self.work();
        }
        Ok(true)
    }

    fn wait(&mut self, _: For, _: Picos) -> Result<bool, PortError> {
        self.work();
        Ok(true)
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        Ok(&self.counters)
    }

    fn own_time(&mut self) -> Result<Option<OwnTime>, PortError> {
        Ok(Some(own(self.now_ns)))
    }

    fn departed(&mut self, most: usize, read: &mut dyn FnMut(&Departed)) -> Result<usize, PortError> {
        let count = most.min(self.reports.len());
        self.reports.drain(..count).for_each(|report| read(&report));
        Ok(count)
    }
}

pub fn own(now_ns: u64) -> OwnTime {
    let (tick, bound) = (Picos::from_nanos(TICK_NS), Picos::ZERO);
    let (now, stamped) = (Stamp(now_ns), StampedBy::Hardware);
    OwnTime { simulated: true, simulation: 1, tick, is_exact: true, stamped, now, bound }
}
