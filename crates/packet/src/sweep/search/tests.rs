//! Searches of simulated systems whose capacity is known: it must be found within the width that is stated.

use super::super::*;
use super::{HELD_UP, MOST_SHORT, MOST_UNEVEN};
use proptest::prelude::*;
use units::{Fraction, Picos};

/// A system that forwards at most `capacity` frames per second, loses `noise` of all others at random, and a
/// generator that makes at most `ability`.
struct Simulated {
    capacity: f64,
    ability: f64,
    /// Share of the trials that lose one frame whatever the load.
    hiccups: f64,
    state: u64,
}

impl Simulated {
    fn of(capacity: f64) -> Self {
        Self { capacity, ability: f64::INFINITY, hiccups: 0.0, state: 0x9e37_79b9_7f4a_7c15 }
    }

    /// xorshift64*: uniform in 0..1.
    fn random(&mut self) -> f64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn trial(&mut self, order: TrialOrder) -> Trial {
        let offered = order.load.frames_in(order.length);
        let sent = offered.min((self.ability * order.length.as_secs_f64()) as u64);
        let passed = sent.min((self.capacity * order.length.as_secs_f64()).floor() as u64);
        let hiccup = u64::from(self.random() < self.hiccups);
        let received = passed.saturating_sub(hiccup);
        Trial {
            load: order.load,
            length: order.length,
            offered,
            sent,
            took: order.length,
            received,
            missed: 0,
            latest: Picos::ZERO,
            kept_up: false,
            undrained: None,
            ways: 1,
            spoilt: None,
        }
    }
}

fn share(text: &str) -> Fraction {
    text.parse().unwrap()
}

fn limits(max: f64) -> Limits {
    Limits { min: Load::per_second(1.0), max: Load::per_second(max) }
}

fn run(system: &mut Simulated, goals: Vec<Goal>, limits: Limits) -> (Vec<GoalFindings>, Search) {
    let mut search = Search::new(goals, limits, 500);
    while let Some(order) = search.next_trial() {
        search.learn(system.trial(order));
    }
    (search.found(), search)
}

#[test]
fn ndr_and_pdr_of_a_sharp_system() {
    // Loss at load L is 1 − C / L: zero up to C, and half a percent at C / 0.995.
    let capacity = 812_345.0;
    let goals = vec![Goal::ndr(), Goal::pdr(share("0.5%"))];
    let (found, search) = run(&mut Simulated::of(capacity), goals, limits(14_880_952.0));
    for (found, truth) in found.iter().zip([capacity, capacity / 0.995]) {
        let (low, high) = (found.lower.unwrap().as_per_second(), found.upper.unwrap().as_per_second());
        assert_eq!(found.end, End::Found);
        assert!(low <= truth && truth < high + 1.0, "{low} {truth} {high}");
        assert!((high - low) / high <= 0.005);
        assert!(found.throughput.unwrap() <= low);
    }
    assert!(search.made() < 60, "{} trials", search.made());
    assert_eq!(search.invalid(), 0);
}

#[test]
fn a_target_that_takes_everything_is_above_the_highest_load() {
    let (found, search) = run(&mut Simulated::of(1e9), vec![Goal::ndr()], limits(1e6));
    assert_eq!((found[0].end, found[0].lower), (End::AboveMax, Some(Load::per_second(1e6))));
    assert!(search.made() <= 6);
}

#[test]
fn a_target_that_takes_nothing_is_below_the_lowest_load() {
    let (found, _) = run(&mut Simulated::of(0.0), vec![Goal::ndr()], limits(1e6));
    assert_eq!((found[0].end, found[0].upper), (End::BelowMin, Some(Load::per_second(1.0))));
}

#[test]
fn what_the_generator_cannot_make_is_never_the_targets_loss() {
    // The generator makes 300 000/s; the target would take a million.
    let mut system = Simulated { ability: 300_000.0, ..Simulated::of(1e6) };
    let (found, search) = run(&mut system, vec![Goal::ndr()], limits(2e6));
    let End::Generator(reached) = found[0].end else { panic!("{found:?}") };
    assert!((reached - 300_000.0).abs() < 1.0);
    assert!(search.invalid() >= 2);
    assert_eq!(found[0].upper, None);
    assert!(found[0].lower.unwrap().as_per_second() >= 0.97 * 300_000.0);
}

#[test]
fn below_the_generators_limit_the_target_is_found_all_the_same() {
    let mut system = Simulated { ability: 300_000.0, ..Simulated::of(100_000.0) };
    let (found, _) = run(&mut system, vec![Goal::ndr()], limits(2e6));
    assert_eq!(found[0].end, End::Found, "{found:?}");
    assert!((found[0].lower.unwrap().as_per_second() / 100_000.0 - 1.0).abs() < 0.005);
}

