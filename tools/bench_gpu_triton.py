"""Kernels in Triton that bench_gpu.py measures beside ours: each with the configurations that are tried."""
import triton
import triton.language as tl


@triton.jit
def vadd_kernel(a, b, c, T: tl.constexpr):
    i = tl.program_id(0) * T + tl.arange(0, T)
    tl.store(c + i, tl.load(a + i) + tl.load(b + i))


@triton.jit
def copy_kernel(a, b, T: tl.constexpr):
    i = tl.program_id(0) * T + tl.arange(0, T)
    tl.store(b + i, tl.load(a + i))


@triton.jit
def transpose_kernel(a, b, rows, columns, T: tl.constexpr):
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    x = tl.load(a + i[:, None] * columns + j[None, :])
    tl.store(b + j[:, None] * rows + i[None, :], tl.trans(x))


@triton.jit
def softmax_kernel(x, y, W: tl.constexpr):
    i = tl.program_id(0) * W + tl.arange(0, W)
    v = tl.load(x + i)
    p = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + i, p / tl.sum(p, axis=0))


@triton.jit
def layernorm_kernel(x, w, b, y, eps, W: tl.constexpr):
    j = tl.arange(0, W)
    i = tl.program_id(0) * W + j
    v = tl.load(x + i).to(tl.float32)
    d = v - tl.sum(v, axis=0) / W
    r = tl.rsqrt(tl.sum(d * d, axis=0) / W + eps)
    tl.store(y + i, d * r * tl.load(w + j).to(tl.float32) + tl.load(b + j).to(tl.float32))


@triton.jit
def rmsnorm_kernel(x, w, y, eps, W: tl.constexpr):
    j = tl.arange(0, W)
    i = tl.program_id(0) * W + j
    v = tl.load(x + i).to(tl.float32)
    r = tl.rsqrt(tl.sum(v * v, axis=0) / W + eps)
    tl.store(y + i, v * r * tl.load(w + j).to(tl.float32))


def vadd(a, b, c):
    return [lambda t=t: vadd_kernel[(a.numel() // t,)](a, b, c, T=t, num_warps=4) for t in (1024, 2048, 4096)]


def copy(a, b):
    return [lambda t=t: copy_kernel[(a.numel() // t,)](a, b, T=t, num_warps=4) for t in (1024, 4096)]


def transpose(a, b):
    m, n = a.shape
    return [lambda t=t, w=w: transpose_kernel[(m // t, n // t)](a, b, m, n, T=t, num_warps=w) for t, w in ((32, 4), (64, 4), (64, 8))]


def softmax(x, y):
    return [lambda w=w: softmax_kernel[(x.shape[0],)](x, y, W=x.shape[1], num_warps=w) for w in (8, 16)]


def layernorm(x, w, b, y, eps):
    return [lambda n=n: layernorm_kernel[(x.shape[0],)](x, w, b, y, eps, W=x.shape[1], num_warps=n) for n in (8, 16)]


def rmsnorm(x, w, y, eps):
    return [lambda n=n: rmsnorm_kernel[(x.shape[0],)](x, w, y, eps, W=x.shape[1], num_warps=n) for n in (8, 16)]
