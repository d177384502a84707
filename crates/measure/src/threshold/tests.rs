//! Rows made by hand, with values that follow from their definition.

use super::*;
use crate::interval::IntervalData;
use crate::testing::{answer, failed, missed};
use plan::Limit;
use units::{Cause, EngineCounters, Event, Group, Instant, Outcome};

const MS: u64 = 1_000_000;
const SECOND: Picos = Picos::from_secs(1);

fn limits(fail_if: &[&str], abort_if: &[&str]) -> Limits {
    let read = |all: &[&str]| all.iter().map(|text| text.parse::<Limit>().unwrap()).collect();
    Limits { fail_if: read(fail_if), abort_if: read(abort_if), ..Limits::default() }
}

fn measuring(from_s: u64, until_s: Option<u64>) -> Measuring {
    Measuring { from: Picos::from_secs(from_s), until: until_s.map(Picos::from_secs), interval: SECOND }
}

/// The row of second `index`: `answers` of `ms` milliseconds, `failures`, and 100 offered.
fn row(index: u64, answers: u64, ms: u64, failures: u64) -> IntervalRow {
    let due = index * 1_000 * MS;
    let answers = (0..answers).map(|seq| answer(seq, due, due, due + ms * MS));
    let failures = (0..failures).map(|seq| failed(seq, due, due + MS, Cause::ConnectRefused));
    row_of(index, &answers.chain(failures).collect::<Vec<_>>())
}

fn row_of(index: u64, events: &[Event]) -> IntervalRow {
    let mut data = IntervalData::new(3);
    events.iter().for_each(|event| data.event(event));
    IntervalRow {
        index,
        start: SECOND.saturating_mul(index),
        length: SECOND,
        data: Box::new(data),
        counters: EngineCounters { due: 100, ..EngineCounters::default() },
        starved: 0,
        health: None,
    }
}

/// All rows through the thresholds: when the run was to end, and what came of each limit.
fn judged(limits: Limits, measuring: Measuring, rows: &[IntervalRow]) -> (Option<Aborted>, Vec<Judgement>) {
    let names = ["login", "buy", "other"].map(str::to_owned);
    let mut thresholds = Thresholds::new(&limits, &names, measuring).unwrap();
    let mut totals = RunTotals::new(3);
    let mut aborted = None;
    for row in rows {
        aborted = thresholds.row(row).or(aborted);
        totals.merge(&row.data, Instant::EPOCH);
        totals.counters.offered += row.data.tally.ended();
    }
    let length = rows.iter().map(|row| row.length).sum();
    let done = Count::new(totals.tally.done);
    let whole = WholeRun { offering: length, answered: done, answering: length, until_last: length };
    (aborted, thresholds.finish(&totals, whole))
}

fn one(limit: &str, rows: &[IntervalRow]) -> Judgement {
    judged(limits(&[limit], &[]), measuring(0, Some(rows.len() as u64)), rows).1.remove(0)
}

/// Of a histogram with three digits a value is at most 0.1 % above the true one.
fn about(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (expected..=expected * 1.001).contains(&value))
}

#[test]
fn a_window_finds_what_the_whole_run_hides() {
    // 20 seconds of 10 ms; in seconds 7 and 8 a second of stall: 900 ms.
    let rows: Vec<_> = (0..20).map(|s| row(s, 100, if s == 7 || s == 8 { 900 } else { 10 }, 0)).collect();
    let whole = one("latency.p50 > 50ms", &rows);
    assert!(whole.holds && about(whole.value, 10e6) && whole.at.is_none(), "{whole:?}");
    let second = one("latency.p50 > 50ms in any 1s", &rows);
    assert!(!second.holds && about(second.value, 900e6), "{second:?}");
    // The first of the two ends after 8 s; a later one that is no worse does not replace it.
    assert_eq!(second.at, Some(Picos::from_secs(8)));
    // Of 3 s with both: 200 of 300 are slow. Of 5 s: 200 of 500 are, so the median is not.
    assert!(!one("latency.p50 > 50ms in any 3s", &rows).holds);
    assert_eq!(one("latency.p50 > 50ms in any 3s", &rows).at, Some(Picos::from_secs(9)));
    let five = one("latency.p50 > 50ms in any 5s", &rows);
    assert!(five.holds && about(five.value, 10e6), "{five:?}");
    // p60 of 5 s is at the edge: 300 of 500 are quick, so p60 is quick and p61 is slow.
    assert!(one("latency.p60 > 50ms in any 5s", &rows).holds);
    assert!(!one("latency.p61 > 50ms in any 5s", &rows).holds);
}

