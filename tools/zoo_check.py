#!/usr/bin/env python3
"""Checks kernels of the zoo (tests/gpu/perf/zoo.py) without a GPU.

    zoo_check.py BUILD CASES [--jobs N] [--limits FILE [--update]] [--only RE] [--run-on LIST] [--loads] [--beside TILEIRAS] [--verbose]

Each kernel must be valid, must compile for every target, and compiled, must compute on the PTX simulator what the virtual machine
computes, with small sizes. Then it is asked of each load in a loop whether it is ahead of the iteration that takes it; reasons why
not are counted. BUILD has tilevm and fakecuda. --loads: loads are counted alone. --beside: ptxas assembles the kernels, and those
that spill registers where the ones of NVIDIA's compiler do not are counted, too (CUDA_HOME, as for tools/perf_build.py).

--limits: a file of lines `SHARE REASON`, loads of a thousand in loops, of kernels for spills; `-` is the share of reasons that are
the kernel's own meaning, which have no limit, and 0 that of those which the file does not have. More than the share, and more than
chance would give, is a failure. Reasons behind `=` are budgets for registers, instructions or iterations.
Loads that have neither kind among their reasons are told, too, and have a limit together.
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
        """(what is wrong or None, remarks on loads of loops)"""
        out = os.path.join(folder, "%s.%s.ptx" % (kernel["name"], target))
        code, text = self.command(self.tilevm, "compile", self.path(kernel), "-t", target, "-o", out, "--remarks", "loop")
        if os.path.exists(out):
            os.unlink(out)
        return (None, text) if code == 0 else ("for %s: %s" % (target, text.strip()[:300]), "")

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
        wrong, remarks = [], ""
        with tempfile.TemporaryDirectory() as folder:
            for target in TARGETS[1:2] if self.options.loads else TARGETS:
                why, text = self.compile(kernel, target, folder)
                wrong += [why] if why else []
                remarks += text if target == "sm_90a" else ""
            runs = self.options.run_on.split(",")
            why = None if wrong or self.options.loads else self.simulate(kernel, runs[number % len(runs)], folder)
            wrong += [why] if why else []
            behind, loads = loads_of(remarks)
            try:
                behind += [SPILLS] if self.options.beside and self.spills(kernel, folder) else []
            except perf_build.Failure as e:
                wrong.append(str(e))
        return wrong, behind, loads


def loads_of(remarks):
    """(reasons of loads in loops that are not ahead, one for each load; how many loads there are)"""
    reasons = {}
    for place, text in re.findall(r"^\S+?:(0x[0-9a-f]+): remark: \[missed loop/NotPipelined\] (load_\w+: .*)$", remarks, re.M):
        reasons[place] = text.split(": ", 1)[1]
    ahead = set(re.findall(r"^\S+?:(0x[0-9a-f]+): remark: \[passed loop/LoadAhead\]", remarks, re.M))
    return [text for place, text in reasons.items() if place not in ahead], len(ahead | set(reasons))


def short(reason):
    """Without numbers, which differ."""
    return re.sub(r"\d+", "N", reason.replace("not loaded ahead: ", ""))


class Limits:
    """Which share of loads may stay for which reason: why not in a ring of shared memory, and why not in registers."""

    SEPARATOR = "; nor into registers: "
    CHANCE = 4      # standard deviations
    FEW = 3         # of one reason, in any run

    def __init__(self, path):
        self.shares, self.budgets = {}, set()
        with open(path) as f:
            for line in f:
                share, _, reason = line.strip().partition(" ")
                if share == "=":
                    self.budgets.add(reason)
                elif share and not share.startswith("#"):
                    self.shares[reason] = None if share == "-" else float(share)

    def part(self, reason):
        """What decides, of both: what is the kernel's meaning, else why it is not in a ring."""
        parts = reason.split(self.SEPARATOR)
        return next((p for p in parts if p in self.shares and self.shares[p] is None), parts[0])

    def keeps(self, reason):
        """Is any of its reasons the meaning, or else a budget?"""
        parts = reason.split(self.SEPARATOR)
        return "meaning" if any(self.shares.get(p, 0.0) is None for p in parts) else \
            "budget" if self.budgets.intersection(parts) else "neither"

    def exceeded(self, counts, loads, kernels):
        """A line for each reason that is beyond its limit."""
        for reason, count in counts.items():
            share = self.shares.get(reason, 0.0)
            usual = (share or 0.0) * (kernels if reason == SPILLS else loads) / 1000
            if share is not None and count > usual + self.CHANCE * math.sqrt(usual) + self.FEW:
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
        for reason in map(short, behind):
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
                kinds[limits.keeps(reason)] += count
        counts[NEITHER] = kinds["neither"]
        print("behind by what the kernel means: %d, by a budget for registers: %d, by neither: %d" %
              (kinds["meaning"], kinds["budget"], kinds["neither"]))
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
