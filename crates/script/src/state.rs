//! A script that was read, and the calls of its `burst`.

use crate::ScriptError;
use crate::limits::{Limits, REFUSED_BYTES};
use crate::place;
use crate::room::Room;
use crate::sandbox::Sandbox;
use crate::watchdog::Watchdog;
use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, Table, Value, ffi};
use std::ffi::{CStr, c_int};
use std::rc::Rc;

/// The function that a script has to have.
const NAME: &str = "burst";

/// Which of several threads a script runs in, and what its random numbers begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub queue: u32,
    pub queues: u32,
    pub seed: u64,
}

/// See the crate. It may move to the thread that calls it.
pub struct Script {
    /// Always there, but when it could not be started or this is being dropped.
    watchdog: Option<Watchdog>,
    lua: Option<Lua>,
    limits: Rc<Limits>,
    room: Room,
    state: *mut ffi::lua_State,
    /// Where the registry has the function to be called.
    function: c_int,
    /// The same of what puts the line before a message.
    placing: c_int,
    name: String,
    /// The line in which `burst` begins.
    line: i32,
    is_compiled: bool,
}

// SAFETY: this has the only handles of the Lua state, which belongs to no thread; `Limits` and `Room` are
// reached through `&mut` alone, but for what `Watchdog` says of its own thread.
unsafe impl Send for Script {}

impl Script {
    /// Runs `text` once, so that it has its function `burst`. `name` stands before the lines of its messages;
    /// frames can become as long as `longest`, without FCS.
    ///
    /// # Errors
    /// What is wrong with the script, with its line.
    pub fn load(name: &str, text: &str, longest: usize, place: &Place) -> Result<Self, ScriptError> {
        let room = Room::new(longest);
        let Sandbox { lua, globals, calling, is_compiled } = Sandbox::new(&room, place)?;
        let engine = |error: mlua::Error| ScriptError::Engine(error.to_string());
        // SAFETY: the state is used within the life of `lua` alone.
        let state = unsafe {
            lua.exec_raw::<mlua::LightUserData>((), |state| ffi::lua_pushlightuserdata(state, state.cast()))
        };
        let state: *mut ffi::lua_State = state.map_err(engine)?.0.cast();
        // SAFETY: `drop` releases it before the state is closed.
        let limits = unsafe { Limits::install(state) };
        // SAFETY: `limits` and the state are dropped after the watchdog.
        let watchdog = unsafe { Watchdog::start(state, Rc::as_ptr(&limits)) };
        let (name, mut refused) = (printable(name), None);
        let watchdog = watchdog.map_err(|error| refused = Some(ScriptError::Engine(error.to_string()))).ok();
        let mut this = Self {
            watchdog,
            lua: Some(lua),
            limits,
            room,
            state,
            function: 0,
            placing: 0,
            name,
            line: 1,
            is_compiled,
        };
        refused.map_or(Ok(()), Err)?;
        // SAFETY: it takes one argument and returns one value.
        let placing = unsafe { this.lua().create_c_function(place::put) }.map_err(engine)?;
        this.placing = this.keep(placing).map_err(engine)?;
        let chunk = this.compile(text, globals.clone())?;
        let reference = this.keep(chunk).map_err(engine)?;
        this.call_kept(reference)?;
        let burst = this.function_of(&globals)?;
        this.line = burst.info().line_defined.map_or(1, |line| line as i32);
        let call = calling.call::<Function>(burst).map_err(engine)?;
        this.function = this.keep(call).map_err(engine)?;
        Ok(this)
    }

    fn lua(&self) -> &Lua {
        self.lua.as_ref().expect("it is there until it is dropped")
    }

    fn compile(&self, text: &str, globals: Table) -> Result<Function, ScriptError> {
        let chunk = self.lua().load(text).set_name(format!("@{}", self.name)).set_mode(ChunkMode::Text);
        chunk.set_environment(globals).into_function().map_err(|error| match error {
            mlua::Error::SyntaxError { message, .. } => ScriptError::Raised(message),
            other => ScriptError::Unfit { name: self.name.clone(), problem: other.to_string() },
        })
    }

