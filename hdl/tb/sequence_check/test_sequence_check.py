"""Missing and stale numbers of 32 streams at once, compared with a dictionary."""

import cocotb
from bench import Bench, Watch, seeded

MODULO = 1 << 40


@cocotb.test()
@cocotb.parametrize(start=[0, MODULO - 50])
async def streams(dut, start):
    rng = seeded("streams", start)
    told = []

    def watch(_cycle):
        if dut.valid_o.value == 1:
            told.append((int(dut.stream_o.value), int(dut.stale_o.value), int(dut.missing_o.value)))

    bench = Bench(dut, Watch(watch))
    await bench.start(clear_i=0, valid_i=0, stream_i=0, sequence_i=0)
    for _ in range(2):
        # One stream per cycle is cleared.
        await bench.step(33)
        expected, next_ = [], {}
        for _ in range(400):
            stream = rng.randrange(32)
            jump = rng.choice([0, 0, 0, 0, 1, 5, 1 << 33, -1, -7])
            sequence = (next_.get(stream, start) + jump) % MODULO
            ahead = (sequence - next_.get(stream, sequence)) % MODULO
            stale = ahead >= MODULO // 2
            expected.append((stream, int(stale), 0 if stale else ahead))
            if not stale:
                next_[stream] = (sequence + 1) % MODULO
            dut.valid_i.value, dut.stream_i.value, dut.sequence_i.value = 1, stream, sequence
            await bench.step()
            dut.valid_i.value = 0
            await bench.step(rng.choice([2, 2, 3, 7]))
        await bench.step(5)
        assert told == expected
        # After a clear every stream starts afresh.
        told.clear()
        dut.clear_i.value = 1
        await bench.step()
        dut.clear_i.value = 0
