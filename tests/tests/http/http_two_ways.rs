//! What can be done in two ways means the same in both: small and large files, epoll and io_uring, few and many
//! threads. What the target saw is compared, byte for byte.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tare_system_tests::wire::{Wire, read_request};
use tare_system_tests::{Run, Tare, Target, beside_others, need, scratch};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const WAYS: [&str; 2] = ["epoll", "uring"];

/// A list that a server's connections add to.
type Seen<T> = Arc<Mutex<Vec<T>>>;

fn taken<T>(seen: &Seen<T>) -> Vec<T> {
    std::mem::take(&mut seen.lock().expect("no panic while held"))
}

fn note<T>(seen: &Seen<T>, what: T) {
    seen.lock().expect("no panic while held").push(what);
}

/// A request with its body, as it came.
fn whole_request(stream: &mut TcpStream) -> Option<String> {
    let mut request = read_request(stream)?;
    let length = request.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a number"))];
    stream.read_exact(&mut body).ok()?;
    request.push_str(&String::from_utf8_lossy(&body));
    Some(request)
}

/// Keeps every request and answers 200.
fn recorder() -> (Wire, Seen<String>) {
    let seen: Seen<String> = Arc::default();
    let notes = seen.clone();
    let wire = Wire::start(move |stream| {
        while let Some(request) = whole_request(stream) {
            // An answer to HEAD has no body.
            let answer = if request.starts_with("HEAD ") { &ANSWER[..ANSWER.len() - 2] } else { ANSWER };
            note(&notes, request);
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    });
    (wire, seen)
}

/// Reads until the client has gone, and never answers. Notes how long each connection lived.
fn silent() -> (Wire, Seen<Duration>) {
    let lives: Seen<Duration> = Arc::default();
    let notes = lives.clone();
    let wire = Wire::start(move |stream| {
        let (begun, mut buffer) = (Instant::now(), [0; 4096]);
        while matches!(stream.read(&mut buffer), Ok(count) if count > 0) {}
        note(&notes, begun.elapsed());
    });
    (wire, lives)
}

/// Answers one request on each connection and closes it without a word before. Notes what came on each.
fn closing() -> (Wire, Seen<String>) {
    let seen: Seen<String> = Arc::default();
    let notes = seen.clone();
    let wire = Wire::start(move |stream| {
        if let Some(request) = read_request(stream) {
            note(&notes, request);
            let _ = stream.write_all(ANSWER);
        }
    });
    (wire, seen)
}

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a scratch file");
    path
}

#[test]
fn a_request_for_a_closed_connection_leaves_on_no_other() {
    let _shared = beside_others();
    let folder = scratch();
    let ((one, ones), (two, twos)) = (closing(), closing());
    let lines = format!("{{\"url\":\"{}one\"}}\n{{\"url\":\"{}two\"}}\n", one.url(), two.url());
    let list = file(folder.path(), "both.jsonl", &lines);
    for way in WAYS {
        let load = format!("--parallel 16 --requests 6000 --io {way} {}", list.display());
        let run = Tare::http(&load).run();
        let (ones, twos) = (taken(&ones), taken(&twos));
        let foreign = |seen: &[String], own: &str| seen.iter().filter(|head| !head.starts_with(own)).count();
        assert_eq!((foreign(&ones, "GET /one "), foreign(&twos, "GET /two ")), (0, 0), "{way}: {run}");
        // Each was answered, and each answer reached the one who had asked.
        assert_eq!((ones.len() + twos.len()) as u64, run.total("done"), "{way}: {run}");
    }
}

#[test]
fn with_tls_a_request_for_a_closed_connection_leaves_on_no_other() {
    let _shared = beside_others();
    let folder = scratch();
    let start = || Target::start("--tls --close-after 1 --close-quietly");
    let (one, two) = (start(), start());
    let lines = format!("{{\"url\":\"{}\"}}\n{{\"url\":\"{}\"}}\n", one.url(), two.url());
    let list = file(folder.path(), "both.jsonl", &lines);
    let run = Tare::http(&format!("-k --parallel 16 --requests 1500 --io uring {}", list.display())).run();
    // Bytes of another session would have ended this one.
    let of_tls = |key: &String| key.starts_with("tls") || key.starts_with("framing");
    assert!(!run.outcome_keys().iter().any(of_tls), "{run}");
    let answered: usize = [one.truth(), two.truth()].iter().map(|truth| truth.records.len()).sum();
    assert_eq!(answered as u64, run.total("done"), "{run}");
}

