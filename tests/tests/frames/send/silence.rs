//! `udp:` ports and what the kernel loses behind the socket without a word, or only holds: the figures are
//! those of the sink.

use super::sockets::came;
use super::*;

/// What the first port says: how many it sent, where it lost some, how many are still held.
fn told(run: &Run) -> (u64, String, u64) {
    let port = &run.result["packets"]["ports"][0];
    (port["sent"].as_u64().expect("a count"), port["drops"].to_string(), port["held"].as_u64().unwrap_or(0))
}

/// Sets the way out; `false`, and a word, where this kernel cannot.
fn queueing(bed: &TestBed, lines: &[&str]) -> bool {
    need("tc");
    let set = |line: &&str| {
        bed.generator().command("tc").args(line.split(' ')).status().expect("tc runs").success()
    };
    let is_set = lines.iter().all(set);
    if !is_set {
        tare_system_tests::skipped(&format!("this kernel has no queueing disciplines as in {lines:?}"));
    }
    is_set
}

/// A class of that rate with this discipline as its queue.
fn slow(bed: &TestBed, rate: &str, leaf: &str) -> bool {
    let class = format!("class add dev gen0 parent 1: classid 1:1 htb rate {rate} burst 2k");
    let leaf = format!("qdisc add dev gen0 parent 1:1 {leaf}");
    queueing(bed, &["qdisc add dev gen0 root handle 1: htb default 1", &class, &leaf])
}

fn load(bed: &TestBed, flags: &str) -> Tare {
    Tare::packets(&format!("send udp:198.18.0.2:9 {flags} --accept-invalid")).inside(bed.generator())
}

#[test]
fn what_a_slow_queue_still_holds_is_waited_for_and_not_lost() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    // 200 kB at 1 Mbit/s: 1.6 s, of which 1 s after the last departure and more.
    if !slow(&bed, "1mbit", "pfifo limit 3000") {
        return;
    }
    let run = load(&bed, "--rate 4k -n 1500 --size 200").run();
    let (sent, drops, held) = told(&run);
    assert_eq!((sent, drops.contains("tx."), held), (1_500, false, 0), "{run}");
    assert_eq!(came(&bed), 1_500, "{run}");
}

#[test]
fn what_stays_in_a_queue_is_held_and_neither_lost_nor_known_to_have_left() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    // 200 kB at 10 kbit/s: minutes. While this test looks, a few more frames leave.
    if !slow(&bed, "10kbit", "pfifo limit 3000") {
        return;
    }
    let run = load(&bed, "--rate 2k -n 1000 --size 200").run();
    let (sent, drops, held) = told(&run);
    assert_eq!((sent, drops.contains("tx.")), (1_000, false), "{run}");
    let there = came(&bed);
    assert!((990..=1_010).contains(&(there + held)), "{held} held, {there} came: {run}");
    assert_ne!(run.word(), "VALID", "{run}");
    assert!(run.criterion("transmit.drops").advice.contains("still in this host's queues"), "{run}");
}

#[test]
fn datagrams_lost_with_the_carrier_or_the_neighbour_were_not_sent() {
    let _guard = beside_others();
    let away: [(&[&str], &[&str], &str); 2] = [
        (&["link set sink0 down"], &["link set sink0 up"], "tx.down"),
        (&["addr flush dev sink0"], &["addr add 198.18.0.2/24 dev sink0"], "tx.kernel"),
    ];
    for (lose, mend, place) in away {
        let bed = TestBed::pair();
        // What the kernel itself sends, which hides losses: few frames but ARP are left.
        run_in(bed.generator(), "sysctl -qw net.ipv6.conf.gen0.disable_ipv6=1");
        bed.ip(bed.generator(), "neigh flush dev gen0 nud all");
        let running = load(&bed, "--rate 500 -t 4").start();
        wait_until("frames", || came(&bed) > 100);
        lose.iter().for_each(|words| bed.ip(bed.sink(), words));
        bed.ip(bed.generator(), "neigh flush dev gen0 nud all");
        std::thread::sleep(Duration::from_millis(1_500));
        mend.iter().for_each(|words| bed.ip(bed.sink(), words));
        let run = running.finish();
        let (sent, drops, _) = told(&run);
        let there = came(&bed);
        assert!(sent <= there + 20 && there < 1_950, "{sent} sent, {there} came: {run}");
        assert!(drops.contains(place) && run.word() != "VALID", "{drops}: {run}");
    }
}

#[test]
fn nothing_left_for_a_next_hop_that_nobody_answers_for_at_any_rate() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    for flags in ["--rate max", "--rate 20k"] {
        let load = format!("send udp:198.18.0.77:9 {flags} -t 1 --accept-invalid");
        let run = Tare::packets(&load).inside(bed.generator()).run();
        // Requests for the address are all that the interface carried.
        assert!(told(&run).0 < 10, "{run}");
        assert_eq!(run.word(), "INVALID", "{run}");
    }
}

#[test]
fn what_queueing_disciplines_drop_without_an_error_was_not_sent() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    if queueing(&bed, &["qdisc add dev gen0 root blackhole"]) {
        let run = load(&bed, "--rate 500 -t 1").run();
        assert_eq!((told(&run).0, came(&bed), run.word()), (0, 0, "INVALID"), "{run}");
        queueing(&bed, &["qdisc del dev gen0 root"]);
    }
    if slow(&bed, "400kbit", "pfifo_head_drop limit 20") {
        let run = load(&bed, "--rate 1k -t 2 --size 200").run();
        assert_eq!(told(&run).0, came(&bed), "{run}");
        assert!(came(&bed) < 1_000 && run.word() == "INVALID", "400 kbit/s are 250 frames a second: {run}");
    }
}

#[test]
fn where_no_message_fits_that_is_cut_up_frames_leave_one_by_one() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    // An empty queue that is the root itself is passed by.
    if !slow(&bed, "10mbit", "bfifo limit 3000") {
        return;
    }
    let run = load(&bed, "--rate max -t 1 --size 1400").run();
    let (sent, _, held) = told(&run);
    assert!(sent > 100, "10 Mbit/s are 890 frames a second: {run}");
    wait_until("all that was sent", || came(&bed) >= sent);
    assert_eq!((came(&bed), held), (sent, 0), "{run}");
}

#[test]
fn a_route_that_leads_nowhere_is_named() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    for (kind, said) in [("blackhole", "is a blackhole"), ("prohibit", "is prohibited")] {
        bed.ip(bed.generator(), &format!("route add {kind} 198.18.5.0/24"));
        let load = Tare::packets("send udp:198.18.5.2:9 --rate 10 -n 1").inside(bed.generator());
        let run = load.start().finish_unchecked();
        assert!(run.code == Some(2) && run.stderr.contains(said), "{run}");
        bed.ip(bed.generator(), &format!("route del {kind} 198.18.5.0/24"));
    }
}
