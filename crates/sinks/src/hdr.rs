//! `hdr:FILE`: an HdrHistogram interval log (format 1.3, compressed V2 histograms), as HdrHistogram's own
//! readers and plotters take it. One line for each interval and series; the tag is the series' key, values are
//! nanoseconds.
//!
//! The same as `latency.hlog` in a run folder, but for the times: there they count from the folder's start,
//! here from the run's origin.

use crate::exporter::{Exporter, RunInfo, SinkError, SinkRow};
use crate::output::Output;
use crate::place::{Address, Place, SinkKind};
use hdrhistogram::{Counter, Histogram};
use std::time::{Duration, SystemTime};
use store::schema::Interval;
use store::{HlogWriter, RunResult};

pub const KIND: SinkKind = SinkKind {
    schemes: &["hdr"],
    form: "hdr:FILE",
    about: "HdrHistogram interval log",
    address: Address::File,
    options: &[],
    open,
};

fn open(place: &Place) -> Result<Box<dyn Exporter>, SinkError> {
    let (output, place) = (Output::new(place), place.clone());
    Ok(Box::new(Hdr { output, place, run: String::new(), origin: None, log: HlogWriter::new() }))
}

/// The lines of one row.
pub fn lines<'a, C: Counter + 'a>(
    writer: &mut HlogWriter,
    row: &Interval,
    histograms: impl IntoIterator<Item = (&'a str, &'a Histogram<C>)>,
) -> Result<Vec<u8>, String> {
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
    writer.interval(seconds(row.t_s), seconds(row.length_s), histograms)
}

struct Hdr {
    place: Place,
    output: Output,
    run: String,
    /// Until the lines before the first interval are written.
    origin: Option<SystemTime>,
    log: HlogWriter,
}

impl Exporter for Hdr {
    fn begin(&mut self, run: &RunInfo) -> Result<(), SinkError> {
        self.run.clone_from(&run.run);
        self.output.open()
    }

    fn start(&mut self, origin_unix_ns: u64) {
        self.origin = Some(SystemTime::UNIX_EPOCH + Duration::from_nanos(origin_unix_ns));
    }

    fn interval(&mut self, row: &SinkRow) -> Result<(), SinkError> {
        if let Some(origin) = self.origin {
            self.output.write(&self.log.head(&self.run, origin))?;
            self.origin = None;
        }
        let histograms = row.histograms.iter().map(|(series, histogram)| (series.key(), histogram));
        let lines = lines(&mut self.log, &row.row, histograms).map_err(|why| self.place.refused(why))?;
        self.output.write(&lines)
    }

    fn end(&mut self, _result: &RunResult) -> Result<(), SinkError> {
        self.output.sync()
    }
}
