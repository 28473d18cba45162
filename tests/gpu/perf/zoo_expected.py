"""The expected results of the zoo's kernels, for numpy and torch: `xp` is either. Arrays have the layout of memory."""
import math

INNER = {"f16": "float16", "bf16": "bfloat16", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2"}
# Types that numpy lacks: bits of the fraction, the least exponent, the largest number.
FORMATS = {"bf16": (7, -126, 255 * 2.0 ** 120), "f8E4M3FN": (3, -6, 448), "f8E5M2": (2, -14, 57344)}


def converted(xp, x, name):
    kind = getattr(xp, name)
    return x.to(kind) if hasattr(x, "to") else x.astype(kind)


def wide(xp, x):
    """Converted to a type that represents all numbers of the kernel."""
    return converted(xp, x, "float64" if any(name in str(x.dtype) for name in ("64", "int32")) else "float32")


def nearest(xp, x, elem):
    """The nearest numbers that such a type has, of two as near the even one; unchanged for all other types."""
    if elem not in INNER:
        return x
    if hasattr(xp, INNER[elem]):
        return wide(xp, converted(xp, x, INNER[elem]))
    fraction, least, most = FORMATS[elem]
    unit = xp.exp2(xp.maximum(xp.frexp(x)[1] - 1, least) - fraction)
    y = xp.rint(x / unit) * unit
    return converted(xp, xp.where(xp.abs(y) > most, xp.sign(y) * math.inf, y), "float32")


def turn(x):
    return x.swapaxes(-1, -2)


def steps(xp, n, like):
    return xp.arange(n, device=like.device) if hasattr(like, "to") else xp.arange(n)


def unpacked(xp, x, raw, dim):
    """Unpacks two numbers from each byte, along one of the last two dimensions."""
    bits = converted(xp, x, "int32") & 255
    halves = [bits & 15, bits >> 4]
    if raw == "i4":
        halves = [xp.where(h > 7, h - 16, h) for h in halves]
    axis = dim - 2
    both = xp.stack(halves, axis if axis == -1 else -2)
    shape = list(x.shape)
    shape[axis] *= 2
    return both.reshape(shape)


def clamped_places(n, block, parts=1):
    """The positions of the elements that a loop with a clamped index reads: the first block never, the last one twice."""
    count = -(-n // block)
    per = count // parts
    return [e for p in range(parts) for i in range(per) for b in [p * per + min(i + 1, per - 1)]
            for e in range(b * block, min(n, (b + 1) * block))]


def chosen(xp, x, dim, places):
    if places is None:
        return x
    where = xp.asarray(places, device=x.device) if hasattr(x, "to") else places
    return x[..., where, :] if dim == 0 else x[..., where]


def operand(xp, f, named, places=None, wrapped=None, period=None):
    """places: the elements along K that are read, in order; wrapped: the elements along the other dimension, if not all once;
    period: the length of a block's part of K, in which a mask counts positions anew."""
    x = named[f["array"]]
    if f["turned"]:
        x = turn(x)
    if f["raw"] in ("i4", "u4"):
        x = unpacked(xp, x, f["raw"], f["packed"])
    deep = f["deep"]
    x = chosen(xp, converted(xp, x, "float64" if f["compute"] == "f64" else "float32"), 1 - deep, wrapped)
    if "gate" in f:
        gate = named[f["gate"]]
        gate = chosen(xp, wide(xp, turn(gate) if f["turned"] else gate), 1 - deep, wrapped)
        x = x * gate / (1 + xp.exp(-gate))
    if "row_scale" in f:
        s = named[f["row_scale"]]
        x = x * (s[:, None] if deep == 1 else s)
    if "deep_scale" in f:
        s = named[f["deep_scale"]]
        x = x * (s[:, None] if deep == 0 else s)
    if "group_scale" in f:
        s, n = named[f["group_scale"]], x.shape[deep - 2]
        group = [i // f["group"] for i in range(n)]
        x = x * chosen(xp, s, deep, group)
    x = nearest(xp, x, f["compute"])
    if "mask" in f:
        along, across = steps(xp, x.shape[deep - 2], x) % (period or x.shape[deep - 2]), steps(xp, x.shape[-1 - deep], x)
        x = xp.where(along <= across[:, None] if deep == 1 else along[:, None] <= across, x, x * 0)
    return chosen(xp, x, deep, places)


def places_of(f, axes, n, which):
    return clamped_places(n, f["block"], f["parts"][which] if "parts" in f else 1) if axes["index"] == "clamped" else None


def depth_of(f, named):
    """The length of K, from the shape of an operand in memory."""
    a = f["B"]
    return named[a["array"]].shape[-1 if a["turned"] else -2] * (2 if a["raw"] in ("i4", "u4") and a["packed"] == a["deep"] else 1)


def part_of(f, named, which):
    """The length of a block's part of K, if K is divided."""
    return -(-depth_of(f, named) // f["block"]) // f["parts"][which] * f["block"] if "parts" in f else None


def product(xp, f, axes, named, which, wrapped=None):
    places, period = places_of(f, axes, depth_of(f, named), which), part_of(f, named, which)
    c = operand(xp, f["A"], named, places, period=period) @ operand(xp, f["B"], named, places, wrapped, period)
    c = c * f.get("scale", 1)
    if f.get("relu"):
        c = xp.where(c > 0, c, c * 0)
    if "bias" in f:
        c = c + named["bias"]
    if f.get("gelu"):
        c = 0.5 * c * (1 + xp.tanh(0.7978845608 * (c + 0.044715 * c ** 3)))
    return {"C": c}


def wrapped_columns(f, axes, named):
    """A column index modulo N begins anew in the last tile, so that the columns beyond N count the first ones again; there, scales by
    column are masked, and count as zero."""
    b = f["B"]
    if axes["source"] != "modulo" or "row_scale" in b or "group_scale" in b:
        return None
    n = named[b["array"]].shape[-2 if b["turned"] else -1]
    return [i % n for i in range(-(-n // f["width"]) * f["width"])]


def product_reduce(xp, f, axes, named, which):
    c = product(xp, f, axes, named, which, wrapped_columns(f, axes, named))["C"]
    rows = []
    for start in range(0, c.shape[-1], f["width"]):
        part = c[..., start:start + f["width"]]
        if f["how"] == "logsum":
            part = part / 16
            high = xp.amax(part, axis=-1)
            rows.append(high + xp.log(xp.exp(part - high[..., None]).sum(axis=-1)))
        elif f["how"] == "max":
            short = part.shape[-1] < f["width"]
            high = xp.amax(part, axis=-1)
            rows.append(xp.where(high > 0, high, high * 0) if short else high)
        else:
            rows.append(part.sum(axis=-1))
    return {"R": xp.stack(rows, -1)}


def chain(xp, f, axes, named, which):
    deep, value = f["K"], f["V"]
    length = named[value["array"]].shape[-2] * (2 if value["raw"] in ("i4", "u4") and value["packed"] == 0 else 1)
    places = clamped_places(length, f["block"]) if axes["index"] == "clamped" else None
    q = nearest(xp, converted(xp, named["Q"], "float64" if deep["compute"] == "f64" else "float32"), deep["compute"])
    s = q @ operand(xp, deep, named, places) * f["scale"]
    v = operand(xp, value, named, places)
    if f["causal"]:
        rows, columns = steps(xp, s.shape[-2], s)[:, None], steps(xp, s.shape[-1], s)
        seen = columns <= rows
    if f["between"] == "softmax":
        if f["causal"]:
            s = xp.where(seen, s, s * 0 - 1e30)
        p = xp.exp(s - xp.amax(s, axis=-1)[..., None])
        return {"O": (p @ v) / p.sum(axis=-1)[..., None]}
    if f["between"] == "relu":
        s = xp.where(s > 0, s, s * 0)
    if f["causal"]:
        s = xp.where(seen, s, s * 0)
    return {"O": s @ v}


MOST_F16 = 65504


def fused(xp, x, z, y):
    """x z + y: in f32, the product is not rounded, and is finite."""
    return converted(xp, converted(xp, x, "float64") * z + y, "float32") if "float32" in str(x.dtype) else x * z + y


def one(xp, name, args, values, r):
    """r rounds as the kernel does, which has an op for each call of it. Of a number and NaN, maxf and minf give the number."""
    x = values[args[0]]
    if name == "damp":
        return r(x * r(xp.full_like(x, args[1])))
    y, z = values[args[-1]], values[args[1 % len(args)]]
    return {"add": lambda: r(x + y), "sub": lambda: r(x - y), "mul": lambda: r(x * y), "max": lambda: xp.fmax(x, y),
            "min": lambda: xp.fmin(x, y), "fma": lambda: r(fused(xp, x, z, y)), "abs": lambda: xp.abs(x), "neg": lambda: -x,
            "exp": lambda: r(xp.exp(-xp.abs(x))), "log": lambda: r(xp.log(r(1 + xp.abs(x)))), "sqrt": lambda: r(xp.sqrt(xp.abs(x))),
            "rsqrt": lambda: r(1 / xp.sqrt(r(1 + r(x * x)))), "tanh": lambda: r(xp.tanh(x)), "sin": lambda: r(xp.sin(x)),
            "cos": lambda: r(xp.cos(x)), "sigmoid": lambda: r(1 / r(1 + r(xp.exp(-x)))), "div": lambda: r(x / r(1 + xp.abs(y))),
            "relu": lambda: xp.where(x > 0, x, xp.zeros_like(x)), "scale": lambda: r(x * 0.75), "and": lambda: x & y,
            "or": lambda: x | y, "xor": lambda: x ^ y, "shift": lambda: x >> 1, "where": lambda: xp.where(x > 0, z, y)}[name]()


def map_work(xp, f, axes, named, which):
    integer = {"i8": "int8", "i32": "int32"}.get(f["compute"])
    values = [converted(xp, named[n], integer) if integer else wide(xp, named[n]) for n in f["inputs"]]
    values = [xp.zeros_like(values[0]) + v for v in values]     # of the shape of all
    for name, *args in f["ops"]:
        values.append(one(xp, name, args, values, lambda v: converted(xp, v, integer) if integer else nearest(xp, v, f["compute"])))
    outputs = {}
    for i, name in enumerate(f["outputs"]):
        y = values[len(values) - 1 - i]
        if f["elem"] == "i8":
            y = converted(xp, y, "int8")
        if f["order"] == "clamped":     # the first tile of each block is never taken
            taken = [e // f["tile"] % f["per"] != 0 for e in range(y.shape[f["along"]])]
            taken = xp.asarray(taken, device=y.device) if hasattr(y, "to") else xp.asarray(taken)
            shape = [1] * len(y.shape)
            shape[f["along"]] = -1
            y = xp.where(taken.reshape(shape), y, xp.zeros_like(y))
        outputs[name] = in_range(xp, f, rounded_subnormals(xp, f, y))
    return outputs


def rounded_subnormals(xp, f, y):
    """Numbers of 8 bits that have fewer bits of their fraction than others: a row may consist of them, or of zeros."""
    if not f["elem"].startswith("f8"):
        return y
    fraction, least, _ = FORMATS[f["elem"]]
    unit = 2.0 ** (least - fraction)
    return xp.where(xp.abs(y) < 2.0 ** least, xp.round(y / unit) * unit, y)


def in_range(xp, f, y):
    """Infinite numbers count as the largest number of f16, and NaN, which infinite ones give, as twice that: it equals only NaN."""
    if f["elem"] != "f16":
        return y
    return xp.where(y == y, xp.clip(y, -MOST_F16, MOST_F16), xp.full_like(y, 2 * MOST_F16))


def reduction(xp, f, axes, named, which):
    x = wide(xp, named["X"])
    if axes["arithmetic"] == "i32":
        x = converted(xp, named["X"], "int64")
    x = {"none": lambda: x, "square": lambda: x * x, "abs": lambda: xp.abs(x), "exp": lambda: xp.exp(x),
         "times": lambda: x * wide(xp, named["G"])}[f["prepare"]]()
    if axes["index"] == "clamped":
        x = chosen(xp, x, 1, clamped_places(x.shape[-1], f["block"]))
    if f["how"] == "arg":
        return {"R": xp.amax(x, axis=-1)}       # beside what stands where the kernel says: see observed()
    return {"R": xp.amax(x, axis=-1) if f["how"] == "max" else x.sum(axis=-1)}


def observed(xp, f, named, name, got):
    """The part of an output that is compared."""
    if f["work"] == "map":
        return in_range(xp, f, wide(xp, got))
    if f["work"] != "reduction" or f["how"] != "arg":
        return wide(xp, got)
    x, at = wide(xp, named["X"]), converted(xp, got, "int64")
    x = {"none": lambda: x, "square": lambda: x * x, "abs": lambda: xp.abs(x), "exp": lambda: xp.exp(x),
         "times": lambda: x * wide(xp, named["G"])}[f["prepare"]]()
    where = at[..., None]
    return (xp.gather(x, -1, where) if hasattr(x, "to") else xp.take_along_axis(x, where, -1))[..., 0]


def error(xp, got, want):
    """Largest difference, as a part of the largest number of its row, or of all where rows are short; or of a thousandth of that."""
    got, want = converted(xp, got, "float64"), converted(xp, want, "float64")
    size = xp.abs(want)
    most = float(xp.amax(size))
    if want.shape[-1] < 16:
        return float(xp.amax(xp.abs(got - want))) / max(most, 1e-30)
    rows = xp.amax(size, axis=-1)[..., None]
    floor = max(most * 1e-3, 1e-30)
    return float(xp.amax(xp.abs(got - want) / xp.where(rows > floor, rows, rows * 0 + floor)))


def column_sum(xp, f, axes, named, which):
    x = converted(xp, named["X"], "int64") if axes["arithmetic"] == "i32" else wide(xp, named["X"])
    if axes["index"] == "clamped":
        x = chosen(xp, x, 0, clamped_places(x.shape[0], f["per"], f["parts"][which]))
    return {"Y": x.sum(axis=0)}


def histogram(xp, f, axes, named, which):
    x = named["X"]
    if axes["index"] == "clamped":
        n, block = x.shape[0], f["block"]
        x = chosen(xp, x, 1, clamped_places(n, block, -(-n // block) // f["per"]))
    return {"counts": xp.bincount(converted(xp, x, "int64"), minlength=f["bins"])}


def scan(xp, f, axes, named, which):
    x = converted(xp, named["X"], "int64") if axes["arithmetic"] == "i32" else wide(xp, named["X"])
    if f["backwards"]:
        return {"Y": xp.flip(xp.cumsum(xp.flip(x, (-1,)), -1), (-1,))}
    return {"Y": xp.cumsum(x, -1)}


def three(xp, f, axes, named, which):
    x = wide(xp, named["X"])
    n = x.shape[-1]
    if f["how"] in ("softmax", "logsoftmax"):
        x = x - xp.amax(x, axis=-1)[..., None]
        sums = xp.exp(x).sum(axis=-1)[..., None]
        y = xp.exp(x) / sums if f["how"] == "softmax" else x - xp.log(sums)
    else:
        if f["how"] == "layer":
            x = x - (x.sum(axis=-1) / n)[..., None]
        y = x / xp.sqrt((x * x).sum(axis=-1) / n + 1e-5)[..., None]
    return {"Y": y * named["W"] if f["weights"] else y}


# Those of figures_work.py

def cross_entropy(xp, f, axes, named, which):
    x = wide(xp, named["X"])
    high = xp.amax(x, axis=-1)
    label = converted(xp, named["labels"], "int64")[:, None]
    chosen = xp.gather(x, -1, label) if hasattr(x, "to") else xp.take_along_axis(x, label, -1)
    return {"R": high + xp.log(xp.exp(x - high[:, None]).sum(axis=-1)) - chosen[:, 0]}


def unpack(xp, f, axes, named, which):
    return {"Y": operand(xp, f["X"], named)}


def gated(xp, f, axes, named, which):
    x = wide(xp, named["X"])
    return {"Y": x / (1 + xp.exp(-x)) * wide(xp, named["G"])}


def rotation(xp, f, axes, named, which):
    x, c, s = wide(xp, named["X"]), named["cos"][:, None], named["sin"][:, None]
    half = x.shape[-1] // 2
    low, high = x[..., :half], x[..., half:]
    parts = [low * c - high * s, high * c + low * s]
    return {"Y": xp.concatenate(parts, -1)}


WORKS = dict(product=product, product_reduce=product_reduce, chain=chain, map=map_work, reduction=reduction, column_sum=column_sum,
             histogram=histogram, scan=scan, three=three,
             cross_entropy=cross_entropy, unpack=unpack, gated=gated, rotation=rotation)


def expected(xp, job, axes, named, which):
    """The outputs by name; which: 0 for small sizes, 1 for large ones."""
    f = job["formula"]
    return WORKS[f["work"]](xp, f, axes, named, which)
