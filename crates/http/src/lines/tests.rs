//! The whole of it on real files: uniformity, equal sequences, files that shrink, size.

use super::order::Draws;
use super::scan::line_start;
use super::testing::{child, is_child};
use super::*;
use plan::LineOrder;
use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::NamedTempFile;

fn file_with(text: impl AsRef<[u8]>) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_ref()).unwrap();
    file.flush().unwrap();
    file
}

fn open(file: &NamedTempFile, order: LineOrder, seed: u64) -> Arc<LineFile> {
    Arc::new(LineFile::open(file.path(), order, seed).unwrap())
}

/// As if the file were too large to be indexed.
fn open_unindexed(file: &NamedTempFile, seed: u64) -> Arc<LineFile> {
    Arc::new(LineFile::open_with(file.path(), Kind::Requests, LineOrder::Random, seed, 0).unwrap())
}

fn sequence(file: &Arc<LineFile>, seqs: impl IntoIterator<Item = u64>) -> Vec<String> {
    let mut cursor = LineCursor::new(file);
    let mut text = |seq| String::from_utf8(cursor.line_for(seq).unwrap().0.to_vec()).unwrap();
    seqs.into_iter().map(&mut text).collect()
}

/// 50 URLs of 9 to about 4 000 characters; the last without a newline.
fn uneven_urls() -> (String, usize) {
    let lines: Vec<String> =
        (0..50).map(|i| format!("http://{:a<width$}", i, width = 2 + i * i * 8 / 5)).collect();
    (lines.join("\n"), lines.len())
}

fn chi_square(counts: &HashMap<String, u64>, categories: usize) -> f64 {
    let total: u64 = counts.values().sum();
    let expected = total as f64 / categories as f64;
    let missing = (categories - counts.len()) as f64 * expected;
    counts.values().map(|count| (*count as f64 - expected).powi(2) / expected).sum::<f64>() + missing
}

fn tally(lines: impl IntoIterator<Item = String>) -> HashMap<String, u64> {
    let mut counts = HashMap::new();
    lines.into_iter().for_each(|line| *counts.entry(line).or_default() += 1);
    counts
}

/// χ² with 49 degrees of freedom exceeds 85.35 once in 1 000 (table; Wilson–Hilferty gives
/// 49·(1 − 2/441 + 3.090·√(2/441))³ = 85.4). The seeds are fixed, so this cannot flake.
const CRITICAL: f64 = 85.35;

#[test]
fn random_is_uniform_over_lines_whatever_their_length() {
    let (text, lines) = uneven_urls();
    let file = file_with(&text);
    for seed in 1..4 {
        for opened in [open(&file, LineOrder::Random, seed), open_unindexed(&file, seed)] {
            let statistic = chi_square(&tally(sequence(&opened, 0..100_000)), lines);
            assert!(statistic < CRITICAL, "{statistic} with seed {seed}, indexed: {:?}", opened.requests());
        }
    }
}

#[test]
fn the_test_for_uniformity_would_notice_a_choice_of_bytes() {
    let (text, lines) = uneven_urls();
    let mut draws = Draws::new(1, 0);
    let by_byte = (0..100_000).map(|_| line_start(text.as_bytes(), draws.below(text.len() as u64) as usize));
    let statistic = chi_square(&tally(by_byte.map(|start| start.to_string())), lines);
    assert!(statistic > 10.0 * CRITICAL, "{statistic}");
}

#[test]
fn neighbouring_draws_are_independent() {
    // Pairs of neighbours over 7 lines: 49 equally likely pairs, so 48 degrees of freedom; 84.04 once in 1 000.
    let file = file_with((0..7).map(|i| format!("http://host/{i}\n")).collect::<String>());
    let all = sequence(&open(&file, LineOrder::Random, 5), 0..100_000);
    let pairs = all.chunks_exact(2).map(|pair| pair.join(" "));
    let statistic = chi_square(&tally(pairs), 49);
    assert!(statistic < 84.04, "{statistic}");
}

