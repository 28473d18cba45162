"""Where cuTile Python is told of the virtual machine: the driver it opens, the compiler it runs, and launch, so that
NumPy arrays may be given and errors are ours. Nothing else of it is touched."""

import ast
import functools
import importlib
import linecache
import os
import sys
import weakref
from typing import Any, Callable

from tilevm import dlpack
from tilevm._abi import lib
from tilevm.arrays import check_torch_memory, from_interface, is_torch
from tilevm.cutile import _driver
from tilevm.cutile._capture import Capture, Launch
from tilevm.diagnostics import Diagnostic, Error, UsageError
from tilevm.module import Module


class KernelError(Error, RuntimeError):
    """A kernel could not be run to its end, or checks found something. diagnostics has it as objects."""


# ---- the compiler: bytecode is checked, and taken as it is ----

class Compiler:
    """As much of the client's _CompilerBinary as it uses: run() makes an image for the driver of the virtual machine."""

    path = "tilevm"

    def run(self, args: list[str], flags: list[str], timeout_sec: float | None = None) -> None:
        source, target = args[0], args[args.index("-o") + 1]
        with open(source, "rb") as file:
            bytecode = file.read()
        self._check(bytecode, flags)
        with open(target + ".tmp", "wb") as file:
            file.write(_driver.image_of(bytecode))
        os.replace(target + ".tmp", target)

    def _check(self, bytecode: bytes, flags: list[str]) -> None:
        from cuda.tile._exception import Loc, TileCompilerExecutionError
        target = flags[flags.index("--gpu-name") + 1] if "--gpu-name" in flags else None
        try:
            errors = [d for d in Module.open(bytecode).verify(target=target, reference=True) if d.severity == "error"]
        except Error as error:
            errors = error.diagnostics
        if errors:
            first: Diagnostic = errors[0]
            place = Loc(first.line, first.column, first.file) if first.file else Loc.unknown()
            raise TileCompilerExecutionError(3, "\n".join(map(str, errors)), place, " ".join(flags), version_text())


def version_text() -> str:
    """Part of the key of the client's disk cache."""
    return f"tilevm {lib.tv_version().decode()}, build {lib.tv_build_id().decode()}, images of the virtual machine\n"


# ---- arrays: NumPy's, and torch's of the CPU, as arrays of a device ----

def _as_device(arg: Any, array_type: Any) -> Any:
    """A kernel's argument with the NumPy arrays in it described. Raises UsageError for arrays without memory."""
    if isinstance(arg, array_type):
        return _lent(arg)
    if type(arg) in (tuple, list):
        return type(arg)(_as_device(item, array_type) for item in arg)
    if is_torch(arg):
        check_torch_memory(arg)
    elif hasattr(arg, "__cuda_array_interface__"):
        from_interface(arg, arg.__cuda_array_interface__)
    return arg


def _lent(array: Any) -> dlpack.Lent:
    described, launching = dlpack.Lent(array), _driver.launching
    if launching.arrays is not None:
        launching.arrays.append(array)
    if described.read_only:
        launching.read_only.add(described.address)
    return described


