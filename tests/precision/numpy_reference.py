#!/usr/bin/env python3
"""`tilevm run --precision` beside NumPy's longdouble: kernels of each class of ops, on arrays of several types.

numpy_reference.py TILEVM FOLDER. The saved arrays and NumPy's results without rounding give the worst and the mean error
that the report must have. Ends with `precision beside NumPy: N passed, N failed`.
"""
import json
import os
import subprocess
import sys

import numpy as np

N = 64
TYPES = {"f16": (np.float16, 10, -14), "f32": (np.float32, 23, -126), "f64": (np.float64, 52, -1022)}

# name, ops from %x and %y to %r, and the same in NumPy. @ stands for the type.
SUM = ("(%p: tile<@>, %q: tile<@>) {\n    %v = addf %p, %q : tile<@>\n    yield %v : tile<@>\n  }\n")
CASES = [
    ("arithmetic", "  %u = divf %x, %y : tile<64x@>\n  %w = mulf %u, %x : tile<64x@>\n"
     "  %r = fma %w, %u, %y : tile<64x@>\n", lambda x, y: x / y * x * (x / y) + y),
    ("cancellation", "  %u = divf %x, %y : tile<64x@>\n  %w = addf %u, %x : tile<64x@>\n"
     "  %r = subf %w, %x : tile<64x@>\n", lambda x, y: x / y),
    ("functions", "  %u = divf %x, %y : tile<64x@>\n  %w = exp %u : tile<64x@>\n  %s = sin %w : tile<64x@>\n"
     "  %r = tanh %s : tile<64x@>\n", lambda x, y: np.tanh(np.sin(np.exp(x / y)))),
    ("roots", "  %u = mulf %x, %y : tile<64x@>\n  %w = sqrt %u : tile<64x@>\n  %r = rsqrt %w : tile<64x@>\n",
     lambda x, y: 1 / np.sqrt(np.sqrt(x * y))),
    ("logarithms and powers", "  %u = mulf %x, %y : tile<64x@>\n  %w = log %u : tile<64x@>\n"
     "  %r = fpowf %x, %w : tile<64x@>\n", lambda x, y: x ** np.log(x * y)),
    ("a sum", "  %u = divf %x, %y : tile<64x@>\n  %s = reduce %u dim=0 identities=[0.0 : @] : tile<64x@> -> tile<@> "
     + SUM + "  %s1 = reshape %s : tile<@> -> tile<1x@>\n  %r = broadcast %s1 : tile<1x@> -> tile<64x@>\n",
     lambda x, y: np.full(N, (x / y).sum())),
    ("running sums", "  %u = divf %x, %y : tile<64x@>\n  %r = scan %u dim=0 reverse=false identities=[0.0 : @] : "
     "tile<64x@> -> tile<64x@> " + SUM, lambda x, y: np.cumsum(x / y)),
    ("a product of matrices", "  %u = divf %x, %y : tile<64x@>\n  %a8 = reshape %u : tile<64x@> -> tile<8x8x@>\n"
     "  %b8 = permute %a8 [1, 0] : tile<8x8x@> -> tile<8x8x@>\n  %c8 = reshape %y : tile<64x@> -> tile<8x8x@>\n"
     "  %m = mmaf %a8, %b8, %c8 : tile<8x8x@>, tile<8x8x@>, tile<8x8x@>\n"
     "  %r = reshape %m : tile<8x8x@> -> tile<64x@>\n",
     lambda x, y: ((x / y).reshape(8, 8) @ (x / y).reshape(8, 8).T + y.reshape(8, 8)).reshape(N)),
    ("elements moved", "  %one = constant <i32: 1> : tile<i32>\n  %u = divf %x, %y : tile<64x@>\n"
     "  %h = extract %u[%one] : tile<64x@> -> tile<32x@>\n"
     "  %r = cat %h, %h dim = 0 : tile<32x@>, tile<32x@> -> tile<64x@>\n",
     lambda x, y: np.concatenate([(x / y)[32:]] * 2)),
    ("a loop", "  %one = constant <i32: 1> : tile<i32>\n  %n = constant <i32: 50> : tile<i32>\n"
     "  %u = divf %x, %y : tile<64x@>\n"
     "  %r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %y) -> (tile<64x@>) {\n"
     "    %v = addf %s, %u : tile<64x@>\n    continue %v : tile<64x@>\n  }\n", lambda x, y: y + 50 * (x / y)),
    ("conversions", "  %u = divf %x, %y : tile<64x@>\n  %h = ftof %u : tile<64x@> -> tile<64xbf16>\n"
     "  %r = ftof %h : tile<64xbf16> -> tile<64x@>\n", lambda x, y: x / y),
]


def kernel(ops, name):
    view = f"tensor_view<64x{name}, strides=[1]>"
    part = f"partition_view<tile=(64), {view}>"
    text = f"entry @k(%a: tile<ptr<{name}>>, %b: tile<ptr<{name}>>, %c: tile<ptr<{name}>>) {{\n"
    text += "  %zero = constant <i32: 0> : tile<i32>\n"
    for p in "abc":
        text += f"  %{p}v = make_tensor_view %{p}, shape = [64], strides = [1] : {view}\n"
        text += f"  %{p}w = make_partition_view %{p}v : {part}\n"
    for value, p in (("x", "a"), ("y", "b")):
        text += f"  %{value}, %t{p} = load_view_tko weak %{p}w[%zero] : {part}, tile<i32> -> tile<64x{name}>, token\n"
    text += ops.replace("@", name)
    text += f"  %t = store_view_tko weak %r, %cw[%zero] : tile<64x{name}>, {part}, tile<i32> -> token\n  return\n}}\n"
    return text


def ulps(got, exact, mantissa, least):
    larger = np.maximum(np.abs(got), np.abs(exact))
    exponent = np.maximum(np.floor(np.log2(np.where(larger > 0, larger, 1))), least)
    return np.abs(got - exact) / np.longdouble(2) ** (exponent - mantissa)


def main():
    tool, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    tool = os.path.abspath(tool)
    os.chdir(folder)
    passed = failed = 0
    for name, (dtype, mantissa, least) in TYPES.items():
        rng = np.random.default_rng(7)
        x, y = (rng.uniform(0.5, 2, N).astype(dtype) for _ in range(2))
        np.save("x.npy", x)
        np.save("y.npy", y)
        for what, ops, reference in CASES:
            with open("k.tir", "w", encoding="utf-8") as file:
                file.write(kernel(ops, name))
            subprocess.run([tool, "asm", "k.tir", "-o", "k.tbc"], check=True)
            out = subprocess.run([tool, "run", "k.tbc", "x.npy", "y.npy", f"empty({name},64)", "--grid", "1",
                                  "--precision", "--json", "--save", "c=r.npy"], check=True, stdout=subprocess.PIPE)
            error = json.loads(out.stdout)["precision"]["arrays"][0]["error"]
            exact = reference(x.astype(np.longdouble), y.astype(np.longdouble))
            want = ulps(np.load("r.npy").astype(np.longdouble), exact, mantissa, least)
            # a longdouble has 11 bits more than f64: what it rounds shows in errors of that
            slack = 1e-6 if name != "f64" else 2e-2
            good = (abs(error["worst"] - want.max()) <= slack * max(1, want.max())
                    and abs(error["mean"] - want.mean()) <= slack * max(1, want.mean()))
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"failed: {what}, {name}: worst {error['worst']}, mean {error['mean']}; "
                      f"NumPy has {want.max()}, {want.mean()}")
    print(f"precision beside NumPy: {passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
