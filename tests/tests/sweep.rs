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
    // Without loss in a quiet moment: a busy machine may lose frames, and a run that it disturbs may be INVALID.
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
        assert!(end.as_str().unwrap().starts_with("at least: the highest load"), "{end}");
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
    assert!(run.remarks().contains("lies above what the generator makes"), "{}", run.remarks());
}

#[test]
fn a_target_of_known_loss_is_judged_by_it() {
    let _alone = alone();
    let ports = "--send fault,drop=every=200:mem:sweep --receive mem:sweep";
    let words = format!("sweep {ports} --sizes 128 --goal 0.2%,1% --max-rate 20k {QUICK} --no-latency");
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
    let low = cell(&run, "sweep", 0, "0.2%");
    assert!(low.as_f64().is_none_or(|low| low < 3_000.0), "{low}");
}

#[test]
fn bad_input_is_named() {
    let _beside = beside_others();
    for (arguments, said) in [
        ("sweep --send mem:a", "--receive needs a port"),
        ("sweep --send mem:a --receive mem:a --sizes 63", "--sizes: '63' has no such frame size"),
        ("sweep --send mem:a --receive mem:a --goal none", "--goal: 'none'"),
        ("sweep --send mem:a --receive mem:a", "does not tell the speed of its link"),
        ("sweep --send mem:a --receive mem:a --size 64", "a sweep goes through sizes of its own"),
    ] {
        let run = Tare::packets(arguments).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{arguments}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments}: {}", run.stderr);
    }
}
