//! Limits that the user sets: each kind held and broken against a target whose figures are known, by name and
//! in windows; a run that ends early; and what a CI server reads.
//!
//! Whether the *generator* kept up does not matter here: every run takes `--accept-invalid`.

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tare_system_tests::{Run, Tare, Target, beside_others, need, patiently, scratch};

/// `tare http --accept-invalid` with these limits.
fn run(load: &str, limits: &[(&str, &str)]) -> Run {
    let tare = Tare::http(&format!("--accept-invalid {load}"));
    limits.iter().fold(tare, |tare, (flag, limit)| tare.arg(*flag).arg(*limit)).run()
}

fn fail_if(load: &str, limits: &[&str]) -> Run {
    let limits: Vec<_> = limits.iter().map(|limit| ("--fail-if", *limit)).collect();
    run(load, &limits)
}

fn thresholds(run: &Run) -> Vec<Value> {
    run.result["thresholds"].as_array().expect("thresholds is a list").clone()
}

/// Whether each threshold held, in their order.
fn held(run: &Run) -> Vec<bool> {
    thresholds(run).iter().map(|threshold| threshold["holds"] == true).collect()
}

#[test]
fn every_kind_of_limit_holds_and_breaks_as_the_target_was_told() {
    let _shared = beside_others();
    // Every answer takes 30 ms and has 1 000 bytes of body; one in five is a 503.
    let target = Target::start("--delay 30ms --size 1000 --error 503=20% --no-truth");
    let load = format!("--rate 200 --duration 2s {}", target.url());
    let broken = [
        "latency.p50 > 20ms",
        "latency.p99.9 >= 30ms",
        "service.mean > 29ms",
        "latency.min > 10ms",
        "first_byte.p10 > 20ms",
        "lateness.max >= 0.001us",
        "connect.max > 1ns",
        "errors > 5%",
        "errors > 10",
        "status(5xx) > 0",
        "status(503) > 5%",
        "done >= 400",
        "offered < 401",
        "achieved < 100000/s",
        "offered < 201/s",
        "bytes_in > 300kB",
        "bytes_in < 1GB/s",
        "status(2xx) < 99% of offered",
        "latency.p50 > 20ms in any 1s",
        "achieved < 1M/s in any 1s",
    ];
    let holds = [
        "latency.p50 > 20s",
        "errors > 60%",
        "status(5xx) > 399",
        "status(404) > 0",
        "failed > 0",
        "missed > 0",
        "cut_off > 0",
        "error(connect.refused) > 0",
        "error(body) > 0%",
        "missed(no_port) > 0",
        "done < 400",
        "offered > 400",
        "offered < 199/s",
        "bytes_in < 300kB",
        "bytes_out > 10MB/s",
        "latency.p50 > 20s in any 2s",
        "errors > 350 in any 1s",
    ];
    let run = fail_if(&load, &[broken.as_slice(), &holds].concat());
    let expected = [vec![false; broken.len()], vec![true; holds.len()]].concat();
    let told: Vec<String> = thresholds(&run).iter().map(Value::to_string).collect();
    assert_eq!(held(&run), expected, "{}\n{run}", told.join("\n"));
    assert_eq!(run.code, Some(3), "{run}");
    let run = fail_if(&load, &holds);
    assert_eq!((held(&run), run.code), (vec![true; holds.len()], Some(0)), "{run}");
}

