"""The zoo's kernels without products: maps, reductions, scans, consecutive loops over rows, atomic additions."""
from zoo_memory import Size, Source, run_loop
from zoo_text import FLOATS, INTEGERS
from zoo_work import batches, cut_of, sink

BYTES = 256e6       # that a launch moves, about


def out_kind(k):
    return "pointers" if k.axes["source"] in ("pointers", "carried", "modulo") else "partition"


# ---- maps ----

class Program:
    """Random ops; the bound of each value is tracked, so that nothing overflows."""

    FLOAT = ["add", "sub", "mul", "max", "min", "fma", "abs", "neg", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "sin", "cos", "div",
             "relu", "where", "scale"]
    INTEGER = ["add", "sub", "mul", "max", "min", "and", "or", "xor", "shift", "where"]
    DAMP = 8.0

    def __init__(self, r, inputs, count, elem, light):
        self.bound, self.ops = [3.0] * inputs, []
        names = self.FLOAT if elem in FLOATS else self.INTEGER
        if light and elem in FLOATS:
            names = ["add", "sub", "mul", "max", "fma", "scale", "relu", "where"]
        for _ in range(count):
            self.draw(r, r.choice(names), inputs, elem in FLOATS)

    def draw(self, r, name, inputs, is_float):
        n = len(self.bound)
        recent = [r.randrange(max(0, n - 4), n) for _ in range(3)]
        x, y, z = recent[0], r.randrange(n), recent[2]
        args = {"fma": [x, y, z], "where": [r.randrange(inputs), x, y]}.get(
            name, [x, y] if name in ("add", "sub", "mul", "max", "min", "div", "and", "or", "xor") else [x])
        self.ops.append([name, *args])
        a = [self.bound[i] for i in args]
        size = {"add": sum(a), "sub": sum(a), "mul": a[0] * a[-1], "fma": a[0] * a[1 % len(a)] + a[-1], "exp": 1.0, "log": a[0], "sqrt": a[0] + 1,
                "rsqrt": 1.0, "tanh": 1.0, "sigmoid": 1.0, "sin": 1.0, "cos": 1.0, "div": a[0], "scale": a[0]}.get(name, max(a))
        self.bound.append(size)
        if is_float and size > self.DAMP:
            self.ops.append(["damp", n, self.DAMP / size])
            self.bound.append(self.DAMP)

    def write(self, t, values):
        """The ops on tiles; gives all values."""
        values = list(values)
        for name, *args in self.ops:
            values.append(self.one(t, name, args, values))
        return values

    @staticmethod
    def one(t, name, args, values):
        x = values[args[0]]
        if name == "damp":
            return t.mul(x, t.constant(args[1], x.elem, x.shape))
        y = values[args[-1]]

        def c(n):
            return t.constant(n, x.elem, x.shape)
        if name in ("add", "sub", "mul", "max", "min"):
            return getattr(t, name)(x, y)
        return {"fma": lambda: t.same("fma", x, values[args[1 % len(args)]], y), "abs": lambda: t.unary("absf", x),
                "neg": lambda: t.unary("negf", x), "exp": lambda: t.unary("exp", t.unary("negf", t.unary("absf", x))),
                "log": lambda: t.unary("log", t.add(c(1), t.unary("absf", x))),
                "sqrt": lambda: t.unary("sqrt", t.unary("absf", x)), "rsqrt": lambda: t.unary("rsqrt", t.add(c(1), t.mul(x, x))),
                "tanh": lambda: t.unary("tanh", x), "sin": lambda: t.unary("sin", x), "cos": lambda: t.unary("cos", x),
                "sigmoid": lambda: t.div(c(1), t.add(c(1), t.unary("exp", t.unary("negf", x)))),
                "div": lambda: t.div(x, t.add(c(1), t.unary("absf", y))), "relu": lambda: t.max(x, c(0)),
                "scale": lambda: t.mul(x, c(0.75)), "and": lambda: t.same("andi", x, y), "or": lambda: t.same("ori", x, y),
                "xor": lambda: t.same("xori", x, y), "shift": lambda: t.same("shri", x, c(1), more=" signed"),
                "where": lambda: t.select(t.compare("greater_than", x, c(0)), values[args[1]], y)}[name]()


