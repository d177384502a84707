//! Charts as text: for the terminal, while a run goes on and after it.
//!
//! ```text
//! Latency over time                      title
//! a p50  b p99                           legend: each line ends in its letter, so that colour is not needed
//!  10 ms ┤      ⢀⠤⠒⠉⠉⠉⠒⠒⠤⢄       ⡠b
//!   1 ms ┤⠤⠤⠤⠤⠒⠁            ⠉⠒⠒⠒⠒⠊ a
//!        └────────────────────────
//!         0 s      10 s      20 s
//! ```

mod canvas;

use crate::chart::{Body, Chart, HeatColumn, Series, Tone};
use crate::charts;
use crate::style::{Ink, Style};
use crate::words::printable;
use canvas::Canvas;
pub use canvas::Letters;
use store::{RunResult, Timeline};

/// Rows of a plot, without title, legend and axis.
const HEIGHT: usize = 8;
/// Fewer columns show nothing.
const NARROWEST: usize = 20;
/// Letters for series; where there is no braille they draw the line, too.
const MARKS: &[u8] = b"abcdefghijklmnop";

/// Text that looks the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    pub text: String,
    pub look: Look,
}

/// What a piece of text is; whoever shows it chooses the colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Look {
    Plain,
    Strong,
    Quiet,
    Tone(Tone),
}

/// One line on the terminal.
pub type Row = Vec<Piece>;

/// Room and letters for a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub columns: usize,
    /// All rows: title and legend, the plot, two of the axis.
    pub rows: usize,
    pub letters: Letters,
}

/// One of the report's charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    Rates,
    Lateness,
    Latency,
    Heat,
    Percentiles,
    Outcomes,
    Phases,
}

impl Picture {
    const ALL: [Self; 7] = [
        Self::Rates,
        Self::Lateness,
        Self::Latency,
        Self::Heat,
        Self::Percentiles,
        Self::Outcomes,
        Self::Phases,
    ];

    fn chart(self, result: &RunResult, timeline: &Timeline) -> Chart {
        match self {
            Self::Rates => charts::rates(timeline, result),
            Self::Lateness => charts::lateness(timeline, result),
            Self::Latency => charts::latency(timeline, result),
            Self::Heat => charts::heat(timeline, result),
            Self::Percentiles => charts::by_percentile(result),
            Self::Outcomes => charts::outcomes(timeline, result),
            Self::Phases => charts::phases(timeline, result),
        }
    }
}

/// One picture in the room that there is; no row is longer.
pub fn text_chart(picture: Picture, result: &RunResult, timeline: &Timeline, room: Room) -> Vec<Row> {
    draw(&picture.chart(result, timeline), room)
}