#[test]
fn a_value_of_the_whole_run_is_the_one_in_the_result() {
    let _shared = beside_others();
    let target = Target::start("--delay exp:5ms --error 404=10% --no-truth");
    let pairs = [
        ("latency.p50 > 1h", "latency_ns.p50"),
        ("latency.p99 > 1h", "latency_ns.p99"),
        ("latency.p99.99 > 1h", "latency_ns.p99_99"),
        ("latency.mean > 1h", "latency_ns.mean"),
        ("latency.stdev > 1h", "latency_ns.stdev"),
        ("latency.min > 1h", "latency_ns.min"),
        ("latency.max > 1h", "latency_ns.max"),
        ("latency.p100 > 1h", "latency_ns.max"),
        ("service.p95 > 1h", "service_ns.p95"),
        ("lateness.p99 > 1h", "lateness_ns.p99"),
        ("own_lateness.max > 1h", "own_lateness_ns.max"),
        ("first_byte.p75 > 1h", "first_byte_ns.p75"),
        ("connect.p50 > 1h", "connect_ns.p50"),
        ("gap_error.p99 > 1h", "gap_error_ns.p99"),
        ("offered > 1G/s", "rate.offered_per_s"),
        ("achieved > 1G/s", "rate.achieved_per_s"),
        ("done > 1G", "totals.done"),
        ("offered > 1G", "totals.offered"),
        ("bytes_in > 1GB", "totals.bytes_in"),
        ("bytes_out > 1GB", "totals.bytes_out"),
    ];
    let limits: Vec<&str> = pairs.iter().map(|(limit, _)| *limit).collect();
    let run = fail_if(&format!("--rate 500 --duration 1500ms {}", target.url()), &limits);
    for ((limit, path), threshold) in pairs.iter().zip(thresholds(&run)) {
        assert_eq!(threshold["value"].as_f64(), run.at(path).as_f64(), "{limit}; {run}");
    }
    // 404 is an answer, and an error.
    let errors = fail_if(&format!("--rate 500 --duration 1s {}", target.url()), &["errors > 1G"]);
    assert_eq!(thresholds(&errors)[0]["value"].as_f64(), Some(errors.outcome("404") as f64), "{errors}");
}

#[test]
fn abort_if_ends_a_long_run_early_with_a_complete_result() {
    let _shared = beside_others();
    let target = Target::start("--delay 30ms --no-truth");
    let folder = scratch();
    let out = folder.path().join("run");
    let load = format!("--rate 200 --duration 30s --out {} {}", out.display(), target.url());
    let run = run(&load, &[("--abort-if", "latency.p90 > 20ms"), ("--fail-if", "missed > 0")]);
    assert!(run.took < Duration::from_secs(20), "{run}");
    assert_eq!((run.code, run.at("partial")), (Some(3), &Value::Bool(true)), "{run}");
    let label = run.remarks();
    assert!(label.contains("aborted: latency.p90 > 20ms was ") && label.contains(" ms after "), "{run}");
    let all = thresholds(&run);
    let abort = &all[1];
    assert_eq!((&abort["holds"], &abort["aborts"]), (&Value::Bool(false), &Value::Bool(true)), "{abort}");
    // p90 needs ten values, which the first second of 200 has.
    let at = abort["at_s"].as_f64().expect("when it ended");
    assert!((1.0..15.0).contains(&at) && abort["value"].as_f64() > Some(20e6), "{abort}");
    assert_eq!(all[0]["holds"], true, "nothing was missed by being ended: {run}");
    assert!(out.join("result.json").is_file() && out.join("report.html").is_file(), "{run}");
    let plan = std::fs::read_to_string(out.join("plan.toml")).expect("the plan is kept");
    assert!(plan.contains("abort_if = [\"latency.p90 > 20ms\"]"), "{plan}");
}

#[test]
fn a_limit_that_never_comes_true_ends_nothing() {
    let _shared = beside_others();
    let target = Target::start("--delay 1ms --no-truth");
    let load = format!("--rate 200 --duration 2s {}", target.url());
    let limits = [("--abort-if", "latency.p90 > 10s"), ("--abort-if", "errors > 5% in any 1s")];
    let run = run(&load, &limits);
    assert_eq!(
        (run.code, run.at("partial"), run.total("offered")),
        (Some(0), &Value::Bool(false), 400),
        "{run}"
    );
    assert_eq!(held(&run), [true, true], "{run}");
}

