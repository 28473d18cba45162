#!/usr/bin/env python3
"""The kernels of several compilers on a GPU, in one run: compares what they compute and how long they take.

    perf_run.py FOLDER [--filter RE] [--repeat N] [--seconds S] [--csv FILE] [--compilers LIST] [--dry]

FOLDER is what tools/perf_build.py made. Needs the driver and Python with torch. Inputs are random and the same for all; results
are compared with tests/gpu/perf/expected.py. Times are medians by CUDA events, 256 MB of other memory written before each launch,
the compilers in turn, with pauses as long as the work, so that the clock is that of a rested GPU. The kernels share the seconds
evenly, at least 3 launches each. A wrong result is marked by "!" and counts for no mean. A kernel that faults or hangs costs its
own figure only: a new process goes on after it. Ratios say how much faster the last compiler of the list is; torch at the same
work (tests/gpu/perf/peers.py) is shown per job. --dry: only reads the folder, without GPU or torch.
"""
import argparse
import csv
import ctypes
import importlib.util
import json
import lzma
import math
import multiprocessing
import os
import queue
import re
import statistics
import sys
import time

FLUSH_BYTES = 256 << 20
BURST_US = 5000         # launches that follow each other without a pause, if they are short
MOST_IN_BURST = 5
LEAST_REPEATS = 3
PEER_REPEATS = 9
START_S, HANG_S = 120, 40   # most time from one message of the worker to the next
MAX_DYNAMIC_SHARED = 8      # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class Constant:
    """A number that is compiled in: no parameter of the launch, but what is expected depends on it."""

    def __init__(self, value):
        self.value = value


SCALARS = {"f32": ctypes.c_float, "i32": ctypes.c_int32, "constant": Constant}


def parse(seconds=360, **more):
    """more: options that take a value, with what help says about them."""
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder")
    p.add_argument("--filter", default="", help="kernels whose name this matches")
    p.add_argument("--compilers", help="names with commas between, the one that ratios are about last (default: all, the newest last)")
    p.add_argument("--repeat", type=int, default=20, help="most launches of each")
    p.add_argument("--seconds", type=float, default=seconds)
    p.add_argument("--csv", help="write the figures here, too")
    p.add_argument("--dry", action="store_true")
    for name, text in more.items():
        p.add_argument("--" + name, help=text)
    return p.parse_args()


def read_manifest(options):
    with open(os.path.join(options.folder, "manifest.json")) as f:
        manifest = json.load(f)
    kernels = [k for k in manifest["kernels"] if re.search(options.filter, k["name"])]
    order = {job: i for i, job in enumerate(manifest["jobs"])}
    kernels.sort(key=lambda k: order[k["job"]])     # those of a job share its inputs
    return manifest["jobs"], kernels, options.compilers.split(",") if options.compilers else manifest["compilers"]


def image(folder, cubin):
    with lzma.open(os.path.join(folder, cubin["file"])) as f:
        return f.read()


# The worker: a process of its own with the GPU

