//! Comparing from outside.

mod bounds;
mod verdicts;
