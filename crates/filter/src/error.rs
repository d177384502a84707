//! What can be wrong with rules: always with the line, and with what would be right.

/// A line of a rules file that is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}, write {expected}")]
pub struct RuleError {
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    pub problem: String,
    pub expected: String,
}

/// Rules that are right one by one, and too much together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    #[error("{rules} rules are more than the {most} that fit; merge neighbouring prefixes")]
    TooMany { rules: usize, most: usize },
    /// A port range is stored as up to 30 aligned blocks, and two ranges in one rule as their product.
    #[error(
        "line {line}: its port ranges bring the tables to more than {most} entries; \
         write ranges that are aligned (1024-2047), or fewer rules with ranges in both sport and dport"
    )]
    TooWide { line: u32, most: usize },
    #[error("the tables could not place {entries} entries within {steps} steps; merge neighbouring prefixes")]
    Crowded { entries: usize, steps: usize },
}