#[test]
fn a_name_is_judged_by_its_own_requests() {
    let _shared = beside_others();
    let (quick, slow) =
        (Target::start("--delay 1ms --no-truth"), Target::start("--delay 60ms --status 500 --no-truth"));
    let folder = scratch();
    let lines = folder.path().join("named.jsonl");
    let text = format!(
        "{{\"url\": \"{}\", \"name\": \"browse\", \"weight\": 3}}\n{{\"url\": \"{}\", \"name\": \"buy it\"}}\n",
        quick.url(),
        slow.url()
    );
    std::fs::write(&lines, text).expect("a scratch file");
    let load = format!("--rate 200 --duration 2s {}", lines.display());
    let run = fail_if(
        &load,
        &[
            "latency.p50 for browse > 50ms",
            "latency.p50 for \"buy it\" > 50ms",
            "latency.p50 for 'buy it' > 50ms in any 1s",
            "errors for browse > 0",
            "status(5xx) for \"buy it\" > 90%",
            "latency.p50 > 50ms",
        ],
    );
    assert_eq!(held(&run), [true, false, false, true, false, true], "{:?} {run}", thresholds(&run));
    assert_eq!(thresholds(&run)[1]["name"], "buy it", "{run}");
    let p50 = run.group("buy it")["latency_ns"]["p50"].as_f64();
    assert_eq!(thresholds(&run)[1]["value"].as_f64(), p50, "{run}");

    let refused = Tare::http(&load).arg("--fail-if").arg("latency.p50 for brows > 50ms").run();
    assert_eq!(refused.code, Some(2), "{refused}");
    let said = &refused.stderr;
    assert!(said.contains("--fail-if: ") && said.contains("no requests have the name 'brows'"), "{said}");
    assert!(said.contains("did you mean browse?"), "{said}");
    assert!(refused.result.is_null(), "nothing was sent: {refused}");
}

/// Answers that wait for the end of a stall of 1.5 s come within one interval: 300 that waited 0 to 1.5 s and
/// at most 200 of the second after it. Their median is at least that of 200 quick and 300 evenly spread ones:
/// the 250th of 500 is the 50th of those that waited, 50/300 · 1.5 s = 250 ms. Over 6 s at 200/s a quarter has
/// waited, and the median is a quick one.
#[test]
fn a_window_finds_a_stall_that_the_median_of_the_whole_run_hides() {
    let _shared = beside_others();
    patiently(3, || {
        let target = Target::start("--stall 2s,1500ms --no-truth");
        let load = format!("--rate 200 --duration 6s {}", target.url());
        let run = fail_if(&load, &["latency.p50 > 150ms", "latency.p50 > 150ms in any 1s"]);
        assert_eq!(held(&run), [true, false], "{:?} {run}", thresholds(&run));
        let window = &thresholds(&run)[1];
        assert_eq!(window["window_s"].as_f64(), Some(1.0), "{window}");
        // The stall ends after 3.5 s: the second until 4 s has its answers, or the next has the last of them.
        let at = window["at_s"].as_f64().expect("the window has an end");
        assert!((3.0..=6.0).contains(&at), "{window}");
    });
}

#[test]
fn mistakes_are_pointed_at_before_anything_is_sent() {
    let _shared = beside_others();
    for (limit, expected) in [
        (
            "latncy.p99 > 50ms",
            "tare: --fail-if: there is no figure latncy.p99; expected a figure such as latency.p99, errors, achieved or \
             status(5xx) (did you mean latency.p99?)\n  latncy.p99 > 50ms\n  ^^^^^^^^^^\n",
        ),
        (
            "latency.p99 > 50",
            "tare: --fail-if: 50 has no unit; expected a time with its unit, such as 50ms (did you mean 50ms?)\n  \
             latency.p99 > 50\n                ^^\n",
        ),
        (
            "errors > 1 in any 20s",
            "tare: --fail-if contradicts --duration: a run of 10s has no window for 'errors > 1 in any 20s'\n",
        ),
    ] {
        // Nobody listens there; had anything been sent, the status would be 5.
        let tare = Tare::http("--duration 10s http://127.0.0.1:9/").arg("--fail-if").arg(limit);
        let run = tare.run();
        assert_eq!((run.code, run.stderr.as_str()), (Some(2), expected), "{run}");
    }
}

#[test]
fn what_could_not_be_measured_has_failed() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let run = fail_if(&format!("--rate 100 --duration 1s {}", target.url()), &["tls.p99 > 1h"]);
    assert_eq!(thresholds(&run)[0]["value"], Value::Null, "{run}");
    assert_eq!((held(&run), run.code), (vec![false], Some(3)), "{run}");
}

