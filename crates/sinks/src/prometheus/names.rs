//! How a sample is called in Prometheus: `tare_`, words, unit, and `_total` for a counter.

use crate::metrics::{Sample, Value};

/// Without what a distribution's parts add (`_bucket`, `_sum`, `_count`).
pub fn name(sample: &Sample<'_>) -> String {
    let total = if matches!(sample.value, Value::Counter(_)) { "_total" } else { "" };
    format!("tare_{}{}{total}", sample.meaning.name, sample.meaning.unit.suffix())
}

/// A number as Prometheus' text has it.
pub fn number(value: f64) -> String {
    match value {
        value if value == f64::INFINITY => "+Inf".to_owned(),
        value if value == f64::NEG_INFINITY => "-Inf".to_owned(),
        value => value.to_string(),
    }
}
