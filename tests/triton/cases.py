"""What the cases of this folder are made of: arrays, numbers, and a list of all of them."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "corpus"))
from corpus import EQUAL, close, gen_values, grid, npdt, unif, values, zeros  # noqa: E402, F401
from tile import Kernel  # noqa: E402

CASES = []


class Array:
    def __init__(self, role, name, dtype, shape, gen=None, tolerance=EQUAL):
        self.role, self.name, self.dtype, self.shape = role, name, dtype, tuple(np.atleast_1d(shape).tolist())
        self.gen, self.tolerance = gen or zeros(), tolerance

    def make(self):
        return gen_values(self.gen, self.dtype, int(np.prod(self.shape))).reshape(self.shape)


def In(name, dtype, shape, gen):
    return Array("in", name, dtype, shape, gen)


def Out(name, dtype, shape, tolerance=EQUAL):
    return Array("out", name, dtype, shape, None, tolerance)


def InOut(name, dtype, shape, gen=None, tolerance=EQUAL):
    return Array("inout", name, dtype, shape, gen, tolerance)


def case(blocks, arguments, reference, parameters, div16=(), name=None):
    """For a function that writes a kernel: its grid, its arguments in order (arrays, numbers), what NumPy says.
    reference takes the arrays by name and gives those that are compared; parameters as Kernel takes them."""

    def add(write):
        kernel = Kernel(write.__name__, parameters, div16)
        write(kernel, *kernel.args)
        grid_of = blocks if isinstance(blocks, tuple) else (blocks,)
        CASES.append(
            (name or write.__name__, kernel, tuple(grid_of) + (1,) * (3 - len(grid_of)), arguments, reference)
        )
        return write

    return add


def f32(x):
    return np.asarray(x).astype(np.float32)

