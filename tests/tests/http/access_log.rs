//! nginx's own access log counts exactly what the result says.

use std::collections::HashMap;
use std::time::Duration;
use tare_system_tests::nginx::Logged;
use tare_system_tests::{Nginx, Run, Tare, beside_others};

/// Every request carries its number, so that one that is lost and one that is sent twice do not cancel out.
fn numbered(nginx: &Nginx) -> String {
    format!("{}{{seq}}", nginx.url())
}

/// With no time limit on the run, nothing is cut off: each request 0…count−1 is in the log once, answered 200.
#[track_caller]
fn each_once(run: &Run, log: &[Logged], count: u64) {
    assert_eq!(run.total("offered"), count, "{run}");
    assert_eq!((run.total("sent"), run.total("done")), (count, count), "{run}");
    assert_eq!(run.outcome("200"), count, "{run}");
    let mut times: HashMap<&str, u64> = HashMap::new();
    for line in log {
        assert_eq!(line.status, 200, "{line:?}");
        *times.entry(&line.uri).or_default() += 1;
    }
    assert_eq!(log.len() as u64, count, "lines in nginx's log; {run}");
    for seq in 0..count {
        assert_eq!(times.get(format!("/{seq}").as_str()), Some(&1), "request {seq}: {run}");
    }
}

#[test]
fn a_closed_loop_of_5000_requests_is_5000_lines() {
    let _shared = beside_others();
    let nginx = Nginx::start();
    let run = Tare::http(&format!("--parallel 20 --requests 5000 {}", numbered(&nginx))).run();
    each_once(&run, &nginx.log(), 5_000);
}

#[test]
fn new_connections_are_lines_too() {
    let _shared = beside_others();
    let nginx = Nginx::start();
    let run = Tare::http(&format!("--parallel 8 --requests 2000 --no-keep-alive {}", numbered(&nginx))).run();
    each_once(&run, &nginx.log(), 2_000);
    // One connection for each request, by definition.
    assert_eq!(run.int("connections.opened"), 2_000, "{run}");
}

#[test]
fn an_open_loop_of_2_s_at_2000_a_second_is_4000_lines() {
    let _shared = beside_others();
    let nginx = Nginx::start();
    let run = Tare::http(&format!("--rate 2k --duration 2s {}", numbered(&nginx))).run();
    // Due times are n/2000 s for n from 0; those below 2 s are 0…3999.
    each_once(&run, &nginx.log(), 4_000);
    // The rate that was asked for is the rate that was offered: 4000 in 2 s.
    tare_system_tests::assert_close("offered rate", run.float("rate.offered_per_s"), 2_000.0, 0.0001);
}

#[test]
fn two_threads_share_an_open_loop_without_loss_or_repetition() {
    let _shared = beside_others();
    let nginx = Nginx::start();
    let load = "--rate 3k --requests 3001 --threads 2 --parallel 7";
    let run = Tare::http(&format!("{load} {}", numbered(&nginx))).run();
    each_once(&run, &nginx.log(), 3_001);
}

#[test]
fn pipelining_of_4_loses_nothing() {
    let _shared = beside_others();
    let nginx = Nginx::start();
    let run = Tare::http(&format!("--parallel 3 --pipeline 4 --requests 6000 {}", numbered(&nginx))).run();
    each_once(&run, &nginx.log(), 6_000);
    assert!(run.int("connections.open_peak") <= 3, "{run}");
}

/// nginx logs a request when its answer is with the kernel. When the run is interrupted, a request that is cut
/// off may have been answered already, or not have been read yet: so nothing that is done lacks its line, and
/// no line lacks a request that was sent.
///
/// done ≤ lines with 200 ≤ done + cut off,   lines ≤ sent
#[test]
fn after_ctrl_c_the_log_has_what_was_done_and_no_more_than_was_sent() {
    let _shared = beside_others();
    for load in ["--parallel 16", "--rate 4k --parallel 16", "--parallel 4 --pipeline 4"] {
        let nginx = Nginx::start();
        let running = Tare::http(&format!("{load} --duration 30s {}", numbered(&nginx))).start();
        running.sleep_until(Duration::from_millis(900));
        running.interrupt();
        let run = running.finish();
        assert!(run.took < Duration::from_secs(10), "{run}");
        assert_eq!(run.code, Some(130), "{run}");
        assert_eq!(run.at("partial"), true, "{run}");
        let log = nginx.log();
        let (lines, fine) = (log.len() as u64, log.iter().filter(|line| line.status == 200).count() as u64);
        let (done, cut_off) = (run.total("done"), run.total("cut_off"));
        assert!(done > 100, "{run}");
        assert!(done <= fine && fine <= done + cut_off, "{fine} answers logged; {run}");
        assert!(lines <= run.total("sent"), "{lines} lines; {run}");
        assert_eq!(run.total("failed"), 0, "{run}");
        // No more can be on its way than the plan allows: 16 connections of one, or 4 of 4.
        assert!(cut_off <= 16, "{run}");
    }
}
