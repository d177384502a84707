//! What a CPU does to save power: its frequency and its idle states.

use crate::finding::{COMPUTED, Change, Finding, Mend, Severity, Weight};
use crate::{Files, Subject};

const CPUS: &str = "sys/devices/system/cpu";
/// A wake-up from an idle state that takes longer is longer than the gap of frames at 100 000 a second.
const LONG_EXIT_US: u64 = 10;

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    vec![governor(&subject.files), idle(&subject.files)]
}

fn governor(files: &Files) -> Finding {
    let id = "cpu.governor";
    let path = |cpu: &str| format!("{CPUS}/{cpu}/cpufreq/scaling_governor");
    let cpus = files.numbered(CPUS, "cpu");
    let found: Vec<(String, String)> =
        cpus.iter().filter_map(|cpu| Some((path(cpu), files.line(&path(cpu))?))).collect();
    let Some((_, first)) = found.first() else {
        let who = if is_guest(files) { "a guest; its host decides" } else { "no cpufreq driver" };
        return Finding::unknown(id, format!("no frequency governor ({who})"));
    };
    let slow: Vec<&(String, String)> =
        found.iter().filter(|(_, governor)| governor != "performance").collect();
    if slow.is_empty() {
        return Finding::fine(id, format!("governor {first} on all {} CPUs", found.len()));
    }
    let names = files.line(&format!("{CPUS}/cpu0/cpufreq/scaling_available_governors")).unwrap_or_default();
    let changes = slow.iter().map(|(path, before)| Change {
        path: path.clone(),
        before: before.clone(),
        after: "performance".into(),
    });
    let mend = match names.is_empty() || names.split(' ').any(|name| name == "performance") {
        true => Mend::Settings { changes: changes.collect() },
        false => Mend::advice(format!("this kernel has only the governors {names}, not 'performance'")),
    };
    Finding::fine(id, format!("governor {} on {} of {} CPUs", slow[0].1, slow.len(), found.len()))
        .why(frequencies(files), COMPUTED)
        .weighs(Weight { gaps: Severity::Serious, ..Weight::all(Severity::Minor) })
        .mend(mend)
}

fn frequencies(files: &Files) -> String {
    let khz = |name: &str| files.number(&format!("{CPUS}/cpu0/cpufreq/{name}"));
    match (khz("cpuinfo_min_freq"), khz("cpuinfo_max_freq")) {
        (Some(low), Some(high)) if low > 0 => format!(
            "an idle CPU starts at {:.1} GHz of {:.1}: work takes up to {:.1} times as long until it has sped \
             up",
            low as f64 / 1e6,
            high as f64 / 1e6,
            high as f64 / low as f64
        ),
        _ => "the CPU's frequency follows the load with a delay of about 10 ms, the governor's sampling time"
            .into(),
    }
}

/// An idle state that is in use: `C6`, 133 µs.
struct State {
    path: String,
    name: String,
    exit_us: u64,
}

fn idle(files: &Files) -> Finding {
    let id = "cpu.idle";
    let cpus = files.numbered(CPUS, "cpu");
    let driver = files.line(&format!("{CPUS}/cpuidle/current_driver")).unwrap_or_else(|| "none".into());
    let states: Vec<State> = cpus.iter().flat_map(|cpu| enabled(files, cpu)).collect();
    let Some(deepest) = states.iter().max_by_key(|state| state.exit_us) else {
        let who = if is_guest(files) { "a guest; its host decides" } else { "no cpuidle driver" };
        return Finding::unknown(id, format!("no idle states ({who})"));
    };
    let found = format!(
        "leaving the deepest idle state, {}, takes {} µs (driver {driver})",
        deepest.name, deepest.exit_us
    );
    if deepest.exit_us <= LONG_EXIT_US {
        return Finding::fine(id, found);
    }
    let changes = states.iter().filter(|state| state.exit_us > LONG_EXIT_US).map(|state| Change {
        path: format!("{}/disable", state.path),
        before: "0".into(),
        after: "1".into(),
    });
    let severity = if deepest.exit_us > 50 { Severity::Serious } else { Severity::Minor };
    Finding::fine(id, found)
        .why(
            format!("a thread that wakes up, or an interrupt, may start {} µs late", deepest.exit_us),
            "the kernel's figure (cpuidle latency)",
        )
        .weighs(Weight { gaps: severity, ..Weight::all(Severity::Minor) })
        .mend(Mend::Settings { changes: changes.collect() })
}

fn enabled(files: &Files, cpu: &str) -> Vec<State> {
    let folder = format!("{CPUS}/{cpu}/cpuidle");
    let state = |name: String| {
        let path = format!("{folder}/{name}");
        let is_on = files.number(&format!("{path}/disable")).unwrap_or(0) == 0;
        let exit_us = files.number(&format!("{path}/latency"))?;
        let name = files.line(&format!("{path}/name")).unwrap_or(name);
        is_on.then_some(State { path, name, exit_us })
    };
    files.numbered(&folder, "state").into_iter().filter_map(state).collect()
}

/// Whether a hypervisor shows, on x86; elsewhere it is not known and counts as no.
pub(super) fn is_guest(files: &Files) -> bool {
    let text = files.text("proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}
