use super::*;
use crate::chart::{Axis, Point, Scale, Unit};
use store::HeatCell;

fn room(columns: usize, rows: usize, letters: Letters) -> Room {
    Room { columns, rows, letters }
}

fn chart(x: Axis, y: Scale, body: Body) -> Chart {
    Chart { title: "T (1/s)".into(), x, y, unit: Unit::Count, body, ..charts::blank() }
}

fn seconds(values: &[Option<f64>]) -> Vec<Point> {
    let point = |(n, y): (usize, &Option<f64>)| Point { from: n as f64, to: (n + 1) as f64, y: *y };
    values.iter().enumerate().map(point).collect()
}

fn text(rows: &[Row]) -> Vec<String> {
    let line = |row: &Row| row.iter().map(|piece| piece.text.as_str()).collect::<String>();
    rows.iter().map(|row| line(row).trim_end().to_owned()).collect()
}

#[test]
fn a_line_its_axes_and_its_letter() {
    let rising = Series::new("up", Tone::Color(1), seconds(&[Some(0.0), Some(2.0), Some(4.0)]));
    let flat = Series::new("flat", Tone::Quiet, seconds(&[Some(4.0), Some(4.0), None]));
    let y = Scale::Linear { high: 4.0, step: 2.0 };
    let chart = chart(Axis::Time { from: 0.0, to: 3.0 }, y, Body::Lines(vec![rising, flat]));
    // 25 columns: "4 |", a plot of 20, " a". The middles of the seconds are at 1/6, 3/6, 5/6 of 19: 3, 10, 16.
    // Rows from the first to the second: 4 − 2k/7 = 4 4 3 3 3 3 2 2; to the third: 2 − 2k/6 = 2 2 1 1 1 0 0.
    let drawn = text(&draw(&chart, room(25, 9, Letters::Ascii)));
    assert_eq!(
        drawn,
        [
            "T (1/s)",
            "a up  b flat",
            "4 |   bbbbbbbb    aa    a",
            "  |            aaa      b",
            "2 |         aaa",
            "  |     aaaa",
            "0 |   aa",
            "  +--------------------",
            "   0 s  1 s    2 s  3 s",
        ]
        .map(str::to_owned)
    );
}

#[test]
fn nothing_is_wider_or_higher_than_the_room() {
    let wild = Series::new(
        "µ-name that is long",
        Tone::Color(2),
        seconds(&[Some(1e12), None, Some(-5.0), Some(3.0)]),
    );
    let cells = vec![
        HeatCell { from_ns: 1, to_ns: 2, count: 1 },
        HeatCell { from_ns: 1 << 40, to_ns: 1 << 41, count: 9 },
    ];
    let heat = vec![HeatColumn { from: 0.0, to: 0.5, cells }];
    let time = Axis::Time { from: 0.0, to: 4.0 };
    for body in [Body::Lines(vec![wild.clone()]), Body::Stacked(vec![wild.clone(), wild]), Body::Heat(heat)] {
        for y in [Scale::linear(10.0), Scale::log([1.0, 1e12].into_iter())] {
            let chart = chart(time, y, body.clone());
            for columns in [1, 19, 20, 40, 200] {
                for letters in [Letters::Unicode, Letters::Ascii] {
                    let drawn = text(&draw(&chart, room(columns, 10, letters)));
                    assert!(drawn.len() <= 10, "{drawn:#?}");
                    assert!(
                        drawn.iter().all(|line| line.chars().count() <= columns),
                        "{columns}: {drawn:#?}"
                    );
                    assert!(
                        letters == Letters::Unicode || drawn.iter().all(|line| line.is_ascii()),
                        "{drawn:#?}"
                    );
                }
            }
        }
    }
}

#[test]
fn bars_stand_on_each_other() {
    let ok = Series::new("200", Tone::Color(1), seconds(&[Some(2.0), Some(4.0)]));
    let bad = Series::new("503", Tone::Color(4), seconds(&[Some(2.0), Some(0.0)]));
    let y = Scale::Linear { high: 4.0, step: 4.0 };
    let chart = chart(Axis::Time { from: 0.0, to: 2.0 }, y, Body::Stacked(vec![ok, bad]));
    let drawn = text(&draw(&chart, room(23, 8, Letters::Ascii)));
    assert_eq!(drawn[1], "a 200  b 503");
    let plot = [
        "4 |bbbbbbbbbbaaaaaaaaaa",
        "  |bbbbbbbbbbaaaaaaaaaa",
        "  |aaaaaaaaaaaaaaaaaaaa",
        "0 |aaaaaaaaaaaaaaaaaaaa",
    ];
    assert_eq!(drawn[2..6], plot.map(str::to_owned));
}

#[test]
fn heat_is_where_the_counts_are() {
    // Two decades in four rows: half a decade each. 1 to 3 in the first second, 50 to 90 in the second, ten
    // times as many.
    let cell = |from_ns, to_ns, count| vec![HeatCell { from_ns, to_ns, count }];
    let columns = vec![
        HeatColumn { from: 0.0, to: 1.0, cells: cell(1, 3, 10) },
        HeatColumn { from: 1.0, to: 2.0, cells: cell(50, 90, 100) },
    ];
    let y = Scale::Log { low: 1.0, high: 100.0 };
    let chart = chart(Axis::Time { from: 0.0, to: 2.0 }, y, Body::Heat(columns));
    let drawn = text(&draw(&chart, room(25, 7, Letters::Ascii)));
    assert_eq!(drawn[1], "100 |          ##########");
    // ln 11 / ln 101 = 0.52: three of four shades.
    assert_eq!(drawn[4], "  1 |oooooooooo");
    assert_eq!(drawn.len(), 7);
}

#[test]
fn charts_without_values_are_left_out() {
    assert_eq!(text_charts(&RunResult::default(), &Timeline::default(), Style::PLAIN), "");
}
