"""Vectors computed by hand: bugs of other stacks, and what gVisor's packetimpact asks of a client.

`change` is what differs in the record; with `fresh`, from an empty one. Times: now is 10 000 ms. The path has no
round-trip time yet, so the retransmission timeout is 1000 ms. The receive window is 65 535: it is not scaled.
"""

NOW = 10_000_000
OPEN = {
    "state": "ESTABLISHED", "lived": True, "incarnation": 1, "snd_una": 1000, "rcv_nxt": 5000, "snd_wnd": 8192,
    "snd_wl1": 5000, "wnd_log": 13, "mss": 1460,
}  # fmt: skip
# 100 bytes at 1000 that were sent 30 ms ago.
OUT = OPEN | {"left": 100, "in_flight": 100, "asked": True, "timed": True, "deadline": 10_970, "sent": NOW - 30_000}
# FIN at 1000, sent 30 ms ago.
CLOSED_HERE = OPEN | {"state": "FIN_WAIT_1", "fin_due": True, "fin_out": True, "timed": True, "deadline": 10_970,
                      "sent": NOW - 30_000, "limited": True, "limit": 69_970}  # fmt: skip
OPENING = {"state": "SYN_SENT", "lived": True, "incarnation": 1, "snd_una": 1000, "timed": True, "deadline": 10_970,
           "sent": NOW - 30_000}  # fmt: skip
OWED = {"ack_due": True, "ack_now": True, "ack_by": 10_040}
CHALLENGED = OWED | {"challenge": True, "challenged": 10_000}
CASES = []


def segment(flags, seq, ack=None, length=0, window=8192, **options):
    event = {"kind": "segment", "flags": flags, "seq": seq, "window": window}
    event |= {} if ack is None else {"ack": ack}
    event |= {"len": length} if length else {}
    return event | ({"options": options} if options else {})


def sent(flags, seq, ack, payload=None, window=65535, options=None):
    made = {"flags": flags, "seq": seq, "ack": ack, "window": window}
    made |= {"options": options} if options else {}
    return made | ({"payload": payload} if payload else {})


def case(name, record, event, change, notices=(), out=None, fresh=False, path=None, now=NOW):
    CASES.append({
        "name": name, "record": record, "event": event, "now": now, "change": change, "segment": out,
        "notices": [list(notice) for notice in notices], "fresh": fresh, "path": path or {},
    })  # fmt: skip


def after(number):
    """What is left of a record whose connection is over."""
    return {"snd_una": number, "incarnation": 1, "lived": True}


# A lost ACK: the peer sends its data again and must get another ACK (dperf never sends it).
case("data again after a lost ACK", OPEN, segment("ACK", 4900, 1000, 100), OWED, [("dropped", "outside")])
case("the ACK for it", OPEN | OWED | {"unacked": 7}, {"kind": "flush"},
     {"ack_due": False, "ack_now": False, "unacked": 0}, out=sent("ACK", 1000, 5000))  # fmt: skip
case("data again, a bit of it new", OPEN, segment("ACK", 4990, 1000, 30),
     {"rcv_nxt": 5020, "unacked": 20, "ack_due": True, "ack_by": 10_040}, [("data", 10, 20)])  # fmt: skip

# The first response of a connection, where a server that has Nagle's algorithm on waits for our ACK.
FIRST = OPEN | {"asked": True, "quick": True}
case("text of the first response", FIRST, segment("ACK", 5000, 1000, 30),
     OWED | {"rcv_nxt": 5030, "unacked": 30}, [("data", 0, 30)])  # fmt: skip
case("the first response is whole", FIRST, {"kind": "answered"}, {"asked": False, "quick": False}, [("done",)])
case("SYN+ACK on a quick path", OPENING, segment("SYN+ACK", 4999, 1001),
     {"state": "ESTABLISHED", "lived": True, "quick": True, "incarnation": 1, "snd_una": 1001, "snd_wnd": 8192,
      "snd_wl1": 4999, "rcv_nxt": 5000, "sent": NOW - 30_000, "mss": 536, "unacked": 1, "wnd_log": 13} | OWED,
     [("rtt", 30_000), ("connected", 536)], fresh=True, path={"quick": True})  # fmt: skip

# A full accept queue: Linux dropped our ACK and repeats SYN+ACK. The request's timer stays.
case("SYN+ACK again, request out", OUT, segment("SYN+ACK", 4999, 1000), CHALLENGED,
     [("challenged",), ("dropped", "outside")])  # fmt: skip

# Duplicate ACKs change no timer (smoltcp 62) and count nothing that could overflow (224).
case("duplicate ACK", OUT, segment("ACK", 5000, 1000), {})
case("ACK of a part restarts the timer", OUT, segment("ACK", 5000, 1040),
     {"snd_una": 1040, "left": 60, "in_flight": 60, "deadline": 11_000}, [("rtt", 30_000)])  # fmt: skip

# Loops of ACKs (smoltcp 29, esp-idf 2425): what is in the window and empty is never answered, all else rarely.
LATELY = OPEN | {"challenge": True, "challenged": 9501}
case("ACK of the unsent, a challenge ACK 499 ms ago", LATELY, segment("ACK", 5000, 1001), {},
     [("challenge_limited",), ("dropped", "unsent_ack")])  # fmt: skip
case("ACK of the unsent, a challenge ACK 500 ms ago", LATELY | {"challenged": 9500}, segment("ACK", 5000, 1001),
     CHALLENGED, [("challenged",), ("dropped", "unsent_ack")])  # fmt: skip
