//! From the start of a run to its end: rows are collected, kept and shown, and Ctrl-C is heard.

use super::prepare::Prepared;
use crate::engine::{Brief, Seen, Stopped};
use crate::progress::{Progress, Shown};
use crate::status::Failure;
use crate::watching::Watching;
use crate::{interrupt, limits, run_sinks};
use clock::{Agreement, Clock, HostClock};
use live::Update;
use measure::{Collector, FrameConditions, HealthSummary, Label, Probe, RunTotals};
use schedule::{Control, Halt};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::schema::{Interval, SinkStatus};
use store::timeline::{LIVE_BINS, MAX_BINS};
use store::{RunResult, Spans, Timeline, TimelineBuilder};
use units::Instant;

/// How often the main thread looks around.
const PATIENCE: Duration = Duration::from_millis(100);

/// What came of a run that was watched to its end.
pub struct Watched {
    pub totals: RunTotals,
    pub health: HealthSummary,
    /// The run over time, for the report.
    pub timeline: Timeline,
    pub agreement: Agreement,
    pub stopped: Stopped,
    /// The engine could not go on.
    pub failed: bool,
    /// Why it ended before its time, if the user did not end it.
    pub why: Option<Label>,
    pub sinks: Vec<SinkStatus>,
    pub frames: Option<FrameConditions>,
    /// Set by Ctrl-C.
    pub stop: Arc<AtomicBool>,
    /// How the rate was changed by hand.
    pub steered: Option<String>,
}

impl Watched {
    pub fn seen(&self) -> Seen {
        Seen {
            agreement: Some(self.agreement),
            sinks: run_sinks::loss(&self.sinks),
            failed: self.failed,
            frames: self.frames.clone(),
        }
    }
}

