//! Where an error was raised: a message without a line, or with one of Tare's own Lua, gets the script's.

use crate::sandbox::PRELUDE_NAME;
use mlua::ffi;
use std::ffi::{CStr, c_int};

/// Functions of Tare's own, and of Lua's, that may be above one of the script.
const MOST_LEVELS: c_int = 1_000;

/// The function of the script that runs, or that called what runs.
///
/// # Safety
/// A function of this state runs.
pub unsafe fn of_script(state: *mut ffi::lua_State) -> Option<ffi::lua_Debug> {
    // SAFETY: Lua fills it in before it is read.
    let mut at: ffi::lua_Debug = unsafe { std::mem::zeroed() };
    for level in 0..MOST_LEVELS {
        // SAFETY: what runs may look at the stack; `at` is valid where 1 is returned.
        unsafe {
            if ffi::lua_getstack(state, level, &raw mut at) == 0 {
                return None;
            }
            if ffi::lua_getinfo(state, c"Sl".as_ptr(), &raw mut at) != 0 && *at.source == b'@' as _ {
                return Some(at);
            }
        }
    }
    None
}

/// Handles an error: from a message to the same with the line of the script that runs.
pub unsafe extern "C-unwind" fn put(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: Lua calls this with the error alone, and only text is read; the copies are Lua's before the next
    // value is pushed, and nothing here has a destructor.
    unsafe {
        if ffi::lua_type(state, 1) != ffi::LUA_TSTRING {
            return 1;
        }
        let Some(at) = of_script(state) else { return 1 };
        let text = CStr::from_ptr(ffi::lua_tolstring(state, 1, std::ptr::null_mut()));
        let name = CStr::from_ptr(&raw const at.short_src as *const _);
        if after_place(text.to_bytes(), name.to_bytes()).is_none() {
            let rest = after_place(text.to_bytes(), PRELUDE_NAME.as_bytes());
            let from = text.to_bytes().len() - rest.map_or(text.to_bytes().len(), <[u8]>::len);
            let rest = text.as_ptr().add(from);
            ffi::lua_pushfstring(state, c"%s:%d: %s".as_ptr(), name.as_ptr(), at.currentline, rest);
        }
        1
    }
}

/// The same where nothing could be called to handle it: then the line is that in which the function begins.
pub fn at_least(text: &str, name: &str, line: i32) -> String {
    let bytes = text.as_bytes();
    // Of a long name Lua shows the end.
    let shown = text.strip_prefix("...").and_then(|rest| rest.split_once(':'));
    let is_short = shown.is_some_and(|(end, _)| !end.is_empty() && name.ends_with(end));
    if is_short || after_place(bytes, name.as_bytes()).is_some() {
        return text.to_owned();
    }
    let rest = after_place(bytes, PRELUDE_NAME.as_bytes()).map_or(bytes, |rest| rest);
    format!("{name}:{line}: {}", String::from_utf8_lossy(rest))
}

/// What stands behind `name:5: `.
fn after_place<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let rest = text.strip_prefix(name)?.strip_prefix(b":")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 { None } else { rest[digits..].strip_prefix(b": ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_has_the_place_of_the_script() {
        let placed = |text| at_least(text, "burst.lua", 3);
        assert_eq!(placed("burst.lua:7: so"), "burst.lua:7: so");
        assert_eq!(placed("stack overflow"), "burst.lua:3: stack overflow");
        assert_eq!(placed("[tare]:250: bad argument"), "burst.lua:3: bad argument");
        assert_eq!(placed("burst.lua: so"), "burst.lua:3: burst.lua: so");
    }
}
