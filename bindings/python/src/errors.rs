//! Exceptions.

use bursts::BurstError;
use port::PortError as PortFailure;
use pyo3::prelude::*;
use pyo3::{create_exception, exceptions::PyException};

create_exception!(tare, TareError, PyException, "Its text says what would be right.");
create_exception!(tare, PlanError, TareError, "A plan is wrong. Nothing was sent.");
create_exception!(tare, RulesError, TareError, "A line of a set of rules is wrong.");
create_exception!(tare, PortError, TareError, "A port cannot be opened, or failed.");
create_exception!(tare, NoMoreFrames, PortError, "No frame will ever come again.");
create_exception!(tare, UsageError, TareError, "Used closed, twice, or by two threads.");

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("TareError", py.get_type::<TareError>())?;
    module.add("PlanError", py.get_type::<PlanError>())?;
    module.add("RulesError", py.get_type::<RulesError>())?;
    module.add("PortError", py.get_type::<PortError>())?;
    module.add("NoMoreFrames", py.get_type::<NoMoreFrames>())?;
    module.add("UsageError", py.get_type::<UsageError>())
}

pub fn of_burst(error: BurstError) -> PyErr {
    let said = error.to_string();
    match error {
        BurstError::Port(PortFailure::Over { .. }) => NoMoreFrames::new_err(said),
        BurstError::Port(_) => PortError::new_err(said),
        _ => UsageError::new_err(said),
    }
}
