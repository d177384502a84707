"""A host for the simulation process: it speaks docs/fpga-reference.md over a socket, and knows nothing of the design."""

import dataclasses
import json
import pathlib
import select
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
HDL = HERE.parent.parent
sys.path[:0] = [str(HDL), str(HDL / "regs")]

import regs as registers_of  # noqa: E402
from model.link import Kind, Message, Why, registers  # noqa: E402

REGISTERS = {reg.name: reg for reg in registers_of.with_layout(registers_of.registers())}
SECONDS = 60


class Refused(Exception):
    def __init__(self, why, value, message):
        super().__init__(f"{Why(why).name}: {value}")
        self.why, self.value, self.message = Why(why), value, message


class Module:
    """`with Module(process, …) as module:` starts the process and says hello."""

    def __init__(self, program, *options, wire=False, hello=True):
        self.host, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fds = [theirs.fileno()]
        arguments = ["--host-fd", str(theirs.fileno())]
        self.wire = None
        if wire:
            self.wire, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            fds.append(far.fileno())
            arguments += ["--wire-fd", str(far.fileno())]
        self.process = subprocess.Popen([program, *arguments, *options], pass_fds=fds, stderr=subprocess.PIPE, text=True)
        theirs.close()
        if wire:
            far.close()
        self.number = 0
        self.queue = []  # what nobody asked for
        self.granted = self.used = 0
        self.credits = []  # (granted now, granted since hello)
        self.summary = None
        if hello:
            self.hello()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Closes the socket and takes what the process says at its end."""
        if self.process is None:
            return
        self.host.close()
        _, errors = self.process.communicate(timeout=SECONDS)
        code, self.process = self.process.returncode, None
        lines = errors.strip().splitlines()
        assert code == 0, f"status {code}: {errors}"
        self.summary = json.loads(lines[-1])

    # Frames of the link.
    def send(self, message):
        message.number = self.number
        self.number = self.number + 1 & 0xFFFF
        self.host.send(message.pack())
        return message.number

    def take(self, seconds=SECONDS):
        """The next frame of the link; None if none comes."""
        if not select.select([self.host], [], [], seconds)[0]:
            return None
        message = Message.unpack(self.host.recv(65536))
        if message.kind == Kind.CREDIT:
            self.granted += message.detail
            self.credits.append((message.detail, message.value))
        return message

    def keep(self, seconds=0):
        """Puts what is there into the queue."""
        while message := self.take(seconds):
            self.queue.append(message)

    def answer(self, number):
        """The answer to a request, or its refusal; the rest is kept in the queue."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            message = self.take()
            assert message is not None, "no answer"
            if message.kind == Kind.ERROR and message.number == number and message.detail >> 8:
                raise Refused(message.detail & 0xFF, message.value, message)
            if message.kind & 0x80 and message.kind < 0x90 and message.kind != Kind.MARKED and message.number == number:
                return message
            self.queue.append(message)
        raise AssertionError("no answer among what came")

    def wait(self, kind, seconds=SECONDS):
        """The next unasked frame of that kind."""
        for at, message in enumerate(self.queue):
            if message.kind == kind:
                return self.queue.pop(at)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            message = self.take(seconds)
            assert message is not None, f"no {Kind(kind).name}"
            if message.kind == kind:
                return message
            self.queue.append(message)
        raise AssertionError(f"no {Kind(kind).name}")

    def hello(self):
        back = self.answer(self.send(Message(Kind.HELLO)))
        # What was granted before its answer was of the time before.
        self.granted = self.used = 0
        self.credits.clear()
        return back

    # Registers by name.
    def place(self, name):
        name, _, half = name.partition(".high")
        return REGISTERS[name].address

    def write(self, **values):
        """Registers by name; 64 bits are two writes."""
        pairs = []
        for name, value in values.items():
            reg = REGISTERS[name]
            pairs += [(reg.address + 4 * half, value >> 32 * half & 0xFFFF_FFFF) for half in range(reg.width // 32)]
        return self.write_words(pairs)

    def write_words(self, pairs):
        for at in range(0, len(pairs), 180):
            self.answer(self.send(Message(Kind.WRITE, body=registers(pairs[at : at + 180]))))

    def read(self, *names):
        pairs = [(REGISTERS[name].address + 4 * half, 0) for name in names for half in range(REGISTERS[name].width // 32)]
        words = [value for _, value in self.answer(self.send(Message(Kind.READ, body=registers(pairs)))).words()]
        out = []
        for name in names:
            low = words.pop(0)
            out.append(low | words.pop(0) << 32 if REGISTERS[name].width == 64 else low)
        return out[0] if len(names) == 1 else out

    def load(self, plan):
        """The generator's memories."""
        pairs, memory, address = [], None, None
        for which, at, data in plan.writes():
            if which != memory:
                pairs.append((REGISTERS["memory"].address, int(which)))
            if which != memory or at != address:
                pairs.append((REGISTERS["memory_address"].address, at))
            pairs.append((REGISTERS["memory_data"].address, data))
            memory, address = which, at + 1
        self.write_words(pairs)

    def counted(self, why):
        return self.read(f"link_errors{int(why)}")

    def until_idle(self, seconds=SECONDS):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.read("status") & 3 == 1:
                return
        raise AssertionError("not idle")

    # Live frames.
    def frame(self, data, detail=0, value=0):
        """Sends a frame when there are credits for it."""
        beats = (len(data) + 7) // 8
        end = time.monotonic() + SECONDS
        while self.granted - self.used < beats:
            assert time.monotonic() < end, f"no credits: {self.granted} granted, {self.used} used"
            message = self.take()
            assert message is not None, f"no credits: {self.granted} granted, {self.used} used"
            self.queue.append(message)
        self.used += beats
        return self.send(Message(Kind.FRAME, detail=detail, value=value, body=data))


@dataclasses.dataclass
class Seen:
    time_ns: int
    way: str
    data: bytes


def capture(path):
    """The frames of a pcapng file, by a reader of its own."""
    data = pathlib.Path(path).read_bytes()
    out, ways, at = [], [], 0
    while at < len(data):
        kind, size = (int.from_bytes(data[at + n : at + n + 4], "little") for n in (0, 4))
        assert size % 4 == 0 and data[at + size - 4 : at + size] == data[at + 4 : at + 8], "block of a wrong size"
        body = data[at + 8 : at + size - 4]
        if kind == 1:
            assert body[:2] == b"\x01\0", "not Ethernet"
            options, name, resolution = body[8:], None, 6
            while options:
                code, length = int.from_bytes(options[:2], "little"), int.from_bytes(options[2:4], "little")
                if code == 2:
                    name = options[4 : 4 + length].decode()
                if code == 9:
                    resolution = options[4]
                options = options[4 + (length + 3) // 4 * 4 :] if code else b""
            assert resolution == 9
            ways.append(name)
        elif kind == 6:
            interface, high, low, length = (int.from_bytes(body[n : n + 4], "little") for n in (0, 4, 8, 12))
            out.append(Seen(high << 32 | low, ways[interface], body[20 : 20 + length]))
        at += size
    return out
