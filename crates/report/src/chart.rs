//! A picture as data: what is drawn, before anyone draws it.
//!
//! ```text
//! RunResult, Timeline ──► charts.rs ──► Chart ──► svg.rs         the HTML report and the live page
//!                                             └─► chart_text.rs  the terminal
//! ```
//!
//! Values keep their own units (nanoseconds, counts, shares of 1); [`Unit`] says how they are written. A value
//! that was not measured is `None` and breaks a line, so that a gap is seen as one.

pub use crate::scale::Scale;
use crate::scale::time_ticks;
use crate::words;
use store::HeatCell;

/// One picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Letters, digits and hyphens; one of its kind in a page: `latency`.
    pub id: String,
    /// With the unit, where the labels of the axis do not say it.
    pub title: String,
    /// What the eye should look for; plain text.
    pub caption: String,
    pub x: Axis,
    pub y: Scale,
    pub unit: Unit,
    pub body: Body,
    pub shade: Option<Shade>,
    /// What lies between two of its lines.
    pub band: Option<Band>,
    /// Stretches of x in which something happened that concerns every line.
    pub marks: Vec<Mark>,
    /// Half as high, and beside another where there is room.
    pub is_small: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Lines through the middles of their points.
    Lines(Vec<Series>),
    /// Bars on top of each other, the first at the foot. All series have the same stretches of x.
    Stacked(Vec<Series>),
    Heat(Vec<HeatColumn>),
}

/// Values of one kind along x.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    pub tone: Tone,
    /// Ascending in x.
    pub points: Vec<Point>,
}

/// A value that holds for a stretch of x, or at one x (`from == to`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub from: f64,
    pub to: f64,
    pub y: Option<f64>,
}

/// One step of time of a heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatColumn {
    pub from: f64,
    pub to: f64,
    /// Ascending, none empty.
    pub cells: Vec<HeatCell>,
}

/// A stretch of x in another shade, and what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Shade {
    pub from: f64,
    pub to: f64,
    pub what: String,
}

/// The room between two lines, by their numbers, and what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    pub upper: usize,
    pub lower: usize,
    pub what: String,
}

/// A stretch of x that is pointed at, however short it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    pub from: f64,
    pub to: f64,
}

/// What lies along x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Axis {
    /// Seconds since the origin of the run.
    Time { from: f64, to: f64 },
    /// Shares of 1; each further nine (90 %, 99 %, 99.9 %…) takes as much room as the last. The share 1 itself
    /// is at the end, `nines` from 0 %.
    Nines { nines: f64 },
    /// Lengths of time in nanoseconds, logarithmic, between two that are greater than 0.
    Lengths { low: f64, high: f64 },
    /// Counts or rates, from 0.
    Values { high: f64, unit: Unit },
}

/// Colours by number, and grey. Each has a stroke of its own, so that lines can be told apart without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// 1 to 8; others begin again.
    Color(usize),
    /// Beside what matters.
    Quiet,
}

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    PerSecond,
    /// Of 1, written in percent.
    Share,
    Count,
    Bytes,
}

impl Chart {
    /// Names and colours of what is drawn; nothing for a heat map.
    pub fn series(&self) -> &[Series] {
        match &self.body {
            Body::Lines(series) | Body::Stacked(series) => series,
            Body::Heat(_) => &[],
        }
    }

    /// Whether there is no value at all.
    pub fn is_empty(&self) -> bool {
        match &self.body {
            Body::Lines(series) | Body::Stacked(series) => series.iter().all(Series::is_empty),
            Body::Heat(columns) => columns.iter().all(|column| column.cells.is_empty()),
        }
    }

    pub fn is_over_time(&self) -> bool {
        matches!(self.x, Axis::Time { .. })
    }
}

impl Series {
    pub fn new(name: impl Into<String>, tone: Tone, points: Vec<Point>) -> Self {
        Self { name: name.into(), tone, points }
    }

    pub fn is_empty(&self) -> bool {
        self.points.iter().all(|point| point.y.is_none())
    }

    /// Values that are there.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.points.iter().filter_map(|point| point.y)
    }
}

impl Point {
    pub const fn middle(&self) -> f64 {
        (self.from + self.to) / 2.0
    }
}

impl Axis {
    /// 0 at the left, 1 at the right.
    pub fn at(self, x: f64) -> f64 {
        let share = match self {
            Self::Time { from, to } if to > from => (x - from) / (to - from),
            Self::Time { .. } => 0.5,
            Self::Nines { nines } => nines_of(x) / nines,
            Self::Lengths { low, high } => Scale::Log { low, high }.at(x),
            Self::Values { high, .. } if high > 0.0 => x / high,
            Self::Values { .. } => 0.0,
        };
        share.clamp(0.0, 1.0)
    }

    /// Round places and what stands at them.
    pub fn ticks(self) -> Vec<(f64, String)> {
        match self {
            Self::Time { from, to } => time_ticks(from, to),
            Self::Nines { nines } => nines_ticks(nines),
            Self::Lengths { low, high } => {
                let ticks = Scale::Log { low, high }.ticks();
                ticks.into_iter().map(|tick| (tick, words::round_time(tick))).collect()
            }
            Self::Values { high, unit } => {
                let ticks = match unit {
                    Unit::Count => Scale::whole(high),
                    _ => Scale::linear(high),
                };
                let ticks = ticks.ticks().into_iter().filter(|tick| *tick <= high);
                ticks.map(|tick| (tick, unit.tick(tick))).collect()
            }
        }
    }