#[test]
fn the_sequence_is_the_same_for_any_number_of_threads() {
    let (text, _) = uneven_urls();
    let file = file_with(&text);
    for order in [LineOrder::Random, LineOrder::Sequential, LineOrder::Shuffle] {
        let opened = open(&file, order, 42);
        let whole = sequence(&opened, 0..999);
        for threads in [2u64, 3, 7] {
            let shares: Vec<_> = (0..threads)
                .map(|share| {
                    let opened = Arc::clone(&opened);
                    let seqs = (share..999).step_by(threads as usize);
                    std::thread::spawn(move || sequence(&opened, seqs))
                })
                .map(|thread| thread.join().unwrap().into_iter())
                .collect();
            let mut shares = shares;
            let merged: Vec<_> =
                (0..999).map(|seq| shares[(seq % threads) as usize].next().unwrap()).collect();
            assert_eq!(merged, whole, "{order:?}, {threads} threads");
        }
        assert_eq!(sequence(&open(&file, order, 42), 0..999), whole);
        let other_seed = sequence(&open(&file, order, 43), 0..999);
        assert_eq!(other_seed == whole, order == LineOrder::Sequential);
    }
}

#[test]
fn a_shuffle_sends_every_line_once_a_pass() {
    let file = file_with((0..100).map(|i| format!("http://h/{i}\n")).collect::<String>());
    let opened = open(&file, LineOrder::Shuffle, 3);
    let passes = sequence(&opened, 0..300);
    let mut sorted: Vec<Vec<String>> = passes.chunks(100).map(<[String]>::to_vec).collect();
    assert_ne!(sorted[0], sorted[1]);
    assert_ne!(sorted[0], sequence(&open(&file, LineOrder::Sequential, 3), 0..100));
    sorted.iter_mut().for_each(|pass| pass.sort());
    assert_eq!(sorted[0], sorted[1]);
    sorted[0].dedup();
    assert_eq!(sorted[0].len(), 100);
}

#[test]
fn sequential_goes_round_and_back() {
    let file = file_with("\u{20}http://a/\r\n\r\n# comment\r\nhttp://b/\n\n\thttp://c/");
    let opened = open(&file, LineOrder::Sequential, 1);
    let all = sequence(&opened, [0, 1, 2, 3, 4, 8, 1, 0, 300]);
    assert_eq!(all.iter().map(|line| &line[7..8]).collect::<String>(), "abcabcbaa");
    let mut cursor = LineCursor::new(&opened);
    let (line, at) = cursor.line_for(1).unwrap();
    // " http://a/␍␊" is 12 bytes, "␍␊" 2, "# comment␍␊" 11.
    assert_eq!((line, at), (&b"http://b/"[..], LineAt { offset: 25 }));
    assert_eq!(opened.line_number_at(25), 4);
    assert_eq!(opened.first().unwrap(), b"http://a/");
}

#[test]
fn files_that_hold_no_requests_are_refused() {
    for order in [LineOrder::Random, LineOrder::Sequential, LineOrder::Shuffle] {
        let refused = |file: &NamedTempFile| LineFile::open(file.path(), order, 1).unwrap_err();
        assert!(matches!(refused(&file_with("")), LinesError::Empty { .. }));
        assert!(matches!(refused(&file_with("\n \n# x\n\r\n")), LinesError::Empty { .. }));
        assert!(matches!(
            LineFile::open(Path::new("/dev/null/none"), order, 1),
            Err(LinesError::Open { .. })
        ));
        assert!(matches!(LineFile::open(Path::new("/"), order, 1), Err(LinesError::NotAFile { .. })));
        assert!(matches!(LineFile::open(Path::new("/dev/null"), order, 1), Err(LinesError::NotAFile { .. })));
    }
}

