//! A thread that sees to it that no call of a script goes on for ever.
//!
//! It wakes up ten times a second and looks whether the same call is still going on, and how long its thread
//! has had a CPU since: a machine that stands still, or is busy with others, does not use up a script's time.

use crate::limits::{self, Limits, MOST_TIME};
use clock::ThreadCpu;
use mlua::ffi;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(100);

thread_local! {
    static THIS: i32 = ThreadCpu::this().tid();
}

#[derive(Default)]
struct Shared {
    /// Twice the calls that began, less one while one goes on.
    calls: AtomicU64,
    /// The thread of the call that goes on.
    caller: AtomicI32,
    is_over: Mutex<bool>,
    wake: Condvar,
}

/// What the thread reaches of the script.
struct Subject {
    state: *mut ffi::lua_State,
    limits: *const Limits,
}

// SAFETY: the thread only sets a hook and a flag that is atomic; both live until it has been joined.
unsafe impl Send for Subject {}

impl Subject {
    fn stop(&self) {
        // SAFETY: the limits live until the thread has been joined.
        let limits = unsafe { &*self.limits };
        limits.out_of_time.store(true, Ordering::Release);
        // SAFETY: LuaJIT allows this from another native thread (lj_record.c), and the state lives.
        unsafe { ffi::lua_sethook(self.state, Some(limits::out_of_time), ffi::LUA_MASKCOUNT, 1) };
    }
}

/// See the module.
pub struct Watchdog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// # Errors
    /// No thread can be started.
    ///
    /// # Safety
    /// Both live for as long as this does.
    pub unsafe fn start(state: *mut ffi::lua_State, limits: *const Limits) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (seen, subject) = (shared.clone(), Subject { state, limits });
        let watch = move || watch(&seen, &subject);
        let thread = std::thread::Builder::new().name("tare-script".to_owned()).spawn(watch)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// A call begins.
    pub fn begin(&self) {
        self.shared.caller.store(THIS.with(|tid| *tid), Ordering::Relaxed);
        self.shared.calls.fetch_add(1, Ordering::Release);
    }

    /// It has ended.
    pub fn end(&self) {
        self.shared.calls.fetch_add(1, Ordering::Relaxed);
    }
}

fn watch(shared: &Shared, subject: &Subject) {
    // The call that went on at the last look, and what its thread had used when it was first seen.
    let mut seen = None;
    let mut is_over = shared.is_over.lock().unwrap_or_else(PoisonError::into_inner);
    while !*is_over {
        let waited = shared.wake.wait_timeout(is_over, LOOK_EVERY);
        is_over = waited.unwrap_or_else(PoisonError::into_inner).0;
        let call = shared.calls.load(Ordering::Acquire);
        let caller = ThreadCpu::of(shared.caller.load(Ordering::Relaxed));
        let used_ns = if call % 2 == 1 { caller.used_ns() } else { None };
        seen = match (seen, used_ns) {
            (Some((before, since_ns)), Some(used_ns)) if before == call => {
                if used_ns.saturating_sub(since_ns) >= MOST_TIME.as_nanos() as u64 {
                    subject.stop();
                }
                seen
            }
            (_, Some(used_ns)) => Some((call, used_ns)),
            (_, None) => None,
        };
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        *self.shared.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
