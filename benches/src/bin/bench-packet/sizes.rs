//! Rates against the size of frames: tables of several sizes as one, and as a chart.
//!
//! ```text
//!   "send, 64 B" "send, 128 B" …  ─►  send: row × size ─► M/s, and the share of 10 Gb/s ─► Markdown, SVG
//! ```

use std::fmt::Write as _;

use crate::figures::{Row, Table};
use crate::stats::median;
use crate::svg::grid_line;

const TEN_GIGABIT: f64 = 1e10;

pub const WIDTH: f64 = 420.0;
pub const HEIGHT: f64 = 260.0;
pub const LEFT: f64 = 60.0;
pub const TOP: f64 = 36.0;
/// Room for the rows' names below a panel.
pub const LINE: f64 = 16.0;
pub const COLOURS: [&str; 10] = [
    "#1f6f8b", "#c8553d", "#588157", "#8e6c8a", "#b08900", "#555555", "#3a86c8", "#d4a373", "#00a896",
    "#d81b60",
];
const LINE_RATE: &str = "10 Gb/s";

/// One case at several sizes.
struct Panel<'a> {
    title: String,
    unit: &'static str,
    sizes: Vec<usize>,
    /// Rows in the order of the first table, a value for each size.
    rows: Vec<(&'a str, Vec<Option<f64>>)>,
}

/// Frames of a size that 10 Gb/s carries, millions a second.
pub fn line_rate(size: usize) -> f64 {
    TEN_GIGABIT / ((size + wire::PREAMBLE_AND_GAP) * 8) as f64 / 1e6
}

/// `send, 64 B` or `capture to disk, 64 B at max`: the case, its size, and the rest.
fn parts(title: &str) -> Option<(String, usize)> {
    let (case, rest) = title.rsplit_once(", ")?;
    let (size, rest) = rest.split_once(" B")?;
    // A rate in frames a second is another one for each size; as fast as it goes is the same question.
    (rest.is_empty() || rest == " at max").then_some(())?;
    Some((format!("{case}{rest}"), size.parse().ok()?))
}

/// What a row came to: the median of the table's first column.
fn value(row: &Row, column: &str) -> Option<f64> {
    median(&row.figures.get(column)?.values().copied().collect::<Vec<_>>())
}

fn panels<'a>(tables: &[&'a Table]) -> Vec<Panel<'a>> {
    let mut panels: Vec<Panel<'_>> = Vec::new();
    for table in tables {
        let Some((title, size)) = parts(&table.title) else { continue };
        let Some(unit) = table.columns.first().copied() else { continue };
        let at = panels.iter().position(|panel| panel.title == title).unwrap_or_else(|| {
            panels.push(Panel { title, unit, sizes: Vec::new(), rows: Vec::new() });
            panels.len() - 1
        });
        let panel = &mut panels[at];
        panel.sizes.push(size);
        let count = panel.sizes.len();
        for row in &table.rows {
            let place = panel.rows.iter().position(|(name, _)| *name == row.name).unwrap_or_else(|| {
                panel.rows.push((&row.name, Vec::new()));
                panel.rows.len() - 1
            });
            let values = &mut panel.rows[place].1;
            values.resize(count - 1, None);
            values.push(value(row, unit));
        }
        panel.rows.iter_mut().for_each(|(_, values)| values.resize(count, None));
    }
    panels.retain(|panel| panel.sizes.len() > 1);
    panels
}

/// One table a case: M/s, and the percent of 10 Gb/s that they are.
pub fn markdown(tables: &[&Table]) -> String {
    let mut text = String::new();
    for panel in panels(tables) {
        let sizes: Vec<String> = panel.sizes.iter().map(|size| format!("{size} B")).collect();
        let (title, unit) = (&panel.title, &panel.unit);
        let _ = writeln!(text, "\n| {title}, {unit} (% of {LINE_RATE}) | {} |", sizes.join(" | "));
        let _ = writeln!(text, "|---|{}", "---:|".repeat(sizes.len()));
        for (name, values) in &panel.rows {
            let cells = values.iter().zip(&panel.sizes).map(|(value, size)| cell(*value, *size));
            let _ = writeln!(text, "| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
        }
    }
    text
}

fn cell(value: Option<f64>, size: usize) -> String {
    let Some(value) = value else { return "–".into() };
    let digits = match value {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$} ({:.0})", value / line_rate(size) * 100.0)
}

/// A panel a case, rates against sizes, with what 10 Gb/s carries as a dashed line.
pub fn svg(tables: &[&Table]) -> String {
    let panels = panels(tables);
    let most_rows = panels.iter().map(|panel| panel.rows.len() + 1).max().unwrap_or(0) as f64;
    let (wide, tall) = (LEFT + WIDTH + 20.0, TOP + HEIGHT + 40.0 + most_rows * LINE);
    let columns = 2.min(panels.len().max(1));
    let lines = panels.len().div_ceil(columns);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        wide * columns as f64,
        tall * lines as f64
    );
    for (at, panel) in panels.iter().enumerate() {
        let (x, y) = (wide * (at % columns) as f64, tall * (at / columns) as f64);
        let _ = writeln!(svg, "<g transform=\"translate({x:.0} {y:.0})\">");
        draw(&mut svg, panel);
        svg.push_str("</g>\n");
    }
    svg + "</svg>\n"
}

