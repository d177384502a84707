//! The connections of one thread: numbered places, and a list of them in the order of their deadlines.
//!
//! Nearly every deadline is "now + the plan's time-out" when it is set, so its place is the end of the list:
//! setting and clearing cost O(1), whatever the number of connections. One that is earlier, of a request that
//! is sent again, is put where it belongs.

use std::net::SocketAddr;
use units::{Instant, Picos};

use crate::connection::Connection;
use crate::endpoint::EndpointId;

const NONE: u32 = u32::MAX;

/// A place for a connection.
#[derive(Debug)]
pub struct Slot {
    pub connection: Connection,
    pub endpoint: EndpointId,
    /// Its connection was made: not before, and until its end.
    pub is_up: bool,
    /// Told apart from an earlier connection in the same place.
    pub generation: u32,
    /// When it last became free for a request.
    pub idle_since: Instant,
    /// By how much earlier it may have been free, where no stamp tells when its last answer came.
    pub doubt: Picos,
    /// Whether it stands in its endpoint's list of idle connections.
    pub listed: bool,
    /// When it may be read again, if reading is throttled; and since when it was not, if it is to be read next.
    pub read_at: Instant,
    pub unread_since: Option<Instant>,
    /// When it was read last, if more was left to be read then.
    pub behind_since: Option<Instant>,
    /// When the last byte that was read had come, by its stamp.
    pub arrived: Instant,
    /// Where it is being connected to, and how many addresses were tried.
    pub address: Option<SocketAddr>,
    pub dials: usize,
    /// How far a streamed body has been read.
    pub streamed: u64,
    /// How long it took to make its socket, and when asking for the connection returned.
    pub opening: Option<(Picos, Instant)>,
    /// What it sends did not fit at once.
    pub unsent: Option<Unsent>,
    /// The target has shut it down or reset it; or is to, as its only response has come.
    pub has_ended: bool,
    pub awaits_close: bool,
    deadline: Instant,
    before: u32,
    after: u32,
}

/// Something to send that the kernel did not take at once, as it was then.
#[derive(Clone, Copy, Debug)]
pub struct Unsent {
    pub since: Instant,
    /// [`Driver::busy`](crate::io::Driver::busy) then.
    pub busy: Option<Picos>,
}

/// See the module.
#[derive(Debug)]
pub struct Slots {
    all: Vec<Option<Slot>>,
    free: Vec<u32>,
    generations: Vec<u32>,
    first: u32,
    last: u32,
}

impl Default for Slots {
    fn default() -> Self {
        Self { all: Vec::new(), free: Vec::new(), generations: Vec::new(), first: NONE, last: NONE }
    }
}

impl Slots {
    pub fn get(&mut self, index: u32) -> Option<&mut Slot> {
        self.all.get_mut(index as usize)?.as_mut()
    }
    pub fn peek(&self, index: u32) -> Option<&Slot> {
        self.all.get(index as usize)?.as_ref()
    }
    pub fn open(&self) -> usize {
        self.all.len() - self.free.len()
    }
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Slot)> {
        self.all.iter().enumerate().filter_map(|(index, slot)| Some((index as u32, slot.as_ref()?)))
    }

    /// The number that `insert` will use next.
    pub fn insert(&mut self, connection: Connection, endpoint: EndpointId, now: Instant) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            self.generations.push(0);
            self.all.len() as u32 - 1
        });
        let generation = self.generations[index as usize];
        self.all[index as usize] = Some(Slot {
            connection,
            endpoint,
            generation,
            is_up: false,
            idle_since: now,
            doubt: Picos::ZERO,
            listed: false,
            read_at: Instant::EPOCH,
            unread_since: None,
            behind_since: None,
            arrived: Instant::EPOCH,
            address: None,
            dials: 0,
            streamed: 0,
            opening: None,
            unsent: None,
            has_ended: false,
            awaits_close: false,
            deadline: Instant::FAR,
            before: NONE,
            after: NONE,
        });
        index
    }

    pub fn remove(&mut self, index: u32) -> Option<Slot> {
        self.clear_deadline(index);
        let slot = self.all.get_mut(index as usize)?.take()?;
        self.generations[index as usize] = slot.generation.wrapping_add(1);
        self.free.push(index);
        Some(slot)
    }

    pub fn set_deadline(&mut self, index: u32, deadline: Instant) {
        self.clear_deadline(index);
        let mut before = self.last;
        while self.peek(before).is_some_and(|slot| slot.deadline > deadline) {
            before = self.peek(before).map_or(NONE, |slot| slot.before);
        }
        let after = self.peek(before).map_or(self.first, |slot| slot.after);
        let Some(slot) = self.get(index) else { return };
        (slot.deadline, slot.before, slot.after) = (deadline, before, after);
        match self.get(before) {
            Some(previous) => previous.after = index,
            None => self.first = index,
        }
        match self.get(after) {
            Some(next) => next.before = index,
            None => self.last = index,
        }
    }

    pub fn clear_deadline(&mut self, index: u32) {
        let Some(slot) = self.get(index) else { return };
        if slot.deadline == Instant::FAR {
            return;
        }
        let (before, after) = (slot.before, slot.after);
        (slot.deadline, slot.before, slot.after) = (Instant::FAR, NONE, NONE);
        match self.get(before) {
            Some(previous) => previous.after = after,
            None => self.first = after,
        }
        match self.get(after) {
            Some(next) => next.before = before,
            None => self.last = before,
        }
    }

    /// The connection whose deadline is the next, and that deadline.
    pub fn next_deadline(&self) -> Option<(u32, Instant)> {
        self.peek(self.first).map(|slot| (self.first, slot.deadline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::{Route, Stage};
    use proptest::prelude::*;
    use units::Picos;

    fn at(secs: u64) -> Instant {
        Instant::EPOCH + Picos::from_secs(secs)
    }

    fn insert(slots: &mut Slots) -> u32 {
        let connection = Connection::new(Route::default(), Stage::Open, Instant::EPOCH);
        slots.insert(connection, EndpointId(0), Instant::EPOCH)
    }

    proptest! {
        /// Against a plain list of (slot, deadline), sorted, equal ones in the order in which they were set.
        #[test]
        fn deadlines_come_in_order(steps in proptest::collection::vec((0u32..8, 0u8..3, 0u64..9), 1..60)) {
            let mut slots = Slots::default();
            (0..8).for_each(|_| { insert(&mut slots); });
            let mut model: Vec<(u32, Instant)> = Vec::new();
            for (time, (index, action, earlier)) in steps.into_iter().enumerate() {
                model.retain(|(known, _)| *known != index);
                match action {
                    0 => slots.clear_deadline(index),
                    1 => {
                        let deadline = at((time as u64).saturating_sub(earlier));
                        slots.set_deadline(index, deadline);
                        model.push((index, deadline));
                        model.sort_by_key(|(_, deadline)| *deadline);
                    }
                    _ => {
                        slots.remove(index);
                        prop_assert_eq!(insert(&mut slots), index);
                    }
                }
                prop_assert_eq!(slots.next_deadline(), model.first().copied());
            }
        }
    }

    #[test]
    fn a_place_that_is_used_again_has_another_generation() {
        let mut slots = Slots::default();
        let first = insert(&mut slots);
        let before = slots.peek(first).unwrap().generation;
        slots.remove(first);
        let second = insert(&mut slots);
        assert_eq!((first, slots.open()), (second, 1));
        assert_ne!(before, slots.peek(second).unwrap().generation);
    }
}
