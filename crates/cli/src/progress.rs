//! What is shown while a run goes on: a line rewritten in place on a terminal, one line a second otherwise; or
//! http_load's own line each minute. Standard error only.

use crate::terminal::style;
use measure::IntervalRow;
use plan::Plan;
use report::{Style, percent_g};
use std::io::{IsTerminal, Write};
use store::schema::Interval;
use units::Picos;

/// http_load's `PROGRESS_SECS`.
const MINUTE: Picos = Picos::from_secs(60);

/// Which progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    #[default]
    Nothing,
    Line,
    /// http_load's `-verbose`.
    EachMinute,
}

/// See the module.
pub struct Progress {
    shown: Shown,
    on_terminal: bool,
    style: Style,
    warmup: Picos,
    whole: Option<Picos>,
    /// Sums over the run so far.
    started: u64,
    completed: u64,
    bad: u64,
    next_minute: Picos,
    dirty: bool,
}

impl Progress {
    pub fn new(plan: &Plan, shown: Shown) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        Self {
            shown,
            on_terminal,
            style: style(on_terminal),
            warmup: plan.stop.warmup,
            whole: plan.stop.duration.map(|duration| duration + plan.stop.warmup),
            started: 0,
            completed: 0,
            bad: 0,
            next_minute: MINUTE,
            dirty: false,
        }
    }

    /// Shows one interval.
    pub fn show(&mut self, row: &IntervalRow) {
        let Some(line) = self.line(row) else { return };
        let in_place = self.on_terminal && self.shown == Shown::Line;
        let mut err = std::io::stderr().lock();
        // Progress is a courtesy: a terminal that is gone does not end the run.
        let _ = match in_place {
            true => write!(err, "\r\x1b[2K{line}"),
            false => writeln!(err, "{line}"),
        };
        let _ = err.flush();
        self.dirty = in_place;
    }

    /// What is to be shown after this interval.
    fn line(&mut self, row: &IntervalRow) -> Option<String> {
        let tally = row.data.tally;
        self.started += row.gauges.offered;
        self.completed += tally.done + tally.failed;
        self.bad += tally.failed + tally.missed;
        let elapsed = row.start + row.length;
        match self.shown {
            Shown::Nothing => None,
            Shown::Line => Some(self.line_of(row, elapsed)),
            Shown::EachMinute if elapsed < self.next_minute => None,
            Shown::EachMinute => {
                while self.next_minute <= elapsed {
                    self.next_minute += MINUTE;
                }
                let seconds = percent_g(elapsed.as_secs_f64());
                let (started, completed, current) = (self.started, self.completed, row.gauges.open);
                Some(format!(
                    "--- {seconds} secs, {started} fetches started, {completed} completed, {current} current"
                ))
            }
        }
    }

    fn line_of(&self, row: &IntervalRow, elapsed: Picos) -> String {
        let progress = report::Progress {
            row: &Interval::from(row),
            elapsed,
            left: self.whole.map(|whole| whole - elapsed),
            bad: self.bad,
            is_warmup: elapsed <= self.warmup,
        };
        report::progress_line(&progress, self.style)
    }

    /// Takes the line away before the summary.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.dirty) {
            eprint!("\r\x1b[2K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::IntervalData;
    use plan::PlanFile;
    use units::Gauges;

    fn second(index: u64) -> IntervalRow {
        let mut data = Box::new(IntervalData::new(1));
        (data.tally.done, data.tally.failed) = (390, 8);
        IntervalRow {
            index,
            start: Picos::from_secs(index),
            length: Picos::from_secs(1),
            data,
            gauges: Gauges { offered: 400, open: 7, ..Gauges::default() },
            starved: 0,
            health: None,
        }
    }

    #[test]
    fn verbose_is_one_line_a_minute_in_http_loads_words() {
        let plan = PlanFile { url: Some("http://a/".to_owned()), ..PlanFile::default() }.resolve().unwrap();
        let mut progress = Progress::new(&plan, Shown::EachMinute);
        let lines: Vec<String> = (0..130).filter_map(|index| progress.line(&second(index))).collect();
        // 60 · 400 started, 60 · (390 + 8) completed.
        assert_eq!(
            lines,
            [
                "--- 60 secs, 24000 fetches started, 23880 completed, 7 current",
                "--- 120 secs, 48000 fetches started, 47760 completed, 7 current"
            ]
        );
    }
}
