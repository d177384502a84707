//! Sinks against real servers.

mod redis;
mod redis_deleted;
mod redis_given_up;
mod redis_module;
mod redis_running;
