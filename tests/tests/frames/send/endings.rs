//! What goes wrong: bad input, missing privileges, links and interfaces that go.

use super::*;

#[test]
fn live_frames_that_the_driver_refused_have_failed() {
    let _guard = alone();
    let bed = TestBed::pair();
    need("ethtool");
    let long = Tare::packets(&format!("send live:gen0 -n 10 --rate max -l 1473 -m {NOBODY}"));
    let long = long.inside(bed.generator()).run();
    assert!(long.code == Some(2) && long.stderr.contains("a frame size of 1519"), "{long}");
    let refused = Tare::packets(&format!("send live:gen0 -n 1000 --rate max -m {NOBODY}"))
        .inside(bed.generator())
        .run();
    assert!(refused.stderr.contains("gro on") || refused.remarks().contains("gro on"), "{refused}");
    run_in(bed.sink(), "ethtool -K sink0 gro on");
    let seen = |counter| bed.kernel(bed.sink(), counter);
    let before = seen("rx_packets");
    let run = Tare::packets(&format!("send live:gen0 -n 300000 --rate max -m {NOBODY}"))
        .inside(bed.generator())
        .run();
    assert_eq!(run.total("offered"), 300_000, "{run}");
    assert_eq!(run.total("done") + run.total("failed"), 300_000, "{run}");
    assert_eq!(run.total("failed"), run.outcome("port.refused"), "{run}");
    // What the sink's queue had no room for was refused: nothing else is lost on a veth.
    wait_until("all to be seen", || seen("rx_packets") - before >= run.total("done"));
    assert_eq!(seen("rx_packets") - before, run.total("done"), "{run}");
    assert_eq!(run.total("bytes_out"), run.total("done") * 60, "{run}");
}

#[test]
fn queues_of_live_frames_have_numbers_without_holes() {
    let _guard = light();
    let bed = TestBed::pair();
    need("ethtool");
    run_in(bed.sink(), "ethtool -K sink0 gro on");
    let capture = Tare::packets("capture packet:sink0 -n 4000 -t 20").inside(bed.sink()).start();
    wait_until("the capture", || run_in(bed.sink(), "cat /proc/net/packet").lines().count() > 1);
    let run = Tare::packets(&format!("send live:gen0 -n 4000 --rate 20k --queues 2 --sign -m {NOBODY}"))
        .inside(bed.generator())
        .run();
    assert_eq!((run.total("done"), run.total("failed")), (4_000, 0), "{run}");
    let seen = capture.finish();
    let received = &seen.result["packets"]["received"];
    assert_eq!((received["signed"].as_u64(), received["lost"].as_u64()), (Some(4_000), Some(0)), "{seen}");
    assert_eq!(received["duplicated"].as_u64(), Some(0), "{seen}");
    let refused = Tare::packets(&format!("send live:gen0 -n 10 --rate max --queues 2 --sign -m {NOBODY}"))
        .inside(bed.generator())
        .run();
    assert!(refused.code == Some(2) && refused.stderr.contains("--queues 2"), "{refused}");
}

