//! Intervals as CSV (RFC 4180): a header with the unit in each name, one line an interval, empty where nothing
//! was measured.
//!
//! Names and units are those of `Interval` in [`crate::schema`]. Outcomes one by one and single threads have no
//! columns: their number is not fixed; they are in `intervals.jsonl`.

use crate::schema::Interval;
use std::fmt::Write;

/// A column: its name, and its value in a row.
type Column = (&'static str, fn(&Interval) -> Value);

enum Value {
    Count(u64),
    Maybe(Option<u64>),
    Real(f64),
    MaybeReal(Option<f64>),
}

use Value::{Count, Maybe, MaybeReal, Real};

const COLUMNS: &[Column] = &[
    ("t_s", |row| Real(row.t_s)),
    ("length_s", |row| Real(row.length_s)),
    ("offered", |row| Count(row.offered)),
    ("sent", |row| Count(row.sent)),
    ("done", |row| Count(row.done)),
    ("failed", |row| Count(row.failed)),
    ("missed", |row| Count(row.missed)),
    ("cut_off", |row| Count(row.cut_off)),
    ("warmup", |row| Count(row.warmup)),
    ("bytes_out", |row| Count(row.bytes_out)),
    ("bytes_in", |row| Count(row.bytes_in)),
    ("latency_p50_ns", |row| Maybe(row.latency_p50_ns)),
    ("latency_p90_ns", |row| Maybe(row.latency_p90_ns)),
    ("latency_p99_ns", |row| Maybe(row.latency_p99_ns)),
    ("latency_p99_9_ns", |row| Maybe(row.latency_p99_9_ns)),
    ("latency_max_ns", |row| Maybe(row.latency_max_ns)),
    ("service_p50_ns", |row| Maybe(row.service_p50_ns)),
    ("service_p99_ns", |row| Maybe(row.service_p99_ns)),
    ("lateness_p50_ns", |row| Maybe(row.lateness_p50_ns)),
    ("lateness_p99_ns", |row| Maybe(row.lateness_p99_ns)),
    ("lateness_max_ns", |row| Maybe(row.lateness_max_ns)),
    ("own_lateness_p99_ns", |row| Maybe(row.own_lateness_p99_ns)),
    ("lookup_p50_ns", |row| Maybe(row.lookup_p50_ns)),
    ("connect_p50_ns", |row| Maybe(row.connect_p50_ns)),
    ("tls_p50_ns", |row| Maybe(row.tls_p50_ns)),
    ("first_byte_p50_ns", |row| Maybe(row.first_byte_p50_ns)),
    ("body_p50_ns", |row| Maybe(row.body_p50_ns)),
    ("open", |row| Count(row.open)),
    ("cpu_share", |row| Real(row.cpu_share)),
    ("spun_share", |row| Real(row.spun_share)),
    ("steal_share", |row| MaybeReal(row.steal_share)),
    ("run_queue_wait_ns", |row| Maybe(row.run_queue_wait_ns)),
    ("retransmits", |row| Count(row.retransmits)),
    ("ports_left", |row| Maybe(row.ports_left)),
    ("descriptors_left", |row| Maybe(row.descriptors_left)),
    ("time_wait", |row| Count(row.time_wait)),
    ("rss_bytes", |row| Maybe(row.rss_bytes)),
    ("net_p50_ns", |row| Maybe(row.net_p50_ns)),
    ("net_p90_ns", |row| Maybe(row.net_p90_ns)),
    ("net_p99_ns", |row| Maybe(row.net_p99_ns)),
    ("net_p99_9_ns", |row| Maybe(row.net_p99_9_ns)),
    ("net_max_ns", |row| Maybe(row.net_max_ns)),
    ("tare_p50_ns", |row| Maybe(row.tare_p50_ns)),
    ("tare_p99_ns", |row| Maybe(row.tare_p99_ns)),
    ("tare_max_ns", |row| Maybe(row.tare_max_ns)),
    ("unread_p99_ns", |row| Maybe(row.unread_p99_ns)),
    ("pauses", |row| Count(row.pauses)),
    ("paused_ns", |row| Count(row.paused_ns)),
    ("longest_pause_ns", |row| Count(row.longest_pause_ns)),
];

/// The first line, with its end (CR LF).
pub fn header() -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    names.join(",") + "\r\n"
}

/// The line of one interval, with its end.
pub fn record(row: &Interval) -> String {
    let mut line = String::with_capacity(256);
    for (index, (_, value)) in COLUMNS.iter().enumerate() {
        if index > 0 {
            line.push(',');
        }
        // Writing to a String does not fail.
        let _ = match value(row) {
            Count(count) | Maybe(Some(count)) => write!(line, "{count}"),
            Real(real) | MaybeReal(Some(real)) => write!(line, "{real}"),
            Maybe(None) | MaybeReal(None) => Ok(()),
        };
    }
    line.push_str("\r\n");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_value_or_nothing_for_every_name() {
        let row = Interval { t_s: 1.5, done: 7, latency_p99_ns: Some(81_000), ..Interval::default() };
        let (names, line) = (header(), record(&row));
        let names: Vec<&str> = names.trim_end().split(',').collect();
        let values: Vec<&str> = line.trim_end().split(',').collect();
        assert_eq!(names.len(), values.len());
        let of = |name: &str| values[names.iter().position(|known| *known == name).unwrap()];
        assert_eq!(
            (of("t_s"), of("done"), of("latency_p99_ns"), of("latency_p50_ns")),
            ("1.5", "7", "81000", "")
        );
    }

    #[test]
    fn names_are_the_keys_of_the_schema() {
        let row = Interval {
            warmup: 1,
            net_p50_ns: Some(1),
            net_p90_ns: Some(1),
            net_p99_ns: Some(1),
            net_p99_9_ns: Some(1),
            net_max_ns: Some(1),
            tare_p50_ns: Some(1),
            tare_p99_ns: Some(1),
            tare_max_ns: Some(1),
            unread_p99_ns: Some(1),
            pauses: 1,
            paused_ns: 1,
            longest_pause_ns: 1,
            latency_p50_ns: Some(1),
            latency_p90_ns: Some(1),
            latency_p99_ns: Some(1),
            latency_p99_9_ns: Some(1),
            latency_max_ns: Some(1),
            service_p50_ns: Some(1),
            service_p99_ns: Some(1),
            lateness_p50_ns: Some(1),
            lateness_p99_ns: Some(1),
            lateness_max_ns: Some(1),
            own_lateness_p99_ns: Some(1),
            lookup_p50_ns: Some(1),
            connect_p50_ns: Some(1),
            tls_p50_ns: Some(1),
            first_byte_p50_ns: Some(1),
            body_p50_ns: Some(1),
            steal_share: Some(0.5),
            run_queue_wait_ns: Some(1),
            rss_bytes: Some(1),
            retransmits: 1,
            ports_left: Some(1),
            descriptors_left: Some(1),
            time_wait: 1,
            ..Interval::default()
        };
        let keys = serde_json::to_value(&row).unwrap();
        let mut keys: Vec<&str> = keys.as_object().unwrap().keys().map(String::as_str).collect();
        let mut names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
        keys.sort_unstable();
        names.sort_unstable();
        assert_eq!(names, keys);
    }
}
