"""Products and attention: grouped blocks, carried pointers, split sums, packed operands."""

import numpy as np

from cases import In, InOut, Out, case, close, f32, grid, unif, values, zeros

SIZES = "m: i32, n: i32, kk: i32"
ROUND16 = close(2e-3, 1e-3)


def product(a):
    return f32(a["a"]).astype(np.float64) @ f32(a["b"]).astype(np.float64)


def grouped(k, pid, m, n, bm, bn, group):
    """The tile of a product that a program makes: groups of rows of tiles one after the other."""
    rows, columns = k.cdiv(m, bm), k.cdiv(n, bn)
    per_group = columns * group
    first = pid // per_group * group
    size = (rows - first).minimum(group)
    inside = pid % per_group
    return first + inside % size, inside // size


def masked_product(k, a, b, m, n, kk, bm, bn, bk, group=2, acc="f32"):
    """The sum over kk for one tile; masks only where kk ends, as rows and columns go around."""
    tile_m, tile_n = grouped(k, k.program_id()[0], m, n, bm, bn, group)
    rows, columns, inner = (tile_m * bm + k.arange(bm)) % m, (tile_n * bn + k.arange(bn)) % n, k.arange(bk)
    pa = a + (rows.column() * kk + inner.row())
    pb = b + (inner.column() * n + columns.row())
    step = n * bk

    def add(i, c, pa, pb):
        left = kk - i * bk
        x = k.load(pa, inner.row() < left)
        y = k.load(pb, inner.column() < left)
        return k.dot(x, y, c), pa + bk, pb + step

    c = k.loop(0, k.cdiv(kk, bk), 1, [k.zeros((bm, bn), acc), pa, pb], add)[0]
    return c, tile_m * bm + k.arange(bm), tile_n * bn + k.arange(bn)


def store_tile(k, p, c, rows, columns, m, n):
    k.store(p + (rows.column() * n + columns.row()), c, (rows.column() < m) & (columns.row() < n))


def matrices(dtype, m, n, kk, out, tolerance=None, b_shape=None):
    return [
        In("a", dtype, (m, kk), grid(41, -4, 4, 4)),
        In("b", dtype, b_shape or (kk, n), grid(42, -4, 4, 4)),
        Out("c", out, (m, n), *([tolerance] if tolerance else [])),
    ]


@case(
    6,
    [*matrices("f16", 40, 56, 72, "f16"), 40, 56, 72],
    lambda a: {"c": product(a).astype(np.float16)},
    "a: *f16, b: *f16, c: *f16, " + SIZES,
)
def matmul_f16(k, a, b, c, m, n, kk):
    acc, rows, columns = masked_product(k, a, b, m, n, kk, 16, 32, 32)
    store_tile(k, c, acc.to("f16"), rows, columns, m, n)


@case(
    4,
    [*matrices("bf16", 32, 64, 64, "f32", close(1e-6)), 32, 64, 64],
    lambda a: {"c": f32(np.where(product(a) >= 0, product(a), 0.01 * product(a)))},
    "a: *bf16, b: *bf16, c: *f32, " + SIZES,
    ("m", "n", "kk"),
)
def matmul_leaky(k, a, b, c, m, n, kk):
    acc, rows, columns = masked_product(k, a, b, m, n, kk, 16, 32, 32)
    store_tile(k, c, k.select(acc >= 0.0, acc, acc * 0.01), rows, columns, m, n)


@case(
    4,
    [*matrices("f16", 128, 128, 96, "f16"), 128, 128, 96],
    lambda a: {"c": product(a).astype(np.float16)},
    "a: *f16, b: *f16, c: *f16, " + SIZES,
    ("m", "n", "kk"),
)
def matmul_wide(k, a, b, c, m, n, kk):
    """Tiles as large as those that a warp group multiplies at a time."""
    acc, rows, columns = masked_product(k, a, b, m, n, kk, 64, 64, 32)
    store_tile(k, c, acc.to("f16"), rows, columns, m, n)


CASE_TF32 = [
    In("a", "f32", (32, 32), grid(43, -4, 4, 4)),
    In("b", "f32", (32, 32), grid(44, -4, 4, 4)),
    In("bias", "f32", 32, grid(45, -8, 8, 4)),
    Out("c", "f32", (32, 32)),
    32,
    32,
    32,
]


