#!/usr/bin/env python3
"""Draws the charts of the documents from the figures in tests/gpu: charts.py FOLDER (make charts).

speed-light.svg, speed-dark.svg: how much faster kernels are than what NVIDIA's compiler makes of the same bytecode, and
than the same work by torch and its libraries, as geometric means of families and the range within each. The same figures
give the same bytes.
"""
import csv
import math
import os
import re
import statistics
import sys
from xml.sax.saxutils import escape

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
STYLE = ("text {{ font: 13px system-ui, sans-serif; fill: {text} }} .faint {{ fill: {faint}; font-size: 12px }} .compiler {{ fill: {green} }}\n"
         "  .libraries {{ fill: {blue} }} .range {{ stroke: {faint}; stroke-width: 1.5 }} .one {{ stroke: {red}; stroke-dasharray: 4 3 }}")
THEMES = {"light": {"text": "#1f2328", "faint": "#59636e", "green": "#1a7f37", "blue": "#0969da", "red": "#cf222e"},
          "dark": {"text": "#f0f6fc", "faint": "#9198a1", "green": "#3fb950", "blue": "#58a6ff", "red": "#f85149"}}
FAMILIES = [("attention", "^fmha|attention|decode|mla"), ("products", "^(mm|pmm|bmm|linear|gemm|conv|tall|splitk|split_k)"),
            ("normalisation", "norm"), ("everything else", "")]
# What kernels are compared with: the class of the bar, the column of its times, its name.
PEERS = [("compiler", "nvidia_us", "than by NVIDIA's compiler, the same bytecode"), ("libraries", "torch_us", "than torch and its libraries, the same work")]
LEFT, WIDTH, TOP, STEP, BAR = 150, 400, 82, 48, 15
LEAST = 0.25  # the axis begins there


def read(path):
    with open(path, newline="") as f:
        lines = f.read().splitlines()
    notes = " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))
    return notes, list(csv.DictReader(line for line in lines if not line.startswith("#")))


def ratios_of(rows, column):
    """By family: the peer's time over ours."""
    families = {name: [] for name, _ in FAMILIES}
    for row in rows:
        if row["us"] and row[column]:
            family = next(name for name, pattern in FAMILIES if re.search(pattern, row["kernel"]))
            families[family].append(float(row[column]) / float(row["us"]))
    return {name: ratios for name, ratios in families.items() if ratios}


def x_of(ratio, most):
    """A logarithmic axis from LEAST to `most`; what lies outside is drawn at its ends."""
    return LEFT + WIDTH * math.log(min(max(ratio, LEAST), most) / LEAST) / math.log(most / LEAST)


def draw_bar(kind, ratios, y, most):
    mean = statistics.geometric_mean(ratios)
    low, high, one = (x_of(r, most) for r in (min(ratios), max(ratios), 1))
    start, end = sorted((one, x_of(mean, most)))
    return [f'<rect class="{kind}" x="{start:.1f}" y="{y}" width="{end - start:.1f}" height="{BAR}" rx="2"/>',
            f'<line class="range" x1="{low:.1f}" x2="{high:.1f}" y1="{y + BAR / 2}" y2="{y + BAR / 2}"/>',
            f'<text x="{max(high, end) + 6:.1f}" y="{y + 12}">{mean:.2f}× <tspan class="faint">({len(ratios)})</tspan></text>']


def draw(title, notes, theme, peers):
    everything = [r for families in peers for ratios in families.values() for r in ratios]
    most = 2 ** math.ceil(math.log2(max(everything)))
    bottom = TOP + STEP * len(FAMILIES)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 {bottom + 58}" role="img">',
           f"<title>{escape(title)}</title>", f"<style>{STYLE.format(**THEMES[theme])}</style>",
           f'<text x="10" y="24" font-weight="600">{escape(title)}</text>',
           '<text x="10" y="43" class="faint">bar: geometric mean (number of kernels); line: slowest to fastest; logarithmic scale</text>']
    for (kind, _, name), x in zip(PEERS, (10, 290)):
        out += [f'<rect class="{kind}" x="{x}" y="53" width="12" height="12" rx="2"/>', f'<text class="faint" x="{x + 18}" y="63">{escape(name)}</text>']
    for i, (name, _) in enumerate(FAMILIES):
        y = TOP + STEP * i
        out.append(f'<text x="10" y="{y + 21}">{escape(name)}</text>')
        for k, (families, (kind, _, _)) in enumerate(zip(peers, PEERS)):
            if name in families:
                out += draw_bar(kind, families[name], y + k * (BAR + 3), most)
    ratio = LEAST
    while ratio <= most:
        x = x_of(ratio, most)
        out.append(f'<text class="faint" text-anchor="middle" x="{x:.1f}" y="{bottom + 12}">{ratio:g}×</text>')
        ratio *= 4
    out += [f'<line class="one" x1="{x_of(1, most):.1f}" x2="{x_of(1, most):.1f}" y1="{TOP - 6}" y2="{bottom}"/>',
            f'<text class="faint" x="10" y="{bottom + 42}">{escape(notes)}</text>', "</svg>"]
    return "\n".join(out) + "\n"


def main():
    notes, rows = read(os.path.join(ROOT, "tests", "gpu", "sweep_h200.csv"))
    date = re.search(r"\d{4}-\d\d-\d\d", notes)[0]
    compiler = re.search(r"NVIDIA's compiler ([\d.]+)", notes)[1]
    driver = re.search(r"driver ([\d.]+)", notes)[1]
    torch = re.search(r"torch ([\d.]*\d)", notes)[1]
    count = sum(1 for row in rows if row["us"])
    for theme in THEMES:
        picture = draw("How many times faster kernels are", f"{count} kernels of tests/gpu/perf on one H200, driver {driver}, "
                       f"tileiras {compiler}, torch {torch}, {date}", theme, [ratios_of(rows, column) for _, column, _ in PEERS])
        with open(os.path.join(sys.argv[1], f"speed-{theme}.svg"), "w") as f:
            f.write(picture)


if __name__ == "__main__":
    main()
