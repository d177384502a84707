//! A histogram boiled down to the figures that people read, and to the points that a chart draws.

use crate::number;
use hdrhistogram::{Counter, Histogram};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Figures of one distribution, in nanoseconds. With a `count` of zero nothing else means anything, and
/// `{"count": 0}` is all that is written.
///
/// `pXX_X` is the smallest recorded value that at least XX.X % of all values do not exceed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distribution {
    pub count: u64,
    /// Not a number where a stored result should have it and has not; so is the deviation.
    pub mean: f64,
    pub stdev: f64,
    pub min: u64,
    pub p50: u64,
    pub p75: u64,
    pub p90: u64,
    pub p95: u64,
    pub p99: u64,
    pub p99_9: u64,
    pub p99_99: u64,
    pub max: u64,
    /// The first percentile (`p90`, or `max`) that is a lower bound, as all above it are: what timed out, was
    /// cut off or missed could reach it. `None` if all are exact. Mean, deviation, least and count are of
    /// complete answers alone.
    pub bound_from: Option<f64>,
    /// A stored result should have all percentiles and the maximum, and lacks some: their bits, by position in
    /// [`Self::percentiles`], then the maximum's and the least's. What stands in their place means nothing.
    pub lacking: u16,
}

/// A share of all values, written as the name of the first percentile that is not below it.
mod bound {
    use super::PERCENTILES;

    pub(super) fn name(share: f64) -> &'static str {
        PERCENTILES.iter().find(|(_, of)| *of >= share).map_or("max", |(name, _)| name)
    }

    pub(super) fn share(name: &str) -> f64 {
        PERCENTILES.iter().find(|(known, _)| *known == name).map_or(1.0, |(_, of)| *of)
    }
}

/// The percentiles that are kept: their names, and the shares of all values that they are not below.
const PERCENTILES: [(&str, f64); 7] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
];

impl Distribution {
    /// Of the percentiles that are kept, ascending.
    pub const SHARES: [f64; 7] = measure::KEPT;

    /// Of values, and of such as are at least so large: percentiles and the maximum are of both.
    pub fn with_unfinished(values: &Histogram<u64>, unfinished: Option<&Histogram<u64>>) -> Self {
        let Some(unfinished) = unfinished.filter(|unfinished| !unfinished.is_empty()) else {
            return Self::of(values);
        };
        let all = measure::with_unfinished(values, unfinished);
        let own = Self::of(values);
        let bound_from = measure::bound_from(values, unfinished);
        Self {
            count: own.count,
            mean: own.mean,
            stdev: own.stdev,
            min: own.min,
            bound_from: (bound_from <= 1.0).then_some(bound_from),
            ..Self::of(&all)
        }
    }

    /// Whether a percentile (a share, 0 to 1; the maximum is 1) is only a lower bound.
    pub fn is_bound(&self, share: f64) -> bool {
        self.bound_from.is_some_and(|from| share >= from)
    }

