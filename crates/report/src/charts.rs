//! The report's charts, made of a timeline and of the distributions' curves.

mod generator;

pub use generator::generator;

use crate::chart::{
    Axis, Band, Body, Chart, HeatColumn, Mark, Point, Scale, Series, Shade, Tone, Unit, nines_of,
};
use crate::frames::noun;
use std::collections::BTreeMap;
use store::schema::{Interval, OutcomeCount};
use store::{Bin, Curve, Distribution, RunResult, Timeline};

/// Outcomes over time are shown one by one up to so many; the rest is one series.
const MOST_OUTCOMES: usize = 7;

/// Name and colour of a time, and where an interval has it, in nanoseconds.
type Kind = (&'static str, Tone, fn(&Interval) -> Option<u64>);

/// Offered and achieved rate over time.
pub fn rates(timeline: &Timeline, result: &RunResult) -> Chart {
    let per_second = |count: fn(&Interval) -> u64| {
        let of = move |row: &Interval| (row.length_s > 0.0).then(|| count(row) as f64 / row.length_s);
        let mut points = points(timeline, of);
        points.extend(quiet_end(timeline, result));
        points
    };
    let mut series = vec![
        Series::new("offered", Tone::Quiet, per_second(|row| row.offered)),
        // Answers of the warm-up are answers too; the warm-up's stretch is marked as such.
        Series::new("achieved", Tone::Color(1), per_second(|row| row.done + row.warmup)),
    ];
    let bad = Series::new("failed or missed", Tone::Color(4), per_second(|row| row.failed + row.missed));
    if bad.values().any(|value| value > 0.0) {
        series.push(bad);
    }
    over_time(
        timeline,
        result,
        Chart {
            id: "rate".into(),
            title: format!("Offered and achieved rate ({}s per second)", noun(result)),
            caption: format!(
                "What was requested, and what {}. Where the lines diverge, generator or target was too slow.{}",
                if result.packets.is_some() { "was done" } else { "came back" },
                if is_sparse(timeline) { SPARSE } else { "" }
            ),
            y: Scale::linear(highest(&series)),
            unit: Unit::PerSecond,
            body: Body::Lines(series),
            ..blank()
        },
    )
}

/// Said of a rate so low that its line has a peak for each request.
const SPARSE: &str =
    " Fewer than two requests were due in a step: each peak is a request, with none between them.";

/// Fewer than two departures in the usual step.
fn is_sparse(timeline: &Timeline) -> bool {
    let offered: u64 = timeline.bins.iter().map(|bin| bin.row.offered).sum();
    offered > 0 && offered < 2 * timeline.bins.len() as u64
}

/// Nothing was due from the last interval until the end of the run: a run at a low rate has no intervals there.
fn quiet_end(timeline: &Timeline, result: &RunResult) -> Option<Point> {
    let last = timeline.bins.last()?;
    let (from, to) = (end_of(last), end(timeline, result));
    (to - from > last.row.length_s / 2.0).then_some(Point { from, to, y: Some(0.0) })
}

/// The generator's lateness over time.
pub fn lateness(timeline: &Timeline, result: &RunResult) -> Chart {
    let kinds: [Kind; 4] = [
        ("p50", Tone::Color(1), |row| row.lateness_p50_ns),
        ("p99", Tone::Color(3), |row| row.lateness_p99_ns),
        ("max", Tone::Color(4), |row| row.lateness_max_ns),
        ("own p99", Tone::Quiet, |row| row.own_lateness_p99_ns),
    ];
    // Without a limit on connections all lateness is the generator's own.
    let own_differs =
        |bin: &Bin| bin.row.own_lateness_p99_ns.is_some_and(|own| Some(own) != bin.row.lateness_p99_ns);
    let has_own = timeline.bins.iter().any(|bin| own_differs(bin));
    let caption = match noun(result) {
        "frame" => "From the moment a frame was due until it left.",
        _ => "From the moment a request was due until it left. It is part of the latency below.",
    };
    let of_own = " 'own' is the generator's part, which the plan's limit on connections does not explain.";
    times_over_time(
        timeline,
        result,
        "lateness",
        "Lateness over time",
        &format!("{caption}{}", if has_own { of_own } else { "" }),
        if has_own { &kinds } else { &kinds[..3] },
    )
}

/// Percentiles of the latency over time: net, gross, and the tare between them. Of a run in which no tare was
/// recorded the latency alone.
pub fn latency(timeline: &Timeline, result: &RunResult) -> Chart {
    if timeline.bins.iter().any(|bin| bin.row.net_p50_ns.is_some()) {
        return net_and_gross(timeline, result);
    }
    let kinds: [Kind; 5] = [
        ("p50", Tone::Color(1), |row| row.latency_p50_ns),
        ("p90", Tone::Color(2), |row| row.latency_p90_ns),
        ("p99", Tone::Color(3), |row| row.latency_p99_ns),
        ("p99.9", Tone::Color(5), |row| row.latency_p99_9_ns),
        ("max", Tone::Color(4), |row| row.latency_max_ns),
    ];
    times_over_time(
        timeline,
        result,
        "latency",
        "Latency over time",
        "From the moment a request was due until its response was complete, on a logarithmic scale.",
        &kinds,
    )
}

fn net_and_gross(timeline: &Timeline, result: &RunResult) -> Chart {
    let kinds: [Kind; 7] = [
        ("net p50", Tone::Color(1), |row| row.net_p50_ns),
        ("net p90", Tone::Color(2), |row| row.net_p90_ns),
        ("net p99", Tone::Color(3), |row| row.net_p99_ns),
        ("net p99.9", Tone::Color(7), |row| row.net_p99_9_ns),
        ("net max", Tone::Color(4), |row| row.net_max_ns),
        ("gross p50", Tone::Color(6), |row| row.latency_p50_ns),
        ("gross p99", Tone::Color(5), |row| row.latency_p99_ns),
    ];
    let title = "Latency over time: net, gross and the tare between them";
    let caption = "Gross is from the moment a request was due until its response was read; net is that without \
                   tare, the generator's own part. The band is what the tare adds to p99. Logarithmic.";
    let mut chart = times_over_time(timeline, result, "latency", title, caption, &kinds);
    let place = |name: &str| chart.series().iter().position(|series| series.name == name);
    if let (Some(upper), Some(lower)) = (place("gross p99"), place("net p99")) {
        chart.band = Some(Band { upper, lower, what: "tare at p99".into() });
    }
    chart
}

/// How many latencies fell where, over time.
pub fn heat(timeline: &Timeline, result: &RunResult) -> Chart {
    let column = |bin: &Bin| HeatColumn {
        from: bin.row.t_s,
        to: bin.row.t_s + bin.row.length_s,
        cells: bin.heat.clone(),
    };
    let columns: Vec<HeatColumn> = timeline.bins.iter().map(|bin| column(bin)).collect();
    let cells = || columns.iter().flat_map(|column| &column.cells);
    over_time(
        timeline,
        result,
        Chart {
            id: "heat".into(),
            title: "All latencies".into(),
            caption: "The number of requests by latency, in each step of time. Two bands are two kinds of \
                      responses, which percentiles would hide."
                .into(),
            y: Scale::log(cells().flat_map(|cell| [cell.from_ns as f64, cell.to_ns as f64 / 1.05])),
            unit: Unit::Time,
            body: Body::Heat(columns),
            ..blank()
        },
    )
}

/// Latency, service time and lateness by percentile: each further nine takes as much room as the last.
pub fn by_percentile(result: &RunResult) -> Chart {
    let curves = &result.curves;
    if curves.net_ns.is_empty() {
        return percentiles(
            "percentiles",
            "Latency by percentile",
            "The share of responses that took no longer than a time. Latency counts from when a request \
             was due, service time from when it left; between the lines lies its wait before it left.",
            &[
                ("latency", Tone::Color(3), &curves.latency_ns),
                ("service time", Tone::Color(1), &curves.service_ns),
                ("lateness", Tone::Quiet, &curves.lateness_ns),
            ],
        );
    }
    let (net, net_least) = parted(&curves.net_ns, &result.net_ns);
    let (gross, gross_least) = parted(&curves.latency_ns, &result.latency_ns);
    let has_bounds = !net_least.is_empty() || !gross_least.is_empty();
    let bounds = if has_bounds {
        " Requests that timed out, were cut off or missed count with the elapsed time: where that decides, a \
         line is \"at least\"."
    } else {
        ""
    };
    let caption = format!(
        "The share of requests that took no longer than a time. Gross counts from when a request was due, net without \
         the generator's own part (between the two: the tare), service time from when it left.{bounds}"
    );
    let mut chart = percentiles(
        "percentiles",
        "Latency by percentile: net, gross and the tare between them",
        &caption,
        &[
            ("net", Tone::Color(3), &net),
            ("gross", Tone::Color(5), &gross),
            ("net, at least", Tone::Color(4), &net_least),
            ("gross, at least", Tone::Color(2), &gross_least),
            ("service time", Tone::Color(1), &curves.service_ns),
            ("lateness", Tone::Quiet, &curves.lateness_ns),
        ],
    );
    let place = |name: &str| chart.series().iter().position(|series| series.name == name);
    if let (Some(upper), Some(lower)) = (place("gross"), place("net")) {
        chart.band = Some(Band { upper, lower, what: "tare".into() });
    }
    chart
}

/// A curve as far as it is known, and from the last percentile that is known on as lower bounds.
fn parted(curve: &Curve, figures: &Distribution) -> (Curve, Curve) {
    let Some(from) = figures.bound_from else { return (curve.clone(), Curve::default()) };
    let known = Distribution::SHARES.into_iter().rfind(|share| *share < from).unwrap_or(0.0);
    let (known, least) = curve.0.iter().partition::<Vec<(f64, u64)>, _>(|(share, _)| *share <= known);
    (Curve(known), Curve(least))
}

/// Cumulative distributions in one picture, up to the last nine there is. Curves without points are left out.
pub fn percentiles(id: &str, title: &str, caption: &str, curves: &[(&str, Tone, &Curve)]) -> Chart {
    let below_all = |curve: &Curve| {
        curve.0.iter().rev().find(|(share, _)| *share < 1.0).map_or(0.0, |(share, _)| nines_of(*share))
    };
    let nines = curves.iter().map(|(_, _, curve)| below_all(curve)).fold(1.0, f64::max) + 0.15;
    let series: Vec<Series> = curves
        .iter()
        .filter(|(_, _, curve)| !curve.0.is_empty())
        .map(|(name, tone, curve)| {
            let point =
                |(share, nanos): &(f64, u64)| Point { from: *share, to: *share, y: Some(*nanos as f64) };
            Series::new(*name, *tone, curve.0.iter().map(point).collect())
        })
        .collect();
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: caption.to_owned(),
        x: Axis::Nines { nines },
        y: Scale::log(foot_and_top(&series).into_iter()),
        unit: Unit::Time,
        body: Body::Lines(series),
        ..blank()
    }
}

