//! One run, from a plan to an exit status: the arrow, joined up.
//!
//! ```text
//! Plan ─► Engine ─ Event ─► Recorder ─► Collector ─► Sink (run folder) ─► report
//! ```

use crate::ci_reports::{Papers, told};
use crate::engine::{Brief, Driven, Seen, Stopped};
use crate::http_engine::Http;
use crate::interrupt;
use crate::limits;
use crate::options::{Options, Output};
use crate::progress::{Progress, Shown};
use crate::run_sinks;
use crate::status::{Failure, Status, complain};
use crate::terminal::{print_all, style};
use crate::watching::Watching;
use clock::{Agreement, Clock, HostClock};
use live::Update;
use measure::{
    ClockReport, Collector, Ending, Environment, ExitStatus, FrameConditions, HealthSummary, Label, Probe,
    RunTotals, Stated, Thresholds, Word,
};
use plan::{Note, Plan};
use report::Documents;
use sinks::{Hub, RunInfo};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use store::schema::{GroupResult, SinkStatus};
use store::secrets;
use store::timeline::MAX_BINS;
use store::{NoFolder, RunFolder, RunResult, Sink, Spans, StoreError, Timeline, TimelineBuilder};
use units::Instant;

/// How often the main thread looks around.
const PATIENCE: Duration = Duration::from_millis(100);
/// Longest line of the command that is kept.
const COMMAND: usize = 4_000;

/// A finished run.
pub struct Finished {
    pub result: RunResult,
    pub status: ExitStatus,
    pub totals: RunTotals,
    /// Where the run folder is.
    pub place: Option<String>,
    watching: Watching,
    stop: Arc<AtomicBool>,
}

impl Finished {
    /// Stays until those who watched have the report.
    pub fn leave(self) {
        // Whoever interrupted the run ends the waiting by a second Ctrl-C.
        let stop = if self.result.is_interrupted() { AtomicBool::new(false).into() } else { self.stop };
        self.watching.leave(&stop);
    }
}

/// Runs the plan, prints what is wanted, and says how the process shall end.
pub fn load(plan: Plan, notes: Vec<Note>, options: &Options) -> Result<Status, Failure> {
    if options.print_plan {
        print_all(&plan.to_toml())?;
        return Ok(Status::Done);
    }
    let papers = Papers::open(options)?;
    let finished = quietly(plan, notes, options)?;
    show(finished, papers, options)
}

/// Drives an engine to its end, prints what is wanted, and says how the process shall end.
pub fn load_by(
    prepare: impl FnOnce(HostClock) -> Result<Box<dyn Driven>, Failure>,
    notes: Vec<String>,
    options: &Options,
) -> Result<Status, Failure> {
    let papers = Papers::open(options)?;
    let finished = drive(prepare, notes, options)?;
    show(finished, papers, options)
}

fn show(finished: Finished, papers: Papers, options: &Options) -> Result<Status, Failure> {
    let is_printed = match options.output {
        Output::Summary if run_sinks::takes_stdout(options) || papers.take_stdout() => {
            complain(&report::summary(&finished.result, style(std::io::stderr().is_terminal())));
            true
        }
        Output::Summary => {
            told(print_all(&report::summary(&finished.result, style(std::io::stdout().is_terminal()))))
        }
        Output::Json => told(print_all(&report::json(&finished.result))),
        Output::Nothing => true,
    };
    let is_written = papers.write(&finished.result) && is_printed;
    let status = finished.status;
    finished.leave();
    // What the run came to says more than that a paper is missing.
    let is_lost = status == ExitStatus::Good && !is_written;
    Ok(if is_lost { Status::Unwritten } else { Status::Run(status) })
}

/// What could not be kept, where no summary says it.
fn tell_of_losses(result: &RunResult) {
    for lost in &result.store.lost {
        complain(&format!("tare: could not store {}: {}", lost.what, lost.why));
    }
}

/// Runs the plan and keeps the result; prints no summary.
pub fn quietly(plan: Plan, notes: Vec<Note>, options: &Options) -> Result<Finished, Failure> {
    let prepare = |clock| Ok(Box::new(Http::prepare(plan, clock)?) as Box<dyn Driven>);
    drive(prepare, notes.iter().map(ToString::to_string).collect(), options)
}

