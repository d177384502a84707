//! Several runs as one: what trials of the same plan come to together.
//!
//! Counts add, histograms add bucket by bucket; percentiles are those of the added buckets and never means of
//! percentiles. Rates are over the time of all runs. The runs follow each other on the time axis.

use crate::merge_packets::merge_packets;
use crate::read::StoredRun;
use crate::rebuild::fill_times;
use crate::run_histograms::RunHistograms;
use crate::schema::*;
use crate::series::{BoundedIntervals, add_outcomes, by};
use crate::sink::take_intervals;
use crate::stored_timeline::TimelineOfRuns;
use crate::timeline::Timeline;

/// Adds up runs. Of nothing it is an empty result, of one run that run under another name.
pub fn merge_runs(runs: &[StoredRun]) -> RunResult {
    let mut all = frame(runs);
    let histograms: Vec<RunHistograms> = runs.iter().map(StoredRun::histograms).collect();
    for run in runs {
        add_counts(&mut all, &run.result);
        add_generator(&mut all.generator, &run.result.generator);
    }
    all.rate = rates(runs);
    all.verdict = worst(runs);
    add_words(&mut all, runs);
    let whole = add_histograms(&mut all, runs, &histograms);
    add_groups(&mut all, runs, whole.as_ref());
    let mut bounded = BoundedIntervals::default();
    let mut start_s = 0.0;
    for run in runs {
        let shifted = run.intervals().map(|row| Interval { t_s: row.t_s + start_s, ..row });
        shifted.for_each(|row| bounded.push(row));
        add_pauses(&mut all.generator.longest_pauses, &run.result.generator.longest_pauses, start_s);
        start_s += length_s(run);
    }
    take_intervals(&mut bounded, &mut all);
    all.packets = merge_packets(runs, &mut all.notes);
    all.names_folded = runs.iter().any(|run| run.result.names_folded);
    if runs.iter().any(|run| run.result.via.is_some() || run.result.tcp.is_some()) {
        all.notes.push(
            "what ports and connections past the kernel (--via) counted is not added up: see each run"
                .to_owned(),
        );
    }
    all
}

/// The runs after one another on one time axis, in at most `most` steps.
pub fn merged_timeline(runs: &[StoredRun], most: usize) -> Timeline {
    let rows = runs.iter().map(StoredRun::rows).sum();
    let mut timeline = TimelineOfRuns::new(most, rows);
    let mut start_s = 0.0;
    for run in runs {
        timeline.add(run.intervals(), &run.folder, start_s);
        start_s += length_s(run);
    }
    timeline.view()
}

/// Until the end of the last interval.
fn length_s(run: &StoredRun) -> f64 {
    run.result.intervals.last().map_or(0.0, |row| row.t_s + row.length_s)
}

/// What the runs are, in words.
fn frame(runs: &[StoredRun]) -> RunResult {
    let results = || runs.iter().map(|run| &run.result);
    let Some(first) = results().next() else { return RunResult::default() };
    let same = |of: fn(&RunResult) -> &str| {
        let value = of(first);
        if results().all(|result| of(result) == value) { value.to_owned() } else { String::new() }
    };
    let names: Vec<&str> = results().map(|result| result.run.as_str()).collect();
    let mut all = RunResult {
        schema: SCHEMA.to_owned(),
        engine: same(|result| &result.engine),
        run: format!("{} runs merged", runs.len()),
        plan_hash: same(|result| &result.plan_hash),
        version: same(|result| &result.version),
        command: same(|result| &result.command),
        target: same(|result| &result.target),
        load: format!("{} runs of: {}", runs.len(), first.load),
        started_at: results().map(|result| result.started_at.as_str()).min().unwrap_or("").to_owned(),
        partial: results().any(|result| result.partial),
        labels: vec![Label::Sentence(format!("merged from {}", names.join(", ")))],
        ..RunResult::default()
    };
    if all.plan_hash.is_empty() {
        all.notes.push("the merged runs had different plans".to_owned());
    }
    all
}

