//! One direction of a `fault` port: frames go in, and come out when it is their turn.
//!
//! ```text
//!   put ─► dice ─┬─► ready ─────────────► release
//!                ├─► held until a time ─┘
//!                └─► held until so many others have passed
//! ```

use super::choice::Plan;
use crate::{CardWork, Faults, Stamp};
use std::collections::VecDeque;

/// A frame that goes in.
pub(super) struct Item<'a> {
    pub data: &'a [u8],
    pub length: usize,
    pub stamp: Stamp,
    pub lost_before: u32,
    pub card_work: CardWork,
}

/// A frame that is here.
pub(super) struct Kept {
    pub data: Vec<u8>,
    pub length: usize,
    pub stamp: Stamp,
    pub lost_before: u32,
    pub card_work: CardWork,
}

/// What a frame waits for.
enum Until {
    /// CLOCK_MONOTONIC in nanoseconds.
    Time { due_ns: u64 },
    /// Frames that have yet to pass.
    Passed(u64),
}

pub(super) struct Mill {
    plan: Plan,
    number: u64,
    ready: VecDeque<Kept>,
    held: VecDeque<(Until, Kept)>,
    spare: Vec<Vec<u8>>,
    faults: Faults,
    /// Frames lost because too many were held back.
    crowded: u64,
    lost_bytes: u64,
    released: u64,
    released_bytes: u64,
}

