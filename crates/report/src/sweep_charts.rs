//! The pictures of a sweep that RFC 2544 asks for, made from its tables.
//!
//! | section | x | y | lines |
//! |---|---|---|---|
//! | 26.1 | frame size | frames per second | what the medium takes in theory, and what was found |
//! | 26.3 | load, 0 to 100 % of the line rate | loss, 0 to 100 % | one for each frame size |

use crate::chart::{Axis, Body, Chart, Point, Scale, Series, Tone, Unit};
use crate::charts;
use crate::frames::sort_key;
use crate::words;
use store::packets::{Cell, PacketReport, Table};

const LEAST_OF_LINE: f64 = 0.02;

/// All that can be drawn of this sweep.
pub fn of(report: &PacketReport) -> Vec<Chart> {
    let table = |key: &str| report.tables.iter().find(|table| table.key == key);
    table("sweep").and_then(throughput).into_iter().chain(table("loss").and_then(loss)).collect()
}

/// A column's place.
fn place(table: &Table, name: &str) -> Option<usize> {
    table.columns.iter().position(|column| column.name == name)
}

fn at(x: f64, y: f64) -> Point {
    Point { from: x, to: x, y: Some(y) }
}

/// Of less than two sizes there is no line.
fn throughput(table: &Table) -> Option<Chart> {
    let size = place(table, "frame size")?;
    let line = |name: &str, tone| {
        let column = place(table, name)?;
        let point = |row: &Vec<Cell>| Some(at(sort_key(row.get(size)?)?, sort_key(row.get(column)?)?));
        let points: Vec<Point> = table.rows.iter().filter_map(point).collect();
        (points.len() > 1).then(|| Series::new(name, tone, points))
    };
    let goals = table.columns.iter().filter_map(|column| column.name.strip_suffix(" ended"));
    let found: Vec<Series> =
        goals.enumerate().filter_map(|(number, goal)| line(goal, Tone::Color(number + 1))).collect();
    if found.is_empty() {
        return None;
    }
    let series: Vec<Series> = line("line rate", Tone::Quiet).into_iter().chain(found).collect();
    let most = series.iter().flat_map(|one| &one.points).map(|point| point.to).fold(0.0, f64::max);
    let high = series.iter().flat_map(Series::values).fold(0.0, f64::max);
    Some(Chart {
        id: "throughput".into(),
        title: "Frames per second, by frame size in bytes".into(),
        caption: "What was found for each goal, and the line rate: what the medium takes in theory.".into(),
        x: Axis::Values { high: most, unit: Unit::Count },
        y: Scale::linear(high),
        unit: Unit::PerSecond,
        body: Body::Lines(series),
        ..charts::blank()
    })
}

