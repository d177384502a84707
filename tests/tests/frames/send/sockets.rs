//! `udp:` ports: what the kernel took and did not send is never called sent, and frames of another run on the
//! same link are nobody's arrivals.

use super::*;

/// Datagrams that came to the sink, where nobody listens.
pub(super) fn came(bed: &TestBed) -> u64 {
    let counters = run_in(bed.sink(), "cat /proc/net/snmp");
    let udp: Vec<&str> = counters.lines().filter(|line| line.starts_with("Udp: ")).collect();
    let mut both = udp[0].split(' ').zip(udp[1].split(' '));
    both.find(|(name, _)| *name == "NoPorts").expect("a counter").1.parse().expect("a number")
}

#[test]
fn what_a_full_queueing_discipline_refuses_was_not_sent() {
    let _guard = beside_others();
    need("tc");
    let bed = TestBed::pair();
    let mut tc = bed.generator().command("tc");
    tc.args("qdisc add dev gen0 root tbf rate 400kbit burst 3kb limit 6kb".split(' '));
    if !tc.status().expect("tc runs").success() {
        tare_system_tests::skipped("a slow way out: this kernel has no queueing discipline tbf (sch_tbf)");
        return;
    }
    for flags in ["--rate 1k", "--rate 1k --burst 50"] {
        let before = came(&bed);
        let load = format!("send udp:198.18.0.2:9 {flags} --size 200 -t 1 --accept-invalid");
        let run = Tare::packets(&load).inside(bed.generator()).run();
        let sent = run.result["packets"]["ports"][0]["sent"].as_u64().expect("a count");
        wait_until("all that was sent", || came(&bed) - before >= sent);
        assert_eq!(came(&bed) - before, sent, "{run}");
        assert!(sent < 600, "400 kbit/s are 250 frames a second: {run}");
        assert_ne!(run.word(), "VALID", "{run}");
    }
}

#[test]
fn datagrams_whose_next_hop_nobody_answers_for_were_not_sent() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    // Asking takes three seconds and fails: once within the run, once while it is under way.
    for (address, time) in [("198.18.0.77", "5"), ("198.18.0.78", "1")] {
        let load = format!("send udp:{address}:9 --rate 100 -t {time} --accept-invalid");
        let run = Tare::packets(&load).inside(bed.generator()).run();
        let drops = &run.result["packets"]["ports"][0]["drops"];
        assert!(drops.to_string().contains("tx.kernel"), "{drops}: {run}");
        assert!(!run.criterion("transmit.drops").holds && run.word() != "VALID", "{run}");
    }
}

/// A message of many datagrams stays one between interfaces of a host: a capture sees the first of them only.
#[test]
fn datagrams_that_stay_in_one_piece_are_no_losses_of_the_way() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    // As interfaces of a host are unless somebody changes them.
    need("ethtool");
    run_in(bed.generator(), "ethtool -K gen0 tx on gso on tso on");
    let load = |gso: &str| {
        let receive = format!("--receive packet,netns={}:sink0", bed.sink().name);
        let load = format!("send udp{gso}:198.18.0.2:9 {receive} --sign --rate 1k --burst 500 -n 2000");
        Tare::packets(&format!("{load} --accept-invalid")).inside(bed.generator()).run()
    };
    let run = load("");
    let of = |run: &Run, key: &str| run.result["packets"]["received"][key].as_u64().unwrap_or(0);
    assert_eq!((of(&run, "signed"), of(&run, "lost"), of(&run, "merged")), (2_000, 0, 0), "{run}");
    let run = load(",gso=yes");
    let merged = run.criterion("receiver.merged");
    assert!(of(&run, "merged") > 10 && !merged.holds && merged.advice.contains("udp,gso=no"), "{run}");
    assert_eq!(run.word(), "INVALID", "{run}");
    // What it advises helps.
    assert!(merged.advice.contains("'ethtool -K INTERFACE tx off'"), "{merged:?}");
    run_in(bed.generator(), "ethtool -K gen0 tx off");
    let run = load(",gso=yes");
    assert_eq!((of(&run, "signed"), of(&run, "lost"), of(&run, "merged")), (2_000, 0, 0), "{run}");
}

/// The answer to each, that nobody has the port, comes from the address that sends.
/// Such a veth counts bytes without Ethernet headers.
#[test]
fn datagrams_over_a_veth_whose_peer_runs_xdp_have_left() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let receive = format!("xdp,netns={}:sink0", bed.sink().name);
    let load = format!("send udp:198.18.0.2:9 --receive {receive} --rate 1k -n 500 --sign");
    let run = Tare::packets(&format!("{load} --accept-invalid")).inside(bed.generator()).run();
    assert_eq!((run.int("packets.received.signed"), run.int("packets.received.lost")), (500, 0), "{run}");
    assert!(run.total("done") == 500 && run.criterion("transmit.drops").holds, "{run}");
}

#[test]
fn datagrams_to_a_port_that_nobody_has_on_this_host_have_left() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    for address in ["127.0.0.1", "[::1]"] {
        let run = Tare::packets(&format!("send udp:{address}:9 --rate 5k -n 5k --accept-invalid"));
        let run = run.inside(bed.generator()).run();
        let port = &run.result["packets"]["ports"][0];
        assert_eq!(port["sent"], 5_000, "{port}: {run}");
        assert!(port["drops"].to_string().contains("peer"), "{port}: {run}");
        assert!(run.criterion("transmit.drops").holds, "{run}");
    }
}

#[test]
fn a_receiver_needs_a_port_that_somebody_sends_to() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let receive = |options: &str| {
        let receive = format!("udp,netns={}{options}:198.18.0.1:9009", bed.sink().name);
        let send = "send udp,local=198.18.0.1,port=9009:198.18.0.2:9009";
        Tare::packets(&format!("{send} --receive {receive} --rate 200 -n 100 --sign"))
            .inside(bed.generator())
            .start()
            .finish_unchecked()
    };
    let deaf = receive("");
    assert!(deaf.code == Some(2) && deaf.stderr.contains("port=N"), "{deaf}");
    let run = receive(",local=198.18.0.2,port=9009");
    assert_eq!((run.int("packets.received.signed"), run.int("packets.received.lost")), (100, 0), "{run}");
}

#[test]
fn frames_of_another_run_on_the_link_are_no_arrivals() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let other = Tare::packets(&format!("send packet:gen0 --rate 500 --sign -t 20 -m {NOBODY}"));
    let other = other.inside(bed.generator()).start();
    wait_until("the other's frames", || bed.kernel(bed.sink(), "rx_packets") > 10);
    let load = |send: &str| {
        let receive = format!("packet,netns={}:sink0", bed.sink().name);
        let load = format!("send {send}packet:gen0 --receive {receive} --rate 500 --sign -t 1 -m {NOBODY}");
        Tare::packets(&format!("{load} --accept-invalid")).inside(bed.generator()).run()
    };
    for (send, signed, lost) in [("fault,drop=100%:", 0, 500), ("", 500, 0)] {
        let run = load(send);
        let found = (run.int("packets.received.signed"), run.int("packets.received.lost"));
        assert_eq!(found, (signed, lost), "{run}");
        assert_eq!(run.int("packets.received.duplicated"), 0, "{run}");
        let incidents = &run.result["packets"]["received"]["incidents"];
        assert!(incidents.to_string().contains("of another run"), "{incidents}: {run}");
    }
    other.finish();
}
