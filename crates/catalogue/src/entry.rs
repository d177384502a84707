//! One run in the list: what its folder says of it in short.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use store::schema::{Label, Rates, Totals, Word};

/// A kept run. Figures that it does not have (yet) are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// `2026-11-20T12-00-00Z-http-7f3a`.
    pub name: String,
    /// The name that it had when it was made; another than `name` if its folder was copied or renamed.
    #[serde(default)]
    pub run: String,
    pub folder: PathBuf,
    pub state: State,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// When its plan was written, since 1970: tells runs of the same second apart.
    #[serde(default)]
    pub begun_ns: u64,
    pub engine: String,
    pub target: String,
    pub load: String,
    pub command: String,
    pub plan_hash: String,
    /// Of the program that wrote it.
    pub version: String,
    /// The run ended before its stop rule held.
    pub partial: bool,
    pub labels: Vec<Label>,
    /// Its verdict; only of a run that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub achieved_per_s: Option<f64>,
    /// Of the latency; absent where nothing was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_p99_ns: Option<u64>,
    /// The same of net; absent also in runs of a version that did not tell it apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_p99_ns: Option<u64>,
    /// p99 is a lower bound: what timed out, was cut off or missed could have made it larger.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub p99_is_bound: bool,
    /// Departures that failed or were missed, of all offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_done_share: Option<f64>,
    pub thresholds: usize,
    pub thresholds_failed: usize,
    /// Sorted.
    pub tags: Vec<String>,
    /// Why the result cannot be read; empty if it can.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub trouble: String,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It has its result.
    #[default]
    Finished,
    /// Its program holds the folder.
    Running,
    /// Its program ended without a result; what it wrote until then is there.
    Killed,
    /// There is a result, but this version cannot read it.
    Unreadable,
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Running => "running",
            Self::Killed => "killed",
            Self::Unreadable => "unreadable",
        }
    }
}

impl Entry {
    /// `VALID`, `DEGRADED` or `INVALID` of a finished run, otherwise how far it has come.
    pub fn word(&self) -> &'static str {
        match (self.state, self.verdict) {
            (State::Finished, Some(word)) => word.as_str(),
            (state, _) => state.as_str(),
        }
    }

    /// Whether `text` is in its name, target, load or command; upper and lower case are the same.
    pub fn mentions(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        [&self.name, &self.target, &self.load, &self.command]
            .iter()
            .any(|field| field.to_lowercase().contains(&text))
    }

    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|own| own == tag)
    }

    /// Takes the figures of a run that has any.
    pub(crate) fn take_figures(&mut self, totals: &Totals, rate: &Rates) {
        self.duration_s = Some(rate.duration_s);
        self.offered_per_s = Some(rate.offered_per_s);
        self.achieved_per_s = Some(rate.achieved_per_s);
        let not_done = totals.failed + totals.missed;
        self.not_done_share = (totals.offered > 0).then(|| not_done as f64 / totals.offered as f64);
    }
}
