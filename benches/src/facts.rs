//! What the figures were measured on.

use std::fs;

use serde::Serialize;

use crate::peers;

/// The machine and the programs, as the header shows them.
#[derive(Serialize)]
pub struct Facts {
    pub cpu: String,
    pub cores: usize,
    pub kernel: String,
    pub governor: String,
    pub hypervisor: bool,
    /// The load average over one minute at the start: who else was at work.
    pub load_average: f64,
    pub memory_gib: f64,
    /// Generators and servers ran ahead of everything else.
    pub priority: bool,
    pub tare: String,
    pub peers: Vec<(String, String)>,
}

impl Facts {
    pub fn gather(tare: String, priority: bool) -> Self {
        let cpuinfo = read("/proc/cpuinfo");
        let field = |key: &str| {
            let line = cpuinfo.lines().find(|l| l.starts_with(key)).unwrap_or_default();
            line.split_once(':').map_or(String::new(), |(_, v)| v.trim().to_owned())
        };
        let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
        Self {
            cpu: format!(
                "{} (family {} model {})",
                field("model name"),
                field("cpu family"),
                field("model\t")
            ),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            governor: if governor.is_empty() {
                "not shown by this machine".into()
            } else {
                governor.trim().into()
            },
            hypervisor: field("flags").split(' ').any(|f| f == "hypervisor"),
            load_average: read("/proc/loadavg")
                .split(' ')
                .next()
                .and_then(|n| n.parse().ok())
                .unwrap_or(f64::NAN),
            memory_gib: memory_gib(),
            priority,
            tare,
            peers: peers::versions(),
        }
    }

    /// The header above the tables.
    pub fn header(&self) -> String {
        let peers: Vec<String> =
            self.peers.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let kind = if self.hypervisor {
            "A virtual machine, whose host and other guests are heard in every tail: trust the ratios of paired\n\
             rounds, not single figures. 'other CPU' says how many cores anything but the two programs took."
        } else {
            "'other CPU' says how many cores anything but the two programs took."
        };
        format!(
            "{} × {}, {:.0} GiB, Linux {}, governor: {}, load average {:.2} at the start\n{kind}\n{}; {}\n\
             generator on core 0, server on core 1, loopback{}\n",
            self.cores,
            self.cpu,
            self.memory_gib,
            self.kernel,
            self.governor,
            self.load_average,
            self.tare,
            peers.join(", "),
            if self.priority { ", both at niceness -19" } else { "" },
        )
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn memory_gib() -> f64 {
    let meminfo = read("/proc/meminfo");
    let kib = meminfo.split_whitespace().nth(1).and_then(|n| n.parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib / 1024.0 / 1024.0)
}
