"""Writes Tile IR in the form in which Triton kernels reach it: raw pointers, tiles of pointers that loops carry, div_by
as the only promise, and no token but where a kernel asks for an order.

A Kernel collects the lines of one entry; a Tile is a value in it, with operators that broadcast as Triton's do."""

import struct

INT = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
FLOAT = {"f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2"}
LOWEST = {"f32": "0xFF800000", "f16": "0xFC00", "bf16": "0xFF80", "i32": str(-(2**31))}
SPECIAL = {float("-inf"): LOWEST, float("inf"): {"f32": "0x7F800000", "f16": "0x7C00", "bf16": "0x7F80"}}


def type_of(shape, elem):
    return "tile<" + "x".join([*map(str, shape), elem]) + ">"


def broadcast_shape(a, b):
    """As NumPy: both ranks are the same, or one is 0."""
    if not a or not b:
        return a or b
    assert len(a) == len(b) and all(x == y or 1 in (x, y) for x, y in zip(a, b)), (a, b)
    return tuple(max(x, y) for x, y in zip(a, b))


class Tile:
    def __init__(self, kernel, name, shape, elem):
        self.k, self.name, self.shape, self.elem = kernel, name, tuple(shape), elem

    @property
    def type(self):
        return type_of(self.shape, self.elem)

    @property
    def is_float(self):
        return self.elem in FLOAT

    @property
    def is_pointer(self):
        return self.elem.startswith("ptr<")

    # ---- shapes
    def reshape(self, *shape):
        return (
            self
            if tuple(shape) == self.shape
            else self.k.op(f"reshape {self.name} : {self.type}", shape, self.elem, True)
        )

    def broadcast(self, shape):
        if tuple(shape) == self.shape:
            return self
        ones = self if self.shape else self.reshape(*[1] * len(shape))
        if ones.shape == tuple(shape):
            return ones
        return self.k.op(f"broadcast {ones.name} : {ones.type}", shape, self.elem, True)

    def column(self):
        return self.reshape(*self.shape, 1)

    def row(self):
        return self.reshape(1, *self.shape)

    def permute(self, *order):
        return self.k.op(
            f"permute {self.name} [{', '.join(map(str, order))}] : {self.type}",
            [self.shape[d] for d in order],
            self.elem,
            True,
        )

    # ---- conversions
    def to(self, elem, signed=True):
        if elem == self.elem:
            return self
        sign = "signed" if signed else "unsigned"
        if self.is_float:
            name, how = ("ftof", "") if elem in FLOAT else ("ftoi", f" {sign}")
        elif elem in FLOAT:
            name, how = "itof", f" {sign}"
        elif INT[elem] > INT[self.elem]:
            name, how = "exti", f" {sign}"
        else:
            name, how = "trunci", ""
        return self.k.op(f"{name} {self.name}{how} : {self.type}", self.shape, elem, True)

    def bitcast(self, elem):
        return self.k.op(f"bitcast {self.name} : {self.type}", self.shape, elem, True)

    # ---- arithmetic
    def _with(self, other, name, flags="", result=None):
        a, b = self, other if isinstance(other, Tile) else self.k.constant(other, self.elem)
        shape = broadcast_shape(a.shape, b.shape)
        a, b = a.broadcast(shape), b.broadcast(shape)
        return self.k.op(
            f"{name} {a.name}, {b.name}{flags} : {type_of(shape, self.elem)}",
            shape,
            result or self.elem,
            result is not None,
        )

    def __add__(self, other):
        if self.is_pointer:
            offset = other if isinstance(other, Tile) else self.k.constant(other, "i32")
            shape = broadcast_shape(self.shape, offset.shape)
            a, b = self.broadcast(shape), offset.broadcast(shape)
            return self.k.op(f"offset {a.name}, {b.name} : {a.type}, {b.type}", shape, self.elem, True)
        return self._with(other, "addf" if self.is_float else "addi")

    def __sub__(self, other):
        return self._with(other, "subf" if self.is_float else "subi")

    def __mul__(self, other):
        return self._with(other, "mulf" if self.is_float else "muli")

    def __truediv__(self, other):
        return self._with(other, "divf")

    def __floordiv__(self, other):
        return self._with(other, "divi", " signed rounding<zero>")

    def __mod__(self, other):
        return self._with(other, "remi", " signed")

    def __and__(self, other):
        return self._with(other, "andi")

    def __or__(self, other):
        return self._with(other, "ori")

    def __xor__(self, other):
        return self._with(other, "xori")

    def __lshift__(self, other):
        return self._with(other, "shli")

    def shift_right(self, other, signed=False):
        return self._with(other, "shri", " signed" if signed else " unsigned")

    def high_product(self, other):
        return self._with(other, "mulhii")

    def maximum(self, other):
        return self._with(other, "maxf" if self.is_float else "maxi", "" if self.is_float else " signed")

    def minimum(self, other):
        return self._with(other, "minf" if self.is_float else "mini", "" if self.is_float else " signed")

    def _compare(self, other, predicate):
        if self.is_float:
            return self._with(other, f"cmpf {predicate} ordered", "", "i1")
        return self._with(other, f"cmpi {predicate}", ", signed", "i1")

    def __lt__(self, other):
        return self._compare(other, "less_than")

    def __le__(self, other):
        return self._compare(other, "less_than_or_equal")

    def __gt__(self, other):
        return self._compare(other, "greater_than")

    def __ge__(self, other):
        return self._compare(other, "greater_than_or_equal")

    def equals(self, other):
        return self._compare(other, "equal")

    def __neg__(self):
        return self.k.op(f"negf {self.name} : {self.type}", self.shape, self.elem)

    def unary(self, name):
        return self.k.op(f"{name} {self.name} : {self.type}", self.shape, self.elem)

    def exp(self):
        return (self * 1.4426950408889634).unary("exp2")  # as Triton does it

    def log(self):
        return self.unary("log")

    def sigmoid(self):
        return self.k.constant(1.0, self.elem) / ((-self).exp() + 1.0)

    # ---- over an axis
    def reduce(self, name, axis, identity, scan=False, reverse=False):
        flags = " signed" if name in ("maxi", "mini") else ""
        shape = self.shape if scan else self.shape[:axis] + self.shape[axis + 1 :]
        one, k = type_of((), self.elem), self.k
        what = (
            f"scan {self.name} dim={axis} reverse={'true' if reverse else 'false'}"
            if scan
            else f"reduce {self.name} dim={axis}"
        )
        result = k.fresh(shape, self.elem)
        k.line(
            f"{result.name} = {what} identities=[{k.literal(identity, self.elem)} : {self.elem}] : "
            f"{self.type} -> {result.type}"
        )
        k.line(f"(%lhs{k.count}: {one}, %rhs{k.count}: {one}) {{")
        k.line(f"  %both{k.count} = {name} %lhs{k.count}, %rhs{k.count}{flags} : {one}")
        k.line(f"  yield %both{k.count} : {one}")
        k.line("}")
        return result

    def sum(self, axis):
        return self.reduce("addf", axis, 0.0) if self.is_float else self.reduce("addi", axis, 0)

    def max(self, axis):
        return self.reduce("maxf", axis, float("-inf")) if self.is_float else self.reduce("maxi", axis, -(2**31))

    def cumsum(self, axis, reverse=False):
        name, zero = ("addf", 0.0) if self.is_float else ("addi", 0)
        return self.reduce(name, axis, zero, True, reverse)


