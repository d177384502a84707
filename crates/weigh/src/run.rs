//! One run: senders, the reader of stamps and, where it is asked for, incoming traffic; all by one schedule.
//!
//! ```text
//!   open ─ threads ─ origin ──────────────── schedule ─────────────── stamps that are still to come ─ Outcome
//!            │         senders on CPUs of their own; reader on the last CPU; incoming traffic on the second
//! ```

mod link;
mod source;

pub use link::Link;
pub use source::{Source, try_incoming};

use crate::WeighError;
use crate::elsewhere::{self, Arrived, Elsewhere};
use crate::frames::{self, Body};
use crate::neighbour::{Everyone, Neighbour};
use crate::sender::{Pace, Schedule, Sender, Sent, Step};
use crate::stage::Stage;
use crate::stamps::{Method, Reader};
use crate::tally::{Tally, Timeline};
use crate::usage::{Cpu, Shares};
use crate::ways::{self, Opened, Wanted, Way};
use clock::Stopwatch;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// From the moment when all is open to the first packet.
const START_NS: u64 = 40_000_000;
/// How long stamps are waited for that do not come.
const QUIET: Duration = Duration::from_millis(60);
const LONGEST_QUIET: Duration = Duration::from_secs(2);

/// What shall run.
pub struct RunSetup<'a> {
    pub wanted: Wanted,
    /// Packets of one call.
    pub batch: usize,
    /// Of all threads together.
    pub steps: Vec<Step>,
    pub incoming: Option<Incoming>,
    pub stop: &'a AtomicBool,
}

/// Traffic to the generator while it sends.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub kind: Traffic,
    pub size: usize,
    /// As many, and as long, as the generator's steps.
    pub paces: Vec<Pace>,
    /// Who sends it, if not the other end of the bed.
    pub by: Option<Elsewhere>,
}

/// What comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Traffic {
    /// Datagrams to a port that nobody has.
    UdpClosed,
    /// Datagrams to a socket of another program, which reads them.
    UdpOpen,
    /// Openings of connections, to a port that nobody has.
    TcpSyn,
    /// Datagrams to the generator's own port, which it reads.
    Answers,
}

impl Traffic {
    pub const ALL: [Self; 4] = [Self::UdpClosed, Self::UdpOpen, Self::TcpSyn, Self::Answers];

    pub const fn name(self) -> &'static str {
        match self {
            Self::UdpClosed => "udp-closed",
            Self::UdpOpen => "udp-open",
            Self::TcpSyn => "tcp-syn",
            Self::Answers => "answers",
        }
    }
}

impl std::str::FromStr for Traffic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| {
            format!(
                "'{text}' is not a kind of incoming traffic; expected udp-closed, udp-open, tcp-syn, \
                     answers or all"
            )
        })
    }
}

/// What came of it.
pub struct Outcome {
    pub sent: Sent,
    pub tally: Tally,
    pub timeline: Timeline,
    pub steps: Vec<Step>,
    pub method: Method,
    pub place: String,
    pub why: String,
    pub address: String,
    /// Wall clock set meanwhile, ns.
    pub clock_step: Option<i64>,
    /// What happened to the interface meanwhile.
    pub link_failure: Option<String>,
    pub neighbour: Option<Neighbour>,
    /// CPU time of other processes on the generator's CPUs is not ours; the longest wait of a sender for its
    /// CPU, of the time.
    pub waited: f64,
    /// The longest time for which this process was not allowed to run, beyond what sleeping takes.
    pub stood_still_ns: u64,
    /// The generator's first CPU, by step.
    pub shares: Vec<Shares>,
    /// Incoming frames that were sent, by step.
    pub incoming: Vec<u64>,
    pub incoming_failure: Option<String>,
    pub incoming_remark: Option<String>,
    pub steering: String,
    pub was_stopped: bool,
    pub cpus: Vec<u32>,
}

impl Outcome {
    /// Share of the stamps that never came.
    pub fn loss(&self) -> f64 {
        let expected = self.sent.expected as f64;
        if expected == 0.0 { 0.0 } else { (1.0 - self.tally.whole().stamped() as f64 / expected).max(0.0) }
    }
}

/// CPUs of the senders, and the one of all else.
pub fn cpus(threads: usize) -> (Vec<u32>, u32) {
    let usable = os::cpus::usable();
    let senders = (0..threads).map(|index| usable[index % usable.len()]).collect();
    (senders, usable[usable.len() - 1])
}

/// Where incoming traffic goes: a port that nobody has.
pub const CLOSED: u16 = 7;
const OPEN: u16 = 7_007;

