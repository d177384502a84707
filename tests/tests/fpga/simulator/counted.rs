//! What the module's sessions count and sum: histograms, sums of bodies and rows are those of single results.

use super::sessions::{CYCLES_PER_SECOND, Load};
use std::collections::BTreeMap;
use tare_system_tests::beside_others;

/// hdl/rtl/histogram.sv: up to 31 the time itself; then the power of two, and the five bits below it.
fn bin(ticks: u64) -> u64 {
    match ticks.checked_ilog2() {
        Some(power) if power >= 5 => 32 * u64::from(power - 4) + (ticks >> (power - 5)) % 32,
        _ => ticks,
    }
}

#[test]
fn histograms_in_the_module_are_those_of_single_results() {
    let _shared = beside_others();
    for flags in [
        "sessions=64 open_gap=500 departures=1500 whole=900 first=60000 drops=9 micro=1 patience=5000",
        "sessions=16 departures=3000 answer_bytes=5000",
        // The answer alone makes them differ: some are not done, and their times are in no histogram.
        "sessions=64 departures=400 whole=2000 first=60000 cut=200 drops=3 micro=1 patience=5000",
        "sessions=100 each=1 closes=1 departures=600 whole=3000 drops=7 micro=1 patience=5000 delay=777",
    ] {
        let load = Load::run(flags);
        let each = flags.contains("each");
        let mut expected: BTreeMap<(&str, u64), u64> = BTreeMap::new();
        let mut add = |name, ticks| *expected.entry((name, bin(ticks))).or_default() += 1;
        for one in &load.departures {
            if each && one.connected > 0 {
                add("connect", one.connected - one.sent);
            }
            if one.outcome == "done" {
                add("gross", one.done);
                add("net", one.done - one.sent);
                add("first_byte", one.first - if each { one.connected } else { one.sent });
            }
        }
        let found: BTreeMap<(&str, u64), u64> = load.told["bins"]
            .as_array()
            .expect("bins")
            .iter()
            .map(|one| ((one[0].as_str().expect("a name"), one[1].as_u64()), one[2].as_u64()))
            .map(|((name, bin), count)| ((name, bin.expect("a bin")), count.expect("a count")))
            .collect();
        let of = |all: &BTreeMap<(&'static str, u64), u64>, name: &str| -> u64 {
            all.iter().filter(|((one, _), _)| *one == name).map(|(_, count)| count).sum()
        };
        if each {
            assert_eq!(found, expected, "{flags}");
        } else {
            // Connections are no part of a departure.
            let connects: u64 = found.iter().filter(|((n, _), _)| *n == "connect").map(|(_, c)| c).sum();
            assert_eq!(connects, load.counted("opened"), "{flags}");
            let rest: BTreeMap<_, _> =
                found.into_iter().filter(|((name, _), _)| *name != "connect").collect();
            assert_eq!(rest, expected, "{flags}");
        }
        assert_eq!(of(&expected, "gross"), load.outcomes("done"), "{flags}");
        assert_eq!(load.counted("uncounted"), 0, "{flags}");
    }
}

