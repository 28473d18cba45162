#!/usr/bin/env python3
"""Speed of the virtual machine beside NumPy and Triton's interpreter: same arrays, same process, best of some rounds.

    bench_vm.py SHIM FOLDER [--threads 1,2] [--only TEXT] [--rounds N]

SHIM is bench_vm.so (tests/bench/bench_vm.c), FOLDER has the kernels (tests/bench). Prints one table per number of threads,
which both sides get; NumPy uses them in matrix products only. Every result is compared with NumPy's. Without NumPy
it says so and does nothing; the rows of Triton need PyPI's triton, those of bf16 and f8 ml_dtypes.
"""
import argparse
import ctypes
import importlib.util
import os
import platform
import subprocess
import sys
import time


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("shim")
    p.add_argument("folder")
    p.add_argument("--threads", default=",".join(dict.fromkeys(["1", str(os.cpu_count())])))
    p.add_argument("--only", default="", help="rows whose name holds this text")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--child", type=int, help=argparse.SUPPRESS)
    return p.parse_args()


# ---------------------------------------------------------------- our side
class Kernel:
    """A kernel with its arguments: bytecode, grid, and the values of its parameters."""

    def __init__(self, lib, path, threads, grid, args):
        self.lib, self.grid = lib, (ctypes.c_uint32 * 3)(*grid, *[1] * (3 - len(grid)))
        self.k = lib.bench_open(path.encode(), threads)
        if not self.k:
            sys.exit(1)
        values = []
        for a in args:
            if hasattr(a, "ctypes"):
                lib.bench_buffer(self.k, a.ctypes.data, a.nbytes)
                values.append(ctypes.c_void_p(a.ctypes.data))
                values += [ctypes.c_int32(n) for n in a.shape]
                values += [ctypes.c_int32(n // a.itemsize) for n in a.strides]
            else:
                values.append(a)
        self.values = values
        self.params = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])

    def seconds(self):
        s = self.lib.bench_run(self.k, self.grid, self.params, len(self.values))
        if s < 0:
            sys.exit(1)
        return s

    def close(self):
        self.lib.bench_close(self.k)


def load_shim(path):
    lib = ctypes.CDLL(os.path.abspath(path))
    lib.bench_open.restype = ctypes.c_void_p
    lib.bench_open.argtypes = [ctypes.c_char_p, ctypes.c_uint]
    lib.bench_buffer.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    lib.bench_run.restype = ctypes.c_double
    lib.bench_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    lib.bench_frame_bytes.restype = ctypes.c_size_t
    lib.bench_frame_bytes.argtypes = lib.bench_close.argtypes = [ctypes.c_void_p]
    return lib


