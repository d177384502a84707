//! Limits held against a run: at each interval where a window slides or the run may have to end, and at its
//! end.
//!
//! ```text
//!                     ┌─► window of rows ─► its value ─► the worst so far  (… in any 10s)
//! IntervalRow ─► row ─┤
//!                     └─► all rows so far ─► its value ─► end the run?     (--abort-if without a window)
//! RunTotals ──► finish ─► the value of the whole run, which is the one in result.json
//! ```
//!
//! Windows merge histograms, and keep at most 61 of them for each limit, however long the run and the window.
//! Docs: docs/thresholds.md has the rules for people.

mod weight;
mod window;

#[cfg(test)]
mod tests;

use crate::interval::IntervalRow;
use crate::totals::RunTotals;
use plan::{Bound, Figure, Limit, Limits, Statistic, nearest};
use std::cmp::Ordering;
use units::{Count, Group, Picos};
use weight::Weight;
pub use weight::{Met, Reading};
use window::Window;

/// Rows of the measured part before a rate so far may end a run.
const ROWS_FOR_A_RATE: u64 = 3;
/// Values before a percentile, a mean or a share so far may end a run, at least.
const LEAST_SAMPLES: u64 = 10;
/// Rows in which nothing was offered that may wait for one in which something is: an hour.
const MOST_HELD: usize = 3_600;

/// When the measured part is, from the origin of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measuring {
    /// End of the warm-up.
    pub from: Picos,
    /// End of the departures, if the plan says when that is.
    pub until: Option<Picos>,
    /// Usual length of a row.
    pub interval: Picos,
}

impl Measuring {
    /// Whether more of the load is to come: not with the row in which it ends, nor with the rest of an
    /// interval.
    fn goes_on_after(&self, row: &IntervalRow) -> bool {
        let end = row.start + row.length;
        row.length >= self.interval && self.until.is_none_or(|until| end < until)
    }
}

/// What the rates of the whole run are over: the same as for `result.json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WholeRun {
    /// In which departures were due.
    pub offering: Picos,
    /// Answers in time, and the time in which they came.
    pub answered: Count,
    pub answering: Picos,
    /// In which all bytes came.
    pub until_last: Picos,
}

/// So many characters of a name, and of a limit with a name in it, are told.
const LONGEST_NAME: usize = 60;
const LONGEST_LIMIT: usize = 400;

/// A limit names requests that the plan has not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}; {}", shown(.limit, LONGEST_LIMIT), unknown(.names, .name), known(.names, .name))]
pub struct UnknownName {
    pub limit: String,
    pub name: String,
    pub names: Vec<String>,
}

fn unknown(names: &[String], typed: &str) -> String {
    let typed = shown(typed, LONGEST_NAME);
    if Group::are_folded(names.iter().map(String::as_str)) {
        return format!(
            "no figures are kept for the name '{typed}': there are more than {} names, and requests with later \
             names in the file are counted in '{}'",
            Group::MOST_NAMES,
            Group::OTHER
        );
    }
    format!("no requests have the name '{typed}'")
}

fn known(names: &[String], typed: &str) -> String {
    const MOST: usize = 8;
    if names.is_empty() {
        return "names come from \"name\" in the lines of a file or in [[requests]]; figures by name are not kept for a \
                single URL or for a long file"
            .to_owned();
    }
    let some: Vec<String> = names.iter().take(MOST).map(|name| shown(name, LONGEST_NAME)).collect();
    let more = if names.len() > MOST { " …" } else { "" };
    let meant = nearest(typed, names.iter().map(String::as_str));
    let meant =
        meant.map_or_else(String::new, |name| format!(" (did you mean {}?)", shown(name, LONGEST_NAME)));
    format!("there are {}{more}{meant}", some.join(", "))
}

/// A name from a file, which must not steer a terminal or fill it: at most so many characters, none of them
/// invisible.
fn shown(name: &str, longest: usize) -> String {
    let is_odd = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut shown: String = name.chars().take(longest).map(|c| if is_odd(c) { '·' } else { c }).collect();
    if name.chars().nth(longest).is_some() {
        shown.push('…');
    }
    shown
}

/// Why the run shall end now.
#[derive(Clone, Debug, PartialEq)]
pub struct Aborted {
    /// The limit.
    pub limit: Limit,
    /// In the unit of its bound.
    pub value: f64,
    /// The value is a lower bound.
    pub is_bound: bool,
    /// From the origin of the run.
    pub at: Picos,
}

