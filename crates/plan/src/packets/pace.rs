//! `[pace]`: whose frames, through which ports, and when they leave.
//!
//! ```text
//! flags ─┐
//!        ├─► PaceFile ─ resolve ─► PacePlan ─ to_toml ─► canonical text, which reads back
//! TOML ──┘
//! ```

use super::lines::Lines;
use super::when::Pace;
use super::{Command, PacketPlan, Times, limits};
use crate::error::PlanError;
use crate::fields::typed_table;
use crate::file::{LimitsFile, Origin, read_toml};
use crate::table::Table;
use crate::typed::Typed;
use serde::Deserialize;
use units::{Picos, Priority};

/// A plan file of `tare pace`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PacePlanFile {
    pub pace: PaceFile,
    pub limits: LimitsFile,
    #[serde(skip)]
    origin: Option<Origin>,
}

typed_table! {
    /// `[pace]`, as typed.
    pub struct PaceFile, PACE_FLAGS of "pace" {
        /// Where the host's frames come from, and answers go to.
        input: String, "IN";
        /// Where they leave, and answers come from.
        output: String, "OUT";
        rate: Typed, "--rate";
        /// Nanoseconds, or a time with its unit.
        gap: Typed, "--gap (-d)";
        /// A file with one gap in nanoseconds a line.
        gaps: String, "--gaps (-D)";
        relative: bool, "--relative";
        duration: Typed, "--duration (-t)";
        cpus: Typed, "--cpus";
        /// `auto`, `normal`, `real-time`
        priority: String, "--priority";
        /// Keep the host back by a queueing discipline before a tap.
        valve: bool, "--no-valve";
        /// Speed of the link in bits/s, where its driver does not tell it.
        line: Typed, "--line";
    }
}

/// What `tare pace` does.
#[derive(Clone, Debug, PartialEq)]
pub struct PacePlan {
    pub input: String,
    pub output: String,
    /// Never `Max` and never a replay.
    pub pace: Pace,
    pub relative: bool,
    /// Until it is stopped where there is none.
    pub duration: Option<Picos>,
    pub cpus: Vec<u32>,
    pub priority: Priority,
    pub valve: bool,
    pub line_bps: Option<u64>,
}

const RATES: &str = "frames per second (20k), bits per second on the wire (50mbit; 50mbit:l2 for frames alone), or a \
                     share of the line rate (50%)";

impl PacePlanFile {
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
        Table::new("pace", self.origin.as_ref())
    }

    /// Checks everything and fills in the defaults.
    ///
    /// # Errors
    /// The first thing that is wrong: which flag or line, what was typed, what would be right.
    pub fn resolve(&self) -> Result<(PacePlan, PacketPlan), PlanError> {
        let (table, pace) = (self.table(), &self.pace);
        let from = "write tap:NAME (this host sends into it), or packet:VETH, the far end of a veth pair";
        let plan = PacePlan {
            input: table.port("input", pace.input.as_ref(), from)?,
            output: table.port(
                "output",
                pace.output.as_ref(),
                "write packet:veth0, xdp:veth0 or an interface",
            )?,
            pace: self.when(&table)?,
            relative: pace.relative.unwrap_or(false),
            duration: table.time("duration", &pace.duration)?,
            cpus: table.cpus("cpus", &pace.cpus)?,
            priority: table.priority("priority", pace.priority.as_deref())?,
            valve: pace.valve.unwrap_or(true),
            line_bps: table.line("line", &pace.line)?,
        };
        if plan.input == plan.output {
            let why = "the host's frames must leave through another port";
            return Err(table.both("input", "output", why));
        }
        let text = plan.to_toml();
        Ok((
            plan,
            PacketPlan::new(
                Command::Pace,
                text,
                limits(&table, &self.limits, Command::Pace, Times::OfEachFrame)?,
            ),
        ))
    }

    fn when(&self, table: &Table<'_>) -> Result<Pace, PlanError> {
        let PaceFile { rate, gap, gaps, .. } = &self.pace;
        let given = [("rate", rate.is_some()), ("gap", gap.is_some()), ("gaps", gaps.is_some())];
        table.only(&given, "both say when frames leave")?;
        if let Some(rate) = rate {
            return rate_of(table, "rate", rate.as_str());
        }
        match (table.gap("gap", gap, "")?, gaps) {
            (Some(gap), _) => Ok(Pace::Gap(gap)),
            (None, Some(file)) => Ok(Pace::Gaps(file.into())),
            (None, None) => Err(table.missing("rate", "a rate, a gap (-d) or a file of gaps (-D)", RATES)),
        }
    }
}

