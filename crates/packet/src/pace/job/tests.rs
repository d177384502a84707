//! Pacing over memory: what goes in on one side comes out on the other at its time, and answers come back.

use super::*;
use crate::keeper::{BEGIN_NS, Keeper, TICK_NS};
use port::mem;
use std::time::Duration;
use units::Priority;
use units::{Bytes, EngineCounters, Event, Fate, Miss, Outcome, Phase, Record};

#[derive(Clone, Default)]
struct Tally(Arc<Mutex<Counted>>);

#[derive(Clone, Debug, Default)]
struct Counted {
    events: Vec<Event>,
    offered: u64,
    late: u64,
    spun: Picos,
}

impl Record for Tally {
    fn event(&mut self, event: &Event) {
        self.0.lock().unwrap().events.push(*event);
    }
    fn missed(&mut self, _: Miss, _: u64) {}
    fn frames(&mut self, fate: Fate, count: u64, _: Bytes) {
        panic!("{count} frames {fate:?} that are no departures of the pace");
    }
    fn phase(&mut self, _: Phase, _: Picos) {}
    fn tick(&mut self, _: Instant, counters: &EngineCounters) {
        let mut counted = self.0.lock().unwrap();
        (counted.offered, counted.late, counted.spun) = (counters.offered, counters.late, counters.spun);
    }
}

struct Bench {
    host: mem::End,
    target: mem::End,
    running: Running,
    control: Arc<JobControl>,
    tally: Tally,
    clock: HostClock,
}

fn bench(pace: Pace, length: Picos) -> Bench {
    let clock = HostClock::calibrate();
    let (host, input) = mem::pair(512, 2_048);
    let (output, target) = mem::pair(512, 2_048);
    let settings = Settings {
        input: "mem:in".parse().unwrap(),
        output: "mem:out".parse().unwrap(),
        pace,
        is_relative: false,
        length: Some(length),
        cpus: Vec::new(),
        priority: Priority::Normal,
        has_valve: false,
    };
    let (input, output) = (End::shared(Box::new(input)), End::shared(Box::new(output)));
    let job = Box::new(PaceJob::between(settings, clock, input, output).unwrap());
    let tally = Tally::default();
    let control = Arc::new(JobControl::default());
    let mut make = |_| vec![Box::new(tally.clone()) as Box<dyn Record + Send>];
    let running = job.start(control.clone(), &mut make).unwrap();
    Bench { host, target, running, control, tally, clock }
}

fn send(port: &mut dyn Port, frames: impl IntoIterator<Item = Vec<u8>>) {
    for frame in frames {
        let write = &mut |slot: &mut port::Slot<'_>| {
            slot.data[..frame.len()].copy_from_slice(&frame);
            slot.length = frame.len();
        };
        assert_eq!(port.transmit(1, write).unwrap(), 1);
    }
}

/// Receives `count` frames with the times at which they came, within two seconds.
fn receive(port: &mut dyn Port, count: usize, clock: HostClock) -> Vec<(Vec<u8>, Instant)> {
    let mut frames = Vec::new();
    let until = clock.now() + Picos::from_secs(2);
    while frames.len() < count && clock.now() < until {
        let now = clock.now();
        port.receive(1, &mut |frame| frames.push((frame.data.to_vec(), now))).unwrap();
    }
    frames
}

fn frame(n: usize) -> Vec<u8> {
    let mut frame = vec![0; 60 + n % 100];
    frame[0] = n as u8;
    frame
}

#[test]
fn a_port_that_keeps_its_own_time_gets_frames_with_their_times() {
    // Where this machine stands still for longer than the port's queue lasts, frames are handed over after they
    // would have been due.
    assert!((0..5).any(|_| times_of_a_port_are_exact()), "due times are exact");
}

