#!/usr/bin/env python3
"""The kernels of the table of performance goals, and what each row of it compares.

    figures.py FOLDER --tilevm PATH [--sweep FOLDER] [--only RE]

--sweep: the unpacked cases.tar.xz, of which some rows take kernels. The others are composed like those of the zoo, with axes that
are given instead of drawn. Writes FOLDER/NAME.tbc (of its own ones NAME.tir, too) and FOLDER/cases.json, in the form of zoo.py and
cases.py, with `rows`: name, what is wanted, and `pairs`: which kernel by our compiler beside which one by which compiler.
tools/figures_run.py measures them.
"""
import argparse
import json
import math
import os
import random
import re
import shutil
import sys

import figures_work
import own_counter
import zoo
from zoo_memory import Kernel
from zoo_rows import Program
from zoo_text import Text

WORKS = dict(zoo.WORKS, **figures_work.WORKS)
PLAIN = dict(raw="f16", turned=False, scale="none", guard="none")
PROMISED, BARE = dict(align="16", extents="bounded"), dict(align="none", extents="free")
DIVISIBLE = dict(align="16", extents="free")    # all that Triton promises
TRITON = ("triton4", "triton8")     # by the number of warps: the better one counts
US, RATE = "us", "rate"             # rows with a limit instead of a peer: microseconds, flop/s or bytes/s


class Row:
    """A line of the table. wanted: the least ratio of the peer's time to ours (per: `each` pair; the `best` kernels; the best ones of
    several jobs, the `sum` of which does the peer's work), or of the fastest kernel's time to the slowest's (kind: tiles); or a limit
    for the fastest kernel (kind: US, RATE)."""

    def __init__(self, name, wanted, pairs, kind="ratio", per="each"):
        self.name, self.wanted, self.pairs, self.kind, self.per = name, wanted, pairs, kind, per

    def plain(self, have):
        """With the pairs whose kernels are there."""
        pairs = [[ours, other, list(compilers)] for ours, other, compilers in self.pairs if ours in have and other in (None, *have)]
        return dict(name=self.name, wanted=self.wanted, kind=self.kind, per=self.per, pairs=pairs)


class Table:
    """Rows and kernels: composed ones as (work, axes), others as names of the sweep, or of rewritten ones of it."""

    def __init__(self):
        self.rows, self.composed, self.swept, self.own = [], {}, [], []

    def add(self, name, work, **axes):
        """A kernel to compose; gives its name."""
        self.composed[name] = (work, axes)
        return name

    def sweep(self, *names):
        self.swept += [n for n in names if n not in self.swept]
        return list(names)

    def row(self, *args, **more):
        self.rows.append(Row(*args, **more))

    def beside_theirs(self, name, wanted, kernels):
        self.row(name, wanted, [(k, k, ["ref"]) for k in kernels])


def route(raw="f16", **more):
    return dict(PLAIN, raw=raw, **more)


# Rows of the table, in its order

def carried_pointers(table):
    """Products, attention and split K through carried pointers, beside the same with views."""
    forms = dict(carried=dict(source="carried", **DIVISIBLE), views=dict(source="partition", **PROMISED))
    made = {form: [] for form in forms}
    products = [(t, c, turned) for t, c, turned in [
        ((128, 128, 64), "f16", False), ((128, 256, 64), "f16", False), ((256, 128, 64), "f16", False), ((64, 128, 64), "bf16", True),
        ((64, 64, 64), "bf16", False), ((128, 128, 32), "f16", True), ((128, 64, 128), "bf16", False)]]
    chains = [((128, 64, 128), "f16", True), ((128, 128, 128), "f16", False), ((128, 64, 64), "bf16", True), ((64, 64, 128), "f16", True),
              ((64, 64, 64), "bf16", False)]
    splits = [((128, 128, 64), "f16", False), ((64, 64, 64), "f16", False), ((64, 128, 64), "bf16", True)]
    for form, axes in forms.items():
        for work, cases in (("product", products), ("product_atomic", splits)):
            for tile, compute, turned in cases:
                more = dict(shape="deep", rank=2, grid="plane") if work == "product_atomic" else dict(grid="grouped")
                made[form].append(table.add("%s_%s_%s_%s" % (work, form, compute, "x".join(map(str, tile))) + ("_t" if turned else ""), work, tile=list(tile),
                                            compute=compute, route_a=route(compute), route_b=route(compute, turned=turned),
                                            result=compute, masks="always", **axes, **more))
        for tile, compute, causal in chains:
            made[form].append(table.add("attention_%s_%s_%s_%s" % (form, compute, "causal" if causal else "full", "x".join(map(str, tile))),
                                        "chain", tile=list(tile), compute=compute, route_a=route(compute, guard="mask" if causal else "none"),
                                        route_b=route(compute), rank=4, result=compute, **axes))
    table.beside_theirs("products, attention, split K through carried pointers, beside NVIDIA's", 0.95, made["carried"])
    table.row("the same, beside the same work with views", 1 / 1.15, [(c, v, ["ours"]) for c, v in zip(made["carried"], made["views"])])
    table.row("the same, beside Triton's own compiler", 1, [(c, c, TRITON) for c in made["carried"]])


