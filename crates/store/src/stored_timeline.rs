//! Rows and histograms of a stored run, joined by their start and streamed into a timeline: one line of each
//! file is in memory at a time.

use crate::figures::drawn;
use crate::hlog_read::{Damaged, Decoder, Lines};
use crate::log_state::LogState;
use crate::regular;
use crate::run_folder::HLOG;
use crate::schema::Interval;
use crate::timeline::{Timeline, TimelineBuilder};
use measure::Series;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// `rows` of the run in `folder`, of which there are about `expected`, in at most `most` bins; and how its log
/// was.
pub fn stored_timeline(
    rows: impl Iterator<Item = Interval>,
    expected: u64,
    folder: &Path,
    most: usize,
) -> (Timeline, LogState) {
    let mut timeline = TimelineOfRuns::new(most, expected);
    let log = timeline.add(rows, folder, 0.0);
    (timeline.view(), log)
}

/// One stored run, or several after one another.
pub struct TimelineOfRuns(TimelineBuilder);

impl TimelineOfRuns {
    pub fn new(most: usize, expected: u64) -> Self {
        Self(TimelineBuilder::expecting(most, expected))
    }

    /// The run in `folder`, drawn from `start_s` on.
    pub fn add(&mut self, rows: impl Iterator<Item = Interval>, folder: &Path, start_s: f64) -> LogState {
        let file = regular::open(&folder.join(HLOG)).ok();
        let mut log = file.map(|file| Log::new(BufReader::with_capacity(1 << 16, file)));
        let mut rows = rows.peekable();
        while let Some(row) = rows.next() {
            // A row that stands for several has the lines of all of them.
            let until_ms = rows.peek().map_or(u64::MAX, start_ms);
            let end_ms = ms(row.t_s + row.length_s).max(start_ms(&row) + 1);
            self.0.begin(Interval { t_s: row.t_s + start_s, ..row });
            if let Some(log) = &mut log {
                log.add_until(until_ms, end_ms, &mut self.0);
            }
            self.0.end();
        }
        log.map_or_else(LogState::default, |log| LogState { found: true, damaged: log.damaged })
    }

    pub fn view(&self) -> Timeline {
        self.0.view()
    }
}

fn start_ms(row: &Interval) -> u64 {
    ms(row.t_s)
}

fn ms(seconds: f64) -> u64 {
    (seconds * 1e3).round() as u64
}

/// A log that is read as far as rows have come.
struct Log<R> {
    lines: Lines<R>,
    decoder: Decoder,
    /// The line that was read last belongs to a later row.
    ahead: bool,
    /// Lines so far that made no sense.
    damaged: u64,
}

impl<R: BufRead> Log<R> {
    fn new(from: R) -> Self {
        Self { lines: Lines::new(from), decoder: Decoder::new(), ahead: false, damaged: 0 }
    }

    /// Adds the lines that begin before `until_ms` to the builder's open bin, but for those from `end_ms` on:
    /// their row is lost. Lines that cannot be read are missing there, and the bin notices.
    fn add_until(&mut self, until_ms: u64, end_ms: u64, builder: &mut TimelineBuilder) {
        loop {
            let read =
                if std::mem::take(&mut self.ahead) { self.lines.current() } else { self.lines.advance() };
            let line = match read {
                None => return,
                Some(Err(Damaged)) => {
                    self.damaged += u64::from(!self.lines.is_cut_off());
                    continue;
                }
                Some(Ok(line)) if line.start_ms >= until_ms => break,
                Some(Ok(line)) if line.start_ms >= end_ms => continue,
                Some(Ok(line)) => line,
            };
            if let Some(index) = Series::of_key(line.tag).and_then(drawn) {
                let added = self.decoder.add_to(&line, builder.counts(index));
                self.damaged += u64::from(added.is_err());
            }
        }
        self.ahead = true;
    }
}
