//! Figures that only frames have: ports and their drops, gaps at the receiver, what signatures tell, flows,
//! tables of trials. Serialised as they are, under `packets` in `result.json`: keys may be added, never
//! renamed.

use serde::{Deserialize, Serialize};

/// What a packet engine found, beside what its recorders tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PacketReport {
    /// `send`, `pace`, `capture`, `gaps`, `forward`, `sweep`.
    pub command: String,
    /// Whose time all times of this result are, where it is not this host's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<PortTime>,
    pub ports: Vec<PortReport>,
    /// Gaps as they were when frames arrived (or were handed over, if nobody received).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<GapReport>,
    /// Gaps as they were when the frames left, where `gaps` are those of a receiver: what of their error is the
    /// sender's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handed_over: Option<GapReport>,
    /// What the signatures of received frames tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<ReceivedReport>,
    /// What the script that finished the frames has done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptReport>,
    /// Frames by size: lower bound of the bin, with FCS.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeRow>,
    /// The largest flows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowRow>,
    /// Frames of all other flows.
    pub other_flows: u64,
    /// Tables: frame sizes of a sweep, threads × sizes of a middlebox, counters of rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    /// What was changed by hand while the run went on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Changes that are not listed there.
    #[serde(skip_serializing_if = "is_zero")]
    pub changes_unlisted: u64,
}

/// The time of a device that keeps its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PortTime {
    /// It is a simulation's, and says nothing of how long anything took by the wall clock.
    pub simulated: bool,
    /// One step of it, in picoseconds.
    pub tick_ps: u64,
    /// It is that far from this host's clock at most; 0 where it is simulated.
    pub bound_ns: u64,
    /// The wall clock: the kernel keeps launch times, and stamps what leaves.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_kernel: bool,
}

impl PortTime {
    /// For people: "the module's, simulated (not wall time), in steps of 8ns".
    pub fn words(&self) -> String {
        let tick = units::Picos::from_picos(self.tick_ps);
        if self.by_kernel {
            return "the wall clock, by which the kernel keeps launch times and stamps frames".to_owned();
        }
        match self.simulated {
            true => format!("the module's, simulated (not wall time), in steps of {tick}"),
            false => format!(
                "the module's, in steps of {tick}, within {} of this host's clock",
                units::Picos::from_nanos(self.bound_ns)
            ),
        }
    }
}

/// A script (`tare send --script`), over all threads. Its time is the sending threads', and so part of their
/// lateness.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScriptReport {
    /// As it stands in messages: `burst.lua`.
    pub name: String,
    /// LuaJIT compiled it; otherwise it was interpreted.
    pub compiled: bool,
    pub calls: u64,
    /// Frames that it was given.
    pub frames: u64,
    /// From the frame of the template to the finished one.
    pub time_ns: u64,
    pub longest_ns: u64,
    /// Frames that left late because of it.
    pub late: u64,
    /// What it raised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// One port (one queue) and what it counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PortReport {
    /// `out`, `in`.
    pub role: String,
    /// `packet:veth0`.
    pub name: String,
    pub queue: u32,
    /// Speed of the link, if known.
    pub speed_bps: Option<u64>,
    pub sent: u64,
    pub sent_bytes: u64,
    pub received: u64,
    pub received_bytes: u64,
    /// Of those received, frames that held several: merged on the way, or left for a card to split.
    #[serde(skip_serializing_if = "is_zero")]
    pub merged: u64,
    /// Frames lost, by place (`rx.ring`).
    pub drops: Vec<PlaceCount>,
    /// Frames that the sending host still held at the end: whether they left is not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub held: u64,
    /// Times that there was no room; nothing was lost by that.
    pub full: u64,
    /// `hardware`, `driver`, `software`; empty if nobody stamps.
    pub stamps: String,
    /// What was chosen, and why not better: "xdp: copy mode, the driver has no zero-copy".
    pub choices: Vec<String>,
    /// The card's clock that stamped its frames; absent where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<CardClockReport>,
}

/// The clock of a network card, by which frames were stamped, beside this host's wall clock, by which their
/// times are told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CardClockReport {
    /// N of `/dev/ptpN`.
    pub ptp: u32,
    /// What its driver calls it.
    pub name: String,
    pub interface: String,
    /// What it showed more than the wall clock at the end.
    pub ahead_ns: i64,
    /// Times told by it were off by this at most.
    pub bound_ns: u64,
    pub drift_ppm: f64,
    pub comparisons: u32,
    /// Times that it, or the wall clock, was set.
    pub steps: u32,
    /// Times that it could not be read.
    pub unread: u32,
    /// Frames that it did not stamp: they have the kernel's stamps.
    pub unstamped: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlaceCount {
    pub place: String,
    pub frames: u64,
}

