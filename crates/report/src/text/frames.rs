//! The summary's part about frames: gaps first, then what arrived, the ports, and tables.

use super::*;
use crate::{frames, past_kernel};
use store::packets::Table;

/// Rows of a table that are printed; all are in `result.json`.
const ROWS: usize = 20;

/// What a TCP of our own did, where that is worth a line.
pub fn tcp(page: &mut Page, result: &RunResult) {
    let said = past_kernel::tcp(result);
    if !said.is_empty() {
        page.parts("TCP", &said);
        page.gap();
    }
}

pub fn packets(page: &mut Page, result: &RunResult) {
    let Some(report) = &result.packets else { return };
    if let Some(received) = &report.received {
        page.parts("Received", &frames::received(received));
        for incident in received.incidents.iter().take(8) {
            page.prose("", incident, Some(Ink::Doubtful));
        }
    }
    for port in &report.ports {
        let label = format!("Port {}", port.role);
        page.parts(&label, &frames::port(port));
        for choice in &port.choices {
            page.prose("", choice, Some(Ink::Quiet));
        }
    }
    if report.received.is_some() || !report.ports.is_empty() {
        page.gap();
    }
    for shown in frames::tables(report) {
        table(page, &shown);
    }
}

fn table(page: &mut Page, table: &Table) {
    page.raw(&format!("  {}", page.style.paint(Ink::Strong, &words::printable(&table.title))));
    let cells: Vec<Vec<String>> = table
        .rows
        .iter()
        .take(ROWS)
        .map(|row| {
            row.iter().zip(&table.columns).map(|(cell, column)| frames::cell(cell, &column.unit)).collect()
        })
        .collect();
    let heads: Vec<String> = table.columns.iter().map(|column| words::printable(&column.name)).collect();
    let width = |index: usize| {
        let of = |row: &Vec<String>| row.get(index).map_or(0, |cell| cell.chars().count());
        cells.iter().map(of).chain([heads[index].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let is_words = |index: usize| table.columns[index].unit.is_empty();
    let row = |row: &[String]| {
        let cell = |(index, cell): (usize, &String)| match is_words(index) {
            true => format!("{cell:<width$}", width = widths[index]),
            false => format!("{cell:>width$}", width = widths[index]),
        };
        row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ")
    };
    page.raw(&format!("    {}", page.style.paint(Ink::Quiet, &row(&heads))));
    for cells in &cells {
        page.raw(&format!("    {}", row(cells)));
    }
    if let Some(more) = table.rows.len().checked_sub(ROWS).filter(|more| *more > 0) {
        page.raw(&format!("    and {} in result.json", counted(more as u64, "more row")));
    }
    for note in &table.notes {
        for line in words::wrap(note, page.style.width() - 4) {
            page.raw(&format!("    {}", page.style.paint(Ink::Quiet, &line)));
        }
    }
    page.gap();
}