fn add_counts(all: &mut RunResult, one: &RunResult) {
    let (into, from) = (&mut all.totals, &one.totals);
    for (sum, count) in [
        (&mut into.offered, from.offered),
        (&mut into.sent, from.sent),
        (&mut into.done, from.done),
        (&mut into.failed, from.failed),
        (&mut into.missed, from.missed),
        (&mut into.cut_off, from.cut_off),
        (&mut into.bytes_out, from.bytes_out),
        (&mut into.bytes_in, from.bytes_in),
        (&mut into.wire_out, from.wire_out),
        (&mut into.wire_in, from.wire_in),
        (&mut into.body_in, from.body_in),
        (&mut into.sent_again, from.sent_again),
        (&mut all.warmup.count, one.warmup.count),
        (&mut all.connections.opened, one.connections.opened),
        (&mut all.connections.attempts, one.connections.attempts),
        (&mut all.connections.unclosed, one.connections.unclosed),
    ] {
        *sum = sum.saturating_add(count);
    }
    all.warmup.duration_s += one.warmup.duration_s;
    all.connections.open_peak = all.connections.open_peak.max(one.connections.open_peak);
    all.outcomes = add_outcomes(std::mem::take(&mut all.outcomes), &one.outcomes);
}

/// Times and counts add; of peaks and of what was left the worst is kept. Threads of all runs are listed.
fn add_generator(into: &mut Generator, from: &Generator) {
    into.threads.extend(from.threads.iter().cloned());
    into.cpu_s += from.cpu_s;
    into.spun_s += from.spun_s;
    into.cpu_s_per_million = by(f64::max, into.cpu_s_per_million, from.cpu_s_per_million);
    // Of several runs together there is no one departure to share it out to.
    into.cost_each = None;
    into.steal_share = by(f64::max, into.steal_share, from.steal_share);
    into.rss_peak_bytes = by(u64::max, into.rss_peak_bytes, from.rss_peak_bytes);
    into.anon_peak_bytes = by(u64::max, into.anon_peak_bytes, from.anon_peak_bytes);
    into.descriptors_left = by(u64::min, into.descriptors_left, from.descriptors_left);
    into.ports_left = by(u64::min, into.ports_left, from.ports_left);
    into.time_wait_peak = into.time_wait_peak.max(from.time_wait_peak);
    for (sum, count) in [
        (&mut into.retransmits, from.retransmits),
        (&mut into.tcp_timeouts, from.tcp_timeouts),
        (&mut into.listen_overflows, from.listen_overflows),
        (&mut into.listen_drops, from.listen_drops),
        (&mut into.dropped, from.dropped),
        (&mut into.links_lost, from.links_lost),
        (&mut into.throttled, from.throttled),
        (&mut into.throttled_ns, from.throttled_ns),
        (&mut into.late, from.late),
        (&mut into.pauses, from.pauses),
        (&mut into.paused_ns, from.paused_ns),
        (&mut into.starved, from.starved),
        (&mut into.lost_threads, from.lost_threads),
    ] {
        *sum = sum.saturating_add(count);
    }
    into.arrivals = match (into.arrivals.take(), &from.arrivals) {
        (None, arrivals) => arrivals.clone(),
        (Some(sum), None) => Some(sum),
        (Some(sum), Some(arrivals)) => Some(add_arrivals(sum, arrivals)),
    };
    for (into, from) in [(&mut into.clock, &from.clock), (&mut into.io, &from.io)] {
        if into.is_empty() {
            into.clone_from(from);
        } else if into != from && !into.ends_with(OTHERS) {
            into.push_str(OTHERS);
        }
    }
}

fn add_arrivals(sum: Arrivals, from: &Arrivals) -> Arrivals {
    let is_other = sum.by != from.by && !sum.why.ends_with(OTHERS);
    Arrivals {
        why: if is_other { sum.why + OTHERS } else { sum.why },
        stamped: sum.stamped.saturating_add(from.stamped),
        unstamped: sum.unstamped.saturating_add(from.unstamped),
        contradicted: sum.contradicted.saturating_add(from.contradicted),
        ..sum
    }
}

/// Behind what is not the same in all runs.
const OTHERS: &str = "; others differ";

/// The longest of all; each run's time begins at `start_s`.
fn add_pauses(into: &mut Vec<Pause>, from: &[Pause], start_s: f64) {
    into.extend(from.iter().map(|pause| Pause { t_s: pause.t_s + start_s, ..*pause }));
    into.sort_by_key(|pause| std::cmp::Reverse(pause.length_ns));
    into.truncate(measure::MOST_PAUSES);
}

/// Over the time of all runs: each run's rate counts by its length.
fn rates(runs: &[StoredRun]) -> Rates {
    let sum = |of: fn(&Rates) -> f64| runs.iter().map(|run| of(&run.result.rate)).sum::<f64>();
    let duration_s = sum(|rate| rate.duration_s);
    let over_all = |counted: f64| if duration_s > 0.0 { counted / duration_s } else { 0.0 };
    Rates {
        offered_per_s: over_all(sum(|rate| rate.offered_per_s * rate.duration_s)),
        achieved_per_s: over_all(sum(|rate| rate.achieved_per_s * rate.duration_s)),
        duration_s,
        bytes_over_s: sum(|rate| rate.bytes_over_s),
        done_after_end: runs.iter().map(|run| run.result.rate.done_after_end).fold(0, u64::saturating_add),
    }
}