/// What came of one limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub limit: Limit,
    /// In the unit of the bound: of the whole run, of the worst window, or when the run was ended. `None`:
    /// there was nothing to measure.
    pub value: Option<f64>,
    /// The value is a lower bound: what never came to an answer could have made it larger.
    pub is_bound: bool,
    /// The condition did not come true. What could not be measured does not hold, nor does what a lower bound
    /// leaves open.
    pub holds: bool,
    pub aborts: bool,
    /// End of the window that decided, or when the run was ended; from the origin of the run.
    pub at: Option<Picos>,
}

/// All limits of a run.
#[derive(Debug)]
pub struct Thresholds {
    watched: Vec<Watched>,
    measuring: Measuring,
    over: bool,
}

/// One limit, and what is known of it so far.
#[derive(Debug)]
struct Watched {
    limit: Limit,
    group: Option<usize>,
    aborts: bool,
    gathers: Gathers,
    /// Value and time that decide so far.
    worst: Option<(Reading, Picos)>,
    /// Rows in which nothing was offered, until it shows that the run goes on.
    held: Vec<(Weight<u32>, Picos)>,
}

#[derive(Debug)]
enum Gathers {
    /// The totals at the end are enough.
    Nothing,
    SoFar {
        sum: Weight<u64>,
        rows: u64,
    },
    Window(Window),
}

impl Thresholds {
    /// `names` are those of the groups, in the order of their indices; empty if there is only one.
    pub fn new(limits: &Limits, names: &[String], measuring: Measuring) -> Result<Self, UnknownName> {
        let fails = limits.fail_if.iter().map(|limit| (limit, false));
        let aborts = limits.abort_if.iter().map(|limit| (limit, true));
        let watched = fails.chain(aborts).map(|(limit, aborts)| {
            let group = group_of(limit, names)?;
            Ok(Watched::new(limit.clone(), group, aborts, measuring.interval))
        });
        Ok(Self { watched: watched.collect::<Result<_, _>>()?, measuring, over: false })
    }

    pub fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// One interval is over. Says once that the run shall end, and why; never when its load is over anyway.
    pub fn row(&mut self, row: &IntervalRow) -> Option<Aborted> {
        let measuring = self.measuring;
        self.watched.iter_mut().for_each(|watched| watched.row(row, measuring));
        if self.over || !measuring.goes_on_after(row) {
            return None;
        }
        let aborted = self.watched.iter().find_map(Watched::aborted);
        self.over = aborted.is_some();
        aborted
    }

    /// What came of each limit, in the order in which they were given.
    pub fn finish(self, totals: &RunTotals, whole: WholeRun) -> Vec<Judgement> {
        self.watched.into_iter().map(|watched| watched.finish(totals, whole)).collect()
    }
}

/// Index of the group that a limit names; `None` for all requests, also where all have that one name.
fn group_of(limit: &Limit, names: &[String]) -> Result<Option<usize>, UnknownName> {
    let Some(name) = &limit.name else { return Ok(None) };
    match names.iter().position(|known| known == name) {
        Some(_) if names.len() == 1 => Ok(None),
        Some(index) => Ok(Some(index)),
        None => Err(UnknownName { limit: limit.to_string(), name: name.clone(), names: names.to_vec() }),
    }
}

impl Watched {
    fn new(limit: Limit, group: Option<usize>, aborts: bool, interval: Picos) -> Self {
        let gathers = match limit.window {
            Some(length) => Gathers::Window(Window::new(length, interval)),
            None if aborts => Gathers::SoFar { sum: Weight::new(&limit, group), rows: 0 },
            None => Gathers::Nothing,
        };
        Self { limit, group, aborts, gathers, worst: None, held: Vec::new() }
    }

    /// Whether rows that are no whole part of the load would make the figure smaller than it was: rates, and
    /// sums that must not be small.
    fn needs_whole_rows(&self) -> bool {
        let Limit { figure, bound, comparison, .. } = &self.limit;
        let is_rate =
            matches!(figure, Figure::Achieved | Figure::Offered) || matches!(bound, Bound::BytesPerSecond(_));
        is_rate || bound.is_of_a_sum() && !comparison.is_upward()
    }

