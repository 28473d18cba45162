#!/usr/bin/env python3
"""What kernels of the corpus cost a service that starts them from Python: processor time for importing the client, for its front
end, and, where the folder of NVIDIA's tools is given, for its compiler, which runs once a kernel. Lines WHAT|MILLISECONDS.

    python tools/bench_cold_start.py TOOLS CASE...
"""
import os
import resource
import subprocess
import sys
import tempfile
import time

clock = time.process_time
start = clock()
import cuda.tile  # noqa: E402,F401
import numpy  # noqa: E402,F401

imported = clock() - start
tools, wanted = sys.argv[1], set(sys.argv[2:])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "corpus"))
import make_corpus  # noqa: E402

make_corpus.load_modules(None)
cases = [case for case in make_corpus.C.CASES if case.name in wanted]
start = clock()
exported = []
for case in cases:
    with make_corpus.patched(case.patch):
        exported.append(make_corpus.export(case, "13.4")[0])
front_end = clock() - start


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


before = children()
if tools:
    with tempfile.TemporaryDirectory() as folder:
        for data in exported:
            path = os.path.join(folder, "k.tbc")
            with open(path, "wb") as file:
                file.write(data)
            subprocess.run([os.path.join(tools, "tileiras"), "--gpu-name", "sm_90", path, "-o", path + ".cubin"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
compiler = children() - before
print(f"from Python: importing the client|{imported * 1e3:.0f}")
print(f"from Python: its front end, {len(cases)} kernels|{front_end * 1e3:.0f}")
if tools:
    print(f"from Python: NVIDIA's compiler, {len(cases)} kernels|{compiler * 1e3:.0f}")
print(f"from Python: together|{(imported + front_end + compiler) * 1e3:.0f}")
