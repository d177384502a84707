//! Intervals in bounded memory: at most [`MAX_INTERVALS`] rows, whatever the length of the run.
//!
//! ```text
//! rows 1 s each:  ▪▪▪▪▪▪▪▪ … 4 000   one more ──►  pairs added up: 2 000 rows of 2 s, then 4 000, then 4 s…
//! ```
//!
//! Merging adds counts and takes the largest of maxima and gauges (of what is left, the least): both are exact.
//! A percentile of two rows cannot be had from two percentiles, so a merged row has none; `intervals.jsonl` in
//! the run folder keeps every row as it was.
//!
//! Rows wait for the end of the run, so they are packed: a row alone takes 1.5 KB, and 5 MB in an hour; packed,
//! a tenth of that. They are needed once, when the result is made, and are packed as the JSON that they become
//! there.

use crate::packs::{PACK, pack, unpack};
use crate::schema::{Interval, IntervalThread, OutcomeCount, Series, StoredClass};
use units::OutcomeClass;

/// Rows of `result.json` at most: one hour at one a second, and what still comes after it.
pub const MAX_INTERVALS: usize = 4_000;

/// Points of a sparkline at most.
const MAX_POINTS: usize = 120;

/// Collects rows, and merges neighbours when there are too many.
#[derive(Clone, Debug)]
pub struct BoundedIntervals {
    /// Packs of [`PACK`] rows, the oldest first.
    packs: Vec<Box<[u8]>>,
    /// The rows behind them, fewer than a pack.
    rows: Vec<Interval>,
    most: usize,
    /// How many pushed rows make one kept row.
    merged: u64,
    /// A row that does not have all its parts yet, and how many it has.
    open: Option<(Interval, u64)>,
}

impl Default for BoundedIntervals {
    fn default() -> Self {
        Self::with_most(MAX_INTERVALS)
    }
}

impl BoundedIntervals {
    /// Keeps at most `most` rows (at least 2).
    pub fn with_most(most: usize) -> Self {
        Self { packs: Vec::new(), rows: Vec::new(), most: most.max(2), merged: 1, open: None }
    }

    pub fn push(&mut self, row: Interval) {
        let (row, parts) = match self.open.take() {
            Some((open, parts)) => (merge(open, &row), parts + 1),
            None => (row, 1),
        };
        if parts < self.merged {
            self.open = Some((row, parts));
            return;
        }
        if self.packs.len() * PACK + self.rows.len() == self.most {
            self.merge_pairs();
            // The row at hand is now half of one, or the second half of the odd one that was left.
            match self.open.take() {
                Some((open, _)) => self.keep(merge(open, &row)),
                None => self.open = Some((row, self.merged / 2)),
            }
            return;
        }
        self.keep(row);
    }

    fn keep(&mut self, row: Interval) {
        self.rows.push(row);
        if self.rows.len() == PACK {
            self.packs.push(pack(&self.rows));
            self.rows.clear();
        }
    }

    /// All rows so far, which leave.
    fn drain(&mut self) -> impl Iterator<Item = Interval> + use<> {
        let (packs, rows) = (std::mem::take(&mut self.packs), std::mem::take(&mut self.rows));
        packs.into_iter().flat_map(|pack| unpack::<Interval>(&pack)).chain(rows)
    }

    fn merge_pairs(&mut self) {
        let mut pairs = self.drain();
        while let Some(first) = pairs.next() {
            match pairs.next() {
                Some(second) => self.keep(merge(first, &second)),
                None => self.open = Some((first, self.merged)),
            }
        }
        self.merged *= 2;
    }

    /// The rows, and how many pushed rows make one of them (the last may have fewer).
    pub fn finish(mut self) -> (Vec<Interval>, u64) {
        let open = self.open.take().map(|(row, _)| row);
        (self.drain().chain(open).collect(), self.merged)
    }
}

