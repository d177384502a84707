//! Other places for a run's figures (`--to URL`): one file each, behind one trait.
//!
//! ```text
//! main thread ─ IntervalRow ─► Hub ─ bounded queue ─► a thread for each sink ─► Exporter (redis, parquet, …)
//! engine threads ─ Event batches ─► Tap ─┘ (only if a sink wants events)
//! ```
//!
//! Nothing here ever makes the load wait: what does not fit into a queue is counted as lost, told in
//! `result.sinks`, and lowers the verdict to DEGRADED.

#![forbid(unsafe_code)]

mod csv;
mod event_fields;
mod exporter;
mod hdr;
mod hub;
#[cfg(feature = "influx")]
mod influx;
mod jsonl;
mod k6;
mod kinds;
#[cfg(any(feature = "otlp", feature = "prometheus"))]
mod metrics;
mod optional;
#[cfg(feature = "otlp")]
mod otlp;
mod output;
#[cfg(feature = "parquet")]
mod parquet;
mod place;
#[cfg(feature = "prometheus")]
mod prometheus;
mod queue;
#[cfg(feature = "redis")]
mod redis_keys;
#[cfg(feature = "redis")]
mod redis_link;
#[cfg(feature = "redis")]
mod redis_module;
#[cfg(feature = "redis")]
mod redis_read;
#[cfg(feature = "redis")]
mod redis_streams;
#[cfg(feature = "redis")]
mod redis_wire;
#[cfg(feature = "redis")]
mod redis_written;
#[cfg(feature = "prometheus")]
mod remote_write;
#[cfg(feature = "parquet")]
mod samples;
#[cfg(feature = "web")]
mod web;

pub use exporter::{Exporter, Gone, IntervalHistograms, RunInfo, SinkError, SinkRow};
pub use hub::Hub;
pub use kinds::KINDS;
#[cfg(not(feature = "redis"))]
pub use optional::fetch_redis;
pub use optional::left_out;
pub use place::{Address, Place, SinkKind, without_secrets};
#[cfg(feature = "redis")]
pub use redis_read::fetch_redis;
