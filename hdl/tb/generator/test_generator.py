"""Generated frames compared with frames assembled by the model."""

import cocotb
from bench import PAUSES, Bench, Sink, seeded
from model.ethernet import sums_hold, tcp, udp
from model.generator import Field, Mode, Plan, Template, even_gaps
from model.shapes import Beat, Departure, From, frame
from model.signature import LENGTH, Signature


class Generator(Bench):
    def __init__(self, dut, wait):
        self.departures = Sink(dut, "departure_valid_o", "departure_ready_i", "departure_o", wait)
        self.beats = Sink(dut, "valid_o", "ready_i", "beat_o", wait)
        super().__init__(dut, self.departures, self.beats)

    async def begin(self):
        await self.start(
            run_i=0, settings_i=0, settings_i__from=From.AFTER_START, settings_i__first_from=From.AT_TIME, settings_i__first_time=12345,
            settings_i__gap_denominator=1, gap_set_i=0, memory_i=0,
        )

    async def load(self, plan, gap=(8, 0, 1), from_list=False):
        dut = self.dut
        agents, self.agents = self.agents, []
        for memory, address, data in plan.writes():
            dut.memory_i.data_write.value = 1
            dut.memory_i.which.value, dut.memory_i.address.value, dut.memory_i.data.value = memory, address, data
            await self.step()
        dut.memory_i.data_write.value = 0
        self.agents = agents
        dut.settings_i.gaps_from_list.value = from_list
        dut.settings_i.last_entry.value = len(plan.entries) - 1
        dut.settings_i.frames.value = plan.frames
        dut.gap_set_i.value = 1
        dut.settings_i.gap_whole.value, dut.settings_i.gap_numerator.value, dut.settings_i.gap_denominator.value = gap
        await self.step()
        dut.gap_set_i.value = 0
        await self.step(4)

    async def run(self, plan, limit=100_000):
        self.dut.run_i.value = 1
        self.beats.got.clear()
        self.departures.got.clear()
        done = lambda: len(self.departures.got) == plan.frames and self.dut.idle_o.value == 1
        await self.until(done, limit)
        await self.step(30)
        self.dut.run_i.value = 0
        await self.step(20)

    def frames(self):
        out, parts = [], []
        for word in self.beats.items():
            parts.append(Beat.unpack(word))
            if parts[-1].last:
                out.append(frame(parts))
                parts = []
        assert not parts
        return out

    def check_departures(self, gaps):
        got = [Departure.unpack(word) for word in self.departures.items()]
        assert got[0].reckoned == From.AT_TIME and got[0].value == 12345
        assert [departure.value for departure in got[1:]] == gaps[1:]
        assert all(departure.reckoned == From.AFTER_START for departure in got[1:])
        return got


