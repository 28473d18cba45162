#!/usr/bin/env python3
"""Checks kernels of the zoo (tests/gpu/perf/zoo.py) without a GPU.

    zoo_check.py BUILD CASES [--jobs N] [--limits FILE] [--only RE] [--run-on LIST] [--tools FOLDER] [--verbose]

Each kernel must be valid, must compile for every target, and compiled, must compute on the PTX simulator what the virtual machine
computes, with small sizes. Then it is asked of each load in a loop whether it is ahead of the iteration that takes it; reasons
why not are counted. --limits: a file of `COUNT-PER-THOUSAND REASON` lines; a reason beyond its limit is a failure, and so is one
that the file does not have. BUILD has tilevm and fakecuda. Ends with `zoo: N passed, N failed`.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "gpu", "perf"))
import zoo_small  # noqa: E402

TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
TIMEOUT_S = 120
PTXAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "fakecuda", "ptxas.sh")


def bounds(job):
    """The machine and the simulator round products alike, and sum in another order."""
    return ["--rtol", str(job["tolerance"]), "--atol", str(job["tolerance"] * 3)]


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

    def check(self, kernel, number):
        wrong, remarks = [], ""
        with tempfile.TemporaryDirectory() as folder:
            for target in TARGETS:
                why, text = self.compile(kernel, target, folder)
                wrong += [why] if why else []
                remarks += text if target == "sm_90a" else ""
            runs = self.options.run_on.split(",")
            why = None if wrong else self.simulate(kernel, runs[number % len(runs)], folder)
            wrong += [why] if why else []
        return wrong, behind(remarks)


def behind(remarks):
    """Reasons of loads in loops that are not ahead, one for each load."""
    reasons = {}
    for place, text in re.findall(r"^\S+?:(0x[0-9a-f]+): remark: \[missed loop/NotPipelined\] (load_\w+: .*)$", remarks, re.M):
        reasons[place] = text.split(": ", 1)[1]
    for place in re.findall(r"^\S+?:(0x[0-9a-f]+): remark: \[passed loop/LoadAhead\]", remarks, re.M):
        reasons.pop(place, None)
    return list(reasons.values())


def short(reason):
    """Without numbers, which differ."""
    return re.sub(r"\d+", "N", reason.replace("not loaded ahead: ", ""))


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("build")
    p.add_argument("cases")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--limits")
    p.add_argument("--only", default="")
    p.add_argument("--run-on", default="sm_90a,sm_90a,sm_80")
    p.add_argument("--verbose", action="store_true")
    return p.parse_args()


def main():
    options = parse()
    with open(os.path.join(options.cases, "cases.json")) as f:
        cases = json.load(f)
    checker, failed, passed = Checker(options, cases["jobs"]), 0, 0
    reasons, where = collections.Counter(), collections.defaultdict(list)
    chosen = [k for k in cases["kernels"] if re.search(options.only, k["name"])]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = [(k, pool.submit(checker.check, k, i)) for i, k in enumerate(chosen)]
        for kernel, done in waiting:
            wrong, why = done.result()
            failed += bool(wrong)
            passed += not wrong
            for text in wrong:
                print("%s %s" % (kernel["name"], text), flush=True)
            for reason in why:
                reasons[short(reason)] += 1
                where[short(reason)].append(kernel["name"])
    for reason, count in reasons.most_common():
        print("%5d  %s%s" % (count, reason, "\n         " + " ".join(dict.fromkeys(where[reason])) if options.verbose else ""))
    print("zoo: %d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
