"""The transmitter's bytes, read as the standard has them, with zlib's CRC."""

import cocotb
from bench import PAUSES, Bench, Source, Watch, seeded
from gmii import Wire
from model.shapes import beats


class Mac(Bench):
    def __init__(self, dut, frames, pause):
        self.source = Source(dut, "valid_i", "ready_o", "beat_i", [b.pack() for f in frames for b in beats(f)], pause)
        self.wire = Wire(dut)
        self.sent = self.underruns = 0
        super().__init__(dut, self.source, self.wire, Watch(self.watch))

    def watch(self, _cycle):
        self.sent += int(self.dut.sent_o.value)
        self.underruns += int(self.dut.underrun_o.value)


@cocotb.test()
@cocotb.parametrize(size=[1, 8, 59, 60, 61, 64, 67, 300, 1514])
async def back_to_back(dut, size):
    """Frames without a pause: each 12 silent bytes after the one before, the preamble one cycle after the first beat was taken."""
    rng = seeded("back_to_back", size)
    frames = [bytes(rng.randrange(256) for _ in range(size)) for _ in range(4)]
    mac = Mac(dut, frames, PAUSES["never"](rng))
    await mac.start(beat_i=0, stamp_i=0, time_i=0, late_i=0)
    await mac.until(lambda: len(mac.wire.frames) == len(frames), 10_000)
    whole = mac.wire.whole()
    assert [data for _, data in whole] == [frame.ljust(60, b"\0") for frame in frames]
    assert mac.wire.gaps == [12] * (len(frames) - 1)
    per_frame = len(beats(frames[0]))
    assert [cycle for cycle, _ in whole] == [mac.source.taken[n * per_frame] + 1 for n in range(len(frames))]
    # 8 of preamble, at least 60 of frame, 4 of FCS, 12 of silence: 84 cycles of a 64-byte frame, 1 488 095/s at 125 MHz.
    assert whole[1][0] - whole[0][0] == 8 + max(size, 60) + 4 + 12
    assert mac.sent == len(frames) and mac.underruns == 0 and mac.source.empty()


@cocotb.test()
async def between_frames(dut):
    """Frames at any distance, of any size."""
    rng = seeded("between_frames")
    frames = [bytes(rng.randrange(256) for _ in range(rng.randint(1, 200))) for _ in range(25)]
    starts = {sum(len(beats(f)) for f in frames[:n]) for n in range(len(frames))}
    state = {"wait": 0}
    mac = Mac(dut, frames, None)

    def pause(_cycle):
        # Only the first beat of a frame may be late.
        if len(mac.source.taken) in starts and rng.random() < 0.97:
            return True
        return False

    mac.source.pause = pause
    await mac.start(beat_i=0, stamp_i=0, time_i=0, late_i=0)
    await mac.until(lambda: len(mac.wire.frames) == len(frames), 40_000)
    assert [data for _, data in mac.wire.whole()] == [frame.ljust(60, b"\0") for frame in frames]
    assert min(mac.wire.gaps) >= 12 and mac.underruns == 0
    firsts = sorted(starts)
    assert [cycle for cycle, _ in mac.wire.whole()] == [mac.source.taken[n] + 1 for n in firsts]


@cocotb.test()
@cocotb.parametrize(missing=[1, 3, 7])
async def underrun(dut, missing):
    """A beat that is not there in time: the frame ends with an error, its rest is thrown away, and the next one is whole."""
    rng = seeded("underrun", missing)
    frames = [bytes(rng.randrange(256) for _ in range(64)) for _ in range(3)]
    mac = Mac(dut, frames, None)
    # The beat comes 40 cycles late.
    hold = {"until": None}

    def pause(cycle):
        if len(mac.source.taken) == 8 + missing:
            if hold["until"] is None:
                hold["until"] = cycle + 40
            return cycle < hold["until"]
        return False

    mac.source.pause = pause
    await mac.start(beat_i=0, stamp_i=0, time_i=0, late_i=0)
    await mac.until(lambda: len(mac.wire.frames) == 3, 2_000)
    errors = [error for _, _, error in mac.wire.frames]
    assert errors == [False, True, False]
    assert mac.underruns == 1 and mac.sent == 2 and mac.source.empty()
    assert min(mac.wire.gaps) >= 12
    del mac.wire.frames[1]
    assert [data for _, data in mac.wire.whole()] == [frames[0], frames[2]]
