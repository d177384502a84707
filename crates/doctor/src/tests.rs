//! Every finding on a machine that has it and on one that has not: folders made for it, in the place of `/`.

use crate::fix::{Mender, Undone, steps};
use crate::measured::ClockFacts;
use crate::*;
use port::interface::{Coalescing, Rings, Setup};

/// A machine of these files.
fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Subject) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let subject = Subject { files: Files::at(root.path()), ..Subject::default() };
    (root, subject)
}

#[track_caller]
fn one(subject: &Subject, id: &str) -> Finding {
    let findings = subject.findings();
    let found = findings.iter().find(|finding| finding.id == id);
    found
        .unwrap_or_else(|| panic!("no {id} among {:?}", findings.iter().map(|f| &f.id).collect::<Vec<_>>()))
        .clone()
}

#[track_caller]
fn of(files: &[(&str, &str)], id: &str) -> Finding {
    one(&machine(files).1, id)
}

/// It matters that much to that load, its reason has these words and a figure, and something can be done.
#[track_caller]
fn bad(finding: &Finding, load: Load, severity: Severity, words: &str) {
    assert_eq!(finding.weight.of(load), severity, "{finding:?}");
    assert!(finding.why.contains(words), "{words}: {finding:?}");
    assert!(!finding.source.is_empty() && finding.mend.is_some(), "{finding:?}");
}

#[track_caller]
fn fine(finding: &Finding, words: &str) {
    assert_eq!(finding.worst(), Severity::Fine, "{finding:?}");
    assert!(finding.found.contains(words), "{words}: {finding:?}");
}

#[track_caller]
fn unknown(finding: &Finding) {
    assert_eq!(finding.worst(), Severity::Unknown, "{finding:?}");
    assert!(finding.mend.is_none() && finding.why.is_empty(), "{finding:?}");
}

#[track_caller]
fn commands(finding: &Finding) -> (Vec<String>, Vec<String>) {
    let mend = finding.mend.as_ref().unwrap();
    (mend.commands(), mend.undoing())
}

#[test]
fn of_an_empty_machine_everything_is_absent_and_nothing_is_guessed() {
    let (_root, subject) = machine(&[]);
    for finding in subject.findings() {
        assert!(finding.worst() <= Severity::Unknown, "{finding:?}");
        assert!(!finding.found.is_empty() && finding.mend.is_none(), "{finding:?}");
    }
    assert_eq!(Overview::read(&subject.files).line(), "");
}

#[test]
fn a_clock_that_is_read_from_a_device_is_serious() {
    const SOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    const OTHERS: &str = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    fine(&of(&[(SOURCE, "tsc\n")], "clock.source"), "tsc");
    let found = of(&[(SOURCE, "hpet\n"), (OTHERS, "hpet tsc acpi_pm\n")], "clock.source");
    bad(&found, Load::Http, Severity::Serious, "1 for every timestamp");
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    assert_eq!(commands(&found), (vec![format!("echo tsc > {path}")], vec![format!("echo hpet > {path}")]));
    let found = of(&[(SOURCE, "acpi_pm"), (OTHERS, "acpi_pm")], "clock.source");
    assert!(matches!(found.mend, Some(Mend::Advice { .. })));
}

#[test]
fn tares_own_clock_is_judged_by_its_error_and_its_cost() {
    let with = |clock: ClockFacts| {
        let measured = Measured { clock: Some(clock), ..Measured::default() };
        one(&Subject { measured, ..machine(&[]).1 }, "clock.tare")
    };
    let good = ClockFacts {
        source: "tsc".into(),
        precision_ns: 10.0,
        overhead_ns: 9.0,
        error_ppm: 0.05,
        ..ClockFacts::default()
    };
    fine(&with(good.clone()), "0.05 ppm");
    bad(&with(ClockFacts { error_ppm: -250.0, ..good.clone() }), Load::Http, Severity::Serious, "250 ppm");
    bad(&with(ClockFacts { overhead_ns: 900.0, ..good.clone() }), Load::Gaps, Severity::Serious, "rates");
    let refused = ClockFacts { refused: Some("the counter drifts".into()), ..good };
    bad(&with(refused), Load::Gaps, Severity::Minor, "the counter drifts; a reading costs 9 ns");
}

