//! What is left of a run that never came to its end, and of results that were damaged.

use crate::rows::{now, result, row};
use measure::Series;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use store::schema::{GroupResult, Word};
use store::{RunFolder, RunResult, Sink, StoreError, load_run, merged_series};

fn begun() -> RunResult {
    RunResult {
        command: "tare http --rate 3 http://h/".to_owned(),
        groups: ["home", "a, b"]
            .map(|name| GroupResult { name: name.to_owned(), ..GroupResult::default() })
            .to_vec(),
        ..result()
    }
}

/// A run of so many seconds whose end never came; the sink is its process.
fn left(out: &Path, rows: u64) -> RunFolder {
    let mut sink = RunFolder::create(Some(out), "http", now()).unwrap();
    sink.begin(&begun());
    sink.attach("plan.toml", b"seed = 7\n");
    (0..rows).for_each(|n| sink.row(&row(n)));
    sink
}

#[test]
fn a_killed_run_is_rebuilt_from_its_intervals() {
    let base = tempfile::tempdir().unwrap();
    let out = base.path().join("run");
    let sink = left(&out, 3);
    let running = load_run(&out).unwrap_err();
    assert!(matches!(running, StoreError::Running(_)) && running.to_string().contains("is still running"));
    end(sink);
    let run = load_run(&out).unwrap();
    let result = &run.result;
    assert_eq!(run.plan, "seed = 7\n");
    let label = "killed: rebuilt from its 3 intervals; at most the last interval is missing";
    assert_eq!(result.labels, [label.into()]);
    assert!(result.partial && result.command == begun().command && result.engine == "http");
    assert_eq!(result.verdict.word, Word::Invalid);
    assert_eq!((result.verdict.criteria.len(), result.verdict.criteria[0].name.as_str()), (1, "finished"));
    // Row n has n + 1 answers and one departure without a port.
    let totals = result.totals;
    assert_eq!((totals.offered, totals.done, totals.missed, totals.cut_off), (9, 6, 3, 0));
    let outcomes: Vec<_> = result.outcomes.iter().map(|one| (one.key.as_str(), one.count)).collect();
    assert_eq!(outcomes, [("200", 6), ("missed.no_port", 3)]);
    assert_eq!(
        (result.rate.duration_s, result.rate.offered_per_s, result.rate.achieved_per_s),
        (3.0, 3.0, 2.0)
    );
    assert_eq!(result.latency_ns.count, 6);
    // 10 ms from due to done, within the histogram's 0.1 %.
    assert!((10_000_000..=10_010_000).contains(&result.latency_ns.p99_9), "{:?}", result.latency_ns);
    assert_eq!(result.intervals.len(), 3);
    // Departures n = 0, 2, 4… are of the first name: in row n those are ⌈(n + 1) / 2⌉.
    let groups: Vec<_> = result.groups.iter().map(|group| (group.name.as_str(), group.count)).collect();
    assert_eq!(groups, [("home", 4), ("a, b", 2)]);
    assert_eq!(result.series.done, [1, 2, 3]);
    assert!(run.timeline(400).bins.iter().all(|bin| bin.exact));
}

