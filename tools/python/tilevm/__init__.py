"""CUDA Tile IR bytecode from Python: check it, print it, run it on the CPU, compile it, launch it on a GPU.

    import tilevm

    for finding in tilevm.verify("vadd.tbc"):
        print(finding)
    tilevm.open("vadd.tbc").run(128, a, b, c)       # NumPy arrays, in place

tilevm.cutile runs cuTile Python without a GPU. docs/guides/python.md has more.
"""

from tilevm._abi import lib as _lib
from tilevm.diagnostics import (
    DeviceError, Diagnostic, Error, InvalidError, MemoryLimitError, Trap, UnsupportedError, UsageError)
from tilevm.module import Kernel, Module, Parameter, Stats, verify

__version__: str = _lib.tv_version().decode()
open = Module.open
parse = Module.parse

__all__ = [
    "DeviceError", "Diagnostic", "Error", "InvalidError", "Kernel", "MemoryLimitError", "Module", "Parameter", "Stats",
    "Trap", "UnsupportedError", "UsageError", "open", "parse", "verify",
]
