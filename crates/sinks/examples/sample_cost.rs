//! What a row of samples costs: CPU time and bytes for each event, for each place given.
//!
//! ```text
//! cargo run --release -p tare-sinks --example sample_cost -- \
//!     parquet:/tmp/a.parquet 'jsonl:/tmp/a.jsonl?events=1'
//! cargo run --release -p tare-sinks --example sample_cost -- \
//!     /tmp/a.parquet                                             # that table, encoded in other ways
//! ```
//!
//! Events are like those of a run at 100 000/s: due times with even gaps, service times spread by a few
//! microseconds, one status, two threads. Runs on one thread, so wall time is CPU time on a quiet machine.

use parquet::basic::{Compression, Encoding, Type as Physical, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{BoolType, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, SchemaDescriptor};
use sinks::{Place, RunInfo};
use std::fs::File;
use std::time::Instant as Wall;
use units::{Bytes, Event, Group, Instant, Outcome, Picos};

const EVENTS: u64 = 3_000_000;
const BATCH: u64 = 4_096;

fn events(first: u64) -> Vec<Event> {
    let at = |ns: u64| Instant::EPOCH + Picos::from_nanos(ns);
    let event = |index: u64| {
        let seq = 2 * index;
        let due = 10_000 * seq;
        let noise = noise(index);
        Event {
            seq,
            due: at(due),
            sent: at(due + 2_000 + noise / 32),
            first_byte: at(due + 60_000 + noise),
            done: at(due + 61_000 + noise),
            bytes_out: Bytes::new(64),
            bytes_in: Bytes::new(190),
            outcome: Outcome::Status(200),
            blocked: Picos::ZERO,
            unread: Picos::ZERO,
            unread_bound: Picos::ZERO,
            group: Group(0),
        }
    };
    (first..first + BATCH).map(event).collect()
}

/// 0 to 65 535, without a rule that an encoding could find (two rounds of SplitMix64's mixing).
fn noise(index: u64) -> u64 {
    let mixed = (index ^ (index >> 30)).wrapping_add(1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 48
}

fn main() {
    let batches: Vec<Vec<Event>> = (0..EVENTS / BATCH).map(|batch| events(batch * BATCH)).collect();
    let count = batches.len() as u64 * BATCH;
    for typed in std::env::args().skip(1) {
        if !typed.contains(':') {
            other_ways(&typed);
            continue;
        }
        let place = Place::parse(&typed).expect("a place");
        let mut sink = (place.kind().open)(&place).expect("a sink");
        sink.begin(&RunInfo::default()).expect("it opens");
        sink.start(0);
        let began = Wall::now();
        batches.iter().for_each(|batch| sink.events(0, batch).expect("it is written"));
        let written = began.elapsed();
        sink.flush().expect("it is whole");
        let all = began.elapsed();
        let bytes = std::fs::metadata(place.path()).map_or(0, |file| file.len());
        println!(
            "{typed}: {:.0} ns and {:.1} bytes for each event; ended within {:.2} s",
            written.as_nanos() as f64 / count as f64,
            bytes as f64 / count as f64,
            (all - written).as_secs_f64()
        );
    }
}

/// Writes the table of a file into memory with each encoding of its whole numbers.
fn other_ways(path: &str) {
    let file = File::open(path).expect("a Parquet file");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let schema = reader.metadata().file_metadata().schema_descr();
    let groups: Vec<Vec<Column>> = (0..reader.num_row_groups())
        .map(|group| {
            let group = reader.get_row_group(group).expect("a row group");
            (0..schema.num_columns())
                .map(|at| Column::read(group.get_column_reader(at).expect("a column"), schema, at))
                .collect()
        })
        .collect();
    let rows = reader.metadata().file_metadata().num_rows();
    let zstd = |level| Compression::ZSTD(ZstdLevel::try_new(level).expect("a level of zstd"));
    for (encoding, compression) in [
        (Some(Encoding::DELTA_BINARY_PACKED), zstd(1)),
        (Some(Encoding::DELTA_BINARY_PACKED), zstd(3)),
        (Some(Encoding::DELTA_BINARY_PACKED), Compression::UNCOMPRESSED),
        (Some(Encoding::BYTE_STREAM_SPLIT), zstd(1)),
        (Some(Encoding::PLAIN), zstd(1)),
        (Some(Encoding::PLAIN), Compression::UNCOMPRESSED),
        // By dictionary, while there are few values.
        (None, zstd(1)),
    ] {
        let mut properties = WriterProperties::builder()
            .set_compression(compression)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::Chunk);
        for column in schema.columns() {
            let path = ColumnPath::from(column.name());
            let is_number = matches!(column.physical_type(), Physical::INT32 | Physical::INT64);
            properties = match (is_number, encoding) {
                (true, Some(encoding)) => properties.set_column_encoding(path, encoding),
                _ => properties.set_column_dictionary_enabled(path, true),
            };
        }
        let began = Wall::now();
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut bytes, schema.root_schema_ptr(), properties.build().into())
                .expect("the properties fit the table");
        for columns in &groups {
            let mut group = writer.next_row_group().expect("memory takes everything");
            for column in columns {
                let to = group.next_column().expect("memory takes everything");
                column.write(to.expect("as many columns as were read"));
            }
            group.close().expect("memory takes everything");
        }
        writer.close().expect("memory takes everything");
        println!(
            "{:<40} {:>5.0} ns {:>6.1} bytes for each event",
            format!("{encoding:?}, {compression}"),
            began.elapsed().as_nanos() as f64 / rows as f64,
            bytes.len() as f64 / rows as f64
        );
    }
}

/// A column of a row group, as it was read.
enum Column {
    Booleans(Read<BoolType>),
    Shorts(Read<Int32Type>),
    Longs(Read<Int64Type>),
    Texts(Read<ByteArrayType>),
}

/// Values that are not null, and for each row whether it has one (nothing, if the column is never null).
struct Read<T: DataType> {
    values: Vec<T::T>,
    present: Option<Vec<i16>>,
}

impl Column {
    fn read(reader: ColumnReader, schema: &SchemaDescriptor, at: usize) -> Self {
        let nullable = schema.column(at).max_def_level() > 0;
        match schema.column(at).physical_type() {
            Physical::BOOLEAN => Self::Booleans(Read::new(get_typed_column_reader(reader), nullable)),
            Physical::INT32 => Self::Shorts(Read::new(get_typed_column_reader(reader), nullable)),
            Physical::INT64 => Self::Longs(Read::new(get_typed_column_reader(reader), nullable)),
            Physical::BYTE_ARRAY => Self::Texts(Read::new(get_typed_column_reader(reader), nullable)),
            other => panic!("samples have no column of {other}"),
        }
    }

    fn write(&self, to: SerializedColumnWriter<'_>) {
        match self {
            Self::Booleans(read) => read.write(to),
            Self::Shorts(read) => read.write(to),
            Self::Longs(read) => read.write(to),
            Self::Texts(read) => read.write(to),
        }
    }
}

impl<T: DataType> Read<T> {
    fn new(mut reader: ColumnReaderImpl<T>, nullable: bool) -> Self {
        let (mut values, mut present) = (Vec::new(), nullable.then(Vec::new));
        while let (1.., ..) =
            reader.read_records(usize::MAX, present.as_mut(), None, &mut values).expect("rows")
        {}
        Self { values, present }
    }

    fn write(&self, mut to: SerializedColumnWriter<'_>) {
        to.typed::<T>()
            .write_batch(&self.values, self.present.as_deref(), None)
            .expect("memory takes everything");
        to.close().expect("memory takes everything");
    }
}
