//! Figures of each stream, as a table of the result.

use super::super::ledger::StreamLedger;
use super::super::receive::Arrived;
use super::findings::Handed;
use measure::packets::{Cell, Column, GapReport, ReceivedReport, Spread, Table};

const SENT: [&str; 4] = ["stream", "sent", "missed", "failed"];
const ARRIVED: [&str; 4] = ["received", "lost", "duplicated", "reordered"];
const ONE_WAY: [&str; 3] = ["one-way p50", "one-way p99", "one-way max"];
const GAPS: [&str; 3] = ["gap error p50", "gap error p99", "gap error max"];

/// What did not arrive of each stream: what left less what came, since only the sender knows whose a missing
/// number was.
pub(super) fn losses(sent: &[StreamLedger], arrived: &mut Arrived) {
    if sent.iter().all(|stream| stream.sent == 0) || !arrived.is_signed {
        return;
    }
    for row in &mut arrived.report.streams {
        if let Some(stream) = sent.get(usize::from(row.stream)) {
            row.lost = Some(stream.sent.saturating_sub(row.received.saturating_sub(row.duplicated)));
        }
    }
}

/// One row for each stream; nothing where there is but one, or none was told apart. Of all streams together
/// `missed` were missed.
pub(super) fn tables(
    handed: &Handed,
    (sent, missed): (&[StreamLedger], u64),
    arrived: Option<&Arrived>,
) -> Vec<Table> {
    if sent.iter().all(|stream| stream.sent + stream.missed + stream.failed == 0) {
        return Vec::new();
    }
    let arrived = arrived.filter(|arrived| arrived.is_signed);
    vec![counts(handed, (sent, missed), arrived), times(handed, sent, arrived)]
}

fn counts(handed: &Handed, (sent, missed): (&[StreamLedger], u64), arrived: Option<&Arrived>) -> Table {
    // Where streams take turns, nobody knows whose those were that were missed in one go.
    let is_known = missed == sent.iter().map(|stream| stream.missed).sum::<u64>();
    let of_arrived = if arrived.is_some() { &ARRIVED[..] } else { &[] };
    let rows = handed.streams.iter().zip(sent).enumerate().map(|(number, (name, sent))| {
        let mut row = vec![Cell::Words(name.clone())];
        let missed = if is_known { figure(sent.missed) } else { Cell::Nothing };
        row.extend([figure(sent.sent), missed, figure(sent.failed)]);
        if let Some(arrived) = arrived {
            let known = arrived.report.streams.iter().find(|row| usize::from(row.stream) == number);
            let counts = known.cloned().unwrap_or_default();
            let lost = if known.is_some() { counts.lost } else { Some(sent.sent) };
            let lost = lost.map_or(Cell::Nothing, figure);
            row.extend([figure(counts.received), lost, figure(counts.duplicated), figure(counts.reordered)]);
        }
        row
    });
    Table {
        key: "streams".to_owned(),
        title: "Streams".to_owned(),
        columns: SENT.iter().chain(of_arrived).map(|name| column(name, "count")).collect(),
        rows: rows.collect(),
        notes: arrived.map(|arrived| of_lost(&arrived.report)).unwrap_or_default(),
    }
}

/// What counts as lost of a stream, and not of the whole: of it nobody knows whose it was.
fn of_lost(all: &ReceivedReport) -> Vec<String> {
    let parts = [
        (all.outstanding, "may still arrive"),
        (all.corrupted, "arrived damaged"),
        (all.lost_here, "this receiver dropped"),
    ];
    let there = parts.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = there.map(|(count, what)| format!("{count} that {what}")).collect();
    let is_any = !words.is_empty();
    is_any.then(|| format!("the streams' lost frames may include {}", words.join(", "))).into_iter().collect()
}

/// At the receiver where it stamps frames, else as they were handed over.
fn times(handed: &Handed, sent: &[StreamLedger], arrived: Option<&Arrived>) -> Table {
    let arrived = arrived.filter(|arrived| arrived.streams.iter().any(|stream| stream.gaps.is_some()));
    let of_arrived = if arrived.is_some() { &ONE_WAY[..] } else { &[] };
    let rows = handed.streams.iter().zip(sent).enumerate().map(|(number, (name, sent))| {
        let mut row = vec![Cell::Words(name.clone())];
        match arrived {
            Some(arrived) => {
                let stream = arrived.streams.get(number).cloned().unwrap_or_default();
                row.extend(one_way(&stream.one_way_ns));
                row.extend(gap_error(stream.gaps.as_ref()));
            }
            None => row.extend(gap_error(handed.of_stream(&sent.gaps).as_ref())),
        }
        row
    });
    let place = if arrived.is_some() { "at the receiver" } else { "when frames were handed over" };
    let columns = SENT[..1].iter().chain(of_arrived).chain(&GAPS);
    Table {
        key: "stream_times".to_owned(),
        title: "Times of streams".to_owned(),
        columns: columns.map(|name| column(name, "ns")).collect(),
        rows: rows.collect(),
        notes: vec![format!("gap errors {place}")],
    }
}

fn column(name: &str, unit: &str) -> Column {
    let unit = if name == SENT[0] { "" } else { unit };
    Column { name: name.to_owned(), unit: unit.to_owned() }
}

fn figure(count: u64) -> Cell {
    Cell::Figure(count as f64)
}

fn one_way(spread: &Spread) -> [Cell; 3] {
    match spread.count {
        0 => [Cell::Nothing, Cell::Nothing, Cell::Nothing],
        _ => [spread.p50, spread.p99, spread.max].map(Cell::Figure),
    }
}

fn gap_error(gaps: Option<&GapReport>) -> [Cell; 3] {
    match gaps.and_then(|gaps| gaps.error) {
        None => [Cell::Nothing, Cell::Nothing, Cell::Nothing],
        Some(error) => [error.p50_ns, error.p99_ns, error.max_ns].map(Cell::Figure),
    }
}
