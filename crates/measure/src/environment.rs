//! Where a run took place: everything in `environment.json`.
//!
//! What cannot be read is absent (`null`), never guessed. What only the caller knows (versions, the clock,
//! which of several ways was chosen and why) is passed in.

use crate::procfs;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// One of several ways that was chosen at run time, e.g. `io`: `epoll`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub what: String,
    pub chosen: String,
    /// Why, or why a better one was refused.
    pub why: String,
}

/// The run's clock, in the words and figures of its calibration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClockReport {
    pub source: String,
    /// Why a better one was refused.
    pub refused: Option<String>,
    pub precision_ns: u64,
    pub overhead_ns: u64,
}

/// What the caller knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    /// Program → version, e.g. `tare` → `0.1.0`.
    pub versions: BTreeMap<String, String>,
    pub clock: ClockReport,
    pub choices: Vec<Choice>,
}

/// A soft and a hard limit; `None` is unlimited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Limit {
    pub soft: Option<u64>,
    pub hard: Option<u64>,
}

/// The machine, the kernel and the limits under which a run took place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Environment {
    pub schema: &'static str,
    pub versions: BTreeMap<String, String>,
    pub clock: ClockReport,
    pub choices: Vec<Choice>,
    pub architecture: &'static str,
    /// Release and build of the kernel.
    pub kernel: Option<String>,
    pub kernel_build: Option<String>,
    pub kernel_clock_source: Option<String>,
    /// Clocks of network cards: `ptp0` → what its driver calls it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ptp_clocks: BTreeMap<String, String>,
    pub cpu_model: Option<String>,
    pub cpus_online: Option<String>,
    /// CPUs that the process may use, as a list such as `0-3,8`.
    pub cpus_allowed: Option<String>,
    /// CPUs that the control group's quota grants, e.g. 1.5.
    pub cpu_quota: Option<f64>,
    pub frequency_governor: Option<String>,
    /// `none` where no hypervisor shows; otherwise its name, or `unknown`.
    pub virtualisation: String,
    pub memory_total_bytes: Option<u64>,
    pub memory_available_bytes: Option<u64>,
    pub load_average: Option<String>,
    pub limits: BTreeMap<String, Limit>,
    /// First and last ephemeral port.
    pub port_range: Option<(u16, u16)>,
    pub sysctls: BTreeMap<String, String>,
}

const LIMITS: &[&str] = &["Max open files", "Max locked memory", "Max processes", "Max realtime priority"];

/// Settings that move what a load generator can do.
const SYSCTLS: &[&str] = &[
    "fs.file-max",
    "fs.nr_open",
    "kernel.io_uring_disabled",
    "kernel.perf_event_paranoid",
    "kernel.sched_rt_runtime_us",
    "net.core.default_qdisc",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
];

impl Environment {
    /// This machine, now.
    pub fn read(stated: Stated) -> Self {
        Self::read_at(Path::new("/"), stated)
    }

    /// With `root` in the place of `/`, for tests.
    pub fn read_at(root: &Path, stated: Stated) -> Self {
        let text = |path: &str| std::fs::read_to_string(root.join(path)).ok();
        let line = |path: &str| text(path).map(|text| text.trim().to_owned());
        let cpuinfo = text("proc/cpuinfo").unwrap_or_default();
        let status = text("proc/self/status").unwrap_or_default();
        let meminfo = text("proc/meminfo").unwrap_or_default();
        let limits = text("proc/self/limits").unwrap_or_default();
        let groups = os::cgroup::groups(root, "cpu");
        let quotas = groups.iter().filter_map(|group| procfs::cpu_quota(&group.folder));
        let bytes = |name| procfs::field(&meminfo, name).map(|kib| kib * 1_024);
        Self {
            schema: "tare.environment/1",
            versions: stated.versions,
            clock: stated.clock,
            choices: stated.choices,
            architecture: std::env::consts::ARCH,
            kernel: line("proc/sys/kernel/osrelease"),
            kernel_build: line("proc/sys/kernel/version"),
            kernel_clock_source: line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            ptp_clocks: ptp_clocks(root),
            cpu_model: cpu_model(&cpuinfo),
            cpus_online: line("sys/devices/system/cpu/online"),
            cpus_allowed: value_of(&status, "Cpus_allowed_list"),
            cpu_quota: quotas.min_by(f64::total_cmp),
            frequency_governor: line("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            virtualisation: virtualisation(&cpuinfo, line("sys/class/dmi/id/sys_vendor")),
            memory_total_bytes: bytes("MemTotal:"),
            memory_available_bytes: bytes("MemAvailable:"),
            load_average: line("proc/loadavg"),
            limits: LIMITS
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), limit(&limits, name)?)))
                .collect(),
            port_range: text("proc/sys/net/ipv4/ip_local_port_range").and_then(|t| procfs::port_range(&t)),
            sysctls: SYSCTLS
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), sysctl(root, name)?)))
                .collect(),
        }
    }
}

