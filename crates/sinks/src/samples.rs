//! Single events as a table, one row each: what Parquet files hold.
//!
//! ```text
//! [Event; ≤ 4096] ─► Table::batch ─► Batch of 19 columns ─► parquet.rs
//! ```
//!
//! Rows come in the order in which batches do: within a thread in the order in which events ended, threads
//! mixed. What each column means is in docs/samples.md; a test there keeps names and order the same.

use crate::exporter::RunInfo;
use std::sync::Arc;
use units::{Cause, Event, Fate, Instant, Miss, Outcome, OutcomeClass, Picos};

/// The value of `tare.schema` in a file's metadata. Columns may be added; those that are here keep their
/// meaning.
pub const SCHEMA: &str = "tare.samples/1";

/// Status codes are their own key; causes and reasons follow.
const CAUSES: usize = 1_000;
const MISSES: usize = CAUSES + Cause::ALL.len();
const CUT_OFF: usize = MISSES + Miss::ALL.len();
const FATES: usize = CUT_OFF + 1;

/// The dictionary of `class`.
const CLASSES: [OutcomeClass; 5] = [
    OutcomeClass::Status,
    OutcomeClass::Error,
    OutcomeClass::Missed,
    OutcomeClass::CutOff,
    OutcomeClass::Frame,
];

/// Name and type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub holds: Holds,
    /// Whether a row may have no value here.
    pub nullable: bool,
}

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    Boolean,
    /// 0 to 65 535
    Short,
    /// 64 bits, signed
    Long,
    /// One of the texts of a dictionary.
    Text,
}

/// All columns, in their order.
pub const COLUMNS: [Column; 19] = [
    always("seq", Holds::Long),
    always("thread", Holds::Short),
    always("warmup", Holds::Boolean),
    always("due_ns", Holds::Long),
    sometimes("sent_ns", Holds::Long),
    sometimes("first_byte_ns", Holds::Long),
    always("done_ns", Holds::Long),
    sometimes("latency_ns", Holds::Long),
    sometimes("service_ns", Holds::Long),
    sometimes("lateness_ns", Holds::Long),
    always("blocked_ns", Holds::Long),
    sometimes("unread_ns", Holds::Long),
    sometimes("tare_ns", Holds::Long),
    sometimes("net_ns", Holds::Long),
    always("bytes_out", Holds::Long),
    always("bytes_in", Holds::Long),
    always("class", Holds::Text),
    always("key", Holds::Text),
    sometimes("group", Holds::Text),
];

const fn always(name: &'static str, holds: Holds) -> Column {
    Column { name, holds, nullable: false }
}

const fn sometimes(name: &'static str, holds: Holds) -> Column {
    Column { name, holds, nullable: true }
}

/// Some rows: the values of each of [`COLUMNS`].
#[derive(Debug)]
pub struct Batch {
    pub rows: usize,
    pub columns: Vec<Values>,
}

/// The values of a column.
#[derive(Debug)]
pub struct Values {
    /// Which rows have a value; `None` for a column that is never null.
    pub present: Option<Present>,
    /// Of those rows only.
    pub data: Data,
}

#[derive(Debug)]
pub enum Data {
    Booleans(Vec<bool>),
    Shorts(Vec<u16>),
    Longs(Vec<i64>),
    /// Positions in a dictionary, which is the same in all batches of a table.
    Texts(Vec<u16>, Dictionary),
}

pub type Dictionary = Arc<[String]>;

/// For each row 1 if it has a value, 0 if it is null.
pub type Present = Arc<[i16]>;

/// Makes batches of events. All batches share the dictionaries of outcomes and groups.
#[derive(Debug)]
pub struct Table {
    metadata: Vec<(&'static str, String)>,
    /// When the warm-up ends, after the origin.
    measured_from: Instant,
    classes: Dictionary,
    keys: Dictionary,
    groups: Dictionary,
}

impl Table {
    /// The table of a run whose times count from `origin_unix_ns`, nanoseconds since 1970.
    pub fn new(run: &RunInfo, origin_unix_ns: u64) -> Self {
        Self {
            metadata: metadata(run, origin_unix_ns),
            measured_from: Instant::EPOCH + run.warmup,
            classes: CLASSES.map(|class| class.key().to_owned()).into(),
            keys: keys().into(),
            groups: run.groups.as_slice().into(),
        }
    }

