#!/usr/bin/env python3
"""The table of performance goals: kernels of tests/gpu/perf/figures.py on a GPU, by several compilers in one run.

    figures_run.py FOLDER [--filter RE] [--repeat N] [--seconds S] [--csv FILE] [--json FILE] [--times FILE] [--dry]

FOLDER is what `make figures-cubins` made: cubins, manifest.json, cases.json with the rows. Needs the driver and Python with torch.
Timing, and what happens to a kernel that faults or hangs, are as in tools/perf_run.py; kernels whose data L2 shall hold are launched
several times in a row instead, without writing other memory between. Every result is compared with torch's. Prints a line for each
row: what is compared, how many pairs, our and the peer's microseconds (of the pair with the lowest ratio), the mean and the lowest
ratio, what is wanted, and whether that is reached. --times: prints the table of an earlier run's CSV, without GPU or torch. --dry:
whether everything that a run needs is there.
"""
import csv
import json
import math
import os
import statistics
import sys
import time

import perf_run
import zoo_run

OURS, REFERENCE, TORCH = "ours", "ref", "torch"
LEAST_OF_BUILDS = 0.97      # no kernel is to be slower than with an older build by more
CACHED_LAUNCHES = 10        # in a row, for one figure
AHEAD_CYCLES = 400000       # that the GPU waits, so that these launches are in its queue before the first begins


def table(folder):
    with open(os.path.join(folder, "cases.json")) as f:
        return json.load(f)["rows"]


def beside_builds(compilers, kernels):
    """A row for each other compiler: an older build of ours, beside every kernel."""
    known = (OURS, REFERENCE, *(c for c in compilers if c.startswith("triton")))
    return [dict(name="every kernel beside the build `%s`" % c, wanted=LEAST_OF_BUILDS, kind="ratio", per="each",
                 pairs=[[k["name"], k["name"], [c]] for k in kernels]) for c in compilers if c not in known]


def needed(rows):
    """The compilers whose code is timed, by kernel."""
    found = {}
    for row in rows:
        for ours, other, compilers in row["pairs"]:
            found.setdefault(ours, set()).add(OURS)
            if other:
                found.setdefault(other, set()).update(c for c in compilers if c != TORCH)
    return found


class TritonLaunch(perf_run.Launch):
    """A kernel with parameters of its own: names of arrays, numbers, and pointers to memory that it does not need."""

    def __init__(self, driver, torch, folder, kernel, cubin, named):
        self.driver, self.grid, self.dynamic, self.block = driver, cubin["grid"], cubin["dynamic"], cubin["threads"]
        self.stream = torch.cuda.current_stream().cuda_stream
        self.module, self.function = driver.load(perf_run.image(folder, cubin), cubin["symbol"], self.dynamic)
        self.words = [self.word(p, named) for p in cubin["params"]]
        self.params = (perf_run.ctypes.c_void_p * len(self.words))(*map(perf_run.ctypes.addressof, self.words))
        self.blocks = [self.block]

    @staticmethod
    def word(p, named):
        if isinstance(p, str):
            return perf_run.ctypes.c_uint64(named[p].data_ptr())
        return perf_run.ctypes.c_uint64(0) if p is None else (perf_run.ctypes.c_float if isinstance(p, float) else perf_run.ctypes.c_int32)(p)


