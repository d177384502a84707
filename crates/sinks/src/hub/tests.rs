//! Sinks that are slow, down or that refuse; every row and event ends as exactly one of arrived and lost.

use super::*;
use crate::exporter::Gone;
use measure::{Collector, Recorder, Settings, taps};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::Instant;
use units::{Bytes, EngineCounters, Event, Group, Instant as RunInstant, Outcome, Picos, Record};

/// What a sink was given, and how it behaves.
#[derive(Default)]
struct Script {
    /// Answers to `begin`, one after the other, then `Ok`.
    begins: Mutex<Vec<SinkError>>,
    /// Answers to `interval`, by call, then `Ok`.
    rows: Mutex<Vec<SinkError>>,
    slow: Duration,
    flush: Option<SinkError>,
    end: Option<SinkError>,
    gone: AtomicU64,
    seen_rows: Mutex<Vec<u64>>,
    seen_events: Mutex<Vec<u64>>,
    started: AtomicU64,
    ended: AtomicU64,
}

struct Scripted(Arc<Script>);

fn next(from: &Mutex<Vec<SinkError>>) -> Result<(), SinkError> {
    let mut answers = from.lock().unwrap();
    if answers.is_empty() { Ok(()) } else { Err(answers.remove(0)) }
}

impl Exporter for Scripted {
    fn begin(&mut self, _run: &RunInfo) -> Result<(), SinkError> {
        next(&self.0.begins)
    }
    fn start(&mut self, origin_unix_ns: u64) {
        self.0.started.store(origin_unix_ns, Ordering::SeqCst);
    }
    fn interval(&mut self, row: &SinkRow) -> Result<(), SinkError> {
        std::thread::sleep(self.0.slow);
        next(&self.0.rows)?;
        self.0.seen_rows.lock().unwrap().push(row.index);
        Ok(())
    }
    fn wants_events(&self) -> bool {
        true
    }
    fn events(&mut self, _thread: u16, events: &[Event]) -> Result<(), SinkError> {
        std::thread::sleep(self.0.slow);
        self.0.seen_events.lock().unwrap().extend(events.iter().map(|event| event.seq));
        Ok(())
    }
    fn flush(&mut self) -> Result<(), SinkError> {
        self.0.flush.clone().map_or(Ok(()), Err)
    }
    fn gone(&mut self) -> Gone {
        Gone { rows: self.0.gone.swap(0, Ordering::SeqCst), events: 0, why: "it forgot".into() }
    }
    fn end(&mut self, _result: &RunResult) -> Result<(), SinkError> {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
        self.0.end.clone().map_or(Ok(()), Err)
    }
}

fn refused(problem: &str) -> SinkError {
    SinkError::Refused { sink: "sink".into(), problem: problem.into() }
}

fn unreachable(problem: &str) -> SinkError {
    SinkError::Unreachable { sink: "sink".into(), problem: problem.into() }
}

fn hub(scripts: &[&Arc<Script>]) -> Hub {
    let run = Arc::new(RunInfo::default());
    let begin =
        |script: &&Arc<Script>| Sink::begin("sink", Box::new(Scripted((*script).clone())), run.clone());
    Hub { sinks: scripts.iter().map(begin).collect(), warnings: Vec::new(), distributor: None }
}

/// Rows 0 to `count` − 1 of a run without requests.
fn rows(count: u64) -> Vec<IntervalRow> {
    let origin = RunInstant::EPOCH;
    let (mut collector, mut recorders): (Collector, Vec<Recorder>) =
        measure::recorders(Settings::from_origin(origin));
    let mut rows = Vec::new();
    for second in 1..=count {
        let now = origin + Picos::from_secs(second);
        recorders[0].tick(now, &EngineCounters::default());
        collector.poll(now, &mut |row: &IntervalRow| rows.push(row.clone()));
    }
    rows
}

fn row_of(rows: &[IntervalRow], index: u64) -> IntervalRow {
    IntervalRow { index, ..rows[0].clone() }
}

const SOON: Duration = Duration::from_millis(300);

#[test]
fn everything_arrives_in_order_and_is_counted() {
    let script = Arc::new(Script::default());
    let mut hub = hub(&[&script]);
    hub.start(7);
    let rows = rows(3);
    (0..3).for_each(|index| hub.row(&row_of(&rows, index)));
    let statuses = hub.end_rows(SOON);
    assert_eq!((statuses[0].rows, statuses[0].rows_lost, statuses[0].trouble.as_str()), (3, 0, ""));
    assert_eq!(*script.seen_rows.lock().unwrap(), [0, 1, 2]);
    assert_eq!(script.started.load(Ordering::SeqCst), 7);
    hub.finish(&RunResult::default());
    assert_eq!(script.ended.load(Ordering::SeqCst), 1);
}

#[test]
fn a_slow_sink_never_holds_the_run_up_and_what_it_lost_is_counted() {
    let script = Arc::new(Script { slow: Duration::from_millis(100), ..Script::default() });
    let mut hub = hub(&[&script]);
    hub.start(0);
    let rows = rows(1);
    let begun = Instant::now();
    (0..200).for_each(|index| hub.row(&row_of(&rows, index)));
    assert!(
        begun.elapsed() < Duration::from_millis(90),
        "offering waits for the sink: {:?}",
        begun.elapsed()
    );
    let status = hub.end_rows(SOON).remove(0);
    assert_eq!(status.rows + status.rows_lost, 200);
    assert!(status.rows_lost >= 200 - 64 - 10, "{status:?}");
    assert!(status.trouble.contains("too slow"), "{status:?}");
}

