"""The language between host and module (docs/fpga-link.md), written from the page and not from the design."""

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
    length: int | None = None  # what the header says, if it is not true
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
    """The detail of a frame: what its departure is reckoned from, and where its signature is, in bytes."""
    return int(reckoned) | (0 if signature_at is None else 1 << 8 | signature_at // 2 << 16)
