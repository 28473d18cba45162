"""Kernels whose programs meet in memory, go by tables, or carry something along an axis."""

import numpy as np

from cases import In, InOut, Out, case, close, f32, grid, unif, values


@case(
    4,
    [In("x", "i32", 500, grid(81, 0, 15)), InOut("h", "i32", 16), 500],
    lambda a: {"h": np.bincount(a["x"], minlength=16).astype(np.int32)},
    "x: *i32, h: *i32, n: i32",
)
def histogram(k, x, h, n):
    at = k.program_id()[0] * 128 + k.arange(128)
    inside = at < n
    k.atomic("add", h + k.load(x + at, inside), 1, inside, order="relaxed")


@case(
    2,
    [In("x", "i32", 300, grid(82, 0, 7)), InOut("h", "i32", 8), 300],
    lambda a: {"h": np.bincount(a["x"], minlength=8).astype(np.int32)},
    "x: *i32, h: *i32, n: i32",
)
def histogram_counted(k, x, h, n):
    """Each program counts its numbers in a tile, and adds eight sums."""
    which = k.arange(8)

    def add(i, counts):
        at = i + k.arange(32)
        v = k.load(x + at, at < n, -1)
        return [counts + v.column().equals(which.row()).to("i32", signed=False).sum(0)]

    start, step = k.program_id()[0] * 32, k.num_programs()[0] * 32
    counts = k.loop(start, n, step, [k.zeros((8,), "i32")], add)[0]
    k.atomic("add", h + which, counts, order="relaxed")


@case(
    3,
    [In("x", "f32", (3, 100), grid(83, -8, 8, 4)), Out("o", "f32", (3, 100)), 100],
    lambda a: {"o": np.cumsum(a["x"], -1, dtype=np.float32)},
    "x: *f32, o: *f32, n: i32",
)
def cumulative_sum(k, x, o, n):
    row, at = k.program_id()[0], k.arange(128)
    inside = at < n
    k.store(o + row * n + at, k.load(x + row * n + at, inside).cumsum(0), inside)


@case(
    2,
    [In("x", "i32", (2, 100), grid(84, -9, 9)), Out("o", "i32", (2, 100)), 100],
    lambda a: {"o": np.cumsum(a["x"][:, ::-1], -1, dtype=np.int32)[:, ::-1]},
    "x: *i32, o: *i32, n: i32",
)
def cumulative_sum_reversed(k, x, o, n):
    row, at = k.program_id()[0], k.arange(128)
    inside = at < n
    k.store(o + row * n + at, k.load(x + row * n + at, inside).cumsum(0, reverse=True), inside)


def recurrence(a):
    h, out = np.zeros(a["x"].shape[0]), []
    for t in range(a["x"].shape[1]):
        h = a["a"][:, t].astype(np.float64) * h + a["x"][:, t]
        out.append(h)
    return {"h": f32(np.stack(out, 1))}


@case(
    2,
    [
        In("a", "f32", (2, 64), unif(85, 0.5, 1)),
        In("x", "f32", (2, 64), unif(86, -1, 1)),
        Out("h", "f32", (2, 64), close(1e-4, 1e-5)),
        64,
    ],
    recurrence,
    "a: *f32, x: *f32, h: *f32, n: i32",
    ("n",),
)
def linear_recurrence(k, a, x, h, n):
    """h[t] = a[t] h[t - 1] + x[t], as a scan of pairs."""
    at = k.program_id()[0] * n + k.arange(64)
    pairs = [k.load(a + at), k.load(x + at)]
    k.store(h + at, k.combine(pairs, 0, [1.0, 0.0], lambda p, q: [p[0] * q[0], q[0] * p[1] + q[1]], scan=True)[1])


@case(
    4,
    [In("x", "f32", (4, 90), grid(87, -20, 20, 4)), Out("o", "i32", 4), Out("m", "f32", 4), 90],
    lambda a: {"o": a["x"].argmax(-1).astype(np.int32), "m": a["x"].max(-1)},
    "x: *f32, o: *i32, m: *f32, n: i32",
)
def argmax(k, x, o, m, n):
    row, at = k.program_id()[0], k.arange(128)
    v = k.load(x + row * n + at, at < n, float("-inf"))

    def larger(p, q):
        first = (p[0] > q[0]) | (p[0].equals(q[0]) & (p[1] < q[1]))
        return [k.select(first, p[0], q[0]), k.select(first, p[1], q[1])]

    best, place = k.combine([v, at], 0, [float("-inf"), 2**31 - 1], larger)
    k.store(o + row, place)
    k.store(m + row, best)


