//! What a shape asks for at a time: for reports, for the decision to spin and for the verdict.

use plan::{Shape, Stage};
use std::f64::consts::TAU;
use units::{Picos, Rate};

/// The rate that a shape asks for at an offset from its origin, in departures per second: the mean for
/// Poisson and bursts, zero after the end of stages, `None` for recorded times.
pub fn expected_per_second_at(shape: &Shape, at: Picos) -> Option<f64> {
    Some(match shape {
        Shape::Constant(rate) | Shape::Poisson(rate) => rate.as_per_second_f64(),
        Shape::Ramp { from, to, over } => {
            between(from.as_per_second_f64(), to.as_per_second_f64(), at, *over)
        }
        Shape::Step { from, by, every, to } => {
            let step = at.as_picos().checked_div(every.as_picos()).unwrap_or(0);
            let raised = from.as_per_second_f64() + by.as_per_second_f64() * step as f64;
            raised.min(to.as_per_second_f64())
        }
        Shape::Stages(stages) => stages_at(stages, at),
        Shape::Sine { mean, amplitude, period } => {
            let turns =
                at.as_picos().checked_rem(period.as_picos()).unwrap_or(0) as f64 / period.as_picos() as f64;
            mean.as_per_second_f64() + amplitude.as_per_second_f64() * libm::sin(TAU * turns)
        }
        Shape::Burst { size, every } => size.get() as f64 / every.as_secs_f64(),
        Shape::At(_) => return None,
    })
}

/// On a line from one rate to another, and the second from its end on.
fn between(from: f64, to: f64, at: Picos, over: Picos) -> f64 {
    if at >= over { to } else { from + (to - from) * (at.as_secs_f64() / over.as_secs_f64()) }
}

fn per_second(stage: &Stage) -> f64 {
    stage.to.map_or(0.0, Rate::as_per_second_f64)
}

fn stages_at(stages: &[Stage], at: Picos) -> f64 {
    let mut from = stages.first().map_or(0.0, per_second);
    let mut start = Picos::ZERO;
    for stage in stages {
        let end = start + stage.over;
        if at < end {
            return between(from, per_second(stage), at - start, stage.over);
        }
        (from, start) = (per_second(stage), end);
    }
    0.0
}

/// The gap at the highest rate of a shape: the mean gap for Poisson, the time between bursts for bursts,
/// `None` for recorded times (`check_recorded` knows it). Jitter is left out.
pub fn smallest_gap(shape: &Shape) -> Option<Picos> {
    match shape {
        Shape::Constant(rate) | Shape::Poisson(rate) => Some(rate.gap()),
        Shape::Ramp { from, to, .. } | Shape::Step { from, to, .. } => Some(from.gap().min(to.gap())),
        Shape::Stages(stages) => stages.iter().filter_map(|stage| stage.to).map(Rate::gap).min(),
        Shape::Sine { mean, amplitude, .. } => {
            let highest = mean.as_per_second_f64() + amplitude.as_per_second_f64();
            Some(Picos::from_secs_f64(1.0 / highest))
        }
        Shape::Burst { every, .. } => Some(*every),
        Shape::At(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Count;

    fn rate(per_second: u64) -> Rate {
        Rate::per_second(per_second).unwrap()
    }

    fn secs(secs: u64) -> Picos {
        Picos::from_secs(secs)
    }

    fn shapes() -> Vec<(Shape, [f64; 3], u64)> {
        let stage = |to, over| Stage { to: Rate::per_second(to), over: secs(over) };
        // Each with its rate at 0, 15 and 100 s, and its smallest gap in µs, by hand.
        vec![
            (Shape::Constant(rate(400)), [400.0; 3], 2_500),
            (Shape::Poisson(rate(400)), [400.0; 3], 2_500),
            (Shape::Ramp { from: rate(100), to: rate(500), over: secs(20) }, [100.0, 400.0, 500.0], 2_000),
            (
                Shape::Step { from: rate(100), by: rate(150), every: secs(10), to: rate(500) },
                [100.0, 250.0, 500.0],
                2_000,
            ),
            (Shape::Stages(vec![stage(100, 10), stage(200, 10), stage(0, 5)]), [100.0, 150.0, 0.0], 5_000),
            (
                Shape::Sine { mean: rate(100), amplitude: rate(25), period: secs(60) },
                [100.0, 125.0, 100.0 - 25.0 * 0.75f64.sqrt()],
                8_000,
            ),
            (Shape::Burst { size: Count::new(50), every: secs(2) }, [25.0; 3], 2_000_000),
        ]
    }

    #[test]
    fn rates_and_gaps_by_hand() {
        for (shape, expected, gap_us) in shapes() {
            for (at, expected) in [0, 15, 100].into_iter().zip(expected) {
                let found = expected_per_second_at(&shape, secs(at)).unwrap();
                assert!((found - expected).abs() < 1e-9, "{shape:?} at {at} s: {found}");
            }
            assert_eq!(smallest_gap(&shape), Some(Picos::from_micros(gap_us)), "{shape:?}");
        }
        assert_eq!(expected_per_second_at(&Shape::At("x".into()), secs(1)), None);
        assert_eq!(smallest_gap(&Shape::At("x".into())), None);
    }
}
