"""Times on a GPU what tests/jax/collect_kernels.py has collected: functions of JAX by XLA's own emitters and through Tile IR.

    time_kernels.py FOLDER [--functions RE] [--csv FILE] [--repeat N] [--rounds N] [--tf32]

Each compiler is given the tile that is fastest with it, as by XLA's autotuner. A time is the sum of the kernels of one call, as
the profiler saw them: the median of the calls, and of the rounds, in which compilers take turns. Calls follow each other, so
small arrays are in L2. Results are compared with those of XLA's own emitters: where all arrays are of f32, so closely that a
product whose operands are rounded to tf32 counts as wrong. Ratios are about the last compiler. The bound is the time that memory
alone would take, for functions that do not multiply: each kernel of Tile IR has to read its arguments and write its results at
the rate that additions of as many bytes reach in the same run. Needs torch and the driver.
"""

import argparse
import csv
import ctypes
import json
import lzma
import math
import re
import statistics
import sys
from pathlib import Path

OWN = "xla"
PRODUCT = "kCublasLtMatmul"
ADDITIONS = range(12, 28)  # log2 of the elements
TRIALS = 7
SLOW_US = 1000
CLOSE, CLOSE_F32 = 0.05, 1e-4  # differences of results, relative to them and the largest one
MAX_DYNAMIC_SHARED, MOST_STATIC_SHARED = 8, 48 << 10  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
TYPES = {
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "s32": "int32",
    "s8": "int8",
    "u8": "uint8",
    "pred": "bool",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
}


class Driver:
    """Cubins by the driver, in torch's context and on its stream."""

    def __init__(self, folder):
        self.lib, self.folder, self.loaded = ctypes.CDLL("libcuda.so.1"), folder, {}

    def call(self, name, *args):
        if code := getattr(self.lib, name)(*args):
            raise RuntimeError(f"{name}: error {code}")

    def function(self, label, module, symbol):
        """None: that compiler did not compile the module."""
        key = path, _ = self.folder / "cubins" / label / (module + ".xz"), symbol
        if key not in self.loaded:
            self.loaded[key] = None
            if path.exists():
                handle, function = ctypes.c_void_p(), ctypes.c_void_p()
                self.call("cuModuleLoadData", ctypes.byref(handle), lzma.decompress(path.read_bytes()))
                self.call("cuModuleGetFunction", ctypes.byref(function), handle, symbol.encode())
                self.loaded[key] = function
        return self.loaded[key]


class Kernel:
    """A launch of a kernel, whose parameters are the addresses of its arrays."""

    def __init__(self, driver, function, grid, threads, shared, arrays):
        import torch

        self.driver, self.stream = driver, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.words = [ctypes.c_uint64(a.data_ptr()) for a in arrays]
        params = (ctypes.c_void_p * len(arrays))(*map(ctypes.addressof, self.words))
        self.arguments = function, *grid, *threads, shared, self.stream, params, None
        if shared > MOST_STATIC_SHARED:
            driver.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, shared)

    def __call__(self):
        self.driver.call("cuLaunchKernel", *self.arguments)


def random_array(kind, shape, least=0.1):
    import torch

    dtype = getattr(torch, TYPES[kind])
    if dtype.is_floating_point:
        return (torch.rand(shape, device="cuda") * 1.9 + least).to(dtype)
    return torch.randint(0, 2 if kind == "pred" else 9, shape, device="cuda").to(dtype)


def run(kernels):
    for kernel in kernels:
        kernel()


