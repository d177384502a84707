//! What the examination says: one thing each, with a figure, and how to mend it.

use crate::Files;
use serde::Serialize;
use std::fmt;

/// How much something matters, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// As it should be.
    #[default]
    Fine,
    /// It could not be read here.
    Unknown,
    /// Costs a few percent, or matters to some plans only.
    Minor,
    /// Moves figures, or is the limit of common plans.
    Serious,
    /// Such a load cannot be made at all.
    Blocking,
}

impl Severity {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Unknown => "unknown",
            Self::Minor => "minor",
            Self::Serious => "serious",
            Self::Blocking => "blocking",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Kinds of load that ask different things of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Load {
    /// Requests over sockets.
    Http,
    /// As many frames as go, and captures.
    Packets,
    /// Frames or requests at exact times.
    Gaps,
}

/// How much it matters to each kind of load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Weight {
    pub http: Severity,
    pub packets: Severity,
    pub gaps: Severity,
}

impl Weight {
    pub const fn all(severity: Severity) -> Self {
        Self { http: severity, packets: severity, gaps: severity }
    }

    pub const fn http(severity: Severity) -> Self {
        Self { http: severity, ..Self::all(Severity::Fine) }
    }

    pub const fn packets(severity: Severity) -> Self {
        Self { packets: severity, ..Self::all(Severity::Fine) }
    }

    pub const fn gaps(severity: Severity) -> Self {
        Self { gaps: severity, ..Self::all(Severity::Fine) }
    }

    pub const fn of(self, load: Load) -> Severity {
        match load {
            Load::Http => self.http,
            Load::Packets => self.packets,
            Load::Gaps => self.gaps,
        }
    }

    pub fn worst(self) -> Severity {
        self.http.max(self.packets).max(self.gaps)
    }

    /// The kinds of load for which it is worst.
    pub fn whom(self) -> Vec<Load> {
        let worst = self.worst();
        [Load::Http, Load::Packets, Load::Gaps].into_iter().filter(|load| self.of(*load) == worst).collect()
    }
}

impl Load {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Packets => "packets",
            Self::Gaps => "gaps",
        }
    }
}

/// A setting of the kernel that is a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Below the root, without a slash in front: `proc/sys/net/core/somaxconn`.
    pub path: String,
    pub before: String,
    pub after: String,
}

impl Change {
    /// The command that makes it: `sysctl -w` for what has such a name, `echo` for the rest.
    pub fn command(&self) -> String {
        set(&self.path, &self.after)
    }

    pub fn undo(&self) -> String {
        set(&self.path, &self.before)
    }
}

fn set(path: &str, value: &str) -> String {
    match path.strip_prefix("proc/sys/") {
        Some(name) if value.contains(char::is_whitespace) => {
            format!("sysctl -w {}=\"{value}\"", name.replace('/', "."))
        }
        Some(name) => format!("sysctl -w {}={value}", name.replace('/', ".")),
        None => format!("echo {value} > /{path}"),
    }
}

/// What to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Mend {
    /// Settings of the kernel that take effect at once and can be taken back: what `--fix` does.
    Settings { changes: Vec<Change> },
    /// A command that is left to the user: it outlives a reboot, interrupts traffic, or gives rights away.
    Command { command: String, undo: String },
    /// Nothing that could be typed here.
    Advice { text: String },
}

impl Mend {
    pub fn command(command: impl Into<String>, undo: impl Into<String>) -> Self {
        Self::Command { command: command.into(), undo: undo.into() }
    }

    pub fn advice(text: impl Into<String>) -> Self {
        Self::Advice { text: text.into() }
    }

    /// A sysctl, if it is there: `net.core.somaxconn`.
    pub fn sysctl(files: &Files, name: &str, value: impl fmt::Display) -> Option<Self> {
        Self::file(files, &Files::sysctl_path(name), value)
    }

    /// A file that holds one line.
    pub fn file(files: &Files, path: &str, value: impl fmt::Display) -> Option<Self> {
        let before = files.line(path)?;
        let change = Change { path: path.to_owned(), before: words(&before), after: value.to_string() };
        Some(Self::Settings { changes: vec![change] })
    }

    /// The commands to type, in order.
    pub fn commands(&self) -> Vec<String> {
        match self {
            Self::Settings { changes } => changes.iter().map(Change::command).collect(),
            Self::Command { command, .. } => vec![command.clone()],
            Self::Advice { .. } => Vec::new(),
        }
    }

    /// Those that take them back.
    pub fn undoing(&self) -> Vec<String> {
        match self {
            Self::Settings { changes } => changes.iter().map(Change::undo).collect(),
            Self::Command { undo, .. } => vec![undo.clone()],
            Self::Advice { .. } => Vec::new(),
        }
    }
}

/// The kernel writes tabs between numbers; it reads any space.
pub fn words(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// `net.ports`; those of an interface end in its name: `nic.offloads.eth0`.
    pub id: String,
    /// What is there, with its value.
    pub found: String,
    /// Why that matters, with a figure.
    pub why: String,
    /// Where the figure is from: `measured here`, or a document.
    pub source: String,
    pub weight: Weight,
    pub mend: Option<Mend>,
}

/// Where figures are from.
pub const MEASURED: &str = "measured here";
pub const COMPUTED: &str = "computed from the settings found here";

impl Finding {
    pub fn fine(id: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            found: found.into(),
            why: String::new(),
            source: String::new(),
            weight: Weight::default(),
            mend: None,
        }
    }

    /// It is not there, or cannot be read.
    pub fn unknown(id: impl Into<String>, found: impl Into<String>) -> Self {
        Self { weight: Weight::all(Severity::Unknown), ..Self::fine(id, found) }
    }

    pub fn why(self, why: impl Into<String>, source: impl Into<String>) -> Self {
        Self { why: why.into(), source: source.into(), ..self }
    }

    pub fn weighs(self, weight: Weight) -> Self {
        Self { weight, ..self }
    }

    pub fn mend(self, mend: impl Into<Option<Mend>>) -> Self {
        Self { mend: mend.into(), ..self }
    }

    pub fn worst(&self) -> Severity {
        self.weight.worst()
    }

    /// Whether it matters to such a load, or to any.
    pub fn matters(&self, load: Option<Load>) -> bool {
        load.map_or(self.worst(), |load| self.weight.of(load)) >= Severity::Minor
    }
}
