#!/usr/bin/env python3
"""The kernels that `make bench` runs on the virtual machine, and their export to .tbc files in this folder.

    python tests/bench/kernels.py        writes them again; needs cuda-tile 1.7

tools/bench_vm.py has the arguments, the grids and what they are compared with. Afterwards `tilevm strip` takes
out the debug information, which names folders of the machine. The .tbc files are committed, so the
benchmark itself needs no cuda-tile.
"""
import cuda.tile as ct
from cuda.tile.compilation import (ArrayConstraint, CallingConvention, KernelSignature, ScalarConstraint,
                                   export_kernel)
import os

os.chdir(os.path.dirname(os.path.abspath(__file__)))
CI = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def add(a, b, c, T: CI):
    i = ct.bid(0)
    x = ct.load(a, index=(i,), shape=(T,))
    y = ct.load(b, index=(i,), shape=(T,))
    ct.store(c, index=(i,), tile=x + y)


@ct.kernel
def chain(a, b, c, T: CI):
    """several element-wise operations on the same elements"""
    i = ct.bid(0)
    x = ct.load(a, index=(i,), shape=(T,))
    y = ct.load(b, index=(i,), shape=(T,))
    z = ct.maximum(x - y, 0.0)
    ct.store(c, index=(i,), tile=z * z + ct.minimum(x, y) * 0.5)


@ct.kernel
def tanh(a, b, T: CI):
    i = ct.bid(0)
    ct.store(b, index=(i,), tile=ct.tanh(ct.load(a, index=(i,), shape=(T,))))


@ct.kernel
def matmul(A, B, C, TM: CI, TN: CI, TK: CI):
    m = ct.bid(0)
    n = ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=C.dtype)
    for k in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        a = ct.load(A, index=(m, k), shape=(TM, TK), padding_mode=ZERO)
        b = ct.load(B, index=(k, n), shape=(TK, TN), padding_mode=ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(m, n), tile=acc)


