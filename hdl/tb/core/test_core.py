"""The whole core, from its settings to the wire and back. The wire is decoded by gmii.py, independently of the design."""

import collections
import json
import os
import pathlib

import cocotb
from bench import PAUSES, Bench, Drive, Sink, Source, Watch, never, ports, seeded
from gmii import Talker, Wire
from model.ethernet import on_the_wire, sums_hold, udp
from model.gaps import due
from model.generator import Field, Mode, Plan, Template
from model.histogram import bin_of
from model.shapes import Departure, From, beats
from model.signature import Signature
from model.structs import structs

# From a frame's start to the first byte of its preamble on the wire.
START_DELAY = 1
COUNTERS = ["sent", "late", "late_ticks", "latest", "underruns", "good", "bad", "passed", "bytes", "noise", "missing", "stale", "uncounted"]
INPUTS = [
    "rxd_i", "rx_dv_i", "rx_er_i", "control_i", "generator_i", "memory_i", "clock_i", "listen_i", "figure_i", "live_valid_i", "live_i",
    "credits_i", "grant_ready_i", "mark_valid_i", "mark_i", "marked_ready_i", "count_read_i", "count_at_i",
]  # fmt: skip


class Loop:
    """A cable from transmitter to receiver: one cycle long."""

    def __init__(self, dut):
        self.dut = dut
        self.seen = (0, 0, 0)

    def idle(self):
        pass

    def drive(self, _cycle):
        self.dut.rx_dv_i.value, self.dut.rxd_i.value, self.dut.rx_er_i.value = self.seen

    def look(self, _cycle):
        self.seen = (int(self.dut.tx_en_o.value), int(self.dut.txd_o.value), int(self.dut.tx_er_o.value))


class Core(Bench):
    def __init__(self, dut, *agents):
        self.wire = Wire(dut)
        super().__init__(dut, self.wire, *agents)

    async def begin(self, **inputs):
        values = dict.fromkeys(INPUTS, 0) | {"generator_i.gap_denominator": 1, "clock_i.ns_whole": 8} | inputs
        await self.start(**values)
        agents, self.agents = self.agents, []
        await self.step(2_060)
        self.agents = agents

    async def set_clock(self, value, whole, fraction):
        """The nanoseconds of this cycle are `value`, and each cycle adds whole + fraction / 2^32."""
        dut = self.dut
        dut.clock_i.ns_whole.value, dut.clock_i.ns_fraction.value = whole, fraction
        await self.step(4)
        dut.clock_i.ns_value.value, dut.clock_i.ns_set.value = value, 1
        self.clock = (self.cycle, value, whole << 32 | fraction)
        await self.step()
        dut.clock_i.ns_set.value = 0

    def time(self, tick):
        at, value, increment = self.clock
        return value + ((tick - at) * increment >> 32)

    def tick(self):
        """The tick of the coming cycle: counted from the reset, one ahead of `cycle`."""
        return self.cycle

    async def load(self, plan, gap, first_time, reckoned=From.AFTER_START, from_list=False):
        dut = self.dut
        agents, self.agents = self.agents, []
        for memory, address, data in plan.writes():
            dut.memory_i.data_write.value = 1
            dut.memory_i.which.value, dut.memory_i.address.value, dut.memory_i.data.value = memory, address, data
            await self.step()
        dut.memory_i.data_write.value = 0
        dut.generator_i.gaps_from_list.value = from_list
        dut.generator_i.last_entry.value = len(plan.entries) - 1
        dut.generator_i.frames.value = plan.frames
        dut.generator_i.from_.value, dut.generator_i.first_from.value = reckoned, From.AT_TIME
        dut.generator_i.first_time.value = first_time
        dut.control_i.gap_set.value = 1
        dut.generator_i.gap_whole.value, dut.generator_i.gap_numerator.value, dut.generator_i.gap_denominator.value = gap
        await self.step()
        dut.control_i.gap_set.value = 0
        await self.step(4)
        self.agents = agents

    async def read(self, what, at):
        dut = self.dut
        dut.figure_i.ask.value, dut.figure_i.what.value, dut.figure_i.at.value = 1, what, at
        for _ in range(20):
            got = {}
            self.agents.append(Watch(lambda _cycle: got.update(valid=int(dut.figure_valid_o.value), word=int(dut.figure_o.value))))
            await self.step()
            self.agents.pop()
            if got["valid"]:
                dut.figure_i.ask.value = 0
                await self.step(4)
                return got["word"]
        raise AssertionError("no answer")

    async def counter(self, name):
        if name == "latest":
            return int(self.dut.status_o.latest.value)
        # By now the counters have taken all events.
        await self.step(20)
        dut = self.dut
        dut.count_read_i.value, dut.count_at_i.value = 1, COUNTERS.index(name)
        await self.step()
        dut.count_read_i.value = 0
        await self.step(2)
        return int(dut.count_o.value)


