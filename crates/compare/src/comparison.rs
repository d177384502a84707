//! Sides beside each other: for every figure what differs, by how much, and whether that is more than chance.
//!
//! ```text
//! Side A (trials) ─┐                      ┌─ means: Welch's t ──────┐
//!                  ├─ figure by figure ──►│                         ├─► Holm ─► Finding
//! Side B (trials) ─┘                      └─ percentiles: ranks ────┘
//! ```
//!
//! Only values of whole trials are tested, never single latencies: those of one trial depend on each other, and
//! a million of them prove any difference. With one trial on a side there is nothing to test, and that is what
//! is said.
//!
//! The probabilities of each family (means, percentiles) are adjusted together: of comparisons in which nothing
//! differs, at most 5 % show a difference of a mean, and at most 5 % one of a percentile.

use crate::figure::{Better, FIGURES, Family, Figure};
use crate::slower::Slower;
use crate::trial::Trial;
use serde::Serialize;
use stats::power::{self, ALPHA};
use stats::{holm, ranks, welch};
use store::schema::Word;

/// Confidence of all intervals.
pub const CONFIDENCE: f64 = 1.0 - ALPHA;
/// A difference that is sure, but too small to matter to anyone.
pub const NEGLIGIBLE: f64 = 0.005;
/// The difference for which the number of trials is told.
pub const WORTH_SHOWING: f64 = 0.05;

/// Trials of the same thing.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// `A`, `B`…
    pub label: String,
    pub trials: Vec<Trial>,
}

/// The whole comparison, schema "tare.comparison/1".
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub schema: &'static str,
    pub sides: Vec<Runs>,
    /// Reasons not to compare that `--anyway` passed over.
    pub passed_over: Vec<String>,
    pub warnings: Vec<String>,
    pub confidence: f64,
    /// Each side against the first.
    pub pairs: Vec<Pair>,
    /// `--fail-if-slower`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slower: Option<Slower>,
}

/// Who is on a side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Runs {
    pub label: String,
    pub runs: Vec<Run>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    pub run: String,
    pub started_at: String,
    pub verdict: Word,
}

/// One side beside the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    pub a: String,
    pub b: String,
    pub figures: Vec<Compared>,
    /// Figures that some trials have and others have not, so that they are not compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// A figure that is not compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    pub name: &'static str,
    /// Trials of both sides that have none.
    pub without: Vec<String>,
}

impl Pair {
    /// Which figures are not compared, and which trials are the reason.
    pub fn left_out(&self) -> Vec<String> {
        let mut by_trials: Vec<(&[String], Vec<&str>)> = Vec::new();
        for LeftOut { name, without } in &self.left_out {
            match by_trials.iter_mut().find(|(known, _)| known == without) {
                Some((_, names)) => names.push(name),
                None => by_trials.push((without, vec![*name])),
            }
        }
        let of_each = by_trials.into_iter().map(|(without, names)| {
            let have = if without.len() == 1 { "has" } else { "have" };
            format!(
                "not compared: {}, of which {} {have} none (no response arrived, or it was not measured)",
                names.join(", "),
                without.join(", ")
            )
        });
        of_each.collect()
    }
}

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    pub name: &'static str,
    pub unit: &'static str,
    pub family: Family,
    pub better: Better,
    /// Of each trial.
    pub a_trials: Vec<f64>,
    pub b_trials: Vec<f64>,
    /// The mean of the trials, or of percentiles the middle trial's (never a mean).
    pub a: f64,
    pub b: f64,
    /// Trials whose value is only a lower bound: requests that never ended could reach it.
    #[serde(skip_serializing_if = "is_zero")]
    pub a_bounds: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub b_bounds: usize,
    /// (B − A) / A: of means, or of percentiles the median over all pairs of trials. `None` where A is 0,
    /// or one of both is only a lower bound.
    pub change: Option<f64>,
    /// Where the true change lies, with [`CONFIDENCE`]; absent where too few trials can say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_interval: Option<(f64, f64)>,
    pub test: Test,
    /// How often chance alone shows as much: of this figure alone, and adjusted for all that were tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_adjusted: Option<f64>,
    /// How many figures were adjusted together, of all sides; 0 if this was not tested.
    pub adjusted_over: usize,
    /// Hedges' g of means, Cliff's delta of percentiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<f64>,
    pub finding: Finding,
    /// Trials on each side that would show a change of 5 %, by the spread seen here; at least so many if there
    /// is but one trial on a side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials_for_5_percent: Option<u64>,
}

