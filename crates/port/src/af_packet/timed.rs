//! Sending at launch times: frames are handed to the queueing discipline ahead of them, each with its own, and
//! what became of each is read from the socket's error queue.
//!
//! ```text
//!   rooms ─ pending: not near yet, or too many under way
//!             └─ sendmmsg, SCM_TXTIME ─► under way ─┬─ stamp ──► left  ┐
//!                                                   └─ dropped ► missed┴─► departed, in order
//! ```
//!
//! The kernel numbers the frames of a socket for its stamps, refused ones too (`keys`). A frame that the
//! queueing discipline dropped was never sent: it goes from the frames sent to those lost at `tx.late`.

use super::batch::Batch;
use super::errors::{Errors, Told};
use super::launch::Launch;
use super::outlet::{Outlet, Settled, Written};
use super::socket::Socket;
use crate::card_clock::CardClock;
use crate::interface::{Interface, Link};
use crate::{Departed, Slot, Stamp};
use std::collections::VecDeque;
use std::io;
use std::time::Duration;
use units::Picos;

/// A stamp that has not come so long after the launch time does not come any more.
const OVERDUE_NS: u64 = 200_000_000;
/// The kernel takes a link that is back into use up to a second later (net/core/link_watch.c): what comes
/// before is lost without a word.
const LINK_WATCH_NS: u64 = 1_000_000_000;
/// Frames that left this much before the earliest that was right, one after another: nobody keeps their times.
const EARLY_NS: u64 = 1_000_000;
const MOST_EARLY: u32 = 64;
/// Reports that nobody fetches, at most.
const MOST_REPORTS: usize = 65_536;
/// Refusals whose frame is not known yet.
const MOST_REFUSED: usize = 64;

/// One frame that the kernel has taken, or refused for its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    number: u64,
    key: u32,
    launch: Stamp,
    /// By the clock of the queueing discipline; 0 is none.
    launch_ns: u64,
    /// When a stamp is to be expected: the launch time, or when it was handed over.
    due_unix_ns: u64,
    length: u32,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waiting,
    Left(Stamp),
    Missed,
    /// No stamp came.
    Untold,
    /// No stamp came, and the link is down: what was in the queue is gone.
    Lost,
}

/// What is under way, and what became of it: no system calls.
#[derive(Debug, Default)]
pub struct Voyage {
    entries: VecDeque<Entry>,
    /// Of them, those whose fate is open.
    waiting: usize,
    next_key: u32,
    refused: Vec<u64>,
    settled: Settled,
    early_in_a_row: u32,
}

/// See the module.
pub struct Timed {
    batch: Batch,
    launch: Launch,
    errors: Errors,
    card: Option<CardClock>,
    interface: Interface,
    voyage: Voyage,
    /// Launch times by the clock of the queueing discipline, as they were written for the kernel.
    times: Box<[u64]>,
    /// When frames were handed over last.
    now_unix_ns: u64,
    /// Numbers given until now.
    numbered: u64,
    most: usize,
    /// Somebody asks what became of each frame.
    is_asked: bool,
    /// It was said that nobody keeps launch times any more.
    is_complained: bool,
    /// How often the link was lost, and until when it may have been.
    link_losses: u64,
    down_until_ns: u64,
}

impl Timed {
    /// For frames of up to `longest` bytes; `is_asked` if somebody will ask what became of each.
    pub fn new(
        (interface, longest): (Interface, usize),
        launch: Launch,
        room: Rooms,
        card: Option<CardClock>,
        is_asked: bool,
    ) -> Self {
        let batch = Batch::timed(longest);
        let link_losses = interface.link_losses();
        Self {
            interface,
            times: vec![0; super::batch::BATCH].into(),
            most: launch.most.min(room.frames(longest)).max(1),
            batch,
            launch,
            errors: Errors::new(),
            card,
            voyage: Voyage::default(),
            now_unix_ns: 0,
            numbered: 0,
            is_asked,
            is_complained: false,
            link_losses,
            down_until_ns: 0,
        }
    }

