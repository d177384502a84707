//! Backload: what traffic *to* the generator takes away from what it creates.
//!
//! ```text
//!   own traffic   ██████████████████████████████████   as fast as it goes, all the time
//!   incoming              ▁▁▁▁▃▃▃▃▅▅▅▅▇▇▇▇             rising steps from another namespace, port and core
//!                 before  rising           after       one trial; figures of a step are over trials
//! ```
//!
//! Incoming frames are processed by the generator's own CPU, as those of a card whose interrupts come to it
//! would be (receive packet steering). Through `mem` they come by the same ring, past the kernel: that is the
//! null case, and its rate must not fall.
//!
//! [`requests`] does the same to `tare http`, by the kernel's sockets and past them, and
//! [`crate::module::backload`] to an FPGA module.

pub mod requests;

use crate::WeighError;
use crate::claims;
use crate::elsewhere::{self, Elsewhere};
use crate::packets::{Tell, remarks, series};
use crate::run::{self, Incoming, Outcome, RunSetup};
use crate::sender::{Pace, Step};
use crate::stage::Stage;
use crate::stamps::Method;
use crate::wall::Wall;
use crate::ways::{Wanted, Way};
use port::Address;
use std::sync::atomic::{AtomicBool, Ordering};
use store::weighing::{self, BackloadStep, Stamps};

pub use super::run::Traffic;

/// Length of the try that finds how much the other end can send.
const TRY_NS: u64 = 200_000_000;
/// What `mem`'s other end sends back at most, in a second: its thread reads the generator's frames, too, and
/// must not be the limit itself.
const MEM_MOST_PER_S: f64 = 2e6;
/// One of so many packets is stamped, so that stamps take little away themselves.
const EACH: u64 = 16;

/// How it is weighed.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub ways: Vec<Way>,
    /// FPGA modules.
    pub modules: Vec<Address>,
    /// Requests, by way of these.
    pub stacks: Vec<requests::Stack>,
    pub sizes: Vec<usize>,
    pub kinds: Vec<Traffic>,
    /// Frames a second, as typed; `high` `None` is as many as the other end can send.
    pub low: f64,
    pub high: Option<f64>,
    /// Rising steps.
    pub steps: usize,
    pub step_ns: u64,
    pub trials: usize,
    pub batch: usize,
    /// Who sends the incoming traffic, if not the other end of a bed.
    pub by: Option<Elsewhere>,
}

/// Weighs one port, frame size and kind of traffic.
///
/// # Errors
/// It cannot be weighed here; the message says why.
pub fn weigh(
    stage: &Stage,
    options: &Options,
    (way, size, kind): (Way, usize, Traffic),
    stop: &AtomicBool,
    tell: Tell<'_>,
) -> Result<weighing::Backload, WeighError> {
    let (high, settling_ns) = most_incoming(stage, options, (way, size, kind), stop)?;
    let paces = paces(options, high, options.high.is_none() && way != Way::Mem);
    let (all, lengths, measured) = match options.by {
        Some(_) => elsewhere::with_settling(&paces, (options.step_ns, settling_ns)),
        None => (paces.clone(), vec![options.step_ns; paces.len()], (0..paces.len()).collect()),
    };
    let steps: Vec<Step> =
        lengths.into_iter().map(|length_ns| Step { pace: Pace::Flood, length_ns }).collect();
    let setup = RunSetup {
        wanted: Wanted {
            way,
            size,
            threads: 1,
            stamp: Method::Tx,
            each: EACH.max(way.usual_each()),
            through: None,
            reads: kind == Traffic::Answers && way != Way::Live,
            wall: Wall::default(),
        },
        batch: if way == Way::Mem { 64 } else { options.batch },
        steps,
        incoming: Some(Incoming { kind, size, paces: all, by: options.by.clone() }),
        stop,
    };
    let (mut outcomes, mut other) = (Vec::new(), None);
    let mut notes: Vec<String> = options.by.iter().filter_map(Elsewhere::remark).collect();
    for number in 1..=options.trials {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let outcome = match run::run(stage, &setup) {
            Ok(outcome) => outcome,
            Err(error) if outcomes.is_empty() && other.is_none() => return Err(error),
            Err(error) => {
                notes.push(format!("trial {number}: {error}; this trial and all later ones are missing"));
                break;
            }
        };
        let (said, counts) = under_traffic(&outcome);
        notes.extend(said.into_iter().map(|one| format!("trial {number}: {one}")));
        tell(&format!(
            "{way} {size} B under {}, trial {number} of {}: {}",
            kind.name(),
            options.trials,
            in_a_line(&outcome, &measured)
        ));
        if counts {
            outcomes.push(outcome);
        } else if !stop.load(Ordering::Relaxed) {
            other = Some(outcome);
        }
    }
    // One that does not count still tells where it was.
    let Some(shape) = outcomes.first().or(other.as_ref()) else {
        return Err(WeighError::Wrong(
            notes.pop().unwrap_or_else(|| "cut short before the end of the first trial".into()),
        ));
    };
    if way == Way::Live && kind == Traffic::Answers {
        notes.push("live receives nothing; the kernel receives what arrives".into());
    }
    Ok(found((&outcomes, shape), (way, size, kind), stage, (&paces, &measured), notes))
}

