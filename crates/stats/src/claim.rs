//! A claim: an interval with the confidence that its method has, or why there is none.
//!
//! ```text
//!           ┌ Ok(Interval)  4.98 ms (95 % confident: 4.91 ms … 5.05 ms; Student's t, n = 10)
//!   Claim ──┤
//!           └ Err(Refusal)  no interval: the values drift (Kendall's tau +0.91, p = 0.0002)
//! ```
//!
//! Nothing outside this crate can make an [`Interval`]: its fields are private, it has no constructor and
//! cannot be read back from a file. And no text elsewhere claims confidence: the words stand here, in the
//! printing of an interval, and a test looks for them in every other source.
//!
//! ```compile_fail,E0451
//! let made_up = stats::Interval { estimate: 5.0, low: 4.9, high: 5.1, level: 0.95, ..panic!() };
//! ```
//! ```compile_fail,E0624
//! let made_up = stats::Interval::made(5.0, (4.9, 5.1), 0.95, stats::Method::StudentT, 10);
//! ```
//! ```compile_fail,E0277
//! fn read_back<T: for<'de> serde::Deserialize<'de>>() {}
//! read_back::<stats::Interval>();
//! ```

use serde::Serialize;
use std::fmt;

/// The confidence of every interval, unless another is asked for.
pub const LEVEL: f64 = 0.95;

/// What can be said of a figure.
pub type Claim = Result<Interval, Refusal>;

/// How an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Of the values of whole trials.
    StudentT,
    /// Of the means of batches of one trial.
    BatchMeans,
    /// Between two of one trial's values, by their ranks.
    OrderStatistics,
    /// Whole trials drawn again and again.
    Bootstrap,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StudentT => "Student's t",
            Self::BatchMeans => "batch means",
            Self::OrderStatistics => "order statistics",
            Self::Bootstrap => "bootstrap of trials",
        })
    }
}

/// Where the truth lies, as computed by a method of this crate. In the unit of the values it was made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    estimate: f64,
    low: f64,
    high: f64,
    level: f64,
    method: Method,
    /// Values that it rests on: trials, batches, samples.
    count: usize,
    /// Correlation of neighbours in time among those values; absent where it was not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    autocorrelation: Option<f64>,
    /// Looks at the trials until it was made, which it is corrected for; absent if nobody looked before.
    #[serde(skip_serializing_if = "Option::is_none")]
    looks: Option<usize>,
}

impl Interval {
    pub(crate) fn made(
        estimate: f64,
        (low, high): (f64, f64),
        level: f64,
        method: Method,
        count: usize,
    ) -> Self {
        Self { estimate, low, high, level, method, count, autocorrelation: None, looks: None }
    }

    pub(crate) fn with_autocorrelation(self, autocorrelation: f64) -> Self {
        Self { autocorrelation: Some(autocorrelation), ..self }
    }

    /// Made at a higher level, of which so many looks leave `level`.
    pub(crate) fn after_looks(self, looks: usize, level: f64) -> Self {
        Self { level, looks: Some(looks), ..self }
    }

    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    pub fn low(&self) -> f64 {
        self.low
    }

    pub fn high(&self) -> f64 {
        self.high
    }

    /// 0.95: in 19 of 20 cases such an interval holds the truth.
    pub fn level(&self) -> f64 {
        self.level
    }

    pub fn method(&self) -> Method {
        self.method
    }

    /// Trials, batches or samples that it rests on.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Of neighbours in time, from −1 to 1; `None` where it was not looked at.
    pub fn autocorrelation(&self) -> Option<f64> {
        self.autocorrelation
    }

    /// Half of its width.
    pub fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// The farther end's distance from the estimate, relative to the estimate: 0.02 for ±2 %. Infinite where it
    /// is 0.
    pub fn relative_half(&self) -> f64 {
        let far = (self.high - self.estimate).max(self.estimate - self.low);
        if self.estimate == 0.0 { f64::INFINITY } else { far / self.estimate.abs() }
    }

    /// The same of values in another unit: a times b of it is as sure. `factor` above 0.
    pub fn scaled(self, factor: f64) -> Self {
        debug_assert!(factor > 0.0, "a unit's factor is above 0");
        Self { estimate: self.estimate * factor, low: self.low * factor, high: self.high * factor, ..self }
    }

    /// The same of a figure that is never below `least`: what reaches below it holds no truth there.
    pub fn not_below(self, least: f64) -> Self {
        Self { low: self.low.max(least.min(self.estimate)), ..self }
    }

    /// `4.98 ms (95 % confident: 4.91 ms … 5.05 ms; Student's t, n = 10)`, with values shown as `show` shows
    /// them.
    pub fn told(&self, show: impl Fn(f64) -> String) -> String {
        let Self { estimate, low, high, method, count, .. } = *self;
        let neighbours = match self.autocorrelation {
            Some(r) => format!(", neighbours correlate by {r:+.2}"),
            None => String::new(),
        };
        let looks = match self.looks {
            Some(1) => ", 1 look".to_owned(),
            Some(looks) => format!(", {looks} looks"),
            None => String::new(),
        };
        format!(
            "{} ({} % confident: {} … {}; {method}, n = {count}{neighbours}{looks})",
            show(estimate),
            plain(self.level * 100.0),
            show(low),
            show(high)
        )
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told(plain))
    }
}

