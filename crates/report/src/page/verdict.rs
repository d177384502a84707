//! The verdict with each criterion, its limit, its value and what to do; the headline figures; the user's own
//! thresholds; and what did not reach the places that it was sent to.

use super::frames;
use crate::markup::{escape, sentence};
use crate::words::{self, count};
use std::fmt::{Result, Write};
use store::Distribution;
use store::schema::{Criterion, RunResult, Threshold, Word};

pub fn write(out: &mut String, result: &RunResult) -> Result {
    let verdict = &result.verdict;
    let word = verdict.word.as_str();
    let unreachable = words::unreachable(result);
    match unreachable {
        // The generator is not the matter then: its word comes second, and its advice would lead astray.
        Some(sentence) => {
            writeln!(out, "<section class=\"verdict INVALID\"><h2 class=\"unseen\">Verdict</h2>")?;
            writeln!(out, "<p><strong>UNREACHABLE</strong>{}</p>", escape(&sentence))?;
            writeln!(out, "<p class=\"soft\">The verdict on the generator alone: {word}</p>")?;
        }
        None => {
            writeln!(out, "<section class=\"verdict {word}\"><h2 class=\"unseen\">Verdict</h2>")?;
            let sentence = words::verdict_briefly(result);
            writeln!(out, "<p><strong>{word}</strong>{}</p>", escape(sentence))?;
            failed(out, &result.thresholds)?;
            broken(out, &verdict.criteria)?;
        }
    }
    cards(out, result)?;
    criteria(out, &verdict.criteria)?;
    thresholds(out, result)?;
    sinks(out, result)?;
    notes(out, result)?;
    writeln!(out, "</section>")
}

/// That the user's own limits were broken, beside the word about the generator.
fn failed(out: &mut String, thresholds: &[Threshold]) -> Result {
    let failing = thresholds.iter().filter(|threshold| !threshold.holds).count();
    if failing == 0 {
        return Ok(());
    }
    let all = words::counted(thresholds.len() as u64, "threshold");
    writeln!(out, "<p><strong class=\"fails\">FAILED</strong>{failing} of {all} did not hold</p>")
}

/// Those that do not hold. What helps against several is said once, below the last of them.
fn broken(out: &mut String, criteria: &[Criterion]) -> Result {
    let mut remedies: Vec<(&str, Vec<&Criterion>)> = Vec::new();
    for criterion in criteria.iter().filter(|criterion| !criterion.holds) {
        let (_, remedy) = matter_and_remedy(&criterion.advice);
        match remedies.iter_mut().find(|(known, _)| *known == remedy) {
            Some((_, same)) => same.push(criterion),
            None => remedies.push((remedy, vec![criterion])),
        }
    }
    for (remedy, criteria) in remedies {
        writeln!(out, "<div class=\"broken\">")?;
        for criterion in &criteria {
            let (class, said, limit) = fault(criterion);
            writeln!(
                out,
                "<p><code>{}</code> {}, {} <span class=\"{class}\">{said}</span></p>",
                escape(criterion.name.as_str()),
                escape(&words::in_unit(criterion.value, &criterion.unit)),
                escape(&words::limit(limit, criterion)),
            )?;
        }
        let mut matters: Vec<&str> =
            criteria.iter().map(|criterion| matter_and_remedy(&criterion.advice).0).collect();
        matters.dedup();
        matters.retain(|matter| !matter.is_empty());
        let matters = matters.join("; ");
        let between = if matters.is_empty() { "" } else { ": " };
        writeln!(out, "<p class=\"soft\">{}{between}{}</p></div>", sentence(&matters), sentence(remedy))?;
    }
    Ok(())
}

/// An advice says what is the matter, and after a colon why and what to do: "requests leave late: lower the
/// rate".
fn matter_and_remedy(advice: &str) -> (&str, &str) {
    advice.split_once(": ").unwrap_or(("", advice))
}

