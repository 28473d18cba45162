"""The kernels of functions of JAX, for tests/jax/time_kernels.py to time on a machine that has torch, but no JAX.

    collect_kernels.py FOLDER NAME=TILEIRAS ... [--functions RE] [--sizes large,small] [--jobs N]

XLA compiles each function for a described H100, without a GPU, by its own emitters and through Tile IR. For Tile IR it hands
over one module for each tile that its autotuner would measure; each tileiras compiles them all, so that each compiler can be
given the tile that suits it, as the autotuner does. FOLDER gets cubins, packed, and plan.json, which says what each function
launches. Products are those of cuBLAS for XLA's own emitters; time_kernels.py calls them through torch. Needs jax 0.12 with its
CUDA 13 plugin, numpy, the package tilevm, and ptxas on PATH.
"""

import argparse
import concurrent.futures
import hashlib
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from check_jax import ARRAY, FLAGS, HERE, INSTRUCTION, grid_of

# Arrays that DRAM holds, and arrays that L2 holds: of f32, 64 MiB and 8 MiB each.
SIZES = {
    "large": {"rows": 8192, "columns": 2048, "side": 4096, "depth": 4096},
    "small": {"rows": 1024, "columns": 2048, "side": 2048, "depth": 2048},
}
OWN = "xla"
LIMIT_S = 60  # for one module
# Keeps the bytecode; compiles the first module and gives back its cubin for all, since the program is never run.
KEEPER = """#!/bin/sh
for word; do
    case $word in
    --version | --list-versions) exec {tileiras} "$@" ;;
    --output-file=*) output=${{word#*=}} ;;
    *.tilebc) module=$word ;;
    esac
done
cp "$module" "$(cat {current})/$$.tbc"
[ -f {cubin} ] || {{ {tileiras} --gpu-name=sm_90 --output-file={cubin}.$$ "$module" && mv {cubin}.$$ {cubin}; }}
cp {cubin} "$output"
"""
THUNK = re.compile(r"\d+: (\w+) \[[^\]]*\] (\S*)(?: grid: \[(.*?)\] threads: \[(.*?)\]\s+shared_memory: (\d+))?")
LAUNCHED = ("fusion", "copy", "custom-call")


# ---- XLA, in a process for each emitter, since it reads its flags once ----


def environment(options, emitter, folder, current):
    flags = f"--xla_dump_to={folder}/dump --xla_dump_hlo_as_text"
    words = dict(os.environ, JAX_PLATFORMS="cpu", JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1", TF_CPP_MIN_LOG_LEVEL="3")
    if emitter == OWN:
        flags += " --xla_gpu_dump_llvmir=true --xla_dump_emitter_re=.* --xla_gpu_enable_triton_gemm=false"
    else:
        tileiras, keeper = Path(list(options.compilers.values())[-1]).resolve(), folder / "bin" / "tileiras"
        keeper.parent.mkdir(exist_ok=True)
        keeper.write_text(KEEPER.format(tileiras=tileiras, cubin=folder / "any.cubin", current=current))
        keeper.chmod(0o755)
        words["PATH"] = f"{keeper.parent}:{words['PATH']}"
        flags += f" {FLAGS} --xla_compile_all_supported_configs=true"
    words["XLA_FLAGS"] = flags
    return words


def worker(options):
    """Compiles the functions in this process. Leaves, for each, XLA's program, its launches, and its modules or PTX."""
    import jax
    from functions import EXACT, functions
    from jax.experimental import topologies

    size, folder = options.worker.split("/")[0], Path(options.folder) / options.worker
    topology = topologies.get_topology_desc(
        platform="cuda", topology_name="", topology="1x1x1", target_config=(HERE / "h100.txtpb").read_text()
    )
    device = jax.sharding.SingleDeviceSharding(topology.devices[0])
    for name, (function, arguments, _) in functions(**SIZES[size], f32_product=EXACT).items():
        if not re.search(options.functions, name):
            continue
        place = folder / name
        place.mkdir(exist_ok=True)
        (folder / "current").write_text(str(place))
        shaped = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=device) for a in arguments()]
        try:
            traced = jax.jit(function, in_shardings=device, out_shardings=device).trace(*shaped)
            (place / "hlo").write_text(traced.lower(lowering_platforms=("cuda",)).compile().as_text())
        except jax.errors.JaxRuntimeError as error:
            (place / "failed").write_text(str(error))
        for path in (folder / "dump").iterdir():
            if path.name.endswith((".thunk_sequence.txt", ".ptx")):
                path.rename(place / path.name.split(".", 2)[2])
            else:
                path.unlink()


