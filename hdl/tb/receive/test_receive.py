"""The receiver compared with plain counting."""

import collections
import struct

import cocotb
from bench import Bench, Watch, seeded
from model.histogram import bin_of
from model.signature import LENGTH, Signature
from model.structs import structs


# The members of events_t that the receiver makes, from the lowest on.
EVENTS = [("uncounted", 1), ("stale", 1), ("missing", 40), ("told", 1), ("noise", 1), ("passed", 1), ("bad", 1), ("bytes", 14), ("good", 1)]


def heard(frame, bad):
    """The beats of a frame as heard_t."""
    out = []
    for at in range(0, len(frame), 8):
        part = frame[at : at + 8]
        last = at + 8 >= len(frame)
        out.append((at == 0) << 69 | last << 68 | (len(part) - 1) << 65 | (last and bad) << 64 | int.from_bytes(part, "little"))
    return out


def listen(signature_at=None, reference=0, rules=()):
    """listen_t as an integer; rules: (byte, mask, value)."""
    word = structs()["listen_t"].pack(signed_=signature_at is not None, signature_at=(signature_at or 0) // 2, gap_reference=reference)
    for n, (at, mask, value) in enumerate(rules):
        for member, of in (("place", {"at": at // 2, "enable": 1}), ("value", {"mask": mask, "value": value})):
            for name, number in of.items():
                word = structs()["listen_t"].put(word, f"rule_{member}[{n}].{name}", number)
    return word


class Receive(Bench):
    def __init__(self, dut):
        self.counted = collections.Counter()
        super().__init__(dut, Watch(self.watch))

    def watch(self, _cycle):
        """events_t, from its last member on."""
        word = int(self.dut.events_o.value)
        for name, width in EVENTS:
            self.counted[name] += word & (1 << width) - 1
            word >>= width
        # Amounts count with what they belong to.
        for name, amount in [("good", "bytes"), ("told", "missing")]:
            happened = self.counted.pop(name) if name == "told" else self.counted[name] - self.was[name]
            self.counted[amount] = self.was[amount] + (self.counted[amount] - self.was[amount] if happened else 0)
        self.was = collections.Counter(self.counted)

    async def begin(self, config):
        self.was = collections.Counter()
        await self.start(
            config_i=config, clear_i=0, valid_i=0, received_i=0, noise_i=0, figure_i=0
        )
        await self.step(2_060)

    async def frame(self, data, stamp, time, bad=False, after=8):
        for word in heard(data, bad):
            self.dut.valid_i.value, self.dut.received_i.beat.value, self.dut.received_i.stamp.value, self.dut.received_i.time_.value = 1, word, stamp, time
            await self.step()
            self.dut.valid_i.value = 0
        await self.step(after)

    async def read(self, what, at):
        dut = self.dut
        dut.figure_i.ask.value, dut.figure_i.what.value, dut.figure_i.at.value = 1, what, at
        for _ in range(20):
            got = {}
            self.agents.append(Watch(lambda _cycle: got.update(valid=int(dut.figure_valid_o.value), word=int(dut.figure_o.value))))
            await self.step()
            self.agents.pop()
            if got["valid"]:
                dut.figure_i.ask.value = 0
                await self.step(4)
                return got["word"]
        raise AssertionError("no answer")


@cocotb.test()
@cocotb.parametrize(case=list(range(6)))
async def counted(dut, case):
    rng = seeded("counted", case)
    signature_at = rng.choice([None, 42, 44, 46, 48, 54])
    reference = rng.choice([0, 100, 1000])
    rules = rng.choice([[], [(12, 0xFFFF, 0x0800)], [(12, 0xFFFF, 0x0800), (36, 0x00FF, 9), (0, 0xFF00, 0x0200)]])
    bench = Receive(dut)
    await bench.begin(listen(signature_at, reference, rules))
    totals = collections.Counter()
    gaps, latencies, missing_by = collections.Counter(), collections.Counter(), collections.Counter()
    # The clock of nanoseconds has its own beginning.
    expected, before, stamp, origin = {}, None, 10_000, rng.randrange(1 << 60)
    sequences = collections.Counter()
    for _ in range(150):
        size = rng.choice([64, 65, 66, 71, 72, 128, 400])
        data = bytearray(rng.randbytes(size))
        data[12:14] = rng.choice([b"\x08\x00", b"\x08\x00", b"\x08\x00", b"\x86\xdd"])
        data[36:38] = struct.pack(">H", rng.choice([9, 9, 9, 10, 0x0109]))
        data[0] = rng.choice([2, 2, 2, 3])
        stream = rng.randrange(32)
        sequences[stream] += rng.choice([1, 1, 1, 2, 30, 0])
        time = (origin + 8 * stamp) % (1 << 60)
        latency = rng.choice([rng.randrange(1 << rng.randint(1, 34)), -rng.randrange(1, 100)])
        sent = (time - latency) % (1 << 60)
        has = signature_at is not None and signature_at + LENGTH <= size
        if signature_at is not None:
            signature = bytearray(Signature(sequences[stream], stream, rng.randrange(1 << 16), sent).bytes())
            if rng.random() < 0.1:
                # Not one: a bit is wrong. Its number is not of the sequence either.
                signature[rng.randrange(LENGTH)] ^= 1 << rng.randrange(8)
                has = False
                sequences[stream] -= 1
            data[signature_at : signature_at + LENGTH] = signature
            data = data[:size]
        bad = rng.random() < 0.1
        await bench.frame(bytes(data), stamp, time, bad, rng.randint(2, 30))
        ok = not bad and all(int.from_bytes(data[at : at + 2], "big") & mask == value & mask for at, mask, value in rules)
        totals["bad"] += bad
        totals["good"] += not bad
        totals["bytes"] += 0 if bad else size
        totals["passed"] += ok
        if ok:
            if before is not None:
                gaps[bin_of(abs(stamp - before - reference))] += 1
            before = stamp
        if ok and has:
            latencies[bin_of(latency % (1 << 60))] += 1
            ahead = sequences[stream] - expected.get(stream, sequences[stream])
            if ahead < 0:
                totals["stale"] += 1
            else:
                totals["missing"] += ahead
                missing_by[stream] += ahead
                expected[stream] = sequences[stream] + 1
        stamp += rng.choice([84, 100, 150, 1000, 1 << 33])
    await bench.step(30)
    for name in ["good", "bad", "passed", "bytes", "missing", "stale"]:
        assert bench.counted[name] == totals[name], name
    assert bench.counted["uncounted"] == 0
    for what, counts in enumerate([gaps, latencies]):
        for at in sorted(counts) + rng.sample(range(1024), 10):
            assert await bench.read(what, at) == counts[at], f"histogram {what}, bin {at}"
    for stream in range(32):
        assert await bench.read(2, stream) == missing_by[stream]


@cocotb.test()
async def at_full_rate(dut):
    """64-byte frames with nothing between them on the stream, which no wire can bring: none is lost."""
    rng = seeded("at_full_rate")
    bench = Receive(dut)
    await bench.begin(listen(42, 8))
    count = 200
    for n in range(count):
        signature = Signature(n, 0, rng.randrange(1 << 16), 64 * n - 5 + 1000).bytes()
        data = rng.randbytes(42) + signature + rng.randbytes(4)
        await bench.frame(data, 1000 + 8 * n, 1000 + 64 * n, after=0)
    await bench.step(30)
    assert bench.counted["good"] == bench.counted["passed"] == count
    assert bench.counted["bytes"] == 64 * count
    assert bench.counted["missing"] == bench.counted["stale"] == bench.counted["uncounted"] == 0
    assert await bench.read(0, 0) == count - 1
    assert await bench.read(1, 5) == count
