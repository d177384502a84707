//! Figures over trials, with Student's t: x̄ ± t(0.975, n − 1) · s / √n; 2.262 for ten trials. Trials that
//! drift or hang together have no interval: crate `stats` says why.

use store::weighing::Claim;

/// The mean of trial values that are never negative, with its interval at 0.95 or why there is none.
pub fn of(values: &[f64]) -> Claim {
    within(values, 0.0, f64::INFINITY)
}

/// The same of shares that were lost: below zero it is a gain, and more than all is lost by nobody.
pub fn of_fall(values: &[f64]) -> Claim {
    within(values, f64::NEG_INFINITY, 1.0)
}

/// Of trials of a simulation, which differ in what its memories hold at first, and in nothing else unless that
/// matters. If all are the same, an interval would have no width: there is no noise.
pub fn of_simulated(values: &[f64]) -> Claim {
    match values {
        [first, rest @ ..] if rest.iter().all(|value| value == first) => {
            Claim { estimate: *first, refused: Some(same(values.len())), ..Claim::default() }
        }
        _ => of(values),
    }
}

fn same(trials: usize) -> String {
    match trials {
        1 => "there is one trial, and simulated time has no noise".to_owned(),
        trials => format!("all {trials} trials are the same to the cycle: simulated time has no noise"),
    }
}

fn within(values: &[f64], least: f64, most: f64) -> Claim {
    let estimate = if values.is_empty() { 0.0 } else { stats::mean(values) };
    match stats::students::interval(values) {
        Ok(interval) => Claim {
            estimate: interval.estimate(),
            low: Some(interval.low().max(least)),
            high: Some(interval.high().min(most)),
            refused: None,
        },
        Err(refusal) => Claim { estimate, refused: Some(refusal.to_string()), ..Claim::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 2 of the study, machine 2; its table 1 says 10.35 ± 0.5810. By hand (with all digits of the means)
    /// 2.262 · s / √10 is 0.5815.
    #[test]
    fn the_studys_second_machine() {
        let found = of(&[12.56, 9.89, 10.59, 9.84, 10.05, 9.83, 9.99, 10.17, 10.24, 10.38]);
        assert!((found.estimate - 10.354).abs() < 1e-9, "{found:?}");
        match found.half() {
            Some(half) => assert!((half - 0.5815).abs() < 5e-4, "{found:?}"),
            None => assert!(found.refused.is_some()),
        }
    }

    #[test]
    fn an_interval_ends_where_values_do() {
        let values = [0.1, 4.0, 0.2, 3.0];
        assert_eq!(of(&values).low, Some(0.0));
        let fall = of_fall(&[0.99, 0.5, 0.98, 0.97]);
        assert_eq!((fall.high, fall.low.is_some_and(|low| low < 0.6)), (Some(1.0), true), "{fall:?}");
    }

    #[test]
    fn simulated_trials_that_are_the_same_say_so() {
        let found = of_simulated(&[7.0, 7.0, 7.0]);
        assert_eq!((found.estimate, found.low), (7.0, None));
        assert!(found.refused.is_some_and(|why| why.starts_with("all 3 trials are the same to the cycle")));
        assert!(of_simulated(&[7.0, 8.0, 7.5, 7.2]).low.is_some());
        assert_eq!(of_simulated(&[]).estimate, 0.0);
    }

    #[test]
    fn one_trial_has_no_interval_and_says_so() {
        let found = of(&[7.0]);
        assert_eq!((found.estimate, found.low), (7.0, None));
        assert!(found.refused.is_some() && of(&[]).refused.is_some());
    }
}