case("empty ACK outside the window, lately challenged", LATELY, segment("ACK", 4999, 1000), {},
     [("challenge_limited",), ("dropped", "outside")])  # fmt: skip
case("window of zero, nothing to send", OPEN, segment("ACK", 5000, 1000, window=0), {"snd_wnd": 0})

# A segment of another connection, or of none, sets nobody's window (smoltcp 518).
case("ACK without a connection", {"lived": True, "snd_una": 900}, segment("ACK", 5000, 1000), {},
     [("dropped", "stray")], sent("RST", 1000, 0, window=0))  # fmt: skip
case("text without ACK and connection", {}, segment("FIN", 5000, length=4), {}, [("dropped", "stray")],
     sent("RST+ACK", 0, 5005, window=0))  # fmt: skip

# The window opens from zero (fpga-network-stack 21).
WAITING = OPEN | {"snd_wnd": 0, "left": 100, "asked": True, "persist": True, "timed": True, "deadline": 10_000}
case("window opens", WAITING, segment("ACK", 5000, 1000),
     {"snd_wnd": 8192, "persist": False, "in_flight": 100, "sent": NOW, "deadline": 11_000}, [("unblocked",)],
     sent("PSH+ACK", 1000, 5000, [100, 100]))  # fmt: skip
case("window opens too little", WAITING, segment("ACK", 5000, 1000, window=99), {"snd_wnd": 99})
case("zero window: the first probe", WAITING, {"kind": "timer"},
     {"in_flight": 1, "retransmitted": True, "backoff": 1, "deadline": 12_000}, [("probed",)],
     sent("ACK", 1000, 5000, [100, 1]))  # fmt: skip
case("zero window: the fourth probe", WAITING | {"in_flight": 1, "retransmitted": True, "backoff": 3},
     {"kind": "timer"}, {"backoff": 4, "deadline": 26_000}, [("probed",)], sent("ACK", 1000, 5000, [100, 1]))  # fmt: skip
case("zero window: the peer answers the probe", WAITING | {"in_flight": 1, "retransmitted": True, "backoff": 3},
     segment("ACK", 5000, 1000, window=0), {})  # fmt: skip
case("zero window: the peer takes the probe's byte", WAITING | {"in_flight": 1, "retransmitted": True, "backoff": 3},
     segment("ACK", 5000, 1001, window=0),
     {"snd_una": 1001, "left": 99, "in_flight": 0, "deadline": 18_000})  # fmt: skip
case("send into a window of zero", OPEN | {"snd_wnd": 0}, {"kind": "send", "length": 100},
     {"left": 100, "asked": True, "persist": True, "timed": True, "deadline": 11_000}, [("blocked",)])  # fmt: skip

# Half of the largest window is filled (RFC 9293, 3.8.6.2.1, rule 3); less waits for the persist timer.
SMALL = OPEN | {"snd_wnd": 512, "wnd_log": 10}
case("half of the largest window", SMALL, {"kind": "send", "length": 2000},
     {"left": 2000, "asked": True, "in_flight": 512, "timed": True, "deadline": 11_000, "sent": NOW},
     out=sent("ACK", 1000, 5000, [2000, 512]))  # fmt: skip
case("less than half of the largest window", SMALL | {"snd_wnd": 511}, {"kind": "send", "length": 2000},
     {"left": 2000, "asked": True, "persist": True, "timed": True, "deadline": 11_000}, [("blocked",)])  # fmt: skip
case("the window opens to half of the largest", WAITING | {"wnd_log": 7}, segment("ACK", 5000, 1000, window=64),
     {"snd_wnd": 64, "persist": False, "in_flight": 64, "sent": NOW, "deadline": 11_000}, [("unblocked",)],
     sent("ACK", 1000, 5000, [100, 64]))  # fmt: skip

# Beyond the peer's window, an ACK or RST would be dropped by it: they stand at its end, as Linux sends them.
SHRUNK = OUT | {"snd_wnd": 0, "persist": True}
case("ACK while the window is closed", SHRUNK | OWED | {"unacked": 7}, {"kind": "flush"},
     {"ack_due": False, "ack_now": False, "unacked": 0}, out=sent("ACK", 1000, 5000))  # fmt: skip
case("ACK while the window is smaller than what is out", SHRUNK | OWED | {"snd_wnd": 30}, {"kind": "flush"},
     {"ack_due": False, "ack_now": False}, out=sent("ACK", 1030, 5000))  # fmt: skip
case("ACK while the window is as large as what is out", SHRUNK | OWED | {"snd_wnd": 100}, {"kind": "flush"},
     {"ack_due": False, "ack_now": False}, out=sent("ACK", 1100, 5000))  # fmt: skip
case("abort while the window is closed", SHRUNK, {"kind": "abort"}, after(1100),
     [("cut_off",), ("closed", "aborted")], sent("RST+ACK", 1000, 5000, window=0), fresh=True)  # fmt: skip
case("abort while a wrapped window is closed", SHRUNK | {"snd_una": 0xFFFF_FFCE, "snd_wnd": 60}, {"kind": "abort"},
     after(0x32), [("cut_off",), ("closed", "aborted")], sent("RST+ACK", 10, 5000, window=0), fresh=True)  # fmt: skip