/// What the scale must hold: all of what matters, and of what is beside it no more than a decade below that. A
/// lateness of nanoseconds would leave no room for the latencies.
fn foot_and_top(series: &[Series]) -> Vec<f64> {
    let positive = |of: &dyn Fn(&Series) -> bool| -> Vec<f64> {
        series
            .iter()
            .filter(|series| of(series))
            .flat_map(Series::values)
            .filter(|value| *value > 0.0)
            .collect()
    };
    let mut values = positive(&|series| series.tone != Tone::Quiet);
    let beside = positive(&|series| series.tone == Tone::Quiet);
    match values.iter().copied().reduce(f64::min) {
        Some(least) => values.extend(beside.iter().map(|value| value.max(least / 10.0))),
        None => values = beside,
    }
    values
}

/// Outcomes over time by code and cause, as bars on each other.
pub fn outcomes(timeline: &Timeline, result: &RunResult) -> Chart {
    let shown = most_frequent(timeline);
    let of = |row: &Interval, wanted: &dyn Fn(&OutcomeCount) -> bool| -> u64 {
        row.outcomes.iter().filter(|outcome| wanted(outcome)).map(|outcome| outcome.count).sum()
    };
    let per_second = |row: &Interval, count: u64| (row.length_s > 0.0).then(|| count as f64 / row.length_s);
    let mut series: Vec<Series> = Vec::new();
    let (mut good, mut bad) = ([1, 6, 2].into_iter().cycle(), [4, 3, 5, 7, 8].into_iter().cycle());
    for one in &shown {
        let is_it = |outcome: &OutcomeCount| outcome.is_as(one);
        let name = crate::words::outcome_name(one);
        let is_good = one.is(units::OutcomeClass::Frame) || matches!(one.status(), Some(100..=399));
        let tone = Tone::Color(if is_good { good.next() } else { bad.next() }.unwrap_or(1));
        let points = points(timeline, |row| per_second(row, of(row, &is_it)));
        series.push(Series::new(name, tone, points));
    }
    let is_other = |outcome: &OutcomeCount| !shown.iter().any(|one| one.is_as(outcome));
    let other =
        Series::new("other", Tone::Quiet, points(timeline, |row| per_second(row, of(row, &is_other))));
    if other.values().any(|value| value > 0.0) {
        series.push(other);
    }
    stacked_over_time(
        timeline,
        result,
        Chart {
            id: "outcomes".into(),
            title: "Outcomes over time (per second)".into(),
            caption:
                "How requests ended, in the second in which that became known; the most frequent at the foot, \
                 without the warm-up."
                    .into(),
            unit: Unit::PerSecond,
            body: Body::Stacked(series),
            ..blank()
        },
    )
}

