//! The study's method for the module: how long after it was due a frame begins to leave, at rates that rise to
//! line rate. The module's own generator makes the frames, so no CPU of this host is part of it.
//!
//! ```text
//!   trial:  1/10, 2/10, … 10/10 of line rate ─► Departures of each
//! ```

use super::departures::{Counted, Departures};
use super::simulated::{Seen, simulate};
use super::{heed, is_simulated, line_ticks, received, until_done};
use crate::packets::{Options, Tell};
use crate::tally::Differences;
use crate::{WeighError, claims};
use port::Address;
use port::fpga::generator::{Even, Gap};
use port::fpga::registers::{LATE, LATE_TICKS, LATEST, SENT};
use port::fpga::time::{Captured, TICK_NS};
use port::fpga::{self, Module};
use std::sync::atomic::AtomicBool;
use store::weighing::{self, Bin, Packets, Stamps, Step, Summary, Trial};

/// Rates of a trial; the last is line rate.
const STEPS: u64 = 10;
/// Frames of a simulated trial, at most: a simulated second takes minutes.
const MOST_FRAMES: u64 = 2_000;
/// Trials of a simulation, at most: they are alike.
pub const MOST_TRIALS: usize = 3;
/// Ticks of a second.
const TICKS_PER_S: f64 = 1e9 / TICK_NS as f64;
/// Of line rate, which is kept above that.
const KEPT: f64 = 0.999;

/// What is sent at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rate {
    frames: u32,
    gap: Gap,
}

/// Weighs a module with one frame size.
///
/// # Errors
/// It cannot be reached, or frames are missing.
pub fn weigh(
    address: &Address,
    options: &Options,
    size: usize,
    stop: &AtomicBool,
    tell: Tell<'_>,
) -> Result<Packets, WeighError> {
    let rates = rates(options, size, is_simulated(address))?;
    let trials = if is_simulated(address) { options.trials.min(MOST_TRIALS) } else { options.trials };
    let mut found = Packets { size, ..about(address) };
    for number in 1..=trials {
        let steps = match trial(address, size, &rates, number, stop) {
            Ok(steps) => steps,
            Err(_) if heed(Some(stop)).is_err() => break,
            Err(error) => return Err(error),
        };
        let trial = told(&rates, &steps);
        tell(&format!(
            "{address} {size} B, trial {number} of {trials}: {} packets, {:.3} µs each, peak {:.0}/s",
            trial.overall.packets,
            trial.overall.mean_ns / 1e3,
            trial.peak.rate_per_s
        ));
        found.series = series(&steps);
        found.trials.push(trial);
    }
    found.threads_why = makers(&found.trials, line_per_s(size));
    (found.overall, found.peak) = summaries(&found.trials, is_simulated(address));
    let at_peak = found.peak.mean_ns.estimate;
    found.theoretical_per_s = if at_peak > 0.0 { 1e9 / at_peak } else { 0.0 };
    Ok(found)
}

/// Frames a second at line rate.
pub fn line_per_s(size: usize) -> f64 {
    TICKS_PER_S / line_ticks(size) as f64
}

/// Equal lengths of time at 1/10, 2/10, … of line rate, about as many packets as asked for: Σ = 5.5 · line ·
/// length of a step.
fn rates(options: &Options, size: usize, is_simulated: bool) -> Result<Vec<Rate>, WeighError> {
    let shares = (1..=STEPS).sum::<u64>();
    let longest = line_per_s(size) * options.longest_ns as f64 / 1e9 * shares as f64 / (STEPS * STEPS) as f64;
    let most = if is_simulated { MOST_FRAMES } else { (longest as u64).max(shares) };
    let packets = options.packets.min(most);
    let one = |n: u64| {
        let frames = u32::try_from((packets * n / shares).max(2));
        let gap = Gap::of(line_ticks(size) * STEPS, n);
        Some(Rate { frames: frames.ok()?, gap: gap? })
    };
    let wrong = || WeighError::Wrong(format!("the module's generator cannot make {packets} frames"));
    (1..=STEPS).map(one).collect::<Option<_>>().ok_or_else(wrong)
}

