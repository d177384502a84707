//! A port whose bursts stay where they are.

use crate::error::BurstError;
use crate::memory::{LINE, Rows};
use port::{About, Address, Counters, Direction, For, Port, PortError, Stamp, Wish};
use std::ops::Range;
use units::Picos;

mod pass;

pub use pass::Forwarded;

/// Frames of a burst, if nobody says otherwise.
const FRAMES: u32 = 256;
/// Bytes of the longest frame, if nobody says otherwise: 1518 with its FCS.
const LONGEST: u32 = 1_514;
/// Most that may be asked for: a gigabyte of frames is a mistake.
const MOST_FRAMES: u32 = 65_536;
const MOST_BYTES: u32 = 65_549;
const MOST_QUEUES: u32 = 256;
/// Rows begin at cache lines. An odd number of lines: with an even one the headers of all frames would share
/// a few sets of the cache.
const fn stride(room: usize) -> usize {
    (room.div_ceil(LINE) | 1) * LINE
}

/// How a port is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub direction: Direction,
    /// Bytes of the longest frame that is sent or kept, without FCS.
    pub longest: u32,
    /// Most frames of one burst.
    pub burst: u32,
    pub queue: u32,
    pub queues: u32,
    /// Received frames shall have stamps.
    pub stamps: bool,
    /// The thread spins: the port may poll the device instead of waiting for interrupts.
    pub busy: bool,
}

impl Default for Opening {
    fn default() -> Self {
        Self {
            direction: Direction::Both,
            longest: LONGEST,
            burst: FRAMES,
            queue: 0,
            queues: 1,
            stamps: true,
            busy: false,
        }
    }
}

impl Opening {
    fn check(&self) -> Result<(), BurstError> {
        let within = |what, value: u32, most: u32, expected| match (1..=most).contains(&value) {
            true => Ok(()),
            false => Err(BurstError::Wrong { what, value: value.into(), expected }),
        };
        within("burst", self.burst, MOST_FRAMES, "1 to 65536 frames")?;
        within("longest", self.longest, MOST_BYTES, "1 to 65549 bytes")?;
        within("queues", self.queues, MOST_QUEUES, "1 to 256")?;
        within("queue", self.queue.saturating_add(1), self.queues, "less than queues").map_err(|_| {
            BurstError::Wrong { what: "queue", value: self.queue.into(), expected: "less than queues" }
        })
    }

    fn wish(&self) -> Wish {
        Wish {
            queue: self.queue,
            queues: self.queues,
            direction: self.direction,
            frame: self.longest as usize,
            stamps: self.stamps,
            busy: self.busy,
            ..Wish::default()
        }
    }
}

/// See the module.
pub struct BurstPort {
    port: Box<dyn Port>,
    /// Longest frame that has room in a row.
    room: usize,
    out: Rows,
    lent: Option<usize>,
    came: Rows,
    held: Option<usize>,
    /// Of the burst that is being forwarded: kept, so that nothing is allocated for each.
    drops: Vec<bool>,
}

impl BurstPort {
    /// # Errors
    /// The address or the opening is wrong, or the port cannot be opened.
    pub fn open(address: &str, opening: &Opening) -> Result<Self, BurstError> {
        opening.check()?;
        let address: Address = address.parse()?;
        let port = port::open(&address, &opening.wish())?;
        let room = opening.longest as usize;
        let rows = |wanted: bool| {
            let rows = if wanted { opening.burst as usize } else { 0 };
            Rows::new(rows, stride(room))
        };
        let (out, came) = (rows(opening.direction.transmits()), rows(opening.direction.receives()));
        Ok(Self { port, room, out, lent: None, came, held: None, drops: Vec::new() })
    }

    pub fn about(&self) -> &About {
        self.port.about()
    }

    /// The rows of frames to be sent, and of those that were received.
    pub fn rows(&self) -> (&Rows, &Rows) {
        (&self.out, &self.came)
    }

    /// Lends rows for up to `most` frames. They hold what they held when they were given back, so that whoever
    /// sends nearly the same again need only write what changes; their lengths are 0. Returns how many.
    ///
    /// # Errors
    /// `StillLent`; `Unable` of a port that only receives.
    pub fn lend(&mut self, most: usize) -> Result<usize, BurstError> {
        self.able(self.out.rows() > 0, "send frames: it was opened to receive")?;
        if self.lent.is_some() {
            return Err(BurstError::StillLent);
        }
        let count = most.min(self.out.rows());
        let view = self.out.view();
        view.lengths[..count].fill(0);
        view.times_unix_ns[..count].fill(0);
        self.lent = Some(count);
        Ok(count)
    }

    /// Hands over frames `first..first + count` of those lent, to leave at once and in this order; frames of
    /// length 0 are left out. Returns how many were taken: fewer if there is no room for more now. All stay
    /// lent, so that the rest can be sent later, and all of them again.
    ///
    /// # Errors
    /// `NotLent`, `Beyond`, and `TooLong` for the first such frame, if nothing stands before it: frames before
    /// it are sent, and their number is returned. Whatever the port fails with.
    pub fn send(&mut self, first: usize, count: usize) -> Result<usize, BurstError> {
        let lent = self.lent.ok_or(BurstError::NotLent)?;
        let end = first.saturating_add(count);
        if end > lent {
            return Err(BurstError::Beyond { first, end, lent });
        }
        let (view, room) = (self.out.view(), self.room);
        let length = |index: usize| view.lengths[index] as usize;
        let launch = |index: usize| Stamp(view.times_unix_ns[index]);
        hand_over(&mut *self.port, (view.data, view.stride, room), first..end, length, launch)
    }

