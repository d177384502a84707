//! Sweeps over real ports in memory, through targets whose loss or capacity is known.

use super::*;
use crate::job::Findings;
use measure::packets::{Cell, Table};
use plan::packets::sweep::{SweepFile, SweepPlanFile};
use port::{Counters, DropPlace, For, Frame, PortError, Slot};
use std::sync::{Mutex, PoisonError};
use units::{Bytes, EngineCounters, Event, Fate, Miss, Phase, Picos, Record};

#[derive(Clone, Default)]
struct Silent;

impl Record for Silent {
    fn event(&mut self, _: &Event) {}
    fn missed(&mut self, _: Miss, _: u64) {}
    fn frames(&mut self, _: Fate, _: u64, _: Bytes) {}
    fn phase(&mut self, _: Phase, _: Picos) {}
    fn tick(&mut self, _: units::Instant, _: &EngineCounters) {}
}

/// What a target does with a frame that comes now.
trait Judge: Send {
    fn passes(&mut self, now: units::Instant) -> bool;
}

/// At most `rate` frames per second, with room for `depth` more: a token bucket.
struct Bottleneck {
    rate: f64,
    depth: f64,
    tokens: f64,
    refilled: units::Instant,
}

impl Bottleneck {
    fn new(rate: f64, depth: f64, clock: HostClock) -> Self {
        Self { rate, depth, tokens: depth, refilled: clock.now() }
    }
}

impl Judge for Bottleneck {
    fn passes(&mut self, now: units::Instant) -> bool {
        let refilled = self.tokens + now.since(self.refilled).as_secs_f64() * self.rate;
        (self.tokens, self.refilled) = (refilled.min(self.depth), now);
        let passes = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(passes));
        passes
    }
}

/// A bottleneck that loses every tenth frame until so long after it was last overloaded.
struct Slow {
    inner: Bottleneck,
    until: units::Instant,
    sulks: Picos,
    frames: u64,
}

impl Judge for Slow {
    fn passes(&mut self, now: units::Instant) -> bool {
        self.frames += 1;
        if !self.inner.passes(now) {
            self.until = now + self.sulks;
            return false;
        }
        now >= self.until || !self.frames.is_multiple_of(10)
    }
}

/// A target that forwards nothing for so long from when a file is there.
struct Gate {
    file: std::path::PathBuf,
    away: Picos,
    since: Option<units::Instant>,
}

impl Judge for Gate {
    fn passes(&mut self, now: units::Instant) -> bool {
        if self.since.is_none() && self.file.exists() {
            self.since = Some(now);
        }
        self.since.is_none_or(|since| now.since(since) >= self.away)
    }
}

/// A target before a port.
struct Target {
    inner: Box<dyn Port>,
    clock: HostClock,
    judge: Box<dyn Judge>,
    counters: Counters,
}

fn target(inner: Box<dyn Port>, clock: HostClock, judge: impl Judge + 'static) -> Box<dyn Port> {
    Box::new(Target { inner, clock, judge: Box::new(judge), counters: Counters::default() })
}

impl Port for Target {
    fn about(&self) -> &About {
        self.inner.about()
    }
    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        let mut room = [0u8; 2_048];
        let mut mark = 0;
        for _ in 0..most {
            let mut slot = Slot { data: &mut room, length: 0, launch: port::Stamp::NONE, mark: &mut mark };
            write(&mut slot);
            let length = slot.length;
            mark = 0;
            self.counters.sent += 1;
            if !self.judge.passes(self.clock.now()) {
                self.counters.drop(DropPlace::Fault, 1);
                continue;
            }
            self.inner.transmit(1, &mut |slot| {
                slot.data[..length].copy_from_slice(&room[..length]);
                slot.length = length;
                *slot.mark = 0;
            })?;
        }
        Ok(most)
    }
    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        self.inner.receive(most, read)
    }
    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        self.inner.flush(patience)
    }
    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        self.inner.wait(what, patience)
    }
    fn counters(&mut self) -> Result<&Counters, PortError> {
        Ok(&self.counters)
    }
}

