"""--tile-capture: each launch as files, with a command that does it again: DIR/0001-vadd/k.tbc, its arguments as .npy, what
the arrays hold afterwards, and run.sh."""

import itertools
import json
import os
import re
import shlex
import stat
from pathlib import Path
from typing import Any

from tilevm.arrays import is_torch
from tilevm.cutile import _driver
from tilevm.cutile._shared import Place, groups
from tilevm.cutile._shared import forms as shared_forms
from tilevm.diagnostics import UsageError

_MOST = 10000  # launches

_RUN = """#!/bin/sh
# Does a launch of {name} again: run.sh [run|check|test|reduce|gpu] [OPTIONS]
#   run     on the CPU, and lists the arrays          check   looks for races and other mistakes
#   test    compares with what the launch gave        reduce  makes the module small while `check` still finds something
#   gpu     on a GPU and on the CPU, and names the first operation whose result differs
set -eu
cd "$(dirname "$0")"
{notes}what=${{1:-run}}
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
        self._separate: list[Path] = []  # launches whose arguments have memory of their own where they had not
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make the folder {folder!r}: {error.strerror}") from None

    def before(self, args: tuple[Any, ...]) -> "Launch | None":
        number = next(self._numbers)
        return Launch(self, self._folder, number, args, self._separate) if number <= _MOST else None

    def written(self, folder: Path) -> None:
        """Called for each launch, once its folder is complete."""

    def summary(self) -> list[str]:
        """What is to be said at the end: launches whose arguments share memory in a way that cannot be repeated."""
        count = len(self._separate)
        return [f"--tile-capture: in {count} launch{'es' if count > 1 else ''} arguments share memory and do not when"
                f" repeated; run.sh names them: {self._separate[0]}{', ...' if count > 1 else ''}"] if count else []


class Launch:
    """One launch: the arguments are copied before it, the results when it has ended."""

    def __init__(self, capture: Capture, folder: Path, number: int, args: tuple[Any, ...], separate: list[Path]):
        self._capture, self._folder, self._number, self._args, self._separate = capture, folder, number, args, separate
        self._before = [_copies(arg) for arg in args]

    def after(self) -> None:
        if _driver.launching.ran is None:
            return
        kernel, grid = _driver.launching.ran
        name = _driver.kernel_names.get(kernel.symbol, kernel.name)
        folder = self._folder / f"{self._number:04}-{re.sub('[^A-Za-z0-9_.-]', '_', name)[:60]}"
        folder.mkdir(exist_ok=True)
        names = _driver.parameter_names.get(kernel.symbol, ())
        written = _Writer(folder)
        for parameter, path, arg, before in zip(kernel.parameters, names, self._args, self._before):
            if parameter.kind != "constant":
                written.add(path, parameter, arg, before)
        said = {"entry": kernel.symbol, "grid": list(grid), "names": list(names[:len(kernel.parameters)]),
                "args": written.given(), "expect": written.expected}
        if written.shares:
            said["allow_sharing"] = True  # as the launch did, whatever the symbol promises
        _write(folder / "k.tbc", kernel.module.data or kernel.module.write())
        _write(folder / "k.args.json", (json.dumps(said, indent=1) + "\n").encode())
        _write(folder / "run.sh", _RUN.format(name=name, notes=_notes(written.notes)).encode(), executable=True)
        if written.notes:
            self._separate.append(folder)
        self._capture.written(folder)


def _notes(notes: list[str]) -> str:
    return "".join(f"echo {shlex.quote('run.sh: note: ' + note)} >&2\n" for note in notes)


def _write(path: Path, data: bytes, executable: bool = False) -> None:
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(data)
    if executable:
        temporary.chmod(temporary.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    os.replace(temporary, path)


def _is_array(arg: Any) -> bool:
    return is_torch(arg) or hasattr(arg, "__array_interface__")


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


class _Array:
    """An array of the arguments: its name for `tilevm run`, its file's, what it held before the launch and holds now."""

    def __init__(self, name: str, file: str, array: Any, before: Any):
        self.place, self.file, self.before, self.after = Place(name, array, before), file, before, _elements(array)
        self.changed = self.after.tobytes() != before.tobytes()
        self.form = ""


class _Writer:
    """Writes the arrays of the arguments, and says what to write of them into the argument file. Arguments that share
    memory which the launch has changed do so again where an argument file can say it. Else they become arrays of their
    own, of which nothing is expected, since which of them the kernel writes is not known; and notes says so."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._values: dict[str, Any] = {}
        self._arrays: list[_Array] = []
        self.expected: dict[str, str] = {}
        self.notes: list[str] = []
        self.shares = False  # arguments share memory when the launch is repeated

    def add(self, name: str, parameter: Any, arg: Any, before: Any) -> None:
        if parameter.kind in ("tuple", "struct") and isinstance(arg, tuple):
            for item, a, b in zip(parameter.items, arg, before):
                if item.kind != "constant":
                    self.add(f"{name}.{item.name.rpartition('.')[2]}", item, a, b)
        elif isinstance(arg, (list, tuple)):
            self._values[name] = [self._keep(f"{name}[{i}]", f"{name}.{i}", a, b)
                                  for i, (a, b) in enumerate(zip(arg, before))]
        elif _is_array(arg):
            self._values[name] = self._keep(name, name, arg, before)
        else:
            self._values[name] = arg if isinstance(arg, (bool, int)) else repr(float(arg))

    def _keep(self, name: str, file: str, array: Any, before: Any) -> _Array:
        self._arrays.append(_Array(name, file, array, before))
        return self._arrays[-1]

    def given(self) -> dict[str, Any]:
        """All arguments as an argument file has them, once the arrays are written."""
        forms: dict[str, "str | None"] = {}
        changed = {a.place.name for a in self._arrays if a.changed}
        for group in groups([a.place for a in self._arrays]):
            names = [p.name for p in group]
            if not changed.intersection(names):
                continue
            said = shared_forms(group)
            forms.update(said or dict.fromkeys(names))
            self.shares |= said is not None
            if said is None:
                self.notes.append(f"{', '.join(names)} share memory in the launch and do not here: none of them has all of"
                                  " it")
        for array in self._arrays:
            self._write(array, forms.get(array.place.name, array.place.options(0)))
        return {name: f"[{', '.join(a.form for a in value)}]" if isinstance(value, list)
                else value.form if isinstance(value, _Array) else value for name, value in self._values.items()}

    def _write(self, array: _Array, form: "str | None") -> None:
        """form: what is said of the array, or the options of its file; None: it shares memory, which cannot be said."""
        import numpy
        if form is not None and array.changed:
            numpy.save(self._folder / f"{array.file}.after.npy", array.after)
            self.expected[array.place.name] = f"{array.file}.after.npy"
        if form is not None and form.startswith("@"):
            array.form = form
            return
        numpy.save(self._folder / f"{array.file}.npy", array.before)
        options = array.place.options(0) if form is None else form
        array.form = f"file({array.file}.npy{options})" if options else f"{array.file}.npy"
