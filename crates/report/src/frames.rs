//! What only frames have, in words and as tables: the same rows for the terminal and for the page.

use crate::chart::{Axis, Body, Chart, Point, Scale, Series, Tone, Unit};
use crate::words::{self, count, counted, time_f64};
use store::RunResult;
use store::packets::{
    Cell, Column, GapReport, PacketReport, PortReport, ReceivedReport, ScriptReport, Spread, Table,
};

/// What one departure of this run is called.
pub fn noun(result: &RunResult) -> &'static str {
    if result.packets.is_some() { "frame" } else { "request" }
}

/// Where gaps were measured, and with what ruler.
pub fn ruler(gaps: &GapReport) -> String {
    let by = if gaps.stamps.is_empty() { "nobody" } else { &gaps.stamps };
    let from = match gaps.stamp_error_from.as_str() {
        "" => String::new(),
        from => format!(" ({from})"),
    };
    format!(
        "{} at {}; stamped by {by}, itself within {}{from}",
        counted(gaps.count, "gap"),
        gaps.measured_at,
        time_f64(gaps.stamp_error_ns)
    )
}

/// Gaps and their error, as rows of figures in nanoseconds.
pub fn gap_rows(gaps: &GapReport) -> Table {
    let columns = ["", "asked", "mean", "variance", "p50", "p95", "p99", "max"];
    let unit = |name: &&str| match *name {
        "" => "",
        "variance" => "ns²",
        _ => "ns",
    };
    let mut rows = vec![vec![
        Cell::Words("gap".to_owned()),
        gaps.requested_ns.map_or(Cell::Nothing, Cell::Figure),
        Cell::Figure(gaps.mean_ns),
        Cell::Figure(gaps.variance_ns2),
        Cell::Figure(gaps.p50_ns),
        Cell::Figure(gaps.p95_ns),
        Cell::Figure(gaps.p99_ns),
        Cell::Figure(gaps.max_ns),
    ]];
    if let Some(error) = gaps.error {
        rows.push(vec![
            Cell::Words("gap error".to_owned()),
            Cell::Nothing,
            Cell::Figure(error.mean_ns),
            Cell::Figure(error.variance_ns2),
            Cell::Figure(error.p50_ns),
            Cell::Figure(error.p95_ns),
            Cell::Figure(error.p99_ns),
            Cell::Figure(error.max_ns),
        ]);
    }
    let column = |name: &&str| Column { name: String::from(*name), unit: unit(name).to_owned() };
    Table {
        key: "gaps".to_owned(),
        title: "Gaps between frames".to_owned(),
        columns: columns.iter().map(column).collect(),
        rows,
        notes: vec![ruler(gaps)],
    }
}

/// What signatures tell, in a few words each; what did not happen is left out after the first.
pub fn received(received: &ReceivedReport) -> Vec<String> {
    let part = |number: u64, word: &str| (number > 0).then(|| format!("{} {word}", count(number)));
    let mut parts = vec![format!("{} with a signature", count(received.signed))];
    parts.push(format!("{} lost on the way", count(received.lost)));
    parts.extend(part(received.lost_here, "lost by this machine itself"));
    parts.extend(part(received.outstanding, "may still arrive"));
    parts.extend(part(received.duplicated, "twice"));
    parts.extend(part(received.reordered, "out of order"));
    parts.extend(part(received.corrupted, "damaged"));
    parts.extend(part(received.merged, "held several: losses unknown"));
    parts.extend((received.mixed > 0).then(|| "numbers of more than one run: losses unknown".to_owned()));
    parts.extend(part(received.unsigned, "of others"));
    parts
}

/// A port and what it counted.
pub fn port(port: &PortReport) -> Vec<String> {
    let mut parts = vec![port.name.clone()];
    parts.extend(port.speed_bps.map(|speed| words::bits_per_second(speed as f64)));
    if port.sent > 0 || port.role == "out" {
        parts.push(format!("{} sent", count(port.sent)));
    }
    if port.received > 0 || port.role == "in" {
        parts.push(format!("{} received", count(port.received)));
    }
    if port.merged > 0 {
        parts.push(format!("{} held several", count(port.merged)));
    }
    parts.extend(port.drops.iter().map(|drop| format!("{} lost at {}", count(drop.frames), drop.place)));
    if port.held > 0 {
        parts.push(format!("{} still held", counted(port.held, "frame")));
    }
    if port.full > 0 {
        parts.push(format!("{} full", counted(port.full, "time")));
    }
    if !port.stamps.is_empty() && port.role == "in" {
        parts.push(format!("{} stamps", port.stamps));
    }
    parts
}

/// All that is told in tables, in the order in which it is shown.
pub fn tables(report: &PacketReport) -> Vec<Table> {
    let mut tables: Vec<Table> = report.gaps.iter().filter(|gaps| gaps.count > 0).map(gap_rows).collect();
    // Of these two, Caliper's line is among the notes of the run already.
    if !matches!(report.command.as_str(), "capture" | "gaps")
        && let (Some(table), Some(gaps)) = (tables.first_mut(), &report.gaps)
    {
        table.notes.push(gaps.caliper_line());
    }
    tables.extend(report.script.as_ref().map(script));
    tables.extend(report.tables.iter().cloned());
    tables.extend(report.received.as_ref().filter(|received| received.one_way_ns.count > 0).map(one_way));
    tables.extend((!report.sizes.is_empty()).then(|| sizes(report)));
    tables.extend((!report.flows.is_empty()).then(|| flows(report)));
    tables.extend((!report.changes.is_empty()).then(|| changes(report)));
    tables
}

