//! What `measure` hands over, turned into rows of the schema.

use crate::distribution::{Curve, Distribution};
use crate::figures::FIGURES;
use crate::schema::*;
use measure::{HealthSample, HealthSummary, IntervalRow, RunTotals, Series};
use units::{EngineCounters, Group, Picos};

/// How long the measured part was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// The plan says it, and the run was not stopped.
    Planned(Picos),
    /// Known only from the departures: an open loop that was stopped, or whose shape has no even rate.
    Departures,
    /// A closed loop until its last answer: a number of requests, or stopped.
    Answers,
}

/// Lengths of time that rates are computed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spans {
    /// In which departures of the measured part were due: `offered_per_s = offered / offering`.
    pub offering: Picos,
    /// Complete answers, and the time in which they came: `achieved_per_s = answered / answering`.
    pub answered: u64,
    pub answering: Picos,
    /// Until the last answer, if that came after `answering`: what bytes a second are over.
    pub until_last: Picos,
}

impl Spans {
    /// - Planned: answers in that time count, and no others ([`RunTotals::done_by_the_end`]): so what is
    ///   printed obeys Little's law, and a target that falls behind by a second each second has achieved half.
    /// - From departures: offering lasts until the last due time and one mean gap (n departures at even gaps
    ///   take n gaps), or where some were given up until the last that left. All answers count, until the last
    ///   one less the smallest latency.
    /// - From answers: a closed loop offers as long as it is answered, so both last until the last answer.
    ///
    /// None is zero if anything was answered: a single departure has no gap, and lasts as long as its answer
    /// took. A single frame has neither gap nor answer, so it has no rate.
    pub fn of(totals: &RunTotals, measured: Measured) -> Self {
        let whole = totals.until_last_done.max(totals.until_last_due);
        let whole = if whole.is_zero() { totals.measured } else { whole };
        let all = |offering, answering: Picos| Self {
            offering,
            answered: totals.tally.done,
            answering,
            until_last: whole.max(answering),
        };
        match measured {
            Measured::Planned(length) => Self { answered: totals.done_by_the_end(), ..all(length, length) },
            Measured::Answers => all(whole, whole),
            Measured::Departures => {
                let gaps = totals.offered().saturating_sub(1);
                let mean_gap = totals.until_last_due.as_picos().checked_div(gaps).unwrap_or(0);
                let offering = totals.until_last_due + Picos::from_picos(mean_gap);
                // What was given up was due after what left, up to the end: the load lasted as long as the run.
                let offering = if totals.bulk_missed > 0 { offering.max(whole) } else { offering };
                let latency = totals.series.of(Series::Latency);
                if latency.is_empty() && totals.offered() == 1 {
                    return Self { until_last: Picos::ZERO, ..all(Picos::ZERO, Picos::ZERO) };
                }
                if offering.is_zero() {
                    return all(whole, whole);
                }
                let smallest = if latency.is_empty() { 0 } else { latency.min() };
                let answering = totals.until_last_done.saturating_sub(Picos::from_nanos(smallest));
                all(offering, answering.max(offering))
            }
        }
    }
}

impl RunResult {
    /// Fills every figure from the run's totals. `group_names` are in the order of the groups' indices; groups
    /// in which nothing ended are left out.
    pub fn fill(
        &mut self,
        totals: &RunTotals,
        verdict: &measure::Verdict,
        health: &HealthSummary,
        spans: Spans,
        group_names: &[String],
    ) {
        self.schema = SCHEMA.to_owned();
        self.verdict = verdict.into();
        self.totals = Totals::of(totals);
        self.rate = spans.rates(&self.totals);
        self.warmup.count = totals.warmup.ended();
        self.fill_times(totals);
        self.fidelity = totals.fidelity().map(|fidelity| Fidelity {
            process: fidelity.process.key().to_owned(),
            gaps: fidelity.gaps,
            distance: fidelity.distance,
            limit: fidelity.limit,
        });
        self.outcomes = outcomes(totals.outcomes.rows());
        self.groups = groups(totals, group_names);
        self.names_folded = Group::are_folded(group_names.iter().map(String::as_str));
        let EngineCounters { opened, attempts, open_peak, .. } = totals.counters;
        self.connections = Connections { opened, attempts, open_peak, ..Connections::default() };
        self.generator.fill(totals, health);
    }

