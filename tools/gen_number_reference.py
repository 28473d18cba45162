#!/usr/bin/env python3
"""Writes tests/unit/number_reference.def: checksums of number conversions and arithmetic that were computed without the
library, for tests/unit/number.c to compare with.

Values come from the definition of each format (a table of all its values, or exact fractions), never from a formula on
bits; where numpy and ml_dtypes have the same conversion, the results are compared with theirs first.

    python3 tools/gen_number_reference.py > tests/unit/number_reference.def        minutes; needs numpy, ml_dtypes
    python3 tools/gen_number_reference.py --values convert f16 f8E4M3FN          prints one column set, for a mismatch
"""
import math
import sys
from bisect import bisect_right
from fractions import Fraction

import ml_dtypes
import numpy as np

M64 = (1 << 64) - 1
MODES = ["nearest_even", "zero", "negative_inf", "positive_inf", "nearest_away"]


class Format:
    """A float format. special: which top patterns are no numbers."""

    def __init__(self, name, exponent, mantissa, bias, signed=True, special="ieee", subnormals=True, saturates=False):
        self.name, self.e, self.m, self.bias = name, exponent, mantissa, bias
        self.signed, self.subnormals, self.saturates = signed, subnormals, saturates
        self.magnitude_bits = exponent + mantissa
        self.bits = self.magnitude_bits + signed
        top = (1 << self.magnitude_bits) - 1
        self.inf = ((1 << exponent) - 1) << mantissa if special == "ieee" else None
        self.max = self.inf - 1 if special == "ieee" else top - 1 if special == "one_nan" else top
        self.nan = None if special == "none" else top
        self.table = []
        if name == "f64":
            self.nan = 0x7FF8 << 48

    def value(self, magnitude):
        """Exact value of a finite pattern without sign."""
        field, fraction = magnitude >> self.m, magnitude & ((1 << self.m) - 1)
        if field == 0 and self.subnormals:
            return Fraction(fraction) * Fraction(2) ** (1 - self.bias - self.m)
        return Fraction((1 << self.m) + fraction) * Fraction(2) ** (field - self.bias - self.m)

    def decode(self, bits):
        """(negative, value): value is a Fraction, 'inf' or 'nan'."""
        magnitude = bits & ((1 << self.magnitude_bits) - 1)
        negative = bool(self.signed and bits >> self.magnitude_bits & 1)
        if magnitude > self.max:
            return negative, "inf" if magnitude == self.inf else "nan"
        return negative, self.value(magnitude)

    def not_a_number(self):
        return self.nan if self.nan is not None else self.max

    def infinity(self, negative):
        if not self.signed:
            return 0 if negative and self.subnormals else self.max
        return self.sign(negative) | (self.max if self.saturates else self.inf)

    def sign(self, negative):
        return 1 << self.magnitude_bits if negative and self.signed else 0

    def make_table(self):
        """Narrow formats: every value, and every middle between one and the next, as if the exponent went on beyond the
        last. Wide ones: the value that begins each binade, and its step. Floats hold all of them exactly."""
        if self.bits > 19:
            starts = [field << self.m for field in range((self.max >> self.m) + 1)]
            self.table = [float(self.value(i)) for i in starts]
            self.step = [float(self.value(i + 1) - self.value(i)) for i in starts]
            return
        self.table = [float(self.value(i)) for i in range(self.max + 1)]
        beyond = 2 * self.table[-1] - self.table[-2] if self.m else 2 * self.table[-1]
        self.middle = [(x + y) / 2 for x, y in zip(self.table, self.table[1:] + [beyond])]

    def place(self, value):
        """Where a value (> 0) lies: the pattern at or below it; then 0 for exactly there, 1 below the middle to the next
        one, 2 in the middle, 3 above."""
        if not self.table:
            self.make_table()
        if self.bits <= 19:
            low = bisect_right(self.table, value) - 1
            if low < 0 or value == self.table[low]:
                return max(low, 0), 0  # below all: there is no zero to round to
            middle = self.middle[low]
        else:
            # Floats do this exactly for a float value: it is in the binade. Other values are fractions.
            number = float if isinstance(value, float) else Fraction
            field = bisect_right(self.table, value) - 1
            start, step = number(self.table[field]), number(self.step[field])
            count = min(int((value - start) / step), (1 << self.m) - 1)
            low = (field << self.m) + count
            exact = start + count * step
            if value == exact:
                return low, 0
            middle = exact + step / 2
        return low, 1 if value < middle else 2 if value == middle else 3

    def encode(self, negative, value, mode):
        """Rounds (-1)^negative * value, value > 0."""
        return self.encode_place(negative, self.place(value), mode)

    def encode_place(self, negative, place, mode):
        if not self.signed and negative:
            if self.subnormals:
                return 0
            negative = False
        low, where = place
        odd = self.m == 0 or low & 1
        up = where and {"zero": False, "negative_inf": negative, "positive_inf": not negative,
                        "nearest_away": where >= 2, "nearest_even": where == 3 or where == 2 and odd}[mode]
        if low < self.max:
            return self.sign(negative) | low + bool(up)
        return self.sign(negative) | (self.inf if up and not self.saturates else self.max)


