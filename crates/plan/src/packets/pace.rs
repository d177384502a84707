//! `[pace]`: whose frames, through which ports, and when they leave.
//!
//! ```text
//! flags ─┐
//!        ├─► PaceFile ─ resolve ─► PacePlan ─ to_toml ─► canonical text, which reads back
//! TOML ──┘
//! ```

use super::send::{Pace, quoted, read_bits, read_pace};
use super::typing::Table;
use super::{Command, PacketPlan, Times, limits};
use crate::error::PlanError;
use crate::file::{LimitsFile, Origin, read_toml};
use crate::typed::Typed;
use serde::Deserialize;
use std::fmt::Write;
use std::str::FromStr;
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

/// `[pace]`, as typed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PaceFile {
    /// Where the host's frames come from, and answers go to.
    pub input: Option<String>,
    /// Where they leave, and answers come from.
    pub output: Option<String>,
    pub rate: Option<Typed>,
    /// Nanoseconds, or a time with its unit.
    pub gap: Option<Typed>,
    /// A file with one gap in nanoseconds a line.
    pub gaps: Option<String>,
    pub relative: Option<bool>,
    pub duration: Option<Typed>,
    pub cpus: Option<Typed>,
    /// `auto`, `normal`, `real-time`
    pub priority: Option<Typed>,
    /// Keep the host back by a queueing discipline before a tap.
    pub valve: Option<bool>,
    /// Speed of the link in bits/s, where its driver does not tell it.
    pub line: Option<Typed>,
}

/// `(key of [pace], flag)`, in canonical order.
pub const PACE_FLAGS: &[(&str, &str)] = &[
    ("input", "IN"),
    ("output", "OUT"),
    ("rate", "--rate"),
    ("gap", "--gap (-d)"),
    ("gaps", "--gaps (-D)"),
    ("relative", "--relative"),
    ("duration", "--duration (-t)"),
    ("cpus", "--cpus"),
    ("priority", "--priority"),
    ("valve", "--no-valve"),
    ("line", "--line"),
];

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
        Table { name: "pace", flags: PACE_FLAGS, origin: self.origin.as_ref() }
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
            priority: table.priority("priority", &pace.priority)?,
            valve: pace.valve.unwrap_or(true),
            line_bps: line(&table, &pace.line)?,
        };
        if plan.input == plan.output {
            let why = "the host's frames must leave through another port";
            return Err(table.both("input", "output", why));
        }
        let text = plan.to_toml();
        Ok((
            plan,
            PacketPlan::new(Command::Pace, text, limits(&self.limits, Command::Pace, Times::OfEachFrame)?),
        ))
    }

    fn when(&self, table: &Table<'_>) -> Result<Pace, PlanError> {
        let PaceFile { rate, gap, gaps, .. } = &self.pace;
        match (rate, gap, gaps) {
            (Some(rate), None, None) => rate_of(table, "rate", rate.as_str()),
            (None, Some(gap), None) => gap_of(table, gap.as_str()).map(Pace::Gap),
            (None, None, Some(file)) => Ok(Pace::Gaps(file.into())),
            (None, None, None) => {
                Err(table.missing("rate", "a rate, a gap (-d) or a file of gaps (-D)", RATES))
            }
            (Some(_), Some(_), _) => Err(table.both("rate", "gap", "both say when frames leave")),
            (Some(_), None, Some(_)) => Err(table.both("rate", "gaps", "both say when frames leave")),
            (None, Some(_), Some(_)) => Err(table.both("gap", "gaps", "both say when frames leave")),
        }
    }
}

fn rate_of(table: &Table<'_>, key: &str, text: &str) -> Result<Pace, PlanError> {
    match read_pace(text) {
        Ok(Pace::Max) => Err(table.wrong(key, text, "is not a pace", RATES)),
        Ok(pace) => Ok(pace),
        Err(problem) => Err(table.wrong(key, text, &problem, RATES)),
    }
}

/// `13560` is nanoseconds.
fn gap_of(table: &Table<'_>, text: &str) -> Result<Picos, PlanError> {
    let expected = "nanoseconds (13560) or a time (13.56us)";
    let bare = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'_');
    let with_unit = if bare { format!("{text}ns") } else { text.to_owned() };
    match Picos::from_str(&with_unit) {
        Ok(gap) if gap.is_zero() => Err(table.wrong("gap", text, "is zero", "a gap above zero")),
        Ok(gap) => Ok(gap),
        Err(error) => Err(table.wrong("gap", text, error.problem, expected)),
    }
}

/// Speed of a link.
pub(super) fn line(table: &Table<'_>, typed: &Option<Typed>) -> Result<Option<u64>, PlanError> {
    let Some(typed) = typed else { return Ok(None) };
    let text = typed.as_str();
    let bare = text.strip_suffix("bit/s").or(text.strip_suffix("bit")).unwrap_or(text);
    match read_bits(bare) {
        Some(bits) if bits > 0 => Ok(Some(bits)),
        _ => Err(table.wrong("line", text, "is not a link speed", "bits per second such as 10G")),
    }
}

/// A rate as `[pace]` and `[sweep]` write it.
pub(super) fn pace_text(pace: &Pace) -> Option<String> {
    match pace {
        Pace::Frames(rate) => Some(rate.to_string()),
        Pace::Bits { per_second, on_wire } => {
            Some(format!("{per_second}bit/s{}", if *on_wire { "" } else { ":l2" }))
        }
        Pace::Line { millionths } => Some(format!("{}.{:04}%", millionths / 10_000, millionths % 10_000)),
        _ => None,
    }
}

impl PacePlan {
    /// The canonical text.
    pub fn to_toml(&self) -> String {
        let mut out = String::from("[pace]\n");
        let mut line = |key: &str, value: &str| {
            let _ = writeln!(out, "{key} = {value}");
        };
        line("input", &quoted(&self.input));
        line("output", &quoted(&self.output));
        if let Some(rate) = pace_text(&self.pace) {
            line("rate", &quoted(&rate));
        }
        match &self.pace {
            Pace::Gap(gap) => line("gap", &quoted(&gap.to_string())),
            Pace::Gaps(file) => line("gaps", &quoted(&file.to_string_lossy())),
            _ => {}
        }
        line("relative", &self.relative.to_string());
        if let Some(duration) = self.duration {
            line("duration", &quoted(&duration.to_string()));
        }
        if !self.cpus.is_empty() {
            line("cpus", &quoted(&self.cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")));
        }
        if self.priority != Priority::Auto {
            line("priority", &quoted(self.priority.word()));
        }
        line("valve", &self.valve.to_string());
        if let Some(bits) = self.line_bps {
            line("line", &quoted(&bits.to_string()));
        }
        out
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