    /// The file's metadata, sorted by name.
    pub fn metadata(&self) -> &[(&'static str, String)] {
        &self.metadata
    }

    /// One row for each event of a thread.
    pub fn batch(&self, thread: u16, events: &[Event]) -> Batch {
        let left = Rows::that(events, |event| event.sent != Instant::FAR);
        let ended = Rows::that(events, has_ended);
        let served = Rows::that(events, |event| has_ended(event) && event.sent != Instant::FAR);
        let answered = Rows::that(events, |event| event.first_byte != Instant::FAR);
        let columns = vec![
            all(events, |event| event.seq),
            never_null(Data::Shorts(vec![thread; events.len()])),
            never_null(Data::Booleans(events.iter().map(|event| event.due < self.measured_from).collect())),
            all(events, |event| at(event.due)),
            left.column(|event| at(event.sent)),
            answered.column(|event| at(event.first_byte)),
            all(events, |event| at(event.done)),
            ended.column(|event| event.latency().as_nanos()),
            served.column(|event| event.service().as_nanos()),
            left.column(|event| event.lateness().unwrap_or(Picos::ZERO).as_nanos()),
            all(events, |event| event.blocked.as_nanos()),
            served.column(|event| event.unread.as_nanos()),
            served.column(|event| event.tare().as_nanos()),
            served.column(|event| event.net().as_nanos()),
            all(events, |event| event.bytes_out.get()),
            all(events, |event| event.bytes_in.get()),
            never_null(texts(events, &self.classes, |event| class(event.outcome))),
            never_null(texts(events, &self.keys, |event| key(event.outcome))),
            self.group(events),
        ];
        Batch { rows: events.len(), columns }
    }

    /// Null where the run has no groups.
    fn group(&self, events: &[Event]) -> Values {
        let Some(last) = self.groups.len().checked_sub(1) else {
            let present = Some(vec![0; events.len()].into());
            return Values { present, data: Data::Texts(Vec::new(), self.groups.clone()) };
        };
        let last = u16::try_from(last).unwrap_or(u16::MAX);
        let present = Some(vec![1; events.len()].into());
        Values { present, data: texts(events, &self.groups, |event| event.group.0.min(last)) }
    }
}

/// Sorted by name.
fn metadata(run: &RunInfo, origin_unix_ns: u64) -> Vec<(&'static str, String)> {
    let mut metadata = vec![
        ("tare.schema", SCHEMA.to_owned()),
        ("tare.version", run.version.clone()),
        ("tare.engine", run.engine.clone()),
        ("tare.run", run.run.clone()),
        ("tare.plan_hash", run.plan_hash.clone()),
        ("tare.target", run.target.clone()),
        ("tare.started_at", run.started_at.clone()),
        ("tare.origin_unix_ns", origin_unix_ns.to_string()),
        ("tare.warmup_ns", run.warmup.as_nanos().to_string()),
    ];
    metadata.sort_unstable();
    metadata
}

/// The dictionary of `key`: as `outcomes` in result.json has them.
fn keys() -> Vec<String> {
    let mut keys: Vec<String> = (0..CAUSES).map(|code| code.to_string()).collect();
    keys.extend(Cause::ALL.iter().map(|cause| cause.key().to_owned()));
    keys.extend(Miss::ALL.iter().map(|why| why.key().to_owned()));
    keys.push(Outcome::CutOff.key().to_string());
    keys.extend(Fate::ALL.iter().map(|fate| fate.key().to_owned()));
    keys
}

/// Position in [`keys`]. A status over 999 is 0, as in result.json.
fn key(outcome: Outcome) -> u16 {
    let index = match outcome {
        Outcome::Status(code) if usize::from(code) < CAUSES => usize::from(code),
        Outcome::Status(_) => 0,
        Outcome::Failed(cause) => CAUSES + cause.index(),
        Outcome::Missed(why) => MISSES + why.index(),
        Outcome::CutOff => CUT_OFF,
        Outcome::Frame(fate) => FATES + fate.index(),
    };
    index as u16
}

/// Position in [`CLASSES`].
fn class(outcome: Outcome) -> u16 {
    match outcome.class() {
        OutcomeClass::Status => 0,
        OutcomeClass::Error => 1,
        OutcomeClass::Missed => 2,
        OutcomeClass::CutOff => 3,
        OutcomeClass::Frame => 4,
    }
}

/// Whether it was answered or failed: only then is there a latency.
fn has_ended(event: &Event) -> bool {
    matches!(event.outcome, Outcome::Status(_) | Outcome::Failed(_))
}

/// Nanoseconds since the origin.
fn at(at: Instant) -> u64 {
    at.since_epoch().as_nanos()
}

/// The events that have a value in some columns.
struct Rows<'a> {
    events: &'a [Event],
    present: Present,
    all: bool,
}

impl<'a> Rows<'a> {
    fn that(events: &'a [Event], has_value: impl Fn(&Event) -> bool) -> Self {
        let present: Present = events.iter().map(|event| i16::from(has_value(event))).collect();
        let all = present.iter().all(|present| *present == 1);
        Self { events, present, all }
    }

    fn column(&self, value: impl Fn(&Event) -> u64) -> Values {
        let data = match self.all {
            true => longs(self.events, value),
            false => {
                let present = self.events.iter().zip(&*self.present).filter(|(_, present)| **present == 1);
                Data::Longs(present.map(|(event, _)| value(event) as i64).collect())
            }
        };
        Values { present: Some(self.present.clone()), data }
    }
}

fn all(events: &[Event], value: impl Fn(&Event) -> u64) -> Values {
    never_null(longs(events, value))
}

fn never_null(data: Data) -> Values {
    Values { present: None, data }
}

/// Numbers up to 2⁶³.
fn longs(events: &[Event], value: impl Fn(&Event) -> u64) -> Data {
    Data::Longs(events.iter().map(|event| value(event) as i64).collect())
}

fn texts(events: &[Event], dictionary: &Dictionary, index: impl Fn(&Event) -> u16) -> Data {
    Data::Texts(events.iter().map(index).collect(), dictionary.clone())
}

#[cfg(test)]
mod tests;