/// What sets a trial apart, and whether it still counts: not where the incoming traffic failed.
fn under_traffic(outcome: &Outcome) -> (Vec<String>, bool) {
    let (mut said, counts) = remarks(outcome);
    let failure = outcome.incoming_failure.as_ref();
    said.extend(outcome.incoming_remark.as_ref().map(|what| format!("incoming traffic: {what}")));
    said.extend(failure.map(|why| format!("incoming traffic: {why}; the trial does not count")));
    (said, counts && failure.is_none())
}

/// Silence, rising rates up to `high` or as fast as it goes, and silence.
fn paces(options: &Options, high: f64, is_flood: bool) -> Vec<Pace> {
    let rates = rising(options.low, high, options.steps);
    let mut paces = vec![Pace::Silence];
    paces.extend(rates.iter().map(|rate| Pace::Even(*rate)));
    if is_flood {
        paces.pop();
        paces.push(Pace::Flood);
    }
    paces.push(Pace::Silence);
    paces
}

/// Share of the rate before that is lost at the highest backload, and the rate after it, for each trial. Of the
/// mean rate before: so it is what the table's rates say.
pub(crate) fn fall_and_recovery(own: &[Vec<f64>], last: usize) -> (Vec<f64>, Vec<f64>) {
    if own.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let before = stats::mean(&own.iter().map(|rates| rates[0]).collect::<Vec<_>>());
    let of_before = |value: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
        own.iter().filter(|_| before > 0.0).map(|rates| value(rates) / before).collect()
    };
    // The step before the last is the highest backload.
    (of_before(&|rates| rates[0] - rates[last - 1]), of_before(&|rates| rates[last]))
}

pub(crate) fn phase(step: usize, steps: usize) -> String {
    match step {
        0 => "before",
        step if step + 1 == steps => "after",
        _ => "rising",
    }
    .to_owned()
}

/// Own rates along the steps: `612k 580k 431k → 610k`.
fn in_a_line(outcome: &Outcome, measured: &[usize]) -> String {
    let rates: Vec<String> =
        own_rates(outcome, measured).iter().map(|rate| format!("{:.0}k", rate / 1e3)).collect();
    let (last, first) =
        rates.split_last().map_or(("", [].as_slice()), |(last, first)| (last.as_str(), first));
    format!("{} → {last} packets/s sent", first.join(" "))
}

fn own_rates(outcome: &Outcome, measured: &[usize]) -> Vec<f64> {
    let packets = |step: usize| outcome.sent.steps.get(step).copied().unwrap_or(0) as f64;
    measured.iter().map(|step| packets(*step) * 1e9 / outcome.steps[*step].length_ns as f64).collect()
}