class Bench(zoo_run.Bench):
    def is_composed(self):
        return "grids" in self.jobs[self.job]

    def launch_type(self, driver, torch, folder, kernel, cubin, values):
        if "params" in cubin:
            return TritonLaunch(driver, torch, folder, kernel, cubin, self.inputs.named)
        kind = zoo_run.Launch if self.is_composed() else perf_run.Launch
        return kind(driver, torch, folder, kernel, cubin, values)

    def make_inputs(self, recipe):
        return (zoo_run.Bench if self.is_composed() else perf_run.Bench).make_inputs(self, recipe)

    def make_peer(self, job):
        return (zoo_run.Bench if self.is_composed() else perf_run.Bench).make_peer(self, job)

    def time_peer(self, job):
        if job in self.options.beside_torch:
            super().time_peer(job)

    def measure(self, kernel, compilers, seconds):
        wanted = self.options.needed[kernel["name"]]
        super().measure(kernel, [c for c in compilers if c in wanted], seconds)

    def burst(self, launch, count):
        if not self.jobs[self.job].get("cached"):
            return super().burst(launch, count)
        began, times = time.monotonic(), []
        for _ in range(count):
            start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            launch()
            self.torch.cuda._sleep(AHEAD_CYCLES)
            start.record()
            for _ in range(CACHED_LAUNCHES):
                launch()
            end.record()
            self.torch.cuda.synchronize()
            times.append(start.elapsed_time(end) * 1e3 / CACHED_LAUNCHES)
        time.sleep(0.002 + time.monotonic() - began)
        return times


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None


class Result:
    """What a row came to. ours, theirs: microseconds of the lowest pair; value: what is compared with what is wanted."""

    def __init__(self, row, pairs=0, missing=(), ours=None, theirs=None, mean=None, value=None):
        self.row, self.pairs, self.missing, self.ours, self.theirs, self.mean, self.value = row, pairs, list(missing), ours, theirs, mean, value
        below = row["kind"] == "us"
        self.reached = None if value is None else value <= row["wanted"] if below else value >= row["wanted"]

    def word(self):
        if self.value is None:
            return "not measured"
        return ("reached" if self.reached else "NOT reached") + (", %d of %d" % (self.pairs, len(self.row["pairs"])) if self.missing else "")

    def line(self):
        def cell(x, form):
            return form % x if x is not None else "-"
        return "%-84s %3d %9s %9s %7s %8s %8s  %s" % (self.row["name"], self.pairs, cell(self.ours, "%.1f"), cell(self.theirs, "%.1f"),
                                                     cell(self.mean, "%.3f"), cell(self.value, "%.5g"), "%.4g" % self.row["wanted"], self.word())

    def plain(self):
        return dict(row=self.row["name"], kind=self.row["kind"], wanted=self.row["wanted"], value=self.value, mean=self.mean, ours_us=self.ours,
                    peer_us=self.theirs, pairs=self.pairs, reached=self.reached, missing=self.missing)


