"""Kernel times of functions of JAX on a GPU: compiled by XLA's own emitters, and through Tile IR by several tileiras.

    bench_jax.py FOLDER NAME=TILEIRAS ... [--functions RE] [--csv FILE] [--repeat N]

Each compiler has a process of its own, since XLA reads its flags once. The first, `xla`, uses XLA's own emitters, and its
results are those that the others are compared with. A time is the sum of the kernels of one call, as the profiler saw them.
Functions that XLA cannot express in Tile IR have no time there. The last NAME is the one that ratios are about. The limit
of a ratio is what it would be if the last compiler's kernels, those of products apart, read the arguments and wrote the
results at the highest rate that the run saw for arrays larger than L2. FOLDER is for results and needs about 6 GB. Needs jax
0.12 with its CUDA 13 plugin, numpy and a GPU.
"""

import argparse
import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from check_jax import FLAGS, compare

BYTES_BEYOND_L2 = 120e6   # L2 of an H100 or H200 has 50 MiB: of arrays this large, less than half is left from the call before
SIZES = {"rows": 8192, "columns": 2048, "side": 4096, "depth": 4096}


def environment(compiler, folder):
    """What a process of that compiler sees; compiler: a tileiras, or None for XLA's own emitters."""
    words = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", XLA_PYTHON_CLIENT_PREALLOCATE="false")
    if compiler:
        place = folder / "bin"
        place.mkdir(parents=True, exist_ok=True)
        link = place / "tileiras"
        link.unlink(missing_ok=True)
        link.symlink_to(Path(compiler).resolve())
        words.update(PATH=f"{place}:{os.environ['PATH']}", XLA_FLAGS=FLAGS)
    return words


def kernels_ns(folder):
    """The sum of the times of everything that ran on the GPU's streams."""
    from jax.profiler import ProfileData

    total = 0
    for path in folder.rglob("*.xplane.pb"):
        for plane in ProfileData.from_file(str(path)).planes:
            if "GPU" not in plane.name:
                continue
            for line in plane.lines:
                if line.name.startswith("Stream"):
                    total += sum(event.duration_ns for event in line.events)
    return total


def measure(call, arguments, repeat, folder):
    """Microseconds of kernels in one call."""
    import jax

    for _ in range(2):
        jax.block_until_ready(call(*arguments))
    shutil.rmtree(folder, ignore_errors=True)
    with jax.profiler.trace(str(folder)):
        for _ in range(repeat):
            out = call(*arguments)
        jax.block_until_ready(out)
    total = kernels_ns(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return total / repeat / 1e3


def worker(options, folder):
    """Runs the functions in this process and prints a JSON document for each."""
    import jax
    import numpy as np
    from functions import EXACT, functions

    results = Path(options.folder) / "results"
    results.mkdir(parents=True, exist_ok=True)
    for name, (function, arguments, loose) in functions(**SIZES, f32_product=EXACT).items():
        if not re.search(options.functions, name):
            continue
        found, started = {"name": name}, time.time()
        try:
            given = [jax.device_put(np.asarray(a)) for a in arguments()]
            call = jax.jit(function).lower(*given).compile()
            found["tile_ir"] = "__tensorir" in call.as_text()
            found["compile_s"] = round(time.time() - started, 2)
            got = [np.asarray(a) for a in jax.tree.leaves(call(*given))]
            for i, array in enumerate(got):
                path = results / f"{name}.{i}.npy"
                if options.worker == "xla":
                    np.save(path, array.view(np.uint8) if array.ndim else array)
                    continue
                want = np.load(path, mmap_mode="r")
                want = want.view(array.dtype) if array.ndim else want
                if why := compare(array[:512], want[:512], 8 * loose) if array.ndim else compare(array, want, 8 * loose):
                    found["wrong"] = why
            found["us"] = measure(call, given, options.repeat, folder / "trace")
            found["bytes"] = sum(a.nbytes for a in (*given, *got))
        except Exception as error:
            found["failed"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        print("RESULT " + json.dumps(found), flush=True)


def run(label, compiler, options):
    """By function: what the worker of that compiler found."""
    folder = Path(options.folder) / label
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, *sys.argv[1:], "--worker", label]
    found = {}
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment(compiler, folder))
        for line in process.stdout:
            if line.startswith("RESULT "):
                one = json.loads(line[7:])
                found[one["name"]] = one
    if process.wait() or not found:
        print(f"{label}: the process ended with {process.returncode}; see {folder / 'log'}")
    return found


def mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios)) if ratios else float("nan")


def highest_rate(found):
    """Bytes of arguments and results in a microsecond: the most of all functions and compilers, where L2 cannot help."""
    return max((one["bytes"] / one["us"] for of in found.values() for one in of.values()
                if one.get("us") and one["bytes"] >= BYTES_BEYOND_L2), default=math.inf)


def least_us(name, one, rate):
    """What memory alone would take; products have their own time, since arithmetic bounds them."""
    return one["us"] if "dot" in name else min(one["us"], one["bytes"] / rate)


def report(found, labels, options):
    """Prints a table and the ratios to the last compiler. Gives the number of wrong results."""
    last, wrong = labels[-1], 0
    print("%-22s" % "function" + "".join("%12s" % label for label in labels) + "   ratios to " + last)
    ratios, limits = {label: [] for label in labels[:-1]}, {label: [] for label in labels[:-1]}
    rate, rows = highest_rate(found), []
    for name in found["xla"]:
        at = {label: found[label].get(name, {}) for label in labels}
        us = {label: one.get("us") if label == "xla" or one.get("tile_ir") else None for label, one in at.items()}
        text = "%-22s" % name + "".join("%12s" % ("-" if us[label] is None else "%.1f" % us[label]) for label in labels)
        for label in labels[:-1]:
            if us[label] and us[last]:
                ratios[label].append(us[label] / us[last])
                limits[label].append(us[label] / least_us(name, at[last], rate))
                text += "  %s %.2f" % (label, ratios[label][-1])
        for label, one in at.items():
            for key in ("wrong", "failed"):
                if key in one:
                    text += f"  {label} {key}: {one[key]}"
            wrong += "wrong" in one
        print(text)
        rows.append([name, at[last].get("bytes", ""), *("" if us[label] is None else "%.2f" % us[label] for label in labels)])
    for label, values in ratios.items():
        if values:
            print(
                "%s / %s: geometric mean %.2f of %d, least %.2f, below 0.95: %d; at %.2f TB/s the mean would be %.2f"
                % (label, last, mean(values), len(values), min(values), sum(v < 0.95 for v in values), rate / 1e6,
                   mean(limits[label]))
            )
    if options.csv:
        with open(options.csv, "w", newline="") as f:
            csv.writer(f).writerows([["function", "bytes", *(label + "_us" for label in labels)], *rows])
    return wrong


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder")
    p.add_argument("compilers", nargs="+", metavar="NAME=TILEIRAS")
    p.add_argument("--functions", default="", help="those whose name this matches")
    p.add_argument("--csv", help="write the figures here, too")
    p.add_argument("--repeat", type=int, default=10, help="calls that are measured")
    p.add_argument("--worker", help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.worker:
        return worker(options, Path(options.folder) / options.worker)
    compilers = {"xla": None, **dict(word.split("=", 1) for word in options.compilers)}
    found = {label: run(label, compiler, options) for label, compiler in compilers.items()}
    wrong = report(found, list(compilers), options)
    shutil.rmtree(Path(options.folder) / "results", ignore_errors=True)
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
