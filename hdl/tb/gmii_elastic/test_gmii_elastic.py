"""gmii_elastic: frames come out whole and without holes, whichever clock is faster."""

import cocotb
from bench import seeded
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer


async def frames_through(dut, rx_ps, frames, gap):
    """Sends frames in the PHY's clock, at a random moment of the core's; what came out: (cycle, bytes, error)."""
    rng = seeded("elastic", rx_ps, gap)
    out, state = [], {"cycle": 0, "now": None}
    dut.rst_ni.value = 0
    dut.rx_dv_i.value = dut.rx_er_i.value = dut.rxd_i.value = 0
    cocotb.start_soon(Clock(dut.clk_i, 8_000, "ps").start(start_high=False))
    await Timer(rng.randint(1, 7_999), "ps")
    cocotb.start_soon(Clock(dut.rx_clk_i, rx_ps, "ps").start(start_high=False))

    async def listen():
        while True:
            await FallingEdge(dut.clk_i)
            state["cycle"] += 1
            if dut.rx_dv_o.value == 1:
                if state["now"] is None:
                    state["now"] = [state["cycle"], bytearray(), False]
                state["now"][1].append(int(dut.rxd_o.value))
                state["now"][2] |= dut.rx_er_o.value == 1
            elif state["now"] is not None:
                out.append(tuple(state["now"]))
                state["now"] = None

    for _ in range(20):
        await RisingEdge(dut.rx_clk_i)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    listener = cocotb.start_soon(listen())
    went = []
    for data in frames:
        for n in range(gap):
            await FallingEdge(dut.rx_clk_i)
            dut.rx_dv_i.value = 0
        went.append(state["cycle"])
        for byte in data:
            await FallingEdge(dut.rx_clk_i)
            dut.rx_dv_i.value, dut.rxd_i.value = 1, byte
    for n in range(40):
        await FallingEdge(dut.rx_clk_i)
        dut.rx_dv_i.value = 0
    listener.cancel()
    return went, out


# 100 in a million for each clock, in both directions, and the same clock.
@cocotb.test()
@cocotb.parametrize(rx_ps=[8_000, 7_998, 8_002], gap=[12, 50])
async def whole_frames(dut, rx_ps, gap):
    rng = seeded("whole frames", rx_ps, gap)
    frames = [rng.randbytes(rng.choice([1, 3, 8, 72, 200, 1_530])) for _ in range(40)]
    went, out = await frames_through(dut, rx_ps, frames, gap)
    assert [bytes(data) for _, data, _ in out] == frames
    assert not any(error for _, _, error in out)
    delays = {cycle - sent for sent, (cycle, _, _) in zip(went, out)}
    assert max(delays) - min(delays) <= 2 and max(delays) <= 14, delays


@cocotb.test()
async def clocks_too_far_apart(dut):
    """A clock that is 5 % slow: long frames have holes, and each that has one is marked as wrong."""
    rng = seeded("too far apart")
    frames = [rng.randbytes(1_000) for _ in range(5)]
    _, out = await frames_through(dut, 8_400, frames, 30)
    assert len(out) == 5 and all(error for _, _, error in out)
