//! A chart as a figure of HTML: an SVG with labels, legend and table.
//!
//! ```text
//! title, caption
//! legend: a button for each series
//! ┌ y labels ┬──────────── plot ────────────┐   The plot is an SVG stretched to any width; all text is HTML
//! │          │  lines, bars, cells, grid    │   beside it, so that it is as legible on a phone as on a wide
//! └──────────┴─────────── x labels ─────────┘   screen.
//! table, folded: every value, exactly
//! ```
//!
//! `report.js` reads values from the table and places from the `data-` attributes: nothing is in the page
//! twice.

use crate::chart::{Axis, Band, Body, Chart, HeatColumn, Mark, Point, Scale, Series};
use crate::chart_table;
use crate::markup::escape;
use crate::words;
use std::fmt::Write;

/// Units of the stretched drawing.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 300.0;
/// Marks are seen from this width on, and stand on the upper edge; those that are wider than this show in the
/// whole plot.
const LEAST_MARK: f64 = 2.0;
const MARK_HEIGHT: f64 = 10.0;
/// Shades of a heat map.
const SHADES: usize = 8;

impl Chart {
    /// The whole figure.
    pub fn html(&self) -> String {
        let mut out = String::new();
        // Writing to a String does not fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let (id, title) = (escape(&self.id), escape(&self.title));
        let class = if self.is_small { "chart small" } else { "chart" };
        writeln!(out, "<figure class=\"{class}\" id=\"c-{id}\"{}>", self.data())?;
        writeln!(out, "<figcaption><h3>{title}</h3><p>{}</p></figcaption>", escape(&self.caption))?;
        if self.is_empty() {
            return writeln!(out, "<p class=\"empty\">No values to draw.</p></figure>");
        }
        self.write_legend(out)?;
        writeln!(out, "<div class=\"plot\">")?;
        self.write_y_labels(out)?;
        writeln!(
            out,
            "<div class=\"canvas\" role=\"img\" aria-label=\"{title}. Its values are in the table below.\">"
        )?;
        writeln!(
            out,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
        )?;
        self.write_ground(out)?;
        match &self.body {
            Body::Lines(series) => {
                self.write_band(out, series)?;
                self.write_lines(out, series)?;
            }
            Body::Stacked(series) => self.write_stack(out, series)?,
            Body::Heat(columns) => self.write_heat(out, columns)?,
        }
        self.write_marks(out)?;
        writeln!(out, "</svg></div>")?;
        self.write_x_labels(out)?;
        writeln!(out, "</div>")?;
        chart_table::write(out, self)?;
        writeln!(out, "</figure>")
    }

    /// What a script needs to know to draw and to read values.
    fn data(&self) -> String {
        let kind = match self.body {
            Body::Lines(_) => "lines",
            Body::Stacked(_) => "stacked",
            Body::Heat(_) => "heat",
        };
        let axis = match self.x {
            Axis::Time { from, to } => format!("time {from} {to}"),
            Axis::Nines { nines } => format!("nines 0 {nines}"),
            Axis::Lengths { low, high } => format!("lengths {low} {high}"),
            Axis::Values { high, unit } => format!("values 0 {high} {}", unit.key()),
        };
        let scale = match self.y {
            Scale::Linear { high, .. } => format!("linear 0 {high}"),
            Scale::Log { low, high } => format!("log {low} {high}"),
        };
        format!(
            " data-chart=\"{}\" data-kind=\"{kind}\" data-x=\"{axis}\" data-y=\"{scale}\" data-unit=\"{}\"",
            escape(&self.id),
            self.unit.key()
        )
    }

    fn write_legend(&self, out: &mut String) -> std::fmt::Result {
        write!(out, "<div class=\"legend\">")?;
        for (index, series) in self.series().iter().enumerate() {
            write!(
                out,
                "<button type=\"button\" aria-pressed=\"true\" data-series=\"{index}\"><svg class=\"key {}\" viewBox=\"0 0 22 10\" aria-hidden=\"true\"><path d=\"M0 5H22\"/></svg>{}</button>",
                series.tone.class(),
                escape(&series.name)
            )?;
        }
        if let Body::Heat(columns) = &self.body {
            write_heat_key(out, most_of(columns))?;
        }
        if let Some(shade) = &self.shade {
            write!(out, "<span><i class=\"shade\"></i>{}</span>", escape(&shade.what))?;
        }
        if let Some(band) = &self.band {
            write!(out, "<span><i class=\"band\"></i>{}</span>", escape(&band.what))?;
        }
        if !self.marks.is_empty() {
            write!(out, "<span><i class=\"pause\"></i>pauses of the generator</span>")?;
        }
        if self.is_over_time() {
            write!(
                out,
                "<span class=\"tools\"><button type=\"button\" data-zoom=\"in\" aria-label=\"zoom in on time\">+</button><button type=\"button\" data-zoom=\"out\" aria-label=\"zoom out\">−</button><button type=\"button\" data-zoom=\"all\">whole run</button></span>"
            )?;
        }
        writeln!(out, "</div>")
    }

