"""Element-wise kernels, rows, norms, losses: what Triton's tutorials begin with, and what models are made of."""

import numpy as np

from cases import In, InOut, Out, case, close, f32, grid, unif, values, zeros

NEAR = close(2e-5, 1e-6)


@case(
    3,
    [In("x", "f32", 300, grid(1, -64, 64, 8)), In("y", "f32", 300, grid(2, -64, 64, 8)), Out("o", "f32", 300), 300],
    lambda a: {"o": a["x"] + a["y"]},
    "x: *f32, y: *f32, o: *f32, n: i32",
)
def add(k, x, y, o, n):
    at = k.program_id()[0] * 128 + k.arange(128)
    inside = at < n
    k.store(o + at, k.load(x + at, inside) + k.load(y + at, inside), inside)


@case(
    2,
    [In("x", "f16", 256, grid(3, -64, 64, 8)), Out("o", "f16", 256), 256, 2.5],
    lambda a: {"o": (f32(a["x"]) * 2.5).astype(np.float16)},
    "x: *f16, o: *f16, n: i32, scale: f32",
    ("n",),
)
def scale_f16(k, x, o, n, scale):
    at = k.program_id()[0] * 128 + k.arange(128)
    inside = at < n
    k.store(o + at, (k.load(x + at, inside).to("f32") * scale).to("f16"), inside)


@case(
    6,
    [In("x", "f32", (6, 100), unif(4, -3, 3)), Out("o", "f32", (6, 100), NEAR), 100, 100, 100],
    lambda a: {"o": softmax_of(a["x"])},
    "x: *f32, o: *f32, xs: i32, os: i32, n: i32",
)
def softmax(k, x, o, xs, os, n):
    row, at = k.program_id()[0], k.arange(128)
    inside = at < n
    v = k.load(x + row * xs + at, inside, float("-inf"))
    e = (v - v.max(0)).exp()
    k.store(o + row * os + at, e / e.sum(0), inside)


def softmax_of(x):
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return f32(e / e.sum(-1, keepdims=True))


@case(
    2,
    [In("x", "f32", (7, 64), unif(5, -3, 3)), Out("o", "f32", (7, 64), NEAR), 7, 64],
    lambda a: {"o": softmax_of(a["x"])},
    "x: *f32, o: *f32, rows: i32, stride: i32",
    ("stride",),
)
def softmax_persistent(k, x, o, rows, stride):
    at = k.arange(64)

    def one(row):
        v = k.load(x + row * stride + at)
        e = (v - v.max(0)).exp()
        k.store(o + row * stride + at, e / e.sum(0))

    k.loop(k.program_id()[0], rows, k.num_programs()[0], [], one)


@case(
    4,
    [In("x", "f32", (4, 200), unif(6, -3, 3)), Out("o", "f32", (4, 200), close(2e-5, 1e-5)), 200],
    lambda a: {"o": f32(a["x"] - np.log(np.exp(a["x"].astype(np.float64)).sum(-1, keepdims=True)))},
    "x: *f32, o: *f32, n: i32",
)
def log_softmax_loop(k, x, o, n):
    at, row = k.arange(64), k.program_id()[0]
    base = x + row * n

    def step(i, p, m, s):
        v = k.load(p, at + i < n, float("-inf"))
        new = m.maximum(v.max(0))
        return p + 64, new, s * (m - new).exp() + (v - new).exp().sum(0)

    _, m, s = k.loop(0, n, 64, [base + at, k.constant(float("-inf"), "f32"), k.constant(0.0, "f32")], step)
    total = m + s.log()

    def write(i):
        inside = at + i < n
        k.store(o + row * n + i + at, k.load(base + i + at, inside) - total, inside)

    k.loop(0, n, 64, [], write)