impl Prepared<'_> {
    /// Starts the threads and stays with them: collects, keeps rows, shows progress, hears Ctrl-C.
    pub fn watch(&mut self) -> Result<Watched, Failure> {
        let shown = if self.watching.has_view() { Shown::Nothing } else { self.options.progress };
        let mut progress = Progress::new(self.brief.warmup, self.brief.whole, shown)
            .of_frames(self.brief.has_frames)
            .of_simulated(self.brief.simulated);
        let watched = self.stay(&mut progress)?;
        progress.clear();
        self.watching.close_view();
        Ok(watched)
    }

    fn stay(&mut self, progress: &mut Progress) -> Result<Watched, Failure> {
        let Self { engine, brief, clock, sink, hub, thresholds, watching, result: begun, .. } = self;
        let clock = *clock;
        let host = self.options.host.as_ref();
        let stop = host.map_or_else(|| on_interrupt(watching), |host| Ok(host.stop.clone()))?;
        if watching.may_steer() {
            engine.allow_steering();
        }
        let mut collector = None;
        let mut begun_at = Instant::EPOCH;
        let started = engine.start(&mut |origin: Instant| {
            begun_at = origin;
            let (mut joined, recorders) = measure::recorders(brief.settings(origin));
            if !brief.simulated {
                let mut probe = Probe::new(origin, brief.source_addresses, &brief.peers);
                if brief.has_frames {
                    probe = probe.of_no_links();
                }
                joined.watch(brief.links.iter().cloned().fold(probe, |probe, link| {
                    let name = link.name_here().map(str::to_owned);
                    probe.with_link(name.as_deref(), Box::new(move || link.losses()))
                }));
            }
            collector = Some(joined);
            hub.start(run_sinks::origin_unix_ns(&clock, origin));
            run_sinks::tapped(recorders, origin, hub)
        });
        // What could not begin has no result, and leaves nothing.
        started.inspect_err(|_| sink.discard())?;
        // Not before signals are heeded and the load knows its commands: whoever sees the socket uses them.
        engine.settle_in(sink.anchor().as_deref());
        let _patient = os::scheduling::Patient::begin();
        let mut collector: Collector = collector.expect("the engine makes its recorders when it starts");
        let mut watch = clock.watch();
        let mut worst = watch.check();
        let mut timeline = TimelineBuilder::expecting(MAX_BINS, brief.intervals());
        // Only if somebody may look.
        let live_bins = || TimelineBuilder::expecting(LIVE_BINS, brief.intervals()).drawn_often();
        let shown = RefCell::new(watching.is_possible().then(live_bins));
        let is_new = Cell::new(false);
        let aborted_by = Cell::new(None);
        let mut row = |row: &measure::IntervalRow| {
            sink.row(row);
            hub.row(row);
            timeline.push(row);
            shown.borrow_mut().iter_mut().for_each(|shown| shown.push(row));
            is_new.set(true);
            progress.show(row);
            if let Some(host) = host {
                // A host that does not look has the rows in the result.
                let _ = host.rows.try_send(Interval::from(row));
            }
            if let Some(aborted) = thresholds.row(row) {
                aborted_by.set(Some(limits::label(&aborted)));
            }
            let agreement = watch.check();
            if worst.holds() && (!agreement.holds() || agreement.over > worst.over) {
                worst = agreement;
            }
        };
        let mut limit = None;
        while !engine.is_over() {
            if stop.load(Ordering::Relaxed) {
                engine.control().interrupt();
            }
            collector.poll_for(PATIENCE, || clock.now(), &mut row);
            if let Some(label) = aborted_by.take() {
                engine.control().abort(label.to_string());
                limit.get_or_insert(label);
            }
            engine.steer(watching, clock.now());
            watching.look(is_new.take(), || {
                let so_far = so_far(begun, brief, &clock, &collector, engine.control());
                let shown = shown.borrow().as_ref().map(TimelineBuilder::view).unwrap_or_default();
                Update { result: Arc::new(so_far), timeline: Arc::new(shown) }
            });
        }
        engine.join();
        let (totals, health) = collector.finish(clock.now(), &mut row);
        let mut sinks = hub.end_rows(run_sinks::PATIENCE);
        sinks.extend(engine.written(&totals));
        let agreement = if worst.holds() { watch.check() } else { worst };
        let timeline = timeline.view();
        let stopped: Stopped = engine.control().halt().into();
        Ok(Watched {
            totals,
            health,
            timeline,
            agreement,
            stopped,
            failed: engine.control().halt() == Halt::Failed,
            why: match stopped {
                Stopped::Aborted => limit,
                _ => engine.control().why().map(Label::Sentence),
            },
            sinks,
            frames: engine.frame_conditions(),
            stop,
            steered: engine.steered(begun_at),
        })
    }
}

/// The result as it would be now.
fn so_far(
    begun: &RunResult,
    brief: &Brief,
    clock: &HostClock,
    collector: &Collector,
    control: &Control,
) -> RunResult {
    let totals = collector.totals();
    let verdict =
        measure::judge_so_far(totals, collector.health(), &brief.conditions(clock, control, Seen::default()));
    let mut result = begun.clone();
    let spans = Spans::of(totals, brief.length(false, totals));
    result.fill(totals, &verdict, collector.health(), spans, &brief.names);
    let ended = totals.tally.ended();
    let under_way = report::counted(result.totals.offered.saturating_sub(ended), brief.unit);
    result.totals.offered = ended;
    result.labels = vec![Label::Sentence(format!("so far: the run is in progress, {under_way} in flight"))];
    result
}

/// The first Ctrl-C (or what else ends a run) ends it with a complete result; a second one quits at once.
fn on_interrupt(watching: &Watching) -> Result<Arc<AtomicBool>, Failure> {
    let stop = watching.signals.stop.clone();
    // Not while a view has the terminal: it would be left as it is.
    let may_quit = if watching.has_view() { watching.signals.restored.clone() } else { stop.clone() };
    interrupt::heed(&stop, Some(&may_quit))?;
    Ok(stop)
}
