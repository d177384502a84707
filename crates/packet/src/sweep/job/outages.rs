//! What a target does when it cannot forward: recovery from an overload at each frame size, and resets while
//! the smallest frames pass.

use super::super::bench::{MOST_FRAMES, ResetMade};
use super::super::goal::Limits;
use super::super::recovery::{Recovery, RecoveryOrder};
use super::super::reset::{Ask, Outcome, Reset, ResetOrder};
use super::super::trial::{Judged, Void};
use super::work::{Looks, Sweep, throughput};
use crate::{JobControl, PacketError};
use clock::Stopwatch;
use os::child::Guard;
use plan::packets::sweep::ResetsPlan;
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use units::{Instant, Picos};

/// The stream flows so long before a reset, and after it, unless trials are shorter.
/// A command that still runs so long after the stream was watched is killed.
const GRACE: Duration = Duration::from_secs(1);
const BEFORE: Picos = Picos::from_secs(2);
const AFTER: Picos = Picos::from_secs(10);

impl Sweep {
    /// RFC 2544 §26.5, at one frame size.
    pub fn recoveries(&mut self, size: u32, looks: &Looks, limits: Limits) -> Result<(), PacketError> {
        let (tests, length) = (self.job.plan.recovery, self.job.plan.overload);
        if tests == 0 || self.stops() {
            return Ok(());
        }
        let Some(throughput) = throughput(self.here()) else {
            self.notes.push(format!("recovery at {size} bytes: not measured, because no load was found"));
            return Ok(());
        };
        let order = RecoveryOrder::of(throughput, limits.max, length);
        let mut recovery = Recovery { throughput, order, tests: Vec::new() };
        for _ in 0..tests {
            let (made, recovered, judged) = self.judged(|sweep| {
                sweep.begin_trial(size);
                let tell = &mut sweep.tell;
                let made = sweep.bench.recovery(&order, looks, &mut |sent, now| tell.watch(sent, now))?;
                sweep.keep(size, length.saturating_mul(2), &made.0, "recovery");
                Ok(made)
            })?;
            // What was cut short says nothing.
            if self.stops() {
                break;
            }
            // What came later was not lost in the test before.
            if let (true, Some(before)) = (made.stragglers > 0, recovery.tests.last_mut()) {
                before.1 = Judged::Not(Void::Stragglers);
            }
            recovery.tests.push((recovered, judged));
        }
        self.here().recovery = (!recovery.tests.is_empty()).then_some(recovery);
        Ok(())
    }

    /// RFC 2544 §26.6: at the smallest frame size.
    pub fn reset_all(&mut self) -> Result<(), PacketError> {
        let Some(plan) = self.job.plan.resets.clone().filter(|_| !self.stops()) else { return Ok(()) };
        let (Some(found), Some((size, looks, _))) = (self.found.first(), self.job.templates.first().cloned())
        else {
            return Ok(());
        };
        let Some(load) = throughput(found) else {
            self.notes.push(format!("resets: not measured, because no load was found at {size} bytes"));
            return Ok(());
        };
        let trial = self.job.plan.trial;
        let (before, after) = (BEFORE.min(trial), AFTER.min(trial));
        let order = ResetOrder { load, before, after, patience: plan.patience }.within(MOST_FRAMES);
        if order.patience < plan.patience {
            let (patience, flag) = (order.patience, "--reset-time");
            self.notes
                .push(format!("resets: at {load}, Tare waits at most {patience:#} for the device ({flag})"));
        }
        for number in 1..=plan.count {
            if self.stops() {
                break;
            }
            let reset = self.reset(size, &looks, order, &plan, number)?;
            self.others += 1;
            match reset.is_of_a_failed_command() {
                true => self.failed_resets += 1,
                false => self.spoilt += u64::from(!reset.judged.is_of_use()),
            }
            self.resets.push(reset);
        }
        Ok(())
    }