/// Class, word, and the limit that was crossed.
fn fault(criterion: &Criterion) -> (&'static str, &'static str, f64) {
    match criterion.severity {
        Word::Invalid => ("fails", "INVALID", criterion.invalid_limit.unwrap_or(criterion.limit)),
        Word::Degraded => ("doubt", "DEGRADED", criterion.limit),
        Word::Valid => ("doubt", "warning", criterion.limit),
    }
}

/// Folded where all hold: then it is for those who doubt.
fn criteria(out: &mut String, criteria: &[Criterion]) -> Result {
    if criteria.is_empty() {
        return Ok(());
    }
    let holding = criteria.iter().filter(|criterion| criterion.holds).count();
    let open = if holding == criteria.len() { "" } else { " open" };
    let said = match (holding, criteria.len()) {
        (1, 1) => "1 criterion, it holds".to_owned(),
        (held, all) if held == all => format!("{all} criteria, all hold"),
        (held, all) => format!("{all} criteria, {held} of them hold"),
    };
    writeln!(
        out,
        "<details id=\"criteria\"{open}><summary>{said}</summary><div class=\"scroll\"><table class=\"judged\">"
    )?;
    writeln!(
        out,
        "<thead><tr><th scope=\"col\">criterion</th><th scope=\"col\" class=\"n\">value</th><th scope=\"col\" class=\"n\">limit</th><th scope=\"col\" class=\"n\">INVALID beyond</th><th scope=\"col\"></th></tr></thead><tbody>"
    )?;
    for criterion in criteria {
        let (class, said) = match criterion.holds {
            true => ("holds", "holds"),
            false => (fault(criterion).0, fault(criterion).1),
        };
        let beyond =
            criterion.invalid_limit.map_or(String::new(), |limit| words::in_unit(limit, &criterion.unit));
        writeln!(
            out,
            "<tr><td><code>{}</code></td><td class=\"n\">{}</td><td class=\"n\" data-is=\"limit\">{}</td><td class=\"n\" data-is=\"INVALID beyond\">{}</td><td class=\"{class}\">{said}</td></tr>",
            escape(criterion.name.as_str()),
            escape(&words::in_unit(criterion.value, &criterion.unit)),
            escape(&words::limit(criterion.limit, criterion)),
            escape(&beyond),
        )?;
    }
    writeln!(out, "</tbody></table></div></details>")
}

fn cards(out: &mut String, result: &RunResult) -> Result {
    let (latency, net) = (&result.latency_ns, &result.net_ns);
    let p50 = |figures: &Distribution| words::percentile(figures, 0.5, figures.p50);
    let p99 = |figures: &Distribution| words::percentile(figures, 0.99, figures.p99);
    let max = |figures: &Distribution| words::percentile(figures, 1.0, figures.max);
    let totals = &result.totals;
    let not_done = totals.failed + totals.missed + totals.cut_off;
    let mut all = match &result.packets {
        Some(report) => frames::cards(result, report),
        None if words::has_net(result) => vec![
            (p50(net), "net latency, median"),
            (p99(net), "net latency, p99"),
            (max(net), "net latency, largest"),
            (p99(&result.tare_ns), "tare, p99"),
            (p99(latency), "gross latency, p99"),
            (words::rate(result.rate.achieved_per_s), "achieved rate"),
        ],
        None => vec![
            (p50(latency), "latency, median"),
            (p99(latency), "latency, p99"),
            (max(latency), "latency, largest"),
            (words::rate(result.rate.achieved_per_s), "achieved rate"),
            (p99(&result.own_lateness_ns), "own lateness, p99"),
        ],
    };
    all.push((count(not_done), "failed, missed or cut off"));
    writeln!(out, "<div class=\"cards\">")?;
    for (value, what) in all {
        writeln!(out, "<div><b>{value}</b><span>{what}</span></div>")?;
    }
    writeln!(out, "</div>")
}

