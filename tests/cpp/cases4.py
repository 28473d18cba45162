"""Names, overloads, every character type, unsigned numbers beyond 31 bits: k31_names."""
from runs import *

x = rn(64)
run("k31_names", "5scaleIf", "2", [x, np.zeros(64, f32), 2.5], {1: x * f32(2.5)})
x = ints(0, 2**32, 64, np.uint32)
run("k31_names", "5scaleIj", "2", [x, np.zeros(64, np.uint32), 4000000000], {1: x * np.uint32(4000000000)})
for twice in (1, 0):
    run("k31_names", f"Lb{twice}E", "1", [np.zeros(16, np.int32), 21], {0: np.full(16, 42 if twice else 21, np.int32)})
run("k31_names", "overPij", "1", [np.zeros(4, np.int32), 4000000000], {0: np.full(4, 2000000000, np.int32)})
run("k31_names", "overPix", "1", [np.zeros(4, np.int32), -9000000], {0: np.full(4, -3000000, np.int32)})
run("k31_names", "=plain", "1", [np.zeros(8, np.uint8), 2**64 - 1], {0: np.full(8, 15, np.uint8)})
a = ints(-128, 128, 12, np.int8)
c = ints(0, 256, 12, np.uint8)
b, d = a.copy(), c.astype(np.uint16)
b[3], d[5] = b[3] ^ 1, d[5] ^ 1
e, f = ints(0, 2**31, 12, np.uint32), ints(0, 2**31, 12, np.int32)
same = (np.arange(12) != 3) & (np.arange(12) != 5)
run("k31_names", "7letters", "12", [a, b, c, d, e, f, np.zeros(12, np.uint8)],
    {4: e + f.astype(np.uint32), 6: same.astype(np.uint8)})
