"""Ethernet, IPv4, UDP and TCP, as far as the modules know them. CRC-32 is that of zlib, independent of the design."""

import struct
import zlib

PREAMBLE = bytes([0x55] * 7 + [0xD5])


def on_the_wire(frame):
    """Preamble, frame padded to 60 bytes, FCS."""
    padded = frame.ljust(60, b"\0")
    return PREAMBLE + with_fcs(padded)


def with_fcs(frame):
    return frame + struct.pack("<I", zlib.crc32(frame))


def fcs_holds(frame):
    return len(frame) >= 4 and zlib.crc32(frame[:-4]) == struct.unpack("<I", frame[-4:])[0]


def checksum(data):
    """RFC 1071: the ones' complement of the ones' complement sum of big-endian halfwords."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def partial(data):
    """The sum before it is inverted."""
    return checksum(data) ^ 0xFFFF


def udp(payload, *, source="198.18.0.1", target="198.18.0.2", sport=1000, dport=9, sums=True):
    """An Ethernet frame (without FCS) with IPv4 and UDP."""
    return _ip(17, struct.pack(">HHHH", sport, dport, 8 + len(payload), 0), 6, payload, source, target, sums)


def tcp(payload, *, source="198.18.0.1", target="198.18.0.2", sport=1000, dport=80, sums=True):
    header = struct.pack(">HHIIBBHHH", sport, dport, 1, 2, 0x50, 0x10, 65535, 0, 0)
    return _ip(6, header, 16, payload, source, target, sums)


def _ip(protocol, l4, sum_at, payload, source, target, sums):
    addresses = bytes(map(int, source.split("."))) + bytes(map(int, target.split(".")))
    length = 20 + len(l4) + len(payload)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0, 64, protocol, 0) + addresses
    if sums:
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
        pseudo = addresses + struct.pack(">BBH", 0, protocol, len(l4) + len(payload))
        l4_sum = checksum(pseudo + l4 + payload) or 0xFFFF
        l4 = l4[:sum_at] + struct.pack(">H", l4_sum) + l4[sum_at + 2 :]
    ethernet = bytes.fromhex("020000000002" "020000000001" "0800")
    return ethernet + ip + l4 + payload


def sums_hold(frame):
    """Both checksums of an IPv4 frame with UDP or TCP."""
    ip = frame[14:34]
    length = int.from_bytes(ip[2:4], "big")
    l4 = frame[34 : 14 + length]
    pseudo = ip[12:20] + struct.pack(">BBH", 0, ip[9], len(l4))
    udp_length = ip[9] != 17 or int.from_bytes(l4[4:6], "big") == len(l4)
    return checksum(ip) == 0 and checksum(pseudo + l4) == 0 and udp_length