#[test]
fn a_window_is_never_an_average_of_percentiles() {
    // Second 0: 1 000 of 1 ms. Second 1: 10 of 1 000 ms. p99 of both: 999.9 of 1 010 are at or below it: the 1
    // 000th is 1 ms. The mean of both p99 would be 500 ms.
    let rows = [row(0, 1_000, 1, 0), row(1, 10, 1_000, 0)];
    let judgement = one("latency.p99 > 100ms in any 2s", &rows);
    assert!(judgement.holds && about(judgement.value, 1e6), "{judgement:?}");
}

#[test]
fn figures_of_the_whole_run_by_hand() {
    let mut events: Vec<Event> = (0..90).map(|seq| answer(seq, 0, 2 * MS, 12 * MS)).collect();
    let status = |code| Event { outcome: Outcome::Status(code), ..answer(0, 0, 2 * MS, 12 * MS) };
    events.extend([status(500), status(503), status(404), status(302)]);
    events.extend((0..4).map(|seq| failed(seq, 0, MS, Cause::ConnectRefused)));
    events.extend([failed(9, 0, MS, Cause::BodyReset), missed(10, 0)]);
    // 90 + 4 answers of 94, 5 failures, 1 missed: 100 in all, in one second.
    let rows = [row_of(0, &events)];
    for (limit, value, holds) in [
        ("errors > 8", 8.0, true),
        ("errors >= 8", 8.0, false),
        ("errors > 7.9%", 0.08, false),
        ("failed > 5", 5.0, true),
        ("missed > 0", 1.0, false),
        ("missed(no_port) > 1%", 0.01, true),
        ("missed(no_memory) > 0", 0.0, true),
        ("cut_off > 0", 0.0, true),
        ("done < 95%", 0.94, false),
        ("status(5xx) > 1", 2.0, false),
        ("status(503) > 1", 1.0, true),
        ("status(400-503) > 2%", 0.03, false),
        ("error(connect.refused) > 3", 4.0, false),
        ("error(connect) > 4", 4.0, true),
        ("error(body) > 0", 1.0, false),
        ("offered < 101", 100.0, false),
        ("offered < 100/s", 100.0, true),
        ("achieved < 94/s", 94.0, true),
        ("achieved < 95% of offered", 0.94, false),
        // 10 out and 20 in for each that left or failed; nothing for the missed one.
        ("bytes_out > 990B", 990.0, true),
        ("bytes_in >= 1980B/s", 1980.0, false),
    ] {
        let judgement = one(limit, &rows);
        assert_eq!((judgement.value, judgement.holds), (Some(value), holds), "{limit}");
    }
    for (limit, nanos) in [
        ("latency.p99 > 1h", 12e6),
        ("latency.mean > 1h", 12e6),
        ("service.max > 1h", 10e6),
        ("lateness.p50 > 1h", 2e6),
        ("first_byte.p50 > 1h", 5e6),
    ] {
        let judgement = one(limit, &rows);
        // The mean of a histogram is of the middles of its buckets.
        let near = judgement.value.is_some_and(|value| (value / nanos - 1.0).abs() < 0.001);
        assert!(judgement.holds && near, "{judgement:?}");
    }
}