/// Everything else is asserted in each run.
fn times_of_a_port_are_exact() -> bool {
    let clock = HostClock::calibrate();
    let (mut host, input) = mem::pair(512, 2_048);
    let control = Arc::new(JobControl::default());
    let keeper = Keeper::new(control.clone());
    let launches = keeper.launches.clone();
    let (input, output) = (End::shared(Box::new(input)), End::shared(Box::new(keeper)));
    let settings = Settings {
        input: "mem:in".parse().unwrap(),
        output: "mem:out".parse().unwrap(),
        pace: Pace::Frames(Rate::new(3, Picos::from_micros(100)).unwrap()),
        is_relative: false,
        length: Some(Picos::from_millis(700)),
        cpus: Vec::new(),
        priority: Priority::Normal,
        has_valve: false,
    };
    let job = Box::new(PaceJob::between(settings, clock, input, output).unwrap());
    let time = job.facts().time.unwrap();
    assert_eq!((time.simulated, time.tick_ps), (true, TICK_NS * 1_000));
    assert_eq!(job.facts().length, None, "a simulation's times do not go by this host's clock");
    let tally = Tally::default();
    let mut make = |_| vec![Box::new(tally.clone()) as Box<dyn Record + Send>];
    send(&mut host, (0..300).map(frame));
    let running = job.start(control.clone(), &mut make).unwrap();
    let findings = running.join();
    let out = tally.0.lock().unwrap().clone();
    assert_eq!((out.offered, out.events.len(), out.late), (300, 300, 0));
    assert!(out.events.iter().all(|event| event.outcome == Outcome::Frame(Fate::Sent)));
    // Every frame is due floor(n · 100 µs / 3) after the first, and leaves in that step of the port's clock.
    let launches = launches.lock().unwrap().clone();
    let first = out.events[0].due;
    assert!(launches[0] > BEGIN_NS);
    for (n, event) in out.events.iter().enumerate() {
        let after = Picos::from_picos(n as u64 * 100_000_000 / 3);
        if event.due.since(first) > after {
            return false;
        }
        assert_eq!(event.due.since(first), after, "{n}");
        assert!(event.sent.since(event.due) < Picos::from_nanos(TICK_NS), "{n}");
        // Launch times are whole nanoseconds, and the first is not a round one.
        assert!((launches[n] - launches[0]).abs_diff(after.as_nanos()) <= 1, "{n}");
    }
    let gaps = findings.report.gaps.unwrap();
    assert_eq!((gaps.count, gaps.handed_over), (299, false));
    assert!(gaps.error.unwrap().max_ns <= TICK_NS as f64, "{gaps:?}");
    true
}

#[test]
fn frames_leave_in_order_at_their_gaps_and_answers_come_back_untouched() {
    // Where this machine stands still for longer than the queue lasts, frames come after they would have been
    // due.
    assert!((0..5).any(|_| due_times_are_exact()), "due times are exact");
}

/// Everything else is asserted in each run.
fn due_times_are_exact() -> bool {
    let gap = Picos::from_micros(500);
    let mut bench = bench(Pace::Frames(Rate::new(1, gap).unwrap()), Picos::from_secs(1));
    send(&mut bench.host, (0..100).map(frame));
    let frames = receive(&mut bench.target, 100, bench.clock);
    assert_eq!(
        frames.iter().map(|(data, _)| data.clone()).collect::<Vec<_>>(),
        (0..100).map(frame).collect::<Vec<_>>()
    );
    // 99 gaps, or less where a busy machine held up the first, or more where it held up the last.
    let span = frames[99].1.since(frames[0].1).as_secs_f64();
    assert!((span - 99.0 * 500e-6).abs() < 0.3, "{span}");
    send(&mut bench.target, (0..50).map(frame));
    let back = receive(&mut bench.host, 50, bench.clock);
    assert_eq!(
        back.into_iter().map(|(data, _)| data).collect::<Vec<_>>(),
        (0..50).map(frame).collect::<Vec<_>>()
    );
    let findings = bench.running.join();
    let out = bench.tally.0.lock().unwrap().clone();
    assert_eq!((out.offered, out.events.len()), (100, 100));
    assert!(out.events.iter().all(|event| event.outcome == Outcome::Frame(Fate::Sent)));
    assert!(out.events.windows(2).all(|two| two[1].due.since(two[0].due) >= gap), "no gap is too short");
    assert!(out.events.iter().all(|event| event.sent >= event.due), "none too early");
    // What left more than its gap of 500 µs late.
    let late = out.events.iter().filter(|event| event.sent.since(event.due) > gap).count();
    assert_eq!(out.late, late as u64);
    let gaps = findings.report.gaps.unwrap();
    assert_eq!(gaps.count, 99);
    assert!(gaps.stamp_error_ns > 0.0, "no clock is exact");
    // The same error as the recorder makes of numbers that follow each other: |L(n) − L(n−1)|.
    let lateness = |event: &Event| event.sent.since(event.due).as_picos() as f64 / 1e3;
    let errors = out.events.windows(2).map(|two| (lateness(&two[1]) - lateness(&two[0])).abs());
    assert!(out.events.windows(2).all(|two| two[1].seq == two[0].seq + 1));
    let mean = errors.sum::<f64>() / 99.0;
    assert!((gaps.error.unwrap().mean_ns - mean).abs() < 2.0, "{mean} {:?}", gaps.error);
    let passed = "100 frames accepted, 100 released, 50 replies returned";
    assert!(findings.notes[0].contains(passed), "{:?}", findings.notes);
    out.events.windows(2).all(|two| two[1].due.since(two[0].due) == gap)
}

