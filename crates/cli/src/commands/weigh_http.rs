//! `tare weigh http`: how many requests a second this machine can send with a VALID verdict, and what each
//! costs it.

use crate::commands::weigh::keep_profile;
use anyhow::anyhow;
use clap::{ArgAction, Args};
use measure::ExitStatus;
use plan::{Scheme, TargetUrl};
use profile::Capability;
use report::weighing::{Requests, RequestsOfKind, saturated, tried};
use run::terminal::print_all;
use run::{Failure, Status, complain, interrupt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Count, Picos};
use weigh::WeighError;
use weigh::http::{ANSWER, AllKinds, Kind, Progress, Setup, Weighed, generator_cpus, weigh_all};
use weigh::peak::Held;

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
    /// Engine threads; more threads send more if there are enough CPUs [default: 1]
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
    let mut progress = |seen| complain(&format!("tare: {}", line(seen)));
    let outcome = weigh_all(&kinds, args.url.as_deref(), setup, &stop, &mut progress);
    let all = match outcome {
        Err(error @ WeighError::Unreachable { .. }) => {
            let _ = Failure::wrong(error).report();
            return Ok(Status::Run(ExitStatus::Unreachable));
        }
        outcome => outcome.map_err(Failure::wrong)?,
    };
    let target_cpus = all.target_cpus();
    let requests = requests(&all, &target_cpus);
    let place = if args.no_save { None } else { keep(&all, &requests) };
    match args.json {
        true => print_all(&requests.json())?,
        false => print_all(&requests.text(place.as_deref()))?,
    }
    Ok(if stop.load(Ordering::Relaxed) { Status::Run(ExitStatus::Interrupted) } else { Status::Done })
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

/// A line of progress.
pub fn line(seen: Progress) -> String {
    match seen {
        Progress::Saturated { kind, per_s } => saturated(kind.words(), per_s),
        Progress::Tried { kind, per_s, word } => tried(kind.words(), per_s, word.as_str()),
    }
}

fn requests<'a>(all: &'a AllKinds, target_cpus: &'a [u32]) -> Requests<'a> {
    let of_kind = |weighed: &'a Weighed| RequestsOfKind {
        words: weighed.kind.words(),
        keeps_alive: weighed.kind.keeps_alive(),
        capability: &weighed.capability,
        interval: &weighed.interval,
        peaks_per_s: weighed.found.iter().filter_map(|found| found.peak_per_s).collect(),
        trials: weighed.trials,
        disturbed: weighed.disturbed,
        limited_by: match weighed.limit {
            Held::Target => "target",
            Held::Yes | Held::Generator | Held::Disturbed => "generator",
        },
        is_partial: weighed.is_partial,
    };
    Requests {
        started_at: &all.started_at,
        url: all.url.as_deref(),
        answer: ANSWER,
        target_cpus,
        threads: all.setup.threads,
        cpus: &all.setup.cpus,
        connections: all.setup.connections,
        kinds: all.kinds.iter().map(of_kind).collect(),
        is_partial: all.is_partial,
    }
}

/// Puts it into the profile and beside other weighings; says on standard error what could not be kept.
fn keep(all: &AllKinds, requests: &Requests) -> Option<PathBuf> {
    let home = match store::state_dir() {
        Ok(state) => state.join("tare"),
        Err(error) => {
            complain(&format!("tare: cannot store anything: {error}"));
            return None;
        }
    };
    let capabilities: Vec<Capability> = all.kinds.iter().map(|weighed| weighed.capability.clone()).collect();
    if let Err(error) = keep_profile(&capabilities) {
        complain(&format!("tare: cannot store the profile: {error}"));
    }
    let folder = home.join("weighings").join(store::run_name("weigh-http", clock::wall_time()));
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("weigh.json"), requests.json()));
    match written {
        Ok(()) => Some(folder),
        Err(error) => {
            complain(&format!("tare: {}: {error}", folder.display()));
            None
        }
    }
}
