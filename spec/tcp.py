"""Makes what follows from tcp.toml.

    python spec/tcp.py              writes crates/tcp/src/spec.rs, hdl/session/tcp_spec_pkg.sv (and its small form for proofs) and docs/tcp.md
    python spec/tcp.py --check      lists those that are out of date on standard error, and exits with status 1 if
                                    there are any
    python spec/tcp.py --vectors    the same, and prints the vectors: a line of JSON for each

It also fails if a row of the table has no vector in a state where it applies, or if the vectors computed by hand
contradict the model.
"""

import json
import pathlib
import sys
import textwrap

import tcp_vectors
from tcp_model import SPEC

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUST = ROOT / "crates" / "tcp" / "src" / "spec.rs"
HARDWARE = ROOT / "hdl" / "session" / "tcp_spec_pkg.sv"
SMALL = ROOT / "hdl" / "session" / "formal" / "tcp_spec_pkg.sv"
# The fields that the engine and the sweep read: proofs of these two have records of nothing else.
READ = ("deadline", "limit", "ack_by", "left", "flags", "state", "incarnation")
PAGE = ROOT / "docs" / "tcp.md"
WIDTH = 112


def wrap(text, indent="", first=None):
    return textwrap.fill(text, WIDTH, initial_indent=first or indent, subsequent_indent=indent)


def sentence(text):
    return text[0].upper() + text[1:] + "."


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def rust():
    out = ["//! Made from spec/tcp.toml by spec/tcp.py; changes belong there.", ""]
    out += ["/// The state of a connection.", "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]"]
    out += ["#[repr(u8)]", "pub enum State {"]
    for number, (name, means) in enumerate(SPEC["states"].items()):
        out += [f"    /// {sentence(means)}"] + ["    #[default]"] * (number == 0) + [f"    {camel(name)} = {number},"]
    out += ["}", "", "/// Bits of a record.", "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]"]
    out += ["pub struct Flags([u8; 3]);", "", "impl Flags {"]
    for bit, (name, means) in enumerate(SPEC["flags"].items()):
        out += [f"    /// {sentence(means)}", f"    pub const {name.upper()}: Self = Self::of(1 << {bit});"]
    out += [
        "",
        "    /// All of them, by bit, with the names that the specification gives.",
        f"    pub const ALL: [(&'static str, Self); {len(SPEC['flags'])}] = [",
        *(f'        ("{name}", Self::{name.upper()}),' for name in SPEC["flags"]),
        "    ];",
        "",
        "    pub const fn contains(self, other: Self) -> bool {",
        "        self.bits() & other.bits() == other.bits()",
        "    }",
        "",
        "    pub const fn with(self, other: Self) -> Self {",
        "        Self::of(self.bits() | other.bits())",
        "    }",
        "",
        "    pub const fn without(self, other: Self) -> Self {",
        "        Self::of(self.bits() & !other.bits())",
        "    }",
        "",
        "    const fn of(bits: u32) -> Self {",
        "        let [a, b, c, _] = bits.to_le_bytes();",
        "        Self([a, b, c])",
        "    }",
        "",
        "    const fn bits(self) -> u32 {",
        "        u32::from_le_bytes([self.0[0], self.0[1], self.0[2], 0])",
        "    }",
        "}",
    ]
    for module, table, about in (
        ("timer", "timers", "Times in milliseconds."),
        ("limit", "limits", "Numbers that bound what is believed and sent."),
    ):
        out += ["", f"/// {about}", f"pub mod {module} {{"]
        for name, row in SPEC[table].items():
            means = row["means"][0].upper() + row["means"][1:]
            out += [wrap(means + ".", "    /// "), f"    pub const {name.upper()}: u32 = {digits(row['value'])};"]
        out.append("}")
    return "\n".join(out) + "\n"


