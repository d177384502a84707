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
use super::{Command, PacketPlan, Times, limits};
use crate::error::{Place, PlanError};
use crate::file::{LimitsFile, Origin, read_toml};
use crate::model::Spin;
use crate::typed::Typed;
use serde::Deserialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::str::FromStr;
use units::{Count, Picos, Priority, Rate};

/// Threads that a plan may ask for.
const MOST_QUEUES: u32 = 256;
const MOST_CPU: u32 = 8_191;
/// Speeds of a replay lie between one millionth and a million.
const MOST_SPEED: u64 = 1_000_000;
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

/// `[send]`, as typed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SendFile {
    pub port: Option<String>,
    /// A port that receives what was sent.
    pub receive: Option<String>,
    pub rate: Option<Typed>,
    /// Nanoseconds, or a time with its unit.
    pub gap: Option<Typed>,
    /// A file with one gap in nanoseconds a line.
    pub gaps: Option<String>,
    /// A capture file whose frames leave at its own times.
    pub replay: Option<String>,
    /// How much faster a replay is.
    pub speed: Option<Typed>,
    pub burst: Option<Typed>,
    pub relative: Option<bool>,
    /// Bytes of payload.
    pub length: Option<Typed>,
    /// A file with one length of payload a line.
    pub lengths: Option<String>,
    pub frames: Option<Typed>,
    pub duration: Option<Typed>,
    pub queues: Option<Typed>,
    pub cpus: Option<Typed>,
    pub spin: Option<String>,
    /// `auto`, `normal`, `real-time`
    pub priority: Option<String>,
    /// After the last frame has left, so long is waited for those on their way.
    pub drain: Option<Typed>,
    /// Answer ARP and neighbour discovery for the source addresses.
    pub answer_arp: Option<bool>,
    /// Speed of the link in bits/s, where its driver does not tell it.
    pub line: Option<Typed>,
}

/// `(key of [send], flag)`, in canonical order.
pub const SEND_FLAGS: &[(&str, &str)] = &[
    ("port", "PORT"),
    ("receive", "--receive"),
    ("rate", "--rate"),
    ("gap", "--gap (-d)"),
    ("gaps", "--gaps (-D)"),
    ("replay", "--replay"),
    ("speed", "--speed"),
    ("burst", "--burst"),
    ("relative", "--relative"),
    ("length", "--length (-l)"),
    ("lengths", "--lengths (-L)"),
    ("frames", "--frames (-n)"),
    ("duration", "--duration (-t)"),
    ("queues", "--queues"),
    ("cpus", "--cpus"),
    ("spin", "--spin"),
    ("priority", "--priority"),
    ("drain", "--drain"),
    ("answer_arp", "--answer-arp"),
    ("line", "--line"),
];

/// When frames leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as the port takes them.
    Max,
    Frames(Rate),
    /// Bits a second; on the wire (with preamble, gap and FCS) or of frames alone (with FCS).
    Bits {
        per_second: u64,
        on_wire: bool,
    },
    /// Of the line rate, in millionths.
    Line {
        millionths: u64,
    },
    Gap(Picos),
    Gaps(PathBuf),
    Replay {
        file: PathBuf,
        speed: Speed,
    },
}