# ---------------------------------------------------------------- the rows
class Bench:
    def __init__(self, options, threads):
        import numpy
        self.np, self.options, self.threads = numpy, options, threads
        self.lib = load_shim(options.shim)
        self.rng = numpy.random.default_rng(1)
        self.wrong = 0

    def wanted(self, name):
        return self.options.only in name

    def random(self, *shape):
        return self.rng.standard_normal(shape, dtype=self.np.float32)

    def compare(self, name, file, grid, args, out, theirs, aim, work, check=None, tolerance=1e-4, scale=1):
        """One row: `file` with args against theirs(), which returns the result that `out` must have. check: use this
        one for that instead. scale: for a figure of theirs that was measured elsewhere. Returns our seconds."""
        kernel = Kernel(self.lib, os.path.join(self.options.folder, file + ".tbc"), self.threads, grid, args)
        ours, other = [], []
        kernel.seconds()
        expected = (check or theirs)()
        got = out.astype(self.np.float64)
        if not self.np.allclose(got, self.np.asarray(expected).astype(self.np.float64), tolerance, tolerance):
            self.wrong += 1
            print("%s: WRONG RESULT" % name)
        for _ in range(self.options.rounds):
            ours.append(kernel.seconds())
            start = time.perf_counter()
            if callable(theirs):
                theirs()
                other.append(time.perf_counter() - start)
                time.sleep(0.3)  # OpenBLAS's threads go on spinning for a while
        t = min(ours)
        u = min(other) if other else theirs
        self.line(name, t, u * scale, aim, work / t * 1e-9, self.lib.bench_frame_bytes(kernel.k))
        kernel.close()
        return t

    def line(self, name, ours, theirs, aim, rate, frame):
        ratio = theirs / ours
        verdict = "" if aim is None else "aim %g: %s" % (aim, "met" if ratio >= aim else "MISSED")
        print("%-46s %9.2f ms %9.2f ms %8.2f x  %-16s %8.1f G/s %9d" % (name, ours * 1e3, theirs * 1e3, ratio, verdict,
                                                                       rate, frame), flush=True)

    # ---- element-wise
    def elementwise(self):
        np, n = self.np, 1 << 26
        a, b, c, d = self.random(n), self.random(n), np.zeros(n, np.float32), np.zeros(n, np.float32)

        def add():
            return np.add(a, b, out=d)

        def chain():
            z = np.maximum(a - b, np.float32(0))
            return z * z + np.minimum(a, b) * np.float32(0.5)
        if self.wanted("add f32"):
            self.compare("add f32, 2^26", "add_f32", [n // 4096], [a, b, c], c, add, 0.9, 12 * n)
            self.compare("add f32, 2^26, tiles of 256", "add_f32_256", [n // 256], [a, b, c], c, add, 0.75, 12 * n)
        if self.wanted("tanh f32"):
            m = 1 << 21
            self.compare("tanh f32, 2^21, tiles of 32", "tanh_f32_32", [m // 32], [a[:m], c[:m]], c[:m],
                         lambda: np.tanh(a[:m], out=d[:m]), None, 8 * m)
        if self.wanted("chain f32"):
            self.compare("max(a-b,0)^2 + min(a,b)/2 f32, 2^26", "chain_f32", [n // 4096], [a, b, c], c, chain, None,
                         12 * n)

    # ---- matrix products: every one is told as a ratio to NumPy's f32 or to ours
    def matmul(self):
        np, n = self.np, 2048
        x, y, grid, work = self.random(n, n), self.random(n, n), [n // 128, n // 128], 2 * n ** 3
        c = np.zeros((n, n), np.float32)
        f32 = None
        if self.wanted("matmul f32"):
            f32 = self.compare("matmul f32, 2048", "matmul_f32", grid, [x, y, c], c, lambda: x @ y, 0.5, work,
                               tolerance=1e-2)
        if self.wanted("matmul f64"):
            x64, y64, c64 = x.astype(np.float64), y.astype(np.float64), np.zeros((n, n))
            self.compare("matmul f64, 2048", "matmul_f64", grid, [x64, y64, c64], c64, lambda: x64 @ y64, None, work)
        if f32 is None:
            return
        print("  the same in other types, beside the f32 above:")
        self.narrow("f16", np.float16, f32, 0.4)
        self.integer(f32)
        try:
            import ml_dtypes
        except ImportError:
            print("  bf16, f8: skipped, Python has no ml_dtypes")
            return
        self.narrow("bf16", ml_dtypes.bfloat16, f32, 0.4)
        self.narrow("e4m3", ml_dtypes.float8_e4m3fn, f32, None)
        self.narrow("e5m2", ml_dtypes.float8_e5m2, f32, None)
        self.scaled(ml_dtypes, f32)

    def narrow(self, name, dtype, f32, aim):
        np, n = self.np, 2048
        x, y = self.random(n, n).astype(dtype), self.random(n, n).astype(dtype)
        c = np.zeros((n, n), np.float32)
        self.compare("  matmul %s, f32 accumulator" % name, "matmul_" + name, [n // 128, n // 128], [x, y, c], c, f32,
                     aim, 2 * n ** 3, check=lambda: x.astype(np.float32) @ y.astype(np.float32), tolerance=1e-2)

    def integer(self, f32):
        np, n = self.np, 2048
        x, y = (self.rng.integers(-128, 128, (n, n), np.int8) for _ in range(2))
        c = np.zeros((n, n), np.int32)
        self.compare("  matmul i8, i32 accumulator", "matmul_i8", [n // 128, n // 128], [x, y, c], c, f32, None,
                     2 * n ** 3, check=lambda: x.astype(np.float64) @ y.astype(np.float64))

    def scaled(self, ml_dtypes, f32):
        np, n = self.np, 2048
        x, y = (self.random(n, n).astype(ml_dtypes.float8_e4m3fn) for _ in range(2))
        xs = np.exp2(self.rng.integers(-3, 4, (n, n // 32))).astype(ml_dtypes.float8_e8m0fnu)
        ys = np.exp2(self.rng.integers(-3, 4, (n // 32, n))).astype(ml_dtypes.float8_e8m0fnu)
        c = np.zeros((n, n), np.float32)

        def check():
            wide = np.repeat(xs.astype(np.float32), 32, 1) * x.astype(np.float32)
            return wide @ (np.repeat(ys.astype(np.float32), 32, 0) * y.astype(np.float32))
        self.compare("  matmul e4m3 with e8m0 scales", "matmul_mxf8", [n // 128, n // 128], [x, xs, y, ys, c], c, f32,
                     None, 2 * n ** 3, check=check, tolerance=1e-2)

    # ---- rows
    def rows(self):
        np, n = self.np, 4096
        x, y = self.random(n, n), np.zeros((n, n), np.float32)

        def softmax():
            e = np.exp(x - x.max(axis=1, keepdims=True))
            return e / e.sum(axis=1, keepdims=True)
        w, b = self.random(n), self.random(n)

        def layernorm():
            m = x.mean(axis=1, keepdims=True)
            return (x - m) / np.sqrt(x.var(axis=1, keepdims=True) + np.float32(1e-5)) * w + b
        if self.wanted("softmax f32"):
            self.compare("softmax f32, rows of 4096x4096", "softmax_f32", [n], [x, y], y, softmax, 1.5, 8 * n * n)
        if self.wanted("layer norm f32"):
            self.compare("layer norm f32, rows of 4096x4096", "layernorm_f32", [n],
                         [x, w, b, y, ctypes.c_float(1e-5)], y, layernorm, 1.5, 8 * n * n)

    def attention(self):
        np, heads, n, d = self.np, 8, 2048, 64
        q, k, v = (self.random(heads, n, d) for _ in range(3))
        scale = np.float32(1 / 8)
        out = np.zeros((heads, n, d), np.float32)
        log2 = ctypes.c_float(float(scale) * 1.4426950408889634)

        def expression():
            s = q @ k.transpose(0, 2, 1) * scale
            p = np.exp(s - s.max(axis=-1, keepdims=True))
            return p / p.sum(axis=-1, keepdims=True) @ v
        work = 4 * heads * n * n * d
        if self.wanted("attention f32"):
            self.compare("attention f32, 8 heads of 2048x64", "attention_f32", [n // 64, heads],
                         [q, k, v, out, log2], out, expression, 1, work)
        if self.wanted("attention f16"):
            q16, k16, v16, out16 = (t.astype(np.float16) for t in (q, k, v, out))
            self.compare("attention f16, beside the f32 expression", "attention_f16", [n // 64, heads],
                         [q16, k16, v16, out16, log2], out16, expression, None, work, tolerance=1e-2)

    # ---- Triton
    def triton(self):
        if not self.wanted("triton"):
            return
        if importlib.util.find_spec("triton") is None:
            print("Triton's interpreter: skipped, Python has no triton")
            return
        os.environ["TRITON_INTERPRET"] = "1"
        import bench_triton
        np, n = self.np, 1 << 22
        a, b, c, d = self.random(n), self.random(n), np.zeros(n, np.float32), np.zeros(n, np.float32)
        self.options.rounds = min(self.options.rounds, 3)
        self.compare("add f32, 2^22; triton interpreted", "add_f32", [n // 4096], [a, b, c], c,
                     lambda: bench_triton.add(a, b, d), 20, 12 * n)
        rows, m = 1024, 4096
        x, y, z = self.random(rows, m), np.zeros((rows, m), np.float32), np.zeros((rows, m), np.float32)
        self.compare("softmax f32, 1024x4096; triton interpreted", "softmax_f32", [rows], [x, y], y,
                     lambda: bench_triton.softmax(x, z), 20, 8 * rows * m)
        k = 512
        x, y = self.random(k, k), self.random(k, k)
        p, q = np.zeros((k, k), np.float32), np.zeros((k, k), np.float32)
        self.compare("matmul f32, 512; triton interpreted", "matmul_f32", [k // 128, k // 128], [x, y, p], p,
                     lambda: bench_triton.matmul(x, y, q), 20, 2 * k ** 3, tolerance=1e-2)

    def run(self):
        print("\n%d thread%s %43s %12s %10s" % (self.threads, "s"[:self.threads > 1], "tilevm", "theirs", "ratio")
              + " " * 31 + "tile storage")
        self.elementwise()
        self.matmul()
        self.rows()
        self.attention()
        self.triton()
        return self.wrong


def processor():
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main():
    options = parse()
    if importlib.util.find_spec("numpy") is None:
        print("the virtual machine beside NumPy: skipped, Python has no numpy")
        return 0
    if options.child:
        return Bench(options, options.child).run() != 0
    import numpy
    print("the virtual machine beside NumPy %s on %s, %d processors" % (numpy.__version__, processor(),
                                                                        os.cpu_count()))
    status = 0
    for n in options.threads.split(","):
        env = dict(os.environ, OPENBLAS_NUM_THREADS=n, OMP_NUM_THREADS=n, MKL_NUM_THREADS=n)
        sys.stdout.flush()
        status |= subprocess.call([sys.executable, __file__, *sys.argv[1:], "--child", n], env=env)
    return status


if __name__ == "__main__":
    sys.exit(main())
