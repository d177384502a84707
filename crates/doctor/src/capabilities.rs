//! Privileges: what cannot be done without each.

use crate::finding::{Finding, Mend, Severity, Weight};
use crate::{FileCapabilities, Files, Subject};

/// Bit numbers of linux/capability.h.
pub(super) const NET_ADMIN: u32 = 12;
const NET_RAW: u32 = 13;
pub(super) const IPC_LOCK: u32 = 14;
const SYS_ADMIN: u32 = 21;
pub(super) const SYS_NICE: u32 = 23;
const SYS_RESOURCE: u32 = 24;
const BPF: u32 = 39;

/// Whether this process has it; `None` if the kernel does not tell.
pub(super) fn has(files: &Files, bit: u32) -> Option<bool> {
    let mask = u64::from_str_radix(&files.field("proc/self/status", "CapEff:")?, 16).ok()?;
    Some(mask & (1 << bit) != 0)
}

struct Need {
    bit: u32,
    name: &'static str,
    without: &'static str,
    weight: Weight,
}

const NEEDS: [Need; 7] = [
    Need {
        bit: NET_RAW,
        name: "net_raw",
        without: "0 frames can be sent or captured by packet: and xdp:, also by tare http --via; udp: ports, \
                  mem: and other HTTP work",
        weight: Weight { http: Severity::Fine, packets: Severity::Blocking, gaps: Severity::Blocking },
    },
    Need {
        bit: NET_ADMIN,
        name: "net_admin",
        without: "no tap:, xdp: and live: ports (up to 10 times the rate of packet:), no buffers above \
                  net.core.rmem_max, no promiscuous captures",
        weight: Weight { http: Severity::Fine, packets: Severity::Serious, gaps: Severity::Minor },
    },
    Need {
        bit: BPF,
        name: "bpf",
        without: "no XDP program can be loaded: xdp: cannot receive (nor --via xdp:), and live: and forward \
                  --xdp do not work (15 million frames per second instead of 1.5)",
        weight: Weight::packets(Severity::Serious),
    },
    Need {
        bit: SYS_ADMIN,
        name: "sys_admin",
        without: "tare lab cannot make namespaces (0 test beds), and ports in other namespaces (netns=) \
                  cannot be opened",
        weight: Weight::packets(Severity::Minor),
    },
    Need {
        bit: SYS_RESOURCE,
        name: "sys_resource",
        without: "hard limits cannot be raised: limit.descriptors and limit.locked apply",
        weight: Weight::http(Severity::Fine),
    },
    Need {
        bit: SYS_NICE,
        name: "sys_nice",
        without: "no higher priority (nice below 0, chrt): on a busy CPU a thread waits up to 3 ms for others",
        weight: Weight::gaps(Severity::Minor),
    },
    Need {
        bit: IPC_LOCK,
        name: "ipc_lock",
        without: "locked memory is limited as in limit.locked; each queue of xdp: needs 16 MiB",
        weight: Weight::packets(Severity::Fine),
    },
];

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    NEEDS.iter().map(|need| finding(subject, need)).collect()
}

fn finding(subject: &Subject, need: &Need) -> Finding {
    let id = format!("cap.{}", need.name);
    let name = format!("CAP_{}", need.name.to_ascii_uppercase());
    match has(&subject.files, need.bit) {
        None => Finding::unknown(id, format!("the kernel does not report whether {name} is set")),
        Some(true) => Finding::fine(id, format!("{name} is set")),
        Some(false) => Finding::fine(id, format!("no {name}"))
            .why(need.without, "capabilities(7), docs/packets-reference.md")
            .weighs(need.weight)
            .mend(mend(subject, need)),
    }
}

/// `setcap` replaces what the file has, and a file that has any takes from a process what it got from elsewhere
/// (ambient capabilities). So the command names all that are missing, and all that there are already.
fn mend(subject: &Subject, need: &Need) -> Mend {
    let is_wanted = |other: &&Need| match has(&subject.files, other.bit) {
        Some(false) => other.weight.worst() > Severity::Fine || other.bit == need.bit,
        held => held == Some(true),
    };
    let wanted = NEEDS.iter().filter(is_wanted).fold(0, |bits, other| bits | 1 << other.bit);
    let before = subject.program;
    let after = FileCapabilities { permitted: before.permitted | wanted, effective: true, ..before };
    let undo = if before.is_empty() { "-r".to_owned() } else { before.text(name) };
    Mend::command(
        format!("as root: setcap {} $(command -v tare)", after.text(name)),
        format!("setcap {undo} $(command -v tare)"),
    )
}

fn name(bit: u32) -> Option<&'static str> {
    NEEDS.iter().find(|need| need.bit == bit).map(|need| need.name)
}
