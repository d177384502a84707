"""The vectors: every row of tcp.toml in every state it applies to, at numbers that wrap at different places.

    python tcp_vectors.py     prints what rows have no vector

A situation (a record), an event and a pair of base numbers give one vector. What is expected is computed by the plain
model from tcp.toml. Vectors that only repeat what others show are left out: of those that use the same rows and have
the same kind of effect, one is kept for each set of control bits; of those that use the same rows, one for each pair of
base numbers. The vectors of tcp_hand.py were computed by hand.
"""

import tcp_hand
from tcp_model import FLAGS, NUMBERS, PATH, SPEC, L as LIMITS, Model, add, new_record

NOW = 5_000_000_250  # us: 5 000 000.25 ms; the microseconds have wrapped once
MS = NOW // 1000
# snd_una and rcv_nxt: far from a wrap; a wrap within request and response; the sign bit; at the last number.
BASES = {
    "plain": (1_000_000, 5_000_000),
    "wrap": (0xFFFF_FFCE, 0xFFFF_FFCE),
    "sign": (0x7FFF_FFCE, 0x7FFF_FFCE),
    "last": (0xFFFF_FFFF, 0xFFFF_FFFF),
}
FULL = {"scaled": True, "stamped": True, "sack": True, "mss": 1448, "ts_recent": 7000, "shift": 7}
OLD = {"mss": 536}


def situations(una, rcv):
    """Name, and the record."""

    def record(state, options=FULL, **fields):
        lived = {"snd_una": una, "incarnation": 3, "lived": True, "state": state}
        if state not in ("CLOSED", "SYN_SENT"):
            wide = options is FULL
            window = {"snd_wnd": 65535 << 7 if wide else 8192, "wnd_log": 23 if wide else 13, "snd_wl1": rcv}
            lived |= {"rcv_nxt": rcv} | window | options
        return new_record(**(lived | fields))

    rto = {"timed": True, "deadline": MS - 1, "sent": (NOW - 30_000) % 2**32}
    later = rto | {"deadline": MS + 100}
    asked = {"asked": True, "limited": True, "limit": MS + 5000}
    out = {"left": 100, "in_flight": 100}
    persist = {"persist": True, "timed": True, "deadline": MS, "snd_wnd": 0, "left": 100}
    ooo = {"ooo_start": add(rcv, 100), "ooo_len": 50}
    yield "never open", new_record(incarnation=255)
    yield "lived", record("CLOSED")
    opening = rto | {"limited": True, "limit": MS + 3000}
    yield "opening", record("SYN_SENT", **opening)
    yield "opening just now", record("SYN_SENT", **opening | {"deadline": MS + 1})
    yield "opening again", record("SYN_SENT", **opening, retransmitted=True, retries=2, backoff=2)
    yield "opening too long", record("SYN_SENT", **opening | {"limit": MS - 5})
    e = "ESTABLISHED"
    yield "idle", record(e)
    yield "idle, no options", record(e, OLD)
    yield "ACK owed now", record(e, ack_due=True, ack_now=True, ack_by=MS + 30, unacked=1448)
    yield "ACK owed later", record(e, ack_due=True, ack_by=MS + 30, unacked=1448)
    yield "ACK late", record(e, ack_due=True, ack_by=MS - 1, unacked=100)
    yield "one segment unacknowledged", record(e, OLD, ack_due=True, ack_by=MS + 3, unacked=2900)
    yield "challenged lately", record(e, challenge=True, challenged=MS - 499)
    yield "challenged long ago", record(e, challenge=True, challenged=MS - 500)
    yield "request out", record(e, **rto, **asked, **out)
    yield "request out, no options", record(e, OLD, **later, **asked, **out)
    yield "request out a third time", record(e, **rto, **asked, **out, retransmitted=True, retries=2, backoff=2)
    yield "request out after a repeated SYN", record(e, **rto, **asked, **out, syn_repeated=True)
    yield "request answered early", record(e, **later, **out, limited=True, limit=MS + 9)
    yield "request out too long", record(e, **rto, **out | asked | {"limit": MS})
    yield "request acknowledged", record(e, **asked)
    yield "large request", record(e, **later, **asked, left=4000, in_flight=1448)
    yield "large request again", record(e, **rto, **asked, left=4000, in_flight=1448, retransmitted=True, retries=1)
    yield "smaller segments", record(e, **rto, **asked | FULL | {"mss": 500}, left=1448, in_flight=1448)
    yield "window closed", record(e, **asked, **persist)
    yield "window probed", record(e, **asked, **persist | {"in_flight": 1, "retransmitted": True, "backoff": 3})
    yield "window small", record(e, **asked, **persist | {"snd_wnd": 60})
    yield "interval", record(e, **ooo, ack_due=True, ack_now=True, ack_by=MS + 4)
    yield "interval, request out", record(e, **ooo, **later, **asked, **out)
    yield "interval with FIN", record(e, **ooo, ooo_fin=True, **asked)
    yield "interval, no options", record(e, OLD, **ooo)
    fin = {"fin_due": True, "fin_out": True}
    for state in ("FIN_WAIT_1", "CLOSING", "LAST_ACK"):
        yield f"FIN out, {state}", record(state, **fin, **rto, limited=True, limit=MS + 60000)
        yield f"FIN and request out, {state}", record(state, **fin, **later, **asked, **out)
        yield f"FIN waits, {state}", record(state, fin_due=True, **asked, **persist)
        yield f"FIN alone waits, {state}", record(state, fin_due=True, **persist | {"left": 0})
        yield f"FIN out too long, {state}", record(state, **fin, **rto, limited=True, limit=MS)
        yield f"ACK late, {state}", record(state, **fin, **later, ack_due=True, ack_by=MS, asked=True)
        yield f"challenged lately, {state}", record(state, **fin, **later, challenge=True, challenged=MS)
    yield "FIN out, interval with FIN", record("FIN_WAIT_1", **fin, **later, **ooo, ooo_fin=True)
    yield "closed here", record("FIN_WAIT_2", limited=True, limit=MS + 100)
    yield "closed here, request open", record("FIN_WAIT_2", **asked, **ooo)
    yield "closed here too long", record("FIN_WAIT_2", limited=True, limit=MS)
    yield "closed here, ACK late", record("FIN_WAIT_2", ack_due=True, ack_by=MS, unacked=10)
    waits = {"timed": True, "deadline": MS + 500}
    yield "waiting", record("TIME_WAIT", **waits, unacked=1)
    yield "waiting, ACK late", record("TIME_WAIT", **waits, ack_due=True, ack_by=MS, asked=True, unacked=1)
    yield "waited", record("TIME_WAIT", **waits | {"deadline": MS})
    for state in (e, "FIN_WAIT_1", "FIN_WAIT_2"):
        own = {"fin_due": True, "fin_out": True, **later} if state == "FIN_WAIT_1" else {}
        yield f"shut, {state}", record(state, **own, **asked, shut=True)
        yield f"shut, interval, {state}", record(state, **own, **ooo, **asked, shut=True, ack_due=True, ack_by=MS + 4)