#[test]
fn one_trial_in_ten_with_a_hiccup_does_not_hide_the_capacity() {
    // With an exceed ratio of one half a load is reached if most of its trials lose nothing.
    let mut system = Simulated { hiccups: 0.1, ..Simulated::of(50_000.0) };
    let (found, _) = run(&mut system, vec![Goal::ndr()], limits(1e6));
    assert_eq!(found[0].end, End::Found);
    assert!((found[0].lower.unwrap().as_per_second() / 50_000.0 - 1.0).abs() < 0.01, "{found:?}");
}

#[test]
fn a_loss_in_a_burst_of_the_generators_own_is_tried_again() {
    // Every second trial is uneven and loses frames, at any load; the target itself takes 40 000/s.
    let mut system = Simulated::of(40_000.0);
    let mut search = Search::new(vec![Goal::ndr()], limits(1e5), 500);
    while let Some(order) = search.next_trial() {
        let mut trial = system.trial(order);
        if search.made().is_multiple_of(2) {
            (trial.received, trial.latest) = (trial.received - 1, Picos::from_millis(5));
        }
        search.learn(trial);
    }
    let found = &search.found()[0];
    assert_eq!((found.end, search.doubtful()), (End::Found, 0), "{found:?}");
    assert!((found.lower.unwrap().as_per_second() / 40_000.0 - 1.0).abs() < 0.005);
}

#[test]
fn uneven_trials_go_whether_they_lost_frames_or_not() {
    let mut search = Search::new(vec![Goal::ndr()], limits(1e5), 500);
    let mut system = Simulated::of(40_000.0);
    let order = search.next_trial().unwrap();
    let low = TrialOrder { load: Load::per_second(1_000.0), ..order };
    for (order, is_lossy) in [(low, false), (order, true), (low, false), (order, true)] {
        let trial = Trial { latest: Picos::from_millis(5), ..system.trial(order) };
        assert_eq!(trial.is_lossy(), is_lossy);
        assert_eq!(search.learn(trial), Judged::Not(Void::Uneven));
    }
    assert_eq!(
        search.learn(Trial { latest: Picos::from_millis(5), ..system.trial(low) }),
        Judged::AllTheSame
    );
}

#[test]
fn a_target_that_loses_at_random_is_found_as_high_with_uneven_trials_as_without() {
    // Each trial loses a frame with a chance that grows from 0 at 20 000/s to 1 at 60 000/s: half of the trials
    // at 40 000/s do.
    let found = |uneven: bool, seed: u64| {
        let mut system = Simulated { state: seed, ..Simulated::of(1e9) };
        let mut search =
            Search::new(vec![Goal { sum: Picos::from_secs(9), ..Goal::ndr() }], limits(1e5), 500);
        while let Some(order) = search.next_trial() {
            let mut trial = system.trial(order);
            let chance = (order.load.as_per_second() - 20_000.0) / 40_000.0;
            trial.received -= u64::from(system.random() < chance);
            // Of every two trials one is uneven, and that has nothing to do with what is lost.
            if uneven && system.random() < 0.5 {
                trial.latest = Picos::from_millis(5);
            }
            search.learn(trial);
        }
        search.found()[0].lower.unwrap().as_per_second()
    };
    let mean = |uneven| (1..=60u64).map(|seed| found(uneven, seed * 0x9e37_79b9)).sum::<f64>() / 60.0;
    let (with, without) = (mean(true), mean(false));
    assert!((with / without - 1.0).abs() < 0.05, "{with} {without}");
}

#[test]
fn a_trial_whose_frames_came_later_is_taken_back() {
    let mut search = Search::new(vec![Goal::ndr()], limits(1e5), 500);
    let order = search.next_trial().unwrap();
    search.learn(Simulated::of(40_000.0).trial(order));
    assert!(search.take_back() && !search.take_back());
    assert_eq!((search.next_trial(), search.invalid()), (Some(order), 1));
}

#[test]
fn the_end_that_was_the_limit_is_named() {
    // This machine's receiver keeps up with 30 000/s.
    let mut search = Search::new(vec![Goal::ndr()], limits(1e5), 500);
    let mut system = Simulated::of(1e9);
    while let Some(order) = search.next_trial() {
        let mut trial = system.trial(order);
        let kept = trial.sent.min((30_000.0 * order.length.as_secs_f64()) as u64);
        (trial.received, trial.missed) = (kept, trial.sent - kept);
        search.learn(trial);
    }
    let found = &search.found()[0];
    assert!(
        matches!(found.end, End::Receiver(reached) if (29_000.0..31_000.0).contains(&reached)),
        "{found:?}"
    );
    assert_eq!(found.upper, None);
}

