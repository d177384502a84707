//! Every kind of sink there is: one line each.

use crate::place::Kind;
use crate::{arrow_ipc, csv, hdr, jsonl, parquet};

/// In the order of `tare http --help` and docs/sinks.md.
pub const KINDS: &[Kind] = &[csv::KIND, jsonl::KIND, hdr::KIND, parquet::KIND, arrow_ipc::KIND];
