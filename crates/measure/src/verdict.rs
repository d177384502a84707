//! The shape of a verdict: a word, and every criterion that led to it.

use crate::criterion::CriterionId;

/// What a verdict says of the generator (never of the target).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word {
    /// The figures are the target's.
    Valid,
    /// The figures hold, with the stated doubt.
    Degraded,
    /// The generator, not the target, limited the run.
    Invalid,
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

impl std::fmt::Display for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which side of its limit a value should be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    AtMost,
    AtLeast,
}

impl Sense {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::AtMost => value <= limit,
            Self::AtLeast => value >= limit,
        }
    }
}

/// One thing that was judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    pub id: CriterionId,
    pub value: f64,
    /// Within this it holds.
    pub limit: f64,
    /// Beyond this the run is INVALID; `None` if this criterion alone never makes it so.
    pub invalid_limit: Option<f64>,
    pub holds: bool,
    /// What this criterion alone makes of the run; VALID also for one that only warns.
    pub severity: Word,
    /// One sentence that says what to do; empty when it holds.
    pub advice: String,
}

impl Criterion {
    /// Lowers the word to DEGRADED beyond `limit`, unless it only warns.
    pub(crate) fn new(id: CriterionId, value: f64, limit: f64) -> Self {
        let about = id.about();
        let holds = about.sense.holds(value, limit);
        let severity = if holds { Word::Valid } else { about.worst.min(Word::Degraded) };
        Self { id, value, limit, invalid_limit: None, holds, severity, advice: String::new() }
    }

    /// Lowers the word to INVALID beyond `limit`, if there is one.
    pub(crate) fn invalid_beyond(mut self, limit: Option<f64>) -> Self {
        let about = self.id.about();
        debug_assert!(
            limit.is_none() || about.worst == Word::Invalid,
            "{} never makes a run INVALID",
            self.id
        );
        self.invalid_limit = limit;
        if limit.is_some_and(|limit| !about.sense.holds(self.value, limit)) {
            (self.holds, self.severity) = (false, Word::Invalid);
        }
        self
    }

    /// What to do when it does not hold.
    pub(crate) fn advise(mut self, advice: impl FnOnce() -> String) -> Self {
        if !self.holds {
            self.advice = advice();
        }
        self
    }
}

/// VALID, DEGRADED or INVALID with everything that led to it. Only [`crate::judge`] makes one.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    word: Word,
    criteria: Vec<Criterion>,
}

impl Verdict {
    /// The word is the worst that any criterion makes of the run.
    pub(crate) fn from_criteria(criteria: Vec<Criterion>) -> Self {
        let word = criteria.iter().map(|criterion| criterion.severity).max().unwrap_or(Word::Invalid);
        Self { word, criteria }
    }

    /// Of a run that was interrupted before its measured part began: that nothing was due in it is nobody's
    /// fault.
    #[must_use]
    pub fn of_a_warm_up(mut self) -> Self {
        for criterion in self.criteria.iter_mut().filter(|criterion| criterion.id == CriterionId::Departures)
        {
            (criterion.invalid_limit, criterion.severity) = (None, Word::Degraded);
            criterion.advice = "nothing was measured yet: the run was interrupted in its warm-up".to_owned();
        }
        Self::from_criteria(self.criteria)
    }

    pub fn word(&self) -> Word {
        self.word
    }
    /// All of them, those that hold as well, in the order of docs/verdict.md.
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

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// VALID or DEGRADED (or INVALID and accepted), and all thresholds held.
    Good,
    ThresholdFailed,
    Invalid,
    Unreachable,
    Interrupted,
}

/// What besides the verdict decides the exit status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The target could not be reached at all: see [`crate::unreachable`].
    pub unreachable: bool,
    pub threshold_failed: bool,
    /// Ended by Ctrl-C.
    pub interrupted: bool,
    /// `--accept-invalid`: changes the status, never the word.
    pub accept_invalid: bool,
}

impl ExitStatus {
    /// The first that applies: interrupted, unreachable, INVALID, threshold. An interrupted run is partial
    /// whatever its figures; without a target there is nothing to judge; an INVALID run's figures decide no
    /// threshold.
    pub fn of(verdict: &Verdict, ending: Ending) -> Self {
        match ending {
            Ending { interrupted: true, .. } => Self::Interrupted,
            Ending { unreachable: true, .. } => Self::Unreachable,
            Ending { accept_invalid: false, .. } if verdict.word() == Word::Invalid => Self::Invalid,
            Ending { threshold_failed: true, .. } => Self::ThresholdFailed,
            _ => Self::Good,
        }
    }

    pub const fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::ThresholdFailed => 3,
            Self::Invalid => 4,
            Self::Unreachable => 5,
            Self::Interrupted => 130,
        }
    }
}
