//! A target that stops for a second: the requests that were due meanwhile are told with the time that they
//! waited.

use rustix::process::Signal;
use std::time::Duration;
use tare_system_tests::nginx::Logged;
use tare_system_tests::process::signal_pid;
use tare_system_tests::run::AHEAD;
use tare_system_tests::{Nginx, Run, Tare, assert_close, light, monotonic_ns, patiently};

const RATE: f64 = 1_000.0;
const REQUESTS: f64 = 5_000.0;

/// A 5 s run at 1 000/s, with nginx's worker stopped for about 1.0 s after 1.5 s. Returns the run, the length S
/// of the stall by this test's clock, and nginx's log.
fn with_a_stall(load: &str) -> (Run, f64, Vec<Logged>) {
    let nginx = Nginx::start_through(&AHEAD);
    let running = Tare::http(&format!("{load} --duration 5s {}{{seq}}", nginx.url())).ahead().start();
    running.sleep_until(Duration::from_millis(1_500));
    let begun = monotonic_ns();
    signal_pid(nginx.worker(), Signal::STOP);
    std::thread::sleep(Duration::from_secs(1));
    signal_pid(nginx.worker(), Signal::CONT);
    let stall = (monotonic_ns() - begun) as f64 / 1e9;
    let run = running.finish();
    (run, stall, nginx.log())
}

/// A request due at time t of a stall of length S waits S − t. With rate R, R·(S − x) requests wait longer than
/// x. Of N requests the share 1 − p waits longer than the percentile, so
///
///   R · (S − x) = (1 − p) · N     ⇒     x = S − (1 − p) · N / R
///
/// and for S = 1 s, R = 1 000/s, N = 5 000: p99 = 1 − 0.05 = 0.95 s, p95 = 1 − 0.25 = 0.75 s.
fn from_the_schedule(stall_s: f64, p: f64) -> f64 {
    stall_s - (1.0 - p) * REQUESTS / RATE
}

/// The same percentile from nginx's log alone: request n was due at origin + n / R and is logged when its
/// answer was complete. Outside the stall nearly all answers come at once, so the median of (logged − n / R) is
/// the origin.
fn from_the_log(log: &[Logged], p: f64) -> f64 {
    let offset = |line: &Logged| {
        let seq: f64 = line.uri.trim_start_matches('/').parse().expect("the request's number");
        line.at_s - seq / RATE
    };
    let mut offsets: Vec<f64> = log.iter().map(offset).collect();
    offsets.sort_by(f64::total_cmp);
    let origin = offsets[offsets.len() / 2];
    offsets[(offsets.len() as f64 * p).ceil() as usize - 1] - origin
}

#[track_caller]
fn tells_the_stall(run: &Run, stall_s: f64, log: &[Logged]) {
    assert_eq!(run.total("done"), REQUESTS as u64, "{run}");
    assert_eq!(log.len(), REQUESTS as usize, "{run}");
    for (key, p) in [("p95", 0.95), ("p99", 0.99)] {
        let told = run.float(&format!("latency_ns.{key}")) / 1e9;
        assert_close(&format!("{key} against the schedule"), told, from_the_schedule(stall_s, p), 0.05);
        // Two witnesses that know nothing of each other; nginx's clock has steps of 1 ms, and more while it is
        // busy.
        assert_close(&format!("{key} against nginx's log"), told, from_the_log(log, p), 0.05);
    }
    // The stall is the target's: it must not make the run INVALID.
    assert_ne!(run.word(), "INVALID", "{run}");
    assert_eq!(run.code, Some(0), "{run}");
}

#[test]
fn p99_of_an_open_loop_tells_a_stall_of_1_s_within_5_percent() {
    let _light = light();
    patiently(3, || {
        let (run, stall_s, log) = with_a_stall("--rate 1k");
        tells_the_stall(&run, stall_s, &log);
        // Everything left when it was due, on further connections: about S · R of them were open at the end.
        assert!(run.float("lateness_ns.p99") < 0.05e9, "{run}");
        let open_peak = run.float("connections.open_peak");
        assert!(open_peak > 0.9 * stall_s * RATE, "{open_peak} connections; {run}");
    });
}

/// Here 16 connections are all that may be: after 16 requests nothing can leave until the target goes on. A
/// generator that counts from the time of sending would see 16 slow requests of 5 000 and a p99 as if nothing
/// had happened.
#[test]
fn p99_tells_the_stall_also_when_only_the_cap_on_connections_sees_it() {
    let _light = light();
    patiently(3, || {
        let (run, stall_s, log) = with_a_stall("--parallel 16 --rate 1k");
        tells_the_stall(&run, stall_s, &log);
        assert!(run.int("connections.open_peak") <= 16, "{run}");
        // The lateness is all there: requests left up to S late…
        assert_close(
            "lateness p99",
            run.float("lateness_ns.p99") / 1e9,
            from_the_schedule(stall_s, 0.99),
            0.05,
        );
        // …but hardly any of it is the generator's own: the plan held them back.
        assert!(run.float("own_lateness_ns.p99") < 0.05 * run.float("lateness_ns.p99"), "{run}");
        // Service times alone do not show the stall: 16 requests of 5 000 were on their way during it.
        assert!(run.float("service_ns.p99") < 0.1 * run.float("latency_ns.p99"), "{run}");
    });
}
