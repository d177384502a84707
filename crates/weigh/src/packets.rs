//! The study's method: how long the system takes for a packet, at a rate that rises to the peak.
//!
//! ```text
//!   threads:  1, 2, … at full speed: loss of stamps ─► as many as keep it under 5 %
//!   trial:    steps of rate up to the peak, about as many packets as asked for
//!             ─► packets, mean, least, most, S/√n
//!   trials:   x̄ ± t · s/√n of the trials' means; overall, and in the step with the highest rate
//! ```

mod remarks;
mod steps;

pub(super) use remarks::remarks;

use crate::WeighError;
use crate::claims;
use crate::run::{self, Outcome, RunSetup};
use crate::sender::Pace;
use crate::stage::Stage;
use crate::stamps::{Method, Tracepoint};
use crate::tally::Differences;
use crate::wall::{Told, Wall};
use crate::ways::{Wanted, Way};
use port::Address;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use steps::steps;
use store::weighing::{self, Bin, ByThreads, Packets, Stamps, Summary, Trial};

/// Loss of stamps up to which threads are added, as in the study.
pub const MOST_LOSS: f64 = 0.05;
/// Loss at which the curve ends.
const ENOUGH_LOSS: f64 = 0.5;
const MOST_THREADS: usize = 8;
/// Length of one point of the curve.
const TRY_NS: u64 = 250_000_000;
/// Stretches that tell what a stamp costs.
const STRETCHES: usize = 3;
/// Stamps that may be lost in one of them.
const FEW_LOST: f64 = 0.01;
/// How it is weighed.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub ways: Vec<Way>,
    /// FPGA modules, which are weighed by [`crate::module::packets`].
    pub modules: Vec<Address>,
    pub sizes: Vec<usize>,
    pub trials: usize,
    /// Of each trial, about.
    pub packets: u64,
    /// No trial is longer.
    pub longest_ns: u64,
    /// `None`: by the curve.
    pub threads: Option<usize>,
    pub capture: bool,
    /// `None`: as many as each port's stamps keep up with.
    pub each: Option<u64>,
    pub batch: Option<usize>,
    pub through: Option<String>,
    pub wall: Wall,
}

impl Options {
    fn wanted(&self, way: Way, size: usize, threads: usize) -> Wanted {
        Wanted {
            way,
            size,
            threads,
            stamp: if self.capture { Method::Capture } else { Method::Tx },
            each: self.each.unwrap_or(way.usual_each()),
            through: self.through.clone(),
            reads: false,
            wall: self.wall.clone(),
        }
    }

    fn batch(&self, way: Way) -> usize {
        self.batch.unwrap_or(if way == Way::Mem { 64 } else { 1 })
    }
}

/// What is told while it goes on.
pub type Tell<'a> = &'a mut dyn FnMut(&str);

/// Weighs one port with one frame size.
///
/// # Errors
/// The port cannot be weighed here; the message says why.
pub fn weigh(
    stage: &Stage,
    options: &Options,
    way: Way,
    size: usize,
    stop: &AtomicBool,
    tell: Tell<'_>,
) -> Result<Packets, WeighError> {
    let late_ns = own_cost(stage, options, way, size, stop);
    let curve = threads(stage, options, way, size, stop, tell)?;
    let setup = RunSetup {
        wanted: options.wanted(way, size, curve.threads),
        batch: options.batch(way),
        steps: steps(curve.peak_per_s, options, way),
        incoming: None,
        stop,
    };
    let mut found = Packets {
        port: way.name().to_owned(),
        size,
        against: if way == Way::Mem {
            "another thread of this process".into()
        } else {
            stage.against.clone()
        },
        batch: setup.batch,
        threads: curve.threads,
        threads_why: curve.why,
        by_threads: curve.points,
        ..Packets::default()
    };
    for number in 1..=options.trials {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let outcome = run::run(stage, &setup)?;
        let trial = trial(&outcome);
        tell(&format!(
            "{way} {size} B, trial {number} of {}: {} packets, {:.2} µs each, peak {:.0}/s{}",
            options.trials,
            trial.overall.packets,
            trial.overall.mean_ns / 1e3,
            trial.peak.rate_per_s,
            trial.remarks.first().map_or(String::new(), |remark| format!(" ({remark})"))
        ));
        if number == 1 {
            (found.stamps, found.address) = (stamps(&outcome, setup.wanted.each), outcome.address.clone());
            found.stamps.late_ns = late_ns.filter(|_| outcome.method == Method::Tx);
        }
        if trial.counts || found.series.is_empty() {
            found.series = series(&outcome);
        }
        found.trials.push(trial);
    }
    (found.overall, found.peak) = summaries(&found.trials);
    let at_peak = found.peak.mean_ns.estimate;
    found.theoretical_per_s = if at_peak > 0.0 { 1e9 / at_peak } else { 0.0 };
    Ok(found)
}

