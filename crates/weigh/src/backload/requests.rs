//! Backload of requests: what incoming traffic takes away from `tare http`, by the kernel's sockets and past
//! them.
//!
//! ```text
//!   generator's namespace                              the other one
//!   tare http │ tare http --via PORT ───── veth ──── tare target --over: answers all alike, and keeps nothing
//!               kernel ◄───────────────────────────  incoming frames, to an address of the kernel's
//!
//!   ├─ a second ─┼─ before ─┼─ rising ─┼─ … ─┼─ after ─┤      one run; its rows of a second tell the rates
//! ```
//!
//! The target has as many connections and answers as little as can be, so that the generator is the limit. Both
//! stacks get the same incoming traffic: it is not for the address that `--via` has, but comes to the same CPU.

use super::{Options, Traffic, fall_and_recovery, paces, phase};
use crate::child;
use crate::packets::Tell;
use crate::run::{self, Incoming, Link, Source};
use crate::sender::{Pace, Schedule, Sent, Step};
use crate::stage::Stage;
use crate::tally::Timeline;
use crate::usage::Shares;
use crate::wall::Wall;
use crate::{WeighError, claims};
use bed::TargetProcess;
use clock::Stopwatch;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::RunResult;
use store::schema::Interval;
use store::weighing::{self, BackloadStep};

/// Connections of a run.
const CONNECTIONS: u32 = 64;
/// The responder's address and the one of `--via`, in a bed's network.
const TARGET: &str = "198.18.0.20";
const OWN: &str = "198.18.0.10";
/// Rows of a run are so long; a step is a whole number of them.
const ROW_NS: u64 = 1_000_000_000;
/// A run has begun when so many frames have come to the target: those that ask who has an address are fewer.
const BEGUN_FRAMES: u64 = 200;
const BEGINS_WITHIN: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(5);

/// Whose TCP carries the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stack {
    /// The kernel's sockets.
    Kernel,
    /// `--via packet`.
    Packet,
    /// `--via xdp`.
    Xdp,
}

impl Stack {
    pub const ALL: [Self; 3] = [Self::Kernel, Self::Packet, Self::Xdp];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "http",
            Self::Packet => "http-packet",
            Self::Xdp => "http-xdp",
        }
    }

    /// The kind of port of `--via`.
    const fn via(self) -> Option<&'static str> {
        match self {
            Self::Kernel => None,
            Self::Packet => Some("packet"),
            Self::Xdp => Some("xdp"),
        }
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Stack {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|stack| stack.name() == text).ok_or(())
    }
}

/// What one trial found, by step.
struct Trial {
    own_per_s: Vec<f64>,
    incoming_per_s: Vec<f64>,
    shares: Vec<Shares>,
    /// Of a step.
    seconds: f64,
    failure: Option<String>,
}

/// Weighs requests by one stack under one kind of traffic.
///
/// # Errors
/// It cannot be weighed here; the message says why.
pub fn weigh(
    stage: &Stage,
    options: &Options,
    (stack, size, kind): (Stack, usize, Traffic),
    stop: &AtomicBool,
    tell: Tell<'_>,
) -> Result<weighing::Backload, WeighError> {
    const TRY_NS: u64 = 200_000_000;
    let flood = Incoming { kind, size, paces: vec![Pace::Flood], by: None };
    let high = match options.high {
        Some(high) => high,
        None => run::try_incoming(stage, &flood, TRY_NS, stop)?,
    };
    let paces = paces(options, high, options.high.is_none());
    let (senders, _) = run::cpus(1);
    let steering = run::steer(stage, senders[0]);
    let usable = os::cpus::usable();
    let target_cpu = usable[1 % usable.len()];
    let (mut trials, mut ran, mut remarks) = (Vec::new(), 0, Vec::new());
    for number in 1..=options.trials {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let incoming = Incoming { kind, size, paces: paces.clone(), by: None };
        let Some(trial) = trial(stage, stack, &incoming, options, (senders[0], target_cpu), stop)? else {
            break;
        };
        tell(&format!(
            "{stack} {size} B under {}, trial {number} of {}: {}",
            kind.name(),
            options.trials,
            in_a_line(&trial.own_per_s)
        ));
        ran = number;
        match &trial.failure {
            Some(why) => remarks.push(format!("trial {number}: {why}; the trial does not count")),
            None => trials.push(trial),
        }
    }
    if ran == 0 {
        return Err(WeighError::Wrong("cut short before the end of the first trial".into()));
    }
    let own: Vec<Vec<f64>> = trials.iter().map(|trial| trial.own_per_s.clone()).collect();
    let (fall, recovery) = fall_and_recovery(&own, paces.len() - 1);
    let told = if trials.is_empty() { 0 } else { paces.len() };
    remarks.push(format!(
        "own rate is requests/s over {CONNECTIONS} connections, t their mean latency; the target shares CPU \
         {target_cpu} with the sender of the incoming frames"
    ));
    Ok(weighing::Backload {
        port: stack.name().to_owned(),
        address: format!("http://{TARGET}/"),
        size,
        kind: kind.name().to_owned(),
        against: "tare target --over at the other end of a veth pair in its own namespaces".into(),
        steering,
        trials: trials.len(),
        steps: (0..told).map(|step| one_step(&trials, &paces, step)).collect(),
        fall: claims::of_fall(&fall),
        recovery: claims::of(&recovery),
        remarks,
        ..weighing::Backload::default()
    })
}

