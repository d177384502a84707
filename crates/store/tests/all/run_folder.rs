//! A run folder as the rest of the program uses it, with rows made by hand.

use crate::rows::{now, result, row};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::fs;
use std::path::Path;
use store::{NoFolder, RunFolder, RunResult, Sink, TimelineBuilder, load_run};
use units::Picos;

fn store_run(out: &Path, rows: u64) -> RunResult {
    let mut sink = RunFolder::create(Some(out), "http", now()).unwrap();
    sink.attach("plan.toml", b"seed = 7\n");
    sink.attach("environment.json", b"{}");
    (0..rows).for_each(|n| sink.row(&row(n)));
    let mut result = result();
    sink.end_rows(&mut result);
    sink.attach("report.html", b"<p>");
    sink.save(&mut result);
    result
}

#[test]
fn a_run_reads_back_as_it_was_stored() {
    let base = tempfile::tempdir().unwrap();
    let out = base.path().join("run");
    let stored = store_run(&out, 3);
    assert_eq!(stored.store.lost, []);
    assert_eq!(
        stored.store.kept,
        ["plan.toml", "environment.json", "intervals.jsonl", "latency.hlog", "report.html", "result.json"]
    );
    let run = load_run(&out).unwrap();
    assert_eq!(run.result, stored);
    assert_eq!(run.plan, "seed = 7\n");
    let done: Vec<u64> = run.intervals().map(|row| row.done).collect();
    assert_eq!(done, [1, 2, 3]);
    // Offered in second n: n + 1 taken from the schedule and 1 given up.
    assert_eq!(run.result.intervals[2].offered, 4);
    assert_eq!(run.result.intervals[2].missed, 1);
    // 10 ms from due to done, within the histogram's 0.1 %.
    let p50 = run.result.intervals[1].latency_p50_ns.unwrap();
    assert!((10_000_000..=10_010_000).contains(&p50), "{p50}");
    assert_eq!(load_run(&out.join("result.json")).unwrap().result, stored);
    let leftovers = fs::read_dir(&out)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".part"));
    assert_eq!(leftovers.count(), 0);
}

