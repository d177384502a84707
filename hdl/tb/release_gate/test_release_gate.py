"""The gate beside a model that knows nothing of its registers: when each frame may leave at the earliest, and when it left."""

import cocotb
from bench import PAUSES, Bench, Drive, Sink, Source, Watch, seeded
from model.shapes import Departure, From, beats, frame

# From the transfer of a departure to the first cycle in which its frame can leave.
LOAD = 2


class Gate(Bench):
    def __init__(self, dut, departures, frames, *, departure_pause, frame_pause, wait):
        self.departures = Source(
            dut, "departure_valid_i", "departure_ready_o", "departure_i", [d.pack() for d in departures], departure_pause
        )
        self.frames = Source(
            dut, "valid_i", "ready_o", "beat_i", [b.pack() for f in frames for b in beats(f)], frame_pause
        )
        self.sink = Sink(dut, "valid_o", "ready_i", "beat_o", wait)
        self.starts, self.releases, self.forgotten = [], [], 0
        self.loads = []
        super().__init__(dut, Drive(self.clock), self.departures, self.frames, self.sink, Watch(self.watch))

    def clock(self, cycle):
        self.dut.now_i.value = cycle
        self.dut.next_i.value = cycle + 1

    def watch(self, cycle):
        if self.dut.start_o.value == 1:
            self.starts.append(cycle)
        if self.dut.release_valid_o.value == 1:
            word = int(self.dut.release_o.value)
            self.releases.append((word >> 64, word & (1 << 64) - 1))
        self.forgotten += int(self.dut.forgotten_o.value)

    async def begin(self):
        await self.start(now_i=0, next_i=1, forget_i=0, departure_i=0, beat_i=0)

    def received(self):
        """Frames as they came out."""
        from model.shapes import Beat

        out, parts = [], []
        for word in self.sink.items():
            parts.append(Beat.unpack(word))
            if parts[-1].last:
                out.append(frame(parts))
                parts = []
        assert not parts
        return out


def random_frame(rng):
    return bytes(rng.randrange(256) for _ in range(rng.choice([1, 7, 8, 9, 60, 61, 64, 120])))


@cocotb.test()
@cocotb.parametrize(departures=["never", "rarely", "bursts"], frames=["never", "bursts"], wait=["never", "rarely", "bursts"])
async def exact_or_late(dut, departures, frames, wait):
    rng = seeded("exact_or_late", departures, frames, wait)
    count = 60
    sent = [random_frame(rng) for _ in range(count)]
    plan = [Departure(From.AT_TIME, 40)]
    for _ in range(count - 1):
        reckoned = rng.choice([From.AFTER_START, From.AFTER_START, From.AFTER_DUE, From.AT_ONCE])
        plan.append(Departure(reckoned, rng.randint(0, 40)))
    gate = Gate(
        dut, plan, sent,
        departure_pause=PAUSES[departures](rng), frame_pause=PAUSES[frames](rng), wait=PAUSES[wait](rng),
    )
    ready = []
    gate.agents.append(Watch(lambda _cycle: ready.append((gate.sink.willing, dut.valid_i.value == 1))))
    await gate.begin()
    await gate.until(lambda: len(gate.starts) == count, 30_000)
    await gate.until(lambda: gate.frames.empty(), 2_000)
    await gate.step(5)

    assert gate.received() == sent
    assert gate.departures.empty() and gate.forgotten == 0
    assert [start for start, _ in gate.releases] == gate.starts

    # The model: due, then the first cycle in which everything that a start needs is there.
    ends = []
    at = 0
    for bytes_ in sent:
        at += len(beats(bytes_))
        ends.append(gate.sink.got[at - 1][0])
    due = previous_due = None
    for n, departure in enumerate(plan):
        known = gate.departures.taken[n] + LOAD
        if departure.reckoned == From.AT_TIME:
            due = departure.value
        elif departure.reckoned == From.AFTER_START:
            due = gate.starts[n - 1] + departure.value
        elif departure.reckoned == From.AFTER_DUE:
            due = previous_due + departure.value
        else:
            due = None
        can = max(known, due or 0, ends[n - 1] + 1 if n else 0)
        while not all(ready[can]):
            can += 1
        assert gate.starts[n] == can, f"frame {n}: {departure}"
        assert gate.releases[n][1] == (can - due if due is not None else 0)
        previous_due = due if due is not None else can


@cocotb.test()
async def line_rate(dut):
    """Many frames of eight beats, eight ticks apart: none is late."""
    rng = seeded("line_rate")
    count = 300
    sent = [bytes(rng.randrange(256) for _ in range(60)) for _ in range(count)]
    plan = [Departure(From.AT_TIME, 50)] + [Departure(From.AFTER_START, 8)] * (count - 1)
    gate = Gate(dut, plan, sent, departure_pause=PAUSES["never"](rng), frame_pause=PAUSES["never"](rng), wait=PAUSES["never"](rng))
    await gate.begin()
    await gate.until(gate.frames.empty, 5_000)
    await gate.step(5)
    assert gate.starts == [50 + 8 * n for n in range(count)]
    assert all(late == 0 for _, late in gate.releases)


@cocotb.test()
@cocotb.parametrize(case=list(range(12)))
async def forgetting(dut, case):
    """Forgets at any time: a frame that was offered leaves whole, others are counted, and later ones leave by their own departures."""
    rng = seeded("forgetting", case)
    first = [random_frame(rng) for _ in range(12)]
    plan = [Departure(From.AT_TIME, 30)] + [Departure(From.AFTER_START, rng.choice([0, 20, 2000])) for _ in first[1:]]
    gate = Gate(
        dut, plan, first,
        departure_pause=PAUSES[rng.choice(["never", "mostly"])](rng),
        frame_pause=PAUSES[rng.choice(["never", "mostly", "bursts"])](rng),
        wait=PAUSES[rng.choice(["never", "rarely"])](rng),
    )
    await gate.begin()
    await gate.step(rng.randint(20, 150))
    await gate.set(forget_i=1)
    # As long as the controller does: until the sources are empty.
    await gate.until(lambda: gate.frames.empty() and gate.departures.empty(), 10_000)
    await gate.step(4)
    await gate.set(forget_i=0)
    await gate.step(20)
    left = len(gate.starts)
    assert left + gate.forgotten == len(first)
    assert gate.received() == first[:left]

    second = [random_frame(rng) for _ in range(5)]
    gate.departures.items += [Departure(From.AFTER_START, 100).pack() for _ in second]
    gate.frames.items += [b.pack() for f in second for b in beats(f)]
    await gate.until(lambda: len(gate.starts) == left + len(second) and gate.frames.empty(), 5_000)
    await gate.step(5)
    assert gate.received() == first[:left] + second
    # The first has nothing before it; it is not late.
    assert gate.releases[left][1] == 0
