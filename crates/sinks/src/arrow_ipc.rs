//! Arrow IPC stream (`arrow:FILE`, `arrow:-`): one row for each event, a record batch for each 4 096 or 50 ms.
//!
//! A stream has no footer: what a killed run left is read up to its last whole batch. Each batch is one write; one that fits
//! only partly is taken back where that is possible, and the next one is tried again.

use crate::exporter::{Exporter, RunInfo, SinkError, SinkRow};
use crate::place::{Address, Kind, Place};
use crate::samples::Table;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use store::RunResult;
use units::Event;

/// One line in the table of kinds.
pub const KIND: Kind = Kind {
    schemes: &["arrow"],
    form: "arrow:FILE",
    about: "each event as a row of an Arrow IPC stream",
    address: Address::File,
    options: &[],
    open: |place| Ok(Box::new(ArrowStream::new(place.clone()))),
};

/// A stream that is being written.
struct ArrowStream {
    place: Place,
    run: RunInfo,
    origin_unix_ns: u64,
    to: Option<To>,
    stream: Option<Stream>,
    /// Why nothing is taken any more.
    broken: Option<SinkError>,
}

/// Messages are made in memory, so that each goes out by one write.
struct Stream {
    table: Table,
    writer: StreamWriter<Vec<u8>>,
}

impl Stream {
    fn new(run: &RunInfo, origin_unix_ns: u64) -> Result<Self, ArrowError> {
        let table = Table::new(run, origin_unix_ns);
        let writer = StreamWriter::try_new(Vec::new(), table.schema())?;
        Ok(Self { table, writer })
    }
}

impl ArrowStream {
    fn new(place: Place) -> Self {
        Self { place, run: RunInfo::default(), origin_unix_ns: 0, to: None, stream: None, broken: None }
    }

    /// Sends what `make` adds to the stream.
    fn send(&mut self, make: impl FnOnce(&mut Stream) -> Result<(), ArrowError>) -> Result<(), SinkError> {
        if let Some(why) = &self.broken {
            return Err(why.clone());
        }
        let Some(to) = &mut self.to else { return Err(self.place.refused("it was not opened")) };
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(
                Stream::new(&self.run, self.origin_unix_ns)
                    .map_err(|why| self.place.refused(why.to_string()))?,
            ),
        };
        make(stream).map_err(|why| self.place.refused(why.to_string()))?;
        let bytes = stream.writer.get_mut();
        let sent = to.write(bytes);
        bytes.clear();
        let Err(why) = sent else { return Ok(()) };
        if to.good == 0 {
            // The next attempt is to begin with the schema again.
            self.stream = None;
        }
        let failure = self.place.refused(match why.kind() {
            io::ErrorKind::BrokenPipe => "whoever read it has gone".to_owned(),
            _ => format!("{why}; name a file on a disk with room"),
        });
        if !to.rewinds {
            self.broken = Some(failure.clone());
        }
        Err(failure)
    }
}

impl Exporter for ArrowStream {
    fn begin(&mut self, run: &RunInfo) -> Result<(), SinkError> {
        self.run = run.clone();
        if self.place.path().is_dir() {
            return Err(self.place.wrong("is a folder; name a file in it"));
        }
        let to = if self.place.is_stdout() { To::stdout() } else { To::file(self.place.path()) };
        self.to = Some(to.map_err(|why| {
            self.place.refused(format!("{why}; name a file in a folder that can be written"))
        })?);
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
        self.send(|stream| stream.writer.write(&stream.table.batch(thread, events)))
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        if self.broken.is_some() {
            // What was sent before was sent; the rest is counted.
            return Ok(());
        }
        self.send(|stream| stream.writer.finish())?;
        let synced = self.to.as_ref().map_or(Ok(()), To::sync);
        synced.map_err(|why| self.place.refused(why.to_string()))
    }

    fn end(&mut self, _result: &RunResult) -> Result<(), SinkError> {
        Ok(())
    }
}

/// A file, a pipe or standard output.
struct To {
    file: File,
    /// Bytes of whole messages so far.
    good: u64,
    /// Whether half a message can be taken back.
    rewinds: bool,
}

impl To {
    fn file(path: &std::path::Path) -> io::Result<Self> {
        let file = File::create(path)?;
        let rewinds = file.metadata()?.is_file();
        Ok(Self { file, good: 0, rewinds })
    }

    fn stdout() -> io::Result<Self> {
        use std::os::fd::AsFd;
        let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Ok(Self { file, good: 0, rewinds: false })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.file.write_all(bytes) {
            Ok(()) => {
                self.good += bytes.len() as u64;
                Ok(())
            }
            Err(why) => {
                let taken_back = self.rewinds
                    && self.file.set_len(self.good).is_ok()
                    && self.file.seek(SeekFrom::Start(self.good)).is_ok();
                self.rewinds = taken_back;
                Err(why)
            }
        }
    }

    /// On disk for good, where it is a disk.
    fn sync(&self) -> io::Result<()> {
        if self.rewinds { self.file.sync_all() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
