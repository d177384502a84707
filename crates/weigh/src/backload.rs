//! Backload: what traffic *to* the generator takes away from what it creates.
//!
//! ```text
//!   own traffic   ████████████████████████████████████████   as fast as it goes, all the time
//!   incoming              ▁▁▁▁▃▃▃▃▅▅▅▅▇▇▇▇                   rising steps from another namespace, port and core
//!                 before  rising           after             one trial; figures of a step are over trials
//! ```
//!
//! Incoming frames are processed by the generator's own CPU, as those of a card whose interrupts come to it
//! would be (receive packet steering). Through `mem` they come by the same ring, past the kernel: that is the
//! null case, and its rate must not fall.

use crate::WeighError;
use crate::claims;
use crate::packets::{Tell, remarks, series};
use crate::run::{self, Incoming, Outcome, RunSetup};
use crate::sender::{Pace, Step};
use crate::stage::Stage;
use crate::stamps::Method;
use crate::wall::Wall;
use crate::ways::{Wanted, Way};
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
#[derive(Clone, Debug)]
pub struct Options {
    pub ways: Vec<Way>,
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
    let high = most_incoming(stage, options, (way, size, kind), stop)?;
    let rates = rising(options.low, high, options.steps);
    // Before and after: silence, twice as long, so that the comparison has as many packets.
    let mut paces = vec![Pace::Silence];
    paces.extend(rates.iter().map(|rate| Pace::Even(*rate)));
    if options.high.is_none() && way != Way::Mem {
        paces.pop();
        paces.push(Pace::Flood);
    }
    paces.push(Pace::Silence);
    let steps: Vec<Step> =
        paces.iter().map(|_| Step { pace: Pace::Flood, length_ns: options.step_ns }).collect();
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
        incoming: Some(Incoming { kind, size, paces: paces.clone() }),
        stop,
    };
    let mut outcomes = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    for number in 1..=options.trials {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let outcome = run::run(stage, &setup)?;
        let (said, counts) = remarks(&outcome);
        notes.extend(said.into_iter().map(|one| format!("trial {number}: {one}")));
        notes.extend(
            outcome.incoming_failure.as_ref().map(|why| format!("trial {number}: incoming traffic: {why}")),
        );
        tell(&format!(
            "{way} {size} B under {}, trial {number} of {}: {}",
            kind.name(),
            options.trials,
            in_a_line(&outcome)
        ));
        if counts || outcomes.is_empty() && !stop.load(Ordering::Relaxed) {
            outcomes.push(outcome);
        }
    }
    if outcomes.is_empty() {
        return Err(WeighError::Wrong(
            notes.pop().unwrap_or_else(|| "cut short before the end of the first trial".into()),
        ));
    }
    if way == Way::Live && kind == Traffic::Answers {
        notes.push("live receives nothing; the kernel receives what arrives".into());
    }
    Ok(found(&outcomes, (way, size, kind), stage, &paces, notes))
}

/// Own rates along the steps: `612k 580k 431k → 610k`.
fn in_a_line(outcome: &Outcome) -> String {
    let rates: Vec<String> = own_rates(outcome).iter().map(|rate| format!("{:.0}k", rate / 1e3)).collect();
    let (last, first) =
        rates.split_last().map_or(("", [].as_slice()), |(last, first)| (last.as_str(), first));
    format!("{} → {last} packets/s sent", first.join(" "))
}

fn own_rates(outcome: &Outcome) -> Vec<f64> {
    let steps = outcome.sent.steps.iter().zip(&outcome.steps);
    steps.map(|(packets, step)| *packets as f64 * 1e9 / step.length_ns as f64).collect()
}

fn most_incoming(
    stage: &Stage,
    options: &Options,
    (way, size, kind): (Way, usize, Traffic),
    stop: &AtomicBool,
) -> Result<f64, WeighError> {
    match (options.high, way) {
        (Some(high), _) => Ok(high),
        (None, Way::Mem) => Ok(MEM_MOST_PER_S),
        (None, _) => {
            let incoming = Incoming { kind, size, paces: vec![Pace::Flood] };
            run::try_incoming(stage, &incoming, TRY_NS, stop)
        }
    }
}

