from runs import *

n = 16
a = [
    ints(-100, 100, n, np.int8),
    ints(0, 80, n, np.uint8),
    ints(-9999, 9999, n, np.int16),
    ints(0, 60000, n, np.uint16),
    ints(-(2**31), 2**31, n, np.int32),
    ints(0, 2**32, n, np.uint32),
    ints(-(2**62), 2**62, n, np.int64),
    ints(0, 2**63, n, np.uint64),
]
run(
    "k01_scalars",
    "scal_i",
    str(n),
    a,
    {
        0: a[0] + np.int8(1),
        1: a[1] * np.uint8(3),
        2: a[2] - np.int16(7),
        3: a[3] >> 1,
        4: np.trunc(a[4] / 3).astype(np.int32),
        5: a[5] % 5,
        6: -a[6],
        7: a[7] ^ np.uint64(0xFF00),
    },
)
x = rn(n)
h = rn(n, dt=np.float16)
b = rn(n).astype(bf)
eb = (x > 0).astype(np.int8)
run(
    "k01_scalars",
    "scal_f",
    str(n),
    [x, rn(n, dt=np.float64), h, b, np.zeros(n, np.int8)],
    {0: np.sqrt(x * x + 1), 2: h * h, 3: b - b, 4: eb},
)
x, y = rn(200), rn(200)
z = np.full(256, 9, f32)
ez = z.copy()
ez[:200] = x + y
run("k02_vadd", "vadd", "2", [x, y, z, 200], {2: ez})
for fr, dt, N, rt in (
    ("axpyIf", f32, 64, 1.3e-6),
    ("axpyId", np.float64, 32, 1e-7),
    ("axpyI6", np.float16, 16, 2e-3),
    ("axpyI13", bf, 16, 2e-2),
):
    x = rn(N * 3).astype(dt)
    y = rn(N * 3).astype(dt)
    run("k02_vadd", fr, "3", [1.5, x, y], {2: (x.astype(np.float64) * 1.5 + y.astype(np.float64)).astype(dt)}, rtol=rt)
x = rn(37, 51)
run("k03_span", "transp", "3,2", [x, np.zeros((51, 37), f32), 37, 51], {1: x.T.copy()})
x = rn(21, 13)
run("k03_span", "colmajor", "3,2", [x.T.copy(), np.zeros((21, 13), f32), 21, 13], {1: x})
x = rn(21, 13)
buf = np.zeros((21, 40), f32)
buf[:, 0:39:3] = x
run("k03_span", "strided", "3,2", [buf, np.zeros((21, 13), f32), 21, 13, 40, 3], {1: x})
x = rn(12, 13)
px = np.full((12, 16), 7, f32)
px[:, :13] = x
py = np.full((13, 16), 5, f32)
pe = py.copy()
pe[:, :12] = x.T
run("k03_span", "padded", "3", [px.reshape(-1), py.reshape(-1)], {1: pe.reshape(-1)})
x = rn(5)
e = np.concatenate([np.concatenate([x, np.full(3, v, f32)]) for v in (0, -0.0, np.inf, -np.inf, np.nan)])
run("k03_span", "pads", "1", [x, np.zeros(40, f32)], {1: e})
x = rn(32)
x = rn(20, 32)
ix = rng.permutation(20)[:8].astype(np.int32)
run("k04_views", "gview", "1", [x, ix, np.zeros((8, 32), f32), 20], {2: x[ix]})
y = rn(8, 32)
e = x.copy()
e[ix] = y
run("k04_views", "gscat", "1", [x, ix, y, 20], {0: e})
x = ints(-20, 20, 64, np.int32)
o = np.arange(16, dtype=np.int32)
f = rn(30)
e = x.copy()
e[:16] += 3 * o
e[16:32] = np.maximum(e[16:32], o)
e[32:48] |= o
ef = f.copy()
e[48:] ^= o ^ o ^ o
ef[16:] += 3 * o[:14]
ef[:16] += 0
run(
    "k04_views",
    "_Z5vatom",
    "1",
    [
        x,
        f,
    ],
    {0: np.concatenate([x[:16] + o, e[16:48], x[48:] ^ o]), 1: np.concatenate([f[:16] + 1, f[16:] + o[:14]])},
)
x = ints(0, 40, 64, np.uint32)
o = o.astype(np.uint32)
run("k04_views", "vatom2", "1", [x], {0: np.concatenate([x[:16] & o, np.minimum(x[16:32], o), x[32:48] - o, x[48:]])})


