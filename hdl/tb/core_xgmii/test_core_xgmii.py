"""The core at 10 Gb/s. The wire is decoded and driven by xgmii.py; starts are compared with rational numbers. A cycle is 6.4 ns."""

import collections
from fractions import Fraction

import cocotb
from bench import PAUSES, Bench, Drive, Sink, Source, Watch, never, ports, seeded
from core.test_core import INPUTS, listen, template
from core.test_core import Core as CoreGmii
from model.ethernet import on_the_wire, sums_hold, udp
from model.gaps import due
from model.generator import Plan, Template
from model.histogram import bin_of
from model.shapes import Departure, From, Stamp, beats
from model.signature import Signature
from model.xgmii import START_DELAY, Line, length
from xgmii import IDLE, QUIET, START, Talker, Wire, octets

CYCLE = Fraction(32, 5)  # ns
# 6.4 ns a cycle, as the registers have it.
CLOCK = (6, 0x6666_6666)
PLACE = 42  # of signatures


class Loop:
    """A cable from transmitter to receiver: one cycle long."""

    def __init__(self, dut):
        self.dut = dut
        self.seen = (QUIET, 0xFF)

    def idle(self):
        self.dut.rxd_i.value, self.dut.rxc_i.value = QUIET, 0xFF

    def drive(self, _cycle):
        self.dut.rxd_i.value, self.dut.rxc_i.value = self.seen

    def look(self, _cycle):
        self.seen = (int(self.dut.txd_o.value), int(self.dut.txc_o.value))


class Core(CoreGmii):
    def __init__(self, dut, *agents):
        self.wire = Wire(dut)
        Bench.__init__(self, dut, self.wire, *agents)

    async def begin(self, **inputs):
        quiet = {"rxd_i": QUIET, "rxc_i": 0xFF, "clock_i.ns_whole": CLOCK[0], "clock_i.ns_fraction": CLOCK[1]}
        await super().begin(**quiet | inputs)

    async def again(self, agents, **inputs):
        """As `begin`, in a simulation whose clock already runs."""
        dut = self.dut
        values = dict.fromkeys(INPUTS, 0) | {"generator_i.gap_denominator": 1, "rxd_i": QUIET, "rxc_i": 0xFF} | inputs
        await self.set(**values)
        dut.rst_ni.value = 0
        self.agents = []
        await self.step(3)
        dut.rst_ni.value = 1
        self.cycle = 0
        await self.step(2_060)
        self.wire = Wire(dut)
        self.agents = [self.wire, *agents]


async def run(core, plan, gap, **more):
    """Runs the generator to its end. Returns the requested tick of the first frame."""
    first = core.tick() + 500
    await core.load(plan, gap, first, **more)
    core.dut.control_i.run.value = 1
    await core.until(lambda: len(core.wire.frames) == plan.frames, 100_000)
    core.dut.control_i.run.value = 0
    await core.step(60)
    return first


def even(size, frames):
    return Plan([template(size, signature_at=PLACE)], [], [], [(0, 0, 0)], frames)


def gap_errors(places, gaps):
    """|gap on the wire - requested gap| of each gap, in cycles."""
    return [abs(Fraction(b - a, 8) - gap) for a, b, gap in zip(places, places[1:], gaps)]


def said(what, errors):
    """Prints and returns the greatest gap error, for the caller to check."""
    worst = max(errors)
    cocotb.log.info("%s: gap error p100 %s cycles, %.1f ns, of %d gaps", what, worst, worst * CYCLE, len(errors))
    return worst


def line_rate(size):
    """The gap at line rate: 8 bytes of preamble and 12 of gap; cycles as (whole, numerator, denominator)."""
    return (size + 20) // 8, (size + 20) % 8, 8


