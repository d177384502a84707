//! What is shown while a run goes on: a line rewritten in place on a terminal, one line a second otherwise; or
//! http_load's own line each minute. Standard error only.

use crate::terminal::{self, has_cursor, style};
use measure::IntervalRow;
use report::{Style, percent_g};
use std::io::{IsTerminal, Write};
use store::schema::Interval;
use units::Picos;

/// http_load's `PROGRESS_SECS`.
const MINUTE: Picos = Picos::from_secs(60);

/// A shorter interval is the stub at the end of a run: its rate says nothing.
const STUB: Picos = Picos::from_millis(100);

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
    /// On a terminal whose cursor can be moved.
    in_place: bool,
    style: Style,
    warmup: Picos,
    whole: Option<Picos>,
    /// Sums over the run so far.
    started: u64,
    completed: u64,
    errors: u64,
    missed: u64,
    next_minute: Picos,
    dirty: bool,
    is_frames: bool,
    is_simulated: bool,
}

impl Progress {
    /// `whole`: how long the run takes, warm-up included, where that is known.
    pub fn new(warmup: Picos, whole: Option<Picos>, shown: Shown) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        Self {
            shown,
            in_place: on_terminal && has_cursor(std::env::var_os("TERM").as_deref()),
            style: style(on_terminal),
            warmup,
            whole,
            started: 0,
            completed: 0,
            errors: 0,
            missed: 0,
            next_minute: MINUTE,
            dirty: false,
            is_frames: false,
            is_simulated: false,
        }
    }

    /// Of a load of frames, which nobody answers.
    #[must_use]
    pub fn of_frames(self, is_frames: bool) -> Self {
        Self { is_frames, ..self }
    }

    /// Of a run that has another time than this host.
    #[must_use]
    pub fn of_simulated(self, is_simulated: bool) -> Self {
        Self { is_simulated, ..self }
    }

    /// Shows one interval.
    pub fn show(&mut self, row: &IntervalRow) {
        let Some(line) = self.line(row) else { return };
        let line = if self.in_place { cut(line, terminal::columns()) } else { line };
        let in_place = self.in_place && self.shown == Shown::Line;
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
        self.started += row.counters.offered;
        self.completed += tally.done + tally.failed;
        self.errors += tally.errors();
        self.missed += tally.missed;
        let elapsed = row.start + row.length;
        match self.shown {
            Shown::Nothing => None,
            Shown::Line if row.length < STUB => None,
            Shown::Line => Some(self.line_of(row, elapsed)),
            Shown::EachMinute if elapsed < self.next_minute => None,
            Shown::EachMinute => {
                while self.next_minute <= elapsed {
                    self.next_minute += MINUTE;
                }
                let seconds = percent_g(elapsed.as_secs_f64());
                let (started, completed, current) = (self.started, self.completed, row.counters.open);
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
            errors: self.errors,
            missed: self.missed,
            is_warmup: elapsed <= self.warmup,
            is_frames: self.is_frames,
            is_simulated: self.is_simulated,
        };
        report::progress_line(&progress, self.style)
    }

    /// Takes the line away before the summary.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.dirty) {
            let _ = std::io::stderr().lock().write_all(b"\r\x1b[2K");
        }
    }
}

/// At most so many columns, so that the line does not wrap: only a line that fits can be rewritten in place.
/// Colours, which take no columns, go when it is cut.
fn cut(line: String, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return line };
    let mut parts = line.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    let plain = parts.fold(first, |plain, part| plain + part.split_once('m').map_or("", |(_, text)| text));
    if plain.chars().count() <= columns { line } else { plain.chars().take(columns).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::IntervalData;
    use std::ffi::OsStr;
    use units::EngineCounters;

    fn second(index: u64) -> IntervalRow {
        let mut data = Box::new(IntervalData::new(1));
        (data.tally.done, data.tally.failed) = (390, 8);
        IntervalRow {
            index,
            start: Picos::from_secs(index),
            length: Picos::from_secs(1),
            data,
            counters: EngineCounters { offered: 400, open: 7, ..EngineCounters::default() },
            starved: 0,
            health: None,
        }
    }

    #[test]
    fn errors_are_those_of_thresholds_and_missed_ones_are_told_apart() {
        let mut progress = Progress::new(Picos::ZERO, Some(Picos::from_secs(10)), Shown::Line);
        let mut row = second(0);
        (row.data.tally.by_class[4], row.data.tally.by_class[5], row.data.tally.missed) = (3, 7, 2);
        // 8 failed, 3 + 7 were answered with 400 or more.
        let line = progress.line(&row).unwrap();
        assert!(line.contains("errors 18  missed 2"), "{line}");
    }

    #[test]
    fn verbose_is_one_line_a_minute_in_http_loads_words() {
        let mut progress = Progress::new(Picos::ZERO, Some(Picos::from_secs(10)), Shown::EachMinute);
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

    #[test]
    fn a_stub_has_no_line_and_a_narrow_terminal_no_second_one() {
        let mut progress = Progress::new(Picos::ZERO, Some(Picos::from_secs(10)), Shown::Line);
        assert!(progress.line(&second(0)).is_some());
        let stub = IntervalRow { length: Picos::from_millis(99), ..second(1) };
        assert_eq!(progress.line(&stub), None);
        let line = || "a \x1b[1;31mbcd\x1b[0m e".to_owned();
        assert_eq!(cut(line(), Some(4)), "a bc");
        assert_eq!((cut(line(), Some(7)), cut(line(), None)), (line(), line()));
        assert!(has_cursor(Some(OsStr::new("xterm"))) && !has_cursor(Some(OsStr::new("dumb"))));
    }
}