def bursts(una, rcv):
    """The same for a path of several segments in flight."""

    def record(state, options=FULL, **fields):
        wide = options is FULL
        window = {"snd_wnd": 65535 << 7 if wide else 8192, "wnd_log": 23 if wide else 13, "snd_wl1": rcv}
        known = {"snd_una": una, "rcv_nxt": rcv, "incarnation": 3, "lived": True, "state": state} | window | options
        timer = {"timed": True, "deadline": MS + 100, "sent": (NOW - 30_000) % 2**32}
        fin = {} if state == "ESTABLISHED" else {"fin_due": True}
        asked = {"asked": True, "limited": True, "limit": MS + 5000}
        return new_record(**(known | timer | fin | asked | fields))

    three = {"in_flight": 3 * 1448, "left": 10_000}
    late = {"deadline": MS}
    for state in ("ESTABLISHED", "FIN_WAIT_1", "CLOSING", "LAST_ACK"):
        yield f"three segments out, {state}", record(state, **three)
        yield f"three out, no options, {state}", record(state, OLD, in_flight=3 * 536, left=3000)
        yield f"two duplicate ACKs, {state}", record(state, **three, retries=2)
        yield f"two duplicate ACKs, no options, {state}", record(state, OLD, in_flight=3 * 536, left=3000, retries=2)
        yield f"three out, late, {state}", record(state, **three, **late)
        yield f"all sent, {state}", record(state, in_flight=3 * 1448, left=3 * 1448)
        yield f"all but the end sent, {state}", record(state, in_flight=3 * 1448, left=3 * 1448 + 500)
        yield f"all and FIN sent, {state}", record(state, in_flight=4000, left=4000, fin_out=state != "ESTABLISHED")
    e = "ESTABLISHED"
    yield "four segments out", record(e, in_flight=4 * 1448, left=10_000)
    yield "three out, untimed", record(e, **three, untimed=True)
    yield "three out again", record(e, **three, **late, retransmitted=True, retries=1)
    yield "three out, little window left", record(e, **three, snd_wnd=4 * 1448 - 1)
    yield "three out, ACK owed", record(e, **three, ack_due=True, ack_now=True, ack_by=MS + 3, unacked=9)
    yield "three out, interval", record(e, **three, ooo_start=add(rcv, 100), ooo_len=50)
    yield "three out, window closed", record(e, **three, **late, persist=True, snd_wnd=0, retransmitted=True)
    yield "one segment out", record(e, in_flight=1448, left=10_000)
    yield "nothing out", record(e, timed=False, deadline=0, asked=False)
    yield "all but FIN sent, no room", record("FIN_WAIT_1", in_flight=4000, left=4000, snd_wnd=4000)
    yield "the end and FIN, no room", record("FIN_WAIT_1", in_flight=4000, left=4400, snd_wnd=4400)


