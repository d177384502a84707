//! How departures ended, as `result.json` says it.

use crate::schema::GroupResult;
use measure::LOWEST_ERROR_STATUS;
use serde::{Deserialize, Serialize};
use units::{Outcome, OutcomeClass};

/// How many departures ended in one way. `class` is `status`, `frame`, `error`, `missed` or `cut_off`; `key` is
/// the code, the fate (`sent`) or the cause (`connect.refused`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutcomeCount {
    pub class: StoredClass,
    /// Empty for outcomes of this class that were not told apart. What it means is [`Self::outcome`].
    pub key: String,
    pub count: u64,
}

impl OutcomeCount {
    /// `count` departures that ended like this.
    pub fn of(outcome: Outcome, count: u64) -> Self {
        Self { class: StoredClass::Known(outcome.class()), key: outcome.key().to_string(), count }
    }

    /// `count` departures of this class that are not told apart.
    pub const fn of_class(class: OutcomeClass, count: u64) -> Self {
        Self { class: StoredClass::Known(class), key: String::new(), count }
    }

    /// `None` if this version does not know it, or if several outcomes are counted together.
    pub fn outcome(&self) -> Option<Outcome> {
        Outcome::of_key(self.class.class()?, &self.key)
    }

    /// The status code, if these were answered with one.
    pub fn status(&self) -> Option<u16> {
        match self.outcome()? {
            Outcome::Status(code) => Some(code),
            _ => None,
        }
    }

    /// Whether these ended in this way.
    pub fn is(&self, class: OutcomeClass) -> bool {
        self.class.class() == Some(class)
    }

    /// Whether both count the same outcome.
    pub fn is_as(&self, other: &Self) -> bool {
        self.class == other.class && self.key == other.key
    }

    /// Whether these are errors: failed, or answered with a status of 400 or more. Missed requests never left,
    /// so they are not errors.
    pub fn is_error(&self) -> bool {
        let is_bad = |code: u16| (LOWEST_ERROR_STATUS..1000).contains(&code);
        self.is(OutcomeClass::Error) || self.status().is_some_and(is_bad)
    }
}

impl GroupResult {
    /// Answers by the hundreds of their status; `None` if some were not told apart and no sums are kept.
    pub fn statuses(&self) -> Option<[u64; 10]> {
        if self.statuses.is_some() {
            return self.statuses;
        }
        let mut sums = [0_u64; 10];
        for row in self.outcomes.iter().filter(|row| row.is(OutcomeClass::Status)) {
            let code = row.status()?;
            let hundreds = if code < 1000 { usize::from(code / 100) } else { 0 };
            sums[hundreds] = sums[hundreds].saturating_add(row.count);
        }
        Some(sums)
    }
}

/// The class of an outcome in a stored result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum StoredClass {
    Known(OutcomeClass),
    /// By another word: older results call what was done in a group `done`, and what failed in it `failed`.
    Older(OutcomeClass),
    /// Of another version of this program.
    Other(String),
}

/// Words of older results.
const OLDER: [(OutcomeClass, &str); 2] = [(OutcomeClass::Status, "done"), (OutcomeClass::Error, "failed")];

impl StoredClass {
    /// As it is written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(class) => class.key(),
            Self::Older(class) => {
                OLDER.iter().find(|(older, _)| older == class).map_or(class.key(), |(_, word)| word)
            }
            Self::Other(text) => text,
        }
    }

    /// What it means; `None` if this version does not know it.
    pub const fn class(&self) -> Option<OutcomeClass> {
        match self {
            Self::Known(class) | Self::Older(class) => Some(*class),
            Self::Other(_) => None,
        }
    }
}

impl Default for StoredClass {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl From<String> for StoredClass {
    fn from(text: String) -> Self {
        if let Some(class) = OutcomeClass::of_key(&text) {
            return Self::Known(class);
        }
        match OLDER.iter().find(|(_, word)| *word == text) {
            Some((class, _)) => Self::Older(*class),
            None => Self::Other(text),
        }
    }
}

impl From<&str> for StoredClass {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<StoredClass> for String {
    fn from(class: StoredClass) -> Self {
        match class {
            StoredClass::Other(text) => text,
            known => known.as_str().to_owned(),
        }
    }
}

impl std::fmt::Display for StoredClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Cause, Miss};

    #[test]
    fn every_word_is_written_as_it_was_read() {
        let known = OutcomeClass::ALL.iter().map(|class| class.key());
        for word in known.chain(["done", "failed", "", "postponed"]) {
            assert_eq!(StoredClass::from(word).as_str(), word);
            let row = OutcomeCount { class: word.into(), key: "200".into(), count: 3 };
            let text = format!(r#"{{"class":"{word}","key":"200","count":3}}"#);
            assert_eq!(serde_json::to_string(&row).unwrap(), text);
            assert_eq!(serde_json::from_str::<OutcomeCount>(&text).unwrap(), row);
        }
    }

    #[test]
    fn rows_mean_what_was_counted() {
        for outcome in [
            Outcome::Status(404),
            Outcome::Failed(Cause::ConnectRefused),
            Outcome::Missed(Miss::NoPort),
            Outcome::CutOff,
        ] {
            let row = OutcomeCount::of(outcome, 7);
            assert_eq!((row.outcome(), row.count), (Some(outcome), 7));
            assert!(row.is(outcome.class()) && row.is_as(&OutcomeCount::of(outcome, 1)));
        }
        let rest = OutcomeCount::of_class(OutcomeClass::Error, 2);
        assert_eq!((rest.outcome(), rest.is_error()), (None, true));
        assert_eq!(OutcomeCount::of(Outcome::Status(404), 1).status(), Some(404));
        assert_eq!(OutcomeCount::of(Outcome::CutOff, 1).status(), None);
    }

    #[test]
    fn errors_are_what_failed_or_has_a_status_of_400_or_more() {
        let is_error = |class: &str, key: &str| {
            OutcomeCount { class: class.into(), key: key.into(), count: 1 }.is_error()
        };
        assert!(is_error("status", "400") && is_error("status", "999") && is_error("error", "tls.alert"));
        assert!(is_error("failed", ""), "an older result");
        assert!(!is_error("status", "399") && !is_error("status", "") && !is_error("status", "1000"));
        assert!(!is_error("missed", "missed.no_port") && !is_error("done", "") && !is_error("new", "500"));
    }
}
