#!/usr/bin/env python3
"""Our kernels on a GPU beside torch and Triton: same tensors, same process, in turn.

    bench_gpu.py LIBTILEVM FOLDER [--only TEXT] [--rounds N] [--scale N]

LIBTILEVM is libtilevm.so, FOLDER has the kernels (tests/gpu/kernels). Median of the rounds, by CUDA events, after two to
warm up, with 256 MB of other memory written before each launch; random inputs; each result is compared with torch's. Of
ours and of Triton's the best configuration counts. --scale divides the number of rows, for a short look. Without torch
or a device it says so and does nothing; without Triton its column is empty.
"""
import argparse
import ctypes
import importlib.util
import os
import statistics
import sys

FLUSH_BYTES = 256 << 20
WITHIN = 1.05   # aim: at most this times the best peer's time


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("library")
    p.add_argument("folder")
    p.add_argument("--only", default="", help="rows whose name holds this text")
    p.add_argument("--rounds", type=int, default=20)
    p.add_argument("--scale", type=int, default=1)
    return p.parse_args()


class Library:
    """libtilevm's loader: kernels from bytecode, launched on torch's stream."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(os.path.abspath(path))
        self.lib.tvGetLastErrorMessage.restype = ctypes.c_char_p

    def check(self, code):
        if code != 0:
            raise RuntimeError(self.lib.tvGetLastErrorMessage().decode())

    def load(self, path):
        with open(path, "rb") as f:
            image = f.read() + b"\0"
        module = ctypes.c_void_p()
        self.check(self.lib.tvModuleLoadData(ctypes.byref(module), image))
        return module

    def launcher(self, module, symbol, grid, args, stream):
        """A function that launches: arrays are a pointer, extents, strides; a float is a float."""
        function, values = ctypes.c_void_p(), []
        self.check(self.lib.tvModuleGetFunction(ctypes.byref(function), module, symbol.encode()))
        for a in args:
            if isinstance(a, float):
                values.append(ctypes.c_float(a))
                continue
            values.append(ctypes.c_uint64(a.data_ptr()))
            values += [ctypes.c_int32(n) for n in (*a.shape, *a.stride())]
        params = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
        grid = [*grid, 1, 1][:3]

        def launch():
            self.check(self.lib.tvLaunchKernel(function, *grid, 1, 1, 1, 0, ctypes.c_void_p(stream), params, None))
        launch.keeps = values
        return launch


class Bench:
    def __init__(self, options, torch, triton):
        self.options, self.torch, self.triton = options, torch, triton
        self.library = Library(options.library)
        self.flush = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
        self.wrong = self.missed = 0

    def random(self, *shape, dtype):
        return self.torch.randn(shape, dtype=self.torch.float32, device="cuda").to(dtype)

    def times(self, functions):
        """Median microseconds of each, the functions in turn."""
        torch, samples = self.torch, [[] for _ in functions]
        for round in range(self.options.rounds + 2):
            for f, list in zip(functions, samples):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                self.flush.fill_(round)
                start.record()
                f()
                end.record()
                end.synchronize()
                if round >= 2:
                    list.append(start.elapsed_time(end) * 1e3)
        return [statistics.median(list) for list in samples]

    def correct(self, name, got, expected, tolerance):
        """Largest difference, as a part of the largest number that is expected."""
        got, expected = got.float(), expected.float()
        error = ((got - expected).abs().max() / expected.abs().max()).item()
        if not error <= tolerance:
            self.wrong += 1
            print("%s: WRONG RESULT, off by %g of the largest number" % (name, error))

    def row(self, name, file, sizes, grid, args, out, torch_function, triton, tolerance, work, unit, aim=None):
        """One line. grid(size): of a configuration of ours; out: its result; triton: functions; work: bytes or flop."""
        if self.options.only not in name:
            return
        torch = self.torch
        module = self.library.load(os.path.join(self.options.folder, file + ".tbc"))
        stream = torch.cuda.current_stream().cuda_stream
        expected, ours = torch_function().clone(), []
        for size in sizes:
            launch = self.library.launcher(module, "_".join([file, *map(str, size)]), grid(*size), args, stream)
            out.fill_(-1)
            launch()
            torch.cuda.synchronize()
            self.correct("%s %s" % (name, size), out, expected, tolerance)
            ours.append(launch)
        for f in triton:
            f()
        del expected
        times = self.times([*ours, torch_function, *triton])
        mine, theirs = times[:len(ours)], times[len(ours):]
        t, best = min(mine), min(theirs)
        verdicts = [] if unit == "TFLOP/s" else ["peers: %s" % ("met" if t <= WITHIN * best else "MISSED")]
        if aim:
            verdicts.append("%g %s: %s" % (aim, unit, "met" if work / t * 1e-6 >= aim else "MISSED"))
        verdict = ", ".join(verdicts)
        self.missed += "MISSED" in verdict
        size = "x".join(map(str, sizes[mine.index(t)]))
        print("%-30s %10.1f %-14s %10.1f %10s %7.2f %8.2f %-9s %s" %
              (name, t, size, theirs[0], "%.1f" % min(theirs[1:]) if theirs[1:] else "-", best / t, work / t * 1e-6, unit, verdict), flush=True)

    def elementwise(self):
        torch, n = self.torch, (1 << 28) // self.options.scale
        a, b, c = (self.random(n, dtype=torch.float32) for _ in range(3))
        d, sizes = torch.empty_like(c), [(512,), (1024,), (2048,), (4096,)]
        self.row("vector add f32 2^28", "vadd_f32", sizes, lambda t: [n // t], [a, b, c], c, lambda: torch.add(a, b, out=d),
                 self.triton.vadd(a, b, d) if self.triton else [], 0, 12 * n, "TB/s",
                 4.2 if "H200" in torch.cuda.get_device_name() else None)
        self.row("copy f32 2^28", "copy_f32", sizes, lambda t: [n // t], [a, c], c, lambda: d.copy_(a),
                 self.triton.copy(a, d) if self.triton else [], 0, 8 * n, "TB/s")

    def transposes(self):
        torch, m, n = self.torch, 16384 // self.options.scale, 16384
        for name, dtype in (("f16", torch.float16), ("f32", torch.float32)):
            a = self.random(m, n, dtype=dtype)
            b, d = (torch.empty(n, m, dtype=dtype, device="cuda") for _ in range(2))
            self.row("transpose %s 16384^2" % name, "transpose_" + name, [(32, 32), (64, 64), (128, 64), (64, 128)],
                     lambda p, q: [m // p, n // q], [a, b], b, lambda: d.copy_(a.t()),
                     self.triton.transpose(a, d) if self.triton else [], 0, 2 * a.nbytes, "TB/s")

    def rows(self):
        torch, m, n = self.torch, 32768 // self.options.scale, 8192
        F, sizes = torch.nn.functional, [(1, 8192)]

        def grid(r, w):
            return [m // r]
        x = self.random(m, n, dtype=torch.float32)
        y, z = torch.empty_like(x), torch.empty_like(x)
        self.row("softmax f32 32768x8192", "softmax_f32", sizes, grid, [x, y], y, lambda: torch.softmax(x, 1),
                 self.triton.softmax(x, z) if self.triton else [], 1e-5, 2 * x.nbytes, "TB/s")
        x, w, b = (self.random(*s, dtype=torch.bfloat16) for s in ((m, n), (n,), (n,)))
        y, z = torch.empty_like(x), torch.empty_like(x)
        self.row("layer norm bf16 32768x8192", "layernorm_bf16", sizes, grid, [x, w, b, y, 1e-5], y,
                 lambda: F.layer_norm(x, (n,), w, b, 1e-5),
                 self.triton.layernorm(x, w, b, z, 1e-5) if self.triton else [], 1e-2, 2 * x.nbytes, "TB/s")
        self.row("rms norm bf16 32768x8192", "rmsnorm_bf16", sizes, grid, [x, w, y, 1e-5], y,
                 lambda: F.rms_norm(x, (n,), w, 1e-5),
                 self.triton.rmsnorm(x, w, z, 1e-5) if self.triton else [], 1e-2, 2 * x.nbytes, "TB/s")

    def products(self):
        torch, n = self.torch, 4096
        a, b = (self.random(n, n, dtype=torch.float16) for _ in range(2))
        c, d = torch.empty_like(a), torch.empty_like(a)
        self.row("matmul f16 4096^3", "matmul_f16", [(128, 128, 32, 8), (128, 128, 64, 8), (128, 256, 64, 8), (256, 128, 64, 8)],
                 lambda p, q, k, g: [(n // p) * (n // q)], [a, b, c], c, lambda: torch.matmul(a, b, out=d), [], 5e-3, 2 * n ** 3,
                 "TFLOP/s", 350)

    def run(self):
        print("%-30s %10s %-14s %10s %10s %7s %8s" % ("microseconds", "ours", "tile", "torch", "Triton", "ratio", "ours"))
        for part in (self.elementwise, self.rows, self.transposes, self.products):
            try:
                part()
            except RuntimeError as problem:
                self.wrong += 1
                print("%s: FAILED: %s" % (part.__name__, str(problem)[:2000]))
        print("ratio: best peer's time to ours; aim beside peers: at most %g %% slower than the best (products: none): %d missed, %d wrong" %
              (round((WITHIN - 1) * 100), self.missed, self.wrong))
        return self.wrong


def main():
    options = parse()
    if importlib.util.find_spec("torch") is None:
        print("torch and Triton beside ours: skipped, Python has no torch")
        return 0
    import torch
    if not torch.cuda.is_available():
        print("torch and Triton beside ours: skipped, torch finds no device")
        return 0
    triton = None
    if importlib.util.find_spec("triton") is not None:
        import bench_gpu_triton as triton
    print("%s, torch %s" % (torch.cuda.get_device_name(), torch.__version__))
    torch.manual_seed(1)
    return Bench(options, torch, triton).run() != 0


if __name__ == "__main__":
    sys.exit(main())
