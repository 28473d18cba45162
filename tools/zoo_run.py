#!/usr/bin/env python3
"""Kernels of the zoo on a GPU, by several compilers in one run: what they compute, how long they take, and which axes lose.

    zoo_run.py FOLDER [--filter RE] [--repeat N] [--seconds S] [--csv FILE] [--compilers LIST] [--dry]

FOLDER is what `make zoo-cubins` made: cubins, manifest.json, and of some kernels the arrays of a small launch on the virtual
machine. Needs the driver and Python with torch. Every compiler's results are compared with tests/gpu/perf/zoo_expected.py, and
with the machine's where those are there. Timing and what happens to a kernel that faults or hangs are as in tools/perf_run.py.
Prints the slowest kernels beside the first compiler of the list, medians for each value of each axis, and geometric means.
"""
import csv
import ctypes
import math
import os
import statistics
import sys

import perf_run

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "gpu", "perf"))
import zoo_expected  # noqa: E402

TORCH = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
         "i8": "int8", "u8": "uint8", "i32": "int32"}
DEVICE = "cuda"
LOSS, DEEP_LOSS = 0.95, 0.8
LEAST_OF_VALUE = 3      # kernels of an axis' value, to print a mean


def placed(torch, shape, strides, dtype):
    return torch.zeros(sum((n - 1) * s for n, s in zip(shape, strides)) + 1, dtype=dtype, device=DEVICE).as_strided(shape, strides)


def fill(torch, x, a):
    """Numbers as `init` says."""
    kind, *limits = a["init"].split()
    shape = tuple(x.shape)
    if a["role"] != "in" or kind == "zero":
        return
    if kind == "permutation":
        x.copy_(torch.randperm(shape[0], device=DEVICE))
    elif kind in ("below", "between", "bytes"):
        low, high = {"below": (0, *limits), "between": tuple(limits), "bytes": (-128, 128)}[kind]
        x.copy_(torch.randint(int(low), int(high), shape, device=DEVICE))
    elif kind == "positive":
        x.copy_(torch.rand(shape, device=DEVICE) + 0.5)
    else:
        x.copy_(torch.randn(shape, device=DEVICE, dtype=torch.float64 if x.dtype == torch.float64 else torch.float32).to(x.dtype))


class Inputs:
    """The arguments of a kernel in memory, and what its outputs must be. arrays: what stands in them, of a small launch."""

    def __init__(self, torch, recipe, axes, which, arrays=None):
        self.torch, self.recipe, self.values, self.named, self.outputs = torch, recipe, [], {}, {}
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.manual_seed(1)
        for a in recipe["arguments"]:
            given = a["large" if which else "small"]
            if "value" in given:
                self.values.append(ctypes.c_int32(given["value"]))
                continue
            x = placed(torch, given["shape"], given["strides"], getattr(torch, TORCH[a["dtype"]]))
            if a["role"] != "in":
                self.outputs[a["name"]] = x
            elif arrays is None:
                fill(torch, x, a)
            else:
                x.copy_(self.read(arrays, a, x))
            self.values.append(x)
            self.named[a["name"]] = x
        self.expected = zoo_expected.expected(torch, recipe, axes, self.named, 1) if arrays is None else {
            name: zoo_expected.observed(torch, recipe["formula"], self.named, name, self.read(arrays, self.argument(name), x))
            for name, x in self.outputs.items()}

    def argument(self, name):
        return next(a for a in self.recipe["arguments"] if a["name"] == name)

    def read(self, arrays, a, like):
        raw = arrays[a["name"]]
        flat = self.torch.frombuffer(bytearray(raw.tobytes()), dtype=like.dtype)
        return flat.reshape(raw.shape).to(like.device)

    def reset(self):
        for x in self.outputs.values():
            x.zero_()

    def wrong(self):
        for name, want in self.expected.items():
            got = zoo_expected.observed(self.torch, self.recipe["formula"], self.named, name, self.outputs[name])
            error = zoo_expected.error(self.torch, got, want)
            if not error <= self.recipe["tolerance"]:
                return "WRONG: %s off by %.3g" % (name, error)
        return None


class Launch(perf_run.Launch):
    """A pointer for each array, and numbers."""

    @staticmethod
    def pack(value):
        return [value if isinstance(value, ctypes.c_int32) else ctypes.c_uint64(value.data_ptr())]


# torch at the same work, where one call does it and operands are taken as they are