def rdir(v, d):
    r = v.astype(f32)
    if d == "z":
        up = np.abs(r.astype(np.float64)) > np.abs(v)
        return np.where(up, np.nextafter(r, f32(0)), r)
    if d == "d":
        up = r.astype(np.float64) > v
        return np.where(up, np.nextafter(r, f32(-np.inf)), r)
    if d == "u":
        up = r.astype(np.float64) < v
        return np.where(up, np.nextafter(r, f32(np.inf)), r)


x, y = rn(32), rn(32)
X, Y = x.astype(np.float64), y.astype(np.float64)
with np.errstate(all="ignore"):
    e = np.concatenate(
        [
            rdir(X + Y, "z"),
            rdir(X - Y, "d"),
            rdir(X * Y, "u"),
            (x / y),
            (x / y),
            (x / y),
            rdir(X * Y + X, "z"),
            rdir(np.sqrt(np.abs(X)), "u"),
            np.sqrt(np.abs(x)),
            np.tanh(x),
            x * y,
            np.exp2(x),
            1 / np.sqrt(np.abs(X)),
        ]
    ).astype(f32)
run("k05_round", "rmodes", "1", [x, y, np.zeros(32 * 13, f32)], {2: e}, rtol=2e-6, extra=())
x, y = rn(32), rn(32)
x[3] = np.nan
y[5] = np.nan
x[7] = y[7] = np.nan
y[9] = np.inf
mx = np.fmax(x, y)
mn = np.fmin(x, y)
run(
    "k05_round",
    "nans",
    "1",
    [x, y, np.zeros(160, f32)],
    {2: np.concatenate([mx, np.maximum(x, y), mn, np.minimum(x, y), (np.isnan(x) | np.isinf(y)).astype(f32)])},
)
for fr, dt, rt, at in (
    ("mathIf", f32, 3e-6, 1e-6),
    ("mathId", np.float64, 1e-12, 1e-12),
    ("mathI6", np.float16, 4e-3, 4e-3),
    ("mathI13", bf, 3e-2, 3e-2),
):
    x = rn(16).astype(dt)
    X = x.astype(np.float64)
    A = np.abs(X)
    E = [
        np.ceil(X),
        np.floor(X),
        np.cosh(X),
        np.cos(X),
        np.exp(X),
        np.exp2(X),
        np.log(A),
        np.log2(A),
        1 / np.sqrt(A),
        np.sinh(X),
        np.sin(X),
        np.sqrt(A),
        np.tanh(X),
        np.tan(X),
        np.arctan2(X, 1),
        A**X,
        -X,
        np.fmod(X, 0.75),
    ]
    run("k06_math", fr, "1", [x, np.zeros(18 * 16).astype(dt)], {1: np.concatenate(E).astype(dt)}, rtol=rt, atol=at)


def cdiv(a, b):
    q = [-((-int(i)) // int(j)) for i, j in zip(a, b)]
    return q


for fr, dt in (
    ("iopsIi", np.int32),
    ("iopsIj", np.uint32),
    ("iopsIx", np.int64),
    ("iopsIs", np.int16),
    ("iopsIh", np.uint8),
):
    ii = np.iinfo(dt)
    x = rng.integers(ii.min // 2, ii.max, 16, dtype=dt)
    y = rng.integers(1, ii.max // 4, 16, dtype=dt)
    y = np.where(rng.random(16) < 0.5, y, np.array(1, dt) * 3).astype(dt)
    if ii.min < 0:
        y = np.where(rng.random(16) < 0.5, y, -y).astype(dt)
    w = lambda l: np.array([((int(v) - int(ii.min)) % (1 << ii.bits)) + int(ii.min) for v in l], dtype=object).astype(
        dt
    )
    xs = [int(v) for v in x]
    ys = [int(v) for v in y]
    tq = [abs(i) // abs(j) * (1 if (i < 0) == (j < 0) else -1) for i, j in zip(xs, ys)]
    tr = [i - q * j for i, q, j in zip(xs, tq, ys)]
    E = [
        w([i + j for i, j in zip(xs, ys)]),
        w([i * j for i, j in zip(xs, ys)]),
        w(tq),
        w(tr),
        w(cdiv(x, y)),
        w([i // j for i, j in zip(xs, ys)]),
        x & y,
        x | y,
        x ^ y,
        ~x,
        w([i << 3 for i in xs]),
        w([i >> 2 for i in xs]),
        np.maximum(x, y),
        np.minimum(x, y),
        w([((i % (1 << ii.bits)) * (j % (1 << ii.bits))) >> ii.bits for i, j in zip(xs, ys)]),
        w([abs(i) for i in xs]),
        w([-i for i in xs]),
        w(tr),
        np.minimum(x, y),
    ]
    run("k07_int", fr, "1", [x, y, np.zeros(19 * 16, dt)], {2: np.concatenate(E)})