/// Own rates along the steps: `212k 180k 131k → 210k`.
fn in_a_line(own_per_s: &[f64]) -> String {
    let rates: Vec<String> = own_per_s.iter().map(|rate| format!("{:.0}k", rate / 1e3)).collect();
    let (last, first) = rates.split_last().map_or(("", &[][..]), |(last, first)| (last.as_str(), first));
    format!("{} → {last} requests/s", first.join(" "))
}

fn one_step(trials: &[Trial], paces: &[Pace], step: usize) -> BackloadStep {
    let over = |value: &dyn Fn(&Trial) -> f64| -> Vec<f64> { trials.iter().map(value).collect() };
    let share = |value: fn(&Shares) -> f64| {
        Some(stats::mean(&over(&|trial: &Trial| trial.shares.get(step).map_or(0.0, value))))
    };
    let own = over(&|trial| trial.own_per_s[step]);
    // Little's law: as many requests as connections are on their way at any time.
    let means: Vec<f64> =
        own.iter().filter(|rate| **rate > 0.0).map(|rate| f64::from(CONNECTIONS) * 1e9 / rate).collect();
    BackloadStep {
        phase: phase(step, paces.len()),
        offered_in_per_s: paces[step].rate(),
        in_per_s: claims::of(&over(&|trial| trial.incoming_per_s[step])),
        own_per_s: claims::of(&own),
        mean_ns: claims::of(&means),
        dropped_in_per_s: stats::mean(&over(&|trial| {
            trial.shares.get(step).map_or(0.0, |shares| shares.backlog_drops as f64 / trial.seconds)
        })),
        refused_per_s: 0.0,
        user: share(|shares| shares.user),
        system: share(|shares| shares.system),
        softirq: share(|shares| shares.softirq),
        idle: share(|shares| shares.idle),
    }
}

/// One run over all steps. `None` if it was stopped.
fn trial(
    stage: &Stage,
    stack: Stack,
    incoming: &Incoming,
    options: &Options,
    (cpu, target_cpu): (u32, u32),
    stop: &AtomicBool,
) -> Result<Option<Trial>, WeighError> {
    let (Some(generator), Some(peer)) = (stage.generator(), stage.peer()) else {
        return Err(WeighError::Wrong("requests need namespaces made for the weighing".into()));
    };
    let step_rows = options.step_ns.div_ceil(ROW_NS);
    // A row before the steps, and one behind them.
    let length = Duration::from_secs(step_rows * incoming.paces.len() as u64 + 2);
    let over = format!("packet:{},ip={TARGET}/24", peer.interface().name);
    let lasts = format!("{}s", (length + BEGINS_WITHIN).as_secs());
    let cpus = target_cpu.to_string();
    let target = TargetProcess::start_inside(
        peer,
        &["--over", &over, "--size", "100", "--cpus", &cpus, "--for", &lasts],
    )?;
    let source = Source::open(stage, incoming)?;
    let mut command = generator.command(&child::program()?.display().to_string());
    command.args(["http", "--json", "--no-save", "--no-progress", "--accept-invalid", "--threads", "1"]);
    command.args(["--cpus", &cpu.to_string(), "--parallel", &CONNECTIONS.to_string()]);
    command.args(["--duration", &format!("{}s", length.as_secs())]);
    if let Some(port) = stack.via() {
        command.args(["--via", &format!("{port}:{},ip={OWN}/24", generator.interface().name)]);
    }
    command.arg(target.url());
    let (before, link) = (frames_at(stage)?, Link::of(stage));
    let (ran, sent, shares) = std::thread::scope(|scope| {
        let running = scope.spawn(|| child::run(command, length, stop));
        let begun = wait_for_begin(stage, before, stop, || running.is_finished());
        let (sent, shares) = match begun {
            Some(at) => send_along(stage, source, incoming, (at + ROW_NS, step_rows * ROW_NS), cpu, stop),
            None => (Sent::default(), Vec::new()),
        };
        (running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), sent, shares)
    });
    let Some(ran) = ran? else { return Ok(None) };
    let result: RunResult =
        serde_json::from_str(&ran.said).map_err(|_| WeighError::Trial(ran.complaint.trim().to_owned()))?;
    if sent.steps.len() < incoming.paces.len() {
        return Err(WeighError::Wrong(format!("no request of {stack} reached the target")));
    }
    let span = |step: usize| (1.0 + (step as u64 * step_rows) as f64, step_rows as f64);
    Ok(Some(Trial {
        own_per_s: (0..incoming.paces.len()).map(|step| rate_within(&result.intervals, span(step))).collect(),
        incoming_per_s: sent.steps.iter().map(|frames| *frames as f64 / step_rows as f64).collect(),
        shares,
        seconds: step_rows as f64,
        failure: (sent.failure.map(|why| format!("incoming traffic: {why}")))
            .or_else(|| link.and_then(|link| link.failure())),
    }))
}

