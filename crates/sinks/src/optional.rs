//! Kinds of sinks that a program may be built without.

#[cfg(not(feature = "redis"))]
use crate::exporter::SinkError;

/// A feature, whether it is there, and what the kinds are called that it brings.
const FEATURES: [(&str, bool, &[&str]); 5] = [
    ("influx", cfg!(feature = "influx"), &["influxdb", "influxdb+https", "influxdb2", "influxdb2+https"]),
    ("otlp", cfg!(feature = "otlp"), &["otlp+http", "otlp+https"]),
    ("parquet", cfg!(feature = "parquet"), &["parquet"]),
    ("prometheus", cfg!(feature = "prometheus"), &["prometheus", "prometheus+http", "prometheus+https"]),
    ("redis", cfg!(feature = "redis"), &["redis", "rediss"]),
];

/// Why there are none, where the program was built without them.
pub fn left_out(scheme: &str) -> Option<String> {
    let brings = |schemes: &[&str]| schemes.iter().any(|known| known.eq_ignore_ascii_case(scheme));
    let (feature, ..) = FEATURES.iter().find(|(_, is_there, schemes)| !is_there && brings(schemes))?;
    Some(format!("this tare was built without {scheme} sinks; build it with --features {feature}"))
}

/// Runs are read back by what writes them.
#[cfg(not(feature = "redis"))]
pub fn fetch_redis(url: &str, _into: &std::path::Path) -> Result<(), SinkError> {
    let problem = "this tare was built without Redis; build it with --features redis".to_owned();
    Err(SinkError::Url { url: crate::without_secrets(url), problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_always_there_or_known_to_be_optional() {
        let always = ["csv", "jsonl", "hdr", "k6"];
        let optional =
            FEATURES.iter().filter(|(_, is_there, _)| *is_there).flat_map(|(_, _, schemes)| *schemes);
        let mut known: Vec<&str> = optional.copied().chain(always).collect();
        let mut there: Vec<&str> = crate::KINDS.iter().flat_map(|kind| kind.schemes).copied().collect();
        known.sort_unstable();
        there.sort_unstable();
        assert_eq!(known, there, "`always` names each kind that no feature brings, FEATURES the others");
        assert!(there.iter().all(|scheme| left_out(scheme).is_none()));
    }
}
