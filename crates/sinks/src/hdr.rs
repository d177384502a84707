//! `hdr:FILE`: an HdrHistogram interval log (format 1.3, compressed V2 histograms), as HdrHistogram's own readers and
//! plotters take it. One line for each interval and series; the tag is the series' key, values are nanoseconds.
//!
//! The same as `latency.hlog` in a run folder, but for the times: there they count from the folder's start, here from
//! the run's origin.

use crate::exporter::{Exporter, RunInfo, SinkError, SinkRow};
use crate::output::Output;
use crate::place::{Address, Kind, Place};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::time::{Duration, SystemTime};
use store::RunResult;

pub const KIND: Kind = Kind {
    schemes: &["hdr"],
    form: "hdr:FILE",
    about: "HdrHistogram interval log",
    address: Address::File,
    options: &[],
    open,
};

fn open(place: &Place) -> Result<Box<dyn Exporter>, SinkError> {
    let serializer = V2DeflateSerializer::new();
    let (run, head) = (String::new(), None);
    Ok(Box::new(Hdr { output: Output::new(place), place: place.clone(), run, head, serializer }))
}

struct Hdr {
    place: Place,
    output: Output,
    run: String,
    /// The run's origin, until the lines before the first interval are written.
    head: Option<SystemTime>,
    serializer: V2DeflateSerializer,
}

impl Hdr {
    fn write_head(&mut self) -> Result<(), SinkError> {
        let Some(origin) = self.head else { return Ok(()) };
        let mut text = Vec::new();
        let begun = IntervalLogWriterBuilder::new()
            .add_comment("[Histogram log format version 1.3]")
            .add_comment(&format!("run {}; values in nanoseconds; tagged by series", self.run))
            .with_base_time(origin)
            .with_start_time(origin)
            .begin_log_with(&mut text, &mut self.serializer);
        debug_assert!(begun.is_ok(), "writing to memory does not fail");
        self.output.write(&text)?;
        self.head = None;
        Ok(())
    }

    fn lines(&mut self, row: &SinkRow) -> Result<Vec<u8>, String> {
        let mut text = Vec::new();
        let mut writer = IntervalLogWriterBuilder::new()
            .begin_log_with(&mut text, &mut self.serializer)
            .map_err(|why| why.to_string())?;
        let start = Duration::from_secs_f64(row.row.t_s.max(0.0));
        let length = Duration::from_secs_f64(row.row.length_s.max(0.0));
        for (series, histogram) in &row.histograms {
            writer
                .write_histogram(histogram, start, length, Tag::new(series.key()))
                .map_err(|why| format!("{}: {why:?}", series.key()))?;
        }
        drop(writer);
        Ok(text)
    }
}

impl Exporter for Hdr {
    fn begin(&mut self, run: &RunInfo) -> Result<(), SinkError> {
        self.run.clone_from(&run.run);
        self.output.open()
    }

    fn start(&mut self, origin_unix_ns: u64) {
        self.head = Some(SystemTime::UNIX_EPOCH + Duration::from_nanos(origin_unix_ns));
    }

    fn interval(&mut self, row: &SinkRow) -> Result<(), SinkError> {
        self.write_head()?;
        let lines = self.lines(row).map_err(|why| self.place.refused(why))?;
        self.output.write(&lines)
    }

    fn end(&mut self, _result: &RunResult) -> Result<(), SinkError> {
        self.output.sync()
    }
}
