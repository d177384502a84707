"""Both ends of an XGMII wire of eight lanes: `Wire` records what is transmitted, `Talker` drives what is received.

Places are counted in bytes: 8 to a cycle, lane by lane.
"""

from model.ethernet import PREAMBLE, fcs_holds

IDLE, START, TERMINATE, ERROR, SEQUENCE = 0x07, 0xFB, 0xFD, 0xFE, 0x9C
QUIET = int.from_bytes(bytes([IDLE] * 8), "little")


class Wire:
    """Listens to txd and txc. `frames`: (place of the start, bytes with FCS, error seen); anything else between frames fails, unless it is idle."""

    def __init__(self, dut, txd="txd_o", txc="txc_o"):
        self.txd, self.txc = getattr(dut, txd), getattr(dut, txc)
        self.frames = []
        self.gaps = []  # bytes before each frame but the first, its terminate included
        self.current = None
        self.end = None

    def idle(self):
        pass

    def drive(self, cycle):
        pass

    def look(self, cycle):
        control, data = int(self.txc.value), int(self.txd.value)
        if control == 0xFF and data == QUIET:
            assert self.current is None, f"cycle {cycle}: idle in a frame"
            return
        octets = data.to_bytes(8, "little")
        if control == 0 and self.current is not None:
            self.current[1] += octets
            return
        for lane, octet in enumerate(octets):
            self.octet(8 * cycle + lane, octet, control >> lane & 1)

    def octet(self, place, octet, control):
        if self.current is None:
            if control and octet == START:
                assert place % 4 == 0, f"start in lane {place % 8}"
                if self.end is not None:
                    self.gaps.append(place - self.end)
                self.current = [place, bytearray(PREAMBLE[:1]), False]
            else:
                assert control and octet == IDLE, f"cycle {place // 8} lane {place % 8}: {octet:02x} between frames"
        elif not control or octet == ERROR:
            self.current[1].append(octet)
            self.current[2] |= control
        else:
            assert octet == TERMINATE, f"cycle {place // 8} lane {place % 8}: control {octet:02x} in a frame"
            self.frames.append(tuple(self.current))
            self.current, self.end = None, place

    def whole(self):
        """(place, frame without FCS) of every frame. Asserts that each conforms to the standard."""
        out = []
        for place, data, error in self.frames:
            assert not error, f"byte {place}: error"
            assert data[:8] == PREAMBLE, f"byte {place}: {bytes(data[:8]).hex()}"
            assert fcs_holds(bytes(data[8:])), f"byte {place}: FCS"
            assert len(data) >= 8 + 64, f"byte {place}: {len(data)} bytes"
            out.append((place, bytes(data[8:-4])))
        return out


def octets(gap, data, errors=(), end=TERMINATE):
    """(octet, control) of `idle` idle octets and a frame, given as bytes from the preamble on. Bytes at the indices in `errors` become errors."""
    out = [(IDLE, 1)] * gap
    out.append((START, 1))
    out += [(ERROR, 1) if n in errors else (octet, 0) for n, octet in enumerate(data[1:], 1)]
    if end is not None:
        out.append((end, 1))
    return out


class Talker:
    """Puts columns on rxd and rxc. `items`: (bytes between the terminate before and the start, with that terminate; bytes from the preamble on), or a
    list of (octet, control). A start that would be in another lane than 0 or 4 comes as many bytes later; with `even`, what
    that is too long the next gap is shorter, as the standard has it."""

    def __init__(self, dut, items=(), rxd="rxd_i", rxc="rxc_i", even=False):
        self.rxd, self.rxc = getattr(dut, rxd), getattr(dut, rxc)
        self.items = list(items)
        self.even = even
        self.over = 0  # bytes by which the gaps so far were too long
        self.waiting = []
        self.place = 0  # of the first octet in `waiting`
        self.starts = []  # places, since the first column

    def idle(self):
        self.rxd.value, self.rxc.value = QUIET, 0xFF

    def drive(self, cycle):
        if not self.waiting and not self.items:
            self.idle()
            return
        if not self.starts and not self.waiting:
            self.place = 8 * cycle
        while self.items and len(self.waiting) < 8:
            self.add(self.items.pop(0))
        column = self.waiting[:8] + [(IDLE, 1)] * (8 - len(self.waiting))
        del self.waiting[:8]
        self.place = 8 * cycle + 8
        self.rxd.value = int.from_bytes(bytes(octet for octet, _ in column), "little")
        self.rxc.value = sum(control << lane for lane, (_, control) in enumerate(column))

    def add(self, item):
        if isinstance(item, list):
            self.waiting += item
            return
        gap, data = item
        at = self.place + len(self.waiting)
        # The gap includes the terminate of the frame before.
        start = at + gap - 1 - (min(self.over, 3) if self.even else 0)
        aligned = -(-start // 4) * 4
        self.over = aligned - (at + gap - 1) + self.over if self.even else 0
        self.waiting += octets(aligned - at, data)
        self.starts.append(aligned)

    def look(self, cycle):
        pass

    def empty(self):
        return not self.items and not self.waiting