fn plan(edit: impl FnOnce(&mut SweepFile)) -> SweepPlan {
    let mut file = SweepPlanFile::default();
    file.sweep = SweepFile {
        send: Some("mem:a".to_owned()),
        receive: Some("mem:b".to_owned()),
        sizes: Some("64".into()),
        trial_time: Some("200ms".into()),
        first_trial_time: Some("100ms".into()),
        max_rate: Some("40k".into()),
        min_rate: Some("100".into()),
        width: Some("5%".into()),
        drain: Some("20ms".into()),
        bursts: Some("0".into()),
        latency: Some(false),
        ..SweepFile::default()
    };
    edit(&mut file.sweep);
    file.resolve().unwrap().0
}

fn carry_out(plan: SweepPlan, wrap: impl FnOnce(Box<dyn Port>, HostClock) -> Box<dyn Port>) -> Findings {
    carry_out_between(plan, wrap, |inner, _| inner)
}

fn between(
    plan: SweepPlan,
    clock: HostClock,
    near: Box<dyn Port>,
    far: Box<dyn Port>,
) -> Result<SweepJob, PacketError> {
    let opened = if plan.bidirectional { Opened::shared(near, far) } else { Opened::one_way(near, far) };
    SweepJob::with(plan, clock, opened)
}

fn carry_out_between(
    plan: SweepPlan,
    near: impl FnOnce(Box<dyn Port>, HostClock) -> Box<dyn Port>,
    far: impl FnOnce(Box<dyn Port>, HostClock) -> Box<dyn Port>,
) -> Findings {
    let clock = HostClock::calibrate();
    let (one, other) = port::mem::pair(16_384, 2_048);
    let ends = (near(Box::new(one), clock), far(Box::new(other), clock));
    let job = between(plan, clock, ends.0, ends.1).unwrap();
    let mut make = |_| vec![Box::new(Silent) as Box<dyn Record + Send>];
    Box::new(job).start(Arc::new(JobControl::default()), &mut make).unwrap().join()
}

fn table<'a>(findings: &'a Findings, key: &str) -> &'a Table {
    findings.report.tables.iter().find(|table| table.key == key).unwrap()
}

fn cell<'a>(table: &'a Table, row: usize, name: &str) -> &'a Cell {
    let column = table.columns.iter().position(|column| column.name == name).unwrap();
    &table.rows[row][column]
}

fn figure(table: &Table, row: usize, name: &str) -> f64 {
    match cell(table, row, name) {
        Cell::Figure(value) | Cell::Between { value, .. } => *value,
        other => panic!("{name}: {other:?}"),
    }
}

/// Trials are short here: two at once would hold each other up.
fn one_at_a_time() -> std::sync::MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_bottleneck_of_known_capacity_is_recovered_within_the_width() {
    let _one = one_at_a_time();
    // A machine that stands still for most of a trial loses frames of its own, and the load found is lower.
    assert!((0..4).any(|_| a_bottleneck_is_recovered()), "the capacity is found");
}

/// Everything else is asserted in each run.
fn a_bottleneck_is_recovered() -> bool {
    let findings =
        carry_out(plan(|_| {}), |inner, clock| target(inner, clock, Bottleneck::new(12_000.0, 200.0, clock)));
    let sizes = table(&findings, "sweep");
    assert_eq!(cell(sizes, 0, "NDR ended"), &Cell::Words("found".to_owned()), "{findings:?}");
    // In 200 ms the bucket's 200 frames add 1 000/s to 12 000/s, in 100 ms 2 000/s; bursts of 16 ms pass.
    for goal in ["NDR", "PDR"] {
        let (low, high) = (figure(sizes, 0, goal), figure(sizes, 0, &format!("{goal} up to")));
        assert!((high - low) / high <= 0.05 + 1e-9, "{low} {high}");
        assert!(low < 13_800.0, "{goal}: {low} {high}");
        if low < 11_000.0 {
            return false;
        }
    }
    assert_eq!(findings.invalid_trials.map(|(_, all)| all), Some(2));
    true
}

