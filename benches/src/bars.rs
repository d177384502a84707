//! The bars: what must be shown, in one table, and how it is judged.
//!
//! A ratio is `tare / peer` within one round, and the median over rounds decides; its range is shown beside it.
//! Rounds in which other programs disturbed either side are left out, unless there is no other; then the line
//! says so.

use serde::Serialize;

use crate::runs::{Run, Runs};
use crate::stats::{Spread, ratios};

/// Whom tare is held against.
#[derive(Clone, Copy, Debug)]
pub enum Against {
    /// This row of the same case.
    Row(&'static str),
    /// The lowest figure among the peers that kept the asked rate within 10 %.
    LowestPeer,
    /// Nobody: the figure itself is bounded.
    Nobody,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sense {
    AtLeast,
    AtMost,
}

/// One bar.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    pub case: &'static str,
    pub figure: &'static str,
    pub sense: Sense,
    pub limit: f64,
    pub against: Against,
    pub says: &'static str,
}

const fn at_least(
    case: &'static str,
    figure: &'static str,
    limit: f64,
    row: &'static str,
    says: &'static str,
) -> Bar {
    Bar { case, figure, sense: Sense::AtLeast, limit, against: Against::Row(row), says }
}

const fn at_most(
    case: &'static str,
    figure: &'static str,
    limit: f64,
    against: Against,
    says: &'static str,
) -> Bar {
    Bar { case, figure, sense: Sense::AtMost, limit, against, says }
}

/// A peer whose rate is off by more than this does not keep the rate and is no measure of evenness.
const RATE_KEPT: f64 = 0.10;

use Against::{LowestPeer, Nobody, Row};

pub const BARS: &[Bar] = &[
    at_least("keep-alive", "per_s", 1.0, "wrk", "requests/s ≥ 1.0 × wrk's"),
    at_most("keep-alive", "cpu_s", 1.0, Row("wrk"), "CPU per request ≤ 1.0 × wrk's"),
    at_least("new-connection", "per_s", 1.0, "wrk", "requests/s ≥ 1.0 × wrk's"),
    at_most("new-connection", "cpu_s", 1.0, Row("wrk"), "CPU per request ≤ 1.0 × wrk's"),
    at_least("tls-keep-alive", "per_s", 1.0, "wrk", "requests/s ≥ 1.0 × wrk's"),
    at_least("tls-keep-alive", "per_s", 1.0, "h2load", "requests/s ≥ 1.0 × h2load's"),
    at_least("tls-new-connection", "per_s", 1.0, "wrk", "handshakes/s ≥ 1.0 × wrk's"),
    at_least("tls-new-connection", "per_s", 1.0, "h2load", "handshakes/s ≥ 1.0 × h2load's"),
    at_most("tls-new-connection", "cpu_s", 1.0, Row("oha"), "CPU per handshake ≤ 1.0 × oha's"),
    at_most("even-2000", "gap_error_p50_us", 0.05, LowestPeer, "|gap − 1/rate| p50 ≤ 0.05 × the best peer's"),
    at_most(
        "even-2000",
        "deviation_p99_us",
        0.1,
        LowestPeer,
        "deviation from an even line p99 ≤ 0.1 × the best peer's",
    ),
    at_most("even-2000", "rate_error", 1e-4, Nobody, "achieved within 0.01 % of the asked rate"),
    at_most(
        "even-20000",
        "gap_error_p50_us",
        0.25,
        LowestPeer,
        "|gap − 1/rate| p50 ≤ 0.25 × the best peer's",
    ),
    at_most(
        "even-20000",
        "deviation_p99_us",
        0.1,
        LowestPeer,
        "deviation from an even line p99 ≤ 0.1 × the best peer's",
    ),
    at_most("even-20000", "rate_error", 1e-4, Nobody, "achieved within 0.01 % of the asked rate"),
    at_most("memory", "growth_mb", 1.0, Nobody, "a run ten times as long takes < 1 MB more"),
    at_most("memory", "rss_mb", 16.0, Nobody, "resident at 64 connections < 16 MB"),
    at_most("url-file", "extra_first_s", 0.3, Nobody, "first request within 0.3 s of a 10-line file's"),
    at_most("url-file", "extra_private_mb", 8.0, Nobody, "private memory within 8 MB of a 10-line file's"),
    at_least("target", "per_cpu_s", 1.0, "nginx", "requests per CPU-second ≥ 1.0 × nginx's"),
];

/// The row that is judged.
pub const JUDGED: &str = "tare";

/// A bar with what was found.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    pub case: &'static str,
    pub says: &'static str,
    pub limit: f64,
    pub holds: bool,
    /// The ratio, or the figure itself; `None` when a round with both sides is missing.
    pub found: Option<Spread>,
    /// Others took more of the cores in every round than a figure bears (see `quiet`): no judgement of tare.
    pub disturbed: bool,
}

impl Bar {
    pub fn judge(&self, runs: &Runs) -> Judged {
        let quiet = Spread::of(&self.found(runs, Run::undisturbed));
        let found = quiet.or_else(|| Spread::of(&self.found(runs, |_| true)));
        let holds = found.is_some_and(|f| match self.sense {
            Sense::AtLeast => f.median >= self.limit,
            Sense::AtMost => f.median <= self.limit,
        });
        Judged {
            case: self.case,
            says: self.says,
            limit: self.limit,
            holds,
            found,
            disturbed: quiet.is_none() && found.is_some(),
        }
    }