/// `first` followed by `second`, as one row without percentiles.
pub fn merge(first: Interval, second: &Interval) -> Interval {
    Interval {
        t_s: first.t_s,
        length_s: first.length_s + second.length_s,
        offered: first.offered.saturating_add(second.offered),
        sent: first.sent.saturating_add(second.sent),
        done: first.done.saturating_add(second.done),
        failed: first.failed.saturating_add(second.failed),
        missed: first.missed.saturating_add(second.missed),
        cut_off: first.cut_off.saturating_add(second.cut_off),
        warmup: first.warmup.saturating_add(second.warmup),
        bytes_out: first.bytes_out.saturating_add(second.bytes_out),
        bytes_in: first.bytes_in.saturating_add(second.bytes_in),
        net_max_ns: first.net_max_ns.max(second.net_max_ns),
        tare_max_ns: first.tare_max_ns.max(second.tare_max_ns),
        latency_max_ns: first.latency_max_ns.max(second.latency_max_ns),
        lateness_max_ns: first.lateness_max_ns.max(second.lateness_max_ns),
        outcomes: add_outcomes(first.outcomes, &second.outcomes),
        pauses: first.pauses.saturating_add(second.pauses),
        paused_ns: first.paused_ns.saturating_add(second.paused_ns),
        longest_pause_ns: first.longest_pause_ns.max(second.longest_pause_ns),
        open: first.open.max(second.open),
        cpu_share: first.cpu_share.max(second.cpu_share),
        spun_share: first.spun_share.max(second.spun_share),
        steal_share: by(f64::max, first.steal_share, second.steal_share),
        run_queue_wait_ns: first.run_queue_wait_ns.max(second.run_queue_wait_ns),
        rss_bytes: first.rss_bytes.max(second.rss_bytes),
        retransmits: first.retransmits.saturating_add(second.retransmits),
        ports_left: by(u64::min, first.ports_left, second.ports_left),
        descriptors_left: by(u64::min, first.descriptors_left, second.descriptors_left),
        time_wait: first.time_wait.max(second.time_wait),
        threads: most_of_threads(first.threads, &second.threads),
        ..Interval::default()
    }
}

/// Of two figures that may be absent.
pub fn by<T>(choose: impl Fn(T, T) -> T, a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(choose(a, b)),
        (a, b) => a.or(b),
    }
}

/// Counts of the same outcome added, in the order statuses, errors, missed, cut off.
pub fn add_outcomes(mut into: Vec<OutcomeCount>, from: &[OutcomeCount]) -> Vec<OutcomeCount> {
    for outcome in from {
        match into.iter_mut().find(|known| known.is_as(outcome)) {
            Some(known) => known.count = known.count.saturating_add(outcome.count),
            None => {
                let place = into.partition_point(|known| rank(known) <= rank(outcome));
                into.insert(place, outcome.clone());
            }
        }
    }
    into
}

/// Classes in their order, what this version does not know last; statuses by their codes.
fn rank(outcome: &OutcomeCount) -> (usize, Option<u16>) {
    let class = match &outcome.class {
        StoredClass::Known(class) => class.index(),
        StoredClass::Older(_) | StoredClass::Other(_) => OutcomeClass::ALL.len(),
    };
    (class, outcome.status().filter(|_| class == OutcomeClass::Status.index()))
}

fn most_of_threads(mut into: Vec<IntervalThread>, from: &[IntervalThread]) -> Vec<IntervalThread> {
    into.resize(into.len().max(from.len()), IntervalThread::default());
    for (into, from) in into.iter_mut().zip(from) {
        into.cpu_share = into.cpu_share.max(from.cpu_share);
        into.spun_share = into.spun_share.max(from.spun_share);
        into.run_queue_wait_ns = into.run_queue_wait_ns.max(from.run_queue_wait_ns);
        into.stolen_share = into.stolen_share.max(from.stolen_share);
    }
    into
}

