use super::super::ledger::Ledger;
use super::super::outlet::Looks;
use super::*;
use crate::JobControl;
use crate::keeper::{BEGIN_NS, Keeper, TICK_NS, own};
use crate::send::departures::{Ends, Pattern};
use schedule::Share;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use units::{Bytes, EngineCounters, Event, Fate, Outcome, Phase, Rate, Record};
use wire::Template;

type All = (Vec<Event>, HashMap<&'static str, u64>, EngineCounters, u64);

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<All>>);

impl Record for Kept {
    fn event(&mut self, event: &Event) {
        self.0.lock().unwrap().0.push(*event);
    }
    fn missed(&mut self, why: Miss, count: u64) {
        *self.0.lock().unwrap().1.entry(why.key()).or_default() += count;
    }
    fn frames(&mut self, _: Fate, count: u64, _: Bytes) {
        self.0.lock().unwrap().3 += count;
    }
    fn phase(&mut self, _: Phase, _: Picos) {}
    fn tick(&mut self, _: Instant, counters: &EngineCounters) {
        self.0.lock().unwrap().2 = *counters;
    }
}

struct Run {
    when: When,
    room: usize,
    loses_every: u64,
    dies_at: u64,
    is_down_at: u64,
    interrupted_at: u64,
    misses_from: u64,
}

/// The instant that stands for the port's time at the start.
const BEGIN: Instant = Instant::from_picos(5_000_000_000_000);
const ORIGIN: Instant = Instant::from_picos(5_000_200_000_000);

fn even(rate: Rate, frames: u64) -> When {
    let ends = Ends { after: None, frames: Some(frames) };
    When::Due(Departures::new(Pattern::Even(rate), ends, ORIGIN, Share::WHOLE))
}

impl Run {
    fn new(when: When) -> Self {
        let never = u64::MAX;
        Self {
            when,
            room: 8,
            loses_every: 0,
            dies_at: never,
            is_down_at: never,
            interrupted_at: never,
            misses_from: never,
        }
    }

    /// What was recorded, when frames were to leave, and the ledger's control.
    fn go(self) -> (All, Vec<u64>, Arc<JobControl>) {
        let (control, launches, kept) = (Arc::new(JobControl::default()), Arc::default(), Kept::default());
        let mut port = Keeper::new(control.clone());
        (port.room, port.loses_every) = (self.room, self.loses_every);
        (port.dies_at, port.interrupted_at) = (self.dies_at, self.interrupted_at);
        (port.is_down_at, port.misses_from) = (self.is_down_at, self.misses_from);
        port.launches = Arc::clone(&launches);
        let looks = Looks::new(Arc::new(Template::from_frames(vec![vec![0; 60]]).unwrap()));
        let ledger = Ledger::new(Box::new(kept.clone()));
        let context = SenderContext::unwatched(Box::new(port), looks, control.clone(), ledger);
        let clock = OwnClock::new(&own(BEGIN_NS), BEGIN);
        Timed::new(context, TimedSetup { clock, when: self.when, origin: ORIGIN }).run();
        let all = kept.0.lock().unwrap().clone();
        let launches = launches.lock().unwrap().clone();
        (all, launches, control)
    }
}

const SENT: Outcome = Outcome::Frame(Fate::Sent);

#[test]
fn frames_are_handed_over_with_their_times_and_recorded_by_the_ports() {
    // 3 frames in 10 µs: due at floor(n · 10 000 / 3) ns after the origin, which is 200 µs after the beginning.
    let (all, launches, _) = Run::new(even(Rate::new(3, Picos::from_micros(10)).unwrap(), 500)).go();
    let (events, missed, counters, untold) = all;
    for (n, event) in events.iter().enumerate() {
        let after_ns = 200_000 + n as u64 * 10_000 / 3;
        assert_eq!(launches[n], BEGIN_NS + after_ns, "{n}");
        let left = BEGIN + Picos::from_nanos(after_ns.next_multiple_of(TICK_NS));
        assert_eq!((event.seq, event.sent, event.outcome), (n as u64, left, SENT), "{n}");
    }
    assert_eq!((events.len(), missed.len(), untold, counters.late), (500, 0, 0, 0));
    assert_eq!((counters.offered, counters.due), (500, 500));
}

