//! The progress line: rewritten in place on a terminal, one line a second otherwise.

use crate::load::style;
use measure::IntervalRow;
use plan::Plan;
use report::Style;
use std::io::{IsTerminal, Write};
use store::schema::Interval;
use units::Picos;

/// See the module. Writes to standard error only.
pub struct Progress {
    shown: bool,
    on_terminal: bool,
    style: Style,
    warmup: Picos,
    whole: Option<Picos>,
    bad: u64,
    dirty: bool,
}

impl Progress {
    pub fn new(plan: &Plan, shown: bool) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        let whole = plan.stop.duration.map(|duration| duration + plan.stop.warmup);
        Self {
            shown,
            on_terminal,
            style: style(on_terminal),
            warmup: plan.stop.warmup,
            whole,
            bad: 0,
            dirty: false,
        }
    }

    /// Shows one interval.
    pub fn show(&mut self, row: &IntervalRow) {
        self.bad += row.data.tally.failed + row.data.tally.missed;
        if !self.shown {
            return;
        }
        let elapsed = row.start + row.length;
        let interval = Interval::from(row);
        let progress = report::Progress {
            row: &interval,
            elapsed,
            left: self.whole.map(|whole| whole - elapsed),
            bad: self.bad,
            is_warmup: elapsed <= self.warmup,
        };
        let line = report::progress_line(&progress, self.style);
        let mut err = std::io::stderr().lock();
        // Progress is a courtesy: a terminal that is gone does not end the run.
        let _ = match self.on_terminal {
            true => write!(err, "\r\x1b[2K{line}"),
            false => writeln!(err, "{line}"),
        };
        let _ = err.flush();
        self.dirty = self.on_terminal;
    }

    /// Takes the line away before the summary.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.dirty) {
            eprint!("\r\x1b[2K");
        }
    }
}
