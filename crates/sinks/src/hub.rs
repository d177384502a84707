//! All sinks of a run: one thread and one queue for each.
//!
//! ```text
//! main thread:   open ─ start ─ row, row, row… ─ end_rows ─► statuses ─► verdict ─► finish(result) ─► statuses
//! engine threads ─ Batches ─► distributor ─► the same queues
//! ```
//!
//! Nothing here waits for a sink but `open` (`BEGIN`), `end_rows` (its `patience`) and `finish`
//! (`Exporter::end_takes`); `row` never does.

use crate::exporter::{Exporter, RunInfo, SinkError, SinkRow};
use crate::place::Place;
use crate::queue::{Begun, Item, Next, Queue};
use clock::{Deadline, Stopwatch};
use measure::{Batches, IntervalRow, Series};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::Duration;
use store::RunResult;
use store::schema::{Interval, SinkStatus};

/// How long `open` waits for all sinks together.
const BEGIN: Duration = Duration::from_secs(5);
/// How long after the deadline a call that is on its way may still come back.
const GRACE: Duration = Duration::from_secs(1);
/// Between two attempts at the same: the first time, and at most.
const FIRST_NAP: Duration = Duration::from_millis(50);
const LONGEST_NAP: Duration = Duration::from_secs(1);
const END_NAPS: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_millis(1_500)];
/// How often the distributor looks whether it shall end.
const LOOK: Duration = Duration::from_millis(50);

/// The sinks of one run. Dropping it before `finish` leaves them as they are.
pub struct Hub {
    sinks: Vec<Sink>,
    warnings: Vec<String>,
    distributor: Option<Distributor>,
}

struct Sink {
    queue: Arc<Queue>,
    wants_rows: bool,
    wants_histograms: bool,
    wants_events: bool,
    end_takes: Duration,
}

struct Distributor {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Hub {
    /// Opens every place. `Err`: one of them can not be meant (status 2, no load was sent). A sink that is down
    /// is a warning: it is tried again while the run goes on.
    pub fn open(places: &[Place], run: RunInfo) -> Result<Self, SinkError> {
        check_together(places)?;
        let exporters = places.iter().map(|place| (place.kind().open)(place));
        let exporters: Vec<Box<dyn Exporter>> = exporters.collect::<Result<_, _>>()?;
        let run = Arc::new(run);
        let begin = |(place, exporter): (&Place, _)| Sink::begin(place.shown(), exporter, run.clone());
        let sinks: Vec<Sink> = places.iter().zip(exporters).map(begin).collect();
        let mut hub = Self { sinks, warnings: Vec::new(), distributor: None };
        let until = Deadline::after(BEGIN);
        for (place, sink) in places.iter().zip(&hub.sinks) {
            match sink.queue.begun(until.left()) {
                Begun::Yes => {}
                Begun::Failed(why @ SinkError::Url { .. }) => return Err(why),
                Begun::Failed(why @ SinkError::Refused { .. }) => {
                    hub.warnings.push(format!("{why}; nothing will be stored there"));
                }
                Begun::Failed(why @ SinkError::Unreachable { .. }) => {
                    hub.warnings.push(format!("{why}; it is tried again while the run goes on"));
                }
                Begun::NotYet => hub.warnings.push(format!(
                    "{}: no response within {} s; Tare waits for it while the run goes on",
                    place.shown(),
                    BEGIN.as_secs()
                )),
            }
        }
        Ok(hub)
    }

    /// For a run without sinks.
    pub fn none() -> Self {
        Self { sinks: Vec::new(), warnings: Vec::new(), distributor: None }
    }

    pub fn is_empty(&self) -> bool {
        self.sinks.is_empty()
    }

    /// Sinks that could not be begun: a sentence each, to be told at once.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether [`Hub::batches`] is wanted.
    pub fn wants_events(&self) -> bool {
        self.sinks.iter().any(|sink| sink.wants_events)
    }

