"""Makes what follows from tcp.toml.

    python spec/tcp.py            writes crates/tcp/src/spec.rs, docs/tcp.md and spec/tcp-vectors.jsonl
    python spec/tcp.py --check    lists those that are out of date, and exits with status 1 if there are any

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
PAGE = ROOT / "docs" / "tcp.md"
VECTORS = ROOT / "spec" / "tcp-vectors.jsonl"
WIDTH = 112
STATES = list(SPEC["states"])


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

`crates/tcp` is the client's TCP that runs use instead of the kernel's. It is one pure function:

```text
step(path, record, event, now) -> record, at most one segment, notices
```

A record is one connection. A path is what the connections to one target share: round-trip times, segment sizes, and
what the SYN offers. The function has no clock, does no I/O and allocates nothing. `spec/tcp.toml` is its only
specification; this page, the constants of the crate and the vectors (`spec/tcp-vectors.jsonl`) are made from it.

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

     From every state to CLOSED: an exact RST, abort, or the end of patience (TIME_WAIT: of its time).
     From SYN_SENT also: RST+ACK (refused), close, a hard ICMP error.
```

A FIN of the peer is answered with FIN at once, so CLOSE-WAIT does not exist. A client has no LISTEN and no
SYN-RECEIVED.
"""

PROSE = """
## How it behaves

**Requests.** The owner sends one request at a time, of at most 65 535 bytes. Each request ends as exactly one of done,
failed or cut off. By default one segment is in flight, and a longer request goes in several, each after the ACK of the
one before: one segment is never more than the loss window of RFC 5681, so no congestion window is computed.

**Bursts.** `Path::burst` says how many full segments may be in flight at once. `send` sends the first one. The others
leave one for each flush, and the owner repeats the flush while the record wants it. A later segment leaves only if it
is full or the end of the request, and if it fits the peer's window. The timer runs for the first segment in flight, and
only the first of a flight is measured. After a timeout, or after the third duplicate ACK, the first segment is sent
again. Then each ACK lets one segment go, until all that was in flight is acknowledged, and the burst starts again.
There is no congestion window: a burst that the path cannot carry is lost again and again. RFC 6928 begins with ten.

**Responses** are not stored. Bytes in order are announced as a range of the segment that brought them. Bytes ahead of
a hole are announced, too, and counted in one interval. When the hole is filled, the interval is in order. Bytes of a
second hole are dropped and counted; the peer sends them again. The interval is the SACK block that is sent. The receive
window never closes by itself.

**A slow owner** closes the window: the next ACK announces zero, and the peer stops. Bytes that the peer had in flight
are still announced, because the window had offered them; dropping them would cost the peer a timeout. The owner must
be able to hold them. A single byte at the next number is a probe of the closed window: it is not taken, and an ACK is
owed. The probe's ACK, window and RST count. When the owner opens the window, an ACK announces it in the same step.

**ACKs** are owed and not sent. The owner flushes once per batch, so segments of one batch share an ACK, and a request
carries it for free. An ACK is owed now for a hole, a filled hole, the second full segment, FIN, and repeated data. Else
it waits 40 ms, or 1 ms once the response is whole.

**Timeouts** are Linux's: 1 s for the SYN, then SRTT + max(200 ms, 4 RTTVAR), doubled for each retransmission up to 120 s.
Round-trip times are taken from segments that were sent once (Karn), and kept per path. Patience, which the owner sets for
each call, ends a connection (R2). The third retransmission is reported (R1).

**A window** takes a full segment, the end of the request, or half of the largest window that there was. One that takes
none of these starts the persist timer. It sends what fits, at least one byte.

**Attacks and mistakes** (RFC 5961): RST must name the next number exactly. A near miss, a SYN and an ACK of the
impossible are answered with a challenge ACK, at most one in 500 ms. Repeated data is always acknowledged. ICMP must quote
a number in flight; a hard error ends only the handshake.

**Reuse of ports.** A record that is opened again starts above the last life's numbers, so the target's TIME_WAIT takes the
SYN. After its own TIME_WAIT the record is free, and the port stays in quarantine for the time that the notice says.

## Where it deviates

| RFC | here | why |
|---|---|---|
| 9293: TIME-WAIT lasts 2 MSL | 1 s, then quarantine of the port (1 s, a setting) | ports of a load generator; the result says so |
| 9293: simultaneous open | a bare SYN is dropped | nobody opens to a client |
| 9293: urgent data | read in line | no application uses it |
| 9293: hard ICMP errors abort | only during the handshake | RFC 5927; as Linux |
| 9293: an ACK or RST stands at SND.NXT | at the end of the window if that comes first | as Linux; else it is dropped |
| 5681: slow start, congestion avoidance | none; a burst of fixed size, one segment after a loss | the owner chooses the load |
| 5681: fast recovery sends new data | not before all that was in flight is acknowledged | one flag instead of numbers |
| 6298: a round-trip time in each round trip | one for each flight that starts with nothing out | a request is at most 64 KiB |
| 9293: the window should not shrink | it does when the owner closes it; what it had offered is still taken | the peer stops at once |
| 6298: RTO of at least 1 s | SRTT + at least 200 ms | as Linux, so that results compare |
| 6298: RTO of 3 s after a repeated SYN | only if the path has no round-trip time | other connections measured it |
| 5961: oldest acceptable ACK | MAX.SND.WND rounded up to a power of two | five bits instead of 30 |
| 7323: timestamps expire after 24 days | they do not | no connection lives that long |

`spec/rfc9293.toml` lists all requirements of RFC 9293, each with its test or the reason why it is out.

## How it is checked

- `spec/tcp-vectors.jsonl`: every row in every state, at numbers that wrap. The expectations are of a second, plain model
  (`spec/tcp_model.py`), or were computed by hand. Those with `burst` above 1 in their path are of several segments in
  flight; all others hold without.
- `crates/tcp/tests/scripts`: what arrives and what must leave, and when, line by line, with virtual time. The language
  is a subset of packetdrill's (`crates/tcp/tests/all/script.rs`). Those in `peer` run against the kernel's TCP.
- A million random events that must keep all rules, whole uploads over a simulated path that loses and overtakes, and
  a fuzz target.
- `tests/tests/frames/sessions.rs`: the kernel's sockets as the peer, over a wire with faults.
"""


