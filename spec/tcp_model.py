"""The plain model of the TCP client: runs the rows of tcp.toml, in whole numbers and without haste.

It shares nothing with crates/tcp, so that the two can disagree. `Model.step` returns the record, the segment, the
notices and the names of the rows that were used.
"""

import pathlib
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
SPEC = tomllib.loads((HERE / "tcp.toml").read_text())
M32 = 1 << 32
T = {name: row["value"] for name, row in SPEC["timers"].items()}
L = {name: row["value"] for name, row in SPEC["limits"].items()}
FLAGS = list(SPEC["flags"])
NUMBERS = [row["name"] for row in SPEC["field"] if row["name"] not in ("flags", "state")]
CONDITIONS = {row["id"]: compile(row.get("when", "True"), row["id"], "eval") for row in SPEC["row"]}
# Rows that an event of this kind, at this stage (none but for segments), meets in this state: in their order.
ROWS = {}
for _row in SPEC["row"]:
    for _state in _row["in"]:
        ROWS.setdefault((_row["on"], _row.get("stage"), _state), []).append(_row)
PATH = {
    "srtt": 0, "rttvar": 0, "mss": 1460, "send_mss": 1460, "default_mss": 536, "burst": 1, "quick": False, "shift": 7,
    "stamps": True, "sack": True, "stamp_offset": 0, "quarantine": 1000, "intervals": 1,
}  # fmt: skip


def add(a, b):
    return (a + b) % M32


