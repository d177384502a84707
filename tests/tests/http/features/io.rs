//! epoll and io_uring do the same: one scenario after another, with what the target saw.

use super::{digest, said, write};
use tare_system_tests::{Recorder, Run, Tare, Target, beside_others, scratch};

const WAYS: [&str; 2] = ["epoll", "uring"];

/// The same load both ways, each against its own target.
fn both(target: &str, load: &str, check: impl Fn(&Run, &tare_system_tests::target::Truth)) {
    for way in WAYS {
        let served = Target::start(target);
        let run = Tare::http(&format!("--io {way} {load} {}", served.url())).run();
        let io = run.at("generator.io").as_str().unwrap_or_default();
        assert!(io.contains(way), "asked for {way}, driven by {io}: {run}");
        check(&run, &served.truth());
    }
}

#[test]
fn keep_alive() {
    let _shared = beside_others();
    both("", "-c 8 -n 2000", |run, truth| {
        assert_eq!((run.outcome("200"), run.int("connections.opened")), (2_000, 8), "{run}");
        assert_eq!((truth.int("requests"), truth.int("accepted")), (2_000, 8), "{run}");
        assert_eq!(run.total("body_in"), 2_000 * 600, "{run}");
    });
}

#[test]
fn open_loop() {
    let _shared = beside_others();
    both("", "--rate 1k -z 500ms", |run, truth| {
        assert_eq!((run.outcome("200"), truth.int("requests")), (500, 500), "{run}");
    });
}

#[test]
fn no_keep_alive() {
    let _shared = beside_others();
    both("", "-c 8 -n 500 --no-keep-alive", |run, truth| {
        assert_eq!((run.outcome("200"), run.int("connections.opened")), (500, 500), "{run}");
        assert_eq!((truth.int("requests"), truth.int("accepted")), (500, 500), "{run}");
    });
}

#[test]
fn tls() {
    let _shared = beside_others();
    let folder = scratch();
    for way in WAYS {
        let ca = folder.path().join("ca.pem").display().to_string();
        let served = Target::start(&format!("--size 20kB --tls-write-cert {ca}"));
        let flags = format!("--io {way} -c 4 -n 200 --ca {ca} --requests-per-connection 20");
        let run = Tare::http(&format!("{flags} {}", served.url())).run();
        assert_eq!((run.outcome("200"), run.total("body_in")), (200, 200 * 20_000), "{run}");
        assert!(
            run.int("tls_ns.count") >= 10 && run.int("tls_ns.count") == run.int("connections.opened"),
            "{run}"
        );
        let truth = served.truth();
        assert_eq!((truth.int("requests"), truth.int("accepted")), (200, run.int("tls_ns.count")), "{run}");
    }
}

#[test]
fn pipelining() {
    let _shared = beside_others();
    both("", "-c 4 -n 2000 --pipeline 4", |run, truth| {
        assert_eq!((run.outcome("200"), run.int("connections.opened")), (2_000, 4), "{run}");
        assert_eq!(truth.int("requests"), 2_000, "{run}");
    });
}

#[test]
fn answers_of_1_mb() {
    let _shared = beside_others();
    // The pattern of the target is fixed, so curl's copy tells what every body must be.
    let folder = scratch();
    let witness = Target::start("--no-truth --size 1000000");
    let body = folder.path().join("body");
    said("curl", &["-s", "-o", &body.display().to_string(), &witness.url()]);
    let load = format!("-c 4 -n 100 --expect-sha256 {}", digest("sha256sum", &body));
    for framing in ["", "--chunk 10000"] {
        both(&format!("--size 1000000 {framing}"), &load, |run, _| {
            assert_eq!((run.outcome("200"), run.total("body_in")), (100, 100_000_000), "{run}");
        });
    }
}

#[test]
fn uploads_of_1_mb() {
    let _shared = beside_others();
    let folder = scratch();
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|at| ((at * 31) >> 3) as u8).collect();
    let file = write(&folder, "upload", &bytes).display().to_string();
    for way in WAYS {
        for flags in [format!("-d @{file}"), format!("--body-stream {file}")] {
            let recorder = Recorder::start();
            let run = Tare::http(&format!("--io {way} -c 2 -n 6 {flags} {}", recorder.url())).run();
            assert_eq!(run.outcome("200"), 6, "{run}");
            assert!(run.total("bytes_out") > 6_000_000, "{run}");
            let requests = recorder.requests();
            assert!(
                requests.len() == 6 && requests.iter().all(|request| request.body == bytes),
                "{way} {flags}"
            );
        }
    }
}

#[test]
fn resets() {
    let _shared = beside_others();
    both("--reset 30% --seed 5", "-c 4 -n 600", |run, truth| {
        assert_eq!(run.outcome("200"), truth.ended("whole"), "{run}");
        assert_eq!(run.outcome("first_byte.reset"), truth.ended("reset"), "{run}");
        assert_eq!(run.outcome_keys(), ["200", "first_byte.reset"], "{run}");
    });
    both("--reset-mid 30% --size 200000 --seed 5", "-c 4 -n 200", |run, truth| {
        assert_eq!(run.outcome("200"), truth.ended("whole"), "{run}");
        assert_eq!(run.total("failed"), truth.ended("reset-mid") + truth.ended("reset"), "{run}");
    });
}
