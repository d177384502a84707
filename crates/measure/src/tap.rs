//! Single events, for those who want each one: a tap between an engine thread and its recorder.
//!
//! ```text
//!                        full (one channel for all threads)
//!   engine ─► Tapped ─┬──────────────────────────────────► Batches ─► Batch ─► whoever reads it
//!   (thread)          │  ◄──────────────────────────────────────────── its memory, once dropped
//!                     └─► Recorder       empty (one channel for each thread)
//! ```
//!
//! The engine never waits for those who read: a tap has a fixed number of buffers, all made before the run.
//! When none is left, events are counted as lost ([`Batches::lost`]); the recorder's figures have them all the
//! same.
//!
//! Times in a tapped event are since the run's origin: `Instant::EPOCH` is the origin, and what is due before
//! the end of the warm-up (an event of the warm-up passes too) is due before `EPOCH + warmup`. `Instant::FAR`
//! stays "never". Departures given up together ([`Record::missed`]) are a number, not events, and do not pass
//! here.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use units::{Bytes, EngineCounters, Event, Fate, Instant, Miss, Phase, Picos, Record};

/// Events of a full batch; 288 KiB.
pub const BATCH: usize = 4_096;

/// Buffers of all threads together: a million events, 72 MiB if all of them are ever used.
const BUFFERS: usize = 256;

/// The fewest buffers of one thread.
const FEWEST: usize = 8;

/// How long an event may wait for its batch to fill.
const AGE: Picos = Picos::from_millis(50);

/// A tap for each recorder, and where their events come out. `origin` is the run's origin on the engine's
/// clock.
pub fn taps<R: Record>(recorders: Vec<R>, origin: Instant) -> (Vec<Tapped<R>>, Batches) {
    let each = (BUFFERS / recorders.len().max(1)).max(FEWEST);
    taps_with(recorders, origin, each)
}

fn taps_with<R: Record>(recorders: Vec<R>, origin: Instant, each: usize) -> (Vec<Tapped<R>>, Batches) {
    // Room for every buffer there is: a tap that has one can always hand it over.
    let (full_in, full_out) = sync_channel(recorders.len() * (each + 1));
    let tap = |thread: usize| Tap::new(thread, origin, each, full_in.clone());
    let tapped: Vec<Tapped<R>> = recorders
        .into_iter()
        .enumerate()
        .map(|(thread, recorder)| Tapped { tap: Some(tap(thread)), recorder })
        .collect();
    let lost = tapped.iter().filter_map(|tapped| tapped.tap.as_ref()).map(|tap| tap.lost.clone()).collect();
    (tapped, Batches { full: full_out, lost })
}

/// A recorder with a tap before it, or without one: then it costs one branch for an event.
#[derive(Debug)]
pub struct Tapped<R> {
    tap: Option<Tap>,
    recorder: R,
}

impl<R> Tapped<R> {
    /// Nobody wants single events.
    pub fn untapped(recorder: R) -> Self {
        Self { tap: None, recorder }
    }
}

impl<R: Record> Record for Tapped<R> {
    #[inline]
    fn event(&mut self, event: &Event) {
        if let Some(tap) = &mut self.tap {
            tap.event(event);
        }
        self.recorder.event(event);
    }

    fn missed(&mut self, why: Miss, count: u64) {
        self.recorder.missed(why, count);
    }

    fn given_up(&mut self, why: Miss, count: u64, had: Picos) {
        self.recorder.given_up(why, count, had);
    }

    fn pause(&mut self, at: Instant, length: Picos) {
        self.recorder.pause(at, length);
    }

    /// Frames that are counted together are no single events: none is told of.
    #[inline]
    fn frames(&mut self, fate: Fate, count: u64, bytes: Bytes) {
        self.recorder.frames(fate, count, bytes);
    }

    #[inline]
    fn gap_error(&mut self, error: Picos) {
        self.recorder.gap_error(error);
    }

    fn phase(&mut self, phase: Phase, took: Picos) {
        self.recorder.phase(phase, took);
    }

    #[inline]
    fn tick(&mut self, now: Instant, counters: &EngineCounters) {
        if let Some(tap) = &mut self.tap {
            tap.tick(now);
        }
        self.recorder.tick(now, counters);
    }
}

