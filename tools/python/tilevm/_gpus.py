"""Models of GPUs, from the table of `tilevm fleet`: gpus.def, which the wheel has beside the library."""

import functools
import re
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_PLACES = (_HERE / "lib/gpus.def", _HERE.parents[1] / "tilevm/fleet/gpus.def")


@functools.cache
def _models() -> tuple[tuple[int, int], ...]:
    """Compute capability and multiprocessors of each model for which both are known."""
    text = next(path for path in _PLACES if path.exists()).read_text()
    rows = re.findall(r'^GPU\(".*?", *(\d+), *(\d+)\)', text, re.MULTILINE)
    return tuple((int(sm), int(count)) for sm, count in rows if int(count))


def multiprocessors(sm: int) -> int:
    """Of the largest model of a compute capability (90); where no model's number is known, of its major version."""
    exact = [count for of, count in _models() if of == sm]
    return max(exact or [count for of, count in _models() if of // 10 == sm // 10], default=1)
