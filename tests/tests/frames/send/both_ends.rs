//! One run at both ends: what was lost, and where.

use super::*;

#[test]
fn what_may_still_come_is_waited_for_and_never_called_lost() {
    let _guard = beside_others();
    // The receiving end holds every fifth frame for 700 ms, as a slow device would.
    let load = |name: &str, flags: &str| {
        let port = format!("--receive fault,delay=every=5,hold=700ms:mem:{name}");
        Tare::packets(&format!("send mem:{name} {port} --sign --rate 500 -n 500 --accept-invalid {flags}"))
            .run()
    };
    let all = load("held", "");
    assert_eq!((all.int("packets.received.signed"), all.int("packets.received.lost")), (500, 0), "{all}");
    let waited = all.float("packets.received.waited_s");
    assert!((0.3..30.0).contains(&waited), "until the last came, and no longer than that: {waited}");
    let short = load("short", "--drain 50ms");
    let (lost, outstanding) = (short.int("packets.received.lost"), short.int("packets.received.outstanding"));
    assert_eq!((lost, short.int("packets.received.signed") + outstanding), (0, 500), "{short}");
    assert!(outstanding > 0 && !short.criterion("receiver.outstanding").holds, "{short}");
    assert!(short.remarks().contains("may still arrive"), "{}", short.remarks());
    let alone = Tare::packets("send mem:a -n 1 --drain 1s").start().finish_unchecked();
    assert!(alone.code == Some(2) && alone.stderr.contains("--drain needs --receive"), "{alone}");
}

/// Late frames move those behind them, so that each thread ends at a number of its own.
#[test]
fn numbers_of_a_queue_that_falls_behind_are_not_lost() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    for load in ["--rate 20k -t 1 --queues 2", "--rate 5k -t 1 --queues 3"] {
        let receive = format!("--receive packet,netns={}:sink0", bed.sink().name);
        let run =
            send(&bed, &format!("{receive} {load} --relative --sign -m {NOBODY} --accept-invalid")).run();
        let received = &run.result["packets"]["received"];
        let of = |key: &str| received[key].as_u64();
        let sent = run.result["totals"]["sent"].as_u64();
        assert_eq!((of("signed"), of("lost"), of("outstanding").unwrap_or(0)), (sent, Some(0), 0), "{run}");
        assert_eq!(
            of("reordered"),
            Some(0),
            "threads that do not wait for each other are no disorder: {run}"
        );
    }
    // As fast as it goes, they take numbers in blocks.
    let receive = format!("--receive packet,netns={}:sink0", bed.sink().name);
    let run = send(&bed, &format!("{receive} --rate max --queues 2 --sign -n 50000 -m {NOBODY}")).run();
    assert_eq!(run.result["packets"]["received"]["reordered"], 0, "{run}");
}

#[test]
fn losses_of_our_own_receiver_and_the_time_frames_lay_here_are_told_apart() {
    let _guard = alone();
    let bed = TestBed::pair();
    let ports = |flags: &str| {
        let receive = format!("packet,netns={}{flags}:sink0", bed.sink().name);
        format!("send packet:gen0 --receive {receive} --sign -m {NOBODY} --accept-invalid")
    };
    let run = Tare::packets(&format!("{} --rate 2k -n 1000", ports(""))).inside(bed.generator()).run();
    let received = &run.result["packets"]["received"];
    for part in ["one_way_ns", "late_ns", "unread_ns"] {
        assert_eq!(received[part]["count"], 1_000, "{part}: {run}");
    }
    // The gaps at both ends, each with its error.
    assert!(
        run.float("packets.gaps.error.p95_ns") >= 0.0 && run.float("packets.handed_over.error.p95_ns") >= 0.0
    );
    // A ring of sixteen frames, and bursts of a thousand: the wire is bare, and loses nothing.
    let few = format!("{} --rate 100k --burst 1000 -n 20000", ports(",slots=16,receive=slots"));
    let run = Tare::packets(&few).inside(bed.generator()).run();
    let of = |key: &str| run.result["packets"]["received"][key].as_u64().unwrap_or(0);
    assert!(of("lost_here") > 0, "{run}");
    assert_eq!((of("lost"), of("signed") + of("lost_here")), (0, 20_000), "{run}");
}

#[test]
fn what_arrives_is_told_and_faults_are_found() {
    let _guard = beside_others();
    let run = Tare::packets("send mem:all --receive mem:all --sign --rate 20k -n 4000").run();
    let received = &run.result["packets"]["received"];
    assert_eq!((received["signed"].as_u64(), received["lost"].as_u64()), (Some(4_000), Some(0)), "{run}");
    let run =
        Tare::packets("send fault,drop=5%,seed=7:mem:some --receive mem:some --sign --rate 20k -n 4000")
            .run();
    let report = &run.result["packets"];
    let dropped = report["ports"][0]["drops"].as_array().and_then(|drops| {
        drops.iter().find(|drop| drop["place"] == "fault").and_then(|drop| drop["frames"].as_u64())
    });
    let dropped = dropped.expect("the fault port counts what it drops");
    assert!((100..300).contains(&dropped), "5 % of 4 000 are 200: {dropped}");
    assert_eq!(report["received"]["lost"].as_u64(), Some(dropped), "{run}");
    // All of them, and the last of them.
    for (which, lost) in [("every=1", 10), ("at=8+9", 2)] {
        let load = format!("send fault,drop={which}:mem:{lost} --receive mem:{lost} --sign --rate 1k -n 10");
        let run = Tare::packets(&load).run();
        let received = &run.result["packets"]["received"];
        assert_eq!(
            (received["signed"].as_u64(), received["lost"].as_u64()),
            (Some(10 - lost), Some(lost)),
            "{run}"
        );
    }
    // Where the port only receives, its faults are made there.
    let run = Tare::packets("send mem:in --receive fault,drop=at=3:mem:in --sign --rate 1k -n 10").run();
    assert_eq!(run.result["packets"]["received"]["lost"].as_u64(), Some(1), "{run}");
    let refused = Tare::packets("send mem:two --queues 2 --receive mem:two --sign -n 10").run();
    assert!(refused.code == Some(2) && refused.stderr.contains("--queues"), "{refused}");
}
