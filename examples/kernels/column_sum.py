import cuda.tile as ct
import numpy as np


@ct.kernel
def column_sum(x, out, ROWS: ct.Constant[int], COLUMNS: ct.Constant[int]):
    """out = the sums of x's columns, with a race: ct.atomic_add would be right."""
    part = ct.sum(ct.load(x, (ct.bid(0), 0), (ROWS, COLUMNS)), axis=0)
    so_far = ct.load(out, (0,), (COLUMNS,))
    ct.store(out, (0,), so_far + part)


if __name__ == "__main__":
    x = np.ones((128, 64), dtype=np.float32)
    out = np.zeros(64, dtype=np.float32)
    ct.launch(0, (4,), column_sum, (x, out, 32, 64))
    print(out[:4], "expected", x.sum(axis=0)[:4])
