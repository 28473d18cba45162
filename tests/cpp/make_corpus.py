#!/usr/bin/env python3
"""make_corpus.py BYTECODE OUT: writes OUT/cases.txt, OUT/bytecode, OUT/expected for tests/runners/corpus_run.c
(tests/corpus/README.md has the form). BYTECODE holds <variant>/<kernel file>.tbc, as build.sh makes them.
Needs numpy and ml_dtypes, and TILEVM, the command, which tells the symbols."""
import os
import re
import shutil
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import runs

VARIANTS = ["plain", "G"]
NAMES = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "f8e8m0fnu", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip
SCALARS = {"i1": np.int8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f16": np.float16,
           "f32": np.float32, "f64": np.float64, "bf16": runs.bf}  # fmt: skip


def entries(path):
    """Symbols and the types of their parameters: {'_Z4vadd...': ['ptr<f32>', 'i32']}."""
    text = subprocess.run([os.environ["TILEVM"], "disasm", path], capture_output=True, text=True, check=True).stdout
    found = {}
    for symbol, params in re.findall(r"^\s*entry @(\S+?)\((.*?)\)(?: optimization_hints.*)? \{$", text, re.M):
        found[symbol] = re.findall(r"tile<((?:ptr<[^>]*>)|[^>]*)>", params)
    return found


def only_read(path, symbol):
    """For each parameter, whether its author wrote a pointer to const."""
    command = [os.environ["TILEVM"], "run", path, "--params", "--entry", symbol]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    return ["pointer to constant " in line for line in lines]


def choose(symbols, part):
    fitting = [s for s in symbols if (s == part[1:] if part[0] == "=" else part in s)]
    if len(fitting) != 1:
        raise SystemExit(f"{part}: {fitting} of {list(symbols)}")
    return fitting[0]


def words(array):
    width = array.dtype.itemsize
    flat = np.ascontiguousarray(array).reshape(-1).view(f"u{width}")
    return [f"{int(v):x}" for v in flat]


def fnv(data):
    total = 0xCBF29CE484222325
    for byte in data:
        total = (total ^ byte) * 0x100000001B3 % 2**64
    return total


def put_array(lines, name, array, constant, expected, rtol, atol, path):
    role = "in" if constant else "inout"  # the kernel sees an address only
    lines.append(f"array {name} {role} {NAMES[array.dtype.name]} i32 1 {array.size} 1 0 {array.size}")
    hexes = words(array)
    if len(set(hexes)) == 1:
        lines.append(f"gen {name} words 1 {hexes[0]}")
    else:
        lines.append(f"gen {name} words {len(hexes)} {' '.join(hexes)}")
    lines.append(f"fnv {name} {fnv(np.ascontiguousarray(array).tobytes()):x}")
    if expected is not None:
        exact = array.dtype.kind in "iu"
        lines.append(f"tol {name} bits" if exact else f"tol {name} close {rtol} {atol}")
        data = np.ascontiguousarray(expected.astype(array.dtype)).tobytes()
        lines.append(f"expect {name} file {path} {len(data)}")
        return data
    if not constant:
        lines.append(f"expect {name} none")
    return None


def scalar(kind, value):
    if isinstance(value, str):
        value = int(value.split(":")[1])
    dtype = SCALARS[kind]
    if np.dtype(dtype).kind == "i":
        bits = int(value) % 2 ** (8 * np.dtype(dtype).itemsize)
        return f"param {kind} {value} {bits:x}"
    number = np.array([value], dtype)
    return f"param {kind} {value} {words(number)[0]}"


def put_case(lines, name, module, part, variant, case, out, source):
    _, _, grid, args, expected, rtol, atol = case
    path = f"bytecode/{variant}/{module}.tbc"
    symbols = entries(f"{source}/{variant}/{module}.tbc")
    symbol = choose(symbols, part)
    grid = (grid + ",1,1").split(",")[:3]
    lines += [f"case {name}.{variant}", f"info {module} check run any 80", f"symbol {symbol}", "grid " + " ".join(grid),
              f"file 13.5 {path}"]  # fmt: skip
    params, constant = [], only_read(f"{source}/{variant}/{module}.tbc", symbol)
    for i, (argument, kind) in enumerate(zip(args, symbols[symbol], strict=True)):
        letter = chr(97 + i)
        if isinstance(argument, np.ndarray):
            if argument.size == 0:
                argument = np.zeros(1, argument.dtype)
            data = put_array(lines, letter, argument, constant[i], expected.get(i), rtol, atol, f"expected/{name}.{letter}.bin")
            if data is not None:
                open(f"{out}/expected/{name}.{letter}.bin", "wb").write(data)
            params.append(f"param ptr {letter}")
        elif isinstance(argument, str) and argument[0] == "@":
            params.append(f"param ptr {argument[1:]}")
        else:
            params.append(scalar(kind, argument))
    lines += params + ["end"]


def main():
    source, out = sys.argv[1:]
    for script in range(1, 5):
        __import__(f"cases{script}")
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(f"{out}/expected")
    lines, taken = [], {}
    for case in runs.cases:
        module, part = case[:2]
        if not case[4]:  # nothing to compare
            continue
        base = f"{module}.{re.sub(r'[^A-Za-z0-9]', '', part)}"
        taken[base] = taken.get(base, 0) + 1
        name = base if taken[base] == 1 else f"{base}.{taken[base]}"
        for variant in VARIANTS:
            if os.path.exists(f"{source}/{variant}/{module}.tbc"):
                put_case(lines, name, module, part, variant, case, out, source)
    for variant in VARIANTS:
        if os.path.isdir(f"{source}/{variant}"):
            shutil.copytree(f"{source}/{variant}", f"{out}/bytecode/{variant}")
    open(f"{out}/cases.txt", "w").write("\n".join(lines) + "\n")
    print(f"{len(lines)} lines, {sum(l.startswith('case ') for l in lines)} cases")


main()
