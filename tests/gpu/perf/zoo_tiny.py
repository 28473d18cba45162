"""Kernels of the zoo with small sizes on the virtual machine, beside `zoo_expected.py` by numpy.

    zoo_tiny.py TILEVM CASES [--only RE]
"""
import argparse
import json
import os
import re
import sys
import tempfile

import numpy as np

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


def values(tilevm, path, job, folder):
    """The arrays by name, after a run."""
    zoo_small.run(tilevm, path, job, lambda name: os.path.join(folder, name + ".npy"))
    return {a["name"]: read(os.path.join(folder, a["name"] + ".npy"), a) for a in job["arguments"] if "shape" in a["small"]}


def wrong(tilevm, path, job, axes):
    with tempfile.TemporaryDirectory() as folder:
        try:
            named = values(tilevm, path, job, folder)
        except RuntimeError as e:
            return str(e)
    for name, want in zoo_expected.expected(np, job, axes, named, 0).items():
        got = zoo_expected.observed(np, job["formula"], named, name, named[name])
        if got.shape != want.shape:
            return "%s has the shape %s, not %s" % (name, got.shape, want.shape)
        off = zoo_expected.error(np, got, want)
        if not off <= job["tolerance"]:
            return "%s is off by %.3g" % (name, off)
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
        why = wrong(options.tilevm, os.path.join(options.cases, k["name"] + ".tbc"), cases["jobs"][k["job"]], k["axes"])
        passed += not why
        failed += bool(why)
        if why:
            print("%s: %s" % (k["name"], why), flush=True)
    print("zoo beside numpy: %d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
