//! Before a run starts: everything that it needs is opened, and what is known of its result is written down.

use crate::engine::{Brief, Driven};
use crate::inputs::Inputs;
use crate::limits;
use crate::options::{Options, Output};
use crate::progress::Shown;
use crate::run_files::RunFiles;
use crate::run_sinks;
use crate::status::{Failure, complain};
use crate::watching::Watching;
use clock::HostClock;
use measure::{ClockReport, Environment, Stated, Thresholds};
use sinks::{Hub, RunInfo};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::SystemTime;
use store::schema::GroupResult;
use store::secrets;
use store::{NoFolder, RunFolder, RunResult, Sink, StoreError};

/// Longest line of the command that is kept.
const COMMAND: usize = 4_000;

/// A run that can start: everything that it needs is open.
pub struct Prepared<'a> {
    pub options: &'a Options,
    pub clock: HostClock,
    pub engine: Box<dyn Driven>,
    pub brief: Brief,
    pub notes: Vec<String>,
    pub thresholds: Thresholds,
    pub watching: Watching,
    pub sink: Box<dyn Sink>,
    pub hub: Hub,
    pub run_name: String,
    pub environment: String,
    pub inputs: Inputs,
    /// What is known of the result before the start.
    pub result: RunResult,
}

impl<'a> Prepared<'a> {
    /// Opens what the engine needs, where rows go, and whatever is shown meanwhile. Nothing is sent.
    pub fn open(
        prepare: impl FnOnce(HostClock) -> Result<Box<dyn Driven>, Failure>,
        files: &RunFiles,
        notes: Vec<String>,
        options: &'a Options,
    ) -> Result<Self, Failure> {
        let started = clock::wall_time();
        // Before anything reads them.
        let mut inputs = Inputs::look(&files.inputs);
        let mut places = run_sinks::places(options)?;
        let clock = HostClock::calibrate();
        let mut engine = prepare(clock)?;
        let brief = engine.brief();
        inputs.add(&brief.line_files);
        let thresholds = limits::watch(&brief.limits, &brief.names, brief.measuring())?;
        let mut watching = Watching::start(&options.live, &brief.cpus)?;
        let mut sink = sink(options, brief.engine, started)?;
        sink.attach("plan.toml", brief.plan_text.as_bytes());
        let environment = environment(&clock, &brief);
        sink.attach("environment.json", environment.as_bytes());
        if options.progress == Shown::Line && options.output == Output::Summary {
            notes.iter().for_each(|note| complain(&format!("tare: {note}")));
        }
        let run_name = sink.name().map_or_else(|| store::run_name(brief.engine, started), str::to_owned);
        engine.name_run(&run_name);
        if options.samples {
            places.extend(run_sinks::samples(sink.as_ref()));
        }
        let about = about(&brief, &run_name, started, &environment);
        let hub = run_sinks::open(&places, about).inspect_err(|_| sink.discard())?;
        let command = match &options.host {
            Some(host) => host.name.to_owned(),
            None => command(std::env::args_os()),
        };
        let result = RunResult { command, ..begun(&brief, &clock, started) };
        sink.begin(&RunResult { groups: named(&brief.names), ..result.clone() });
        if options.progress == Shown::Line && !options.live.no_view {
            watching.open_view(&brief)?;
        }
        Ok(Self {
            options,
            clock,
            engine,
            brief,
            notes,
            thresholds,
            watching,
            sink,
            hub,
            run_name,
            environment,
            inputs,
            result,
        })
    }
}

/// What sinks are told of the run.
fn about(brief: &Brief, run_name: &str, started: SystemTime, environment: &str) -> RunInfo {
    RunInfo {
        run: run_name.to_owned(),
        engine: brief.engine.to_owned(),
        plan_hash: brief.plan_hash.clone(),
        target: brief.target.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: store::rfc3339(started),
        warmup: brief.warmup,
        groups: brief.names.clone(),
        plan: brief.plan_shown(),
        environment: environment.to_owned(),
    }
}

/// The result of a run that has not begun.
fn begun(brief: &Brief, clock: &HostClock, started: SystemTime) -> RunResult {
    let mut result = RunResult {
        engine: brief.engine.to_owned(),
        plan_hash: brief.plan_hash.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        target: brief.target.clone(),
        load: brief.load.clone(),
        started_at: store::rfc3339(started),
        environment: "environment.json".to_owned(),
        ..RunResult::default()
    };
    result.generator.clock = clock_in_words(clock);
    result.generator.io.clone_from(&brief.io);
    result.warmup.duration_s = brief.warmup.as_secs_f64();
    result
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
pub fn in_outs_words(error: StoreError) -> Failure {
    match error.is_users() {
        true => Failure::wrong(error),
        false => Failure::wrong(anyhow::anyhow!("--out: {error}; expected a writable folder")),
    }
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

/// The command as it was typed, without passwords. What is not UTF-8, such as the name of an old file, is shown
/// as far as it is.
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
