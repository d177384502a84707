//! The border: what happens inside becomes a code, and its text stays for whoever asks.

use crate::codes::TARE_OK;
use crate::error::Error;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// Runs the body of a function of the library.
pub fn guard(body: impl FnOnce() -> Result<(), Error>) -> i32 {
    // What a panic leaves half done is behind a lock, or lost with its owner.
    let outcome = catch_unwind(AssertUnwindSafe(body));
    match outcome.unwrap_or_else(|panic| Err(Error::Panic(words(&*panic)))) {
        Ok(()) => TARE_OK,
        Err(error) => {
            keep(&error);
            error.code()
        }
    }
}

pub fn last_error() -> *const c_char {
    // A thread that is ending has no text any more.
    let kept = LAST.try_with(|last| last.borrow().as_ref().map(|text| text.as_ptr()));
    kept.ok().flatten().unwrap_or(c"".as_ptr())
}

fn keep(error: &Error) {
    let text = text(error.to_string());
    let _ = LAST.try_with(|last| *last.borrow_mut() = Some(text));
}

/// As C has it: up to a NUL.
pub fn text(text: String) -> CString {
    let mut bytes = text.into_bytes();
    bytes.retain(|byte| *byte != 0);
    CString::new(bytes).unwrap_or_default()
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::*;
    use std::ffi::CStr;

    fn said() -> String {
        // SAFETY: it is a text until the next error of this thread.
        unsafe { CStr::from_ptr(last_error()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn a_panic_is_a_code_and_its_words() {
        assert_eq!(guard(|| panic!("{} is broken", "this")), TARE_ERROR_PANIC);
        assert_eq!(said(), "a mistake in Tare (a panic); please report it: this is broken");
        assert_eq!(guard(|| Ok(())), TARE_OK);
    }

    #[test]
    fn each_thread_has_its_own_text() {
        assert_eq!(guard(|| Err(Error::Closed("port"))), TARE_ERROR_CLOSED);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(said(), ""));
        });
        assert_eq!(said(), "this port is closed, or never was open");
    }
}
