"""Kernels as people write them in their first week: each beside its work and sizes. Own code, from cuTile's documentation."""
import cuda.tile as ct

import kernels as k
from case import Job, Kernel, array, name_of, number, out, parts
from sweep import attention_job, product_job

CI = ct.Constant[int]
F32, F16, I32 = ct.float32, ct.float16, ct.int32
ZERO, NEG_INF = ct.PaddingMode.ZERO, ct.PaddingMode.NEG_INF
JOBS, KERNELS = [], []


def add(job, *kernels):
    JOBS.append(job)
    KERNELS.extend(kernels)


def rows(M, **_):
    return (M, 1, 1)


# Products of other shapes

def products(name, M, N, K, *tiles):
    job = product_job(name, "f16", "f16", 0.01, M, N, K)
    job.tiny = dict(M=min(M, 128), N=min(N, 128), K=min(K, 128))
    add(job, *(Kernel(name_of(name, tm, tn, tk), name, k.product, [tm, tn, tk, 8],
                      lambda M, N, K, tm=tm, tn=tn: (parts(M, tm) * parts(N, tn), 1, 1)) for tm, tn, tk in tiles))


products("mm_1024", 1024, 1024, 1024, (64, 64, 64), (128, 64, 64), (128, 128, 64))
products("mm_12288x4096x2560", 12288, 4096, 2560, (128, 128, 64), (128, 256, 64), (256, 128, 32))
products("mm_tall", 131072, 128, 256, (128, 128, 64), (64, 64, 64))
products("mm_skinny", 64, 8192, 8192, (64, 128, 64), (64, 64, 128))


@ct.kernel
def split_k(A, B, C, TM: CI, TN: CI, TK: CI, SPLIT: CI):
    """parts of the sums go into C by atomic additions"""
    i, j, part = ct.bid(0), ct.bid(1), ct.bid(2)
    dtype = ct.tfloat32 if A.dtype == F32 else A.dtype
    each = ct.num_tiles(A, axis=1, shape=(TM, TK)) // SPLIT
    acc = ct.zeros((TM, TN), dtype=F32)
    for step in range(part * each, (part + 1) * each):
        a, b = ct.load(A, index=(i, step), shape=(TM, TK)), ct.load(B, index=(step, j), shape=(TK, TN))
        acc = ct.mma(a.astype(dtype), b.astype(dtype), acc)
    row = i * TM + ct.arange(TM, dtype=I32)[:, None]
    column = j * TN + ct.arange(TN, dtype=I32)[None, :]
    ct.atomic_add(C, (row, column), acc)


def split_case(name, dtype, *tiles):
    def arguments(M, N, K):
        return [array("A", dtype, M, K), array("B", dtype, K, N), array("C", "f32", M, N, init="fill 0", role="inout")]
    add(Job(name, "product", arguments, dict(M=128, N=128, K=8192), dict(M=128, N=128, K=1024), 0.01, lambda M, N, K: 2 * M * N * K),
        *(Kernel("%s_%dx%dx%d_by%d" % (name, *t, split), name, split_k, [*t, split],
                 lambda M, N, K, t=t, split=split: (parts(M, t[0]), parts(N, t[1]), split)) for t, split in tiles))


split_case("split_k", "f16", ((128, 128, 64), 16), ((64, 64, 64), 8), ((32, 32, 64), 4))
split_case("split_k_tf32", "f32", ((32, 64, 128), 8), ((64, 64, 64), 8))


@ct.kernel
def product_plain(A, B, C, TM: CI, TN: CI, TK: CI):
    """a grid of two dimensions, no order of blocks"""
    i, j = ct.bid(0), ct.bid(1)
    ct.store(C, index=(i, j), tile=k.product_tile(A, B, i, j, TM, TN, TK).astype(C.dtype))


@ct.kernel
def product_transposed(A, B, C, TM: CI, TN: CI, TK: CI):
    """A times B transposed, as weights of linear layers are kept; sums are of C's type for integers"""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=I32 if C.dtype == I32 else F32)
    for step in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        b = ct.load(B, index=(j, step), shape=(TN, TK))
        acc = ct.mma(ct.load(A, index=(i, step), shape=(TM, TK)), ct.transpose(b), acc)
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


def square(name, kernel, expected, n, dtype, result, transposed, tolerance, *tiles, init="normal"):
    def arguments(M, N, K):
        return [array("A", dtype, M, K, init=init), array("B", dtype, *((N, K) if transposed else (K, N)), init=init), out("C", result, M, N)]
    add(Job(name, expected, arguments, dict(M=n, N=n, K=n), dict(M=256, N=256, K=256), tolerance, lambda M, N, K: 2 * M * N * K),
        *(Kernel(name_of(name, *t), name, kernel, [*t], lambda M, N, K, t=t: (parts(M, t[0]), parts(N, t[1]), 1)) for t in tiles))


