//! What incoming traffic takes away from the module's generator: frames at line rate, while others come in at
//! rising rates. Of a simulation: what comes in to a board comes from another machine.
//!
//! ```text
//!   own    ···██████████████████████████████████   at line rate, from some time in the lead on
//!   in     ·lead·      ▁▁▁▁▃▃▃▃▅▅▅▅▇▇▇▇            a file that the simulation plays
//!               before  rising          after      one simulation; its record of the wire has both
//! ```

use super::departures::Departures;
use super::packets::{MOST_TRIALS, line_per_s};
use super::simulated::{Seen, simulate};
use super::traffic::Incoming;
use super::{heed, line_ticks};
use crate::backload::{Options, Traffic, fall_and_recovery, phase, rising};
use crate::packets::Tell;
use crate::{WeighError, claims};
use port::Address;
use port::fpga::Module;
use port::fpga::generator::{Even, Gap};
use port::fpga::registers::GOOD;
use port::fpga::time::{Captured, TICK_NS};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::weighing::{self, BackloadStep, Bin, Claim, Stamps};

/// Own frames of a step.
const FRAMES: u64 = 500;
/// Stretches that a step is drawn in.
const BINS: u64 = 5;
/// Simulated time until the generator has begun; longer if this host is too busy for that.
const LEAD_NS: u64 = 4_000_000;
const LONGER: u64 = 4;
const TRIES: usize = 4;
/// Silence behind all that comes in: longer than anybody looks.
const SILENCE_NS: u64 = 3_600_000_000_000;
const LOOK: Duration = Duration::from_millis(5);

/// When what comes in.
#[derive(Clone, Debug, PartialEq)]
struct Plan {
    /// Silence, rising rates, silence.
    rates: Vec<f64>,
    lead_ns: u64,
    step_ns: u64,
}

/// What one trial found, by step.
struct Trial {
    own: Vec<Departures>,
    incoming_per_s: Vec<f64>,
    series: Vec<Bin>,
    /// Incoming frames that the module did not receive whole.
    lost: u64,
}

/// Weighs a simulated module with one frame size and kind of traffic.
///
/// # Errors
/// It cannot be weighed; the message says why.
pub fn weigh(
    address: &Address,
    options: &Options,
    (size, kind): (usize, Traffic),
    stop: &AtomicBool,
    tell: Tell<'_>,
) -> Result<weighing::Backload, WeighError> {
    let mut plan = Plan::of(options, size)?;
    let incoming = Incoming::new(kind, size)?;
    let (mut trials, mut tries) = (Vec::new(), 0);
    let most = options.trials.min(MOST_TRIALS);
    while trials.len() < most {
        let number = trials.len() + 1;
        let trial = match trial(address, &plan, (&incoming, size), number, stop) {
            Ok(Some(trial)) => trial,
            Ok(None) if tries + 1 < TRIES => {
                (tries, plan.lead_ns) = (tries + 1, plan.lead_ns * LONGER);
                continue;
            }
            Ok(None) => {
                return Err(WeighError::Wrong(format!(
                    "{address}: this host is too busy to start the generator before the traffic"
                )));
            }
            Err(_) if heed(Some(stop)).is_err() && !trials.is_empty() => break,
            Err(error) => return Err(error),
        };
        tell(&format!(
            "{address} {size} B under {}, trial {number} of {most}: {}",
            kind.name(),
            in_a_line(&trial)
        ));
        trials.push(trial);
    }
    Ok(found(address, &plan, (size, kind), &trials))
}

impl Plan {
    fn of(options: &Options, size: usize) -> Result<Self, WeighError> {
        let line = line_per_s(size);
        let high = options.high.unwrap_or(line);
        if high > line.ceil() {
            return Err(WeighError::Wrong(format!(
                "{high:.0} frames/s of {size} bytes are more than the wire's {line:.0}; lower --backload"
            )));
        }
        let mut rates = vec![0.0];
        rates.extend(rising(options.low, high.min(line), options.steps));
        rates.push(0.0);
        Ok(Self { rates, lead_ns: LEAD_NS, step_ns: FRAMES * line_ticks(size) * TICK_NS })
    }

    fn step(&self, nth: usize) -> Range<u64> {
        let from = self.lead_ns + nth as u64 * self.step_ns;
        from..from + self.step_ns
    }

    fn end_ns(&self) -> u64 {
        self.lead_ns + self.rates.len() as u64 * self.step_ns
    }

    /// Frames of all steps, evenly within each: the first after half a gap, so that less than one in a
    /// step is none.
    fn rising(&self) -> impl Iterator<Item = u64> {
        self.rates.iter().enumerate().flat_map(|(nth, rate)| {
            let step = self.step(nth);
            let gap_ns = if *rate > 0.0 { 1e9 / rate } else { f64::INFINITY };
            let times =
                (0_u64..).map(move |n| step.start.saturating_add(((n as f64 + 0.5) * gap_ns).round() as u64));
            times.take_while(move |at| step.contains(at))
        })
    }

