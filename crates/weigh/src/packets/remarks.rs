//! What is remarked of a run, and whether it still counts.

use super::MOST_LOSS;
use crate::neighbour::Neighbour;
use crate::run::Outcome;
use std::collections::BTreeSet;

/// A sender that waits longer than this share of the time, beyond what it must where threads share CPUs, has a
/// neighbour.
const MUCH_WAITING: f64 = 0.05;
/// A process that stood still for so long, and for so much of a step, has no figures.
const STILL_NS: u64 = 100_000_000;
const STILL_PART: u64 = 10;
/// Of the waiting, which another program must have run to be called its cause.
const A_GOOD_PART: f64 = 0.25;
/// The kernel counts in ticks, mostly of 10 ms: fewer tell hardly anything, for whoever happens to run when one
/// ends gets all of it.
const LEAST_TICKS: u64 = 5;
/// How inexactly the time is known that a neighbour can have had: of it, and in seconds (it is watched a little
/// longer than the run).
const SLACK: f64 = 0.05;
const SLACK_S: f64 = 0.1;

/// What sets a run apart, and whether it still counts.
pub fn remarks(outcome: &Outcome) -> (Vec<String>, bool) {
    let (mut remarks, mut counts) = (Vec::new(), true);
    if let Some(step) = outcome.clock_step {
        remarks.push(format!(
            "the wall clock was set by {:+.3} ms during the trial, which does not count",
            step as f64 / 1e6
        ));
        counts = false;
    }
    let shortest_ns = outcome.steps.iter().map(|step| step.length_ns).min().unwrap_or(0);
    if outcome.stood_still_ns > STILL_NS.max(shortest_ns / STILL_PART) {
        remarks.push(format!(
            "this process stood still for {:.2} s during the trial, which does not count",
            outcome.stood_still_ns as f64 / 1e9
        ));
        counts = false;
    }
    if let Some(failure) = &outcome.link_failure {
        remarks.push(format!("{failure} during the trial, which does not count"));
        counts = false;
    }
    if let Some(failure) = &outcome.sent.failure {
        remarks.push(format!("sending ended early ({failure}); the trial does not count"));
        counts = false;
    }
    if outcome.was_stopped {
        remarks.push("cut short; the trial does not count".into());
        counts = false;
    }
    if outcome.tally.whole().count == 0 {
        remarks.push("no packet got a timestamp; the trial does not count".into());
        counts = false;
    }
    if outcome.loss() >= MOST_LOSS {
        remarks.push(format!("{:.1} % of the timestamps were lost", outcome.loss() * 100.0));
    }
    if let Some(neighbour) = noisy(outcome) {
        remarks.push(format!(
            "noisy neighbour: '{}' (process {}) ran for {:.2} s on the generator's {}; the generator \
             waited {:.1} % of the time and was interrupted {} times",
            neighbour.name,
            neighbour.pid,
            seconds_of(neighbour),
            cpus(outcome),
            outcome.waited * 100.0,
            outcome.sent.used.involuntary
        ));
    }
    remarks.extend(own_waiting(outcome));
    (remarks, counts)
}

/// Another program that explains why the generator waited: it ran there for a good part of that time, and no
/// longer than the generator left those CPUs free. One that did ran somewhere else.
fn noisy(outcome: &Outcome) -> Option<&Neighbour> {
    let length: f64 = outcome.steps.iter().map(|step| step.length_ns as f64 / 1e9).sum();
    let used = (outcome.sent.used.user_ns + outcome.sent.used.system_ns) as f64 / 1e9;
    let all: BTreeSet<u32> = outcome.cpus.iter().copied().collect();
    let free = (all.len() as f64 * length - used).max(0.0) * (1.0 + SLACK) + SLACK_S;
    let (least, neighbour) = (outcome.waited * length * A_GOOD_PART, outcome.neighbour.as_ref());
    neighbour
        .filter(|_| waits_much(outcome))
        .filter(|neighbour| neighbour.ticks >= LEAST_TICKS)
        .filter(|neighbour| (least..=free).contains(&seconds_of(neighbour)))
}

/// Threads that share CPUs wait for each other.
fn waits_much(outcome: &Outcome) -> bool {
    let cpus: BTreeSet<u32> = outcome.cpus.iter().copied().collect();
    let shared = 1.0 - cpus.len() as f64 / outcome.cpus.len().max(1) as f64;
    outcome.waited >= shared + MUCH_WAITING
}

fn seconds_of(neighbour: &Neighbour) -> f64 {
    neighbour.ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Waiting that no other program explains, in words.
fn own_waiting(outcome: &Outcome) -> Option<String> {
    let is_own = waits_much(outcome) && noisy(outcome).is_none();
    is_own.then(|| {
        format!(
            "a sender waited {:.1} % of the time for {}, which ran other threads of this weighing, the \
             kernel, or programs that have ended or moved",
            outcome.waited * 100.0,
            cpus(outcome)
        )
    })
}

/// The generator's CPUs, each once: `CPU 0`, `CPUs 0, 1`.
fn cpus(outcome: &Outcome) -> String {
    let cpus: BTreeSet<u32> = outcome.cpus.iter().copied().collect();
    let names = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    format!("{} {names}", if cpus.len() == 1 { "CPU" } else { "CPUs" })
}
