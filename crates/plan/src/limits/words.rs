//! The words of the language, and what was meant by one that is not in it.

use super::{Figure, Percentile, Requests, Statistic, Time, Way};
use crate::suggest::nearest;
use units::{Cause, CausePart, Miss};

/// Words that stand alone, without a statistic or parentheses.
const PLAIN: [(&str, Figure); 9] = [
    ("errors", Figure::Requests(Requests::Errors)),
    ("done", Figure::Requests(Requests::Done)),
    ("failed", Figure::Requests(Requests::Failed)),
    ("missed", Figure::Requests(Requests::Missed)),
    ("cut_off", Figure::Requests(Requests::CutOff)),
    ("offered", Figure::Offered),
    ("achieved", Figure::Achieved),
    ("bytes_in", Figure::Bytes(Way::In)),
    ("bytes_out", Figure::Bytes(Way::Out)),
];

/// Words of other tools, and ours for them.
const OTHERS: [(&str, &str); 12] = [
    ("rate", "achieved"),
    ("throughput", "achieved"),
    ("rps", "achieved"),
    ("error", "errors"),
    ("failures", "failed"),
    ("http_req_failed", "errors"),
    ("http_req_duration", "latency"),
    ("duration", "latency"),
    ("response_time", "latency"),
    ("ttfb", "first_byte"),
    ("status", "status(5xx)"),
    ("requests", "offered"),
];

/// What is expected where a figure should be.
pub(super) const FIGURES: &str = "a figure such as latency.p99, errors, achieved or status(5xx)";

pub(super) fn plain(word: &str) -> Option<Figure> {
    PLAIN.iter().find(|(name, _)| *name == word).map(|(_, figure)| *figure)
}

pub(super) fn time(word: &str) -> Option<Time> {
    Time::ALL.iter().copied().find(|time| time.key() == word)
}

/// `mean`, `max`, `p99.9`, and `p99_9` as `result.json` spells it.
pub(super) fn statistic(word: &str) -> Option<Statistic> {
    Some(match word {
        "mean" => Statistic::Mean,
        "stdev" => Statistic::Stdev,
        "min" => Statistic::Min,
        "max" => Statistic::Max,
        _ => Statistic::Percentile(percentile(word.strip_prefix('p')?)?),
    })
}

/// `99`, `99.9`, `99_9`: at most 100, and at most seven decimals.
fn percentile(digits: &str) -> Option<Percentile> {
    let (whole, part) = digits.split_once(['.', '_']).unwrap_or((digits, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(part) || whole.len() > 3 || part.len() > 7 {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let part: u64 = format!("{part:0<7}").parse().ok()?;
    Percentile::from_billionths(u32::try_from(whole * 10_000_000 + part).ok()?)
}

/// The statistic that was meant.
pub(super) fn statistic_meant(word: &str) -> Option<String> {
    let inner = word.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')'));
    match word {
        "avg" | "average" => Some("mean".to_owned()),
        "med" | "median" => Some("p50".to_owned()),
        "std" | "stddev" | "sd" => Some("stdev".to_owned()),
        "maximum" => Some("max".to_owned()),
        "minimum" => Some("min".to_owned()),
        _ => inner.map(|digits| format!("p{digits}")).filter(|word| statistic(word).is_some()),
    }
    .or_else(|| nearest(word, ["mean", "stdev", "min", "max", "p99"]).map(str::to_owned))
}

/// The figure that was meant by a word, which may have a statistic behind a point.
pub(super) fn figure_meant(word: &str) -> Option<String> {
    let (head, rest) = word.split_once('.').unwrap_or((word, ""));
    if rest.is_empty() && statistic(head).is_some() {
        return Some(format!("latency.{head}"));
    }
    let others = OTHERS.iter().find(|(other, _)| *other == head).map(|(_, ours)| *ours);
    let times = Time::ALL.iter().map(|time| time.key());
    let known = times.chain(PLAIN.iter().map(|(name, _)| *name)).chain(["status(5xx)"]);
    let head = others.or_else(|| nearest(head, known))?;
    if time(head).is_none() {
        return Some(head.to_owned());
    }
    let meant = if statistic(rest).is_some() { Some(rest.to_owned()) } else { statistic_meant(rest) };
    Some(format!("{head}.{}", meant.as_deref().unwrap_or("p99")))
}

/// A cause of failure, or the part of a request's life that all of them begin with.
pub(super) fn cause(key: &str) -> Option<Requests> {
    if let Some(cause) = Cause::of_key(key) {
        return Some(Requests::Error(cause));
    }
    CausePart::of_key(key.strip_suffix(".*").unwrap_or(key)).map(Requests::ErrorsIn)
}

/// Keys of all causes.
pub(super) fn causes() -> impl Iterator<Item = &'static str> {
    Cause::ALL.iter().map(|cause| cause.key())
}

/// A reason for which departures are missed, with or without `missed.`.
pub(super) fn miss(key: &str) -> Option<Requests> {
    let key = key.strip_prefix("missed.").unwrap_or(key);
    Miss::ALL.iter().copied().find(|why| reason(*why) == key).map(Requests::MissedFor)
}

/// `no_port`: the key without `missed.`.
pub(super) fn reason(why: Miss) -> &'static str {
    why.key().strip_prefix("missed.").unwrap_or(why.key())
}