def holes(una, rcv):
    """The same for an owner that keeps several out-of-order intervals."""

    def record(state, options=FULL, **fields):
        wide = options is FULL
        window = {"snd_wnd": 65535 << 7 if wide else 8192, "wnd_log": 23 if wide else 13, "snd_wl1": rcv}
        known = {"snd_una": una, "rcv_nxt": rcv, "incarnation": 3, "lived": True, "state": state} | window | options
        timer = {"timed": True, "deadline": MS + 100, "sent": (NOW - 30_000) % 2**32, "left": 100, "in_flight": 100}
        return new_record(**(known | (timer if state == "FIN_WAIT_1" else {}) | fields))

    def at(*places):
        """The first is the interval that changed last."""
        numbers = [[add(rcv, start), length] for start, length in places]
        return {"ooo_start": numbers[0][0], "ooo_len": numbers[0][1], "further": numbers[1:]}

    four = [(300, 40), (30, 20), (1000, 9), (100, 50)]
    # As many as there may be.
    full = four + [(2000 + 20 * nth, 10) for nth in range(LIMITS["intervals"] - 4)]
    for state in ("ESTABLISHED", "FIN_WAIT_1", "FIN_WAIT_2"):
        yield f"one interval, {state}", record(state, **at((100, 50)))
        yield f"two intervals, {state}", record(state, **at((100, 50), (300, 40)))
        yield f"four intervals, {state}", record(state, **at(*four))
        yield f"all intervals, {state}", record(state, **at(*full))
        yield f"two intervals with FIN, {state}", record(state, **at((100, 50), (200, 40)), ooo_fin=True)
    e = "ESTABLISHED"
    yield "four intervals, no options", record(e, OLD, **at(*four))
    yield "all intervals, no options", record(e, OLD, **at(*full))
    yield "four intervals with FIN", record(e, **at((100, 50), (30, 20), (300, 40), (1000, 9)), ooo_fin=True)
    yield "four intervals, ACK owed", record(e, **at((1000, 9), (30, 20), (300, 40), (100, 50)), ack_due=True,
                                             ack_now=True, ack_by=MS + 3, unacked=9)  # fmt: skip


def calls():
    """Name, event: all but segments, which depend on the record."""
    yield "open", {"kind": "open", "isn": 77, "patience": 3000}
    yield "open without patience", {"kind": "open", "isn": 0x8000_0000}
    yield "send", {"kind": "send", "length": 100, "patience": 2000}
    yield "send and close", {"kind": "send", "length": 100, "close": True, "patience": 2000}
    yield "send much", {"kind": "send", "length": 5000}
    yield "send nothing", {"kind": "send", "length": 0}
    for kind in ("answered", "flush", "close", "abort", "timer"):
        yield kind, {"kind": kind}
    yield "window closes", {"kind": "window", "open": False}
    yield "window opens", {"kind": "window", "open": True}


def icmp(record):
    una = record["snd_una"]
    for name, seq in (("first", una), ("before", add(una, -1)), ("after", add(una, 1449))):
        yield f"ICMP hard, {name}", {"kind": "unreachable", "hard": True, "seq": seq}
        yield f"ICMP soft, {name}", {"kind": "unreachable", "hard": False, "seq": seq}
        yield f"MTU low, {name}", {"kind": "mtu", "mss": 500, "seq": seq}
        yield f"MTU high, {name}", {"kind": "mtu", "mss": 9000, "seq": seq}