# FIN has a number and needs room for it; a window that closes behind it does not stop its retransmission.
case("the window takes the request and no FIN", OPEN | {"snd_wnd": 100}, {"kind": "send", "length": 100, "close": True},
     OUT | {"state": "FIN_WAIT_1", "snd_wnd": 100, "fin_due": True, "deadline": 11_000, "sent": NOW},
     out=sent("PSH+ACK", 1000, 5000, [100, 100]))  # fmt: skip
case("the window takes the request and FIN", OPEN | {"snd_wnd": 101}, {"kind": "send", "length": 100, "close": True},
     OUT | {"state": "FIN_WAIT_1", "snd_wnd": 101, "fin_due": True, "fin_out": True, "deadline": 11_000, "sent": NOW},
     out=sent("FIN+PSH+ACK", 1000, 5000, [100, 100]))  # fmt: skip
case("a window of zero, FIN out", CLOSED_HERE, segment("ACK", 5000, 1000, window=0), {"snd_wnd": 0})

# Longer patience than times can be compared counts as 11 days.
case("patience of 49 days", OPEN, {"kind": "send", "length": 100, "patience": 0xFFFF_FFFF},
     OUT | {"sent": NOW, "deadline": 11_000, "limited": True, "limit": 1_000_010_000},
     out=sent("PSH+ACK", 1000, 5000, [100, 100]))  # fmt: skip

# With segments of 64 KiB, two of them are more than can be counted: 65 535 bytes are acknowledged at once.
case("65 535 bytes of the largest segments", OPEN | {"unacked": 40_000, "ack_due": True, "ack_by": 10_020},
     segment("ACK", 5000, 1000, 25_535), {"rcv_nxt": 30_535, "unacked": 65_535, "ack_now": True},
     [("data", 0, 25_535)], path={"mss": 65_495})  # fmt: skip

# The window shrinks: to less than what is out, and to zero.
case("window shrinks below what is out", OUT, segment("ACK", 5000, 1000, window=50), {"snd_wnd": 50})
case("what is out is sent again beyond a shrunk window", OUT | {"snd_wnd": 50, "deadline": 10_000}, {"kind": "timer"},
     {"retransmitted": True, "retries": 1, "backoff": 1, "deadline": 12_000}, [("retransmitted",)],
     sent("PSH+ACK", 1000, 5000, [100, 100]))  # fmt: skip
case("window shrinks to zero", OUT, segment("ACK", 5000, 1000, window=0),
     {"snd_wnd": 0, "persist": True, "deadline": 11_000}, [("blocked",)])  # fmt: skip
case("an older segment does not set the window", OUT | {"snd_wl1": 5001}, segment("ACK", 5000, 1000, window=0), {})

# Numbers wrap in the middle of a request and of a response.
case("a request across the wrap is acknowledged", OUT | {"snd_una": 0xFFFF_FFCE}, segment("ACK", 5000, 0x32),
     {"snd_una": 0x32, "left": 0, "in_flight": 0, "timed": False, "deadline": 0},
     [("rtt", 30_000), ("acked",)])  # fmt: skip
case("a response across the wrap", OPEN | {"rcv_nxt": 0xFFFF_FFF0, "snd_wl1": 0xFFFF_FFF0},
     segment("ACK", 0xFFFF_FFF0, 1000, 100),
     {"rcv_nxt": 0x54, "unacked": 100, "ack_due": True, "ack_by": 10_040}, [("data", 0, 100)])  # fmt: skip
case("a request across the wrap is sent again", OUT | {"snd_una": 0xFFFF_FFCE, "deadline": 10_000}, {"kind": "timer"},
     {"retransmitted": True, "retries": 1, "backoff": 1, "deadline": 12_000}, [("retransmitted",)],
     sent("PSH+ACK", 0xFFFF_FFCE, 5000, [100, 100]))  # fmt: skip

# The same ports again (Limago 7): above the last life's numbers, so that a TIME_WAIT of the peer takes the SYN.
SYN = {"mss": 1460, "shift": 7, "sack_permitted": True, "ts": [10_000, 0]}
LIFE = {"incarnation": 2, "lived": True, "state": "SYN_SENT", "sent": NOW, "timed": True, "deadline": 11_000}
case("open again, the clock's number is too low", after(70_000), {"kind": "open", "isn": 70_000},
     LIFE | {"snd_una": 135_536}, out=sent("SYN", 135_536, 0, options=SYN), fresh=True)  # fmt: skip
case("open again, the clock's number is above", after(70_000), {"kind": "open", "isn": 70_001},
     LIFE | {"snd_una": 70_001}, out=sent("SYN", 70_001, 0, options=SYN), fresh=True)  # fmt: skip
case("open again across the wrap", after(0xFFFF_FFFF), {"kind": "open", "isn": 0xFFFF_0000},
     LIFE | {"snd_una": 0xFFFF}, out=sent("SYN", 0xFFFF, 0, options=SYN), fresh=True)  # fmt: skip

# FIN: in a segment with text, ahead of a hole, twice.
case("FIN with text", OPEN, segment("FIN+PSH+ACK", 5000, 1000, 10),
     OWED | {"state": "LAST_ACK", "rcv_nxt": 5011, "fin_due": True, "fin_out": True, "limited": True,
             "limit": 70_000, "timed": True, "deadline": 11_000, "sent": NOW, "ack_due": False, "ack_now": False},
     [("data", 0, 10), ("ended",)], sent("FIN+ACK", 1000, 5011))  # fmt: skip
case("FIN ahead of a hole", OPEN, segment("FIN+ACK", 5100, 1000), OWED | {"snd_wl1": 5100},
     [("dropped", "early_fin")])  # fmt: skip