/// Ends a run that never came to its end. A program that another test starts at this moment holds a copy of the
/// folder's lock until its own code runs.
fn end(sink: RunFolder) {
    let out = sink.path().to_owned();
    drop(sink);
    let until = Instant::now() + Duration::from_secs(20);
    while matches!(load_run(&out), Err(StoreError::Running(_))) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Puts something else in the place of a line; lines count from 0.
fn damage(file: &Path, line: usize, with: &str) {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().enumerate().map(|(at, text)| if at == line { with } else { text });
    fs::write(file, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
}

#[test]
fn an_interval_that_is_damaged_in_the_middle_is_neither_counted_nor_timed() {
    let base = tempfile::tempdir().unwrap();
    let out = base.path().join("run");
    end(left(&out, 4));
    damage(&out.join("intervals.jsonl"), 1, "XX");
    let run = load_run(&out).unwrap();
    let said = "killed: rebuilt from its 3 intervals; 1 more is damaged, and missing in counts and rates; \
                the last interval may be missing, too";
    assert_eq!(run.result.labels, [said.into()]);
    // Rows 0, 2 and 3 have 1 + 3 + 4 answers, each with one more departure, in three seconds.
    let rate = run.result.rate;
    assert_eq!((run.result.totals.done, run.result.totals.offered), (8, 11));
    assert_eq!((rate.duration_s, rate.achieved_per_s), (3.0, 8.0 / 3.0));
    // The histograms of the second that is lost are in no other's.
    let heat =
        run.timeline(400).bins.iter().map(|bin| bin.heat.iter().map(|cell| cell.count).sum()).collect();
    let heat: Vec<u64> = heat;
    assert_eq!(heat, [1, 3, 4]);
    // A line that is gone leaves a gap in time.
    damage(&out.join("intervals.jsonl"), 1, "");
    let text = fs::read_to_string(out.join("intervals.jsonl")).unwrap().replace("\n\n", "\n");
    fs::write(out.join("intervals.jsonl"), text).unwrap();
    let result = load_run(&out).unwrap().result;
    assert!(
        result.labels[0].to_string().contains("1.000 s before the last of them are missing"),
        "{:?}",
        result.labels
    );
    assert_eq!(result.rate.duration_s, 3.0);
}

/// Frames that leave have no latency, and of those that come back some may be lost.
#[test]
fn a_log_of_a_load_of_frames_lacks_no_latency_that_nobody_measured() {
    let base = tempfile::tempdir().unwrap();
    // Row n has n + 1 departures. Of the six, this many have a latency.
    for (latencies, lacks) in [(0, None), (6, None), (4, None), (8, Some("the heat map lacks 2 of 8 times"))]
    {
        let out = base.path().join(latencies.to_string());
        let mut sink = left(&out, 3);
        let mut result = RunResult { engine: "send".to_owned(), ..result() };
        (result.latency_ns.count, result.totals.done) = (latencies, 60);
        sink.end_rows(&mut result);
        sink.save(&mut result);
        end(sink);
        let trouble = load_run(&out).unwrap().timeline_and_trouble(400).1;
        assert_eq!(
            trouble.as_deref(),
            lacks.map(|text| format!("latency.hlog is not whole: {text}")).as_deref()
        );
    }
    // One that was killed.
    let out = base.path().join("killed");
    let mut sink = RunFolder::create(Some(&out), "send", now()).unwrap();
    sink.begin(&RunResult { engine: "send".to_owned(), ..begun() });
    (0..3).for_each(|n| sink.row(&row(n)));
    end(sink);
    fs::write(out.join("latency.hlog"), "").unwrap();
    let notes = load_run(&out).unwrap().result.notes;
    assert!(notes.iter().all(|note| !note.contains("hlog")), "{notes:?}");
}

#[test]
fn a_log_of_times_that_lacks_something_is_told() {
    let base = tempfile::tempdir().unwrap();
    let (killed, finished) = (base.path().join("killed"), base.path().join("finished"));
    end(left(&killed, 3));
    let mut sink = left(&finished, 3);
    let mut result = result();
    (result.latency_ns.count, result.totals.done) = (6, 6);
    sink.end_rows(&mut result);
    sink.save(&mut result);
    end(sink);
    let notes = |out: &Path| {
        let run = load_run(out).unwrap();
        let trouble = run.timeline_and_trouble(400).1;
        run.result
            .notes
            .iter()
            .cloned()
            .chain(trouble)
            .filter(|note| note.contains("hlog"))
            .collect::<Vec<_>>()
    };
    assert!(notes(&killed).is_empty() && notes(&finished).is_empty());
    let log = fs::read_to_string(killed.join("latency.hlog")).unwrap();
    let first = log.lines().position(|line| line.starts_with("Tag=latency,")).unwrap();
    for (out, said) in [
        (&killed, "latency.hlog is damaged (1 line): times of the whole run are those of its other lines"),
        (&finished, "latency.hlog is damaged (1 line): the heat map lacks times in 1 of its 3 steps"),
    ] {
        damage(&out.join("latency.hlog"), first, "Tag=latency,XX");
        assert_eq!(notes(out), [said]);
    }
    for (out, said) in [
        (&killed, "latency.hlog is not whole: it has the times of 0 of 6 responses"),
        (&finished, "latency.hlog is not whole: the heat map lacks times in 3 of its 3 steps"),
    ] {
        fs::write(out.join("latency.hlog"), "").unwrap();
        assert_eq!(notes(out), [said]);
    }
    for (out, said) in [
        (&killed, "latency.hlog is missing: times of the whole run are not known"),
        (
            &finished,
            "latency.hlog is missing: there is no heat map, and percentiles over time are those of intervals",
        ),
    ] {
        fs::remove_file(out.join("latency.hlog")).unwrap();
        assert_eq!(notes(out), [said]);
    }
}

/// A reader that waits for a pipe waits for ever: it is another thread, which may be left behind.
#[test]
fn pipes_are_not_opened() {
    let base = tempfile::tempdir().unwrap();
    let read = |name: &str, finished: bool| {
        let out = base.path().join(name);
        let mut sink = left(&out, 2);
        if finished {
            let mut result = result();
            sink.end_rows(&mut result);
            sink.save(&mut result);
        }
        end(sink);
        let _ = fs::remove_file(out.join(name));
        assert!(Command::new("mkfifo").arg(out.join(name)).status().unwrap().success());
        let (say, said) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let read = load_run(&out).inspect(|run| {
                run.timeline(400);
                run.histograms();
            });
            say.send(Box::new(read.map_err(|why| why.to_string()))).expect("it is awaited");
        });
        *said.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("{name}: it waits for a pipe"))
    };
    let error = read("result.json", true).unwrap_err();
    assert!(error.ends_with("result.json: it is not a regular file"), "{error}");
    assert_eq!(read("plan.toml", true).unwrap().plan, "");
    assert_eq!(read("latency.hlog", false).unwrap().result.totals.done, 3);
    assert_eq!(read("intervals.jsonl", false).unwrap().result.totals.done, 0);
    assert!(read("begun.json", false).is_ok());
}