fn loss(table: &Table) -> Option<Chart> {
    let (size, ratio) = (place(table, "frame size")?, place(table, "loss")?);
    let direction = place(table, "direction");
    // A picture of less than this share of the line has no width.
    let is_wide = |place: &usize| {
        table
            .rows
            .iter()
            .filter_map(|row| row.get(*place).and_then(sort_key))
            .any(|share| share >= LEAST_OF_LINE)
    };
    let of_the_line = place(table, "of the line").filter(is_wide);
    let load = of_the_line.or_else(|| place(table, "of the highest load"))?;
    let mut series: Vec<Series> = Vec::new();
    for row in &table.rows {
        let of = |place: usize| row.get(place).and_then(sort_key);
        let (Some(bytes), Some(load), Some(ratio)) = (of(size), of(load), of(ratio)) else { continue };
        let way = match direction.and_then(|place| row.get(place)) {
            Some(Cell::Words(way)) => format!(", {}", words::printable(way)),
            _ => String::new(),
        };
        let name = format!("{bytes} bytes{way}");
        let known = series.iter().position(|one| one.name == name).unwrap_or(series.len());
        if known == series.len() {
            series.push(Series::new(name, Tone::Color(known + 1), Vec::new()));
        }
        series[known].points.push(at(load, ratio));
    }
    series.iter_mut().for_each(|one| one.points.sort_by(|a, b| a.from.total_cmp(&b.from)));
    let what = if of_the_line.is_some() { "line rate" } else { "highest load" };
    (!series.is_empty()).then(|| Chart {
        id: "frame-loss".into(),
        title: format!("Frame loss rate, by load in percent of the {what}"),
        caption: "Trials that do not count are left out.".into(),
        x: Axis::Values { high: 1.0, unit: Unit::Share },
        y: Scale::Linear { high: 1.0, step: 0.25 },
        unit: Unit::Share,
        body: Body::Lines(series),
        ..charts::blank()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::packets::Column;

    fn table(key: &str, columns: &[&str], rows: Vec<Vec<Cell>>) -> Table {
        let column = |name: &&str| Column { name: (*name).to_owned(), unit: "count".to_owned() };
        Table { key: key.into(), columns: columns.iter().map(column).collect(), rows, ..Table::default() }
    }

    fn drawn(table: Table) -> Vec<Chart> {
        of(&PacketReport { tables: vec![table], ..PacketReport::default() })
    }

    fn row(figures: &[f64]) -> Vec<Cell> {
        figures.iter().copied().map(Cell::Figure).collect()
    }

    fn xy(series: &Series) -> Vec<(f64, f64)> {
        series.points.iter().filter_map(|point| Some((point.from, point.y?))).collect()
    }

    #[test]
    fn throughput_is_drawn_beside_what_the_medium_takes() {
        let columns = ["frame size", "NDR", "NDR up to", "NDR ended", "line rate"];
        let rows = |found: [f64; 2]| {
            let mut rows = vec![row(&[64.0, found[0], 1e6, 0.0, 1_488_095.0])];
            rows.push(row(&[1_518.0, found[1], 1e6, 0.0, 81_274.0]));
            rows
        };
        let charts = drawn(table("sweep", &columns, rows([900e3, 81e3])));
        let lines: Vec<&str> = charts[0].series().iter().map(|one| one.name.as_str()).collect();
        assert_eq!(lines, ["line rate", "NDR"]);
        assert_eq!(xy(&charts[0].series()[1]), [(64.0, 900e3), (1_518.0, 81e3)]);
        // Of one size there is no line, nor where the link's speed is not known.
        assert!(drawn(table("sweep", &columns, rows([1.0, 1.0])[..1].to_vec())).is_empty());
        let mut unknown = rows([5.0, 4.0]);
        unknown.iter_mut().for_each(|row| row[4] = Cell::Nothing);
        assert_eq!(drawn(table("sweep", &columns, unknown))[0].series().len(), 1);
    }

    #[test]
    fn loss_at_next_to_nothing_of_the_line_is_drawn_by_the_highest_load() {
        let columns = ["frame size", "of the highest load", "loss", "of the line"];
        let charts = drawn(table(
            "loss",
            &columns,
            vec![row(&[64.0, 1.0, 0.3, 3e-5]), row(&[64.0, 0.9, 0.1, 2.7e-5])],
        ));
        assert_eq!(xy(&charts[0].series()[0]), [(0.9, 0.1), (1.0, 0.3)]);
        assert!(charts[0].title.ends_with("highest load"), "{}", charts[0].title);
    }

    #[test]
    fn loss_is_drawn_from_nothing_to_all_with_a_line_for_each_size() {
        let columns = ["frame size", "of the highest load", "loss", "of the line"];
        let mut rows = vec![row(&[64.0, 1.0, 0.3, 0.5]), row(&[64.0, 0.9, 0.1, 0.45])];
        rows.push(vec![Cell::Figure(64.0), Cell::Figure(0.8), Cell::Nothing, Cell::Figure(0.4)]);
        rows.push(row(&[128.0, 1.0, 0.0, 1.0]));
        let chart = drawn(table("loss", &columns, rows.clone())).remove(0);
        assert_eq!(chart.x, Axis::Values { high: 1.0, unit: Unit::Share });
        assert_eq!(chart.y, Scale::Linear { high: 1.0, step: 0.25 });
        // Ascending; the trial that does not count is left out.
        assert_eq!(xy(&chart.series()[0]), [(0.45, 0.1), (0.5, 0.3)]);
        assert_eq!(chart.series()[1].name, "128 bytes");
        // Without the speed of the link, of the highest load.
        rows.iter_mut().for_each(|row| row[3] = Cell::Nothing);
        let chart = drawn(table("loss", &columns, rows)).remove(0);
        assert!(chart.title.ends_with("highest load"));
        assert_eq!(xy(&chart.series()[0]), [(0.9, 0.1), (1.0, 0.3)]);
    }

    #[test]
    fn directions_have_lines_of_their_own() {
        let way = |way: &str, loss: f64| {
            let words = Cell::Words(way.to_owned());
            vec![Cell::Figure(64.0), words, Cell::Figure(1.0), Cell::Figure(loss)]
        };
        let columns = ["frame size", "direction", "of the highest load", "loss"];
        let chart = drawn(table("loss", &columns, vec![way("forward", 0.0), way("reverse", 0.2)])).remove(0);
        let names: Vec<&str> = chart.series().iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["64 bytes, forward", "64 bytes, reverse"]);
    }
}
