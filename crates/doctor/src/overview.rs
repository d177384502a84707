//! The machine in a few words, for the head of the page.

use crate::Files;
use crate::power::is_guest;
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Overview {
    pub cpu: Option<String>,
    /// CPUs that are online, as a list.
    pub cpus: Option<String>,
    pub is_guest: bool,
    pub kernel: Option<String>,
    pub memory_bytes: Option<u64>,
    pub clock: Option<String>,
}

impl Overview {
    pub fn read(files: &Files) -> Self {
        let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
        let value = |name: &str| {
            let found = cpuinfo.lines().filter_map(|line| line.split_once(':'));
            found.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| *key == name)
        };
        let cpu = ["model name", "Processor", "CPU part"].iter().find_map(|name| value(name));
        Self {
            cpu: cpu.map(|(_, value)| value.to_owned()),
            cpus: files.line("sys/devices/system/cpu/online"),
            is_guest: is_guest(files),
            kernel: files.line("proc/sys/kernel/osrelease"),
            memory_bytes: files.kib("proc/meminfo", "MemTotal:"),
            clock: files.line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        }
    }

    /// `AMD EPYC, CPUs 0-1 (a guest), 23.5 GiB, Linux 6.18.44, clock tsc`; what is not known is left out.
    pub fn line(&self) -> String {
        let guest = if self.is_guest { " (a guest)" } else { "" };
        let parts = [
            self.cpu.clone(),
            self.cpus.as_ref().map(|cpus| format!("CPUs {cpus}{guest}")),
            self.memory_bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / (1_u64 << 30) as f64)),
            self.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
            self.clock.as_ref().map(|clock| format!("clock {clock}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
