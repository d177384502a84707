//! What a run is, in words for people.

use super::source::Recording;
use super::tape::Odd;
use clock::priority::Grant;
use measure::packets::ReceivedReport;
use plan::packets::send::{Pace, SendPlan};
use plan::{Shape, Spin};
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

/// `64-byte frames, 1 000 000/s for 10 s`; those of a script are told as they are before it.
pub fn of_load(plan: &SendPlan, template: &Template, rate: Option<Rate>, length: Option<Picos>) -> String {
    let how = match (&plan.pace, rate) {
        (Pace::Max, _) => "as fast as they go".to_owned(),
        (Pace::Gap(gap), _) => format!("one every {gap:#}"),
        (Pace::Gaps(file), _) => format!("gaps of {}", file.display()),
        (Pace::Replay { file, speed }, _) => format!("at the times of {} × {speed}", file.display()),
        (Pace::Shape(shape), _) => of_shape(shape),
        (Pace::Streams, _) => {
            let names: Vec<&str> = plan.look.loads().iter().map(|load| load.name.as_str()).collect();
            format!("{} streams ({})", names.len(), names.join(", "))
        }
        (Pace::Bits { per_second, on_wire }, Some(rate)) => {
            format!("{} ({})", bits(*per_second, *on_wire), grouped(&rate_in_words(rate)))
        }
        (_, Some(rate)) => grouped(&rate_in_words(rate)),
        (_, None) => String::new(),
    };
    let how = if plan.poisson { format!("{how}, Poisson") } else { how };
    let bursts = if plan.burst > 1 { format!(" in bursts of {}", plan.burst) } else { String::new() };
    let count = plan.frames.map_or_else(String::new, |frames| format!("{} ", grouped(&frames.to_string())));
    let time = match (plan.duration, length) {
        (Some(duration), _) => format!(" for {duration:#}"),
        (None, Some(length)) => format!(" ({length:#})"),
        (None, None) => String::new(),
    };
    let by = plan.script.as_ref().map_or_else(String::new, |script| format!(" finished by {}", script.name));
    format!("{count}{}-byte frames{by}, {how}{bursts}{time}", sizes(template))
}

