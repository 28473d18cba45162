#!/usr/bin/env python3
"""Compares which files tilevm and NVIDIA's tileiras accept: the corpus and mutants of it.

Needs the reference tools (pip install nvidia-cuda-tileiras nvidia-cuda-nvcc nvidia-nvvm into one environment) and, in
TILEIR_TOOLS, the folder that holds their bin/ (…/site-packages/nvidia/cu13). Without them it says so and exits 0.

    make tests corpus
    TILEIR_TOOLS=… tools/agree_reference.py --mutants 2000 build/corpus/bytecode

tileiras: exit 0 and 5 (verified, but not compilable for the target) count as accepted, 3 as rejected; anything else is a
crash of the reference and is counted apart. Every disagreement must match a line of tools/agree_known.txt (a rule id or
a word of the reference's message, then the reason), or the exit status is 1."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"


def reference_verdict(tools, path, target):
    """('accept' | 'reject' | 'crash', first line of the message)"""
    env = dict(os.environ, CUDA_HOME=str(tools))
    try:
        done = subprocess.run([tools / "bin" / "tileiras", f"--gpu-name={target}", "-O0", "-o", "/dev/null", path],
                              env=env, capture_output=True, text=True, errors="replace", timeout=60)
    except subprocess.TimeoutExpired:
        return "crash", "timeout"
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    message = next((line for line in lines if "error" in line), lines[0] if lines else "")
    verdict = {0: "accept", 5: "accept", 3: "reject"}.get(done.returncode, "crash")
    return verdict, message


def our_verdicts(paths):
    """path -> ('accept' | 'reject', rule id, message)"""
    verdicts = {}
    for start in range(0, len(paths), 500):
        part = paths[start:start + 500]
        done = subprocess.run([BUILD / "tilevm", "verify", "--format", "json", *part], capture_output=True, text=True,
                              errors="replace")
        if done.returncode not in (0, 1):
            sys.exit(f"tilevm verify: exit {done.returncode}: {done.stderr[:400]}")
        for entry in json.loads(done.stdout)["files"]:
            errors = [d for d in entry["diagnostics"] if d["severity"] == "error"]
            verdicts[entry["path"]] = (("reject", errors[0]["rule"], errors[0]["message"]) if errors
                                       else ("accept", "", ""))
    return verdicts


def make_mutants(files, count, seed, folder):
    rng = random.Random(seed)
    made = 0
    while made < count:
        part = min(10, count - made)
        subprocess.run([BUILD / "mutate", rng.choice(files), str(rng.randrange(1 << 40)), str(part), folder], check=True)
        made = len(os.listdir(folder))
    return sorted(os.path.join(folder, name) for name in os.listdir(folder))


def known_reasons():
    lines = (ROOT / "tools" / "agree_known.txt").read_text().splitlines()
    return [line.split("\t", 1) for line in lines if line.strip() and not line.startswith("#")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="folder with 13.1 ... 13.5 of bytecode files")
    parser.add_argument("--mutants", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", default="sm_100")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-corpus", action="store_true", help="mutants only")
    parser.add_argument("--keep", help="folder for the files that the two disagree about")
    options = parser.parse_args()
    tools = pathlib.Path(os.environ.get("TILEIR_TOOLS", "/nonexistent"))
    if not (tools / "bin" / "tileiras").exists():
        print("skipped: set TILEIR_TOOLS to the folder of NVIDIA's tools to compare with them")
        return 0
    files = sorted(str(p) for p in pathlib.Path(options.corpus).rglob("*.tbc"))
    small = [f for f in files if os.path.getsize(f) < 3000 and "perf_" not in f]
    with tempfile.TemporaryDirectory() as folder:
        paths = ([] if options.no_corpus else files) + make_mutants(small, options.mutants, options.seed, folder)
        ours = our_verdicts(paths)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            theirs = dict(zip(paths, pool.map(lambda p: reference_verdict(tools, p, options.target), paths)))
        reasons = known_reasons()
        agree = crashes = explained = 0
        unexplained = []
        for path in paths:
            verdict, message = theirs[path]
            mine, rule, text = ours[path]
            if verdict == "crash":
                crashes += 1
                continue
            if verdict == mine:
                agree += 1
                continue
            line = f"{mine} {rule or '-'} | {text} | reference {verdict}: {message}"
            if any(key in line for key, _ in reasons):
                explained += 1
                continue
            unexplained.append(f"{os.path.basename(path)}: {line}")
            if options.keep:
                os.makedirs(options.keep, exist_ok=True)
                pathlib.Path(options.keep, os.path.basename(path)).write_bytes(pathlib.Path(path).read_bytes())
    print("\n".join(unexplained))
    print(f"{len(paths)} files: {agree} verdicts agree, {explained} differ for a known reason, {len(unexplained)} differ, "
          f"the reference crashed on {crashes}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
