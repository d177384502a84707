//! SIGINT and SIGTERM end the target in order.

#![allow(unsafe_code)]

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// Set by the first SIGINT or SIGTERM; the second has its usual effect.
pub(crate) fn stop_flag() -> &'static AtomicBool {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            // SAFETY: an all-zero sigaction is a valid one: no flags, an empty mask.
            let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
            action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
            // SAFETY: the handler only stores to an atomic, which is async-signal-safe, and lives as long as
            // the process.
            let installed = unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
            debug_assert_eq!(installed, 0, "both signals can be caught");
        }
    });
    &STOP
}