/// Names and counts.
type Counts = Vec<(String, u64)>;

/// What is compared of a result: outcomes and rows.
fn figures(run: &Run) -> (Counts, Counts) {
    let outcomes = run.outcome_keys().into_iter().map(|key| (key.clone(), run.outcome(&key))).collect();
    let groups = run.at("groups").as_array().into_iter().flatten();
    let row = |group: &Value| {
        (group["name"].as_str().unwrap_or_default().to_owned(), group["count"].as_u64().unwrap_or(0))
    };
    (outcomes, groups.map(row).collect())
}

/// 12 000 lines and more: the lines of a small file again and again.
fn repeated(small: &str) -> String {
    small.repeat(12_000usize.div_ceil(small.lines().count()))
}

#[test]
fn a_plan_means_the_same_with_a_small_and_a_large_file_by_epoll_and_by_io_uring() {
    let _shared = beside_others();
    let folder = scratch();
    let (wire, seen) = recorder();
    let url = wire.url();
    let with_login = url.replace("http://", "http://me:p%20w@");
    let users = file(folder.path(), "users.txt", "alice smith\nbob\n100%\n");
    let body = file(folder.path(), "body.json", "{\"n\": {seq}, \"f\": function(x){y}}");
    let users = users.display();
    let mut bare = String::new();
    for n in 0..40 {
        writeln!(bare, "{url}page/{n}?q={n}").expect("a String grows");
    }
    let mixed = format!(
        "{url}a?n={{seq}}&r={{random:hex:8}}\n# a comment\n{with_login}b\n\n{url}c?who={{line:{users}}}\n{url}{{{{seq}}}}\n"
    );
    let json = format!(
        "{{\"url\":\"{url}one\",\"name\":\"one\"}}\n\
         {{\"url\":\"{url}two?{{seq}}\",\"method\":\"PUT\",\"headers\":{{\"X-Own\":\"{{uuid}}\",\"Host\":\"h{{seq}}\"}},\
           \"body\":\"{{\\\"who\\\": \\\"{{line:{users}}}\\\"}}\"}}\n\
         {{\"url\":\"{url}three\",\"n\\u0061me\":\"three\",\"expect\":{{\"status\":[404]}}}}\n\
         {{\"url\":\"{url}four\",\"name\":\"one\",\"expect\":{{\"body_contains\":\"no\"}}}}\n\
         {{\"url\":\"{with_login}five\",\"method\":\"HEAD\"}}\n"
    );
    let plans = [
        (&bare, String::new()),
        (
            &bare,
            format!("-H X-Request-Id:{{uuid}} -H X-User:{{line:{users}}} -d n={{seq}}&w={{line:{users}}}"),
        ),
        (&bare, format!("-X PUT -u me:pw --host other -d @{}", body.display())),
        (&mixed, format!("-H X-Seq:{{seq}} -d @{}", body.display())),
        (&mixed, "--no-templates -d {seq}".to_owned()),
        (&json, "-H X-Own:common -H X-Seq:{seq} -d all".to_owned()),
        (&json, "--http 1.0 -d {random:dec:30}".to_owned()),
    ];
    for (number, (lines, flags)) in plans.into_iter().enumerate() {
        let small = file(folder.path(), &format!("small-{number}"), lines);
        let large = file(folder.path(), &format!("large-{number}"), &repeated(lines));
        let mut first: Option<(Vec<String>, (Counts, Counts))> = None;
        for list in [&small, &large] {
            for way in WAYS {
                let load = format!(
                    "--order sequential --parallel 1 --threads 1 --requests 130 --io {way} {flags} {}",
                    list.display()
                );
                let run = Tare::http(&load).run();
                let mut figures = figures(&run);
                if !lines.contains("name") {
                    // Few URLs have a row each.
                    figures.1.clear();
                }
                let now = (taken(&seen), figures);
                assert_eq!(now.0.len(), 130, "{run}");
                let (bytes, figures) = first.get_or_insert_with(|| now.clone());
                assert_eq!(
                    (bytes, figures),
                    (&mut now.0.clone(), &mut now.1.clone()),
                    "{list:?} by {way}: {run}"
                );
            }
        }
        let (bytes, figures) = first.expect("four runs");
        if number == 1 {
            let distinct: BTreeSet<&str> = bytes
                .iter()
                .map(|request| request.split("X-Request-Id: ").nth(1).expect("the field is sent"))
                .map(|rest| &rest[..36])
                .collect();
            assert_eq!(distinct.len(), 130, "a UUID each");
            assert!(bytes[1].contains("X-User: bob\r\n") && bytes[1].ends_with("n=1&w=bob"), "{}", bytes[1]);
        }
        if number == 3 {
            assert!(bytes[2].starts_with("POST /c?who=100%25 HTTP/1.1\r\n"), "{}", bytes[2]);
            assert!(bytes[2].ends_with("{\"n\": 2, \"f\": function(x){y}}"), "{}", bytes[2]);
            // `printf 'me:p w' | base64`
            assert!(bytes[1].contains("Authorization: Basic bWU6cCB3\r\n"), "{}", bytes[1]);
        }
        if number == 5 {
            // Two of five lines expect what never comes: 52 of 130.
            let failed: u64 =
                figures.0.iter().filter(|(key, _)| key.starts_with("expect")).map(|(_, n)| n).sum();
            assert_eq!(failed, 52, "{figures:?}");
            let rows: BTreeMap<_, _> = figures.1.iter().cloned().collect();
            assert_eq!((rows["one"], rows["(unnamed)"], rows["three"]), (52, 52, 26), "{rows:?}");
        }
    }
}

