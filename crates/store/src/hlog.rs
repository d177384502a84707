//! `latency.hlog`: an HdrHistogram interval log with one line for each interval and series; the tag is the
//! series' key.
//!
//! Latencies of one name or URL group (within 1 %) are lines of their own, tagged `latency@NAME`, as is the
//! time that its requests had which never came to an answer (`unfinished@NAME`); what a tag cannot hold is
//! written as in URLs (`%2C` for a comma).

use crate::hlog_write::HlogWriter;
use crate::schema::GroupResult;
use measure::{IntervalRow, Series};
use std::time::SystemTime;

/// Groups whose latencies are logged at most.
pub const MOST_GROUPS: usize = 64;

/// The series that are kept of each group.
const OF_GROUPS: [Series; 2] = [Series::Latency, Series::Unfinished];

/// `latency@NAME`.
fn group_tag(series: Series, name: &str) -> String {
    let mut tag = format!("{}@", series.key());
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

/// The series and the name of the group whose tag this is; `None` for a series of all.
pub fn group_of_tag(tag: &str) -> Option<(Series, String)> {
    let (key, name) = tag.split_once('@')?;
    let series = OF_GROUPS.into_iter().find(|series| series.key() == key)?;
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
    Some((series, plain))
}

/// Makes the log's text, piece by piece.
pub struct Hlog {
    writer: HlogWriter,
    /// Those of [`OF_GROUPS`] for each group, in the order of their indices.
    group_tags: Vec<[String; 2]>,
}

impl Hlog {
    pub fn new() -> Self {
        Self { writer: HlogWriter::new(), group_tags: Vec::new() }
    }

    /// Latencies of these groups are logged from now on; the first [`MOST_GROUPS`] of them.
    pub fn name_groups(&mut self, groups: &[GroupResult]) {
        let tags = groups
            .iter()
            .take(MOST_GROUPS)
            .map(|group| OF_GROUPS.map(|series| group_tag(series, &group.name)));
        self.group_tags = tags.collect();
    }

    /// The lines before the first interval. Times of intervals count from `start`.
    pub fn head(&mut self, run: &str, start: SystemTime) -> Vec<u8> {
        self.writer.head(run, start)
    }

    /// The lines of one interval; series without values are left out.
    pub fn interval(&mut self, row: &IntervalRow) -> Result<Vec<u8>, String> {
        let of_all = Series::ALL.iter().map(|series| (series.key(), row.data.series.of(*series)));
        let of_groups =
            self.group_tags.iter().zip(row.data.groups()).flat_map(|([latency, unfinished], group)| {
                [(latency.as_str(), &group.latency), (unfinished.as_str(), &group.unfinished)]
            });
        let with_values = of_all.chain(of_groups).filter(|(_, histogram)| !histogram.is_empty());
        self.writer.interval(row.start.as_std(), row.length.as_std(), with_values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::interval_log::Tag;

    #[test]
    fn a_name_survives_its_tag() {
        for name in ["home", "", "a, b", "100 %", "http://h/?q=%2C&x=@", "\r\n", "žluťoučký"] {
            for series in OF_GROUPS {
                let tag = group_tag(series, name);
                assert!(Tag::new(&tag).is_some(), "{tag}");
                assert_eq!(group_of_tag(&tag), Some((series, name.to_owned())));
            }
        }
        assert_eq!(group_tag(Series::Latency, "a, b"), "latency@a%2C%20b");
        assert_eq!(group_of_tag("latency"), None);
        assert_eq!(group_of_tag("service@a"), None);
        assert_eq!(group_of_tag("latency@%é"), Some((Series::Latency, "%é".to_owned())));
    }
}
