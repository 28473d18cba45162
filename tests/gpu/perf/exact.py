"""Products of f32 and f64 of which every bit counts, and functions of f64.

Arrays are in the order of the launch, constants after them; own code, written from the documented interface of cuTile.
"""
import cuda.tile as ct

from case import Job, Kernel, array, name_of, out, parts
from kernels import grouped

CI = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
JOBS, KERNELS = [], []


def add(job, *kernels):
    JOBS.append(job)
    KERNELS.extend(kernels)


# Products: sums in the type of the operands, which are not rounded

@ct.kernel
def product_exact(A, B, C, TM: CI, TN: CI, TK: CI, TURN_A: CI, TURN_B: CI):
    i, j = grouped(ct.bid(0), ct.cdiv(C.shape[0], TM), ct.cdiv(C.shape[1], TN), 8)
    acc = ct.zeros((TM, TN), dtype=C.dtype)
    for k in range(ct.num_tiles(A, axis=0, shape=(TK, TM)) if TURN_A else ct.num_tiles(A, axis=1, shape=(TM, TK))):
        if TURN_A:
            a = ct.transpose(ct.load(A, index=(k, i), shape=(TK, TM), padding_mode=ZERO))
        else:
            a = ct.load(A, index=(i, k), shape=(TM, TK), padding_mode=ZERO)
        if TURN_B:
            b = ct.transpose(ct.load(B, index=(j, k), shape=(TN, TK), padding_mode=ZERO))
        else:
            b = ct.load(B, index=(k, j), shape=(TK, TN), padding_mode=ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(i, j), tile=acc)


def product(name, dtype, turn_a, turn_b, M, N, K, *tiles):
    def arguments(M, N, K):
        return [array("A", dtype, *((K, M) if turn_a else (M, K))), array("B", dtype, *((N, K) if turn_b else (K, N))),
                out("C", dtype, M, N)]
    expected = "product_exact" + "_t" * turn_a + "_by_t" * turn_b
    add(Job(name, expected, arguments, dict(M=M, N=N, K=K), dict(M=256, N=128, K=192) if M % 16 == 0 else dict(M=131, N=67, K=97),
            1e-12 if dtype == "f64" else 1e-4, lambda M, N, K: 2 * M * N * K),
        *(Kernel(name_of(name, *t), name, product_exact, [*t, turn_a, turn_b],
                 lambda M, N, t=t, **_: (parts(M, t[0]) * parts(N, t[1]), 1, 1)) for t in tiles))


TILES = (64, 64, 16), (128, 64, 16), (128, 128, 16), (64, 64, 32)
product("mm_f64", "f64", 0, 0, 2048, 2048, 2048, *TILES, (128, 64, 32), (64, 128, 16), (32, 32, 32), (32, 64, 16))
product("mm_f64_t", "f64", 1, 0, 2048, 2048, 2048, (64, 64, 16), (128, 64, 16))
product("mm_f64_by_t", "f64", 0, 1, 2048, 2048, 2048, (64, 64, 16), (128, 64, 16))
product("mm_f64_odd", "f64", 0, 0, 2049, 2047, 2045, (64, 64, 16), (128, 64, 16))
product("mm_f32", "f32", 0, 0, 4096, 4096, 4096, (64, 64, 32), (128, 64, 16), (128, 64, 32), (128, 128, 16), (128, 128, 32))
product("mm_f32_odd", "f32", 0, 0, 3001, 3003, 3005, (64, 64, 32), (128, 64, 16), (128, 128, 16))


# Functions: a map over a long row

@ct.kernel
def functions(X, Y, F: CI, T: CI):
    x = ct.load(X, index=(ct.bid(0),), shape=(T,))
    if F == 0:
        y = 1.0 / (x * x + 1.0)
    elif F == 1:
        y = ct.exp(x)
    elif F == 2:
        y = ct.log(x * x + 1.0)
    elif F == 3:
        y = ct.sin(x)
    else:
        y = ct.tanh(x)
    ct.store(Y, index=(ct.bid(0),), tile=y)


for number, of in enumerate(("division", "exponential", "logarithm", "sine", "hyperbolic_tangent")):
    name = "f64_" + of
    add(Job(name, "f64_" + of, lambda N: [array("X", "f64", N, init="normal 4"), out("Y", "f64", N)], dict(N=1 << 23),
            dict(N=1 << 12), 1e-12),
        *(Kernel(name_of(name, tile), name, functions, [number, tile], lambda N, tile=tile: (parts(N, tile), 1, 1))
          for tile in (1024, 4096)))
