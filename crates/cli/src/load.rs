//! One run, from a plan to an exit status: the arrow, joined up.
//!
//! ```text
//! Plan ─► Engine ─ Event ─► Recorder ─► Collector ─► Sink (run folder) ─► report
//! ```

use crate::describe;
use crate::elsewhere;
use crate::limits;
use crate::options::{Options, Output};
use crate::papers::{Papers, told};
use crate::progress::{Progress, Shown};
use crate::status::{Failure, Status, complain};
use crate::terminal::{print_all, style};
use crate::watching::{self, Watching};
use clock::{Agreement, Clock, HostClock};
use http::{Control, Engine, Facts, Halt, Notes, Running};
use live::Update;
use measure::{
    Choice, ClockReport, Collector, Conditions, Ending, Environment, ExitStatus, HealthSummary, Loop,
    Measuring, Probe, RunTotals, Settings, Stated, Thresholds, Word,
};
use plan::{Load, Note, Plan, Shape};
use report::Documents;
use signal_hook::consts::{SIGINT, SIGTERM};
use sinks::{Hub, RunInfo};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use store::schema::{GroupResult, SinkStatus};
use store::secrets;
use store::timeline::MAX_BINS;
use store::{Measured, NoFolder, RunFolder, RunResult, Sink, Spans, StoreError, Timeline, TimelineBuilder};
use units::{Instant, Picos};

/// How often the main thread looks around.
const PATIENCE: Duration = Duration::from_millis(100);
pub(crate) const INTERVAL: Picos = Picos::from_secs(1);
/// Label of a run that the user ended.
const INTERRUPTED: &str = "interrupted";
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
        let interrupted = self.result.labels.iter().any(|label| label == INTERRUPTED);
        // Whoever interrupted the run ends the waiting by a second Ctrl-C.
        let stop = if interrupted { AtomicBool::new(false).into() } else { self.stop };
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
    let finished = run(plan, notes, options)?;
    let is_printed = match options.output {
        Output::Summary if elsewhere::takes_stdout(options) || papers.take_stdout() => {
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
        complain(&format!("tare: {} could not be kept: {}", lost.what, lost.why));
    }
}

/// Runs the plan and keeps the result.
pub fn run(plan: Plan, notes: Vec<Note>, options: &Options) -> Result<Finished, Failure> {
    let started = SystemTime::now();
    let mut places = elsewhere::places(options)?;
    let clock = HostClock::calibrate();
    let hash = plan.hash();
    let plan_text = plan.to_toml();
    let engine = Engine::prepare(plan.clone(), clock).map_err(Failure::wrong)?;
    let mut facts = engine.facts();
    // In a short file each URL is a name.
    facts.groups.iter_mut().for_each(|name| *name = secrets::in_urls(name));
    let mut thresholds = limits::watch(&plan.limits, &facts.groups, measuring(&plan))?;
    let mut watching = Watching::start(&options.live, &plan)?;
    let mut sink = sink(options, started)?;
    sink.attach("plan.toml", plan_text.as_bytes());
    let environment = environment(&clock, &facts);
    sink.attach("environment.json", environment.as_bytes());
    if options.progress == Shown::Line && options.output == Output::Summary {
        notes.iter().for_each(|note| complain(&format!("tare: {note}")));
    }

    let run_name = sink.name().map_or_else(|| store::run_name("http", started), str::to_owned);
    let about = RunInfo {
        run: run_name.clone(),
        engine: "http".to_owned(),
        plan_hash: hash.to_string(),
        target: describe::target(&plan),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: store::rfc3339(started),
        warmup: plan.stop.warmup,
        groups: facts.groups.clone(),
        plan: secrets::in_plan(&plan_text),
        environment: environment.clone(),
    };
    if options.samples {
        places.extend(elsewhere::samples(sink.place()));
    }
    let mut hub = elsewhere::open(&places, about).inspect_err(|_| sink.discard())?;

    let mut result = RunResult {
        engine: "http".to_owned(),
        plan_hash: hash.to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command(),
        target: describe::target(&plan),
        load: describe::load(&plan),
        started_at: store::rfc3339(started),
        environment: "environment.json".to_owned(),
        ..RunResult::default()
    };
    result.generator.clock = clock_in_words(&clock);
    result.generator.io = format!("{}: {}", facts.io.name(), facts.io.reason);
    result.warmup.duration_s = plan.stop.warmup.as_secs_f64();
    sink.begin(&RunResult { groups: named(&facts.groups), ..result.clone() });
    if options.progress == Shown::Line && !options.live.no_view {
        watching.open_view(&plan, engine.steerable())?;
    }
    let shown = if watching.has_view() { Shown::Nothing } else { options.progress };
    let mut progress = Progress::new(&plan, shown);
    let audience = Audience {
        sink: sink.as_mut(),
        hub: &mut hub,
        progress: &mut progress,
        thresholds: &mut thresholds,
        watching: &watching,
        begun: &result,
    };
    let watched = watch(engine, &plan, &facts, clock, audience)?;
    progress.clear();
    watching.close_view();

    let verdict = measure::judge(
        &watched.totals,
        &watched.health,
        &conditions(&plan, &facts, &clock, watched.steered.is_some(), Some(&watched)),
    );
    let spans = Spans::of(&watched.totals, length(&plan, watched.halt));
    result.thresholds = limits::judge(thresholds, &watched.totals, spans);
    let ending = Ending {
        unreachable: measure::unreachable(&watched.totals),
        threshold_failed: result.thresholds.iter().any(|threshold| !threshold.holds),
        interrupted: watched.halt == Halt::Interrupted,
        accept_invalid: options.accept_invalid,
    };
    let status = ExitStatus::of(&verdict, ending);
    result.fill(&watched.totals, &verdict, &watched.health, spans, &facts.groups);
    result.warmup.duration_s = plan.stop.warmup.as_secs_f64();
    tell(&mut result, &watched, &notes, &plan, ending.unreachable);
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
        elsewhere::tell(&result.sinks);
    }
    let documents = Documents { plan: &plan_text, environment: &environment };
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