def norm_parts(x):
    x = x.astype(np.float64)
    mean = x.mean(-1, keepdims=True)
    return x, mean, 1 / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def layer_norm_reference(a):
    x, mean, rstd = norm_parts(a["x"])
    return {"o": f32((x - mean) * rstd * a["w"] + a["b"]), "mean": f32(mean[:, 0]), "rstd": f32(rstd[:, 0])}


ROWS, N = 8, 96
X, W, B = (
    In("x", "f32", (ROWS, N), unif(7, -2, 2)),
    In("w", "f32", N, unif(8, 0.5, 1.5)),
    In("b", "f32", N, unif(9, -1, 1)),
)


@case(
    ROWS,
    [
        X,
        W,
        B,
        Out("o", "f32", (ROWS, N), close(1e-4, 1e-5)),
        Out("mean", "f32", ROWS, close(1e-4, 1e-6)),
        Out("rstd", "f32", ROWS, close(1e-4, 1e-6)),
        N,
        N,
    ],
    layer_norm_reference,
    "x: *f32, w: *f32, b: *f32, o: *f32, mean: *f32, rstd: *f32, stride: i32, n: i32",
    ("stride", "n"),
)
def layer_norm_forward(k, x, w, b, o, mean, rstd, stride, n):
    row, at = k.program_id()[0], k.arange(32)
    x, o = x + row * stride, o + row * stride
    count = n.to("f32")

    def add_up(i, s):
        return [s + k.load(x + i + at, at + i < n)]

    average = k.loop(0, n, 32, [k.zeros((32,), "f32")], add_up)[0].sum(0) / count

    def squares(i, s):
        inside = at + i < n
        d = k.select(inside, k.load(x + i + at, inside) - average, 0.0)
        return [s + d * d]

    variance = k.loop(0, n, 32, [k.zeros((32,), "f32")], squares)[0].sum(0) / count
    r = k.constant(1.0, "f32") / (variance + 1e-5).unary("sqrt")
    k.store(mean + row, average)
    k.store(rstd + row, r)

    def write(i):
        inside = at + i < n
        v = (k.load(x + i + at, inside) - average) * r
        k.store(o + i + at, v * k.load(w + i + at, inside) + k.load(b + i + at, inside), inside)

    k.loop(0, n, 32, [], write)


def layer_norm_gradient(a):
    x, mean, rstd = norm_parts(a["x"])
    xhat, wdy = (x - mean) * rstd, a["w"] * a["dy"].astype(np.float64)
    dx = (wdy - xhat * (xhat * wdy).mean(-1, keepdims=True) - wdy.mean(-1, keepdims=True)) * rstd
    groups = np.arange(ROWS) % 2
    dw = np.stack([(a["dy"] * xhat)[groups == g].sum(0) for g in (0, 1)])
    db = np.stack([a["dy"].astype(np.float64)[groups == g].sum(0) for g in (0, 1)])
    return {"dx": f32(dx), "dw": f32(dw), "db": f32(db)}


MEAN = In("mean", "f32", ROWS, values(*[float(m) for m in norm_parts(X.make())[1][:, 0].astype(np.float32)]))
RSTD = In("rstd", "f32", ROWS, values(*[float(r) for r in norm_parts(X.make())[2][:, 0].astype(np.float32)]))
LOOSE = close(1e-3, 1e-4)


