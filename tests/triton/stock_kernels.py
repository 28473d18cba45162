"""Triton kernels on the subjects of this folder, for stock Triton: each with its arguments and what NumPy expects."""

import numpy as np
import triton
import triton.language as tl

from stock_case import BF16, F8, TF32, case

# ---- rows and elements ----


@triton.jit
def add(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@case(add, grid=(4,), B=256)
def _(r):
    x, y = r.normal(1000), r.normal(1000)
    return [x, y, np.zeros(1000, np.float32), 1000], {2: (x + y, 1e-6)}


@triton.jit
def softmax(x, o, cols, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * cols + i, mask=i < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(o + row * cols + i, e / tl.sum(e, 0), mask=i < cols)


@case(softmax, grid=(5,), B=512)
def _(r):
    x = r.normal(5, 333)
    e = np.exp(x - x.max(1, keepdims=True))
    return [x, np.zeros_like(x), 333], {1: (e / e.sum(1, keepdims=True), 1e-5)}


@triton.jit
def layer_norm(x, w, b, o, cols, eps, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    m = i < cols
    v = tl.load(x + row * cols + i, mask=m, other=0.0)
    mean = tl.sum(v, 0) / cols
    d = tl.where(m, v - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(d * d, 0) / cols + eps)
    tl.store(o + row * cols + i, d * rstd * tl.load(w + i, mask=m) + tl.load(b + i, mask=m), mask=m)


@case(layer_norm, grid=(4,), B=256)
def _(r):
    x, w, b = r.normal(4, 200), r.normal(200), r.normal(200)
    d = x - x.mean(1, keepdims=True)
    want = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b
    return [x, w, b, np.zeros_like(x), 200, np.float32(1e-5)], {3: (want, 1e-4)}


@triton.jit
def rms_norm(x, w, o, cols, B: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for j in range(0, cols, B):
        i = j + tl.arange(0, B)
        v = tl.load(x + row * cols + i, mask=i < cols, other=0.0).to(tl.float32)
        total += v * v
    scale = tl.rsqrt(tl.sum(total, 0) / cols + 1e-6)
    for j in range(0, cols, B):
        i = j + tl.arange(0, B)
        v = tl.load(x + row * cols + i, mask=i < cols, other=0.0).to(tl.float32)
        y = v * scale * tl.load(w + i, mask=i < cols, other=0.0).to(tl.float32)
        tl.store(o + row * cols + i, y.to(tl.float16), mask=i < cols)


@case(rms_norm, grid=(3,), B=128)
def _(r):
    x, w = r.normal(3, 500).astype(np.float16), r.normal(500).astype(np.float16)
    f = x.astype(np.float32)
    want = f / np.sqrt((f * f).mean(1, keepdims=True) + 1e-6) * w.astype(np.float32)
    return [x, w, np.zeros_like(x), 500], {2: (want, 4e-3)}


@triton.jit
def gelu_gate(x, g, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    v = tl.load(x + i, mask=m)
    y = 0.5 * v * (1.0 + tl.erf(v * 0.70710678)) * tl.sigmoid(tl.load(g + i, mask=m))
    tl.store(o + i, y, mask=m)


@case(gelu_gate, grid=(3,), B=256)
def _(r):
    from math import erf

    x, g = r.normal(700), r.normal(700)
    want = 0.5 * x * (1 + np.vectorize(erf)(x * 0.70710678)) / (1 + np.exp(-g))
    return [x, g, np.zeros_like(x), 700], {2: (want, 1e-5)}


@triton.jit
def cross_entropy(x, label, o, cols, B: tl.constexpr):
    row = tl.program_id(0)
    most, total = -float("inf"), 0.0
    for j in range(0, cols, B):
        i = j + tl.arange(0, B)
        v = tl.load(x + row * cols + i, mask=i < cols, other=-float("inf"))
        now = tl.maximum(most, tl.max(v, 0))
        total = total * tl.exp(most - now) + tl.sum(tl.exp(v - now), 0)
        most = now
    tl.store(o + row, most + tl.log(total) - tl.load(x + row * cols + tl.load(label + row)))


@case(cross_entropy, grid=(6,), B=128)
def _(r):
    x, label = r.normal(6, 400), r.integers(0, 400, 6)
    want = np.log(np.exp(x).sum(1)) - x[np.arange(6), label]
    return [x, label, np.zeros(6, np.float32), 400], {2: (want, 1e-4)}


@triton.jit
def argmax(x, o, cols, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    tl.store(o + row, tl.argmax(tl.load(x + row * cols + i, mask=i < cols, other=-float("inf")), 0))


@case(argmax, grid=(4,), B=256)
def _(r):
    x = r.normal(4, 250)
    return [x, np.zeros(4, np.int32), 250], {1: (x.argmax(1), 0)}


@triton.jit
def cumulative_sum(x, o, R: tl.constexpr, C: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(o + at, tl.cumsum(tl.load(x + at), 1, reverse=REVERSE))


@case(cumulative_sum, grid=(1,), R=16, C=64, REVERSE=False)
@case(cumulative_sum, grid=(1,), R=16, C=64, REVERSE=True, name="cumulative_sum_reversed")
def _(r, REVERSE):
    x = r.integers(-4, 5, 16, 64).astype(np.float32)
    want = x[:, ::-1].cumsum(1)[:, ::-1] if REVERSE else x.cumsum(1)
    return [x, np.zeros_like(x)], {1: (want, 0)}


@triton.jit
def recurrence(a, x, o, T: tl.constexpr):
    i = tl.arange(0, T)
    _, y = tl.associative_scan((tl.load(a + i), tl.load(x + i)), 0, _step)
    tl.store(o + i, y)


@triton.jit
def _step(a, x, b, y):
    return a * b, b * x + y


@case(recurrence, grid=(1,), T=128)
def _(r):
    a, x = r.unit(128), r.normal(128)
    want, h = np.zeros(128), 0.0
    for t in range(128):
        h = a[t] * h + x[t]
        want[t] = h
    return [a, x, np.zeros(128, np.float32)], {2: (want, 1e-4)}


@triton.jit
def sort_rows(x, o, C: tl.constexpr):
    at = tl.program_id(0) * C + tl.arange(0, C)
    tl.store(o + at, tl.sort(tl.load(x + at)))


@case(sort_rows, grid=(2,), C=128)
def _(r):
    x = r.normal(2, 128)
    return [x, np.zeros_like(x)], {1: (np.sort(x), 0)}


@triton.jit
def histogram(x, o, n, B: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    h = tl.histogram(tl.load(x + i, mask=i < n, other=0), BINS, mask=i < n)
    tl.atomic_add(o + tl.arange(0, BINS), h)


@case(histogram, grid=(3,), B=256, BINS=32)
def _(r):
    x = r.integers(0, 32, 700)
    return [x, np.zeros(32, np.int32), 700], {1: (np.bincount(x, minlength=32), 0)}


@triton.jit
def transpose(x, o, M, N, B: tl.constexpr):
    m, n = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    inside = (m[:, None] < M) & (n[None, :] < N)
    v = tl.load(x + m[:, None] * N + n[None, :], mask=inside)
    tl.store(o + n[:, None] * M + m[None, :], tl.trans(v), mask=tl.trans(inside))


@case(transpose, grid=(2, 3), B=32)
def _(r):
    x = r.normal(50, 70)
    return [x, np.zeros((70, 50), np.float32), 50, 70], {1: (x.T, 0)}


@triton.jit
def embedding(table, token, o, cols, B: tl.constexpr):
    row = tl.load(token + tl.program_id(0))
    i = tl.arange(0, B)
    tl.store(o + tl.program_id(0) * cols + i, tl.load(table + row * cols + i, mask=i < cols), mask=i < cols)


@case(embedding, grid=(9,), B=128)
def _(r):
    table, token = r.normal(20, 100), r.integers(0, 20, 9)
    return [table, token, np.zeros((9, 100), np.float32), 100], {2: (table[token], 0)}


@triton.jit
def rotary(x, cos, sin, o, H: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, H)
    a, b = tl.load(x + row * 2 * H + i), tl.load(x + row * 2 * H + H + i)
    c, s = tl.load(cos + row * H + i), tl.load(sin + row * H + i)
    tl.store(o + row * 2 * H + i, a * c - b * s)
    tl.store(o + row * 2 * H + H + i, b * c + a * s)


@case(rotary, grid=(4,), H=64)
def _(r):
    x, c, s = r.normal(4, 128), r.normal(4, 64), r.normal(4, 64)
    a, b = x[:, :64], x[:, 64:]
    return [x, c, s, np.zeros_like(x)], {3: (np.concatenate([a * c - b * s, b * c + a * s], 1), 1e-5)}


@triton.jit
def quantize_rows(x, o, scale, cols, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * cols + i, mask=i < cols, other=0.0)
    s = tl.maximum(tl.max(tl.abs(v), 0), 1e-6) / 127.0
    tl.store(scale + row, s)
    tl.store(o + row * cols + i, tl.extra.libdevice.rint(v / s).to(tl.int8), mask=i < cols)


@case(quantize_rows, grid=(3,), B=128)
def _(r):
    x = r.normal(3, 100)
    s = np.abs(x).max(1, keepdims=True) / np.float32(127)
    return [x, np.zeros((3, 100), np.int8), np.zeros(3, np.float32), 100], {1: (np.rint(x / s), 1), 2: (s[:, 0], 1e-6)}


@triton.jit
def sum_last_block(x, o, count, partial, n, B: tl.constexpr, BLOCKS: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    tl.store(partial + pid, tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))
    tl.debug_barrier()
    if tl.atomic_add(count, 1) == BLOCKS - 1:
        tl.store(o, tl.sum(tl.load(partial + tl.arange(0, BLOCKS), volatile=True), 0))


@case(sum_last_block, grid=(4,), B=256, BLOCKS=4)
def _(r):
    x = r.integers(-3, 4, 1000).astype(np.float32)
    arrays = [x, np.zeros(1, np.float32), np.zeros(1, np.int32), np.zeros(4, np.float32), 1000]
    return arrays, {1: (x.sum(keepdims=True), 0)}


@triton.jit
def dropout(x, o, n, p, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    keep = tl.rand(seed, i) > p
    tl.store(o + i, tl.where(keep, tl.load(x + i, mask=i < n) / (1 - p), 0.0), mask=i < n)


@case(dropout, grid=(4,), B=256)
def _(r):
    x = np.ones(1000, np.float32)
    return [x, np.zeros_like(x), 1000, np.float32(0.5), 7], {1: (lambda o: set(np.unique(o)) == {0, 2} and 400 < (o > 0).sum() < 600, 0)}


# ---- products ----


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TB: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32 if c.dtype.element_ty != tl.int32 else tl.int32)
    pa = a + m[:, None] * K + k[None, :]
    pb = b + (n[None, :] * K + k[:, None] if TB else k[:, None] * N + n[None, :])
    for i in range(0, K, BK):
        x = tl.load(pa, mask=(m[:, None] < M) & (k[None, :] + i < K), other=0.0)
        y = tl.load(pb, mask=(n[None, :] < N) & (k[:, None] + i < K), other=0.0)
        acc = tl.dot(x, y, acc, out_dtype=acc.dtype)
        pa += BK
        pb += BK if TB else BK * N
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def product(r, a_type, b_type, out, m, n, k, transposed, tolerance):
    a, x = r.exact(a_type, m, k)
    b, y = r.exact(b_type, *((n, k) if transposed else (k, n)))
    want = x @ (y.T if transposed else y)
    return [a, b, np.zeros((m, n), out), m, n, k], {2: (want, tolerance)}


@case(matmul, grid=(2, 2), BM=128, BN=128, BK=64, TB=False, num_stages=3, name="matmul_f16")
def _(r):
    return product(r, np.float16, np.float16, np.float16, 200, 192, 160, False, 2e-2)


@case(matmul, grid=(1, 2), BM=128, BN=64, BK=64, TB=True, num_stages=2, num_warps=8, name="matmul_bf16_transposed")
def _(r):
    return product(r, BF16, BF16, np.float32, 128, 128, 192, True, 1e-5)


@case(matmul, grid=(1, 1), BM=64, BN=128, BK=32, TB=False, num_stages=3, name="matmul_tf32")
def _(r):
    return product(r, TF32, TF32, np.float32, 64, 128, 96, False, 1e-5)


@case(matmul, grid=(1, 1), BM=128, BN=128, BK=64, TB=True, num_stages=3, name="matmul_f8")
def _(r):
    return product(r, F8, F8, np.float32, 128, 128, 128, True, 1e-5)


@case(matmul, grid=(1, 1), BM=64, BN=64, BK=64, TB=True, num_stages=2, name="matmul_i8")
def _(r):
    return product(r, np.int8, np.int8, np.int32, 64, 64, 128, True, 0)


@case(matmul, grid=(1, 1), BM=16, BN=32, BK=32, TB=False, num_stages=2, num_warps=2, name="matmul_small")
def _(r):
    return product(r, np.float16, np.float16, np.float32, 16, 32, 64, False, 1e-5)


@case(matmul, grid=(1, 1), BM=128, BN=256, BK=64, TB=False, num_stages=3, num_warps=8, name="matmul_wide")
def _(r):
    return product(r, np.float16, np.float16, np.float16, 128, 256, 128, False, 2e-2)


@triton.jit
def matmul_split_k(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.program_id(0) * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K // (BK * SPLIT)):
        x = tl.load(a + m[:, None] * K + k[None, :])
        acc = tl.dot(x, tl.load(b + k[:, None] * N + n[None, :]), acc)
        k += BK * SPLIT
    tl.atomic_add(c + m[:, None] * N + n[None, :], acc)


@case(matmul_split_k, grid=(2,), BM=64, BN=64, BK=32, SPLIT=2)
def _(r):
    return product(r, np.float16, np.float16, np.float32, 64, 64, 256, False, 1e-5)


@triton.jit
def matmul_bias_relu(a, b, bias, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        acc = tl.dot(tl.load(a + m[:, None] * K + i + k[None, :]), tl.load(b + (i + k[:, None]) * BN + n[None, :]), acc)
    y = tl.maximum(acc + tl.load(bias + n)[None, :], 0.0)
    tl.store(c + m[:, None] * BN + n[None, :], y.to(tl.float16))


@case(matmul_bias_relu, grid=(1,), BM=128, BN=64, BK=32, num_stages=4)
def _(r):
    (a, x), (b, y) = r.exact(np.float16, 128, 160), r.exact(np.float16, 160, 64)
    bias = r.normal(64)
    return [a, b, bias, np.zeros((128, 64), np.float16), 160], {3: (np.maximum(x @ y + bias, 0), 2e-2)}


@triton.jit
def matmul_int4(a, b, scale, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        packed = tl.load(b + ((i + k[:, None]) // 2) * BN + n[None, :])
        w = ((packed >> ((k[:, None] % 2) * 4).to(tl.uint8)) & 15).to(tl.float16) - 8.0
        acc = tl.dot(tl.load(a + m[:, None] * K + i + k[None, :]), w, acc)
    tl.store(c + m[:, None] * BN + n[None, :], acc * tl.load(scale + n)[None, :])


@case(matmul_int4, grid=(1,), BM=64, BN=64, BK=32)
def _(r):
    a, x = r.exact(np.float16, 64, 64)
    b, scale = r.integers(0, 256, 32, 64).astype(np.uint8), r.unit(64)
    w = np.stack([b & 15, b >> 4], 1).reshape(64, 64).astype(np.float32) - 8
    return [a, b, scale, np.zeros((64, 64), np.float32), 64], {3: (x @ w * scale, 1e-4)}


@triton.jit
def matmul_descriptor(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    tiles_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=WS, warp_specialize=WS):
        m, n = tile // tiles_n * BM, tile % tiles_n * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(da.load([m, k]), db.load([n, k]).T, acc)
        dc.store([m, n], acc.to(tl.float16))


@case(matmul_descriptor, grid=(2,), BM=128, BN=64, BK=64, WS=False, num_stages=3)
@case(matmul_descriptor, grid=(2,), BM=128, BN=64, BK=64, WS=True, num_stages=3, name="matmul_descriptor_specialised")
def _(r, WS):
    return product(r, np.float16, np.float16, np.float16, 256, 128, 192, True, 2e-2)


@triton.jit
def matmul_map(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=WS):
        acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
    c.store([m, n], acc.to(tl.float16))


BOXES = {0: (128, 64), 1: (64, 64), 2: (128, 64)}


@case(matmul_map, grid=(1, 2), boxes=BOXES, BM=128, BN=64, BK=64, WS=False, num_stages=3)
@case(matmul_map, grid=(1, 2), boxes=BOXES, BM=128, BN=64, BK=64, WS=True, num_stages=3, name="matmul_map_specialised")
def _(r):
    arrays, want = product(r, np.float16, np.float16, np.float16, 128, 128, 192, True, 2e-2)
    return arrays[:3] + [192], want


@triton.jit
def matmul_scaled(a, sa, b, sb, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, KIND: tl.constexpr):
    PACK: tl.constexpr = 2 if KIND == "e2m1" else 1
    m, n, k, s = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK // PACK), tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K // BK):
        x = tl.load(a + m[:, None] * (K // PACK) + i * (BK // PACK) + k[None, :])
        y = tl.load(b + n[None, :] * (K // PACK) + i * (BK // PACK) + k[:, None])
        scale_a = tl.load(sa + m[:, None] * (K // 32) + i * (BK // 32) + s[None, :])
        scale_b = tl.load(sb + n[:, None] * (K // 32) + i * (BK // 32) + s[None, :])
        acc = tl.dot_scaled(x, scale_a, KIND, y, scale_b, KIND, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


def scaled(r, kind, m, n, k):
    pack = 2 if kind == "e2m1" else 1
    e2m1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
    arrays, values = [], []
    for rows in (m, n):
        if pack == 2:
            codes = r.integers(0, 16, rows, k).astype(np.uint8)
            value = np.where(codes & 8, -1, 1) * e2m1[codes & 7]
            bits = codes[:, ::2] | codes[:, 1::2] << 4
        else:
            bits, value = r.exact(F8, rows, k)
        scale = r.integers(125, 130, rows, k // 32).astype(np.uint8)
        arrays += [bits, scale]
        values.append(value * np.exp2(scale.astype(np.float32) - 127).repeat(32, 1))
    return [*arrays, np.zeros((m, n), np.float32), m, n, k], {4: (values[0] @ values[1].T, 1e-4)}


@case(matmul_scaled, grid=(1,), BM=128, BN=128, BK=128, KIND="e4m3", num_stages=2, name="matmul_scaled_f8")
@case(matmul_scaled, grid=(1,), BM=128, BN=128, BK=128, KIND="e2m1", num_stages=2, name="matmul_scaled_f4")
def _(r, KIND):
    return scaled(r, KIND, 128, 128, 256)


# ---- attention ----


@triton.jit
def attention(q, k, v, o, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr, WS: tl.constexpr):
    head, first = tl.program_id(1), tl.program_id(0) * BM
    rows, cols, d = first + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    base = head * n * D
    x = tl.load(q + base + rows[:, None] * D + d[None, :])
    most = tl.full((BM,), -1e30, tl.float32)
    total, acc = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for j in tl.range(0, first + BM if CAUSAL else n, BN, warp_specialize=WS):
        y = tl.load(k + base + (j + cols)[None, :] * D + d[:, None])
        s = tl.dot(x, y) * scale
        if CAUSAL:
            s = tl.where(rows[:, None] >= (j + cols)[None, :], s, -1e30)
        now = tl.maximum(most, tl.max(s, 1))
        p = tl.exp2(s - now[:, None])
        a = tl.exp2(most - now)
        total = total * a + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + base + (j + cols)[:, None] * D + d[None, :]), acc * a[:, None])
        most = now
    tl.store(o + base + rows[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


def attended(r, causal):
    q, k, v = (r.normal(2, 256, 64).astype(np.float16) for _ in range(3))
    s = q.astype(np.float32) @ k.astype(np.float32).transpose(0, 2, 1) * 0.125
    if causal:
        s = np.where(np.tri(256, dtype=bool), s, -1e30)
    p = np.exp(s - s.max(2, keepdims=True))
    want = p / p.sum(2, keepdims=True) @ v.astype(np.float32)
    return [q, k, v, np.zeros_like(q), 256, np.float32(0.125 * 1.44269504)], {3: (want, 5e-3)}


@case(attention, grid=(2, 2), BM=128, BN=64, D=64, CAUSAL=False, WS=False, num_stages=2)
@case(attention, grid=(2, 2), BM=128, BN=64, D=64, CAUSAL=True, WS=False, num_stages=2, name="attention_causal")
@case(attention, grid=(2, 2), BM=128, BN=64, D=64, CAUSAL=False, WS=True, num_stages=2, name="attention_specialised")
def _(r, CAUSAL):
    return attended(r, CAUSAL)


@triton.jit
def decode(q, k, v, o, table, n, BN: tl.constexpr, D: tl.constexpr):
    head, cols, d = tl.program_id(0), tl.arange(0, BN), tl.arange(0, D)
    x = tl.load(q + head * D + d)
    most, total, acc = -1e30, 0.0, tl.zeros((D,), tl.float32)
    for j in range(0, tl.cdiv(n, BN)):
        at = (tl.load(table + j) * BN + cols)[:, None] * D + d[None, :]
        s = tl.sum(tl.load(k + at) * x[None, :], 1)
        s = tl.where(j * BN + cols < n, s, -1e30)
        now = tl.maximum(most, tl.max(s, 0))
        p = tl.exp(s - now)
        a = tl.exp(most - now)
        total = total * a + tl.sum(p, 0)
        acc = acc * a + tl.sum(p[:, None] * tl.load(v + at), 0)
        most = now
    tl.store(o + head * D + d, acc / total)


@case(decode, grid=(3,), BN=32, D=64, name="paged_decoding")
def _(r):
    q, k, v = r.normal(3, 64) / 8, r.normal(128, 64), r.normal(128, 64)
    table = np.array([2, 0, 3], np.int32)
    rows = (table[:, None] * 32 + np.arange(32)).ravel()[:80]
    s = q @ k[rows].T
    p = np.exp(s - s.max(1, keepdims=True))
    return [q, k, v, np.zeros_like(q), table, 80], {3: (p / p.sum(1, keepdims=True) @ v[rows], 1e-4)}
