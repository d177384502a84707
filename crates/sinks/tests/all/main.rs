//! Sinks against real servers.

mod redis;
mod redis_module;