    /// Reads what the kernel tells.
    fn collect(&mut self, socket: &Socket) -> io::Result<()> {
        let Self { errors, voyage, card, launch, .. } = self;
        if let Some(card) = card {
            card.follow();
        }
        voyage.settled.calls += errors.read(socket, &mut |told| voyage.take(told, card.as_ref(), launch))?;
        let now = clock::unix_ns();
        if voyage.has_overdue(now) {
            let losses = self.interface.link_losses();
            if losses != self.link_losses || self.interface.state() != Link::Up {
                (self.link_losses, self.down_until_ns) = (losses, now);
            }
            // The kernel stamps every frame that a driver takes, a card may leave some out.
            let watch_ns = if card.is_none() { LINK_WATCH_NS } else { 0 };
            let down_until_ns = self.down_until_ns.checked_add(watch_ns).filter(|_| self.down_until_ns > 0);
            voyage.expire(now, down_until_ns.unwrap_or(0));
        }
        if !self.is_asked {
            voyage.forget(0);
        }
        Ok(())
    }

    /// The first frames that may be handed over now; their launch times are written down for the kernel.
    fn near(&mut self, now_unix_ns: u64) -> usize {
        let pending = self.batch.range();
        let room = self.most.saturating_sub(self.voyage.waiting);
        let mut count = 0;
        for index in pending.take(room) {
            let launch = self.batch.launch(index);
            if launch.0 > now_unix_ns.saturating_add(self.launch.ahead_ns) {
                break;
            }
            self.times[index] = match launch {
                Stamp::NONE => self.launch.soon(now_unix_ns),
                Stamp(unix_ns) => self.launch.by_clock(unix_ns),
            };
            self.batch.set_time(index, self.times[index]);
            count += 1;
        }
        count
    }

    fn number(&self, index: usize) -> u64 {
        self.numbered - (self.batch.range().end - index) as u64
    }

    fn entry(&self, index: usize) -> Entry {
        Entry {
            number: self.number(index),
            key: self.voyage.next_key,
            launch: self.batch.launch(index),
            launch_ns: self.times[index],
            due_unix_ns: self.batch.launch(index).0.max(self.now_unix_ns),
            length: self.batch.length(index) as u32,
            fate: Fate::Waiting,
        }
    }

    /// The first frame pending was refused: whether that was for its time, and it is given up.
    fn is_late(&mut self, socket: &Socket) -> io::Result<bool> {
        self.collect(socket)?;
        let index = self.batch.range().start;
        let launch_ns = self.times[index];
        let is_told = self.voyage.was_refused(launch_ns);
        // The report found no room; the queueing discipline takes none whose time is over.
        let is_over = || {
            let now = clock::clock_ns(self.launch.clock).unwrap_or(0);
            self.launch.is_strict() && launch_ns <= now
        };
        if !is_told && !is_over() {
            return Ok(false);
        }
        let entry = Entry { fate: Fate::Missed, ..self.entry(index) };
        self.voyage.refuse(entry);
        self.batch.skip();
        Ok(true)
    }
}

