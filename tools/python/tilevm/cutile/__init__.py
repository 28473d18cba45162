"""cuTile Python without a GPU: kernels run on the virtual machine, on NumPy arrays and CPU tensors of torch.

    python -m tilevm.cutile script.py [arguments]
    python -m pytest -p tilevm.cutile [arguments]
    import tilevm.cutile; tilevm.cutile.enable()        # before cuda.tile is used

docs/guides/cutile.md has the options, what stands in for what, and what cannot.
"""

import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, Iterable

from tilevm.cutile import _driver
from tilevm.cutile._capture import Capture
from tilevm.cutile._client import KernelError
from tilevm.cutile._findings import read_config, session
from tilevm.diagnostics import Error, UsageError
from tilevm.module import Module, check_bits

__all__ = ["KernelError", "enable"]
KernelError.__module__ = __name__

_enabled = False


def enable(*, arch: str = "sm_100", checks: "str | Iterable[str] | bool | None" = None, threads: int = 0,
           multiprocessors: int = 0, tune: str = "", capture: str = "", config: str = "",
           progress: "bool | None" = None, children: bool = False) -> None:
    """Makes cuda.tile.launch run on the virtual machine, and the CPU stand in for torch's device. Options may be
    changed by calling it again; kernels that were loaded keep theirs. multiprocessors: what the device is said to have;
    0: TILEVM_MULTIPROCESSORS, else those of the largest model of arch. tune: "first" or "all", how autotuners choose.
    capture: a folder that launches are written to. config: a file of suppressions; "": tilevm.toml of the current folder,
    if there is one. progress: tell of launches that take long; None: on a terminal. children: Python programs that this
    one starts do the same."""
    global _enabled
    _check_arch(arch)
    if tune not in ("", "first", "all"):
        raise UsageError(f"tune {tune!r} is not 'first' or 'all'")
    if checks:
        session.configure(config)
    elif config:
        read_config(config)
    _driver.options.progress = sys.stderr.isatty() if progress is None else progress
    _driver.options.arch = arch
    _driver.options.checks = check_bits(checks)
    _driver.options.threads = threads
    _driver.options.multiprocessors = _multiprocessors(multiprocessors or os.environ.get("TILEVM_MULTIPROCESSORS") or 0)
    if children:
        _tell_children(arch=arch, checks=checks, threads=threads, multiprocessors=multiprocessors, tune=tune,
                       config=str(Path(session.config).resolve()) if session.config else "", children=True)
    from tilevm.cutile import _client
    _client.tune = tune
    _client.capture = Capture(capture) if capture else None
    if not _enabled:
        _enabled = True
        _client.install()
        if importlib.util.find_spec("torch"):  # which the client imports in any case
            from tilevm.cutile import _torch
            _torch.install()


def _check_arch(arch: str) -> None:
    """Does the verifier know it? It says which it knows."""
    if not re.fullmatch(r"sm_\d{2,3}[af]?", arch):
        raise UsageError(f"architecture {arch!r} is not of the form 'sm_90'")
    for finding in Module.parse("entry @k() {\n  return\n}").verify(target=arch, reference=True):
        raise UsageError(finding.message)


def _multiprocessors(given: "int | str") -> int:
    """The number, 0 for the default. Grids are made from it: 2^16 are more than any device has."""
    try:
        count = int(given)
    except ValueError:
        count = -1
    if not 0 <= count < 1 << 16:
        raise UsageError(f"{given!r} is not a number of multiprocessors from 1 to 65535")
    return count


def _tell_children(**options: Any) -> None:
    """By the environment: child/sitecustomize.py reads it."""
    folder = str(Path(__file__).with_name("child"))
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != folder]
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *paths])
    os.environ["TILEVM_CUTILE"] = json.dumps(options, default=list)


# ---- pytest -p tilevm.cutile ----

def pytest_addoption(parser: Any) -> None:
    from tilevm.cutile._script import add_options
    add_options(parser.getgroup("tilevm", "cuTile without a GPU").addoption)


def pytest_load_initial_conftests(early_config: Any) -> None:
    """Before any conftest.py imports cuda.tile."""
    import pytest

    from tilevm.cutile._script import enable_as
    try:
        enable_as(early_config.known_args_namespace)
    except Error as error:
        raise pytest.UsageError(str(error)) from None


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """What was suppressed and what was not, after all tests."""
    from tilevm.cutile._script import report
    lines = report(config.option)
    if lines:
        terminalreporter.section("tilevm")
        for line in lines:
            terminalreporter.line(line)
