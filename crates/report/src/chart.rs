//! Line charts as SVG, drawn without a library.
//!
//! ```text
//! ┌ y labels ┬──────────── plot ────────────┐   The plot is an SVG stretched to any width; all text is HTML beside
//! │          │  lines, grid, shade, tips    │   it, so that it is as legible on a phone as on a wide screen.
//! └──────────┴─────────── x labels ─────────┘
//! ```

use std::fmt::Write;

/// Units of the stretched drawing.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 300.0;

/// Escapes text for HTML, in elements and in quoted attributes; control characters become spaces.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push('\n'),
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

/// How values become heights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From 0.
    Linear { high: f64, step: f64 },
    /// Whole decades.
    Log { low: f64, high: f64 },
}

impl Scale {
    /// From 0 to a round number above `high`.
    pub fn linear(high: f64) -> Self {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        let step = nice_step(high / 4.0);
        Self::Linear { high: (high * 1.02 / step).ceil() * step, step }
    }

    /// From a round number below the smallest of `values` to one above the largest; zeros are drawn at the foot.
    pub fn log(values: impl Iterator<Item = f64>) -> Self {
        let positive = values.filter(|value| *value > 0.0 && value.is_finite());
        let (low, high) = positive.fold((f64::MAX, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
        if high == 0.0 {
            return Self::Log { low: 1.0, high: 10.0 };
        }
        // A round number is at most 2.5 times the number that it is above, so this one is not over the smallest value.
        let low = nice_step(low / 2.5);
        Self::Log { low, high: nice_step(high * 1.05).max(low * 10.0) }
    }

    /// 0 at the foot, 1 at the top.
    fn at(self, value: f64) -> f64 {
        match self {
            Self::Linear { high, .. } => value / high,
            Self::Log { low, high } => (value.max(low) / low).log10() / (high / low).log10(),
        }
        .clamp(0.0, 1.0)
    }

    fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { high, step } => {
                (0..=(high / step).round() as u32).map(|n| f64::from(n) * step).collect()
            }
            Self::Log { low, high } => {
                let decades = (high / low).log10();
                let first = (low.log10() - 1e-9).ceil() as i32;
                let last = (high.log10() + 1e-9).floor() as i32;
                let each = (decades / 6.0).ceil().max(1.0) as usize;
                let powers = (first..=last).step_by(each).map(|n| 10f64.powi(n));
                if decades > 2.5 {
                    return powers.collect();
                }
                let between =
                    (first - 1..=last).flat_map(|n| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(n)));
                between.filter(|tick| (low * 0.999..=high * 1.001).contains(tick)).collect()
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten, not below `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= least * 0.999_999).unwrap_or(power * 10.0)
}

/// One line; `None` breaks it.
#[derive(Debug)]
pub struct Line {
    pub name: &'static str,
    /// CSS class that gives it its colour.
    pub class: &'static str,
    pub points: Vec<Option<Point>>,
}

impl Line {
    fn is_band(&self) -> bool {
        self.points.iter().flatten().any(|point| point.low < point.high)
    }
}

/// A value at x, or a stretch of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub low: f64,
    pub high: f64,
}

impl Point {
    pub const fn one(x: f64, y: f64) -> Self {
        Self { x, low: y, high: y }
    }
}

/// Says its text while the pointer is over this stretch of x.
#[derive(Debug)]
pub struct Tip {
    pub from: f64,
    pub to: f64,
    pub text: String,
}

#[derive(Debug)]
pub struct Chart {
    pub title: &'static str,
    /// What the eye should look for; plain text.
    pub caption: &'static str,
    pub x: (f64, f64),
    pub x_ticks: Vec<(f64, String)>,
    pub y: Scale,
    pub y_text: fn(f64) -> String,
    pub lines: Vec<Line>,
    /// A stretch of x in another shade, and what it is.
    pub shade: Option<(f64, f64, &'static str)>,
    pub tips: Vec<Tip>,
}

impl Chart {
    pub fn html(&self) -> String {
        let mut out = String::new();
        // Writing to a String does not fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "<figure><figcaption><h2>{}</h2><p>{}</p>", self.title, self.caption)?;
        if self.lines.iter().all(|line| line.points.iter().all(Option::is_none)) {
            return writeln!(out, "</figcaption><p class=\"empty\">No values to draw.</p></figure>");
        }
        self.write_legend(out)?;
        writeln!(out, "</figcaption><div class=\"chart\" role=\"img\" aria-label=\"{}\">", self.title)?;
        self.write_y_labels(out)?;
        let view = format!("0 0 {WIDTH} {HEIGHT}");
        writeln!(out, "<svg viewBox=\"{view}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">")?;
        self.write_ground(out)?;
        for line in &self.lines {
            let is_band = line.is_band();
            let path: String = runs(&line.points).map(|run| self.path(run, is_band)).collect();
            let class = if is_band { "line band" } else { "line" };
            writeln!(out, "<path class=\"{class} {}\" d=\"{path}\"/>", line.class)?;
        }
        self.write_tips(out)?;
        writeln!(out, "</svg>")?;
        self.write_x_labels(out)?;
        writeln!(out, "</div></figure>")
    }

    fn write_legend(&self, out: &mut String) -> std::fmt::Result {
        write!(out, "<p class=\"legend\">")?;
        for line in &self.lines {
            write!(out, "<span><i class=\"{}\"></i>{}</span>", line.class, line.name)?;
        }
        if let Some((_, _, what)) = self.shade {
            write!(out, "<span><i class=\"shade\"></i>{what}</span>")?;
        }
        if self.lines.iter().any(Line::is_band) {
            write!(out, "<span>bands: lowest to highest of several intervals</span>")?;
        }
        writeln!(out, "</p>")
    }

    fn write_y_labels(&self, out: &mut String) -> std::fmt::Result {
        write!(out, "<div class=\"ys\">")?;
        for value in self.y.ticks() {
            let top = (1.0 - self.y.at(value)) * 100.0;
            write!(out, "<span style=\"top:{top:.2}%\">{}</span>", escape(&(self.y_text)(value)))?;
        }
        writeln!(out, "</div>")
    }

    fn write_x_labels(&self, out: &mut String) -> std::fmt::Result {
        write!(out, "<div class=\"xs\">")?;
        for (index, (value, text)) in self.x_ticks.iter().enumerate() {
            let left = self.x_share(*value) * 100.0;
            let class = if index % 2 == 1 { " class=\"odd\"" } else { "" };
            write!(out, "<span{class} style=\"left:{left:.2}%\">{}</span>", escape(text))?;
        }
        writeln!(out, "</div>")
    }

    /// Shade and grid.
    fn write_ground(&self, out: &mut String) -> std::fmt::Result {
        if let Some((from, to, _)) = self.shade {
            let (left, right) = (self.x_share(from) * WIDTH, self.x_share(to) * WIDTH);
            let width = right - left;
            writeln!(
                out,
                "<rect class=\"shade\" x=\"{left:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\"/>"
            )?;
        }
        let mut path = String::new();
        for value in self.y.ticks() {
            write!(path, "M0 {:.1}H{WIDTH}", self.y_at(value))?;
        }
        for (value, _) in &self.x_ticks {
            write!(path, "M{:.1} 0V{HEIGHT}", self.x_share(*value) * WIDTH)?;
        }
        writeln!(out, "<path class=\"grid\" d=\"{path}\"/>")
    }

    /// A line through the points of one run, or the outline of the band between their ends.
    fn path(&self, run: &[Option<Point>], is_band: bool) -> String {
        let points = || run.iter().flatten();
        let at = |x: f64, y: f64| format!("{:.1} {:.1}", self.x_share(x) * WIDTH, self.y_at(y));
        if let [Some(alone)] = run {
            // A point would be invisible: a stroke 24 wide, from the lowest to the highest.
            let (x, low) = (self.x_share(alone.x) * WIDTH - 12.0, self.y_at(alone.low));
            let high = self.y_at(alone.high);
            return format!("M{x:.1} {low:.1}h24M{x:.1} {high:.1}h24");
        }
        let there = points().map(|point| at(point.x, point.high));
        let mut stops: Vec<String> = there.collect();
        if is_band {
            stops.extend(points().rev().map(|point| at(point.x, point.low)));
        }
        format!("M{}{}", stops.join("L"), if is_band { "Z" } else { "" })
    }

    fn write_tips(&self, out: &mut String) -> std::fmt::Result {
        for tip in &self.tips {
            let (left, right) = (self.x_share(tip.from) * WIDTH, self.x_share(tip.to) * WIDTH);
            let width = (right - left).max(0.5);
            let text = escape(&tip.text);
            writeln!(
                out,
                "<rect class=\"tip\" x=\"{left:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\"><title>{text}</title></rect>"
            )?;
        }
        Ok(())
    }

    fn x_share(&self, x: f64) -> f64 {
        let (from, to) = self.x;
        if to > from { ((x - from) / (to - from)).clamp(0.0, 1.0) } else { 0.5 }
    }

    fn y_at(&self, y: f64) -> f64 {
        (1.0 - self.y.at(y)) * HEIGHT
    }
}

/// Stretches of points without a gap.
fn runs(points: &[Option<Point>]) -> impl Iterator<Item = &[Option<Point>]> {
    points.split(Option::is_none).filter(|run| !run.is_empty())
}

/// Round times from `from` to `to`, at most nine of them.
pub fn time_ticks(from: f64, to: f64) -> Vec<(f64, String)> {
    const STEPS: [f64; 18] = [
        1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0,
        21600.0, 43200.0, 86400.0,
    ];
    let span = (to - from).max(0.0);
    let step = if span <= 8.0 {
        if span < 1.0 { nice_step((span / 5.0).max(1e-6)) } else { 1.0 }
    } else {
        STEPS.into_iter().find(|step| span / step <= 8.0).unwrap_or_else(|| nice_step(span / 8.0))
    };
    let first = (from / step).ceil() as i64;
    let last = ((to / step) + 1e-9).floor() as i64;
    (first..=last).take(10).map(|n| n as f64 * step).map(|at| (at, clock(at, step))).collect()
}

/// `12 s`, `0.25 s`, `1:30`, `2:00:00`.
fn clock(at: f64, step: f64) -> String {
    if step < 1.0 {
        return format!("{} s", crate::words::number(at));
    }
    let seconds = at.round() as u64;
    match seconds {
        s if s < 60 => format!("{s} s"),
        s if s < 3600 => format!("{}:{:02}", s / 60, s % 60),
        s => format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_hold_their_values() {
        assert_eq!(Scale::linear(20_000.0), Scale::Linear { high: 25_000.0, step: 5_000.0 });
        assert_eq!(Scale::linear(0.0).ticks().first(), Some(&0.0));
        assert_eq!(Scale::log([1.5e6, 9e8].into_iter()), Scale::Log { low: 1e6, high: 1e9 });
        assert_eq!(Scale::log([1.5e6, 9e8].into_iter()).ticks(), [1e6, 1e7, 1e8, 1e9]);
        assert_eq!(Scale::log([1e6].into_iter()).ticks(), [5e5, 1e6, 2e6, 5e6]);
        assert_eq!(Scale::log(std::iter::empty()).at(0.0), 0.0);
        let many = Scale::log([1.0, 1e12].into_iter()).ticks();
        assert!(many.len() <= 7, "{many:?}");
    }

    #[test]
    fn time_ticks_are_round_and_few() {
        let texts = |from, to| time_ticks(from, to).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(texts(0.0, 20.0), ["0 s", "5 s", "10 s", "15 s", "20 s"]);
        assert_eq!(texts(0.0, 3600.0).last().unwrap(), "1:00:00");
        assert_eq!(texts(0.0, 0.5), ["0 s", "0.1 s", "0.2 s", "0.3 s", "0.4 s", "0.5 s"]);
        for span in [0.0, 0.001, 1.0, 9.0, 100.0, 86_400.0, 1e7] {
            assert!((1..=10).contains(&time_ticks(0.0, span).len()), "{span}");
        }
    }

    #[test]
    fn escapes_all_that_html_gives_a_meaning() {
        assert_eq!(escape("<a b=\"c\">&'\u{1b}["), "&lt;a b=&quot;c&quot;&gt;&amp;&#39; [");
    }
}