impl Outlet for Timed {
    fn write(&mut self, most: usize, longest: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Written {
        let written = self.batch.write(most, longest, write);
        self.numbered += self.batch.pending() as u64;
        written
    }

    fn pending(&self) -> usize {
        self.batch.pending()
    }

    fn hand_over(&mut self, socket: &Socket) -> io::Result<(u64, u64)> {
        self.launch.compare(clock::monotonic_ns());
        if self.voyage.waiting * 2 >= self.most || !self.is_asked {
            self.collect(socket)?;
        }
        self.now_unix_ns = clock::unix_ns();
        let count = self.near(self.now_unix_ns);
        if count == 0 {
            return Ok((0, 0));
        }
        let start = self.batch.range().start;
        match self.batch.send(socket, count) {
            Ok(sent) => {
                let mut bytes = 0;
                for index in start..start + sent {
                    let entry = self.entry(index);
                    bytes += u64::from(entry.length);
                    self.voyage.add(entry);
                }
                self.batch.advance(sent);
                if sent < count {
                    // The one behind was refused, and had a number.
                    self.voyage.next_key = self.voyage.next_key.wrapping_add(1);
                    self.is_late(socket)?;
                }
                Ok((sent as u64, bytes))
            }
            Err(error) => {
                if matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::EMSGSIZE)) {
                    self.voyage.next_key = self.voyage.next_key.wrapping_add(1);
                }
                if error.raw_os_error() == Some(libc::ENOBUFS) && self.is_late(socket)? {
                    return Ok((0, 0));
                }
                Err(error)
            }
        }
    }

    fn skip(&mut self) {
        self.batch.skip();
    }

    fn discard(&mut self) -> usize {
        self.batch.discard()
    }

    fn in_flight(&mut self, socket: &Socket) -> io::Result<bool> {
        self.collect(socket)?;
        Ok(self.voyage.waiting > 0 || socket.unsent()? > 0)
    }

    fn batch(&self) -> usize {
        self.batch.batch()
    }

    fn settled(&mut self) -> Settled {
        std::mem::take(&mut self.voyage.settled)
    }

    fn due_in(&self) -> Option<Duration> {
        let range = self.batch.range();
        let first = (!range.is_empty()).then(|| self.batch.launch(range.start))?;
        let near = first.0.saturating_sub(self.launch.ahead_ns);
        Some(Duration::from_nanos(near.saturating_sub(clock::unix_ns())))
    }

    fn departed(
        &mut self,
        socket: &Socket,
        most: usize,
        read: &mut dyn FnMut(&Departed),
    ) -> io::Result<usize> {
        self.collect(socket)?;
        let told = self.voyage.report(most, read);
        // Said once: what else left is told of all the same.
        if told == 0 && self.voyage.early_in_a_row >= MOST_EARLY && !self.is_complained {
            self.is_complained = true;
            let what = "frames leave long before their launch times: the queueing discipline that held them is \
                        gone, or they pass through another of its classes (priority=…)";
            return Err(io::Error::other(what));
        }
        Ok(told)
    }

    fn card(&mut self) -> Option<&mut CardClock> {
        self.card.as_mut()
    }
}

/// What a socket's buffers may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rooms {
    pub send: u32,
    pub receive: u32,
}

impl Rooms {
    /// Frames of up to `longest` bytes that are certain to fit half of each: the kernel counts what it
    /// allocates for them, rounded up to a power of two, and less than a kibibyte for each stamp.
    pub fn frames(self, longest: usize) -> usize {
        let each = longest.next_power_of_two() * 2 + 1_024;
        (self.send as usize / 2 / each).min(self.receive as usize / 2 / 1_024)
    }
}

impl Voyage {
    fn add(&mut self, entry: Entry) {
        self.next_key = self.next_key.wrapping_add(1);
        self.waiting += 1;
        self.entries.push_back(entry);
        if self.entries.len() > MOST_REPORTS {
            self.forget(MOST_REPORTS / 2);
        }
    }

    /// A frame that never got into the queue.
    fn refuse(&mut self, entry: Entry) {
        self.settled.refused += 1;
        self.entries.push_back(entry);
    }

    fn was_refused(&mut self, launch_ns: u64) -> bool {
        let found = self.refused.iter().position(|refused| *refused == launch_ns);
        found.map(|place| self.refused.swap_remove(place)).is_some()
    }

    fn take(&mut self, told: Told, card: Option<&CardClock>, launch: &Launch) {
        match told {
            Told::Left { key, unix_ns, card_ns } => {
                let stamp = match card {
                    Some(card) if card_ns > 0 => card.stamp(card_ns),
                    _ => Stamp(unix_ns),
                };
                self.left(key, stamp, launch.early_ns());
            }
            Told::Missed { launch_ns } => self.missed(launch_ns),
            Told::Refused { launch_ns } => {
                if self.refused.len() == MOST_REFUSED {
                    self.refused.remove(0);
                }
                self.refused.push(launch_ns);
            }
        }
    }

