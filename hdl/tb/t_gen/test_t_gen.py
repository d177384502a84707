"""t_gen: how long the core takes from one frame to the next, at a MAC that is always ready. Every departure is at once,
so frames wait for nothing but the core. The gaps are those between the starts that the core reports.

docs/fpga-reference.md says that a frame takes as many cycles as it has beats; each test asserts that of mean and worst.
"""

from fractions import Fraction

import cocotb
from bench import Bench, Sink, Source, Watch, never, ports, seeded
from core.test_core import Core as CoreGmii
from core.test_core import template
from model.ethernet import udp
from model.generator import Field, Mode, Plan, Template
from model.shapes import Departure, From, Stamp, beats

# At most one beat of eight bytes leaves per cycle; a frame of 64 bytes with FCS has eight beats.
BAR = 8


class Core(CoreGmii):
    def __init__(self, dut, *agents):
        self.starts = []
        self.wire = None
        Bench.__init__(self, dut, Watch(self.released), *agents)

    def released(self, _cycle):
        if self.dut.release_valid_o.value == 1:
            self.starts.append(int(self.dut.release_o.value) >> 64)

    def judge(self, what, frames, least):
        """`least`: cycles for the beats of a frame."""
        gaps = [b - a for a, b in zip(self.starts, self.starts[1:])]
        assert len(gaps) == frames - 1
        mean, worst = Fraction(sum(gaps), len(gaps)), max(gaps)
        cocotb.log.info("t_gen, %s: mean %.3f, worst %d cycles, of %d gaps", what, mean, worst, len(gaps))
        assert worst == mean == least
        return mean


def varied(size):
    """Everything that can vary: four fields (counting, listed, random), both checksums, lengths, and a signature."""
    one = template(size, signature_at=42)
    stored = bytearray(one.stored)
    stored[26:38] = bytes(12)
    fields = [
        Field(26, True, Mode.RANDOM, 0xC612_0000, 0xFFFF, begin=99, in_ip=True, in_l4=True),
        Field(30, True, Mode.INCREMENT, 0xC612_0001, 0xC612_00FE, in_ip=True, in_l4=True),
        Field(34, False, Mode.LIST, 2, 200, in_l4=True),
        Field(36, False, Mode.RANDOM, 0, 0xFFFF, begin=7, in_l4=True),
    ]
    return Template(bytes(stored), one.length, 17, signature_at=42), fields


CASES = {
    "64 B": (64, False, False),
    "64 B, four fields, checksums, signature": (64, True, False),
    "64 B, the same, template and length from a list": (64, True, True),
    "65 B, the same": (65, True, True),
    "68 B, the same": (68, True, True),
    "72 B, the same": (72, True, True),
    "128 B, the same": (128, True, True),
    "1518 B, the same": (1518, True, True),
}


@cocotb.test()
@cocotb.parametrize(case=list(range(len(CASES))))
async def generated(dut, case):
    dut = ports(dut)
    what = list(CASES)[case]
    size, varies, listed = CASES[what]
    rng = seeded("t_gen", case)
    one, fields = varied(size) if varies else (template(size), [])
    # Two templates in turns, the length from the list.
    entries = [(0, size - 4, 0), (0, size - 4, 1)] * 20 if listed else [(0, 0, 0)]
    frames = 40 if size > 1000 else 400
    plan = Plan([one, one], fields, [rng.randrange(1 << 16) for _ in range(256)], entries, frames)
    core = Core(dut)
    await core.begin(rxc_i=0xFF)
    await core.load(plan, (0, 0, 1), core.tick() + 500, reckoned=From.AT_ONCE)
    dut.control_i.run.value = 1
    await core.until(lambda: len(core.starts) == frames, 20_000)
    mean = core.judge(what, frames, -(-(size - 4) // 8))
    assert size > 64 or mean <= BAR
    assert await core.counter("underruns") == 0


@cocotb.test()
@cocotb.parametrize(size=[64, 128])
async def live(dut, size):
    """Fills the queue with frames; the first leaves when all are there."""
    dut = ports(dut)
    rng = seeded("live", size)
    frames = 2048 // -(-(size - 4) // 8)

    def put(word):
        dut.live_i.departure.value, dut.live_i.beat.value = word

    source = Source(dut, "live_valid_i", "live_ready_o", put, [], never)
    core = Core(dut, source, Sink(dut, "grant_valid_o", "grant_ready_i", "grant_o"))
    await core.begin(control_i__live=1, rxc_i=0xFF)
    first = core.tick() + 2_100
    for n in range(frames):
        departure = Departure(From.AT_TIME, first, Stamp(21, True)) if n == 0 else Departure(From.AT_ONCE, 0, Stamp(21, True))
        source.items += [(departure.pack(), beat.pack()) for beat in beats(udp(rng.randbytes(size - 46)))]
    await core.until(lambda: len(core.starts) == frames, 10_000)
    assert source.taken[-1] < first
    mean = core.judge(f"{size} B, live, from a full queue", frames, -(-(size - 4) // 8))
    assert size > 64 or mean <= BAR
    assert await core.counter("underruns") == 0
