//! Frames that wait to be sent: replies and questions. A small queue with a bound; nothing is allocated once
//! it is made.

use port::{Port, PortError};

/// Frames that it holds.
const FRAMES: usize = 64;
/// Most bytes of a frame: what an echo request of a jumbo frame is answered with.
const LONGEST: usize = 9_018;

/// A queue of frames, first in, first out.
#[derive(Debug)]
pub struct Outbox {
    frames: Box<[Box<[u8]>]>,
    lengths: [usize; FRAMES],
    first: usize,
    count: usize,
    lost: u64,
}

impl Default for Outbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Outbox {
    pub fn new() -> Self {
        let frames = (0..FRAMES).map(|_| vec![0; LONGEST].into_boxed_slice()).collect();
        Self { frames, lengths: [0; FRAMES], first: 0, count: 0, lost: 0 }
    }

    pub const fn len(&self) -> usize {
        self.count
    }

    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Frames that there is room for.
    pub const fn room(&self) -> usize {
        FRAMES - self.count
    }

    /// Frames that found no room.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Room for one more frame of so many bytes, which are 0; `None`, and counted, if there is none.
    pub(crate) fn push(&mut self, length: usize) -> Option<&mut [u8]> {
        if self.count == FRAMES || length > LONGEST {
            self.lost += 1;
            return None;
        }
        let at = (self.first + self.count) % FRAMES;
        self.count += 1;
        self.lengths[at] = length;
        let frame = &mut self.frames[at][..length];
        frame.fill(0);
        Some(frame)
    }

    /// Takes the room back that the last [`Self::push`] gave.
    pub(crate) fn undo(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    /// The next frame.
    pub fn first(&self) -> Option<&[u8]> {
        (self.count > 0).then(|| &self.frames[self.first][..self.lengths[self.first]])
    }

    /// Forgets the next frame.
    pub fn pop(&mut self) {
        if self.count > 0 {
            self.first = (self.first + 1) % FRAMES;
            self.count -= 1;
        }
    }

    /// Hands frames to a port, as many as it has room for; the others stay.
    ///
    /// # Errors
    /// Those of [`Port::transmit`].
    pub fn send(&mut self, port: &mut dyn Port) -> Result<usize, PortError> {
        if self.is_empty() {
            return Ok(0);
        }
        port.transmit(self.count, &mut |slot| {
            let Some(frame) = self.first() else { return };
            if let Some(room) = slot.data.get_mut(..frame.len()) {
                room.copy_from_slice(frame);
                slot.length = frame.len();
                *slot.mark = 0;
            }
            self.pop();
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_leave_in_order_and_those_without_room_are_counted() {
        let mut out = Outbox::new();
        let put =
            |out: &mut Outbox, number: usize| out.push(60).map(|frame| frame[0] = number as u8).is_some();
        assert!((0..FRAMES).all(|number| put(&mut out, number)));
        assert!(!put(&mut out, 99) && out.push(LONGEST + 1).is_none());
        assert_eq!((out.lost(), out.len(), out.room()), (2, FRAMES, 0));
        let (mut near, mut far) = port::mem::pair(40, 1_514);
        assert_eq!(out.send(&mut near).unwrap(), 40);
        assert_eq!(out.send(&mut near).unwrap(), 0, "the port is full, and nothing is lost");
        let mut seen = Vec::new();
        far.receive(64, &mut |frame| seen.push(usize::from(frame.data[0]))).unwrap();
        assert!(put(&mut out, FRAMES));
        out.send(&mut near).unwrap();
        far.receive(64, &mut |frame| seen.push(usize::from(frame.data[0]))).unwrap();
        assert_eq!(seen, (0..=FRAMES).collect::<Vec<_>>());
        assert!(out.is_empty() && out.first().is_none());
    }
}