#[test]
fn bad_input_is_named_and_nothing_is_sent() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let bad_gaps = file("gaps", b"100\n200\nsoon\n");
    let cut = file("cut.pcap", &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0]);
    let empty = file("empty", b"");
    let head = [0xa1b2_c3d4_u32, 4 << 16 | 2, 0, 0, 65_535, 1, 7, 0, 60, 60];
    let one = head.iter().flat_map(|word| word.to_le_bytes()).chain([0; 60]).collect::<Vec<u8>>();
    let one = file("one.pcap", &one);
    let sent = bed.kernel(bed.generator(), "tx_packets");
    for (arguments, problem) in [
        ("packet:nowhere0".to_owned(), "there is no interface 'nowhere0'"),
        ("pakket:gen0".to_owned(), "there is no kind of port 'pakket'"),
        (format!("packet:gen0 -m {NOBODY} --rate fast"), "--rate: 'fast'"),
        (format!("packet:gen0 -m {NOBODY} -d 0"), "--gap (-d): '0' is zero"),
        (format!("packet:gen0 -m {NOBODY} -D {bad_gaps}"), ", line 3: 'soon'"),
        (format!("packet:gen0 -m {NOBODY} -L {empty}"), "holds no number"),
        (format!("packet:gen0 --replay {cut}"), "cut.pcap"),
        (format!("packet:gen0 --replay {one} --loop 3"), "give no times to replay"),
        (format!("packet:gen0 --replay {one} -t 1"), "give no times to replay"),
        (format!("packet:gen0 -m {NOBODY} --size 9000"), "MTU"),
        (format!("packet:gen0 -m {NOBODY} --size 20"), "20"),
        (format!("packet:gen0 -m {NOBODY} --rate 5 -d 5"), "contradicts"),
        (format!("packet:gen0 -m {NOBODY} --cpus 99"), "--cpus: this process may not use CPU 99"),
        ("packet:gen0 -m nobody".to_owned(), "nobody"),
    ] {
        let run = Tare::packets(&format!("send {arguments}")).inside(bed.generator()).run();
        assert_eq!(run.code, Some(2), "{arguments}: {run}");
        assert!(run.stderr.contains(problem), "{arguments}: {}", run.stderr);
    }
    assert_eq!(bed.kernel(bed.generator(), "tx_packets"), sent);
}

#[test]
fn without_the_privilege_its_name_is_told() {
    let _guard = beside_others();
    need("setpriv");
    let bed = TestBed::pair();
    let run = Tare::packets(&format!("send packet:gen0 -n 10 -m {NOBODY}"))
        .inside(bed.generator())
        .through("setpriv --bounding-set=-net_raw --inh-caps=-net_raw --")
        .run();
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("CAP_NET_RAW"), "{}", run.stderr);
}

#[test]
fn a_rate_that_the_port_cannot_do_is_invalid_and_says_what_was_reached() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let run = send(&bed, &format!("--rate 20M -t 0.5 -m {NOBODY}")).run();
    assert_eq!((run.code, run.word()), (Some(4), "INVALID"), "{run}");
    assert!(run.total("missed") > 0 && run.total("done") > 0, "{run}");
    assert_eq!(run.total("offered"), 10_000_000, "{run}");
    let reached = run.float("rate.achieved_per_s");
    assert!(reached > 0.0 && reached < 20e6, "{reached}");
}

#[test]
fn an_interface_that_is_removed_leaves_a_complete_labelled_result() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let load = send(&bed, &format!("--rate 5k -t 30 -m {NOBODY}")).start();
    wait_until("frames", || bed.kernel(bed.generator(), "tx_packets") > 200);
    bed.ip(bed.generator(), "link del gen0");
    let run = load.finish();
    assert!(run.result.is_object(), "{run}");
    assert!(run.took < Duration::from_secs(20), "it ends when the interface does: {:?}", run.took);
    assert!(run.total("done") > 100, "{run}");
    let told = format!("{} {}", run.result["labels"], run.stderr);
    assert!(told.contains("gen0"), "{told}");
}

/// Where no due time tells that the generator stood still, the rate would be taken for the one that was asked
/// for.
#[test]
fn a_generator_that_stood_still_is_no_lower_rate() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let sending = ["send packet:gen0 --rate max", "send packet:gen0 --rate 1k --relative"];
    let sending = sending.map(|command| (bed.generator(), format!("{command} -t 2 -m {NOBODY}")));
    let all = sending.into_iter().chain([(bed.sink(), "forward packet:sink0 -t 2".to_owned())]);
    let running: Vec<_> = all
        .map(|(side, command)| Tare::packets(&format!("{command} --accept-invalid")).inside(side).start())
        .collect();
    running.iter().for_each(|one| one.sleep_until(Duration::ZERO));
    let stop = |which: &[tare_system_tests::Running], after, length| {
        std::thread::sleep(Duration::from_millis(after));
        which.iter().for_each(|one| one.process.signal(rustix::process::Signal::STOP));
        std::thread::sleep(Duration::from_millis(length));
        which.iter().for_each(|one| one.process.signal(rustix::process::Signal::CONT));
    };
    stop(&running[..2], 500, 400);
    // Over its end: what came meanwhile is not read in time.
    stop(&running[2..], 700, 600);
    for run in running.into_iter().map(tare_system_tests::Running::finish) {
        let pauses = run.criterion("pauses");
        assert!(!pauses.holds && pauses.value > 0.05, "{pauses:?}: {run}");
        assert_ne!(run.word(), "VALID", "{run}");
    }
}