fn thresholds(out: &mut String, result: &RunResult) -> Result {
    let thresholds = &result.thresholds;
    if thresholds.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<div class=\"scroll\"><table id=\"thresholds\" class=\"judged\"><caption>Your thresholds: the run \
         fails if one is true</caption>"
    )?;
    writeln!(
        out,
        "<thead><tr><th scope=\"col\">threshold</th><th scope=\"col\" class=\"n\">value</th><th scope=\"col\" class=\"n\">limit</th><th scope=\"col\">where</th><th scope=\"col\"></th></tr></thead><tbody>"
    )?;
    for threshold in thresholds {
        let (class, said) = match (threshold.holds, result.was_ended_by(threshold)) {
            (true, _) => ("holds", "holds"),
            (false, true) => ("fails", "ended the run"),
            (false, false) => ("fails", "failed"),
        };
        let value = threshold
            .value
            .map_or("nothing to measure".to_owned(), |value| words::threshold_number(threshold, value));
        writeln!(
            out,
            "<tr><td><code>{}</code></td><td class=\"n\">{}</td><td class=\"n\" data-is=\"limit\">{}</td><td>{}</td><td class=\"{class}\">{said}</td></tr>",
            escape(&threshold.expression),
            escape(&value),
            escape(&words::in_unit(threshold.limit, &threshold.unit)),
            escape(&span(threshold)),
        )?;
    }
    writeln!(out, "</tbody></table></div>")
}

/// Of what the value is: "whole run", "the 5.00 s until 12.0 s".
fn span(threshold: &Threshold) -> String {
    match (threshold.window_s, threshold.at_s) {
        (Some(window), Some(at)) => format!("the {} until {}", words::seconds(window), words::seconds(at)),
        (Some(window), None) => format!("each {}", words::seconds(window)),
        (None, Some(at)) => format!("until {}", words::seconds(at)),
        (None, None) => "whole run".to_owned(),
    }
}

fn sinks(out: &mut String, result: &RunResult) -> Result {
    if result.sinks.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<div class=\"scroll\"><table id=\"sinks\"><caption>Where else the figures went</caption>"
    )?;
    write!(out, "<thead><tr><th scope=\"col\">place</th>")?;
    for head in ["intervals", "of them lost", "events", "of them lost"] {
        write!(out, "<th scope=\"col\" class=\"n\">{head}</th>")?;
    }
    writeln!(out, "<th scope=\"col\"></th></tr></thead><tbody>")?;
    for sink in &result.sinks {
        let lost = |lost: u64| {
            let class = if lost > 0 { "n fails" } else { "n" };
            format!("<td class=\"{class}\">{}</td>", count(lost))
        };
        let complete = sink.rows_lost == 0 && sink.events_lost == 0 && sink.trouble.is_empty();
        let said = match (complete, sink.trouble.is_empty()) {
            (true, _) => "complete",
            (false, true) => "not complete",
            (false, false) => &sink.trouble,
        };
        let class = if complete { "holds" } else { "fails" };
        writeln!(
            out,
            "<tr><td class=\"key\"><code>{}</code></td><td class=\"n\">{}</td>{}<td class=\"n\">{}</td>{}<td class=\"{class}\">{}</td></tr>",
            escape(&sink.url),
            count(sink.rows + sink.rows_lost),
            lost(sink.rows_lost),
            count(sink.events + sink.events_lost),
            lost(sink.events_lost),
            escape(said),
        )?;
    }
    writeln!(out, "</tbody></table></div>")
}

fn notes(out: &mut String, result: &RunResult) -> Result {
    let lost = result.store.lost.iter().map(|lost| format!("Not stored: {}: {}", lost.what, lost.why));
    let all: Vec<String> = result.notes.iter().cloned().chain(lost).collect();
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "<ul class=\"notes\">")?;
    for note in all {
        writeln!(out, "<li>{}</li>", sentence(&note))?;
    }
    writeln!(out, "</ul>")
}
