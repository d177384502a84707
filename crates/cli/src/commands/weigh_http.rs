//! `tare weigh http`: how many requests a second this machine can send with a VALID verdict, and what each
//! costs it.

use crate::commands::weigh::keep_profile;
use crate::embedded::Embedded;
use anyhow::anyhow;
use clap::{ArgAction, Args};
use measure::ExitStatus;
use plan::{Scheme, TargetUrl};
use profile::Capability;
use run::terminal::print_all;
use run::{Failure, Status, complain, interrupt};
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Count, Picos};
use weigh::WeighError;
use weigh::http::{Kind, Progress, Setup, Weighed};
use weigh::peak::Held;

/// Of a weighing's file.
const SCHEMA: &str = "tare.weigh/1";
/// The embedded target ends by itself after this long, should nobody be left to end it.
const TARGET_LIFE: &str = "3600s";
/// Bytes of its answers.
const ANSWER: &str = "600";
const MOST_SEARCHES: u64 = 100;

const EXAMPLES: &str = "\
Examples:
  tare weigh http                           against an embedded target; takes a few minutes
  tare weigh http --quick                   half a minute, without confidence intervals
  tare weigh http http://198.18.0.2:8080/   against this target, at the highest load possible
  tare weigh http --only keep-alive,tls --trials 5

Each trial is a run of `tare http`. The peak is the highest rate whose verdict is still VALID.

Exit status:
  0 weighed; 2 bad input; 5 target unreachable; 130 interrupted (results so far are kept)";

/// Measure how many requests per second this machine can send
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct WeighHttpArgs {
    /// Target [default: an embedded one, in a separate process on another CPU]
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// Short runs, one search for each peak, no confidence intervals
    #[arg(long)]
    quick: bool,
    /// Searches for each peak, for confidence intervals [default: 3, with --quick 1]
    #[arg(long, value_name = "N")]
    trials: Option<Count>,
    /// Duration of a run [default: 2s, with --quick 500ms]
    #[arg(long, value_name = "TIME")]
    time: Option<Picos>,
    /// Kinds of load: keep-alive, new-connection, tls, tls-new-connection [default: all that the URL's
    /// scheme allows]
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', action = ArgAction::Append)]
    only: Vec<Kind>,
    /// Connections [default: 64]
    #[arg(short = 'c', long, value_name = "N")]
    parallel: Option<Count>,
    /// Engine threads; more send more if there are enough CPUs [default: 1]
    #[arg(short = 't', long, value_name = "N")]
    threads: Option<Count>,
    /// CPUs of the engine threads [default: the first ones; the target gets the others]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    cpus: Vec<u32>,
    /// Accept any certificate
    #[arg(short = 'k', long)]
    insecure: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// Keep nothing: neither the figures nor the profile
    #[arg(long)]
    no_save: bool,
}

/// Weighs what was asked for, prints it and keeps it in the profile.
pub fn run(args: &WeighHttpArgs) -> Result<Status, Failure> {
    let setup = args.setup()?;
    let kinds = args.kinds()?;
    let stop = Arc::new(AtomicBool::new(false));
    interrupt::heed(&stop, Some(&stop))?;
    let mut progress = |line: &str| complain(&format!("tare: {line}"));
    let outcome = weigh_all(&kinds, args.url.as_deref(), setup, &stop, &mut progress);
    let weighing = match outcome {
        Err(error) if matches!(error.downcast_ref(), Some(WeighError::Unreachable { .. })) => {
            let _ = Failure::wrong(error).report();
            return Ok(Status::Run(ExitStatus::Unreachable));
        }
        Err(error) => return Err(error.into()),
        Ok(weighing) => weighing,
    };
    let place = if args.no_save { None } else { keep(&weighing) };
    match args.json {
        true => print_all(&weighing.to_json())?,
        false => print_all(&weighing.to_text(place.as_deref()))?,
    }
    Ok(if stop.load(Ordering::Relaxed) { Status::Run(ExitStatus::Interrupted) } else { Status::Done })
}

/// The short form against the embedded target, for those who weigh other things as well: all kinds in about
/// half a minute. What was weighed before it was stopped is returned; nothing is kept or printed but what
/// `progress` is told.
pub fn quick(stop: &AtomicBool, progress: &mut dyn FnMut(&str)) -> Result<Vec<Capability>, Failure> {
    let setup = Setup { cpus: generator_cpus(1), ..Setup::quick() };
    match weigh_all(&Kind::ALL, None, setup, stop, progress) {
        Ok(weighing) => Ok(weighing.kinds.into_iter().map(|weighed| weighed.capability).collect()),
        Err(error) => Err(error.into()),
    }
}

