//! `[capture]` and `[gaps]`: from which port frames are taken, which of them, until when, and what is kept.
//!
//! ```text
//! flags ─┐
//!        ├─► CaptureFile, GapsFile ─ resolve ─► CapturePlan, GapsPlan ─ to_toml ─► text, which reads back
//! TOML ──┘
//! ```

use super::lines::Lines;
use super::{Command, PacketPlan, Times, limits};
use crate::error::PlanError;
use crate::fields::typed_table;
use crate::file::{LimitsFile, Origin, read_toml};
use crate::table::Table;
use crate::typed::Typed;
use serde::Deserialize;
use std::path::PathBuf;
use std::str::FromStr;
use units::{Bytes, Count, Picos};

/// A plan file of `tare capture`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CapturePlanFile {
    pub capture: CaptureFile,
    pub limits: LimitsFile,
    #[serde(skip)]
    origin: Option<Origin>,
}

typed_table! {
    /// `[capture]`, as typed.
    pub struct CaptureFile, CAPTURE_FLAGS of "capture" {
        port: String, "PORT";
        /// In the syntax of pcap-filter(7).
        filter: String, "FILTER";
        frames: Typed, "--frames (-n)";
        duration: Typed, "--duration (-t)";
        queues: Typed, "--queues";
        /// Bytes that are kept of each frame.
        snap: Typed, "--snap (-s)";
        /// The file that frames are kept in.
        write: String, "--write (-w)";
        /// Bytes, time or frames of one file.
        rotate: Typed, "--rotate";
        /// Files that are kept, the last ones.
        keep: Typed, "--keep";
        /// Bytes that may wait for the disk.
        buffer: Typed, "--buffer";
        flows: bool, "--no-flows";
        signatures: bool, "--no-signatures";
    }
}

/// A plan file of `tare gaps`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GapsPlanFile {
    pub gaps: GapsFile,
    pub limits: LimitsFile,
    #[serde(skip)]
    origin: Option<Origin>,
}

typed_table! {
    /// `[gaps]`, as typed.
    pub struct GapsFile, GAPS_FLAGS of "gaps" {
        /// A port, or a capture file.
        port: String, "FILE or PORT";
        filter: String, "FILTER";
        /// The one gap that was asked for: nanoseconds, or a time with its unit.
        gap: Typed, "--gap (-d)";
        /// A file with one gap in nanoseconds a line.
        list: String, "--gaps (-D)";
        /// Signatures say when frames were due.
        signed: bool, "--signed";
        frames: Typed, "--frames (-n)";
        duration: Typed, "--duration (-t)";
    }
}

/// What `tare capture` does.
#[derive(Clone, Debug, PartialEq)]
pub struct CapturePlan {
    pub port: String,
    pub filter: Option<String>,
    pub frames: Option<u64>,
    pub duration: Option<Picos>,
    pub queues: u32,
    pub snap: Option<u32>,
    pub file: Option<KeepPlan>,
    pub flows: bool,
    pub signatures: bool,
}

/// Where frames are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct KeepPlan {
    pub path: PathBuf,
    pub rotate: Option<Rotate>,
    pub keep: Option<u64>,
    pub buffer: Bytes,
}

/// When the next file begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rotate {
    Bytes(Bytes),
    Time(Picos),
    Frames(u64),
}

/// What `tare gaps` does.
#[derive(Clone, Debug, PartialEq)]
pub struct GapsPlan {
    pub port: String,
    pub filter: Option<String>,
    pub requested: RequestedPlan,
    pub frames: Option<u64>,
    pub duration: Option<Picos>,
}

/// What gaps are compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestedPlan {
    Nothing,
    Even(Picos),
    List(PathBuf),
    Signed,
}

const MOST: u64 = u64::MAX / 2;
/// Bytes that may wait for the disk.
const BUFFER: u64 = 64_000_000;
const ROTATE: &str = "bytes (100MB), time (60s) or frames (1M)";
const PORT: &str = "write packet:veth0, xdp:veth0 or an interface";