    fn fill_times(&mut self, totals: &RunTotals) {
        self.fill_series(
            |kind| Distribution::with_unfinished(totals.series.of(kind), totals.series.unfinished(kind)),
            |kind| Curve::with_unfinished(totals.series.of(kind), totals.series.unfinished(kind)),
        );
        let clamped: u64 = Series::ALL.iter().map(|kind| totals.series.clamped(*kind)).sum();
        if clamped > 0 {
            self.notes.push(format!("{clamped} times were longer than one hour and are kept as one hour"));
        }
    }
}

impl RunResult {
    /// The figures of every series, and the curves that are drawn.
    pub(crate) fn fill_series(
        &mut self,
        of: impl Fn(Series) -> Distribution,
        curve: impl Fn(Series) -> Curve,
    ) {
        self.net_ns = of(Series::Net);
        self.tare_ns = of(Series::Tare);
        self.unread_ns = of(Series::Unread);
        self.unread_bound_ns = of(Series::UnreadBound);
        self.unfinished_ns = of(Series::Unfinished);
        self.latency_ns = of(Series::Latency);
        self.service_ns = of(Series::Service);
        self.lateness_ns = of(Series::Lateness);
        self.own_lateness_ns = of(Series::OwnLateness);
        self.lookup_ns = of(Series::Lookup);
        self.connect_ns = of(Series::Connect);
        self.tls_ns = of(Series::Tls);
        self.ready_ns = of(Series::Ready);
        self.first_byte_ns = of(Series::FirstByte);
        self.body_ns = of(Series::Body);
        self.first_response_ns = of(Series::FirstResponse);
        self.failed_ns = of(Series::Failed);
        self.gap_error_ns = of(Series::GapError);
        self.curves = Curves {
            net_ns: curve(Series::Net),
            latency_ns: curve(Series::Latency),
            service_ns: curve(Series::Service),
            lateness_ns: curve(Series::Lateness),
        };
    }
}

impl Spans {
    fn rates(self, totals: &Totals) -> Rates {
        let per_second = |count: u64, span: Picos| {
            if span.is_zero() { 0.0 } else { count as f64 / span.as_secs_f64() }
        };
        Rates {
            offered_per_s: per_second(totals.offered, self.offering),
            achieved_per_s: per_second(self.answered, self.answering),
            duration_s: self.offering.as_secs_f64(),
            bytes_over_s: self.until_last.as_secs_f64(),
            done_after_end: totals.done.saturating_sub(self.answered),
        }
    }
}

impl Totals {
    fn of(totals: &RunTotals) -> Self {
        let tally = totals.tally;
        Self {
            offered: totals.offered(),
            sent: tally.sent(),
            done: tally.done,
            failed: tally.failed,
            missed: tally.missed,
            cut_off: tally.cut_off,
            bytes_out: tally.bytes_out.get(),
            bytes_in: tally.bytes_in.get(),
            wire_out: totals.counters.wire_out,
            wire_in: totals.counters.wire_in,
            body_in: totals.counters.body_in,
            sent_again: totals.counters.sent_again,
        }
    }
}

impl From<measure::Word> for Word {
    fn from(word: measure::Word) -> Self {
        match word {
            measure::Word::Valid => Self::Valid,
            measure::Word::Degraded => Self::Degraded,
            measure::Word::Invalid => Self::Invalid,
        }
    }
}

