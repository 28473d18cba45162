#!/usr/bin/env python3
"""Makes codegen/math/coefficients.def: constants of the functions in codegen/math_*.c. Needs mpmath.

Every polynomial is the one with the least squares of errors in 64 Chebyshev nodes of the interval, in 60 digits, which is
within a small factor of the best one (Remez). The coefficients are rounded one by one from the lowest, the rest being
fitted again to what is left over. The comment gives the largest error found, relative to the function that it approximates.
Rows of f32 alone are the best ones, in error of the function that they are part of, or were found by search: such that the
code in math_*.c, in f32, gives the very bits that were measured of CUDA's functions (torch on an H200), on 2^21 numbers each and,
of log, log2 and tanh, on every number of an interval where the polynomial is the result. A least-squares fit to the measured
results gives real coefficients; their neighbours in f32, near the directions in which the fit tells the least, were tried until
no result differed.

    python3 codegen/math/coefficients.py > codegen/math/coefficients.def
"""
from mpmath import mp, mpf, pi, log, log1p, exp, cos, sin, tan, tanh, sinh, atan, atanh, sqrt, floor, frexp, lu_solve, matrix

mp.dps = 60


def rounded(x, bits, down=False):
    """x rounded to so many bits of significand; down: towards 0."""
    if x == 0:
        return mpf(0)
    m, e = frexp(x)
    scaled = m * mpf(2) ** bits
    n = floor(scaled)
    d = scaled - n
    if not down and (d > mpf(1) / 2 or (d == mpf(1) / 2 and int(n) % 2)):
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
    for bits in counts:
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
    put(name, what, worst, rows)


def put(name, what, worst, rows):
    print(f"/* {what}; relative error " + ", ".join(f"2^{w:.1f}" for w in worst) + " */")
    for bits, row in rows.items():
        lines = ", ".join(hexadecimal(c) for c in row)
        text = f"POLYNOMIAL({name}, {'F32' if bits == 24 else 'F64'}, {lines})"
        while len(text) > 120:
            cut = text.rfind(" ", 0, 120)
            print(text[:cut])
            text = "           " + text[cut + 1:]
        print(text)
    print()


POINTS = 1500


