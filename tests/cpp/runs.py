"""What cases1.py to cases3.py are written with: run() keeps a case instead of running it; make_corpus.py writes them.

A case is a kernel, named by a part of its symbol ('=' in front: all of it), a grid, its arguments in order (arrays,
numbers, '@a': the array of the first argument again), and what NumPy says that arrays hold afterwards, by position."""
import math

import ml_dtypes
import numpy as np

bf = ml_dtypes.bfloat16
e4 = ml_dtypes.float8_e4m3fn
e5 = ml_dtypes.float8_e5m2
e8 = ml_dtypes.float8_e8m0fnu
f4 = ml_dtypes.float4_e2m1fn
f32 = np.float32
rng = np.random.default_rng(1)
cases = []


def run(module, part, grid, args, expected, rtol=1.3e-6, atol=1e-5, extra=(), tf=()):
    if extra:  # the same case with an option of tilevm run
        return
    kept = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    results = {i: np.array(e) for i, e in expected.items()}
    cases.append((module, part, grid, kept, results, rtol, atol))


def rn(*shape, dt=f32):
    """Normal numbers; of large arrays, in steps of 1/16, which pack well."""
    numbers = rng.standard_normal(shape)
    return (np.round(numbers * 16) / 16 if numbers.size > 256 else numbers).astype(dt)


def ints(low, high, shape, dt):
    return rng.integers(low, high, shape).astype(dt)
