//! The search itself: which trial comes next, and what all of them together say (RFC 9971). No I/O and no
//! clock.
//!
//! ```text
//!      next_trial() ─► TrialOrder { load, length }
//!   Search ◄───────────────────────────────── whoever makes trials
//!            learn(Trial)
//!
//!   each goal, each step: ─ at max ─► at what was forwarded then ─► outwards, doubling ─► halving the ratio
//!                                     until (upper − lower) / upper ≤ width, then the next step: longer, finer
//! ```
//!
//! A trial in which the generator fell short says nothing of the target. It is tried again, and if that happens
//! again, what the generator reached is the highest load that is searched, and the result says so. A load at
//! which a trial counted is one that the generator makes: below it nothing but the machine's other work holds
//! it up. Trials that do not count are bounded in number.

use super::classify::{Class, classify, conditional_throughput};
use super::goal::{Goal, Limits, Target};
use super::load::Load;
use super::trial::{Judged, Side, Trial, TrialOrder, Void};
use std::collections::BTreeMap;

/// A search for several goals at once.
#[derive(Clone, Debug)]
pub struct Search {
    goals: Vec<Goal>,
    limits: Limits,
    /// Every step of every goal, in the order in which they are worked on.
    steps: Vec<Step>,
    at: usize,
    trials: BTreeMap<Load, Vec<Trial>>,
    /// The load of the last trial that was taken in, until the next.
    last: Option<Load>,
    /// The highest load that the generator made.
    proven: Option<Load>,
    made: usize,
    most: usize,
    /// The load at which trials go on until it is decided.
    open: Option<Load>,
    /// Doublings of the search outwards.
    strides: u32,
    /// Trials that the generator could not make: at which load, how often, and the most that it reached.
    short: Option<(Load, u32, f64)>,
    generator: Option<f64>,
    /// Which end of this machine was the limit then.
    side: Side,
    invalid: usize,
    /// Of those, the ones that the generator did not make; and those in a row below what it had made.
    shorts: usize,
    held_up: u32,
    /// Uneven trials in a row and all that were made, and how many lossy ones had to be taken all the same.
    uneven: u32,
    all_uneven: usize,
    doubtful: usize,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    goal: usize,
    target: Target,
}

/// What was found for one goal.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalFindings {
    pub goal: Goal,
    /// The highest load that is reached, below every load that is not.
    pub lower: Option<Load>,
    /// The lowest load that is not reached.
    pub upper: Option<Load>,
    /// Frames per second that arrive at the lower bound.
    pub throughput: Option<f64>,
    pub end: End,
}

/// How a goal's search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// Both bounds, no further apart than the goal's width.
    Found,
    /// Even the highest load that was asked for is reached.
    AboveMax,
    /// The generator makes no more than this, frames per second, and the target takes it: the true bound lies
    /// above.
    Generator(f64),
    /// The same of this machine's receiver.
    Receiver(f64),
    /// Even the lowest load that was asked for is not reached.
    BelowMin,
    /// Trials or time ran out first: the bounds are as far as it came.
    RanOut,
    /// Too many trials did not count, though the generator had made higher loads: the machine was busy.
    HeldUp,
}

/// Trials at one load that the generator may fail to make before this is taken for its limit.
const SHORT_TRIALS: u32 = 5;
/// Trials in a row whose frames did not leave evenly, before such a trial counts.
const UNEVEN_TRIALS: u32 = 4;
/// Uneven trials of a search that may not count; from then on they do.
pub(super) const MOST_UNEVEN: usize = 60;
/// Where more than three of four trials are uneven, waiting for others is in vain: known after so many.
const ENOUGH_TRIALS: usize = 12;
/// Trials of a search that the generator may not make, and those in a row although it had made as much before.
pub(super) const MOST_SHORT: usize = 100;
pub(super) const HELD_UP: u32 = 20;
/// Of what the generator reached, the share that is searched: at its very limit every second trial would be
/// short.
const BELOW_LIMIT: f64 = 0.98;

