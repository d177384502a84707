//! What `tare weigh` found, as people read it.
//!
//! ```text
//! Weighing ─┬► text        tables for the terminal
//!           ├► like_study  the tables of the study of load capability
//!           ├► html        a page: curves, the map, time series
//!           └► svg         the map as a picture of its own
//! Requests ─┬► text        what `tare weigh http` found
//!           └► json
//! ```

mod charts;
mod page;
mod picture;
mod requests;
mod study;
mod tables;

pub use page::html;
pub use picture::svg;
pub use requests::{Requests, RequestsOfKind, saturated, tried};
pub use study::like_study;
pub use tables::{markdown, text};

use crate::words;
use store::weighing::{Claim, Packets, Stamps};

/// Where a figure would be, and what is said if no trial counts.
const NONE: &str = "–";
const NO_FIGURES: &str = "no trial counts, so there are no figures; the remarks say why";

/// Nanoseconds as microseconds, as the study gives them.
fn micros(nanos: f64) -> String {
    let micros = nanos / 1e3;
    if micros >= 100.0 { format!("{micros:.1}") } else { format!("{micros:.3}") }
}

/// `1.21 µs ± 0.02`, or without its interval. One that reaches below zero, where no time is, is told by its
/// ends.
fn time_claim(claim: &Claim) -> String {
    match claim.half() {
        Some(_) if reaches_zero(claim) => {
            format!("{} µs (0 to {})", micros(claim.estimate), micros(claim.high.unwrap_or_default()))
        }
        Some(half) => format!("{} ± {} µs", micros(claim.estimate), micros(half)),
        None => format!("{} µs", micros(claim.estimate)),
    }
}

/// `612k/s ± 1.2 %`, or by its ends if it reaches below zero.
fn rate_claim(claim: &Claim) -> String {
    let rate = format!("{}/s", words::number(claim.estimate));
    match claim.half() {
        Some(_) if reaches_zero(claim) => {
            format!("{rate} (0 to {})", words::number(claim.high.unwrap_or_default()))
        }
        Some(half) if claim.estimate > 0.0 => {
            format!("{rate} ± {}", words::share(half / claim.estimate))
        }
        _ => rate,
    }
}

fn reaches_zero(claim: &Claim) -> bool {
    claim.estimate > 0.0 && claim.low.is_some_and(|low| low <= 0.0)
}

/// What of each time is the stamp's own, where that is known.
fn stamps_own(stamps: &Stamps) -> String {
    let own = |late| {
        format!(
            "; {} µs of each time are due to the timestamp itself, by the tracepoint net_dev_start_xmit: the \
             kernel copies a packet before it timestamps it",
            micros(late)
        )
    };
    stamps.late_ns.map_or(String::new(), own)
}

/// `udp, 64 B`; `fpga:sim, 64 B, simulated`.
fn name(port: &str, size: usize, is_simulated: bool) -> String {
    format!("{port}, {size} B{}", if is_simulated { ", simulated" } else { "" })
}

/// Of who sends: none where a module's hardware does.
fn threads(found: &Packets) -> String {
    if found.threads == 0 { NONE.to_owned() } else { found.threads.to_string() }
}

/// A share that may not be known.
fn share(share: Option<f64>) -> String {
    share.map_or_else(|| NONE.to_owned(), words::share)
}

/// 1/t, unless a packet takes no time.
fn theoretical(found: &Packets) -> String {
    let per_s = found.theoretical_per_s;
    if per_s > 0.0 { format!("{}/s", words::number(per_s)) } else { NONE.to_owned() }
}

/// Why 1/t is not the rate that was achieved.
fn why_they_differ(found: &Packets) -> String {
    if found.overall.trials == 0 {
        return NO_FIGURES.to_owned();
    }
    let (theory, achieved) = (found.theoretical_per_s, found.peak.rate_per_s.estimate);
    if found.threads == 0 {
        return of_hardware(found, achieved);
    }
    let waits = "t, from hand-over to stamp, includes waiting (for the CPU, a lock, a queue)";
    if theory >= achieved {
        format!(
            "1/t is {}/s and {}/s were achieved: a packet costs its sender more than t, which ends at the stamp (the way back from the call, making the next packet); {waits}",
            words::number(theory),
            words::number(achieved)
        )
    } else {
        format!(
            "1/t is {}/s and {}/s were achieved: {waits}, and packets of one call, or of several threads, are \
             in flight at the same time: their times overlap",
            words::number(theory),
            words::number(achieved)
        )
    }
}

/// The same of a module, whose hardware makes the frames.
fn of_hardware(found: &Packets, achieved: f64) -> String {
    let time = if found.simulated { " in simulated time" } else { "" };
    let theory = match found.theoretical_per_s > 0.0 {
        true => format!("1/t is {}/s and ", words::number(found.theoretical_per_s)),
        false => String::new(),
    };
    let end = match found.stamps.method.as_str() {
        "module" => "the module's gate in front of the wire",
        _ => "the start of its preamble on the wire",
    };
    format!(
        "{theory}{}/s were achieved{time}: the wire is the limit, not t, which is from the tick in which a frame \
         was due to {end}",
        words::number(achieved)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_interval_reaches_below_zero() {
        let claim = |estimate: f64, half: f64| Claim {
            estimate,
            low: Some(estimate - half),
            high: Some(estimate + half),
            ..Claim::default()
        };
        assert_eq!(rate_claim(&claim(66_000.0, 1_320.0)), "66 000/s ± 2 %");
        assert_eq!(rate_claim(&claim(66_000.0, 172_000.0)), "66 000/s (0 to 238 000)");
        assert_eq!(time_claim(&claim(2_000.0, 500.0)), "2.000 ± 0.500 µs");
        assert_eq!(time_claim(&claim(2_000.0, 5_000.0)), "2.000 µs (0 to 7.000)");
    }
}
