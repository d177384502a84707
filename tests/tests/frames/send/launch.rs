//! Launch times: frames that the kernel's queueing disciplines let go, and those that they drop.

use super::*;
use tare_system_tests::{assert_close, skipped};

/// Puts a queueing discipline before the generator's interface; whether the kernel has it.
fn has_qdisc(bed: &TestBed, words: &str) -> bool {
    need("tc");
    let mut tc = bed.generator().command("tc");
    tc.args("qdisc replace dev gen0 root".split(' ')).args(words.split(' '));
    let is_set = tc.output().expect("`ip netns exec` runs").status.success();
    if !is_set {
        let kind = words.split(' ').next().unwrap_or_default();
        skipped(&format!(
            "launch times by {kind}: this kernel has no queueing discipline {kind} (sch_{kind})"
        ));
    }
    is_set
}

/// `launch` is as in the port's address; frames come back to the sink's interface.
fn there_and_back(bed: &TestBed, launch: &str, flags: &str) -> Tare {
    let receive = format!("packet,netns={}:sink0", bed.sink().name);
    let words = format!("send packet,launch={launch}:gen0 --receive {receive} --sign -m {NOBODY} {flags}");
    Tare::packets(&words).inside(bed.generator())
}

#[test]
fn an_interface_that_keeps_no_launch_times_is_refused_with_what_mends_it() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let said = |port: &str| {
        let load = format!("send {port} --rate 1k -n 10 -m {NOBODY}");
        let run = Tare::packets(&load).inside(bed.generator()).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{run}");
        run.stderr
    };
    let none = said("packet,launch=auto:gen0");
    assert!(none.contains("'gen0' has noqueue"), "{none}");
    assert!(none.contains("tc qdisc replace dev gen0 root fq"), "{none}");
    assert!(said("packet,launch=etf:gen0").contains("root etf clockid CLOCK_TAI"));
    // Another that knows nothing of times.
    run_in(bed.generator(), "tc qdisc replace dev gen0 root pfifo");
    assert!(said("packet,launch=fq:gen0").contains("'gen0' has pfifo"));
    assert!(said("packet,launch=fq,mode=ring:gen0").contains("leave out mode=ring"));
    assert!(said("packet,launch=fq,qdisc=bypass:gen0").contains("leave out qdisc=bypass"));
    assert!(said("packet,launch=soon:gen0").contains("launch"));
    assert!(said("packet,priority=16:gen0").contains("priority=3"));
    assert_eq!(bed.kernel(bed.sink(), "rx_packets"), 0, "nothing was sent");
}

#[test]
fn frames_leave_by_fq_in_order_at_the_asked_rate_and_none_is_lost() {
    let _guard = light();
    let bed = TestBed::pair();
    if !has_qdisc(&bed, "fq flow_limit 8192") {
        return;
    }
    let run = there_and_back(&bed, "auto", "--rate 5k -n 5000 --accept-invalid").run();
    assert_eq!((run.total("offered"), run.total("done"), run.total("failed")), (5_000, 5_000, 0), "{run}");
    let of = |key: &str| run.int(&format!("packets.received.{key}"));
    // (In which order they arrive is decided by the CPUs that carry them over the veth.)
    assert_eq!((of("signed"), of("lost"), of("duplicated")), (5_000, 0, 0), "{run}");
    assert_eq!(run.int("packets.handed_over.backward"), 0, "they left in order: {run}");
    assert_eq!(run.int("packets.ports.0.sent"), 5_000, "{run}");
    // The kernel's stamps of what left, and of what arrived, show the gap that was asked for.
    assert_eq!(run.at("packets.handed_over.stamps"), "driver", "{run}");
    assert_close("the gap at departure", run.float("packets.handed_over.mean_ns"), 200_000.0, 0.02);
    assert_close("the gap on arrival", run.float("packets.gaps.mean_ns"), 200_000.0, 0.02);
    // None left before its time.
    assert!(run.float("packets.received.one_way_ns.min") >= 0.0, "{run}");
    assert!(run.remarks().contains("launch time"), "{}", run.remarks());
    // Nothing has a due time: as fast as it goes, through the same queue.
    let flood = there_and_back(&bed, "fq", "--rate max -n 3000 --accept-invalid").run();
    assert_eq!((flood.total("done"), flood.int("packets.received.signed")), (3_000, 3_000), "{flood}");
}

#[test]
fn deadlines_that_etf_missed_are_counted_at_their_departures_and_all_is_conserved() {
    let _guard = light();
    let bed = TestBed::pair();
    // Without any time to spare the timer is late for every frame.
    if !has_qdisc(&bed, "etf clockid CLOCK_TAI delta 0") {
        return;
    }
    let run = there_and_back(&bed, "etf", "--rate 2k -n 2000 --accept-invalid").run();
    let (done, late) = (run.total("done"), run.outcome("port.late"));
    assert!(late > 0, "{run}");
    assert_eq!((run.total("offered"), done + run.total("failed")), (2_000, 2_000), "{run}");
    assert_eq!(run.total("failed"), late, "{run}");
    let port = &run.result["packets"]["ports"][0];
    let drops = port["drops"].as_array().expect("a list");
    let dropped = drops.iter().find(|drop| drop["place"] == "tx.late").expect("it was counted there");
    assert_eq!((dropped["frames"].as_u64(), port["sent"].as_u64()), (Some(late), Some(done)), "{run}");
    assert_eq!(run.int("packets.received.signed"), done, "what was not dropped arrived: {run}");
    assert_eq!(run.int("packets.received.lost"), 0, "no loss of the way's: {run}");
    assert!(!run.criterion("transmit.drops").holds, "{run}");
    // With time enough most leave.
    assert!(has_qdisc(&bed, "etf clockid CLOCK_TAI delta 5000000"));
    let run = there_and_back(&bed, "auto", "--rate 2k -n 2000 --accept-invalid").run();
    assert_eq!(run.total("done") + run.outcome("port.late"), 2_000, "{run}");
    assert!(run.total("done") > done, "{run}");
    assert_eq!(run.int("packets.received.signed"), run.total("done"), "{run}");
}

#[test]
fn a_queueing_discipline_that_is_taken_away_ends_the_run_as_invalid() {
    let _guard = light();
    let bed = TestBed::pair();
    if !has_qdisc(&bed, "fq flow_limit 8192") {
        return;
    }
    let running = there_and_back(&bed, "auto", "--rate 10k -t 20s").start();
    wait_until("frames arrive", || bed.kernel(bed.sink(), "rx_packets") > 1_000);
    run_in(bed.generator(), "tc qdisc del dev gen0 root");
    let run = running.finish_unchecked();
    assert_eq!((run.word(), run.code), ("INVALID", Some(4)), "{run}");
    assert!(run.remarks().contains("is gone"), "{}", run.remarks());
}
