#!/usr/bin/env python3
"""PTX of stock Triton on the PTX simulator, beside NumPy.

    stock.py PTXSIM FOLDER [--targets 90,100] [--filter TEXT] [--part I/N] [--times]

Triton compiles the kernels of stock_kernels.py for described targets, which needs no GPU; FOLDER gets their PTX, and Triton's cache. Every
kernel runs with two seeds of the simulator. What does not run as expected is listed in stock.txt, with a reason, and that list must be right.
Ends with `stock triton: N passed, N failed, N listed`. Standard error says how far it has come: on a terminal in one line, elsewhere once a
minute. Nothing of this is needed elsewhere: without triton and NumPy, it is skipped."""
import argparse
import importlib.util
import inspect
import os
import re
import subprocess
import sys
import time

TYPES = {"float32": "fp32", "float16": "fp16", "int32": "i32", "int8": "i8", "uint8": "u8", "int64": "i64"}
SEEDS, MOST_STEPS, PROGRESS_SECONDS = 2, 1 << 20, 60
# CUtensorMapDataType of elements of so many bytes: the simulator moves bytes.
MAP_TYPES = {1: 0, 2: 6, 4: 7}


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("ptxsim")
    p.add_argument("folder")
    p.add_argument("--targets", default="90,100")
    p.add_argument("--filter", default="", help="cases whose name has this text")
    p.add_argument("--part", default="0/1", help="I/N: every Nth case, from number I on")
    p.add_argument("--times", action="store_true", help="also print how long each case took")
    return p.parse_args()


def exceptions():
    """(case, target): the reason, from stock.txt."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "stock.txt"), encoding="utf-8") as f:
        rows = [line.split(None, 2) for line in f if line.strip() and not line.startswith("#")]
    return {(name, target): reason.strip() for name, target, reason in rows}


def type_of(argument):
    import numpy as np

    from stock_case import Array

    if isinstance(argument, Array):
        return "*" + argument.triton_name
    if isinstance(argument, np.ndarray):
        return "*" + TYPES[argument.dtype.name]
    return "fp32" if isinstance(argument, np.floating) else "i32"


def patterns(argument):
    return getattr(argument, "array", argument)


def compiled(case, arguments, target):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = case.kernel.arg_names
    signature = {n: type_of(a) for n, a in zip(names, arguments)}
    for index, box in case.boxes.items():
        signature[names[index]] = f"tensordesc<{type_of(arguments[index])[1:]}{list(box)}>".replace(" ", "")
    signature |= {n: "constexpr" for n in case.constants}
    divisible = {(i,): [["tt.divisibility", 16]] for i, a in enumerate(arguments)
                 if i not in case.boxes and (hasattr(patterns(a), "dtype") and patterns(a).ndim or (isinstance(a, int) and a % 16 == 0))}
    source = ASTSource(fn=case.kernel, signature=signature, constexprs=dict(case.constants), attrs=divisible)
    return triton.compile(source, target=GPUTarget("cuda", target, 32), options=dict(case.options))


def map_words(array, box, meta):
    """A tensor map as Triton's launcher makes it, for ptxsim: the words behind the file, and the arguments that follow it."""
    swizzle = meta["swizzle"] if meta else 3
    box = meta["block_size"] if meta else box
    strides = [s // array.itemsize for s in array.strides]
    text = f"{MAP_TYPES[array.itemsize]}:{swizzle}:" + ":".join(
        f"{extent},{stride * array.itemsize},{width}" for extent, stride, width in zip(array.shape[::-1], strides[::-1], box[::-1]))
    return text, [f"u32:{n}" for n in array.shape] + [f"u64:{n}" for n in strides]


def words(case, arguments, kernel, folder):
    """The arguments of ptxsim; files of arrays by their number."""
    out, files, maps = [], {}, iter(getattr(kernel.metadata, "tensordesc_meta", None) or [])
    for i, a in enumerate(arguments):
        data = patterns(a)
        if hasattr(data, "ndim") and data.ndim:
            files[i] = os.path.join(folder, f"{i}.bin")
            data.tofile(files[i])
            if i in case.boxes:
                text, more = map_words(data, case.boxes[i], next(maps, None))
                out += [f"map:{files[i]}:{text}", *more]
            else:
                out.append(f"inout:{files[i]}")
        else:
            out.append(f"f32:{float(a)!r}" if type_of(a) == "fp32" else f"s32:{a}")
    blocks = case.grid[0] * (case.grid[1] if len(case.grid) > 1 else 1) * kernel.metadata.num_ctas
    scratch = kernel.metadata.global_scratch_size * blocks
    return [*out, f"zero:{scratch + 256}" if scratch else "u64:0", "u64:0"], files


def difference(got, want, tolerance):
    """What is wrong with an output; None: nothing."""
    import numpy as np

    if callable(want):
        return None if want(got) else "not what is expected"
    got, want = got.astype(np.float64).ravel(), np.asarray(want, np.float64).ravel()
    off = np.abs(got - want) > tolerance + tolerance * np.abs(want)
    off |= ~np.isfinite(got)
    if not off.any():
        return None
    at = int(off.argmax())
    return f"{off.sum()} of {off.size} elements are wrong; {at}: got {got[at]}, expected {want[at]}"


def run(options, case, target):
    """What is wrong; None: nothing."""
    import numpy as np

    from stock_case import Random

    wanted = inspect.signature(case.make).parameters
    arguments, expected = case.make(Random(1), **{k: v for k, v in case.constants.items() if k in wanted})
    try:
        kernel = compiled(case, arguments, target)
    except Exception as error:  # whatever Triton raises
        return "Triton does not compile it: " + (" ".join(str(error).split())[-300:] or type(error).__name__)
    folder = os.path.join(options.folder, f"{case.name}-{target}")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "kernel.ptx")
    with open(path, "w", encoding="utf-8") as f:
        f.write(kernel.asm["ptx"])
    for seed in range(SEEDS):
        given, files = words(case, arguments, kernel, folder)
        grid = [case.grid[0] * kernel.metadata.num_ctas, *case.grid[1:]]
        command = [options.ptxsim, path, "--triton", "--grid", ",".join(map(str, grid)), "--shared", str(kernel.metadata.shared), "--seed", str(seed), "--steps", str(MOST_STEPS)]
        if kernel.metadata.num_ctas > 1:
            command += ["--cluster", str(kernel.metadata.num_ctas)]
        result = subprocess.run(command + given, capture_output=True, text=True, check=False)
        if result.returncode:
            text = re.sub(r"\n\s*", "; ", (result.stdout + result.stderr).strip())[:400]
            return text or f"ptxsim ended with status {result.returncode}"
        for index, (want, tolerance) in expected.items():
            data = patterns(arguments[index])
            wrong = difference(np.fromfile(files[index], data.dtype), want, tolerance)
            if wrong:
                return f"argument {index}, seed {seed}: {wrong}"
    return None


