use super::*;

const PLACE: Place = Place { queue: 0, queues: 1, seed: 7 };

fn load(text: &str) -> Result<Script, ScriptError> {
    Script::load("burst.lua", text, 1_514, &PLACE)
}

fn loaded(text: &str) -> Script {
    load(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Frames of 100 bytes, all zeros.
fn with_frames(script: &mut Script, count: usize) {
    for index in 0..count {
        let room = script.room_mut();
        room.room_mut(index)[..100].fill(0);
        room.set_length(index, 100);
        room.describe(index, 1_000 + index as u64, index as f64 * 1_500.0, 3);
    }
}

fn failure(text: &str) -> String {
    let mut script = match load(text) {
        Ok(script) => script,
        Err(error) => return error.to_string(),
    };
    with_frames(&mut script, MOST);
    script.call(MOST).expect_err(text).to_string()
}

/// What `text`, a piece of a function, leaves in the first frame.
fn done(text: &str) -> Vec<u8> {
    let mut script = loaded(&format!("function burst(b) {text} end"));
    with_frames(&mut script, 2);
    script.call(2).unwrap_or_else(|error| panic!("{error}"));
    script.room().frame(0).to_vec()
}

use crate::room::MOST;

#[test]
fn numbers_are_written_and_read_big_endian_at_any_place() {
    let frame = done(
        "b:set8(1, 0, 0x1ff) b:set16(1, 1, 0x12345) b:set32(1, 3, 0x89abcdef) b:set64(1, 7, 0x0123456789abcdefULL) \
         b:set64(1, 15, 5) b:set(1, 23, 'text') b:set16(1, 27, -2) \
         assert(b:get8(1, 0) == 0xff and b:get16(1, 1) == 0x2345 and b:get32(1, 3) == 0x89abcdef) \
         assert(b:get64(1, 7) == 0x0123456789abcdefULL and b:get(1, 23, 4) == 'text') \
         assert(b:get(1, 100, 0) == '') \
         assert(b:checksum(1, 0, 3) == 0xffff - (0xff23 + 0x4500 - 0xffff))",
    );
    let expected = [
        0xff, 0x23, 0x45, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0, 0, 0, 0,
        0, 0, 0, 5, b't', b'e', b'x', b't', 0xff, 0xfe,
    ];
    assert_eq!(frame[..expected.len()], expected);
}

#[test]
fn a_script_knows_what_it_was_given_and_what_it_did_is_known() {
    let mut script = loaded(
        "function burst(b) assert(b.count == 3 and b:seq(2) == 1001 and b:due(3) == 3000 and b:stream(1) == 3) \
         assert(run.queue == 0 and run.queues == 1 and run.seed == 7 and b:size(1) == 104) \
         b:set8(1, 99, 1) b:set_size(2, 1518) b:as_is(2) assert(b:get8(2, 1513) == 0) b:set_size(3, 64) end",
    );
    with_frames(&mut script, 3);
    script.call(3).unwrap();
    let written = |index| {
        let written = script.room().written(index);
        (written.is_touched, written.is_resized, written.is_as_is, script.room().frame(index).len())
    };
    assert_eq!(written(0), (true, false, false, 100));
    assert_eq!(written(1), (false, true, true, 1_514));
    assert_eq!(written(2), (false, true, false, 60));
}

#[test]
fn lengths_that_are_fixed_stay() {
    let mut script =
        loaded("function burst(b) b:set_size(1, 104)\nif b:seq(1) > 1000 then b:set_size(1, 105) end end");
    script.room_mut().fix_lengths();
    with_frames(&mut script, 1);
    script.call(1).unwrap();
    script.room_mut().describe(0, 1_001, 0.0, 0);
    let said = script.call(1).unwrap_err().to_string();
    assert!(said.starts_with("burst.lua:2: set_size needs --rate in frames per second"), "{said}");
}

#[test]
fn state_stays_between_calls() {
    let mut script =
        loaded("local n = 0 function burst(b) for i = 1, b.count do n = n + 1 b:set32(i, 0, n) end end");
    for call in 0..200_u32 {
        with_frames(&mut script, MOST);
        script.call(MOST).unwrap();
        let last = script.room().frame(MOST - 1)[..4].try_into().unwrap();
        assert_eq!(u32::from_be_bytes(last), (call + 1) * MOST as u32);
    }
}

#[test]
fn nothing_outside_of_a_frame_is_reached() {
    // What stands for a frame, for an offset, and for a width: none leads out, compiled or not.
    let odd = [
        "0",
        "65",
        "-1",
        "1.5",
        "0/0",
        "1/0",
        "-1/0",
        "2^31",
        "2^32 + 1",
        "2^53",
        "nil",
        "true",
        "'1'",
        "{}",
        "b",
        "1LL",
        "1ULL",
        "1i",
        "setmetatable({}, {__lt = function() return false end, __add = function(a, c) return c end})",
    ];
    for value in odd {
        for call in [
            format!("b:set8({value}, 0, 1)"),
            format!("b:get32({value}, 0)"),
            format!("b:set_size({value}, 100)"),
            format!("b:seq({value})"),
            format!("b:as_is({value})"),
        ] {
            let text = failure(&format!("function burst(b)\n{call} end"));
            assert!(text.starts_with("burst.lua:2: the burst has frames 1 to 64, not "), "{call}: {text}");
        }
    }
    for at in ["97", "-1", "0.5", "1e9", "2^32", "0/0", "'0'", "{}", "0LL"] {
        for call in
            [format!("b:set32(1, {at}, 1)"), format!("b:get32(1, {at})"), format!("b:get(1, {at}, 4)")]
        {
            let text = failure(&format!("function burst(b)\n{call} end"));
            assert!(
                text.starts_with("burst.lua:2: 4 byte(s) at ") && text.contains("bytes 0 to 99"),
                "{call}: {text}"
            );
        }
    }
    for call in [
        "b:get(1, 0, -1)",
        "b:get(1, 0, 2^31)",
        "b:checksum(1, 0, 0/0)",
        "b:set8(1, 0, {})",
        "b:set(1, 0, {})",
    ] {
        let text = failure(&format!("function burst(b)\n{call} end"));
        assert!(text.starts_with("burst.lua:2: "), "{call}: {text}");
    }
    for size in ["63", "1519", "64.5", "{}", "0/0"] {
        let text = failure(&format!("function burst(b)\nb:set_size(1, {size}) end"));
        assert!(text.starts_with("burst.lua:2: a frame size is 64 to 1518 here"), "{text}");
    }
    // Also where a loop is compiled that was right up to then.
    let late = "function burst(b)\nlocal n = 0\nfor i = 0, 100000 do n = n + b:get8(1, i % 100 + (i > 99990 and 100 or 0))\nend end";
    assert!(failure(late).starts_with("burst.lua:3: 1 byte(s) at "), "{}", failure(late));
}

#[test]
fn a_script_has_nothing_but_frames() {
    for name in [
        "io",
        "os",
        "package",
        "debug",
        "ffi",
        "jit",
        "require",
        "load",
        "loadstring",
        "loadfile",
        "dofile",
        "module",
        "getfenv",
        "setfenv",
        "newproxy",
        "collectgarbage",
        "gcinfo",
        "print",
        "xpcall",
        "string.dump",
        "string.find",
        "string.match",
        "string.gmatch",
        "string.gsub",
        "_G.io",
        "_G._G.ffi",
        "string.gsub",
        "thread",
        "table.foreach",
        "getmetatable('').__index",
        "('').gsub",
        "('').dump",
    ] {
        assert_eq!(
            failure(&format!("function burst(b) assert({name} == nil) error('none', 0) end")),
            "burst.lua:1: none",
            "{name}"
        );
    }
    for escape in [
        "getmetatable('').__index.dump()",
        "setmetatable('', {})",
        "getmetatable(5ULL).__index()",
        "(1i)[0] = 5",
        "(5ULL)[0] = 5",
        "b.set16.x = 1",
        "coroutine.yield()",
    ] {
        let text = failure(&format!("function burst(b)\n{escape} end"));
        assert!(text.starts_with("burst.lua:2: ") || text.contains("yield"), "{escape}: {text}");
    }
    // Bytecode, which is not checked when it is read.
    let bytecode = failure("\x1bLJ\x02\x02burst");
    assert!(bytecode.contains("binary") || bytecode.contains("text"), "{bytecode}");
}

#[test]
fn errors_have_their_line() {
    assert_eq!(failure("function burst(b)\n\nerror('so')\nend"), "burst.lua:3: so");
    assert!(
        failure("function burst(b)\nlocal x = nil + 1 end").starts_with("burst.lua:2: attempt to perform")
    );
    assert!(failure("x = = 5").starts_with("burst.lua:1: "));
    assert!(failure("\n\nnothing.there()").starts_with("burst.lua:3: attempt to index global 'nothing'"));
    assert!(failure("local x = 1").contains("has no function burst(b)"));
    assert!(failure("function burst(b)\nerror({})\nend").starts_with("burst.lua:1: burst raised an error"));
    assert!(failure("function burst(b)\nreturn burst(b), 1 end").starts_with("burst.lua:2: stack overflow"));
    for (text, said) in [
        ("table.sort({1, {}})", "attempt to compare "),
        ("table.sort(5)", "bad argument #1 to 'sort' (table expected, got number)"),
        ("string.format('%d', {})", "bad argument #2 to 'format' (number expected, got table)"),
        ("table.insert(5, 5)", "bad argument #1 to 'insert' (table expected, got number)"),
        ("coroutine.wrap(function() error('so', 0) end)()", "so"),
        ("coroutine.resume(5)", "bad argument #1 to 'resume' (coroutine expected)"),
        ("coroutine.yield()", "attempt to yield "),
        ("string.rep()", "bad argument #1 to 'rep'"),
    ] {
        let message = failure(&format!("function burst(b)\n{text}\nend"));
        assert!(message.starts_with(&format!("burst.lua:2: {said}")), "{text}: {message}");
    }
}

#[test]
fn a_long_name_is_shown_by_its_end() {
    let name = format!("{}-end.lua", "long".repeat(30));
    for text in ["\nerror('so')", "\ntable.sort(5)", "\nwhile true do end"] {
        let said = Script::load(&name, text, 1_514, &PLACE).err().map(|error| error.to_string()).unwrap();
        assert!(said.starts_with("...") && said.contains("-end.lua:2: "), "{said}");
        assert_eq!(said.matches(".lua:").count(), 1, "{said}");
    }
}

#[test]
fn what_does_not_end_is_ended_with_its_line() {
    let endless = [
        "function burst(b)\nwhile true do end end",
        "function burst(b)\nlocal x = 0 while true do x = x + 1 end end",
        "function burst(b)\nwhile true do b:set16(1, 0, b:get16(1, 0) + 1) end end",
        "function burst(b)\nwhile true do pcall(function() while true do end end) end end",
        "function burst(b)\ncoroutine.wrap(function() while true do end end)() end",
        "function burst(b)\nlocal function f() return f() end f() end",
        "function burst(b)\n::again:: goto again end",
        "function burst(b)\nfor i = 1, math.huge do local t = {i} end end",
        "\nwhile true do end",
    ];
    for text in endless {
        let said = failure(text);
        // A coroutine that is wrapped puts its place before that.
        let said = said.replacen("burst.lua:2: burst", "burst", 1);
        assert_eq!(said, "burst.lua:2: the script took more than 1 s for one call", "{text}");
    }
}

/// Loops of C look at no hook: what they are given is checked.
#[test]
fn no_function_goes_on_for_long_by_itself() {
    for (text, said) in [
        (
            "table.insert({}, -2147483648, 1)",
            "the position in table.insert must be at least 1, not -2147483648",
        ),
        (
            "table.insert({}, '-2147483648', 1)",
            "the position in table.insert must be at least 1, not -2147483648",
        ),
        ("table.insert({}, 0/0, 1)", "the position in table.insert must be at least 1, not "),
        ("table.insert({}, 2^40, 1)", "the position in table.insert must be at least 1, not 1099511627776"),
        ("unpack({}, -1e9, 1)", "too many results to unpack"),
        ("table.concat({}, '', -1e9, 1)", "invalid value (nil) at index -1000000000 in table for 'concat'"),
        (
            "local t = {} setmetatable(t, {__tostring = tostring}) tostring(t)",
            "the script took more than 1 s",
        ),
        (
            "local t = {} for n = 1, 5000 do t[n] = n % 7 end while true do table.sort(t) end",
            "the script took more",
        ),
        ("local t = {} for n = 1, 1e6 do t[n] = {} end table.sort(t, function() return true end)", ""),
        ("table.sort({3, 1, 2}, rawequal) error('sorted')", "sorted"),
        ("('').rep('', 2^31 - 1) string.rep('', '1e9') error('made')", "made"),
        ("table.remove({}, -1e9) error(table.maxn({[1e15] = 1}))", "1e+15"),
    ] {
        for text in [format!("function burst(b)\n{text} end"), format!("\n{text}")] {
            let message = failure(&text);
            assert!(message.starts_with(&format!("burst.lua:2: {said}")), "{text}: {message}");
        }
    }
    let fine = "local t = {} table.insert(t, 2) table.insert(t, 1, 1) table.insert(t, 3, 3) table.insert(t, '4', 4) \
        local s = {} for n = 1, 9999 do s[n] = n * 7919 % 10007 end table.sort(s) \
        for n = 2, #s do assert(s[n - 1] <= s[n]) end table.sort(s, function(a, c) return a > c end) \
        assert(s[1] >= s[2] and table.concat(t, ',') == '1,2,3,4' and ('ab'):rep(2) == 'abab')";
    done(fine);
}

/// Functions of C that call Lua again have a part of the thread's stack each.
#[test]
fn no_nesting_takes_all_of_the_stack() {
    for text in [
        "local m = {} setmetatable(m, {__tostring = function(x) return string.format('%s', x) end}) tostring(m)",
        "local m = {} setmetatable(m, {__tostring = function(x) return ('%s'):format(x) end}) string.format('%s', m)",
        "local function f() coroutine.wrap(f)() end f()",
        "local function f() error(select(2, coroutine.resume(coroutine.create(f))), 0) end f()",
        "local function f(a, c) table.sort({1, 2, 3}, f) return false end table.sort({1, 2, 3}, f)",
        "local m = {} m.__lt = function(a, c) table.sort({a, c}) return false end \
            table.sort({setmetatable({}, m), setmetatable({}, m)})",
        "local function f() local ok, e = pcall(coroutine.wrap(f)) error(e, 0) end f()",
        // A coroutine that was begun outside is as deep as the one that resumes it.
        "local all = {} for n = 1, 20000 do all[n] = coroutine.wrap(function() \
            pcall(coroutine.yield) all[n - 1]() end) all[n]() end all[0] = error all[20000]()",
    ] {
        for text in [format!("function burst(b)\n{text} end"), format!("\n{text}")] {
            let message = failure(&text);
            let said = "burst.lua:2: more than 100 coroutines, sorts and formats are nested";
            assert_eq!(message, said, "{text}");
        }
    }
    // What ended is no longer counted, also where it failed.
    done(
        "for n = 1, 1000 do pcall(table.sort, {1, {}}) pcall(string.format, '%d', {}) pcall(coroutine.wrap(error)) \
         coroutine.resume(coroutine.create(function() string.format('%d', {}) end)) end \
         local function f(n) if n == 0 then return 'end' end \
             return coroutine.wrap(function() return f(n - 1) end)() end \
         assert(f(90) == 'end' and f(90) == 'end') \
         local it = coroutine.wrap(function(a) for n = 1, 3 do assert(pcall(coroutine.yield, n + a)) end end) \
         assert(it(1) == 2 and it() == 3 and it() == 4 and it() == nil and not pcall(it)) \
         assert(select('#', coroutine.resume(coroutine.create(function(...) return ... end), nil, nil)) == 3)",
    );
}

#[test]
fn memory_without_end_is_refused_with_its_line() {
    for text in [
        "function burst(b)\nlocal t = {} for i = 1, math.huge do t[i] = {i} end end",
        "function burst(b)\nlocal s = 'x' while true do s = s .. s end end",
        "function burst(b)\nlocal t = {} while true do pcall(function() t[#t + 1] = ('x'):rep(1000) .. #t end) end end",
        "\nlocal t = {} while true do t[#t + 1] = {} end",
    ] {
        assert_eq!(failure(text), "burst.lua:2: the script keeps more than 64 MiB of memory", "{text}");
    }
    let rep = failure("function burst(b)\nlocal s = ('x'):rep(1e9) end");
    assert_eq!(rep, "burst.lua:2: string.rep would make more than 16 MiB");
    let at_once = failure(
        "function burst(b)\nlocal s = ('x'):rep(2^24) s = s..s..s..s..s..s..s..s..s..s..s..s..s..s..s..s..s..s end",
    );
    assert!(at_once.starts_with("burst.lua:1: this function asked for more than 256 MiB"), "{at_once}");
}

#[test]
fn garbage_is_no_memory() {
    let mut script = loaded("function burst(b) local s for i = 1, 200 do s = ('x'):rep(1e6) .. i end end");
    for _ in 0..5 {
        with_frames(&mut script, 1);
        script.call(1).unwrap();
    }
}

#[test]
fn random_numbers_follow_the_seed() {
    let drawn = |seed, queue| {
        let place = Place { queue, queues: 2, seed };
        let text = "function burst(b) b:set32(1, 0, math.random(2^31)) end";
        let mut script = Script::load("burst.lua", text, 1_514, &place).unwrap();
        with_frames(&mut script, 1);
        script.call(1).unwrap();
        script.room().frame(0)[..4].to_vec()
    };
    assert_eq!(drawn(1, 0), drawn(1, 0));
    assert_ne!(drawn(1, 0), drawn(2, 0));
    assert_ne!(drawn(1, 0), drawn(1, 1));
}

#[test]
fn a_script_may_move_to_another_thread_and_many_may_run() {
    let scripts: Vec<Script> =
        (0..4).map(|_| loaded("local n = 0 function burst(b) n = n + 1 b:set32(1, 0, n) end")).collect();
    let threads: Vec<_> = scripts
        .into_iter()
        .map(|mut script| {
            std::thread::spawn(move || {
                for _ in 0..1_000 {
                    with_frames(&mut script, 1);
                    script.call(1).unwrap();
                }
                script.room().frame(0)[..4].to_vec()
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 1_000_u32.to_be_bytes());
    }
}

/// `.cargo/config.toml` was in force when LuaJIT was built.
#[test]
fn compiled_loops_look_for_hooks() {
    assert!(loaded("function burst(b) end").is_compiled());
}
