"""Arguments that share memory, in the words of an argument file: one of them holds the memory, the others are
"@that(DTYPE, SHAPE, strides=, offset=)"."""

import json
from typing import Any, Sequence

from tilevm._abi import lib
from tilevm.arrays import host_array, span

#: bytes; the most by which a client promises that the addresses of arguments are divisible
_ALIGNMENT = 16


class Place:
    """Where the elements of an argument are. before: a dense copy of them."""

    def __init__(self, name: str, array: Any, before: Any):
        c = host_array(array).c
        self.name, self.shape, self.item = name, before.shape, before.itemsize
        self.dtype = lib.tv_dtype_name(c.dtype).decode()
        self.strides = list(c.strides[:c.ndim]) if before.size else []  # in elements
        self.is_dense = self.strides == [s // before.itemsize for s in before.strides] or not self.strides
        self.first, (self.low, self.high) = c.data or 0, span(array)

    def cells(self, low: int, high: int) -> Any:
        """Which bytes from low to high are bytes of an element."""
        import numpy
        cells = numpy.zeros(high - low, bool)
        steps = tuple(s * self.item for s in self.strides)
        numpy.lib.stride_tricks.as_strided(cells[self.first - low:], (*self.shape, self.item), (*steps, 1))[...] = True
        return cells

    def options(self, offset: int) -> str:
        """The strides, and the elements between the start of the memory and the lowest one, if they must be said."""
        strides = "" if self.is_dense else f", strides={json.dumps(self.strides)}"
        return strides + (f", offset={offset}" if offset else "")


def _share(a: Place, b: Place) -> bool:
    """Is a byte part of elements of both? Arrays that only take turns in memory, as even and odd columns, share none."""
    low, high = max(a.low, b.low), min(a.high, b.high)
    if low >= high:
        return False
    bottom, top = min(a.low, b.low), max(a.high, b.high)
    return bool((a.cells(bottom, top) & b.cells(bottom, top)).any())


def groups(places: Sequence[Place]) -> list[list[Place]]:
    """The arguments that share memory, directly or through others; at least two each, in their order."""
    found: list[list[Place]] = []
    for place in places:
        touched = [group for group in found if any(_share(place, other) for other in group)]
        found = [group for group in found if group not in touched] + [sum(touched, []) + [place]]
    order = {place.name: i for i, place in enumerate(places)}
    return [sorted(group, key=lambda p: order[p.name]) for group in found if len(group) > 1]


def _offset(place: Place, owner: Place) -> "int | None":
    """The elements between the start of the owner's memory and the place; None: not a whole number of them. The start is
    where addresses are as divisible as in the launch."""
    count, rest = divmod(place.low - (owner.low - owner.low % _ALIGNMENT), place.item)
    return None if rest else count


def _holds(owner: Place, group: Sequence[Place]) -> bool:
    """Are the elements of all others also elements of the owner, and all places of a form that can be said?"""
    if any(p.low < owner.low or p.high > owner.high or _offset(p, owner) is None for p in group):
        return False
    cells = owner.cells(owner.low, owner.high)
    return all(cells[p.cells(owner.low, owner.high)].all() for p in group if p is not owner)


def forms(group: Sequence[Place]) -> "dict[str, str] | None":
    """What to write of each argument of a group by its name; of the one that holds the memory, the options of its file.
    None: no argument holds all of it."""
    for owner in group:
        if _holds(owner, group):
            said = {p.name: f"@{owner.name}({p.dtype}, {json.dumps(list(p.shape))}{p.options(_offset(p, owner) or 0)})"
                    for p in group}
            said[owner.name] = owner.options(_offset(owner, owner) or 0)
            return said
    return None
