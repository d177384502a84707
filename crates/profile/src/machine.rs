//! What makes a machine the same one: whatever would move its figures if it changed.
//!
//! ```text
//!   /proc, /sys ─► Machine { kernel, CPUs, limits … } ─► hash
//! ```
//!
//! What cannot be read is absent, and stays part of the hash as such.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// The facts that a profile holds for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Name → value, e.g. `kernel` → `6.18.44`, `cpu.model` → `AMD EPYC`, `limit.open_files` → `20000/20000`.
    pub facts: BTreeMap<String, String>,
}

impl Machine {
    /// This machine, now.
    pub fn read() -> Self {
        Self::read_at(Path::new("/"))
    }

    /// With `root` in the place of `/`, for tests.
    pub fn read_at(root: &Path) -> Self {
        let mut facts = BTreeMap::new();
        let mut put = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                facts.insert(name.to_owned(), value);
            }
        };
        let text = |path: &str| std::fs::read_to_string(root.join(path)).ok();
        let line = |path: &str| text(path).map(|text| text.trim().to_owned());
        put("kernel", line("proc/sys/kernel/osrelease"));
        put("kernel.build", line("proc/sys/kernel/version"));
        put("cpu.model", text("proc/cpuinfo").and_then(|text| after(&text, "model name")));
        put("cpu.online", line("sys/devices/system/cpu/online"));
        put("cpu.allowed", text("proc/self/status").and_then(|text| after(&text, "Cpus_allowed_list")));
        put("clock", line("sys/devices/system/clocksource/clocksource0/current_clocksource"));
        put("governor", line("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
        put("memory", text("proc/meminfo").and_then(|text| after(&text, "MemTotal")));
        for (name, label) in [
            ("limit.open_files", "Max open files"),
            ("limit.locked_memory", "Max locked memory"),
            ("limit.processes", "Max processes"),
        ] {
            put(name, text("proc/self/limits").and_then(|text| limit(&text, label)));
        }
        Self { facts }
    }

    /// SHA-256 over the facts, in hexadecimal.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for (name, value) in &self.facts {
            hash.update(format!("{name}={value}\n"));
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What differs in `other`, as (name, here, there); `none` where it is absent.
    pub fn differences(&self, other: &Self) -> Vec<(String, String, String)> {
        let names: std::collections::BTreeSet<_> = self.facts.keys().chain(other.facts.keys()).collect();
        let value =
            |machine: &Self, name: &str| machine.facts.get(name).map_or("none".to_owned(), Clone::clone);
        names
            .into_iter()
            .map(|name| (name.clone(), value(self, name), value(other, name)))
            .filter(|(_, here, there)| here != there)
            .collect()
    }
}

/// The value of `name : value`.
fn after(text: &str, name: &str) -> Option<String> {
    let (_, value) = text.lines().filter_map(|l| l.split_once(':')).find(|(key, _)| key.trim() == name)?;
    Some(value.trim().to_owned())
}

/// `soft/hard` of a line of `/proc/self/limits`.
fn limit(text: &str, label: &str) -> Option<String> {
    let mut words = text.lines().find_map(|line| line.strip_prefix(label))?.split_ascii_whitespace();
    Some(format!("{}/{}", words.next()?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(pairs: &[(&str, &str)]) -> Machine {
        Machine { facts: pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect() }
    }

    #[test]
    fn another_kernel_is_another_machine() {
        let (a, b) = (machine(&[("kernel", "6.1")]), machine(&[("kernel", "6.2"), ("clock", "tsc")]));
        assert_ne!(a.hash(), b.hash());
        let said = a.differences(&b);
        assert_eq!(said[0], ("clock".into(), "none".into(), "tsc".into()));
        assert_eq!(said[1], ("kernel".into(), "6.1".into(), "6.2".into()));
    }

    #[test]
    fn reading_twice_tells_the_same() {
        assert_eq!(Machine::read().hash(), Machine::read().hash());
    }

    #[test]
    fn limits_are_soft_and_hard() {
        assert_eq!(
            limit(
                "Max open files            1024                 20000                files",
                "Max open files"
            ),
            Some("1024/20000".into())
        );
    }
}
