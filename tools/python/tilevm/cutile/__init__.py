"""cuTile Python without a GPU: kernels run on the virtual machine, on NumPy arrays and CPU tensors of torch.

    python -m tilevm.cutile script.py [arguments]
    python -m pytest -p tilevm.cutile [arguments]
    import tilevm.cutile; tilevm.cutile.enable()        # before cuda.tile is imported

docs/cutile.md has the options, what stands in for what, and what cannot.
"""

import importlib.util
from typing import Any, Iterable

from tilevm.cutile import _driver
from tilevm.cutile._client import KernelError
from tilevm.diagnostics import UsageError
from tilevm.module import check_bits

__all__ = ["KernelError", "enable"]

_enabled = False


def enable(*, arch: str = "sm_100", checks: "str | Iterable[str] | bool | None" = None, threads: int = 0) -> None:
    """Makes cuda.tile.launch run on the virtual machine, and the CPU stand in for torch's device. Options may be
    changed by calling it again; kernels that were loaded keep theirs."""
    global _enabled
    if not arch.startswith("sm_") or not arch[3:].rstrip("af").isdecimal():
        raise UsageError(f"architecture {arch!r} is not of the form 'sm_90'")
    _driver.options.arch = arch
    _driver.options.checks = check_bits(checks)
    _driver.options.threads = threads
    if not _enabled:
        from tilevm.cutile import _client
        _client.install()
        if importlib.util.find_spec("torch"):  # which the client imports in any case
            from tilevm.cutile import _torch
            _torch.install()
        _enabled = True


# ---- pytest -p tilevm.cutile ----

def pytest_addoption(parser: Any) -> None:
    from tilevm.cutile._script import add_options
    add_options(parser.getgroup("tilevm", "cuTile without a GPU").addoption)


def pytest_load_initial_conftests(early_config: Any) -> None:
    given = early_config.known_args_namespace
    enable(arch=given.tile_arch, checks=given.tile_check, threads=given.tile_threads)
