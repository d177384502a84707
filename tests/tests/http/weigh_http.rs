//! `tare weigh http` from outside.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tare_system_tests::{Run, Running, Tare, Target, alone, beside_others, patiently, scratch, skipped};

fn start(words: &str, state: &Path) -> Running {
    let tare = Tare::new(&format!("weigh http {words}")).env("XDG_STATE_HOME", state.display().to_string());
    tare.limit(Duration::from_secs(120)).start()
}

fn weigh(words: &str, state: &Path) -> Run {
    start(words, state).finish_unchecked()
}

fn profile(state: &Path) -> Value {
    let text = fs::read_to_string(state.join("tare/profile.json")).expect("a profile was kept");
    serde_json::from_str(&text).expect("it is JSON")
}

/// No rate had a VALID verdict: the machine is not calm enough for what is to be shown. That is said, and is no
/// success.
fn has_no_peak(profile: &Value) -> bool {
    let all = profile["capabilities"].as_array().into_iter().flatten();
    let lacks = all.filter(|one| one["peak_per_s"].as_f64().is_none_or(|peak| peak <= 0.0)).count() > 0
        || profile["capabilities"].as_array().is_none_or(Vec::is_empty);
    if lacks {
        skipped("no rate is VALID on this machine just now");
    }
    lacks
}

fn float(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} in {value}"))
}

#[test]
fn a_weighing_is_printed_kept_and_in_the_profile() {
    let _guard = alone();
    patiently(3, || {
        let state = scratch();
        let run = weigh("--quick --time 300ms --only keep-alive,tls", state.path());
        assert_eq!(run.code, Some(0), "{run}");
        if has_no_peak(&profile(state.path())) {
            return;
        }
        for words in ["keep-alive", "TLS, keep-alive", "embedded target (600 bytes)"] {
            assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
        }
        assert!(run.stdout.lines().all(|line| line.chars().count() <= 110), "{}", run.stdout);
        let profile = profile(state.path());
        assert_eq!(profile["schema"], "tare.profile/1");
        let all = profile["capabilities"].as_array().expect("a list");
        let keys: Vec<&str> = all.iter().filter_map(|one| one["key"].as_str()).collect();
        assert_eq!(keys, ["http.keep_alive", "http.tls"]);
        for one in all {
            let peak = float(one, "peak_per_s");
            // A rate at which it was VALID was run, and no rate that failed is below the peak.
            let points = one["points"].as_array().expect("points");
            assert!(
                points
                    .iter()
                    .any(|point| point["is_valid"] == true && float(point, "offered_per_s") >= peak * 0.99)
            );
            assert!(peak > 1_000.0 && peak < float(one, "saturated_per_s") * 3.0, "{one}");
            // One search has no interval, and none is made up.
            assert_eq!((&one["low_per_s"], &one["high_per_s"]), (&Value::Null, &Value::Null));
            // How the sum parts is sampled: in 300 ms at a low rate one part may have had no sample.
            assert!(
                points.iter().all(|point| float(point, "user_ns") + float(point, "system_ns") > 0.0),
                "{one}"
            );
        }
        let kept = fs::read_dir(state.path().join("tare/weighings")).expect("a folder").count();
        assert_eq!(kept, 1);
    });
}

