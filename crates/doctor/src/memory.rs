//! Memory: what is left, huge pages, swapping, and the kernel's moving of pages.

use crate::finding::{COMPUTED, Finding, Mend, Severity, Weight};
use crate::{Files, Subject};

const THP: &str = "sys/kernel/mm/transparent_hugepage/enabled";
const LITTLE: u64 = 256 << 20;

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    let files = &subject.files;
    vec![available(files), huge(files), reserved(files), swap(files), balancing(files)]
}

fn available(files: &Files) -> Finding {
    let id = "memory.available";
    let (Some(free), Some(all)) =
        (files.kib("proc/meminfo", "MemAvailable:"), files.kib("proc/meminfo", "MemTotal:"))
    else {
        return Finding::unknown(id, "the kernel does not report its memory");
    };
    let found = format!("{:.1} of {:.1} GiB of memory are free", gib(free), gib(all));
    if free >= LITTLE {
        return Finding::fine(id, found);
    }
    Finding::fine(id, found)
        .why(
            format!("{} MiB; a run with 10 000 connections and its report take 100 to 200 MiB", free >> 20),
            COMPUTED,
        )
        .weighs(Weight::all(Severity::Serious))
        .mend(Mend::advice("stop programs that use much memory: ps -eo rss,pid,comm --sort=-rss | head"))
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1_u64 << 30) as f64
}

/// Transparent huge pages.
fn huge(files: &Files) -> Finding {
    let id = "memory.huge";
    let Some(line) = files.line(THP) else {
        return Finding::fine(id, "this kernel has no transparent huge pages");
    };
    let chosen = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(word, _)| word);
    let found = format!("transparent huge pages: {chosen}");
    if chosen != "always" {
        return Finding::fine(id, found);
    }
    let change = super::Change { path: THP.into(), before: "always".into(), after: "madvise".into() };
    Finding::fine(id, found)
        .why(
            "the first access to a page may have to free and clear 2 MiB in the middle of a run: 200 µs at \
              10 GB/s",
            "Linux, Documentation/admin-guide/mm/transhuge.rst",
        )
        .weighs(Weight::gaps(Severity::Minor))
        .mend(Mend::Settings { changes: vec![change] })
}

fn reserved(files: &Files) -> Finding {
    let id = "memory.reserved";
    match (files.field("proc/meminfo", "HugePages_Total:"), files.field("proc/meminfo", "HugePages_Free:")) {
        (Some(all), Some(free)) => {
            Finding::fine(id, format!("{free} of {all} reserved huge pages are free; Tare needs none"))
        }
        _ => Finding::fine(id, "this kernel has no reserved huge pages; Tare needs none"),
    }
}

fn swap(files: &Files) -> Finding {
    let id = "memory.swap";
    let (Some(all), Some(free)) =
        (files.kib("proc/meminfo", "SwapTotal:"), files.kib("proc/meminfo", "SwapFree:"))
    else {
        return Finding::unknown(id, "the kernel does not report its swap");
    };
    let used = all.saturating_sub(free);
    let found = match all {
        0 => "no swap".to_owned(),
        _ => format!("{} of {} MiB of swap are in use", used >> 20, all >> 20),
    };
    // Some pages are swapped out on any machine that has run for long.
    if used < 64 << 20 || used.saturating_mul(10) < all {
        return Finding::fine(id, found);
    }
    Finding::fine(id, found)
        .why(
            "memory is short already; reading a swapped-out page of the generator takes 0.1 ms from an SSD, \
              10 ms from a disk",
            "typical read times of such devices",
        )
        .weighs(Weight { gaps: Severity::Serious, ..Weight::all(Severity::Minor) })
        .mend(Mend::command("swapoff -a (if there is enough memory: free -m)", "swapon -a"))
}

/// Pages that the kernel moves to where they are used, on machines with several memory nodes.
fn balancing(files: &Files) -> Finding {
    let id = "memory.balancing";
    let nodes = files.numbered("sys/devices/system/node", "node").len();
    match files.sysctl_number("kernel.numa_balancing") {
        Some(1..) if nodes > 1 => Finding::fine(
            id,
            format!("automatic NUMA balancing over {nodes} nodes is on"),
        )
        .why(
            "the kernel unmaps pages to see which CPU uses them: up to 65 536 page faults per scan of \
                  256 MiB, in the middle of a run",
            "Linux, kernel/sched/fair.c (numa_balancing_scan_size)",
        )
        .weighs(Weight::gaps(Severity::Minor))
        .mend(Mend::sysctl(files, "kernel.numa_balancing", 0)),
        Some(_) => Finding::fine(id, "the kernel does not move memory between nodes"),
        None => Finding::fine(id, "this kernel has no automatic NUMA balancing"),
    }
}
