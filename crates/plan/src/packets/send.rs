//! `[send]`: which port, when frames leave, and when the run ends.
//!
//! ```text
//! flags ─┐
//!        ├─► SendFile ─ resolve ─► SendPlan ─ to_toml ─► canonical text, which reads back
//! TOML ──┘
//!
//! when:  max │ rate 2M │ rate 1gbit │ rate 50% │ gap 13560 │ gaps FILE │ replay FILE │ ramp, step, stages,
//! sine
//!        or each [[frames.stream]] at a pace of its own
//! ```

use super::frames::{self, FrameSource, Frames, FramesFile, StreamLoad};
use super::lines::Lines;
use super::script;
use super::shaped::{self, LoadKeys};
use super::split::SplitPlan;
use super::{Command, PacketPlan, Times, limits};
use crate::error::PlanError;
use crate::fields::typed_table;
use crate::file::{LimitsFile, Origin, read_toml};
use crate::model::Spin;
use crate::table::Table;
use crate::typed::{Typed, TypedList};
use serde::Deserialize;
use std::path::PathBuf;

pub use super::script::ScriptPlan;
pub use super::when::{Pace, Speed};
use units::{Bytes, Picos, Priority, Rate};

/// Threads that a plan may ask for.
const MOST_QUEUES: u32 = 256;
/// The least that may be held of a capture file.
const LEAST_AHEAD: u64 = 4_000_000;
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
        /// How often a recording is played.
        loops: Typed, "--loop";
        /// Bytes of a capture file that may be held in memory.
        read_ahead: Typed, "--read-ahead";
        /// The port by which the servers' frames of a recording leave.
        servers: String, "--servers";
        /// How clients and servers are told apart.
        split: String, "--split";
        /// `FIELD=VALUES` of frames of one side.
        client_vary: TypedList, "--client-vary";
        server_vary: TypedList, "--server-vary";
        /// Gaps are random, around the mean of the rate.
        poisson: bool, "--poisson";
        /// As `tare http` has them, in frames a second.
        ramp: String, "--ramp";
        step: String, "--step";
        stages: String, "--stages";
        sine: String, "--sine";
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
        /// A file of Lua that finishes frames.
        script: String, "--script";
        /// The text of that file.
        lua: String;
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
    /// How often a recording is played.
    pub loops: Option<u64>,
    /// Bytes of a capture file that may be held in memory.
    pub read_ahead: Option<Bytes>,
    /// Clients and servers leave by two ports.
    pub split: Option<SplitPlan>,
    /// Gaps are random, around the mean of a rate.
    pub poisson: bool,
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
    pub script: Option<ScriptPlan>,
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
        let look = match &send.replay {
            Some(file) if self.frames.changes() => {
                self.refuse_looks(&table)?;
                frames::resolve_recorded(&self.frames, file, &table)?
            }
            _ => frames::resolve(&self.frames, &table)?,
        };
        let (key, pace) = self.pace(&table, &look)?;
        let burst = self.load(&table).burst(&pace, key)?;
        let lengths = self.lengths(&table, &pace)?;
        let frames = table.count("frames", &send.frames, 1, u64::MAX)?;
        let from = "write packet:veth0, xdp:veth0, live:veth0, udp:198.18.0.2:9 or just an interface";
        let plan = SendPlan {
            receive: table.port_if_any("receive", send.receive.as_ref())?,
            loops: self.loops(&table)?,
            read_ahead: self.read_ahead(&table)?,
            split: self.split(&table)?,
            poisson: self.load(&table).poisson(&pace, key, burst)?,
            burst,
            relative: self.relative(&table, &pace)?,
            duration: self.duration(&table, frames, &pace, &look)?,
            queues: table.number("queues", &send.queues, 1, MOST_QUEUES)?.unwrap_or(1),
            cpus: table.cpus("cpus", &send.cpus)?,
            spin: table.spin("spin", send.spin.as_deref())?,
            priority: table.priority("priority", send.priority.as_deref())?,
            drain: self.drain(&table)?,
            answer_arp: send.answer_arp.unwrap_or(false),
            line_bps: table.line("line", &send.line)?,
            script: self.script(&table)?,
            port: table.port("port", send.port.as_ref(), from)?,
            pace,
            lengths,
            frames,
            look,
        };
        self.check_recorded(&table, &plan)?;
        let (text, times) = (plan.to_toml(), plan.times());
        let limits = limits(&table, &self.limits, Command::Send, times)?;
        Ok((plan, PacketPlan::new(Command::Send, text, limits)))
    }

    /// What a script has changed has right checksums, unless it says that a frame is to leave as it is.
    fn script(&self, table: &Table<'_>) -> Result<Option<ScriptPlan>, PlanError> {
        let script = script::resolve(&self.send, table)?;
        let key = if self.send.script.is_some() { "script" } else { "lua" };
        let mut streams = self.frames.stream.iter().flatten();
        let is_spoiled =
            self.frames.bad_checksum.is_some() || streams.any(|stream| stream.bad_checksum.is_some());
        match (&script, is_spoiled) {
            (Some(_), true) => {
                let why = "checksums of a script's frames are corrected; write wrong ones in the script, with \
                           as_is";
                Err(table.both(key, "frames.bad_checksum", why))
            }
            _ => Ok(script),
        }
    }

    /// Of a recording fields vary and payloads are signed; everything else it has.
    fn refuse_looks(&self, table: &Table<'_>) -> Result<(), PlanError> {
        match self.frames.without_changes().first_typed() {
            None => Ok(()),
            Some(typed) => {
                let why = "recorded frames are sent unchanged; only --vary and --sign change them";
                Err(table.both(typed, "replay", why))
            }
        }
    }

    fn loops(&self, table: &Table<'_>) -> Result<Option<u64>, PlanError> {
        let loops = table.count("loops", &self.send.loops, 1, u64::MAX)?;
        match (&loops, &self.send.replay) {
            (Some(_), None) => {
                Err(table.missing("loops", "--replay FILE", "only a recording can be repeated"))
            }
            _ => Ok(loops),
        }
    }

    fn read_ahead(&self, table: &Table<'_>) -> Result<Option<Bytes>, PlanError> {
        let bytes: Option<Bytes> = table.parse("read_ahead", &self.send.read_ahead)?;
        let Some(typed) = &self.send.read_ahead else { return Ok(None) };
        if self.send.replay.is_none() && self.frames.pcap.is_none() {
            let why = "only a capture file is read ahead";
            return Err(table.missing("read_ahead", "--replay FILE or --pcap FILE", why));
        }
        if bytes.is_some_and(|bytes| bytes.get() < LEAST_AHEAD) {
            let expected = "4MB or more, e.g. 64MB or 1GiB";
            return Err(table.wrong("read_ahead", typed.as_str(), "is too little to keep up", expected));
        }
        Ok(bytes)
    }

    /// Frames of a recording leave as they are, but for what varies. A plan that was written out says how
    /// frames look by default: that asks for nothing.
    fn check_recorded(&self, table: &Table<'_>, plan: &SendPlan) -> Result<(), PlanError> {
        if self.frames.is_empty() {
            return Ok(());
        }
        let by_default = frames::resolve(&FramesFile::default(), table)?;
        let is_default = self.origin.is_some() && plan.look.to_toml() == by_default.to_toml();
        let is_recorded = matches!(plan.look.source(), FrameSource::Taken { .. });
        if !matches!(plan.pace, Pace::Replay { .. }) || is_default || is_recorded {
            return Ok(());
        }
        self.refuse_looks(table)
    }

    fn load<'a>(&'a self, table: &'a Table<'_>) -> LoadKeys<'a> {
        let send = &self.send;
        LoadKeys {
            table,
            path: String::new(),
            rate: &send.rate,
            gap: &send.gap,
            poisson: send.poisson,
            ramp: send.ramp.as_deref(),
            step: send.step.as_deref(),
            stages: send.stages.as_deref(),
            sine: send.sine.as_deref(),
            burst: &send.burst,
        }
    }

    /// When frames leave, and the key that says so.
    fn pace(&self, table: &Table<'_>, look: &Frames) -> Result<(&'static str, Pace), PlanError> {
        let (send, load) = (&self.send, self.load(table));
        let more = [("gaps", send.gaps.is_some()), ("replay", send.replay.is_some())];
        let key = load.only(&more)?;
        if send.speed.is_some() && send.replay.is_none() {
            let why = "only a recording can be played faster or slower";
            return Err(table.missing("speed", "--replay FILE", why));
        }
        let pace = match (key, &send.gaps, &send.replay) {
            _ if !look.loads().is_empty() => return self.streams(table, key),
            (None, ..) => Pace::Frames(Rate::per_second(1_000).expect("1 000 is over zero")),
            (Some("gaps"), Some(file), _) => Pace::Gaps(file.into()),
            (Some("replay"), _, Some(file)) => Pace::Replay { file: file.into(), speed: self.speed(table)? },
            (Some(key), ..) => load.pace(key)?,
        };
        Ok((key.unwrap_or("rate"), pace))
    }

    /// Streams have their own times: nothing else says when frames leave.
    fn streams(
        &self,
        table: &Table<'_>,
        key: Option<&'static str>,
    ) -> Result<(&'static str, Pace), PlanError> {
        let send = &self.send;
        let others = [
            (key.unwrap_or("rate"), key.is_some()),
            ("poisson", send.poisson == Some(true)),
            ("burst", send.burst.is_some()),
            ("relative", send.relative == Some(true)),
            ("length", send.length.is_some()),
            ("lengths", send.lengths.is_some()),
        ];
        match others.into_iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => Err(table.both(key, "frames.stream[0]", "its streams have separate loads")),
            None => Ok(("rate", Pace::Streams)),
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
                return Err(table.both("length", "lengths", "both set the length of frames"));
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

    fn relative(&self, table: &Table<'_>, pace: &Pace) -> Result<bool, PlanError> {
        match (self.send.relative.unwrap_or(false), pace) {
            (true, Pace::Max) => Err(table.both("relative", "rate", "with --rate max there are no gaps")),
            (relative, _) => Ok(relative),
        }
    }

    /// A run that ends by itself needs no time: a count, one pass of a recording, or stages. A shape is shown
    /// whole.
    fn duration(
        &self,
        table: &Table<'_>,
        frames: Option<u64>,
        pace: &Pace,
        look: &Frames,
    ) -> Result<Option<Picos>, PlanError> {
        if self.send.duration.is_some() {
            return table.time("duration", &self.send.duration);
        }
        let (length, _) = shaped::length(pace);
        let ends = frames.is_some()
            || matches!(pace, Pace::Replay { .. })
            || (*pace == Pace::Streams && look.loads().iter().all(StreamLoad::ends));
        Ok((!ends).then_some(length.unwrap_or(DURATION)))
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
        lines.number("loops", self.loops);
        lines.text("read_ahead", self.read_ahead);
        if let Some(split) = &self.split {
            split.lines(&mut lines);
        }
        lines.number("poisson", self.poisson.then_some(true));
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
        if let Some(script) = &self.script {
            script.add_to(&mut lines);
        }
        let look = match self.pace {
            Pace::Replay { .. } if matches!(self.look.source(), FrameSource::Made { .. }) => String::new(),
            _ => format!("\n{}", self.look.to_toml()),
        };
        lines.finish() + &look
    }
}

#[cfg(test)]
mod tests;
