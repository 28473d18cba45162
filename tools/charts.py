#!/usr/bin/env python3
"""Draws the charts of the documents from the figures in tests/gpu: charts.py FOLDER (make charts).

speed.svg: how much faster kernels are than NVIDIA's compiler makes them, as geometric means of families and the range
within each. The picture follows the reader's preference for light or dark. The same figures give the same bytes.
"""
import csv
import math
import os
import re
import statistics
import sys
from xml.sax.saxutils import escape

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 } .faint { fill: #59636e; font-size: 12px }
  .bar { fill: #1a7f37 } .range { stroke: #59636e; stroke-width: 1.5 } .one { stroke: #cf222e; stroke-dasharray: 4 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .faint { fill: #9198a1 } .bar { fill: #3fb950 } .range { stroke: #9198a1 } .one { stroke: #f85149 }
  }
"""
FAMILIES = [("attention", "^fmha|attention|decode|mla"), ("products", "^(mm|pmm|bmm|linear|gemm|conv|tall|splitk|split_k)"),
            ("normalisation", "norm"), ("everything else", "")]
LEFT, WIDTH, TOP, STEP = 150, 420, 62, 34


def read(path):
    with open(path, newline="") as f:
        lines = f.read().splitlines()
    notes = " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))
    return notes, list(csv.DictReader(line for line in lines if not line.startswith("#")))


def ratios_of(rows):
    """By family: NVIDIA's time over ours."""
    families = {name: [] for name, _ in FAMILIES}
    for row in rows:
        if row["us"] and row["nvidia_us"]:
            family = next(name for name, pattern in FAMILIES if re.search(pattern, row["kernel"]))
            families[family].append(float(row["nvidia_us"]) / float(row["us"]))
    return {name: ratios for name, ratios in families.items() if ratios}


def x_of(ratio, most):
    """A logarithmic axis from a half to `most`."""
    return LEFT + WIDTH * math.log(ratio / 0.5) / math.log(most / 0.5)


def draw(title, notes, families):
    most = 2 ** math.ceil(math.log2(max(map(max, families.values()))))
    bottom = TOP + STEP * len(families)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {bottom + 58}" role="img">',
           f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>", f'<text x="10" y="24" font-weight="600">{escape(title)}</text>',
           '<text x="10" y="43" class="faint">bar: geometric mean; line: slowest to fastest kernel; scale: logarithmic</text>']
    for i, (name, ratios) in enumerate(families.items()):
        y, mean = TOP + STEP * i, statistics.geometric_mean(ratios)
        low, high, one = (x_of(r, most) for r in (min(ratios), max(ratios), 1))
        start, end = sorted((one, x_of(mean, most)))
        out += [f'<text x="10" y="{y + 17}">{escape(name)} <tspan class="faint">({len(ratios)})</tspan></text>',
                f'<rect class="bar" x="{start:.1f}" y="{y + 4}" width="{end - start:.1f}" height="16" rx="2"/>',
                f'<line class="range" x1="{low:.1f}" x2="{high:.1f}" y1="{y + 12}" y2="{y + 12}"/>',
                f'<text x="{max(high, end) + 6:.1f}" y="{y + 17}">{mean:.2f}×</text>']
    ratio = 0.5
    while ratio <= most:
        x = x_of(ratio, most)
        out.append(f'<text class="faint" text-anchor="middle" x="{x:.1f}" y="{bottom + 16}">{ratio:g}×</text>')
        ratio *= 2
    out += [f'<line class="one" x1="{x_of(1, most):.1f}" x2="{x_of(1, most):.1f}" y1="{TOP - 4}" y2="{bottom}"/>',
            f'<text class="faint" x="10" y="{bottom + 42}">{escape(notes)}</text>', "</svg>"]
    return "\n".join(out) + "\n"


def main():
    notes, rows = read(os.path.join(ROOT, "tests", "gpu", "sweep_h200.csv"))
    date = re.search(r"\d{4}-\d\d-\d\d", notes)[0]
    compiler = re.search(r"NVIDIA's compiler ([\d.]+)", notes)[1]
    driver = re.search(r"driver ([\d.]+)", notes)[1]
    families = ratios_of(rows)
    count = sum(map(len, families.values()))
    picture = draw("Speed beside NVIDIA's compiler, the same bytecode",
                   f"{count} kernels of tests/gpu/perf on one H200, driver {driver}, tileiras {compiler}, {date}", families)
    with open(os.path.join(sys.argv[1], "speed.svg"), "w") as f:
        f.write(picture)


if __name__ == "__main__":
    main()
