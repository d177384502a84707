"""The transmitter's columns, read as clause 46 has them, with zlib's CRC; starts beside a model that counts bytes."""

import cocotb
from bench import PAUSES, Bench, Drive, Source, Watch, seeded
from model.ethernet import checksum, sums_hold, tcp, udp
from model.shapes import Stamp, beats
from model.signature import LENGTH, SUM, Signature
from model.xgmii import START_DELAY, Line
from xgmii import Wire

# Cycles from a frame's first beat until time and lateness of that cycle are given.
DELAY = 2


class Mac(Bench):
    def __init__(self, dut, frames, pause=None):
        self.frames = frames
        self.source = Source(dut, "valid_i", "ready_o", "beat_i", [b.pack() for f in frames for b in beats(f)])
        counts = [len(beats(frame)) for frame in frames]
        self.firsts = [sum(counts[:n]) for n in range(len(frames))]
        # Only the first beat of a frame may wait.
        firsts = set(self.firsts)
        self.source.pause = lambda cycle: pause is not None and len(self.source.taken) in firsts and pause(cycle)
        self.wire = Wire(dut)
        self.sent = self.underruns = 0
        super().__init__(dut, self.source, self.wire, Watch(self.watch))

    def watch(self, _cycle):
        self.sent += int(self.dut.sent_o.value)
        self.underruns += int(self.dut.underrun_o.value)

    async def run(self):
        await self.start(beat_i=0, stamp_i=0, time_i=0, late_i=0)
        await self.until(lambda: len(self.wire.frames) == len(self.frames), 20_000)
        assert self.underruns == 0 and self.sent == len(self.frames) and self.source.empty()

    def check(self, hurry):
        """Every frame as it was given, where the model has it; `hurry`: and none later than it could be."""
        whole = self.wire.whole()
        assert [data for _, data in whole] == [frame.ljust(60, b"\0") for frame in self.frames]
        line = Line()
        for n, ((place, _), frame) in enumerate(zip(whole, self.frames)):
            cycle = self.source.taken[self.firsts[n]] + START_DELAY
            if hurry and n:
                assert cycle == line.earliest() // 8, f"frame {n}"
            assert place == line.start(cycle, len(frame)), f"frame {n}"
        return [place for place, _ in whole]


