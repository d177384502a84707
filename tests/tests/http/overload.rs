//! Who was the limit? Asked for more than it can do, the generator says so; a slow target it does not take on
//! itself.

use tare_system_tests::run::AHEAD;
use tare_system_tests::{Run, Tare, Target, alone, assert_close, need_root};

/// Requests a second that one generator thread does in a closed loop here and now.
fn most_per_thread(url: &str) -> u64 {
    let run = Tare::http(&format!("--parallel 64 --threads 1 --duration 1s {url}")).run();
    assert_eq!(run.total("failed"), 0, "{run}");
    run.float("rate.achieved_per_s") as u64
}

/// INVALID, by criteria that are about the generator, each with its advice.
#[track_caller]
fn names_the_generator(run: &Run) {
    const GENERATOR: [&str; 5] =
        ["departures.made", "cpu.thread", "lateness.p50", "lateness.p99", "missed.generator"];
    assert_eq!(run.word(), "INVALID", "{run}");
    let grave: Vec<_> = run.failing().into_iter().filter(|c| c.severity == "INVALID").collect();
    assert!(!grave.is_empty(), "{run}");
    assert!(grave.iter().any(|c| GENERATOR.contains(&c.name.as_str())), "{grave:?}");
    assert!(grave.iter().all(|c| c.advice.len() > 20), "{grave:?}");
    assert!(
        grave.iter().any(|c| c.advice.contains("--threads") || c.advice.contains("--rate")),
        "the advice says what to do: {grave:?}"
    );
}

#[test]
fn asked_for_ten_times_what_one_thread_can_do_the_run_is_invalid() {
    let _alone = alone();
    // Two workers against one generator thread, so that it is the target that waits.
    let target = Target::start("--no-truth --size 100 --workers 2");
    let rate = 10 * most_per_thread(&target.url());
    let load = format!("--rate {rate} --threads 1 --duration 2s --grace 1s {}", target.url());

    let run = Tare::http(&load).run();
    names_the_generator(&run);
    assert_eq!(run.code, Some(4), "{run}");
    // Not one of the departures is forgotten: rate · 2 s were offered, whatever became of them.
    assert_eq!(run.total("offered"), rate * 2, "{run}");
    assert!(run.float("rate.achieved_per_s") < 0.5 * rate as f64, "{run}");

    let accepted = Tare::http(&format!("--accept-invalid {load}")).run();
    assert_eq!((accepted.code, accepted.word()), (Some(0), "INVALID"), "{accepted}");
    names_the_generator(&accepted);
}

/// A thread that spins in real time never waits for its CPU; a target that shares it does.
#[test]
fn a_target_that_a_spinning_thread_keeps_from_its_cpu_makes_the_run_invalid() {
    let _alone = alone();
    need_root();
    let target = Target::start("--no-truth --workers 1 --cpus 1");
    // A departure every 200 us: the thread never sleeps.
    let load = format!("--rate 5000 --duration 2s --threads 1 {}", target.url());
    let starved = Tare::http(&format!("--cpus 1 --spin always --priority real-time {load}")).run();
    let waited = starved.criterion("target.waited");
    assert_eq!((waited.holds, waited.severity.as_str()), (false, "INVALID"), "{starved}");
    assert_eq!((starved.code, starved.word()), (Some(4), "INVALID"), "{starved}");
    assert!(waited.advice.contains("--cpus") && waited.advice.contains("--spin never"), "{waited:?}");
    // What it advises helps.
    for advice in ["--cpus 0 --spin always", "--cpus 1 --spin never"] {
        let mended = Tare::http(&format!("{advice} {load}")).run();
        assert_ne!(mended.criterion("target.waited").severity, "INVALID", "{mended}");
        assert!(mended.int("net_ns.p99") < starved.int("net_ns.p99"), "{mended}\n{starved}");
    }
}

/// The same in bursts: for a hundredth of the run, and for most of the requests.
#[test]
fn a_target_that_waits_in_bursts_alone_is_in_no_valid_run() {
    let _alone = alone();
    need_root();
    let target = Target::start("--no-truth --workers 1 --cpus 1");
    let load = "--stages 40:1s,40:3s,5k:10ms,5k:60ms,40:10ms,40:1s --threads 1 --cpus 1";
    let starved = Tare::http(&format!("{load} --spin always --priority real-time {}", target.url())).run();
    assert!(starved.int("net_ns.p50") > 1_000_000, "the target was not kept waiting: {starved}");
    assert!(
        starved.failing().iter().any(|c| ["target.delayed", "target.waited"].contains(&c.name.as_str())),
        "{starved}"
    );
    assert_ne!(starved.word(), "VALID", "{starved}");
}

/// What other programs on this machine, or its hypervisor, do to a run; the test has no hold over them.
const MACHINE: [&str; 7] =
    ["runqueue", "same_core", "target.delayed", "target.waited", "others.waited", "steal", "throttled"];

#[test]
fn a_slow_target_leaves_the_verdict_valid() {
    let _alone = alone();
    let mut told = Vec::new();
    // Three tries, since a pause of the machine at the wrong time rightly makes a run DEGRADED. INVALID never
    // is right.
    for _ in 0..3 {
        let target = Target::start_through(&AHEAD, "--delay 200ms");
        let run =
            Tare::http(&format!("--rate 100 --duration 2s --spin never {}", target.url())).ahead().run();
        assert_ne!(run.word(), "INVALID", "{run}");
        assert_eq!((run.code, run.total("done")), (Some(0), 200), "{run}");
        // The target's own record of its service times, and the delay on the way: a wake-up or two on either
        // side.
        let truth = target.truth();
        let (true_p50, told_p50) = (truth.int("service_ns.p50") as f64, run.float("latency_ns.p50"));
        assert!(true_p50 >= 200e6, "{}", truth.summary);
        assert_close("p50", told_p50, true_p50, 0.02);
        if run.failing().iter().all(|c| MACHINE.contains(&c.name.as_str())) {
            assert_eq!(run.word() == "VALID", run.failing().is_empty(), "{run}");
            return;
        }
        told.push(run.to_string());
    }
    panic!("not once VALID:\n{}", told.join("\n"));
}