/// `ramp 100/s to 5 000/s in 30 s`.
fn of_shape(shape: &Shape) -> String {
    let rate = |rate: &Rate| grouped(&rate_in_words(*rate));
    match shape {
        Shape::Ramp { from, to, over } => format!("ramp {} to {} in {over:#}", rate(from), rate(to)),
        Shape::Step { from, by, every, to } => {
            format!("steps of {} every {every:#}, {} to {}", rate(by), rate(from), rate(to))
        }
        Shape::Stages(stages) => format!("{} stages", stages.len()),
        Shape::Sine { mean, amplitude, period } => {
            format!("sine {} \u{b1} {} every {period:#}", rate(mean), rate(amplitude))
        }
        _ => String::new(),
    }
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

/// What is to be known of a recording before it is replayed. Of one that is read while it is sent the end tells
/// more.
pub fn of_recording(recording: &Recording, has_times: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if recording.is_whole && has_times {
        notes.extend(of_stamps(recording.odd));
    }
    if recording.interfaces > 1 {
        notes.push(format!(
            "the file has frames of {} interfaces: all leave here, one after the other",
            recording.interfaces
        ));
    }
    if recording.is_whole {
        notes.extend(of_cut(recording.cut));
    }
    notes
}

/// Stamps that no clock gives one after another.
pub fn of_stamps(odd: Odd) -> Vec<String> {
    let Odd { backward, unstamped, ahead } = odd;
    let all = [
        (
            backward,
            "with a timestamp before the previous frame's",
            "frames leave in the file's order, and after a step back of more than 100 ms gaps go on from there",
        ),
        (unstamped, "without a timestamp (0 stands for none)", "they leave with the frame in front"),
        (
            ahead,
            "more than 100 days after the previous one",
            "a clock was set, so they leave with that one, and gaps go on from there",
        ),
    ];
    let told = all.iter().filter(|(count, ..)| *count > 0);
    told.map(|(count, what, then)| format!("frames of the recording {what}: {count}; {then}")).collect()
}

/// Changes that were asked for, and the load ended first.
pub fn of_late_changes(count: usize) -> Option<String> {
    (count > 0).then(|| {
        format!("changes that were requested just before the load ended, and never took effect: {count}")
    })
}

/// Numbers of signatures that several threads share, and that no frame had.
pub fn of_unused_numbers(count: u64) -> Option<String> {
    (count > 0).then(|| {
        format!(
            "{count} numbers of signatures never left this machine; a capture in another process counts them as lost"
        )
    })
}

/// Frames that were not kept whole.
pub fn of_cut(cut: u64) -> Option<String> {
    (cut > 0).then(|| {
        format!(
            "frames of the recording that were cut off when captured: {cut}; only the recorded bytes are sent"
        )
    })
}

/// Where frames of a recording come from that is larger than `most`: what, chosen, why.
pub fn of_tape(most: u64) -> (String, String, String) {
    let why = format!("it is larger than the {} MiB that may be kept in memory", most >> 20);
    ("recording".to_owned(), "read while it is sent".to_owned(), why)
}

/// How threads wait: what, chosen, why.
pub fn of_spin(asked: Spin, crowded: Option<&str>) -> (String, String, String) {
    let (word, why) = match (asked, crowded) {
        (Spin::Always, _) => ("yes, always", "it was asked for".to_owned()),
        (Spin::Never, _) => ("no", "it was asked for".to_owned()),
        (Spin::Auto, Some(why)) => ("no", why.to_owned()),
        _ => (
            "yes",
            "for the last stretch before each due time, where every thread has its own CPU".to_owned(),
        ),
    };
    ("spin".to_owned(), word.to_owned(), why)
}

/// How a script runs: what, chosen, why.
pub fn of_script(is_compiled: bool) -> (String, String, String) {
    let (chosen, why) = match is_compiled {
        true => ("compiled", "LuaJIT compiles its loops, which check whether the script must end"),
        false => (
            "interpreted",
            "LuaJIT was built without LUAJIT_ENABLE_CHECKHOOK: it could not end an endless loop that it compiled",
        ),
    };
    ("script".to_owned(), chosen.to_owned(), why.to_owned())
}

/// Which priority threads have: what, chosen, why.
pub fn of_priority(grant: &Grant) -> (String, String, String) {
    ("priority".to_owned(), grant.level.words(), grant.why.clone())
}

/// How long was waited for frames where some may still come.
pub fn of_waiting(received: &ReceivedReport, longest: Picos) -> Option<String> {
    let waited = Picos::from_secs_f64(received.waited_s?);
    let slowest = match longest.is_zero() {
        true => "none arrived, so their delay is unknown".to_owned(),
        false => format!("the slowest that arrived took {longest:#}"),
    };
    (received.outstanding > 0).then(|| {
        format!(
            "{} frames had not arrived {waited:#} after the last left, and may still arrive ({slowest}): they do not count as lost; use a longer --drain to find out",
            received.outstanding
        )
    })
}

/// Losses of this machine's own ports.
pub fn of_own_losses(received: &ReceivedReport) -> Option<String> {
    (received.lost_here > 0).then(|| {
        format!(
            "of the frames that did not arrive, this machine's own ports lost {}, by their own counters: these are not losses of the target",
            received.lost_here
        )
    })
}

/// Where the kernel lets frames go, what is written into them is when they are to go.
pub fn of_launches() -> String {
    "one-way times count from each frame's launch time; the gaps when frames left say how exactly it was kept"
        .to_owned()
}

/// What is to be said where a port did not tell of all frames when they left.
pub fn of_untold(frames: u64) -> Option<String> {
    (frames > 0).then(|| {
        format!("{frames} frames left, but the port did not report when: they are in the totals, but in no figure of time")
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
