#!/usr/bin/env python3
"""cuTile Python on the virtual machine beside Triton's interpreter: the kernels of bench_triton.py, on the same NumPy arrays in
one process, through each client's own launch; the best of some rounds. Then what the first vector addition costs from the
command line.

    make bench-cutile PYTHON=python3
    PYTHONPATH=tools/python TILEVM_LIBRARY=build/release/libtilevm.so python tools/bench_cutile.py [--threads N] [--rounds N]

Needs numpy, cuda-tile and triton; without triton only our side is timed.
"""
import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST = """
import time
clock = time.process_time
{alone}
start = clock()
import numpy as np, cuda.tile as ct, cuda.tile._compile
client = clock()
import tilevm.cutile
tilevm.cutile.enable()
enabled = clock()

@ct.kernel
def add(a, b, c, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), (T,)) + ct.load(b, (i,), (T,)))

x, y = np.ones(4096, np.float32), np.zeros(4096, np.float32)
before = clock()
ct.launch(0, (16,), add, (x, x, y, 256))
first = clock()
ct.launch(0, (16,), add, (x, x, y, 256))
again = clock()
assert (y == 2).all()
print(client - start, enabled - client, first - before, again - first)
"""


def best(function, rounds):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def rows(np):
    """name, our launch, theirs, the two results"""
    import cuda.tile as ct
    sys.path[:0] = [str(ROOT / "tests/bench"), str(ROOT / "tools")]
    import kernels
    os.chdir(ROOT)
    triton = None
    if importlib.util.find_spec("triton"):
        os.environ["TRITON_INTERPRET"] = "1"
        import bench_triton as triton
    rng = np.random.default_rng(1)

    def random(*shape):
        return rng.standard_normal(shape, dtype=np.float32)

    a, b, c, d = random(1 << 22), random(1 << 22), np.zeros(1 << 22, np.float32), np.zeros(1 << 22, np.float32)
    x, y, z = random(1024, 4096), np.zeros((1024, 4096), np.float32), np.zeros((1024, 4096), np.float32)
    p, q, r, s = random(512, 512), random(512, 512), np.zeros((512, 512), np.float32), np.zeros((512, 512), np.float32)
    yield ("add f32, 2^22", lambda: ct.launch(0, (1024,), kernels.add, (a, b, c, 4096)),
           triton and (lambda: triton.add(a, b, d)), c, d)
    yield ("softmax f32, 1024x4096", lambda: ct.launch(0, (1024,), kernels.softmax, (x, y, 4096)),
           triton and (lambda: triton.softmax(x, z)), y, z)
    yield ("matmul f32, 512", lambda: ct.launch(0, (4, 4), kernels.matmul, (p, q, r, 128, 128, 32)),
           triton and (lambda: triton.matmul(p, q, s)), r, s)


def first_launch(alone):
    """CPU seconds of a new process, of importing the client, enabling, the first launch and the second; alone: torch is
    not there."""
    hide = 'import sys; sys.modules["torch"] = None' if alone else ""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "first.py")
        script.write_text(FIRST.format(alone=hide))
        before = os.times()
        out = subprocess.run([sys.executable, str(script)], check=True, capture_output=True, text=True,
                             env={**os.environ, "CUDA_TILE_CACHE_DIR": folder}).stdout
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return used, *map(float, out.split())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    import numpy as np
    import tilevm.cutile
    tilevm.cutile.enable(arch="sm_90", threads=given.threads)
    for name, ours, theirs, result, expected in rows(np):
        ours()
        t = best(ours, given.rounds)
        if not theirs:
            print(f"{name:28} {t * 1e3:9.2f} ms   Triton is not installed")
            continue
        u = best(theirs, min(given.rounds, 3))
        assert np.allclose(result, expected, 1e-2, 1e-2), name
        print(f"{name:28} {t * 1e3:9.2f} ms   Triton's interpreter {u * 1e3:9.2f} ms   {u / t:7.0f} x", flush=True)
    for alone in (True, False):
        if not alone and not importlib.util.find_spec("torch"):
            continue
        total, client, ready, first, again = min(first_launch(alone) for _ in range(3))
        print(f"first vector addition, {'without' if alone else 'with'} torch: {total:.2f} s of CPU time in all:"
              f" importing the client {client:.2f} s, enabling {ready * 1e3:.0f} ms, first launch {first * 1e3:.0f} ms, second"
              f" {again * 1e6:.0f} us")


if __name__ == "__main__":
    main()
