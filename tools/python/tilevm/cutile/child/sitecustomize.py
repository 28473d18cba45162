"""For Python programs that a script under tilevm.cutile starts: they run in the same way. First on PYTHONPATH, so Python
imports it at its start; it waits until cuda.tile is imported, and lets another sitecustomize have its turn."""

import importlib.machinery
import importlib.util
import json
import os
import sys
from typing import Any


class _Finder:
    """Enables tilevm.cutile once cuda.tile is there."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if name != "cuda.tile":
            return None
        sys.meta_path.remove(_Finder)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_enable(module: Any) -> None:
                load(module)
                import tilevm.cutile
                tilevm.cutile.enable(**json.loads(os.environ["TILEVM_CUTILE"]))

            setattr(spec.loader, "exec_module", load_and_enable)
        return spec


def _next_sitecustomize() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    others = [p for p in sys.path if os.path.abspath(p) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "TILEVM_CUTILE" in os.environ:
    sys.meta_path.insert(0, _Finder)
_next_sitecustomize()
