//! Limits, quotas, memory and privileges.

use super::*;

/// `/proc/self/limits` with one line.
fn limits(name: &str, soft: &str, hard: &str) -> String {
    format!(
        "Limit                     Soft Limit           Hard Limit           Units     \n{name:<26}{soft:<21}{hard:<21}units\n"
    )
}

#[test]
fn limits_are_told_in_what_fits_into_them() {
    let of = |name, soft, hard, id| of(&[("proc/self/limits", limits(name, soft, hard).as_str())], id);
    fine(&of("Max open files", "20000", "20000", "limit.descriptors"), "20000");
    let found = of("Max open files", "1024", "524288", "limit.descriptors");
    bad(&found, Load::Http, Severity::Serious, "960 connections");
    assert_eq!(commands(&found), (vec!["ulimit -n 65536".into()], vec!["ulimit -S -n 1024".into()]));
    let found = of("Max open files", "4096", "4096", "limit.descriptors");
    bad(&found, Load::Http, Severity::Minor, "4032 connections");
    assert!(commands(&found).0[0].starts_with("as root: prlimit"));
    fine(&of("Max locked memory", "unlimited", "unlimited", "limit.locked"), "not limited");
    bad(
        &of("Max locked memory", "8388608", "8388608", "limit.locked"),
        Load::Packets,
        Severity::Serious,
        "16 MiB for both directions, so 0 fit",
    );
    bad(
        &of("Max locked memory", "33554432", "33554432", "limit.locked"),
        Load::Packets,
        Severity::Minor,
        "so 2 fit",
    );
    fine(&of("Max processes", "96365", "96365", "limit.processes"), "96365");
    bad(&of("Max processes", "100", "200", "limit.processes"), Load::Http, Severity::Minor, "100");
    fine(&of("Max realtime priority", "50", "50", "limit.priority"), "chrt");
    bad(&of("Max realtime priority", "0", "0", "limit.priority"), Load::Gaps, Severity::Minor, "3 ms");
}

#[test]
fn privileges_pass_limits_by() {
    // Bits 14 (IPC_LOCK) and 23 (SYS_NICE): 0x804000.
    let status = ("proc/self/status", "CapEff:\t0000000000804000\n");
    let files = |name| limits(name, "0", "0");
    let (locked, priority) = (files("Max locked memory"), files("Max realtime priority"));
    fine(&of(&[status, ("proc/self/limits", &locked)], "limit.locked"), "CAP_IPC_LOCK");
    fine(&of(&[status, ("proc/self/limits", &priority)], "limit.priority"), "chrt");
}

#[test]
fn open_files_of_the_whole_machine() {
    fine(&of(&[("proc/sys/fs/file-nr", "3000\t0\t9223372036854775807\n")], "limit.files"), "endless");
    bad(
        &of(&[("proc/sys/fs/file-nr", "60000 0 65536"), ("proc/sys/fs/file-max", "65536")], "limit.files"),
        Load::Http,
        Severity::Serious,
        "5536 more sockets",
    );
}

#[test]
fn quotas_of_both_versions_are_told_with_how_often_they_stopped_us() {
    let two = [
        ("proc/self/cgroup", "0::/a/b\n"),
        ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
        // The narrower quota is the parent's.
        ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
        (
            "sys/fs/cgroup/a/cpu.stat",
            "usage_usec 1\nnr_periods 200\nnr_throttled 40\nthrottled_usec 2000000\n",
        ),
    ];
    let found = of(&two, "cgroup.cpu");
    assert!(found.found.contains("0.50 CPUs, which stopped this process in 40 of 200 periods"), "{found:?}");
    // 2 s over 40 times.
    bad(&found, Load::Http, Severity::Serious, "stopped for 50 ms each time");
    assert_eq!(commands(&found).1, ["echo '50000 100000' > /sys/fs/cgroup/a/cpu.max"]);
    let one = |quota| {
        [
            ("proc/self/cgroup", "4:memory:/m\n2:cpu,cpuacct:/c\n"),
            ("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", quota),
            ("sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000"),
            ("sys/fs/cgroup/cpu,cpuacct/c/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"),
        ]
    };
    fine(&of(&one("-1"), "cgroup.cpu"), "no CPU quota");
    let found = of(&one("150000"), "cgroup.cpu");
    bad(&found, Load::Gaps, Severity::Serious, "1.50 CPUs");
    assert_eq!(found.weight.http, Severity::Minor);
}

