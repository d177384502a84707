//! Frames on their way from one port to the other: room for some, made once.

use port::{About, Frame, Port, PortError, Slot};

/// Most frames between two ports.
pub const MOST: usize = 64;

/// Frames that arrived and have not left.
#[derive(Debug)]
pub struct Batch {
    /// Rooms of `room` bytes, one after another.
    data: Vec<u8>,
    room: usize,
    /// What the port that they go to takes.
    to: About,
    /// The port that they come from does not tell whose checksums are unfinished.
    is_blind: bool,
    lengths: [usize; MOST],
    /// Rooms that hold frames to be sent, in order: those from `first` to `end`.
    order: [u8; MOST],
    /// The first that has not left, and one past the last.
    first: usize,
    end: usize,
    /// Rooms that are taken.
    rooms: usize,
    /// Frames that were offered and held several.
    pub merged: u64,
}

/// What left at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub frames: u64,
    pub bytes: u64,
}

impl Default for Batch {
    /// For frames that go nowhere: it takes none.
    fn default() -> Self {
        Self::new(&About::default(), &About::default())
    }
}

impl Batch {
    /// For frames that go from one port to another.
    pub fn new(from: &About, to: &About) -> Self {
        // A VLAN tag may come on top of the longest.
        let room = to.longest + 4;
        Self {
            data: vec![0; room * MOST],
            room,
            to: to.clone(),
            is_blind: from.kind == "xdp",
            lengths: [0; MOST],
            order: [0; MOST],
            first: 0,
            end: 0,
            rooms: 0,
            merged: 0,
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// Takes a frame that goes on; false if it is longer than the port takes. There is room for `MOST` after
    /// the batch was empty.
    #[inline]
    pub fn push(&mut self, frame: &Frame<'_>) -> bool {
        let room = self.hold(frame);
        if let Some(room) = room {
            self.order[self.end] = room;
            self.end += 1;
        }
        room.is_some()
    }

    /// Takes a frame of which it is not known yet whether it goes on; [`Batch::settle`] tells. What was cut off
    /// on the way in is not whole, and cannot go on. A checksum that a card was to finish is finished here: the
    /// next one does not know of it.
    #[inline]
    pub fn hold(&mut self, frame: &Frame<'_>) -> Option<u8> {
        let (room, data) = (self.rooms, frame.data);
        self.merged += u64::from(frame.card_work.split);
        if room == MOST || data.len() < frame.length || data.len() > self.to.longest_like(data) {
            return None;
        }
        let start = room * self.room;
        let place = &mut self.data[start..start + data.len()];
        place.copy_from_slice(data);
        match frame.card_work.checksum {
            true => wire::finish(place, false),
            false if self.is_blind => _ = wire::finish_begun(place),
            false => {}
        }
        self.lengths[room] = data.len();
        self.rooms = room + 1;
        Some(room as u8)
    }

    /// Asks of each frame that is held whether it goes on, given its room and its length.
    #[inline]
    pub fn settle(&mut self, mut goes_on: impl FnMut(usize, usize) -> bool) {
        for room in 0..self.rooms {
            // Written in any case, so that there is no jump that nobody can foresee.
            self.order[self.end] = room as u8;
            self.end += usize::from(goes_on(room, self.lengths[room]));
        }
        if self.is_empty() {
            self.clear();
        }
    }

    /// Hands over what the port takes now.
    pub fn send(&mut self, port: &mut dyn Port) -> Result<Left, PortError> {
        let (mut index, mut bytes) = (self.first, 0);
        let (data, lengths, order, longest) = (&self.data, &self.lengths, &self.order, self.room);
        let taken = port.transmit(self.end - self.first, &mut |slot: &mut Slot<'_>| {
            let room = usize::from(order[index]);
            let (start, length) = (room * longest, lengths[room]);
            // A room that is too short for the frame tells its length, and the port refuses it.
            if let Some(room) = slot.data.get_mut(..length) {
                room.copy_from_slice(&data[start..start + length]);
            }
            slot.length = length;
            *slot.mark = 0;
            bytes += length as u64;
            index += 1;
        })?;
        self.first += taken;
        if self.first == self.end {
            self.clear();
        }
        Ok(Left { frames: taken as u64, bytes })
    }

    /// Gives up what has not left; how many.
    pub fn clear(&mut self) -> u64 {
        let rest = self.end - self.first;
        (self.first, self.end, self.rooms) = (0, 0, 0);
        rest as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::CardWork;

    fn frame(data: &[u8]) -> Frame<'_> {
        let stamp = port::Stamp::NONE;
        Frame { data, length: data.len(), stamp, lost_before: 0, card_work: CardWork::NONE }
    }

    /// As an ordinary socket sends over veth.
    #[test]
    fn checksums_that_a_card_was_to_finish_are_finished() {
        let (whole, _) = crate::signed::testing::frame(1, 0, 90);
        let mut begun = whole.clone();
        // The pseudo-header's sum: 198.18.0.1 and .2, UDP, 56 bytes.
        let sum = 2 * 0xc612_u32 + 1 + 2 + 17 + 56;
        begun[40..42].copy_from_slice(&((sum >> 16) as u16 + sum as u16).to_be_bytes());
        for (kind, checksum) in [("packet", true), ("xdp", false), ("packet", false)] {
            let (from, to) = (About { kind, ..About::default() }, About { longest: 100, ..About::default() });
            let mut batch = Batch::new(&from, &to);
            let card_work = CardWork { checksum, split: false };
            assert!(batch.push(&Frame { card_work, ..frame(&begun) }) && batch.push(&frame(&whole)));
            let (mut near, mut far) = port::mem::pair(8, 100);
            batch.send(&mut near).unwrap();
            let mut seen = Vec::new();
            far.receive(64, &mut |frame| seen.push(frame.data.to_vec())).unwrap();
            let is_told = kind == "xdp" || checksum;
            assert_eq!([&seen[0], &seen[1]], [if is_told { &whole } else { &begun }, &whole], "{kind}");
        }
    }

    #[test]
    fn frames_keep_their_order_where_the_port_takes_few_at_a_time() {
        let (mut near, mut far) = port::mem::pair(8, 100);
        let mut batch = Batch::new(&About::default(), &About { longest: 100, ..About::default() });
        for n in 0..20u8 {
            assert!(batch.push(&frame(&[n; 60])));
        }
        assert!(!batch.push(&frame(&[0; 101])));
        assert!(!batch.push(&Frame { length: 61, ..frame(&[0; 60]) }), "cut off");
        let mut seen = Vec::new();
        for round in 0..3 {
            let left = batch.send(&mut near).unwrap();
            assert_eq!(left.frames, [8, 8, 4][round]);
            assert_eq!(left.bytes, left.frames * 60);
            far.receive(64, &mut |frame| seen.push(frame.data[0])).unwrap();
        }
        assert!(batch.is_empty());
        assert_eq!(seen, (0..20).collect::<Vec<_>>());
    }
}
