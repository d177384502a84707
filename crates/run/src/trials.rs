//! A group of trials: the same load again and again, or several by turns, and what can be said of all of them.
//!
//! ```text
//! words of side A ─┐  round 1   round 2          ┌─ trial_line for each
//! words of side B ─┴─► A  B  │  B  A  │ … ─► runs ┼─ intervals of every figure, comparison of the sides
//!                      each a process of its own  └─ trials.json, report.html
//! ```

mod child;
mod count;
mod order;

pub use child::{as_trial, is_trial};
pub use count::{Trials, Wanted};
pub use order::TurnOrder;

use crate::interrupt;
use crate::status::{Failure, complain};
use crate::terminal::{print_all, style};
use anyhow::anyhow;
use compare::{Group, GroupSide, Side, Told, Trial, UntilSide, UntilTold, Weighed};
use measure::ExitStatus;
use order::Turns;
use stats::sequential::{Look, Until};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use store::StoredRun;
use tempfile::TempDir;

/// Everything that a group is asked to be.
#[derive(Debug)]
pub struct TrialsRequest {
    /// The words of each side's command, without the program.
    pub sides: Vec<Vec<OsString>>,
    pub trials: Trials,
    pub order: TurnOrder,
    pub seed: u64,
    pub out: Option<PathBuf>,
    pub save: bool,
    pub json: bool,
    pub quiet: bool,
}

/// One side while its trials run.
#[derive(Default)]
struct Running {
    runs: Vec<StoredRun>,
    told: Vec<Told>,
    weighed: Vec<Weighed>,
    look: Option<Look>,
}

/// Why there are no more trials.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// All were made, or they are enough.
    Done,
    Interrupted,
    /// A trial could not be run or read.
    Failed,
}

/// Runs the trials, tells what they came to, and says how the process shall end.
pub fn run(asked: &TrialsRequest) -> Result<ExitCode, Failure> {
    let started = clock::wall_time();
    let rounds = asked.trials.rounds()?;
    asked.sides.iter().try_for_each(|side| no_file_twice(side).and_then(|()| no_standard_input(side)))?;
    let until = asked.trials.until.map(|wanted| Until::new(wanted.share, rounds.0, rounds.1));
    let name = store::run_name("trials", started);
    let place = Place::make(asked, &name)?;
    let stop = Arc::new(AtomicBool::new(false));
    interrupt::heed(&stop, None)?;
    let sides = asked.sides.iter().map(|_| Running::default()).collect();
    let turns = Turns::new(asked.order, asked.sides.len(), asked.seed);
    let mut work = Work { asked, name, place, stop, until, turns, sides, number: 0, worst: 0 };
    let end = work.all_rounds(rounds.1)?;
    if work.sides.iter().all(|side| side.runs.is_empty()) {
        return Ok(ExitCode::from(if end == End::Interrupted { 130 } else { work.worst }));
    }
    let group = work.group(started, end);
    work.tell(&group)?;
    Ok(ExitCode::from(if end == End::Interrupted { 130 } else { work.worst }))
}

