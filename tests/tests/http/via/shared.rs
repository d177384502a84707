//! `--share-address`: addresses that the host has itself. Its own connections go on beside ours, its kernel
//! resets none of ours, and nothing has to be put back.
//!
//! ```text
//!   generator's namespace: 198.18.0.1 of gen0             sink's namespace
//!     tare http --share-address   ports 61440-65535 ──┐
//!     the kernel                  all other ports ────┴── veth ── target, and an echo server
//! ```

use super::{Ground, SERVER, SERVER_V6};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tare_system_tests::bed::run_in;
use tare_system_tests::process::wait_until;
use tare_system_tests::{Run, Tare, beside_others, need, skipped};

/// The generator's own addresses.
const HOST: &str = "ip=198.18.0.1/24,ip=fd00:18::1/64";

/// A session like one of ssh: the kernel's own, with a line and its echo again and again.
struct Chat {
    ends: Arc<AtomicBool>,
    talks: JoinHandle<u64>,
    echoes: JoinHandle<()>,
}

impl Chat {
    fn start(ground: &Ground, server: &str) -> Self {
        let at: SocketAddr =
            format!("[{server}]:0").parse().or_else(|_| format!("{server}:0").parse()).expect("one");
        let listener =
            ground.sink().run_in(|| TcpListener::bind(at)).expect("a namespace").expect("a free port");
        let at = listener.local_addr().expect("it is bound");
        let echoes = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("somebody connects");
            let mut line = [0; 32];
            while stream.read_exact(&mut line).is_ok() {
                stream.write_all(&line).expect("the other end lives");
            }
        });
        let mut stream =
            ground.generator().run_in(|| TcpStream::connect(at)).expect("a namespace").expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time above zero");
        let ends = Arc::new(AtomicBool::new(false));
        let stop = ends.clone();
        let talks = std::thread::spawn(move || {
            let mut count = 0u64;
            while !stop.load(Ordering::Relaxed) {
                let line = [count as u8; 32];
                let mut back = [0; 32];
                stream.write_all(&line).expect("the session lives");
                stream.read_exact(&mut back).expect("the echo comes");
                assert_eq!(back, line);
                count += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            count
        });
        Self { ends, talks, echoes }
    }

    /// Ends it; how many lines came back.
    fn end(self) -> u64 {
        self.ends.store(true, Ordering::Relaxed);
        let lines = self.talks.join().expect("the session lived to its end");
        self.echoes.join().expect("the echo server lived to its end");
        lines
    }
}

/// Resets that the generator's kernel sent.
fn resets(ground: &Ground) -> u64 {
    let text = run_in(ground.generator(), "cat /proc/net/snmp");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("Tcp:")).collect();
    let at = lines[0].split_whitespace().position(|word| word == "OutRsts").expect("a counter");
    lines[1].split_whitespace().nth(at).and_then(|count| count.parse().ok()).expect("a number")
}

/// Sockets that keep ports from the generator's kernel.
fn reserved(ground: &Ground) -> usize {
    let text = run_in(ground.generator(), "cat /proc/net/tcp /proc/net/tcp6");
    text.lines().filter(|line| line.split_whitespace().nth(3) == Some("0A")).count()
}

fn share(ground: &Ground, port: &str, load: &str) -> Tare {
    ground.by_kernel(&format!("--via {port}:gen0,{HOST} --share-address {load}"))
}

#[track_caller]
fn runs_beside_the_kernel(port: &str) {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--no-truth");
    let before = resets(&ground);
    for (url, server) in target.urls().iter().zip([SERVER, SERVER_V6]) {
        let chat = Chat::start(&ground, server);
        for load in ["--parallel 20 --requests 3k", "--parallel 20 --requests 500 --no-keep-alive"] {
            let run = share(&ground, port, &format!("{load} {url}")).run();
            let wanted = if load.contains("3k") { 3_000 } else { 500 };
            assert_eq!((run.total("done"), run.total("failed")), (wanted, 0), "{run}");
            assert_eq!((run.int("tcp.resets_in"), run.int("tcp.stray")), (0, 0), "{run}");
            assert!(run.remarks().contains("its kernel left to them"), "{run}");
        }
        assert!(chat.end() > 10);
    }
    assert_eq!(resets(&ground), before, "the kernel reset connections that are not its own");
    assert_eq!((reserved(&ground), ground.connections()), (0, Vec::new()));
}

#[test]
fn the_hosts_own_connections_go_on_beside_those_of_a_packet_port() {
    runs_beside_the_kernel("packet");
}

#[test]
fn an_xdp_program_leaves_the_host_all_but_its_segments() {
    runs_beside_the_kernel("xdp");
}

