//! `mem`: two ends joined by rings in this process. For tests, and for measuring an engine alone.
//!
//! ```text
//!             free rooms ◄──────────────┐
//!   end a ─ write ─► filled rooms ─ read ┴─► end b      and the same the other way round
//! ```
//!
//! A room is a buffer that goes round for ever: it is written in place, handed over by its address, read in
//! place and given back. Nothing is copied, allocated or locked. Where no free room is left, frames stay with
//! the sender.
//!
//! Ends with a name find each other: the first `mem:a` waits for the second.

use crate::about::{Abilities, About, StampedBy};
use crate::{Address, CardWork, Counters, DropPlace, For, Frame, Port, PortError, Slot, Stamp, Wish};
use rtrb::{Consumer, Producer, RingBuffer};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use units::Picos;

/// Rooms for each direction, if nobody says otherwise.
pub const SLOTS: usize = 1_024;
/// Most frames of one call.
const BATCH: usize = 1_024;

/// Who stamps the frames that pass.
pub enum Stamping {
    /// Nobody.
    None,
    /// The sender, once for each batch.
    Batch,
    /// The sender, once for each frame.
    Frame,
    /// The sender says when ([`Slot::launch`]), so that tests are exact.
    Launch,
    /// Another clock, asked for each frame.
    Clock(fn() -> Stamp),
}

impl Stamping {
    #[inline]
    fn stamp(&self, batch_unix_ns: u64, launch: Stamp) -> Stamp {
        match self {
            Self::None => Stamp::NONE,
            Self::Batch => Stamp(batch_unix_ns),
            Self::Frame => Stamp(clock::unix_ns()),
            Self::Launch => launch,
            Self::Clock(now) => now(),
        }
    }
}

/// Room for a frame.
struct Room {
    data: Box<[u8]>,
    length: usize,
    mark: u64,
    stamp: Stamp,
}

/// The sender's side of one direction.
struct Outward {
    free: Consumer<Room>,
    filled: Producer<Room>,
    rooms: usize,
    /// Rooms that were lent and held no frame.
    spare: Vec<Room>,
    stamping: Stamping,
}

/// The receiver's side of one direction.
struct Inward {
    filled: Consumer<Room>,
    free: Producer<Room>,
}

/// One end.
pub struct End {
    about: About,
    out: Outward,
    inward: Inward,
    counters: Counters,
}

/// Two joined ends, with `slots` rooms of `longest` bytes in each direction.
pub fn pair(slots: usize, longest: usize) -> (End, End) {
    named_pair("pair", 0, 1, slots, longest, || Stamping::None)
}

/// The same with stamps.
pub fn stamped_pair(slots: usize, longest: usize, stamping: impl Fn() -> Stamping) -> (End, End) {
    named_pair("pair", 0, 1, slots, longest, stamping)
}

fn named_pair(
    name: &str,
    queue: u32,
    queues: u32,
    slots: usize,
    longest: usize,
    stamping: impl Fn() -> Stamping,
) -> (End, End) {
    let slots = slots.max(1);
    let (there_out, there_in) = direction(slots, longest, stamping());
    let (back_out, back_in) = direction(slots, longest, stamping());
    let end = |out: Outward, inward| End {
        about: About {
            name: format!("mem:{name}"),
            kind: "mem",
            longest,
            can: Abilities {
                transmit: true,
                receive: true,
                batch: BATCH.min(slots),
                stamps: (!matches!(out.stamping, Stamping::None)).then_some(StampedBy::Software),
                launch_time: matches!(out.stamping, Stamping::Launch),
                zero_copy: true,
                ..Abilities::default()
            },
            queue,
            queues,
            ..About::default()
        },
        out,
        inward,
        counters: Counters::default(),
    };
    (end(there_out, back_in), end(back_out, there_in))
}

fn direction(slots: usize, longest: usize, stamping: Stamping) -> (Outward, Inward) {
    let (mut free_in, free_out) = RingBuffer::new(slots);
    let (filled_in, filled_out) = RingBuffer::new(slots);
    for _ in 0..slots {
        let room = Room { data: vec![0; longest].into(), length: 0, mark: 0, stamp: Stamp::NONE };
        // The ring has as many places as there are rooms.
        let _ = free_in.push(room);
    }
    let out = Outward {
        free: free_out,
        filled: filled_in,
        rooms: slots,
        spare: Vec::with_capacity(slots),
        stamping,
    };
    (out, Inward { filled: filled_out, free: free_in })
}