impl CapturePlanFile {
    /// Reads a plan file. `name` is what messages call it.
    ///
    /// # Errors
    /// The line and key that are wrong.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, PlanError> {
        let (mut file, origin): (Self, _) = read_toml(text, name)?;
        file.origin = Some(origin);
        Ok(file)
    }

    /// Checks everything and fills in the defaults.
    ///
    /// # Errors
    /// The first thing that is wrong: which flag or line, what was typed, what would be right.
    pub fn resolve(&self) -> Result<(CapturePlan, PacketPlan), PlanError> {
        let table = Table::new("capture", self.origin.as_ref());
        let typed = &self.capture;
        let plan = CapturePlan {
            port: table.port("port", typed.port.as_ref(), PORT)?,
            filter: filter(&typed.filter),
            frames: table.count("frames", &typed.frames, 1, MOST)?,
            duration: table.time("duration", &typed.duration)?,
            queues: table.number("queues", &typed.queues, 1, 1_024)?.unwrap_or(1),
            snap: table.number("snap", &typed.snap, 14, 262_144)?,
            file: typed.file(&table)?,
            flows: typed.flows.unwrap_or(true),
            signatures: typed.signatures.unwrap_or(true),
        };
        let text = plan.to_toml();
        Ok((
            plan,
            PacketPlan::new(
                Command::Capture,
                text,
                limits(&table, &self.limits, Command::Capture, Times::None)?,
            ),
        ))
    }
}

impl CaptureFile {
    fn file(&self, table: &Table<'_>) -> Result<Option<KeepPlan>, PlanError> {
        let Some(write) = &self.write else {
            let given = [("rotate", &self.rotate), ("keep", &self.keep), ("buffer", &self.buffer)];
            return match given.into_iter().find(|(_, typed)| typed.is_some()) {
                None => Ok(None),
                Some((key, _)) => {
                    Err(table.missing(key, "a file (-w FILE)", "it applies only to frames that are written"))
                }
            };
        };
        if write.is_empty() || write == "-" {
            let why = "names no file; standard output is used for the result";
            return Err(table.wrong("write", write, why, "a file, or a FIFO that another program reads"));
        }
        let keep = table.count("keep", &self.keep, 1, 1_000_000)?;
        if keep.is_some() && self.rotate.is_none() {
            return Err(table.missing("keep", "--rotate", "without it there is only one file"));
        }
        let buffer = table.parse("buffer", &self.buffer)?.unwrap_or(Bytes::new(BUFFER));
        if !(1_000_000..=64_000_000_000).contains(&buffer.get()) {
            return Err(table.wrong("buffer", &buffer.to_string(), "is out of range", "1MB to 64GB"));
        }
        let rotate = self.rotate.as_ref().map(|typed| rotate(table, typed.as_str())).transpose()?;
        Ok(Some(KeepPlan { path: write.into(), rotate, keep, buffer }))
    }
}

/// Bytes end with a B; a time ends with its unit; a bare number, or one with k, M or G, is frames.
fn rotate(table: &Table<'_>, text: &str) -> Result<Rotate, PlanError> {
    let fail = |problem: &str| table.wrong("rotate", text, problem, ROTATE);
    let is_number = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '_');
    let unit = text.trim_start_matches(is_number);
    let rotate = match unit {
        "" | "k" | "M" | "G" => Count::from_str(text).map(|count| Rotate::Frames(count.get())),
        _ if unit.ends_with('B') => Bytes::from_str(text).map(Rotate::Bytes),
        _ => Picos::from_str(text).map(Rotate::Time),
    };
    match rotate.map_err(|error| fail(error.problem))? {
        Rotate::Frames(0) => Err(fail("is zero")),
        Rotate::Time(time) if time.is_zero() => Err(fail("is zero")),
        Rotate::Bytes(bytes) if bytes.get() < 1_000 => Err(fail("is less than the minimum of 1kB")),
        rotate => Ok(rotate),
    }
}

