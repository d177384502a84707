//! From what a run came to, to its verdict. docs/verdict.md has every limit.
//!
//! A verdict is about the generator: a slow or broken target never lowers it. Departures that the plan's own
//! limit on connections held back or gave up are the target's slowness, and are not counted here, unless an
//! engine thread had no time to spare: then connections are busy because the generator does not get to their
//! answers.

use crate::arrivals::Process;
use crate::criterion::{CriterionId, Known, Of};
use crate::health::HealthSummary;
use crate::judge::machine::Machine;
use crate::judge::rate::{RAMP, waits_for_ramp};
use crate::series::Series;
use crate::totals::RunTotals;
use crate::verdict::{Criterion, Verdict};
use clock::Agreement;
use units::{Cause, Miss, Outcome, Picos};

mod frames;
mod machine;
mod own_tcp;
mod percentiles;
mod rate;
mod weighed;

pub use frames::{Flags, FrameConditions, TransmitPlace};
pub use weighed::WeighedLoad;

/// What offered the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    Closed,
    /// `gap` is the time between two departures where the schedule is even, over all threads.
    Open {
        gap: Option<Picos>,
    },
    /// Nothing is sent of one's own accord: frames come, and are captured or passed on.
    Passive,
}

/// What the verdict needs to know besides the figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    pub load: Loop,
    /// The worst comparison of the run's clock with the kernel's; `None` if none was made.
    pub clock: Option<Agreement>,
    /// The larger of the clock's step and the cost of reading it.
    pub clock_precision: Picos,
    /// Why a better clock was refused, in words.
    pub clock_refused: Option<String>,
    /// Engine threads spin towards due times.
    pub spins: bool,
    /// CPUs that the engine threads may run on; 0 if unknown.
    pub cpus: u32,
    /// They were bound to CPUs by the plan.
    pub pinned: bool,
    /// Connections that the plan allows at once.
    pub parallel: Option<u32>,
    /// What other places (`--to`) did not get; `None` if there are none.
    pub sinks: Option<SinkLoss>,
    /// What this machine was weighed at; `None` if it was not, or not with such a load.
    pub weighed: Option<WeighedLoad>,
    /// Connections are of a TCP of our own (`--via`), not of the kernel's.
    pub own_tcp: bool,
    /// Connections are of a Unix socket, whose bytes have no timestamps.
    pub unix: bool,
    /// The port of a TCP of our own, or the module, failed before the end.
    pub port_failed: bool,
    /// All times of requests are a simulation's.
    pub simulated: Option<SimulatedTime>,
    /// Of a load that is made of frames, which nobody answers.
    pub frames: Option<FrameConditions>,
}

/// In whose time the target of a simulated load lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedTime {
    /// In that of the simulation.
    Shared,
    /// In another: a program of this world, to which the simulation is slow.
    Apart,
}

/// Figures on their way to other places that did not arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinkLoss {
    /// Rows and single events, of all places together.
    pub lost: u64,
    /// The place that lost most, without passwords, and why.
    pub place: String,
    pub trouble: String,
}

/// Lateness below this is never a matter: it is what a woken or interrupted CPU costs at any time.
const LATENESS_FLOOR: Picos = Picos::from_micros(50);

/// The only way to a verdict.
pub fn judge(totals: &RunTotals, health: &HealthSummary, conditions: &Conditions) -> Verdict {
    Verdict::from_criteria(criteria(totals, health, conditions))
}

/// The verdict if the run had ended now, of the criteria that can be known now. For those who watch; no result
/// is kept with it.
pub fn judge_so_far(totals: &RunTotals, health: &HealthSummary, conditions: &Conditions) -> Verdict {
    let mut criteria = criteria(totals, health, conditions);
    criteria.retain(|criterion| criterion.id.about().known == Known::Throughout);
    Verdict::from_criteria(criteria)
}