/// The most frequent outcomes, the most frequent first.
fn most_frequent(timeline: &Timeline) -> Vec<OutcomeCount> {
    let mut sums: BTreeMap<(&str, &str), OutcomeCount> = BTreeMap::new();
    for outcome in timeline.bins.iter().flat_map(|bin| &bin.row.outcomes) {
        let none = || OutcomeCount { count: 0, ..outcome.clone() };
        sums.entry((outcome.class.as_str(), &outcome.key)).or_insert_with(none).count += outcome.count;
    }
    let mut sorted: Vec<_> = sums.into_values().filter(|outcome| outcome.count > 0).collect();
    sorted.sort_by_key(|outcome| std::cmp::Reverse(outcome.count));
    // If only one is left over, it has a name too.
    let most = if sorted.len() == MOST_OUTCOMES + 1 { MOST_OUTCOMES + 1 } else { MOST_OUTCOMES };
    sorted.truncate(most);
    sorted
}

/// Medians of the phases of a request, on each other.
pub fn phases(timeline: &Timeline, result: &RunResult) -> Chart {
    let kinds: [Kind; 5] = [
        ("look-up", Tone::Color(5), |row| row.lookup_p50_ns),
        ("connect", Tone::Color(2), |row| row.connect_p50_ns),
        ("TLS handshake", Tone::Color(3), |row| row.tls_p50_ns),
        ("first byte", Tone::Color(1), |row| row.first_byte_p50_ns),
        ("body", Tone::Color(7), |row| row.body_p50_ns),
    ];
    let series = kinds.iter().map(|(name, tone, of)| Series::new(*name, *tone, time_points(timeline, *of)));
    stacked_over_time(
        timeline,
        result,
        Chart {
            id: "phases".into(),
            title: "Phases over time (medians)".into(),
            caption: "Where the time goes: the medians of the phases, stacked. Look-up, connect and handshake cover \
                      the connections opened in that step; a request on an open connection has only the last \
                      two phases."
                .into(),
            unit: Unit::Time,
            body: Body::Stacked(series.filter(|series| !series.is_empty()).collect()),
            ..blank()
        },
    )
}

