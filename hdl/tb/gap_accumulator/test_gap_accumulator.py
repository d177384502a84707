"""The accumulator compared with the formula, at common rates."""

import cocotb
from bench import Bench, seeded
from model.gaps import due

# Ticks of 8 ns in a gap, from a rate in frames a second: 125 000 000 / rate, as whole, numerator, denominator.
RATES = [3, 7, 600_000, 1_488_095, 81_274, 333_333, 14_880_952, 1_000_000]


def gap(rate):
    whole, rest = divmod(125_000_000, rate)
    return whole, rest, rate


@cocotb.test()
async def rates_do_not_drift(dut):
    bench = Bench(dut)
    await bench.start(set_i=0, step_i=0, whole_i=0, numerator_i=0, denominator_i=1)
    rng = seeded("rates")
    for rate in RATES:
        whole, numerator, denominator = gap(rate)
        await bench.set(set_i=1, whole_i=whole, numerator_i=numerator, denominator_i=denominator)
        await bench.step()
        await bench.set(set_i=0)
        await bench.step()
        total = 0
        for n in range(1, 1500):
            # Steps may be any number of cycles apart.
            dut.step_i.value = 1
            total += int(dut.gap_o.value)
            await bench.step()
            dut.step_i.value = 0
            if rng.random() < 0.2:
                await bench.step(rng.randint(1, 3))
            assert total == due(n, whole, numerator, denominator), f"{rate}/s, gap {n}"


@cocotb.test()
async def extremes(dut):
    """The greatest denominator with the least and the greatest numerators, over the first steps."""
    bench = Bench(dut)
    await bench.start(set_i=0, step_i=0, whole_i=0, numerator_i=0, denominator_i=1)
    top = (1 << 32) - 1
    for whole, numerator in [(0, 1), (0, top - 1), (5, top // 2), (top - 1, top - 1)]:
        await bench.set(set_i=1, whole_i=whole, numerator_i=numerator, denominator_i=top)
        await bench.step()
        await bench.set(set_i=0, step_i=1)
        total = 0
        for n in range(1, 50):
            total += int(dut.gap_o.value)
            assert total == due(n, whole, numerator, top)
            await bench.step()
        dut.step_i.value = 0