fn rate_of(table: &Table<'_>, key: &str, text: &str) -> Result<Pace, PlanError> {
    match Pace::read(text) {
        Ok(Pace::Max) => Err(table.wrong(key, text, "is not a pace", RATES)),
        Ok(pace) => Ok(pace),
        Err(problem) => Err(table.wrong(key, text, problem, RATES)),
    }
}

impl PacePlan {
    /// The canonical text.
    pub fn to_toml(&self) -> String {
        let mut lines = Lines::new("pace");
        lines.text("input", Some(&self.input));
        lines.text("output", Some(&self.output));
        lines.pace(&self.pace);
        lines.add("relative", self.relative);
        lines.text("duration", self.duration);
        lines.cpus(&self.cpus);
        lines.priority(self.priority);
        lines.add("valve", self.valve);
        lines.text("line", self.line_bps);
        lines.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Rate;

    fn file(edit: impl FnOnce(&mut PaceFile)) -> PacePlanFile {
        let mut file = PacePlanFile::default();
        file.pace.input = Some("tap:tare0".to_owned());
        file.pace.output = Some("packet:veth0".to_owned());
        edit(&mut file.pace);
        file
    }

    fn refused(edit: impl FnOnce(&mut PaceFile)) -> String {
        file(edit).resolve().unwrap_err().to_string()
    }

    #[test]
    fn a_pace_is_a_rate_a_gap_or_a_file() {
        let pace = |edit: fn(&mut PaceFile)| file(edit).resolve().unwrap().0.pace;
        assert_eq!(
            pace(|pace| pace.rate = Some("20k".into())),
            Pace::Frames(Rate::per_second(20_000).unwrap())
        );
        let bits = Pace::Bits { per_second: 50_000_000, on_wire: true };
        assert_eq!(pace(|pace| pace.rate = Some("50mbit".into())), bits);
        assert_eq!(pace(|pace| pace.gap = Some("13560".into())), Pace::Gap(Picos::from_nanos(13_560)));
        assert_eq!(pace(|pace| pace.gaps = Some("gaps".into())), Pace::Gaps("gaps".into()));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_would_be_right() {
        let said = refused(|_| {});
        assert!(said.contains("--rate needs a rate, a gap (-d) or a file of gaps (-D)"), "{said}");
        let said = refused(|pace| pace.rate = Some("max".into()));
        assert!(said.starts_with("--rate: 'max' is not a pace") && said.contains("50mbit"), "{said}");
        let said = refused(|pace| (pace.rate, pace.gap) = (Some("5".into()), Some("5".into())));
        assert!(said.contains("--rate contradicts --gap (-d)"), "{said}");
        let said = refused(|pace| pace.input = None);
        assert!(said.starts_with("IN needs a port") && said.contains("tap:NAME"), "{said}");
        let said = refused(|pace| (pace.output, pace.gap) = (Some("tap:tare0".into()), Some("9".into())));
        assert!(said.contains("IN contradicts OUT"), "{said}");
        let said = refused(|pace| pace.gap = Some("0".into()));
        assert!(said.contains("is zero"), "{said}");
    }

    #[test]
    fn the_canonical_text_reads_back_as_the_same_plan() {
        let edits: [fn(&mut PaceFile); 3] = [
            |pace| (pace.rate, pace.duration) = (Some("100mbit:l2".into()), Some("10".into())),
            |pace| {
                (pace.gap, pace.relative, pace.cpus) = (Some("13560".into()), Some(true), Some("0-1".into()))
            },
            |pace| (pace.gaps, pace.valve, pace.line) = (Some("g".into()), Some(false), Some("10G".into())),
        ];
        for edit in edits {
            let (plan, packet) = file(edit).resolve().unwrap();
            let text = packet.to_toml();
            let (again, packet_again) =
                PacePlanFile::from_toml(&text, "plan.toml").unwrap().resolve().unwrap();
            assert_eq!((again, packet_again.hash()), (plan, packet.hash()), "{text}");
        }
        let file = PacePlanFile::from_toml(
            "[pace]\ninput = \"tap:a\"\noutput = \"b\"\nrate = \"quick\"\n",
            "p.toml",
        );
        let said = file.unwrap().resolve().unwrap_err().to_string();
        assert!(said.starts_with("p.toml, line 4: pace.rate: 'quick'"), "{said}");
    }
}
