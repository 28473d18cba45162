"""Attention forward in other forms: heads of 64 and 256 columns, sliding windows, soft caps, lengths that no tile divides, and sequences
of different lengths behind one another. Own code, from the formulas and cuTile's documentation."""
import math

import cuda.tile as ct

import kernels as k
from case import Job, Kernel, array, name_of, number, out, parts, steps
from sweep import attention_job

CI = ct.Constant[int]
CB = ct.Constant[bool]
F32, I32 = ct.float32, ct.int32
ZERO = ct.PaddingMode.ZERO
LOG2_E = math.log2(math.e)
JOBS, KERNELS = [], []


def add(job, *kernels):
    JOBS.append(job)
    KERNELS.extend(kernels)


def heads(D, B, H, S, causal, *tiles):
    name = "fmha_%d_%s" % (D, "causal" if causal else "full")
    add(attention_job(name, "attention_causal" if causal else "attention_full", B, H, S, D, causal),
        *(Kernel(name_of(name, *t), name, k.attention, [D, *t, causal], lambda B, H, S, D, t=t: (parts(S, t[0]), H, B)) for t in tiles))


heads(64, 4, 16, 4096, True, (128, 128), (128, 64), (64, 64))
heads(64, 4, 16, 4096, False, (128, 128), (64, 64))   # everyday.py has 128x64
heads(256, 2, 8, 4096, True, (128, 64), (64, 64), (128, 32))
heads(256, 2, 8, 4096, False, (128, 64), (64, 64))


def softmax_step(s, v, m, l, acc):
    """The softmax so far: s are scores times log2(e)"""
    high = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
    p = ct.exp2(s - high, flush_to_zero=True)
    old = ct.exp2(m - high, flush_to_zero=True)
    return high, l * old + ct.sum(p, axis=1, keepdims=True), ct.mma(p.astype(v.dtype), v, acc * old)


@ct.kernel
def attention_local(Q, K, V, O, scale_log2, D: CI, TM: CI, TN: CI, CAUSAL: CB, WINDOW: CI, CAP: CI):
    """Causal or not; in a window of WINDOW keys, if there is one; scores capped softly, CAP tanh(s / CAP), if there is a cap. Keys
    past the last are masked, so that tiles need not divide the length."""
    i, h, b = ct.bid(0), ct.bid(1), ct.bid(2)
    row = i * TM + ct.arange(TM, dtype=I32)[:, None]
    m, l = ct.full((TM, 1), k.LOW, dtype=F32), ct.zeros((TM, 1), dtype=F32)
    acc = ct.zeros((TM, D), dtype=F32)
    q = ct.load(Q, index=(b, h, i, 0), shape=(1, 1, TM, D), padding_mode=ZERO).reshape((TM, D))
    first, last = 0, ct.cdiv(K.shape[2], TN)
    if CAUSAL:
        last = ct.minimum(last, ct.cdiv((i + 1) * TM, TN))
    if WINDOW > 0:
        first = ct.maximum(i * TM - WINDOW + 1, 0) // TN
    for j in range(first, last):
        key = ct.load(K, index=(b, h, j, 0), shape=(1, 1, TN, D), padding_mode=ZERO).reshape((TN, D))
        s = ct.mma(q, ct.transpose(key), ct.zeros((TM, TN), dtype=F32)) * scale_log2
        if CAP > 0:
            s = ct.tanh(s * (1 / (CAP * LOG2_E))) * (CAP * LOG2_E)
        column = j * TN + ct.arange(TN, dtype=I32)[None, :]
        keep = column <= row if CAUSAL else column < K.shape[2]
        if WINDOW > 0:
            keep = keep & (column > row - WINDOW)
        s = ct.where(keep, s, k.LOW)
        v = ct.load(V, index=(b, h, j, 0), shape=(1, 1, TN, D), padding_mode=ZERO).reshape((TN, D))
        m, l, acc = softmax_step(s, v, m, l, acc)
    ct.store(O, index=(b, h, i, 0), tile=(acc / l).astype(O.dtype).reshape((1, 1, TM, D)))


