//! `tare sweep`: over veth, and through targets whose loss is known.

use serde_json::Value;
use std::time::Duration;
use tare_system_tests::{Run, Tare, TestBed, alone, beside_others};

const QUICK: &str =
    "--trial-time 200ms --first-trial-time 100ms --width 5% --bursts 0 --drain 50ms --min-rate 100";

/// A cell of a table of the result.
fn cell(run: &Run, key: &str, row: usize, column: &str) -> Value {
    let tables = run.at("/packets/tables").as_array().expect("tables").clone();
    let table = tables.iter().find(|table| table["key"] == key).unwrap_or_else(|| panic!("no table {key}"));
    let columns = table["columns"].as_array().unwrap();
    let at =
        columns.iter().position(|known| known["name"] == column).unwrap_or_else(|| panic!("no {column}"));
    table["rows"][row][at].clone()
}

#[test]
fn a_veth_pair_takes_all_that_was_asked_for() {
    let _alone = alone();
    let bed = TestBed::pair();
    let (near, far) = (bed.generator(), bed.sink());
    // Both ends must be in one namespace for one process: the sink's is brought over.
    bed.ip(far, &format!("link set {} netns {}", far.interface().name, near.name));
    bed.ip(near, &format!("link set {} up", far.interface().name));
    let ports = format!("--send packet:{} --receive packet:{}", near.interface().name, far.interface().name);
    let words = format!("sweep {ports} --sizes 64,512 --goal ndr --max-rate 2k {QUICK}");
    let sweep =
        || Tare::packets(&words).inside(near).limit(Duration::from_secs(60)).start().finish_unchecked();
    // Without loss in a quiet moment: a busy machine may lose frames, and a run that it disturbs may be
    // INVALID.
    let all_taken = |run: &Run| [0, 1].iter().all(|&row| cell(run, "sweep", row, "NDR") == 2_000.0);
    let mut run = sweep();
    for _ in 0..2 {
        if run.code == Some(0) && all_taken(&run) {
            break;
        }
        run = sweep();
    }
    for (row, size) in [(0, 64.0), (1, 512.0)] {
        assert_eq!(cell(&run, "sweep", row, "frame size"), size);
        assert_eq!(cell(&run, "sweep", row, "NDR"), 2_000.0);
        let end = cell(&run, "sweep", row, "NDR ended");
        assert!(end.as_str().unwrap().starts_with("at least: the highest requested load"), "{end}");
    }
    // Four shares of two sizes, each with a one-way time.
    assert_eq!(cell(&run, "latency", 7, "load"), 2_000.0);
    assert!(cell(&run, "latency", 0, "p50").as_f64().unwrap() > 0.0);
    assert_ne!(run.word(), "INVALID", "{:?}", run.failing());
}

#[test]
fn a_load_that_no_port_makes_is_invalid_and_says_what_was_reached() {
    let _alone = alone();
    let words = format!(
        "sweep --send mem:sweep --receive mem:sweep --sizes 64 --goal ndr --max-rate 900M {QUICK} --no-latency"
    );
    let run = Tare::packets(&words).limit(Duration::from_secs(60)).start().finish_unchecked();
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(run.remarks().contains("is above what the generator can send"), "{}", run.remarks());
}

#[test]
fn a_target_of_known_loss_is_judged_by_it() {
    let _alone = alone();
    let ports = "--send fault,drop=every=200:mem:sweep --receive mem:sweep";
    // Four hundred frames in the shortest trial: of fewer, one or two may be more than 1 %.
    let quick = QUICK.replace("--min-rate 100", "--min-rate 4k").replace("--width 5%", "--width 20%");
    let words = format!("sweep {ports} --sizes 128 --goal 0.2%,1% --max-rate 20k {quick} --no-latency");
    let sweep = || Tare::packets(&words).limit(Duration::from_secs(60)).start().finish_unchecked();
    // In a quiet moment: a machine that holds the sender up leaves the load undecided.
    let mut run = sweep();
    for _ in 0..3 {
        if cell(&run, "sweep", 0, "1%") == 20_000.0 {
            break;
        }
        run = sweep();
    }
    // Half a percent is lost at any load: more than 0.2 %, less than 1 %.
    assert_eq!(cell(&run, "sweep", 0, "1%"), 20_000.0);
    assert_eq!(cell(&run, "sweep", 0, "0.2%"), Value::Null);
}

