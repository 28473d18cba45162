#!/usr/bin/env python3
"""Which kernels of `kernels.py` are timed, with which sizes, tiles and hints; exports them as bytecode.

    python tests/gpu/perf/cases.py TILEVM FOLDER [--filter RE] [--tiny]

Writes FOLDER/NAME.tbc without debug information and FOLDER/cases.json (jobs: arguments, flop, bytes; kernels: job, grid), which
is all that `tools/perf_build.py` and `tools/perf_run.py` need. Needs cuda-tile 1.7. --tiny: runs each one by `tilevm run` on
small arrays on the CPU instead and compares the results with `expected.py` by numpy.
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
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, ScalarConstraint, export_kernel

import kernels as k

TYPES = {"f16": ct.float16, "bf16": ct.bfloat16, "f32": ct.float32, "f8e4m3fn": ct.float8_e4m3fn, "i32": ct.int32, "u8": ct.uint8}
SIZE = {"f16": 2, "bf16": 2, "f32": 4, "f8e4m3fn": 1, "i32": 4, "u8": 1}
MULTIPROCESSORS = 132   # of an H100 or H200; persistent kernels take as many blocks


def array(name, dtype, *shape, init="normal", role="in"):
    return dict(name=name, dtype=dtype, shape=list(shape), init=init, role=role)


def out(name, dtype, *shape):
    return array(name, dtype, *shape, init="poison", role="out")


def number(name, value, dtype="f32"):
    return dict(name=name, dtype=dtype, value=value)


class Job:
    """Work that several kernels do: arguments for given sizes, what it takes, and what it must give."""

    def __init__(self, name, expected, arguments, sizes, tiny, tolerance, flops=None):
        self.name, self.expected, self.arguments, self.sizes, self.tiny = name, expected, arguments, sizes, tiny
        self.tolerance, self.flops = tolerance, flops

    def recipe(self, sizes):
        arguments = self.arguments(**sizes)
        moved = sum(math.prod(a["shape"]) * SIZE[a["dtype"]] for a in arguments if "shape" in a)
        return dict(expected=self.expected, arguments=arguments, tolerance=self.tolerance, bytes=moved,
                    flops=self.flops(**sizes) if self.flops else None)


def product_job(name, dtype, result, tolerance, M, N, K):
    def arguments(M, N, K):
        return [array("A", dtype, M, K), array("B", dtype, K, N), out("C", result, M, N)]
    return Job(name, "product", arguments, dict(M=M, N=N, K=K), dict(M=256, N=512, K=256), tolerance,
               lambda M, N, K: 2 * M * N * K)


def batched_job(name, dtype, result, tolerance, **sizes):
    def arguments(B, M, N, K):
        return [array("A", dtype, B, M, K), array("B", dtype, B, K, N), out("C", result, B, M, N)]
    return Job(name, "product", arguments, sizes, dict(B=2, M=256, N=256, K=256), tolerance,
               lambda B, M, N, K: 2 * B * M * N * K)


def attention_job(name, expected, B, H, S, D, causal):
    def arguments(B, H, S, D):
        four = [array(n, "f16", B, H, S, D) for n in "QKV"]
        return [*four, out("O", "f16", B, H, S, D), number("scale_log2", 1.4426950408889634 / math.sqrt(D))]
    return Job(name, expected, arguments, dict(B=B, H=H, S=S, D=D), dict(B=1, H=2, S=256, D=D), 0.01,
               lambda B, H, S, D: 4 * B * H * S * S * D // (2 if causal else 1))


JOBS = [
    attention_job("fmha", "attention_causal", 1, 32, 8192, 128, True),
    product_job("mm_f16", "f16", "f16", 0.01, 8192, 8192, 8192),
    product_job("mm_tf32", "f32", "f32", 0.01, 8192, 8192, 8192),
    batched_job("bmm_e4m3", "f8e4m3fn", "f16", 0.01, B=8, M=12288, N=4096, K=2560),
]


class Kernel:
    """One compiled kernel: constants come after the arrays; grid is a function of the sizes."""

    def __init__(self, name, job, kernel, constants, grid, **hints):
        self.job, self.kernel, self.constants, self.grid = job, kernel, constants, grid
        self.hints = {key: value for key, value in hints.items() if value is not None}
        self.name = "_".join([name, *("%s%d" % (SHORT[key], value) for key, value in self.hints.items())])


SHORT = {"occupancy": "o", "num_ctas": "c", "num_worker_warps": "w"}


def parts(n, tile):
    return -(-n // tile)


def name_of(prefix, *tiles):
    return prefix + "_" + "x".join(map(str, tiles))


def sweep_attention():
    for tm, tn in [(128, 128), (128, 64), (64, 128), (64, 64)]:
        for occupancy in (1, 2):
            for warps in (None, 4, 8):
                yield Kernel(name_of("fmha_f16", tm, tn), "fmha", k.attention, [128, tm, tn, True],
                             lambda B, H, S, D, tm=tm: (parts(S, tm), H, B), occupancy=occupancy, num_worker_warps=warps)


def sweep_product(prefix, job, tiles):
    for tm, tn, tk in tiles:
        for ctas, warps in [(1, None), (1, 4), (1, 8), (2, None)]:
            yield Kernel(name_of(prefix, tm, tn, tk), job, k.product, [tm, tn, tk, 8],
                         lambda M, N, K, tm=tm, tn=tn: (parts(M, tm) * parts(N, tn), 1, 1), num_ctas=ctas, num_worker_warps=warps)


def sweep_persistent(tiles):
    for tm, tn, tk in tiles:
        for ctas, warps in [(1, None), (1, 4), (1, 8), (2, None)]:
            def grid(M, N, K, tm=tm, tn=tn, ctas=ctas):
                return (min(MULTIPROCESSORS // ctas, parts(M, tm) * parts(N, tn)), 1, 1)
            yield Kernel(name_of("pmm_f16", tm, tn, tk), "mm_f16", k.product_persistent, [tm, tn, tk, 8], grid,
                         num_ctas=ctas, num_worker_warps=warps)


def sweep_batched():
    for tm, tn, tk in [(128, 128, 128), (128, 128, 64), (128, 256, 128), (256, 128, 128)]:
        for ctas in (1, 2):
            yield Kernel(name_of("bmm_e4m3", tm, tn, tk), "bmm_e4m3", k.product_batched, [tm, tn, tk],
                         lambda B, M, N, K, tm=tm, tn=tn: (parts(M, tm), parts(N, tn), B), num_ctas=ctas)


F16_TILES = [(128, 128, 128), (128, 128, 64), (128, 256, 64), (256, 128, 64), (256, 256, 64), (64, 256, 64)]
TF32_TILES = [(128, 128, 32), (128, 128, 64), (128, 256, 32), (64, 128, 64)]

KERNELS = [*sweep_attention(), *sweep_product("mm_f16", "mm_f16", F16_TILES), *sweep_product("mm_tf32", "mm_tf32", TF32_TILES),
           *sweep_persistent(F16_TILES), *sweep_batched()]


def constraint(argument):
    """An ordinary tensor: contiguous, aligned, extents that 16 divides."""
    if "value" in argument:
        return ScalarConstraint(TYPES[argument["dtype"]])
    rank = len(argument["shape"])
    return ArrayConstraint(TYPES[argument["dtype"]], rank, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
                           may_alias_internally=False, stride_constant=(None,) * (rank - 1) + (1,),
                           stride_divisible_by=(16,) * (rank - 1) + (1,), shape_divisible_by=(16,) * rank,
                           base_addr_divisible_by=16)


def export(kernel, job, tilevm, path):
    arguments = [constraint(a) for a in job.arguments(**job.sizes)]
    signature = KernelSignature([*arguments, *kernel.constants], calling_convention=CallingConvention.cutile_python_v1(),
                                symbol=kernel.name)
    buffer = io.BytesIO()
    export_kernel(kernel.kernel.replace_hints(**kernel.hints), [signature], buffer, gpu_code="sm_90",
                  output_format="tileir_bytecode", bytecode_version="13.4")
    subprocess.run([tilevm, "strip", "-", "-o", path], input=buffer.getvalue(), check=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("tilevm")
    p.add_argument("folder")
    p.add_argument("--filter", default="", help="kernels whose name this matches")
    p.add_argument("--tiny", action="store_true", help="run on the CPU with small arrays")
    options = p.parse_args()
    jobs = {job.name: job for job in JOBS}
    chosen = [kernel for kernel in KERNELS if re.search(options.filter, kernel.name)]
    os.makedirs(options.folder, exist_ok=True)
    failed = 0
    for kernel in chosen:
        job, path = jobs[kernel.job], os.path.join(options.folder, kernel.name + ".tbc")
        export(kernel, job, options.tilevm, path)
        if options.tiny:
            import tiny
            failed += not tiny.agrees(options.tilevm, path, kernel.grid(**job.tiny), job.recipe(job.tiny))
    with open(os.path.join(options.folder, "cases.json"), "w") as f:
        json.dump(dict(jobs={job.name: job.recipe(job.sizes) for job in JOBS if any(c.job == job.name for c in chosen)},
                       kernels=[dict(name=c.name, job=c.job, grid=c.grid(**jobs[c.job].sizes), hints=c.hints) for c in chosen]),
                  f, indent=1)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
