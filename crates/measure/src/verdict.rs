//! Whether the figures can be trusted, computed from the run itself.

use serde::Serialize;

/// What a verdict says of the generator (never of the target).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Word {
    /// The figures are the target's.
    Valid,
    /// The figures hold, with the stated doubt.
    Degraded,
    /// The generator, not the target, limited the run.
    Invalid,
}

/// One thing that was judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Criterion {
    /// As in docs/verdict.md, e.g. `lateness.p99`.
    pub name: &'static str,
    pub value: f64,
    /// Beyond this the run is at least DEGRADED; `None` if it never is.
    pub limit: Option<f64>,
    /// Beyond this the run is INVALID; `None` if it never is.
    pub invalid_limit: Option<f64>,
    /// `ns`, `share`, `count`…
    pub unit: &'static str,
    /// Whether the value is within `limit`.
    pub holds: bool,
    /// What this criterion alone makes of the run.
    pub severity: Word,
    /// One sentence that says what to do; empty when it holds.
    pub advice: String,
}

/// VALID, DEGRADED or INVALID with everything that led to it. Only [`crate::judge`] makes one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    word: Word,
    criteria: Vec<Criterion>,
}

impl Word {
    /// `VALID`, `DEGRADED`, `INVALID`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Degraded => "DEGRADED",
            Self::Invalid => "INVALID",
        }
    }
}

impl Verdict {
    pub fn word(&self) -> Word {
        self.word
    }
    pub fn criteria(&self) -> &[Criterion] {
        &self.criteria
    }
    /// Those that do not hold, worst first.
    pub fn failing(&self) -> Vec<&Criterion> {
        let mut failing: Vec<_> = self.criteria.iter().filter(|criterion| !criterion.holds).collect();
        failing.sort_by_key(|criterion| std::cmp::Reverse(criterion.severity));
        failing
    }
}