fn sink(options: &Options, started: SystemTime) -> Result<Box<dyn Sink>, Failure> {
    if !options.save {
        return Ok(Box::new(NoFolder::new()));
    }
    match RunFolder::create(options.out.as_deref(), "http", started) {
        Ok(folder) => {
            if options.out.is_some() {
                // The run is where its user wants it; that `tare runs` lists it, too, is a convenience.
                let _ = catalogue::register(folder.path());
            }
            if let Err(error) = catalogue::tag(folder.path(), &options.tags, &[]) {
                complain(&format!("tare: the run has no tags: {error}"));
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
        false => Failure::wrong(anyhow::anyhow!("--out: {error}; name a folder that can be written")),
    }
}

/// What came of a run that was watched to its end.
struct Watched {
    totals: RunTotals,
    health: HealthSummary,
    /// The run over time, for the report.
    timeline: Timeline,
    agreement: Agreement,
    halt: Halt,
    why: Option<String>,
    notes: Notes,
    bad_lines: Vec<String>,
    sinks: Vec<SinkStatus>,
    /// Set by Ctrl-C.
    stop: Arc<AtomicBool>,
    /// How the rate was changed by hand.
    steered: Option<String>,
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
    engine: Engine,
    plan: &Plan,
    facts: &Facts,
    clock: HostClock,
    audience: Audience<'_>,
) -> Result<Watched, Failure> {
    let Audience { sink, hub, progress, thresholds, watching, begun } = audience;
    let stop = on_interrupt(watching)?;
    let control = Arc::new(Control::default());
    if watching.may_steer() {
        control.allow_steering();
    }
    let mut collector = None;
    let mut begun_at = Instant::EPOCH;
    let sources = plan.connection.source_ips.len().max(1) as u64;
    let running: Running = engine
        .start(control.clone(), |origin: Instant| {
            begun_at = origin;
            let (mut joined, recorders) = measure::recorders(settings(plan, facts, origin));
            joined.watch(Probe::new(origin, sources));
            collector = Some(joined);
            hub.start(elsewhere::origin_unix_ns(&clock, origin));
            elsewhere::tapped(recorders, origin, hub)
        })
        .map_err(Failure::wrong)?;
    let mut collector: Collector = collector.expect("the engine makes its recorders when it starts");
    let mut watch = clock.watch();
    let mut worst = watch.check();
    let timeline = RefCell::new(TimelineBuilder::expecting(MAX_BINS, intervals(plan)));
    let is_new = Cell::new(false);
    let mut row = |row: &measure::IntervalRow| {
        sink.row(row);
        hub.row(row);
        timeline.borrow_mut().push(row);
        is_new.set(true);
        progress.show(row);
        if let Some(aborted) = thresholds.row(row) {
            control.abort(limits::label(&aborted));
        }
        let agreement = watch.check();
        if worst.holds() && (!agreement.holds() || agreement.over > worst.over) {
            worst = agreement;
        }
    };
    while !running.is_over() {
        if stop.load(Ordering::Relaxed) {
            control.interrupt();
        }
        collector.poll_for(PATIENCE, || clock.now(), &mut row);
        watching.steer(&control, clock.now());
        watching.look(is_new.take(), || {
            let so_far = so_far(begun, plan, facts, &clock, &collector, !control.changes().is_empty());
            Update { result: Arc::new(so_far), timeline: Arc::new(timeline.borrow().view()) }
        });
    }
    let (notes, bad_lines) = running.join();
    let (totals, health) = collector.finish(clock.now(), &mut row);
    let sinks = hub.end_rows(elsewhere::PATIENCE);
    let last = watch.check();
    let agreement = if worst.holds() { last } else { worst };
    let timeline = timeline.borrow().view();
    Ok(Watched {
        totals,
        health,
        timeline,
        agreement,
        halt: control.halt(),
        why: control.why(),
        notes,
        bad_lines,
        sinks,
        stop,
        steered: watching::label_of(&control.changes(), begun_at),
    })
}

/// The result as it would be now.
fn so_far(
    begun: &RunResult,
    plan: &Plan,
    facts: &Facts,
    clock: &HostClock,
    collector: &Collector,
    is_steered: bool,
) -> RunResult {
    let totals = collector.totals();
    let verdict =
        measure::judge_so_far(totals, collector.health(), &conditions(plan, facts, clock, is_steered, None));
    let mut result = begun.clone();
    let spans = Spans::of(totals, length(plan, Halt::Interrupted));
    result.fill(totals, &verdict, collector.health(), spans, &facts.groups);
    result.warmup.duration_s = plan.stop.warmup.as_secs_f64();
    let ended = totals.tally.ended();
    let under_way = result.totals.offered.saturating_sub(ended);
    result.totals.offered = ended;
    result.labels =
        vec![format!("so far: the run goes on, {} under way", report::counted(under_way, "request"))];
    result
}

/// The first Ctrl-C (or SIGTERM) ends the run with a complete result; a second one quits at once.
fn on_interrupt(watching: &Watching) -> Result<Arc<AtomicBool>, Failure> {
    let stop = watching.signals.stop.clone();
    // Not while a view has the terminal: it would be left as it is.
    let may_quit = if watching.has_view() { watching.signals.restored.clone() } else { stop.clone() };
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, may_quit.clone())
            .and_then(|_| signal_hook::flag::register(signal, stop.clone()))
            .map_err(|error| Failure::wrong(anyhow::anyhow!("signals can not be handled: {error}")))?;
    }
    Ok(stop)
}