/// Words of nothing but spaces are no filter.
fn filter(typed: &Option<String>) -> Option<String> {
    typed.as_ref().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

impl GapsPlanFile {
    /// Reads a plan file. `name` is what messages call it.
    ///
    /// # Errors
    /// The line and key that are wrong.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, PlanError> {
        let (mut file, origin): (Self, _) = read_toml(text, name)?;
        file.origin = Some(origin);
        Ok(file)
    }

    /// Checks everything and fills in the defaults.
    ///
    /// # Errors
    /// The first thing that is wrong: which flag or line, what was typed, what would be right.
    pub fn resolve(&self) -> Result<(GapsPlan, PacketPlan), PlanError> {
        let table = Table::new("gaps", self.origin.as_ref());
        let typed = &self.gaps;
        let from = "write a capture file, - for standard input, or a port such as packet:veth0";
        let plan = GapsPlan {
            port: table.port("port", typed.port.as_ref(), from)?,
            filter: filter(&typed.filter),
            requested: typed.requested(&table)?,
            frames: table.count("frames", &typed.frames, 2, MOST)?,
            duration: table.time("duration", &typed.duration)?,
        };
        let times = match plan.requested {
            RequestedPlan::Nothing => Times::None,
            _ => Times::OfEachFrame,
        };
        let text = plan.to_toml();
        Ok((plan, PacketPlan::new(Command::Gaps, text, limits(&table, &self.limits, Command::Gaps, times)?)))
    }
}

impl GapsFile {
    fn requested(&self, table: &Table<'_>) -> Result<RequestedPlan, PlanError> {
        let is_signed = self.signed.unwrap_or(false);
        let given = [("gap", self.gap.is_some()), ("list", self.list.is_some()), ("signed", is_signed)];
        table.only(&given, "both give the requested gaps")?;
        let even = table.gap("gap", &self.gap, "")?.map(RequestedPlan::Even);
        let listed = self.list.as_ref().map(|list| RequestedPlan::List(list.into()));
        let signed = is_signed.then_some(RequestedPlan::Signed);
        Ok(even.or(listed).or(signed).unwrap_or(RequestedPlan::Nothing))
    }
}

impl CapturePlan {
    /// The canonical text.
    pub fn to_toml(&self) -> String {
        let mut lines = Lines::new("capture");
        lines.text("port", Some(&self.port));
        lines.text("filter", self.filter.as_ref());
        lines.number("frames", self.frames);
        lines.text("duration", self.duration);
        lines.add("queues", self.queues);
        lines.number("snap", self.snap);
        if let Some(file) = &self.file {
            lines.text("write", Some(file.path.display()));
            let rotate = file.rotate.map(|rotate| match rotate {
                Rotate::Bytes(bytes) => format!("{}B", bytes.get()),
                Rotate::Time(time) => time.to_string(),
                Rotate::Frames(frames) => frames.to_string(),
            });
            lines.text("rotate", rotate);
            lines.number("keep", file.keep);
            lines.text("buffer", Some(format!("{}B", file.buffer.get())));
        }
        lines.add("flows", self.flows);
        lines.add("signatures", self.signatures);
        lines.finish()
    }
}