def hardware(fields=None):
    """The record as a packed struct, with the numbers of the table. With `fields`, records have nothing else."""
    out = ["// Made from spec/tcp.toml by spec/tcp.py; changes belong there.", "package tcp_spec_pkg;", ""]
    out += ["  typedef enum logic [3:0] {"]
    names = [f"    {camel(name)} = 4'd{number}" for number, name in enumerate(SPEC["states"])]
    out += [",\n".join(names), "  } state_e;", "", "  // The first is the highest bit.", "  typedef struct packed {"]
    out += [f"    logic {name};" for name in reversed(SPEC["flags"])]
    out += ["  } flags_t;", "", "  typedef struct packed {"]
    kinds = {"flags": "flags_t", "state": "state_e"}
    for field in SPEC["field"]:
        if fields and field["name"] not in fields:
            continue
        bits = f"logic [{field['bits'] - 1}:0]"
        out.append(f"    {kinds.get(field['name'], bits)} {field['name']};")
    out += ["  } session_t;"]
    for table in ("timers", "limits"):
        out.append("")
        for name, row in SPEC[table].items():
            out.append(f"  localparam logic [31:0] {camel(name)}{'Ms' if table == 'timers' else ''} = 32'd{row['value']};")
    return "\n".join(out + ["endpackage"]) + "\n"


def digits(number):
    return f"{number:_}" if number >= 10000 else str(number)


# The arrows of the drawing below; the table must have the same.
ARROWS = """
CLOSED SYN_SENT, SYN_SENT ESTABLISHED, ESTABLISHED FIN_WAIT_1, ESTABLISHED LAST_ACK, FIN_WAIT_1 FIN_WAIT_2,
FIN_WAIT_1 CLOSING, FIN_WAIT_2 TIME_WAIT, CLOSING TIME_WAIT, LAST_ACK CLOSED, TIME_WAIT CLOSED,
SYN_SENT CLOSED, ESTABLISHED CLOSED, FIN_WAIT_1 CLOSED, FIN_WAIT_2 CLOSED, CLOSING CLOSED
"""

HEAD = """# TCP past the kernel

<!-- Made from spec/tcp.toml by spec/tcp.py; changes belong there. -->

`crates/tcp` is the TCP client that runs use instead of the kernel's: one pure function without clock, I/O or
allocation. The crate's documentation explains its interface. `spec/tcp.toml` specifies its events, fields and
transitions. This page, the crate's constants and the test vectors (`spec/tcp.py --vectors`) are made from that
file. The *owner* is the code that calls this function.

## States

```text
                             open / SYN
          CLOSED ─────────────────────────────► SYN_SENT
                                                    │ SYN+ACK / owe ACK
                  close / FIN                       ▼                   FIN / FIN+ACK
         ┌───────────────────────────────────  ESTABLISHED  ──────────────────────────┐
         ▼                                                                            ▼
     FIN_WAIT_1 ─────── FIN / owe ACK ───────►  CLOSING                            LAST_ACK
         │ ACK of FIN                               │ ACK of FIN                      │ ACK of FIN
         ▼                                          ▼                                 ▼
     FIN_WAIT_2 ─────── FIN / owe ACK ───────► TIME_WAIT ─── 1 s / quarantine ───►  CLOSED

     From every state to CLOSED: an exact RST, abort, or the owner's time limit (TIME_WAIT: its end).
     From SYN_SENT also: RST+ACK (refused), close, a hard ICMP error.
```

The peer's FIN is answered with FIN at once, so CLOSE-WAIT does not exist. A client has no LISTEN and no
SYN-RECEIVED.
"""