#[test]
fn a_run_that_is_killed_leaves_no_port_taken() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--no-truth");
    let load = format!("--parallel 4 --duration 30s {}", target.url());
    let mut killed = share(&ground, "packet", &load).start();
    wait_until("connections", || ground.connections().len() >= 4);
    assert_eq!(reserved(&ground), 2 * 4096);
    killed.process.kill();
    wait_until("the kernel takes the ports back", || reserved(&ground) == 0);
    let next = share(&ground, "packet", &format!("--parallel 4 --requests 100 {}", target.url())).run();
    assert_eq!((next.total("done"), next.total("failed")), (100, 0), "{next}");
}

#[test]
fn connections_that_exist_are_used_when_no_port_is_left_for_more() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--no-truth");
    for path in ["general", "fast"] {
        let load = format!("--via-path {path} --open-all --parallel 4200 --rate 3k --requests 6k");
        let run = share(&ground, "packet", &format!("{load} {}", target.url())).run();
        let (opened, done, missed) = (run.int("connections.opened"), run.total("done"), run.total("missed"));
        // One in a tenth of a second tries whether there is another by now; others only find none that is idle.
        assert!(opened <= 4096 && done + missed == 6_000 && missed < 600, "{path}: {run}");
    }
}

/// A port would wait for longer only after an orderly close that this end began.
#[test]
fn every_port_is_used_again_within_a_second() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--no-truth");
    // There are 4096 ports, and on average each is used three times.
    let requests = 3 * 4096;
    for path in ["general", "fast"] {
        for close in ["rst", "server"] {
            let load = format!("--via-path {path} --close {close} --no-keep-alive --parallel 64");
            let load = format!("{load} --requests {requests} {}", target.url());
            let run = share(&ground, "packet", &load).run();
            assert_eq!((run.total("done"), run.int("connections.opened")), (requests, requests), "{run}");
            assert_eq!((run.total("failed"), run.int("tcp.quarantined")), (0, 0), "{run}");
            // What is taken for the connection before it has to be sent again a second later.
            assert!(run.int("tcp.retransmitted") < 100, "{run}");
            let seconds = run.float("rate.duration_s");
            if seconds > 3.0 {
                skipped(&format!("this machine makes {requests} connections in {seconds} s, not in 3"));
            }
        }
    }
}

#[test]
fn who_may_open_too_few_files_is_told_how_many_are_needed() {
    let _shared = beside_others();
    need("prlimit");
    let ground = Ground::new();
    let target = ground.target("--no-truth");
    let with = |files: &str| {
        let load = format!("--parallel 2 --requests 20 {}", target.url());
        share(&ground, "packet", &load).through(&format!("prlimit --nofile={files}")).run()
    };
    let refused = with("2000");
    assert_eq!(refused.code, Some(2), "{refused}");
    let advice = refused.stderr.split("ulimit -n ").nth(1).expect("what to type");
    let number: String = advice.chars().take_while(char::is_ascii_digit).collect();
    assert_eq!(with(&number).total("done"), 20, "as advised: {number}");
}

#[test]
fn what_cannot_be_shared_is_refused_with_the_reason() {
    let _shared = beside_others();
    let ground = Ground::new();
    let url = format!("http://{SERVER}/");
    for (via, why) in [
        ("packet:gen0,ip=198.18.0.10/24 --share-address", "198.18.0.10 is not an address of this host"),
        ("packet:gen0,ip=198.18.0.1-2/24 --share-address", "198.18.0.2 is not an address of this host"),
        ("live:gen0,ip=198.18.0.1/24 --share-address", "only on packet:INTERFACE and xdp:INTERFACE"),
        ("packet:gen0,ip=198.18.0.1/24,mac=02:00:00:00:00:09 --share-address", "mac= cannot be"),
        ("packet:gen0,ip=198.18.0.1/24", "--share-address"),
    ] {
        let run: Run = ground.by_kernel(&format!("--via {via} --requests 5 {url}")).run();
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{via}: {run}");
        assert!(run.stderr.contains(why), "{via}: {run}");
    }
    let alone = Tare::http(&format!("--share-address --requests 5 {url}")).run();
    assert_eq!(alone.code, Some(2), "{alone}");
    assert!(alone.stderr.contains("--via"), "{alone}");
}

#[test]
fn a_simulated_module_has_sessions_of_its_own_and_no_wire_for_this_tcp() {
    let run =
        Tare::http(&format!("--via fpga,wire=gen0:sim,ip=198.18.0.10/24 --requests 5 http://{SERVER}/"))
            .run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
    assert!(run.stderr.contains("wire is for frames, not for sessions"), "{run}");
}
