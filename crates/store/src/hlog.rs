//! `latency.hlog`: an HdrHistogram interval log, format 1.3 with compressed V2 histograms, as HdrHistogram's own
//! readers and plotters take it. One line for each interval and series; the tag is the series' key. Values are
//! nanoseconds; the third column (largest value) is for people and in nanoseconds too.
//!
//! Latencies of one name or URL group (within 1 %) are lines of their own, tagged `latency@NAME`; what a tag cannot hold
//! is written as in URLs (`%2C` for a comma).

use crate::schema::GroupResult;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use measure::{IntervalRow, Series};
use std::time::SystemTime;

/// Groups whose latencies are logged at most.
pub const MOST_GROUPS: usize = 64;

/// `latency@NAME`.
fn group_tag(name: &str) -> String {
    let mut tag = format!("{}@", Series::Latency.key());
    for letter in name.chars() {
        match letter {
            ',' | '%' => tag.push_str(&format!("%{:02X}", u32::from(letter))),
            _ if letter.is_ascii_control() || letter == ' ' => {
                tag.push_str(&format!("%{:02X}", u32::from(letter)))
            }
            _ => tag.push(letter),
        }
    }
    tag
}

/// The name of the group whose tag this is; `None` for a series of all.
pub fn group_of_tag(tag: &str) -> Option<String> {
    let name = tag.strip_prefix(Series::Latency.key())?.strip_prefix('@')?;
    let mut plain = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('%') {
        plain.push_str(before);
        let byte = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(u8::is_ascii) {
            Some(byte) => plain.push(char::from(byte)),
            None => plain.push('%'),
        }
        rest = if byte.is_some_and(|byte| byte.is_ascii()) { &after[2..] } else { after };
    }
    plain.push_str(rest);
    Some(plain)
}

/// Makes the log's text, piece by piece; keeps the serializer's buffer between intervals.
pub struct Hlog {
    serializer: V2DeflateSerializer,
    /// One for each group, in the order of their indices.
    group_tags: Vec<String>,
}

impl Hlog {
    pub fn new() -> Self {
        Self { serializer: V2DeflateSerializer::new(), group_tags: Vec::new() }
    }

    /// Latencies of these groups are logged from now on; the first [`MOST_GROUPS`] of them.
    pub fn name_groups(&mut self, groups: &[GroupResult]) {
        let tags = groups.iter().take(MOST_GROUPS).map(|group| group_tag(&group.name));
        self.group_tags = tags.collect();
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
        for (group, tag) in row.data.groups().iter().zip(&self.group_tags) {
            if group.latency.is_empty() {
                continue;
            }
            writer
                .write_histogram(&group.latency, row.start.as_std(), row.length.as_std(), Tag::new(tag))
                .map_err(|why| format!("{tag}: {why:?}"))?;
        }
        drop(writer);
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_survives_its_tag() {
        for name in ["home", "", "a, b", "100 %", "http://h/?q=%2C&x=@", "\r\n", "žluťoučký"] {
            let tag = group_tag(name);
            assert!(Tag::new(&tag).is_some(), "{tag}");
            assert_eq!(group_of_tag(&tag).as_deref(), Some(name));
        }
        assert_eq!(group_tag("a, b"), "latency@a%2C%20b");
        assert_eq!(group_of_tag("latency"), None);
        assert_eq!(group_of_tag("latency@%é"), Some("%é".to_owned()));
    }
}
