//! A result made of what a run that was killed left: `begun.json`, `intervals.jsonl` and `latency.hlog`.
//!
//! Counts are sums of the intervals, distributions are their merged histograms. What only the end of a run
//! knows (the verdict above all) is not made up: the word is INVALID, with one criterion that says why.

use crate::read::Rows;
use crate::regular;
use crate::run_folder::{BEGUN, ENVIRONMENT, HLOG, INTERVALS, PLAN, RESULT};
use crate::run_histograms::RunHistograms;
use crate::schema::*;
use crate::series::{BoundedIntervals, add_outcomes};
use crate::sink::take_intervals;
use measure::CriterionId;
use std::path::Path;
use units::{Outcome, OutcomeClass};

/// The run in this folder, which has no `result.json`; `None` if nothing is there to rebuild it from. It was
/// killed, unless its `begun.json` says that all of it is there.
pub fn of_killed(folder: &Path) -> Option<RunResult> {
    let (mut result, kept) = from_rows(folder)?;
    if !result.partial {
        result.verdict =
            unfinished(CriterionId::Finished, "no verdict is kept here: the run's own folder has it");
        result.store.lost.push(Lost { what: RESULT.to_owned(), why: "it was not written here".to_owned() });
        return Some(result);
    }
    result.labels.push(Label::Sentence(match kept.rows {
        0 => "killed before its first interval was over".to_owned(),
        _ => format!("killed: rebuilt from its {}; {}", kept.words(), kept.last()),
    }));
    result.verdict = unfinished(
        CriterionId::Finished,
        "the run was killed before it could be judged, or could not store its result; to stop one early, press \
         Ctrl-C once: its result is complete",
    );
    result
        .store
        .lost
        .push(Lost { what: RESULT.to_owned(), why: "the run was killed, or could not store it".to_owned() });
    Some(result)
}

/// The run whose `result.json` has this text, which cannot be read because of `why`; `None` if it has no
/// intervals. If only those in the text (the end of the file, and most of it) are damaged, the rest is as it
/// was.
pub fn of_damaged(text: &[u8], folder: &Path, why: &serde_json::Error) -> Option<RunResult> {
    let said = format!("result.json is damaged ({why})");
    let lost = Lost { what: RESULT.to_owned(), why: why.to_string() };
    let mut rows = Rows::of_folder(folder)?;
    if let Some(mut result) = head_of(text) {
        let mut bounded = BoundedIntervals::default();
        let mut kept = Kept::default();
        rows.by_ref().for_each(|row| {
            kept.add(&row);
            bounded.push(row);
        });
        kept.damaged = rows.damaged();
        take_intervals(&mut bounded, &mut result);
        let lack = kept.lack().map_or_else(String::new, |lack| format!("; {lack}"));
        let label = format!("{said}: its intervals were read from {INTERVALS}{lack}");
        result.labels.push(Label::Sentence(label));
        result.store.lost.push(lost);
        return Some(result);
    }
    let (mut result, kept) = from_rows(folder).filter(|(_, kept)| kept.rows > 0)?;
    result.labels.push(Label::Sentence(format!("{said}: rebuilt from its {}", kept.words())));
    result.verdict = unfinished(
        CriterionId::ResultReadable,
        "the verdict was lost with the damaged result.json: check the disk, and run again",
    );
    result.store.lost.push(lost);
    Some(result)
}

/// Everything before the intervals, if that is whole.
fn head_of(text: &[u8]) -> Option<RunResult> {
    const KEY: &[u8] = b"\n  \"intervals\": [";
    let at = text.windows(KEY.len()).position(|window| window == KEY)?;
    let mut head = text[..at + KEY.len()].to_vec();
    head.extend_from_slice(b"]}");
    serde_json::from_slice(&head).ok().filter(|result: &RunResult| result.schema == SCHEMA)
}

/// INVALID, for the one reason that it cannot be known.
fn unfinished(id: CriterionId, advice: &str) -> Verdict {
    let criterion = Criterion {
        name: id.into(),
        value: 0.0,
        limit: 1.0,
        invalid_limit: Some(1.0),
        sense: Sense::AtLeast,
        unit: id.about().unit.key().to_owned(),
        holds: false,
        severity: Word::Invalid,
        advice: advice.to_owned(),
    };
    Verdict { word: Word::Invalid, criteria: vec![criterion] }
}

fn intervals(count: u64) -> String {
    if count == 1 { "1 interval".to_owned() } else { format!("{count} intervals") }
}

/// What was found in `intervals.jsonl`.
#[derive(Clone, Copy, Default)]
struct Kept {
    rows: u64,
    /// Lines that are no row.
    damaged: u64,
    /// Time between rows that none of them is of.
    gaps_s: f64,
    end_s: f64,
    /// Answers in the last row.
    last_done: u64,
}

impl Kept {
    /// Steps of time shorter than this are rounding.
    const LEAST_GAP_S: f64 = 1e-6;

