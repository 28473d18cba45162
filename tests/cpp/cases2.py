from runs import *

x = rn(32)
run(
    "k04_views",
    "sview",
    "4",
    [x, np.zeros(128, f32), 32],
    {
        1: np.concatenate(
            [np.pad(x[i * 4 : i * 4 + 16], (0, 16 - len(x[i * 4 : i * 4 + 16]))) for i in range(4)]
            + [np.zeros(64, f32)]
        )
    },
)
x = rn(16)
run(
    "k01_scalars",
    "scal_f",
    "16",
    [x, rn(16, dt=np.float64), rn(16, dt=np.float16), rn(16).astype(bf), np.zeros(16, np.int8)],
    {0: np.sqrt(x * x + 1), 4: (x > 0).astype(np.int8)},
)
x = rn(32) * 30
run(
    "k08_conv",
    "_Z4conv",
    "1",
    [
        x,
        np.zeros(32, np.float16),
        np.zeros(32, bf),
        np.zeros(32, np.float64),
        np.zeros(32, np.int32),
        np.zeros(32, np.uint8),
        np.zeros(32, np.int8),
        np.zeros(32, e4),
        np.zeros(32, e5),
        np.zeros(32, f32),
    ],
    {
        1: x.astype(np.float16),
        2: x.astype(bf),
        3: x.astype(np.float64),
        4: x.astype(np.int32),
        5: np.abs(x).astype(np.uint8),
        6: np.ones(32, np.int8),
        7: x.astype(e4),
        8: x.astype(e5),
    },
    rtol=0,
    atol=0,
    tf=(9,),
)
a = rn(32).astype(e4)
b = rn(32).astype(e5)
l = ints(-1000, 1000, 32, np.int64)
p = ints(0, 2, 32, np.int8)
run(
    "k08_conv",
    "_Z5conv2",
    "1",
    [a, b, l, p, np.zeros(160, f32)],
    {4: np.concatenate([a.astype(f32), b.astype(f32), l.astype(f32), p.astype(f32), l.astype(np.int32).view(f32)])},
)
x = np.concatenate([rn(29) * 1e10, [np.nan, 3e38, -3e38]]).astype(f32)
run(
    "k08_conv",
    "_Z5conv3",
    "1",
    [x, np.zeros(32, np.int32), np.zeros(32, np.int8)],
    {
        1: np.array([0 if np.isnan(v) else max(-(2**31), min(2**31 - 1, int(v))) for v in x], np.int32),
        2: np.array([0 if np.isnan(v) else max(-128, min(127, int(v))) for v in x], np.int8),
    },
)
x = rn(32)
h = x.astype(np.float16)
h = np.where(np.abs(h.astype(f32)) > np.abs(x), np.nextafter(h, np.float16(0)), h)
run("k08_conv", "_Z5conv4", "1", [x, np.zeros(32, np.float16)], {1: h}, rtol=0, atol=0)
x = ints(0, 256, 64, np.uint8)
run("k08_conv", "repack", "1", [x, np.zeros(16, np.uint32)], {1: x.view(np.uint32)})
for fr, dt, at, m, rt in (
    ("mmI6__halffLi", np.float16, f32, 32, 1e-3),
    ("mmI6__halfS0_", np.float16, np.float16, 32, 5e-2),
    ("mmI13__nv_bfloat16", bf, f32, 32, 1e-3),
    ("mmIffLi", f32, f32, 16, 1e-4),
    ("mmIddLi", np.float64, np.float64, 16, 1e-9),
    ("mmI13__nv_fp8_e4m3", e4, f32, 32, 1e-3),
    ("mmI13__nv_fp8_e5m2", e5, np.float16, 32, 5e-2),
):
    x, y, z = rn(m, m).astype(dt), rn(m, m).astype(dt), rn(m, m).astype(at)
    run(
        "k09_mma",
        fr,
        "1",
        [x, y, z],
        {2: (x.astype(np.float64) @ y.astype(np.float64) + z.astype(np.float64)).astype(at)},
        rtol=rt,
        atol=rt,
    )