class Driver:
    """Cubins by the driver, in torch's context and on its stream."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")

    def call(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code != 0:
            text = ctypes.c_char_p()
            if hasattr(self.lib, "cuGetErrorName"):
                self.lib.cuGetErrorName(code, ctypes.byref(text))
            raise RuntimeError("%s: %s (%d)" % (name, (text.value or b"error").decode(), code))

    def load(self, image, entry, dynamic):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), image)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        if dynamic:
            self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, dynamic)
        return module, function

    def unload(self, module):
        self.call("cuModuleUnload", module)

    def launch(self, function, grid, block, dynamic, stream, params):
        self.call("cuLaunchKernel", function, *grid, *block, dynamic, ctypes.c_void_p(stream), params, None)


class Launch:
    """A loaded kernel with its arguments. Arrays are a pointer, extents, strides; lists of arrays a table of those, and its length."""

    def __init__(self, driver, torch, folder, kernel, cubin, values):
        self.driver, self.grid, self.dynamic = driver, kernel["grid"], cubin["dynamic"]
        self.stream = torch.cuda.current_stream().cuda_stream
        self.module, self.function = driver.load(image(folder, cubin), kernel["symbol"], self.dynamic)
        self.tables = []
        self.words = [word for value in values for word in self.pack_any(torch, value)]
        self.params = (ctypes.c_void_p * len(self.words))(*map(ctypes.addressof, self.words))
        self.blocks = [(1, 1, 1), *([cubin["threads"]] if cubin["threads"] else [])]

    def pack_any(self, torch, value):
        if not isinstance(value, Listed):
            return self.pack(value)
        self.tables.append(torch.tensor([[item.data_ptr(), *item.shape, *item.stride()] for item in value.array],
                                        dtype=torch.int64, device="cuda"))
        return [ctypes.c_uint64(self.tables[-1].data_ptr()), ctypes.c_int32(len(value.array))]

    @staticmethod
    def pack(value):
        if isinstance(value, Constant):
            return []
        if isinstance(value, tuple(SCALARS.values())):
            return [value]
        return [ctypes.c_uint64(value.data_ptr()), *map(ctypes.c_int32, (*value.shape, *value.stride()))]

    def first(self):
        """Finds the block that the driver takes: 1, 1, 1 since version 580, before that what the kernel was compiled for."""
        for block in self.blocks:
            try:
                self.driver.launch(self.function, self.grid, block, self.dynamic, self.stream, self.params)
            except RuntimeError:
                if block is self.blocks[-1]:
                    raise
            else:
                self.block = block
                return

    def __call__(self):
        self.driver.launch(self.function, self.grid, self.block, self.dynamic, self.stream, self.params)


class Listed:
    """An array that is given as the list of what its first dimension counts."""

    def __init__(self, array):
        self.array = array


def torch_type(torch, name):
    return getattr(torch, {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f8e4m3fn": "float8_e4m3fn", "i32": "int32",
                           "u8": "uint8", "f64": "float64"}[name])


def comparable(torch, value):
    """An array as what is expected is computed with: f64 as it is, all else as f32."""
    return value if value.dtype == torch.float64 else value.float()


def random_array(torch, a):
    """As `init` says: see tests/gpu/perf/case.py."""
    dtype, (kind, *limit) = torch_type(torch, a["dtype"]), a["init"].split()
    if kind == "below":
        return torch.randint(int(limit[0]), a["shape"], device="cuda").to(dtype)
    if kind == "fill":
        return torch.full(a["shape"], float(limit[0]), device="cuda").to(dtype)
    if kind == "these":
        return torch.tensor([int(n) for n in limit], device="cuda").reshape(a["shape"]).to(dtype)
    return (torch.randn(a["shape"], device="cuda") * float(limit[0] if limit else 1)).to(dtype)


class Inputs:
    """The arguments of a job in memory, and what its outputs must be."""

    def __init__(self, torch, reference, recipe):
        self.torch, self.reference, self.recipe, self.values = torch, reference, recipe, []
        torch.manual_seed(1)
        for a in recipe["arguments"]:
            self.values.append(random_array(torch, a) if "shape" in a else SCALARS[a["dtype"]](a["value"]))
        named = {a["name"]: v for a, v in zip(recipe["arguments"], self.values)}
        for i, a in enumerate(recipe["arguments"]):
            if a.get("listed"):
                self.values[i] = Listed(self.values[i])
        self.outputs = {a["name"]: named[a["name"]] for a in recipe["arguments"] if a.get("role", "in") != "in"}
        self.before = {name: value.clone() for name, value in self.outputs.items()}
        self.named = {name: v.value if isinstance(v, tuple(SCALARS.values())) else v for name, v in named.items()}
        plain = {name: comparable(torch, v) if isinstance(v, torch.Tensor) else v for name, v in self.named.items()}
        torch.backends.cuda.matmul.allow_tf32 = False
        self.expected = getattr(reference, recipe["expected"])(torch, **plain)

    def reset(self):
        for name, value in self.outputs.items():
            value.copy_(self.before[name])

    def wrong(self):
        """What is wrong with the results, or None."""
        for name, want in self.expected.items():
            error = self.reference.error(self.torch, comparable(self.torch, self.outputs[name]), want)
            if not error <= self.recipe["tolerance"]:
                return "WRONG: %s off by %.3g" % (name, error)
        return None


def module(name):
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "gpu", "perf", name + ".py")
    spec = importlib.util.spec_from_file_location(name, place)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class Bench:
    """What is measured, and how; others override where inputs, launches and figures of peers come from."""

    launch_type = Launch

    def __init__(self, options, jobs, say):
        import torch
        self.torch, self.options, self.jobs, self.say = torch, options, jobs, say
        self.reference, self.peers = module("expected"), module("peers")
        self.flush = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
        self.driver, self.job, self.inputs = Driver(), None, None
        say("device", torch.cuda.get_device_name())

    def prepare(self, job):
        if self.job == job:
            return
        self.job, self.inputs = job, None
        self.torch.cuda.empty_cache()
        self.say("job", job)
        self.inputs = self.make_inputs(self.jobs[job])
        self.torch.cuda.synchronize()
        self.time_peer(job)

    def make_inputs(self, recipe):
        return Inputs(self.torch, self.reference, recipe)

    def make_peer(self, job):
        """torch at the same work, where it has it."""
        make = getattr(self.peers, self.jobs[job]["expected"], None)
        return make and make(self.torch, **self.inputs.named)

    def time_peer(self, job):
        """The fastest of the implementations that torch has."""
        try:
            peers = self.make_peer(job)
        except RuntimeError as e:
            return self.say("no peer", job, str(e).splitlines()[0])
        times = [self.time_one_peer(job, peer) for peer in (peers if isinstance(peers, list) else [peers]) if peer]
        times = [time for time in times if time]
        if times:
            self.say("peer", job, min(times))

    def time_one_peer(self, job, peer):
        try:
            self.burst(peer, 2)
            return statistics.median(sample for _ in range(PEER_REPEATS) for sample in self.burst(peer, 1))
        except RuntimeError as e:
            self.say("no peer", job, str(e).splitlines()[0])

    def check(self, kernel, compiler):
        """Loads a kernel and runs it once; None if that fails. Wrong results are told, and the kernel is timed."""
        self.say("try", kernel["name"], compiler)
        cubin = kernel["cubins"][compiler]
        if "failed" in cubin:
            return self.say("failed", kernel["name"], compiler, "not compiled: " + cubin["failed"])
        try:
            launch = self.launch_type(self.driver, self.torch, self.options.folder, kernel, cubin, self.inputs.values)
            self.inputs.reset()
            launch.first()
            self.torch.cuda.synchronize()
        except Exception as e:
            self.say("failed", kernel["name"], compiler, str(e).splitlines()[0])
            return self.driver.call("cuCtxSynchronize")     # raises after a fault, which no later launch survives
        wrong = self.inputs.wrong()
        if wrong:
            self.say("failed", kernel["name"], compiler, wrong)
        return launch

    def burst(self, launch, count):
        """Microseconds of some launches that follow each other; then a pause as long."""
        began = time.monotonic()
        events = [[self.torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
        for start, end in events:
            self.flush.fill_(count)
            start.record()
            launch()
            end.record()
        self.torch.cuda.synchronize()
        time.sleep(0.002 + time.monotonic() - began)
        return [start.elapsed_time(end) * 1e3 for start, end in events]

    def measure(self, kernel, compilers, seconds):
        self.prepare(kernel["job"])
        deadline = time.monotonic() + seconds
        launches = {c: self.check(kernel, c) for c in compilers if c in kernel["cubins"]}
        launches = {c: launch for c, launch in launches.items() if launch}
        samples = {}
        for c, launch in launches.items():
            self.say("try", kernel["name"], c)
            samples[c] = self.burst(launch, 1)
        count = {c: max(1, min(MOST_IN_BURST, int(BURST_US / samples[c][0]))) for c in launches}
        while any(len(samples[c]) < LEAST_REPEATS for c in launches) or time.monotonic() < deadline:
            short = [c for c in launches if len(samples[c]) < self.options.repeat]
            if not short:
                break
            for c in short:
                samples[c] += self.burst(launches[c], count[c])
        for c, launch in launches.items():
            self.driver.unload(launch.module)
            self.say("time", kernel["name"], c, statistics.median(samples[c][1:] or samples[c]))


def measure_all(bench_type, options, jobs, kernels, compilers, deadline, messages):
    bench = bench_type(options, jobs, lambda *message: messages.put(message))
    for i, kernel in enumerate(kernels):
        seconds = (deadline - time.monotonic()) / (len(kernels) - i)
        if seconds <= 0:
            break
        bench.measure(kernel, compilers, seconds)
        messages.put(("done", kernel["name"]))


def work(*args):
    try:
        measure_all(*args)
    except RuntimeError as e:   # torch's and the driver's
        sys.exit("worker: " + str(e).splitlines()[0])


# The parent: starts workers, gathers figures, prints

class Figures:
    def __init__(self, jobs, kernels, compilers):
        self.jobs, self.kernels, self.compilers = jobs, {k["name"]: k for k in kernels}, compilers
        self.us, self.failed, self.peers = {}, {}, {}

    def rate(self, job, us):
        job = self.jobs[job]
        return "%.1f TFLOP/s" % (job["flops"] / us / 1e6) if job["flops"] else "%.2f TB/s" % (job["bytes"] / us / 1e6)

    def good(self, kernel, compiler):
        """Microseconds of a kernel that computes what it should."""
        return None if (kernel, compiler) in self.failed else self.us.get((kernel, compiler))

    def ratio(self, kernel, other):
        mine, theirs = self.good(kernel, self.compilers[-1]), self.good(kernel, other)
        return theirs / mine if mine and theirs else None

    def row(self, kernel):
        cells = []
        for c in self.compilers:
            us, why = self.us.get((kernel, c)), self.failed.get((kernel, c), "")
            cells.append("%10.1f%s%15s" % (us, "!" if why else " ", self.rate(self.kernels[kernel]["job"], us)) if us else "%-26s" % why[:26])
        ratios = [self.ratio(kernel, c) for c in self.compilers[:-1]]
        return "%-36s %s %s" % (kernel, " ".join(cells), " ".join("%7s" % ("%.2f" % r if r else "") for r in ratios))

    def head(self):
        mine = self.compilers[-1]
        return "%-36s %s %s" % ("microseconds", " ".join("%10s %15s" % (c, "") for c in self.compilers),
                                " ".join("%7s" % ("%s/%s" % (c, mine)) for c in self.compilers[:-1]))

    def means(self):
        """Geometric means of the ratios, by job and of all; and of the best kernels of the jobs."""
        lines = []
        for job in [*dict.fromkeys(k["job"] for k in self.kernels.values()), None]:
            names = [n for n, k in self.kernels.items() if job in (None, k["job"])]
            cells = []
            for c in self.compilers[:-1]:
                ratios = [r for r in (self.ratio(n, c) for n in names) if r]
                mean = math.exp(statistics.fmean(map(math.log, ratios))) if ratios else math.nan
                cells.append("%s/%s %.3f (%d kernels)" % (c, self.compilers[-1], mean, len(ratios)))
            lines.append("%-16s %s" % (job or "all", "   ".join(cells)))
            if job:
                lines.append("%-16s best: %s" % ("", "   ".join([*(self.best(names, c) for c in self.compilers), self.peer(job)])))
        return lines

    def lines(self):
        return ["", self.head(), *map(self.row, self.kernels), "", *self.means()]

    def best(self, names, compiler):
        times = [(self.good(n, compiler), n) for n in names if self.good(n, compiler)]
        if not times:
            return "%s none" % compiler
        us, name = min(times)
        return "%s %s, %s" % (compiler, self.rate(self.kernels[name]["job"], us), name)

    def peer(self, job):
        return "torch " + self.rate(job, self.peers[job]) if job in self.peers else ""

    def write(self, path):
        with open(path, "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(["kernel", "job", "flops", "bytes"] + ["%s_us" % c for c in self.compilers] +
                         ["%s_failure" % c for c in self.compilers] + ["torch_us"])
            for name, k in self.kernels.items():
                job = self.jobs[k["job"]]
                us = ["%.2f" % self.us[name, c] if (name, c) in self.us else "" for c in self.compilers]
                out.writerow([name, k["job"], job["flops"], job["bytes"], *us, *(self.failed.get((name, c), "") for c in self.compilers),
                              "%.2f" % self.peers[k["job"]] if k["job"] in self.peers else ""])


class Runner:
    def __init__(self, options, jobs, kernels, compilers, bench_type=Bench, figures_type=Figures):
        self.bench_type, self.options, self.jobs, self.left, self.compilers = bench_type, options, jobs, list(kernels), compilers
        self.figures = figures_type(jobs, kernels, compilers)
        self.deadline = time.monotonic() + options.seconds
        self.trying = self.job = self.process = None
        self.total, self.bad_starts = len(kernels), 0

    def take(self, kind, *rest):
        if kind == "device":
            print(rest[0], flush=True)
        elif kind == "job":
            self.trying, self.job = None, rest[0]
        elif kind == "peer":
            self.figures.peers[rest[0]] = rest[1]
        elif kind == "no peer":
            print("%s by torch: %s" % rest, flush=True)
        elif kind == "try":
            self.trying = rest
        elif kind == "time":
            self.figures.us[rest[0], rest[1]] = rest[2]
        elif kind == "failed":
            self.figures.failed[rest[0], rest[1]] = rest[2]
            print("%s %s: %s" % rest, flush=True)
        elif kind == "done":
            self.left = [k for k in self.left if k["name"] != rest[0]]
            self.trying = None
            print("%3d/%d %4ds left  %s" % (self.total - len(self.left), self.total, self.deadline - time.monotonic(),
                                           self.figures.row(rest[0])), flush=True)

    def listen(self, messages):
        """Takes messages until the worker ends; gives why it did not do all."""
        heard = time.monotonic()
        while True:
            try:
                self.take(*messages.get(timeout=0.2))
                heard = time.monotonic()
            except queue.Empty:
                if not self.process.is_alive():
                    return "the process ended with %s" % self.process.exitcode
                if time.monotonic() - heard > (HANG_S if self.trying else START_S):
                    return "hangs"

    def blame(self, why):
        """The kernel that was tried when a worker stopped is not tried again, nor is a job that cannot be prepared."""
        if self.trying is None:
            print("worker: %s, preparing %s" % (why, self.job or "itself"), flush=True)
            self.bad_starts += self.job is None
            self.left = [k for k in self.left if k["job"] != self.job]
            return
        kernel, compiler = self.trying
        print("%s %s: %s" % (kernel, compiler, why), flush=True)
        self.figures.failed.setdefault((kernel, compiler), why)
        for k in self.left:
            if k["name"] == kernel:
                k["cubins"].pop(compiler, None)
        self.trying = None

    def run(self):
        context = multiprocessing.get_context("spawn")
        while self.left and self.bad_starts < 2 and time.monotonic() < self.deadline:
            messages, self.job = context.Queue(), None
            self.process = context.Process(target=work, daemon=True, args=(
                self.bench_type, self.options, self.jobs, self.left, self.compilers, self.deadline, messages))
            self.process.start()
            why = self.listen(messages)
            if self.process.is_alive():
                self.process.kill()
            self.process.join()
            if self.process.exitcode != 0:
                self.blame(why)

    def report(self):
        f = self.figures
        print("\n".join(f.lines()))
        if self.left:
            print("not done: " + " ".join(k["name"] for k in self.left))
        if self.options.csv:
            f.write(self.options.csv)


def dry(options, jobs, kernels, compilers):
    """Whether everything that a run needs is there."""
    bad = 0
    for k in kernels:
        for name in compilers:
            cubin = k["cubins"].get(name)
            if not cubin or "failed" in cubin:
                bad += 1
                print("%s %s: %s" % (k["name"], name, cubin["failed"] if cubin else "not there"))
            elif image(options.folder, cubin)[:4] != b"\x7fELF" or k["symbol"].encode() not in image(options.folder, cubin):
                bad += 1
                print("%s %s: %s is no cubin of it" % (k["name"], name, cubin["file"]))
    print("%d kernels of %d jobs by %s, %d bad" % (len(kernels), len({k["job"] for k in kernels}), ", ".join(compilers), bad))
    return bad != 0


def main():
    options = parse()
    jobs, kernels, compilers = read_manifest(options)
    if options.dry:
        return dry(options, jobs, kernels, compilers)
    runner = Runner(options, jobs, kernels, compilers)
    runner.run()
    runner.report()
    return bool(runner.left or runner.figures.failed)


if __name__ == "__main__":
    sys.exit(main())
