//! Limits between the crates: made ready before a run, told after it, and held against a run that was stored.

use crate::status::Failure;
use crate::stored_windows;
use anyhow::anyhow;
use measure::{
    Aborted, Histogram, Judgement, Label, Measuring, Met, Reading, RunTotals, Series, Thresholds, WholeRun,
};
use plan::{Bound, Figure, LOWEST_ERROR_STATUS, Limit, Limits, Requests, Statistic, Time, Way};
use std::cell::OnceCell;
use store::schema::{GroupResult, OutcomeCount, Threshold};
use store::{Distribution, RunHistograms, RunResult, Spans, StoredRun};
use units::{Count, Group, Outcome, OutcomeClass};

/// The plan's limits, ready to be watched. `names` are those of the engine's groups.
pub fn watch(limits: &Limits, names: &[String], measuring: Measuring) -> Result<Thresholds, Failure> {
    Thresholds::new(limits, names, measuring).map_err(|error| {
        let place = limits.place_of(&error.limit);
        Failure::wrong(anyhow!("{place}: {error}"))
    })
}

/// Why a run was ended early: its label.
pub fn label(aborted: &Aborted) -> Label {
    let least = if aborted.is_bound { "≥ " } else { "" };
    let value = format!("{least}{}", report::in_unit(aborted.value, aborted.limit.bound.unit()));
    Label::Aborted { limit: aborted.limit.to_string(), reading: format!("{value} after {:#}", aborted.at) }
}

/// What came of each limit, as rows of the result.
pub fn judge(thresholds: Thresholds, totals: &RunTotals, spans: Spans) -> Vec<Threshold> {
    let whole = WholeRun {
        offering: spans.offering,
        answered: Count::new(spans.answered),
        answering: spans.answering,
        until_last: spans.until_last,
    };
    thresholds.finish(totals, whole).into_iter().map(row).collect()
}

fn row(judgement: Judgement) -> Threshold {
    let Judgement { limit, value, is_bound, holds, aborts, at } = judgement;
    Threshold {
        expression: limit.to_string(),
        value,
        is_bound,
        limit: limit.bound.as_f64(),
        unit: limit.bound.unit().to_owned(),
        holds,
        aborts,
        window_s: limit.window.map(units::Picos::as_secs_f64),
        name: limit.name.unwrap_or_default(),
        at_s: at.map(units::Picos::as_secs_f64),
    }
}

/// Holds limits, as typed, against what was stored of `runs`, which add up to `result`; puts what came of them
/// into it. Whether all hold.
pub fn hold_against(result: &mut RunResult, runs: &[StoredRun], typed: &[String]) -> Result<bool, Failure> {
    let mut judged = Vec::with_capacity(typed.len());
    let stored = Stored { result, runs, histograms: OnceCell::new() };
    for text in typed {
        let limit: Limit = text.parse().map_err(|error| Failure::wrong(anyhow!("--fail-if: {error}")))?;
        let threshold = stored.judge(&limit);
        judged.push(threshold.map_err(|why| Failure::wrong(anyhow!("--fail-if: {limit}: {why}")))?);
    }
    let all_hold = judged.iter().all(|threshold| threshold.holds);
    result.thresholds.extend(judged);
    Ok(all_hold)
}

/// Figures of a stored run.
struct Stored<'a> {
    result: &'a RunResult,
    /// Where the histograms are, for percentiles that the result has not.
    runs: &'a [StoredRun],
    histograms: OnceCell<RunHistograms>,
}

