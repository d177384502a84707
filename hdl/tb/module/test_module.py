"""The whole module in its process, from the outside: frames of the link in, frames on the wire and a capture out.

    python test_module.py PROGRAM [NAME...]      all tests, or those named; SEED=n for another seed
"""

import contextlib
import fcntl
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from client import REGISTERS, Module, Refused, capture  # noqa: E402

from model.ethernet import udp  # noqa: E402
from model.gaps import due  # noqa: E402
from model.generator import Plan, Template  # noqa: E402
from model.link import Kind, Message, Why, leaving, registers  # noqa: E402
from model.shapes import From  # noqa: E402

SEED = int(os.environ.get("SEED", "1"))
PROGRAM = None
TICK_NS = 8
LINE_RATE = {64: 84, 1518: 1538}  # ticks
LIVE, RUN = 1, 2


def seeded(*parts):
    return random.Random(repr((SEED, *parts)))


@contextlib.contextmanager
def module(*options, pcap=None, **more):
    extra = ["--pcap", str(pcap)] if pcap else []
    with Module(PROGRAM, "--seed", str(SEED), *options, *extra, **more) as made:
        yield made


@contextlib.contextmanager
def scratch():
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder)


def template(size, **rest):
    """A UDP frame of that size with FCS, of which the first 64 bytes are stored."""
    stored = bytearray(udp(bytes(size - 46)))
    for at in (16, 24, 38, 40):
        stored[at : at + 2] = b"\0\0"
    return Template(bytes(stored[:64].ljust(64, b"\0")), size - 4, 17, **rest)


def generate(made, size, gap, frames, reckoned=From.AFTER_DUE):
    made.load(Plan([template(size)], [], [], [(0, 0, 0)], frames))
    whole, numerator, denominator = gap
    made.write(last_entry=0, frames=frames, gap_whole=whole, gap_numerator=numerator, gap_denominator=denominator)
    made.write(command=1 << 1)
    made.write(control=RUN | int(reckoned) << 3)


def test_says_what_it_is():
    with module() as made:
        hello = made.hello()
        assert hello.value >> 32 == 0x54415245
        layout, build = made.read("layout", "build")
        assert hello.value & 0xFFFF_FFFF == layout == REGISTERS["layout"].fields[0].reset != 0
        assert hello.detail == build != 0
        assert made.read("version") == 1 << 16
        assert made.read("status") & 3 == 1
        assert hello.target == bytes.fromhex("020000000099")


def test_registers_are_written_and_read():
    with module("--loop") as made:
        made.write(ns_value=0x0123_4567_89AB_CDEF)
        made.write(command=1 << 4)
        made.write(command=1 << 6)
        time_ns, tick = made.read("captured_time", "captured_tick")
        assert time_ns >> 32 == 0x0123_4567 and 0 < tick < 1_000_000
        # 180 in one frame, and one more.
        words = [(REGISTERS["gap_reference"].address, n) for n in range(180)]
        answer = made.answer(made.send(Message(Kind.WRITE, body=registers(words))))
        assert answer.kind == Kind.WRITTEN and answer.detail == 180 and answer.body == b""
        words = [(REGISTERS["magic"].address, 0)] * 180
        answer = made.answer(made.send(Message(Kind.READ, body=registers(words))))
        assert answer.words() == [(0, 0x54415245)] * 180 and answer.detail == 180
        for kind in (Kind.READ, Kind.WRITE):
            try:
                made.answer(made.send(Message(kind, body=registers([*words, words[0]]))))
                raise AssertionError("181 words were taken")
            except Refused as refused:
                assert refused.why == Why.LENGTH and refused.value == 181 * 8
        assert made.counted(Why.LENGTH) == 2