#[test]
fn late_sleepers_matter_to_gaps() {
    let with = |tight_p99_ns| {
        let sleeps =
            Sleeps { tight_p50_ns: 60_000, tight_p99_ns, default_p50_ns: 110_000, default_p99_ns: 190_000 };
        one(
            &Subject { measured: Measured { sleeps: Some(sleeps), ..Measured::default() }, ..machine(&[]).1 },
            "timer.slack",
        )
    };
    fine(&with(150_000), "60 µs late (p99 150)");
    bad(&with(900_000), Load::Gaps, Severity::Minor, "0.9 ms");
    bad(&with(9_000_000), Load::Gaps, Severity::Serious, "9.0 ms");
}

#[test]
fn a_governor_that_saves_power_is_told_with_the_factor_and_mended_for_each_cpu() {
    const CPU0: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    const CPU10: &str = "sys/devices/system/cpu/cpu10/cpufreq/scaling_governor";
    fine(&of(&[(CPU0, "performance"), (CPU10, "performance")], "cpu.governor"), "performance on all 2");
    let files = [
        (CPU0, "powersave"),
        (CPU10, "powersave"),
        ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq", "800000"),
        ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3600000"),
    ];
    let found = of(&files, "cpu.governor");
    // 3.6 / 0.8
    bad(&found, Load::Gaps, Severity::Serious, "0.8 GHz of 3.6: work takes up to 4.5 times");
    assert_eq!(
        commands(&found).0,
        [format!("echo performance > /{CPU0}"), format!("echo performance > /{CPU10}")]
    );
    assert_eq!(commands(&found).1[1], format!("echo powersave > /{CPU10}"));
    let guest = of(&[("proc/cpuinfo", "flags\t\t: fpu hypervisor\n")], "cpu.governor");
    assert!(guest.found.contains("a guest; its host decides"), "{guest:?}");
}

#[test]
fn deep_idle_states_are_switched_off_one_by_one() {
    let state = |n: u32, file: &str| format!("sys/devices/system/cpu/cpu0/cpuidle/state{n}/{file}");
    let files = |exit: &'static str| {
        vec![
            (state(0, "latency"), "0"),
            (state(0, "name"), "POLL"),
            (state(1, "latency"), exit),
            (state(1, "name"), "C6"),
            (state(1, "disable"), "0"),
            (state(2, "latency"), "900"),
            (state(2, "disable"), "1"),
        ]
    };
    let of = |exit| {
        let files = files(exit);
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        of(&files, "cpu.idle")
    };
    fine(&of("1"), "C6, takes 1 µs");
    let found = of("133");
    bad(&found, Load::Gaps, Severity::Serious, "133 µs");
    assert_eq!(commands(&found).0, [format!("echo 1 > /{}", state(1, "disable"))]);
    bad(&of("30"), Load::Gaps, Severity::Minor, "30 µs");
}

#[test]
fn cpus_that_are_out_of_reach_are_counted() {
    const ONLINE: &str = "sys/devices/system/cpu/online";
    const STATUS: &str = "proc/self/status";
    fine(&of(&[(ONLINE, "0-3"), (STATUS, "Cpus_allowed_list:\t0-3\n")], "cpu.allowed"), "4 of 4");
    let found = of(&[(ONLINE, "0-3"), (STATUS, "Cpus_allowed_list:\t0-1\n")], "cpu.allowed");
    bad(&found, Load::Http, Severity::Minor, "2 CPUs are out of reach");
    assert_eq!(commands(&found), (vec!["taskset -cp 0-3 $$".into()], vec!["taskset -cp 0-1 $$".into()]));
    bad(
        &of(&[(ONLINE, "0"), (STATUS, "Cpus_allowed_list:\t0\n")], "cpu.allowed"),
        Load::Http,
        Severity::Serious,
        "1 CPU",
    );
}

