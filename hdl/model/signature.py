"""The signature that the module writes into frames, version 0xb: see stamper.sv."""

import dataclasses

from model.ethernet import partial

LENGTH = 18
VERSION = 0xB
SUM = 0x5AA5


@dataclasses.dataclass(frozen=True)
class Signature:
    sequence: int
    stream: int
    late: int  # ticks
    sent: int  # ns since 2020

    def bytes(self):
        head = self.sequence.to_bytes(5, "big") + bytes([self.stream]) + min(self.late, 0xFFFF).to_bytes(2, "big")
        head += (VERSION << 60 | self.sent).to_bytes(8, "big")
        # The check makes the ones' complement sum of all halfwords SUM. It is 0 rather than 65 535.
        return head + ((SUM - partial(head)) % 0xFFFF).to_bytes(2, "big")

    @classmethod
    def read(cls, data):
        """None if these bytes are no signature."""
        data = bytes(data[:LENGTH])
        if len(data) < LENGTH or data[8] >> 4 != VERSION or partial(data) != SUM:
            return None
        sent = int.from_bytes(data[8:16], "big") & (1 << 60) - 1
        return cls(int.from_bytes(data[:5], "big"), data[5], int.from_bytes(data[6:8], "big"), sent)