#[test]
fn limits_of_a_plan_file_judge_a_run_and_flags_add_to_them() {
    let _shared = beside_others();
    let target = Target::start("--delay 20ms --no-truth");
    let folder = scratch();
    let file = folder.path().join("plan.toml");
    let text = format!(
        "url = '{}'\n[load]\nrate = 100\n[stop]\nduration = '1s'\n[limits]\nfail_if = ['latency.p50 > 5ms']\n",
        target.url()
    );
    std::fs::write(&file, text).expect("a scratch file");
    let plan = file.display();
    let run = Tare::new(&format!("run --json --no-save --no-progress --accept-invalid {plan}"))
        .arg("--fail-if")
        .arg("missed > 0")
        .run();
    assert_eq!((held(&run), run.code), (vec![false, true], Some(3)), "{run}");
    // The same load has the same hash, whatever it is judged by.
    let plain = fail_if(&format!("--rate 100 --duration 1s {}", target.url()), &[]);
    assert_eq!(run.at("plan_hash"), plain.at("plan_hash"));
}

/// The attributes of each testcase, and whether it failed, by Python's own reader of XML.
fn read_junit(path: &Path) -> String {
    need("python3");
    let script = "import sys, xml.etree.ElementTree as t\n\
        r = t.parse(sys.argv[1]).getroot()\n\
        print(r.tag, r.get('tests'), r.get('failures'))\n\
        for c in r.iter('testcase'):\n\
        \x20 f = c.find('failure')\n\
        \x20 print(c.get('classname'), '|', c.get('name'), '|', 'holds' if f is None else 'failed ' + f.get('message'))\n";
    let out = Command::new("python3").args(["-c", script]).arg(path).output().expect("python3 can be run");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn ci_servers_read_junit_and_markdown() {
    let _shared = beside_others();
    let target = Target::start("--delay 20ms --no-truth");
    let folder = scratch();
    let (junit, summary) = (folder.path().join("junit.xml"), folder.path().join("summary.md"));
    let lines = folder.path().join("names.jsonl");
    let text = format!(
        "{{\"url\": \"{0}\", \"name\": \"a|b <i>\"}}\n{{\"url\": \"{0}\", \"name\": \"plain\"}}\n",
        target.url()
    );
    std::fs::write(&lines, text).expect("a scratch file");
    std::fs::write(&summary, "# an earlier step\n").expect("a scratch file");
    let load = format!(
        "--rate 100 --duration 1s --junit {} --markdown {} {}",
        junit.display(),
        summary.display(),
        lines.display()
    );
    let run = Tare::http(&format!("--accept-invalid {load}"))
        .arg("--fail-if")
        .arg("latency.p50 for \"a|b <i>\" > 5ms")
        .arg("--fail-if")
        .arg("missed > 0")
        .env("GITHUB_STEP_SUMMARY", summary.display().to_string())
        .run();
    assert_eq!(run.code, Some(3), "{run}");
    let read = read_junit(&junit);
    assert!(read.starts_with("testsuites 3 "), "{read}");
    assert!(read.contains("tare.fail_if | latency.p50 for \"a|b <i>\" > 5ms | failed was "), "{read}");
    assert!(read.contains("tare.fail_if | missed > 0 | holds"), "{read}");
    assert!(read.contains("tare.verdict | verdict | "), "{read}");

    let text = std::fs::read_to_string(&summary).expect("it was written");
    assert!(text.starts_with("# an earlier step\n## "), "a job's summary is added to: {text}");
    assert!(text.contains("### Thresholds: 1 of 2 failed"), "{text}");
    assert!(text.contains("| **failed** | fail if `latency.p50 for \"a\\|b <i>\" > 5ms` |"), "{text}");
    assert!(text.contains("| holds | fail if `missed > 0` | 0 |"), "{text}");
    let named = text.lines().find(|line| line.starts_with("| `a\\|b <i>` |")).expect("a row for the name");
    // Every row of a table has as many cells as its head.
    let head = text.lines().find(|line| line.starts_with("| name |")).expect("a table of names");
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    assert_eq!(cells(named), cells(head), "{text}");

    // To standard output there is nothing else; the summary for people goes to standard error.
    let load = format!("http --no-save --no-progress --rate 100 --duration 1s --markdown - {}", target.url());
    let run = Tare::new(&load).run();
    assert!(
        run.stdout.starts_with("## ") && run.stderr.contains("Requests"),
        "{}\n{}",
        run.stdout,
        run.stderr
    );
    let both = Tare::http(&format!("--markdown - {}", target.url())).run();
    assert!(both.code == Some(2) && both.stderr.contains("can use standard output"), "{both}");
    let nowhere = Tare::http(&format!("--junit /nowhere/j.xml {}", target.url())).run();
    assert!(
        nowhere.code == Some(2) && nowhere.stderr.contains("--junit: /nowhere/j.xml: No such"),
        "{nowhere}"
    );
}

#[test]
fn a_stored_run_is_judged_afterwards_as_it_would_have_been() {
    let _shared = beside_others();
    let target = Target::start("--delay exp:20ms --error 500=10% --no-truth");
    let folder = scratch();
    let out = folder.path().join("run");
    let limits = [
        "latency.p50 > 5ms",
        "latency.p97.5 > 5ms",
        "latency.p100 > 60s",
        "latency.mean > 60s",
        "service.stdev > 60s",
        "lateness.p99 > 60s",
        "errors > 1%",
        "errors > 10k",
        "status(5xx) > 299",
        "status(200) < 1%",
        "failed > 0%",
        "offered < 1k/s",
        "achieved < 1/s",
        "achieved < 100.0% of offered",
        "bytes_in < 1GB/s",
        "tls.p50 > 1h",
        "latency.p90 > 1ms in any 2s",
        "latency.mean > 60s in any 1s",
        "own_lateness.max > 60s in any 1s",
        "errors > 1 in any 1s",
        "status(500) > 90% in any 2s",
        "achieved < 1/s in any 1s",
        "bytes_in < 1B/s in any 2s",
        "done < 1 in any 1s",
    ];
    let load = format!("--rate 200 --duration 3500ms --warmup 1s --out {} {}", out.display(), target.url());
    let run = fail_if(&load, &limits);
    let report = |limits: &[&str]| {
        let tare = Tare::new(&format!("report {} --json --accept-invalid", out.display()));
        let tare = limits.iter().fold(tare, |tare, limit| tare.arg("--fail-if").arg(*limit));
        tare.start().finish_unchecked()
    };
    let stored = report(&limits);
    assert_eq!(stored.code, Some(3), "{}", stored.stderr);
    let all = thresholds(&stored);
    assert_eq!(all.len(), 2 * limits.len(), "those of the run, then those that were asked for now");
    for (then, now) in all.iter().zip(&all[limits.len()..]) {
        for key in ["expression", "holds", "limit", "unit", "window_s", "at_s"] {
            assert_eq!(then[key], now[key], "{then} {now}");
        }
        // Stored lengths of time are whole nanoseconds, those of the run were not.
        match (then["value"].as_f64(), now["value"].as_f64()) {
            (Some(then), Some(now)) => assert!((then - now).abs() <= then.abs() * 1e-8, "{then} {now}"),
            neither => assert_eq!(neither, (None, None)),
        }
    }
    assert_eq!(thresholds(&run), all[..limits.len()]);
    for (limit, code) in [
        ("latency.p99.9 > 60s", Some(0)),
        ("errors > 1 in any 1s", Some(3)),
        ("errors > 1 in any 1min", Some(2)),
        ("errors for x > 1", Some(2)),
        ("latency.p50 > 5", Some(2)),
    ] {
        let run = report(&[limit]);
        assert_eq!(run.code, code, "{limit}: {}", run.stderr);
    }
    std::fs::remove_file(out.join("latency.hlog")).expect("the run has its log");
    for limit in ["latency.p97 > 1s", "latency.p50 > 1s in any 1s"] {
        let without = report(&[limit]);
        assert!(without.code == Some(2) && without.stderr.contains("latency.hlog"), "{}", without.stderr);
    }
}

#[test]
fn names_beyond_those_that_have_figures_are_told() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let folder = scratch();
    let (out, lines) = (folder.path().join("run"), folder.path().join("named.jsonl"));
    let line = |n| format!("{{\"url\": \"{}\", \"name\": \"n{n}\"}}\n", target.url());
    std::fs::write(&lines, (0..70).map(line).collect::<String>()).expect("a scratch file");
    let load = format!("--rate 200 --duration 1s --out {} {}", out.display(), lines.display());
    let refused = Tare::http(&load).arg("--fail-if").arg("errors for n66 > 1").run();
    let said = &refused.stderr;
    assert!(refused.code == Some(2) && said.contains("no figures are kept for the name 'n66'"), "{said}");
    let run = fail_if(&load, &["errors for other > 1"]);
    assert_eq!((held(&run), run.at("names_folded")), (vec![true], &Value::Bool(true)), "{run}");
    let page = std::fs::read_to_string(out.join("report.html")).expect("the run has its page");
    assert!(page.contains("'other' has the requests of all names after the first 63"), "{run}");
    let stored = Tare::new(&format!("report {} --fail-if", out.display())).arg("errors for n66 > 1");
    let stored = stored.start().finish_unchecked();
    assert!(stored.stderr.contains("this run has no figures for the name 'n66'"), "{}", stored.stderr);
}