/// Drives an engine to its end and keeps the result.
fn drive(
    prepare: impl FnOnce(HostClock) -> Result<Box<dyn Driven>, Failure>,
    notes: Vec<String>,
    options: &Options,
) -> Result<Finished, Failure> {
    let started = clock::wall_time();
    let mut places = run_sinks::places(options)?;
    let clock = HostClock::calibrate();
    let mut engine = prepare(clock)?;
    let brief = engine.brief();
    let mut thresholds = limits::watch(&brief.limits, &brief.names, brief.measuring())?;
    let mut watching = Watching::start(&options.live, &brief.cpus)?;
    let mut sink = sink(options, brief.engine, started)?;
    sink.attach("plan.toml", brief.plan_text.as_bytes());
    let environment = environment(&clock, &brief);
    sink.attach("environment.json", environment.as_bytes());
    if options.progress == Shown::Line && options.output == Output::Summary {
        notes.iter().for_each(|note| complain(&format!("tare: {note}")));
    }

    let run_name = sink.name().map_or_else(|| store::run_name(brief.engine, started), str::to_owned);
    let about = RunInfo {
        run: run_name.clone(),
        engine: brief.engine.to_owned(),
        plan_hash: brief.plan_hash.clone(),
        target: brief.target.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: store::rfc3339(started),
        warmup: brief.warmup,
        groups: brief.names.clone(),
        plan: brief.plan_shown(),
        environment: environment.clone(),
    };
    if options.samples {
        places.extend(run_sinks::samples(sink.place()));
    }
    let mut hub = run_sinks::open(&places, about).inspect_err(|_| sink.discard())?;

    let mut result = RunResult {
        engine: brief.engine.to_owned(),
        plan_hash: brief.plan_hash.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command(std::env::args_os()),
        target: brief.target.clone(),
        load: brief.load.clone(),
        started_at: store::rfc3339(started),
        environment: "environment.json".to_owned(),
        ..RunResult::default()
    };
    result.generator.clock = clock_in_words(&clock);
    result.generator.io.clone_from(&brief.io);
    result.warmup.duration_s = brief.warmup.as_secs_f64();
    sink.begin(&RunResult { groups: named(&brief.names), ..result.clone() });
    if options.progress == Shown::Line && !options.live.no_view {
        watching.open_view(&brief)?;
    }
    engine.settle_in(sink.place().as_deref());
    let shown = if watching.has_view() { Shown::Nothing } else { options.progress };
    let mut progress = Progress::new(brief.warmup, brief.whole, shown)
        .of_frames(brief.has_frames)
        .of_simulated(brief.simulated);
    let audience = Audience {
        sink: sink.as_mut(),
        hub: &mut hub,
        progress: &mut progress,
        thresholds: &mut thresholds,
        watching: &watching,
        begun: &result,
    };
    let watched = watch(engine.as_mut(), &brief, clock, audience)?;
    progress.clear();
    watching.close_view();

    let verdict = measure::judge(
        &watched.totals,
        &watched.health,
        &brief.conditions(&clock, watched.steered.is_some(), watched.seen()),
    );
    let unmeasured = watched.stopped == Stopped::Interrupted && watched.totals.offered() == 0;
    let verdict = if unmeasured { verdict.of_a_warm_up() } else { verdict };
    let spans = Spans::of(&watched.totals, brief.length(watched.stopped == Stopped::No, &watched.totals));
    result.thresholds = limits::judge(thresholds, &watched.totals, spans);
    let ending = Ending {
        unreachable: !brief.has_frames && measure::unreachable(&watched.totals),
        threshold_failed: result.thresholds.iter().any(|threshold| !threshold.holds),
        interrupted: watched.stopped == Stopped::Interrupted,
        accept_invalid: options.accept_invalid,
    };
    let status = ExitStatus::of(&verdict, ending);
    result.fill(&watched.totals, &verdict, &watched.health, spans, &brief.names);
    result.warmup.duration_s = brief.warmup.as_secs_f64();
    let notes = notes.into_iter().chain(brief.weighed.note(&verdict)).collect();
    tell(&mut result, &watched, notes, engine.as_ref(), ending.unreachable);
    if !options.save {
        result.environment.clear();
    }
    sink.end_rows(&mut result);
    if !hub.is_empty() {
        result.run = run_name;
        result.sinks.clone_from(&watched.sinks);
        // A sink may take its time: whoever ends the program meanwhile has the result.
        sink.save(&mut result);
        result.sinks = hub.finish(&result);
        run_sinks::tell(&result.sinks);
    }
    let documents = Documents { plan: &brief.plan_text, environment: &environment };
    let page = report::html(&result, &watched.timeline, documents);
    sink.attach("report.html", page.as_bytes());
    watching.end(&page);
    sink.save(&mut result);
    if options.output != Output::Summary {
        tell_of_losses(&result);
    }
    debug_assert!(verdict.word() != Word::Valid || watched.totals.conservation().is_ok());
    let (totals, stop) = (watched.totals, watched.stop);
    Ok(Finished { result, status, totals, place: sink.place(), watching, stop })
}

