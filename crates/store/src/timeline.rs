//! A run over time, in as many steps as a picture has room for.
//!
//! ```text
//! Interval + histograms, one a second ──► TimelineBuilder ──► at most `most` bins
//! ```
//!
//! Counts of merged intervals add up; percentiles of a bin are those of its merged histograms, never an
//! average. The same builder serves a run that goes on (`IntervalRow`) and one that was stored
//! (`intervals.jsonl`, `latency.hlog`). Memory is bounded. Of a run whose length is known, each bin has its
//! share of the intervals from the start, and once it is full only what is drawn of it is kept, packed. Of
//! any other run, pairs of bins become one when there are too many, so buckets that are not empty are kept in
//! two or three bytes each (about 10 MB for 400 bins of nine series with 1 000 different times each).

use crate::buckets::{Counts, Filled, Packed};
use crate::figures::{DRAWN, FIGURES, drawn};
use crate::packs::{PACK, pack, unpack};
use crate::schema::Interval;
use crate::series::merge;
use hdrhistogram::{Counter, Histogram};
use measure::{IntervalRow, Series};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Steps of a picture at most: what a screen can show.
pub const MAX_BINS: usize = 400;
/// The same of a picture that is drawn anew each second: its memory grows with them while the run goes on.
pub const LIVE_BINS: usize = 100;

/// What a report draws over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// In the order of time, without gaps between neighbours.
    pub bins: Vec<Arc<Bin>>,
    /// The most intervals that one bin adds up; 1 when bins are intervals.
    pub merged: u64,
}

/// One step of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Counts, percentiles, gauges; `t_s` and `length_s` are the bin's own. Gauges are the largest of the
    /// intervals' (what is left: the least).
    pub row: Interval,
    /// How many latencies fell where; only cells that are not empty, ascending.
    pub heat: Vec<HeatCell>,
    /// Whether the percentiles in `row` are of all intervals of the bin (histograms were at hand). Otherwise
    /// each is the largest of the intervals' own, which is at least the true one.
    pub exact: bool,
}

/// A cell of the heat map. Edges are the same in all bins: powers of two, each octave in four equal steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatCell {
    /// Latencies from `from_ns` (included) to `to_ns` (excluded).
    pub from_ns: u64,
    pub to_ns: u64,
    pub count: u64,
}

/// Makes a [`Timeline`] of intervals as they come.
pub struct TimelineBuilder {
    most: usize,
    /// Intervals that make a bin.
    each: u64,
    /// The length of the run is known: bins are never merged, but for the last one.
    is_settled: bool,
    is_drawn_often: bool,
    /// Packs of [`PACK`] bins, the oldest, that are never merged again.
    packs: Vec<Box<[u8]>>,
    closed: Vec<Closed>,
    /// The bin that does not have all its intervals yet, and how many it has; its buckets are in `counts`.
    open: Option<(Interval, u64)>,
    counts: Vec<Counts>,
}

/// A bin whose percentiles are known, and what it takes to merge it with another.
#[derive(Clone)]
struct Closed {
    bin: Arc<Bin>,
    /// Intervals in it.
    parts: u64,
    /// `None`: it is never merged again.
    buckets: Option<Box<[Packed; DRAWN.len()]>>,
}

impl TimelineBuilder {
    /// At most `most` bins (at least 2), of a run whose length is not known: pairs are merged whenever there
    /// would be more.
    pub fn new(most: usize) -> Self {
        Self::expecting(most, 0)
    }

    /// The same for a run of so many intervals (0: not known): each bin gets its share from the start, so that
    /// the picture has as many bins as it may. What comes after the last of them joins it.
    pub fn expecting(most: usize, intervals: u64) -> Self {
        let most = most.max(2);
        let each = intervals.div_ceil(most as u64).max(1);
        let is_settled = intervals > 0;
        Self {
            most,
            each,
            is_settled,
            is_drawn_often: false,
            packs: Vec::new(),
            closed: Vec::new(),
            open: None,
            counts: scratch(),
        }
    }

    /// Nothing is packed, for it would be unpacked again and again.
    #[must_use]
    pub fn drawn_often(self) -> Self {
        Self { is_drawn_often: true, ..self }
    }

    /// An interval of a run that goes on.
    pub fn push(&mut self, row: &IntervalRow) {
        self.begin(row.into());
        for (counts, kind) in self.counts.iter_mut().zip(DRAWN) {
            counts.add_histogram(row.data.series.of(kind));
        }
        self.end();
    }

