//! Connections: how many, from where, to where, how they are used.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::IpAddr;
use std::time::Duration;
use tare_system_tests::recorder::Received;
use tare_system_tests::wire::{Wire, read_request};
use tare_system_tests::{Nginx, Recorder, Run, Tare, Target, beside_others, patiently, scratch};

/// Requests by the number of their connection.
fn by_connection(requests: &[Received]) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    requests.iter().for_each(|request| *counts.entry(request.connection).or_default() += 1);
    counts
}

fn count(requests: &[Received], is_so: impl Fn(&Received) -> bool) -> usize {
    requests.iter().filter(|request| is_so(request)).count()
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn with_keep_alive_as_many_connections_as_were_asked_for() {
    let _shared = beside_others();
    let target = Target::start("");
    let run = Tare::http(&format!("-c 4 -n 400 {}", target.url())).run();
    assert_eq!(run.int("connections.opened"), 4, "{run}");
    assert_eq!(target.truth().int("accepted"), 4);
}

#[test]
fn without_keep_alive_one_connection_for_each_request() {
    let _shared = beside_others();
    let target = Target::start("");
    let run = Tare::http(&format!("-c 4 -n 200 --no-keep-alive {}", target.url())).run();
    assert_eq!((run.outcome("200"), run.int("connections.opened")), (200, 200), "{run}");
    assert_eq!(run.int("connect_ns.count"), 200, "{run}");
    assert_eq!(target.truth().int("accepted"), 200);
}

#[test]
fn requests_per_connection_are_a_limit_and_are_used_up() {
    let _shared = beside_others();
    let recorder = Recorder::start();
    let flags = "-c 1 -n 30 --requests-per-connection 3";
    let run = Tare::http(&format!("{flags} {}", recorder.url())).run();
    assert_eq!(run.int("connections.opened"), 10, "{run}");
    let counts = by_connection(&recorder.requests());
    assert!(counts.len() == 10 && counts.values().all(|count| *count == 3), "{counts:?}");
}

/// A server that answers only when four requests are there, so that a client that sends three waits for ever.
#[test]
fn pipelining_sends_four_before_the_first_answer() {
    let _shared = beside_others();
    let wire = Wire::start(|stream| {
        loop {
            for _ in 0..4 {
                if read_request(stream).is_none() {
                    return;
                }
            }
            let four = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".repeat(4);
            if stream.write_all(&four).is_err() {
                return;
            }
        }
    });
    let run = Tare::http(&format!("-c 2 -n 80 --threads 1 --pipeline 4 --timeout 2s {}", wire.url())).run();
    assert_eq!((run.outcome("200"), run.int("connections.opened")), (80, 2), "{run}");
}

#[test]
fn a_name_can_be_given_its_address() {
    let _shared = beside_others();
    let recorder = Recorder::start();
    let port = recorder.port();
    let run =
        Tare::http(&format!("-n 5 --resolve shop.invalid:{port}:127.0.0.1 http://shop.invalid:{port}/x"))
            .run();
    assert_eq!(run.outcome("200"), 5, "{run}");
    let host = format!("shop.invalid:{port}");
    assert_eq!(count(&recorder.requests(), |request| request.fields("Host") == [host.as_str()]), 5);
}

#[test]
fn a_name_that_nobody_knows_is_an_outcome() {
    let _shared = beside_others();
    // RFC 6761 §6.4: .invalid never exists.
    let run = Tare::http("-c 2 -n 2 http://shop.invalid/").run();
    assert_eq!((run.outcome("lookup.failed"), run.code), (2, Some(5)), "{run}");
    assert!(run.remarks().contains("shop.invalid"), "the note names what failed: {run}");
}

#[test]
fn several_addresses_are_used_in_turn() {
    let _shared = beside_others();
    let recorder = Recorder::on(&["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
    let port = recorder.port();
    let fixed = format!("--resolve many.test:{port}:127.0.0.1,127.0.0.2,127.0.0.3");
    let run =
        Tare::http(&format!("-c 3 -n 30 --threads 1 --no-keep-alive {fixed} http://many.test:{port}/")).run();
    assert_eq!(run.outcome("200"), 30, "{run}");
    for text in ["127.0.0.1", "127.0.0.2", "127.0.0.3"] {
        assert_eq!(count(&recorder.requests(), |request| request.to == address(text)), 10, "{text}");
    }
}

#[test]
fn the_family_of_addresses_can_be_chosen() {
    let _shared = beside_others();
    let recorder = Recorder::on(&["127.0.0.1", "::1"]);
    let port = recorder.port();
    for (flag, expected) in [("-4", "127.0.0.1"), ("-6", "::1")] {
        let before = recorder.requests().len();
        let fixed = format!("--resolve one.test:{port}:{expected}");
        let run =
            Tare::http(&format!("-c 2 -n 6 --no-keep-alive {flag} {fixed} http://one.test:{port}/")).run();
        assert_eq!(run.outcome("200"), 6, "{run}");
        let requests = recorder.requests().split_off(before);
        assert_eq!(count(&requests, |request| request.to == address(expected)), 6, "{flag}");
    }
    // An address of the other family is no address.
    let run = Tare::http(&format!("-c 1 -n 2 -6 http://127.0.0.1:{port}/")).run();
    assert_eq!((run.outcome("lookup.failed"), run.code), (2, Some(5)), "{run}");
    assert!(run.remarks().contains("no address of the requested family"), "{run}");
    // The host's own names: `localhost` is 127.0.0.1 everywhere.
    let run = Tare::http(&format!("-c 1 -n 2 -4 http://localhost:{port}/")).run();
    assert_eq!(run.outcome("200"), 2, "{run}");
    // An address in the URL needs no name.
    let run = Tare::http(&format!("-n 3 http://[::1]:{port}/")).run();
    assert_eq!(run.outcome("200"), 3, "{run}");
}

#[test]
fn the_target_sees_each_source_address() {
    let _shared = beside_others();
    let recorder = Recorder::start();
    let flags =
        "-c 2 -n 12 --threads 1 --no-keep-alive --source-ip 127.0.0.2,127.0.0.3 --source-ip 127.0.0.4";
    let run = Tare::http(&format!("{flags} {}", recorder.url())).run();
    assert_eq!(run.outcome("200"), 12, "{run}");
    for text in ["127.0.0.2", "127.0.0.3", "127.0.0.4"] {
        assert_eq!(count(&recorder.requests(), |request| request.from == address(text)), 4, "{text}");
    }
}

#[test]
fn a_proxy_is_asked_in_absolute_form() {
    let _shared = beside_others();
    let proxy = Recorder::start();
    let flags = format!("-c 1 -n 3 --proxy 127.0.0.1:{}", proxy.port());
    let run = Tare::http(&format!("{flags} http://shop.invalid:81/a?b")).run();
    assert_eq!((run.outcome("200"), run.int("connections.opened")), (3, 1), "{run}");
    for request in proxy.requests() {
        // RFC 9112 §3.2.2; the proxy resolves the name.
        assert_eq!(request.line(), "GET http://shop.invalid:81/a?b HTTP/1.1");
        assert_eq!(request.fields("Host"), ["shop.invalid:81"]);
    }
}

#[test]
fn https_goes_through_connect() {
    let _shared = beside_others();
    let folder = scratch();
    let ca = folder.path().join("ca.pem").display().to_string();
    let proxy = Target::start("--proxy-mode --no-truth");
    let target = Target::start(&format!("--tls-write-cert {ca}"));
    let flags = format!("-c 2 -n 20 --ca {ca} --proxy 127.0.0.1:{}", proxy.port());
    let run = Tare::http(&format!("{flags} {}", target.url())).run();
    assert_eq!((run.outcome("200"), run.int("connections.opened")), (20, 2), "{run}");
    assert_eq!(run.int("tls_ns.count"), 2, "{run}");
    assert_eq!(target.truth().int("requests"), 20);
}

#[test]
fn a_proxy_that_refuses_connect_is_an_outcome() {
    let _shared = beside_others();
    // Without --proxy-mode the target answers CONNECT with 405.
    let no_proxy = Target::start("--no-truth");
    let flags = format!("-c 1 -n 2 --proxy 127.0.0.1:{}", no_proxy.port());
    let run = Tare::http(&format!("{flags} https://shop.invalid/")).run();
    assert_eq!(run.outcome("connect.proxy"), 2, "{run}");
}

#[test]
fn a_unix_socket_takes_the_place_of_the_address() {
    let _shared = beside_others();
    let folder = scratch();
    let socket = folder.path().join("socket").display().to_string();
    // The TCP listener is only for its line "listening on".
    let target = Target::start(&format!("--listen 0 --unix {socket}"));
    let run = Tare::http(&format!("-c 2 -n 50 --unix {socket} http://shop.invalid/")).run();
    assert_eq!((run.outcome("200"), run.int("connections.opened")), (50, 2), "{run}");
    assert_eq!(target.truth().int("requests"), 50);
    // A socket that nobody listens on any more, and a path with none.
    drop(std::os::unix::net::UnixListener::bind(format!("{socket}.left")).unwrap());
    let run = Tare::http(&format!("-c 1 -n 2 --unix {socket}.left http://shop.invalid/")).run();
    assert_eq!((run.total("failed"), run.code), (2, Some(5)), "{run}");
    let none = Tare::http(&format!("-c 1 -n 2 --unix {socket}.none http://shop.invalid/")).start();
    assert_eq!(none.finish_unchecked().code, Some(2));
}

#[test]
fn connections_open_no_faster_than_asked() {
    let _shared = beside_others();
    // The first connection's own delay, or the acceptor's, takes a little off the time of the others.
    patiently(3, || {
        let recorder = Recorder::start();
        let run = Tare::http(&format!("-c 10 --ramp-connections 20 -z 800ms {}", recorder.url())).run();
        let accepts = recorder.accepts();
        assert_eq!((accepts.len(), run.int("connections.opened")), (10, 10), "{run}");
        for (index, accept) in accepts.iter().enumerate() {
            // 20 a second: the k-th comes k/20 s after the first; 20 ms is less than half a gap.
            let earliest = Duration::from_millis(50 * index as u64).saturating_sub(Duration::from_millis(20));
            let came = *accept - accepts[0];
            assert!(came >= earliest, "connection {index} came after {came:?}");
        }
    });
}

#[test]
fn a_throttle_holds_each_connection_back() {
    let _shared = beside_others();
    let target = Target::start("--no-truth --size 30kB");
    let seconds = |run: &Run| run.float("service_ns.max") / 1e9;
    let free = Tare::http(&format!("-c 2 -n 4 {}", target.url())).run();
    let held = Tare::http(&format!("-c 2 -n 4 --throttle 60kB {}", target.url())).run();
    assert_eq!((free.outcome("200"), held.outcome("200")), (4, 4), "{free}\n{held}");
    // Two answers of 30 kB each on a connection that reads 60 kB a second: 1 s, less what may come at once.
    assert!(
        seconds(&free) < 0.3 && seconds(&held) > 0.3,
        "{} s, {} s: {held}",
        seconds(&free),
        seconds(&held)
    );
    // Of the loads themselves: a process may take seconds to start among hundreds.
    let took = |run: &Run| run.float("rate.duration_s");
    assert!(took(&held) > took(&free) + 0.5, "{} s, {} s: {held}", took(&held), took(&free));
}

#[test]
fn nginx_closing_connections_loses_nothing() {
    let _shared = beside_others();
    let nginx = Nginx::start_with("", "keepalive_requests 7; location / { return 200 'x'; }");
    let run = Tare::http(&format!("-c 3 -n 210 {}{{seq}}", nginx.url())).run();
    // nginx announces the close in the seventh answer, so no request is sent in vain. 210 are 30 times 7; each
    // of the three places may end with a connection that is not used up.
    assert_eq!((run.outcome("200"), run.total("failed")), (210, 0), "{run}");
    let opened = run.int("connections.opened");
    assert!((30..=32).contains(&opened), "{opened}: {run}");
    assert_eq!(nginx.log().len(), 210);
}
