//! http_load's output, line for line, so that scripts that parse it go on working.
//!
//! Figures come from the same histograms as everything else. Means, extremes and counts are http_load's; its
//! `msecs/connect` left the TLS handshake out and charged it to `msecs/first-response`, here it is in. Fetches
//! are all that ended, as http_load counted: answered, failed and timed out.

use crate::printf::percent_g;
use std::fmt::Write;
use store::schema::{OutcomeCount, Word};
use store::{Distribution, RunResult};
use units::{Bytes, Cause, Outcome, OutcomeClass, Picos};

/// What http_load prints and a [`RunResult`] does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HttpLoad {
    /// Bytes of bodies received.
    pub bytes: Bytes,
    /// From the first request to the last answer.
    pub elapsed: Picos,
    /// `-checksum` was given: bodies were compared.
    pub checksum: bool,
}

/// The whole output. With `checksum`, `expect.checksum` outcomes are the bad checksums; every `*.timeout` is a
/// timeout.
pub fn http_load(result: &RunResult, extras: &HttpLoad) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = write_lines(&mut out, result, extras);
    out
}

fn write_lines(out: &mut String, result: &RunResult, extras: &HttpLoad) -> std::fmt::Result {
    let g = percent_g;
    let fetches = result.totals.done + result.totals.failed;
    let bytes = extras.bytes.get() as f64;
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
    write_times(out, "connect", &result.ready_ns)?;
    write_times(out, "first-response", &result.first_response_ns)?;
    let timeouts = count_errors(result, Cause::is_time_out);
    if timeouts > 0 {
        writeln!(out, "{timeouts} timeouts")?;
    }
    let bad = count_errors(result, |cause| cause == Cause::ExpectChecksum);
    if extras.checksum && bad > 0 {
        writeln!(out, "{bad} bad checksums")?;
    }
    writeln!(out, "HTTP response codes:")?;
    for row in result.outcomes.iter().filter(|row| row.is(OutcomeClass::Status)) {
        writeln!(out, "  code {:0>3} -- {}", row.key, row.count)?;
    }
    Ok(())
}

fn write_times(out: &mut String, name: &str, times: &Distribution) -> std::fmt::Result {
    if times.is_empty() {
        return Ok(());
    }
    let millis = |nanos: f64| percent_g(nanos / 1e6);
    let (mean, max, min) = (millis(times.mean), millis(times.max as f64), millis(times.min as f64));
    writeln!(out, "msecs/{name}: {mean} mean, {max} max, {min} min")
}

fn count_errors(result: &RunResult, is: impl Fn(Cause) -> bool) -> u64 {
    let is_one = |row: &&OutcomeCount| matches!(row.outcome(), Some(Outcome::Failed(cause)) if is(cause));
    result.outcomes.iter().filter(is_one).map(|row| row.count).sum()
}

/// What a script does not parse, but its author should read: failures, labels, and the verdict if it is not
/// VALID.
///
/// `own_words` gives options the names that they have there.
pub fn http_load_doubts(program: &str, result: &RunResult, own_words: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    for label in &result.labels {
        let _ = writeln!(text, "{program}: {label}");
    }
    let is_told =
        |outcome: &&OutcomeCount| outcome.is(OutcomeClass::Error) || outcome.is(OutcomeClass::Missed);
    for outcome in result.outcomes.iter().filter(is_told) {
        let _ = writeln!(text, "{program}: {} fetches: {}", outcome.count, outcome.key);
    }
    for note in result.notes.iter().filter(|note| note.starts_with("not a request")) {
        let _ = writeln!(text, "{program}: {note}");
    }
    if result.verdict.word != Word::Valid {
        let word = result.verdict.word.as_str();
        let _ = writeln!(text, "{program}: verdict {word} (options with two dashes are those of tare http)");
        for criterion in result.verdict.criteria.iter().filter(|criterion| criterion.severity != Word::Valid)
        {
            let _ = writeln!(text, "{program}: {}: {}", criterion.name, own_words(&criterion.advice));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::schema::{Connections, Totals};

    fn outcome(class: &str, key: &str, count: u64) -> OutcomeCount {
        OutcomeCount { class: class.into(), key: key.into(), count }
    }

    fn result() -> RunResult {
        RunResult {
            totals: Totals { done: 42, failed: 7, ..Totals::default() },
            connections: Connections { opened: 49, attempts: 49, open_peak: 2, ..Connections::default() },
            ready_ns: Distribution {
                count: 49,
                mean: 28_894_200.0,
                max: 44_243_000,
                min: 24_488_000,
                ..Distribution::default()
            },
            first_response_ns: Distribution {
                count: 49,
                mean: 21_536_100.0,
                max: 40_021_000,
                min: 20_101_200,
                ..Distribution::default()
            },
            outcomes: vec![
                outcome("status", "200", 41),
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
        let extras =
            HttpLoad { bytes: Bytes::new(289_884), elapsed: Picos::from_micros(10_014_800), checksum: true };
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
             code 200 -- 41\n  \
             code 404 -- 1\n"
        );
        let without = HttpLoad { checksum: false, ..extras };
        assert!(!http_load(&result(), &without).contains("bad"));
    }

    #[test]
    fn nothing_fetched() {
        assert_eq!(
            http_load(&RunResult::default(), &HttpLoad::default()),
            "0 fetches, 0 max parallel, 0 bytes, in 0 seconds\nHTTP response codes:\n"
        );
    }
}