fn sink(options: &Options, engine: &str, started: SystemTime) -> Result<Box<dyn Sink>, Failure> {
    if !options.save {
        return Ok(Box::new(NoFolder::new()));
    }
    match RunFolder::create(options.out.as_deref(), engine, started) {
        Ok(folder) => {
            if options.out.is_some() && !options.unlisted {
                // The run is where its user wants it; that `tare runs` lists it, too, is a convenience.
                let _ = catalogue::register(folder.path());
            }
            if let Err(error) = catalogue::tag(folder.path(), &options.tags, &[]) {
                complain(&format!("tare: cannot tag the run: {error}"));
            }
            Ok(Box::new(folder))
        }
        Err(error) if options.out.is_some() => Err(in_outs_words(error)),
        // The folder was not asked for: the run is worth more than it, and the result says what is missing.
        Err(error) => Ok(Box::new(NoFolder::instead_of(&error))),
    }
}

/// A folder that was asked for and cannot be had: without it the run would be for nothing.
fn in_outs_words(error: StoreError) -> Failure {
    match error.is_users() {
        true => Failure::wrong(error),
        false => Failure::wrong(anyhow::anyhow!("--out: {error}; expected a writable folder")),
    }
}

/// What came of a run that was watched to its end.
struct Watched {
    totals: RunTotals,
    health: HealthSummary,
    /// The run over time, for the report.
    timeline: Timeline,
    agreement: Agreement,
    stopped: Stopped,
    /// Why it ended before its time, if the user did not end it.
    why: Option<Label>,
    sinks: Vec<SinkStatus>,
    frames: Option<FrameConditions>,
    /// Set by Ctrl-C.
    stop: Arc<AtomicBool>,
    /// How the rate was changed by hand.
    steered: Option<String>,
}

impl Watched {
    fn seen(&self) -> Seen {
        Seen {
            agreement: Some(self.agreement),
            sinks: run_sinks::loss(&self.sinks),
            frames: self.frames.clone(),
        }
    }
}

/// Who learns of a run while it goes on.
struct Audience<'a> {
    sink: &'a mut dyn Sink,
    hub: &'a mut Hub,
    progress: &'a mut Progress,
    thresholds: &'a mut Thresholds,
    watching: &'a Watching,
    /// What is known of the result before the start.
    begun: &'a RunResult,
}

/// Starts the threads and stays with them: collects, keeps rows, shows progress, hears Ctrl-C.
fn watch(
    engine: &mut dyn Driven,
    brief: &Brief,
    clock: HostClock,
    audience: Audience<'_>,
) -> Result<Watched, Failure> {
    let Audience { sink, hub, progress, thresholds, watching, begun } = audience;
    let stop = on_interrupt(watching)?;
    if watching.may_steer() {
        engine.allow_steering();
    }
    let mut collector = None;
    let mut begun_at = Instant::EPOCH;
    engine.start(&mut |origin: Instant| {
        begun_at = origin;
        let (mut joined, recorders) = measure::recorders(brief.settings(origin));
        if !brief.simulated {
            joined.watch(Probe::new(origin, brief.source_addresses, &brief.ports));
        }
        collector = Some(joined);
        hub.start(run_sinks::origin_unix_ns(&clock, origin));
        run_sinks::tapped(recorders, origin, hub)
    })?;
    let _patient = os::scheduling::Patient::begin();
    let mut collector: Collector = collector.expect("the engine makes its recorders when it starts");
    let mut watch = clock.watch();
    let mut worst = watch.check();
    let timeline = RefCell::new(TimelineBuilder::expecting(MAX_BINS, brief.intervals()));
    let is_new = Cell::new(false);
    let aborted_by = Cell::new(None);
    let mut row = |row: &measure::IntervalRow| {
        sink.row(row);
        hub.row(row);
        timeline.borrow_mut().push(row);
        is_new.set(true);
        progress.show(row);
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
            engine.interrupt();
        }
        collector.poll_for(PATIENCE, || clock.now(), &mut row);
        if let Some(label) = aborted_by.take() {
            engine.abort(label.to_string());
            limit.get_or_insert(label);
        }
        engine.steer(watching, clock.now());
        watching.look(is_new.take(), || {
            let is_steered = engine.steered(begun_at).is_some();
            let so_far = so_far(begun, brief, &clock, &collector, is_steered);
            Update { result: Arc::new(so_far), timeline: Arc::new(timeline.borrow().view()) }
        });
    }
    engine.join();
    let (totals, health) = collector.finish(clock.now(), &mut row);
    let sinks = hub.end_rows(run_sinks::PATIENCE);
    let agreement = if worst.holds() { watch.check() } else { worst };
    let timeline = timeline.borrow().view();
    Ok(Watched {
        totals,
        health,
        timeline,
        agreement,
        stopped: engine.stopped(),
        why: if engine.stopped() == Stopped::Aborted { limit } else { engine.why().map(Label::Sentence) },
        sinks,
        frames: engine.frame_conditions(),
        stop,
        steered: engine.steered(begun_at),
    })
}