def moments(a):
    x = a["x"].astype(np.float64)
    return {"mean": f32(x.mean(-1)), "var": f32(x.var(-1))}


@case(
    3,
    [
        In("x", "f32", (3, 128), unif(88, -2, 5)),
        Out("mean", "f32", 3, close(1e-4, 1e-5)),
        Out("var", "f32", 3, close(1e-4, 1e-5)),
        128,
    ],
    moments,
    "x: *f32, mean: *f32, var: *f32, n: i32",
    ("n",),
)
def welford(k, x, mean, var, n):
    row, at = k.program_id()[0], k.arange(128)
    v = k.load(x + row * n + at)

    def both(p, q):
        count = p[2] + q[2]
        share = k.select(count > 0.0, q[2] / count.maximum(1.0), 0.0)
        d = q[0] - p[0]
        return [p[0] + d * share, p[1] + q[1] + d * d * p[2] * share, count]

    m, s, count = k.combine([v, k.zeros((128,), "f32"), k.constant(1.0, "f32", (128,))], 0, [0.0, 0.0, 0.0], both)
    k.store(mean + row, m)
    k.store(var + row, s / count)


@case(
    5,
    [In("x", "f32", 600, grid(89, -16, 16, 4)), InOut("o", "f32", 1), 600],
    lambda a: {"o": a["x"].sum().reshape(1)},
    "x: *f32, o: *f32, n: i32",
)
def sum_atomic(k, x, o, n):
    at = k.program_id()[0] * 128 + k.arange(128)
    k.atomic("addf", o, k.load(x + at, at < n).sum(0), order="relaxed")


@case(
    5,
    [
        In("x", "f32", 600, grid(90, -16, 16, 4)),
        Out("part", "f32", 5),
        InOut("done", "i32", 1),
        Out("o", "f32", 1),
        600,
    ],
    lambda a: {
        "part": np.array([a["x"][i * 128 : (i + 1) * 128].sum() for i in range(5)]),
        "done": np.array([5]),
        "o": a["x"].sum().reshape(1),
    },
    "x: *f32, part: *f32, done: *i32, o: *f32, n: i32",
)
def sum_last_block(k, x, part, done, o, n):
    """Whoever counts last adds up what the others have stored: the count releases and acquires."""
    pid, at = k.program_id()[0], k.arange(128)
    place = pid * 128 + at
    stored = k.store(part + pid, k.load(x + place, place < n).sum(0))
    before, counted = k.atomic("add", done, 1, order="acq_rel", token=stored)
    blocks = k.num_programs()[0]

    def last():
        which = k.arange(8)
        k.store(o, k.load(part + which, which < blocks, token=counted).sum(0))

    k.when(before.equals(blocks - 1), last)


@case(
    6,
    [
        In("w", "f16", (20, 32), grid(91, -8, 8, 4)),
        In("ids", "i32", 6, values(3, 19, 0, 3, 7, 12)),
        Out("o", "f16", (6, 32)),
        32,
    ],
    lambda a: {"o": a["w"][a["ids"]]},
    "w: *f16, ids: *i32, o: *f16, n: i32",
    ("n",),
)
def embedding(k, w, ids, o, n):
    row, at = k.program_id()[0], k.arange(32)
    k.store(o + row * n + at, k.load(w + k.load(ids + row) * n + at))


def scattered(a):
    out = np.zeros((10, 32), np.float32)
    np.add.at(out, a["ids"], a["g"])
    return {"w": out}


@case(
    6,
    [
        In("g", "f32", (6, 32), grid(92, -8, 8, 4)),
        In("ids", "i32", 6, values(3, 9, 0, 3, 7, 3)),
        InOut("w", "f32", (10, 32)),
        32,
    ],
    scattered,
    "g: *f32, ids: *i32, w: *f32, n: i32",
    ("n",),
)
def embedding_backward(k, g, ids, w, n):
    row, at = k.program_id()[0], k.arange(32)
    k.atomic("addf", w + k.load(ids + row) * n + at, k.load(g + row * n + at), order="relaxed")


@case(
    (2, 3),
    [In("x", "f32", (30, 50), grid(93, -50, 50, 1)), Out("o", "f32", (50, 30)), 30, 50],
    lambda a: {"o": a["x"].T},
    "x: *f32, o: *f32, m: i32, n: i32",
)
def transpose(k, x, o, m, n):
    bm, bn, _ = k.program_id()
    rows, columns = bm * 16 + k.arange(16), bn * 32 + k.arange(32)
    v = k.load(x + (rows.column() * n + columns.row()), (rows.column() < m) & (columns.row() < n))
    inside = (columns.column() < n) & (rows.row() < m)
    k.store(o + (columns.column() * m + rows.row()), v.permute(1, 0), inside)


