"""How fast the simulated module runs: cycles a second, of the clock on the wall and of the processor's time.

    python speed.py PROGRAM [SECONDS]
"""

import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import test_module  # noqa: E402
from client import Module  # noqa: E402
from model.ethernet import udp  # noqa: E402


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def one(program, name, options, busy, seconds):
    with Module(program, *options) as made:
        if busy:
            test_module.generate(made, 64, (84, 0, 1), 0)
        made.write(command=1 << 6)
        tick, cpu, wall = made.read("captured_tick"), cpu_s(made.process.pid), time.monotonic()
        time.sleep(seconds)
        made.write(command=1 << 6)
        cycles = made.read("captured_tick") - tick
        wall, cpu = time.monotonic() - wall, cpu_s(made.process.pid) - cpu
        print(f"{name:45} {cycles / wall / 1e6:6.2f} M/s wall {cycles / cpu / 1e6:6.2f} M/s CPU", flush=True)


def main():
    program, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "in.pcap"
        frame = udp(bytes(18))
        head = bytes.fromhex("a1b23c4d00020004") + bytes(8) + bytes.fromhex("0000ffff00000001")
        path.write_bytes(head + bytes(8) + len(frame).to_bytes(4, "big") * 2 + frame)
        one(program, "nothing moves (--free)", ["--loop", "--free"], False, seconds)
        one(program, "generator, 64 B at line rate, no cable", ["--free"], True, seconds)
        one(program, "64 B at line rate both ways, a cable", ["--loop"], True, seconds)
        one(program, "64 B at line rate both ways, other frames in", ["--rx-pcap", str(path)], True, seconds)
        one(program, "the same with a capture of all", ["--rx-pcap", str(path), "--pcap", str(path.with_suffix(".pcapng"))], True, seconds)


if __name__ == "__main__":
    main()