#[test]
fn the_histogram_log_opens_with_the_reader_of_hdrhistogram() {
    let base = tempfile::tempdir().unwrap();
    let out = base.path().join("run");
    store_run(&out, 3);
    let log = fs::read(out.join("latency.hlog")).unwrap();
    let mut latencies = Vec::new();
    let mut starts = 0;
    for entry in IntervalLogIterator::new(&log) {
        match entry.unwrap() {
            LogEntry::Interval(interval) => {
                if interval.tag().unwrap().as_str() == "latency" {
                    let text = interval.encoded_histogram();
                    let bytes = base64_decode(text);
                    let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
                    latencies.push((interval.start_timestamp().as_secs(), histogram.len()));
                }
            }
            LogEntry::BaseTime(since) | LogEntry::StartTime(since) => {
                assert_eq!(since.as_secs(), 1_795_176_000);
                starts += 1;
            }
        }
    }
    assert_eq!(latencies, [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(starts, 2);
}

/// RFC 4648 §4, just enough for a test.
fn base64_decode(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter(|byte| *byte != b'=');
    let (mut bits, mut held, mut bytes) = (0u32, 0, Vec::new());
    for digit in digits {
        let value = ALPHABET.iter().position(|letter| *letter == digit).unwrap();
        bits = bits << 6 | value as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

#[test]
fn a_folder_that_disappears_is_told_and_the_result_is_complete() {
    let base = tempfile::tempdir().unwrap();
    let out = base.path().join("run");
    let mut sink = RunFolder::create(Some(&out), "http", now()).unwrap();
    sink.row(&row(0));
    fs::remove_dir_all(&out).unwrap();
    sink.row(&row(1));
    let mut result = result();
    sink.end_rows(&mut result);
    sink.save(&mut result);
    let lost: Vec<&str> = result.store.lost.iter().map(|lost| lost.what.as_str()).collect();
    assert_eq!(lost, ["intervals.jsonl", "latency.hlog", "result.json"]);
    assert_eq!(result.intervals.len(), 2);
    assert!(result.store.kept.is_empty());
    assert!(load_run(&out).unwrap_err().to_string().starts_with("cannot read"));
}

/// The folder is a file system of 1 MiB, filled by somebody else while the run is under way.
#[test]
fn a_disk_that_others_fill_still_takes_the_result() {
    if !is_root() {
        println!("SKIPPED: mounting a file system needs root");
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let mount = Mount::tmpfs(base.path(), "1m");
    let out = base.path().join("run");
    let mut sink = RunFolder::create(Some(&out), "http", now()).unwrap();
    (0..3).for_each(|n| sink.row(&row(n)));
    let filled = fs::write(base.path().join("filler"), vec![1u8; 2 << 20]);
    assert_eq!(filled.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    (3..60).for_each(|n| sink.row(&row(n)));
    let mut result = result();
    sink.end_rows(&mut result);
    sink.save(&mut result);
    let lost: Vec<&str> = result.store.lost.iter().map(|lost| lost.what.as_str()).collect();
    assert_eq!(lost, ["intervals.jsonl", "latency.hlog"]);
    let stored = load_run(&out).unwrap();
    assert_eq!(stored.result, result);
    assert_eq!(stored.intervals().count(), 60);
    drop(mount);
}

fn is_root() -> bool {
    let id = std::process::Command::new("id").arg("-u").output().unwrap();
    id.stdout == b"0\n"
}

/// A mounted file system, unmounted when dropped.
struct Mount<'a>(&'a Path);

impl<'a> Mount<'a> {
    fn tmpfs(at: &'a Path, size: &str) -> Self {
        let options = format!("size={size}");
        let mut mount = std::process::Command::new("mount");
        assert!(mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(at).status().unwrap().success());
        Self(at)
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn without_a_folder_the_result_has_the_same_rows() {
    let base = tempfile::tempdir().unwrap();
    let kept = store_run(&base.path().join("run"), 5);
    let mut sink = NoFolder::new();
    (0..5).for_each(|n| sink.row(&row(n)));
    let mut result = result();
    sink.end_rows(&mut result);
    sink.save(&mut result);
    assert_eq!(result.intervals, kept.intervals);
    assert_eq!(result.series, kept.series);
    assert_eq!(sink.place(), None);
}

#[test]
fn older_and_newer_results_are_read() {
    let base = tempfile::tempdir().unwrap();
    let file = base.path().join("result.json");
    fs::write(&file, r#"{"schema":"tare.result/1","totals":{"done":7,"new":1},"brand_new":{}}"#).unwrap();
    let run = load_run(base.path()).unwrap();
    assert_eq!((run.result.totals.done, run.result.totals.failed), (7, 0));
    fs::write(&file, r#"{"schema":"tare.result/2"}"#).unwrap();
    assert!(load_run(base.path()).unwrap_err().to_string().contains("tare.result/2"));
    fs::write(&file, "{").unwrap();
    assert!(load_run(base.path()).unwrap_err().to_string().contains("damaged or no result"));
    fs::remove_file(&file).unwrap();
    assert!(load_run(base.path()).unwrap_err().to_string().contains("not a run folder"));
}

#[test]
fn a_stored_run_and_a_running_one_have_the_same_timeline() {
    let base = tempfile::tempdir().unwrap();
    let out = base.path().join("run");
    let stored = store_run(&out, 7);
    let run = load_run(&out).unwrap();
    for most in [3, 7, 400] {
        let mut builder = TimelineBuilder::expecting(most, 7);
        (0..7).for_each(|n| builder.push(&row(n)));
        let live = builder.view();
        assert_eq!(run.timeline(most), live, "{most}");
        assert!(live.bins.iter().all(|bin| bin.exact && !bin.heat.is_empty()));
        assert_eq!(live.bins.iter().map(|bin| bin.row.done).sum::<u64>(), 28);
    }
    let bins = run.timeline(400).bins;
    assert!(bins.iter().map(|bin| &bin.row).eq(&stored.intervals));
    fs::remove_file(out.join("latency.hlog")).unwrap();
    assert!(run.timeline(400).bins.iter().all(|bin| bin.exact && bin.heat.is_empty()));
    assert!(run.timeline(3).bins[..2].iter().all(|bin| !bin.exact));
}

#[test]
fn the_log_reads_back() {
    let base = tempfile::tempdir().unwrap();
    let out = base.path().join("run");
    store_run(&out, 3);
    let entries = |path: &Path| store::read_hlog(path).unwrap().collect::<Vec<_>>();
    let log = out.join("latency.hlog");
    let latencies: Vec<_> = entries(&log).into_iter().filter(|entry| entry.series == "latency").collect();
    assert_eq!(latencies.iter().map(|entry| entry.histogram.len()).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(latencies[2].start, Picos::from_secs(2));
    let p50 = latencies[2].histogram.value_at_quantile(0.5);
    assert!((10_000_000..=10_010_000).contains(&p50), "{p50}");
    // Cut off anywhere, it has the lines before that, and one that is damaged at most.
    let whole = fs::read(&log).unwrap();
    let cut = base.path().join("cut.hlog");
    for length in (0..whole.len()).step_by(7) {
        fs::write(&cut, &whole[..length]).unwrap();
        let mut reader = store::read_hlog(&cut).unwrap();
        let ends = whole[..length].split(|byte| *byte == b'\n').collect::<Vec<_>>();
        let lines = ends[..ends.len() - 1].iter().filter(|line| line.starts_with(b"Tag=")).count();
        assert_eq!(reader.by_ref().count(), lines);
        assert!(reader.damaged() <= 1);
    }
}

/// A line of 200 bytes that claims a histogram of 2^32 bytes, and one that inflates to 64 MiB of zeros.
#[test]
fn a_log_that_claims_too_much_is_not_believed() {
    use base64::Engine;
    use std::io::Write;
    let line = |bytes: &[u8]| {
        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
        format!("Tag=latency,0.000,1.000,1.000,{text}\n")
    };
    let header = |length: u32, digits: u32| {
        let mut bytes = 0x1c84_9313u32.to_be_bytes().to_vec();
        [length, 0, digits].iter().for_each(|word| bytes.extend(word.to_be_bytes()));
        bytes.extend(1u64.to_be_bytes());
        bytes.extend(u64::MAX.to_be_bytes());
        bytes.extend(1.0f64.to_be_bytes());
        bytes
    };
    let deflated = |bytes: &[u8]| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        let body = encoder.finish().unwrap();
        let mut all = 0x1c84_9314u32.to_be_bytes().to_vec();
        all.extend((body.len() as u32).to_be_bytes());
        all.extend(body);
        all
    };
    let bomb = vec![0u8; 64 << 20];
    // One value of 5 ns: five empty buckets (−5 is 9 in zigzag), then a count of 1 (2).
    let sound = [header(2, 3), vec![9, 2]].concat();
    let far = [header(10, 3), vec![0xff; 9], vec![2]].concat();
    let text = [
        line(&header(u32::MAX, 5)),
        line(&deflated(&[header(bomb.len() as u32, 3), bomb].concat())),
        line(&far),
        "Tag=latency,0.000,1.000\n".to_owned(),
        "Tag=latency,nan,1.000,1.000,AAAA\n".to_owned(),
        line(&sound),
        line(&deflated(&sound)),
    ]
    .concat();
    let mut reader = store::HlogReader::new(text.as_bytes());
    let values: Vec<u64> = reader.by_ref().map(|entry| entry.histogram.max()).collect();
    assert_eq!((values, reader.damaged()), (vec![5, 5], 5));
}