@cocotb.test()
@cocotb.parametrize(size=[64, *range(65, 73), 1518])
async def generated(dut, size):
    """At rates up to line rate, frames start in the requested cycle and have their stamps. The receiver, on a cable, agrees."""
    seeded("generated", size)
    line = line_rate(size)
    whole = line[0] + (line[1] > 0)
    frames = 120 if size < 100 else 12
    core = Core(dut, Loop(dut))
    for n, gap in enumerate([line, (whole, 0, 1), (whole + 1, 0, 1), (whole, 333, 1000), (5 * whole + 3, 2, 7)]):
        if n:
            await core.again([Loop(dut)], listen_i=listen(PLACE))
        else:
            await core.begin(listen_i=listen(PLACE))
        await core.set_clock(0x123_4567_FFFF_F000, *CLOCK)
        plan = even(size, frames)
        first = await run(core, plan, gap, reckoned=From.AFTER_DUE)
        got = core.wire.whole()
        places = [place for place, _ in got]
        asked = Fraction(gap[0] * gap[2] + gap[1], gap[2])
        # Each starts in the cycle of the formula; in lane 4 only if the gap would be too short in lane 0.
        wire = Line()
        cycles = [first + START_DELAY + due(k, *gap) for k in range(frames)]
        assert places == [wire.start(cycle, size - 4) for cycle in cycles]
        worst = said(f"{size} B, a gap of {float(asked):.3f} cycles ({float(10**9 / asked / CYCLE):,.0f}/s)", gap_errors(places, [asked] * frames))
        # No drift: each start, also the last, is less than a cycle from the exact time.
        assert all(abs(Fraction(place - places[0], 8) - k * asked) < 1 for k, place in enumerate(places))
        if gap[1] == 0:
            assert worst == 0
        elif gap == line:
            # Starts are at multiples of four bytes, so they are exact if a frame with its gap is one, as at 64 bytes.
            assert worst <= Fraction(3, 8) and (worst == 0 or (size + 20) % 4)
        else:
            assert worst <= 1
        for k, ((_, frame), expected) in enumerate(zip(got, plan.expected())):
            assert sums_hold(frame), f"frame {k}"
            assert Signature.read(frame[PLACE:]) == Signature(k, 0, 0, core.time(first + due(k, *gap))), f"frame {k}"
            assert frame[: PLACE + 6] + bytes(12) + frame[PLACE + 18 :] == expected
        counts = {name: await core.counter(name) for name in ("sent", "late", "underruns", "good", "passed", "bytes", "missing", "stale", "bad", "noise")}
        assert counts == dict.fromkeys(counts, 0) | {"sent": frames, "good": frames, "passed": frames, "bytes": frames * size}
        # Latency: the start delay and the cable's cycle, in ns, whole.
        latencies = collections.Counter(
            bin_of(core.time(place // 8 + 1) - core.time(first + due(k, *gap))) for k, place in enumerate(places)
        )
        for bin_, count in latencies.items():
            assert await core.read(1, bin_) == count
        seen = collections.Counter(bin_of(b // 8 - a // 8) for a, b in zip(places, places[1:]))
        for bin_, count in seen.items():
            assert await core.read(0, bin_) == count
        assert await core.counter("uncounted") == 0


@cocotb.test()
@cocotb.parametrize(place=[8, 508, 510])
async def signature_places(dut, place):
    """Signatures at the first place and at the last ones are made, stamped and recognised like all others."""
    rng = seeded("signature_places", place)
    gap = 80
    core = Core(dut, Loop(dut))
    await core.begin(listen_i=listen(place))
    await core.set_clock(0x123_4567_FFFF_F000, *CLOCK)
    plan = Plan([Template(rng.randbytes(536), 530, signature_at=place, stream=5)], [], [], [(0, 0, 0)], 10, {5: 0xFFFF_FFFC})
    first = await run(core, plan, (gap, 0, 1))
    for n, ((_, got), expected) in enumerate(zip(core.wire.whole(), plan.expected(), strict=True)):
        assert Signature.read(got[place:]) == Signature(0xFFFF_FFFC + n, 5, 0, core.time(first + n * gap)), f"frame {n}"
        assert got[: place + 6] == expected[: place + 6] and got[place + 18 :] == expected[place + 18 :], f"frame {n}"
    assert await core.counter("good") == plan.frames and await core.counter("missing") == await core.counter("stale") == 0


@cocotb.test()
async def line_rate_at_64_bytes(dut):
    """2 000 frames start 10.5 cycles apart, which is 14 880 952 a second."""
    seeded("line_rate")
    frames = 2_000
    core = Core(dut, Loop(dut))
    await core.begin(listen_i=listen(PLACE))
    await run(core, even(64, frames), line_rate(64), reckoned=From.AFTER_DUE)
    places = [place for place, _ in core.wire.whole()]
    assert said("64 B at line rate", gap_errors(places, [Fraction(21, 2)] * frames)) == 0
    rate = (frames - 1) / (Fraction(places[-1] - places[0], 8) * CYCLE) * 10**9
    cocotb.log.info("%d frames/s", rate)
    assert int(rate) == 14_880_952
    assert await core.counter("late") == 0 and await core.counter("good") == frames and await core.counter("missing") == 0


@cocotb.test()
@cocotb.parametrize(size=[64, 65, 67, 72, 1518])
async def incoming_changes_nothing(dut, size):
    """The same run, at line rate and at a whole gap, without and with 64-byte frames coming in at line rate: every byte leaves in the same lane of the
    same cycle, and what comes is counted."""
    dut = ports(dut)
    rng = seeded("incoming", size)
    line = line_rate(size)
    frames = 60 if size < 100 else 8
    core = Core(dut)
    await core.begin()
    for gap in [line, (line[0] + 1, 0, 1)]:
        seen = []
        for talk in [0, 20 + (line[0] + 1) * frames // 10]:
            talker = Talker(dut, [], even=True)
            await core.again([talker], listen_i=listen(PLACE))
            await core.set_clock(0x123_4567_FFFF_F000, *CLOCK)
            first = core.tick() + 500
            plan = even(size, frames)
            await core.load(plan, gap, first, reckoned=From.AFTER_DUE)
            talker.items += [(12, on_the_wire(udp(Signature(n, 1, 0, 5).bytes()))) for n in range(talk + 40)]
            dut.control_i.run.value = 1
            await core.until(lambda: len(core.wire.frames) == frames, 20_000)
            # Traffic arrived during the whole run.
            assert talk == 0 or talker.items
            await core.until(talker.empty, 2_000)
            await core.step(40)
            seen.append((first, [(place - 8 * first, bytes(data)) for place, data, _ in core.wire.frames]))
            assert await core.counter("good") == await core.counter("passed") == (talk + 40)
            assert await core.counter("bad") == await core.counter("missing") == await core.counter("uncounted") == 0
            assert await core.counter("late") == 0 and await core.counter("sent") == frames
        assert seen[0] == seen[1]
        asked = Fraction(gap[0] * gap[2] + gap[1], gap[2])
        worst = said(f"{size} B, {float(asked):.3f} cycles, under 14 880 952/s incoming", gap_errors([place for place, _ in seen[1][1]], [asked] * frames))
        assert worst == 0 if gap[1] == 0 else worst <= Fraction(3, 8)


@cocotb.test()
@cocotb.parametrize(reckoned=[From.AFTER_START, From.AFTER_DUE])
async def asked_for_too_much(dut, reckoned):
    """Gaps of 10 cycles, where the wire needs 10.5: frames leave at line rate, and lateness is counted exactly."""
    seeded("too_much", reckoned)
    frames = 60
    core = Core(dut, Loop(dut))
    await core.begin()
    first = await run(core, even(64, frames), (10, 0, 1), reckoned=reckoned)
    places = [place for place, _ in core.wire.whole()]
    # The gate lets a frame go in a cycle of which at least lane 4 is free.
    assert [place - places[0] for place in places] == [84 * n for n in range(frames)]
    cycles = [place // 8 - START_DELAY for place in places]
    due_ = [first + 10 * n for n in range(frames)] if reckoned == From.AFTER_DUE else [first] + [cycle + 10 for cycle in cycles[:-1]]
    late = [cycle - at for cycle, at in zip(cycles, due_)]
    assert await core.counter("late") == sum(lateness > 0 for lateness in late)
    assert await core.counter("late_ticks") == sum(late) and await core.counter("latest") == max(late)


class Live(Core):
    """A host that stays within its credits."""

    def __init__(self, dut, pause, *agents):
        dut = ports(dut)
        def put(word):
            dut.live_i.departure.value, dut.live_i.beat.value = word

        self.source = Source(dut, "live_valid_i", "live_ready_o", put, [], pause)
        self.grants = Sink(dut, "grant_valid_o", "grant_ready_i", "grant_o")
        super().__init__(dut, self.source, self.grants, *agents)
        self.used = 0
        self.queue = []
        self.agents.append(Drive(self.offer))

    def offer(self, _cycle):
        dut = self.dut
        dut.credits_i.use_.value = 0
        granted = sum(self.grants.items()) - self.used
        if self.queue and granted >= len(self.queue[0][1]) and len(self.source.items) < 16:
            departure, words = self.queue.pop(0)
            dut.credits_i.use_.value, dut.credits_i.beats.value = 1, len(words)
            self.used += len(words)
            self.source.items += [(departure.pack(), beat.pack()) for beat in words]


@cocotb.test()
@cocotb.parametrize(case=["64 line", "65 line", "72 line", "1518 line", "whole", "any"], idle=["never", "rarely"], incoming=[False, True])
async def live(dut, case, idle, incoming):
    """A host's frames start in the requested cycle, with and without incoming traffic."""
    dut = ports(dut)
    rng = seeded("live", case, idle, incoming)
    count = 20 if case == "1518 line" else 100
    if case.endswith("line"):
        sizes = [int(case.split()[0]) - 4] * count
        gap = line_rate(sizes[0] + 4)
        gaps = [due(n + 1, *gap) - due(n, *gap) for n in range(count - 1)]
    else:
        sizes = [rng.randint(60, 200) for _ in range(count)]
        # The least gap of whole cycles, or more.
        least = [-(-(length(size) + 12) // 8) for size in sizes]
        gaps = [cycles + (0 if case == "whole" else rng.randint(0, 30)) for cycles in least][:-1]
    frames = [udp(rng.randbytes(size - 42)) for size in sizes]
    talk = [(12, on_the_wire(udp(rng.randbytes(18)))) for _ in range(400)] if incoming else []
    talker = Talker(dut, [], even=True)
    core = Live(dut, PAUSES[idle](rng), talker)
    await core.begin(control_i__live=1)
    await core.step(10)
    # The first waits until the host is well ahead.
    first = core.tick() + 1_200
    departures = [Departure(From.AT_TIME, first, Stamp(PLACE // 2, len(frames[0]) >= PLACE + 18))]
    departures += [Departure(From.AFTER_DUE, gap, Stamp(PLACE // 2, len(frame) >= PLACE + 18)) for gap, frame in zip(gaps, frames[1:])]
    core.queue += [(departure, beats(frame)) for departure, frame in zip(departures, frames)]
    await core.until(lambda: core.tick() > first - 20, 1_300)
    talker.items += talk
    await core.until(lambda: len(core.wire.frames) == count, 20_000)
    await core.until(talker.empty, 6_000)
    await core.step(60)
    got = core.wire.whole()
    for (_, data), frame in zip(got, frames):
        assert data[:PLACE + 6] == frame[:PLACE + 6] and data[PLACE + 18 :] == frame[PLACE + 18 :]
    places = [place for place, _ in got]
    wire = Line()
    cycles = [first + START_DELAY + sum(gaps[:n]) for n in range(count)]
    assert places == [wire.start(cycle, size) for cycle, size in zip(cycles, sizes)]
    # At line rate the requested gap is a fraction, which the host rounds to ticks.
    asked = [Fraction(sizes[0] + 24, 8)] * count if case.endswith("line") else gaps
    worst = said(f"live, {case}, incoming {incoming}", gap_errors(places, asked))
    assert worst <= (Fraction(3, 8) if case.endswith("line") else 0)
    assert await core.counter("late") == await core.counter("underruns") == 0
    assert await core.counter("good") == len(talk)
    assert sum(core.grants.items()) - core.used == 2048 and int(dut.status_o.idle.value) == 1


@cocotb.test()
@cocotb.parametrize(gap=[12, 5, 40], place=[8, 14, 42], seed=[1, 2])
async def hears(dut, gap, place, seed):
    """Signatures at any place, frames at line rate, at the least gap that a receiver must take, and further apart; between them fragments
    that are no frames: all that is good is counted, and nothing else."""
    rng = seeded("hears", gap, place, seed)
    items, streams, at = [], collections.defaultdict(int), 0
    expected = collections.Counter()
    for n in range(120):
        stream, lost = rng.randrange(32), rng.choice([0, 0, 0, 1, 5])
        if stream not in streams:
            lost = 0
        streams[stream] += lost
        frame = bytearray(rng.randbytes(rng.choice([60, 60, 61, 67, 200])))
        frame[place : place + 18] = Signature(streams[stream], stream, 0, 5).bytes()
        streams[stream] += 1
        whole = on_the_wire(bytes(frame))
        expected.update(good=1, passed=1, missing=lost, bytes=len(whole) - 8)
        one = octets(gap - 1, whole)
        for _ in range(rng.choice([0, 0, 0, 1, 3])):
            # A fragment, bad, of some bytes.
            one += octets(rng.randint(4, 20), whole[: 8 + rng.randint(1, 40)])
            expected.update(bad=1)
        # Starts in lanes 0 and 4.
        placed = []
        for octet in one:
            if octet == (START, 1):
                placed += [(IDLE, 1)] * (-(at + len(placed)) % 4)
            placed.append(octet)
        at += len(placed)
        items.append(placed)
    talker = Talker(dut, [])
    core = Core(dut, talker)
    await core.begin(listen_i=listen(place))
    talker.items += items
    await core.until(talker.empty, 6_000)
    await core.step(40)
    for name in ("good", "passed", "bad", "missing", "bytes"):
        assert await core.counter(name) == expected[name], name
    assert await core.counter("stale") == await core.counter("noise") == await core.counter("uncounted") == 0


@cocotb.test()
async def forgets(dut):
    """Forgets at once frames that are due in minutes. A later frame leaves."""
    dut = ports(dut)
    rng = seeded("forgets")
    done = []
    watch = Watch(lambda _cycle: done.append(int(dut.status_o.forgotten.value)) if dut.forget_done_o.value == 1 else None)
    core = Live(dut, never, watch)
    await core.begin(control_i__live=1)
    core.queue += [(Departure(From.AFTER_START, 30 if n < 3 else 10**10), beats(rng.randbytes(100))) for n in range(9)]
    await core.until(lambda: len(core.wire.frames) == 3, 2_000)
    await core.step(200)
    dut.control_i.forget.value = 1
    await core.step()
    dut.control_i.forget.value = 0
    await core.until(lambda: bool(done), 1_000)
    assert done == [6] and len(core.wire.frames) == 3
    core.queue += [(Departure(From.AFTER_START, 10**10), beats(rng.randbytes(100)))]
    await core.until(lambda: len(core.wire.frames) == 4, 1_000)
    core.wire.whole()
    assert await core.counter("late") == 0