/// All charts below each other, `style.width()` columns wide. Those without values are left out.
pub fn text_charts(result: &RunResult, timeline: &Timeline, style: Style) -> String {
    let room = Room { columns: style.width() - 2, rows: HEIGHT + 4, letters: style.letters() };
    let mut text = String::new();
    for picture in Picture::ALL {
        let chart = picture.chart(result, timeline);
        if chart.is_empty() {
            continue;
        }
        text.push('\n');
        for row in draw(&chart, room) {
            let line: String = row.iter().map(|piece| paint(piece, style)).collect();
            text.push_str("  ");
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

fn paint(piece: &Piece, style: Style) -> String {
    match piece.look {
        Look::Plain => piece.text.clone(),
        Look::Strong => style.paint(Ink::Strong, &piece.text),
        Look::Quiet => style.paint(Ink::Quiet, &piece.text),
        Look::Tone(tone) => style.paint_tone(tone, &piece.text),
    }
}

/// The chart as rows.
fn draw(chart: &Chart, room: Room) -> Vec<Row> {
    let letters = room.letters;
    let title = cut(&letters.spell(&printable(&chart.title)), room.columns);
    let mut rows = vec![vec![Piece { text: title, look: Look::Strong }]];
    if chart.is_empty() || room.columns < NARROWEST {
        rows.push(vec![quiet(cut("nothing to draw", room.columns))]);
        return rows;
    }
    if let Some(legend) = legend(chart, room) {
        rows.push(legend);
    }
    let plot_rows = room.rows.saturating_sub(rows.len() + 2).max(2);
    let labels = y_labels(chart, plot_rows, room);
    let widest = labels.iter().flatten().map(|text| text.chars().count()).max().unwrap_or(0);
    let gutter = if matches!(chart.body, Body::Lines(_)) { 2 } else { 0 };
    let columns = room.columns.saturating_sub(widest + 2 + gutter).max(4);
    let mut canvas = Canvas::new(columns, plot_rows, letters);
    fill(chart, &mut canvas, letters);
    let ends = line_ends(chart, plot_rows);
    for (index, label) in labels.iter().enumerate() {
        let text = label.clone().unwrap_or_default();
        let tick = match (label, letters) {
            (Some(_), Letters::Unicode) => '┤',
            (None, Letters::Unicode) => '│',
            (_, Letters::Ascii) => '|',
        };
        let mut row = vec![quiet(format!("{text:>widest$} {tick}"))];
        row.extend(pieces(&canvas, index));
        if gutter > 0
            && let Some((mark, tone)) = ends[index]
        {
            row.push(Piece { text: format!(" {mark}"), look: Look::Tone(tone) });
        }
        rows.push(row);
    }
    let (corner, dash) = if letters == Letters::Unicode { ('└', '─') } else { ('+', '-') };
    rows.push(vec![quiet(format!("{:>widest$} {corner}{}", "", dash.to_string().repeat(columns)))]);
    rows.push(vec![quiet(format!("{:>widest$}  {}", "", x_labels(chart, columns, letters)))]);
    rows
}

fn quiet(text: String) -> Piece {
    Piece { text, look: Look::Quiet }
}

fn cut(text: &str, columns: usize) -> String {
    text.chars().take(columns).collect()
}

fn mark(index: usize) -> char {
    char::from(MARKS[index % MARKS.len()])
}

/// What fills a stacked series: a shade, or its letter.
fn filling(index: usize, letters: Letters) -> char {
    match (letters, index) {
        (Letters::Unicode, 0..4) => ['█', '▒', '▓', '░'][index],
        _ => mark(index),
    }
}

fn legend(chart: &Chart, room: Room) -> Option<Row> {
    let series = chart.series();
    if series.is_empty() {
        return None;
    }
    let mut row: Row = Vec::new();
    let mut used = 0;
    for (index, series) in series.iter().enumerate() {
        let sign = match chart.body {
            Body::Stacked(_) => filling(index, room.letters),
            _ => mark(index),
        };
        let text = format!("{sign} {}  ", room.letters.spell(&printable(&series.name)));
        used += text.chars().count();
        if used > room.columns + 2 {
            break;
        }
        row.push(Piece { text, look: Look::Tone(series.tone) });
    }
    if let Some(last) = row.last_mut() {
        last.text.truncate(last.text.trim_end().len());
    }
    Some(row)
}

/// What stands beside each row of the plot: the lowest and highest round values, and others at least two rows
/// from any. Nothing where labels would take more than a third of the room.
fn y_labels(chart: &Chart, rows: usize, room: Room) -> Vec<Option<String>> {
    let mut labels: Vec<Option<String>> = vec![None; rows];
    let mut ticks = chart.y.ticks();
    if ticks.len() > 1 {
        ticks.rotate_right(1);
    }
    for value in ticks {
        let row = ((1.0 - chart.y.at(value)) * (rows - 1) as f64).round() as usize;
        let near = labels.iter().enumerate().any(|(other, label)| label.is_some() && other.abs_diff(row) < 2);
        let text = room.letters.spell(&chart.unit.tick(value));
        if !near && text.chars().count() * 3 <= room.columns {
            labels[row] = Some(text);
        }
    }
    labels
}

fn x_labels(chart: &Chart, columns: usize, letters: Letters) -> String {
    let mut line = vec![' '; columns];
    let mut free_from = 0;
    for (value, text) in chart.x.ticks() {
        let text: Vec<char> = letters.spell(&text).chars().collect();
        let middle = (chart.x.at(value) * (columns - 1) as f64).round() as usize;
        let from = middle.saturating_sub(text.len() / 2).min(columns.saturating_sub(text.len()));
        if from < free_from || from + text.len() > columns {
            continue;
        }
        line[from..from + text.len()].copy_from_slice(&text);
        free_from = from + text.len() + 1;
    }
    line.into_iter().collect::<String>().trim_end().to_owned()
}

/// Each line's letter, in the row where it ends or the nearest free one.
fn line_ends(chart: &Chart, rows: usize) -> Vec<Option<(char, Tone)>> {
    let mut ends = vec![None; rows];
    let Body::Lines(series) = &chart.body else { return ends };
    for (index, series) in series.iter().enumerate() {
        let Some(last) = series.values().last() else { continue };
        let row = ((1.0 - chart.y.at(last)) * (rows - 1) as f64).round() as usize;
        let free = (0..rows).filter(|row| ends[*row].is_none()).min_by_key(|free| free.abs_diff(row));
        if let Some(free) = free {
            ends[free] = Some((mark(index), series.tone));
        }
    }
    ends
}

fn fill(chart: &Chart, canvas: &mut Canvas, letters: Letters) {
    match &chart.body {
        Body::Lines(series) => {
            // The first, which matters most, is drawn last and lies on top.
            for (index, series) in series.iter().enumerate().rev() {
                line(chart, canvas, series, mark(index));
            }
        }
        Body::Stacked(series) => stack(chart, canvas, series, letters),
        Body::Heat(columns) => heat(chart, canvas, columns, letters),
    }
}

fn line(chart: &Chart, canvas: &mut Canvas, series: &Series, mark: char) {
    for run in series.points.split(|point| point.y.is_none()) {
        let place = |x: f64, y: f64| (chart.x.at(x), chart.y.at(y));
        let of = |point: &crate::chart::Point| point.y.map(|y| place(point.middle(), y));
        if let [alone] = run
            && let Some(y) = alone.y
        {
            canvas.line(place(alone.from, y), place(alone.to, y), mark, series.tone);
        }
        for pair in run.windows(2) {
            if let (Some(from), Some(to)) = (of(&pair[0]), of(&pair[1])) {
                canvas.line(from, to, mark, series.tone);
            }
        }
    }
}

/// Bars on top of each other, in each column those of the stretch at its middle.
fn stack(chart: &Chart, canvas: &mut Canvas, all: &[Series], letters: Letters) {
    let (columns, rows) = (canvas.columns(), canvas.rows());
    for column in 0..columns {
        let at = (column as f64 + 0.5) / columns as f64;
        let mut foot = 0.0;
        let mut full = 0;
        for (index, series) in all.iter().enumerate() {
            let next = series.points.partition_point(|point| chart.x.at(point.to) <= at);
            foot += series.points.get(next).and_then(|point| point.y).unwrap_or(0.0);
            let height = (chart.y.at(foot) * rows as f64).round() as usize;
            for row in full..height.min(rows) {
                canvas.put(column, rows - 1 - row, filling(index, letters), Some(series.tone));
            }
            full = full.max(height);
        }
    }
}

/// Counts of each letter's stretch of time and latency, shaded by their logarithm.
fn heat(chart: &Chart, canvas: &mut Canvas, bins: &[HeatColumn], letters: Letters) {
    let (columns, rows) = (canvas.columns(), canvas.rows());
    let mut counts = vec![0.0f64; columns * rows];
    for bin in bins {
        let from = (chart.x.at(bin.from) * columns as f64).floor() as usize;
        let to =
            ((chart.x.at(bin.to) * columns as f64).ceil() as usize).clamp(from + 1, columns.max(from + 1));
        for cell in &bin.cells {
            let foot = (chart.y.at(cell.from_ns as f64) * rows as f64).floor() as usize;
            let top = (chart.y.at(cell.to_ns as f64) * rows as f64).ceil() as usize;
            let top = top.max(foot + 1);
            let each = cell.count as f64 / (top - foot) as f64;
            for row in foot..top.min(rows) {
                (from..to.min(columns)).for_each(|column| counts[row * columns + column] += each);
            }
        }
    }
    let most = counts.iter().copied().fold(0.0, f64::max);
    let shades = letters.shades();
    for (index, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
        let share = (1.0 + count).ln() / (1.0 + most).ln();
        let shade = ((share * (shades.len() - 1) as f64).ceil() as usize).clamp(1, shades.len() - 1);
        canvas.put(index % columns, rows - 1 - index / columns, shades[shade], Some(Tone::Color(1)));
    }
}

/// Neighbours of the same look together.
fn pieces(canvas: &Canvas, row: usize) -> Row {
    let mut pieces: Row = Vec::new();
    for (letter, tone) in canvas.row(row) {
        let look = tone.map_or(Look::Plain, Look::Tone);
        match pieces.last_mut() {
            Some(last) if last.look == look => last.text.push(letter),
            _ => pieces.push(Piece { text: letter.to_string(), look }),
        }
    }
    pieces
}

#[cfg(test)]
mod tests;
