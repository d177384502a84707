//! `--samples` and `--to parquet:`: one row for each request, read back by pyarrow and duckdb.

use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tare_system_tests::run::outcome_in;
use tare_system_tests::{Run, Tare, Target, beside_others, need, need_root, scratch};

/// Runs a script of `tests/readers` with the project's own Python.
#[track_caller]
fn read_json(script: &str, arguments: &[&Path]) -> Value {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = tests.join("../.venv/bin/python");
    assert!(python.exists(), "there is no {}: scripts/python.sh makes it", python.display());
    let ran = Command::new(python).arg(tests.join("readers").join(script)).args(arguments).output();
    let ran = ran.expect("python runs");
    assert!(ran.status.success(), "{script}: {}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).expect("it prints JSON")
}

/// Rows for each outcome, and their bytes, are the result's.
#[track_caller]
fn outcomes_agree(run: &Run, found: &Value) {
    let rows = found["outcomes"].as_array().expect("a list of outcomes");
    let listed = run.result["outcomes"].as_array().expect("a list of outcomes");
    assert_eq!(rows.len(), listed.len(), "{found}\n{run}");
    let sum = |at: usize| -> u64 { rows.iter().map(|row| row[at].as_u64().expect("a number")).sum() };
    for outcome in listed {
        let row = rows.iter().find(|row| row[0] == outcome["class"] && row[1] == outcome["key"]);
        let row = row.unwrap_or_else(|| panic!("no rows of {outcome} in {found}"));
        assert_eq!(row[2], outcome["count"], "{outcome} in {found}");
    }
    assert_eq!(sum(3), run.total("bytes_in"), "{run}");
    assert_eq!(sum(4), run.total("bytes_out"), "{run}");
}

/// A histogram's figure is at most 0.1 % above the true one (and not below it), in whole nanoseconds.
#[track_caller]
fn percentiles_agree(run: &Run, found: &Value) {
    for (name, figures) in found["series"].as_object().expect("a map of series") {
        assert_eq!(run.int(&format!("{name}_ns.count")), figures["count"].as_u64().unwrap(), "{name}: {run}");
        for (key, exact) in figures.as_object().unwrap().iter().filter(|(key, _)| *key != "count") {
            let exact = exact.as_u64().expect("nanoseconds");
            let told = run.int(&format!("{name}_ns.{key}"));
            let most = exact + exact / 1_000 + 1;
            assert!((exact..=most).contains(&told), "{name} {key}: {told}, rows say {exact}; {run}");
        }
    }
}

#[test]
fn rows_counts_sums_and_percentiles_are_the_results() {
    let _shared = beside_others();
    let folder = scratch();
    let out = folder.path().join("run");
    let lines = folder.path().join("a.jsonl");
    let urls = folder.path().join("urls.txt");
    let target = Target::start("--no-truth --delay exponential:2ms --error 503=5% --reset 2% --half 1%");
    let (url, line) =
        (target.url(), |name: &str| format!("{{\"url\":\"{}{name}\",\"name\":\"{name}\"}}\n", target.url()));
    std::fs::write(&urls, format!("{}{}", line("buy"), line("look"))).unwrap();
    assert!(url.starts_with("http://127.0.0.1:"));
    let load = format!("--rate 2000 --warmup 500ms --duration 2s --samples --out {}", out.display());
    let run = Tare::http(&load)
        .arg("--to")
        .arg(format!("jsonl:{}?events=1", lines.display()))
        .arg(urls.display().to_string())
        .run();
    let found = read_json("samples.py", &[&out.join("samples.parquet"), &lines]);
    for reader in ["duckdb", "pyarrow"] {
        outcomes_agree(&run, &found[reader]);
        percentiles_agree(&run, &found[reader]);
    }
    let facts = &found["facts"];
    assert_eq!(facts["rows"], run.total("offered") + run.int("warmup.count"), "{facts}");
    assert_eq!(facts["seqs"], facts["rows"]);
    assert_eq!(facts["warmup"], run.int("warmup.count"));
    for never in ["backwards", "latency_off", "service_off", "lateness_off", "order_off"] {
        assert_eq!(facts[never], 0, "{never}");
    }
    assert_eq!(facts["groups"], serde_json::json!(["buy", "look"]));
    // 2 000/s: departure n is due 500 000·n ns after the origin.
    for pair in facts["due"].as_array().unwrap() {
        assert_eq!(pair[1].as_u64().unwrap(), 500_000 * pair[0].as_u64().unwrap());
    }
    assert_eq!(found["metadata"]["tare.run"], run.result["run"]);
    assert_eq!(found["metadata"]["tare.plan_hash"], run.result["plan_hash"]);
    assert_eq!(found["metadata"]["tare.warmup_ns"], "500000000");
    assert_eq!(found["lines_are_the_same"], true);
    let sinks = run.result["sinks"].as_array().expect("two sinks");
    assert!(
        sinks.iter().all(|sink| sink["events"] == facts["rows"] && sink["events_lost"] == 0),
        "{sinks:?}"
    );
    assert!(!out.join(".samples.parquet.part").exists());
}

/// Each departure is a row, or among those that were given up together, or counted as lost.
#[test]
fn an_overloaded_generator_says_what_has_no_row() {
    let _shared = beside_others();
    let folder = scratch();
    let out = folder.path().join("run");
    let target = Target::start("--no-truth --delay 20ms");
    let load = format!(
        "--rate 1M --connections 50 --grace 200ms --duration 300ms --samples --out {} {}",
        out.display(),
        target.url()
    );
    let run = Tare::http(&load).run();
    let found = read_json("samples.py", &[&out.join("samples.parquet")]);
    let rows = found["facts"]["rows"].as_u64().unwrap();
    let outcomes = found["duckdb"]["outcomes"].as_array().unwrap();
    let missed = outcomes.iter().filter(|row| row[0] == "missed").map(|row| row[2].as_u64().unwrap());
    let given_up = run.total("missed") - missed.sum::<u64>();
    let lost = run.result["sinks"][0]["events_lost"].as_u64().unwrap();
    assert_eq!(rows + given_up + lost, run.total("offered"), "{run}");
    assert_eq!(found["facts"]["seqs"], found["facts"]["rows"]);
    assert!(rows >= run.total("done"), "{run}");
}

/// A disk that is too small for the samples, but not for the result: what is lost is counted, and nothing else
/// is.
#[test]
fn a_full_disk_costs_samples_and_is_told() {
    let _shared = beside_others();
    need_root();
    need("unshare");
    let folder = scratch();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let copy = folder.path().join("copy");
    let target = Target::start("--no-truth --size uniform:0,3000");
    // 40 000 rows of about 14 bytes, and room for 900 KiB, of which 512 are held for the result.
    let script = format!(
        "set -e\nmount -t tmpfs -o size=900k tare-test {0}\nset +e\n\"$@\"\nstatus=$?\ncp -r {0}/run {1}\nexit $status\n",
        disk.display(),
        copy.display()
    );
    let file = folder.path().join("run.sh");
    std::fs::write(&file, script).unwrap();
    let load = format!("--rate 20000 --duration 2s --samples --out {}/run {}", disk.display(), target.url());
    let run = Tare::http(&load)
        .through(&format!("unshare --mount --propagation private sh {}", file.display()))
        .run();
    let sink = &run.result["sinks"][0];
    assert_eq!(sink["events_lost"], run.total("offered"), "{sink} {run}");
    assert!(sink["trouble"].as_str().unwrap().contains("No space left on device"), "{sink}");
    let criterion = run.criterion("sinks.lost");
    assert!(!criterion.holds && criterion.severity == "DEGRADED", "{criterion:?}");
    assert_ne!(run.word(), "VALID");
    assert_eq!(run.result["store"]["lost"].as_array().map(Vec::len), Some(0), "{run}");
    for name in ["result.json", "report.html", "latency.hlog", "intervals.jsonl"] {
        assert!(copy.join(name).is_file(), "{name}: {run}");
    }
    assert!(!copy.join("samples.parquet").exists() && !copy.join(".samples.parquet.part").exists());
}

/// SIGKILL: JSON lines are readable up to the last, the Parquet file is only a part.
#[test]
fn a_killed_run_leaves_readable_lines() {
    let _shared = beside_others();
    let folder = scratch();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let target = Target::start("--no-truth");
    let load = format!("--rate 2000 --duration 60s {}", target.url());
    let lines = format!("jsonl:{}?events=1", at("a.jsonl").display());
    let parquet = format!("parquet:{}", at("a.parquet").display());
    let from = Instant::now();
    let running = Tare::http(&load).arg("--to").arg(lines).arg("--to").arg(parquet).start();
    running.sleep_until(Duration::from_secs(2));
    running.process.signal(Signal::KILL);
    let most = 1 + from.elapsed().as_millis() as usize * 2;
    let run = running.finish_unchecked();
    assert_eq!(run.code, None, "{run}");
    let text = std::fs::read_to_string(at("a.jsonl")).unwrap();
    let parsed = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|why| panic!("{why}: {line}")));
    let rows = parsed.filter(|line| line["type"] == "event").count();
    // 2 000/s for 2 s or longer, less what was still in buffers and the start of the program.
    assert!((1_000..=most).contains(&rows), "{rows} of {most}");
    assert!(!at("a.parquet").exists() && at(".a.parquet.part").exists());
}