/// What a driver's stamp costs itself: the median of a few short stretches under a tracepoint. `None` where
/// there is no such stamp, no privilege, or where frames pass no tracepoint (those of packet sockets, which go
/// past the queueing discipline).
fn own_cost(stage: &Stage, options: &Options, way: Way, size: usize, stop: &AtomicBool) -> Option<f64> {
    if way != Way::Udp || options.capture || options.through.is_some() || options.wall.is_moved() {
        return None;
    }
    let one = |_| {
        let wall = Wall::default().offset();
        let told = Arc::new(Told::new((wall.wall_ns + wall.monotonic_ns as i64) as u64));
        let wanted = Wanted { wall: Wall::written_to(told.clone()), ..options.wanted(way, size, 1) };
        let setup = RunSetup { wanted, batch: 1, steps: Vec::new(), incoming: None, stop };
        let tracepoint = Tracepoint::attach(wall.monotonic_ns).ok()?;
        let outcome = run::try_flood(stage, &setup, TRY_NS).ok()?;
        let ((handed, sum), (passed, passed_sum)) = (told.totals(), tracepoint.totals());
        let is_whole = outcome.method == Method::Tx && handed == passed && outcome.loss() < FEW_LOST;
        let stamped = outcome.tally.whole();
        (is_whole && stamped.count > 0)
            .then(|| stamped.mean() - (passed_sum as f64 - sum as f64) / handed as f64)
    };
    // A neighbour, or stamps that are lost, may spoil some.
    let good = (0..2 * STRETCHES).filter_map(one).filter(|late| *late > 0.0);
    let mut found: Vec<f64> = good.take(STRETCHES).collect();
    found.sort_by(f64::total_cmp);
    found.get(found.len() / 2).copied()
}

/// How many threads, and how fast they are.
struct Curve {
    points: Vec<ByThreads>,
    threads: usize,
    peak_per_s: f64,
    why: String,
}

fn threads(
    stage: &Stage,
    options: &Options,
    way: Way,
    size: usize,
    stop: &AtomicBool,
    tell: Tell<'_>,
) -> Result<Curve, WeighError> {
    let mut points: Vec<ByThreads> = Vec::new();
    let most = options.threads.unwrap_or_else(|| MOST_THREADS.min(2 * run::cpus(1).1 as usize + 2));
    let least = options.threads.unwrap_or(1);
    let mut ended = format!("at most {most} were tried");
    for threads in least..=most {
        let setup = RunSetup {
            wanted: options.wanted(way, size, threads),
            batch: options.batch(way),
            steps: Vec::new(),
            incoming: None,
            stop,
        };
        let outcome = match run::try_flood(stage, &setup, TRY_NS) {
            Ok(outcome) => outcome,
            Err(error) if points.is_empty() => return Err(error),
            Err(error) => {
                ended = format!("more than {} are not possible: {error}", threads - 1);
                break;
            }
        };
        if let Some(failure) = outcome.sent.failure.clone().filter(|_| outcome.sent.packets() == 0) {
            return Err(WeighError::Wrong(failure));
        }
        let seconds = TRY_NS as f64 / 1e9;
        let point = ByThreads {
            threads,
            sent_per_s: outcome.sent.packets() as f64 / seconds,
            stamped_per_s: outcome.tally.whole().stamped() as f64 * setup.wanted.each as f64 / seconds,
            loss: outcome.loss(),
        };
        points.push(point);
        tell(&format!(
            "{way} {size} B, {threads} thread(s) at full speed: {:.0}/s, {:.1} % of the timestamps lost",
            point.sent_per_s,
            point.loss * 100.0
        ));
        if stop.load(Ordering::Relaxed) {
            ended = "it was stopped".to_owned();
            break;
        }
        if point.loss >= ENOUGH_LOSS {
            ended = format!("with {threads}, half of the timestamps are lost");
            break;
        }
    }
    Ok(choose(points, &ended))
}

