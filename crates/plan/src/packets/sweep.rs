//! `[sweep]`: between which ports, which frame sizes, what is looked for and how surely.
//!
//! ```text
//! flags ─┐
//!        ├─► SweepFile ─ resolve ─► SweepPlan ─ to_toml ─► canonical text, which reads back
//! TOML ──┘
//! ```

use super::frames::{self, Frames, FramesFile};
use super::pace::{line, pace_text};
use super::send::{Pace, quoted, read_pace};
use super::typing::Table;
use super::{Command, PacketPlan, Times, limits};
use crate::error::PlanError;
use crate::file::{LimitsFile, Origin, read_toml};
use crate::typed::Typed;
use serde::Deserialize;
use std::fmt::Write;
use units::{Fraction, Picos, Priority, Rate};

/// RFC 2544 §9.1, Ethernet.
pub const SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
const LEAST_SIZE: u64 = 64;
const MOST_SIZE: u64 = 65_535;
const MOST_REPETITIONS: u64 = 100;
const MOST_BURSTS: u64 = 1_000;
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

/// `[sweep]`, as typed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SweepFile {
    pub send: Option<String>,
    pub receive: Option<String>,
    pub sizes: Option<Typed>,
    /// `ndr`, `pdr`, or a loss ratio such as `0.1%`; several with commas.
    pub goal: Option<Typed>,
    /// What a search is repeated for, so that there is an interval.
    pub trials: Option<Typed>,
    pub trial_time: Option<Typed>,
    pub first_trial_time: Option<Typed>,
    pub sum_time: Option<Typed>,
    pub exceed: Option<Typed>,
    pub width: Option<Typed>,
    pub min_rate: Option<Typed>,
    pub max_rate: Option<Typed>,
    /// One-way times at shares of the first goal's load.
    pub latency: Option<bool>,
    /// Shares of that load, `10%,50%,90%,100%`.
    pub latency_at: Option<Typed>,
    /// Trials at each of them, and how long one takes.
    pub latency_trials: Option<Typed>,
    pub latency_time: Option<Typed>,
    /// Loss at 100, 90, 80 … % of the highest load, until two trials in a row lose nothing.
    pub frame_loss: Option<bool>,
    /// Searches for the longest burst; 0 makes none.
    pub bursts: Option<Typed>,
    /// After the last frame of a trial has left, so long is waited for those on their way.
    pub drain: Option<Typed>,
    /// Between two trials, so long nothing is sent.
    pub rest: Option<Typed>,
    /// Throughput, latency, frame loss rate and back-to-back frames as RFC 2544 has them.
    pub rfc2544: Option<bool>,
    pub cpus: Option<Typed>,
    /// `auto`, `normal`, `real-time`
    pub priority: Option<Typed>,
    pub line: Option<Typed>,
}

