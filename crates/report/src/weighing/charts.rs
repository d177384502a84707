//! The charts of a weighing.

use super::name;
use crate::chart::{Axis, Body, Chart, Point, Scale, Series, Tone, Unit};
use crate::charts;
use store::weighing::{Backload, Bin, Packets, Weighing};

fn at(x: f64, y: f64) -> Point {
    Point { from: x, to: x, y: Some(y) }
}

/// The study's preparation: loss of stamps with so many threads.
pub fn loss(packets: &[Packets]) -> Chart {
    let series: Vec<Series> = packets
        .iter()
        .enumerate()
        .map(|(index, found)| {
            let points = found.by_threads.iter().map(|point| at(point.threads as f64, point.loss)).collect();
            Series::new(name(&found.port, found.size), Tone::Color(index + 1), points)
        })
        .collect();
    let most = xs(&series);
    Chart {
        id: "loss".into(),
        title: "Stamps that are lost, by threads at full speed".into(),
        caption: "Trials use as many threads as send most with less than 5 % of the stamps lost.".into(),
        x: Axis::Values { high: most, unit: Unit::Count },
        y: Scale::linear(ys(&series).max(0.05)),
        unit: Unit::Share,
        body: Body::Lines(series),
        ..charts::blank()
    }
}

/// The same: rate by threads.
pub fn by_threads(packets: &[Packets]) -> Chart {
    let series: Vec<Series> = packets
        .iter()
        .enumerate()
        .map(|(index, found)| {
            let points =
                found.by_threads.iter().map(|point| at(point.threads as f64, point.sent_per_s)).collect();
            Series::new(name(&found.port, found.size), Tone::Color(index + 1), points)
        })
        .collect();
    Chart {
        id: "by-threads".into(),
        title: "Packets per second, by threads at full speed".into(),
        caption: "Every packet is timestamped here, which takes time: without timestamps, rates are higher."
            .into(),
        x: Axis::Values { high: xs(&series), unit: Unit::Count },
        y: Scale::log(series.iter().flat_map(Series::values)),
        unit: Unit::PerSecond,
        body: Body::Lines(series),
        ..charts::blank()
    }
}

/// Mean time of a packet at the rates of the steps.
pub fn time_by_rate(packets: &[Packets]) -> Chart {
    let series: Vec<Series> = packets
        .iter()
        .enumerate()
        .filter_map(|(index, found)| {
            let trial = found.trials.iter().rev().find(|trial| trial.counts)?;
            let mut points: Vec<Point> = trial
                .steps
                .iter()
                .filter(|step| step.mean_ns > 0.0)
                .map(|step| at(step.achieved_per_s, step.mean_ns))
                .collect();
            points.sort_by(|a, b| a.from.total_cmp(&b.from));
            Some(Series::new(name(&found.port, found.size), Tone::Color(index + 1), points))
        })
        .collect();
    Chart {
        id: "time-by-rate".into(),
        title: "Mean time of a packet, by rate".into(),
        caption: "The steps of the last trial. As the rate grows, caches and CPU stay warm: the time falls, until queues fill.".into(),
        x: Axis::Values { high: xs(&series), unit: Unit::PerSecond },
        y: Scale::log(series.iter().flat_map(Series::values)),
        unit: Unit::Time,
        body: Body::Lines(series),
        ..charts::blank()
    }
}

/// The study's figures: rate and mean time against run time, of one port.
pub fn over_time(id: &str, title: &str, bins: &[Bin]) -> [Chart; 2] {
    let to = bins.iter().map(|bin| bin.t_s + bin.length_s).fold(0.0, f64::max);
    let series = |label: &str, tone, of: &dyn Fn(&Bin) -> Option<f64>| {
        let points = bins.iter().map(|bin| Point { from: bin.t_s, to: bin.t_s + bin.length_s, y: of(bin) });
        Series::new(label, tone, points.collect())
    };
    let mut rates = vec![series("own rate", Tone::Color(1), &|bin| Some(bin.own_per_s))];
    if bins.iter().any(|bin| bin.in_per_s.is_some()) {
        rates.push(series("incoming", Tone::Color(4), &|bin| bin.in_per_s));
    }
    let times = vec![series("mean time", Tone::Color(3), &|bin| bin.mean_ns)];
    let chart = |kind: &str, title: String, y, unit, series| Chart {
        id: format!("{kind}-{id}"),
        title,
        caption: String::new(),
        x: Axis::Time { from: 0.0, to },
        y,
        unit,
        body: Body::Lines(series),
        is_small: true,
        ..charts::blank()
    };
    let (high, highest) = (ys(&rates), ys(&times));
    [
        chart("rate", format!("{title}: packets per second"), Scale::linear(high), Unit::PerSecond, rates),
        chart("time", format!("{title}: mean time of a packet"), Scale::linear(highest), Unit::Time, times),
    ]
}

/// Lines that one chart of the map may have: more are told apart by nobody.
const MAP_LINES: usize = 8;

/// The map as curves: own rate of each port against the incoming rate, as a share of what it is without. Where
/// that is more than one chart can show, each port has one of its own; all have the same height.
pub fn map_charts(weighing: &Weighing) -> Vec<Chart> {
    let all: Vec<&Backload> = weighing.backload.iter().filter(|found| !found.steps.is_empty()).collect();
    let title = "own rate under incoming traffic (of the rate without)";
    let mut charts = if all.len() <= MAP_LINES {
        vec![map_chart("map".into(), format!("Own{}", &title[3..]), all.into_iter())]
    } else {
        let mut ports: Vec<&str> = all.iter().map(|found| found.port.as_str()).collect();
        ports.dedup();
        let of = |port: &&str| {
            let found = all.iter().copied().filter(|found| found.port == *port);
            map_chart(format!("map-{port}"), format!("{port}: {title}"), found)
        };
        ports.iter().map(of).collect()
    };
    let most = charts.iter().map(|chart| ys(chart.series())).fold(0.0, f64::max);
    charts.iter_mut().for_each(|chart| chart.y = Scale::linear(most));
    charts
}

fn map_chart<'a>(id: String, title: String, found: impl Iterator<Item = &'a Backload>) -> Chart {
    let series: Vec<Series> = found.enumerate().map(|(n, found)| of_backload(n, found)).collect();
    Chart {
        id,
        title,
        caption: "Each line is one port, frame size and kind of traffic.".into(),
        x: Axis::Values { high: xs(&series), unit: Unit::PerSecond },
        y: Scale::linear(0.0),
        unit: Unit::Share,
        body: Body::Lines(series),
        ..charts::blank()
    }
}

fn of_backload(index: usize, found: &Backload) -> Series {
    let before = found.steps.first().map_or(0.0, |step| step.own_per_s.estimate).max(1e-9);
    let rising = found.steps.iter().filter(|step| step.phase != "after");
    let points = rising.map(|step| at(step.in_per_s.estimate, step.own_per_s.estimate / before)).collect();
    Series::new(format!("{} {} B {}", found.port, found.size, found.kind), Tone::Color(index + 1), points)
}

fn xs(series: &[Series]) -> f64 {
    series.iter().flat_map(|one| &one.points).map(|point| point.to).fold(1.0, f64::max)
}

fn ys(series: &[Series]) -> f64 {
    series.iter().flat_map(Series::values).fold(0.0, f64::max)
}
