//! `pcap`: capture files as ports. One that is received from replays its frames as fast as they are asked for,
//! with their stamps; one that is sent to writes them, stamped with the time at which they were to leave, or
//! with that of the call.
//!
//! ```text
//! in.pcapng ─► Reader ─► receive          transmit ─► Writer ─► out.pcapng
//! ```

pub mod bytes;
mod interface;
mod only;
mod packed;
mod reader;
mod rotation;
mod source;
mod writer;

pub use bytes::{Described, Statistics};
pub use interface::{Interface, LinkType};
pub use reader::{Captured, Format, Reader};
pub use rotation::{Rotating, Rotation, number_of, numbered};
pub use writer::{Style, Writer, Written};

use crate::about::{Abilities, About, StampedBy};
use crate::{
    Address, CardWork, Counters, Direction, DropPlace, For, Frame, Port, PortError, Slot, Stamp, Wish,
};
use only::Only;
use std::path::{Path, PathBuf};
use units::Picos;

/// Most frames of one call.
const BATCH: usize = 1_024;
/// Longest frame that is written: tcpdump's own limit.
const LONGEST: usize = 262_144;

pub(crate) fn open(address: &Address, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    wish.one_queue(address)?;
    match wish.direction {
        Direction::Receive => Ok(Box::new(Replay::open(address, wish)?)),
        Direction::Transmit => Ok(Box::new(Sink::open(address, wish)?)),
        Direction::Both => {
            Err(PortError::Unable { port: address.to_string(), what: "be read and written at the same time" })
        }
    }
}

/// See [`crate::check`]. What may be read only once, such as standard input or a pipe, is left for the run.
pub(crate) fn check(address: &Address, wish: &Wish) -> Result<About, PortError> {
    let path = Path::new(address.place());
    match wish.direction {
        Direction::Transmit => {
            wish.one_queue(address)?;
            sink_style(address, wish)?;
            Writer::check(path)?;
        }
        Direction::Receive if is_read_once(path) => {
            wish.one_queue(address)?;
            rounds(address)?;
        }
        Direction::Receive | Direction::Both => return open(address, wish).map(|port| port.about().clone()),
    }
    let (transmit, receive) = (wish.direction.transmits(), wish.direction.receives());
    Ok(about(address, LONGEST, Abilities { transmit, receive, ..Abilities::default() }))
}

fn about(address: &Address, longest: usize, can: Abilities) -> About {
    About { name: address.to_string(), kind: "pcap", longest, can, queues: 1, ..About::default() }
}

/// A file that is read.
struct Replay {
    about: About,
    path: PathBuf,
    reader: Reader,
    counters: Counters,
    /// Rounds that are still to come; `None` is for ever.
    rounds: Option<u64>,
    lap: Lap,
    only: Only,
    /// What was lost when it was captured has been counted.
    is_told: bool,
    failed: Option<PortError>,
}

/// How stamps go on when the file begins anew.
#[derive(Default)]
struct Lap {
    first_ns: u64,
    last_ns: u64,
    gap_ns: u64,
    shift_ns: u64,
    frames: u64,
}

impl Lap {
    fn stamp(&mut self, stamp: Stamp) -> Stamp {
        let now = stamp.as_unix_nanos();
        if now == 0 {
            return stamp;
        }
        if self.frames == 0 {
            (self.first_ns, self.last_ns) = (now, now);
        }
        self.frames += 1;
        self.gap_ns = now.saturating_sub(self.last_ns);
        self.last_ns = now;
        Stamp(now.saturating_add(self.shift_ns))
    }

    /// The first frame of the next round follows the last by the gap between the last two.
    fn next(&self) -> Self {
        let round = self.last_ns.saturating_sub(self.first_ns).saturating_add(self.gap_ns);
        Self { shift_ns: self.shift_ns.saturating_add(round), ..Self::default() }
    }
}

