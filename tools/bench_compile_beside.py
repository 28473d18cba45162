#!/usr/bin/env python3
"""How long compiling takes, beside an older build: processor time of whole processes, to PTX and through ptxas.

    bench_compile_beside.py TILEVM OLD CORPUS [--share N] [--rounds N] [--target sm_90a] [--limit RATIO] [--json FILE]

Both builds compile every Nth kernel of the corpus in version 13.5 (8 unless --share says so), in turn, some rounds of it; a time is
the least of the rounds, because others on the machine only add to it. The processor's time does not count when others run, but
shared caches and cores still slow it: what both builds take in the same round does so alike. ptxas is that of CUDA_HOME/bin or PATH;
PTX that both builds write alike is assembled once, and counts for both. A kernel that one of them refuses is left out.
"""
import argparse
import json
import math
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

FAILED = math.inf
SHOWN = 5       # kernels that take most more


def milliseconds(*words):
    """Of the processor, in a process and those that it waits for; FAILED if it does not end well."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) if done.returncode == 0 else FAILED


def text_of(path):
    """PTX without comments, or None."""
    if not os.path.exists(path):
        return None
    with open(path) as f:
        return re.sub(r"//.*", "", f.read())


class Kernel:
    """ptx, cubin: the least milliseconds of each build so far."""

    def __init__(self, path, builds):
        self.path, self.ptx, self.cubin = path, dict.fromkeys(builds, FAILED), dict.fromkeys(builds, FAILED)

    def round(self, builds, target, ptxas, folder):
        made, outs = {}, {name: os.path.join(folder, name + ".ptx") for name in builds}
        for name, build in builds.items():
            self.ptx[name] = min(self.ptx[name], milliseconds(build, "compile", self.path, "-t", target, "-o", outs[name]))
        for name in builds if ptxas else ():
            text = text_of(outs[name])
            if text is None:
                continue
            if text not in made:
                made[text] = milliseconds(ptxas, "-arch", target, "-O3", outs[name], "-o", os.path.join(folder, "cubin"))
            self.cubin[name] = min(self.cubin[name], made[text])

    def times(self, builds, whole):
        """By build: to PTX, or with ptxas."""
        return [self.ptx[b] + (self.cubin[b] if whole else 0) for b in builds]


def put(what, kernels, builds, whole, limit):
    """Prints a line; gives its figures."""
    pairs = {os.path.basename(k.path): k.times(builds, whole) for k in kernels}
    pairs = {name: t for name, t in pairs.items() if all(map(math.isfinite, t))}
    if not pairs:
        print("%-24s none" % what)
        return None
    new, old = ([t[i] for t in pairs.values()] for i in (0, 1))
    ratios = [a / b for a, b in pairs.values()]
    found = dict(what=what, kernels=len(pairs), median_ms=statistics.median(new), old_median_ms=statistics.median(old),
                 sum_ratio=sum(new) / sum(old), mean_ratio=math.exp(statistics.fmean(map(math.log, ratios))),
                 median_ratio=statistics.median(ratios), worst_ratio=max(ratios))
    aim = "  sum at most %g: %s" % (limit, "met" if found["sum_ratio"] <= limit else "MISSED") if limit else ""
    print("%-24s %4d kernels, median %.2f ms (old %.2f), ratio of sums %.3f, geometric mean %.3f, median %.3f, highest %.2f%s" % (
        what, len(pairs), found["median_ms"], found["old_median_ms"], found["sum_ratio"], found["mean_ratio"], found["median_ratio"],
        found["worst_ratio"], aim))
    for name in sorted(pairs, key=lambda n: pairs[n][1] - pairs[n][0])[:SHOWN]:
        print("    %-60s %8.1f ms, old %8.1f" % (name, *pairs[name]), flush=True)
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("tilevm")
    p.add_argument("old")
    p.add_argument("corpus")
    p.add_argument("--share", type=int, default=8)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--target", default="sm_90a")
    p.add_argument("--limit", type=float, default=1.15, help="of the sum with ptxas, new by old")
    p.add_argument("--json", help="write the figures here")
    options = p.parse_args()
    home = os.environ.get("CUDA_HOME")
    ptxas = shutil.which("ptxas", path=os.path.join(home, "bin") if home else None) or shutil.which("ptxas")
    folder = os.path.join(options.corpus, "bytecode", "13.5")
    builds = dict(new=options.tilevm, old=options.old)
    kernels = [Kernel(os.path.join(folder, f), builds) for f in sorted(os.listdir(folder)) if f.endswith(".tbc")][::options.share]
    with tempfile.TemporaryDirectory() as place:
        for _ in range(options.rounds):
            for k in kernels:
                k.round(builds, options.target, ptxas, place)
    found = [put("to PTX", kernels, builds, False, None)]
    if ptxas:
        found.append(put("to PTX, then ptxas", kernels, builds, True, options.limit))
    else:
        print("ptxas: skipped, there is none")
    if options.json:
        with open(options.json, "w") as f:
            json.dump(found, f, indent=1)
    return not all(found)


if __name__ == "__main__":
    sys.exit(main())