    /// The file: one at the beginning, from which times count, all that rise, and one that never comes.
    fn file(&self, incoming: &Incoming) -> Vec<u8> {
        let last = self.end_ns() + SILENCE_NS;
        incoming.at(std::iter::once(0).chain(self.rising()).chain(std::iter::once(last)))
    }
}

/// One simulation; `None` if the generator began too late.
fn trial(
    address: &Address,
    plan: &Plan,
    (incoming, size): (&Incoming, usize),
    number: usize,
    stop: &AtomicBool,
) -> Result<Option<Trial>, WeighError> {
    let traffic = plan.file(incoming);
    let ((clock, good), seen) =
        simulate(address, Some(&traffic), number, |module| drive(module, plan, size, stop))?;
    let own: Vec<Departures> =
        (0..plan.rates.len()).map(|nth| Departures::within(&seen, &clock, &plan.step(nth))).collect();
    let begun = seen.iter().find(|one| one.due.is_some()).map(|one| one.at_ns);
    if begun.is_none_or(|begun| begun >= plan.lead_ns) {
        return Ok(None);
    }
    let expected = plan.rising().count() as u64;
    Ok(Some(Trial {
        own,
        incoming_per_s: (0..plan.rates.len()).map(|nth| incoming_per_s(&seen, &plan.step(nth))).collect(),
        series: series(plan, &seen, &clock),
        lost: expected.saturating_sub(good),
    }))
}

/// Has the generator send until all steps are over; its clock, and how many frames were received whole.
fn drive(
    module: &Module,
    plan: &Plan,
    size: usize,
    stop: &AtomicBool,
) -> Result<(Captured, u64), WeighError> {
    let slot = line_ticks(size);
    let frames = u32::try_from(plan.end_ns() / TICK_NS / slot + 1);
    let (Ok(frames), Some(gap)) = (frames, Gap::of(slot, 1)) else {
        return Err(WeighError::Wrong("the generator cannot send for so long".into()));
    };
    module.stop()?;
    Even { size, frames, gap }.begin(module)?;
    loop {
        let captured = module.exchange()?.captured;
        if captured.tick * TICK_NS > plan.end_ns() {
            // What came in in the last step was received long ago.
            return Ok((captured, module.read(&GOOD)?));
        }
        heed(Some(stop))?;
        std::thread::sleep(LOOK);
    }
}

fn incoming_per_s(seen: &[Seen], step: &Range<u64>) -> f64 {
    let count = seen.iter().filter(|one| one.due.is_none() && step.contains(&one.at_ns)).count();
    count as f64 * 1e9 / (step.end - step.start) as f64
}

/// Own rates along the steps: `1488k 1488k → 1488k packets/s sent`.
fn in_a_line(trial: &Trial) -> String {
    let rates: Vec<String> = trial.own.iter().map(|own| format!("{:.0}k", own.per_s() / 1e3)).collect();
    let (last, first) = rates.split_last().map_or(("", &[][..]), |(last, first)| (last.as_str(), first));
    format!("{} → {last} packets/s sent (simulated)", first.join(" "))
}

fn found(
    address: &Address,
    plan: &Plan,
    (size, kind): (usize, Traffic),
    trials: &[Trial],
) -> weighing::Backload {
    let own: Vec<Vec<f64>> =
        trials.iter().map(|trial| trial.own.iter().map(Departures::per_s).collect()).collect();
    let (fall, recovery) = fall_and_recovery(&own, plan.rates.len() - 1);
    let steps: Vec<BackloadStep> = (0..plan.rates.len()).map(|nth| one_step(plan, trials, nth)).collect();
    let lost: u64 = trials.iter().map(|trial| trial.lost).sum();
    let mut remarks = vec![format!(
        "the generator sends at line rate; there is no kernel behind the module, so {} only says what the \
         frames look like",
        kind.name()
    )];
    if lost > 0 {
        remarks.push(format!("{lost} incoming frames were not received whole"));
    }
    weighing::Backload {
        port: address.to_string(),
        address: address.to_string(),
        simulated: true,
        size,
        kind: kind.name().to_owned(),
        against: "frames that the simulation plays on the module's wire".into(),
        steering: "played on the simulated wire; the module receives and counts them".into(),
        stamps: Stamps {
            method: "wire".into(),
            place: "the simulation's record of the wire".into(),
            why: "it has when each frame's preamble begins, in simulated time".into(),
            each: 1,
            late_ns: None,
        },
        trials: trials.len(),
        series: trials.first().map_or_else(Vec::new, |trial| trial.series.clone()),
        steps,
        fall: claims::of_simulated(&fall),
        recovery: claims::of_simulated(&recovery),
        remarks,
    }
}

