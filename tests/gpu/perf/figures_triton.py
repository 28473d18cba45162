#!/usr/bin/env python3
"""Kernels of figures.py that carry pointers, in Triton, compiled by its own compiler without a GPU.

    figures_triton.py CASES FOLDER

CASES is what figures.py wrote, FOLDER what tools/perf_build.py made of it: its manifest gets cubins by `triton4` and `triton8` (the
numbers of warps) for the kernels whose name has `_carried_`. Needs Triton 3.6. The parameters of a launch are in the manifest.
"""
import json
import lzma
import os
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

TARGET = GPUTarget("cuda", 90, 32)
WARPS, STAGES, GROUP = (4, 8), 3, 8
LOG2_E = 1.4426950408889634
TYPES = {"f16": "fp16", "bf16": "bf16", "f32": "fp32"}


@triton.jit
def step(acc, pa, pb, m, n, k, rest, M, N):
    a = tl.load(pa, mask=(m[:, None] < M) & (k[None, :] < rest), other=0.0)
    b = tl.load(pb, mask=(k[:, None] < rest) & (n[None, :] < N), other=0.0)
    return tl.dot(a, b, acc)


@triton.jit
def product(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TURNED: tl.constexpr, GROUP: tl.constexpr,
            PARTS: tl.constexpr):
    """PARTS: of K, one for each block along z, which are added in memory."""
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    per = GROUP * columns
    first = tl.program_id(0) // per * GROUP
    high = min(rows - first, GROUP)
    m = (first + tl.program_id(0) % per % high) * BM + tl.arange(0, BM)
    n = tl.program_id(0) % per // high * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    count = tl.cdiv(K, BK) // PARTS
    begin = tl.program_id(2) * count * BK
    pa = A + m[:, None] * K + (begin + k)[None, :]
    pb = B + ((begin + k)[:, None] + n[None, :] * K if TURNED else (begin + k)[:, None] * N + n[None, :])
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, count):
        acc = step(acc, pa, pb, m, n, k, K - begin - i * BK, M, N)
        pa += BK
        pb += BK if TURNED else BK * N
    pc, inside = C + m[:, None] * N + n[None, :], (m[:, None] < M) & (n[None, :] < N)
    if PARTS > 1:
        tl.atomic_add(pc, acc, mask=inside, sem="relaxed")
    else:
        tl.store(pc, acc.to(C.dtype.element_ty), mask=inside)


@triton.jit
def attention(Q, K, V, O, S, T, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    rows, columns, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    queries, keys = tl.program_id(2) * S * D, tl.program_id(2) * T * D
    q = tl.load(Q + queries + rows[:, None] * D + d[None, :])
    pk = K + keys + columns[None, :] * D + d[:, None]
    pv = V + keys + columns[:, None] * D + d[None, :]
    most, total = tl.full((BM,), -1e30, tl.float32), tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for j in range(0, T, BN):
        s = tl.dot(q, tl.load(pk)) * scale
        if CAUSAL:
            s = tl.where(rows[:, None] >= (j + columns)[None, :], s, -1e30)
        now = tl.maximum(most, tl.max(s, 1))
        p = tl.exp2(s - now[:, None])
        a = tl.exp2(most - now)
        total = total * a + tl.sum(p, 1)
        acc = tl.dot(p.to(V.dtype.element_ty), tl.load(pv), acc * a[:, None])
        most = now
        pk += BN * D
        pv += BN * D
    tl.store(O + queries + rows[:, None] * D + d[None, :], (acc / total[:, None]).to(O.dtype.element_ty))


class Case:
    """The function for a kernel of figures.py, its arguments (names of arrays, numbers), constants and grid."""

    def __init__(self, kernel, job):
        axes, self.grid = kernel["axes"], kernel["grid"]
        n = {a["name"]: a["large"]["value"] for a in job["arguments"] if "value" in a["large"]}
        self.types = {a["name"]: "*" + TYPES[a["dtype"]] for a in job["arguments"] if "shape" in a["large"]}
        if axes["work"] == "chain":
            bm, bn, depth = axes["tile"]
            self.function, self.arguments = attention, ["Q", "K", "V", "O", n["S"], n["T"], job["formula"]["scale"] * LOG2_E]
            self.constants = dict(BM=bm, BN=bn, D=depth, CAUSAL=job["formula"]["causal"])
        else:
            bm, bn, bk = axes["tile"]
            self.function, self.arguments = product, ["A", "B", "C", n["M"], n["N"], n["K"]]
            parts = job["formula"].get("parts", [1, 1])[1]
            self.constants = dict(BM=bm, BN=bn, BK=bk, TURNED=job["formula"]["B"]["turned"], GROUP=GROUP, PARTS=parts)
            self.grid = [-(-n["M"] // bm) * -(-n["N"] // bn), 1, parts]

    def type_of(self, argument):
        return self.types[argument] if isinstance(argument, str) else "fp32" if isinstance(argument, float) else "i32"

    def compiled(self, warps):
        names = self.function.arg_names
        signature = {**dict(zip(names, map(self.type_of, self.arguments))), **{n: "constexpr" for n in self.constants}}
        divisible = {(i,): [["tt.divisibility", 16]] for i, a in enumerate(self.arguments)
                     if isinstance(a, str) or isinstance(a, int) and a % 16 == 0}
        source = ASTSource(fn=self.function, signature=signature, constexprs=self.constants, attrs=divisible)
        return triton.compile(source, target=TARGET, options=dict(num_warps=warps, num_stages=STAGES))


def entry(case, made, folder, file):
    """The manifest's entry of a compiled kernel; Triton adds two pointers to memory that these kernels do not need."""
    if made.metadata.global_scratch_size:
        return dict(failed="needs memory of its own")
    with lzma.open(os.path.join(folder, file), "wb") as packed:
        packed.write(made.asm["cubin"])
    return dict(file=file, dynamic=made.metadata.shared, threads=[32 * made.metadata.num_warps, 1, 1], grid=case.grid,
                symbol=made.metadata.name, params=[*case.arguments, None, None])


def main():
    cases, folder = sys.argv[1:]
    with open(os.path.join(cases, "cases.json")) as f:
        jobs = json.load(f)["jobs"]
    path = os.path.join(folder, "manifest.json")
    with open(path) as f:
        manifest = json.load(f)
    chosen = [k for k in manifest["kernels"] if "_carried_" in k["name"]]
    for kernel in chosen:
        case = Case(kernel, jobs[kernel["job"]])
        for warps in WARPS:
            name = "triton%d" % warps
            try:
                kernel["cubins"][name] = entry(case, case.compiled(warps), folder, "%s.%s.cubin.xz" % (kernel["name"], name))
            except Exception as e:      # of any stage of Triton's compiler
                kernel["cubins"][name] = dict(failed=(str(e).strip() or type(e).__name__).splitlines()[0])
            print("%-60s %s" % (kernel["name"], kernel["cubins"][name].get("failed", name)), flush=True)
            if name not in manifest["compilers"]:
                manifest["compilers"].insert(0, name)
    with open(path + ".new", "w") as f:
        json.dump(manifest, f, indent=1)
    os.replace(path + ".new", path)
    print("triton: %d kernels" % len(chosen))


if __name__ == "__main__":
    main()