OWN = ("fmha_f16_128x128_o1_w8", "fmha_64_full_128x128", "fmha_grouped_128x64", "decode_64")


def own_counters(table):
    """All others are compiled to the same PTX, too: make check-own-counters."""
    table.sweep(*OWN)
    table.own += OWN
    names = [own_name(n) for n in OWN]
    table.row("attention by a counter of its own, beside the loop's", 0.98, [(own, n, ["ours"]) for own, n in zip(names, OWN)])
    table.row("the same, beside NVIDIA's", 0.95, [(own, own, ["ref"]) for own in names])


def own_name(name):
    return name + "_own"


def of_the_sweep(table):
    """Rows whose kernels the sweep has."""
    table.beside_theirs("steps too large for two stages: latent decoding, 512 columns, 128 keys", 1.1, table.sweep("latent_decode_16x128"))
    pages = table.sweep(*("decode_pages_16x%d" % n for n in (16, 32, 64, 128)))
    for name in pages:
        table.row("keys and values by pages of %s, TB/s" % name.split("x")[1], 3.8, [(name, None, [])], kind=RATE)
    for rows, limit, tiles in (("16", 30, ("16x64x128", "16x128x128", "16x32x256")), ("32", 40, ("32x64x128",)),
                               ("4096", 1000, ("128x128x128", "128x128x64"))):
        table.row("weights of 4 bits, %s rows, microseconds" % rows, limit,
                  [(n, None, []) for n in table.sweep(*("mm_w4_%s_%s" % (rows, t) for t in tiles))], kind=US)
    lists = table.sweep("mm_lists_f16_128x128x64", "mm_lists_f16_128x256x64", "mm_lists_f16_64x128x64", "mm_lists_e4m3_128x128x128",
                        "mm_lists_e4m3_128x256x128")
    table.beside_theirs("groups of products by lists of arrays, beside NVIDIA's", 1.1, lists)
    for kind in ("f16", "e4m3"):
        table.row("groups of products in %s, the best tile beside torch" % kind, 0.9, [(n, n, ["torch"]) for n in lists if kind in n], per="best")
    table.row("f64 2048^3, TFLOP/s", 40, [(n, None, []) for n in table.sweep("mm_f64_128x64x16", "mm_f64_64x64x16")], kind=RATE)
    table.row("f32 3001x3003x3005, microseconds", 1450, [(n, None, []) for n in
                                                        table.sweep("mm_f32_odd_128x128x16", "mm_f32_odd_128x64x16", "mm_f32_odd_64x64x32")],
              kind=US)
    full = table.sweep("fmha_64_full_128x128", "fmha_full_128x64", "fmha_64_full_64x64")
    table.row("attention, 64 columns, full, 64 x 4096, microseconds", 690, [(n, None, []) for n in full], kind=US)
    back = table.sweep("fmha_back_128_q_128x64", "fmha_back_128_q_128x128", "fmha_back_128_kv_64x64", "fmha_back_128_kv_64x128")
    table.row("attention backward, 128 columns, causal, 32 x 4096: the best of both parts, beside torch", 1.1,
              [(n, n, ["torch"]) for n in back], per="sum")
    latent = table.sweep("latent_decode_32x64", "latent_decode_64x64", "latent_decode_64x64_w8")
    grouped = table.sweep("fmha_grouped_128x128", "fmha_grouped_128x64", "fmha_grouped_64x64")
    for what, names in (("grouped attention", grouped), ("full attention", full), ("latent decoding", latent)):
        table.row("slowest tile against the best: " + what, 0.7, [(n, None, ["ours"]) for n in names], kind="tiles")


