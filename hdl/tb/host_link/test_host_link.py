"""The whole module, driven from the host's side and compared with a model of the link: answers, their order, and that none is missing."""

import pathlib
import sys

import cocotb
from bench import PAUSES, Bench, Sink, Source, seeded
from model.link import Answers, Kind, Message, Why, leaving, registers
from model.shapes import Beat, From, frame

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "regs"))
import regs as registers_of  # noqa: E402

REGISTERS = {reg.name: reg for reg in registers_of.with_layout(registers_of.registers())}
FAR = 1 << 45
INPUTS = ["rxd_i", "rx_dv_i", "rx_er_i", "host_valid_i", "host_beat_i", "host_ready_i", "wire_up_i"]


def places(*kinds):
    out = set()
    for reg in REGISTERS.values():
        for field in reg.fields:
            if field.kind in kinds:
                out |= {reg.address + 4 * half for half in range(field.low // 32, field.high // 32 + 1)}
    return out


READABLE, WRITABLE = places("constant", "value"), places("pulse", "setting")
# Without those that would change the test itself: memories, commands, live.
HARMLESS = WRITABLE - {REGISTERS[name].address for name in ("control", "command", "link", "link_patience", "memory_data")}


def heard(data, bad=False):
    """The beats of a MAC, with an FCS, which is not checked."""
    data += bytes(4)
    out = []
    for at in range(0, len(data), 8):
        part = data[at : at + 8]
        last = at + 8 >= len(data)
        word = (at == 0) << 69 | last << 68 | len(part) - 1 << 65 | (bad and last) << 64
        out.append(word | int.from_bytes(part, "little"))
    return out


class Mac(Source):
    """A MAC at 1 Gb/s, which cannot wait: a beat every 8 cycles, 20 cycles between frames."""

    def __init__(self, dut, frames=()):
        super().__init__(dut, "host_valid_i", "host_ready_o", "host_beat_i")
        self.frames = list(frames)
        self.next = 0
        self.beats = []

    def drive(self, cycle):
        self.valid.value = 0
        if cycle < self.next:
            return
        if not self.beats and self.frames:
            self.beats = list(self.frames.pop(0))
        if self.beats:
            self.data(self.beats.pop(0))
            self.valid.value = 1
            self.next = cycle + (8 if self.beats else 28)

    def look(self, cycle):
        pass

    def empty(self):
        return not self.frames and not self.beats


class Polite(Source):
    """A sender that can wait: it offers nothing while the module is not ready."""

    def drive(self, cycle):
        self.offered = bool(self.items) and self.ready.value == 1 and not self.pause(cycle)
        if self.offered:
            self.data(self.items[0])
        self.valid.value = self.offered


class Host(Bench):
    def __init__(self, dut, pauses="never", mac=False):
        rng = seeded("host", pauses, mac)
        self.out = Mac(dut) if mac else Polite(dut, "host_valid_i", "host_ready_o", "host_beat_i", [], PAUSES[pauses](rng))
        self.sink = Sink(dut, "host_valid_o", "host_ready_i", "host_beat_o", PAUSES[pauses](rng))
        super().__init__(dut, self.out, self.sink)
        self.number = 0

    async def begin(self):
        await self.start(**dict.fromkeys(INPUTS, 0))
        await self.step(1_200)

    def put(self, message, bad=False, numbered=True):
        if numbered:
            message.number = self.number
            self.number = self.number + 1 & 0xFFFF
        words = heard(message.pack() if isinstance(message, Message) else message, bad)
        if isinstance(self.out, Mac):
            self.out.frames.append(words)
        else:
            self.out.items += words
        return message

    def got(self):
        """All messages so far."""
        out, part = [], []
        for word in self.sink.items():
            part.append(Beat.unpack(word))
            if part[-1].last:
                out.append(Message.unpack(frame(part)))
                part = []
        return out

    def answers(self):
        return [message for message in self.got() if message.kind != Kind.CREDIT]

    async def finish(self, answers, limit=200_000):
        """Waits for `answers` answers, and for more that must not come."""
        await self.until(self.out.empty, limit)
        await self.until(lambda: len(self.answers()) >= answers or int(self.dut.quiet_o.value) == 1, limit)
        await self.step(300)

    async def ask(self, message, limit=20_000):
        before = len(self.answers())
        self.put(message)
        await self.until(lambda: len(self.answers()) > before, limit)
        return self.answers()[before]

    async def read(self, *names):
        answer = await self.ask(Message(Kind.READ, body=registers([(REGISTERS[name].address, 0) for name in names])))
        assert answer.kind == Kind.READ_BACK, answer
        values = [value for _, value in answer.words()]
        return values[0] if len(values) == 1 else values


def any_message(rng):
    """A valid message, or one with any of the errors."""
    choice = rng.randrange(14)
    body = rng.randbytes(rng.choice([60, 61, 64, 100, 129, 600]))
    address = lambda pool: rng.choice(sorted(pool)) if rng.random() < 0.9 else rng.choice([0x1FF0, 0x2000, 3, 0xFFFF_FFFC])
    if choice < 3:
        return Message(Kind.READ, body=registers([(address(READABLE), rng.getrandbits(32)) for _ in range(rng.randint(1, 20))]))
    if choice < 5:
        return Message(Kind.WRITE, body=registers([(address(HARMLESS), rng.getrandbits(32)) for _ in range(rng.randint(1, 20))]))
    if choice < 8:
        return Message(Kind.FRAME, detail=leaving(From.AT_TIME), value=FAR, body=body)
    if choice == 8:
        return Message(Kind.FRAME, detail=rng.getrandbits(32) | 1, value=rng.getrandbits(rng.choice([61, 64])) | FAR, body=body)
    if choice == 9:
        return Message(Kind.FRAME, detail=leaving(From.AT_TIME), value=FAR, body=body, length=rng.choice([0, 59, 10_000, len(body) + 1, 65_535]))
    if choice == 10:
        return Message(rng.choice([Kind.READ, Kind.WRITE]), body=rng.randbytes(24), length=rng.choice([0, 4, 20, 32, 1_448]))
    if choice == 11:
        return Message(Kind.READ, version=rng.choice([0, 2, 255]), body=registers([(0, 0)]))
    if choice == 12:
        return Message(rng.choice([0, 6, 0x40, 0x82, 0xFF]), body=rng.randbytes(rng.randint(0, 90)))
    return Message(Kind.READ, body=registers([(0, 0)]), source=rng.randbytes(6))


@cocotb.test()
@cocotb.parametrize(pauses=["never", "rarely", "mostly", "bursts"])
async def as_the_model_says(dut, pauses):
    """Hundreds of messages, valid and not: the answers are those of the model, in order."""
    rng = seeded("as the model says", pauses)
    host = Host(dut, pauses)
    await host.begin()
    model = Answers(READABLE, WRITABLE)
    expected = []
    messages = [Message(Kind.HELLO), Message(Kind.WRITE, body=registers([(REGISTERS["control"].address, 1)]))]
    messages += [any_message(rng) for _ in range(120)]
    messages.append(Message(Kind.READ, body=registers([(REGISTERS[f"link_errors{why}"].address, 0) for why in range(1, 9)])))
    for n, message in enumerate(messages):
        if 5 < n < len(messages) - 1 and rng.random() < 0.05:
            host.number = host.number + rng.randint(1, 40_000) & 0xFFFF
        host.put(message)
        expected += model.to(message)
        model.live = n >= 1
    await host.finish(len(expected), 400_000)
    got = host.answers()
    assert len(got) == len(expected), f"{len(got)} answers, not {len(expected)}"
    for n, (answer, (kind, number, detail, value)) in enumerate(zip(got, expected)):
        assert (answer.kind, answer.number) == (kind, number), f"answer {n}: {answer}, not {kind} {number}"
        assert detail in (None, answer.detail) and value in (None, answer.value), f"answer {n}: {answer}, not {detail:x} {value}"
    # The counters agree with the errors that were sent.
    told = [answer.detail & 0xFF for answer in got if answer.kind == Kind.ERROR]
    counted = [value for _, value in got[-1].words()] if got[-1].kind == Kind.READ_BACK else None
    assert counted == [told.count(why) for why in range(1, 9)]
    assert len(model.accepted) > 20


@cocotb.test()
async def bad_and_cut_frames(dut):
    """Frames that the MAC marks as bad, and frames too long or too short, are dropped whole and counted. Others are answered."""
    rng = seeded("bad and cut")
    host = Host(dut, mac=True)
    await host.begin()
    await host.ask(Message(Kind.HELLO))
    bad = 0
    for n in range(40):
        right = Message(Kind.WRITE, body=registers([(REGISTERS["gap_reference"].address, n)] * rng.randint(1, 40)))
        kind = rng.randrange(4)
        if kind == 0:
            host.put(right, bad=True, numbered=False)
        elif kind == 1:
            host.put(right.pack()[: rng.randint(1, 31)], numbered=False)
        elif kind == 2:
            host.put(rng.randbytes(rng.randint(2_049, 3_000)), numbered=False)
        else:
            host.put(right)
        bad += kind < 3
    await host.until(host.out.empty, 200_000)
    await host.step(500)
    right = [answer for answer in host.answers() if answer.kind == Kind.WRITTEN]
    assert len(right) == 40 - bad and not [answer for answer in host.answers() if answer.kind == Kind.ERROR]
    assert await host.read("link_bad", "link_full") == [bad, 0]


@cocotb.test()
async def no_room(dut):
    """A host sends requests but takes no answers. Requests without room are dropped whole and counted, and their loss is reported."""
    host = Host(dut, mac=True)
    await host.begin()
    await host.ask(Message(Kind.HELLO))
    stopped = {"now": True}
    host.sink.pause = lambda _cycle: stopped["now"]
    asked = [host.put(Message(Kind.READ, body=registers([(0, n)] * 100))) for n in range(12)]
    await host.until(host.out.empty, 200_000)
    stopped["now"] = False
    await host.step(5_000)
    full = await host.read("link_full")
    await host.step(200)
    answered = [answer.number for answer in host.answers() if answer.kind == Kind.READ_BACK][:-1]
    # Four kibibytes: four such requests, and the one that is being answered.
    assert 0 < full == len(asked) - len(answered) and answered == [message.number for message in asked][: len(answered)]
    lost = [answer for answer in host.answers() if answer.kind == Kind.ERROR]
    assert [(error.detail & 0xFF, error.value) for error in lost] == [(Why.LOST, asked[len(answered)].number)]


@cocotb.test()
async def ignores_credits(dut):
    """A host ignores its credits. Each frame without credits is refused; the others are queued and can be forgotten."""
    host = Host(dut)
    await host.begin()
    await host.ask(Message(Kind.HELLO))
    await host.ask(Message(Kind.WRITE, body=registers([(REGISTERS["control"].address, 1)])))
    model = Answers(READABLE, WRITABLE)
    model.live, model.expected = True, host.number
    expected = []
    for n in range(40):
        message = host.put(Message(Kind.FRAME, detail=leaving(From.AT_TIME), value=FAR, body=bytes([n]) * (1_500 - 20 * n)))
        expected += model.to(message)
    await host.finish(2 + len(expected))
    errors = [(answer.kind, answer.number, answer.detail, answer.value) for answer in host.answers()[2:]]
    assert errors == expected and errors
    await host.ask(Message(Kind.WRITE, body=registers([(REGISTERS["command"].address, 1)])))
    await host.until(lambda: int(dut.quiet_o.value) == 1, 20_000)
    assert await host.read("forgotten", "link_errors5") == [len(model.accepted), len(errors)]
    granted = [message for message in host.got() if message.kind == Kind.CREDIT]
    assert sum(message.detail for message in granted) == granted[-1].value == 2_048 + 2_048 - model.free


@cocotb.test()
async def vanishes(dut):
    """A host stops listening in the middle of an answer and returns with another address. It gets all credits again, and answers."""
    host = Host(dut)
    await host.begin()
    await host.ask(Message(Kind.HELLO))
    stopped = {"now": False}
    host.sink.pause = lambda _cycle: stopped["now"]
    host.put(Message(Kind.READ, body=registers([(0, 0)] * 180)))
    await host.step(60)
    stopped["now"] = True
    await host.step(20_000)
    stopped["now"] = False
    await host.step(1_500)
    before = len(host.got())
    other = bytes.fromhex("0200000000aa")
    answer = await host.ask(Message(Kind.HELLO, source=other))
    assert answer.kind == Kind.HELLO_BACK and answer.target == other
    await host.step(300)
    granted = [message for message in host.got()[before:] if message.kind == Kind.CREDIT]
    assert granted[-1].value == sum(message.detail for message in granted) == 2_048
    assert all(message.target == other for message in granted)
    assert await host.read("magic") == 0x54415245


@cocotb.test()
async def answers_have_no_holes(dut):
    """The beats of a frame to the host are at most 8 cycles apart, which a MAC at 1 Gb/s takes for one, also in the longest answer."""
    host = Host(dut)
    await host.begin()
    await host.ask(Message(Kind.HELLO))
    readable = [reg for reg in REGISTERS.values() if reg.fields[0].kind in ("value", "constant")]
    answer = await host.ask(Message(Kind.READ, body=registers([(reg.address, 0) for reg in (readable * 6)[:180]])))
    assert answer.kind == Kind.READ_BACK and len(answer.words()) == 180 and len(readable) <= 180 <= 6 * len(readable)
    last = None
    for cycle, word in host.sink.got:
        assert last is None or cycle - last <= 8, f"cycle {cycle}: {cycle - last} cycles after the beat before"
        last = None if Beat.unpack(word).last else cycle