impl From<&measure::Verdict> for Verdict {
    fn from(verdict: &measure::Verdict) -> Self {
        let criterion = |from: &measure::Criterion| Criterion {
            name: from.id.into(),
            value: from.value,
            limit: from.limit,
            invalid_limit: from.invalid_limit,
            sense: match from.id.about().sense {
                measure::Sense::AtMost => Sense::AtMost,
                measure::Sense::AtLeast => Sense::AtLeast,
            },
            unit: from.id.about().unit.key().to_owned(),
            holds: from.holds,
            severity: from.severity.into(),
            advice: from.advice.clone(),
        };
        Self { word: verdict.word().into(), criteria: verdict.criteria().iter().map(criterion).collect() }
    }
}

fn outcomes(from: Vec<measure::OutcomeCount>) -> Vec<OutcomeCount> {
    let row = |row: measure::OutcomeCount| match row.outcome {
        Some(outcome) => OutcomeCount::of(outcome, row.count),
        None => OutcomeCount::of_class(row.class, row.count),
    };
    from.into_iter().map(row).collect()
}

fn groups(totals: &RunTotals, names: &[String]) -> Vec<GroupResult> {
    let last = totals.groups().len().saturating_sub(1);
    let name = |index: usize| match names.get(index) {
        Some(name) => name.clone(),
        None if index == last => "other".to_owned(),
        None => format!("group {index}"),
    };
    let all = totals.groups().iter().enumerate().filter(|(_, group)| group.tally.ended() > 0);
    all.map(|(index, group)| {
        let mut figures = GroupResult {
            name: name(index),
            count: group.tally.ended(),
            latency_ns: Distribution::with_unfinished(&group.latency, Some(&group.unfinished)),
            outcomes: outcomes(group.outcomes.rows(&group.tally)),
            statuses: None,
        };
        figures.statuses = figures.statuses().is_none().then_some(group.tally.by_class);
        figures
    })
    .collect()
}

impl Generator {
    /// `clock` and `io` are left as they are.
    fn fill(&mut self, totals: &RunTotals, health: &HealthSummary) {
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let cpu_ns = health.cpu_ns;
        let spun_ns = health.spun_ns.min(cpu_ns);
        // What never left cost next to nothing: a rate far beyond the generator must not look cheap.
        let left = totals.tally.sent() + totals.warmup.sent();
        let worked_s = seconds(cpu_ns - spun_ns);
        *self = Self {
            threads: health.threads.iter().map(ThreadHealth::from).collect(),
            cpu_s: seconds(cpu_ns),
            spun_s: seconds(spun_ns),
            cpu_s_per_million: (left > 0 && cpu_ns > 0).then(|| worked_s / (left as f64 / 1e6)),
            cost_each: health.cost(left).map(CostEach::from),
            steal_share: steal_share(&health.cores, health.span_ns),
            rss_peak_bytes: (health.rss_peak_bytes > 0).then_some(health.rss_peak_bytes),
            anon_peak_bytes: (health.anon_peak_bytes > 0).then_some(health.anon_peak_bytes),
            descriptors_left: health.descriptors_left_least,
            ports_left: health.ports_left_least,
            time_wait_peak: health.time_wait_peak,
            retransmits: health.retransmits,
            tcp_timeouts: health.tcp_timeouts,
            listen_overflows: health.listen_overflows,
            listen_drops: health.listen_drops,
            dropped: health.dropped,
            links_lost: health.links_lost,
            throttled: health.throttled,
            throttled_ns: health.throttled_ns,
            late: totals.counters.late,
            starved: totals.starved,
            lost_threads: totals.lost_threads,
            pauses: totals.counters.pauses,
            paused_ns: totals.counters.paused.as_nanos(),
            longest_pauses: totals.longest_pauses().into_iter().map(Pause::from).collect(),
            arrivals: self.arrivals.take(),
            clock: std::mem::take(&mut self.clock),
            io: std::mem::take(&mut self.io),
        };
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.count(totals);
        }
    }
}

impl From<measure::Cost> for CostEach {
    fn from(cost: measure::Cost) -> Self {
        Self { user_ns: cost.user_ns, system_ns: cost.system_ns, softirq_ns: cost.softirq_ns }
    }
}

