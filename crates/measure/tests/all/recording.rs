//! Recorders and collector together: nothing is lost, whatever the threads, the times and the collector do.

use measure::{
    Collector, Histogram, IntervalData, IntervalRow, RunTotals, Series, SeriesSet, Settings, recorders,
};
use proptest::prelude::*;
use units::{Bytes, Cause, EngineCounters, Event, Group, Instant, Miss, Outcome, Phase, Picos, Record};

const MS: u64 = 1_000_000;

fn at(ns: u64) -> Instant {
    Instant::EPOCH + Picos::from_nanos(ns)
}

fn answer(seq: u64, due_ns: u64, sent_ns: u64, done_ns: u64) -> Event {
    Event {
        seq,
        due: at(due_ns),
        sent: at(sent_ns),
        first_byte: at(done_ns),
        done: at(done_ns),
        bytes_out: Bytes::new(10),
        bytes_in: Bytes::new(20),
        outcome: Outcome::Status(200),
        blocked: Picos::ZERO,
        unread: Picos::ZERO,
        unread_bound: Picos::ZERO,
        group: Group((seq % 5) as u16),
    }
}

fn settings(threads: u16) -> Settings {
    Settings {
        threads,
        groups: 3,
        gaps: true,
        interval: Picos::from_millis(10),
        ..Settings::from_origin(at(0))
    }
}

fn offered(count: u64) -> EngineCounters {
    EngineCounters { offered: count, due: count, ..EngineCounters::default() }
}

/// Any event within the first 100 ms.
fn any_event() -> impl Strategy<Value = Event> {
    let outcome = prop_oneof![
        6 => (0u16..1000).prop_map(Outcome::Status),
        2 => (0..Cause::ALL.len()).prop_map(|i| Outcome::Failed(Cause::ALL[i])),
        1 => (0..Miss::ALL.len()).prop_map(|i| Outcome::Missed(Miss::ALL[i])),
        1 => Just(Outcome::CutOff),
    ];
    (0..1_000u64, 0..100 * MS, 0..MS, 0..2_000 * MS, outcome).prop_map(|(seq, due, late, took, outcome)| {
        let left = !matches!(outcome, Outcome::Missed(_));
        let event = Event { outcome, ..answer(seq, due, due + late, due + late + took) };
        if left { event } else { Event { sent: Instant::FAR, first_byte: Instant::FAR, ..event } }
    })
}