impl Series {
    /// At most 120 points: neighbours added up (counts) or their largest taken (latency).
    pub fn of(rows: &[Interval]) -> Self {
        let step = rows.len().div_ceil(MAX_POINTS).max(1);
        let steps = || rows.chunks(step);
        Self {
            step_s: steps().next().map_or(0.0, |rows| rows.iter().map(|row| row.length_s).sum()),
            done: steps().map(|rows| rows.iter().map(|row| row.done).sum()).collect(),
            latency_max_ns: steps()
                .map(|rows| rows.iter().filter_map(|row| row.latency_max_ns).max().unwrap_or(0))
                .collect(),
            failed: steps().map(|rows| rows.iter().map(|row| row.failed + row.missed).sum()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(n: u64) -> Interval {
        Interval {
            t_s: n as f64,
            length_s: 1.0,
            offered: n,
            done: n / 2,
            latency_p50_ns: Some(n),
            latency_max_ns: Some(n * 10),
            ..Interval::default()
        }
    }

    #[test]
    fn few_rows_stay_as_they_are() {
        let mut bounded = BoundedIntervals::with_most(4);
        (0..4).for_each(|n| bounded.push(row(n)));
        assert_eq!(bounded.finish(), ((0..4).map(row).collect(), 1));
    }

    /// A row as a load has it: no two are alike, and no number is round.
    fn busy(n: u64) -> Interval {
        let some = |k: u64| (n + k).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let outcome = |key: &str, count| OutcomeCount { class: "status".into(), key: key.to_owned(), count };
        Interval {
            t_s: n as f64,
            length_s: 1.0,
            offered: some(1),
            sent: some(2),
            done: some(3),
            bytes_out: some(4) * 65,
            bytes_in: some(5) * 680,
            latency_p50_ns: Some(some(6)),
            latency_p90_ns: Some(some(7)),
            latency_p99_ns: Some(some(8)),
            latency_p99_9_ns: Some(some(9)),
            latency_max_ns: Some(some(10)),
            lateness_p99_ns: Some(some(11)),
            service_p99_ns: Some(some(12)),
            cpu_share: some(13) as f64 / 3e7,
            steal_share: Some(some(14) as f64 / 7e7),
            run_queue_wait_ns: Some(some(15)),
            rss_bytes: Some(some(16) * 4_096),
            outcomes: vec![outcome("200", some(3)), outcome("503", some(17))],
            threads: vec![
                IntervalThread { cpu_share: some(18) as f64 / 3e7, ..IntervalThread::default() };
                2
            ],
            ..Interval::default()
        }
    }

    #[test]
    fn packed_rows_are_written_as_others_are_and_take_little_room() {
        let mut bounded = BoundedIntervals::default();
        (0..1_000).for_each(|n| bounded.push(busy(n)));
        let kept = bounded.packs.iter().map(|pack| pack.len()).sum::<usize>();
        assert!(kept < 1_000 * 300, "{kept} bytes");
        assert!(bounded.rows.len() < PACK);
        let text = |rows: &[Interval]| serde_json::to_string(rows).unwrap();
        assert_eq!(text(&bounded.finish().0), text(&(0..1_000).map(busy).collect::<Vec<_>>()));
    }

    #[test]
    fn one_too_many_merges_pairs_and_drops_percentiles() {
        let mut bounded = BoundedIntervals::with_most(4);
        (0..5).for_each(|n| bounded.push(row(n)));
        let (rows, merged) = bounded.finish();
        // By hand: 0+1, 2+3, and 4 alone.
        assert_eq!(merged, 2);
        assert_eq!(rows.iter().map(|r| r.offered).collect::<Vec<_>>(), [1, 5, 4]);
        assert_eq!(rows.iter().map(|r| r.latency_max_ns).collect::<Vec<_>>(), [Some(10), Some(30), Some(40)]);
        assert_eq!(rows[0].latency_p50_ns, None);
        assert_eq!((rows[1].t_s, rows[1].length_s), (2.0, 2.0));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_overflows(count in 0u64..500, most in 2usize..200) {
            let mut bounded = BoundedIntervals::with_most(most);
            (0..count).for_each(|n| bounded.push(row(n)));
            let (rows, merged) = bounded.finish();
            prop_assert!(rows.len() <= most + 1);
            prop_assert_eq!(rows.iter().map(|r| r.offered).sum::<u64>(), (0..count).sum::<u64>());
            let mut at = 0.0;
            for (i, row) in rows.iter().enumerate() {
                prop_assert_eq!(row.t_s, at);
                at += row.length_s;
                if i + 1 < rows.len() {
                    prop_assert_eq!(row.length_s, merged as f64);
                }
            }
        }
    }

    #[test]
    fn sparkline_has_at_most_120_points() {
        let rows: Vec<Interval> = (0..1_000).map(row).collect();
        let series = Series::of(&rows);
        // ceil(1000 / 120) = 9 rows a point, ceil(1000 / 9) = 112 points.
        assert_eq!((series.step_s, series.done.len()), (9.0, 112));
        assert_eq!(series.latency_max_ns[0], 80);
        assert_eq!(Series::of(&[]), Series::default());
    }
}
