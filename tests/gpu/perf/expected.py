"""What the kernels of `kernels.py` must compute, for numpy and for torch: `xp` is either, arrays are f32 of that kind.

A function takes the arrays and numbers of a job by name and gives the outputs by name.
"""
import math

LOG2_E = 1.4426950408889634


def error(xp, got, want):
    """Largest difference, as a part of the largest number of its row (or of the thousandth part of the largest of all)."""
    size = xp.abs(want)
    rows = xp.amax(size, axis=-1, keepdims=True)
    return float(xp.amax(xp.abs(got - want) / xp.maximum(rows, xp.amax(size) * 1e-3)))


def product(xp, A, B, C):
    return {"C": A @ B}


def softmax(xp, s):
    p = xp.exp(s - xp.amax(s, axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def attention(xp, Q, K, V, scale_log2, causal):
    O = xp.empty_like(Q)
    for b in range(Q.shape[0]):
        for h in range(Q.shape[1]):     # head by head: the scores of all would not fit
            s = Q[b, h] @ K[b, h].T * (scale_log2 / LOG2_E)
            if causal:
                s = s + xp.triu(xp.full_like(s, -math.inf), 1)
            O[b, h] = softmax(xp, s) @ V[b, h]
    return {"O": O}


def attention_causal(xp, Q, K, V, O, scale_log2):
    return attention(xp, Q, K, V, scale_log2, True)