impl Stored<'_> {
    fn judge(&self, limit: &Limit) -> Result<Threshold, String> {
        let group = match &limit.name {
            None => None,
            Some(name) => {
                let found = self.result.groups.iter().find(|group| group.name == *name);
                Some(found.ok_or_else(|| self.unknown(name))?)
            }
        };
        if limit.window.is_some() {
            return self.window(limit, group);
        }
        let value = match limit.figure {
            Figure::Time(time, statistic) => self.time(time, statistic, group)?,
            _ => self.value(limit, group)?.map(Reading::exact),
        };
        // What an older or a damaged result lacks is unknown, and nothing holds for it.
        let value = value.filter(|value| value.value.is_finite());
        Ok(row(Judgement {
            limit: limit.clone(),
            value: value.map(|value| value.value),
            is_bound: value.is_some_and(|value| value.is_bound),
            holds: value.is_some_and(|value| value.meets(limit) == Met::No),
            aborts: false,
            at: None,
        }))
    }

    fn unknown(&self, name: &str) -> String {
        let name = report::printable(name);
        match self.result.names_folded {
            true => format!(
                "this run has no figures for the name '{name}', only for its first {} names and '{}' (all others)",
                Group::MOST_NAMES,
                Group::OTHER
            ),
            false => format!("this run has no requests named '{name}'"),
        }
    }

    fn window(&self, limit: &Limit, group: Option<&GroupResult>) -> Result<Threshold, String> {
        let [run] = self.runs else {
            return Err("merged runs have no windows; check the limit against each run".to_owned());
        };
        let times = match limit.figure {
            Figure::Time(time, _) => {
                let figures = group.map_or_else(|| figures(self.result, time), |group| &group.latency_ns);
                Some(figures.count)
            }
            _ => None,
        };
        stored_windows::judge(run, limit, times).map(row)
    }

    fn value(&self, limit: &Limit, group: Option<&GroupResult>) -> Result<Option<f64>, String> {
        let (rate, totals) = (&self.result.rate, &self.result.totals);
        let over = |count: u64, seconds: f64| (seconds > 0.0).then(|| count as f64 / seconds);
        Ok(match limit.figure {
            Figure::Time(..) => None,
            Figure::Requests(requests) => {
                let count = match group {
                    Some(group) => counted_by_name(requests, group)?,
                    None => counted(requests, &self.result.outcomes),
                };
                let all = group.map_or(totals.offered, |group| group.count);
                match limit.bound {
                    Bound::Share(_) => (all > 0).then(|| count as f64 / all as f64),
                    _ => Some(count as f64),
                }
            }
            Figure::Offered => match limit.bound {
                Bound::Rate(_) => (rate.duration_s > 0.0).then_some(rate.offered_per_s),
                _ => Some(totals.offered as f64),
            },
            Figure::Achieved => match limit.bound {
                Bound::Share(_) => {
                    (rate.offered_per_s > 0.0).then(|| rate.achieved_per_s / rate.offered_per_s)
                }
                _ => Some(rate.achieved_per_s),
            },
            Figure::Bytes(_) if group.is_some() => {
                return Err(
                    "a stored run has no bytes by name; give this limit when you run the load".to_owned()
                );
            }
            Figure::Bytes(way) => {
                let count = if way == Way::In { totals.bytes_in } else { totals.bytes_out };
                match limit.bound {
                    Bound::BytesPerSecond(_) => over(count, rate.bytes_over_s.max(rate.duration_s)),
                    _ => Some(count as f64),
                }
            }
        })
    }

    fn time(
        &self,
        time: Time,
        statistic: Statistic,
        group: Option<&GroupResult>,
    ) -> Result<Option<Reading>, String> {
        let figures = group.map_or_else(|| figures(self.result, time), |group| &group.latency_ns);
        let (known, quantile, wanted) = match statistic {
            _ if figures.says_nothing() => return Ok(None),
            Statistic::Percentile(wanted) => {
                (figures.percentile(wanted.quantile()), wanted.quantile(), wanted.to_string())
            }
            Statistic::Max => (figures.percentile(1.0), 1.0, "the maximum".to_owned()),
            _ => return Ok(read(figures, statistic).map(Reading::exact)),
        };
        if let Some(value) = known.filter(|_| figures.bound_from.is_none()) {
            return Ok(Some(Reading::exact(value as f64)));
        }
        match (self.times(time, group), known) {
            (Some((times, unfinished)), _) => Ok(Reading::of(&times, unfinished.as_ref(), quantile)),
            // All that is known is that it is a bound.
            (None, Some(value)) if figures.is_bound(quantile) => Ok(Some(Reading::at_least(value as f64))),
            (None, Some(value)) => Ok(Some(Reading::exact(value as f64))),
            (None, None) if is_kept(quantile) => Ok(None),
            (None, None) => {
                Err(format!(" {KEPT}; {wanted} needs its latency.hlog, which is missing or incomplete"))
            }
        }
    }

    /// From the log, if it has so many: complete answers, and what never came to one.
    fn times(
        &self,
        time: Time,
        group: Option<&GroupResult>,
    ) -> Option<(Histogram<u64>, Option<Histogram<u64>>)> {
        let figures = group.map_or_else(|| figures(self.result, time), |group| &group.latency_ns);
        let all = self.histograms.get_or_init(|| {
            self.runs.iter().fold(RunHistograms::default(), |mut all, run| {
                all.add(&run.histograms());
                all
            })
        });
        let series = Series::of_key(time.key())?;
        let (times, unfinished) = match group {
            Some(group) => (all.group(&group.name), all.unfinished_of_group(&group.name)),
            None => (Some(all.series(series)), all.unfinished(series)),
        };
        let times = times.filter(|times| times.len() == figures.count)?;
        // Nothing that never ended would make all of them exact.
        let is_whole = series.unfinished().is_none()
            || all.has_unfinished_of(self.result) && unfinished.is_some() == figures.bound_from.is_some();
        is_whole.then_some((times, unfinished))
    }
}

