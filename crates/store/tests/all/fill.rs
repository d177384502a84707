//! A result filled from measure's totals, with events made by hand.

use clock::Agreement;
use measure::{Conditions, HealthSummary, IntervalData, Loop, RunTotals, ThreadHealth, judge};
use store::schema::Word;
use store::{Measured, RunResult, Spans};
use units::{Bytes, Cause, EngineCounters, Event, Fate, Group, Instant, Miss, Outcome, Picos};

fn at(millis: u64) -> Instant {
    Instant::EPOCH + Picos::from_millis(millis)
}

fn event(due_ms: u64, took_ms: u64, outcome: Outcome, group: u16) -> Event {
    Event {
        seq: due_ms,
        due: at(due_ms),
        sent: at(due_ms),
        first_byte: at(due_ms + took_ms),
        done: at(due_ms + took_ms),
        bytes_out: Bytes::new(90),
        bytes_in: Bytes::new(600),
        outcome,
        blocked: Picos::ZERO,
        unread: Picos::ZERO,
        unread_bound: Picos::ZERO,
        group: Group(group),
    }
}

/// Ten requests, 100 ms apart: eight answered after 50 ms, one refused, one without a port.
fn totals() -> RunTotals {
    let mut data = IntervalData::new(3);
    (0..8).for_each(|n| data.event(&event(n * 100, 50, Outcome::Status(200), (n % 2) as u16)));
    data.event(&event(800, 50, Outcome::Failed(Cause::ConnectRefused), 0));
    data.event(&Event { sent: Instant::FAR, ..event(900, 50, Outcome::Missed(Miss::NoPort), 1) });
    let mut totals = RunTotals::new(3);
    totals.merge(&data, Instant::EPOCH);
    totals.counters =
        EngineCounters { offered: 10, opened: 4, open_peak: 2, late: 1, ..EngineCounters::default() };
    totals
}

fn health() -> HealthSummary {
    let thread = ThreadHealth {
        tid: 7,
        span_ns: 1_000_000_000,
        cpu_ns: 400_000_000,
        spun_ns: 100_000_000,
        ..ThreadHealth::default()
    };
    HealthSummary {
        samples: 1,
        span_ns: 1_000_000_000,
        cpu_ns: 400_000_000,
        spun_ns: 100_000_000,
        threads: vec![thread],
        ..HealthSummary::default()
    }
}

fn filled() -> RunResult {
    filled_from(&totals())
}

fn filled_from(totals: &RunTotals) -> RunResult {
    let health = health();
    let conditions = Conditions {
        load: Loop::Open { gap: Some(Picos::from_millis(100)) },
        clock: None::<Agreement>,
        clock_precision: Picos::ZERO,
        clock_refused: None,
        spins: false,
        cpus: 2,
        pinned: false,
        parallel: None,
        sinks: None,
        weighed: None,
        own_tcp: false,
        unix: false,
        port_failed: false,
        simulated: None,
        frames: None,
    };
    let verdict = judge(totals, &health, &conditions);
    let mut result = RunResult::default();
    let names = ["home".to_owned(), "search".to_owned(), "other".to_owned()];
    result.fill(totals, &verdict, &health, Spans::of(totals, Measured::Departures), &names);
    result
}

#[test]
fn totals_add_up_and_rates_are_over_the_right_time() {
    let result = filled();
    let totals = result.totals;
    assert_eq!((totals.offered, totals.done, totals.failed, totals.missed, totals.cut_off), (10, 8, 1, 1, 0));
    assert_eq!(totals.offered, totals.done + totals.failed + totals.missed + totals.cut_off);
    // Ten departures with nine gaps until 0.9 s: one second in all. Eight answers within it.
    assert!((result.rate.offered_per_s - 10.0).abs() < 1e-6, "{:?}", result.rate);
    assert!((result.rate.achieved_per_s - 8.0).abs() < 1e-6, "{:?}", result.rate);
}

#[test]
fn times_outcomes_groups_and_generator() {
    let result = filled();
    assert_eq!(result.latency_ns.count, 8);
    // 50 ms within the histogram's 0.1 %.
    assert!((50_000_000..50_050_000).contains(&result.latency_ns.p50), "{}", result.latency_ns.p50);
    assert_eq!(result.failed_ns.count, 1);
    assert_eq!(result.lateness_ns.max, 0);
    let rows: Vec<_> =
        result.outcomes.iter().map(|row| (row.class.as_str(), row.key.as_str(), row.count)).collect();
    assert_eq!(
        rows,
        [("status", "200", 8), ("error", "connect.refused", 1), ("missed", "missed.no_port", 1)]
    );
    let names: Vec<_> = result.groups.iter().map(|group| (group.name.as_str(), group.count)).collect();
    assert_eq!(names, [("home", 5), ("search", 5)]);
    let outcomes = |group: usize| -> Vec<_> {
        result.groups[group].outcomes.iter().map(|row| (row.key.as_str(), row.count)).collect()
    };
    // Of the eight answers four are of each name; 800 ms was refused, 900 ms had no port.
    assert_eq!(outcomes(0), [("200", 4), ("connect.refused", 1)]);
    assert_eq!(outcomes(1), [("200", 4), ("missed.no_port", 1)]);
    let generator = &result.generator;
    assert_eq!(generator.threads[0].cpu_share, 0.4);
    assert!((generator.threads[0].spun_share - 0.1).abs() < 1e-9);
    // (0.4 − 0.1) s for the nine departures of ten that left.
    assert!((generator.cpu_s_per_million.unwrap() - 300_000.0 / 9.0).abs() < 1e-6);
    assert_eq!((generator.late, result.connections.open_peak), (1, 2));
    // A tenth of what was due did not leave, for want of a port: the generator's fault.
    assert_ne!(result.verdict.word, Word::Valid);
    assert!(result.verdict.criteria.iter().any(|criterion| !criterion.holds && !criterion.advice.is_empty()));
}