    /// Ends the lending.
    ///
    /// # Errors
    /// `NotLent`.
    pub fn give_back(&mut self) -> Result<(), BurstError> {
        self.lent.take().map(|_| ()).ok_or(BurstError::NotLent)
    }

    /// Takes up to `most` frames that have arrived; never waits. Returns how many: if there are none, nothing
    /// is held. A frame that is longer than a row is cut off, and its length on the wire says so.
    ///
    /// # Errors
    /// `StillHeld`; `Over` if no frame will ever come again, and whatever else the port fails with.
    pub fn receive(&mut self, most: usize) -> Result<usize, BurstError> {
        self.may_receive()?;
        let most = most.min(self.came.rows());
        let (view, room) = (self.came.view(), self.room);
        let mut count = 0;
        let mut read = |frame: &port::Frame<'_>| {
            let length = frame.data.len().min(room);
            view.data[count * view.stride..][..length].copy_from_slice(&frame.data[..length]);
            view.lengths[count] = length as u32;
            view.wire_lengths[count] = frame.length.try_into().unwrap_or(u32::MAX);
            view.times_unix_ns[count] = frame.stamp.as_unix_nanos();
            count += 1;
        };
        self.port.receive(most, &mut read)?;
        self.held = (count > 0).then_some(count);
        Ok(count)
    }

    /// Gives the received frames up.
    ///
    /// # Errors
    /// `NotHeld`.
    pub fn release(&mut self) -> Result<(), BurstError> {
        self.held.take().map(|_| ()).ok_or(BurstError::NotHeld)
    }

    /// The received frames that are held, if there are any.
    pub fn held_frames(&mut self) -> Option<impl Iterator<Item = &[u8]>> {
        let held = self.held?;
        let view = self.came.view();
        let (data, lengths, room) = (&*view.data, &*view.lengths, self.room);
        let rows = data.chunks(view.stride).zip(lengths).take(held);
        // The program may have written any length.
        Some(rows.map(move |(row, length)| &row[..room.min(*length as usize)]))
    }

    /// Closes the port; the rows stay for whoever still looks at them.
    pub fn close(self) -> (Rows, Rows) {
        (self.out, self.came)
    }

    /// The port itself, for whoever takes its frames in place.
    pub fn port(&mut self) -> &mut dyn Port {
        &mut *self.port
    }

    /// # Errors
    /// What the port fails with.
    pub fn wait(&mut self, what: For, patience: Picos) -> Result<bool, BurstError> {
        Ok(self.port.wait(what, patience)?)
    }

    /// # Errors
    /// What the port fails with.
    pub fn flush(&mut self, patience: Picos) -> Result<bool, BurstError> {
        Ok(self.port.flush(patience)?)
    }

    /// # Errors
    /// What the port fails with.
    pub fn counters(&mut self) -> Result<&Counters, BurstError> {
        Ok(self.port.counters()?)
    }

    fn may_receive(&self) -> Result<(), BurstError> {
        self.able(self.came.rows() > 0, "receive frames: it was opened to send")?;
        if self.held.is_some() { Err(BurstError::StillHeld) } else { Ok(()) }
    }

    fn able(&self, is_able: bool, what: &'static str) -> Result<(), BurstError> {
        match is_able {
            true => Ok(()),
            false => Err(PortError::Unable { port: self.about().name.clone(), what }.into()),
        }
    }
}

/// Frames `frames` of rows, as (data, stride, room of each), out of a port. Returns how many were taken.
fn hand_over(
    port: &mut dyn Port,
    (data, stride, room): (&[u8], usize, usize),
    frames: Range<usize>,
    length: impl Fn(usize) -> usize,
    launch: impl Fn(usize) -> Stamp,
) -> Result<usize, BurstError> {
    let about = port.about();
    let longest = |index: usize| about.longest_like(&data[index * stride..][..room]).min(room);
    let fits = frames.clone().take_while(|index| length(*index) <= longest(*index)).count();
    let first = frames.start;
    if fits == 0 && !frames.is_empty() {
        return Err(BurstError::TooLong { index: first, length: length(first), longest: longest(first) });
    }
    let mut index = first;
    let mut write = |slot: &mut port::Slot<'_>| {
        let bytes = length(index);
        let from = index * stride;
        slot.data[..bytes].copy_from_slice(&data[from..from + bytes]);
        slot.length = bytes;
        slot.launch = launch(index);
        index += 1;
    };
    let (mut taken, batch) = (0, about.can.batch.max(1));
    while taken < fits {
        match port.transmit(batch.min(fits - taken), &mut write) {
            Ok(0) => break,
            Ok(more) => taken += more,
            // What left before it is not forgotten; the next call meets the same failure.
            Err(_) if taken > 0 => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(taken)
}

#[cfg(test)]
mod tests;
