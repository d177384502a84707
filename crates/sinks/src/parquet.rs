//! Parquet (`parquet:FILE`, and `samples.parquet` of `--samples`): one row for each event.
//!
//! ```text
//! .FILE.part:  PAR1 | row group | row group | …            while the run goes on
//! FILE:        PAR1 | row group | row group | … | footer    renamed once it is whole
//! ```
//!
//! A Parquet file without its footer is unreadable, so a run that is killed leaves only the `.part`. A disk
//! that is full costs the rows after the last whole row group: the footer is written behind that one. The
//! `.part` is locked (flock) while it is written: two runs at once cannot have the same FILE.
//!
//! Encodings were chosen by measuring (`cargo run --release -p tare-sinks --example sample_cost`; 2 busy cores,
//! per event): differences and zstd 0.13 µs, 11.7 bytes; plain and zstd 0.28 µs, 18 bytes; plain 0.10 µs, 92
//! bytes; dictionaries 0.6 µs, 30 bytes.

use crate::exporter::{Exporter, Gone, RunInfo, SinkError, SinkRow};
use crate::place::{Address, Place, SinkKind};
use crate::samples::{COLUMNS, Column, Holds, Table};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, Type, TypePtr};
use row_group::RowGroup;
use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::RunResult;
use units::Event;

mod row_group;

/// One line in the table of kinds.
pub const KIND: SinkKind = SinkKind {
    schemes: &["parquet"],
    form: "parquet:FILE",
    about: "each event as a row of a Parquet file",
    address: Address::File,
    options: &[],
    open: |place| match place.is_stdout() {
        true => Err(place.wrong("Parquet needs a file; jsonl:-?events=1 streams events to standard output")),
        false => Ok(Box::new(Parquet::new(place.clone()))),
    },
};

/// Rows of a row group: about 5 MB in memory until it is written.
const ROW_GROUP: usize = 128 * 1024;
/// Files that others may finish while this one opens them.
const MOST_TRIES: usize = 10;

/// A file of samples that is being written.
struct Parquet {
    place: Place,
    state: State,
    run: RunInfo,
    origin_unix_ns: u64,
    /// Events taken that did not get into the file, to be told.
    gone: Gone,
}

enum State {
    Closed,
    /// Before the first event.
    Open(File),
    Writing(Box<Writing>),
    /// Nothing is taken any more, and why.
    Failed(SinkError),
}

impl Parquet {
    fn new(place: Place) -> Self {
        Self {
            place,
            state: State::Closed,
            run: RunInfo::default(),
            origin_unix_ns: 0,
            gone: Gone::default(),
        }
    }

    /// The file under its name while it is not whole.
    fn part(&self) -> PathBuf {
        let name = self.place.path().file_name().unwrap_or_default().to_string_lossy();
        self.place.path().with_file_name(format!(".{name}.part"))
    }