def segments(record, rcv):
    una = record["snd_una"]
    wnd = 65535 << 7 if record["scaled"] else 65535
    out = record["in_flight"] + record["fin_out"] + (record["state"] == "SYN_SENT")

    def segment(flags="ACK", at=0, ack=0, length=0, window=512, ts=7001, **options):
        event = {"kind": "segment", "flags": flags, "seq": add(rcv, at), "window": window}
        if "ACK" in flags.split("+"):
            event["ack"] = add(una, ack)
        if length:
            event["len"] = length
        if ts is not None and (record["stamped"] or "SYN" in flags):
            options["ts"] = [ts, 1]
        if options:
            event["options"] = options
        return event

    if record["state"] in ("CLOSED", "SYN_SENT"):
        full = {"mss": 1460, "shift": 9, "sack_permitted": True}
        yield "SYN+ACK", segment("SYN+ACK", ack=out, **full)
        yield "SYN+ACK with text", segment("SYN+ACK", ack=out, length=10, **full)
        yield "SYN+ACK with FIN", segment("SYN+FIN+ACK", ack=out, **full)
        yield "SYN+ACK without options", segment("SYN+ACK", ack=out, ts=None)
        yield "SYN+ACK, odd options", segment("SYN+ACK", ack=out, window=0, mss=1, shift=15, ts=None)
        for name, ack in (("ISN", 0), ("too high", 2)):
            yield f"SYN+ACK of {name}", segment("SYN+ACK", ack=ack, **full)
            yield f"RST+ACK of {name}", segment("RST+ACK", ack=ack, ts=None)
            yield f"ACK of {name}", segment("ACK", ack=ack, length=5, ts=None)
        yield "RST+ACK", segment("RST+ACK", ack=out, ts=None)
        yield "RST", segment("RST", ts=None)
        yield "SYN", segment("SYN", **full)
        yield "SYN+RST", segment("SYN+RST", ts=None)
        yield "SYN+RST+ACK", segment("SYN+RST+ACK", ack=out, ts=None)
        yield "ACK", segment("ACK", ack=out, ts=None)
        yield "FIN", segment("FIN", length=3, ts=None)
        yield "no bits", segment("", length=7, ts=None)
        return
    acks = {"nothing new": 0, "all": out, "one octet": min(1, out), "all text": record["in_flight"]}
    acks |= {"the last number": out, "one too many": out + 1, "the past": -1, "ancient": -(2 ** record["wnd_log"]) - 1}
    acks |= {"as old as may be": -(2 ** record["wnd_log"])}
    for name, ack in acks.items():
        yield f"ACK of {name}", segment(ack=ack)
        yield f"text, ACK of {name}", segment(ack=ack, length=80)
    for window in (0, 1, 4):
        yield f"window {window}", segment(window=window)
        yield f"window {window} of an old segment", segment(window=window, at=-1, length=2)
        yield f"window {window}, ACK of all text", segment(window=window, ack=record["in_flight"])
        yield f"window {window}, ACK of one octet", segment(window=window, ack=min(1, out))
    places = {"before": -100, "straddling": -40, "next": 0, "ahead": 30, "far ahead": 200, "at interval": 100}
    places |= {"behind interval": 150, "within interval": 110, "last of window": wnd - 1, "beyond window": wnd}
    for place, at in places.items():
        for length in (0, 1, 50, 100, 200, 1448):
            for flags in ("ACK", "FIN+ACK"):
                if length or flags != "ACK":
                    yield f"{flags} of {length} {place}", segment(flags, at, length=length, ack=0)
                    if length == 50:
                        yield f"{flags} of {length} {place}, ACK of all", segment(flags, at, length=length, ack=out)
        for flags in ("RST", "RST+ACK", "SYN", "SYN+ACK", "ACK", "", "FIN"):
            yield f"{flags or 'no bits'} {place}", segment(flags, at)
    yield "FIN, ACK of all", segment("FIN+ACK", ack=out)
    yield "FIN again", segment("FIN+ACK", at=-1, ack=out)
    yield "text and FIN again", segment("FIN+ACK", at=-11, length=10, ack=out)
    for name, ts in (("older", 6999), ("the same", 7000), ("wrapped", 7000 + 2**31 - 1), ("half", 7000 - 2**31 & 0xFFFFFFFF)):
        yield f"timestamp {name}", segment(ts=ts)
        yield f"timestamp {name}, text", segment(ts=ts, length=10)
        yield f"timestamp {name}, text ahead", segment(ts=ts, length=10, at=10)
        yield f"timestamp {name}, SYN", segment("SYN", ts=ts)
        yield f"timestamp {name}, RST", segment("RST", ts=ts)
    yield "no timestamp", segment(ts=None)
    yield "no timestamp, SYN", segment("SYN", ts=None)
    yield "no timestamp, RST", segment("RST", ts=None)
    # Three of these show a loss: no new window, and with SACK, what came behind the hole.
    same = {"window": record["snd_wnd"] >> record["shift"]}
    yield "duplicate ACK", segment(**same, **({"sack": [add(una, 1448), add(una, 2896)]} if record["sack"] else {}))
    if record["in_flight"] > record["mss"]:
        yield "duplicate ACK, a block that ends at it", segment(**same, sack=[add(una, -9), una])
        yield "duplicate ACK, a block", segment(sack=[add(una, 1448), add(una, 2896)])
        yield "duplicate ACK and FIN", segment("FIN+ACK", sack=[add(una, 1448), add(una, 2896)], **same)
        yield "ACK of the first segment", segment(ack=record["mss"])


