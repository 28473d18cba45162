"""Functions of JAX through XLA's Tile IR emitter and our tileiras, for a described H100 and without a GPU.

    check_jax.py TILEIRAS FOLDER [NAME...]

XLA compiles each function ahead of time; tileiras, first on PATH, keeps the modules that it is given. Each module is
verified, and the function is computed by running its modules on the virtual machine, with checks, in the order of XLA's
program; the result is compared with that of JAX on the CPU. Needs jax 0.12 with its CUDA 13 plugin, numpy, and the
package tilevm. Ends with `jax: N passed, N failed`."""

import math
import os
import re
import shutil
import sys
from pathlib import Path

LEAST = 60  # functions that must go through
HERE = Path(__file__).resolve().parent
# The last leaves softmax and its kin to the emitter instead of giving them to Triton ahead of it.
FLAGS = (
    "--xla_gpu_experimental_enable_tensor_ir=true --xla_gpu_experimental_enable_fusion_autotuner=true"
    " --xla_gpu_experimental_autotune_backends=TENSOR_IR --xla_disable_hlo_passes=triton-softmax-rewriter"
)
KEEPER = """#!/bin/sh
# Keeps the bytecode that XLA hands over in the folder that `current` names, then compiles it.
here={here}
for word; do
    case $word in *.tilebc) cp "$word" "$(cat "$here/current")/$$.tbc" ;; esac
done
{tileiras} "$@" && exit
status=$?
echo "$*" >> "$(cat "$here/current")/refused"
exit $status
"""


def skip(why):
    print(f"jax: skipped, {why}")
    sys.exit(0)