def device_capsule(to_dlpack: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """torch._C._to_dlpack, but to the client a tensor is said to be on the device."""

    @functools.wraps(to_dlpack)
    def wrapped(tensor: Any) -> Any:
        capsule, arrays = to_dlpack(tensor), _driver.launching.arrays
        if arrays is not None:
            dlpack.tensor_of(capsule).device_type = dlpack.CUDA
            arrays.append(tensor)
        return capsule

    return wrapped


# ---- launch ----

# functions of the client that take a kernel's arguments: which of their own arguments those are
_TAKE_ARRAYS = {"launch": 3, "launch_extended": 4, "_benchmark": 3, "_export_ipc_benchmark_payload": 3,
                "get_parameter_constraints_from_pyargs": 1}


#: where launches are written to; None: nowhere
capture: "Capture | None" = None


def _captured(name: str, args: tuple[Any, ...], place: int) -> "Launch | None":
    takes = capture is not None and name.startswith("launch") and len(args) > place and isinstance(args[place], tuple)
    return capture.before(args[place]) if capture is not None and takes else None


def _wrap(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    """The function, for NumPy arrays as well, and with our errors."""

    @functools.wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        __tracebackhide__ = True  # of pytest
        launching, launch = _driver.launching, _captured(function.__name__, args, place)
        before, launching.read_only, launching.arrays = (launching.read_only, launching.arrays), set(), []
        launching.ran = None
        try:
            return function(*_described(args, place), **options)
        except RuntimeError:
            error = _driver.take_error()
            if error is None:
                raise
            if isinstance(error, Error):
                error = _at_kernel(KernelError(str(error), error.diagnostics))
            raise error from None
        finally:
            launching.read_only, launching.arrays = before
            if launch is not None:
                launch.after()

    return wrapped


def _at_kernel(error: KernelError) -> KernelError:
    """The error with a traceback that ends at the kernel's line, as if it had been raised there."""
    place = next((d for d in error.diagnostics if d.file and d.line), None)
    if place is None or not place.line or place.line >= 1 << 24:
        return error
    text, column = linecache.getline(place.file, place.line).rstrip(), place.column or 0
    tree = ast.parse("raise error")
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.lineno = node.end_lineno = place.line
            node.col_offset, node.end_col_offset = (column, len(text)) if column < len(text) else (0, 0)
    code = compile(tree, place.file, "exec")
    name = _driver.kernel_names.get(place.function, place.function) or "kernel"
    try:
        exec(code.replace(co_name=name), {"error": error})
    except KernelError as raised:
        here = raised.__traceback__
        return raised.with_traceback(here.tb_next if here is not None else None)
    return error


def _described(args: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    """The arguments of such a function with those of the kernel described."""
    if len(args) <= place or not isinstance(args[place], tuple):
        return args
    array_type = getattr(sys.modules.get("numpy"), "ndarray", ())
    described = []
    for i, arg in enumerate(args[place]):
        try:
            described.append(_as_device(arg, array_type))
        except (UsageError, TypeError) as error:
            raise type(error)(f"{_argument_name(args[place - 1], i)}: {error}") from None
    return *args[:place], tuple(described), *args[place + 1:]


def _argument_name(kernel: Any, i: int) -> str:
    """The i-th argument, as its kernel calls it."""
    function: Any = getattr(kernel, "_annotated_function", None)
    names = list(function.pysig.parameters) if function else []
    return f"argument '{names[i]}' of {function.pyfunc.__name__}" if i < len(names) else f"argument {i + 1}"


def _remember_kernel(compile_kernel: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(compile_kernel)
    def wrapped(self: Any, *args: Any, **options: Any) -> Any:
        result = compile_kernel(self, *args, **options)
        _driver.check_image(result[0])
        _driver.launching.owner = weakref.ref(self)
        _driver.parameter_names[result[1]] = tuple(self._annotated_function.pysig.parameters)
        _driver.kernel_names[result[1]] = self._annotated_function.pyfunc.__name__
        return result

    return wrapped


# ---- autotuners ----

#: "first" or "all": how the client's search goes through its configurations; "": as on a GPU
tune = ""


def _tuning(search: Callable[..., Any]) -> Callable[..., Any]:
    """exhaustive_search without measurements, which say nothing here: the first configuration that runs is taken. With
    "all" the others run once, too, so that checks see them."""

    @functools.wraps(search)
    def wrapped(search_space: Any, stream: Any, grid_fn: Any, kernel: Any, args_fn: Any, hints_fn: Any = None,
                **options: Any) -> Any:
        if not tune:
            return search(search_space, stream, grid_fn, kernel, args_fn, hints_fn, **options)
        import cuda.tile as tile
        module: Any = sys.modules[search.__module__]
        successes, failures = [], []
        for config in search_space:
            base = kernel if isinstance(kernel, tile.kernel) else kernel(config)
            try:
                chosen = base.replace_hints(**(hints_fn(config) if hints_fn is not None else {}))
                tile.launch(stream, grid_fn(config), chosen, args_fn(config))
            except KernelError:
                raise  # the kernel is wrong, not the configuration
            except Exception as error:
                failures.append((config, type(error), str(error)))
                continue
            successes.append(module.Measurement(config=config, mean_us=0.0, num_samples=1, error_margin_us=0.0))
            if tune == "first":
                break
        if not successes:
            words = f" The first error: {failures[0][1].__name__}: {failures[0][2]}" if failures else ""
            raise ValueError(f"no configuration of the search space runs.{words}")
        return module.TuningResult(best=successes[0], successes=successes, failures=failures)

    return wrapped


def install() -> None:
    """Call it before anything imports names from cuda.tile."""
    _driver.install()
    try:
        tile: Any = importlib.import_module("cuda.tile")
    except ImportError as error:
        raise Error(f"cuTile Python cannot be imported ({error}): pip install cuda-tile") from error
    from cuda.tile import _cext, _compile
    compiler = Compiler()
    _compile._find_compiler_bin = lambda: compiler
    _compile._get_compiler_version_string = version_text
    _compile._try_get_compiler_version = lambda _path: version_text()
    tile.kernel._compile = _remember_kernel(tile.kernel._compile)
    for name, place in _TAKE_ARRAYS.items():
        original = getattr(_cext, name, None)
        if original is not None:
            _replace(original, _wrap(original, place))
    search = getattr(importlib.import_module("cuda.tile.tune"), "exhaustive_search", None)
    if search is not None:
        _replace(search, _tuning(search))


def _replace(original: Any, replacement: Any) -> None:
    """In every module of the client that has imported it."""
    name = original.__name__
    for path, module in list(sys.modules.items()):
        if path.startswith("cuda.tile") and getattr(module, name, None) is original:
            setattr(module, name, replacement)
