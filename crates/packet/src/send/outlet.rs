//! What a sending thread writes into frames, and when it was: templates by frame number, clock and wall clock.
//!
//! ```text
//!   number of a frame ─► Looks ─► template ─► slot of the port
//!                          ├ set: another template from a number on
//!                          └ a script: what it made of the template's frames, a burst ahead
//! ```

use super::scripted::Scripted;
use super::streams::{Due, Of};
use super::tape::Reel;
use clock::{Clock, HostClock};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Instant, Picos};
use wire::{Template, Times};

/// A clock that one can sleep by.
pub trait Timer: Clock {
    fn sleep_until(&self, due: Instant);
}

impl Timer for HostClock {
    fn sleep_until(&self, due: Instant) {
        Self::sleep_until(self, due);
    }
}

/// The wall clock's time of instants. Steps of the wall clock are followed when it is set again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wall {
    /// Nanoseconds since 1970 at the epoch of the clock.
    epoch_unix_ns: u64,
}

impl Wall {
    pub fn read(clock: &impl Clock) -> Self {
        let before = clock.now();
        let unix_ns = clock::unix_ns();
        let middle = Picos::from_picos(clock.now().since(before).as_picos() / 2);
        Self { epoch_unix_ns: unix_ns.saturating_sub((before + middle).since_epoch().as_nanos()) }
    }

    #[inline]
    pub fn times(&self, due: Instant, sent: Instant) -> Times {
        let unix = |at: Instant| self.epoch_unix_ns + at.since_epoch().as_nanos();
        Times { due_unix_ns: unix(due), sent_unix_ns: unix(sent) }
    }
}

/// Frames that were asked for while the run goes on, in the order in which they were.
#[derive(Default)]
pub struct Prepared(Mutex<Vec<Arc<Template>>>);

impl Prepared {
    /// Keeps them, and says under which number.
    pub fn keep(&self, template: Arc<Template>) -> usize {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(template);
        all.len() - 1
    }

    pub fn find(&self, number: usize) -> Option<Arc<Template>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(number).cloned()
    }
}

/// Changes for which a thread needs no more memory while it sends.
const ROOM: usize = 1_032;

/// Which template has which frames.
pub struct Looks {
    /// From which frame on; the first is from 0.
    all: Vec<(u64, Arc<Template>)>,
    is_signed: bool,
    script: Option<Box<Scripted>>,
    /// Frames of a recording that is read while it is sent.
    reel: Option<Reel>,
    /// Departures that were given up and have no number: signatures count only what leaves.
    unnumbered: u64,
    /// What signatures count from.
    base: u64,
}

impl Looks {
    pub fn new(template: Arc<Template>) -> Self {
        let mut all = Vec::with_capacity(ROOM);
        let is_signed = template.is_signed();
        all.push((0, template));
        Self { all, is_signed, script: None, reel: None, unnumbered: 0, base: 0 }
    }

    /// The same frames, whose signatures count from `base` on: see [`crate::signed::drawn_base`].
    #[must_use]
    pub const fn counted_from(mut self, base: u64) -> Self {
        self.base = base;
        self
    }

    /// The same frames when a script has finished them.
    #[must_use]
    pub fn finished_by(self, script: Option<Scripted>) -> Self {
        Self { script: script.map(Box::new), ..self }
    }

    pub fn script(&mut self) -> Option<&mut Scripted> {
        self.script.as_deref_mut()
    }

    pub const fn has_script(&self) -> bool {
        self.script.is_some()
    }

    /// Makes ready what a script has to finish before it can be written; says of how many of these frames it
    /// has.
    ///
    /// # Errors
    /// What the script raised.
    #[inline]
    pub fn prepare(&mut self, due: &[Due], clock: &impl Clock) -> Result<usize, String> {
        let Some(mut script) = self.script.take() else { return Ok(due.len()) };
        let made = script.prepare(self, due, clock);
        self.script = Some(script);
        made
    }

    /// The stream that a frame's signature names, if it is signed.
    #[cfg(feature = "lua")]
    pub fn signed_as(&self, due: &Due) -> Option<u16> {
        let look = self.of(due.departure.seq);
        let stream = self.stream_of(due);
        let is_signed = look.streams().get(stream)?.signature_at().is_some();
        is_signed.then(|| look.numbers().start.wrapping_add(stream as u16))
    }

    /// Frames come from there; what was given looks like them.
    #[must_use]
    pub fn with_reel(self, reel: Option<Reel>) -> Self {
        Self { reel, ..self }
    }

    /// Sees to it that the frames `from..=to` can be written; `false` if they have not been read yet.
    #[inline]
    pub fn hold(&mut self, from: u64, to: u64) -> bool {
        self.reel.as_mut().is_none_or(|reel| reel.hold(from, to))
    }

    /// What is to leave has not been read, and is late by so much already.
    pub fn late(&mut self, by: Picos) {
        if let Some(reel) = &mut self.reel {
            reel.late(by);
        }
    }

    /// What is to leave has not been read, and has no due time.
    pub fn waits(&mut self) {
        if let Some(reel) = &mut self.reel {
            reel.waits();
        }
    }

    /// No more frames will be written.
    pub fn let_go(&mut self) {
        self.reel = None;
    }

    /// From frame `first` on there is another.
    pub fn change(&mut self, first: u64, template: Arc<Template>) {
        self.is_signed |= template.is_signed();
        self.all.push((first, template));
        if let Some(script) = &mut self.script {
            script.forget_from(first);
        }
    }

    /// So many more departures, all before the next frame, were given up: the next has the number of the first
    /// of them.
    pub const fn leave_out(&mut self, count: u64) {
        self.unnumbered += count;
    }

    /// The number of a frame of those that leave.
    #[inline]
    pub const fn number_of(&self, seq: u64) -> u64 {
        seq.saturating_sub(self.unnumbered)
    }

    /// The number that its signature has.
    #[inline]
    pub const fn signed_number_of(&self, seq: u64) -> u64 {
        self.base + self.number_of(seq)
    }

    pub const fn is_signed(&self) -> bool {
        self.is_signed
    }

    /// Writes a frame into a room, see [`Template::write`]; where a script is, one that is ready.
    #[inline]
    pub fn write(&self, due: &Due, times: Times, room: &mut [u8], mark: &mut u64) -> usize {
        match &self.script {
            None => self.write_plain(due, times, room, mark),
            Some(script) => script.write(self, due, times, room, mark),
        }
    }

    /// The same as the template or the recording has it.
    #[inline]
    pub fn write_plain(&self, due: &Due, times: Times, room: &mut [u8], mark: &mut u64) -> usize {
        let seq = due.departure.seq;
        if let Some(reel) = &self.reel {
            return reel.write(seq, self.signed_number_of(seq), times, room, mark);
        }
        let look = self.of(seq);
        let (stream, number) = match due.of {
            None => look.locate(seq),
            Some(Of { stream, number }) => (stream, number),
        };
        look.write_of(stream, number, self.signed_number_of(seq), times, room, mark)
    }

    /// Which stream a frame is of.
    #[inline]
    pub fn stream_of(&self, due: &Due) -> usize {
        let seq = due.departure.seq;
        match due.of {
            Some(of) => of.stream,
            None => self.of(seq).locate(seq).0,
        }
    }

    #[inline]
    pub fn of(&self, seq: u64) -> &Template {
        let (first, last) = &self.all[self.all.len() - 1];
        if seq >= *first {
            return last;
        }
        let found = self.all.iter().rev().find(|(first, _)| *first <= seq);
        &found.unwrap_or(&self.all[0]).1
    }
}