/// Ends whose other one has not been opened yet.
static WAITING: Mutex<Option<HashMap<(String, u32), End>>> = Mutex::new(None);

/// Opens one end of the pair with this name; the second call gets the other end.
pub(crate) fn open(address: &Address, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    let slots = address.read("slots", "1024")?.unwrap_or(SLOTS);
    if !(1..=1 << 20).contains(&slots) {
        return Err(address.wrong("slots are not between 1 and 1048576", "slots=1024"));
    }
    let stamp = address.word("stamp", &["none", "batch", "frame", "launch"])?;
    let stamping = || match stamp {
        "batch" => Stamping::Batch,
        "frame" => Stamping::Frame,
        "launch" => Stamping::Launch,
        _ => Stamping::None,
    };
    let key = (address.place().to_owned(), wish.queue);
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    let waiting = waiting.get_or_insert_with(HashMap::new);
    // One whose first opener has gone waits in vain.
    if let Some(other) = waiting.remove(&key).filter(|end| !end.is_abandoned()) {
        if other.about.longest < wish.frame {
            let why = format!("its other end was opened for frames of {} bytes", other.about.longest);
            waiting.insert(key, other);
            return Err(PortError::Unavailable { what: format!("{address} for {} bytes", wish.frame), why });
        }
        return Ok(Box::new(other));
    }
    let (one, other) =
        named_pair(address.place(), wish.queue, wish.queues, slots, wish.frame.max(1_514), stamping);
    waiting.insert(key, other);
    Ok(Box::new(one))
}

impl End {
    fn is_abandoned(&self) -> bool {
        self.out.filled.is_abandoned() || self.inward.filled.is_abandoned()
    }

    fn gone(&self) -> PortError {
        PortError::Gone { interface: self.about.name.clone() }
    }

    /// Frames that were handed over and never read, when nobody is left to read them.
    fn unread(&self) -> u64 {
        if !self.out.filled.is_abandoned() {
            return 0;
        }
        // Rooms that came back, or never left, are free or spare.
        (self.out.rooms - self.out.room_now()) as u64
    }
}

/// What came of one call.
#[derive(Default)]
struct Filled {
    /// Calls of the writer whose frame was taken.
    taken: usize,
    frames: u64,
    bytes: u64,
    too_long: Option<usize>,
}

impl Outward {
    fn room_now(&self) -> usize {
        self.free.slots() + self.spare.len()
    }

