//! How the kernel takes frames from drivers: budgets of its polling, what it had no room for, and when it
//! looks.

use crate::finding::{Finding, Mend, Severity, Weight};
use crate::{Device, Files, Subject};

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    let files = &subject.files;
    let mut findings = vec![budget(files), backlog(files), stamps(files)];
    for device in subject.devices.iter().filter(|device| device.is_in_sys(files)) {
        findings.push(deferred(files, device));
        findings.push(threaded(files, device));
    }
    findings
}

/// Sums over CPUs of `/proc/net/softnet_stat`: frames, dropped for want of room, times that the budget ran out.
fn softnet(files: &Files) -> Option<(u64, u64, u64)> {
    let text = files.text("proc/net/softnet_stat")?;
    let row = |line: &str| {
        let mut words = line.split_ascii_whitespace().map(|word| u64::from_str_radix(word, 16).unwrap_or(0));
        Some((words.next()?, words.next()?, words.next()?))
    };
    let rows: Vec<(u64, u64, u64)> = text.lines().filter_map(row).collect();
    let add = |a: (u64, u64, u64), b: (u64, u64, u64)| (a.0 + b.0, a.1 + b.1, a.2 + b.2);
    (!rows.is_empty()).then(|| rows.into_iter().fold((0, 0, 0), add))
}

fn budget(files: &Files) -> Finding {
    let id = "net.budget";
    let budget = files.sysctl_number("net.core.netdev_budget");
    let micros = files.sysctl_number("net.core.netdev_budget_usecs");
    let (Some(budget), Some(micros)) = (budget, micros) else {
        return Finding::unknown(
            id,
            "the receive budget is not visible (only in the initial network namespace)",
        );
    };
    let weight = files.sysctl("net.core.dev_weight").unwrap_or_else(|| "?".into());
    let found =
        format!("the receive budget is {budget} frames or {micros} µs per round, {weight} frames per queue");
    let Some((frames, _, squeezed)) = softnet(files) else { return Finding::fine(id, found) };
    let found = format!("{found}; it ran out {squeezed} times in {frames} frames");
    // Once in 100 000 frames is nothing; a short-lived machine with few frames tells nothing either.
    if squeezed < 100 || squeezed.saturating_mul(100_000) < frames {
        return Finding::fine(id, found);
    }
    Finding::fine(id, found)
        .why(
            format!(
                "each time, the remaining frames wait for ksoftirqd: once in {} frames since boot",
                frames / squeezed
            ),
            "the kernel's counters (/proc/net/softnet_stat)",
        )
        .weighs(Weight::packets(Severity::Minor))
        .mend(Mend::sysctl(files, "net.core.netdev_budget", budget.saturating_mul(2)))
}

fn backlog(files: &Files) -> Finding {
    let id = "net.backlog";
    let Some(most) = files.sysctl_number("net.core.netdev_max_backlog") else {
        return Finding::unknown(id, "net.core.netdev_max_backlog is not visible");
    };
    let dropped = softnet(files).map_or(0, |(_, dropped, _)| dropped);
    let found =
        format!("at most {most} frames may wait for a CPU; {dropped} were dropped since boot because of it");
    if dropped == 0 && most >= 1_000 {
        return Finding::fine(id, found);
    }
    // TCP sends what is lost once more, 200 ms later: requests over loopback and veth use this queue, too.
    let (severity, http) =
        if dropped > 0 { (Severity::Serious, Severity::Serious) } else { (Severity::Minor, Severity::Fine) };
    Finding::fine(id, found)
        .why(
            format!(
                "at a million frames per second, a CPU's queue is full after {:.1} ms; loopback, RPS and \
                     veth without NAPI use it",
                most as f64 / 1e3
            ),
            "computed from the setting; drops from /proc/net/softnet_stat",
        )
        .weighs(Weight { packets: severity, http, ..Weight::default() })
        .mend(Mend::sysctl(files, "net.core.netdev_max_backlog", most.saturating_mul(4).max(4_000)))
}

fn stamps(files: &Files) -> Finding {
    let id = "net.stamps";
    match files.sysctl_number("net.core.netdev_tstamp_prequeue") {
        None => Finding::unknown(id, "net.core.netdev_tstamp_prequeue is not visible"),
        Some(0) => Finding::fine(id, "received frames get their timestamp after RPS")
            .why(
                "the timestamp of a frame that waited for another CPU is late by the wait: microseconds, and \
                  more under load",
                "Linux, Documentation/admin-guide/sysctl/net.rst",
            )
            .weighs(Weight::gaps(Severity::Minor))
            .mend(Mend::sysctl(files, "net.core.netdev_tstamp_prequeue", 1)),
        Some(_) => Finding::fine(id, "received frames get their timestamp before they are queued"),
    }
}

/// Interrupts that are put off: frames are seen late by as much.
fn deferred(files: &Files, device: &Device) -> Finding {
    let id = format!("napi.defer.{}", device.name);
    let path = |file: &str| format!("sys/class/net/{}/{file}", device.name);
    let (Some(defer), Some(timeout)) =
        (files.number(&path("napi_defer_hard_irqs")), files.number(&path("gro_flush_timeout")))
    else {
        return Finding::unknown(
            id,
            format!("{} does not report whether its interrupts are deferred", device.name),
        );
    };
    let found = format!("{}: interrupts are deferred {defer} times, for {} µs", device.name, timeout / 1_000);
    if defer == 0 || timeout == 0 {
        return Finding::fine(id, found);
    }
    let why = format!(
        "a frame may be seen {} µs after it arrived: right for busy polling, wrong for timestamps and gaps",
        timeout / 1_000
    );
    Finding::fine(id, found)
        .why(why, "Linux, Documentation/networking/napi.rst (IRQ suspension and mitigation)")
        .weighs(Weight { http: Severity::Minor, gaps: Severity::Serious, packets: Severity::Fine })
        .mend(Mend::file(files, &path("napi_defer_hard_irqs"), 0))
}

fn threaded(files: &Files, device: &Device) -> Finding {
    let id = format!("napi.threaded.{}", device.name);
    match files.number(&format!("sys/class/net/{}/threaded", device.name)) {
        None => {
            Finding::unknown(id, format!("{} does not report whether it receives in threads", device.name))
        }
        Some(0) => Finding::fine(id, format!("{} receives in softirqs, on the interrupted CPU", device.name)),
        Some(_) => Finding::fine(
            id,
            format!(
                "{} receives in its own threads: their CPU time is visible, and each batch costs a wake-up",
                device.name
            ),
        ),
    }
}
