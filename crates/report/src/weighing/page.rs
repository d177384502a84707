//! The page of a weighing: it opens from disk and asks the network for nothing.

use super::study::MACHINES;
use super::tables::{fall_and_recovery, figures};
use super::{
    NONE, charts, micros, name, rate_claim, share, stamps_own, theoretical, threads, time_claim,
    why_they_differ,
};
use crate::html::page_shell;
use crate::markup::{escape, sentence};
use crate::words;
use std::fmt::{Result, Write};
use store::weighing::{self, Backload, BackloadStep, Packets, Weighing};

/// Shades of the map.
const SHADES: f64 = 8.0;

/// The whole page.
pub fn html(weighing: &Weighing) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = write(&mut out, weighing);
    page_shell(&format!("{} · tare weigh", title(weighing)), &out, "")
}

fn write(out: &mut String, weighing: &Weighing) -> Result {
    head(out, weighing)?;
    if !weighing.packets.is_empty() {
        packets(out, &weighing.packets)?;
        study(out, weighing)?;
    }
    if !weighing.backload.is_empty() {
        map(out, weighing)?;
        weighing.backload.iter().enumerate().try_for_each(|(index, found)| backload(out, index, found))?;
    }
    rates(out, weighing)?;
    trials(out, &weighing.packets)?;
    remarks(out, weighing)?;
    machine(out, weighing)
}

const fn title(weighing: &Weighing) -> &'static str {
    match weighing.machines.is_empty() {
        true => "What this machine can send",
        false => "What these machines can send",
    }
}

fn head(out: &mut String, weighing: &Weighing) -> Result {
    writeln!(out, "<header><h1>{}</h1>", title(weighing))?;
    let version = if weighing.tare.is_empty() { String::new() } else { format!("tare {}", weighing.tare) };
    let machines = weighing.machines.join(", ");
    let parts = [weighing::made_at(weighing), weighing.name.clone(), machines, version];
    let parts: Vec<String> = parts.iter().filter(|part| !part.is_empty()).map(|part| escape(part)).collect();
    writeln!(out, "<p class=\"soft\">{}</p>", parts.join(" · "))?;
    if !weighing.command.is_empty() {
        writeln!(out, "<p class=\"soft\"><code>{}</code></p>", escape(&weighing.command))?;
    }
    if weighing.partial {
        writeln!(out, "<p class=\"label\">Cut short; this was weighed by then</p>")?;
    }
    writeln!(out, "</header>")
}

