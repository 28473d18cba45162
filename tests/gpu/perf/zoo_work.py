"""The computations of the zoo's kernels: products, chains of two, reductions, scans, maps, consecutive loops, atomics.

Each function writes a kernel by its axes, and says what it must compute (`formula`, read by zoo_expected.py), its grid, and the
floating-point operations of a launch.
"""
import math

from zoo_memory import Source, run_loop
from zoo_operand import Operand, sums_of

LOG2_E = 1.4426950408889634
RATES = {"f16": 300, "bf16": 300, "f8E4M3FN": 400, "f8E5M2": 400, "i8": 300, "tf32": 150, "f32": 25, "f64": 12}   # flop/ps, about
SLOW = {"f32": 0.5, "f64": 0.5}


def cut_of(axes, tile, contiguous):
    """The number of elements that the last tile of an extent lacks."""
    if not axes["ragged"] or tile < 8:
        return 0
    if not contiguous:
        return min(5, tile // 2)
    return 16 if axes["align"] in ("16", "none") and tile > 16 else 8 if tile > 8 else 0


def batches(k, r):
    """Dimensions in front of matrices, by rank: sizes with their index; how many blocks they take, small and large."""
    t, rank = k.text, k.axes["rank"]
    if rank <= 2:
        return [], (1, 1)
    z = k.ids[2]
    if rank == 3:
        size = k.size("batch", 2, 8)
        return [(size, z)], (2, 8)
    heads = k.size("heads", 2, 4)
    batch = k.size("batch", 1, 4)
    return [(batch, t.div(z, heads.value)), (heads, t.rem(z, heads.value))], (2, 16)


def sink(k, name, elem, sizes, shape, index, batch=(), rank=2, origin=None):
    """The destination of results: a view if operands come through views."""
    array = k.array(name, elem, [*(s for s, _ in batch), *sizes], role="out")
    kind = "partition" if k.axes["source"] in ("partition", "strided", "gather") else "pointers"
    return Source(k, array, [*(1 for _ in batch), *shape], [*(i for _, i in batch), *index], kind, rank, origin)


def split(operands, tiles):
    """The loads of each operand."""
    given, at = [], 0
    for o in operands:
        given.append(tiles[at:at + len(o.sources)])
        at += len(o.sources)
    return given


def product_sizes(k, r, bm, bn, bk, copies):
    """Tiles along M, N and K: about a quarter of a millisecond's work, in one of the shapes that products have."""
    axes = k.axes
    rate = RATES[axes["compute"]] * min(1, bm * bn / (128 * 128)) ** 0.5 * (1 if axes["align"] in ("16", "none") else 0.5)
    work = min(rate * 250e6, 160e9) / copies     # operations
    form = axes["shape"]
    if form == "flat":      # few rows, as in decoding
        m, n = bm, 8192
        depth = max(512, 8192 // copies)
    elif form == "deep":
        m = n = 1024
        depth = work / 2 / m / n
    elif form == "wide":
        depth = 512
        m = 2048
        n = work / 2 / m / depth
    else:
        m = n = depth = (work / 2) ** (1 / 3)
    counts = [max(1, round(m / bm)), max(1, round(n / bn)), max(4, round(depth / bk))]
    counts[2] = max(8, counts[2] // 8 * 8)
    return [min(c, 65535 // b) for c, b in zip(counts, (bm, bn, bk))]


def place(k, tiles_m, tiles_n):
    """Which tile of the result a block computes: by x and y, or by one number, tiles in groups, as L2 likes it."""
    t, ids = k.text, k.ids
    if k.axes["grid"] == "plane":
        return ids[0], ids[1], lambda m, n, z: [m, n, z]
    if k.axes["grid"] == "line":
        return t.rem(ids[0], tiles_m.value), t.div(ids[0], tiles_m.value), lambda m, n, z: [m * n, 1, z]
    group = t.constant(8)
    per_group = t.mul(group, tiles_n.value)
    which = t.div(ids[0], per_group)
    first = t.mul(which, group)
    height = t.min(t.sub(tiles_m.value, first), group)
    inside = t.rem(ids[0], per_group)
    return t.add(first, t.rem(inside, height)), t.div(inside, height), lambda m, n, z: [m * n, 1, z]


class Frame:
    """The sizes, operands and place of a product."""

    def __init__(self, k, r):
        axes = k.axes
        self.bm, self.bn, self.bk = axes["tile"]
        self.batch, self.copies = batches(k, r)
        turned = [axes["route_a"]["turned"], axes["route_b"]["turned"]]
        tm, tn, tk = product_sizes(k, r, self.bm, self.bn, self.bk, self.copies[1])
        self.M, self.tiles_m = k.tiles("M", self.bm, 2, tm, cut_of(axes, self.bm, turned[0]))
        self.N, self.tiles_n = k.tiles("N", self.bn, 1, tn, cut_of(axes, self.bn, not turned[1]))
        cut = cut_of(axes, self.bk, True)
        self.K, self.tiles_k = k.tiles("K", self.bk, 4, tk, cut)
        self.m, self.n, self.grid = place(k, self.tiles_m, self.tiles_n)
        self.flops = 2 * self.copies[1] * self.M.large * self.N.large * self.K.large

    def operands(self, k, origin=None):
        axes = k.axes
        kinds = [axes["source"]] * 2
        if axes["source"] == "gather":
            kinds = ["gather", "partition"]
        deep = (self.K, self.bk, None)
        return [Operand(k, "A", (self.M, self.bm, self.m), deep, axes["compute"], axes["route_a"], kinds[0], self.batch, origin),
                Operand(k, "B", deep, (self.N, self.bn, self.n), axes["compute"], axes["route_b"], kinds[1], self.batch, origin)]

    def blocks(self):
        return [self.grid(self.tiles_m.small, self.tiles_n.small, self.copies[0]),
                self.grid(self.tiles_m.large, self.tiles_n.large, self.copies[1])]


def product_loop(k, operands, tiles_k, bk, shape):
    t, elem = k.text, sums_of(k.axes["compute"])
    zero = t.constant(0, elem, shape)

    def body(index, tiles, now):
        a, b = (o.tile(index, loads) for o, loads in zip(operands, split(operands, tiles)))
        return [t.mma(a, b, now[0])]
    sources = [s for o in operands for s in o.sources]
    return run_loop(k, k.axes["index"], tiles_k, bk, sources, [zero], body, k.ids[0])[0]


def epilogue(k, f, sums, shape):
    """The ops between the sums and the store."""
    t, what = k.text, k.axes["epilogue"]
    if what == "none" or sums.elem != "f32":
        return sums, {}
    if what == "scale":
        return t.mul(sums, t.constant(0.125, "f32", shape)), dict(scale=0.125)
    if what == "relu":
        return t.max(sums, t.constant(0, "f32", shape)), dict(relu=True)
    array = k.array("bias", "f32", [f.N])
    kind = "pointers" if k.axes["source"] in ("pointers", "carried", "modulo") else "partition"
    bias = Source(k, array, [f.bn], [f.n], kind, rank=1).get(None)
    x = t.add(sums, t.along(bias, 1, shape))
    if what == "bias":
        return x, dict(bias="bias")
    half = t.constant(0.5, "f32", shape)
    inner = t.mul(t.constant(0.7978845608, "f32", shape), t.add(x, t.mul(t.constant(0.044715, "f32", shape), t.mul(x, t.mul(x, x)))))
    return t.mul(t.mul(half, x), t.add(t.constant(1, "f32", shape), t.unary("tanh", inner))), dict(bias="bias", gelu=True)


def product(k, r):
    f = Frame(k, r)
    operands = f.operands(k)
    shape = (f.bm, f.bn)
    sums = product_loop(k, operands, f.tiles_k, f.bk, shape)
    sums, more = epilogue(k, f, sums, shape)
    elem = k.axes["result"] if sums.elem == "f32" else sums.elem
    sink(k, "C", elem, [f.M, f.N], shape, [f.m, f.n], f.batch).put(k.text.cast(sums, elem))
    k.finish(dict(work="product", A=operands[0].formula, B=operands[1].formula, block=f.bk, **more), f.blocks(), f.flops)


def product_reduce(k, r):
    """Products of which only a number a row and tile is kept: the largest, the sum, or the logarithm of the sum of exponentials."""
    f, t = Frame(k, r), k.text
    operands = f.operands(k)
    sums = product_loop(k, operands, f.tiles_k, f.bk, (f.bm, f.bn))
    how = r.choice(["max", "sum", "logsum"]) if sums.elem == "f32" else r.choice(["max", "sum"])
    if f.N.small % f.bn and how != "sum":
        how = "sum"
    if how == "logsum":
        x = t.mul(sums, t.constant(0.0625, "f32", sums.shape))
        high = t.reduce(x, 1, "max")
        parts = t.unary("exp", t.sub(x, t.along(high, 0, x.shape)))
        row = t.add(high, t.unary("log", t.reduce(parts, 1, "sum")))
    else:
        row = t.reduce(sums, 1, how)
    sink(k, "R", row.elem, [f.M, f.tiles_n], [f.bm, 1], [f.m, f.n], f.batch).put(row)
    k.finish(dict(work="product_reduce", A=operands[0].formula, B=operands[1].formula, block=f.bk, how=how, width=f.bn), f.blocks(),
             f.flops)


def product_atomic(k, r):
    """K is divided into parts, one for each block, which are added in memory."""
    f, t = Frame(k, r), k.text
    parts = [2, r.choice([2, 4])]
    per = k.split(f.tiles_k, 2, *parts)
    operands = f.operands(k, t.mul(k.ids[2], per.value))
    sums = product_loop(k, operands, per, f.bk, (f.bm, f.bn))
    out = Source(k, k.array("C", sums.elem, [f.M, f.N], init="zero", role="inout"), (f.bm, f.bn), (f.m, f.n), "pointers")
    pointers, mask = out.pointers_and_mask([f.m, f.n])
    t.atomic(pointers, sums, "add" if sums.elem == "i32" else "addf", mask)
    grids = f.blocks()
    for g, n in zip(grids, parts):
        g[2] = n
    k.finish(dict(work="product", A=operands[0].formula, B=operands[1].formula, block=f.bk, parts=parts), grids, f.flops)


def chain(k, r):
    """Attention and similar kernels: scores of queries and keys, ops on them, and a product with values."""
    axes, t = k.axes, k.text
    bm, bn, depth = axes["tile"]
    batch, copies = batches(k, r)
    head = k.size("D", depth, depth)
    causal = axes["route_a"]["guard"] == "mask"
    budget = RATES[axes["compute"]] * 250e6 * min(1, bm / 128) ** 0.5 * (0.6 if axes["compute"] in SLOW else 1)
    length = min(max(int((budget / 4 / depth / copies[1]) ** 0.5), 4 * max(bm, bn)), 16384)
    S, tiles_s = k.tiles("S", bm, 2, max(2, length // bm), 0)
    Tn, tiles_t = k.tiles("T", bn, max(2, 2 * bm // bn) if causal else 2, max(2, length // bn // 2 * 2), cut_of(axes, bn, False) * (axes["between"] != "softmax"))
    m = k.ids[0]
    kind = "pointers" if axes["source"] in ("carried", "modulo", "pointers") else "partition"
    q_array = k.array("Q", axes["route_a"]["raw"] if axes["route_a"]["raw"] in ("f32", "f16", "bf16") else axes["compute"],
                      [*(s for s, _ in batch), S, head])
    q = t.cast(Source(k, q_array, [*(1 for _ in batch), bm, depth], [*(i for _, i in batch), m, None], kind).get(t.constant(0)),
               axes["compute"])
    route = dict(axes["route_b"], turned=not axes["route_b"]["turned"], guard="none")   # keys lie by rows: turned is the usual way
    deep = (head, depth, t.constant(0))
    keys = Operand(k, "K", deep, (Tn, bn, None), axes["compute"], route, axes["source"], batch, packed=0)
    values = Operand(k, "V", (Tn, bn, None), (head, depth, t.constant(0)), axes["compute"],
                     dict(axes["route_b"], turned=False, guard="none"), axes["source"], batch, packed=1)
    sums = sums_of(axes["compute"])
    scale = 1 / math.sqrt(depth)
    zero_s, zero_o = t.constant(0, sums, (bm, bn)), t.constant(0, sums, (bm, depth))
    softmax = axes["between"] == "softmax"
    first = [zero_o, *([t.constant(-1e30, sums, (bm, 1)), t.constant(0, sums, (bm, 1))] if softmax else [])]

    def body(index, tiles, now):
        mine, theirs = split([keys, values], tiles)
        s = t.mma(q, keys.tile(index, mine), zero_s)
        if causal:
            at = t.add(t.broadcast(t.mul(index, t.constant(bn)), (bn,)), t.iota(bn))
            rows = t.add(t.broadcast(t.mul(m, t.constant(bm)), (bm,)), t.iota(bm))
            seen = t.compare("less_than_or_equal", t.along(at, 1, (bm, bn)), t.along(rows, 0, (bm, bn)))
        if not softmax:
            p = t.mul(s, t.constant(scale, sums, s.shape))
            if axes["between"] == "relu":
                p = t.max(p, zero_s)
            if causal:
                p = t.select(seen, p, zero_s)
            return [t.mma(t.cast(p, axes["compute"]), values.tile(index, theirs), now[0])]
        s = t.mul(s, t.constant(scale * LOG2_E, sums, s.shape))
        if causal:
            s = t.select(seen, s, t.constant(-1e30, sums, s.shape))
        high = t.max(now[1], t.reshape(t.reduce(s, 1, "max"), (bm, 1)))
        p = t.unary("exp2", t.sub(s, t.broadcast(high, s.shape)))
        if causal:
            p = t.select(seen, p, zero_s)
        alpha = t.unary("exp2", t.sub(now[1], high))
        total = t.add(t.mul(now[2], alpha), t.reshape(t.reduce(p, 1, "sum"), (bm, 1)))
        turned = t.mul(now[0], t.broadcast(alpha, now[0].shape))
        return [t.mma(t.cast(p, axes["compute"]), values.tile(index, theirs), turned), high, total]
    sources = [*keys.sources, *values.sources]
    results = run_loop(k, axes["index"], tiles_t, bn, sources, first, body, m)
    o = t.div(results[0], t.broadcast(results[2], results[0].shape)) if softmax else results[0]
    elem = axes["result"] if sums == "f32" else sums
    sink(k, "O", elem, [S, head], (bm, depth), [m, t.constant(0)], batch).put(t.cast(o, elem))
    k.finish(dict(work="chain", K=keys.formula, V=values.formula, between=axes["between"], causal=causal, scale=scale, block=bn),
             [[tiles_s.small, 1, copies[0]], [tiles_s.large, 1, copies[1]]], 4 * copies[1] * S.large * Tn.large * depth)
