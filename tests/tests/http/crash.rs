//! Runs that are killed: what they left is a result that says so, and lacks the last interval at most.

use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tare_system_tests::process::wait_until;
use tare_system_tests::{Run, Tare, Target, beside_others};

/// Whole lines of the rows that are on disk; 0 before there are any.
fn rows(out: &Path) -> usize {
    fs::read(out.join("intervals.jsonl")).map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count())
}

fn report(form: &str, out: &Path) -> Run {
    Tare::new(&format!("report {form}")).arg(out.display().to_string()).start().finish_unchecked()
}

/// Kills a run so long after its first row, and reads what it left.
fn killed(target: &Target, seconds: usize, after: Duration) -> Run {
    let folder = tare_system_tests::scratch();
    let out = folder.path().join("run");
    let load = "--rate 400 --duration 60s --threads 2";
    let mut running = Tare::http(&format!("{load} --out {} {}", out.display(), target.url())).start();
    wait_until("rows on disk", || rows(&out) >= seconds && out.join("begun.json").exists());
    std::thread::sleep(after);
    let alive = report("--json", &out);
    assert!(alive.code == Some(2) && alive.stderr.contains("is still running"), "{alive}");
    let lived = running.begun.elapsed();
    running.process.signal(Signal::KILL);
    assert_eq!(running.process.wait(Duration::from_secs(10)).map(|status| status.code()), Some(None));
    assert!(!out.join("result.json").exists() && out.join("begun.json").exists());

    let run = report("--json", &out);
    assert_eq!(run.code, Some(0), "{run}");
    adds_up(&run);
    let kept = run.at("intervals").as_array().map_or(0, Vec::len);
    assert_eq!(kept, rows(&out), "every row that is on disk is in the result: {run}");
    // A row is written within a second of its end, however busy the machine; the one under way is missing.
    assert!(kept as f64 >= lived.as_secs_f64() - 3.0, "{kept} rows after {lived:?}");
    text_and_html(&out);
    if run.total("done") > 0 {
        without_times(&out);
    }
    run
}

/// What had been due and had no outcome was cut off: it is in the totals, and in no interval.
fn adds_up(run: &Run) {
    let total = |key| run.total(key);
    assert_eq!(
        total("offered"),
        total("done") + total("failed") + total("missed") + total("cut_off"),
        "{run}"
    );
    let rows = run.at("intervals").as_array().expect("intervals is a list");
    let sum = |key: &str| rows.iter().filter_map(|row| row[key].as_u64()).sum::<u64>();
    assert_eq!((sum("done"), sum("offered")), (total("done"), total("offered")), "{run}");
}

/// People are told, too.
fn text_and_html(out: &Path) {
    let text = report("--text", out);
    assert!(
        text.code == Some(0) && text.stdout.contains("killed") && text.stdout.contains("INVALID"),
        "{text}"
    );
    let html = report("--html -o -", out);
    assert!(html.code == Some(0) && html.stdout.contains("killed"), "{html}");
}

/// Times that are lost are not times that never were.
fn without_times(out: &Path) {
    fs::remove_file(out.join("latency.hlog")).expect("the run wrote it");
    for form in ["--text", "--html -o -", "--json"] {
        let shown = report(form, out);
        assert!(shown.stdout.contains("latency.hlog is missing"), "{shown}");
        assert!(!shown.stdout.contains("Nothing left the generator"), "{shown}");
    }
}

#[test]
fn a_run_that_is_killed_loses_its_last_interval_at_most() {
    let _shared = beside_others();
    let target = Target::start("--delay 2ms --no-truth");
    // Within the first interval, right after a row was written, and in the middle of one.
    for (seconds, after) in [(0, 300), (1, 0), (2, 500)] {
        let run = killed(&target, seconds, Duration::from_millis(after));
        assert_eq!(run.at("partial"), &Value::Bool(true), "{run}");
        assert!(run.remarks().contains("killed"), "{run}");
        assert_eq!((run.word(), run.criteria().len()), ("INVALID", 1), "{run}");
        assert!(!run.criterion("finished").holds, "{run}");
        let done = run.total("done");
        assert_eq!(run.int("latency_ns.count"), done, "{run}");
        assert_eq!(run.outcome("200"), done, "{run}");
        assert!(seconds == 0 || done > 100, "{run}");
        assert!(run.at("command").as_str().is_some_and(|command| command.contains("--rate 400")), "{run}");
        if done > 0 {
            // The target answers after 2 ms.
            assert!(run.int("latency_ns.min") >= 2_000_000, "{run}");
        }
    }
}

/// Folders are moved and replaced while a run writes: what it writes stays its own, and others' files theirs.
#[test]
fn a_run_folder_that_is_moved_takes_the_run_with_it() {
    let _beside = beside_others();
    let target = Target::start("");
    let folder = tare_system_tests::scratch();
    let (out, moved) = (folder.path().join("run"), folder.path().join("moved"));
    let flags = format!("--out {0} --samples --junit {0}/ci/j.xml", out.display());
    let load = format!("http --json --no-progress --accept-invalid --rate 100 --duration 3s {flags}");
    let load = format!("{load} {}", target.url());
    let running = Tare::new(&load).start();
    wait_until("rows on disk", || rows(&out) >= 1);
    fs::rename(&out, &moved).expect("a folder can be moved");
    fs::create_dir(&out).expect("its name is free");
    let names =
        ["result.json", "report.html", "begun.json", "intervals.jsonl", "latency.hlog", "samples.parquet"];
    for name in names {
        fs::write(out.join(name), "theirs").expect("a file can be written");
    }
    let run = running.finish_unchecked();
    assert_eq!(run.code, Some(0), "{run}");
    for name in names {
        assert_eq!(fs::read_to_string(out.join(name)).expect("it is there"), "theirs", "{name}");
    }
    assert_eq!(fs::read_dir(&out).expect("it is there").count(), names.len());
    assert!(moved.join("samples.parquet").exists() && moved.join("ci/j.xml").exists());
    assert_eq!(run.at("store.folder"), &moved.display().to_string().as_str(), "{run}");
    assert_eq!(run.at("store.lost").as_array().map(Vec::len), Some(0), "{run}");
    let kept = report("--json", &moved);
    assert_eq!((kept.code, kept.total("done")), (Some(0), run.total("done")), "{kept}");
}
