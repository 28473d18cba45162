"""Products whose operands are not what memory holds: converted, unpacked, scaled, gated or masked between load and product.

Arrays are in the order of the launch, constants after them; own code, written from the documented interface of cuTile.
"""
import cuda.tile as ct

from case import Job, Kernel, array, name_of, out, parts

CI = ct.Constant[int]
CB = ct.Constant[bool]
F32 = ct.float32
ZERO = ct.PaddingMode.ZERO
JOBS, KERNELS = [], []


def add(job, *kernels):
    JOBS.append(job)
    KERNELS.extend(kernels)


def grid(tm, tn):
    return lambda M, N, tm=tm, tn=tn, **_: (parts(M, tm), parts(N, tn), 1)


def flops(M, N, K):
    return 2 * M * N * K


# One operand in another type

@ct.kernel
def product_converted(A, B, C, TM: CI, TN: CI, TK: CI, TURN_B: CB):
    """in the type of A, or of B where A has the wider one"""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=F32)
    for k in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        a = ct.load(A, index=(i, k), shape=(TM, TK), padding_mode=ZERO).astype(C.dtype)
        if TURN_B:
            b = ct.transpose(ct.load(B, index=(j, k), shape=(TN, TK), padding_mode=ZERO).astype(C.dtype))
        else:
            b = ct.load(B, index=(k, j), shape=(TK, TN), padding_mode=ZERO).astype(C.dtype)
        acc = ct.mma(a, b, acc)
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


def converted(name, a, b, c, turn_b, M, N, K, *tiles):
    def arguments(M, N, K):
        bytes_of = {"u8": "below 16"}
        return [array("A", a, M, K, init=bytes_of.get(a, "normal")),
                array("B", b, *((N, K) if turn_b else (K, N)), init=bytes_of.get(b, "normal")), out("C", c, M, N)]
    add(Job(name, "product_transposed" if turn_b else "product", arguments, dict(M=M, N=N, K=K), dict(M=128, N=256, K=256),
            0.03, flops),
        *(Kernel(name_of(name, *t), name, product_converted, [*t, turn_b], grid(*t[:2])) for t in tiles))


converted("mm_f16_u8", "f16", "u8", "f16", False, 4096, 4096, 4096, (128, 128, 64), (128, 256, 64), (64, 128, 64))
converted("mm_f16_u8t", "f16", "u8", "f16", True, 4096, 4096, 4096, (128, 128, 64), (64, 128, 128))
converted("mm_bf16_e4m3t", "bf16", "f8e4m3fn", "bf16", True, 4096, 4096, 4096, (128, 128, 64), (64, 128, 128))
converted("mm_f32_bf16", "f32", "bf16", "bf16", False, 4096, 4096, 4096, (128, 128, 64), (128, 128, 32), (64, 128, 64))
converted("mm_f32_f32_bf16", "f32", "f32", "bf16", False, 4096, 4096, 4096, (128, 128, 32),)
converted("mm_few_f16_u8t", "f16", "u8", "f16", True, 16, 8192, 8192, (16, 128, 128), (16, 64, 256))


# Weights of 4 bits: two in a byte, with a scale for each row and group along K

@ct.kernel
def product_packed(A, B, scale, C, TM: CI, TN: CI, TK: CI):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=F32)
    for k in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        a = ct.load(A, index=(i, k), shape=(TM, TK), padding_mode=ZERO)
        pairs = ct.load(B, index=(j, k), shape=(TN, TK // 2), padding_mode=ZERO)
        low, high = (pairs & 15).astype(A.dtype) - 8, (pairs >> 4).astype(A.dtype) - 8
        w = ct.cat((low[:, :, None], high[:, :, None]), axis=2).reshape((TN, TK))
        w = w * ct.load(scale, index=(j, k), shape=(TN, 1))
        acc = ct.mma(a, ct.transpose(w), acc)
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


def packed(name, M, N, K, *tiles):
    for t in tiles:
        job = "%s_%d" % (name, t[2])
        add(Job(job, "product_packed",
                lambda M, N, K, t=t: [array("A", "f16", M, K), array("B", "u8", N, K // 2, init="below 256"),
                                      array("scale", "f16", N, K // t[2], init="normal 0.1"), out("C", "f16", M, N)],
                dict(M=M, N=N, K=K), dict(M=32, N=256, K=512), 0.03, flops),
            Kernel(name_of(name, *t), job, product_packed, [*t], grid(*t[:2])))


packed("mm_w4_16", 16, 8192, 8192, (16, 64, 128), (16, 128, 128), (16, 32, 256))
packed("mm_w4_32", 32, 8192, 8192, (32, 64, 128),)
packed("mm_w4_4096", 4096, 8192, 8192, (128, 128, 128), (128, 128, 64))


# An operand that is gated, or masked

@ct.kernel
def product_gated_rows(A, G, B, C, TM: CI, TN: CI, TK: CI):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=F32)
    for k in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        g = ct.load(G, index=(i, k), shape=(TM, TK), padding_mode=ZERO).astype(F32)
        a = ct.load(A, index=(i, k), shape=(TM, TK), padding_mode=ZERO).astype(F32) * (g / (1.0 + ct.exp(-g)))
        acc = ct.mma(a.astype(B.dtype), ct.load(B, index=(k, j), shape=(TK, TN), padding_mode=ZERO), acc)
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


add(Job("mm_gated_rows", "product_gated_rows",
        lambda M, N, K: [array("A", "bf16", M, K), array("G", "bf16", M, K), array("B", "bf16", K, N), out("C", "bf16", M, N)],
        dict(M=4096, N=4096, K=4096), dict(M=128, N=256, K=256), 0.03, flops),
    *(Kernel(name_of("mm_gated_rows", *t), "mm_gated_rows", product_gated_rows, [*t], grid(*t[:2]))
      for t in [(128, 128, 64), (128, 128, 32)]))


@ct.kernel
def product_scaled_rows(A, scale, B, C, TM: CI, TN: CI, TK: CI):
    """A is scaled along K, as behind a norm"""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=F32)
    for k in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        s = ct.load(scale, index=(k,), shape=(TK,), padding_mode=ZERO)
        a = ct.load(A, index=(i, k), shape=(TM, TK), padding_mode=ZERO) * s[None, :]
        acc = ct.mma(a, ct.load(B, index=(k, j), shape=(TK, TN), padding_mode=ZERO), acc)
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


add(Job("mm_scaled_rows", "product_scaled_rows",
        lambda M, N, K: [array("A", "f16", M, K), array("scale", "f16", K), array("B", "f16", K, N), out("C", "f16", M, N)],
        dict(M=4096, N=4096, K=4096), dict(M=128, N=256, K=256), 0.03, flops),
    *(Kernel(name_of("mm_scaled_rows", *t), "mm_scaled_rows", product_scaled_rows, [*t], grid(*t[:2]))
      for t in [(128, 128, 64), (128, 256, 64)]))