    fn add(&mut self, row: &Interval) {
        let gap_s = row.t_s - self.end_s;
        if gap_s > Self::LEAST_GAP_S {
            self.gaps_s += gap_s;
        }
        self.rows += 1;
        self.end_s = self.end_s.max(row.t_s + row.length_s);
        self.last_done = row.done;
    }

    /// What is missing before the last row; `None` if nothing is.
    fn lack(&self) -> Option<String> {
        let gaps_s = self.gaps_s;
        match (self.damaged, gaps_s > 0.0) {
            (0, false) => None,
            (0, true) => {
                Some(format!("{gaps_s:.3} s before the last of them are missing in counts and rates"))
            }
            (damaged, _) => {
                Some(format!("{} damaged, and missing in counts and rates", intervals_are(damaged)))
            }
        }
    }

    fn words(&self) -> String {
        let lack = self.lack().map_or_else(String::new, |lack| format!("; {lack}"));
        format!("{}{lack}", intervals(self.rows))
    }

    fn last(&self) -> &'static str {
        match self.lack() {
            Some(_) => "the last interval may be missing, too",
            None => "at most the last interval is missing",
        }
    }
}

fn intervals_are(count: u64) -> String {
    if count == 1 { "1 more is".to_owned() } else { format!("{count} more are") }
}

/// All that the intervals and the histograms say, and which intervals there are. `None` if this is no run.
fn from_rows(folder: &Path) -> Option<(RunResult, Kept)> {
    let begun = regular::read(&folder.join(BEGUN)).ok();
    let begun = begun.and_then(|text| serde_json::from_slice::<RunResult>(&text).ok());
    let mut rows = Rows::of_folder(folder);
    if begun.is_none() && rows.is_none() {
        return None;
    }
    let mut result = begun.unwrap_or_else(|| RunResult { partial: true, ..RunResult::default() });
    result.schema = SCHEMA.to_owned();
    if result.run.is_empty() {
        result.run = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    }
    let mut sums = Sums::default();
    rows.iter_mut().flatten().for_each(|row| sums.add(row, result.warmup.duration_s));
    let kept = Kept { damaged: rows.map_or(0, |rows| rows.damaged()), ..sums.kept };
    sums.fill(&mut result);
    let histograms = RunHistograms::of_folder(folder);
    fill_times(&mut result, &histograms);
    fill_groups(&mut result, &histograms);
    result.notes.extend(histograms.log().of_rebuilt(&result, kept.last_done));
    result.intervals_in = INTERVALS.to_owned();
    result.store.folder = folder.display().to_string();
    let files = [PLAN, ENVIRONMENT, INTERVALS, HLOG].into_iter().filter(|name| folder.join(name).exists());
    result.store.kept = files.map(str::to_owned).collect();
    Some((result, kept))
}

/// What adds up over intervals.
#[derive(Default)]
struct Sums {
    kept: Kept,
    bounded: BoundedIntervals,
    totals: Totals,
    outcomes: Vec<OutcomeCount>,
    /// Departures that had been due, and those of the warm-up that had ended.
    due: u64,
    warmup: u64,
    /// Length of the rows after the warm-up: of what is missing nothing is counted, so its time is not, either.
    measured_s: f64,
    open_peak: u64,
    threads: Vec<ThreadSums>,
    /// Of the machine: length-weighted steal, and the length it is of.
    steal_s: f64,
    steal_over_s: f64,
    generator: Generator,
}

/// One thread: times on a CPU, spinning and stolen, over its intervals.
#[derive(Clone, Default)]
struct ThreadSums {
    cpu_s: f64,
    spun_s: f64,
    stolen_s: f64,
    span_s: f64,
    waited_ns: u64,
}

impl Sums {
    fn add(&mut self, row: Interval, warmup_s: f64) {
        self.kept.add(&row);
        let totals = &mut self.totals;
        for (sum, count) in [
            (&mut totals.done, row.done),
            (&mut totals.failed, row.failed),
            (&mut totals.missed, row.missed),
            (&mut totals.cut_off, row.cut_off),
            (&mut totals.bytes_out, row.bytes_out),
            (&mut totals.bytes_in, row.bytes_in),
            (&mut self.due, row.offered),
            (&mut self.warmup, row.warmup),
            (&mut self.generator.retransmits, row.retransmits),
            (&mut self.generator.pauses, row.pauses),
            (&mut self.generator.paused_ns, row.paused_ns),
        ] {
            *sum = sum.saturating_add(count);
        }
        self.outcomes = add_outcomes(std::mem::take(&mut self.outcomes), &row.outcomes);
        self.measured_s += (row.t_s + row.length_s - row.t_s.max(warmup_s)).max(0.0);
        self.open_peak = self.open_peak.max(row.open);
        self.add_health(&row);
        self.bounded.push(row);
    }

