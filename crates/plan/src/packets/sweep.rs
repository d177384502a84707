//! `[sweep]`: between which ports, which frame sizes, what is looked for and how surely.
//!
//! ```text
//! flags ─┐
//!        ├─► SweepFile ─ resolve ─► SweepPlan ─ to_toml ─► canonical text, which reads back
//! TOML ──┘
//! ```

use super::frames::{self, Frames, FramesFile};
use super::lines::Lines;
use super::when::Pace;
use super::{Command, PacketPlan, Times, limits};
use crate::error::PlanError;
use crate::fields::typed_table;
use crate::file::{LimitsFile, Origin, read_toml};
use crate::table::Table;
use crate::typed::Typed;
use serde::Deserialize;
use units::{Fraction, Picos, Priority, Rate};
use wire::template::Mac;

/// RFC 2544 §9.1, Ethernet.
pub const SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
const LEAST_SIZE: u64 = 64;
const MOST_SIZE: u64 = 65_535;
const MOST_REPETITIONS: u32 = 100;
const MOST_BURSTS: u32 = 1_000;
const MOST_GOALS: usize = 8;
const MOST_RESETS: u32 = 100;
const LONGEST_NAME: usize = 32;
/// Recovery tests with `--rfc2544`, which asks for "a number of times".
const RECOVERIES: u32 = 10;
/// A device is waited for this long after its reset.
const RESET_TIME: Picos = Picos::from_secs(300);
/// Loads at which latency is measured, in percent of the first goal's.
const LATENCY_AT: [u32; 4] = [10, 50, 90, 100];

/// A plan file of `tare sweep`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SweepPlanFile {
    pub sweep: SweepFile,
    pub frames: FramesFile,
    pub limits: LimitsFile,
    #[serde(skip)]
    origin: Option<Origin>,
}

typed_table! {
    /// `[sweep]`, as typed.
    pub struct SweepFile, SWEEP_FLAGS of "sweep" {
        send: String, "--send";
        receive: String, "--receive";
        sizes: Typed, "--sizes";
        /// `ndr`, `pdr`, or a loss ratio such as `0.1%`; several with commas.
        goal: Typed, "--goal";
        /// What a search is repeated for, so that there is an interval.
        trials: Typed, "--trials";
        trial_time: Typed, "--trial-time";
        first_trial_time: Typed, "--first-trial-time";
        sum_time: Typed, "--sum-time";
        exceed: Typed, "--exceed";
        width: Typed, "--width";
        min_rate: Typed, "--min-rate";
        max_rate: Typed, "--max-rate";
        /// One-way times at shares of the first goal's load.
        latency: bool, "--no-latency";
        /// Shares of that load, `10%,50%,90%,100%`.
        latency_at: Typed, "--latency-at";
        /// Trials at each of them, and how long one takes.
        latency_trials: Typed, "--latency-trials";
        latency_time: Typed, "--latency-time";
        /// Loss at 100, 90, 80 … % of the highest load, until two trials in a row lose nothing.
        frame_loss: bool, "--frame-loss";
        /// Searches for the longest burst; 0 makes none.
        bursts: Typed, "--bursts";
        /// How often recovery from an overload is measured, and how long each of its two loads lasts.
        recovery: Typed, "--recovery";
        overload_time: Typed, "--overload-time";
        /// How often the device is reset, or what each reset is called; by a command, or by hand; and how long
        /// it is waited for.
        resets: Typed, "--resets";
        reset_command: String, "--reset-command";
        reset_time: Typed, "--reset-time";
        /// Both ports send and receive at once.
        bidirectional: bool, "--bidirectional";
        /// Destination of frames from the receiving port.
        reverse_mac: String, "--reverse-mac";
        /// After the last frame of a trial has left, so long is waited for those on their way.
        drain: Typed, "--drain";
        /// Between two trials, so long nothing is sent.
        rest: Typed, "--rest";
        /// Throughput, latency, frame loss rate and back-to-back frames as RFC 2544 has them.
        rfc2544: bool, "--rfc2544";
        cpus: Typed, "--cpus";
        /// `auto`, `normal`, `real-time`
        priority: String, "--priority";
        line: Typed, "--line";
    }
}

/// A loss ratio that is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepGoal {
    /// `NDR`, `PDR`, `0.1%`.
    pub name: String,
    pub loss: Fraction,
}