#[test]
fn threads_of_one_core_are_named_and_one_of_each_is_advised() {
    const ACTIVE: &str = "sys/devices/system/cpu/smt/active";
    fine(&of(&[(ACTIVE, "0")], "cpu.smt"), "one thread");
    let list = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let (a, b, c, d) = (list(0), list(1), list(2), list(3));
    let files =
        [(ACTIVE, "1"), (a.as_str(), "0,2"), (b.as_str(), "1,3"), (c.as_str(), "0,2"), (d.as_str(), "1,3")];
    let found = of(&files, "cpu.smt");
    bad(&found, Load::Gaps, Severity::Serious, "16 to 28 %");
    assert!(commands(&found).0[0].contains("--cpus 0-1 "), "{found:?}");
    assert_eq!(commands(&found).1, ["echo on > /sys/devices/system/cpu/smt/control"]);
}

#[test]
fn stolen_time_is_a_share_of_work_since_boot_or_just_now() {
    // 900 ticks of work and 10 stolen are 1.1 %.
    let found = of(&[("proc/stat", "cpu  500 0 400 9000 0 0 0 10 0 0\n")], "cpu.steal");
    bad(&found, Load::Gaps, Severity::Minor, "11 ms of each second");
    fine(&of(&[("proc/stat", "cpu  500 0 400 9000 0 0 0 1 0 0\n")], "cpu.steal"), "0.11 %");
    let (_root, mut subject) = machine(&[("proc/stat", "cpu  500 0 400 9000 0 0 0 0 0 0\n")]);
    subject.measured.shares = Some(Shares { steal: 0.2, others: 0.3, ..Shares::default() });
    bad(&one(&subject, "cpu.steal"), Load::Gaps, Severity::Serious, "200 ms");
    bad(&one(&subject, "cpu.others"), Load::Http, Severity::Serious, "30 %");
    subject.measured.shares = Some(Shares::default());
    fine(&one(&subject, "cpu.others"), "0 %");
}

#[test]
fn pauses_of_a_spinning_thread_are_counted_in_departures() {
    let with = |pauses| {
        one(
            &Subject { measured: Measured { pauses: Some(pauses), ..Measured::default() }, ..machine(&[]).1 },
            "cpu.pauses",
        )
    };
    let span_ns = 300_000_000;
    fine(
        &with(Pauses { span_ns, lost_ns: 90_000, count: 3, longest_ns: 40_000 }),
        "3 times in 300 ms, for at most 40 µs",
    );
    // 2 ms are 200 departures at 100 000 a second.
    bad(
        &with(Pauses { span_ns, lost_ns: 2_000_000, count: 1, longest_ns: 2_000_000 }),
        Load::Gaps,
        Severity::Minor,
        "200 departures",
    );
    bad(
        &with(Pauses { span_ns, lost_ns: 30_000_000, count: 3, longest_ns: 10_000_000 }),
        Load::Gaps,
        Severity::Serious,
        "1000 departures",
    );
}

#[test]
fn isolated_cpus_are_told_for_use_and_missed_otherwise() {
    const ISOLATED: &str = "sys/devices/system/cpu/isolated";
    fine(
        &of(&[(ISOLATED, "2-3"), ("sys/devices/system/cpu/nohz_full", "2-3")], "cpu.isolated"),
        "without ticks 2-3: use --cpus 2-3",
    );
    let (_root, mut subject) = machine(&[(ISOLATED, "\n"), ("sys/devices/system/cpu/online", "0-3")]);
    subject.measured.shares = Some(Shares { timer_interrupts_per_s: Some(251.0), ..Shares::default() });
    let found = one(&subject, "cpu.isolated");
    bad(&found, Load::Gaps, Severity::Minor, "251 timer interrupts");
    assert!(
        commands(&found).0[0].ends_with("isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=1-3"),
        "{found:?}"
    );
}

#[test]
fn mitigations_are_weighed_by_what_a_system_call_takes() {
    let (_root, mut subject) = machine(&[
        ("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n"),
        ("sys/devices/system/cpu/vulnerabilities/mds", "Not affected\n"),
    ]);
    fine(&one(&subject, "cpu.mitigations"), "1 mitigations");
    subject.measured.system_call_ns = Some(90.0);
    fine(&one(&subject, "cpu.mitigations"), "90 ns");
    subject.measured.system_call_ns = Some(400.0);
    bad(&one(&subject, "cpu.mitigations"), Load::Http, Severity::Minor, "400 ns");
}

