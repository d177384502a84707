//! Open connections by number: a key names a slot and the generation of what is in it, so that a late event of
//! a closed connection does not reach the next one in its slot.

use crate::entry::Entry;

/// Keys from here on are not connections.
pub(crate) const RESERVED: u64 = u64::MAX - 1_024;

#[derive(Default)]
pub(crate) struct Slab {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    entry: Option<Box<Entry>>,
}

impl Slab {
    pub fn insert(&mut self, entry: Box<Entry>) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).expect("descriptors run out long before 2^32 connections")
        });
        let slot = &mut self.slots[index as usize];
        slot.entry = Some(entry);
        u64::from(slot.generation) << 32 | u64::from(index)
    }

    pub fn find(&mut self, key: u64) -> Option<&mut Entry> {
        let slot = self.slots.get_mut(key as u32 as usize)?;
        (slot.generation == (key >> 32) as u32).then_some(slot.entry.as_deref_mut()).flatten()
    }

    pub fn remove(&mut self, key: u64) -> Option<Box<Entry>> {
        self.find(key)?;
        let slot = &mut self.slots[key as u32 as usize];
        // Kept below 2³¹, so that no key is one of the reserved.
        slot.generation = (slot.generation + 1) & (u32::MAX >> 1);
        self.free.push(key as u32);
        slot.entry.take()
    }

    /// Takes all out. For the end only: generations begin anew.
    pub fn drain(&mut self) -> impl Iterator<Item = Box<Entry>> {
        self.free.clear();
        self.slots.drain(..).filter_map(|slot| slot.entry)
    }
}

#[cfg(test)]
mod tests {
    use super::super::conn::Conn;
    use super::super::entry::Life;
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use units::Instant;

    #[test]
    fn a_late_key_does_not_reach_the_next_in_its_slot() {
        let entry = || {
            let fd = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
            Box::new(Entry::new(fd, Conn::new(0, Instant::EPOCH), None, Life::Serving))
        };
        let mut slab = Slab::default();
        let first = slab.insert(entry());
        assert!(slab.remove(first).is_some());
        let second = slab.insert(entry());
        assert_eq!(first as u32, second as u32);
        assert!(slab.find(first).is_none() && slab.remove(first).is_none());
        assert!(slab.find(second).is_some());
        assert!(second < RESERVED);
    }
}
