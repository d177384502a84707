//! The report's charts, made of bins and of the distributions' curves.

use crate::bins::{Bin, Kind, Range};
use crate::chart::{Chart, Line, Point, Scale, Tip, time_ticks};
use crate::words;
use store::RunResult;

/// Offered and achieved rate over time.
pub fn rates(bins: &[Bin], result: &RunResult) -> Chart {
    let of = |value: fn(&Bin) -> f64| -> Vec<_> {
        bins.iter().map(|bin| Some(Point::one(bin.middle_s(), value(bin)))).collect()
    };
    let answered = bins.iter().map(|bin| {
        let Range { low, high } = bin.done_range_per_s();
        Some(Point { x: bin.middle_s(), low, high })
    });
    let highest =
        bins.iter().map(|bin| bin.offered_per_s().max(bin.done_range_per_s().high).max(bin.bad_per_s()));
    let mut lines = vec![
        Line { name: "offered", class: "grey", points: of(Bin::offered_per_s) },
        Line { name: "answered", class: "c1", points: answered.collect() },
    ];
    if bins.iter().any(|bin| bin.bad_per_s() > 0.0) {
        lines.push(Line { name: "failed or missed", class: "c4", points: of(Bin::bad_per_s) });
    }
    let tip = |bin: &Bin| {
        format!(
            "{} offered, {} answered, {} failed or missed",
            words::rate(bin.offered_per_s()),
            words::rate(bin.done_per_s()),
            words::rate(bin.bad_per_s())
        )
    };
    over_time(
        bins,
        result,
        "Requests per second",
        "What was asked for, and what came back. Where the lines part, someone could not keep up.",
        Scale::linear(highest.fold(0.0, f64::max)),
        words::number,
        lines,
        tip,
    )
}

/// Percentiles of the latency over time.
pub fn latency(bins: &[Bin], result: &RunResult) -> Chart {
    let kinds = [
        ("p50", "c1", Kind::P50),
        ("p90", "c2", Kind::P90),
        ("p99", "c3", Kind::P99),
        ("max", "c4", Kind::Max),
    ];
    ranges_over_time(
        bins,
        result,
        "Latency over time",
        "From the moment a request was due until its answer was complete, on a logarithmic scale.",
        &kinds,
    )
}

/// The generator's lateness over time.
pub fn lateness(bins: &[Bin], result: &RunResult) -> Chart {
    let kinds = [
        ("p50", "c1", Kind::LatenessP50),
        ("p99", "c3", Kind::LatenessP99),
        ("max", "c4", Kind::LatenessMax),
    ];
    ranges_over_time(
        bins,
        result,
        "Lateness over time",
        "From the moment a request was due until it left. It is part of the latency above.",
        &kinds,
    )
}

fn ranges_over_time(
    bins: &[Bin],
    result: &RunResult,
    title: &'static str,
    caption: &'static str,
    kinds: &[(&'static str, &'static str, Kind)],
) -> Chart {
    let all = bins.iter().flat_map(|bin| kinds.iter().filter_map(|(_, _, kind)| bin.range(*kind)));
    let scale = Scale::log(all.flat_map(|range| [range.low, range.high]));
    let line = |(name, class, kind): &(&'static str, &'static str, Kind)| Line {
        name,
        class,
        points: range_points(bins, *kind),
    };
    let tip = |bin: &Bin| {
        let of = |(name, _, kind): &(&str, &str, Kind)| {
            bin.range(*kind).map(|range| format!("{name} {}", words::time_f64(range.high)))
        };
        let said: Vec<String> = kinds.iter().filter_map(of).collect();
        if said.is_empty() { "nothing".to_owned() } else { said.join(", ") }
    };
    let lines = kinds.iter().map(line).filter(|line| line.points.iter().any(Option::is_some)).collect();
    over_time(bins, result, title, caption, scale, words::round_time, lines, tip)
}

/// One point for each bin: a band from the lowest to the highest where it holds several values.
fn range_points(bins: &[Bin], kind: Kind) -> Vec<Option<Point>> {
    let point = |bin: &Bin| {
        bin.range(kind).map(|range| Point { x: bin.middle_s(), low: range.low, high: range.high })
    };
    bins.iter().map(point).collect()
}

#[expect(clippy::too_many_arguments, reason = "the parts of one chart, each used once")]
fn over_time(
    bins: &[Bin],
    result: &RunResult,
    title: &'static str,
    caption: &'static str,
    y: Scale,
    y_text: fn(f64) -> String,
    lines: Vec<Line>,
    tip: impl Fn(&Bin) -> String,
) -> Chart {
    let from = bins.first().map_or(0.0, |bin| bin.from_s);
    let to = bins.last().map_or(0.0, |bin| bin.to_s);
    let warmup = result.warmup.duration_s.min(to);
    let tips = bins.iter().map(|bin| Tip {
        from: bin.from_s,
        to: bin.to_s,
        text: format!("{} – {}: {}", words::seconds(bin.from_s), words::seconds(bin.to_s), tip(bin)),
    });
    Chart {
        title,
        caption,
        x: (from, to),
        x_ticks: time_ticks(from, to),
        y,
        y_text,
        lines,
        shade: (warmup > from).then_some((from, warmup, "warm-up")),
        tips: tips.collect(),
    }
}

/// Latency and service time by percentile: each further nine takes as much room as the last.
pub fn by_percentile(result: &RunResult) -> Chart {
    let curves = [
        ("latency", "c3", &result.curves.latency_ns.0),
        ("service time", "c1", &result.curves.service_ns.0),
        ("lateness", "grey", &result.curves.lateness_ns.0),
    ];
    let nines = |share: f64| -(1.0 - share).log10();
    let below_all = |curve: &[(f64, u64)]| {
        curve.iter().rev().find(|(share, _)| *share < 1.0).map_or(0.0, |(share, _)| nines(*share))
    };
    let most = curves.iter().map(|(_, _, curve)| below_all(curve)).fold(1.0, f64::max);
    let end = most + 0.15;
    let place = |share: f64| if share < 1.0 { nines(share).min(end) } else { end };
    let line = |(name, class, curve): &(&'static str, &'static str, &Vec<(f64, u64)>)| Line {
        name,
        class,
        points: curve.iter().map(|(share, nanos)| Some(Point::one(place(*share), *nanos as f64))).collect(),
    };
    let values = || curves.iter().flat_map(|(_, _, curve)| curve.iter().map(|(_, nanos)| *nanos as f64));
    let labels =
        [(0.0, "0 %"), (0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")];
    let more = [(0.99999, "99.999 %"), (0.999_999, "99.9999 %"), (0.999_999_9, "99.99999 %")];
    let ticks = labels.into_iter().chain(more).map(|(share, text)| (nines(share).max(0.0), text.to_owned()));
    let latency = &result.curves.latency_ns.0;
    let tips = latency.windows(2).map(|pair| Tip {
        from: place(pair[0].0),
        to: place(pair[1].0),
        text: format!("{} of the answers took at most {}", words::share(pair[1].0), words::time(pair[1].1)),
    });
    Chart {
        title: "Latency by percentile",
        caption: "The share of answers that came within a time. Latency counts from when a request was due, service \
                  time from when it left: what lies between is waiting before it left.",
        x: (0.0, end),
        x_ticks: ticks.filter(|(at, _)| *at <= end).collect(),
        y: Scale::log(values()),
        y_text: words::round_time,
        lines: curves.iter().filter(|(_, _, curve)| !curve.is_empty()).map(line).collect(),
        shade: None,
        tips: tips.collect(),
    }
}
