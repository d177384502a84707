//! The short forms of load shapes, as typed after `--ramp`, `--step`, `--stages`, `--sine` and `--burst`.
//!
//! ```text
//! ramp    FROM..TO:OVER            100..5k:30s            to ──────
//!                                                       ╱
//!                                                 from ╱
//! step    FROM+BY:EVERY..TO        1k+500:10s..5k     ▁▂▃▄▅▅▅
//! stages  RATE:OVER,RATE:OVER,…    100:10s,1k:30s,0:5s
//! sine    MEAN±AMPLITUDE:PERIOD    1k±500:60s   or   1k+-500:60s
//! burst   SIZE:EVERY               100:1s             ▌ ▌ ▌ ▌
//! ```

use crate::model::{Shape, Stage};
use std::cmp::Ordering;
use std::fmt::Write;
use units::{Count, Picos, Rate};

/// Why a shape could not be read: what was typed, what is wrong, what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShapeProblem {
    pub problem: String,
    pub expected: &'static str,
}

pub(crate) const RAMP: &str = "FROM..TO:OVER, e.g. 100..5k:30s";
pub(crate) const STEP: &str = "FROM+BY:EVERY..TO, e.g. 1k+500:10s..5k";
pub(crate) const STAGES: &str = "RATE:OVER,RATE:OVER,…, e.g. 100:10s,1k:30s,0:5s";
pub(crate) const SINE: &str = "MEAN±AMPLITUDE:PERIOD, e.g. 1k±500:60s or 1k+-500:60s";
pub(crate) const BURST: &str = "SIZE:EVERY, e.g. 100:1s";

type Read<T> = Result<T, ShapeProblem>;

fn wrong(problem: impl Into<String>, expected: &'static str) -> ShapeProblem {
    ShapeProblem { problem: problem.into(), expected }
}

/// Splits at the first `mark`, or says that it is not there.
fn split<'a>(text: &'a str, mark: &str, expected: &'static str) -> Read<(&'a str, &'a str)> {
    text.split_once(mark).ok_or_else(|| wrong(format!("has no '{mark}'"), expected))
}

fn part<T: std::str::FromStr<Err = units::ParseError>>(text: &str, expected: &'static str) -> Read<T> {
    text.trim().parse().map_err(|error: units::ParseError| {
        wrong(format!("has a part '{}' that {}", error.input, error.problem), expected)
    })
}

/// A length of time that is not zero.
fn time(text: &str, expected: &'static str) -> Read<Picos> {
    let time: Picos = part(text, expected)?;
    if time.is_zero() { Err(wrong("has a time of zero", expected)) } else { Ok(time) }
}

pub(crate) fn ramp(text: &str) -> Read<Shape> {
    let (rates, over) = text.rsplit_once(':').ok_or_else(|| wrong("has no ':'", RAMP))?;
    let (from, to) = split(rates, "..", RAMP)?;
    Ok(Shape::Ramp { from: part(from, RAMP)?, to: part(to, RAMP)?, over: time(over, RAMP)? })
}

pub(crate) fn step(text: &str) -> Read<Shape> {
    let (from, rest) = split(text, "+", STEP)?;
    let (by, rest) = split(rest, ":", STEP)?;
    let (every, to) = split(rest, "..", STEP)?;
    let (from, to): (Rate, Rate) = (part(from, STEP)?, part(to, STEP)?);
    if compare(from, to) != Ordering::Less {
        return Err(wrong("must end at a higher rate than it starts", STEP));
    }
    Ok(Shape::Step { from, by: part(by, STEP)?, every: time(every, STEP)?, to })
}

pub(crate) fn stages(text: &str) -> Read<Shape> {
    if text.trim().is_empty() {
        return Err(wrong("has no stages", STAGES));
    }
    let stages = text.split(',').map(stage).collect::<Read<Vec<_>>>()?;
    if stages.iter().all(|stage| stage.to.is_none()) {
        return Err(wrong("has a rate of zero throughout", STAGES));
    }
    Ok(Shape::Stages(stages))
}

fn stage(text: &str) -> Read<Stage> {
    let (to, over) =
        text.rsplit_once(':').ok_or_else(|| wrong(format!("has a stage '{text}' without ':'"), STAGES))?;
    let to = to.trim();
    // Only digits and points that are all zeros are a rate of nothing; everything else must be a rate.
    let is_zero = !to.is_empty() && to.trim_end_matches("/s").chars().all(|c| matches!(c, '0' | '.'));
    let to = if is_zero { None } else { Some(part(to, STAGES)?) };
    Ok(Stage { to, over: time(over, STAGES)? })
}

pub(crate) fn sine(text: &str) -> Read<Shape> {
    let (rates, period) = text.rsplit_once(':').ok_or_else(|| wrong("has no ':'", SINE))?;
    let mark = if rates.contains('±') { "±" } else { "+-" };
    let (mean, amplitude) = split(rates, mark, SINE)?;
    let (mean, amplitude) = (part(mean, SINE)?, part(amplitude, SINE)?);
    if compare(amplitude, mean) == Ordering::Greater {
        return Err(wrong("has an amplitude above its mean, so its rate would be negative", SINE));
    }
    Ok(Shape::Sine { mean, amplitude, period: time(period, SINE)? })
}

