#!/usr/bin/env python3
"""What the code generator's cost model predicts beside what was measured.

    bench_model.py TILEVM CASES CSV [CASES CSV]... [--gpu GPU] [--column NAME] [--filter RE] [--half 0|1] [--worst N] [--check]

CASES is a folder with cases.json and bytecode: the unpacked tests/gpu/perf/cases.tar.xz or tiles.tar.xz, or what tests/gpu/perf/zoo.py makes of
a seed. CSV is what was measured: tests/gpu/sweep_h200.csv, or the file of `make bench-gpu-sweep` and `make bench-gpu-zoo`, whose
columns have the names of compilers (--column new_us).

Prints each kernel, predicted and measured; of each family of kernels the geometric mean of how far off the model is and the rank
correlation (Spearman's); the rows that are furthest off; and for each work of which there are several kernels, which differ by tiles
and hints, where the one that is really fastest stands in the model's order. --half: of the kernels only one half, by a hash of
their names, so that what figures were fitted to one half is tested by the other. --check: fails where a family's correlation is below the
floor, or the fastest kernels of too few works are among the model's first.
"""
import argparse
import concurrent.futures
import csv
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile

# Kernels that differ by tiles and hints only, and the correlation that the model keeps within them.
FLOORS = {"fmha": 0.9, "mm_f16": 0.85, "mm_tf32": 0.85, "bmm_e4m3": 0.85}
LEAST_OF_A_FAMILY = 3
# The fastest kernel of a work, or one as fast within what measurements differ by, is to be among the first of the model's order: a tenth of
# them, at least three; of so many works of a hundred.
FIRST_PART, FIRST_LEAST, AS_FAST, WORKS_FLOOR = 0.1, 3, 1.01, 95


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("tilevm")
    p.add_argument("tables", nargs="+", metavar="CASES CSV")
    p.add_argument("--gpu", default="h200", help="where it was measured")
    p.add_argument("--column", default="us", help="of the CSV")
    p.add_argument("--filter", default="", help="kernels whose name this matches")
    p.add_argument("--half", type=int, choices=(0, 1), help="only this half of the kernels")
    p.add_argument("--worst", type=int, default=10, help="how many of the worst rows are shown once more")
    p.add_argument("--target", default="sm_90a")
    p.add_argument("--check", action="store_true", help="fail where the model is worse than it has to be")
    options = p.parse_args()
    if len(options.tables) % 2:
        p.error("each folder of cases has a CSV behind it")
    return options


def half_of(name):
    return hashlib.sha256(name.encode()).digest()[0] & 1


def sweep_words(arguments):
    """Integers by position: behind the pointer of an array stand its sizes and strides."""
    position = 0
    for a in arguments:
        if "shape" in a:
            shape = a["shape"]
            numbers = shape + [math.prod(shape[d + 1:]) for d in range(len(shape))]
            yield from ("%d=%d" % (position + 1 + i, n) for i, n in enumerate(numbers))
            position += 1 + len(numbers)
        elif a["dtype"] != "constant":
            position += 1


def zoo_words(arguments):
    """Each argument is a parameter; those of the launch that is timed are the large ones."""
    for position, a in enumerate(arguments):
        value = a["large"].get("value")
        if isinstance(value, int):
            yield "%d=%d" % (position, value)


def arguments_of(job):
    arguments = job["arguments"]
    is_zoo = any("large" in a for a in arguments)
    return ",".join(zoo_words(arguments) if is_zoo else sweep_words(arguments))


def predict(options, folder_of_cases, kernel, job):
    """Microseconds, or None, and the bound."""
    words = arguments_of(job)
    with tempfile.TemporaryDirectory() as folder:
        command = [options.tilevm, "compile", os.path.join(folder_of_cases, kernel["name"] + ".tbc"), "-t", options.target, "--gpu", options.gpu,
                   "--remarks", "cost", "--grid", ",".join(map(str, kernel["grid"])), "-o", os.path.join(folder, "k.ptx")]
        done = subprocess.run(command + (["--arguments", words] if words else []), check=True, capture_output=True, text=True)
    told = re.search(r"cost/KernelCost\].*; ([0-9.]+) us, bound by (.+)", done.stderr)
    return (float(told[1]), told[2]) if told else (None, "?")


def ranks(numbers):
    """Equal ones share the mean of their ranks."""
    order = sorted(numbers)
    return [order.index(x) + (order.count(x) - 1) / 2 for x in numbers]


