//! Comparing from outside.

mod verdicts;