case("text and FIN ahead of a hole", OPEN, segment("FIN+ACK", 5100, 1000, 10),
     OWED | {"ooo_start": 5100, "ooo_len": 10, "ooo_fin": True, "snd_wl1": 5100}, [("early", 0, 10)])  # fmt: skip
case("the hole before text and FIN is filled", OPEN | {"ooo_start": 5100, "ooo_len": 10, "ooo_fin": True},
     segment("ACK", 5000, 1000, 100),
     {"state": "LAST_ACK", "rcv_nxt": 5111, "ooo_start": 0, "ooo_len": 0, "ooo_fin": False, "fin_due": True,
      "fin_out": True, "limited": True, "limit": 70_000, "timed": True, "deadline": 11_000, "sent": NOW,
      "ack_by": 10_040},
     [("data", 0, 100), ("filled", 10), ("ended",)], sent("FIN+ACK", 1000, 5111))  # fmt: skip
LAST = CLOSED_HERE | {"state": "LAST_ACK", "rcv_nxt": 5001}
case("FIN twice", LAST, segment("FIN+ACK", 5000, 1000), OWED, [("dropped", "outside")])
case("FIN again in TIME_WAIT",
     OPEN | {"state": "TIME_WAIT", "snd_una": 1001, "rcv_nxt": 5001, "timed": True, "deadline": 10_500},
     segment("FIN+ACK", 5000, 1001), OWED | {"deadline": 11_000}, [("dropped", "outside")])  # fmt: skip
case("FIN is sent again", CLOSED_HERE | {"deadline": 10_000}, {"kind": "timer"},
     {"retransmitted": True, "retries": 1, "backoff": 1, "deadline": 12_000}, [("retransmitted",)],
     sent("FIN+ACK", 1000, 5000))  # fmt: skip
case("both close at once", CLOSED_HERE, segment("FIN+ACK", 5000, 1000),
     OWED | {"state": "CLOSING", "rcv_nxt": 5001, "unacked": 1}, [("ended",)])  # fmt: skip
case("both closed at once, FIN acknowledged",
     CLOSED_HERE | {"state": "CLOSING", "rcv_nxt": 5001}, segment("ACK", 5001, 1001),
     {"state": "TIME_WAIT", "snd_una": 1001, "fin_due": False, "fin_out": False, "limited": False, "limit": 0,
      "deadline": 11_000},
     [("rtt", 30_000)])  # fmt: skip
case("FIN and the ACK of ours in one segment", CLOSED_HERE, segment("FIN+ACK", 5000, 1001),
     OWED | {"state": "TIME_WAIT", "snd_una": 1001, "rcv_nxt": 5001, "unacked": 1, "fin_due": False, "fin_out": False,
             "limited": False, "limit": 0, "deadline": 11_000},
     [("rtt", 30_000), ("ended",)])  # fmt: skip

# RST in SYN_SENT, with and without ACK.
case("RST+ACK of the SYN", OPENING, segment("RST+ACK", 0, 1001), after(1001), [("closed", "refused")], fresh=True)
case("RST+ACK of something else", OPENING, segment("RST+ACK", 0, 1000), {}, [("dropped", "handshake")])
case("RST without ACK in SYN_SENT", OPENING, segment("RST", 1001), {}, [("dropped", "handshake")])
case("ACK of an old connection in SYN_SENT", OPENING, segment("ACK", 7777, 333), {}, [("dropped", "handshake")],
     sent("RST", 333, 0, window=0))  # fmt: skip
case("SYN without ACK in SYN_SENT", OPENING, segment("SYN", 4999), {}, [("dropped", "handshake")])
case("a hard ICMP error in SYN_SENT", OPENING, {"kind": "unreachable", "hard": True, "seq": 1000}, after(1001),
     [("closed", "unreachable")], fresh=True)  # fmt: skip

# RST exactly at the next number, in the window, outside.
case("RST at the next number", OUT, segment("RST", 5000), after(1100), [("failed", "reset"), ("closed", "reset")],
     fresh=True)  # fmt: skip
case("RST one further", OPEN, segment("RST", 5001), CHALLENGED, [("challenged",), ("dropped", "reset")])
case("RST at the last number of the window", OPEN, segment("RST", 5000 + 65_534), CHALLENGED,
     [("challenged",), ("dropped", "reset")])  # fmt: skip
case("RST behind the window", OPEN, segment("RST", 5000 + 65_535), {}, [("dropped", "outside")])
case("RST before the window", OPEN, segment("RST", 4999), {}, [("dropped", "outside")])
case("RST in TIME_WAIT", OPEN | {"state": "TIME_WAIT", "timed": True, "deadline": 10_500}, segment("RST", 5000),
     after(1000), [("closed", "finished"), ("quarantine", 1000)], fresh=True)  # fmt: skip

# A header in segments of one byte, and two responses in one segment: TCP says how many bytes, no more.
case("one byte", OPEN, segment("ACK", 5000, 1000, 1),
     {"rcv_nxt": 5001, "unacked": 1, "ack_due": True, "ack_by": 10_040}, [("data", 0, 1)])  # fmt: skip
case("a full segment that acknowledges the request", OUT, segment("PSH+ACK", 5000, 1100, 1460),
     {"snd_una": 1100, "left": 0, "in_flight": 0, "timed": False, "deadline": 0, "rcv_nxt": 6460, "unacked": 1460,
      "ack_due": True, "ack_by": 10_040},
     [("rtt", 30_000), ("acked",), ("data", 0, 1460)])  # fmt: skip