const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// How a figure was tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// One trial on a side.
    None,
    WelchT,
    MannWhitney,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Nothing can be said: one trial on a side.
    NoConfidence,
    NoDifference,
    /// There is one, but of less than half a percent.
    Negligible,
    /// There would be one, but what looks smaller is only a lower bound.
    OnlyBounds,
    Lower,
    Higher,
}

impl Compared {
    /// Whether B is shown better or worse than A; `None` if no difference is shown.
    pub fn is_worse(&self) -> Option<bool> {
        match (self.finding, self.better) {
            (Finding::Higher, better) => Some(better == Better::Lower),
            (Finding::Lower, better) => Some(better == Better::Higher),
            _ => None,
        }
    }

    pub const fn has_bounds(&self) -> bool {
        self.a_bounds + self.b_bounds > 0
    }

    /// Whether so few trials could show a difference at all, with all that are adjusted together.
    pub fn could_show(&self) -> bool {
        let (n, m) = (self.a_trials.len(), self.b_trials.len());
        match self.test {
            Test::None => false,
            Test::WelchT => true,
            Test::MannWhitney => ranks::least_p(n, m) * self.adjusted_over as f64 <= ALPHA,
        }
    }
}

/// Sets every side beside the first. `passed_over` and `warnings` are kept with the figures.
pub fn compare(sides: &[Side], passed_over: Vec<String>, warnings: Vec<String>) -> Comparison {
    let others = sides.len().saturating_sub(1);
    let pairs: Vec<Pair> = sides.iter().skip(1).map(|other| pair(&sides[0], other, others)).collect();
    let left_out = pairs.iter().flat_map(Pair::left_out);
    let warnings = warnings.into_iter().chain(left_out).collect();
    let mut comparison = Comparison {
        schema: "tare.comparison/1",
        sides: sides.iter().map(runs).collect(),
        passed_over,
        warnings,
        confidence: CONFIDENCE,
        pairs,
        slower: None,
    };
    for family in [Family::Means, Family::Percentiles] {
        adjust(&mut comparison.pairs, family);
    }
    comparison
}

fn runs(side: &Side) -> Runs {
    let run = |trial: &Trial| Run {
        run: trial.name.clone(),
        started_at: trial.started_at.clone(),
        verdict: trial.verdict,
    };
    Runs { label: side.label.clone(), runs: side.trials.iter().map(run).collect() }
}

fn pair(a: &Side, b: &Side, pairs: usize) -> Pair {
    let figures = FIGURES.iter().filter_map(|figure| compared(figure, a, b, pairs)).collect();
    let left_out = FIGURES.iter().filter_map(|figure| left_out(figure, a, b)).collect();
    Pair { a: a.label.clone(), b: b.label.clone(), figures, left_out }
}

/// Of a figure that no trial has there is nothing to say.
fn left_out(figure: &Figure, a: &Side, b: &Side) -> Option<LeftOut> {
    let trials = || a.trials.iter().chain(&b.trials);
    let without = trials().filter(|trial| trial.value(figure).is_none());
    let without: Vec<String> = without.map(|trial| trial.name.clone()).collect();
    (!without.is_empty() && without.len() < trials().count())
        .then_some(LeftOut { name: figure.name, without })
}

/// The figure of every trial, or `None` if one does not have it.
pub fn values(figure: &Figure, side: &Side) -> Option<Vec<f64>> {
    side.trials.iter().map(|trial| trial.value(figure)).collect()
}

/// Of every trial, whether the figure is only a lower bound.
pub fn bounds(figure: &Figure, side: &Side) -> Vec<bool> {
    side.trials.iter().map(|trial| trial.is_bound(figure)).collect()
}

fn compared(figure: &Figure, a: &Side, b: &Side, pairs: usize) -> Option<Compared> {
    let (x, y) = (values(figure, a)?, values(figure, b)?);
    if x.is_empty() || y.is_empty() {
        return None;
    }
    let mut compared = Compared {
        name: figure.name,
        unit: figure.unit,
        family: figure.family,
        better: figure.better,
        a: centre(figure.family, &x),
        b: centre(figure.family, &y),
        a_bounds: count(&bounds(figure, a)),
        b_bounds: count(&bounds(figure, b)),
        change: None,
        change_interval: None,
        test: Test::None,
        p: None,
        p_adjusted: None,
        adjusted_over: 0,
        effect: None,
        finding: Finding::NoConfidence,
        trials_for_5_percent: None,
        a_trials: x,
        b_trials: y,
    };
    compared.change = (compared.a > 0.0 && !compared.has_bounds()).then(|| compared.b / compared.a - 1.0);
    if compared.a_trials.len() > 1 && compared.b_trials.len() > 1 {
        match figure.family {
            Family::Means => test_means(&mut compared),
            Family::Percentiles => test_percentiles(&mut compared),
        }
    }
    compared.trials_for_5_percent = spread(figure, &compared, a, b).map(|spread| match figure.family {
        Family::Means => power::trials_for_means(spread, WORTH_SHOWING),
        Family::Percentiles => power::trials_for_ranks(spread, WORTH_SHOWING, percentiles() * pairs),
    });
    Some(compared)
}

