//! What is made of a run: reports, thresholds, kept runs and comparisons, sinks, the live view.

mod browser;
mod compare;
mod hlog;
mod live;
mod netsinks;
mod older;
mod overwriting;
mod package;
mod papers;
mod runs;
mod samples;
mod secrets;
mod sinks;
mod sinks_redis;
mod thresholds;
mod tidy;
mod trials;
