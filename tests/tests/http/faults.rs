//! Targets that misbehave: each fault is an outcome of its own, counted as often as it happened.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;
use tare_system_tests::target::Truth;
use tare_system_tests::wire::{Wire, answer_all, close_gently, read_request, reset};
use tare_system_tests::{Run, Tare, Target, beside_others};

/// Loads a target with these faults, and returns the result and the target's own truth.
fn load(faults: &str, load: &str) -> (Run, Truth) {
    let target = Target::start(faults);
    let run = Tare::http(&format!("{load} {}", target.url())).run();
    (run, target.truth())
}

fn failures(run: &Run, prefix: &str) -> u64 {
    let keys = run.outcome_keys();
    keys.iter().filter(|key| key.starts_with(prefix)).map(|key| run.outcome(key)).sum()
}

#[test]
fn a_storm_of_resets_is_counted_one_by_one() {
    let _shared = beside_others();
    for shape in ["--parallel 8 --requests 2000", "--rate 1k --requests 1000"] {
        let (run, truth) = load("--reset 50% --seed 3", shape);
        assert_eq!(run.outcome("200"), truth.ended("whole"), "{run}");
        assert_eq!(run.outcome("first_byte.reset"), truth.ended("reset"), "{run}");
        assert_eq!(run.outcome_keys(), ["200", "first_byte.reset"], "{run}");
        // Half of them, ± 4 standard deviations of √(n/4): 89 of 2000, 63 of 1000.
        let n = run.total("offered");
        assert!(run.total("failed").abs_diff(n / 2) < 4 * (n / 4).isqrt(), "{run}");
        assert_eq!(run.at("partial"), false, "{run}");
    }
}

#[test]
fn a_reset_in_a_pipeline_fails_the_request_that_it_hit_and_no_other() {
    let _shared = beside_others();
    for io in ["epoll", "uring"] {
        let load_of = format!("--io {io} --parallel 4 --pipeline 8 --requests 5000");
        let (run, truth) = load("--reset 2% --seed 3", &load_of);
        assert_eq!(run.outcome_keys(), ["200", "first_byte.reset"], "{run}");
        assert_eq!(run.outcome("first_byte.reset"), truth.ended("reset"), "{run}");
        assert_eq!(run.outcome("200"), truth.ended("whole"), "{run}");
        // Those behind it were sent again, seven at most for each, and are counted.
        let again = run.total("sent_again");
        assert!(again > 0 && again <= 7 * truth.ended("reset"), "{run}");
        assert!(run.remarks().contains("was sent again"), "{run}");
        assert_eq!(run.total("bytes_out"), run.total("wire_out"), "{run}");
    }
}

#[test]
fn connections_that_were_refused_are_not_opened() {
    let _shared = beside_others();
    // A port of another address, where nobody listens.
    let target = Target::start("");
    let refuses = format!("http://127.0.0.7:{}/", target.port());
    let run = Tare::http(&format!("--parallel 4 --requests 40 {refuses}")).run();
    assert_eq!(run.outcome("connect.refused"), 40, "{run}");
    let counts =
        |run: &Run| ["opened", "attempts", "open_peak"].map(|key| run.int(&format!("connections.{key}")));
    assert_eq!(counts(&run), [0, 40, 0], "{run}");

    // Every other URL is refused.
    let folder = tare_system_tests::scratch();
    let urls = folder.path().join("urls");
    std::fs::write(&urls, format!("{}\n{refuses}\n", target.url())).expect("a scratch file");
    let flags = "--parallel 4 --requests 40 --no-keep-alive --order sequential";
    let run = Tare::http(&format!("{flags} {}", urls.display())).run();
    assert_eq!((run.outcome("200"), run.outcome("connect.refused")), (20, 20), "{run}");
    let [opened, attempts, at_once] = counts(&run);
    assert_eq!((opened, attempts), (20, 40), "{run}");
    assert!((1..=4).contains(&at_once), "{run}");
    assert_eq!(target.truth().int("accepted"), 20, "{run}");
}

#[test]
fn resets_within_a_body_and_half_bodies_are_told_apart() {
    let _shared = beside_others();
    let (run, truth) = load("--reset-mid 30% --half 20% --size 4KiB", "--parallel 8 --requests 1500");
    assert_eq!(run.outcome("200"), truth.ended("whole"), "{run}");
    assert_eq!(run.outcome("body.closed"), truth.ended("half"), "{run}");
    assert_eq!(run.outcome("body.reset"), truth.ended("reset"), "{run}");
    assert!(truth.ended("half") > 200 && truth.ended("reset") > 350, "{run}");
}

