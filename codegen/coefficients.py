#!/usr/bin/env python3
"""Makes codegen/coefficients.def: constants of the functions in codegen/math_*.c. Needs mpmath.

Every polynomial is the one with the least squares of errors in 64 Chebyshev nodes of the interval, in 60 digits, which is
within a small factor of the best one (Remez). The coefficients are rounded one by one from the lowest, the rest being
fitted again to what is left over. The comment gives the largest error found, relative to the function that it approximates.

    python3 codegen/coefficients.py > codegen/coefficients.def
"""
from mpmath import mp, mpf, pi, log, exp, cos, sin, tan, tanh, sinh, atan, atanh, sqrt, floor, frexp, lu_solve, matrix

mp.dps = 60


def rounded(x, bits):
    """x rounded to so many bits of significand."""
    if x == 0:
        return mpf(0)
    m, e = frexp(x)
    scaled = m * mpf(2) ** bits
    n = floor(scaled)
    d = scaled - n
    if d > mpf(1) / 2 or (d == mpf(1) / 2 and int(n) % 2):
        n += 1
    return n * mpf(2) ** (e - bits)


def hexadecimal(x):
    return float(x).hex()


NODES = 64


def least_squares(f, low, high, first, count):
    """Coefficients of x^first, x^(first+1), ... nearest to f in the Chebyshev nodes."""
    nodes = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * NODES)) for i in range(NODES)]
    a = matrix(NODES, count)
    b = matrix(NODES, 1)
    for i, x in enumerate(nodes):
        for j in range(count):
            a[i, j] = x ** (first + j)
        b[i] = f(x)
    return list(lu_solve(a, b))


def fitted(f, low, high, count, bits):
    """Coefficients of 1, x, x^2, ... with so many bits each."""
    found = []

    def rest(x):
        return f(x) - sum(c * x ** j for j, c in enumerate(found))
    while len(found) < count:
        found.append(rounded(least_squares(rest, low, high, len(found), count - len(found))[0], bits))
    return found


def polynomial(name, what, f, low, high, counts):
    worst = []
    rows = {}
    for bits in (24, 53):
        c = fitted(f, low, high, counts[bits], bits)
        rows[bits] = c
        error = mpf(0)
        for i in range(1, 400):
            x = low + (high - low) * i / 400
            if x == 0:
                continue
            value = sum(k * x ** j for j, k in enumerate(c))
            error = max(error, abs(value / f(x) - 1))
        worst.append(float(log(error) / log(2)))
    print(f"/* {what}; relative error 2^{worst[0]:.1f}, 2^{worst[1]:.1f} */")
    for bits in (24, 53):
        lines = ", ".join(hexadecimal(c) for c in rows[bits])
        text = f"POLYNOMIAL({name}, {'F32' if bits == 24 else 'F64'}, {lines})"
        while len(text) > 120:
            cut = text.rfind(" ", 0, 120)
            print(text[:cut])
            text = "           " + text[cut + 1:]
        print(text)
    print()


def parts(name, what, x, count=3, first_bits=None):
    """x as a sum of numbers, each rounded from what is left over."""
    print(f"/* {what} */")
    for bits in (24, 53):
        left = x
        found = []
        for i in range(count):
            p = rounded(left, (first_bits or {}).get(bits, bits) if i == 0 else bits)
            found.append(p)
            left -= p
        print(f"PARTS({name}, {'F32' if bits == 24 else 'F64'}, {', '.join(hexadecimal(p) for p in found)})")
    print()


