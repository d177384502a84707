"""The receiver, fed with what the standard allows and with what it does not."""

import cocotb
from bench import Bench, Drive, Watch, seeded
from gmii import Talker
from model.ethernet import on_the_wire, with_fcs


class Mac(Bench):
    def __init__(self, dut, items):
        self.talker = Talker(dut, items)
        self.frames = []  # (bytes with FCS, bad, stamp)
        self.parts = None
        self.noise = 0
        super().__init__(dut, Drive(self.clock), self.talker, Watch(self.watch))

    def clock(self, cycle):
        self.dut.now_i.value = 1000 + cycle
        # The nanoseconds of two cycles ago; 9.5 in each cycle.
        self.dut.time_i.value = self.time(1000 + cycle - 2)

    @staticmethod
    def time(tick):
        return tick * 19 // 2

    def watch(self, cycle):
        self.noise += int(self.dut.noise_o.value)
        if self.dut.valid_o.value != 1:
            return
        word = int(self.dut.received_o.beat.value)
        first, last = word >> 69 & 1, word >> 68 & 1
        final, bad = word >> 65 & 7, word >> 64 & 1
        stamp = int(self.dut.received_o.stamp.value)
        assert first == (self.parts is None), f"cycle {cycle}: a first beat in the middle, or none"
        if first:
            self.parts = [b"", stamp]
        assert stamp == self.parts[1]
        assert int(self.dut.received_o.time_.value) == self.time(stamp)
        assert last or final == 7
        self.parts[0] += (word & (1 << 64) - 1).to_bytes(8, "little")[: final + 1]
        if last:
            self.frames.append((self.parts[0], bool(bad), stamp))
            self.parts = None

    async def run(self):
        await self.start(now_i=1000, time_i=0)
        await self.until(self.talker.empty, 60_000)
        await self.step(20)
        assert self.parts is None


@cocotb.test()
@cocotb.parametrize(preamble=[7, 6, 1, 0, 12])
async def good(dut, preamble):
    rng = seeded("good", preamble)
    frames = [bytes(rng.randrange(256) for _ in range(rng.choice([60, 61, 62, 63, 64, 65, 66, 67, 68, 200, 1518]))) for _ in range(12)]
    items = [(rng.randint(12, 30), b"\x55" * preamble + on_the_wire(frame)[7:], None) for frame in frames]
    mac = Mac(dut, items)
    await mac.run()
    assert [(data, bad) for data, bad, _ in mac.frames] == [(with_fcs(frame), False) for frame in frames]
    # The stamp is seven before the delimiter: where a whole preamble would have begun.
    assert [stamp for _, _, stamp in mac.frames] == [1000 + cycle - 7 for cycle in mac.talker.delimiters]
    assert mac.noise == 0


@cocotb.test()
async def bad(dut):
    """Every way of being bad is told, and the frame after it is good."""
    rng = seeded("bad")
    frame = bytes(rng.randrange(256) for _ in range(100))
    whole = on_the_wire(frame)
    flipped = bytearray(whole)
    flipped[8 + rng.randrange(104)] ^= 1 << rng.randrange(8)
    cases = [
        (bytes(flipped), None),  # one bit
        (whole[:-1], None),  # cut off
        (whole, 50),  # the PHY saw an error
        (on_the_wire(b"")[:8] + with_fcs(frame[:59]), None),  # 63 bytes, FCS right
        (on_the_wire(bytes(1519)), None),  # 1 523 bytes, FCS right
        (on_the_wire(b"")[:9], None),  # one byte
    ]
    items = []
    for data, error in cases:
        items += [(12, data, error), (12, whole, None)]
    mac = Mac(dut, items)
    await mac.run()
    assert [bad for _, bad, _ in mac.frames] == [True, False] * len(cases)
    assert all(data == with_fcs(frame) for data, _, _ in mac.frames[1::2])
    assert mac.noise == 0


@cocotb.test()
async def noise(dut):
    """Bytes that are no preamble, and a preamble with nothing behind it, are no frames, and are told."""
    whole = on_the_wire(bytes(range(80)))
    items = [
        (12, b"\x12" + whole, None),
        (12, whole, None),
        (12, whole[:8], None),
        (12, whole, None),
        (12, b"\x55\x55\x54\xd5" + bytes(70), None),
        (12, whole, None),
        (12, whole, 3),  # an error in the preamble
        (12, whole, None),
    ]
    mac = Mac(dut, items)
    await mac.run()
    assert [bad for _, bad, _ in mac.frames] == [False] * 4
    assert mac.noise == 4


@cocotb.test()
async def shortest_gap(dut):
    """Frames that are one silent byte apart: a repeater may shrink the gap."""
    frame = bytes(range(60))
    mac = Mac(dut, [(1, on_the_wire(frame), None)] * 5)
    await mac.run()
    assert [(data, bad) for data, bad, _ in mac.frames] == [(with_fcs(frame), False)] * 5
    assert [stamp for _, _, stamp in mac.frames] == [1000 + cycle - 7 for cycle in mac.talker.delimiters]