/// Resets of the device while frames pass through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResetsPlan {
    pub count: u32,
    /// `hardware`, `software`, `power`: one for each, or none.
    pub names: Vec<String>,
    /// A line for the shell; without one, somebody resets the device by hand.
    pub command: Option<String>,
    /// The longest wait for the device to forward again.
    pub patience: Picos,
}

/// What `tare sweep` does.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPlan {
    pub send: String,
    pub receive: String,
    /// With FCS, ascending.
    pub sizes: Vec<u32>,
    /// By ascending loss.
    pub goals: Vec<SweepGoal>,
    pub repetitions: u32,
    pub trial: Picos,
    pub first_trial: Picos,
    pub sum: Picos,
    pub exceed: Fraction,
    pub width: Fraction,
    pub min: Rate,
    /// Frames, bits or a share of the line rate: for each size what it comes to.
    pub max: Pace,
    pub latency: bool,
    /// Shares of the first goal's load.
    pub latency_at: Vec<Fraction>,
    pub latency_trials: u32,
    pub latency_time: Picos,
    pub frame_loss: bool,
    pub bursts: u32,
    /// Tests of recovery; each is an overload and half of it, both of this length.
    pub recovery: u32,
    pub overload: Picos,
    pub resets: Option<ResetsPlan>,
    /// Both ports send and receive at once, each at the load of the trial.
    pub bidirectional: bool,
    pub reverse_mac: Option<Mac>,
    /// After the last frame of a trial, at least so long: longer where the way takes longer.
    pub drain: Picos,
    pub rest: Picos,
    pub cpus: Vec<u32>,
    pub priority: Priority,
    pub line_bps: Option<u64>,
    pub look: Frames,
}

