"""The clock of nanoseconds beside exact fractions."""

from fractions import Fraction

import cocotb
from bench import Bench, Drive, Watch, seeded


class Clock(Bench):
    def __init__(self, dut):
        self.times = {}  # cycle: exact time
        super().__init__(dut, Drive(self.drive), Watch(self.watch))

    def drive(self, cycle):
        self.dut.now_i.value = cycle

    def watch(self, cycle):
        self.times[cycle] = int(self.dut.time_o.value) + Fraction(int(self.dut.time_fraction_o.value), 1 << 32)

    async def begin(self, whole=8, fraction=0):
        await self.start(
            now_i=0, whole_i=whole, fraction_i=fraction, set_i=0, step_i=0, value_i=0, capture_i=0
        )
        await self.step(5)


MODULO = 1 << 64


@cocotb.test()
@cocotb.parametrize(increment=[(8, 0), (8, 1), (7, 0xFFFF_FFFF), (6, 0x6666_6666), (255, 0xFFFF_FFFF)])
async def grows(dut, increment):
    """Over any number of cycles, by exactly that many increments; also past 2^32 nanoseconds."""
    rng = seeded("grows", increment)
    bench = Clock(dut)
    await bench.begin(*increment)
    dut.value_i.value = (5 << 32) - 8 * 300
    dut.set_i.value = 1
    await bench.step()
    dut.set_i.value = 0
    await bench.step(3)
    first = bench.cycle
    await bench.step(1_000)
    step = increment[0] + Fraction(increment[1], 1 << 32)
    for _ in range(200):
        a, b = sorted(rng.sample(range(first, bench.cycle), 2))
        assert (bench.times[b] - bench.times[a]) % MODULO == (b - a) * step


@cocotb.test()
async def set_and_stepped(dut):
    rng = seeded("set_and_stepped")
    bench = Clock(dut)
    await bench.begin()
    for _ in range(40):
        value = rng.randrange(MODULO)
        dut.value_i.value, dut.set_i.value = value, 1
        await bench.step()
        dut.set_i.value = 0
        await bench.step(4)
        # Set, and on from there: the value is seen two cycles after it was asked for.
        at = bench.cycle - 1
        assert bench.times[at] == (value + 8 * 2) % MODULO, f"{bench.times[at] - value}"
        step = rng.choice([1, 1000, 1 << 40, -1, -1000, -(1 << 40), (1 << 32) - 1])
        before = bench.times[at]
        dut.value_i.value, dut.step_i.value = step % MODULO, 1
        await bench.step()
        dut.step_i.value = 0
        await bench.step(6)
        after = bench.times[bench.cycle - 1]
        assert after == (before + 8 * 7 + step) % MODULO


@cocotb.test()
async def captured(dut):
    """Time and tick of one cycle: the line through two captures has the increment as its slope, and no offset of its own."""
    rng = seeded("captured")
    bench = Clock(dut)
    await bench.begin(8, 0x8000_0000)
    pairs = []
    for _ in range(20):
        await bench.step(rng.randint(1, 30))
        dut.capture_i.value = 1
        await bench.step()
        dut.capture_i.value = 0
        await bench.step()
        pairs.append((int(dut.captured_tick_o.value), int(dut.captured_time_o.value)))
    tick0, time0 = pairs[0]
    for tick, time in pairs[1:]:
        assert abs((time - time0) - Fraction(17, 2) * (tick - tick0)) < 1
