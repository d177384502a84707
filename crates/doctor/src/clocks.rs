//! Clocks and timers: what time is read from, what that costs, how far it is off, how late sleepers wake.

use crate::Subject;
use crate::finding::{Finding, MEASURED, Mend, Severity, Weight};

const SOURCES: &str = "sys/devices/system/clocksource/clocksource0";

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    vec![kernels(subject), own(subject), slack(subject)]
}

/// The clock source of the kernel, which stamps frames and wakes sleepers.
fn kernels(subject: &Subject) -> Finding {
    let (id, files) = ("clock.source", &subject.files);
    let Some(source) = files.line(&format!("{SOURCES}/current_clocksource")) else {
        return Finding::unknown(id, "the kernel does not report its clock source");
    };
    let found = format!("the kernel's clock source is {source}");
    let is_slow = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"].contains(&source.as_str());
    if !is_slow {
        return Finding::fine(id, found);
    }
    let available = files.line(&format!("{SOURCES}/available_clocksource")).unwrap_or_default();
    let mend = match available.split(' ').any(|name| name == "tsc") {
        true => Mend::file(files, &format!("{SOURCES}/current_clocksource"), "tsc"),
        false => Some(Mend::advice(
            "the kernel found no better clock source at boot; for the reason see dmesg | grep -i -e tsc -e \
             clocksource",
        )),
    };
    let (why, source) = match &subject.measured.clock {
        Some(clock) => (
            format!(
                "a reading takes {:.0} ns, because it leaves the CPU; a CPU's counter takes 20 to 50 ns. The \
                 kernel reads it for every timestamp",
                clock.kernel_overhead_ns
            ),
            MEASURED,
        ),
        None => (
            "a reading accesses a device outside the CPU, and the kernel needs 1 for every timestamp"
                .to_owned(),
            "Linux, Documentation/timers/timekeeping.rst",
        ),
    };
    Finding::fine(id, found).why(why, source).weighs(Weight::all(Severity::Serious)).mend(mend)
}

/// The clock of a run.
fn own(subject: &Subject) -> Finding {
    let id = "clock.tare";
    let Some(clock) = &subject.measured.clock else {
        return Finding::unknown(id, "Tare's own clock was not measured");
    };
    let found = format!(
        "Tare reads {}: steps of {:.0} ns, {:.0} ns per reading, {:.2} ppm off CLOCK_MONOTONIC",
        clock.source,
        clock.precision_ns,
        clock.overhead_ns,
        clock.error_ppm.abs()
    );
    // 100 ppm is what a verdict allows.
    let weight = match clock.error_ppm.abs() {
        ppm if ppm > 100.0 => Weight::all(Severity::Serious),
        _ if clock.overhead_ns > 200.0 => Weight::all(Severity::Serious),
        _ if clock.refused.is_some() => Weight::gaps(Severity::Minor),
        _ => Weight::default(),
    };
    let finding = Finding::fine(id, found).weighs(weight);
    let why = match (&clock.refused, weight == Weight::default()) {
        (_, true) => return finding,
        (Some(refused), _) => format!("{refused}; a reading costs {:.0} ns", clock.overhead_ns),
        (None, _) => {
            format!("rates would be wrong by {:.0} ppm; a verdict allows 100 ppm", clock.error_ppm.abs())
        }
    };
    finding
        .why(why, MEASURED)
        .mend(Mend::advice("no setting changes this: it depends on the CPU, or on the host of a guest"))
}

/// How late a sleeper wakes. Tare sets its own threads' slack, so that this is for comparison.
fn slack(subject: &Subject) -> Finding {
    let id = "timer.slack";
    let slack = subject.files.number("proc/self/timerslack_ns");
    let Some(sleeps) = &subject.measured.sleeps else {
        return match slack {
            Some(ns) => Finding::fine(id, format!("timer slack is {ns} ns; Tare's threads use 1 ns")),
            None => Finding::unknown(id, "the kernel does not report the timer slack"),
        };
    };
    let micros = |ns: u64| ns as f64 / 1e3;
    let found = format!(
        "a sleeping thread wakes {:.0} µs late (p99 {:.0}) with Tare's slack of 1 ns, {:.0} µs (p99 {:.0}) \
         with the default 50 µs",
        micros(sleeps.tight_p50_ns),
        micros(sleeps.tight_p99_ns),
        micros(sleeps.default_p50_ns),
        micros(sleeps.default_p99_ns)
    );
    // Spinning begins 200 µs before a due time at the most: a sleeper that wakes later than that is late in
    // earnest.
    let weight = match sleeps.tight_p99_ns {
        0..=200_000 => Weight::default(),
        200_001..=2_000_000 => Weight::gaps(Severity::Minor),
        _ => Weight { gaps: Severity::Serious, ..Weight::all(Severity::Minor) },
    };
    let finding = Finding::fine(id, found).weighs(weight);
    if weight == Weight::default() {
        return finding;
    }
    let why = format!(
        "one departure in a hundred is {:.1} ms late unless a thread busy-waits for it",
        sleeps.tight_p99_ns as f64 / 1e6
    );
    finding
        .why(why, MEASURED)
        .mend(Mend::advice("give Tare its own CPU (--cpus), and busy-wait (--spin always)"))
}