/// Five digits are more than any of these figures has.
fn plain(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (4 - value.abs().log10().floor() as i32).max(0) as usize;
    let all = format!("{value:.digits$}");
    if all.contains('.') { all.trim_end_matches('0').trim_end_matches('.').to_owned() } else { all }
}

/// Why no interval can be given.
#[derive(Clone, Debug, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Refusal {
    #[error("it was not measured in every trial")]
    NotMeasured,
    #[error("{have} of the {need} trials needed")]
    TooFewTrials { have: usize, need: usize },
    #[error("{have} of the {need} {what} needed")]
    TooFew { what: String, have: usize, need: usize },
    #[error("value {} is not a finite number", at + 1)]
    NotNumbers { at: usize },
    #[error("all {count} values are the same: nothing shows how much they vary")]
    NoSpread { value: f64, count: usize },
    /// Kendall's tau of values and time: −1 always falling, 1 always rising.
    #[error("the values drift (Kendall's tau {tau:+.2}, p = {p:.4})")]
    Drift { tau: f64, p: f64 },
    /// Correlation of neighbours in time.
    #[error("the values depend on those before them (lag-1 autocorrelation {lag1:+.2}, p = {p:.4})")]
    Dependent { lag1: f64, p: f64 },
    /// A series whose start is as unlike its end as all the rest.
    #[error("the series did not settle within {values} values")]
    NoRest { values: usize },
    #[error("it is a lower bound: requests that timed out, were cut off or missed would have taken longer")]
    LowerBound,
    /// A few values make up the figure: `share` of it is made by one of `count`.
    #[error("one of {count} trials makes {:.0} % of the figure", share * 100.0)]
    OneDecides { share: f64, count: usize },
}

/// A claim in words: the interval with its confidence, or that there is none and why.
pub fn told(claim: &Claim, show: impl Fn(f64) -> String) -> String {
    match claim {
        Ok(interval) => interval.told(show),
        Err(refusal) => format!("no interval: {refusal}"),
    }
}

/// `{"interval": …}`, or `{"refused": …}` with the reason in words beside it. For `serialize_with`.
pub fn as_json<S: serde::Serializer>(claim: &Claim, to: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;
    let mut map = to.serialize_map(None)?;
    match claim {
        Ok(interval) => map.serialize_entry("interval", interval)?,
        Err(refusal) => {
            map.serialize_entry("refused", refusal)?;
            map.serialize_entry("words", &refusal.to_string())?;
        }
    }
    map.end()
}

/// All are finite, and at least `need`; in this order, so that nothing is computed of what is no number.
pub(crate) fn numbers(values: &[f64], need: usize) -> Result<(), Refusal> {
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        return Err(Refusal::NotNumbers { at });
    }
    if values.len() < need {
        return Err(Refusal::TooFewTrials { have: values.len(), need });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_says_how_sure_it_is_and_by_what() {
        let interval = Interval::made(4.98, (4.912_34, 5.05), 0.95, Method::StudentT, 10);
        assert_eq!(interval.to_string(), "4.98 (95 % confident: 4.9123 … 5.05; Student's t, n = 10)");
        let words = interval.scaled(1e3).with_autocorrelation(0.1).told(|value| format!("{value:.0} µs"));
        assert_eq!(
            words,
            "4980 µs (95 % confident: 4912 µs … 5050 µs; Student's t, n = 10, neighbours correlate by +0.10)"
        );
        assert!((interval.relative_half() - 0.07 / 4.98).abs() < 1e-9);
    }

    #[test]
    fn an_interval_of_what_is_never_negative_begins_at_zero() {
        let ends = |low: f64| {
            let interval = Interval::made(488.0, (low, 1_362.0), 0.95, Method::StudentT, 3).not_below(0.0);
            (interval.low(), interval.high())
        };
        assert_eq!((ends(-387.0), ends(12.0)), ((0.0, 1_362.0), (12.0, 1_362.0)));
    }

    #[test]
    fn a_refusal_never_says_confident() {
        let refusals = [
            Refusal::TooFewTrials { have: 1, need: 3 },
            Refusal::TooFew { what: "batches".into(), have: 4, need: 10 },
            Refusal::NotNumbers { at: 0 },
            Refusal::NoSpread { value: 1.0, count: 3 },
            Refusal::Drift { tau: 0.9, p: 0.001 },
            Refusal::Dependent { lag1: 0.5, p: 0.001 },
            Refusal::LowerBound,
            Refusal::OneDecides { share: 0.6, count: 10 },
        ];
        for refusal in refusals {
            let words = told(&Err(refusal), plain);
            assert!(words.starts_with("no interval: ") && !words.contains("confiden"), "{words}");
        }
        let words = told(&Err(Refusal::TooFewTrials { have: 1, need: 3 }), plain);
        assert_eq!(words, "no interval: 1 of the 3 trials needed");
    }

    #[test]
    fn digits_are_few() {
        let shown = [0.0, 95.0, 99.9, 1_234_567.8, 0.000_123_456_7].map(plain);
        assert_eq!(shown, ["0", "95", "99.9", "1234568", "0.00012346"]);
    }
}
