"""Operands of products: their form in memory, and the ops between load and product."""
from zoo_memory import Source
from zoo_text import FLOATS

PACKED = ("i4", "u4")
UNSIGNED = ("u8", "u4")


def memory_type(raw):
    return "i8" if raw in (*PACKED, "u8") else raw


class Operand:
    """rows, columns: (size, tile, index), the index None where the loop runs. route: raw (the type in memory), turned, scale
    (none, row, deep, group), guard (none, mask, gate). batch: (size, index) of the dimensions in front."""

    def __init__(self, kernel, name, rows, columns, compute, route, kind, batch=(), origin=None, packed=None):
        self.kernel, self.name, self.compute, self.route, self.origin = kernel, name, compute, route, origin
        self.sides = [rows, columns]
        self.deep = next(d for d in (0, 1) if self.sides[d][2] is None)     # the dimension of the loop
        self.flat = 1 - self.deep
        self.packed = self.deep if packed is None else packed   # the dimension of which a byte has two
        self.sources, self.row_scale = [], None
        raw = route["raw"]
        self.formula = dict(array=name, raw=raw, compute=compute, turned=route["turned"], deep=self.deep,
                            packed=self.packed)
        self.add_source(name, kind, batch, raw in PACKED)
        if route["guard"] == "gate":
            self.formula["gate"] = name + "_gate"
            self.add_source(name + "_gate", kind, batch, False, "f16")
        if route["guard"] == "mask":
            self.formula["mask"] = True
        if route["scale"] == "row":
            self.add_row_scale()
        if route["scale"] == "deep":
            self.add_deep_scale()
        if route["scale"] == "group":
            self.add_group_scale()

    def add_source(self, name, kind, batch, packed, raw=None):
        k, sides = self.kernel, list(self.sides)
        if packed:
            size, tile, index = sides[self.packed]
            half = k.size(name + "_packed", size.small // 2, size.large // 2)
            sides[self.packed] = (half, tile // 2, index)
        if self.route["turned"]:
            sides.reverse()
        sides = [(size, 1, index) for size, index in batch] + sides
        raw = raw or self.route["raw"]
        init = {"u8": "below 7", "i8": "between -4 5", "i4": "bytes", "u4": "bytes"}.get(raw, "normal")
        array = k.array(name, memory_type(raw), [s for s, _, _ in sides], init=init)
        self.sources.append(Source(k, array, [t for _, t, _ in sides], [i for _, _, i in sides], kind, origin=self.origin))

    def plain_kind(self):
        return "partition" if self.sources[0].view else "pointers"

    def add_row_scale(self):
        """A scale for each row of A, or column of B, loaded before the loop."""
        size, tile, index = self.sides[self.flat]
        array = self.kernel.array(self.name + "_scale", "f32", [size], init="positive")
        self.row_scale = Source(self.kernel, array, [tile], [index], self.plain_kind(), rank=1).get(None)
        self.formula["row_scale"] = array.name

    def add_deep_scale(self):
        """A scale for each step along the loop, as in quantization by token."""
        size, tile, _ = self.sides[self.deep]
        array = self.kernel.array(self.name + "_scale", "f32", [size], init="positive")
        self.sources.append(Source(self.kernel, array, [tile], [None], self.plain_kind(), rank=1, origin=self.origin))
        self.formula["deep_scale"] = array.name

    def add_group_scale(self):
        k, (size, tile, _) = self.kernel, self.sides[self.deep]
        self.group = max(tile // 2, 16) if tile > 16 else tile
        count = [-(-n // self.group) for n in size.both()]
        groups = k.size(self.name + "_groups", *count)
        sides = list(self.sides)
        sides[self.deep] = (groups, tile // self.group, None)
        array = k.array(self.name + "_scales", "f32", [s for s, _, _ in sides], init="positive")
        self.sources.append(Source(k, array, [t for _, t, _ in sides], [i for _, _, i in sides], self.plain_kind(), origin=self.origin))
        self.formula.update(group_scale=array.name, group=self.group)

    # In the loop

    def unpack(self, x):
        """Unpacks two numbers from each byte, the low half first."""
        t = self.kernel.text
        four = t.constant(4, "i8", x.shape)
        if self.route["raw"] == "i4":
            low = t.same("shri", t.same("shli", x, four), four, more=" signed")
            high = t.same("shri", x, four, more=" signed")
        else:
            low = t.same("andi", x, t.constant(15, "i8", x.shape))
            high = t.same("shri", x, four, more=" unsigned")
        apart = list(x.shape)
        apart.insert(self.packed + 1, 1)
        both = t.cat(t.reshape(low, apart), t.reshape(high, apart), self.packed + 1)
        return t.reshape(both, [2 * n if d == self.packed else n for d, n in enumerate(x.shape)])

    def whole_tile(self, x):
        """The tile in the order of the matrix: not transposed."""
        return self.kernel.text.permute(x, [1, 0]) if self.route["turned"] else x

    def positions(self, d, index):
        t, (_, tile, at) = self.kernel.text, self.sides[d]
        at = index if at is None else at
        return t.add(t.broadcast(t.mul(at, t.constant(tile)), (tile,)), t.iota(tile))

    def tile(self, index, tiles):
        """The operand of the product in an iteration; tiles: the functions that load from the operand's sources."""
        t, route = self.kernel.text, self.route
        tiles = list(tiles)
        x = self.whole_tile(tiles.pop(0)())
        if route["raw"] in PACKED:
            x = self.unpack(x)
        shape = x.shape
        signed = route["raw"] not in UNSIGNED
        if route["guard"] == "gate" or route["scale"] != "none":
            x = t.cast(x, "f32", signed)
            if route["guard"] == "gate":
                gate = t.cast(self.whole_tile(tiles.pop(0)()), "f32")
                one = t.constant(1, "f32", shape)
                x = t.mul(x, t.div(gate, t.add(one, t.unary("exp", t.unary("negf", gate)))))
            if route["scale"] == "row":
                x = t.mul(x, t.along(self.row_scale, self.flat, shape))
            if route["scale"] == "deep":
                x = t.mul(x, t.along(tiles.pop(0)(), self.deep, shape))
            if route["scale"] == "group":
                scales = tiles.pop(0)()
                spread = list(scales.shape)
                spread.insert(self.deep + 1, 1)
                wide = list(spread)
                wide[self.deep + 1] = self.group
                x = t.mul(x, t.reshape(t.broadcast(t.reshape(scales, spread), wide), shape))
        x = t.cast(x, self.compute, signed)
        if route["guard"] == "mask":
            lower = t.compare("less_than_or_equal", t.along(self.positions(self.deep, index), self.deep, shape),
                              t.along(self.positions(self.flat, index), self.flat, shape))
            x = t.select(lower, x, t.constant(0, x.elem, shape))
        return x


def is_plain(route):
    return not route["turned"] and route["scale"] == "none" and route["guard"] == "none"


def sums_of(compute):
    return {"i8": "i32", "f64": "f64"}.get(compute, "f32")


def is_float(elem):
    return elem in FLOATS
