//! The map as a picture of its own (SVG 1.1), for documents: own rate under incoming traffic, each port a line.

use super::charts::map_charts;
use crate::chart::{Chart, Unit};
use crate::markup::escape;
use std::fmt::{Result, Write};
use store::weighing::Weighing;

/// Of one chart; several stand below each other.
const HEIGHT: f64 = 300.0;
/// Of the plot, from the left, the top and the foot. The legend is at its right.
const EDGES: (f64, f64, f64) = (70.0, 34.0, 52.0);
const PLOT: f64 = 570.0;
/// Of the legend: its strokes and edges, a letter, and how wide it is at least.
const LEGEND: (f64, f64, f64) = (54.0, 6.8, 220.0);
/// Strokes that are told apart without colour, too.
const COLOURS: [&str; 4] = ["#0b62b5", "#00806a", "#b85c00", "#b3261e"];
const DASHES: [&str; 3] = ["none", "9 3", "2 3"];

/// The picture; empty if there is no backload in the weighing.
pub fn svg(weighing: &Weighing) -> String {
    let mut out = String::new();
    if weighing.backload.iter().any(|found| !found.steps.is_empty()) {
        // Writing to a String does not fail.
        let _ = write(&mut out, &map_charts(weighing));
    }
    out
}

fn write(out: &mut String, charts: &[Chart]) -> Result {
    let (wide, high) = (width(charts), HEIGHT * charts.len() as f64);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" font-family=\"sans-serif\" font-size=\"12\">"
    )?;
    writeln!(out, "<rect width=\"{wide}\" height=\"{high}\" fill=\"#fff\"/>")?;
    for (index, chart) in charts.iter().enumerate() {
        writeln!(out, "<g transform=\"translate(0 {})\">", HEIGHT * index as f64)?;
        plot(out, chart)?;
        writeln!(out, "</g>")?;
    }
    writeln!(out, "</svg>")
}

/// With room for the longest name.
fn width(charts: &[Chart]) -> f64 {
    let names = charts.iter().flat_map(Chart::series).map(|series| series.name.chars().count());
    let (around, letter, least) = LEGEND;
    EDGES.0 + PLOT + (around + letter * names.max().unwrap_or(0) as f64).ceil().max(least)
}

fn plot(out: &mut String, chart: &Chart) -> Result {
    let (left, top, foot) = EDGES;
    let (wide, high) = (PLOT, HEIGHT - top - foot);
    let x = |share: f64| left + share * wide;
    let y = |share: f64| top + (1.0 - share) * high;
    writeln!(
        out,
        "<text x=\"{left}\" y=\"18\" font-size=\"14\" fill=\"#1d2129\">{}</text>",
        escape(&chart.title)
    )?;
    for tick in chart.y.ticks() {
        let at = y(chart.y.at(tick));
        writeln!(out, "<path d=\"M{left} {at:.1}H{:.1}\" stroke=\"#e0e2e6\"/>", left + wide)?;
        writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#5b6472\">{}</text>",
            left - 6.0,
            at + 4.0,
            escape(&Unit::Share.tick(tick))
        )?;
    }
    for (tick, label) in chart.x.ticks() {
        let at = x(chart.x.at(tick));
        writeln!(
            out,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#5b6472\">{}</text>",
            top + high + 18.0,
            escape(&label)
        )?;
    }
    writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#5b6472\">incoming frames per second</text>",
        left + wide / 2.0,
        HEIGHT - 8.0
    )?;
    writeln!(
        out,
        "<text transform=\"translate(12 {:.1}) rotate(-90)\" text-anchor=\"middle\" fill=\"#5b6472\">own rate (100 % = without)</text>",
        top + high / 2.0
    )?;
    for (index, series) in chart.series().iter().enumerate() {
        let stroke = format!(
            "fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"",
            COLOURS[index % COLOURS.len()],
            DASHES[index / COLOURS.len() % DASHES.len()]
        );
        let points: Vec<String> = series
            .points
            .iter()
            .filter_map(|point| {
                Some(format!("{:.1} {:.1}", x(chart.x.at(point.middle())), y(chart.y.at(point.y?))))
            })
            .collect();
        writeln!(out, "<path d=\"M{}\" {stroke}/>", points.join("L"))?;
        let (at, row) = (left + wide + 14.0, top + 8.0 + 16.0 * index as f64);
        writeln!(out, "<path d=\"M{at:.1} {row:.1}h24\" {stroke}/>")?;
        writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#1d2129\">{}</text>",
            at + 30.0,
            row + 4.0,
            escape(&series.name)
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::weighing::{Backload, BackloadStep, Claim};

    #[test]
    fn the_longest_name_has_room() {
        let step = |phase: &str| BackloadStep { phase: phase.into(), ..BackloadStep::default() };
        let steps = vec![step("before"), step("rising"), step("after")];
        let port = "a".repeat(100);
        let found = Backload { port, steps, ..Backload::default() };
        // 70 + 570, and 54 + 100 · 6.8.
        let picture = svg(&Weighing { backload: vec![found], ..Weighing::default() });
        assert!(picture.contains("viewBox=\"0 0 1374 300\""), "{picture}");
    }

    #[test]
    fn each_port_is_a_line_from_without_to_the_highest() {
        let step = |phase: &str, own: f64, incoming: f64| BackloadStep {
            phase: phase.into(),
            own_per_s: Claim { estimate: own, ..Claim::default() },
            in_per_s: Claim { estimate: incoming, ..Claim::default() },
            ..BackloadStep::default()
        };
        let steps = vec![step("before", 100.0, 0.0), step("rising", 50.0, 1e6), step("after", 99.0, 0.0)];
        let found = Backload {
            port: "udp".into(),
            size: 64,
            kind: "udp-closed".into(),
            steps,
            ..Backload::default()
        };
        let picture = svg(&Weighing { backload: vec![found], ..Weighing::default() });
        // From the left edge at the whole (100 % of an axis that ends at 120 %) to the right edge at the half.
        let line = picture.lines().find(|line| line.starts_with("<path d=\"M70.0")).unwrap();
        assert!(line.contains("L640.0 "), "{line}");
        assert!(picture.contains("(64 B, udp-closed)"));
        assert!(picture.contains("viewBox=\"0 0 860 300\""), "{picture}");
        assert_eq!(svg(&Weighing::default()), "");
    }
}