#[test]
fn the_first_lines_are_checked_and_named() {
    let check = |text: &[u8]| {
        let file = file_with(text);
        open(&file, LineOrder::Random, 1)
            .check_first(
                |_, line| if line.starts_with(b"http:") { Ok(()) } else { Err("has no scheme".into()) },
            )
            .map_err(|error| error.to_string().replace(&file.path().display().to_string(), "F"))
    };
    assert_eq!(check(b"http://a/\n# c\nhttp://b/"), Ok(()));
    assert_eq!(check(b"http://a/\n\nhtp://b/\n"), Err("F, line 3: 'htp://b/' has no scheme".to_owned()));
    let binary = "F, line 2: is not text; expected one URL or JSON object per line";
    assert_eq!(check(b"http://a/\nhttp:\0\n"), Err(binary.to_owned()));
    assert_eq!(check(b"http://a/\nhttp:\xff\n"), Err(binary.to_owned()));
    assert_eq!(check(&[b"http://a/\n".to_vec(), vec![0; 3 << 20]].concat()), Err(binary.to_owned()));
    let long = check(&[b"http://a/\n".to_vec(), vec![b'a'; 3 << 20]].concat());
    assert_eq!(long, Err("F: the line at byte 10 is longer than 1048576 bytes".to_owned()));
    // Line 10 001 is not looked at.
    assert_eq!(check(&[b"http://a/\n".repeat(10_000), b"bad\n".to_vec()].concat()), Ok(()));
    assert!(check(&[b"http://a/\n".repeat(9_999), b"bad\n".to_vec()].concat()).is_err());
}

#[test]
fn a_line_too_long_is_only_that_line() {
    let file = file_with([b"http://a/\n".to_vec(), vec![b'a'; 2 << 20], b"\nhttp://c/".to_vec()].concat());
    let mut cursor = LineCursor::new(&open(&file, LineOrder::Sequential, 1));
    assert!(cursor.line_for(0).is_ok());
    let error = cursor.line_for(1).unwrap_err();
    assert!(matches!(error, LinesError::LineTooLong { offset: 10, .. }) && !error.is_fatal());
    assert_eq!(cursor.line_for(2).unwrap().0, b"http://c/");
}

/// Asks until an error comes; the file has fewer lines than that.
fn first_error(opened: &Arc<LineFile>) -> LinesError {
    let mut cursor = LineCursor::new(opened);
    (0..100_000).find_map(|seq| cursor.line_for(seq).err()).expect("the loss of the file goes unnoticed")
}

#[test]
fn a_truncated_file_is_an_error_and_not_a_signal() {
    // A whole number of pages goes, all of them go, or only a part of one page.
    for (lines, left) in [(20_000, 8_192), (20_000, 0), (20_000, 5_000), (100, 1_000)] {
        for order in [LineOrder::Random, LineOrder::Sequential, LineOrder::Shuffle] {
            let file = file_with(b"http://host/path\n".repeat(lines));
            let opened = open(&file, order, 1);
            file.as_file().set_len(left).unwrap();
            match first_error(&opened) {
                LinesError::Truncated { expected, now, .. } => {
                    assert_eq!((expected, now), (17 * lines as u64, left), "{order:?}");
                }
                other => panic!("{order:?}: {other}"),
            }
            // Another cursor learns of it as well, and so does a report.
            assert!(matches!(first_error(&opened), LinesError::Truncated { .. }));
            assert!(opened.line_number_at(17 * lines as u64) >= 1);
        }
        let file = file_with(b"http://host/path\n".repeat(lines));
        let opened = open_unindexed(&file, 1);
        file.as_file().set_len(left).unwrap();
        assert!(matches!(first_error(&opened), LinesError::Truncated { .. }));
    }
}

#[test]
fn a_file_truncated_while_threads_read_it_ends_each_of_them() {
    let file = file_with(b"http://host/path\n".repeat(200_000));
    let opened = open(&file, LineOrder::Random, 1);
    let running = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (opened, running) = (Arc::clone(&opened), Arc::clone(&running));
            std::thread::spawn(move || {
                let mut cursor = LineCursor::new(&opened);
                (0..).find_map(|seq| {
                    running.store(true, Ordering::Relaxed);
                    cursor.line_for(seq).err()
                })
            })
        })
        .collect();
    while !running.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    file.as_file().set_len(100).unwrap();
    for reader in readers {
        assert!(matches!(reader.join().unwrap(), Some(LinesError::Truncated { now: 100, .. })));
    }
}

