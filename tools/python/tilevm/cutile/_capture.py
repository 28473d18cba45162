"""--tile-capture: each launch as files, with a command that does it again: DIR/0001-vadd/k.tbc, its arguments as .npy, what
the arrays hold afterwards, and run.sh."""

import itertools
import json
import os
import re
import stat
from pathlib import Path
from typing import Any, Iterator

from tilevm.arrays import host_array, is_torch, span
from tilevm.cutile import _driver
from tilevm.diagnostics import UsageError

_MOST = 10000  # launches

_RUN = """#!/bin/sh
# Does a launch of {name} again: run.sh [run|check|test|reduce|gpu] [OPTIONS]
#   run     on the CPU, and lists the arrays          check   looks for races and other mistakes
#   test    compares with what the launch gave        reduce  makes the module small while `check` still finds something
#   gpu     on a GPU and on the CPU, and names the first operation whose result differs
set -eu
cd "$(dirname "$0")"
what=${{1:-run}}
[ $# -eq 0 ] || shift
case $what in
run) exec tilevm run k.tbc --device cpu "$@" ;;
check) exec tilevm check k.tbc "$@" ;;
test) exec tilevm test k.args.json --device cpu "$@" ;;
reduce) exec tilevm reduce k.tbc --test 'tilevm check --quiet --args k.args.json {{}}' -o small.tbc "$@" ;;
gpu) exec tilevm run k.tbc --against cpu "$@" ;;
*) echo "run.sh: run, check, test, reduce or gpu?" >&2; exit 2 ;;
esac
"""


class Capture:
    """The folder that launches are written to."""

    def __init__(self, folder: str):
        self._folder = Path(folder)
        self._numbers = itertools.count(1)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make the folder {folder!r}: {error.strerror}") from None

    def before(self, args: tuple[Any, ...]) -> "Launch | None":
        number = next(self._numbers)
        return Launch(self._folder, number, args) if number <= _MOST else None


class Launch:
    """One launch: the arguments are copied before it, the results when it has ended."""

    def __init__(self, folder: Path, number: int, args: tuple[Any, ...]):
        self._folder, self._number, self._args = folder, number, args
        self._before = [_copies(arg) for arg in args]

    def after(self) -> None:
        if _driver.launching.ran is None:
            return
        kernel, grid = _driver.launching.ran
        name = _driver.kernel_names.get(kernel.symbol, kernel.name)
        folder = self._folder / f"{self._number:04}-{re.sub('[^A-Za-z0-9_.-]', '_', name)[:60]}"
        folder.mkdir(exist_ok=True)
        given: dict[str, Any] = {}
        expected: dict[str, str] = {}
        names = _driver.parameter_names.get(kernel.symbol, ())
        written = _Writer(folder, given, expected, self._args)
        for parameter, path, arg, before in zip(kernel.parameters, names, self._args, self._before):
            if parameter.kind != "constant":
                written.add(path, parameter, arg, before)
        said = {"entry": kernel.symbol, "grid": list(grid), "names": list(names[:len(kernel.parameters)]), "args": given,
                "expect": expected}
        _write(folder / "k.tbc", kernel.module.data or kernel.module.write())
        _write(folder / "k.args.json", (json.dumps(said, indent=1) + "\n").encode())
        _write(folder / "run.sh", _RUN.format(name=name).encode(), executable=True)


def _write(path: Path, data: bytes, executable: bool = False) -> None:
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(data)
    if executable:
        temporary.chmod(temporary.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    os.replace(temporary, path)


def _is_array(arg: Any) -> bool:
    return is_torch(arg) or hasattr(arg, "__array_interface__")


def _arrays(arg: Any) -> Iterator[Any]:
    if _is_array(arg):
        yield arg
    elif isinstance(arg, (list, tuple)):
        for item in arg:
            yield from _arrays(item)


def _copies(arg: Any) -> Any:
    """The elements of the arrays in an argument, as they are now."""
    if _is_array(arg):
        return _elements(arg)
    return [_copies(item) for item in arg] if isinstance(arg, (list, tuple)) else None


def _elements(array: Any) -> Any:
    """A copy as NumPy has it; types that NumPy lacks become raw bytes, which tilevm knows by the parameter's type."""
    import numpy
    if not is_torch(array):
        copy = numpy.array(array, order="C")
        return copy if copy.dtype.kind in "biuf" and copy.dtype.isbuiltin == 1 else copy.view(f"V{copy.itemsize}")
    import torch
    copy = array.detach().clone(memory_format=torch.contiguous_format)
    try:
        return copy.numpy()
    except TypeError:  # bfloat16 and narrower ones
        shape = tuple(copy.shape)
        return copy.view(torch.uint8).numpy().view(f"V{copy.element_size()}").reshape(shape)


class _Writer:
    """Writes the arrays of the arguments, and says what to write of them into the argument file. Arguments that share
    memory become arrays of their own, of which nothing is expected: which of them the kernel writes is not known."""

    def __init__(self, folder: Path, given: dict[str, Any], expected: dict[str, str], args: tuple[Any, ...]):
        self._folder, self._given, self._expected = folder, given, expected
        self._spans = [span(array) for array in _arrays(args)]

    def _is_shared(self, array: Any) -> bool:
        low, high = span(array)
        return sum(a < high and low < b for a, b in self._spans) > 1

    def add(self, name: str, parameter: Any, arg: Any, before: Any) -> None:
        if parameter.kind in ("tuple", "struct") and isinstance(arg, tuple):
            for item, a, b in zip(parameter.items, arg, before):
                if item.kind != "constant":
                    self.add(f"{name}.{item.name.rpartition('.')[2]}", item, a, b)
        elif isinstance(arg, (list, tuple)):
            values = [self._array(f"{name}[{i}]", f"{name}.{i}", a, b) for i, (a, b) in enumerate(zip(arg, before))]
            self._given[name] = f"[{', '.join(values)}]"
        elif _is_array(arg):
            self._given[name] = self._array(name, name, arg, before)
        else:
            self._given[name] = arg if isinstance(arg, (bool, int)) else repr(float(arg))

    def _array(self, name: str, file: str, array: Any, before: Any) -> str:
        import numpy
        described, after = host_array(array), _elements(array)
        numpy.save(self._folder / f"{file}.npy", before)
        if after.tobytes() != before.tobytes() and not self._is_shared(array):
            numpy.save(self._folder / f"{file}.after.npy", after)
            self._expected[name] = f"{file}.after.npy"
        strides = list(described.c.strides[: len(before.shape)]) if before.size else []
        plain = [s // before.itemsize for s in before.strides]
        return f"{file}.npy" if strides == plain or not strides else f"file({file}.npy, strides={json.dumps(strides)})"