/// How many times the file is read; 0 is for ever.
fn rounds(address: &Address) -> Result<u64, PortError> {
    let rounds: u64 = address.read("loop", "10")?.unwrap_or(1);
    if rounds != 1 && is_read_once(Path::new(address.place())) {
        return Err(address.wrong("standard input and pipes cannot be read twice", "loop=1"));
    }
    Ok(rounds)
}

/// Standard input, by whatever name, and pipes.
fn is_read_once(path: &Path) -> bool {
    path == Path::new("-") || std::fs::metadata(path).is_ok_and(|found| !found.is_file())
}

impl Replay {
    fn open(address: &Address, wish: &Wish) -> Result<Self, PortError> {
        let rounds = rounds(address)?;
        let path = PathBuf::from(address.place());
        let only = Only::of(address, wish);
        if !is_read_once(&path) {
            only.check(&path)?;
        }
        let reader = Reader::open(&path)?;
        let can = Abilities {
            receive: true,
            batch: BATCH,
            stamps: Some(StampedBy::Software),
            zero_copy: true,
            ..Abilities::default()
        };
        let rounds = (rounds > 0).then(|| rounds - 1);
        let (counters, lap) = (Counters::default(), Lap::default());
        let about = about(address, LONGEST, can);
        Ok(Self { about, path, reader, counters, rounds, lap, only, is_told: false, failed: None })
    }

    /// Begins anew; `false` if it was the last round.
    fn next_round(&mut self) -> Result<bool, PortError> {
        // A file without frames has no next round either.
        if self.rounds == Some(0) || self.reader.frames() == 0 {
            return Ok(false);
        }
        self.reader = Reader::open(&self.path)?;
        self.rounds = self.rounds.map(|rounds| rounds - 1);
        self.lap = self.lap.next();
        Ok(true)
    }
}

impl Port for Replay {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, _: usize, _: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        Err(PortError::Unable { port: self.about.name.clone(), what: "send: it is read" })
    }

    fn stamp_step_ns(&mut self) -> f64 {
        self.reader.step_ns()
    }

    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut count = 0;
        while count < most.min(BATCH) {
            let number = self.reader.frames() + 1;
            match self.reader.next() {
                Ok(Some(frame)) => {
                    // Those of other interfaces may be of any kind.
                    let taken = self.only.takes(&frame).and_then(|taken| match taken {
                        true => frame.must_be_ethernet(number, &self.only.file).map(|()| true),
                        false => Ok(false),
                    });
                    match taken {
                        Ok(true) => {}
                        Ok(false) => continue,
                        Err(error) => {
                            self.rounds = Some(0);
                            self.failed = Some(error);
                            break;
                        }
                    }
                    let stamp = self.lap.stamp(frame.stamp);
                    let (data, length) = (frame.data, frame.length);
                    read(&Frame { data, length, stamp, lost_before: 0, card_work: CardWork::NONE });
                    count += 1;
                    self.counters.received += 1;
                    self.counters.received_bytes += frame.length as u64;
                }
                Ok(None) => {
                    if !std::mem::replace(&mut self.is_told, true) {
                        let lost = self.reader.lost_before(|number, name| self.only.wants(number, name));
                        self.counters.drop(DropPlace::ReceiveRing, lost);
                    }
                    if !self.next_round()? {
                        break;
                    }
                }
                Err(error) => {
                    self.rounds = Some(0);
                    if count == 0 {
                        return Err(error);
                    }
                    // The frames before it were good: it is told by the next call.
                    self.failed = Some(error);
                    break;
                }
            }
        }
        if count == 0 && most > 0 {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            return Err(PortError::Over { port: self.about.name.clone() });
        }
        Ok(count)
    }

    fn flush(&mut self, _patience: Picos) -> Result<bool, PortError> {
        Ok(true)
    }

    fn wait(&mut self, what: For, _patience: Picos) -> Result<bool, PortError> {
        Ok(what == For::Receive)
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        Ok(&self.counters)
    }
}