#[test]
fn a_file_that_grows_goes_on_as_it_was() {
    let file = file_with(b"http://host/path\n".repeat(10));
    let opened = open(&file, LineOrder::Shuffle, 1);
    file.as_file().set_len(100_000).unwrap();
    assert_eq!(sequence(&opened, 0..10_000).len(), 10_000);
}

fn private_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The best of seven, in a process of its own, and against reading the same file line by line: a busy machine
/// does not fail it.
#[test]
fn five_million_lines_open_at_once_and_take_no_memory() {
    if !is_child() {
        let output = child(module_path!(), "five_million_lines_open_at_once_and_take_no_memory");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let small = file_with(b"http://127.0.0.1:8080/\n".repeat(10));
    let large = NamedTempFile::new().unwrap();
    let mut out = BufWriter::with_capacity(1 << 20, large.as_file());
    for i in 0..5_000_000 {
        writeln!(out, "http://127.0.0.1:8080/some/path/of/a/page/{i:017}").unwrap();
    }
    out.flush().unwrap();
    drop(out);
    assert!((290_000_000..310_000_000).contains(&large.as_file().metadata().unwrap().len()));
    let read = || {
        use std::io::{BufRead, BufReader};
        let began = std::time::Instant::now();
        let (mut lines, mut line) = (BufReader::new(std::fs::File::open(large.path()).unwrap()), Vec::new());
        while lines.read_until(b'\n', &mut line).unwrap() > 0 {
            line.clear();
        }
        began.elapsed()
    };
    for order in [LineOrder::Random, LineOrder::Shuffle, LineOrder::Sequential] {
        let time = |file: &NamedTempFile| {
            let began = std::time::Instant::now();
            let mut cursor = LineCursor::new(&open(file, order, 1));
            cursor.line_for(0).unwrap();
            began.elapsed()
        };
        let before = private_kib();
        // In turns, so that what others do to this machine is in all of them, or in none.
        let rounds: [[_; 3]; 7] = std::array::from_fn(|_| [time(&small), time(&large), read()]);
        let [short, long, reading] =
            std::array::from_fn(|of| rounds.iter().map(|round| round[of]).min().unwrap());
        let opened = open(&large, order, 1);
        let mut cursor = LineCursor::new(&opened);
        let began = std::time::Instant::now();
        (0..200_000).for_each(|seq| assert!(cursor.line_for(seq).is_ok()));
        let each = began.elapsed() / 200_000;
        let grown = private_kib().saturating_sub(before);
        println!(
            "{order:?}: 10 lines {short:?}, 5 000 000 lines {long:?} (read by line {reading:?}), {each:?} a line, {grown} KiB"
        );
        assert!(long < short + 2 * reading, "{order:?} took {long:?}, reading {reading:?}");
        assert!(grown < 8 << 10, "{order:?} took {grown} KiB");
    }
}

#[test]
fn what_lines_name_is_found_wherever_it_stands() {
    let file = file_with("http://a/{line:x}\n# {line:y}\nhttp://a/{line:open\nhttp://b/{line:x}/{line:z 1}");
    let found = open(&file, LineOrder::Sequential, 1).between("{line:", b'}');
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["x", "y", "z 1"]);
}

#[test]
fn values_stand_as_they_are_written() {
    let file = file_with("\u{feff}#first\ntwo \n\n \t\r\n\tfive\r\n# six");
    let values = Arc::new(LineFile::open_values(file.path()).unwrap());
    assert_eq!(sequence(&values, 0..5), ["#first", "two ", "\tfive", "# six", "#first"]);
    assert_eq!(sequence(&open(&file, LineOrder::Sequential, 1), 0..3), ["two", "five", "two"]);
    let comment = file_with("#ff0000\n");
    assert_eq!(sequence(&Arc::new(LineFile::open_values(comment.path()).unwrap()), [7]), ["#ff0000"]);
    assert!(matches!(LineFile::open_values(file_with("\n \n").path()), Err(LinesError::Empty { .. })));
}