/// The worst word, with every criterion that does not hold in some run.
fn worst(runs: &[StoredRun]) -> Verdict {
    let rank = |word: Word| match word {
        Word::Valid => 0,
        Word::Degraded => 1,
        Word::Invalid => 2,
    };
    let verdicts = || runs.iter().map(|run| &run.result.verdict);
    let failing = |run: &StoredRun| {
        let broken = run.result.verdict.criteria.iter().filter(|criterion| !criterion.holds);
        let told = |criterion: &Criterion| Criterion {
            advice: format!("in {}: {}", run.result.run, criterion.advice),
            ..criterion.clone()
        };
        broken.map(told).collect::<Vec<_>>()
    };
    Verdict {
        word: verdicts().map(|verdict| verdict.word).max_by_key(|word| rank(*word)).unwrap_or_default(),
        criteria: runs.iter().flat_map(failing).collect(),
    }
}

/// What is true of each run is true of all together; other labels name their run.
fn add_words(all: &mut RunResult, runs: &[StoredRun]) {
    let of_each = [Label::Interrupted, Label::Unreachable, Label::SimulatedTime]
        .into_iter()
        .filter(|label| !runs.is_empty() && runs.iter().all(|run| run.result.labels.contains(label)))
        .collect::<Vec<_>>();
    for run in runs {
        let (name, one) = (&run.result.run, &run.result);
        let labels = one.labels.iter().filter(|label| !of_each.contains(label));
        all.labels.extend(labels.map(|label| Label::Sentence(format!("{name}: {label}"))));
        all.notes.extend(one.notes.iter().map(|note| format!("{name}: {note}")));
        let told = |threshold: &Threshold| Threshold {
            expression: format!("{} (in {name})", threshold.expression),
            ..threshold.clone()
        };
        all.thresholds.extend(one.thresholds.iter().map(told));
        all.sinks.extend(one.sinks.iter().cloned());
    }
    all.labels.extend(of_each);
}

/// Distributions of the added buckets; `None`, and a note, if a run's log does not have all its times.
fn add_histograms(
    all: &mut RunResult,
    runs: &[StoredRun],
    histograms: &[RunHistograms],
) -> Option<RunHistograms> {
    let lacking = runs.iter().zip(histograms).find(|(run, histograms)| !histograms.has_all_of(&run.result));
    if let Some((run, _)) = lacking {
        all.notes.push(format!(
            "latency.hlog of {} is missing or damaged: histograms could not be added, so there are no percentiles of all runs",
            run.result.run
        ));
        return None;
    }
    let mut whole = RunHistograms::default();
    histograms.iter().for_each(|histograms| whole.add(histograms));
    let opened = all.connections.opened;
    fill_times(all, &whole);
    all.connections.opened = opened;
    Some(whole)
}

/// Names in the order in which they first come.
fn add_groups(all: &mut RunResult, runs: &[StoredRun], whole: Option<&RunHistograms>) {
    for group in runs.iter().flat_map(|run| &run.result.groups) {
        let at = all.groups.iter().position(|known| known.name == group.name).unwrap_or_else(|| {
            all.groups.push(GroupResult { name: group.name.clone(), ..GroupResult::default() });
            all.groups.len() - 1
        });
        let into = &mut all.groups[at];
        let statuses = into.statuses().zip(group.statuses());
        let is_kept = into.statuses.is_some() || group.statuses.is_some();
        into.statuses = statuses.filter(|_| is_kept).map(|(into, from)| add_statuses(into, from));
        into.count = into.count.saturating_add(group.count);
        into.outcomes = add_outcomes(std::mem::take(&mut into.outcomes), &group.outcomes);
        into.latency_ns.count = into.latency_ns.count.saturating_add(group.latency_ns.count);
    }
    for group in &mut all.groups {
        let figures = whole.map(|whole| whole.figures_of_group(&group.name));
        let complete = figures.filter(|figures| figures.count == group.latency_ns.count);
        group.latency_ns = complete.unwrap_or_default();
    }
}

fn add_statuses(mut into: [u64; 10], from: [u64; 10]) -> [u64; 10] {
    into.iter_mut().zip(from).for_each(|(sum, count)| *sum = sum.saturating_add(count));
    into
}
