//! Frames that are about to leave, one behind another in one piece of memory.

use crate::figures::Figures;
use crate::table::Id;
use port::{Port, PortError};
use std::collections::VecDeque;
use units::Instant;

/// Bytes of frames that may wait for room in the port: some thousand full ones.
const MOST: usize = 8 * 1024 * 1024;

pub(crate) struct Outgoing {
    /// Room for all; what is behind `end` has no meaning.
    bytes: Box<[u8]>,
    end: usize,
    /// All but those that have left.
    frames: VecDeque<Frame>,
    /// Where the first of them begins.
    from: usize,
    /// Since when each of the first of them has waited for room.
    since: VecDeque<Instant>,
    /// Those that have left after they had waited: whose they were, and since when they had.
    pub late: Vec<(Id, Instant)>,
}

struct Frame {
    /// Where it ends.
    end: usize,
    of: Id,
}

impl Outgoing {
    pub fn new() -> Self {
        // The kernel gives pages when they are written first.
        let (bytes, frames, since) = (vec![0; MOST].into(), VecDeque::new(), VecDeque::new());
        Self { bytes, end: 0, frames, from: 0, since, late: Vec::new() }
    }

    /// Adds a frame that `write` makes in `room` bytes; it says how many it used. A frame that finds too many
    /// before it is given up and counted.
    pub fn push(
        &mut self,
        room: usize,
        of: Id,
        figures: &mut Figures,
        write: impl FnOnce(&mut [u8]) -> usize,
    ) {
        if self.end + room > MOST && self.from > 0 {
            self.bytes.copy_within(self.from..self.end, 0);
            self.frames.iter_mut().for_each(|frame| frame.end -= self.from);
            (self.end, self.from) = (self.end - self.from, 0);
        }
        let Some(free) = self.bytes.get_mut(self.end..self.end + room) else {
            figures.unsent += 1;
            return;
        };
        let used = write(free);
        if used > 0 {
            self.end += used;
            self.frames.push_back(Frame { end: self.end, of });
        }
    }

    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Hands over what the port has room for. The rest waits from then on, and stands in [`Self::late`] when it
    /// has left.
    pub fn transmit(
        &mut self,
        port: &mut dyn Port,
        figures: &mut Figures,
        now: &dyn Fn() -> Instant,
    ) -> Result<(), PortError> {
        while !self.frames.is_empty() {
            let Self { bytes, frames, from, since, late, .. } = self;
            let taken = port.transmit(frames.len(), &mut |slot| {
                let Frame { end, of } = frames.pop_front().expect("as many as were announced");
                late.extend(since.pop_front().map(|since| (of, since)));
                let frame = &bytes[*from..end];
                slot.data[..frame.len()].copy_from_slice(frame);
                slot.length = frame.len();
                *from = end;
            })?;
            if taken == 0 {
                let fresh = frames.len() - since.len();
                figures.waited_for_room += fresh as u64;
                if fresh > 0 {
                    since.resize(frames.len(), now());
                }
                break;
            }
        }
        if self.frames.is_empty() {
            (self.end, self.from) = (0, 0);
        }
        Ok(())
    }

    /// Gives up what has not left.
    pub fn drop_all(&mut self, figures: &mut Figures) {
        figures.unsent += self.frames.len() as u64;
        self.frames.clear();
        self.since.clear();
        (self.end, self.from) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(outgoing: &mut Outgoing, figures: &mut Figures, frame: &[u8]) {
        let of = Id::new(0, 1_000 + u16::from(frame[0]));
        outgoing.push(frame.len() + 10, of, figures, |room| {
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
        let mut transmit = |outgoing: &mut Outgoing, figures: &mut Figures, ms: u64| {
            outgoing.transmit(&mut *near, figures, &|| at(ms)).expect("an open port");
        };
        frames.iter().take(6).for_each(|frame| push(&mut outgoing, &mut figures, frame));
        transmit(&mut outgoing, &mut figures, 1);
        push(&mut outgoing, &mut figures, &frames[6]);
        // Those that wait are counted once.
        transmit(&mut outgoing, &mut figures, 2);
        assert_eq!((figures.waited_for_room, outgoing.late.len()), (3, 0));
        let mut got = received(&mut *far);
        transmit(&mut outgoing, &mut figures, 5);
        got.extend(received(&mut *far));
        assert!(got == frames && outgoing.is_empty());
        assert_eq!((figures.waited_for_room, figures.unsent), (3, 0));
        let late = [(4, 1), (5, 1), (6, 2)].map(|(n, ms)| (Id::new(0, 1_000 + n), at(ms)));
        assert_eq!(outgoing.late, late);
    }

    fn at(ms: u64) -> Instant {
        Instant::EPOCH + units::Picos::from_millis(ms)
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
