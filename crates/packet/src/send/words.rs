//! What a run is, in words for people.

use super::source::Recording;
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

/// `64-byte frames, 1000000/s for 10 s`.
pub fn of_load(plan: &SendPlan, template: &Template, rate: Option<Rate>, length: Option<Picos>) -> String {
    let how = match (&plan.pace, rate) {
        (Pace::Max, _) => "as fast as they go".to_owned(),
        (Pace::Gap(gap), _) => format!("one every {gap:#}"),
        (Pace::Gaps(file), _) => format!("gaps of {}", file.display()),
        (Pace::Replay { file, speed }, _) => format!("at the times of {} × {speed}", file.display()),
        (_, Some(rate)) => rate.to_string(),
        (_, None) => String::new(),
    };
    let bursts = if plan.burst > 1 { format!(" in bursts of {}", plan.burst) } else { String::new() };
    let count = plan.frames.map_or_else(String::new, |frames| format!("{frames} "));
    let time = match (plan.duration, length) {
        (Some(duration), _) => format!(" for {duration:#}"),
        (None, Some(length)) => format!(" ({length:#})"),
        (None, None) => String::new(),
    };
    format!("{count}{}-byte frames, {how}{bursts}{time}", sizes(template))
}

/// What is to be known of a recording before it is replayed.
pub fn of_recording(recording: &Recording) -> Vec<String> {
    let mut notes = Vec::new();
    if recording.backward > 0 {
        notes.push(format!(
            "{} frames of the recording are stamped before the frame in front of them: they leave together with it",
            recording.backward
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
pub fn of_spin(asked: Spin, chosen: Spin, threads: u32) -> (String, String, String) {
    let (word, why) = match (asked, chosen) {
        (Spin::Always, _) => ("yes, always", "it was asked for".to_owned()),
        (Spin::Never, _) => ("no", "it was asked for".to_owned()),
        (Spin::Auto, Spin::Never) => (
            "no",
            format!("{threads} threads have fewer CPUs than that: spinning would keep them from each other"),
        ),
        _ => ("yes", "the last stretch to each due time, where every thread has a CPU".to_owned()),
    };
    ("spin".to_owned(), word.to_owned(), why)
}