    /// Has frames written into free rooms and hands these over.
    fn fill(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Filled {
        let mut done = Filled::default();
        let most = most.min(self.room_now());
        let fresh = most.min(self.free.slots());
        let (Ok(free), Ok(filled)) = (self.free.read_chunk(fresh), self.filled.write_chunk_uninit(most))
        else {
            return done;
        };
        let batch = if matches!(self.stamping, Stamping::Batch) { clock::unix_ns() } else { 0 };
        let (mut rooms, spare, stamping, told) =
            (free.into_iter(), &mut self.spare, &self.stamping, &mut done);
        filled.fill_from_iter(std::iter::from_fn(move || {
            while told.taken < most && told.too_long.is_none() {
                let mut room = spare.pop().or_else(|| rooms.next())?;
                let mut slot =
                    Slot { data: &mut room.data, length: 0, launch: Stamp::NONE, mark: &mut room.mark };
                write(&mut slot);
                let (length, launch) = (slot.length, slot.launch);
                told.too_long = (length > room.data.len()).then_some(length);
                told.taken += usize::from(told.too_long.is_none());
                if length == 0 || told.too_long.is_some() {
                    spare.push(room);
                    continue;
                }
                room.length = length;
                room.stamp = stamping.stamp(batch, launch);
                told.frames += 1;
                told.bytes += length as u64;
                return Some(room);
            }
            None
        }));
        done
    }
}

impl Port for End {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        if self.out.filled.is_abandoned() {
            return Err(self.gone());
        }
        let done = self.out.fill(most.min(self.about.can.batch), write);
        self.counters.sent += done.frames;
        self.counters.sent_bytes += done.bytes;
        self.counters.full += u64::from(done.taken == 0 && most > 0);
        match done.too_long {
            None => Ok(done.taken),
            Some(length) => {
                Err(PortError::TooLong { port: self.about.name.clone(), length, longest: self.about.longest })
            }
        }
    }

    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        let available = self.inward.filled.slots().min(most).min(self.about.can.batch);
        if available == 0 {
            let is_over = most > 0 && self.inward.filled.is_abandoned() && self.inward.filled.is_empty();
            let port = || self.about.name.clone();
            return if is_over { Err(PortError::Over { port: port() }) } else { Ok(0) };
        }
        let (Ok(filled), Ok(free)) =
            (self.inward.filled.read_chunk(available), self.inward.free.write_chunk_uninit(available))
        else {
            // As many rooms as were taken have a place to go back to.
            return Ok(0);
        };
        let (mut frames, mut bytes) = (0, 0);
        free.fill_from_iter(filled.into_iter().inspect(|room| {
            if room.length > 0 {
                frames += 1;
                bytes += room.length as u64;
                let data = &room.data[..room.length];
                let (length, stamp) = (room.length, room.stamp);
                read(&Frame { data, length, stamp, lost_before: 0, card_work: CardWork::NONE });
            }
        }));
        self.counters.received += frames as u64;
        self.counters.received_bytes += bytes;
        Ok(frames)
    }

    /// What was handed over has arrived.
    fn flush(&mut self, _patience: Picos) -> Result<bool, PortError> {
        Ok(true)
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        let start = clock::monotonic_ns();
        let mut rounds = 0_u32;
        loop {
            let is_ready = match what {
                For::Receive => !self.inward.filled.is_empty(),
                For::Transmit => self.out.room_now() > 0,
            };
            if is_ready || self.is_abandoned() {
                return Ok(is_ready);
            }
            if clock::monotonic_ns() - start >= patience.as_nanos() {
                return Ok(false);
            }
            rounds = rounds.saturating_add(1);
            match rounds {
                0..64 => std::hint::spin_loop(),
                64..128 => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(20)),
            }
        }
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        let unread = self.unread();
        let known = self.counters.dropped(DropPlace::Peer);
        self.counters.drop(DropPlace::Peer, unread.saturating_sub(known));
        Ok(&self.counters)
    }

    /// While both ends are there.
    fn is_up(&mut self) -> bool {
        !self.is_abandoned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(end: &mut End, frames: impl IntoIterator<Item = Vec<u8>>) -> usize {
        let frames: Vec<_> = frames.into_iter().collect();
        let mut next = frames.iter();
        end.transmit(frames.len(), &mut |slot| {
            let frame = next.next().expect("no more calls than frames");
            slot.data[..frame.len()].copy_from_slice(frame);
            slot.length = frame.len();
        })
        .expect("the other end is there")
    }

    fn all(end: &mut End) -> Vec<Vec<u8>> {
        let mut seen = Vec::new();
        while end.receive(7, &mut |frame| seen.push(frame.data.to_vec())).unwrap_or(0) > 0 {}
        seen
    }

    #[test]
    fn a_full_pair_takes_no_more_and_loses_nothing() {
        let (mut a, mut b) = pair(4, 64);
        assert_eq!(send(&mut a, (0..9).map(|n| vec![n; 10])), 4);
        assert_eq!(send(&mut a, [vec![9; 10]]), 0);
        assert_eq!(all(&mut b), (0..4).map(|n| vec![n; 10]).collect::<Vec<_>>());
        assert_eq!(send(&mut a, [vec![4; 10]]), 1);
        assert_eq!((a.counters().unwrap().sent, a.counters().unwrap().full), (5, 1));
        assert_eq!(b.counters().unwrap().received, 4);
    }

    #[test]
    fn a_frame_without_length_is_none_and_its_room_is_kept() {
        let (mut a, mut b) = pair(2, 64);
        for _ in 0..5 {
            assert_eq!(send(&mut a, [vec![], vec![1], vec![]]), 2);
            assert_eq!(all(&mut b), [vec![1]]);
        }
        assert_eq!(a.counters().unwrap().sent, 5);
    }

    #[test]
    fn a_room_keeps_its_mark() {
        let (mut a, mut b) = pair(3, 64);
        let mut marks = Vec::new();
        for round in 1..=9_u64 {
            a.transmit(1, &mut |slot| {
                marks.push(std::mem::replace(slot.mark, round));
                slot.length = 1;
            })
            .unwrap();
            all(&mut b);
        }
        // Three rooms go round: each comes back with what was written three rounds ago.
        assert_eq!(marks, [0, 0, 0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn what_a_closed_end_did_not_read_is_counted() {
        let (mut a, mut b) = pair(8, 64);
        send(&mut a, (0..6).map(|n| vec![n; 10]));
        b.receive(2, &mut |_| {}).unwrap();
        drop(b);
        assert!(matches!(a.transmit(1, &mut |_| {}), Err(PortError::Gone { .. })));
        assert!(!a.is_up());
        assert_eq!(a.counters().unwrap().dropped(DropPlace::Peer), 4);
        assert_eq!(a.counters().unwrap().dropped(DropPlace::Peer), 4);
    }

    #[test]
    fn frames_of_a_closed_end_are_read_before_it_is_over() {
        let (mut a, mut b) = pair(8, 64);
        send(&mut a, [vec![1], vec![2]]);
        drop(a);
        assert_eq!(b.receive(1, &mut |_| {}).unwrap(), 1);
        assert_eq!(b.receive(9, &mut |_| {}).unwrap(), 1);
        assert!(b.receive(9, &mut |_| {}).unwrap_err().is_end());
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_and_those_before_it_leave() {
        let (mut a, mut b) = pair(8, 64);
        let mut lengths = [60, 64, 65, 60].into_iter();
        let error = a.transmit(4, &mut |slot| slot.length = lengths.next().unwrap()).unwrap_err();
        assert!(error.to_string().contains("65 bytes is longer than the 64"), "{error}");
        assert_eq!(all(&mut b).len(), 2);
        assert_eq!(a.counters().unwrap().sent, 2);
        assert_eq!(a.out.room_now(), 8, "no room is lost by it");
    }

    #[test]
    fn ends_with_a_name_find_each_other_and_queues_are_apart() {
        let address: Address = "mem,slots=8:names-test".parse().unwrap();
        let queue = |queue| Wish { queue, queues: 2, ..Wish::default() };
        let (mut a0, mut a1) = (open(&address, &queue(0)).unwrap(), open(&address, &queue(1)).unwrap());
        let (mut b1, mut b0) = (open(&address, &queue(1)).unwrap(), open(&address, &queue(0)).unwrap());
        for (port, length) in [(&mut a0, 10), (&mut a1, 11)] {
            port.transmit(1, &mut |slot| slot.length = length).unwrap();
        }
        for (port, length) in [(&mut b0, 10), (&mut b1, 11)] {
            let mut seen = 0;
            assert_eq!(port.receive(9, &mut |frame| seen = frame.length).unwrap(), 1);
            assert_eq!(seen, length);
        }
    }

    #[test]
    fn stamps_are_the_senders() {
        let (mut a, mut b) = stamped_pair(8, 64, || Stamping::Launch);
        a.transmit(1, &mut |slot| (slot.length, slot.launch) = (1, Stamp(77))).unwrap();
        let mut stamp = Stamp::NONE;
        b.receive(1, &mut |frame| stamp = frame.stamp).unwrap();
        assert_eq!(stamp, Stamp(77));
        assert!(a.about().can.launch_time);
    }

    #[test]
    fn two_threads_pass_frames_in_order_without_loss() {
        const FRAMES: u64 = 300_000;
        let (mut a, mut b) = pair(64, 64);
        let sender = std::thread::spawn(move || {
            let mut next = 0;
            while next < FRAMES {
                let most = (FRAMES - next).min(32) as usize;
                let sent = a.transmit(most, &mut |slot| {
                    slot.data[..8].copy_from_slice(&next.to_le_bytes());
                    slot.length = 60;
                    next += 1;
                });
                if sent.unwrap() == 0 {
                    std::thread::yield_now();
                }
            }
            a.counters().unwrap().clone()
        });
        let mut expected = 0;
        while expected < FRAMES {
            let mut read = |frame: &Frame<'_>| {
                assert_eq!(frame.data[..8], expected.to_le_bytes());
                expected += 1;
            };
            if b.receive(32, &mut read).unwrap_or(0) == 0 {
                std::thread::yield_now();
            }
        }
        assert_eq!(sender.join().unwrap().sent, b.counters().unwrap().received);
    }
}
