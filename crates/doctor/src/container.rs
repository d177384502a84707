//! Limits of the control group: CPU quota and how often it stopped us, memory. Both versions of cgroups.
//!
//! ```text
//!   version 2   0::/a/b           /sys/fs/cgroup/a/b/{cpu.max,cpu.stat,memory.max}
//!   version 1   4:cpu,cpuacct:/c  /sys/fs/cgroup/cpu,cpuacct/c/{cpu.cfs_quota_us,cpu.stat}, …/memory/…/memory.limit_in_bytes
//! ```
//!
//! A quota may be any ancestor's: the narrowest counts.

use crate::finding::{Finding, Mend, Severity, Weight};
use crate::{Files, Subject};

/// Ancestors that are looked at.
const DEEPEST: usize = 32;
/// A limit of version 1 above this is none: it is the largest multiple of a page.
const UNLIMITED: u64 = 1 << 60;
const SMALL_MEMORY: u64 = 512 << 20;

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    vec![cpu(&subject.files), memory(&subject.files)]
}

/// The folders of our group and its ancestors for a controller, the innermost first.
fn folders(files: &Files, controller: &str) -> Vec<String> {
    let text = files.text("proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let mounts: Vec<String> = match controllers {
            "" => vec![String::new(), "unified".into()],
            list if list.split(',').any(|name| name == controller) => {
                vec![list.to_owned(), controller.to_owned()]
            }
            _ => continue,
        };
        for mount in mounts {
            let base = format!("sys/fs/cgroup/{mount}");
            let mut inner = path.trim_matches('/');
            for _ in 0..DEEPEST {
                let folder = format!("{base}/{inner}").replace("//", "/").trim_end_matches('/').to_owned();
                if files.exists(&folder) && !found.contains(&folder) {
                    found.push(folder);
                }
                if inner.is_empty() {
                    break;
                }
                inner = inner.rsplit_once('/').map_or("", |(outer, _)| outer);
            }
        }
    }
    found
}

/// CPUs that a folder's quota grants, and the file that says so.
fn quota(files: &Files, folder: &str) -> Option<(f64, String)> {
    let two = format!("{folder}/cpu.max");
    if let Some(line) = files.line(&two) {
        let (quota, period) = line.split_once(' ')?;
        return Some((quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?, two));
    }
    let one = format!("{folder}/cpu.cfs_quota_us");
    let quota: f64 = files.line(&one)?.parse().ok()?;
    let period: f64 = files.line(&format!("{folder}/cpu.cfs_period_us"))?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then_some((quota / period, one))
}

fn cpu(files: &Files) -> Finding {
    let id = "cgroup.cpu";
    let folders = folders(files, "cpu");
    if folders.is_empty() {
        return Finding::unknown(id, "this process's control group is not visible");
    }
    let tightest = folders
        .iter()
        .filter_map(|folder| quota(files, folder).map(|(cpus, file)| (cpus, file, folder)))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let Some((cpus, file, folder)) = tightest else {
        return Finding::fine(id, "no CPU quota");
    };
    let count =
        |name: &str| files.field(&format!("{folder}/cpu.stat"), name).and_then(|n| n.parse::<u64>().ok());
    let (periods, stopped) = (count("nr_periods ").unwrap_or(0), count("nr_throttled ").unwrap_or(0));
    let stopped_ms = count("throttled_usec ")
        .map(|us| us / 1_000)
        .or_else(|| count("throttled_time ").map(|ns| ns / 1_000_000));
    let found =
        format!("a quota of {cpus:.2} CPUs, which stopped this process in {stopped} of {periods} periods");
    let before = files.line(&file).unwrap_or_default();
    let value = if file.ends_with("cpu.max") { "max" } else { "-1" };
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
            format!("on the host: docker update --cpus 0 CONTAINER, or: echo {value} > /{file}"),
            format!("echo '{before}' > /{file}"),
        ))
}

fn memory(files: &Files) -> Finding {
    let id = "cgroup.memory";
    let limit = |folder: &String| {
        ["memory.max", "memory.limit_in_bytes"]
            .iter()
            .find_map(|name| files.number(&format!("{folder}/{name}")))
    };
    let folders = folders(files, "memory");
    if folders.is_empty() {
        return Finding::unknown(id, "this process's control group is not visible");
    }
    let Some(bytes) = folders.iter().filter_map(limit).filter(|bytes| *bytes < UNLIMITED).min() else {
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
