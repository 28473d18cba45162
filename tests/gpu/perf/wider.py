"""Kernels of larger models as people write them: each beside its work and sizes. Own code, from cuTile's documentation and the formulas."""
import math

import cuda.tile as ct

from case import Job, Kernel, array, listed, name_of, number, out, parts

CI = ct.Constant[int]
CB = ct.Constant[bool]
F32, I32 = ct.float32, ct.int32
LOW = -1e30
JOBS, KERNELS = [], []


def add(job, *kernels):
    JOBS.append(job)
    KERNELS.extend(kernels)


# Products with operands either way round, and what is done with their results

def turned_tile(A, B, i, j, TM: CI, TN: CI, TK: CI, TURN_A: CB, TURN_B: CB):
    acc = ct.zeros((TM, TN), dtype=F32)
    for k in range(ct.num_tiles(A, axis=0, shape=(TK, TM)) if TURN_A else ct.num_tiles(A, axis=1, shape=(TM, TK))):
        if TURN_A:
            a = ct.transpose(ct.load(A, index=(k, i), shape=(TK, TM)))
        else:
            a = ct.load(A, index=(i, k), shape=(TM, TK))
        if TURN_B:
            b = ct.transpose(ct.load(B, index=(j, k), shape=(TN, TK)))
        else:
            b = ct.load(B, index=(k, j), shape=(TK, TN))
        acc = ct.mma(a, b, acc)
    return acc


@ct.kernel
def product_residual(A, B, R, C, TM: CI, TN: CI, TK: CI, TURN_A: CB, TURN_B: CB):
    i, j = ct.bid(0), ct.bid(1)
    x = turned_tile(A, B, i, j, TM, TN, TK, TURN_A, TURN_B) + ct.load(R, index=(i, j), shape=(TM, TN)).astype(F32)
    ct.store(C, index=(i, j), tile=x.astype(C.dtype))


@ct.kernel
def product_scaled(A, B, rows, columns, C, TM: CI, TN: CI, TK: CI, TURN_A: CB, TURN_B: CB):
    """each row and each column of the product has a scale"""
    i, j = ct.bid(0), ct.bid(1)
    x = turned_tile(A, B, i, j, TM, TN, TK, TURN_A, TURN_B) * ct.load(rows, index=(i,), shape=(TM,))[:, None]
    ct.store(C, index=(i, j), tile=(x * ct.load(columns, index=(j,), shape=(TN,))[None, :]).astype(C.dtype))


@ct.kernel
def product_bias_relu(A, B, bias, C, TM: CI, TN: CI, TK: CI, TURN_A: CB, TURN_B: CB):
    i, j = ct.bid(0), ct.bid(1)
    x = turned_tile(A, B, i, j, TM, TN, TK, TURN_A, TURN_B) + ct.load(bias, index=(j,), shape=(TN,)).astype(F32)[None, :]
    ct.store(C, index=(i, j), tile=ct.maximum(x, 0.0).astype(C.dtype))


def turned(name, kernel, expected, dtype, result, turn_a, turn_b, more, *tiles):
    def arguments(M, N, K):
        return [array("A", dtype, *((K, M) if turn_a else (M, K)), init="normal 0.1"),
                array("B", dtype, *((N, K) if turn_b else (K, N)), init="normal 0.1"), *more(M, N), out("C", result, M, N),
                number("turn_a", turn_a, "constant"), number("turn_b", turn_b, "constant")]
    add(Job(name, expected, arguments, dict(M=8192, N=4096, K=4096), dict(M=256, N=256, K=256), 0.03, lambda M, N, K: 2 * M * N * K),
        *(Kernel(name_of(name, *t), name, kernel, [*t, turn_a, turn_b], lambda M, N, K, t=t: (parts(M, t[0]), parts(N, t[1]), 1))
          for t in tiles))


def scales(M, N):
    return [array("rows", "f32", M), array("columns", "f32", N)]


