//! The kernel's settings that bound sockets and programs: ports, TIME_WAIT, queues, buffers, the BPF machine.

use crate::cpus::{may_use, online};
use crate::finding::{COMPUTED, Finding, Mend, Severity, Weight};
use crate::{Files, Subject};
use os::cpus::as_list;

/// TCP_TIMEWAIT_LEN of include/net/tcp.h: not a setting.
const TIME_WAIT_S: u64 = 60;
/// Servers listen below: from a range that holds a server's port, a connection to that server may leave by this
/// very port while the server is down. It then reaches itself, and the server cannot start again.
const WIDE_RANGE: &str = "10000 65535";
/// What that range has, less some that may be reserved.
const MANY_PORTS: u64 = 55_000;
/// What the kernel charges a socket's buffer for a small frame: its struct and the page part it lies in, at the
/// least.
const SMALL_FRAME_CHARGE: u64 = 768;
const IP_SYSCTL: &str = "Linux, Documentation/networking/ip-sysctl.rst";
const NET_SYSCTL: &str = "Linux, Documentation/admin-guide/sysctl/net.rst";

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    let files = &subject.files;
    vec![
        ports(files),
        reuse(files),
        buckets(files),
        accept(files),
        buffers(files),
        compiler(files),
        ring(files),
        realtime(files),
    ]
}

/// Ephemeral ports towards one address and port: the range less what is reserved.
fn ephemeral(files: &Files) -> Option<(u16, u16, u64)> {
    let range = files.sysctl("net.ipv4.ip_local_port_range")?;
    let (first, last) = range.split_once(' ')?;
    let (first, last) = (first.parse::<u16>().ok()?, last.parse::<u16>().ok()?);
    let reserved = files.sysctl("net.ipv4.ip_local_reserved_ports").unwrap_or_default();
    let part = |part: &str| {
        let (a, b) = part.split_once('-').unwrap_or((part, part));
        let (a, b) = (a.parse::<u16>().ok()?.max(first), b.parse::<u16>().ok()?.min(last));
        (a <= b).then_some(u64::from(b - a) + 1)
    };
    let reserved: u64 = reserved.split(',').filter_map(part).sum();
    Some((first, last, (u64::from(last.saturating_sub(first)) + 1).saturating_sub(reserved)))
}

fn ports(files: &Files) -> Finding {
    let id = "net.ports";
    let Some((first, last, count)) = ephemeral(files) else {
        return Finding::unknown(id, "the range of ephemeral ports is not visible");
    };
    let found = format!("{count} ephemeral ports ({first} to {last})");
    let per_second = count / TIME_WAIT_S;
    let finding = Finding::fine(id, found);
    if count >= MANY_PORTS {
        return finding;
    }
    let severity = if count < 10_000 { Severity::Serious } else { Severity::Minor };
    finding
        .why(
            format!(
                "at most {per_second} new connections per second to one target, because each port stays \
                     in TIME_WAIT for {TIME_WAIT_S} s; and {count} connections at a time"
            ),
            COMPUTED,
        )
        .weighs(Weight::http(severity))
        .mend(Mend::sysctl(files, "net.ipv4.ip_local_port_range", WIDE_RANGE))
}

fn reuse(files: &Files) -> Finding {
    let id = "net.tw_reuse";
    let found = match files.sysctl_number("net.ipv4.tcp_tw_reuse") {
        None => return Finding::unknown(id, "net.ipv4.tcp_tw_reuse is not visible"),
        Some(1) => return Finding::fine(id, "ports in TIME_WAIT are reused after 1 s"),
        Some(2) => "ports in TIME_WAIT are reused after 1 s on loopback, after 60 s elsewhere",
        Some(_) => "ports in TIME_WAIT are reused after 60 s only",
    };
    let count = ephemeral(files).map_or(0, |(_, _, count)| count);
    Finding::fine(id, found)
        .why(
            format!(
                "{} new connections per second to one target; reuse after 1 s would allow {count}",
                count / TIME_WAIT_S
            ),
            IP_SYSCTL,
        )
        .weighs(Weight::http(Severity::Minor))
        .mend(Mend::sysctl(files, "net.ipv4.tcp_tw_reuse", 1))
}

