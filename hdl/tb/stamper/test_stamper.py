"""Stamped frames have the start in them, and checksums that hold by the plain definition."""

import cocotb
from bench import PAUSES, Bench, Drive, Watch, seeded
from model.ethernet import sums_hold, tcp, udp
from model.shapes import Beat, Stamp, beats, frame


@cocotb.test()
@cocotb.parametrize(kind=["udp", "tcp", "raw", "none"], wait=["never", "bursts"])
async def stamped(dut, kind, wait):
    rng = seeded("stamped", kind, wait)
    clock = {"now": rng.randrange(1 << 63)}

    def drive(_cycle):
        clock["now"] += 1
        dut.now_i.value = clock["now"]

    bench = Bench(dut, Drive(drive))
    await bench.start(start_i=0, stamp_i=0, transfer_i=0, beat_i=0, now_i=0)
    pause = PAUSES[wait](rng)
    for _ in range(30):
        payload = bytes(rng.randrange(256) for _ in range(rng.randint(16, 80)))
        # Eight bytes of zeros are to be the stamp; halfwords from the start of the frame.
        place = rng.randrange(0, len(payload) - 8, 2)
        payload = payload[:place] + bytes(8) + payload[place + 8 :]
        make, header, sum_at = {"udp": (udp, 42, 40), "tcp": (tcp, 54, 50)}.get(kind, (udp, 42, 40))
        clean = make(payload, sport=rng.randrange(1 << 16))
        at = header + place
        stamp = Stamp(at // 2, sum_at // 2 if kind in ("udp", "tcp") else None, kind != "none")
        out = []
        parts = beats(clean)
        for n, beat in enumerate(parts):
            while pause(0):
                dut.transfer_i.value = 0
                dut.start_i.value = 0
                dut.beat_i.value = beat.pack()
                await bench.step()
            dut.transfer_i.value = 1
            dut.start_i.value = n == 0
            dut.stamp_i.value = stamp.pack() if n == 0 else rng.randrange(1 << 18)
            dut.beat_i.value = beat.pack()
            seen = {}
            bench.agents.append(Watch(lambda _cycle, seen=seen: seen.update(word=int(dut.beat_o.value))))
            await bench.step()
            bench.agents.pop()
            if n == 0:
                start = clock["now"]
            out.append(Beat.unpack(seen["word"]))
        dut.transfer_i.value = 0
        dut.start_i.value = 0
        got = frame(out)
        if kind == "none":
            assert got == clean
            continue
        assert got[at : at + 8] == start.to_bytes(8, "big")
        without = got[:at] + bytes(8) + got[at + 8 :]
        if kind == "raw":
            assert without == clean
        else:
            assert sums_hold(got)
            assert without[:sum_at] + without[sum_at + 2 :] == clean[:sum_at] + clean[sum_at + 2 :]