def distance(a, b):
    """How far a is after b: negative if it is before."""
    return (a - b + M32 // 2) % M32 - M32 // 2


def before(a, b):
    return distance(a, b) < 0


def after(a, b):
    return distance(a, b) > 0


def new_record(**fields):
    record = {name: 0 for name in NUMBERS} | {name: False for name in FLAGS} | {"state": "CLOSED", "further": []}
    for name, value in fields.items():
        assert name in record, name
        record[name] = value
    return record


class Model:
    def __init__(self, path, record, event, now):
        self.path = PATH | path
        self.r = dict(record)
        self.event, self.now = event, now
        self.segment, self.notices, self.rows = None, [], []
        # What conditions may name, until a row changes something.
        self.known = None
        self.ms, self.ms_up = now // 1000, -(-now // 1000)
        self.una_was = record["snd_una"]
        self.fin_reached = self.lost = False
        self.seg = None
        if event["kind"] == "segment":
            bits = event["flags"].split("+") if event["flags"] else []
            self.seg = {bit: bit.upper() in bits for bit in ("syn", "ack", "rst", "fin")}
            self.seg |= {"seq": event["seq"], "ack_nr": event.get("ack", 0), "window": event.get("window", 0)}
            self.seg |= {"len": event.get("len", 0), "options": event.get("options", {})}

    # What conditions may name.
    def snd_nxt(self):
        r = self.r
        return add(r["snd_una"], r["in_flight"] + r["fin_out"] + (r["state"] == "SYN_SENT"))

    def rcv_wnd(self):
        return 65535 << self.path["shift"] if self.r["scaled"] else 65535

    def following(self):
        """The segment that may follow what is in flight: its text, and whether it has FIN."""
        r = self.r
        if r["state"] not in ("ESTABLISHED", "FIN_WAIT_1", "CLOSING", "LAST_ACK") or self.path["burst"] < 2:
            return None
        if r["in_flight"] == 0 or r["fin_out"] or r["retransmitted"] or r["persist"]:
            return None
        usable = r["snd_wnd"] - r["in_flight"]
        rest = r["left"] - r["in_flight"]
        n = min(rest, self.room())
        if n > usable or (n > 0 and r["in_flight"] + n > self.path["burst"] * r["mss"]):
            return None
        fin = r["fin_due"] and n == rest and n < usable
        return (n, fin) if n or fin else None

    def is_duplicate(self):
        r, s = self.r, self.seg
        if r["retransmitted"] or r["persist"] or self.path["burst"] < 2 or r["in_flight"] <= r["mss"]:
            return False
        if s["len"] or s["fin"] or s["ack_nr"] != r["snd_una"]:
            return False
        if r["sack"]:
            return "sack" in s["options"] and after(s["options"]["sack"][1], s["ack_nr"])
        return s["window"] << r["shift"] == r["snd_wnd"]

    def passed(self, time):
        return distance(self.ms, time) >= 0

    def names(self):
        r, e = self.r, self.event
        names = r | {"add": add, "before": before, "after": after, "passed": self.passed, "snd_nxt": self.snd_nxt()}
        names |= {"mss_of": self.mss_of, "may_more": self.following() is not None, "open": e.get("open", False)}
        if e["kind"] == "send":
            names |= {"length": e["length"], "close": e.get("close", False)}
        if e["kind"] in ("unreachable", "mtu"):
            names |= {"quoted": 0 <= distance(e["seq"], r["snd_una"]) < distance(self.snd_nxt(), r["snd_una"])}
            names |= {"hard": e.get("hard"), "new_mss": e.get("mss")}
        if self.seg:
            s = self.seg
            seg_len = s["len"] + s["syn"] + s["fin"]
            begins, wnd = distance(s["seq"], r["rcv_nxt"]), self.rcv_wnd()
            ends = begins + seg_len - 1
            inside = 0 <= begins < wnd or (seg_len > 0 and 0 <= ends < wnd)
            text_end = min(begins + s["len"], wnd)
            kept = self.intervals()
            ooo_end = max((end for _, end in kept), default=0)
            apart = kept != [] and all(text_end < start or begins > end for start, end in kept)
            apart = apart and (len(kept) >= self.path["intervals"] or (r["ooo_fin"] and begins > ooo_end))
            whole = begins + s["len"] <= wnd
            names |= s | {
                "seg_len": seg_len, "seg_end": add(s["seq"], seg_len), "acceptable": inside,
                "has_ts": "ts" in s["options"], "tsval": s["options"].get("ts", [0])[0],
                "rcv_wnd": wnd, "snd_una_was": self.una_was, "text_end": add(r["rcv_nxt"], text_end),
                "fin_acked": r["fin_out"] and s["ack_nr"] == self.snd_nxt(),
                "hole": lambda: apart, "duplicate": self.is_duplicate(), "ooo_end": add(r["rcv_nxt"], ooo_end),
                "fin_next": (s["fin"] and whole and begins + s["len"] == 0) or self.fin_reached,
            }  # fmt: skip
        return names

    # The table.
    def fits(self, row):
        if "when" not in row:
            return True
        if self.known is None:
            self.known = self.names()
        return eval(CONDITIONS[row["id"]], {"__builtins__": {}}, self.known)

    def run(self, row):
        self.rows.append(f"{row['id']}:{self.r['state']}")
        self.known = None
        for action in row["do"]:
            name, *words = action.split()
            if name == "drop":
                self.notices.append(["dropped", *words])
            elif name == "refuse":
                self.notices.append(["refused_call", *words])
            else:
                getattr(self, "do_" + name)()
        if "to" in row:
            self.r["state"] = row["to"]

    def step(self):
        stages = SPEC["stages"] if self.seg else [None]
        here = 0
        while here < len(stages):
            rows = ROWS.get((self.event["kind"], stages[here], self.r["state"]), ())
            row = next((row for row in rows if self.fits(row)), None)
            if row is None:
                here += 1
                continue
            self.run(row)
            if "then" not in row:
                break
            here = stages.index(row["then"])
        self.r["more"] = self.following() is not None
        return self.r, self.segment, self.notices, self.rows

    # Actions.
    def say(self, *notice):
        self.notices.append(list(notice))

    def due_in(self, ms):
        return add(self.ms_up, ms)

    def rto(self):
        if self.r["state"] == "SYN_SENT":
            base = T["rto_first"]
        elif self.path["srtt"] == 0:
            base = T["rto_after_syn"] if self.r["syn_repeated"] else T["rto_first"]
        else:
            micros = self.path["srtt"] + max(T["rto_least"] * 1000, 4 * self.path["rttvar"])
            base = -(-micros // 1000)
        return min(base * 2 ** self.r["backoff"], T["rto_most"])

    def intervals(self):
        """Out-of-order intervals as distances from rcv_nxt, the one that changed last first."""
        r = self.r
        all_of_them = ([[r["ooo_start"], r["ooo_len"]]] if r["ooo_len"] else []) + r["further"]
        return [(distance(start, r["rcv_nxt"]), distance(start, r["rcv_nxt"]) + length) for start, length in all_of_them]

    def keep_intervals(self, intervals):
        r = self.r
        numbers = [[add(r["rcv_nxt"], start), end - start] for start, end in intervals]
        r["ooo_start"], r["ooo_len"] = numbers[0] if numbers else (0, 0)
        r["further"] = numbers[1:]
        r["ooo_fin"] = r["ooo_fin"] and numbers != []

    def blocks(self):
        """SACK blocks that fit beside the timestamps, as one list of numbers."""
        r = self.r
        most = 3 if r["stamped"] else 4
        last = max((end for _, end in self.intervals()), default=0)
        edges = [(start, end + (r["ooo_fin"] and end == last)) for start, end in self.intervals()][:most]
        return [add(r["rcv_nxt"], edge) for block in edges for edge in block] if r["sack"] else []

    def room(self):
        count = len(self.blocks()) // 2
        return self.r["mss"] - (L["sack_room"] + L["sack_block"] * (count - 1) if count else 0)

    def mss_of(self, mss):
        return max(mss, L["least_path_mss"]) - (L["stamp_room"] if self.r["stamped"] else 0)

    def emit(self, flags, length=0, seq=None, before_end=None):
        r = self.r
        assert self.segment is None, "two segments"
        options = {}
        if r["stamped"]:
            options["ts"] = [add(self.ms, self.path["stamp_offset"]), r["ts_recent"]]
        if self.blocks() and "RST" not in flags:
            options["sack"] = self.blocks()
        # A peer whose window shrank takes no segment that starts beyond it.
        edge = add(r["snd_una"], r["snd_wnd"])
        bare = edge if after(self.snd_nxt(), edge) else self.snd_nxt()
        self.segment = {"flags": flags, "seq": bare if seq is None else seq, "ack": r["rcv_nxt"]}
        self.segment["window"] = 0 if "RST" in flags or r["shut"] else 65535
        if options:
            self.segment["options"] = options
        if length:
            self.segment["payload"] = [r["left"] if before_end is None else before_end, length]
        r["ack_due"] = r["ack_now"] = False
        r["unacked"] = 0

    def do_new_life(self):
        r, e = self.r, self.event
        isn = e["isn"]
        if r["lived"] and not after(isn, r["snd_una"]):
            isn = add(r["snd_una"], L["isn_step"])
        self.r = new_record(snd_una=isn, incarnation=(r["incarnation"] + 1) % 256, lived=True, state="CLOSED")
        self.set_limit(e.get("patience", 0))
        self.r["sent"] = self.now % M32

    def set_limit(self, patience):
        patience = min(patience, L["patience_most"])
        self.r["limited"] = patience > 0
        self.r["limit"] = self.due_in(patience) if patience else 0

    def do_send_syn(self):
        r, p = self.r, self.path
        options = {"mss": p["mss"], "shift": p["shift"]}
        if p["sack"]:
            options["sack_permitted"] = True
        if p["stamps"]:
            options["ts"] = [add(self.ms, p["stamp_offset"]), 0]
        self.segment = {"flags": "SYN", "seq": r["snd_una"], "ack": 0, "window": 65535, "options": options}
        r["timed"] = True
        r["deadline"] = self.due_in(min(T["rto_first"] * 2 ** r["backoff"], T["rto_most"]))
        if self.event["kind"] == "timer":
            r["retransmitted"] = True
            self.say("retransmitted")

    def do_send_ack(self):
        self.emit("ACK")

    def do_send_more(self):
        r = self.r
        n, fin = self.following()
        begins, before_end = add(r["snd_una"], r["in_flight"]), r["left"] - r["in_flight"]
        r["in_flight"] += n
        r["fin_out"] = fin
        flags = "+".join(["FIN"] * fin + ["PSH"] * (0 < n == before_end) + ["ACK"])
        self.emit(flags, n, begins, before_end)

    def do_shut_window(self):
        self.r["shut"] = True
        self.do_owe()

    def do_open_window(self):
        self.r["shut"] = False
        self.emit("ACK")

    def do_count_duplicate(self):
        self.r["retries"] += 1

    def do_resend_first(self):
        self.r["retries"] = 1
        self.do_resend()

    def do_rst_at_ack(self):
        self.segment = {"flags": "RST", "seq": self.seg["ack_nr"], "ack": 0, "window": 0}

    def do_rst_after(self):
        n = self.names()
        self.segment = {"flags": "RST+ACK", "seq": 0, "ack": n["seg_end"], "window": 0}

    def do_rst(self):
        self.emit("RST+ACK")

    def do_establish(self):
        r, p, s = self.r, self.path, self.seg
        o = s["options"]
        r["snd_una"] = add(r["snd_una"], 1)
        if not r["retransmitted"]:
            self.say("rtt", (self.now - r["sent"]) % M32)
        r["syn_repeated"], r["retransmitted"] = r["retransmitted"], False
        r["retries"] = r["backoff"] = r["deadline"] = r["limit"] = 0
        r["timed"] = r["limited"] = False
        r["stamped"] = p["stamps"] and "ts" in o
        r["ts_recent"] = o["ts"][0] if r["stamped"] else 0
        r["sack"] = p["sack"] and o.get("sack_permitted", False)
        r["scaled"] = "shift" in o
        r["shift"] = min(o.get("shift", 0), L["greatest_shift"])
        r["mss"] = max(min(o.get("mss", p["default_mss"]), p["send_mss"]), L["least_peer_mss"])
        r["mss"] -= L["stamp_room"] if r["stamped"] else 0
        r["rcv_nxt"] = add(s["seq"], 1)
        r["snd_wnd"], r["snd_wl1"] = s["window"], s["seq"]
        r["wnd_log"] = (max(s["window"], 1) - 1).bit_length()
        r["unacked"] = 1
        r["quick"] = p["quick"]
        self.do_owe()
        self.say("connected", r["mss"])
        s["seq"], s["syn"] = r["rcv_nxt"], False

    def do_ask(self):
        self.r["asked"], self.r["left"] = True, self.event["length"]
        self.set_limit(self.event.get("patience", 0))

    def do_want_fin(self):
        self.r["fin_due"] = True

    def do_linger(self):
        if not (self.r["asked"] and self.r["limited"]):
            self.set_limit(T["fin_timeout"])

    def do_done(self):
        self.r["asked"] = self.r["quick"] = False
        self.say("done")

    def do_cut_off(self):
        if self.r["asked"]:
            self.r["asked"] = False
            self.say("cut_off")

    def do_answer_over(self):
        r = self.r
        soon = self.due_in(T["ack_answered"])
        if r["ack_due"] and before(soon, r["ack_by"]):
            r["ack_by"] = soon
        if r["state"] == "ESTABLISHED":
            if r["left"] == 0:
                self.set_limit(0)
        elif r["state"] != "TIME_WAIT":
            self.set_limit(T["fin_timeout"])

    def do_back_off(self):
        r = self.r
        r["retries"] = min(r["retries"] + 1, 255)
        r["backoff"] = min(r["backoff"] + 1, L["backoff_most"])
        if r["retries"] == L["slow_retries"]:
            self.say("slow")

    def run_timer(self, persist=False):
        r = self.r
        r["timed"], r["persist"], r["deadline"] = True, persist, self.due_in(self.rto())

    def stop_timer(self):
        self.r["timed"] = self.r["persist"] = False
        self.r["deadline"] = 0

    def data(self, length, fin):
        flags = "+".join(["FIN"] * fin + ["PSH"] * (0 < length == self.r["left"]) + ["ACK"])
        self.emit(flags, length, self.r["snd_una"])

    def do_resend(self):
        r = self.r
        n = min(r["in_flight"], self.room())
        r["retransmitted"] = True
        self.run_timer()
        self.data(n, r["fin_out"] and n == r["in_flight"])
        self.say("retransmitted")

    def do_probe(self):
        r = self.r
        n = max(1, min(r["snd_wnd"], r["left"], self.room())) if r["left"] else 0
        r["in_flight"] = max(r["in_flight"], n)
        r["retransmitted"] = True
        r["backoff"] = min(r["backoff"] + 1, L["backoff_most"])
        if r["left"] == 0:
            r["fin_out"] = True
        self.run_timer(persist=r["left"] > 0)
        self.data(n, r["left"] == 0)
        self.say("probed")

    def do_output(self):
        r = self.r
        quiet = r["in_flight"] == 0 and not r["fin_out"]
        if quiet or r["persist"]:
            if r["left"]:
                n = min(r["left"], self.room())
                may = r["snd_wnd"] >= n
                if not may and r["snd_wnd"] > 0 and 2 * r["snd_wnd"] >= 2 ** r["wnd_log"]:
                    n, may = r["snd_wnd"], True
            elif r["fin_due"] and not r["fin_out"]:
                n, may = 0, r["snd_wnd"] >= 1
            else:
                return
            if may:
                if r["persist"]:
                    r["backoff"] = 0
                    self.say("unblocked")
                self.transmit(n)
            elif not r["persist"]:
                self.run_timer(persist=True)
                self.say("blocked")
        elif r["snd_wnd"] == 0 and r["left"]:
            self.run_timer(persist=True)
            self.say("blocked")
        elif self.lost:
            self.do_resend()

    def transmit(self, n):
        r = self.r
        again = r["in_flight"] > 0
        r["retransmitted"] = again
        if not again:
            r["sent"], r["retries"], r["untimed"] = self.now % M32, 0, False
        r["in_flight"] = max(r["in_flight"], n)
        fin = r["fin_due"] and n == r["left"] and (r["fin_out"] or r["snd_wnd"] > n)
        r["fin_out"] = r["fin_out"] or fin
        self.run_timer()
        self.data(n, fin)
        if again:
            self.say("retransmitted")

    def do_owe(self):
        r = self.r
        if not r["ack_due"]:
            r["ack_by"] = self.due_in(T["ack_delay"])
        r["ack_due"] = r["ack_now"] = True

    def do_challenge(self):
        r = self.r
        if r["challenge"] and (self.ms - r["challenged"]) % M32 < T["challenge_gap"]:
            return self.say("challenge_limited")
        r["challenge"], r["challenged"] = True, self.ms % M32
        self.do_owe()
        self.say("challenged")

    def do_take_ack(self):
        r = self.r
        fresh = distance(self.seg["ack_nr"], r["snd_una"])
        fin = r["fin_out"] and self.seg["ack_nr"] == add(r["snd_una"], r["in_flight"] + 1)
        data = fresh - fin
        assert 0 <= data <= r["in_flight"]
        r["snd_una"] = self.seg["ack_nr"]
        r["left"] -= data
        r["in_flight"] -= data
        if fin:
            r["fin_out"] = r["fin_due"] = False
        if not r["retransmitted"]:
            if not r["untimed"]:
                self.say("rtt", (self.now - r["sent"]) % M32)
                r["syn_repeated"] = False
            r["backoff"] = 0
        r["retries"] = 0
        r["untimed"] = self.path["burst"] > 1 and (r["in_flight"] > 0 or r["fin_out"])
        if data and r["left"] == 0:
            self.say("acked")
        if r["in_flight"] == 0 and not r["fin_out"]:
            r["retransmitted"] = r["retransmitted"] and r["persist"] and r["left"] > 0
            if r["persist"] and r["left"]:
                self.run_timer(persist=True)
            else:
                self.stop_timer()
        elif r["persist"]:
            self.run_timer(persist=True)
        else:
            self.lost = r["retransmitted"]
            self.run_timer()
        if r["left"] == 0 and not r["asked"] and r["state"] == "ESTABLISHED":
            self.set_limit(0)

    def do_take_stamp(self):
        self.r["ts_recent"] = self.seg["options"]["ts"][0]

    def do_take_window(self):
        r, s = self.r, self.seg
        r["snd_wnd"] = s["window"] << r["shift"]
        r["snd_wl1"] = s["seq"]
        r["wnd_log"] = max(r["wnd_log"], (max(r["snd_wnd"], 1) - 1).bit_length())

    def arrived(self, count):
        self.r["rcv_nxt"] = add(self.r["rcv_nxt"], count)
        self.r["unacked"] = min(self.r["unacked"] + count, 65535)

    def do_deliver(self):
        r, s = self.r, self.seg
        skip = -distance(s["seq"], r["rcv_nxt"])
        end = min(s["len"] - skip, self.rcv_wnd())
        kept = self.intervals()
        had = kept != []
        reached = 0
        touched = sorted(one for one in kept if one[0] <= end)
        if len(touched) > L["reached"]:
            end = touched[L["reached"] - 1][1]
        for start, stop in sorted(kept):
            if start <= end:
                self.say("data", skip + reached, start - reached)
                self.say("filled", stop - start)
                reached = stop
        left = [(start - max(reached, end), stop - max(reached, end)) for start, stop in kept if start > end]
        self.fin_reached = r["ooo_fin"] and left == []
        if end > reached and not self.fin_reached:
            self.say("data", skip + reached, end - reached)
            reached = end
        self.arrived(reached)
        self.keep_intervals(left)
        full = self.path["mss"] - (L["stamp_room"] if r["stamped"] else 0)
        if had or r["quick"] or r["unacked"] >= min(2 * full, 65535):
            self.do_owe()
        elif not r["ack_due"]:
            r["ack_due"], r["ack_by"] = True, self.due_in(T["ack_delay"])

    def do_keep(self):
        r, s = self.r, self.seg
        a = distance(s["seq"], r["rcv_nxt"])
        b = min(a + s["len"], self.rcv_wnd())
        whole = b == a + s["len"]
        kept = self.intervals()
        if r["ooo_fin"]:
            end = max(stop for _, stop in kept)
            whole, b = whole and b <= end, min(b, end)
        touched = [(start, stop) for start, stop in kept if b >= start and a <= stop]
        if len(touched) > L["reached"]:
            b, whole = sorted(touched)[L["reached"] - 1][1], False
            touched = [(start, stop) for start, stop in touched if start <= b]
        at = a
        for start, stop in [*sorted(touched), (b, b)]:
            if start > at:
                self.say("early", at - a, start - at)
            at = max(at, stop)
        left, right = min([a, *(start for start, _ in touched)]), max([b, *(stop for _, stop in touched)])
        self.keep_intervals([(left, right)] + [one for one in kept if one not in touched])
        if s["fin"] and whole and b == max(stop for _, stop in self.intervals()):
            r["ooo_fin"] = True
        self.do_owe()

    def do_keep_fin(self):
        self.r["ooo_fin"] = True
        self.do_owe()

    def do_take_fin(self):
        self.arrived(1)
        self.keep_intervals([])
        self.say("ended")
        self.do_owe()

    def do_start_wait(self):
        r = self.r
        r["timed"], r["persist"], r["deadline"] = True, False, self.due_in(T["time_wait"])
        self.set_limit(0)

    def do_soft_error(self):
        self.say("soft_error")

    def do_lower_mss(self):
        r = self.r
        r["mss"] = self.mss_of(self.event["mss"])
        self.say("mss_lowered", r["mss"])
        if r["in_flight"] > self.room():
            self.do_resend()

    def do_quarantine(self):
        self.say("quarantine", self.path["quarantine"])

    def shut(self, cause):
        r = self.r
        last = self.snd_nxt()
        if r["asked"]:
            self.say(*(["cut_off"] if cause == "aborted" else ["failed", cause]))
        self.say("closed", cause)
        self.r = new_record(snd_una=last, incarnation=r["incarnation"], lived=True)

    def do_refused(self):
        self.shut("refused")

    def do_reset(self):
        self.shut("reset")

    def do_timed_out(self):
        self.shut("timed_out")

    def do_unreachable(self):
        self.shut("unreachable")

    def do_aborted(self):
        self.shut("aborted")

    def do_finished(self):
        self.shut("finished")