#[test]
fn a_link_that_goes_down_and_up_again_costs_what_was_due_meanwhile() {
    let _guard = beside_others();
    // On a busy machine the run may be over before its link is down.
    patiently(3, || {
        let bed = TestBed::pair();
        let load = send(&bed, &format!("--rate 2k -t 4 -m {NOBODY}")).start();
        wait_until("frames", || bed.kernel(bed.generator(), "tx_packets") > 200);
        bed.ip(bed.generator(), "link set gen0 down");
        std::thread::sleep(Duration::from_millis(300));
        bed.ip(bed.generator(), "link set gen0 up");
        let run = load.finish();
        assert_eq!(run.total("offered"), 8_000, "{run}");
        // It was down for 300 ms: 600 departures; more where the machine was slow to bring it up again.
        assert!(run.total("failed") >= 400 && run.total("done") >= 200, "{run}");
    });
}

#[test]
fn a_live_port_goes_on_when_its_link_does_and_ends_when_its_interface_does() {
    let _guard = light();
    let bed = TestBed::pair();
    need("ethtool");
    run_in(bed.sink(), "ethtool -K sink0 gro on");
    let load =
        || Tare::packets(&format!("send live:gen0 --rate 1k -t 3 -m {NOBODY}")).inside(bed.generator());
    let seen = || bed.kernel(bed.sink(), "rx_packets");
    let running = load().start();
    wait_until("frames", || seen() > 100);
    bed.ip(bed.generator(), "link set gen0 down");
    std::thread::sleep(Duration::from_millis(300));
    bed.ip(bed.generator(), "link set gen0 up");
    let run = running.finish();
    assert_eq!(run.total("offered"), 3_000, "{run}");
    // 300 departures while it was down; a few more, as a link needs time for that.
    assert!((200..2_000).contains(&run.outcome("link.down")), "{run}");
    wait_until("all to be seen", || seen() >= run.total("done"));
    // A link that comes up says a word or two itself.
    assert!(seen() <= run.total("done") + 20, "{run}");
    let running = load().start();
    let before = seen();
    wait_until("frames", || seen() > before + 100);
    bed.ip(bed.generator(), "link del gen0");
    let run = running.finish();
    assert_eq!((run.code, run.word()), (Some(4), "INVALID"), "{run}");
    assert!(run.result["labels"].to_string().contains("the interface 'gen0' is gone"), "{run}");
    assert!((100..3_000).contains(&run.total("offered")), "what was due afterwards was never offered: {run}");
}

#[test]
fn frames_are_held_to_limits_that_they_have() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let held = |limit: &str| {
        send(&bed, &format!("-n 500 --rate 1k -m {NOBODY} --accept-invalid"))
            .arg("--fail-if")
            .arg(limit)
            .run()
    };
    for (limit, code) in
        [("gap_error.max > 1ns", 3), ("achieved < 900k/s", 3), ("failed > 0", 0), ("lateness.p50 > 1min", 0)]
    {
        let run = held(limit);
        assert_eq!(run.code, Some(code), "{limit}: {run}");
    }
    for (limit, problem) in [
        ("latency.p99 > 1ms", "frames get no responses, so tare send has no latency"),
        ("status(5xx) > 0", "frames have no status"),
        ("error(connect) > 0", "no frame fails in connect"),
    ] {
        let run = held(limit);
        assert_eq!(run.code, Some(2), "{limit}: {run}");
        assert!(run.stderr.contains(problem) && run.stderr.contains("gap_error"), "{limit}: {}", run.stderr);
    }
    let run =
        send(&bed, &format!("-n 5 --rate max -m {NOBODY}")).arg("--fail-if").arg("lateness.p99 > 1s").run();
    assert!(run.code == Some(2) && run.stderr.contains("no due times of frames"), "{run}");
}
