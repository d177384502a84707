//! Servers that stop, forget, refuse or take long, and ports that are used again.

use super::{Ground, SERVER};
use rustix::process::Signal;
use std::time::Duration;
use tare_system_tests::bed::run_in;
use tare_system_tests::process::wait_until;
use tare_system_tests::{alone, beside_others};

#[test]
fn a_server_that_stops_for_a_second_is_told_and_nothing_is_sent_twice() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--no-truth");
    let load = format!("--rate 200 --duration 1600ms --grace 5s --timeout 9s {}", target.url());
    let run = ground.by("packet", &load).start();
    run.sleep_until(Duration::from_millis(500));
    target.process.signal(Signal::STOP);
    std::thread::sleep(Duration::from_secs(1));
    target.process.signal(Signal::CONT);
    let run = run.finish();
    assert_eq!((run.total("done"), run.total("failed")), (320, 0), "{run}");
    // Who came first in that second waited for all of it.
    assert!(run.float("net_ns.max") > 0.8e9, "{run}");
    assert!(ground.connections().is_empty(), "{run}");
}

#[test]
fn connections_that_the_server_kills_are_told_as_resets() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--no-truth --delay 5ms");
    let run = ground.by("packet", &format!("--parallel 20 --duration 1500ms {}", target.url())).start();
    run.sleep_until(Duration::from_millis(600));
    for own in ["198.18.0.10", "198.18.0.11", "198.18.0.12"] {
        run_in(ground.sink(), &format!("ss -K dst {own}"));
    }
    let run = run.finish();
    let (failed, done) = (run.total("failed"), run.total("done"));
    // Each address is looked for once, and had at most twenty.
    assert!((1..=60).contains(&failed) && done > 500, "{run}");
    let resets: u64 =
        run.outcome_keys().iter().filter(|key| key.contains("reset")).map(|key| run.outcome(key)).sum();
    assert_eq!(resets, failed, "{run}");
    // Each that was killed was replaced.
    assert!(run.int("connections.opened") >= 20 + failed, "{run}");
    assert!(ground.connections().is_empty(), "{run}");
}

#[test]
fn a_full_accept_queue_makes_connections_wait_and_loses_none() {
    let _shared = beside_others();
    let ground = Ground::new();
    // The kernel drops the third segment of a handshake when the queue is full, and says its SYN-ACK again.
    let target = ground.target("--backlog 1 --accept-delay 30ms --workers 1 --no-truth");
    let load =
        format!("--parallel 12 --requests 24 --no-keep-alive --timeout 20s --grace 20s {}", target.url());
    // Nobody accepts until it is full.
    target.process.signal(Signal::STOP);
    let run = ground.by("packet", &load).start();
    wait_until("a full queue", || ground.kernel_of_server("TcpExt", "ListenOverflows") > 0);
    target.process.signal(Signal::CONT);
    let run = run.finish();
    assert_eq!((run.total("done"), run.total("failed")), (24, 0), "{run}");
}

#[test]
fn a_server_that_answers_with_cookies_gets_them_back() {
    let _shared = beside_others();
    let ground = Ground::new();
    run_in(ground.sink(), "sysctl -q -w net.ipv4.tcp_syncookies=2");
    let target = ground.target("--size 40k --no-truth");
    for url in target.urls() {
        let load = format!("--parallel 10 --requests 100 --no-keep-alive -d {} {url}", "x".repeat(9_000));
        let run = ground.by("packet", &load).run();
        assert_eq!((run.total("done"), run.total("failed")), (100, 0), "{run}");
    }
    let cookies = |name: &str| ground.kernel_of_server("TcpExt", name);
    assert_eq!((cookies("SyncookiesRecv"), cookies("SyncookiesFailed")), (200, 0));
}

#[test]
fn every_port_of_an_address_is_used_again() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--no-truth");
    let requests = 64_512 + 500;
    let load = format!("--no-keep-alive --parallel 64 --requests {requests} --timeout 20s {}", target.url());
    let run = ground.by_kernel(&format!("--via packet:gen0,ip=198.18.0.10/24 {load}")).run();
    assert_eq!((run.total("done"), run.outcome("200")), (requests, requests), "{run}");
    assert_eq!(run.int("connections.opened"), requests, "{run}");
    assert!(target.url().contains(SERVER), "{run}");
    assert_eq!(ground.connections(), Vec::<String>::new(), "{run}");
}

#[test]
fn a_run_that_follows_another_is_not_taken_for_it() {
    let _alone = alone();
    let ground = Ground::new();
    // Who closes first remembers the connection for a minute: the server.
    let _nginx = ground.nginx("location / { return 200 'ok'; }");
    let load = format!("--via packet:gen0,ip=198.18.0.10/24 --no-keep-alive --parallel 64 http://{SERVER}/");
    // Any port of the second run may be one that the first has used.
    let first = ground.by_kernel(&format!("--requests 40000 {load}")).run();
    assert_eq!(first.total("done"), 40_000, "{first}");
    let remembered = run_in(ground.sink(), "cat /proc/net/sockstat");
    let mut words = remembered.split_whitespace().skip_while(|word| *word != "tw").skip(1);
    assert!(
        words.next().and_then(|count| count.parse().ok()).is_some_and(|count: u64| count > 5_000),
        "{remembered}"
    );
    let second = ground.by_kernel(&format!("--requests 10000 {load}")).run();
    // What is taken for the first run's has to be sent again a second later.
    assert_eq!(second.total("done"), 10_000, "{second}");
    assert!(second.int("tcp.retransmitted") < 100, "{second}");
}
