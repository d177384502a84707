//! Every kind of sink there is: one line each.

use crate::place::Kind;
use crate::{arrow_ipc, csv, hdr, influx, jsonl, k6, otlp, parquet, prometheus, redis_streams, remote_write};

/// In the order of `tare http --help` and docs/sinks.md.
pub const KINDS: &[Kind] = &[
    csv::KIND,
    jsonl::KIND,
    hdr::KIND,
    k6::KIND,
    redis_streams::KIND,
    parquet::KIND,
    arrow_ipc::KIND,
    prometheus::KIND,
    remote_write::KIND,
    otlp::KIND,
    influx::V1,
    influx::V2,
];
