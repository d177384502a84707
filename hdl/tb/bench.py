"""What every test bench is made of.

A cycle is counted from falling edge to falling edge. At a falling edge all agents drive their inputs; when everything has settled, all look at what
the next rising edge will see. So no test depends on the order in which a simulator updates registers.
"""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

# Every run has a seed, which is printed; SEED=… repeats a run.
SEED = int(os.environ.get("SEED", "1"))


def seeded(*parts):
    """A random generator of its own for each test, and a line that says how to have it again."""
    seed = (SEED, *parts)
    cocotb.log.info("seed %s", seed)
    return random.Random(repr(seed))


def never(_cycle):
    return False


def sometimes(rng, share):
    """True in that share of cycles, at random."""
    return lambda _cycle: rng.random() < share


def bursts(rng, longest):
    """True and false in turns, each for up to `longest` cycles."""
    state = {"left": 0, "on": False}

    def pause(_cycle):
        if state["left"] == 0:
            state["on"] = not state["on"]
            state["left"] = rng.randint(1, longest)
        state["left"] -= 1
        return state["on"]

    return pause


PAUSES = {
    "never": lambda rng: never,
    "rarely": lambda rng: sometimes(rng, 0.1),
    "mostly": lambda rng: sometimes(rng, 0.8),
    "bursts": lambda rng: bursts(rng, 20),
}


class Bench:
    """A clock, a reset, and agents with `drive(cycle)` and `look(cycle)`."""

    def __init__(self, dut, *agents):
        self.dut = dut
        self.agents = list(agents)
        self.cycle = 0

    async def start(self, **inputs):
        for name, value in inputs.items():
            getattr(self.dut, name).value = value
        for agent in self.agents:
            agent.idle()
        cocotb.start_soon(Clock(self.dut.clk_i, 8, "ns").start(start_high=False))
        self.dut.rst_ni.value = 0
        for _ in range(3):
            await FallingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1

    async def step(self, cycles=1):
        for _ in range(cycles):
            for agent in self.agents:
                agent.drive(self.cycle)
            await ReadOnly()
            for agent in self.agents:
                agent.look(self.cycle)
            self.cycle += 1
            await FallingEdge(self.dut.clk_i)

    async def until(self, done, limit):
        """Steps until `done()`; it is an error if that takes more than `limit` cycles."""
        for _ in range(limit):
            if done():
                return
            await self.step()
        raise AssertionError(f"not done after {limit} cycles")

    async def set(self, **inputs):
        for name, value in inputs.items():
            getattr(self.dut, name).value = value


class Source:
    """Sends items over a stream and keeps the rules: what is offered stays until it is taken."""

    def __init__(self, dut, valid, ready, data, items=(), pause=never):
        self.valid, self.ready, self.data = getattr(dut, valid), getattr(dut, ready), data
        if isinstance(data, str):
            signal = getattr(dut, data)
            self.data = lambda item: setattr(signal, "value", item)
        self.items = list(items)
        self.pause = pause
        self.offered = False
        self.taken = []  # cycles

    def idle(self):
        self.valid.value = 0

    def drive(self, cycle):
        if not self.offered and self.items and not self.pause(cycle):
            self.offered = True
            self.data(self.items[0])
        self.valid.value = self.offered

    def look(self, cycle):
        if self.offered and self.ready.value == 1:
            self.items.pop(0)
            self.taken.append(cycle)
            self.offered = False

    def empty(self):
        return not self.items


class Sink:
    """Takes items from a stream, and checks the rules of streams at the same time."""

    def __init__(self, dut, valid, ready, data, pause=never):
        self.valid, self.ready = getattr(dut, valid), getattr(dut, ready)
        self.data = getattr(dut, data)
        self.pause = pause
        self.got = []  # (cycle, item)
        self.waiting = None

    def idle(self):
        self.ready.value = 0

    def drive(self, cycle):
        self.willing = not self.pause(cycle)
        self.ready.value = self.willing

    def look(self, cycle):
        valid = self.valid.value == 1
        item = int(self.data.value) if valid else None
        if self.waiting is not None:
            assert valid and item == self.waiting, f"cycle {cycle}: what was offered was taken back"
        self.waiting = item if valid and not self.willing else None
        if valid and self.willing:
            self.got.append((cycle, item))

    def items(self):
        return [item for _, item in self.got]


class Watch:
    """Calls a function in each cycle, when everything has settled."""

    def __init__(self, function):
        self.function = function

    def idle(self):
        pass

    def drive(self, cycle):
        pass

    def look(self, cycle):
        self.function(cycle)


class Drive(Watch):
    """Calls a function in each cycle, when inputs are driven."""

    def drive(self, cycle):
        self.function(cycle)

    def look(self, cycle):
        pass
