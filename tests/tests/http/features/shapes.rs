//! How many requests are due, and when. Counts are worked out by hand: a request is due at t when N(t), the
//! integral of the rate, is a whole number, from 0; those due before the end are offered.

use super::write;
use std::time::Duration;
use tare_system_tests::{Recorder, Run, Tare, Target, beside_others, light, patiently, scratch};

fn offered(flags: &str) -> u64 {
    let target = Target::start("");
    let run = Tare::http(&format!("{flags} {}", target.url())).run();
    assert_eq!(run.total("done"), run.total("offered"), "{run}");
    assert_eq!(target.truth().int("requests"), run.total("done") + run.int("warmup.count"), "{run}");
    run.total("offered")
}

/// Arrivals in seconds from the first one.
fn arrivals(flags: &str) -> Vec<f64> {
    let target = Target::start("");
    Tare::http(&format!("{flags} {}", target.url())).run();
    let all = target.truth().arrivals_ns();
    all.iter().map(|at| (at - all[0]) as f64 / 1e9).collect()
}

#[test]
fn counts_of_every_shape_by_hand() {
    let _shared = beside_others();
    for (flags, count, why) in [
        ("--rate 300 -z 500ms", 150, "300/s · 0.5 s"),
        ("--rate 7/s -z 1s", 7, "0, 1/7 … 6/7 s"),
        ("--ramp 100..300:1s -z 1s", 200, "(100 + 300)/2 · 1 s"),
        ("--ramp 100..300:500ms -z 1s", 250, "(100 + 300)/2 · 0.5 s + 300 · 0.5 s"),
        ("--step 100+100:250ms..300 -z 750ms", 150, "(100 + 200 + 300) · 0.25 s"),
        ("--stages 100:500ms,300:500ms", 150, "100 · 0.5 s + (100 + 300)/2 · 0.5 s, then the end"),
        ("--stages 200:500ms,0:500ms", 150, "200 · 0.5 s + 200/2 · 0.5 s"),
        ("--sine 200+-100:500ms -z 1s", 200, "whole periods have their mean: 200/s · 1 s"),
        ("--sine 200+-200:1s -z 500ms", 164, "100 + A·P/2π · 2 = 100 + 63.66 = 163.66: n = 0…163"),
        ("--burst 50:250ms -z 1s", 200, "at 0, 0.25, 0.5, 0.75 s"),
        ("--burst 50:250ms -n 120", 120, "50 + 50 + 20"),
    ] {
        assert_eq!(offered(flags), count, "{flags}: {why}");
    }
}

#[test]
fn poisson_gaps_are_random_with_the_mean_that_was_asked_for() {
    let _shared = beside_others();
    let mut counts = Vec::new();
    for seed in 1..=3 {
        let count = offered(&format!("--rate 400 --poisson -z 500ms --seed {seed}"));
        // A Poisson count of mean 200: σ = √200 = 14.1; within 4 σ.
        assert!(count.abs_diff(200) <= 57, "{count}");
        counts.push(count);
    }
    assert_eq!(counts[0], offered("--rate 400 --poisson -z 500ms --seed 1"), "the seed decides");
    assert!(counts[0] != counts[1] || counts[1] != counts[2], "{counts:?}");
}

#[test]
fn gaps_are_spread_as_the_shape_says() {
    let _light = light();
    patiently(3, || {
        // Range of the middle half of the gaps, in mean gaps g; a pause of this machine moves only a few.
        // Even: 0. Exponential: ln 3 = 1.10. Jitter of ± 50 %: each time moves evenly by up to half a gap,
        // so gaps have a triangular distribution from 0 to 2 g, whose quartiles are 2 (1 - √½) = 0.59 apart.
        for (flags, lowest, highest) in
            [("", 0.0, 0.2), ("--poisson", 0.75, 1.45), ("--jitter 50%", 0.4, 0.78)]
        {
            let times = arrivals(&format!("--rate 200 -n 200 {flags}"));
            let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
            gaps.sort_by(f64::total_cmp);
            let spread = (gaps[gaps.len() * 3 / 4] - gaps[gaps.len() / 4]) * 200.0;
            assert!((lowest..=highest).contains(&spread), "{flags}: {spread}");
        }
    });
}

