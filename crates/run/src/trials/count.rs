//! How many trials there shall be: so many, or until a figure is sure enough.

use anyhow::anyhow;
use compare::{HEADLINES, Headline};
use std::str::FromStr;
use units::{Fraction, Picos};

/// The same load several times.
#[derive(Clone, Debug, Default)]
pub struct Trials {
    pub trials: Option<u32>,
    /// Until the interval of a figure is narrow enough.
    pub until: Option<Wanted>,
    /// Where `until` is given: so many in any case.
    pub max_trials: Option<u32>,
    /// Between two trials.
    pub cool_down: Option<Picos>,
}

/// Trials that `--until` makes at most.
const MOST: u32 = 30;

/// How sure a figure shall be.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub figure: &'static Headline,
    /// 0.02 of ±2 %.
    pub share: f64,
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str =
            "expected a figure and a share, such as 'latency.p99 ±2%' or 'rate.achieved +-1%'";
        let plain = text.replace('±', " ").replace("+-", " ");
        let words: Vec<&str> = plain.split_whitespace().collect();
        let [name, share] = words[..] else { return Err(EXPECTED.to_owned()) };
        let figure = compare::named(name).ok_or_else(|| {
            let names: Vec<&str> = HEADLINES.iter().map(|figure| figure.name).collect();
            format!("no figure is called '{name}'; expected one of {}", names.join(", "))
        })?;
        let share: Fraction = share.parse().map_err(|error| format!("{error}; {EXPECTED}"))?;
        match share.as_f64() {
            share if share > 0.0 => Ok(Self { figure, share }),
            _ => Err(format!("no number of trials makes a figure exact; {EXPECTED}")),
        }
    }
}

impl Trials {
    /// Whether more than one run is asked for.
    pub fn is_group(&self) -> bool {
        self.trials.is_some() || self.until.is_some()
    }

    /// Rounds that are made at least and at most.
    pub fn rounds(&self) -> anyhow::Result<(usize, usize)> {
        let Some(wanted) = &self.until else {
            let trials = self.trials.unwrap_or(1) as usize;
            return Ok((trials, trials));
        };
        let least = self.trials.map_or(0, |trials| trials as usize).max(wanted.figure.least_trials());
        let most = self.max_trials.unwrap_or(MOST.max(self.trials.unwrap_or(0))) as usize;
        if most < least {
            let why = if self.trials.is_some_and(|trials| trials as usize == least) {
                "--trials asks for"
            } else {
                "its interval needs"
            };
            let name = wanted.figure.name;
            return Err(anyhow!(
                "--max-trials {most}: {why} at least {least} for {name}; raise --max-trials"
            ));
        }
        Ok((least, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_a_figure_and_a_share() {
        for text in ["latency.p99 ±2%", "latency.p99±2%", "latency.p99 2%", "latency.p99 +-0.02"] {
            let wanted: Wanted = text.parse().unwrap();
            assert_eq!((wanted.figure.name, wanted.share), ("latency.p99", 0.02), "{text}");
        }
        assert!("latency.p98 ±2%".parse::<Wanted>().unwrap_err().contains("latency.p99_9"));
        assert!("latency.p99".parse::<Wanted>().unwrap_err().contains("expected a figure and a share"));
        assert!("latency.p99 ±0%".parse::<Wanted>().is_err());
        assert!("latency.p99 ±two".parse::<Wanted>().is_err());
    }

    #[test]
    fn rounds_are_as_many_as_asked_for_and_enough_for_the_interval() {
        let args = |trials, until: Option<&str>, max_trials| Trials {
            trials,
            until: until.map(|text| text.parse().unwrap()),
            max_trials,
            ..Trials::default()
        };
        assert_eq!(args(Some(3), None, None).rounds().unwrap(), (3, 3));
        assert_eq!(args(None, Some("rate.achieved 1%"), None).rounds().unwrap(), (5, 30));
        assert_eq!(args(Some(12), Some("latency.p99 1%"), Some(20)).rounds().unwrap(), (12, 20));
        let error = args(None, Some("latency.p99 1%"), Some(5)).rounds().unwrap_err().to_string();
        assert!(error.contains("--max-trials 5") && error.contains("at least 8"), "{error}");
    }
}
