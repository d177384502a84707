"""When a frame may start on XGMII, by IEEE 802.3 clause 46, in bytes: 8 to a cycle, 4 to a half."""

GAP = 12
# A gap may be so much shorter, in sum.
DEFICIT = 3
# From the cycle in which a first beat is taken to that of the start.
START_DELAY = 7


def length(size):
    """Bytes from the start to the terminate, of a frame of so many bytes without FCS."""
    return 8 + max(size, 60) + 4


class Line:
    """One transmitter. Positions are counted in bytes of the wire."""

    def __init__(self):
        self.end = None  # where the terminate of the frame before is
        self.deficit = 0

    def earliest(self):
        """The earliest position at which the next frame may start."""
        if self.end is None:
            return 0
        # A gap of 12, or up to 3 less as far as the deficit allows, up to a place that is a multiple of 4.
        least = self.end + GAP - (DEFICIT - self.deficit)
        return -(-least // 4) * 4

    def start(self, cycle, size):
        """The position of a frame that is let go for that cycle: lane 0, or lane 4 if it must."""
        at = 8 * cycle if 8 * cycle >= self.earliest() else 8 * cycle + 4
        assert at >= self.earliest(), f"cycle {cycle} is too early"
        if self.end is not None:
            self.deficit = max(0, self.deficit + GAP - (at - self.end))
        self.end = at + length(size)
        return at