/// Ctrl-C is an end like any other.
#[test]
fn an_interrupted_run_has_whole_samples() {
    let _shared = beside_others();
    let folder = scratch();
    let out = folder.path().join("run");
    let target = Target::start("--no-truth --delay 5ms");
    let load = format!("--parallel 8 --duration 60s --samples --out {} {}", out.display(), target.url());
    let running = Tare::http(&load).start();
    running.sleep_until(Duration::from_millis(1_500));
    running.interrupt();
    let run = running.finish();
    let found = read_json("samples.py", &[&out.join("samples.parquet")]);
    outcomes_agree(&run, &found["duckdb"]);
    assert!(outcome_in(&run.result["outcomes"], "200") > 100, "{run}");
}

#[test]
fn places_that_can_not_be_are_refused_before_any_load() {
    let _shared = beside_others();
    let refused = |arguments: &str, words: &[&str]| {
        let run = Tare::new(&format!("http --no-progress {arguments} http://127.0.0.1:9/")).run();
        assert_eq!(run.code, Some(2), "{run}");
        assert!(words.iter().all(|word| run.stderr.contains(word)), "{words:?}: {run}");
    };
    refused("--samples --no-save", &["--samples", "--no-save"]);
    refused("--no-save --to parquet:-", &["--to parquet:-", "jsonl:-?events=1"]);
    refused("--no-save --to arrow:-", &["--to arrow:-", "parquet:", "jsonl:"]);
    refused("--no-save --to parquet:/tmp", &["parquet:/tmp", "is a folder"]);
    refused("--no-save --to parquet:/nonexistent/x", &["its folder does not exist"]);
    refused("--no-save --to parquet:a.parquet?rows=7", &["no option rows"]);
}
