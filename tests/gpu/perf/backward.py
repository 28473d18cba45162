"""Attention backward, in a kernel for the gradient of queries and one for those of keys and values; causal, full, in a sliding window.
Own code, from the formulas: with p = exp(scale * q k^T - l) and d = rowsum(dO * O), ds = p * (dO v^T - d), dQ = scale * ds k,
dK = scale * ds^T q, dV = p^T dO. l and d are what a forward pass leaves; here they are any numbers, which changes no work."""
import cuda.tile as ct

from case import Job, Kernel, array, name_of, number, out, parts

CI = ct.Constant[int]
CB = ct.Constant[bool]
F32, I32 = ct.float32, ct.int32
JOBS, KERNELS = [], []


def add(job, *kernels):
    JOBS.append(job)
    KERNELS.extend(kernels)


@ct.kernel
def gradient_of_queries(Q, K, V, G, L, D, DQ, scale_log2, scale, C: CI, TM: CI, TN: CI, CAUSAL: CB, WINDOW: CI):
    i, h = ct.bid(0), ct.bid(1)
    q = ct.load(Q, index=(h, i, 0), shape=(1, TM, C)).reshape((TM, C))
    g = ct.load(G, index=(h, i, 0), shape=(1, TM, C)).reshape((TM, C))
    l = ct.load(L, index=(h, i), shape=(1, TM)).reshape((TM, 1))
    d = ct.load(D, index=(h, i), shape=(1, TM)).reshape((TM, 1))
    row = i * TM + ct.arange(TM, dtype=I32)[:, None]
    acc = ct.zeros((TM, C), dtype=F32)
    first, last = 0, ct.cdiv(K.shape[1], TN)
    if CAUSAL:
        last = ct.cdiv((i + 1) * TM, TN)
    if WINDOW > 0:
        first = ct.maximum(i * TM - WINDOW, 0) // TN
    for j in range(first, last):
        k = ct.load(K, index=(h, j, 0), shape=(1, TN, C)).reshape((TN, C))
        v = ct.load(V, index=(h, j, 0), shape=(1, TN, C)).reshape((TN, C))
        s = ct.mma(q, ct.transpose(k), ct.zeros((TM, TN), dtype=F32))
        p = ct.exp2(s * scale_log2 - l, flush_to_zero=True)
        column = j * TN + ct.arange(TN, dtype=I32)[None, :]
        if CAUSAL:
            p = ct.where(column <= row, p, 0.0)
        if WINDOW > 0:
            p = ct.where(column > row - WINDOW, p, 0.0)
        dp = ct.mma(g, ct.transpose(v), ct.zeros((TM, TN), dtype=F32))
        acc = ct.mma((p * (dp - d)).astype(K.dtype), k, acc)
    ct.store(DQ, index=(h, i, 0), tile=(acc * scale).astype(DQ.dtype).reshape((1, TM, C)))


@ct.kernel
def gradients_of_keys(Q, K, V, G, L, D, DK, DV, scale_log2, scale, C: CI, TM: CI, TN: CI, CAUSAL: CB, WINDOW: CI):
    j, h = ct.bid(0), ct.bid(1)
    k = ct.load(K, index=(h, j, 0), shape=(1, TN, C)).reshape((TN, C))
    v = ct.load(V, index=(h, j, 0), shape=(1, TN, C)).reshape((TN, C))
    column = j * TN + ct.arange(TN, dtype=I32)[:, None]
    dk, dv = ct.zeros((TN, C), dtype=F32), ct.zeros((TN, C), dtype=F32)
    first, last = 0, ct.cdiv(Q.shape[1], TM)
    if CAUSAL:
        first = (j * TN) // TM
    if WINDOW > 0:
        last = ct.minimum(last, ct.cdiv((j + 1) * TN + WINDOW, TM))
    for i in range(first, last):
        q = ct.load(Q, index=(h, i, 0), shape=(1, TM, C)).reshape((TM, C))
        g = ct.load(G, index=(h, i, 0), shape=(1, TM, C)).reshape((TM, C))
        l = ct.load(L, index=(h, i), shape=(1, TM))
        d = ct.load(D, index=(h, i), shape=(1, TM))
        s = ct.mma(k, ct.transpose(q), ct.zeros((TN, TM), dtype=F32))
        p = ct.exp2(s * scale_log2 - l, flush_to_zero=True)
        row = i * TM + ct.arange(TM, dtype=I32)[None, :]
        if CAUSAL:
            p = ct.where(column <= row, p, 0.0)
        if WINDOW > 0:
            p = ct.where(column > row - WINDOW, p, 0.0)
        dv = ct.mma(p.astype(G.dtype), g, dv)
        dp = ct.mma(v, ct.transpose(g), ct.zeros((TN, TM), dtype=F32))
        dk = ct.mma((p * (dp - d)).astype(Q.dtype), q, dk)
    ct.store(DK, index=(h, j, 0), tile=(dk * scale).astype(DK.dtype).reshape((1, TN, C)))
    ct.store(DV, index=(h, j, 0), tile=dv.astype(DV.dtype).reshape((1, TN, C)))


LOG2_E = 1.4426950408889634


def backward(name, H, S, C, causal, window, queries, keys):
    """queries, keys: tiles of each kernel; of the second one, rows of keys come last"""
    inputs = lambda H, S: [*(array(n, "f16", H, S, C) for n in "QKVG"), array("L", "f32", H, S, init="fill 8"), array("D", "f32", H, S)]
    numbers = [number("scale_log2", C ** -0.5 * LOG2_E), number("scale", C ** -0.5), number("causal", causal, "constant"),
               number("window", window, "constant")]
    share = 0.5 if causal and not window else 1
    pairs = lambda S: 2 * window * S if window else S * S * share
    add(Job(name + "_q", "attention_back_q", lambda H, S: [*inputs(H, S), out("DQ", "f16", H, S, C), *numbers], dict(H=H, S=S),
            dict(H=2, S=256), 0.03, lambda H, S: 6 * H * pairs(S) * C),
        *(Kernel(name_of(name + "_q", *t), name + "_q", gradient_of_queries, [C, *t, causal, window],
                 lambda H, S, t=t: (parts(S, t[0]), H, 1)) for t in queries))
    add(Job(name + "_kv", "attention_back_kv", lambda H, S: [*inputs(H, S), out("DK", "f16", H, S, C), out("DV", "f16", H, S, C), *numbers],
            dict(H=H, S=S), dict(H=2, S=256), 0.03, lambda H, S: 8 * H * pairs(S) * C),
        *(Kernel(name_of(name + "_kv", *t), name + "_kv", gradients_of_keys, [C, *t, causal, window],
                 lambda H, S, t=t: (parts(S, t[1]), H, 1)) for t in keys))


backward("fmha_back_128", 32, 4096, 128, True, 0, [(128, 64), (128, 128)], [(64, 64), (64, 128)])
backward("fmha_back_128_full", 32, 4096, 128, False, 0, [(128, 64), (128, 128)], [(64, 64), (64, 128)])
backward("fmha_back_64", 64, 4096, 64, False, 0, [(128, 64), (128, 128)], [(64, 128), (64, 64), (128, 128)])
backward("fmha_back_64_causal", 64, 4096, 64, True, 0, [(128, 64), (128, 128)], [(64, 128), (64, 64), (128, 128)])
backward("fmha_back_window", 32, 4096, 128, True, 512, [(128, 64)], [(64, 128)])
