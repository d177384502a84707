"""Events compared with a dictionary: none is lost, and none counts twice."""

import collections

import cocotb
from bench import Bench, seeded

# events_t, from its first member on.
MEMBERS = [
    ("sent", 1), ("late", 1), ("late_ticks", 48), ("underruns", 1), ("good", 1), ("bytes", 14), ("bad", 1), ("passed", 1), ("noise", 1),
    ("told", 1), ("missing", 40), ("stale", 1), ("uncounted", 1),
]  # fmt: skip
PLACES = ["sent", "late", "late_ticks", None, "underruns", "good", "bad", "passed", "bytes", "noise", "missing", "stale", "uncounted"]


def pack(values):
    word = 0
    for name, width in MEMBERS:
        word = word << width | values.get(name, 0)
    return word


class Counters(Bench):
    async def begin(self):
        await self.start(clear_i=0, events_i=0, read_i=0, at_i=0)
        await self.step(20)

    async def read(self, name):
        self.dut.read_i.value, self.dut.at_i.value = 1, PLACES.index(name)
        await self.step()
        self.dut.read_i.value = 0
        await self.step(2)
        return int(self.dut.value_o.value)


@cocotb.test()
@cocotb.parametrize(apart=[9, 10, 84], reads=[False, True])
async def none_lost(dut, apart, reads):
    """Amounts come as often as they may, single events in most cycles, and the host reads meanwhile."""
    rng = seeded("none_lost", apart, reads)
    bench = Counters(dut)
    await bench.begin()
    expected = collections.Counter()
    last = dict.fromkeys(["late", "good", "told"], -100)
    recent = collections.defaultdict(list)
    for cycle in range(3_000):
        values = {}
        for name, amount, width in [("late", "late_ticks", 48), ("good", "bytes", 14), ("told", "missing", 40)]:
            # An amount without its event does not count.
            values[amount] = rng.randrange(1 << width)
            # No counter is updated in a cycle in which the host reads.
            if cycle - last[name] >= apart + 2 * reads and rng.random() < 0.8:
                values[name], last[name] = 1, cycle
                expected[amount] += values[amount]
                expected[name] += 1
        for name in ["sent", "underruns", "bad", "passed", "noise", "stale", "uncounted"]:
            recent[name] = [at for at in recent[name] if cycle - at < 20]
            if len(recent[name]) < 14 and rng.random() < 0.6:
                values[name] = 1
                recent[name].append(cycle)
                expected[name] += 1
        dut.events_i.value = pack(values)
        dut.read_i.value = reads and cycle % 8 == 0
        await bench.step()
    dut.events_i.value = 0
    dut.read_i.value = 0
    await bench.step(20)
    for name in filter(None, PLACES):
        width = 48
        assert await bench.read(name) == expected[name] % (1 << width), name


@cocotb.test()
async def cleared(dut):
    """All are 0 after clear_i. Events count from the next cycle on."""
    rng = seeded("cleared")
    bench = Counters(dut)
    await bench.begin()
    for _ in range(10):
        everything = {name: rng.randrange(1 << width) for name, width in MEMBERS} | {"good": 1, "late": 1, "told": 1}
        dut.events_i.value = pack(everything)
        await bench.step()
        dut.events_i.value = 0
        await bench.step(rng.randint(0, 20))
        dut.clear_i.value = 1
        await bench.step()
        dut.clear_i.value = 0
        dut.events_i.value = pack({"good": 1, "bytes": 64, "noise": 1})
        await bench.step()
        dut.events_i.value = 0
        await bench.step(40)
        got = {name: await bench.read(name) for name in filter(None, PLACES)}
        assert {name: value for name, value in got.items() if value} == {"good": 1, "bytes": 64, "noise": 1}
