//! The tables of a weighing, for the terminal and as Markdown.

use super::{
    NO_FIGURES, NONE, micros, name, rate_claim, share, stamps_own, theoretical, threads, time_claim,
    why_they_differ,
};
use crate::words;
use std::fmt::{Result, Write};
use store::weighing::{Backload, Packets, Weighing};

/// For the terminal.
pub fn text(weighing: &Weighing) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = write(&mut out, weighing);
    out
}

fn write(out: &mut String, weighing: &Weighing) -> Result {
    if weighing.partial {
        writeln!(out, "Cut short; this was weighed by then.\n")?;
    }
    packets(out, weighing)?;
    weighing.backload.iter().try_for_each(|found| backload(out, found))?;
    rates(out, weighing)?;
    for skipped in &weighing.skipped {
        writeln!(out, "Skipped      {}: {}", skipped.what, skipped.why)?;
    }
    for note in &weighing.notes {
        writeln!(out, "Note         {note}")?;
    }
    Ok(())
}

fn packets(out: &mut String, weighing: &Weighing) -> Result {
    if weighing.packets.is_empty() {
        return Ok(());
    }
    let names = weighing.packets.iter().map(|found| name(&found.port, found.size, found.simulated).len());
    let wide = names.max().unwrap_or(0).max(14);
    writeln!(
        out,
        "{:<wide$} {:>7} {:>8} {:>20} {:>20} {:>22} {:>10}",
        "Packets", "threads", "stamps", "t at all rates", "t at the peak", "rate at the peak", "1/t"
    )?;
    for found in &weighing.packets {
        let [t_all, t_peak, rate, theory] = figures(found);
        writeln!(
            out,
            "{:<wide$} {:>7} {:>8} {:>20} {:>20} {:>22} {:>10}",
            name(&found.port, found.size, found.simulated),
            threads(found),
            found.stamps.method,
            t_all,
            t_peak,
            rate,
            theory
        )?;
    }
    writeln!(out)?;
    for found in &weighing.packets {
        let name = name(&found.port, found.size, found.simulated);
        let each = match found.stamps.each {
            0 | 1 => String::new(),
            each => format!(", one of {each}"),
        };
        let why = format!("{}{}", found.stamps.why, stamps_own(&found.stamps));
        writeln!(out, "{name:<12} stamps: {}{each} ({why})", found.stamps.place)?;
        writeln!(out, "{:<12} {}", "", why_they_differ(found))?;
        writeln!(out, "{:<12} threads: {}", "", found.threads_why)?;
        let negative = found.overall.negative;
        if negative > 0 {
            writeln!(
                out,
                "{:<12} {} stamped before the hand-over: not in any figure",
                "",
                words::counted(negative, "packet")
            )?;
        }
        if let Some(refused) = &found.overall.mean_ns.refused {
            writeln!(out, "{:<12} no interval between trials: {refused}", "")?;
        }
        for (number, trial) in found.trials.iter().enumerate() {
            for remark in &trial.remarks {
                writeln!(out, "{:<12} trial {}: {remark}", "", number + 1)?;
            }
        }
    }
    writeln!(out)
}

/// Time at all rates and at the peak, the rate there, and 1/t; dashes if no trial counts.
pub(super) fn figures(found: &Packets) -> [String; 4] {
    if found.overall.trials == 0 {
        return [NONE; 4].map(str::to_owned);
    }
    [
        time_claim(&found.overall.mean_ns),
        time_claim(&found.peak.mean_ns),
        rate_claim(&found.peak.rate_per_s),
        theoretical(found),
    ]
}

fn backload(out: &mut String, found: &Backload) -> Result {
    let simulated = if found.simulated { ", simulated" } else { "" };
    let head = format!("Backload {} {} B {}{simulated}", found.port, found.size, found.kind);
    let wide = head.len().max(26);
    writeln!(
        out,
        "{head:<wide$} {:>12} {:>20} {:>12} {:>18} {:>10} {:>6} {:>8}",
        "incoming", "own rate", "of before", "t", "dropped in", "CPU", "softirq"
    )?;
    let before = found.steps.first().map_or(0.0, |step| step.own_per_s.estimate);
    for step in &found.steps {
        let of_before =
            if before > 0.0 { words::share(step.own_per_s.estimate / before) } else { String::new() };
        writeln!(
            out,
            "{:<wide$} {:>12} {:>20} {:>12} {:>18} {:>10} {:>6} {:>8}",
            format!("  {}", step.phase),
            format!("{}/s", words::number(step.in_per_s.estimate)),
            rate_claim(&step.own_per_s),
            of_before,
            time_claim(&step.mean_ns),
            format!("{}/s", words::number(step.dropped_in_per_s)),
            share(step.idle.map(|idle| 1.0 - idle)),
            share(step.softirq)
        )?;
    }
    if found.steps.is_empty() {
        writeln!(
            out,
            "{:<wide$} {NONE:>12} {NONE:>20} {NONE:>12} {NONE:>18} {NONE:>10} {NONE:>6} {NONE:>8}",
            ""
        )?;
    }
    writeln!(out, "  {}", fall_and_recovery(found))?;
    writeln!(out, "  incoming frames: {}", found.steering)?;
    for remark in &found.remarks {
        writeln!(out, "  {remark}")?;
    }
    writeln!(out)
}