    fn row(&mut self, row: &IntervalRow, measuring: Measuring) {
        let has_windows = match self.gathers {
            Gathers::Nothing => return,
            // The totals are better than all but the last of it.
            Gathers::SoFar { .. } if !measuring.goes_on_after(row) => return,
            Gathers::SoFar { .. } => false,
            Gathers::Window(_) => true,
        };
        // What has been found out is not to be changed by what follows.
        if self.aborted().is_some() {
            return;
        }
        let end = row.start + row.length;
        let whole = self.needs_whole_rows();
        // Of the row in which the warm-up ends, the measured part is there.
        let is_before = row.start < measuring.from && (whole || has_windows && end <= measuring.from);
        let is_part = row.length < measuring.interval || measuring.until.is_some_and(|until| end > until);
        if is_before || whole && is_part {
            return;
        }
        let weight = Weight::of_row(&self.limit, self.group, row);
        if whole && measuring.until.is_none() && row.offered() == 0 {
            // Perhaps all has been offered and only the last answers are awaited.
            if self.held.len() < MOST_HELD {
                self.held.push((weight, end));
            }
            return;
        }
        for (weight, end) in std::mem::take(&mut self.held) {
            self.add(weight, end);
        }
        self.add(weight, end);
    }

    fn add(&mut self, weight: Weight<u32>, end: Picos) {
        let value = match &mut self.gathers {
            Gathers::Nothing => None,
            Gathers::Window(window) => {
                window.push(weight, end);
                window.sum(&self.limit, self.group).and_then(|sum| sum.value(&self.limit))
            }
            Gathers::SoFar { sum, rows } => {
                sum.merge(&weight);
                *rows += 1;
                let enough = if is_rate(&self.limit) {
                    *rows >= ROWS_FOR_A_RATE
                } else {
                    sum.samples() >= samples_needed(&self.limit)
                };
                let value = sum.value(&self.limit).filter(|_| enough);
                // Only what ends the run is kept: the value of the whole run is that of its end.
                value.filter(|value| value.meets(&self.limit) == Met::Surely)
            }
        };
        value.into_iter().for_each(|value| self.keep_if_worse(value, end));
    }

    /// What surely comes true is worse than what perhaps does, whatever the values.
    fn keep_if_worse(&mut self, value: Reading, end: Picos) {
        let limit = &self.limit;
        let is_worse =
            self.worst.is_none_or(|(worst, _)| match value.meets(limit).cmp(&worst.meets(limit)) {
                Ordering::Greater => true,
                Ordering::Less => false,
                Ordering::Equal if limit.comparison.is_upward() => value.value > worst.value,
                Ordering::Equal => value.value < worst.value,
            });
        if is_worse {
            self.worst = Some((value, end));
        }
    }

    /// The value that ends the run, if it came true.
    fn aborted(&self) -> Option<Aborted> {
        let (value, at) = self.worst.filter(|_| self.aborts)?;
        let is_met = value.meets(&self.limit) == Met::Surely;
        is_met.then(|| Aborted {
            limit: self.limit.clone(),
            value: value.value,
            is_bound: value.is_bound,
            at,
        })
    }

    fn finish(mut self, totals: &RunTotals, whole: WholeRun) -> Judgement {
        if let Gathers::Window(window) = &mut self.gathers
            && let Some((sum, end)) = window.rest(&self.limit, self.group)
            && let Some(value) = sum.value(&self.limit)
        {
            self.keep_if_worse(value, end);
        }
        let (value, at) = match (&self.gathers, self.worst) {
            (_, Some((value, at))) => (Some(value), Some(at)),
            (Gathers::Window(_), None) => (None, None),
            (_, None) => (weight::of_whole_run(&self.limit, self.group, totals, whole), None),
        };
        let holds = value.is_some_and(|value| value.meets(&self.limit) == Met::No);
        Judgement {
            limit: self.limit,
            value: value.map(|value| value.value),
            is_bound: value.is_some_and(|value| value.is_bound),
            holds,
            aborts: self.aborts,
            at,
        }
    }
}

fn is_rate(limit: &Limit) -> bool {
    matches!(limit.bound, Bound::Rate(_) | Bound::BytesPerSecond(_)) || limit.figure == Figure::Achieved
}

/// How many values a figure needs before it may end a run: from 1 ÷ (1 − q) values on, the q-quantile is
/// another than the largest, and a share beyond 1 ÷ s is more than a single request.
fn samples_needed(limit: &Limit) -> u64 {
    let rarest = match (limit.figure, limit.bound) {
        (Figure::Time(_, Statistic::Percentile(percentile)), _) => {
            let quantile = percentile.quantile();
            quantile.min(1.0 - quantile)
        }
        (Figure::Time(_, Statistic::Mean | Statistic::Stdev), _) => 1.0,
        (_, Bound::Share(share)) if limit.comparison.is_upward() => share.as_f64(),
        (_, Bound::Share(share)) => 1.0 - share.as_f64(),
        _ => return 1,
    };
    // The largest, the smallest, and a share that nothing may have, need one.
    if rarest <= 1e-12 { 1 } else { ((1.0 / rarest - 1e-6).ceil() as u64).max(LEAST_SAMPLES) }
}
