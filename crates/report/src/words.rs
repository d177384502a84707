//! Figures as people read them, and sentences for causes: shared by the terminal and the HTML report.

use store::schema::{Closing, Connections, CriterionId, OutcomeCount};
use store::{Distribution, RunResult};
use units::{Bytes, Cause, Fate, Group, Miss, Outcome, OutcomeClass, Picos};

/// `1.23 ms`: three significant digits.
pub fn time(nanos: u64) -> String {
    format!("{:#}", Picos::from_nanos(nanos))
}

/// The same of a fraction of nanoseconds; below 0 counts as 0.
pub fn time_f64(nanos: f64) -> String {
    format!("{:#}", Picos::from_secs_f64(nanos / 1e9))
}

/// `10 ms`: of a round number, for an axis.
pub fn round_time(nanos: f64) -> String {
    let text = time_f64(nanos);
    match text.split_once(' ') {
        Some((number, unit)) => format!("{} {unit}", trimmed(number.to_owned())),
        None => text,
    }
}

/// `12.3 s` of a length in seconds.
pub fn seconds(seconds: f64) -> String {
    format!("{:#}", Picos::from_secs_f64(seconds))
}

/// `1.21 MB`.
pub fn bytes(count: u64) -> String {
    format!("{:#}", Bytes::new(count))
}

/// `2 MB`: of a round number, for an axis.
pub fn round_bytes(count: f64) -> String {
    let text = bytes(count.max(0.0).round() as u64);
    match text.split_once(' ') {
        Some((number, unit)) => format!("{} {unit}", trimmed(number.to_owned())),
        None => text,
    }
}

/// `12.3 MB/s`.
pub fn bytes_per_second(count: u64, over_s: f64) -> String {
    let rate = if over_s > 0.0 { count as f64 / over_s } else { 0.0 };
    format!("{}/s", bytes(rate.round() as u64))
}

/// `1 234 567`: digits in threes.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// How many connections were made; of how many attempts, if some made none; and how they ended, if the plan
/// says so.
pub fn opened(connections: &Connections) -> String {
    let mut opened = format!("{} opened", count(connections.opened));
    if connections.attempts > connections.opened {
        opened.push_str(&format!(" of {}", counted(connections.attempts, "attempt")));
    }
    match connections.close {
        Some(Closing::Rst) => opened.push_str(", reset by tare"),
        Some(Closing::Server) if connections.unclosed > 0 => {
            opened.push_str(&format!(", {} not closed by the target", count(connections.unclosed)));
        }
        Some(Closing::Server) => opened.push_str(", closed by the target"),
        Some(Closing::Fin) | None => {}
    }
    opened
}

/// `1 request`, `2 requests`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = match number {
        1 => "",
        _ => "s",
    };
    format!("{} {noun}{plural}", count(number))
}

/// `19 998`, `3.25`, `0.143`: whole from 100 on, three digits below.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let sign = if value < 0.0 { "−" } else { "" };
    let size = value.abs();
    let text = match size {
        s if s >= 1e18 => format!("{s:.2e}"),
        s if s >= 99.95 => count(s.round() as u64),
        s if s >= 9.995 => trimmed(format!("{s:.1}")),
        s if s >= 0.9995 || s == 0.0 => trimmed(format!("{s:.2}")),
        s if s >= 0.001 => trimmed(format!("{s:.3}")),
        s => format!("{s:.0e}"),
    };
    format!("{sign}{text}")
}

fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Why frames have no rate, where they have none.
pub fn no_rate(result: &RunResult) -> Option<&'static str> {
    let packets = result.packets.as_ref().filter(|_| result.rate.duration_s == 0.0)?;
    let only_received = matches!(packets.command.as_str(), "capture" | "gaps");
    match result.totals.offered {
        1 => Some("one frame alone has none"),
        2.. if only_received => Some("unknown: the timestamps are missing or do not increase"),
        _ => None,
    }
}

/// `19 998/s`.
pub fn rate(per_second: f64) -> String {
    format!("{}/s", number(per_second))
}