/// How much faster a replay is than its recording: `up / down`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    pub up: u64,
    pub down: u64,
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

    fn place(&self, field: &str) -> Place {
        let key = field.strip_prefix("send.").unwrap_or_default();
        let flag =
            SEND_FLAGS.iter().chain(frames::FRAME_FLAGS.iter().filter(|_| field.starts_with("frames.")));
        let stem = field.rsplit('.').next().unwrap_or(field).split('[').next().unwrap_or_default();
        let wanted = if key.is_empty() { stem } else { key };
        let flag = match &self.origin {
            Some(_) => None,
            None if key.is_empty() => {
                frames::FRAME_FLAGS.iter().find(|(known, _)| *known == wanted).map(|(_, flag)| *flag)
            }
            None => flag.into_iter().find(|(known, _)| *known == wanted).map(|(_, flag)| *flag),
        };
        let line = self.origin.as_ref().and_then(|origin| origin.line(field));
        Place { field: field.to_owned(), flag, line }
    }

    fn wrong(&self, field: &str, value: &str, problem: &str, expected: &str) -> PlanError {
        PlanError::Value {
            place: Box::new(self.place(field)),
            value: value.to_owned(),
            problem: problem.to_owned(),
            expected: expected.to_owned(),
        }
    }

    fn both(&self, field: &str, other: &str, why: &str) -> PlanError {
        PlanError::Contradiction {
            place: Box::new(self.place(field)),
            other: Box::new(self.place(other)),
            why: why.to_owned(),
        }
    }

    /// Checks everything and fills in the defaults.
    ///
    /// # Errors
    /// The first thing that is wrong: which flag or line, what was typed, what would be right.
    pub fn resolve(&self) -> Result<(SendPlan, PacketPlan), PlanError> {
        let send = &self.send;
        let pace = self.pace()?;
        let lengths = self.lengths(&pace)?;
        let frames = self.count("frames", &send.frames, u64::MAX)?;
        let plan = SendPlan {
            port: self.port("port", send.port.as_deref())?.unwrap_or_default(),
            receive: self.port("receive", send.receive.as_deref())?,
            burst: self.burst(&pace)?,
            relative: self.relative(&pace)?,
            duration: self.duration(frames, &pace)?,
            queues: self.count("queues", &send.queues, MOST_QUEUES.into())?.map_or(1, |count| count as u32),
            cpus: self.cpus()?,
            spin: self.spin()?,
            priority: self.priority()?,
            drain: self.drain()?,
            answer_arp: send.answer_arp.unwrap_or(false),
            line_bps: self.line()?,
            look: frames::resolve(&self.frames, &|field| self.place(field))?,
            pace,
            lengths,
            frames,
        };
        self.check_recorded(&plan)?;
        if plan.port.is_empty() {
            return Err(PlanError::Missing {
                place: Box::new(self.place("send.port")),
                needs: "a port".to_owned(),
                why: "write packet:veth0, xdp:veth0, live:veth0, udp:198.18.0.2:9 or just an interface"
                    .to_owned(),
            });
        }
        let (text, times) = (plan.to_toml(), plan.times());
        Ok((plan, PacketPlan::new(Command::Send, text, limits(&self.limits, Command::Send, times)?)))
    }

    /// Frames of a recording leave as they are. A plan that was written out says how frames look by default:
    /// that asks for nothing.
    fn check_recorded(&self, plan: &SendPlan) -> Result<(), PlanError> {
        let Some(typed) = self.frames.first_typed() else { return Ok(()) };
        let by_default = frames::resolve(&FramesFile::default(), &|field| self.place(field))?;
        let is_default = self.origin.is_some() && plan.look.to_toml() == by_default.to_toml();
        if !matches!(plan.pace, Pace::Replay { .. }) || is_default {
            return Ok(());
        }
        let why =
            "a replay sends recorded frames unchanged, at recorded times; to change frames, use --pcap FILE";
        Err(self.both(typed, "send.replay", why))
    }

    fn port(&self, key: &str, typed: Option<&str>) -> Result<Option<String>, PlanError> {
        match typed {
            Some(text) if text.trim().is_empty() => {
                Err(self.wrong(&format!("send.{key}"), text, "names no port", "packet:veth0 or an interface"))
            }
            other => Ok(other.map(|text| text.trim().to_owned())),
        }
    }

    fn pace(&self) -> Result<Pace, PlanError> {
        let send = &self.send;
        let given = [
            ("rate", send.rate.is_some()),
            ("gap", send.gap.is_some()),
            ("gaps", send.gaps.is_some()),
            ("replay", send.replay.is_some()),
        ];
        let mut given = given.iter().filter(|(_, is)| *is).map(|(key, _)| *key);
        if let (Some(first), Some(second)) = (given.next(), given.next()) {
            let (first, second) = (format!("send.{first}"), format!("send.{second}"));
            return Err(self.both(&first, &second, "both say when frames leave"));
        }
        if send.speed.is_some() && send.replay.is_none() {
            return Err(PlanError::Missing {
                place: Box::new(self.place("send.speed")),
                needs: "--replay FILE".to_owned(),
                why: "only a recording can be played faster or slower".to_owned(),
            });
        }
        if let Some(typed) = &send.rate {
            return self.rate(typed.as_str());
        }
        if let Some(typed) = &send.gap {
            return self.gap(typed.as_str()).map(Pace::Gap);
        }
        if let Some(file) = &send.gaps {
            return Ok(Pace::Gaps(file.into()));
        }
        match &send.replay {
            Some(file) => Ok(Pace::Replay { file: file.into(), speed: self.speed()? }),
            None => Ok(Pace::Frames(Rate::per_second(1_000).expect("1 000 is over zero"))),
        }
    }

    fn rate(&self, text: &str) -> Result<Pace, PlanError> {
        Pace::read(text).map_err(|problem| {
            let expected = "frames per second (2M, 400/s), bits per second on the wire (1gbit, or 1gbit:l2 for frames \
                            alone), a share of the line rate (50%), or max";
            self.wrong("send.rate", text, &problem, expected)
        })
    }

    fn gap(&self, text: &str) -> Result<Picos, PlanError> {
        let expected = "nanoseconds (13560) or a time (13.56us)";
        let bare = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'_');
        let with_unit = if bare { format!("{text}ns") } else { text.to_owned() };
        let gap = Picos::from_str(&with_unit)
            .map_err(|error| self.wrong("send.gap", text, error.problem, expected))?;
        if gap.is_zero() {
            return Err(self.wrong("send.gap", text, "is zero", "a gap above zero, or --rate max"));
        }
        Ok(gap)
    }

    fn speed(&self) -> Result<Speed, PlanError> {
        let Some(typed) = &self.send.speed else { return Ok(Speed { up: 1, down: 1 }) };
        let text = typed.as_str();
        let expected = "a factor, e.g. 2 or 0.5";
        let fail = |problem: &str| self.wrong("send.speed", text, problem, expected);
        let number = text.strip_suffix(['x', '\u{d7}']).unwrap_or(text);
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        if part.len() > 6 || (whole.is_empty() && part.is_empty()) {
            return Err(fail("is not a number with at most six decimals"));
        }
        let down = 10u64.pow(part.len() as u32);
        let up: u64 = format!("{whole}{part}").parse().map_err(|_| fail("is not a number"))?;
        if up == 0 || up / down > MOST_SPEED {
            return Err(fail("is not above 0 and at most 1 000 000"));
        }
        Ok(Speed { up, down })
    }

    fn lengths(&self, pace: &Pace) -> Result<Lengths, PlanError> {
        let send = &self.send;
        let lengths = match (&send.length, &send.lengths) {
            (Some(_), Some(_)) => {
                return Err(self.both("send.length", "send.lengths", "both say how long frames are"));
            }
            (Some(typed), None) => {
                let text = typed.as_str();
                let bytes = text.parse().ok().filter(|bytes: &u32| *bytes <= 65_507);
                let bytes = bytes.ok_or_else(|| {
                    self.wrong("send.length", text, "is not a payload length", "0 to 65507 bytes")
                })?;
                Lengths::Payload(bytes)
            }
            (None, Some(file)) => Lengths::File(file.into()),
            (None, None) => return Ok(Lengths::Frames),
        };
        let key = if send.length.is_some() { "send.length" } else { "send.lengths" };
        if self.frames.size.is_some() {
            return Err(self.both(key, "frames.size", "payload length and frame size cannot both be given"));
        }
        if matches!(pace, Pace::Replay { .. }) || self.frames.pcap.is_some() {
            let other = if self.frames.pcap.is_some() { "frames.pcap" } else { "send.replay" };
            return Err(self.both(key, other, "frames of a file have their own lengths"));
        }
        Ok(lengths)
    }

    fn count(&self, key: &str, typed: &Option<Typed>, most: u64) -> Result<Option<u64>, PlanError> {
        let Some(typed) = typed else { return Ok(None) };
        let (field, text) = (format!("send.{key}"), typed.as_str());
        let count: Count = text.parse().map_err(|error: units::ParseError| {
            self.wrong(&field, text, error.problem, "a count such as 1000 or 5M")
        })?;
        match count.get() {
            0 => Err(self.wrong(&field, text, "is zero", "one or more")),
            count if count > most => Err(self.wrong(&field, text, "is too many", &format!("at most {most}"))),
            count => Ok(Some(count)),
        }
    }

    fn burst(&self, pace: &Pace) -> Result<u64, PlanError> {
        let burst = self.count("burst", &self.send.burst, 1_000_000)?.unwrap_or(1);
        match pace {
            Pace::Gaps(_) | Pace::Replay { .. } | Pace::Max if burst > 1 => {
                let other = match pace {
                    Pace::Gaps(_) => "send.gaps",
                    Pace::Replay { .. } => "send.replay",
                    _ => "send.rate",
                };
                Err(self.both("send.burst", other, "bursts need an even rate or gap"))
            }
            _ => Ok(burst),
        }
    }

    fn relative(&self, pace: &Pace) -> Result<bool, PlanError> {
        match (self.send.relative.unwrap_or(false), pace) {
            (true, Pace::Max) => {
                Err(self.both("send.relative", "send.rate", "with --rate max there are no gaps"))
            }
            (relative, _) => Ok(relative),
        }
    }

    /// A run that ends by itself needs no time: a count, or one pass of a recording.
    fn duration(&self, frames: Option<u64>, pace: &Pace) -> Result<Option<Picos>, PlanError> {
        let Some(typed) = &self.send.duration else {
            let ends = frames.is_some() || matches!(pace, Pace::Replay { .. });
            return Ok((!ends).then_some(DURATION));
        };
        let text = typed.as_str();
        let time = Picos::from_str(text).map_err(|error| {
            self.wrong("send.duration", text, error.problem, "seconds, or a time such as 500ms")
        })?;
        if time.is_zero() {
            return Err(self.wrong("send.duration", text, "is zero", "a time above zero"));
        }
        Ok(Some(time))
    }

    fn cpus(&self) -> Result<Vec<u32>, PlanError> {
        let Some(typed) = &self.send.cpus else { return Ok(Vec::new()) };
        let text = typed.as_str();
        let fail = |problem: &str| self.wrong("send.cpus", text, problem, "CPUs such as 0,2-3");
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let read = |text: &str| text.trim().parse::<u32>().map_err(|_| fail("is not a list of CPUs"));
            let (from, to) = (read(from)?, read(to)?);
            if from > to || to > MOST_CPU {
                return Err(fail("has a range that goes down, or a CPU above 8191"));
            }
            cpus.extend((from..=to).filter(|cpu| !cpus.contains(cpu)).collect::<Vec<_>>());
        }
        Ok(cpus)
    }

    fn spin(&self) -> Result<Spin, PlanError> {
        match self.send.spin.as_deref() {
            None | Some("auto") => Ok(Spin::Auto),
            Some("never") => Ok(Spin::Never),
            Some("always") => Ok(Spin::Always),
            Some(other) => {
                Err(self.wrong("send.spin", other, "is not a way to wait", "auto, never or always"))
            }
        }
    }

    fn priority(&self) -> Result<Priority, PlanError> {
        let Some(typed) = self.send.priority.as_deref() else { return Ok(Priority::Auto) };
        typed.parse().map_err(|error: units::ParseError| {
            self.wrong("send.priority", typed, error.problem, error.expected)
        })
    }

    fn drain(&self) -> Result<Option<Picos>, PlanError> {
        let Some(typed) = &self.send.drain else { return Ok(None) };
        if self.send.receive.is_none() {
            return Err(PlanError::Missing {
                place: Box::new(self.place("send.drain")),
                needs: "--receive PORT".to_owned(),
                why: "without it there is no receiver that waits".to_owned(),
            });
        }
        let text = typed.as_str();
        Picos::from_str(text).map(Some).map_err(|error| {
            self.wrong("send.drain", text, error.problem, "seconds, or a time such as 500ms")
        })
    }

    fn line(&self) -> Result<Option<u64>, PlanError> {
        let Some(typed) = &self.send.line else { return Ok(None) };
        let text = typed.as_str();
        let bare = text.strip_suffix("bit/s").or(text.strip_suffix("bit")).unwrap_or(text);
        match read_bits(bare) {
            Some(bits) if bits > 0 => Ok(Some(bits)),
            _ => Err(self.wrong("send.line", text, "is not a link speed", "bits per second such as 10G")),
        }
    }
}

