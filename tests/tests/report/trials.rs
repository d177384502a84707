//! `--trials` and `tare trials`: groups of runs of the embedded target, judged from outside.

use serde_json::Value;
use std::time::Duration;
use tare_system_tests::process::wait_until;
use tare_system_tests::{Run, Tare, Target, beside_others, light, need, patiently, scratch};

/// What a group printed with `--json`.
fn group(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|why| panic!("{why} in {run}"))
}

fn tare(arguments: &str) -> Run {
    Tare::new(arguments).start().finish_unchecked()
}

fn figure<'a>(side: &'a Value, name: &str) -> Option<&'a Value> {
    side["figures"].as_array().unwrap().iter().find(|figure| figure["name"] == name)
}

fn numbers(values: &Value) -> Vec<f64> {
    values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn a_group_has_a_folder_with_every_run_and_intervals_of_the_trials() {
    let _guard = light();
    let target = Target::start("--delay 2ms");
    patiently(3, || {
        let home = scratch();
        let folder = home.path().join("group");
        let load = format!("http {} --rate 300 -c 16 --duration 0.4s --accept-invalid", target.url());
        let run = tare(&format!("{load} --trials 4 --cool-down 50ms --json --out {}", folder.display()));
        assert_eq!(run.code, Some(0), "{run}");
        let group = group(&run);
        assert_eq!(
            (group["schema"].as_str(), group["partial"].as_bool()),
            (Some("tare.trials/1"), Some(false))
        );
        let side = &group["sides"][0];
        assert_eq!(side["trials"].as_array().unwrap().len(), 4, "{side}");
        for number in 1..=4 {
            let result = std::fs::read_to_string(folder.join(format!("{number:03}/result.json"))).unwrap();
            assert!(result.contains("tare.result/1"));
            let tags = std::fs::read_to_string(folder.join(format!("{number:03}/tags.json"))).unwrap();
            assert!(tags.contains(group["name"].as_str().unwrap()), "{tags}");
        }
        let kept = std::fs::read_to_string(folder.join("trials.json")).unwrap();
        assert_eq!(kept, run.stdout, "what is kept is what was printed");
        assert!(std::fs::read_to_string(folder.join("report.html")).unwrap().contains("latency.mean"));
        let out = side["invalid"].as_u64().unwrap() as usize;
        let mean = figure(side, "latency.mean").expect("requests were answered");
        let values = numbers(&mean["trials"]);
        assert_eq!(values.len(), 4 - out, "INVALID trials are in no figure");
        // The interval is Student's, worked out here: t(0.975; 3) = 3.182.
        let claim = &mean["claim"];
        assert!(claim["interval"].is_object(), "{claim}");
        let average = values.iter().sum::<f64>() / 4.0;
        let deviation = (values.iter().map(|value| (value - average).powi(2)).sum::<f64>() / 3.0).sqrt();
        let half = 3.1824 * deviation / 2.0;
        let of = |key: &str| claim["interval"][key].as_f64().unwrap();
        assert!((of("high") - (average + half)).abs() < 1e-4 * average, "{claim}");
        assert!((of("low") - (average - half)).abs() < 1e-4 * average, "{claim}");
        assert!(average > 2e6, "the target waits 2 ms: {claim}");
        // Four trials are too few for a percentile, and 0.4 s for a warm-up.
        let p99 = &figure(side, "latency.p99").unwrap()["claim"];
        assert_eq!(p99["refused"]["why"], "too_few_trials", "{p99}");
        assert_eq!(side["trials"][0]["no_warm_up"]["why"], "too_few", "{side}");
        let again = tare(&format!("{load} --trials 1 --out {}", folder.display()));
        assert_eq!(again.code, Some(2), "{again}");
        assert!(again.stderr.contains("is not empty"), "{again}");
    });
}

#[test]
fn a_refused_figure_says_why_and_never_how_sure_it_is() {
    let _guard = beside_others();
    let target = Target::start("--delay 1ms");
    let run = tare(&format!(
        "http {} --rate 200 --duration 0.2s --accept-invalid --trials 2 --no-save",
        target.url()
    ));
    assert_eq!(run.code, Some(0), "{run}");
    let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("no interval: 2 of the 3 trials needed"), "{run}");
    assert!(!said.contains("confident"), "{run}");
    assert!(said.contains("trial 1 of 2") && said.contains("trial 2 of 2"), "{run}");
}

#[test]
fn ctrl_c_ends_the_present_trial_and_tells_what_is_there() {
    let _guard = beside_others();
    let target = Target::start("--delay 1ms");
    let running =
        Tare::new(&format!("http {} --rate 100 --duration 20s --trials 3 --json --no-save", target.url()))
            .start();
    running.sleep_until(Duration::from_millis(1_500));
    running.interrupt();
    let run = running.finish_unchecked();
    assert_eq!(run.code, Some(130), "{run}");
    assert!(run.took < Duration::from_secs(15), "{run}");
    let group = group(&run);
    assert_eq!(group["partial"], true, "{group}");
    let side = &group["sides"][0];
    assert_eq!(side["trials"].as_array().unwrap().len(), 1, "{side}");
    assert_eq!(side["trials"][0]["partial"], true, "{side}");
    // What was measured of it may be no good, too.
    let invalid = side["trials"][0]["verdict"] == "INVALID";
    assert_eq!(side["cut_short"], if invalid { 0 } else { 1 }, "{side}");
    assert_eq!(side["figures"].as_array().unwrap().len(), 0, "what was cut short is in no figure: {side}");
}