/// `name : value` of `/proc/cpuinfo` or `name: value` of `/proc/self/status`.
fn value_of(text: &str, name: &str) -> Option<String> {
    let found = text.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == name)?;
    Some(found.1.trim().to_owned())
}

/// x86 calls it `model name`; some ARM kernels only have `Processor` or `CPU part`.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "Processor", "CPU part"].iter().find_map(|name| value_of(cpuinfo, name))
}

fn ptp_clocks(root: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(root.join("sys/class/ptp")).into_iter().flatten().flatten();
    let clock = |entry: std::fs::DirEntry| {
        let name = std::fs::read_to_string(entry.path().join("clock_name")).ok()?;
        Some((entry.file_name().into_string().ok()?, name.trim().to_owned()))
    };
    entries.filter_map(clock).collect()
}

fn virtualisation(cpuinfo: &str, vendor: Option<String>) -> String {
    let flags = value_of(cpuinfo, "flags").unwrap_or_default();
    if !flags.split(' ').any(|flag| flag == "hypervisor") {
        return "none".to_owned();
    }
    vendor.filter(|vendor| !vendor.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

fn limit(limits: &str, name: &str) -> Option<Limit> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    let mut words = line.split_ascii_whitespace().map(|word| word.parse().ok());
    Some(Limit { soft: words.next()?, hard: words.next()? })
}

fn sysctl(root: &Path, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(root.join("proc/sys").join(name.replace('.', "/"))).ok()?;
    Some(text.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn everything_that_is_there_is_told() {
        let root = fixture(&[
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Zen 5\nflags\t\t: fpu hypervisor sse\n"),
            ("proc/self/status", "Name:\ttare\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n"),
            ("proc/meminfo", "MemTotal:       2000 kB\nMemFree: 5 kB\nMemAvailable:   1000 kB\n"),
            ("proc/self/limits", "Limit  Soft  Hard\nMax open files  64  unlimited  files\n"),
            ("proc/sys/kernel/osrelease", "6.18.0\n"),
            ("proc/sys/net/ipv4/ip_local_port_range", "100\t200\n"),
            ("proc/sys/net/ipv4/tcp_mem", "1\t2\t3\n"),
            ("sys/class/ptp/ptp0/clock_name", "ice-0000:01:00.0-clk\n"),
            ("sys/class/ptp/ptp1/nothing", "\n"),
        ]);
        let environment = Environment::read_at(root.path(), Stated::default());
        assert_eq!(environment.cpu_model.as_deref(), Some("Zen 5"));
        assert_eq!(environment.cpus_allowed.as_deref(), Some("0-1"));
        assert_eq!(environment.virtualisation, "unknown");
        assert_eq!(environment.memory_available_bytes, Some(1_024_000));
        assert_eq!(environment.limits["Max open files"], Limit { soft: Some(64), hard: None });
        assert_eq!(environment.kernel.as_deref(), Some("6.18.0"));
        assert_eq!(environment.port_range, Some((100, 200)));
        assert_eq!(environment.sysctls["net.ipv4.tcp_mem"], "1 2 3");
        let clocks = [("ptp0".to_owned(), "ice-0000:01:00.0-clk".to_owned())];
        assert_eq!(environment.ptp_clocks, clocks.into());
    }

    #[test]
    fn what_is_not_there_is_absent() {
        let root = fixture(&[]);
        let environment = Environment::read_at(root.path(), Stated::default());
        assert_eq!(environment.kernel, None);
        assert_eq!(environment.virtualisation, "none");
        assert!(environment.limits.is_empty() && environment.sysctls.is_empty());
    }

    #[test]
    fn this_machine_has_a_kernel_and_limits() {
        let environment = Environment::read(Stated::default());
        assert!(environment.kernel.is_some() && environment.limits.contains_key("Max open files"));
    }
}
