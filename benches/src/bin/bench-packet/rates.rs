//! Caliper's chart: gap errors against rates, a panel for each size, with the module and software in it.

use std::fmt::Write as _;

use crate::cases::caliper::RATES;
use crate::figures::Table;
use crate::sizes::{COLOURS, HEIGHT, LEFT, LINE, TOP, WIDTH, legend, line};
use crate::stats::median;
use crate::svg::grid_line;

/// Errors from 1 ns on: that of no error at all is drawn there, too.
const LEAST: f64 = 1.0;

/// Rows of all tables of one size: 95th percentiles in ns, one for each rate.
struct Panel<'a> {
    size: &'a str,
    rows: Vec<(&'a str, Vec<Option<f64>>)>,
}

/// `None`: no table is of this experiment.
pub fn svg(tables: &[&Table]) -> Option<String> {
    let mut panels: Vec<Panel<'_>> = Vec::new();
    for table in tables.iter().filter(|table| table.title.starts_with("gap errors of ")) {
        let size = table.title.rsplit(", ").next()?;
        let at = panels.iter().position(|panel| panel.size == size).unwrap_or_else(|| {
            panels.push(Panel { size, rows: Vec::new() });
            panels.len() - 1
        });
        for row in &table.rows {
            let value = |rate: &&str| median(&row.figures.get(*rate)?.values().copied().collect::<Vec<_>>());
            panels[at].rows.push((&row.name, RATES.iter().map(value).collect()));
        }
    }
    let most_rows = panels.iter().map(|panel| panel.rows.len()).max()? as f64;
    let (wide, tall) = (LEFT + WIDTH + 40.0, TOP + HEIGHT + 40.0 + most_rows * LINE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {tall:.0}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        wide * panels.len() as f64,
    );
    for (at, panel) in panels.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate({:.0} 0)\">", wide * at as f64);
        draw(&mut svg, panel);
        svg.push_str("</g>\n");
    }
    Some(svg + "</svg>\n")
}

fn draw(svg: &mut String, panel: &Panel<'_>) {
    let all = panel.rows.iter().flat_map(|(_, values)| values.iter().flatten().copied());
    let most = all.fold(10.0, f64::max) * 1.5;
    let x = |at: usize| LEFT + at as f64 / (RATES.len() - 1) as f64 * WIDTH;
    let y = |ns: f64| TOP + HEIGHT * (1.0 - (ns.max(LEAST) / LEAST).ln() / (most / LEAST).ln());
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">Gap error, 95th percentile, {}</text>",
        panel.size
    );
    let ticks =
        [(1.0, "0, 1 ns"), (10.0, "10 ns"), (1e2, "100 ns"), (1e3, "1 µs"), (1e4, "10 µs"), (1e5, "100 µs")];
    for (tick, label) in ticks.into_iter().filter(|(tick, _)| *tick < most) {
        grid_line(svg, (LEFT, LEFT + WIDTH), y(tick), label);
    }
    for (at, rate) in RATES.iter().enumerate() {
        let number = if at + 1 < RATES.len() { rate.trim_end_matches(" Mb/s") } else { *rate };
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\" font-size=\"10\">{number}</text>",
            x(at),
            TOP + HEIGHT + 16.0
        );
    }
    for (at, (name, values)) in panel.rows.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let dash = if name.starts_with("module") { "none" } else { "4 3" };
        let points = values.iter().enumerate().filter_map(|(at, value)| Some((x(at), y((*value)?))));
        line(svg, points, colour, dash);
        let simulated = if name.starts_with("module") { " (simulated)" } else { "" };
        legend(svg, at, &format!("{name}{simulated}"), colour, dash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_has_the_rows_of_all_tables_of_its_size() {
        let of = |whose: &str, size: usize, row: &str, ns: f64| {
            let mut table = Table::new(format!("gap errors of {whose}, p95 in ns, {size} B"), &RATES);
            RATES.iter().for_each(|rate| table.put(row, rate, 0, ns));
            table
        };
        let tables = [
            of("software", 64, "tare", 300.0),
            of("the module", 64, "module: even gaps", 0.0),
            of("software", 1_518, "tare", 200.0),
        ];
        let drawn = svg(&tables.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((drawn.matches("<g transform").count(), drawn.matches("<polyline").count()), (2, 3));
        // No error lies on the axis.
        assert!(drawn.contains(&format!("{LEFT:.1},{:.1}", TOP + HEIGHT)), "{drawn}");
        assert!(drawn.contains("module: even gaps (simulated)"));
        assert!(svg(&[&Table::new("send, 64 B", &["M/s"])]).is_none());
    }
}