#[test]
fn what_nobody_answers_to_is_tried_again_and_what_is_refused_is_lost() {
    let script = Arc::new(Script::default());
    *script.begins.lock().unwrap() = vec![unreachable("down"), unreachable("still down")];
    *script.rows.lock().unwrap() = vec![unreachable("gone"), unreachable("gone"), refused("full")];
    let mut hub = hub(&[&script]);
    assert_eq!(hub.sinks[0].queue.begun(SOON), Begun::Failed(unreachable("down")));
    hub.start(0);
    let rows = rows(1);
    (0..3).for_each(|index| hub.row(&row_of(&rows, index)));
    let status = hub.end_rows(Duration::from_secs(5)).remove(0);
    // Row 0 is refused at its third attempt; 1 and 2 arrive.
    assert_eq!((status.rows, status.rows_lost, status.trouble.as_str()), (2, 1, "down"));
    assert_eq!(*script.seen_rows.lock().unwrap(), [1, 2]);
}

#[test]
fn a_sink_that_never_begins_loses_everything_and_the_run_ends_in_time() {
    let forever = Arc::new(Script::default());
    *forever.begins.lock().unwrap() = vec![unreachable("down"); 1_000];
    let never = Arc::new(Script::default());
    *never.begins.lock().unwrap() = vec![refused("wrong password")];
    let mut hub = hub(&[&forever, &never]);
    hub.start(0);
    let rows = rows(1);
    (0..3).for_each(|index| hub.row(&row_of(&rows, index)));
    let begun = Instant::now();
    let statuses = hub.end_rows(SOON);
    let finished = hub.finish(&RunResult::default());
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert_eq!(statuses, finished);
    for (status, trouble) in statuses.iter().zip(["down", "wrong password"]) {
        assert_eq!((status.rows, status.rows_lost, status.trouble.as_str()), (0, 3, trouble));
    }
}

#[test]
fn a_flush_that_fails_takes_everything_back() {
    let script = Arc::new(Script { flush: Some(refused("no footer")), ..Script::default() });
    let forgets = Arc::new(Script { gone: AtomicU64::new(2), ..Script::default() });
    let mut hub = hub(&[&script, &forgets]);
    hub.start(0);
    let rows = rows(1);
    (0..5).for_each(|index| hub.row(&row_of(&rows, index)));
    let statuses = hub.end_rows(Duration::from_secs(5));
    assert_eq!((statuses[0].rows, statuses[0].rows_lost, statuses[0].trouble.as_str()), (0, 5, "no footer"));
    // Never more than had arrived, and all five are accounted for.
    assert_eq!(statuses[1].rows + statuses[1].rows_lost, 5);
    assert_eq!((statuses[1].rows_lost >= 1, statuses[1].trouble.as_str()), (true, "it forgot"));
}

#[test]
fn a_result_that_does_not_arrive_is_told() {
    let script = Arc::new(Script { end: Some(refused("full")), ..Script::default() });
    let mut hub = hub(&[&script]);
    hub.start(0);
    assert_eq!(hub.end_rows(SOON)[0].trouble, "");
    assert_eq!(hub.finish(&RunResult::default())[0].trouble, "full");
}

fn event(seq: u64) -> Event {
    let at = |nanos| RunInstant::EPOCH + Picos::from_nanos(seq * 1_000 + nanos);
    Event {
        seq,
        due: at(0),
        sent: at(100),
        first_byte: at(200),
        done: at(300),
        bytes_out: Bytes::new(60),
        bytes_in: Bytes::new(600),
        outcome: Outcome::Status(200),
        blocked: Picos::ZERO,
        unread: Picos::ZERO,
        unread_bound: Picos::ZERO,
        group: Group(0),
    }
}

#[test]
fn single_events_go_to_every_sink_that_wants_them() {
    let (one, other) = (Arc::new(Script::default()), Arc::new(Script::default()));
    let mut hub = hub(&[&one, &other]);
    hub.start(0);
    let (_, recorders) = measure::recorders(Settings::from_origin(RunInstant::EPOCH));
    let (mut tapped, batches) = taps(recorders, RunInstant::EPOCH);
    hub.batches(batches);
    (0..20_000).for_each(|seq| tapped[0].event(&event(seq)));
    drop(tapped);
    let statuses = hub.end_rows(Duration::from_secs(5));
    for (script, status) in [one, other].iter().zip(statuses) {
        assert_eq!((status.events, status.events_lost), (20_000, 0));
        assert!(script.seen_events.lock().unwrap().iter().copied().eq(0..20_000));
    }
}

#[test]
fn two_sinks_do_not_write_into_one_file() {
    let place = |text: &str| Place::parse(text).unwrap();
    let open = |texts: [&str; 2]| Hub::open(&texts.map(place), RunInfo::default()).err().unwrap().to_string();
    assert!(open(["csv:-", "jsonl:-"]).contains("standard output is taken"));
    assert!(open(["csv:/tmp/a", "jsonl:/tmp/a"]).contains("this file is taken"));
}
