//! The line that a terminal shows while a run is under way.

use crate::style::{Ink, Style};
use crate::words::{self, count};
use store::schema::Interval;
use units::Picos;

/// What the line tells.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    /// The last whole interval.
    pub row: &'a Interval,
    /// Since the run's origin.
    pub elapsed: Picos,
    /// Until the stop rule holds; `None` if that cannot be known (a number of requests in a closed loop).
    pub left: Option<Picos>,
    /// Failed, or answered with a status of 400 or more, since the beginning.
    pub errors: u64,
    /// Never left; shown if there are any.
    pub missed: u64,
    pub is_warmup: bool,
    /// The load is made of frames: nobody answers them.
    pub is_frames: bool,
    /// Its time is not the wall's.
    pub is_simulated: bool,
}

/// One line without a newline, at most `style.width()` columns.
pub fn progress_line(progress: &Progress<'_>, style: Style) -> String {
    let (plain, errors) = if progress.is_frames { frames(progress) } else { requests(progress) };
    let tail = match (progress.is_warmup, progress.left) {
        (true, _) => "warm-up".to_owned(),
        (false, Some(left)) if progress.is_simulated => format!("{} left (sim)", clock(left)),
        (false, Some(left)) => format!("{} left", clock(left)),
        (false, None) => String::new(),
    };
    let ink = if progress.errors + progress.missed > 0 { Ink::Bad } else { Ink::Quiet };
    let length = plain.chars().count() + errors.chars().count() + tail.chars().count() + 4;
    if length > style.width() {
        return format!("{plain}  {}", style.paint(ink, &errors));
    }
    format!("{plain}  {}  {}", style.paint(ink, &errors), style.paint(Ink::Quiet, &tail))
        .trim_end()
        .to_owned()
}

/// Rates, times and levels of requests, and what went wrong with them.
fn requests(progress: &Progress<'_>) -> (String, String) {
    let row = progress.row;
    let plain = format!(
        "{:>8}  {:>10}  net p50 {:>7}  p99 {:>7}  gross {:>7}  open {}",
        clock(progress.elapsed),
        words::rate(per_second(row, row.done + row.warmup)),
        time(row.net_p50_ns),
        time(row.net_p99_ns),
        time(row.latency_p99_ns),
        count(row.open),
    );
    let missed =
        if progress.missed > 0 { format!("  missed {}", count(progress.missed)) } else { String::new() };
    (plain, format!("errors {}{missed}", count(progress.errors)))
}

/// Of frames: how many, how much, how late. Those that only came have no lateness.
fn frames(progress: &Progress<'_>) -> (String, String) {
    let row = progress.row;
    let bytes = row.bytes_out.max(row.bytes_in);
    let mut plain = format!(
        "{:>8}  {:>10} frames/s  {:>11}",
        clock(progress.elapsed),
        words::number(per_second(row, row.done + row.warmup)),
        words::bits_per_second(per_second(row, bytes.saturating_mul(8))),
    );
    if row.lateness_p99_ns.is_some() {
        plain +=
            &format!("  late p50 {:>7}  p99 {:>7}", time(row.lateness_p50_ns), time(row.lateness_p99_ns));
    }
    let missed =
        if progress.missed > 0 { format!("  missed {}", count(progress.missed)) } else { String::new() };
    (plain, format!("lost {}{missed}", count(progress.errors)))
}

fn per_second(row: &Interval, number: u64) -> f64 {
    if row.length_s > 0.0 { number as f64 / row.length_s } else { 0.0 }
}

fn time(nanos: Option<u64>) -> String {
    nanos.map_or_else(|| "–".to_owned(), words::time)
}

/// `9 s`, `1:05 min`, `2:00:07 h`: whole seconds.
fn clock(time: Picos) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds {
        s if s < 60 => format!("{s} s"),
        s if s < 3600 => format!("{}:{:02} min", s / 60, s % 60),
        s => format!("{}:{:02}:{:02} h", s / 3600, s / 60 % 60, s % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_tells_what_matters() {
        let row = Interval {
            length_s: 1.0,
            done: 20_001,
            net_p50_ns: Some(1_020_000),
            net_p99_ns: Some(2_310_000),
            latency_p50_ns: Some(1_030_000),
            latency_p99_ns: Some(2_480_000),
            open: 64,
            ..Interval::default()
        };
        let progress = Progress {
            row: &row,
            elapsed: Picos::from_secs(12),
            left: Some(Picos::from_secs(65)),
            errors: 3,
            missed: 0,
            is_warmup: false,
            is_frames: false,
            is_simulated: false,
        };
        assert_eq!(
            progress_line(&progress, Style::PLAIN),
            "    12 s    20 001/s  net p50 1.02 ms  p99 2.31 ms  gross 2.48 ms  open 64  errors 3  1:05 min left"
        );
        let narrow = progress_line(&progress, Style::PLAIN.with_width(80));
        assert!(narrow.ends_with("open 64  errors 3"), "{narrow}");
        let missed = Progress { missed: 12, left: None, ..progress.clone() };
        assert!(progress_line(&missed, Style::PLAIN).ends_with("errors 3  missed 12"));
        let nothing =
            Progress { row: &Interval::default(), left: None, errors: 0, is_warmup: true, ..progress };
        assert!(
            progress_line(&nothing, Style::PLAIN)
                .ends_with("net p50       –  p99       –  gross       –  open 0  errors 0  warm-up")
        );
    }

    #[test]
    fn frames_have_a_line_of_their_own() {
        // 10 000 frames of 60 bytes in a second: 4.8 Mbit/s.
        let row = Interval {
            length_s: 1.0,
            done: 10_000,
            bytes_out: 600_000,
            lateness_p50_ns: Some(310),
            lateness_p99_ns: Some(1_200),
            ..Interval::default()
        };
        let progress = Progress {
            row: &row,
            elapsed: Picos::from_secs(3),
            left: Some(Picos::from_secs(7)),
            errors: 2,
            missed: 0,
            is_warmup: false,
            is_frames: true,
            is_simulated: false,
        };
        assert_eq!(
            progress_line(&progress, Style::PLAIN),
            "     3 s      10 000 frames/s   4.8 Mbit/s  late p50  310 ns  p99 1.20 µs  lost 2  7 s left"
        );
        let simulated = Progress { is_simulated: true, ..progress.clone() };
        assert!(progress_line(&simulated, Style::PLAIN).ends_with("  7 s left (sim)"));
        let row = Interval { done: 10_000, bytes_in: 600_000, length_s: 1.0, ..Interval::default() };
        let received = Progress { row: &row, errors: 0, left: None, ..progress };
        assert_eq!(
            progress_line(&received, Style::PLAIN),
            "     3 s      10 000 frames/s   4.8 Mbit/s  lost 0"
        );
    }
}
