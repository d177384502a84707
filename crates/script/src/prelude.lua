-- What a script sees of Tare: the methods of a burst, and the parts of Lua that reach nothing else. This chunk
-- alone has ffi. Whatever a script gives is made a number by tobit before it meets a pointer, so that no
-- metamethod and no cdata of a script ever does.
local ffi, bit, place, queue, queues, seed = ...

local tobit, band, bor, bnot = bit.tobit, bit.band, bit.bor, bit.bnot
local lshift, rshift = bit.lshift, bit.rshift
local copy, fill, bytes_of, cast = ffi.copy, ffi.fill, ffi.string, ffi.cast
local type, error, tonumber = type, error, tonumber
local format, select, tostring = string.format, select, tostring
local pcall, create, resume = pcall, coroutine.create, coroutine.resume
local insert, rep, sort = table.insert, string.rep, table.sort
local FCS, TOUCHED, RESIZED, AS_IS = 4, 1, 2, 4
local MOST_TEXT = 16 * 2 ^ 20
-- Of a longer table every comparison is a call of Lua, in which hooks are looked at.
local MOST_SORTED_AT_ONCE = 4096
-- Coroutines, sorts and formats within each other at most: each has its part of the thread's own stack.
local MOST_DEPTH = 100

ffi.cdef [[
typedef struct {
    uint32_t count, least, most, stride, fixed;
    uint8_t *bytes;
    uint32_t *lengths;
    uint8_t *flags;
    double *numbers, *dues;
    uint32_t *streams;
} tare_room;
]]
local room = cast("tare_room *", place)
local bytes, lengths, flags = room.bytes, room.lengths, room.flags
local numbers, dues, streams = room.numbers, room.dues, room.streams
local stride, least, most = room.stride, room.least, room.most
local u64 = ffi.typeof("uint64_t")

local function shown(value)
    return type(value) == "number" and format("%.14g", value) or "a " .. type(value)
end

-- From the number of a frame to where it stands.
local function frame(i)
    local k = type(i) == "number" and tobit(i) or 0
    if k ~= i or k < 1 or k > room.count then
        error(format("the burst has frames 1 to %d, not %s", room.count, shown(i)), 3)
    end
    return k - 1
end

-- Where `width` bytes from `at` on stand, all within frame k.
local function within(k, at, width)
    local o = type(at) == "number" and tobit(at) or -1
    if o ~= at or o < 0 or o + width > lengths[k] then
        local text = "%d byte(s) at %s are not within the frame, which has bytes 0 to %d"
        error(format(text, width, shown(at), lengths[k] - 1), 3)
    end
    return k * stride + o
end

local function whole(value)
    if type(value) ~= "number" then
        error("a value is a number, not " .. shown(value), 3)
    end
    return tobit(value)
end

local function length_of(value)
    local n = type(value) == "number" and tobit(value) or -1
    if n ~= value or n < 0 then
        error("a length is 0 or more bytes, not " .. shown(value), 3)
    end
    return n
end

local burst = { count = 0 }

function burst.get8(_, i, at)
    return bytes[within(frame(i), at, 1)]
end

function burst.get16(_, i, at)
    local p = within(frame(i), at, 2)
    return bytes[p] * 0x100 + bytes[p + 1]
end

function burst.get32(_, i, at)
    local p = within(frame(i), at, 4)
    return bytes[p] * 0x1000000 + bytes[p + 1] * 0x10000 + bytes[p + 2] * 0x100 + bytes[p + 3]
end

function burst.get64(_, i, at)
    local p = within(frame(i), at, 8)
    local high = bytes[p] * 0x1000000 + bytes[p + 1] * 0x10000 + bytes[p + 2] * 0x100 + bytes[p + 3]
    local low = bytes[p + 4] * 0x1000000 + bytes[p + 5] * 0x10000 + bytes[p + 6] * 0x100 + bytes[p + 7]
    return high * 0x100000000ULL + low
end

function burst.set8(_, i, at, value)
    local k, n = frame(i), whole(value)
    bytes[within(k, at, 1)] = band(n, 255)
    flags[k] = bor(flags[k], TOUCHED)
end

function burst.set16(_, i, at, value)
    local k, n = frame(i), whole(value)
    local p = within(k, at, 2)
    bytes[p] = band(rshift(n, 8), 255)
    bytes[p + 1] = band(n, 255)
    flags[k] = bor(flags[k], TOUCHED)
end

local function put32(p, n)
    bytes[p] = rshift(n, 24)
    bytes[p + 1] = band(rshift(n, 16), 255)
    bytes[p + 2] = band(rshift(n, 8), 255)
    bytes[p + 3] = band(n, 255)
end

function burst.set32(_, i, at, value)
    local k, n = frame(i), whole(value)
    put32(within(k, at, 4), n)
    flags[k] = bor(flags[k], TOUCHED)
end

function burst.set64(_, i, at, value)
    local kind = type(value)
    if kind ~= "number" and kind ~= "cdata" then
        error("a 64-bit value is a number such as 5 or 0xffULL, not a " .. kind, 2)
    end
    local k, n = frame(i), u64(value)
    local p = within(k, at, 8)
    put32(p, tobit(tonumber(rshift(n, 32))))
    put32(p + 4, tobit(tonumber(band(n, 0xffffffffULL))))
    flags[k] = bor(flags[k], TOUCHED)
end

function burst.get(_, i, at, length)
    local n = length_of(length)
    return bytes_of(bytes + within(frame(i), at, n), n)
end

