"""Kernels of the zoo with small sizes on the virtual machine, beside `zoo_expected.py` by numpy.

    zoo_tiny.py TILEVM CASES [--only RE]

Of products whose K is divided between blocks, what is expected without one of the additions must be found to differ. Maps in f16
are launched with any bits, too, among which are NaN and infinite numbers. Without numpy, nothing is compared.
"""
import argparse
import json
import os
import re
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("zoo beside numpy: skipped, there is no numpy")
    sys.exit(0)

import tiny
import zoo_expected
import zoo_small


def read(path, a):
    x = np.load(path)
    if a["dtype"] in ("bf16", "f8e4m3fn"):
        return tiny.decode(x.tobytes(), a["dtype"], a["small"]["shape"])
    if a["dtype"] == "f8e5m2":
        return (x.view(np.uint8).astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    return x


def values(tilevm, path, job, folder, init=None):
    """The arrays by name, after a run."""
    zoo_small.run(tilevm, path, job, lambda name: os.path.join(folder, name + ".npy"), init)
    return {a["name"]: read(os.path.join(folder, a["name"] + ".npy"), a) for a in job["arguments"] if "shape" in a["small"]}


def without_first_part(f, named):
    """The arrays, with A zero where the first part of K multiplies it."""
    a, length = f["A"], zoo_expected.part_of(f, named, 0) // (2 if f["A"]["raw"] in ("i4", "u4") else 1)
    x = named[a["array"]].copy()
    (zoo_expected.turn(x) if a["turned"] else x)[..., :length] = 0
    return dict(named, **{a["array"]: x})


def wrong(tilevm, path, job, axes, init=None):
    with tempfile.TemporaryDirectory() as folder:
        try:
            named = values(tilevm, path, job, folder, init)
        except RuntimeError as e:
            return str(e)
    for name, want in zoo_expected.expected(np, job, axes, named, 0).items():
        got = zoo_expected.observed(np, job["formula"], named, name, named[name])
        if got.shape != want.shape:
            return "%s has the shape %s, not %s" % (name, got.shape, want.shape)
        off = zoo_expected.error(np, got, want)
        if not off <= job["tolerance"]:
            return "%s is off by %.3g" % (name, off)
        if "A" in job["formula"] and "parts" in job["formula"]:
            less = zoo_expected.expected(np, job, axes, without_first_part(job["formula"], named), 0)[name]
            if zoo_expected.error(np, got, less) <= job["tolerance"]:
                return "%s may lack an addition, by its tolerance" % name
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("tilevm")
    p.add_argument("cases")
    p.add_argument("--only", default="")
    options = p.parse_args()
    with open(os.path.join(options.cases, "cases.json")) as f:
        cases = json.load(f)
    passed = failed = 0
    np.seterr(all="ignore")
    for k in cases["kernels"]:
        if not re.search(options.only, k["name"]):
            continue
        path, job = os.path.join(options.cases, k["name"] + ".tbc"), cases["jobs"][k["job"]]
        why = wrong(options.tilevm, path, job, k["axes"])
        if not why and job["formula"]["work"] == "map" and job["formula"]["elem"] == "f16":
            why = wrong(options.tilevm, path, job, k["axes"], "bits")
        passed += not why
        failed += bool(why)
        if why:
            print("%s: %s" % (k["name"], why), flush=True)
    print("zoo beside numpy: %d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