class Kernel:
    """parameters: "x: *f32, n: i32"; pointers and the integers named in div16 are promised to be multiples of 16."""

    def __init__(self, name, parameters, div16=()):
        self.name, self.lines, self.count, self.indent = name, [], 0, 1
        self.parameters = []
        for text in parameters.split(","):
            p, _, elem = (w.strip() for w in text.partition(":"))
            elem = f"ptr<{elem[1:]}>" if elem.startswith("*") else elem
            self.parameters.append(Tile(self, "%" + p, (), elem))
        self.constants = {}
        self.args = []
        for p in self.parameters:
            divides = p.is_pointer or p.name[1:] in div16
            self.args.append(self.op(f"assume div_by<16>, {p.name} : {p.type}", (), p.elem) if divides else p)

    def text(self):
        parameters = ", ".join(f"{p.name}: {p.type}" for p in self.parameters)
        return f"entry @{self.name}({parameters}) {{\n" + "\n".join(self.lines) + "\n  return\n}\n"

    # ---- lines
    def line(self, text):
        self.lines.append("  " * self.indent + text)

    def fresh(self, shape, elem):
        self.count += 1
        return Tile(self, f"%v{self.count}", shape, elem)

    def op(self, text, shape, elem, converts=False):
        result = self.fresh(shape, elem)
        self.line(f"{result.name} = {text}" + (f" -> {result.type}" if converts else ""))
        return result

    def literal(self, value, elem):
        if isinstance(value, float) and value in SPECIAL:
            return SPECIAL[value][elem]
        if elem == "f32":  # exactly the number that Python's rounds to
            return "0x%08X" % struct.unpack("<I", struct.pack("<f", value))[0]
        return f"{float(value):e}" if elem in FLOAT else str(int(value))

    def constant(self, value, elem, shape=()):
        return self.op(f"constant <{elem}: {self.literal(value, elem)}> : {type_of(shape, elem)}", shape, elem)

    def zeros(self, shape, elem):
        return self.constant(0, elem, shape)

    def arange(self, n):
        return self.op(f"iota : tile<{n}xi32>", (n,), "i32")

    def program_id(self):
        names = [self.fresh((), "i32") for _ in range(3)]
        self.line(", ".join(n.name for n in names) + " = get_tile_block_id : tile<i32>")
        return names

    def num_programs(self):
        names = [self.fresh((), "i32") for _ in range(3)]
        self.line(", ".join(n.name for n in names) + " = get_num_tile_blocks : tile<i32>")
        return names

    def cdiv(self, a, b):
        return (a + (b - 1)) // b

    def select(self, condition, a, b):
        elem = a.elem if isinstance(a, Tile) else b.elem
        a, b = (x if isinstance(x, Tile) else self.constant(x, elem) for x in (a, b))
        shape = broadcast_shape(condition.shape, broadcast_shape(a.shape, b.shape))
        c, a, b = condition.broadcast(shape), a.broadcast(shape), b.broadcast(shape)
        return self.op(f"select {c.name}, {a.name}, {b.name} : {c.type}, {a.type}", shape, elem)

    def dot(self, a, b, c):
        signs = " signed signed" if c.elem == "i32" else ""
        return self.op(
            f"{'mmai' if signs else 'mmaf'} {a.name}, {b.name}, {c.name}{signs} : {a.type}, {b.type}, {c.type}",
            c.shape,
            c.elem,
        )

    def cat(self, a, b, axis):
        shape = list(a.shape)
        shape[axis] += b.shape[axis]
        return self.op(f"cat {a.name}, {b.name} dim = {axis} : {a.type}, {b.type}", shape, a.elem, True)

    def combine(self, tiles, axis, identities, body, scan=False):
        """A reduction or scan of several tiles at a time: body(left, right) gives the tiles that both come to."""
        n, first = len(tiles), tiles[0].shape
        shape = first if scan else first[:axis] + first[axis + 1 :]
        result = self.fresh(shape, "")
        ones = [type_of((), t.elem) for t in tiles]
        types = ", ".join(t.type for t in tiles)
        results = ", ".join(type_of(shape, t.elem) for t in tiles)
        words = ", ".join(f"{self.literal(v, t.elem)} : {t.elem}" for v, t in zip(identities, tiles))
        what = "scan" if scan else "reduce"
        self.line(
            f"{result.name}:{n} = {what} {', '.join(t.name for t in tiles)} dim={axis} "
            f"{'reverse=false ' if scan else ''}identities=[{words}] : {types} -> {results}"
        )
        left, right = ([self.fresh((), t.elem) for t in tiles] for _ in range(2))
        self.line("(" + ", ".join(f"{a.name}: {t}, {b.name}: {t}" for a, b, t in zip(left, right, ones)) + ") {")
        self.indent += 1
        both = body(left, right)
        self.line(f"yield {', '.join(t.name for t in both)} : {', '.join(ones)}")
        self.indent -= 1
        self.line("}")
        return [Tile(self, f"{result.name}#{i}", shape, t.elem) for i, t in enumerate(tiles)]

    # ---- memory
    def pointer(self, word, elem):
        """Of an address that was loaded."""
        return self.op(f"int_to_ptr {word.name} : {word.type}", word.shape, f"ptr<{elem}>", True)

    def _pointee(self, p):
        return p.elem[4:-1]

    def load(self, p, mask=None, other=0, token=None, want_token=False):
        elem, operands, types = self._pointee(p), p.name, [p.type]
        if mask is not None:
            mask, fill = mask.broadcast(p.shape), self.constant(other, elem, p.shape)
            operands += f", {mask.name}, {fill.name}"
            types += [mask.type, fill.type]
        result = self.fresh(p.shape, elem)
        ordered = f" token={token}" if token else ""
        self.line(
            f"{result.name}, {result.name}t = load_ptr_tko weak {operands}{ordered} : {', '.join(types)} -> "
            f"{result.type}, token"
        )
        return (result, result.name + "t") if want_token else result

    def store(self, p, value, mask=None, token=None):
        value = value if isinstance(value, Tile) else self.constant(value, self._pointee(p))
        value = value.broadcast(p.shape)
        operands, types = f"{p.name}, {value.name}", [p.type, value.type]
        if mask is not None:
            mask = mask.broadcast(p.shape)
            operands, types = operands + f", {mask.name}", [*types, mask.type]
        result = self.fresh((), "token").name
        ordered = f" token={token}" if token else ""
        self.line(f"{result} = store_ptr_tko weak {operands}{ordered} : {', '.join(types)} -> token")
        return result

    def atomic(self, what, p, value, mask=None, order="acq_rel", token=None):
        """Gives what was there before, and the token."""
        value = (value if isinstance(value, Tile) else self.constant(value, self._pointee(p))).broadcast(p.shape)
        operands, types = f"{p.name}, {what}, {value.name}", [p.type, value.type]
        if mask is not None:
            mask = mask.broadcast(p.shape)
            operands, types = operands + f", {mask.name}", [*types, mask.type]
        result = self.fresh(p.shape, self._pointee(p))
        ordered = f" token={token}" if token else ""
        self.line(
            f"{result.name}, {result.name}t = atomic_rmw_tko {order} device {operands}{ordered} : {', '.join(types)}"
            f" -> {result.type}, token"
        )
        return result, result.name + "t"

    def lock(self, p):
        """Waits until the word is 0 and makes it 1; gives the token of whoever holds it."""
        zero, one = self.constant(0, "i32"), self.constant(1, "i32")
        held, n = self.fresh((), "token").name, self.count
        self.line(f"{held} = loop : token {{")
        self.line(
            f"  %old{n}, %seen{n} = atomic_cas_tko acquire device {p.name}, {zero.name}, {one.name} : {p.type}, "
            "tile<i32>, tile<i32> -> tile<i32>, token".replace("tile<i32>, tile<i32> ->", "tile<i32> ->")
        )
        self.line(f"  %free{n} = cmpi equal %old{n}, {zero.name}, signed : tile<i32> -> tile<i1>")
        self.line(f"  if %free{n} {{")
        self.line(f"    break %seen{n} : token")
        self.line("  }")
        self.line("  continue")
        self.line("}")
        return held

    def unlock(self, p, token):
        self.atomic("xchg", p, self.constant(0, "i32"), order="release", token=token)

    def join(self, *tokens):
        result = self.fresh((), "token").name
        self.line(f"{result} = join_tokens {', '.join(tokens)} : token")
        return result

    # ---- control
    def loop(self, low, high, step, carried, body):
        """body(i, *tiles) gives the tiles of the next iteration."""
        low, high, step = (x if isinstance(x, Tile) else self.constant(x, "i32") for x in (low, high, step))
        i, inside = self.fresh((), "i32"), [self.fresh(t.shape, t.elem) for t in carried]
        result = self.fresh((), "")
        head = f"for {i.name} in ({low.name} to {high.name}, step {step.name}) : tile<i32>"
        if carried:
            values = ", ".join(f"{a.name} = {b.name}" for a, b in zip(inside, carried))
            head = (
                f"{result.name}{f':{len(carried)}' if len(carried) > 1 else ''} = {head} iter_values({values}) -> "
                f"({', '.join(t.type for t in carried)})"
            )
        self.line(head + " {")
        self.indent += 1
        after = body(i, *inside) or []
        assert [t.type for t in after] == [t.type for t in carried], [t.type for t in after]
        self.line(
            "continue"
            + (f" {', '.join(t.name for t in after)} : {', '.join(t.type for t in after)}" if after else "")
        )
        self.indent -= 1
        self.line("}")
        names = [result.name] if len(carried) == 1 else [f"{result.name}#{n}" for n in range(len(carried))]
        return [Tile(self, name, t.shape, t.elem) for name, t in zip(names, carried)]

    def when(self, condition, then):
        self.line(f"if {condition.name} {{")
        self.indent += 1
        then()
        self.indent -= 1
        self.line("}")

    # ---- tensor descriptors: views of memory with shape and strides
    def descriptor(self, p, shape, strides, tile):
        """strides: in elements; the last is 1."""
        elem = self._pointee(p)
        dynamic = [s for s in strides[:-1]]
        known = ",".join(["?"] * len(dynamic) + ["1"])
        view_type = f"tensor_view<{'x'.join(['?'] * len(shape))}x{elem}, strides=[{known}]>"
        view = self.fresh((), "")
        self.line(
            f"{view.name} = make_tensor_view {p.name}, shape = [{', '.join(s.name for s in shape)}], strides = "
            f"[{', '.join([*(s.name for s in dynamic), '1'])}] : tile<i32> -> {view_type}"
        )
        part_type = f"partition_view<tile=({'x'.join(map(str, tile))}), padding_value = zero, {view_type}>"
        part = self.fresh((), "")
        self.line(f"{part.name} = make_partition_view {view.name} : {part_type}")
        return part.name, part_type, tile, elem

    def load_block(self, descriptor, *at):
        name, part_type, tile, elem = descriptor
        result = self.fresh(tile, elem)
        self.line(
            f"{result.name}, {result.name}t = load_view_tko weak {name}[{', '.join(a.name for a in at)}] : "
            f"{part_type}, tile<i32> -> {result.type}, token"
        )
        return result

    def store_block(self, descriptor, value, *at):
        name, part_type, _, _ = descriptor
        result = self.fresh((), "token").name
        self.line(
            f"{result} = store_view_tko weak {value.name}, {name}[{', '.join(a.name for a in at)}] : {value.type}, "
            f"{part_type}, tile<i32> -> token"
        )