def prepare(tileiras, folder):
    """The environment that XLA sees; before jax is imported."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    keeper = folder / "bin" / "tileiras"
    keeper.write_text(KEEPER.format(here=folder, tileiras=tileiras))
    keeper.chmod(0o755)
    os.environ.update(
        PATH=f"{keeper.parent}:{os.environ['PATH']}",
        JAX_PLATFORMS="cpu",
        XLA_FLAGS=FLAGS,
        JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1",
        TF_CPP_MIN_LOG_LEVEL="3",
    )


# ---- XLA's program ----

INSTRUCTION = re.compile(r"^\s*(ROOT )?%([\w.-]+) = (\([^=]*?\)|\S+) ([\w-]+)\((.*?)\)(?:, |$)(.*)$")
ARRAY = re.compile(r"(\w+)\[([\d,]*)\](?:\{([\d,]*))?")


class NotTileIR(Exception):
    """XLA has something in the program that its Tile IR emitter did not make."""


def shapes_of(text):
    """Types, shapes and layouts in "f32[2,3]{1,0}" or a tuple of those."""
    return [(t, tuple(int(n) for n in dims.split(",") if n), layout) for t, dims, layout in ARRAY.findall(text)]


def dtypes():
    import ml_dtypes
    import numpy as np

    return {
        "f32": np.float32,
        "f16": np.float16,
        "bf16": ml_dtypes.bfloat16,
        "s32": np.int32,
        "s8": np.int8,
        "u8": np.uint8,
        "s16": np.int16,
        "u32": np.uint32,
        "pred": np.bool_,
        "f8e4m3fn": ml_dtypes.float8_e4m3fn,
        "f8e5m2": ml_dtypes.float8_e5m2,
        "s64": np.int64,
        "f64": np.float64,
    }


def empty(text):
    import numpy as np

    out = []
    for kind, shape, layout in shapes_of(text):
        if layout and layout != ",".join(str(d) for d in reversed(range(len(shape)))):
            raise NotTileIR(f"layout {layout}")
        out.append(np.zeros(shape, dtypes()[kind]))
    return out


def execute(hlo, kernels, arguments):
    """The entry of an optimised module, with the kernels that its fusions became. Gives the results, and how many ran."""
    import numpy as np

    lines = hlo[hlo.index("\nENTRY ") + 1 :].splitlines()[1:]
    values, ran = {}, 0
    for line in lines:
        if line.strip() == "}":
            break
        root, name, kind, op, operands, rest = INSTRUCTION.match(line).groups()
        given = [values[o] for o in re.findall(r"%([\w.-]+)", operands)]
        if op == "parameter":
            values[name] = [arguments[int(operands)]]
        elif op == "constant":
            text = re.sub(r"[{}]", "", operands)
            words = {"true": True, "false": False}
            array = empty(kind)[0]
            array.reshape(-1)[:] = [
                words.get(w.strip(), w.strip()) if w.strip() in words else float(w) for w in text.split(",")
            ]
            values[name] = [array]
        elif op == "bitcast":
            out = empty(kind)[0]
            values[name] = [np.ascontiguousarray(given[0][0]).view(out.dtype).reshape(out.shape)]
        elif op in ("copy", "get-tuple-element", "tuple"):
            index = re.search(r"index=(\d+)", rest)
            values[name] = (
                [a.copy() for a in given[0]]
                if op == "copy"
                else [given[0][int(index.group(1))]] if index else [a for g in given for a in g]
            )
        elif op == "fusion" and '"kind":"__tensorir"' in rest:
            called = re.search(r"calls=%([\w.-]+)", rest).group(1)
            values[name] = empty(kind)
            kernels.run(called, [a for g in given for a in g], values[name])
            ran += 1
        else:
            raise NotTileIR(f"{op}: {rest[:100]}")
        if root:
            return values[name], ran
    raise ValueError("there is no ROOT")


# ---- its kernels ----

STORE = re.compile(r"store_view_tko weak %\S+, %(\S+)\[([^\]]*)\]")
PARTITION = re.compile(
    r"%(\S+) = make_partition_view .*partition_view<tile=\(([\dx]+)\).*tensor_view<([\dx]+)x[a-z]\w*"
)


def grid_of(text):
    """Tile blocks of a launch: along each axis as many as the stored array has tiles where that axis is its index; where
    the indices are computed, the axis x counts all tiles."""
    tiles = {name: (tile, shape) for name, tile, shape in PARTITION.findall(text)}
    grid = [1, 1, 1]
    for view, indices in STORE.findall(text):
        tile, extent = ([int(n) for n in part.split("x")] for part in tiles[view])
        counts = [math.ceil(e / t) for e, t in zip(extent, tile)]
        axes = [re.fullmatch(r"%blockId_([xyz])\w*", index) for index in indices.split(", ")]
        if all(axis or count == 1 for axis, count in zip(axes, counts)):
            wanted = [(axis.group(1), count) for axis, count in zip(axes, counts) if axis]
        else:
            wanted = [("x", math.prod(counts))]
        for axis, count in wanted:
            at = "xyz".index(axis)
            grid[at] = max(grid[at], count)
    return tuple(grid)


class Kernels:
    """The modules that tileiras was given for one function."""

    def __init__(self, folder):
        import tilevm

        self._by_name, self.modules = {}, 0
        for path in sorted(folder.glob("*.tbc")):
            module = tilevm.open(str(path))
            wrong = [d for d in module.verify(target="sm_90a") if d.severity == "error"]
            if wrong:
                raise ValueError(f"{path}: {wrong[0]}")
            self.modules += 1
            for kernel in module.kernels:
                self._by_name[kernel.symbol] = kernel, grid_of(module.disassemble())

    def run(self, computation, inputs, outputs):
        from tilevm.arrays import span
        from tilevm.module import Machine, check_bits

        kernel, grid = self._by_name[re.sub(r"\W", "_", computation)]
        arrays = [*inputs, *outputs]
        machine = Machine(kernel, checks=check_bits("bounds,races,tokens,values"))
        call = kernel.bind(arrays)
        machine.run(grid, call, call.known, [span(a) for a in arrays])


# ---- the comparison ----


def compare(got, want, loose):
    import numpy as np

    by_type = {"float32": 2e-5, "float16": 3e-3, "bfloat16": 2e-2, "float64": 1e-9}
    tolerance = by_type.get(str(want.dtype), 0.13 if "float8" in str(want.dtype) else 0)
    a, b = np.asarray(got).astype(np.float64), np.asarray(want).astype(np.float64)
    if a.shape != b.shape:
        return f"shape {a.shape}, not {b.shape}"
    bound = loose * tolerance * (np.abs(b) + max(1e-2, float(np.abs(b).max(initial=0)) * 0.1))
    bad = ~((np.abs(a - b) <= bound) | (np.isnan(a) & np.isnan(b)) | (a == b))
    return (
        f"{int(bad.sum())} of {a.size} elements differ, the first {a[bad][0]!r} from {b[bad][0]!r}"
        if bad.any()
        else ""
    )


def main(tileiras, folder, names):
    prepare(Path(tileiras).resolve(), folder)
    try:
        import jax
        import numpy as np
        import tilevm  # noqa: F401
        from jax.experimental import topologies
    except ImportError as error:
        skip(f"{error.name} is not installed")
    if tuple(int(n) for n in jax.__version__.split(".")[:2]) < (0, 12):
        skip(f"jax is {jax.__version__}, and 0.12 is the first that makes Tile IR")
    try:
        topology = topologies.get_topology_desc(
            platform="cuda", topology_name="", topology="1x1x1", target_config=(HERE / "h100.txtpb").read_text()
        )
    except (NotImplementedError, RuntimeError) as error:
        skip(f"jax has no plugin for CUDA 13 ({str(error).splitlines()[0]})")
    from functions import functions

    device = jax.sharding.SingleDeviceSharding(topology.devices[0])
    passed, failed, others, modules, kernels_run = 0, 0, [], 0, 0
    for name, (function, arguments, loose) in functions().items():
        if names and name not in names:
            continue
        kept = folder / name
        kept.mkdir()
        (folder / "current").write_text(str(kept))
        inputs = [np.array(a) for a in arguments()]
        try:
            shaped = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=device) for a in inputs]
            lowered = (
                jax.jit(function, in_shardings=device, out_shardings=device)
                .trace(*shaped)
                .lower(lowering_platforms=("cuda",))
            )
            hlo = lowered.compile().as_text()
            kernels = Kernels(kept)
            got, ran = execute(hlo, kernels, inputs)
            want = jax.tree.leaves(jax.jit(function)(*inputs))
            problems = [p for g, w in zip(got, want, strict=True) if (p := compare(g, np.asarray(w), loose))]
            if not ran:
                problems.append("no kernel ran")
        except NotTileIR as error:
            others.append(f"{name} ({error})")
            continue
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            if "TensorIr" in words and not (kept / "refused").exists():  # the emitter gave up; what it made is valid
                modules += Kernels(kept).modules
                others.append(f"{name} ({words.splitlines()[0][:160]})")
                continue
            problems = [words[:800]]
        modules, kernels_run = modules + kernels.modules, kernels_run + (0 if problems else ran)
        passed, failed = passed + (not problems), failed + bool(problems)
        for problem in problems:
            print(f"{name}: {problem}")
    for other in others:
        print(f"not by Tile IR alone: {other}")
    print(f"{modules} modules, {kernels_run} kernels ran, jax {jax.__version__}")
    if not names and passed < LEAST:
        print(f"fewer than {LEAST} functions went through Tile IR")
        failed += 1
    print(f"jax: {passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]).absolute(), sys.argv[3:]))