#[test]
fn windows_of_a_name_are_in_a_stored_run() {
    let _shared = beside_others();
    let target = Target::start("--delay exp:20ms --no-truth");
    let folder = scratch();
    let (out, lines) = (folder.path().join("run"), folder.path().join("named.jsonl"));
    let line = |name: &str| format!("{{\"url\": \"{}\", \"name\": \"{name}\"}}\n", target.url());
    std::fs::write(&lines, line("browse") + &line("buy it")).expect("a scratch file");
    let limit = "latency.p90 for \"buy it\" > 1ms in any 1s";
    let load = format!("--rate 200 --duration 2500ms --out {} {}", out.display(), lines.display());
    let run = fail_if(&load, &[limit]);
    assert_eq!(held(&run), [false], "{run}");
    let report = |limit: &str| {
        Tare::new(&format!("report {} --json --accept-invalid", out.display()))
            .arg("--fail-if")
            .arg(limit)
            .start()
            .finish_unchecked()
    };
    let stored = report(limit);
    assert_eq!(stored.code, Some(3), "{}", stored.stderr);
    let all = thresholds(&stored);
    assert_eq!(all[0], all[1], "the same value and the same window");
    let counts = report("errors for \"buy it\" > 1 in any 1s");
    assert!(
        counts.code == Some(2) && counts.stderr.contains("a stored run has only the latency by name"),
        "{}",
        counts.stderr
    );
}

