//! `tare._tare`: the part of the Python package that is Rust. What users see of it is in `tare/`.
//!
//! Whatever waits or sends does so without the interpreter's lock, so that other threads of the program go on.

mod errors;
mod memory;
mod ports;
mod rules;
mod runs;
mod signatures;

use pyo3::prelude::*;

#[pymodule]
fn _tare(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    errors::add(module)?;
    module.add_class::<memory::Memory>()?;
    module.add_class::<ports::Port>()?;
    module.add_class::<rules::Rules>()?;
    module.add_class::<runs::Run>()?;
    module.add_function(wrap_pyfunction!(runs::fields, module)?)?;
    module.add_function(wrap_pyfunction!(runs::canonical, module)?)?;
    module.add_function(wrap_pyfunction!(signatures::sign, module)?)?;
    module.add_function(wrap_pyfunction!(signatures::signature, module)?)?;
    Ok(())
}