impl Search {
    /// `most` trials at the utmost.
    pub fn new(goals: Vec<Goal>, limits: Limits, most: usize) -> Self {
        let of = |(goal, settings): (usize, &Goal)| {
            settings.targets().into_iter().map(move |target| Step { goal, target }).collect::<Vec<_>>()
        };
        let steps = goals.iter().enumerate().flat_map(of).collect();
        Self {
            goals,
            limits,
            steps,
            at: 0,
            trials: BTreeMap::new(),
            last: None,
            proven: None,
            made: 0,
            most,
            open: None,
            strides: 0,
            short: None,
            generator: None,
            side: Side::Generator,
            invalid: 0,
            shorts: 0,
            held_up: 0,
            uneven: 0,
            all_uneven: 0,
            doubtful: 0,
        }
    }

    /// The trial that tells most now; `None` when all goals are found, or trials have run out.
    pub fn next_trial(&mut self) -> Option<TrialOrder> {
        while self.made < self.most && !self.is_held_up() && self.at < self.steps.len() {
            let step = self.steps[self.at];
            if let Some(load) = self.load_for(&step.target) {
                if self.open != Some(load) {
                    self.open = Some(load);
                }
                return Some(TrialOrder { load, length: step.target.trial });
            }
            self.at += 1;
            self.open = None;
            self.strides = 0;
            // Trials of later goals also speak of earlier ones: what they undo is done again.
            if self.at == self.steps.len()
                && let Some(undone) = self.undone()
            {
                self.at = undone;
            }
        }
        None
    }

    /// Takes a trial in, and says whether it counts; the order need not have come from [`Search::next_trial`].
    pub fn learn(&mut self, trial: Trial) -> Judged {
        self.made += 1;
        self.last = None;
        match trial.void() {
            // Neither end was too slow: the same again, and waited for longer.
            Some(void @ (Void::Undrained { .. } | Void::Stragglers)) => {
                self.invalid += 1;
                self.shorts += 1;
                Judged::Not(void)
            }
            Some(void) => {
                self.fell_short(&trial, void.side());
                Judged::Not(void)
            }
            None => self.counted(trial),
        }
    }

    /// Frames of the last trial came when it was over: it lost less than it seemed, and does not count. Whether
    /// it had counted, and as a lossy one.
    pub fn take_back(&mut self) -> bool {
        let Some(load) = self.last.take() else { return false };
        let Some(trials) = self.trials.get_mut(&load) else { return false };
        if !trials.last().is_some_and(Trial::is_lossy) {
            return false;
        }
        trials.pop();
        if trials.is_empty() {
            self.trials.remove(&load);
        }
        self.invalid += 1;
        self.shorts += 1;
        true
    }

    fn counted(&mut self, trial: Trial) -> Judged {
        (self.short, self.held_up) = (None, 0);
        self.proven = self.proven.max(Some(trial.load));
        if !trial.is_uneven() {
            self.uneven = 0;
            self.take_in(trial);
            return Judged::Counts;
        }
        self.all_uneven += 1;
        let is_hopeless = self.made >= ENOUGH_TRIALS && self.all_uneven * 4 > self.made * 3;
        if self.uneven < UNEVEN_TRIALS && self.invalid - self.shorts < MOST_UNEVEN && !is_hopeless {
            self.uneven += 1;
            self.invalid += 1;
            return Judged::Not(Void::Uneven);
        }
        self.uneven = 0;
        self.doubtful += usize::from(trial.is_lossy());
        self.take_in(trial);
        Judged::AllTheSame
    }

    fn take_in(&mut self, trial: Trial) {
        self.last = Some(trial.load);
        self.trials.entry(trial.load).or_default().push(trial);
    }

    fn fell_short(&mut self, trial: &Trial, side: Side) {
        self.invalid += 1;
        let before = self.short.filter(|(load, ..)| *load == trial.load);
        let (times, best) = before.map_or((1, 0.0), |(_, times, best)| (times + 1, best));
        // What held it up once need not again: the best of them is what it can.
        let best = trial.reached().max(best);
        self.short = Some((trial.load, times, best));
        self.shorts += 1;
        if self.proven.is_some_and(|proven| trial.load <= proven) {
            self.held_up += 1;
        } else if times >= SHORT_TRIALS {
            self.side = side;
            self.limit_to(best);
        }
    }

