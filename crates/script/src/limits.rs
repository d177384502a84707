//! What a script may take of memory, and the hooks that end it.
//!
//! ```text
//!   as asked │ the hook is set, and tells garbage from what is kept │ no hook would help: refused
//!   ─────────┼──────────────────────────────────────────────────────┼───────────────────────────►
//!         96 MiB                                                 256 MiB
//! ```
//!
//! The hook raises an error at the line that runs, which an allocator that refuses cannot tell. What it finds
//! to be garbage does not count.

use crate::place;
use mlua::ffi;
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a script may keep.
pub const MOST_BYTES: usize = 64 << 20;
/// What it may use, garbage and all, before it is looked at: collecting costs as much as what is kept.
const LOOKED_AT_BYTES: usize = 96 << 20;
/// What it is refused at once.
pub const REFUSED_BYTES: usize = 256 << 20;
/// How long a call may have a CPU.
pub const MOST_TIME: Duration = Duration::from_secs(1);

/// The allocator's state, and whether time is up.
pub struct Limits {
    /// The allocator that this one asks.
    allocator: ffi::lua_Alloc,
    owner: *mut c_void,
    state: *mut ffi::lua_State,
    used: Cell<usize>,
    /// A call is going on: outside of one nothing may fail.
    in_force: Cell<bool>,
    memory_hook: Cell<bool>,
    pub out_of_time: AtomicBool,
}

impl Limits {
    /// Takes the place of the state's allocator; `release` gives it back.
    ///
    /// # Safety
    /// `state` is a main state, and is closed only after [`Self::release`].
    pub unsafe fn install(state: *mut ffi::lua_State) -> Rc<Self> {
        let mut owner = std::ptr::null_mut();
        // SAFETY: by the caller, the state lives.
        let allocator = unsafe { ffi::lua_getallocf(state, &raw mut owner) };
        let limits = Rc::new(Self {
            allocator,
            owner,
            state,
            used: Cell::new(0),
            in_force: Cell::new(false),
            memory_hook: Cell::new(false),
            out_of_time: AtomicBool::new(false),
        });
        let place = Rc::as_ptr(&limits).cast_mut().cast();
        // SAFETY: this outlives the state's use of it, by the caller.
        unsafe { ffi::lua_setallocf(state, allocate, place) };
        limits
    }

    /// Gives the state its own allocator back.
    ///
    /// # Safety
    /// The state that this was installed in lives.
    pub unsafe fn release(&self) {
        // SAFETY: by the caller; these are what was there before.
        unsafe { ffi::lua_setallocf(self.state, self.allocator, self.owner) };
    }

    pub fn put_in_force(&self, is_in_force: bool) {
        self.in_force.set(is_in_force);
    }

    fn may_grow(&self, by: usize) -> bool {
        let after = self.used.get().saturating_add(by);
        if !self.in_force.get() || after <= LOOKED_AT_BYTES {
            return true;
        }
        if !self.memory_hook.replace(true) {
            // SAFETY: LuaJIT allows this at any time, also from a signal handler (lj_record.c), and so within
            // an allocation.
            unsafe { ffi::lua_sethook(self.state, Some(out_of_memory), ffi::LUA_MASKCOUNT, 1) };
        }
        after <= REFUSED_BYTES
    }
}

/// As `lua_Alloc` has it.
unsafe extern "C" fn allocate(
    place: *mut c_void,
    block: *mut c_void,
    before: usize,
    after: usize,
) -> *mut c_void {
    // SAFETY: `install` gave Lua this pointer, and it lives until `release`.
    let limits = unsafe { &*place.cast::<Limits>() };
    let before_here = if block.is_null() { 0 } else { before };
    if after > before_here && !limits.may_grow(after - before_here) {
        return std::ptr::null_mut();
    }
    // SAFETY: the allocator that was there before, with its own argument and Lua's.
    let got = unsafe { (limits.allocator)(limits.owner, block, before, after) };
    if after == 0 || !got.is_null() {
        // What was there before `install` is given back without having been counted.
        limits.used.set((limits.used.get() + after).saturating_sub(before_here));
    }
    got
}

/// The limits of the state that a hook is called in.
unsafe fn of_state<'a>(state: *mut ffi::lua_State) -> &'a Limits {
    let mut place = std::ptr::null_mut();
    // SAFETY: a hook is called by a state that lives, and only states with limits have these hooks.
    unsafe {
        ffi::lua_getallocf(state, &raw mut place);
        &*place.cast::<Limits>()
    }
}

/// Too much memory is in use, unless a part of it is garbage.
unsafe extern "C-unwind" fn out_of_memory(state: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    // SAFETY: see `of_state`.
    let limits = unsafe { of_state(state) };
    // SAFETY: a hook may call Lua.
    unsafe { ffi::lua_gc(state, ffi::LUA_GCCOLLECT, 0) };
    if limits.used.get() > MOST_BYTES {
        // SAFETY: as above; nothing here has a destructor.
        unsafe { raise(state, c"the script keeps more than 64 MiB of memory") }
    }
    limits.memory_hook.set(false);
    if !limits.out_of_time.load(Ordering::Acquire) {
        // SAFETY: as above.
        unsafe { ffi::lua_sethook(state, None, 0, 0) };
    }
}

/// A call goes on for too long.
pub unsafe extern "C-unwind" fn out_of_time(state: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    // SAFETY: a hook may raise an error; nothing here has a destructor.
    unsafe { raise(state, c"the script took more than 1 s for one call") }
}

/// Raises an error at the line of the script that runs. The hook stays, so that whoever catches it gets it
/// again at the next instruction, up to the end of the call.
unsafe fn raise(state: *mut ffi::lua_State, what: &CStr) -> ! {
    // SAFETY: a hook is called while a function runs. The message is copied by Lua; `short_src` ends with a
    // zero.
    unsafe {
        match place::of_script(state) {
            Some(at) => {
                let (name, line) = (&raw const at.short_src, at.currentline);
                ffi::lua_pushfstring(state, c"%s:%d: %s".as_ptr(), name, line, what.as_ptr());
            }
            None => {
                ffi::lua_pushstring(state, what.as_ptr());
            }
        }
        ffi::lua_error(state)
    }
}

/// How often a hook was called that counts.
pub static COUNTED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// Counts its calls.
pub unsafe extern "C-unwind" fn count(_: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    COUNTED.fetch_add(1, Ordering::Relaxed);
}