class Function:
    """A function at a size, with the tile that each compiler is given for each kernel."""

    def __init__(self, driver, size, name, plans, labels, tf32):
        self.driver, self.key, self.plans, self.labels, self.tf32 = driver, (size, name), plans, labels, tf32
        self.chosen, self.arrays = {}, {}
        self.multiplies = any(step["thunk"] == PRODUCT for step in plans[OWN]["steps"])

    def allocate(self):
        import torch

        torch.manual_seed(1)
        plan = self.plans[OWN]
        least = -0.95 if self.multiplies else 0.1  # sums around zero show how operands were rounded
        self.arrays = {OWN: [random_array(*b, least) for b in plan["buffers"]]}
        given = [self.arrays[OWN][i] for i in plan["parameters"]]
        for label in self.labels:
            plan = self.plans["tile_ir"]
            parameters = dict(zip(plan["parameters"], given))
            self.arrays[label] = [parameters.get(i, None) for i in range(len(plan["buffers"]))]
            self.arrays[label] = [random_array(*b) if a is None else a for a, b in zip(self.arrays[label], plan["buffers"])]
        self.bytes = sum(a.nbytes for a in (*given, *self.results(OWN)))

    def results(self, label):
        return [self.arrays[label][i] for i in self.plans[OWN if label == OWN else "tile_ir"]["results"]]

    def own(self, step):
        """What XLA's own emitters launch; products are cuBLAS's."""
        import torch

        arrays = [self.arrays[OWN][i] for i in step["buffers"]]
        if step["thunk"] == PRODUCT:
            left, right, out = arrays[:3]
            right = right.mT if step["right_by_rows"] else right

            def product():
                torch.backends.cuda.matmul.allow_tf32 = self.tf32 or not step["exact"]
                torch.matmul(left, right, out=out)

            return product
        function = self.driver.function(OWN, step["module"], step["kernel"])
        return Kernel(self.driver, function, step["grid"], step["threads"], step["shared"], arrays)

    def tile_ir(self, label, step, candidate):
        arrays = [self.arrays[label][i] for i in step["buffers"]]
        function = self.driver.function(label, candidate["module"], step["called"])
        return function and Kernel(self.driver, function, candidate["grid"], (1, 1, 1), 0, arrays)

    def trials(self):
        """A kernel for each tile and compiler: key, kernels, calls. Tiles that are far slower than another are left out."""
        for label in self.labels:
            for at, step in enumerate(self.plans["tile_ir"]["steps"]):
                least = math.inf
                for i, candidate in enumerate(step["candidates"]):
                    kernel = self.tile_ir(label, step, candidate)
                    us = once_us(kernel) if kernel else math.inf
                    least = min(least, us)
                    if us < SLOW_US or us < 1.5 * least:
                        yield (*self.key, label, at, i), [kernel], 1 if us > SLOW_US else TRIALS

    def choose(self, us):
        """us: by key, of the trials."""
        for label in self.labels:
            for at, step in enumerate(self.plans["tile_ir"]["steps"]):
                tried = [(us[key], i) for i in range(len(step["candidates"])) if (key := (*self.key, label, at, i)) in us]
                if tried:
                    self.chosen[label, at] = step["candidates"][min(tried)[1]]

    def calls(self):
        """By label: the kernels of one call. Compilers that lack a kernel are left out."""
        found = {OWN: [self.own(step) for step in self.plans[OWN]["steps"]]}
        steps = self.plans["tile_ir"]["steps"]
        for label in self.labels:
            if all((label, at) in self.chosen for at in range(len(steps))):
                found[label] = [self.tile_ir(label, step, self.chosen[label, at]) for at, step in enumerate(steps)]
        return found

    def wrong(self, calls):
        """What is wrong with the results."""
        import torch

        run(k for kernels in calls.values() for k in kernels)
        torch.cuda.synchronize()
        if any(step.get("in_place") for step in self.plans[OWN]["steps"]):
            return ""
        is_f32 = all(kind == "f32" for kind, _ in self.plans["tile_ir"]["buffers"])
        most = CLOSE_F32 if is_f32 and not self.tf32 else CLOSE
        for label in list(calls)[1:]:
            for got, want in zip(self.results(label), self.results(OWN)):
                got, want = got.float(), want.float()
                off = (got - want).abs() / (want.abs() + want.abs().max() * 0.05 + 1e-6)
                if got.isnan().any() or off.max() > most:
                    return f"{label}: wrong by {off.max().item():.2g}"
        return ""


def once_us(kernel):
    import torch

    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    kernel()
    torch.cuda.synchronize()
    start.record()
    kernel()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3


def additions():
    import torch

    for bits in ADDITIONS:
        x, y, z = (torch.rand(1 << bits, device="cuda") for _ in range(3))
        yield ("addition", bits), [lambda x=x, y=y, z=z: torch.add(x, y, out=z)], 20


def profiled(work):
    """By key: microseconds of the kernels of one call. work: gives a key, the kernels of a call, and how many calls."""
    import torch

    begin, end = torch.zeros(7, dtype=torch.int16, device="cuda"), torch.zeros(7, dtype=torch.int8, device="cuda")
    order, sets, inside, found = [], [], False, {}
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for key, kernels, calls in work:
            run([*kernels, *kernels])
            torch.cuda.synchronize()
            begin.fill_(1)  # its kernel marks where the calls begin
            run(kernels * calls)
            end.fill_(1)
            torch.cuda.synchronize()
            order.append((key, calls))
    events = [e for e in profiler.profiler.kineto_results.events() if "CUDA" in str(e.device_type())]
    for event in sorted(events, key=lambda e: e.start_ns()):
        if "FillFunctor<short>" in event.name():
            sets.append([])
            inside = True
        elif "FillFunctor<signed char>" in event.name():
            inside = False
        elif inside:
            sets[-1].append(event.duration_ns() / 1e3)
    for (key, calls), us in zip(order, sets, strict=True):
        each = len(us) // calls
        found.setdefault(key, []).append(statistics.median(sum(us[i * each : (i + 1) * each]) for i in range(calls)))
    return {key: statistics.median(us) for key, us in found.items()}


