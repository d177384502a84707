"""Runs the simulator for a moment to profile its branches for the compiler (build.sh). Needs only Python.

    python3 train.py PROGRAM
"""

import pathlib
import re
import socket
import subprocess
import sys

HDL = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HDL))

from model.ethernet import udp  # noqa: E402
from model.generator import Plan, Template  # noqa: E402
from model.link import Kind, Message, leaving, registers  # noqa: E402

TABLE = HDL.parent / "crates" / "port" / "src" / "fpga" / "registers.rs"
ADDRESS = {name: int(at, 16) for name, at in re.findall(r'Register \{ name: "(\w+)", address: (0x[0-9a-f]+)', TABLE.read_text())}
SECONDS = 60


def main():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(SECONDS)
    process = subprocess.Popen([sys.argv[1], "--host-fd", str(theirs.fileno()), "--loop"], pass_fds=[theirs.fileno()], stderr=subprocess.DEVNULL)
    theirs.close()
    number = 0

    def ask(kind, **rest):
        nonlocal number
        ours.send(Message(kind, number, **rest).pack())
        number += 1
        while kind in (Kind.HELLO, Kind.READ, Kind.WRITE):
            back = Message.unpack(ours.recv(65536))
            if back.kind == kind | 0x80:
                return back

    def write(*pairs):
        for at in range(0, len(pairs), 180):
            ask(Kind.WRITE, body=registers([(ADDRESS[name], value) for name, value in pairs[at : at + 180]]))

    def until_sent(frames):
        while ask(Kind.READ, body=registers([(ADDRESS["sent"], 0)])).words()[0][1] < frames:
            pass

    ask(Kind.HELLO)
    plain = udp(bytes(18))
    # First frames at line rate, then larger ones with gaps between them.
    plan = Plan([Template(plain[:56].ljust(64, b"\0"), 60)], [], [], [(0, 0, 0)], 0)
    writes = [pair for which, at, data in plan.writes() for pair in (("memory", int(which)), ("memory_address", at), ("memory_data", data))]
    write(*writes, ("frames", 5_000), ("gap_whole", 84), ("link", 3), ("control", 2))
    until_sent(5_000)
    write(("control", 0), ("frames", 500), ("gap_whole", 2_000), ("link", 0), ("control", 2))
    until_sent(5_500)
    write(("control", 1))
    for n in range(16):
        ask(Kind.FRAME, detail=leaving(2), value=2_000, body=bytes(1_000))
    until_sent(5_516)
    ours.close()
    process.wait(SECONDS)


if __name__ == "__main__":
    main()