class Progress:
    """How far the run has come, on standard error."""

    def __init__(self, count):
        self.count, self.done, self.start = count, 0, time.monotonic()
        self.terminal, self.last = sys.stderr.isatty(), self.start

    def begins(self, name):
        now = time.monotonic()
        text = f"stock triton: {self.done} of {self.count} done in {now - self.start:.0f} s, now {name}"
        self.done += 1
        if self.terminal:
            self.clear()
            print(text, end="", file=sys.stderr, flush=True)
        elif now - self.last >= PROGRESS_SECONDS:
            self.last = now
            print(text, file=sys.stderr, flush=True)

    def clear(self):
        if self.terminal:
            print("\r\33[K", end="", file=sys.stderr, flush=True)


def main():
    options = parse()
    missing = [m for m in ("numpy", "triton") if not importlib.util.find_spec(m)]
    if missing:
        print(f"stock triton: skipped, {sys.executable} has no {', '.join(missing)}")
        return 0
    os.makedirs(options.folder, exist_ok=True)
    options.folder, options.ptxsim = os.path.abspath(options.folder), os.path.abspath(options.ptxsim)
    os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(options.folder, "cache"))
    import triton

    import stock_kernels  # noqa: F401, its cases declare themselves
    from stock_case import CASES

    part, of = map(int, options.part.split("/"))
    cases = [c for c in CASES if options.filter in c.name][part::of]
    runs = [(case, target) for case in cases for target in map(int, options.targets.split(","))]
    known, passed, failed, listed, progress = exceptions(), 0, 0, 0, Progress(len(runs))
    for case, target in runs:
        name, start = f"{case.name}, sm_{target}", time.monotonic()
        progress.begins(name)
        wrong, reason = run(options, case, target), known.get((case.name, f"sm_{target}"))
        passed, listed = passed + (not wrong and not reason), listed + bool(wrong and reason)
        progress.clear()
        if options.times:
            print(f"{time.monotonic() - start:6.1f} s  {name}", flush=True)
        if bool(wrong) != bool(reason):
            failed += 1
            print(f"{name}: {wrong or 'runs, though stock.txt has it'}", flush=True)
    print(f"stock triton {triton.__version__}: {passed} passed, {failed} failed, {listed} listed")
    return failed > 0 or not passed


if __name__ == "__main__":
    sys.exit(main())
