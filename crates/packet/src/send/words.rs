//! What a run is, in words for people.

use super::source::Recording;
use clock::priority::Grant;
use measure::packets::ReceivedReport;
use plan::Spin;
use plan::packets::send::{Pace, SendPlan};
use port::FCS;
use units::{Picos, Rate};
use wire::Template;

/// Frames whose sizes are looked at.
const LOOKED_AT: u64 = 4_096;

/// `64`, or `64..1518` where sizes differ; FCS counted.
pub fn sizes(template: &Template) -> String {
    let sizes = (0..LOOKED_AT).map(|seq| template.length(seq) + FCS);
    let (least, most) = sizes.fold((usize::MAX, 0), |(least, most), size| (least.min(size), most.max(size)));
    if least == most { least.to_string() } else { format!("{least}..{most}") }
}

/// `64-byte frames, 1 000 000/s for 10 s`.
pub fn of_load(plan: &SendPlan, template: &Template, rate: Option<Rate>, length: Option<Picos>) -> String {
    let how = match (&plan.pace, rate) {
        (Pace::Max, _) => "as fast as they go".to_owned(),
        (Pace::Gap(gap), _) => format!("one every {gap:#}"),
        (Pace::Gaps(file), _) => format!("gaps of {}", file.display()),
        (Pace::Replay { file, speed }, _) => format!("at the times of {} × {speed}", file.display()),
        (Pace::Bits { per_second, on_wire }, Some(rate)) => {
            format!("{} ({})", bits(*per_second, *on_wire), grouped(&rate_in_words(rate)))
        }
        (_, Some(rate)) => grouped(&rate_in_words(rate)),
        (_, None) => String::new(),
    };
    let bursts = if plan.burst > 1 { format!(" in bursts of {}", plan.burst) } else { String::new() };
    let count = plan.frames.map_or_else(String::new, |frames| format!("{} ", grouped(&frames.to_string())));
    let time = match (plan.duration, length) {
        (Some(duration), _) => format!(" for {duration:#}"),
        (None, Some(length)) => format!(" ({length:#})"),
        (None, None) => String::new(),
    };
    format!("{count}{}-byte frames, {how}{bursts}{time}", sizes(template))
}

/// `10 Gbit/s`; what is counted is told where it is not all that is on the wire.
fn bits(per_second: u64, on_wire: bool) -> String {
    let units = [(1_000_000_000, "Gbit/s"), (1_000_000, "Mbit/s"), (1_000, "kbit/s"), (1, "bit/s")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| per_second >= *scale).unwrap_or((1, "bit/s"));
    let layer = if on_wire { "" } else { " of frames" };
    format!("{} {unit}{layer}", (per_second as f64 / scale as f64 * 1e3).round() / 1e3)
}

/// `1000000/s`; where it is no whole number, rounded.
fn rate_in_words(rate: Rate) -> String {
    let exact = rate.to_string();
    match exact.strip_suffix("/s") {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => exact,
        _ => {
            let per_second = rate.as_per_second_f64();
            if per_second >= 100.0 { format!("{per_second:.0}/s") } else { format!("{per_second:.3}/s") }
        }
    }
}

/// `1 000 000/s`: the digits that the text begins with, in threes.
fn grouped(text: &str) -> String {
    let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out + rest
}

/// What is to be known of a recording before it is replayed.
pub fn of_recording(recording: &Recording) -> Vec<String> {
    let mut notes = Vec::new();
    if recording.backward > 0 {
        notes.push(format!(
            "{} frames of the recording are stamped before a frame in front of them: they leave together with it",
            recording.backward
        ));
    }
    if recording.interfaces > 1 {
        notes.push(format!(
            "the file has frames of {} interfaces: all leave here, one after the other",
            recording.interfaces
        ));
    }
    if recording.cut > 0 {
        notes.push(format!(
            "{} frames of the recording were cut off when captured: they leave as they were kept",
            recording.cut
        ));
    }
    notes
}

/// How threads wait: what, chosen, why.
pub fn of_spin(asked: Spin, crowded: Option<&str>) -> (String, String, String) {
    let (word, why) = match (asked, crowded) {
        (Spin::Always, _) => ("yes, always", "it was asked for".to_owned()),
        (Spin::Never, _) => ("no", "it was asked for".to_owned()),
        (Spin::Auto, Some(why)) => ("no", why.to_owned()),
        _ => ("yes", "the last stretch to each due time, where every thread has a CPU".to_owned()),
    };
    ("spin".to_owned(), word.to_owned(), why)
}

/// Which priority threads have: what, chosen, why.
pub fn of_priority(grant: &Grant) -> (String, String, String) {
    ("priority".to_owned(), grant.level.words(), grant.why.clone())
}

/// How long was waited for frames where some may still come.
pub fn of_waiting(received: &ReceivedReport, longest: Picos) -> Option<String> {
    let waited = Picos::from_secs_f64(received.waited_s?);
    let slowest = match longest.is_zero() {
        true => "none came that could tell how long they take".to_owned(),
        false => format!("the slowest that came took {longest:#}"),
    };
    (received.outstanding > 0).then(|| {
        format!(
            "{} frames had not come {waited:#} after the last left, and may still come ({slowest}): they are not counted as lost; a longer --drain tells",
            received.outstanding
        )
    })
}

/// Losses of this machine's own ports.
pub fn of_own_losses(received: &ReceivedReport) -> Option<String> {
    (received.lost_here > 0).then(|| {
        format!(
            "of the frames that did not arrive, {} were lost by this machine's own ports, as those count: they are no loss of the target's",
            received.lost_here
        )
    })
}

/// What is to be said where a port did not tell of all frames when they left.
pub fn of_untold(frames: u64) -> Option<String> {
    (frames > 0).then(|| {
        format!("{frames} frames left, but the port did not tell when: they are in the totals, and in no figure of time")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_threes_and_speeds_have_their_unit() {
        let all = ["7/s", "999/s", "1000/s", "14880952/s", "0.5/s"].map(grouped);
        assert_eq!(all, ["7/s", "999/s", "1 000/s", "14 880 952/s", "0.5/s"]);
        assert_eq!(
            [bits(10_000_000_000, true), bits(2_500_000, false)],
            ["10 Gbit/s", "2.5 Mbit/s of frames"]
        );
        // 10⁷ frames in 672 s.
        let odd = Rate::new(10_000_000, Picos::from_secs(672)).map(rate_in_words);
        assert_eq!(odd.as_deref(), Some("14881/s"));
    }
}