fn criteria(totals: &RunTotals, health: &HealthSummary, conditions: &Conditions) -> Vec<Criterion> {
    let machine = Machine::of(health, conditions);
    if let Some(frames) = &conditions.frames {
        let mut criteria = frames::criteria(totals, &machine, conditions.load, frames);
        let behind = fails(&criteria, CriterionId::RateKept);
        criteria.extend(machine.criteria(totals, behind));
        criteria.extend(of_every_load(totals, health, conditions));
        criteria.extend(conditions.sinks.as_ref().map(sinks_lost));
        criteria.extend(conditions.weighed.as_ref().map(weighed::share));
        if frames.simulated || frames.of_file {
            criteria.retain(|criterion| criterion.id.about().of == Of::TheRun);
        }
        return criteria;
    }
    let open = conditions.load != Loop::Closed;
    let own = own_lateness(&machine, open);
    let lateness = percentiles::lateness(totals, own, &machine, conditions);
    let behind = fails(&lateness, CriterionId::LatenessP99);
    let mut criteria = vec![departures(totals)];
    if open {
        criteria.extend([made(totals, &machine), achieved(totals, &machine, conditions)]);
    }
    criteria.push(missed(totals, conditions));
    criteria.extend(open.then(|| rate::kept(totals, &machine)));
    criteria.extend(lateness);
    if let Loop::Open { gap: Some(gap) } = conditions.load {
        criteria.push(lateness_gap(totals, own, gap, &machine, "requests"));
    }
    criteria.extend(fidelity(totals, &machine));
    if !open {
        criteria.push(pauses(totals, &machine));
    }
    criteria.extend(percentiles::unread(totals, &machine));
    criteria.push(contradicted(totals));
    criteria.extend([machine.target_delayed(totals), machine.target_crowded(totals)].into_iter().flatten());
    criteria.extend(machine.criteria(totals, behind));
    criteria.extend([dropped(totals, health, conditions), links_lost(health)]);
    if conditions.own_tcp {
        criteria.extend([own_tcp::retransmitted(totals, conditions), own_tcp::unsent(totals)]);
    }
    criteria.extend(of_every_load(totals, health, conditions));
    criteria.extend(conditions.simulated.map(time_simulated));
    criteria.extend((!conditions.own_tcp).then(|| ports_left(health)));
    criteria.extend([descriptors_left(health), samples(totals)]);
    criteria.extend(conditions.sinks.as_ref().map(sinks_lost));
    criteria.extend(conditions.weighed.as_ref().map(weighed::share));
    criteria.extend(conditions.own_tcp.then(|| frames::ports_kept(conditions.port_failed)));
    if conditions.simulated.is_some() {
        criteria.retain(|criterion| criterion.id.about().of == Of::TheRun);
    }
    criteria
}

fn fails(criteria: &[Criterion], id: CriterionId) -> bool {
    criteria.iter().any(|criterion| criterion.id == id && !criterion.holds)
}

fn of_every_load(totals: &RunTotals, health: &HealthSummary, conditions: &Conditions) -> [Criterion; 7] {
    [
        clock_agreement(conditions),
        clock_precision(conditions),
        conservation(totals),
        threads_lost(totals),
        starved(totals),
        source_lost(totals),
        health_samples(health),
    ]
}

fn departures(totals: &RunTotals) -> Criterion {
    let offered = totals.offered() as f64;
    Criterion::new(CriterionId::Departures, offered, 1.0).invalid_beyond(Some(1.0)).advise(|| {
        "nothing was due in the measured part: raise --duration or --rate, or lower --warmup".into()
    })
}

/// What counts as the generator's own lateness.
fn own_lateness(machine: &Machine, open: bool) -> Series {
    if open && machine.saturated() { Series::Lateness } else { Series::OwnLateness }
}

/// Departures that the generator itself kept from leaving, or for which its file had no request.
fn kept_back(totals: &RunTotals, machine: &Machine) -> u64 {
    let no_connection = totals.outcomes.of(Outcome::Missed(Miss::NoConnection));
    let waited = if machine.saturated() { no_connection } else { 0 };
    totals.outcomes.missed_by_generator() + waited + unreadable(totals)
}

/// The share of departures that the generator did not itself keep from leaving.
fn made(totals: &RunTotals, machine: &Machine) -> Criterion {
    let kept = kept_back(totals, machine);
    let ratio = 1.0 - share(kept, totals.offered());
    Criterion::new(CriterionId::DeparturesMade, ratio, 0.9999).invalid_beyond(Some(0.99)).advise(|| {
        format!(
            "the generator did not get {kept} of {} departures out: {}",
            totals.offered(),
            match () {
                () if 2 * missing(totals) > kept => "see missed.generator".to_owned(),
                () if 2 * unreadable(totals) > kept => "see source.lost".to_owned(),
                () if waits_for_ramp(totals, Series::OwnLateness) => RAMP.to_owned(),
                () => machine.more_room(),
            }
        )
    })
}