fn times_over_time(
    timeline: &Timeline,
    result: &RunResult,
    id: &str,
    title: &str,
    caption: &str,
    kinds: &[Kind],
) -> Chart {
    let series = kinds.iter().map(|(name, tone, of)| Series::new(*name, *tone, time_points(timeline, *of)));
    let series: Vec<Series> = series.filter(|series| !series.is_empty()).collect();
    over_time(
        timeline,
        result,
        Chart {
            id: id.to_owned(),
            title: title.to_owned(),
            caption: caption.to_owned(),
            y: Scale::log(series.iter().flat_map(Series::values)),
            unit: Unit::Time,
            body: Body::Lines(series),
            ..blank()
        },
    )
}

/// With a scale that holds all bars; or all but a few that are far higher than the rest, which would leave no
/// room for the others and are cut off at the top.
fn stacked_over_time(timeline: &Timeline, result: &RunResult, mut chart: Chart) -> Chart {
    let series = chart.series();
    let sum = |at: usize| -> f64 { series.iter().filter_map(|series| series.points[at].y).sum() };
    let mut sums: Vec<f64> = (0..timeline.bins.len()).map(sum).filter(|sum| *sum > 0.0).collect();
    sums.sort_by(f64::total_cmp);
    let most = sums.last().copied().unwrap_or(0.0);
    let usual = sums.get(sums.len() * 9 / 10).copied().unwrap_or(0.0).min(most);
    let top = if most > 5.0 * usual { 2.0 * usual } else { most };
    if top < most {
        let said = format!(" Bars beyond the top are cut off: the highest is {}.", chart.unit.text(most));
        chart.caption.push_str(&said);
    }
    over_time(timeline, result, Chart { y: Scale::linear(top), ..chart })
}

