"""stream_fifo: each item comes out once, in order, and at full rate without backpressure."""

import cocotb
from bench import PAUSES, Bench, Sink, Source, Watch, seeded


@cocotb.test()
@cocotb.parametrize(idle=["never", "rarely", "mostly", "bursts"], wait=["never", "rarely", "mostly", "bursts"])
async def in_order(dut, idle, wait):
    rng = seeded("in_order", idle, wait)
    items = [rng.randrange(256) for _ in range(400)]
    source = Source(dut, "valid_i", "ready_o", "data_i", items, PAUSES[idle](rng))
    sink = Sink(dut, "valid_o", "ready_i", "data_o", PAUSES[wait](rng))
    inside = {"most": 0}

    def count(_cycle):
        inside["most"] = max(inside["most"], len(source.taken) - len(sink.got))

    bench = Bench(dut, source, sink, Watch(count))
    await bench.start(valid_i=0, ready_i=0, data_i=0)
    await bench.until(lambda: len(sink.got) == len(items), 10_000)
    await bench.step(5)
    assert sink.items() == items
    assert source.empty() and dut.empty_o.value == 1
    assert inside["most"] <= 16 + 2
    if idle == wait == "never":
        # One each cycle, the first three cycles after it went in.
        cycles = [cycle for cycle, _ in sink.got]
        assert cycles == list(range(source.taken[0] + 3, source.taken[0] + 3 + len(items)))
