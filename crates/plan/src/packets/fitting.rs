//! Which limits a load of frames can be held to: figures that only answers have are refused before anything is
//! sent.

use super::Command;
use crate::error::PlanError;
use crate::file::LimitsFile;
use crate::limits::{Figure, Limit, LimitError, LimitPlaces, Limits, Requests, Time};
use crate::table::Table;
use crate::typed::TypedList;
use units::{Cause, CausePart, Miss};

/// Whether departures have due times that each frame is held against: not as fast as it goes, nor where the
/// kernel makes the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    OfEachFrame,
    None,
}

/// Reads `[limits]`, as typed in a file or as flags.
///
/// # Errors
/// The expression that is wrong or has no meaning for this command, and what would be right.
pub(crate) fn limits(
    table: &Table<'_>,
    typed: &LimitsFile,
    command: Command,
    times: Times,
) -> Result<Limits, PlanError> {
    let list = |key: &str, list: &Option<TypedList>| {
        let all = list.iter().flat_map(|list| &list.0).enumerate();
        all.map(|(index, typed)| {
            let text = typed.as_str();
            let limit = text.parse().and_then(|limit: Limit| match misfit(&limit, command, times) {
                None => Ok(limit),
                Some((problem, expected)) => {
                    let end = text.trim_end().find(['<', '>']).unwrap_or(text.len());
                    Err(LimitError {
                        at: 0..text[..end].trim_end().len(),
                        text: text.to_owned(),
                        problem,
                        expected,
                    })
                }
            });
            limit.map_err(|error| PlanError::Limit {
                place: table.at(&format!("{key}[{index}]")),
                error: Box::new(error),
            })
        })
        .collect::<Result<Vec<_>, _>>()
    };
    Ok(Limits {
        fail_if: list("limits.fail_if", &typed.fail_if)?,
        abort_if: list("limits.abort_if", &typed.abort_if)?,
        places: places(table, typed),
    })
}

/// Where all of them were typed.
pub(crate) fn places(table: &Table<'_>, typed: &LimitsFile) -> LimitPlaces {
    let list = |key: &str, list: &Option<TypedList>| {
        let count = list.as_ref().map_or(0, |list| list.0.len());
        (0..count).map(|index| *table.at(&format!("{key}[{index}]"))).collect()
    };
    LimitPlaces {
        fail_if: list("limits.fail_if", &typed.fail_if),
        abort_if: list("limits.abort_if", &typed.abort_if),
    }
}

/// Why a figure is none of this command's, and what it has.
fn misfit(limit: &Limit, command: Command, times: Times) -> Option<(String, String)> {
    let has = times_of(command, times);
    let problem = match limit.figure {
        Figure::Time(time, _) if has.contains(&time) => return None,
        Figure::Time(Time::Lateness | Time::OwnLateness | Time::GapError, _) => {
            format!("here, tare {command} knows no due times of frames")
        }
        Figure::Time(time, _) => {
            format!("frames get no responses, so tare {command} has no {}", time.key())
        }
        Figure::Requests(Requests::Status(..)) => "frames have no status".to_owned(),
        Figure::Requests(Requests::Error(cause)) if !is_of_frames(cause) => {
            format!("no frame fails by {}", cause.key())
        }
        Figure::Requests(Requests::ErrorsIn(part)) if !is_part_of_frames(part) => {
            format!("no frame fails in {}", part.key())
        }
        Figure::Requests(Requests::MissedFor(why)) if !is_missed_by_frames(why) => {
            format!("no frame is {}", why.key())
        }
        _ => return None,
    };
    let times: Vec<&str> = has.iter().map(|time| time.key()).collect();
    let times = if times.is_empty() { String::new() } else { format!("{}, ", times.join(", ")) };
    Some((problem, format!("{times}achieved, offered, done, failed, missed, bytes_in or bytes_out")))
}

const fn times_of(command: Command, times: Times) -> &'static [Time] {
    match (command, times) {
        (Command::Send | Command::Pace, Times::OfEachFrame) => {
            &[Time::Lateness, Time::OwnLateness, Time::GapError]
        }
        (Command::Gaps, Times::OfEachFrame) => &[Time::GapError],
        _ => &[],
    }
}

const fn is_of_frames(cause: Cause) -> bool {
    matches!(cause, Cause::LinkDown | Cause::PortRefused | Cause::PortLate | Cause::FrameTooLong)
}

const fn is_part_of_frames(part: CausePart) -> bool {
    matches!(part, CausePart::Link | CausePart::Port | CausePart::Frame)
}

const fn is_missed_by_frames(why: Miss) -> bool {
    matches!(why, Miss::NotReached | Miss::PortFull | Miss::ReceiverFull)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::typed::Typed;

    fn judged(command: Command, times: Times, limit: &str) -> Result<Limits, String> {
        let fail_if = Some(TypedList(vec![Typed::from(limit)]));
        let typed = LimitsFile { fail_if, ..LimitsFile::default() };
        limits(&Table::new("send", None), &typed, command, times).map_err(|error| error.to_string())
    }

    #[test]
    fn what_frames_do_not_have_is_refused_with_what_they_have() {
        for (command, times, limit, said) in [
            (Command::Send, Times::OfEachFrame, "latency.p99 > 1ms", "frames get no responses"),
            (
                Command::Send,
                Times::OfEachFrame,
                "latency.p99 > 1ms",
                "lateness, own_lateness, gap_error, achieved",
            ),
            (Command::Send, Times::None, "lateness.p99 > 1ms", "no due times of frames"),
            (Command::Gaps, Times::None, "gap_error.p95 > 1us", "no due times of frames"),
            (Command::Capture, Times::OfEachFrame, "connect.max > 1ms", "tare capture has no connect"),
            (Command::Forward, Times::OfEachFrame, "status(5xx) > 0", "frames have no status"),
            (
                Command::Send,
                Times::OfEachFrame,
                "error(connect.refused) > 0",
                "no frame fails by connect.refused",
            ),
            (Command::Send, Times::OfEachFrame, "error(connect) > 0", "no frame fails in connect"),
            (Command::Send, Times::OfEachFrame, "missed(no_port) > 0", "no frame is missed.no_port"),
        ] {
            let error = judged(command, times, limit).unwrap_err();
            assert!(error.contains(said), "{limit}: {error}");
        }
        let error = judged(Command::Send, Times::OfEachFrame, "latency.p99 > 1ms").unwrap_err();
        assert!(error.ends_with("\n  latency.p99 > 1ms\n  ^^^^^^^^^^^"), "{error}");
    }

    #[test]
    fn what_frames_have_is_taken() {
        for (command, limit) in [
            (Command::Send, "gap_error.p95 > 1us"),
            (Command::Pace, "own_lateness.max > 1ms"),
            (Command::Gaps, "gap_error.p95 > 1us"),
            (Command::Capture, "missed(receiver_full) > 0"),
            (Command::Forward, "achieved < 5k/s"),
            (Command::Send, "error(link.down) > 1%"),
            (Command::Sweep, "failed > 0"),
        ] {
            assert!(judged(command, Times::OfEachFrame, limit).is_ok(), "{limit}");
        }
    }
}
