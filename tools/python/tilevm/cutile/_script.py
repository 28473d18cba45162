"""python -m tilevm.cutile: runs a script under the virtual machine."""

import argparse
import runpy
import sys
from pathlib import Path
from typing import Any, Callable

from tilevm.cutile import enable
from tilevm.diagnostics import Error

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


def enable_as(given: Any) -> None:
    """By parsed options."""
    checks = given.tile_checks or (DEFAULT_CHECKS if given.tile_check else None)
    enable(arch=given.tile_arch, checks=checks, threads=given.tile_threads, children=True)


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tilevm.cutile", allow_abbrev=False,
        description="Runs a script, with cuTile kernels on the virtual machine instead of a GPU.")
    add_options(parser.add_argument)
    parser.add_argument("script", help="a Python file")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    given = parser.parse_args(args)
    try:
        enable_as(given)
    except Error as error:
        parser.error(str(error))
    sys.argv = [given.script, *given.args]
    sys.path[0] = str(Path(given.script).resolve().parent)
    runpy.run_path(given.script, run_name="__main__")
    return 0
