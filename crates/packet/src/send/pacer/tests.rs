use super::super::ledger::Ledger;
use super::super::outlet::Looks;
use super::*;
use crate::JobControl;
use crate::send::departures::Departures;
use crate::send::departures::{Cycle, Ends, Pattern};
use clock::Clock;
use port::{Abilities, About, Counters, Frame, Slot};
use port::{For, Port};
use schedule::Share;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use units::Miss;
use units::{Bytes, Cause, EngineCounters, Event, Fate, Outcome, Phase, Rate, Record};
use wire::Template;
use wire::template::Changes;

/// A clock that goes on by 20 ns with each look, and jumps when it is slept by. All who share it see the same
/// time.
#[derive(Clone, Default)]
struct Fake(Arc<AtomicU64>);

impl Clock for Fake {
    fn now(&self) -> Instant {
        Instant::from_picos(self.0.fetch_add(20_000, Ordering::Relaxed))
    }
}

impl Timer for Fake {
    fn sleep_until(&self, due: Instant) {
        self.0.fetch_max(due.since_epoch().as_picos(), Ordering::Relaxed);
    }
}

impl Fake {
    fn pass(&self, time: Picos) {
        self.0.fetch_add(time.as_picos(), Ordering::Relaxed);
    }
}

/// What happens when a frame is handed over.
#[derive(Clone, Copy, Debug)]
enum Trick {
    /// The hand-over takes so long.
    Takes(Picos),
    Down,
    Gone,
    TooLong,
}

/// A port that takes everything, or nothing, and has tricks; it counts calls and remembers when frames left.
struct Toy {
    about: About,
    counters: Counters,
    timer: Fake,
    room: Vec<u8>,
    mark: u64,
    tricks: HashMap<u64, Trick>,
    takes: bool,
    left: Arc<Mutex<Vec<Vec<Instant>>>>,
    /// Numbers in signatures.
    numbers: Arc<Mutex<Vec<u64>>>,
}

impl Port for Toy {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        self.counters.calls += 1;
        if !self.takes {
            self.counters.full += 1;
            return Ok(0);
        }
        let mut left = Vec::new();
        for index in 0..most {
            let trick = self.tricks.remove(&self.counters.sent);
            let interface = "toy0".to_owned();
            let error = match trick {
                Some(Trick::Down) => Some(PortError::Down { interface }),
                Some(Trick::Gone) => Some(PortError::Gone { interface }),
                Some(Trick::TooLong) => {
                    Some(PortError::TooLong { port: interface, length: 9_000, longest: 1_514 })
                }
                Some(Trick::Takes(time)) => {
                    self.timer.pass(time);
                    None
                }
                None => None,
            };
            if let Some(error) = error {
                assert_eq!(index, 0, "tricks are played on the first frame of a call");
                return Err(error);
            }
            let mut slot =
                Slot { data: &mut self.room, length: 0, launch: port::Stamp::NONE, mark: &mut self.mark };
            write(&mut slot);
            let signed = wire::Signature::read(&slot.data[ETHERNET..]);
            self.numbers.lock().unwrap().extend(signed.map(|signature| signature.seq));
            self.counters.sent += 1;
            self.counters.sent_bytes += slot.length as u64;
            left.push(self.timer.now());
        }
        self.left.lock().unwrap().push(left);
        Ok(most)
    }

    fn receive(&mut self, _: usize, _: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        Ok(0)
    }

    fn flush(&mut self, _: Picos) -> Result<bool, PortError> {
        Ok(true)
    }

    fn wait(&mut self, _: For, patience: Picos) -> Result<bool, PortError> {
        self.timer.pass(patience);
        Ok(self.takes)
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        Ok(&self.counters)
    }
}

/// Everything that was recorded.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<All>>);

