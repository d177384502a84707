//! Limits of the control group: CPU quota and how often it stopped us, memory. Both versions of cgroups:
//! `cpu.max`, `cpu.stat` and `memory.max`, or `cpu.cfs_quota_us`, `cpu.stat` and `memory.limit_in_bytes`.
//!
//! A quota may be any ancestor's: the narrowest counts.

use crate::finding::{Finding, Mend, Severity, Weight};
use crate::{Files, Subject};

/// A limit of version 1 above this is none: it is the largest multiple of a page.
const UNLIMITED: u64 = 1 << 60;
const SMALL_MEMORY: u64 = 512 << 20;

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    vec![cpu(&subject.files), memory(&subject.files)]
}

/// The files and the name of our group and of those around it, the innermost first.
fn groups(files: &Files, controller: &str) -> Vec<(Files, String)> {
    let groups = os::cgroup::groups(&files.path(""), controller);
    groups.into_iter().map(|group| (Files::at(&group.folder), group.name)).collect()
}

/// CPUs that a folder's quota grants, and the file that says so.
fn quota(folder: &Files) -> Option<(f64, &'static str)> {
    if let Some(line) = folder.line("cpu.max") {
        let (quota, period) = line.split_once(' ')?;
        return Some((quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?, "cpu.max"));
    }
    let quota: f64 = folder.line("cpu.cfs_quota_us")?.parse().ok()?;
    let period: f64 = folder.line("cpu.cfs_period_us")?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then_some((quota / period, "cpu.cfs_quota_us"))
}

fn cpu(files: &Files) -> Finding {
    let id = "cgroup.cpu";
    let groups = groups(files, "cpu");
    if groups.is_empty() {
        return Finding::unknown(id, "this process's control group is not visible");
    }
    let tightest = groups
        .iter()
        .filter_map(|(folder, name)| quota(folder).map(|(cpus, file)| (cpus, file, folder, name)))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((cpus, file, folder, name)) = tightest else {
        return Finding::fine(id, "no CPU quota");
    };
    let count = |counter: &str| folder.field("cpu.stat", counter).and_then(|n| n.parse::<u64>().ok());
    let (periods, stopped) = (count("nr_periods ").unwrap_or(0), count("nr_throttled ").unwrap_or(0));
    let stopped_ms = count("throttled_usec ")
        .map(|us| us / 1_000)
        .or_else(|| count("throttled_time ").map(|ns| ns / 1_000_000));
    let found =
        format!("a quota of {cpus:.2} CPUs, which stopped this process in {stopped} of {periods} periods");
    let before = folder.line(file).unwrap_or_default();
    let value = if file == "cpu.max" { "max" } else { "-1" };
    let severity = if stopped > 0 || cpus < 1.0 { Severity::Serious } else { Severity::Minor };
    let why = match (stopped, stopped_ms) {
        (1.., Some(ms)) => {
            format!("stopped for {:.0} ms each time, in which nothing is sent", ms as f64 / stopped as f64)
        }
        _ => format!(
            "if {cpus:.2} CPUs are used up early in a period of 100 ms, nothing is sent for the rest: up to \
             {:.0} ms",
            100.0 * (1.0 - cpus.min(1.0)).max(0.01)
        ),
    };
    Finding::fine(id, found)
        .why(why, "the group's own counters (cpu.stat)")
        .weighs(Weight { gaps: Severity::Serious, ..Weight::all(severity) })
        .mend(Mend::command(
            format!("on the host: docker update --cpus 0 CONTAINER, or: echo {value} > /{name}/{file}"),
            format!("echo '{before}' > /{name}/{file}"),
        ))
}

fn memory(files: &Files) -> Finding {
    let id = "cgroup.memory";
    let limit = |(folder, _): &(Files, String)| {
        ["memory.max", "memory.limit_in_bytes"].iter().find_map(|name| folder.number(name))
    };
    let groups = groups(files, "memory");
    if groups.is_empty() {
        return Finding::unknown(id, "this process's control group is not visible");
    }
    let Some(bytes) = groups.iter().filter_map(limit).filter(|bytes| *bytes < UNLIMITED).min() else {
        return Finding::fine(id, "no memory limit except the machine's");
    };
    let found = format!("memory limit of {} MiB", bytes >> 20);
    if bytes >= SMALL_MEMORY {
        return Finding::fine(id, found);
    }
    // The middle one of three is what a socket begins with.
    let buffer = |name: &str| files.sysctl(name)?.split(' ').nth(1)?.parse::<u64>().ok();
    let each = buffer("net.ipv4.tcp_rmem").unwrap_or(131_072) + buffer("net.ipv4.tcp_wmem").unwrap_or(16_384);
    Finding::fine(id, found)
        .why(
            format!(
                "{} connections with full buffers ({} KiB each) use all of it; then the kernel kills the run",
                bytes / each.max(1),
                each >> 10
            ),
            "computed from net.ipv4.tcp_rmem and tcp_wmem",
        )
        .weighs(Weight { http: Severity::Serious, ..Weight::all(Severity::Minor) })
        .mend(Mend::command(
            "on the host: docker update --memory 2g CONTAINER",
            format!("docker update --memory {}m CONTAINER", bytes >> 20),
        ))
}
