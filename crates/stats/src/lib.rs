//! How sure a figure is: intervals that were computed, or the reason why there is none.
//!
//! ```text
//! values of trials ──► checks ──┬─► Ok(Interval)    made by a method of this crate, and by nothing else
//! counts of seconds    numbers? │
//! a long series        enough?  └─► Err(Refusal)    which check, with its figures
//!                      drift? dependence?
//! ```
//!
//! | question | answer by |
//! |---|---|
//! | where does the mean of trials lie? | [`students`]: Student's t |
//! | where does a percentile of all trials lie? | [`bootstrap`]: whole trials drawn again |
//! | where does a percentile of one trial lie? | [`order`]: between two of its values |
//! | where does the rate of one trial lie? | [`batch`]: means of batches |
//! | are there enough trials? | [`sequential`]: looks that cost what they cost |
//! | where does the warm-up end? | [`warmup`]: MSER-5 |
//! | are arrivals what was asked for? | [`fidelity`]: Kolmogorov and Smirnov's distance |
//! | do two means of trial values differ? | [`welch`]: Welch's t |
//! | do two sets of trial percentiles differ? | [`ranks`]: Mann–Whitney, exact |
//! | among many tests, which still count? | [`holm`]: Holm's step-down adjustment |
//! | how many trials would show a given difference? | [`power`] |
//! | do values rise or fall? | [`drift`]: Mann–Kendall |
//! | do values follow each other? | [`dependence`]: von Neumann's ratio |
//!
//! Pure: no clock, no file, no unit. Values come in the order in which they were measured, since drift and
//! dependence are looked for in that order. docs/statistics.md tells formulas, sources, and how often each
//! interval holds.

#![forbid(unsafe_code)]

pub mod batch;
pub mod bootstrap;
pub mod claim;
pub mod dependence;
pub mod drift;
pub mod fidelity;
pub mod holm;
pub mod order;
pub mod power;
pub mod ranks;
pub mod sequential;
pub mod students;
mod summary;
pub mod warmup;
pub mod welch;

pub use claim::{Claim, Interval, LEVEL, Method, Refusal, told};
pub use summary::{Running, mean, median, variance};