    /// What x is, as the head of a column; its unit is in it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Time { .. } => "from (s)",
            Self::Nines { .. } => "percentile (%)",
            Self::Lengths { .. } => "from (ns)",
            Self::Values { unit: Unit::PerSecond, .. } => "at (/s)",
            Self::Values { .. } => "at",
        }
    }

    /// A place in the unit of [`Self::title`], exactly.
    pub fn cell(self, x: f64) -> String {
        match self {
            Self::Time { .. } => decimals(x, 6),
            Self::Nines { .. } => decimals(x * 100.0, 10),
            Self::Lengths { .. } | Self::Values { .. } => decimals(x, 3),
        }
    }
}

/// 0 % → 0, 90 % → 1, 99 % → 2…; 100 % is beyond all.
pub fn nines_of(share: f64) -> f64 {
    if share < 1.0 { -(1.0 - share).log10() } else { f64::INFINITY }
}

fn nines_ticks(nines: f64) -> Vec<(f64, String)> {
    let text = |n: usize| match n {
        0 => "0 %".to_owned(),
        1 => "90 %".to_owned(),
        2 => "99 %".to_owned(),
        n => format!("99.{} %", "9".repeat(n - 2)),
    };
    let whole = (0..=nines.floor().clamp(0.0, 12.0) as usize).map(|n| (1.0 - 0.1f64.powi(n as i32), text(n)));
    let mut ticks: Vec<(f64, String)> = whole.collect();
    ticks.insert(1, (0.5, "50 %".to_owned()));
    ticks
}

impl Tone {
    /// Class in the page.
    pub fn class(self) -> &'static str {
        const CLASSES: [&str; 8] = ["t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"];
        match self {
            Self::Color(number) => CLASSES[(number.max(1) - 1) % CLASSES.len()],
            Self::Quiet => "t0",
        }
    }
}

impl Unit {
    /// For people, three significant digits: `1.23 ms`.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Time => words::time_f64(value),
            Self::PerSecond => words::rate(value),
            Self::Share => words::share(value),
            Self::Count => words::number(value),
            Self::Bytes => words::bytes(value.max(0.0).round() as u64),
        }
    }

    /// Of a round number on an axis: `10 ms`.
    pub fn tick(self, value: f64) -> String {
        match self {
            _ if value == 0.0 => "0".to_owned(),
            Self::Time => words::round_time(value),
            Self::PerSecond | Self::Count => words::number(value),
            Self::Share => format!("{} %", decimals(value * 100.0, 3)),
            Self::Bytes => words::round_bytes(value),
        }
    }

    /// What stands behind a column's name.
    pub const fn of_cells(self) -> &'static str {
        match self {
            Self::Time => " (ms)",
            Self::PerSecond => " (/s)",
            Self::Share => " (%)",
            Self::Count => "",
            Self::Bytes => " (MB)",
        }
    }

    /// In the unit of [`Self::of_cells`], exactly: times to the nanosecond.
    pub fn cell(self, value: f64) -> String {
        match self {
            Self::Time | Self::Bytes => decimals(value / 1e6, 6),
            Self::PerSecond => decimals(value, 3),
            Self::Share => decimals(value * 100.0, 4),
            Self::Count => decimals(value, 0),
        }
    }

    /// What a script reads.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::PerSecond => "rate",
            Self::Share => "share",
            Self::Count => "count",
            Self::Bytes => "bytes",
        }
    }
}

/// With at most so many decimals, without zeros behind; nothing for what is no number.
pub fn decimals(value: f64, most: usize) -> String {
    if !value.is_finite() {
        return String::new();
    }
    let text = format!("{value:.most$}");
    let text = if most > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nine_takes_as_much_room() {
        let axis = Axis::Nines { nines: 4.0 };
        for (share, place) in [(0.0, 0.0), (0.9, 0.25), (0.99, 0.5), (0.999, 0.75), (1.0, 1.0)] {
            assert!((axis.at(share) - place).abs() < 1e-9, "{share}");
        }
        let texts: Vec<String> = axis.ticks().into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
    }

    #[test]
    fn time_that_has_no_length_is_in_the_middle() {
        assert_eq!(Axis::Time { from: 0.0, to: 0.0 }.at(0.0), 0.5);
        assert_eq!(Axis::Time { from: 10.0, to: 20.0 }.at(15.0), 0.5);
    }

    #[test]
    fn cells_are_exact() {
        assert_eq!(Unit::Time.cell(1_234_567.0), "1.234567");
        assert_eq!(Unit::Time.cell(10_000_000.0), "10");
        assert_eq!(Unit::Time.cell(1.0), "0.000001");
        assert_eq!(Unit::Share.cell(0.93), "93");
        assert_eq!(Unit::Count.cell(100.0), "100");
        assert_eq!(Unit::PerSecond.cell(f64::NAN), "");
        assert_eq!(Axis::Nines { nines: 3.0 }.cell(0.999), "99.9");
    }

    #[test]
    fn ticks_name_their_unit() {
        assert_eq!(Unit::Time.tick(1e7), "10 ms");
        assert_eq!(Unit::Share.tick(0.25), "25 %");
        assert_eq!(Unit::Bytes.tick(2e6), "2 MB");
    }

    #[test]
    fn a_chart_without_values_is_empty() {
        let nothing = Series::new("p99", Tone::Color(3), vec![Point { from: 0.0, to: 1.0, y: None }]);
        assert!(nothing.is_empty());
        assert_eq!(nothing.values().count(), 0);
    }
}