def test_addresses_where_nothing_is():
    with module() as made:
        read_only, write_only = REGISTERS["magic"].address, REGISTERS["control"].address
        for kind, address in [
            (Kind.READ, 0x1FFC), (Kind.READ, 0x2000), (Kind.READ, 0x8000_0000), (Kind.READ, 1), (Kind.READ, write_only),
            (Kind.WRITE, 0x1FFC), (Kind.WRITE, 0x4010), (Kind.WRITE, write_only + 2), (Kind.WRITE, read_only), (Kind.WRITE, 0x200),
        ]:  # fmt: skip
            good = (REGISTERS["layout"].address, 0) if kind == Kind.READ else (REGISTERS["gap_reference"].address, 5)
            number = made.send(Message(kind, body=registers([good, (address, 0), (address + 4, 0), good])))
            answer = made.answer(number)
            assert answer.detail == 4
            error = made.wait(Kind.ERROR)
            assert (error.number, error.detail, error.value) == (number, kind << 8 | Why.ADDRESS, address), f"{kind!r} {address:x}: {error}"
            if kind == Kind.READ:
                assert [value for _, value in answer.words()][0] == REGISTERS["layout"].fields[0].reset
                assert answer.words()[3] == answer.words()[0]
        assert made.counted(Why.ADDRESS) == 10
        made.write(command=1 << 2)
        assert made.counted(Why.ADDRESS) == 0


