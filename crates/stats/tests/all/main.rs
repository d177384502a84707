//! Intervals against processes whose truth is known.

mod coverage;
mod words;
