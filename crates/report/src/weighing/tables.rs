//! The tables of a weighing, for the terminal and as Markdown.

use super::{micros, name, rate_claim, stamps_own, time_claim, why_they_differ};
use crate::words;
use std::fmt::{Result, Write};
use store::weighing::{Backload, Weighing};

/// For the terminal.
pub fn text(weighing: &Weighing) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = write(&mut out, weighing);
    out
}

fn write(out: &mut String, weighing: &Weighing) -> Result {
    if weighing.partial {
        writeln!(out, "Cut short: what was weighed by then.\n")?;
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
    writeln!(
        out,
        "{:<14} {:>7} {:>8} {:>20} {:>20} {:>22} {:>10}",
        "Packets", "threads", "stamps", "t at all rates", "t at the peak", "rate at the peak", "1/t"
    )?;
    for found in &weighing.packets {
        writeln!(
            out,
            "{:<14} {:>7} {:>8} {:>20} {:>20} {:>22} {:>10}",
            name(&found.port, found.size),
            found.threads,
            found.stamps.method,
            time_claim(&found.overall.mean_ns),
            time_claim(&found.peak.mean_ns),
            rate_claim(&found.peak.rate_per_s),
            format!("{}/s", words::number(found.theoretical_per_s))
        )?;
    }
    writeln!(out)?;
    for found in &weighing.packets {
        let name = name(&found.port, found.size);
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
                "{:<12} {} stamped before the hand-over: in no figure",
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

fn backload(out: &mut String, found: &Backload) -> Result {
    writeln!(
        out,
        "{:<26} {:>12} {:>20} {:>12} {:>18} {:>10} {:>6} {:>8}",
        format!("Backload {} {} B {}", found.port, found.size, found.kind),
        "incoming",
        "own rate",
        "of before",
        "t",
        "dropped in",
        "CPU",
        "softirq"
    )?;
    let before = found.steps.first().map_or(0.0, |step| step.own_per_s.estimate);
    for step in &found.steps {
        let of_before =
            if before > 0.0 { words::share(step.own_per_s.estimate / before) } else { String::new() };
        writeln!(
            out,
            "{:<26} {:>12} {:>20} {:>12} {:>18} {:>10} {:>6} {:>8}",
            format!("  {}", step.phase),
            format!("{}/s", words::number(step.in_per_s.estimate)),
            rate_claim(&step.own_per_s),
            of_before,
            time_claim(&step.mean_ns),
            format!("{}/s", words::number(step.dropped_in_per_s)),
            words::share(1.0 - step.idle),
            words::share(step.softirq)
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
    let within = |claim: &store::weighing::Claim| match (claim.low, claim.high) {
        (Some(low), Some(high)) => format!(" ({} … {})", words::share(low), words::share(high)),
        _ => claim.refused.as_ref().map_or(String::new(), |why| format!(" (no interval: {why})")),
    };
    let rising = found.steps.iter().rev().find(|step| step.phase == "rising");
    let (fall, highest) = (&found.fall, rising.map_or(0.0, |step| step.in_per_s.estimate));
    let verb = match (fall.low, fall.high) {
        (Some(low), _) if low > 0.0 => "falls",
        (_, Some(high)) if high < 0.0 => "rises",
        (Some(_), Some(_)) => "does not fall beyond its noise",
        _ => "changes",
    };
    let by = match verb {
        "falls" => format!(" by {}{}", words::share(fall.estimate), within(fall)),
        "rises" => format!(" by {}{}", words::share(-fall.estimate), within(fall)),
        _ => format!(": {:+.1} %{}", -100.0 * fall.estimate, within(fall)),
    };
    format!(
        "under {}/s of incoming frames its own rate {verb}{by}; when they stop it is back at {}{} of what it was",
        words::number(highest),
        words::share(found.recovery.estimate),
        within(&found.recovery)
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
            writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {}/s |",
                name(&found.port, found.size),
                found.stamps.method,
                found.threads,
                time_claim(&found.overall.mean_ns),
                time_claim(&found.peak.mean_ns),
                rate_claim(&found.peak.rate_per_s),
                words::number(found.theoretical_per_s)
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
            let [first, .., highest, last] = found.steps.as_slice() else { continue };
            writeln!(
                out,
                "| {} | {} | {} | {} | {}/s | {} | {} | {} |",
                name(&found.port, found.size),
                found.kind,
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
    fn a_fall_is_one_only_if_its_interval_says_so() {
        let said = fall_and_recovery(&found(claim(0.6, 0.05)));
        assert!(said.contains("falls by 60") && said.contains("back at 99"), "{said}");
        let said = fall_and_recovery(&found(claim(0.01, 0.05)));
        assert!(said.contains("does not fall beyond its noise"), "{said}");
        let refused = Claim { estimate: 0.6, refused: Some("one trial".into()), ..Claim::default() };
        let said = fall_and_recovery(&found(refused));
        assert!(said.contains("changes: -60.0 % (no interval: one trial)"), "{said}");
    }
}
