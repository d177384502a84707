//! What sets a run apart from others of its plan: its labels.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing that sets a run apart. It is text only in files and on screens: every text is a label, and every
/// label is read from its text as what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Label {
    /// The user ended it.
    Interrupted,
    /// The target never answered: nothing got through to it.
    Unreachable,
    /// All times are a simulation's.
    SimulatedTime,
    /// A limit ended it.
    Aborted {
        /// The limit, as results have it.
        limit: String,
        /// What its figure was, and when.
        reading: String,
    },
    /// Its load was changed while it ran, in a sentence: its plan does not reproduce it.
    Steered(String),
    /// Said in a sentence that nothing else depends on: "receiving ended early: …".
    Sentence(String),
}

const INTERRUPTED: &str = "interrupted";
const UNREACHABLE: &str = "target unreachable";
const SIMULATED: &str = "simulated time";
const ABORTED: &str = "aborted: ";
/// What the sentences of [`Label::Steered`] begin with.
const STEERED: [&str; 2] = ["the rate was changed by hand: ", "changed by hand: "];
/// Between a limit and its reading. A name in a limit may have it too, a reading has not.
const WAS: &str = " was ";

impl Label {
    /// Whether this limit ended the run.
    pub fn is_abort_by(&self, expression: &str) -> bool {
        matches!(self, Self::Aborted { limit, .. } if limit == expression)
    }

    /// The same with other words where they are free.
    #[must_use]
    pub fn map_words(self, change: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Interrupted | Self::Unreachable | Self::SimulatedTime => self,
            Self::Aborted { limit, reading } => {
                Self::Aborted { limit: change(&limit), reading: change(&reading) }
            }
            Self::Steered(text) => Self::Steered(change(&text)),
            Self::Sentence(text) => Self::Sentence(change(&text)),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.pad(INTERRUPTED),
            Self::Unreachable => f.pad(UNREACHABLE),
            Self::SimulatedTime => f.pad(SIMULATED),
            Self::Aborted { limit, reading } => write!(f, "{ABORTED}{limit}{WAS}{reading}"),
            Self::Steered(text) | Self::Sentence(text) => f.pad(text),
        }
    }
}

impl From<String> for Label {
    fn from(text: String) -> Self {
        let aborted = text.strip_prefix(ABORTED).and_then(|rest| rest.rsplit_once(WAS));
        match (text.as_str(), aborted) {
            (INTERRUPTED, _) => Self::Interrupted,
            (UNREACHABLE, _) => Self::Unreachable,
            (SIMULATED, _) => Self::SimulatedTime,
            (_, Some((limit, reading))) => {
                Self::Aborted { limit: limit.to_owned(), reading: reading.to_owned() }
            }
            _ if STEERED.iter().any(|begins| text.starts_with(begins)) => Self::Steered(text),
            _ => Self::Sentence(text),
        }
    }
}

impl From<&str> for Label {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        match label {
            Label::Steered(text) | Label::Sentence(text) => text,
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn aborted(limit: &str, reading: &str) -> Label {
        Label::Aborted { limit: limit.into(), reading: reading.into() }
    }

    #[test]
    fn every_label_is_read_as_what_it_was_written_for() {
        for (label, text) in [
            (Label::Interrupted, "interrupted"),
            (Label::Unreachable, "target unreachable"),
            (Label::SimulatedTime, "simulated time"),
            (aborted("p99 > 5ms", "7.00 ms after 3.00 s"), "aborted: p99 > 5ms was 7.00 ms after 3.00 s"),
            // The name of the requests has the word as well.
            (aborted("p99{it was} > 5ms", "7 ms"), "aborted: p99{it was} > 5ms was 7 ms"),
            (
                Label::Steered("changed by hand: rate 5 after 1.000 s".into()),
                "changed by hand: rate 5 after 1.000 s",
            ),
            (Label::Sentence("veth0 was down for a while".into()), "veth0 was down for a while"),
            (Label::Sentence("interrupted after 1.00 s of 20 s".into()), "interrupted after 1.00 s of 20 s"),
            (Label::Sentence("a: interrupted".into()), "a: interrupted"),
        ] {
            assert_eq!(Label::from(text), label);
            assert_eq!((label.to_string(), String::from(label)), (text.to_owned(), text.to_owned()));
        }
    }

    #[test]
    fn a_limit_that_ended_the_run_is_found() {
        let label = aborted("errors > 1%", "2 % after 4.00 s");
        assert!(label.is_abort_by("errors > 1%"));
        assert!(!label.is_abort_by("errors > 1") && !Label::Interrupted.is_abort_by("errors > 1%"));
    }

    #[test]
    fn only_free_words_are_changed() {
        let loud = |text: &str| text.to_uppercase();
        assert_eq!(aborted("a", "b").map_words(loud), aborted("A", "B"));
        assert_eq!(Label::Sentence("c".into()).map_words(loud), Label::Sentence("C".into()));
        assert_eq!(Label::Interrupted.map_words(loud), Label::Interrupted);
    }

    proptest! {
        #[test]
        fn every_text_is_written_as_it_was_read(
            text in prop_oneof![any::<String>(), "(aborted: )?[a-z ]{0,9}( was )?[a-z ]{0,9}( was )?[a-z]{0,9}"]
        ) {
            prop_assert_eq!(Label::from(text.as_str()).to_string(), text);
        }
    }
}