def best(f, weight, low, high, count):
    """Coefficients whose largest weighted error is the least possible (Remez), on a grid of so many points, and that error."""
    grid = [(low + high) / 2 - (high - low) / 2 * cos(pi * i / (POINTS - 1)) for i in range(POINTS)]
    values = [f(x) for x in grid]
    weights = [weight(x) for x in grid]
    chosen = [(i + 1) * (POINTS - 1) // (count + 2) for i in range(count + 1)]
    for _ in range(40):
        a = matrix(count + 1, count + 1)
        b = matrix(count + 1, 1)
        for i, at in enumerate(chosen):
            for j in range(count):
                a[i, j] = grid[at] ** j
            a[i, count] = (-1) ** i / weights[at]
            b[i] = values[at]
        c = list(lu_solve(a, b))[:count]
        errors = [w * (polynomial_at(c, x) - v) for x, v, w in zip(grid, values, weights)]
        peaks = []
        for i, e in enumerate(errors):
            if peaks and (errors[peaks[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[peaks[-1]]):
                    peaks[-1] = i
            else:
                peaks.append(i)
        while len(peaks) > count + 1:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        if peaks == chosen:
            break
        chosen = peaks
    return c, max(abs(e) for e in errors)


def polynomial_at(c, x):
    value = mpf(0)
    for k in reversed(c):
        value = value * x + k
    return value


def minimax(name, what, f, weight, low, high, count):
    """A row of f32: the weight makes errors of the polynomial relative errors of the function. Rounded one by one."""
    mp.dps = 40
    c, worst = best(f, weight, mpf(low), mpf(high), count)
    put(name, what, [float(log(worst) / log(2))], {24: [rounded(x, 24) for x in c]})
    mp.dps = 60


def searched(name, what, f, weight, low, high, coefficients):
    """A row of f32 that was found by search (see above); the weight is as for minimax."""
    c = [mpf(float.fromhex(x)) for x in coefficients.split()]
    low, high = mpf(low), mpf(high)
    grid = [low + (high - low) * i / POINTS for i in range(POINTS + 1)]
    worst = max(abs(weight(x) * (polynomial_at(c, x) - f(x))) for x in grid)
    put(name, what + ", found by search", [float(log(worst) / log(2))], {24: c})


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


def parts_down(x):
    found = []
    for _ in range(3):
        found.append(rounded(x - sum(found), 24, down=True))
    return found


print("/* Constants of the mathematical functions, made by codegen/math/coefficients.py: POLYNOMIAL(name, type, coefficients of 1, x, x^2,")
print("   ...) and PARTS(name, type, numbers whose sum is the constant). */")
print("#ifndef POLYNOMIAL\n#define POLYNOMIAL(name, type, ...)\n#endif\n#ifndef PARTS\n#define PARTS(name, type, ...)\n#endif\n")
parts("LOG2_E", "log2(e)", 1 / log(mpf(2)))
parts("LN_2", "ln 2; the first part times any exponent is exact", log(mpf(2)), 3, {24: 15, 53: 41})
parts("LN_2_PAIR", "ln 2, rounded", log(mpf(2)))
parts("PI_2", "pi / 2", pi / 2)
print("/* pi / 2, all parts of one sign: with n = 0, x - n pi / 2 is x for -0 too */")
print("PARTS(PI_2_DOWN, F32, " + ", ".join(hexadecimal(p) for p in parts_down(pi / 2)) + ")\n")
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


def of_sin(z):
    return (sin(sqrt(z)) / sqrt(z) - 1) / z if z > mpf("1e-12") else -mpf(1) / 6 + z / 120 - z * z / 5040


def of_cos(z):
    return (cos(sqrt(z)) - 1) / z if z > mpf("1e-12") else -mpf(1) / 2 + z / 24 - z * z / 720


def of_tan(z):
    return (tan(sqrt(z)) / sqrt(z) - 1) / z if z > mpf("1e-12") else mpf(1) / 3 + 2 * z / 15 + 17 * z * z / 315


def over_function(name):
    """z / (name(x) / x), z = x^2: the weight of an error of P in name(x) = x + x z P(z)."""
    return lambda z: z / (name(sqrt(z)) / sqrt(z)) if z > mpf("1e-12") else z


searched("SIN", "(sin(r)/r - 1) / z, z = r^2, |r| <= pi/4", of_sin, over_function(sin), 0, quarter,
         "-0x1.55555p-3 0x1.110bc8p-7 -0x1.9a82a6p-13")
polynomial("SIN", "the same", of_sin, mpf(0), quarter, {53: 7})
searched("COS", "(cos(r) - 1) / z, z = r^2, |r| <= pi/4", of_cos, lambda z: z / cos(sqrt(z)), 0, quarter,
         "-0x1.fffffep-2 0x1.555576p-5 -0x1.6c0fdap-10 0x1.9758p-16")
polynomial("COS", "((cos(r) - 1) / z + 1/2) / z, the same z",
           lambda z: (of_cos(z) + mpf(1) / 2) / z if z > mpf("1e-12") else mpf(1) / 24 - z / 720 + z * z / 40320,
           mpf(0), quarter, {53: 6})
searched("TAN", "(tan(r)/r - 1) / z, z = r^2, |r| <= pi/4", of_tan, over_function(tan), 0, quarter,
         "0x1.55551p-2 0x1.11287p-3 0x1.b6p-5 0x1.8ep-6 0x1.acp-9 0x1.32p-7")
polynomial("ATAN", "(atan(q)/q - 1) / z, z = q^2 <= tan(pi/8)^2",
           lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z if z > mpf("1e-12") else -mpf(1) / 3 + z / 5 - z * z / 7,
           mpf(0), mpf("0.1720"), {24: 5, 53: 11})


def of_sinh(z):
    return (sinh(sqrt(z)) / sqrt(z) - 1) / z if z > mpf("1e-12") else mpf(1) / 6 + z / 120 + z * z / 5040


def of_tanh(z):
    return (tanh(sqrt(z)) / sqrt(z) - 1) / z if z > mpf("1e-12") else -mpf(1) / 3 + 2 * z / 15 - 17 * z * z / 315


def of_log(r):
    return (log1p(r) - r) / r ** 2 if abs(r) > mpf("1e-9") else -mpf(1) / 2 + r / 3 - r * r / 4


def over_log(r):
    """The weight of an error of P in log(1 + r) = r + r^2 P(r); not 0, where nothing could be divided by it."""
    return abs(r) / (log1p(r) / r if abs(r) > mpf("1e-9") else 1) + mpf("1e-12")


minimax("SINH", "(sinh(x)/x - 1) / z, z = x^2 <= 1", of_sinh, over_function(sinh), 0, 1, 4)
polynomial("SINH", "the same", of_sinh, mpf(0), mpf(1), {53: 8})
searched("TANH", "(tanh(x)/x - 1) / z, z = x^2, |x| <= 0.6", of_tanh, over_function(tanh), 0, "0.36",
         "-0x1.5553dap-2 0x1.10b282p-3 -0x1.ac795cp-5 0x1.01e104p-6")
polynomial("TANH", "the same, |x| <= 0.55", of_tanh, mpf(0), mpf("0.3026"), {53: 11})
third = mpf(1) / 3
searched("LOG_1P", "(log(1 + r) - r) / r^2, |r| <= 1/3", of_log, over_log, -third, third,
         "-0x1p-1 0x1.5554fp-2 -0x1.fffe44p-3 0x1.99da16p-3 -0x1.55b172p-3 0x1.1e52aap-3 -0x1.f19b98p-4 "
         "0x1.2073ecp-3 -0x1.0aa04ep-3")
searched("LOG2_1P", "(log(1 + r) - r) / r^2 / ln 2, sqrt(1/2) <= 1 + r <= sqrt(2)", lambda r: of_log(r) / log(mpf(2)), over_log,
         sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1,
         "-0x1.715476p-1 0x1.ec7094p-2 -0x1.715492p-2 0x1.277f32p-2 -0x1.ec7916p-3 0x1.a417e8p-3 -0x1.6e9c86p-3 "
         "0x1.5f9e54p-3 -0x1.58fe62p-3 0x1.8d6508p-4")
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