def collect(options, size, emitter):
    folder = Path(options.folder) / size / emitter
    (folder / "dump").mkdir(parents=True, exist_ok=True)
    with open(folder / "log", "w") as log:
        subprocess.run(
            [sys.executable, __file__, *sys.argv[1:], "--worker", f"{size}/{emitter}"],
            env=environment(options, emitter, folder, folder / "current"),
            stderr=log,
            check=True,
        )


# ---- what a function launches ----


def thunks(text):
    """Kind, kernel, grid, threads and shared memory of what XLA launches. What it repeats as a graph is left out."""
    for line in text.splitlines():
        if line.startswith(" ") or "kCommandBuffer" in line:
            continue
        kind, kernel, grid, threads, shared = THUNK.match(line).groups()
        numbers = [[int(n) for n in part.split(",")] if part else None for part in (grid, threads)]
        yield {"thunk": kind, "kernel": kernel, "grid": numbers[0], "threads": numbers[1], "shared": int(shared or 0)}


def program(folder):
    """The buffers of a compiled function, and its steps with the buffers that each takes. right_by_rows: the right operand
    of a product has K along its rows. exact: the program asks for a product of f32 without tf32."""
    hlo, buffers, values, steps, parameters = (folder / "hlo").read_text(), [], {}, [], {}

    def add(kind):
        found = [(t, [int(n) for n in dims.split(",") if n]) for t, dims, _ in ARRAY.findall(kind)]
        buffers.extend(found)
        return list(range(len(buffers) - len(found), len(buffers)))

    for line in hlo[hlo.index("\nENTRY ") + 1 :].splitlines()[1:]:
        if line.strip() == "}":
            break
        _, name, kind, op, operands, rest = INSTRUCTION.match(line).groups()
        given = [] if op in ("parameter", "constant") else [values[o] for o in re.findall(r"%([\w.-]+)", operands)]
        flat = [v for g in given for v in g]
        if op in LAUNCHED:
            values[name] = add(kind)
            called = re.search(r"calls=%([\w.-]+)", rest)
            step = {"called": re.sub(r"\W", "_", called.group(1)) if called else op, "buffers": flat + values[name]}
            step["by_tile_ir"] = '"kind":"__tensorir"' in rest
            step["exact"] = '"algorithm":"ALG_DOT_F32_F32_F32"' in rest
            if along := re.search(r'"rhs_contracting_dimensions":\["(\d+)"\]', rest):
                step["right_by_rows"] = int(along.group(1)) == len(buffers[flat[1]][1]) - 1
            steps.append(step)
        elif op == "get-tuple-element":
            values[name] = [flat[int(re.search(r"index=(\d+)", rest).group(1))]]
        else:
            values[name] = flat if op in ("bitcast", "tuple") else add(kind)
            if op == "parameter":
                parameters[int(operands)] = values[name][0]
        last = name
    for step, thunk in zip(steps, thunks((folder / "thunk_sequence.txt").read_text()), strict=True):
        step.update(thunk)
    order = [parameters[i] for i in sorted(parameters)]
    return {"buffers": buffers, "parameters": order, "results": values[last], "steps": steps}


def keep(options, data, suffix):
    """The name of a module or PTX, by its contents."""
    path = Path(options.folder) / "modules" / (hashlib.sha256(data).hexdigest()[:16] + suffix)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path.name


