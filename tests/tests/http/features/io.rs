//! epoll and io_uring do the same: one scenario after another, with what the target saw.

use super::{digest, said, write};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tare_system_tests::process::wait_until;
use tare_system_tests::wire::{Wire, read_request};
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
        // Bytes of HTTP, before TLS.
        assert_eq!(run.total("bytes_out"), truth.int("bytes_in"), "{run}");
        assert!(run.total("wire_out") > run.total("bytes_out"), "{run}");
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

/// A server that counts what it gets: all of it, to the end of each connection.
struct Counting {
    wire: Wire,
    got: Arc<AtomicU64>,
    ended: Arc<AtomicU64>,
}

impl Counting {
    /// `serve` answers, or does not; it says how much it has read. The rest is read when it returns.
    fn start(serve: impl Fn(&mut TcpStream) -> usize + Send + Sync + 'static) -> Self {
        let (got, ended): (Arc<AtomicU64>, Arc<AtomicU64>) = Default::default();
        let (counted, over) = (got.clone(), ended.clone());
        let wire = Wire::start(move |stream| {
            let mut bytes = serve(stream) as u64;
            let mut more = [0; 65_536];
            // A reset ends it too: what was read before that came.
            while let Ok(count @ 1..) = stream.read(&mut more) {
                bytes += count as u64;
            }
            counted.fetch_add(bytes, Ordering::SeqCst);
            over.fetch_add(1, Ordering::SeqCst);
        });
        Self { wire, got, ended }
    }

    /// Once all connections are over.
    fn got(&self) -> u64 {
        wait_until("the end of all connections", || {
            self.ended.load(Ordering::SeqCst) == self.wire.accepted()
        });
        self.got.load(Ordering::SeqCst)
    }
}

#[test]
fn bytes_out_are_those_that_a_server_got_that_stops_reading() {
    let _shared = beside_others();
    let folder = scratch();
    let file = write(&folder, "upload", vec![b'x'; 8 << 20]).display().to_string();
    for way in WAYS {
        for body in ["-d @", "--body-stream "] {
            // More than the sockets take; what they took is read once the client has given up.
            let server = Counting::start(|_| {
                std::thread::sleep(Duration::from_millis(900));
                0
            });
            let load = format!("--io {way} -c 3 -n 6 --timeout 300ms {body}{file} {}", server.wire.url());
            let run = Tare::http(&load).run();
            assert_eq!(run.outcome_keys(), ["send.timeout"], "{run}");
            assert_eq!(run.total("bytes_out"), server.got(), "{way} {body}: {run}");
            assert!(run.total("bytes_out") < 6 * (8 << 20), "{run}");
        }
    }
}

#[test]
fn bytes_out_are_those_that_a_server_got_that_closes_in_the_middle_of_a_pipeline() {
    let _shared = beside_others();
    for way in WAYS {
        for close in ["", "Connection: close\r\n"] {
            let server = Counting::start(move |stream| {
                let mut read = 0;
                for index in 0..3 {
                    let Some(head) = read_request(stream) else { break };
                    read += head.len();
                    let close = if index == 2 { close } else { "" };
                    let answer = format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 0\r\n\r\n");
                    let _ = stream.write_all(answer.as_bytes());
                }
                let _ = stream.shutdown(Shutdown::Write);
                read
            });
            let url = server.wire.url();
            let run = Tare::http(&format!("--io {way} -c 2 -n 400 --pipeline 8 {url}")).run();
            // Without a word of its end, the next that it had read was for it to answer.
            let expected: &[&str] = if close.is_empty() { &["200", "first_byte.closed"] } else { &["200"] };
            assert_eq!(run.outcome_keys(), expected, "{run}");
            assert_eq!(run.total("bytes_out"), server.got(), "{way} {close}: {run}");
            assert!(run.total("sent_again") > 0, "{run}");
        }
    }
}

#[test]
fn requests_that_never_had_a_connection_are_no_bytes_out() {
    let _shared = beside_others();
    for way in WAYS {
        let server = Counting::start(|_| 0);
        // One connection, which is never answered on: the others wait for it to the end.
        let load = format!(
            "--io {way} --rate 200 -c 1 -z 500ms --timeout 300ms --grace 100ms {}",
            server.wire.url()
        );
        let run = Tare::http(&load).run();
        assert!(run.total("missed") + run.total("failed") + run.total("cut_off") == 100, "{run}");
        assert_eq!(run.total("bytes_out"), server.got(), "{run}");
        assert_eq!(run.total("bytes_out"), run.total("wire_out"), "{run}");
    }
    // Refused, nothing is written.
    let unused =
        TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr()).expect("a port");
    for way in WAYS {
        let run = Tare::http(&format!("--io {way} -n 20 http://{unused}/")).run();
        assert_eq!((run.outcome("connect.refused"), run.total("bytes_out")), (20, 0), "{run}");
    }
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