fn script(script: &ScriptReport) -> Table {
    let figures = [
        script.calls as f64,
        script.frames as f64,
        script.time_ns as f64,
        script.time_ns as f64 / script.frames.max(1) as f64,
        script.longest_ns as f64,
        script.late as f64,
    ];
    let how = if script.compiled { "compiled by LuaJIT" } else { "interpreted by LuaJIT" };
    Table {
        key: "script".to_owned(),
        title: format!("Script {}", script.name),
        columns: columns(&[
            ("calls", "count"),
            ("frames", "count"),
            ("time", "ns"),
            ("per frame", "ns"),
            ("longest call", "ns"),
            ("late by it", "count"),
        ]),
        rows: vec![figures.map(Cell::Figure).to_vec()],
        notes: vec![format!("{how}; its time is the sending threads', and so part of their lateness")],
    }
}

fn columns(all: &[(&str, &str)]) -> Vec<Column> {
    all.iter().map(|(name, unit)| Column { name: (*name).to_owned(), unit: (*unit).to_owned() }).collect()
}

fn one_way(received: &ReceivedReport) -> Table {
    let row = |what: &str, spread: &Spread| {
        let Spread { count, mean, min, p50, p95, p99, max } = *spread;
        let figures = [count as f64, mean, min, p50, p95, p99, max].map(Cell::Figure);
        (count > 0).then(|| std::iter::once(Cell::Words(what.to_owned())).chain(figures).collect())
    };
    let parts = [
        ("on the way", &received.one_way_ns),
        ("before: late here", &received.late_ns),
        ("after: unread here", &received.unread_ns),
    ];
    Table {
        key: "one-way".to_owned(),
        title: "One-way latency (sent → received)".to_owned(),
        columns: columns(&[
            ("part", ""),
            ("frames", "count"),
            ("mean", "ns"),
            ("min", "ns"),
            ("p50", "ns"),
            ("p95", "ns"),
            ("p99", "ns"),
            ("max", "ns"),
        ]),
        rows: parts.into_iter().filter_map(|(what, spread)| row(what, spread)).collect(),
        // Incidents stand beside the counts of what arrived.
        notes: Vec::new(),
    }
}

