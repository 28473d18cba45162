#!/usr/bin/env python3
"""Composes kernels from independent axes, drawn by a seed, as text in Tile IR assembly: nobody selects them.

    zoo.py FOLDER --seed N [--count M] [--tilevm PATH] [--only RE] [--first I] [--small FOLDER]

Writes FOLDER/NAME.tir for each, and FOLDER/cases.json: jobs (arguments with small and large sizes, what is computed, bytes,
operations) and kernels (axes, grids). With --tilevm also FOLDER/NAME.tbc, in the lowest version of the format that can express
it. The same seed gives the same kernels on any machine: draws come from Python's own generator, seeded by a string.
"""
import argparse
import json
import math
import os
import random
import re
import subprocess
import sys

import zoo_rows
import zoo_small
import zoo_work
from zoo_memory import AFFINE, Kernel
from zoo_operand import UNSIGNED
from zoo_text import BITS, FLOATS, INTEGERS, Text

WORKS = dict(product=zoo_work.product, product_reduce=zoo_work.product_reduce, product_atomic=zoo_work.product_atomic, chain=zoo_work.chain,
             **zoo_rows.WORKS)
PRODUCTS = ("product", "product_reduce", "product_atomic")
ROWS = ("reduction", "scan", "three")

# Weights: about how often people write it.
WORK = dict(product=24, product_reduce=4, product_atomic=4, chain=14, map=22, reduction=11, column_sum=3, histogram=2, scan=5, three=11)
INDEX = dict(counter=34, secondary=12, reversed=5, strided=14, rotated=5, clamped=4, table=7, nested=7, **{"while": 8})
SOURCE = dict(partition=36, strided=6, gather=6, pointers=18, modulo=8, carried=26)
ALIGN = {"16": 64, "8": 5, "4": 5, "2": 4, "none": 15, "odd": 7}
COMPUTE = dict(f16=34, bf16=28, tf32=9, f32=6, f64=3, i8=7, f8E4M3FN=10, f8E5M2=3)
PLAIN = dict(f16=34, bf16=24, f32=26, f64=3, i32=6, i8=4, f8E4M3FN=3)
# What stands in memory, by what is computed with
RAW = dict(f16=dict(f16=64, i4=8, u4=5, i8=8, u8=4, f8E4M3FN=5, f8E5M2=2, f32=5), bf16=dict(bf16=64, i4=8, u4=4, i8=8, u8=3, f8E4M3FN=5, f32=10),
           tf32=dict(f32=85, bf16=8, f16=7), f32=dict(f32=85, f16=8, bf16=7), f64=dict(f64=90, f32=10), i8=dict(i8=85, i4=15),
           f8E4M3FN=dict(f8E4M3FN=92, f16=8), f8E5M2=dict(f8E5M2=95, f16=5))
LEAST_DEPTH = dict(f64=8, f32=8, tf32=8, i8=32, f8E4M3FN=32, f8E5M2=32)


class Draw:
    def __init__(self, seed, number):
        self.name = "zoo %d %d" % (seed, number)
        self.random = random.Random(self.name)

    def of(self, weights, numbers=None):
        """One of the keys, drawn by their weights."""
        left = (numbers or self.random).random() * sum(weights.values())
        for key, weight in weights.items():
            left -= weight
            if left < 0:
                return key
        return key

    def apart(self, axis, weights):
        """The same, with a separate draw, so that other axes do not depend on it."""
        return self.of(weights, random.Random("%s %s" % (self.name, axis)))

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def among(self, *values):
        return values[int(self.random.random() * len(values))]


def route(d, compute, plain):
    """plain: percent of operands that are used unchanged."""
    if d.chance(plain):
        return dict(raw=dict(tf32="f32").get(compute, compute), turned=d.chance(25), scale="none", guard="none")
    raw = d.of(RAW[compute])
    small = BITS.get(raw, 4) <= 8 and raw not in FLOATS
    may = compute in ("f16", "bf16", "tf32", "f32")
    return dict(raw=raw, turned=d.chance(25), scale=d.of(dict(none=30, row=30, deep=10, group=30) if small else dict(none=80, row=8, deep=6, group=6))
                if may else "none", guard=d.of(dict(none=70, mask=15, gate=15)) if may else "none")