    /// An interval that was stored, with the histograms (nanoseconds, at most three significant digits) that
    /// are at hand.
    pub fn push_stored<C: Counter>(&mut self, row: Interval, histograms: &[(Series, Histogram<C>)]) {
        self.begin(row);
        for (kind, histogram) in histograms {
            if let Some(index) = drawn(*kind) {
                self.counts[index].add_histogram(histogram);
            }
        }
        self.end();
    }

    /// How the run looks so far. Full bins are shared, not copied, unless they are packed.
    pub fn view(&self) -> Timeline {
        let open = self.open.as_ref().map(|(row, parts)| close(row.clone(), *parts, &self.counts));
        let mut merged = self.closed.iter().map(|closed| closed.parts).max().unwrap_or(0);
        merged = merged.max(open.as_ref().map_or(0, |open| open.parts));
        let packed = self.packs.iter().flat_map(|pack| unpack::<Bin>(pack)).map(Arc::new);
        let mut bins: Vec<Arc<Bin>> =
            packed.chain(self.closed.iter().map(|closed| closed.bin.clone())).collect();
        let sliver = self.join_sliver(open.as_ref());
        bins.extend(open.map(|open| open.bin));
        if let Some(joined) = sliver {
            bins.truncate(bins.len() - 2);
            bins.push(joined.bin);
        }
        Timeline { bins, merged }
    }

    /// A last bin of a few milliseconds has rates that mean nothing: it joins its neighbour.
    fn join_sliver(&self, open: Option<&Closed>) -> Option<Closed> {
        let mut last_first = open.into_iter().chain(self.closed.iter().rev());
        let (last, before) = (last_first.next()?, last_first.next()?);
        let usual = self.closed.first()?.bin.row.length_s;
        let alone = self.packs.is_empty() && self.closed.len() < 2;
        (!alone && last.bin.row.length_s < usual / 4.0).then(|| joined(before, last, &mut scratch()))
    }

    /// A row of the open bin begins; its buckets are added next.
    pub(crate) fn begin(&mut self, row: Interval) {
        if self.open.is_none() && self.packs.len() * PACK + self.closed.len() == self.most {
            match self.is_settled {
                true => self.reopen_last(),
                false => self.merge_pairs(),
            }
        }
        self.open = Some(match self.open.take() {
            Some((open, parts)) => (merge_with_largest(open, row), parts + 1),
            None => (row, 1),
        });
    }

    pub(crate) fn counts(&mut self, index: usize) -> &mut Counts {
        &mut self.counts[index]
    }

    /// The row is complete.
    pub(crate) fn end(&mut self) {
        if self.open.as_ref().is_none_or(|(_, parts)| *parts < self.each) {
            return;
        }
        let (row, parts) = self.open.take().expect("it was there a moment ago");
        let closed = close(row, parts, &self.counts);
        self.counts.iter_mut().for_each(Counts::clear);
        self.closed.push(closed);
        // The last one may be joined by what comes, or join the one before it.
        if self.is_settled
            && let [.., settled, _, _] = self.closed.as_mut_slice()
        {
            settled.buckets = None;
            if self.closed.len() == PACK + 2 && !self.is_drawn_often {
                let bins: Vec<Arc<Bin>> = self.closed.drain(..PACK).map(|closed| closed.bin).collect();
                self.packs.push(pack(&bins.iter().map(|bin| &**bin).collect::<Vec<_>>()));
            }
        }
    }

    fn reopen_last(&mut self) {
        if let Some(last) = self.closed.pop() {
            self.reopen(last);
        }
    }

    fn merge_pairs(&mut self) {
        let mut scratch = scratch();
        let old = std::mem::take(&mut self.closed);
        let mut old = old.into_iter().peekable();
        while let Some(first) = old.next() {
            match old.next() {
                Some(second) => self.closed.push(joined(&first, &second, &mut scratch)),
                // With `most` odd the last one waits for its second half.
                None => self.reopen(first),
            }
        }
        self.each *= 2;
    }

    fn reopen(&mut self, bin: Closed) {
        for (packed, counts) in bin.buckets.iter().flat_map(|buckets| buckets.iter()).zip(&mut self.counts) {
            packed.add_to(counts);
        }
        self.open = Some((Arc::unwrap_or_clone(bin.bin).row, bin.parts));
    }
}

/// One for each series. Memory is touched only where values come to lie.
fn scratch() -> Vec<Counts> {
    std::iter::repeat_with(Counts::new).take(DRAWN.len()).collect()
}