#[test]
fn errors_silence_and_garbage_are_outcomes_too() {
    let _shared = beside_others();
    let faults = "--error 503=25% --error 404=10% --silent 2% --garbage 10%";
    let (run, truth) = load(faults, "--parallel 32 --requests 1500 --timeout 400ms");
    // A complete answer is done, whatever its status.
    for status in ["200", "503", "404"] {
        assert_eq!(run.outcome(status), truth.int(&format!("answers.{status}")), "{status}: {run}");
    }
    assert_eq!(run.outcome("first_byte.timeout"), truth.ended("silent"), "{run}");
    let broken = failures(&run, "framing.") + run.outcome("body.closed") + run.outcome("first_byte.closed");
    assert_eq!(broken, truth.ended("garbage"), "{run}");
    assert!(failures(&run, "framing.") > 0 && truth.ended("silent") > 5, "{run}");
    assert!(run.remarks().contains("timed out"), "requests that are in no latency are named: {run}");
}

#[test]
fn answers_that_come_a_byte_at_a_time_are_whole_answers() {
    let _shared = beside_others();
    let (run, truth) = load("--trickle 1 --size 100", "--parallel 8 --requests 400");
    assert_eq!(run.outcome_keys(), ["200"], "{run}");
    assert_eq!((run.total("done"), truth.ended("whole")), (400, 400), "{run}");
    // What was written is what was read.
    assert_eq!(run.total("bytes_in"), truth.int("bytes_out"), "{run}");
    assert_eq!(run.total("bytes_out"), truth.int("bytes_in"), "{run}");

    const ANSWER: &[u8] =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nTrailer: t\r\n\r\n";
    let wire = Wire::start(|stream| {
        while read_request(stream).is_some() {
            // Without Nagle each write is a segment of its own.
            if ANSWER.iter().any(|byte| stream.write_all(&[*byte]).is_err()) {
                return;
            }
        }
    });
    let run = Tare::http(&format!("--parallel 4 --requests 200 {}", wire.url())).run();
    assert_eq!((run.outcome("200"), run.total("failed")), (200, 0), "{run}");
    assert_eq!(run.total("bytes_in"), 200 * ANSWER.len() as u64, "{run}");
    assert_eq!(wire.accepted(), 4, "the connections were kept: {run}");
}

/// Each answer is 1000 bytes and a head, in pieces of 100 with 30 ms between them: at least 10 gaps.
#[test]
fn slow_bodies_take_the_time_that_they_take_and_end_at_the_timeout() {
    let _shared = beside_others();
    let slow = "--trickle 100 --trickle-gap 30ms --size 1000";
    let (run, _) = load(slow, "--parallel 10 --requests 30");
    assert_eq!(run.outcome_keys(), ["200"], "{run}");
    assert!(run.int("latency_ns.min") >= 300_000_000, "{run}");
    assert!(run.int("first_byte_ns.p50") < 150_000_000, "the first byte comes before the body: {run}");

    let (run, _) = load(slow, "--parallel 10 --requests 20 --timeout 150ms");
    assert_eq!(run.outcome_keys(), ["body.timeout"], "{run}");
    let (least, most) = (run.int("failed_ns.min"), run.int("failed_ns.max"));
    // Three digits: what is 150 ms may be told as 149.9.
    assert!(least >= 149_800_000 && most < 1_500_000_000, "{run}");

    // Bytes keep coming: with the timeout counted from the last of them, they all arrive.
    let (run, _) = load(slow, "--parallel 10 --requests 20 --timeout 150ms --idle-timeout --grace 5s");
    assert_eq!(run.outcome_keys(), ["200"], "{run}");
}