FORMATS = [
    Format("f16", 5, 10, 15), Format("bf16", 8, 7, 127), Format("tf32", 8, 10, 127), Format("f32", 8, 23, 127),
    Format("f64", 11, 52, 1023), Format("f8E4M3FN", 4, 3, 7, special="one_nan", saturates=True),
    Format("f8E5M2", 5, 2, 15, saturates=True),
    Format("f8E8M0FNU", 8, 0, 127, signed=False, special="one_nan", subnormals=False, saturates=True),
    Format("f4E2M1FN", 2, 1, 1, special="none", saturates=True),
    Format("fnv8E5M3FNU", 5, 3, 15, signed=False, special="one_nan", saturates=True),
]
BY_NAME = {f.name: f for f in FORMATS}
ML = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
      "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2, "f4E2M1FN": ml_dtypes.float4_e2m1fn}


# ---- the same inputs as in tests/unit/number.c ----

def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & M64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & M64
    return x ^ x >> 31


def sample(f, index):
    """A pattern: one in eight special, three in eight near 1, else any."""
    r = mix(index)
    pick = r & 7
    r >>= 3
    if pick == 0:
        one = f.bias << f.m
        specials = [0, 1, (1 << f.m) - 1, 1 << f.m, one, one + 1, f.max, f.max - 1, f.max + 1, f.not_a_number()]
        bits = specials[r % 10] | (r >> 8 & 1) << f.magnitude_bits
    elif pick < 4:
        field = f.bias - 4 + (r & 7)
        bits = field << f.m | (r >> 3 & 1) << f.magnitude_bits | r >> 4 & ((1 << f.m) - 1)
    else:
        bits = r if f.bits < 61 else mix(r)
    return bits & ((1 << f.bits) - 1)


def inputs(f):
    return range(1 << f.bits) if f.bits <= 16 else [sample(f, i) for i in range(16384)]


def checksum(words):
    h = 0xCBF29CE484222325
    for word in words:
        h = (h ^ word) * 0x100000001B3 & M64
        h ^= h >> 32
    return h


def canonical(f, bits):
    return f.not_a_number() if f.nan is not None and f.decode(bits)[1] == "nan" else bits


# ---- conversions ----

def convert(to, source, bits):
    """The results in all modes."""
    negative, value = source.decode(bits)
    if isinstance(value, Fraction):
        value = float(value)  # exact: f64 holds the values of all formats
    if to is source:
        return [canonical(to, bits)] * len(MODES)
    if value == "nan":
        return [to.not_a_number()] * len(MODES)
    if value == "inf":
        return [to.infinity(negative)] * len(MODES)
    if value == 0:
        return [to.sign(negative)] * len(MODES)
    place = to.place(value)
    return [to.encode_place(negative, place, mode) for mode in MODES]


