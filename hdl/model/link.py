"""The protocol between host and module, written after docs/fpga-reference.md, independently of the design."""

import dataclasses
import enum
import struct

MODULE = bytes.fromhex("025441524500")
EVERYONE = b"\xff" * 6
TYPE = 0x88B5
VERSION = 1


class Kind(enum.IntEnum):
    HELLO = 0x01
    READ = 0x02
    WRITE = 0x03
    FRAME = 0x04
    MARK = 0x05
    HELLO_BACK = 0x81
    READ_BACK = 0x82
    WRITTEN = 0x83
    MARKED = 0x85
    CREDIT = 0x90
    ERROR = 0x91
    RECEIVED = 0x92
    DEPARTED = 0x93


class Why(enum.IntEnum):
    VERSION = 1
    KIND = 2
    LENGTH = 3
    TIME = 4
    CREDIT = 5
    LOST = 6
    ADDRESS = 7
    STATE = 8
    SILENT = 9
    WIRE = 10
    PLACE = 11


@dataclasses.dataclass
class Message:
    kind: int
    number: int = 0
    detail: int = 0
    value: int = 0
    body: bytes = b""
    version: int = VERSION
    length: int | None = None  # in the header, if not that of the body
    source: bytes = bytes.fromhex("020000000099")
    target: bytes = MODULE

    def pack(self):
        length = len(self.body) if self.length is None else self.length
        head = struct.pack(">6s6sH", self.target, self.source, TYPE)
        return head + struct.pack("<BBHHIQ", self.version, self.kind, self.number, length, self.detail, self.value) + self.body

    @classmethod
    def unpack(cls, frame):
        target, source, type_ = struct.unpack(">6s6sH", frame[:14])
        assert type_ == TYPE, f"EtherType {type_:04x}"
        version, kind, number, length, detail, value = struct.unpack("<BBHHIQ", frame[14:32])
        assert len(frame) >= 32 + length, f"{len(frame)} bytes, with a body of {length}"
        return cls(kind, number, detail, value, frame[32 : 32 + length], version, None, source, target)

    def words(self):
        """The body as pairs of 32 bits: address and value of a register."""
        return [struct.unpack("<II", self.body[at : at + 8]) for at in range(0, len(self.body), 8)]

    def departures(self):
        """(start, ticks late, number modulo 2^24)"""
        pairs = [struct.unpack("<QQ", self.body[at : at + 16]) for at in range(0, len(self.body), 16)]
        return [(start, rest & (1 << 40) - 1, rest >> 40) for start, rest in pairs]


def registers(pairs):
    return b"".join(struct.pack("<II", address, value) for address, value in pairs)


def leaving(reckoned, signature_at=None):
    """The detail of a frame: the reference of its departure, and the place of its signature, in bytes."""
    return int(reckoned) | (0 if signature_at is None else 1 << 8 | signature_at // 2 << 16)


class Answers:
    """What the module answers to one message after the other, as long as nothing that was accepted leaves. Values of registers are not known here: an answer to
    a read has its addresses."""

    def __init__(self, readable, writable, capacity=2048):
        self.readable, self.writable = set(readable), set(writable)
        self.expected = None
        self.live = False
        self.free = capacity
        self.accepted = []

    def to(self, message):
        """The answers to a message, each as (kind, number, detail, value or None)."""
        out = []
        why, value = self.wrong(message)
        lost = message.version == VERSION and message.kind != Kind.HELLO and self.expected not in (None, message.number)
        before = self.expected
        if message.version == VERSION:
            self.expected = message.number + 1 & 0xFFFF
        if why is not None:
            out.append((Kind.ERROR, message.number, message.kind << 8 | why, value))
        elif message.kind == Kind.HELLO:
            out.append((Kind.HELLO_BACK, message.number, None, None))
        elif message.kind in (Kind.READ, Kind.WRITE):
            out.append((message.kind | 0x80, message.number, len(message.body) // 8, 0))
            places = self.readable if message.kind == Kind.READ else self.writable
            stray = [address for address, _ in message.words() if address not in places]
        elif message.kind == Kind.FRAME:
            self.free -= (len(message.body) + 7) // 8
            self.accepted.append(message.body)
        if lost:
            out.append((Kind.ERROR, message.number, message.kind << 8 | Why.LOST, before))
        if why is None and message.kind in (Kind.READ, Kind.WRITE) and stray:
            out.append((Kind.ERROR, message.number, message.kind << 8 | Why.ADDRESS, stray[0]))
        return out

    def wrong(self, message):
        length = len(message.body) if message.length is None else message.length
        if message.version != VERSION:
            return Why.VERSION, message.version
        if message.kind not in (Kind.HELLO, Kind.READ, Kind.WRITE, Kind.FRAME, Kind.MARK):
            return Why.KIND, message.kind
        if message.kind in (Kind.READ, Kind.WRITE) and (length == 0 or length % 8 or length > 8 * 180 or length > len(message.body)):
            return Why.LENGTH, length
        if message.kind == Kind.FRAME:
            if not 60 <= length <= 1518 or length > len(message.body):
                return Why.LENGTH, length
            if message.detail & 3 and message.value >> 62:
                return Why.TIME, message.value >> 48
            place = message.detail >> 16
            if message.detail & 1 << 8 and (not 4 <= place <= 255 or 2 * place + 18 > length):
                return Why.PLACE, place
            if not self.live:
                return Why.STATE, message.value & 0xFFFF
            if (length + 7) // 8 > self.free:
                return Why.CREDIT, self.free
        return None, None