impl WeighHttpArgs {
    fn setup(&self) -> Result<Setup, Failure> {
        let wrong = |flag: &str, problem: &str| Failure::wrong(anyhow!("{flag}: {problem}"));
        let mut setup = if self.quick { Setup::quick() } else { Setup::thorough() };
        let small = |flag: &str, count: Option<Count>, most: u64| match count.map(Count::get) {
            None => Ok(None),
            Some(count) if count == 0 || count > most => {
                Err(wrong(flag, &format!("{count} is not between 1 and {most}")))
            }
            Some(count) => Ok(Some(count as u32)),
        };
        if let Some(trials) = small("--trials", self.trials, MOST_SEARCHES)? {
            setup.searches = trials;
        }
        if let Some(connections) = small("--parallel", self.parallel, 1_000_000)? {
            setup.connections = connections;
        }
        if let Some(threads) = small("--threads", self.threads, 1_024)? {
            setup.threads = threads;
        }
        if let Some(time) = self.time {
            if !(Picos::from_millis(200)..=Picos::from_secs(600)).contains(&time) {
                return Err(wrong("--time", &format!("{time} is not between 200ms and 600s")));
            }
            setup.length = time.as_std();
        }
        setup.cpus = match (self.cpus.is_empty(), &self.url) {
            (false, _) => self.cpus.clone(),
            (true, None) => generator_cpus(setup.threads),
            (true, Some(_)) => Vec::new(),
        };
        if self.insecure {
            setup.flags.push("--insecure".to_owned());
        }
        Ok(setup)
    }

    /// Those that are asked for, or that the URL's scheme allows.
    fn kinds(&self) -> Result<Vec<Kind>, Failure> {
        let scheme = match &self.url {
            None => None,
            Some(url) => match TargetUrl::parse(url) {
                Ok(parsed) => Some(parsed.scheme),
                Err(problem) => return Err(Failure::wrong(anyhow!("URL {url}: {problem}"))),
            },
        };
        let allowed = |kind: &Kind| scheme.is_none_or(|scheme| (scheme == Scheme::Https) == kind.is_tls());
        if let Some(kind) = self.only.iter().find(|kind| !allowed(kind)) {
            return Err(Failure::wrong(anyhow!("--only {}: does not fit the URL's scheme", kind.name())));
        }
        let wanted = |kind: &Kind| self.only.is_empty() || self.only.contains(kind);
        Ok(Kind::ALL.into_iter().filter(allowed).filter(wanted).collect())
    }
}

/// The first CPUs, where at least one is left for the target; else the kernel's choice.
fn generator_cpus(threads: u32) -> Vec<u32> {
    let cpus = os::cpus::usable();
    if cpus.len() > threads as usize { cpus[..threads as usize].to_vec() } else { Vec::new() }
}

/// All that came of it.
struct Weighing {
    started_at: String,
    /// What was loaded and where everything ran, in words.
    conditions: String,
    kinds: Vec<Weighed>,
    is_partial: bool,
}

