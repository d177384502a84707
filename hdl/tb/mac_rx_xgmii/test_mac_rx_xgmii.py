"""The receiver, fed with what clause 46 allows and with what it does not."""

import cocotb
from bench import Bench, Drive, Watch, seeded
from model.ethernet import on_the_wire, with_fcs
from xgmii import ERROR, IDLE, SEQUENCE, START, TERMINATE, Talker, octets

SIZES = [*range(60, 69), 200, 1518]


class Mac(Bench):
    def __init__(self, dut, items, **talk):
        self.talker = Talker(dut, items, **talk)
        self.frames = []  # (bytes with FCS, bad, place of the start)
        self.lasts = []  # cycles
        self.parts = None
        self.noise = 0
        super().__init__(dut, Drive(self.clock), self.talker, Watch(self.watch))

    def clock(self, cycle):
        self.dut.now_i.value = 1000 + cycle
        # The nanoseconds of two cycles ago; 6.4 in each cycle.
        self.dut.time_i.value = self.time(1000 + cycle - 2)

    @staticmethod
    def time(tick):
        return tick * 32 // 5

    def watch(self, cycle):
        self.noise += int(self.dut.noise_o.value)
        if self.dut.valid_o.value != 1:
            return
        word = int(self.dut.received_o.beat.value)
        first, last = word >> 69 & 1, word >> 68 & 1
        final, bad = word >> 65 & 7, word >> 64 & 1
        stamp, half = int(self.dut.received_o.stamp.value), int(self.dut.received_o.half.value)
        assert first == (self.parts is None), f"cycle {cycle}: a first beat in the middle, or none"
        if first:
            self.parts = [b"", (stamp, half)]
        assert (stamp, half) == self.parts[1]
        assert int(self.dut.received_o.time_.value) == self.time(stamp)
        assert last or final == 7
        assert last or not bad
        self.parts[0] += (word & (1 << 64) - 1).to_bytes(8, "little")[: final + 1]
        if last:
            self.frames.append((self.parts[0], bool(bad), 8 * (stamp - 1000) + 4 * half))
            self.lasts.append(cycle)
            self.parts = None

    async def run(self):
        await self.start(now_i=1000, time_i=0)
        await self.until(self.talker.empty, 60_000)
        await self.step(20)
        assert self.parts is None

    def good(self):
        """Frames that are not bad, and the places of their starts."""
        return [data for data, bad, _ in self.frames if not bad], [place for _, bad, place in self.frames if not bad]


@cocotb.test()
@cocotb.parametrize(gap=["line", 1, 5, 30], seed=[1, 2])
async def good(dut, gap, seed):
    """Frames of any size in both lanes: at line rate, at gaps of one byte, of five (the least a receiver must take), and further apart."""
    rng = seeded("good", gap, seed)
    frames = [rng.randbytes(rng.choice(SIZES)) for _ in range(60)]
    space = lambda: 12 if gap == "line" else rng.randint(gap, gap + 9)
    items = [(space(), on_the_wire(frame)) for frame in frames]
    mac = Mac(dut, items, even=gap == "line")
    await mac.run()
    data, places = mac.good()
    assert data == [with_fcs(frame) for frame in frames]
    assert places == mac.talker.starts and {place % 8 for place in places} == {0, 4}
    assert mac.noise == 0 and len(mac.frames) == len(frames)


@cocotb.test()
async def smallest_at_line_rate(dut):
    """64 bytes, a start each 10.5 cycles: last beats 10 and 11 cycles apart."""
    rng = seeded("smallest")
    frames = [rng.randbytes(60) for _ in range(200)]
    mac = Mac(dut, [(12, on_the_wire(frame)) for frame in frames])
    await mac.run()
    assert mac.good()[0] == [with_fcs(frame) for frame in frames]
    places = mac.good()[1]
    assert [b - a for a, b in zip(places, places[1:])] == [84] * 199
    assert {b - a for a, b in zip(mac.lasts, mac.lasts[1:])} == {10, 11}