/// `(key of [sweep], flag)`, in canonical order.
pub const SWEEP_FLAGS: &[(&str, &str)] = &[
    ("send", "--send"),
    ("receive", "--receive"),
    ("sizes", "--sizes"),
    ("goal", "--goal"),
    ("trials", "--trials"),
    ("trial_time", "--trial-time"),
    ("first_trial_time", "--first-trial-time"),
    ("sum_time", "--sum-time"),
    ("exceed", "--exceed"),
    ("width", "--width"),
    ("min_rate", "--min-rate"),
    ("max_rate", "--max-rate"),
    ("latency", "--no-latency"),
    ("latency_at", "--latency-at"),
    ("latency_trials", "--latency-trials"),
    ("latency_time", "--latency-time"),
    ("frame_loss", "--frame-loss"),
    ("bursts", "--bursts"),
    ("drain", "--drain"),
    ("rest", "--rest"),
    ("rfc2544", "--rfc2544"),
    ("cpus", "--cpus"),
    ("priority", "--priority"),
    ("line", "--line"),
];

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
        Table { name: "sweep", flags: SWEEP_FLAGS, origin: self.origin.as_ref() }
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
        let exceed = table.share("exceed", &sweep.exceed)?;
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
            repetitions: table.count("trials", &sweep.trials, 1, MOST_REPETITIONS)?.unwrap_or(1) as u32,
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
                .count("latency_trials", &sweep.latency_trials, 1, MOST_REPETITIONS)?
                .map_or(if by_the_letter { 20 } else { 1 }, |count| count as u32),
            latency_time: table.time("latency_time", &sweep.latency_time)?.unwrap_or(if by_the_letter {
                Picos::from_secs(120)
            } else {
                trial
            }),
            frame_loss: sweep.frame_loss.unwrap_or(by_the_letter),
            bursts: table.count("bursts", &sweep.bursts, 0, MOST_BURSTS)?.unwrap_or(50) as u32,
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
            priority: table.priority("priority", &sweep.priority)?,
            line_bps: line(&table, &sweep.line)?,
            look: frames::resolve(&self.frames, &|field| table.place(field))?,
        };
        if plan.exceed == Fraction::ONE {
            return Err(table.wrong("exceed", "100%", "would accept every load", "less than 100%"));
        }
        if self.frames.size.is_some() {
            return Err(PlanError::Contradiction {
                place: Box::new(table.place("sweep.sizes")),
                other: Box::new(table.place("frames.size")),
                why: "a sweep tests its own list of sizes (--sizes)".to_owned(),
            });
        }
        let text = plan.to_toml();
        Ok((
            plan,
            PacketPlan::new(Command::Sweep, text, limits(&self.limits, Command::Sweep, Times::OfEachFrame)?),
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
        let width = table.share("width", &self.sweep.width)?.unwrap_or(millionths(5_000));
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
                Err(table.wrong("max_rate", typed, "is below --min-rate", &format!("{min} or more")))
            }
            _ => Ok((min, max)),
        }
    }

    fn max(&self, table: &Table<'_>) -> Result<Pace, PlanError> {
        let Some(typed) = &self.sweep.max_rate else { return Ok(Pace::Line { millionths: 1_000_000 }) };
        let expected = "frames per second (2M), bits per second (1gbit), or a share of the line rate (50%)";
        match read_pace(typed.as_str()) {
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
        let mut out = String::from("[sweep]\n");
        let mut line = |key: &str, value: &str| {
            let _ = writeln!(out, "{key} = {value}");
        };
        let list = |items: Vec<String>| quoted(&items.join(","));
        let percent = |share: Fraction| format!("{}%", f64::from(share.millionths()) / 1e4);
        let share = |share: Fraction| quoted(&percent(share));
        line("send", &quoted(&self.send));
        line("receive", &quoted(&self.receive));
        line("sizes", &list(self.sizes.iter().map(u32::to_string).collect()));
        let goal = |goal: &SweepGoal| match goal.name.as_str() {
            "NDR" | "PDR" => goal.name.to_ascii_lowercase(),
            _ => goal.loss.to_string(),
        };
        line("goal", &list(self.goals.iter().map(goal).collect()));
        line("trials", &self.repetitions.to_string());
        line("trial_time", &quoted(&self.trial.to_string()));
        line("first_trial_time", &quoted(&self.first_trial.to_string()));
        line("sum_time", &quoted(&self.sum.to_string()));
        line("exceed", &share(self.exceed));
        line("width", &share(self.width));
        line("min_rate", &quoted(&self.min.to_string()));
        line("max_rate", &quoted(&pace_text(&self.max).unwrap_or_default()));
        line("latency", &self.latency.to_string());
        if !self
            .latency_at
            .iter()
            .map(|share| share.millionths())
            .eq(LATENCY_AT.map(|percent| percent * 10_000))
        {
            let shares: Vec<String> = self.latency_at.iter().map(|at| percent(*at)).collect();
            line("latency_at", &list(shares));
        }
        if self.latency_trials != 1 {
            line("latency_trials", &self.latency_trials.to_string());
        }
        if self.latency_time != self.trial {
            line("latency_time", &quoted(&self.latency_time.to_string()));
        }
        if self.frame_loss {
            line("frame_loss", "true");
        }
        line("bursts", &self.bursts.to_string());
        line("drain", &quoted(&self.drain.to_string()));
        if !self.rest.is_zero() {
            line("rest", &quoted(&self.rest.to_string()));
        }
        if !self.cpus.is_empty() {
            line("cpus", &list(self.cpus.iter().map(u32::to_string).collect()));
        }
        if self.priority != Priority::Auto {
            line("priority", &quoted(self.priority.word()));
        }
        if let Some(bits) = self.line_bps {
            line("line", &quoted(&bits.to_string()));
        }
        let _ = write!(out, "\n{}", self.look.to_toml());
        out
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
        assert!(said.starts_with("--trials: '0' is out of range") && said.contains("1 to 100"), "{said}");
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