/// `10 Gbit/s`, `1.23 Mbit/s`, `640 bit/s`: powers of 1000, three digits.
pub fn bits_per_second(bits: f64) -> String {
    if !bits.is_finite() {
        return "–".to_owned();
    }
    // What would be printed as 1000 is the next unit's 1.
    let (scale, unit) = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]
        .into_iter()
        .find(|(scale, _)| bits.abs() >= scale * 0.9995)
        .unwrap_or((1.0, ""));
    format!("{} {unit}bit/s", number(bits / scale))
}

/// `43 %`, `0.12 %`, `99.998 %`: never rounded up to 100 % or down to 0 %.
pub fn share(share: f64) -> String {
    if !share.is_finite() {
        return "–".to_owned();
    }
    let percent = share * 100.0;
    let text = match percent {
        p if p == 0.0 || p == 100.0 => format!("{p:.0}"),
        p if p < 0.001 => "< 0.001".to_owned(),
        p if p < 1.0 => trimmed(format!("{p:.3}")),
        p if !(99.0..=100.0).contains(&p) => trimmed(format!("{p:.1}")),
        p if p < 99.999 => trimmed(format!("{p:.3}")),
        _ => "> 99.999".to_owned(),
    };
    format!("{text} %")
}

/// The same of what may be below zero: `-9.5 %`.
pub fn signed_share(value: f64) -> String {
    if value < 0.0 { format!("-{}", share(-value).trim_start_matches("< ")) } else { share(value) }
}

/// A value of a criterion or threshold in its unit.
pub fn in_unit(value: f64, unit: &str) -> String {
    match unit {
        "ns" if value < 0.0 && value.is_finite() => format!("−{}", time_f64(-value)),
        "ns" if value.is_finite() => time_f64(value),
        "s" if value.is_finite() => seconds(value),
        "share" | "ratio" => share(value),
        "bytes" if value.is_finite() => bytes(value.max(0.0).round() as u64),
        "/s" => rate(value),
        "bytes/s" if value.is_finite() => format!("{}/s", bytes(value.max(0.0).round() as u64)),
        "count" | "" => number(value),
        other => format!("{} {other}", number(value)),
    }
}

/// A percentile of a distribution (its share of all values, 1 for the largest): `≥ 5.50 s` where it is a lower
/// bound, a dash where nothing is known.
pub fn percentile(figures: &Distribution, share: f64, nanos: u64) -> String {
    match (figures.says_nothing(), figures.is_bound(share)) {
        (true, _) => "–".to_owned(),
        (false, true) => format!("≥ {}", time(nanos)),
        (false, false) => time(nanos),
    }
}

/// Whether the run was one in which net and tare were recorded; older ones have the latency alone.
pub fn has_net(result: &RunResult) -> bool {
    !result.net_ns.says_nothing()
}

/// The value of a threshold in its unit, `≥ ` before it where it is a lower bound.
pub fn threshold_number(threshold: &store::schema::Threshold, value: f64) -> String {
    let least = if threshold.is_bound { "≥ " } else { "" };
    format!("{least}{}", in_unit(value, &threshold.unit))
}

/// `81.0 ms`, `81.0 ms in the 10 s until 24 s`: the value of a threshold that decided.
pub fn threshold_value(threshold: &store::schema::Threshold) -> String {
    let Some(value) = threshold.value else { return "nothing to measure".to_owned() };
    let value = threshold_number(threshold, value);
    match (threshold.window_s, threshold.at_s) {
        (Some(window), Some(at)) => format!("{value} in the {} until {}", seconds(window), seconds(at)),
        (None, Some(at)) => format!("{value} after {}", seconds(at)),
        _ => value,
    }
}

/// `at most 50.0 µs`.
pub fn limit(limit: f64, criterion: &store::schema::Criterion) -> String {
    let side = match criterion.sense {
        store::schema::Sense::AtMost => "at most",
        store::schema::Sense::AtLeast => "at least",
    };
    format!("{side} {}", in_unit(limit, &criterion.unit))
}

