//! The other end of the recorders, on the main thread: joins their intervals into rows and totals.
//!
//! A row is complete when every thread has handed over that interval or a later one. It is shown to the sink,
//! added to the totals, cleared, and given back to the thread it came from; nothing is kept for an interval.

use crate::health::{HealthSample, HealthSummary, ThreadHealth};
use crate::interval::{IntervalData, IntervalRow};
use crate::probe::{Probe, ThreadRef};
use crate::recorder::{Handover, Recorder, Settings};
use crate::totals::RunTotals;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use units::{EngineCounters, Instant};

/// Makes a collector and one recorder for each thread.
pub fn recorders(settings: Settings) -> (Collector, Vec<Recorder>) {
    let threads = usize::from(settings.threads.max(1));
    // One is written while the other is merged; several threads may wait for each other one interval longer.
    let spares = if threads == 1 { 1 } else { 2 };
    let (full_in, full_out) = sync_channel(threads * (spares + 1));
    let mut recorders = Vec::with_capacity(threads);
    let mut states = Vec::with_capacity(threads);
    for thread in 0..threads {
        let (empty_in, empty_out) = sync_channel(spares + 1);
        for _ in 0..spares {
            empty_in
                .try_send(Box::new(IntervalData::new(settings.groups)))
                .expect("the channel has room for all");
        }
        recorders.push(Recorder::new(settings, thread, full_in.clone(), empty_out));
        states.push(ThreadState { empty: empty_in, ..ThreadState::new() });
    }
    (Collector::new(settings, full_out, states), recorders)
}

/// What is known of one engine thread.
#[derive(Debug)]
struct ThreadState {
    empty: SyncSender<Box<IntervalData>>,
    /// Every interval before this one has been handed over.
    next: u64,
    counters: EngineCounters,
    seen: ThreadRef,
    over: bool,
}

impl ThreadState {
    fn new() -> Self {
        let (empty, _) = sync_channel(0);
        Self { empty, next: 0, counters: EngineCounters::default(), seen: ThreadRef::default(), over: false }
    }
}

/// A row that still waits for threads, and the thread whose memory it uses.
#[derive(Debug)]
struct Pending {
    row: IntervalRow,
    owner: usize,
}

/// Joins what the threads hand over. Belongs to one thread, usually the main one.
#[derive(Debug)]
pub struct Collector {
    settings: Settings,
    full: Receiver<Handover>,
    threads: Vec<ThreadState>,
    pending: BTreeMap<u64, Pending>,
    totals: RunTotals,
    probe: Option<Probe>,
    summary: HealthSummary,
    last: Instant,
    /// Whether departures fell into the rows since the last sample.
    loaded: bool,
    /// They did into the one before.
    was_loaded: bool,
}

impl Collector {
    fn new(settings: Settings, full: Receiver<Handover>, threads: Vec<ThreadState>) -> Self {
        Self {
            settings,
            full,
            threads,
            pending: BTreeMap::new(),
            totals: RunTotals::new(settings.groups).asked_for(settings.asked),
            probe: None,
            summary: HealthSummary::default(),
            last: settings.origin,
            loaded: false,
            was_loaded: false,
        }
    }

    /// Looks at the generator itself at the end of each row.
    pub fn watch(&mut self, probe: Probe) {
        self.probe = Some(probe);
    }

    /// Takes what the threads handed over and gives each complete row to `sink`. Never waits.
    pub fn poll(&mut self, now: Instant, sink: &mut dyn FnMut(&IntervalRow)) {
        self.take_all();
        // A thread that has ended tells what it used in the end; it has said so before it was gone.
        if self.has_complete_row() && self.is_one_gone() {
            self.take_all();
        }
        self.emit(now, sink);
    }

    fn has_complete_row(&self) -> bool {
        self.pending.first_key_value().is_some_and(|(first, _)| *first < self.complete_before())
    }

    /// Every interval before this one has been handed over by all threads.
    fn complete_before(&self) -> u64 {
        let running = self.threads.iter().filter(|thread| !thread.over);
        running.map(|thread| thread.next).min().unwrap_or(u64::MAX)
    }

    fn is_one_gone(&self) -> bool {
        let Some(probe) = &self.probe else { return false };
        self.threads.iter().any(|thread| !thread.over && !probe.sees(thread.seen.tid))
    }

    fn take_all(&mut self) {
        loop {
            match self.full.try_recv() {
                Ok(handover) => self.take(handover),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => return self.all_gone(),
            }
        }
    }

    /// As `poll`, but waits up to `patience` for the first hand-over. Returns at once when all threads are
    /// over.
    pub fn poll_for(
        &mut self,
        patience: std::time::Duration,
        now: impl FnOnce() -> Instant,
        sink: &mut dyn FnMut(&IntervalRow),
    ) {
        if let Ok(handover) = self.full.recv_timeout(patience) {
            self.take(handover);
        }
        self.poll(now(), sink);
    }

    /// Whether every thread has ended.
    pub fn is_over(&self) -> bool {
        self.threads.iter().all(|thread| thread.over)
    }