/// Equal steps from above `low` up to `high`.
fn rising(low: f64, high: f64, steps: usize) -> Vec<f64> {
    let steps = steps.max(1);
    (1..=steps).map(|n| low + (high - low) * n as f64 / steps as f64).collect()
}

/// What the trials say together.
fn found(
    outcomes: &[Outcome],
    (way, size, kind): (Way, usize, Traffic),
    stage: &Stage,
    paces: &[Pace],
    remarks: Vec<String>,
) -> weighing::Backload {
    let first = &outcomes[0];
    let own: Vec<Vec<f64>> = outcomes.iter().map(own_rates).collect();
    let last = paces.len() - 1;
    // The step before the last is the highest backload.
    let before = stats::mean(&own.iter().map(|rates| rates[0]).collect::<Vec<_>>());
    // Of the mean rate before it: so it is what the table's rates say.
    let of_before = |value: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
        own.iter().filter(|_| before > 0.0).map(|rates| value(rates) / before).collect()
    };
    let fall = of_before(&|rates| rates[0] - rates[last - 1]);
    let recovery = of_before(&|rates| rates[last]);
    weighing::Backload {
        port: way.name().to_owned(),
        address: first.address.clone(),
        size,
        kind: kind.name().to_owned(),
        against: if way == Way::Mem {
            "another thread of this process".into()
        } else {
            stage.against.clone()
        },
        steering: first.steering.clone(),
        stamps: Stamps {
            method: first.method.name().to_owned(),
            place: first.place.clone(),
            why: first.why.clone(),
            each: EACH.max(way.usual_each()),
            late_ns: None,
        },
        trials: outcomes.len(),
        steps: (0..paces.len()).map(|step| one_step(outcomes, &own, paces, step)).collect(),
        fall: claims::of_fall(&fall),
        recovery: claims::of(&recovery),
        series: with_incoming(first),
        remarks,
    }
}

fn one_step(outcomes: &[Outcome], own: &[Vec<f64>], paces: &[Pace], step: usize) -> BackloadStep {
    let over = |value: &dyn Fn(&Outcome) -> f64| -> Vec<f64> { outcomes.iter().map(value).collect() };
    let mean = |value: &dyn Fn(&Outcome) -> f64| stats::mean(&over(value));
    let seconds = |outcome: &Outcome| outcome.steps[step].length_ns as f64 / 1e9;
    let rates: Vec<f64> = own.iter().map(|rates| rates[step]).collect();
    let times: Vec<f64> = outcomes
        .iter()
        .map(|outcome| &outcome.tally.steps[step])
        .filter(|times| times.count > 0)
        .map(super::tally::Differences::mean)
        .collect();
    let share = |value: fn(&super::usage::Shares) -> f64| {
        mean(&|outcome: &Outcome| outcome.shares.get(step).map_or(0.0, value))
    };
    BackloadStep {
        phase: match step {
            0 => "before",
            step if step + 1 == paces.len() => "after",
            _ => "rising",
        }
        .to_owned(),
        offered_in_per_s: paces[step].rate(),
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
        assert_eq!(rising(40.0, 100.0, 2), [70.0, 100.0]);
        assert_eq!(rising(0.0, 9.0, 0), [9.0]);
    }

    /// The null case: frames that come by the ring take nothing away that shows beside what a busy machine
    /// takes.
    #[test]
    fn through_mem_incoming_frames_come_and_are_counted() {
        let options = Options {
            ways: vec![Way::Mem],
            sizes: vec![64],
            kinds: vec![Traffic::Answers],
            low: 0.0,
            high: Some(20_000.0),
            steps: 2,
            step_ns: 50_000_000,
            trials: 1,
            batch: 1,
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
        assert!(found.steps.iter().all(|step| step.own_per_s.estimate > 0.0));
        assert!(found.fall.refused.is_some(), "one trial has no interval");
    }
}