/// Over the time of the whole run, with the warm-up in another shade.
fn over_time(timeline: &Timeline, result: &RunResult, chart: Chart) -> Chart {
    let from = timeline.bins.first().map_or(0.0, |bin| bin.row.t_s);
    let to = end(timeline, result);
    let warmup = result.warmup.duration_s.min(to);
    let shade = (warmup > from).then(|| Shade { from, to: warmup, what: "warm-up".into() });
    let marks = if chart.is_small { Vec::new() } else { pauses(result, from, to) };
    Chart { x: Axis::Time { from, to }, shade, marks, ..chart }
}

/// When the generator stood still, within this time.
fn pauses(result: &RunResult, from: f64, to: f64) -> Vec<Mark> {
    let pauses = result.generator.longest_pauses.iter();
    let marks = pauses.map(|pause| Mark { from: pause.t_s, to: pause.t_s + pause.length_ns as f64 / 1e9 });
    marks.filter(|mark| mark.to > from && mark.from < to).collect()
}

fn end_of(bin: &Bin) -> f64 {
    bin.row.t_s + bin.row.length_s
}

/// When the run was over: with its last interval, or with its time if nothing was due any more.
fn end(timeline: &Timeline, result: &RunResult) -> f64 {
    let whole = result.warmup.duration_s + result.rate.duration_s;
    timeline.bins.last().map_or(0.0, |last| end_of(last).max(whole))
}

/// What the charts have in common.
pub fn blank() -> Chart {
    Chart {
        id: String::new(),
        title: String::new(),
        caption: String::new(),
        x: Axis::Time { from: 0.0, to: 0.0 },
        y: Scale::linear(1.0),
        unit: Unit::Count,
        body: Body::Lines(Vec::new()),
        shade: None,
        band: None,
        marks: Vec::new(),
        is_small: false,
    }
}

fn points(timeline: &Timeline, of: impl Fn(&Interval) -> Option<f64>) -> Vec<Point> {
    let point = |bin: &Bin| Point {
        from: bin.row.t_s,
        to: bin.row.t_s + bin.row.length_s,
        y: of(&bin.row).filter(|value| value.is_finite()),
    };
    timeline.bins.iter().map(|bin| point(bin)).collect()
}

