#!/usr/bin/env python3
"""The kernels that tools/bench_gpu.py runs beside torch and Triton, and their export to .tbc files in this folder.

    python tests/gpu/kernels.py        writes them again; needs cuda-tile 1.7
    for f in tests/gpu/kernels/*.tbc; do tilevm strip $f -o $f; done      # the debug information names folders of this machine

A file has one entry for each tile size that is tried, NAME_SIZE; the best of them counts, as the best configuration of a
Triton kernel does. The .tbc files are committed, so the benchmark itself needs no cuda-tile.
"""
import os

import cuda.tile as ct
from cuda.tile.compilation import (ArrayConstraint, CallingConvention, KernelSignature, ScalarConstraint,
                                   export_kernel)

os.chdir(os.path.dirname(os.path.abspath(__file__)))
CI = ct.Constant[int]


@ct.kernel
def vadd(a, b, c, T: CI):
    i = ct.bid(0)
    ct.store(c, index=(i,), tile=ct.load(a, index=(i,), shape=(T,)) + ct.load(b, index=(i,), shape=(T,)))


@ct.kernel
def copy(a, b, T: CI):
    i = ct.bid(0)
    ct.store(b, index=(i,), tile=ct.load(a, index=(i,), shape=(T,)))


@ct.kernel
def transpose(a, b, M: CI, N: CI):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(b, index=(j, i), tile=ct.transpose(ct.load(a, index=(i, j), shape=(M, N))))


@ct.kernel
def softmax(x, y, R: CI, W: CI):
    i = ct.bid(0)
    v = ct.load(x, index=(i, 0), shape=(R, W))
    p = ct.exp(v - ct.max(v, axis=1, keepdims=True))
    ct.store(y, index=(i, 0), tile=p / ct.sum(p, axis=1, keepdims=True))


@ct.kernel
def layernorm(x, w, b, y, eps, R: CI, W: CI):
    i = ct.bid(0)
    v = ct.load(x, index=(i, 0), shape=(R, W)).astype(ct.float32)
    d = v - ct.sum(v, axis=1, keepdims=True) / W
    r = ct.rsqrt(ct.sum(d * d, axis=1, keepdims=True) / W + eps)
    g = ct.load(w, index=(0,), shape=(W,)).astype(ct.float32)[None, :]
    h = ct.load(b, index=(0,), shape=(W,)).astype(ct.float32)[None, :]
    ct.store(y, index=(i, 0), tile=(d * r * g + h).astype(y.dtype))


@ct.kernel
def rmsnorm(x, w, y, eps, R: CI, W: CI):
    i = ct.bid(0)
    v = ct.load(x, index=(i, 0), shape=(R, W)).astype(ct.float32)
    r = ct.rsqrt(ct.sum(v * v, axis=1, keepdims=True) / W + eps)
    g = ct.load(w, index=(0,), shape=(W,)).astype(ct.float32)[None, :]
    ct.store(y, index=(i, 0), tile=(v * r * g).astype(y.dtype))


@ct.kernel
def matmul(A, B, C, TM: CI, TN: CI, TK: CI, GROUP: CI):
    """tiles of C in column strips of GROUP, so that blocks that run together share what they load"""
    n = ct.cdiv(B.shape[1], TN)
    per = GROUP * n
    strip, at = ct.bid(0) // per, ct.bid(0) % per
    i, j = strip * GROUP + at % GROUP, at // GROUP
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        acc = ct.mma(ct.load(A, index=(i, k), shape=(TM, TK)), ct.load(B, index=(k, j), shape=(TK, TN)), acc)
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


def array(dtype, rank):
    """an ordinary tensor: contiguous, aligned, extents that 16 divides"""
    return ArrayConstraint(dtype, rank, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
                           may_alias_internally=False, stride_constant=(None,) * (rank - 1) + (1,),
                           stride_divisible_by=(16,) * (rank - 1) + (1,), shape_divisible_by=(16,) * rank,
                           base_addr_divisible_by=16)


F32, F16, BF16 = ct.float32, ct.float16, ct.bfloat16
EPS = ScalarConstraint(F32)
SQUARES = [(32, 32), (64, 64), (128, 64), (64, 128)]

# file: kernel, arguments, tile sizes
FILES = {
    "vadd_f32": (vadd, [array(F32, 1)] * 3, [(512,), (1024,), (2048,), (4096,)]),
    "copy_f32": (copy, [array(F32, 1)] * 2, [(512,), (1024,), (2048,), (4096,)]),
    "transpose_f16": (transpose, [array(F16, 2)] * 2, SQUARES),
    "transpose_f32": (transpose, [array(F32, 2)] * 2, SQUARES),
    "softmax_f32": (softmax, [array(F32, 2)] * 2, [(1, 8192)]),
    "layernorm_bf16": (layernorm, [array(BF16, 2), array(BF16, 1), array(BF16, 1), array(BF16, 2), EPS], [(1, 8192)]),
    "rmsnorm_bf16": (rmsnorm, [array(BF16, 2), array(BF16, 1), array(BF16, 2), EPS], [(1, 8192)]),
    "matmul_f16": (matmul, [array(F16, 2)] * 3, [(128, 128, 32, 8), (128, 128, 64, 8), (128, 256, 64, 8), (256, 128, 64, 8)]),
}

if __name__ == "__main__":
    for name, (kernel, args, sizes) in FILES.items():
        signatures = [KernelSignature([*args, *size], calling_convention=CallingConvention.cutile_python_v1(),
                                      symbol="_".join([name, *map(str, size)])) for size in sizes]
        with open(os.path.join("kernels", name + ".tbc"), "wb") as f:
            export_kernel(kernel, signatures, f, gpu_code="sm_90", output_format="tileir_bytecode", bytecode_version="13.4")
