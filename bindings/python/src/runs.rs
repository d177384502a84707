//! Runs, in a thread of their own.

use crate::errors::{PlanError, TareError};
use pyo3::prelude::*;
use run::hosted::{self, Ended, Row, Wishes, Wrong};
use run::{Failure, Loaded, Options, said_once};
use serde::Serialize;
use std::path::PathBuf;
use units::Picos;

/// See `tare.Run`.
#[pyclass(frozen, module = "tare._tare")]
pub struct Run {
    run: hosted::Run,
}

#[pymethods]
impl Run {
    #[new]
    fn new(
        py: Python<'_>,
        plan: &str,
        save: bool,
        out: Option<PathBuf>,
        accept_invalid: bool,
    ) -> PyResult<Self> {
        let wishes = Wishes { save, out, accept_invalid };
        let run = py.detach(|| hosted::Run::start(plan, "python", &wishes)).map_err(wrong)?;
        Ok(Self { run })
    }

    fn stop(&self) {
        self.run.stop();
    }

    /// The next interval as JSON: `(is_over, row)`.
    fn row(&self, py: Python<'_>, patience_ns: u64) -> PyResult<(bool, Option<String>)> {
        match py.detach(|| self.run.row(Picos::from_nanos(patience_ns))) {
            Row::Interval(row) => Ok((false, Some(json(&row)?))),
            Row::Over => Ok((true, None)),
            Row::Later => Ok((false, None)),
        }
    }

    /// What came of it, if it is over: `(result, status)`; without a result, why nothing was sent and the
    /// status.
    fn outcome(&self, py: Python<'_>, patience_ns: u64) -> PyResult<Option<(Option<String>, String, u8)>> {
        let Some(outcome) = py.detach(|| self.run.outcome(Picos::from_nanos(patience_ns))) else {
            return Ok(None);
        };
        match outcome {
            Ok(Ended { result, status }) => {
                let text = py.detach(|| json(result))?;
                Ok(Some((Some(text), String::new(), status.code())))
            }
            Err(Wrong::Unreachable(said)) => Ok(Some((None, said.clone(), 5))),
            Err(Wrong::Plan(said)) => Err(PlanError::new_err(said.clone())),
            Err(wrong @ (Wrong::Panic | Wrong::Forked)) => Err(TareError::new_err(wrong.to_string())),
        }
    }
}

fn wrong(failure: Failure) -> PyErr {
    PlanError::new_err(said_once(&failure.into_error()))
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| TareError::new_err(format!("no JSON: {error}")))
}

/// Every field of every plan: its path in TOML, and its flag.
#[pyfunction]
pub fn fields() -> Vec<(&'static str, &'static str)> {
    plan::FIELDS.into_iter().chain(plan::packets::FIELDS).flatten().copied().collect()
}

/// The canonical text of a plan.
#[pyfunction]
pub fn canonical(py: Python<'_>, text: &str) -> PyResult<String> {
    let loaded =
        py.detach(|| Loaded::read(text, "plan", |_| {}, &Options::default()).map(|plan| plan.to_toml()));
    loaded.map_err(wrong)
}