x, y, z = rn(32, 32), rn(32, 32), rn(32, 32)
tr = lambda v: (v.view(np.uint32) & np.uint32(0xFFFFE000)).view(f32)
x, y = tr(x), tr(y)
run("k09_mma", "mmI9__nv_tf32", "1", [x, y, z], {2: x @ y + z}, rtol=1e-3, atol=1e-3, tf=(0, 1))
for fr, dt in (("mmIaiLi", np.int8), ("mmIhiLi", np.uint8)):
    x, y = [ints(*((-128, 128) if dt == np.int8 else (0, 256)), (32, 32), dt) for _ in "ab"]
    z = ints(-99, 99, (32, 32), np.int32)
    run("k09_mma", fr, "1", [x, y, z], {2: x.astype(np.int32) @ y.astype(np.int32) + z})
x, y = rn(2, 16, 16, dt=np.float16), rn(1, 16, 16, dt=np.float16)
run(
    "k09_mma",
    "bmm",
    "1",
    [x, y, np.zeros((2, 16, 16), np.float16)],
    {2: np.matmul(x.astype(f32), y.astype(f32)).astype(np.float16)},
    rtol=1e-2,
    atol=1e-2,
)
x, y = rn(70, 80, dt=np.float16), rn(80, 136, dt=np.float16)
run(
    "k10_gemm",
    "gemm",
    "3,3",
    [x, y, np.zeros((70, 136), f32), 70, 136, 80],
    {2: x.astype(f32) @ y.astype(f32)},
    rtol=1e-3,
    atol=1e-3,
)
x = rn(8, 16)
E = [
    x.sum(1),
    x.sum(0),
    x.max(1),
    x.min(0),
    x.prod(1),
    x.sum(1),
    x.max(1),
    x.argmax(1),
    x.argmin(1),
    (x > -2).all(1),
    (x > 1.5).any(1),
]
run(
    "k11_red",
    "_Z4reds",
    "1",
    [x.reshape(-1), np.zeros(104, f32)],
    {1: np.concatenate([e.astype(f32) for e in E])},
    rtol=1e-5,
)
x = ints(-50, 50, 64, np.int32)
w = lambda v: np.int64(v).astype(np.int32)
with np.errstate(all="ignore"):
    run(
        "k11_red",
        "ireds",
        "1",
        [x, np.zeros(7, np.int32)],
        {
            1: np.array(
                [
                    x.sum(),
                    x.max(),
                    x.min(),
                    np.bitwise_and.reduce(x),
                    np.bitwise_or.reduce(x),
                    np.bitwise_xor.reduce(x),
                    np.multiply.reduce((x | 1), dtype=np.int32),
                ],
                np.int64,
            ).astype(np.int32)
        },
    )
