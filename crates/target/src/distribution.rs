//! Programmed quantities: how long an answer takes, how large it is.
//!
//! | written | draws |
//! |---|---|
//! | `5ms` or `fixed:5ms` | always that |
//! | `uniform:1ms,5ms` | even over the closed range |
//! | `exponential:5ms` | mean 5 ms |
//! | `lognormal:5ms,0.5` | median 5 ms, σ of the logarithm 0.5 |
//! | `file:delays.txt` | the file's lines in order, then again |
//! | `file-random:delays.txt` | a line at random |

use crate::random::Random;
use std::fmt::{self, Display};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use units::{Bytes, ParseError, Picos};

/// What a distribution can be over.
pub trait Quantity: Copy + PartialOrd + Display + FromStr<Err = ParseError> {
    /// In the type's smallest unit.
    fn raw(self) -> u64;
    fn from_raw(raw: u64) -> Self;
}

impl Quantity for Picos {
    fn raw(self) -> u64 {
        self.as_picos()
    }
    fn from_raw(raw: u64) -> Self {
        Self::from_picos(raw)
    }
}

impl Quantity for Bytes {
    fn raw(self) -> u64 {
        self.get()
    }
    fn from_raw(raw: u64) -> Self {
        Self::new(raw)
    }
}

/// A distribution over times or sizes. A clone shares its place in a recorded file.
#[derive(Clone, Debug)]
pub enum Distribution<T> {
    Fixed(T),
    /// Both ends included.
    Uniform(T, T),
    Exponential {
        mean: T,
    },
    Lognormal {
        median: T,
        sigma: f64,
    },
    Recorded(Recorded<T>),
}

/// The lines of a file.
#[derive(Clone, Debug)]
pub struct Recorded<T> {
    path: Arc<str>,
    values: Arc<[T]>,
    /// The next line; `None` draws at random.
    next: Option<Arc<AtomicUsize>>,
}

/// Why a distribution could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DistributionError {
    #[error(transparent)]
    Quantity(#[from] ParseError),
    #[error(
        "'{0}' is not a distribution; expected a value, uniform:A,B, exponential:MEAN, lognormal:MEDIAN,SIGMA, file:PATH or file-random:PATH"
    )]
    Unknown(String),
    #[error("'{0}' needs two values with a comma between them")]
    NeedsTwo(String),
    #[error("in '{0}' the lower end is above the upper end")]
    Descending(String),
    #[error("in '{0}' sigma must be a number from 0 to 10")]
    Sigma(String),
    #[error("cannot read {path}: {why}")]
    Unreadable { path: String, why: std::io::Error },
    #[error("{path} line {line}: {why}")]
    Line { path: String, line: usize, why: ParseError },
    #[error("{0} has no values")]
    Empty(String),
    #[error("'{0}': a request cannot name a file; use it in the target's own settings")]
    FileRefused(String),
}

impl<T: Quantity> Distribution<T> {
    /// As `parse`, but refuses files: for what a request may ask for.
    pub(crate) fn parse_inline(text: &str) -> Result<Self, DistributionError> {
        let wrong = || DistributionError::Unknown(text.to_owned());
        let Some((kind, rest)) = text.split_once(':') else {
            return Ok(Self::Fixed(text.parse()?));
        };
        let two = || rest.split_once(',').ok_or_else(|| DistributionError::NeedsTwo(text.to_owned()));
        match kind {
            "fixed" => Ok(Self::Fixed(rest.parse()?)),
            "uniform" => {
                let (a, b) = two()?;
                let (a, b): (T, T) = (a.parse()?, b.parse()?);
                if a > b {
                    return Err(DistributionError::Descending(text.to_owned()));
                }
                Ok(Self::Uniform(a, b))
            }
            "exponential" | "exp" => Ok(Self::Exponential { mean: rest.parse()? }),
            "lognormal" => {
                let (median, sigma) = two()?;
                let sigma = sigma.trim().parse().ok().filter(|s| (0.0..=10.0).contains(s));
                let sigma = sigma.ok_or_else(|| DistributionError::Sigma(text.to_owned()))?;
                Ok(Self::Lognormal { median: median.parse()?, sigma })
            }
            "file" | "file-random" => Err(DistributionError::FileRefused(text.to_owned())),
            _ => Err(wrong()),
        }
    }

    fn load(path: &str, in_order: bool) -> Result<Self, DistributionError> {
        let text = std::fs::read_to_string(path)
            .map_err(|why| DistributionError::Unreadable { path: path.to_owned(), why })?;
        let mut values = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let value = line.parse().map_err(|why| DistributionError::Line {
                path: path.to_owned(),
                line: index + 1,
                why,
            })?;
            values.push(value);
        }
        if values.is_empty() {
            return Err(DistributionError::Empty(path.to_owned()));
        }
        let next = in_order.then(|| Arc::new(AtomicUsize::new(0)));
        Ok(Self::Recorded(Recorded { path: path.into(), values: values.into(), next }))
    }

    /// One draw. Exponential and lognormal draws saturate at the largest value of the type.
    pub(crate) fn draw(&self, random: &mut Random) -> T {
        match self {
            Self::Fixed(value) => *value,
            Self::Uniform(a, b) => {
                let width = (b.raw() - a.raw()).saturating_add(1);
                T::from_raw(a.raw() + random.below(width))
            }
            Self::Exponential { mean } => T::from_raw((-random.unit().ln() * mean.raw() as f64) as u64),
            Self::Lognormal { median, sigma } => {
                T::from_raw((median.raw() as f64 * (sigma * random.normal()).exp()) as u64)
            }
            Self::Recorded(Recorded { values, next, .. }) => match next {
                Some(next) => values[next.fetch_add(1, Ordering::Relaxed) % values.len()],
                None => values[random.below(values.len() as u64) as usize],
            },
        }
    }
}

