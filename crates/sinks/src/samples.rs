//! Single events as a table, one row each: what Parquet files hold.
//!
//! ```text
//! [Event; ≤ 4096] ─► Table::batch ─► RecordBatch of 19 columns ─► parquet.rs
//! ```
//!
//! Rows come in the order in which batches do: within a thread in the order in which events ended, threads mixed.
//! What each column means is in docs/samples.md; a test there keeps names and order the same.

use crate::exporter::RunInfo;
use arrow_array::types::{ArrowDictionaryKeyType, UInt8Type, UInt16Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int64Array, PrimitiveArray, RecordBatch, StringArray,
    UInt16Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;
use units::{Cause, Event, Fate, Instant, Miss, Outcome, Picos};

/// The value of `tare.schema` in a file's metadata. Columns may be added; those that are here keep their meaning.
pub const SCHEMA: &str = "tare.samples/1";

/// Status codes are their own key; causes and reasons follow.
const CAUSES: usize = 1_000;
const MISSES: usize = CAUSES + Cause::ALL.len();
const CUT_OFF: usize = MISSES + Miss::ALL.len();
const FATES: usize = CUT_OFF + 1;

const CLASSES: [&str; 5] = ["status", "error", "missed", "cut_off", "frame"];

/// Makes record batches of events. All batches share the dictionaries of outcomes and groups.
#[derive(Debug)]
pub struct Table {
    schema: SchemaRef,
    /// When the warm-up ends, after the origin.
    measured_from: Instant,
    classes: ArrayRef,
    keys: ArrayRef,
    groups: ArrayRef,
}

impl Table {
    /// The table of a run whose times count from `origin_unix_ns`, nanoseconds since 1970.
    pub fn new(run: &RunInfo, origin_unix_ns: u64) -> Self {
        let texts = |texts: Vec<String>| Arc::new(StringArray::from(texts)) as ArrayRef;
        Self {
            schema: Arc::new(Schema::new(fields()).with_metadata(metadata(run, origin_unix_ns))),
            measured_from: Instant::EPOCH + run.warmup,
            classes: texts(CLASSES.map(str::to_owned).to_vec()),
            keys: texts(keys()),
            groups: texts(run.groups.clone()),
        }
    }

    /// Names and types of the columns, and the file's metadata.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// One row for each event of a thread.
    pub fn batch(&self, thread: u16, events: &[Event]) -> RecordBatch {
        let left = NullBuffer::from_iter(events.iter().map(|event| event.sent != Instant::FAR));
        let ended = NullBuffer::from_iter(events.iter().map(has_ended));
        let served =
            NullBuffer::from_iter(events.iter().map(|event| has_ended(event) && event.sent != Instant::FAR));
        let answered = NullBuffer::from_iter(events.iter().map(|event| event.first_byte != Instant::FAR));
        let all = |value: fn(&Event) -> u64| column(events, None, value);
        let warmup = BooleanBuffer::from_iter(events.iter().map(|event| event.due < self.measured_from));
        let columns: Vec<ArrayRef> = vec![
            all(|event| event.seq),
            Arc::new(UInt16Array::from_value(thread, events.len())),
            Arc::new(BooleanArray::new(warmup, None)),
            all(|event| at(event.due)),
            column(events, Some(left.clone()), |event| at(event.sent)),
            column(events, Some(answered), |event| at(event.first_byte)),
            all(|event| at(event.done)),
            column(events, Some(ended), |event| event.latency().as_nanos()),
            column(events, Some(served.clone()), |event| event.service().as_nanos()),
            column(events, Some(left), |event| event.lateness().unwrap_or(Picos::ZERO).as_nanos()),
            all(|event| event.blocked.as_nanos()),
            column(events, Some(served.clone()), |event| event.unread.as_nanos()),
            column(events, Some(served.clone()), |event| event.tare().as_nanos()),
            column(events, Some(served), |event| event.net().as_nanos()),
            all(|event| event.bytes_out.get()),
            all(|event| event.bytes_in.get()),
            texts::<UInt8Type>(events, &self.classes, |event| class(event.outcome)),
            texts::<UInt16Type>(events, &self.keys, |event| key(event.outcome)),
            self.group(events),
        ];
        RecordBatch::try_new(self.schema.clone(), columns).expect("columns are made as the schema says")
    }

    /// Null where the run has no groups.
    fn group(&self, events: &[Event]) -> ArrayRef {
        let Some(last) = self.groups.len().checked_sub(1) else {
            let nulls = NullBuffer::new_null(events.len());
            let keys = UInt16Array::new(ScalarBuffer::from(vec![0; events.len()]), Some(nulls));
            return dictionary(keys, &self.groups);
        };
        let last = u16::try_from(last).unwrap_or(u16::MAX);
        let keys = events.iter().map(|event| event.group.0.min(last)).collect::<Vec<u16>>();
        dictionary(UInt16Array::from(keys), &self.groups)
    }
}

fn fields() -> Vec<Field> {
    let number = |name: &str, nullable| Field::new(name, DataType::Int64, nullable);
    let text = |name: &str, index: DataType, nullable| {
        Field::new(name, DataType::Dictionary(Box::new(index), Box::new(DataType::Utf8)), nullable)
    };
    vec![
        number("seq", false),
        Field::new("thread", DataType::UInt16, false),
        Field::new("warmup", DataType::Boolean, false),
        number("due_ns", false),
        number("sent_ns", true),
        number("first_byte_ns", true),
        number("done_ns", false),
        number("latency_ns", true),
        number("service_ns", true),
        number("lateness_ns", true),
        number("blocked_ns", false),
        number("unread_ns", true),
        number("tare_ns", true),
        number("net_ns", true),
        number("bytes_out", false),
        number("bytes_in", false),
        text("class", DataType::UInt8, false),
        text("key", DataType::UInt16, false),
        text("group", DataType::UInt16, true),
    ]
}

fn metadata(run: &RunInfo, origin_unix_ns: u64) -> HashMap<String, String> {
    [
        ("tare.schema", SCHEMA.to_owned()),
        ("tare.version", run.version.clone()),
        ("tare.engine", run.engine.clone()),
        ("tare.run", run.run.clone()),
        ("tare.plan_hash", run.plan_hash.clone()),
        ("tare.target", run.target.clone()),
        ("tare.started_at", run.started_at.clone()),
        ("tare.origin_unix_ns", origin_unix_ns.to_string()),
        ("tare.warmup_ns", run.warmup.as_nanos().to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// The dictionary of `key`: as `outcomes` in result.json has them.
fn keys() -> Vec<String> {
    let mut keys: Vec<String> = (0..CAUSES).map(|code| code.to_string()).collect();
    keys.extend(Cause::ALL.iter().map(|cause| cause.key().to_owned()));
    keys.extend(Miss::ALL.iter().map(|why| why.key().to_owned()));
    keys.push("cut_off".to_owned());
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
fn class(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Status(_) => 0,
        Outcome::Failed(_) => 1,
        Outcome::Missed(_) => 2,
        Outcome::CutOff => 3,
        Outcome::Frame(_) => 4,
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

/// Numbers up to 2⁶³; those under a null are whatever they are.
fn column(events: &[Event], valid: Option<NullBuffer>, value: impl Fn(&Event) -> u64) -> ArrayRef {
    let values: Vec<i64> = events.iter().map(|event| value(event) as i64).collect();
    Arc::new(Int64Array::new(ScalarBuffer::from(values), valid.filter(|valid| valid.null_count() > 0)))
}

fn texts<K: ArrowDictionaryKeyType>(
    events: &[Event],
    values: &ArrayRef,
    index: impl Fn(&Event) -> K::Native,
) -> ArrayRef {
    let keys: Vec<K::Native> = events.iter().map(index).collect();
    dictionary(PrimitiveArray::<K>::new(ScalarBuffer::from(keys), None), values)
}

fn dictionary<K: ArrowDictionaryKeyType>(keys: PrimitiveArray<K>, values: &ArrayRef) -> ArrayRef {
    Arc::new(DictionaryArray::new(keys, values.clone()))
}

#[cfg(test)]
mod tests;