#[test]
fn a_fault_port_of_known_loss_is_below_ndr_and_inside_a_looser_goal() {
    let _one = one_at_a_time();
    // One frame of every hundred is lost, at any load: no load is without loss, and 2 % are never exceeded.
    let plan = plan(|sweep| {
        (sweep.goal, sweep.max_rate) = (Some("ndr,2%".into()), Some("5k".into()));
        // Two hundred frames in the shortest trial: of fewer, one may be more than 2 %.
        sweep.min_rate = Some("2k".into());
    });
    let clock = HostClock::calibrate();
    let open = |text: &str| port::open(&text.parse().unwrap(), &Wish::default()).unwrap();
    let (near, far) = (open("fault,drop=every=100:mem:sweep-fault"), open("mem:sweep-fault"));
    let job = between(plan, clock, near, far).unwrap();
    let mut make = |_| vec![Box::new(Silent) as Box<dyn Record + Send>];
    let findings = Box::new(job).start(Arc::new(JobControl::default()), &mut make).unwrap().join();
    let sizes = table(&findings, "sweep");
    let words = |name| cell(sizes, 0, name).clone();
    assert_eq!(words("NDR"), Cell::Nothing, "{sizes:?}");
    assert!(
        matches!(words("2% ended"), Cell::Words(text) if text.starts_with("at least: the highest requested load")),
        "{sizes:?}"
    );
    assert_eq!(figure(sizes, 0, "2%"), 5_000.0);
    // What the trials lost is one in a hundred.
    let trials = table(&findings, "trials");
    let (mut sent, mut received) = (0.0, 0.0);
    for row in 0..trials.rows.len() {
        sent += figure(trials, row, "sent");
        received += figure(trials, row, "received");
    }
    assert!((1.0 - received / sent - 0.01).abs() < 0.002, "{received} of {sent}");
}

#[test]
fn a_generator_that_falls_short_is_said_to_be_the_limit() {
    let _one = one_at_a_time();
    // No port of this machine sends 800 million frames a second.
    let findings = carry_out(plan(|sweep| sweep.max_rate = Some("800M".into())), |inner, _| inner);
    let sizes = table(&findings, "sweep");
    let Cell::Words(end) = cell(sizes, 0, "NDR ended") else { panic!() };
    assert!(end.starts_with("at least: the generator sends no more than"), "{end}");
    assert_eq!(findings.invalid_trials, Some((2, 2)));
    assert!(
        findings.notes.iter().any(|note| note.contains("is above what the generator can send")),
        "{:?}",
        findings.notes
    );
}

#[test]
fn latency_and_bursts_are_measured_at_what_was_found() {
    let _one = one_at_a_time();
    let plan = plan(|sweep| {
        (sweep.latency, sweep.bursts) = (Some(true), Some("3".into()));
        (sweep.max_rate, sweep.sizes) = (Some("5k".into()), Some("64,512".into()));
    });
    let findings = carry_out(plan, |inner, clock| {
        // The bucket alone limits bursts: 200 frames.
        target(inner, clock, Bottleneck::new(20_000.0, 200.0, clock))
    });
    let latency = table(&findings, "latency");
    assert_eq!(latency.rows.len(), 2 * 4);
    assert!(figure(latency, 0, "p50") > 0.0 && figure(latency, 0, "p50") < 1e9);
    assert_eq!((figure(latency, 0, "of NDR"), figure(latency, 3, "load")), (0.1, 5_000.0));
    let bursts = table(&findings, "bursts");
    assert_eq!(bursts.rows.len(), 2);
    let longest = figure(bursts, 0, "longest burst");
    assert!((190.0..300.0).contains(&longest), "{longest}");
}

#[test]
fn recovery_from_an_overload_takes_as_long_as_the_target_needs() {
    let _one = one_at_a_time();
    let sulks = Picos::from_millis(150);
    let plan = || {
        plan(|sweep| {
            (sweep.recovery, sweep.overload_time) = (Some("3".into()), Some("500ms".into()));
            // Longer than it sulks, so that no trial suffers from the one before.
            (sweep.rest, sweep.goal) = (Some("200ms".into()), Some("ndr".into()));
        })
    };
    let is_found = || {
        let findings = carry_out(plan(), |inner, clock| {
            let until = clock.now();
            let judge = Slow { inner: Bottleneck::new(12_000.0, 200.0, clock), until, sulks, frames: 0 };
            target(inner, clock, judge)
        });
        let recovery = table(&findings, "recovery");
        let throughput = figure(recovery, 0, "throughput");
        assert!((figure(recovery, 0, "overload") / throughput - 1.1).abs() < 1e-6, "{recovery:?}");
        assert!((figure(recovery, 0, "load after it") / throughput - 0.55).abs() < 1e-6, "{recovery:?}");
        let ms = |name| figure(recovery, 0, name) / 1e6;
        // 150 ms after the last frame of the overload; every tenth of some 6 600 frames a second is lost until
        // then. A machine that stands still makes overloads of its own.
        let Cell::Words(ended) = cell(recovery, 0, "ended") else { panic!() };
        ended.starts_with("found")
            && ms("most") <= 150.0 + ms("within")
            && ms("least") >= 130.0
            && figure(recovery, 0, "tests") == 3.0
    };
    assert!((0..4).any(|_| is_found()), "the target's time is found");
}