print("/* Constants of the mathematical functions, made by codegen/coefficients.py: POLYNOMIAL(name, type, coefficients of 1, x, x^2,")
print("   ...) and PARTS(name, type, numbers whose sum is the constant). */")
print("#ifndef POLYNOMIAL\n#define POLYNOMIAL(name, type, ...)\n#endif\n#ifndef PARTS\n#define PARTS(name, type, ...)\n#endif\n")
parts("LOG2_E", "log2(e)", 1 / log(mpf(2)))
parts("LN_2", "ln 2; the first part times any exponent is exact", log(mpf(2)), 3, {24: 15, 53: 41})
parts("LN_2_PAIR", "ln 2, rounded", log(mpf(2)))
parts("PI_2", "pi / 2", pi / 2)
parts("TWO_PI", "2 / pi", 2 / pi)
parts("PI_4", "pi / 4", pi / 4)
parts("THIRD", "1/3", mpf(1) / 3)

half_ln2 = mpf("0.3505")


def near(f, series):
    """f, by its series where the formula cancels."""
    return lambda x: series(x) if abs(x) < mpf("1e-8") else f(x)


polynomial("EXP", "(e^r - 1 - r) / r^2, |r| <= 0.3505",
           near(lambda r: (exp(r) - 1 - r) / r ** 2, lambda r: mpf(1) / 2 + r / 6 + r ** 2 / 24), -half_ln2, half_ln2,
           {24: 5, 53: 11})
low = mpf("1e-30")
polynomial("LOG", "(atanh(s)/s - 1 - z/3) / z^2, z = s^2 <= 0.0295",
           lambda z: (atanh(sqrt(z)) / sqrt(z) - 1 - z / 3) / z ** 2 if z > mpf("1e-12") else mpf(1) / 5 + z / 7 + z * z / 9,
           mpf(0), mpf("0.0295"), {24: 4, 53: 8})
quarter = (pi / 4 + mpf("0.001")) ** 2
polynomial("SIN", "(sin(r)/r - 1) / z, z = r^2, |r| <= pi/4",
           lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z if z > mpf("1e-12") else -mpf(1) / 6 + z / 120 - z * z / 5040,
           mpf(0), quarter, {24: 4, 53: 7})
polynomial("COS", "(cos(r) - 1 + z/2) / z^2, z = r^2, |r| <= pi/4",
           lambda z: (cos(sqrt(z)) - 1 + z / 2) / z ** 2 if z > mpf("1e-12") else mpf(1) / 24 - z / 720 + z * z / 40320,
           mpf(0), quarter, {24: 3, 53: 6})
polynomial("ATAN", "(atan(q)/q - 1) / z, z = q^2 <= tan(pi/8)^2",
           lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z if z > mpf("1e-12") else -mpf(1) / 3 + z / 5 - z * z / 7,
           mpf(0), mpf("0.1720"), {24: 5, 53: 11})
polynomial("SINH", "(sinh(x)/x - 1) / z, z = x^2 <= 1",
           lambda z: (sinh(sqrt(z)) / sqrt(z) - 1) / z if z > mpf("1e-12") else mpf(1) / 6 + z / 120 + z * z / 5040,
           mpf(0), mpf(1), {24: 4, 53: 8})
polynomial("TANH", "(tanh(x)/x - 1) / z, z = x^2, |x| <= 0.55",
           lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z if z > mpf("1e-12") else -mpf(1) / 3 + 2 * z / 15 - 17 * z * z / 315,
           mpf(0), mpf("0.3026"), {24: 5, 53: 11})
print("/* 2 / pi in binary, 32 bits at a time, highest first; the last ones of f64's largest number are among them. */")
print("#ifndef TWO_PI_BITS\n#define TWO_PI_BITS(...)\n#endif")
mp.dps = 500
bits = int(floor(2 / pi * mpf(2) ** (40 * 32)))
words = [f"0x{bits >> (32 * (39 - i)) & 0xffffffff:08x}" for i in range(40)]
text = "TWO_PI_BITS(" + ", ".join(words) + ")"
while len(text) > 120:
    cut = text.rfind(" ", 0, 120)
    print(text[:cut])
    text = "            " + text[cut + 1:]
print(text)
print("\n#undef POLYNOMIAL\n#undef PARTS\n#undef TWO_PI_BITS")
