#!/usr/bin/env python3
"""Compiles the kernels of tests/gpu/perf by several compilers, for tools/perf_run.py to compare on a GPU.

    perf_build.py CASES FOLDER NAME=COMPILER ... [--filter RE] [--jobs N] [--target sm_90a] [--tools FOLDER] [--missing]

CASES has cases.json and bytecode (tests/gpu/perf/cases.py). COMPILER is a `tilevm` (its PTX goes through ptxas) or NVIDIA's
`tileiras`, by the name of the program. FOLDER gets cubins, packed, and manifest.json; what other compilers left there stays, so
that a new build is one more run; with --missing, so does what it has of these compilers, as after an interruption. Prints
registers, stack (where spilled ones are), shared memory and threads of each. --tools: where ptxas and cuobjdump are, else
CUDA_HOME/bin or PATH.
"""
import argparse
import concurrent.futures
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT_S = 300   # for one kernel
MOST_BYTES = 40 << 20


class Failure(Exception):
    pass


def command(*words):
    try:
        p = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise Failure("%s takes longer than %d s" % (os.path.basename(words[0]), LIMIT_S))
    if p.returncode != 0:
        raise Failure((p.stderr.strip() or "exit code %d" % p.returncode).splitlines()[0])
    return p.stdout


class Tools:
    def __init__(self, folder, target):
        home = os.environ.get("CUDA_HOME")
        self.path = folder or (os.path.join(home, "bin") if home else None)
        self.target = target

    def __getitem__(self, name):
        found = shutil.which(name, path=self.path) or shutil.which(name)
        if not found:
            raise Failure("no %s" % name)
        return found

    def compile(self, compiler, source, cubin, made):
        """Gives the bytes of dynamic shared memory that a launch needs. made: cubins by their PTX, which builds may share."""
        if "tileiras" in os.path.basename(compiler):
            command(compiler, source, "-o", cubin, "--gpu-name", self.target.rstrip("af"))
            return 0
        ptx = cubin + ".ptx"
        command(compiler, "compile", source, "-t", self.target, "-o", ptx)
        with open(ptx) as f:
            text = f.read()
        if text in made:
            shutil.copyfile(made[text], cubin)
        else:
            command(self["ptxas"], "-arch", self.target, "-O3", ptx, "-o", cubin)
            made[text] = cubin
        shared = re.search(r"^// launch \S+ shared (\d+)", text, re.M)
        return int(shared[1]) if shared else 0

    def usage(self, cubin):
        text = command(self["cuobjdump"], "-res-usage", "-elf", cubin)
        found = {key.lower(): int(value) for key, value in re.findall(r"\b(REG|STACK|SHARED|LOCAL):(\d+)", text)}
        threads = re.search(r"EIATTR_REQNTID\n.*\n\s*Value:\s*(\w+) (\w+) (\w+)", text)
        return dict(found, threads=[int(n, 16) for n in threads.groups()] if threads else None)


def build(tools, compilers, source, folder, kernel):
    """The manifest's entries of a kernel's cubins, by compiler."""
    entries, made = {}, {}
    with tempfile.TemporaryDirectory() as place:
        for name, compiler in compilers.items():
            file, cubin = "%s.%s.cubin.xz" % (kernel["name"], name), os.path.join(place, name)
            try:
                dynamic = tools.compile(compiler, source, cubin, made)
                entries[name] = dict(tools.usage(cubin), file=file, dynamic=dynamic)
            except Failure as e:
                entries[name] = dict(failed=str(e))
                continue
            with open(cubin, "rb") as f, lzma.open(os.path.join(folder, file), "wb") as packed:
                packed.write(f.read())
    return entries


def describe(entry):
    if "failed" in entry:
        return "FAILED: " + entry["failed"]
    return "%4d registers %5d stack %7d shared, threads %s" % (entry["reg"], entry["stack"], entry["shared"] + entry["dynamic"],
                                                               entry["threads"])


def is_there(folder, entry):
    return entry is not None and ("failed" in entry or os.path.exists(os.path.join(folder, entry["file"])))


def load(path, default):
    if not os.path.exists(path):
        return default
    with open(path) as f:
        return json.load(f)


def save(manifest, path):
    with open(path + ".new", "w") as f:
        json.dump(manifest, f, indent=1)
    os.replace(path + ".new", path)


def merge(manifest, cases, chosen, names):
    """The kernels of the cases in the manifest, with the cubins that it already has; the newest compilers last."""
    manifest["jobs"].update(cases["jobs"])
    manifest["compilers"] = [n for n in manifest["compilers"] if n not in names] + names
    have = {k["name"]: k for k in manifest["kernels"]}
    for kernel in chosen:
        have[kernel["name"]] = dict(kernel, cubins=have.get(kernel["name"], {}).get("cubins", {}))
    manifest["kernels"] = list(have.values())
    return have


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("cases")
    p.add_argument("folder")
    p.add_argument("compilers", nargs="+", metavar="NAME=COMPILER")
    p.add_argument("--filter", default="", help="kernels whose name this matches")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--target", default="sm_90a")
    p.add_argument("--missing", action="store_true", help="compile only what the folder has not")
    p.add_argument("--tools", help="folder of ptxas and cuobjdump")
    return p.parse_args()


def main():
    options = parse()
    cases = load(os.path.join(options.cases, "cases.json"), None)
    path = os.path.join(options.folder, "manifest.json")
    os.makedirs(options.folder, exist_ok=True)
    manifest = load(path, dict(compilers=[], jobs={}, kernels=[]))
    chosen = [k for k in cases["kernels"] if re.search(options.filter, k["name"])]
    compilers = dict(word.split("=", 1) for word in options.compilers)
    kernels = merge(manifest, cases, chosen, list(compilers))
    tools, failed = Tools(options.tools, options.target), 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = {}
        for k in chosen:
            have = kernels[k["name"]]["cubins"]
            wanted = {name: compiler for name, compiler in compilers.items()
                      if not (options.missing and is_there(options.folder, have.get(name)))}
            source = os.path.join(options.cases, k["name"] + ".tbc")
            if wanted:
                waiting[pool.submit(build, tools, wanted, source, options.folder, k)] = k["name"]
        for done in concurrent.futures.as_completed(waiting):
            for name, entry in done.result().items():
                kernels[waiting[done]]["cubins"][name] = entry
                failed += "failed" in entry
                print("%-36s %-8s %s" % (waiting[done], name, describe(entry)), flush=True)
            save(manifest, path)
    size = sum(f.stat().st_size for f in os.scandir(options.folder))
    print("%d kernels, %d failures, %.1f MiB%s" % (len(chosen), failed, size / 2**20, ", TOO MUCH" if size > MOST_BYTES else ""))
    return failed != 0 or size > MOST_BYTES


if __name__ == "__main__":
    sys.exit(main())