#[test]
fn a_target_that_loses_frames_at_any_load_does_not_recover() {
    let _one = one_at_a_time();
    let plan = plan(|sweep| {
        (sweep.recovery, sweep.overload_time) = (Some("1".into()), Some("200ms".into()));
        (sweep.goal, sweep.max_rate) = (Some("2%".into()), Some("5k".into()));
        sweep.min_rate = Some("2k".into());
    });
    struct Hundredth(u64);
    impl Judge for Hundredth {
        fn passes(&mut self, _: units::Instant) -> bool {
            self.0 += 1;
            !self.0.is_multiple_of(100)
        }
    }
    let findings = carry_out(plan, |inner, clock| target(inner, clock, Hundredth(0)));
    let recovery = table(&findings, "recovery");
    let Cell::Words(ended) = cell(recovery, 0, "ended") else { panic!() };
    assert!(ended.starts_with("at least: frames were lost up to the end"), "{ended}");
}

/// The table of resets, if the first of them counts: a busy machine finds no load, or sends too little.
fn tried(findings: &Findings) -> Option<&Table> {
    let resets = findings.report.tables.iter().find(|table| table.key == "resets")?;
    let Cell::Words(ended) = cell(resets, 0, "ended") else { panic!() };
    (!ended.starts_with("no: ") && !ended.starts_with("no frame arrived")).then_some(resets)
}

#[test]
fn a_reset_by_command_takes_as_long_as_the_target_is_away() {
    let _one = one_at_a_time();
    let folder = tempfile::tempdir().unwrap();
    let is_found = |number: u32| {
        let name = format!("try{number}");
        let file = folder.path().join(&name);
        let touch = format!("touch {}/$TARE_RESET", folder.path().display());
        let plan = plan(|sweep| {
            (sweep.max_rate, sweep.goal) = (Some("5k".into()), Some("ndr".into()));
            (sweep.reset_command, sweep.resets) = (Some(touch), Some(name.as_str().into()));
            sweep.reset_time = Some("5s".into());
        });
        let findings = carry_out(plan, |inner, clock| {
            target(inner, clock, Gate { file, away: Picos::from_millis(300), since: None })
        });
        let Some(resets) = tried(&findings) else { return false };
        let Cell::Words(by) = cell(resets, 0, "reset by") else { panic!() };
        assert!(by.starts_with("command (exit status: 0 after "), "{by}");
        let said = |note: &String| note.starts_with(&format!("reset 1 ({name}, by command): "));
        assert!(findings.notes.iter().any(said), "{:?}", findings.notes);
        if *cell(resets, 0, "ended") != Cell::Words("found".to_owned()) {
            return false;
        }
        // 300 ms, from one frame before to one after, and as many lost frames as that takes.
        let ms = |name| figure(resets, 0, name) / 1e6;
        assert!(ms("reset time") >= 300.0 - ms("within"), "{resets:?}");
        let lost = figure(resets, 0, "lost");
        assert!((ms("by lost frames") - lost / figure(resets, 0, "load") * 1e3).abs() < 1e-6);
        ms("within") < 50.0
            && ms("reset time") < 300.0 + ms("within") + 1.0
            && (ms("by lost frames") - 300.0).abs() < 2.0
    };
    assert!((0..4).any(is_found), "the target's time is found");
}

#[test]
fn a_reset_that_never_comes_and_a_command_that_fails_end_in_time() {
    let _one = one_at_a_time();
    for (command, said) in [
        ("true", "no interruption of 50.0 ms or more within 1.00 s"),
        ("exit 3", "the command failed, and the stream was not interrupted"),
        ("sleep 60", "void, because of its command (still running at the end, killed)"),
    ] {
        let plan = || {
            plan(|sweep| {
                (sweep.max_rate, sweep.goal) = (Some("5k".into()), Some("ndr".into()));
                sweep.reset_command = Some(command.into());
                sweep.reset_time = Some("1s".into());
            })
        };
        let mut all = (0..5).map(|_| carry_out(plan(), |inner, _| inner));
        let findings = all.find(|findings| tried(findings).is_some()).expect("a quiet moment");
        let resets = table(&findings, "resets");
        assert_eq!(*cell(resets, 0, "ended"), Cell::Words(said.to_owned()), "{command}: {resets:?}");
        assert_eq!(*cell(resets, 0, "reset time"), Cell::Nothing);
        let Cell::Words(by) = cell(resets, 0, "reset by") else { panic!() };
        let how = match command {
            "true" => "exit status: 0",
            "exit 3" => "exit status: 3",
            _ => "still running at the end, killed",
        };
        assert!(by.contains(how), "{command}: {by}");
        assert_eq!(findings.failed_resets, u64::from(command != "true"), "{command}");
    }
}