def draw_products(d, a):
    a["compute"] = d.of(COMPUTE)
    a["route_a"], a["route_b"] = route(d, a["compute"], 70), route(d, a["compute"], 55)
    least = max(LEAST_DEPTH.get(a["compute"], 16), 16)
    large = 64 if a["compute"] in ("f64", "f32") else 256
    sides = {n: w for n, w in {16: 5, 32: 8, 64: 26, 128: 40, 256: 10}.items() if n <= large}
    m, n = d.of(sides), d.of(sides)
    if m * n > 128 * 256:
        n = 128
    k = d.of({w: p for w, p in {8: 3, 16: 8, 32: 28, 64: 42, 128: 14, 256: 3}.items() if w >= least})
    while (m + n) * k * BITS[a["compute"]] // 8 > 96 << 10:
        k //= 2
    a["tile"] = [m, n, max(k, least)]
    a["shape"] = d.of(dict(square=60, flat=14, deep=13, wide=13))
    if a["shape"] == "flat":
        a["tile"][0] = d.among(16, 32, 64)
    a["grid"] = d.of(dict(plane=45, line=20, grouped=35))
    a["epilogue"] = d.of(dict(none=55, bias=15, relu=10, scale=10, gelu=10))
    a["result"] = d.among(a["compute"] if a["compute"] in ("f16", "bf16") else "f32", "f32", "f16")
    if a["result"] == "f16" and {a[r]["raw"] for r in ("route_a", "route_b")} <= set(UNSIGNED):
        a["result"] = "f32"     # sums of numbers that are never negative may be beyond f16
    a["rank"] = d.of({2: 66, 3: 24, 4: 10})
    if a["work"] == "product_atomic":
        a["rank"] = 2


def draw_chain(d, a):
    a["compute"] = d.of(dict(f16=46, bf16=40, tf32=4, f8E4M3FN=5, f32=5))
    a["route_a"], a["route_b"] = route(d, a["compute"], 85), route(d, a["compute"], 65)
    a["route_a"]["guard"] = d.of(dict(none=55, mask=45))
    if a["route_b"]["scale"] == "group":
        a["route_b"]["scale"] = "deep"
    small = a["compute"] in ("f32", "tf32")
    a["tile"] = [d.of({16: 8, 32: 7, 64: 40, 128: 45}) if not small else 32, d.of({32: 12, 64: 50, 128: 38}) if not small else 32,
                 d.of({32: 8, 64: 42, 128: 42, 256: 8}) if not small else 64]
    a["between"] = d.of(dict(softmax=78, relu=10, linear=12))
    a["result"] = a["compute"] if a["compute"] in ("f16", "bf16") else "f32"
    if a["between"] != "softmax" and a["route_b"]["raw"] in UNSIGNED:
        a["result"] = "f32"     # sums of numbers that are never negative may be beyond f16
    a["rank"] = d.of({2: 15, 3: 35, 4: 50})
    if a["index"] == "clamped" and a["route_a"]["guard"] == "mask":
        a["index"] = "counter"


def draw_map(d, a):
    elem = a["compute"] = d.of(PLAIN)
    a["arithmetic"] = "f32" if elem.startswith("f8") else d.of({"f32": 70, elem: 30}) if elem in ("f16", "bf16") else elem if elem in FLOATS or elem == "i32" \
        else d.of(dict(i8=50, i32=50))
    a["elements"] = d.of({256: 5, 512: 10, 1024: 30, 2048: 22, 4096: 20, 8192: 10, 16384: 3})
    a["rank"] = d.of({1: 42, 2: 38, 3: 14, 4: 6})
    a["ops"] = d.of({1: 12, 2: 12, 4: 20, 8: 22, 14: 14, 20: 10, 30: 6, 40: 4})
    a["inputs"], a["outputs"] = d.of({1: 30, 2: 45, 3: 25}), d.of({1: 78, 2: 22})
    a["light"], a["broadcast"] = d.chance(45), d.chance(30)
    if not d.chance(45):
        a["index"] = "none"
    elif d.chance(30):
        a["index"] = "grid"
    a["route_a"] = dict(raw=elem, turned=False, scale="none", guard="none")


