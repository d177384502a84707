//! The histograms of a run, one for each kind of time that is kept.
//!
//! All count whole nanoseconds with three significant digits, so a figure read from one is at most 0.1 %
//! above the true one. Values over one hour are kept as one hour and counted as clamped.

use hdrhistogram::Counter;
use serde::Serialize;
use units::Picos;

/// The crate's histogram; `u32` counters within an interval, `u64` over a run.
pub type Histogram<C> = hdrhistogram::Histogram<C>;

/// The longest time that a histogram tells apart: one hour.
pub const LONGEST: Picos = Picos::from_secs(3_600);
/// Histograms of requests' times have counters for this much from the start. So memory stays flat in a long run
/// when a first long pause comes: a histogram that grows doubles.
const USUAL: Picos = Picos::from_secs(16);

/// What one histogram is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Series {
    /// `done − due` of complete answers.
    Latency,
    /// `done − sent` of complete answers.
    Service,
    /// `sent − due` of everything that left.
    Lateness,
    /// `sent − due − blocked`: the part of the lateness that is the generator's own.
    OwnLateness,
    /// TCP connect, one for each connection.
    Connect,
    /// TLS handshake, one for each connection.
    Tls,
    /// Connect, proxy and handshake together, one for each connection.
    Ready,
    /// Name look-up, one for each question asked.
    Lookup,
    /// `first_byte − sent` of complete answers.
    FirstByte,
    /// `done − first_byte` of complete answers.
    Body,
    /// From a new connection being ready until the first byte of its first answer, one for each connection.
    FirstResponse,
    /// `done − due` of requests that left and failed.
    Failed,
    /// |gap between two consecutive `sent`s − gap between their due times|, within one thread.
    GapError,
    /// `gross − tare` of complete answers: what the target and the network took.
    Net,
    /// Own lateness and time unread together, of complete answers.
    Tare,
    /// How long complete answers lay unread, by the kernel's stamps.
    Unread,
    /// How much longer they may have lain unread at worst, where no stamp tells.
    UnreadBound,
    /// The time that requests had which never came to an answer (timed out, cut off, missed): their gross time
    /// is at least that.
    Unfinished,
    /// The same without the generator's own lateness: their net time is at least that.
    UnfinishedNet,
}

impl Series {
    /// Every series, in the order of their indices.
    pub const ALL: &'static [Self] = &[
        Self::Latency,
        Self::Service,
        Self::Lateness,
        Self::OwnLateness,
        Self::Connect,
        Self::Tls,
        Self::Ready,
        Self::Lookup,
        Self::FirstByte,
        Self::Body,
        Self::FirstResponse,
        Self::Failed,
        Self::GapError,
        Self::Net,
        Self::Tare,
        Self::Unread,
        Self::UnreadBound,
        Self::Unfinished,
        Self::UnfinishedNet,
    ];

    /// The tag in `latency.hlog`, and (with `_ns` behind it) the key in `result.json`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Service => "service",
            Self::Lateness => "lateness",
            Self::OwnLateness => "own_lateness",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Ready => "ready",
            Self::Lookup => "lookup",
            Self::FirstByte => "first_byte",
            Self::Body => "body",
            Self::FirstResponse => "first_response",
            Self::Failed => "failed",
            Self::GapError => "gap_error",
            Self::Net => "net",
            Self::Tare => "tare",
            Self::Unread => "unread",
            Self::UnreadBound => "unread_bound",
            Self::Unfinished => "unfinished",
            Self::UnfinishedNet => "unfinished_net",
        }
    }

    /// The series with this key.
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|series| series.key() == key)
    }

    /// Position in `ALL`.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The series of requests that would be in this one, had they come to an end: each is at least as long as
    /// it was then.
    pub const fn unfinished(self) -> Option<Self> {
        match self {
            Self::Latency => Some(Self::Unfinished),
            Self::Net => Some(Self::UnfinishedNet),
            _ => None,
        }
    }

    /// Whether every request adds to it, so that room for usual values is made at the start.
    const fn is_per_request(self) -> bool {
        !matches!(
            self,
            Self::Connect
                | Self::Tls
                | Self::Ready
                | Self::Lookup
                | Self::FirstResponse
                | Self::Failed
                | Self::UnreadBound
                | Self::Unfinished
                | Self::UnfinishedNet
        )
    }
}

