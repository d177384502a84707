"""Every value in its bin, and none lost."""

import collections

import cocotb
from bench import Bench, Watch, seeded
from model.histogram import bin_of


class Histogram(Bench):
    def __init__(self, dut):
        self.missed = 0
        super().__init__(dut, Watch(self.watch))

    def watch(self, _cycle):
        self.missed += int(self.dut.missed_o.value)

    async def begin(self):
        await self.start(valid_i=0, set_i=0, value_i=0, clear_i=0, read_i=0, read_set_i=0, read_bin_i=0)
        await self.step(2_060)

    async def value(self, value, after=4, into=0):
        self.dut.valid_i.value = 1
        self.dut.set_i.value = into
        self.dut.value_i.value = min(value, (1 << 32) - 1)
        await self.step()
        self.dut.valid_i.value = 0
        await self.step(after - 1)

    async def read(self, bin_, of=0):
        self.dut.read_i.value = 1
        self.dut.read_set_i.value = of
        self.dut.read_bin_i.value = bin_
        for _ in range(50):
            got = {}
            self.agents.append(Watch(lambda _cycle: got.update(valid=int(self.dut.read_valid_o.value), word=int(self.dut.read_o.value))))
            await self.step()
            self.agents.pop()
            if got["valid"]:
                self.dut.read_i.value = 0
                await self.step(3)
                return got["word"]
        raise AssertionError("no answer")


def edges():
    """Both ends of bins where something may go wrong."""
    out = [0, 1, 31, 32, 33, 63, 64, 65, 127, 128, (1 << 32) - 1, 1 << 32, 1 << 63]
    for high in range(5, 32):
        out += [(1 << high) - 1, 1 << high, (1 << high) + (1 << (high - 5)), (1 << high) + (1 << (high - 5)) - 1]
    return out


@cocotb.test()
async def bins(dut):
    rng = seeded("bins")
    bench = Histogram(dut)
    await bench.begin()
    values = edges() + [rng.randrange(1 << rng.randint(1, 33)) for _ in range(300)]
    values += [values[0]] * 20
    rng.shuffle(values)
    expected = collections.Counter()
    for value in values:
        into = rng.randrange(2)
        await bench.value(value, rng.choice([4, 4, 5, 8, 84]), into)
        expected[into, bin_of(value)] += 1
    await bench.step(10)
    for of in (0, 1):
        for bin_ in sorted({bin_ for _, bin_ in expected} | {2, 900, 1000}):
            assert await bench.read(bin_, of) == expected[of, bin_], f"set {of}, bin {bin_}"
    assert bench.missed == 0

    # Cleared, and values meanwhile are told.
    dut.clear_i.value = 1
    await bench.step()
    dut.clear_i.value = 0
    await bench.step(3)
    await bench.value(5)
    await bench.step(2_060)
    assert bench.missed == 1
    for bin_ in rng.sample(range(1024), 20) + [0, 5, 1023]:
        assert await bench.read(bin_, 0) == await bench.read(bin_, 1) == 0


@cocotb.test()
async def too_close(dut):
    """Values that come too soon after each other are told, not lost."""
    rng = seeded("too_close")
    bench = Histogram(dut)
    await bench.begin()
    count = 200
    for _ in range(count):
        await bench.value(7, rng.randint(1, 6))
    await bench.step(10)
    assert await bench.read(7) + bench.missed == count
    assert bench.missed > 0


@cocotb.test()
async def read_meanwhile(dut):
    """The host reads while values come."""
    rng = seeded("read_meanwhile")
    bench = Histogram(dut)
    await bench.begin()
    for n in range(30):
        await bench.value(3, 4)
        # One of the other set, on its way while the host reads.
        await bench.value(3, rng.randint(4, 9), 1)
        assert await bench.read(3) == n + 1
    assert bench.missed == 0