def rows_without_promises(table):
    """Arg-max, cross entropy, softmax and unpacking by raw pointers, with promises and without."""
    forms = dict(raw=BARE, promised=PROMISED)
    made = {form: [] for form in forms}
    loops = dict(whole=False, partial="tile", few=False)
    cases = []
    for elem in ("f16", "f32"):
        cases += [("arg_max_%s_4x512" % elem, "reduction", dict(loops, how="arg", rows=4, columns=512, route_a=route(elem))),
                  ("arg_max_%s_whole_4096" % elem, "reduction", dict(loops, how="arg", whole=True, rows=1, columns=4096, route_a=route(elem))),
                  ("cross_entropy_%s_1024" % elem, "cross_entropy", dict(loops, few=True, rows=1, columns=1024, route_a=route(elem))),
                  ("softmax_%s_1x1024" % elem, "three", dict(loops, norm="softmax", rows=1, columns=1024, route_a=route(elem))),
                  ("softmax_%s_whole_4096" % elem, "three", dict(loops, norm="softmax", whole=True, rows=1, columns=4096, route_a=route(elem)))]
    cases += [("unpack_%s_%dx%d" % (raw, m, n), "unpack", dict(rows=m, columns=n, route_a=route(raw, scale="row")))
              for raw, m, n in (("i4", 16, 256), ("u4", 4, 1024))]
    for form, promises in forms.items():
        for name, work, axes in cases:
            axes = dict(axes, prepare="none", padding="zero", weights=False, source="pointers", **promises)
            made[form].append(table.add("%s_%s" % (name, form), work, arithmetic="f32", compute=axes["route_a"]["raw"], **axes))
    table.beside_theirs("rows by raw pointers without promises, beside NVIDIA's", 1.2, made["raw"])
    table.row("the same, beside the kernel with promises", 0.95, [(r, p, ["ours"]) for r, p in zip(made["raw"], made["promised"])])


def rows_in_turn(table):
    made = [table.add("rows_in_turn_%s_%d_o%d" % (elem, columns, occupancy), "rows_in_turn", source="pointers", columns=columns,
                      compute=elem, arithmetic="f32", route_a=route(elem), hints=dict(occupancy=occupancy), **DIVISIBLE)
            for elem, columns, occupancy in (("f32", 4096, 4), ("f32", 8192, 2), ("f32", 16384, 1), ("f32", 16384, 2), ("f32", 16384, 4),
                                             ("f16", 8192, 4), ("bf16", 16384, 2))]
    table.beside_theirs("rows through pointers, whole in registers, taken in turn, with occupancy hints", 0.98, made)


def in_cache(table):
    """What L2 holds."""
    common = dict(source="pointers", arithmetic="f32", cached=True, **DIVISIBLE)
    made = [table.add("gated_%s_%d" % (elem, n), "gated", elements=n, compute=elem, route_a=route(elem), **common)
            for elem, n in (("f16", 1024), ("bf16", 2048), ("bf16", 4096))]
    made += [table.add("%s_norm_%s_%d" % (norm, elem, n), "three", norm=norm, weights=True, whole=True, rows=1, columns=n, few=False,
                       padding="zero", compute=elem, route_a=route(elem), bytes=figures_work.BYTES / 2, **common)
             for norm, elem, n in (("rms", "bf16", 4096), ("rms", "f16", 8192), ("layer", "bf16", 4096), ("layer", "f16", 2048))]
    made += [table.add("rotation_%s_%dx%d" % (elem, heads, 2 * half), "rotation", rows=heads, columns=half, compute=elem,
                       route_a=route(elem), **common) for elem, heads, half in (("bf16", 32, 64), ("f16", 8, 64), ("bf16", 16, 32))]
    table.beside_theirs("gated activations, norms, rotations through pointers on data that L2 holds", 1, made)


DEMANDING = {"log", "exp", "sqrt", "div"}


def program_seed(ops):
    """The first seed whose program of so many ops has each of the demanding ones."""
    return next(seed for seed in range(1000)
                if DEMANDING <= {op[0] for op in Program(random.Random("map %d" % seed), 3, ops, "f32", False).ops})