@case(
    4,
    CASE_TF32,
    lambda a: {"c": f32(np.maximum(product(a) + a["bias"], 0))},
    "a: *f32, b: *f32, bias: *f32, c: *f32, " + SIZES,
    ("m", "n", "kk"),
)
def matmul_tf32_bias(k, a, b, bias, c, m, n, kk):
    tile_m, tile_n = grouped(k, k.program_id()[0], m, n, 16, 16, 2)
    rows, columns, inner = tile_m * 16 + k.arange(16), tile_n * 16 + k.arange(16), k.arange(16)
    pa, pb = a + (rows.column() * kk + inner.row()), b + (inner.column() * n + columns.row())

    def add(i, acc, pa, pb):
        x, y = k.load(pa).to("tf32"), k.load(pb).to("tf32")
        return k.dot(x, y, acc), pa + 16, pb + n * 16

    acc = k.loop(0, kk, 16, [k.zeros((16, 16), "f32"), pa, pb], add)[0]
    k.store(c + (rows.column() * n + columns.row()), (acc + k.load(bias + columns).row()).maximum(0.0))


@case(
    4,
    [
        In("a", "i8", (32, 64), grid(46, -60, 60, 1)),
        In("b", "i8", (64, 32), grid(47, -60, 60, 1)),
        Out("c", "i32", (32, 32)),
        32,
        32,
        64,
    ],
    lambda a: {"c": a["a"].astype(np.int32) @ a["b"].astype(np.int32)},
    "a: *i8, b: *i8, c: *i32, " + SIZES,
    ("m", "n", "kk"),
)
def matmul_i8(k, a, b, c, m, n, kk):
    acc, rows, columns = masked_product(k, a, b, m, n, kk, 16, 16, 32, acc="i32")
    store_tile(k, c, acc, rows, columns, m, n)


@case(
    (4, 3),
    [
        In("a", "f16", (32, 96), grid(48, -4, 4, 4)),
        In("b", "f16", (96, 32), grid(49, -4, 4, 4)),
        InOut("c", "f32", (32, 32), zeros()),
        32,
        32,
        96,
    ],
    lambda a: {"c": f32(product(a))},
    "a: *f16, b: *f16, c: *f32, " + SIZES,
    ("m", "n", "kk"),
)
def matmul_split_k(k, a, b, c, m, n, kk):
    pid, part, _ = k.program_id()
    _, parts, _ = k.num_programs()
    tile_m, tile_n = grouped(k, pid, m, n, 16, 16, 2)
    rows, columns, inner = tile_m * 16 + k.arange(16), tile_n * 16 + k.arange(16), part * 16 + k.arange(16)
    pa, pb = a + (rows.column() * kk + inner.row()), b + (inner.column() * n + columns.row())
    step = parts * 16

    def add(i, acc, pa, pb):
        return k.dot(k.load(pa), k.load(pb), acc), pa + step, pb + step * n

    acc = k.loop(0, k.cdiv(kk, step), 1, [k.zeros((16, 16), "f32"), pa, pb], add)[0]
    k.atomic("addf", c + (rows.column() * n + columns.row()), acc, order="relaxed")


@case(
    2,
    [*matrices("f16", 48, 32, 32, "f32"), 48, 32, 32],
    lambda a: {"c": f32(product(a))},
    "a: *f16, b: *f16, c: *f32, " + SIZES,
    ("m", "n", "kk"),
)
def matmul_persistent(k, a, b, c, m, n, kk):
    rows_of_tiles, columns_of_tiles = k.cdiv(m, 16), k.cdiv(n, 16)
    inner = k.arange(16)

    def one(tile):
        rows, columns = tile // columns_of_tiles * 16 + k.arange(16), tile % columns_of_tiles * 16 + k.arange(16)
        pa, pb = a + (rows.column() * kk + inner.row()), b + (inner.column() * n + columns.row())

        def add(i, acc, pa, pb):
            return k.dot(k.load(pa), k.load(pb), acc), pa + 16, pb + n * 16

        acc = k.loop(0, kk, 16, [k.zeros((16, 16), "f32"), pa, pb], add)[0]
        k.store(c + (rows.column() * n + columns.row()), acc)

    k.loop(k.program_id()[0], rows_of_tiles * columns_of_tiles, k.num_programs()[0], [], one)


