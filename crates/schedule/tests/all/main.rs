//! Schedules from outside.

mod shares;
