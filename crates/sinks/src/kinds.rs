//! Every kind of sink there is: one line each.

#[cfg(feature = "influx")]
use crate::influx;
#[cfg(feature = "otlp")]
use crate::otlp;
#[cfg(feature = "parquet")]
use crate::parquet;
use crate::place::SinkKind;
#[cfg(feature = "redis")]
use crate::redis_streams;
use crate::{csv, hdr, jsonl, k6};
#[cfg(feature = "prometheus")]
use crate::{prometheus, remote_write};

/// In the order of `tare http --help` and docs/sinks.md.
pub const KINDS: &[SinkKind] = &[
    csv::KIND,
    jsonl::KIND,
    hdr::KIND,
    k6::KIND,
    #[cfg(feature = "redis")]
    redis_streams::KIND,
    #[cfg(feature = "parquet")]
    parquet::KIND,
    #[cfg(feature = "prometheus")]
    prometheus::KIND,
    #[cfg(feature = "prometheus")]
    remote_write::KIND,
    #[cfg(feature = "otlp")]
    otlp::KIND,
    #[cfg(feature = "influx")]
    influx::V1,
    #[cfg(feature = "influx")]
    influx::V2,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The item of the list that names this scheme.
    fn row(scheme: &str) -> &'static str {
        let text = include_str!("../../../docs/sinks.md");
        let written = [format!("`{scheme}:"), format!("`{scheme}`")];
        text.lines()
            .find(|line| line.starts_with("- `") && written.iter().any(|written| line.contains(written)))
            .unwrap_or_else(|| panic!("docs/sinks.md does not name {scheme}"))
    }

    #[test]
    fn the_documentation_names_every_kind_and_option() {
        for kind in KINDS {
            let first = row(kind.schemes[0]);
            for option in kind.options {
                assert!(first.contains(&format!("`{option}`")), "{option} of {first}");
            }
        }
    }

    #[test]
    fn no_scheme_has_two_kinds() {
        let mut all: Vec<&str> = KINDS.iter().flat_map(|kind| kind.schemes).copied().collect();
        let many = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), many);
    }
}