case("a second full segment", OPEN | {"unacked": 1460, "ack_due": True, "ack_by": 10_039},
     segment("ACK", 5000, 1000, 1460),
     {"rcv_nxt": 6460, "unacked": 2920, "ack_now": True}, [("data", 0, 1460)])  # fmt: skip

# packetimpact: segments that are not acceptable, in each place.
case("text behind the window", OPEN, segment("ACK", 5000 + 65_535, 1000, 1), OWED, [("dropped", "outside")])
case("text at the window's last byte and beyond", OPEN, segment("ACK", 5000 + 65_534, 1000, 2),
     OWED | {"ooo_start": 70_534, "ooo_len": 1, "snd_wl1": 70_534}, [("early", 0, 1)])  # fmt: skip
case("an ACK as old as any window", OPEN, segment("ACK", 5000, 1000 - 8192 & 0xFFFF_FFFF, 1),
     {"rcv_nxt": 5001, "unacked": 1, "ack_due": True, "ack_by": 10_040}, [("data", 0, 1)])  # fmt: skip
case("an ACK older than any window", OPEN, segment("ACK", 5000, 1000 - 8193 & 0xFFFF_FFFF, 1), CHALLENGED,
     [("challenged",), ("dropped", "old_ack")])  # fmt: skip
case("a second hole", OPEN | {"ooo_start": 5100, "ooo_len": 10}, segment("ACK", 5200, 1000, 10),
     OWED | {"snd_wl1": 5200}, [("dropped", "hole")])  # fmt: skip

# An owner that keeps several intervals: the one that changed last stands first, and so do the SACK blocks (RFC 2018, 4).
SEVERAL = {"intervals": 32}
TWO = OPEN | {"ooo_start": 5200, "ooo_len": 10, "further": [[5100, 10]]}
case("a second hole that is kept", OPEN | {"ooo_start": 5100, "ooo_len": 10}, segment("ACK", 5200, 1000, 10),
     OWED | {"snd_wl1": 5200, "ooo_start": 5200, "further": [[5100, 10]]}, [("early", 0, 10)], path=SEVERAL)  # fmt: skip
case("text behind the older interval", TWO, segment("ACK", 5110, 1000, 20),
     OWED | {"snd_wl1": 5110, "ooo_start": 5100, "ooo_len": 30, "further": [[5200, 10]]}, [("early", 0, 20)],
     path=SEVERAL)  # fmt: skip
case("text joins two intervals", TWO, segment("ACK", 5105, 1000, 100),
     OWED | {"snd_wl1": 5105, "ooo_start": 5100, "ooo_len": 110, "further": []}, [("early", 5, 90)],
     path=SEVERAL)  # fmt: skip
case("the first of two holes is filled", TWO, segment("ACK", 5000, 1000, 100),
     OWED | {"rcv_nxt": 5110, "unacked": 110, "further": []}, [("data", 0, 100), ("filled", 10)],
     path=SEVERAL)  # fmt: skip
case("both holes are filled", TWO, segment("ACK", 4990, 1000, 310),
     OWED | {"rcv_nxt": 5300, "unacked": 300, "ooo_start": 0, "ooo_len": 0, "further": []},
     [("data", 10, 100), ("filled", 10), ("data", 120, 90), ("filled", 10), ("data", 220, 90)], path=SEVERAL)  # fmt: skip
MANY = TWO | {"further": [[5100, 10], [5400, 10], [5300, 10]]}
FULL = MANY | {"further": MANY["further"] + [[6000 + 20 * nth, 10] for nth in range(28)]}
case("an interval more than there may be", FULL, segment("ACK", 5500, 1000, 10), OWED | {"snd_wl1": 5500},
     [("dropped", "hole")], path=SEVERAL)  # fmt: skip
case("text that reaches all of five intervals", FULL | {"snd_wl1": 4990}, segment("ACK", 5000, 1000, 1030),
     OWED | {"snd_wl1": 5000, "rcv_nxt": 5410, "unacked": 410, "ooo_start": 6000, "ooo_len": 10,
             "further": FULL["further"][4:]},
     [("data", 0, 100), ("filled", 10), ("data", 110, 90), ("filled", 10), ("data", 210, 90), ("filled", 10),
      ("data", 310, 90), ("filled", 10)], path=SEVERAL)  # fmt: skip
case("four intervals without SACK", MANY | OWED, {"kind": "flush"}, {"ack_due": False, "ack_now": False},
     out=sent("ACK", 1000, 5000), path=SEVERAL)  # fmt: skip
case("the same with SACK", MANY | OWED | {"sack": True}, {"kind": "flush"}, {"ack_due": False, "ack_now": False},
     out=sent("ACK", 1000, 5000, options={"sack": [5200, 5210, 5100, 5110, 5400, 5410, 5300, 5310]}),
     path=SEVERAL)  # fmt: skip
case("three beside timestamps", MANY | OWED | {"sack": True, "stamped": True, "ts_recent": 7}, {"kind": "flush"},
     {"ack_due": False, "ack_now": False}, path=SEVERAL,
     out=sent("ACK", 1000, 5000, options={"ts": [10_000, 7], "sack": [5200, 5210, 5100, 5110, 5400, 5410]}))  # fmt: skip
