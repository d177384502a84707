//! How connections end: as the plan says (`--close`), and the same by the kernel's sockets and by both paths of
//! `--via`.

use super::{Capture, Ground, Inside, OWN, SERVER};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tare_system_tests::bed::run_in;
use tare_system_tests::wire::{Wire, read_request};
use tare_system_tests::{Run, Tare, beside_others, light};

const WAYS: [&str; 4] = ["epoll", "uring", "general", "fast"];
const REQUESTS: u64 = 40;
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

/// `tare http` one of these ways, with a connection for each request.
fn by(ground: &Ground, way: &str, load: &str) -> Run {
    let way = match way {
        "general" | "fast" => format!("--via packet:gen0,{OWN} --via-path {way}"),
        io => format!("--io {io}"),
    };
    ground.by_kernel(&format!("{way} --no-keep-alive {load}")).run()
}

/// What a server that does not close by itself saw of each connection.
type Seen = Arc<Mutex<Vec<&'static str>>>;

/// Answers, and waits for the client's end.
fn waits(ground: &Ground) -> (Inside<'_, Wire>, Seen) {
    let seen = Seen::default();
    let notes = seen.clone();
    let serve = move |stream: &mut TcpStream| {
        let answered = read_request(stream).map(|_| stream.write_all(RESPONSE));
        if !matches!(answered, Some(Ok(()))) {
            return;
        }
        let end = match stream.read(&mut [0; 64]) {
            Ok(0) => "fin",
            Ok(_) => "more",
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => "rst",
            Err(_) => "nothing",
        };
        notes.lock().expect("no panic while held").push(end);
    };
    (Inside::new(ground.sink(), || Wire::on(SERVER, serve)), seen)
}