impl SweepPlanFile {
    /// Reads a plan file. `name` is what messages call it.
    ///
    /// # Errors
    /// The line and key that are wrong.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, PlanError> {
        let (mut file, origin): (Self, _) = read_toml(text, name)?;
        file.origin = Some(origin);
        Ok(file)
    }

    fn table(&self) -> Table<'_> {
        Table::new("sweep", self.origin.as_ref())
    }

    /// Checks everything and fills in the defaults.
    ///
    /// # Errors
    /// The first thing that is wrong: which flag or line, what was typed, what would be right.
    pub fn resolve(&self) -> Result<(SweepPlan, PacketPlan), PlanError> {
        let (table, sweep) = (self.table(), &self.sweep);
        let by_the_letter = sweep.rfc2544.unwrap_or(false);
        let ports = "write packet:veth0, xdp:veth0, live:veth0 or an interface";
        let trial = table.time("trial_time", &sweep.trial_time)?;
        let trial = trial.unwrap_or(if by_the_letter { Picos::from_secs(60) } else { Picos::from_secs(1) });
        let first = table.time("first_trial_time", &sweep.first_trial_time)?;
        let sum = table.time("sum_time", &sweep.sum_time)?;
        let exceed = table.parse("exceed", &sweep.exceed)?;
        if first.is_some_and(|first| first > trial) {
            return Err(table.both(
                "first_trial_time",
                "trial_time",
                "the first trials must be the shorter ones",
            ));
        }
        let (min, max) = self.bounds(&table)?;
        let plan = SweepPlan {
            send: table.port("send", sweep.send.as_ref(), ports)?,
            receive: table.port("receive", sweep.receive.as_ref(), ports)?,
            sizes: self.sizes(&table)?,
            goals: self.goals(&table, by_the_letter)?,
            repetitions: table.number("trials", &sweep.trials, 1, MOST_REPETITIONS)?.unwrap_or(1),
            trial,
            first_trial: first.unwrap_or(if by_the_letter { trial } else { quarter(trial) }),
            sum: sum.unwrap_or(if by_the_letter { trial } else { trial.saturating_mul(3) }).max(trial),
            exceed: exceed.unwrap_or(if by_the_letter { Fraction::ZERO } else { millionths(500_000) }),
            width: self.width(&table)?,
            min,
            max,
            latency: sweep.latency.unwrap_or(true),
            latency_at: self.latency_at(&table, by_the_letter)?,
            latency_trials: table
                .number("latency_trials", &sweep.latency_trials, 1, MOST_REPETITIONS)?
                .unwrap_or(if by_the_letter { 20 } else { 1 }),
            latency_time: table.time("latency_time", &sweep.latency_time)?.unwrap_or(if by_the_letter {
                Picos::from_secs(120)
            } else {
                trial
            }),
            frame_loss: sweep.frame_loss.unwrap_or(by_the_letter),
            bursts: table.number("bursts", &sweep.bursts, 0, MOST_BURSTS)?.unwrap_or(50),
            recovery: table
                .number("recovery", &sweep.recovery, 0, MOST_REPETITIONS)?
                .unwrap_or(if by_the_letter { RECOVERIES } else { 0 }),
            overload: table.time("overload_time", &sweep.overload_time)?.unwrap_or(trial),
            resets: self.resets(&table)?,
            bidirectional: sweep.bidirectional.unwrap_or(false),
            reverse_mac: self.reverse_mac(&table)?,
            drain: table.time("drain", &sweep.drain)?.unwrap_or(if by_the_letter {
                Picos::from_secs(2)
            } else {
                Picos::from_millis(200)
            }),
            rest: table.time("rest", &sweep.rest)?.unwrap_or(if by_the_letter {
                Picos::from_secs(5)
            } else {
                Picos::ZERO
            }),
            cpus: table.cpus("cpus", &sweep.cpus)?,
            priority: table.priority("priority", sweep.priority.as_deref())?,
            line_bps: table.line("line", &sweep.line)?,
            look: frames::resolve_as_one_load(&self.frames, &table)?,
        };
        if plan.exceed == Fraction::ONE {
            return Err(table.wrong("exceed", "100%", "would accept every load", "less than 100%"));
        }
        if plan.bidirectional && plan.resets.is_some() {
            return Err(table.both("bidirectional", "resets", "a reset is measured in one direction"));
        }
        if self.frames.size.is_some() {
            return Err(table.both("sizes", "frames.size", "a sweep tests its own list of sizes (--sizes)"));
        }
        let text = plan.to_toml();
        Ok((
            plan,
            PacketPlan::new(
                Command::Sweep,
                text,
                limits(&table, &self.limits, Command::Sweep, Times::OfEachFrame)?,
            ),
        ))
    }

    fn resets(&self, table: &Table<'_>) -> Result<Option<ResetsPlan>, PlanError> {
        let sweep = &self.sweep;
        let command = sweep.reset_command.clone();
        if command.as_ref().is_some_and(|command| command.trim().is_empty()) {
            return Err(table.wrong("reset_command", "", "is empty", "a command for the shell"));
        }
        let names = self.reset_names(table)?;
        let count = match names.len() as u32 {
            0 => table.number("resets", &sweep.resets, 0, MOST_RESETS)?,
            count => Some(count),
        };
        let patience = table.time("reset_time", &sweep.reset_time)?;
        let count = count.unwrap_or(u32::from(command.is_some()));
        if count > 0 {
            let patience = patience.unwrap_or(RESET_TIME);
            return Ok(Some(ResetsPlan { count, names, command, patience }));
        }
        let unused = [("reset_command", command.is_some()), ("reset_time", patience.is_some())];
        match unused.into_iter().find(|(_, is_typed)| *is_typed) {
            Some((key, _)) => Err(table.both(key, "resets", "no reset is measured; write --resets 1")),
            None => Ok(None),
        }
    }

    /// None where there is a number.
    fn reset_names(&self, table: &Table<'_>) -> Result<Vec<String>, PlanError> {
        let text = self.sweep.resets.as_ref().map_or("", Typed::as_str).trim();
        if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(Vec::new());
        }
        let is_name = |name: &&str| {
            let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_fine)
        };
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        match names.len() <= MOST_RESETS as usize && names.iter().all(is_name) {
            true => Ok(names.into_iter().map(str::to_owned).collect()),
            false => Err(table.wrong(
                "resets",
                text,
                "is neither a number nor a list of names",
                "1 to 100, or names such as hardware,software,power",
            )),
        }
    }

    fn reverse_mac(&self, table: &Table<'_>) -> Result<Option<Mac>, PlanError> {
        let Some(text) = &self.sweep.reverse_mac else { return Ok(None) };
        if self.sweep.bidirectional != Some(true) {
            let why = "it is the destination of frames in the other direction; write --bidirectional";
            return Err(table.both("reverse_mac", "bidirectional", why));
        }
        let wrong = |_| table.wrong("reverse_mac", text, "is not a MAC address", "02:00:00:00:00:01");
        text.parse().map(Some).map_err(wrong)
    }

    fn sizes(&self, table: &Table<'_>) -> Result<Vec<u32>, PlanError> {
        let Some(typed) = &self.sweep.sizes else { return Ok(SIZES.to_vec()) };
        let text = typed.as_str();
        let expected = "sizes with FCS from 64 to 65535, such as 64,512,1518";
        let read = |part: &str| {
            let size = part.trim().parse::<u64>().ok().filter(|size| (LEAST_SIZE..=MOST_SIZE).contains(size));
            size.map(|size| size as u32)
                .ok_or_else(|| table.wrong("sizes", text, "has no such frame size", expected))
        };
        let mut sizes = text.split(',').map(read).collect::<Result<Vec<_>, _>>()?;
        sizes.sort_unstable();
        sizes.dedup();
        Ok(sizes)
    }

    fn latency_at(&self, table: &Table<'_>, by_the_letter: bool) -> Result<Vec<Fraction>, PlanError> {
        let Some(typed) = &self.sweep.latency_at else {
            let percents: &[u32] = if by_the_letter { &[100] } else { &LATENCY_AT };
            return Ok(percents.iter().map(|percent| millionths(percent * 10_000)).collect());
        };
        let text = typed.as_str();
        let expected = "shares of the highest load found, such as 10%,50%,100%";
        let read = |part: &str| {
            let share: Fraction = part.trim().parse().map_err(|error: units::ParseError| {
                table.wrong("latency_at", text, error.problem, expected)
            })?;
            match share == Fraction::ZERO {
                true => Err(table.wrong("latency_at", text, "has a load of zero", expected)),
                false => Ok(share),
            }
        };
        text.split(',').map(read).collect()
    }

    /// RFC 2544 knows one: not a frame is lost.
    fn goals(&self, table: &Table<'_>, by_the_letter: bool) -> Result<Vec<SweepGoal>, PlanError> {
        let default = if by_the_letter { "ndr" } else { "ndr,pdr" };
        let text = self.sweep.goal.as_ref().map_or(default, Typed::as_str);
        let expected = "ndr (no loss), pdr (0.5%) or a loss ratio such as 0.1%; separate several by commas";
        let read = |part: &str| {
            let part = part.trim();
            let (name, loss) = match part.to_ascii_lowercase().as_str() {
                "ndr" => ("NDR".to_owned(), Fraction::ZERO),
                "pdr" => ("PDR".to_owned(), millionths(5_000)),
                _ => {
                    let fail = |problem: &str| table.wrong("goal", text, problem, expected);
                    let loss: Fraction =
                        part.parse().map_err(|error: units::ParseError| fail(error.problem))?;
                    if loss == Fraction::ONE {
                        return Err(fail("would accept the loss of every frame"));
                    }
                    (loss.to_string(), loss)
                }
            };
            Ok(SweepGoal { name, loss })
        };
        let mut goals = text.split(',').map(read).collect::<Result<Vec<_>, _>>()?;
        goals.sort_by_key(|goal| goal.loss);
        goals.dedup_by_key(|goal| goal.loss);
        if goals.len() > MOST_GOALS {
            return Err(table.wrong("goal", text, "has too many goals", "at most 8"));
        }
        Ok(goals)
    }

    fn width(&self, table: &Table<'_>) -> Result<Fraction, PlanError> {
        let width = table.parse("width", &self.sweep.width)?.unwrap_or(millionths(5_000));
        if width == Fraction::ZERO || width > millionths(500_000) {
            return Err(table.wrong(
                "width",
                &width.to_string(),
                "is not a width",
                "above 0 and at most 50%",
            ));
        }
        Ok(width)
    }

    fn min(&self, table: &Table<'_>) -> Result<Rate, PlanError> {
        let Some(typed) = &self.sweep.min_rate else {
            return Ok(Rate::per_second(1).expect("1 is over zero"));
        };
        typed.as_str().parse().map_err(|error: units::ParseError| {
            table.wrong("min_rate", typed.as_str(), error.problem, "frames per second, such as 100")
        })
    }

    /// The bounds of the search, the right way round where both are frames a second.
    fn bounds(&self, table: &Table<'_>) -> Result<(Rate, Pace), PlanError> {
        let (min, max) = (self.min(table)?, self.max(table)?);
        match max {
            Pace::Frames(most) if most.as_per_second_f64() < min.as_per_second_f64() => {
                let typed = self.sweep.max_rate.as_ref().map_or("", Typed::as_str);
                Err(table.wrong("max_rate", typed, "is below --min-rate", format!("{min} or more")))
            }
            _ => Ok((min, max)),
        }
    }

    fn max(&self, table: &Table<'_>) -> Result<Pace, PlanError> {
        let Some(typed) = &self.sweep.max_rate else { return Ok(Pace::Line { millionths: 1_000_000 }) };
        let expected = "frames per second (2M), bits per second (1gbit), or a share of the line rate (50%)";
        match Pace::read(typed.as_str()) {
            Ok(pace @ (Pace::Frames(_) | Pace::Bits { .. } | Pace::Line { .. })) => Ok(pace),
            Ok(_) => Err(table.wrong("max_rate", typed.as_str(), "cannot be the highest load", expected)),
            Err(problem) => Err(table.wrong("max_rate", typed.as_str(), &problem, expected)),
        }
    }
}

