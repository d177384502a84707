//! What became of a run's `latency.hlog`, in words: figures that lack something must say so.

use crate::run_folder::HLOG;
use crate::schema::RunResult;
use crate::timeline::Timeline;

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
            _ if timed.saturating_add(last) < done => {
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
        let lacking = timeline
            .bins
            .iter()
            .filter(|bin| bin.heat.iter().map(|cell| cell.count).fold(0, u64::saturating_add) < bin.row.done);
        let lacking = lacking.count();
        let what = match self {
            Self { found: false, .. } => {
                return Some(format!(
                    "{HLOG} is missing: there is no heat map, and percentiles over time are those of intervals"
                ));
            }
            Self { damaged: 1.., .. } => self.is_damaged(),
            _ if lacking > 0 => format!("{HLOG} is not whole"),
            _ => return None,
        };
        let all = timeline.bins.len();
        Some(format!("{what}: the heat map lacks times in {lacking} of its {all} steps"))
    }

    fn is_damaged(self) -> String {
        let lines = if self.damaged == 1 { "line" } else { "lines" };
        format!("{HLOG} is damaged ({} {lines})", self.damaged)
    }
}