/// The threads that send most while no more than 5 % of the stamps are lost; the rate is lowered where one
/// thread is too fast for that.
fn choose(points: Vec<ByThreads>, ended: &str) -> Curve {
    let good = points.iter().filter(|point| point.loss < MOST_LOSS);
    let best = good.copied().max_by(|a, b| a.sent_per_s.total_cmp(&b.sent_per_s));
    match best {
        Some(best) => Curve {
            threads: best.threads,
            peak_per_s: best.sent_per_s,
            why: format!(
                "{} sent most with less than 5 % of the timestamps lost; {ended}",
                if best.threads == 1 { "one thread".to_owned() } else { format!("{} threads", best.threads) }
            ),
            points,
        },
        None => {
            let first = points.first().copied().unwrap_or_default();
            Curve {
                threads: first.threads.max(1),
                peak_per_s: first.sent_per_s,
                why: format!(
                    "{} lose {:.1} % of their timestamps at full speed; the peak is computed from the rest",
                    if first.threads == 1 {
                        "one thread's packets".to_owned()
                    } else {
                        format!("{} threads'", first.threads)
                    },
                    first.loss * 100.0
                ),
                points,
            }
        }
    }
}

fn stamps(outcome: &Outcome, each: u64) -> Stamps {
    let (method, place) = (outcome.method.name().to_owned(), outcome.place.clone());
    Stamps { method, place, why: outcome.why.clone(), each, late_ns: None }
}

/// What one run says.
fn trial(outcome: &Outcome) -> Trial {
    let steps = &outcome.steps;
    let seconds = |ns: u64| ns as f64 / 1e9;
    // Where the port stood still, what was due meanwhile left afterwards; without due times the step is
    // shorter.
    let lasted = |index: usize| {
        let (step, stood_ns) = (steps[index], outcome.sent.stood_ns.get(index).copied().unwrap_or(0));
        let is_shorter = step.pace == Pace::Flood && stood_ns < step.length_ns;
        seconds(if is_shorter { step.length_ns - stood_ns } else { step.length_ns })
    };
    let rows: Vec<weighing::Step> = (0..steps.len())
        .map(|index| weighing::Step {
            offered_per_s: steps[index].pace.rate(),
            achieved_per_s: outcome.sent.steps[index] as f64 / lasted(index),
            mean_ns: outcome.tally.steps[index].mean(),
        })
        .collect();
    let fastest = (0..rows.len())
        .max_by(|a, b| rows[*a].achieved_per_s.total_cmp(&rows[*b].achieved_per_s))
        .unwrap_or(0);
    let whole: Differences = outcome.tally.whole();
    let length = seconds(steps.iter().map(|step| step.length_ns).sum());
    let packets = outcome.sent.packets();
    let each = |ns: u64| if packets == 0 { 0.0 } else { ns as f64 / packets as f64 };
    let (remarks, counts) = remarks(outcome);
    Trial {
        overall: whole.times(packets, length),
        peak: outcome.tally.steps[fastest].times(outcome.sent.steps[fastest], lasted(fastest)),
        steps: rows,
        loss: outcome.loss(),
        clock_step_ns: outcome.clock_step.unwrap_or(0) as f64,
        waited: outcome.waited,
        user_ns: each(outcome.sent.used.user_ns),
        system_ns: each(outcome.sent.used.system_ns),
        counts,
        remarks,
    }
}