fn millionths(share: u32) -> Fraction {
    Fraction::from_millionths(share).unwrap_or(Fraction::ONE)
}

fn quarter(time: Picos) -> Picos {
    Picos::from_picos((time.as_picos() / 4).max(1))
}

impl SweepPlan {
    /// The canonical text.
    pub fn to_toml(&self) -> String {
        let mut lines = Lines::new("sweep");
        let percent = |share: Fraction| format!("{}%", f64::from(share.millionths()) / 1e4);
        let goal = |goal: &SweepGoal| match goal.name.as_str() {
            "NDR" | "PDR" => goal.name.to_ascii_lowercase(),
            _ => goal.loss.to_string(),
        };
        lines.text("send", Some(&self.send));
        lines.text("receive", Some(&self.receive));
        lines.list("sizes", &self.sizes);
        lines.list("goal", &self.goals.iter().map(goal).collect::<Vec<_>>());
        lines.add("trials", self.repetitions);
        lines.text("trial_time", Some(self.trial));
        lines.text("first_trial_time", Some(self.first_trial));
        lines.text("sum_time", Some(self.sum));
        lines.text("exceed", Some(percent(self.exceed)));
        lines.text("width", Some(percent(self.width)));
        lines.text("min_rate", Some(self.min));
        lines.text("max_rate", Some(self.max.rate_text().unwrap_or_default()));
        lines.add("latency", self.latency);
        let default = LATENCY_AT.map(|percent| millionths(percent * 10_000));
        if self.latency_at != default {
            lines.list("latency_at", &self.latency_at.iter().map(|at| percent(*at)).collect::<Vec<_>>());
        }
        lines.number("latency_trials", Some(self.latency_trials).filter(|trials| *trials != 1));
        lines.text("latency_time", Some(self.latency_time).filter(|time| *time != self.trial));
        lines.number("frame_loss", self.frame_loss.then_some(true));
        lines.add("bursts", self.bursts);
        lines.number("recovery", Some(self.recovery).filter(|tests| *tests > 0));
        lines.text("overload_time", Some(self.overload).filter(|time| *time != self.trial));
        if let Some(resets) = &self.resets {
            match resets.names.is_empty() {
                true => lines.add("resets", resets.count),
                false => lines.list("resets", &resets.names),
            }
            lines.text("reset_command", resets.command.as_ref());
            lines.text("reset_time", Some(resets.patience));
        }
        lines.number("bidirectional", self.bidirectional.then_some(true));
        lines.text("reverse_mac", self.reverse_mac);
        lines.text("drain", Some(self.drain));
        lines.text("rest", Some(self.rest).filter(|rest| !rest.is_zero()));
        lines.cpus(&self.cpus);
        lines.priority(self.priority);
        lines.text("line", self.line_bps);
        format!("{}\n{}", lines.finish(), self.look.to_toml())
    }
}

#[cfg(test)]
mod tests;
