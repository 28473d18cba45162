"""Kernels that are timed on a GPU, in cuTile Python, as people write them; `cases.py` says with which sizes and hints.

Arrays are in the order of the launch, constants after them. Sizes are read from the arrays, so that the same bytecode
also computes small cases, on the CPU. Own code, written from the documented interface of cuTile.
"""
import cuda.tile as ct

CI = ct.Constant[int]
CB = ct.Constant[bool]
F32, F16, I32 = ct.float32, ct.float16, ct.int32
ZERO = ct.PaddingMode.ZERO
LOW = -1e30


# Products

def grouped(tile, rows, columns, GROUP):
    """Tiles in strips of GROUP rows, so that blocks that run together share what they load."""
    per = GROUP * columns
    first = tile // per * GROUP
    high = ct.minimum(rows - first, GROUP)
    return first + tile % per % high, tile % per // high


def product_tile(A, B, i, j, TM: CI, TN: CI, TK: CI):
    dtype = ct.tfloat32 if A.dtype == ct.float32 else A.dtype
    acc = ct.zeros((TM, TN), dtype=F32)
    for k in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        a = ct.load(A, index=(i, k), shape=(TM, TK), padding_mode=ZERO).astype(dtype)
        b = ct.load(B, index=(k, j), shape=(TK, TN), padding_mode=ZERO).astype(dtype)
        acc = ct.mma(a, b, acc)
    return acc


@ct.kernel
def product(A, B, C, TM: CI, TN: CI, TK: CI, GROUP: CI):
    rows, columns = ct.cdiv(A.shape[0], TM), ct.cdiv(B.shape[1], TN)
    i, j = grouped(ct.bid(0), rows, columns, GROUP)
    ct.store(C, index=(i, j), tile=product_tile(A, B, i, j, TM, TN, TK).astype(C.dtype))


@ct.kernel
def product_persistent(A, B, C, TM: CI, TN: CI, TK: CI, GROUP: CI):
    rows, columns = ct.cdiv(A.shape[0], TM), ct.cdiv(B.shape[1], TN)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        i, j = grouped(tile, rows, columns, GROUP)
        ct.store(C, index=(i, j), tile=product_tile(A, B, i, j, TM, TN, TK).astype(C.dtype))


@ct.kernel
def product_batched(A, B, C, TM: CI, TN: CI, TK: CI):
    i, j, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.zeros((TM, TN), dtype=F32)
    for k in range(ct.num_tiles(A, axis=2, shape=(1, TM, TK))):
        a = ct.load(A, index=(batch, i, k), shape=(1, TM, TK), padding_mode=ZERO).reshape((TM, TK))
        b = ct.load(B, index=(batch, k, j), shape=(1, TK, TN), padding_mode=ZERO).reshape((TK, TN))
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(batch, i, j), tile=acc.astype(C.dtype).reshape((1, TM, TN)))


# Attention: Q, K, V and O are (batch, heads, length, head dimension)

@ct.kernel
def attention(Q, K, V, O, scale_log2, D: CI, TM: CI, TN: CI, CAUSAL: CB):
    """FlashAttention-2: one loop over the keys, with the softmax so far; scale_log2 is log2(e) / sqrt(D)"""
    i, h, b = ct.bid(0), ct.bid(1), ct.bid(2)
    row = i * TM + ct.arange(TM, dtype=I32)[:, None]
    column = ct.arange(TN, dtype=I32)[None, :]
    m = ct.full((TM, 1), LOW, dtype=F32)
    l = ct.zeros((TM, 1), dtype=F32)
    acc = ct.zeros((TM, D), dtype=F32)
    q = ct.load(Q, index=(b, h, i, 0), shape=(1, 1, TM, D)).reshape((TM, D))
    if CAUSAL:
        masked, end = i * TM // TN, ct.cdiv((i + 1) * TM, TN)
    else:
        masked, end = ct.cdiv(K.shape[2], TN), ct.cdiv(K.shape[2], TN)
    for j in range(end):
        k = ct.load(K, index=(b, h, 0, j), shape=(1, 1, D, TN), order=(0, 1, 3, 2)).reshape((D, TN))
        s = ct.mma(q, k, ct.zeros((TM, TN), dtype=F32))
        if CAUSAL and j >= masked:
            s = ct.where(j * TN + column <= row, s, LOW)
        high = ct.maximum(m, ct.max(s, axis=1, keepdims=True) * scale_log2)
        p = ct.exp2(s * scale_log2 - high, flush_to_zero=True)
        old = ct.exp2(m - high, flush_to_zero=True)
        l = l * old + ct.sum(p, axis=1, keepdims=True)
        v = ct.load(V, index=(b, h, j, 0), shape=(1, 1, TN, D)).reshape((TN, D))
        acc = ct.mma(p.astype(V.dtype), v, acc * old)
        m = high
    o = ct.truediv(acc, l, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(O, index=(b, h, i, 0), tile=o.astype(O.dtype).reshape((1, 1, TM, D)))
