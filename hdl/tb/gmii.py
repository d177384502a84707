"""Both ends of a GMII wire: `Wire` records what is transmitted, `Talker` drives what is received."""

from model.ethernet import PREAMBLE, fcs_holds


class Wire:
    """Listens to txd, tx_en, tx_er. `frames`: (cycle of the first preamble byte, bytes with FCS, error seen)."""

    def __init__(self, dut, txd="txd_o", en="tx_en_o", er="tx_er_o"):
        self.txd, self.en, self.er = getattr(dut, txd), getattr(dut, en), getattr(dut, er)
        self.frames = []
        self.gaps = []  # silent cycles before each frame but the first
        self.current = None
        self.silent = 0

    def idle(self):
        pass

    def drive(self, cycle):
        pass

    def look(self, cycle):
        if self.en.value == 1:
            if self.current is None:
                self.current = [cycle, bytearray(), False]
                if self.frames:
                    self.gaps.append(self.silent)
            self.current[1].append(int(self.txd.value))
            self.current[2] |= self.er.value == 1
            self.silent = 0
        else:
            self.silent += 1
            if self.current is not None:
                self.frames.append(tuple(self.current))
                self.current = None

    def whole(self):
        """(cycle, frame without FCS) of every frame. Asserts that each conforms to the standard."""
        out = []
        for cycle, data, error in self.frames:
            assert not error, f"cycle {cycle}: tx_er"
            assert data[:8] == PREAMBLE, f"cycle {cycle}: {bytes(data[:8]).hex()}"
            assert fcs_holds(bytes(data[8:])), f"cycle {cycle}: FCS"
            assert len(data) >= 8 + 64, f"cycle {cycle}: {len(data)} bytes"
            out.append((cycle, bytes(data[8:-4])))
        return out


class Talker:
    """Drives rxd. `items`: (silent cycles before, bytes from the preamble on, index of a byte with rx_er or None)."""

    def __init__(self, dut, items=(), rxd="rxd_i", dv="rx_dv_i", er="rx_er_i"):
        self.rxd, self.dv, self.er = getattr(dut, rxd), getattr(dut, dv), getattr(dut, er)
        self.items = list(items)
        self.wait = None
        self.at = 0
        self.delimiters = []  # cycles

    def idle(self):
        self.rxd.value = 0
        self.dv.value = 0
        self.er.value = 0

    def drive(self, cycle):
        self.dv.value = 0
        self.er.value = 0
        if not self.items:
            return
        gap, data, error = self.items[0]
        if self.wait is None:
            self.wait = gap
        if self.wait:
            self.wait -= 1
            return
        self.dv.value = 1
        self.rxd.value = data[self.at]
        self.er.value = self.at == error
        if data[self.at] == 0xD5 and all(byte == 0x55 for byte in data[: self.at]):
            self.delimiters.append(cycle)
        self.at += 1
        if self.at == len(data):
            self.items.pop(0)
            self.wait, self.at = None, 0

    def look(self, cycle):
        pass

    def empty(self):
        return not self.items
