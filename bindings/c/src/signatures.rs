//! Signatures: which frame it is, and when it left.

#![allow(non_camel_case_types)] // as C writes types

use crate::error::Error;
use crate::guard::guard;
use crate::pointers::{given, out, slice, slice_out};
use wire::Signature;
use wire::signature::{SEQUENCES, STREAMS};

/// What a frame carries at the start of its payload: 18 bytes, as `tare send --sign` writes them.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct tare_signature {
    /// Position in the whole schedule: less than 2^40.
    pub seq: u64,
    /// Nanoseconds since 1970 (CLOCK_REALTIME). Read back, it is exact up to 4 us before `sent_unix_ns`, and at
    /// most 1/2048 of their difference too late beyond that.
    pub due_unix_ns: u64,
    pub sent_unix_ns: u64,
    /// 0 to 255.
    pub stream: u32,
}

/// Writes a signature over the first bytes of a frame's payload, and keeps the checksum of UDP, TCP or ICMP
/// right. TARE_ERROR_NO_ROOM, with the frame as it was, if there is no payload of 18 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_signature_write(
    signature: *const tare_signature,
    frame: *mut u8,
    length: usize,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (signature, frame) =
            unsafe { (given(signature, "signature")?, slice_out(frame, length, "frame")?) };
        let tare_signature { seq, due_unix_ns, sent_unix_ns, stream } = *signature;
        if seq >= SEQUENCES {
            return Err(wrong("signature->seq", seq, "less than 2^40"));
        }
        if stream as usize >= STREAMS {
            return Err(wrong("signature->stream", stream.into(), "0 to 255"));
        }
        let signature = Signature { stream: stream as u16, seq, due_unix_ns, sent_unix_ns };
        if signature.put(frame) { Ok(()) } else { Err(Error::NoRoom) }
    })
}

/// Looks for a signature in a frame. *found says whether there is one; without, *signature stays as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tare_signature_read(
    frame: *const u8,
    length: usize,
    signature: *mut tare_signature,
    found: *mut bool,
) -> i32 {
    guard(|| {
        // SAFETY: as the header says.
        let (frame, signature, found) =
            unsafe { (slice(frame, length, "frame")?, out(signature, "signature")?, out(found, "found")?) };
        let read = Signature::find(frame);
        *found = read.is_some();
        if let Some(Signature { stream, seq, due_unix_ns, sent_unix_ns }) = read {
            *signature = tare_signature { seq, due_unix_ns, sent_unix_ns, stream: stream.into() };
        }
        Ok(())
    })
}

fn wrong(what: &'static str, value: u64, expected: &str) -> Error {
    Error::Value { what, value, expected: expected.to_owned() }
}
