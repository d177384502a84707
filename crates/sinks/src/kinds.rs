//! Every kind of sink there is: one line each.

use crate::place::Kind;

/// In the order of `tare http --help` and docs/sinks.md.
pub const KINDS: &[Kind] = &[];
