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
        (format!("live,netns={}:gen0", bed.generator().name), "live has no option 'netns'"),
    ] {
        let run = Tare::packets(&format!("send {port} -i 198.18.0.2 -n 1")).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{port}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{port}: {}", run.stderr);
    }
}
