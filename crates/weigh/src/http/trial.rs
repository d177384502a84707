//! One trial: `tare http` as a child, and what its verdict and figures say.

use super::{Kind, Setup};
use crate::peak::Held;
use crate::{WeighError, child};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::RunResult;
use store::schema::{CriterionId, Word};

/// An engine thread that works less than this has time to spare: if it is late, something else had its CPU.
const AT_EASE: f64 = 0.75;
/// The exit status of a trial whose target could not be reached, and of one whose command is wrong.
const UNREACHABLE: i32 = 5;
const WRONG: i32 = 2;

/// The figures of one trial. Times are nanoseconds, those of CPU for each request.
#[derive(Clone, Debug)]
pub struct Trial {
    /// 0 for as fast as it goes.
    pub asked_per_s: u64,
    pub achieved_per_s: f64,
    pub user_ns: f64,
    pub system_ns: f64,
    pub softirq_ns: Option<f64>,
    pub lateness_p50_ns: u64,
    pub lateness_p99_ns: u64,
    pub memory_bytes: Option<u64>,
    pub word: Word,
    pub held: Held,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            asked_per_s: 0,
            achieved_per_s: 0.0,
            user_ns: 0.0,
            system_ns: 0.0,
            softirq_ns: None,
            lateness_p50_ns: 0,
            lateness_p99_ns: 0,
            memory_bytes: None,
            word: Word::Invalid,
            held: Held::Generator,
        }
    }
}

/// Makes one. `rate`: `None` is as fast as it goes. `None` if it was stopped.
///
/// # Errors
/// It could not be made, or the target cannot be reached.
pub fn run(
    kind: Kind,
    url: &str,
    setup: &Setup,
    rate: Option<u64>,
    connections: u32,
    stop: &AtomicBool,
) -> Result<Option<Trial>, WeighError> {
    let mut command = Command::new(child::program()?);
    command.args(arguments(kind, url, setup, rate, connections));
    let Some(ran) = child::run(command, setup.length + setup.warmup, stop)? else { return Ok(None) };
    match ran.status.code() {
        Some(UNREACHABLE) => return Err(WeighError::Unreachable { url: url.to_owned() }),
        Some(WRONG) | None => return Err(WeighError::Trial(ran.complaint.trim().to_owned())),
        Some(_) => {}
    }
    let result: RunResult = serde_json::from_str(&ran.said).map_err(WeighError::Result)?;
    Ok(Some(trial(&result, rate.unwrap_or(0))))
}

fn arguments(kind: Kind, url: &str, setup: &Setup, rate: Option<u64>, connections: u32) -> Vec<String> {
    let millis = |time: Duration| format!("{}ms", time.as_millis());
    let mut all: Vec<String> = ["http", "--json", "--no-save", "--no-progress"].map(str::to_owned).to_vec();
    let mut flag = |name: &str, value: String| all.extend([name.to_owned(), value]);
    flag("--parallel", connections.to_string());
    flag("--duration", millis(setup.length));
    flag("--warmup", millis(setup.warmup));
    flag("--threads", setup.threads.min(connections).to_string());
    if let Some(rate) = rate {
        flag("--rate", rate.to_string());
    }
    if !setup.cpus.is_empty() {
        flag("--cpus", setup.cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
    }
    all.extend((!kind.keeps_alive()).then(|| "--no-keep-alive".to_owned()));
    all.extend(setup.flags.iter().cloned());
    all.push(url.to_owned());
    all
}

fn trial(result: &RunResult, asked_per_s: u64) -> Trial {
    let cost = result.generator.cost_each.unwrap_or_default();
    let own = &result.own_lateness_ns;
    Trial {
        asked_per_s,
        achieved_per_s: result.rate.achieved_per_s,
        user_ns: cost.user_ns,
        system_ns: cost.system_ns,
        softirq_ns: cost.softirq_ns,
        lateness_p50_ns: own.p50,
        lateness_p99_ns: own.p99,
        memory_bytes: result.generator.rss_peak_bytes,
        word: result.verdict.word,
        held: held(result),
    }
}

/// Criteria that others on this machine break.
const DISTURBANCES: [CriterionId; 3] = [CriterionId::Steal, CriterionId::Throttled, CriterionId::Clock];

/// What a verdict says of the rate.
fn held(result: &RunResult) -> Held {
    let criterion = |id| result.verdict.criteria.iter().find(|criterion| criterion.name == id);
    let holds = |id| criterion(id).is_none_or(|criterion| criterion.holds);
    let is_at_ease = criterion(CriterionId::CpuThread).is_some_and(|criterion| criterion.value < AT_EASE);
    let kept_up = holds(CriterionId::AchievedShare);
    match result.verdict.word {
        Word::Valid if kept_up => Held::Yes,
        Word::Valid => Held::Target,
        _ if is_at_ease && !kept_up => Held::Target,
        _ if is_at_ease => Held::Disturbed,
        _ if kept_up && DISTURBANCES.iter().any(|id| !holds(*id)) => Held::Disturbed,
        _ => Held::Generator,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::schema::{Criterion, Verdict};

    fn result(word: Word, criteria: &[(&str, f64, bool)]) -> RunResult {
        let criterion = |(name, value, holds): &(&str, f64, bool)| Criterion {
            name: (*name).into(),
            value: *value,
            holds: *holds,
            ..Criterion::default()
        };
        let criteria = criteria.iter().map(criterion).collect();
        RunResult { verdict: Verdict { word, criteria }, ..RunResult::default() }
    }

    #[test]
    fn the_verdict_says_whose_limit_it_was() {
        let of = |word, criteria: &[(&str, f64, bool)]| held(&result(word, criteria));
        assert_eq!(of(Word::Valid, &[("achieved.share", 1.0, true)]), Held::Yes);
        assert_eq!(of(Word::Valid, &[("achieved.share", 0.8, false)]), Held::Target);
        assert_eq!(of(Word::Degraded, &[("cpu.thread", 0.93, false)]), Held::Generator);
        // Late though it had time to spare: something else had the CPU.
        let late = [("cpu.thread", 0.4, true), ("lateness.p99", 9e5, false)];
        assert_eq!(of(Word::Degraded, &late), Held::Disturbed);
        let stolen = [("cpu.thread", 0.95, false), ("steal", 0.1, false)];
        assert_eq!(of(Word::Degraded, &stolen), Held::Disturbed);
        let too_much = [("cpu.thread", 0.95, false), ("steal", 0.1, false), ("achieved.share", 0.7, false)];
        assert_eq!(of(Word::Invalid, &too_much), Held::Generator);
    }

    #[test]
    fn a_trial_is_what_a_user_would_type() {
        let setup = Setup { cpus: vec![0], ..Setup::quick() };
        let words = arguments(Kind::TlsNewConnection, "https://h/", &setup, Some(500), 64).join(" ");
        assert_eq!(
            words,
            "http --json --no-save --no-progress --parallel 64 --duration 500ms --warmup 150ms --threads 1 --rate 500 \
             --cpus 0 --no-keep-alive https://h/"
        );
    }
}
