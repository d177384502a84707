//! Load shapes in the module: the due times that it reports are those of `schedule`, number by number. The
//! module computes those of even rates, ramps, steps and stages itself; the others are a list that the host
//! feeds.

use plan::{Arrivals, Shape, Stage};
use schedule::{Limits, Share};
use std::path::Path;
use tare_system_tests::module::simulator;
use tare_system_tests::{Run, Tare, beside_others, scratch};
use units::{Count, Fraction, Instant, Picos, Rate};

const TICK_NS: u64 = 8;
const TICK_PS: u64 = 1_000 * TICK_NS;
const SEED: u64 = 11;

fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

fn time(text: &str) -> Picos {
    text.parse().expect("a time")
}

fn arrivals(shape: Shape, jitter: &str) -> Arrivals {
    Arrivals { shape, jitter: jitter.parse::<Fraction>().expect("a share") }
}

fn even(shape: Shape) -> Arrivals {
    arrivals(shape, "0%")
}

/// A run with each event in a file: due times in ns by number, from 0, and the run.
fn run(folder: &Path, delay: &str, load: &str) -> (Vec<u64>, Run) {
    simulator();
    let events = folder.join("events.jsonl");
    // None of another run.
    let _ = std::fs::remove_file(&events);
    let via = format!("fpga,delay={delay}:sim,ip=198.18.0.2/24");
    let flags = format!("--via {via} {load} --seed {SEED} --to jsonl:{}?events=1", events.display());
    let run = Tare::http(&flags).arg("http://198.18.0.1/").run();
    let text = std::fs::read_to_string(&events).expect("events");
    let mut due: Vec<(u64, u64)> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .filter(|line| line["type"] == "event")
        .map(|event| ["seq", "due_ns"].map(|key| event[key].as_u64().expect(key)))
        .map(|[seq, due]| (seq, due))
        .collect();
    due.sort_unstable();
    assert!(due.iter().enumerate().all(|(n, (seq, _))| *seq == n as u64), "each number once");
    (due.into_iter().map(|(_, due)| due).collect(), run)
}

/// Of schedule, in whole ticks.
fn expected(arrivals: &Arrivals, end: &str, requests: Option<u64>) -> Vec<u64> {
    let limits = Limits { end: Some(time(end)), requests: requests.map(Count::new), warmup: Picos::ZERO };
    let mut schedule =
        schedule::share(arrivals, limits, SEED, Instant::EPOCH, Share::WHOLE).expect("a schedule");
    std::iter::from_fn(|| schedule.next())
        .map(|departure| departure.due.since_epoch().as_picos() / TICK_PS * TICK_NS)
        .collect()
}

#[track_caller]
fn are_equal(flags: &str, found: &[u64], wanted: &[u64]) {
    for (n, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert_eq!(found, wanted, "{flags}: the {n}-th");
    }
    assert_eq!(found.len(), wanted.len(), "{flags}");
}

#[test]
fn due_times_are_those_of_the_schedule() {
    let _shared = beside_others();
    let folder = scratch();
    let times = folder.path().join("times.txt");
    std::fs::write(&times, "0\n0.00001\n0.00001\n0.000033333333\n1ms\n1500us\n").expect("a file");
    let stage = |to: &str, over| Stage { to: (to != "0").then(|| rate(to)), over: time(over) };
    let at = format!("--at {}", times.display());
    for (flags, arrivals, end) in [
        (
            "--ramp 20k..333333:3ms --duration 5ms",
            even(Shape::Ramp { from: rate("20k"), to: rate("333333"), over: time("3ms") }),
            "5ms",
        ),
        (
            "--ramp 400k..1k:2ms --duration 2ms",
            even(Shape::Ramp { from: rate("400k"), to: rate("1k"), over: time("2ms") }),
            "2ms",
        ),
        (
            "--step 50k+77777:1ms..270k --duration 5ms",
            even(Shape::Step { from: rate("50k"), by: rate("77777"), every: time("1ms"), to: rate("270k") }),
            "5ms",
        ),
        (
            "--stages 0:300us,100k:1ms,300k:500us,0:1ms,0:500us,99991:1ms",
            even(Shape::Stages(vec![
                stage("0", "300us"),
                stage("100k", "1ms"),
                stage("300k", "500us"),
                stage("0", "1ms"),
                stage("0", "500us"),
                stage("99991", "1ms"),
            ])),
            "1d",
        ),
        // A length that is no whole number of ticks: listed.
        (
            "--ramp 20k..200k:1000001ns --duration 2ms",
            even(Shape::Ramp { from: rate("20k"), to: rate("200k"), over: time("1000001ns") }),
            "2ms",
        ),
        ("--rate 100k --poisson --duration 5ms", even(Shape::Poisson(rate("100k"))), "5ms"),
        ("--rate 100k --jitter 60% --duration 3ms", arrivals(Shape::Constant(rate("100k")), "60%"), "3ms"),
        (
            "--ramp 20k..200k:1ms --jitter 10% --duration 2ms",
            arrivals(Shape::Ramp { from: rate("20k"), to: rate("200k"), over: time("1ms") }, "10%"),
            "2ms",
        ),
        (
            "--sine 100k+-60k:1ms --duration 3ms",
            even(Shape::Sine { mean: rate("100k"), amplitude: rate("60k"), period: time("1ms") }),
            "3ms",
        ),
        (
            "--burst 5:100us --duration 2ms",
            even(Shape::Burst { size: Count::new(5), every: time("100us") }),
            "2ms",
        ),
        (&*at, even(Shape::At(times.clone())), "1d"),
    ] {
        let (found, run) = self::run(folder.path(), "2us", &format!("{flags} --parallel 128"));
        let wanted = expected(&arrivals, end, None);
        assert!(wanted.len() >= 6, "{flags}");
        are_equal(flags, &found, &wanted);
        // And the figures agree: each was sent, and answered.
        let all = wanted.len() as u64;
        assert_eq!((run.total("offered"), run.total("done"), run.outcome("200")), (all, all, all), "{run}");
        // Ramps, stages and steps of whole ticks come from the module itself.
        let is_listed = ["1000001ns", "--poisson", "--jitter", "--sine", "--burst", "--at"];
        let is_listed = is_listed.iter().any(|part| flags.contains(part));
        let told = run.remarks();
        assert_eq!(told.contains("was given a list of"), is_listed, "{flags}: {told}");
        assert!(!told.contains("ended before the run"), "{flags}: {told}");
    }
}