def template(size, **rest):
    """A UDP frame of that size with FCS."""
    stored = bytearray(udp(bytes(size - 46)))
    for at in (16, 24, 38, 40):
        stored[at : at + 2] = b"\0\0"
    stored = bytes(stored[:64].ljust(64, b"\0"))
    return Template(stored, size - 4, 17, **rest)


def listen(signature_at):
    return structs()["listen_t"].pack(signed_=1, signature_at=signature_at // 2)


async def generated(dut, size, gap, frames, talk=(), clock=(8, 0), **more):
    """Runs the generator. Returns the core, the tick of the first frame, and the plan."""
    dut = ports(dut)
    talker = Talker(dut, talk)
    core = Core(dut, talker if talk else Loop(dut))
    await core.begin(listen_i=listen(42))
    await core.set_clock(0x123_4567_FFFF_F000, *clock)
    plan = Plan([template(size, signature_at=42)], [], [], [(0, 0, 0)], frames)
    first = core.tick() + 500
    await core.load(plan, gap, first, **more)
    dut.control_i.run.value = 1
    await core.until(lambda: len(core.wire.frames) == frames, 200_000)
    await core.step(60)
    return core, first, plan


@cocotb.test()
@cocotb.parametrize(
    case=[(64, (84, 0, 1)), (64, (84, 1, 3)), (64, (1000, 0, 1)), (64, (375, 125, 333)), (1518, (1538, 0, 1)), (1518, (1695, 0, 1)), (1518, (15380, 1, 7))]
)
async def exact_gaps(dut, case):
    """Every preamble begins in the requested cycle, every frame has its stamp, and the receiver agrees."""
    size, gap = case
    seeded("exact_gaps", case)
    frames = 60 if size == 64 else 12
    # The increment differs from the length of a cycle, so that a time of the wrong cycle is noticed.
    clock = (8, 0) if gap[1] == 0 else (6, 0x6666_6666)
    core, first, plan = await generated(dut, size, gap, frames, clock=clock)
    whole = core.wire.whole()
    starts = [cycle for cycle, _ in whole]
    zero = starts[0]
    assert zero == first + START_DELAY
    assert [start - zero for start in starts] == [due(n, *gap) for n in range(frames)]
    for n, ((cycle, got), expected) in enumerate(zip(whole, plan.expected())):
        assert sums_hold(got), f"frame {n}"
        assert Signature.read(got[42:]) == Signature(n, 0, 0, core.time(first + due(n, *gap))), f"frame {n}"
        assert got[:48] + bytes(12) + got[60:] == expected
    assert await core.counter("sent") == frames and await core.counter("late") == 0 and await core.counter("underruns") == 0
    assert await core.counter("good") == await core.counter("passed") == frames
    assert await core.counter("bytes") == frames * size
    assert await core.counter("missing") == await core.counter("stale") == await core.counter("bad") == await core.counter("noise") == 0
    # Latency: the start delay and the cable's cycle, in ns.
    ticks = [first + due(n, *gap) for n in range(frames)]
    latencies = collections.Counter(bin_of(core.time(tick + START_DELAY + 1) - core.time(tick)) for tick in ticks)
    for bin_, count in latencies.items():
        assert await core.read(1, bin_) == count
    for gap_seen in {due(n + 1, *gap) - due(n, *gap) for n in range(frames - 1)}:
        same = sum(bin_of(due(n + 1, *gap) - due(n, *gap)) == bin_of(gap_seen) for n in range(frames - 1))
        assert await core.read(0, bin_of(gap_seen)) == same


@cocotb.test()
@cocotb.parametrize(place=[8, 508, 510])
async def signature_places(dut, place):
    """Signatures at the first place and at the last ones are made, stamped and recognised like all others."""
    dut = ports(dut)
    rng = seeded("signature_places", place)
    frames, gap = 10, 600
    core = Core(dut, Loop(dut))
    await core.begin(listen_i=listen(place))
    await core.set_clock(0x123_4567_FFFF_F000, 8, 0)
    plan = Plan([Template(rng.randbytes(536), 530, signature_at=place, stream=5)], [], [], [(0, 0, 0)], frames, {5: 0xFFFF_FFFC})
    first = core.tick() + 500
    await core.load(plan, (gap, 0, 1), first)
    dut.control_i.run.value = 1
    await core.until(lambda: len(core.wire.frames) == frames, 20_000)
    await core.step(60)
    for n, ((_, got), expected) in enumerate(zip(core.wire.whole(), plan.expected(), strict=True)):
        assert Signature.read(got[place:]) == Signature(0xFFFF_FFFC + n, 5, 0, core.time(first + n * gap)), f"frame {n}"
        assert got[: place + 6] == expected[: place + 6] and got[place + 18 :] == expected[place + 18 :], f"frame {n}"
    assert await core.counter("good") == frames and await core.counter("missing") == await core.counter("stale") == 0
    # From the start to the wire, and the cable's cycle.
    assert await core.read(1, bin_of(8 * (START_DELAY + 1))) == frames


@cocotb.test()
@cocotb.parametrize(gap=[(84, 0, 1), (100, 1, 3)])
async def incoming_changes_nothing(dut, gap):
    """Repeats a run while 64-byte frames arrive without a pause. Every byte leaves in the same cycle as before."""
    rng = seeded("incoming", gap)
    quiet, first, _ = await generated(dut, 64, gap, 40)
    alone = [(cycle - quiet.wire.frames[0][0], bytes(data)) for cycle, data, _ in quiet.wire.frames]
    dut.rst_ni.value = 0
    await quiet.step(5)
    talk = [(12, on_the_wire(udp(rng.randbytes(18))), None) for _ in range(200)]
    busy, second, _ = await generated_again(dut, 64, gap, 40, talk)
    with_traffic = [(cycle - busy.wire.frames[0][0], bytes(data)) for cycle, data, _ in busy.wire.frames]
    # Stamps differ, and so do their checks and the FCS.
    assert [cycle for cycle, _ in with_traffic] == [cycle for cycle, _ in alone]
    assert [data[8:58] for _, data in with_traffic] == [data[8:58] for _, data in alone]
    assert await busy.counter("late") == 0
    assert await busy.counter("good") > 30 and await busy.counter("bad") == 0


async def generated_again(dut, size, gap, frames, talk):
    """As `generated`, in a simulation whose clock already runs."""
    dut = ports(dut)
    talker = Talker(dut, talk)
    core = Core(dut, talker)
    values = dict.fromkeys(INPUTS, 0) | {"generator_i.gap_denominator": 1, "clock_i.ns_whole": 8, "listen_i": listen(42)}
    await core.set(**values)
    dut.rst_ni.value = 0
    agents, core.agents = core.agents, []
    await core.step(3)
    dut.rst_ni.value = 1
    core.cycle = 0
    await core.step(2_060)
    core.agents = agents
    plan = Plan([template(size, signature_at=42)], [], [], [(0, 0, 0)], frames)
    first = core.tick() + 500
    await core.load(plan, gap, first)
    dut.control_i.run.value = 1
    await core.until(lambda: len(core.wire.frames) == frames, 200_000)
    await core.step(60)
    return core, first, plan


@cocotb.test()
@cocotb.parametrize(reckoned=[From.AFTER_START, From.AFTER_DUE])
async def asked_for_too_much(dut, reckoned):
    """Gaps of 80 ticks, where the wire needs 84: frames leave at line rate, and the lateness of each is counted exactly."""
    seeded("too_much", reckoned)
    frames = 50
    core, _, _ = await generated(dut, 64, (80, 0, 1), frames, reckoned=reckoned)
    starts = [cycle for cycle, _ in core.wire.whole()]
    assert [start - starts[0] for start in starts] == [84 * n for n in range(frames)]
    assert await core.counter("late") == frames - 1
    each = [4 * n if reckoned == From.AFTER_DUE else 4 for n in range(1, frames)]
    assert await core.counter("late_ticks") == sum(each) and await core.counter("latest") == max(each)


@cocotb.test()
@cocotb.parametrize(idle=["never", "mostly", "bursts"])
async def live(dut, idle):
    """A host stays within its credits: frames leave at their gaps, marks are reported, and all credits come back."""
    dut = ports(dut)
    rng = seeded("live", idle)
    frames = [rng.randbytes(rng.randint(60, 400)) for _ in range(30)]
    departures = [Departure(From.AT_ONCE)] + [Departure(From.AFTER_START, rng.randint(500, 900)) for _ in frames[1:]]
    state = {"credits": 0, "marks": [], "asks": False}

    def put(word):
        dut.live_i.departure.value, dut.live_i.beat.value = word

    source = Source(dut, "live_valid_i", "live_ready_o", put, [], PAUSES[idle](rng))
    # No grant is taken in the cycle in which credits are used.
    grants = Sink(dut, "grant_valid_o", "grant_ready_i", "grant_o", lambda _cycle: state["asks"])
    marked = Sink(dut, "marked_valid_o", "marked_ready_i", "marked_o")
    core = Core(dut, source, grants, marked, Loop(dut))
    await core.begin(control_i__live=1)
    core.agents.remove(core.agents[-1])
    for n, (frame_, departure) in enumerate(zip(frames, departures)):
        words = beats(frame_)
        await core.until(lambda: sum(grants.items()) - state["credits"] >= len(words), 5_000)
        state["credits"] += len(words)
        dut.credits_i.use_.value, dut.credits_i.beats.value, state["asks"] = 1, len(words), True
        await core.step()
        assert int(dut.credits_o.refused.value) == 0
        dut.credits_i.use_.value, state["asks"] = 0, False
        source.items += [(departure.pack(), beat.pack()) for beat in words]
        await core.until(source.empty, 5_000)
        if n % 7 == 3:
            await core.step(2)
            dut.mark_valid_i.value, dut.mark_i.value = 1, n
            await core.step()
            dut.mark_valid_i.value = 0
            state["marks"].append(n)
    await core.until(lambda: len(core.wire.frames) == len(frames), 60_000)
    await core.step(60)
    whole = core.wire.whole()
    assert [data for _, data in whole] == frames
    starts = [cycle for cycle, _ in whole]
    late = await core.counter("late")
    exact = sum(b - a == departure.value for a, b, departure in zip(starts, starts[1:], departures[1:]))
    assert exact == len(frames) - 1 - late
    if idle == "never":
        assert late == 0
    assert marked.items() == state["marks"]
    assert sum(grants.items()) - state["credits"] == 2048
    assert int(dut.status_o.idle.value) == 1 and await core.counter("underruns") == 0


@cocotb.test()
async def as_the_page_draws_it(dut):
    """Three live frames, at a tick and two gaps after it; TRACE=FILE keeps every cycle's signals for the timing diagram (timing.py)."""
    dut = ports(dut)
    rng = seeded("page")
    trace = []

    def look(cycle):
        names = {"departure": "departure_valid", "frame": "source_valid", "start": "start", "ready": "gate_ready", "tx_en": "tx_en_o", "txd": "txd_o"}
        trace.append({"tick": cycle, **{name: int(getattr(dut, signal).value) for name, signal in names.items()}})

    def put(word):
        dut.live_i.departure.value, dut.live_i.beat.value = word

    source = Source(dut, "live_valid_i", "live_ready_o", put, [], never)
    core = Core(dut, source, Watch(look))
    await core.begin(control_i__live=1)
    at = core.tick() + 60
    for departure in (Departure(From.AT_TIME, at), Departure(From.AFTER_START, 100), Departure(From.AFTER_START, 84)):
        source.items += [(departure.pack(), beat.pack()) for beat in beats(rng.randbytes(60))]
    await core.until(lambda: len(core.wire.frames) == 3, 2_000)
    assert [row["tick"] for row in trace if row["start"]] == [at, at + 100, at + 184]
    assert [cycle for cycle, _ in core.wire.whole()] == [tick + START_DELAY for tick in (at, at + 100, at + 184)]
    # The next departure or frame waits at the gate long before it leaves.
    shown = {row["tick"]: row for row in trace}
    assert all(shown[tick]["departure"] or shown[tick]["frame"] for tick in range(at + 84, at + 100))
    if "TRACE" in os.environ:
        kept = [row | {"tick": row["tick"] - at} for row in trace if at - 40 <= row["tick"] <= at + 280]
        pathlib.Path(os.environ["TRACE"]).write_text(json.dumps(kept))


@cocotb.test()
@cocotb.parametrize(source=["generator", "live"])
async def forgets(dut, source):
    """Forgets at once a frame that is due in minutes, and those behind it. A later frame leaves."""
    dut = ports(dut)
    rng = seeded("forgets", source)
    done = []
    watch = Watch(lambda _cycle: done.append(int(dut.status_o.forgotten.value)) if dut.forget_done_o.value == 1 else None)
    core = Core(dut, watch)
    live_source = Source(dut, "live_valid_i", "live_ready_o", lambda word: put(word), [], never)

    def put(word):
        dut.live_i.departure.value, dut.live_i.beat.value = word

    core.agents.append(live_source)
    await core.begin(control_i__live=source == "live")
    if source == "live":
        for n in range(9):
            value = 300 if n < 3 else 10**10
            live_source.items += [(Departure(From.AFTER_START, value).pack(), beat.pack()) for beat in beats(rng.randbytes(100))]
        await core.until(live_source.empty, 2_000)
    else:
        plan = Plan([template(64)], [], [], [(300, 0, 0), (300, 0, 0), (300, 0, 0), (10**9, 0, 0)], 9)
        await core.load(plan, (84, 0, 1), 2_000, from_list=True)
        dut.control_i.run.value = 1
    await core.until(lambda: len(core.wire.frames) == 3, 20_000)
    await core.step(500)
    assert len(core.wire.frames) == 3
    dut.control_i.run.value = 0
    dut.control_i.forget.value = 1
    await core.step()
    dut.control_i.forget.value = 0
    await core.until(lambda: bool(done), 1_000)
    if source == "live":
        assert done == [6]
    else:
        # Only what the generator had made ahead. It was stopped, so it made no more.
        assert 1 <= done[0] <= 6
    assert int(dut.status_o.idle.value) == 1 and int(dut.status_o.forgetting.value) == 0
    if source == "live":
        live_source.items += [(Departure(From.AFTER_START, 10**10).pack(), beat.pack()) for beat in beats(rng.randbytes(100))]
        await core.until(lambda: len(core.wire.frames) == 4, 1_000)
        assert await core.counter("late") == 0


@cocotb.test()
async def forget_ends_the_run(dut):
    """Forgetting stops a running generator. It starts again at the next rising edge of `run`."""
    dut = ports(dut)
    core = Core(dut)
    await core.begin()
    plan = Plan([template(64)], [], [], [(0, 0, 0)], 0)
    await core.load(plan, (84, 0, 1), core.tick() + 100)
    dut.control_i.run.value = 1
    await core.until(lambda: len(core.wire.frames) == 5, 5_000)
    dut.control_i.forget.value = 1
    await core.step()
    dut.control_i.forget.value = 0
    await core.step(200)
    assert int(dut.status_o.idle.value) == 1 and int(dut.status_o.forgetting.value) == 0
    left = len(core.wire.frames)
    await core.step(1_000)
    assert int(dut.control_i.run.value) == 1 and len(core.wire.frames) == left
    dut.control_i.run.value = 0
    await core.step(4)
    at = core.tick() + 100
    dut.generator_i.first_time.value, dut.control_i.run.value = at, 1
    await core.until(lambda: len(core.wire.frames) == left + 3, 5_000)
    starts = [cycle for cycle, _ in core.wire.whole()]
    assert [start - starts[left] for start in starts[left : left + 3]] == [0, 84, 168]


@cocotb.test()
async def sources_change_between_frames(dut):
    """Switches the source while live frames wait, and while the generator runs. Frames leave whole, those of the earlier source first."""
    dut = ports(dut)
    rng = seeded("sources")

    def put(word):
        dut.live_i.departure.value, dut.live_i.beat.value = word

    source = Source(dut, "live_valid_i", "live_ready_o", put, [], never)
    core = Core(dut, source)
    await core.begin(control_i__live=1)
    plan = Plan([template(64)], [], [], [(0, 0, 0)], 4)
    await core.load(plan, (84, 0, 1), 0)
    first, then = [[rng.randbytes(rng.randint(60, 300)) for _ in range(4)] for _ in range(2)]
    source.items += [(Departure(From.AFTER_START, 500).pack(), beat.pack()) for frame_ in first for beat in beats(frame_)]
    await core.until(lambda: len(core.wire.frames) == 1 and source.empty(), 5_000)
    dut.control_i.live.value, dut.control_i.run.value = 0, 1
    await core.until(lambda: len(core.wire.frames) == 5, 5_000)
    dut.control_i.live.value = 1
    source.items += [(Departure(From.AFTER_START, 500).pack(), beat.pack()) for frame_ in then for beat in beats(frame_)]
    await core.until(lambda: len(core.wire.frames) == 12, 10_000)
    whole = [data for _, data in core.wire.whole()]
    assert whole[:4] == first and whole[8:] == then
    assert [len(data) for data in whole[4:8]] == [60] * 4
    assert int(dut.status_o.idle.value) == 1 and await core.counter("underruns") == 0


@cocotb.test()
async def forgets_what_the_other_source_had_made(dut):
    """Forgetting also discards frames of the source that is not selected. The next frame leaves."""
    dut = ports(dut)
    rng = seeded("other source")

    def put(word):
        dut.live_i.departure.value, dut.live_i.beat.value = word

    source = Source(dut, "live_valid_i", "live_ready_o", put, [], never)
    core = Core(dut, source)
    await core.begin(control_i__live=1)
    await core.load(Plan([template(64)], [], [], [(0, 0, 0)], 4), (84, 0, 1), 0)

    async def forget():
        dut.control_i.forget.value = 1
        await core.step()
        dut.control_i.forget.value = 0
        await core.until(lambda: int(dut.status_o.idle.value) == 1 and int(dut.status_o.forgetting.value) == 0, 500)

    def frame_of(value):
        data = rng.randbytes(100)
        source.items += [(Departure(From.AFTER_START, value).pack(), beat.pack()) for beat in beats(data)]
        return data

    dut.control_i.run.value = 1
    await core.step(100)
    dut.control_i.run.value = 0
    assert int(dut.status_o.idle.value) == 0
    await forget()
    assert int(dut.status_o.forgotten.value) > 0 and not core.wire.frames
    sent = frame_of(100)
    await core.until(lambda: len(core.wire.frames) == 1, 2_000)
    assert [data for _, data in core.wire.whole()] == [sent]

    dut.control_i.live.value = 0
    await core.step(10)
    frame_of(100)
    await core.until(source.empty, 500)
    await core.step(50)
    await forget()
    assert int(dut.status_o.forgotten.value) == 1 and len(core.wire.frames) == 1
    dut.generator_i.first_time.value, dut.control_i.run.value = core.tick() + 50, 1
    await core.until(lambda: len(core.wire.frames) == 5, 5_000)