/// The share of what was offered that was answered in time, whoever is to blame for the rest.
fn achieved(totals: &RunTotals, machine: &Machine, conditions: &Conditions) -> Criterion {
    let (offered, done) = (totals.offered(), totals.done_in_time());
    let share = if offered == 0 { 1.0 } else { share(done, offered) };
    Criterion::new(CriterionId::AchievedShare, share, 0.99).advise(|| {
        let counted = format!("{done} of {offered} departures got a complete response in time");
        let (failed, own) = (totals.tally.failed, kept_back(totals, machine));
        let rest = offered.saturating_sub(done);
        if 2 * unreadable(totals) > rest {
            format!("the rest had no lines that are requests: {counted}; see source.lost")
        } else if 2 * own > rest {
            format!("the generator did not keep up: {counted}; see departures.made")
        } else if waits_for_ramp(totals, Series::Lateness) {
            format!("requests waited for connections: {counted}; {RAMP}")
        } else if 2 * failed > rest {
            format!("requests failed: {counted} and {failed} failed; the outcomes say how")
        } else {
            let limit = conditions.parallel.map_or_else(String::new, |n| format!(" (or --parallel {n})"));
            format!(
                "the target{limit} did not keep up: {counted}; latency includes the wait, so lower --rate to \
                 see its usual latency"
            )
        }
    })
}

/// What a departure may lack of this machine.
const LACKED: [Miss; 3] = [Miss::NoPort, Miss::NoDescriptor, Miss::NoMemory];

/// Departures that lacked something of this machine.
fn missing(totals: &RunTotals) -> u64 {
    LACKED.iter().map(|why| totals.outcomes.of(Outcome::Missed(*why))).sum()
}

fn missed(totals: &RunTotals, conditions: &Conditions) -> Criterion {
    let of = |why| totals.outcomes.of(Outcome::Missed(why));
    let count = missing(totals);
    let worst = LACKED.into_iter().max_by_key(|why| of(*why)).expect("there are three");
    Criterion::new(CriterionId::MissedByGenerator, count as f64, 0.0)
        .invalid_beyond(Some(totals.offered() as f64 / 100.0))
        .advise(|| match worst {
            Miss::NoPort if conditions.own_tcp => own_tcp::NO_PORT.into(),
            Miss::NoPort => {
                "local ports ran out: add --source-ip addresses, keep connections alive, or widen \
                             net.ipv4.ip_local_port_range"
                    .into()
            }
            Miss::NoDescriptor => "descriptors ran out: raise ulimit -n, or lower --parallel".into(),
            _ => "the kernel had no memory for sockets: lower --parallel, or raise net.ipv4.tcp_mem".into(),
        })
}

/// Whether an even schedule left evenly.
fn lateness_gap(totals: &RunTotals, own: Series, gap: Picos, machine: &Machine, what: &str) -> Criterion {
    let own = totals.summary(own);
    let limit = at_least(LATENESS_FLOOR, gap.as_nanos() as f64 / 4.0);
    Criterion::new(CriterionId::LatenessGap, own.p99 as f64, limit).advise(|| {
        let by_ramp = waits_for_ramp(totals, Series::OwnLateness);
        let advice = if by_ramp { RAMP.to_owned() } else { machine.in_time() };
        format!("{what} leave in clumps instead of evenly: {advice}")
    })
}

/// Of a closed loop's time on its CPUs: its rate is less than half of what it would have been.
const HALF: f64 = 0.5;

/// The share of a closed loop's time in which it stood still, and so did not ask for the next answer.
fn pauses(totals: &RunTotals, machine: &Machine) -> Criterion {
    let threads = machine.threads().max(1) as u64;
    let whole = totals.measured.saturating_mul(threads);
    let paused = share(totals.counters.paused.as_picos(), whole.as_picos()).min(1.0);
    // Threads that share a CPU stand still while others of them run.
    let grave = 1.0 - HALF * machine.cpus_per_thread();
    Criterion::new(CriterionId::Pauses, paused, 0.01).invalid_beyond(Some(grave)).advise(|| {
        format!(
            "the generator stalled for {:.1} % of the time ({} pauses), so the rate is its own, not the target's: \
             {}",
            paused * 100.0,
            totals.counters.pauses,
            machine.in_time()
        )
    })
}