/// Percentiles among the figures: of each pair so many are adjusted together.
pub fn percentiles() -> usize {
    FIGURES.iter().filter(|figure| figure.family == Family::Percentiles).count()
}

fn count(bounds: &[bool]) -> usize {
    bounds.iter().filter(|is_bound| **is_bound).count()
}

fn centre(family: Family, values: &[f64]) -> f64 {
    match family {
        Family::Means => stats::mean(values),
        Family::Percentiles => stats::median(values),
    }
}

fn test_means(compared: &mut Compared) {
    let (x, y) = (&compared.a_trials, &compared.b_trials);
    let Some(test) = welch::welch(x, y, 1.0) else { return };
    compared.test = Test::WelchT;
    compared.p = Some(test.p());
    compared.effect = welch::hedges_g(x, y);
    if compared.has_bounds() {
        return;
    }
    let (low, high) = test.interval(CONFIDENCE);
    // No figure is negative: none can lose more than all of it.
    compared.change_interval =
        (compared.a > 0.0).then(|| ((low / compared.a).max(-1.0), (high / compared.a).max(-1.0)));
}

fn test_percentiles(compared: &mut Compared) {
    let (x, y) = (&compared.a_trials, &compared.b_trials);
    let Some(test) = ranks::mann_whitney(x, y, 1.0) else { return };
    compared.test = Test::MannWhitney;
    compared.p = Some(test.p);
    compared.effect = ranks::cliffs_delta(x, y);
    if compared.has_bounds() {
        return;
    }
    if let Some((ratio, interval)) = ranks::ratio(x, y, CONFIDENCE) {
        compared.change = Some(ratio - 1.0);
        compared.change_interval = interval.map(|(low, high)| (low - 1.0, high - 1.0));
    }
}

/// Standard deviation of a trial's value, relative to its size: the root of both sides' mean square. From the
/// trials if there are several on each side, otherwise from within them.
fn spread(figure: &Figure, compared: &Compared, a: &Side, b: &Side) -> Option<f64> {
    let squares: Vec<f64> = if compared.test == Test::None {
        let trials = a.trials.iter().chain(&b.trials);
        trials.filter_map(|trial| trial.spread(figure)).map(|spread| spread * spread).collect()
    } else {
        [&compared.a_trials, &compared.b_trials]
            .iter()
            .map(|values| stats::variance(values) / stats::mean(values).powi(2))
            .collect()
    };
    Some(stats::mean(&squares).sqrt()).filter(|spread| spread.is_finite())
}

/// Holm's adjustment over all figures of a family in all pairs, and what then is shown.
fn adjust(pairs: &mut [Pair], family: Family) {
    let mut tested: Vec<&mut Compared> = pairs
        .iter_mut()
        .flat_map(|pair| &mut pair.figures)
        .filter(|compared| compared.family == family && compared.p.is_some())
        .collect();
    let p: Vec<f64> = tested.iter().filter_map(|compared| compared.p).collect();
    let together = p.len();
    for (compared, p) in tested.iter_mut().zip(holm::adjusted(&p)) {
        compared.p_adjusted = Some(p);
        compared.adjusted_over = together;
        compared.finding = finding(compared, p);
    }
}

fn finding(compared: &Compared, p: f64) -> Finding {
    // Where A is 0 there is no relative change; the difference itself has the same sign.
    let change = compared.change.unwrap_or(compared.b - compared.a);
    let found = match change {
        _ if p > ALPHA => Finding::NoDifference,
        _ if compared.change.is_some_and(|change| change.abs() < NEGLIGIBLE) => Finding::Negligible,
        change if change > 0.0 => Finding::Higher,
        _ => Finding::Lower,
    };
    // Whoever seems to be below may be anywhere above.
    match found {
        Finding::Higher if compared.a_bounds > 0 => Finding::OnlyBounds,
        Finding::Lower if compared.b_bounds > 0 => Finding::OnlyBounds,
        found => found,
    }
}