/// The ends that were seen, all alike.
#[track_caller]
fn all_are(seen: &Seen, end: &str, run: &Run) {
    let count = || seen.lock().expect("no panic while held").len() as u64;
    for _ in 0..100 {
        if count() == REQUESTS {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let seen = std::mem::take(&mut *seen.lock().expect("no panic while held"));
    assert!(seen.len() as u64 == REQUESTS && seen.iter().all(|one| *one == end), "{end}: {seen:?} {run}");
}

/// Segments from us with this flag, of different connections.
fn ours(wire: &super::Wire, flag: &str) -> usize {
    let sent = wire.frames(&format!("tcp.dstport!=0 and ip.dst=={SERVER} and {flag}"), &["tcp.stream"]);
    sent.into_iter().collect::<std::collections::BTreeSet<_>>().len()
}

#[test]
fn connections_end_in_order_or_by_a_reset_as_the_plan_says() {
    let _shared = beside_others();
    let ground = Ground::new();
    let (server, seen) = waits(&ground);
    let load = format!("--parallel 4 --requests {REQUESTS} {}", server.url());
    for way in WAYS {
        // As without the option.
        for (close, end, said) in
            [("", "fin", "fin"), ("--close fin", "fin", "fin"), ("--close rst", "rst", "rst")]
        {
            let capture = Capture::start(ground.sink());
            let run = by(&ground, way, &format!("{close} {load}"));
            assert_eq!((run.total("done"), run.total("failed")), (REQUESTS, 0), "{way} {close}: {run}");
            assert_eq!(run.at("connections.close"), said, "{way} {close}: {run}");
            all_are(&seen, end, &run);
            let wire = capture.finish();
            let fins = ours(&wire, "tcp.flags.fin==1");
            assert_eq!(fins as u64, if end == "fin" { REQUESTS } else { 0 }, "{way} {close}: {run}");
            if end == "rst" {
                assert_eq!(ours(&wire, "tcp.flags.reset==1") as u64, REQUESTS, "{way}: {run}");
            }
        }
    }
}

/// Ports of a namespace that wait out their TIME_WAIT.
fn waiting(ground: &Ground) -> u64 {
    let text = run_in(ground.sink(), "cat /proc/net/tcp");
    text.lines().filter(|line| line.split_whitespace().nth(3) == Some("06")).count() as u64
}

#[test]
fn a_target_that_is_to_close_does_so_first_and_has_the_time_wait() {
    let _shared = beside_others();
    for way in WAYS {
        let ground = Ground::new();
        // A client that does not wait for it is quicker.
        let serve = |stream: &mut TcpStream| {
            if read_request(stream).is_some() && stream.write_all(RESPONSE).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        let server = Inside::new(ground.sink(), move || Wire::on(SERVER, serve));
        let load = format!("--parallel 4 --requests {REQUESTS} {}", server.url());
        let first = by(&ground, way, &load);
        let before = waiting(&ground);
        assert!(first.total("done") == REQUESTS && before < REQUESTS / 2, "{way}: {before} {first}");
        let capture = Capture::start(ground.sink());
        let run = by(&ground, way, &format!("--close server {load}"));
        assert_eq!((run.total("done"), run.total("failed")), (REQUESTS, 0), "{way}: {run}");
        assert_eq!(waiting(&ground) - before, REQUESTS, "{way}: {run}");
        assert_eq!(run.at("connections.close"), "server", "{way}: {run}");
        assert!(run.at("connections.unclosed").is_null() && !run.remarks().contains("close"), "{way}: {run}");
        let wire = capture.finish();
        assert_eq!(ours(&wire, "tcp.flags.reset==1"), 0, "{way}: {run}");
        assert_eq!(ours(&wire, "tcp.flags.fin==1") as u64, REQUESTS, "{way}: {run}");
    }
}

#[test]
fn a_target_that_does_not_close_is_told_and_waited_for_no_longer_than_a_second() {
    let _shared = beside_others();
    let ground = Ground::new();
    let (server, seen) = waits(&ground);
    for way in WAYS {
        // Half of the timeout, five times.
        let load =
            format!("--close server --parallel 8 --requests {REQUESTS} --timeout 400ms {}", server.url());
        let run = by(&ground, way, &load);
        assert_eq!((run.total("done"), run.total("failed")), (REQUESTS, 0), "{way}: {run}");
        assert_eq!(run.int("connections.unclosed"), REQUESTS, "{way}: {run}");
        assert!(run.remarks().contains("did not close 40 connections (--close server)"), "{way}: {run}");
        assert!(run.took > Duration::from_millis(1_000) && run.took < Duration::from_secs(5), "{way}: {run}");
        all_are(&seen, "rst", &run);
        assert_eq!(ground.connections(), Vec::<String>::new(), "{way}: {run}");
    }
    for (way, long) in [("general", "30s"), ("fast", "30s")] {
        let load = format!("--close server --parallel 4 --requests 4 --timeout {long} {}", server.url());
        let run = by(&ground, way, &load);
        assert!(run.took < Duration::from_secs(4) && run.int("connections.unclosed") == 4, "{way}: {run}");
    }
    // Nor does an interrupted run wait.
    let load = format!("--no-keep-alive --close server --parallel 4 --duration 30s {}", server.url());
    for path in ["general", "fast"] {
        let run = ground.by("packet", &format!("--via-path {path} {load}")).start();
        run.sleep_until(Duration::from_millis(500));
        let begun = std::time::Instant::now();
        run.interrupt();
        let run = run.finish();
        assert!(begun.elapsed() < Duration::from_secs(2) && run.code == Some(130), "{path}: {run}");
        assert_eq!(ground.connections(), Vec::<String>::new(), "{path}: {run}");
    }
}

/// The place of a connection is taken until the target has closed it: what waits for it is blocked by the
/// target, and not late.
#[test]
fn what_waits_for_a_target_to_close_is_not_late() {
    let _light = light();
    let ground = Ground::new();
    let serve = |stream: &mut TcpStream| {
        if read_request(stream).is_some() && stream.write_all(RESPONSE).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let server = Inside::new(ground.sink(), move || Wire::on(SERVER, serve));
    for way in WAYS {
        let run = by(&ground, way, &format!("--close server --parallel 2 --requests 40 {}", server.url()));
        assert!(run.int("latency_ns.p50") > 19_000_000, "{way}: {run}");
        assert!(run.int("net_ns.p50") > 19_000_000, "{way}: {run}");
        assert!(run.int("own_lateness_ns.p50") < 3_000_000, "{way}: {run}");
    }
}

#[test]
fn nginx_is_asked_to_close_and_does_also_over_tls() {
    let _shared = beside_others();
    let ground = Ground::new();
    let nginx = ground.nginx("location / { return 200 ok; }");
    let target = ground.target("--tls --no-truth");
    for way in WAYS {
        for url in [format!("http://{SERVER}/"), format!("-k {}", target.url())] {
            if way == "fast" && url.starts_with("-k") {
                continue;
            }
            let run = by(&ground, way, &format!("--close server --parallel 8 --requests 200 {url}"));
            assert_eq!((run.total("done"), run.total("failed")), (200, 0), "{way} {url}: {run}");
            assert!(run.at("connections.unclosed").is_null(), "{way} {url}: {run}");
        }
    }
    drop(nginx);
}

#[test]
fn an_end_that_cannot_be_is_refused_with_the_reason() {
    for (load, why) in [
        ("--close server http://127.0.0.1:9/", "--no-keep-alive"),
        ("--close server --requests-per-connection 5 http://127.0.0.1:9/", "--no-keep-alive"),
        ("--close rst --unix /x http://127.0.0.1:9/", "a Unix socket has no reset"),
        ("--close rts http://127.0.0.1:9/", "did you mean rst?"),
    ] {
        let run = Tare::http(&format!("--requests 5 {load}")).run();
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{load}: {run}");
        assert!(run.stderr.contains(why) && run.stderr.contains("--close"), "{load}: {run}");
    }
}
