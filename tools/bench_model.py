#!/usr/bin/env python3
"""What the code generator's cost model predicts beside what was measured.

    bench_model.py TILEVM CASES CSV [--filter RE] [--target sm_90a] [--check]

CASES is the unpacked folder of tests/gpu/perf/cases.tar.xz, CSV what a sweep measured (tests/gpu/sweep_h200.csv). Prints each kernel,
predicted and measured, and of each family of kernels the geometric mean of how far off the model is and the rank correlation
(Spearman's). --check: fails where a family's correlation is below the floor.
"""
import argparse
import concurrent.futures
import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile

# Kernels that differ by tiles and hints only, and the correlation that the model keeps within them.
FAMILIES = {"fmha_f16": 0.75, "mm_f16": 0.75, "pmm_f16": 0.75, "mm_tf32": 0.75, "bmm_e4m3": 0.75, "": 0.75}


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("tilevm")
    p.add_argument("cases")
    p.add_argument("csv")
    p.add_argument("--filter", default="", help="kernels whose name this matches")
    p.add_argument("--target", default="sm_90a")
    p.add_argument("--check", action="store_true", help="fail where the model is worse than it has to be")
    return p.parse_args()


def arguments_of(job):
    """Integers by position: behind the pointer of an array stand its sizes and strides."""
    position, words = 0, []
    for a in job["arguments"]:
        if "shape" in a:
            shape = a["shape"]
            numbers = shape + [math.prod(shape[d + 1:]) for d in range(len(shape))]
            words += ["%d=%d" % (position + 1 + i, n) for i, n in enumerate(numbers)]
            position += 1 + len(numbers)
        elif a["dtype"] != "constant":
            position += 1
    return ",".join(words)


def predict(options, kernel, job):
    """The remark KernelCost, as a dictionary of words."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([options.tilevm, "compile", os.path.join(options.cases, kernel["name"] + ".tbc"), "-t", options.target,
                               "--explain", "--json", "--grid", ",".join(map(str, kernel["grid"])), "--arguments", arguments_of(job),
                               "-o", os.path.join(folder, "k.ptx")], check=True, capture_output=True)
    return next(r["values"] for r in json.loads(done.stdout)["remarks"] if r["name"] == "KernelCost")


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


def family_of(name):
    return next((f for f in FAMILIES if f and re.match(f + r"_\d", name)), "")


def main():
    options = parse()
    with open(os.path.join(options.cases, "cases.json")) as f:
        cases = json.load(f)
    with open(options.csv) as f:
        measured = {row["kernel"]: float(row["us"]) for row in csv.DictReader(line for line in f if not line.startswith("#"))}
    kernels = [k for k in cases["kernels"] if k["name"] in measured and re.search(options.filter, k["name"])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda k: predict(options, k, cases["jobs"][k["job"]]), kernels))
    families, unknown = {}, 0
    print("%-38s %10s %10s %6s  %s" % ("kernel", "predicted", "measured", "ratio", "bound by"))
    for kernel, values in zip(kernels, found):
        us = measured[kernel["name"]]
        if "Microseconds" not in values:
            unknown += 1
            print("%-38s %10s %10.1f" % (kernel["name"], "?", us))
            continue
        predicted = float(values["Microseconds"])
        families.setdefault(family_of(kernel["name"]), []).append((predicted, us))
        print("%-38s %10.1f %10.1f %6.2f  %s" % (kernel["name"], predicted, us, predicted / us, values["Bound"]))
    bad = 0
    print("\n%-12s %8s %18s %18s %8s" % ("family", "kernels", "error, geom. mean", "worst", "ranks"))
    for name, pairs in [*sorted(families.items()), ("all", [p for pairs in families.values() for p in pairs])]:
        errors = [abs(math.log(p / m)) for p, m in pairs]
        ranked = correlation([p for p, _ in pairs], [m for _, m in pairs])
        low = options.check and len(pairs) > 2 and ranked < FAMILIES.get(name, FAMILIES[""])
        bad += low
        print("%-12s %8d %18.2f %18.2f %8.2f%s" % (name or "others", len(pairs), math.exp(sum(errors) / len(errors)), math.exp(max(errors)),
                                                    ranked, "  too low" if low else ""))
    if unknown:
        print("%d not predicted: iterations of a loop follow from data" % unknown)
    if options.check:
        print("model: %d passed, %d failed" % (len(families) + 1 - bad, bad))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