/// One thread's side.
#[derive(Debug)]
struct Tap {
    thread: u16,
    origin: Instant,
    /// Has no capacity when every buffer is out.
    active: Vec<Event>,
    /// Those at home; the last that came back is the next used, as it may still be in a cache.
    spare: Vec<Vec<Event>>,
    each: usize,
    now: Instant,
    due: Instant,
    full: SyncSender<Batch>,
    home: SyncSender<Vec<Event>>,
    returned: Receiver<Vec<Event>>,
    lost: Arc<AtomicU64>,
}

impl Tap {
    fn new(thread: usize, origin: Instant, each: usize, full: SyncSender<Batch>) -> Self {
        let (home, returned) = sync_channel(each + 1);
        let mut spare = Vec::with_capacity(each + 1);
        spare.extend(std::iter::repeat_with(|| Vec::with_capacity(BATCH)).take(each));
        Self {
            thread: u16::try_from(thread).unwrap_or(u16::MAX),
            origin,
            active: Vec::with_capacity(BATCH),
            spare,
            each,
            now: origin,
            due: origin + AGE,
            full,
            home,
            returned,
            lost: Arc::new(AtomicU64::new(0)),
        }
    }

    #[inline]
    fn event(&mut self, event: &Event) {
        if self.active.capacity() == 0 && !self.refill() {
            return self.lose(1);
        }
        self.active.push(self.since_origin(event));
        if self.active.len() == BATCH {
            self.hand_over();
        }
    }

    #[inline]
    fn tick(&mut self, now: Instant) {
        self.now = now;
        if now >= self.due {
            self.grow_old();
        }
    }

    /// Hands over what waited long enough. When those who read are behind and half of the buffers are out, the
    /// others are filled before they go: so they last longest.
    #[cold]
    fn grow_old(&mut self) {
        self.due = self.now + AGE;
        self.spare.extend(self.returned.try_iter());
        if !self.active.is_empty() && 2 * self.spare.len() >= self.each {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        self.due = self.now + AGE;
        let events = std::mem::take(&mut self.active);
        let batch = Batch { thread: self.thread, events, home: Some(self.home.clone()) };
        let count = batch.len() as u64;
        if self.full.try_send(batch).is_err() {
            // Nobody reads any more.
            self.lose(count);
        }
        self.refill();
    }

    /// Makes a buffer the active one, if there is one.
    fn refill(&mut self) -> bool {
        self.spare.extend(self.returned.try_iter());
        let next = self.spare.pop();
        let found = next.is_some();
        self.active = next.unwrap_or_default();
        found
    }

    fn since_origin(&self, event: &Event) -> Event {
        let shift = |at: Instant| match at {
            Instant::FAR => at,
            _ => Instant::EPOCH + at.since(self.origin),
        };
        Event {
            due: shift(event.due),
            sent: shift(event.sent),
            first_byte: shift(event.first_byte),
            done: shift(event.done),
            ..*event
        }
    }

    /// Only this thread writes its count.
    fn lose(&mut self, count: u64) {
        self.lost.store(self.lost.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        if !self.active.is_empty() {
            self.hand_over();
        }
    }
}

/// Some events of one engine thread, in the order in which they ended. Dropping it gives its memory back.
#[derive(Debug)]
pub struct Batch {
    thread: u16,
    events: Vec<Event>,
    home: Option<SyncSender<Vec<Event>>>,
}

impl Batch {
    /// A batch from nowhere, for those who test what reads batches.
    pub fn of(thread: u16, events: Vec<Event>) -> Self {
        Self { thread, events, home: None }
    }

    /// Index of the engine thread, from 0.
    pub fn thread(&self) -> u16 {
        self.thread
    }
}

impl Deref for Batch {
    type Target = [Event];

    fn deref(&self) -> &[Event] {
        &self.events
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            let mut events = std::mem::take(&mut self.events);
            events.clear();
            // A thread that has ended does not want it any more.
            let _ = home.try_send(events);
        }
    }
}

/// Where the events of all threads come out. One thread reads; it shares batches as it likes (`Arc<Batch>`),
/// and should not hold on to more than half of those there are.
#[derive(Debug)]
pub struct Batches {
    full: Receiver<Batch>,
    lost: Vec<Arc<AtomicU64>>,
}

impl Batches {
    /// The next batch; `Disconnected` when all threads are over and every batch was taken.
    pub fn recv_timeout(&self, patience: Duration) -> Result<Batch, RecvTimeoutError> {
        self.full.recv_timeout(patience)
    }

    /// Events so far for which there was no buffer: whoever reads was too slow.
    pub fn lost(&self) -> u64 {
        self.lost.iter().map(|lost| lost.load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests;