/// The sentence of a backload.
pub(super) fn fall_and_recovery(found: &Backload) -> String {
    if found.steps.is_empty() {
        return NO_FIGURES.into();
    }
    let within = |claim: &store::weighing::Claim, sign: f64| match (claim.low, claim.high) {
        (Some(low), Some(high)) if sign < 0.0 => {
            format!(" ({} … {})", words::signed_share(-high), words::signed_share(-low))
        }
        (Some(low), Some(high)) => format!(" ({} … {})", words::signed_share(low), words::signed_share(high)),
        _ => claim.refused.as_ref().map_or(String::new(), |why| format!(" (no interval: {why})")),
    };
    let rising = found.steps.iter().rev().find(|step| step.phase == "rising");
    let (fall, highest) = (&found.fall, rising.map_or(0.0, |step| step.in_per_s.estimate));
    if let Some(why) = fall.refused.as_ref().filter(|_| found.simulated && fall.estimate == 0.0) {
        return format!(
            "under {}/s of incoming frames its own rate is the same to the cycle (simulated; {why})",
            words::number(highest)
        );
    }
    let verb = match (fall.low, fall.high) {
        (Some(low), _) if low > 0.0 => "falls",
        (_, Some(high)) if high < 0.0 => "rises",
        (Some(_), Some(_)) => "does not fall beyond its noise",
        _ => "changes",
    };
    let by = match verb {
        "falls" => format!(" by {}{}", words::share(fall.estimate), within(fall, 1.0)),
        "rises" => format!(" by {}{}", words::share(-fall.estimate), within(fall, -1.0)),
        _ => format!(": {:+.1} %{}", -100.0 * fall.estimate, within(fall, -1.0)),
    };
    format!(
        "under {}/s of incoming frames its own rate {verb}{by}; when they stop it is back at {}{} of what it was",
        words::number(highest),
        words::share(found.recovery.estimate),
        within(&found.recovery, 1.0)
    )
}

fn rates(out: &mut String, weighing: &Weighing) -> Result {
    if weighing.rates.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "{:<26} {:>14} {:>14} {:>10} {:>10} {:>10}  against",
        "Rates", "highest VALID", "as it goes", "user", "system", "softirq"
    )?;
    for rate in &weighing.rates {
        let per = |value: f64| format!("{}/s", words::number(value));
        writeln!(
            out,
            "{:<26} {:>14} {:>14} {:>10} {:>10} {:>10}  {}",
            rate.key,
            if rate.peak_per_s > 0.0 { per(rate.peak_per_s) } else { "none".to_owned() },
            rate.saturated_per_s.map_or("–".to_owned(), per),
            format!("{} µs", micros(rate.user_ns)),
            format!("{} µs", micros(rate.system_ns)),
            rate.softirq_ns.map_or("–".to_owned(), |nanos| format!("{} µs", micros(nanos))),
            rate.against
        )?;
    }
    writeln!(out)
}

/// The map of a machine as tables of Markdown.
pub fn markdown(weighing: &Weighing) -> String {
    let mut out = String::new();
    let _ = write_markdown(&mut out, weighing);
    out
}

