//! The steps of a trial.

use super::Options;
use crate::sender::{Pace, Step};
use crate::ways::Way;

/// Steps of a trial; the last is as fast as it goes.
const STEPS: u64 = 10;
/// A step is at least so long.
const LEAST_STEP_NS: u64 = 20_000_000;
/// And so long where a port may stand still for some 40 ms when the rate changes.
const LEAST_OFFLOADED_STEP_NS: u64 = 200_000_000;

/// Steps at 1/10, 2/10, … of the peak, and the last as fast as it goes: Σ = 5.5 · peak · length of a step
/// packets.
pub fn steps(peak_per_s: f64, options: &Options, way: Way) -> Vec<Step> {
    let shares: f64 = (1..=STEPS).map(|n| n as f64 / STEPS as f64).sum();
    let length = options.packets as f64 / (shares * peak_per_s.max(1.0)) * 1e9;
    let longest = (options.longest_ns / STEPS).max(LEAST_STEP_NS);
    let least = if way == Way::Live { LEAST_OFFLOADED_STEP_NS.min(longest) } else { LEAST_STEP_NS };
    let length_ns = (length as u64).clamp(least, longest);
    let pace = |n| match n {
        STEPS => Pace::Flood,
        n => Pace::Even(peak_per_s * n as f64 / STEPS as f64),
    };
    (1..=STEPS).map(|n| Step { pace: pace(n), length_ns }).collect()
}
