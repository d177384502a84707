//! What a comparison says, in sentences: the same in the terminal and in the browser.

use crate::words;
use compare::{
    Better, By, Compared, Comparison, Family, Finding, Held, NEGLIGIBLE, Pair, Slower, Test, WORTH_SHOWING,
};
use stats::power::{ALPHA, MOST, least_trials_for_ranks};

/// `+48.3 %`, `−0.5 %`; what is next to nothing has no sign.
pub fn change(share: f64) -> String {
    match share {
        s if s.abs() < 0.000_05 => "±0 %".to_owned(),
        s if s < 0.0 => format!("−{}", words::share(-s)),
        s => format!("+{}", words::share(s)),
    }
}

/// `+45 % … +51 %`; empty where too few trials can say.
pub fn interval(compared: &Compared) -> String {
    compared
        .change_interval
        .map_or(String::new(), |(low, high)| format!("{} … {}", change(low), change(high)))
}

/// Of A and of B, `≥ ` before what is only a lower bound.
pub fn values(figure: &Compared) -> [String; 2] {
    [(figure.a, figure.a_bounds), (figure.b, figure.b_bounds)].map(|(value, bounds)| {
        let least = if bounds > 0 { "≥ " } else { "" };
        format!("{least}{}", words::in_unit(value, figure.unit))
    })
}

/// `< 0.001`, `0.012`.
pub fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// What was found of one figure, in a word or two.
pub fn finding(compared: &Compared) -> &'static str {
    match (compared.finding, compared.is_worse()) {
        (Finding::NoConfidence, _) => "no confidence",
        (Finding::NoDifference, _) if !compared.could_show() => "too few trials",
        (Finding::NoDifference, _) => "no difference shown",
        (Finding::Negligible, _) => "negligible",
        (Finding::OnlyBounds, _) => "only a bound",
        (_, Some(true)) => "worse",
        (_, _) => "better",
    }
}

/// The whole pair in sentences: what is shown, what is not, and what more trials could show.
pub fn conclusion(pair: &Pair) -> Vec<String> {
    let figures = &pair.figures;
    if figures.iter().all(|figure| figure.finding == Finding::NoConfidence) {
        return without_confidence(pair);
    }
    let mut said = vec![shown(pair)];
    said.extend(of_bounds(pair));
    said.extend(of_left_out(pair));
    let too_few = figures.iter().find(|figure| figure.test == Test::MannWhitney && !figure.could_show());
    if let Some(figure) = too_few {
        said.push(format!(
            "Nothing can be shown about percentiles: they are compared by rank, for which {} and {} trials are \
             too few; {} on each side are enough.",
            figure.a_trials.len(),
            figure.b_trials.len(),
            least_trials_for_ranks(ALPHA / figure.adjusted_over as f64),
        ));
    }
    if let Some(needed) = needed(pair) {
        said.push(format!("To show {}: {needed}.", share_worth()));
    }
    said
}

/// What the sign before a percentile means, where there is one.
fn of_bounds(pair: &Pair) -> Option<String> {
    let is_there = pair.figures.iter().any(Compared::has_bounds);
    is_there.then(|| {
        "≥ is a lower bound: requests that timed out, were cut off or missed would have taken longer. What has \
         one is not shown to be faster."
            .to_owned()
    })
}

/// Which figures are missing from the table, and why.
fn of_left_out(pair: &Pair) -> Vec<String> {
    let capital = |text: String| text.replacen("not", "Not", 1) + ".";
    pair.left_out().into_iter().map(capital).collect()
}

/// Whether there may be a difference that is not noise, in what could not be compared.
fn leaves_open(pair: &Pair) -> bool {
    !pair.left_out.is_empty() || pair.figures.iter().any(|figure| figure.finding == Finding::OnlyBounds)
}

fn share_worth() -> String {
    format!("a difference of {}", words::share(WORTH_SHOWING))
}