pub(crate) fn measuring(plan: &Plan) -> Measuring {
    let from = plan.stop.warmup;
    Measuring { from, until: planned(plan).map(|planned| from + planned), interval: INTERVAL }
}

fn settings(plan: &Plan, facts: &Facts, origin: Instant) -> Settings {
    Settings {
        origin,
        measured_from: origin + plan.stop.warmup,
        measured_until: planned(plan).map_or(Instant::FAR, |planned| origin + plan.stop.warmup + planned),
        interval: INTERVAL,
        groups: facts.groups.len() as u16,
        threads: facts.threads as u16,
        gaps: matches!(plan.load, Load::Open { .. }),
    }
}

/// `is_steered`: the rate was changed by hand, so that there is no one gap.
fn conditions(
    plan: &Plan,
    facts: &Facts,
    clock: &HostClock,
    is_steered: bool,
    watched: Option<&Watched>,
) -> Conditions {
    let load = match &plan.load {
        Load::Closed { .. } => Loop::Closed,
        Load::Open { arrivals, .. } => Loop::Open {
            gap: match &arrivals.shape {
                Shape::Constant(rate) if !is_steered => Some(rate.gap()),
                _ => None,
            },
        },
    };
    Conditions {
        load,
        clock: watched.map(|watched| watched.agreement),
        clock_precision: clock.precision().max(clock.overhead()),
        clock_refused: clock.refused().map(|refused| refused.to_string()),
        spins: facts.spin,
        cpus: cpus(plan),
        parallel: match plan.load {
            Load::Closed { connections } => Some(connections),
            Load::Open { connections, .. } => connections,
        },
        sinks: watched.and_then(|watched| elsewhere::loss(&watched.sinks)),
    }
}

