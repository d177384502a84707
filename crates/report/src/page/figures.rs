//! Figures of the whole run: times, outcomes, and what lies between latency and service time.

use crate::markup::escape;
use crate::words::{self, count};
use std::fmt::{Result, Write};
use store::Distribution;
use store::schema::RunResult;
use units::OutcomeClass;

/// Latency and service time further apart than this are worth a sentence: their ratio.
const APART: f64 = 1.1;

/// One sentence on waiting before requests left: whose it was, and, where it was the target's, what a tool that
/// begins to measure when it sends would have said (coordinated omission).
pub fn omission(out: &mut String, result: &RunResult) -> Result {
    let (latency, service, own) = (&result.latency_ns, &result.service_ns, &result.own_lateness_ns);
    if latency.is_empty() || service.is_empty() {
        return Ok(());
    }
    // Beside a lower bound, which counts what was never answered, the service time of answers says nothing.
    let points = [
        ("50th", 0.5, latency.p50, service.p50, own.p50),
        ("90th", 0.9, latency.p90, service.p90, own.p90),
        ("99th", 0.99, latency.p99, service.p99, own.p99),
        ("99.9th", 0.999, latency.p99_9, service.p99_9, own.p99_9),
    ];
    let ratio =
        |(_, _, latency, service, _): &(&str, f64, u64, u64, u64)| *latency as f64 / (*service).max(1) as f64;
    let known = points.iter().filter(|(_, share, ..)| !latency.is_bound(*share));
    let Some(widest) = known.max_by(|a, b| ratio(a).total_cmp(&ratio(b))) else { return Ok(()) };
    if ratio(widest) < APART {
        return writeln!(
            out,
            "<p class=\"note\">Latency and service time agree within 10 %: requests hardly waited before they left.</p>"
        );
    }
    let (percentile, _, latency, service, own_part) = *widest;
    let waiting = latency.saturating_sub(service);
    let whose = match own_part {
        _ if own.is_empty() => would_have_said(service),
        part if part >= waiting.div_ceil(2) => format!(
            "Most of that was the generator's own lateness, {} at the same percentile: it says nothing about \
             the target.",
            words::time(part)
        ),
        part => format!(
            "{} The generator's own lateness is {} at the same percentile.",
            would_have_said(service),
            words::time(part)
        ),
    };
    writeln!(
        out,
        "<p class=\"note\">At the {percentile} percentile the latency is {}, and the service time only {}: the rest is \
         waiting before the request left. {whose}</p>",
        words::time(latency),
        words::time(service),
    )
}

fn would_have_said(service: u64) -> String {
    let service = words::time(service);
    format!(
        "A tool that begins to measure when it sends would have reported {service} (coordinated omission)."
    )
}

