//! `tare compare`: runs, or sets of trials, beside each other.

use crate::written;
use anyhow::anyhow;
use clap::{Args, ValueHint};
use compare::{Comparison, FIGURES, Figure, Side, Trial};
use measure::ExitStatus;
use report::Drawn;
use run::terminal::{print_all, style};
use run::{Failure, Scratch, Status};
use std::io::IsTerminal;
use std::path::PathBuf;
use store::timeline::MAX_BINS;
use store::{RunResult, StoredRun};
use units::Fraction;

/// Runs that have a colour of their own in a picture; of more, each side has one.
const COLORS: usize = 8;

const EXAMPLES: &str = "\
SIDE is one run (also redis://HOST/RUN), several runs separated by commas, or a tag, which stands
for all runs with that tag. Confidence intervals need several trials on each side. Alternate the
sides' trials: A, B, A, B…

Examples:
  tare compare last~1 last
  tare compare before after --html compared.html
  tare compare 7f3a,19c0,77b2 01fe,9c11,d00d --fail-if-slower 5%";

/// Compare runs or sets of trials: what differs, and with what confidence
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CompareArgs {
    /// Sides to compare; each is compared with the first
    #[arg(value_name = "SIDE", required = true, num_args = 2.., value_hint = ValueHint::AnyPath)]
    sides: Vec<String>,
    /// Exit with status 3 if a side is significantly slower than the first, by more than this share, e.g. 5%
    #[arg(long, value_name = "SHARE", help_heading = "Judge")]
    fail_if_slower: Option<Fraction>,
    /// Figures that --fail-if-slower checks [default: errors,latency.mean,latency.p99; of frames also
    /// arrived.loss]
    #[arg(long, value_name = "FIGURE,…", value_delimiter = ',', requires = "fail_if_slower", value_parser = named, help_heading = "Judge")]
    by: Vec<Named>,
    /// Compare even if plans differ or a run is INVALID; the output lists the differences
    #[arg(long, help_heading = "Judge")]
    anyway: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "csv", help_heading = "Output")]
    json: bool,
    /// Print one CSV line per figure
    #[arg(long, help_heading = "Output")]
    csv: bool,
    /// Also write an HTML page with the runs' charts overlaid
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    html: Option<PathBuf>,
    /// On that page, draw one latency curve per side, from the sum of its trials' histograms
    #[arg(long, requires = "html", help_heading = "Output")]
    merge: bool,
}

/// A figure by its name.
#[derive(Clone, Copy, Debug)]
struct Named(&'static Figure);

fn named(name: &str) -> Result<Named, String> {
    compare::figure(name).map(Named).ok_or_else(|| {
        let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        format!("no such figure; expected one of {}", names.join(", "))
    })
}

pub fn run(args: &CompareArgs) -> Result<Status, Failure> {
    let mut scratch = Scratch::default();
    let runs = args.sides.iter().map(|side| scratch.open_all(side)).collect::<Result<Vec<_>, _>>()?;
    let sides = sides(&runs);
    let doubts = compare::doubts(&sides);
    if let Some(why) = doubts.never {
        return Err(Failure::wrong(anyhow!("cannot compare these: {why}")));
    }
    if !doubts.refusals.is_empty() && !args.anyway {
        let reasons = doubts.refusals.join("\n  ");
        return Err(Failure::wrong(anyhow!(
            "these should not be compared (--anyway compares them):\n  {reasons}"
        )));
    }
    let mut comparison = compare::compare(&sides, doubts.refusals, doubts.warnings);
    if let Some(limit) = args.fail_if_slower {
        comparison.slower = Some(compare::slower(&sides, limit.as_f64(), &args.figures(&sides)));
    }
    let html = args.html.iter().map(|path| ("--html".to_owned(), path.clone())).collect();
    let sheets = written::open(html, runs.iter().flatten())?;
    let text = if args.json {
        report::comparison_json(&comparison)
    } else if args.csv {
        report::comparison_csv(&comparison)
    } else {
        report::comparison(&comparison, style(std::io::stdout().is_terminal()))
    };
    print_all(&text)?;
    for sheet in sheets {
        sheet.write(&page(&comparison, &runs, args.merge), true)?;
    }
    match comparison.slower.is_some_and(|slower| slower.failed) {
        true => Ok(Status::Run(ExitStatus::ThresholdFailed)),
        false => Ok(Status::Done),
    }
}

impl CompareArgs {
    fn figures(&self, sides: &[Side]) -> Vec<&'static Figure> {
        match self.by.is_empty() {
            true => compare::default_figures(sides),
            false => self.by.iter().map(|named| named.0).collect(),
        }
    }
}

fn sides(runs: &[Vec<StoredRun>]) -> Vec<Side> {
    // Only where trials cannot tell how much they vary does it have to be guessed from within them.
    let alone = runs.iter().any(|side| side.len() < 2);
    let trial = if alone { Trial::with_spreads } else { Trial::of };
    let side = |(at, runs): (usize, &Vec<StoredRun>)| Side {
        label: compare::side_label(at),
        trials: runs.iter().map(trial).collect(),
    };
    runs.iter().enumerate().map(side).collect()
}

fn page(comparison: &Comparison, runs: &[Vec<StoredRun>], merge: bool) -> String {
    let mut over_time = Vec::new();
    let mut by_percentile = Vec::new();
    // Net beside net, or where a run has none the latency of all.
    let is_net = runs.iter().flatten().all(|run| !run.result.curves.net_ns.is_empty());
    let curve_of = |result: &RunResult| {
        if is_net { result.curves.net_ns.clone() } else { result.curves.latency_ns.clone() }
    };
    let few = runs.iter().map(Vec::len).sum::<usize>() <= COLORS;
    for (at, side) in runs.iter().enumerate() {
        let label = compare::side_label(at);
        for run in side {
            let end = run.result.run.rsplit('-').next().unwrap_or_default();
            let curve = curve_of(&run.result);
            let color = if few { over_time.len() + 1 } else { at + 1 };
            let timeline = run.timeline(MAX_BINS);
            over_time.push(Drawn { name: format!("{label} {end}"), color, curve, is_net, timeline });
        }
        if merge {
            let curve = curve_of(&store::merge_runs(side));
            by_percentile.push(Drawn { name: label, color: at + 1, curve, is_net, ..Drawn::default() });
        }
    }
    let by_percentile = if merge { &by_percentile } else { &over_time };
    report::comparison_html(comparison, by_percentile, &over_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_is_not_there_is_answered_with_those_that_are() {
        assert!(named("latency.p99").is_ok());
        let error = named("p99").unwrap_err();
        assert!(error.contains("latency.p99") && error.contains("rate.achieved"), "{error}");
    }
}