/// Events, bulk counts by their key, and the last counters.
type All = (Vec<Event>, HashMap<&'static str, u64>, EngineCounters);

impl Record for Kept {
    fn event(&mut self, event: &Event) {
        self.0.lock().unwrap().0.push(*event);
    }
    fn missed(&mut self, why: Miss, count: u64) {
        *self.0.lock().unwrap().1.entry(why.key()).or_default() += count;
    }
    fn frames(&mut self, _: Fate, _: u64, _: Bytes) {}
    fn phase(&mut self, _: Phase, _: Picos) {}
    fn tick(&mut self, _: Instant, counters: &EngineCounters) {
        let known = &mut self.0.lock().unwrap().2;
        assert!(counters.due >= known.due, "rows add up to the total: {} after {}", counters.due, known.due);
        *known = *counters;
    }
}

/// A run and what came of it.
struct Run {
    pattern: Pattern,
    ends: Ends,
    tricks: HashMap<u64, Trick>,
    takes: bool,
    relative: bool,
    signed: bool,
    spin: Spin,
    control: Arc<JobControl>,
}

struct Outcomes {
    events: Vec<Event>,
    missed: HashMap<&'static str, u64>,
    counters: EngineCounters,
    calls: Vec<Vec<Instant>>,
    numbers: Vec<u64>,
    control: Arc<JobControl>,
}

/// Where the payload of the frames begins.
const ETHERNET: usize = 14;
const ORIGIN: Instant = Instant::from_picos(1_000_000_000_000);

impl Run {
    fn of(per_second: u64, millis: u64) -> Self {
        Self {
            pattern: Pattern::Even(Rate::per_second(per_second).unwrap()),
            ends: Ends { after: Some(Picos::from_millis(millis)), frames: None },
            tricks: HashMap::new(),
            takes: true,
            relative: false,
            signed: false,
            spin: Spin::Auto,
            control: Arc::new(JobControl::default()),
        }
    }

    fn trick(mut self, frame: u64, trick: Trick) -> Self {
        self.tricks.insert(frame, trick);
        self
    }

    fn go(self) -> Outcomes {
        let (timer, left, kept) = (Fake::default(), Arc::new(Mutex::new(Vec::new())), Kept::default());
        let numbers = Arc::new(Mutex::new(Vec::new()));
        timer.sleep_until(ORIGIN.saturating_sub(Picos::from_millis(1)));
        let can = Abilities { transmit: true, batch: 64, ..Abilities::default() };
        let about = About { name: "toy:toy0".to_owned(), can, longest: 1_514, ..About::default() };
        let port = Toy {
            about,
            counters: Counters::default(),
            timer: timer.clone(),
            room: vec![0; 2_048],
            mark: 0,
            tricks: self.tricks,
            takes: self.takes,
            left: left.clone(),
            numbers: numbers.clone(),
        };
        let changes = Changes { sign: self.signed, ..Changes::default() };
        let template = Template::from_frames_with(vec![vec![0; 60]], &changes).unwrap();
        let ledger = Ledger::new(Box::new(kept.clone()));
        let (port, looks) = (Box::new(port), Looks::new(Arc::new(template)));
        let context = SenderContext::unwatched(port, looks, self.control.clone(), ledger);
        let setup = PacerSetup {
            timer,
            departures: Departures::new(self.pattern, self.ends, ORIGIN, Share::WHOLE).into(),
            end: self.ends.after.map_or(Instant::FAR, |after| ORIGIN + after),
            spin: self.spin,
            relative: self.relative,
            may_turn: true,
        };
        Pacer::new(context, setup).run();
        let (events, missed, counters) = kept.0.lock().unwrap().clone();
        let calls = left.lock().unwrap().clone();
        let numbers = numbers.lock().unwrap().clone();
        Outcomes { events, missed, counters, calls, numbers, control: self.control }
    }
}

impl Outcomes {
    fn with(&self, outcome: Outcome) -> usize {
        self.events.iter().filter(|event| event.outcome == outcome).count()
    }

    /// Every departure has one outcome.
    fn adds_up(&self) {
        assert_eq!(self.counters.offered, self.events.len() as u64);
        assert_eq!(self.counters.due, self.counters.offered + self.missed.values().sum::<u64>());
    }
}

const SENT: Outcome = Outcome::Frame(Fate::Sent);

#[test]
fn each_frame_leaves_at_its_time() {
    for spin in [Spin::Auto, Spin::Always, Spin::Never] {
        let run = Run { spin, ..Run::of(10_000, 50) }.go();
        assert_eq!((run.with(SENT), run.calls.len()), (500, 500), "{spin:?}");
        for (n, event) in run.events.iter().enumerate() {
            assert_eq!(event.due, ORIGIN + Picos::from_micros(100 * n as u64));
            // Two looks at the clock, 20 ns each.
            assert!(event.lateness().unwrap() <= Picos::from_nanos(100), "{spin:?} {n}");
        }
        assert_eq!(run.counters.late, 0);
        run.adds_up();
    }
}

#[test]
fn what_is_late_leaves_at_once_together_and_is_counted() {
    // One each 10 µs; the hand-over of frame 20 begins when 19 has left, at 190 µs, and takes 95: at 285 µs 21
    // to 28 are due, and leave in one call. 20 itself is 85 µs late, 27 is 15, and 28 with its 5 µs has less
    // than a gap: eight are late.
    let run = Run::of(100_000, 5).trick(20, Trick::Takes(Picos::from_micros(95))).go();
    assert_eq!(run.with(SENT), 500);
    let together: Vec<usize> = run.calls.iter().map(Vec::len).filter(|count| *count > 1).collect();
    assert_eq!(together, [8]);
    assert_eq!(run.counters.late, 8);
    run.adds_up();
}

#[test]
fn relative_departures_count_from_the_last() {
    // 100 µs apart; the hand-over of frame 5 begins at 400 µs and takes 950, so that it leaves 850 µs late.
    // Absolute: the schedule is caught up with; relative: all after it come later.
    let left = |relative| {
        let run =
            Run { relative, ..Run::of(10_000, 10) }.trick(5, Trick::Takes(Picos::from_micros(950))).go();
        run.adds_up();
        run.events.iter().map(|event| event.sent.since(ORIGIN).as_nanos() / 1_000).collect::<Vec<_>>()
    };
    let (absolute, relative) = (left(false), left(true));
    assert_eq!(absolute[20], 2_000);
    assert_eq!(absolute.len(), 100);
    // From frame 5 on 100 µs each: frame n leaves at n · 100 + 850 µs, so that frame 91 is the last before 10
    // ms.
    let gaps: Vec<u64> = relative.windows(2).map(|pair| pair[1] - pair[0]).skip(5).collect();
    assert!(gaps.iter().all(|gap| (100..=101).contains(gap)), "{gaps:?}");
    assert_eq!(relative.len(), 92);
    // No due time tells how long the thread stood still.
    let stopped = |relative| {
        let run = Run { relative, ..Run::of(1_000, 100) }.trick(5, Trick::Takes(Picos::from_millis(40)));
        let counters = run.go().counters;
        (counters.pauses, counters.paused.as_nanos().div_ceil(1_000_000))
    };
    assert_eq!((stopped(true), stopped(false)), ((1, 40), (0, 0)));
}

#[test]
fn a_port_that_takes_nothing_leaves_everything_missed() {
    let run = Run { takes: false, ..Run::of(10_000, 20) }.go();
    assert_eq!(run.events.len(), 0);
    assert_eq!(run.missed, HashMap::from([("missed.port_full", 200)]));
    run.adds_up();
}

#[test]
fn a_link_that_is_down_fails_frames_and_comes_back() {
    let run = Run::of(10_000, 10).trick(10, Trick::Down).go();
    assert_eq!((run.with(Outcome::Failed(Cause::LinkDown)), run.with(SENT)), (1, 99));
    assert_eq!(run.control.halt(), Halt::No);
    let run = Run::of(10_000, 10).trick(3, Trick::TooLong).go();
    assert_eq!((run.with(Outcome::Failed(Cause::FrameTooLong)), run.with(SENT)), (1, 99));
    run.adds_up();
}

#[test]
fn an_interface_that_goes_away_ends_the_run_with_everything_counted() {
    let run = Run::of(10_000, 10).trick(40, Trick::Gone).go();
    assert_eq!((run.with(Outcome::Failed(Cause::LinkDown)), run.with(SENT)), (1, 40));
    assert_eq!(run.control.why().unwrap(), "the interface 'toy0' is gone");
    // What was not due yet was never offered.
    assert_eq!(run.missed.values().sum::<u64>(), 0);
    run.adds_up();
}

#[test]
fn a_rate_is_changed_and_the_load_paused_at_their_times() {
    // 1 000/s; asked for at −40 ms: 2 000/s from 10 ms on. 0 … 9 ms: 10; 10 … 100 ms: 180.
    let run = Run::of(1_000, 100);
    let asked = ORIGIN.saturating_sub(Picos::from_millis(40));
    run.control.change(Action::Rate(Rate::per_second(2_000).unwrap()), asked).unwrap();
    let run = run.go();
    assert_eq!(run.with(SENT), 190);
    let gap = |n: usize| run.events[n + 1].due.since(run.events[n].due);
    assert_eq!((gap(8), gap(10)), (Picos::from_millis(1), Picos::from_micros(500)));
    run.adds_up();
    // Paused from 10 ms to 60 ms: 10 + 40.
    let run = Run::of(1_000, 100);
    run.control.change(Action::Pause, asked).unwrap();
    run.control.change(Action::Resume, asked + Picos::from_millis(50)).unwrap();
    let run = run.go();
    assert_eq!(run.with(SENT), 50);
    run.adds_up();
}

/// Frames that left from `from` after the origin on, and what was missed; the load is 100 times what the port
/// takes.
fn behind_then(actions: &[(u64, Action)], from: u64) -> (usize, u64) {
    // 20 µs for each frame: 50 000/s at most, of 5 million.
    let tricks = (0..20_000).map(|frame| (frame, Trick::Takes(Picos::from_micros(20)))).collect();
    let run = Run { tricks, ..Run::of(5_000_000, 300) };
    for (millis, action) in actions {
        run.control.change(*action, ORIGIN + Picos::from_millis(millis - 50)).unwrap();
    }
    let run = run.go();
    run.adds_up();
    let from = ORIGIN + Picos::from_millis(from);
    let after = run.calls.iter().flatten().filter(|left| **left >= from).count();
    (after, run.missed.values().sum())
}

#[test]
fn a_load_that_is_behind_is_silent_once_it_is_paused() {
    // Paused at 100 ms, when 500 000 were due and about 5 000 had left.
    let (after, missed) = behind_then(&[(100, Action::Pause)], 115);
    assert_eq!(after, 0);
    assert!((490_000..500_000).contains(&missed), "{missed}");
}

#[test]
fn a_load_that_is_behind_is_slow_once_it_is_set_so() {
    // 1 000/s from 100 ms on: 200 more until 300 ms, and none of what was owed. From 115 ms on it is on time.
    let slow = Action::Rate(Rate::per_second(1_000).unwrap());
    let (after, missed) = behind_then(&[(100, slow)], 115);
    assert!((180..=186).contains(&after), "{after}");
    assert!((490_000..500_000).contains(&missed), "{missed}");
    // Paused and resumed: what was owed before the pause does not come after it.
    let actions = [(100, Action::Pause), (200, Action::Resume), (200, slow)];
    let (after, _) = behind_then(&actions, 115);
    assert!((95..=101).contains(&after), "{after}");
}

/// Where a receiver in another program sees a number missing, a frame was lost.
#[test]
fn what_is_given_up_has_no_number() {
    let tricks = (0..20_000).map(|frame| (frame, Trick::Takes(Picos::from_micros(20)))).collect();
    let run = Run { tricks, signed: true, ..Run::of(5_000_000, 300) };
    let slow = Action::Rate(Rate::per_second(1_000).unwrap());
    let ask = |action, millis: u64| run.control.change(action, ORIGIN + Picos::from_millis(millis)).unwrap();
    let (paused, resumed, slowed) = (ask(Action::Pause, 50), ask(Action::Resume, 100), ask(slow, 100));
    let run = run.go();
    run.adds_up();
    assert!(run.missed.values().sum::<u64>() > 480_000, "{:?}", run.missed);
    let left = run.with(SENT) as u64;
    assert!(run.numbers.iter().copied().eq(0..left), "{left}");
    // The first number behind each change, as the result tells it: all after the pause left from 150 ms on.
    let before =
        run.events.iter().filter(|event| event.due < ORIGIN + Picos::from_millis(150)).count() as u64;
    let firsts = [paused, resumed, slowed].map(|change| run.control.first_of(&change));
    assert_eq!(firsts, [Some(before); 3]);
}

#[test]
fn numbers_that_were_given_up_are_known() {
    // 3, 7, 11, 15 of a share of four: below 11 are two.
    let given_up = GivenUp { first: 3, count: 4, stride: 4 };
    assert_eq!([0, 3, 4, 11, 12, 99].map(|end| given_up.below(end)), [0, 0, 1, 2, 3, 4]);
}

#[test]
fn a_relative_load_misses_nothing_when_it_is_changed() {
    let tricks = (0..20_000).map(|frame| (frame, Trick::Takes(Picos::from_micros(20)))).collect();
    let run = Run { tricks, relative: true, ..Run::of(5_000_000, 300) };
    run.control.change(Action::Pause, ORIGIN + Picos::from_millis(50)).unwrap();
    let run = run.go();
    run.adds_up();
    assert_eq!(run.missed.values().sum::<u64>(), 0);
    let paused = ORIGIN + Picos::from_millis(101);
    assert!(run.calls.iter().flatten().all(|left| *left < paused));
}

#[test]
fn gap_lists_are_kept_over_rounds() {
    let cycle = Cycle::of_gaps(&[2, 5, 13].map(Picos::from_micros)).unwrap();
    let ends = Ends { after: None, frames: Some(7) };
    let run = Run { pattern: Pattern::Cycle(cycle), ends, ..Run::of(1, 1) }.go();
    let dues: Vec<u64> = run.events.iter().map(|event| event.due.since(ORIGIN).as_nanos() / 1_000).collect();
    assert_eq!(dues, [0, 2, 7, 20, 22, 27, 40]);
    run.adds_up();
}

#[test]
fn a_run_that_is_interrupted_owes_only_what_was_due() {
    let run = Run::of(10_000, 10);
    run.control.interrupt();
    let run = run.go();
    // It is halted before the origin: nothing was due.
    assert_eq!((run.events.len(), run.missed.values().sum::<u64>(), run.counters.due), (0, 0, 0));
}