/// Each trial would begin the file of a `--to` anew, and the last one's figures alone would be left.
fn no_file_twice(words: &[OsString]) -> anyhow::Result<()> {
    let named = |at: usize| {
        let word = words[at].to_str()?;
        match word.strip_prefix("--to") {
            Some("") => words.get(at + 1)?.to_str(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        }
    };
    let is_file = |text: &&str| {
        sinks::Place::parse(text).is_ok_and(|place| place.kind().address == sinks::Address::File)
    };
    match (0..words.len()).filter_map(named).find(is_file) {
        Some(text) => Err(anyhow!(
            "--to {text}: each trial would overwrite this file; leave it out, as every trial has its own folder"
        )),
        None => Ok(()),
    }
}

/// The first trial would read all of standard input, and nothing would be left for the others.
fn no_standard_input(words: &[OsString]) -> anyhow::Result<()> {
    const NAMES: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
    let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let is_read = |at: &usize| {
        let word = words[*at];
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        let own =
            word.strip_prefix("--data=").or_else(|| word.strip_prefix("-d")).filter(|text| !text.is_empty());
        if let Some(body) = own.or_else(|| ["-d", "--data"].contains(&before).then_some(word)) {
            return body.strip_prefix('@').is_some_and(|file| file == "-" || NAMES.contains(&file));
        }
        let value = word.split_once('=').filter(|_| word.starts_with("--")).map_or(word, |(_, value)| value);
        let is_text = ["-H", "--header"].contains(&before);
        !is_text && (NAMES.contains(&value.strip_prefix("pcap:").unwrap_or(value)) || value == "pcap:-")
    };
    match (0..words.len()).find(is_read) {
        Some(at) => Err(anyhow!(
            "'{}': standard input can be read once, and each trial would need it; name a file instead",
            words[at]
        )),
        None => Ok(()),
    }
}

/// Where the group is kept.
enum Place {
    Kept(PathBuf),
    /// Removed at the end.
    Scratch(TempDir),
}

impl Place {
    fn make(asked: &TrialsRequest, name: &str) -> Result<Self, Failure> {
        if !asked.save {
            let scratch = TempDir::with_prefix("tare-trials-");
            return Ok(Self::Scratch(
                scratch.map_err(|why| anyhow!("cannot make a temporary folder: {why}"))?,
            ));
        }
        let folder = match &asked.out {
            Some(folder) => folder.clone(),
            None => store::state_dir().map_err(Failure::wrong)?.join("tare/trials").join(name),
        };
        let unfit = |why: &dyn std::fmt::Display| {
            Failure::wrong(anyhow!("--out {}: {why}; name a new folder, or an empty one", folder.display()))
        };
        store::check_name(&folder).map_err(Failure::wrong)?;
        std::fs::create_dir_all(&folder).map_err(|why| unfit(&why))?;
        let mut inside = std::fs::read_dir(&folder).map_err(|why| unfit(&why))?;
        if inside.next().is_some() {
            return Err(unfit(&"is not empty"));
        }
        Ok(Self::Kept(std::fs::canonicalize(&folder).unwrap_or(folder)))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(folder) => folder,
            Self::Scratch(folder) => folder.path(),
        }
    }
}

struct Work<'a> {
    asked: &'a TrialsRequest,
    name: String,
    place: Place,
    stop: Arc<AtomicBool>,
    until: Option<Until>,
    turns: Turns,
    sides: Vec<Running>,
    /// Trials so far, of all sides.
    number: usize,
    /// The exit status that says most of all trials.
    worst: u8,
}

