#!/usr/bin/env python3
"""Draws the folders of the sources and which part uses which: folders.py TABLE > FILE.svg (make docs).

TABLE is tools/folders.txt, to which make check-layers holds every include and call; so the picture shows what the code does. A box
is a part, with its folders in the order in which they build on each other. A line leads to what a part includes and calls, a dashed
one to what it calls through the public headers alone. What a part reaches through another one has no line of its own. The picture
follows the reader's preference for light or dark. The same table gives the same bytes.
"""
import re
import sys
from typing import NamedTuple
from xml.sax.saxutils import escape

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #1f2328 } .name { font-weight: 600; font-size: 14px } .faint { fill: #59636e }
  .part { fill: #f6f8fa; stroke: #d1d9e0 } .folder { fill: #ddf4ff; stroke: none } .use { stroke: #1f2328; stroke-width: 1.5; fill: none }
  .tip { fill: #1f2328 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .faint { fill: #9198a1 } .part { fill: #151b23; stroke: #3d444d } .folder { fill: #121d2f }
    .use { stroke: #f0f6fc } .tip { fill: #f0f6fc }
  }
"""
MARGIN, GAP, CHIP, TITLE = 10, 46, 22, 44
WIDTH = 860


class Part(NamedTuple):
    row: int
    left: int
    right: int
    says: str


# Where a part stands: its row from above, its sides, and what it is.
PARTS = {
    "tools": Part(0, 10, 850, "the commands tilevm and tileiras"),
    "vm": Part(1, 10, 230, "runs modules on the CPU"),
    "codegen": Part(1, 262, 568, "compiles modules to PTX"),
    "loader": Part(1, 610, 850, "loads and launches kernels"),
    "bytecode": Part(2, 10, 568, "modules: tables, reader, verifier, printer, parser, writer"),
    "bytecode/base": Part(3, 10, 690, "memory, texts, archives"),
    "container": Part(3, 720, 850, "reads programs"),
    "include/tilevm": Part(4, 10, 850, "the public headers"),
}


class Uses(NamedTuple):
    folders: dict[str, list[str]]
    included: dict[str, set[str]]
    called: dict[str, set[str]]     # through the public headers


def part_of(folder: str) -> str:
    for part in sorted(PARTS, key=len, reverse=True):
        if folder == part or folder.startswith(part + "/"):
            return part
    sys.exit(f"folders.py: there is no place for {folder}")


def read(path: str) -> Uses:
    uses = Uses({p: [] for p in PARTS}, {p: set() for p in PARTS}, {p: set() for p in PARTS})
    with open(path, encoding="utf-8") as table:
        rows = [line.split("#")[0].strip() for line in table]
    for row in filter(None, rows):
        folder, _, rest = row.partition(":")
        part = part_of(folder)
        uses.folders[part].append(folder)
        included, _, called = rest.partition("|")
        uses.included[part] |= {part_of(f) for f in included.split()} - {part}
        uses.called[part] |= {part_of(f) for f in called.split()} - {part}
    return uses


def reached(uses: Uses, part: str) -> set[str]:
    """What a part includes, at whatever distance."""
    found: set[str] = set()
    left = list(uses.included[part])
    while left:
        other = left.pop()
        if other not in found:
            found.add(other)
            left += uses.included[other]
    return found


def lines_of(uses: Uses) -> list[tuple[str, str, bool]]:
    """(from, to, dashed), without what is reached through another part."""
    lines = []
    for part in PARTS:
        near = {o for o in uses.included[part] if not any(o in reached(uses, other) for other in uses.included[part])}
        lines += [(part, other, False) for other in near]
        lines += [(part, other, True) for other in uses.called[part] - reached(uses, part)]
    return sorted(lines)


def chips(part: str, folders: list[str]) -> list[list[tuple[str, float]]]:
    """The folders of a part with their widths, in lines."""
    room = PARTS[part].right - PARTS[part].left - 2 * MARGIN
    rows: list[list[tuple[str, float]]] = [[]]
    for folder in folders:
        name = re.sub(rf"^{re.escape(part)}/(tilevm/)?", "", folder)
        if folder == part:
            continue
        width = 6.6 * len(name) + 14
        if rows[-1] and sum(w + 6 for _, w in rows[-1]) + width > room:
            rows.append([])
        rows[-1].append((name, width))
    return [row for row in rows if row]


def box(part: str, top: float, height: float, rows: list[list[tuple[str, float]]]) -> list[str]:
    place = PARTS[part]
    out = [f'<rect class="part" x="{place.left}" y="{top}" width="{place.right - place.left}" height="{height}" rx="6"/>',
           f'<text class="name" x="{place.left + MARGIN}" y="{top + 20}">{escape(part)}</text>',
           f'<text class="faint" x="{place.left + MARGIN}" y="{top + 37}">{escape(place.says)}</text>']
    for i, row in enumerate(rows):
        x, y = float(place.left + MARGIN), top + TITLE + i * (CHIP + 6)
        for name, width in row:
            out += [f'<rect class="folder" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{CHIP}" rx="4"/>',
                    f'<text text-anchor="middle" x="{x + width / 2:.1f}" y="{y + 15}">{escape(name)}</text>']
            x += width + 6
    return out


def line(a: str, b: str, dashed: bool, tops: list[float], heights: list[float]) -> str:
    one, two = PARTS[a], PARTS[b]
    style = ' stroke-dasharray="5 4"' if dashed else ""
    if one.row == two.row:
        y = tops[one.row] + 30
        x, end = (one.left, two.right) if one.left > two.right else (one.right, two.left)
        return f'<path class="use"{style} marker-end="url(#tip)" d="M {x} {y} H {end}"/>'
    low, high = max(one.left, two.left), min(one.right, two.right)
    x = end = (low + high) / 2
    if low > high:     # beside each other: from the near corner to the near corner
        x, end = (one.left + 20, two.right - 20) if one.left > two.right else (one.right - 20, two.left + 20)
    return (f'<path class="use"{style} marker-end="url(#tip)" d="M {x:.1f} {tops[one.row] + heights[one.row]} '
            f'L {end:.1f} {tops[two.row]}"/>')


def draw(uses: Uses) -> str:
    rows = {part: chips(part, uses.folders[part]) for part in PARTS}
    count = 1 + max(p.row for p in PARTS.values())
    heights = [float(max(TITLE + len(rows[p]) * (CHIP + 6) + 4 for p in PARTS if PARTS[p].row == r)) for r in range(count)]
    tops = [MARGIN + sum(heights[:r]) + GAP * r for r in range(count)]
    bottom = tops[-1] + heights[-1]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 30:g}" role="img">',
           "<title>The parts of tilevm and which uses which</title>", f"<style>{STYLE}</style>",
           '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"><path class="tip" d="M 0 0 L 8 4 L 0 8 z"/>'
           '</marker></defs>']
    for part, place in PARTS.items():
        out += box(part, tops[place.row], heights[place.row], rows[part])
    out += [line(a, b, dashed, tops, heights) for a, b, dashed in lines_of(uses)]
    out += [f'<text class="faint" x="{MARGIN}" y="{bottom + 20:g}">A line leads to what a part uses; a dashed one, to what it uses through '
            'the public headers alone.</text>', "</svg>"]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    sys.stdout.write(draw(read(sys.argv[1])))