def states_of(names):
    """A list of states, shorter."""
    sets = {
        "all": STATES,
        "all but CLOSED": STATES[1:],
        "synchronized": STATES[2:],
        "sending": ["ESTABLISHED", "FIN_WAIT_1", "CLOSING", "LAST_ACK"],
        "receiving": ["ESTABLISHED", "FIN_WAIT_1", "FIN_WAIT_2"],
    }
    for name, states in sets.items():
        if names == states:
            return name
    return ", ".join(names)


def columns(rows, widths):
    out = []
    for row in rows:
        lines = [textwrap.wrap(text, width - 2) or [""] for text, width in zip(row, widths)]
        for at in range(max(map(len, lines))):
            cells = (cell[at] if at < len(cell) else "" for cell in lines)
            out.append("".join(f"{cell:<{width}}" for cell, width in zip(cells, widths)).rstrip())
    return out


def page():
    arrows = {(state, row["to"]) for row in SPEC["row"] if "to" in row for state in row["in"]}
    drawn = {tuple(arrow.split()) for arrow in ARROWS.replace("\n", " ").split(",")}
    if arrows != drawn:
        sys.exit(f"the drawing in spec/tcp.py and the table differ: {arrows ^ drawn}")
    out = [HEAD, "```text"]
    out += columns(SPEC["states"].items(), [14, WIDTH - 14])
    out += ["```", PROSE, "## Events", "", "```text"]
    out += columns(SPEC["events"].items(), [14, WIDTH - 14])
    out += ["```", "", "## Record", "", "64 bytes in Rust. Hardware needs no more than these bits.", "", "```text"]
    out += columns(((f["name"], str(f["bits"]), f["means"]) for f in SPEC["field"]), [14, 6, WIDTH - 20])
    out += ["", *columns((("." + name, "1", means) for name, means in SPEC["flags"].items()), [14, 6, WIDTH - 20])]
    out += ["```", "", "## Times and limits", "", "Times are in milliseconds.", "", "```text"]
    both = SPEC["timers"] | SPEC["limits"]
    out += columns(((name, str(row["value"]), row["means"]) for name, row in both.items()), [17, 8, WIDTH - 25])
    out += ["```", "", "## Transitions", ""]
    out += ["The first row that fits an event is done; a segment passes the stages from top to bottom. \"Sending\" is"]
    out += ["ESTABLISHED, FIN_WAIT_1, CLOSING and LAST_ACK; \"receiving\" is ESTABLISHED, FIN_WAIT_1 and FIN_WAIT_2."]
    out += ["`spec/tcp.toml` defines the conditions and actions.", "", "```text"]
    for row in SPEC["row"]:
        to = f" -> {row['to']}" if "to" in row else ""
        out += columns([(row["id"], f"[{states_of(row['in'])}] {row.get('when', '')}")], [24, WIDTH - 24])
        out += columns([("", "  " + (", ".join(row["do"]) or "nothing") + to)], [26, WIDTH - 26])
    out += ["```", ""]
    return "\n".join(out)


def main():
    vectors = tcp_vectors.all_vectors()
    missing = tcp_vectors.uncovered(vectors)
    if missing:
        sys.exit(f"rows without a vector: {', '.join(missing)}")
    lines = "".join(json.dumps(made, separators=(",", ":")) + "\n" for made in vectors)
    made = {RUST: rust(), PAGE: page(), VECTORS: lines}
    wrong = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        for path in wrong:
            print(f"{path.relative_to(ROOT)} is out of date: run spec/tcp.py")
        sys.exit(bool(wrong))
    for path in wrong:
        path.write_text(made[path])
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