    /// The totals so far; rows that still wait for a thread are not in them.
    pub fn totals(&self) -> &RunTotals {
        &self.totals
    }

    /// The generator's health so far.
    pub fn health(&self) -> &HealthSummary {
        &self.summary
    }

    /// Takes the last hand-overs and gives the rest of the rows to `sink`. Threads that have not ended by now
    /// count as lost.
    pub fn finish(mut self, now: Instant, sink: &mut dyn FnMut(&IntervalRow)) -> (RunTotals, HealthSummary) {
        self.poll(now, sink);
        self.all_gone();
        self.emit(now, sink);
        self.totals.measured = self.last.since(self.settings.measured_from);
        (self.totals, self.summary)
    }

    /// No thread will hand anything over any more.
    fn all_gone(&mut self) {
        for thread in self.threads.iter_mut().filter(|thread| !thread.over) {
            thread.over = true;
            self.totals.lost_threads += 1;
        }
    }

    fn take(&mut self, handover: Handover) {
        self.last = self.last.max(handover.at);
        let gained = self.note(&handover);
        let start = self.settings.interval.saturating_mul(handover.first);
        let regular_end = self.settings.end_of(handover.through);
        let end = if handover.end.is_some() { handover.at.min(regular_end) } else { regular_end };
        let length = end.since(self.settings.origin) - start;
        let Some(pending) = self.pending.get_mut(&handover.first) else {
            let row = IntervalRow {
                index: handover.first,
                start,
                length,
                data: handover.data,
                counters: gained,
                starved: handover.starved,
                health: None,
            };
            self.pending.insert(handover.first, Pending { row, owner: handover.thread });
            return;
        };
        let row = &mut pending.row;
        row.data.merge(&handover.data);
        row.length = row.length.max(length);
        row.starved += handover.starved;
        row.counters += gained;
        self.give_back(handover.thread, handover.data);
    }

    /// Remembers how far a thread is; what its counters gained.
    fn note(&mut self, handover: &Handover) -> EngineCounters {
        let thread = &mut self.threads[handover.thread];
        thread.next = handover.through + 1;
        let gained = handover.counters - thread.counters;
        thread.counters = handover.counters;
        thread.seen.tid = handover.tid;
        thread.seen.spun = handover.counters.spun;
        thread.seen.born = handover.born;
        if let Some(end) = handover.end {
            thread.over = true;
            thread.seen.ended = end.times.map(|times| (handover.at, times));
            self.totals.lost_threads += u64::from(end.panicked);
        }
        self.totals.counters = self.threads.iter().map(|thread| thread.counters).sum();
        gained
    }

    /// Gives every complete row away, in order.
    fn emit(&mut self, now: Instant, sink: &mut dyn FnMut(&IntervalRow)) {
        let complete_before = self.complete_before();
        while let Some(entry) = self.pending.first_entry() {
            if *entry.key() >= complete_before {
                break;
            }
            let mut pending = entry.remove();
            let is_last = self.pending.keys().next().is_none_or(|next| *next >= complete_before);
            self.loaded |= pending.row.offered() > 0;
            // Rows that became complete together have one sample between them, in the last.
            pending.row.health = if is_last { self.sample(now, &pending.row) } else { None };
            sink(&pending.row);
            self.add_to_totals(&pending.row);
            let mut data = pending.row.data;
            data.clear();
            self.return_empty(pending.owner, data);
        }
    }

    fn sample(&mut self, now: Instant, row: &IntervalRow) -> Option<HealthSample> {
        let seen: Vec<ThreadRef> = self.threads.iter().map(|thread| thread.seen).collect();
        let is_last = self.is_over();
        let ours = row.counters.open + row.counters.connecting;
        let sample = self.probe.as_mut()?.sample(now, &seen, ours, is_last)?;
        self.summary.add(&sample, self.loaded);
        if self.was_loaded && !self.loaded {
            self.summary.add_late_waits(&sample);
        }
        self.was_loaded = self.loaded;
        // A thread that could not be read now is in the next sample, with all that it did meanwhile.
        let is_unread = |(thread, health): (&ThreadState, &ThreadHealth)| !thread.over && health.span_ns == 0;
        // So is what others waited, if nobody has looked yet.
        let is_awaited = self.probe.as_ref().is_some_and(Probe::is_awaited);
        self.loaded &= is_awaited || self.threads.iter().zip(&sample.threads).any(is_unread);
        Some(sample)
    }

    fn add_to_totals(&mut self, row: &IntervalRow) {
        self.totals.merge(&row.data, self.settings.measured_from);
        self.totals.intervals += 1;
        self.totals.starved += row.starved;
    }

    fn give_back(&mut self, thread: usize, mut data: Box<IntervalData>) {
        data.clear();
        self.return_empty(thread, data);
    }

    fn return_empty(&mut self, thread: usize, data: Box<IntervalData>) {
        // A thread that has ended does not want it any more.
        let _ = self.threads[thread].empty.try_send(data);
    }
}