    fn limit_to(&mut self, reached: f64) {
        let proven = self.proven.unwrap_or(self.limits.min).max(self.limits.min);
        let reached = self.generator.map_or(reached, |before| before.min(reached));
        self.generator =
            Some(if self.proven.is_some() { reached.max(proven.as_per_second()) } else { reached });
        // Each time it gets lower, so that this ends, also with a generator that contradicts itself.
        let limit = Load::per_second(reached * BELOW_LIMIT).min(self.limits.max.times(BELOW_LIMIT));
        self.limits.max = limit.max(proven);
        self.short = None;
        self.open = None;
    }

    /// Whether the generator fell short so often that nothing more is to be learnt.
    const fn is_held_up(&self) -> bool {
        self.shorts >= MOST_SHORT || self.held_up >= HELD_UP
    }

    /// Trials at a load that count.
    fn trials_at(&self, load: Load) -> Vec<Trial> {
        self.trials.get(&load).cloned().unwrap_or_default()
    }

    /// Trials that were made, valid or not.
    pub const fn made(&self) -> usize {
        self.made
    }

    /// Trials that do not count.
    pub const fn invalid(&self) -> usize {
        self.invalid
    }

    /// Losses that were counted although frames did not leave evenly: hardly a trial was even.
    pub const fn doubtful(&self) -> usize {
        self.doubtful
    }

    /// The goal that is worked on.
    pub fn goal(&self) -> Option<&Goal> {
        self.steps.get(self.at).map(|step| &self.goals[step.goal])
    }

    /// What is known for each goal.
    pub fn found(&self) -> Vec<GoalFindings> {
        self.goals.iter().map(|goal| self.found_for(goal)).collect()
    }

    fn found_for(&self, goal: &Goal) -> GoalFindings {
        let Some(target) = goal.targets().pop() else { unreachable!("a goal has a last step") };
        let (lower, upper) = self.bounds(&target);
        let throughput = lower.and_then(|load| conditional_throughput(&target, &self.trials_at(load)));
        let end = match (lower, upper) {
            (Some(low), Some(high)) if is_narrow(low, high, &target) => End::Found,
            (Some(low), None) if low >= self.limits.max => {
                self.generator.map_or(End::AboveMax, |reached| self.limited(reached))
            }
            (None, Some(high)) if high <= self.limits.min => End::BelowMin,
            // Not a single trial was valid, down to the lowest load.
            (None, None) if self.generator.is_some() && self.limits.max <= self.limits.min => {
                self.generator.map_or(End::RanOut, |reached| self.limited(reached))
            }
            (_, None) if self.is_held_up() => {
                self.generator.map_or(End::HeldUp, |reached| self.limited(reached))
            }
            _ if self.is_held_up() => End::HeldUp,
            _ => End::RanOut,
        };
        GoalFindings { goal: goal.clone(), lower, upper, throughput, end }
    }

    fn limited(&self, reached: f64) -> End {
        match self.side {
            Side::Generator => End::Generator(reached),
            Side::Receiver => End::Receiver(reached),
        }
    }

    /// The last step of the first goal whose bounds are open again.
    fn undone(&mut self) -> Option<usize> {
        (0..self.steps.len()).find(|&at| {
            let is_last = self.steps.get(at + 1).is_none_or(|next| next.goal != self.steps[at].goal);
            let target = self.steps[at].target;
            is_last && self.load_for(&target).is_some()
        })
    }

    /// Tightest bounds: the lowest load that is not reached, and the highest below it that is.
    fn bounds(&self, target: &Target) -> (Option<Load>, Option<Load>) {
        let mut lower = None;
        for load in self.trials.keys().copied() {
            match classify(target, &self.trials_at(load)) {
                Class::Upper => return (lower, Some(load)),
                Class::Lower => lower = Some(load),
                Class::Undecided => {}
            }
        }
        (lower, None)
    }

