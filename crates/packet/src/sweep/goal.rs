//! What a search looks for, and how sure it must be (RFC 9971, "Search Goal").
//!
//! | attribute | here | RFC 2544 by the letter |
//! |---|---|---|
//! | goal loss ratio | `loss` | 0 |
//! | goal final trial duration | `trial` | 60 s |
//! | goal duration sum | `sum` | 60 s |
//! | goal exceed ratio | `exceed` | 0 |
//! | goal initial trial duration | `first_trial` | 60 s |
//! | goal width | `width` | any |

use super::load::Load;
use std::fmt;
use units::{Fraction, Picos};

/// One loss ratio whose highest load is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// `NDR`, `PDR`, `0.1 %`.
    pub name: String,
    /// Loss ratio that a trial may have, 0 to (not including) 1.
    pub loss: Fraction,
    /// Trials at least this long are full-length and decide.
    pub trial: Picos,
    /// Trials of the first, coarse steps.
    pub first_trial: Picos,
    /// So much full-length trial time is needed at a load before it is decided.
    pub sum: Picos,
    /// Share of the trial time that may lose more than `loss`, and the load still counts as reached.
    pub exceed: Fraction,
    /// (upper − lower) / upper at the end.
    pub width: Fraction,
}

/// Loads between which is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub min: Load,
    pub max: Load,
}

/// One step of a goal: the first are short and coarse, the last is the goal itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    pub loss: f64,
    pub trial: Picos,
    pub sum: Picos,
    pub exceed: f64,
    pub width: f64,
}

/// Steps from the first, coarse one to the goal itself.
const STEPS: u32 = 3;

impl Goal {
    /// Non-drop rate: not a single frame is lost.
    pub fn ndr() -> Self {
        Self::named("NDR", Fraction::ZERO)
    }

    /// Partial drop rate.
    pub fn pdr(loss: Fraction) -> Self {
        Self::named("PDR", loss)
    }

    pub fn named(name: &str, loss: Fraction) -> Self {
        Self {
            name: name.to_owned(),
            loss,
            trial: Picos::from_secs(1),
            first_trial: Picos::from_millis(250),
            sum: Picos::from_secs(3),
            exceed: Fraction::from_millionths(500_000).unwrap_or(Fraction::ZERO),
            width: Fraction::from_millionths(5_000).unwrap_or(Fraction::ONE),
        }
    }

    /// The steps: trial time grows geometrically, the width halves.
    pub(super) fn targets(&self) -> Vec<Target> {
        let steps = if self.first_trial < self.trial { STEPS } else { 1 };
        (1..=steps).map(|step| self.target(step, steps)).collect()
    }

    fn target(&self, step: u32, steps: u32) -> Target {
        let done = if steps == 1 { 1.0 } else { f64::from(step - 1) / f64::from(steps - 1) };
        let (first, last) = (self.first_trial.as_secs_f64(), self.trial.as_secs_f64());
        let is_last = step == steps;
        let trial =
            if is_last { self.trial } else { Picos::from_secs_f64(first * (last / first).powf(done)) };
        Target {
            loss: self.loss.as_f64(),
            trial,
            // One trial is enough for a coarse step.
            sum: if is_last { self.sum } else { trial },
            exceed: self.exceed.as_f64(),
            width: (self.width.as_f64() * f64::from(1 << (steps - step))).min(0.5),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (loss {})", self.name, self.loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_grow_longer_and_finer_up_to_the_goal() {
        let goal = Goal::ndr();
        let targets = goal.targets();
        // 250 ms, √(250 ms · 1 s) = 500 ms, 1 s; widths 4 ·, 2 · and 1 · 0.5 %.
        let trials: Vec<u64> = targets.iter().map(|target| target.trial.as_nanos() / 1_000_000).collect();
        let widths: Vec<f64> = targets.iter().map(|target| target.width).collect();
        assert_eq!((trials, widths), (vec![250, 500, 1_000], vec![0.02, 0.01, 0.005]));
        assert_eq!(targets[2].sum, goal.sum);
        let by_the_letter = Goal { first_trial: goal.trial, ..goal };
        assert_eq!(by_the_letter.targets().len(), 1);
    }
}