impl Pace {
    /// `max`, `50%`, `1gbit`, `1gbit:l2`, `2M`, `30/min`; what is wrong with any other.
    pub fn read(text: &str) -> Result<Self, String> {
        read_pace(text)
    }
}

pub(super) fn read_pace(text: &str) -> Result<Pace, String> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("max") {
        return Ok(Pace::Max);
    }
    if let Some(percent) = text.strip_suffix('%') {
        let (whole, part) = percent.trim().split_once('.').unwrap_or((percent.trim(), ""));
        let digits = format!("{whole}{part:0<4}");
        let is_number = !whole.is_empty() && part.len() <= 4;
        let millionths =
            digits.parse().ok().filter(|_| is_number).ok_or("is not a share with at most four decimals")?;
        return match millionths {
            0 => Err("is zero".to_owned()),
            1..=1_000_000 => Ok(Pace::Line { millionths }),
            _ => Err("is more than the line rate".to_owned()),
        };
    }
    let lower = text.to_ascii_lowercase();
    let (bits, on_wire) = match (lower.strip_suffix(":l2"), lower.strip_suffix(":l1")) {
        (Some(bits), _) => (bits, false),
        (None, Some(bits)) => (bits, true),
        (None, None) => (lower.as_str(), true),
    };
    let unit = ["bit/s", "bits/s", "bps", "bit"].iter().find_map(|unit| bits.strip_suffix(unit));
    match unit {
        Some(number) => match read_bits(number) {
            Some(0) => Err("is zero".to_owned()),
            Some(per_second) => Ok(Pace::Bits { per_second, on_wire }),
            None => Err("is not a number of bits per second".to_owned()),
        },
        None if bits.len() < lower.len() => Err("has a layer but no unit of bits".to_owned()),
        None => text.parse().map(Pace::Frames).map_err(|error: units::ParseError| error.problem.to_string()),
    }
}

