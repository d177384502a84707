//! Frames that are about to leave, one behind another in one piece of memory.

use crate::figures::Figures;
use port::{Port, PortError};
use std::collections::VecDeque;

/// Bytes of frames that may wait for room in the port: some thousand full ones.
const MOST: usize = 8 * 1024 * 1024;

pub(crate) struct Outgoing {
    /// Room for all; what is behind `end` has no meaning.
    bytes: Box<[u8]>,
    end: usize,
    /// Where each frame ends, but for those that have left.
    ends: VecDeque<usize>,
    /// Where the first of them begins.
    from: usize,
    /// How many of them have waited already.
    waited: usize,
}

impl Outgoing {
    pub fn new() -> Self {
        // The kernel gives pages when they are written first.
        Self { bytes: vec![0; MOST].into(), end: 0, ends: VecDeque::new(), from: 0, waited: 0 }
    }

    /// Adds a frame that `write` makes in `room` bytes; it says how many it used. A frame that finds too many
    /// before it is given up and counted.
    pub fn push(&mut self, room: usize, figures: &mut Figures, write: impl FnOnce(&mut [u8]) -> usize) {
        if self.end + room > MOST && self.from > 0 {
            self.bytes.copy_within(self.from..self.end, 0);
            self.ends.iter_mut().for_each(|end| *end -= self.from);
            (self.end, self.from) = (self.end - self.from, 0);
        }
        let Some(free) = self.bytes.get_mut(self.end..self.end + room) else {
            figures.unsent += 1;
            return;
        };
        let used = write(free);
        if used > 0 {
            self.end += used;
            self.ends.push_back(self.end);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Hands over what the port has room for.
    pub fn transmit(&mut self, port: &mut dyn Port, figures: &mut Figures) -> Result<(), PortError> {
        while !self.ends.is_empty() {
            let Self { bytes, ends, from, .. } = self;
            let taken = port.transmit(ends.len(), &mut |slot| {
                let end = ends.pop_front().expect("as many as were announced");
                let frame = &bytes[*from..end];
                slot.data[..frame.len()].copy_from_slice(frame);
                slot.length = frame.len();
                *from = end;
            })?;
            self.waited = self.waited.saturating_sub(taken);
            if taken == 0 {
                figures.waited_for_room += (self.ends.len() - self.waited) as u64;
                self.waited = self.ends.len();
                break;
            }
        }
        if self.ends.is_empty() {
            (self.end, self.from) = (0, 0);
        }
        Ok(())
    }

    /// Gives up what has not left.
    pub fn drop_all(&mut self, figures: &mut Figures) {
        figures.unsent += self.ends.len() as u64;
        self.ends.clear();
        (self.end, self.from, self.waited) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(outgoing: &mut Outgoing, figures: &mut Figures, frame: &[u8]) {
        outgoing.push(frame.len() + 10, figures, |room| {
            room[..frame.len()].copy_from_slice(frame);
            frame.len()
        });
    }

    fn received(port: &mut dyn Port) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        port.receive(1_000, &mut |frame| frames.push(frame.data.to_vec())).expect("frames");
        frames
    }

    #[test]
    fn frames_leave_in_order_and_wait_for_room() {
        let address: port::Address = "mem,slots=4:outgoing".parse().expect("an address");
        let open = || port::open(&address, &port::Wish::default()).expect("a port");
        let (mut near, mut far) = (open(), open());
        let (mut outgoing, mut figures) = (Outgoing::new(), Figures::default());
        let frames: Vec<Vec<u8>> = (0..7u8).map(|n| vec![n; 60 + usize::from(n)]).collect();
        frames.iter().for_each(|frame| push(&mut outgoing, &mut figures, frame));
        outgoing.transmit(&mut *near, &mut figures).expect("room for some");
        // Those that wait are counted once.
        outgoing.transmit(&mut *near, &mut figures).expect("no room");
        assert_eq!(figures.waited_for_room, 3);
        let mut got = received(&mut *far);
        outgoing.transmit(&mut *near, &mut figures).expect("room for the rest");
        got.extend(received(&mut *far));
        assert!(got == frames && outgoing.is_empty());
        assert_eq!((figures.waited_for_room, figures.unsent), (3, 0));
    }

    #[test]
    fn frames_that_find_too_many_before_them_are_given_up() {
        let (mut outgoing, mut figures) = (Outgoing::new(), Figures::default());
        let many = MOST / 1_504 + 3;
        (0..many).for_each(|_| push(&mut outgoing, &mut figures, &[1; 1_504]));
        assert!(figures.unsent > 0);
        outgoing.drop_all(&mut figures);
        assert_eq!(figures.unsent, many as u64);
    }
}
