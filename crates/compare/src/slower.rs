//! `--fail-if-slower 5%`: whether B is *shown* to be slower than A by more than a limit.
//!
//! For each figure the question is whether B is above A × 1.05 (a rate: below A / 1.05), tested to one side at
//! the level 0.05, Holm's adjustment over the figures that are asked for, of all sides. So a change of 6 % that
//! the trials cannot tell from 4 % does not fail, and a difference that is noise does not either. With one
//! trial on a side there is no test, and the figures themselves are held against the limit.
//!
//! What is only a lower bound of B (requests that never ended could reach it) is beyond any limit.
//!
//! Of errors it asks for the share of requests without one, as of a rate: who fails at once answers soon. Of
//! losses it asks for the share of frames that arrived.

use crate::comparison::{Side, bounds, values};
use crate::figure::{Better, Family, Figure, LOSS, figure};
use serde::Serialize;
use stats::power::{ALPHA, least_trials_for_ranks};
use stats::{holm, mean, median, ranks, welch};

/// The figures that decide unless others are named.
pub const DEFAULT: [&str; 3] = ["errors", "latency.mean", "latency.p99"];

/// These, and what was lost on the way where every side knows of frames that arrived.
pub fn default_figures(sides: &[Side]) -> Vec<&'static Figure> {
    let has_loss = |side: &Side| {
        figure(LOSS).is_some_and(|loss| side.trials.iter().any(|trial| trial.value(loss).is_some()))
    };
    let loss = sides.iter().all(has_loss).then_some(LOSS);
    DEFAULT.into_iter().chain(loss).filter_map(figure).collect()
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slower {
    /// A share: 0.05.
    pub limit: f64,
    pub failed: bool,
    pub figures: Vec<Held>,
}

/// One figure of one pair, held against the limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    pub a: String,
    pub b: String,
    pub name: &'static str,
    pub by: By,
    /// Adjusted probability that chance alone shows B so far beyond the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_adjusted: Option<f64>,
    pub exceeds: bool,
    /// What should be known; empty if nothing.
    pub note: String,
}

/// How it was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A test on the trials.
    Test,
    /// The figures themselves, as there is one trial on a side.
    Figures,
    /// The figure is missing.
    Nothing,
}

/// Every side after the first against the first.
pub fn slower(sides: &[Side], limit: f64, figures: &[&'static Figure]) -> Slower {
    let others = sides.get(1..).unwrap_or_default();
    let asked = figures.len() * others.len();
    let of_pair = |other| figures.iter().map(move |figure| hold(figure, &sides[0], other, limit, asked));
    let (mut held, few): (Vec<Held>, Vec<String>) = others.iter().flat_map(of_pair).unzip();
    let p: Vec<f64> = held.iter().filter_map(|held| held.p_adjusted).collect();
    let tested = held.iter_mut().filter(|held| held.p_adjusted.is_some());
    for (held, p) in tested.zip(holm::adjusted(&p)) {
        held.p_adjusted = Some(p);
        held.exceeds = p <= ALPHA;
    }
    for (held, few) in held.iter_mut().zip(few).filter(|(held, few)| !held.exceeds && !few.is_empty()) {
        held.note = if held.note.is_empty() { few } else { format!("{}; {few}", held.note) };
    }
    Slower { limit, failed: held.iter().any(|held| held.exceeds), figures: held }
}

/// The probability in it is not adjusted yet; and what to say of too few trials unless B is shown to be slower.
fn hold(figure: &Figure, a: &Side, b: &Side, limit: f64, asked: usize) -> (Held, String) {
    let base = Held {
        a: a.label.clone(),
        b: b.label.clone(),
        name: figure.name,
        by: By::Nothing,
        p_adjusted: None,
        exceeds: true,
        note: String::new(),
    };
    let (Some(mut x), Some(mut y)) = (values(figure, a), values(figure, b)) else {
        let without = if values(figure, a).is_none() { &a.label } else { &b.label };
        let note = format!("{without} has none: no response arrived, or it was not measured");
        return (Held { note, ..base }, String::new());
    };
    let mut notes = Vec::new();
    for (side, fate) in [(a, "may be larger, and the limit with it"), (b, "counts as beyond the limit")] {
        let bounds = bounds(figure, side).iter().filter(|is_bound| **is_bound).count();
        if bounds > 0 {
            notes.push(format!(
                "{} of {} is only a lower bound in {bounds} of {} trials, and {fate}",
                figure.name,
                side.label,
                side.trials.len()
            ));
        }
    }
    let bound = bounds(figure, b);
    if figure.family == Family::Means && bound.contains(&true) {
        return (Held { by: By::Figures, note: notes.join("; "), ..base }, String::new());
    }
    y.iter_mut().zip(bound).filter(|(_, is_bound)| *is_bound).for_each(|(value, _)| *value = f64::INFINITY);
    let better = match figure.name {
        "errors" | LOSS => {
            x.iter_mut().chain(&mut y).for_each(|share| *share = 1.0 - *share);
            Better::Higher
        }
        _ => figure.better,
    };
    // A rate that is lower is slower.
    let k = if better == Better::Lower { 1.0 + limit } else { 1.0 / (1.0 + limit) };
    if x.len() < 2 || y.len() < 2 {
        let exceeds = match better {
            Better::Lower => centre(figure, &y) > k * centre(figure, &x),
            Better::Higher => centre(figure, &y) < k * centre(figure, &x),
        };
        notes.push(
            "one trial on a side: the figures are compared directly, without any confidence".to_owned(),
        );
        return (Held { by: By::Figures, exceeds, note: notes.join("; "), ..base }, String::new());
    }
    let (above, below) = match figure.family {
        Family::Means => welch::welch(&x, &y, k).map(|test| (test.p_above(), test.p_below())),
        Family::Percentiles => ranks::mann_whitney(&x, &y, k).map(|test| (test.p_above, test.p_below)),
    }
    .unwrap_or((1.0, 1.0));
    let p = if better == Better::Lower { above } else { below };
    // One side only: half of the least two-sided probability.
    let least = ranks::least_p(x.len(), y.len()) / 2.0 * asked as f64;
    let few = match figure.family {
        Family::Percentiles if least > ALPHA => format!(
            "{} and {} trials are too few for a test by ranks: {} on each side are enough",
            x.len(),
            y.len(),
            least_trials_for_ranks(2.0 * ALPHA / asked as f64)
        ),
        _ => String::new(),
    };
    (Held { by: By::Test, p_adjusted: Some(p), exceeds: false, note: notes.join("; "), ..base }, few)
}

fn centre(figure: &Figure, values: &[f64]) -> f64 {
    match figure.family {
        Family::Means => mean(values),
        Family::Percentiles => median(values),
    }
}
