import cuda.tile as ct
import numpy as np


@ct.kernel
def product(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    """c = a @ b, one M×N tile of c for each tile block."""
    i, j = ct.bid(0), ct.bid(1)
    total = ct.full((M, N), 0, ct.float32)
    for k in range(ct.num_tiles(a, 1, (M, K))):
        x = ct.load(a, (i, k), (M, K), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, (k, j), (K, N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(x, y, total)
    ct.store(c, (i, j), total.astype(c.dtype))


if __name__ == "__main__":
    a, b = (np.random.default_rng(n).standard_normal((256, 256)).astype(np.float16) for n in (1, 2))
    c = np.zeros_like(a)
    ct.launch(0, (2, 2), product, (a, b, c, 128, 128, 64))
    print("largest difference from NumPy:", abs(c - a @ b).max())