#[test]
fn a_target_that_falls_behind_achieves_less() {
    // Due each 100 ms, answered each 200 ms: the n-th answer at 200·(n + 1) ms.
    let mut data = IntervalData::new(1);
    (0..100).for_each(|n| {
        data.event(&event(n * 100, 200 * (n + 1) - n * 100, Outcome::Status(200), 0));
        if 200 * (n + 1) > 10_000 {
            data.answered_after(Picos::from_millis(200 * (n + 1) - 10_000));
        }
    });
    let mut totals = RunTotals::new(1);
    totals.merge(&data, Instant::EPOCH);
    totals.counters.offered = 100;
    let spans = Spans::of(&totals, Measured::Planned(Picos::from_secs(10)));
    // 50 answers by 10 s; the 51st came 0.2 s later, and is in no rate.
    assert_eq!((spans.answered, spans.answering), (50, Picos::from_secs(10)));
    // All bytes of all 100 came within 20 s.
    assert_eq!(spans.until_last, Picos::from_secs(20));
    // Stopped before its time, nobody knows when it would have ended: all 100, the last at 20 s less 0.2 s.
    let stopped = Spans::of(&totals, Measured::Departures);
    assert_eq!(stopped.answered, 100);
    assert!((stopped.answering.as_secs_f64() - 19.8).abs() < 0.001, "{:?}", stopped.answering);
}

#[test]
fn a_load_that_was_stopped_while_behind_lasted_until_then() {
    // 100/s due for 10 s: the first hundred left by then, the other nine hundred were given up.
    let mut data = IntervalData::new(1);
    (0..100).for_each(|n| data.event(&event(n * 10, n * 90, Outcome::Frame(Fate::Sent), 0)));
    data.missed(Miss::NotReached, 900);
    let mut totals = RunTotals::new(1);
    totals.merge(&data, Instant::EPOCH);
    totals.counters.offered = 100;
    let spans = Spans::of(&totals, Measured::Departures);
    // The last left at 990 + 8 910 ms.
    assert_eq!((totals.offered(), spans.offering), (1_000, Picos::from_millis(9_900)));
}

#[test]
fn a_single_frame_has_no_rate() {
    let mut data = IntervalData::new(1);
    data.event(&event(0, 1, Outcome::Frame(Fate::Sent), 0));
    let mut totals = RunTotals::new(1);
    totals.merge(&data, Instant::EPOCH);
    totals.counters.offered = 1;
    let spans = Spans::of(&totals, Measured::Departures);
    assert_eq!((spans.offering, spans.answering), (Picos::ZERO, Picos::ZERO));
}

#[test]
fn a_closed_loop_lasts_until_its_last_answer() {
    // One request, answered after 55 ms: 1 / 0.055 s = 18.18/s.
    let mut data = IntervalData::new(1);
    data.event(&event(0, 55, Outcome::Status(200), 0));
    let mut totals = RunTotals::new(1);
    totals.merge(&data, Instant::EPOCH);
    totals.counters.offered = 1;
    for measured in [Measured::Answers, Measured::Departures] {
        let spans = Spans::of(&totals, measured);
        let span = Picos::from_millis(55);
        assert_eq!((spans.offering, spans.answered, spans.answering), (span, 1, span), "{measured:?}");
    }
    // Ten connections, three requests each, one after another, 10 ms each: 30 in 30 ms.
    let mut data = IntervalData::new(1);
    (0..30).for_each(|n| data.event(&event(n / 10 * 10, 10, Outcome::Status(200), 0)));
    let mut totals = RunTotals::new(1);
    totals.merge(&data, Instant::EPOCH);
    totals.counters.offered = 30;
    let spans = Spans::of(&totals, Measured::Answers);
    assert_eq!((spans.offering, spans.answering), (Picos::from_millis(30), Picos::from_millis(30)));
}

#[test]
fn statuses_that_a_name_does_not_tell_apart_are_in_its_sums() {
    let group_of = |codes: std::ops::Range<u16>| {
        let mut data = IntervalData::new(2);
        let events = codes.map(|code| event(u64::from(code), 50, Outcome::Status(code), 0));
        events.for_each(|event| data.event(&event));
        let mut totals = RunTotals::new(2);
        totals.merge(&data, Instant::EPOCH);
        filled_from(&totals).groups.remove(0)
    };
    let many = group_of(395..410);
    assert_eq!(many.outcomes.last().map(|row| (row.key.as_str(), row.count)), Some(("", 3)));
    assert_eq!(many.statuses(), Some([0, 0, 0, 5, 10, 0, 0, 0, 0, 0]));
    let few = group_of(398..402);
    assert_eq!((few.statuses, few.statuses()), (None, Some([0, 0, 0, 2, 2, 0, 0, 0, 0, 0])));
}
