//! What can be wrong with a plan: where it stands, what was typed, what is wrong, what would be right.

use crate::limits::LimitError;
use std::fmt;
use thiserror::Error;

/// Where a value came from: its path in TOML, its flag, and the file and line if it was read from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Path in TOML, e.g. `load.rate` or `requests[2].url`.
    pub field: String,
    /// The flag that sets it, e.g. `--rate`.
    pub flag: Option<&'static str>,
    /// Name of the plan file and the line, from 1.
    pub line: Option<(String, usize)>,
}

/// `plan.toml, line 3: load.rate` for a file, `--rate` for a flag.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.line, self.flag) {
            (Some((file, line)), _) => write!(f, "{file}, line {line}: {}", self.field),
            (None, Some(flag)) => f.write_str(flag),
            (None, None) => f.write_str(&self.field),
        }
    }
}

/// Why there is no plan. Each message names the flag, or the file, line and key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The file is not TOML.
    #[error("{file}, line {line}, column {column}: {problem}")]
    Syntax { file: String, line: usize, column: usize, problem: String },

    /// A key that no plan has.
    #[error("{file}, line {line}: unknown key `{key}`{}", hint(.suggestion))]
    UnknownKey { file: String, line: usize, key: String, suggestion: Option<String> },

    /// A key with a value of the wrong kind.
    #[error("{file}, line {line}: `{key}` has the wrong type: {problem}")]
    WrongType { file: String, line: usize, key: String, problem: String },

    /// A value that cannot be what it stands for.
    #[error("{place}: '{}' {problem}; expected {expected}", on_one_line(.value))]
    Value { place: Box<Place>, value: String, problem: String, expected: String },

    /// Two values that cannot both hold.
    #[error("{place} contradicts {other}: {why}")]
    Contradiction { place: Box<Place>, other: Box<Place>, why: String },

    /// A value that cannot do without another.
    #[error("{place} needs {needs}: {why}")]
    Missing { place: Box<Place>, needs: String, why: String },

    /// A limit that cannot be read, with a caret under the place.
    #[error("{place}: {error}")]
    Limit { place: Box<Place>, error: Box<LimitError> },

    /// There is nothing to send.
    #[error("no target: give a URL (http://host/), a file of URLs, or [[requests]] in a plan")]
    NoTarget,
}

/// Control characters as escapes, so that what was typed does not break the message.
fn on_one_line(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut line, c| {
        match c.is_control() {
            true => line.extend(c.escape_debug()),
            false => line.push(c),
        }
        line
    })
}

fn hint(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// Something that was decided for the user, or that they should know before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note(pub String);

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