fn figures(result: &RunResult, time: Time) -> &Distribution {
    match time {
        Time::Net => &result.net_ns,
        Time::Tare => &result.tare_ns,
        Time::Unread => &result.unread_ns,
        Time::Latency => &result.latency_ns,
        Time::Service => &result.service_ns,
        Time::Lateness => &result.lateness_ns,
        Time::OwnLateness => &result.own_lateness_ns,
        Time::Lookup => &result.lookup_ns,
        Time::Connect => &result.connect_ns,
        Time::Tls => &result.tls_ns,
        Time::Ready => &result.ready_ns,
        Time::FirstByte => &result.first_byte_ns,
        Time::FirstResponse => &result.first_response_ns,
        Time::Body => &result.body_ns,
        Time::GapError => &result.gap_error_ns,
    }
}

/// Whether a whole result has this percentile.
fn is_kept(quantile: f64) -> bool {
    Distribution::SHARES.into_iter().chain([1.0]).any(|kept| kept == quantile)
}

const KEPT: &str = "a stored run has p50, p75, p90, p95, p99, p99.9 and p99.99";

/// A statistic that is no percentile.
fn read(figures: &Distribution, statistic: Statistic) -> Option<f64> {
    match statistic {
        _ if figures.is_empty() => None,
        Statistic::Mean => Some(figures.mean),
        Statistic::Stdev => Some(figures.stdev),
        Statistic::Min => figures.least().map(|least| least as f64),
        Statistic::Max | Statistic::Percentile(_) => figures.percentile(1.0).map(|most| most as f64),
    }
}

/// A name with many different outcomes has some of them in sums only.
fn counted_by_name(requests: Requests, group: &GroupResult) -> Result<u64, String> {
    let hundreds = match requests {
        Requests::Status(low, high) => usize::from(low / 100)..=usize::from(high / 100),
        Requests::Errors => usize::from(LOWEST_ERROR_STATUS / 100)..=9,
        _ => return Ok(counted(requests, &group.outcomes)),
    };
    let statuses = group.statuses().ok_or_else(|| {
        let name = report::printable(&group.name);
        format!("for '{name}', this run does not record every status; give this limit when you run the load")
    })?;
    let failed = if requests == Requests::Errors { counted(Requests::Failed, &group.outcomes) } else { 0 };
    Ok(statuses[hundreds].iter().sum::<u64>() + failed)
}

fn counted(requests: Requests, outcomes: &[OutcomeCount]) -> u64 {
    let sum = |is_one: &dyn Fn(&OutcomeCount) -> bool| -> u64 {
        outcomes.iter().filter(|row| is_one(row)).map(|row| row.count).sum()
    };
    let of = |class| sum(&|row| row.is(class));
    let ended = |outcome| sum(&|row| row.outcome() == Some(outcome));
    match requests {
        Requests::Done => of(OutcomeClass::Status),
        Requests::Failed => of(OutcomeClass::Error),
        Requests::Missed => of(OutcomeClass::Missed),
        Requests::CutOff => of(OutcomeClass::CutOff),
        Requests::Errors => sum(&OutcomeCount::is_error),
        Requests::Status(low, high) => {
            sum(&|row| row.status().is_some_and(|code| (low..=high).contains(&code)))
        }
        Requests::Error(cause) => ended(Outcome::Failed(cause)),
        Requests::ErrorsIn(part) => {
            sum(&|row| matches!(row.outcome(), Some(Outcome::Failed(cause)) if cause.part() == part))
        }
        Requests::MissedFor(why) => ended(Outcome::Missed(why)),
    }
}

#[cfg(test)]
mod tests;