@case(
    ROWS,
    [
        Out("dx", "f32", (ROWS, N), LOOSE),
        In("dy", "f32", (ROWS, N), unif(10, -1, 1)),
        InOut("dw", "f32", (2, N), zeros(), LOOSE),
        InOut("db", "f32", (2, N), zeros(), LOOSE),
        X,
        W,
        MEAN,
        RSTD,
        InOut("locks", "i32", 4),
        N,
    ],
    lambda a: {**layer_norm_gradient(a), "locks": np.array([0, 0, 1, 1], np.int32)},
    "dx: *f32, dy: *f32, dw: *f32, db: *f32, x: *f32, w: *f32, mean: *f32, rstd: *f32, locks: *i32, n: i32",
    ("n",),
)
def layer_norm_backward_locked(k, dx, dy, dw, db, x, w, mean, rstd, locks, n):
    """The sums of rows go to one of two groups, one row at a time, guarded by a lock; the first to come stores."""
    row, at = k.program_id()[0], k.arange(128)
    inside = at < n
    start = row * n
    v, g = k.load(x + start + at, inside), k.load(dy + start + at, inside)
    scale, average, r = k.load(w + at, inside), k.load(mean + row), k.load(rstd + row)
    xhat = k.select(inside, (v - average) * r, 0.0)
    wdy = k.select(inside, scale * g, 0.0)
    count = n.to("f32")
    c1, c2 = (xhat * wdy).sum(0) / count, wdy.sum(0) / count
    k.store(dx + start + at, (wdy - (xhat * c1 + c2)) * r, inside)
    group = row % 2
    lock, counted = locks + group, locks + group + 2
    pw, pb = dw + group * n + at, db + group * n + at
    pw_value, pb_value = g * xhat, g
    held = k.lock(lock)
    was, t0 = k.load(counted, token=held, want_token=True)
    first = was.equals(0)
    old_w, t1 = k.load(pw, inside, token=held, want_token=True)
    old_b, t2 = k.load(pb, inside, token=held, want_token=True)
    begun = k.store(counted, 1, token=t0)
    w_done = k.store(pw, k.select(first, pw_value, old_w + pw_value), inside, token=t1)
    b_done = k.store(pb, k.select(first, pb_value, old_b + pb_value), inside, token=t2)
    k.unlock(lock, k.join(begun, w_done, b_done))


@case(
    3,
    [
        In("dw", "f32", (4, N), grid(11, -16, 16, 4)),
        In("db", "f32", (4, N), grid(12, -16, 16, 4)),
        Out("ow", "f32", N),
        Out("ob", "f32", N),
        4,
        N,
    ],
    lambda a: {"ow": a["dw"].sum(0), "ob": a["db"].sum(0)},
    "dw: *f32, db: *f32, ow: *f32, ob: *f32, m: i32, n: i32",
    ("n",),
)
def layer_norm_backward_sums(k, dw, db, ow, ob, m, n):
    columns, rows = k.program_id()[0] * 32 + k.arange(32), k.arange(4)

    def step(i, a, b):
        r = (rows + i).column()
        inside = (r < m) & (columns.row() < n)
        at = r * n + columns.row()
        return a + k.load(dw + at, inside), b + k.load(db + at, inside)

    a, b = k.loop(0, m, 4, [k.zeros((4, 32), "f32"), k.zeros((4, 32), "f32")], step)
    k.store(ow + columns, a.sum(0), columns < n)
    k.store(ob + columns, b.sum(0), columns < n)


def rms(x):
    return 1 / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6)


@case(
    5,
    [
        In("x", "bf16", (5, 64), unif(13, -2, 2)),
        In("w", "bf16", 64, unif(14, 0.5, 1.5)),
        Out("o", "bf16", (5, 64), close(1e-2, 1e-3)),
        64,
    ],
    lambda a: {"o": (f32(a["x"]) * f32(rms(f32(a["x"]))) * f32(a["w"])).astype(a["x"].dtype)},
    "x: *bf16, w: *bf16, o: *bf16, n: i32",
    ("n",),
)
def rms_norm(k, x, w, o, n):
    row, at = k.program_id()[0], k.arange(64)
    v = k.load(x + row * n + at, at < n).to("f32")
    r = ((v * v).sum(0) / n.to("f32") + 1e-6).unary("rsqrt")
    k.store(o + row * n + at, (v * r * k.load(w + at, at < n).to("f32")).to("bf16"), at < n)


def rms_gradient(a):
    r, g = rms(a["x"]), a["dy"].astype(np.float64) * a["w"]
    return {
        "dx": f32(r * g - a["x"] * r**3 * (g * a["x"]).mean(-1, keepdims=True)),
        "dw": f32((a["dy"] * a["x"] * r).sum(0)),
    }


