//! Firewall rules.

use crate::errors::{RulesError, UsageError};
use crate::ports::Port;
use filter::{Firewall, Judge};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// See `tare.Rules`.
#[pyclass(frozen, module = "tare._tare")]
pub struct Rules {
    firewall: Firewall,
}

#[pymethods]
impl Rules {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let compiled = py.detach(|| {
            let rules = filter::Rules::parse(text, "rules").map_err(|error| error.to_string())?;
            Firewall::compile(&rules).map_err(|error| error.to_string())
        });
        Ok(Self { firewall: compiled.map_err(RulesError::new_err)? })
    }

    fn __len__(&self) -> usize {
        self.firewall.rules().rules.len()
    }

    /// Whether a frame passes, who decided, and the line of the rule that did.
    fn judge(&self, py: Python<'_>, frame: PyBuffer<u8>) -> PyResult<(bool, &'static str, Option<u32>)> {
        let decision = self.firewall.decide(&frame.to_vec(py)?);
        let (by, line) = match self.firewall.judge(decision) {
            Judge::Rule(index) => ("rule", self.firewall.rules().lines.get(index as usize).copied()),
            Judge::Default => ("default", None),
            Judge::Other => ("other", None),
            Judge::Malformed => ("malformed", None),
        };
        Ok((!decision.action().is_drop(), by, line))
    }

    /// A byte for each frame that the port holds, 1 if it passes.
    fn passes<'py>(&self, py: Python<'py>, port: &Port) -> PyResult<Bound<'py, PyBytes>> {
        let passes = port.alone(py, |port| {
            let Some(frames) = port.held_frames() else { return Ok(None) };
            let mut passes = Vec::new();
            bursts::judge(&self.firewall, frames, |decision| {
                passes.push(u8::from(!decision.action().is_drop()));
            });
            Ok(Some(passes))
        })?;
        let passes = passes.ok_or_else(|| UsageError::new_err("no burst is held: receive one first"))?;
        Ok(PyBytes::new(py, &passes))
    }
}