/// The highest rate of incoming frames, and how long a command has until they arrive.
fn most_incoming(
    stage: &Stage,
    options: &Options,
    (way, size, kind): (Way, usize, Traffic),
    stop: &AtomicBool,
) -> Result<(f64, u64), WeighError> {
    let high = match (options.high, way, &options.by) {
        (Some(high), ..) => high,
        (None, Way::Mem, _) => MEM_MOST_PER_S,
        (None, _, Some(by)) => return elsewhere::most(by, stage, (size, kind), stop),
        (None, _, None) => {
            let incoming = Incoming { kind, size, paces: vec![Pace::Flood], by: None };
            run::try_incoming(stage, &incoming, TRY_NS, stop)?
        }
    };
    Ok((high, elsewhere::SETTLING_NS))
}

/// Equal steps up to `high`: from `low` on, or from above it if that is silence, which there is before.
pub(crate) fn rising(low: f64, high: f64, steps: usize) -> Vec<f64> {
    if low > 0.0 && steps > 1 {
        return (0..steps).map(|n| low + (high - low) * n as f64 / (steps - 1) as f64).collect();
    }
    let steps = steps.max(1);
    (1..=steps).map(|n| low + (high - low) * n as f64 / steps as f64).collect()
}

/// What the trials that count say together: if none does, nothing. `shape` is one of those that ran.
fn found(
    (outcomes, shape): (&[Outcome], &Outcome),
    (way, size, kind): (Way, usize, Traffic),
    stage: &Stage,
    (paces, measured): (&[Pace], &[usize]),
    remarks: Vec<String>,
) -> weighing::Backload {
    let told = if outcomes.is_empty() { 0 } else { paces.len() };
    let own: Vec<Vec<f64>> = outcomes.iter().map(|outcome| own_rates(outcome, measured)).collect();
    let (fall, recovery) = fall_and_recovery(&own, paces.len() - 1);
    weighing::Backload {
        port: way.name().to_owned(),
        address: shape.address.clone(),
        simulated: false,
        size,
        kind: kind.name().to_owned(),
        against: if way == Way::Mem {
            "another thread of this process".into()
        } else {
            stage.against.clone()
        },
        steering: shape.steering.clone(),
        stamps: Stamps {
            method: shape.method.name().to_owned(),
            place: shape.place.clone(),
            why: shape.why.clone(),
            each: EACH.max(way.usual_each()),
            late_ns: None,
        },
        trials: outcomes.len(),
        steps: (0..told).map(|step| one_step(outcomes, &own, paces, (step, measured[step]))).collect(),
        fall: claims::of_fall(&fall),
        recovery: claims::of(&recovery),
        series: outcomes.first().map(with_incoming).unwrap_or_default(),
        remarks,
    }
}

/// Step `nth` of those that are told, which is step `step` of all.
fn one_step(
    outcomes: &[Outcome],
    own: &[Vec<f64>],
    paces: &[Pace],
    (nth, step): (usize, usize),
) -> BackloadStep {
    let over = |value: &dyn Fn(&Outcome) -> f64| -> Vec<f64> { outcomes.iter().map(value).collect() };
    let mean = |value: &dyn Fn(&Outcome) -> f64| stats::mean(&over(value));
    let seconds = |outcome: &Outcome| outcome.steps[step].length_ns as f64 / 1e9;
    let rates: Vec<f64> = own.iter().map(|rates| rates[nth]).collect();
    let times: Vec<f64> = outcomes
        .iter()
        .map(|outcome| &outcome.tally.steps[step])
        .filter(|times| times.count > 0)
        .map(super::tally::Differences::mean)
        .collect();
    let share = |value: fn(&super::usage::Shares) -> f64| {
        Some(mean(&|outcome: &Outcome| outcome.shares.get(step).map_or(0.0, value)))
    };
    BackloadStep {
        phase: phase(nth, paces.len()),
        offered_in_per_s: paces[nth].rate(),
        in_per_s: claims::of(&over(&|outcome| {
            outcome.incoming.get(step).copied().unwrap_or(0) as f64 / seconds(outcome)
        })),
        own_per_s: claims::of(&rates),
        mean_ns: claims::of(&times),
        dropped_in_per_s: mean(&|outcome| {
            outcome.shares.get(step).map_or(0.0, |shares| shares.backlog_drops as f64) / seconds(outcome)
        }),
        refused_per_s: mean(&|outcome| {
            let whole: f64 = outcome.steps.iter().map(|step| step.length_ns as f64 / 1e9).sum();
            outcome.sent.refused as f64 / whole
        }),
        user: share(|shares| shares.user),
        system: share(|shares| shares.system),
        softirq: share(|shares| shares.softirq),
        idle: share(|shares| shares.idle),
    }
}