/// Gaps between frames that follow each other. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GapReport {
    /// Where the gaps were measured: `packet:veth1`, `capture.pcapng`.
    pub measured_at: String,
    /// Measured where frames were handed to the port, not where they arrived.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub handed_over: bool,
    /// `hardware`, `driver` or `software`.
    pub stamps: String,
    /// Their own error: the resolution and, where it can be measured, the spread of the stamps themselves.
    pub stamp_error_ns: f64,
    /// How `stamp_error_ns` is known.
    pub stamp_error_from: String,
    /// Gaps that were measured.
    pub count: u64,
    /// The one gap that was asked for, if it was one.
    pub requested_ns: Option<f64>,
    pub mean_ns: f64,
    /// In ns².
    pub variance_ns2: f64,
    pub min_ns: f64,
    pub p50_ns: f64,
    pub p95_ns: f64,
    pub p99_ns: f64,
    pub max_ns: f64,
    /// Of |measured − requested|; absent if nothing was requested.
    pub error: Option<GapError>,
    /// `[lower bound in ns, count]` of the gaps, ascending, at most 400 bins, none empty; the last is open
    /// upwards.
    pub histogram: Vec<(f64, u64)>,
    /// The same of |measured − requested|; empty if nothing was requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub error_histogram: Vec<(f64, u64)>,
    /// Gaps below zero: stamps that ran backwards.
    pub backward: u64,
    /// Gaps of more than a hundred days, which count as a hundred days: a clock was set.
    #[serde(skip_serializing_if = "is_zero")]
    pub beyond: u64,
}

/// |measured − requested gap|, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GapError {
    pub count: u64,
    pub mean_ns: f64,
    pub variance_ns2: f64,
    pub p50_ns: f64,
    pub p95_ns: f64,
    pub p99_ns: f64,
    pub max_ns: f64,
}

/// What the signatures of received frames tell, over all streams.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReceivedReport {
    /// Frames with a signature of this run, and others.
    pub signed: u64,
    pub unsigned: u64,
    /// Expected and not seen: lost on the way, between the two ports.
    pub lost: u64,
    /// Not seen either, but as many were lost by this machine's own ports, before they left or after they had
    /// arrived: at most these are its own losses, and no one else's.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost_here: u64,
    /// Not seen when waiting ended, and may still come: they left so late that others took as long.
    #[serde(skip_serializing_if = "is_zero")]
    pub outstanding: u64,
    /// How long was waited for frames after the last had left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_s: Option<f64>,
    pub duplicated: u64,
    /// Came after a frame with a higher number.
    pub reordered: u64,
    /// Checksum or signature damaged.
    pub corrupted: u64,
    /// So old when they came that they had been counted as lost, or had been there already.
    pub too_old: u64,
    /// Came again and were sent at another time than before, or were due later than others that are far ahead:
    /// two runs were received as one, and what is lost or came twice is not known. A lower bound.
    #[serde(skip_serializing_if = "is_zero")]
    pub mixed: u64,
    /// Held several frames that the sending kernel had not cut up: how many were lost is not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub merged: u64,
    /// received − sent, in ns; both stamped by this machine's clock. Neither the sender's lateness nor the
    /// receiver's is part of it.
    pub one_way_ns: Spread,
    /// sent − due of the frames that arrived: the sender's own lateness.
    #[serde(skip_serializing_if = "Spread::is_empty")]
    pub late_ns: Spread,
    /// From a frame's stamp until it was read: the receiver's own.
    #[serde(skip_serializing_if = "Spread::is_empty")]
    pub unread_ns: Spread,
    /// The first few incidents in words: "stream 0: frame 4711 is lost".
    pub incidents: Vec<String>,
    pub streams: Vec<StreamRow>,
}

/// A distribution in a few figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spread {
    pub count: u64,
    pub mean: f64,
    pub min: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

impl Spread {
    const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What did not arrive of one stream, whoever lost it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamRow {
    pub stream: u16,
    pub received: u64,
    /// Absent where it is not known whose frames are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    pub duplicated: u64,
    pub reordered: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SizeRow {
    /// Frame size with FCS, lower bound of the bin.
    pub size: u32,
    pub frames: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowRow {
    /// `198.18.0.1:1024 > 198.18.0.2:9 udp`
    pub flow: String,
    pub frames: u64,
    pub bytes: u64,
    /// The count may be this much too high (a bounded table).
    pub error: u64,
}

/// A table for people and programs: the first columns are words, figures have a unit in their column's name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Table {
    /// `sweep`, `threads`, `rules`.
    pub key: String,
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    /// Sentences below it.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Column {
    pub name: String,
    /// `frames/s`, `bits/s`, `ns`, `share`, `bytes`, `count`; empty for words.
    pub unit: String,
}

/// One cell: a figure with its interval (0.95, over trials), or words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    Figure(f64),
    Between { value: f64, low: f64, high: f64 },
    Words(String),
    Nothing,
}

/// One change by hand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// Seconds since the run's origin.
    pub at_s: f64,
    /// `rate`, `size`, `voice dport`, `state`…
    pub what: String,
    pub from: String,
    pub to: String,
    /// `ctl`, `key`.
    pub by: String,
    /// Number of the first frame that it holds for, where all threads agree on one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_frame: Option<u64>,
}
