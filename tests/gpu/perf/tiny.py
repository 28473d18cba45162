"""Kernels on small arrays on the CPU, by `tilevm run`, beside `expected.py` by numpy."""
import math
import os
import subprocess
import tempfile

import numpy as np

import expected

DTYPES = {"f16": np.float16, "f32": np.float32, "i32": np.int32, "u8": np.uint8, "f64": np.float64}
THREADS = 2


def e4m3():
    """Every number of f8e4m3fn by its bits."""
    bits = np.arange(256)
    sign, exponent, fraction = np.where(bits & 128, -1.0, 1.0), bits >> 3 & 15, bits & 7
    value = np.where(exponent == 0, fraction / 512.0, (1 + fraction / 8.0) * 2.0 ** (exponent - 7))
    return np.where(bits & 127 == 127, np.nan, sign * value).astype(np.float32)


def encode(x, dtype):
    """The elements of an f32 array as bytes."""
    if dtype == "bf16":
        return (np.ascontiguousarray(x, np.float32).view(np.uint32) + 0x8000 >> 16).astype(np.uint16).tobytes()
    if dtype == "f8e4m3fn":
        order = np.argsort(e4m3()[:127])
        table = e4m3()[order]
        near = np.minimum(np.searchsorted((table[1:] + table[:-1]) / 2, np.abs(x)), 126)
        return (order[near] | np.where(x < 0, 128, 0)).astype(np.uint8).tobytes()
    return x.astype(DTYPES[dtype]).tobytes()


def decode(bits, dtype, shape):
    if dtype == "bf16":
        return (np.frombuffer(bits, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if dtype == "f8e4m3fn":
        return e4m3()[np.frombuffer(bits, np.uint8)].reshape(shape)
    return np.frombuffer(bits, DTYPES[dtype]).astype(np.float64 if dtype == "f64" else np.float32).reshape(shape)


def random_array(rng, a):
    kind, *limit = a["init"].split()
    if kind == "below":
        return rng.integers(int(limit[0]), size=a["shape"])
    if kind == "fill":
        return np.full(a["shape"], float(limit[0]), np.float32)
    if kind == "these":
        return np.array(limit, int).reshape(a["shape"])
    return rng.standard_normal(a["shape"]).astype(np.float32) * float(limit[0] if limit else 1)


def run_listed(a, position, data, folder):
    """The words for a list of arrays, and where the results of its items go."""
    count, size, words, files = a["shape"][0], len(data) // a["shape"][0], [], []
    for g in range(count):
        source = os.path.join(folder, "%s.%d.bin" % (a["name"], g))
        with open(source, "wb") as f:
            f.write(data[g * size:(g + 1) * size])
        words.append("bin(%s,[%s],%s)" % (a["dtype"], ",".join(map(str, a["shape"][1:])), source))
        files.append(os.path.join(folder, "%s.%d.out.bin" % (a["name"], g)))
    saved = [word for g, file in enumerate(files) for word in ("--save", "%d[%d]=%s" % (position, g, file))]
    return ["%d=[%s]" % (position, ",".join(words)), *(saved if a["role"] != "in" else [])], files


def run(tilevm, path, grid, arguments, inputs, folder):
    """The outputs of a kernel, by name."""
    words, files, i = [], {}, 0     # i: an array is several parameters
    for a in arguments:
        if a["dtype"] == "constant":
            continue
        if "value" in a:
            words.append("%d=%s:%r" % (i, a["dtype"], a["value"]))
            i += 1
            continue
        if a.get("listed"):
            more, results = run_listed(a, i, inputs[a["name"]], folder)
            words += more
            if a["role"] != "in":
                files[a["name"]] = (results, a)
            i += 1
            continue
        source = os.path.join(folder, a["name"] + ".bin")
        with open(source, "wb") as f:
            f.write(inputs[a["name"]])
        words.append("%d=bin(%s,[%s],%s)" % (i, a["dtype"], ",".join(map(str, a["shape"])), source))
        if a["role"] != "in":
            files[a["name"]] = ([os.path.join(folder, a["name"] + ".out.bin")], a)
            words += ["--save", "%d=%s" % (i, files[a["name"]][0][0])]
        i += 1
    subprocess.run([tilevm, "run", "-q", "-d", "cpu", "-j", str(THREADS), path, "--grid", ",".join(map(str, grid)), *words], check=True)
    outputs = {}
    for name, (parts, a) in files.items():
        bits = b""
        for part in parts:
            with open(part, "rb") as f:
                bits += f.read()
        outputs[name] = decode(bits, a["dtype"], a["shape"])
    return outputs


def agrees(tilevm, path, grid, recipe):
    """Whether a kernel computes what is expected of the recipe; prints how far off it is."""
    rng = np.random.default_rng(1)
    arguments = recipe["arguments"]
    inputs = {a["name"]: encode(random_array(rng, a), a["dtype"]) for a in arguments if "shape" in a}
    plain = {a["name"]: decode(inputs[a["name"]], a["dtype"], a["shape"]) if "shape" in a else a["value"] for a in arguments}
    want = getattr(expected, recipe["expected"])(np, **plain)
    with tempfile.TemporaryDirectory() as folder:
        got = run(tilevm, path, grid, arguments, inputs, folder)
    errors = {name: expected.error(np, got[name], want[name]) for name in want}
    good = all(e <= recipe["tolerance"] for e in errors.values())
    print("%-36s %s %s" % (os.path.basename(path), "ok" if good else "WRONG", {n: "%.2g" % e for n, e in errors.items()}), flush=True)
    return good