def draw_rows(d, a):
    raw = d.of(PLAIN) if a["work"] != "three" else d.of(dict(f16=40, bf16=34, f32=26))
    if raw == "i8" and d.chance(50) and a["work"] == "reduction":
        raw = "u8"
    a["route_a"] = dict(raw=raw, turned=False, scale="none", guard="none")
    a["compute"] = raw
    a["arithmetic"] = raw if raw in ("f64", "i32") else "i32" if raw in ("i8", "u8") else "f32"
    a["whole"] = d.chance(30)
    a["columns"] = d.of({1024: 25, 2048: 30, 4096: 25, 8192: 15, 16384: 5}) if a["whole"] else \
        d.of({64: 10, 128: 20, 256: 20, 512: 18, 1024: 16, 2048: 10, 4096: 6})
    a["rows"] = d.among(1, 1, 1, 2) if a["whole"] else d.of({1: 25, 2: 5, 4: 10, 8: 12, 16: 16, 32: 16, 64: 16})
    while a["rows"] * a["columns"] > 16384:
        a["rows"] //= 2
    a["few"] = d.chance(25)
    a["rank"] = d.of({2: 75, 3: 18, 4: 7})
    a["how"] = d.of(dict(sum=50, max=28, arg=22))
    a["prepare"] = d.of(dict(none=50, square=18, abs=10, exp=8, times=14))
    if a["arithmetic"] not in FLOATS:
        a["prepare"] = "none"
    a["partial"] = d.of(dict(tile=62, row=38))
    a["padding"] = d.apart("padding", dict(zero=55, neg_inf=45))
    a["norm"] = d.of(dict(softmax=34, logsoftmax=12, rms=28, layer=26))
    a["weights"] = d.chance(55)
    if a["work"] == "scan" and a["index"] in ("rotated", "clamped", "table"):
        a["index"] = "counter"
    if a["work"] == "three" and a["index"] == "clamped":
        a["index"] = "reversed"
    if a["work"] in ("column_sum", "histogram"):
        a["rank"], a["whole"] = 2, False
        a["rows"] = max(a["rows"], 8)
        a["columns"] = min(a["columns"], 512)


def draw_hints(d, work):
    hints = {}
    if d.chance(22):
        hints["occupancy"] = d.among(1, 2, 2, 3, 4)
    if d.chance(10) and work not in ("histogram", "column_sum"):
        hints["num_cta_in_cga"] = 2
    if d.chance(22):
        hints["num_worker_warps_per_cta"] = d.among(4, 8)
    if d.chance(8):
        hints["latency"] = d.among(2, 4, 8)
    return hints


def settle(d, a):
    """Resolves combinations of axes that are not allowed."""
    if a["source"] == "gather" and (a["rank"] != 2 or a["work"] in ("map", "histogram")):
        a["source"] = "partition"
    if a["source"] == "carried" and a["index"] not in AFFINE:
        a["source"] = "pointers"
    if a["index"] in ("none",) or a.get("whole"):
        a["source"] = dict(carried="pointers").get(a["source"], a["source"])
    if a["source"] == "modulo" and a["work"] not in (*PRODUCTS, "chain"):
        a["source"] = "pointers"
    if a["source"] == "strided" and a["work"] in ("chain",):
        a["source"] = "partition"
    if a.get("whole"):
        a["index"] = "none"


class Axes(dict):
    """The drawn axes, and those that affect the kernel: the others say nothing about it."""

    def __init__(self, drawn):
        super().__init__(drawn)
        self.used = {"work", "index", "compute", "arithmetic", "hints"}     # what it computes, or how it is compiled

    def __getitem__(self, key):
        self.used.add(key)
        return super().__getitem__(key)

    def get(self, key, otherwise=None):
        self.used.add(key)
        return super().get(key, otherwise)

    def meant(self):
        return {key: value for key, value in self.items() if key in self.used}