/// The result as it would be now.
fn so_far(
    begun: &RunResult,
    brief: &Brief,
    clock: &HostClock,
    collector: &Collector,
    is_steered: bool,
) -> RunResult {
    let totals = collector.totals();
    let verdict = measure::judge_so_far(
        totals,
        collector.health(),
        &brief.conditions(clock, is_steered, Seen::default()),
    );
    let mut result = begun.clone();
    let spans = Spans::of(totals, brief.length(false, totals));
    result.fill(totals, &verdict, collector.health(), spans, &brief.names);
    result.warmup.duration_s = brief.warmup.as_secs_f64();
    let ended = totals.tally.ended();
    let under_way = report::counted(result.totals.offered.saturating_sub(ended), brief.unit);
    result.totals.offered = ended;
    result.labels = vec![Label::Sentence(format!("so far: the run is in progress, {under_way} under way"))];
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

/// Labels and notes: what sets this run apart.
fn tell(
    result: &mut RunResult,
    watched: &Watched,
    notes: Vec<String>,
    engine: &dyn Driven,
    unreachable: bool,
) {
    result.notes.extend(notes);
    result.partial = watched.stopped != Stopped::No;
    match watched.stopped {
        Stopped::No => {}
        Stopped::Interrupted => result.labels.push(Label::Interrupted),
        Stopped::Aborted | Stopped::Otherwise => result.labels.extend(watched.why.clone()),
    }
    result.labels.extend(watched.steered.clone().map(Label::Sentence));
    if watched.steered.is_some() {
        // What was asked for changed under way.
        result.fidelity = None;
    }
    if unreachable {
        result.labels.push(Label::Unreachable);
    }
    engine.tell(result, &watched.totals);
    // URLs of a file may stand in any of them.
    result.notes.iter_mut().for_each(|note| *note = secrets::in_urls(note));
    let labels = std::mem::take(&mut result.labels).into_iter();
    result.labels = labels.map(|label| label.map_words(secrets::in_urls)).collect();
}

/// Groups of which nothing is known yet but their names.
fn named(groups: &[String]) -> Vec<GroupResult> {
    groups.iter().map(|name| GroupResult { name: name.clone(), ..GroupResult::default() }).collect()
}

fn environment(clock: &HostClock, brief: &Brief) -> String {
    let stated = Stated {
        versions: BTreeMap::from([("tare".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]),
        clock: ClockReport {
            source: clock.source().name().to_owned(),
            refused: clock.refused().map(|refused| refused.to_string()),
            precision_ns: clock.precision().as_nanos(),
            overhead_ns: clock.overhead().as_nanos(),
        },
        choices: brief.choices.clone(),
    };
    let mut text = serde_json::to_string_pretty(&Environment::read(stated)).unwrap_or_default();
    text.push('\n');
    text
}

fn clock_in_words(clock: &HostClock) -> String {
    match clock.refused() {
        Some(refused) => format!("{}; {refused}", clock.source().name()),
        None => clock.source().name().to_owned(),
    }
}

/// The command as it was typed, without passwords. What is not UTF-8, such as the name of an old file, is shown as far as it is.
fn command(words: impl Iterator<Item = OsString>) -> String {
    let mut words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(program) = words.first_mut() {
        let name = std::path::Path::new(program).file_name().and_then(|name| name.to_str());
        *program = name.unwrap_or("tare").to_owned();
    }
    let mut is_place = false;
    for word in &mut words {
        if std::mem::replace(&mut is_place, word == "--to") || word.starts_with("--to=") {
            *word = sinks::without_secrets(word);
        }
    }
    secrets::in_command(&words).chars().take(COMMAND).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    fn shown(words: &[&[u8]]) -> String {
        command(words.iter().map(|word| OsString::from_vec(word.to_vec())))
    }

    #[test]
    fn a_command_that_is_not_utf_8_is_shown_as_far_as_it_is() {
        // "café" in ISO 8859-1.
        let words: [&[u8]; 4] = [b"/usr/bin/tare", b"http", b"--junit", b"caf\xe9.xml"];
        assert_eq!(shown(&words), "tare http --junit caf\u{fffd}.xml");
        assert_eq!(shown(&[b"/opt/\xff/tare", b"demo"]), "tare demo");
        assert_eq!(shown(&[b"\xff"]), "\u{fffd}");
        assert_eq!(shown(&[]), "");
    }

    #[test]
    fn a_command_has_no_passwords() {
        let said = shown(&[
            b"tare",
            b"http",
            b"--to",
            b"redis://:geheim\xff@127.0.0.1/",
            b"http://me:geheim@127.0.0.1/",
        ]);
        assert!(said.starts_with("tare http --to ") && !said.contains("geheim"), "{said}");
    }
}