ENDED = TWO | {"ooo_fin": True}
case("text behind the FIN of the last interval", ENDED, segment("ACK", 5300, 1000, 10), OWED | {"snd_wl1": 5300},
     [("dropped", "hole")], path=SEVERAL)  # fmt: skip
case("FIN behind the last interval", TWO, segment("FIN+ACK", 5210, 1000), OWED | {"snd_wl1": 5210, "ooo_fin": True},
     path=SEVERAL)  # fmt: skip
case("FIN behind another interval", TWO, segment("FIN+ACK", 5110, 1000), OWED | {"snd_wl1": 5110},
     [("dropped", "early_fin")], path=SEVERAL)  # fmt: skip

# PAWS, and what lacks a timestamp.
STAMPED = OPEN | {"stamped": True, "mss": 1448, "ts_recent": 500}
case("an old timestamp", STAMPED, segment("ACK", 5000, 1000, 10, ts=[499, 1]), OWED, [("dropped", "paws")])
case("an old timestamp half the numbers ago", STAMPED, segment("ACK", 5000, 1000, 10, ts=[0x8000_01F5, 1]), OWED,
     [("dropped", "paws")])  # fmt: skip
case("an old timestamp does not stop RST", STAMPED, segment("RST", 5000, ts=[499, 1]), after(1000),
     [("closed", "reset")], fresh=True)  # fmt: skip
case("a newer timestamp is echoed later", STAMPED, segment("ACK", 5000, 1000, 10, ts=[501, 1]),
     {"ts_recent": 501, "rcv_nxt": 5010, "unacked": 10, "ack_due": True, "ack_by": 10_040}, [("data", 0, 10)])  # fmt: skip
case("a timestamp ahead of a hole is not echoed", STAMPED, segment("ACK", 5100, 1000, 10, ts=[501, 1]),
     OWED | {"ooo_start": 5100, "ooo_len": 10, "snd_wl1": 5100}, [("early", 0, 10)])  # fmt: skip
case("no timestamp", STAMPED, segment("ACK", 5000, 1000, 10), {}, [("dropped", "unstamped")])

# Retransmission, its doubling, Karn, and the user's time-out.
case("the request is sent again", OUT | {"deadline": 10_000}, {"kind": "timer"},
     {"retransmitted": True, "retries": 1, "backoff": 1, "deadline": 12_000}, [("retransmitted",)],
     sent("PSH+ACK", 1000, 5000, [100, 100]))  # fmt: skip
case("the third time is told",
     OUT | {"deadline": 10_000, "retransmitted": True, "retries": 2, "backoff": 2}, {"kind": "timer"},
     {"retries": 3, "backoff": 3, "deadline": 18_000}, [("slow",), ("retransmitted",)],
     sent("PSH+ACK", 1000, 5000, [100, 100]))  # fmt: skip
case("no round-trip time from what was sent twice", OUT | {"retransmitted": True, "retries": 1, "backoff": 1},
     segment("ACK", 5000, 1100),
     {"snd_una": 1100, "left": 0, "in_flight": 0, "timed": False, "deadline": 0, "retransmitted": False,
      "retries": 0},
     [("acked",)])  # fmt: skip
case("patience ends", OUT | {"limited": True, "limit": 10_000}, {"kind": "timer"}, after(1100),
     [("failed", "timed_out"), ("closed", "timed_out")], sent("RST+ACK", 1100, 5000, window=0), fresh=True)  # fmt: skip
case("smaller segments", OUT | {"left": 1460, "in_flight": 1460}, {"kind": "mtu", "mss": 1360, "seq": 1000},
     {"mss": 1360, "retransmitted": True, "deadline": 11_000}, [("mss_lowered", 1360), ("retransmitted",)],
     sent("ACK", 1000, 5000, [1460, 1360]))  # fmt: skip
case("ICMP that quotes nothing in flight", OUT, {"kind": "mtu", "mss": 600, "seq": 1100}, {}, [("dropped", "icmp")])

# Several segments in flight: a path of four. Two are out, of 1460 bytes each, and 5000 bytes are left.
FOUR = {"burst": 4}
TWO = OUT | {"left": 5000, "in_flight": 2920, "more": True}
FULL = TWO | {"left": 10_000, "in_flight": 5840, "more": False}
FLUSH = {"kind": "flush"}
case("the third of four segments", TWO, FLUSH, {"in_flight": 4380}, out=sent("ACK", 3920, 5000, [2080, 1460]), path=FOUR)
case("the end of the request", TWO | {"in_flight": 4380}, FLUSH, {"in_flight": 5000, "more": False},
     out=sent("PSH+ACK", 5380, 5000, [620, 620]), path=FOUR)  # fmt: skip
case("the next segment across the wrap", TWO | {"snd_una": 0xFFFF_FB50}, FLUSH, {"in_flight": 4380},
     out=sent("ACK", 1720, 5000, [2080, 1460]), path=FOUR)  # fmt: skip
case("the next segment carries the ACK", TWO | OWED | {"unacked": 7}, FLUSH,
     {"in_flight": 4380, "ack_due": False, "ack_now": False, "unacked": 0},
     out=sent("ACK", 3920, 5000, [2080, 1460]), path=FOUR)  # fmt: skip
case("four are out", FULL, FLUSH, {}, path=FOUR)
case("the window takes the third segment", TWO | {"snd_wnd": 4380}, FLUSH, {"in_flight": 4380, "more": False},
     out=sent("ACK", 3920, 5000, [2080, 1460]), path=FOUR)  # fmt: skip