/// A table in a box of its own; cells after the first are numbers.
fn table(out: &mut String, class: &str, heads: &[&str], rows: &[Vec<String>]) -> Result {
    writeln!(out, "<div class=\"scroll\" tabindex=\"0\"><table class=\"{class}\"><thead><tr>")?;
    for (index, head) in heads.iter().enumerate() {
        let class = if index > 0 { " class=\"n\"" } else { "" };
        write!(out, "<th scope=\"col\"{class}>{}</th>", escape(head))?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for row in rows {
        for (index, cell) in row.iter().enumerate() {
            match index {
                0 => write!(out, "<tr><th scope=\"row\">{}</th>", escape(cell))?,
                _ => write!(out, "<td class=\"n\">{}</td>", escape(cell))?,
            }
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}

fn packets(out: &mut String, packets: &[Packets]) -> Result {
    writeln!(out, "<section><h2>The system's time for a packet</h2>")?;
    writeln!(
        out,
        "<p class=\"note soft\">Each packet carries the time at which it was handed to the system; a stamp says when it left. The difference, over packets at all rates and in the step with the highest rate. ± is between trials (Student's t, 0.95).</p>"
    )?;
    let heads = [
        "port",
        "threads",
        "trials",
        "packets",
        "t at all rates",
        "t at the peak",
        "least",
        "most",
        "rate at the peak",
        "1/t",
    ];
    let rows: Vec<Vec<String>> = packets.iter().map(row).collect();
    table(out, "", &heads, &rows)?;
    writeln!(out, "<ul class=\"notes\">")?;
    for found in packets {
        let each = if found.stamps.each > 1 {
            format!(", one packet of {}", found.stamps.each)
        } else {
            String::new()
        };
        let refused = found.overall.mean_ns.refused.as_ref().filter(|_| found.simulated);
        let none =
            refused.map_or(String::new(), |why| format!(" No interval between trials: {}.", sentence(why)));
        writeln!(
            out,
            "<li>{}: {}. Stamps: {}{each}; {}. {}.{none}</li>",
            escape(&name(&found.port, found.size, found.simulated)),
            sentence(&why_they_differ(found)),
            escape(&found.stamps.place),
            sentence(&format!("{}{}", found.stamps.why, stamps_own(&found.stamps))),
            sentence(&found.threads_why)
        )?;
    }
    writeln!(out, "</ul>")?;
    out.push_str(&charts::time_by_rate(packets).html());
    if packets.iter().any(|found| !found.by_threads.is_empty()) {
        writeln!(
            out,
            "<div class=\"pair\">{}{}</div>",
            charts::loss(packets).html(),
            charts::by_threads(packets).html()
        )?;
    }
    for (index, found) in packets.iter().enumerate() {
        let [rate, time] = charts::over_time(
            &format!("p{index}"),
            &name(&found.port, found.size, found.simulated),
            &found.series,
        );
        writeln!(out, "<div class=\"pair\">{}{}</div>", rate.html(), time.html())?;
    }
    writeln!(out, "</section>")
}

fn row(found: &Packets) -> Vec<String> {
    let [t_all, t_peak, rate, theory] = figures(found);
    let (least, most) = match (found.overall.trials, found.overall.negative) {
        (0, _) => (NONE.to_owned(), NONE.to_owned()),
        (_, 0) => {
            (format!("{} µs", micros(found.overall.min_ns)), format!("{} µs", micros(found.overall.max_ns)))
        }
        _ => ("< 0".to_owned(), format!("{} µs", micros(found.overall.max_ns))),
    };
    vec![
        name(&found.port, found.size, found.simulated),
        threads(found),
        found.overall.trials.to_string(),
        words::count(found.overall.packets),
        t_all,
        t_peak,
        least,
        most,
        rate,
        theory,
    ]
}

/// Beside the machines of the study.
fn study(out: &mut String, weighing: &Weighing) -> Result {
    let own = if weighing.machines.is_empty() { "this machine, " } else { "" };
    writeln!(out, "<section><h2>Compared with the machines of the study</h2>")?;
    writeln!(
        out,
        "<p class=\"note soft\">A. Borodin, Research of computer systems load capability (2014), table 1: UDP, stamped by a capture on the same machine.</p>"
    )?;
    let mut rows: Vec<Vec<String>> = MACHINES
        .iter()
        .map(|machine| {
            vec![
                format!("{} ({})", machine.name, machine.what),
                format!("{:.2} ± {:.4} µs", machine.overall.0, machine.overall.2),
                format!("{:.2} ± {:.4} µs", machine.peak.0, machine.peak.2),
                format!("{} µs", machine.least),
                format!("{:.0} µs", machine.peak.1),
                format!("{}/s", words::number(machine.theoretical_per_s)),
            ]
        })
        .collect();
    rows.extend(weighing.packets.iter().map(|found| {
        vec![
            format!(
                "{}{}",
                if found.simulated { "" } else { own },
                name(&found.port, found.size, found.simulated)
            ),
            time_claim(&found.overall.mean_ns),
            time_claim(&found.peak.mean_ns),
            if found.peak.negative > 0 {
                "< 0".to_owned()
            } else {
                format!("{} µs", micros(found.peak.min_ns))
            },
            format!("{} µs", micros(found.peak.max_ns)),
            theoretical(found),
        ]
    }));
    table(
        out,
        "",
        &["machine", "t overall", "t at the peak", "least at the peak", "most at the peak", "1/t"],
        &rows,
    )?;
    writeln!(out, "</section>")
}

/// The map: a row for each port, frame size and kind of traffic, a column for each step.
fn map(out: &mut String, weighing: &Weighing) -> Result {
    writeln!(out, "<section><h2>Capability map</h2>")?;
    writeln!(
        out,
        "<p class=\"note soft\">Own packets (http: requests) per second and the time of one, while frames come \
         in at a rising rate. The darker a cell, the less of the rate before is left.</p>"
    )?;
    let most = weighing.backload.iter().map(|found| found.steps.len()).max().unwrap_or(0);
    writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"map\"><thead><tr><th scope=\"col\">port</th><th scope=\"col\">incoming</th>"
    )?;
    for index in 0..most {
        let head = match index {
            0 => "before".to_owned(),
            index if index + 1 == most => "after".to_owned(),
            index => format!("step {index}"),
        };
        write!(out, "<th scope=\"col\" class=\"n\">{head}</th>")?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for found in &weighing.backload {
        write!(
            out,
            "<tr><th scope=\"row\">{}{}</th><th scope=\"row\">{}</th>",
            escape(&name(&found.port, found.size, false)),
            if found.simulated { "<br>simulated" } else { "" },
            escape(&found.kind)
        )?;
        let before = found.steps.first().map_or(0.0, |step| step.own_per_s.estimate);
        found.steps.iter().try_for_each(|step| cell(out, step, before))?;
        (found.steps.len()..most).try_for_each(|_| write!(out, "<td class=\"n\">–</td>"))?;
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")?;
    charts::map_charts(weighing).iter().for_each(|chart| out.push_str(&chart.html()));
    writeln!(out, "</section>")
}

fn cell(out: &mut String, step: &BackloadStep, before: f64) -> Result {
    let lost = if before > 0.0 { (1.0 - step.own_per_s.estimate / before).clamp(0.0, 1.0) } else { 0.0 };
    writeln!(
        out,
        "<td class=\"w{}\"><b>{}/s</b><br>{} µs<br><span class=\"soft\">{}/s in</span></td>",
        (lost * SHADES).round(),
        escape(&words::number(step.own_per_s.estimate)),
        micros(step.mean_ns.estimate),
        escape(&words::number(step.in_per_s.estimate))
    )
}

fn backload(out: &mut String, index: usize, found: &Backload) -> Result {
    let title = format!("{} under {}", name(&found.port, found.size, found.simulated), found.kind);
    writeln!(
        out,
        "<section><h2>{}</h2><p class=\"note\">{}</p>",
        escape(&title),
        sentence(&fall_and_recovery(found))
    )?;
    let rows: Vec<Vec<String>> = found
        .steps
        .iter()
        .map(|step| {
            vec![
                step.phase.clone(),
                rate_claim(&step.in_per_s),
                rate_claim(&step.own_per_s),
                time_claim(&step.mean_ns),
                format!("{}/s", words::number(step.dropped_in_per_s)),
                format!("{}/s", words::number(step.refused_per_s)),
                share(step.user),
                share(step.system),
                share(step.softirq),
                share(step.idle),
            ]
        })
        .collect();
    let heads =
        ["", "incoming", "own rate", "t", "dropped in", "own refused", "user", "system", "softirq", "idle"];
    if !found.steps.is_empty() {
        table(out, "", &heads, &rows)?;
        let [rate, time] = charts::over_time(&format!("b{index}"), &title, &found.series);
        writeln!(out, "<div class=\"pair\">{}{}</div>", rate.html(), time.html())?;
    }
    writeln!(out, "<ul class=\"notes\"><li>Incoming frames: {}</li>", sentence(&found.steering))?;
    for remark in &found.remarks {
        writeln!(out, "<li>{}</li>", sentence(remark))?;
    }
    writeln!(out, "</ul></section>")
}

fn rates(out: &mut String, weighing: &Weighing) -> Result {
    if weighing.rates.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<section><h2>Rates</h2><p class=\"note soft\">The highest rate at which the verdict of a run stays VALID, the rate as fast as it goes, and the CPU time of each request or frame.</p>"
    )?;
    let per = |value: f64| format!("{}/s", words::number(value));
    let micro = |nanos: f64| format!("{} µs", micros(nanos));
    let rows: Vec<Vec<String>> = weighing
        .rates
        .iter()
        .map(|rate| {
            vec![
                rate.key.clone(),
                if rate.peak_per_s > 0.0 { per(rate.peak_per_s) } else { "none".to_owned() },
                rate.saturated_per_s.map_or("–".to_owned(), per),
                micro(rate.user_ns),
                micro(rate.system_ns),
                rate.softirq_ns.map_or("–".to_owned(), micro),
                rate.against.clone(),
            ]
        })
        .collect();
    table(out, "", &["load", "highest VALID", "as it goes", "user", "system", "softirq", "against"], &rows)?;
    writeln!(out, "</section>")
}

fn trials(out: &mut String, packets: &[Packets]) -> Result {
    for found in packets.iter().filter(|found| !found.trials.is_empty()) {
        let of_threads = |cell: String| if found.threads == 0 { NONE.to_owned() } else { cell };
        writeln!(
            out,
            "<section><h2>Trials: {}</h2>",
            escape(&name(&found.port, found.size, found.simulated))
        )?;
        let rows: Vec<Vec<String>> = found
            .trials
            .iter()
            .enumerate()
            .map(|(index, trial)| {
                let times = &trial.overall;
                vec![
                    format!("{}{}", index + 1, if trial.counts { "" } else { " (does not count)" }),
                    words::count(times.packets),
                    micros(times.mean_ns),
                    if times.negative > 0 {
                        format!("< 0 ({})", times.negative)
                    } else {
                        micros(times.min_ns)
                    },
                    micros(times.max_ns),
                    format!("± {:.5}", times.error_ns / 1e3),
                    micros(trial.peak.mean_ns),
                    format!("{}/s", words::number(trial.peak.rate_per_s)),
                    words::share(trial.loss),
                    of_threads(words::share(trial.waited)),
                    of_threads(format!("{} + {}", micros(trial.user_ns), micros(trial.system_ns))),
                ]
            })
            .collect();
        let heads = [
            "trial",
            "packets",
            "t mean, µs",
            "t min, µs",
            "t max, µs",
            "S/√n, µs",
            "t at peak, µs",
            "peak",
            "stamps lost",
            "waited for CPU",
            "CPU user + system, µs",
        ];
        table(out, "", &heads, &rows)?;
        writeln!(out, "<ul class=\"notes\">")?;
        for (index, trial) in found.trials.iter().enumerate() {
            for remark in &trial.remarks {
                writeln!(out, "<li>trial {}: {}</li>", index + 1, sentence(remark))?;
            }
        }
        writeln!(out, "</ul></section>")?;
    }
    Ok(())
}

fn remarks(out: &mut String, weighing: &Weighing) -> Result {
    if weighing.skipped.is_empty() && weighing.notes.is_empty() {
        return Ok(());
    }
    writeln!(out, "<section><h2>Notes</h2><ul class=\"notes\">")?;
    for skipped in &weighing.skipped {
        writeln!(out, "<li>Skipped: {}: {}</li>", escape(&skipped.what), sentence(&skipped.why))?;
    }
    for note in &weighing.notes {
        writeln!(out, "<li>{}</li>", sentence(note))?;
    }
    writeln!(out, "</ul></section>")
}

fn machine(out: &mut String, weighing: &Weighing) -> Result {
    let rows: Vec<Vec<String>> =
        weighing.machine.iter().map(|(name, value)| vec![name.clone(), value.clone()]).collect();
    writeln!(out, "<section><h2>Machine</h2>")?;
    table(out, "kv", &["fact", "value"], &rows)?;
    writeln!(out, "</section>")
}