/// Runs it.
///
/// # Errors
/// Something could not be opened: nothing was sent but a few packets to see whether they are stamped.
pub fn run(stage: &Stage, setup: &RunSetup<'_>) -> Result<Outcome, WeighError> {
    let wanted = &setup.wanted;
    let mut opened = ways::open(stage, wanted)?;
    let template = frames::template(&stage.route, wanted.size, Body::Datagram)?;
    let (senders_cpus, other_cpu) = cpus(wanted.threads);
    let other = setup.incoming.as_ref().and_then(|incoming| incoming.by.as_ref());
    let source = setup.incoming.as_ref().filter(|_| wanted.way != Way::Mem && other.is_none());
    let source = source.map(|incoming| Source::open(stage, incoming)).transpose()?;
    let steering = match (&setup.incoming, wanted.way) {
        (None, _) => String::new(),
        _ if other.is_some() => "by the CPUs that take the interrupts of the interface".to_owned(),
        (_, Way::Mem) => "by the other end of the ring, in this process, without the kernel".to_owned(),
        _ => steer(stage, senders_cpus[0]),
    };
    let shared_steps = |threads: usize| {
        setup.steps.iter().map(|step| Step { pace: step.pace.of(threads), ..*step }).collect::<Vec<_>>()
    };
    let ends = Schedule::ends(&setup.steps);
    let link = if wanted.way == Way::Mem { None } else { Link::of(stage) };
    let (everyone, offset) = (Everyone::now(), wanted.wall.offset());
    let origin = clock::monotonic_ns() + START_NS;
    let timeline = Timeline::new((origin as i64 + offset.wall_ns) as u64, ends.clone());
    let schedule = Schedule { origin_monotonic_ns: origin, steps: shared_steps(wanted.threads) };
    let incoming_schedule =
        setup.incoming.as_ref().map(|incoming| incoming_schedule(incoming, setup, origin));
    let backs: Vec<_> = match (&incoming_schedule, wanted.way, &setup.incoming) {
        (Some(schedule), Way::Mem, Some(incoming)) => opened
            .readers
            .iter_mut()
            .filter_map(|r| r.send_back_by(schedule, incoming.size - port::FCS))
            .collect(),
        _ => Vec::new(),
    };
    let at_work = AtomicUsize::new(wanted.threads);
    let expected = AtomicUsize::new(usize::MAX);
    let Opened { ports, probes, mut readers, gate, method, place, why, address } = opened;
    let done = AtomicBool::new(false);
    let (sent, tally, watched, (incoming, incoming_remark), neighbour) = std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            // Where that is refused, it runs anywhere.
            let _ = os::cpus::pin(other_cpu);
            read(&mut readers, &timeline, &at_work, &expected)
        });
        let arriving = source.map(|source| {
            let (schedule, done, template) = (incoming_schedule.as_ref(), &done, &timeline);
            scope.spawn(move || source.run(stage, schedule, template, setup.stop, done))
        });
        let by_command =
            other.zip(incoming_schedule.as_ref()).zip(setup.incoming.as_ref()).map(|(by, incoming)| {
                let (command, schedule) = by;
                let what = (incoming.size, incoming.kind);
                scope.spawn(move || elsewhere::run(command, stage, (schedule, what), setup.stop))
            });
        let sending: Vec<_> = ports
            .into_iter()
            .zip(probes)
            .enumerate()
            .map(|(index, (port, probe))| {
                let sender = Sender {
                    port,
                    probe,
                    each: wanted.each,
                    template: &template,
                    wall: &wanted.wall,
                    schedule: &schedule,
                    timeline: &timeline,
                    batch: setup.batch,
                    index: index as u64,
                    threads: wanted.threads as u64,
                    reads: wanted.reads,
                    stop: setup.stop,
                };
                let (cpu, at_work) = (senders_cpus[index], &at_work);
                scope.spawn(move || {
                    let sent = stage.at_generator(|| {
                        // Where that is refused, it runs anywhere.
                        let _ = os::cpus::pin(cpu);
                        sender.run()
                    });
                    at_work.fetch_sub(1, Ordering::Release);
                    sent.unwrap_or_else(|error| Sent { failure: Some(error.to_string()), ..Sent::default() })
                })
            })
            .collect();
        let watched = watch(other.map(|_| stage), senders_cpus[0], (origin, &ends), setup.stop);
        let mut sent = Sent::default();
        for thread in sending {
            match thread.join() {
                Ok(one) => sent.add(&one),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        expected.store(sent.expected as usize, Ordering::Release);
        done.store(true, Ordering::Relaxed);
        let neighbour = Everyone::now().busiest_since(&everyone, &senders_cpus);
        let tally = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let incoming =
            arriving.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let (incoming, remark) = match by_command.zip(incoming_schedule.as_ref()) {
            None => (incoming, None),
            Some((thread, schedule)) => {
                let failed = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                let size = setup.incoming.as_ref().map_or(wanted.size, |incoming| incoming.size);
                let (failure, remark) = elsewhere::judge(&schedule.steps, &watched.arrived, size);
                let failure = watched.uncounted.clone().or(failure);
                let steps = watched.arrived.iter().map(|arrived| arrived.frames).collect();
                (Some(Sent { steps, failure: failed.or(failure), ..Sent::default() }), remark)
            }
        };
        (sent, tally, watched, (incoming, remark), neighbour)
    });
    drop(gate);
    let waited_ns = sent.used.waited_ns as f64;
    let whole_ns = ends.last().copied().unwrap_or(1).max(1) as f64;
    let incoming_sent = match &incoming {
        Some(sent) => sent.steps.clone(),
        None => (0..setup.steps.len())
            .map(|step| backs.iter().map(|back| back.lock().map_or(0, |back| back[step])).sum())
            .collect(),
    };
    Ok(Outcome {
        link_failure: link.and_then(|link| link.failure()),
        neighbour,
        clock_step: wanted.wall.offset().step_since(&offset),
        waited: (waited_ns / whole_ns).min(1.0),
        sent,
        tally: tally?,
        timeline,
        steps: setup.steps.clone(),
        method,
        place,
        why,
        address,
        shares: watched.shares,
        stood_still_ns: watched.stood_still_ns,
        incoming: incoming_sent,
        incoming_remark,
        incoming_failure: incoming.and_then(|sent| sent.failure),
        steering,
        was_stopped: setup.stop.load(Ordering::Relaxed),
        cpus: senders_cpus,
    })
}

