//! Limits of the process: descriptors, locked memory, processes, priorities.

use crate::capabilities::{IPC_LOCK, SYS_NICE, has};
use crate::finding::{COMPUTED, Finding, Mend, Severity, Weight};
use crate::{Files, Subject};

/// Descriptors of the program itself: listeners, event queues, files.
const OWN: u64 = 64;
/// What one AF_XDP queue locks: 2 × 2048 chunks of 4 KiB.
const XDP_QUEUE: u64 = 2 * 2_048 * 4_096;

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    let files = &subject.files;
    vec![descriptors(files), system_files(files), locked(files), processes(files), priority(files)]
}

/// Soft and hard limit; unlimited is `u64::MAX`.
fn limit(files: &Files, name: &str) -> Option<(u64, u64)> {
    let text = files.text("proc/self/limits")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let value = |word: &str| if word == "unlimited" { Some(u64::MAX) } else { word.parse().ok() };
    let mut words = line.split_ascii_whitespace();
    Some((value(words.next()?)?, value(words.next()?)?))
}

fn shown(value: u64) -> String {
    if value == u64::MAX { "unlimited".into() } else { value.to_string() }
}

fn descriptors(files: &Files) -> Finding {
    let id = "limit.descriptors";
    let Some((soft, hard)) = limit(files, "Max open files") else {
        return Finding::unknown(id, "the limit of file descriptors is not visible");
    };
    let found = format!("{} file descriptors (the hard limit is {})", shown(soft), shown(hard));
    if soft >= 16_384 {
        return Finding::fine(id, found);
    }
    let severity = if soft < 2_048 { Severity::Serious } else { Severity::Minor };
    let finding = Finding::fine(id, found)
        .why(
            format!(
                "allows {} connections at once; each takes one descriptor, and the program itself {OWN}",
                soft.saturating_sub(OWN)
            ),
            COMPUTED,
        )
        .weighs(Weight::http(severity));
    let wanted = hard.min(65_536);
    match wanted > soft {
        true => finding.mend(Mend::command(format!("ulimit -n {wanted}"), format!("ulimit -S -n {soft}"))),
        false => finding.mend(Mend::command(
            "as root: prlimit --pid $$ --nofile=65536:65536",
            format!("prlimit --pid $$ --nofile={soft}:{hard}"),
        )),
    }
}

/// Open files of the whole machine.
fn system_files(files: &Files) -> Finding {
    let id = "limit.files";
    let numbers: Option<Vec<u64>> =
        files.sysctl("fs.file-nr").map(|line| line.split(' ').filter_map(|word| word.parse().ok()).collect());
    let Some([open, _, most]) = numbers.as_deref() else {
        return Finding::unknown(id, "fs.file-nr is not visible");
    };
    let found = format!(
        "{open} of {} files are open on the whole machine",
        if *most > 1 << 60 { "endless".into() } else { most.to_string() }
    );
    if most.saturating_sub(*open) >= 65_536 {
        return Finding::fine(id, found);
    }
    Finding::fine(id, found)
        .why(
            format!("all programs together can open only {} more sockets", most.saturating_sub(*open)),
            COMPUTED,
        )
        .weighs(Weight::http(Severity::Serious))
        .mend(Mend::sysctl(files, "fs.file-max", most.saturating_mul(4).max(1 << 20)))
}

fn locked(files: &Files) -> Finding {
    let id = "limit.locked";
    let Some((soft, _)) = limit(files, "Max locked memory") else {
        return Finding::unknown(id, "the limit of locked memory is not visible");
    };
    let queues = soft / XDP_QUEUE;
    let found = match soft {
        u64::MAX => "locked memory is not limited".to_owned(),
        _ => format!("{} KiB of memory may be locked", soft / 1_024),
    };
    if has(files, IPC_LOCK) == Some(true) {
        return Finding::fine(id, format!("{found}; CAP_IPC_LOCK lifts the limit"));
    }
    if queues >= 4 {
        return Finding::fine(id, found);
    }
    Finding::fine(id, found)
        .why(
            format!("a queue of xdp: locks {} MiB for both directions, so {queues} fit", XDP_QUEUE >> 20),
            COMPUTED,
        )
        .weighs(Weight::packets(if queues == 0 { Severity::Serious } else { Severity::Minor }))
        .mend(Mend::command(
            "ulimit -l unlimited (as root, or by /etc/security/limits.conf: memlock)",
            format!("ulimit -l {}", soft / 1_024),
        ))
}

fn processes(files: &Files) -> Finding {
    let id = "limit.processes";
    let Some((soft, hard)) = limit(files, "Max processes") else {
        return Finding::unknown(id, "the limit of processes is not visible");
    };
    let found = format!("{} threads and processes of this user", shown(soft));
    if soft >= 1_024 {
        return Finding::fine(id, found);
    }
    Finding::fine(id, found)
        .why(
            format!("all programs of this user together may have {soft}; each engine thread counts as one"),
            COMPUTED,
        )
        .weighs(Weight::all(Severity::Minor))
        .mend(Mend::command(format!("ulimit -u {}", shown(hard)), format!("ulimit -S -u {soft}")))
}

fn priority(files: &Files) -> Finding {
    let id = "limit.priority";
    let Some((soft, _)) = limit(files, "Max realtime priority") else {
        return Finding::unknown(id, "the limit of real-time priorities is not visible");
    };
    if soft > 0 || has(files, SYS_NICE) == Some(true) {
        return Finding::fine(id, "chrt may give Tare a real-time priority");
    }
    Finding::fine(id, "no real-time priority is permitted (rtprio 0, no CAP_SYS_NICE)")
        .why(
            "on a busy CPU, an ordinary thread waits up to 3 ms for its turn (base_slice_ns with 8 CPUs or \
              more); a real-time thread does not",
            "Linux, kernel/sched/fair.c",
        )
        .weighs(Weight::gaps(Severity::Minor))
        .mend(Mend::command(
            "as root: prlimit --pid $$ --rtprio=50:50, then chrt -f 50 tare …",
            "prlimit --pid $$ --rtprio=0:0",
        ))
}