/// One histogram for each [`Series`].
#[derive(Clone, Debug)]
pub struct SeriesSet<C: Counter> {
    histograms: Vec<Histogram<C>>,
    clamped: [u64; Series::ALL.len()],
}

impl<C: Counter> SeriesSet<C> {
    /// Empty. What a request's times usually need is there from the start. Other counters are made as values
    /// need them: a histogram grows when a value twice the largest so far comes, never beyond one hour.
    pub fn new() -> Self {
        let room = |series: &Series| if series.is_per_request() { USUAL } else { Picos::ZERO };
        Self {
            histograms: Series::ALL
                .iter()
                .map(|series| empty_histogram(room(series), HISTOGRAM_DIGITS))
                .collect(),
            clamped: [0; Series::ALL.len()],
        }
    }

    /// The histogram of one series, in nanoseconds.
    pub fn of(&self, series: Series) -> &Histogram<C> {
        &self.histograms[series.index()]
    }

    /// How many values of a series were over one hour and are kept as one hour.
    pub fn clamped(&self, series: Series) -> u64 {
        self.clamped[series.index()]
    }

    /// Adds one value.
    #[inline]
    pub fn record(&mut self, series: Series, value: Picos) {
        let clamped = value > LONGEST;
        self.clamped[series.index()] += u64::from(clamped);
        record_ns(&mut self.histograms[series.index()], if clamped { LONGEST } else { value });
    }

    /// Adds the same value several times.
    pub fn record_many(&mut self, series: Series, value: Picos, count: u64) {
        self.clamped[series.index()] += if value > LONGEST { count } else { 0 };
        let count = C::from_u64(count).or_else(|| C::from_u32(u32::MAX)).unwrap_or_else(C::one);
        self.histograms[series.index()]
            .record_n(value.min(LONGEST).as_nanos(), count)
            .expect("an hour fits in a histogram that may grow");
    }

    /// Adds values to one series, bucket by bucket.
    pub(crate) fn add<D: Counter>(&mut self, series: Series, values: &Histogram<D>) {
        merge_histogram(&mut self.histograms[series.index()], values);
    }

    /// Adds another set, bucket by bucket.
    pub fn merge<D: Counter>(&mut self, other: &SeriesSet<D>) {
        for (into, from) in self.histograms.iter_mut().zip(&other.histograms) {
            merge_histogram(into, from);
        }
        for (into, from) in self.clamped.iter_mut().zip(&other.clamped) {
            *into += from;
        }
    }

    /// Forgets all values; keeps the memory.
    pub fn clear(&mut self) {
        self.histograms.iter_mut().filter(|histogram| !histogram.is_empty()).for_each(Histogram::reset);
        self.clamped.fill(0);
    }

    /// The usual figures of one series; percentiles count what never came to an end with at least the time that
    /// it had.
    pub fn summary(&self, series: Series) -> Summary {
        match self.unfinished(series) {
            None => Summary::of(self.of(series)),
            Some(unfinished) => Summary::with_unfinished(self.of(series), unfinished),
        }
    }

    /// What would be in this series, had it come to an end; `None` if there is nothing.
    pub fn unfinished(&self, series: Series) -> Option<&Histogram<C>> {
        series.unfinished().map(|unfinished| self.of(unfinished)).filter(|histogram| !histogram.is_empty())
    }
}

impl<C: Counter> Default for SeriesSet<C> {
    fn default() -> Self {
        Self::new()
    }
}

/// Significant decimal digits of the series' histograms, also for those who write them out.
pub const HISTOGRAM_DIGITS: u8 = 3;

