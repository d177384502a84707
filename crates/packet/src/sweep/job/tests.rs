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

/// A target that forwards at most `rate` frames per second, with room for `depth` more: a token bucket before a
/// port.
struct Bottleneck {
    inner: Box<dyn Port>,
    clock: HostClock,
    rate: f64,
    depth: f64,
    tokens: f64,
    refilled: units::Instant,
    counters: Counters,
}

impl Port for Bottleneck {
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
            let now = self.clock.now();
            self.tokens = (self.tokens + now.since(self.refilled).as_secs_f64() * self.rate).min(self.depth);
            self.refilled = now;
            self.counters.sent += 1;
            if self.tokens < 1.0 {
                self.counters.drop(DropPlace::Fault, 1);
                continue;
            }
            self.tokens -= 1.0;
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
    let clock = HostClock::calibrate();
    let (near, far) = port::mem::pair(16_384, 2_048);
    let job = SweepJob::between(plan, clock, wrap(Box::new(near), clock), Box::new(far)).unwrap();
    let mut make = |_| vec![Box::new(Silent) as Box<dyn Record + Send>];
    Box::new(job).start(Arc::new(Control::default()), &mut make).unwrap().join()
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
    let findings = carry_out(plan(|_| {}), |inner, clock| {
        let (rate, depth) = (12_000.0, 200.0);
        let refilled = clock.now();
        Box::new(Bottleneck {
            inner,
            clock,
            rate,
            depth,
            tokens: depth,
            refilled,
            counters: Counters::default(),
        })
    });
    let sizes = table(&findings, "sweep");
    assert_eq!(cell(sizes, 0, "NDR ended"), &Cell::Words("found".to_owned()), "{findings:?}");
    // In 200 ms the bucket's 200 frames add 1 000/s to 12 000/s, in 100 ms 2 000/s; bursts of 16 ms pass.
    for goal in ["NDR", "PDR"] {
        let (low, high) = (figure(sizes, 0, goal), figure(sizes, 0, &format!("{goal} up to")));
        assert!((high - low) / high <= 0.05 + 1e-9, "{low} {high}");
        assert!((11_000.0..13_800.0).contains(&low), "{goal}: {low} {high}");
    }
    assert_eq!(findings.invalid_trials.map(|(_, all)| all), Some(2));
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
    let job = SweepJob::between(plan, clock, near, far).unwrap();
    let mut make = |_| vec![Box::new(Silent) as Box<dyn Record + Send>];
    let findings = Box::new(job).start(Arc::new(Control::default()), &mut make).unwrap().join();
    let sizes = table(&findings, "sweep");
    let words = |name| cell(sizes, 0, name).clone();
    assert_eq!(words("NDR"), Cell::Nothing, "{sizes:?}");
    assert!(
        matches!(words("2% ended"), Cell::Words(text) if text.starts_with("at least: the highest load")),
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
    assert!(end.starts_with("at least: the generator makes no more than"), "{end}");
    assert_eq!(findings.invalid_trials, Some((2, 2)));
    assert!(
        findings.notes.iter().any(|note| note.contains("lies above what the generator makes")),
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
        let refilled = clock.now();
        Box::new(Bottleneck {
            inner,
            clock,
            rate: 20_000.0,
            depth: 200.0,
            tokens: 200.0,
            refilled,
            counters: Counters::default(),
        })
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