@case(
    5,
    [
        In("x", "f32", (5, 64), unif(15, -2, 2)),
        In("w", "f32", 64, unif(16, 0.5, 1.5)),
        In("dy", "f32", (5, 64), unif(17, -1, 1)),
        Out("dx", "f32", (5, 64), LOOSE),
        InOut("dw", "f32", 64, zeros(), LOOSE),
        64,
    ],
    rms_gradient,
    "x: *f32, w: *f32, dy: *f32, dx: *f32, dw: *f32, n: i32",
    ("n",),
)
def rms_norm_backward(k, x, w, dy, dx, dw, n):
    row, at = k.program_id()[0], k.arange(64)
    v, d = k.load(x + row * n + at), k.load(dy + row * n + at)
    count = n.to("f32")
    r = ((v * v).sum(0) / count + 1e-6).unary("rsqrt")
    g = d * k.load(w + at)
    k.store(dx + row * n + at, g * r - v * (r * r * r * ((g * v).sum(0) / count)))
    k.atomic("addf", dw + at, d * v * r, order="relaxed")


@case(
    3,
    [
        In("x", "f32", 300, unif(18, -2, 2)),
        In("keep", "i32", 300, grid(19, 0, 1)),
        Out("o", "f32", 300, NEAR),
        300,
        0.5,
    ],
    lambda a: {"o": np.where(a["keep"] != 0, a["x"] / np.float32(0.5), np.float32(0))},
    "x: *f32, keep: *i32, o: *f32, n: i32, p: f32",
)
def dropout(k, x, keep, o, n, p):
    at = k.program_id()[0] * 128 + k.arange(128)
    inside = at < n
    v, kept = k.load(x + at, inside), k.load(keep + at, inside)
    k.store(o + at, k.select(kept > 0, v / (k.constant(1.0, "f32") - p), 0.0), inside)


PHILOX = (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85)


def philox(seed, counter):
    c = [counter.astype(np.uint64), *[np.zeros_like(counter, np.uint64)] * 3]
    key, low = [seed, 0], np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(PHILOX[0]), c[2] * np.uint64(PHILOX[1])
        c = [
            (b >> np.uint64(32)) ^ c[1] ^ np.uint64(key[0]),
            b & low,
            (a >> np.uint64(32)) ^ c[3] ^ np.uint64(key[1]),
            a & low,
        ]
        key = [(key[0] + PHILOX[2]) & 0xFFFFFFFF, (key[1] + PHILOX[3]) & 0xFFFFFFFF]
    return c[0].astype(np.uint32)


def uniform(words):
    """In [0, 1), as Triton makes it of 32 bits."""
    i = words.view(np.int32).astype(np.int64)
    return f32(np.where(i < 0, -i - 1, i).astype(np.float32) * np.float32(4.6566127342e-10))


@case(
    2,
    [In("x", "f32", 200, unif(20, -2, 2)), Out("o", "f32", 200, NEAR), 200, 0.25, 123],
    lambda a: {"o": np.where(uniform(philox(123, np.arange(200))) > 0.25, a["x"] / np.float32(0.75), np.float32(0))},
    "x: *f32, o: *f32, n: i32, p: f32, seed: i32",
)
def dropout_seeded(k, x, o, n, p, seed):
    def word(value):
        return k.constant(value - (1 << 32) if value >> 31 else value, "i32")

    at = k.program_id()[0] * 128 + k.arange(128)
    zero = k.zeros((128,), "i32")
    c, key = [at, zero, zero, zero], [seed, k.constant(0, "i32")]
    for _ in range(10):
        high0, high2 = c[0].high_product(word(PHILOX[0])), c[2].high_product(word(PHILOX[1]))
        c = [high2 ^ c[1] ^ key[0], c[2] * word(PHILOX[1]), high0 ^ c[3] ^ key[1], c[0] * word(PHILOX[0])]
        key = [key[0] + word(PHILOX[2]), key[1] + word(PHILOX[3])]
    i = c[0]
    i = k.select(i < 0, k.constant(-1, "i32") - i, i)
    keep = i.to("f32") * 4.6566127342e-10 > p
    inside = at < n
    v = k.load(x + at, inside)
    k.store(o + at, k.select(keep, v / (k.constant(1.0, "f32") - p), 0.0), inside)


