//! The ladder as bars: millions of frames a second of the smallest frames, Java's beside C's.

use crate::figures::Table;
use crate::ladder::{RATE, STEPS};
use crate::stats::median;
use crate::worker::Side;
use std::fmt::Write as _;

const WIDTH: f64 = 360.0;
const LEFT: f64 = 270.0;
const HEIGHT: f64 = 20.0;
const COLUMNS: f64 = 40.0;

/// Step, whether it is Java's, and its rate.
fn bars(tables: &[Table]) -> Vec<(&'static str, bool, f64)> {
    let Some(table) = tables.first() else { return Vec::new() };
    let bar = |step: &crate::ladder::Step| {
        let row = table.rows.iter().find(|row| row.name == step.says)?;
        let values: Vec<f64> = row.figures.get(RATE)?.values().copied().collect();
        Some((step.says, step.side == Side::Java, median(&values)?))
    };
    STEPS.iter().filter_map(bar).collect()
}

fn most(bars: &[(&str, bool, f64)]) -> f64 {
    bars.iter().map(|bar| bar.2).fold(f64::MIN_POSITIVE, f64::max)
}

pub fn text(tables: &[Table]) -> String {
    let bars = bars(tables);
    let most = most(&bars);
    let mut text = String::from("M/s of the smallest frames, one core\n");
    for (name, is_java, rate) in bars {
        let mark = if is_java { "#" } else { "-" };
        let length = (rate / most * COLUMNS).round().max(1.0) as usize;
        let _ = writeln!(text, "  {name:<42} {} {rate:.1}", mark.repeat(length));
    }
    text
}

pub fn svg(tables: &[Table]) -> String {
    let bars = bars(tables);
    let most = most(&bars);
    let height = 40.0 + HEIGHT * bars.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"10\" y=\"20\">Millions of frames a second, {}, one core: Java dark, C light</text>\n",
        LEFT + WIDTH + 70.0,
        tables.first().map_or("", |table| &table.title),
    );
    for (at, (name, is_java, rate)) in bars.into_iter().enumerate() {
        let (y, length) = (32.0 + HEIGHT * at as f64, rate / most * WIDTH);
        let colour = if is_java { "#1f6f8b" } else { "#b8c4cc" };
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>\
             <rect x=\"{LEFT}\" y=\"{y}\" width=\"{length:.1}\" height=\"{}\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"{}\">{rate:.1}</text>",
            LEFT - 8.0,
            y + 13.0,
            HEIGHT - 4.0,
            LEFT + length + 6.0,
            y + 13.0,
        );
    }
    svg + "</svg>\n"
}
