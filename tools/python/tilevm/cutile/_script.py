"""python -m tilevm.cutile: runs a script under the virtual machine."""

import argparse
import runpy
import sys
from pathlib import Path

from tilevm.cutile import enable


def add_options(add: "object") -> None:
    """The options, for argparse's add_argument and pytest's addoption."""
    add("--tile-check", nargs="?", const="bounds,races,tokens", default=None, metavar="CHECKS",
        help="look for bounds,races,tokens, or for what is named: all, uninit, assume, values, order")
    add("--tile-arch", default="sm_100", metavar="ARCH",
        help="the architecture that the client compiles for (default: sm_100)")
    add("--tile-threads", type=int, default=0, metavar="N",
        help="tile blocks that run at the same time (default: one per processor)")


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tilevm.cutile", allow_abbrev=False,
        description="Runs a script, with cuTile kernels on the virtual machine instead of a GPU.")
    add_options(parser.add_argument)
    parser.add_argument("script", help="a Python file")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    given = parser.parse_args(args)
    enable(arch=given.tile_arch, checks=given.tile_check, threads=given.tile_threads)
    sys.argv = [given.script, *given.args]
    sys.path[0] = str(Path(given.script).resolve().parent)
    runpy.run_path(given.script, run_name="__main__")
    return 0