def short(record):
    """A record without what is zero."""
    fields = {"state": record["state"]} | {name: record[name] for name in NUMBERS if record[name]}
    fields |= {"further": record["further"]} if record["further"] else {}
    return fields | {"flags": [name for name in FLAGS if record[name]]}


def vector(name, path, record, event, now):
    after, segment, notices, rows = Model(path, record, event, now).step()
    made = {"name": name, "rows": rows}
    if path:
        made["path"] = path
    return made | {
        "record": short(record), "event": event, "now": now,
        "then": {"record": short(after), "segment": segment, "notices": notices},
    }  # fmt: skip


PATHS = {
    "": {},
    "sampled path": {"srtt": 40_000, "rttvar": 60_000, "send_mss": 1400, "stamp_offset": 0xFFFF_FFF0},
    "burst": {"burst": 4},
    "intervals": {"intervals": LIMITS["intervals"]},
    "bare path": {"stamps": False, "sack": False, "shift": 0, "srtt": 900, "default_mss": 1220},
}


def generated():
    kept = set()
    for path_name, path in PATHS.items():
        for base, numbers in BASES.items():
            several = path_name in ("burst", "intervals")
            if path_name and base != "plain" and not several:
                continue
            for situation, record in {"burst": bursts, "intervals": holes}.get(path_name, situations)(*numbers):
                record["more"] = Model(path, record, {"kind": "flush"}, NOW).following() is not None
                for event_name, event in (*calls(), *icmp(record), *segments(record, numbers[1])):
                    made = vector("", path, record, event, NOW)
                    then = made["then"]
                    kinds = tuple(tuple(n for n in notice if isinstance(n, str)) for notice in then["notices"])
                    segment = then["segment"]
                    shape = segment and (segment["flags"], tuple(segment.get("options", {})), "payload" in segment)
                    # Paths matter to the handshake and to timers alone.
                    if path_name and not several and not (shape and record["state"] in ("CLOSED", "SYN_SENT", "ESTABLISHED")):
                        continue
                    # What the segment has, not what became of it alone: several conditions may lead to one row.
                    has = (event.get("flags"), "ts" in event.get("options", {}))
                    effect = (kinds, shape, has if not path_name else ()) if base == "plain" else ()
                    key = (path_name, base, tuple(made["rows"]), effect)
                    if key in kept:
                        continue
                    kept.add(key)
                    made["name"] = ", ".join(word for word in (situation, event_name, path_name, base) if word)
                    yield made


def by_hand():
    for case in tcp_hand.CASES:
        record = new_record(**case["record"])
        expected = dict(record)
        if case.get("fresh"):
            expected = new_record()
        expected |= case["change"]
        made = vector("by hand: " + case["name"], case.get("path", {}), record, case["event"], case["now"])
        made["path"] = PATH | case.get("path", {})
        then = {"record": short(expected), "segment": case["segment"], "notices": case["notices"]}
        if made["then"] != then:
            raise SystemExit(f"{made['name']}: the model disagrees\nby hand {then}\nmodel   {made['then']}")
        yield made


def all_vectors():
    return [*by_hand(), *generated()]


def uncovered(vectors):
    used = {row for made in vectors for row in made["rows"]}
    return [f"{row['id']}:{state}" for row in SPEC["row"] for state in row["in"] if f"{row['id']}:{state}" not in used]


if __name__ == "__main__":
    made = all_vectors()
    print(len(made), "vectors; rows without one:", uncovered(made))
