"""Reads a capture of the simulated module's wire with scapy: what left, and whether each frame is what it says.

    wire.py FILE      a line for each frame: nanoseconds, bytes, identification of the reader's complaints (or -)
"""

import sys

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgReader

with PcapNgReader(sys.argv[1]) as frames:
    for frame in frames:
        data = bytes(frame)
        wrong = []
        again = Ether(data)
        for layer in (IP, UDP):
            if layer in again:
                del again[layer].chksum
                del again[layer].len
        # scapy fills in lengths and checksums anew.
        if bytes(again) != data:
            wrong.append("length-or-checksum")
        if UDP not in frame:
            wrong.append("not-udp")
        # EDecimal: seconds with nine digits.
        print(int(frame.time * 1_000_000_000), len(data), ",".join(wrong) or "-")
