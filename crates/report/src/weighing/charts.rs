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
        .filter(|(_, found)| !found.by_threads.is_empty())
        .map(|(index, found)| {
            let points = found.by_threads.iter().map(|point| at(point.threads as f64, point.loss)).collect();
            Series::new(name(&found.port, found.size, found.simulated), Tone::Color(index + 1), points)
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
        .filter(|(_, found)| !found.by_threads.is_empty())
        .map(|(index, found)| {
            let points =
                found.by_threads.iter().map(|point| at(point.threads as f64, point.sent_per_s)).collect();
            Series::new(name(&found.port, found.size, found.simulated), Tone::Color(index + 1), points)
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
            Some(Series::new(name(&found.port, found.size, found.simulated), Tone::Color(index + 1), points))
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
/// Of the one chart that has each port once, it may have more.
const MAP_PORTS: usize = 12;
/// Between two ticks of its shares.
const STEP: f64 = 0.2;

/// The map as curves: load capability against incoming traffic. One chart has all ports, as shares of what each
/// does without incoming traffic, for requests and frames have no common unit. Where it cannot show all sizes
/// and kinds of traffic, each port has one of its own besides; all have the same height.
pub fn map_charts(weighing: &Weighing) -> Vec<Chart> {
    let all: Vec<&Backload> = weighing.backload.iter().filter(|found| !found.steps.is_empty()).collect();
    let mut ports: Vec<&str> = Vec::new();
    for found in &all {
        if !ports.contains(&found.port.as_str()) {
            ports.push(&found.port);
        }
    }
    let mut charts = Vec::new();
    if all.len() <= MAP_LINES {
        charts.extend((!all.is_empty()).then(|| of_all(&all)));
    } else {
        if ports.len() <= MAP_PORTS {
            let first = |port: &&str| all.iter().copied().find(|found| found.port == **port);
            charts.push(of_all(&ports.iter().filter_map(first).collect::<Vec<_>>()));
        }
        // A port with one line has no more to show than the chart of all.
        let lines = |port: &str| all.iter().copied().filter(|found| found.port == port).collect::<Vec<_>>();
        let several = ports.iter().filter(|port| charts.is_empty() || lines(port).len() > 1);
        let own: Vec<Chart> = several.map(|port| of_port(port, &lines(port))).collect();
        charts.extend(own);
    }
    let most = charts.iter().map(|chart| ys(chart.series())).fold(0.0, f64::max);
    // Most lines begin at 100 % and fall: no more room is above than they need.
    let high = (most * 1.02 / STEP).ceil().max(1.0) * STEP;
    charts.iter_mut().for_each(|chart| chart.y = Scale::Linear { high, step: STEP });
    charts
}

/// All in one. What lines have in common stands in the title.
fn of_all(all: &[&Backload]) -> Chart {
    let alike = |of: &dyn Fn(&Backload) -> String| {
        let first = of(all[0]);
        all.iter().all(|found| of(found) == first).then_some(first)
    };
    let (size, kind) = (alike(&|found| format!("{} B", found.size)), alike(&|found| found.kind.clone()));
    let common: Vec<&str> = [&size, &kind].into_iter().filter_map(|one| one.as_deref()).collect();
    let common = if common.is_empty() { String::new() } else { format!(" ({})", common.join(", ")) };
    let line = |(index, found): (usize, &&Backload)| {
        let size = if size.is_none() { format!(" {} B", found.size) } else { String::new() };
        let kind = if kind.is_none() { format!(" {}", found.kind) } else { String::new() };
        of_backload(index, found, format!("{}{size}{kind}{}", found.port, remark(found)))
    };
    let series = all.iter().enumerate().map(line).collect();
    map_chart("map".into(), format!("Load capability against incoming traffic{common}"), series)
}

fn of_port(port: &str, found: &[&Backload]) -> Chart {
    let line = |(index, found): (usize, &&Backload)| {
        of_backload(index, found, format!("{} B {}{}", found.size, found.kind, remark(found)))
    };
    let series = found.iter().enumerate().map(line).collect();
    map_chart(format!("map-{port}"), format!("{port}: load capability against incoming traffic"), series)
}

/// What sets a line's unit or time apart.
fn remark(found: &Backload) -> &'static str {
    match found.simulated {
        true => ", simulated",
        false if found.port.split(": ").last().is_some_and(|port| port.starts_with("http")) => ", requests",
        false => "",
    }
}

fn map_chart(id: String, title: String, series: Vec<Series>) -> Chart {
    Chart {
        id: id.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-"),
        title,
        caption:
            "Vertical: own rate, where 100 % is the same port's without incoming traffic, in packets or \
                  (http) requests. Horizontal: incoming frames per second."
                .into(),
        x: Axis::Values { high: xs(&series), unit: Unit::PerSecond },
        y: Scale::linear(0.0),
        unit: Unit::Share,
        body: Body::Lines(series),
        ..charts::blank()
    }
}

fn of_backload(index: usize, found: &Backload, name: String) -> Series {
    let before = found.steps.first().map_or(0.0, |step| step.own_per_s.estimate).max(1e-9);
    let rising = found.steps.iter().filter(|step| step.phase != "after");
    let points = rising.map(|step| at(step.in_per_s.estimate, step.own_per_s.estimate / before)).collect();
    Series::new(name, Tone::Color(index + 1), points)
}

fn xs(series: &[Series]) -> f64 {
    series.iter().flat_map(|one| &one.points).map(|point| point.to).fold(1.0, f64::max)
}

fn ys(series: &[Series]) -> f64 {
    series.iter().flat_map(Series::values).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::weighing::{BackloadStep, Claim};

    fn found(port: &str, size: usize, own: f64) -> Backload {
        let claim = |estimate| Claim { estimate, ..Claim::default() };
        let step = |phase: &str, share: f64, incoming| BackloadStep {
            phase: phase.into(),
            own_per_s: claim(own * share),
            in_per_s: claim(incoming),
            ..BackloadStep::default()
        };
        Backload {
            port: port.into(),
            simulated: port == "fpga:sim",
            size,
            kind: "udp-closed".into(),
            steps: vec![step("before", 1.0, 0.0), step("rising", 0.5, 1e5), step("after", 1.0, 0.0)],
            ..Backload::default()
        }
    }

    #[test]
    fn all_ports_are_in_one_chart_as_shares_of_their_own_rates() {
        let ports = ["udp", "packet", "xdp", "live", "http", "http-packet", "http-xdp", "fpga:sim"];
        let one = |size: usize| {
            ports.iter().enumerate().map(move |(n, port)| found(port, size, 1e5 * (n + 1) as f64))
        };
        let charts = map_charts(&Weighing { backload: one(64).collect(), ..Weighing::default() });
        assert_eq!((charts.len(), charts[0].series().len()), (1, 8));
        assert_eq!(charts[0].title, "Load capability against incoming traffic (64 B, udp-closed)");
        let names: Vec<&str> = charts[0].series().iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names[0], "udp");
        assert_eq!(
            names[4..],
            ["http, requests", "http-packet, requests", "http-xdp, requests", "fpga:sim, simulated"]
        );
        assert!(charts[0].series().iter().all(|series| series.values().eq([1.0, 0.5])));
        // With more than it can show: the first of each, and a chart for each port.
        let backload = one(64).chain(one(1_518)).collect();
        let charts = map_charts(&Weighing { backload, ..Weighing::default() });
        assert_eq!((charts.len(), charts[0].series().len(), charts[8].series().len()), (9, 8, 2));
        assert_eq!(
            (charts[8].id.as_str(), charts[8].series()[1].name.as_str()),
            ("map-fpga-sim", "1518 B udp-closed, simulated")
        );
    }
}