/// What an outcome means, in a few words; empty where the key says it all.
pub fn outcome(row: &OutcomeCount) -> &'static str {
    match row.outcome() {
        Some(Outcome::CutOff) => "on its way when the run ended",
        Some(Outcome::Failed(cause)) => failure(cause),
        Some(Outcome::Missed(why)) => miss(why),
        Some(Outcome::Frame(fate)) => match fate {
            Fate::Sent => "handed over to the port",
            Fate::Received => "arrived, counted and released",
            Fate::Forwarded => "passed on to the other port",
            Fate::Filtered => "stopped by a rule",
        },
        Some(Outcome::Status(_)) | None => "",
    }
}

const fn failure(cause: Cause) -> &'static str {
    match cause {
        Cause::Lookup => "the name has no address",
        Cause::LookupTimeout => "no answer from the name server in time",
        Cause::ConnectRefused => "nothing listens there",
        Cause::ConnectReset => "reset while connecting",
        Cause::ConnectUnreachable => "no route to the target",
        Cause::ConnectTimeout => "no connection in time",
        Cause::ConnectOther => "could not connect",
        Cause::ProxyRefused => "the proxy refused to connect",
        Cause::TlsAlert => "the target ended the handshake with an alert",
        Cause::TlsCertificate => {
            "the certificate is not trusted; give --ca FILE, or --insecure to accept any"
        }
        Cause::TlsProtocol => "the handshake broke TLS",
        Cause::TlsClosed => "closed during the handshake",
        Cause::TlsTimeout => "no handshake in time",
        Cause::SendReset => "reset while sending",
        Cause::SendTimeout => "could not be sent in time",
        Cause::FirstByteReset => "reset before the response",
        Cause::FirstByteClosed => "closed before the response",
        Cause::FirstByteTimeout => "no response in time",
        Cause::FirstByteTls => "TLS broke before the response",
        Cause::BodyReset => "reset during the response",
        Cause::BodyClosed => "closed during the response",
        Cause::BodyTimeout => "response not complete in time",
        Cause::BodyTls => "TLS broke during the response",
        Cause::FramingHead => "the response's head is not HTTP",
        Cause::FramingHeadTooLarge => "the response's head is too large",
        Cause::FramingLength => "the response's length is wrong",
        Cause::FramingChunk => "a chunk of the response is wrong",
        Cause::FramingUnasked => "unrequested bytes",
        Cause::FramingHole => "headers out of order, which the module does not read",
        Cause::BodyTruncated => "TLS ended without close_notify, so the body may be cut off",
        Cause::PipelineClosed => "behind a request that failed with the connection",
        Cause::ReuseClosed => "the idle connection was closed as the request left",
        Cause::ExpectStatus => "another status than expected",
        Cause::ExpectBody => "another body than expected",
        Cause::ExpectChecksum => "another checksum than expected",
        Cause::RedirectLimit => "too many redirects",
        Cause::RedirectBad => "a redirect that leads nowhere",
        Cause::RedirectTls => "a redirect to https, with no authority to trust",
        Cause::SocketOther => "another error of the socket",
        Cause::LinkDown => "the interface was down or gone",
        Cause::PortRefused => "the port took it, and it did not leave",
        Cause::PortLate => "too late for its launch time, and dropped",
        Cause::FrameTooLong => "longer than the interface takes",
    }
}

const fn miss(why: Miss) -> &'static str {
    match why {
        Miss::NoConnection => "every connection was busy for too long",
        Miss::NoPort => "no local port was free",
        Miss::NoDescriptor => "no descriptor was free",
        Miss::NoMemory => "no memory for a socket",
        Miss::NotReached => "the generator did not get to it",
        Miss::BadLine => "the line of the URL file is not a request",
        Miss::SourceLost => "the URL or --at file shrank",
        Miss::PortFull => "the port had no room until the run ended",
        Miss::ReceiverFull => "arrived, and lost before it was seen: the receiver was too slow",
    }
}

