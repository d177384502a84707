//! A group of trials: what ran, in which order, and what it came to. Schema "tare.trials/1", the content of
//! `trials.json`.

use crate::comparison::Comparison;
use crate::headline::{Stated, Weighed};
use serde::Serialize;
use stats::sequential::Look;
use stats::{Claim, Refusal, claim};
use store::StoredRun;
use store::schema::Word;

/// Trials of one command, or of several by turns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    pub schema: &'static str,
    /// The tag of its runs, and the name of its folder.
    pub name: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Ended before its time, by Ctrl-C or because a trial could not be run.
    pub partial: bool,
    /// In which order sides took turns: `abba`, or `random, seed 7`; absent of a single side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// Pause between trials.
    pub cool_down_s: f64,
    pub sides: Vec<GroupSide>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilTold>,
    /// Each side against the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Why there is none, where there would be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
}

/// One command and its trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupSide {
    /// `A`, `B`…; empty if there is one.
    pub label: String,
    /// What ran, without passwords.
    pub command: String,
    pub trials: Vec<Told>,
    /// Trials that are in no interval: INVALID, and cut short.
    pub invalid: usize,
    pub cut_short: usize,
    pub figures: Vec<Stated>,
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    /// From 1, over all sides, in the order in which they ran.
    pub number: usize,
    pub run: String,
    pub folder: String,
    pub started_at: String,
    pub verdict: Word,
    pub partial: bool,
    pub exit_status: u8,
    /// What MSER-5 cut off beside the plan's own warm-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up_s: Option<f64>,
    /// Why it could not look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_warm_up: Option<Refusal>,
}

/// `--until`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UntilTold {
    /// `latency.p99`.
    pub figure: &'static str,
    pub unit: &'static str,
    /// 0.02 of ±2 %.
    pub share: f64,
    /// Numbers of trials at which it looked, up to where it ended.
    pub looks: Vec<usize>,
    pub most: usize,
    pub reached: bool,
    /// The last look, of each side.
    pub sides: Vec<UntilSide>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UntilSide {
    pub label: String,
    #[serde(serialize_with = "claim::as_json")]
    pub claim: Claim,
}

impl UntilSide {
    /// `None` where there was no look.
    pub fn of(label: &str, look: &Look) -> Option<Self> {
        let claim = match look {
            Look::Wait => return None,
            Look::Enough(interval) => Ok(*interval),
            Look::Still(refusal) => Err(refusal.clone()),
            Look::More(claim) | Look::NotEnough(claim) => claim.clone(),
        };
        Some(Self { label: label.to_owned(), claim })
    }
}

impl Told {
    pub fn of(number: usize, run: &StoredRun, weighed: &Weighed, exit_status: u8) -> Self {
        let result = &run.result;
        Self {
            number,
            run: result.run.clone(),
            folder: run.folder.display().to_string(),
            started_at: result.started_at.clone(),
            verdict: result.verdict.word,
            partial: result.partial,
            exit_status,
            warm_up_s: weighed.warm_up.as_ref().ok().copied(),
            no_warm_up: weighed.warm_up.as_ref().err().cloned(),
        }
    }
}

impl GroupSide {
    pub fn of(label: &str, command: &str, trials: Vec<Told>, weighed: &[Weighed]) -> Self {
        let invalid = weighed.iter().filter(|trial| trial.verdict == Word::Invalid).count();
        let out = weighed.iter().filter(|trial| !trial.counts()).count();
        Self {
            label: label.to_owned(),
            command: command.to_owned(),
            trials,
            invalid,
            cut_short: out - invalid,
            figures: crate::headline::stated(weighed),
        }
    }
}