def test_generated_gaps_are_exact():
    """Every start on the wire in the very cycle, at every gap, to line rate; read from the capture."""
    for size, gap in [
        (64, (84, 0, 1)), (64, (84, 1, 3)), (64, (100, 0, 1)), (64, (375, 125, 333_333)), (64, (1250, 0, 1)),
        (1518, (1538, 0, 1)), (1518, (1708, 8, 9)), (1518, (15180, 0, 1)), (512, (600, 7, 11)),
    ]:  # fmt: skip
        frames = 300 if size < 1000 else 60
        with scratch() as folder, module("--loop", pcap=folder / "wire.pcapng") as made:
            generate(made, size, gap, frames)
            made.until_idle()
            assert made.read("sent", "late", "underruns", "good", "bad") == [frames, 0, 0, frames, 0], f"{size} {gap}"
            made.close()
            seen = capture(folder / "wire.pcapng")
            for way, delay in ("out", 0), ("in", 1):
                starts = [one.time_ns for one in seen if one.way == way]
                assert len(starts) == frames and all(start % TICK_NS == 0 for start in starts)
                ticks = [(start - starts[0]) // TICK_NS for start in starts]
                errors = [at - due(n, *gap) for n, at in enumerate(ticks)]
                assert set(errors) == {0}, f"{size} B, gap {gap}, {way}: {sorted(set(errors))}"
            assert [one.time_ns for one in seen] == sorted(one.time_ns for one in seen)
            assert made.summary["frames_out"] == made.summary["frames_in"] == frames


def test_live_frames_leave_when_they_should():
    """Frames of the host at gaps of its own: no gap is wrong, nothing is lost, credits and marks add up; none is late, but while this process has no CPU."""
    late = []
    while len(late) < 5 and 0 not in late:
        late.append(late_live_frames())
    assert 0 in late, f"{late} late"


def late_live_frames():
    rng = seeded("live")
    frames = [rng.randbytes(rng.choice([60, 61, 67, 68, 100, 512, 1514, 1518])) for _ in range(300)]
    gaps = [0] + [rng.randint(len(frame) + 24 + 1, 2_000) for frame in frames[:-1]]
    with scratch() as folder, module("--loop", pcap=folder / "wire.pcapng") as made:
        made.write(control=LIVE, link=1)
        made.write(command=1 << 6)
        begin = made.read("captured_tick") + 1_000_000
        for n, (frame, gap) in enumerate(zip(frames, gaps)):
            # The first leaves when some of those behind it are there, too.
            first = n == 0
            made.frame(frame, leaving(From.AT_TIME if first else From.AFTER_DUE), begin if first else gap)
        made.send(Message(Kind.MARK, value=0xBEEF))
        marked = made.wait(Kind.MARKED)
        assert marked.detail == 0xBEEF
        made.until_idle()
        late = made.read("late")
        assert made.read("sent") == made.read("good") == len(frames)
        told = []
        while len(told) < len(frames):
            report = made.wait(Kind.DEPARTED)
            assert report.detail == len(report.departures()) and report.value == 0
            told += report.departures()
        made.keep(0.05)
        assert made.granted == made.credits[-1][1] == made.used + 2048
        made.close()
        seen = capture(folder / "wire.pcapng")
    out = [one for one in seen if one.way == "out"]
    assert [one.data for one in out] == frames
    # What the module says of departures is what is on the wire: the preamble begins one tick after the start.
    assert [(start + 1) * TICK_NS for start, _, _ in told] == [one.time_ns for one in out]
    assert [number for _, _, number in told] == list(range(len(frames)))
    assert sum(late_ticks > 0 for _, late_ticks, _ in told) == late
    sums = [sum(gaps[: n + 1]) for n in range(len(gaps))]
    due_ticks = [start - late_ticks for start, late_ticks, _ in told]
    assert [tick - due_ticks[0] for tick in due_ticks] == sums, "due times are not the gaps' sums"
    return late


def test_a_mark_comes_after_what_was_before_it():
    with scratch() as folder, module("--loop", pcap=folder / "wire.pcapng") as made:
        made.write(control=LIVE)
        for n in range(5):
            made.frame(bytes(100), leaving(From.AFTER_START), 10_000)
            made.send(Message(Kind.MARK, value=n))
        marks = [made.wait(Kind.MARKED) for _ in range(5)]
        made.close()
        out = [one.time_ns for one in capture(folder / "wire.pcapng") if one.way == "out"]
    assert [mark.detail for mark in marks] == list(range(5))
    for mark, time_ns in zip(marks, out):
        assert 0 < mark.value - time_ns // TICK_NS < 250


def test_seventeenth_mark_is_refused():
    with module("--loop") as made:
        made.write(control=LIVE)
        made.frame(bytes(60), leaving(From.AT_TIME), 1 << 40)
        for n in range(20):
            made.send(Message(Kind.MARK, value=n))
        refusals = [made.wait(Kind.ERROR) for _ in range(4)]
        assert all(error.detail == Kind.MARK << 8 | Why.STATE for error in refusals)
        assert [error.value for error in refusals] == [16, 17, 18, 19]
        made.write(command=1)
        assert [made.wait(Kind.MARKED).detail for _ in range(16)] == list(range(16))


def test_forgets():
    """What waits for next year is forgotten and counted; what comes behind the command leaves."""
    with module("--loop") as made:
        made.write(control=LIVE)
        for _ in range(20):
            made.frame(bytes(500), leaving(From.AT_TIME), 1 << 50)
        made.write(command=1)
        made.frame(bytes(60))
        made.until_idle()
        assert made.read("forgotten", "sent") == [20, 1]
        made.keep(0.05)
        assert made.granted == made.used + 2048


def test_credits_are_kept_to():
    """A host that ignores credits is told, and nothing that it had credits for is lost."""
    with module("--loop") as made:
        made.write(control=LIVE)
        made.keep(0.05)
        assert made.granted == 2048
        for _ in range(300):
            made.send(Message(Kind.FRAME, detail=leaving(From.AT_TIME), value=1 << 45, body=bytes(60)))
        # 8 beats each: 256 fit.
        errors = [made.wait(Kind.ERROR) for _ in range(300 - 256)]
        assert all(error.detail == Kind.FRAME << 8 | Why.CREDIT and error.value == 0 for error in errors)
        assert made.counted(Why.CREDIT) == 44
        made.write(command=1)
        made.until_idle()
        assert made.read("forgotten") == 256
        made.keep(0.05)
        assert made.granted == 4096


def test_hello_takes_back_credits():
    with module("--loop") as made:
        made.write(control=LIVE)
        made.keep(0.05)
        for _ in range(3):
            made.hello()
            made.keep(0.05)
            assert made.granted == 2048 and made.credits[-1][1] == 2048, made.credits
            for _ in range(256):
                made.frame(bytes(64))
            made.until_idle()


def test_what_is_refused_changes_nothing():
    """The wrong header fields, each told with what was wrong, and counted; the module still answers, and nothing leaves."""
    with module("--loop") as made:
        body = bytes(100)
        at_once = leaving(From.AT_ONCE)
        cases = [
            (Message(Kind.READ, version=2, body=registers([(0, 0)])), Why.VERSION, 2),
            (Message(0x06), Why.KIND, 6),
            (Message(0x81), Why.KIND, 0x81),
            (Message(Kind.READ), Why.LENGTH, 0),
            (Message(Kind.WRITE, body=bytes(12)), Why.LENGTH, 12),
            (Message(Kind.FRAME, body=b""), Why.LENGTH, 0),
            (Message(Kind.FRAME, body=bytes(59)), Why.LENGTH, 59),
            (Message(Kind.FRAME, body=bytes(1519)), Why.LENGTH, 1519),
            (Message(Kind.FRAME, body=body, length=10_000), Why.LENGTH, 10_000),
            (Message(Kind.FRAME, body=body, length=101), Why.LENGTH, 101),
            (Message(Kind.READ, body=registers([(0, 0)]), length=16), Why.LENGTH, 16),
            (Message(Kind.FRAME, detail=leaving(From.AFTER_START), value=1 << 63, body=body), Why.TIME, 0x8000),
            (Message(Kind.FRAME, detail=leaving(From.AFTER_DUE), value=(1 << 64) - 1, body=body), Why.TIME, 0xFFFF),
            (Message(Kind.FRAME, detail=leaving(From.AT_TIME), value=1 << 62, body=body), Why.TIME, 0x4000),
            (Message(Kind.FRAME, detail=at_once | 1 << 8 | 3 << 16, body=body), Why.PLACE, 3),
            (Message(Kind.FRAME, detail=at_once | 1 << 8 | 42 << 16, body=body), Why.PLACE, 42),
            (Message(Kind.FRAME, detail=at_once | 1 << 8 | 256 << 16, body=bytes(600)), Why.PLACE, 256),
        ]
        made.write(control=LIVE)
        made.keep(0.05)
        expected = {}
        for message, why, value in cases:
            try:
                made.answer(made.send(message))
                raise AssertionError(f"{message} was taken")
            except Refused as refused:
                assert (refused.why, refused.value) == (why, value), f"{message}: {refused}"
                assert refused.message.detail == message.kind << 8 | why
                expected[why] = expected.get(why, 0) + 1
        made.write(control=0)
        try:
            made.answer(made.send(Message(Kind.FRAME, body=body, value=7)))
            raise AssertionError("a frame was taken although it is the generator's turn")
        except Refused as refused:
            assert (refused.why, refused.value) == (Why.STATE, 7)
        for why, times in expected.items():
            assert made.counted(why) == times, why
        # The signature may end where the frame does.
        made.write(control=LIVE)
        made.frame(body, at_once | 1 << 8 | 41 << 16)
        made.until_idle()
        assert made.read("sent", "good") == [1, 1]


def test_what_is_lost_is_told():
    with module("--loop") as made:
        made.write(control=LIVE)
        expected = made.number
        made.number += 3
        number = made.number
        made.read("magic")
        error = made.wait(Kind.ERROR)
        assert (error.number, error.detail, error.value) == (number, Kind.READ << 8 | Why.LOST, expected)
        made.read("magic")
        assert made.counted(Why.LOST) == 1
        made.keep(0.05)
        assert not [message for message in made.queue if message.kind == Kind.ERROR]
        # Numbers go on after 65 535.
        made.number = 65_534
        made.hello()
        for _ in range(4):
            made.read("magic")
        assert made.counted(Why.LOST) == 1


def test_frames_that_are_not_for_it():
    """Other EtherTypes, other addresses: no answer, no harm. Too long or too short: dropped and counted."""
    rng = seeded("not for it")
    with module() as made:
        for _ in range(50):
            made.host.send(rng.randbytes(rng.randint(60, 1_500)))
        made.host.send(Message(Kind.READ, number=made.number, body=registers([(0, 0)]), target=bytes.fromhex("025441524501")).pack())
        for size in (1, 8, 31, 2_049, 4_000, 9_000):
            made.host.send(rng.randbytes(size))
        for size in (32, 2_048):
            made.host.send(rng.randbytes(size))
        assert made.read("magic") == 0x54415245
        bad = made.read("link_bad", "link_full")
        assert bad == [6, 0], bad
        made.keep(0.05)
        assert not [message for message in made.queue if message.kind != Kind.CREDIT]
        number = made.send(Message(Kind.READ, body=registers([(0, 0)]), target=b"\xff" * 6))
        assert made.answer(number).words() == [(0, 0x54415245)]


def test_received_frames_are_told():
    """Frames of the wire come to the host unchanged, each with the tick at which its preamble began."""
    rng = seeded("received")
    with scratch() as folder, module(wire=True, pcap=folder / "wire.pcapng") as made:
        made.write(link=2)
        frames = [rng.randbytes(rng.choice([14, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 1_000, 1_514, 1_518])) for _ in range(100)]
        got = []
        for frame in frames:
            made.wire.send(frame)
            got.append(made.wait(Kind.RECEIVED))
        assert made.read("good", "bad", "received_left_out") == [100, 0, 0]
        made.close()
        seen = [one for one in capture(folder / "wire.pcapng") if one.way == "in"]
    assert [message.body for message in got] == [frame.ljust(60, b"\0") for frame in frames]
    assert all(message.detail == 0 for message in got)
    assert [message.value * TICK_NS for message in got] == [one.time_ns for one in seen]


def test_received_frames_that_no_report_can_carry_are_counted():
    """Longer than a frame of the link has room for: 2 016 bytes are the last, without FCS. The others come as before."""
    with module(wire=True) as made:
        made.write(link=2)
        for size in (60, 2_016, 2_017, 3_000, 9_000, 100):
            made.wire.send(bytes(size))
        got = [made.wait(Kind.RECEIVED) for _ in range(3)]
        made.until_idle()
        assert [len(message.body) for message in got] == [60, 2_016, 100]
        assert made.read("link_errors0", "received_left_out") == [3, 0]


def test_live_frames_that_come_back_are_all_told():
    """Frames of every length at line rate, in and out over one link, with their departures: it has time for all."""
    frames = [bytes([n & 0xFF]) * length for n, length in enumerate(range(60, 1_514, 2))]
    with module("--loop") as made:
        made.write(control=LIVE, link=3)
        for frame in frames:
            made.frame(frame)
        made.until_idle()
        assert made.read("received_left_out", "departures_left_out") == [0, 0]
        made.keep(0.05)
    assert [message.body for message in made.queue if message.kind == Kind.RECEIVED] == frames


def test_a_host_that_is_away_for_a_while():
    """One that takes nothing for a tenth of a second, as a process without a CPU does, loses nothing: time waits for it, but not for ever."""
    for _ in range(10):
        was_away, left_out = host_that_is_away(0.1)
        if was_away < 0.15:
            break
    else:
        raise AssertionError("this machine never slept for so short a time")
    assert left_out == 0, left_out
    # A slow simulation needs longer until what waits is too much.
    assert any(host_that_is_away(seconds)[1] > 0 for seconds in (1, 4, 16)), "it waits for ever"


def host_that_is_away(seconds):
    """For how long it really was, and how many received frames were left out."""
    with module("--loop") as made:
        made.write(link=2)
        generate(made, 64, (84, 0, 1), 2_000)
        before = time.monotonic()
        time.sleep(seconds)
        was_away = time.monotonic() - before
        made.until_idle()
        left_out = made.read("received_left_out")
        made.keep(0.05)
    assert sum(message.kind == Kind.RECEIVED for message in made.queue) == 2_000 - left_out
    return was_away, left_out


def test_frames_on_the_wire_reach_its_other_end():
    rng = seeded("reach")
    frames = [rng.randbytes(rng.randint(60, 1_518)) for _ in range(50)]
    with module(wire=True) as made:
        made.write(control=LIVE)
        for frame in frames:
            made.frame(frame, leaving(From.AFTER_START), rng.randint(100, 3_000))
        made.wire.settimeout(20)
        assert [made.wire.recv(4_000) for _ in frames] == frames


def test_a_frame_that_no_wire_carries_is_counted():
    """Nothing of it comes in; what is around it does, the longest that may be too (which the module counts as bad: it takes no jumbo frames)."""
    with module(wire=True) as made:
        for size in (60, 16_001, 65_535, 16_000, 100):
            made.wire.send(bytes(size))
        until = time.monotonic() + 20
        while (seen := (made.read("good"), made.read("bad"))) != (2, 1):
            assert time.monotonic() < until, seen
        made.close()
        assert (made.summary["frames_in"], made.summary["frames_too_long"], made.summary["frames_lost"]) == (3, 2, 0)


def test_the_wire_goes_down():
    """The other end vanishes in the middle of a run: told, counted, and the module still answers."""
    with module(wire=True) as made:
        assert made.read("status") & 4
        generate(made, 64, (1_000, 0, 1), 0)
        made.wire.settimeout(20)
        for _ in range(10):
            made.wire.recv(4_000)
        made.wire.close()
        error = made.wait(Kind.ERROR)
        assert (error.detail, error.value) == (Why.WIRE, 0)
        assert made.read("status") & 4 == 0 and made.counted(Why.WIRE) == 1
        made.write(control=0)
        made.write(command=1)
        made.until_idle()


def test_a_silent_host():
    """A host that does not say a word for a while is told so once, and nothing after; its next word ends that."""
    with module("--loop", "--free") as made:
        made.write(control=LIVE, link=1, link_patience=500_000)
        error = made.wait(Kind.ERROR)
        assert (error.detail, error.value) == (Why.SILENT, 0)
        made.keep(0.05)
        made.queue.clear()
        made.keep(0.3)
        assert made.queue == []
        # Its next word ends it. With much patience, no error; what was granted is told again after 65 536 cycles.
        made.write(link_patience=0)
        assert made.wait(Kind.CREDIT).value == 2048
        assert made.counted(Why.SILENT) == 1


def test_incoming_traffic_changes_no_departure():
    """Line rate in both directions: the same starts, to the tick, as alone."""
    starts = {}
    for talk in (False, True):
        with scratch() as folder:
            options = ["--loop"]
            if talk:
                head = bytes.fromhex("a1b23c4d00020004") + bytes(8) + bytes.fromhex("0000ffff00000001")
                frame = udp(bytes(18))
                (folder / "in.pcap").write_bytes(head + (bytes(8) + len(frame).to_bytes(4, "big") * 2 + frame) * 3)
                options = ["--rx-pcap", str(folder / "in.pcap")]
            with module(*options, pcap=folder / "wire.pcapng") as made:
                generate(made, 64, (84, 0, 1), 2_000)
                made.until_idle()
                received = made.read("good")
                assert made.read("sent", "late", "bad") == [2_000, 0, 0]
                made.close()
            seen = capture(folder / "wire.pcapng")
            out = [one.time_ns for one in seen if one.way == "out"]
            starts[talk] = [time_ns - out[0] for time_ns in out]
            if talk:
                coming = [one.time_ns for one in seen if one.way == "in"]
                assert {b - a for a, b in zip(coming, coming[1:])} == {84 * TICK_NS}
                assert received > 2_000
    assert starts[True] == starts[False] == [84 * TICK_NS * n for n in range(2_000)]


def test_a_capture_is_played_without_drift():
    """Gaps that are no whole cycles: each frame begins in the cycle in which it is due, and what is cut off one gap is in the next."""
    gap_ns, count = 1_001, 60
    with scratch() as folder:
        head = bytes.fromhex("a1b23c4d00020004") + bytes(8) + bytes.fromhex("0000ffff00000001")
        frame = udp(bytes(18))
        size = len(frame).to_bytes(4, "big")
        records = (bytes(4) + (n * gap_ns).to_bytes(4, "big") + size + size + frame for n in range(count))
        (folder / "in.pcap").write_bytes(head + b"".join(records))
        with module("--rx-pcap", str(folder / "in.pcap"), pcap=folder / "wire.pcapng") as made:
            for _ in range(3_000):
                if made.read("good") >= count:
                    break
                time.sleep(0.01)
            made.close()
        coming = [one.time_ns for one in capture(folder / "wire.pcapng") if one.way == "in"][:count]
        assert [at - coming[0] for at in coming] == [n * gap_ns // TICK_NS * TICK_NS for n in range(count)]


def test_the_host_vanishes():
    """The process ends when its socket closes, and says what it did; and it ends in order when it is told to."""
    with module("--loop") as made:
        made.write(control=LIVE)
        for _ in range(16):
            made.frame(bytes(1_000), leaving(From.AFTER_START), 1 << 40)
        made.close()
        assert made.summary["cycles"] > 0
    with scratch() as folder, module("--loop", pcap=folder / "wire.pcapng") as made:
        generate(made, 64, (84, 0, 1), 0)
        while made.read("sent") < 1_000:
            time.sleep(0.01)
        made.process.terminate()
        made.close()
        seen = capture(folder / "wire.pcapng")
        assert made.summary["frames_out"] == len([one for one in seen if one.way == "out"]) >= 1_000


def test_a_broken_description_of_the_registers_is_told():
    """Where it is broken, and that nothing was made of it; no trace of the program that found it."""
    regs = pathlib.Path(__file__).resolve().parents[2] / "regs"
    description = (regs / "module.rdl").read_text()
    for broken, what in (
        (description.replace("regwidth = 64", "regwidth = 6", 1), "must be at least 8"),
        (description.replace("} late @", " late @"), "expecting"),
        (description.replace("@ 0x108", "@ 0x100"), "overlaps"),
        (description[: len(description) // 2], "module.rdl:"),
        ("", "module.rdl"),
    ):
        with scratch() as folder:
            (folder / "regs.py").write_bytes((regs / "regs.py").read_bytes())
            (folder / "module.rdl").write_text(broken)
            made = subprocess.run([sys.executable, folder / "regs.py", "--check"], capture_output=True, text=True)
            assert made.returncode == 1 and "is not valid, so nothing was generated" in made.stderr, made.stderr
            assert what in made.stderr and "Traceback" not in made.stderr, made.stderr


def test_time_stands_still():
    """When nothing moves, the process sleeps, and no tick passes."""
    with module("--loop") as made:
        made.keep(0.1)
        made.write(command=1 << 6)
        before = made.read("captured_tick")
        made.keep(0.5)
        made.write(command=1 << 6)
        after = made.read("captured_tick")
        assert after - before < 20_000
        made.close()
        assert made.summary["awake_s"] < 0.5


TESTS = {name.removeprefix("test_"): test for name, test in list(globals().items()) if name.startswith("test_")}


@contextlib.contextmanager
def beside_others():
    """While no system test measures time, if `TARE_TEST_LOCKS` says where those lock (tests/src/lock.rs)."""
    if not (folder := os.environ.get("TARE_TEST_LOCKS")):
        yield
        return
    with open(f"{folder}/system-tests.lock", "a") as lock:
        with open(f"{folder}/system-tests.gate", "a") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def main():
    global PROGRAM
    PROGRAM, names = sys.argv[1], sys.argv[2:] or list(TESTS)
    failed = 0
    began = time.monotonic()
    for name in names:
        one = time.monotonic()
        try:
            with beside_others():
                TESTS[name]()
            print(f"ok    {name:45} {time.monotonic() - one:6.1f} s", flush=True)
        except Exception:  # a test that breaks in any way has failed, and those behind it still run
            failed += 1
            print(f"WRONG {name}\n{traceback.format_exc()}", flush=True)
    print(f"\n{len(names) - failed} passed, {failed} failed, {time.monotonic() - began:.0f} s, seed {SEED}")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