x = rn(4, 16)
fl = lambda a, ax: np.flip(a, ax)
run(
    "k11_red",
    "scans",
    "1",
    [x.reshape(-1), np.zeros(256, f32)],
    {
        1: np.concatenate(
            [v.reshape(-1) for v in (x.cumsum(1), fl(fl(x, 0).cumsum(0), 0), x.cumprod(1), fl(fl(x, 1).cumprod(1), 1))]
        )
    },
    rtol=1e-4,
)
x = rn(9, 50)
e = np.exp(x - x.max(1, keepdims=True))
e /= e.sum(1, keepdims=True)
run("k11_red", "softmax", "9", [x, np.zeros((9, 50), f32), 50], {1: e})
x = ints(-99, 99, 64, np.int32)
a = x.reshape(2, 4, 8)
f = a.reshape(8, 8)
t = f.T
c = np.concatenate([f, t], 1)
n = f.copy()
n[2:4, 4:8] = -5
run(
    "k12_shape",
    "shapes",
    "1",
    [x, np.zeros(416, np.int32)],
    {
        1: np.concatenate(
            [
                a.transpose(2, 0, 1).reshape(-1),
                t.reshape(-1),
                c.reshape(-1),
                c[4:8, 8:16].reshape(-1),
                n.reshape(-1),
                (f.sum(0, keepdims=True) + f.sum(1, keepdims=True)).reshape(-1),
            ]
        )
    },
)
x = ints(0, 20, 176, np.int32)
x[130] = 7
i = np.arange(16, dtype=np.int32)
fa = rn(32)
d = rn(16, dt=np.float64)
o = np.zeros(32, np.uint32)
e = x.copy()
e[:16] += i
e[16:32] -= i
e[32:48] &= i
e[48:64] |= i
e[64:80] ^= i
e[80:96] = np.maximum(e[80:96], i)
e[96:112] = np.minimum(e[96:112], i)
e[112:128] = i
e[128:144] = np.where(x[128:144] == 7, i, x[128:144])
e[144:160] = i
e[160:170] = (i + 1)[:10]
fe = fa.copy()
fe[:8] += f32(0.5)
fe[20:32] = 3
run(
    "k13_atomics",
    "_Z4atomP",
    "1",
    [x, fa, d, o],
    {0: e, 1: fe, 2: d + 0.25, 3: np.concatenate([x[:16], x[128:144]]).astype(np.uint32)},
)
x = ints(0, 6, 48, np.uint32)
y = ints(0, 99, 32, np.uint64)
j = np.arange(16)
ex = x.copy()
ex[:16] = np.maximum(x[:16], j)
ex[16:32] = np.minimum(x[16:32], j)
ex[32:] = np.where((x[32:] == 3) & (j > 1), j, x[32:])
ey = y.copy()
ey[:16] += j.astype(np.uint64)
ey[16:25] = np.maximum(ey[16:25], j[:9].astype(np.uint64))
run("k13_atomics", "atomu", "1", [x, y], {0: ex, 1: ey})
x = ints(0, 10, 300, np.int32)
run("k13_atomics", "hist", "5", [x, np.zeros(10, np.int32), 300], {1: np.bincount(x, minlength=10).astype(np.int32)})
x = rn(16, dt=np.float16)
y = rn(16).astype(bf)
run("k13_atomics", "ahalf", "1", [x, y], {0: x + np.float16(1), 1: (y.astype(f32) + 1).astype(bf)}, rtol=1e-2)
n = 12
x = ints(-9, 9, (16, 16), np.int32)


def ctrl(b):
    acc = np.zeros(16, np.int64)
    for k in range(n):
        if k == 3:
            continue
        if k == 10:
            break
        acc += x[k]
    w = b
    while w < 40:
        w = w * 2 + 1
        if w == 31:
            break
    while 1:
        w -= 3
        if not w > 20:
            break
    acc = [acc + 1, acc * 2, -acc][b % 3]
    for q in range(1, 9, 3):
        acc = acc + q
    return acc + 1000 if w & 1 else acc - w


z = np.zeros((14, 16), np.int32)
e = z.copy()
for b in range(n):
    e[b] = ctrl(b)
run("k14_control", "ctrl", "14", [x, z, n], {1: e})


def col(v):
    c = 0
    while v != 1:
        v = 3 * v + 1 if v & 1 else v // 2
        c += 1
    return c


x = np.arange(1, 31, dtype=np.uint32)
run("k14_control", "collatz", "30", [x, np.zeros(30, np.uint32)], {1: np.array([col(int(v)) for v in x], np.uint32)})
x = rng.permutation(20)[:12].astype(np.int32)
run(
    "k14_control",
    "retloop",
    "20",
    [x, np.zeros(20, np.int32), 12],
    {1: np.array([list(x).index(b) if b in x else -1 for b in range(20)], np.int32)},
)
x = rn(32)
e = np.zeros(32, f32)
e[:20] = x[:20] ** 2 * f32(1.5) + f32(0.25)
run("k15_func", "structp", "1", [1.5, 20, x, 0.25, np.zeros(32, f32)], {4: e})
x = ints(-9, 9, 8, np.int32)
run("k15_func", "apply", "1", [x], {0: x * 7})
x = rn(10)
fib = [0, 1]
while len(fib) < 30:
    fib.append(fib[-1] + fib[-2])
