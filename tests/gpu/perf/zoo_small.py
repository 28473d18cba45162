"""Launches of the zoo's kernels with small sizes, by `tilevm run`."""
import json
import math
import os
import random
import subprocess

LETTERS = "abcdefghijklmnopqrstuvwxyz"
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i32": 4}
MOST_BYTES = 96 << 10   # of the arrays of a launch that is kept


def generator(a, seed):
    """An array of `tilevm run`."""
    shape = "[%s]" % ",".join(map(str, a["small"]["shape"]))
    strides = "strides=[%s]" % ",".join(map(str, a["small"]["strides"]))
    if a["role"] == "out":
        return "empty(%s,%s,%s)" % (a["dtype"], shape, strides)
    kind, *limits = a["init"].split()
    if kind == "permutation":
        order = list(range(a["small"]["shape"][0]))
        random.Random(seed).shuffle(order)
        return "values(i32,[%s],%s)" % (",".join(map(str, order)), shape)
    form = {"normal": "randn(%s,%s,seed=%d,%s)", "positive": "uniform(%s,%s,0.5,1.5,seed=%d,%s)", "bytes": "randint(%s,%s,-128,128,seed=%d,%s)",
            "zero": "zeros(%s,%s,%.0s%s)", "bits": "bits(%s,%s,seed=%d,%s)", "below": "randint(%%s,%%s,0,%s,seed=%%d,%%s)" % "".join(limits[:1]),
            "between": "randint(%%s,%%s,%s,seed=%%d,%%s)" % ",".join(limits)}[kind]
    return form % (a["dtype"], shape, seed, strides)


def arguments(job, init=None):
    """init: what is in inputs, instead of their own kind of numbers."""
    given = [dict(a, init=init) if init and a["dtype"] == "f16" and a["role"] == "in" else a for a in job["arguments"]]
    return [generator(a, i + 1) if "shape" in a["small"] else str(a["small"]["value"]) for i, a in enumerate(given)]


def parameter(i):
    """The name that `tilevm run` gives the parameter."""
    return LETTERS[i] if i < len(LETTERS) else LETTERS[i // len(LETTERS) - 1] + LETTERS[i % len(LETTERS)]


def run(tilevm, path, job, save, init=None):
    """On the virtual machine, outputs zero before; save: an argument's name to the file for its array. Raises RuntimeError."""
    words = []
    for i, (a, word) in enumerate(zip(job["arguments"], arguments(job, init))):
        words.append(word.replace("empty(", "zeros(", 1))
        if "shape" in a["small"]:
            words += ["--save", "%s=%s" % (parameter(i), save(a["name"]))]
    done = subprocess.run([tilevm, "run", path, "--quiet", "--device", "cpu", "--grid", ",".join(map(str, job["grids"][0])), *words],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[:400])


def is_kept(job):
    arrays = [a for a in job["arguments"] if "shape" in a["small"]]
    return sum(math.prod(a["small"]["shape"]) * BYTES.get(a["dtype"], 1) for a in arrays) <= MOST_BYTES


def keep(tilevm, cases, folder, share):
    """Of every share-th kernel with small arrays, what stands in them after a run: FOLDER/NAME.npz. Gives how many."""
    with open(os.path.join(cases, "cases.json")) as f:
        jobs = json.load(f)["jobs"]
    os.makedirs(folder, exist_ok=True)
    names = [name for name, job in jobs.items() if is_kept(job)][::share]
    for name in names:
        out = os.path.join(folder, name + ".npz")
        run(tilevm, os.path.join(cases, name + ".tbc"), jobs[name], lambda array, out=out: "%s:%s" % (out, array))
    return len(names)