/// `10G`, `2.5g`, `100 m`, `800`: a number of bits.
pub(super) fn read_bits(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, factor) = match text.to_ascii_lowercase().chars().last()? {
        'k' => (&text[..text.len() - 1], 1_000u64),
        'm' => (&text[..text.len() - 1], 1_000_000),
        'g' => (&text[..text.len() - 1], 1_000_000_000),
        't' => (&text[..text.len() - 1], 1_000_000_000_000),
        _ => (text, 1),
    };
    let (whole, part) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
    let is_number = !whole.is_empty() && part.len() <= 9 && part.bytes().all(|byte| byte.is_ascii_digit());
    let scale = 10u64.checked_pow(part.len() as u32)?;
    let value: u64 = format!("{whole}{part}").parse().ok().filter(|_| is_number)?;
    let bits = u128::from(value) * u128::from(factor) / u128::from(scale);
    u64::try_from(bits).ok()
}

impl SendPlan {
    /// The canonical text.
    pub fn to_toml(&self) -> String {
        let mut out = String::from("[send]\n");
        let mut line = |key: &str, value: &str| {
            let _ = writeln!(out, "{key} = {value}");
        };
        line("port", &quoted(&self.port));
        if let Some(port) = &self.receive {
            line("receive", &quoted(port));
        }
        match &self.pace {
            Pace::Max => line("rate", "\"max\""),
            Pace::Frames(rate) => line("rate", &quoted(&rate.to_string())),
            Pace::Bits { per_second, on_wire } => {
                line("rate", &quoted(&format!("{per_second}bit/s{}", if *on_wire { "" } else { ":l2" })));
            }
            Pace::Line { millionths } => {
                line("rate", &quoted(&format!("{}.{:04}%", millionths / 10_000, millionths % 10_000)));
            }
            Pace::Gap(gap) => line("gap", &quoted(&gap.to_string())),
            Pace::Gaps(file) => line("gaps", &quoted(&file.to_string_lossy())),
            Pace::Replay { file, speed } => {
                line("replay", &quoted(&file.to_string_lossy()));
                line("speed", &quoted(&speed.to_string()));
            }
        }
        if self.burst > 1 {
            line("burst", &self.burst.to_string());
        }
        line("relative", &self.relative.to_string());
        match &self.lengths {
            Lengths::Frames => {}
            Lengths::Payload(bytes) => line("length", &bytes.to_string()),
            Lengths::File(file) => line("lengths", &quoted(&file.to_string_lossy())),
        }
        if let Some(frames) = self.frames {
            line("frames", &quoted(&frames.to_string()));
        }
        if let Some(duration) = self.duration {
            line("duration", &quoted(&duration.to_string()));
        }
        line("queues", &self.queues.to_string());
        if !self.cpus.is_empty() {
            line("cpus", &quoted(&self.cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")));
        }
        let spin = match self.spin {
            Spin::Auto => "auto",
            Spin::Never => "never",
            Spin::Always => "always",
        };
        line("spin", &quoted(spin));
        if self.priority != Priority::Auto {
            line("priority", &quoted(self.priority.word()));
        }
        if let Some(drain) = self.drain {
            line("drain", &quoted(&drain.to_string()));
        }
        line("answer_arp", &self.answer_arp.to_string());
        if let Some(bits) = self.line_bps {
            line("line", &quoted(&bits.to_string()));
        }
        if !matches!(self.pace, Pace::Replay { .. }) {
            let _ = write!(out, "\n{}", self.look.to_toml());
        }
        out
    }
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // `down` is a power of ten.
        let decimals = self.down.ilog10() as usize;
        match decimals {
            0 => write!(f, "{}", self.up),
            _ => write!(f, "{}.{:0decimals$}", self.up / self.down, self.up % self.down),
        }
    }
}

pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_frames_goes_with_a_recording() {
        type Edit = fn(&mut FramesFile);
        let edits: [(Edit, &str); 6] = [
            (|frames| frames.dst = Some("198.18.0.2".into()), "--dst"),
            (|frames| frames.dst_mac = Some("02:00:00:00:00:01".into()), "--dst-mac"),
            (|frames| frames.size = Some("64".into()), "--size"),
            (|frames| frames.sign = Some(true), "--sign"),
            (|frames| frames.vary = Some(crate::typed::TypedList(vec!["dport=9,53".into()])), "--vary"),
            (|frames| frames.ttl = Some("64".into()), "--ttl"),
        ];
        for (edit, flag) in edits {
            let mut file = file(|send| send.replay = Some("trace.pcap".to_owned()));
            edit(&mut file.frames);
            let said = file.resolve().unwrap_err().to_string();
            assert!(said.starts_with(&format!("{flag} contradicts --replay")), "{said}");
        }
        // What a stored plan says by default asks for nothing.
        let (plan, packet) = file(|send| send.replay = Some("trace.pcap".to_owned())).resolve().unwrap();
        let text = packet.to_toml();
        let again = SendPlanFile::from_toml(&text, "plan.toml").unwrap().resolve().unwrap().0;
        assert_eq!(again, plan);
    }