fn time_points(timeline: &Timeline, of: impl Fn(&Interval) -> Option<u64>) -> Vec<Point> {
    points(timeline, |row| of(row).map(|nanos| nanos as f64))
}

fn highest(series: &[Series]) -> f64 {
    series.iter().flat_map(Series::values).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(rows: Vec<Interval>) -> Timeline {
        let bin = |(n, row): (usize, Interval)| Bin {
            row: Interval { t_s: n as f64, length_s: 1.0, ..row },
            heat: Vec::new(),
            exact: true,
        };
        Timeline { bins: rows.into_iter().enumerate().map(|row| bin(row).into()).collect(), merged: 1 }
    }

    #[test]
    fn one_bar_far_above_all_others_is_cut_off_and_said() {
        let phase = |ms: u64| Interval { first_byte_p50_ns: Some(ms * 1_000_000), ..Interval::default() };
        let mut rows: Vec<Interval> = (0..20).map(|_| phase(2)).collect();
        let even = phases(&timeline(rows.clone()), &RunResult::default());
        assert!(!even.caption.contains("cut off"));
        rows[7] = phase(500);
        let chart = phases(&timeline(rows), &RunResult::default());
        assert!(
            chart.caption.ends_with("Bars beyond the top are cut off: the highest is 500 ms."),
            "{}",
            chart.caption
        );
        // Twice the usual 2 ms, rounded up.
        assert_eq!(chart.y, Scale::Linear { high: 5e6, step: 1e6 });
    }

    #[test]
    fn a_slow_rate_is_drawn_until_the_end_of_its_run() {
        // One request each 7 s for 9 s, due at 0 s and 7 s: the intervals end with the second one's answer.
        let row = |n| Interval {
            offered: u64::from(n % 6 == 0),
            done: u64::from(n % 6 == 0),
            ..Interval::default()
        };
        let slow = timeline((0..7).map(row).collect());
        let mut result = RunResult::default();
        result.rate.duration_s = 9.0;
        let chart = rates(&slow, &result);
        assert_eq!(chart.x, Axis::Time { from: 0.0, to: 9.0 });
        let last = Point { from: 7.0, to: 9.0, y: Some(0.0) };
        assert!(chart.series().iter().all(|series| series.points.last() == Some(&last)), "{chart:?}");
        assert!(chart.caption.ends_with("each peak is a request, with none between them."));
        assert_eq!(latency(&slow, &result).x, chart.x);
        // A run whose last interval ends with it, but for a rounding.
        result.rate.duration_s = 7.000_001;
        assert_eq!(rates(&slow, &result).series()[0].points.len(), 7);
        let fast = timeline((0..7).map(|_| Interval { offered: 100, ..Interval::default() }).collect());
        assert!(!rates(&fast, &result).caption.contains("peak"));
    }

    #[test]
    fn rare_outcomes_become_one_series() {
        let outcome =
            |n: u64| OutcomeCount { class: "status".into(), key: (200 + n).to_string(), count: 100 - n };
        let row = Interval { outcomes: (0..12).map(outcome).collect(), ..Interval::default() };
        let chart = outcomes(&timeline(vec![row]), &RunResult::default());
        let names: Vec<&str> = chart.series().iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["200", "201", "202", "203", "204", "205", "206", "other"]);
        // 93 + 92 + 91 + 90 + 89 of the five that have no series of their own.
        assert_eq!(chart.series()[7].points[0].y, Some(455.0));
    }

    #[test]
    fn nothing_at_all_makes_empty_charts() {
        let (nothing, result) = (Timeline::default(), RunResult::default());
        for chart in [rates, lateness, latency, heat, outcomes, phases] {
            assert!(chart(&nothing, &result).is_empty());
        }
        assert!(by_percentile(&result).is_empty() && generator(&nothing, &result).is_empty());
    }
}
