//! The study of load capability (A. Borodin, Research of computer systems load capability, 2014): its three
//! machines, and its tables.

use super::micros;
use std::fmt::Write;
use store::weighing::{Packets, Summary, Times, Weighing};

/// One machine of the study. Microseconds.
pub struct Machine {
    pub name: &'static str,
    pub what: &'static str,
    /// Mean, most, and error of the mean between trials: over all rates, and at the peak.
    pub overall: (f64, f64, f64),
    pub peak: (f64, f64, f64),
    pub least: &'static str,
    /// 1/t at the peak.
    pub theoretical_per_s: f64,
}

/// Its tables 1 and the figures of its text.
pub const MACHINES: [Machine; 3] = [
    Machine {
        name: "EP1",
        what: "Core i7 920 2.67 GHz, CentOS 6.4",
        overall: (9.05, 1_704.0, 1.6323),
        peak: (3.83, 835.0, 0.0721),
        least: "2",
        theoretical_per_s: 261_096.0,
    },
    Machine {
        name: "EP2",
        what: "Core i5 430M 2.26 GHz, Ubuntu 12.10",
        overall: (10.35, 3_770.0, 0.5810),
        peak: (8.20, 3_770.0, 0.0779),
        least: "2",
        theoretical_per_s: 121_951.0,
    },
    Machine {
        name: "EP3",
        what: "Core i7 3667U 2 GHz, OS X 10.8.5",
        overall: (60.23, 31_740.0, 0.9627),
        peak: (17.97, 2_030.0, 0.2056),
        least: "< 0",
        theoretical_per_s: 55_648.0,
    },
];

/// `< 0` where a stamp was before the hand-over.
fn least(negative: u64, min_ns: f64) -> String {
    if negative > 0 { "< 0".to_owned() } else { micros(min_ns) }
}

/// The study's tables 1 and 2, of this machine.
pub fn like_study(weighing: &Weighing) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = write_like_study(&mut out, weighing);
    out
}

fn write_like_study(out: &mut String, weighing: &Weighing) -> std::fmt::Result {
    writeln!(out, "Table 1. Time that the system takes for a packet, over all trials\n")?;
    writeln!(
        out,
        "{:<28} {:>7} {:>12} {:>10} {:>12} {:>26}",
        "Platform", "Trials", "t mean, µs", "t min, µs", "t max, µs", "Error between trials, µs"
    )?;
    for (what, of) in [("Overall", false), ("At the peak", true)] {
        writeln!(out, "{what}")?;
        for found in &weighing.packets {
            let summary = if of { &found.peak } else { &found.overall };
            row_of(out, &platform(found), summary)?;
        }
        for machine in &MACHINES {
            let (mean, most, error) = if of { machine.peak } else { machine.overall };
            writeln!(
                out,
                "{:<28} {:>7} {mean:>12.2} {:>10} {most:>12.0} {:>26}",
                format!("  {} of the study", machine.name),
                10,
                machine.least,
                format!("± {error:.4}")
            )?;
        }
    }
    writeln!(out, "\nTable 2. The same by trial\n")?;
    writeln!(
        out,
        "{:<28} {:>7} {:>12} {:>12} {:>10} {:>12} {:>14}",
        "Platform", "Trial", "Packets", "t mean, µs", "t min, µs", "t max, µs", "S/√n, µs"
    )?;
    for found in &weighing.packets {
        for (number, trial) in found.trials.iter().enumerate() {
            let name = if number == 0 { format!("  {}", platform(found)) } else { String::new() };
            row_of_trial(
                out,
                &name,
                number + 1,
                &trial.overall,
                if trial.counts { "" } else { "  does not count" },
            )?;
        }
    }
    Ok(())
}

/// `udp 64 B`; `fpga:sim 64 B, simulated`.
fn platform(found: &Packets) -> String {
    format!("{} {} B{}", found.port, found.size, if found.simulated { ", simulated" } else { "" })
}

fn row_of(out: &mut String, name: &str, summary: &Summary) -> std::fmt::Result {
    let error = match (&summary.mean_ns.half(), &summary.mean_ns.refused) {
        (Some(half), _) => format!("± {:.4}", half / 1e3),
        (None, Some(why)) if why.contains("same to the cycle") => "none: identical trials".to_owned(),
        (None, Some(_)) => "none: see the notes".to_owned(),
        (None, None) => String::new(),
    };
    writeln!(
        out,
        "{:<28} {:>7} {:>12} {:>10} {:>12} {error:>26}",
        format!("  {name}"),
        summary.trials,
        micros(summary.mean_ns.estimate),
        least(summary.negative, summary.min_ns),
        micros(summary.max_ns)
    )
}

fn row_of_trial(out: &mut String, name: &str, number: usize, times: &Times, more: &str) -> std::fmt::Result {
    writeln!(
        out,
        "{name:<28} {number:>7} {:>12} {:>12} {:>10} {:>12} {:>14}{more}",
        times.packets,
        micros(times.mean_ns),
        least(times.negative, times.min_ns),
        micros(times.max_ns),
        format!("± {:.5}", times.error_ns / 1e3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::weighing::{Claim, Trial};

    #[test]
    fn a_machines_theoretical_capability_is_one_over_its_time() {
        // As the study has it: 1/3.83 µs = 261 097 (it cuts off), 1/8.20 µs = 121 951, 1/17.97 µs = 55 648.
        for machine in &MACHINES {
            assert!((1e6 / machine.peak.0 - machine.theoretical_per_s).abs() < 1.0, "{}", machine.name);
        }
    }

    #[test]
    fn the_tables_have_the_studys_columns() {
        let times = Times {
            packets: 1_013_345,
            mean_ns: 12_560.0,
            min_ns: 2_000.0,
            max_ns: 1_817_000.0,
            error_ns: 38.62,
            ..Times::default()
        };
        let early = Times { negative: 3, ..times };
        let mean_ns = Claim { estimate: 10_354.0, low: Some(9_772.0), high: Some(10_936.0), refused: None };
        let packets = Packets {
            port: "udp".into(),
            size: 64,
            trials: vec![
                Trial { overall: times, counts: true, ..Trial::default() },
                Trial { overall: early, ..Trial::default() },
            ],
            overall: Summary { trials: 10, min_ns: 2_000.0, max_ns: 3.77e6, mean_ns, ..Summary::default() },
            ..Packets::default()
        };
        let text = like_study(&Weighing { packets: vec![packets], ..Weighing::default() });
        let line = |start: &str| text.lines().find(|line| line.trim_start().starts_with(start)).unwrap();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(line("udp 64 B"))[3..], ["10", "10.354", "2.000", "3770.0", "±", "0.5820"]);
        assert!(text.contains("1013345       12.560      2.000       1817.0      ± 0.03862"), "{text}");
        assert!(text.contains("< 0") && text.contains("does not count"), "{text}");
        assert_eq!(words(line("EP1 of the study"))[4..], ["10", "9.05", "2", "1704", "±", "1.6323"]);
    }
}