/// An empty histogram that covers `room` and grows when it must.
pub(crate) fn empty_histogram<C: Counter>(room: Picos, digits: u8) -> Histogram<C> {
    let mut histogram = Histogram::new_with_bounds(1, room.as_nanos().max(2), digits)
        .expect("1 ≤ low, 2·low ≤ high, digits ≤ 5");
    histogram.auto(true);
    histogram
}

#[inline]
pub(crate) fn record_ns<C: Counter>(histogram: &mut Histogram<C>, value: Picos) {
    histogram.record(value.as_nanos()).expect("an hour fits in a histogram that may grow");
}

/// Adds `from` bucket by bucket; a counter that would overflow stays at its largest.
pub(crate) fn merge_histogram<C: Counter, D: Counter>(into: &mut Histogram<C>, from: &Histogram<D>) {
    for bucket in from.iter_recorded() {
        let count = bucket.count_at_value().to_u64().unwrap_or(u64::MAX);
        let count = C::from_u64(count).or_else(|| C::from_u32(u32::MAX)).unwrap_or_else(C::one);
        into.record_n(bucket.value_iterated_to(), count).expect("an hour fits in a histogram that may grow");
    }
}

/// No percentile is a lower bound.
pub const NO_BOUND: f64 = 2.0;

/// Values and such as are at least so large, together.
pub fn with_unfinished<C: Counter, D: Counter>(
    values: &Histogram<C>,
    unfinished: &Histogram<D>,
) -> Histogram<u64> {
    let mut all = empty_histogram(Picos::ZERO, HISTOGRAM_DIGITS);
    merge_histogram(&mut all, values);
    merge_histogram(&mut all, unfinished);
    all
}

/// A percentile that what is unfinished can move by no more than this is known.
const KNOWN_WITHIN: f64 = 1.01;

/// The percentiles that are kept of a distribution: the shares of all values that they are not below.
pub const KEPT: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// Between which values a quantile lies: what is unfinished takes at least the time that it had, and perhaps
/// for ever.
///
/// ```text
/// n values and u unfinished, k = ⌈q · (n + u)⌉
/// least: the k-th smallest of all      most: the k-th smallest of the values alone; `None` if k > n
/// ```
pub fn quantile_between<C: Counter, D: Counter>(
    values: &Histogram<C>,
    unfinished: &Histogram<D>,
    quantile: f64,
) -> (u64, Option<u64>) {
    between(&with_unfinished(values, unfinished), values, quantile)
}

fn between<C: Counter>(all: &Histogram<u64>, values: &Histogram<C>, quantile: f64) -> (u64, Option<u64>) {
    let least = all.value_at_quantile(quantile).min(all.max());
    let rank = (quantile * all.len() as f64).ceil().max(1.0);
    let is_among_values = rank <= values.len() as f64;
    let most = is_among_values.then(|| values.value_at_quantile((rank - 0.5) / values.len() as f64));
    (least, most.map(|most| most.max(least)))
}

/// Whether that is known, so that there is but one value to print.
pub fn is_known((least, most): (u64, Option<u64>)) -> bool {
    most.is_some_and(|most| most as f64 <= least as f64 * KNOWN_WITHIN)
}

/// The first of the kept percentiles that is not known; those above it count as lower bounds too. 1 if it is
/// the maximum alone, which is never known where anything is unfinished.
pub fn bound_from<C: Counter, D: Counter>(values: &Histogram<C>, unfinished: &Histogram<D>) -> f64 {
    if unfinished.is_empty() {
        return NO_BOUND;
    }
    let all = with_unfinished(values, unfinished);
    KEPT.into_iter().find(|share| !is_known(between(&all, values, *share))).unwrap_or(1.0)
}