def correlation(a, b):
    """Spearman's: of the ranks."""
    a, b = ranks(a), ranks(b)
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    both = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b))
    size = math.sqrt(sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b))
    return both / size if size else 0.0


def family_of(kernel):
    """The work: of the sweep the job, of the zoo the kind."""
    return kernel.get("axes", {}).get("work") or kernel["job"]


def ratio(row):
    return row["predicted"] / row["measured"]


def far_off(row):
    return max(ratio(row), 1 / ratio(row))


def show_row(row):
    print("%-38s %10.1f %10.1f %6.2f  %s" % (row["name"], row["predicted"], row["measured"], ratio(row), row["bound"]))


def measure(options, folder, table):
    """Rows of the kernels of a folder, predicted where they can be, as they were measured."""
    with open(os.path.join(folder, "cases.json")) as f:
        cases = json.load(f)
    with open(table) as f:
        measured = {row["kernel"]: float(row[options.column]) for row in csv.DictReader(line for line in f if not line.startswith("#"))
                    if row.get(options.column)}
    kernels = [k for k in cases["kernels"] if k["name"] in measured and re.search(options.filter, k["name"])
               and options.half in (None, half_of(k["name"]))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda k: predict(options, folder, k, cases["jobs"][k["job"]]), kernels))
    return [{"name": k["name"], "family": family_of(k), "predicted": us, "measured": measured[k["name"]], "bound": bound}
            for k, (us, bound) in zip(kernels, found)]


def show_families(rows, check):
    """How many are too low."""
    families = {}
    for row in rows:
        families.setdefault(row["family"], []).append(row)
    shown = [(name, members) for name, members in sorted(families.items()) if len(members) >= LEAST_OF_A_FAMILY]
    alone = [row for members in families.values() if len(members) < LEAST_OF_A_FAMILY for row in members]
    bad = 0
    print("\n%-24s %8s %18s %8s %8s" % ("family", "kernels", "error, geom. mean", "worst", "ranks"))
    for name, members in shown + [("others", alone), ("all", rows)]:
        if len(members) < LEAST_OF_A_FAMILY:
            continue
        ranked = correlation([r["predicted"] for r in members], [r["measured"] for r in members])
        low = check and ranked < FLOORS.get(name, -1)
        bad += low
        error = math.exp(sum(math.log(far_off(r)) for r in members) / len(members))
        print("%-24s %8d %18.2f %8.2f %8.2f%s" % (name, len(members), error, max(map(far_off, members)), ranked, "  too low" if low else ""))
    return bad


def show_works(rows):
    """Of how many works the fastest kernel is among the model's first; how many have more kernels than those."""
    works, good, count = {}, 0, 0
    for row in rows:
        works.setdefault(row["family"], []).append(row)
    print("\n%-24s %8s %22s %16s" % ("work", "kernels", "fastest is in order at", "first's loss"))
    for name, members in sorted(works.items()):
        if len(members) <= FIRST_LEAST:
            continue
        order = sorted(members, key=lambda r: r["predicted"])
        best = min(r["measured"] for r in members)
        at = next(i for i, r in enumerate(order) if r["measured"] <= best * AS_FAST)
        first = max(FIRST_LEAST, math.ceil(FIRST_PART * len(members)))
        good += at < first
        count += 1
        print("%-24s %8d %15d of %d %16.2f" % (name, len(members), at + 1, first, order[0]["measured"] / best))
    print("the fastest is among the model's first in %d of %d works" % (good, count))
    return good, count


def main():
    options = parse()
    found = [row for at in range(0, len(options.tables), 2) for row in measure(options, *options.tables[at:at + 2])]
    rows, unknown = [r for r in found if r["predicted"]], [r for r in found if not r["predicted"]]
    print("%-38s %10s %10s %6s  %s" % ("kernel", "predicted", "measured", "ratio", "bound by"))
    for row in rows:
        show_row(row)
    if not rows:
        print("no kernel is predicted and measured")
        return 1
    if options.worst:
        print("\nfurthest off")
        for row in sorted(rows, key=far_off, reverse=True)[:options.worst]:
            show_row(row)
    bad = show_families(rows, options.check)
    # the zoo's kernels are of different works, each of which has one
    good, count = (0, 0) if rows[0]["name"].startswith("zoo") else show_works(rows)
    if unknown:
        print("%d not predicted, since iterations of a loop follow from data" % len(unknown))
    if options.check:
        few = count and 100 * good < WORKS_FLOOR * count
        print("model: %d passed, %d failed" % (len(FLOORS) + 1 - bad - few, bad + few))
        bad += few
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
