"""Whole frames, with their departures, in order and without a hole."""

import cocotb
from bench import PAUSES, Bench, Sink, Source, Watch, seeded
from model.shapes import Beat, Departure, From, beats, frame


@cocotb.test()
@cocotb.parametrize(idle=["never", "mostly", "bursts"], wait=["never", "rarely", "bursts"], size=[64, 300, 1518])
async def whole(dut, idle, wait, size):
    rng = seeded("whole", idle, wait, size)
    frames = [bytes(rng.randrange(256) for _ in range(rng.randint(1, size))) for _ in range(12)]
    words = []
    for n, bytes_ in enumerate(frames):
        departure = Departure(From.AFTER_START, n)
        words += [(departure.pack(), beat.pack()) for beat in beats(bytes_)]

    def put(word):
        dut.departure_i.value, dut.beat_i.value = word

    source = Source(dut, "valid_i", "ready_o", put, words, PAUSES[idle](rng))
    state = {"open": 0, "ended": 0}
    # A sink like the gate: beats of a frame only after its departure; one departure ahead at most.
    departures = Sink(dut, "departure_valid_o", "departure_ready_i", "departure_o", lambda _cycle: state["open"] >= 2)
    pause = PAUSES[wait](rng)
    sink = Sink(dut, "valid_o", "ready_i", "beat_o", lambda cycle: state["open"] == 0 or pause(cycle))

    def watch(cycle):
        if state["open"]:
            assert dut.valid_o.value == 1, f"cycle {cycle}: a hole"
        taken = len(departures.got)
        if sink.got and sink.got[-1][0] == cycle and Beat.unpack(sink.got[-1][1]).last:
            state["ended"] += 1
        state["open"] = taken - state["ended"]

    bench = Bench(dut, source, departures, sink, Watch(watch))
    await bench.start(departure_i=0, beat_i=0)
    await bench.until(lambda: state["ended"] == len(frames), 20_000)
    await bench.step(5)
    assert source.empty() and dut.empty_o.value == 1
    assert [Departure.unpack(word).value for word in departures.items()] == list(range(len(frames)))
    out, parts = [], []
    for word in sink.items():
        parts.append(Beat.unpack(word))
        if parts[-1].last:
            out.append(frame(parts))
            parts = []
    assert out == frames and not parts
