//! `result.json` as text.

use crate::schema::RunResult;
use std::io::{self, Write};

/// The result for people and programs: indented, but each interval on one line.
pub fn write_json(result: &RunResult, to: &mut dyn Write) -> io::Result<()> {
    let mut without = result.clone();
    without.intervals.clear();
    let text = serde_json::to_string_pretty(&without)?;
    let head = text.strip_suffix("[]\n}").expect("`intervals` is the last key, and empty here");
    to.write_all(head.as_bytes())?;
    to.write_all(b"[")?;
    for (index, row) in result.intervals.iter().enumerate() {
        to.write_all(if index == 0 { b"\n    " } else { b",\n    " })?;
        serde_json::to_writer(&mut *to, row)?;
    }
    to.write_all(if result.intervals.is_empty() { b"]\n}\n" } else { b"\n  ]\n}\n" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Interval;

    #[test]
    fn reads_back_the_same_with_none_one_and_two_intervals() {
        for count in 0..3 {
            let intervals = vec![Interval { done: 7, ..Interval::default() }; count];
            let result = RunResult { intervals, ..RunResult::default() };
            let mut text = Vec::new();
            write_json(&result, &mut text).unwrap();
            assert_eq!(serde_json::from_slice::<RunResult>(&text).unwrap(), result);
            let lines = text.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"    {\"t_s\""));
            assert_eq!(lines.count(), count);
        }
    }

    /// Keys that other programs read are there, under their names.
    #[test]
    fn keys_that_others_read() {
        let mut text = Vec::new();
        write_json(&RunResult::default(), &mut text).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        for key in [
            "schema",
            "engine",
            "run",
            "plan_hash",
            "partial",
            "verdict",
            "totals",
            "rate",
            "latency_ns",
            "service_ns",
            "lateness_ns",
            "connect_ns",
            "tls_ns",
            "first_byte_ns",
            "gap_error_ns",
            "outcomes",
            "generator",
            "thresholds",
            "intervals",
        ] {
            assert!(value.get(key).is_some(), "{key}");
        }
        for key in ["offered", "sent", "done", "failed", "missed", "cut_off", "bytes_out", "bytes_in"] {
            assert!(value["totals"].get(key).is_some(), "totals.{key}");
        }
        for key in ["offered_per_s", "achieved_per_s", "duration_s"] {
            assert!(value["rate"].get(key).is_some(), "rate.{key}");
        }
        assert!(value["verdict"]["word"].is_string() && value["verdict"]["criteria"].is_array());
    }
}