impl Work<'_> {
    fn all_rounds(&mut self, most: usize) -> Result<End, Failure> {
        for round in 0..most {
            for side in self.turns.of_round(round) {
                if self.number > 0 && self.cool_down() {
                    return Ok(End::Interrupted);
                }
                match self.trial(side)? {
                    End::Done => {}
                    end => return Ok(end),
                }
            }
            if self.is_enough() {
                break;
            }
        }
        Ok(End::Done)
    }

    /// Waits between trials; whether Ctrl-C ended that.
    fn cool_down(&self) -> bool {
        let length = self.asked.trials.cool_down.map_or(Duration::ZERO, |length| length.as_std());
        let begun = clock::Stopwatch::start();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return true;
            }
            match length.checked_sub(begun.elapsed()) {
                Some(left) if !left.is_zero() => std::thread::sleep(left.min(Duration::from_millis(20))),
                _ => return false,
            }
        }
    }

    fn trial(&mut self, side: usize) -> Result<End, Failure> {
        self.number += 1;
        let folder = self.place.path().join(format!("{:03}", self.number));
        let mut stopped = false;
        let tag = matches!(self.place, Place::Kept(_)).then_some(self.name.as_str());
        let status = child::run(&self.asked.sides[side], &folder, tag, &self.stop, &mut stopped)?;
        let code =
            status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(ExitStatus::Invalid.code());
        self.worst = worse(self.worst, code);
        if code == 2 {
            // It said itself what is wrong, and the next would say the same.
            return Ok(if stopped { End::Interrupted } else { End::Failed });
        }
        let run = match store::load_run(&folder) {
            Ok(run) => run,
            Err(why) => {
                complain(&format!("tare: trial {} left no result ({status}): {why}", self.number));
                self.worst = worse(self.worst, ExitStatus::Invalid.code());
                return Ok(if stopped { End::Interrupted } else { End::Failed });
            }
        };
        let weighed = Weighed::of(&run);
        self.show(side, &weighed)?;
        let running = &mut self.sides[side];
        running.told.push(Told::of(self.number, &run, &weighed, code));
        running.runs.push(run);
        running.weighed.push(weighed);
        Ok(if stopped || code == 130 { End::Interrupted } else { End::Done })
    }

    fn show(&self, side: usize, weighed: &Weighed) -> Result<(), Failure> {
        if self.asked.quiet {
            return Ok(());
        }
        let of = match (self.until, self.asked.trials.trials) {
            (None, Some(trials)) => {
                format!("trial {} of {}", self.number, trials as usize * self.sides.len())
            }
            _ => format!("trial {}", self.number),
        };
        if self.asked.json {
            let line =
                report::trial_line(&of, &self.label(side), weighed, style(std::io::stderr().is_terminal()));
            complain(&line);
            return Ok(());
        }
        let line =
            report::trial_line(&of, &self.label(side), weighed, style(std::io::stdout().is_terminal()));
        print_all(&format!("{line}\n"))
    }

    /// `A`, `B`…; nothing if there is one.
    fn label(&self, side: usize) -> String {
        if self.sides.len() == 1 { String::new() } else { compare::side_label(side) }
    }

    /// Looks at the trials where it is time, and says whether every side is sure enough.
    fn is_enough(&mut self) -> bool {
        let (Some(until), Some(wanted)) = (&self.until, &self.asked.trials.until) else { return false };
        for side in &mut self.sides {
            match wanted.figure.look(until, &side.weighed) {
                Look::Wait => {}
                look => side.look = Some(look),
            }
        }
        self.sides.iter().all(|side| side.look.as_ref().is_some_and(Look::is_enough))
    }

    fn group(&self, started: SystemTime, end: End) -> Group {
        let side = |(at, side): (usize, &Running)| {
            let command: Vec<String> = std::iter::once("tare".into())
                .chain(self.asked.sides[at].iter().map(|word| word.to_string_lossy().into_owned()))
                .collect();
            let command = store::secrets::in_command(&command);
            GroupSide::of(&self.label(at), &command, side.told.clone(), &side.weighed)
        };
        let (comparison, not_compared) = match self.comparison() {
            Some(Ok(comparison)) => (Some(comparison), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        Group {
            schema: "tare.trials/1",
            name: self.name.clone(),
            started_at: store::rfc3339(started),
            partial: end != End::Done,
            order: self.turns.words(),
            cool_down_s: self.asked.trials.cool_down.map_or(0.0, |length| length.as_secs_f64()),
            sides: self.sides.iter().enumerate().map(side).collect(),
            until: self.until_told(),
            comparison,
            not_compared,
        }
    }

    fn until_told(&self) -> Option<UntilTold> {
        let (until, wanted) = (self.until?, self.asked.trials.until?);
        let made = self.sides.iter().map(|side| side.weighed.iter().filter(|trial| trial.counts()).count());
        let made = made.max().unwrap_or(0);
        let told = |(at, side): (usize, &Running)| UntilSide::of(&self.label(at), side.look.as_ref()?);
        Some(UntilTold {
            figure: wanted.figure.name,
            unit: wanted.figure.unit,
            share: wanted.share,
            looks: until.looks().into_iter().filter(|look| *look <= made).collect(),
            most: until.most(),
            reached: self.sides.iter().all(|side| side.look.as_ref().is_some_and(Look::is_enough)),
            sides: self.sides.iter().enumerate().filter_map(told).collect(),
        })
    }

    /// Of trials that count, where every side has some; or why they cannot be compared.
    fn comparison(&self) -> Option<Result<compare::Comparison, String>> {
        let trials = |side: &Running| -> Vec<Trial> {
            let counted = side.runs.iter().zip(&side.weighed).filter(|(_, weighed)| weighed.counts());
            counted.map(|(run, _)| Trial::with_spreads(run)).collect()
        };
        let side = |(at, side): (usize, &Running)| Side { label: self.label(at), trials: trials(side) };
        let sides: Vec<Side> = self.sides.iter().enumerate().map(side).collect();
        if sides.len() < 2 || sides.iter().any(|side| side.trials.is_empty()) {
            return None;
        }
        // That the commands differ is what was asked for.
        let doubts = compare::doubts(&sides);
        Some(match doubts.never {
            Some(why) => Err(why),
            None => Ok(compare::compare(&sides, Vec::new(), [doubts.refusals, doubts.warnings].concat())),
        })
    }

    /// Keeps and prints what the group came to.
    fn tell(&mut self, group: &Group) -> Result<(), Failure> {
        let json = report::trials_json(group);
        if matches!(self.place, Place::Kept(_)) {
            for (name, text) in [("trials.json", &json), ("report.html", &report::trials_html(group))] {
                // Not over what somebody put there meanwhile.
                let made = std::fs::File::create_new(self.place.path().join(name));
                if let Err(why) = made.and_then(|mut file| file.write_all(text.as_bytes())) {
                    complain(&format!("tare: could not store {name}: {why}"));
                    self.worst = worse(self.worst, 1);
                }
            }
        }
        if self.asked.json {
            return print_all(&json);
        }
        if self.asked.quiet {
            return Ok(());
        }
        let mut text = report::trials(group, style(std::io::stdout().is_terminal()));
        if let Place::Kept(folder) = &self.place {
            text += &format!("  kept in {}; its runs are tagged {}\n", folder.display(), self.name);
        }
        print_all(&text)
    }
}

/// The status that says more: of two runs the one that the table of exit statuses names first.
fn worse(a: u8, b: u8) -> u8 {
    const FIRST: [u8; 7] = [130, 2, 5, 4, 3, 1, 0];
    let rank = |status: u8| FIRST.iter().position(|known| *known == status).unwrap_or(3);
    if rank(b) < rank(a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_every_trial_would_write_is_refused() {
        let said = |text: &str| {
            let words: Vec<OsString> = text.split(' ').map(OsString::from).collect();
            no_file_twice(&words).err().map(|error| error.to_string())
        };
        for words in ["http --to csv:a.csv u", "http --to=jsonl:a u"] {
            assert!(said(words).is_some_and(|said| said.contains("each trial would overwrite")), "{words}");
        }
        for words in ["http --to redis://h/ u", "http u --to", "http --to nonsense u", "http u"] {
            assert_eq!(said(words), None, "{words}");
        }
    }

    #[test]
    fn standard_input_is_refused_by_any_name_where_it_would_be_read() {
        let is_refused = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            no_standard_input(&words).is_err()
        };
        for words in [
            &["http", "-d", "@-", "u"][..],
            &["http", "-d@-", "u"],
            &["http", "--data=@/dev/stdin", "u"],
            &["http", "--body-stream", "/dev/stdin", "u"],
            &["http", "--body-stream=/proc/self/fd/0", "u"],
            &["gaps", "pcap:/dev/fd/0"],
            &["gaps", "pcap:-"],
        ] {
            assert!(is_refused(words), "{words:?}");
        }
        for words in [
            &["http", "-d", "@body", "u"][..],
            &["http", "-d", "a@-", "u"],
            &["http", "-d", "@@-", "u"],
            &["http", "-d", "/dev/stdin", "u"],
            &["http", "-H", "X: @-", "u"],
            &["http", "-H", "X: @/dev/stdin", "u"],
            &["http", "--junit", "-", "--to", "csv:-", "--duration", "1s", "u"],
        ] {
            assert!(!is_refused(words), "{words:?}");
        }
    }

    #[test]
    fn the_worst_status_is_that_of_the_table() {
        let worst = |of: &[u8]| of.iter().fold(0, |worst, status| worse(worst, *status));
        assert_eq!([worst(&[0, 0]), worst(&[0, 3, 0]), worst(&[3, 4, 0])], [0, 3, 4]);
        assert_eq!([worst(&[5, 4]), worst(&[0, 130, 4]), worst(&[1, 0])], [5, 130, 1]);
    }
}