/// Rate and mean time by stretches of time, and the incoming rate of their step.
fn with_incoming(outcome: &Outcome) -> Vec<weighing::Bin> {
    let mut bins = series(outcome);
    for bin in &mut bins {
        let at = ((bin.t_s + bin.length_s / 2.0) * 1e9) as u64;
        let step = outcome.timeline.ends_ns.iter().position(|end| at < *end);
        bin.in_per_s = step.map(|step| {
            outcome.incoming.get(step).copied().unwrap_or(0) as f64 * 1e9
                / outcome.steps[step].length_ns as f64
        });
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_rise_to_the_highest() {
        assert_eq!(rising(0.0, 100.0, 4), [25.0, 50.0, 75.0, 100.0]);
        assert_eq!(rising(40.0, 100.0, 3), [40.0, 70.0, 100.0]);
        assert_eq!(rising(40.0, 100.0, 1), [100.0]);
        assert_eq!(rising(0.0, 9.0, 0), [9.0]);
    }

    /// A trial of two steps with so many packets in each.
    pub(super) fn outcome(packets: [u64; 3], failure: Option<&str>) -> Outcome {
        let step = |pace| Step { pace, length_ns: 1_000_000_000 };
        let steps = vec![step(Pace::Flood); 3];
        let timeline = crate::tally::Timeline::new(0, crate::sender::Schedule::ends(&steps));
        let mut tally = crate::tally::Tally::new(timeline.clone());
        tally.add(1, 1_001);
        Outcome {
            sent: crate::sender::Sent {
                steps: packets.to_vec(),
                bins: vec![0; timeline.bins()],
                failure: failure.map(str::to_owned),
                ..Default::default()
            },
            tally,
            timeline,
            steps,
            method: Method::Tx,
            place: String::new(),
            why: String::new(),
            address: "udp:127.0.0.1:9".into(),
            clock_step: None,
            link_failure: None,
            neighbour: None,
            waited: 0.0,
            stood_still_ns: 0,
            shares: Vec::new(),
            incoming: vec![0, 50, 0],
            incoming_failure: None,
            incoming_remark: None,
            steering: String::new(),
            was_stopped: false,
            cpus: vec![0],
        }
    }

    /// What is said of trials, by way of what is kept of them.
    fn together(trials: Vec<Outcome>) -> weighing::Backload {
        let stage = Stage::loopback().unwrap();
        let shape = outcome([0; 3], None);
        let paces = [Pace::Silence, Pace::Even(50.0), Pace::Silence];
        let what = (Way::Udp, 64, Traffic::UdpClosed);
        let counting: Vec<Outcome> = trials.into_iter().filter(|one| under_traffic(one).1).collect();
        found((&counting, &shape), what, &stage, (&paces, &[0, 1, 2]), Vec::new())
    }

    #[test]
    fn a_trial_that_does_not_count_is_in_no_figure() {
        let bad = outcome([100, 0, 0], Some("no such device"));
        let found = together(vec![bad, outcome([100, 60, 90], None)]);
        assert_eq!((found.trials, found.steps[1].own_per_s.estimate), (1, 60.0));
        let failing = Outcome { incoming_failure: Some("no route".into()), ..outcome([100, 100, 100], None) };
        assert!(under_traffic(&failing).0[0].ends_with("no route; the trial does not count"));
        let found = together(vec![failing, outcome([100, 0, 0], Some("gone"))]);
        assert_eq!((found.trials, found.steps.len(), found.series.len()), (0, 0, 0));
        assert!(found.fall.refused.is_some() && found.fall.estimate == 0.0, "{:?}", found.fall);
    }

    #[test]
    fn an_interface_that_fails_and_a_wait_are_remarked() {
        let gone = Outcome { link_failure: Some("gen0 lost its link".into()), ..outcome([9; 3], None) };
        let (said, counts) = under_traffic(&gone);
        assert!(
            !counts && said[0] == "gen0 lost its link during the trial, which does not count",
            "{said:?}"
        );
        // It waited 0.3 s of 3; somebody ran for 4 s, on one CPU: elsewhere, then.
        let hz = rustix::param::clock_ticks_per_second();
        let neighbour = |seconds: u64| {
            Some(crate::neighbour::Neighbour { pid: 9, name: "x".into(), ticks: seconds * hz })
        };
        let of = |seconds| {
            let waiting = Outcome { waited: 0.1, neighbour: neighbour(seconds), ..outcome([9; 3], None) };
            under_traffic(&waiting)
        };
        assert!(of(4).0[0].contains("a sender waited 10.0 % of the time for CPU 0,"), "{:?}", of(4));
        // Two threads on one CPU wait for half of the time.
        let sharing = Outcome { waited: 0.52, cpus: vec![0, 0], ..outcome([9; 3], None) };
        assert_eq!(under_traffic(&sharing), (vec![], true));
        let still = |ms: u64| Outcome { stood_still_ns: ms * 1_000_000, ..outcome([9; 3], None) };
        assert_eq!(under_traffic(&still(90)), (vec![], true));
        let (said, counts) = under_traffic(&still(1_900));
        assert!(!counts && said[0].starts_with("this process stood still for 1.90 s"), "{said:?}");
        assert!(of(1).0[0].contains("noisy neighbour: 'x'") && of(1).0.len() == 1, "{:?}", of(1));
    }

    /// The kernel counts in ticks: whoever ran when one was counted is not who the generator waited for.
    #[test]
    fn nobody_is_blamed_for_a_tick() {
        let of = |ticks: u64| {
            let neighbour = Some(crate::neighbour::Neighbour { pid: 9, name: "x".into(), ticks });
            let mut short = Outcome { waited: 0.3, neighbour, ..outcome([9; 3], None) };
            short.steps.iter_mut().for_each(|step| step.length_ns = 10_000_000);
            under_traffic(&short).0.join("\n").contains("noisy neighbour")
        };
        assert!(!of(1) && !of(4), "a tick or a few are of anybody");
        assert!(of(5));
    }

    /// The null case: frames that come by the ring take nothing away that shows beside what a busy machine
    /// takes.
    #[test]
    fn through_mem_incoming_frames_come_and_are_counted() {
        let options = Options {
            ways: vec![Way::Mem],
            sizes: vec![64],
            kinds: vec![Traffic::Answers],
            high: Some(20_000.0),
            steps: 2,
            step_ns: 50_000_000,
            trials: 1,
            batch: 1,
            ..Options::default()
        };
        let stage = Stage::loopback().unwrap();
        let none = AtomicBool::new(false);
        let what = (Way::Mem, 64, Traffic::Answers);
        let found = weigh(&stage, &options, what, &none, &mut |_| ()).unwrap();
        assert_eq!(found.steps.len(), 4);
        let phases: Vec<&str> = found.steps.iter().map(|step| step.phase.as_str()).collect();
        assert_eq!(phases, ["before", "rising", "rising", "after"]);
        // 10 000 and 20 000 a second for 50 ms each: 500 and 1 000 frames, or somewhat fewer on a busy machine,
        // never more.
        for (step, most) in [(1, 10_000.0), (2, 20_000.0)] {
            let rate = found.steps[step].in_per_s.estimate;
            assert!(rate > 0.0 && rate <= most * 1.001, "{rate} of {most}");
        }
        assert_eq!(found.steps[0].in_per_s.estimate, 0.0);
        // On a busy machine, not in each of four times 50 ms.
        assert!(found.steps.iter().any(|step| step.own_per_s.estimate > 0.0));
        assert!(found.fall.refused.is_some(), "one trial has no interval");
    }
}