#[test]
fn several_searches_have_an_interval_that_holds_their_mean() {
    let _guard = alone();
    patiently(3, || {
        let state = scratch();
        let run = weigh("--quick --only keep-alive --time 200ms --trials 3 --json", state.path());
        let row = &run.result["http"][0];
        let peaks: Vec<f64> =
            row["peaks_per_s"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        assert_eq!(peaks.len(), 3, "{run}");
        let mean = peaks.iter().sum::<f64>() / 3.0;
        assert!((float(row, "peak_per_s") - mean).abs() < 1e-6, "{row}");
        // Student's t at two degrees of freedom is 4.3027 for 95 % (any table of it); S/√3 by hand.
        let variance = peaks.iter().map(|peak| (peak - mean).powi(2)).sum::<f64>() / 2.0;
        match (row["low_per_s"].as_f64(), row["no_interval"].as_str()) {
            (Some(low), None) => {
                let expected = mean - 4.302_7 * (variance / 3.0).sqrt();
                assert!((low - expected).abs() < mean * 1e-3, "{low} {expected}");
            }
            (None, Some(_)) => {}
            other => panic!("neither an interval nor why there is none: {other:?}"),
        }
    });
}

#[test]
fn a_named_target_is_weighed_by_its_scheme() {
    let _guard = beside_others();
    let target = Target::start("");
    let state = scratch();
    let words = format!("--quick --time 200ms --only new-connection --no-save {}", target.url());
    let run = weigh(&words, state.path());
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains(&target.url()) && run.stdout.contains("new connection"), "{}", run.stdout);
    assert!(!state.path().join("tare/profile.json").exists(), "nothing is kept");
    let wrong = weigh(&format!("--only tls {}", target.url()), state.path());
    assert_eq!(wrong.code, Some(2), "{wrong}");
    assert!(wrong.stderr.contains("--only tls: does not fit the URL's scheme"), "{wrong}");
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_sent() {
    let _guard = beside_others();
    let state = scratch();
    for (words, said) in [
        ("--time 1ms", "--time: 1ms is not between 200ms and 600s"),
        ("--trials 0", "--trials: 0 is not between 1 and 100"),
        (
            "--only https",
            "is not a kind of load; expected keep-alive, new-connection, tls, tls-new-connection",
        ),
        ("ftp://h/", "URL ftp://h/"),
    ] {
        let run = weigh(words, state.path());
        assert_eq!(run.code, Some(2), "{words}: {run}");
        assert!(run.stderr.contains(said), "{words}: {}", run.stderr);
    }
    let gone = weigh("--quick http://127.0.0.1:1/", state.path());
    assert_eq!(gone.code, Some(5), "{gone}");
    assert!(gone.stderr.contains("cannot reach"), "{gone}");
}

#[test]
fn ctrl_c_leaves_what_is_known_and_no_process_behind() {
    let _guard = beside_others();
    let state = scratch();
    let running = start("--quick --json", state.path());
    // The first trial is done, the next one begins just now.
    let begun = std::time::Instant::now();
    while !running.stderr().contains(" at most") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", running.stderr());
        std::thread::sleep(Duration::from_millis(1));
    }
    running.interrupt();
    let run = running.finish_unchecked();
    assert_eq!(run.code, Some(130), "{run}");
    assert_eq!(
        (&run.result["schema"], &run.result["partial"]),
        (&"tare.weigh/1".into(), &true.into()),
        "{run}"
    );
}

#[test]
fn a_run_says_how_much_of_what_was_weighed_it_asked_for() {
    let _guard = beside_others();
    let target = Target::start("");
    let state = scratch();
    let home = state.path().join("tare");
    let weighed = weigh("--quick --time 200ms --only keep-alive", state.path());
    assert_eq!(weighed.code, Some(0), "{weighed}");
    if has_no_peak(&profile(state.path())) {
        return;
    }
    let peak = float(&profile(state.path())["capabilities"][0], "peak_per_s");
    let run = |rate: f64| {
        let words = format!("--rate {} --duration 300ms --threads 1 {}", rate.round() as u64, target.url());
        Tare::http(&words).env("XDG_STATE_HOME", state.path().display().to_string()).run()
    };
    let quarter = run(peak / 4.0);
    let share = quarter.criterion("capability.share");
    assert!((share.value - 0.25).abs() < 0.001 && share.holds, "{quarter}");
    // It warns, and makes no run worse than it is.
    let much = run(peak * 0.9).criterion("capability.share");
    assert!(!much.holds && much.severity == "VALID", "{much:?}");
    assert!(much.advice.contains("90 % of the"), "{much:?}");
    // Of another machine it says nothing.
    let text = fs::read_to_string(home.join("profile.json")).expect("a profile");
    fs::write(home.join("profile.json"), text.replacen("\"kernel\": \"", "\"kernel\": \"0.", 1))
        .expect("it can be written");
    let other = run(peak / 4.0);
    assert!(other.criteria().iter().all(|criterion| criterion.name != "capability.share"), "{other}");
    if other.word() != "VALID" {
        assert!(other.remarks().contains("profile is not used"), "{other}");
    }
}
