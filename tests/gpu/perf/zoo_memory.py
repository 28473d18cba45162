"""The sources and destinations of the zoo's tiles: arrays, the promises about them, and the ways to address them."""
import math

from zoo_text import BITS, FLOATS, Value, tile

RUN_TYPES = {"f8E4M3FN": "f8e4m3fn", "f8E5M2": "f8e5m2"}    # as `tilevm run` and the manifest call them


class Size:
    """A length that is known at launch: two values, one for checks and one for timing."""

    def __init__(self, value, small, large):
        self.value, self.small, self.large = value, small, large

    def both(self):
        return self.small, self.large


class Array:
    """pad: unused elements at the end of each row."""

    def __init__(self, kernel, name, elem, sizes, pad=0, init="normal", role="in", dtype=None):
        self.kernel, self.name, self.elem, self.sizes = kernel, name, elem, sizes
        self.pointer = kernel.text.param("ptr<%s>" % elem)
        steps = ([], [])
        for which in (0, 1):
            step, lengths = 1, [s.both()[which] for s in sizes]
            for d in reversed(range(len(lengths))):
                steps[which].insert(0, step)
                step *= lengths[d] + (pad if d == len(lengths) - 1 else 0)
        kernel.arguments.append(dict(name=name, dtype=dtype or RUN_TYPES.get(elem, elem), init=init, role=role,
                                     small=dict(shape=[s.small for s in sizes], strides=steps[0]),
                                     large=dict(shape=[s.large for s in sizes], strides=steps[1])))
        self.steps = list(zip(*steps))
        self.strides = [kernel.stride(*pair) for pair in self.steps[:-1]]
        kernel.promise_base(self)

    @property
    def bytes(self):
        return BITS[self.elem] // 8


