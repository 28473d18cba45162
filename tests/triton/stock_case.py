"""The cases of stock_kernels.py: how they are declared, and random inputs for them."""

import numpy as np

CASES = []


class Type:
    """An element type that NumPy lacks: its name in Triton, that of its patterns in NumPy, and how numbers become patterns."""

    def __init__(self, triton_name, pattern, encode):
        self.triton_name, self.pattern, self.encode = triton_name, pattern, encode


def f8e4m3(x):
    """Patterns of f8E4M3FN, of numbers that it has."""
    codes = np.arange(127, dtype=np.uint8)
    exponent, fraction = codes >> 3, (codes & 7).astype(np.float64)
    values = np.where(exponent > 0, (1 + fraction / 8) * 2.0 ** (exponent.astype(int) - 7), fraction * 2.0**-9)
    at = np.searchsorted(values, np.abs(x))
    assert np.array_equal(values[at], np.abs(x))
    return codes[at] | (np.asarray(x) < 0).astype(np.uint8) << 7


BF16 = Type("bf16", np.uint16, lambda x: (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))
F8 = Type("fp8e4nv", np.uint8, f8e4m3)
TF32 = Type("fp32", np.float32, lambda x: x.astype(np.float32))


class Array:
    """Patterns of a type that NumPy lacks."""

    def __init__(self, array, triton_name):
        self.array, self.triton_name = array, triton_name


class Random:
    """Inputs drawn from a seed."""

    def __init__(self, seed):
        self.source = np.random.default_rng(seed)

    def normal(self, *shape):
        return self.source.standard_normal(shape).astype(np.float32)

    def unit(self, *shape):
        return self.source.random(shape).astype(np.float32)

    def integers(self, low, high, *shape):
        return self.source.integers(low, high, shape).astype(np.int32)

    def exact(self, kind, *shape):
        """Small numbers as an array of that type, and as f32: products of them are exact."""
        values = self.source.integers(-4, 5, shape).astype(np.float32)
        if isinstance(kind, Type):
            return Array(kind.encode(values), kind.triton_name), values
        return values.astype(kind), values


class Case:
    def __init__(self, kernel, make, name, grid, boxes, settings):
        self.kernel, self.make, self.grid, self.boxes = kernel, make, grid, boxes
        self.name = name or kernel.__name__
        self.options = {k: v for k, v in settings.items() if k.startswith("num_")}
        self.constants = {k: v for k, v in settings.items() if k not in self.options}


def case(kernel, grid, name=None, boxes=None, **settings):
    """Declares a case. The function gets Random, and those of the kernel's constants that it names; it returns the arguments, and for the
    number of each output (what is expected, tolerance). boxes: arguments that are tensor maps, and the extents of their boxes."""

    def add(make):
        CASES.append(Case(kernel, make, name, grid, boxes or {}, settings))
        return make

    return add