    /// Empty, and locked until it is closed. One that a killed run left is used again.
    fn create_part(&self) -> io::Result<File> {
        let part = self.part();
        for _ in 0..MOST_TRIES {
            let file = File::options().write(true).create(true).truncate(false).open(&part)?;
            // There are file systems without locks.
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                break;
            }
            // Between the two, whoever had it may have finished it: then it has its own name.
            if has_name(&file, &part)? {
                file.set_len(0)?;
                return Ok(file);
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    fn refused(&self, why: impl std::fmt::Display) -> SinkError {
        self.place.refused(format!("{why}; name a file on a disk with room, in a writable folder"))
    }

    fn writing(&mut self) -> Result<&mut Writing, SinkError> {
        if let State::Open(_) = self.state
            && let State::Open(file) = std::mem::replace(&mut self.state, State::Closed)
        {
            let table = Table::new(&self.run, self.origin_unix_ns);
            self.state = match Writing::new(file, table) {
                Ok(writing) => State::Writing(Box::new(writing)),
                Err(why) => State::Failed(self.refused(plain(why))),
            };
        }
        match &mut self.state {
            State::Writing(writing) => Ok(writing),
            State::Failed(why) => Err(why.clone()),
            State::Open(_) | State::Closed => Err(self.place.refused("it was not opened")),
        }
    }

    /// Ends the file behind its last whole row group; the rows in it.
    fn seal(&mut self) -> Result<u64, SinkError> {
        self.writing()?;
        let State::Writing(writing) = std::mem::replace(&mut self.state, State::Closed) else {
            return Err(self.place.refused("it was not opened"));
        };
        let part = self.part();
        let sealed = writing.seal().map_err(|why| self.refused(plain(why))).and_then(|rows| {
            let renamed = fs::rename(&part, self.place.path());
            renamed.map(|()| rows).map_err(|why| match why.kind() {
                io::ErrorKind::NotFound => self.place.refused("it was removed while the run wrote to it"),
                _ => self.refused(why),
            })
        });
        if sealed.is_err() {
            // The failure at hand is the one to report.
            let _ = fs::remove_file(&part);
        }
        sealed
    }

    /// Keeps what is whole, counts what is not, and takes nothing more.
    fn fail(&mut self, why: ParquetError) -> SinkError {
        let taken = if let State::Writing(writing) = &self.state { writing.taken } else { 0 };
        let sealed = self.seal();
        let kept = sealed.as_ref().map_or(0, |kept| *kept);
        let why = match &sealed {
            Ok(1..) => self.refused(format!("{}: ends after {kept} events", plain(why))),
            Ok(0) | Err(_) => self.refused(plain(why)),
        };
        if sealed == Ok(0) {
            // A table of nothing would only look as if nothing had happened.
            let _ = fs::remove_file(self.place.path());
        }
        self.gone = Gone { rows: 0, events: taken - kept, why: why.problem() };
        self.state = State::Failed(why.clone());
        why
    }
}

impl Exporter for Parquet {
    fn begin(&mut self, run: &RunInfo) -> Result<(), SinkError> {
        self.run = run.clone();
        if self.place.path().is_dir() {
            return Err(self.place.wrong("is a folder; name a file in it"));
        }
        // The file is renamed into place: a device or a pipe would be replaced by it.
        if fs::metadata(self.place.path()).is_ok_and(|there| !there.is_file()) {
            return Err(self.place.wrong("is a device or a pipe; Parquet needs a file: name another"));
        }
        let file = self.create_part().map_err(|why| match why.kind() {
            io::ErrorKind::ResourceBusy => self.place.wrong("another run is writing it; name another file"),
            // Without it the command is for nothing, as with the other files.
            io::ErrorKind::NotFound => self.place.wrong("its folder does not exist; create it first"),
            _ => self.refused(why),
        })?;
        self.state = State::Open(file);
        Ok(())
    }

    fn start(&mut self, origin_unix_ns: u64) {
        self.origin_unix_ns = origin_unix_ns;
    }

    fn interval(&mut self, _row: &SinkRow) -> Result<(), SinkError> {
        Ok(())
    }

    fn wants_rows(&self) -> bool {
        false
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn events(&mut self, thread: u16, events: &[Event]) -> Result<(), SinkError> {
        let written = self.writing()?.write(thread, events);
        written.map_err(|why| self.fail(why))
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        if let State::Failed(_) = self.state {
            // What was lost is counted, what is in the file is whole.
            return Ok(());
        }
        match self.writing()?.end_row_group() {
            Ok(()) => self.seal().map(|_| ()),
            Err(why) => {
                self.fail(why);
                Ok(())
            }
        }
    }

    fn gone(&mut self) -> Gone {
        std::mem::take(&mut self.gone)
    }

    fn end(&mut self, _result: &RunResult) -> Result<(), SinkError> {
        Ok(())
    }
}

/// A run that ends early, by a failure, leaves no half file.
impl Drop for Parquet {
    fn drop(&mut self) {
        if matches!(self.state, State::Open(_) | State::Writing(_)) {
            let _ = fs::remove_file(self.part());
        }
    }
}

/// The file, from its first event on.
struct Writing {
    table: Table,
    writer: SerializedFileWriter<File>,
    /// The one that is being made, unless it would be empty.
    group: Option<RowGroup>,
    /// Another handle of the same file, to end it with.
    file: File,
    /// Whole row groups, and where the last of them ends.
    whole: usize,
    whole_bytes: u64,
    taken: u64,
}

impl Writing {
    fn new(file: File, table: Table) -> Result<Self, ParquetError> {
        let other = file.try_clone()?;
        let writer = SerializedFileWriter::new(file, schema()?, Arc::new(properties()?))?;
        let whole_bytes = writer.bytes_written() as u64;
        Ok(Self { table, writer, group: None, file: other, whole: 0, whole_bytes, taken: 0 })
    }

    fn write(&mut self, thread: u16, events: &[Event]) -> Result<(), ParquetError> {
        let mut rest = events;
        while !rest.is_empty() {
            let group = self.group.get_or_insert_with(|| RowGroup::new(&self.writer));
            let (now, later) = rest.split_at(rest.len().min(ROW_GROUP - group.rows()));
            group.write(&self.table.batch(thread, now))?;
            if group.rows() == ROW_GROUP {
                self.write_row_group()?;
            }
            rest = later;
        }
        if self.writer.flushed_row_groups().len() > self.whole {
            self.settle()?;
        }
        self.taken += events.len() as u64;
        Ok(())
    }

    fn end_row_group(&mut self) -> Result<(), ParquetError> {
        self.write_row_group()?;
        self.settle()
    }

    fn write_row_group(&mut self) -> Result<(), ParquetError> {
        self.group.take().map_or(Ok(()), |group| group.end(&mut self.writer))
    }

    /// What is before here is whole.
    fn settle(&mut self) -> Result<(), ParquetError> {
        self.writer.flush()?;
        self.whole = self.writer.flushed_row_groups().len();
        self.whole_bytes = self.writer.bytes_written() as u64;
        Ok(())
    }

    /// Writes the footer behind the last whole row group; how many rows there are.
    fn seal(self) -> Result<u64, ParquetError> {
        let groups: Vec<RowGroupMetaData> = self.writer.flushed_row_groups()[..self.whole].to_vec();
        // Whatever it still holds is of no row group that is whole.
        drop(self.writer);
        let rows: i64 = groups.iter().map(RowGroupMetaData::num_rows).sum();
        let named = self.table.metadata().iter();
        let named = named.map(|(name, value)| KeyValue::new((*name).to_owned(), value.clone())).collect();
        let schema = Arc::new(SchemaDescriptor::new(schema()?));
        let file = FileMetaData::new(2, rows, Some(created_by()), Some(named), schema, None);
        let metadata = ParquetMetaData::new(file, groups);
        let mut to = self.file;
        to.set_len(self.whole_bytes)?;
        to.seek(SeekFrom::Start(self.whole_bytes))?;
        let mut footer = Vec::new();
        ParquetMetaDataWriter::new(&mut footer, &metadata).finish()?;
        io::Write::write_all(&mut to, &footer)?;
        to.sync_all()?;
        Ok(rows as u64)
    }
}

/// Whether the file is still the one at this path.
fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    let file = file.metadata()?;
    Ok(fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (file.dev(), file.ino())))
}

fn created_by() -> String {
    format!("tare version {}", env!("CARGO_PKG_VERSION"))
}

fn schema() -> Result<TypePtr, ParquetError> {
    let columns = COLUMNS.iter().map(|column| column_type(column).map(Arc::new)).collect::<Result<_, _>>()?;
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(columns).build()?))
}

fn column_type(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.holds {
        Holds::Boolean => (Physical::BOOLEAN, None),
        Holds::Short => (Physical::INT32, Some(LogicalType::integer(16, false))),
        Holds::Long => (Physical::INT64, None),
        Holds::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
}

/// Whole numbers as the differences between neighbours, texts by dictionary, everything through zstd.
fn properties() -> Result<WriterProperties, ParquetError> {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by(created_by());
    for Column { name, holds, .. } in COLUMNS {
        let column = ColumnPath::from(name);
        builder = match holds {
            // Comparing texts for the least and the greatest took a tenth of the time.
            Holds::Text => builder
                .set_column_dictionary_enabled(column.clone(), true)
                .set_column_statistics_enabled(column, EnabledStatistics::None),
            Holds::Long | Holds::Short => builder.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED),
            Holds::Boolean => builder,
        };
    }
    Ok(builder.build())
}

/// A failure of the disk in its own words.
fn plain(why: ParquetError) -> String {
    match why {
        ParquetError::External(cause) => cause.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
