"""A host that stays within its credits is never refused, and others are. No credit is lost."""

import cocotb
from bench import PAUSES, Bench, Drive, Sink, Watch, seeded

CAPACITY = 256


@cocotb.test()
@cocotb.parametrize(honest=[True, False], wait=["never", "mostly", "bursts"])
async def none_lost(dut, honest, wait):
    rng = seeded("none_lost", honest, wait)
    host = {"credits": 0, "held": 0, "refused": 0, "told": 0, "used": 0}
    now = {"use": 0, "free": False}
    pause = PAUSES[wait](rng)
    # No grant is taken in the cycle in which credits are used.
    grants = Sink(dut, "grant_valid_o", "grant_ready_i", "grant_o", lambda cycle: pause(cycle) or now["use"] > 0)

    def drive(_cycle):
        size = rng.randint(1, 192) if rng.random() < 0.1 else 0
        if honest and size > host["credits"]:
            size = 0
        now["use"] = size
        now["free"] = host["held"] > 0 and rng.random() < 0.7
        dut.use_valid_i.value = size > 0
        dut.use_i.value = size
        dut.free_i.value = now["free"]

    def look(cycle):
        if now["use"]:
            refused = dut.refused_o.value == 1
            assert refused == (now["use"] > host["credits"]), f"cycle {cycle}"
            host["refused"] += refused
            if not refused:
                host["credits"] -= now["use"]
                host["held"] += now["use"]
                host["used"] += now["use"]
        host["held"] -= now["free"]
        if grants.got and grants.got[-1][0] == cycle:
            host["credits"] += grants.got[-1][1]
        assert 0 <= host["held"] and host["held"] + host["credits"] <= CAPACITY

    bench = Bench(dut, Drive(drive), grants, Watch(look))
    await bench.start(revoke_i=0, use_valid_i=0, use_i=0, free_i=0)
    await bench.step(3_000)
    # At most 0.7 beats leave in a cycle.
    assert host["used"] > 4 * CAPACITY
    assert (host["refused"] == 0) == honest

    # At the end the host has all credits again.
    bench.agents[0] = Drive(lambda _cycle: None)
    dut.use_valid_i.value = 0
    while host["held"]:
        dut.free_i.value = 1
        now.update(use=0, free=True)
        await bench.step()
    dut.free_i.value = 0
    now.update(use=0, free=False)
    await bench.until(lambda: host["credits"] == CAPACITY, 200)

    # A host vanished: its credits are revoked and granted to the next one.
    host["credits"] = 0
    dut.revoke_i.value = 1
    await bench.step()
    dut.revoke_i.value = 0
    await bench.until(lambda: host["credits"] == CAPACITY, 200)