/// Rate and mean time by stretches of time.
pub(super) fn series(outcome: &Outcome) -> Vec<Bin> {
    let length_s = outcome.timeline.bin_ns as f64 / 1e9;
    let one = |index: usize| {
        let times = &outcome.tally.bins[index];
        Bin {
            t_s: index as f64 * length_s,
            length_s,
            own_per_s: outcome.sent.bins.get(index).copied().unwrap_or(0) as f64 / length_s,
            in_per_s: None,
            mean_ns: (times.count > 0).then_some(times.mean()),
        }
    };
    (0..outcome.timeline.bins()).map(one).collect()
}

/// Of all trials that count: overall, and at the peak.
fn summaries(trials: &[Trial]) -> (Summary, Summary) {
    let counting: Vec<&Trial> = trials.iter().filter(|trial| trial.counts).collect();
    let of = |part: &dyn Fn(&Trial) -> weighing::Times| {
        let all: Vec<weighing::Times> = counting.iter().map(|trial| part(trial)).collect();
        let means: Vec<f64> = all.iter().map(|times| times.mean_ns).collect();
        let rates: Vec<f64> = all.iter().map(|times| times.rate_per_s).collect();
        let least = all.iter().map(|times| times.min_ns).fold(f64::INFINITY, f64::min);
        Summary {
            trials: all.len(),
            packets: all.iter().map(|times| times.packets).sum(),
            negative: all.iter().map(|times| times.negative).sum(),
            min_ns: if least.is_finite() { least } else { 0.0 },
            max_ns: all.iter().map(|times| times.max_ns).fold(0.0, f64::max),
            mean_ns: claims::of(&means),
            rate_per_s: claims::of(&rates),
        }
    };
    (of(&|trial| trial.overall), of(&|trial| trial.peak))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(threads: usize, sent_per_s: f64, loss: f64) -> ByThreads {
        ByThreads { threads, sent_per_s, loss, stamped_per_s: sent_per_s * (1.0 - loss) }
    }

    #[test]
    fn as_many_threads_as_keep_loss_under_five_percent() {
        let curve = choose(vec![point(1, 5e5, 0.0), point(2, 8e5, 0.04), point(3, 9e5, 0.2)], "");
        assert_eq!((curve.threads, curve.peak_per_s), (2, 8e5));
        // More threads that send less are no gain.
        assert_eq!(choose(vec![point(1, 5e5, 0.0), point(2, 4e5, 0.01)], "").threads, 1);
        let curve = choose(vec![point(1, 5e5, 0.3)], "");
        assert!(curve.threads == 1 && curve.why.contains("30.0 %"), "{}", curve.why);
    }

    fn options(packets: u64, longest_ns: u64) -> Options {
        Options {
            ways: vec![Way::Udp],
            sizes: vec![64],
            trials: 1,
            packets,
            longest_ns,
            ..Options::default()
        }
    }

    #[test]
    fn steps_have_as_many_packets_as_asked_for() {
        // At 1 M/s: 0.1 + 0.2 + … + 1 = 5.5 M/s · length = 1.1 M, so 0.2 s each.
        let steps = steps(1e6, &options(1_100_000, 60_000_000_000), Way::Udp);
        assert_eq!((steps.len(), steps[0].length_ns), (10, 200_000_000));
        assert_eq!(
            (steps[0].pace, steps[8].pace, steps[9].pace),
            (Pace::Even(1e5), Pace::Even(9e5), Pace::Flood)
        );
        assert_eq!(
            super::steps(1e3, &options(1_000_000, 1_000_000_000), Way::Udp)[0].length_ns,
            100_000_000,
            "the limit"
        );
        let live = |longest_ns| super::steps(1e7, &options(1_000_000, longest_ns), Way::Live)[0].length_ns;
        assert_eq!((live(20_000_000_000), live(600_000_000)), (200_000_000, 60_000_000));
    }

    #[test]
    fn a_trial_that_does_not_count_is_in_no_summary() {
        let trial = |mean_ns, counts| Trial {
            overall: weighing::Times { mean_ns, packets: 10, ..weighing::Times::default() },
            counts,
            ..Trial::default()
        };
        let (overall, _) = summaries(&[trial(5.0, true), trial(500.0, false), trial(7.0, true)]);
        assert_eq!((overall.trials, overall.packets, overall.mean_ns.estimate), (2, 20, 6.0));
    }
}