    /// The load begins; `origin_unix_ns` is when its times count from, in nanoseconds since 1970.
    pub fn start(&self, origin_unix_ns: u64) {
        self.sinks.iter().for_each(|sink| sink.queue.start(origin_unix_ns));
    }

    /// Single events, until all engine threads are over.
    pub fn batches(&mut self, batches: Batches) {
        let queues: Vec<Arc<Queue>> =
            self.sinks.iter().filter(|sink| sink.wants_events).map(|sink| sink.queue.clone()).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let distribute = move || distribute(&batches, &queues, &stopped);
        match std::thread::Builder::new().name("tare-events".to_owned()).spawn(distribute) {
            Ok(thread) => self.distributor = Some(Distributor { stop, thread }),
            Err(why) => {
                let why = format!("no thread could be started for single events: {why}");
                self.warnings.push(why);
            }
        }
    }

    /// One interval is over.
    pub fn row(&self, row: &IntervalRow) {
        let of = |wants_histograms: bool| {
            let wants = |sink: &Sink| sink.wants_rows && sink.wants_histograms == wants_histograms;
            self.sinks.iter().any(wants).then(|| {
                let histograms = if wants_histograms { histograms(row) } else { Vec::new() };
                Arc::new(SinkRow { index: row.index, row: Interval::from(row), histograms })
            })
        };
        let (with, without) = (of(true), of(false));
        for sink in self.sinks.iter().filter(|sink| sink.wants_rows) {
            let row = if sink.wants_histograms { &with } else { &without };
            row.iter().for_each(|row| sink.queue.offer(Item::Row(row.clone())));
        }
    }

    /// There are no more rows, and the engine's threads are over: lets the sinks catch up for so long. What
    /// they have not taken by then is lost. The counts are final; `trouble` may still come in [`Hub::finish`].
    pub fn end_rows(&mut self, patience: Duration) -> Vec<SinkStatus> {
        let lost = self.distributor.take().map_or(0, Distributor::end);
        let until = Deadline::after(patience);
        for sink in &self.sinks {
            if sink.wants_events && lost > 0 {
                sink.queue.lose_events(lost, "single events came faster than they could be accepted");
            }
            sink.queue.close(until);
        }
        let left = || until.left() + GRACE;
        self.sinks.iter().map(|sink| sink.queue.freeze(left())).collect()
    }

