//! `nf_conntrack`: a table with an entry for each connection, which refuses new ones when it is full.

use crate::finding::{COMPUTED, Finding, Mend, Severity, Weight};
use crate::{Files, Subject};

/// struct nf_conn and what is hung onto it, in bytes.
const ENTRY: u64 = 320;
const FULL: f64 = 0.8;

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    vec![table(&subject.files)]
}

fn table(files: &Files) -> Finding {
    let id = "conntrack";
    let number = |name: &str| {
        files.sysctl_number(&format!("net.netfilter.{name}")).and_then(|n| u64::try_from(n).ok())
    };
    let Some(most) = number("nf_conntrack_max") else {
        return Finding::fine(id, "no connection tracking");
    };
    let Some(count) = number("nf_conntrack_count") else {
        return Finding::unknown(
            id,
            format!(
                "connection tracking is on (at most {most} entries), but the number of entries is not visible"
            ),
        );
    };
    // The kernel's default, where it is not shown.
    let rest = number("nf_conntrack_tcp_timeout_time_wait").unwrap_or(120).max(1);
    let found = format!("connection tracking: {count} of {most} entries");
    let per_second = most / rest;
    let share = count as f64 / most.max(1) as f64;
    let weight = match (share, per_second, count) {
        (share, _, _) if share >= FULL => Weight::all(Severity::Serious),
        (_, 0..=999, 1..) => {
            Weight { http: Severity::Serious, packets: Severity::Serious, gaps: Severity::Minor }
        }
        (_, 0..=9_999, 1..) => {
            Weight { http: Severity::Minor, packets: Severity::Minor, gaps: Severity::Fine }
        }
        // Nothing is tracked in this namespace: no rule asks for it.
        _ => return Finding::fine(id, found),
    };
    let wanted = most.saturating_mul(4).max(1 << 20);
    let why = format!(
        "each closed connection keeps its entry for {rest} s, so {per_second} new ones per second fill the \
         table; then packets are dropped silently; {} MiB would hold {wanted}",
        wanted * ENTRY / (1 << 20)
    );
    Finding::fine(id, found).why(why, COMPUTED).weighs(weight).mend(Mend::sysctl(
        files,
        "net.netfilter.nf_conntrack_max",
        wanted,
    ))
}