/// Sends the incoming frames by their schedule, and watches the generator's CPU meanwhile.
fn send_along(
    stage: &Stage,
    source: Source,
    incoming: &Incoming,
    (origin, step_ns): (u64, u64),
    cpu: u32,
    stop: &AtomicBool,
) -> (Sent, Vec<Shares>) {
    let steps: Vec<Step> =
        incoming.paces.iter().map(|pace| Step { pace: *pace, length_ns: step_ns }).collect();
    let ends = Schedule::ends(&steps);
    let timeline = Timeline::new(Wall::default().now_ns(), ends.clone());
    let schedule = Schedule { origin_monotonic_ns: origin, steps };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| source.run(stage, Some(&schedule), &timeline, stop, &done));
        let shares = run::watch(None, cpu, (origin, &ends), stop).shares;
        done.store(true, Ordering::Relaxed);
        (sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), shares)
    })
}

/// When the run's frames began to come (CLOCK_MONOTONIC, ns); `None` if they do not.
fn wait_for_begin(stage: &Stage, before: u64, stop: &AtomicBool, is_over: impl Fn() -> bool) -> Option<u64> {
    let waiting = Stopwatch::start();
    while waiting.elapsed() < BEGINS_WITHIN && !stop.load(Ordering::Relaxed) && !is_over() {
        if frames_at(stage).ok()? > before + BEGUN_FRAMES {
            return Some(clock::monotonic_ns());
        }
        std::thread::sleep(LOOK);
    }
    None
}

/// Frames that have come to the other end.
fn frames_at(stage: &Stage) -> Result<u64, WeighError> {
    let name = stage.peer_interface.clone().unwrap_or_default();
    let text = stage.at_peer(|| std::fs::read_to_string("/proc/thread-self/net/dev"))?;
    let text =
        text.map_err(|source| WeighError::System { what: "/proc/thread-self/net/dev".into(), source })?;
    Ok(received(&text, &name).unwrap_or(0))
}

/// `  sink0: BYTES FRAMES …`
fn received(text: &str, interface: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Requests a second from `from` on, for so long; rows count by how much of them lies within.
fn rate_within(rows: &[Interval], (from, length): (f64, f64)) -> f64 {
    let part = |row: &Interval| {
        let inside = (row.t_s + row.length_s).min(from + length) - row.t_s.max(from);
        if row.length_s > 0.0 { (inside / row.length_s).clamp(0.0, 1.0) * row.done as f64 } else { 0.0 }
    };
    rows.iter().map(part).sum::<f64>() / length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_rows_within_a_step() {
        let row = |t_s: f64, done| Interval { t_s, length_s: 1.0, done, ..Interval::default() };
        let rows = [row(0.0, 999), row(1.0, 100), row(2.0, 200), row(3.0, 50)];
        assert_eq!(rate_within(&rows, (1.0, 2.0)), 150.0);
        // Half of the second row, and all of the third.
        assert_eq!(rate_within(&rows, (1.5, 1.5)), 250.0 / 1.5);
        assert_eq!(rate_within(&rows, (9.0, 1.0)), 0.0);
    }

    #[test]
    fn frames_are_counted_for_the_interface_that_was_named() {
        let text =
            "Inter-|   Receive\n face |bytes    packets\n    lo: 1 2 0\n sink01: 5 6 0\n sink0:7384 91 0 0\n";
        assert_eq!((received(text, "sink0"), received(text, "gen0")), (Some(91), None));
    }

    #[test]
    fn drops_are_of_a_second() {
        let shares = |backlog_drops| Shares { backlog_drops, ..Shares::default() };
        let trial = Trial {
            own_per_s: vec![9.0; 2],
            incoming_per_s: vec![0.0; 2],
            shares: vec![shares(0), shares(600)],
            seconds: 3.0,
            failure: None,
        };
        // 600 frames in the three seconds of the step.
        let step = one_step(&[trial], &[Pace::Silence, Pace::Even(1e3)], 1);
        assert_eq!(step.dropped_in_per_s, 200.0);
    }

    #[test]
    fn rates_stand_in_a_line() {
        assert_eq!(in_a_line(&[200_000.0, 90_400.0, 199_000.0]), "200k 90k → 199k requests/s");
    }
}