#[test]
fn recorded_times_are_taken_as_they_are() {
    let _light = light();
    let folder = scratch();
    let times = write(&folder, "times", "# five\n0\n0.1\n0.1\n250ms\n0.6\n");
    patiently(3, || {
        let arrivals = arrivals(&format!("--at {}", times.display()));
        assert_eq!(arrivals.len(), 5);
        for (arrival, expected) in arrivals.iter().zip([0.0, 0.1, 0.1, 0.25, 0.6]) {
            assert!((arrival - expected).abs() < 0.02, "{arrivals:?}");
        }
    });
}

#[test]
fn bursts_come_together() {
    let _light = light();
    patiently(3, || {
        let arrivals = arrivals("--burst 20:200ms -z 600ms");
        assert_eq!(arrivals.len(), 60);
        for (index, arrival) in arrivals.iter().enumerate() {
            let expected = 0.2 * (index / 20) as f64;
            assert!((arrival - expected).abs() < 0.05, "{index}: {arrival}");
        }
    });
}

#[test]
fn warm_up_is_sent_but_is_not_in_the_figures() {
    let _shared = beside_others();
    let target = Target::start("");
    let run = Tare::http(&format!("--rate 200 --warmup 300ms -z 500ms {}", target.url())).run();
    // 200/s · 0.3 s and 200/s · 0.5 s.
    assert_eq!((run.int("warmup.count"), run.total("offered")), (60, 100), "{run}");
    assert_eq!(run.float("warmup.duration_s"), 0.3, "{run}");
    assert_eq!(target.truth().int("requests"), 160, "{run}");
    let shown = Target::start("--no-truth");
    let text = Tare::new(&format!("http --no-save --rate 200 --warmup 100ms -z 200ms {}", shown.url()));
    let text = text.start().finish_unchecked().stdout;
    assert!(text.contains("warm-up"), "{text}");
}

#[test]
fn n_requests_are_exactly_n() {
    let _shared = beside_others();
    for flags in
        ["-c 7 --threads 1 -n 1001", "-c 7 --threads 2 -n 1001", "-c 5 --threads 2 -n 3", "--rate 2k -n 501"]
    {
        let count: u64 = flags.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("the last word is N");
        assert_eq!(offered(flags), count, "{flags}");
    }
}

#[test]
fn the_first_stop_rule_that_holds_ends_the_run() {
    let _shared = beside_others();
    let target = Target::start("--no-truth --delay 5ms");
    let run = |flags: &str| Tare::http(&format!("{flags} {}", target.url())).run();
    let by_count = run("-c 2 -n 10 -z 30s");
    assert!(by_count.total("offered") == 10 && by_count.took < Duration::from_secs(5), "{by_count}");
    let by_time = run("-c 2 -n 1M -z 300ms");
    // A process may take seconds to start among hundreds; its load may not.
    assert!(by_time.total("offered") < 1_000 && by_time.float("rate.duration_s") < 1.0, "{by_time}");
    assert!(by_time.took < Duration::from_secs(10), "{by_time}");
    assert!(!by_time.result["partial"].as_bool().unwrap_or(true), "a planned end is no partial result");
}

#[test]
fn stragglers_are_cut_off_after_the_grace() {
    let _shared = beside_others();
    let target = Target::start("--no-truth --delay 20s");
    let run = Tare::http(&format!("--rate 20 -z 300ms --grace 300ms {}", target.url())).run();
    // Due at 0, 50 … 250 ms.
    assert_eq!((run.total("offered"), run.total("cut_off")), (6, 6), "{run}");
    assert!(run.took > Duration::from_millis(500) && run.took < Duration::from_secs(3), "{run}");
}

#[test]
fn a_bare_url_is_10_connections_for_10_s_and_says_so() {
    let _shared = beside_others();
    let recorder = Recorder::start();
    let running = Tare::http(&recorder.url()).start();
    running.sleep_until(Duration::from_secs(1));
    running.interrupt();
    let run: Run = running.finish();
    assert_eq!(run.code, Some(130), "{run}");
    assert_eq!(run.int("connections.open_peak"), 10, "{run}");
    let remarks = run.remarks();
    assert!(remarks.contains("no load given: 10 connections"), "{remarks}");
    assert!(remarks.contains("no end given: 10s"), "{remarks}");
    let load = run.at("load").as_str().unwrap_or_default();
    assert_eq!(load, "closed loop over 10 connections, for 10s", "{run}");
}
