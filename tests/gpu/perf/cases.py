#!/usr/bin/env python3
"""Which kernels of `kernels.py` are timed, with which sizes, tiles and hints; exports them as bytecode.

    python tests/gpu/perf/cases.py TILEVM FOLDER [--filter RE] [--tiles] [--tiny]

Writes FOLDER/NAME.tbc without debug information and FOLDER/cases.json (jobs: arguments, flop, bytes; kernels: job, grid), which
is all that `tools/perf_build.py` and `tools/perf_run.py` need. Needs cuda-tile 1.7. --tiny: runs each one by `tilevm run` on
small arrays on the CPU instead and compares the results with `expected.py` by numpy. --tiles: the kernels of `tiles.py` instead, which
are for the cost model.
"""
import argparse
import io
import json
import math
import os
import re
import subprocess
import sys

import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, ListConstraint, ScalarConstraint, export_kernel

import backward
import everyday
import exact
import forms
import operands
import sweep
import tiles
import wider

TYPES = {"f16": ct.float16, "bf16": ct.bfloat16, "f32": ct.float32, "f8e4m3fn": ct.float8_e4m3fn, "i32": ct.int32, "u8": ct.uint8, "f64": ct.float64}
JOBS = [*sweep.JOBS, *everyday.JOBS, *wider.JOBS, *operands.JOBS, *exact.JOBS, *backward.JOBS, *forms.JOBS]
KERNELS = [*sweep.KERNELS, *everyday.KERNELS, *wider.KERNELS, *operands.KERNELS, *exact.KERNELS, *backward.KERNELS, *forms.KERNELS]


def divisors(lengths):
    """16 for each length that it divides, as the client promises, else 1."""
    return tuple(16 if n % 16 == 0 else 1 for n in lengths)


def constraint(argument, small):
    """An ordinary tensor: contiguous and aligned. What is promised of its size also holds of the small one."""
    if "value" in argument:
        return ScalarConstraint(TYPES[argument["dtype"]])
    shape = [math.gcd(*sizes) for sizes in zip(argument["shape"], small["shape"])]
    if argument.get("listed"):
        return ListConstraint(array_constraint(argument["dtype"], shape[1:]), alias_groups=(), elements_may_alias=False)
    return array_constraint(argument["dtype"], shape)


def array_constraint(dtype, shape):
    rank = len(shape)
    return ArrayConstraint(TYPES[dtype], rank, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
                           may_alias_internally=False, stride_constant=(None,) * (rank - 1) + (1,),
                           stride_divisible_by=divisors(math.prod(shape[d + 1:]) for d in range(rank)),
                           shape_divisible_by=divisors(shape), base_addr_divisible_by=16)


def export(kernel, job, tilevm, path):
    """Gives the symbol of the entry."""
    pairs = zip(job.arguments(**job.sizes), job.arguments(**job.tiny))
    arguments = [constraint(*pair) for pair in pairs if pair[0]["dtype"] != "constant"]
    # The client's own symbol: it says what the client promises of arrays, as that their rows do not overlap.
    signature = KernelSignature([*arguments, *kernel.constants], calling_convention=CallingConvention.cutile_python_v1())
    buffer = io.BytesIO()
    export_kernel(kernel.kernel.replace_hints(**kernel.hints), [signature], buffer, gpu_code="sm_90",
                  output_format="tileir_bytecode", bytecode_version="13.4")
    subprocess.run([tilevm, "strip", "-", "-o", path], input=buffer.getvalue(), check=True)
    listed = subprocess.run([tilevm, "run", path, "--params"], capture_output=True, text=True, check=True).stdout
    return listed.split()[1]    # the name of the function, and its symbol


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("tilevm")
    p.add_argument("folder")
    p.add_argument("--filter", default="", help="kernels whose name this matches")
    p.add_argument("--tiles", action="store_true", help="works of which every usual tile is timed")
    p.add_argument("--tiny", action="store_true", help="run on the CPU with small arrays")
    options = p.parse_args()
    all_jobs, kernels = (tiles.JOBS, tiles.KERNELS) if options.tiles else (JOBS, KERNELS)
    jobs = {job.name: job for job in all_jobs}
    chosen = [kernel for kernel in kernels if re.search(options.filter, kernel.name)]
    os.makedirs(options.folder, exist_ok=True)
    failed, symbols = 0, {}
    for kernel in chosen:
        job, path = jobs[kernel.job], os.path.join(options.folder, kernel.name + ".tbc")
        symbols[kernel.name] = export(kernel, job, options.tilevm, path)
        if options.tiny:
            import tiny
            failed += not tiny.agrees(options.tilevm, path, kernel.grid(**job.tiny), job.recipe(job.tiny))
    with open(os.path.join(options.folder, "cases.json"), "w") as f:
        json.dump(dict(jobs={job.name: job.recipe(job.sizes) for job in all_jobs if any(c.job == job.name for c in chosen)},
                       kernels=[dict(name=c.name, symbol=symbols[c.name], job=c.job, grid=c.grid(**jobs[c.job].sizes),
                                     hints=c.hints) for c in chosen]),
                  f, indent=1)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