run("k15_func", "calls", "10", [x, np.zeros(10, np.int32), 5], {0: x * 5 + 2, 1: np.array(fib[5:15], np.int32)})
run("k15_func", "=plainc", "6", [np.zeros(6, np.int32)], {0: np.full(6, 6, np.int32)})
bz, by, bx = np.meshgrid(range(4), range(3), range(2), indexing="ij")
run(
    "k15_func",
    "bids",
    "2,3,4",
    [np.zeros((4, 3, 2), np.uint32)],
    {0: (bx + 100 * by + 10000 * bz + 1000000 * 24).astype(np.uint32)},
)
run(
    "k16_glob",
    "globs",
    "1",
    [np.zeros(8, f32), np.zeros(2, np.int32)],
    {0: 2.0 ** np.arange(1, 9, dtype=f32), 1: np.array([22, 6], np.int32)},
)
run("k17_print", "prt", "2", [rn(4), 5], {})
x = rn(100)
run("k18_hint", "_Z6hintedP", "2", [x, np.zeros(100, f32), 100], {1: x + x})
run("k18_hint", "hinted2", "1", [np.zeros(4, np.int32)], {0: np.array([1, 0, 0, 0], np.int32)})
x = ints(-9, 9, 16, np.int32)
i = np.arange(16)
run(
    "k19_assume",
    "assu",
    "1",
    [x, np.zeros(32, np.int32), 7, 3],
    {1: np.concatenate([x + 21 + i, ((i == 3) | (i < 2))]).astype(np.int32)},
)
for fr, dt in (("e4m3", e4), ("e5m2", e5)):
    x, y = rn(128, 64).astype(dt), rn(64, 32).astype(dt)
    sx = (2.0 ** ints(-2, 3, (128, 2), np.int32)).astype(e8)
    sy = (2.0 ** ints(-2, 3, (2, 32), np.int32)).astype(e8)
    z = rn(128, 32)
    e = (x.astype(f32) * np.repeat(sx.astype(f32), 32, 1)) @ (y.astype(f32) * np.repeat(sy.astype(f32), 32, 0)) + z
    run("k20_scaled", fr, "1", [x, sx, y, sy, z], {4: e}, rtol=1e-3, atol=1e-3)
T4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], f32)
un = lambda b: np.stack([T4[b & 15], T4[b >> 4]], -1).reshape(b.shape[0], -1)
for fr, dt, v in (("e8m0", e8, 32), ("e4m3", e4, 16)):
    x, y = ints(0, 256, (128, 32), np.uint8), ints(0, 256, (32, 32), np.uint8)
    k = 64 // v
    sx = (2.0 ** ints(-2, 3, (128, k), np.int32)).astype(dt)
    sy = (2.0 ** ints(-2, 3, (k, 32), np.int32)).astype(dt)
    z = rn(128, 32)
    e = (un(x) * np.repeat(sx.astype(f32), v, 1)) @ (un(y).T * np.repeat(sy.astype(f32), v, 0)) + z
    run("k21_scaled4", fr, "1", [x, sx, y, sy, z], {4: e}, rtol=1e-3, atol=1e-3)
run("k22_order", "handoff", "2", [np.zeros(1, np.int32)] * 3, {2: np.array([42], np.int32)})
run("k22_order", "handoff", "2", [np.zeros(1, np.int32)] * 3, {2: np.array([42], np.int32)}, extra=("--order", "3"))
xb = np.zeros(8, np.int32)
run("k22_order", "alias", "1", [xb, "@a"], {0: np.array([2 + 3] + list(range(2, 9)), np.int32)})
q, k, v = [rn(64, 32).astype(bf) for _ in "qkv"]
s = q.astype(f32) @ k.astype(f32).T * f32(0.17)
p = np.exp(s - s.max(1, keepdims=True))
p /= p.sum(1, keepdims=True)
run("k23_attn", "attn", "4", [q, k, v, np.zeros((64, 32), f32), 64, 0.17], {3: p @ v.astype(f32)}, rtol=2e-2, atol=2e-2)
x = rn(21, 35)
P = np.pad(x, 1)
e = -4 * x + P[:-2, 1:-1] + P[2:, 1:-1] + P[1:-1, :-2] + P[1:-1, 2:]
run("k24_stencil", "stencil", "3,3", [x, np.zeros((21, 35), f32), 21, 35], {1: e})
x, g, b = rn(6, 128), rn(128), rn(128)
d = x - x.mean(1, keepdims=True)
e = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * g + b
run("k24_stencil", "_Z2ln", "6", [x, g, b, np.zeros((6, 128), f32), 1e-5], {3: e}, rtol=1e-5)