fn buckets(files: &Files) -> Finding {
    let id = "net.tw_buckets";
    let (Some(most), Some((_, _, ports))) =
        (files.sysctl_number("net.ipv4.tcp_max_tw_buckets"), ephemeral(files))
    else {
        return Finding::unknown(id, "net.ipv4.tcp_max_tw_buckets is not visible");
    };
    let found = format!("at most {most} connections may be in TIME_WAIT");
    if u64::try_from(most).unwrap_or(0) >= ports {
        return Finding::fine(id, found);
    }
    Finding::fine(id, found)
        .why(
            format!(
                "above {} closed connections per second, the kernel cuts TIME_WAIT short and logs it",
                most.max(0) as u64 / TIME_WAIT_S
            ),
            IP_SYSCTL,
        )
        .weighs(Weight::http(Severity::Minor))
        .mend(Mend::sysctl(files, "net.ipv4.tcp_max_tw_buckets", ports.max(65_536)))
}

/// Connections that wait to be accepted, which matters where the target is on this machine.
fn accept(files: &Files) -> Finding {
    let id = "net.somaxconn";
    match files.sysctl_number("net.core.somaxconn") {
        None => Finding::unknown(id, "net.core.somaxconn is not visible"),
        Some(most) if most >= 4_096 => {
            Finding::fine(id, format!("{most} connections may wait to be accepted"))
        }
        Some(most) => Finding::fine(id, format!("{most} connections may wait to be accepted"))
            .why(
                format!(
                    "a target on this machine loses connections beyond {most} at once; a lost SYN is \
                          retried after 1 s"
                ),
                NET_SYSCTL,
            )
            .weighs(Weight::http(Severity::Minor))
            .mend(Mend::sysctl(files, "net.core.somaxconn", 4_096)),
    }
}

fn buffers(files: &Files) -> Finding {
    let id = "net.buffers";
    let (Some(receive), Some(send)) =
        (files.sysctl_number("net.core.rmem_max"), files.sysctl_number("net.core.wmem_max"))
    else {
        return Finding::unknown(id, "net.core.rmem_max and wmem_max are not visible");
    };
    let found = format!(
        "socket buffers may have {} KiB to receive and {} KiB to send",
        receive / 1_024,
        send / 1_024
    );
    let wanted: i64 = 8 << 20;
    if receive >= wanted && send >= wanted {
        return Finding::fine(id, found);
    }
    // With CAP_NET_ADMIN sockets pass these limits by (SO_RCVBUFFORCE), and Tare does so.
    if super::capabilities::has(files, super::capabilities::NET_ADMIN) == Some(true) {
        return Finding::fine(id, format!("{found}; CAP_NET_ADMIN still lets Tare use 8 MiB"));
    }
    let frames = receive.max(0) as u64 / SMALL_FRAME_CHARGE;
    let changes = ["net.core.rmem_max", "net.core.wmem_max"].iter().filter_map(|name| {
        let before = files.sysctl(name)?;
        (before.parse::<i64>().ok()? < wanted).then(|| super::Change {
            path: Files::sysctl_path(name),
            before,
            after: wanted.to_string(),
        })
    });
    Finding::fine(id, found)
        .why(
            format!(
                "about {frames} small datagrams, {:.1} ms at 100 000 per second; a longer pause loses \
                     some (udp: ports ask for 8 MiB)",
                frames as f64 / 100.0
            ),
            COMPUTED,
        )
        .weighs(Weight::packets(Severity::Minor))
        .mend(Mend::Settings { changes: changes.collect() })
}

