//! How runs and connections end: outcomes by their causes, and nothing left behind at anybody's.

use super::{Capture, Ground, OWN, SERVER};
use std::time::Duration;
use tare_system_tests::bed::run_in;
use tare_system_tests::{Run, Tare, beside_others, binary, light};

/// Nothing but what the plan names was sent by our addresses: segments to the server, and questions for MAC
/// addresses.
#[track_caller]
fn only_the_target(capture: Capture) {
    let wire = capture.finish();
    // Of the addresses' own MAC addresses; those of the bed begin with 02:18.
    let ours = "eth.src[0:2]==02:74";
    assert!(!wire.frames(ours, &["frame.number"]).is_empty(), "nothing of ours was seen");
    let to_target = "(tcp and (ip.dst==198.18.0.2 or ipv6.dst==fd00:18::2))";
    // Questions are for the target, for our own addresses, and for the gateway that is none.
    let asked = ["198.18.0.2", "198.18.0.77", "198.18.0.10", "198.18.0.11", "198.18.0.12", "198.18.0.20"];
    let asked: Vec<String> = asked.iter().map(|address| format!("arp.dst.proto_ipv4=={address}")).collect();
    let questions = format!("({} or icmpv6.type==135 or icmpv6.type==136)", asked.join(" or "));
    let others = format!("{ours} and not ({to_target} or {questions})");
    assert_eq!(wire.frames(&others, &["frame.number", "ip.dst", "_ws.col.Info"]), Vec::<String>::new());
}

#[test]
fn who_cannot_be_reached_is_told_by_its_cause() {
    let _shared = beside_others();
    let ground = Ground::new();
    let capture = Capture::start(ground.sink());
    let load = "--parallel 4 --requests 20 --timeout 5s";
    // Nobody listens: as by the kernel.
    let kernel = ground.by_kernel(&format!("{load} http://{SERVER}:9/")).run();
    let refused = ground.by("packet", &format!("{load} http://{SERVER}:9/")).run();
    assert_eq!((refused.code, refused.outcome("connect.refused")), (Some(5), 20), "{refused}");
    assert_eq!(refused.outcome_keys(), kernel.outcome_keys(), "{kernel}");
    // Nobody has the address, or its gateway does not answer.
    let nobody = ground.by("packet", &format!("{load} http://198.18.0.77/")).start();
    let through = format!("--via packet:gen0,ip=198.18.0.20/24,gw=198.18.0.77 {load} http://198.19.0.1/");
    let silent = ground.by_kernel(&through).start();
    for run in [nobody.finish(), silent.finish()] {
        assert_eq!((run.code, run.outcome("connect.unreachable")), (Some(5), 20), "{run}");
    }
    // Who has less patience than ARP is told the same, and who it was that did not answer.
    for path in ["general", "fast"] {
        let hasty = format!("--via-path {path} --parallel 4 --requests 4 --timeout 1s http://198.19.0.1/");
        let own = "--via packet:gen0,ip=198.18.0.20/24,gw=198.18.0.77";
        let run = ground.by_kernel(&format!("{own} {hasty}")).run();
        assert_eq!((run.code, run.outcome("connect.timeout")), (Some(5), 4), "{run}");
        assert!(run.remarks().contains("198.18.0.77, the gateway (gw=), did not reply to ARP"), "{run}");
    }
    only_the_target(capture);
}

#[test]
fn a_target_without_a_way_to_it_is_refused_before_anything_is_sent() {
    let _shared = beside_others();
    let ground = Ground::new();
    let capture = Capture::start(ground.sink());
    let outside = ground.by("packet", "--requests 20 http://198.19.0.1/").run();
    assert_eq!((outside.code, outside.stdout.as_str()), (Some(2), ""), "{outside}");
    assert!(outside.stderr.contains("198.19.0.1") && outside.stderr.contains("gw="), "{outside}");
    let no_family = format!("--via packet:gen0,{OWN} --requests 20 http://[fd00:18::2]/");
    let no_family = ground.by_kernel(&no_family).run();
    assert_eq!((no_family.code, no_family.stdout.as_str()), (Some(2), ""), "{no_family}");
    assert!(no_family.stderr.contains("ip="), "{no_family}");
    let tcp = capture.finish().frames("tcp", &["frame.number"]);
    assert_eq!(tcp, Vec::<String>::new());
}

