"""Frames on the wire have a signature with the time of their start, and valid checksums."""

import cocotb
from bench import PAUSES, Bench, Drive, Source, Watch, seeded
from gmii import Wire
from model.ethernet import checksum, sums_hold, tcp, udp
from model.shapes import Stamp, beats
from model.signature import LENGTH, SUM, Signature

# Cycles from a frame's first beat until time and lateness of that cycle are given.
DELAY = 2


@cocotb.test()
@cocotb.parametrize(kind=["udp", "tcp", "raw", "none"], wait=["never", "bursts"])
async def stamped(dut, kind, wait):
    rng = seeded("stamped", kind, wait)
    frames, stamps, times, starts = [], [], {}, []
    make, header = {"tcp": (tcp, 54)}.get(kind, (udp, 42))
    for n in range(40):
        payload = rng.randbytes(rng.randint(LENGTH, 80))
        place = rng.randrange(0, len(payload) - LENGTH + 1, 2)
        # As the host prepares it: sequence and stream, and the checksum as if the rest summed up to what it always does.
        head = payload[place : place + 6]
        rest = (SUM - (checksum(head) ^ 0xFFFF)) % 0xFFFF
        prepared = head + bytes(10) + rest.to_bytes(2, "big")
        whole = make(payload[:place] + prepared + payload[place + LENGTH :], sport=rng.randrange(1 << 16))
        at = header + place
        # The bytes that are overwritten may have any value.
        frame = bytearray(whole)
        if kind != "none":
            frame[at + 6 : at + LENGTH] = rng.randbytes(LENGTH - 6)
        if kind == "raw":
            at = rng.randrange(8, len(frame) - LENGTH, 2)
        frames.append(bytes(frame))
        stamps.append(Stamp(at // 2, kind != "none"))
    source = Source(dut, "valid_i", "ready_o", "beat_i", [beat.pack() for frame in frames for beat in beats(frame)])
    firsts = {sum(len(beats(frame)) for frame in frames[:n]): n for n in range(len(frames))}
    pause = PAUSES[wait](rng)
    # Only the first beat of a frame may wait.
    source.pause = lambda cycle: len(source.taken) in firsts and pause(cycle)

    def drive(cycle):
        late = rng.choice([0, 1, 0x1234, 0xFFFE, 0xFFFF, 0x1_0000, 1 << 63, rng.randrange(1 << 16)])
        times[cycle] = (rng.choice([rng.randrange(1 << 60), (1 << 60) - 1, 0]), late)
        dut.time_i.value, dut.late_i.value = times[cycle]
        # The place is valid with the first beat only.
        n = firsts.get(len(source.taken))
        dut.stamp_i.value = (stamps[n] if n is not None else rng.choice(stamps)).pack()

    def look(cycle):
        if len(starts) < len(frames) and len(source.taken) > len(starts) and source.taken[-1] == cycle and len(source.taken) - 1 in firsts:
            starts.append(cycle)

    wire = Wire(dut)
    bench = Bench(dut, source, Drive(drive), Watch(look), wire)
    await bench.start(beat_i=0, stamp_i=0, time_i=0, late_i=0)
    await bench.until(lambda: len(wire.frames) == len(frames), 20_000)
    # The source is asked before the others, so what was taken in a cycle is seen in it.
    assert [cycle for cycle, _ in wire.whole()] == [start + 1 for start in starts]
    for (_, got), frame, stamp, start in zip(wire.whole(), frames, stamps, starts):
        frame = frame.ljust(60, b"\0")
        if kind == "none":
            assert got == frame
            continue
        at = 2 * stamp.place
        time, late = times[start + DELAY]
        expected = Signature(int.from_bytes(frame[at : at + 5], "big"), frame[at + 5], late, time).bytes()
        assert got[at : at + LENGTH] == expected, f"{got[at:at + LENGTH].hex()} is not {expected.hex()}"
        assert got[:at] + got[at + LENGTH :] == frame[:at] + frame[at + LENGTH :]
        if kind != "raw":
            assert sums_hold(got)


@cocotb.test()
@cocotb.parametrize(place=[4, 5, 7, 21])
async def carries(dut, place):
    """Sums at the edges: all ones, all zeros but the version, and those that make the check 0."""
    rng = seeded("carries", place)
    cases = [(b"\xff" * 6, (1 << 60) - 1, 0xFFFF), (bytes(6), 0, 0), (b"\xff" * 6, 0, 0), (bytes(6), (1 << 60) - 1, 0)]
    for _ in range(20):
        # What is before the check sums up to 0x5aa5, so the check is 0.
        time, late = rng.randrange(1 << 60), rng.randrange(1 << 16)
        head = rng.randbytes(4)
        words = head + bytes(2) + late.to_bytes(2, "big") + (0xB << 60 | time).to_bytes(8, "big")
        cases.append((head + ((SUM - (checksum(words) ^ 0xFFFF)) % 0xFFFF).to_bytes(2, "big"), time, late))
    bench = Bench(dut)
    wire = Wire(dut)
    bench.agents.append(wire)
    await bench.start(valid_i=0, beat_i=0, stamp_i=0, time_i=0, late_i=0)
    for n, (head, time, late) in enumerate(cases):
        frame = bytearray(rng.randbytes(64))
        frame[2 * place : 2 * place + 6] = head
        source = Source(dut, "valid_i", "ready_o", "beat_i", [beat.pack() for beat in beats(bytes(frame))])
        bench.agents.append(source)
        await bench.set(stamp_i=Stamp(place, True).pack(), time_i=time, late_i=late)
        await bench.until(lambda: len(wire.frames) == n + 1, 200)
        bench.agents.remove(source)
        got = wire.whole()[-1][1][2 * place : 2 * place + LENGTH]
        assert got == Signature(int.from_bytes(head[:5], "big"), head[5], late, time).bytes()
        assert checksum(got) ^ 0xFFFF == SUM
        assert n < 4 or got[16:] == b"\0\0"