def axes_of(d):
    work = d.of(WORK)
    a = dict(work=work, index=d.of(INDEX), source=d.of(SOURCE), align=d.of(ALIGN), ragged=d.chance(30), masks="always" if d.chance(50) else "needed",
             offsets=d.among("added", "stepwise"), hints=draw_hints(d, work))
    views = a["source"] in ("partition", "strided", "gather")
    a["extents"] = d.of(dict(bounded=78, free=12, static=10) if views else dict(free=70, bounded=20, static=10))
    if work in PRODUCTS:
        draw_products(d, a)
    elif work == "chain":
        draw_chain(d, a)
    elif work == "map":
        draw_map(d, a)
    else:
        draw_rows(d, a)
    settle(d, a)
    return a


def type_bytes(dtype):
    return {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i32": 4}.get(dtype, 1)


def tolerance(axes):
    """The rounding errors of the types involved, relative to the largest number of a row."""
    types = [axes["compute"], axes.get("arithmetic"), *(axes[r]["raw"] for r in ("route_a", "route_b") if r in axes)]
    if all(t in INTEGERS or t in ("u8", "u4") for t in types if t):
        return 0
    loose = dict(f8E4M3FN=0.1, f8E5M2=0.2, bf16=0.03, f16=0.01, tf32=0.01, f64=1e-9)
    return max(loose.get(t, 1e-3) for t in types if t) if axes["compute"] != "f64" or "f32" not in types else 1e-3


def compose(seed, number):
    d = Draw(seed, number)
    axes = Axes(axes_of(d))
    text = Text()
    text.latency = axes["hints"].get("latency")
    text.hints = ", ".join("%s = %d" % pair for pair in axes["hints"].items() if pair[0] != "latency")
    kernel = Kernel(text, axes)
    WORKS[axes["work"]](kernel, d.random)
    name = "zoo%d_%03d_%s" % (seed, number, axes["work"])
    moved = sum(math.prod(a["large"]["shape"]) * type_bytes(a["dtype"]) for a in kernel.arguments if "shape" in a["large"])
    return name, text.whole(name), dict(expected="zoo", formula=kernel.formula, arguments=kernel.arguments, bytes=moved, flops=kernel.flops,
                                        grids=kernel.grids, tolerance=tolerance(dict(axes))), axes.meant()


def assemble(tilevm, path, out):
    done = subprocess.run([tilevm, "asm", path, "-o", out], capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder")
    p.add_argument("--seed", type=int, required=True)
    p.add_argument("--count", type=int, default=400)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--tilevm", help="assemble with it")
    p.add_argument("--only", default="", help="kernels whose name this matches")
    p.add_argument("--small", help="keep results of small launches in this folder")
    options = p.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    jobs, kernels, failed = {}, [], 0
    for number in range(options.first, options.first + options.count):
        name, text, job, axes = compose(options.seed, number)
        if not re.search(options.only, name):
            continue
        path = os.path.join(options.folder, name)
        with open(path + ".tir", "w") as f:
            f.write(text)
        why = assemble(options.tilevm, path + ".tir", path + ".tbc") if options.tilevm else None
        if why:
            print("%s: %s" % (name, why.strip()))
            failed += 1
        jobs[name] = job
        kernels.append(dict(name=name, symbol=name, job=name, grid=job["grids"][1], axes=axes))
    with open(os.path.join(options.folder, "cases.json"), "w") as f:
        json.dump(dict(seed=options.seed, jobs=jobs, kernels=kernels), f, indent=1)
    print("zoo: %d kernels of seed %d, %d that cannot be assembled" % (len(kernels), options.seed, failed))
    if options.small and not failed:
        print("zoo: results of %d small launches" % zoo_small.keep(options.tilevm, options.folder, options.small, 2))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