def all_trials(functions):
    for f in functions:
        f.allocate()
        yield from f.trials()
        f.arrays = {}


def all_calls(functions, options, notes):
    yield from additions()
    for f in functions:
        f.allocate()
        calls = f.calls()
        notes[f.key] = f.wrong(calls)
        for _ in range(options.rounds):
            for label, kernels in calls.items():
                yield (*f.key, label), kernels, options.repeat
        f.arrays = {}


def mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios)) if ratios else math.nan


def bound_us(f, us):
    """What memory alone would take. None: the function multiplies."""
    if f.multiplies:
        return None
    plan, total = f.plans["tile_ir"], 0
    sizes = {12 << bits: us["addition", bits] for bits in ADDITIONS}
    for step in plan["steps"]:
        needed = sum(buffer_bytes(plan["buffers"][i]) for i in set(step["buffers"]))
        above = min((s for s in sizes if s >= needed), default=max(sizes))
        below = max((s for s in sizes if s <= needed), default=min(sizes))
        share = (needed - below) / (above - below) if above > below else 0
        total += sizes[below] + share * (sizes[above] - sizes[below])
    return total


def buffer_bytes(buffer):
    kind, shape = buffer
    size = 1 if kind.startswith("f8") or kind == "pred" else int(re.search(r"\d+", kind).group()) // 8
    return size * math.prod(shape)


def report(functions, us, notes, options):
    """Prints a table and the ratios to the last compiler. Gives the number of wrong results."""
    labels, rows = [OWN, *options.labels], []
    last = labels[-1]
    for size in dict.fromkeys(f.key[0] for f in functions):
        print(f"{size:<22}" + "".join(f"{label:>12}" for label in (*labels, "bound")) + f"   ratios to {last}")
        ratios = {label: [] for label in labels[:-1]}
        bounds = {label: [] for label in labels[:-1]}
        for f in (f for f in functions if f.key[0] == size):
            at, bound = {label: us.get((*f.key, label)) for label in labels}, bound_us(f, us)
            text = "".join(f"{'-' if t is None else format(t, '.2f'):>12}" for t in (*at.values(), bound))
            for label in labels[:-1]:
                if at[label] and at[last]:
                    ratios[label].append(at[label] / at[last])
                    bounds[label].append(at[label] / min(at[last], bound or math.inf))
                    text += f"  {label} {ratios[label][-1]:.2f}"
            print(f"{f.key[1]:<22}{text}  {notes[f.key]}".rstrip())
            rows.append([size, f.key[1], f.bytes, *("" if t is None else f"{t:.2f}" for t in (*at.values(), bound))])
        for label, values in ratios.items():
            print(f"{size}: {label} / {last}: geometric mean {mean(values):.3f} of {len(values)}, ", end="")
            print(f"least {min(values, default=0):.2f}, below 0.95: {sum(v < 0.95 for v in values)}; ", end="")
            print(f"at the bound the mean would be {mean(bounds[label]):.3f}")
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            heads = [f"{label}_us" for label in (*labels, "bound")]
            csv.writer(file).writerows([["size", "function", "bytes", *heads], *rows])
    return sum(bool(note) for note in notes.values())


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder")
    p.add_argument("--functions", default="", help="those whose name this matches")
    p.add_argument("--csv", help="write the figures here, too")
    p.add_argument("--repeat", type=int, default=10, help="calls that are measured in a round")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--tf32", action="store_true", help="let XLA's own products of f32 round operands, as they do by default")
    options = p.parse_args()
    import torch

    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False  # XLA adds up in f32
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    folder = Path(options.folder)
    document = json.loads((folder / "plan.json").read_text())
    options.labels, driver, notes = document["compilers"], Driver(folder), {}
    functions = [
        Function(driver, size, name, plans, options.labels, options.tf32)
        for size, by_name in document["sizes"].items()
        for name, plans in by_name.items()
        if re.search(options.functions, name)
    ]
    us = profiled(all_trials(functions))
    for f in functions:
        f.choose(us)
    us = profiled(all_calls(functions, options, notes))
    return report(functions, us, notes, options) != 0


if __name__ == "__main__":
    sys.exit(main())
