//! Histograms of a whole run, from its log: buckets added, line by line.

use crate::buckets::{Counts, highest_at};
use crate::distribution::{Curve, Distribution};
use crate::hlog::group_of_tag;
use crate::hlog_read::{Decoder, Lines};
use crate::log_state::LogState;
use crate::read::StoredRun;
use crate::regular;
use crate::run_folder::HLOG;
use crate::schema::RunResult;
use hdrhistogram::Histogram;
use measure::{HISTOGRAM_DIGITS, Series};
use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::Path;

/// Distributions of a run, or of several, as buckets: these can be added, percentiles cannot.
#[derive(Clone, Default)]
pub struct RunHistograms {
    series: BTreeMap<&'static str, Counts>,
    /// Latencies by name.
    groups: BTreeMap<String, Counts>,
    /// By name, the time that those had which never came to an answer.
    unfinished: BTreeMap<String, Counts>,
    log: LogState,
}

impl RunHistograms {
    /// Of the log in this folder; empty if there is none.
    pub fn of_folder(folder: &Path) -> Self {
        let mut all = Self::default();
        let Ok(file) = regular::open(&folder.join(HLOG)) else { return all };
        all.log.found = true;
        let mut lines = Lines::new(BufReader::with_capacity(1 << 16, file));
        let mut decoder = Decoder::new();
        while let Some(line) = lines.advance() {
            let added = line.and_then(|line| match all.of_tag(line.tag) {
                Some(counts) => decoder.add_to(&line, counts),
                None => Ok(()),
            });
            let is_damaged = added.is_err() && !lines.is_cut_off();
            all.log.damaged += u64::from(is_damaged);
        }
        all
    }

    fn of_tag(&mut self, tag: &str) -> Option<&mut Counts> {
        if let Some((series, group)) = group_of_tag(tag) {
            let groups = if series == Series::Unfinished { &mut self.unfinished } else { &mut self.groups };
            // A file of another origin may have any number of names.
            let room = groups.len() < crate::hlog::MOST_GROUPS || groups.contains_key(&group);
            return room.then(|| groups.entry(group).or_insert_with(Counts::new));
        }
        Some(self.series.entry(Series::of_key(tag)?.key()).or_insert_with(Counts::new))
    }

    /// Adds the buckets of another run.
    pub fn add(&mut self, other: &Self) {
        for (key, counts) in &other.series {
            self.series.entry(key).or_insert_with(Counts::new).add_all(counts);
        }
        for (into, from) in [(&mut self.groups, &other.groups), (&mut self.unfinished, &other.unfinished)] {
            for (name, counts) in from {
                into.entry(name.clone()).or_insert_with(Counts::new).add_all(counts);
            }
        }
        self.log.damaged += other.log.damaged;
    }

    /// One series, in nanoseconds; empty if nothing of it was logged.
    pub fn series(&self, series: Series) -> Histogram<u64> {
        self.series.get(series.key()).map_or_else(empty, histogram)
    }

    /// What would be in this series, had it come to an end, with the time that it had; `None` if there is
    /// nothing.
    pub fn unfinished(&self, series: Series) -> Option<Histogram<u64>> {
        let unfinished = self.series(series.unfinished()?);
        (!unfinished.is_empty()).then_some(unfinished)
    }

    /// Whether it has everything that never came to an end: without that, percentiles would seem to be exact.
    pub fn has_unfinished_of(&self, result: &RunResult) -> bool {
        self.series(Series::Unfinished).len() >= result.unfinished_ns.count
    }

    /// Whether it has all times that the result counted.
    pub(crate) fn has_all_of(&self, result: &RunResult) -> bool {
        self.series(Series::Latency).len() == result.latency_ns.count
            && self.series(Series::Lateness).len() >= result.lateness_ns.count
            && self.has_unfinished_of(result)
    }

    /// The same of the latencies of one name.
    pub fn unfinished_of_group(&self, name: &str) -> Option<Histogram<u64>> {
        self.unfinished.get(name).map(histogram)
    }

    /// The figures of one series.
    pub(crate) fn figures(&self, series: Series) -> Distribution {
        Distribution::with_unfinished(&self.series(series), self.unfinished(series).as_ref())
    }

    /// The figures of the latencies of one name.
    pub(crate) fn figures_of_group(&self, name: &str) -> Distribution {
        let latency = self.group(name).unwrap_or_else(empty);
        Distribution::with_unfinished(&latency, self.unfinished_of_group(name).as_ref())
    }

    /// The curve of one series.
    pub(crate) fn curve(&self, series: Series) -> Curve {
        Curve::with_unfinished(&self.series(series), self.unfinished(series).as_ref())
    }

    /// Latencies of one name (within 1 %); `None` if it has none.
    pub fn group(&self, name: &str) -> Option<Histogram<u64>> {
        self.groups.get(name).map(histogram)
    }

    /// Names that have latencies.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }

    /// Lines that could not be read; a last one that was cut off is not among them.
    pub fn damaged(&self) -> u64 {
        self.log.damaged
    }

    pub(crate) fn log(&self) -> LogState {
        self.log
    }
}

impl StoredRun {
    /// Histograms of the whole run, from `latency.hlog`.
    pub fn histograms(&self) -> RunHistograms {
        RunHistograms::of_folder(&self.folder)
    }
}

/// One series of a stored run, by adding up the buckets of its intervals; empty if its log is not there.
pub fn merged_series(run: &StoredRun, series: Series) -> Histogram<u64> {
    run.histograms().series(series)
}

fn empty() -> Histogram<u64> {
    let mut histogram =
        Histogram::new_with_bounds(1, 2, HISTOGRAM_DIGITS).expect("1 ≤ low, 2·low ≤ high, digits ≤ 5");
    histogram.auto(true);
    histogram
}

fn histogram(counts: &Counts) -> Histogram<u64> {
    let mut histogram = empty();
    // From the largest down, so that it grows once.
    for (index, count) in counts.filled().buckets().iter().rev() {
        histogram.record_n(highest_at(*index), *count).expect("it grows, and its indices are ours");
    }
    histogram
}
