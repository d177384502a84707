//! What the kernel is set to: ports, queues, buffers, BPF, connection tracking.

use super::*;

#[test]
fn ports_are_counted_without_reserved_ones_and_told_as_connections_a_second() {
    fine(&of(&[(RANGE, "1024\t65535\n")], "net.ports"), "64512 ephemeral ports");
    // 60999 − 32768 + 1 = 28232; a sixtieth is 470.
    let found = of(&[(RANGE, "32768\t60999\n")], "net.ports");
    bad(&found, Load::Http, Severity::Minor, "470 new connections per second");
    assert_eq!(
        commands(&found),
        (
            vec!["sysctl -w net.ipv4.ip_local_port_range=\"10000 65535\"".into()],
            vec!["sysctl -w net.ipv4.ip_local_port_range=\"32768 60999\"".into()]
        )
    );
    // 6000 less 10 (of 100 to 10009 only 10000 to 10009 are in it) less 1: 5989; a sixtieth is 99.
    let files =
        [(RANGE, "10000 15999"), ("proc/sys/net/ipv4/ip_local_reserved_ports", "100-10009,12000,40000")];
    bad(&of(&files, "net.ports"), Load::Http, Severity::Serious, "99 new connections");
}

#[test]
fn time_wait_is_reused_everywhere_on_loopback_or_not_at_all() {
    const REUSE: &str = "proc/sys/net/ipv4/tcp_tw_reuse";
    fine(&of(&[(REUSE, "1"), (RANGE, "32768 60999")], "net.tw_reuse"), "after 1 s");
    for (value, words) in [("2", "loopback"), ("0", "60 s only")] {
        let found = of(&[(REUSE, value), (RANGE, "32768 60999")], "net.tw_reuse");
        bad(
            &found,
            Load::Http,
            Severity::Minor,
            "470 new connections per second to one target; reuse after 1 s would allow 28232",
        );
        assert!(found.found.contains(words), "{found:?}");
    }
    const BUCKETS: &str = "proc/sys/net/ipv4/tcp_max_tw_buckets";
    fine(&of(&[(BUCKETS, "65536"), (RANGE, "32768 60999")], "net.tw_buckets"), "65536");
    bad(
        &of(&[(BUCKETS, "6000"), (RANGE, "32768 60999")], "net.tw_buckets"),
        Load::Http,
        Severity::Minor,
        "above 100 closed",
    );
}

#[test]
fn short_queues_and_small_buffers_are_told() {
    const SOMAXCONN: &str = "proc/sys/net/core/somaxconn";
    fine(&of(&[(SOMAXCONN, "4096")], "net.somaxconn"), "4096");
    bad(&of(&[(SOMAXCONN, "128")], "net.somaxconn"), Load::Http, Severity::Minor, "beyond 128 at once");
    let buffers = [("proc/sys/net/core/rmem_max", "212992"), ("proc/sys/net/core/wmem_max", "16777216")];
    // 212992 / 768 = 277.
    let found = of(&buffers, "net.buffers");
    bad(&found, Load::Packets, Severity::Minor, "277 small datagrams, 2.8 ms");
    assert_eq!(commands(&found).0, ["sysctl -w net.core.rmem_max=8388608"]);
    let admin = [&buffers[..], &[("proc/self/status", "CapEff:\t0000000000001000\n")]].concat();
    fine(&of(&admin, "net.buffers"), "CAP_NET_ADMIN");
}

#[test]
fn an_interpreter_is_serious_and_hardening_minor() {
    const JIT: &str = "proc/sys/net/core/bpf_jit_enable";
    fine(&of(&[(JIT, "1")], "bpf.jit"), "compiled");
    let found = of(&[(JIT, "0")], "bpf.jit");
    bad(&found, Load::Packets, Severity::Serious, "0 = interpreter");
    assert_eq!(commands(&found).0, ["sysctl -w net.core.bpf_jit_enable=1"]);
    bad(
        &of(&[(JIT, "1"), ("proc/sys/net/core/bpf_jit_harden", "2")], "bpf.jit"),
        Load::Packets,
        Severity::Minor,
        "3 instructions",
    );
}

