"""Exports a cuTile kernel with other constants, for `tilevm tune module.py:kernel`.

    python -m tilevm.cutile.variants FILE.py:KERNEL -o DIR --grid EXPRESSION --space JSON [NAME=VALUE...]

NAME=VALUE are arguments as `tilevm run` takes them; of arrays only type and shape matter. The space has lists of values
of constants, {"TM": [64, 128]}, and of hints. The grid is one to three expressions of constants, numbers and shapes:
cdiv(A.shape[0], TM), cdiv(A.shape[1], TN). DIR gets the bytecode of each variant, the space as `tilevm tune --space`
reads it, and the arguments beside the first variant.
"""

import argparse
import ast
import concurrent.futures
import dataclasses
import importlib.util
import itertools
import json
import operator
import os
import re
import sys
from typing import Any, Callable

MOST_VARIANTS = 20000
HINTS = ("occupancy", "num_ctas", "num_worker_warps", "num_cta_in_cga", "num_worker_warps_per_cta")

# element types of arguments: what NumPy has of that size, and cuTile's name
DTYPES = {"f64": ("f8", "float64"), "f32": ("f4", "float32"), "f16": ("f2", "float16"), "bf16": ("f2", "bfloat16"),
          "f8E4M3FN": ("i1", "float8_e4m3fn"), "f8E5M2": ("i1", "float8_e5m2"), "i64": ("i8", "int64"),
          "i32": ("i4", "int32"), "i16": ("i2", "int16"), "i8": ("i1", "int8"), "u64": ("u8", "uint64"),
          "u32": ("u4", "uint32"), "u16": ("u2", "uint16"), "u8": ("u1", "uint8"), "bool": ("?", "bool_"),
          "i1": ("?", "bool_")}


class Problem(Exception):
    """Something that the user has given is wrong."""


# ---- arguments ----

@dataclasses.dataclass
class Array:
    """An array argument as the grid sees it."""

    shape: tuple[int, ...]
    dtype: str


def parse_value(text: str) -> Any:
    """A number, or an array by its maker or file."""
    made = re.fullmatch(r"\s*[a-z]+\(\s*(\w+)\s*,\s*(\[[\d\s,]*\]|\d+)\s*(,.*)?\)\s*", text)
    if made and made[1] in DTYPES:
        shape = ast.literal_eval(made[2])
        return Array(tuple(shape) if isinstance(shape, list) else (shape,), made[1])
    if text.endswith(".npy"):
        import numpy
        loaded = numpy.load(text, mmap_mode="r", allow_pickle=False)
        names = {numpy.dtype(kind): name for name, (kind, _) in reversed(DTYPES.items()) if name not in ("bf16", "i1")}
        if loaded.dtype not in names:
            raise Problem(f"{text}: elements of type {loaded.dtype} are not known here")
        return Array(loaded.shape, names[loaded.dtype])
    try:
        return ast.literal_eval(text.split(":", 1)[-1])
    except (ValueError, SyntaxError):
        raise Problem(f"'{text}' is neither a number nor an array whose type and shape are written out, as in"
                      " zeros(f16,[1024,1024])") from None


# ---- the grid ----

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod}
FUNCTIONS: dict[str, Callable[..., Any]] = {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}