/// `eth0` with index 7, of a card.
fn card() -> Device {
    Device {
        name: "eth0".into(),
        index: 7,
        driver: Some("ixgbe".into()),
        speed_bps: Some(10_000_000_000),
        receive_queues: 4,
        transmit_queues: 4,
        stamps_in_hardware: true,
        is_used: true,
        setup: Setup {
            offloads: vec![("gro", false), ("tso", false)],
            rings: Some(Rings { receive: 2_048, receive_most: 4_096, transmit: 512, transmit_most: 4_096 }),
            coalescing: Some(Coalescing::default()),
            queue_length: Some(1_000),
            qdisc: Some("mq".into()),
            xdp: None,
        },
    }
}

/// A machine with that card and these files beside.
fn with_card(device: Device, files: &[(&str, &str)]) -> (tempfile::TempDir, Subject) {
    let own = [("sys/class/net/eth0/ifindex", "7"), ("proc/self/status", "Cpus_allowed_list:\t0-3\n")];
    let (root, subject) = machine(&[&own, files].concat());
    (root, Subject { devices: vec![device], ..subject })
}

#[track_caller]
fn card_finding(device: Device, files: &[(&str, &str)], id: &str) -> Finding {
    one(&with_card(device, files).1, id)
}

#[test]
fn interrupts_of_a_card_leave_a_cpu_free_or_not() {
    let files = |a: &'static str, b: &'static str| {
        [
            ("sys/class/net/eth0/device/msi_irqs/41", ""),
            ("sys/class/net/eth0/device/msi_irqs/42", ""),
            ("proc/irq/41/effective_affinity_list", a),
            ("proc/irq/42/effective_affinity_list", b),
            ("proc/irq/41/smp_affinity_list", "0-3"),
            ("proc/irq/42/smp_affinity_list", "0-3"),
        ]
    };
    fine(
        &card_finding(card(), &files("0", "1"), "irq.affinity.eth0"),
        "CPUs 0-1; CPUs 2-3 are free of them: --cpus 2-3",
    );
    let found = card_finding(card(), &files("0-1", "2-3"), "irq.affinity.eth0");
    bad(&found, Load::Gaps, Severity::Minor, "each of 0-3");
    assert_eq!(commands(&found).0, ["for i in 41 42; do echo 0 > /proc/irq/$i/smp_affinity_list; done"]);
    assert_eq!(
        commands(&found).1,
        ["echo 0-3 > /proc/irq/41/smp_affinity_list; echo 0-3 > /proc/irq/42/smp_affinity_list"]
    );
    // Of another namespace's eth0 nothing is said.
    let foreign = Device { index: 8, ..card() };
    let (_root, subject) = with_card(foreign, &files("0", "1"));
    assert!(!subject.findings().iter().any(|finding| finding.id == "irq.affinity.eth0"));
}

#[test]
fn irqbalance_is_found_by_its_name() {
    fine(&of(&[("proc/12/comm", "bash\n")], "irq.balance"), "irqbalance is not running");
    bad(&of(&[("proc/12/comm", "irqbalance\n")], "irq.balance"), Load::Gaps, Severity::Minor, "10 s");
}

#[test]
fn receive_steering_is_taken_back_queue_by_queue() {
    const RPS: &str = "sys/class/net/eth0/queues/rx-0/rps_cpus";
    fine(&card_finding(card(), &[(RPS, "00000000")], "net.steering.eth0"), "RPS on 0 of 1");
    let found = card_finding(card(), &[(RPS, "0000000e")], "net.steering.eth0");
    bad(&found, Load::Gaps, Severity::Minor, "1 interrupt more");
    assert_eq!(commands(&found), (vec![format!("echo 0 > /{RPS}")], vec![format!("echo 0000000e > /{RPS}")]));
}