/// The share of answers whose stamps the loop contradicts: it had looked since, and nothing was there.
fn contradicted(totals: &RunTotals) -> Criterion {
    let count = totals.counters.contradicted;
    let share = share(count, totals.counters.stamped.max(count));
    Criterion::new(CriterionId::StampsContradicted, share, 0.01).advise(|| {
        format!(
            "according to their timestamps, {count} responses had already arrived when the loop looked and \
             found nothing: the kernel delivers them to their sockets late (interrupts, other traffic), or its \
             timestamps are wrong; stop other traffic here"
        )
    })
}

/// Whether a Poisson process left as one. (That of an even schedule is judged by its lateness.)
fn fidelity(totals: &RunTotals, machine: &Machine) -> Option<Criterion> {
    let fidelity = totals.fidelity().filter(|fidelity| fidelity.process == Process::Poisson)?;
    Some(Criterion::new(CriterionId::Fidelity, fidelity.distance, fidelity.limit).advise(|| {
        format!("departures do not follow the Poisson process that was requested: {}", machine.in_time())
    }))
}

fn clock_agreement(conditions: &Conditions) -> Criterion {
    let found = conditions.clock.map_or((0, Picos::from_micros(50)), |agreement| {
        (agreement.offset_picos.unsigned_abs().max(agreement.suspended.as_picos()), agreement.limit)
    });
    let (value, limit) = (found.0 as f64 / 1e3, found.1.as_picos() as f64 / 1e3);
    Criterion::new(CriterionId::Clock, value, limit).invalid_beyond(Some(limit)).advise(|| {
        "the clock jumped or the machine was suspended, so no time can be trusted: run again, and see \
         environment.json for the clock"
            .into()
    })
}

/// Drops on this host's side, as a share of what was answered: each is answered later by a time-out of the
/// target's.
fn dropped(totals: &RunTotals, health: &HealthSummary, conditions: &Conditions) -> Criterion {
    let dropped = health.dropped + totals.counters.frames_lost;
    let share = share(dropped, totals.tally.done.max(dropped));
    Criterion::new(CriterionId::Dropped, share, 0.001).advise(|| match conditions.own_tcp {
        true => own_tcp::dropped(dropped),
        false => format!(
            "this host dropped {} packets that had arrived, and the target had to send them again: raise \
             net.core.netdev_max_backlog and net.ipv4.tcp_rmem, or lower the load on this host",
            health.dropped
        ),
    })
}

fn links_lost(health: &HealthSummary) -> Criterion {
    Criterion::new(CriterionId::LinksLost, health.links_lost as f64, 0.0).advise(|| {
        "an interface of this host lost its link, so requests waited for TCP to send them again: see the kernel's log for why".into()
    })
}

fn clock_precision(conditions: &Conditions) -> Criterion {
    let value = conditions.clock_precision.as_nanos() as f64;
    Criterion::new(CriterionId::ClockPrecision, value, 1_000.0).advise(|| {
        let why = conditions.clock_refused.as_deref().unwrap_or("the kernel's clock source is slow");
        format!("the clock is coarse or slow to read ({why}): select the tsc clock source in the kernel, if it is stable")
    })
}

fn conservation(totals: &RunTotals) -> Criterion {
    let difference =
        totals.conservation().map_or_else(|imbalance| imbalance.offered.abs_diff(imbalance.ended), |()| 0);
    Criterion::new(CriterionId::Conservation, difference as f64, 0.0).invalid_beyond(Some(0.0)).advise(|| {
        "departures and outcomes do not add up, which is a bug in tare: please report it with the run folder"
            .into()
    })
}

fn threads_lost(totals: &RunTotals) -> Criterion {
    Criterion::new(CriterionId::ThreadsLost, totals.lost_threads as f64, 0.0)
        .invalid_beyond(Some(0.0))
        .advise(|| {
            "an engine thread ended early, which is a bug in tare: please report it with the run folder"
                .into()
        })
}

fn starved(totals: &RunTotals) -> Criterion {
    Criterion::new(CriterionId::IntervalsStarved, totals.starved as f64, 0.0).advise(|| {
        "intervals were written too slowly and were merged (no figure is lost): free a CPU for the main \
         thread, or put --out on a faster disk"
            .into()
    })
}

