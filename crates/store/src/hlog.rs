//! `latency.hlog`: an HdrHistogram interval log, format 1.3 with compressed V2 histograms, as HdrHistogram's own
//! readers and plotters take it. One line for each interval and series; the tag is the series' key. Values are
//! nanoseconds; the third column (largest value) is for people and in nanoseconds too.

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use measure::{IntervalRow, Series};
use std::time::SystemTime;

/// Makes the log's text, piece by piece; keeps the serializer's buffer between intervals.
pub struct Hlog {
    serializer: V2DeflateSerializer,
}

impl Hlog {
    pub fn new() -> Self {
        Self { serializer: V2DeflateSerializer::new() }
    }

    /// The lines before the first interval. Times of intervals count from `start`.
    pub fn head(&mut self, run: &str, start: SystemTime) -> Vec<u8> {
        let mut text = Vec::new();
        let begun = IntervalLogWriterBuilder::new()
            .add_comment("[Histogram log format version 1.3]")
            .add_comment(&format!("run {run}; values in nanoseconds; tagged by series"))
            .with_base_time(start)
            .with_start_time(start)
            .begin_log_with(&mut text, &mut self.serializer);
        debug_assert!(begun.is_ok(), "writing to memory does not fail");
        text
    }

    /// The lines of one interval; series without values are left out.
    pub fn interval(&mut self, row: &IntervalRow) -> Result<Vec<u8>, String> {
        let mut text = Vec::new();
        let mut writer = IntervalLogWriterBuilder::new()
            .begin_log_with(&mut text, &mut self.serializer)
            .map_err(|why| why.to_string())?;
        for series in Series::ALL {
            let histogram = row.data.series.of(*series);
            if histogram.is_empty() {
                continue;
            }
            writer
                .write_histogram(histogram, row.start.as_std(), row.length.as_std(), Tag::new(series.key()))
                .map_err(|why| format!("{}: {why:?}", series.key()))?;
        }
        drop(writer);
        Ok(text)
    }
}
