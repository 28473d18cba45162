"""python -m tilevm.cutile: runs a script under the virtual machine."""

import argparse
import runpy
import sys
from pathlib import Path
from typing import Any, Callable

from tilevm.cutile import enable
from tilevm.diagnostics import Error, UsageError

DEFAULT_CHECKS = "bounds,races,tokens"


def add_options(add: Callable[..., Any]) -> None:
    """The options, for argparse's add_argument and pytest's addoption."""
    add("--tile-check", action="store_true",
        help=f"look for errors that a GPU does not tell: {DEFAULT_CHECKS}")
    add("--tile-checks", metavar="NAMES", help="look for these instead: all, or some of bounds,uninit,races,tokens,"
        "assume,values,order")
    add("--tile-arch", default="sm_100", metavar="ARCH",
        help="the architecture that the client compiles for (default: sm_100)")
    add("--tile-threads", type=int, default=0, metavar="N",
        help="tile blocks that run at the same time (default: one per processor)")
    add("--tile-multiprocessors", type=int, default=0, metavar="N",
        help="the multiprocessors that the device is said to have, from which programs compute grids (default:"
        " TILEVM_MULTIPROCESSORS in the environment, else those of the largest model of the architecture)")


def enable_as(given: Any) -> None:
    """By parsed options."""
    checks = given.tile_checks or (DEFAULT_CHECKS if given.tile_check else None)
    enable(arch=given.tile_arch, checks=checks, threads=given.tile_threads,
           multiprocessors=given.tile_multiprocessors, children=True)


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tilevm.cutile", allow_abbrev=False,
        description="Runs a script, with cuTile kernels on the virtual machine instead of a GPU.")
    add_options(parser.add_argument)
    parser.add_argument("script", help="a Python file")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    given = parser.parse_args(args)
    try:
        _check_script(given.script)
        enable_as(given)
    except Error as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    sys.argv = [given.script, *given.args]
    sys.path[0] = str(Path(given.script).resolve().parent)
    runpy.run_path(given.script, run_name="__main__")
    return 0


def _check_script(script: str) -> None:
    """Is it a file to be read, or a folder with a __main__.py in it?"""
    path = Path(script)
    try:
        with open(path / "__main__.py" if path.is_dir() else path, "rb"):
            pass
    except OSError as error:
        raise UsageError(f"cannot open {error.filename!r}: {error.strerror}") from None