#[test]
fn what_is_no_result_says_so() {
    let base = tempfile::tempdir().unwrap();
    for text in ["[]", "{}", r#"{"schema":"else/1"}"#] {
        fs::write(base.path().join("result.json"), text).unwrap();
        let error = load_run(base.path()).unwrap_err().to_string();
        let said = "is damaged or no result of this program: it does not have the schema 'tare.result/1'";
        assert!(error.contains(said) && !error.contains("newer"), "{error}");
    }
}

#[test]
fn cut_off_at_any_byte_at_most_the_last_interval_is_missing() {
    let base = tempfile::tempdir().unwrap();
    let out = base.path().join("run");
    end(left(&out, 3));
    let rows = fs::read(out.join("intervals.jsonl")).unwrap();
    let ends: Vec<usize> = (0..rows.len()).filter(|at| rows[*at] == b'\n').collect();
    for length in (0..rows.len()).step_by(11) {
        fs::write(out.join("intervals.jsonl"), &rows[..length]).unwrap();
        let whole = ends.iter().filter(|end| **end < length).count();
        let result = load_run(&out).unwrap().result;
        assert_eq!(result.intervals.len(), whole);
        let totals = result.totals;
        assert_eq!(totals.offered, totals.done + totals.failed + totals.missed + totals.cut_off);
        assert_eq!(result.labels[0].to_string().contains("before its first interval"), whole == 0);
    }
    // Not even begun.json is needed; without any trace of a run it is no run folder.
    fs::remove_file(out.join("begun.json")).unwrap();
    let result = load_run(&out).unwrap().result;
    assert_eq!((result.intervals.len(), result.run.as_str()), (2, "run"));
    fs::remove_file(out.join("intervals.jsonl")).unwrap();
    assert!(load_run(&out).unwrap_err().to_string().contains("not a run folder"));
}