turned("mm_nn_residual", product_residual, "product_residual", "bf16", "bf16", False, False, lambda M, N: [array("R", "bf16", M, N)],
       (128, 128, 64), (128, 256, 64))
turned("mm_nt_bias_relu", product_bias_relu, "product_bias_relu", "f16", "f16", False, True, lambda M, N: [array("bias", "f16", N)],
       (128, 128, 64), (64, 128, 64))
turned("mm_tn_scaled", product_scaled, "product_row_column", "bf16", "bf16", True, False, scales, (128, 128, 64), (256, 128, 64))
turned("mm_tt_scaled", product_scaled, "product_row_column", "f16", "f16", True, True, scales, (128, 128, 64), (128, 256, 64))
turned("mm_e4m3_nn_scaled", product_scaled, "product_row_column", "f8e4m3fn", "bf16", False, False, scales, (128, 128, 128), (256, 128, 128))
turned("mm_e4m3_tn_scaled", product_scaled, "product_row_column", "f8e4m3fn", "bf16", True, False, scales, (128, 128, 128))


# Bytes with scales

@ct.kernel
def product_block_scaled(A, SA, B, SB, C, TM: CI, TN: CI):
    """128 elements of K of a row of A have a scale, and squares of 128 of B"""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=F32)
    for k in range(ct.num_tiles(A, axis=1, shape=(TM, 128))):
        a = ct.load(A, index=(i, k), shape=(TM, 128))
        b = ct.transpose(ct.load(B, index=(j, k), shape=(TN, 128)))
        scale = ct.load(SA, index=(i, k), shape=(TM, 1)) * ct.load(SB, index=(j * TN // 128, k), shape=(1, 1))
        acc += ct.mma(a, b, ct.zeros((TM, TN), dtype=F32)) * scale
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


add(Job("mm_block_scaled", "product_block_scaled",
        lambda M, N, K: [array("A", "f8e4m3fn", M, K), array("SA", "f32", M, K // 128), array("B", "f8e4m3fn", N, K),
                         array("SB", "f32", N // 128, K // 128), out("C", "bf16", M, N)],
        dict(M=4096, N=7168, K=2048), dict(M=128, N=256, K=512), 0.03, lambda M, N, K: 2 * M * N * K),
    *(Kernel("mm_block_scaled_%dx%d" % (tm, tn), "mm_block_scaled", product_block_scaled, [tm, tn],
             lambda M, N, K, tm=tm, tn=tn: (parts(M, tm), parts(N, tn), 1), num_worker_warps=warps)
      for tm, tn, warps in [(128, 128, None), (128, 128, 8), (64, 128, None)]))


@ct.kernel
def product_grouped(A, B, expert, scale, C, TM: CI, TN: CI, TK: CI):
    """each strip of TM rows has an expert, who has weights"""
    i, j = ct.bid(0), ct.bid(1)
    e = ct.load(expert, index=(i,), shape=(1,)).item()
    acc = ct.zeros((TM, TN), dtype=F32)
    for k in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        b = ct.load(B, index=(e, j, k), shape=(1, TN, TK)).reshape((TN, TK))
        acc = ct.mma(ct.load(A, index=(i, k), shape=(TM, TK)), ct.transpose(b), acc)
    acc = acc * ct.load(scale, index=(e,), shape=(1,)).reshape((1, 1))
    ct.store(C, index=(i, j), tile=acc.astype(C.dtype))


def grouped(name, dtype, tolerance, *tiles):
    for t in tiles:
        job = "%s_%d" % (name, t[0])
        add(Job(job, "product_grouped",
                lambda T, N, K, E, t=t: [array("A", dtype, T, K), array("B", dtype, E, N, K),
                                         array("expert", "i32", T // t[0], init="below %d" % E), array("scale", "f32", E), out("C", "bf16", T, N)],
                dict(T=8192, N=4096, K=2048, E=16), dict(T=256, N=256, K=256, E=4), tolerance, lambda T, N, K, E: 2 * T * N * K),
            Kernel(name_of(name, *t), job, product_grouped, [*t], lambda T, N, K, E, t=t: (parts(T, t[0]), parts(N, t[1]), 1)))


grouped("mm_grouped_e4m3", "f8e4m3fn", 0.03, (128, 128, 128), (64, 128, 128), (128, 256, 128))
grouped("mm_grouped_bf16", "bf16", 0.03, (128, 128, 64))


# Products whose operands are lists of arrays: blocks take tiles of all of them in turn

@ct.kernel
def product_listed(As, Bs, Cs, TM: CI, TN: CI, TK: CI):
    tile, before = ct.bid(0), 0
    for g in range(len(As)):
        A, B, C = As[g], Bs[g], Cs[g]
        columns = ct.cdiv(B.shape[0], TN)
        behind = before + ct.cdiv(A.shape[0], TM) * columns
        while tile >= before and tile < behind:
            i, j = (tile - before) // columns, (tile - before) % columns
            acc = ct.zeros((TM, TN), dtype=F32)
            for k in range(ct.cdiv(A.shape[1], TK)):
                a = ct.load(A, index=(i, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
                b = ct.load(B, index=(j, k), shape=(TN, TK), padding_mode=ct.PaddingMode.ZERO)
                acc = ct.mma(a, ct.transpose(b), acc)
            ct.store(C, index=(i, j), tile=acc.astype(C.dtype))
            tile += ct.num_blocks(0)
        before = behind


def lists(name, dtype, *tiles):
    add(Job(name, "product_listed",
            lambda G, M, N, K: [listed(array("As", dtype, G, M, K)), listed(array("Bs", dtype, G, N, K)), listed(out("Cs", "f16", G, M, N))],
            dict(G=8, M=2048, N=2048, K=2048), dict(G=3, M=256, N=256, K=256), 0.03, lambda G, M, N, K: 2 * G * M * N * K),
        *(Kernel(name_of(name, *t), name, product_listed, [*t], lambda G, M, N, K: (132, 1, 1)) for t in tiles))


lists("mm_lists_f16", "f16", (128, 128, 64), (128, 256, 64), (64, 128, 64))
lists("mm_lists_e4m3", "f8e4m3fn", (128, 128, 128), (128, 256, 128))


# Attention with heads in two parts: tiles are powers of two

@ct.kernel
def attention_in_parts(Q, K, V, O, scale_log2, TM: CI, TN: CI, D: CI, MORE: CI, DV: CI, CAUSAL: CB):
    """queries and keys of D + MORE elements, values of DV"""
    i, h, b = ct.bid(0), ct.bid(1), ct.bid(2)
    row = i * TM + ct.arange(TM, dtype=I32)[:, None]
    m = ct.full((TM, 1), LOW, dtype=F32)
    l = ct.zeros((TM, 1), dtype=F32)
    acc = ct.zeros((TM, DV), dtype=F32)
    q = ct.load(Q, index=(b, h, i, 0), shape=(1, 1, TM, D)).reshape((TM, D))
    q_more = ct.load(Q, index=(b, h, i, D // MORE), shape=(1, 1, TM, MORE)).reshape((TM, MORE))
    end = ct.cdiv((i + 1) * TM, TN) if CAUSAL else ct.cdiv(K.shape[2], TN)
    for j in range(end):
        k = ct.load(K, index=(b, h, j, 0), shape=(1, 1, TN, D)).reshape((TN, D))
        k_more = ct.load(K, index=(b, h, j, D // MORE), shape=(1, 1, TN, MORE)).reshape((TN, MORE))
        s = ct.mma(q, ct.transpose(k), ct.zeros((TM, TN), dtype=F32))
        s = ct.mma(q_more, ct.transpose(k_more), s)
        if CAUSAL:
            s = ct.where(j * TN + ct.arange(TN, dtype=I32)[None, :] <= row, s, LOW)
        high = ct.maximum(m, ct.max(s, axis=1, keepdims=True) * scale_log2)
        p = ct.exp2(s * scale_log2 - high)
        old = ct.exp2(m - high)
        l = l * old + ct.sum(p, axis=1, keepdims=True)
        v = ct.load(V, index=(b, h, j, 0), shape=(1, 1, TN, DV)).reshape((TN, DV))
        acc = ct.mma(p.astype(V.dtype), v, acc * old)
        m = high
    ct.store(O, index=(b, h, i, 0), tile=(acc / l).astype(O.dtype).reshape((1, 1, TM, DV)))


def parts_arguments(B, H, S):
    return [array("Q", "bf16", B, H, S, 192), array("K", "bf16", B, H, S, 192), array("V", "bf16", B, H, S, 128), out("O", "bf16", B, H, S, 128),
            number("scale_log2", math.log2(math.e) / math.sqrt(192))]


add(Job("fmha_192_128", "attention_in_parts", parts_arguments, dict(B=1, H=32, S=8192), dict(B=1, H=2, S=256), 0.03,
        lambda B, H, S: B * H * S * S * (192 + 128)),
    *(Kernel(name_of("fmha_192_128", tm, tn), "fmha_192_128", attention_in_parts, [tm, tn, 128, 64, 128, True],
             lambda B, H, S, tm=tm: (parts(S, tm), H, B), num_worker_warps=warps)
      for tm, tn, warps in [(128, 128, None), (128, 64, None), (64, 64, None), (128, 64, 8)]))


@ct.kernel
def latent_decode(Q, KV, O, scale_log2, TM: CI, TN: CI):
    """one query of many heads, which share keys of 512 + 64 elements, of which 512 are the values, too"""
    i, b = ct.bid(0), ct.bid(1)
    m = ct.full((TM, 1), LOW, dtype=F32)
    l = ct.zeros((TM, 1), dtype=F32)
    acc = ct.zeros((TM, 512), dtype=F32)
    q = ct.load(Q, index=(b, i, 0), shape=(1, TM, 512)).reshape((TM, 512))
    q_turned = ct.load(Q, index=(b, i, 8), shape=(1, TM, 64)).reshape((TM, 64))
    for j in range(ct.num_tiles(KV, axis=1, shape=(1, TN, 512))):
        latent = ct.load(KV, index=(b, j, 0), shape=(1, TN, 512)).reshape((TN, 512))
        k_turned = ct.load(KV, index=(b, j, 8), shape=(1, TN, 64)).reshape((TN, 64))
        s = ct.mma(q, ct.transpose(latent), ct.zeros((TM, TN), dtype=F32))
        s = ct.mma(q_turned, ct.transpose(k_turned), s) * scale_log2
        high = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - high)
        old = ct.exp2(m - high)
        l = l * old + ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(p.astype(KV.dtype), latent, acc * old)
        m = high
    ct.store(O, index=(b, i, 0), tile=(acc / l).astype(O.dtype).reshape((1, TM, 512)))


add(Job("latent_decode", "latent_decode",
        lambda B, H, S: [array("Q", "bf16", B, H, 576), array("KV", "bf16", B, S, 576), out("O", "bf16", B, H, 512),
                         number("scale_log2", math.log2(math.e) / math.sqrt(192))],
        dict(B=128, H=128, S=4096), dict(B=1, H=64, S=128), 0.03, lambda B, H, S: 2 * B * H * S * (576 + 512)),
    *(Kernel(name_of("latent_decode", tm, tn), "latent_decode", latent_decode, [tm, tn], lambda B, H, S, tm=tm: (parts(H, tm), B, 1),
             num_worker_warps=warps) for tm, tn, warps in [(64, 64, None), (64, 64, 8), (32, 64, None), (16, 128, None)]))


@ct.kernel
def decode_split(Q, K, V, O, sums, scale_log2, G: CI, D: CI, TN: CI, SPLIT: CI):
    """G queries share a head's keys, each block has a part of these; parts are put together by another kernel"""
    h, part = ct.bid(0), ct.bid(1)
    q = ct.load(Q, index=(h, 0, 0), shape=(1, G, D)).reshape((G, D))
    m = ct.full((G, 1), LOW, dtype=F32)
    l = ct.zeros((G, 1), dtype=F32)
    acc = ct.zeros((G, D), dtype=F32)
    each = ct.num_tiles(K, axis=1, shape=(1, TN, D)) // SPLIT
    for j in range(part * each, (part + 1) * each):
        k = ct.load(K, index=(h, j, 0), shape=(1, TN, D)).reshape((TN, D))
        s = ct.mma(q, ct.transpose(k), ct.zeros((G, TN), dtype=F32)) * scale_log2
        high = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - high)
        old = ct.exp2(m - high)
        l = l * old + ct.sum(p, axis=1, keepdims=True)
        v = ct.load(V, index=(h, j, 0), shape=(1, TN, D)).reshape((TN, D))
        acc = ct.mma(p.astype(V.dtype), v, acc * old)
        m = high
    ct.store(O, index=(h, part, 0, 0), tile=(acc / l).reshape((1, 1, G, D)))
    ct.store(sums, index=(h, part, 0), tile=(m + ct.log2(l)).reshape((1, 1, G)))


def decode_case(rows, split, *tiles):
    name = "decode_split_%d" % rows
    add(Job(name, "decode_split",
            lambda H, S: [array("Q", "bf16", H, rows, 128), array("K", "bf16", H, S, 128), array("V", "bf16", H, S, 128),
                          out("O", "f32", H, split, rows, 128), out("sums", "f32", H, split, rows), number("scale_log2", math.log2(math.e) / math.sqrt(128))],
            dict(H=64, S=16384), dict(H=2, S=2048), 0.03),
        *(Kernel("%s_%d" % (name, tn), name, decode_split, [rows, 128, tn, split], lambda H, S: (H, split, 1)) for tn in tiles))


decode_case(1, 8, 64, 128)
decode_case(4, 8, 128)
decode_case(16, 8, 64, 128)


@ct.kernel
def decode_pages(Q, K, V, table, O, sums, scale_log2, G: CI, D: CI, PAGE: CI, SPLIT: CI):
    """the same; the keys and values of a sequence are in pages of a pool, whose numbers a table has"""
    h, part, b = ct.bid(0), ct.bid(1), ct.bid(2)
    q = ct.load(Q, index=(b, h, 0, 0), shape=(1, 1, G, D)).reshape((G, D))
    m = ct.full((G, 1), LOW, dtype=F32)
    l = ct.zeros((G, 1), dtype=F32)
    acc = ct.zeros((G, D), dtype=F32)
    each = ct.num_tiles(table, axis=1, shape=(1, 1)) // SPLIT
    for j in range(part * each, (part + 1) * each):
        page = ct.load(table, index=(b, j), shape=(1, 1)).item()
        k = ct.load(K, index=(page, h, 0, 0), shape=(1, 1, PAGE, D)).reshape((PAGE, D))
        s = ct.mma(q, ct.transpose(k), ct.zeros((G, PAGE), dtype=F32)) * scale_log2
        high = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - high)
        old = ct.exp2(m - high)
        l = l * old + ct.sum(p, axis=1, keepdims=True)
        v = ct.load(V, index=(page, h, 0, 0), shape=(1, 1, PAGE, D)).reshape((PAGE, D))
        acc = ct.mma(p.astype(V.dtype), v, acc * old)
        m = high
    ct.store(O, index=(b, h, part, 0, 0), tile=(acc / l).reshape((1, 1, 1, G, D)))
    ct.store(sums, index=(b, h, part, 0), tile=(m + ct.log2(l)).reshape((1, 1, 1, G)))


def decode_pages_case(rows, page, split):
    def arguments(B, H, S):
        pages = B * S // page
        return [array("Q", "bf16", B, H, rows, 128), array("K", "bf16", pages, H, page, 128), array("V", "bf16", pages, H, page, 128),
                array("table", "i32", B, S // page, init="below %d" % pages), out("O", "f32", B, H, split, rows, 128),
                out("sums", "f32", B, H, split, rows), number("scale_log2", math.log2(math.e) / math.sqrt(128))]
    name = "decode_pages_%dx%d" % (rows, page)
    add(Job(name, "decode_pages", arguments, dict(B=16, H=8, S=16384), dict(B=2, H=2, S=4 * page * split), 0.03),
        Kernel(name, name, decode_pages, [rows, 128, page, split], lambda B, H, S: (H, split, B)))


for page in (16, 32, 64, 128):
    decode_pages_case(16, page, 4)
decode_pages_case(64, 64, 4)


# Others

@ct.kernel
def gated_delta(Q, K, V, gate, beta, O, T: CI, D: CI):
    """S = exp(g) S; S += beta k (v - k S); o = q S, by chunks of T steps; the inverse by squaring, as its powers end"""
    h = ct.bid(0)
    row, column = ct.arange(T, dtype=I32)[:, None], ct.arange(T, dtype=I32)[None, :]
    state = ct.zeros((D, D), dtype=F32)
    for c in range(ct.num_tiles(K, axis=1, shape=(1, T, D))):
        q = ct.load(Q, index=(h, c, 0), shape=(1, T, D)).reshape((T, D))
        k = ct.load(K, index=(h, c, 0), shape=(1, T, D)).reshape((T, D))
        v = ct.load(V, index=(h, c, 0), shape=(1, T, D)).reshape((T, D)).astype(F32)
        b = ct.load(beta, index=(h, c), shape=(1, T)).reshape((T, 1))
        g = ct.cumsum(ct.load(gate, index=(h, c), shape=(1, T)), axis=1)
        decay = ct.exp(ct.where(column <= row, g.reshape((T, 1)) - g, LOW))
        kt, zero = ct.transpose(k), ct.zeros((T, T), dtype=F32)
        power = ct.where(column < row, -b * ct.mma(k, kt, zero) * decay, 0.0)
        inverse = ct.where(column == row, 1.0, power)
        for _ in range(5):
            half = power.astype(ct.tfloat32)
            power = ct.mma(half, half, zero)
            inverse = ct.mma(inverse.astype(ct.tfloat32), power.astype(ct.tfloat32), inverse)
        old = state.astype(K.dtype)
        so_far = ct.exp(g).reshape((T, 1))
        wanted = b * (v - so_far * ct.mma(k, old, ct.zeros((T, D), dtype=F32)))
        u = ct.mma(inverse.astype(ct.tfloat32), wanted.astype(ct.tfloat32), ct.zeros((T, D), dtype=F32)).astype(K.dtype)
        o = so_far * ct.mma(q, old, ct.zeros((T, D), dtype=F32))
        o = ct.mma((ct.mma(q, kt, zero) * decay).astype(K.dtype), u, o)
        ct.store(O, index=(h, c, 0), tile=o.astype(O.dtype).reshape((1, T, D)))
        whole = ct.sum(ct.load(gate, index=(h, c), shape=(1, T)), axis=1, keepdims=True)
        rest = (kt.astype(F32) * ct.exp(whole - g)).astype(K.dtype)
        state = ct.mma(rest, u, state * ct.exp(whole))


add(Job("gated_delta", "gated_delta",
        lambda H, S: [*(array(n, "f16", H, S, 128, init="normal 0.08") for n in "QK"), array("V", "f16", H, S, 128),
                      array("gate", "f32", H, S, init="normal 0.02"), array("beta", "f32", H, S, init="normal 0.5"), out("O", "f16", H, S, 128)],
        dict(H=256, S=4096), dict(H=1, S=128), 0.03),
    *(Kernel("gated_delta_%d" % t, "gated_delta", gated_delta, [t, 128], lambda H, S: (H, 1, 1), num_worker_warps=warps)
      for t, warps in [(64, None), (64, 8), (32, None)]))


@ct.kernel
def top_k(X, Y, at, N: CI, COUNT: CI):
    """the largest of a row and where they are, one after the other"""
    i = ct.bid(0)
    x = ct.load(X, index=(i, 0), shape=(1, N))
    column = ct.arange(N, dtype=I32)[None, :]
    for n in range(COUNT):
        high = ct.max(x, axis=1, keepdims=True)
        where = ct.min(ct.where(x == high, column, N), axis=1, keepdims=True)
        ct.store(Y, index=(i, n), tile=high)
        ct.store(at, index=(i, n), tile=where)
        x = ct.where(column == where, LOW, x)


add(Job("top_k", "top_k", lambda M, N: [array("X", "f32", M, N), out("Y", "f32", M, 8), out("at", "i32", M, 8)],
        dict(M=65536, N=1024), dict(M=4, N=1024), 0),
    *(Kernel("top_k_%d" % n, "top_k", top_k, [n, 8], lambda M, N: (M, 1, 1), num_worker_warps=warps) for n, warps in [(1024, None), (1024, 8)]))


def complex_product(fr, fi, xr, xi):
    zero = ct.zeros((fr.shape[0], xr.shape[1]), dtype=F32)
    return ct.mma(fr, xr, zero) - ct.mma(fi, xi, zero), ct.mma(fr, xi, zero) + ct.mma(fi, xr, zero)


def turned_by(xr, xi, tr, ti):
    return xr * tr - xi * ti, xr * ti + xi * tr


@ct.kernel
def fft_stages(XR, XI, FR, FI, TR, TI, YR, YI, R: CI):
    """R^3 points in three stages: a product with R x R numbers, then the next digit goes in front; factors between"""
    i = ct.bid(0)
    fr, fi = ct.load(FR, index=(0, 0), shape=(R, R)), ct.load(FI, index=(0, 0), shape=(R, R))
    xr = ct.load(XR, index=(i, 0, 0), shape=(1, R, R * R)).reshape((R, R * R))
    xi = ct.load(XI, index=(i, 0, 0), shape=(1, R, R * R)).reshape((R, R * R))
    for stage in range(3):
        xr, xi = complex_product(fr, fi, xr, xi)
        tr = ct.load(TR, index=(stage, 0, 0), shape=(1, R, R * R)).reshape((R, R * R))
        ti = ct.load(TI, index=(stage, 0, 0), shape=(1, R, R * R)).reshape((R, R * R))
        xr, xi = turned_by(xr, xi, tr, ti)
        xr = ct.permute(xr.reshape((R, R, R)), (1, 2, 0)).reshape((R, R * R))
        xi = ct.permute(xi.reshape((R, R, R)), (1, 2, 0)).reshape((R, R * R))
    ct.store(YR, index=(i, 0, 0), tile=xr.reshape((1, R, R * R)))
    ct.store(YI, index=(i, 0, 0), tile=xi.reshape((1, R, R * R)))


def fft_arguments(B, R):
    return [*(array(n, "f32", B, R, R * R) for n in ("XR", "XI")), *(array(n, "f32", R, R, init="normal 0.25") for n in ("FR", "FI")),
            *(array(n, "f32", 3, R, R * R) for n in ("TR", "TI")), out("YR", "f32", B, R, R * R), out("YI", "f32", B, R, R * R)]


for radix, batch in [(16, 16384), (8, 65536)]:
    add(Job("fft_%d" % radix, "fft_stages", fft_arguments, dict(B=batch, R=radix), dict(B=2, R=radix), 0.001,
            lambda B, R: 3 * 8 * B * R ** 4),
        *(Kernel("fft_%dx%dx%d" % (radix, radix, radix), "fft_%d" % radix, fft_stages, [radix], lambda B, R: (B, 1, 1), num_worker_warps=warps)
          for warps in (None, 8)))