function burst.set(_, i, at, text)
    if type(text) ~= "string" then
        error("bytes are a string, not a " .. type(text), 2)
    end
    local k = frame(i)
    copy(bytes + within(k, at, #text), text, #text)
    flags[k] = bor(flags[k], TOUCHED)
end

function burst.size(_, i)
    return lengths[frame(i)] + FCS
end

function burst.set_size(_, i, size)
    local k, n = frame(i), type(size) == "number" and tobit(size) or -1
    if room.fixed ~= 0 and n ~= lengths[k] + FCS then
        error("set_size needs --rate in frames per second: bits per second are those of the plan's sizes", 2)
    end
    if n ~= size or n < least + FCS or n > most + FCS then
        error(format("a frame size is %d to %d here, not %s", least + FCS, most + FCS, shown(size)), 2)
    end
    local before, after = lengths[k], n - FCS
    if after > before then
        fill(bytes + (k * stride + before), after - before)
    end
    lengths[k] = after
    flags[k] = bor(flags[k], RESIZED)
end

function burst.seq(_, i)
    return numbers[frame(i)]
end

function burst.due(_, i)
    return dues[frame(i)]
end

function burst.stream(_, i)
    return streams[frame(i)]
end

function burst.as_is(_, i)
    local k = frame(i)
    flags[k] = bor(flags[k], AS_IS)
end

-- The Internet checksum (RFC 1071) of `length` bytes.
function burst.checksum(_, i, at, length)
    local n = length_of(length)
    local p, sum = within(frame(i), at, n), 0
    for o = p, p + n - 2, 2 do
        sum = sum + bytes[o] * 0x100 + bytes[o + 1]
    end
    if n % 2 == 1 then
        sum = sum + bytes[p + n - 1] * 0x100
    end
    while sum > 0xffff do
        sum = band(sum, 0xffff) + rshift(sum, 16)
    end
    return band(bnot(sum), 0xffff)
end

-- The names of `from` that are here, so that what LuaJIT adds is not.
local function only(from, names)
    local to = {}
    for name in names:gmatch("%S+") do
        to[name] = from[name]
    end
    return to
end

-- No xpcall: where a hook raises the error, no hook is looked at in the function that handles it.
local words = "assert error getmetatable ipairs next pairs pcall rawequal rawget rawset select setmetatable "
local env = only(_G, words .. "tonumber tostring type unpack")
env._G = env
env.bit = only(bit, "arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex")
env.coroutine = only(coroutine, "create resume running status wrap yield")
env.table = only(table, "concat insert maxn remove sort")
env.math = only(math, "abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max "
    .. "min modf pi pow rad random randomseed sin sinh sqrt tan tanh")
-- Patterns are left out: a bad one takes time without end in one call, in which no hook is looked at.
env.string = only(string, "byte char format len lower reverse sub upper")
env.run = { queue = queue, queues = queues, seed = seed }

-- Of the coroutine that runs: how deep it was resumed, and how many sorts and formats go on in it. No coroutine
-- yields while one of these does.
local outer, inner = 0, 0

local function check_depth()
    if outer + inner >= MOST_DEPTH then
        error("more than 100 coroutines, sorts and formats are nested", 3)
    end
end

local function caught(before, ...)
    inner = before
    return ...
end

function env.pcall(...)
    return caught(inner, pcall(...))
end

local function resumed(before_outer, before_inner, ...)
    outer, inner = before_outer, before_inner
    return ...
end

function env.coroutine.resume(...)
    check_depth()
    local before_outer, before_inner = outer, inner
    outer, inner = outer + inner + 1, 0
    return resumed(before_outer, before_inner, resume(...))
end

local function unwrapped(is_fine, ...)
    if not is_fine then
        error((...), 0)
    end
    return ...
end

function env.coroutine.wrap(f)
    local thread = create(f)
    return function(...)
        check_depth()
        local before_outer, before_inner = outer, inner
        outer, inner = outer + inner + 1, 0
        return unwrapped(resumed(before_outer, before_inner, resume(thread, ...)))
    end
end

function env.string.format(...)
    check_depth()
    inner = inner + 1
    local text = format(...)
    inner = inner - 1
    return text
end

local function is_less(a, b)
    return a < b
end

function env.table.sort(t, f)
    check_depth()
    local less = f
    if type(t) == "table" and #t > MOST_SORTED_AT_ONCE and (f == nil or type(f) == "function") then
        local given = f or is_less
        less = function(a, b)
            return given(a, b)
        end
    end
    inner = inner + 1
    sort(t, less)
    inner = inner - 1
end

-- As a function of Lua, so that one that is its own __tostring is ended.
function env.tostring(...)
    return tostring(...)
end

function env.table.insert(t, ...)
    if select("#", ...) > 1 and type(t) == "table" then
        local at = tonumber((...))
        if at and not (at >= 1 and at < 2 ^ 31) then
            error("the position in table.insert must be at least 1, not " .. shown(at), 2)
        end
    end
    return insert(t, ...)
end

function env.string.rep(text, count, between)
    local length = type(text) == "string" and #text or 0
    length = length + (type(between) == "string" and #between or 0)
    if length == 0 and type(text) == "string" then
        return ""
    elseif type(count) == "number" and length * count > MOST_TEXT then
        error("string.rep would make more than 16 MiB", 2)
    end
    return rep(text, count, between)
end

math.randomseed(seed + queue)
local texts = getmetatable("")
texts.__index = env.string
texts.__metatable = "string"

local function go(call)
    return function()
        burst.count, outer, inner = room.count, 0, 0
        call(burst)
    end
end

return env, go