    fn add_health(&mut self, row: &Interval) {
        if let Some(steal) = row.steal_share {
            self.steal_s += steal * row.length_s;
            self.steal_over_s += row.length_s;
        }
        let generator = &mut self.generator;
        generator.rss_peak_bytes = generator.rss_peak_bytes.max(row.rss_bytes);
        generator.time_wait_peak = generator.time_wait_peak.max(row.time_wait);
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        generator.ports_left = least(generator.ports_left, row.ports_left);
        generator.descriptors_left = least(generator.descriptors_left, row.descriptors_left);
        self.threads.resize(self.threads.len().max(row.threads.len()), ThreadSums::default());
        for (sums, thread) in self.threads.iter_mut().zip(&row.threads) {
            sums.cpu_s += thread.cpu_share * row.length_s;
            sums.spun_s += thread.spun_share * row.length_s;
            sums.stolen_s += thread.stolen_share * row.length_s;
            sums.span_s += row.length_s;
            sums.waited_ns = sums.waited_ns.saturating_add(thread.run_queue_wait_ns);
        }
    }

    fn fill(mut self, result: &mut RunResult) {
        let measured_s = self.measured_s;
        self.cut_off_the_rest(result);
        let totals = &mut self.totals;
        totals.sent = totals.done.saturating_add(totals.failed).saturating_add(totals.cut_off);
        totals.offered = totals.sent.saturating_add(totals.missed);
        let per_second = |count: u64| if measured_s > 0.0 { count as f64 / measured_s } else { 0.0 };
        result.rate = Rates {
            offered_per_s: per_second(totals.offered),
            achieved_per_s: per_second(totals.done),
            duration_s: measured_s,
            bytes_over_s: measured_s,
            done_after_end: 0,
        };
        result.totals = self.totals;
        result.warmup.count = self.warmup;
        result.outcomes = self.outcomes;
        result.connections.open_peak = self.open_peak;
        fill_generator(&mut self.generator, &self.threads, self.totals.offered.saturating_add(self.warmup));
        self.generator.steal_share = (self.steal_over_s > 0.0).then(|| self.steal_s / self.steal_over_s);
        let known = std::mem::take(&mut result.generator);
        result.generator =
            Generator { clock: known.clock, io: known.io, arrivals: known.arrivals, ..self.generator };
        take_intervals(&mut self.bounded, result);
    }

    /// What was due and has no outcome was on its way, or still to leave, when the run was killed.
    fn cut_off_the_rest(&mut self, result: &mut RunResult) {
        let totals = self.totals;
        let ended = [totals.done, totals.failed, totals.missed, totals.cut_off, self.warmup];
        let ended = ended.into_iter().fold(0u64, u64::saturating_add);
        let rest = self.due.saturating_sub(ended);
        if rest == 0 {
            return;
        }
        self.totals.cut_off = totals.cut_off.saturating_add(rest);
        let cut_off = OutcomeCount::of(Outcome::CutOff, rest);
        self.outcomes = add_outcomes(std::mem::take(&mut self.outcomes), &[cut_off]);
        result.notes.push(format!("{rest} of what had been due had no outcome yet: counted as cut off"));
    }
}

fn fill_generator(generator: &mut Generator, threads: &[ThreadSums], ended: u64) {
    generator.cpu_s = threads.iter().map(|thread| thread.cpu_s).sum();
    generator.spun_s = threads.iter().map(|thread| thread.spun_s).sum();
    let worked_s = generator.cpu_s - generator.spun_s;
    generator.cpu_s_per_million =
        (ended > 0 && generator.cpu_s > 0.0).then(|| worked_s / (ended as f64 / 1e6));
    let health = |sums: &ThreadSums| {
        let share = |part_s: f64| if sums.span_s > 0.0 { part_s / sums.span_s } else { 0.0 };
        ThreadHealth {
            cpu_share: share(sums.cpu_s),
            spun_share: share(sums.spun_s),
            stolen_share: share(sums.stolen_s),
            run_queue_wait_ns: sums.waited_ns,
            ..ThreadHealth::default()
        }
    };
    generator.threads = threads.iter().map(health).collect();
}

/// Distributions and curves from the run's histograms.
pub fn fill_times(result: &mut RunResult, histograms: &RunHistograms) {
    result.fill_series(|kind| histograms.figures(kind), |kind| histograms.curve(kind));
    if result.connections.opened == 0 {
        result.connections.opened = result.ready_ns.count;
    }
}

/// Of names only complete answers are in the histograms.
fn fill_groups(result: &mut RunResult, histograms: &RunHistograms) {
    let named = std::mem::take(&mut result.groups);
    let groups = named.into_iter().filter_map(|group| {
        let latency = histograms.group(&group.name)?;
        let answered = OutcomeCount::of_class(OutcomeClass::Status, latency.len());
        let latency_ns = histograms.figures_of_group(&group.name);
        let (count, outcomes) = (latency.len(), vec![answered]);
        Some(GroupResult { name: group.name, count, latency_ns, outcomes, statuses: None })
    });
    result.groups = groups.collect();
    if !result.groups.is_empty() {
        result.notes.push("by name, only complete responses are known".to_owned());
    }
}