pub(crate) fn burst(text: &str) -> Read<Shape> {
    let (size, every) = split(text, ":", BURST)?;
    let size: Count = part(size, BURST)?;
    if size.get() == 0 {
        return Err(wrong("has a size of zero", BURST));
    }
    Ok(Shape::Burst { size, every: time(every, BURST)? })
}

/// Exact comparison of two rates: a/p against b/q is a·q against b·p.
pub(crate) fn compare(a: Rate, b: Rate) -> Ordering {
    let ((a, p), (b, q)) = (a.ratio(), b.ratio());
    let (left, right) = (u128::from(a) * u128::from(q.as_picos()), u128::from(b) * u128::from(p.as_picos()));
    left.cmp(&right)
}

/// How long a shape takes to show all of itself; `None` if it looks the same throughout or is in a file.
pub(crate) fn length(shape: &Shape) -> Option<Picos> {
    match shape {
        Shape::Ramp { over, .. } => Some(*over),
        Shape::Step { from, by, every, to } => {
            let rise = to.as_per_second_f64() - from.as_per_second_f64();
            let steps = (rise / by.as_per_second_f64()).ceil().max(1.0) as u64;
            Some(every.saturating_mul(steps.saturating_add(1)))
        }
        Shape::Stages(stages) => Some(stages.iter().map(|stage| stage.over).sum()),
        Shape::Sine { period, .. } => Some(*period),
        Shape::Constant(_) | Shape::Poisson(_) | Shape::Burst { .. } | Shape::At(_) => None,
    }
}

/// The key in `[load]` and the canonical short form, which reads back as the same shape.
pub(crate) fn short_form(shape: &Shape) -> (&'static str, String) {
    match shape {
        Shape::Constant(rate) | Shape::Poisson(rate) => ("rate", rate.to_string()),
        Shape::Ramp { from, to, over } => ("ramp", format!("{from}..{to}:{over}")),
        Shape::Step { from, by, every, to } => ("step", format!("{from}+{by}:{every}..{to}")),
        Shape::Stages(stages) => ("stages", stages_text(stages)),
        Shape::Sine { mean, amplitude, period } => ("sine", format!("{mean}±{amplitude}:{period}")),
        Shape::Burst { size, every } => ("burst", format!("{size}:{every}")),
        Shape::At(path) => ("at", path.to_string_lossy().into_owned()),
    }
}

fn stages_text(stages: &[Stage]) -> String {
    let mut text = String::new();
    for (index, stage) in stages.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        match stage.to {
            Some(rate) => write!(text, "{comma}{rate}:{}", stage.over),
            None => write!(text, "{comma}0:{}", stage.over),
        }
        .expect("writing to a String cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    #[test]
    fn every_short_form_reads_as_its_parts() {
        let (from, to) = (rate("100/s"), rate("5000/s"));
        assert_eq!(ramp("100..5k:30s"), Ok(Shape::Ramp { from, to, over: Picos::from_secs(30) }));
        assert_eq!(
            ramp("1/7s..3/250ms:1.5m"),
            Ok(Shape::Ramp { from: rate("1/7s"), to: rate("12"), over: Picos::from_secs(90) })
        );
        assert_eq!(
            step("1k+500:10s..5k"),
            Ok(Shape::Step { from: rate("1k"), by: rate("500"), every: Picos::from_secs(10), to })
        );
        let (mean, amplitude, period) = (rate("1k"), rate("500"), Picos::from_secs(60));
        assert_eq!(sine("1k±500:60s"), Ok(Shape::Sine { mean, amplitude, period }));
        assert_eq!(sine("1k+-500:60s"), sine("1k±500:1m"));
        assert_eq!(burst("100:1s"), Ok(Shape::Burst { size: Count::new(100), every: Picos::from_secs(1) }));
        assert_eq!(
            stages("100:10s, 0:5s"),
            Ok(Shape::Stages(vec![
                Stage { to: Some(from), over: Picos::from_secs(10) },
                Stage { to: None, over: Picos::from_secs(5) },
            ]))
        );
    }

    #[test]
    fn refusals_name_the_part() {
        for (read, problem) in [
            (ramp("100..5k"), "has no ':'"),
            (ramp("100:30s"), "has no '..'"),
            (ramp("0..5k:30s"), "has a part '0' that is zero"),
            (ramp("1..5k:0s"), "has a time of zero"),
            (step("5k+500:10s..1k"), "must end at a higher rate than it starts"),
            (stages(""), "has no stages"),
            (stages("0:5s"), "has a rate of zero throughout"),
            (stages("5"), "has a stage '5' without ':'"),
            (stages("-5:1s"), "has a part '-5' that is negative"),
            (sine("1k±2k:60s"), "has an amplitude above its mean, so its rate would be negative"),
            (burst("0:1s"), "has a size of zero"),
        ] {
            assert_eq!(read.unwrap_err().problem, problem);
        }
    }

    #[test]
    fn lengths_by_hand() {
        // 1 k, 1.5 k … 5 k are 9 rates of 10 s each.
        assert_eq!(length(&step("1k+500:10s..5k").unwrap()), Some(Picos::from_secs(90)));
        assert_eq!(length(&stages("1:10s,2:30s").unwrap()), Some(Picos::from_secs(40)));
    }
}
