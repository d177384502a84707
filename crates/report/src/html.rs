//! The report as one HTML file: it opens from disk, asks the network for nothing and has no script.
//!
//! Everything that came from outside (URLs, names, the plan, the environment) is escaped. Lines of the plan that
//! carry credentials are not shown, as a report is a thing to send around.

use crate::charts;
use crate::markup::{escape, without_secrets};
use crate::words::{self, count};
use std::fmt::{self, Write};
use store::schema::{Criterion, RunResult, Word};
use store::{Distribution, Timeline};

/// What the report is made of besides the result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Documents<'a> {
    /// Text of `plan.toml`.
    pub plan: &'a str,
    /// Text of `environment.json`.
    pub environment: &'a str,
}

/// The whole page.
pub fn html(result: &RunResult, timeline: &Timeline, documents: Documents<'_>) -> String {
    let mut page = String::with_capacity(128 * 1024);
    // Writing to a String does not fail.
    let _ = write_page(&mut page, result, timeline, documents);
    page
}

fn write_page(
    out: &mut String,
    result: &RunResult,
    timeline: &Timeline,
    documents: Documents<'_>,
) -> fmt::Result {
    let title = format!("{} · tare {}", result.target, result.engine);
    writeln!(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
    writeln!(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
    // Whatever slips through escaping still cannot load or run anything.
    writeln!(
        out,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    )?;
    writeln!(
        out,
        "<title>{}</title>\n<style>\n{}</style>\n</head>",
        escape(&title),
        include_str!("report.css")
    )?;
    writeln!(out, "<body><main>")?;
    head(out, result)?;
    verdict(out, result)?;
    cards(out, result)?;
    for chart in [charts::rates, charts::lateness, charts::latency, charts::heat] {
        out.push_str(&chart(timeline, result).html());
    }
    out.push_str(&charts::by_percentile(result).html());
    for chart in [charts::outcomes, charts::phases] {
        out.push_str(&chart(timeline, result).html());
    }
    for chart in charts::generator(timeline, result) {
        out.push_str(&chart.html());
    }
    times(out, result)?;
    outcomes(out, result)?;
    groups(out, result)?;
    generator(out, result)?;
    plan_and_environment(out, result, documents)?;
    definitions(out)?;
    writeln!(out, "</main></body>\n</html>")
}

fn head(out: &mut String, result: &RunResult) -> fmt::Result {
    writeln!(out, "<header><h1>{}</h1>", escape(&result.target))?;
    writeln!(out, "<p>{}</p>", escape(&result.load))?;
    let parts = [&result.started_at, &result.run];
    let parts: Vec<String> =
        parts.into_iter().filter(|part| !part.is_empty()).map(|part| escape(part)).collect();
    writeln!(out, "<p class=\"soft\">{}</p>", parts.join(" · "))?;
    if result.partial && result.labels.is_empty() {
        writeln!(out, "<p class=\"label\">Partial result: the run ended before it was complete</p>")?;
    }
    for label in &result.labels {
        let partial = if result.partial { "Partial result: " } else { "" };
        writeln!(out, "<p class=\"label\">{partial}{}</p>", escape(label))?;
    }
    writeln!(out, "</header>")
}

fn verdict(out: &mut String, result: &RunResult) -> fmt::Result {
    let verdict = &result.verdict;
    let word = verdict.word.as_str();
    let failing = verdict.criteria.iter().filter(|criterion| !criterion.holds).count();
    let unreachable = words::unreachable(result);
    let is_reached = unreachable.is_none();
    let sentence = unreachable.unwrap_or_else(|| words::verdict(verdict.word, failing, 0));
    let sentence = escape(&sentence);
    writeln!(out, "<section class=\"verdict {word}\"><p><strong>{word}</strong>{sentence}</p>")?;
    for criterion in verdict.criteria.iter().filter(|criterion| is_reached && !criterion.holds) {
        broken(out, criterion)?;
    }
    let held: Vec<&Criterion> = verdict.criteria.iter().filter(|criterion| criterion.holds).collect();
    if !held.is_empty() {
        let said = match held.len() {
            1 => "1 criterion holds".to_owned(),
            many => format!("{many} criteria hold"),
        };
        writeln!(out, "<details><summary>{said}</summary>")?;
        criteria(out, &held)?;
        writeln!(out, "</details>")?;
    }
    if !result.thresholds.is_empty() {
        writeln!(
            out,
            "<div class=\"scroll\"><table><tr><th>Your thresholds</th><th class=n>value</th><th></th></tr>"
        )?;
        for threshold in &result.thresholds {
            let (class, said) = if threshold.holds { ("holds", "holds") } else { ("fails", "failed") };
            let value = threshold
                .value
                .map_or("nothing to measure".to_owned(), |v| words::in_unit(v, &threshold.unit));
            let value = escape(&value);
            writeln!(
                out,
                "<tr><td>{}</td><td class=n>{value}</td><td class=\"{class}\">{said}</td></tr>",
                escape(&threshold.expression)
            )?;
        }
        writeln!(out, "</table></div>")?;
    }
    notes(out, result)?;
    writeln!(out, "</section>")
}

/// One that does not hold, and what to do about it.
fn broken(out: &mut String, criterion: &Criterion) -> fmt::Result {
    let (class, said, limit) = match criterion.severity {
        Word::Invalid => ("fails", "INVALID", criterion.invalid_limit.unwrap_or(criterion.limit)),
        Word::Degraded => ("doubt", "DEGRADED", criterion.limit),
        Word::Valid => ("doubt", "warning", criterion.limit),
    };
    writeln!(
        out,
        "<div><p><code>{}</code> {}, {} <span class=\"{class}\">{said}</span></p><p class=soft>{}</p></div>",
        escape(&criterion.name),
        escape(&words::in_unit(criterion.value, &criterion.unit)),
        escape(&words::limit(limit, criterion)),
        escape(&criterion.advice)
    )
}

fn criteria(out: &mut String, criteria: &[&Criterion]) -> fmt::Result {
    writeln!(
        out,
        "<div class=scroll><table><tr><th>criterion</th><th class=n>value</th><th class=n>limit</th></tr>"
    )?;
    for criterion in criteria {
        let value = escape(&words::in_unit(criterion.value, &criterion.unit));
        let limit = escape(&words::limit(criterion.limit, criterion));
        let name = escape(&criterion.name);
        writeln!(out, "<tr><td>{name}</td><td class=n>{value}</td><td class=n>{limit}</td></tr>")?;
    }
    writeln!(out, "</table></div>")
}

fn notes(out: &mut String, result: &RunResult) -> fmt::Result {
    let lost = result.store.lost.iter().map(|lost| format!("Not stored: {}: {}", lost.what, lost.why));
    let all: Vec<String> = result.notes.iter().cloned().chain(lost).collect();
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "<ul class=\"notes\">")?;
    for note in all {
        writeln!(out, "<li>{}</li>", escape(&note))?;
    }
    writeln!(out, "</ul>")
}

fn cards(out: &mut String, result: &RunResult) -> fmt::Result {
    let latency = &result.latency_ns;
    let time = |figures: &Distribution, nanos| {
        if figures.is_empty() { "–".to_owned() } else { words::time(nanos) }
    };
    let totals = &result.totals;
    let not_done = totals.failed + totals.missed + totals.cut_off;
    let all = [
        (time(latency, latency.p50), "latency, median"),
        (time(latency, latency.p99), "latency, 99th percentile"),
        (time(latency, latency.max), "latency, largest"),
        (words::rate(result.rate.achieved_per_s), "answered"),
        (
            time(&result.own_lateness_ns, result.own_lateness_ns.p99),
            "the generator’s own lateness, 99th percentile",
        ),
        (count(not_done), "failed, missed or cut off"),
    ];
    writeln!(out, "<div class=\"cards\">")?;
    for (value, what) in all {
        writeln!(out, "<div><b>{value}</b><span>{what}</span></div>")?;
    }
    writeln!(out, "</div>")
}

fn times(out: &mut String, result: &RunResult) -> fmt::Result {
    let same_lateness = result.own_lateness_ns == result.lateness_ns;
    let own = if same_lateness { Distribution::default() } else { result.own_lateness_ns };
    // Without a handshake or a proxy it says the same as connect.
    let ready = if result.tls_ns.is_empty() { Distribution::default() } else { result.ready_ns };
    let rows: [(&str, &Distribution); 11] = [
        ("latency", &result.latency_ns),
        ("service time", &result.service_ns),
        ("lateness", &result.lateness_ns),
        ("own lateness", &own),
        ("first byte", &result.first_byte_ns),
        ("connect", &result.connect_ns),
        ("TLS handshake", &result.tls_ns),
        ("connection ready", &ready),
        ("look-up", &result.lookup_ns),
        ("failed", &result.failed_ns),
        ("gap error", &result.gap_error_ns),
    ];
    writeln!(out, "<section><h2>Times</h2><div class=\"scroll\"><table><tr><th></th>")?;
    for head in ["count", "mean", "min", "p50", "p90", "p99", "p99.9", "p99.99", "max"] {
        write!(out, "<th class=n>{head}</th>")?;
    }
    writeln!(out, "</tr>")?;
    for (name, figures) in rows.iter().filter(|(_, figures)| !figures.is_empty()) {
        write!(out, "<tr><td>{name}</td><td class=n>{}</td>", count(figures.count))?;
        write!(out, "<td class=n>{}</td>", words::time_f64(figures.mean))?;
        for nanos in
            [figures.min, figures.p50, figures.p90, figures.p99, figures.p99_9, figures.p99_99, figures.max]
        {
            write!(out, "<td class=n>{}</td>", words::time(nanos))?;
        }
        writeln!(out, "</tr>")?;
    }
    if rows.iter().all(|(_, figures)| figures.is_empty()) {
        writeln!(
            out,
            "<tr><td colspan=10 class=soft>Nothing left the generator, so no time was measured.</td></tr>"
        )?;
    }
    writeln!(out, "</table></div></section>")
}

fn outcomes(out: &mut String, result: &RunResult) -> fmt::Result {
    let totals = &result.totals;
    writeln!(
        out,
        "<section><h2>Outcomes</h2><p class=soft>{} offered = {} done + {} failed + {} missed + {} cut off</p>",
        count(totals.offered),
        count(totals.done),
        count(totals.failed),
        count(totals.missed),
        count(totals.cut_off)
    )?;
    let all: u64 = result.outcomes.iter().map(|row| row.count).sum();
    writeln!(out, "<div class=\"scroll\"><table>")?;
    for row in &result.outcomes {
        let class = match row.class.as_str() {
            "status" if row.key.starts_with(['2', '3']) => "",
            "status" | "cut_off" => "doubt",
            _ => "fails",
        };
        let name = if row.class == "cut_off" { "cut off" } else { &row.key };
        writeln!(
            out,
            "<tr><td class=\"{class}\">{}</td><td class=n>{}</td><td class=n>{}</td><td class=soft>{}</td></tr>",
            escape(name),
            count(row.count),
            words::share(row.count as f64 / all.max(1) as f64),
            words::outcome(&row.class, &row.key)
        )?;
    }
    writeln!(out, "</table></div></section>")
}

fn groups(out: &mut String, result: &RunResult) -> fmt::Result {
    const MOST: usize = 500;
    if result.groups.len() < 2 {
        return Ok(());
    }
    writeln!(out, "<section><h2>By name</h2><div class=\"scroll\"><table><tr><th></th>")?;
    for head in ["requests", "p50", "p90", "p99", "max", "not done"] {
        write!(out, "<th class=n>{head}</th>")?;
    }
    writeln!(out, "</tr>")?;
    for group in result.groups.iter().take(MOST) {
        let figures = &group.latency_ns;
        write!(out, "<tr><td class=key>{}</td><td class=n>{}</td>", escape(&group.name), count(group.count))?;
        for nanos in [figures.p50, figures.p90, figures.p99, figures.max] {
            let text = if figures.is_empty() { "–".to_owned() } else { words::time(nanos) };
            write!(out, "<td class=n>{text}</td>")?;
        }
        writeln!(out, "<td class=n>{}</td></tr>", count(group.count - figures.count.min(group.count)))?;
    }
    writeln!(out, "</table></div>")?;
    if let Some(more) = result.groups.len().checked_sub(MOST).filter(|more| *more > 0) {
        writeln!(out, "<p class=soft>and {} in result.json</p>", words::counted(more as u64, "more name"))?;
    }
    writeln!(out, "</section>")
}

fn generator(out: &mut String, result: &RunResult) -> fmt::Result {
    let health = &result.generator;
    writeln!(out, "<section><h2>The generator itself</h2><div class=\"scroll\"><table>")?;
    if !health.threads.is_empty() {
        write!(out, "<tr>")?;
        for (index, head) in
            ["thread", "CPU", "busy", "spinning", "waited for a CPU", "gave way", "was made to"]
                .into_iter()
                .enumerate()
        {
            write!(out, "<th{}>{head}</th>", if index == 0 { "" } else { " class=n" })?;
        }
        writeln!(out, "</tr>")?;
    }
    for thread in &health.threads {
        let worked = (thread.cpu_share - thread.spun_share).max(0.0);
        let cells = [
            thread.core.to_string(),
            words::share(worked),
            words::share(thread.spun_share),
            words::time(thread.run_queue_wait_ns),
            count(thread.switches_voluntary),
            count(thread.switches_involuntary),
        ];
        write!(out, "<tr><td>{}</td>", thread.tid)?;
        for cell in cells {
            write!(out, "<td class=n>{cell}</td>")?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</table></div><div class=\"scroll\"><table class=kv>")?;
    let optional = |name: &'static str, value: Option<String>| value.map(|value| (name, value));
    let rows = [
        optional(
            "CPU seconds per million requests, spinning excluded",
            health.cpu_s_per_million.map(words::number),
        ),
        optional("memory, most", health.rss_peak_bytes.map(words::bytes)),
        optional("steal", health.steal_share.map(words::share)),
        optional("descriptors left, least", health.descriptors_left.map(count)),
        optional("local ports left, least", health.ports_left.map(count)),
        Some(("connections opened", count(result.connections.opened))),
        Some(("connections open at once, most", count(result.connections.open_peak))),
        Some(("requests that left late", count(health.late))),
        Some(("TCP retransmits (whole network namespace)", count(health.retransmits))),
        Some(("listen-queue overflows (whole network namespace)", count(health.listen_overflows))),
        Some(("stopped by a CPU quota", words::time(health.throttled_ns))),
        optional("clock", (!health.clock.is_empty()).then(|| escape(&health.clock))),
        optional("sockets", (!health.io.is_empty()).then(|| escape(&health.io))),
    ];
    for (name, value) in rows.into_iter().flatten() {
        writeln!(out, "<tr><th>{name}</th><td class=n>{value}</td></tr>")?;
    }
    writeln!(out, "</table></div></section>")
}

fn plan_and_environment(out: &mut String, result: &RunResult, documents: Documents<'_>) -> fmt::Result {
    let blocks = [
        ("Command", result.command.as_str(), " class=wrap"),
        ("Plan", documents.plan, ""),
        ("Environment", documents.environment, ""),
    ];
    for (name, text, class) in blocks.into_iter().filter(|(_, text, _)| !text.is_empty()) {
        let open = if name == "Command" { " open" } else { "" };
        let text = escape(without_secrets(text).trim_end());
        writeln!(
            out,
            "<section><details{open}><summary>{name}</summary><pre{class}>{text}</pre></details></section>"
        )?;
    }
    Ok(())
}

fn definitions(out: &mut String) -> fmt::Result {
    const WORDS: [(&str, &str); 9] = [
        ("due", "when a request should have left, from the schedule"),
        ("latency", "done − due: what a user waits, the generator's lateness included"),
        ("service time", "done − sent: what the target and the network took"),
        (
            "lateness",
            "sent − due: how late the request left; the generator's own part is what no limit of the plan explains",
        ),
        ("offered, achieved", "requests that were due each second; requests that were answered each second"),
        ("missed", "could not be sent at all, counted by cause"),
        ("cut off", "on its way when the run ended"),
        ("p99", "99 of 100 values are at most this; computed from all values, never averaged over time"),
        (
            "verdict",
            "VALID: the figures are the target's. DEGRADED: they hold with the stated doubt. INVALID: the generator limited the run",
        ),
    ];
    writeln!(out, "<section><h2>Words</h2><dl>")?;
    for (word, meaning) in WORDS {
        writeln!(out, "<dt>{word}</dt><dd>{meaning}</dd>")?;
    }
    writeln!(out, "</dl></section>")
}
