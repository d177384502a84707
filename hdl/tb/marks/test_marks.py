"""Marks are reported in order, each as soon as everything before it has left, and not before."""

import cocotb
from bench import PAUSES, Bench, Drive, Sink, Source, Watch, seeded


@cocotb.test()
@cocotb.parametrize(wait=["never", "mostly", "bursts"], leave=[0.3, 0.6])
async def after_all_before(dut, wait, leave):
    rng = seeded("after_all_before", wait, leave)
    ids = [rng.randrange(1 << 16) for _ in range(100)]
    source = Source(dut, "valid_i", "ready_o", "id_i", ids, PAUSES["mostly"](rng))
    sink = Sink(dut, "valid_o", "ready_i", "id_o", PAUSES[wait](rng))
    frames = {"accepted": 0, "gone": 0}
    before = []
    now = {}

    def drive(_cycle):
        now["accept"] = rng.random() < 0.4 and frames["accepted"] - frames["gone"] < 50
        now["gone"] = frames["accepted"] > frames["gone"] and rng.random() < leave
        dut.accepted_i.value = now["accept"]
        dut.gone_i.value = now["gone"]

    def look(cycle):
        if source.taken and source.taken[-1] == cycle:
            before.append(frames["accepted"])
        if sink.got and sink.got[-1][0] == cycle:
            assert frames["gone"] >= before[len(sink.got) - 1], f"cycle {cycle}: too early"
        frames["accepted"] += now["accept"]
        frames["gone"] += now["gone"]

    bench = Bench(dut, Drive(drive), source, sink, Watch(look))
    await bench.start(accepted_i=0, gone_i=0, id_i=0)
    await bench.until(lambda: len(sink.got) == len(ids), 20_000)
    assert sink.items() == ids
