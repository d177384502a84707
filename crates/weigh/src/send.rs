//! The rates that `tare send` keeps through a port, for the profile: runs of this same program, in a bed.
//!
//! ```text
//!   as fast as it goes ─► saturated
//!   search from there  ─► the highest rate at which the verdict is VALID
//!   half of it         ─► what a frame costs with ease
//! ```

use crate::peak::{Effort, Held, search};
use crate::{Stage, Way, WeighError, child};
use profile::{Capability, Point};
use serde_json::Value;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::schema::CriterionId;

/// Above this share of a thread, the generator itself is the limit.
const AT_EASE: f64 = 0.85;

/// How the rates are looked for.
struct Trials {
    length: Duration,
    effort: Effort,
}

impl Trials {
    const fn of(is_quick: bool) -> Self {
        match is_quick {
            true => Self {
                length: Duration::from_millis(300),
                effort: Effort { confirmations: 1, repeats: 1, width: 0.15, most_trials: 6 },
            },
            false => Self {
                length: Duration::from_secs(1),
                effort: Effort { confirmations: 2, repeats: 2, width: 0.05, most_trials: 24 },
            },
        }
    }
}

/// Weighs one port with one frame size; `None` if it was stopped, or the port has no address that another
/// process could open.
///
/// # Errors
/// Why there is no rate.
pub fn weigh(
    stage: &Stage,
    way: Way,
    size: usize,
    is_quick: bool,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<Option<Capability>, WeighError> {
    let trials = Trials::of(is_quick);
    let Some(port) = stage.send_address(way) else { return Ok(None) };
    let _gate = stage.open_gate(way)?;
    let run = |rate: Option<u64>| one(stage, way, &port, size, rate, trials.length, stop);
    let Some(saturated) = run(None)? else { return Ok(None) };
    tell(&format!("{way} {size} B: `tare send --rate max` reaches {:.0}/s", saturated.point.achieved_per_s));
    let mut points = vec![saturated.point];
    let mut failed = None;
    let found =
        search(saturated.point.achieved_per_s * 0.9, trials.effort, |rate| match run(Some(rate as u64)) {
            Ok(Some(trial)) => {
                points.push(trial.point);
                Some(trial.held)
            }
            Ok(None) => None,
            Err(why) => {
                failed = Some(why);
                None
            }
        });
    if let Some(why) = failed {
        return Err(why);
    }
    let peak = found.peak_per_s.unwrap_or(0.0);
    let most = if peak > 0.0 { format!("VALID up to {peak:.0}/s") } else { "VALID at no rate".to_owned() };
    tell(&format!("{way} {size} B: {most}"));
    // What a load costs that the machine carries with ease.
    if let Some(trial) = run(Some((peak.max(saturated.point.achieved_per_s * 0.2) / 2.0) as u64))? {
        points.push(trial.point);
    }
    points.sort_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
    Ok(Some(Capability {
        key: format!("send.{way}.{size}"),
        against: if way == Way::Mem {
            "another thread of this process".to_owned()
        } else {
            stage.against.clone()
        },
        threads: 1,
        peak_per_s: peak,
        saturated_per_s: Some(saturated.point.achieved_per_s),
        points,
        ..Capability::default()
    }))
}

/// What one run showed.
struct Trial {
    point: Point,
    held: Held,
}

fn one(
    stage: &Stage,
    way: Way,
    port: &str,
    size: usize,
    rate: Option<u64>,
    length: Duration,
    stop: &AtomicBool,
) -> Result<Option<Trial>, WeighError> {
    let program = child::program()?;
    let mut command = match stage.generator().filter(|_| way != Way::Mem) {
        Some(namespace) => namespace.command(&program.display().to_string()),
        None => Command::new(&program),
    };
    let rate_word = rate.map_or("max".to_owned(), |rate| rate.max(1).to_string());
    command.args(["send", "--json", "--no-save", "--no-progress", "--port", port]);
    command.args([
        "--size",
        &size.to_string(),
        "--rate",
        &rate_word,
        "--duration",
        &format!("{}ms", length.as_millis()),
    ]);
    command.args(stage.send_destination(way));
    let Some(ran) = child::run(command, length, stop)? else { return Ok(None) };
    match serde_json::from_str::<Value>(&ran.said) {
        Ok(result) => Ok(Some(trial(&result, rate))),
        Err(_) => Err(WeighError::Wrong(ran.complaint.trim().to_owned())),
    }
}

fn trial(result: &Value, rate: Option<u64>) -> Trial {
    let float = |path: &str| result.pointer(path).and_then(Value::as_f64);
    let achieved = float("/rate/achieved_per_s").unwrap_or(0.0);
    let is_valid = result.pointer("/verdict/word").and_then(Value::as_str) == Some("VALID");
    let late = |key: &str| float(&format!("/own_lateness_ns/{key}")).unwrap_or(0.0) as u64;
    let point = Point {
        offered_per_s: rate.map_or(achieved, |rate| rate as f64),
        achieved_per_s: achieved,
        user_ns: float("/generator/cost_each/user_ns").unwrap_or(0.0),
        system_ns: float("/generator/cost_each/system_ns").unwrap_or(0.0),
        softirq_ns: float("/generator/cost_each/softirq_ns"),
        lateness_p50_ns: late("p50"),
        lateness_p99_ns: late("p99"),
        is_valid,
    };
    let held = held(result, is_valid);
    Trial { point: Point { is_valid: matches!(held, Held::Yes | Held::Disturbed), ..point }, held }
}

/// What a verdict says of the rate.
fn held(result: &Value, is_valid: bool) -> Held {
    if is_valid {
        return Held::Yes;
    }
    let criteria = result.pointer("/verdict/criteria").and_then(Value::as_array);
    let is = |one: &Value, id| one["name"].as_str().and_then(CriterionId::of_name) == Some(id);
    let criterion = |id| criteria.into_iter().flatten().find(|one| is(one, id));
    let fails = |id| criterion(id).is_some_and(|one| one["holds"] == false);
    let is_at_ease =
        criterion(CriterionId::CpuThread).and_then(|one| one["value"].as_f64()).is_some_and(|v| v < AT_EASE);
    let disturbances = [CriterionId::Steal, CriterionId::Throttled, CriterionId::Clock];
    let is_disturbed = is_at_ease || disturbances.into_iter().any(fails);
    match is_disturbed && !fails(CriterionId::RateKept) {
        true => Held::Disturbed,
        false => Held::Generator,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_verdict_says_whether_the_rate_holds() {
        let result = |word: &str, cpu: f64, steal: bool| {
            json!({ "rate": { "achieved_per_s": 5e5 }, "own_lateness_ns": { "p50": 10, "p99": 900 },
                "verdict": { "word": word, "criteria": [
                    { "name": "cpu.thread", "value": cpu, "holds": cpu < 0.9 },
                    { "name": "steal", "value": 0.1, "holds": steal } ] } })
        };
        let of = |word, cpu, steal| trial(&result(word, cpu, steal), Some(600_000));
        assert_eq!(of("VALID", 0.8, true).held, Held::Yes);
        assert_eq!(of("DEGRADED", 0.97, true).held, Held::Generator);
        assert_eq!(of("DEGRADED", 0.4, true).held, Held::Disturbed);
        assert_eq!(of("INVALID", 0.97, false).held, Held::Disturbed);
        let point = of("VALID", 0.8, true).point;
        assert_eq!((point.offered_per_s, point.achieved_per_s, point.lateness_p99_ns), (6e5, 5e5, 900));
    }
}