def check_with_numpy(to, source, patterns, results):
    """nearest_even against numpy and ml_dtypes, where both types are theirs. f64 is left out as a source of the narrow
    types: ml_dtypes goes through f32 there, and rounds twice."""
    if to.name not in ML or source.name not in ML or to is source:
        return
    if source.name == "f64" and to.name not in ("f32", "f16"):
        return
    unsigned = {4: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
    x = np.array(list(patterns), unsigned[source.bits]).view(ML[source.name])
    with np.errstate(all="ignore"):
        theirs = x.astype(ML[to.name]).view(unsigned[to.bits])
    for p, t, r in zip(patterns, theirs, results):
        t = int(t) & ((1 << to.bits) - 1)
        negative, value = source.decode(p)
        if value in ("nan", "inf"):
            continue
        if to.saturates and to.decode(t)[1] in ("inf", "nan"):
            t = to.sign(negative) | to.max
        assert t == r, f"{source.name} {p:x} -> {to.name}: numpy {t:x}, here {r:x}"


def conversion_results(to, source):
    patterns = inputs(source)
    columns = list(zip(*(convert(to, source, bits) for bits in patterns)))
    check_with_numpy(to, source, patterns, columns[0])
    return columns


# ---- integers ----

def integer_inputs(width):
    if width <= 16:
        return range(1 << width)
    mask = (1 << width) - 1
    # random bits of random length; the lengths matter for rounding
    return [((mix(i) >> mix(i + 77) % 64) * (1 if i & 1 else -1)) & mask for i in range(4096)]


def int_to_float_results(to, width):
    columns = []
    for is_signed in (False, True):
        column = []
        for bits in integer_inputs(width):
            value = bits - (1 << width) if is_signed and bits >> (width - 1) else bits
            size = float(abs(value)) if width < 64 else Fraction(abs(value))
            column.append(to.encode(value < 0, size, "nearest_even") if value else 0)
        columns.append(column)
    return columns


def float_to_int(source, bits, width, is_signed, saturating):
    negative, value = source.decode(bits)
    if width == 1:
        return int(value != 0)
    if value == "nan":
        keeps_top = not saturating and (width == 64 or source.name == "f64" and width > 8)
        return 1 << (width - 1) if keeps_top else 0
    through = 16 if width == 8 and not saturating else width
    least, most = (-(1 << (through - 1)), (1 << (through - 1)) - 1) if is_signed else (0, (1 << through) - 1)
    whole = (1 << 70) if value == "inf" else math.floor(value)
    return min(max(-whole if negative else whole, least), most) & ((1 << width) - 1)


def float_to_int_results(source, width):
    patterns = inputs(source)
    if len(patterns) > 16384:
        patterns = patterns[::7]
    return [[float_to_int(source, b, width, s, sat) for b in patterns] for s in (False, True) for sat in (False, True)]


# ---- arithmetic ----

def flush(f, bits):
    magnitude = bits & ((1 << f.magnitude_bits) - 1)
    return bits - magnitude if magnitude < 1 << f.m else bits


class Flushing:
    """A format whose results are zeros where they are below its normal numbers once rounded, however small the exponent."""
    def __init__(self, f):
        self.f = f

    def __getattr__(self, name):
        return getattr(self.f, name)

    def encode(self, negative, value, mode):
        if 0 < value < 1:  # at 2^64 times the value no exponent is too small
            scaled = self.f.encode(negative, value * (1 << 64), mode) & ((1 << self.f.magnitude_bits) - 1)
            if scaled >> self.f.m <= 64:
                return self.f.sign(negative)
        return self.f.encode(negative, value, mode)


def add(f, x, y, mode):
    (nx, vx), (ny, vy) = x, y
    if "inf" in (vx, vy):
        if vx == vy and nx != ny:
            return f.nan
        return f.infinity(nx if vx == "inf" else ny)
    total = (-vx if nx else vx) + (-vy if ny else vy)
    if total == 0:
        if vx == 0 and vy == 0 and nx == ny:
            return f.sign(nx)
        return f.sign(mode == "negative_inf")
    return f.encode(total < 0, abs(total), mode)


def mul_exact(x, y):
    (nx, vx), (ny, vy) = x, y
    if "inf" in (vx, vy):
        return nx != ny, "nan" if 0 in (vx, vy) else "inf"
    return nx != ny, vx * vy


def mul(f, x, y, mode):
    n, v = mul_exact(x, y)
    return f.nan if v == "nan" else f.infinity(n) if v == "inf" else f.encode(n, v, mode) if v else f.sign(n)


def fma(f, x, y, z, mode):
    product = mul_exact(x, y)
    return f.nan if product[1] == "nan" else add(f, product, z, mode)


def div(f, x, y, mode):
    (nx, vx), (ny, vy) = x, y
    n = nx != ny
    if vx == vy and vx in (0, "inf"):
        return f.nan
    if vx == "inf" or vy == 0:
        return f.infinity(n)
    if vx == 0 or vy == "inf":
        return f.sign(n)
    return f.encode(n, vx / vy, mode)


def sqrt(f, x, mode):
    n, v = x
    if v == 0:
        return f.sign(n)
    if n:
        return f.nan
    if v == "inf":
        return f.infinity(False)
    # 2^-1200 below the root is as good as the root: no midpoint of any format is that close to an irrational one.
    scale = 1 << 2400
    root = math.isqrt(v.numerator * scale // v.denominator)
    exact = root * root * v.denominator == v.numerator * scale
    return f.encode(False, Fraction(root * 2 + (not exact), 1 << 1201), mode)


def subtract(f, x, y, mode):
    return add(f, x, (not y[0], y[1]), mode)


OPS = {"add": (2, add), "sub": (2, subtract), "mul": (2, mul), "div": (2, div), "fma": (3, fma), "sqrt": (1, sqrt)}
ARITH_COUNT = 2048


def arith_operands(f, i, count, ftz):
    operands = [sample(f, 3 * i + k) for k in range(count)]
    if i % 5 == 4 and count > 1:  # nearly equal: cancellation
        operands[-1] = (operands[0] + i % 7 - 3) & ((1 << f.bits) - 1)
    return [flush(f, b) for b in operands] if ftz else operands


def arith_results(f, name, ftz):
    count, function = OPS[name]
    f = Flushing(f) if ftz else f
    columns = []
    for mode in MODES[:4]:
        column = []
        for i in range(ARITH_COUNT):
            values = [f.decode(b) for b in arith_operands(f, i, count, ftz)]
            nan = any(v == "nan" for _, v in values)
            bits = f.nan if nan else function(f, *values, mode)
            column.append(bits)
        columns.append(column)
    return columns


def minmax_results(f, ftz):
    columns = []
    for larger in (False, True):
        for propagate in (False, True):
            column = []
            for i in range(ARITH_COUNT):
                pair = arith_operands(f, i, 2, ftz)
                numbers = [b for b in pair if f.decode(b)[1] != "nan"]
                if len(numbers) < (2 if propagate else 1):
                    column.append(f.nan)
                    continue

                def key(b):
                    n, v = f.decode(b)
                    v = Fraction(2) ** 2000 if v == "inf" else v
                    return (-v if n else v, not n)
                column.append((max if larger else min)(numbers, key=key))
            columns.append(column)
    return columns


# ---- output ----

def rows():
    for source in FORMATS:
        for to in FORMATS:
            yield "CONVERT", (source.name, to.name), lambda: conversion_results(to, source)
    for to in FORMATS:
        for width in (1, 8, 16, 32, 64):
            yield "FROM_INT", (to.name, str(width)), lambda: int_to_float_results(to, width)
    for source in FORMATS:
        for width in (1, 8, 16, 32, 64):
            yield "TO_INT", (source.name, str(width)), lambda: float_to_int_results(source, width)
    for name in ("f16", "bf16", "f32", "f64"):
        for ftz in (0, 1) if name == "f32" else (0,):
            for op in OPS:
                yield "ARITH", (op, name, str(ftz)), lambda: arith_results(BY_NAME[name], op, ftz)
            yield "MINMAX", (name, str(ftz)), lambda: minmax_results(BY_NAME[name], ftz)


def kind_name(word):
    return word.upper() if word in BY_NAME else word


def main():
    if sys.argv[1:2] == ["--values"]:
        for macro, key, results in rows():
            if [macro.lower(), *key] == sys.argv[2:]:
                for line in zip(*results()):
                    print(" ".join(f"{bits:x}" for bits in line))
        return
    print("/* Generated by tools/gen_number_reference.py; do not edit. One checksum for each column of results: rounding\n"
          "   modes by number and nearest_away, or unsigned and signed, or (unsigned, saturating), ... */")
    for macro, key, results in rows():
        sums = ", ".join(f"0x{checksum(column):016X}" for column in results())
        print(f"{macro}({', '.join(map(kind_name, key))}, {sums})")


main()