#[test]
fn budgets_and_backlogs_are_judged_by_the_kernels_counters() {
    let files = |softnet: &'static str| {
        [
            ("proc/sys/net/core/netdev_budget", "300"),
            ("proc/sys/net/core/netdev_budget_usecs", "2000"),
            ("proc/sys/net/core/dev_weight", "64"),
            ("proc/sys/net/core/netdev_max_backlog", "1000"),
            ("proc/net/softnet_stat", softnet),
        ]
    };
    // Two CPUs: 0x10 frames each, nothing dropped, nothing squeezed.
    let calm = "00000010 00000000 00000000 0\n00000010 00000000 00000000 0\n";
    fine(
        &of(&files(calm), "net.budget"),
        "300 frames or 2000 µs per round, 64 frames per queue; it ran out 0 times in 32 frames",
    );
    fine(&of(&files(calm), "net.backlog"), "1000 frames");
    // 0x186a0 = 100 000 frames, 5 dropped, 0x3e8 = 1 000 times out of budget.
    let busy = "000186a0 00000005 000003e8 0\n";
    let found = of(&files(busy), "net.budget");
    bad(&found, Load::Packets, Severity::Minor, "once in 100 frames");
    assert_eq!(
        commands(&found),
        (
            vec!["sysctl -w net.core.netdev_budget=600".into()],
            vec!["sysctl -w net.core.netdev_budget=300".into()]
        )
    );
    let found = of(&files(busy), "net.backlog");
    bad(&found, Load::Packets, Severity::Serious, "after 1.0 ms");
    assert_eq!(commands(&found).0, ["sysctl -w net.core.netdev_max_backlog=4000"]);
}

#[test]
fn stamps_after_steering_are_minor() {
    const PREQUEUE: &str = "proc/sys/net/core/netdev_tstamp_prequeue";
    fine(&of(&[(PREQUEUE, "1")], "net.stamps"), "before");
    bad(&of(&[(PREQUEUE, "0")], "net.stamps"), Load::Gaps, Severity::Minor, "microseconds");
}

#[test]
fn interrupts_that_are_put_off_are_told_in_microseconds() {
    let files = |defer, timeout| {
        [
            ("sys/class/net/eth0/napi_defer_hard_irqs", defer),
            ("sys/class/net/eth0/gro_flush_timeout", timeout),
        ]
    };
    fine(&card_finding(card(), &files("0", "0"), "napi.defer.eth0"), "0 times");
    let found = card_finding(card(), &files("2", "200000"), "napi.defer.eth0");
    bad(&found, Load::Gaps, Severity::Serious, "200 µs");
    assert_eq!(commands(&found).1, ["echo 2 > /sys/class/net/eth0/napi_defer_hard_irqs"]);
    fine(
        &card_finding(card(), &[("sys/class/net/eth0/threaded", "1")], "napi.threaded.eth0"),
        "its own threads",
    );
    fine(&card_finding(card(), &[("sys/class/net/eth0/threaded", "0")], "napi.threaded.eth0"), "softirqs");
}

#[test]
fn a_card_as_it_should_be_has_nothing_to_mend() {
    for id in ["offloads", "rings", "coalesce", "queue", "queues", "speed", "stamps", "numa"] {
        let found = card_finding(card(), &[], &format!("nic.{id}.eth0"));
        assert_eq!(found.worst(), Severity::Fine, "{found:?}");
    }
    unknown(&one(&machine(&[]).1, "nic"));
}