/// Whether BPF programs are compiled.
fn compiler(files: &Files) -> Finding {
    let id = "bpf.jit";
    let harden = files.sysctl_number("net.core.bpf_jit_harden").unwrap_or(0);
    match files.sysctl_number("net.core.bpf_jit_enable") {
        None => Finding::unknown(id, "net.core.bpf_jit_enable is not visible"),
        Some(0) => Finding::fine(id, "BPF programs are interpreted")
            .why(
                "an XDP program takes several times as long per frame, which slows live:, xdp: and forward \
                  (0 = interpreter)",
                NET_SYSCTL,
            )
            .weighs(Weight { packets: Severity::Serious, gaps: Severity::Minor, http: Severity::Fine })
            .mend(Mend::sysctl(files, "net.core.bpf_jit_enable", 1)),
        Some(_) if harden == 2 => {
            Finding::fine(id, "BPF programs are compiled, with hardening for all users (2)")
                .why(
                    "constants are blinded: 3 instructions instead of each 1 with a constant",
                    "Linux, kernel/bpf/core.c (bpf_jit_blind_insn)",
                )
                .weighs(Weight::packets(Severity::Minor))
                .mend(Mend::sysctl(files, "net.core.bpf_jit_harden", 0))
        }
        Some(_) => Finding::fine(id, "BPF programs are compiled"),
    }
}

fn ring(files: &Files) -> Finding {
    let id = "kernel.io_uring";
    match files.sysctl_number("kernel.io_uring_disabled") {
        None => Finding::unknown(id, "the kernel has no switch for io_uring (before Linux 6.6)"),
        Some(0) => Finding::fine(id, "io_uring may be used"),
        Some(how) => Finding::fine(
            id,
            format!("io_uring is switched off ({})", if how == 1 { "for other groups" } else { "for all" }),
        )
        .why(
            "HTTP can use only epoll; bare loops on one machine made 118 000 requests per second with \
                  io_uring, 115 000 with epoll",
            "measured on a guest with two CPUs",
        )
        .weighs(Weight::http(Severity::Minor))
        .mend(Mend::sysctl(files, "kernel.io_uring_disabled", 0)),
    }
}

/// Real-time threads are stopped for a part of each second, if this process is one.
fn realtime(files: &Files) -> Finding {
    let id = "kernel.realtime";
    let Some(runtime) = files.sysctl_number("kernel.sched_rt_runtime_us") else {
        return Finding::unknown(id, "kernel.sched_rt_runtime_us is not visible");
    };
    let period = files.sysctl_number("kernel.sched_rt_period_us").unwrap_or(1_000_000);
    // SCHED_FIFO is 1, SCHED_RR 2; field 41 of stat, counted after the name in brackets.
    let stat = files.text("proc/self/stat").unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let is_real_time = matches!(after.split_ascii_whitespace().nth(41 - 3), Some("1" | "2"));
    let stopped_us = period.saturating_sub(runtime);
    if !is_real_time || runtime < 0 {
        return Finding::fine(id, "this process has no real-time priority, or is not throttled for it");
    }
    Finding::fine(id, format!("real-time threads run for {runtime} of each {period} µs"))
        .why(
            format!(
                "a busy-waiting real-time thread is stopped for {:.0} ms in a row, every {:.1} s; without \
                 that, nothing else runs on its CPU, not even a shell to end it",
                stopped_us as f64 / 1e3,
                period as f64 / 1e6
            ),
            "Linux, Documentation/scheduler/sched-rt-group.rst",
        )
        .weighs(Weight::gaps(Severity::Serious))
        .mend(unthrottle(files, runtime))
}

/// Real-time threads on all CPUs, never stopped, would take the machine away from everybody: it is set for the
/// user only where this process has to leave a CPU alone.
fn unthrottle(files: &Files, runtime: i64) -> Option<Mend> {
    let name = "kernel.sched_rt_runtime_us";
    let ours = may_use(files).unwrap_or_default();
    let others = online(files).unwrap_or_default().into_iter().filter(|cpu| !ours.contains(cpu)).count();
    if !ours.is_empty() && others > 0 {
        return Mend::sysctl(files, name, -1);
    }
    Some(match ours.as_slice() {
        [_, rest @ ..] if !rest.is_empty() => Mend::command(
            format!("sysctl -w {name}=-1, then only: taskset -c {} chrt -f 50 tare …", as_list(rest)),
            format!("sysctl -w {name}={runtime}"),
        ),
        _ => Mend::advice("leave it as it is: it needs a CPU for all other work"),
    })
}