def peer_product(torch, f, axes, named):
    for o in (f["A"], f["B"]):
        plain = {"f32"} if axes["compute"] == "tf32" else {axes["compute"]}
        if o["raw"] not in plain or "mask" in o or "gate" in o or any(s in o for s in ("row_scale", "deep_scale", "group_scale")):
            return None
    if axes["compute"] not in ("f16", "bf16", "f32", "tf32", "f64") or "parts" in f or axes["index"] == "clamped":
        return None
    a, b = (zoo_expected.turn(named[o["array"]]) if o["turned"] else named[o["array"]] for o in (f["A"], f["B"]))

    def run():
        torch.backends.cuda.matmul.allow_tf32 = axes["compute"] == "tf32"
        torch.matmul(a, b)
        torch.backends.cuda.matmul.allow_tf32 = False
    return run


def peer_chain(torch, f, axes, named):
    k, v = f["K"], f["V"]
    if f["between"] != "softmax" or axes["index"] == "clamped" or axes["compute"] not in ("f16", "bf16", "f32") or \
            any(o["raw"] != axes["compute"] or "deep_scale" in o or "row_scale" in o or "gate" in o for o in (k, v)):
        return None
    q, keys, values = named["Q"], named["K"], named["V"]
    if q.dtype != keys.dtype or q.shape[-2] != keys.shape[-2 if k["turned"] else -1] and f["causal"]:
        return None
    keys = keys if k["turned"] else zoo_expected.turn(keys)
    four = [x.reshape((1,) * (4 - x.dim()) + tuple(x.shape)) for x in (q, keys, values)]
    return lambda: torch.nn.functional.scaled_dot_product_attention(*four, is_causal=f["causal"], scale=f["scale"])


def peer_three(torch, f, axes, named):
    x, w = named["X"], named.get("W")
    f_ = torch.nn.functional
    if f["how"] in ("softmax", "logsoftmax"):
        return None if w is not None else (lambda: (torch.softmax if f["how"] == "softmax" else torch.log_softmax)(x, -1))
    n = [x.shape[-1]]
    w = None if w is None else w.to(x.dtype)
    return (lambda: f_.layer_norm(x, n, w)) if f["how"] == "layer" else (lambda: f_.rms_norm(x, n, w))


def peer_reduction(torch, f, axes, named):
    x = named["X"]
    if f["prepare"] != "none" or axes["index"] == "clamped" or x.element_size() == 1:
        return None
    return {"sum": lambda: torch.sum(x, -1), "max": lambda: torch.amax(x, -1), "arg": lambda: torch.argmax(x, -1)}[f["how"]]


def peer_column_sum(torch, f, axes, named):
    x = named["X"]
    return None if axes["index"] == "clamped" or x.element_size() == 1 else lambda: torch.sum(x, 0)


def peer_scan(torch, f, axes, named):
    x = named["X"]
    return None if f["backwards"] or x.element_size() == 1 else lambda: torch.cumsum(x, -1)


PEERS = dict(product=peer_product, chain=peer_chain, three=peer_three, reduction=peer_reduction, column_sum=peer_column_sum, scan=peer_scan)


class Bench(perf_run.Bench):
    launch_type = Launch

    def make_inputs(self, recipe):
        return Inputs(self.torch, recipe, recipe["axes"], 1)

    def make_peer(self, job):
        recipe = self.jobs[job]
        make = PEERS.get(recipe["formula"]["work"])
        return make and make(self.torch, recipe["formula"], recipe["axes"], self.inputs.named)

    def check(self, kernel, compiler):
        launch = super().check(kernel, compiler)
        why = launch and self.small_wrong(kernel, compiler)
        if why:
            self.say("failed", kernel["name"], compiler, why)
        return launch

    def small_wrong(self, kernel, compiler):
        """What differs from the virtual machine's results of a small launch, where those are there."""
        path = os.path.join(self.options.folder, "small", kernel["name"] + ".npz")
        if not os.path.exists(path):
            return None
        import numpy
        recipe = self.jobs[kernel["job"]]
        inputs = Inputs(self.torch, recipe, recipe["axes"], 0, numpy.load(path))
        launch = Launch(self.driver, self.torch, self.options.folder, dict(kernel, grid=recipe["grids"][0]), kernel["cubins"][compiler],
                        inputs.values)
        launch.first()
        self.torch.cuda.synchronize()
        self.driver.unload(launch.module)
        why = inputs.wrong()
        return why and why + ", small, beside the virtual machine"


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def described(axes):
    """The axes of a kernel on a line."""
    words = []
    for key, value in axes.items():
        if key == "hints":
            words += ["%s=%s" % pair for pair in value.items()]
        elif isinstance(value, dict):
            route = [value["raw"], *(["turned"] if value["turned"] else []), *([value["scale"]] if value["scale"] != "none" else []),
                     *([value["guard"]] if value["guard"] != "none" else [])]
            words.append("%s=%s" % (key, "+".join(route)))
        elif isinstance(value, list):
            words.append("%s=%s" % (key, "x".join(map(str, value))))
        elif value is not False:
            words.append("%s=%s" % (key, value))
    return " ".join(words)