#[test]
fn what_could_not_be_measured_does_not_hold() {
    let rows = [row(0, 0, 0, 5), row(1, 0, 0, 5)];
    for limit in ["latency.p99 > 1h", "tls.max > 1h", "latency.p99 > 1h in any 1s", "errors > 99% in any 3s"]
    {
        let judgement = one(limit, &rows);
        assert_eq!((judgement.value, judgement.holds), (None, false), "{limit}");
    }
    assert!(one("done > 0", &rows).holds, "that nothing was done is known");
}

#[test]
fn names_are_looked_at_alone() {
    let named = |name: u16, seq, ms| Event { group: Group(name), ..answer(seq, 0, 0, ms * MS) };
    let mut events: Vec<Event> = (0..50).map(|seq| named(0, seq, 5)).collect();
    events.extend((0..50).map(|seq| named(1, seq, 80)));
    events.push(Event { group: Group(1), ..failed(100, 0, MS, Cause::BodyReset) });
    events.push(Event { outcome: Outcome::Status(500), ..named(1, 101, 80) });
    let rows = [row_of(0, &events)];
    let near = |judgement: &Judgement, ms: f64| {
        // Two digits: within 1 %.
        judgement.value.is_some_and(|value| (ms * 1e6..=ms * 1.01e6).contains(&value))
    };
    let login = one("latency.p99 for login > 50ms", &rows);
    assert!(login.holds && near(&login, 5.0), "{login:?}");
    let buy = one("latency.p99 for buy > 50ms", &rows);
    assert!(!buy.holds && near(&buy, 80.0), "{buy:?}");
    let in_window = one("latency.p99 for buy > 50ms in any 1s", &rows);
    assert!(!in_window.holds && near(&in_window, 80.0), "{in_window:?}");
    for (limit, value) in [
        ("errors for login > 0", 0.0),
        ("errors for buy > 5%", 2.0 / 52.0),
        ("errors for buy > 9 in any 1s", 2.0),
        ("failed for buy > 1", 1.0),
        ("status(5xx) for buy > 1", 1.0),
        ("done for login > 50", 50.0),
        ("bytes_in for login > 1001B", 1000.0),
    ] {
        let judgement = one(limit, &rows);
        assert_eq!((judgement.value, judgement.holds), (Some(value), true), "{limit}");
    }
}

#[test]
fn unknown_names_are_told_before_the_run() {
    let names = ["login", "buy", "other"].map(str::to_owned);
    let refused = |limit: &str, names: &[String]| {
        Thresholds::new(&limits(&[limit], &[]), names, measuring(0, None)).unwrap_err().to_string()
    };
    assert_eq!(
        refused("latency.p99 for logn > 1s", &names),
        "latency.p99 for \"logn\" > 1s: no requests have the name 'logn'; there are login, buy, other (did you mean \
         login?)"
    );
    assert!(refused("errors for x > 1", &[]).contains("names come from \"name\""));
    // 63 names and "other" stand for more; 64 names are just 64.
    let mut many: Vec<String> = (0..63).map(|n| format!("n{n}")).collect();
    many.push("other".to_owned());
    let folded = refused("errors for n99 > 1", &many);
    assert!(
        folded.contains("no figures are kept for the name 'n99': there are more than 63 names"),
        "{folded}"
    );
    many.pop();
    assert!(refused("errors for n99 > 1", &many).contains("no requests have the name 'n99'"));
    // Names come from files: what they have in them steers no terminal.
    let odd = ["a\nb\x07\x1b[31m\u{202e}c".to_owned(), "x".repeat(300)];
    assert!(
        refused("errors for q > 1", &odd).ends_with(&format!("; there are a·b··[31m·c, {}…", "x".repeat(60)))
    );
    // A single name is the whole run.
    let single = ["login".to_owned()];
    let thresholds = Thresholds::new(&limits(&["errors for login > 1"], &[]), &single, measuring(0, None));
    assert_eq!(thresholds.unwrap().watched[0].group, None);
}

