#!/usr/bin/env python3
"""Checks kernels of the zoo (tests/gpu/perf/zoo.py) without a GPU.

    zoo_check.py BUILD CASES [--jobs N] [--limits FILE [--update]] [--only RE] [--run-on LIST] [--loads] [--beside TILEIRAS] [--verbose]

Each kernel must be valid, must compile for every target, and compiled, must compute on the PTX simulator what the virtual machine
computes, with small sizes. Then it is asked of each load in a loop whether it is ahead of the iteration that takes it; reasons why
not are counted. BUILD has tilevm, loads_told and fakecuda. --loads: loads are counted alone. --beside: ptxas assembles the kernels, and those
that spill registers where the ones of NVIDIA's compiler do not are counted, too (CUDA_HOME, as for tools/perf_build.py).

--limits: a file of lines `SHARE REASON` (tools/loads_kinds.py), loads of a thousand in loops, of kernels for spills; what the
kernel means has no limit, and reasons that the file does not have may not occur. More than the share, and more than chance
would give, is a failure. Loads that neither the meaning nor a budget keeps behind are told, too, and have a limit together.
--update: writes the shares that were found, where they are less. Ends with `zoo: N passed, N failed`.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "gpu", "perf"))
import loads_kinds  # noqa: E402
import perf_build  # noqa: E402
import zoo_small  # noqa: E402

TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
TIMEOUT_S = 120
SPILLS = "registers are spilled where those of NVIDIA's compiler are not"
NEITHER = "neither what the kernel means nor a budget keeps it behind"
PTXAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "fakecuda", "ptxas.sh")


def bounds(job):
    """The machine and the simulator round products alike, and sum in another order. What a chain adds up without a softmax grows
    with the root of how much that is."""
    f, lengths = job["formula"], {a["name"]: a["small"].get("value") for a in job["arguments"]}
    grows = math.sqrt(lengths["T"] or 1) if f["work"] == "chain" and f["between"] != "softmax" and "T" in lengths else 1
    return ["--rtol", str(job["tolerance"]), "--atol", "%g" % (job["tolerance"] * 3 * grows)]


class Checker:
    def __init__(self, options, jobs):
        self.options, self.jobs = options, jobs
        self.tilevm = os.path.join(options.build, "tilevm")
        self.fake = os.path.abspath(os.path.join(options.build, "fakecuda"))

    def command(self, *words, env=None):
        """(exit code, output and errors)"""
        try:
            p = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, env=env)
        except subprocess.TimeoutExpired:
            return 1, "takes longer than %d s" % TIMEOUT_S
        return p.returncode, p.stdout + p.stderr

    def compile(self, kernel, target, folder):
        """What is wrong; None: nothing."""
        out = os.path.join(folder, "%s.%s.ptx" % (kernel["name"], target))
        code, text = self.command(self.tilevm, "compile", self.path(kernel), "-t", target, "-o", out)
        if os.path.exists(out):
            os.unlink(out)
        return None if code == 0 else "for %s: %s" % (target, text.strip()[:300])

    def path(self, kernel):
        return os.path.join(self.options.cases, kernel["name"] + ".tbc")

    def simulate(self, kernel, target, folder):
        job = self.jobs[kernel["job"]]
        env = dict(os.environ, LD_LIBRARY_PATH=self.fake, TILEVM_PTXAS=PTXAS, FAKECUDA_RUN="1", FAKECUDA_DEVICES=target[3:].rstrip("a"),
                   TILEVM_CACHE_DIR=folder, HOME=folder, NO_COLOR="1")
        code, text = self.command(self.tilevm, "run", self.path(kernel), "--grid", ",".join(map(str, job["grids"][0])), "--device", "cuda",
                                  "--against", "cpu", "--quiet", "--threads", "1", *bounds(job), *zoo_small.arguments(job), env=env)
        return None if code == 0 else "on %s: %s" % (target, text.strip()[:600])

    def spills(self, kernel, folder):
        """Does the kernel have a stack where that of the other compiler has none?"""
        compilers = {"ours": self.tilevm, "tileiras": self.options.beside}
        entries = perf_build.build(perf_build.Tools(None, "sm_90a"), compilers, self.path(kernel), folder, kernel)
        if "failed" in entries["ours"]:
            raise perf_build.Failure("ptxas: " + entries["ours"]["failed"])
        return entries["ours"]["stack"] > 0 and entries["tileiras"].get("stack") == 0

    def check(self, kernel, number):
        """(what is wrong, why loads stay, how many there are)"""
        wrong = []
        with tempfile.TemporaryDirectory() as folder:
            for target in TARGETS[1:2] if self.options.loads else TARGETS:
                why = self.compile(kernel, target, folder)
                wrong += [why] if why else []
            lines, why = loads_kinds.listed(self.options.build, self.path(kernel))
            wrong += [why] if why else []
            behind = [how for _, how in lines if how != loads_kinds.AHEAD]
            runs = self.options.run_on.split(",")
            why = None if wrong or self.options.loads else self.simulate(kernel, runs[number % len(runs)], folder)
            wrong += [why] if why else []
            try:
                behind += [SPILLS] if self.options.beside and self.spills(kernel, folder) else []
            except perf_build.Failure as e:
                wrong.append(str(e))
        return wrong, behind, len(lines)


class Limits(loads_kinds.Kinds):
    """Which share of loads may stay for which reason."""

    CHANCE = 4      # standard deviations
    FEW = 3         # of one reason, in any run

    def exceeded(self, counts, loads, kernels):
        """A line for each reason that is beyond its limit."""
        for reason, count in counts.items():
            share = self.shares.get(reason, 0.0)
            usual = (share or 0.0) * (kernels if reason == SPILLS else loads) / 1000
            few = 0 if reason == NEITHER else self.FEW
            if share is not None and count > usual + self.CHANCE * math.sqrt(usual) + few:
                yield "%d are beyond the limit of %.1f in a thousand, which is %.1f here: %s" % (count, share, usual, reason)

    def update(self, path, counts, loads, kernels):
        with open(path) as f:
            comments = [line for line in f if line.startswith(("#", "="))]
        found = {r: 1000 * counts[r] / max(1, kernels if r == SPILLS else loads) for r in {*self.shares, *counts}}
        less = {r: s if s is None or r == SPILLS and not counts[r] else min(found[r], s) for r, s in self.shares.items()}
        with open(path + ".new", "w") as f:
            f.writelines(comments)
            for r, s in sorted(less.items(), key=lambda i: (i[1] is not None, -(i[1] or 0), i[0])):
                f.write("%s %s\n" % ("-" if s is None else "%.1f" % s, r))
        os.replace(path + ".new", path)


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("build")
    p.add_argument("cases")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--limits")
    p.add_argument("--update", action="store_true")
    p.add_argument("--only", default="")
    p.add_argument("--run-on", default="sm_90a,sm_90a,sm_80")
    p.add_argument("--loads", action="store_true")
    p.add_argument("--beside", metavar="TILEIRAS")
    p.add_argument("--verbose", action="store_true")
    return p.parse_args()


class Tally:
    def __init__(self):
        self.passed = self.failed = self.loads = 0
        self.reasons, self.where = collections.Counter(), collections.defaultdict(list)

    def take(self, name, wrong, behind, loads):
        self.failed += bool(wrong)
        self.passed += not wrong
        self.loads += loads
        for text in wrong:
            print("%s %s" % (name, text), flush=True)
        for reason in map(loads_kinds.short, behind):
            self.reasons[reason] += 1
            self.where[reason].append(name)

    def say(self, verbose):
        for reason, count in self.reasons.most_common():
            print("%5d  %s%s" % (count, reason, "\n         " + " ".join(dict.fromkeys(self.where[reason])) if verbose else ""))
        print("%d of %d loads in loops are ahead" % (self.loads - sum(n for r, n in self.reasons.items() if r != SPILLS), self.loads))

    def judge(self, path, update):
        limits, counts, kinds = Limits(path), collections.Counter(), collections.Counter()
        for reason, count in self.reasons.items():
            counts[limits.part(reason)] += count
            if reason != SPILLS:
                kinds[limits.of(reason)] += count
        counts[NEITHER] = kinds["neither"]
        print(limits.line(kinds))
        kernels = self.passed + self.failed
        if update:
            limits.update(path, counts, self.loads, kernels)
        for line in limits.exceeded(counts, self.loads, kernels):
            self.failed += 1
            print(line)


def main():
    options = parse()
    with open(os.path.join(options.cases, "cases.json")) as f:
        cases = json.load(f)
    checker, tally = Checker(options, cases["jobs"]), Tally()
    chosen = [k for k in cases["kernels"] if re.search(options.only, k["name"])]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = [(k, pool.submit(checker.check, k, i)) for i, k in enumerate(chosen)]
        for kernel, done in waiting:
            tally.take(kernel["name"], *done.result())
    tally.say(options.verbose)
    if options.limits:
        tally.judge(options.limits, options.update)
    print("zoo: %d passed, %d failed" % (tally.passed, tally.failed))
    return tally.failed != 0


if __name__ == "__main__":
    sys.exit(main())
