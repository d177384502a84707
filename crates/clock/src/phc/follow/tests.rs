//! A fake card's clock whose truth is known: what the follower tells lies within the bound that it states.

use super::*;
use crate::phc::Way;
use std::cell::Cell;
use std::rc::Rc;

const BEGIN: u64 = 1_800_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// The truth: what the card's clock shows at a time of the wall clock.
#[derive(Clone)]
struct Truth {
    now: Rc<Cell<u64>>,
    ahead_ns: Rc<Cell<f64>>,
    is_readable: Rc<Cell<bool>>,
    /// Each reading is off by up to this, in turn to either side.
    noise_ns: i64,
    turn: Rc<Cell<i64>>,
}

impl Truth {
    fn new(ahead_ns: f64, noise_ns: i64) -> Self {
        Self {
            now: Rc::new(Cell::new(BEGIN)),
            ahead_ns: Rc::new(Cell::new(ahead_ns)),
            is_readable: Rc::new(Cell::new(true)),
            noise_ns,
            turn: Rc::new(Cell::new(0)),
        }
    }

    fn advance(&self, ns: u64, drift_ppm: f64) {
        self.now.set(self.now.get() + ns);
        self.ahead_ns.set(self.ahead_ns.get() + ns as f64 * drift_ppm / 1e6);
    }

    fn card(&self) -> u64 {
        self.now.get().wrapping_add(self.ahead_ns.get() as i64 as u64)
    }
}

impl Compare for Truth {
    fn compare(&mut self) -> io::Result<Comparison> {
        if !self.is_readable.get() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        self.turn.set((self.turn.get() + 1) % 3);
        let off = self.noise_ns * (self.turn.get() - 1);
        Ok(Comparison {
            unix_ns: self.now.get(),
            ahead_ns: self.ahead_ns.get() as i64 + off,
            bound_ns: self.noise_ns.unsigned_abs() + 1,
            way: Way::Extended,
        })
    }
}

/// Runs for `seconds` with a frame each 100 µs; how far the worst of them was told off the truth.
fn run(truth: &Truth, follower: &mut Follower<Truth>, seconds: u64, drift_ppm: impl Fn(u64) -> f64) -> u64 {
    let mut worst = 0;
    for n in 0..seconds * 10_000 {
        truth.advance(100_000, drift_ppm(n));
        follower.follow(truth.now.get());
        worst = worst.max(follower.to_unix(truth.card()).abs_diff(truth.now.get()));
    }
    follower.compare();
    worst
}

#[test]
fn a_clock_that_drifts_is_told_within_the_bound_that_is_stated() {
    // 37 s ahead and 30 ppm fast, readings good to 200 ns: uncorrected it would be 600 µs off after 20 s.
    let truth = Truth::new(37e9, 200);
    let mut follower = Follower::begin(truth.clone()).unwrap();
    let worst = run(&truth, &mut follower, 20, |_| 30.0);
    let found = follower.found();
    assert!(worst <= found.bound_ns + 2, "{worst} {found:?}");
    // The first 10 ms without a drift make 0.3 µs; noise of either side of a doubling span does the rest.
    assert!(found.bound_ns < 2_500, "{found:?}");
    assert!((found.drift_ppm - 30.0).abs() < 1.0 && found.is_kept(), "{found:?}");
    assert_eq!(found.first_ahead_ns / 1_000, 37_000_000);
    assert!(found.comparisons > 20, "{found:?}");
    // There and back.
    let later = truth.now.get() + 5_000_000;
    assert!(follower.to_unix(follower.to_card(later)).abs_diff(later) <= 2);
}

#[test]
fn a_drift_that_changes_is_within_the_bound_too() {
    // A fan goes on and off: the drift swings by 2 ppm over 10 s.
    let truth = Truth::new(-5e6, 100);
    let mut follower = Follower::begin(truth.clone()).unwrap();
    let swing = |n: u64| 10.0 + 2.0 * (n as f64 / 100_000.0 * std::f64::consts::TAU).sin();
    let worst = run(&truth, &mut follower, 30, swing);
    let found = follower.found();
    assert!(worst <= found.bound_ns + 2 && found.is_kept(), "{worst} {found:?}");
    assert!(found.bound_ns < 5_000, "{found:?}");
}

#[test]
fn a_clock_that_was_set_is_told_as_such_and_its_bound_is_the_step() {
    let truth = Truth::new(0.0, 100);
    let mut follower = Follower::begin(truth.clone()).unwrap();
    run(&truth, &mut follower, 3, |_| 5.0);
    assert!(follower.found().is_kept());
    truth.ahead_ns.set(truth.ahead_ns.get() + 37e9);
    let worst = run(&truth, &mut follower, 3, |_| 5.0);
    let found = follower.found();
    assert_eq!((found.steps, found.is_kept()), (1, false));
    assert!(worst <= found.bound_ns + 2 && found.bound_ns >= 37 * SECOND, "{worst} {found:?}");
    // From then on it is told right again.
    let after = follower.to_unix(truth.card()).abs_diff(truth.now.get());
    assert!(after < 1_000, "{after}");
    // The wall clock set back does the same.
    truth.now.set(truth.now.get() - 2 * SECOND);
    follower.compare();
    assert_eq!(follower.found().steps, 2);
}

#[test]
fn a_clock_that_cannot_be_read_goes_on_as_it_did_and_that_is_counted() {
    let truth = Truth::new(1e9, 50);
    let mut follower = Follower::begin(truth.clone()).unwrap();
    run(&truth, &mut follower, 5, |_| 20.0);
    truth.is_readable.set(false);
    let worst = run(&truth, &mut follower, 5, |_| 20.0);
    let found = follower.found();
    assert!(worst < 1_000, "{worst}");
    // Once a second, not at each frame.
    assert!((4..=7).contains(&found.unread), "{found:?}");
    // Five seconds at 1000 ppm: for all that is known, it may be off by so much.
    assert!(!found.is_kept() && (4_000_000..7_000_000).contains(&found.bound_ns), "{found:?}");
    let none = Truth { is_readable: Rc::new(Cell::new(false)), ..Truth::new(0.0, 1) };
    assert!(Follower::begin(none).is_err());
}

#[test]
fn a_clock_that_was_never_set_counts_from_its_start() {
    // It shows 5 s; the wall clock 57 years.
    let truth = Truth::new(-(BEGIN as f64) + 5e9, 10);
    let mut follower = Follower::begin(truth.clone()).unwrap();
    // A float of 1.8e18 tells steps of 256 ns, which are the truth's own here.
    let worst = run(&truth, &mut follower, 2, |_| 0.0);
    assert!(worst < 600, "{worst}");
    assert_eq!(follower.found().steps, 0);
}
