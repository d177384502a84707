//! Requests by their names, in a table that can be sorted.

use crate::markup::escape;
use crate::words::{self, count};
use std::fmt::{Result, Write};
use store::schema::{GroupResult, RunResult};

/// Rows at most: a page is for reading.
const MOST: usize = 500;
/// Outcomes shown of each name.
const OUTCOMES: usize = 4;

pub fn write(out: &mut String, result: &RunResult) -> Result {
    if result.groups.len() < 2 {
        return Ok(());
    }
    writeln!(out, "<section><h2>By name</h2>")?;
    writeln!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Figures by name\">")?;
    writeln!(out, "<table id=\"names\" class=\"sortable\"><caption>Latency and outcomes by name</caption>")?;
    write!(out, "<thead><tr><th scope=\"col\">name</th>")?;
    for head in ["requests", "p50", "p90", "p99", "max", "not done"] {
        write!(out, "<th scope=\"col\" class=\"n\">{head}</th>")?;
    }
    writeln!(out, "<th scope=\"col\">outcomes</th></tr></thead><tbody>")?;
    result.groups.iter().take(MOST).try_for_each(|group| row(out, group))?;
    writeln!(out, "</tbody></table></div>")?;
    if let Some(more) = result.groups.len().checked_sub(MOST).filter(|more| *more > 0) {
        writeln!(
            out,
            "<p class=\"soft\">and {} in result.json</p>",
            words::counted(more as u64, "more name")
        )?;
    }
    if let Some(folded) = words::folded(result) {
        writeln!(out, "<p class=\"soft\">{folded}</p>")?;
    }
    writeln!(out, "</section>")
}

fn row(out: &mut String, group: &GroupResult) -> Result {
    let figures = &group.latency_ns;
    write!(out, "<tr><th scope=\"row\" class=\"key\">{}</th>", escape(&group.name))?;
    write!(out, "<td class=\"n\" data-v=\"{}\">{}</td>", group.count, count(group.count))?;
    let all = [(0.5, figures.p50), (0.9, figures.p90), (0.99, figures.p99), (1.0, figures.max)];
    for (share, nanos) in all {
        match figures.says_nothing() {
            true => write!(out, "<td class=\"n\" data-v=\"-1\">–</td>")?,
            false => {
                let text = words::percentile(figures, share, nanos);
                write!(out, "<td class=\"n\" data-v=\"{nanos}\">{text}</td>")?;
            }
        }
    }
    let not_done = group.count - figures.count.min(group.count);
    write!(out, "<td class=\"n\" data-v=\"{not_done}\">{}</td>", count(not_done))?;
    writeln!(out, "<td class=\"soft\">{}</td></tr>", escape(&outcomes(group)))
}

/// `200 × 1 000, 503 × 12`, the most frequent first.
fn outcomes(group: &GroupResult) -> String {
    let mut sorted: Vec<_> = group.outcomes.iter().filter(|outcome| outcome.count > 0).collect();
    sorted.sort_by_key(|outcome| std::cmp::Reverse(outcome.count));
    let mut said: Vec<String> = sorted
        .iter()
        .take(OUTCOMES)
        .map(|outcome| {
            let key = words::outcome_key(outcome);
            // Only the commas are places to break a line at.
            format!("{key} × {}", count(outcome.count)).replace(' ', "\u{a0}")
        })
        .collect();
    if sorted.len() > OUTCOMES {
        said.push("…".to_owned());
    }
    said.join(", ")
}