def local(name, B, H, S, D, causal, window, cap, tiny, *tiles):
    def arguments(B, H, S):
        return [*(array(n, "bf16", B, H, S, D) for n in "QKV"), out("O", "bf16", B, H, S, D), number("scale_log2", LOG2_E / math.sqrt(D)),
                number("causal", causal, "constant"), number("window", window, "constant"), number("cap", cap, "constant")]
    pairs = lambda S: window * S if window else S * S // (2 if causal else 1)
    add(Job(name, "attention_local", arguments, dict(B=B, H=H, S=S), dict(B=1, H=2, S=tiny), 0.03, lambda B, H, S: 4 * B * H * pairs(S) * D),
        *(Kernel(name_of(name, *t), name, attention_local, [D, *t, causal, window, cap], lambda B, H, S, t=t: (parts(S, t[0]), H, B))
          for t in tiles))


local("fmha_window_1024", 2, 16, 8192, 128, True, 1024, 0, 2048, (128, 128), (128, 64), (64, 64))
local("fmha_window_128", 2, 16, 8192, 64, True, 128, 0, 512, (128, 128), (64, 64))
local("fmha_cap_128", 2, 16, 4096, 128, True, 0, 50, 256, (128, 128), (128, 64), (64, 64))
local("fmha_cap_window_256", 2, 8, 4096, 256, True, 1024, 50, 2048, (128, 64), (64, 64))
local("fmha_odd_128", 2, 16, 4051, 128, False, 0, 0, 211, (128, 128), (128, 64), (64, 64))


@ct.kernel
def attention_ragged(Q, K, V, at, O, scale_log2, D: CI, TM: CI, TN: CI):
    """Sequences behind one another; `at` says where each begins and the last one ends. Causal."""
    i, h, b = ct.bid(0), ct.bid(1), ct.bid(2)
    start, stop = ct.load(at, index=(b,), shape=(1,)).item(), ct.load(at, index=(b + 1,), shape=(1,)).item()
    length = stop - start
    if i * TM < length:
        queries, keys, values = Q.slice(0, start, stop), K.slice(0, start, stop), V.slice(0, start, stop)
        row = i * TM + ct.arange(TM, dtype=I32)[:, None]
        m, l = ct.full((TM, 1), k.LOW, dtype=F32), ct.zeros((TM, 1), dtype=F32)
        acc = ct.zeros((TM, D), dtype=F32)
        q = ct.load(queries, index=(i, h, 0), shape=(TM, 1, D), padding_mode=ZERO).reshape((TM, D))
        for j in range(ct.cdiv(ct.minimum((i + 1) * TM, length), TN)):
            key = ct.load(keys, index=(j, h, 0), shape=(TN, 1, D), padding_mode=ZERO).reshape((TN, D))
            s = ct.mma(q, ct.transpose(key), ct.zeros((TM, TN), dtype=F32)) * scale_log2
            s = ct.where(j * TN + ct.arange(TN, dtype=I32)[None, :] <= row, s, k.LOW)
            v = ct.load(values, index=(j, h, 0), shape=(TN, 1, D), padding_mode=ZERO).reshape((TN, D))
            m, l, acc = softmax_step(s, v, m, l, acc)
        ct.store(O.slice(0, start, stop), index=(i, h, 0), tile=(acc / l).astype(O.dtype).reshape((TM, 1, D)))


def ragged(name, H, lengths, tiny, *tiles):
    """tiny: lengths, too; the sizes of a job are those of its lists"""
    def arguments(H, lengths):
        T = sum(lengths)
        return [*(array(n, "bf16", T, H, 128) for n in "QKV"), steps("at", lengths), out("O", "bf16", T, H, 128),
                number("scale_log2", LOG2_E / math.sqrt(128))]
    add(Job(name, "attention_ragged", arguments, dict(H=H, lengths=lengths), dict(H=2, lengths=tiny), 0.03,
            lambda H, lengths: sum(2 * H * n * n * 128 for n in lengths)),
        *(Kernel(name_of(name, *t), name, attention_ragged, [128, *t], lambda H, lengths, t=t: (parts(max(lengths), t[0]), H, len(lengths)))
          for t in tiles))


ragged("fmha_ragged", 16, [4096, 1021, 2900, 517, 3333, 64, 1801, 2652], [100, 211, 1], (128, 128), (128, 64), (64, 64))