#[test]
fn a_card_that_merges_gathers_and_queues_little_is_told_with_figures() {
    let setup = Setup {
        offloads: vec![("gro", true), ("lro", true), ("tso", false)],
        rings: Some(Rings { receive: 256, receive_most: 8_192, ..Rings::default() }),
        coalescing: Some(Coalescing { receive_us: 50, ..Coalescing::default() }),
        queue_length: Some(100),
        qdisc: Some("pfifo_fast".into()),
        xdp: None,
    };
    let worse = Device { setup, stamps_in_hardware: false, speed_bps: None, receive_queues: 1, ..card() };
    let (_root, subject) = with_card(worse, &[]);
    let found = |id: &str| one(&subject, &format!("nic.{id}.eth0"));
    bad(&found("offloads"), Load::Packets, Severity::Serious, "45 frames of 1500");
    assert_eq!(
        commands(&found("offloads")),
        (vec!["ethtool -K eth0 lro off gro off".into()], vec!["ethtool -K eth0 lro on gro on".into()])
    );
    // 256 frames at a million a second.
    bad(&found("rings"), Load::Packets, Severity::Minor, "256 µs at one million per second");
    assert_eq!(
        commands(&found("rings")),
        (vec!["ethtool -G eth0 rx 4096".into()], vec!["ethtool -G eth0 rx 256".into()])
    );
    bad(&found("coalesce"), Load::Gaps, Severity::Serious, "50 µs");
    assert_eq!(commands(&found("coalesce")).1, ["ethtool -C eth0 adaptive-rx off rx-usecs 50"]);
    bad(&found("queue"), Load::Packets, Severity::Minor, "burst of 100 frames, 0.1 ms");
    bad(&found("queues"), Load::Packets, Severity::Minor, "1 CPU of 4");
    // How many it may have is not known, so there is no command that surely works.
    assert_eq!(commands(&found("queues")), (Vec::<String>::new(), Vec::<String>::new()));
    bad(&found("speed"), Load::Packets, Severity::Minor, "50%");
    bad(&found("stamps"), Load::Gaps, Severity::Minor, "1 µs");
    // 10 Gb/s are 14.88 million frames of 64 a second: 256 of them last 17.2 µs.
    let fast = Device { speed_bps: Some(10_000_000_000), ..subject.devices[0].clone() };
    bad(&card_finding(fast, &[], "nic.rings.eth0"), Load::Packets, Severity::Minor, "in 17 µs at 10 Gb/s");
}

#[test]
fn a_card_at_another_memory_node_is_told_with_the_distance() {
    let files = |node| {
        [
            ("sys/devices/system/node/node0/cpulist", "0-1"),
            ("sys/devices/system/node/node1/cpulist", "2-3"),
            ("sys/devices/system/node/node1/distance", "21 10"),
            ("sys/devices/system/node/node0/distance", "10 21"),
            ("sys/class/net/eth0/device/numa_node", node),
        ]
    };
    let found = card_finding(card(), &files("1"), "nic.numa.eth0");
    bad(&found, Load::Packets, Severity::Minor, "from CPUs 0-1, each access to its rings costs 2.1 times");
    assert_eq!(found.mend, Some(Mend::advice("tare … --cpus 2-3")));
    unknown(&card_finding(card(), &files("-1"), "nic.numa.eth0"));
    let balancing = [("proc/sys/kernel/numa_balancing", "1")];
    let found = card_finding(card(), &[&files("1")[..], &balancing].concat(), "memory.balancing");
    bad(&found, Load::Gaps, Severity::Minor, "65 536 page faults");
    fine(&of(&balancing, "memory.balancing"), "does not move");
}

const RANGE: &str = "proc/sys/net/ipv4/ip_local_port_range";