#[test]
fn a_run_ends_when_its_limit_comes_true() {
    // 100 a second of 10 ms, from second 4 on 80 ms. p50 so far is slow once more than half are: in second 8
    // there are 400 quick and 400 slow, in second 9 400 and 500.
    let rows: Vec<_> = (0..12).map(|s| row(s, 100, if s < 4 { 10 } else { 80 }, 0)).collect();
    let (aborted, judged) = judged(limits(&[], &["latency.p50 > 50ms"]), measuring(0, Some(60)), &rows);
    let aborted = aborted.expect("it comes true");
    assert_eq!(aborted.at, Picos::from_secs(9));
    assert!(about(Some(aborted.value), 80e6), "{aborted:?}");
    assert!(!judged[0].holds && judged[0].aborts && judged[0].at == Some(aborted.at), "{judged:?}");
    assert_eq!(judged[0].value, Some(aborted.value));
}

#[test]
fn a_run_whose_load_is_over_is_not_ended_early() {
    // All is well until the last second, which is judged as all others are.
    let rows: Vec<_> = (0..5).map(|s| row(s, 100, if s < 4 { 10 } else { 80 }, 0)).collect();
    let all = limits(&[], &["latency.max > 50ms", "latency.p50 > 50ms in any 1s", "latency.p50 > 50ms"]);
    let (aborted, judged) = judged(all, measuring(0, Some(5)), &rows);
    assert_eq!(aborted, None);
    assert_eq!(judged.iter().map(|one| one.holds).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(judged[0].at, None, "it is the whole run's");
    assert_eq!(judged[1].at, Some(Picos::from_secs(5)));
}

#[test]
fn few_values_end_no_run() {
    // p99 needs 100 values: 30 a second are 90 after three seconds and 120 after four.
    let slow: Vec<_> = (0..6).map(|s| row(s, 30, 80, 0)).collect();
    let after = |limit: &str, rows: &[IntervalRow]| {
        let aborted = judged(limits(&[], &[limit]), measuring(0, Some(60)), rows).0;
        aborted.map(|aborted| aborted.at.as_secs_f64())
    };
    assert_eq!(after("latency.p99 > 50ms", &slow), Some(4.0));
    assert_eq!(after("latency.max > 50ms", &slow), Some(1.0));
    // A window is as long as its user wants it.
    assert_eq!(after("latency.p99 > 50ms in any 1s", &slow), Some(1.0));
    // One error in ten is 10 %, but an error share of 1 % needs 100 values: 31 a second.
    let one_error: Vec<_> =
        (0..6).map(|s| row(s, if s == 0 { 9 } else { 31 }, 1, u64::from(s == 0))).collect();
    assert_eq!(after("errors > 5%", &one_error), None, "1 of 10, then 1 of 41: 20 are needed");
    assert_eq!(after("errors > 0", &one_error), Some(1.0));
    // A rate needs three rows.
    assert_eq!(after("achieved < 50/s", &slow), Some(3.0));
}

#[test]
fn samples_needed_by_hand() {
    for (limit, needed) in [
        ("latency.p50 > 1s", 10),
        ("latency.p99 > 1s", 100),
        ("latency.p99.9 > 1s", 1_000),
        ("latency.p1 < 1s", 100),
        ("latency.max > 1s", 1),
        ("latency.p100 > 1s", 1),
        ("latency.mean > 1s", 10),
        ("errors > 0.1%", 1_000),
        ("errors > 50%", 10),
        ("errors > 0%", 1),
        ("done < 99.9%", 1_000),
        ("errors > 5", 1),
    ] {
        assert_eq!(samples_needed(&limit.parse().unwrap()), needed, "{limit}");
    }
}

#[test]
fn rates_are_of_whole_rows_of_the_measured_part() {
    let part = |start: u64, millis: u64, done: u64| IntervalRow {
        start: Picos::from_secs(start),
        length: Picos::from_millis(millis),
        ..row(start, done, 1, 0)
    };
    // Warm-up of 2 s in which little was done, 5 s of 100/s, and a rest of half a second in which the last
    // answers came.
    let rows: Vec<_> = [5, 5, 100, 100, 90, 100, 100]
        .iter()
        .zip(0..)
        .map(|(done, s)| part(s, 1_000, *done))
        .chain([part(7, 500, 3)])
        .collect();
    let value = |limit: &str, measuring| judged(limits(&[limit], &[]), measuring, &rows).1[0].value;
    assert_eq!(value("achieved < 50/s in any 1s", measuring(2, Some(7))), Some(90.0));
    assert_eq!(value("achieved < 50/s in any 2s", measuring(2, Some(7))), Some(95.0));
    assert_eq!(value("achieved < 50% of offered in any 1s", measuring(2, Some(7))), Some(0.9));
    assert_eq!(value("done < 50 in any 1s", measuring(2, Some(7))), Some(90.0));
    // What must not be large is looked for also in the rest.
    assert_eq!(value("done > 500 in any 1s", measuring(2, Some(7))), Some(103.0));
}

#[test]
fn the_wait_for_the_last_answers_is_no_low_rate() {
    let idle = |s: u64, done: u64| IntervalRow { counters: EngineCounters::default(), ..row(s, done, 1, 0) };
    // Nothing is offered in second 2 and from second 4 on: the first is a stall of the load, the last the end.
    let rows = [row(0, 100, 1, 0), row(1, 90, 1, 0), idle(2, 40), row(3, 100, 1, 0), idle(4, 7), idle(5, 0)];
    let (_, judged) = judged(limits(&["achieved < 50/s in any 1s"], &[]), measuring(0, None), &rows);
    assert_eq!((judged[0].value, judged[0].at), (Some(40.0), Some(Picos::from_secs(3))));
}

#[test]
fn long_windows_slide_by_a_sixtieth_and_stay_bounded() {
    let measuring = measuring(0, Some(1_000));
    let limits = limits(&["errors > 1000000 in any 5min", "errors > 1000000 in any 1min"], &[]);
    let mut thresholds = Thresholds::new(&limits, &[], measuring).unwrap();
    // One error a second: 300 of them in five minutes, 60 in one.
    for second in 0..900 {
        thresholds.row(&row(second, 0, 0, 1));
        for watched in &thresholds.watched {
            let Gathers::Window(window) = &watched.gathers else { panic!("it has a window") };
            assert!(window.pieces() <= 61, "{} pieces", window.pieces());
        }
    }
    let judged = thresholds.finish(&RunTotals::new(1), WholeRun::default());
    assert_eq!(judged.iter().map(|one| one.value).collect::<Vec<_>>(), [Some(300.0), Some(60.0)]);
    assert_eq!(judged[0].at, Some(Picos::from_secs(300)));
}

#[test]
fn rows_that_became_one_are_one_piece() {
    // Second 3 took two seconds: a thread was late. Windows of 2 s have it whole.
    let long = IntervalRow { length: Picos::from_secs(2), ..row(3, 0, 0, 10) };
    let rows = [row(0, 0, 0, 1), row(1, 0, 0, 1), row(2, 0, 0, 1), long, row(5, 0, 0, 1)];
    let judgement = one("errors > 99 in any 2s", &rows);
    assert_eq!(
        judgement.value,
        Some(11.0),
        "10 of the row of two seconds and 1 of the next: without the first it were too short"
    );
}

/// A time-out after so many milliseconds.
fn timed_out(seq: u64, due: u64, ms: u64) -> Event {
    failed(seq, due, due + ms * MS, Cause::FirstByteTimeout)
}

/// As an engine's recorder keeps them: what never came to an answer is kept beside the answers, too.
fn row_with_unfinished(index: u64, events: &[Event]) -> IntervalRow {
    let mut row = row_of(index, events);
    let is_answer = |event: &&Event| matches!(event.outcome, Outcome::Status(_));
    events.iter().filter(|event| !is_answer(event)).for_each(|event| row.data.unfinished(event));
    row
}

#[test]
fn requests_that_hang_break_a_limit_on_a_percentile() {
    // Every tenth of 100 a second hangs and is given up after a second; all others take 10 ms.
    let events = |s: u64| -> Vec<Event> {
        let due = s * 1_000 * MS;
        let one = |seq| match seq % 10 {
            0 => timed_out(seq, due, 1_000),
            _ => answer(seq, due, due, due + 10 * MS),
        };
        (0..100).map(one).collect()
    };
    let rows: Vec<_> = (0..5).map(|s| row_with_unfinished(s, &events(s))).collect();
    for (limit, value, is_bound) in [
        ("latency.p99 > 50ms", 1e9, true),
        ("latency.p99 > 50ms in any 2s", 1e9, true),
        ("net.p99 > 50ms", 1e9, true),
        ("net.p99 > 50ms in any 1s", 1e9, true),
        ("latency.max > 2s", 1e9, true),
        // Over a limit that it has not reached: it might have taken as long.
        ("latency.p99 > 5s", 1e9, true),
        ("latency.p91 > 5s in any 3s", 1e9, true),
    ] {
        let judgement = one(limit, &rows);
        assert!(!judgement.holds && judgement.is_bound == is_bound, "{judgement:?}");
        assert!(about(judgement.value, value), "{judgement:?}");
    }
    // Nine of ten are answered: however long the tenth would have taken, p90 is 10 ms.
    for limit in
        ["latency.p90 > 50ms", "latency.p90 > 50ms in any 2s", "net.p50 > 50ms", "latency.mean > 50ms"]
    {
        let judgement = one(limit, &rows);
        // The mean of a histogram is of the middles of its buckets.
        let is_near = judgement.value.is_some_and(|value| (value / 10e6 - 1.0).abs() < 0.001);
        assert!(judgement.holds && !judgement.is_bound && is_near, "{judgement:?}");
    }
    // What is at least a second is not below one.
    assert!(one("latency.p99 < 500ms", &rows).holds);
    assert!(!one("latency.p99 < 2s", &rows).holds);
}

#[test]
fn requests_cut_off_at_the_end_break_the_limit_that_they_could_have_reached() {
    // Answers take 1 ms to 12 s, all alike; 100 a second are due for 6 s, and the run ends at 8 s: of those due
    // at t only such are answered as take up to 8 s − t. The others are cut off with the time that they had.
    let mut events = Vec::new();
    for seq in 0..600u64 {
        let due = seq * 10 * MS;
        // 7 919 is a prime: delays are spread evenly over 1 ms … 12 s, in no order.
        let takes = (1 + seq * 7_919 % 12_000) * MS;
        let end = 8_000 * MS;
        events.push(match due + takes <= end {
            true => answer(seq, due, due, due + takes),
            false => Event { outcome: Outcome::CutOff, ..answer(seq, due, due, end) },
        });
    }
    let rows = [row_with_unfinished(0, &events)];
    let answered = events.iter().filter(|event| matches!(event.outcome, Outcome::Status(_))).count();
    // ∫ (8 − t) / 12 dt over 6 s is 2.5 of 6: 250 are answered, all of them within 8 s. The true p90 is 10.8 s.
    assert!((200..300).contains(&answered), "{answered}");
    let p90 = one("latency.p90 > 8s", &rows);
    assert!(!p90.holds && p90.is_bound, "{p90:?}");
    assert!(p90.value.is_some_and(|value| value < 8.01e9), "{p90:?}");
    assert!(!one("latency.p90 > 8s in any 1s", &rows).holds);
    assert!(!one("latency.p90 for login > 8s", &rows).holds, "all are of the first name");
    assert!(one("latency.p90 for buy > 8s", &rows).value.is_none());
    // A fifth of all is half of the answers, were none of the others ever answered.
    assert!(one("latency.p20 > 8s", &rows).holds);
}

#[test]
fn what_is_only_possible_ends_no_run() {
    let hang = |s: u64, ms: u64| {
        let due = s * 1_000 * MS;
        let events: Vec<Event> = (0..200)
            .map(|seq| match seq % 10 {
                0 => timed_out(seq, due, ms),
                _ => answer(seq, due, due, due + 10 * MS),
            })
            .collect();
        row_with_unfinished(s, &events)
    };
    let ended = |limit: &str, ms: u64| {
        let rows: Vec<_> = (0..3).map(|s| hang(s, ms)).collect();
        let (aborted, judged) = judged(limits(&[], &[limit]), measuring(0, Some(60)), &rows);
        (aborted.is_some(), judged[0].holds)
    };
    // At least a second each: surely over 500 ms, perhaps over 5 s.
    assert_eq!(ended("latency.p99 > 500ms", 1_000), (true, false));
    assert_eq!(ended("latency.p99 > 5s", 1_000), (false, false));
    assert_eq!(ended("latency.p99 > 5s in any 1s", 1_000), (false, false));
    assert_eq!(ended("latency.p99 < 5s in any 1s", 1_000), (false, false));
    // What surely comes true is worse than what perhaps does.
    let limit = "latency.p99 > 950ms in any 1s";
    let sure = one(limit, &[hang(0, 900), row(1, 100, 960, 0), hang(2, 940)]);
    assert_eq!((sure.holds, sure.is_bound, sure.at), (false, false, Some(Picos::from_secs(2))), "{sure:?}");
    // And what perhaps comes true is worse than what does not.
    let perhaps = one(limit, &[row(0, 100, 700, 0), hang(1, 100)]);
    assert!(!perhaps.holds && perhaps.is_bound && about(perhaps.value, 100e6), "{perhaps:?}");
}

#[test]
fn tare_and_unread_have_limits_of_their_own() {
    // Due at 0, sent at 2 ms, done at 12 ms, of which 3 ms unread: tare 5 ms, net 7 ms.
    let event = |seq| Event { unread: Picos::from_millis(3), ..answer(seq, 0, 2 * MS, 12 * MS) };
    let rows = [row_of(0, &(0..100).map(event).collect::<Vec<_>>())];
    for (limit, ms) in [("net", 7.0), ("tare", 5.0), ("unread", 3.0), ("latency", 12.0)] {
        for window in ["", " in any 1s"] {
            let judgement = one(&format!("{limit}.p99 > 1h{window}"), &rows);
            assert!(judgement.holds && about(judgement.value, ms * 1e6), "{judgement:?}");
        }
    }
}

#[test]
fn windows_have_the_measured_part_of_the_second_in_which_the_warm_up_ends() {
    // The warm-up ends after 1.5 s; a stall of what is measured of that second.
    let rows: Vec<_> = [(0, 0, 0), (50, 900, 50), (100, 10, 0)]
        .into_iter()
        .zip(0..)
        .map(|((answers, ms, failures), s)| row(s, answers, ms, failures))
        .collect();
    let measuring = Measuring { from: Picos::from_millis(1_500), ..measuring(0, Some(3)) };
    let one = |limit: &str| judged(limits(&[limit], &[]), measuring, &rows).1.remove(0);
    let stall = one("latency.p99 > 100ms in any 1s");
    assert!(!stall.holds && about(stall.value, 900e6), "{stall:?}");
    assert!(!one("errors > 40% in any 1s").holds);
    // A rate of half a second, and a sum of it, would be too small.
    assert!(one("achieved < 99/s in any 1s").holds && one("done < 99 in any 1s").holds);
}