def cross_entropy_reference(a):
    p = softmax_of(a["x"]).astype(np.float64)
    one = np.eye(a["x"].shape[1])[a["labels"]]
    return {"loss": f32(-np.log((p * one).sum(-1))), "x": f32(p - one)}


@case(
    6,
    [
        InOut("x", "f32", (6, 50), unif(21, -2, 2), close(1e-4, 1e-5)),
        In("labels", "i32", 6, grid(22, 0, 49)),
        Out("loss", "f32", 6, close(1e-4, 1e-5)),
        50,
    ],
    cross_entropy_reference,
    "x: *f32, labels: *i32, loss: *f32, n: i32",
)
def cross_entropy(k, x, labels, loss, n):
    """The gradient takes the place of the logits, so its store comes after the loads of both."""
    row, at = k.program_id()[0], k.arange(64)
    inside, label = at < n, k.load(labels + row)
    place = x + row * n
    v, t0 = k.load(place + at, inside, float("-inf"), want_token=True)
    of_label, t1 = k.load(place + label, want_token=True)
    m = v.max(0)
    e = (v - m).exp()
    total = e.sum(0)
    k.store(loss + row, total.log() + m - of_label)
    k.store(
        place + at, e / total - k.select(at.equals(label), 1.0, k.zeros((64,), "f32")), inside, token=k.join(t0, t1)
    )


@case(
    3,
    [
        In("p", "f32", (3, 40), unif(23, 0.1, 1)),
        In("q", "f32", (3, 40), unif(24, 0.1, 1)),
        Out("o", "f32", 3, close(1e-4, 1e-5)),
        40,
    ],
    lambda a: {"o": f32((a["p"].astype(np.float64) * np.log(a["p"].astype(np.float64) / a["q"])).sum(-1))},
    "p: *f32, q: *f32, o: *f32, n: i32",
)
def kl_divergence(k, p, q, o, n):
    row, at = k.program_id()[0], k.arange(64)
    inside = at < n
    a, b = k.load(p + row * n + at, inside, 1), k.load(q + row * n + at, inside, 1)
    k.store(o + row, (a * (a.log() - b.log())).sum(0))


@case(
    2,
    [
        In("g", "f32", 160, unif(25, -3, 3)),
        In("u", "f32", 160, unif(26, -3, 3)),
        Out("o", "f32", 160, close(1e-4, 1e-6)),
        160,
    ],
    lambda a: {"o": f32(a["g"] / (1 + np.exp(-a["g"].astype(np.float64))) * a["u"])},
    "g: *f32, u: *f32, o: *f32, n: i32",
    ("n",),
)
def swiglu(k, g, u, o, n):
    at = k.program_id()[0] * 128 + k.arange(128)
    inside = at < n
    v = k.load(g + at, inside)
    k.store(o + at, v * v.sigmoid() * k.load(u + at, inside), inside)


@case(
    2,
    [In("x", "f32", 160, unif(27, -3, 3)), Out("o", "f32", 160, close(1e-4, 1e-5)), 160],
    lambda a: {
        "o": f32(
            0.5
            * a["x"]
            * (1 + np.tanh(0.7978845608 * (a["x"].astype(np.float64) + 0.044715 * a["x"].astype(np.float64) ** 3)))
        )
    },
    "x: *f32, o: *f32, n: i32",
    ("n",),
)
def gelu(k, x, o, n):
    at = k.program_id()[0] * 128 + k.arange(128)
    inside = at < n
    v = k.load(x + at, inside)
    t = ((v + v * v * v * 0.044715) * 0.7978845608).unary("tanh")
    k.store(o + at, v * 0.5 * (t + 1.0), inside)


