//! The generator over the whole run: its threads, and what it used and had left.

use crate::markup::escape;
use crate::words::{self, count};
use std::fmt::{Result, Write};
use store::schema::{CostEach, RunResult, ThreadHealth};

pub fn tables(out: &mut String, result: &RunResult) -> Result {
    threads(out, &result.generator.threads)?;
    totals(out, result)
}

fn threads(out: &mut String, threads: &[ThreadHealth]) -> Result {
    if threads.is_empty() {
        return Ok(());
    }
    writeln!(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Engine threads\">")?;
    writeln!(
        out,
        "<table id=\"threads\" class=\"sortable\"><caption>Engine threads over the whole run</caption>"
    )?;
    write!(out, "<thead><tr><th scope=\"col\">thread</th>")?;
    for head in ["CPU", "busy", "spun", "run-queue wait", "others", "steal", "gave way", "was made to"] {
        write!(out, "<th scope=\"col\" class=\"n\">{head}</th>")?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for thread in threads {
        let worked = (thread.cpu_share - thread.spun_share).max(0.0);
        let cells = [
            (f64::from(thread.core), thread.core.to_string()),
            (worked, words::share(worked)),
            (thread.spun_share, words::share(thread.spun_share)),
            (thread.run_queue_wait_ns as f64, words::time(thread.run_queue_wait_ns)),
            (thread.others_share, words::share(thread.others_share)),
            (thread.stolen_share, words::share(thread.stolen_share)),
            (thread.switches_voluntary as f64, count(thread.switches_voluntary)),
            (thread.switches_involuntary as f64, count(thread.switches_involuntary)),
        ];
        write!(out, "<tr><th scope=\"row\">{}</th>", thread.tid)?;
        for (value, text) in cells {
            write!(out, "<td class=\"n\" data-v=\"{value}\">{text}</td>")?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}

fn totals(out: &mut String, result: &RunResult) -> Result {
    let health = &result.generator;
    let optional = |name: &'static str, value: Option<String>| value.map(|value| (name, value));
    let rows = [
        optional(
            "CPU seconds per million requests, spinning excluded",
            health.cpu_s_per_million.map(words::number),
        ),
        optional("of that for each request", health.cost_each.as_ref().map(cost_each)),
        optional("memory, most", health.rss_peak_bytes.map(words::bytes)),
        optional("steal", health.steal_share.map(words::share)),
        optional("descriptors left, least", health.descriptors_left.map(count)),
        optional("local ports left, least", health.ports_left.map(count)),
        Some(("connections opened", count(result.connections.opened))),
        Some(("connections open at once, most", count(result.connections.open_peak))),
        Some(("requests that left late", count(health.late))),
        Some(("TCP retransmits (whole network namespace)", count(health.retransmits))),
        Some(("listen-queue overflows (whole network namespace)", count(health.listen_overflows))),
        Some((
            "stopped by a CPU quota",
            if health.throttled == 0 { "never".to_owned() } else { words::time(health.throttled_ns) },
        )),
        optional("clock", (!health.clock.is_empty()).then(|| escape(&health.clock))),
        optional("sockets", (!health.io.is_empty()).then(|| escape(&health.io))),
    ];
    writeln!(
        out,
        "<div class=\"scroll\"><table class=\"kv\"><caption>Used and left over the whole run</caption><tbody>"
    )?;
    for (name, value) in rows.into_iter().flatten() {
        writeln!(out, "<tr><th scope=\"row\">{name}</th><td class=\"n\">{value}</td></tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}

/// `1.1 µs user, 6.2 µs system, 0.8 µs softirq`.
fn cost_each(cost: &CostEach) -> String {
    let time = |ns: f64| words::time_f64(ns);
    let softirq = cost
        .softirq_ns
        .map_or_else(|| " (softirqs not told apart)".to_owned(), |ns| format!(", {} softirq", time(ns)));
    format!("{} user, {} system{softirq}", time(cost.user_ns), time(cost.system_ns))
}
