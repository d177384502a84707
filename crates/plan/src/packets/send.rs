//! `[send]`: which port, when frames leave, and when the run ends.
//!
//! ```text
//! flags ─┐
//!        ├─► SendFile ─ resolve ─► SendPlan ─ to_toml ─► canonical text, which reads back
//! TOML ──┘
//!
//! when:  max │ rate 2M │ rate 1gbit │ rate 50% │ gap 13560 │ gaps FILE │ replay FILE
//! ```

use super::frames::{self, Frames, FramesFile};
use super::lines::Lines;
use super::{Command, PacketPlan, Times, limits};
use crate::error::PlanError;
use crate::fields::typed_table;
use crate::file::{LimitsFile, Origin, read_toml};
use crate::model::Spin;
use crate::table::Table;
use crate::typed::Typed;
use serde::Deserialize;
use std::path::PathBuf;

pub use super::when::{Pace, Speed};
use units::{Picos, Priority, Rate};

/// Threads that a plan may ask for.
const MOST_QUEUES: u32 = 256;
const RATES: &str = "frames per second (2M, 400/s), bits per second on the wire (1gbit, or 1gbit:l2 for frames \
                     alone), a share of the line rate (50%), or max";
/// Length of a run that nothing else ends.
const DURATION: Picos = Picos::from_secs(10);

/// A plan file of `tare send`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SendPlanFile {
    pub send: SendFile,
    pub frames: FramesFile,
    pub limits: LimitsFile,
    #[serde(skip)]
    origin: Option<Origin>,
}

typed_table! {
    /// `[send]`, as typed.
    pub struct SendFile, SEND_FLAGS of "send" {
        port: String, "PORT";
        /// A port that receives what was sent.
        receive: String, "--receive";
        rate: Typed, "--rate";
        /// Nanoseconds, or a time with its unit.
        gap: Typed, "--gap (-d)";
        /// A file with one gap in nanoseconds a line.
        gaps: String, "--gaps (-D)";
        /// A capture file whose frames leave at its own times.
        replay: String, "--replay";
        /// How much faster a replay is.
        speed: Typed, "--speed";
        burst: Typed, "--burst";
        relative: bool, "--relative";
        /// Bytes of payload.
        length: Typed, "--length (-l)";
        /// A file with one length of payload a line.
        lengths: String, "--lengths (-L)";
        frames: Typed, "--frames (-n)";
        duration: Typed, "--duration (-t)";
        queues: Typed, "--queues";
        cpus: Typed, "--cpus";
        spin: String, "--spin";
        /// `auto`, `normal`, `real-time`
        priority: String, "--priority";
        /// After the last frame has left, so long is waited for those on their way.
        drain: Typed, "--drain";
        /// Answer ARP and neighbour discovery for the source addresses.
        answer_arp: bool, "--answer-arp";
        /// Speed of the link in bits/s, where its driver does not tell it.
        line: Typed, "--line";
    }
}

/// Bytes of payload, as Caliper gives lengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// What `[frames]` says.
    Frames,
    Payload(u32),
    File(PathBuf),
}

/// What `tare send` does; nothing in it is invalid but for what only files and ports know.
#[derive(Clone, Debug, PartialEq)]
pub struct SendPlan {
    pub port: String,
    pub receive: Option<String>,
    pub pace: Pace,
    /// Frames that leave back to back.
    pub burst: u64,
    pub relative: bool,
    pub lengths: Lengths,
    pub frames: Option<u64>,
    pub duration: Option<Picos>,
    pub queues: u32,
    pub cpus: Vec<u32>,
    pub spin: Spin,
    pub priority: Priority,
    /// `None`: as long as the way takes.
    pub drain: Option<Picos>,
    pub answer_arp: bool,
    pub line_bps: Option<u64>,
    /// What frames look like; where they are replayed, nothing of it is used.
    pub look: Frames,
}

impl SendPlan {
    /// Of frames that an XDP program makes, single times are not known.
    fn times(&self) -> Times {
        let kind = self.port.split([':', ',']).next();
        if self.pace == Pace::Max || kind == Some("live") { Times::None } else { Times::OfEachFrame }
    }
}