class Figures(perf_run.Figures):
    worst = 40

    def values_of(self, name):
        """(axis, value) pairs of a kernel; tiles and routes taken apart."""
        axes = self.kernels[name]["axes"]
        for key, value in axes.items():
            if key in ("route_a", "route_b"):
                for part, v in value.items():
                    yield "%s.%s" % (key, part), v
            elif key == "hints":
                for hint in ("occupancy", "num_cta_in_cga", "num_worker_warps_per_cta", "latency"):
                    yield hint, value.get(hint, "none")
            else:
                yield key, "x".join(map(str, value)) if isinstance(value, list) else value

    def torch_ratio(self, name):
        mine, peer = self.good(name, self.compilers[-1]), self.peers.get(self.kernels[name]["job"])
        return peer / mine if mine and peer else None

    def by_axis(self):
        groups = {}
        for name in self.kernels:
            ratio = self.ratio(name, self.compilers[0])
            for pair in self.values_of(name) if ratio else ():
                groups.setdefault(pair, []).append(ratio)
        lines = ["%-36s %5s %7s %7s %7s" % ("axis", "n", "median", "mean", "<%.2f" % LOSS)]
        for (axis, value), ratios in sorted(groups.items(), key=lambda g: (g[0][0], mean(g[1]))):
            if len(ratios) >= LEAST_OF_VALUE:
                lines.append("%-36s %5d %7.2f %7.2f %6.0f%%" % ("%s=%s" % (axis, value), len(ratios), statistics.median(ratios), mean(ratios),
                                                             100 * sum(r < LOSS for r in ratios) / len(ratios)))
        return lines

    def summary(self):
        lines = []
        for other in self.compilers[:-1]:
            ratios = [r for r in (self.ratio(n, other) for n in self.kernels) if r]
            if ratios:
                lines.append("%s/%s %.3f over %d kernels; below %.2f: %d (%.1f %%), below %.2f: %d; lowest %.2f" % (
                    other, self.compilers[-1], mean(ratios), len(ratios), LOSS, sum(r < LOSS for r in ratios),
                    100 * sum(r < LOSS for r in ratios) / len(ratios), DEEP_LOSS, sum(r < DEEP_LOSS for r in ratios), min(ratios)))
        ratios = [r for r in map(self.torch_ratio, self.kernels) if r]
        if ratios:
            lines.append("torch/%s %.3f over %d kernels" % (self.compilers[-1], mean(ratios), len(ratios)))
        for c in self.compilers:
            bad = [n for n, by in self.failed if by == c]
            lines.append("%s: %d failed%s" % (c, len(bad), ": " + " ".join(bad[:20]) if bad else ""))
        return lines

    def lines(self):
        other = self.compilers[0]
        ranked = sorted((r, n) for r, n in ((self.ratio(n, other), n) for n in self.kernels) if r)
        lines = [*self.by_axis(), "", self.head()]
        for _, name in ranked[:self.worst]:
            lines += [self.row(name), "      " + described(self.kernels[name]["axes"])]
        return [*lines, "", *self.summary()]

    def write(self, path):
        with open(path, "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(["kernel", "axes", "flops", "bytes", *("%s_us" % c for c in self.compilers),
                          *("%s_failure" % c for c in self.compilers), "torch_us"])
            for name, k in self.kernels.items():
                job = self.jobs[k["job"]]
                out.writerow([name, described(k["axes"]), job["flops"], job["bytes"],
                              *("%.2f" % self.us[name, c] if (name, c) in self.us else "" for c in self.compilers),
                              *(self.failed.get((name, c), "") for c in self.compilers),
                              "%.2f" % self.peers[k["job"]] if k["job"] in self.peers else ""])


def main():
    options = perf_run.parse(420)
    jobs, kernels, compilers = perf_run.read_manifest(options)
    for k in kernels:
        jobs[k["job"]]["axes"] = k["axes"]
    if options.dry:
        return perf_run.dry(options, jobs, kernels, compilers)
    whole = [k for k in kernels if all(c in k["cubins"] for c in compilers)]
    if len(whole) < len(kernels):
        print("%d kernels are left out: the folder has not all compilers' cubins of them" % (len(kernels) - len(whole)))
    runner = perf_run.Runner(options, jobs, whole, compilers, Bench, Figures)
    runner.run()
    runner.report()
    return bool(runner.left or runner.figures.failed)


if __name__ == "__main__":
    sys.exit(main())
