//! Files of URLs: five million lines start as soon as ten, and what happens to the file under the run is told.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;
use tare_system_tests::wire::{Wire, answer_all};
use tare_system_tests::{Run, Tare, Target, alone, beside_others, scratch};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// `count` lines of 60 bytes each.
fn write_lines(path: &Path, url: &str, count: u64) {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).expect("a scratch file"));
    for n in 0..count {
        let mut line = format!("{url}{n:08}/");
        line.extend(std::iter::repeat_n('x', 59 - line.len()));
        writeln!(file, "{line}").expect("room for 300 MB");
    }
}

/// From the start of the program to its first connection, s; and its own memory while it runs, KiB.
fn first_request(path: &Path, wire: &Wire) -> (f64, u64) {
    let before = wire.accepted();
    let running = Tare::http(&format!("--rate 300 --duration 800ms {}", path.display())).start();
    while wire.accepted() == before {
        assert!(running.begun.elapsed() < Duration::from_secs(20), "nothing was sent");
        std::thread::sleep(Duration::from_micros(200));
    }
    let first = running.begun.elapsed().as_secs_f64();
    let mut anon = 0;
    while running.begun.elapsed().as_secs_f64() < first + 0.6 {
        anon = anon.max(running.process.rss_anon_kib().unwrap_or(0));
        std::thread::sleep(Duration::from_millis(20));
    }
    let run = running.finish();
    assert_eq!(run.outcome("200"), 240, "{run}");
    (first, anon)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn five_million_lines_start_as_soon_as_ten_and_cost_no_memory() {
    let _alone = alone();
    let folder = scratch();
    let wire = Wire::start(answer_all(ANSWER));
    let (small, large) = (folder.path().join("ten"), folder.path().join("five-million"));
    write_lines(&small, &wire.url(), 10);
    write_lines(&large, &wire.url(), 5_000_000);
    assert_eq!(large.metadata().expect("it was written").len(), 300_000_000);
    // A B A B, so that what the machine does meanwhile meets both.
    let pairs: Vec<_> =
        (0..3).map(|_| (first_request(&small, &wire), first_request(&large, &wire))).collect();
    let (with_ten, with_all) = (
        median(pairs.iter().map(|pair| pair.0.0).collect()),
        median(pairs.iter().map(|pair| pair.1.0).collect()),
    );
    assert!(with_all - with_ten < 0.3, "{pairs:?}");
    let (least, most) = (pairs.iter().map(|pair| pair.0.1).min(), pairs.iter().map(|pair| pair.1.1).max());
    let (least, most) = (least.expect("three runs"), most.expect("three runs"));
    assert!(least > 0 && most - least.min(most) < 8 * 1024, "{pairs:?}");
}

fn sequential(path: &Path, load: &str) -> Run {
    Tare::http(&format!("--order sequential {load} {}", path.display())).run()
}

#[test]
fn a_bad_line_far_down_is_an_outcome_that_names_its_number() {
    let _shared = beside_others();
    let folder = scratch();
    let file = folder.path().join("urls");
    let target = Target::start("--no-truth");
    write_lines(&file, &target.url(), 20_000);
    // Lines count from 1; the first 10 000 are checked before the start, so these two are met on the way.
    let mut lines: Vec<String> =
        std::fs::read_to_string(&file).expect("it was written").lines().map(str::to_owned).collect();
    lines[14_999] = "http://".to_owned();
    lines[17_776] = "gopher://127.0.0.1/".to_owned();
    std::fs::write(&file, lines.join("\n")).expect("a scratch file");
    let run = sequential(&file, "--parallel 8 --requests 20000");
    assert_eq!((run.outcome("missed.bad_line"), run.outcome("200")), (2, 19_998), "{run}");
    assert!(run.criterion("source.lost").advice.contains("2 departures had lines"), "{run}");
    assert!(run.remarks().contains("15000") && run.remarks().contains("17777"), "{run}");

    // Among the first 10 000 it is refused, with its number, before anything is sent.
    lines[4_321] = "http://".to_owned();
    std::fs::write(&file, lines.join("\n")).expect("a scratch file");
    let refused = Tare::http(&format!("--requests 100 {}", file.display())).run();
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused}");
    assert!(refused.stderr.contains("4322"), "{refused}");
}

#[test]
fn recorded_times_that_go_away_under_the_run_are_missed() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    for (what, words) in [("shrank", ""), ("went bad", "soon\n")] {
        let folder = scratch();
        let file = folder.path().join("times");
        let times: String = (0..40_000).map(|n| format!("{:.4}\n", f64::from(n) * 0.0005)).collect();
        std::fs::write(&file, &times).expect("a scratch file");
        let running = Tare::http(&format!("--at {} {}", file.display(), target.url())).start();
        running.sleep_until(Duration::from_millis(700));
        std::fs::write(&file, words.repeat(times.len() / 5)).expect("a scratch file");
        let run = running.finish();
        assert!(run.took < Duration::from_secs(10), "{what}: {run}");
        assert_eq!(run.at("partial"), true, "{what}: {run}");
        assert!(run.at("labels").to_string().contains("--at"), "{what}: {run}");
        let lost = run.outcome("missed.source_lost");
        assert!(lost > 20_000 && run.outcome("200") + lost <= 40_000, "{what}: {run}");
        for name in ["source.lost", "departures.made"] {
            assert!(!run.criterion(name).holds, "{what}: {run}");
        }
        assert_ne!(run.word(), "VALID", "{what}: {run}");
    }
}

#[test]
fn a_file_that_is_truncated_under_the_run_ends_it_with_a_label() {
    let _shared = beside_others();
    for order in ["random", "sequential", "shuffle"] {
        let folder = scratch();
        let file = folder.path().join("urls");
        let target = Target::start("--no-truth");
        write_lines(&file, &target.url(), 300_000);
        let load = format!("--order {order} --rate 2k --duration 20s {}", file.display());
        let running = Tare::http(&load).start();
        running.sleep_until(Duration::from_millis(700));
        File::options().write(true).open(&file).and_then(|file| file.set_len(60)).expect("a scratch file");
        let run = running.finish();
        // A status, not SIGBUS, and long before the 20 s are over.
        assert!(run.code.is_some() && run.took < Duration::from_secs(10), "{order}: {run}");
        assert_eq!(run.at("partial"), true, "{order}: {run}");
        let labels = run.at("labels").to_string();
        assert!(labels.contains("truncated") || labels.contains("shrank"), "{order}: {run}");
        assert!(run.outcome("missed.source_lost") >= 1 && run.outcome("200") > 100, "{order}: {run}");
        assert!(!run.criterion("source.lost").holds, "{order}: {run}");
        assert_ne!(run.word(), "VALID", "{order}: {run}");
    }
}
