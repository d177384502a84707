"""The frames that the generator must send, assembled from values, with checksums computed over whole frames.

Also makes the words that the host writes, as generator_pkg.sv defines them.
"""

import dataclasses
import enum
import struct

from model.ethernet import checksum, partial
from model.gaps import due
from model.signature import LENGTH, SUM


class Memory(enum.IntEnum):
    BEATS = 0
    TABLE = 1
    FIELDS = 2
    GAPS = 3
    SIZES = 4
    VALUES = 5
    STREAMS = 6


class Mode(enum.IntEnum):
    INCREMENT = 0
    LIST = 1
    RANDOM = 2


def xorshift32(x):
    x ^= x << 13 & 0xFFFF_FFFF
    x ^= x >> 17
    return x ^ (x << 5 & 0xFFFF_FFFF)


@dataclasses.dataclass
class Field:
    at: int  # bytes
    wide: bool
    mode: Mode
    first: int
    last: int
    step: int = 1
    begin: int | None = None
    templates: int = 0xFFFF_FFFF
    in_ip: bool = False
    in_l4: bool = False

    def words(self):
        flags = self.mode << 11 | self.wide << 10 | self.in_ip << 9 | self.in_l4 << 8 | self.at // 2
        begin = self.first if self.begin is None else self.begin
        return [self.templates, flags, self.first, self.last, self.step, begin]

    def values(self, listed):
        """The field's value in each frame that has it, one after the other."""
        state = self.first if self.begin is None else self.begin
        while True:
            if self.mode == Mode.RANDOM:
                yield self.first ^ (state & self.last)
                state = xorshift32(state)
            else:
                yield listed[state & 0xFF] if self.mode == Mode.LIST else state
                state = self.first if state == self.last else state + self.step & 0xFFFF_FFFF


@dataclasses.dataclass
class Template:
    stored: bytes  # whole beats, with zeros for varying fields, lengths and checksums
    length: int
    protocol: int | None = None  # 17 UDP, 6 TCP, None: no checksums, no lengths
    signature_at: int | None = None  # bytes
    stream: int = 0

    def sum_at(self):
        return {17: 40, 6: 50}[self.protocol]

    def words(self, first_beat):
        signature = (1 << 31 | self.signature_at // 2 << 23) if self.signature_at is not None else 0
        start = signature | self.stream << 17 | first_beat
        stored = len(self.stored) // 8
        if self.protocol is None:
            return [0, self.length, start, 0, 0, 0, stored]
        pseudo = self.stored[26:34] + struct.pack(">BBH", 0, self.protocol, 0)
        signed = SUM.to_bytes(2, "big") if self.signature_at is not None else b""
        sums = partial(pseudo + self.stored[34:] + signed) << 16 | partial(self.stored[14:34])
        udp = self.protocol == 17
        return [
            sums,
            self.length,
            start,
            1 << 31 | 8 << 23 | 14,
            udp << 31 | 19 << 23 | 1 << 22 | 34,
            1 << 31 | 12 << 23 | 1 << 15 | self.sum_at() // 2 << 7,
            stored,
        ]


@dataclasses.dataclass
class Plan:
    templates: list
    fields: list
    listed: list  # values
    entries: list  # (gap, length or 0, template)
    frames: int
    sequences: dict = dataclasses.field(default_factory=dict)

    def writes(self):
        """(memory, address, data) of all words."""
        beat = 0
        for n, template in enumerate(self.templates):
            for half in range(len(template.stored) // 4):
                yield Memory.BEATS, 2 * beat + half, int.from_bytes(template.stored[4 * half : 4 * half + 4], "little")
            for word, data in enumerate(template.words(beat)):
                yield Memory.TABLE, 8 * n + word, data
            beat += len(template.stored) // 8
        for n in range(4):
            words = self.fields[n].words() if n < len(self.fields) else [0] * 6
            for word, data in enumerate(words):
                yield Memory.FIELDS, 8 * n + word, data
        for n, value in enumerate(self.listed):
            yield Memory.VALUES, n, value
        for n, (gap, length, template) in enumerate(self.entries):
            yield Memory.GAPS, n, gap
            yield Memory.SIZES, n, template << 16 | length
        for stream in range(32):
            yield Memory.STREAMS, stream, self.sequences.get(stream, 0)

    def expected(self):
        """The frames without FCS. The parts of signatures that are written at departure are zeros."""
        values = [field.values(self.listed) for field in self.fields]
        sequences = {stream: self.sequences.get(stream, 0) for stream in range(32)}
        for n in range(self.frames):
            _, length, which = self.entries[n % len(self.entries)]
            template = self.templates[which]
            length = length or template.length
            frame = bytearray(template.stored[:length].ljust(length, b"\0"))
            for field, value in zip(self.fields, values):
                if field.templates >> which & 1:
                    value = next(value)
                    if field.wide:
                        frame[field.at : field.at + 4] = struct.pack(">I", value)
                    else:
                        frame[field.at : field.at + 2] = struct.pack(">H", value & 0xFFFF)
            if template.signature_at is not None:
                at, stream = template.signature_at, template.stream
                frame[at : at + 6] = sequences[stream].to_bytes(5, "big") + bytes([stream])
                sequences[stream] += 1
            if template.protocol is not None:
                frame[16:18] = struct.pack(">H", length - 14)
                if template.protocol == 17:
                    frame[38:40] = struct.pack(">H", length - 34)
                frame[24:26] = struct.pack(">H", checksum(bytes(frame[14:34])))
                pseudo = bytes(frame[26:34]) + struct.pack(">BBH", 0, template.protocol, length - 34)
                at = template.sum_at()
                counted = bytearray(frame)
                if template.signature_at is not None:
                    # The sum of a signature does not depend on its contents.
                    counted[template.signature_at : template.signature_at + LENGTH] = SUM.to_bytes(LENGTH, "big")
                frame[at : at + 2] = struct.pack(">H", checksum(pseudo + bytes(counted[34:])) or 0xFFFF)
            yield bytes(frame)

    def gaps(self):
        """The gaps of the list, one before each frame."""
        return [self.entries[n % len(self.entries)][0] for n in range(self.frames)]


def even_gaps(frames, whole, numerator, denominator):
    """The gaps of the accumulator, as differences of the formula."""
    return [due(n + 1, whole, numerator, denominator) - due(n, whole, numerator, denominator) for n in range(frames)]
