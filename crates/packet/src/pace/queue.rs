//! Frames between the host and the wire: a ring of buffers that are made once.

use units::Instant;

/// One frame on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting<'a> {
    pub data: &'a [u8],
    /// When it was taken from the host.
    pub arrived: Instant,
}

/// First in, first out; never grows.
#[derive(Debug)]
pub struct Queue {
    /// Room for `capacity` frames of `longest` bytes, one behind the other.
    bytes: Box<[u8]>,
    lengths: Box<[(u32, Instant)]>,
    longest: usize,
    head: usize,
    length: usize,
}

impl Queue {
    pub fn new(capacity: usize, longest: usize) -> Self {
        let (capacity, longest) = (capacity.max(1), longest.max(64));
        Self {
            bytes: vec![0; capacity * longest].into_boxed_slice(),
            lengths: vec![(0, Instant::EPOCH); capacity].into_boxed_slice(),
            longest,
            head: 0,
            length: 0,
        }
    }

    pub const fn len(&self) -> usize {
        self.length
    }

    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many more frames fit.
    pub const fn room(&self) -> usize {
        self.lengths.len() - self.length
    }

    /// The last `count` frames arrived then.
    pub fn date_from(&mut self, count: usize, arrived: Instant) {
        for back in 1..=count.min(self.length) {
            let at = (self.head + self.length - back) % self.lengths.len();
            self.lengths[at].1 = arrived;
        }
    }

    /// Adds a frame; `false` if there is no room for it, or it is too long. One whose checksum a card was to
    /// finish is finished here.
    #[inline]
    pub fn push(&mut self, data: &[u8], is_unfinished: bool, arrived: Instant) -> bool {
        if self.room() == 0 || data.len() > self.longest {
            return false;
        }
        let at = (self.head + self.length) % self.lengths.len();
        let start = at * self.longest;
        let place = &mut self.bytes[start..start + data.len()];
        place.copy_from_slice(data);
        if is_unfinished {
            wire::finish(place, false);
        }
        self.lengths[at] = (data.len() as u32, arrived);
        self.length += 1;
        true
    }

    /// The oldest frame.
    #[inline]
    pub fn front(&self) -> Option<Waiting<'_>> {
        (!self.is_empty()).then(|| self.nth(self.head))
    }

    /// Takes the oldest frame away.
    #[inline]
    pub fn pop(&mut self) {
        if !self.is_empty() {
            self.head = (self.head + 1) % self.lengths.len();
            self.length -= 1;
        }
    }

    #[inline]
    fn nth(&self, at: usize) -> Waiting<'_> {
        let (length, arrived) = self.lengths[at];
        let start = at * self.longest;
        Waiting { data: &self.bytes[start..start + length as usize], arrived }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// The same as the standard library's queue with a limit.
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec((prop::bool::ANY, 0usize..80), 0..200)) {
            let mut queue = Queue::new(5, 64);
            let mut model: VecDeque<Vec<u8>> = VecDeque::new();
            for (n, (push, length)) in steps.into_iter().enumerate() {
                if push {
                    let frame = vec![n as u8; length];
                    let fits = model.len() < 5 && length <= 64;
                    prop_assert_eq!(queue.push(&frame, false, Instant::EPOCH), fits);
                    if fits {
                        model.push_back(frame);
                    }
                } else {
                    queue.pop();
                    model.pop_front();
                }
                prop_assert_eq!(queue.front().map(|front| front.data.to_vec()), model.front().cloned());
                prop_assert_eq!((queue.len(), queue.room()), (model.len(), 5 - model.len()));
            }
        }
    }
}