/// CPUs that the engine threads may run on.
fn cpus(plan: &Plan) -> u32 {
    let all = || std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let count = if plan.engine.cpus.is_empty() { all() } else { plan.engine.cpus.len() };
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Length of the measured part, where the plan says it: by its duration, or by so many requests at an even rate.
fn planned(plan: &Plan) -> Option<Picos> {
    let by_requests = match (&plan.load, plan.stop.requests) {
        (_, None) => None,
        (Load::Open { arrivals: plan::Arrivals { shape: Shape::Constant(rate), .. }, .. }, Some(count)) => {
            Some(rate.due(count.get()))
        }
        // Whichever comes first is not known beforehand.
        (_, Some(_)) => return None,
    };
    [by_requests, plan.stop.duration].into_iter().flatten().min()
}

/// How many intervals the run will have; 0 where that is not known beforehand.
fn intervals(plan: &Plan) -> u64 {
    let length = planned(plan).map_or(Picos::ZERO, |planned| planned + plan.stop.warmup);
    length.as_picos().div_ceil(INTERVAL.as_picos())
}

/// How long the measured part was, for the rates.
fn length(plan: &Plan, halt: Halt) -> Measured {
    match (planned(plan).filter(|_| halt == Halt::No), &plan.load) {
        (Some(planned), _) => Measured::Planned(planned),
        (None, Load::Open { .. }) => Measured::Departures,
        (None, Load::Closed { .. }) => Measured::Answers,
    }
}

/// Labels and notes: what sets this run apart.
fn tell(result: &mut RunResult, watched: &Watched, notes: &[Note], plan: &Plan, unreachable: bool) {
    result.notes.extend(notes.iter().map(ToString::to_string));
    result.partial = watched.halt != Halt::No;
    match watched.halt {
        Halt::No => {}
        Halt::Interrupted => result.labels.push(INTERRUPTED.to_owned()),
        Halt::SourceLost | Halt::Failed | Halt::Aborted => result.labels.extend(watched.why.clone()),
    }
    result.labels.extend(watched.steered.clone());
    if unreachable {
        result.labels.push("target unreachable".to_owned());
    }
    let timeouts: u64 = result
        .outcomes
        .iter()
        .filter(|outcome| outcome.key.ends_with(".timeout"))
        .map(|outcome| outcome.count)
        .sum();
    if timeouts > 0 {
        let are = if timeouts == 1 { "is" } else { "are" };
        result.notes.push(format!(
            "{} timed out after {} and {are} not in the latencies: the true percentiles are higher",
            report::counted(timeouts, "request"),
            plan.request.timeout
        ));
    }
    let gauges = &watched.totals.gauges;
    if let Some(nap) = gauges.napped.as_picos().checked_div(gauges.naps) {
        result.notes.push(format!(
            "answers came thick and were gathered in naps of {:#} on average: service times may be longer by up to that (--spin never takes each as it comes)",
            Picos::from_picos(nap)
        ));
    }
    result.notes.extend(watched.notes.details.iter().cloned());
    result.notes.extend(watched.bad_lines.iter().map(|line| format!("not a request: {line}")));
    // URLs of a file may stand in any of them.
    for text in result.notes.iter_mut().chain(&mut result.labels) {
        *text = secrets::in_urls(text);
    }
}

/// Groups of which nothing is known yet but their names.
fn named(groups: &[String]) -> Vec<GroupResult> {
    groups.iter().map(|name| GroupResult { name: name.clone(), ..GroupResult::default() }).collect()
}

fn environment(clock: &HostClock, facts: &Facts) -> String {
    let choice = |what: &str, chosen: &str, why: &str| Choice {
        what: what.to_owned(),
        chosen: chosen.to_owned(),
        why: why.to_owned(),
    };
    let stated = Stated {
        versions: BTreeMap::from([("tare".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]),
        clock: ClockReport {
            source: clock.source().name().to_owned(),
            refused: clock.refused().map(|refused| refused.to_string()),
            precision_ns: clock.precision().as_nanos(),
            overhead_ns: clock.overhead().as_nanos(),
        },
        choices: vec![
            choice("io", facts.io.name(), &facts.io.reason),
            choice("spin", if facts.spin { "yes" } else { "no" }, &facts.spin_reason),
            choice("threads", &facts.threads.to_string(), &facts.threads_reason),
        ],
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

/// The command as it was typed, without passwords.
fn command() -> String {
    let mut words: Vec<String> = std::env::args().collect();
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
