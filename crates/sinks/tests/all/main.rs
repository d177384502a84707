//! Sinks against real servers.

mod redis;
mod redis_deleted;
mod redis_module;
