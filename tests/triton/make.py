"""Writes the modules, cases.txt and what NumPy expects of every case: make.py [OUT]

Needs numpy, ml_dtypes and, as ../corpus/corpus.py does, cuda-tile.

The form is that of ../corpus/README.md. OUT/modules/NAME.tileir is the text of a case's module, which the build makes
bytecode 13.1 of; OUT/expected/NAME.ARRAY.bin what an array must hold. Without OUT: this folder."""

import os
import struct
import sys

import numpy as np

import kernels_products  # noqa: F401
import kernels_rows  # noqa: F401
import kernels_spread  # noqa: F401
from cases import CASES, npdt

FIELDS = {
    "zeros": (),
    "fill": ("value",),
    "iota": ("start", "step", "mod"),
    "grid": ("seed", "lo", "hi", "den"),
    "unif": ("seed", "lo", "hi"),
    "bits": ("seed",),
}


def fnv(raw):
    h = 0xCBF29CE484222325
    for b in raw:
        h = (h ^ b) * 0x100000001B3 & (1 << 64) - 1
    return f"{h:016x}"


def generator_words(gen):
    kind = gen["kind"]
    if kind == "values":
        return [kind, len(gen["values"]), *gen["values"]]
    return [kind, *(gen[f] for f in FIELDS[kind])]


def array_lines(name, array, held, wanted, out):
    strides = [int(np.prod(array.shape[d + 1 :])) for d in range(len(array.shape))]
    yield [
        "array",
        array.name,
        array.role,
        array.dtype,
        "i32",
        len(array.shape),
        *array.shape,
        *strides,
        0,
        held.size,
    ]
    yield ["gen", array.name, *generator_words(array.gen)]
    yield ["fnv", array.name, fnv(held.tobytes())]
    if array.role == "in":
        return
    t = array.tolerance
    want = wanted[array.name].astype(npdt(array.dtype)).reshape(array.shape)
    path = f"expected/{name}.{array.name}.bin"
    with open(os.path.join(out, path), "wb") as file:
        file.write(want.tobytes())
    yield ["tol", array.name, t["kind"], *([t["rtol"], t["atol"]] if t["kind"] == "close" else [])]
    yield ["expect", array.name, "file", path, want.nbytes]


def case_lines(name, kernel, blocks, arguments, reference, out):
    arrays = [a for one in arguments for a in (one[1] if isinstance(one, tuple) else [one]) if hasattr(a, "role")]
    held = {a.name: a.make() for a in arrays}
    wanted = reference({n: v.copy() for n, v in held.items()})
    yield ["case", name]
    yield ["info", "triton", "check", "run", "any", 80]
    yield ["symbol", kernel.name]
    yield ["grid", *blocks]
    yield ["file", "13.1", f"bytecode/13.1/{name}.tbc"]
    for a in arrays:
        yield from array_lines(name, a, held[a.name], wanted, out)
    for a in arguments:
        if isinstance(a, tuple):  # a list of arrays: its name and they
            yield ["list", a[0], len(a[1]), *(x.name for x in a[1])]
    for a in arguments:
        if isinstance(a, tuple):
            yield ["param", "list", a[0]]
            yield ["param", "i32", len(a[1])]
        elif hasattr(a, "role"):
            yield ["param", "ptr", a.name]
        elif isinstance(a, float):
            yield ["param", "f32", a, "0x%08x" % struct.unpack("<I", struct.pack("<f", a))[0]]
        else:
            yield ["param", "i32", a]
    yield ["end"]


def main(out):
    for folder in ("modules", "expected"):
        os.makedirs(os.path.join(out, folder), exist_ok=True)
    with open(os.path.join(out, "cases.txt"), "w") as text:
        for name, kernel, blocks, arguments, reference in CASES:
            with open(os.path.join(out, "modules", name + ".tileir"), "w") as file:
                file.write(kernel.text())
            for line in case_lines(name, kernel, blocks, arguments, reference, out):
                text.write(" ".join(map(str, line)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))
