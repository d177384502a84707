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
mod influx;
mod jsonl;
mod k6;
mod kinds;
mod metrics;
mod otlp;
mod output;
mod parquet;
mod place;
mod prometheus;
mod queue;
mod redis_link;
mod redis_read;
mod redis_streams;
mod redis_written;
mod remote_write;
mod samples;
mod web;

pub use exporter::{Exporter, Gone, IntervalHistograms, RunInfo, SinkError, SinkRow};
pub use hub::Hub;
pub use kinds::KINDS;
pub use place::{Address, Kind, Place, without_secrets};
pub use redis_read::fetch_redis;
