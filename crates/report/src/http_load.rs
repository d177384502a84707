//! http_load's output, line for line, so that scripts that parse it go on working.
//!
//! Figures come from the same histograms as everything else. Means, extremes and counts are http_load's; its
//! `msecs/connect` left the TLS handshake out and charged it to `msecs/first-response`, here it is in.

use crate::printf::percent_g;
use std::fmt::Write;
use store::{Distribution, RunResult};
use units::{Bytes, Count, Picos};

/// What http_load prints and a [`RunResult`] does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HttpLoad {
    /// Bytes of bodies received.
    pub bytes: Bytes,
    /// From the first request to the last answer.
    pub elapsed: Picos,
    /// Connect and, where there was one, handshake: mean, max, min of each connection.
    pub connect: Spread,
    /// `-checksum` was given: a body that differs counts as a bad checksum, not a bad byte count.
    pub checksum: bool,
    /// Answers whose body is of another length than the first of the same URL.
    pub bad_byte_counts: Count,
}

/// The three figures that http_load prints of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    pub count: Count,
    pub mean_ns: f64,
    pub max: Picos,
    pub min: Picos,
}

impl From<&Distribution> for Spread {
    fn from(from: &Distribution) -> Self {
        Self {
            count: Count::new(from.count),
            mean_ns: from.mean,
            max: Picos::from_nanos(from.max),
            min: Picos::from_nanos(from.min),
        }
    }
}

/// The whole output. With `checksum`, `expect.checksum` outcomes are the bad checksums; every `*.timeout` is a timeout.
pub fn http_load(result: &RunResult, extras: &HttpLoad) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = write_lines(&mut out, result, extras);
    out
}

fn write_lines(out: &mut String, result: &RunResult, extras: &HttpLoad) -> std::fmt::Result {
    let g = percent_g;
    let (fetches, bytes) = (result.totals.done, extras.bytes.get() as f64);
    let seconds = extras.elapsed.as_secs_f64();
    let parallel = result.connections.open_peak;
    writeln!(
        out,
        "{fetches} fetches, {parallel} max parallel, {} bytes, in {} seconds",
        g(bytes),
        g(seconds)
    )?;
    if fetches > 0 {
        writeln!(out, "{} mean bytes/connection", g(bytes / fetches as f64))?;
    }
    if seconds > 0.01 {
        writeln!(out, "{} fetches/sec, {} bytes/sec", g(fetches as f64 / seconds), g(bytes / seconds))?;
    }
    write_spread(out, "connect", &extras.connect)?;
    write_spread(out, "first-response", &Spread::from(&result.first_byte_ns))?;
    let timeouts = count_errors(result, |key| key.ends_with(".timeout"));
    if timeouts > 0 {
        writeln!(out, "{timeouts} timeouts")?;
    }
    let (bad, what) = if extras.checksum {
        (count_errors(result, |key| key == "expect.checksum"), "bad checksums")
    } else {
        (extras.bad_byte_counts.get(), "bad byte counts")
    };
    if bad > 0 {
        writeln!(out, "{bad} {what}")?;
    }
    writeln!(out, "HTTP response codes:")?;
    for row in result.outcomes.iter().filter(|row| row.class == "status") {
        writeln!(out, "  code {:0>3} -- {}", row.key, row.count)?;
    }
    Ok(())
}

fn write_spread(out: &mut String, name: &str, times: &Spread) -> std::fmt::Result {
    if times.count.get() == 0 {
        return Ok(());
    }
    let millis = |time: Picos| percent_g(time.as_nanos() as f64 / 1e6);
    let mean = percent_g(times.mean_ns / 1e6);
    writeln!(out, "msecs/{name}: {mean} mean, {} max, {} min", millis(times.max), millis(times.min))
}

fn count_errors(result: &RunResult, is: impl Fn(&str) -> bool) -> u64 {
    result.outcomes.iter().filter(|row| row.class == "error" && is(&row.key)).map(|row| row.count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::schema::{Connections, OutcomeCount, Totals};

    fn outcome(class: &str, key: &str, count: u64) -> OutcomeCount {
        OutcomeCount { class: class.into(), key: key.into(), count }
    }

    fn result() -> RunResult {
        RunResult {
            totals: Totals { done: 49, ..Totals::default() },
            connections: Connections { opened: 49, open_peak: 2 },
            first_byte_ns: Distribution {
                count: 49,
                mean: 21_536_100.0,
                max: 40_021_000,
                min: 20_101_200,
                ..Distribution::default()
            },
            outcomes: vec![
                outcome("status", "200", 48),
                outcome("status", "404", 1),
                outcome("error", "connect.timeout", 2),
                outcome("error", "first_byte.timeout", 1),
                outcome("error", "expect.checksum", 4),
            ],
            ..RunResult::default()
        }
    }

    #[test]
    fn layout() {
        // The example of http_load's manual has "49 fetches, 2 max parallel, 289884 bytes, in 10.0148 seconds".
        let extras = HttpLoad {
            bytes: Bytes::new(289_884),
            elapsed: Picos::from_micros(10_014_800),
            connect: Spread {
                count: Count::new(49),
                mean_ns: 28_894_200.0,
                max: Picos::from_nanos(44_243_000),
                min: Picos::from_nanos(24_488_000),
            },
            checksum: true,
            bad_byte_counts: Count::new(9),
        };
        assert_eq!(
            http_load(&result(), &extras),
            "49 fetches, 2 max parallel, 289884 bytes, in 10.0148 seconds\n\
             5916 mean bytes/connection\n\
             4.89276 fetches/sec, 28945.6 bytes/sec\n\
             msecs/connect: 28.8942 mean, 44.243 max, 24.488 min\n\
             msecs/first-response: 21.5361 mean, 40.021 max, 20.1012 min\n\
             3 timeouts\n\
             4 bad checksums\n\
             HTTP response codes:\n  \
             code 200 -- 48\n  \
             code 404 -- 1\n"
        );
        let without = HttpLoad { checksum: false, ..extras };
        assert!(http_load(&result(), &without).contains("\n9 bad byte counts\n"));
    }

    #[test]
    fn nothing_fetched() {
        assert_eq!(
            http_load(&RunResult::default(), &HttpLoad::default()),
            "0 fetches, 0 max parallel, 0 bytes, in 0 seconds\nHTTP response codes:\n"
        );
    }
}