@case(
    (2, 2),
    [
        In("x", "f32", (20, 40), grid(94, -50, 50, 1)),
        In("y", "f32", (20, 40), grid(95, -50, 50, 1)),
        Out("o", "f32", (20, 40)),
        20,
        40,
    ],
    lambda a: {"o": a["x"] + a["y"]},
    "x: *f32, y: *f32, o: *f32, m: i32, n: i32",
)
def add_descriptor(k, x, y, o, m, n):
    bm, bn, _ = k.program_id()
    vx, vy, vo = (k.descriptor(p, [m, n], [n, k.constant(1, "i32")], (16, 32)) for p in (x, y, o))
    k.store_block(vo, k.load_block(vx, bm, bn) + k.load_block(vy, bm, bn), bm, bn)


def convolution(a):
    x = np.concatenate([np.zeros((3, 3), np.float32), a["x"]], 1)
    return {"o": sum(x[:, i : i + 50] * a["w"][:, i : i + 1] for i in range(4)) + a["b"][:, None]}


@case(
    (3, 2),
    [
        In("x", "f32", (3, 50), grid(96, -8, 8, 4)),
        In("w", "f32", (3, 4), grid(97, -4, 4, 4)),
        In("b", "f32", 3, grid(98, -4, 4, 4)),
        Out("o", "f32", (3, 50)),
        50,
    ],
    convolution,
    "x: *f32, w: *f32, b: *f32, o: *f32, n: i32",
)
def causal_convolution(k, x, w, b, o, n):
    channel, block, _ = k.program_id()
    at = block * 32 + k.arange(32)
    acc = k.load(b + channel).broadcast((32,))
    for i in range(4):
        place = at - (3 - i)
        acc = acc + k.load(x + channel * n + place, (place >= 0) & (place < n)) * k.load(w + channel * 4 + i)
    k.store(o + channel * n + at, acc, at < n)


STARTS = [0, 5, 5, 70, 100]


@case(
    4,
    [In("x", "f32", 100, grid(99, -8, 8, 4)), In("starts", "i32", 5, values(*STARTS)), Out("o", "f32", 4)],
    lambda a: {"o": np.array([a["x"][s:e].sum() for s, e in zip(STARTS, STARTS[1:])])},
    "x: *f32, starts: *i32, o: *f32",
)
def jagged_sum(k, x, starts, o):
    """Rows of different lengths; one is empty."""
    row, at = k.program_id()[0], k.arange(32)
    end = k.load(starts + row + 1)

    def add(i, s):
        return [s + k.load(x + i + at, at + i < end)]

    k.store(o + row, k.loop(k.load(starts + row), end, 32, [k.zeros((32,), "f32")], add)[0].sum(0))


@case(
    (2, 3),
    [
        ("xs", [In(f"x{i}", "f32", 64, grid(100 + i, -8, 8, 4)) for i in range(3)]),
        ("ys", [InOut(f"y{i}", "f32", 64, grid(110 + i, -8, 8, 4)) for i in range(3)]),
        2.0,
    ],
    lambda a: {f"y{i}": a[f"x{i}"] * np.float32(2) + a[f"y{i}"] for i in range(3)},
    "xs: *i64, x_count: i32, ys: *i64, y_count: i32, alpha: f32",
)
def grouped_axpy(k, xs, x_count, ys, y_count, alpha):
    """Pointers that lie in memory, three words for each array: its address, its length, its stride."""
    block, group, _ = k.program_id()
    at = block * 32 + k.arange(32)
    x, y = (k.pointer(k.load(table + group * 3), "f32") for table in (xs, ys))
    v, seen = k.load(y + at, want_token=True)
    k.store(y + at, k.load(x + at) * alpha + v, token=seen)


@case(
    8,
    [InOut("lock", "i32", 1), InOut("total", "f32", 32), In("x", "f32", (8, 32), grid(120, -8, 8, 4)), 32],
    lambda a: {"lock": np.array([0]), "total": a["x"].sum(0)},
    "lock: *i32, total: *f32, x: *f32, n: i32",
    ("n",),
)
def locked_sum(k, lock, total, x, n):
    at = k.arange(32)
    v = k.load(x + k.program_id()[0] * n + at)
    held = k.lock(lock)
    old, seen = k.load(total + at, token=held, want_token=True)
    k.unlock(lock, k.store(total + at, old + v, token=seen))