    fn write_y_labels(&self, out: &mut String) -> std::fmt::Result {
        write!(out, "<div class=\"ys\" aria-hidden=\"true\">")?;
        let ticks = self.y.ticks();
        for (index, value) in ticks.iter().enumerate() {
            let top = (1.0 - self.y.at(*value)) * 100.0;
            // A small chart has room for every other one.
            let class = if index % 2 == 1 && ticks.len() > 4 { " class=\"odd\"" } else { "" };
            write!(out, "<span{class} style=\"top:{top:.2}%\">{}</span>", escape(&self.unit.tick(*value)))?;
        }
        writeln!(out, "</div>")
    }

    fn write_x_labels(&self, out: &mut String) -> std::fmt::Result {
        write!(out, "<div class=\"xs\" aria-hidden=\"true\">")?;
        for (index, (value, text)) in self.x.ticks().iter().enumerate() {
            let left = self.x.at(*value) * 100.0;
            let class = if index % 2 == 1 { " class=\"odd\"" } else { "" };
            write!(out, "<span{class} style=\"left:{left:.2}%\">{}</span>", escape(text))?;
        }
        writeln!(out, "</div>")
    }

    /// Shade and grid.
    fn write_ground(&self, out: &mut String) -> std::fmt::Result {
        if let Some(shade) = &self.shade {
            let (left, right) = (self.x_at(shade.from), self.x_at(shade.to));
            let width = right - left;
            writeln!(out, "<path class=\"shade\" d=\"M{left:.1} 0h{width:.1}v{HEIGHT}h-{width:.1}z\"/>")?;
        }
        let rows: String =
            self.y.ticks().into_iter().map(|value| format!("M0 {:.1}H{WIDTH}", self.y_at(value))).collect();
        let columns: String =
            self.x.ticks().iter().map(|(value, _)| format!("M{:.1} 0V{HEIGHT}", self.x_at(*value))).collect();
        writeln!(out, "<path class=\"grid\" d=\"{rows}\"/><path class=\"grid gx\" d=\"{columns}\"/>")
    }

    fn write_lines(&self, out: &mut String, series: &[Series]) -> std::fmt::Result {
        // The first, which matters most, is drawn last and lies on top.
        for (index, series) in series.iter().enumerate().rev() {
            let path: String = runs(&series.points).map(|run| self.line(run)).collect();
            let class = series.tone.class();
            writeln!(out, "<path class=\"line {class}\" data-series=\"{index}\" d=\"{path}\"/>")?;
        }
        Ok(())
    }

    /// From left to right along the upper line and back along the lower one, where both have values.
    fn write_band(&self, out: &mut String, series: &[Series]) -> std::fmt::Result {
        let Some(Band { upper, lower, .. }) = self.band else { return Ok(()) };
        let lines = format!("{upper} {lower}");
        let (Some(upper), Some(lower)) = (series.get(upper), series.get(lower)) else { return Ok(()) };
        let pairs: Vec<(&Point, &Point)> = upper.points.iter().zip(&lower.points).collect();
        let has_both = |(upper, lower): &(&Point, &Point)| {
            upper.y.is_some() && lower.y.is_some() && upper.from == lower.from
        };
        let mut path = String::new();
        for run in pairs.split(|pair| !has_both(pair)).filter(|run| run.len() > 1) {
            let at = |point: &Point| {
                format!("{} {}", short(self.x_at(point.middle())), short(self.y_at(point.y.unwrap_or(0.0))))
            };
            let there = run.iter().map(|(upper, _)| at(upper));
            let back = run.iter().rev().map(|(_, lower)| at(lower));
            write!(path, "M{}z", there.chain(back).collect::<Vec<_>>().join("L"))?;
        }
        writeln!(out, "<path class=\"band\" data-lines=\"{lines}\" d=\"{path}\"/>")
    }

    /// A tick on the upper edge for each, and a stripe for those that are long enough to be seen.
    fn write_marks(&self, out: &mut String) -> std::fmt::Result {
        if self.marks.is_empty() {
            return Ok(());
        }
        let (mut ticks, mut stripes) = (String::new(), String::new());
        for Mark { from, to } in &self.marks {
            let (left, width) = (self.x_at(*from), self.x_at(*to) - self.x_at(*from));
            let seen = width.max(LEAST_MARK);
            write!(ticks, "M{} 0h{}v{MARK_HEIGHT}h-{}z", short(left), short(seen), short(seen))?;
            if width >= LEAST_MARK {
                write!(stripes, "M{} 0h{}v{HEIGHT}h-{}z", short(left), short(width), short(width))?;
            }
        }
        writeln!(out, "<path class=\"pause stripe\" d=\"{stripes}\"/><path class=\"pause\" d=\"{ticks}\"/>")
    }