@case(
    4,
    [*matrices("bf16", 32, 32, 64, "f32", b_shape=(32, 64)), 32, 32, 64],
    lambda a: {"c": f32(f32(a["a"]).astype(np.float64) @ f32(a["b"]).astype(np.float64).T)},
    "a: *bf16, b: *bf16, c: *f32, " + SIZES,
    ("m", "n", "kk"),
)
def matmul_transposed(k, a, b, c, m, n, kk):
    """b has a row for each column of c, and is turned in the tile."""
    tile_m, tile_n = grouped(k, k.program_id()[0], m, n, 16, 16, 2)
    rows, columns, inner = tile_m * 16 + k.arange(16), tile_n * 16 + k.arange(16), k.arange(32)
    pa, pb = a + (rows.column() * kk + inner.row()), b + (columns.column() * kk + inner.row())

    def add(i, acc, pa, pb):
        return k.dot(k.load(pa), k.load(pb).permute(1, 0), acc), pa + 32, pb + 32

    acc = k.loop(0, kk, 32, [k.zeros((16, 16), "f32"), pa, pb], add)[0]
    k.store(c + (rows.column() * n + columns.row()), acc)


def unpack(words, axis):
    """The eight numbers of 4 bits of each word, from 0 to 15, less 8."""
    w = words.view(np.uint32)
    return (np.stack([(w >> np.uint32(4 * i)) & np.uint32(15) for i in range(8)], axis).astype(np.int32)) - 8


@case(
    2,
    [
        In("q", "i32", 32, {"kind": "bits", "seed": 50}),
        In("s", "f32", 32, grid(51, 1, 8, 4)),
        Out("o", "f16", 256),
        32,
    ],
    lambda a: {"o": (unpack(a["q"], -1) * a["s"][:, None]).astype(np.float16).reshape(-1)},
    "q: *i32, s: *f32, o: *f16, n: i32",
    ("n",),
)
def unpack_int4(k, q, s, o, n):
    at, which = k.program_id()[0] * 16 + k.arange(16), k.arange(8)
    w = k.load(q + at).column()
    nibble = (w.shift_right(which.row() * 4) & 15) - 8
    k.store(o + (at.column() * 8 + which.row()), (nibble.to("f32") * k.load(s + at).column()).to("f16"))


