"""Frames, beats and departures as the packed structs of tare_pkg: integers whose highest bits are the first member."""

import dataclasses
import enum


@dataclasses.dataclass(frozen=True)
class Beat:
    data: int
    final_byte: int = 7
    last: bool = False

    def pack(self):
        return self.last << 67 | self.final_byte << 64 | self.data

    @classmethod
    def unpack(cls, word):
        return cls(word & (1 << 64) - 1, word >> 64 & 7, bool(word >> 67 & 1))

    def bytes(self):
        return self.data.to_bytes(8, "little")[: self.final_byte + 1]


def beats(frame):
    """A frame (without FCS) as beats."""
    out = []
    for at in range(0, len(frame), 8):
        part = frame[at : at + 8]
        last = at + 8 >= len(frame)
        out.append(Beat(int.from_bytes(part, "little"), len(part) - 1, last))
    return out


def frame(beats_):
    """The bytes of beats."""
    return b"".join(beat.bytes() for beat in beats_)


class From(enum.IntEnum):
    AT_ONCE = 0
    AT_TIME = 1
    AFTER_START = 2
    AFTER_DUE = 3


@dataclasses.dataclass(frozen=True)
class Stamp:
    place: int = 0  # halfwords
    enable: bool = False

    def pack(self):
        return self.enable << 8 | self.place

    @classmethod
    def unpack(cls, word):
        return cls(word & 0xFF, bool(word >> 8 & 1))


@dataclasses.dataclass(frozen=True)
class Departure:
    reckoned: From
    value: int = 0
    stamp: Stamp = Stamp()

    def pack(self):
        return self.reckoned << 73 | self.value << 9 | self.stamp.pack()

    @classmethod
    def unpack(cls, word):
        return cls(From(word >> 73 & 3), word >> 9 & (1 << 64) - 1, Stamp.unpack(word & (1 << 9) - 1))
