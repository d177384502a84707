"""Draws the timing diagram of docs/fpga-reference.md from a trace of the simulated core.

    python timing.py FILE.svg      simulates (suite core, test as_the_page_draws_it), then draws

Plain SVG: one row a signal, one column a tick, stretches in which nothing new happens folded away.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# The ticks shown, counted from the first departure. The picture is folded between these ranges.
SHOWN = [range(-3, 12), range(80, 88), range(97, 108), range(181, 192)]
ROWS = [
    ("departure", "next departure at the gate"),
    ("frame", "next frame at the gate"),
    ("ready", "MAC can begin, or takes a beat"),
    ("start", "the gate lets it go"),
    ("tx_en", "TX_EN"),
    ("txd", "TXD"),
]
LEFT, CELL, ROW, FOLD, TOP = 210, 16, 30, 22, 46
PREAMBLE, DELIMITER = 0x55, 0xD5


def columns(trace):
    """(x, row of the trace) of each tick shown, the x of the folds, and the width."""
    shown = {row["tick"]: row for row in trace}
    x, cells, folds = LEFT, [], []
    for number, ticks in enumerate(SHOWN):
        if number:
            folds.append(x + FOLD / 2)
            x += FOLD
        for tick in ticks:
            cells.append((x, shown[tick], tick == ticks[-1]))
            x += CELL
    return cells, folds, x + 16


def level(cells, name, y):
    """A line that is high or low, broken at folds."""
    path, before = [], None
    for x, row, last in cells:
        at = y - 14 * (row[name] != 0)
        path.append(f"{'M' if before is None else 'L'}{x} {at}" if at != before or before is None else "")
        path.append(f"L{x + CELL} {at}")
        before = None if last else at
    return f'<path class="line" d="{" ".join(part for part in path if part)}"/>'


def bus(cells, y):
    """What is on the wire, as boxes: idle, preamble, delimiter, bytes."""
    def kind(row):
        if not row["tx_en"]:
            return ""
        return {PREAMBLE: "preamble", DELIMITER: "d5"}.get(row["txd"], f"{row['txd']:02x}")

    parts, run = [], []
    for x, row, last in cells:
        text = kind(row)
        if run and text == run[-1][1] and text in ("", "preamble"):
            run[-1][2] += CELL
        else:
            run.append([x, text, CELL])
        if last:
            parts += run
            run = []
    out = []
    for x, text, width in parts:
        if not text:
            out.append(f'<path class="line" d="M{x} {y - 7}h{width}"/>')
            continue
        out.append(f'<rect class="byte" x="{x + 0.5}" y="{y - 14}" width="{width - 1}" height="14" rx="2"/>')
        # A preamble cut off by a fold has no room for its name.
        if text != "preamble" or width >= 4 * CELL:
            out.append(f'<text class="inside" x="{x + width / 2}" y="{y - 3.5}">{text}</text>')
    return "".join(out)


def draw(trace):
    cells, folds, width = columns(trace)
    starts = [(x, row["tick"]) for x, row, _ in cells if row["start"]]
    height = TOP + ROW * len(ROWS) + 34
    bottom = TOP + ROW * len(ROWS) - 4
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        'aria-label="Three frames leave at ticks 0, 100 and 184">',
        "<style>svg{background:#fff}text{font:12px system-ui,sans-serif;fill:#1f2933}.tick{font-size:10px;text-anchor:middle;fill:#52606d}"
        ".inside{font:9.5px ui-monospace,monospace;text-anchor:middle}.line{fill:none;stroke:#1f2933;stroke-width:1.4}.byte{fill:#dbeafe;stroke:#3b6fb5}"
        ".at{stroke:#c2410c;stroke-width:1;stroke-dasharray:3 3}.fold{stroke:#9aa5b1;stroke-width:1.2}.gap{fill:#c2410c;font-size:12px}.grid{stroke:#eef1f4}</style>",
    ]
    for x, row, _ in cells:
        out.append(f'<path class="grid" d="M{x} {TOP - 8}V{bottom}"/>')
        if row["tick"] % 4 == 0:
            out.append(f'<text class="tick" x="{x + CELL / 2}" y="{TOP - 14}">{row["tick"]}</text>')
    out.append(f'<text class="tick" style="text-anchor:start" x="8" y="{TOP - 14}">tick (8 ns)</text>')
    for number, (name, label) in enumerate(ROWS):
        y = TOP + ROW * number + 20
        out.append(f'<text x="8" y="{y - 2}">{label}</text>')
        out.append(bus(cells, y) if name == "txd" else level(cells, name, y))
    for x in folds:
        out.append(f'<path class="fold" d="M{x - 3} {TOP - 8}V{bottom}M{x + 3} {TOP - 8}V{bottom}"/>')
    for x, tick in starts:
        # The first byte of the preamble.
        out.append(f'<path class="at" d="M{x + CELL} {TOP - 8}V{bottom + 16}"/>')
    for (a, first), (b, second) in zip(starts, starts[1:]):
        y = bottom + 12
        out.append(f'<path class="at" style="stroke-dasharray:none" d="M{a + CELL + 2} {y}H{b + CELL - 2}"/>')
        out.append(f'<text class="gap" text-anchor="middle" x="{(a + b) / 2 + CELL}" y="{y + 16}">{second - first} ticks asked and kept</text>')
    out.append(f'<text x="8" y="{bottom + 16}">start of preamble to start of preamble</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    (target,) = sys.argv[1:] or sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        kept = pathlib.Path(folder) / "trace.json"
        environment = os.environ | {"TRACE": str(kept), "COCOTB_TEST_FILTER": "as_the_page_draws_it"}
        subprocess.run([sys.executable, HERE / "run.py", "core"], env=environment, check=True)
        pathlib.Path(target).write_text(draw(json.loads(kept.read_text())))


if __name__ == "__main__":
    main()