/// These limits and what came of them, as the run itself told and as its stored result tells.
fn told_twice(load: &str, limits: &[&str]) -> Vec<Value> {
    let folder = scratch();
    let out = folder.path().join("run");
    let run = fail_if(&format!("{load} --out {}", out.display()), limits);
    let tare = Tare::new(&format!("report {} --json --accept-invalid", out.display()));
    let tare = limits.iter().fold(tare, |tare, limit| tare.arg("--fail-if").arg(*limit));
    let all = thresholds(&tare.start().finish_unchecked());
    assert_eq!(all.len(), 2 * limits.len(), "{run}");
    assert_eq!(all[..limits.len()], all[limits.len()..], "{run}");
    all[..limits.len()].to_vec()
}

#[test]
fn what_hangs_breaks_a_limit_on_a_percentile() {
    let _shared = beside_others();
    // One request in ten is never answered; the others are answered at once.
    let target = Target::start("--silent 10% --no-truth");
    let load = format!("--rate 200 --duration 2s --timeout 300ms {}", target.url());
    let broken = [
        "latency.p99 > 50ms",
        "net.p99 > 50ms",
        "latency.p99 > 50ms in any 1s",
        "latency.p99 > 20s",
        "net.max > 20s in any 1s",
    ];
    for threshold in told_twice(&load, &broken) {
        let value = threshold["value"].as_f64().expect("there were answers");
        assert!(threshold["holds"] == false && threshold["is_bound"] == true, "{threshold}");
        assert!((299e6..20e9).contains(&value), "{threshold}");
    }
    // However long one in ten takes, the median is that of the others; a lower bound breaks no lower limit.
    for threshold in told_twice(&load, &["net.p50 > 20s", "net.p50 > 20s in any 1s", "latency.p99 < 1ms"]) {
        assert!(threshold["holds"] == true, "{threshold}");
    }
}

#[test]
fn what_was_cut_off_breaks_the_limit_that_it_could_have_reached() {
    let _shared = beside_others();
    // A tenth of the answers takes over 1.08 s, but what takes over 0.8 s is cut off.
    let target = Target::start("--delay uniform:1ms,1200ms --no-truth");
    let load = format!("--rate 200 --duration 600ms --grace 200ms {}", target.url());
    let told = told_twice(&load, &["latency.p90 > 800ms", "net.p90 > 1s"]);
    for threshold in &told {
        assert!(threshold["holds"] == false && threshold["is_bound"] == true, "{threshold}");
    }
}