def adam(a):
    g = a["g"].astype(np.float64)
    m, v = 0.9 * a["m"] + 0.1 * g, 0.999 * a["v"] + 0.001 * g * g
    p = a["p"] * (1 - 1e-2 * 0.1) - 1e-2 * (m / 0.1) / (np.sqrt(v / 0.001) + 1e-8)
    return {"p": f32(p), "m": f32(m), "v": f32(v)}


@case(
    2,
    [
        InOut("p", "f32", 200, unif(28, -1, 1), LOOSE),
        In("g", "f32", 200, unif(29, -1, 1)),
        InOut("m", "f32", 200, unif(30, -1, 1), LOOSE),
        InOut("v", "f32", 200, unif(31, 0.1, 1), LOOSE),
        200,
    ],
    adam,
    "p: *f32, g: *f32, m: *f32, v: *f32, n: i32",
)
def adamw(k, p, g, m, v, n):
    at = k.program_id()[0] * 128 + k.arange(128)
    inside = at < n
    grad = k.load(g + at, inside)
    (w, t0), (old_m, t1) = k.load(p + at, inside, want_token=True), k.load(m + at, inside, want_token=True)
    old_v, t2 = k.load(v + at, inside, want_token=True)
    new_m, new_v = old_m * 0.9 + grad * 0.1, old_v * 0.999 + grad * grad * 0.001
    step = new_m / 0.1 / ((new_v / 0.001).unary("sqrt") + 1e-8)
    k.store(m + at, new_m, inside, token=t1)
    k.store(v + at, new_v, inside, token=t2)
    k.store(p + at, w * (1 - 1e-3) - step * 1e-2, inside, token=t0)


def rotate(a):
    x, c, s = a["x"].reshape(4, 2, 16), a["c"][:, None], a["s"][:, None]
    lo, hi = x[:, :1], x[:, 1:]
    return {"o": f32(np.concatenate([lo * c - hi * s, hi * c + lo * s], 1).reshape(4, 32))}


@case(
    4,
    [
        In("x", "f32", (4, 32), grid(32, -8, 8, 4)),
        In("c", "f32", (4, 16), grid(33, -4, 4, 4)),
        In("s", "f32", (4, 16), grid(34, -4, 4, 4)),
        Out("o", "f32", (4, 32)),
        32,
    ],
    rotate,
    "x: *f32, c: *f32, s: *f32, o: *f32, n: i32",
    ("n",),
)
def rotary(k, x, c, s, o, n):
    row, at = k.program_id()[0], k.arange(16)
    half = n // 2
    low, high = x + row * n + at, x + row * n + half + at
    a, b = k.load(low), k.load(high)
    cosine, sine = k.load(c + row * half + at), k.load(s + row * half + at)
    k.store(o + row * n + at, a * cosine - b * sine)
    k.store(o + row * n + half + at, b * cosine + a * sine)


@case(
    4,
    [
        In("x", "f32", (4, 64), unif(35, -4, 4)),
        Out("q", "i8", (4, 64), close(0, 1)),
        Out("scale", "f32", 4, NEAR),
        64,
    ],
    lambda a: {
        "q": np.trunc(a["x"] / (np.abs(a["x"]).max(-1, keepdims=True) / np.float32(127))).astype(np.int8),
        "scale": np.abs(a["x"]).max(-1) / np.float32(127),
    },
    "x: *f32, q: *i8, scale: *f32, n: i32",
    ("n",),
)
def quantize_rows(k, x, q, scale, n):
    row, at = k.program_id()[0], k.arange(64)
    v = k.load(x + row * n + at)
    s = v.unary("absf").max(0) / 127.0
    k.store(scale + row, s)
    k.store(q + row * n + at, (v / s).to("i8"))
