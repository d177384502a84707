//! Why an expression is no limit, and where in it.

use std::fmt;
use std::ops::Range;

/// What is wrong, what would be right, and a line of carets under the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitError {
    /// The expression as typed.
    pub text: String,
    /// Bytes of it that are wrong; empty at its end where something is missing.
    pub at: Range<usize>,
    pub problem: String,
    pub expected: String,
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown =
            |text: &str| -> String { text.chars().map(|c| if c.is_control() { '·' } else { c }).collect() };
        let columns = |part: Range<usize>| self.text.get(part).map_or(0, |part| part.chars().count());
        let (before, wide) = (columns(0..self.at.start), columns(self.at.clone()).max(1));
        writeln!(f, "{}; expected {}", shown(&self.problem), shown(&self.expected))?;
        write!(f, "  {}\n  ", shown(&self.text))?;
        write!(f, "{:before$}{}", "", "^".repeat(wide))
    }
}

impl std::error::Error for LimitError {}