fn incoming_schedule(incoming: &Incoming, setup: &RunSetup<'_>, origin: u64) -> Schedule {
    let step = |(pace, step): (&Pace, &Step)| Step { pace: *pace, length_ns: step.length_ns };
    let steps = incoming.paces.iter().zip(&setup.steps).map(step).collect();
    Schedule { origin_monotonic_ns: origin, steps }
}

pub fn steer(stage: &Stage, cpu: u32) -> String {
    match stage.steer(cpu) {
        Ok(()) => format!("processed by CPU {cpu}, the generator's, as with a card's interrupts (RPS)"),
        Err(error) => format!("processed by the sender's CPU, not the generator's ({error})"),
    }
}

/// Reads stamps until all have come, or none comes any more.
fn read(
    readers: &mut [Box<dyn Reader>],
    timeline: &Timeline,
    at_work: &AtomicUsize,
    expected: &AtomicUsize,
) -> Result<Tally, WeighError> {
    let mut tally = Tally::new(timeline.clone());
    let (mut stamped, mut last, mut over) = (0usize, Stopwatch::start(), None);
    loop {
        let mut read = 0;
        for reader in readers.iter_mut() {
            read += reader.read(&mut |found| match found {
                Some((sent, stamp)) => {
                    tally.add(sent, stamp);
                    stamped += 1;
                }
                None => tally.strange += 1,
            })?;
        }
        if read > 0 {
            last = Stopwatch::start();
            continue;
        }
        if at_work.load(Ordering::Acquire) == 0 {
            let since = *over.get_or_insert_with(Stopwatch::start);
            let all = stamped >= expected.load(Ordering::Acquire);
            if all || since.max(last).elapsed() > QUIET || since.elapsed() > LONGEST_QUIET {
                return Ok(tally);
            }
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// What a look at each step's end finds.
#[derive(Debug, Default)]
pub struct Watched {
    /// Where the time of a CPU goes, by step.
    pub shares: Vec<Shares>,
    /// How many frames arrive, where they are counted, by step.
    pub arrived: Vec<Arrived>,
    /// Why they could not be counted at some time.
    pub uncounted: Option<String>,
    /// The longest time for which this process was not allowed to run, beyond what sleeping takes.
    pub stood_still_ns: u64,
}

/// Looks at a CPU and at an interface at the end of each step.
pub fn watch(
    arriving: Option<&Stage>,
    cpu: u32,
    (origin, ends): (u64, &[u64]),
    stop: &AtomicBool,
) -> Watched {
    const NAP_NS: u64 = 20_000_000;
    let mut watched = Watched::default();
    let sleep_until = |at: u64| {
        let mut longest = 0;
        while clock::monotonic_ns() < at && !stop.load(Ordering::Relaxed) {
            let before = clock::monotonic_ns();
            let nap = at.saturating_sub(before).min(NAP_NS);
            std::thread::sleep(Duration::from_nanos(nap));
            longest = longest.max((clock::monotonic_ns() - before).saturating_sub(nap));
        }
        longest
    };
    sleep_until(origin);
    // Without a counter nothing arrives.
    let received = || arriving.map_or(Ok(Arrived::default()), Stage::received);
    let (mut last, mut before) = (Cpu::now(cpu), received());
    for end in ends {
        watched.stood_still_ns = watched.stood_still_ns.max(sleep_until(origin + end));
        let (now, count) = (Cpu::now(cpu), received());
        if let Err(error) = before.as_ref().and(count.as_ref()) {
            watched.uncounted.get_or_insert(error.to_string());
        }
        watched.arrived.push(match (&count, &before) {
            (Ok(count), Ok(before)) => count.since(*before),
            _ => Arrived::default(),
        });
        before = count;
        watched.shares.push(now.shares_since(&std::mem::replace(&mut last, now)));
    }
    watched
}

/// How many packets one thread hands over at full speed, in a short try.
///
/// # Errors
/// As [`run`].
pub fn try_flood(stage: &Stage, setup: &RunSetup<'_>, length_ns: u64) -> Result<Outcome, WeighError> {
    let steps = vec![Step { pace: Pace::Flood, length_ns }];
    let incoming = None;
    run(
        stage,
        &RunSetup { wanted: setup.wanted.clone(), batch: setup.batch, steps, incoming, stop: setup.stop },
    )
}