#[test]
fn an_address_of_the_hosts_own_is_refused_before_anything_is_sent() {
    let _shared = beside_others();
    let ground = Ground::new();
    let capture = Capture::start(ground.sink());
    // By name from outside as from inside, and whichever of the addresses it is.
    let outside = format!("--via packet,netns={}:gen0,ip=198.18.0.1/24", ground.generator().name);
    let inside = "--via packet:gen0,ip=198.18.0.10/24,ip=fd00:18::1-fd00:18::3/64";
    for (tare, own) in [
        (Tare::http(&format!("{outside} http://{SERVER}/")), "198.18.0.1 "),
        (ground.by_kernel(&format!("{inside} http://{SERVER}/")), "fd00:18::1 "),
    ] {
        let run = tare.run();
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
        assert!(run.stderr.contains(&format!("{own}is an address of this host")), "{run}");
        assert!(run.stderr.contains("choose unused addresses"), "{run}");
    }
    let wire = capture.finish();
    assert_eq!(wire.frames("arp or tcp or icmpv6.type==135", &["frame.number"]), Vec::<String>::new());
}

#[test]
fn the_result_says_where_connections_were_and_what_their_tcp_did() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--no-truth");
    run_in(ground.generator(), "sysctl -q -w net.ipv4.ip_forward=1");
    let run = ground.by("packet", &format!("--parallel 5 --requests 100 {}", target.url())).run();
    assert!(run.at("generator.io").as_str().is_some_and(|io| io.starts_with("port: ")), "{run}");
    assert_eq!(run.at("generator.arrivals.by"), "kernel stamps", "{run}");
    assert_eq!(
        (run.int("generator.arrivals.stamped"), run.at("generator.ports_left").is_null()),
        (100, true)
    );
    assert_eq!(
        (run.int("tcp.opened"), run.int("tcp.connected"), run.int("tcp.retransmitted")),
        (5, 5, 0),
        "{run}"
    );
    assert!(run.int("tcp.segments_out") >= 100 && run.int("tcp.station.segments") >= 100, "{run}");
    let names: Vec<_> =
        run.at("tcp.deviations").as_array().into_iter().flatten().map(|one| &one["name"]).collect();
    assert!(names.iter().any(|name| *name == "congestion.shared_window"), "{names:?}");
    assert_eq!(
        (run.at("/via/addresses/0"), run.at("via.mac")),
        (&"198.18.0.10".into(), &"02:74:c6:12:00:0a".into())
    );
    assert_eq!(run.at("via.addresses").as_array().map(Vec::len), Some(6), "{run}");
    assert!(run.remarks().contains("forwards packets"), "{run}");
}

/// The server's kernel must have nothing left of ours, as it would keep a connection for hours.
#[track_caller]
fn nothing_is_left(ground: &Ground, run: &Run) {
    assert_eq!(ground.connections(), Vec::<String>::new(), "{run}");
}

#[test]
fn an_interrupted_run_resets_all_its_connections() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--delay 50ms --size 2k --no-truth");
    let capture = Capture::start(ground.sink());
    for url in target.urls() {
        let run = ground.by("packet", &format!("--parallel 50 --duration 30s {url}")).start();
        run.sleep_until(Duration::from_millis(700));
        assert!(ground.connections().len() >= 50, "{}", ground.connections().len());
        run.interrupt();
        let run = run.finish();
        assert_eq!(run.code, Some(130), "{run}");
        assert!(run.total("done") > 50 && run.total("failed") == 0, "{run}");
        nothing_is_left(&ground, &run);
    }
    only_the_target(capture);
}

#[test]
fn a_link_that_goes_and_comes_loses_no_request() {
    let _shared = beside_others();
    a_link_goes_and_comes("packet");
}

#[test]
fn a_link_that_goes_and_comes_loses_no_request_by_xdp() {
    let _shared = beside_others();
    a_link_goes_and_comes("xdp");
}

#[test]
fn a_link_that_goes_and_comes_is_told_from_another_namespace() {
    let _shared = beside_others();
    let ground = Ground::new();
    let via = format!("--via packet,netns={}:gen0,{OWN}", ground.generator().name);
    goes_and_comes(&ground, |load| Tare::http(&format!("{via} {load}")));
}

#[track_caller]
fn a_link_goes_and_comes(port: &str) {
    let ground = Ground::new();
    goes_and_comes(&ground, |load| ground.by(port, load));
}

#[track_caller]
fn goes_and_comes(ground: &Ground, tare: impl Fn(&str) -> Tare) {
    let target = ground.target("--no-truth");
    let times = "--duration 1s --timeout 30s --grace 30s --spin never";
    let run = tare(&format!("--rate 200 --parallel 20 {times} {}", target.url())).start();
    run.sleep_until(Duration::from_millis(700));
    ground.ip(ground.generator(), "link set gen0 down");
    std::thread::sleep(Duration::from_millis(200));
    ground.ip(ground.generator(), "link set gen0 up");
    let run = run.finish();
    assert_eq!((run.total("done"), run.total("failed")), (200, 0), "{run}");
    // It is told that it was this host's link.
    let links = run.criterion("links.lost");
    assert!(!links.holds && links.value == 1.0, "{links:?} in {run}");
    // It sleeps while nothing can be sent.
    assert!(run.float("generator.cpu_s") < run.took.as_secs_f64() / 3.0, "{run}");
    nothing_is_left(ground, &run);
}