/// Departures whose lines are no requests, or gone.
fn unreadable(totals: &RunTotals) -> u64 {
    totals.outcomes.of(Outcome::Missed(Miss::BadLine)) + totals.outcomes.of(Outcome::Missed(Miss::SourceLost))
}

fn source_lost(totals: &RunTotals) -> Criterion {
    let (all, shrank) = (unreadable(totals), totals.outcomes.of(Outcome::Missed(Miss::SourceLost)));
    let bad = all - shrank;
    Criterion::new(CriterionId::SourceLost, all as f64, 0.0).advise(|| match shrank {
        0 => format!(
            "{bad} departures had lines of the URL file that are no requests, so they never left: correct the \
             lines (the notes name some), and do not change the file while it is in use"
        ),
        _ => "the URL file or the file of --at shrank, or its lines went bad, during the run: do not change \
              it while it is in use, or use a copy"
            .into(),
    })
}

fn health_samples(health: &HealthSummary) -> Criterion {
    let samples = if health.is_unwatched { 0 } else { health.samples };
    Criterion::new(CriterionId::HealthSamples, samples as f64, 1.0).advise(|| {
        if health.is_unwatched {
            return "no CPU was free to see whether the target waited for one: stop other work here".into();
        }
        "the generator's own CPU, steal and memory could not be read: mount /proc where it runs".into()
    })
}

/// Whether the target's time is that of its client.
fn time_simulated(time: SimulatedTime) -> Criterion {
    let apart = if time == SimulatedTime::Apart { 1.0 } else { 0.0 };
    Criterion::new(CriterionId::TimeSimulated, apart, 0.0).invalid_beyond(Some(0.0)).advise(|| {
        "the client's time is simulated and the target's is not: a simulated second takes minutes, so no time, \
         rate or timeout here is the target's; use only the outcomes, or leave out tap= for a responder in \
         simulated time"
            .into()
    })
}

fn ports_left(health: &HealthSummary) -> Criterion {
    // Unknown is not a reason to warn.
    let left = health.ports_left_least.map_or(f64::from(u16::MAX), |left| left as f64);
    Criterion::new(CriterionId::PortsLeft, left, 64.0).advise(|| {
        "local ports nearly ran out: add --source-ip addresses, or widen net.ipv4.ip_local_port_range".into()
    })
}

fn descriptors_left(health: &HealthSummary) -> Criterion {
    let left = health.descriptors_left_least.map_or(f64::from(u16::MAX), |left| left as f64);
    Criterion::new(CriterionId::DescriptorsLeft, left, 16.0)
        .advise(|| "descriptors nearly ran out: raise ulimit -n".into())
}

fn samples(totals: &RunTotals) -> Criterion {
    let done = totals.series.of(Series::Latency).len();
    let advice = match done {
        0 => "no response arrived, so there is no latency: the outcomes say why".to_owned(),
        1 => {
            "p99 of a single response says no more than that response: raise --duration or --rate".to_owned()
        }
        _ => format!("p99 of {done} responses rests on fewer than ten of them: raise --duration or --rate"),
    };
    Criterion::new(CriterionId::Samples, done as f64, 1_000.0).advise(|| advice)
}

fn sinks_lost(sinks: &SinkLoss) -> Criterion {
    Criterion::new(CriterionId::SinksLost, sinks.lost as f64, 0.0).advise(|| {
        format!(
            "{} did not get all rows and events ({}); a run folder, if one is kept, has every row that could \
             be stored: repair the sink, or leave out its option (--to, --samples or redis=)",
            sinks.place, sinks.trouble
        )
    })
}

fn at_least(floor: Picos, ns: f64) -> f64 {
    ns.max(floor.as_nanos() as f64)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Whether the target could not be reached at all: nothing was answered, and everything that ended failed
/// while a name was looked up, a connection opened or a handshake made (or was cut off with no connection).
pub fn unreachable(totals: &RunTotals) -> bool {
    let tally = totals.tally;
    let before_a_request: u64 = Cause::ALL
        .iter()
        .filter(|cause| cause.is_before_a_request())
        .map(|c| totals.outcomes.of(Outcome::Failed(*c)))
        .sum();
    let answered = tally.done + totals.warmup.done > 0;
    let never_connected = totals.series.of(Series::Connect).is_empty();
    !answered
        && tally.sent() > 0
        && tally.failed == before_a_request
        && (tally.cut_off == 0 || never_connected)
}

#[cfg(test)]
mod tests;