#[test]
fn a_weight_counts_wherever_in_the_file_it_stands() {
    let _shared = beside_others();
    let folder = scratch();
    let (wire, seen) = recorder();
    let url = wire.url();
    // 12 000 lines of weight 1, the last but one of weight 36 000: three quarters of 48 000 and a bit.
    let mut lines = format!("{{\"url\":\"{url}light\"}}\n").repeat(12_000);
    writeln!(lines, "{{\"url\":\"{url}heavy\",\"weight\":36000}}\n{{\"url\":\"{url}light\"}}")
        .expect("a String grows");
    let list = file(folder.path(), "weights.jsonl", &lines);
    let run = Tare::http(&format!("--parallel 4 --requests 2000 {}", list.display())).run();
    let heavy = taken(&seen).iter().filter(|request| request.starts_with("GET /heavy ")).count() as f64;
    // 1 500 of 2 000, standard deviation √(2 000 · ¾ · ¼) = 19.4; five of them are 97.
    assert!((heavy - 1_500.0).abs() < 97.0, "{heavy} of 2000; {run}");
    for order in ["sequential", "shuffle"] {
        let refused = Tare::http(&format!("--order {order} --requests 10 {}", list.display())).run();
        assert_eq!((refused.code, taken(&seen).len()), (Some(2), 0), "{refused}");
        assert!(refused.stderr.contains("--order") && refused.stderr.contains("line 12001"), "{refused}");
    }
}

#[test]
fn a_line_of_a_file_can_not_break_a_request() {
    let _shared = beside_others();
    let folder = scratch();
    let (wire, seen) = recorder();
    let values = file(folder.path(), "values", "plain\nalice smith\na\rEvil: 1\n");
    let values = values.display();
    let run = Tare::http(&format!("--parallel 1 --requests 30 {}?v={{line:{values}}}", wire.url())).run();
    assert_eq!(run.outcome("200"), 30, "{run}");
    let targets: BTreeSet<String> =
        taken(&seen).iter().map(|request| request.lines().next().unwrap_or_default().to_owned()).collect();
    let expected =
        ["GET /?v=a%0DEvil:%201 HTTP/1.1", "GET /?v=alice%20smith HTTP/1.1", "GET /?v=plain HTTP/1.1"];
    assert_eq!(targets, expected.map(str::to_owned).into());

    let run =
        Tare::http(&format!("--parallel 1 --requests 30 -H X-V:{{line:{values}}} {}", wire.url())).run();
    assert_eq!((run.outcome("missed.bad_line"), run.outcome("200")), (10, 20), "{run}");
    assert!(!taken(&seen).iter().any(|request| request.contains("Evil")), "{run}");
    let remarks = run.remarks();
    assert!(remarks.contains("line 3") && remarks.contains("control character"), "{run}");
}

#[test]
fn threads_that_have_no_connection_keep_no_requests() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    for way in WAYS {
        let load = format!("--parallel 2 --threads 5 --requests 50 --io {way} {}", target.url());
        let run = Tare::http(&load).limit(Duration::from_secs(30)).run();
        assert_eq!((run.total("done"), run.total("offered")), (50, 50), "{run}");
    }
}

