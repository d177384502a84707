//! What can be wrong with a schedule.

use std::path::PathBuf;
use units::Rate;

#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    #[error("share {index} of {of} does not exist; shares are 0 to one less than their number")]
    NoSuchShare { index: u32, of: u32 },
    #[error(
        "the rates of this shape have no common measure (their periods' least common multiple is over 2^96 ps); write all of them per second"
    )]
    NoCommonMeasure,
    #[error("stages need at least one stage of a length over zero and a rate over zero")]
    NoStages,
    #[error("a step from {from} to {to} does not go up; give a last rate above the first")]
    StepDown { from: Rate, to: Rate },
    #[error(
        "a sine of mean {mean} cannot have the amplitude {amplitude}: its rate would be negative; give one of at most the mean"
    )]
    NegativeRate { mean: Rate, amplitude: Rate },
    #[error("a sine may have at most 2^48 departures in a period; give a lower rate or a shorter period")]
    PeriodTooFull,
    #[error("{what} is zero; give one above zero")]
    Zero { what: &'static str },
    #[error("recorded times cannot be looked up by number")]
    NotByNumber,
    #[error("cannot read {}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{} is not a regular file; it must be one, because every thread reads it", path.display())]
    NotAFile { path: PathBuf },
    #[error("{} contains no time; expected one offset in seconds per line, such as 0.25", path.display())]
    NoTimes { path: PathBuf },
    #[error("{}, line {line}: {problem}", path.display())]
    Line { path: PathBuf, line: u64, problem: String },
}