fn assert_same(totals: &RunTotals, expected: &RunTotals) {
    for series in Series::ALL.iter().filter(|series| **series != Series::GapError) {
        assert!(totals.series.of(*series) == expected.series.of(*series), "{series:?}");
    }
    assert_eq!((totals.tally, totals.warmup), (expected.tally, expected.warmup));
    assert_eq!(totals.outcomes, expected.outcomes);
    for (group, wanted) in totals.groups().iter().zip(expected.groups()) {
        assert_eq!(group.tally, wanted.tally);
        // Which outcomes are told apart depends on which came first; they add up all the same.
        let told = group.outcomes.rows(&group.tally).iter().map(|row| row.count).sum::<u64>();
        assert_eq!(told, group.tally.ended());
        assert!(group.latency == wanted.latency);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Percentiles against the sorted values (nearest rank): never below, at most 0.1 % above.
    #[test]
    fn percentiles_agree_with_sorted_values(
        mut values in prop::collection::vec(1u64..3_600_000_000_000, 1..2_000),
        shift in 0u32..40,
    ) {
        values.iter_mut().for_each(|value| *value = (*value >> shift).max(1));
        let mut set = SeriesSet::<u32>::new();
        values.iter().for_each(|value| set.record(Series::Latency, Picos::from_nanos(*value)));
        values.sort_unstable();
        for quantile in [0.001, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let rank = ((quantile * values.len() as f64).ceil() as usize).max(1);
            let (truth, told) = (values[rank - 1], set.of(Series::Latency).value_at_quantile(quantile));
            prop_assert!(told >= truth && told - truth <= truth / 1_000, "{quantile}: {told} for {truth}");
        }
        let mean = values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64;
        prop_assert!((set.summary(Series::Latency).mean - mean).abs() <= mean / 1_000.0 + 0.5);
    }

    /// Any events over any threads in any order, ticked at any times, polled now and then, with a warm-up:
    /// the same as if one had written them all into one place, and every departure is accounted for.
    #[test]
    fn nothing_is_lost_and_merging_equals_recording(
        events in prop::collection::vec((0usize..3, any_event(), any::<bool>()), 0..300),
        warmup_ms in 0u64..60,
        given_up in 0u64..50,
    ) {
        let settings = Settings { measured_from: at(warmup_ms * MS), ..settings(3) };
        let (mut collector, mut threads) = recorders(settings);
        let mut expected = IntervalData::new(3);
        let mut counts = [0u64; 3];
        let mut rows = Vec::new();
        let ended = |data: &IntervalData| data.tally.ended() + data.warmup.ended();
        let mut sink = |row: &IntervalRow| rows.push((row.index, ended(&row.data), row.offered()));
        for (i, (thread, event, poll)) in events.iter().enumerate() {
            threads[*thread].event(event);
            if event.due < settings.measured_from {
                expected.warmup_event(event);
            } else {
                expected.event(event);
            }
            counts[*thread] += 1;
            threads[*thread].tick(at(i as u64 * MS / 2), &offered(counts[*thread]));
            if *poll {
                collector.poll(at(i as u64 * MS / 2), &mut sink);
            }
        }
        threads[1].missed(Miss::NotReached, given_up);
        expected.missed(Miss::NotReached, given_up);
        drop(threads);
        let (totals, _) = collector.finish(at(1_000 * MS), &mut sink);
        let mut single = RunTotals::new(3);
        single.merge(&expected, Instant::EPOCH);
        assert_same(&totals, &single);
        prop_assert_eq!(totals.conservation(), Ok(()));
        prop_assert_eq!(totals.offered(), totals.tally.ended());
        prop_assert_eq!(totals.lost_threads, 0);
        // Rows come in order, once each, and add up to the run.
        prop_assert!(rows.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let all = events.len() as u64 + given_up;
        prop_assert_eq!(rows.iter().map(|row| row.1).sum::<u64>(), all);
        // Offered is what the counters said was due, which those given up together were not.
        prop_assert_eq!(rows.iter().map(|row| row.2).sum::<u64>(), events.len() as u64);
    }
}

#[test]
fn an_event_that_is_dropped_or_counted_twice_is_found() {
    for (recorded, counted) in [(9, 10), (11, 10)] {
        let (collector, mut threads) = recorders(settings(1));
        (0..recorded).for_each(|i| threads[0].event(&answer(i, 0, 0, 1)));
        threads[0].tick(at(1), &offered(counted));
        drop(threads);
        let (totals, _) = collector.finish(at(2), &mut |_| ());
        let imbalance = totals.conservation().unwrap_err();
        assert_eq!((imbalance.offered, imbalance.ended), (counted, recorded));
    }
}

/// One event each millisecond for 100 ms; intervals of 10 ms.
fn run_one_thread(mut poll: impl FnMut(u64, &mut Collector)) -> RunTotals {
    let (mut collector, mut threads) = recorders(settings(1));
    for i in 0..100 {
        threads[0].event(&answer(i, i * MS, i * MS, i * MS + 7));
        threads[0].tick(at(i * MS), &offered(i + 1));
        poll(i, &mut collector);
    }
    drop(threads);
    collector.finish(at(100 * MS), &mut |_| ()).0
}

#[test]
fn a_slow_collector_loses_nothing() {
    // Never polled: the end of interval 0 finds the spare, those of 1 to 8 find none; the last is handed over
    // at the end, so the run is in two pieces.
    let never = run_one_thread(|_, _| ());
    assert_eq!((never.tally.done, never.starved, never.intervals), (100, 8, 2));
    // Polled each 35 ms: empty ones come back at 0, 35 and 70 ms; the ends at 10, 40, 80 find one; those at 20,
    // 30, 50, 60, 70 and 90 do not. 70: the poll of that millisecond comes after its tick.
    let slow = run_one_thread(|i, collector| {
        if i % 35 == 0 {
            collector.poll(at(i * MS), &mut |_| ());
        }
    });
    assert_eq!((slow.tally.done, slow.starved, slow.intervals), (100, 6, 4));
    let quick = run_one_thread(|i, collector| collector.poll(at(i * MS), &mut |_| ()));
    assert_eq!((quick.tally.done, quick.starved, quick.intervals), (100, 0, 10));
    assert!(never.series.of(Series::Latency) == quick.series.of(Series::Latency));
}

#[test]
fn a_row_waits_for_every_thread_and_has_its_place_in_time() {
    let (mut collector, mut threads) = recorders(settings(2));
    let mut rows: Vec<(u64, u64, u64, u64, u64)> = Vec::new();
    let mut note = |row: &IntervalRow| {
        rows.push((
            row.index,
            row.start.as_nanos() / MS,
            row.length.as_nanos() / MS,
            row.data.tally.done,
            row.counters.open,
        ))
    };
    let counters = |offered| EngineCounters { offered, open: 4, ..EngineCounters::default() };
    threads[0].event(&answer(0, 0, 0, 5));
    threads[0].tick(at(12 * MS), &counters(1));
    collector.poll(at(12 * MS), &mut note);
    threads[1].tick(at(1), &counters(0));
    collector.poll(at(12 * MS), &mut note);
    // The second thread was held up: it hands 0 to 1 over at once. Then the first has 1 as well.
    threads[1].event(&answer(1, 0, 0, 5));
    threads[1].tick(at(25 * MS), &counters(1));
    collector.poll(at(25 * MS), &mut note);
    threads[0].tick(at(26 * MS), &counters(1));
    drop(threads);
    let (totals, _) = collector.finish(at(27 * MS), &mut note);
    // Row 0 covers two intervals, as thread 1 did; row 2 ends at the last tick, at 26 ms.
    assert_eq!(rows, [(0, 0, 20, 2, 8), (1, 10, 10, 0, 4), (2, 20, 6, 0, 8)]);
    assert_eq!(totals.measured.as_nanos(), 26 * MS);
    assert_eq!((totals.counters.offered, totals.counters.open), (2, 8));
}

#[test]
fn a_run_may_begin_at_any_time() {
    // Origin at 5 s, warm-up of 10 ms: the clock's epoch is long past, the first tick comes before the origin.
    let origin = at(5_000 * MS);
    let from = |ms| 5_000 * MS + ms * MS;
    let (mut collector, mut threads) =
        recorders(Settings { origin, measured_from: at(from(10)), ..settings(1) });
    let mut rows = Vec::new();
    let mut note =
        |row: &IntervalRow| rows.push((row.index, row.start.as_nanos() / MS, row.length.as_nanos() / MS));
    threads[0].tick(at(from(0) - 1), &offered(0));
    threads[0].event(&answer(0, from(5), from(5), from(6)));
    threads[0].event(&answer(1, from(12), from(12), from(14)));
    threads[0].tick(at(from(14)), &offered(2));
    collector.poll(at(from(14)), &mut note);
    threads[0].tick(at(from(17)), &offered(2));
    drop(threads);
    let (totals, _) = collector.finish(at(from(18)), &mut note);
    assert_eq!(rows, [(0, 0, 10), (1, 10, 7)]);
    assert_eq!((totals.warmup.done, totals.tally.done), (1, 1));
    // From 10 ms on: due at 12, done at 14, last tick at 17.
    let spans = [totals.until_last_due, totals.until_last_done, totals.measured];
    assert_eq!(spans.map(|span| span.as_nanos() / MS), [2, 4, 7]);
}

#[test]
fn the_warm_up_is_split_by_due_time() {
    let (collector, mut threads) = recorders(Settings { measured_from: at(50), ..settings(1) });
    // Due in the warm-up and done after it; due at its very end.
    threads[0].event(&answer(0, 49, 49, 900));
    threads[0].event(&answer(1, 50, 50, 150));
    threads[0].phase(Phase::Connect, Picos::from_nanos(30));
    threads[0].tick(at(900), &offered(2));
    drop(threads);
    let (totals, _) = collector.finish(at(900), &mut |_| ());
    assert_eq!((totals.warmup.done, totals.tally.done), (1, 1));
    assert_eq!((totals.offered(), totals.offered_with_warmup()), (1, 2));
    assert_eq!((totals.summary(Series::Latency).count, totals.summary(Series::Latency).max), (1, 100));
    assert_eq!(totals.outcomes.of(Outcome::Status(200)), 1);
    // A connection opened in the warm-up lives on.
    assert_eq!(totals.summary(Series::Connect).count, 1);
    assert_eq!(totals.conservation(), Ok(()));
}

#[test]
fn what_was_due_when_a_warm_up_was_interrupted_was_not_measured() {
    let (collector, mut threads) = recorders(Settings { measured_from: at(50), ..settings(1) });
    threads[0].event(&answer(0, 10, 10, 20));
    threads[0].tick(at(40), &offered(1));
    threads[0].given_up(Miss::NotReached, 3, Picos::from_nanos(5));
    threads[0].tick(at(41), &offered(1));
    drop(threads);
    let (totals, _) = collector.finish(at(41), &mut |_| ());
    assert_eq!((totals.offered(), totals.offered_with_warmup(), totals.tally.missed), (0, 4, 0));
    assert_eq!((totals.warmup.ended(), totals.conservation()), (4, Ok(())));
}

#[test]
fn each_outcome_goes_to_its_series() {
    let mut data = IntervalData::new(1);
    let event = answer(0, 100, 300, 700);
    data.event(&Event { first_byte: at(450), blocked: Picos::from_nanos(150), ..event });
    data.event(&Event { outcome: Outcome::Failed(Cause::BodyReset), ..event });
    data.event(&Event { outcome: Outcome::CutOff, ..event });
    data.event(&Event { outcome: Outcome::Missed(Miss::NoPort), sent: Instant::FAR, ..event });
    let of = |series| (data.series.of(series).len(), data.series.of(series).max());
    assert_eq!(of(Series::Latency), (1, 600));
    assert_eq!(of(Series::Service), (1, 400));
    assert_eq!(of(Series::FirstByte), (1, 150));
    assert_eq!(of(Series::Failed), (1, 600));
    assert_eq!(of(Series::Lateness), (3, 200));
    assert_eq!(data.series.of(Series::OwnLateness).min(), 50);
    let rows: Vec<_> = data.outcomes.rows().into_iter().map(|row| (row.outcome, row.count)).collect();
    let ended = [
        Outcome::Status(200),
        Outcome::Failed(Cause::BodyReset),
        Outcome::Missed(Miss::NoPort),
        Outcome::CutOff,
    ];
    let expected = ended.map(|outcome| (Some(outcome), 1));
    assert_eq!(rows, expected);
}

#[test]
fn over_an_hour_is_an_hour_and_is_counted() {
    let mut set = SeriesSet::<u32>::new();
    set.record(Series::Latency, Picos::from_secs(3_600));
    set.record(Series::Latency, Picos::from_secs(3_601));
    set.record(Series::Latency, Picos::MAX);
    assert_eq!(set.clamped(Series::Latency), 2);
    let hour_ns = 3_600_000_000_000f64;
    assert!((set.of(Series::Latency).max() as f64 / hour_ns - 1.0).abs() < 0.001);
    assert_eq!(set.of(Series::Latency).len(), 3);
    set.clear();
    assert_eq!((set.clamped(Series::Latency), set.of(Series::Latency).len()), (0, 0));
}

#[test]
fn a_group_beyond_the_table_is_other() {
    let mut data = IntervalData::new(3);
    (0..10).for_each(|seq| data.event(&answer(seq, 0, 0, 1_000)));
    let mut totals = RunTotals::new(3);
    totals.merge(&data, Instant::EPOCH);
    // Groups are seq mod 5: 0 → 0 and 5, 1 → 1 and 6, other → the six of 2, 3 and 4.
    let done: Vec<_> = totals.groups().iter().map(|group| (group.tally.done, group.latency.len())).collect();
    assert_eq!(done, [(2, 2), (2, 2), (6, 6)]);
    assert!(totals.group(Group(3)).is_none());
    assert!(RunTotals::new(1).groups().is_empty());
}

#[test]
fn a_thread_that_panics_still_hands_over_and_is_told() {
    let (collector, mut threads) = recorders(settings(2));
    let mut second = threads.pop().unwrap();
    let quiet = std::thread::Builder::new().name("engine".into()).spawn(move || {
        second.event(&answer(0, 0, 0, 1));
        second.tick(at(1), &offered(1));
        std::panic::resume_unwind(Box::new("an engine's bug"));
    });
    assert!(quiet.unwrap().join().is_err());
    drop(threads);
    let (totals, _) = collector.finish(at(2), &mut |_| ());
    assert_eq!((totals.tally.done, totals.lost_threads), (1, 1));
}

#[test]
fn histograms_of_rows_are_those_of_the_crate() {
    // Rows are written with the crate's own log writer: bounds and digits are the declared ones.
    let data = IntervalData::new(1);
    let histogram: &Histogram<u32> = data.series.of(Series::Latency);
    assert_eq!((histogram.low(), histogram.sigfig()), (1, measure::HISTOGRAM_DIGITS));
}