#[test]
fn a_bound_of_connections_holds_over_all_threads() {
    let _shared = beside_others();
    let target = Target::start("--delay 20ms --no-truth");
    for (flags, most) in [("--parallel 2 --threads 4", 2), ("--max-open 1 --threads 3", 1)] {
        let run = Tare::http(&format!("--rate 400 --duration 500ms {flags} {}", target.url())).run();
        assert_eq!(run.int("connections.open_peak"), most, "{flags}: {run}");
    }
}

#[test]
fn each_pipelined_request_has_its_own_deadline() {
    let _shared = beside_others();
    let (wire, lives) = silent();
    let load = "--rate 5 --pipeline 16 --parallel 1 --timeout 1s --duration 4s --grace 1s";
    let run = Tare::http(&format!("{load} {}", wire.url())).run();
    assert!(run.outcome("first_byte.timeout") > 0, "{run}");
    // The first request times out after a second, whatever was sent behind it: not after the last, at 5 s.
    let first = taken(&lives).into_iter().next().expect("a connection ended");
    assert!(first < Duration::from_millis(2_500), "{first:?}; {run}");
}

#[test]
fn every_request_that_waits_is_given_up_in_its_time() {
    let _shared = beside_others();
    let (wire, _lives) = silent();
    let load = "--rate 100 --parallel 2 --timeout 500ms --spin never --duration 4s --grace 500ms";
    let run = Tare::http(&format!("{load} {}", wire.url())).run();
    assert_eq!(run.total("offered"), 400, "{run}");
    assert!(run.outcome("missed.no_connection") > 350, "{run}");
    // None leaves after its time; before, they were up to four seconds late.
    assert!(run.float("lateness_ns.max") < 1.5e9, "{run}");
    // It sleeps while it has nothing to do.
    assert!(run.float("generator.cpu_s") < 1.5, "{run}");
}

#[test]
fn a_run_of_a_certain_length_has_all_of_it() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let run = Tare::http(&format!("--rate 1/2s --duration 3s {}", target.url())).run();
    assert_eq!(run.total("done"), 2, "{run}");
    assert!(run.took >= Duration::from_millis(2_900), "{:?}; {run}", run.took);
}

#[test]
fn more_connections_than_there_can_be_are_refused() {
    let _shared = beside_others();
    need("prlimit");
    let url = "http://127.0.0.1:9/";
    let many = Tare::http(&format!("--parallel 4000000000 {url}")).run();
    assert_eq!((many.code, many.stdout.as_str()), (Some(2), ""), "{many}");
    assert!(many.stderr.contains("--parallel") && many.stderr.contains("16777216"), "{many}");
    let no_room = Tare::http(&format!("--parallel 16000000 {url}")).through("prlimit --as=2000000000").run();
    assert_eq!((no_room.code, no_room.stdout.as_str()), (Some(2), ""), "{no_room}");
    assert!(no_room.stderr.contains("--parallel 16000000") && no_room.stderr.contains("memory"), "{no_room}");
}

#[test]
fn a_limit_on_the_size_of_files_is_like_a_full_disk() {
    let _shared = beside_others();
    need("prlimit");
    let (folder, target) = (scratch(), Target::start("--no-truth"));
    let out = folder.path().join("run");
    let load = format!("--rate 2000 --duration 2s --samples --out {} {}", out.display(), target.url());
    let run = Tare::http(&load).through("prlimit --fsize=60000").run();
    assert!(run.code.is_some(), "no signal ends it: {run}");
    assert_eq!(run.total("done"), 4_000, "{run}");
    assert!(out.join("result.json").is_file() && out.join("intervals.jsonl").is_file(), "{run}");
}

#[test]
fn a_run_interrupted_in_its_warm_up_says_that_nothing_was_measured() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let running = Tare::http(&format!("--rate 100 --warmup 30s --duration 30s {}", target.url())).start();
    running.sleep_until(Duration::from_millis(700));
    running.interrupt();
    let run = running.finish();
    assert_eq!((run.code, run.at("partial")), (Some(130), &Value::Bool(true)), "{run}");
    assert_ne!(run.criterion("departures").severity, "INVALID", "{run}");
    assert!(run.criterion("departures").advice.contains("nothing was measured yet"), "{run}");
}