def candidates(options, folder):
    """By kernel: the modules that XLA hands over for it, one for each tile."""
    import tilevm

    found = {}
    for path in sorted(folder.glob("*.tbc")):
        module = tilevm.open(str(path))
        text = module.disassemble()
        tiles = " ".join(dict.fromkeys(re.findall(r"partition_view<tile=\(([\dx]+)\)", text)))
        one = {"module": keep(options, path.read_bytes(), ".tbc"), "grid": grid_of(text), "tiles": tiles}
        found.setdefault(module.kernels[0].symbol, {})[tiles, one["grid"]] = one
    return {kernel: list(by_tile.values()) for kernel, by_tile in found.items()}


def plan_of(options, size, name):
    """What a function launches by XLA's own emitters and through Tile IR. None: XLA does not express it in Tile IR alone."""
    own, tile_ir = (Path(options.folder) / size / emitter / name for emitter in (OWN, "tile_ir"))
    if not (tile_ir / "hlo").exists():
        return None
    plans = {OWN: program(own), "tile_ir": program(tile_ir)}
    texts = [path.read_bytes() for path in own.glob("*.ptx")]
    for step in plans[OWN]["steps"]:
        if step["thunk"] != "kCustomKernel":
            continue
        name = step["kernel"].encode()
        text = next(t for t in texts if b".entry %s(" % name in t)
        step["module"] = keep(options, text, ".ptx")
        # A result that is written over an operand has a parameter that the kernel does not read.
        step["in_place"] = b"[%s_param_%d]" % (name, len(step["buffers"]) - 1) not in text
    by_kernel = candidates(options, tile_ir)
    for step in plans["tile_ir"]["steps"]:
        if not step["by_tile_ir"] or step["called"] not in by_kernel:
            return None
        step["candidates"] = by_kernel[step["called"]]
    return plans


# ---- cubins ----


def compile_one(folder, label, compiler, name):
    """Gives what went wrong, or None."""
    packed = folder / "cubins" / label / (name + ".xz")
    if packed.exists():
        return None
    packed.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile() as cubin:
        words = ["ptxas", "-arch", "sm_90a", "-o"] if label == OWN else [compiler, "--gpu-name=sm_90", "-o"]
        try:
            words += [cubin.name, folder / "modules" / name]
            done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return f"{label} {name}: more than {LIMIT_S} s"
        if done.returncode:
            return f"{label} {name}: {done.stderr.strip().splitlines()[:1]}"
        packed.write_bytes(lzma.compress(Path(cubin.name).read_bytes()))
    return None


def compile_all(options, plan):
    functions = [f for by_name in plan.values() for f in by_name.values()]
    wanted = {(OWN, "", s["module"]) for f in functions for s in f[OWN]["steps"] if "module" in s}
    for label, compiler in options.compilers.items():
        wanted |= {(label, compiler, c["module"]) for f in functions for s in f["tile_ir"]["steps"] for c in s["candidates"]}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for problem in pool.map(lambda one: compile_one(Path(options.folder), *one), sorted(wanted)):
            if problem:
                print(problem, flush=True)
    print(f"{len(wanted)} cubins")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder")
    p.add_argument("compilers", nargs="+", metavar="NAME=TILEIRAS")
    p.add_argument("--functions", default="", help="those whose name this matches")
    p.add_argument("--sizes", default=",".join(SIZES))
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--worker", help=argparse.SUPPRESS)
    options = p.parse_args()
    options.folder = os.path.abspath(options.folder)
    options.compilers = dict(word.split("=", 1) for word in options.compilers)
    if options.worker:
        return worker(options)
    plan = {}
    for size in options.sizes.split(","):
        for emitter in (OWN, "tile_ir"):
            collect(options, size, emitter)
        names = sorted(path.parent.name for path in (Path(options.folder) / size / OWN).glob("*/hlo"))
        plans = {name: plan_of(options, size, name) for name in names}
        plan[size] = {name: found for name, found in plans.items() if found}
        print(f"{size}: {len(plan[size])} of {len(plans)} functions by Tile IR alone", flush=True)
    (Path(options.folder) / "plan.json").write_text(json.dumps({"compilers": list(options.compilers), "sizes": plan}))
    compile_all(options, plan)


if __name__ == "__main__":
    sys.exit(main())