def maps(table):
    tiles = {16: 2048, 32: 4096, 64: 8192}      # by elements a thread, of four warps
    for elem, moved in (("f32", 256e6), ("f64", 1024e6)):      # bytes: of maps of f64, the zoo moves a fourth
        groups = [[table.add("map_%s_%dops_%d" % (elem, ops, n), "map", ops=ops, elements=tiles[n], compute=elem, arithmetic=elem,
                             route_a=route(elem), inputs=3, outputs=2, light=False, broadcast=False, rank=1, index="none", source="partition",
                             seed="map %d" % program_seed(ops), bytes=moved, **PROMISED) for n in tiles] for ops in (20, 30, 40)]
        table.beside_theirs("maps of 20 to 40 ops over 3 inputs and 2 outputs, 16 to 64 elements a thread, %s" % elem, 1, sum(groups, []))
        for ops, names in zip((20, 30, 40), groups):
            table.row("the same time for every tile: %d ops, %s" % (ops, elem), 0.95, [(n, None, ["ours"]) for n in names], kind="tiles")


PARTS = (carried_pointers, own_counters, of_the_sweep, rows_without_promises, rows_in_turn, in_cache, maps)


def table_of_figures():
    table = Table()
    for part in PARTS:
        part(table)
    return table


# Axes that all kernels have unless they say otherwise
USUAL = dict(index="counter", ragged=False, masks="needed", offsets="added", hints={}, shape="square", grid="plane", epilogue="none",
             rank=2, between="softmax", result="f32")


def compose(name, work, given):
    """The text and the job of a kernel."""
    seed = given.get("seed", name)
    axes = zoo.Axes({**USUAL, "work": work, **{key: v for key, v in given.items() if key not in ("seed", "cached")}})
    text = Text()
    text.hints = ", ".join("%s = %d" % pair for pair in axes["hints"].items())
    kernel = Kernel(text, axes)
    WORKS[work](kernel, random.Random(seed))
    moved = sum(math.prod(a["large"]["shape"]) * zoo.type_bytes(a["dtype"]) for a in kernel.arguments if "shape" in a["large"])
    return text.whole(name), dict(expected="zoo", formula=kernel.formula, arguments=kernel.arguments, bytes=moved, flops=kernel.flops,
                                  grids=kernel.grids, tolerance=zoo.tolerance(dict(axes)), cached=given.get("cached", False)), axes.meant()


def write_composed(folder, tilevm, name, work, axes):
    """(the job, the kernel); raises RuntimeError if it cannot be assembled."""
    text, job, meant = compose(name, work, axes)
    path = os.path.join(folder, name)
    with open(path + ".tir", "w") as f:
        f.write(text)
    why = zoo.assemble(tilevm, path + ".tir", path + ".tbc")
    if why is not None:
        raise RuntimeError("%s: %s" % (name, why.strip() or "is not assembled"))
    return job, dict(name=name, symbol=name, job=name, grid=job["grids"][1], axes=meant)


def write(table, folder, sweep, tilevm, only):
    """The kernels of a table that `only` matches, and cases.json."""
    there = dict(jobs={}, kernels=[])
    if sweep:
        with open(os.path.join(sweep, "cases.json")) as f:
            there = json.load(f)
    swept = {k["name"]: k for k in there["kernels"]}
    jobs, kernels = {}, []
    for name, (work, axes) in table.composed.items():
        if re.search(only, name):
            jobs[name], kernel = write_composed(folder, tilevm, name, work, axes)
            kernels.append(kernel)
    for name in table.swept if sweep else ():
        source, kernel = os.path.join(sweep, name + ".tbc"), swept[name]
        if re.search(only, name):
            shutil.copyfile(source, os.path.join(folder, name + ".tbc"))
            kernels.append(kernel)
        if name in table.own and re.search(only, own_name(name)):
            own_counter.rewrite(tilevm, source, os.path.join(folder, own_name(name) + ".tbc"))
            kernels.append(dict(kernel, name=own_name(name)))
    jobs.update((k["job"], there["jobs"][k["job"]]) for k in kernels if k["job"] not in jobs)
    have = {k["name"] for k in kernels}
    rows = [row.plain(have) for row in table.rows]
    rows = [row for row in rows if row["pairs"]]
    with open(os.path.join(folder, "cases.json"), "w") as f:
        json.dump(dict(jobs=jobs, kernels=kernels, rows=rows), f, indent=1)
    print("figures: %d rows, %d kernels" % (len(rows), len(kernels)))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder")
    p.add_argument("--tilevm", required=True)
    p.add_argument("--sweep")
    p.add_argument("--only", default="", help="kernels whose name this matches")
    options = p.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    write(table_of_figures(), options.folder, options.sweep, options.tilevm, options.only)


if __name__ == "__main__":
    sys.exit(main())
