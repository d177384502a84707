//! What `tare demo` shows: what the target wrote down, what was expected and what was reported, side by side.

use std::fmt::Write;
use store::RunResult;
use store::schema::Word;
use units::{Picos, Rate};

/// What the demo sent, and what its target wrote down.
#[derive(Clone, Copy, Debug)]
pub struct KnownTruth {
    /// Requests a second.
    pub rate: u64,
    pub connections: u64,
    pub duration: Picos,
    /// How long the target stalled.
    pub stall: Picos,
    /// How long it took for a response otherwise.
    pub delay: Picos,
    /// By the target's own record: requests, the longest time without any, and how long it took for one.
    pub requests: u64,
    pub longest_gap_ns: u64,
    pub service_p99_ns: u64,
    /// By the same record: how far from the even schedule requests arrived, at two shares of them.
    pub late_p90_ns: u64,
    pub late_p99_ns: u64,
}

/// The latency that the schedule and the stall alone give at a share of all requests, in per mille, by nearest
/// rank. The request that is due `t` into the stall waits for the rest of it, so the k-th longest wait is that
/// of the k-th due: `stall − (k − 1) / rate`.
fn expected(rate: Rate, offered: u64, stall: Picos, per_mille: u64) -> Picos {
    let longer = offered - (offered * per_mille).div_ceil(1_000);
    stall.saturating_sub(rate.due(longer))
}

/// Truth and report side by side, and what to see in them.
pub fn demo(known: &KnownTruth, result: &RunResult, place: Option<&str>) -> String {
    let KnownTruth { connections, duration, stall, .. } = *known;
    let rate = Rate::per_second(known.rate).expect("the demo's rate is more than nothing");
    let offered = rate.events_before(duration);
    let due_in_stall = rate.events_before(stall);
    let truly = Picos::from_nanos(known.longest_gap_ns).as_secs_f64();
    let at_least = |per_mille| format!("≥ {}", said(expected(rate, offered, stall, per_mille)));
    let rows = [
        ("requests", offered.to_string(), known.requests.to_string(), result.totals.done.to_string()),
        ("latency p90", at_least(900), nanos(known.late_p90_ns), nanos(result.latency_ns.p90)),
        ("latency p99", at_least(990), nanos(known.late_p99_ns), nanos(result.latency_ns.p99)),
        ("latency max", format!("≥ {stall:#}"), nanos(known.longest_gap_ns), nanos(result.latency_ns.max)),
        (
            "service p99",
            format!("≥ {}", said(known.delay)),
            nanos(known.service_p99_ns),
            nanos(result.service_ns.p99),
        ),
    ];
    let mut text = format!("\n  {:<13}{:>12}{:>12}{:>12}\n", "Known truth", "expected", "target", "reported");
    for (name, expected, target, reported) in rows {
        writeln!(text, "  {name:<13}{expected:>12}{target:>12}{reported:>12}")
            .expect("a String takes any text");
    }
    write!(
        text,
        "
  By its own timestamps, the target accepted no request for {truly:.3} s. {due_in_stall} of the {offered}
  requests were due in that time and had to wait. The expected latency covers only
  the stall; catching up afterwards adds to it.

  Measured from the due times, the 99th percentile shows the stall: {p99}.
  Measured from the send times, it hides the stall: {service}. Only {connections} requests were in flight,
  one per connection. The others had not left yet, so a tool that measures from sending sees no stall.

  {verdict}

  Result       {place}
  Report       {page}
",
        p99 = nanos(result.latency_ns.p99),
        service = nanos(result.service_ns.p99),
        verdict = verdict_explained(result),
        place = place.unwrap_or("not kept"),
        page = place.map_or("nothing".to_owned(), |place| format!("{place}/report.html")),
    )
    .expect("a String takes any text");
    text
}

fn verdict_explained(result: &RunResult) -> &'static str {
    match result.verdict.word {
        Word::Valid => {
            "VALID: the generator kept its schedule throughout, so the stall is the target's, not its own."
        }
        Word::Degraded => {
            "DEGRADED: the figures hold, with the doubt stated above; often the cause is other work here."
        }
        Word::Invalid => {
            "INVALID: this machine was too busy to keep the schedule; stop its other work and try again."
        }
    }
}

fn said(time: Picos) -> String {
    format!("{time:#}")
}

fn nanos(nanos: u64) -> String {
    said(Picos::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_percentiles_follow_from_the_schedule() {
        // 16 000 requests; 1 % of them is 160, and the 161st of the stall is due 160 / 2 000 s = 80 ms into it.
        let rate = Rate::per_second(2_000).unwrap();
        let stall = Picos::from_secs(1);
        assert_eq!(expected(rate, 16_000, stall, 990), Picos::from_millis(920));
        assert_eq!(expected(rate, 16_000, stall, 900), Picos::from_millis(200));
        // The median lies outside the stall.
        assert_eq!(expected(rate, 16_000, stall, 500), Picos::ZERO);
    }
}