fn sizes(report: &PacketReport) -> Table {
    let all: u64 = report.sizes.iter().map(|row| row.frames).sum();
    let row = |row: &store::packets::SizeRow| {
        let share = row.frames as f64 / all.max(1) as f64;
        vec![Cell::Figure(f64::from(row.size)), Cell::Figure(row.frames as f64), Cell::Figure(share)]
    };
    Table {
        key: "sizes".to_owned(),
        title: "Frame sizes (with FCS)".to_owned(),
        columns: columns(&[("from", "bytes"), ("frames", "count"), ("share", "share")]),
        rows: report.sizes.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

fn flows(report: &PacketReport) -> Table {
    let row = |row: &store::packets::FlowRow| {
        vec![
            Cell::Words(row.flow.clone()),
            Cell::Figure(row.frames as f64),
            Cell::Figure(row.bytes as f64),
            Cell::Figure(row.error as f64),
        ]
    };
    let others = match report.other_flows {
        0 => Vec::new(),
        others => vec![format!("{} of other flows", counted(others, "frame"))],
    };
    Table {
        key: "flows".to_owned(),
        title: "Largest flows".to_owned(),
        columns: columns(&[
            ("flow", ""),
            ("frames", "count"),
            ("volume", "bytes"),
            ("at most too high by", "count"),
        ]),
        rows: report.flows.iter().map(row).collect(),
        notes: others,
    }
}

fn changes(report: &PacketReport) -> Table {
    let has_first = report.changes.iter().any(|change| change.first_frame.is_some());
    let row = |change: &store::packets::Change| {
        let words = [&change.what, &change.from, &change.to].map(|word| Cell::Words(word.clone()));
        let first = change.first_frame.map_or(Cell::Nothing, |first| Cell::Figure(first as f64));
        std::iter::once(Cell::Words(format!("{:.3} s", change.at_s)))
            .chain(has_first.then_some(first))
            .chain(words)
            .chain(std::iter::once(Cell::Words(change.by.clone())))
            .collect()
    };
    let mut named = vec![("after", ""), ("first frame", "count"), ("what", ""), ("from", ""), ("to", "")];
    named.retain(|(name, _)| has_first || *name != "first frame");
    named.push(("by", ""));
    let unlisted = report.changes_unlisted > 0;
    Table {
        key: "changes".to_owned(),
        title: "Changed by hand".to_owned(),
        columns: columns(&named),
        rows: report.changes.iter().map(row).collect(),
        notes: unlisted
            .then(|| format!("{} are not listed", words::counted(report.changes_unlisted, "more change")))
            .into_iter()
            .collect(),
    }
}

/// A cell for people, in the unit of its column.
pub fn cell(cell: &Cell, unit: &str) -> String {
    match cell {
        Cell::Figure(value) => figure(*value, unit),
        Cell::Between { value, low, high } => {
            format!("{} [{}, {}]", figure(*value, unit), figure(*low, unit), figure(*high, unit))
        }
        Cell::Words(text) => words::printable(text),
        Cell::Nothing => "–".to_owned(),
    }
}

fn figure(value: f64, unit: &str) -> String {
    match unit {
        "ns" => words::in_unit(value, unit),
        "ns²" => format!("{} ns²", words::number(value)),
        "share" => words::share(value),
        "bytes" if value < 10_000.0 => count(value.max(0.0).round() as u64),
        "bytes" => words::bytes(value.max(0.0).round() as u64),
        "frames/s" | "/s" => words::rate(value),
        "bits/s" => words::bits_per_second(value),
        "count" | "frames" => count(value.max(0.0).round() as u64),
        _ => words::number(value),
    }
}

/// The value by which a cell is sorted.
pub fn sort_key(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Figure(value) | Cell::Between { value, .. } => Some(*value),
        Cell::Words(_) | Cell::Nothing => None,
    }
}

/// How many gaps were how long.
pub fn gap_chart(gaps: &GapReport) -> Option<Chart> {
    let bins = &gaps.histogram;
    let low = bins.iter().map(|(from, _)| *from).find(|from| *from > 0.0)?;
    let last = bins.last()?.0.max(low);
    let top = gaps.max_ns.max(last * 1.01).max(low * 1.01);
    let end = |index: usize| bins.get(index + 1).map_or(top, |(from, _)| *from);
    let points: Vec<Point> = bins
        .iter()
        .enumerate()
        .map(|(index, (from, number))| Point {
            from: from.max(low),
            // A bin's neighbour may be far away: it is drawn as wide as 2 % of its place at most.
            to: end(index).min(from.max(low) * 1.02),
            y: Some(*number as f64),
        })
        .collect();
    let scale = Scale::log([low, top].into_iter());
    let Scale::Log { low, high } = scale else { return None };
    let asked =
        gaps.requested_ns.map_or_else(String::new, |asked| format!(" Asked for: {}.", time_f64(asked)));
    Some(Chart {
        id: "gaps".into(),
        title: "Gaps between frames, where they were measured".into(),
        caption: format!(
            "The number of gaps by length; both scales are logarithmic, so that one late frame in a million is \
             visible.{asked}"
        ),
        x: Axis::Lengths { low, high },
        y: Scale::log(points.iter().filter_map(|point| point.y).chain([1.0])),
        unit: Unit::Count,
        body: Body::Stacked(vec![Series::new("gaps", Tone::Color(1), points)]),
        shade: None,
        band: None,
        marks: Vec::new(),
        is_small: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::packets::GapError;

    fn gaps() -> GapReport {
        GapReport {
            measured_at: "packet:veth1".into(),
            stamps: "driver".into(),
            stamp_error_ns: 1.0,
            count: 3,
            requested_ns: Some(13_560.0),
            mean_ns: 13_560.0,
            variance_ns2: 32.591,
            max_ns: 14_000.0,
            error: Some(GapError { mean_ns: 0.3583, ..GapError::default() }),
            histogram: vec![(13_000.0, 1), (13_560.0, 1), (14_000.0, 1)],
            ..GapReport::default()
        }
    }

    #[test]
    fn a_gap_below_zero_has_its_sign() {
        assert_eq!(cell(&Cell::Figure(-1e6), "ns"), "−1.00 ms");
        assert_eq!(cell(&Cell::Figure(7.46e28), "ns²"), "7.46e28 ns²");
    }

    #[test]
    fn calipers_line_is_told_once() {
        let notes = |command: &str| {
            let report =
                PacketReport { command: command.into(), gaps: Some(gaps()), ..PacketReport::default() };
            tables(&report).remove(0).notes
        };
        assert_eq!(notes("gaps").len(), 1);
        assert_eq!(notes("send")[1..], [gaps().caliper_line()]);
    }

    #[test]
    fn every_gap_is_in_the_chart() {
        let chart = gap_chart(&gaps()).unwrap();
        assert_eq!(chart.series()[0].values().sum::<f64>(), 3.0);
        assert_eq!(gap_chart(&GapReport::default()), None);
    }

    #[test]
    fn cells_are_written_in_their_unit() {
        assert_eq!(cell(&Cell::Figure(0.5), "share"), "50 %");
        assert_eq!(cell(&Cell::Figure(1e10), "bits/s"), "10 Gbit/s");
        assert_eq!(cell(&Cell::Words("a\u{7}".into()), ""), words::printable("a\u{7}"));
        let between = Cell::Between { value: 1_500.0, low: 1_000.0, high: 2_000.0 };
        assert_eq!(cell(&between, "ns"), "1.50 µs [1.00 µs, 2.00 µs]");
    }
}
