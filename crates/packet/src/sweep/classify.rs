//! Whether a load is reached, by the trials that were made at it (RFC 9971, "Load Classification").
//!
//! ```text
//! full-length trials:  low loss ████████  high loss ███   still to come ░░░░  (together ≥ the goal's sum)
//!                      if all that is to come were high loss: reached all the same?   → lower bound
//!                      if all that is to come were low loss:  missed all the same?    → upper bound
//! short trials:        count only against a load: their high loss, less what the exceed ratio excuses by their
//!                      low loss
//! ```

use super::goal::Target;
use super::trial::Trial;

/// What a load is to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The target's loss ratio is kept.
    Lower,
    /// It is exceeded.
    Upper,
    /// More trials are needed.
    Undecided,
}

/// Seconds of trials at one load.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    full_low: f64,
    full_high: f64,
    short_low: f64,
    short_high: f64,
}

impl Times {
    fn of(target: &Target, trials: &[Trial]) -> Self {
        let mut times = Self::default();
        for trial in trials {
            let place = match (trial.length >= target.trial, trial.loss() > target.loss) {
                (true, false) => &mut times.full_low,
                (true, true) => &mut times.full_high,
                (false, false) => &mut times.short_low,
                (false, true) => &mut times.short_high,
            };
            *place += trial.length.as_secs_f64();
        }
        times
    }

    /// Time with too much loss, where short trials of low loss excuse their part of the short ones with high
    /// loss.
    fn high(&self, exceed: f64) -> f64 {
        let excused = if exceed < 1.0 { self.short_low * exceed / (1.0 - exceed) } else { f64::INFINITY };
        self.full_high + (self.short_high - excused).max(0.0)
    }
}

/// Differences below this are the rounding of sums of seconds.
const ROUNDING: f64 = 1e-9;

/// Classifies the load at which all these valid trials were made.
pub fn classify(target: &Target, trials: &[Trial]) -> Class {
    let times = Times::of(target, trials);
    let high = times.high(target.exceed);
    let whole = (high + times.full_low).max(target.sum.as_secs_f64());
    let excused = whole * target.exceed + ROUNDING;
    let if_the_rest_is_high = whole - times.full_low;
    match (high <= excused, if_the_rest_is_high <= excused) {
        (true, true) => Class::Lower,
        (false, false) => Class::Upper,
        _ => Class::Undecided,
    }
}

/// The throughput at a lower bound on the condition of its loss: load · (1 − the loss that is not exceeded in
/// the share `1 − exceed` of the full-length time). RFC 9971, "Conditional Throughput".
pub fn conditional_throughput(target: &Target, trials: &[Trial]) -> Option<f64> {
    let load = trials.first()?.load.as_per_second();
    let mut full: Vec<&Trial> = trials.iter().filter(|trial| trial.length >= target.trial).collect();
    full.sort_by(|a, b| a.loss().total_cmp(&b.loss()));
    let measured: f64 = full.iter().map(|trial| trial.length.as_secs_f64()).sum();
    let mut left = measured.max(target.sum.as_secs_f64()) * (1.0 - target.exceed);
    let mut loss = None;
    for trial in full {
        if loss.is_some() && left <= ROUNDING {
            break;
        }
        loss = Some(trial.loss());
        left -= trial.length.as_secs_f64();
    }
    // Where less was measured than is needed, what is missing counts as lost.
    let loss = if left > ROUNDING { 1.0 } else { loss? };
    Some(load * (1.0 - loss))
}

#[cfg(test)]
mod tests {
    use super::super::load::Load;
    use super::*;
    use proptest::prelude::*;
    use units::Picos;

    fn target(loss: f64, sum_s: u64, exceed: f64) -> Target {
        Target { loss, trial: Picos::from_secs(1), sum: Picos::from_secs(sum_s), exceed, width: 0.01 }
    }

