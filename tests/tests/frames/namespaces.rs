//! Ports in other network namespaces than the process: `packet,netns=NAME:gen0`.

use tare_system_tests::{Tare, TestBed, beside_others};

/// `kind,netns=…:interface` for both ends of the bed.
fn ends(bed: &TestBed, kind: &str) -> (String, String) {
    let port = |namespace: &tare_system_tests::bed::Namespace| {
        format!("{kind},netns={}:{}", namespace.name, namespace.interface().name)
    };
    (port(bed.generator()), port(bed.sink()))
}

#[test]
fn one_process_holds_both_ends_of_a_bed() {
    let _beside = beside_others();
    for kind in ["packet", "xdp", "auto"] {
        let bed = TestBed::pair();
        let (near, far) = ends(&bed, kind);
        let to = bed.sink().interface().ipv4.expect("an address");
        // The destination's hardware address is asked for there, too.
        let words = format!("send {near} --receive {far} -i {to} --rate 2k --sign -n 1000 --accept-invalid");
        let run = Tare::packets(&words).run();
        assert_eq!(run.at("/totals/done"), 1_000, "{kind}");
        assert_eq!(run.at("/packets/received/signed"), 1_000, "{kind}");
        assert_eq!(run.at("/packets/received/lost"), 0, "{kind}");
        // The port's name opens it again: the namespace is in it.
        let name = run.at("/packets/ports/0/name").to_string();
        assert!(name.contains(&format!("netns={}", bed.generator().name)), "{name}");
        assert!(bed.kernel(bed.sink(), "rx_packets") >= 1_000, "{kind}");
    }
}

#[test]
fn a_namespace_or_an_interface_that_is_not_there_is_named() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    for (port, said) in [
        ("packet,netns=nowhere-at-all:gen0".to_owned(), "there is no network namespace 'nowhere-at-all'"),
        (format!("packet,netns={}:gen9", bed.generator().name), "there is no interface 'gen9'"),
        (format!("live,netns={}:gen9", bed.generator().name), "there is no interface 'gen9'"),
    ] {
        let run = Tare::packets(&format!("send {port} -i 198.18.0.2 -n 1")).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{port}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{port}: {}", run.stderr);
    }
}

#[test]
fn the_mtu_bounds_frames_before_anything_is_sent_and_a_vlan_tag_may_come_on_top() {
    let _beside = beside_others();
    for kind in ["packet", "xdp"] {
        let bed = TestBed::pair();
        let (near, far) = ends(&bed, kind);
        let send =
            |flags: &str| format!("send {near} -i 198.18.0.2 -m 02:18:00:00:00:02 -n 10 --rate 1k {flags}");
        for size in [1_519, 1_522] {
            let run = Tare::packets(&send(&format!("--size {size}"))).start().finish_unchecked();
            assert_eq!(run.code, Some(2), "{kind} {size}: {}", run.stderr);
            let said = format!(
                "a frame size of {size} is more than {near} accepts (1518, its MTU with header and FCS)"
            );
            assert!(run.stderr.contains(&said), "{kind}: {}", run.stderr);
        }
        let flags = format!("--size 1522 --vlan 5 --sign --receive {far} --accept-invalid");
        let run = Tare::packets(&send(&flags)).run();
        assert_eq!(
            (run.at("/totals/done"), run.at("/packets/received/signed")),
            (&10.into(), &10.into()),
            "{kind}"
        );
        let run = Tare::packets(&send("--size 1523 --vlan 5")).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{kind}: {}", run.stderr);
        assert!(run.stderr.contains("its MTU with header and FCS"), "{kind}: {}", run.stderr);
    }
}