fn weigh_all(
    kinds: &[Kind],
    url: Option<&str>,
    setup: Setup,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(&str),
) -> anyhow::Result<Weighing> {
    let started_at = store::rfc3339(clock::wall_time());
    let mut all = Vec::new();
    for kind in kinds {
        let target = url.is_none().then(|| embedded(*kind, &setup)).transpose()?;
        let mut own = setup.clone();
        // Its certificate is made on the spot.
        own.flags.extend((target.is_some() && kind.is_tls()).then(|| "--insecure".to_owned()));
        let (to, against) = match (&target, url) {
            (Some(target), _) => (target.url().to_owned(), "embedded target".to_owned()),
            (None, url) => (url.unwrap_or_default().to_owned(), url.unwrap_or_default().to_owned()),
        };
        let mut tell = |seen| progress(&line(seen));
        all.extend(weigh::http::weigh(*kind, &to, &against, &own, stop, &mut tell)?);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let conditions = conditions(url, &setup);
    Ok(Weighing { started_at, conditions, kinds: all, is_partial: stop.load(Ordering::Relaxed) })
}

fn line(seen: Progress) -> String {
    match seen {
        Progress::Saturated { kind, per_s } => {
            format!("{}: {} at most", kind.words(), report::rate(per_s.round()))
        }
        Progress::Tried { kind, per_s, word } => {
            format!("{}: {} {}", kind.words(), report::rate(per_s), word.as_str())
        }
    }
}

/// A target on the CPUs that the generator leaves.
fn embedded(kind: Kind, setup: &Setup) -> anyhow::Result<Embedded> {
    let others = target_cpus(setup);
    let workers = others.len().max(1).to_string();
    let list = others.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut flags = vec!["--no-truth", "--size", ANSWER, "--for", TARGET_LIFE, "--workers", &workers];
    if !list.is_empty() {
        flags.extend(["--cpus", &list]);
    }
    flags.extend(kind.is_tls().then_some("--tls"));
    Embedded::start(&flags)
}

fn target_cpus(setup: &Setup) -> Vec<u32> {
    let cpus = os::cpus::usable();
    let others: Vec<u32> = cpus.iter().copied().filter(|cpu| !setup.cpus.contains(cpu)).collect();
    if setup.cpus.is_empty() { Vec::new() } else { others }
}

fn conditions(url: Option<&str>, setup: &Setup) -> String {
    let listed = |cpus: &[u32]| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let threads = report::counted(u64::from(setup.threads), "engine thread");
    let generator = match setup.cpus.as_slice() {
        [] => format!("{threads} on any CPU"),
        cpus => format!("{threads} on CPU {}", listed(cpus)),
    };
    let target = match (url, target_cpus(setup).as_slice()) {
        (Some(url), _) => url.to_owned(),
        (None, []) => format!("embedded target ({ANSWER} bytes), a separate process on the same CPUs"),
        (None, cpus) => {
            format!("embedded target ({ANSWER} bytes), a separate process on CPU {}", listed(cpus))
        }
    };
    format!("{target}; {generator}, {} connections", setup.connections)
}

/// Puts it into the profile and beside other weighings; says on standard error what could not be kept.
fn keep(weighing: &Weighing) -> Option<PathBuf> {
    let home = match store::state_dir() {
        Ok(state) => state.join("tare"),
        Err(error) => {
            complain(&format!("tare: cannot store anything: {error}"));
            return None;
        }
    };
    let capabilities: Vec<Capability> =
        weighing.kinds.iter().map(|weighed| weighed.capability.clone()).collect();
    if let Err(error) = keep_profile(&capabilities) {
        complain(&format!("tare: cannot store the profile: {error}"));
    }
    let folder = home.join("weighings").join(store::run_name("weigh-http", clock::wall_time()));
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("weigh.json"), weighing.to_json()));
    match written {
        Ok(()) => Some(folder),
        Err(error) => {
            complain(&format!("tare: {}: {error}", folder.display()));
            None
        }
    }
}

/// `weigh.json`.
#[derive(Serialize)]
struct File<'a> {
    schema: &'static str,
    kind: &'static str,
    started_at: &'a str,
    tare: &'static str,
    conditions: &'a str,
    partial: bool,
    http: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    capability: &'a Capability,
    /// Each search's peak, in their order.
    peaks_per_s: Vec<f64>,
    /// Why there is no interval; absent where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_interval: Option<String>,
    trials: u32,
    disturbed: u32,
    limited_by: &'static str,
    partial: bool,
}

impl<'a> Row<'a> {
    fn of(weighed: &'a Weighed) -> Self {
        Self {
            capability: &weighed.capability,
            peaks_per_s: weighed.found.iter().filter_map(|found| found.peak_per_s).collect(),
            no_interval: weighed.interval.as_ref().err().map(ToString::to_string),
            trials: weighed.trials,
            disturbed: weighed.disturbed,
            limited_by: limited_by(weighed.limit),
            partial: weighed.is_partial,
        }
    }
}