#[test]
fn a_server_that_resets_everything_is_told_as_resets() {
    let _shared = beside_others();
    let wire = Wire::start(|stream| reset(stream));
    for load in ["--parallel 4 --requests 500", "--rate 500 --requests 250"] {
        let run = Tare::http(&format!("{load} {}", wire.url())).run();
        assert_eq!(run.total("done"), 0, "{run}");
        // The RST may come before the request, while it is sent, or after; a refusal it is not.
        let resets = ["connect.reset", "send.reset", "first_byte.reset"];
        let told: u64 = resets.iter().map(|key| run.outcome(key)).sum();
        assert_eq!(told, run.total("offered"), "{run}");
    }
    let after = Wire::start(|stream| {
        read_request(stream);
        reset(stream);
    });
    let run = Tare::http(&format!("--parallel 4 --requests 200 {}", after.url())).run();
    assert_eq!(run.outcome("first_byte.reset"), 200, "{run}");
    // Something was sent and received by somebody: this is not "unreachable".
    assert_ne!(run.code, Some(5), "{run}");
}

/// Answers `bytes` to the first request of each connection, then closes.
fn says_and_closes(bytes: &'static [u8]) -> impl Fn(&mut TcpStream) + Send + Sync {
    move |stream| {
        if read_request(stream).is_some() && stream.write_all(bytes).is_ok() {
            close_gently(stream);
        }
    }
}

#[test]
fn every_kind_of_bad_framing_has_its_key() {
    let _shared = beside_others();
    let cases: [(&[u8], &str); 12] = [
        (b"", "first_byte.closed"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "first_byte.closed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", "body.closed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nhalf", "body.closed"),
        (b"this is not HTTP at all\r\n\r\n", "framing.head"),
        (b"HTTP/1.1 999999 What\r\n\r\n", "framing.head"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", "framing.length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", "framing.length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "framing.length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nhello\r\n0\r\n\r\n", "framing.chunk"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n", "framing.chunk"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX", "framing.chunk"),
    ];
    for (bytes, key) in cases {
        let wire = Wire::start(says_and_closes(bytes));
        let run = Tare::http(&format!("--parallel 2 --requests 20 {}", wire.url())).run();
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(run.outcome_keys(), [key], "{text:?}: {run}");
        assert_eq!(run.outcome(key), 20, "{text:?}: {run}");
    }
}

#[test]
fn a_head_without_end_is_cut_short_and_costs_no_memory() {
    let _shared = beside_others();
    let wire = Wire::start(|stream| {
        if read_request(stream).is_none() || stream.write_all(b"HTTP/1.1 200 OK\r\n").is_err() {
            return;
        }
        while stream.write_all(&b"X-Filler: 0123456789012345678901234567890123456789\r\n".repeat(100)).is_ok()
        {
        }
    });
    let run = Tare::http(&format!("--parallel 8 --requests 100 {}", wire.url())).run();
    assert_eq!(run.outcome("framing.head_too_large"), 100, "{run}");
    assert!(run.int("generator.anon_peak_bytes") < 24 << 20, "{run}");
}

#[test]
fn bytes_that_nobody_asked_for_do_not_become_answers() {
    let _shared = beside_others();
    // Two answers to each request: the second must not be taken for the next request's.
    let wire = Wire::start(answer_all(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno",
    ));
    let run = Tare::http(&format!("--parallel 2 --requests 100 {}", wire.url())).run();
    assert_eq!((run.outcome("200"), run.outcome("500")), (100, 0), "{run}");
}

#[test]
fn a_connection_that_closes_after_each_answer_is_no_error() {
    let _shared = beside_others();
    // Without a word, as servers do whose keep-alive time is over; the client must not fail a request for it.
    let (run, truth) = load("--close-after 1", "--parallel 4 --requests 400");
    assert_eq!(run.outcome_keys(), ["200"], "{run}");
    assert_eq!(truth.int("accepted"), 400, "{run}");
}

#[test]
fn a_target_that_never_answers_is_given_up_in_time() {
    let _shared = beside_others();
    let wire = Wire::start(|stream| while read_request(stream).is_some() {});
    let run = Tare::http(&format!("--rate 100 --duration 1s --timeout 300ms {}", wire.url())).run();
    assert_eq!(run.outcome_keys(), ["first_byte.timeout"], "{run}");
    assert_eq!(run.outcome("first_byte.timeout"), 100, "{run}");
    // With the grace shorter than the timeout, they are cut off instead, and the run ends when it says.
    let run = Tare::http(&format!("--rate 100 --duration 1s --grace 200ms {}", wire.url())).run();
    assert_eq!((run.total("cut_off"), run.total("failed")), (100, 0), "{run}");
    assert!(run.took < Duration::from_secs(4), "{run}");
}
