import cuda.tile as ct
import numpy as np


@ct.kernel
def vadd(a, b, c, TILE: ct.Constant[int]):
    """c = a + b, TILE elements for each tile block."""
    i = ct.bid(0)
    x = ct.load(a, (i,), (TILE,))
    y = ct.load(b, (i,), (TILE,))
    ct.store(c, (i,), x + y)


if __name__ == "__main__":
    a = np.arange(1000, dtype=np.float32)
    c = np.zeros_like(a)
    ct.launch(0, (4,), vadd, (a, a, c, 256))
    print(c)