square("mm_plain_bf16", product_plain, "product", 8192, "bf16", "bf16", False, 0.02, (128, 128, 64), (128, 256, 64), (64, 64, 64),
       (64, 128, 64), (128, 64, 64))
square("linear_bf16", product_transposed, "product_transposed", 8192, "bf16", "bf16", True, 0.02, (128, 128, 64), (128, 256, 64))
square("linear_e4m3", product_transposed, "product_transposed", 8192, "f8e4m3fn", "bf16", True, 0.02, (128, 128, 128), (128, 256, 128))
square("linear_u8", product_transposed, "product_transposed", 8192, "u8", "i32", True, 0, (128, 128, 128), init="below 16")


@ct.kernel
def product_bias_gelu(A, B, bias, C, TM: CI, TN: CI, TK: CI):
    i, j = ct.bid(0), ct.bid(1)
    x = k.product_tile(A, B, i, j, TM, TN, TK) + ct.load(bias, index=(j,), shape=(TN,))[None, :].astype(F32)
    y = 0.5 * x * (1.0 + ct.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    ct.store(C, index=(i, j), tile=y.astype(C.dtype))


add(Job("mm_bias_gelu", "product_bias_gelu",
        lambda M, N, K: [array("A", "bf16", M, K, init="normal 0.1"), array("B", "bf16", K, N, init="normal 0.1"), array("bias", "bf16", N),
                         out("C", "bf16", M, N)],
        dict(M=4096, N=4096, K=4096), dict(M=128, N=128, K=128), 0.02, lambda M, N, K: 2 * M * N * K),
    Kernel("mm_bias_gelu_128x128x64", "mm_bias_gelu", product_bias_gelu, [128, 128, 64],
           lambda M, N, K: (parts(M, 128), parts(N, 128), 1)))


@ct.kernel
def gated_product(A, G, U, C, TM: CI, TN: CI, TK: CI):
    """silu(A G) * (A U), two products in one loop"""
    i, j = ct.bid(0), ct.bid(1)
    gate, up = ct.zeros((TM, TN), dtype=F32), ct.zeros((TM, TN), dtype=F32)
    for step in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        a = ct.load(A, index=(i, step), shape=(TM, TK))
        gate = ct.mma(a, ct.load(G, index=(step, j), shape=(TK, TN)), gate)
        up = ct.mma(a, ct.load(U, index=(step, j), shape=(TK, TN)), up)
    ct.store(C, index=(i, j), tile=(gate / (1.0 + ct.exp(-gate)) * up).astype(C.dtype))


add(Job("mm_gated", "gated_product",
        lambda M, N, K: [array("A", "bf16", M, K, init="normal 0.1"), array("G", "bf16", K, N, init="normal 0.1"),
                         array("U", "bf16", K, N, init="normal 0.1"), out("C", "bf16", M, N)],
        dict(M=4096, N=4096, K=4096), dict(M=128, N=128, K=128), 0.02, lambda M, N, K: 4 * M * N * K),
    Kernel("mm_gated_128x128x64", "mm_gated", gated_product, [128, 128, 64], lambda M, N, K: (parts(M, 128), parts(N, 128), 1)))


@ct.kernel
def gemv(A, x, y, TM: CI, TK: CI):
    i = ct.bid(0)
    acc = ct.zeros((TM, TK), dtype=F32)
    for step in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        a = ct.load(A, index=(i, step), shape=(TM, TK)).astype(F32)
        acc += a * ct.load(x, index=(step,), shape=(TK,)).astype(F32)[None, :]
    ct.store(y, index=(i,), tile=ct.sum(acc, axis=1).astype(y.dtype))


add(Job("gemv", "gemv", lambda M, K: [array("A", "f16", M, K), array("x", "f16", K), out("y", "f32", M)],
        dict(M=16384, K=16384), dict(M=64, K=1024), 0.01),
    Kernel("gemv_f16_16x512", "gemv", gemv, [16, 512], lambda M, K: (parts(M, 16), 1, 1)))


@ct.kernel
def convolution(X, W, Y, HEIGHT: CI, WIDTH: CI, C: CI, TM: CI, TN: CI, TC: CI):
    """3 by 3, padded: X is (pixels of all images, channels), W (9 C, channels), taps by masked gathers"""
    i, j = ct.bid(0), ct.bid(1)
    pixel = i * TM + ct.arange(TM, dtype=I32)
    y, x = pixel // WIDTH % HEIGHT, pixel % WIDTH
    acc = ct.zeros((TM, TN), dtype=F32)
    for tap in range(9):
        dy, dx = tap // 3 - 1, tap % 3 - 1
        inside = (y + dy >= 0) & (y + dy < HEIGHT) & (x + dx >= 0) & (x + dx < WIDTH)
        source = (pixel + dy * WIDTH + dx)[:, None]
        for c in range(C // TC):
            channel = c * TC + ct.arange(TC, dtype=I32)[None, :]
            a = ct.gather(X, (source, channel), mask=inside[:, None], padding_value=0.0)
            b = ct.load(W, index=(tap * (C // TC) + c, j), shape=(TC, TN))
            acc = ct.mma(a, b, acc)
    ct.store(Y, index=(i, j), tile=acc.astype(Y.dtype))


def convolution_case(images, height, width, C, N, tm, tn, tc):
    name = "conv3x3_%dx%dx%d" % (height, width, C)

    def arguments(images):
        pixels = images * height * width
        return [array("X", "f16", pixels, C), array("W", "f16", 9 * C, N), out("Y", "f16", pixels, N), number("height", height, "constant"),
                number("width", width, "constant")]
    add(Job(name, "convolution", arguments, dict(images=images), dict(images=1), 0.01,
            lambda images: 2 * images * height * width * 9 * C * N),
        Kernel(name_of(name, tm, tn, tc), name, convolution, [height, width, C, tm, tn, tc],
               lambda images: (parts(images * height * width, tm), parts(N, tn), 1)))


convolution_case(64, 32, 32, 128, 128, 128, 128, 64)


# Attention of other kinds

def attention_case(name, expected, kernel, B, H, S, D, tm, tn, causal, constants):
    add(attention_job(name, expected, B, H, S, D, causal),
        Kernel(name_of(name, tm, tn), name, kernel, constants, lambda B, H, S, D: (parts(S, tm), H, B)))


attention_case("fmha_full", "attention_full", k.attention, 4, 16, 4096, 64, 128, 64, False, [64, 128, 64, False])


@ct.kernel
def attention_masked(Q, K, V, O, scale, GROUP: CI, D: CI, TM: CI, TN: CI):
    """causal, grouped queries; every tile is masked, and keys past the last row are skipped"""
    i, h, b = ct.bid(0), ct.bid(1), ct.bid(2)
    row = i * TM + ct.arange(TM, dtype=I32)[:, None]
    m = ct.full((TM, 1), k.LOW, dtype=F32)
    l = ct.zeros((TM, 1), dtype=F32)
    acc = ct.zeros((TM, D), dtype=F32)
    q = ct.load(Q, index=(b, h, i, 0), shape=(1, 1, TM, D)).reshape((TM, D))
    for j in range(ct.cdiv((i + 1) * TM, TN)):
        key = ct.load(K, index=(b, h // GROUP, j, 0), shape=(1, 1, TN, D)).reshape((TN, D))
        s = ct.mma(q, ct.transpose(key), ct.zeros((TM, TN), dtype=F32)) * scale
        s = ct.where(j * TN + ct.arange(TN, dtype=I32)[None, :] <= row, s, -float("inf"))
        high = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp(s - high)
        old = ct.exp(m - high)
        l = l * old + ct.sum(p, axis=1, keepdims=True)
        v = ct.load(V, index=(b, h // GROUP, j, 0), shape=(1, 1, TN, D)).reshape((TN, D))
        acc = ct.mma(p.astype(V.dtype), v, acc * old)
        m = high
    ct.store(O, index=(b, h, i, 0), tile=(acc / l).astype(O.dtype).reshape((1, 1, TM, D)))


def grouped_arguments(B, H, S):
    keys = [array(n, "bf16", B, H // 4, S, 128) for n in "KV"]
    return [array("Q", "bf16", B, H, S, 128), *keys, out("O", "bf16", B, H, S, 128), number("scale", 128 ** -0.5)]


add(Job("fmha_grouped", "attention_grouped", grouped_arguments, dict(B=2, H=32, S=4096), dict(B=1, H=4, S=256), 0.03,
        lambda B, H, S: 2 * B * H * S * S * 128),
    *(Kernel(name_of("fmha_grouped", tm, tn), "fmha_grouped", attention_masked, [4, 128, tm, tn],
             lambda B, H, S, tm=tm: (parts(S, tm), H, B)) for tm, tn in [(128, 128), (128, 64), (64, 64)]))


@ct.kernel
def attention_soft_cap(Q, K, V, O, scale, D: CI, TM: CI, TN: CI, CAP: CI):
    """scores are capped softly: CAP tanh(s / CAP); natural exponentials, scale is 1 / sqrt(D)"""
    i, h, b = ct.bid(0), ct.bid(1), ct.bid(2)
    m = ct.full((TM, 1), k.LOW, dtype=F32)
    l = ct.zeros((TM, 1), dtype=F32)
    acc = ct.zeros((TM, D), dtype=F32)
    q = ct.load(Q, index=(b, h, i, 0), shape=(1, 1, TM, D)).reshape((TM, D))
    for j in range(ct.num_tiles(K, axis=2, shape=(1, 1, TN, D))):
        key = ct.load(K, index=(b, h, j, 0), shape=(1, 1, TN, D)).reshape((TN, D))
        s = ct.mma(q, ct.transpose(key), ct.zeros((TM, TN), dtype=F32)) * scale
        s = CAP * ct.tanh(s / CAP)
        high = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp(s - high)
        old = ct.exp(m - high)
        l = l * old + ct.sum(p, axis=1, keepdims=True)
        v = ct.load(V, index=(b, h, j, 0), shape=(1, 1, TN, D)).reshape((TN, D))
        acc = ct.mma(p.astype(V.dtype), v, acc * old)
        m = high
    ct.store(O, index=(b, h, i, 0), tile=(acc / l).astype(O.dtype).reshape((1, 1, TM, D)))


attention_case("fmha_cap_256", "attention_capped", attention_soft_cap, 2, 8, 4096, 256, 64, 64, False, [256, 64, 64, 50])


@ct.kernel
def decode(Q, K, V, O, scale, D: CI, TN: CI):
    """one query a head: no tensor cores, keys in tiles"""
    h = ct.bid(0)
    q = ct.load(Q, index=(h, 0), shape=(1, D)).astype(F32)
    m = ct.full((1,), k.LOW, dtype=F32)
    l = ct.zeros((1,), dtype=F32)
    acc = ct.zeros((D,), dtype=F32)
    for j in range(ct.num_tiles(K, axis=1, shape=(1, TN, D))):
        key = ct.load(K, index=(h, j, 0), shape=(1, TN, D)).reshape((TN, D)).astype(F32)
        s = ct.sum(key * q, axis=1) * scale
        high = ct.maximum(m, ct.max(s, axis=0, keepdims=True))
        p = ct.exp(s - high)
        old = ct.exp(m - high)
        l = l * old + ct.sum(p, axis=0, keepdims=True)
        v = ct.load(V, index=(h, j, 0), shape=(1, TN, D)).reshape((TN, D)).astype(F32)
        acc = acc * old + ct.sum(p[:, None] * v, axis=0)
        m = high
    ct.store(O, index=(h, 0), tile=(acc / l).astype(O.dtype)[None, :])


add(Job("decode", "decode", lambda H, S, D: [array("Q", "f16", H, D), array("K", "f16", H, S, D), array("V", "f16", H, S, D),
                                             out("O", "f16", H, D), number("scale", 128 ** -0.5)],
        dict(H=2048, S=1024, D=128), dict(H=4, S=256, D=128), 0.01),
    Kernel("decode_64", "decode", decode, [128, 64], lambda H, S, D: (H, 1, 1)),
    Kernel("decode_128", "decode", decode, [128, 128], lambda H, S, D: (H, 1, 1)))


def padded_decode(B):
    """one query a head as a tile of 64 rows, of which 63 lie outside: products as of attention, one block a head"""
    def arguments(B, H, S):
        return [array("Q", "f16", B, H, 1, 128), array("K", "f16", B, H, S, 128), array("V", "f16", B, H, S, 128),
                out("O", "f16", B, H, 1, 128), number("scale_log2", 1.4426950408889634 * 128 ** -0.5)]
    name = "decode_padded_%d" % B
    add(Job(name, "attention_full", arguments, dict(B=B, H=32, S=1024), dict(B=1, H=2, S=256), 0.01),
        *(Kernel(name_of(name, 64, tn), name, k.attention, [128, 64, tn, False], lambda B, H, S: (1, H, B), occupancy=occupancy)
          for tn, occupancy in [(128, 1), (64, 2)]))


padded_decode(1)
padded_decode(8)


# Rows: norms, softmax, losses

@ct.kernel
def layer_norm(X, W, B, Y, mean, rstd, eps, TN: CI):
    """three passes over a row"""
    i = ct.bid(0)
    n, length = ct.num_tiles(X, axis=1, shape=(1, TN)), X.shape[1]
    total = ct.zeros((1, TN), dtype=F32)
    for j in range(n):
        total += ct.load(X, index=(i, j), shape=(1, TN), padding_mode=ZERO).astype(F32)
    mu = ct.sum(total, axis=1) / length
    ct.store(mean, index=(i,), tile=mu)
    squares = ct.zeros((1, TN), dtype=F32)
    for j in range(n):
        x = ct.load(X, index=(i, j), shape=(1, TN), padding_mode=ZERO).astype(F32)
        x = ct.where(j * TN + ct.arange(TN, dtype=I32) < length, x - mu, 0)
        squares += x * x
    r = 1 / ct.sqrt(ct.sum(squares, axis=1) / length + eps)
    ct.store(rstd, index=(i,), tile=r)
    for j in range(n):
        x = ct.load(X, index=(i, j), shape=(1, TN), padding_mode=ZERO).astype(F32)
        w = ct.load(W, index=(j,), shape=(TN,), padding_mode=ZERO).astype(F32)
        b = ct.load(B, index=(j,), shape=(TN,), padding_mode=ZERO).astype(F32)
        ct.store(Y, index=(i, j), tile=((x - mu) * r * w + b).astype(Y.dtype))


@ct.kernel
def layer_norm_back(X, W, DY, mean, rstd, DX, TN: CI):
    i = ct.bid(0)
    n, length = ct.num_tiles(X, axis=1, shape=(1, TN)), X.shape[1]
    mu, r = ct.load(mean, index=(i,), shape=(1,)), ct.load(rstd, index=(i,), shape=(1,))
    along, total = ct.zeros((1, TN), dtype=F32), ct.zeros((1, TN), dtype=F32)
    for j in range(n):
        x = (ct.load(X, index=(i, j), shape=(1, TN), padding_mode=ZERO).astype(F32) - mu) * r
        g = ct.load(DY, index=(i, j), shape=(1, TN), padding_mode=ZERO).astype(F32) * ct.load(W, index=(j,), shape=(TN,), padding_mode=ZERO).astype(F32)
        along += x * g
        total += g
    a, b = ct.sum(along, axis=1) / length, ct.sum(total, axis=1) / length
    for j in range(n):
        x = (ct.load(X, index=(i, j), shape=(1, TN), padding_mode=ZERO).astype(F32) - mu) * r
        g = ct.load(DY, index=(i, j), shape=(1, TN), padding_mode=ZERO).astype(F32) * ct.load(W, index=(j,), shape=(TN,), padding_mode=ZERO).astype(F32)
        ct.store(DX, index=(i, j), tile=((g - x * a - b) * r).astype(DX.dtype))


@ct.kernel
def layer_norm_back_weights(X, DY, mean, rstd, DW, DB, TM: CI, TN: CI):
    """sums over the rows, a strip of columns a block"""
    j = ct.bid(0)
    dw, db = ct.zeros((TM, TN), dtype=F32), ct.zeros((TM, TN), dtype=F32)
    for i in range(ct.num_tiles(X, axis=0, shape=(TM, TN))):
        mu, r = ct.load(mean, index=(i,), shape=(TM,))[:, None], ct.load(rstd, index=(i,), shape=(TM,))[:, None]
        g = ct.load(DY, index=(i, j), shape=(TM, TN)).astype(F32)
        dw += (ct.load(X, index=(i, j), shape=(TM, TN)).astype(F32) - mu) * r * g
        db += g
    ct.store(DW, index=(j,), tile=ct.sum(dw, axis=0).astype(DW.dtype))
    ct.store(DB, index=(j,), tile=ct.sum(db, axis=0).astype(DB.dtype))


@ct.kernel
def layer_norm_back_locked(X, W, DY, mean, rstd, DX, DW, DB, locks, TN: CI):
    """the gradients of weights as well: rows of a group add theirs up one after the other, a tile at a time"""
    i = ct.bid(0)
    n, length, group = ct.num_tiles(X, axis=1, shape=(1, TN)), X.shape[1], i % locks.shape[0]
    mu, r = ct.load(mean, index=(i,), shape=(1,)), ct.load(rstd, index=(i,), shape=(1,))
    along, total = ct.zeros((1, TN), dtype=F32), ct.zeros((1, TN), dtype=F32)
    for j in range(n):
        x = (ct.load(X, index=(i, j), shape=(1, TN), padding_mode=ZERO).astype(F32) - mu) * r
        g = ct.load(DY, index=(i, j), shape=(1, TN), padding_mode=ZERO).astype(F32) * ct.load(W, index=(j,), shape=(TN,), padding_mode=ZERO).astype(F32)
        along += x * g
        total += g
    a, b = ct.sum(along, axis=1) / length, ct.sum(total, axis=1) / length
    for j in range(n):
        x = (ct.load(X, index=(i, j), shape=(1, TN), padding_mode=ZERO).astype(F32) - mu) * r
        dy = ct.load(DY, index=(i, j), shape=(1, TN), padding_mode=ZERO).astype(F32)
        g = dy * ct.load(W, index=(j,), shape=(TN,), padding_mode=ZERO).astype(F32)
        ct.store(DX, index=(i, j), tile=((g - x * a - b) * r).astype(DX.dtype))
        dw, db = dy * x, dy
        while ct.atomic_cas(locks, group, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) != 0:
            pass
        ct.store(DW, index=(group, j), tile=ct.load(DW, index=(group, j), shape=(1, TN)) + dw)
        ct.store(DB, index=(group, j), tile=ct.load(DB, index=(group, j), shape=(1, TN)) + db)
        ct.atomic_xchg(locks, group, 0, memory_order=ct.MemoryOrder.RELEASE)


def norm_of_size(dtype, tolerance, M, N):
    name = "layer_norm_%s_%dx%d" % (dtype, M, N)
    add(Job(name, "layer_norm",
            lambda M, N: [array("X", dtype, M, N), array("W", dtype, N), array("B", dtype, N), out("Y", dtype, M, N), out("mean", "f32", M),
                          out("rstd", "f32", M), number("eps", 1e-5)], dict(M=M, N=N), dict(M=8, N=N), tolerance),
        Kernel(name + "_1024", name, layer_norm, [1024], rows))


def locked_norm(dtype, tolerance):
    def arguments(M, N):
        return [array("X", dtype, M, N), array("W", dtype, N), array("DY", dtype, M, N), array("mean", "f32", M, init="normal 0.1"),
                array("rstd", "f32", M, init="fill 1"), out("DX", dtype, M, N), array("DW", "f32", 64, N, init="fill 0", role="inout"),
                array("DB", "f32", 64, N, init="fill 0", role="inout"), array("locks", "i32", 64, init="fill 0", role="inout")]
    name = "layer_norm_%s_back_locked" % dtype
    add(Job(name, "layer_norm_back_locked", arguments, dict(M=16384, N=16384), dict(M=128, N=2048), tolerance),
        Kernel(name + "_1024", name, layer_norm_back_locked, [1024], rows))


def norm_cases(dtype, tolerance):
    big, small = dict(M=65536, N=16384), dict(M=16, N=2048)
    name = "layer_norm_" + dtype
    add(Job(name, "layer_norm",
            lambda M, N: [array("X", dtype, M, N), array("W", dtype, N), array("B", dtype, N), out("Y", dtype, M, N), out("mean", "f32", M),
                          out("rstd", "f32", M), number("eps", 1e-5)], big, small, tolerance),
        *(Kernel("%s_%d" % (name, tn), name, layer_norm, [tn], rows) for tn in (1024, 2048)))
    add(Job(name + "_back", "layer_norm_back",
            lambda M, N: [array("X", dtype, M, N), array("W", dtype, N), array("DY", dtype, M, N), array("mean", "f32", M, init="normal 0.1"),
                          array("rstd", "f32", M, init="fill 1"), out("DX", dtype, M, N)], big, small, tolerance),
        Kernel(name + "_back_1024", name + "_back", layer_norm_back, [1024], rows))
    add(Job(name + "_back_weights", "layer_norm_back_weights",
            lambda M, N: [array("X", dtype, M, N), array("DY", dtype, M, N), array("mean", "f32", M, init="normal 0.1"),
                          array("rstd", "f32", M, init="fill 1"), out("DW", "f32", N), out("DB", "f32", N)], big, small, 0.01),
        Kernel(name + "_back_weights_32x64", name + "_back_weights", layer_norm_back_weights, [32, 64], lambda M, N: (parts(N, 64), 1, 1)))


norm_cases("bf16", 0.02)
norm_cases("f32", 0.001)
for M, N in [(2048, 8192), (100, 250), (128, 512)]:
    norm_of_size("bf16", 0.02, M, N)
    norm_of_size("f32", 0.001, M, N)
locked_norm("bf16", 0.02)


@ct.kernel
def add_rms_norm(X, R, W, Y, eps, N: CI):
    """R, the residual, becomes X + R; Y is its norm"""
    i = ct.bid(0)
    x = ct.load(X, index=(i, 0), shape=(1, N)).astype(F32) + ct.load(R, index=(i, 0), shape=(1, N)).astype(F32)
    ct.store(R, index=(i, 0), tile=x.astype(R.dtype))
    r = ct.rsqrt(ct.sum(x * x, axis=1, keepdims=True) / N + eps)
    ct.store(Y, index=(i, 0), tile=(x * r * ct.load(W, index=(0,), shape=(N,)).astype(F32)[None, :]).astype(Y.dtype))


add(Job("add_rms_norm", "add_rms_norm",
        lambda M, N: [array("X", "bf16", M, N), array("R", "bf16", M, N, role="inout"), array("W", "bf16", N), out("Y", "bf16", M, N),
                      number("eps", 1e-5)], dict(M=32768, N=8192), dict(M=4, N=8192), 0.02),
    Kernel("add_rms_norm_8192", "add_rms_norm", add_rms_norm, [8192], rows))


@ct.kernel
def rms_norm(X, W, Y, eps, TN: CI):
    """two passes over a row; squares written as powers"""
    i = ct.bid(0)
    n, squares = ct.num_tiles(X, axis=1, shape=(1, TN)), ct.zeros((1, TN), dtype=F32)
    for j in range(n):
        squares += ct.load(X, index=(i, j), shape=(1, TN), padding_mode=ZERO).astype(F32) ** 2
    r = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / X.shape[1] + eps)
    for j in range(n):
        x = ct.load(X, index=(i, j), shape=(1, TN), padding_mode=ZERO).astype(F32)
        w = ct.load(W, index=(j,), shape=(TN,), padding_mode=ZERO).astype(F32)[None, :]
        ct.store(Y, index=(i, j), tile=(x * r * w).astype(Y.dtype))


add(Job("rms_norm", "rms_norm",
        lambda M, N: [array("X", "bf16", M, N), array("W", "bf16", N), out("Y", "bf16", M, N), number("eps", 1e-5)],
        dict(M=32768, N=8192), dict(M=4, N=2048), 0.02),
    Kernel("rms_norm_1024", "rms_norm", rms_norm, [1024], rows))


@ct.kernel
def softmax_online(X, Y, TN: CI):
    i = ct.bid(0)
    m, l = ct.full((1, 1), k.LOW, dtype=F32), ct.zeros((1, 1), dtype=F32)
    n = ct.num_tiles(X, axis=1, shape=(1, TN))
    for j in range(n):
        x = ct.load(X, index=(i, j), shape=(1, TN), padding_mode=NEG_INF).astype(F32)
        high = ct.maximum(m, ct.max(x, axis=1, keepdims=True))
        l = l * ct.exp(m - high) + ct.sum(ct.exp(x - high), axis=1, keepdims=True)
        m = high
    for j in range(n):
        x = ct.load(X, index=(i, j), shape=(1, TN), padding_mode=NEG_INF).astype(F32)
        ct.store(Y, index=(i, j), tile=(ct.exp(x - m) / l).astype(Y.dtype))


@ct.kernel
def softmax_whole(X, Y, TM: CI, TN: CI):
    i = ct.bid(0)
    x = ct.load(X, index=(i, 0), shape=(TM, TN), padding_mode=NEG_INF)
    p = ct.exp(x - ct.max(x, axis=1, keepdims=True))
    ct.store(Y, index=(i, 0), tile=p / ct.sum(p, axis=1, keepdims=True))


add(Job("softmax", "softmax_rows", lambda M, N: [array("X", "f32", M, N), out("Y", "f32", M, N)],
        dict(M=32768, N=8192), dict(M=8, N=8192), 0.001),
    Kernel("softmax_online_1024", "softmax", softmax_online, [1024], rows),
    Kernel("softmax_whole_1x8192", "softmax", softmax_whole, [1, 8192], rows),
    Kernel("softmax_whole_4x8192", "softmax", softmax_whole, [4, 8192], lambda M, N: (parts(M, 4), 1, 1)))


@ct.kernel
def cross_entropy(X, target, loss, TN: CI):
    """-log softmax(X)[target]; rows are no multiple of the tile"""
    i = ct.bid(0)
    m, l = ct.full((1, 1), k.LOW, dtype=F32), ct.zeros((1, 1), dtype=F32)
    for j in range(ct.num_tiles(X, axis=1, shape=(1, TN))):
        x = ct.load(X, index=(i, j), shape=(1, TN), padding_mode=NEG_INF).astype(F32)
        high = ct.maximum(m, ct.max(x, axis=1, keepdims=True))
        l = l * ct.exp(m - high) + ct.sum(ct.exp(x - high), axis=1, keepdims=True)
        m = high
    at = ct.load(target, index=(i,), shape=(1,))
    mine = ct.gather(X, (i, at)).astype(F32)
    ct.store(loss, index=(i,), tile=(m + ct.log(l)).reshape((1,)) - mine)


add(Job("cross_entropy", "cross_entropy",
        lambda M, N: [array("X", "bf16", M, N), array("target", "i32", M, init="below 1024"), out("loss", "f32", M)],
        dict(M=8192, N=128256), dict(M=4, N=5008), 0.001),
    Kernel("cross_entropy_2048", "cross_entropy", cross_entropy, [2048], rows),
    Kernel("cross_entropy_4096", "cross_entropy", cross_entropy, [4096], rows))


# Elements

@ct.kernel
def swiglu(G, U, Y, TN: CI):
    i, j = ct.bid(0), ct.bid(1)
    g = ct.load(G, index=(i, j), shape=(1, TN)).astype(F32)
    u = ct.load(U, index=(i, j), shape=(1, TN)).astype(F32)
    ct.store(Y, index=(i, j), tile=(g / (1.0 + ct.exp(-g)) * u).astype(Y.dtype))


add(Job("swiglu", "swiglu", lambda M, N: [array("G", "bf16", M, N), array("U", "bf16", M, N), out("Y", "bf16", M, N)],
        dict(M=16384, N=14336), dict(M=4, N=2048), 0.02),
    Kernel("swiglu_1024", "swiglu", swiglu, [1024], lambda M, N: (M, parts(N, 1024), 1)),
    Kernel("swiglu_2048", "swiglu", swiglu, [2048], lambda M, N: (M, parts(N, 2048), 1)))


@ct.kernel
def rope(Q, cosine, sine, H: CI, D: CI):
    """both halves of each head turned in place: Q is (batch, length, heads, 2, D / 2)"""
    s, b = ct.bid(0), ct.bid(1)
    c = ct.load(cosine, index=(s, 0), shape=(1, D // 2)).reshape((1, 1, 1, 1, D // 2))
    d = ct.load(sine, index=(s, 0), shape=(1, D // 2)).reshape((1, 1, 1, 1, D // 2))
    x = ct.load(Q, index=(b, s, 0, 0, 0), shape=(1, 1, H, 1, D // 2)).astype(F32)
    y = ct.load(Q, index=(b, s, 0, 1, 0), shape=(1, 1, H, 1, D // 2)).astype(F32)
    ct.store(Q, index=(b, s, 0, 0, 0), tile=(x * c - y * d).astype(Q.dtype))
    ct.store(Q, index=(b, s, 0, 1, 0), tile=(y * c + x * d).astype(Q.dtype))


add(Job("rope", "rope", lambda B, S: [array("Q", "bf16", B, S, 32, 2, 64, role="inout"), array("cosine", "f32", S, 64), array("sine", "f32", S, 64)],
        dict(B=4, S=8192), dict(B=1, S=16), 0.02),
    Kernel("rope_32x128", "rope", rope, [32, 128], lambda B, S: (S, B, 1)))


@ct.kernel
def quantize(X, Y, scale, N: CI):
    """rows to f8e4m3fn, each with its own scale"""
    i = ct.bid(0)
    x = ct.load(X, index=(i, 0), shape=(1, N)).astype(F32)
    high = ct.max(ct.abs(x), axis=1) / 448.0
    ct.store(scale, index=(i,), tile=high)
    ct.store(Y, index=(i, 0), tile=(x / high[:, None]).astype(Y.dtype))


add(Job("quantize", "quantize", lambda M, N: [array("X", "bf16", M, N), out("Y", "f8e4m3fn", M, N), out("scale", "f32", M)],
        dict(M=32768, N=8192), dict(M=4, N=8192), 0.04),
    Kernel("quantize_8192", "quantize", quantize, [8192], rows))


@ct.kernel
def histogram(X, counts, T: CI):
    x = ct.load(X, index=(ct.bid(0),), shape=(T,)).astype(I32)
    ct.atomic_add(counts, x, 1)


add(Job("histogram", "histogram", lambda N: [array("X", "u8", N, init="below 256"), array("counts", "i32", 256, init="fill 0", role="inout")],
        dict(N=1 << 26), dict(N=1 << 14), 0),
    Kernel("histogram_1024", "histogram", histogram, [1024], lambda N: (parts(N, 1024), 1, 1)),
    Kernel("histogram_4096", "histogram", histogram, [4096], lambda N: (parts(N, 4096), 1, 1)))


@ct.kernel
def embedding(table, ids, Y, T: CI, N: CI):
    """rows of the table by gathers"""
    i, j = ct.bid(0), ct.bid(1)
    row = ct.load(ids, index=(i,), shape=(T,))[:, None]
    ct.store(Y, index=(i, j), tile=ct.gather(table, (row, j * N + ct.arange(N, dtype=I32)[None, :])))


add(Job("embedding", "embedding", lambda M, N: [array("table", "bf16", 32768, N), array("ids", "i32", M, init="below 32768"), out("Y", "bf16", M, N)],
        dict(M=65536, N=4096), dict(M=16, N=1024), 0),
    Kernel("embedding_8x512", "embedding", embedding, [8, 512], lambda M, N: (parts(M, 8), parts(N, 512), 1)))


@ct.kernel
def column_sum(X, Y, TM: CI, TN: CI):
    j = ct.bid(0)
    acc = ct.zeros((TM, TN), dtype=F32)
    for i in range(ct.num_tiles(X, axis=0, shape=(TM, TN))):
        acc += ct.load(X, index=(i, j), shape=(TM, TN))
    ct.store(Y, index=(j,), tile=ct.sum(acc, axis=0))


add(Job("column_sum", "column_sum", lambda M, N: [array("X", "f32", M, N), out("Y", "f32", N)],
        dict(M=16384, N=16384), dict(M=128, N=256), 0.001),
    Kernel("column_sum_32x64", "column_sum", column_sum, [32, 64], lambda M, N: (parts(N, 64), 1, 1)))


@ct.kernel
def cumulative(X, Y, N: CI):
    i = ct.bid(0)
    ct.store(Y, index=(i, 0), tile=ct.cumsum(ct.load(X, index=(i, 0), shape=(1, N)), axis=1))


add(Job("cumsum", "cumulative", lambda M, N: [array("X", "f32", M, N), out("Y", "f32", M, N)], dict(M=65536, N=4096), dict(M=4, N=4096), 0.001),
    Kernel("cumsum_4096", "cumsum", cumulative, [4096], rows))