case("the window takes no third segment", TWO | {"snd_wnd": 4379, "more": False}, FLUSH, {}, path=FOUR)
case("two are out, where one may be", TWO, FLUSH, {"more": False}, path={"burst": 1})
case("the first of several is sent", OPEN, {"kind": "send", "length": 5000},
     {"left": 5000, "in_flight": 1460, "asked": True, "timed": True, "deadline": 11_000, "sent": NOW, "more": True},
     out=sent("ACK", 1000, 5000, [5000, 1460]), path=FOUR)  # fmt: skip

# An ACK lets the next one leave. The round trip of the first is measured, and of no other.
case("the first of four is acknowledged", FULL, segment("ACK", 5000, 2460),
     {"snd_una": 2460, "left": 8540, "in_flight": 4380, "untimed": True, "deadline": 11_000, "more": True},
     [("rtt", 30_000)], path=FOUR)  # fmt: skip
case("the second of four is acknowledged", FULL | {"untimed": True, "backoff": 1}, segment("ACK", 5000, 2460),
     {"snd_una": 2460, "left": 8540, "in_flight": 4380, "backoff": 0, "deadline": 11_000, "more": True},
     path=FOUR)  # fmt: skip
case("all of several are acknowledged", TWO | {"left": 2920, "untimed": True, "more": False}, segment("ACK", 5000, 3920),
     {"snd_una": 3920, "left": 0, "in_flight": 0, "untimed": False, "timed": False, "deadline": 0}, [("acked",)],
     path=FOUR)  # fmt: skip

# Three duplicate ACKs: the first segment was lost (RFC 5681, 3.2). Then one segment at a time.
case("a first duplicate ACK", FULL, segment("ACK", 5000, 1000), {"retries": 1}, path=FOUR)
case("a third duplicate ACK", FULL | {"retries": 2}, segment("ACK", 5000, 1000),
     {"retries": 1, "retransmitted": True, "deadline": 11_000}, [("retransmitted",)],
     sent("ACK", 1000, 5000, [10_000, 1460]), path=FOUR)  # fmt: skip
case("a third duplicate ACK before the burst is out", TWO | {"retries": 2}, segment("ACK", 5000, 1000),
     {"retries": 1, "retransmitted": True, "deadline": 11_000, "more": False}, [("retransmitted",)],
     sent("ACK", 1000, 5000, [5000, 1460]), path=FOUR)  # fmt: skip
case("a fourth duplicate ACK", FULL | {"retries": 1, "retransmitted": True}, segment("ACK", 5000, 1000), {}, path=FOUR)
case("a new window is no duplicate", FULL | {"retries": 2}, segment("ACK", 5000, 1000, window=8000),
     {"snd_wnd": 8000}, path=FOUR)  # fmt: skip
case("text is no duplicate", FULL | {"retries": 2}, segment("ACK", 5000, 1000, 10),
     {"rcv_nxt": 5010, "unacked": 10, "ack_due": True, "ack_by": 10_040}, [("data", 0, 10)], path=FOUR)  # fmt: skip
case("with SACK, a new window and a block", FULL | {"retries": 2, "sack": True},
     segment("ACK", 5000, 1000, window=8000, sack=[2460, 6840]),
     {"snd_wnd": 8000, "retries": 1, "retransmitted": True, "deadline": 11_000}, [("retransmitted",)],
     sent("ACK", 1000, 5000, [10_000, 1460]), path=FOUR)  # fmt: skip
case("with SACK, a block that was acknowledged", FULL | {"retries": 2, "sack": True},
     segment("ACK", 5000, 1000, sack=[900, 1000]), {}, path=FOUR)  # fmt: skip
case("one segment has no duplicates", FULL | {"in_flight": 1460, "retries": 0, "more": True},
     segment("ACK", 5000, 1000), {}, path=FOUR)  # fmt: skip
case("several are out, late", TWO | {"deadline": 10_000}, {"kind": "timer"},
     {"retransmitted": True, "retries": 1, "backoff": 1, "deadline": 12_000, "more": False}, [("retransmitted",)],
     sent("ACK", 1000, 5000, [5000, 1460]), path=FOUR)  # fmt: skip
LOST = FULL | {"retransmitted": True, "retries": 1, "backoff": 1}
case("after a loss, one for each ACK", LOST, segment("ACK", 5000, 2460),
     {"snd_una": 2460, "left": 8540, "in_flight": 4380, "retries": 0, "untimed": True, "deadline": 12_000},
     [("retransmitted",)], sent("ACK", 2460, 5000, [8540, 1460]), path=FOUR)  # fmt: skip
case("after a loss, all is acknowledged", LOST | {"untimed": True}, segment("ACK", 5000, 6840),
     {"snd_una": 6840, "left": 4160, "in_flight": 1460, "retransmitted": False, "retries": 0, "untimed": False,
      "sent": NOW, "deadline": 12_000, "more": True},
     out=sent("ACK", 6840, 5000, [4160, 1460]), path=FOUR)  # fmt: skip
case("after a loss, all is acknowledged across the wrap", LOST | {"snd_una": 0xFFFF_F000}, segment("ACK", 5000, 1744),
     {"snd_una": 1744, "left": 4160, "in_flight": 1460, "retransmitted": False, "retries": 0, "sent": NOW,
      "deadline": 12_000, "more": True},
     out=sent("ACK", 1744, 5000, [4160, 1460]), path=FOUR)  # fmt: skip