def map_shape(k, r):
    """A tile shape of the rank, with about as many elements as the axis gives."""
    elements, rank = k.axes["elements"], k.axes["rank"]
    columns = min(elements, r.choice([64, 128, 256, 1024]) if rank > 1 else elements)
    rows = max(1, elements // columns)
    if rank == 1:
        return [elements]
    if rank == 2:
        return [rows, columns]
    if rank == 3:
        return [1, rows, columns]
    return [1, min(4, rows), max(1, rows // 4), columns]


def map_work(k, r):
    """Element by element; a block takes a tile, or several in a loop along the dimension before the last."""
    axes, t = k.axes, k.text
    shape = map_shape(k, r)
    elem, compute, inputs, outputs = axes["compute"], axes["arithmetic"], axes["inputs"], axes["outputs"]
    program = Program(r, inputs, axes["ops"], compute, axes["light"])
    size = (8 if elem == "f64" else 4 if elem in ("f32", "i32") else 2 if elem in ("f16", "bf16") else 1)
    total = axes.get("bytes", BYTES) / size / (inputs + outputs) / (4 if compute == "f64" else 1)
    moving = max(0, len(shape) - 2) if len(shape) > 1 else 0
    per = {"none": 1, "nested": 4}.get(axes["index"], 4)
    limit = total
    sizes, index, grid_small, grid_large = [], [], [], []
    for d, n in enumerate(shape):
        looped = d == moving
        small = 2 * per if looped else 1
        if looped:
            large = None
        else:
            large = max(1, 4096 // n) if d == len(shape) - 1 and len(shape) > 1 else 4 if n == 1 else max(1, 16 // n)
            limit /= large * n
        sizes.append([n, small, large])
    sizes[moving][2] = max(per, int(limit / sizes[moving][0]) // per * per)
    extents = [k.tiles("n%d" % d, n, small, large, cut_of(axes, n, d == len(shape) - 1)) for d, (n, small, large) in enumerate(sizes)]
    # Blocks: x along the loop's dimension, y along the last, z along the others
    ids, others = k.ids, [d for d in range(len(shape)) if d != moving]
    index = [None] * len(shape)
    grid_small, grid_large = [1, 1, 1], [1, 1, 1]
    if others:
        index[others[-1]] = ids[1]
        grid_small[1], grid_large[1] = extents[others[-1]][1].small, extents[others[-1]][1].large
    if len(others) == 2:
        index[others[0]] = ids[2]
        grid_small[2], grid_large[2] = extents[others[0]][1].small, extents[others[0]][1].large
    if len(others) == 3:
        n = extents[others[1]][1]
        index[others[0]], index[others[1]] = t.div(ids[2], n.value), t.rem(ids[2], n.value)
        grid_small[2] = extents[others[0]][1].small * n.small
        grid_large[2] = extents[others[0]][1].large * n.large
    count = extents[moving][1]
    looped = axes["index"] != "none"
    parts = Size(None, count.small // per, count.large // per) if looped and axes["index"] != "grid" else count
    grid_small[0], grid_large[0] = parts.small, parts.large
    steps = Size(t.constant(per), per, per)
    origin = t.mul(ids[0], steps.value) if looped and axes["index"] != "grid" else None
    if axes["index"] == "grid":
        grid_small[0], grid_large[0] = 2, min(count.large, 528)
    if not looped:
        index[moving] = ids[0]
    names = ["x%d" % i for i in range(inputs)]
    init = "normal" if elem in FLOATS else "between -90 91"
    sources = []
    for i, name in enumerate(names):
        vector = i > 0 and i == inputs - 1 and axes["broadcast"] and len(shape) > 1
        if vector:      # the same for all rows
            sources.append(Source(k, k.array(name, elem, [extents[-1][0]], init=init), [shape[-1]], [index[-1]], out_kind(k), rank=1))
        else:
            sources.append(Source(k, k.array(name, elem, [e for e, _ in extents], init=init), shape, index, axes["source"], rank=len(shape),
                                  origin=origin))
    sinks = [sink(k, "y%d" % i, elem, [e for e, _ in extents], shape, index, rank=len(shape), origin=origin) for i in range(outputs)]

    def one(place, loads):
        values = []
        for s, load in zip(sources, loads):
            x = load()
            values.append(t.cast(t.along(x, len(shape) - 1, shape) if len(x.shape) != len(shape) else x, compute))
        made = program.write(t, values)
        for i, s in enumerate(sinks):
            s.put(t.cast(made[len(made) - 1 - i], elem), place)
        return []
    if looped:
        run_loop(k, axes["index"], count if axes["index"] == "grid" else steps, sizes[moving][0], sources, [], lambda i, loads, now: one(i, loads), ids[0])
    else:
        one(None, [lambda s=s: s.get(None) for s in sources])
    exact = compute not in FLOATS
    repeated = "clamped" if axes["index"] == "clamped" else None
    k.finish(dict(work="map", inputs=names, ops=program.ops, outputs=["y%d" % i for i in range(outputs)], integer=exact,
                  per=per, tile=sizes[moving][0], along=moving, order=repeated, compute=compute, elem=elem), [grid_small, grid_large], None)


# ---- rows ----

class Rows:
    """Rows of a matrix, several for each block, whole or in tiles of columns by a loop."""

    def __init__(self, k, r, elem, least=2):
        axes, t = k.axes, k.text
        self.height, self.width = axes["rows"], axes["columns"]
        self.batch, self.copies = batches(k, r)
        size = {"f64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2}.get(elem, 1)
        count = 1 if axes["whole"] else max(least, 4096 // self.width, 4)
        count += count % 2 if not axes["whole"] else 0
        rows = max(2, round(axes.get("bytes", BYTES) / size / (count * self.width) / self.height / self.copies[1]))
        if axes["few"] and not axes["whole"]:      # few long rows
            count, rows = count * 8, max(2, rows // 8)
        small = 1 if axes["whole"] else 4 if self.width <= 1024 else 2
        self.M, self.tiles_m = k.tiles("M", self.height, 2, min(rows, 60000), cut_of(axes, self.height, False))
        self.N, self.tiles_n = k.tiles("N", self.width, small, count, cut_of(axes, self.width, True))
        self.grids = [[2, 1, self.copies[0]], [self.tiles_m.large, 1, self.copies[1]]]
        self.elem, self.k, self.m = elem, k, k.ids[0]
        self.route = axes["route_a"]
        self.text = t

    def source(self, name, raw=None, init=None, padding="zero"):
        k = self.k
        init = init or ("normal" if raw in FLOATS else "between -90 91")
        unsigned = raw == "u8"
        array = k.array(name, "i8" if unsigned else raw, [*(s for s, _ in self.batch), self.M, self.N],
                        init="below 200" if unsigned else init, dtype="u8" if unsigned else None)
        return Source(k, array, [*(1 for _ in self.batch), self.height, self.width], [*(i for _, i in self.batch), self.m, None],
                      k.axes["source"], padding=padding)

    def run(self, sources, operands, body):
        k = self.k
        if k.axes["whole"]:
            zero = self.text.constant(0)
            return body(zero, [lambda s=s: s.get(zero) for s in sources], operands)
        return run_loop(k, k.axes["index"], self.tiles_n, self.width, sources, operands, body, self.m)

    def columns(self, index):
        t = self.text
        return t.add(t.broadcast(t.mul(index, t.constant(self.width)), (self.width,)), t.iota(self.width))

    def inside(self, index, x, outside):
        """Columns beyond the last count as the neutral element of the comparison."""
        t = self.text
        if not self.N.small % self.width and not self.N.large % self.width:
            return x
        there = t.compare("less_than", self.columns(index), t.broadcast(self.N.value, (self.width,)))
        return t.select(t.along(there, 1, x.shape), x, t.constant(outside, x.elem, x.shape))

    def put(self, name, x, elem):
        """A number for each row."""
        sink(self.k, name, elem, [self.M], [self.height], [self.m], self.batch, rank=1).put(self.text.cast(x, elem))


def prepared(k, x, gate=None):
    """The tile in the type of the computation, squared or gated as the axes require."""
    t, how = k.text, k.axes["prepare"]
    x = t.cast(x, k.axes["arithmetic"], k.axes["route_a"]["raw"] != "u8")
    if how == "square":
        return t.mul(x, x)
    if how == "abs":
        return t.unary("absf", x)
    if how == "exp":
        return t.unary("exp", x)
    return t.mul(x, t.cast(gate, x.elem)) if how == "times" else x


def counts_least(axes):
    """Can elements outside the array count as less than all others?"""
    return axes["how"] in ("max", "arg") and axes["prepare"] == "none" and axes["route_a"]["raw"] in ("f16", "bf16", "f32", "f64")


def reduction(k, r):
    """A number for each row: sum, largest, or where the largest is; partial results are tiles, or a number a row, in each iteration."""
    axes, t = k.axes, k.text
    raw = axes["route_a"]["raw"]
    rows = Rows(k, r, raw)
    if not (axes["arithmetic"] in FLOATS):
        axes["prepare"] = "none"
    padding = axes["padding"] if counts_least(axes) else "zero"
    x = rows.source("X", raw, padding=padding)
    sources = [x] + ([rows.source("G", raw)] if axes["prepare"] == "times" else [])
    elem, how, shape = axes["arithmetic"], axes["how"], (rows.height, rows.width)
    least = -1e30 if elem in FLOATS else -(1 << 30)
    start = 0 if how == "sum" else least

    def value(index, loads):
        y = prepared(k, *[load() for load in loads])
        if padding == "neg_inf":
            return y
        return rows.inside(index, y, start) if how != "sum" or axes["prepare"] == "exp" else y
    if how == "arg":
        wide = [t.constant(least, elem, shape), t.constant(0, "i32", shape)]

        def body(index, loads, now):
            y = value(index, loads)
            columns = t.along(rows.columns(index), 1, shape)
            better = t.first_of(y, columns, now[0], now[1])
            return [t.select(better, y, now[0]), t.select(better, columns, now[1])]
        best, at = rows.run(sources, wide, body)
        _, row = t.arg_max(best, at, 1)
        rows.put("R", row, "i32")
    else:
        combine = {"sum": t.add, "max": t.max}[how]
        if axes["partial"] == "tile":
            total = rows.run(sources, [t.constant(start, elem, shape)], lambda i, loads, now: [combine(now[0], value(i, loads))])[0]
            row = t.reduce(total, 1, how)
        else:
            row = rows.run(sources, [t.constant(start, elem, shape[:1])],
                           lambda i, loads, now: [combine(now[0], t.reduce(value(i, loads), 1, how))])[0]
        rows.put("R", row, elem)
    k.finish(dict(work="reduction", how=how, prepare=axes["prepare"], block=rows.width, whole=axes["whole"], unsigned=raw == "u8"),
             rows.grids, None)


def column_sum(k, r):
    """A number for each column: the loop runs over rows; the parts that blocks have are added in memory, or stored."""
    axes, t = k.axes, k.text
    elem, height, width = axes["route_a"]["raw"], axes["rows"], min(axes["columns"], 512)
    size = {"f64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2}.get(elem, 1)
    columns = max(2, 8192 // width)
    parts = [2, 32]
    rows = max(2 * parts[1], round(BYTES / size / (columns * width) / height) // (2 * parts[1]) * 2 * parts[1])
    M, tiles = k.tiles("M", height, 4 * parts[0], rows, 0)
    N, tiles_n = k.tiles("N", width, 1, columns, cut_of(axes, width, True))
    per = k.split(tiles, 1, *parts)
    array = k.array("X", elem, [M, N], init="normal" if elem in FLOATS else "between -9 10")
    x = Source(k, array, [height, width], [None, k.ids[0]], axes["source"], origin=t.mul(k.ids[1], per.value))
    compute, shape = axes["arithmetic"], (height, width)
    if axes["partial"] == "tile":
        total = run_loop(k, axes["index"], per, height, [x], [t.constant(0, compute, shape)],
                         lambda i, loads, now: [t.add(now[0], t.cast(loads[0](), compute))], k.ids[1])[0]
        row = t.reduce(total, 0, "sum")
    else:
        row = run_loop(k, axes["index"], per, height, [x], [t.constant(0, compute, (width,))],
                       lambda i, loads, now: [t.add(now[0], t.reduce(t.cast(loads[0](), compute), 0, "sum"))], k.ids[1])[0]
    out = Source(k, k.array("Y", compute, [N], init="zero", role="inout"), [width], [k.ids[0]], "pointers", rank=1)
    pointers, mask = out.pointers_and_mask([k.ids[0]])
    t.atomic(pointers, row, "addf" if compute in FLOATS else "add", mask)
    k.finish(dict(work="column_sum", per=height, parts=parts),
             [[tiles_n.small, parts[0], 1], [tiles_n.large, parts[1], 1]], None)


def histogram(k, r):
    """Additions at addresses given by the data."""
    axes, t = k.axes, k.text
    width, bins = min(axes["columns"], 4096), r.choice([64, 256, 4096])
    per = 4
    count = max(per, int(64e6 / 4 / width) // per * per)
    N, tiles = k.tiles("N", width, 8, count, cut_of(axes, width, True))
    array = k.array("X", "i32", [N], init="below %d" % bins)
    counts = k.array("counts", "i32", [Size(None, bins, bins)], init="zero", role="inout")
    x = Source(k, array, [width], [None], axes["source"], rank=1, origin=t.mul(k.ids[0], t.constant(per)))
    steps = Size(t.constant(per), per, per)

    def body(index, loads, now):
        at = loads[0]()
        where = t.offset(t.broadcast(counts.pointer, (width,)), at)
        mask = x.moving_mask(index)
        t.atomic(where, t.constant(1, "i32", (width,)), "add", mask)
        return []
    run_loop(k, axes["index"], steps, width, [x], [], body, k.ids[0])
    k.finish(dict(work="histogram", bins=bins, block=width, per=per), [[8 // per, 1, 1], [count // per, 1, 1]], None)


def scan(k, r):
    """Running sums of rows; with a loop, the sum so far is carried."""
    axes, t = k.axes, k.text
    elem, compute = axes["route_a"]["raw"], axes["arithmetic"]
    rows = Rows(k, r, elem)
    x = rows.source("X", elem, "normal" if elem in FLOATS else "between -3 4")
    out = sink(k, "Y", elem if elem in ("f16", "bf16") else compute, [rows.M, rows.N], (rows.height, rows.width), [rows.m, None], rows.batch)
    backwards = axes["index"] == "reversed"

    def body(index, loads, now):
        y = t.scan(t.cast(loads[0](), compute), 1, backwards)
        so_far = t.add(y, t.along(now[0], 0, y.shape))
        out.put(t.cast(so_far, out.array.elem), index)
        return [self_sum(t, now[0], y, backwards)]
    rows.run([x], [t.constant(0, compute, (rows.height,))], body)
    k.finish(dict(work="scan", backwards=backwards), rows.grids, None)


def self_sum(t, before, y, backwards):
    """The sum of a tile is the last of its running sums."""
    edge = t.constant(0 if backwards else y.shape[1] - 1, "i32", (y.shape[1],))
    here = t.compare("equal", t.iota(y.shape[1]), edge)
    last = t.select(t.along(here, 1, y.shape), y, t.constant(0, y.elem, y.shape))
    return t.add(before, t.reduce(last, 1, "sum"))


def three(k, r):
    """Loops over the same rows, one after the other: softmax, layer and root-mean-square norms, logarithms of softmax."""
    axes, t = k.axes, k.text
    elem = axes["route_a"]["raw"]
    rows = Rows(k, r, elem)
    shape, how = (rows.height, rows.width), axes["norm"]
    padding = axes["padding"] if how in ("softmax", "logsoftmax") else "zero"
    x = rows.source("X", elem, padding=padding)
    out = sink(k, "Y", elem, [rows.M, rows.N], shape, [rows.m, None], rows.batch)

    def load(loads):
        return t.cast(loads[0](), "f32")

    def total(body, start=0.0, combine="sum"):
        """A loop that gives a number a row."""
        join = {"sum": t.add, "max": t.max}[combine]
        whole = rows.run([x], [t.constant(start, "f32", shape)], lambda i, loads, now: [join(now[0], body(i, load(loads)))])[0]
        return t.reduce(whole, 1, combine)
    count = t.broadcast(t.cast(rows.N.value, "f32"), (rows.height,))
    if how in ("softmax", "logsoftmax"):
        def inside(index, y, outside):
            return y if padding == "neg_inf" else rows.inside(index, y, outside)
        high = total(lambda i, y: inside(i, y, -1e30), -1e30, "max")

        def away(y):
            return t.sub(y, t.along(high, 0, shape))
        sums = total(lambda i, y: inside(i, t.unary("exp", away(y)), 0))
        if how == "softmax":
            def last(i, y):
                return t.div(t.unary("exp", away(y)), t.along(sums, 0, shape))
        else:
            def last(i, y):
                return t.sub(away(y), t.along(t.unary("log", sums), 0, shape))
    elif how == "rms":
        squares = t.div(total(lambda i, y: t.mul(y, y)), count)
        inverse = t.unary("rsqrt", t.add(squares, t.constant(1e-5, "f32", squares.shape)))

        def last(i, y):
            return t.mul(y, t.along(inverse, 0, shape))
    else:
        mean = t.div(total(lambda i, y: y), count)

        def centred(y):
            return t.sub(y, t.along(mean, 0, shape))
        spread = t.div(total(lambda i, y: rows.inside(i, t.mul(centred(y), centred(y)), 0)), count)
        inverse = t.unary("rsqrt", t.add(spread, t.constant(1e-5, "f32", spread.shape)))

        def last(i, y):
            return t.mul(centred(y), t.along(inverse, 0, shape))
    weights = []
    if axes["weights"]:
        array = k.array("W", "f32", [rows.N], init="normal")
        weights = [Source(k, array, [rows.width], [None], out_kind(k), rank=1)]

    def store(index, loads, now):
        y = last(index, load(loads))
        if weights:
            y = t.mul(y, t.along(loads[1](), 1, shape))
        out.put(t.cast(y, elem), index)
        return []
    rows.run([x, *weights], [], store)
    k.finish(dict(work="three", how=how, weights="W" if weights else None), rows.grids, None)


WORKS = dict(map=map_work, reduction=reduction, column_sum=column_sum, histogram=histogram, scan=scan, three=three)
TYPES = dict(INTEGERS, **FLOATS)