impl Arrivals {
    /// What came of it.
    pub fn count(&mut self, totals: &RunTotals) {
        let counters = &totals.counters;
        self.stamped = counters.stamped;
        self.unstamped = counters.unstamped;
        self.contradicted = counters.contradicted;
    }
}

impl From<(Picos, Picos)> for Pause {
    fn from((at, length): (Picos, Picos)) -> Self {
        Self { t_s: at.as_secs_f64(), length_ns: length.as_nanos() }
    }
}

impl From<&measure::ThreadHealth> for ThreadHealth {
    fn from(thread: &measure::ThreadHealth) -> Self {
        Self {
            tid: thread.tid,
            core: thread.core,
            cpu_share: thread.cpu_share(),
            spun_share: thread.cpu_share() - thread.work_share(),
            run_queue_wait_ns: thread.runqueue_ns,
            others_share: thread.others_share(),
            stolen_share: thread.stolen_share(),
            target_waited_ns: thread.target_waited_ns,
            others_waited_ns: thread.others_waited_ns,
            switches_voluntary: thread.voluntary,
            switches_involuntary: thread.involuntary,
        }
    }
}

impl From<&measure::ThreadHealth> for IntervalThread {
    fn from(thread: &measure::ThreadHealth) -> Self {
        Self {
            cpu_share: thread.cpu_share(),
            spun_share: thread.cpu_share() - thread.work_share(),
            run_queue_wait_ns: thread.runqueue_ns,
            stolen_share: thread.stolen_share(),
        }
    }
}

/// Of all CPUs together; `None` where no CPU was sampled.
fn steal_share(cores: &[measure::CoreHealth], span_ns: u64) -> Option<f64> {
    let stolen: u64 = cores.iter().map(|core| core.steal_ns).sum();
    (!cores.is_empty() && span_ns > 0).then(|| share(stolen, span_ns.saturating_mul(cores.len() as u64)))
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl From<&IntervalRow> for Interval {
    fn from(row: &IntervalRow) -> Self {
        let tally = row.data.tally;
        let mut interval = Self {
            t_s: row.start.as_secs_f64(),
            length_s: row.length.as_secs_f64(),
            offered: row.offered(),
            sent: tally.sent(),
            done: tally.done,
            failed: tally.failed,
            missed: tally.missed,
            cut_off: tally.cut_off,
            warmup: row.data.warmup.ended(),
            bytes_out: tally.bytes_out.get(),
            bytes_in: tally.bytes_in.get(),
            outcomes: outcomes(row.data.outcomes.rows()),
            open: row.counters.open,
            pauses: row.counters.pauses,
            paused_ns: row.counters.paused.as_nanos(),
            longest_pause_ns: row.data.pauses.iter().map(|(_, length)| length.as_nanos()).max().unwrap_or(0),
            ..Self::default()
        };
        for figure in &FIGURES {
            let histogram = row.data.series.of(figure.of);
            *(figure.field)(&mut interval) = (!histogram.is_empty())
                .then(|| histogram.value_at_quantile(figure.quantile).min(histogram.max()));
        }
        interval.with_health(row.health.as_ref())
    }
}

impl Interval {
    fn with_health(self, health: Option<&HealthSample>) -> Self {
        let Some(health) = health else { return self };
        let busiest = health.threads.iter().max_by_key(|thread| thread.cpu_ns);
        Self {
            cpu_share: busiest.map_or(0.0, |thread| share(thread.cpu_ns, health.span_ns)),
            spun_share: busiest
                .map_or(0.0, |thread| share(thread.spun_ns.min(thread.cpu_ns), health.span_ns)),
            steal_share: steal_share(&health.cores, health.span_ns),
            run_queue_wait_ns: health.threads.iter().map(|thread| thread.runqueue_ns).max(),
            rss_bytes: Some(health.rss_bytes),
            retransmits: health.retransmits,
            ports_left: health.ports_left,
            descriptors_left: health.descriptors_left,
            time_wait: health.time_wait,
            threads: health.threads.iter().map(IntervalThread::from).collect(),
            ..self
        }
    }
}