#[test]
fn ports_are_counted_without_reserved_ones_and_told_as_connections_a_second() {
    fine(&of(&[(RANGE, "1024\t65535\n")], "net.ports"), "64512 ephemeral ports");
    // 60999 − 32768 + 1 = 28232; a sixtieth is 470.
    let found = of(&[(RANGE, "32768\t60999\n")], "net.ports");
    bad(&found, Load::Http, Severity::Minor, "470 new connections per second");
    assert_eq!(
        commands(&found),
        (
            vec!["sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"".into()],
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
    let files = |policy| {
        let stat = stat(policy);
        let files = [
            ("proc/sys/kernel/sched_rt_runtime_us", "950000"),
            ("proc/sys/kernel/sched_rt_period_us", "1000000"),
        ];
        of(&[&files[..], &[("proc/self/stat", stat.as_str())]].concat(), "kernel.realtime")
    };
    fine(&files(0), "no real-time priority");
    let found = files(1);
    bad(&found, Load::Gaps, Severity::Serious, "stopped for 50 ms in a row, every 1.0 s");
    assert_eq!(commands(&found).0, ["sysctl -w kernel.sched_rt_runtime_us=-1"]);
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
            "as root: setcap cap_net_raw,cap_net_admin,cap_bpf,cap_sys_admin,cap_sys_nice+ep $(command -v tare)"
        ]
    );
    bad(&of(&none, "cap.bpf"), Load::Packets, Severity::Serious, "15 million");
}

#[test]
fn the_worst_comes_first_and_every_reason_has_a_figure() {
    let worse = Device {
        setup: Setup {
            coalescing: Some(Coalescing { receive_us: 50, ..Coalescing::default() }),
            ..Setup::default()
        },
        ..card()
    };
    let (_root, subject) = with_card(
        worse,
        &[(RANGE, "32768 60999"), ("proc/self/status", "CapEff:\t0\nCpus_allowed_list:\t0-3\n")],
    );
    let findings = subject.findings();
    let worst: Vec<Severity> = findings.iter().map(Finding::worst).collect();
    assert!(worst.is_sorted_by(|a, b| a >= b), "{worst:?}");
    assert_eq!(findings[0].id, "cap.net_raw");
    for finding in findings.iter().filter(|finding| finding.matters(None)) {
        assert!(finding.why.bytes().any(|byte| byte.is_ascii_digit()), "{finding:?}");
    }
    let ids: std::collections::BTreeSet<&str> = findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids.len(), findings.len(), "each finding has an id of its own");
}

/// A machine whose settings can be written, and a folder for the record.
fn mendable() -> (tempfile::TempDir, Subject, tempfile::TempDir) {
    let (root, subject) = machine(&[
        (RANGE, "32768\t60999\n"),
        ("proc/sys/net/core/bpf_jit_enable", "0\n"),
        ("proc/sys/kernel/random/boot_id", "one\n"),
    ]);
    (root, subject, tempfile::tempdir().unwrap())
}

#[test]
fn what_is_mended_is_written_down_and_taken_back() {
    let (_root, subject, state) = mendable();
    let steps = steps(&subject.findings(), None, &[]);
    assert_eq!(steps.iter().map(|step| step.id.as_str()).collect::<Vec<_>>(), ["bpf.jit", "net.ports"]);
    let mut mender = Mender::open(subject.files.clone(), state.path()).unwrap();
    for step in &steps {
        mender.apply(step).unwrap();
    }
    assert_eq!(subject.files.sysctl("net.ipv4.ip_local_port_range").unwrap(), "1024 65535");
    fine(&one(&subject, "net.ports"), "64512");
    // Another process takes it back.
    let mut later = Mender::open(subject.files.clone(), state.path()).unwrap();
    assert_eq!(later.made(), 2);
    let undone = later.undo().unwrap();
    assert!(undone.iter().all(|(_, undone)| *undone == Undone::Restored), "{undone:?}");
    assert_eq!(undone[0].0.path, RANGE, "the last is taken back first");
    assert_eq!(subject.files.sysctl("net.ipv4.ip_local_port_range").unwrap(), "32768 60999");
    assert!(!later.path().exists(), "nothing is left to take back");
    assert_eq!(later.undo().unwrap(), []);
}

#[test]
fn only_what_is_named_or_matters_to_the_load_is_mended() {
    let (_root, subject, _state) = mendable();
    let ids = |load, only: &[String]| -> Vec<String> {
        steps(&subject.findings(), load, only).into_iter().map(|step| step.id).collect()
    };
    assert_eq!(ids(Some(Load::Http), &[]), ["net.ports"]);
    assert_eq!(ids(Some(Load::Packets), &[]), ["bpf.jit"]);
    assert_eq!(ids(None, &["net.ports".into()]), ["net.ports"]);
    assert_eq!(ids(None, &["clock.source".into()]), [] as [&str; 0]);
}

#[test]
fn what_others_changed_since_is_left_alone() {
    let (root, subject, state) = mendable();
    let mut mender = Mender::open(subject.files.clone(), state.path()).unwrap();
    for step in &steps(&subject.findings(), None, &[]) {
        mender.apply(step).unwrap();
    }
    std::fs::write(root.path().join(RANGE), "5000 6000\n").unwrap();
    std::fs::write(root.path().join("proc/sys/net/core/bpf_jit_enable"), "0\n").unwrap();
    let undone: Vec<Undone> = mender.undo().unwrap().into_iter().map(|(_, undone)| undone).collect();
    assert_eq!(undone, [Undone::Changed { now: "5000 6000".into() }, Undone::Already]);
    assert_eq!(subject.files.sysctl("net.ipv4.ip_local_port_range").unwrap(), "5000 6000");
}

