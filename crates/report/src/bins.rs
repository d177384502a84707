//! Rows of a run of any length as a bounded number of bins to draw.
//!
//! Counts are added and become mean rates of the bin. Percentiles are never averaged: a bin keeps the smallest and
//! the largest of the values that would have been drawn, so a spike of one interval in ten hours stays visible.

use store::schema::Interval;

/// A chart has at most this many columns.
pub const MOST: usize = 400;

/// The smallest and the largest of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    fn of(value: u64) -> Self {
        Self { low: value as f64, high: value as f64 }
    }

    fn join(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.joined(b)),
            (a, b) => a.or(b),
        }
    }

    fn joined(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// What is drawn over time, apart from counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    P50,
    P90,
    P99,
    Max,
    LatenessP50,
    LatenessP99,
    LatenessMax,
}

impl Kind {
    const ALL: [Self; 7] =
        [Self::P50, Self::P90, Self::P99, Self::Max, Self::LatenessP50, Self::LatenessP99, Self::LatenessMax];

    fn of(self, row: &Interval) -> Option<u64> {
        match self {
            Self::P50 => row.latency_p50_ns,
            Self::P90 => row.latency_p90_ns,
            Self::P99 => row.latency_p99_ns,
            Self::Max => row.latency_max_ns,
            Self::LatenessP50 => row.lateness_p50_ns,
            Self::LatenessP99 => row.lateness_p99_ns,
            Self::LatenessMax => row.lateness_max_ns,
        }
    }
}

/// One or several neighbouring rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Bin {
    pub from_s: f64,
    pub to_s: f64,
    length_s: f64,
    offered: u64,
    done: u64,
    bad: u64,
    /// Lowest and highest rate of answers of a row.
    done_per_s: Range,
    ranges: [Option<Range>; Kind::ALL.len()],
}

impl Bin {
    fn of(row: &Interval) -> Self {
        let ended = row.done + row.warmup;
        let rate = if row.length_s > 0.0 { ended as f64 / row.length_s } else { 0.0 };
        Self {
            from_s: row.t_s,
            to_s: row.t_s + row.length_s,
            length_s: row.length_s,
            offered: row.offered,
            done: ended,
            bad: row.failed + row.missed,
            done_per_s: Range { low: rate, high: rate },
            ranges: Kind::ALL.map(|kind| kind.of(row).map(Range::of)),
        }
    }

    fn absorb(&mut self, later: &Self) {
        self.absorb_counts(later);
        self.done_per_s = self.done_per_s.joined(later.done_per_s);
    }

    /// Everything but the range of rates.
    fn absorb_counts(&mut self, later: &Self) {
        self.to_s = later.to_s;
        self.length_s += later.length_s;
        self.offered += later.offered;
        self.done += later.done;
        self.bad += later.bad;
        for (into, from) in self.ranges.iter_mut().zip(&later.ranges) {
            *into = Range::join(*into, *from);
        }
    }

    pub fn middle_s(&self) -> f64 {
        (self.from_s + self.to_s) / 2.0
    }
    pub fn offered_per_s(&self) -> f64 {
        self.per_second(self.offered)
    }
    /// Answers, those of the warm-up included.
    pub fn done_per_s(&self) -> f64 {
        self.per_second(self.done)
    }
    /// The same of the slowest and of the fastest row.
    pub fn done_range_per_s(&self) -> Range {
        self.done_per_s
    }
    /// Failed and missed.
    pub fn bad_per_s(&self) -> f64 {
        self.per_second(self.bad)
    }
    pub fn range(&self, kind: Kind) -> Option<Range> {
        self.ranges[kind as usize]
    }

    fn per_second(&self, count: u64) -> f64 {
        if self.length_s > 0.0 { count as f64 / self.length_s } else { 0.0 }
    }
}

/// All rows in at most [`MOST`] bins, each of the same number of rows except the last; one pass, bounded memory.
pub fn bins(rows: impl Iterator<Item = Interval>) -> Vec<Bin> {
    let mut bins: Vec<Bin> = Vec::new();
    let (mut each, mut in_last) = (1usize, 1usize);
    for row in rows {
        let bin = Bin::of(&row);
        if in_last < each
            && let Some(last) = bins.last_mut()
        {
            last.absorb(&bin);
            in_last += 1;
            continue;
        }
        if bins.len() == MOST {
            bins = bins.chunks(2).map(joined).collect();
            (each, in_last) = (each * 2, each * 2);
        }
        if in_last >= each || bins.is_empty() {
            bins.push(bin);
            in_last = 1;
        }
    }
    drop_sliver(&mut bins);
    bins
}

fn joined(bins: &[Bin]) -> Bin {
    let mut all = bins[0].clone();
    bins[1..].iter().for_each(|bin| all.absorb(bin));
    all
}

/// A last interval of a few milliseconds has rates that mean nothing: it joins its neighbour.
fn drop_sliver(bins: &mut Vec<Bin>) {
    let usual = bins.first().map_or(0.0, |bin| bin.length_s);
    if bins.len() > 2 && bins.last().is_some_and(|last| last.length_s < usual / 4.0) {
        let last = bins.pop().expect("there are more than two");
        bins.last_mut().expect("there were more than two").absorb_counts(&last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: u64) -> impl Iterator<Item = Interval> {
        (0..count).map(|n| Interval {
            t_s: n as f64,
            length_s: 1.0,
            done: if n == 777 { 0 } else { 10 },
            latency_max_ns: Some(if n == 777 { 1_000_000 } else { 5 }),
            ..Interval::default()
        })
    }

    #[test]
    fn bounded_whatever_the_length_and_a_spike_stays() {
        for count in [0, 1, 2, 399, 400, 401, 3_600, 86_400] {
            let bins = bins(rows(count));
            assert!(bins.len() <= MOST, "{count}");
            assert!(count == 0 || bins.len() as u64 >= count.min(MOST as u64 / 2), "{count}: {}", bins.len());
            let seconds: f64 = bins.iter().map(|bin| bin.length_s).sum();
            assert_eq!(seconds, count as f64);
            let done: f64 = bins.iter().map(|bin| bin.done_per_s() * bin.length_s).sum();
            let expected = if count > 777 { count - 1 } else { count } * 10;
            assert_eq!(done.round(), expected as f64);
            let slowest = bins.iter().map(|bin| bin.done_range_per_s().low).fold(10.0, f64::min);
            assert_eq!(slowest, if count > 777 { 0.0 } else { 10.0 });
            let most = bins.iter().filter_map(|bin| bin.range(Kind::Max)).map(|r| r.high).fold(0.0, f64::max);
            assert!(count <= 777 || most == 1_000_000.0);
            assert!(bins.windows(2).all(|pair| pair[0].to_s == pair[1].from_s));
        }
    }

    #[test]
    fn a_sliver_at_the_end_joins_its_neighbour() {
        let mut all: Vec<Interval> = rows(3).collect();
        all.push(Interval { t_s: 3.0, length_s: 0.01, done: 5, ..Interval::default() });
        assert_eq!(bins(all.into_iter()).len(), 3);
    }
}