impl SendPlanFile {
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
        Table::new("send", self.origin.as_ref())
    }

    /// Checks everything and fills in the defaults.
    ///
    /// # Errors
    /// The first thing that is wrong: which flag or line, what was typed, what would be right.
    pub fn resolve(&self) -> Result<(SendPlan, PacketPlan), PlanError> {
        let (table, send) = (self.table(), &self.send);
        let pace = self.pace(&table)?;
        let lengths = self.lengths(&table, &pace)?;
        let frames = table.count("frames", &send.frames, 1, u64::MAX)?;
        let from = "write packet:veth0, xdp:veth0, live:veth0, udp:198.18.0.2:9 or just an interface";
        let plan = SendPlan {
            receive: table.port_if_any("receive", send.receive.as_ref())?,
            burst: self.burst(&table, &pace)?,
            relative: self.relative(&table, &pace)?,
            duration: self.duration(&table, frames, &pace)?,
            queues: table.number("queues", &send.queues, 1, MOST_QUEUES)?.unwrap_or(1),
            cpus: table.cpus("cpus", &send.cpus)?,
            spin: table.spin("spin", send.spin.as_deref())?,
            priority: table.priority("priority", send.priority.as_deref())?,
            drain: self.drain(&table)?,
            answer_arp: send.answer_arp.unwrap_or(false),
            line_bps: table.line("line", &send.line)?,
            look: frames::resolve(&self.frames, &table)?,
            port: table.port("port", send.port.as_ref(), from)?,
            pace,
            lengths,
            frames,
        };
        self.check_recorded(&table, &plan)?;
        let (text, times) = (plan.to_toml(), plan.times());
        let limits = limits(&table, &self.limits, Command::Send, times)?;
        Ok((plan, PacketPlan::new(Command::Send, text, limits)))
    }

    /// Frames of a recording leave as they are. A plan that was written out says how frames look by default:
    /// that asks for nothing.
    fn check_recorded(&self, table: &Table<'_>, plan: &SendPlan) -> Result<(), PlanError> {
        let Some(typed) = self.frames.first_typed() else { return Ok(()) };
        let by_default = frames::resolve(&FramesFile::default(), table)?;
        let is_default = self.origin.is_some() && plan.look.to_toml() == by_default.to_toml();
        if !matches!(plan.pace, Pace::Replay { .. }) || is_default {
            return Ok(());
        }
        let why =
            "a replay sends recorded frames unchanged, at recorded times; to change frames, use --pcap FILE";
        Err(table.both(typed, "replay", why))
    }

    fn pace(&self, table: &Table<'_>) -> Result<Pace, PlanError> {
        let send = &self.send;
        let given = [
            ("rate", send.rate.is_some()),
            ("gap", send.gap.is_some()),
            ("gaps", send.gaps.is_some()),
            ("replay", send.replay.is_some()),
        ];
        table.only(&given, "both say when frames leave")?;
        if send.speed.is_some() && send.replay.is_none() {
            let why = "only a recording can be played faster or slower";
            return Err(table.missing("speed", "--replay FILE", why));
        }
        if let Some(typed) = &send.rate {
            return Pace::read(typed.as_str())
                .map_err(|problem| table.wrong("rate", typed.as_str(), problem, RATES));
        }
        if let Some(gap) = table.gap("gap", &send.gap, ", or --rate max")? {
            return Ok(Pace::Gap(gap));
        }
        if let Some(file) = &send.gaps {
            return Ok(Pace::Gaps(file.into()));
        }
        match &send.replay {
            Some(file) => Ok(Pace::Replay { file: file.into(), speed: self.speed(table)? }),
            None => Ok(Pace::Frames(Rate::per_second(1_000).expect("1 000 is over zero"))),
        }
    }

    fn speed(&self, table: &Table<'_>) -> Result<Speed, PlanError> {
        let Some(typed) = &self.send.speed else { return Ok(Speed { up: 1, down: 1 }) };
        Speed::read(typed.as_str())
            .map_err(|problem| table.wrong("speed", typed.as_str(), problem, "a factor, e.g. 2 or 0.5"))
    }

    fn lengths(&self, table: &Table<'_>, pace: &Pace) -> Result<Lengths, PlanError> {
        let send = &self.send;
        let lengths = match (&send.length, &send.lengths) {
            (Some(_), Some(_)) => {
                return Err(table.both("length", "lengths", "both say how long frames are"));
            }
            (Some(typed), None) => {
                let text = typed.as_str();
                let bytes = text.parse().ok().filter(|bytes: &u32| *bytes <= 65_507);
                let bytes = bytes.ok_or_else(|| {
                    table.wrong("length", text, "is not a payload length", "0 to 65507 bytes")
                })?;
                Lengths::Payload(bytes)
            }
            (None, Some(file)) => Lengths::File(file.into()),
            (None, None) => return Ok(Lengths::Frames),
        };
        let key = if send.length.is_some() { "length" } else { "lengths" };
        if self.frames.size.is_some() {
            return Err(table.both(key, "frames.size", "payload length and frame size cannot both be given"));
        }
        if matches!(pace, Pace::Replay { .. }) || self.frames.pcap.is_some() {
            let other = if self.frames.pcap.is_some() { "frames.pcap" } else { "replay" };
            return Err(table.both(key, other, "frames of a file have their own lengths"));
        }
        Ok(lengths)
    }

    fn burst(&self, table: &Table<'_>, pace: &Pace) -> Result<u64, PlanError> {
        let burst = table.count("burst", &self.send.burst, 1, 1_000_000)?.unwrap_or(1);
        match pace {
            Pace::Gaps(_) | Pace::Replay { .. } | Pace::Max if burst > 1 => {
                let other = match pace {
                    Pace::Gaps(_) => "gaps",
                    Pace::Replay { .. } => "replay",
                    _ => "rate",
                };
                Err(table.both("burst", other, "bursts need an even rate or gap"))
            }
            _ => Ok(burst),
        }
    }

    fn relative(&self, table: &Table<'_>, pace: &Pace) -> Result<bool, PlanError> {
        match (self.send.relative.unwrap_or(false), pace) {
            (true, Pace::Max) => Err(table.both("relative", "rate", "with --rate max there are no gaps")),
            (relative, _) => Ok(relative),
        }
    }

    /// A run that ends by itself needs no time: a count, or one pass of a recording.
    fn duration(
        &self,
        table: &Table<'_>,
        frames: Option<u64>,
        pace: &Pace,
    ) -> Result<Option<Picos>, PlanError> {
        if self.send.duration.is_none() {
            let ends = frames.is_some() || matches!(pace, Pace::Replay { .. });
            return Ok((!ends).then_some(DURATION));
        }
        table.time("duration", &self.send.duration)
    }

    fn drain(&self, table: &Table<'_>) -> Result<Option<Picos>, PlanError> {
        let drain = table.parse("drain", &self.send.drain)?;
        match (&drain, &self.send.receive) {
            (Some(_), None) => {
                Err(table.missing("drain", "--receive PORT", "without it there is no receiver that waits"))
            }
            _ => Ok(drain),
        }
    }
}

impl SendPlan {
    /// The canonical text.
    pub fn to_toml(&self) -> String {
        let mut lines = Lines::new("send");
        lines.text("port", Some(&self.port));
        lines.text("receive", self.receive.as_ref());
        lines.pace(&self.pace);
        lines.number("burst", Some(self.burst).filter(|burst| *burst > 1));
        lines.add("relative", self.relative);
        match &self.lengths {
            Lengths::Frames => {}
            Lengths::Payload(bytes) => lines.add("length", bytes),
            Lengths::File(file) => lines.text("lengths", Some(file.display())),
        }
        lines.text("frames", self.frames);
        lines.text("duration", self.duration);
        lines.add("queues", self.queues);
        lines.cpus(&self.cpus);
        lines.text("spin", Some(self.spin.word()));
        lines.priority(self.priority);
        lines.text("drain", self.drain);
        lines.add("answer_arp", self.answer_arp);
        lines.text("line", self.line_bps);
        let look = match self.pace {
            Pace::Replay { .. } => String::new(),
            _ => format!("\n{}", self.look.to_toml()),
        };
        lines.finish() + &look
    }
}

#[cfg(test)]
mod tests;
