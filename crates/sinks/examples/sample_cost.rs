//! What a row of samples costs: CPU time and bytes for each event, for each place given.
//!
//! ```text
//! cargo run --release -p tare-sinks --example sample_cost -- parquet:/tmp/a.parquet 'jsonl:/tmp/a.jsonl?events=1'
//! cargo run --release -p tare-sinks --example sample_cost -- /tmp/a.parquet    # that table, encoded in other ways
//! ```
//!
//! Events are like those of a run at 100 000/s: due times with even gaps, service times spread by a few
//! microseconds, one status, two threads. Runs on one thread, so wall time is CPU time on a quiet machine.

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
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
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file").with_batch_size(4_096);
    let batches: Vec<RecordBatch> =
        reader.build().expect("a table").map(|batch| batch.expect("rows")).collect();
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
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
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_max_row_group_row_count(Some(128 * 1024));
        for field in batches[0].schema().fields() {
            let column = ColumnPath::from(field.name().as_str());
            properties = match (field.data_type().is_integer(), encoding) {
                (true, Some(encoding)) => properties.set_column_encoding(column, encoding),
                _ => properties.set_column_dictionary_enabled(column, true),
            };
        }
        let began = Wall::now();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batches[0].schema(), Some(properties.build()))
            .expect("the properties fit the table");
        batches.iter().for_each(|batch| writer.write(batch).expect("memory takes everything"));
        writer.close().expect("memory takes everything");
        println!(
            "{:<40} {:>5.0} ns {:>6.1} bytes for each event",
            format!("{encoding:?}, {compression}"),
            began.elapsed().as_nanos() as f64 / rows as f64,
            bytes.len() as f64 / rows as f64
        );
    }
}
