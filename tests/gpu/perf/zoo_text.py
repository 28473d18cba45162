"""Tile IR assembly, written op by op: values know their types, so that callers need not spell them out."""
import math

FLOATS = {"f16": 16, "bf16": 16, "f32": 32, "tf32": 32, "f64": 64, "f8E4M3FN": 8, "f8E5M2": 8}
INTEGERS = {"i1": 1, "i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
BITS = {**FLOATS, **INTEGERS}


class Value:
    """shape () is a scalar."""

    def __init__(self, name, shape, elem):
        self.name, self.shape, self.elem = name, tuple(shape), elem

    @property
    def type(self):
        return tile(self.shape, self.elem)


def tile(shape, elem):
    return "tile<%s>" % "x".join([*map(str, shape), elem])


NEG_INF = dict(f16="0xFC00", bf16="0xFF80", f32="0xFF800000", f64="0xFFF0000000000000")


def number(value, elem):
    if value == -math.inf:
        return NEG_INF[elem]
    if elem in FLOATS:
        digits, power, exponent = repr(float(value)).partition("e")
        return digits + ("" if "." in digits else ".0") + power + exponent
    return str(int(value))


class Text:
    """A kernel being written. Constants, and values that depend only on parameters, go to the head."""

    def __init__(self):
        self.params, self.head, self.lines, self.indent, self.count, self.constants = [], [], [], 1, 0, {}
        self.hints, self.latency = "", None

    def fresh(self):
        self.count += 1
        return "%%v%d" % self.count

    def line(self, text, *words):
        self.lines.append("  " * self.indent + (text % words if words else text))

    def param(self, elem):
        v = Value("%%p%d" % len(self.params), (), elem)
        self.params.append(v)
        return v

    def op(self, shape, elem, text, *words):
        """An op with one result; text is the part after `=`."""
        v = Value(self.fresh(), shape, elem)
        self.line("%s = %s", v.name, text % words if words else text)
        return v

    def constant(self, value, elem="i32", shape=()):
        key = (value, elem, tuple(shape))
        if key not in self.constants:
            v = Value(self.fresh(), shape, elem)
            self.head.append("  %s = constant <%s: %s> : %s" % (v.name, elem, number(value, elem), v.type))
            self.constants[key] = v
        return self.constants[key]

    # Elements

    def same(self, mnemonic, *operands, more=""):
        """The result has the type of the last operand."""
        last = operands[-1]
        return self.op(last.shape, last.elem, "%s %s%s : %s", mnemonic, ", ".join(v.name for v in operands), more, last.type)

    def add(self, x, y):
        return self.same("addf" if x.elem in FLOATS else "addi", x, y)

    def sub(self, x, y):
        return self.same("subf" if x.elem in FLOATS else "subi", x, y)

    def mul(self, x, y):
        return self.same("mulf" if x.elem in FLOATS else "muli", x, y)

    def div(self, x, y):
        return self.same("divf", x, y) if x.elem in FLOATS else self.same("divi", x, y, more=" signed")

    def rem(self, x, y):
        return self.same("remi", x, y, more=" signed")

    def min(self, x, y):
        return self.same("minf", x, y) if x.elem in FLOATS else self.same("mini", x, y, more=" signed")

    def max(self, x, y):
        return self.same("maxf", x, y) if x.elem in FLOATS else self.same("maxi", x, y, more=" signed")

    def unary(self, mnemonic, x):
        return self.same(mnemonic, x)

    def compare(self, how, x, y):
        kind = "cmpf %s ordered" if x.elem in FLOATS else "cmpi %s"
        sign = "" if x.elem in FLOATS else ", signed"
        v = Value(self.fresh(), x.shape, "i1")
        self.line("%s = %s %s, %s%s : %s -> %s", v.name, kind % how, x.name, y.name, sign, x.type, v.type)
        return v

    def both(self, x, y):
        return self.same("andi", x, y) if x and y else x or y

    def select(self, condition, x, y):
        return self.op(x.shape, x.elem, "select %s, %s, %s : %s, %s", condition.name, x.name, y.name, condition.type, x.type)

    def cast(self, x, elem, signed=True):
        """A conversion between any two number types."""
        if x.elem == elem:
            return x
        sign = "signed" if signed else "unsigned"
        kinds = (x.elem in FLOATS, elem in FLOATS)
        word = {(True, True): "ftof", (True, False): "ftoi", (False, True): "itof",
                (False, False): "exti" if INTEGERS.get(elem, 0) > INTEGERS.get(x.elem, 0) else "trunci"}[kinds]
        more = "" if word in ("ftof", "trunci") else " " + sign
        return self.op(x.shape, elem, "%s %s%s : %s -> %s", word, x.name, more, x.type, tile(x.shape, elem))

    # Shapes

    def reshape(self, x, shape):
        if x.shape == tuple(shape):
            return x
        return self.op(shape, x.elem, "reshape %s : %s -> %s", x.name, x.type, tile(shape, x.elem))

    def broadcast(self, x, shape):
        """A scalar, or a tile with ones where it is repeated."""
        if x.shape == tuple(shape):
            return x
        if not x.shape:
            x = self.reshape(x, (1,) * len(shape))
        if x.shape == tuple(shape):
            return x
        return self.op(shape, x.elem, "broadcast %s : %s -> %s", x.name, x.type, tile(shape, x.elem))

    def along(self, x, dim, shape):
        """A vector, along one dimension of a shape."""
        return self.broadcast(self.reshape(x, [n if d == dim else 1 for d, n in enumerate(shape)]), shape)

    def permute(self, x, order):
        shape = [x.shape[d] for d in order]
        return self.op(shape, x.elem, "permute %s [%s] : %s -> %s", x.name, ", ".join(map(str, order)), x.type, tile(shape, x.elem))

    def cat(self, x, y, dim):
        shape = [n + y.shape[d] if d == dim else n for d, n in enumerate(x.shape)]
        return self.op(shape, x.elem, "cat %s, %s dim = %d : %s, %s -> %s", x.name, y.name, dim, x.type, y.type, tile(shape, x.elem))

    def iota(self, n):
        return self.op((n,), "i32", "iota : tile<%dxi32>", n)

    # Folds: body(x, y) takes and gives lists of scalars

    def fold(self, word, operands, dim, identities, body, middle=""):
        rest = [n for d, n in enumerate(operands[0].shape) if d != dim] if word == "reduce" else operands[0].shape
        results = [Value(self.fresh(), rest, v.elem) for v in operands]
        sides = [[Value(self.fresh(), (), v.elem) for v in operands] for _ in range(2)]
        pairs = [v for pair in zip(*sides) for v in pair]
        self.line("%s = %s %s dim=%d%s identities=[%s] : %s -> %s", ", ".join(v.name for v in results), word,
                  ", ".join(v.name for v in operands), dim, middle,
                  ", ".join("%s : %s" % (n if isinstance(n, str) else number(n, v.elem), v.elem) for n, v in zip(identities, operands)),
                  ", ".join(v.type for v in operands), ", ".join(v.type for v in results))
        self.line("(%s) {", ", ".join("%s: %s" % (v.name, v.type) for v in pairs))
        self.indent += 1
        given = body(*sides)
        self.line("yield %s : %s", ", ".join(v.name for v in given), ", ".join(v.type for v in given))
        self.indent -= 1
        self.line("}")
        return results

    LEAST = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000", "f64": "0xFFF0000000000000", "i32": "-2147483648", "i8": "-128"}

    def reduce(self, x, dim, how):
        combine = {"sum": self.add, "max": self.max}[how]
        identity = 0 if how == "sum" else self.LEAST[x.elem]
        return self.fold("reduce", [x], dim, [identity], lambda a, b: [combine(a[0], b[0])])[0]

    def scan(self, x, dim, reverse=False):
        middle = " reverse=%s" % str(reverse).lower()
        return self.fold("scan", [x], dim, [0], lambda a, b: [self.add(a[0], b[0])], middle)[0]

    def first_of(self, x, place, y, other):
        """Is x larger, or equally large with a lower index?"""
        tie = self.both(self.compare("equal", x, y), self.compare("less_than", place, other))
        return self.same("ori", self.compare("greater_than", x, y), tie)

    def arg_max(self, x, index, dim):
        def body(a, b):
            further = self.first_of(b[0], b[1], a[0], a[1])
            return [self.select(further, b[0], a[0]), self.select(further, b[1], a[1])]
        return self.fold("reduce", [x, index], dim, [self.LEAST[x.elem], 0], body)

    # Regions

    def loop(self, head, operands, body):
        """A region with carried values: body(...) takes and returns them; head(names, types) is its first line."""
        names = [Value(self.fresh(), v.shape, v.elem) for v in operands]
        result = self.fresh()
        self.line("%s", ("%s:%d = " % (result, len(operands)) if operands else "") + head(names))
        self.indent += 1
        body(names)
        self.indent -= 1
        self.line("}")
        return [Value("%s#%d" % (result, i), v.shape, v.elem) for i, v in enumerate(operands)]

    def carry(self, word, values):
        self.line("%s %s : %s" if values else word, *([word, ", ".join(v.name for v in values), ", ".join(v.type for v in values)]
                                                      if values else []))

    def for_loop(self, first, bound, step, operands, body):
        """body(counter, carried) gives the next carried values."""
        counter = Value(self.fresh(), (), "i32")

        def head(names):
            carried = "iter_values(%s) -> (%s) " % (", ".join("%s = %s" % (n.name, v.name) for n, v in zip(names, operands)),
                                                  ", ".join(v.type for v in operands)) if operands else ""
            return "for %s in (%s to %s, step %s) : tile<i32> %s{" % (counter.name, first.name, bound.name, step.name, carried)
        return self.loop(head, operands, lambda names: self.carry("continue", body(counter, names)))

    def while_loop(self, operands, ends, body):
        """ends(carried) is evaluated first; body(carried) returns the next carried values."""
        def head(names):
            return "loop iter_values(%s) : %s -> %s {" % (", ".join("%s = %s" % (n.name, v.name) for n, v in zip(names, operands)),
                                                          ", ".join(v.type for v in operands), ", ".join(v.type for v in operands))

        def whole(names):
            self.line("if %s {", ends(names).name)
            self.indent += 1
            self.carry("break", names)
            self.indent -= 1
            self.line("}")
            self.carry("continue", body(names))
        return self.loop(head, operands, whole)

    # Memory

    def assume(self, x, predicate):
        return self.op(x.shape, x.elem, "assume %s, %s : %s", predicate, x.name, x.type)

    def block_id(self):
        names = [Value(self.fresh(), (), "i32") for _ in range(3)]
        self.head.append("  %s = get_tile_block_id : tile<i32>" % ", ".join(v.name for v in names))
        return names

    def blocks(self):
        names = [Value(self.fresh(), (), "i32") for _ in range(3)]
        self.head.append("  %s = get_num_tile_blocks : tile<i32>" % ", ".join(v.name for v in names))
        return names

    def access(self, word, text, shape=None, elem=None):
        """A load (with a shape) or a store; tokens are dropped, because no two accesses of these kernels overlap."""
        if shape is None:
            self.line("%s = %s %s", self.fresh(), word, text)
            return None
        v = Value(self.fresh(), shape, elem)
        self.line("%s, %s = %s %s", v.name, self.fresh(), word, text)
        return v

    def hint(self):
        return " optimization_hints = <sm_90 = {latency = %d}>" % self.latency if self.latency else ""

    def load_view(self, view, index):
        return self.access("load_view_tko", "weak %s[%s]%s : %s, %s -> %s, token" % (
            view.name, ", ".join(v.name for v in index), self.hint(), view.type, self.index_types(index), tile(view.shape, view.elem)),
            view.shape, view.elem)

    def store_view(self, x, view, index):
        self.access("store_view_tko", "weak %s, %s[%s] : %s, %s, %s -> token" % (
            x.name, view.name, ", ".join(v.name for v in index), x.type, view.type, self.index_types(index)))

    @staticmethod
    def index_types(index):
        types = [v.type for v in index]
        return types[0] if len(set(types)) == 1 else ", ".join(types)

    def load(self, pointers, mask=None, padding=None):
        elem = pointers.elem[4:-1]
        typed = tile(pointers.shape, elem)
        text = "weak %s%s%s%s : %s%s%s -> %s, token" % (
            pointers.name, ", %s" % mask.name if mask else "", ", %s" % padding.name if padding else "", self.hint(), pointers.type,
            ", %s" % mask.type if mask else "", ", %s" % padding.type if padding else "", typed)
        return self.access("load_ptr_tko", text, pointers.shape, elem)

    def store(self, pointers, x, mask=None):
        self.access("store_ptr_tko", "weak %s, %s%s : %s, %s%s -> token" % (
            pointers.name, x.name, ", %s" % mask.name if mask else "", pointers.type, x.type, ", %s" % mask.type if mask else ""))

    def atomic(self, pointers, x, mode, mask=None):
        self.line("%s, %s = atomic_rmw_tko relaxed device %s, %s, %s%s : %s, %s%s -> %s, token", self.fresh(), self.fresh(),
                  pointers.name, mode, x.name, ", %s" % mask.name if mask else "", pointers.type, x.type,
                  ", %s" % mask.type if mask else "", x.type)

    def offset(self, pointers, offsets):
        return self.op(pointers.shape, pointers.elem, "offset %s, %s : %s, %s -> %s", pointers.name, offsets.name, pointers.type,
                       offsets.type, pointers.type)

    def mma(self, x, y, sums, signs="signed signed"):
        word, more = ("mmaf", "") if x.elem in FLOATS else ("mmai", " " + signs)
        return self.op(sums.shape, sums.elem, "%s %s, %s, %s%s : %s, %s, %s", word, x.name, y.name, sums.name, more, x.type, y.type,
                       sums.type)

    def whole(self, symbol):
        params = ", ".join("%s: %s" % (v.name, v.type) for v in self.params)
        hints = " optimization_hints=<sm_90 = {%s}>" % self.hints if self.hints else ""
        return "\n".join(["entry @%s(%s)%s {" % (symbol, params, hints), *self.head, *self.lines, "  return", "}", ""])