@cocotb.test()
@cocotb.parametrize(size=[1, 8, 59, 60, *range(61, 69), 124, 300, 1514])
async def back_to_back(dut, size):
    """Frames of one size without a pause: over any of them gaps have 12 bytes in the mean, less at most 3 in sum."""
    rng = seeded("back_to_back", size)
    mac = Mac(dut, [rng.randbytes(size) for _ in range(9)])
    await mac.run()
    starts = mac.check(hurry=True)
    each = 8 + max(size, 60) + 4 + 12
    # 84 bytes of a 64-byte frame: 10.5 cycles of 6.4 ns, 14 880 952/s.
    assert [start - starts[0] for start in starts] == [4 * (n * each // 4) for n in range(9)]


@cocotb.test()
@cocotb.parametrize(longest=[70, 200])
async def any_sizes(dut, longest):
    """Frames of any size without a pause: as many bytes as the frames and 12 for each gap, at every start."""
    rng = seeded("any_sizes", longest)
    mac = Mac(dut, [rng.randbytes(rng.randint(60, longest)) for _ in range(150)])
    await mac.run()
    starts = mac.check(hurry=True)
    ideal = starts[0]
    for start, frame in zip(starts, mac.frames):
        assert ideal - 3 <= start <= ideal
        ideal += 8 + len(frame) + 4 + 12
    assert min(mac.wire.gaps) >= 9


@cocotb.test()
@cocotb.parametrize(wait=["rarely", "mostly", "bursts"])
async def between_frames(dut, wait):
    """Frames at any distance, of any size: each starts so many cycles after it was taken, and no gap is too short."""
    rng = seeded("between_frames", wait)
    mac = Mac(dut, [rng.randbytes(rng.choice([1, 60, rng.randint(60, 80), rng.randint(1, 300)])) for _ in range(60)], PAUSES[wait](rng))
    await mac.run()
    mac.check(hurry=False)
    assert min(mac.wire.gaps) >= 9


@cocotb.test()
@cocotb.parametrize(missing=[1, 3, 7], hole=[1, 2, 40])
async def underrun(dut, missing, hole):
    """A beat that is not there in time: the frame ends with an error, its rest is thrown away, and the next one is whole."""
    rng = seeded("underrun", missing, hole)
    frames = [rng.randbytes(64) for _ in range(3)]
    mac = Mac(dut, frames)
    hold = {"until": None}

    def pause(cycle):
        if len(mac.source.taken) != 8 + missing:
            return False
        if hold["until"] is None:
            hold["until"] = cycle + hole
        return cycle < hold["until"]

    mac.source.pause = pause
    await mac.start(beat_i=0, stamp_i=0, time_i=0, late_i=0)
    await mac.until(lambda: len(mac.wire.frames) == 3, 500)
    assert [error for _, _, error in mac.wire.frames] == [0, 1, 0]
    assert mac.underruns == 1 and mac.sent == 2 and mac.source.empty() and min(mac.wire.gaps) >= 9
    del mac.wire.frames[1]
    assert [data for _, data in mac.wire.whole()] == [frames[0], frames[2]]


@cocotb.test()
@cocotb.parametrize(kind=["udp", "tcp", "raw", "none"], wait=["never", "bursts"])
async def stamped(dut, kind, wait):
    """Frames as they come off the wire have a signature with their start in it, and checksums that hold by the plain definition."""
    rng = seeded("stamped", kind, wait)
    frames, stamps, times = [], [], {}
    make, header = {"tcp": (tcp, 54)}.get(kind, (udp, 42))
    for _ in range(60):
        payload = rng.randbytes(rng.randint(LENGTH, 80))
        place = rng.randrange(0, len(payload) - LENGTH + 1, 2)
        # As the host prepares it: sequence and stream, and the checksum as if the rest summed up to what it always does.
        head = payload[place : place + 6]
        rest = (SUM - (checksum(head) ^ 0xFFFF)) % 0xFFFF
        prepared = head + bytes(10) + rest.to_bytes(2, "big")
        frame = bytearray(make(payload[:place] + prepared + payload[place + LENGTH :], sport=rng.randrange(1 << 16)))
        at = header + place
        if kind == "raw":
            at = rng.randrange(8, len(frame) - LENGTH, 2)
        # What is written over may be anything.
        elif kind != "none":
            frame[at + 6 : at + LENGTH] = rng.randbytes(LENGTH - 6)
        frames.append(bytes(frame))
        stamps.append(Stamp(at // 2, kind != "none"))
    mac = Mac(dut, frames, PAUSES[wait](rng))
    firsts = {first: n for n, first in enumerate(mac.firsts)}

    def drive(cycle):
        late = rng.choice([0, 1, 0x1234, 0xFFFE, 0xFFFF, 0x1_0000, 1 << 63, rng.randrange(1 << 16)])
        times[cycle] = (rng.choice([rng.randrange(1 << 60), (1 << 60) - 1, 0]), late)
        dut.time_i.value, dut.late_i.value = times[cycle]
        # The place is given with the first beat; later it may be another frame's.
        n = firsts.get(len(mac.source.taken))
        dut.stamp_i.value = (stamps[n] if n is not None else rng.choice(stamps)).pack()

    mac.agents.append(Drive(drive))
    await mac.run()
    for n, ((_, got), frame, stamp) in enumerate(zip(mac.wire.whole(), frames, stamps)):
        if kind == "none":
            assert got == frame.ljust(60, b"\0")
            continue
        at = 2 * stamp.place
        time, late = times[mac.source.taken[mac.firsts[n]] + DELAY]
        expected = Signature(int.from_bytes(frame[at : at + 5], "big"), frame[at + 5], late, time).bytes()
        assert got[at : at + LENGTH] == expected, f"{got[at : at + LENGTH].hex()} is not {expected.hex()}"
        assert got[:at] + got[at + LENGTH :] == frame[:at] + frame[at + LENGTH :]
        if kind != "raw":
            assert sums_hold(got)


@cocotb.test()
@cocotb.parametrize(place=[4, 5, 6, 7, 21])
async def carries(dut, place):
    """Sums at the edges: all ones, all zeros but the version, those that make the check 0, and those where a carry makes the next."""
    rng = seeded("carries", place)
    cases = [(b"\xff" * 6, (1 << 60) - 1, 0xFFFF), (bytes(6), 0, 0), (b"\xff" * 6, 0, 0), (bytes(6), (1 << 60) - 1, 0)]
    for n in range(40):
        # What is before the check sums up to 0x5aa5, so the check is 0; or to a little more.
        time, late = rng.randrange(1 << 60), rng.randrange(1 << 16)
        head = rng.randbytes(4)
        words = head + bytes(2) + late.to_bytes(2, "big") + (0xB << 60 | time).to_bytes(8, "big")
        cases.append((head + ((SUM + n // 20 * rng.randint(1, 3) - (checksum(words) ^ 0xFFFF)) % 0xFFFF).to_bytes(2, "big"), time, late))
    frames = []
    for head, _, _ in cases:
        frame = bytearray(rng.randbytes(64))
        frame[2 * place : 2 * place + 6] = head
        frames.append(bytes(frame))
    mac = Mac(dut, frames)

    def drive(cycle):
        dut.stamp_i.value = Stamp(place, True).pack()
        recent = [n for n, first in enumerate(mac.firsts) if first < len(mac.source.taken) and mac.source.taken[first] == cycle - DELAY]
        if recent:
            dut.time_i.value, dut.late_i.value = cases[recent[0]][1:]

    mac.agents.append(Drive(drive))
    await mac.run()
    for n, ((_, frame), (head, time, late)) in enumerate(zip(mac.wire.whole(), cases)):
        got = frame[2 * place : 2 * place + LENGTH]
        assert got == Signature(int.from_bytes(head[:5], "big"), head[5], late, time).bytes()
        assert checksum(got) ^ 0xFFFF == SUM
        assert (got[16:] == b"\0\0") == (4 <= n < 24)


@cocotb.test()
async def cut_off(dut):
    """A signature that the end of its frame cuts off does nothing to the frame behind it, nor does one in a frame that is padded."""
    rng = seeded("cut_off")
    frames = [rng.randbytes(rng.choice([40, 60, 63, 64, 65, 72])) for _ in range(80)]
    mac = Mac(dut, frames)
    firsts = {first: n for n, first in enumerate(mac.firsts)}

    def drive(_cycle):
        n = firsts.get(len(mac.source.taken))
        # Every second frame has none; the others one that begins in the last two beats.
        if n is not None:
            dut.stamp_i.value = Stamp(rng.randrange(len(frames[n]) // 2 - 8, len(frames[n]) // 2), n % 2 == 0).pack()

    mac.agents.append(Drive(drive))
    await mac.run()
    for n, ((_, got), frame) in enumerate(zip(mac.wire.whole(), frames)):
        if n % 2:
            assert got == frame.ljust(60, b"\0"), f"frame {n}"
