//! A thread that receives what was sent, and says what arrived: loss, duplicates, order, one-way times, gaps.

use super::sender::report;
use crate::capture::stamps::{Origin, Resolution, reading_ns, stamping};
use crate::control::JobControl;
use crate::signed::{Mark, Senders, Settings, Signed};
use clock::{Clock, HostClock};
use hdrhistogram::Histogram;
use measure::gap_meter::{GapMeter, Requested};
use measure::packets::{GapReport, PortReport, ReceivedReport, Spread};
use port::{For, Port, PortError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use units::Picos;

/// Without signatures nobody knows what is missing, and nothing is called lost: so long is waited at most after
/// the last has left, and so long without a frame. Also where a run is broken off.
const PATIENCE: Picos = Picos::from_millis(300);
const QUIET: Picos = Picos::from_millis(100);
/// RFC 2544 §23: two seconds for frames that are left on the way, counted from the last that came or left.
const RESIDUAL: Picos = Picos::from_secs(2);
/// Where the way takes longer than that, as often its longest time without a frame; up to a limit.
const TIMES: u64 = 3;
const LONGEST_QUIET: Picos = Picos::from_secs(10);
/// Frames that come ever more slowly are not waited for longer than this.
const LONGEST: Picos = Picos::from_secs(60);
/// A frame that was waited for as often as long as the slowest took is lost.
const OVERDUE: u64 = 2;
/// Copies are waited for at least so long.
const COPIES: Picos = Picos::from_millis(20);
const WAIT: Picos = Picos::from_millis(5);
/// How often, [`WAIT`] apart, it is asked how many left, where the way ended before that was told.
const ASKS: u32 = 200;
const BATCH: usize = 256;
/// Longest time that is told apart.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// What arrived.
#[derive(Clone, Debug, Default)]
pub struct Arrived {
    pub report: ReceivedReport,
    /// Frames with signatures were sent: that none arrived is to be told, too.
    pub is_signed: bool,
    pub gaps: Option<GapReport>,
    /// Of each stream, where there are several.
    pub streams: Vec<StreamArrived>,
    /// Numbers below the highest whose departures were given up: they are not lost.
    pub never_left: u64,
    pub port: PortReport,
    /// Why receiving ended early.
    pub failure: Option<String>,
    /// How long it took for the slowest of the frames that came; zero if none came.
    pub longest: Picos,
}

/// What arrived of one stream.
#[derive(Clone, Debug, Default)]
pub struct StreamArrived {
    pub one_way_ns: Spread,
    /// `None` where the port does not stamp frames.
    pub gaps: Option<GapReport>,
}

/// The same while it arrives.
struct StreamReading {
    one_way: Shares,
    gaps: GapMeter,
}

impl Default for StreamReading {
    fn default() -> Self {
        Self { one_way: Shares::default(), gaps: GapMeter::new(Requested::Due) }
    }
}

/// What the receiver is told by those who send.
#[derive(Debug, Default)]
pub struct Sent {
    is_over: AtomicBool,
    /// Frames that were numbered.
    frames: AtomicU64,
    /// Of these, departures that were given up.
    never_left: AtomicU64,
}

impl Sent {
    /// All have left; so many had numbers, and of them so many never left.
    pub fn end(&self, frames: u64, never_left: u64) {
        self.never_left.store(never_left, Ordering::Release);
        self.frames.store(frames, Ordering::Release);
        self.is_over.store(true, Ordering::Release);
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// How frames are looked at.
pub struct Reading {
    /// Gaps that were asked for, where frames do not say when they were due.
    pub requested: Requested,
    pub is_signed: bool,
    /// What signatures count from, where that is known.
    pub base: Option<u64>,
    pub senders: Senders,
    /// How many streams there are.
    pub streams: usize,
    /// How long frames are waited for; `None`: as long as the way takes.
    pub drain: Option<Picos>,
    /// The receiving port's stamps are by this host's clock.
    pub by_this_clock: bool,
}

/// Starts to receive; nothing was sent yet.
pub fn start(
    mut port: Box<dyn Port>,
    reading: Reading,
    clock: HostClock,
    control: Arc<JobControl>,
    sent: Arc<Sent>,
    found: Sender<Arrived>,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("tare-receive".to_owned()).spawn(move || {
        let mut receiver = Receiver::new(&reading);
        // Where the sender's end closes with the run, there is nothing more to come.
        let failure = match receiver.run(&mut *port, clock, &control, &sent) {
            Ok(()) | Err(PortError::Over { .. }) => None,
            Err(error) => Some(error.to_string()),
        };
        // A way that closes behind the last frame does so before those who sent have counted.
        for _ in 0..ASKS {
            if sent.is_over() {
                break;
            }
            std::thread::sleep(WAIT.as_std());
        }
        // Nobody listens where the run was given up.
        let _ = found.send(receiver.finish(&mut *port, &sent, failure));
    })
}

struct Receiver {
    signed: Signed,
    gaps: GapMeter,
    is_signed: bool,
    resolution: Resolution,
    reading_ns: f64,
    frames: u64,
    patience: Patience,
    by_this_clock: bool,
    trail: Trail,
    late: Shares,
    unread: Shares,
    /// One for each, where there are several.
    streams: Vec<StreamReading>,
    longest_ns: u64,
    /// How long was waited after the last had left.
    waited: Option<Picos>,
}

/// How long frames are waited for.
#[derive(Clone, Copy, Debug)]
struct Patience {
    drain: Option<Picos>,
    is_signed: bool,
}

impl Patience {
    /// Whether all have come for so long (`since_all`), and the last copy so long ago, that another would be
    /// there; one on a way that keeps copies for longer is waited for with --drain. Copies may come for ever.
    fn is_enough(self, quiet: Picos, since_all: Picos, longest: Picos) -> bool {
        let enough = longest.saturating_mul(OVERDUE).clamp(COPIES, RESIDUAL);
        self.drain.is_none() && (quiet >= enough || since_all >= RESIDUAL)
    }

    /// Whether no more frames are waited for, so long after the last left, and so long after the last that left
    /// or came, on a way whose slowest frame took `longest`.
    fn is_over(self, since_end: Picos, quiet: Picos, longest: Picos) -> bool {
        match (self.drain, self.is_signed) {
            (Some(drain), _) => since_end >= drain,
            (None, false) => since_end > PATIENCE || quiet > QUIET,
            (None, true) => {
                let enough = longest.saturating_mul(TIMES).clamp(RESIDUAL, LONGEST_QUIET);
                quiet >= enough || since_end >= LONGEST
            }
        }
    }
}

/// Which frames had left by when, as far as those that came tell: one in each step of time.
#[derive(Debug)]
struct Trail {
    /// (when it was sent, the highest number until then), ascending.
    marks: Vec<(u64, u64)>,
    step_ns: u64,
}

/// Marks that are kept; then every second goes, and steps are twice as long.
const MARKS: usize = 4_096;

impl Default for Trail {
    fn default() -> Self {
        Self { marks: Vec::with_capacity(MARKS), step_ns: 1_000_000 }
    }
}

impl Trail {
    #[inline]
    fn note(&mut self, sent_unix_ns: u64, number: u64) {
        match self.marks.last_mut() {
            Some((at, highest)) if sent_unix_ns < *at + self.step_ns => *highest = (*highest).max(number),
            _ => self.mark(sent_unix_ns, number),
        }
    }

    #[cold]
    fn mark(&mut self, sent_unix_ns: u64, number: u64) {
        if self.marks.len() == MARKS {
            let mut place = 0;
            self.marks.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.step_ns *= 2;
        }
        let highest = self.marks.last().map_or(number, |(_, highest)| number.max(*highest));
        self.marks.push((sent_unix_ns, highest));
    }

    /// The first number that may have left at `unix_ns` or later: that after the last one known to have left a
    /// step before.
    fn first_since(&self, unix_ns: u64) -> u64 {
        let before = self.marks.iter().rev().find(|(at, _)| at + self.step_ns <= unix_ns);
        before.map_or(0, |(_, number)| number + 1)
    }
}

/// A part of the time of each frame.
struct Shares(Histogram<u64>);

impl Default for Shares {
    fn default() -> Self {
        let mut values = Histogram::new_with_bounds(1, 1_000_000, 3).expect("1 ≤ low, 2·low ≤ high");
        values.auto(true);
        Self(values)
    }
}

impl Shares {
    #[inline]
    fn add(&mut self, ns: u64) {
        self.0.record(ns.min(LONGEST_NS)).expect("an hour fits in a histogram that may grow");
    }

    fn spread(&self) -> Spread {
        if self.0.is_empty() {
            return Spread::default();
        }
        let at = |quantile| self.0.value_at_quantile(quantile) as f64;
        Spread {
            count: self.0.len(),
            mean: self.0.mean(),
            min: self.0.min() as f64,
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max: self.0.max() as f64,
        }
    }
}

impl Receiver {
    fn new(reading: &Reading) -> Self {
        let requested = if reading.is_signed { Requested::Due } else { reading.requested.clone() };
        Self {
            signed: Signed::new(Settings {
                from: Some(0),
                base: reading.base,
                senders: reading.senders,
                ..Settings::default()
            }),
            gaps: GapMeter::new(requested),
            is_signed: reading.is_signed,
            resolution: Resolution::default(),
            reading_ns: reading_ns(),
            frames: 0,
            patience: Patience { drain: reading.drain, is_signed: reading.is_signed },
            by_this_clock: reading.by_this_clock,
            trail: Trail::default(),
            late: Shares::default(),
            unread: Shares::default(),
            streams: match reading.streams {
                count @ 2.. if reading.is_signed => (0..count).map(|_| StreamReading::default()).collect(),
                _ => Vec::new(),
            },
            longest_ns: 0,
            waited: None,
        }
    }

    fn run(
        &mut self,
        port: &mut dyn Port,
        clock: HostClock,
        control: &JobControl,
        sent: &Sent,
    ) -> Result<(), PortError> {
        let begun = clock.now();
        let (mut last_seen, mut last_new) = (begun, begun);
        let (mut ended, mut broken_off, mut complete) = (None, None, None);
        loop {
            self.signed.lasts(clock.now().since(begun));
            let (before, fresh) = (self.frames, self.frames - self.signed.copies());
            let count = self.take(port)?;
            let now = clock.now();
            // Others' frames may come for ever.
            if self.frames > before {
                last_seen = now;
            }
            if self.frames - self.signed.copies() > fresh {
                last_new = now;
            }
            if control.stops() {
                let since = *broken_off.get_or_insert(now);
                if now.since(since) > PATIENCE {
                    self.waited = ended.map(|ended| now.since(ended));
                    return Ok(());
                }
            }
            if sent.is_over() {
                let since = *ended.get_or_insert(now);
                let quiet = now.since(last_new.max(since));
                let longest = Picos::from_nanos(self.longest_ns);
                let waited = now.since(since);
                // Copies may follow where all have come.
                if self.has_all(sent) {
                    self.waited.get_or_insert(waited);
                    let since_all = now.since(*complete.get_or_insert(now));
                    if self.patience.is_enough(now.since(last_seen.max(since)), since_all, longest) {
                        return Ok(());
                    }
                }
                if self.patience.is_over(waited, quiet, longest) {
                    self.waited.get_or_insert(waited);
                    return Ok(());
                }
            }
            if count == 0 {
                port.wait(For::Receive, WAIT)?;
            }
        }
    }

    /// Whether everything that left has come.
    fn has_all(&self, sent: &Sent) -> bool {
        let left = sent.frames.load(Ordering::Acquire) - sent.never_left.load(Ordering::Acquire);
        // Others' frames are among those that came, where nothing tells them apart.
        self.is_signed && self.signed.once() >= left
    }

    fn take(&mut self, port: &mut dyn Port) -> Result<usize, PortError> {
        // Frames are read from now on: what their stamps are behind this they lay unread.
        let now = clock::unix_ns();
        let Self {
            signed,
            gaps,
            is_signed,
            frames,
            resolution,
            by_this_clock,
            trail,
            late,
            unread,
            streams,
            longest_ns,
            ..
        } = self;
        port.receive(BATCH, &mut |frame| {
            let copies = signed.copies();
            let mark = signed.frame(frame);
            let stamp = frame.stamp.as_unix_nanos();
            if *is_signed {
                // Others' frames on the same link are no part of the load.
                let (Mark::Signed(signature) | Mark::Merged(signature) | Mark::Broken(signature, _)) = mark
                else {
                    return;
                };
                *frames += 1;
                // Gaps and times are those of the first to come.
                if signed.copies() > copies {
                    return;
                }
                gaps.arrived_due(stamp, signature.due_unix_ns);
                late.add(signature.sent_unix_ns.saturating_sub(signature.due_unix_ns));
                if let Some(stream) = streams.get_mut(usize::from(signature.stream))
                    && stamp > 0
                {
                    stream.gaps.arrived_due(stamp, signature.due_unix_ns);
                    stream.one_way.add(stamp.saturating_sub(signature.sent_unix_ns));
                }
                if *by_this_clock {
                    trail.note(signature.sent_unix_ns, signature.seq);
                    let came = if stamp > 0 { stamp } else { now };
                    *longest_ns = (*longest_ns).max(came.saturating_sub(signature.sent_unix_ns));
                }
            } else {
                gaps.arrived(stamp);
                *frames += 1;
            }
            if *by_this_clock && stamp > 0 {
                unread.add(now.saturating_sub(stamp));
            }
            resolution.see(frame.stamp);
        })
    }

    /// From which number on frames may still come: they have been waited for less long than the slowest took,
    /// twice.
    fn coming(&self) -> u64 {
        let enough = match self.longest_ns {
            // None came that could tell: as long as RFC 2544 waits.
            0 => RESIDUAL,
            longest => Picos::from_nanos(longest).saturating_mul(OVERDUE),
        };
        match self.waited {
            Some(waited) if self.by_this_clock && self.is_signed && waited < enough => {
                self.trail.first_since(clock::unix_ns().saturating_sub(enough.as_nanos()))
            }
            // The last of all has been waited for long enough; or nobody knows.
            _ => u64::MAX,
        }
    }

    fn finish(mut self, port: &mut dyn Port, sent: &Sent, failure: Option<String>) -> Arrived {
        let numbered = sent.frames.load(Ordering::Acquire);
        let waited = self.waited.filter(|_| self.is_signed);
        self.signed.finish_before(self.is_signed.then_some(numbered), self.coming());
        let about = port.about().clone();
        let stamps = about.can.stamps;
        let stamping = stamping(&about.name, Origin::of_port(port), self.resolution, self.reading_ns);
        let gaps = (stamps.is_some() && self.gaps.count() > 0).then(|| self.gaps.report(&stamping));
        let of_stream = |stream: &mut StreamReading| StreamArrived {
            one_way_ns: stream.one_way.spread(),
            gaps: (stamps.is_some() && stream.gaps.count() > 0).then(|| stream.gaps.report(&stamping)),
        };
        let streams = self.streams.iter_mut().map(of_stream).collect();
        let is_signed = self.is_signed && numbered > 0;
        let (mut found, never_left) = (self.signed.report(), sent.never_left.load(Ordering::Acquire));
        // Which numbers never left nobody asks here: they are among those that did not come.
        found.outstanding = found.outstanding.saturating_sub(never_left.saturating_sub(found.lost));
        found.lost = found.lost.saturating_sub(never_left);
        if let [only] = found.streams.as_mut_slice() {
            only.lost = Some(found.lost);
        }
        (found.late_ns, found.unread_ns) = (self.late.spread(), self.unread.spread());
        found.waited_s = waited.map(Picos::as_secs_f64);
        let port = report("in", port, 0, 0);
        let longest = Picos::from_nanos(self.longest_ns);
        Arrived { report: found, is_signed, gaps, streams, never_left, port, failure, longest }
    }
}

#[cfg(test)]
mod tests;
