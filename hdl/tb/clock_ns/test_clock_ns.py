"""The nanosecond clock compared with exact fractions."""

from fractions import Fraction

import cocotb
from bench import Bench, Drive, Watch, ports, seeded


class Clock(Bench):
    def __init__(self, dut):
        self.times = {}  # cycle: exact time
        super().__init__(dut, Drive(self.drive), Watch(self.watch))

    def drive(self, cycle):
        self.dut.now_i.value = cycle

    def watch(self, cycle):
        self.times[cycle] = int(self.dut.time_o.value) + Fraction(int(self.dut.time_fraction_o.value), 1 << 32)

    async def begin(self, whole=8, fraction=0):
        await self.start(now_i=0, clock_i=0, clock_i__ns_whole=whole, clock_i__ns_fraction=fraction)
        await self.step(5)


MODULO = 1 << 64


@cocotb.test()
@cocotb.parametrize(increment=[(8, 0), (8, 1), (7, 0xFFFF_FFFF), (6, 0x6666_6666), (255, 0xFFFF_FFFF)])
async def grows(dut, increment):
    """Any number of cycles add exactly that many increments, also beyond 2^32 nanoseconds."""
    dut = ports(dut)
    rng = seeded("grows", increment)
    bench = Clock(dut)
    await bench.begin(*increment)
    dut.clock_i.ns_value.value = (5 << 32) - 8 * 300
    dut.clock_i.ns_set.value = 1
    await bench.step()
    dut.clock_i.ns_set.value = 0
    await bench.step(3)
    first = bench.cycle
    await bench.step(1_000)
    step = increment[0] + Fraction(increment[1], 1 << 32)
    for _ in range(200):
        a, b = sorted(rng.sample(range(first, bench.cycle), 2))
        assert (bench.times[b] - bench.times[a]) % MODULO == (b - a) * step


@cocotb.test()
async def set_and_stepped(dut):
    dut = ports(dut)
    rng = seeded("set_and_stepped")
    bench = Clock(dut)
    await bench.begin()
    for _ in range(40):
        value = rng.randrange(MODULO)
        dut.clock_i.ns_value.value, dut.clock_i.ns_set.value = value, 1
        await bench.step()
        dut.clock_i.ns_set.value = 0
        await bench.step(4)
        # A value that is set appears two cycles later.
        at = bench.cycle - 1
        assert bench.times[at] == (value + 8 * 2) % MODULO, f"{bench.times[at] - value}"
        step = rng.choice([1, 1000, 1 << 40, -1, -1000, -(1 << 40), (1 << 32) - 1])
        before = bench.times[at]
        dut.clock_i.ns_value.value, dut.clock_i.ns_step.value = step % MODULO, 1
        await bench.step()
        dut.clock_i.ns_step.value = 0
        await bench.step(6)
        after = bench.times[bench.cycle - 1]
        assert after == (before + 8 * 7 + step) % MODULO


@cocotb.test()
async def captured(dut):
    """A capture takes time and tick of one cycle, so the line through any two captures has the increment as its slope."""
    dut = ports(dut)
    rng = seeded("captured")
    bench = Clock(dut)
    await bench.begin(8, 0x8000_0000)
    pairs = []
    for _ in range(20):
        await bench.step(rng.randint(1, 30))
        dut.clock_i.capture.value = 1
        await bench.step()
        dut.clock_i.capture.value = 0
        await bench.step()
        pairs.append((int(dut.captured_o.tick.value), int(dut.captured_o.time_.value)))
    tick0, time0 = pairs[0]
    for tick, time in pairs[1:]:
        assert abs((time - time0) - Fraction(17, 2) * (tick - tick0)) < 1
