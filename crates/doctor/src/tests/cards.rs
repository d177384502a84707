//! Network cards: interrupts, steering, offloads, rings.

use super::*;

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
    assert_eq!(found.weight.of(Load::Packets), Severity::Fine);
    assert_eq!(
        commands(&found),
        (
            vec!["echo 0-2 > /proc/irq/42/smp_affinity_list, then tare … --cpus 3".into()],
            vec!["echo 0-3 > /proc/irq/42/smp_affinity_list".into()]
        )
    );
    // Of another namespace's eth0 nothing is said.
    let foreign = Device { index: 8, ..card() };
    let (_root, subject) = with_card(foreign, &files("0", "1"));
    assert!(!subject.findings().iter().any(|finding| finding.id == "irq.affinity.eth0"));
}

/// A queue on each CPU, as the drivers of most cards begin: three of four CPUs go on receiving.
#[test]
fn one_cpu_is_freed_of_interrupts_and_the_others_keep_theirs() {
    let path = |irq: u32, name: &str| format!("proc/irq/{irq}/{name}_affinity_list");
    // CPU 1 has one interrupt, the others two.
    let cpus = [(40, "0"), (41, "1"), (42, "2"), (43, "3"), (44, "0"), (45, "2"), (46, "3")];
    let files: Vec<(String, &str)> = cpus
        .iter()
        .flat_map(|(irq, cpu)| {
            let card = format!("sys/class/net/eth0/device/msi_irqs/{irq}");
            [(card, ""), (path(*irq, "smp"), *cpu), (path(*irq, "effective"), *cpu)]
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let found = card_finding(card(), &files, "irq.affinity.eth0");
    assert_eq!(
        commands(&found),
        (
            vec!["echo 0 > /proc/irq/41/smp_affinity_list, then tare … --cpus 1".into()],
            vec!["echo 1 > /proc/irq/41/smp_affinity_list".into()]
        )
    );
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
fn frames_that_a_full_backlog_dropped_matter_to_requests_too() {
    let backlog = |most: &str, softnet: &str| {
        let files = [("proc/sys/net/core/netdev_max_backlog", most), ("proc/net/softnet_stat", softnet)];
        of(&files, "net.backlog")
    };
    let dropped = backlog("1000", "000186a0 00000005 00000000 0\n");
    bad(&dropped, Load::Http, Severity::Serious, "loopback");
    let short = backlog("300", "000186a0 00000000 00000000 0\n");
    assert_eq!(short.weight.of(Load::Http), Severity::Fine);
    bad(&short, Load::Packets, Severity::Minor, "loopback");
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
    let setup = InterfaceSetup {
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
