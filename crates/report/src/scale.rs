//! How values become places on an axis, and which round values an axis names.

/// How values become heights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From 0.
    Linear { high: f64, step: f64 },
    /// From a round number to another.
    Log { low: f64, high: f64 },
}

impl Scale {
    /// From 0 to a round number above `high`.
    pub fn linear(high: f64) -> Self {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        let step = nice_step(high / 4.0);
        Self::Linear { high: (high * 1.02 / step).ceil() * step, step }
    }

    /// The same for what is counted in whole numbers: no ticks between them.
    pub fn whole(high: f64) -> Self {
        match Self::linear(high) {
            Self::Linear { step, .. } if step < 1.0 => Self::Linear { high: high.max(1.0).ceil(), step: 1.0 },
            scale => scale,
        }
    }

    /// From a round number below the smallest of `values` to one above the largest; zeros are drawn at the
    /// foot.
    pub fn log(values: impl Iterator<Item = f64>) -> Self {
        let positive = values.filter(|value| *value > 0.0 && value.is_finite());
        let (low, high) = positive.fold((f64::MAX, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
        if high == 0.0 {
            return Self::Log { low: 1.0, high: 10.0 };
        }
        // A round number is at most 2.5 times the number that it is above, so this one is not over the smallest
        // value.
        let low = nice_step(low / 2.5);
        Self::Log { low, high: nice_step(high * 1.05).max(low * 10.0) }
    }

    /// 0 at the foot, 1 at the top.
    pub fn at(self, value: f64) -> f64 {
        match self {
            Self::Linear { high, .. } => value / high,
            Self::Log { low, high } => (value.max(low) / low).log10() / (high / low).log10(),
        }
        .clamp(0.0, 1.0)
    }

    /// Round values, ascending.
    pub fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { high, step } => {
                (0..=(high / step).round() as u32).map(|n| f64::from(n) * step).collect()
            }
            Self::Log { low, high } => {
                let decades = (high / low).log10();
                let first = (low.log10() - 1e-9).ceil() as i32;
                let last = (high.log10() + 1e-9).floor() as i32;
                let each = (decades / 6.0).ceil().max(1.0) as usize;
                let powers = (first..=last).step_by(each).map(|n| 10f64.powi(n));
                if decades > 2.5 {
                    return powers.collect();
                }
                let between =
                    (first - 1..=last).flat_map(|n| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(n)));
                between.filter(|tick| (low * 0.999..=high * 1.001).contains(tick)).collect()
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten, not below `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= least * 0.999_999).unwrap_or(power * 10.0)
}

/// Round times from `from` to `to`, in seconds, at most nine of them.
pub fn time_ticks(from: f64, to: f64) -> Vec<(f64, String)> {
    const STEPS: [f64; 18] = [
        1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0,
        21600.0, 43200.0, 86400.0,
    ];
    let span = (to - from).max(0.0);
    let step = if span <= 8.0 {
        if span < 2.0 { nice_step((span / 5.0).max(1e-6)) } else { 1.0 }
    } else {
        STEPS.into_iter().find(|step| span / step <= 8.0).unwrap_or_else(|| nice_step(span / 8.0))
    };
    let first = (from / step - 1e-9).ceil() as i64;
    let last = ((to / step) + 1e-9).floor() as i64;
    (first..=last).take(10).map(|n| n as f64 * step).map(|at| (at, clock(at, step))).collect()
}

/// `12 s`, `0.25 s`, `1:30`, `2:00:00`.
fn clock(at: f64, step: f64) -> String {
    if step < 1.0 {
        return format!("{} s", crate::words::number(at));
    }
    let seconds = at.round() as u64;
    match seconds {
        s if s < 60 => format!("{s} s"),
        s if s < 3600 => format!("{}:{:02}", s / 60, s % 60),
        s => format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_hold_their_values() {
        assert_eq!(Scale::linear(20_000.0), Scale::Linear { high: 25_000.0, step: 5_000.0 });
        assert_eq!(Scale::linear(0.0).ticks().first(), Some(&0.0));
        assert_eq!(Scale::whole(2.0), Scale::Linear { high: 2.0, step: 1.0 });
        assert_eq!(Scale::whole(0.0).ticks(), [0.0, 1.0]);
        assert_eq!(Scale::log([1.5e6, 9e8].into_iter()), Scale::Log { low: 1e6, high: 1e9 });
        assert_eq!(Scale::log([1.5e6, 9e8].into_iter()).ticks(), [1e6, 1e7, 1e8, 1e9]);
        assert_eq!(Scale::log([1e6].into_iter()).ticks(), [5e5, 1e6, 2e6, 5e6]);
        assert_eq!(Scale::log(std::iter::empty()).at(0.0), 0.0);
        let many = Scale::log([1.0, 1e12].into_iter()).ticks();
        assert!(many.len() <= 7, "{many:?}");
    }

    #[test]
    fn time_ticks_are_round_and_few() {
        let texts = |from, to| time_ticks(from, to).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(texts(0.0, 20.0), ["0 s", "5 s", "10 s", "15 s", "20 s"]);
        assert_eq!(texts(0.0, 3600.0).last().unwrap(), "1:00:00");
        assert_eq!(texts(0.0, 0.5), ["0 s", "0.1 s", "0.2 s", "0.3 s", "0.4 s", "0.5 s"]);
        assert_eq!(texts(0.0, 1.0), ["0 s", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1 s"]);
        for span in [0.0, 0.001, 1.0, 9.0, 100.0, 86_400.0, 1e7] {
            assert!((1..=10).contains(&time_ticks(0.0, span).len()), "{span}");
        }
    }
}