def blank(frame_, *places):
    """A frame with zeros at (start, end), up to a whole number of beats."""
    data = bytearray(frame_)
    for start, end in places:
        data[start:end] = bytes(end - start)
    return bytes(data.ljust(-(-len(data) // 8) * 8, b"\0"))


# Lengths, checksums; then addresses and ports where they vary.
LENGTHS = [(16, 18), (24, 26)]


def udp_template(payload, *more, length=None, **rest):
    return Template(blank(udp(payload), *LENGTHS, (38, 42), *more), length or 42 + len(payload), 17, **rest)


def tcp_template(payload, *more, length=None, **rest):
    return Template(blank(tcp(payload), *LENGTHS, (50, 52), *more), length or 54 + len(payload), 6, **rest)


@cocotb.test()
async def smallest_at_full_rate(dut):
    """64-byte frames in which everything varies take eight cycles each."""
    rng = seeded("smallest")
    template = udp_template(bytes(18), (26, 30), (34, 38), signature_at=42, stream=3)
    fields = [
        Field(26, True, Mode.RANDOM, 0xC612_0000, 0xFFFF, begin=99, in_ip=True, in_l4=True),
        Field(34, False, Mode.INCREMENT, 1000, 1006, in_l4=True),
        Field(36, False, Mode.LIST, 2, 6, in_l4=True),
    ]
    plan = Plan([template], fields, [rng.randrange(1 << 16) for _ in range(8)], [(0, 0, 0)], 200)
    bench = Generator(dut, PAUSES["never"](rng))
    await bench.begin()
    await bench.load(plan)
    await bench.run(plan)
    frames = bench.frames()
    assert frames == list(plan.expected())
    # The stamper does this later.
    for n, frame_ in enumerate(frames):
        signature = Signature(n, 3, rng.randrange(1 << 16), rng.randrange(1 << 60)).bytes()
        assert frame_[42:48] == signature[:6] and sums_hold(frame_[:42] + signature)
    cycles = [cycle for cycle, _ in bench.beats.got]
    assert cycles == list(range(cycles[0], cycles[0] + 8 * plan.frames)), "a hole between frames"
    departures = bench.check_departures([8] * plan.frames)
    assert all(d.stamp.enable and d.stamp.place == 21 for d in departures)
    # t_gen: from the first beat of a frame to the first beat of the next.
    starts = cycles[::8]
    assert {b - a for a, b in zip(starts, starts[1:])} == {8}


@cocotb.test()
@cocotb.parametrize(case=list(range(8)), wait=["never", "rarely", "bursts"])
async def anything(dut, case, wait):
    """Random templates, fields and lists, with any backpressure."""
    rng = seeded("anything", case, wait)
    templates = []
    for n in range(rng.choice([1, 3, 32])):
        payload = bytes(LENGTH) + bytes(rng.randrange(256) for _ in range(rng.choice([0, 30, 100])))
        make = rng.choice([udp_template, tcp_template])
        length = None
        header = 42 if make is udp_template else 54
        if rng.random() < 0.3:
            length = rng.choice([200, 777, 1514])
        signature = header if rng.random() < 0.7 else None
        template = make(payload, (26, 34), (34, 38), length=length, signature_at=signature, stream=n)
        if rng.random() < 0.2:
            template = Template(blank(rng.randbytes(64), (26, 34), (34, 38)), rng.randint(60, 300))
        templates.append(template)
    fields = []
    for at, wide, ip in [(26, True, True), (30, True, True), (34, False, False), (36, False, False)][: rng.randint(0, 4)]:
        mode = rng.choice(list(Mode))
        first, count, step = rng.randrange(200), rng.randint(0, 40), rng.choice([1, 1, 3, 1000])
        last = first + count * step
        begin = None
        if mode == Mode.LIST:
            first, last, step = 3, rng.randint(3, 255), 1
        if mode == Mode.RANDOM:
            first, last, begin = rng.randrange(1 << 32), rng.choice([0xFF, 0xFFFF_FFFF]), rng.randint(1, (1 << 32) - 1)
        fields.append(Field(at, wide, mode, first, last, step, begin, rng.choice([0xFFFF_FFFF, rng.randrange(1 << 32)]), ip, True))
    entries = []
    for _ in range(rng.choice([1, 2, 17])):
        which = rng.randrange(len(templates))
        stored = len(templates[which].stored)
        # A frame shorter than its stored bytes would lack some that the sums cover.
        length = rng.choice([0, 0, rng.randint(stored, 1514)])
        entries.append((rng.randrange(1 << 32), length, which))
    plan = Plan(
        templates, fields, [rng.randrange(1 << 32) for _ in range(256)], entries, 25,
        {stream: rng.choice([0, 0xFFFF_FFF8, rng.randrange(1 << 32)]) for stream in range(32)},
    )
    from_list = rng.random() < 0.5
    gap = (rng.randint(8, 1000), rng.randint(0, 998), 999)
    bench = Generator(dut, PAUSES[wait](rng))
    await bench.begin()
    await bench.load(plan, gap, from_list)
    await bench.run(plan)
    frames = bench.frames()
    for n, (got, expected) in enumerate(zip(frames, plan.expected())):
        assert got == expected, f"frame {n}\n{got.hex()}\n{expected.hex()}"
    assert len(frames) == plan.frames
    bench.check_departures(plan.gaps() if from_list else [0] + even_gaps(plan.frames - 1, *gap))


@cocotb.test()
@cocotb.parametrize(place=[8, 10, 504, 506, 508, 510], stored=[True, False])
async def signature_places(dut, place, stored):
    """Signatures at the first place and at the last ones, which end beyond halfword 255, over stored bytes and over zeros."""
    rng = seeded("signature_places", place, stored)
    templates = [
        Template(rng.randbytes(536) if stored else rng.randbytes(64), length, signature_at=place, stream=n)
        for n, length in enumerate([place + LENGTH if stored else 528, 1514])
    ]
    plan = Plan(templates, [], [], [(0, 0, 0), (0, 0, 1)], 40, {0: 0xFFFF_FFF0, 1: rng.randrange(1 << 32)})
    bench = Generator(dut, PAUSES["never"](rng))
    await bench.begin()
    await bench.load(plan)
    await bench.run(plan)
    for n, (got, expected) in enumerate(zip(bench.frames(), plan.expected(), strict=True)):
        assert got == expected, f"frame {n}\n{got.hex()}\n{expected.hex()}"


@cocotb.test()
async def long_list(dut):
    """The list's 4 096 entries are used once each, then from the first again."""
    rng = seeded("long_list")
    template = udp_template(bytes(18))
    entries = [(rng.randrange(1 << 32), 0, 0) for _ in range(4096)]
    plan = Plan([template], [], [], entries, 4100)
    bench = Generator(dut, PAUSES["never"](rng))
    await bench.begin()
    await bench.load(plan, from_list=True)
    # Only departures are checked; beats are taken and ignored.
    bench.agents.remove(bench.beats)
    dut.ready_i.value = 1
    dut.run_i.value = 1
    await bench.until(lambda: len(bench.departures.got) == plan.frames, 40_000)
    bench.check_departures(plan.gaps())


@cocotb.test()
async def stop(dut):
    """A generator that is stopped ends between two frames, with as many departures as frames. The next run starts afresh."""
    rng = seeded("stop")
    template = udp_template(bytes(200))
    plan = Plan([template], [], [], [(0, 0, 0)], 0)
    bench = Generator(dut, PAUSES["never"](rng))
    await bench.begin()
    gap = (8, 2, 3)
    await bench.load(plan, gap)
    for _ in range(5):
        dut.run_i.value = 1
        await bench.step(rng.randint(30, 400))
        dut.run_i.value = 0
        await bench.until(lambda: dut.idle_o.value == 1, 2_000)
        await bench.step(20)
        assert dut.idle_o.value == 1
        assert len(bench.frames()) == len(bench.departures.got) > 0
        # The n-th at floor(n · gap) from the first of this run, not of the one before.
        bench.check_departures([0] + even_gaps(len(bench.departures.got) - 1, *gap))
        bench.beats.got.clear()
        bench.departures.got.clear()
