//! Runs that end before their time: each leaves a complete, labelled result.

use rustix::process::Signal;
use std::time::Duration;
use tare_system_tests::nginx::free_port;
use tare_system_tests::process::wait_until;
use tare_system_tests::{Run, Tare, Target, beside_others};

/// Everything that failed has one of these causes.
#[track_caller]
fn only_causes(run: &Run, allowed: &[&str]) {
    for key in run.outcome_keys().iter().filter(|key| key.contains('.')) {
        assert!(allowed.contains(&key.as_str()), "{key} is none of {allowed:?}: {run}");
    }
}

#[test]
fn a_target_killed_in_the_middle_is_told_by_cause() {
    let _shared = beside_others();
    for load in ["--parallel 8", "--rate 1k"] {
        let mut target = Target::start("--delay 5ms --no-truth");
        let running = Tare::http(&format!("{load} --duration 2s {}", target.url())).start();
        running.sleep_until(Duration::from_millis(1_000));
        target.process.kill();
        let run = running.finish();
        assert!(run.outcome("200") > 100, "{run}");
        // The kernel resets what was open, and refuses what comes after.
        assert!(run.outcome("connect.refused") > 5, "{run}");
        only_causes(
            &run,
            &[
                "connect.refused",
                "connect.reset",
                "first_byte.reset",
                "first_byte.closed",
                "body.reset",
                "body.closed",
                "send.reset",
            ],
        );
        assert_eq!((run.total("missed"), run.at("partial") == false), (0, true), "{run}");
        // It went on to its planned end; a target that dies is no fault of the generator.
        assert!(run.took >= Duration::from_secs(2), "{run}");
        assert_ne!(run.code, Some(5), "it was reached at first: {run}");
    }
}

#[test]
fn a_target_that_stops_listening_keeps_its_open_connections() {
    let _shared = beside_others();
    let target = Target::start("--stop-listening 500ms");
    let load = "--parallel 4 --requests-per-connection 200 --duration 1500ms";
    let run = Tare::http(&format!("{load} {}", target.url())).run();
    let truth = target.truth();
    // What the target answered whole is what was done; a request that was refused never came to it.
    assert_eq!(truth.ended("whole"), run.total("done") + run.total("cut_off"), "{run}");
    assert!(run.outcome("connect.refused") > 0, "{run}");
    only_causes(&run, &["connect.refused", "connect.reset", "first_byte.reset"]);
}

#[test]
fn with_nothing_listening_the_status_is_5() {
    let _shared = beside_others();
    for load in ["--parallel 4", "--rate 200"] {
        let url = format!("http://127.0.0.1:{}/", free_port());
        let run = Tare::http(&format!("{load} --duration 500ms {url}")).run();
        assert_eq!(run.code, Some(5), "{run}");
        assert!(run.remarks().contains("target unreachable"), "{run}");
        assert_eq!(run.outcome_keys(), ["connect.refused"], "{run}");
        // A closed loop does not hammer: pauses of 1, 2, 4 … 64 ms, so 4 places try at most 4 · (7 + 500 / 64)
        // times, and a few more for the rounding.
        let most = if load.starts_with("--par") { 4 * (7 + 8) + 8 } else { 100 };
        assert!(run.total("failed") <= most, "{run}");
    }
}

#[test]
fn ctrl_c_leaves_a_complete_partial_result_and_status_130() {
    let _shared = beside_others();
    let folder = tare_system_tests::scratch();
    let out = folder.path().join("run");
    let target = Target::start("--delay 3ms --no-truth");
    let running =
        Tare::http(&format!("--rate 500 --duration 60s --out {} {}", out.display(), target.url())).start();
    running.sleep_until(Duration::from_millis(1_200));
    running.interrupt();
    let run = running.finish();
    assert!(run.took < Duration::from_secs(5), "{run}");
    assert_eq!((run.code, run.at("partial") == true), (Some(130), true), "{run}");
    assert!(run.remarks().contains("interrupted"), "{run}");
    // What was due before the interruption was offered, and no more: 500/s for up to the run's own time.
    let offered = run.total("offered") as f64;
    assert!(offered > 100.0 && offered <= 500.0 * run.took.as_secs_f64() + 1.0, "{run}");
    // The rate is over the time that it ran, not over the 60 s planned.
    tare_system_tests::assert_close("offered rate", run.float("rate.offered_per_s"), 500.0, 0.02);
    for file in
        ["plan.toml", "environment.json", "result.json", "latency.hlog", "intervals.jsonl", "report.html"]
    {
        assert!(out.join(file).metadata().is_ok_and(|meta| meta.len() > 0), "{file} is missing: {run}");
    }
}

#[test]
fn a_second_ctrl_c_quits_at_once() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let mut running = Tare::http(&format!("--parallel 1 --duration 60s {}", target.url())).start();
    running.sleep_until(Duration::from_millis(500));
    // The second one finds the first one's work unfinished only if the program is stopped in between.
    running.process.signal(Signal::STOP);
    running.interrupt();
    running.process.signal(Signal::CONT);
    wait_until("the first interruption", || {
        running.interrupt();
        !running.process.is_running()
    });
    let run = running.finish_unchecked();
    assert_eq!(run.code, Some(130), "{run}");
}

#[test]
fn sigterm_and_the_end_of_a_terminal_are_as_good_as_ctrl_c() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    for signal in [Signal::TERM, Signal::HUP] {
        // Tests that run under nohup hand on that SIGHUP is ignored.
        let load = format!("--parallel 2 --duration 60s {}", target.url());
        let running = Tare::http(&load).through("env --default-signal=HUP").start();
        running.sleep_until(Duration::from_millis(500));
        running.process.signal(signal);
        let run = running.finish();
        assert_eq!((run.code, run.at("partial") == true), (Some(130), true), "{signal:?}: {run}");
    }
}

#[test]
fn under_nohup_a_run_outlives_its_terminal() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let load = format!("--rate 100 --duration 1500ms {}", target.url());
    let running = Tare::http(&load).through("nohup").start();
    running.sleep_until(Duration::from_millis(500));
    running.process.signal(Signal::HUP);
    let run = running.finish();
    assert_eq!((run.at("partial") == false, run.total("done")), (true, 150), "{run}");
}