/// A file that is written.
struct Sink {
    about: About,
    /// `None` after a failure.
    writer: Option<Writer>,
    room: Vec<u8>,
    mark: u64,
    counters: Counters,
}

impl Sink {
    fn open(address: &Address, wish: &Wish) -> Result<Self, PortError> {
        let path = PathBuf::from(address.place());
        let writer = Writer::create(&path, sink_style(address, wish)?)?;
        let can = Abilities { transmit: true, batch: BATCH, launch_time: true, ..Abilities::default() };
        let longest = wish.frame.clamp(1_514, LONGEST);
        let about = about(address, longest, can);
        Ok(Self {
            about,
            writer: Some(writer),
            room: vec![0; longest],
            mark: 0,
            counters: Counters::default(),
        })
    }

    fn write_one(&mut self, now: Stamp, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<(), PortError> {
        let mut slot = Slot { data: &mut self.room, length: 0, launch: Stamp::NONE, mark: &mut self.mark };
        write(&mut slot);
        let (length, launch) = (slot.length, slot.launch);
        if length > self.room.len() {
            let (port, longest) = (self.about.name.clone(), self.room.len());
            return Err(PortError::TooLong { port, length, longest });
        }
        let Some(writer) = self.writer.as_mut().filter(|_| length > 0) else { return Ok(()) };
        let stamp = if launch == Stamp::NONE { now } else { launch };
        writer.frame(stamp, length, &self.room[..length], 0)?;
        self.counters.sent += 1;
        self.counters.sent_bytes += length as u64;
        Ok(())
    }

    /// Frames that had been taken and are not in the file.
    fn fail(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        let lost = self.counters.sent.saturating_sub(writer.counts().frames);
        self.counters.drop(DropPlace::TransmitKernel, lost);
    }
}

/// How the file is written, as the options want it.
fn sink_style(address: &Address, wish: &Wish) -> Result<Style, PortError> {
    if address.option("interface").is_some() {
        return Err(address.wrong("interface is of a file that is read", "it without interface=…"));
    }
    let mut style = style(Path::new(address.place()), address)?;
    style.described.snap = wish.snap.map_or(0, |snap| snap as u32);
    Ok(style)
}

fn style(path: &Path, address: &Address) -> Result<Style, PortError> {
    let by_name = Style::of_name(path);
    let Some(_) = address.option("format") else { return Ok(by_name) };
    let format = match address.word("format", &["pcapng", "pcap", "pcap-us"])? {
        "pcap" => Format::PcapNanos,
        "pcap-us" => Format::PcapMicros,
        _ => Format::PcapNg,
    };
    Ok(Style { format, ..by_name })
}

impl Port for Sink {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        let Some(writer) = &mut self.writer else {
            return Err(PortError::Gone { interface: self.about.name.clone() });
        };
        writer.begin()?;
        let now = Stamp(clock::unix_ns());
        for _ in 0..most.min(BATCH) {
            match self.write_one(now, write) {
                Ok(()) => {}
                Err(error @ PortError::TooLong { .. }) => return Err(error),
                Err(error) => {
                    self.fail();
                    return Err(error);
                }
            }
        }
        Ok(most.min(BATCH))
    }

    fn receive(&mut self, _: usize, _: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        Err(PortError::Unable { port: self.about.name.clone(), what: "receive: it is written" })
    }

    fn flush(&mut self, _patience: Picos) -> Result<bool, PortError> {
        let Some(writer) = &mut self.writer else { return Ok(true) };
        let done = writer.flush();
        if done.is_err() {
            self.fail();
        }
        done.map(|()| true)
    }

    fn wait(&mut self, what: For, _patience: Picos) -> Result<bool, PortError> {
        Ok(what == For::Transmit)
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        self.counters.calls =
            self.writer.as_ref().map_or(self.counters.calls, |writer| writer.counts().calls);
        Ok(&self.counters)
    }
}

impl std::ops::Drop for Sink {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.end_if_begun(&Statistics::default());
        }
    }
}