/// "B is slower than A: latency.mean +48 % (+45 % … +51 %)."
fn shown(pair: &Pair) -> String {
    let of = |worse: bool| pair.figures.iter().filter(move |figure| figure.is_worse() == Some(worse));
    let list = |worse: bool| of(worse).map(change_of).collect::<Vec<_>>().join(", ");
    let is_time = |figure: &&Compared| figure.unit == "ns" || figure.unit == "/s";
    let (a, b) = (&pair.a, &pair.b);
    match (of(true).next(), of(false).next()) {
        (None, None) => {
            let negligible = pair.figures.iter().filter(|figure| figure.finding == Finding::Negligible);
            let names: Vec<&str> = negligible.map(|figure| figure.name).collect();
            match names.as_slice() {
                [] if leaves_open(pair) => {
                    format!("No difference shown between {a} and {b}.")
                }
                [] => {
                    format!(
                        "No difference shown between {a} and {b}: the noise is larger than any difference."
                    )
                }
                names => format!(
                    "No difference that matters shown between {a} and {b}: {} by less than {}.",
                    names.join(", "),
                    words::share(NEGLIGIBLE)
                ),
            }
        }
        (Some(_), None) if of(true).any(|figure| is_time(&figure)) => {
            format!("{b} is slower than {a}: {}.", list(true))
        }
        (None, Some(_)) if of(false).any(|figure| is_time(&figure)) => {
            format!("{b} is faster than {a}: {}.", list(false))
        }
        (Some(_), None) => format!("{b} is worse than {a}: {}.", list(true)),
        (None, Some(_)) => format!("{b} is better than {a}: {}.", list(false)),
        (Some(_), Some(_)) => {
            format!("{b} differs from {a}. Worse: {}. Better: {}.", list(true), list(false))
        }
    }
}

fn change_of(figure: &Compared) -> String {
    match (figure.change, interval(figure)) {
        (Some(size), text) if text.is_empty() => format!("{} {}", figure.name, change(size)),
        (Some(size), text) => format!("{} {} ({text})", figure.name, change(size)),
        (None, _) => {
            let [a, b] = values(figure);
            format!("{} from {a} to {b}", figure.name)
        }
    }
}

/// One trial on a side: a difference is seen, and nothing is known of its chance.
fn without_confidence(pair: &Pair) -> Vec<String> {
    let trials = |of: fn(&Compared) -> usize| pair.figures.iter().map(of).max().unwrap_or(0) as u64;
    let (a, b) = (trials(|figure| figure.a_trials.len()), trials(|figure| figure.b_trials.len()));
    let trials = match (a, b) {
        (1, 1) => "1 trial each".to_owned(),
        (a, b) => format!("{} of {}, {b} of {}", words::counted(a, "trial"), pair.a, pair.b),
    };
    let main = |figure: &&Compared| MAIN.contains(&figure.name);
    let seen: Vec<String> = pair.figures.iter().filter(main).map(change_of).collect();
    let seen = if seen.is_empty() { String::new() } else { format!(" Seen: {}.", seen.join(", ")) };
    let more = match needed(pair) {
        Some(needed) => format!(
            "To show {}, at least: {needed}. (Estimated from the variation within these runs; between runs it \
             is larger.)",
            share_worth()
        ),
        None => "Repeat both a few times, in turn: their spread shows how many trials are needed.".to_owned(),
    };
    let first = format!("No confidence: {trials}. How much of a difference is chance is unknown.{seen}");
    std::iter::once(first).chain(of_bounds(pair)).chain(of_left_out(pair)).chain([more]).collect()
}

/// Figures that stand for the others in a sentence.
const MAIN: [&str; 2] = ["latency.mean", "latency.p99"];