# FIN behind several segments.
LEFT = TWO | {"left": 2920, "more": False}
case("close while several are out", LEFT, {"kind": "close"},
     {"state": "FIN_WAIT_1", "asked": False, "fin_due": True, "limited": True, "limit": 70_000, "more": True},
     [("cut_off",)], path=FOUR)  # fmt: skip
ENDING = LEFT | {"state": "FIN_WAIT_1", "fin_due": True, "more": True}
case("FIN alone behind several", ENDING, FLUSH, {"fin_out": True, "more": False}, out=sent("FIN+ACK", 3920, 5000),
     path=FOUR)  # fmt: skip
case("FIN with the end behind several", ENDING | {"left": 4000}, FLUSH,
     {"in_flight": 4000, "fin_out": True, "more": False}, out=sent("FIN+PSH+ACK", 3920, 5000, [1080, 1080]),
     path=FOUR)  # fmt: skip
case("the end behind several and no room for FIN", ENDING | {"left": 4000, "snd_wnd": 4000}, FLUSH,
     {"in_flight": 4000, "more": False}, out=sent("PSH+ACK", 3920, 5000, [1080, 1080]), path=FOUR)  # fmt: skip
case("FIN is sent again with the last of several", ENDING | {"fin_out": True, "more": False, "deadline": 10_000},
     {"kind": "timer"}, {"retransmitted": True, "retries": 1, "backoff": 1, "deadline": 12_000}, [("retransmitted",)],
     sent("ACK", 1000, 5000, [2920, 1460]), path=FOUR)  # fmt: skip

# The peer's window closes while several are out; probes; it opens: what was out goes again, one at a time.
case("the window closes on several", TWO, segment("ACK", 5000, 1000, window=0),
     {"snd_wnd": 0, "persist": True, "deadline": 11_000, "more": False}, [("blocked",)], path=FOUR)  # fmt: skip
HELD = TWO | {"snd_wnd": 0, "persist": True, "deadline": 10_000, "more": False}
case("a probe while several are out", HELD, {"kind": "timer"},
     {"retransmitted": True, "backoff": 1, "deadline": 12_000}, [("probed",)], sent("ACK", 1000, 5000, [5000, 1]),
     path=FOUR)  # fmt: skip
case("the window opens again", HELD | {"retransmitted": True, "backoff": 1}, segment("ACK", 5000, 1000),
     {"snd_wnd": 8192, "persist": False, "backoff": 0, "deadline": 11_000}, [("unblocked",), ("retransmitted",)],
     sent("ACK", 1000, 5000, [5000, 1460]), path=FOUR)  # fmt: skip
case("smaller segments, several out", TWO, {"kind": "mtu", "mss": 1360, "seq": 3000},
     {"mss": 1360, "retransmitted": True, "deadline": 11_000, "more": False},
     [("mss_lowered", 1360), ("retransmitted",)], sent("ACK", 1000, 5000, [5000, 1360]), path=FOUR)  # fmt: skip

# The owner takes nothing, and again. A byte at the next number is a probe; its ACK counts, and so does RST.
SHUT = OPEN | {"shut": True}
case("the owner closes the window", OPEN, {"kind": "window", "open": False}, OWED | {"shut": True})
case("the owner closes it again", SHUT, {"kind": "window", "open": False}, {})
case("the ACK of a closed window", SHUT | OWED, FLUSH, {"ack_due": False, "ack_now": False},
     out=sent("ACK", 1000, 5000, window=0))  # fmt: skip
case("the owner opens the window", SHUT | OWED | {"unacked": 7}, {"kind": "window", "open": True},
     {"shut": False, "ack_due": False, "ack_now": False, "unacked": 0}, out=sent("ACK", 1000, 5000))  # fmt: skip
case("the owner opens an open window", OPEN, {"kind": "window", "open": True}, {})
case("a probe of the closed window", SHUT, segment("ACK", 5000, 1000, 1), OWED, [("dropped", "probe")])
case("a probe that acknowledges", OUT | {"shut": True}, segment("ACK", 5000, 1100, 1),
     OWED | {"snd_una": 1100, "left": 0, "in_flight": 0, "timed": False, "deadline": 0},
     [("rtt", 30_000), ("acked",), ("dropped", "probe")])  # fmt: skip
case("a probe at the wrap", SHUT | {"rcv_nxt": 0xFFFF_FFFF, "snd_wl1": 0xFFFF_FFFF},
     segment("ACK", 0xFFFF_FFFF, 1000, 1), OWED, [("dropped", "probe")])  # fmt: skip
case("a probe of Linux", SHUT, segment("ACK", 4999, 1000), CHALLENGED, [("challenged",), ("dropped", "outside")])
case("what was in flight when the window closed", SHUT, segment("ACK", 5000, 1000, 100),
     {"rcv_nxt": 5100, "unacked": 100, "ack_due": True, "ack_by": 10_040}, [("data", 0, 100)])  # fmt: skip
case("RST into a closed window", SHUT, segment("RST", 5000), after(1000), [("closed", "reset")], fresh=True)
case("FIN into a closed window", CLOSED_HERE | {"shut": True}, segment("FIN+ACK", 5000, 1000),
     OWED | {"state": "CLOSING", "rcv_nxt": 5001, "unacked": 1}, [("ended",)])  # fmt: skip
case("a request while the window is closed", SHUT, {"kind": "send", "length": 100},
     OUT | {"deadline": 11_000, "sent": NOW}, out=sent("PSH+ACK", 1000, 5000, [100, 100], window=0))  # fmt: skip