    fn left(&mut self, key: u32, stamp: Stamp, early_ns: Option<u64>) {
        let Some(first) = self.entries.front().map(|entry| entry.key) else { return };
        // Keys ascend from the first one on; one that is not here was told of before, or given up.
        let place = self.entries.partition_point(|entry| {
            (entry.key.wrapping_sub(first) as i32) < (key.wrapping_sub(first) as i32)
        });
        let is_it = |entry: &&mut Entry| entry.key == key && entry.fate == Fate::Waiting;
        let Some(entry) = self.entries.iter_mut().skip(place).take(MOST_REFUSED).find(is_it) else { return };
        entry.fate = if stamp == Stamp::NONE { Fate::Untold } else { Fate::Left(stamp) };
        self.waiting -= 1;
        let is_early = early_ns.is_some_and(|early| {
            entry.launch.0 > stamp.0.saturating_add(early + EARLY_NS) && stamp != Stamp::NONE
        });
        self.early_in_a_row = if is_early { self.early_in_a_row + 1 } else { 0 };
    }

    fn missed(&mut self, launch_ns: u64) {
        let is_it = |entry: &&mut Entry| entry.launch_ns == launch_ns && entry.fate == Fate::Waiting;
        let Some(entry) = self.entries.iter_mut().find(is_it) else { return };
        entry.fate = Fate::Missed;
        self.waiting -= 1;
        self.settled.missed += 1;
        self.settled.missed_bytes += u64::from(entry.length);
    }

    fn has_overdue(&self, now_unix_ns: u64) -> bool {
        let first = self.entries.iter().find(|entry| entry.fate == Fate::Waiting);
        first.is_some_and(|entry| entry.due_unix_ns.saturating_add(OVERDUE_NS) <= now_unix_ns)
    }

    /// Stamps that are long overdue do not come any more. Of what was due before `down_until_ns` the link, when
    /// it was lost, has taken the rest.
    fn expire(&mut self, now_unix_ns: u64, down_until_ns: u64) {
        let is_overdue = |entry: &&mut Entry| entry.due_unix_ns.saturating_add(OVERDUE_NS) <= now_unix_ns;
        for entry in self.entries.iter_mut().take_while(is_overdue) {
            if entry.fate != Fate::Waiting {
                continue;
            }
            self.waiting -= 1;
            let is_lost = entry.due_unix_ns <= down_until_ns;
            entry.fate = if is_lost { Fate::Lost } else { Fate::Untold };
            if is_lost {
                self.settled.down += 1;
                self.settled.down_bytes += u64::from(entry.length);
            }
        }
    }

    /// Tells of the frames whose fate is known, up to the first whose is not. Of those that left at a time that
    /// nobody told, nothing is said.
    fn report(&mut self, most: usize, read: &mut dyn FnMut(&Departed)) -> usize {
        let mut told = 0;
        while told < most
            && let Some(entry) = self.entries.front()
        {
            let (start, missed) = match entry.fate {
                Fate::Waiting => break,
                Fate::Left(start) => (start, false),
                Fate::Missed => (Stamp::NONE, true),
                Fate::Lost => (Stamp::NONE, true),
                Fate::Untold => {
                    self.entries.pop_front();
                    continue;
                }
            };
            let late = match entry.launch {
                Stamp::NONE => 0,
                launch => start.0.saturating_sub(launch.0),
            };
            let (number, launch) = (entry.number, entry.launch);
            let (late, into_nothing) = (Picos::from_nanos(late), entry.fate == Fate::Lost);
            read(&Departed { number, launch, start, late, missed, into_nothing, ..Departed::default() });
            self.entries.pop_front();
            told += 1;
        }
        told
    }

    /// Forgets what nobody asks for, but for so many.
    fn forget(&mut self, keep: usize) {
        while self.entries.len() > keep && self.entries.front().is_some_and(|one| one.fate != Fate::Waiting) {
            self.entries.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