#[test]
fn a_rate_beyond_the_wire_makes_frames_late_and_none_is_lost() {
    let (all, _, _) = Run::new(even(Rate::per_second(2_000_000).unwrap(), 300)).go();
    let (events, missed, counters, _) = all;
    assert_eq!((events.len(), missed.len()), (300, 0));
    // Each takes 172 ns more than its gap.
    let last = events[299];
    let late = last.sent.since(last.due).as_nanos();
    assert!((299 * 172..299 * 172 + 8).contains(&late), "{late}");
    assert!(counters.late > 290, "{}", counters.late);
}

#[test]
fn departures_of_which_nobody_told_are_in_the_totals_and_in_no_figure_of_time() {
    let mut run = Run::new(even(Rate::per_second(10_000).unwrap(), 100));
    run.loses_every = 10;
    let ((events, missed, counters, untold), ..) = run.go();
    assert_eq!((events.len(), untold, missed.len(), counters.offered), (90, 10, 0, 100));
    // Those that were told are not taken for others.
    assert!(events.iter().all(|event| event.sent.since(event.due) < Picos::from_nanos(TICK_NS)));
    assert!(events.iter().all(|event| event.seq % 10 != 9));
}

#[test]
fn as_fast_as_it_goes_ends_by_count_or_by_the_ports_time() {
    let ((events, _, counters, sent), launches, _) = Run::new(When::AtOnce { frames: 77, end: None }).go();
    assert_eq!((events.len(), sent, counters.offered), (0, 77, 77));
    assert!(launches.iter().all(|launch| *launch == 0));
    let end = Some(Picos::from_micros(672));
    let ((_, _, _, sent), ..) = Run::new(When::AtOnce { frames: u64::MAX, end }).go();
    // The first leaves before the origin: 200 µs and 672 µs are 1 297 frames; what was handed over by then
    // leaves, too.
    assert!((1_297..1_297 + 8 + 64 + 2).contains(&sent), "{sent}");
}

#[test]
fn after_ctrl_c_what_was_not_due_was_never_offered() {
    let mut run = Run::new(even(Rate::per_second(1_000).unwrap(), 10_000));
    run.interrupted_at = 41;
    let ((events, missed, counters, _), _, control) = run.go();
    assert!(control.stops());
    assert_eq!(events.len() as u64 + missed.values().sum::<u64>(), counters.due);
    assert!((42..=44).contains(&counters.due), "{}", counters.due);
}

#[test]
fn what_left_while_the_wire_had_no_link_has_failed() {
    let mut run = Run::new(even(Rate::per_second(1_000).unwrap(), 50));
    run.is_down_at = 20;
    let ((events, ..), _, control) = run.go();
    assert_eq!(control.halt(), Halt::No);
    let outcomes: Vec<Outcome> = events.iter().map(|event| event.outcome).collect();
    let expected = [vec![SENT; 20], vec![Outcome::Failed(Cause::LinkDown); 30]].concat();
    assert_eq!(outcomes, expected);
}

#[test]
fn what_was_too_late_for_its_launch_time_has_failed_at_its_own_departure() {
    let mut run = Run::new(even(Rate::per_second(1_000).unwrap(), 50));
    (run.misses_from, run.loses_every) = (20, 10);
    let ((events, missed, counters, untold), _, control) = run.go();
    assert_eq!((control.halt(), missed.len(), counters.offered), (Halt::No, 0, 50));
    let failed: Vec<u64> =
        events.iter().filter(|event| event.outcome != SENT).map(|event| event.seq).collect();
    // Of the two that nobody told of, none is taken for one that was dropped behind it.
    assert_eq!((failed, untold), ((20..50).collect(), 2));
    let late = events.iter().filter(|event| event.outcome == Outcome::Failed(Cause::PortLate)).count();
    assert_eq!(late, 30);
}

#[test]
fn a_port_that_is_gone_ends_the_run_and_everything_has_an_outcome() {
    let mut run = Run::new(even(Rate::per_second(1_000).unwrap(), 50));
    run.dies_at = 20;
    let ((events, missed, counters, _), _, control) = run.go();
    assert_eq!(control.halt(), Halt::Failed);
    assert!(control.why().unwrap().contains("keeper"));
    let failed = events.iter().filter(|event| matches!(event.outcome, Outcome::Failed(_))).count();
    assert_eq!(failed, 1);
    assert_eq!(events.len() as u64 + missed.values().sum::<u64>(), counters.due);
}