class Figures(perf_run.Figures):
    rows = []

    def time(self, kernel, compiler):
        if compiler == TORCH:
            return self.peers.get(self.kernels[kernel]["job"])
        return self.good(kernel, compiler)

    def rate_of(self, kernel):
        job, us = self.jobs[self.kernels[kernel]["job"]], self.good(kernel, OURS)
        return us and (job["flops"] or job["bytes"]) / us / 1e6

    def pairs_of(self, row):
        """(kernel, our time, the peer's best time), and the kernels that lack one of them."""
        found, missing = [], []
        for kernel, other, compilers in row["pairs"]:
            mine = self.good(kernel, OURS)
            times = [t for t in (self.time(other, c) for c in compilers) if t] if other else [mine]
            if mine and times and min(times):
                found.append((kernel, mine, min(times)))
            else:
                missing.append(kernel)
        return found, missing

    def result(self, row):
        found, missing = self.pairs_of(row)
        if not found:
            return Result(row, missing=missing)
        fastest, slowest = (pick(t for _, t, _ in found) for pick in (min, max))
        if row["kind"] == "us":
            return Result(row, len(found), missing, fastest, value=fastest)
        if row["kind"] == "rate":
            return Result(row, len(found), missing, fastest, value=max(self.rate_of(k) for k, _, _ in found))
        if row["kind"] == "tiles":
            return Result(row, len(found), missing, fastest, slowest, value=fastest / slowest if not missing else None)
        if row["per"] != "each":
            theirs = min(t for _, _, t in found)
            if row["per"] == "sum":
                fastest = self.sum_of_jobs(found)
            return Result(row, len(found), missing, fastest, theirs, value=theirs / fastest)
        lowest, ours, theirs = min((theirs / mine, mine, theirs) for _, mine, theirs in found)
        return Result(row, len(found), missing, ours, theirs, mean([t / m for _, m, t in found]), lowest)

    def sum_of_jobs(self, found):
        """Of the best time of each job."""
        best = {}
        for kernel, mine, _ in found:
            job = self.kernels[kernel]["job"]
            best[job] = min(mine, best.get(job, mine))
        return sum(best.values())

    def results(self):
        return [self.result(row) for row in self.rows]

    def lines(self):
        head = "%-84s %3s %9s %9s %7s %8s %8s" % ("row (microseconds of the lowest pair)", "n", "ours", "peer", "mean", "lowest", "wanted")
        wrong = ["%s %s: %s" % (*key, why) for key, why in self.failed.items()]
        return ["", perf_run.Figures.head(self), *map(self.row, self.kernels), "", *wrong, "", head, *(r.line() for r in self.results())]

    def write_json(self, path):
        with open(path, "w") as f:
            json.dump(dict(rows=[r.plain() for r in self.results()], failed=[[*key, why] for key, why in self.failed.items()]), f, indent=1)

    def read(self, path):
        """The times of an earlier run."""
        with open(path, newline="") as f:
            for line in csv.DictReader(f):
                name = line["kernel"]
                for c in self.compilers if name in self.kernels else ():
                    if line.get(c + "_us"):
                        self.us[name, c] = float(line[c + "_us"])
                    if line.get(c + "_failure"):
                        self.failed[name, c] = line[c + "_failure"]
                if line["torch_us"] and name in self.kernels:
                    self.peers[self.kernels[name]["job"]] = float(line["torch_us"])


def dry(options, kernels):
    """Whether the cubins that the rows need are there."""
    bad = count = 0
    for k in kernels:
        for c in sorted(options.needed[k["name"]]):
            cubin, count = k["cubins"].get(c), count + 1
            symbol = (cubin or {}).get("symbol", k["symbol"]).encode()
            why = "not there" if not cubin else cubin.get("failed")
            if not why:
                image = perf_run.image(options.folder, cubin)
                why = None if image[:4] == b"\x7fELF" and symbol in image else cubin["file"] + " is no cubin of it"
            if why:
                bad += 1
                print("%s %s: %s" % (k["name"], c, why))
    print("figures: %d rows, %d kernels, %d cubins, %d bad" % (len(Figures.rows), len(kernels), count, bad))
    return bad != 0


def main():
    options = perf_run.parse(150, json="write the rows here", times="print the table of this CSV")
    jobs, kernels, compilers = perf_run.read_manifest(options)
    Figures.rows = table(options.folder) + beside_builds(compilers, kernels)
    options.needed = needed(Figures.rows)
    kernels = [k for k in kernels if k["name"] in options.needed]
    others = {other for row in Figures.rows for _, other, compilers in row["pairs"] if TORCH in compilers}
    options.beside_torch = {k["job"] for k in kernels if k["name"] in others}
    compilers = [c for c in compilers if c != OURS] + [OURS]
    for k in kernels:
        if "axes" in k:
            jobs[k["job"]]["axes"] = k["axes"]
    if options.dry:
        return dry(options, kernels)
    if options.times:
        figures = Figures(jobs, kernels, compilers)
        figures.read(options.times)
        print("\n".join(figures.lines()))
        left = False
    else:
        runner = perf_run.Runner(options, jobs, kernels, compilers, Bench, Figures)
        runner.run()
        runner.report()
        figures, left = runner.figures, runner.left
    if options.json:
        figures.write_json(options.json)
    return bool(left or figures.failed)


if __name__ == "__main__":
    sys.exit(main())
