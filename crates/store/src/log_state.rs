//! What became of a run's `latency.hlog`, in words: figures that lack something must say so.

use crate::run_folder::HLOG;
use crate::schema::RunResult;
use crate::timeline::{Bin, Timeline};

/// How a log could be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogState {
    /// Whether there was a file.
    pub found: bool,
    /// Lines that could not be read; a last one that was cut off is not among them.
    pub damaged: u64,
}

impl LogState {
    /// What to say of a run whose times are all from the log; `last` answers were in its last interval, which
    /// may be missing there.
    pub fn of_rebuilt(self, result: &RunResult, last: u64) -> Option<String> {
        let (done, timed) = (result.totals.done, result.latency_ns.count);
        match self {
            Self { found: false, .. } if result.intervals.is_empty() => None,
            Self { found: false, .. } => {
                Some(format!("{HLOG} is missing: times of the whole run are not known"))
            }
            Self { damaged: 1.., .. } => {
                Some(format!("{}: times of the whole run are those of its other lines", self.is_damaged()))
            }
            // Frames that left have no latency, and of those that came back some may be lost.
            _ if result.engine == "http" && timed.saturating_add(last) < done => {
                Some(format!("{HLOG} is not whole: it has the times of {timed} of {done} responses"))
            }
            _ => None,
        }
    }

    /// What to say of a run that has its figures, drawn as `timeline` from rows and log.
    pub fn of_finished(self, result: &RunResult, timeline: &Timeline) -> Option<String> {
        let was_kept = result.store.kept.iter().any(|name| name == HLOG);
        if !was_kept && !self.found {
            return None;
        }
        let lacking = lacking(result, timeline);
        let what = match self {
            Self { found: false, .. } => {
                return Some(format!(
                    "{HLOG} is missing: there is no heat map, and percentiles over time are those of intervals"
                ));
            }
            Self { damaged: 1.., .. } => self.is_damaged(),
            _ if lacking.is_some() => format!("{HLOG} is not whole"),
            _ => return None,
        };
        Some(format!("{what}: {}", lacking.unwrap_or_else(|| "the heat map lacks nothing".to_owned())))
    }

    fn is_damaged(self) -> String {
        let lines = if self.damaged == 1 { "line" } else { "lines" };
        format!("{HLOG} is damaged ({} {lines})", self.damaged)
    }
}

/// Of the latencies that the result counts, what the picture does not have. Loads of frames have none unless
/// they receive, and then fewer than frames that left.
fn lacking(result: &RunResult, timeline: &Timeline) -> Option<String> {
    let timed = |bin: &Bin| bin.heat.iter().map(|cell| cell.count).fold(0, u64::saturating_add);
    let (all, there) = (result.latency_ns.count, timeline.bins.iter().map(|bin| timed(bin)));
    let missing = all.saturating_sub(there.fold(0, u64::saturating_add));
    if missing == 0 {
        return None;
    }
    let lacking = timeline.bins.iter().filter(|bin| timed(bin) < bin.row.done).count();
    Some(match all == result.totals.done {
        true => format!("the heat map lacks times in {lacking} of its {} steps", timeline.bins.len()),
        false => format!("the heat map lacks {missing} of {all} times"),
    })
}
