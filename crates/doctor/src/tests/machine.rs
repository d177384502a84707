//! The clock, the processor and other programs.

use super::*;
use crate::measured::ClockFacts;

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
