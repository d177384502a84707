//! `tare target --over`: curl and `tare http`, over the kernel's sockets, fetch from a target that has none.

use serde_json::Value;
use tare_system_tests::bed::{Namespace, Topology, run_in};
use tare_system_tests::{Run, Tare, Target, TestBed, beside_others};

/// A target at the generator's interface.
fn target(bed: &TestBed, port: &str, arguments: &str) -> Target {
    let generator = bed.generator();
    let at = format!("{port},netns={}:{}", generator.name, generator.interface().name);
    Target::start_through(
        &[],
        &format!("--no-truth --over {at},ip=198.18.0.77/24,ip=fd00:18::77/64 {arguments}"),
    )
}

fn bed() -> TestBed {
    TestBed::up(Topology::unique().ipv6().without_neighbours())
}

fn body(size: usize) -> Vec<u8> {
    let unit = b"tare known-truth target body 0123456789 abcdefghijklmnopqrstuvw\n";
    unit.iter().copied().cycle().take(size).collect()
}

fn curl(from: &Namespace, words: &str) -> Vec<u8> {
    run_in(from, &format!("curl -g -sS --max-time 20 {words}")).into_bytes()
}

fn load(from: &Namespace, arguments: &str) -> Run {
    Tare::http(arguments).through(&format!("ip netns exec {}", from.name)).run()
}

fn count(summary: &Value, key: &str) -> u64 {
    summary[key].as_u64().unwrap_or_else(|| panic!("{key} in {summary}"))
}

#[test]
fn curl_fetches_every_byte() {
    let _beside = beside_others();
    let bed = bed();
    for (port, size) in [("packet", 100), ("packet", 9_000), ("xdp,mode=copy", 9_000)] {
        let mut target = target(&bed, port, &format!("--size {size} --listen 8080"));
        assert_eq!(target.urls(), ["http://198.18.0.77:8080/", "http://[fd00:18::77]:8080/"]);
        let expected = body(size);
        for url in target.urls() {
            assert!(curl(bed.sink(), url) == expected, "{port} {size} {url}");
            // Twice on one connection; and one that ends with the response.
            let twice = curl(bed.sink(), &format!("{url} {url} -w %{{num_connects}}"));
            assert!(twice == [&expected[..], b"1", &expected, b"0"].concat(), "{port} {size} {url}");
            assert!(curl(bed.sink(), &format!("-H Connection:close {url}")) == expected);
            assert!(curl(bed.sink(), &format!("--http1.0 {url}")) == expected);
        }
        let summary = target.summary();
        let served = ["requests", "syns", "bad", "refused", "unsent"].map(|key| count(&summary, key));
        assert_eq!(served, [10, 8, 0, 0, 0], "{summary}");
        let neighbour = format!("neigh del 198.18.0.77 dev {}", bed.sink().interface().name);
        bed.ip(bed.sink(), &neighbour);
    }
}

#[test]
fn a_load_over_sockets_has_all_its_responses() {
    let _beside = beside_others();
    let bed = bed();
    for (size, family) in [(100, 0), (9_000, 1)] {
        let mut target = target(&bed, "packet", &format!("--size {size}"));
        let run = load(bed.sink(), &format!("{} -c 64 -n 8000", target.urls()[family]));
        assert_eq!((run.total("done"), run.total("failed")), (8_000, 0), "{}", run.remarks());
        let summary = target.summary();
        assert!(count(&summary, "requests") >= 8_000, "{summary}");
        assert_eq!((count(&summary, "bad"), count(&summary, "unsent")), (0, 0), "{summary}");
        assert!(count(&summary, "syns") >= 64, "{summary}");
    }
}

/// A lost segment of either side is sent again by the client, and answered again in the same way.
#[test]
fn loss_fails_no_request() {
    let _beside = beside_others();
    let bed = bed();
    let mut target = target(&bed, "fault,drop=2%,seed=7,on=both:packet", "--size 100");
    let run = load(bed.sink(), &format!("{} -c 64 -n 4000", target.url()));
    assert_eq!((run.total("done"), run.total("failed")), (4_000, 0), "{}", run.remarks());
    let summary = target.summary();
    assert!(count(&summary, "requests") > 4_000, "some came again: {summary}");
}

#[test]
fn this_hosts_own_stack_reaches_it_through_a_tap() {
    let _beside = beside_others();
    let bed = bed();
    let generator = bed.generator();
    let over = "tap,address=198.18.9.1/24:tare9,ip=198.18.9.2/24";
    let wrapper = ["ip", "netns", "exec", &generator.name];
    let mut target = Target::start_through(&wrapper, &format!("--no-truth --over {over} --size 9000"));
    assert!(curl(generator, &target.url()) == body(9_000));
    assert_eq!(count(&target.summary(), "requests"), 1);
}

#[test]
fn an_address_that_somebody_has_is_refused_before_anything_is_served() {
    let _beside = beside_others();
    let bed = bed();
    let generator = bed.generator();
    let at = format!("packet,netns={}:{},ip=198.18.0.2/24", generator.name, generator.interface().name);
    let run = Tare::new(&format!("target --for 5s --over {at}")).start().finish_unchecked();
    let expected = format!("198.18.0.2 is in use: {} answers for it", bed.sink().interface().mac);
    assert!(run.code == Some(2) && run.stderr.contains(&expected), "{:?} {}", run.code, run.stderr);
    // One of the host's own: its kernel would reset every connection.
    for (port, own) in [("packet", "198.18.0.1/24"), ("xdp,mode=copy", "fd00:18::1/64")] {
        let at = format!("{port},netns={}:{},ip={own}", generator.name, generator.interface().name);
        let run = Tare::new(&format!("target --for 5s --over {at}")).start().finish_unchecked();
        let expected = format!("{} is an address of this host", own.split('/').next().expect("an address"));
        assert!(run.code == Some(2) && run.stderr.contains(&expected), "{:?} {}", run.code, run.stderr);
    }
}

/// On one interface, two would answer each other's connections.
#[test]
fn a_second_target_on_the_same_address_is_refused_and_the_first_serves_on() {
    let _beside = beside_others();
    let bed = bed();
    let generator = bed.generator();
    let first = target(&bed, "packet", "--size 100");
    let refused = |own: &str| {
        let at = format!("netns={}:{}", generator.name, generator.interface().name);
        ["packet", "xdp,mode=copy"].map(|port| {
            let over = format!("target --for 5s --no-truth --over {port},{at},{own}");
            Tare::new(&over).start().finish_unchecked()
        })
    };
    for (own, address) in [
        ("ip=198.18.0.77/24", "198.18.0.77"),
        ("ip=198.18.0.70-80/24", "198.18.0.77"),
        ("ip=198.18.0.90/24,ip=fd00:18::77/64", "fd00:18::77"),
    ] {
        for second in refused(own) {
            assert_eq!((second.code, second.stdout.as_str()), (Some(2), ""), "{own}: {}", second.stderr);
            let expected = format!("another target or run uses {address} on this interface");
            assert!(second.stderr.contains(&expected), "{own}: {}", second.stderr);
        }
    }
    for url in first.urls() {
        assert!(curl(bed.sink(), url) == body(100), "{url}");
    }
    // Its addresses are free as soon as it has ended.
    drop(first);
    let next = target(&bed, "packet", "--size 200");
    assert!(curl(bed.sink(), &next.url()) == body(200));
}
