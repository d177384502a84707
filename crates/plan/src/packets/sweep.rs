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

/// RFC 2544 §9.1, Ethernet.
pub const SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
const LEAST_SIZE: u64 = 64;
const MOST_SIZE: u64 = 65_535;
const MOST_REPETITIONS: u32 = 100;
const MOST_BURSTS: u32 = 1_000;
const MOST_GOALS: usize = 8;
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
            look: frames::resolve(&self.frames, &table)?,
        };
        if plan.exceed == Fraction::ONE {
            return Err(table.wrong("exceed", "100%", "would accept every load", "less than 100%"));
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
        lines.text("drain", Some(self.drain));
        lines.text("rest", Some(self.rest).filter(|rest| !rest.is_zero()));
        lines.cpus(&self.cpus);
        lines.priority(self.priority);
        lines.text("line", self.line_bps);
        format!("{}\n{}", lines.finish(), self.look.to_toml())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(edit: impl FnOnce(&mut SweepFile)) -> SweepPlanFile {
        let mut file = SweepPlanFile::default();
        file.sweep.send = Some("packet:veth0".to_owned());
        file.sweep.receive = Some("packet:veth1".to_owned());
        edit(&mut file.sweep);
        file
    }

    fn refused(edit: impl FnOnce(&mut SweepFile)) -> String {
        file(edit).resolve().unwrap_err().to_string()
    }

    #[test]
    fn sizes_and_goals_have_those_of_the_rfcs_as_defaults() {
        let plan = file(|_| {}).resolve().unwrap().0;
        assert_eq!(plan.sizes, SIZES);
        let goals: Vec<(&str, u32)> =
            plan.goals.iter().map(|goal| (goal.name.as_str(), goal.loss.millionths())).collect();
        assert_eq!(goals, [("NDR", 0), ("PDR", 5_000)]);
        assert_eq!((plan.sum, plan.first_trial), (Picos::from_secs(3), Picos::from_millis(250)));
        let strict = file(|sweep| sweep.rfc2544 = Some(true)).resolve().unwrap().0;
        assert_eq!(
            (strict.trial, strict.sum, strict.exceed),
            (Picos::from_secs(60), Picos::from_secs(60), Fraction::ZERO)
        );
        let typed =
            file(|sweep| (sweep.goal, sweep.sizes) = (Some("1%, ndr".into()), Some("1518,64".into())));
        let plan = typed.resolve().unwrap().0;
        assert_eq!((plan.goals[1].name.as_str(), plan.sizes), ("1%", vec![64, 1518]));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_would_be_right() {
        let said = refused(|sweep| sweep.sizes = Some("64,9".into()));
        assert!(
            said.starts_with("--sizes: '64,9' has no such frame size") && said.contains("64,512,1518"),
            "{said}"
        );
        let said =
            refused(|sweep| (sweep.min_rate, sweep.max_rate) = (Some("10k".into()), Some("1k".into())));
        assert!(said.starts_with("--max-rate: '1k' is below --min-rate"), "{said}");
        let said = refused(|sweep| sweep.goal = Some("mdr".into()));
        assert!(said.starts_with("--goal: 'mdr'") && said.contains("ndr (no loss)"), "{said}");
        let said = refused(|sweep| sweep.goal = Some("100%".into()));
        assert!(said.contains("would accept the loss of every frame"), "{said}");
        let said = refused(|sweep| sweep.receive = None);
        assert!(said.starts_with("--receive needs a port"), "{said}");
        let said = refused(|sweep| sweep.trials = Some("0".into()));
        assert!(said.starts_with("--trials: '0' is zero") && said.contains("1 to 100"), "{said}");
        let said = refused(|sweep| sweep.max_rate = Some("max".into()));
        assert!(said.starts_with("--max-rate: 'max' cannot be the highest load"), "{said}");
        let said = refused(|sweep| sweep.first_trial_time = Some("2".into()));
        assert!(said.contains("--first-trial-time contradicts --trial-time"), "{said}");
        let said = refused(|sweep| sweep.exceed = Some("1".into()));
        assert!(said.contains("--exceed"), "{said}");
    }

    #[test]
    fn the_canonical_text_reads_back_as_the_same_plan() {
        let edits: [fn(&mut SweepFile); 4] = [
            |_| {},
            |sweep| (sweep.goal, sweep.trials) = (Some("ndr,0.123%".into()), Some("5".into())),
            |sweep| (sweep.max_rate, sweep.min_rate) = (Some("10gbit".into()), Some("1/7s".into())),
            |sweep| {
                (sweep.rfc2544, sweep.width, sweep.cpus) = (Some(true), Some("2%".into()), Some("0,1".into()))
            },
        ];
        for edit in edits {
            let (plan, packet) = file(edit).resolve().unwrap();
            let text = packet.to_toml();
            let (again, packet_again) =
                SweepPlanFile::from_toml(&text, "plan.toml").unwrap().resolve().unwrap();
            assert_eq!((again, packet_again.hash()), (plan, packet.hash()), "{text}");
        }
    }
}
