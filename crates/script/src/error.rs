//! Why a script cannot go on.

use thiserror::Error;

/// What went wrong, with file and line as Lua has them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScriptError {
    /// Lua's own message: "burst.lua:12: attempt to index a nil value".
    #[error("{0}")]
    Raised(String),
    /// It is no Lua, or has no function `burst`.
    #[error("{name}: {problem}")]
    Unfit { name: String, problem: String },
    /// One allocation was beyond all limits. Lua does not tell the line of that one.
    #[error("{name}:{line}: this function asked for more than {most_mib} MiB of memory at once")]
    Memory { name: String, line: i32, most_mib: usize },
    /// LuaJIT itself could not be set up.
    #[error("LuaJIT cannot be started: {0}")]
    Engine(String),
}