    /// Of a histogram that counts nanoseconds.
    pub fn of<C: Counter>(histogram: &Histogram<C>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let [p50, p75, p90, p95, p99, p99_9, p99_99] =
            quantiles(histogram, PERCENTILES.map(|(_, share)| share));
        Self {
            count: histogram.len(),
            mean: (histogram.mean() * 10.0).round() / 10.0,
            stdev: (histogram.stdev() * 10.0).round() / 10.0,
            min: histogram.min(),
            p50,
            p75,
            p90,
            p95,
            p99,
            p99_9,
            p99_99,
            max: histogram.max(),
            bound_from: None,
            lacking: 0,
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether there is not even a lower bound.
    pub const fn says_nothing(&self) -> bool {
        self.count == 0 && self.bound_from.is_none()
    }

    /// The percentile of this share, one of [`Self::SHARES`] or 1 for the maximum; `None` if there is none, or
    /// a stored result lacks it.
    pub fn percentile(&self, share: f64) -> Option<u64> {
        let at = Self::SHARES.iter().position(|kept| *kept == share).or((share == 1.0).then_some(MAX_AT))?;
        let value = self.percentiles().get(at).map_or(self.max, |(_, value)| *value);
        (!self.says_nothing() && self.lacking & (1 << at) == 0).then_some(value)
    }

    /// The least of complete answers; `None` if there is none, or a stored result lacks it.
    pub fn least(&self) -> Option<u64> {
        (!self.is_empty() && self.lacking & (1 << MIN_AT) == 0).then_some(self.min)
    }

    /// The percentiles with their names in `result.json`, ascending.
    pub fn percentiles(&self) -> [(&'static str, u64); 7] {
        [
            ("p50", self.p50),
            ("p75", self.p75),
            ("p90", self.p90),
            ("p95", self.p95),
            ("p99", self.p99),
            ("p99_9", self.p99_9),
            ("p99_99", self.p99_99),
        ]
    }
}

/// The maximum's position behind the percentiles.
const MAX_AT: usize = PERCENTILES.len();
const MIN_AT: usize = MAX_AT + 1;

/// As it is read: what is not there, or `null`, is told apart from a figure.
#[derive(Deserialize)]
struct Read {
    #[serde(default)]
    count: u64,
    mean: Option<f64>,
    stdev: Option<f64>,
    min: Option<u64>,
    p50: Option<u64>,
    p75: Option<u64>,
    p90: Option<u64>,
    p95: Option<u64>,
    p99: Option<u64>,
    p99_9: Option<u64>,
    p99_99: Option<u64>,
    max: Option<u64>,
    bound_from: Option<String>,
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let read = Read::deserialize(from)?;
        let figure = |value: Option<f64>| match value {
            None if read.count > 0 => f64::NAN,
            value => value.unwrap_or(0.0),
        };
        let least = read.min.or((read.count == 0).then_some(0));
        let kept =
            [read.p50, read.p75, read.p90, read.p95, read.p99, read.p99_9, read.p99_99, read.max, least];
        let lacking = kept.iter().enumerate().filter(|(_, value)| value.is_none());
        let lacking = lacking.fold(0, |bits, (at, _)| bits | (1 << at));
        let [p50, p75, p90, p95, p99, p99_9, p99_99, max, min] = kept.map(Option::unwrap_or_default);
        let all = Self {
            count: read.count,
            mean: figure(read.mean),
            stdev: figure(read.stdev),
            min,
            p50,
            p75,
            p90,
            p95,
            p99,
            p99_9,
            p99_99,
            max,
            bound_from: read.bound_from.as_deref().map(bound::share),
            lacking: 0,
        };
        Ok(Self { lacking: if all.says_nothing() { 0 } else { lacking }, ..all })
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("count", &self.count)?;
        if !self.is_empty() {
            map.serialize_entry("mean", &Short(self.mean))?;
            map.serialize_entry("stdev", &Short(self.stdev))?;
            map.serialize_entry("min", &self.least())?;
        }
        // Also without a single answer: then all that is known are bounds.
        if !self.says_nothing() {
            for ((name, _), share) in self.percentiles().into_iter().zip(Self::SHARES) {
                map.serialize_entry(name, &self.percentile(share))?;
            }
            map.serialize_entry("max", &self.percentile(1.0))?;
        }
        if let Some(from) = self.bound_from {
            map.serialize_entry("bound_from", bound::name(from))?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Short(#[serde(with = "number")] f64);

/// Points `[share, ns]` of a cumulative distribution, evenly spread over log(1 / (1 − share)): ten for each
/// further nine, and the maximum at share 1. About 100 points at most, whatever the count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Curve(pub Vec<(f64, u64)>);

impl Curve {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of values, and of such as are at least so large.
    pub fn with_unfinished(values: &Histogram<u64>, unfinished: Option<&Histogram<u64>>) -> Self {
        match unfinished.filter(|unfinished| !unfinished.is_empty()) {
            None => Self::of(values),
            Some(unfinished) => Self::of(&measure::with_unfinished(values, unfinished)),
        }
    }

    pub fn of<C: Counter>(histogram: &Histogram<C>) -> Self {
        let count = histogram.len() as f64;
        if histogram.is_empty() {
            return Self::default();
        }
        let shares: Vec<f64> = (0..)
            .map(|tenth| 1.0 - 10f64.powf(-f64::from(tenth) / 10.0))
            .take_while(|share| (1.0 - share) * count >= 1.0)
            .collect();
        let mut points: Vec<(f64, u64)> =
            shares.iter().map(|share| round(*share)).zip(ascending(histogram, &shares)).collect();
        points.push((1.0, histogram.max()));
        Self(points)
    }
}

/// As [`ascending`], of a fixed number.
fn quantiles<C: Counter, const N: usize>(histogram: &Histogram<C>, shares: [f64; N]) -> [u64; N] {
    let values = ascending(histogram, &shares);
    std::array::from_fn(|index| values[index])
}

/// The values at ascending quantiles, in one pass over the buckets: a run that is watched has them made every
/// second.
fn ascending<C: Counter>(histogram: &Histogram<C>, shares: &[f64]) -> Vec<u64> {
    let largest = histogram.max();
    histogram.value_at_quantiles(shares.iter().copied()).map(|value| value.min(largest)).collect()
}

/// Twelve decimals: enough for one in 10¹¹.
fn round(share: f64) -> f64 {
    (share * 1e12).round() / 1e12
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_to(n: u64) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        (1..=n).for_each(|value| histogram.record(value).unwrap());
        histogram
    }

    #[test]
    fn percentiles_of_one_to_a_thousand() {
        // By hand: values below 2048 are exact with three digits; the q-quantile of 1..=1000 is 1000·q.
        let figures = Distribution::of(&one_to(1000));
        assert_eq!(figures.percentiles().map(|(_, value)| value), [500, 750, 900, 950, 990, 999, 1000]);
        assert_eq!((figures.count, figures.min, figures.max), (1000, 1, 1000));
        assert_eq!(figures.mean, 500.5);
        // √((1000² − 1) / 12) = 288.67
        assert_eq!(figures.stdev, 288.7);
    }

    proptest::proptest! {
        #[test]
        fn one_pass_finds_what_each_look_up_finds(
            values in proptest::collection::vec(1u64..3_600_000_000_000, 1..400),
            shares in proptest::collection::vec(0.0f64..=1.0, 0..40),
        ) {
            let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
            values.iter().for_each(|value| histogram.record(*value).unwrap());
            let mut shares = [shares, vec![0.0, 0.5, 0.9, 0.99, 0.999, 1.0]].concat();
            shares.sort_by(f64::total_cmp);
            let one_by_one: Vec<u64> = shares
                .iter()
                .map(|share| histogram.value_at_quantile(*share).min(histogram.max()))
                .collect();
            proptest::prop_assert_eq!(ascending(&histogram, &shares), one_by_one);
        }
    }

    #[test]
    fn nothing_is_written_of_nothing() {
        let nothing = Distribution::of(&one_to(0));
        assert_eq!(serde_json::to_string(&nothing).unwrap(), r#"{"count":0}"#);
        assert_eq!(serde_json::from_str::<Distribution>(r#"{"count":0}"#).unwrap(), nothing);
        assert_eq!(serde_json::from_str::<Distribution>("{}").unwrap(), nothing);
        assert!(Curve::of(&one_to(0)).0.is_empty());
    }

    #[test]
    fn bounds_are_written_and_read_even_without_an_answer() {
        // Answers of 1 to 100 and two that were given up after 7: without them each rank is two higher, and the
        // last is none.
        let mut given_up = one_to(0);
        given_up.record_n(7, 2).unwrap();
        let figures = Distribution::with_unfinished(&one_to(100), Some(&given_up));
        assert_eq!((figures.count, figures.p99, figures.max, figures.mean), (100, 99, 100, 50.5));
        assert!(figures.is_bound(0.99) && figures.is_bound(1.0));
        let text = serde_json::to_string(&figures).unwrap();
        assert_eq!(serde_json::from_str::<Distribution>(&text).unwrap(), figures);
        let only = Distribution::with_unfinished(&one_to(0), Some(&given_up));
        assert!(only.is_empty() && !only.says_nothing() && only.is_bound(0.5) && only.p50 == 7);
        let text = serde_json::to_string(&only).unwrap();
        assert!(text.ends_with(r#""max":7,"bound_from":"p50"}"#), "{text}");
        assert_eq!(serde_json::from_str::<Distribution>(&text).unwrap(), only);
    }

    #[test]
    fn what_a_stored_distribution_lacks_is_unknown_and_not_zero() {
        let text = serde_json::to_string(&Distribution::of(&one_to(1000))).unwrap();
        for (without, share) in [(r#""p99":990,"#, 0.99), (r#","max":1000"#, 1.0), (r#""p50":500,"#, 0.5)] {
            assert!(text.contains(without), "{text}");
            let cut = text.replacen(without, "", 1);
            let found: Distribution = serde_json::from_str(&cut).unwrap();
            assert_eq!((found.percentile(share), found.percentile(0.9)), (None, Some(900)), "{cut}");
            let (name, _) = without.rsplit_once(':').unwrap();
            let emptied = text.replacen(without.trim_end_matches(','), &format!("{name}:null"), 1);
            assert_eq!(serde_json::from_str::<Distribution>(&emptied).unwrap(), found);
            let again = serde_json::to_string(&found).unwrap();
            assert_eq!(serde_json::from_str::<Distribution>(&again).unwrap(), found, "{again}");
        }
        for lacks in [r#""mean":null"#, r#""stdev":1"#] {
            let all: Distribution = serde_json::from_str(&format!(r#"{{"count":7,{lacks}}}"#)).unwrap();
            assert!(all.mean.is_nan() && all.percentile(0.99).is_none(), "{all:?}");
        }
        assert_eq!(Distribution::default().percentile(0.99), None);
    }

    #[test]
    fn round_trips() {
        let figures = Distribution::of(&one_to(77));
        let text = serde_json::to_string(&figures).unwrap();
        assert!(text.starts_with(r#"{"count":77,"mean":39,"#), "{text}");
        assert_eq!(serde_json::from_str::<Distribution>(&text).unwrap(), figures);
    }

    #[test]
    fn curve_never_descends_and_ends_at_the_maximum() {
        let curve = Curve::of(&one_to(1000)).0;
        assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
        assert_eq!(curve[0].0, 0.0);
        // Share 0.9 is the tenth point: 900 of 1000.
        assert_eq!(curve[10], (0.9, 900));
        // 0 … 2.9 nines in tenths are 30 points, three nines the 31st (1 of 1000), and the maximum.
        assert!((31..=32).contains(&curve.len()));
        assert_eq!(curve.last(), Some(&(1.0, 1000)));
    }
}