#[test]
fn mending_twice_goes_back_to_what_was_first() {
    let (_root, subject, state) = mendable();
    let step = |before: &str, after: &str| fix::Step {
        id: "net.ports".into(),
        change: Change { path: RANGE.into(), before: before.into(), after: after.into() },
    };
    let mut mender = Mender::open(subject.files.clone(), state.path()).unwrap();
    mender.apply(&step("32768 60999", "2000 65535")).unwrap();
    mender.apply(&step("2000 65535", "1024 65535")).unwrap();
    assert_eq!(mender.made(), 1);
    mender.undo().unwrap();
    assert_eq!(subject.files.sysctl("net.ipv4.ip_local_port_range").unwrap(), "32768 60999");
}

#[test]
fn after_a_reboot_there_is_nothing_to_undo() {
    let (root, subject, state) = mendable();
    let mut mender = Mender::open(subject.files.clone(), state.path()).unwrap();
    mender.apply(&steps(&subject.findings(), None, &["net.ports".into()])[0]).unwrap();
    std::fs::write(root.path().join("proc/sys/kernel/random/boot_id"), "two\n").unwrap();
    assert_eq!(mender.undo().unwrap()[0].1, Undone::Rebooted);
    assert_eq!(subject.files.sysctl("net.ipv4.ip_local_port_range").unwrap(), "1024 65535");
}

#[test]
fn another_namespaces_settings_are_undone_there_only() {
    let (root, subject, state) = mendable();
    let link = root.path().join("proc/self/ns/net");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("net:[1]", &link).unwrap();
    let mut mender = Mender::open(subject.files.clone(), state.path()).unwrap();
    mender.apply(&steps(&subject.findings(), None, &["net.ports".into()])[0]).unwrap();
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("net:[2]", &link).unwrap();
    assert_eq!(mender.undo().unwrap()[0].1, Undone::Elsewhere { namespace: "net:[1]".into() });
    assert_eq!(mender.made(), 1, "it stays written down");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("net:[1]", &link).unwrap();
    assert_eq!(mender.undo().unwrap()[0].1, Undone::Restored);
}

#[test]
fn what_cannot_be_written_leaves_no_record() {
    let (_root, subject, state) = mendable();
    let mut mender = Mender::open(subject.files.clone(), state.path()).unwrap();
    let step = |path: &str| fix::Step {
        id: "x".into(),
        change: Change { path: path.into(), before: "0".into(), after: "1".into() },
    };
    assert!(mender.apply(&step("proc/sys/net/absent")).is_err());
    for outside in ["etc/passwd", "proc/sys/../../etc/passwd", "proc/1/oom_score_adj"] {
        let error = mender.apply(&step(outside)).unwrap_err().to_string();
        assert!(error.contains("not a kernel setting"), "{error}");
    }
    assert!(!mender.path().exists());
}

#[test]
fn a_record_that_is_damaged_is_refused() {
    let state = tempfile::tempdir().unwrap();
    for text in ["{", "{\"schema\":\"tare.mended/9\",\"changes\":[]}"] {
        std::fs::write(state.path().join("mended.json"), text).unwrap();
        let error = Mender::open(Files::default(), state.path()).unwrap_err().to_string();
        assert!(error.contains("mended.json: not a record"), "{error}");
    }
}

#[test]
fn this_machine_is_examined_without_a_panic() {
    let subject = Subject::here();
    let findings = subject.findings();
    assert!(findings.len() > 30, "{}", findings.len());
    assert!(findings.iter().all(|finding| !finding.found.is_empty()));
    assert!(subject.measured.sleeps.is_some() && subject.measured.pauses.is_some());
    assert!(!Overview::read(&subject.files).line().is_empty());
}