#[test]
fn io_uring_and_real_time_are_read_as_they_apply_to_this_process() {
    const DISABLED: &str = "proc/sys/kernel/io_uring_disabled";
    fine(&of(&[(DISABLED, "0")], "kernel.io_uring"), "may be used");
    bad(&of(&[(DISABLED, "2")], "kernel.io_uring"), Load::Http, Severity::Minor, "118 000");
    // Fields 3 to 41 of a stat file; the last is the policy.
    let stat = |policy: u32| format!("7 (a) b) S {} {policy} 0\n", ["0"; 37].join(" "));
    let files = |policy, allowed: &str| {
        let (stat, allowed) = (stat(policy), format!("Cpus_allowed_list:\t{allowed}\n"));
        let files = [
            ("proc/sys/kernel/sched_rt_runtime_us", "950000"),
            ("proc/sys/kernel/sched_rt_period_us", "1000000"),
            ("sys/devices/system/cpu/online", "0-3"),
        ];
        let own = [("proc/self/stat", stat.as_str()), ("proc/self/status", allowed.as_str())];
        let (_root, subject) = machine(&[&files[..], &own].concat());
        let steps = fix::steps(&subject.findings(), None, &["kernel.realtime".into()]);
        (one(&subject, "kernel.realtime"), steps.len())
    };
    fine(&files(0, "0-3").0, "no real-time priority");
    let (found, steps) = files(1, "1-3");
    bad(&found, Load::Gaps, Severity::Serious, "stopped for 50 ms in a row, every 1.0 s");
    assert_eq!((commands(&found).0, steps), (vec!["sysctl -w kernel.sched_rt_runtime_us=-1".to_owned()], 1));
}

/// Never stopped, on every CPU: nothing else would run.
#[test]
fn real_time_threads_are_not_let_loose_where_no_cpu_is_left_to_others() {
    let stat = format!("7 (a) S {} 1 0\n", ["0"; 37].join(" "));
    let of = |online: &str| {
        let allowed = format!("Cpus_allowed_list:\t{online}\n");
        let (_root, subject) = machine(&[
            ("proc/sys/kernel/sched_rt_runtime_us", "950000"),
            ("proc/self/stat", &stat),
            ("proc/self/status", &allowed),
            ("sys/devices/system/cpu/online", online),
        ]);
        assert_eq!(fix::steps(&subject.findings(), None, &["kernel.realtime".into()]), []);
        one(&subject, "kernel.realtime")
    };
    let found = of("0-3");
    bad(&found, Load::Gaps, Severity::Serious, "nothing else runs on its CPU");
    assert_eq!(
        commands(&found),
        (
            vec![
                "sysctl -w kernel.sched_rt_runtime_us=-1, then only: taskset -c 1-3 chrt -f 50 tare …".into()
            ],
            vec!["sysctl -w kernel.sched_rt_runtime_us=950000".into()]
        )
    );
    assert_eq!(commands(&of("0")), (vec![], vec![]));
}

#[test]
fn connection_tracking_is_told_as_the_rate_that_fills_it() {
    let files = |most, count| {
        [
            ("proc/sys/net/netfilter/nf_conntrack_max", most),
            ("proc/sys/net/netfilter/nf_conntrack_count", count),
            ("proc/sys/net/netfilter/nf_conntrack_tcp_timeout_time_wait", "120"),
        ]
    };
    fine(&of(&[], "conntrack"), "no connection tracking");
    fine(&of(&files("262144", "0"), "conntrack"), "0 of 262144");
    // 262144 / 120 = 2184.
    bad(&of(&files("262144", "7"), "conntrack"), Load::Http, Severity::Minor, "2184 new ones per second");
    let found = of(&files("65536", "60000"), "conntrack");
    bad(&found, Load::Gaps, Severity::Serious, "320 MiB would hold 1048576");
    assert_eq!(commands(&found).0, ["sysctl -w net.netfilter.nf_conntrack_max=1048576"]);
    bad(&of(&files("65536", "9"), "conntrack"), Load::Http, Severity::Serious, "546 new ones");
    fine(&of(&files("8388608", "9"), "conntrack"), "9 of 8388608");
}