/// The code, cause or reason of an outcome, as people read it.
pub fn outcome_key(row: &OutcomeCount) -> &str {
    if row.is(OutcomeClass::CutOff) { "cut off" } else { &row.key }
}

/// The same where it is shown as it is.
pub fn outcome_name(row: &OutcomeCount) -> String {
    printable(outcome_key(row))
}

/// That names were put together in the last group, if they were.
pub fn folded(result: &store::RunResult) -> Option<String> {
    result.names_folded.then(|| {
        format!(
            "'{}' has the requests of all names after the first {}: figures are kept for no more",
            Group::OTHER,
            Group::MOST_NAMES
        )
    })
}

/// Why the target could not be reached, if it could not: the most frequent failure. The generator is then not
/// the matter, and its advice would lead astray.
pub fn unreachable(result: &store::RunResult) -> Option<String> {
    if !result.is_unreachable() {
        return None;
    }
    let failures = result.outcomes.iter().filter(|row| row.is(OutcomeClass::Error));
    let said = failures.max_by_key(|row| row.count).map_or_else(
        || "no response arrived".to_owned(),
        |row| match outcome(row) {
            "" => printable(&row.key),
            words => format!("{words} ({})", row.key),
        },
    );
    Some(format!("the target could not be reached: {said}"))
}

/// What the verdict says, in a sentence.
pub fn verdict(result: &store::RunResult) -> String {
    let verdict = &result.verdict;
    let (said, all) = (verdict_briefly(result), verdict.criteria.len());
    let all_hold = all > 0 && verdict.criteria.iter().all(|criterion| criterion.holds);
    if verdict.word == store::schema::Word::Valid && all_hold {
        return format!("{said}: all {all} criteria hold");
    }
    said.to_owned()
}

/// The same, without a count.
pub fn verdict_briefly(result: &store::RunResult) -> &'static str {
    use store::schema::Word;
    let verdict = &result.verdict;
    // Without responses, no latency can hold.
    let without_response = result.totals.done == 0 && result.totals.offered > 0;
    let fails =
        |id: CriterionId| verdict.criteria.iter().any(|criterion| !criterion.holds && criterion.name == id);
    match verdict.word {
        Word::Valid if without_response => "the generator kept up, but no response arrived",
        Word::Degraded if without_response => "no response arrived; the outcomes hold, with the stated doubt",
        Word::Valid => "the generator kept up",
        Word::Degraded => "the figures hold, with the stated doubt",
        Word::Invalid if fails(CriterionId::Finished) && !result.partial => {
            "no verdict is kept here: the run's own folder has it"
        }
        Word::Invalid if fails(CriterionId::Finished) => {
            "this run left no result: it was killed, or could not store it"
        }
        Word::Invalid if fails(CriterionId::ResultReadable) => "the verdict of this run is lost",
        Word::Invalid if fails(CriterionId::GapsMeasured) => "no gap was measured",
        Word::Invalid if verdict.criteria.iter().all(|criterion| criterion.holds) => {
            "nothing was judged: the figures say nothing about the target"
        }
        Word::Invalid => "the generator, not the target, limited this run",
    }
}

/// The text with characters that steer a terminal, or cannot be seen, shown as `·`: names come from files.
pub fn printable(text: &str) -> String {
    let is_odd = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|letter| if is_odd(letter) { '·' } else { letter }).collect()
}

/// Lines of at most `width` characters, broken at spaces.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace().map(printable) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// What stands in the place of the times where there are none.
pub fn no_times(result: &RunResult) -> &'static str {
    match (result.totals.sent, result.totals.done) {
        (0, _) => "Nothing left the generator, so no time was measured.",
        (_, 0) => "No time was measured.",
        _ if result.packets.is_some() => "Frames of this run were not timed one by one.",
        _ => "The times of this run are lost; the notes say why.",
    }
}

/// What stands in the place of the latency where there is none.
pub fn no_latency(result: &RunResult) -> &'static str {
    if result.totals.done == 0 { "no response arrived" } else { "lost; the notes say why" }
}

#[cfg(test)]
mod tests;