impl GapsPlan {
    /// The canonical text.
    pub fn to_toml(&self) -> String {
        let mut lines = Lines::new("gaps");
        lines.text("port", Some(&self.port));
        lines.text("filter", self.filter.as_ref());
        match &self.requested {
            RequestedPlan::Nothing => {}
            RequestedPlan::Even(gap) => lines.text("gap", Some(gap)),
            RequestedPlan::List(path) => lines.text("list", Some(path.display())),
            RequestedPlan::Signed => lines.add("signed", true),
        }
        lines.number("frames", self.frames);
        lines.text("duration", self.duration);
        lines.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(edit: impl FnOnce(&mut CaptureFile)) -> CapturePlanFile {
        let mut file = CapturePlanFile::default();
        file.capture.port = Some("packet:veth0".to_owned());
        edit(&mut file.capture);
        file
    }

    fn gaps(edit: impl FnOnce(&mut GapsFile)) -> GapsPlanFile {
        let mut file = GapsPlanFile::default();
        file.gaps.port = Some("pcap:in.pcap".to_owned());
        edit(&mut file.gaps);
        file
    }

    #[test]
    fn a_file_is_rotated_by_bytes_time_or_frames() {
        let rotate = |text: &str| {
            let file =
                capture(|file| (file.write, file.rotate) = (Some("a.pcapng".into()), Some(text.into())));
            file.resolve().unwrap().0.file.unwrap().rotate.unwrap()
        };
        assert_eq!(rotate("100MB"), Rotate::Bytes(Bytes::new(100_000_000)));
        assert_eq!(rotate("60s"), Rotate::Time(Picos::from_secs(60)));
        assert_eq!(rotate("2m"), Rotate::Time(Picos::from_secs(120)));
        assert_eq!(rotate("1M"), Rotate::Frames(1_000_000));
        assert_eq!(rotate("500"), Rotate::Frames(500));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_would_be_right() {
        let said = |edit: fn(&mut CaptureFile)| capture(edit).resolve().unwrap_err().to_string();
        let rotate = said(|file| (file.write, file.rotate) = (Some("a".into()), Some("often".into())));
        assert!(rotate.starts_with("--rotate: 'often'") && rotate.contains("time (60s)"), "{rotate}");
        let alone = said(|file| file.rotate = Some("1M".into()));
        assert!(alone.starts_with("--rotate needs a file (-w FILE)"), "{alone}");
        let keep = said(|file| (file.write, file.keep) = (Some("a".into()), Some("3".into())));
        assert!(keep.starts_with("--keep needs --rotate"), "{keep}");
        let snap = said(|file| file.snap = Some("5".into()));
        assert!(snap.starts_with("--snap (-s): '5' is out of range; expected 14 to 262144"), "{snap}");
        let none = said(|file| file.port = None);
        assert!(none.starts_with("PORT needs a port: write packet:veth0"), "{none}");
        let stdout = said(|file| file.write = Some("-".into()));
        assert!(stdout.contains("FIFO"), "{stdout}");
        let both = gaps(|file| (file.gap, file.signed) = (Some("5".into()), Some(true)));
        let both = both.resolve().unwrap_err().to_string();
        assert!(both.starts_with("--gap (-d) contradicts --signed"), "{both}");
        let one = gaps(|file| file.frames = Some("1".into())).resolve().unwrap_err().to_string();
        assert!(one.contains("2 to"), "{one}");
        let file =
            CapturePlanFile::from_toml("[capture]\nport = \"a\"\nqueues = \"many\"\n", "p.toml").unwrap();
        let said = file.resolve().unwrap_err().to_string();
        assert!(said.starts_with("p.toml, line 3: capture.queues: 'many'"), "{said}");
    }

    #[test]
    fn canonical_texts_read_back_as_the_same_plans() {
        let edits: [fn(&mut CaptureFile); 3] = [
            |_| {},
            |file| {
                (file.filter, file.frames, file.snap) =
                    (Some("udp \"x\"".into()), Some("5k".into()), Some("96".into()))
            },
            |file| {
                (file.write, file.rotate, file.keep) =
                    (Some("a b.pcapng".into()), Some("60s".into()), Some("3".into()));
                (file.queues, file.flows, file.duration) = (Some("4".into()), Some(false), Some("2m".into()));
            },
        ];
        for edit in edits {
            let (plan, packet) = capture(edit).resolve().unwrap();
            let text = packet.to_toml();
            let again = CapturePlanFile::from_toml(&text, "plan.toml").unwrap().resolve().unwrap();
            assert_eq!((again.0, again.1.hash()), (plan, packet.hash()), "{text}");
        }
        let edits: [fn(&mut GapsFile); 4] = [
            |_| {},
            |file| file.gap = Some("13560".into()),
            |file| file.list = Some("gaps.txt".into()),
            |file| (file.signed, file.duration) = (Some(true), Some("1s".into())),
        ];
        for edit in edits {
            let (plan, packet) = gaps(edit).resolve().unwrap();
            let text = packet.to_toml();
            let again = GapsPlanFile::from_toml(&text, "plan.toml").unwrap().resolve().unwrap();
            assert_eq!((again.0, again.1.hash()), (plan, packet.hash()), "{text}");
        }
    }
}
