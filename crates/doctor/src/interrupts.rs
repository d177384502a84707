//! Interrupts: on which CPUs a card's land, and who moves them about.
//!
//! ```text
//!   /sys/class/net/eth0/device[/..]/msi_irqs/41 ─► /proc/irq/41/effective_affinity_list ─► CPU 0
//! ```

use crate::cpus::may_use;
use crate::files::has_bits;
use crate::finding::{Finding, Mend, Severity, Weight};
use crate::{Device, Files, Subject};
use os::cpus::{as_list, parse_list};

/// Interrupts of a card that are looked at, and processes.
const MOST_IRQS: usize = 512;
const MOST_PROCESSES: usize = 4_096;

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    let files = &subject.files;
    let mut findings = vec![balancer(files)];
    for device in subject.devices.iter().filter(|device| device.is_in_sys(files)) {
        findings.extend(affinity(files, device));
        findings.push(steering(files, device));
    }
    findings
}

/// `irqbalance` moves interrupts every ten seconds.
fn balancer(files: &Files) -> Finding {
    let id = "irq.balance";
    let is_process = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    let mut processes = files.names("proc").into_iter().filter(is_process).take(MOST_PROCESSES);
    let runs = processes.any(|pid| files.line(&format!("proc/{pid}/comm")).as_deref() == Some("irqbalance"));
    if !runs {
        return Finding::fine(id, "irqbalance is not running, so interrupts stay on their CPUs");
    }
    Finding::fine(id, "irqbalance is running")
        .why(
            "interrupts may move to other CPUs every 10 s, including the generator's",
            "irqbalance(1), --interval",
        )
        .weighs(Weight { gaps: Severity::Minor, packets: Severity::Minor, ..Weight::default() })
        .mend(Mend::command("systemctl stop irqbalance", "systemctl start irqbalance"))
}

fn numbers(files: &Files, device: &Device) -> Vec<u32> {
    let base = format!("sys/class/net/{}/device", device.name);
    // A virtio card's are those of the PCI device above it.
    let folders = [format!("{base}/msi_irqs"), format!("{base}/../msi_irqs")];
    let names = folders.iter().map(|folder| files.names(folder)).find(|names| !names.is_empty());
    names.unwrap_or_default().iter().filter_map(|name| name.parse().ok()).take(MOST_IRQS).collect()
}

fn affinity(files: &Files, device: &Device) -> Option<Finding> {
    if !files.exists(&format!("sys/class/net/{}/device", device.name)) {
        return None;
    }
    let id = format!("irq.affinity.{}", device.name);
    let irqs: Vec<Irq> = numbers(files, device).into_iter().map(|number| Irq::of(files, number)).collect();
    let mut cpus: Vec<u32> = irqs.iter().flat_map(|irq| irq.cpus.iter().copied()).collect();
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.is_empty() {
        return Some(Finding::unknown(id, format!("{} does not report its interrupts", device.name)));
    }
    let ours = may_use(files).unwrap_or_default();
    let free: Vec<u32> = ours.iter().copied().filter(|cpu| !cpus.contains(cpu)).collect();
    let found = format!("{}'s {} interrupts go to CPUs {}", device.name, irqs.len(), as_list(&cpus));
    if !free.is_empty() || ours.len() < 2 {
        let found = match free.is_empty() {
            true => found,
            false => format!("{found}; CPUs {} are free of them: --cpus {}", as_list(&free), as_list(&free)),
        };
        return Some(Finding::fine(id, found));
    }
    let (command, undo) = commands(&irqs, &ours);
    Some(
        Finding::fine(id, found)
            .why(
                format!(
                    "no usable CPU is free of its interrupts: each of {} is interrupted for every batch \
                         that arrives",
                    as_list(&ours)
                ),
                "the kernel's lists (/proc/irq)",
            )
            .weighs(Weight::gaps(Severity::Minor))
            .mend(Mend::command(command, undo)),
    )
}

struct Irq {
    number: u32,
    /// Where it goes.
    cpus: Vec<u32>,
    /// Where it may go, as the kernel writes it.
    allowed: Option<String>,
}

impl Irq {
    fn of(files: &Files, number: u32) -> Self {
        let line = |name: &str| files.line(&format!("proc/irq/{number}/{name}"));
        let allowed = line("smp_affinity_list");
        let cpus = line("effective_affinity_list").or_else(|| allowed.clone());
        Self { number, cpus: cpus.and_then(|list| parse_list(&list)).unwrap_or_default(), allowed }
    }

    fn goes_to(&self, list: &str) -> String {
        format!("echo {list} > /proc/irq/{}/smp_affinity_list", self.number)
    }
}

/// Frees one CPU, that of the fewest interrupts, for the threads that keep the gaps. All others keep theirs:
/// one CPU alone could not receive what all queues do.
fn commands(irqs: &[Irq], ours: &[u32]) -> (String, String) {
    let interrupts = |cpu: u32| irqs.iter().filter(|irq| irq.cpus.contains(&cpu)).count();
    // Of equals the last: the first has the most other work.
    let freed = ours.iter().copied().rev().min_by_key(|cpu| interrupts(*cpu)).unwrap_or_default();
    let rest: Vec<u32> = ours.iter().copied().filter(|cpu| *cpu != freed).collect();
    let (mut command, mut undo) = (Vec::new(), Vec::new());
    for (at, irq) in irqs.iter().filter(|irq| irq.cpus.contains(&freed)).enumerate() {
        let allowed = irq.allowed.as_deref().and_then(parse_list).unwrap_or_default();
        let others: Vec<u32> = allowed.into_iter().filter(|cpu| *cpu != freed).collect();
        let list = if others.is_empty() { rest[at % rest.len()].to_string() } else { as_list(&others) };
        command.push(irq.goes_to(&list));
        undo.extend(irq.allowed.as_deref().map(|list| irq.goes_to(list)));
    }
    (format!("{}, then tare … --cpus {freed}", command.join("; ")), undo.join("; "))
}

/// Receive and transmit steering (RPS, XPS).
fn steering(files: &Files, device: &Device) -> Finding {
    let id = format!("net.steering.{}", device.name);
    let folder = format!("sys/class/net/{}/queues", device.name);
    let set = |word: &str, file: &str| -> (usize, usize) {
        let queues = files.numbered(&folder, word);
        let on = queues.iter().filter(|queue| {
            files.line(&format!("{folder}/{queue}/{file}")).is_some_and(|mask| has_bits(&mask))
        });
        (on.count(), queues.len())
    };
    let ((rps, receive), (xps, transmit)) = (set("rx-", "rps_cpus"), set("tx-", "xps_cpus"));
    if receive + transmit == 0 {
        return Finding::unknown(id, format!("{} does not report its queues", device.name));
    }
    let found = format!(
        "{}: RPS on {rps} of {receive} receive queues, XPS on {xps} of {transmit} transmit queues",
        device.name
    );
    if rps == 0 {
        return Finding::fine(id, found);
    }
    Finding::fine(id, found)
        .why(
            "each batch of received frames costs 1 interrupt more, from CPU to CPU, and is seen later",
            "Linux, Documentation/networking/scaling.rst",
        )
        .weighs(Weight::gaps(Severity::Minor))
        .mend(Mend::Settings {
            changes: files
                .numbered(&folder, "rx-")
                .iter()
                .filter_map(|queue| {
                    let path = format!("{folder}/{queue}/rps_cpus");
                    let before = files.line(&path).filter(|mask| has_bits(mask))?;
                    Some(super::Change { path, before, after: "0".into() })
                })
                .collect(),
        })
}
