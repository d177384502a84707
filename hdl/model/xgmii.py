"""When a frame may start on XGMII (IEEE 802.3 clause 46). Positions are in bytes: 8 per cycle, 4 per half cycle."""

GAP = 12
# The greatest deficit: bytes by which gaps may be shorter, in sum.
DEFICIT = 3
# Cycles from taking the first beat to the start.
START_DELAY = 7


def length(size):
    """Bytes from the start to the terminate of a frame of `size` bytes without FCS."""
    return 8 + max(size, 60) + 4


class Line:
    """One transmitter. Positions are counted in bytes of the wire."""

    def __init__(self):
        self.end = None  # position of the previous frame's terminate
        self.deficit = 0

    def earliest(self):
        """The earliest position at which the next frame may start."""
        if self.end is None:
            return 0
        # A gap of 12 bytes, less what the deficit allows (up to 3), then up to the next multiple of 4.
        least = self.end + GAP - (DEFICIT - self.deficit)
        return -(-least // 4) * 4

    def start(self, cycle, size):
        """The position of a frame that the gate lets go for this cycle: lane 0, or lane 4 if lane 0 is too early."""
        at = 8 * cycle if 8 * cycle >= self.earliest() else 8 * cycle + 4
        assert at >= self.earliest(), f"cycle {cycle} is too early"
        if self.end is not None:
            self.deficit = max(0, self.deficit + GAP - (at - self.end))
        self.end = at + length(size)
        return at