/// The usual figures of a histogram, in nanoseconds; all zero when it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    pub count: u64,
    pub mean: f64,
    pub min: u64,
    pub p50: u64,
    pub p75: u64,
    pub p90: u64,
    pub p95: u64,
    pub p99: u64,
    pub p99_9: u64,
    pub p99_99: u64,
    pub max: u64,
    pub stdev: f64,
    /// Percentiles from this share of all values on (and the maximum) are lower bounds: what never came to an
    /// end could reach them. Over 1 if there is nothing of the kind.
    pub bound_from: f64,
}

impl Summary {
    /// Of values, and of such as are at least so large. Percentiles are of both together; mean, count, least
    /// and standard deviation are of the values alone.
    pub fn with_unfinished<C: Counter>(values: &Histogram<C>, unfinished: &Histogram<C>) -> Self {
        let all = with_unfinished(values, unfinished);
        let at = |quantile| all.value_at_quantile(quantile);
        Self {
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: all.max(),
            bound_from: bound_from(values, unfinished),
            ..Self::of(values)
        }
    }

    /// Whether the value at this quantile is a lower bound.
    pub fn is_bound(&self, quantile: f64) -> bool {
        quantile >= self.bound_from
    }

    pub fn of<C: Counter>(histogram: &Histogram<C>) -> Self {
        if histogram.is_empty() {
            return Self { bound_from: NO_BOUND, ..Self::default() };
        }
        let at = |quantile| histogram.value_at_quantile(quantile);
        Self {
            count: histogram.len(),
            mean: histogram.mean(),
            min: histogram.min(),
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: histogram.max(),
            stdev: histogram.stdev(),
            bound_from: NO_BOUND,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: &[u64]) -> Histogram<u64> {
        let mut histogram = empty_histogram(Picos::ZERO, HISTOGRAM_DIGITS);
        values.iter().for_each(|value| histogram.record(*value).unwrap());
        histogram
    }

    #[test]
    fn few_that_are_unfinished_reach_the_highest_percentiles_alone() {
        // 1 to 990, and ten that were given up after 1: of the 1 000, the 990th is 980 at least and 990 at
        // most.
        let (values, unfinished) = (histogram(&(1..=990).collect::<Vec<_>>()), histogram(&[1; 10]));
        assert_eq!(quantile_between(&values, &unfinished, 0.99), (980, Some(990)));
        assert_eq!(quantile_between(&values, &unfinished, 0.991), (981, None));
        assert_eq!(quantile_between(&values, &unfinished, 1.0), (990, None));
        assert_eq!(bound_from(&values, &histogram(&[])), NO_BOUND);
        // All answers alike: then all but the last hundredth is known.
        let alike = histogram(&[500; 990]);
        assert_eq!(bound_from(&alike, &unfinished), 0.999);
        let summary = Summary::with_unfinished(&alike, &unfinished);
        assert_eq!(
            (summary.p50, summary.p99, summary.is_bound(0.99), summary.is_bound(0.999)),
            (500, 500, false, true)
        );
        assert_eq!(
            bound_from(&histogram(&[]), &unfinished),
            0.5,
            "of nothing but such, everything is a bound"
        );
    }

    proptest! {
        #[test]
        fn however_long_the_unfinished_take_the_quantile_lies_between(
            values in prop::collection::vec(1u64..2_000, 0..60),
            unfinished in prop::collection::vec((1u64..2_000, 0u64..2_000), 1..20),
            quantile in 0.0f64..=1.0,
        ) {
            let had: Vec<u64> = unfinished.iter().map(|(had, _)| *had).collect();
            let would = unfinished.iter().map(|(had, more)| had + more);
            let truth = histogram(&values.iter().copied().chain(would).collect::<Vec<_>>());
            let truth = truth.value_at_quantile(quantile).min(truth.max());
            let (least, most) = quantile_between(&histogram(&values), &histogram(&had), quantile);
            // A histogram of three digits is exact up to 2 047, and then to two.
            prop_assert!(least <= truth && most.is_none_or(|most| truth <= most), "{least} {truth} {most:?}");
        }
    }
}