    fn trial(length_ms: u64, lost: u64) -> Trial {
        let length = Picos::from_millis(length_ms);
        let (load, sent) = (Load::per_second(1_000.0), 1_000);
        Trial {
            load,
            length,
            offered: sent,
            sent,
            took: length,
            received: sent - lost,
            missed: 0,
            latest: Picos::ZERO,
            kept_up: false,
            undrained: None,
            ways: 1,
            spoilt: None,
        }
    }

    #[test]
    fn by_hand() {
        // exceed 1/2, sum 3 s: two good seconds of three decide for, two bad ones against.
        let ndr = target(0.0, 3, 0.5);
        for (trials, class) in [
            (vec![], Class::Undecided),
            (vec![trial(1_000, 0)], Class::Undecided),
            (vec![trial(1_000, 0), trial(1_000, 0)], Class::Lower),
            (vec![trial(1_000, 0), trial(1_000, 1)], Class::Undecided),
            (vec![trial(1_000, 1), trial(1_000, 1)], Class::Upper),
            (vec![trial(1_000, 0), trial(1_000, 1), trial(1_000, 0)], Class::Lower),
            // A long series of short bad trials decides against without a single long one.
            (vec![trial(500, 1); 4], Class::Upper),
            // Short good ones never decide for.
            (vec![trial(500, 0); 40], Class::Undecided),
            // … but excuse as many short bad ones at an exceed ratio of one half.
            ([vec![trial(500, 0); 4], vec![trial(500, 1); 4]].concat(), Class::Undecided),
        ] {
            assert_eq!(classify(&ndr, &trials), class, "{trials:?}");
        }
    }

    #[test]
    fn without_an_exceed_ratio_one_bad_trial_decides() {
        let strict = target(0.0, 1, 0.0);
        assert_eq!(classify(&strict, &[trial(1_000, 0)]), Class::Lower);
        assert_eq!(classify(&strict, &[trial(1_000, 0), trial(1_000, 1)]), Class::Upper);
        assert_eq!(classify(&strict, &[trial(100, 1)]), Class::Upper);
        // 5 of 1000 are half a percent: no more than the goal.
        assert_eq!(classify(&target(0.005, 1, 0.0), &[trial(1_000, 5)]), Class::Lower);
        assert_eq!(classify(&target(0.005, 1, 0.0), &[trial(1_000, 6)]), Class::Upper);
    }

    #[test]
    fn conditional_throughput_takes_the_quantile_of_loss() {
        // 3 s, exceed 1/2: the loss of 1.5 s of trials counts, in ascending order: the second, 2 of 1000.
        let trials = [trial(1_000, 9), trial(1_000, 0), trial(1_000, 2)];
        assert_eq!(conditional_throughput(&target(0.01, 3, 0.5), &trials), Some(998.0));
        // No exceed: the worst.
        assert_eq!(conditional_throughput(&target(0.01, 3, 0.0), &trials), Some(991.0));
        assert_eq!(conditional_throughput(&target(0.01, 3, 0.0), &trials[..2]), Some(0.0));
        assert_eq!(conditional_throughput(&target(0.01, 3, 0.5), &[]), None);
    }

    proptest! {
        /// What a lower bound needs is there: classification does not depend on the order of trials, and a
        /// further full-length trial of low loss never makes a lower bound anything else, nor one of high loss
        /// an upper bound.
        #[test]
        fn classes_are_monotonic(
            mut trials in prop::collection::vec((prop::bool::ANY, 0u64..2), 0..12), exceed in 0.0f64..0.9,
        ) {
            let target = target(0.0, 4, exceed);
            let made = |trials: &[(bool, u64)]| -> Vec<Trial> {
                trials.iter().map(|(full, lost)| trial(if *full { 1_000 } else { 300 }, *lost)).collect()
            };
            let class = classify(&target, &made(&trials));
            let mut reversed = made(&trials);
            reversed.reverse();
            prop_assert_eq!(class, classify(&target, &reversed));
            trials.push((true, u64::from(class == Class::Upper)));
            if class != Class::Undecided {
                prop_assert_eq!(class, classify(&target, &made(&trials)));
            }
        }
    }
}
