from runs import *

x = rn(8)
for b in (0, 1):
    run(
        "k25_params",
        "_Z3parb",
        "1",
        [b, 3, 5, -2, np.array([0.25], f32), x.view(np.int8), np.zeros(8, f32), "u8:200", 7],
        {6: x * (1 if b else -1) - 2 + 3 + 5 + f32(0.25) + 200 + 7},
        rtol=1e-6,
    )
b = ints(0, 2, 8, np.int8)
c = ints(0, 2, 8, np.int8)
run(
    "k25_params",
    "parbP",
    "1",
    [b, c, np.zeros(8, np.int32)],
    {0: 1 - c, 2: np.where((b & c) > 0, np.arange(8), -1).astype(np.int32)},
)
X = np.array([10, 20, 30], np.int32)
for k in (0, 1, 2, 6):
    a = [3, 1, 4, 1]
    a[k & 3] += 10
    u, w = 30, 20
    a[1] = u * 2
    s = sum(a[i] * (i + 1) for i in range(4))
    run(
        "k26_local",
        "loc",
        "1",
        [X, np.zeros(8, np.int32), np.zeros(1, f32), k],
        {1: np.array([s, u, w, 0, 7, 8, 9, 10], np.int32), 2: np.array([(1.5 + 20) * 2.5], f32)},
    )
i = np.arange(8)
co = np.array([0.5, 0.25, 0.125, 0.0625], f32)
run(
    "k27_consts",
    "gget",
    "8",
    [np.zeros(8, f32), np.zeros(8, np.uint32), np.zeros(1, np.int64)],
    {0: co[i & 3] * f32(2.5) + 3, 1: (i + 1).astype(np.uint32), 2: np.zeros(1, np.int64)},
)
run("k27_consts", "gset", "1", [4], {})
a = ints(-100, 100, 16, np.int8)
a[3] = 0
b = ints(0, 60000, 16, np.uint16)
g = rn(16)
h = rn(16, dt=np.float64)
ii = np.arange(16)
A = a.astype(np.int32)
run(
    "k28_types",
    "mix",
    "1",
    [a, b, g, h, np.zeros(80, np.int32), np.zeros(16)],
    {
        4: np.concatenate(
            [
                A * 3,
                b.astype(np.int32) + A,
                (a < 2.5).astype(int) + (h >= g),
                ((a == 0) | ((g > 0) & (h < 0))).astype(int),
                np.where(a == 0, -1, 1) + ii,
            ]
        ).astype(np.int32),
        5: g * h + A,
    },
    rtol=1e-6,
)
run("k28_types", "negs", "1", [np.zeros(8, f32)], {0: np.full(8, -2.5 - 4 - 2 + 0 + 2, f32)})
x = rn(3, 3, 5, 7)
run("k29_rank4", "r4", "3", [x, np.zeros_like(x), 3], {1: x * 2})
run("k29_rank4", "r0", "1", [np.array([2.5], f32), np.zeros(2, f32)], {1: np.array([5, 3.5], f32)})
x, y = rn(20, 40).astype(e4), rn(40, 16).astype(e5)
run(
    "k30_f8mm",
    "f8v",
    "2",
    [x, y, np.zeros((20, 16), f32), 20, 40],
    {2: x.astype(f32) @ y.astype(f32)},
    rtol=1e-3,
    atol=1e-3,
)
x = ints(-128, 128, (16, 32), np.int8)
y = ints(0, 256, (32, 16), np.uint8)
run("k30_f8mm", "mixs", "1", [x, y, np.zeros((16, 16), np.int32)], {2: x.astype(np.int32) @ y.astype(np.int32)})
x, y = rn(16, 16), rn(16, 16)
run("k30_f8mm", "_Z2tf", "1", [x, y, np.zeros((16, 16), f32)], {2: x @ y}, rtol=5e-3, atol=5e-3)