impl<T> Distribution<T> {
    /// The file that it was read from.
    pub fn file(&self) -> Option<&Path> {
        if let Self::Recorded(recorded) = self { Some(Path::new(&*recorded.path)) } else { None }
    }
}

impl<T: Quantity> FromStr for Distribution<T> {
    type Err = DistributionError;

    fn from_str(text: &str) -> Result<Self, DistributionError> {
        match text.split_once(':') {
            Some(("file", path)) => Self::load(path, true),
            Some(("file-random", path)) => Self::load(path, false),
            _ => Self::parse_inline(text),
        }
    }
}

/// The form that parses back to the same distribution.
impl<T: Quantity> Display for Distribution<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(value) => write!(f, "{value}"),
            Self::Uniform(a, b) => write!(f, "uniform:{a},{b}"),
            Self::Exponential { mean } => write!(f, "exponential:{mean}"),
            Self::Lognormal { median, sigma } => write!(f, "lognormal:{median},{sigma}"),
            Self::Recorded(recorded) => {
                let kind = if recorded.next.is_some() { "file" } else { "file-random" };
                write!(f, "{kind}:{}", recorded.path)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn draws(text: &str, count: usize) -> Vec<f64> {
        let distribution: Distribution<Picos> = text.parse().unwrap();
        let mut random = Random::new(7, 0);
        let mut draws: Vec<f64> = (0..count).map(|_| distribution.draw(&mut random).as_secs_f64()).collect();
        draws.sort_by(f64::total_cmp);
        draws
    }

    /// Largest distance between the draws' distribution and `cdf` (Kolmogorov, Smirnov). Over n draws it
    /// passes 1.95/√n with probability 0.1 % (Smirnov's table), and the seed is fixed.
    fn assert_ks(draws: &[f64], cdf: impl Fn(f64) -> f64) {
        let n = draws.len() as f64;
        let distance = draws
            .iter()
            .enumerate()
            .map(|(i, x)| {
                let p = cdf(*x);
                (p - i as f64 / n).abs().max(((i + 1) as f64 / n - p).abs())
            })
            .fold(0.0, f64::max);
        assert!(distance < 1.95 / n.sqrt(), "KS distance {distance}");
    }

    #[test]
    fn uniform_is_even() {
        assert_ks(&draws("uniform:1ms,5ms", 20_000), |x| (x - 0.001) / 0.004);
    }

    #[test]
    fn exponential_has_its_mean() {
        let draws = draws("exponential:5ms", 20_000);
        assert_ks(&draws, |x| 1.0 - (-x / 0.005).exp());
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        // Standard error of the mean: 5 ms / √20000 = 0.035 ms; four of them.
        assert!((mean - 0.005).abs() < 0.000_142, "{mean}");
    }

    #[test]
    fn lognormal_has_its_median_and_quantiles() {
        let draws = draws("lognormal:5ms,0.5", 20_000);
        // Quantiles of the normal: 0.8413 at +1σ, 0.1587 at −1σ, so 5 ms · e^±0.5 = 8.2436 and 3.0327 ms.
        for (quantile, expected) in [(0.158_655, 0.003_032_65), (0.5, 0.005), (0.841_345, 0.008_243_6)] {
            let at = draws[(quantile * draws.len() as f64) as usize];
            assert!((at / expected - 1.0).abs() < 0.02, "{quantile}: {at}");
        }
    }

    #[test]
    fn files_go_in_order_or_at_random() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "1ms\n# a comment\n\n2ms\n3ms\n").unwrap();
        let path = file.path().display();
        let in_order: Distribution<Picos> = format!("file:{path}").parse().unwrap();
        let mut random = Random::new(1, 0);
        let first: Vec<u64> = (0..4).map(|_| in_order.draw(&mut random).as_nanos()).collect();
        assert_eq!(first, [1_000_000, 2_000_000, 3_000_000, 1_000_000]);
        let at_random: Distribution<Picos> = format!("file-random:{path}").parse().unwrap();
        let mut counts = [0u32; 3];
        for _ in 0..3_000 {
            counts[at_random.draw(&mut random).as_nanos() as usize / 1_000_000 - 1] += 1;
        }
        // χ² with 2 degrees of freedom passes 13.8 with probability 0.1 %.
        let chi2: f64 = counts.iter().map(|c| (f64::from(*c) - 1_000.0).powi(2) / 1_000.0).sum();
        assert!(chi2 < 13.8, "{counts:?}");
    }

    #[test]
    fn printed_form_round_trips_and_wrong_ones_are_named() {
        for text in ["5ms", "uniform:1ms,5ms", "exponential:5ms", "lognormal:5ms,0.5"] {
            assert_eq!(text.parse::<Distribution<Picos>>().unwrap().to_string(), text);
        }
        for text in ["", "5", "uniform:1ms", "uniform:5ms,1ms", "gamma:1ms", "lognormal:1ms,x", "exp:-1ms"] {
            let parsed = text.parse::<Distribution<Picos>>();
            assert_eq!(parsed.is_err(), text != "5", "{text}");
        }
        let missing = "file:/nowhere/at-all".parse::<Distribution<Picos>>().unwrap_err();
        assert!(missing.to_string().contains("/nowhere/at-all"));
        assert!(Distribution::<Picos>::parse_inline("file:/etc/passwd").is_err());
    }
}