/// CRC-32 of the responder's body of that length: letters of the alphabet, over and over.
fn crc(length: u64) -> u64 {
    let mut crc = u32::MAX;
    for n in 0..length {
        crc ^= u32::from(b'a') + (n % 26) as u32;
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    u64::from(!crc)
}

#[test]
fn bodies_are_summed_and_compared_with_what_they_must_be() {
    let _shared = beside_others();
    let kept = "sessions=64 open_gap=500 departures=100 whole=3000 first=60000 sums=1";
    // 300 bytes have a head of 59.
    let (right, all) = (crc(241), format!("{kept} sum={:x}", crc(241)));
    for (flags, outcomes) in [
        (format!("{kept} same=1"), &[("done", 100)][..]),
        (format!("{kept} same=1 alters=10"), &[("done", 90), ("sum", 10)]),
        (format!("{kept} alters=10"), &[("done", 100)]),
        (all.clone(), &[("done", 100)]),
        // What the first template must have, the second has not.
        (format!("{all} sum=12345678 path=/a path=/b"), &[("done", 50), ("sum", 50)]),
        (format!("{all} status=404"), &[("status", 100)]),
        (format!("{all} alters=1 most=100"), &[("sum", 100)]),
        (format!("{all} each=1 closes=1"), &[("done", 100)]),
    ] {
        let load = Load::run(&flags);
        for (outcome, number) in outcomes {
            assert_eq!(load.outcomes(outcome), *number, "{flags}: {}", load.told);
        }
        for one in &load.departures {
            assert!(one.sum.is_some() && one.sum == one.passed, "{flags}: {one:?}");
            let is_altered = flags.contains("alters") && (one.outcome == "sum" || one.sum != Some(right));
            assert!(is_altered || one.status == 404 || one.sum == Some(right), "{flags}: {one:?}");
        }
    }
    // Chunks of 1, 10 and 255 bytes, cut anywhere.
    let load = Load::run(&format!("{kept} same=1 chunked=1 most=40"));
    load.all_are("done");
    assert!(load.departures.iter().all(|one| one.sum.is_some() && one.sum == one.passed));
    // What comes behind a hole is not kept, so it cannot be summed.
    Load::run(&format!("{kept} answer_bytes=700 most=350 swapped=1")).all_are("hole");
    assert!(Load::run(&format!("{kept} cut=200")).departures.iter().all(|one| one.sum.is_none()));
}

#[test]
fn sums_do_not_make_reading_slower_than_the_wire() {
    let _shared = beside_others();
    for (bytes, number) in [(300_u64, 2500), (1460, 800), (4380, 300)] {
        let cycles = bytes + 78 * bytes.div_ceil(1460);
        let load = Load::run(&format!(
            "sums=1 same=1 request_bytes=100 answer_bytes={bytes} sessions=256 open_gap=200 whole={cycles} \
             first=80000 departures={number}"
        ));
        load.all_are("done");
        let per_s = load.told["done_per_s"].as_f64().expect("a rate");
        assert!(per_s >= 0.99 * CYCLES_PER_SECOND as f64 / cycles as f64, "{}", load.told);
        assert_eq!((load.counted("full"), load.counted("retransmitted")), (0, 0), "{}", load.told);
    }
}

/// In the module's order: `outcome_e` of session_engine_pkg.sv.
pub(super) const OUTCOMES: [&str; 13] = [
    "done",
    "missed",
    "status",
    "length",
    "malformed",
    "hole",
    "cut",
    "timed_out",
    "reset",
    "refused",
    "unreachable",
    "aborted",
    "sum",
];

#[test]
fn rows_in_the_module_are_those_of_single_results() {
    let _shared = beside_others();
    let rows = |flags: &str, first: u64, ticks: u64| {
        let load = Load::run(&format!("{flags} row_first={first} row_ticks={ticks}"));
        let mut expected: BTreeMap<u64, [u64; 17]> = BTreeMap::new();
        for one in &load.departures {
            let row = expected.entry((one.due + one.done - first) / ticks).or_default();
            row[OUTCOMES.iter().position(|known| *known == one.outcome).expect("an outcome")] += 1;
            if one.outcome == "done" {
                let start = if flags.contains("each") { one.connected } else { one.sent };
                let sums = [one.done, one.done - one.sent, one.first - start, one.size];
                row[13..].iter_mut().zip(sums).for_each(|(sum, value)| *sum += value);
            }
        }
        let mut last = None;
        let found: BTreeMap<u64, [u64; 17]> = load.told["rows"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| row.as_array().expect("a row").iter().map(|word| word.as_u64().expect("a word")))
            .map(|mut words| {
                let number = words.next().expect("a number");
                assert_eq!(number, last.map_or(0, |last: u64| last + 1), "each once, in order");
                last = Some(number);
                (number, words.collect::<Vec<_>>().try_into().expect("all words"))
            })
            .filter(|(_, words)| *words != [0; 17])
            .collect();
        assert_eq!(found, expected, "{flags}");
        assert_eq!(load.counted("late"), 0, "{flags}");
        found.len()
    };
    let kept = "sessions=64 open_gap=500 whole=900 first=60000";
    assert!(rows(&format!("{kept} departures=1500 drops=9 micro=1 patience=5000"), 60_000, 25_000) > 50);
    // Most are missed; a row may be shorter than a response takes.
    let missed = "sessions=4 open_gap=500 whole=60 first=20000 departures=1500 delay=5000 status=404";
    assert!(rows(missed, 0, 700) > 100);
    let each =
        "sessions=100 each=1 closes=1 departures=600 whole=3000 drops=7 micro=1 patience=5000 delay=777";
    assert!(rows(each, 9_000, 50_000) > 30);
    assert!(rows("sessions=16 departures=900 answer_bytes=5000 sums=1 same=1 alters=3", 8_192, 99_999) > 10);
    // In each tick, more are missed than can be told at once. None is lost, but those that are told too late
    // count in another row.
    let load = Load::run("sessions=4 open_gap=500 whole=1 first=20000 departures=4000 row_ticks=700");
    let rows_ = load.told["rows"].as_array().expect("rows");
    let missed: u64 = rows_.iter().map(|row| row[2].as_u64().expect("a count")).sum();
    assert!(missed == load.outcomes("missed") && load.counted("late") > 1000, "{}", load.told);
    // More than there is room for at once: each is read in time, and cleared.
    assert!(
        rows(&format!("{kept} departures=1200 cut=200 drops=3 micro=1 patience=5000"), 60_000, 5_000) > 100
    );
}
