//! Sinks against real servers.

mod redis;
