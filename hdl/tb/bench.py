"""The parts of every test bench.

A cycle is counted from falling edge to falling edge. At a falling edge all agents drive their inputs; when everything has settled, all look at what
the next rising edge will see. So no test depends on the order in which a simulator updates registers.
"""

import functools
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from model.structs import of_port

# Every run has a seed, which is printed; SEED=… repeats a run.
SEED = int(os.environ.get("SEED", "1"))


def seeded(*parts):
    """A random generator for one test. Logs its seed, so that the run can be repeated."""
    seed = (SEED, *parts)
    cocotb.log.info("seed %s", seed)
    return random.Random(repr(seed))


def never(_cycle):
    return False


def sometimes(rng, share):
    """True in this share of all cycles, at random."""
    return lambda _cycle: rng.random() < share


def bursts(rng, longest):
    """Alternates between true and false, each for up to `longest` cycles."""
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


class Ports:
    """A module's signals, with the members of its struct ports: `dut.control_i.run.value = 1`."""

    def __init__(self, dut):
        self._dut = dut

    def __getattr__(self, name):
        struct = of_port(self._dut._name, name)
        found = getattr(self._dut, name) if struct is None else StructPort(getattr(self._dut, name), struct)
        setattr(self, name, found)
        return found


class StructPort:
    def __init__(self, signal, struct):
        self._signal, self._struct = signal, struct
        self._driven = 0

    @property
    def value(self):
        return int(self._signal.value)

    @value.setter
    def value(self, value):
        self._driven = int(value)
        self._signal.value = self._driven

    def __getattr__(self, path):
        return MemberPort(self, path)


class MemberPort:
    def __init__(self, port, path):
        self._port, self._path = port, path

    @property
    def value(self):
        return self._port._struct.of(self._port.value, self._path)

    @value.setter
    def value(self, value):
        self._port.value = self._port._struct.put(self._port._driven, self._path, value)

    def __getattr__(self, name):
        return MemberPort(self._port, f"{self._path}.{name}")


@functools.cache
def _ports(dut):
    return Ports(dut)


def ports(dut):
    return dut if isinstance(dut, Ports) else _ports(dut)


def find(dut, path):
    """A signal, or a member of a struct port: `control_i.run`, or `control_i__run` where it has to be a name."""
    found = ports(dut)
    for name in path.replace("__", ".").split("."):
        found = getattr(found, name)
    return found


class Bench:
    """A clock, a reset, and agents with `drive(cycle)` and `look(cycle)`."""

    def __init__(self, dut, *agents):
        self.dut = ports(dut)
        self.agents = list(agents)
        self.cycle = 0

    async def start(self, **inputs):
        for name, value in inputs.items():
            find(self.dut, name).value = value
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
        """Steps until `done()`. Fails if that takes more than `limit` cycles."""
        for _ in range(limit):
            if done():
                return
            await self.step()
        raise AssertionError(f"not done after {limit} cycles")

    async def set(self, **inputs):
        for name, value in inputs.items():
            find(self.dut, name).value = value


class Source:
    """Sends items over a stream. By the rules of streams, an item that is offered stays until it is taken."""

    def __init__(self, dut, valid, ready, data, items=(), pause=never):
        self.valid, self.ready, self.data = find(dut, valid), find(dut, ready), data
        if isinstance(data, str):
            signal = find(dut, data)
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
    """Takes items from a stream and checks the rules of streams."""

    def __init__(self, dut, valid, ready, data, pause=never):
        self.valid, self.ready = find(dut, valid), find(dut, ready)
        self.data = find(dut, data)
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
    """Calls a function in each cycle after all signals have settled."""

    def __init__(self, function):
        self.function = function

    def idle(self):
        pass

    def drive(self, cycle):
        pass

    def look(self, cycle):
        self.function(cycle)


class Drive(Watch):
    """Calls a function in each cycle when inputs are driven."""

    def drive(self, cycle):
        self.function(cycle)

    def look(self, cycle):
        pass