    fn function_of(&self, globals: &Table) -> Result<Function, ScriptError> {
        match globals.raw_get(NAME) {
            Ok(Value::Function(function)) => Ok(function),
            _ => {
                let problem =
                    "has no function burst(b): write one, which is called with each burst of frames";
                Err(ScriptError::Unfit { name: self.name.clone(), problem: problem.to_owned() })
            }
        }
    }

    /// Keeps a function where a call finds it without mlua.
    fn keep(&self, function: Function) -> mlua::Result<c_int> {
        // SAFETY: the function is on the stack, and the reference takes its place.
        let reference = unsafe {
            self.lua().exec_raw::<i64>(function, |state| {
                let reference = ffi::luaL_ref(state, ffi::LUA_REGISTRYINDEX);
                ffi::lua_pushinteger(state, reference.into());
            })
        };
        reference.map(|reference| reference as c_int)
    }

    /// Whether LuaJIT compiles the script; if not, it was built without checks for hooks, and only interprets.
    pub const fn is_compiled(&self) -> bool {
        self.is_compiled
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The frames of the last call, and of the next.
    pub const fn room(&self) -> &Room {
        &self.room
    }

    pub const fn room_mut(&mut self) -> &mut Room {
        &mut self.room
    }

    /// Lets the script write the first `count` frames of the room.
    ///
    /// # Errors
    /// What it raised, with its line. Nothing is to be called after that.
    pub fn call(&mut self, count: usize) -> Result<(), ScriptError> {
        self.room.set_count(count);
        self.call_kept(self.function)
    }

    fn call_kept(&mut self, reference: c_int) -> Result<(), ScriptError> {
        self.watchdog.iter().for_each(Watchdog::begin);
        self.limits.put_in_force(true);
        // SAFETY: the state is this one's alone, the references are of a function that handles errors and of
        // one without arguments, and errors end in this call.
        let status = unsafe {
            ffi::lua_rawgeti_(self.state, ffi::LUA_REGISTRYINDEX, self.placing);
            ffi::lua_rawgeti_(self.state, ffi::LUA_REGISTRYINDEX, reference);
            let status = ffi::lua_pcall(self.state, 0, 0, -2);
            if status == ffi::LUA_OK {
                ffi::lua_settop(self.state, -2);
            }
            status
        };
        self.limits.put_in_force(false);
        self.watchdog.iter().for_each(Watchdog::end);
        if status == ffi::LUA_OK { Ok(()) } else { Err(self.raised(status)) }
    }

    #[cold]
    fn raised(&mut self, status: c_int) -> ScriptError {
        if status == ffi::LUA_ERRMEM {
            // SAFETY: the message of the failed call is on the stack.
            unsafe { ffi::lua_settop(self.state, 0) };
            let most_mib = REFUSED_BYTES >> 20;
            return ScriptError::Memory { name: self.name.clone(), line: self.line, most_mib };
        }
        // SAFETY: as above; only of a string is the text asked for, which changes nothing.
        let text = unsafe {
            let kind = ffi::lua_type(self.state, -1);
            let text = match kind {
                ffi::LUA_TSTRING | ffi::LUA_TNUMBER => {
                    ffi::lua_tolstring(self.state, -1, std::ptr::null_mut())
                }
                _ => std::ptr::null(),
            };
            let text = (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned());
            ffi::lua_settop(self.state, 0);
            text
        };
        let silent = || format!("{}:{}: burst raised an error that is not text", self.name, self.line);
        let placed = |text: String| printable(&place::at_least(&text, &self.name, self.line));
        ScriptError::Raised(text.map_or_else(silent, placed))
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.watchdog = None;
        // SAFETY: the state lives until `lua` is dropped.
        unsafe { self.limits.release() };
        self.lua = None;
    }
}

/// On one line, and not longer than a message may be.
fn printable(text: &str) -> String {
    const MOST: usize = 400;
    text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests;
