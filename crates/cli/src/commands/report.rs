//! `tare report RUN`: any stored run, drawn again.

use crate::written;
use anyhow::anyhow;
use clap::{Args, ValueHint};
use measure::ExitStatus;
use report::Documents;
use run::terminal::{print_all, style};
use run::{Failure, Scratch, Status, complain, limits};
use std::io::IsTerminal;
use std::path::PathBuf;
use store::schema::Word;
use store::timeline::MAX_BINS;
use store::{RunResult, StoredRun, Timeline};

/// The flag of the report's own file.
const OUT: &str = "--output";

/// Report on a stored run: as text, HTML, JSON or CSV
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Name of the run, or a unique beginning or end of it; last, last~1, a tag, a path, or redis://HOST/RUN
    #[arg(value_name = "RUN", required = true, value_hint = ValueHint::AnyPath)]
    runs: Vec<String>,
    /// Merge several runs into one; histograms are added, percentiles are not averaged
    #[arg(long)]
    merge: bool,
    #[command(flatten)]
    form: Form,
    /// Write the report to this file; `-` is standard output
    #[arg(short = 'o', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Also write thresholds and verdict as JUnit XML
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    junit: Option<PathBuf>,
    /// Also write a summary as Markdown
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    markdown: Option<PathBuf>,
    /// Judge the run by this condition (repeatable). Exit with status 3 if it is true, 4 if the run is
    /// INVALID, 5 if its target was unreachable
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<String>,
    /// Let --fail-if decide the exit status even if the verdict is INVALID
    #[arg(long, requires = "fail_if")]
    accept_invalid: bool,
}

#[derive(Args, Debug)]
#[group(multiple = false)]
struct Form {
    /// Print summary and charts as text (the default)
    #[arg(long)]
    text: bool,
    /// Write one HTML file for a browser; to NAME.html if standard output is a terminal
    #[arg(long)]
    html: bool,
    /// Print the result, as in result.json
    #[arg(long)]
    json: bool,
    /// Print one line per interval
    #[arg(long)]
    csv: bool,
}

/// What is drawn.
struct Subject {
    result: RunResult,
    timeline: Timeline,
    /// One, or those that were added up; never none.
    runs: Vec<StoredRun>,
    /// Where runs from Redis lie.
    _scratch: Scratch,
}

pub fn run(args: &ReportArgs) -> Result<Status, Failure> {
    let mut subject = subject(args)?;
    let all_hold = limits::hold_against(&mut subject.result, &subject.runs, &args.fail_if)?;
    let out = output(args, &subject.result);
    let is_printed = out.is_none();
    let files = [("--junit", args.junit.clone()), ("--markdown", args.markdown.clone()), (OUT, out)];
    let files = files.into_iter().filter_map(|(flag, path)| Some((flag.to_owned(), path?))).collect();
    let sheets = written::open(files, &subject.runs)?;
    let text = draw(&subject, &args.form, args.output.is_none());
    for sheet in sheets {
        if sheet.is_of("--junit") {
            sheet.write(&report::junit(&subject.result), false)?;
        } else if sheet.is_of("--markdown") {
            sheet.write(&report::markdown(&subject.result), false)?;
        } else {
            sheet.write(&text, true)?;
        }
    }
    if is_printed {
        print_all(&text)?;
    }
    Ok(match args.fail_if.is_empty() {
        true => Status::Done,
        false => judged(&subject.result, all_hold, args.accept_invalid),
    })
}

/// The status of a run that is judged afterwards: in the order of a run's own.
fn judged(result: &RunResult, all_hold: bool, accept_invalid: bool) -> Status {
    match result.verdict.word {
        _ if report::unreachable(result).is_some() => Status::Run(ExitStatus::Unreachable),
        Word::Invalid if !accept_invalid => Status::Run(ExitStatus::Invalid),
        _ if !all_hold => Status::Run(ExitStatus::ThresholdFailed),
        _ => Status::Done,
    }
}

/// Where the drawing goes; `None` is standard output.
fn output(args: &ReportArgs, result: &RunResult) -> Option<PathBuf> {
    match &args.output {
        Some(path) => (!os::output::is_stdout(path)).then(|| path.clone()),
        None if args.form.html && std::io::stdout().is_terminal() => {
            let name = if result.run.is_empty() { "report" } else { &result.run };
            Some(PathBuf::from(format!("{name}.html")))
        }
        None => None,
    }
}

fn subject(args: &ReportArgs) -> Result<Subject, Failure> {
    let mut scratch = Scratch::default();
    let runs = args.runs.iter().map(|run| scratch.open(run)).collect::<Result<Vec<_>, _>>()?;
    let (result, timeline) = match runs.as_slice() {
        [run] => {
            let (timeline, trouble) = run.timeline_and_trouble(MAX_BINS);
            let mut result = run.result.clone();
            result.notes.extend(trouble);
            (result, timeline)
        }
        several if args.merge => {
            let doubts =
                store::may_merge(several).map_err(|why| Failure::wrong(anyhow!("--merge: {why}")))?;
            doubts.iter().for_each(|doubt| complain(&format!("tare: --merge: {doubt}")));
            (store::merge_runs(several), store::merged_timeline(several, MAX_BINS))
        }
        several => {
            return Err(Failure::wrong(anyhow!(
                "{} runs were named; --merge merges them into one report, and tare compare compares them",
                several.len()
            )));
        }
    };
    Ok(Subject { result, timeline, runs, _scratch: scratch })
}

fn draw(subject: &Subject, form: &Form, to_stdout: bool) -> String {
    let result = &subject.result;
    if form.html {
        let first = &subject.runs[0];
        let documents = Documents { plan: &first.plan, environment: &first.environment };
        report::html(result, &subject.timeline, documents)
    } else if form.json {
        report::json(result)
    } else if form.csv {
        csv(subject)
    } else {
        let style = style(to_stdout && std::io::stdout().is_terminal());
        let environment = &subject.runs[0].environment;
        report::text_report(result, &subject.timeline, environment, style)
    }
}

/// Every interval as it was, from the folder if it has them; of runs that were added up, as they follow each
/// other.
fn csv(subject: &Subject) -> String {
    let mut text = store::csv::header();
    match subject.runs.as_slice() {
        [run] => run.intervals().for_each(|row| text.push_str(&store::csv::record(&row))),
        _ => subject.result.intervals.iter().for_each(|row| text.push_str(&store::csv::record(row))),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::schema::Label;

    #[test]
    fn the_first_that_applies_decides_the_status() {
        let of = |word, label: Option<Label>, all_hold, accept| {
            let mut result = RunResult::default();
            result.verdict.word = word;
            result.labels.extend(label);
            judged(&result, all_hold, accept)
        };
        assert_eq!(of(Word::Valid, None, true, false), Status::Done);
        assert_eq!(of(Word::Degraded, None, false, false), Status::Run(ExitStatus::ThresholdFailed));
        for all_hold in [true, false] {
            assert_eq!(of(Word::Invalid, None, all_hold, false), Status::Run(ExitStatus::Invalid));
            let unreachable = of(Word::Invalid, Some(Label::Unreachable), all_hold, true);
            assert_eq!(unreachable, Status::Run(ExitStatus::Unreachable));
        }
        assert_eq!(of(Word::Invalid, None, false, true), Status::Run(ExitStatus::ThresholdFailed));
        assert_eq!(of(Word::Invalid, None, true, true), Status::Done);
    }
}
