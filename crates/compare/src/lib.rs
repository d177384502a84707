//! Runs, or sets of trials, beside each other: what differs, and how sure that is.
//!
//! ```text
//! StoredRun ─► Trial ─┐
//! StoredRun ─► Trial ─┴─► Side ─┬─► doubts     may they be compared at all?
//!                         Side ─┼─► compare    what differs, by how much, more than chance?
//!                               └─► slower     is B shown slower than A × 1.05?
//! ```
//!
//! Pure functions of stored runs. The statistics and why they are these are told in docs/compare.md.

#![forbid(unsafe_code)]

mod comparison;
mod contents;
mod figure;
mod group;
mod guard;
mod headline;
mod side_label;
mod slower;
mod trial;

pub use comparison::{
    CONFIDENCE, Compared, Comparison, Finding, LeftOut, NEGLIGIBLE, Pair, Run, Runs, Side, Test,
    WORTH_SHOWING, compare, percentiles,
};
pub use figure::{Better, FIGURES, Family, Figure, LOSS, figure};
pub use group::{Group, GroupSide, Told, UntilSide, UntilTold};
pub use guard::{Doubts, doubts};
pub use headline::{HEADLINES, Headline, Stated, Weighed, named, stated};
pub use side_label::side_label;
pub use slower::{By, DEFAULT, Held, Slower, default_figures, slower};
pub use trial::Trial;