fn one_step(plan: &Plan, trials: &[Trial], nth: usize) -> BackloadStep {
    let over = |value: &dyn Fn(&Trial) -> f64| -> Claim {
        claims::of_simulated(&trials.iter().map(value).collect::<Vec<_>>())
    };
    let is_rising = plan.rates[nth] > 0.0;
    // When in the rising steps a frame was lost is not known.
    let seconds = (plan.rates.len() - 2) as f64 * plan.step_ns as f64 / 1e9;
    let lost: u64 = trials.iter().map(|trial| trial.lost).sum();
    BackloadStep {
        phase: phase(nth, plan.rates.len()),
        offered_in_per_s: Some(plan.rates[nth]),
        in_per_s: over(&|trial| trial.incoming_per_s[nth]),
        own_per_s: over(&|trial| trial.own[nth].per_s()),
        mean_ns: over(&|trial| trial.own[nth].times.mean()),
        dropped_in_per_s: if is_rising { lost as f64 / trials.len().max(1) as f64 / seconds } else { 0.0 },
        // No CPU takes part.
        ..BackloadStep::default()
    }
}

/// Stretches of each step, from the first on.
fn series(plan: &Plan, seen: &[Seen], clock: &Captured) -> Vec<Bin> {
    let length_ns = plan.step_ns / BINS;
    let one = |n: u64| {
        let stretch = plan.lead_ns + n * length_ns..plan.lead_ns + (n + 1) * length_ns;
        let own = Departures::within(seen, clock, &stretch);
        Bin {
            t_s: (n * length_ns) as f64 / 1e9,
            length_s: length_ns as f64 / 1e9,
            own_per_s: own.per_s(),
            in_per_s: Some(incoming_per_s(seen, &stretch)),
            mean_ns: Some(own.times.mean()),
        }
    };
    (0..plan.rates.len() as u64 * BINS).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::Stamp;
    use wire::signature::EPOCH_UNIX_NS;

    fn options(low: f64, high: Option<f64>, steps: usize) -> Options {
        Options { low, high, steps, trials: 1, ..Options::default() }
    }

    #[test]
    fn traffic_rises_to_line_rate_and_ends() {
        let plan = Plan::of(&options(0.0, None, 2), 64).unwrap();
        let line = line_per_s(64);
        assert_eq!(plan.rates, [0.0, line / 2.0, line, 0.0]);
        // 500 · 84 ticks.
        assert_eq!((plan.step_ns, plan.end_ns()), (336_000, LEAD_NS + 4 * 336_000));
        let times: Vec<u64> = plan.rising().collect();
        assert_eq!(times.len(), 250 + 500);
        assert_eq!((times[0], times[1]), (LEAD_NS + 336_000 + 672, LEAD_NS + 336_000 + 2_016));
        assert_eq!((times[250], times[251]), (LEAD_NS + 672_336, LEAD_NS + 673_008));
        assert!(times.windows(2).all(|two| two[1] - two[0] >= 672), "more than the wire has");
        assert_eq!(Plan::of(&options(0.0, Some(10.0), 1), 64).unwrap().rising().count(), 0);
        let error = Plan::of(&options(0.0, Some(2e6), 2), 64).unwrap_err().to_string();
        assert!(error.contains("more than the wire's 1488095"), "{error}");
    }

    #[test]
    fn a_step_has_the_rates_of_its_frames() {
        let plan = Plan { rates: vec![0.0, 5e5, 0.0], lead_ns: 1_000, step_ns: 10_000 };
        let clock = Captured { ns: 0, tick: 0 };
        let own = |n: u64| Seen { at_ns: n * 672 + 40, due: Some(Stamp(EPOCH_UNIX_NS + n * 672)) };
        let mut seen: Vec<Seen> = (0..60).map(own).collect();
        seen.extend(plan.rising().map(|at_ns| Seen { at_ns, due: None }));
        let trial = Trial {
            own: (0..3).map(|nth| Departures::within(&seen, &clock, &plan.step(nth))).collect(),
            incoming_per_s: (0..3).map(|nth| incoming_per_s(&seen, &plan.step(nth))).collect(),
            series: series(&plan, &seen, &clock),
            lost: 2,
        };
        let address = "fpga:sim".parse().unwrap();
        let found = found(&address, &plan, (64, Traffic::UdpClosed), &[trial]);
        let rates: Vec<f64> = found.steps.iter().map(|step| step.own_per_s.estimate).collect();
        assert_eq!(rates, [1e9 / 672.0; 3]);
        assert!(found.steps.iter().all(|step| step.mean_ns.estimate == 40.0), "{:?}", found.steps);
        // Every 2 µs for 10 µs; two of those are lost.
        assert_eq!((found.steps[0].in_per_s.estimate, found.steps[1].in_per_s.estimate), (0.0, 5e5));
        assert!((found.steps[1].dropped_in_per_s - 2e5).abs() < 1e-6, "{}", found.steps[1].dropped_in_per_s);
        assert_eq!(found.steps[2].dropped_in_per_s, 0.0);
        assert_eq!((found.fall.estimate, found.recovery.estimate, found.simulated), (0.0, 1.0, true));
        assert!(found.remarks.iter().any(|one| one.starts_with("2 incoming frames")), "{:?}", found.remarks);
        assert_eq!(found.steps[1].idle, None);
        // A frame comes in in the middle of each stretch of 2 µs.
        assert_eq!(
            (found.series.len(), found.series[4].in_per_s, found.series[5].in_per_s),
            (15, Some(0.0), Some(5e5))
        );
    }
}
