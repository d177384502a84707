//! What only frames have: gaps, what arrived, ports, tables.

use crate::frames;
use crate::markup::escape;
use crate::sweep_charts;
use crate::words;
use std::fmt::{Result, Write};
use store::RunResult;
use store::packets::{PacketReport, Table};

/// Beside gaps that no receiver saw.
const HANDED_OVER: &str = "gap error where they are handed over, p95";

/// The figures at the top: how many, how much, how late, how exact, and what arrived.
pub fn cards(result: &RunResult, report: &PacketReport) -> Vec<(String, &'static str)> {
    let rate = result.rate.achieved_per_s;
    let mut cards = vec![(words::rate(rate), "frames")];
    let (frames, bytes) = (result.totals.done, result.totals.bytes_out.max(result.totals.bytes_in));
    if frames > 0 {
        let bits = rate * 8.0 * bytes as f64 / frames as f64;
        cards.push((words::bits_per_second(bits), "without FCS"));
    }
    if !result.lateness_ns.is_empty() {
        cards.push((words::time(result.lateness_ns.p99), "lateness, p99"));
    }
    let gaps = report.gaps.as_ref();
    if let Some((gaps, error)) = gaps.and_then(|gaps| Some((gaps, gaps.error?))) {
        let place = if gaps.handed_over { HANDED_OVER } else { "gap error where they arrive, p95" };
        cards.push((words::time_f64(error.p95_ns), place));
    } else if !result.gap_error_ns.is_empty() {
        cards.push((words::time(result.gap_error_ns.p95), HANDED_OVER));
    }
    cards.extend(report.received.as_ref().map(|received| (words::count(received.lost), "lost on the way")));
    cards
}

/// Gaps, where there are any, and what signatures tell.
pub fn arrivals(out: &mut String, report: &PacketReport) -> Result {
    if let Some(received) = &report.received {
        writeln!(out, "<p class=\"note\">{}</p>", escape(&frames::received(received).join(" · ")))?;
        for incident in &received.incidents {
            writeln!(out, "<p class=\"doubt\">{}</p>", escape(incident))?;
        }
    }
    if let Some(chart) = report.gaps.as_ref().and_then(frames::gap_chart) {
        out.push_str(&chart.html());
    }
    sweep_charts::of(report).iter().for_each(|chart| out.push_str(&chart.html()));
    frames::tables(report).iter().try_for_each(|shown| table(out, shown))
}

pub fn ports(out: &mut String, report: &PacketReport) -> Result {
    if report.ports.is_empty() {
        return Ok(());
    }
    writeln!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Ports\">")?;
    writeln!(
        out,
        "<table id=\"ports\"><caption>Ports, and what each lost at which place</caption><thead><tr>"
    )?;
    for head in ["", "port", "queue"] {
        write!(out, "<th scope=\"col\">{head}</th>")?;
    }
    for head in ["sent", "received", "lost", "full"] {
        write!(out, "<th scope=\"col\" class=\"n\">{head}</th>")?;
    }
    writeln!(
        out,
        "<th scope=\"col\">stamps</th><th scope=\"col\">lost at; choices</th></tr></thead><tbody>"
    )?;
    for port in &report.ports {
        let lost: u64 = port.drops.iter().map(|drop| drop.frames).sum();
        let places = port.drops.iter().map(|drop| format!("{} at {}", words::count(drop.frames), drop.place));
        let said: Vec<String> = places.chain(port.choices.iter().cloned()).collect();
        write!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>",
            escape(&port.role),
            escape(&port.name),
            port.queue
        )?;
        for number in [port.sent, port.received, lost, port.full] {
            write!(out, "<td class=\"n\" data-v=\"{number}\">{}</td>", words::count(number))?;
        }
        writeln!(
            out,
            "<td>{}</td><td class=\"soft\">{}</td></tr>",
            escape(&port.stamps),
            escape(&said.join("; "))
        )?;
    }
    writeln!(out, "</tbody></table></div>")
}

fn table(out: &mut String, table: &Table) -> Result {
    let title = escape(&table.title);
    writeln!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\">")?;
    writeln!(
        out,
        "<table id=\"f-{}\" class=\"sortable\"><caption>{title}</caption><thead><tr>",
        escape(&table.key)
    )?;
    for column in &table.columns {
        let class = if column.unit.is_empty() { "" } else { " class=\"n\"" };
        write!(out, "<th scope=\"col\"{class}>{}</th>", escape(&column.name))?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for row in &table.rows {
        write!(out, "<tr>")?;
        for (cell, column) in row.iter().zip(&table.columns) {
            let class = if column.unit.is_empty() { "" } else { " class=\"n\"" };
            let key = frames::sort_key(cell).map_or_else(String::new, |key| format!(" data-v=\"{key}\""));
            write!(out, "<td{class}{key}>{}</td>", escape(&frames::cell(cell, &column.unit)))?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")?;
    for note in &table.notes {
        writeln!(out, "<p class=\"soft note\">{}</p>", escape(note))?;
    }
    Ok(())
}
