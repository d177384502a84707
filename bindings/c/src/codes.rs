//! What each function returns, and the text behind it.

use crate::guard;
use std::ffi::{CStr, c_char};

/// Done.
pub const TARE_OK: i32 = 0;
/// A pointer that must not be NULL is, or is not aligned for what it points to.
pub const TARE_ERROR_POINTER: i32 = -1;
/// A handle that is closed, or never was one.
pub const TARE_ERROR_CLOSED: i32 = -2;
/// A handle of another kind.
pub const TARE_ERROR_KIND: i32 = -3;
/// Another thread, or the function that called back, is using the handle.
pub const TARE_ERROR_BUSY: i32 = -4;
/// A value is outside of what it may be.
pub const TARE_ERROR_VALUE: i32 = -5;
/// A text is not UTF-8.
pub const TARE_ERROR_TEXT: i32 = -6;
/// Something was used before it was lent or received, after it was given up, or twice.
pub const TARE_ERROR_ORDER: i32 = -7;
/// A frame is longer than the port, or its row, has room for.
pub const TARE_ERROR_TOO_LONG: i32 = -8;
/// A frame has no room for a signature.
pub const TARE_ERROR_NO_ROOM: i32 = -9;
/// An address of a port is wrong, or the port cannot be opened or used here.
pub const TARE_ERROR_PORT: i32 = -10;
/// A port failed while it was used: it is gone, down, or the system refused.
pub const TARE_ERROR_SYSTEM: i32 = -11;
/// No frame will ever come again: a file is at its end, or the other end is closed and all was read.
pub const TARE_ERROR_OVER: i32 = -12;
/// Rules are wrong.
pub const TARE_ERROR_RULES: i32 = -13;
/// A plan, or something that it names, is wrong. Nothing was sent.
pub const TARE_ERROR_PLAN: i32 = -14;
/// Nobody answers where the load should go. Nothing was sent.
pub const TARE_ERROR_UNREACHABLE: i32 = -15;
/// Too many handles of this kind are open.
pub const TARE_ERROR_FULL: i32 = -16;
/// A mistake in Tare: please report it.
pub const TARE_ERROR_PANIC: i32 = -17;

/// The version of the library, such as "0.1.0". It is the library's, and stays.
#[unsafe(no_mangle)]
pub extern "C" fn tare_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

/// What went wrong in the last call of this thread that returned an error: one sentence, which says what would
/// be right. Never NULL. It is the library's, and stays until the next error of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn tare_last_error() -> *const c_char {
    guard::last_error()
}