class Kernel:
    """A kernel being composed: text, arguments, and what the axes say about promises and addressing."""

    def __init__(self, text, axes):
        self.text, self.axes, self.arguments, self.formula = text, axes, [], {}
        self.known, self.ids = {}, text.block_id()

    def size(self, name, small, large):
        """Adds a parameter of type i32."""
        if small == large and self.axes["extents"] == "static":
            return Size(self.text.constant(small), small, large)
        v = self.text.param("i32")
        self.arguments.append(dict(name=name, dtype="i32", small=dict(value=small), large=dict(value=large)))
        size = Size(self.promised(v, math.gcd(small, large), 1), small, large)
        return size

    def stride(self, small, large):
        if small == large and self.axes["extents"] == "static":
            return self.text.constant(small)
        for v, pair in self.known.values():
            if pair == (small, large):
                return v
        v = self.text.param("i32")
        self.arguments.append(dict(name="step%d" % len(self.arguments), dtype="i32", small=dict(value=small), large=dict(value=large)))
        self.known[v.name] = (v, (small, large))
        return v

    def head(self, v, predicate):
        """An assume in the head, where parameters are."""
        out = Value(self.text.fresh(), v.shape, v.elem)
        self.text.head.append("  %s = assume %s, %s : %s" % (out.name, predicate, v.name, v.type))
        return out

    def promised(self, v, divisor, least):
        """Adds the promises about a number: that it is not negative, and its divisor."""
        if self.axes["extents"] in ("bounded", "static"):
            v = self.head(v, "bounded<0, ?>")
        divisor = math.gcd(divisor, 16)
        if self.axes["align"] not in ("none", "odd") and divisor > least:
            v = self.head(v, "div_by<%d>" % divisor)
        return v

    def promise_base(self, array):
        """Promises the alignment of a base, and of strides if they have one."""
        promised = {"16": 16, "8": 8, "4": 4, "2": 0, "none": 0, "odd": 0}[self.axes["align"]]
        if promised:
            array.pointer = self.head(array.pointer, "div_by<16>")
            for d, v in enumerate(array.strides):
                divisor = math.gcd(math.gcd(*array.steps[d]), 16 // array.bytes or 1)
                if v.name.startswith("%p") and divisor > 1:
                    array.strides[d] = self.head(v, "div_by<%d>" % divisor)

    def tiles(self, name, tile, small, large, cut=0):
        """An extent of that many tiles, the last of which lacks `cut` elements; and the number of tiles, computed by the kernel."""
        size = self.size(name, small * tile - cut, large * tile - cut)
        if tile == 1:
            return size, size
        t = self.text
        count = t.div(t.add(size.value, t.constant(tile - 1)) if cut or self.axes["masks"] == "always" else size.value,
                      t.constant(tile))
        return size, Size(count, small, large)

    def split(self, count, along, small, large):
        """The tiles of each block along a dimension of the grid with that many blocks."""
        value = self.text.div(count.value, self.text.blocks()[along])
        return Size(value, count.small // small, count.large // large)

    def finish(self, formula, grids, flops):
        """grids: with small and large sizes; flops: of a launch with large ones, None where bytes count."""
        self.formula, self.grids, self.flops = formula, grids, flops

    def table(self, n):
        """A table with the position of the i-th tile: a permutation."""
        if "pages" not in self.known:
            self.known["pages"] = (self.array("pages", "i32", [n], init="permutation").pointer, None)
        return self.known["pages"][0]

    def array(self, name, elem, sizes, init="normal", role="in", dtype=None):
        return Array(self, name, elem, sizes, self.pad(elem), init, role, dtype)

    def pad(self, elem):
        """Pads each row, so that rows have exactly the alignment that the axis gives."""
        return {"16": 0, "none": 0, "8": 8, "4": 4, "2": 2, "odd": 1}[self.axes["align"]] * 8 // BITS[elem] or \
            (1 if self.axes["align"] in ("8", "4", "2", "odd") else 0)


class Source:
    """Tiles of an array at a place of a grid of tiles. shape: of the tile, one length a dimension; index: the place, None for
    the dimension along which the loop runs. The tile that comes has the last dimensions, as many as `rank` says."""

    def __init__(self, kernel, array, shape, index, kind, rank=2, origin=None, padding="zero"):
        self.padding = padding  # what elements outside of the array count as: zero, neg_inf
        self.kernel, self.array, self.shape, self.index, self.kind = kernel, array, list(shape), list(index), kind
        self.origin = origin    # tile at which the loop's tiles begin
        self.out = tuple(self.shape[len(self.shape) - rank:])
        self.moving = next((d for d, i in enumerate(index) if i is None), None)
        ragged = [any(n % t for n in s.both()) for s, t in zip(array.sizes, shape)]
        self.checked = [r or (kernel.axes["masks"] == "always" and t > 1) for r, t in zip(ragged, shape)]
        self.ragged, self.view = any(ragged), None
        if kind in ("partition", "strided", "gather"):
            self.make_view()

    # Views

    def make_view(self):
        k, a, t = self.kernel, self.array, self.kernel.text
        static = k.axes["extents"] == "static"
        lengths = [str(s.small) if static and s.small == s.large else "?" for s in a.sizes]
        steps = [str(p[0]) if static and p[0] == p[1] or p == (1, 1) else "?" for p in a.steps]
        values = [*(s.value for s, w in zip(a.sizes, lengths) if w == "?"), *(v for v, w in zip(a.strides, steps) if w == "?")]
        kind = "tensor_view<%sx%s, strides=[%s]>" % ("x".join(lengths), a.elem, ",".join(steps))
        tensor = Value(t.fresh(), (), kind)
        shown = [s.value.name if w == "?" else w for s, w in zip(a.sizes, lengths)]
        paces = [v.name if w == "?" else w for v, w in zip([*a.strides, None], steps)]
        t.line("%s = make_tensor_view %s, shape = [%s], strides = [%s] : %s%s", tensor.name, a.pointer.name, ", ".join(shown),
               ", ".join(paces), "tile<i32> -> " if values else "", kind)
        box = "x".join(map(str, self.shape))
        padding = "padding_value = %s, " % self.padding if self.ragged or k.axes["masks"] == "always" else ""
        word, form = {"partition": ("make_partition_view", "partition_view<tile=(%s), %s%s>"),
                      "strided": ("make_strided_view", "strided_view<tile=(%s), traversal_strides=[%s], %s%s>"),
                      "gather": ("make_gather_scatter_view", "gather_scatter_view<tile=(%s), %s%s, sparse_dim=%d>")}[self.kind]
        if self.kind == "strided":
            self.paces = [n // 2 if n > 1 and n % 2 == 0 else n for n in self.shape]
            words = (box, ",".join(map(str, self.paces)), padding, kind)
        elif self.kind == "gather":
            self.sparse = self.moving if self.moving is not None else 0
            words = (box, padding, kind, self.sparse)
        else:
            words = (box, padding, kind)
        self.view = View(t.fresh(), self.shape, a.elem, form % words)
        t.line("%s = %s %s : %s", self.view.name, word, tensor.name, self.view.type)

    def view_index(self, index):
        t = self.kernel.text
        if self.kind == "strided":
            return [i if p == n else t.mul(i, t.constant(n // p)) for i, n, p in zip(index, self.shape, self.paces)]
        if self.kind == "gather":
            n = self.shape[self.sparse]
            return [t.add(t.iota(n), t.broadcast(t.mul(i, t.constant(n)), (n,))) if d == self.sparse else
                    t.mul(i, t.constant(self.shape[d])) if self.shape[d] > 1 else i for d, i in enumerate(index)]
        return index

    # Pointers

    def places(self, d, i):
        """The elements of the i-th tile along a dimension, and a mask of those that exist."""
        t, n = self.kernel.text, self.shape[d]
        at = t.add(t.broadcast(t.mul(i, t.constant(n)), (n,)), t.iota(n)) if n > 1 else t.broadcast(i, (1,))
        inside = None
        if self.checked[d]:
            limit = t.broadcast(self.array.sizes[d].value, (n,))
            if self.kind == "modulo" and d != self.moving:
                at = t.rem(at, limit)
            else:
                inside = t.compare("less_than", at, limit)
        return at, inside

    def pointers_and_mask(self, index):
        """Adds the offsets of the dimensions to the base one after the other, or their sum."""
        t, shape, mask = self.kernel.text, self.shape, None
        pointers, offsets = None, None
        for d, i in enumerate(index):
            at, inside = self.places(d, i)
            if inside:
                mask = t.both(mask, t.along(inside, d, shape)) if mask else t.along(inside, d, shape)
            if d < len(shape) - 1:
                at = t.mul(at, t.broadcast(self.array.strides[d], at.shape))
            if self.kernel.axes["offsets"] == "added":
                wide = t.along(at, d, shape)
                offsets = t.add(offsets, wide) if offsets else wide
            else:
                base = pointers or t.broadcast(self.array.pointer, [1] * len(shape))
                reached = [m if e <= d else 1 for e, m in enumerate(shape)]
                pointers = t.offset(t.broadcast(base, reached), t.along(at, d, reached))
        if offsets:
            pointers = t.offset(t.broadcast(self.array.pointer, shape), offsets)
        return pointers, mask

    def filled(self, i):
        if self.moving is not None and self.origin:
            i = self.kernel.text.add(self.origin, i)
        return [i if d is None else d for d in self.index]

    # What a loop does with it

    def begin(self, first):
        """The initial values that the loop carries for this source, starting at a tile."""
        return [self.pointers_and_mask(self.filled(first))[0]] if self.kind == "carried" else []

    def advance(self, carried, delta):
        if self.kind != "carried":
            return []
        t, n, d = self.kernel.text, self.shape[self.moving], self.moving
        if d == len(self.shape) - 1:
            step = t.constant(n * delta, "i32", self.shape)
        else:
            step = t.broadcast(t.mul(self.array.strides[d], t.constant(n * delta)), self.shape)
        return [t.offset(carried[0], step)]

    def moving_mask(self, i):
        """The mask of carried pointers: the rest of the loop's dimension, and the bounds of the others."""
        t, mask = self.kernel.text, None
        for d, at in enumerate(self.filled(i)):
            if self.checked[d]:
                inside = t.along(self.places(d, at)[1], d, self.shape)
                mask = t.both(mask, inside) if mask else inside
        return mask

    def get(self, i, carried=()):
        k, t = self.kernel, self.kernel.text
        index = self.filled(i)
        if self.view:
            return t.reshape(t.load_view(self.view, self.view_index(index)), self.out)
        if carried:
            pointers, mask = carried[0], self.moving_mask(i)
        else:
            pointers, mask = self.pointers_and_mask(index)
        outside = {"zero": 0, "neg_inf": -math.inf}[self.padding]
        padding = t.constant(outside, self.array.elem, self.shape) if mask else None
        return t.reshape(t.load(pointers, mask, padding), self.out)

    def put(self, x, i=None):
        """Stores a tile."""
        t, index = self.kernel.text, self.filled(i)
        x = t.reshape(x, self.shape)
        if self.view:
            return t.store_view(x, self.view, self.view_index(index))
        pointers, mask = self.pointers_and_mask(index)
        return t.store(pointers, x, mask)


class View:
    def __init__(self, name, shape, elem, kind):
        self.name, self.shape, self.elem, self.type = name, tuple(shape), elem, kind


# Loops: which tiles an iteration takes

AFFINE = ("counter", "secondary", "reversed", "strided", "nested", "while")
FORMS = (*AFFINE, "rotated", "clamped", "table", "grid")
INNER = 2   # iterations of the inner loop of nested ones


def order(form, n):
    """The tiles that a loop reads, as a set; it differs from all tiles only if some are read twice and others never."""
    return [min(i + 1, n - 1) for i in range(n)] if form == "clamped" else None


def run_loop(kernel, form, n, length, sources, operands, body, turn=None):
    """body(index, tiles, carried) gives the next carried values; tiles: a function for each source. n: tiles, a Size; length: of
    a tile along the loop; turn: by which rotated ones begin. Gives the results of what body carries."""
    t = kernel.text
    zero, one = t.constant(0), t.constant(1)
    delta = -1 if form == "reversed" else 1
    last = t.sub(n.value, one) if form in ("reversed", "clamped") else None
    pages = kernel.table(n) if form == "table" else None
    begun = [s.begin(last if form == "reversed" else zero) for s in sources]
    counts = [len(b) for b in begun]
    counter = [zero] if form in ("secondary", "while") else []
    carried = [*counter, *(v for b in begun for v in b), *operands]

    def step(index, now):
        """One iteration; `now` has the carried values."""
        at, tiles, mine = len(counter), [], []
        for s, count in zip(sources, counts):
            mine.append(now[at:at + count])
            tiles.append(lambda s=s, values=now[at:at + count]: s.get(index, values))
            at += count
        given = body(index, tiles, now[at:])
        following = [v for s, values in zip(sources, mine) for v in s.advance(values, delta)]
        return [*([t.add(now[0], one)] if counter else []), *following, *given]

    def index_of(c, now):
        if form == "secondary":
            return now[0]
        if form == "reversed":
            return t.sub(last, c)
        if form == "strided":
            return t.div(c, t.constant(length))
        if form == "rotated":
            return t.rem(t.add(c, turn), n.value)
        if form == "clamped":
            return t.min(t.add(c, one), last)
        if form == "table":
            return t.load(t.offset(pages, c))
        return c

    if form == "while":
        results = t.while_loop(carried, lambda now: t.compare("greater_than_or_equal", now[0], n.value),
                               lambda now: step(now[0], now))
    elif form == "nested":
        inner = t.constant(INNER)

        def outer(o, values):
            return t.for_loop(zero, inner, one, values, lambda i, now: step(t.add(t.mul(o, inner), i), now))
        results = t.for_loop(zero, t.div(n.value, inner), one, carried, outer)
    elif form == "strided":
        results = t.for_loop(zero, t.mul(n.value, t.constant(length)), t.constant(length), carried,
                             lambda c, now: step(index_of(c, now), now))
    elif form == "grid":
        results = t.for_loop(turn, n.value, t.blocks()[0], carried, lambda c, now: step(c, now))
    else:
        results = t.for_loop(zero, n.value, one, carried, lambda c, now: step(index_of(c, now), now))
    return results[len(counter) + sum(counts):]