fn about(address: &Address) -> Packets {
    let simulated = is_simulated(address);
    let (method, place, why, against) = match simulated {
        true => (
            "wire",
            "the simulation's record of the wire",
            "it has when each frame's preamble begins, in simulated time; the frame says when it was due",
            "a cable from the simulated module's transmitter to its receiver",
        ),
        false => (
            "module",
            "the module's counters of lateness",
            "at its gate; they have sum and maximum, so S/√n is an upper bound, and the rate a lower one",
            "the board's wire",
        ),
    };
    Packets {
        port: address.to_string(),
        address: address.to_string(),
        simulated,
        against: against.into(),
        stamps: Stamps {
            method: method.into(),
            place: place.into(),
            why: why.into(),
            each: 1,
            ..Stamps::default()
        },
        ..Packets::default()
    }
}

/// One trial: what left at each rate.
fn trial(
    address: &Address,
    size: usize,
    rates: &[Rate],
    number: usize,
    stop: &AtomicBool,
) -> Result<Vec<Departures>, WeighError> {
    if !is_simulated(address) {
        let module = fpga::connect(address)?;
        return rates.iter().map(|rate| counted(&module, size, *rate, stop)).collect();
    }
    let (clock, seen) = simulate(address, None, number, |module| {
        for rate in rates {
            send(module, size, *rate, stop)?;
            // They are on the wire when the last has come back.
            received(module, rate.frames)?;
        }
        Ok(module.exchange()?.captured)
    })?;
    by_rate(&seen, rates, &clock).map_err(|why| WeighError::Wrong(format!("{address}: {why}")))
}

fn send(module: &Module, size: usize, rate: Rate, stop: &AtomicBool) -> Result<(), WeighError> {
    module.stop()?;
    Even { size, frames: rate.frames, gap: rate.gap }.begin(module)?;
    let done = until_done(module, Some(stop));
    if done.is_err() {
        // A board would go on.
        let _ = module.stop();
    }
    done
}

/// By a board's counters.
fn counted(module: &Module, size: usize, rate: Rate, stop: &AtomicBool) -> Result<Departures, WeighError> {
    send(module, size, rate, stop)?;
    let values = module.read_all(&[&SENT, &LATE, &LATE_TICKS, &LATEST])?;
    let [sent, late, late_ticks, latest] = [0, 1, 2, 3].map(|n| values.get(n).copied().unwrap_or(0));
    if sent < u64::from(rate.frames) {
        let (name, frames) = (module.name(), rate.frames);
        return Err(WeighError::Wrong(format!("{name}: only {sent} of {frames} frames left the module")));
    }
    let counted = Counted { sent, late, late_ticks, latest };
    Ok(Departures::counted(&counted, rate.gap.due(u64::from(rate.frames) - 1)))
}

/// What left, in order, by rate.
fn by_rate(seen: &[Seen], rates: &[Rate], clock: &Captured) -> Result<Vec<Departures>, String> {
    let mut left = seen.iter().filter(|one| one.due.is_some());
    let mut all = Vec::new();
    for rate in rates {
        let mut departures = Departures::default();
        left.by_ref().take(rate.frames as usize).for_each(|one| departures.left(one, clock));
        if departures.frames < u64::from(rate.frames) {
            return Err(format!("the wire had {} of {} frames", departures.frames, rate.frames));
        }
        all.push(departures);
    }
    Ok(all)
}

fn told(rates: &[Rate], steps: &[Departures]) -> Trial {
    let mut whole = Differences::default();
    steps.iter().for_each(|step| whole.merge(&step.times));
    let (frames, seconds) =
        (steps.iter().map(|step| step.frames).sum(), steps.iter().map(Departures::seconds).sum());
    let fastest = steps.iter().max_by(|a, b| a.per_s().total_cmp(&b.per_s()));
    let peak = fastest.map_or_else(weighing::Times::default, |step| weighing::Times {
        rate_per_s: step.per_s(),
        ..step.times.times(step.frames, 0.0)
    });
    let row = |(rate, step): (&Rate, &Departures)| Step {
        offered_per_s: Some(TICKS_PER_S / rate.gap.as_ticks()),
        achieved_per_s: step.per_s(),
        mean_ns: step.times.mean(),
    };
    Trial {
        overall: whole.times(frames, seconds),
        peak,
        steps: rates.iter().zip(steps).map(row).collect(),
        counts: true,
        ..Trial::default()
    }
}

/// The rates one after the other, in the module's time without what is between them.
fn series(steps: &[Departures]) -> Vec<Bin> {
    let mut t_s = 0.0;
    let one = |step: &Departures| {
        let from = t_s;
        t_s += step.seconds();
        let mean_ns = Some(step.times.mean());
        Bin { t_s: from, length_s: step.seconds(), own_per_s: step.per_s(), in_per_s: None, mean_ns }
    };
    steps.iter().map(one).collect()
}