#[test]
fn both_directions_at_once_go_as_fast_as_the_slower_one() {
    let _one = one_at_a_time();
    let is_found = || {
        let plan = plan(|sweep| (sweep.bidirectional, sweep.goal) = (Some(true), Some("ndr".into())));
        let findings = carry_out_between(
            plan,
            |inner, clock| target(inner, clock, Bottleneck::new(30_000.0, 400.0, clock)),
            |inner, clock| target(inner, clock, Bottleneck::new(8_000.0, 200.0, clock)),
        );
        let sizes = table(&findings, "sweep");
        let trials = table(&findings, "trials");
        // Two rows a trial, both at one load, and the slower direction alone loses frames at 12 000/s.
        for row in (0..trials.rows.len()).step_by(2) {
            let way = |row| (cell(trials, row, "direction").clone(), figure(trials, row, "load"));
            let ((forward, load), (reverse, same)) = (way(row), way(row + 1));
            assert_eq!((forward, reverse, load), (word("forward"), word("reverse"), same));
            if *cell(trials, row, "counts") == word("yes") && (12_000.0..25_000.0).contains(&load) {
                assert_eq!(figure(trials, row, "loss"), 0.0, "{trials:?}");
                assert!(figure(trials, row + 1, "loss") > 0.05, "{trials:?}");
            }
        }
        assert_eq!(findings.report.ports.len(), 4);
        // In 200 ms the bucket's 200 frames add 1 000/s.
        *cell(sizes, 0, "NDR ended") == word("found") && (7_300.0..9_300.0).contains(&figure(sizes, 0, "NDR"))
    };
    assert!((0..4).any(|_| is_found()), "the slower direction's capacity is found");
}

fn word(text: &str) -> Cell {
    Cell::Words(text.to_owned())
}

#[test]
fn latency_loss_and_bursts_are_measured_in_both_directions() {
    let _one = one_at_a_time();
    let plan = plan(|sweep| {
        (sweep.bidirectional, sweep.latency) = (Some(true), Some(true));
        (sweep.frame_loss, sweep.bursts) = (Some(true), Some("2".into()));
        (sweep.goal, sweep.max_rate) = (Some("ndr".into()), Some("3k".into()));
    });
    let findings = carry_out_between(
        plan,
        |inner, clock| target(inner, clock, Bottleneck::new(20_000.0, 200.0, clock)),
        |inner, clock| target(inner, clock, Bottleneck::new(20_000.0, 400.0, clock)),
    );
    let latency = table(&findings, "latency");
    assert_eq!(latency.rows.len(), 4 * 2);
    for (row, name) in [(0, "forward"), (1, "reverse")] {
        assert_eq!(*cell(latency, row, "direction"), word(name));
        assert!(figure(latency, row, "p50") > 0.0, "{latency:?}");
    }
    assert_eq!(table(&findings, "loss").rows.len() % 2, 0);
    // The shorter of both buffers.
    let bursts = table(&findings, "bursts");
    let longest = figure(bursts, 0, "longest burst");
    assert!((190.0..380.0).contains(&longest), "{bursts:?}");
}

#[test]
fn ports_that_cannot_go_both_ways_are_named() {
    let clock = HostClock::calibrate();
    let plan = plan(|sweep| sweep.bidirectional = Some(true));
    let folder = tempfile::tempdir().unwrap();
    let file = format!("pcap:{}", folder.path().join("out.pcap").display());
    let sink = port::open(&file.parse().unwrap(), &Wish::transmit()).unwrap();
    let (near, _far) = port::mem::pair(64, 2_048);
    let error = between(plan, clock, Box::new(near), sink).err().map(|error| error.to_string());
    assert!(error.as_deref().is_some_and(|error| error.contains("--bidirectional: pcap:")), "{error:?}");
    assert!(error.unwrap().ends_with("cannot receive"));
}