/// Most of what was asked for was never due.
#[test]
fn a_run_whose_interface_is_removed_is_not_valid() {
    let _shared = beside_others();
    for port in ["packet", "xdp"] {
        for path in ["fast", "general"] {
            let ground = Ground::new();
            let target = ground.target("--no-truth");
            let load = format!("--via-path {path} --rate 100 --duration 5s {}", target.url());
            let run = ground.by(port, &load).start();
            run.sleep_until(Duration::from_millis(700));
            ground.ip(ground.generator(), "link del gen0");
            let run = run.finish();
            let kept = run.criterion("ports.failed");
            assert!(!kept.holds && kept.severity == "INVALID" && run.code == Some(4), "{kept:?}; {run}");
            assert!(run.at("partial").as_bool() == Some(true) && run.at("/labels/0").is_string(), "{run}");
        }
    }
}

/// Answers, says that nothing more will come, and reads on until the other end closes.
const HALF: &str = r#"
def serve(connection):
    try:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass
    except OSError:
        pass
    connection.close()
"#;

#[test]
fn a_server_that_closes_first_keeps_no_connection_of_an_ended_run() {
    let _light = light();
    let ground = Ground::new();
    let _server = ground.serves(HALF);
    for path in ["fast", "general"] {
        let load =
            format!("--via-path {path} --parallel 16 --requests 2000 --timeout 500ms http://{SERVER}:8026/");
        let run = ground.by("packet", &load).run();
        let ends = ["done", "failed", "missed", "cut_off"].map(|end| run.total(end));
        assert_eq!(ends.iter().sum::<u64>(), 2_000, "{run}");
        assert_eq!(ground.connections(), Vec::<String>::new(), "{path}: {run}");
    }
}

#[test]
fn an_interrupted_backlog_is_the_limit_of_connections_by_either_path() {
    let _light = light();
    let ground = Ground::new();
    let target = ground.target("--no-truth --delay 300ms");
    for path in ["fast", "general"] {
        // Responses come at 300 ms, 600 ms, …: that is when the signal comes, too.
        for at_ms in [1_195, 1_205, 1_215] {
            let load = format!(
                "--via-path {path} --rate 500 --parallel 4 --duration 5s --accept-invalid {}",
                target.url()
            );
            let run = ground.by("packet", &load).start();
            run.sleep_until(Duration::from_millis(at_ms));
            run.interrupt();
            let run = run.finish_unchecked();
            let (free, late) = (run.outcome("missed.no_connection"), run.outcome("missed.not_reached"));
            assert!(free > 300 && late < 10, "{path}: {run}");
        }
    }
}

#[test]
fn addresses_of_another_run_are_refused_before_anything_is_sent() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--no-truth --delay 5ms");
    // It is ended when all have tried.
    let load = format!("--parallel 4 --duration 60s {}", target.url());
    let first = ground.by("packet", &load).start();
    first.sleep_until(Duration::from_millis(600));
    let second = ground.by("packet", &load).start().finish_unchecked();
    assert_eq!(second.code, Some(2), "{second}");
    assert!(second.stderr.contains("another run uses 198.18.0.10"), "{second}");
    // Another user's, who has files and locks of its own.
    let other = "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +net_raw,+net_admin \
                 --ambient-caps +net_raw,+net_admin";
    let third = ground.by("packet", &load).through(other).start().finish_unchecked();
    assert_eq!(third.code, Some(2), "{third}");
    assert!(third.stderr.contains("another run uses 198.18.0.10"), "{third}");
    // So are they as a target's, and the doctor knows it before.
    let own = "packet:gen0,ip=198.18.0.10/24";
    let said = |words: &str| {
        let mut tare = ground.generator().command(binary().to_str().expect("a path"));
        let output = tare.args(words.split(' ')).output().expect("tare runs");
        let all = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&all).split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let (code, text) = said(&format!("target --over {own} --for 1s"));
    assert!(code == Some(2) && text.contains("another target or run uses 198.18.0.10"), "{code:?} {text}");
    let (_, text) = said(&format!("doctor -- http --via {own} -n 1 {}", target.url()));
    assert!(text.contains("another run uses 198.18.0.10"), "{text}");
    // Others of the same subnet are had at once, and these when the first has ended.
    let beside = ground.beside(3, "packet", &format!("--parallel 4 --duration 300ms {}", target.url())).run();
    let first = first.end();
    let after = ground.by("packet", &format!("--parallel 4 --duration 300ms {}", target.url())).run();
    for run in [&first, &beside, &after] {
        assert_eq!(run.total("failed"), 0, "{run}");
    }
}