@ct.kernel
def matmul_scaled(A, As, B, Bs, C, TM: CI, TN: CI, TK: CI, S: CI):
    """scales of S elements along k each"""
    m = ct.bid(0)
    n = ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        a = ct.load(A, index=(m, k), shape=(TM, TK), padding_mode=ZERO)
        b = ct.load(B, index=(k, n), shape=(TK, TN), padding_mode=ZERO)
        x = ct.load(As, index=(m, k), shape=(TM, TK // S), padding_mode=ZERO)
        y = ct.load(Bs, index=(k, n), shape=(TK // S, TN), padding_mode=ZERO)
        acc = ct.mma_scaled(a, x, b, y, acc)
    ct.store(C, index=(m, n), tile=acc)


@ct.kernel
def softmax(x, y, W: CI):
    i = ct.bid(0)
    v = ct.load(x, index=(i, 0), shape=(1, W))
    p = ct.exp(v - ct.max(v, axis=1, keepdims=True))
    ct.store(y, index=(i, 0), tile=p / ct.sum(p, axis=1, keepdims=True))


@ct.kernel
def layernorm(x, w, b, y, eps, W: CI):
    i = ct.bid(0)
    v = ct.load(x, index=(i, 0), shape=(1, W))
    d = v - ct.sum(v, axis=1, keepdims=True) / W
    r = 1.0 / ct.sqrt(ct.sum(d * d, axis=1, keepdims=True) / W + eps)
    g = ct.load(w, index=(0,), shape=(W,))[None, :]
    h = ct.load(b, index=(0,), shape=(W,))[None, :]
    ct.store(y, index=(i, 0), tile=d * r * g + h)


@ct.kernel
def attention(Q, K, V, O, scale_log2, TM: CI, TN: CI, TD: CI):
    """Q, K, V, O: (heads, length, TD); scale_log2 = log2(e) / sqrt(TD); online softmax"""
    i = ct.bid(0)
    h = ct.bid(1)
    q = ct.load(Q, index=(h, i, 0), shape=(1, TM, TD)).reshape((TM, TD))
    m = ct.full((TM, 1), -1e30, dtype=ct.float32)
    l = ct.zeros((TM, 1), dtype=ct.float32)
    acc = ct.zeros((TM, TD), dtype=ct.float32)
    for j in range(ct.num_tiles(K, axis=1, shape=(1, TN, TD))):
        k = ct.load(K, index=(h, j, 0), shape=(1, TN, TD), padding_mode=ZERO).reshape((TN, TD))
        s = ct.mma(q, ct.transpose(k), ct.zeros((TM, TN), dtype=ct.float32)) * scale_log2
        m2 = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - m2)
        a = ct.exp2(m - m2)
        l = l * a + ct.sum(p, axis=1, keepdims=True)
        v = ct.load(V, index=(h, j, 0), shape=(1, TN, TD), padding_mode=ZERO).reshape((TN, TD))
        acc = ct.mma(p.astype(V.dtype), v, acc * a)
        m = m2
    ct.store(O, index=(h, i, 0), tile=(acc / l).astype(O.dtype).reshape((1, TM, TD)))


def array(dtype, rank):
    """contiguous in its last dimension, everything else known at run time"""
    return ArrayConstraint(dtype, rank, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
                           may_alias_internally=False, stride_constant=(None,) * (rank - 1) + (1,),
                           stride_divisible_by=(16,) * (rank - 1) + (1,), shape_divisible_by=(16,) * rank,
                           base_addr_divisible_by=16)


F32, F16, BF16, F64, I8, I32 = ct.float32, ct.float16, ct.bfloat16, ct.float64, ct.int8, ct.int32
E4M3, E5M2, E8M0 = ct.float8_e4m3fn, ct.float8_e5m2, ct.float8_e8m0fnu


def product(dtype, acc, *tiles):
    return matmul, [array(dtype, 2), array(dtype, 2), array(acc, 2), *tiles]


def attend(dtype, *tiles):
    return attention, [array(dtype, 3)] * 4 + [ScalarConstraint(F32), *tiles]


FILES = {
    "add_f32": (add, [array(F32, 1)] * 3 + [4096]),
    "add_f32_256": (add, [array(F32, 1)] * 3 + [256]),
    "tanh_f32_32": (tanh, [array(F32, 1)] * 2 + [32]),
    "chain_f32": (chain, [array(F32, 1)] * 3 + [4096]),
    "matmul_f32": product(F32, F32, 128, 128, 32),
    "matmul_f16": product(F16, F32, 128, 128, 32),
    "matmul_bf16": product(BF16, F32, 128, 128, 32),
    "matmul_f64": product(F64, F64, 128, 128, 32),
    "matmul_e4m3": product(E4M3, F32, 128, 128, 32),
    "matmul_e5m2": product(E5M2, F32, 128, 128, 32),
    "matmul_i8": product(I8, I32, 128, 128, 32),
    "matmul_mxf8": (matmul_scaled, [array(E4M3, 2), array(E8M0, 2), array(E4M3, 2), array(E8M0, 2), array(F32, 2),
                                    128, 128, 128, 32]),
    "softmax_f32": (softmax, [array(F32, 2)] * 2 + [4096]),
    "layernorm_f32": (layernorm, [array(F32, 2), array(F32, 1), array(F32, 1), array(F32, 2), ScalarConstraint(F32),
                                  4096]),
    "attention_f32": attend(F32, 64, 64, 64),
    "attention_f16": attend(F16, 64, 64, 64),
}

if __name__ == "__main__":
    for name, (kernel, args) in FILES.items():
        signature = KernelSignature(args, calling_convention=CallingConvention.cutile_python_v1(), symbol=name)
        with open(name + ".tbc", "wb") as f:
            export_kernel(kernel, [signature], f, gpu_code="sm_100" if "mx" in name else "sm_90",
                          output_format="tileir_bytecode", bytecode_version="13.4")