fn joined(first: &Closed, second: &Closed, scratch: &mut [Counts]) -> Closed {
    for (index, counts) in scratch.iter_mut().enumerate() {
        counts.clear();
        for buckets in [&first.buckets, &second.buckets].into_iter().flatten() {
            buckets[index].add_to(counts);
        }
    }
    let row = merge_with_largest(first.bin.row.clone(), second.bin.row.clone());
    close(row, first.parts + second.parts, scratch)
}

/// One row of two; each percentile is the larger one, until the merged buckets tell better.
fn merge_with_largest(mut first: Interval, mut second: Interval) -> Interval {
    let mut both = merge(first.clone(), &second);
    for figure in &FIGURES {
        let largest = (*(figure.field)(&mut first)).max(*(figure.field)(&mut second));
        *(figure.field)(&mut both) = largest;
    }
    both
}

/// Takes the percentiles from the buckets, if those are of all intervals.
fn close(mut row: Interval, parts: u64, counts: &[Counts]) -> Closed {
    let complete = is_complete(&mut row, counts);
    let mut heat = Vec::new();
    let buckets = std::array::from_fn(|index| {
        let filled = counts[index].filled();
        fill(&mut row, DRAWN[index], &filled, parts > 1 && complete);
        if DRAWN[index] == Series::Latency {
            heat = filled.heat();
        }
        filled.pack()
    });
    let told = row.done == 0 || row.latency_p50_ns.is_some();
    let bin = Bin { row, heat, exact: if parts == 1 { told } else { complete } };
    Closed { bin: Arc::new(bin), parts, buckets: Some(Box::new(buckets)) }
}

/// Whether the buckets are of every interval: all latencies are there, and no series lacks that had a
/// percentile.
fn is_complete(row: &mut Interval, counts: &[Counts]) -> bool {
    let lacking = FIGURES.iter().any(|figure| {
        let there = drawn(figure.of).is_some_and(|index| counts[index].total() > 0);
        (figure.field)(row).is_some() && !there
    });
    !lacking && counts[0].total() == row.done
}