    /// The figures or ratios of the rounds whose runs, all of them, are `fit`.
    fn found(&self, runs: &Runs, fit: fn(&Run) -> bool) -> Vec<f64> {
        let fit = |run: &&Run| fit(run);
        let ours =
            runs.of(self.case, JUDGED).filter(fit).filter_map(|r| Some((r.round, r.figure(self.figure)?)));
        let theirs = |round: u32| match self.against {
            Against::Nobody => Some(1.0),
            Against::Row(row) => {
                runs.of(self.case, row).filter(fit).find(|r| r.round == round)?.figure(self.figure)
            }
            Against::LowestPeer => self.lowest_peer(runs.in_case(self.case).filter(fit), round),
        };
        ratios(&ours.filter_map(|(round, figure)| Some((figure, theirs(round)?))).collect::<Vec<_>>())
    }

    fn lowest_peer<'a>(&self, runs: impl Iterator<Item = &'a Run>, round: u32) -> Option<f64> {
        let kept_rate = |run: &&Run| run.figure("rate_error").is_none_or(|e| e <= RATE_KEPT);
        let peers = runs.filter(|r| r.row != JUDGED && r.round == round).filter(kept_rate);
        peers.filter_map(|r| r.figure(self.figure)).min_by(f64::total_cmp)
    }
}

impl Judged {
    /// `holds  …: 1.02 (0.99 … 1.05)`
    pub fn line(&self) -> String {
        let word = if self.holds { "holds" } else { "FAILS" };
        let found = match self.found {
            Some(f) => format!("{} ({} … {})", figure(f.median), figure(f.min), figure(f.max)),
            None => "no figures".to_owned(),
        };
        let doubt = if self.disturbed { "; every round was disturbed by other programs" } else { "" };
        format!("{word}  {}: {found}{doubt}", self.says)
    }
}

/// Three significant digits for small numbers, three decimals for others.
fn figure(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 { format!("{value:.1e}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(rows: &[(&'static str, u32, &'static str, f64)], case: &'static str) -> Runs {
        let mut runs = Runs::default();
        for (row, round, figure, value) in rows {
            runs.push(Run::new(case, row, *round).with(figure, *value));
        }
        runs
    }

    #[test]
    fn the_median_of_paired_rounds_decides() {
        // Ratios 1.2, 0.9, 1.1: median 1.1 holds, though tare's worst round is below wrk's.
        let rows = [
            ("tare", 0, "per_s", 120.0),
            ("wrk", 0, "per_s", 100.0),
            ("tare", 1, "per_s", 45.0),
            ("wrk", 1, "per_s", 50.0),
            ("tare", 2, "per_s", 110.0),
            ("wrk", 2, "per_s", 100.0),
        ];
        let judged = BARS[0].judge(&runs(&rows, "keep-alive"));
        assert!(judged.holds);
        assert_eq!(judged.line(), "holds  requests/s ≥ 1.0 × wrk's: 1.100 (0.900 … 1.200)");
    }

    #[test]
    fn the_best_peer_must_have_kept_the_rate() {
        // The idle peer (rate off by half) has the least gap error and is no measure; 20 / 500 = 0.04 ≤ 0.05
        // holds.
        let mut runs = runs(&[("tare", 0, "gap_error_p50_us", 20.0)], "even-2000");
        let peer = |row: &str, error: f64, rate: f64| {
            Run::new("even-2000", row, 0).with("gap_error_p50_us", error).with("rate_error", rate)
        };
        runs.push(peer("idle", 1.0, 0.5));
        runs.push(peer("good", 500.0, 0.001));
        runs.push(peer("worse", 600.0, 0.0));
        let bar = BARS.iter().find(|b| b.case == "even-2000").expect("a bar");
        let judged = bar.judge(&runs);
        assert_eq!((judged.holds, judged.found.map(|f| f.median)), (true, Some(0.04)));
    }

    #[test]
    fn disturbed_rounds_count_only_when_there_is_no_other() {
        let run = |row: &str, round, per_s, others| {
            Run::new("keep-alive", row, round).with("per_s", per_s).with("other_cpu", others)
        };
        let mut runs = Runs::default();
        // Round 0: wrk had to share its core, ratio 3. Round 1: quiet, ratio 1.1.
        runs.push(run("wrk", 0, 50.0, 0.9));
        runs.push(run("tare", 0, 150.0, 0.0));
        let judged = BARS[0].judge(&runs);
        assert!(judged.disturbed && judged.line().ends_with("disturbed by other programs"));
        runs.push(run("wrk", 1, 100.0, 0.1));
        runs.push(run("tare", 1, 110.0, 0.02));
        let judged = BARS[0].judge(&runs);
        assert_eq!((judged.disturbed, judged.found.map(|f| f.median)), (false, Some(1.1)));
    }

    #[test]
    fn no_figures_is_a_failure() {
        let judged = BARS[0].judge(&Runs::default());
        assert!(!judged.holds);
        assert!(judged.line().starts_with("FAILS") && judged.line().ends_with("no figures"));
    }

    #[test]
    fn every_bar_names_a_case_and_a_column() {
        for bar in BARS {
            let case =
                crate::cases::CASES.iter().find(|c| c.name == bar.case).expect("the bar's case is there");
            assert!(case.columns.iter().any(|c| c.figure == bar.figure), "{}: {}", bar.case, bar.figure);
        }
    }
}