    /// Where the next trial for this target should be made; `None` if its bounds are narrow enough, or cannot
    /// be.
    fn load_for(&mut self, target: &Target) -> Option<Load> {
        let (lower, upper) = self.bounds(target);
        if let Some(open) = self.open
            && self.is_undecided(open, target)
            && lower.is_none_or(|low| low < open)
            && upper.is_none_or(|high| open < high)
        {
            return Some(open);
        }
        let limits = self.limits;
        match (lower, upper) {
            (Some(low), Some(high)) if is_narrow(low, high, target) => None,
            (Some(low), Some(high)) => {
                Some(self.hint(target, low, high).unwrap_or_else(|| inside(low, high)))
            }
            (Some(low), None) if low >= limits.max => None,
            (Some(low), None) => Some(self.outwards(low, target, 1.0).min(limits.max)),
            (None, Some(high)) if high <= limits.min => None,
            (None, Some(high)) => Some(self.downwards(high, target)),
            (None, None) if self.generator.is_some() && limits.max <= limits.min => {
                (!self.is_hopeless()).then_some(limits.min)
            }
            (None, None) => Some(self.first(target)),
        }
    }

    /// Whether the generator does not even make the lowest load.
    fn is_hopeless(&self) -> bool {
        self.generator.is_some_and(|reached| reached < self.limits.min.as_per_second())
    }

    fn is_undecided(&self, load: Load, target: &Target) -> bool {
        load <= self.limits.max && classify(target, &self.trials_at(load)) == Class::Undecided
    }

    /// The bound that the step before left between these two, if it is still to be confirmed by this one.
    fn hint(&self, target: &Target, low: Load, high: Load) -> Option<Load> {
        let (lower, upper) = self.previous(target)?;
        [lower, upper]
            .into_iter()
            .flatten()
            .find(|load| low < *load && *load < high && self.is_undecided(*load, target))
    }

    /// Bounds of the step before this target, of the same goal.
    fn previous(&self, target: &Target) -> Option<(Option<Load>, Option<Load>)> {
        let at = self.steps.iter().position(|step| step.target == *target)?;
        let before = self.steps.get(at.checked_sub(1)?)?;
        (before.goal == self.steps[at].goal).then(|| self.bounds(&before.target))
    }

    /// Where nothing is decided yet: at what the step before found, otherwise at the highest load.
    fn first(&self, target: &Target) -> Load {
        let known = self.previous(target).and_then(|(lower, upper)| lower.or(upper));
        known.unwrap_or(self.limits.max).clamp(self.limits.min, self.limits.max)
    }

    /// A load above `low`: first the one that the step before left as its upper bound, then further and further
    /// away.
    fn outwards(&mut self, low: Load, target: &Target, towards: f64) -> Load {
        let hinted = self.previous(target).and_then(|(_, upper)| upper).filter(|load| *load > low);
        if let Some(hinted) = hinted {
            return hinted;
        }
        low.times(1.0 + towards * self.stride(target))
    }

    /// A load below `high`: what the step before found, what was forwarded at `high`, then further and further
    /// down.
    fn downwards(&mut self, high: Load, target: &Target) -> Load {
        let hinted = self.previous(target).and_then(|(lower, _)| lower).filter(|load| *load < high);
        let forwarded = self.trials.get(&high).and_then(|trials| trials.last()).map(|trial| {
            // A little less than arrived at too high a load, and than may be lost.
            Load::per_second(trial.forwarded() / (1.0 - target.loss))
        });
        let first = self.strides == 0;
        let stride = self.stride(target);
        let guess = hinted.or(forwarded.filter(|load| first && *load < high));
        let next = guess.unwrap_or_else(|| high.times(1.0 - stride.min(0.75)));
        // Also where rounding leaves no room.
        let below = Load::per_second((high.as_per_second() - Load::SMALLEST.as_per_second()).max(0.0));
        next.min(below).clamp(self.limits.min, self.limits.max)
    }

    /// Widths away: 1, 2, 4, 8…
    fn stride(&mut self, target: &Target) -> f64 {
        let stride = target.width * f64::from(1u32 << self.strides.min(20));
        self.strides += 1;
        stride
    }
}

fn is_narrow(low: Load, high: Load, target: &Target) -> bool {
    low.width_to(high) <= target.width || low.is_next_to(high)
}

fn inside(low: Load, high: Load) -> Load {
    let middle = low.between(high);
    if low < middle && middle < high { middle } else { low.times(1.0 + low.width_to(high) / 2.0) }
}

#[cfg(test)]
mod tests;