impl Weighing {
    fn to_json(&self) -> String {
        let file = File {
            schema: SCHEMA,
            kind: "http",
            started_at: &self.started_at,
            tare: env!("CARGO_PKG_VERSION"),
            conditions: &self.conditions,
            partial: self.is_partial,
            http: self.kinds.iter().map(Row::of).collect(),
        };
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    fn to_text(&self, place: Option<&Path>) -> String {
        let mut text = format!("Loaded       {}\n", self.conditions.replace("; ", ";\n             "));
        let line = |text: &mut String, line: &str| writeln!(text, "{line}").expect("a String takes any text");
        line(&mut text, "");
        line(
            &mut text,
            &format!(
                "{:<20} {:>12} {:>12}  {:>25}  {}",
                "", "highest with", "highest", "CPU µs per request", "limited"
            ),
        );
        line(
            &mut text,
            &format!(
                "{:<20} {:>12} {:>12}  {:>7} {:>8} {:>8}  {}",
                "Requests", "VALID", "at all", "user", "system", "softirq", "by"
            ),
        );
        for weighed in &self.kinds {
            line(&mut text, &table_row(weighed));
        }
        line(&mut text, "");
        for weighed in &self.kinds {
            line(&mut text, &peak_line(weighed));
        }
        self.memory(&mut text);
        self.remarks(&mut text);
        if let Some(place) = place {
            line(&mut text, &format!("Kept         {}", place.join("weigh.json").display()));
        }
        line(&mut text, &format!("Next         {}", self.next()));
        text
    }

    fn memory(&self, text: &mut String) {
        for weighed in self.kinds.iter().filter(|weighed| weighed.kind.keeps_alive()) {
            let capability = &weighed.capability;
            if let (Some(base), Some(each)) =
                (capability.memory_bytes, capability.memory_per_connection_bytes)
            {
                let said = format!(
                    "Memory       {:.1} MiB, and {:.1} KiB per connection ({})\n",
                    base as f64 / 1_048_576.0,
                    each / 1_024.0,
                    weighed.kind.words()
                );
                text.push_str(&said);
            }
        }
    }

    fn remarks(&self, text: &mut String) {
        let disturbed: u32 = self.kinds.iter().map(|weighed| weighed.disturbed).sum();
        if disturbed > 0 {
            let trials = report::counted(u64::from(disturbed), "trial");
            text.push_str(&format!(
                "Disturbed    {trials} in which other work, or the hypervisor, took CPU time;\n             \
                 a rate that was kept and was DEGRADED only for that reason counts as VALID\n"
            ));
        }
        let cost_known = self
            .kinds
            .iter()
            .any(|weighed| peak_point(weighed).is_some_and(|point| point.softirq_ns.is_none()));
        if cost_known {
            text.push_str(
                "Softirq      – where it cannot be separated from other work on the same CPU; it is in system\n",
            );
        }
        if self.is_partial {
            text.push_str("Partial      interrupted; missing kinds were not weighed\n");
        }
    }

    fn next(&self) -> String {
        let peak = self.kinds.first().map_or(0.0, |weighed| weighed.capability.peak_per_s);
        match peak > 0.0 {
            true => format!("forecast a plan with tare doctor -- http --rate {:.0} URL", peak / 2.0),
            false => "nothing was VALID; tare doctor lists what disturbs this machine".to_owned(),
        }
    }
}

const fn limited_by(limit: Held) -> &'static str {
    match limit {
        Held::Target => "target",
        Held::Yes | Held::Generator | Held::Disturbed => "generator",
    }
}

/// What was measured nearest to the peak.
fn peak_point(weighed: &Weighed) -> Option<&profile::Point> {
    let capability = &weighed.capability;
    let distance = |point: &profile::Point| (point.offered_per_s - capability.peak_per_s).abs();
    capability.points.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn table_row(weighed: &Weighed) -> String {
    let capability = &weighed.capability;
    let rate = |rate: f64| if rate > 0.0 { report::rate(rate.round()) } else { "none".to_owned() };
    let micros = |ns: Option<f64>| ns.map_or("–".to_owned(), |ns| format!("{:.2}", ns / 1e3));
    let point = peak_point(weighed);
    format!(
        "{:<20} {:>12} {:>12}  {:>7} {:>8} {:>8}  {}",
        weighed.kind.words(),
        format!("{}{}", if capability.is_lower_bound { "≥ " } else { "" }, rate(capability.peak_per_s)),
        rate(capability.saturated_per_s.unwrap_or(0.0)),
        micros(point.map(|point| point.user_ns)),
        micros(point.map(|point| point.system_ns)),
        micros(point.and_then(|point| point.softirq_ns)),
        limited_by(weighed.limit)
    )
}

fn peak_line(weighed: &Weighed) -> String {
    let peak = weighed.capability.peak_per_s;
    if peak <= 0.0 {
        return format!("{:<20} no rate was VALID", weighed.kind.words());
    }
    let said = match &weighed.interval {
        Ok(interval) => interval.told(|rate| report::rate(rate.round())),
        Err(refusal) => format!("{}: {refusal}", report::rate(peak.round())),
    };
    format!("{:<20} {said}", weighed.kind.words())
}