PROSE = """
## How it behaves

**Requests.** A connection has one request at a time, of at most 65 535 bytes. It ends as exactly one of done,
failed or cut off. By default one segment is in flight; the next waits for its ACK. As one segment never exceeds
the loss window of RFC 5681, there is no congestion window.

**Bursts.** A path may allow several full segments in flight (`burst`). A later segment leaves only if it fits
the peer's window, and is full or ends the request. Timer and round-trip time are those of the first segment in
flight. After a timeout or the third duplicate ACK, that segment is sent again. Then each ACK releases one
segment until everything that was in flight is acknowledged, and bursts resume. A burst that the path cannot
carry is lost every time.

**Responses** are not stored. Bytes beyond a hole are reported to the peer at once, and kept as an interval: one
in the record, up to 31 more with the owner. Bytes beyond further holes are dropped and counted, and the peer
sends them again. SACK blocks list the intervals, the newest first: four, or three with timestamps.

**The receive window** closes only while the owner can accept no data: the next ACK advertises zero. Bytes
already in flight are still accepted, because dropping them would cost the peer a timeout. A probe of the closed
window is acknowledged, but its data is not accepted. An ACK reopens the window at once.

**ACKs** are sent once per batch of segments, or with a request. A hole, a filled hole, the second full segment,
FIN and repeated data need an ACK in this batch. So does all data of the first response on a path that is
`quick`, because servers with Nagle's algorithm wait for it. Other ACKs wait for 40 ms, or 1 ms once the
response is complete.

**Timeouts** are those of Linux: 1 s for the SYN, then SRTT + max(200 ms, 4 RTTVAR), doubled for each
retransmission up to 120 s. Round-trip times are measured on segments that were sent once (Karn). The third
retransmission is reported (R1). Each call of the owner sets the time after which the connection ends (R2).

**The peer's window** must have room for a full segment, the end of the request, or half of the largest window
so far. Otherwise the persist timer starts. When it expires, what fits is sent, at least one byte.

**Attacks and mistakes** (RFC 5961): an RST must have exactly the next sequence number. A near miss, a SYN, and
an ACK of data never sent get a challenge ACK, at most one in 500 ms. Repeated data is always acknowledged. An
ICMP message must quote a sequence number in flight.

**Limits.** An MSS option below 48 counts as 48, and ICMP cannot lower the MSS below 512, as in Linux. The
greatest window scale is 14. The peer has 60 s to close its side.

**Reuse of ports.** A reopened record starts above the sequence numbers of its last connection, so a target in
TIME_WAIT accepts the SYN. After TIME_WAIT a record is free; its port stays in quarantine for the time in the
notice.

## Where it deviates

From RFC 9293:

- TIME_WAIT lasts 1 s instead of 2 MSL; then the port is in quarantine for 1 s (a setting), because a load
  generator needs its ports.
- The bare SYN of a simultaneous open is dropped, and urgent data is read in line.
- Hard ICMP errors end only the handshake (RFC 5927), as in Linux.
- An ACK or RST has the sequence number SND.NXT or the end of the window, whichever comes first, as in Linux.
- The window shrinks when the owner closes it, so that the peer stops at once.

From others:

- RFC 5681: a session has no congestion window; its owner bounds what is in flight.
- RFC 6298: one round-trip time per burst. The RTO is SRTT + at least 200 ms instead of at least 1 s, as in
  Linux. After a repeated SYN it is 3 s only if the path has no round-trip time.
- RFC 5961: the oldest acceptable ACK uses MAX.SND.WND rounded up to a power of two (5 bits instead of 30).
- RFC 7323: timestamps do not expire after 24 days: no connection lives that long.

`spec/rfc9293.toml` lists all requirements of RFC 9293, each with its test or the reason why it is left out.

## How it is checked

Test vectors take every transition in every state, at sequence numbers that wrap, with results from a second,
plain model or computed by hand. Packetdrill-like scripts run in virtual time, some also against the kernel's
TCP. Other tests use random events, uploads over a path that loses and reorders segments, the kernel's sockets
over a faulty link, and a fuzz target.
"""


def page():
    arrows = {(state, row["to"]) for row in SPEC["row"] if "to" in row for state in row["in"]}
    drawn = {tuple(arrow.split()) for arrow in ARROWS.replace("\n", " ").split(",")}
    if arrows != drawn:
        sys.exit(f"the drawing in spec/tcp.py and the table differ: {arrows ^ drawn}")
    return HEAD + PROSE


def main():
    vectors = tcp_vectors.all_vectors()
    missing = tcp_vectors.uncovered(vectors)
    if missing:
        sys.exit(f"rows without a vector: {', '.join(missing)}")
    made = {RUST: rust(), HARDWARE: hardware(), SMALL: hardware(READ), PAGE: page()}
    wrong = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    if sys.argv[1:] in (["--check"], ["--vectors"]):
        if sys.argv[1] == "--vectors":
            for vector in vectors:
                print(json.dumps(vector, separators=(",", ":")))
        for path in wrong:
            print(f"{path.relative_to(ROOT)} is out of date: run spec/tcp.py", file=sys.stderr)
        sys.exit(bool(wrong))
    for path in wrong:
        path.write_text(made[path])
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