    fn file(edit: impl FnOnce(&mut SendFile)) -> SendPlanFile {
        let mut file = SendPlanFile::default();
        file.send.port = Some("packet:veth0".to_owned());
        edit(&mut file.send);
        file
    }

    fn pace(text: &str) -> Pace {
        file(|send| send.rate = Some(text.into())).resolve().unwrap().0.pace
    }

    fn refused(edit: impl FnOnce(&mut SendFile)) -> String {
        file(edit).resolve().unwrap_err().to_string()
    }

    #[test]
    fn rates_are_frames_bits_or_shares_of_the_line() {
        assert_eq!(pace("2M"), Pace::Frames(Rate::per_second(2_000_000).unwrap()));
        assert_eq!(pace("30/min"), Pace::Frames(Rate::new(1, Picos::from_secs(2)).unwrap()));
        assert_eq!(pace("1gbit"), Pace::Bits { per_second: 1_000_000_000, on_wire: true });
        assert_eq!(pace("2.5Gbit/s:l2"), Pace::Bits { per_second: 2_500_000_000, on_wire: false });
        assert_eq!(pace("100mbit:l1"), Pace::Bits { per_second: 100_000_000, on_wire: true });
        assert_eq!(pace("50%"), Pace::Line { millionths: 500_000 });
        assert_eq!(pace("0.0125%"), Pace::Line { millionths: 125 });
        assert_eq!(pace("max"), Pace::Max);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_would_be_right() {
        for (rate, problem) in [
            ("fast", "is not a number"),
            ("101%", "more than the line"),
            ("0bit", "is zero"),
            ("5:l2", "no unit of bits"),
        ] {
            let said = refused(|send| send.rate = Some(rate.into()));
            assert!(said.starts_with(&format!("--rate: '{rate}'")) && said.contains(problem), "{said}");
            assert!(said.contains("1gbit"), "{said}");
        }
        let said = refused(|send| send.gap = Some("0".into()));
        assert!(said.starts_with("--gap (-d): '0' is zero"), "{said}");
        let said = refused(|send| (send.gap, send.rate) = (Some("5".into()), Some("5".into())));
        assert!(said.contains("--rate contradicts --gap (-d)"), "{said}");
        let said = refused(|send| send.speed = Some("2".into()));
        assert!(said.contains("--speed needs --replay"), "{said}");
        let said = refused(|send| send.cpus = Some("3-1".into()));
        assert!(said.contains("--cpus: '3-1' has a range that goes down"), "{said}");
        let said = refused(|send| send.port = None);
        assert!(said.starts_with("PORT needs a port"), "{said}");
        let said = refused(|send| send.queues = Some("0".into()));
        assert!(said.contains("--queues: '0' is zero"), "{said}");
    }

    #[test]
    fn gaps_are_nanoseconds_unless_they_say_otherwise() {
        let gap = |text: &str| file(|send| send.gap = Some(text.into())).resolve().unwrap().0.pace;
        assert_eq!(gap("13560"), Pace::Gap(Picos::from_nanos(13_560)));
        assert_eq!(gap("2.5"), Pace::Gap(Picos::from_picos(2_500)));
        assert_eq!(gap("100us"), Pace::Gap(Picos::from_micros(100)));
    }

    #[test]
    fn a_run_has_an_end() {
        let plan = |edit: fn(&mut SendFile)| file(edit).resolve().unwrap().0;
        assert_eq!(plan(|_| {}).duration, Some(Picos::from_secs(10)));
        assert_eq!(plan(|send| send.frames = Some("5k".into())).duration, None);
        assert_eq!(plan(|send| send.replay = Some("x.pcap".into())).duration, None);
        assert_eq!(plan(|send| send.duration = Some("2".into())).duration, Some(Picos::from_secs(2)));
    }

    #[test]
    fn the_canonical_text_reads_back_as_the_same_plan() {
        let edits: [fn(&mut SendFile); 6] = [
            |_| {},
            |send| (send.rate, send.burst) = (Some("1gbit:l2".into()), Some("32".into())),
            |send| (send.gap, send.relative) = (Some("13560".into()), Some(true)),
            |send| (send.replay, send.speed) = (Some("a \"b\".pcap".into()), Some("0.5".into())),
            |send| {
                (send.gaps, send.cpus, send.queues) =
                    (Some("gaps".into()), Some("0-1".into()), Some("2".into()))
            },
            |send| {
                (send.rate, send.line, send.length) =
                    (Some("12.5%".into()), Some("10G".into()), Some("18".into()))
            },
        ];
        for edit in edits {
            let (plan, packet) = file(edit).resolve().unwrap();
            let text = packet.to_toml();
            let (again, packet_again) =
                SendPlanFile::from_toml(&text, "plan.toml").unwrap().resolve().unwrap();
            assert_eq!(again, plan, "{text}");
            assert_eq!(packet_again.hash(), packet.hash());
        }
        let error = SendPlanFile::from_toml("[send]\nport = \"x\"\nrate = \"quick\"\n", "plan.toml").unwrap();
        let said = error.resolve().unwrap_err().to_string();
        assert!(said.starts_with("plan.toml, line 3: send.rate: 'quick'"), "{said}");
        let said = SendPlanFile::from_toml("[send]\nrat = 1\n", "plan.toml").unwrap_err().to_string();
        assert!(said.contains("unknown key `send.rat`"), "{said}");
    }
}