#[test]
fn what_waits_at_the_end_is_cut_off_and_nothing_is_lost_from_the_count() {
    let gap = Picos::from_millis(20);
    let mut bench = bench(Pace::Frames(Rate::new(1, gap).unwrap()), Picos::from_millis(200));
    send(&mut bench.host, (0..300).map(frame));
    bench.running.join();
    let out = bench.tally.0.lock().unwrap().clone();
    let sent = out.events.iter().filter(|event| event.outcome == Outcome::Frame(Fate::Sent)).count();
    let cut = out.events.iter().filter(|event| event.outcome == Outcome::CutOff).count();
    assert_eq!((out.offered, sent + cut), (300, 300));
    // 0, 20 … 180 ms are ten; the end of a run is looked at each round.
    assert!((8..=11).contains(&sent), "{sent}");
}

#[test]
fn a_mark_tells_when_all_up_to_it_has_gone() {
    let mut bench = bench(Pace::Frames(Rate::new(1, Picos::from_millis(5)).unwrap()), Picos::from_secs(1));
    send(&mut bench.host, (0..20).map(frame));
    std::thread::sleep(Duration::from_millis(5));
    let ask = |line: &str| bench.control.ask(line, bench.clock.now(), crate::By::Socket);
    assert!(ask("mark").unwrap().starts_with("mark 1: set"));
    std::thread::sleep(Duration::from_millis(10));
    let waiting = ask("mark 1").unwrap();
    assert!(waiting.starts_with("mark 1: waiting"), "{waiting}");
    std::thread::sleep(Duration::from_millis(400));
    let gone = ask("mark 1").unwrap();
    // The twentieth is due 95 ms after the first.
    let by: f64 = gone.rsplit(' ').nth(1).unwrap().parse().unwrap();
    assert!(gone.starts_with("mark 1: gone, all 20 frames up to it had left by ") && by > 0.09, "{gone}");
    assert!(ask("mark 9").unwrap_err().contains("no mark '9'"));
    let shown = ask("show").unwrap();
    assert!(shown.contains("\"gone\":\"20\"") && shown.contains("gap of 5ms"), "{shown}");
    drop(bench.target);
    bench.control.interrupt();
    bench.running.join();
}

#[test]
fn the_rate_changes_by_hand_and_the_change_is_in_the_result() {
    let mut bench = bench(Pace::Frames(Rate::per_second(100).unwrap()), Picos::from_millis(600));
    send(&mut bench.host, (0..200).map(frame));
    let ask = |line: &str| bench.control.ask(line, bench.clock.now(), crate::By::Socket);
    assert!(ask("set rate 5Mbit").unwrap_err().contains("paces frames"));
    assert_eq!(ask("set rate 1k").unwrap(), "rate 1000/s");
    let frames = receive(&mut bench.target, 200, bench.clock);
    assert_eq!(frames.len(), 200);
    // 50 ms at 100/s, then 195 frames at 1000/s: less than half a second, where 200 at 100/s take two.
    assert!(frames[199].1.since(frames[0].1) < Picos::from_millis(450));
    let findings = bench.running.join();
    assert_eq!(findings.report.changes[0].to, "1000/s");
    // Gaps of 10 ms and of 1 ms, and each is judged by its own: most errors are far below either.
    assert_eq!(findings.report.gaps.unwrap().error.unwrap().count, 199);
    assert!(
        findings.notes.iter().any(|note| note.contains("the rate was changed by hand")),
        "{:?}",
        findings.notes
    );
}