fn draw(svg: &mut String, panel: &Panel<'_>) {
    let all = || panel.rows.iter().flat_map(|(_, values)| values.iter().flatten().copied());
    let (least, most) =
        (all().fold(f64::INFINITY, f64::min) / 1.3, all().fold(f64::MIN_POSITIVE, f64::max) * 1.3);
    let (shortest, longest) = (panel.sizes.iter().copied().min(), panel.sizes.iter().copied().max());
    let (shortest, longest) = (shortest.unwrap_or(1) as f64, longest.unwrap_or(2) as f64);
    // Both axes are logarithmic: ports differ by ten times, and so do sizes.
    let x = |size: usize| LEFT + (size as f64 / shortest).ln() / (longest / shortest).ln() * WIDTH;
    let y = |rate: f64| TOP + HEIGHT * (1.0 - (rate / least).ln() / (most / least).ln());
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">{}, {}</text>",
        panel.title, panel.unit
    );
    let decades = (-3..=3).map(|exponent| 10f64.powi(exponent));
    for tick in
        decades.flat_map(|one| [one, 2.0 * one, 5.0 * one]).filter(|tick| (least..most).contains(tick))
    {
        grid_line(svg, (LEFT, LEFT + WIDTH), y(tick), &tick.to_string());
    }
    for size in &panel.sizes {
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\" font-size=\"10\">{size}</text>",
            x(*size),
            TOP + HEIGHT + 16.0
        );
    }
    let carried = panel.sizes.iter().map(|size| (*size, line_rate(*size)));
    let carried = carried.filter(|(_, rate)| (least..most).contains(rate));
    line(svg, carried.map(|(size, rate)| (x(size), y(rate))), "#999", "4 3");
    legend(svg, 0, LINE_RATE, "#999", "4 3");
    for (at, (name, values)) in panel.rows.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let dash = if name.starts_with("tare") { "none" } else { "2 2" };
        let points =
            values.iter().zip(&panel.sizes).filter_map(|(value, size)| Some((x(*size), y((*value)?))));
        line(svg, points, colour, dash);
        legend(svg, at + 1, name, colour, dash);
    }
}

pub fn legend(svg: &mut String, at: usize, name: &str, colour: &str, dash: &str) {
    let below = TOP + HEIGHT + 36.0 + LINE * at as f64;
    let _ = writeln!(
        svg,
        "<line x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"2\" \
         stroke-dasharray=\"{dash}\"/><text x=\"{:.0}\" y=\"{below:.1}\">{}</text>",
        LEFT + 24.0,
        below - 4.0,
        below - 4.0,
        LEFT + 30.0,
        name.replace('&', "&amp;").replace('<', "&lt;")
    );
}

pub fn line(svg: &mut String, points: impl Iterator<Item = (f64, f64)>, colour: &str, dash: &str) {
    let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>",
        points.join(" ")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> Vec<Table> {
        let of = |size: usize, own: f64, peer: Option<f64>| {
            let mut table = Table::new(format!("send, {size} B"), &["M/s", "CPU s per M"]);
            table.put("tare", "M/s", 0, own);
            peer.into_iter().for_each(|rate| table.put("trafgen", "M/s", 0, rate));
            table
        };
        let mut tables = vec![of(64, 7.44, Some(0.5)), of(1518, 0.4, None)];
        tables.push(Table::new("gaps of 5 µs", &["p50"]));
        tables
    }

    #[test]
    fn ten_gigabits_carry_what_everybody_knows() {
        assert!((line_rate(64) - 14.88).abs() < 0.01 && (line_rate(1518) - 0.8127).abs() < 0.001);
    }

    #[test]
    fn a_table_has_a_column_for_each_size_and_says_what_is_missing() {
        let text = markdown(&tables().iter().collect::<Vec<_>>());
        assert!(text.contains("| send, M/s (% of 10 Gb/s) | 64 B | 1518 B |"), "{text}");
        assert!(text.contains("| tare | 7.44 (50) | 0.400 (49) |"), "{text}");
        assert!(text.contains("| trafgen | 0.500 (3) | – |"), "{text}");
        assert!(!text.contains("gaps"));
    }

    #[test]
    fn a_chart_has_a_panel_for_each_case_of_several_sizes() {
        let drawn = svg(&tables().iter().collect::<Vec<_>>());
        assert_eq!(drawn.matches("<g transform").count(), 1);
        assert!(drawn.contains(">trafgen</text>") && drawn.ends_with("</svg>\n"));
    }
}
