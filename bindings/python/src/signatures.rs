//! Signatures of frames.

use crate::errors::UsageError;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use wire::Signature;
use wire::signature::{SEQUENCES, STREAMS};

/// Writes a signature into a frame that can be written.
#[pyfunction]
pub fn sign(
    py: Python<'_>,
    frame: PyBuffer<u8>,
    seq: u64,
    stream: u16,
    due_unix_ns: u64,
    sent_unix_ns: u64,
) -> PyResult<()> {
    if seq >= SEQUENCES || usize::from(stream) >= STREAMS {
        return Err(UsageError::new_err("seq must be less than 2**40, and stream less than 256"));
    }
    let mut bytes = frame.to_vec(py)?;
    if !(Signature { stream, seq, due_unix_ns, sent_unix_ns }).put(&mut bytes) {
        let said = "the frame has no room for a signature: it needs 18 bytes of payload behind its headers";
        return Err(UsageError::new_err(said));
    }
    frame.copy_from_slice(py, &bytes)
}

/// `(seq, stream, due, sent)` of a frame that has a signature.
#[pyfunction]
pub fn signature(py: Python<'_>, frame: PyBuffer<u8>) -> PyResult<Option<(u64, u16, u64, u64)>> {
    let found = Signature::find(&frame.to_vec(py)?);
    Ok(found.map(|found| (found.seq, found.stream, found.due_unix_ns, found.sent_unix_ns)))
}
