//! Memory of a port that Python looks at and writes: through the buffer protocol, so without a copy.

use crate::ports::State;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

/// Bytes of a port. As long as Python has a view of them they stay, also when the port is closed.
#[pyclass(frozen, module = "tare._tare")]
pub struct Memory {
    /// Has the rows, which this points into.
    #[expect(dead_code, reason = "it is held, not used")]
    owner: Arc<Mutex<State>>,
    start: NonNull<c_void>,
    bytes: isize,
}

// SAFETY: only Python reads and writes through the address, under its own rules.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// `bytes` from `start` on must be rows of the port's.
    pub fn new<T>(owner: Arc<Mutex<State>>, start: *mut T, count: usize) -> Self {
        let bytes = count * size_of::<T>();
        let start = NonNull::new(start).unwrap_or(NonNull::dangling()).cast();
        Self { owner, start, bytes: bytes as isize }
    }
}

#[pymethods]
impl Memory {
    /// # Safety
    /// Python calls it, with a view to be filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let memory = slf.get();
        let start = memory.start.as_ptr();
        // SAFETY: the view keeps this object, which keeps the rows: so many bytes, which others may write.
        let done = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, memory.bytes, 0, flags) };
        match done {
            0 => Ok(()),
            _ => Err(PyErr::take(slf.py()).unwrap_or_else(|| PyBufferError::new_err("no view"))),
        }
    }
}