pub fn times(out: &mut String, result: &RunResult) -> Result {
    let same_lateness = result.own_lateness_ns == result.lateness_ns;
    let own = if same_lateness { Distribution::default() } else { result.own_lateness_ns };
    // Without a handshake or a proxy it says the same as connect.
    let ready = if result.tls_ns.is_empty() { Distribution::default() } else { result.ready_ns };
    let gross = if words::has_net(result) { "gross" } else { "latency" };
    let rows: [(&str, &Distribution); 16] = [
        ("net", &result.net_ns),
        ("tare", &result.tare_ns),
        (gross, &result.latency_ns),
        ("service time", &result.service_ns),
        ("lateness", &result.lateness_ns),
        ("own lateness", &own),
        ("unread", &result.unread_ns),
        ("unread bound", &result.unread_bound_ns),
        ("first byte", &result.first_byte_ns),
        ("body", &result.body_ns),
        ("connect", &result.connect_ns),
        ("TLS", &result.tls_ns),
        ("ready", &ready),
        ("look-up", &result.lookup_ns),
        ("failed", &result.failed_ns),
        ("gap error", &result.gap_error_ns),
    ];
    if rows.iter().all(|(_, figures)| figures.says_nothing()) {
        return writeln!(out, "<p class=\"empty\">{}</p>", words::no_times(result));
    }
    writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Times of the whole run\">"
    )?;
    writeln!(
        out,
        "<table id=\"times\"><caption>Times of the whole run</caption><thead><tr><th scope=\"col\"></th>"
    )?;
    for head in ["count", "mean", "min", "p50", "p90", "p99", "p99.9", "p99.99", "max"] {
        write!(out, "<th scope=\"col\" class=\"n\">{head}</th>")?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for (name, figures) in rows.iter().filter(|(_, figures)| !figures.says_nothing()) {
        let of_answers = |text: String| if figures.is_empty() { "–".to_owned() } else { text };
        write!(out, "<tr><th scope=\"row\">{name}</th><td class=\"n\">{}</td>", count(figures.count))?;
        write!(out, "<td class=\"n\">{}</td>", of_answers(words::time_f64(figures.mean)))?;
        write!(out, "<td class=\"n\">{}</td>", of_answers(words::time(figures.min)))?;
        for (share, nanos) in [
            (0.5, figures.p50),
            (0.9, figures.p90),
            (0.99, figures.p99),
            (0.999, figures.p99_9),
            (0.9999, figures.p99_99),
            (1.0, figures.max),
        ] {
            write!(out, "<td class=\"n\">{}</td>", words::percentile(figures, share, nanos))?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")?;
    bounds(out, result)
}

/// What the sign before a percentile means, where there is one.
fn bounds(out: &mut String, result: &RunResult) -> Result {
    if result.net_ns.bound_from.is_none() && result.latency_ns.bound_from.is_none() {
        return Ok(());
    }
    let unfinished = &result.unfinished_ns;
    let had = if unfinished.is_empty() {
        String::new()
    } else {
        let least = words::time(unfinished.min);
        let most = words::time(unfinished.max);
        format!(" ({} of them, given up after {least} to {most})", count(unfinished.count))
    };
    writeln!(
        out,
        "<p class=\"note\">≥ is a lower bound: requests that timed out, were cut off or missed{had} count with \
         the elapsed time, and would have taken longer. Count, mean and least are of complete responses.</p>"
    )
}

/// That nothing is lost.
pub fn conservation(out: &mut String, result: &RunResult) -> Result {
    let totals = &result.totals;
    writeln!(
        out,
        "<p class=\"note\">{} offered = {} done + {} failed + {} missed + {} cut off</p>",
        count(totals.offered),
        count(totals.done),
        count(totals.failed),
        count(totals.missed),
        count(totals.cut_off)
    )
}

pub fn outcomes(out: &mut String, result: &RunResult) -> Result {
    if result.outcomes.is_empty() {
        return Ok(());
    }
    let all: u64 = result.outcomes.iter().map(|row| row.count).sum();
    writeln!(
        out,
        "<div class=\"scroll\"><table id=\"outcomes\" class=\"sortable\"><caption>Outcomes of the whole run</caption>"
    )?;
    writeln!(
        out,
        "<thead><tr><th scope=\"col\">outcome</th><th scope=\"col\" class=\"n\">count</th><th scope=\"col\" class=\"n\">share</th><th scope=\"col\">meaning</th></tr></thead><tbody>"
    )?;
    for row in &result.outcomes {
        let class = match row.class.class() {
            Some(OutcomeClass::Status) if matches!(row.status(), Some(200..=399)) => "",
            Some(OutcomeClass::Frame) => "",
            Some(OutcomeClass::Status | OutcomeClass::CutOff) => "doubt",
            _ => "fails",
        };
        writeln!(
            out,
            "<tr><td class=\"{class}\">{}</td><td class=\"n\" data-v=\"{}\">{}</td><td class=\"n\" data-v=\"{}\">{}</td><td class=\"soft\">{}</td></tr>",
            escape(words::outcome_key(row)),
            row.count,
            count(row.count),
            row.count,
            words::share(row.count as f64 / all.max(1) as f64),
            words::outcome(row)
        )?;
    }
    writeln!(out, "</tbody></table></div>")
}