    /// A line through the middles of one run; a point that is alone becomes a dash as wide as it holds.
    fn line(&self, run: &[Point]) -> String {
        let at = |x: f64, point: &Point| {
            format!("{} {}", short(self.x_at(x)), short(self.y_at(point.y.unwrap_or(0.0))))
        };
        match run {
            [alone] if alone.from < alone.to => {
                format!("M{}H{}", at(alone.from, alone), short(self.x_at(alone.to)))
            }
            [alone] => format!("M{}h.1", at(alone.from, alone)),
            many => {
                let stops: Vec<String> = many.iter().map(|point| at(point.middle(), point)).collect();
                format!("M{}", stops.join("L"))
            }
        }
    }

    /// Bars from foot to top; each series' outline runs along its own top and back along the one below.
    fn write_stack(&self, out: &mut String, series: &[Series]) -> std::fmt::Result {
        let mut below = vec![0.0; series.first().map_or(0, |series| series.points.len())];
        for (index, series) in series.iter().enumerate() {
            let mut path = String::new();
            for (point, below) in series.points.iter().zip(&mut below) {
                let Some(y) = point.y.filter(|y| *y > 0.0) else { continue };
                let (left, right) = (self.x_at(point.from), self.x_at(point.to));
                let (foot, top) = (self.y_at(*below), self.y_at(*below + y));
                *below += y;
                rectangle(&mut path, (left, right), (foot, top))?;
            }
            let class = series.tone.class();
            writeln!(out, "<path class=\"bars {class}\" data-series=\"{index}\" d=\"{path}\"/>")?;
        }
        Ok(())
    }

    /// One path for each shade; neighbours of the same shade are one rectangle.
    fn write_heat(&self, out: &mut String, columns: &[HeatColumn]) -> std::fmt::Result {
        let most = most_of(columns);
        let mut paths = vec![String::new(); SHADES];
        for (index, column) in columns.iter().enumerate() {
            for cell in &column.cells {
                let shade = shade_of(cell.count, most);
                let is_same = |other: &HeatColumn| {
                    other.cells.iter().any(|c| c.from_ns == cell.from_ns && shade_of(c.count, most) == shade)
                };
                if index > 0 && is_same(&columns[index - 1]) {
                    continue;
                }
                let run = columns[index..].iter().take_while(|other| is_same(other)).count();
                let last = &columns[index + run - 1];
                let (left, right) = (self.x_at(column.from), self.x_at(last.to));
                let (top, foot) = (self.y_at(cell.to_ns as f64), self.y_at(cell.from_ns as f64));
                rectangle(&mut paths[shade - 1], (left, right), (foot, top))?;
            }
        }
        for (index, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            writeln!(out, "<path class=\"heat h{}\" d=\"{path}\"/>", index + 1)?;
        }
        Ok(())
    }

    fn x_at(&self, x: f64) -> f64 {
        self.x.at(x) * WIDTH
    }

    fn y_at(&self, y: f64) -> f64 {
        (1.0 - self.y.at(y)) * HEIGHT
    }
}

/// Adds a rectangle to a path: its left and right side, its foot and its top.
fn rectangle(path: &mut String, (left, right): (f64, f64), (foot, top): (f64, f64)) -> std::fmt::Result {
    let (left, right, foot, top) = (short(left), short(right), short(foot), short(top));
    write!(path, "M{left} {foot}H{right}V{top}H{left}z")
}