#[test]
fn a_ramp_is_kept_as_exactly_as_an_even_rate() {
    let _shared = beside_others();
    let folder = scratch();
    let (due, run) = run(folder.path(), "20us", "--ramp 10k..200k:8ms --duration 8ms --parallel 64");
    // (10 000 + 200 000) / 2 · 8 ms.
    assert_eq!(due.len(), 840);
    assert_eq!((run.word(), run.code), ("VALID", Some(0)), "{run}");
    let tare = run.int("tare_ns.max");
    assert!(tare > 0 && tare <= 14 * TICK_NS && run.int("tare_ns.min") == tare, "{run}");
    assert!(run.int("net_ns.max") - run.int("net_ns.min") <= 2 * TICK_NS, "{run}");
}

#[test]
fn many_due_times_of_steep_rates_are_exact_whether_they_are_missed_or_not() {
    let _shared = beside_others();
    let folder = scratch();
    // One session, of which a request takes a millisecond: nearly all are missed, each at its due time. Up to
    // a fifth of the ticks have one, more than the module can miss in time: it catches up.
    for (flags, shape, end) in [
        (
            "--ramp 1k..25M:1ms --duration 1ms",
            Shape::Ramp { from: rate("1k"), to: rate("25M"), over: time("1ms") },
            "1ms",
        ),
        (
            "--step 1M+3333333:100us..20M --duration 800us",
            Shape::Step { from: rate("1M"), by: rate("3333333"), every: time("100us"), to: rate("20M") },
            "800us",
        ),
        (
            "--stages 20M:200us,1k:300us,50k:1ms",
            Shape::Stages(vec![
                Stage { to: Some(rate("20M")), over: time("200us") },
                Stage { to: Some(rate("1k")), over: time("300us") },
                Stage { to: Some(rate("50k")), over: time("1ms") },
            ]),
            "1d",
        ),
    ] {
        let (found, run) = self::run(folder.path(), "1ms", &format!("{flags} --parallel 1"));
        let wanted = expected(&even(shape), end, None);
        assert!(wanted.len() > 6_000, "{flags}: {}", wanted.len());
        are_equal(flags, &found, &wanted);
        let (done, missed) = (run.total("done"), run.outcome("missed.no_connection"));
        assert!(done >= 1 && done + missed == wanted.len() as u64, "{run}");
    }
}

#[test]
fn a_warm_up_and_a_number_of_requests_cut_a_shape_as_they_cut_any() {
    let _shared = beside_others();
    let folder = scratch();
    let load = "--ramp 50k..150k:2ms --warmup 1ms --requests 60 --parallel 32";
    let (due, run) = run(folder.path(), "2us", load);
    // N(1 ms) = 50 + 100/(2·2) = 75 in the warm-up, and 60 behind it.
    let shape = Shape::Ramp { from: rate("50k"), to: rate("150k"), over: time("2ms") };
    are_equal(load, &due, &expected(&even(shape), "1d", Some(135)));
    assert_eq!((run.total("offered"), run.outcome("200")), (60, 60), "{run}");
}