#[test]
fn a_busy_machine_does_not_make_the_generators_limit() {
    // Each frame in a hundred is lost at any load, and each trial is uneven; every third the generator does not
    // make at all.
    let goals = || vec![Goal::ndr(), Goal::pdr(share("0.5%")), Goal::named("2%", share("2%"))];
    let bounds = Limits { min: Load::per_second(100.0), max: Load::per_second(20_000.0) };
    let mut search = Search::new(goals(), bounds, 500);
    let mut system = Simulated::of(1e9);
    let mut highest: f64 = 0.0;
    while let Some(order) = search.next_trial() {
        let mut trial = system.trial(order);
        (trial.received, trial.latest) = (trial.sent - trial.sent.div_ceil(100), Picos::from_millis(5));
        if search.made() % 3 == 2 {
            trial.sent /= 2;
        } else {
            highest = highest.max(order.load.as_per_second());
        }
        search.learn(trial);
    }
    let found = search.found();
    assert_eq!(
        (highest, found[2].lower, found[2].end),
        (20_000.0, Some(bounds.max), End::AboveMax),
        "{found:?}"
    );
    for found in &found[..2] {
        assert_eq!((found.lower, found.end), (None, End::BelowMin), "{found:?}");
    }
    assert!(search.invalid() < MOST_UNEVEN + MOST_SHORT, "{} of {} trials", search.invalid(), search.made());
}

#[test]
fn what_was_made_once_is_no_limit_even_if_it_is_never_made_again() {
    // The first trial counts, at the highest load and with a loss; then the generator makes nothing any more.
    let mut search = Search::new(vec![Goal::ndr()], limits(20_000.0), 500);
    let mut system = Simulated::of(1_000.0);
    while let Some(order) = search.next_trial() {
        let mut trial = system.trial(order);
        if search.made() > 0 {
            trial.sent /= 2;
        }
        assert_eq!(search.learn(trial) == Judged::Counts, search.made() == 1);
    }
    assert_eq!((search.found()[0].end, search.invalid()), (End::HeldUp, HELD_UP as usize));
    assert_eq!(search.found()[0].lower, None);
}

#[test]
fn when_trials_run_out_that_is_said() {
    let mut search = Search::new(vec![Goal::ndr()], limits(1e6), 3);
    let mut system = Simulated::of(1_234.0);
    while let Some(order) = search.next_trial() {
        search.learn(system.trial(order));
    }
    assert_eq!((search.made(), search.found()[0].end), (3, End::RanOut));
}

proptest! {
    #[test]
    fn any_capacity_is_found_within_the_width(
        capacity in 10.0f64..2e7,
        width in 1_000u32..50_000,
        seed in 1u64..,
    ) {
        let goal = Goal { width: Fraction::from_millionths(width).unwrap(), ..Goal::ndr() };
        let mut system = Simulated { state: seed, ..Simulated::of(capacity) };
        let (found, search) = run(&mut system, vec![goal], limits(3e7));
        let found = &found[0];
        prop_assert_eq!(found.end, End::Found);
        let (low, high) = (found.lower.unwrap().as_per_second(), found.upper.unwrap().as_per_second());
        // A trial of d seconds tells capacity to 1/d frames: below 1000/s that is more than the width.
        let grain = 4.0;
        prop_assert!(low <= capacity + grain && capacity <= high + grain, "{} {} {}", low, capacity, high);
        prop_assert!(search.made() < 120, "{} trials", search.made());
    }

    #[test]
    fn a_noisy_system_ends_and_is_not_far_off(hiccups in 0.0f64..0.25, seed in 1u64..) {
        let mut system = Simulated { hiccups, state: seed, ..Simulated::of(70_000.0) };
        let goals = vec![Goal::ndr(), Goal::pdr(share("0.5%"))];
        let (found, search) = run(&mut system, goals, limits(1e6));
        prop_assert!(search.made() <= 500);
        // A hiccup of one frame is far below half a percent: PDR is not touched by it.
        let pdr = found[1].lower.unwrap().as_per_second();
        prop_assert!((pdr / (70_000.0 / 0.995) - 1.0).abs() < 0.006, "{}", pdr);
        prop_assert!(found[0].lower.is_some_and(|low| low.as_per_second() <= 70_001.0));
    }
}