/// One decimal, and none where it is 0: a page has tens of thousands of these.
fn short(place: f64) -> String {
    let text = format!("{place:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Stretches of points without a gap.
fn runs(points: &[Point]) -> impl Iterator<Item = &[Point]> {
    points.split(|point| point.y.is_none()).filter(|run| !run.is_empty())
}

/// The fullest cell.
fn most_of(columns: &[HeatColumn]) -> u64 {
    columns.iter().flat_map(|column| &column.cells).map(|cell| cell.count).max().unwrap_or(0)
}

/// 1 to [`SHADES`], by the logarithm: one request among a million must be seen.
pub(crate) fn shade_of(count: u64, most: u64) -> usize {
    let share = (count as f64).ln_1p() / (most.max(1) as f64).ln_1p();
    ((share * SHADES as f64).ceil() as usize).clamp(1, SHADES)
}

fn write_heat_key(out: &mut String, most: u64) -> std::fmt::Result {
    write!(out, "<span class=\"heatkey\">1 <svg viewBox=\"0 0 80 10\" aria-hidden=\"true\">")?;
    for shade in 1..=SHADES {
        write!(out, "<path class=\"heat h{shade}\" d=\"M{} 0h10v10h-10z\"/>", (shade - 1) * 10)?;
    }
    write!(out, "</svg> {} in a cell, logarithmic</span>", words::counted(most, "request"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Tone, Unit};
    use store::HeatCell;

    fn chart(body: Body) -> Chart {
        Chart {
            id: "x".into(),
            title: "X".into(),
            caption: String::new(),
            x: Axis::Time { from: 0.0, to: 10.0 },
            y: Scale::Linear { high: 10.0, step: 5.0 },
            unit: Unit::Count,
            body,
            shade: None,
            band: None,
            marks: Vec::new(),
            is_small: false,
        }
    }

    fn point(from: f64, y: Option<f64>) -> Point {
        Point { from, to: from + 1.0, y }
    }

    fn paths(html: &str, class: &str) -> Vec<String> {
        let from = |part: &str| part.split("d=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        html.split(&format!("<path class=\"{class}")).skip(1).map(from).collect()
    }

    #[test]
    fn a_gap_breaks_a_line_and_one_alone_is_a_dash() {
        let points =
            vec![point(0.0, Some(0.0)), point(1.0, Some(10.0)), point(2.0, None), point(3.0, Some(5.0))];
        let html = chart(Body::Lines(vec![Series::new("a", Tone::Color(1), points)])).html();
        // The plot is 1000 × 300: middles at 50 and 150; the value 10 at the top; the dash from 300 to 400.
        assert_eq!(paths(&html, "line"), ["M50 300L150 0M300 150H400"]);
    }

    #[test]
    fn bars_stand_on_each_other() {
        let series = |tone, y| Series::new("s", Tone::Color(tone), vec![point(0.0, Some(y))]);
        let html = chart(Body::Stacked(vec![series(1, 5.0), series(2, 0.0), series(3, 2.5)])).html();
        assert_eq!(paths(&html, "bars"), ["M0 300H100V150H0z", "", "M0 150H100V75H0z"]);
    }

    #[test]
    fn neighbours_of_one_shade_are_one_rectangle() {
        let column = |from, count| HeatColumn {
            from,
            to: from + 1.0,
            cells: vec![HeatCell { from_ns: 4, to_ns: 5, count }],
        };
        let html = chart(Body::Heat(vec![column(0.0, 9), column(1.0, 9), column(2.0, 1)])).html();
        let heat = html.split("class=\"canvas\"").nth(1).unwrap();
        // ln 2 / ln 10 = 0.301; of eight shades the third.
        assert_eq!(paths(heat, "heat h8"), ["M0 180H200V150H0z"]);
        assert_eq!(paths(heat, "heat h3"), ["M200 180H300V150H200z"]);
    }

    #[test]
    fn a_band_lies_between_its_lines_where_both_have_values() {
        let line = |ys: [Option<f64>; 4]| {
            let points = ys.iter().enumerate().map(|(n, y)| point(n as f64, *y)).collect();
            Series::new("s", Tone::Color(1), points)
        };
        let (net, gross) = (
            line([Some(2.0), Some(4.0), None, Some(0.0)]),
            line([Some(10.0), Some(4.0), Some(9.0), Some(9.0)]),
        );
        let band = Some(Band { upper: 1, lower: 0, what: "tare".into() });
        let html = Chart { band, ..chart(Body::Lines(vec![net, gross])) }.html();
        // 10 is at the top (0), 4 at 180, 2 at 240; one step alone has no room between.
        assert_eq!(paths(&html, "band"), ["M50 0L150 180L150 180L50 240z"]);
        assert!(html.contains("<i class=\"band\"></i>tare"));
    }

    #[test]
    fn a_mark_is_seen_however_short_it_is() {
        let marks = vec![Mark { from: 1.0, to: 1.001 }, Mark { from: 5.0, to: 6.0 }];
        let line = Series::new("s", Tone::Color(1), vec![point(0.0, Some(1.0)), point(1.0, Some(1.0))]);
        let html = Chart { marks, ..chart(Body::Lines(vec![line])) }.html();
        assert_eq!(paths(&html, "pause\""), ["M100 0h2v10h-2zM500 0h100v10h-100z"]);
        assert_eq!(paths(&html, "pause stripe"), ["M500 0h100v300h-100z"]);
        assert!(html.contains("pauses of the generator"));
    }

    #[test]
    fn nothing_to_draw_is_said() {
        let html = chart(Body::Lines(vec![])).html();
        assert!(html.contains("No values to draw") && !html.contains("<svg"));
    }
}