#[test]
fn frames_that_waited_for_a_pause_to_end_leave_at_their_pace_and_are_not_late() {
    let mut bench = bench(Pace::Frames(Rate::per_second(1_000).unwrap()), Picos::from_millis(700));
    let ask = |line: &str| bench.control.ask(line, bench.clock.now(), crate::By::Socket).unwrap();
    send(&mut bench.host, (0..200).map(frame));
    std::thread::sleep(Duration::from_millis(20));
    ask("pause");
    std::thread::sleep(Duration::from_millis(100));
    ask("resume");
    assert_eq!(receive(&mut bench.target, 200, bench.clock).len(), 200);
    bench.running.join();
    let counted = bench.tally.0.lock().unwrap().clone();
    // They are due a millisecond apart, but for the pause: none was late because of it, nothing is made up for.
    let gaps = counted.events.windows(2).map(|two| two[1].due.since(two[0].due));
    let others: Vec<Picos> = gaps.filter(|gap| *gap != Picos::from_millis(1)).collect();
    assert!(matches!(others[..], [pause] if pause > Picos::from_millis(90)), "{others:?}");
    assert!(counted.events.windows(2).all(|two| two[1].sent > two[0].sent));
}

#[test]
fn waiting_for_frames_and_for_their_time_is_no_work() {
    // 20 ms apart: a frame is always waiting, and next to nothing is done.
    let mut bench = bench(Pace::Frames(Rate::per_second(50).unwrap()), Picos::from_millis(400));
    send(&mut bench.host, (0..100).map(frame));
    let begun = bench.clock.now();
    bench.running.join();
    let (lasted, spun) = (bench.clock.now().since(begun), bench.tally.0.lock().unwrap().spun);
    // Of a busy machine, others have a part.
    assert!(spun.as_picos() > lasted.as_picos() / 20, "{spun:?} of {lasted:?}");
}

#[test]
fn what_was_too_late_for_a_ports_launch_times_has_failed_and_all_is_conserved() {
    let clock = HostClock::calibrate();
    let (mut host, input) = mem::pair(512, 2_048);
    let control = Arc::new(JobControl::default());
    let mut keeper = Keeper::new(control.clone());
    keeper.misses_from = 40;
    let (input, output) = (End::shared(Box::new(input)), End::shared(Box::new(keeper)));
    let settings = Settings {
        input: "mem:in".parse().unwrap(),
        output: "mem:out".parse().unwrap(),
        pace: Pace::Frames(Rate::new(3, Picos::from_micros(100)).unwrap()),
        is_relative: false,
        length: Some(Picos::from_millis(300)),
        cpus: Vec::new(),
        priority: Priority::Normal,
        has_valve: false,
    };
    let job = Box::new(PaceJob::between(settings, clock, input, output).unwrap());
    let tally = Tally::default();
    let mut make = |_| vec![Box::new(tally.clone()) as Box<dyn Record + Send>];
    send(&mut host, (0..100).map(frame));
    let findings = job.start(control.clone(), &mut make).unwrap().join();
    let out = tally.0.lock().unwrap().clone();
    let ended = |outcome| out.events.iter().filter(|event| event.outcome == outcome).count();
    let late = Outcome::Failed(units::Cause::PortLate);
    assert_eq!((ended(Outcome::Frame(Fate::Sent)), ended(late)), (40, 60));
    let drops: Vec<_> = findings.report.ports.iter().flat_map(|port| &port.drops).collect();
    assert!(drops.iter().any(|drop| drop.place == "tx.late" && drop.frames == 60), "{drops:?}");
}
