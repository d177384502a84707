//! The values of a chart as a table, exactly: for readers who cannot see the picture, and for the script that
//! reads values out.
//!
//! End tags that HTML lets go (`</td>`, `</tr>`) are left out here, as an hour of a run has tens of thousands
//! of cells.

use crate::chart::{Body, Chart, HeatColumn, Series};
use crate::markup::escape;
use crate::words;
use std::collections::BTreeSet;
use std::fmt::{Result, Write};

/// Appends the folded table.
pub fn write(out: &mut String, chart: &Chart) -> Result {
    let (id, title) = (escape(&chart.id), escape(&chart.title));
    writeln!(out, "<details class=\"data\" id=\"d-{id}\"><summary>Table</summary>")?;
    write!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table: {title}\">")?;
    write!(out, "<table id=\"v-{id}\"><caption>{title}</caption><thead><tr>")?;
    write!(out, "<th scope=\"col\">{}</th>", chart.x.title())?;
    match &chart.body {
        Body::Lines(series) | Body::Stacked(series) => write_series(out, chart, series)?,
        Body::Heat(columns) => write_heat(out, chart, columns)?,
    }
    writeln!(out, "</tbody></table></div></details>")
}

/// One row for each x of any series, one column for each series.
fn write_series(out: &mut String, chart: &Chart, series: &[Series]) -> Result {
    for series in series {
        write!(out, "<th scope=\"col\">{}{}</th>", escape(&series.name), chart.unit.of_cells())?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    // Bits of floats that are not negative sort as the floats do.
    let places: BTreeSet<u64> =
        series.iter().flat_map(|series| &series.points).map(|point| point.from.max(0.0).to_bits()).collect();
    let mut next = vec![0; series.len()];
    for place in places {
        write!(out, "<tr><th scope=\"row\">{}", chart.x.cell(f64::from_bits(place)))?;
        for (series, next) in series.iter().zip(&mut next) {
            write!(out, "<td>")?;
            let point = series.points.get(*next).filter(|point| point.from.max(0.0).to_bits() == place);
            *next += usize::from(point.is_some());
            // Nothing: this series has no step here. A dash: it has one, without a value.
            if let Some(point) = point {
                out.push_str(&point.y.map_or("–".to_owned(), |value| chart.unit.cell(value)));
            }
        }
        out.push('\n');
    }
    Ok(())
}

/// One row for each step of time, one column for each stretch of latency that holds anything.
fn write_heat(out: &mut String, chart: &Chart, columns: &[HeatColumn]) -> Result {
    let bands: BTreeSet<(u64, u64)> =
        columns.iter().flat_map(|column| &column.cells).map(|cell| (cell.from_ns, cell.to_ns)).collect();
    for (from, to) in &bands {
        write!(
            out,
            "<th scope=\"col\" data-from=\"{from}\" data-to=\"{to}\">{} – {}</th>",
            words::time(*from),
            words::time(*to)
        )?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for column in columns {
        write!(out, "<tr><th scope=\"row\">{}", chart.x.cell(column.from))?;
        let mut cells = column.cells.iter().peekable();
        for (from, _) in &bands {
            write!(out, "<td>")?;
            if let Some(cell) = cells.next_if(|cell| cell.from_ns == *from) {
                write!(out, "{}", cell.count)?;
            }
        }
        out.push('\n');
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Point, Scale, Tone, Unit};

    #[test]
    fn series_of_different_steps_share_one_table() {
        let series = |name: &str, step: f64| {
            let point = |n: u32| {
                let from = f64::from(n) * step;
                Point { from, to: from + step, y: (n != 1).then_some(from * 1e6) }
            };
            Series::new(name, Tone::Color(1), (0..3).map(point).collect())
        };
        let chart = Chart {
            id: "two".into(),
            title: "Two".into(),
            caption: String::new(),
            x: Axis::Time { from: 0.0, to: 6.0 },
            y: Scale::linear(1.0),
            unit: Unit::Time,
            body: Body::Lines(vec![series("a", 1.0), series("b", 2.0)]),
            shade: None,
            band: None,
            marks: Vec::new(),
            is_small: false,
        };
        let mut out = String::new();
        write(&mut out, &chart).unwrap();
        let rows: Vec<&str> = out.split("<tr><th scope=\"row\">").skip(1).map(str::trim).collect();
        // a at 0, 1 (a gap), 2; b at 0, 2 (a gap), 4.
        assert_eq!(rows[..3], ["0<td>0<td>0", "1<td>–<td>", "2<td>2<td>–"]);
        assert!(rows[3].starts_with("4<td><td>4"));
    }
}
