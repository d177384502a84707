//! Own addresses on links that are not plain: somebody has one, the link is a VLAN, the target is behind a
//! router with a smaller MTU, others ask who is there.

use super::{Capture, Ground, Inside, OWN, OWN_V6};
use std::time::Duration;
use tare_system_tests::bed::{Middlebox, Namespace, Topology};
use tare_system_tests::{Recorder, Tare, Target, TestBed, beside_others, need};

/// In the middle of the ranges, and in either family.
#[test]
fn an_address_that_another_host_has_is_refused_before_a_segment_is_sent() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target("--no-truth");
    ground.ip(ground.sink(), "address add 198.18.0.33/24 dev sink0");
    ground.ip(ground.sink(), "address add fd00:18::33/64 dev sink0 nodad");
    let mac = ground.sink().interface().mac;
    let capture = Capture::start(ground.sink());
    for port in ["packet", "xdp"] {
        for (own, taken) in
            [("ip=198.18.0.30-35/24", "198.18.0.33"), ("ip=fd00:18::30-fd00:18::35/64", "fd00:18::33")]
        {
            let load = format!("--via {port}:gen0,{own} --requests 5 {}", target.url());
            let run = ground.by_kernel(&load).run();
            assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run}");
            assert!(run.stderr.contains(&format!("{taken} is in use: {mac} answers for it")), "{run}");
        }
    }
    assert_eq!(capture.finish().frames("tcp", &["frame.number"]), Vec::<String>::new());
}

/// At both ends, as this kernel may have no VLANs; tshark sees the tags.
#[test]
fn a_vlan_is_a_link_of_its_own() {
    let _shared = beside_others();
    let ground = Ground::new();
    let through = ["ip", "netns", "exec", &ground.sink().name];
    let over = |place: &str| format!("--over packet:sink0,ip=198.18.7.{place} --size 9k --no-truth");
    let tagged = Target::start_through(&through, &over("2/24,vlan=7"));
    // Nobody hears them who is not of this VLAN.
    let _others = [over("3/24"), over("4/24,vlan=8")].map(|over| Target::start_through(&through, &over));
    let capture = Capture::start(ground.sink());
    for (number, port) in ["packet", "xdp"].into_iter().enumerate() {
        let own = format!("--via {port}:gen0,ip=198.18.7.{},vlan=7", format_args!("{}/24", number + 10));
        for path in ["general", "fast"] {
            let load = format!("{own} --via-path {path} --parallel 5 --requests 100 {}", tagged.url());
            let run = ground.by_kernel(&load).run();
            // Full segments, whose frames are longer by the tag.
            let figures = (run.total("done"), run.total("failed"), run.total("body_in"));
            assert_eq!(figures, (100, 0, 900_000), "{port} {path}: {run}");
        }
        for other in ["198.18.7.3", "198.18.7.4"] {
            let run = ground.by_kernel(&format!("{own} --requests 3 http://{other}/")).run();
            assert_eq!(run.outcome("connect.unreachable"), 3, "{port}: {run}");
        }
    }
    let wire = capture.finish();
    let ours = "ip.src==198.18.7.10 or ip.src==198.18.7.11";
    assert!(!wire.frames(&format!("vlan.id==7 and ({ours})"), &["frame.number"]).is_empty());
    let untagged = wire.frames(&format!("({ours}) and not vlan.id==7"), &["frame.number"]);
    assert_eq!(untagged, Vec::<String>::new());
}

/// The addresses of a namespace's first interface.
fn both(inside: &Namespace) -> (String, String) {
    let interface = inside.interface();
    let (v4, v6) = (interface.ipv4.expect("one of IPv4"), interface.ipv6.expect("one of IPv6"));
    (v4.to_string(), v6.to_string())
}

/// The router says so by ICMP ("fragmentation needed", "packet too big"), and what was too long leaves again at
/// once.
#[test]
fn a_target_behind_a_gateway_with_a_smaller_mtu_gets_every_byte() {
    let _shared = beside_others();
    let bed = TestBed::up(Topology::unique().ipv6().middlebox(Middlebox::Router));
    let router = bed.middlebox().expect("a router");
    let (v4, v6) = both(bed.sink());
    bed.ip(router, &format!("route add {v4}/32 dev mid1 mtu lock 1280"));
    bed.ip(router, &format!("-6 route add {v6}/128 dev mid1 mtu lock 1280"));
    // A router asks for neighbours from such an address, which a bed does without.
    bed.ip(router, "address add fe80::fe/64 dev mid0 nodad");
    let recorder = Inside::new(bed.sink(), || Recorder::on(&[&v4, &v6]));
    let (gateway_v4, gateway_v6) = both(router);
    let body = "0123456789abcdef".repeat(2_000);
    let header = "x".repeat(4_000);
    for (host, gateway, own) in [(v4, gateway_v4, OWN), (format!("[{v6}]"), gateway_v6, OWN_V6)] {
        for (path, what) in [("general", format!("-d {body}")), ("fast", format!("-H X:{header}"))] {
            let before = recorder.requests().len();
            let load = format!(
                "--via packet:gen0,{own},gw={gateway} --via-path {path} --parallel 3 --requests 30 {what} \
                 http://{host}:{}/",
                recorder.port()
            );
            let run = Tare::http(&load).inside(bed.generator()).run();
            assert_eq!((run.total("done"), run.total("failed")), (30, 0), "{path} {own}: {run}");
            assert!(run.int("tcp.mss_lowered") >= 1, "{path} {own}: {run}");
            // Nobody waited for a timer, which is 200 ms at least.
            assert!(run.float("latency_ns.max") < 0.19e9, "{path} {own}: {run}");
            for request in recorder.requests().split_off(before) {
                let whole = match path {
                    "general" => request.body == body.as_bytes(),
                    _ => request.fields("X") == [header.as_str()],
                };
                assert!(whole, "{path} {own}: {} bytes", request.body.len());
            }
        }
    }
}

/// By ping of either family.
#[test]
fn own_addresses_answer_while_a_run_lasts_and_not_after() {
    let _shared = beside_others();
    need("ping");
    let ground = Ground::new();
    let target = ground.target("--no-truth --delay 5ms");
    let pings = |own: &str| {
        let mut ping = ground.sink().command("ping");
        let output = ping.args(["-n", "-c", "2", "-i", "0.05", "-W", "1", own]).output();
        output.expect("ping runs").status.success()
    };
    for (number, port) in ["packet", "xdp"].into_iter().enumerate() {
        let load = format!("--parallel 2 --duration 2s {}", target.url());
        let run = ground.beside(number, port, &load).start();
        run.sleep_until(Duration::from_millis(500));
        let own = ["198.18.0.", "fd00:18::"].map(|family| format!("{family}{}1", number + 2));
        own.iter().for_each(|own| assert!(pings(own), "{port}: {own} does not answer"));
        let run = run.finish();
        assert_eq!((run.total("failed"), run.int("tcp.station.echoes")), (0, 4), "{run}");
        assert!(!pings(&own[0]), "{port}: somebody answers after the run");
    }
}