    /// One reset; it is not made again, whatever came of it: a device is not reset more often than was asked.
    fn reset(
        &mut self,
        size: u32,
        looks: &Looks,
        order: ResetOrder,
        plan: &ResetsPlan,
        number: u32,
    ) -> Result<Reset, PacketError> {
        self.begin_trial(size);
        let name = plan.names.get(number as usize - 1).cloned();
        let of = format!("{number} of {}", plan.count);
        let of = name.as_ref().map_or_else(|| of.clone(), |name| format!("{name}, {of}"));
        let mut hand = ByHand { control: self.bench.control.clone(), of, patience: order.patience };
        let mut command = plan.command.as_deref().map(|line| {
            // Which one it is, for a command that can do several.
            ByCommand::new(line, name.clone().unwrap_or_else(|| number.to_string()))
        });
        let ask: &mut dyn Ask = match &mut command {
            Some(command) => command,
            None => &mut hand,
        };
        let tell = &mut self.tell;
        let reset = self.bench.reset(&order, looks, ask, &mut |sent, now| tell.watch(sent, now))?;
        let ResetMade { made, outcome, pauses, unsent, asked, begun } = reset;
        self.keep(size, made.trial.length, &made, "reset");
        let void = made.trial.void().map(Judged::Not);
        let uneven = made.trial.is_uneven().then_some(Judged::AllTheSame);
        // A run that is interrupted says nothing, whatever was lost.
        let judged = void.filter(|_| outcome != Outcome::Unfinished).or(uneven).unwrap_or(Judged::Counts);
        if let Some(row) = self.trials.last_mut() {
            row.judged = judged;
        }
        let (lost, lost_here) = made.trial.losses();
        let is_command = command.is_some();
        let (how, is_well) = command.map_or_else(|| ("hand".to_owned(), true), ByCommand::ended);
        // Who interrupts the run ends the command as well.
        let command_failed = !is_well && outcome != Outcome::Unfinished;
        Ok(Reset {
            size,
            load: order.load,
            order,
            name,
            is_command,
            how,
            command_failed,
            asked: asked.map(|asked| asked.since(begun)),
            outcome,
            pause: pauses.into_iter().flatten().max_by_key(|pause| pause.ns),
            lost,
            unsent,
            lost_here,
            late: made.trial.latest,
            judged,
        })
    }
}

/// Somebody at the device.
struct ByHand {
    control: Arc<JobControl>,
    of: String,
    patience: Picos,
}

impl Ask for ByHand {
    fn begin(&mut self, _: Instant) {
        self.control.say(format!(
            "reset the device now ({}); it must forward frames again within {:#}",
            self.of, self.patience
        ));
    }

    fn has_failed(&mut self, _: Instant) -> bool {
        false
    }
}

/// A command for the shell. What it prints goes to standard error.
struct ByCommand<'a> {
    line: &'a str,
    which: String,
    state: State,
}

enum State {
    Waiting,
    /// With what ends it if this process is killed.
    Running {
        child: Child,
        begun: Stopwatch,
        _guard: Guard,
    },
    Ended {
        status: ExitStatus,
        after: Picos,
    },
    NotStarted(String),
}

impl<'a> ByCommand<'a> {
    const fn new(line: &'a str, which: String) -> Self {
        Self { line, which, state: State::Waiting }
    }

    /// Looks whether it still does.
    fn runs(&mut self) -> bool {
        if let State::Running { child, begun, .. } = &mut self.state
            && let Ok(Some(status)) = child.try_wait()
        {
            self.state = State::Ended { status, after: Picos::from_secs_f64(begun.elapsed().as_secs_f64()) };
        }
        matches!(self.state, State::Running { .. })
    }

    /// How it ended, in words, and whether that was well; one that still runs a little later is killed.
    fn ended(mut self) -> (String, bool) {
        let over = Stopwatch::start();
        while self.runs() && over.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(5));
        }
        let is_well = match &self.state {
            State::Waiting => true,
            State::Ended { status, .. } => status.success(),
            State::Running { .. } | State::NotStarted(_) => false,
        };
        let how = match &mut self.state {
            State::Waiting => "command (not run)".to_owned(),
            State::Running { child, .. } => {
                kill(child);
                "command (still running at the end, killed)".to_owned()
            }
            State::Ended { status, after } => format!("command ({status} after {after:#})"),
            State::NotStarted(why) => format!("command (could not be started: {why})"),
        };
        (how, is_well)
    }
}

impl Ask for ByCommand<'_> {
    fn begin(&mut self, _: Instant) {
        let mut shell = Command::new("sh");
        shell.env("TARE_RESET", &self.which).args(["-c", self.line]).stdin(Stdio::null()).process_group(0);
        shell.stdout(std::io::stderr()).stderr(Stdio::inherit());
        let started = shell.spawn().and_then(|mut child| match Guard::of(&child, None) {
            Ok(guard) => Ok((child, guard)),
            Err(error) => {
                kill(&mut child);
                Err(error)
            }
        });
        self.state = match started {
            Ok((child, guard)) => State::Running { child, begun: Stopwatch::start(), _guard: guard },
            Err(error) => State::NotStarted(error.to_string()),
        };
    }

    fn has_failed(&mut self, _: Instant) -> bool {
        self.runs();
        match &self.state {
            State::Ended { status, .. } => !status.success(),
            State::NotStarted(_) => true,
            State::Waiting | State::Running { .. } => false,
        }
    }
}

impl Drop for ByCommand<'_> {
    fn drop(&mut self) {
        if let State::Running { child, .. } = &mut self.state {
            kill(child);
        }
    }
}

/// And all that it started and that has no group of its own.
fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}
