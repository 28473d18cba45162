"""What a case is: work to do, and the compiled kernels that do it."""
import itertools
import math

SIZE = {"f16": 2, "bf16": 2, "f32": 4, "f8e4m3fn": 1, "i32": 4, "u8": 1, "f64": 8}


def array(name, dtype, *shape, init="normal", role="in"):
    """init: `normal` numbers, times what follows; integers `below` that; it to `fill` all; or `these`, one by one. role: in, out, inout"""
    return dict(name=name, dtype=dtype, shape=list(shape), init=init, role=role)


def out(name, dtype, *shape):
    return array(name, dtype, *shape, role="out")


def steps(name, lengths):
    """Where each of the lengths begins if they follow one another, and where the last one ends."""
    return array(name, "i32", len(lengths) + 1, init="these " + " ".join(map(str, itertools.accumulate(lengths, initial=0))))


def listed(argument):
    """The argument as a list of arrays: one for each number of its first dimension."""
    return dict(argument, listed=True)


def number(name, value, dtype="f32"):
    """A parameter; of type constant: one that only what is expected depends on, as it is compiled in."""
    return dict(name=name, dtype=dtype, value=value)


class Job:
    """Work that several kernels do: arguments for given sizes, what it takes, and what it must give."""

    def __init__(self, name, expected, arguments, sizes, tiny, tolerance, flops=None):
        self.name, self.expected, self.arguments, self.sizes, self.tiny = name, expected, arguments, sizes, tiny
        self.tolerance, self.flops = tolerance, flops

    def recipe(self, sizes):
        arguments = self.arguments(**sizes)
        moved = sum(math.prod(a["shape"]) * SIZE[a["dtype"]] for a in arguments if "shape" in a)
        return dict(expected=self.expected, arguments=arguments, tolerance=self.tolerance, bytes=moved,
                    flops=self.flops(**sizes) if self.flops else None)


class Kernel:
    """One compiled kernel: constants come after the arrays; grid is a function of the sizes."""

    def __init__(self, name, job, kernel, constants, grid, **hints):
        self.job, self.kernel, self.constants, self.grid = job, kernel, constants, grid
        self.hints = {key: value for key, value in hints.items() if value is not None}
        self.name = "_".join([name, *("%s%d" % (SHORT[key], value) for key, value in self.hints.items())])


SHORT = {"occupancy": "o", "num_ctas": "c", "num_worker_warps": "w"}


def parts(n, tile):
    return -(-n // tile)


def name_of(prefix, *tiles):
    return prefix + "_" + "x".join(map(str, tiles))