impl Mill {
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            number: 0,
            ready: VecDeque::new(),
            held: VecDeque::new(),
            spare: Vec::new(),
            faults: Faults::default(),
            crowded: 0,
            lost_bytes: 0,
            released: 0,
            released_bytes: 0,
        }
    }

    /// Takes a frame and decides what becomes of it.
    pub fn put(&mut self, item: &Item<'_>, now_ns: u64) {
        let number = self.number;
        self.number += 1;
        if self.plan.drop.has(number, self.plan.dice(number, 1)) {
            self.faults.dropped += 1;
            self.lost_bytes += item.length as u64;
            return;
        }
        let mut kept = self.keep(item);
        if self.plan.corrupt.has(number, self.plan.dice(number, 2)) {
            damage(&mut kept.data, self.plan.dice(number, 3));
            // On a wire its checksum would have been finished before the damage, and wrong after it. What
            // stands there is wrong as well, and nobody is to pass over it.
            kept.card_work.checksum = false;
            self.faults.corrupted += 1;
        }
        if self.plan.duplicate.has(number, self.plan.dice(number, 4)) {
            let card_work = kept.card_work;
            let again = Item { data: &kept.data, lost_before: 0, card_work, ..*item };
            let again = self.keep(&again);
            self.faults.duplicated += 1;
            self.go(number, kept, now_ns);
            self.ready.push_back(again);
        } else {
            self.go(number, kept, now_ns);
        }
    }

    /// To the ready ones, or to those that wait.
    fn go(&mut self, number: u64, kept: Kept, now_ns: u64) {
        let until = if self.plan.delay.has(number, self.plan.dice(number, 5)) {
            Some(Until::Time { due_ns: now_ns.saturating_add(self.plan.hold.as_nanos()) })
        } else if self.plan.reorder.has(number, self.plan.dice(number, 6)) {
            Some(Until::Passed(self.plan.by))
        } else {
            None
        };
        let Some(until) = until else {
            self.ready.push_back(kept);
            self.pass();
            return;
        };
        if self.held.len() >= self.plan.room {
            self.crowded += 1;
            self.lost_bytes += kept.length as u64;
            self.spare.push(kept.data);
            return;
        }
        match until {
            Until::Time { .. } => self.faults.delayed += 1,
            Until::Passed(_) => self.faults.reordered += 1,
        }
        self.held.push_back((until, kept));
    }

    /// One more frame has passed those that wait for that.
    fn pass(&mut self) {
        let mut at = 0;
        while at < self.held.len() {
            if let Until::Passed(left) = &mut self.held[at].0 {
                *left -= 1;
                if *left == 0 {
                    self.ready.extend(self.held.remove(at).map(|(_, kept)| kept));
                    continue;
                }
            }
            at += 1;
        }
    }

    /// Frames whose time has come become ready. Their stamps are later by exactly what was asked for.
    pub fn ripen(&mut self, now_ns: u64) {
        let hold_ns = self.plan.hold.as_nanos();
        let mut at = 0;
        while at < self.held.len() {
            match self.held[at].0 {
                Until::Time { due_ns } if due_ns <= now_ns => {
                    if let Some((_, mut kept)) = self.held.remove(at) {
                        if kept.stamp != Stamp::NONE {
                            kept.stamp = Stamp(kept.stamp.as_unix_nanos().saturating_add(hold_ns));
                        }
                        self.ready.push_back(kept);
                    }
                }
                // All are held for as long, so those behind this one are due later.
                Until::Time { .. } => return,
                Until::Passed(_) => at += 1,
            }
        }
    }

    /// When the next frame is due that waits for its time (CLOCK_MONOTONIC nanoseconds).
    pub fn next_due_ns(&self) -> Option<u64> {
        self.held.iter().find_map(|(until, _)| match until {
            Until::Time { due_ns } => Some(*due_ns),
            Until::Passed(_) => None,
        })
    }

    /// Nothing more will pass those that wait for it.
    pub fn let_reordered_go(&mut self) {
        let mut at = 0;
        while at < self.held.len() {
            match self.held[at].0 {
                Until::Passed(_) => self.ready.extend(self.held.remove(at).map(|(_, kept)| kept)),
                Until::Time { .. } => at += 1,
            }
        }
    }

    pub fn ready(&self) -> &VecDeque<Kept> {
        &self.ready
    }

    /// The first `count` ready ones are gone.
    pub fn release(&mut self, count: usize) {
        for kept in self.ready.drain(..count) {
            self.released += 1;
            self.released_bytes += kept.length as u64;
            self.spare.push(kept.data);
        }
    }

    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    pub fn has_any(&self) -> bool {
        !self.held.is_empty() || !self.ready.is_empty()
    }

    pub fn faults(&self) -> Faults {
        self.faults
    }

    pub fn crowded(&self) -> u64 {
        self.crowded
    }

    /// Bytes of frames that were lost here.
    pub fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    pub fn released(&self) -> u64 {
        self.released
    }

    pub fn released_bytes(&self) -> u64 {
        self.released_bytes
    }

    fn keep(&mut self, item: &Item<'_>) -> Kept {
        let mut data = self.spare.pop().unwrap_or_default();
        data.clear();
        data.extend_from_slice(item.data);
        Kept {
            data,
            length: item.length,
            stamp: item.stamp,
            lost_before: item.lost_before,
            card_work: item.card_work,
        }
    }
}

/// Turns one bit over, behind the Ethernet header, so that the frame still finds its way.
fn damage(data: &mut [u8], dice: u64) {
    let from = if data.len() > 14 { 14 } else { 0 };
    let bits = (data.len() - from) as u64 * 8;
    if bits > 0 {
        let bit = (dice % bits) as usize;
        data[from + bit / 8] ^= 1 << (bit % 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, Direction};

    #[test]
    fn nobody_passes_over_the_checksum_of_a_damaged_frame_though_it_was_not_finished() {
        let address: Address = "fault,corrupt=at=1,duplicate=at=1:mem:unused".parse().unwrap();
        let mut mill = Mill::new(Plan::read(&address, 0, Direction::Both).unwrap());
        for _ in 0..3 {
            let (data, length) = (&[0; 60][..], 60);
            mill.put(
                &Item { data, length, stamp: Stamp::NONE, lost_before: 0, card_work: CardWork::CHECKSUM },
                0,
            );
        }
        let passed: Vec<bool> = mill.ready().iter().map(|kept| kept.card_work.checksum).collect();
        assert_eq!(passed, [true, false, false, true], "the damaged one came twice");
    }
}