#[test]
fn memory_limits_of_both_versions_are_told_in_connections() {
    let two = |most| [("proc/self/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/memory.max", most)];
    fine(&of(&two("max\n"), "cgroup.memory"), "no memory limit");
    fine(&of(&two("2147483648"), "cgroup.memory"), "2048 MiB");
    // 128 MiB / (131072 + 16384) = 910.
    bad(
        &of(&two("134217728"), "cgroup.memory"),
        Load::Http,
        Severity::Serious,
        "910 connections with full buffers (144 KiB each)",
    );
    let one = [
        ("proc/self/cgroup", "4:memory:/m\n"),
        ("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712"),
    ];
    fine(&of(&one, "cgroup.memory"), "no memory limit");
}

#[test]
fn memory_swap_and_huge_pages() {
    let meminfo = |text: &'static str| [("proc/meminfo", text)];
    let calm = "MemTotal: 2097152 kB\nMemAvailable: 1048576 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nHugePages_Total: 4\nHugePages_Free: 3\n";
    fine(&of(&meminfo(calm), "memory.available"), "1.0 of 2.0 GiB");
    fine(&of(&meminfo(calm), "memory.swap"), "no swap");
    fine(&of(&meminfo(calm), "memory.reserved"), "3 of 4");
    let short = "MemTotal: 2097152 kB\nMemAvailable: 102400 kB\nSwapTotal: 1048576 kB\nSwapFree: 524288 kB\n";
    bad(&of(&meminfo(short), "memory.available"), Load::Http, Severity::Serious, "100 MiB");
    bad(&of(&meminfo(short), "memory.swap"), Load::Gaps, Severity::Serious, "10 ms");
    const THP: &str = "sys/kernel/mm/transparent_hugepage/enabled";
    fine(&of(&[(THP, "always [madvise] never")], "memory.huge"), "madvise");
    let found = of(&[(THP, "[always] madvise never")], "memory.huge");
    bad(&found, Load::Gaps, Severity::Minor, "2 MiB");
    assert_eq!(
        commands(&found),
        (vec![format!("echo madvise > /{THP}")], vec![format!("echo always > /{THP}")])
    );
}

#[test]
fn privileges_that_are_missing_say_what_cannot_be_done_and_are_given_together() {
    let all = [("proc/self/status", "CapEff:\t000001ffffffffff\n")];
    fine(&of(&all, "cap.net_raw"), "CAP_NET_RAW is set");
    let none = [("proc/self/status", "CapEff:\t0000000000000000\n")];
    let found = of(&none, "cap.net_raw");
    bad(&found, Load::Packets, Severity::Blocking, "0 frames");
    assert_eq!(
        commands(&found).0,
        [
            "as root: setcap cap_net_admin,cap_net_raw,cap_sys_admin,cap_sys_nice,cap_bpf+ep $(command -v tare)"
        ]
    );
    assert_eq!(commands(&found).1, ["setcap -r $(command -v tare)"]);
    bad(&of(&none, "cap.bpf"), Load::Packets, Severity::Serious, "15 million");
}

/// `setcap` replaces: what the command does not name is gone.
#[test]
fn privileges_that_the_file_or_the_process_has_are_kept_and_come_back() {
    // CAP_NET_RAW (13) is the file's, CAP_IPC_LOCK (14) from elsewhere, CAP_DAC_READ_SEARCH (2) in the file
    // alone.
    let (_root, subject) = machine(&[("proc/self/status", "CapEff:\t0000000000006000\n")]);
    let program = FileCapabilities { permitted: 1 << 13 | 1 << 2, inheritable: 0, effective: true };
    let subject = Subject { program, ..subject };
    assert_eq!(
        commands(&one(&subject, "cap.net_admin")),
        (
            vec![
                "as root: setcap 2,cap_net_admin,cap_net_raw,cap_ipc_lock,cap_sys_admin,cap_sys_nice,cap_bpf+ep \
                 $(command -v tare)"
                    .into()
            ],
            vec!["setcap 2,cap_net_raw+ep $(command -v tare)".into()]
        )
    );
}