/// Who makes the frames, and how well.
fn makers(trials: &[Trial], line_per_s: f64) -> String {
    let are_kept = trials.iter().all(|trial| trial.peak.rate_per_s >= KEPT * line_per_s);
    let are_alike = trials.iter().all(|trial| trial.peak.min_ns == trial.peak.max_ns);
    let kept = match (are_kept, are_alike) {
        (true, true) => {
            "the peak is line rate, and each frame of it left as long after it was due as any other"
        }
        (true, false) => "the peak is line rate",
        (false, _) => "line rate was not reached",
    };
    format!("the module's own generator makes the frames, no thread; {kept}")
}

/// Of all trials: overall, and at the peak.
fn summaries(trials: &[Trial], is_simulated: bool) -> (Summary, Summary) {
    let claim = if is_simulated { claims::of_simulated } else { claims::of };
    let of = |part: fn(&Trial) -> &weighing::Times| {
        let all: Vec<&weighing::Times> = trials.iter().map(part).collect();
        let over =
            |value: fn(&weighing::Times) -> f64| -> Vec<f64> { all.iter().map(|one| value(one)).collect() };
        let least = over(|one| one.min_ns).into_iter().fold(f64::INFINITY, f64::min);
        Summary {
            trials: all.len(),
            packets: all.iter().map(|one| one.packets).sum(),
            negative: all.iter().map(|one| one.negative).sum(),
            min_ns: if least.is_finite() { least } else { 0.0 },
            max_ns: over(|one| one.max_ns).into_iter().fold(0.0, f64::max),
            mean_ns: claim(&over(|one| one.mean_ns)),
            rate_per_s: claim(&over(|one| one.rate_per_s)),
        }
    };
    (of(|trial| &trial.overall), of(|trial| &trial.peak))
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::Stamp;
    use wire::signature::EPOCH_UNIX_NS;

    fn options(packets: u64, longest_ns: u64) -> Options {
        Options { packets, longest_ns, ..Options::default() }
    }

    #[test]
    fn rates_rise_to_line_rate_with_as_many_frames_as_asked_for() {
        // A frame of 64 bytes takes 84 ticks: 1 488 095 a second.
        let rates = super::rates(&options(1_000_000, 20_000_000_000), 64, true).unwrap();
        assert_eq!(rates.len(), 10);
        // 2 000 · n / 55.
        assert_eq!((rates[0].frames, rates[9].frames), (36, 363));
        assert_eq!((rates[0].gap.as_ticks(), rates[9].gap.as_ticks()), (840.0, 84.0));
        assert!((line_per_s(64) - 1_488_095.24).abs() < 0.01);
        // A board in at most a second, a tenth of it for each: 81 274 · 0.55 = 44 700 frames.
        let rates = super::rates(&options(1_000_000, 1_000_000_000), 1_518, false).unwrap();
        assert_eq!(rates[9].frames, 44_700 * 10 / 55);
    }

    #[test]
    fn a_trial_has_its_peak_at_line_rate() {
        let clock = Captured { ns: 0, tick: 0 };
        let rate = |frames, ticks| Rate { frames, gap: Gap::of(ticks, 1).unwrap() };
        let rates = [rate(2, 840), rate(4, 84)];
        // 5 ticks after they were due.
        let seen = |due: u64| Seen { at_ns: due + 40, due: Some(Stamp(EPOCH_UNIX_NS + due)) };
        let mut all: Vec<Seen> = [0, 6_720].map(seen).to_vec();
        all.extend([90_000, 90_672, 91_344, 92_016].map(seen));
        let steps = by_rate(&all, &rates, &clock).unwrap();
        let trial = told(&rates, &steps);
        assert_eq!((trial.overall.packets, trial.overall.mean_ns, trial.overall.error_ns), (6, 40.0, 0.0));
        assert_eq!((trial.peak.packets, trial.peak.rate_per_s), (4, 1e9 / 672.0));
        assert_eq!(trial.steps[0].offered_per_s, Some(1e9 / 6_720.0));
        assert_eq!(trial.steps[0].achieved_per_s, 1e9 / 6_720.0);
        let trials = [trial];
        let said = makers(&trials, 1e9 / 672.0);
        assert!(said.contains("the peak is line rate, and each frame"), "{said}");
        assert!(makers(&trials, 2e9 / 672.0).contains("not reached"));
        assert!(by_rate(&all[..5], &rates, &clock).unwrap_err().contains("3 of 4"));
    }
}