def evaluate(node: ast.expr, names: dict[str, Any]) -> Any:
    """Arithmetic on integers, shapes, cdiv, min and max; nothing else is run."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        value = evaluate(node.value, names)
        if isinstance(value, Array):
            return value.shape
    if isinstance(node, ast.Subscript):
        return evaluate(node.value, names)[evaluate(node.slice, names)]
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](evaluate(node.left, names), evaluate(node.right, names))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords and node.func.id in FUNCTIONS:
        return FUNCTIONS[node.func.id](*(evaluate(arg, names) for arg in node.args))
    raise Problem(f"--grid: '{ast.unparse(node)}' is not known; there are constants, numbers, A.shape[0], + - * // %,"
                  " cdiv, min and max")


def grid_of(text: str, names: dict[str, Any]) -> list[int]:
    try:
        node = ast.parse(f"({text},)", mode="eval").body
        assert isinstance(node, ast.Tuple)
        grid = [evaluate(item, names) for item in node.elts]
    except (SyntaxError, TypeError, IndexError, ZeroDivisionError, RecursionError, ValueError) as error:
        raise Problem(f"--grid {text}: {error}") from None
    if not 1 <= len(grid) <= 3 or not all(isinstance(n, int) and 1 <= n < 1 << 24 for n in grid):
        raise Problem(f"--grid {text}: gives {grid}, not one to three numbers from 1 on")
    return grid


# ---- the space ----

def read_space(text: str) -> dict[str, list[Any]]:
    """JSON, or a file of it."""
    if not text.lstrip().startswith("{"):
        with open(text, encoding="utf-8") as file:
            text = file.read(4 << 20)
    try:
        space = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Problem(f"--space: not JSON: {error}") from None
    hints = space.pop("hints", {}) if isinstance(space, dict) else None
    if not isinstance(space, dict) or not isinstance(hints, dict):
        raise Problem("--space: an object, {\"TM\": [64, 128]}")
    space.update(hints)
    product = 1
    for name, values in space.items():
        if not isinstance(values, list) or not values or any(isinstance(v, (list, dict)) for v in values):
            raise Problem(f"--space: {name}: a list of values")
        product *= len(values)
        if product > MOST_VARIANTS:
            raise Problem(f"--space: more than {MOST_VARIANTS} variants")
    return space


# ---- exporting ----

def load_kernel(place: str) -> Any:
    path, _, name = place.rpartition(":")
    spec = importlib.util.spec_from_file_location("tuned", path)
    if spec is None or spec.loader is None:
        raise Problem(f"{path} is no Python file")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    module = importlib.util.module_from_spec(spec)
    sys.modules["tuned"] = module
    spec.loader.exec_module(module)
    kernel = getattr(module, name, None)
    if not hasattr(kernel, "_annotated_function"):
        raise Problem(f"{path} has no kernel {name}")
    return kernel


def parameters_of(kernel: Any) -> list[str]:
    import inspect
    return list(inspect.signature(kernel._annotated_function.pyfunc).parameters)


def signature_of(kernel: Any, values: list[Any]) -> Any:
    """What the client would compile for such arguments. Types that NumPy lacks are put in afterwards."""
    import cuda.tile
    import numpy
    from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature
    args = [numpy.empty(v.shape, DTYPES[v.dtype][0]) if isinstance(v, Array) else v for v in values]
    plain = KernelSignature.from_kernel_args(kernel, args, CallingConvention.cutile_python_v1())
    constraints = list(plain.parameters)
    for i, value in enumerate(values):
        if isinstance(value, Array) and isinstance(constraints[i], ArrayConstraint):
            fields = {f.name: getattr(constraints[i], f.name) for f in dataclasses.fields(ArrayConstraint)}
            constraints[i] = ArrayConstraint(**{**fields, "dtype": getattr(cuda.tile, DTYPES[value.dtype][1])})
    signature = KernelSignature(constraints, plain.calling_convention)
    return signature.with_mangled_symbol(kernel._annotated_function.pyfunc.__name__)


_kernel: Any = None


def start(place: str) -> None:
    """In each process that exports."""
    global _kernel
    import tilevm.cutile
    tilevm.cutile.enable()
    _kernel = load_kernel(place)


def export(job: "tuple[list[Any], str, str]") -> str:
    """Gives what is wrong; "": nothing."""
    from cuda.tile.compilation import export_kernel
    values, path, arch = job
    try:
        export_kernel(_kernel, [signature_of(_kernel, values)], path, gpu_code=arch, output_format="tileir_bytecode")
    except Exception as error:  # of the client, or of the kernel's own code
        return f"{type(error).__name__}: {error}"
    return ""


def run(given: argparse.Namespace) -> None:
    space = read_space(given.space)
    start(given.kernel)
    names = parameters_of(_kernel)
    texts = dict(pair.split("=", 1) for pair in given.arguments if "=" in pair)
    arguments = {name: parse_value(text) for name, text in texts.items()}
    hints = {name: values for name, values in space.items() if name in HINTS and name not in names}
    axes = {name: values for name, values in space.items() if name not in hints}
    for name in [*axes, *arguments]:
        if name not in names:
            raise Problem(f"the kernel has no parameter {name}; there are {', '.join(names)}")
    for name in names:
        if name not in axes and name not in arguments:
            raise Problem(f"no value for the parameter {name}: give {name}=VALUE, or a list in the space")
    variants, jobs = [], []
    for i, choice in enumerate(itertools.product(*axes.values())):
        config = {**arguments, **dict(zip(axes, choice))}
        file = f"{i:05}.tbc"
        variants.append({"file": file, "grid": grid_of(given.grid, config),
                         "name": ", ".join(f"{name}={value}" for name, value in zip(axes, choice)) or "as it is"})
        jobs.append(([config[name] for name in names], os.path.join(given.output, file), given.arch))
    workers = min(given.jobs or os.cpu_count() or 1, len(jobs))
    if workers > 1:
        with concurrent.futures.ProcessPoolExecutor(workers, initializer=start, initargs=(given.kernel,)) as pool:
            problems = list(pool.map(export, jobs, chunksize=max(1, len(jobs) // (8 * workers))))
    else:
        problems = [export(job) for job in jobs]
    write(given.output, variants, problems, hints,
          {name: texts[name] for name in names if name in texts and not is_constant(_kernel, name)})


def is_constant(kernel: Any, name: str) -> bool:
    import inspect
    annotation = inspect.signature(kernel._annotated_function.pyfunc).parameters[name].annotation
    return "Constant" in str(annotation)


def write(folder: str, variants: list[dict[str, Any]], problems: list[str], hints: dict[str, Any],
          texts: dict[str, str]) -> None:
    good = [variant for variant, problem in zip(variants, problems) if not problem]
    for variant, problem in zip(variants, problems):
        if problem:
            print(f"not exported: {variant['name']}: {problem}", file=sys.stderr)
    if not good:
        raise Problem("no variant could be exported")
    with open(os.path.join(folder, "space.json"), "w", encoding="utf-8") as file:
        json.dump({"variants": good, "hints": hints}, file)
    values = {name: os.path.abspath(text) if os.path.exists(text) else text for name, text in texts.items()}
    first = os.path.join(folder, str(good[0]["file"]))
    with open(first[:-len("tbc")] + "args.json", "w", encoding="utf-8") as file:
        json.dump({"grid": good[0]["grid"], "names": list(values), "args": values}, file)
    print(os.path.basename(first))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tilevm.cutile.variants", description=__doc__.split("\n")[0])
    parser.add_argument("kernel", metavar="FILE.py:KERNEL")
    parser.add_argument("arguments", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="an empty folder")
    parser.add_argument("--grid", required=True, metavar="EXPRESSION")
    parser.add_argument("--space", required=True, metavar="JSON|FILE")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--jobs", type=int, default=0, metavar="N")
    try:
        run(parser.parse_intermixed_args())
    except (Problem, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
