//! The generator over the whole run: its threads, and what it used and had left.

use crate::markup::escape;
use crate::past_kernel;
use crate::words::{self, count};
use std::fmt::{Result, Write};
use store::schema::{Arrivals, CostEach, Generator, RunResult, ThreadHealth};

pub fn tables(out: &mut String, result: &RunResult) -> Result {
    threads(out, &result.generator.threads)?;
    totals(out, result)?;
    pauses(out, &result.generator)
}

/// Pauses that are listed; result.json has more.
const MOST_PAUSES: usize = 20;

/// When the loops stood still, the longest first.
fn pauses(out: &mut String, generator: &Generator) -> Result {
    let longest = &generator.longest_pauses;
    if longest.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<div class=\"scroll\"><table id=\"pauses\" class=\"sortable\"><caption>Pauses: times in which a loop stood \
         still, the longest first</caption>"
    )?;
    writeln!(
        out,
        "<thead><tr><th scope=\"col\" class=\"n\">at</th><th scope=\"col\" class=\"n\">length</th></tr></thead><tbody>"
    )?;
    for pause in longest.iter().take(MOST_PAUSES) {
        writeln!(
            out,
            "<tr><td class=\"n\" data-v=\"{}\">{:.3} s</td><td class=\"n\" data-v=\"{}\">{}</td></tr>",
            pause.t_s,
            pause.t_s,
            pause.length_ns,
            words::time(pause.length_ns)
        )?;
    }
    writeln!(out, "</tbody></table></div>")?;
    match generator.pauses.saturating_sub(longest.len().min(MOST_PAUSES) as u64) {
        0 => Ok(()),
        more => writeln!(out, "<p class=\"soft\">and {}</p>", words::counted(more, "shorter one")),
    }
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
        optional("fewest descriptors left", health.descriptors_left.map(count)),
        optional("fewest local ports left", health.ports_left.map(count)),
        Some(("connections", words::opened(&result.connections))),
        Some(("most connections open at once", count(result.connections.open_peak))),
        Some(("requests that left late", count(health.late))),
        optional(
            "pauses: how often loops stalled, and total time",
            words::has_net(result).then(|| stood_still(health)),
        ),
        optional("how the arrival of responses is known", health.arrivals.as_ref().map(arrivals)),
        Some(("TCP retransmits (whole network namespace)", count(health.retransmits))),
        Some(("listen-queue overflows (whole network namespace)", count(health.listen_overflows))),
        optional(
            "packets that this host dropped after they had arrived",
            (health.dropped > 0).then(|| count(health.dropped)),
        ),
        optional(
            "times that a used interface lost its link",
            (health.links_lost > 0).then(|| count(health.links_lost)),
        ),
        Some((
            "stopped by a CPU quota",
            if health.throttled == 0 { "never".to_owned() } else { words::time(health.throttled_ns) },
        )),
        optional("clock", (!health.clock.is_empty()).then(|| escape(&health.clock))),
        optional("sockets", (!health.io.is_empty()).then(|| escape(&health.io))),
        optional("past the kernel, from", result.via.as_ref().map(past_kernel::from)),
        optional(
            "the TCP of --via",
            result.tcp.as_ref().map(|_| past_kernel::tcp(result).join(", ")).filter(|said| !said.is_empty()),
        ),
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

/// `never`, `3 times, 45.2 ms`.
fn stood_still(generator: &Generator) -> String {
    match generator.pauses {
        0 => "never".to_owned(),
        pauses => format!("{}, {}", words::counted(pauses, "time"), words::time(generator.paused_ns)),
    }
}

/// `kernel stamps (why), stamped 999 of 1 000 responses`.
fn arrivals(arrivals: &Arrivals) -> String {
    let all = arrivals.stamped + arrivals.unstamped;
    let why = if arrivals.why.is_empty() { String::new() } else { format!(" ({})", arrivals.why) };
    escape(&format!(
        "{}{why}, stamped {} of {}",
        arrivals.by,
        count(arrivals.stamped),
        words::counted(all, "response")
    ))
}

/// `1.1 µs user, 6.2 µs system, 0.8 µs softirq`.
fn cost_each(cost: &CostEach) -> String {
    let time = |ns: f64| words::time_f64(ns);
    let softirq = cost
        .softirq_ns
        .map_or_else(|| " (includes softirqs)".to_owned(), |ns| format!(", {} softirq", time(ns)));
    format!("{} user, {} system{softirq}", time(cost.user_ns), time(cost.system_ns))
}