    /// Gives every sink the result. Bounded: a sink that does not take it in time is left to itself.
    pub fn finish(self, result: &RunResult) -> Vec<SinkStatus> {
        if self.sinks.is_empty() {
            return Vec::new();
        }
        let result = Arc::new(result.clone());
        self.sinks.iter().for_each(|sink| sink.queue.end(result.clone()));
        let begun = Stopwatch::start();
        let left = |sink: &Sink| sink.end_takes.saturating_sub(begun.elapsed());
        self.sinks.iter().map(|sink| sink.queue.ended(left(sink))).collect()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.sinks.iter().for_each(|sink| sink.queue.leave());
    }
}

/// Two sinks must not write into one file, and standard output is only one.
fn check_together(places: &[Place]) -> Result<(), SinkError> {
    for (index, place) in places.iter().enumerate() {
        let (path, is_stdout) = (place.path(), place.is_stdout());
        let taken = |other: &Place| match is_stdout || path.as_os_str().is_empty() {
            true => is_stdout && other.is_stdout(),
            false => !other.path().as_os_str().is_empty() && os::clash::is_one_file(other.path(), path),
        };
        if places[..index].iter().any(taken) {
            return Err(place.wrong(match place.is_stdout() {
                true => "standard output is taken by another --to; name a file",
                false => "this file is taken by another --to; name another",
            }));
        }
    }
    Ok(())
}

/// Only series that have values.
pub(crate) fn histograms(row: &IntervalRow) -> Vec<(Series, measure::Histogram<u32>)> {
    let all = Series::ALL.iter().map(|series| (*series, row.data.series.of(*series)));
    all.filter(|(_, histogram)| !histogram.is_empty())
        .map(|(series, histogram)| (series, histogram.clone()))
        .collect()
}

/// Until the engine's threads are over. Returns how many events found no buffer.
fn distribute(batches: &Batches, queues: &[Arc<Queue>], stop: &AtomicBool) -> u64 {
    loop {
        match batches.recv_timeout(LOOK) {
            Ok(batch) => {
                let batch = Arc::new(batch);
                queues.iter().for_each(|queue| queue.offer(Item::Events(batch.clone())));
            }
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(_) => return batches.lost(),
        }
    }
}

impl Distributor {
    fn end(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

impl Sink {
    fn begin(url: &str, exporter: Box<dyn Exporter>, run: Arc<RunInfo>) -> Self {
        let queue = Arc::new(Queue::new(url));
        let wants_rows = exporter.wants_rows();
        let (wants_histograms, wants_events) = (exporter.wants_histograms(), exporter.wants_events());
        let end_takes = exporter.end_takes();
        let (of_thread, name) = (queue.clone(), url.to_owned());
        let live = move || live(exporter, &of_thread, &run);
        if let Err(why) = std::thread::Builder::new().name("tare-sink".to_owned()).spawn(live) {
            let problem = format!("no thread could be started for it: {why}");
            queue.begin_failed(&SinkError::Refused { sink: name, problem });
            queue.leave();
        }
        Self { queue, wants_rows, wants_histograms, wants_events, end_takes }
    }
}

/// The life of a sink's thread.
fn live(mut exporter: Box<dyn Exporter>, queue: &Queue, run: &RunInfo) {
    if !begin(exporter.as_mut(), queue, run) {
        return queue.give_up();
    }
    let Some(origin_unix_ns) = queue.started() else { return };
    exporter.start(origin_unix_ns);
    loop {
        match queue.next() {
            Next::Deliver(item) => deliver(exporter.as_mut(), queue, &item),
            Next::Flush => break,
            Next::Leave => return,
        }
        look_for_gone(exporter.as_mut(), queue);
    }
    let outcome = exporter.flush();
    look_for_gone(exporter.as_mut(), queue);
    queue.flushed(outcome);
    if let Some(result) = queue.result() {
        queue.end_done(end(exporter.as_mut(), &result));
    }
}

/// Gives it the result; a few times if nobody answers.
fn end(exporter: &mut dyn Exporter, result: &RunResult) -> Result<(), SinkError> {
    for nap in END_NAPS {
        match exporter.end(result) {
            Err(why) if why.may_pass() => std::thread::sleep(nap),
            outcome => return outcome,
        }
    }
    exporter.end(result)
}

/// Tries until it succeeds; `false`: it never will, or there is no time left.
fn begin(exporter: &mut dyn Exporter, queue: &Queue, run: &RunInfo) -> bool {
    let mut nap = FIRST_NAP;
    loop {
        match exporter.begin(run) {
            Ok(()) => {
                queue.begin_succeeded();
                return true;
            }
            Err(why) => {
                queue.begin_failed(&why);
                if !why.may_pass() || !queue.nap(nap) {
                    return false;
                }
            }
        }
        nap = (2 * nap).min(LONGEST_NAP);
    }
}

/// Gives it to the sink, again and again if nobody answers.
fn deliver(exporter: &mut dyn Exporter, queue: &Queue, item: &Item) {
    let mut nap = FIRST_NAP;
    loop {
        let outcome = match item {
            Item::Row(row) => exporter.interval(row),
            Item::Events(batch) => exporter.events(batch.thread(), batch),
        };
        match outcome {
            Ok(()) => return queue.arrived(),
            Err(why) if why.may_pass() => {
                queue.trouble(&why);
                if !queue.nap(nap) {
                    return queue.lost(&why);
                }
            }
            Err(why) => return queue.lost(&why),
        }
        nap = (2 * nap).min(LONGEST_NAP);
    }
}

fn look_for_gone(exporter: &mut dyn Exporter, queue: &Queue) {
    let gone = exporter.gone();
    if gone.rows + gone.events > 0 {
        queue.gone(&gone);
    }
}

#[cfg(test)]
mod tests;
