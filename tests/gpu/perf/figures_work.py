"""Computations of figures.py that the zoo does not draw: losses, unpacking, rows taken in turn, gated activations, rotations.

They are written like those of the zoo (zoo_work.py), and zoo_expected.py says what they compute.
"""
from zoo_memory import Source
from zoo_operand import Operand
from zoo_rows import Rows, out_kind
from zoo_work import sink

CLASSES = 64    # labels are below: any row has as many columns
BYTES = 24e6    # of arrays that stay in the L2 cache of an H100


def cross_entropy(k, r):
    """The logarithm of the sum of exponentials of a row, less the element that a label selects."""
    axes, t = k.axes, k.text
    rows = Rows(k, r, axes["route_a"]["raw"])
    x = rows.source("X", axes["route_a"]["raw"])
    labels = k.array("labels", "i32", [rows.M], init="below %d" % CLASSES)
    shape, least = (rows.height, rows.width), -1e30

    def body(index, loads, now):
        y = rows.inside(index, t.cast(loads[0](), "f32"), least)
        high = t.max(now[0], t.reduce(y, 1, "max"))
        parts = t.unary("exp", t.sub(y, t.along(high, 0, shape)))
        return [high, t.add(t.mul(now[1], t.unary("exp", t.sub(now[0], high))), t.reduce(parts, 1, "sum"))]
    high, total = rows.run([x], [t.constant(least, "f32", shape[:1]), t.constant(0, "f32", shape[:1])], body)
    label = Source(k, labels, [rows.height], [rows.m], "pointers", rank=1).get(None)
    first = t.add(t.broadcast(t.mul(rows.m, t.constant(rows.height)), (rows.height,)), t.iota(rows.height)) if rows.height > 1 else \
        t.broadcast(rows.m, (1,))
    at = t.add(t.mul(first, t.broadcast(x.array.strides[0], first.shape)), label)
    chosen = t.load(t.offset(t.broadcast(x.array.pointer, first.shape), at))
    rows.put("R", t.sub(t.add(high, t.unary("log", total)), t.cast(chosen, "f32")), "f32")
    k.finish(dict(work="cross_entropy"), rows.grids, None)


def unpack(k, r):
    """Two numbers a byte become f16, with a scale for each row."""
    axes, t = k.axes, k.text
    height, width = axes["rows"], axes["columns"]
    M, tiles_m = k.tiles("M", height, 2, 4096 // height)
    N, tiles_n = k.tiles("N", width, 2, 16384 // width)
    m, n = k.ids[0], k.ids[1]
    packed = Operand(k, "X", (M, height, m), (N, width, None), "f16", axes["route_a"], axes["source"])
    packed.sources[0].index[1] = n
    y = packed.tile(n, [lambda: s.get(None) for s in packed.sources])
    sink(k, "Y", "f16", [M, N], (height, width), [m, n]).put(y)
    k.finish(dict(work="unpack", X=packed.formula), [[tiles_m.small, tiles_n.small, 1], [tiles_m.large, tiles_n.large, 1]], None)


def rows_in_turn(k, r):
    """Softmax of rows that registers hold; as many blocks as the GPU has room for take one row after the other."""
    axes, t = k.axes, k.text
    width, elem = axes["columns"], axes["route_a"]["raw"]
    size = {"f32": 4}.get(elem, 2)
    M = k.size("M", 6, int(256e6 / size / width))
    N, _ = k.tiles("N", width, 1, 1)
    kind, zero = axes["source"], t.constant(0)
    x = Source(k, k.array("X", elem, [M, N]), [1, width], [None, zero], kind)
    out = Source(k, k.array("Y", elem, [M, N], role="out"), [1, width], [None, zero], kind)

    def body(row, _):
        y = t.cast(x.get(row), "f32")
        parts = t.unary("exp", t.sub(y, t.along(t.reduce(y, 1, "max"), 0, y.shape)))
        y = t.div(parts, t.along(t.reduce(parts, 1, "sum"), 0, y.shape))
        out.put(t.cast(y, elem), row)
        return []
    t.for_loop(k.ids[0], M.value, k.text.blocks()[0], [], body)
    k.finish(dict(work="three", how="softmax", weights=None), [[2, 1, 1], [132 * axes["hints"].get("occupancy", 1), 1, 1]], None)


def gated(k, r):
    """silu(X) times G, element by element."""
    axes, t = k.axes, k.text
    width, elem = axes["elements"], axes["compute"]
    N, tiles = k.tiles("N", width, 3, int(BYTES / 3 / 2 / width))
    x, g = (Source(k, k.array(name, elem, [N]), [width], [k.ids[0]], axes["source"], rank=1) for name in "XG")
    out = Source(k, k.array("Y", elem, [N], role="out"), [width], [k.ids[0]], out_kind(k), rank=1)
    a, b = (t.cast(s.get(None), "f32") for s in (x, g))
    one = t.constant(1, "f32", (width,))
    out.put(t.cast(t.mul(t.div(a, t.add(one, t.unary("exp", t.unary("negf", a)))), b), elem))
    k.finish(dict(work="gated"), [[tiles.small, 1, 1], [tiles.large, 1, 1]], None)


def rotation(k, r):
    """The halves of each head turned by the angle of its position: a block has the heads of a position."""
    axes, t = k.axes, k.text
    heads, half, elem = axes["rows"], axes["columns"], axes["compute"]
    P = k.size("P", 3, int(BYTES / 2 / 2 / heads / (2 * half)))
    H, D, F = k.size("H", heads, heads), k.size("D", 2 * half, 2 * half), k.size("F", half, half)
    p, zero, one, shape = k.ids[0], t.constant(0), t.constant(1), (1, heads, half)
    x, y = (k.array(name, elem, [P, H, D], role=role) for name, role in (("X", "in"), ("Y", "out")))
    cos, sin = (Source(k, k.array(name, "f32", [P, F]), [1, half], [p, zero], axes["source"]).get(None) for name in ("cos", "sin"))
    low, high = (t.cast(Source(k, x, shape, [p, zero, which], axes["source"], rank=2).get(None), "f32") for which in (zero, one))
    c, s = (t.broadcast(v, low.shape) for v in (cos, sin))
    results = (t.sub(t.mul(low, c), t.mul(high, s)), t.add(t.mul(high, c), t.mul(low, s)))
    for which, v in zip((zero, one), results):
        Source(k, y, shape, [p, zero, which], out_kind(k), rank=2).put(t.cast(v, elem))
    k.finish(dict(work="rotation"), [[P.small, 1, 1], [P.large, 1, 1]], None)


WORKS = dict(cross_entropy=cross_entropy, unpack=unpack, rows_in_turn=rows_in_turn, gated=gated, rotation=rotation)