@case(
    4,
    [
        In("a", "f16", (32, 64), grid(52, -4, 4, 4)),
        In("q", "i32", (8, 32), {"kind": "bits", "seed": 53}),
        In("s", "f16", 32, values(0.5, 1.0, 0.25, 2.0)),
        Out("c", "f32", (32, 32)),
        32,
        32,
        64,
    ],
    lambda a: {"c": f32(f32(a["a"]).astype(np.float64) @ (unpack(a["q"], 1).reshape(64, 32) * f32(a["s"])))},
    "a: *f16, q: *i32, s: *f16, c: *f32, " + SIZES,
    ("m", "n", "kk"),
)
def matmul_int4(k, a, q, s, c, m, n, kk):
    """Row 8 i + j of the second operand is in the nibbles j of row i of q."""
    tile_m, tile_n = grouped(k, k.program_id()[0], m, n, 16, 16, 2)
    rows, columns, inner = tile_m * 16 + k.arange(16), tile_n * 16 + k.arange(16), k.arange(32)
    pa = a + (rows.column() * kk + inner.row())
    pq = q + ((inner // 8).column() * n + columns.row())
    shift = (inner % 8 * 4).column()
    scale = k.load(s + columns).row()

    def add(i, acc, pa, pq):
        w = ((k.load(pq).shift_right(shift) & 15) - 8).to("f16") * scale
        return k.dot(k.load(pa), w, acc), pa + 32, pq + n * 4

    acc = k.loop(0, kk, 32, [k.zeros((16, 16), "f32"), pa, pq], add)[0]
    k.store(c + (rows.column() * n + columns.row()), acc)


@case(
    (2, 3),
    [
        In("a", "f32", (3, 40, 24), grid(54, -4, 4, 4)),
        In("x", "f32", (3, 24), grid(55, -4, 4, 4)),
        Out("y", "f32", (3, 40)),
        40,
        24,
    ],
    lambda a: {"y": f32(np.einsum("bmk,bk->bm", a["a"], a["x"]))},
    "a: *f32, x: *f32, y: *f32, m: i32, kk: i32",
)
def batched_gemv(k, a, x, y, m, kk):
    pid, batch, _ = k.program_id()
    rows, inner = pid * 32 + k.arange(32), k.arange(16)
    a, x = a + batch * m * kk, x + batch * kk

    def add(i, acc):
        v = k.load(x + i + inner, inner + i < kk).row()
        inside = (rows.column() < m) & ((inner + i).row() < kk)
        return [acc + k.load(a + (rows.column() * kk + (inner + i).row()), inside) * v]

    acc = k.loop(0, kk, 16, [k.zeros((32, 16), "f32")], add)[0]
    k.store(y + batch * m + rows, acc.sum(1), rows < m)


@case(
    4,
    [*matrices("f16", 40, 40, 48, "f16"), 40, 40, 48],
    lambda a: {"c": product(a).astype(np.float16)},
    "a: *f16, b: *f16, c: *f16, " + SIZES,
)
def matmul_descriptor(k, a, b, c, m, n, kk):
    one = k.constant(1, "i32")
    tile_m, tile_n = grouped(k, k.program_id()[0], m, n, 32, 32, 2)
    va = k.descriptor(a, [m, kk], [kk, one], (32, 16))
    vb = k.descriptor(b, [kk, n], [n, one], (16, 32))

    def add(i, acc):
        return [k.dot(k.load_block(va, tile_m, i), k.load_block(vb, i, tile_n), acc)]

    acc = k.loop(0, k.cdiv(kk, 16), 1, [k.zeros((32, 32), "f32")], add)[0]
    k.store_block(k.descriptor(c, [m, n], [n, one], (32, 32)), acc.to("f16"), tile_m, tile_n)


# ---- attention

HEADS, LENGTH, DEPTH = 2, 48, 16
SCALE = 0.25
Q, KEYS, V = (In(n, "f16", (HEADS, LENGTH, DEPTH), unif(60 + i, -2, 2)) for i, n in enumerate("qkv"))
SHAPE = (HEADS, LENGTH, DEPTH)
NEAR = close(5e-3, 3e-3)


def scores(a, causal):
    q, key, v = (f32(a[n]).astype(np.float64) for n in "qkv")
    s = np.einsum("hid,hjd->hij", q, key) * SCALE
    if causal:
        s = np.where(np.tril(np.ones((LENGTH, LENGTH), bool)), s, -np.inf)
    m = s.max(-1, keepdims=True)
    e = np.exp(s - m)
    return e / e.sum(-1, keepdims=True), (m + np.log(e.sum(-1, keepdims=True)))[..., 0], q, key, v


def attention(a, causal):
    p, lse, _, _, v = scores(a, causal)
    return {"o": (p @ v).astype(np.float16), "lse": f32(lse)}


def attention_kernel(k, q, key, v, o, lse, n, causal):
    block, head, _ = k.program_id()
    rows, inner, depth = block * 16 + k.arange(16), k.arange(16), k.arange(DEPTH)
    start = head * n * DEPTH
    queries = k.load(q + start + (rows.column() * DEPTH + depth.row()))
    pk, pv = key + start + (inner.row() * DEPTH + depth.column()), v + start + (inner.column() * DEPTH + depth.row())

    def step(masked):
        def add(i, m, total, acc, pk, pv):
            s = k.dot(queries, k.load(pk), k.zeros((16, 16), "f32")) * SCALE
            if masked:
                s = k.select(rows.column() >= (inner + i).row(), s, float("-inf"))
            new = m.maximum(s.max(1))
            p, shrink = (s - new.column()).exp(), (m - new).exp()
            acc = k.dot(p.to("f16"), k.load(pv), acc * shrink.column())
            return new, total * shrink + p.sum(1), acc, pk + 16 * DEPTH, pv + 16 * DEPTH

        return add

    state = [k.constant(float("-inf"), "f32", (16,)), k.zeros((16,), "f32"), k.zeros((16, DEPTH), "f32"), pk, pv]
    state = k.loop(0, block * 16 if causal else n, 16, state, step(False))
    if causal:  # what is left is the diagonal
        state = k.loop(block * 16, block * 16 + 16, 16, state, step(True))
    m, total, acc = state[:3]
    k.store(o + start + (rows.column() * DEPTH + depth.row()), (acc / total.column()).to("f16"))
    k.store(lse + head * n + rows, m + total.log())


ATTENTION = [Q, KEYS, V, Out("o", "f16", SHAPE, NEAR), Out("lse", "f32", SHAPE[:2], NEAR), LENGTH]
ATTENTION_PARAMETERS = "q: *f16, key: *f16, v: *f16, o: *f16, lse: *f32, n: i32"


@case((3, HEADS), ATTENTION, lambda a: attention(a, False), ATTENTION_PARAMETERS, ("n",))
def attention_forward(k, q, key, v, o, lse, n):
    attention_kernel(k, q, key, v, o, lse, n, False)


@case((3, HEADS), ATTENTION, lambda a: attention(a, True), ATTENTION_PARAMETERS, ("n",))
def attention_causal(k, q, key, v, o, lse, n):
    attention_kernel(k, q, key, v, o, lse, n, True)


@case(
    (3, HEADS),
    [
        In("o", "f16", SHAPE, unif(70, -1, 1)),
        In("do", "f16", SHAPE, unif(71, -1, 1)),
        Out("delta", "f32", SHAPE[:2], NEAR),
        LENGTH,
    ],
    lambda a: {"delta": f32((f32(a["o"]) * f32(a["do"])).sum(-1))},
    "o: *f16, do: *f16, delta: *f32, n: i32",
    ("n",),
)
def attention_backward_delta(k, o, do, delta, n):
    block, head, _ = k.program_id()
    rows, depth = block * 16 + k.arange(16), k.arange(DEPTH)
    at = (head * n + rows).column() * DEPTH + depth.row()
    k.store(delta + head * n + rows, (k.load(o + at).to("f32") * k.load(do + at).to("f32")).sum(1))


FORWARD = attention({a.name: a.make() for a in (Q, KEYS, V)}, True)
DO = In("do", "f16", SHAPE, unif(72, -1, 1))
LSE = In("lse", "f32", SHAPE[:2], values(*[float(x) for x in FORWARD["lse"].reshape(-1)]))
DELTA_VALUES = f32((f32(FORWARD["o"]) * f32(DO.make())).sum(-1))
DELTA = In("delta", "f32", SHAPE[:2], values(*[float(x) for x in DELTA_VALUES.reshape(-1)]))


def attention_gradient(a):
    p, _, q, key, v = scores(a, True)
    do = f32(a["do"]).astype(np.float64)
    ds = p * (do @ v.transpose(0, 2, 1) - a["delta"][..., None]) * SCALE
    return {"dq": f32(ds @ key), "dk": f32(ds.transpose(0, 2, 1) @ q), "dv": f32(p.transpose(0, 2, 1) @ do)}


def probabilities(k, s, log_sum, keep):
    return k.select(keep, (s * SCALE - log_sum).exp(), 0.0)


@case(
    (3, HEADS),
    [
        Q,
        KEYS,
        V,
        DO,
        LSE,
        DELTA,
        Out("dk", "f32", SHAPE, close(2e-2, 5e-3)),
        Out("dv", "f32", SHAPE, close(2e-2, 5e-3)),
        LENGTH,
    ],
    attention_gradient,
    "q: *f16, key: *f16, v: *f16, do: *f16, lse: *f32, delta: *f32, dk: *f32, dv: *f32, n: i32",
    ("n",),
)
def attention_backward_keys(k, q, key, v, do, lse, delta, dk, dv, n):
    """For 16 keys, over all queries from their own place on."""
    block, head, _ = k.program_id()
    mine, inner, depth = block * 16 + k.arange(16), k.arange(16), k.arange(DEPTH)
    start = head * n * DEPTH
    at = mine.column() * DEPTH + depth.row()
    kt, vt = k.load(key + start + at), k.load(v + start + at)
    first = start + block * 16 * DEPTH
    pq, pd = q + first + (inner.column() * DEPTH + depth.row()), do + first + (inner.column() * DEPTH + depth.row())
    pl, pe = lse + head * n + block * 16 + inner, delta + head * n + block * 16 + inner

    def add(i, acc_k, acc_v, pq, pd, pl, pe):
        query, grad = k.load(pq), k.load(pd)
        s = k.dot(kt, query.permute(1, 0), k.zeros((16, 16), "f32"))
        p = probabilities(k, s, k.load(pl).row(), (inner + i).row() >= mine.column())
        acc_v = k.dot(p.to("f16"), grad, acc_v)
        dp = k.dot(vt, grad.permute(1, 0), k.zeros((16, 16), "f32"))
        ds = p * (dp - k.load(pe).row()) * SCALE
        return k.dot(ds.to("f16"), query, acc_k), acc_v, pq + 16 * DEPTH, pd + 16 * DEPTH, pl + 16, pe + 16

    zero = k.zeros((16, DEPTH), "f32")
    acc_k, acc_v = k.loop(block * 16, n, 16, [zero, zero, pq, pd, pl, pe], add)[:2]
    k.store(dk + start + at, acc_k)
    k.store(dv + start + at, acc_v)


@case(
    (3, HEADS),
    [Q, KEYS, V, DO, LSE, DELTA, Out("dq", "f32", SHAPE, close(2e-2, 5e-3)), LENGTH],
    attention_gradient,
    "q: *f16, key: *f16, v: *f16, do: *f16, lse: *f32, delta: *f32, dq: *f32, n: i32",
    ("n",),
)
def attention_backward_queries(k, q, key, v, do, lse, delta, dq, n):
    block, head, _ = k.program_id()
    rows, inner, depth = block * 16 + k.arange(16), k.arange(16), k.arange(DEPTH)
    start = head * n * DEPTH
    at = rows.column() * DEPTH + depth.row()
    query, grad = k.load(q + start + at), k.load(do + start + at)
    log_sum, d = k.load(lse + head * n + rows).column(), k.load(delta + head * n + rows).column()
    pk, pv = (p + start + (inner.column() * DEPTH + depth.row()) for p in (key, v))

    def add(i, acc, pk, pv):
        keys = k.load(pk)
        s = k.dot(query, keys.permute(1, 0), k.zeros((16, 16), "f32"))
        p = probabilities(k, s, log_sum, rows.column() >= (inner + i).row())
        dp = k.dot(grad, k.load(pv).permute(1, 0), k.zeros((16, 16), "f32"))
        return k.dot((p * (dp - d) * SCALE).to("f16"), keys, acc), pk + 16 * DEPTH, pv + 16 * DEPTH

    acc = k.loop(0, block * 16 + 16, 16, [k.zeros((16, DEPTH), "f32"), pk, pv], add)[0]
    k.store(dq + start + at, acc)


PAGES = 3  # of 16 keys each


def paged(a):
    table = a["table"].reshape(HEADS, PAGES)
    out = []
    for h in range(HEADS):
        key, v = (
            f32(a[x]).astype(np.float64)[table[h]].reshape(-1, DEPTH)[: a["length"][h]] for x in ("kcache", "vcache")
        )
        s = key @ f32(a["q"][h]).astype(np.float64) * SCALE
        e = np.exp(s - s.max())
        out.append((e / e.sum()) @ v)
    return {"o": f32(np.array(out))}


@case(
    HEADS,
    [
        In("q", "f16", (HEADS, DEPTH), unif(73, -2, 2)),
        In("kcache", "f16", (8, 16, DEPTH), unif(74, -2, 2)),
        In("vcache", "f16", (8, 16, DEPTH), unif(75, -2, 2)),
        In("table", "i32", (HEADS, PAGES), values(5, 0, 3, 7, 2, 6)),
        In("length", "i32", HEADS, values(40, 21)),
        Out("o", "f32", (HEADS, DEPTH), NEAR),
        PAGES,
    ],
    paged,
    "q: *f16, kcache: *f16, vcache: *f16, table: *i32, length: *i32, o: *f32, pages: i32",
)
def paged_decoding(k, q, kcache, vcache, table, length, o, pages):
    """One query for each row, over keys that a table of pages leads to."""
    row, inner, depth = k.program_id()[0], k.arange(16), k.arange(DEPTH)
    query, count = k.load(q + row * DEPTH + depth).to("f32"), k.load(length + row)

    def add(i, m, total, acc):
        page = k.load(table + row * pages + i)
        at = (page * 16 + inner).column() * DEPTH + depth.row()
        inside = i * 16 + inner < count
        key = k.load(kcache + at, inside.column()).to("f32")
        s = k.select(inside, (key * query.row()).sum(1) * SCALE, float("-inf"))
        new = m.maximum(s.max(0))
        p, shrink = (s - new).exp(), (m - new).exp()
        values_ = k.load(vcache + at, inside.column()).to("f32")
        return new, total * shrink + p.sum(0), acc * shrink + (p.column() * values_).sum(0)

    state = [k.constant(float("-inf"), "f32"), k.constant(0.0, "f32"), k.zeros((DEPTH,), "f32")]
    _, total, acc = k.loop(0, k.cdiv(count, 16), 1, state, add)
    k.store(o + row * DEPTH + depth, acc / total)
