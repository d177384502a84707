//! Plans of the commands that deal in frames.
//!
//! ```text
//! flags ─┐                                          ┌─► the command's own plan (SendPlan, CapturePlan…)
//!        ├─► the command's file ([send], [frames]…) ┤
//! TOML ──┘                                          └─► PacketPlan: its canonical text, hash and limits
//! ```
//!
//! A plan file has one table that names the command (`[send]`), those that the command shares with others
//! (`[frames]`), and `[limits]` as every plan has.

pub mod capture;
mod fitting;
pub mod forward;
pub mod frames;
mod lines;
pub mod pace;
mod paths;
mod script;
pub mod send;
mod shaped;
pub mod split;
pub mod sweep;
mod when;

use crate::canonical::PlanHash;
use crate::limits::Limits;
use std::fmt;
use std::path::PathBuf;
use toml::de::DeTable;

pub use fitting::Times;
pub(crate) use fitting::{limits, places as limit_places};
pub use paths::{FILES, PORTS, PlannedPort};
pub(crate) use when::read_bits;

/// Of plans for frames: `(path in the TOML file, how a person gives it on the command line)`.
pub const FIELDS: [&[(&str, &str)]; 7] = [
    send::SEND_FLAGS,
    pace::PACE_FLAGS,
    capture::CAPTURE_FLAGS,
    capture::GAPS_FLAGS,
    forward::FORWARD_FLAGS,
    sweep::SWEEP_FLAGS,
    frames::FRAME_FLAGS,
];

/// What is done with frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    Send,
    Pace,
    Capture,
    Gaps,
    Forward,
    Sweep,
}

impl Command {
    pub const ALL: [Self; 6] =
        [Self::Send, Self::Pace, Self::Capture, Self::Gaps, Self::Forward, Self::Sweep];

    /// The subcommand, the table of the plan, and the engine in `result.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Pace => "pace",
            Self::Capture => "capture",
            Self::Gaps => "gaps",
            Self::Forward => "forward",
            Self::Sweep => "sweep",
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A plan as the program around it needs it: what to call it, how to keep it, what it is judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketPlan {
    pub command: Command,
    /// Canonical TOML of the load, without `[limits]`.
    text: String,
    pub limits: Limits,
}

impl PacketPlan {
    /// `text` is the canonical TOML of the command's own plan: equal plans have equal texts, and it reads back
    /// as the same plan.
    pub fn new(command: Command, text: String, limits: Limits) -> Self {
        Self { command, text, limits }
    }

    /// The canonical text, limits and all.
    pub fn to_toml(&self) -> String {
        format!("{}{}", self.text, crate::canonical::limits(&self.limits))
    }

    /// The same with absolute paths, so that it can be run from another folder; `port` says what the address of
    /// a port is from there, if it is another. The hash stays that of what was typed.
    pub fn to_toml_from_anywhere(&self, port: impl Fn(&str) -> Option<String>) -> String {
        paths::absolute(&self.to_toml(), port)
    }

    /// Files with frames, gaps, lengths or rules; not those that ports are. Relative paths are seen from the
    /// working directory.
    pub fn files(&self) -> Vec<PathBuf> {
        paths::read(&self.text)
    }

    /// All ports.
    pub fn ports(&self) -> Vec<PlannedPort> {
        paths::ports(&self.text)
    }

    /// The file that frames are kept in, and whether it is one of several, with numbers.
    pub fn kept(&self) -> Option<(PathBuf, bool)> {
        paths::kept(&self.text)
    }

    /// Queues of each port.
    pub fn queues(&self) -> u32 {
        paths::queues(&self.text)
    }

    /// Of the load alone: runs of the same load compare, whatever they are judged by.
    pub fn hash(&self) -> PlanHash {
        PlanHash::of(&self.text)
    }
}

/// Which command a plan file is for; `None` if it is for none of these (then it is a plan for HTTP).
pub fn command_of(text: &str) -> Option<Command> {
    let root = DeTable::parse(text).ok()?;
    Command::ALL.into_iter().find(|command| root.get_ref().contains_key(command.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::LimitsFile;
    use crate::table::Table;
    use crate::typed::{Typed, TypedList};

    #[test]
    fn the_table_names_the_command() {
        assert_eq!(command_of("[send]\nport = \"packet:veth0\"\n"), Some(Command::Send));
        assert_eq!(command_of("url = \"http://h/\"\n[load]\nrate = 5\n"), None);
        assert_eq!(command_of("[send\n"), None);
    }

    #[test]
    fn limits_are_in_the_text_and_not_in_the_hash() {
        let typed = LimitsFile {
            fail_if: Some(TypedList(vec![Typed::from("lateness.p99 > 1ms")])),
            ..LimitsFile::default()
        };
        let text = "[send]\nport = \"mem:a\"\n".to_owned();
        let judged = PacketPlan::new(
            Command::Send,
            text.clone(),
            limits(&Table::new("send", None), &typed, Command::Send, Times::OfEachFrame).unwrap(),
        );
        let bare = PacketPlan::new(Command::Send, text.clone(), Limits::default());
        assert_eq!(judged.hash(), bare.hash());
        assert_eq!(bare.to_toml(), text);
        assert_eq!(
            judged.to_toml(),
            format!("{text}\n[limits]\nfail_if = [\"lateness.p99 > 1ms\"]\nabort_if = []\n")
        );
    }
}
