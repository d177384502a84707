//! A LuaJIT with the libraries that Tare needs, and a script's surroundings, which have almost none of them.

use crate::limits;
use crate::{Place, Room, ScriptError};
use mlua::chunk::ChunkMode;
use mlua::{Function, LightUserData, Lua, LuaOptions, StdLib, Table, Value, ffi};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

const PRELUDE: &str = include_str!("prelude.lua");
/// What stands before lines of the prelude in messages; no file of a user is called so.
pub const PRELUDE_NAME: &str = "[tare]";
/// A loop that LuaJIT compiles after a few dozen rounds.
const LOOP: &str = "local n = ... local x = 0 for i = 1, n do x = x + i end return x";

fn failed(error: &mlua::Error) -> ScriptError {
    ScriptError::Engine(error.to_string())
}

/// The functions of a script, before it has run, and what makes a call of its `burst`.
pub struct Sandbox {
    pub lua: Lua,
    /// The globals of the script.
    pub globals: Table,
    /// From a function of the script to one without arguments, which gives it the burst.
    pub calling: Function,
    pub is_compiled: bool,
}

impl Sandbox {
    pub fn new(room: &Room, place: &Place) -> Result<Self, ScriptError> {
        let libraries =
            StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::BIT | StdLib::JIT | StdLib::FFI;
        // SAFETY: of these, only `ffi` reaches memory, and only the prelude has it.
        let lua = unsafe { Lua::unsafe_new_with(libraries, LuaOptions::new()) };
        let is_compiled = *CHECKS_HOOKS.get_or_init(|| checks_hooks(&lua).unwrap_or(false));
        if !is_compiled {
            switch_off(&lua).map_err(|error| failed(&error))?;
        }
        let (globals, calling) = surroundings(&lua, room, place).map_err(|error| failed(&error))?;
        Ok(Self { lua, globals, calling, is_compiled })
    }
}

fn surroundings(lua: &Lua, room: &Room, place: &Place) -> mlua::Result<(Table, Function)> {
    let all = lua.globals();
    let (ffi, bit): (Value, Value) = (library(lua, "ffi")?, all.get("bit")?);
    let prelude = lua.load(PRELUDE).set_name(format!("={PRELUDE_NAME}")).set_mode(ChunkMode::Text);
    let place = (LightUserData(room.pointer()), place.queue, place.queues, place.seed);
    let (place, queue, queues, seed) = place;
    let made = prelude.call((ffi, bit, place, queue, queues, seed as f64))?;
    // The prelude has what it needs of them.
    all.clear()?;
    Ok(made)
}

/// A library that is no global: what `require` would find.
fn library(lua: &Lua, name: &str) -> mlua::Result<Value> {
    match lua.globals().get(name)? {
        Value::Nil => lua.named_registry_value::<Table>("_LOADED")?.get(name),
        found => Ok(found),
    }
}

static CHECKS_HOOKS: OnceLock<bool> = OnceLock::new();

/// Whether compiled loops look for hooks: LuaJIT was built with LUAJIT_ENABLE_CHECKHOOK. A loop that is
/// compiled already runs with a hook every 100 instructions: one that does not look leaves it at a few calls.
fn checks_hooks(lua: &Lua) -> mlua::Result<bool> {
    const ROUNDS: u32 = 20_000;
    let looped = lua.load(LOOP).into_function()?;
    looped.call::<f64>(ROUNDS)?;
    let before = limits::COUNTED.load(Ordering::Relaxed);
    set_hook(lua, Some(limits::count))?;
    let done = looped.call::<f64>(ROUNDS);
    set_hook(lua, None)?;
    done?;
    Ok(limits::COUNTED.load(Ordering::Relaxed) - before >= ROUNDS / 100)
}

fn set_hook(lua: &Lua, hook: Option<ffi::lua_Hook>) -> mlua::Result<()> {
    let mask = if hook.is_some() { ffi::LUA_MASKCOUNT } else { 0 };
    // SAFETY: a hook may be set at any time, and this one touches nothing of the state.
    unsafe {
        lua.exec_raw::<()>((), |state| {
            ffi::lua_sethook(state, hook, mask, 100);
        })
    }
}

/// Nothing is compiled from now on.
fn switch_off(lua: &Lua) -> mlua::Result<()> {
    let Value::Table(jit) = library(lua, "jit")? else { return Ok(()) };
    jit.get::<Function>("off")?.call(())
}