/// "6 trials a side for latency.mean, 12 for latency.p99"
fn needed(pair: &Pair) -> Option<String> {
    let main = pair.figures.iter().filter(|figure| MAIN.contains(&figure.name));
    let parts: Vec<String> = main
        .filter_map(|figure| Some((figure.name, figure.trials_for_5_percent?)))
        .enumerate()
        .map(|(at, (name, trials))| {
            let trials = match trials {
                many if many >= MOST => format!("more than {}", words::count(many)),
                trials => words::count(trials),
            };
            if at == 0 {
                format!("{trials} trials a side for {name}")
            } else {
                format!("{trials} for {name}")
            }
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// How a figure was tested, for the notes below a table.
pub fn method(comparison: &Comparison) -> Option<String> {
    let tested = |family: Family| {
        comparison
            .pairs
            .iter()
            .flat_map(|pair| &pair.figures)
            .any(|figure| figure.family == family && figure.p.is_some())
    };
    (tested(Family::Means) || tested(Family::Percentiles)).then(|| {
        format!(
            "Means are compared by Welch's t-test of the trials, percentiles by the ranks of the trials \
             (Mann–Whitney). The interval contains the true change with a confidence of {}, for this figure \
             alone; p is how often chance alone would show as much, adjusted for all figures and sides (Holm). \
             The finding depends on p, so an interval that excludes 0 may stand next to 'no difference shown'.",
            words::share(comparison.confidence)
        )
    })
}

/// What `--fail-if-slower` came to: a sentence for each figure and whether it fails, then what should be known,
/// each once.
pub fn slower(comparison: &Comparison, slower: &Slower) -> (Vec<(String, bool)>, Vec<String>) {
    let limit = words::share(slower.limit);
    let of_each = slower.figures.iter().map(|held| (held_in_words(held, &limit), held.exceeds)).collect();
    let mut said: Vec<String> = Vec::new();
    for held in slower.figures.iter().filter(|held| !held.note.is_empty()) {
        let note = format!("({})", held.note);
        if !said.contains(&note) {
            said.push(note);
        }
    }
    if slower.figures.iter().any(|held| held.by == By::Test && held.exceeds && is_open(comparison, held)) {
        said.push(
            "(The table tests every figure, for slower and faster; the limit is a test of its own figures, for slower only. \
             So it can show what the table leaves open.)"
                .to_owned(),
        );
    }
    (of_each, said)
}

/// Whether the table shows no difference of this figure.
fn is_open(comparison: &Comparison, held: &Held) -> bool {
    let pair = comparison.pairs.iter().find(|pair| pair.a == held.a && pair.b == held.b);
    let figure = pair.and_then(|pair| pair.figures.iter().find(|figure| figure.name == held.name));
    figure.is_some_and(|figure| figure.finding == Finding::NoDifference)
}

fn held_in_words(held: &Held, limit: &str) -> String {
    let Held { a, b, name, .. } = held;
    let p = held.p_adjusted.map_or(String::new(), |p| format!(" (p {})", probability_after_p(p)));
    let fewer = match *name {
        "errors" => "fewer requests without an error",
        compare::LOSS => "fewer frames that arrived",
        _ => "",
    };
    match (held.by, held.exceeds) {
        (By::Test, true) if !fewer.is_empty() => {
            format!("{b} is shown to have over {limit} {fewer} than {a}{p}")
        }
        (By::Test, false) if !fewer.is_empty() => {
            format!("{b} is not shown to have over {limit} {fewer} than {a}{p}")
        }
        (By::Figures, true) if !fewer.is_empty() => format!("{b} has over {limit} {fewer} than {a}"),
        (By::Figures, false) if !fewer.is_empty() => {
            format!("{b} does not have over {limit} {fewer} than {a}")
        }
        (By::Nothing, _) => format!("{name} of {a} and {b} cannot be compared"),
        (By::Test, true) => format!("{b} is shown to be slower than {a} by more than {limit} in {name}{p}"),
        (By::Test, false) => {
            format!("{b} is not shown to be slower than {a} by more than {limit} in {name}{p}")
        }
        (By::Figures, true) => format!("{name} of {b} is more than {limit} worse than of {a}"),
        (By::Figures, false) => format!("{name} of {b} is not more than {limit} worse than of {a}"),
    }
}

fn probability_after_p(p: f64) -> String {
    if p < 0.001 { probability(p) } else { format!("= {}", probability(p)) }
}

/// A figure's name with what is better about it.
pub fn better(compared: &Compared) -> &'static str {
    match compared.better {
        Better::Lower => "lower is better",
        Better::Higher => "higher is better",
    }
}
