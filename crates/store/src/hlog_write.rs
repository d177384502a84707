//! Writes HdrHistogram interval logs, format 1.3 with compressed V2 histograms, as HdrHistogram's own readers
//! and plotters take them. Values are nanoseconds; the third column (largest value) is for people and in
//! nanoseconds too.

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::{Counter, Histogram};
use std::time::{Duration, SystemTime};

/// Makes a log's text, piece by piece; keeps the serializer's buffer between intervals.
pub struct HlogWriter(V2DeflateSerializer);

impl HlogWriter {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self(V2DeflateSerializer::new())
    }

    /// The lines before the first interval. Times of intervals count from `start`.
    pub fn head(&mut self, run: &str, start: SystemTime) -> Vec<u8> {
        let mut text = Vec::new();
        let begun = IntervalLogWriterBuilder::new()
            .add_comment("[Histogram log format version 1.3]")
            .add_comment(&format!("run {run}; values in nanoseconds; tagged by series"))
            .with_base_time(start)
            .with_start_time(start)
            .begin_log_with(&mut text, &mut self.0);
        debug_assert!(begun.is_ok(), "writing to memory does not fail");
        text
    }

    /// The lines of one interval: one for each tag.
    ///
    /// # Errors
    /// What cannot be written, which is a tag with a comma, a space or the end of a line in it.
    pub fn interval<'a, C: Counter + 'a>(
        &mut self,
        start: Duration,
        length: Duration,
        histograms: impl IntoIterator<Item = (&'a str, &'a Histogram<C>)>,
    ) -> Result<Vec<u8>, String> {
        let mut text = Vec::new();
        let mut writer = IntervalLogWriterBuilder::new()
            .begin_log_with(&mut text, &mut self.0)
            .map_err(|why| why.to_string())?;
        for (tag, histogram) in histograms {
            let known = Tag::new(tag).ok_or_else(|| format!("{tag}: no tag of a log"))?;
            writer
                .write_histogram(histogram, start, length, Some(known))
                .map_err(|why| format!("{tag}: {why:?}"))?;
        }
        drop(writer);
        Ok(text)
    }
}