#[test]
fn what_had_no_outcome_when_it_was_killed_is_cut_off() {
    let base = tempfile::tempdir().unwrap();
    let out = base.path().join("run");
    let mut sink = left(&out, 0);
    let mut late = row(0);
    late.counters.due = 12;
    sink.row(&late);
    end(sink);
    let result = load_run(&out).unwrap().result;
    // 12 were due, one was answered, one was given up.
    assert_eq!((result.totals.offered, result.totals.cut_off, result.totals.sent), (12, 10, 11));
    assert_eq!(result.outcomes.last().map(|one| (one.class.as_str(), one.count)), Some(("cut_off", 10)));
    assert!(
        result.notes.iter().any(|note| note.starts_with("10 of what had been due")),
        "{:?}",
        result.notes
    );
}

#[test]
fn a_finished_run_has_no_begun_json_and_names_are_in_its_log() {
    let base = tempfile::tempdir().unwrap();
    let out = base.path().join("run");
    let mut sink = left(&out, 3);
    assert!(out.join("begun.json").exists());
    let mut result = result();
    sink.end_rows(&mut result);
    sink.save(&mut result);
    assert!(!out.join("begun.json").exists());
    let run = load_run(&out).unwrap();
    assert_eq!(merged_series(&run, Series::Latency).len(), 6);
    assert_eq!(merged_series(&run, Series::Tls).len(), 0);
    let histograms = run.histograms();
    assert_eq!(histograms.groups().collect::<Vec<_>>(), ["a, b", "home"]);
    assert_eq!(histograms.group("a, b").unwrap().len(), 2);
    let tagged = store::read_hlog(&out.join("latency.hlog")).unwrap();
    let of_b = tagged.filter(|entry| entry.group.as_deref() == Some("a, b"));
    assert!(of_b.into_iter().all(|entry| entry.series == "latency" && entry.histogram.sigfig() == 2));
}

/// A finished run whose `result.json` is then cut off after a share of its bytes.
fn cut_result(out: &Path, share: f64) -> String {
    let mut sink = left(out, 5);
    let mut result = RunResult { plan_hash: "abc".to_owned(), ..result() };
    result.totals.done = 15;
    sink.end_rows(&mut result);
    sink.save(&mut result);
    end(sink);
    let text = fs::read_to_string(out.join("result.json")).unwrap();
    fs::write(out.join("result.json"), &text[..(text.len() as f64 * share) as usize]).unwrap();
    text
}

#[test]
fn a_damaged_result_falls_back_to_what_is_whole() {
    let base = tempfile::tempdir().unwrap();
    // In its intervals: everything else is as it was written.
    let late = base.path().join("late");
    let text = cut_result(&late, 0.9);
    assert!(text.find("\n  \"intervals\": [").unwrap() < text.len() * 9 / 10);
    let result = load_run(&late).unwrap().result;
    assert_eq!((result.totals.done, result.plan_hash.as_str(), result.intervals.len()), (15, "abc", 5));
    assert!(
        result.labels[0].to_string().contains("line 1")
            && result.labels[0].to_string().contains("intervals.jsonl"),
        "{:?}",
        result.labels
    );
    // In its head: rebuilt.
    let early = base.path().join("early");
    cut_result(&early, 0.1);
    let result = load_run(&early).unwrap().result;
    assert_eq!((result.totals.done, result.verdict.word), (15, Word::Invalid));
    assert!(result.labels[0].to_string().contains("rebuilt from its 5 intervals"), "{:?}", result.labels);
    // Without intervals there is nothing to fall back to: the file and the line are named.
    fs::remove_file(early.join("intervals.jsonl")).unwrap();
    let error = load_run(&early).unwrap_err().to_string();
    assert!(error.contains("early/result.json") && error.contains("at line "), "{error}");
}

#[test]
fn a_newer_schema_says_which_version_reads_it() {
    let base = tempfile::tempdir().unwrap();
    let text = r#"{"schema":"tare.result/2","version":"0.9.0","verdict":"not what it was"}"#;
    fs::write(base.path().join("result.json"), text).unwrap();
    let error = load_run(base.path()).unwrap_err().to_string();
    let this = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "written by tare 0.9.0; this is tare {this}, which reads 'tare.result/1': use tare 0.9.0 or newer"
    );
    assert!(error.contains("tare.result/2") && error.contains(&expected), "{error}");
}
