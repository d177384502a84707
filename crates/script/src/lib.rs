//! A user's Lua that writes frames, a burst at a time, and can do nothing else.
//!
//! ```text
//!            frames, numbers, due times              prelude.lua: every access is checked
//!   engine ─────────► Room ─────────────► LuaJIT ──► burst(b) ── b:set16(i, 36, port) ─► Room ─────► engine
//!                                           ▲
//!                                 Limits: memory, and a Watchdog for time
//! ```
//!
//! - **Nothing outside a frame.** The script has no `ffi`, `io`, `os`, `package`, `debug` or `load`. The
//!   methods of a burst are Lua over `ffi` that is theirs alone; LuaJIT compiles them into the script's loops.
//! - **No end of time.** A thread sees that a call goes on for too long and sets LuaJIT's hook, which raises an
//!   error at the line that runs. LuaJIT is built so that compiled loops look for it (`.cargo/config.toml`);
//!   where it was not, nothing is compiled.
//! - **No end of memory.** The allocator sets the same hook, and refuses what is far beyond the limit.

mod error;
mod limits;
mod place;
mod room;
mod sandbox;
mod state;
mod watchdog;

pub use error::ScriptError;
pub use room::{MOST, Room};
pub use state::{Place, Script};