#[test]
fn a_trial_ends_where_nobody_is_left_to_end_it() {
    let _guard = beside_others();
    let target = Target::start("--delay 1ms");
    let words = format!("http {} --rate 100 --duration 60s --trials 3 --no-save", target.url());
    let mut running = Tare::new(&words).start();
    let pid = running.process.pid();
    let children = || std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    wait_until("a trial runs", || !children().trim().is_empty());
    let trial = format!("/proc/{}/stat", children().trim());
    running.process.kill();
    // Who has ended may wait to be noticed.
    let is_over = || !std::fs::read_to_string(&trial).is_ok_and(|stat| !stat.contains(") Z "));
    wait_until("it ends", is_over);
}

#[test]
fn trials_end_when_the_figure_is_sure_enough_or_say_that_it_is_not() {
    let _guard = light();
    let target = Target::start("--delay 5ms");
    let load = format!("http {} -c 4 --duration 0.3s --accept-invalid --json --no-save", target.url());
    // Of good trials a few in a hundred are refused, as drifting or dependent.
    patiently(3, || {
        let run = tare(&format!("{load} --until rate.achieved±80% --max-trials 12"));
        assert_eq!(run.code, Some(0), "{run}");
        let group = group(&run);
        let until = &group["until"];
        assert_eq!(until["reached"], true, "{until}");
        assert!(until["sides"][0]["claim"]["interval"]["looks"].as_u64() >= Some(1), "{until}");
        assert!(group["sides"][0]["trials"].as_array().unwrap().len() >= 5, "{group}");
    });
    let run = tare(&format!("{load} --until rate.achieved±0.0001% --max-trials 6"));
    assert_eq!(run.code, Some(0), "{run}");
    let group = group(&run);
    assert_eq!(group["until"]["reached"], false, "{group}");
    assert_eq!(group["sides"][0]["trials"].as_array().unwrap().len(), 6, "{group}");
    assert_eq!(numbers(&group["until"]["looks"]), [5.0, 6.0]);
}

#[test]
fn commands_take_turns_and_are_set_beside_each_other() {
    let _guard = light();
    let (quick, slow) = (Target::start("--delay 2ms"), Target::start("--delay 6ms"));
    let load =
        |target: &Target| format!("http {} --rate 200 -c 16 --duration 0.4s --accept-invalid", target.url());
    patiently(3, || {
        let run =
            tare(&format!("trials -n 4 --json --no-save -- {} --against {}", load(&quick), load(&slow)));
        assert_eq!(run.code, Some(0), "{run}");
        let group = group(&run);
        assert_eq!(group["order"], "abba");
        let order = |side: usize| {
            let trials = group["sides"][side]["trials"].as_array().unwrap();
            trials.iter().map(|trial| trial["number"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        // A B | B A | A B | B A
        assert_eq!((order(0), order(1)), (vec![1, 4, 5, 8], vec![2, 3, 6, 7]));
        let figures = group["comparison"]["pairs"][0]["figures"].as_array().unwrap();
        let mean = figures.iter().find(|figure| figure["name"] == "latency.mean").unwrap();
        assert_eq!(mean["finding"], "higher", "4 ms more on 2 ms: {mean}");
    });
}

#[test]
fn invalid_trials_are_counted_and_in_no_interval() {
    let _guard = beside_others();
    need("prlimit");
    let target = Target::start("--delay 50ms");
    // 64 descriptors do not carry 200 connections: the generator's own limit, however busy the machine is.
    let load = format!("http {} --parallel 200 --duration 0.5s --trials 3 --json --no-save", target.url());
    let run = Tare::new(&load).through("prlimit --nofile=64:64").start().finish_unchecked();
    assert_eq!(run.code, Some(4), "{run}");
    let group = group(&run);
    assert_eq!(group["sides"][0]["invalid"], 3, "{group}");
    assert_eq!(group["sides"][0]["figures"].as_array().unwrap().len(), 0, "{group}");
}

#[test]
fn frames_have_trials_too() {
    let _guard = beside_others();
    let run = tare("send mem:a --rate 2k --frames 400 --trials 3 --json --no-save --accept-invalid");
    assert_eq!(run.code, Some(0), "{run}");
    let group = group(&run);
    let side = &group["sides"][0];
    assert_eq!(side["trials"].as_array().unwrap().len(), 3, "{group}");
    // On a busy machine some are INVALID; all that count have a rate.
    let counted = figure(side, "rate.achieved").map_or(0, |rate| numbers(&rate["trials"]).len());
    assert_eq!(counted as u64 + side["invalid"].as_u64().unwrap(), 3, "{group}");
}

#[test]
fn what_is_wrong_is_said_once_and_nothing_is_sent() {
    for (arguments, said) in [
        ("http --trials 3 --rate 10 nonsense", "neither a URL"),
        ("http --rate 10 --until latency.p98±2% http://127.0.0.1:9/", "no figure is called 'latency.p98'"),
        ("http --rate 10 --trials 3 --junit x.xml http://127.0.0.1:9/", "--junit applies to a single run"),
        ("http --rate 10 --until latency.p99±2% --max-trials 4 http://127.0.0.1:9/", "at least 8"),
        ("trials -n 3 -- report last", "'report' makes no run"),
        ("trials -n 3 -- http --out x http://127.0.0.1:9/", "--out of 'http'"),
    ] {
        let run = tare(arguments);
        assert_eq!(run.code, Some(2), "{run}");
        assert_eq!(run.stderr.matches(said).count(), 1, "{run}");
    }
}