/// Percentiles of one series into the row: all of them, or those that it lacks.
fn fill(row: &mut Interval, kind: Series, filled: &Filled, all: bool) {
    let figures = || FIGURES.iter().filter(move |figure| figure.of == kind);
    let mut places = figures();
    filled.quantiles(figures().map(|figure| figure.quantile), |_, value| {
        let field = places.next().map(|figure| (figure.field)(row));
        if let Some(field) = field
            && (all || field.is_none())
        {
            *field = Some(value);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        values.iter().for_each(|value| histogram.record(*value).unwrap());
        histogram
    }

    /// The n-th second: its latencies, and the percentiles that its row would have.
    fn second(n: u64, values: &[u64]) -> (Interval, Vec<(Series, Histogram<u64>)>) {
        let latencies = histogram(values);
        let at = |quantile| (!values.is_empty()).then(|| latencies.value_at_quantile(quantile));
        let row = Interval {
            t_s: n as f64,
            length_s: 1.0,
            offered: values.len() as u64,
            done: values.len() as u64,
            latency_p50_ns: at(0.5),
            latency_p99_ns: at(0.99),
            latency_max_ns: at(1.0),
            ..Interval::default()
        };
        (row, vec![(Series::Latency, latencies)])
    }

    #[test]
    fn few_intervals_are_bins_as_they_are() {
        let mut builder = TimelineBuilder::new(10);
        for n in 0..3 {
            let (row, histograms) = second(n, &[1_000 * (n + 1), 5_000]);
            builder.push_stored(row, &histograms);
        }
        let timeline = builder.view();
        assert_eq!((timeline.bins.len(), timeline.merged), (3, 1));
        assert!(timeline.bins.iter().all(|bin| bin.exact));
        assert_eq!(timeline.bins[1].row.latency_p50_ns, Some(2_000));
        // 2 000 lies in the third step of the octave from 1 024, 5 000 in the first of that from 4 096.
        let cells: Vec<_> = timeline.bins[1].heat.iter().map(|cell| (cell.from_ns, cell.count)).collect();
        assert_eq!(cells, [(1_792, 1), (4_096, 1)]);
    }

    #[test]
    fn what_is_packed_is_what_it_was() {
        for intervals in [1, 65, 66, 67, 130, 200, 400, 401, 799, 3_000] {
            for most in [66, 100, 400] {
                let [mut packed, mut plain] = [false, true].map(|is_drawn_often| TimelineBuilder {
                    is_drawn_often,
                    ..TimelineBuilder::expecting(most, intervals)
                });
                // Some more come than were expected, and the last of them is a sliver.
                for n in 0..intervals + 3 {
                    for builder in [&mut packed, &mut plain] {
                        let (mut row, histograms) = second(n, &[1_000 * (n + 1), 5_000]);
                        if n == intervals + 2 {
                            row.length_s = 0.01;
                        }
                        builder.push_stored(row, &histograms);
                    }
                }
                assert_eq!(packed.view(), plain.view(), "{intervals} intervals in {most} bins");
                assert!(plain.packs.is_empty());
                if (intervals, most) == (400, 400) {
                    assert_eq!(packed.packs.len(), 6);
                }
            }
        }
    }

    #[test]
    fn percentiles_of_merged_bins_are_not_averages() {
        let mut builder = TimelineBuilder::new(2);
        // 99 quick answers and a slow one, then three slow ones: of all 103 the median is quick, p99 slow.
        let mut quick = vec![100; 99];
        quick.push(1_000);
        for (n, values) in [quick, vec![1_000; 3], vec![7], vec![7]].iter().enumerate() {
            let (row, histograms) = second(n as u64, values);
            builder.push_stored(row, &histograms);
        }
        let timeline = builder.view();
        assert_eq!((timeline.bins.len(), timeline.merged), (2, 2));
        let row = &timeline.bins[0].row;
        assert_eq!((row.done, row.latency_p50_ns, row.latency_p99_ns), (103, Some(100), Some(1_000)));
        assert!(timeline.bins[0].exact);
    }

    #[test]
    fn without_histograms_a_merged_bin_says_so() {
        let mut builder = TimelineBuilder::expecting(2, 4);
        for n in 0..4 {
            builder.push_stored::<u64>(second(n, &[10 * (n + 1), 20]).0, &[]);
        }
        let timeline = builder.view();
        assert_eq!(timeline.bins.len(), 2);
        assert!(timeline.bins.iter().all(|bin| !bin.exact && bin.heat.is_empty()));
        // The larger of the two medians: 10 (of 10, 20) and 20 (of 20, 20).
        assert_eq!(timeline.bins[0].row.latency_p50_ns, Some(20));
        // A bin of one row is exact without them.
        let mut builder = TimelineBuilder::new(2);
        builder.push_stored::<u64>(second(0, &[10]).0, &[]);
        assert!(builder.view().bins[0].exact);
    }

    #[test]
    fn a_sliver_at_the_end_joins_its_neighbour() {
        for expected in [0, 4] {
            let mut builder = TimelineBuilder::expecting(10, expected);
            for n in 0..4 {
                let (row, histograms) = second(n, &[100]);
                let length_s = if n == 3 { 0.01 } else { 1.0 };
                builder.push_stored(Interval { length_s, ..row }, &histograms);
            }
            let bins = builder.view().bins;
            assert_eq!((bins.len(), bins[2].row.done, bins[2].exact), (3, 2, true), "{expected}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn bounded_and_complete_and_as_one_histogram(
            seconds in prop::collection::vec(prop::collection::vec(0u64..10_000_000, 0..8), 0..60),
            most in 2usize..12,
            known in any::<bool>(),
            more in 0usize..20,
        ) {
            // Some come that nobody expected.
            let expected = if known { seconds.len().saturating_sub(more).max(1) } else { 0 };
            let mut builder = TimelineBuilder::expecting(most, expected as u64);
            for (n, values) in seconds.iter().enumerate() {
                let (row, histograms) = second(n as u64, values);
                builder.push_stored(row, &histograms);
            }
            let mergeable = builder.closed.iter().filter(|closed| closed.buckets.is_some()).count();
            prop_assert!(!known || mergeable <= 2, "{}", mergeable);
            let bins = builder.view().bins;
            prop_assert!(bins.len() <= most);
            let mut at = 0;
            for bin in &bins {
                prop_assert_eq!(bin.row.t_s, at as f64);
                let until = at + bin.row.length_s as usize;
                let values: Vec<u64> = seconds[at..until].iter().flatten().copied().collect();
                let whole = histogram(&values);
                prop_assert!(bin.exact);
                prop_assert_eq!(bin.row.done, values.len() as u64);
                let p99 = (!values.is_empty()).then(|| whole.value_at_quantile(0.99));
                prop_assert_eq!(bin.row.latency_p99_ns, p99);
                prop_assert_eq!(bin.heat.iter().map(|cell| cell.count).sum::<u64>(), values.len() as u64);
                at = until;
            }
            prop_assert_eq!(at, seconds.len());
        }
    }
}