@cocotb.test()
@cocotb.parametrize(seed=[1, 2, 3])
async def bad(dut, seed):
    """Every way of being bad is told, and the frame after it is good."""
    rng = seeded("bad", seed)
    frame = rng.randbytes(rng.randint(95, 105))
    whole = on_the_wire(frame)
    flipped = bytearray(whole)
    flipped[8 + rng.randrange(len(frame) + 4)] ^= 1 << rng.randrange(8)
    gap = lambda: rng.randint(12, 19)
    cases = [
        octets(gap(), bytes(flipped)),  # one bit
        octets(gap(), whole[:-1]),  # cut off
        octets(gap(), whole, errors={rng.randrange(8, len(whole))}),
        octets(gap(), whole, end=IDLE),  # no terminate
        octets(gap(), whole, end=SEQUENCE),
        octets(gap(), whole[:20], end=None),  # the next one starts in it
        octets(gap(), on_the_wire(b"")[:8] + with_fcs(frame[:59])),  # 63 bytes, FCS right
        octets(gap(), on_the_wire(bytes(1519))),  # 1 523 bytes, FCS right
        *[octets(gap(), whole[: 8 + n]) for n in range(1, 18)],
    ]
    for size in range(60, 68):
        # The FCS is right, and yet: no terminate, in each lane; an error in place of a byte that is the same, in each.
        other = bytearray(rng.randbytes(size))
        at = rng.randrange(8, 56)
        other[at] = ERROR
        cases.append(octets(gap(), on_the_wire(bytes(other)), end=rng.choice([IDLE, SEQUENCE])))
        cases.append(octets(gap(), on_the_wire(bytes(other)), errors={8 + at}))
    items, place = [], 0
    for case in cases:
        # Starts are in lanes 0 and 4.
        shift = -(place + [octet for octet, _ in case].index(START)) % 4
        after = [] if case[-1][1] == 0 and len(case) < 45 and case[-1] != (TERMINATE, 1) else [(IDLE, 1)] * rng.randint(4, 14)
        one = [(IDLE, 1)] * shift + case + after
        one += [(IDLE, 1)] * (-(place + len(one)) % 4) + octets(0, whole)
        items.append(one)
        place += len(one)
    mac = Mac(dut, items)
    await mac.run()
    assert [bad_ for _, bad_, _ in mac.frames] == [True, False] * len(cases)
    assert all(data == with_fcs(frame) for data, _, _ in mac.frames[1::2])
    assert mac.noise == 0


@cocotb.test()
async def noise(dut):
    """What has no whole preamble, or nothing behind it, or no start, is no frame, and is told once; ordered sets are not."""
    rng = seeded("noise")
    whole = on_the_wire(bytes(range(80)))
    quiet = [(IDLE, 1)] * 16
    fault = [(SEQUENCE, 1), (0, 0), (0, 0), (1, 0)]
    spoilt = bytearray(whole)
    spoilt[3] = 0x54
    cases = [
        octets(16, bytes(spoilt)),  # a preamble with another byte
        octets(16, whole, errors={4}),  # an error in it
        octets(16, whole[:7]),  # cut off in it
        octets(16, whole[:8]),  # nothing behind it
        [*quiet, *((octet, 0) for octet in rng.randbytes(24)), *quiet],  # no start
        [*quiet, *fault, *fault, *fault, *quiet],
        [*quiet, (ERROR, 1), *quiet, (IDLE, 1), (IDLE, 1), (IDLE, 1)],
    ]
    items = []
    for case in cases:
        one = case + [(IDLE, 1)] * (24 - len(case) % 8)
        items.append(one + octets(0, whole) + [(IDLE, 1)] * (-(len(one) + len(whole) + 1) % 8))
    mac = Mac(dut, items)
    await mac.run()
    assert [bad_ for _, bad_, _ in mac.frames] == [False] * len(cases)
    assert mac.noise == 5


@cocotb.test()
async def comes_up_in_the_middle(dut):
    """What is under way when the reset ends is no frame."""
    rng = seeded("middle")
    whole = on_the_wire(rng.randbytes(100))
    mac = Mac(dut, [[(octet, 0) for octet in rng.randbytes(48)] + [(TERMINATE, 1)] + [(IDLE, 1)] * 15, (12, whole)])
    await mac.run()
    assert mac.good()[0] == [whole[8:]] and mac.noise == 0