#[test]
fn losses_of_our_own_ring_are_never_the_targets() {
    let _alone = alone();
    let bed = TestBed::pair();
    // A bare pair of veth, and a receive ring that no burst fits in.
    let far = format!("packet,netns={},slots=16,receive=slots:sink0", bed.sink().name);
    let ports = format!("--send packet:gen0 --receive {far} --dst-mac 02:18:00:00:00:99");
    let words = format!(
        "sweep {ports} --sizes 64 --goal ndr --max-rate 300k --trial-time 100ms --first-trial-time 50ms --width 20% \
         --drain 20ms --min-rate 100 --bursts 1 --latency-at 100% --frame-loss"
    );
    let run = Tare::packets(&words)
        .inside(bed.generator())
        .limit(Duration::from_secs(110))
        .start()
        .finish_unchecked();
    let bursts = cell(&run, "bursts", 0, "ended");
    assert!(bursts.as_str().unwrap().starts_with("at least: the receiver fell short"), "{bursts}");
    assert_ne!(run.word(), "VALID", "{run}");
    // Whatever was lost was lost here, and the end that lost it is named.
    let tables = run.at("/packets/tables").as_array().unwrap().clone();
    for (key, rows) in
        tables.iter().map(|table| (table["key"].as_str().unwrap(), table["rows"].as_array().unwrap()))
    {
        if !matches!(key, "latency" | "loss") {
            continue;
        }
        for (number, row) in rows.iter().enumerate() {
            assert_eq!(cell(&run, key, number, "lost"), 0.0, "{key}: {row}");
        }
    }
    let trials = tables.iter().find(|table| table["key"] == "trials").unwrap()["rows"].as_array().unwrap();
    for (number, trial) in trials.iter().enumerate() {
        if cell(&run, "trials", number, "loss").as_f64() > Some(0.0) {
            let counts = cell(&run, "trials", number, "counts");
            assert!(counts.as_str().unwrap().starts_with("no: "), "{trial}");
        }
    }
}

#[test]
fn frames_that_come_later_than_is_waited_are_no_loss() {
    let _alone = alone();
    // The receiving end holds every tenth frame for 150 ms; waited are 20 ms at first.
    let ports = "--send mem:late --receive fault,delay=every=10,hold=150ms:mem:late";
    let words = format!(
        "sweep {ports} --sizes 64 --goal ndr --max-rate 2k --trial-time 200ms --first-trial-time 200ms --width 20% \
         --bursts 0 --drain 20ms --min-rate 100 --no-latency"
    );
    let run = Tare::packets(&words).limit(Duration::from_secs(60)).start().finish_unchecked();
    // Taken for lost, a tenth of them would leave no rate at all.
    assert_eq!(cell(&run, "sweep", 0, "NDR"), 2_000.0, "{run}");
    // A queue that is longer than the trial lets any load pass.
    assert!(run.remarks().contains("under way in a trial of 200 ms"), "{}", run.remarks());
}

#[test]
fn by_the_letter_of_rfc_2544_its_tests_are_in_the_plan() {
    let _beside = beside_others();
    let run = Tare::new("sweep --send mem:a --receive mem:a --max-rate 1k --rfc2544 --print-plan")
        .start()
        .finish_unchecked();
    // 26.1: 60 s, not a frame lost; 26.2: 20 trials of 120 s at that load; 26.3; 26.4: 50 bursts; 26.5: 10
    // overloads as long as the trials; 23: 2 s and 5 s between trials.
    for line in [
        "goal = \"ndr\"",
        "trial_time = \"60s\"",
        "sum_time = \"60s\"",
        "exceed = \"0%\"",
        "latency_at = \"100%\"",
        "latency_trials = 20",
        "latency_time = \"120s\"",
        "frame_loss = true",
        "bursts = 50",
        "recovery = 10",
        "drain = \"2s\"",
        "rest = \"5s\"",
    ] {
        assert!(run.stdout.lines().any(|said| said == line), "{line}: {}", run.stdout);
    }
}

#[test]
fn latency_is_of_so_many_trials_and_loss_goes_down_until_two_lose_nothing() {
    let _alone = alone();
    let words = format!(
        "sweep --send mem:rfc --receive mem:rfc --sizes 64 --goal ndr --max-rate 2k {QUICK} --latency-at 100% \
         --latency-trials 3 --latency-time 100ms --frame-loss"
    );
    let run = Tare::packets(&words).limit(Duration::from_secs(60)).start().finish_unchecked();
    assert_eq!(cell(&run, "latency", 0, "trials"), 3.0, "{run}");
    let tagged = cell(&run, "latency", 0, "tagged frame");
    assert!(tagged.as_f64().or_else(|| tagged["value"].as_f64()).unwrap() > 0.0, "{tagged}");
    // Nothing is lost at the highest load and at 90 % of it.
    assert_eq!([0, 1].map(|row| cell(&run, "loss", row, "loss")), [0.0, 0.0].map(Value::from), "{run}");
    assert_eq!(cell(&run, "loss", 1, "of the highest load"), 0.9);
}

#[test]
fn bad_input_is_named() {
    let _beside = beside_others();
    for (arguments, said) in [
        ("sweep --send mem:a", "--receive needs a port"),
        ("sweep --send mem:a --receive mem:a --sizes 63", "--sizes: '63' has no such frame size"),
        ("sweep --send mem:a --receive mem:a --goal none", "--goal: 'none'"),
        ("sweep --send mem:a --receive mem:a", "does not report its link speed"),
        ("sweep --send mem:a --receive mem:a --size 64", "a sweep tests its own list of sizes"),
    ] {
        let run = Tare::packets(arguments).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{arguments}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments}: {}", run.stderr);
    }
}
