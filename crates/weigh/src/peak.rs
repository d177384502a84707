//! The highest rate that holds, found by trials.
//!
//! ```text
//!   holds  ●────●──────●──●│            each ● is k trials that all held
//!   fails                  │▲─▲─────▲   one that failed is enough
//!   rate   ───────────────────────────►
//!          begin where it saturates, halve the way (in ratio) until both sides are within `width`
//! ```
//!
//! A trial that something else disturbed is made again, a few times; if all are, the rate counts as one that
//! holds: the generator had time to spare, so it is not what failed. Otherwise a machine with neighbours would
//! have a peak that says when they were there. Pure: what a trial is, the caller knows.

/// What one trial showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    Yes,
    /// The generator was late or full.
    Generator,
    /// What was loaded did not keep up, so that of the generator nothing is known.
    Target,
    /// The rate was kept, but late without being busy: something else had the CPU.
    Disturbed,
}

/// How hard to look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Trials that must all hold at a rate.
    pub confirmations: u32,
    /// Disturbed trials are made again so many times for each rate, and then count as trials that held.
    pub repeats: u32,
    /// The search ends when rates that hold and rates that fail are this near: 0.05 is 5 %.
    pub width: f64,
    /// Trials in all.
    pub most_trials: u32,
}

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// The highest rate that held; `None` if none did.
    pub peak_per_s: Option<f64>,
    /// The lowest that did not, and whether what was loaded was the reason.
    pub failed_per_s: Option<f64>,
    pub is_targets: bool,
    pub trials: u32,
    pub disturbed: u32,
    /// Both sides met within the width; else trials ran out, or the search was stopped.
    pub is_complete: bool,
}

/// Rates below this are no load.
const LEAST_PER_S: f64 = 1.0;
/// Until a rate fails, the next is so many times higher; until one holds, so many times lower.
const UP: f64 = 1.25;
const DOWN: f64 = 0.7;

/// Looks from `start_per_s` on. `trial` says what came of a rate, or `None` to stop.
pub fn search(start_per_s: f64, effort: Effort, mut trial: impl FnMut(f64) -> Option<Held>) -> Found {
    let mut found = Found::default();
    let mut rate = start_per_s.max(LEAST_PER_S);
    while found.trials < effort.most_trials && rate >= LEAST_PER_S {
        let Some(held) = at(rate, effort, &mut found, &mut trial) else { return found };
        match held {
            Held::Yes => found.peak_per_s = Some(rate),
            held => (found.failed_per_s, found.is_targets) = (Some(rate), held == Held::Target),
        }
        rate = match (found.peak_per_s, found.failed_per_s) {
            (Some(low), Some(high)) if high / low <= 1.0 + effort.width => {
                found.is_complete = true;
                return found;
            }
            (Some(low), Some(high)) => (low * high).sqrt(),
            (Some(low), None) => low * UP,
            (None, high) => high.unwrap_or(rate) * DOWN,
        };
    }
    found
}

/// Whether one rate holds.
fn at(
    rate: f64,
    effort: Effort,
    found: &mut Found,
    trial: &mut impl FnMut(f64) -> Option<Held>,
) -> Option<Held> {
    let (mut confirmed, mut repeats) = (0, 0);
    while confirmed < effort.confirmations {
        found.trials += 1;
        match trial(rate)? {
            Held::Yes => confirmed += 1,
            Held::Disturbed => {
                found.disturbed += 1;
                match repeats < effort.repeats {
                    true => repeats += 1,
                    false => confirmed += 1,
                }
            }
            failed => return Some(failed),
        }
    }
    Some(Held::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EFFORT: Effort = Effort { confirmations: 2, repeats: 2, width: 0.05, most_trials: 60 };

    /// Holds up to a rate.
    fn up_to(peak: f64) -> impl FnMut(f64) -> Option<Held> {
        move |rate| Some(if rate <= peak { Held::Yes } else { Held::Generator })
    }

    #[test]
    fn it_finds_the_peak_from_either_side() {
        for start in [1_000.0, 90_000.0, 5_000_000.0] {
            let found = search(start, EFFORT, up_to(80_000.0));
            let peak = found.peak_per_s.unwrap();
            assert!(found.is_complete && peak <= 80_000.0 && peak > 80_000.0 / 1.05, "{start}: {found:?}");
            assert!(!found.is_targets);
        }
    }

    #[test]
    fn nothing_holds_and_nothing_is_claimed() {
        let found = search(1_000.0, EFFORT, up_to(0.0));
        assert_eq!((found.peak_per_s, found.is_complete), (None, false));
        assert!(found.trials <= EFFORT.most_trials);
    }

    #[test]
    fn one_failure_among_the_confirmations_is_enough() {
        let mut calls = 0;
        let found = search(100.0, Effort { confirmations: 3, width: 0.5, ..EFFORT }, |rate| {
            calls += 1;
            // At 100 the third trial fails; lower ones hold.
            Some(if rate >= 100.0 && calls == 3 { Held::Generator } else { Held::Yes })
        });
        assert_eq!((found.failed_per_s, found.peak_per_s), (Some(100.0), Some(70.0)));
        assert_eq!((found.trials, calls), (6, 6));
    }

    #[test]
    fn disturbed_trials_are_made_again_but_not_for_ever() {
        let mut calls = 0;
        let found = search(100.0, Effort { width: 0.5, confirmations: 1, ..EFFORT }, |rate| {
            calls += 1;
            Some(match calls {
                1 | 2 => Held::Disturbed,
                _ if rate > 110.0 => Held::Target,
                _ => Held::Yes,
            })
        });
        assert_eq!((found.peak_per_s, found.disturbed, found.is_targets), (Some(100.0), 2, true));
        // Where every trial is, the rates that the generator kept count: here those below 150.
        let always =
            search(100.0, EFFORT, |rate| Some(if rate < 150.0 { Held::Disturbed } else { Held::Generator }));
        let peak = always.peak_per_s.unwrap();
        assert!((140.0..150.0).contains(&peak) && always.disturbed > 8, "{always:?}");
    }

    #[test]
    fn a_search_that_is_stopped_tells_what_it_has() {
        let mut left = 5;
        let found = search(100.0, EFFORT, |_| {
            left -= 1;
            (left > 0).then_some(Held::Yes)
        });
        assert_eq!((found.peak_per_s, found.is_complete), (Some(125.0), false));
    }

    proptest::proptest! {
        #[test]
        fn every_search_ends_and_never_claims_what_failed(peak in 0.1..1e7f64, start in 0.1..1e7f64) {
            let found = search(start, EFFORT, up_to(peak));
            proptest::prop_assert!(found.trials <= EFFORT.most_trials + 1);
            proptest::prop_assert!(found.peak_per_s.is_none_or(|rate| rate <= peak));
            proptest::prop_assert!(found.failed_per_s.is_none_or(|rate| rate > peak));
        }
    }
}