fn write_markdown(out: &mut String, weighing: &Weighing) -> Result {
    if !weighing.packets.is_empty() {
        writeln!(
            out,
            "| port | stamps | threads | t at all rates | t at the peak | rate at the peak | 1/t |"
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|")?;
        for found in &weighing.packets {
            let [t_all, t_peak, rate, theory] = figures(found);
            writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} |",
                cell(&name(&found.port, found.size, found.simulated)),
                cell(&found.stamps.method),
                threads(found),
                t_all,
                t_peak,
                rate,
                theory
            )?;
        }
        writeln!(out)?;
    }
    if !weighing.backload.is_empty() {
        writeln!(
            out,
            "| port | incoming | before | at the highest | incoming rate | after | t before | t at the highest |"
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|---|")?;
        for found in &weighing.backload {
            let [first, .., highest, last] = found.steps.as_slice() else {
                let name = cell(&name(&found.port, found.size, found.simulated));
                writeln!(out, "| {name} | {} |{}", cell(&found.kind), " – |".repeat(6))?;
                continue;
            };
            writeln!(
                out,
                "| {} | {} | {} | {} | {}/s | {} | {} | {} |",
                cell(&name(&found.port, found.size, found.simulated)),
                cell(&found.kind),
                rate_claim(&first.own_per_s),
                rate_claim(&highest.own_per_s),
                words::number(highest.in_per_s.estimate),
                rate_claim(&last.own_per_s),
                time_claim(&first.mean_ns),
                time_claim(&highest.mean_ns)
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Names come from whoever joined weighings: none of it ends a cell or a line.
fn cell(text: &str) -> String {
    words::printable(text).replace('\\', "\\\\").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::weighing::{BackloadStep, Claim};

    fn claim(estimate: f64, half: f64) -> Claim {
        Claim { estimate, low: Some(estimate - half), high: Some(estimate + half), refused: None }
    }

    fn found(fall: Claim) -> Backload {
        let step = |own: f64, incoming: f64| BackloadStep {
            own_per_s: claim(own, 1.0),
            in_per_s: claim(incoming, 1.0),
            ..BackloadStep::default()
        };
        Backload {
            fall,
            recovery: claim(0.99, 0.02),
            steps: vec![step(1e6, 0.0), step(4e5, 5e5), step(9.9e5, 0.0)],
            ..Backload::default()
        }
    }

    #[test]
    fn a_machines_name_ends_no_cell_of_markdown() {
        let port = "a|b\n: udp".to_owned();
        let packets = Packets { port: port.clone(), ..Packets::default() };
        let backload = Backload { port, ..found(claim(0.5, 0.1)) };
        let weighing = Weighing { packets: vec![packets], backload: vec![backload], ..Weighing::default() };
        let said = markdown(&weighing);
        assert_eq!(said.matches("| a\\|b·: udp, 0 B |").count(), 2, "{said}");
    }

    #[test]
    fn where_no_trial_counts_there_are_no_figures() {
        let none =
            Backload { port: "udp".into(), size: 64, kind: "udp-closed".into(), ..Backload::default() };
        let (backload, packets) = (vec![none], vec![Packets { port: "udp".into(), ..Packets::default() }]);
        let weighing = Weighing { backload, packets, ..Weighing::default() };
        let said = text(&weighing);
        assert!(!said.contains("0.000 µs") && !said.contains("1/t is"), "{said}");
        assert!(said.contains("–") && said.contains("no trial counts, so there are no figures"), "{said}");
        assert!(!said.contains("0.0 %"), "{said}");
        assert!(markdown(&weighing).contains("| udp, 64 B | udp-closed | – | – | – | – | – | – |\n"));
        let page = crate::weighing::html(&weighing);
        assert!(page.contains("o trial counts, so there are no figures"), "{page}");
        crate::weighing::svg(&weighing);
    }

    #[test]
    fn what_is_simulated_says_so_and_has_no_cpu() {
        let same = Claim { refused: Some("all 3 trials are the same".into()), ..Claim::default() };
        let backload = Backload { simulated: true, port: "fpga:sim".into(), size: 64, ..found(same) };
        let packets = Packets { simulated: true, port: "fpga:sim".into(), size: 64, ..Packets::default() };
        let weighing = Weighing { packets: vec![packets], backload: vec![backload], ..Weighing::default() };
        let said = text(&weighing);
        assert!(said.contains("fpga:sim, 64 B, simulated") && said.contains("64 B , simulated"), "{said}");
        assert!(said.contains("the same to the cycle (simulated; all 3 trials are the same)"), "{said}");
        let step = said.lines().find(|line| line.contains("400 000/s")).unwrap();
        assert!(step.trim_end().ends_with("–        –"), "no CPU: {step}");
        assert_eq!(markdown(&weighing).matches("| fpga:sim, 64 B, simulated |").count(), 2);
        assert!(crate::weighing::html(&weighing).matches("fpga:sim, 64 B, simulated").count() > 3);
        assert!(crate::weighing::like_study(&weighing).contains("fpga:sim 64 B, simulated"));
    }

    #[test]
    fn a_fall_is_one_only_if_its_interval_says_so() {
        let said = fall_and_recovery(&found(claim(0.6, 0.05)));
        assert!(said.contains("falls by 60") && said.contains("back at 99"), "{said}");
        let said = fall_and_recovery(&found(claim(0.01, 0.05)));
        assert!(said.contains("does not fall beyond its noise: -1.0 % (-6 % … 4 %)"), "{said}");
        // What rises has its interval the other way round.
        let said = fall_and_recovery(&found(claim(-0.5, 0.1)));
        assert!(said.contains("rises by 50 % (40 % … 60 %)"), "{said}");
        let refused = Claim { estimate: 0.6, refused: Some("one trial".into()), ..Claim::default() };
        let said = fall_and_recovery(&found(refused));
        assert!(said.contains("changes: -60.0 % (no interval: one trial)"), "{said}");
    }
}
