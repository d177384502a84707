//! What an FPGA module says of itself (`tare fpga status`).

use crate::words::count;
use serde_json::{Value, json};
use std::fmt::Write;

/// Farther from the host's clock than this is a clock that nobody set.
const SET_WITHIN_NS: u64 = 3_600 * 1_000_000_000;

/// See the module.
pub struct ModuleStatus {
    pub port: String,
    pub is_simulated: bool,
    pub version: (u64, u64),
    pub build: u32,
    pub layout: u32,
    pub capabilities: Vec<ModuleCapability>,
    pub is_up: bool,
    pub is_idle: bool,
    pub clock: ModuleClock,
    pub counters: Vec<ModuleCounter>,
}

/// What a module was made with.
pub struct ModuleCapability {
    pub name: &'static str,
    pub about: &'static str,
    pub value: u64,
}

/// Its clock beside this host's.
pub struct ModuleClock {
    pub tick_ns: u64,
    pub ahead_ns: i64,
    /// How much that may be wrong.
    pub bound_ns: u64,
}

/// What it counted.
pub struct ModuleCounter {
    pub name: &'static str,
    /// The name, and which error it counts.
    pub label: String,
    pub error: Option<&'static str>,
    pub value: u64,
    pub unit: &'static str,
    pub bits: u32,
    /// When it is at its start again if all the wire carries is counted.
    pub wraps_after_s: f64,
    pub about: &'static str,
}

impl ModuleStatus {
    /// For people.
    pub fn text(&self) -> String {
        let (major, minor) = self.version;
        let mut text = format!("{}: Tare module {major}.{minor}\n", self.port);
        let mut row = |name: &str, value: &str| {
            let _ = writeln!(text, "  {name:<13} {value}");
        };
        row("build", &format!("{:08x}", self.build));
        row("registers", &format!("{:08x}", self.layout));
        let has = self.capabilities.iter().map(|has| {
            if has.name.ends_with("_log2") {
                format!("{} {}", count(1 << has.value), has.about.split(',').next().unwrap_or_default())
            } else {
                format!("{} {}", count(has.value), has.about)
            }
        });
        row("has", &has.collect::<Vec<_>>().join(", "));
        row("wire", if self.is_up { "up" } else { "down" });
        row("is", if self.is_idle { "idle" } else { "at work" });
        row("clock", &self.clock());
        text.push_str("\n  counter                             value  bits  wraps after\n");
        for counter in &self.counters {
            let _ = writeln!(
                text,
                "  {:<20} {:>20}  {:>4}  {}",
                counter.label,
                count(counter.value),
                counter.bits,
                long_time(counter.wraps_after_s)
            );
        }
        text
    }

    fn clock(&self) -> String {
        let ModuleClock { tick_ns, ahead_ns, bound_ns } = self.clock;
        if self.is_simulated {
            return format!("simulated, in steps of {}; not wall-clock time", crate::time(tick_ns));
        }
        if ahead_ns.unsigned_abs() > SET_WITHIN_NS {
            return "not set; opening a port sets it to the host's clock".to_owned();
        }
        let way = if ahead_ns < 0 { "behind" } else { "ahead of" };
        format!("{} ns {way} the host's clock, to within {bound_ns} ns", ahead_ns.unsigned_abs())
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let (major, minor) = self.version;
        let has = self.capabilities.iter().map(|has| (has.name.to_owned(), json!(has.value)));
        let counters = self.counters.iter().map(|counter| {
            json!({
                "name": counter.name, "error": counter.error, "value": counter.value, "unit": counter.unit,
                "bits": counter.bits, "wraps_after_s": counter.wraps_after_s, "about": counter.about,
            })
        });
        json!({
            "port": self.port,
            "simulated": self.is_simulated,
            "version": format!("{major}.{minor}"),
            "build": format!("{:08x}", self.build),
            "layout": format!("{:08x}", self.layout),
            "capabilities": has.collect::<serde_json::Map<_, _>>(),
            "wire": if self.is_up { "up" } else { "down" },
            "idle": self.is_idle,
            "clock": {
                "tick_ns": self.clock.tick_ns,
                "offset_ns": (!self.is_simulated).then_some(self.clock.ahead_ns),
                "bound_ns": (!self.is_simulated).then_some(self.clock.bound_ns),
            },
            "counters": counters.collect::<Vec<_>>(),
        })
    }
}

/// `48 minutes`, `6 years`.
pub fn long_time(seconds: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [(365.25 * 86_400.0, "years"), (86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")];
    let found = UNITS.iter().find(|(unit, _)| seconds >= 2.0 * unit);
    found.map_or_else(
        || if seconds < 10.0 { format!("{seconds:.1} seconds") } else { format!("{seconds:.0} seconds") },
        |(unit, name)| format!("{} {name}", count((seconds / unit).round() as u64)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_have_their_unit() {
        assert_eq!((long_time(2_886.0), long_time(90.0)), ("48 minutes".to_owned(), "90 seconds".to_owned()));
        assert_eq!((long_time(1.71), long_time(2e8)), ("1.7 seconds".to_owned(), "6 years".to_owned()));
    }

    #[test]
    fn a_module_that_nobody_set_says_so() {
        let clock = |is_simulated, ahead_ns| {
            ModuleStatus {
                port: "fpga:eth1".to_owned(),
                is_simulated,
                version: (1, 2),
                build: 0xabc,
                layout: 0xdef,
                capabilities: Vec::new(),
                is_up: true,
                is_idle: false,
                clock: ModuleClock { tick_ns: 8, ahead_ns, bound_ns: 40 },
                counters: Vec::new(),
            }
            .text()
        };
        assert!(
            clock(true, 0).contains("simulated, in steps of 8 ns;") || clock(true, 0).contains("8.00 ns;")
        );
        assert!(clock(false, -12).contains("12 ns behind the host's clock, to within 40 ns"));
        assert!(clock(false, i64::MIN).contains("not set; opening a port"));
    }
}
