#!/usr/bin/env python3
"""The PTX of this code generator beside that of NVIDIA's tile compiler, for the large kernels of the corpus. Nothing runs on a GPU.

    bench_reference.py BUILD CORPUS FOLDER [--target sm_100a] [--filter TEXT] [--fresh] [--csv FILE]

Each kernel is compiled by both (TILEIR_TOOLS: the folder of tileiras, ptxas and cuobjdump, or PATH has them; FOLDER keeps theirs), and the
first thread blocks of its launch run on the PTX simulator, for half a million instructions of warps, which counts what they execute (corpus_run
--counts). Blocks may compute more than one tile, so counts are divided by the multiply-adds that were made or, in kernels without products,
by the bytes that were loaded.

  maps      bytes that are loaded through tensor maps or in bulk, of all bytes loaded, ours/theirs
  product   shape of the product with most multiply-adds; +2: by a pair of blocks (cta_group::2); t: its sum is in tensor memory
  outside   instructions of warps that are not products (nor `mov`, which ptxas removes), ours/theirs; turns of a loop that waits for a
            barrier count once
  registers of a thread; +s: with a stack of so many bytes, where ptxas spills
  cycles    predicted for a multiprocessor, ours/theirs: the largest of what its resources need for these counts, with the figures of
            codegen/cost/*.def: tensor cores, issue of instructions, special functions, shared memory (with the operands of products), bytes
            from L2. An instruction of PTX counts as what ptxas makes of it (MACHINE). Latencies are not in it.

Ends with geometric means, and the kernels that are furthest behind. Without the tools, it says so and stops."""
import argparse
import csv
import math
import os
import re
import shutil
import subprocess
import sys

# Bits of an element, by the words of opcodes.
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4}
# Kinds of tcgen05.mma: the row of TENSOR in cost.def that has their rate, and bits of an element in shared memory.
KINDS = {"f16": ("F16", 16), "tf32": ("TF32", 32), "f8f6f4": ("F8E4M3FN", 8), "i8": ("I8", 8), "mxf8f6f4": ("F8E4M3FN", 8),
         "mxf4": ("F4E2M1FN", 4), "mxf4nvf4": ("F4E2M1FN", 4)}
RATES = {"f16": "F16", "bf16": "BF16", "tf32": "TF32", "e4m3": "F8E4M3FN", "e5m2": "F8E5M2", "s8": "I8", "u8": "I8", "f64": "F64"}
# Instructions of the machine, and how many of them are special functions, for an instruction of PTX that ptxas 13.5 does not translate to one
# for sm_100a; of divisions and roots, those of the way without denormal numbers. The first row that fits holds; others take one.
MACHINE = [(re.compile(pattern), instructions, special) for pattern, instructions, special in (
    (r"mov\.|neg\.f|abs\.f|cvt\.u64\.u32|cvt\.u32\.u64|cvta\.", 0, 0),  # registers have other names, or operands a modifier
    (r"div\.rn\.f32|div\.rn\.ftz", 11, 1), (r"div\.full\.f32|div\.full\.ftz", 9, 1), (r"div\.approx", 2, 1),
    (r"rcp\.rn\.(ftz\.)?f32", 9, 1), (r"sqrt\.rn\.(ftz\.)?f32", 10, 1),
    (r"(ex2|lg2|rsqrt)\.approx\.f32", 5, 1), (r"sqrt\.approx", 6, 1),
    (r"(ex2|lg2|rcp|rsqrt|sin|cos|tanh)\.", 1, 1),
    (r"(div|rem)\.[su]32", 22, 1), (r"mul\.lo\.[su]64", 4, 0), (r"mad\.wide", 3, 0), (r"(min|max)\.[su]64", 4, 0),
    (r"(add|sub|and|or|xor|not|shl|shr|selp|setp\.\w+)\.[bsu]64", 2, 0))]
PRODUCTS = ("tcgen05.mma.", "wgmma.mma_async.", "mma.sync.")


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("build")
    p.add_argument("corpus")
    p.add_argument("folder")
    p.add_argument("--target", default="sm_100a")
    p.add_argument("--filter", default="", help="kernels whose name has this text")
    p.add_argument("--fresh", action="store_true", help="compile again by NVIDIA's compiler, too")
    p.add_argument("--csv", help="write the table to this file, too")
    return p.parse_args()


def tool(name):
    folder = os.environ.get("TILEIR_TOOLS", "")
    path = os.path.join(folder, name) if folder else ""
    return path if path and os.access(path, os.X_OK) else shutil.which(name)


# ---- figures of the model ----


class Model:
    """Rates of a multiprocessor of the first GPU that cost/gpus.def has for the target."""

    def __init__(self, target):
        here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "codegen", "cost")
        with open(os.path.join(here, "cost.def"), encoding="utf-8") as f:
            text = f.read()
        with open(os.path.join(here, "gpus.def"), encoding="utf-8") as f:
            gpus = re.findall(r'^GPU\((\w+), *"(\w+)", *"([^"]*)", *(\d+), *(\w+), *([\d., ]+),', f.read(), re.M)
        architecture = int(re.sub(r"\D", "", target))
        gpu = max((g for g in gpus if int(g[3]) <= architecture), key=lambda g: int(g[3]))
        self.name = gpu[2]
        self.factor = float(gpu[5].split(",")[3])
        last = {name: float(h200) for name, h200 in re.findall(r"^FIGURE\((\w+), *[\d.]+, *[\d.]+, *([\d.]+),", text, re.M)}
        self.issue, self.special, self.shared, self.l2 = (last[x] for x in ("issue", "special_rate", "shared_bytes", "l2_bytes"))
        rows = re.findall(r"^TENSOR\((\w+), *(\d+), *(\d+), *(\d+)\)", text, re.M)
        self.async_rate = {kind: float(rate) for kind, _, rate, _ in rows}
        self.mma_rate = {kind: float(rate) for kind, _, _, rate in rows}

    def rate(self, kind, is_async):
        return self.factor * (self.async_rate if is_async else self.mma_rate)[kind]


# ---- what was executed ----


def access_bytes(opcode):
    """Bytes that a thread moves with a load or store."""
    words = opcode.split(".")
    count = next((int(w[1:]) for w in words if re.fullmatch(r"v\d", w)), 1)
    bits = next((int(w[1:]) for w in reversed(words) if re.fullmatch(r"[busf]\d+", w)), 32)
    return count * bits // 8


def matrix_bytes(opcode):
    """Bytes that a warp moves with ldmatrix or stmatrix, divided by its threads."""
    return 4 * int(re.search(r"\.x(\d)", opcode).group(1))


def machine(opcode):
    """How many instructions of the machine one of PTX is, and how many of these are special functions."""
    return next(((instructions, special) for pattern, instructions, special in MACHINE if pattern.match(opcode)), (1, 0))


class Work:
    """Sums over the lines `OPCODE WARPS LANES BYTES M N K A-IN-SHARED` of a file of counts."""

    def __init__(self, path, model):
        self.outside = self.issued = self.macs = self.tensor = self.special = self.shared = self.loaded = self.by_map = self.stored = 0
        self.shapes = {}
        self.in_tensor_memory = False
        with open(path, encoding="utf-8") as f:
            for line in f:
                opcode, *numbers = line.split()
                self.add(opcode, [int(n) for n in numbers], model)

    def add(self, opcode, numbers, model):
        warps, lanes, copied, *shape = numbers
        if opcode.startswith(PRODUCTS):
            self.add_product(opcode, warps, lanes, shape, model)
            return
        if not opcode.startswith("mov."):
            self.outside += warps
        instructions, special = machine(opcode)
        self.issued += instructions * warps
        self.special += special * warps
        if opcode.startswith(("ldmatrix", "stmatrix")):
            self.shared += lanes * matrix_bytes(opcode)
        elif opcode.startswith("cp.async.bulk"):
            # without a guard, NVIDIA's dialect means one copy of a warp
            copied = copied * warps // lanes if lanes else copied
            self.shared += copied
            if ".global.shared" in opcode:
                self.stored += copied
            else:
                self.by_map += copied
                self.loaded += copied
        elif re.match(r"cp\.async\.c[ag]\.", opcode):
            self.loaded += 16 * lanes if ".cg." in opcode else 8 * lanes
            self.shared += 16 * lanes
        elif re.match(r"(ld|st|red|atom)\.", opcode) and ".param" not in opcode:
            self.add_access(opcode, lanes)

    def add_access(self, opcode, lanes):
        moved = lanes * access_bytes(opcode)
        if ".shared" in opcode:
            self.shared += moved
        elif opcode.startswith("ld."):
            self.loaded += moved
        else:
            self.stored += moved

    def add_product(self, opcode, warps, lanes, shape, model):
        m, n, k, a_in_shared = shape  # tcgen05.mma is of one thread, and may be guarded in warps without it
        rows = m if a_in_shared else 0
        is_tcgen05, is_wgmma = opcode.startswith("tcgen05"), opcode.startswith("wgmma")
        macs = m * n * k * (lanes if is_tcgen05 else warps // 4 if is_wgmma else warps)
        self.macs += macs
        words = opcode.split(".")
        if is_tcgen05:
            kind, bits = KINDS[re.search(r"kind::(\w+)", opcode).group(1)]
            self.in_tensor_memory = True
            self.shared += (rows + n) * k * bits // 8 * lanes
        else:
            word = [w for w in words if w in RATES][-3 if not is_wgmma else -2:][0]
            kind = RATES[word]
            if is_wgmma:
                self.shared += (rows + n) * k * BITS[word] // 8 * warps // 4
        pair = "+2" if "cta_group::2" in opcode else ""
        label = f"{m}x{n}x{k}{pair}" + ("t" if is_tcgen05 else "")
        self.shapes[label] = self.shapes.get(label, 0) + macs
        self.tensor += macs / model.rate(kind, is_tcgen05 or is_wgmma)

    def unit(self):
        return self.macs or self.loaded or 1

    def cycles(self, model):
        """Of each resource."""
        return {"tensor": self.tensor, "issue": self.issued / model.issue, "special": self.special / model.special,
                "shared": self.shared / model.shared, "L2": (self.loaded + self.stored) / model.l2}

    def shape(self):
        return max(self.shapes, key=self.shapes.get) if self.shapes else "-"


# ---- the two compilers ----


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def registers(cubin):
    found = re.search(r"REG:(\d+) STACK:(\d+)", run(tool("cuobjdump"), "--dump-resource-usage", cubin).stdout)
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def compile_theirs(options, name, bytecode, cubin):
    """What is there already stays."""
    if os.path.exists(cubin) and not options.fresh:
        return True
    part = cubin + ".part"
    result = run(tool("tileiras"), bytecode, "-o", part, "--gpu-name", options.target.rstrip("af"), "-O3", "--lineinfo")
    if result.returncode:
        print(f"{name}: NVIDIA's compiler refuses it: {result.stderr.strip()[:200]}")
        return False
    os.rename(part, cubin)
    return True


def count(options, name, folder, *more):
    result = run(os.path.join(options.build, "corpus_run"), options.corpus, "--version", "13.5", "--perf", "--filter", name, "--counts",
                 folder, *more)
    path = os.path.join(folder, name + ".counts")
    if not os.path.exists(path) or "FAILED" in result.stdout:
        print(f"{name}: {result.stdout.strip()[:300]}")
        return None
    return path


def measure(options, model, name):
    """(ours, theirs): what each executes, and its registers; None: it is not known."""
    theirs_folder, ours_folder = (os.path.join(options.folder, x) for x in ("theirs", "ours"))
    bytecode = os.path.join(options.corpus, "bytecode", "13.5", name + ".tbc")
    cubin, ours = os.path.join(theirs_folder, name + ".cubin"), os.path.join(ours_folder, name)
    if not compile_theirs(options, name, bytecode, cubin):
        return None
    run(os.path.join(options.build, "tilevm"), "compile", bytecode, "--target", options.target, "--emit", "ptx", "-o", ours + ".ptx")
    run(tool("ptxas"), "-arch", options.target, "-O3", ours + ".ptx", "-o", ours + ".cubin")
    first = count(options, name, ours_folder, "--ptx", options.target)
    second = count(options, name, theirs_folder, "--ptx", options.target.rstrip("af"), "--reference", theirs_folder)
    if not first or not second:
        return None
    return (Work(first, model), registers(ours + ".cubin")), (Work(second, model), registers(cubin))


# ---- the table ----


def ratio(ours, theirs):
    return ours / theirs if theirs else (1.0 if not ours else math.inf)


def row_of(name, model, both):
    (ours, our_registers), (theirs, their_registers) = both
    our_cycles, their_cycles = ours.cycles(model), theirs.cycles(model)
    scale = theirs.unit() / ours.unit()
    return {
        "kernel": name.replace("perf_", ""),
        "maps": "/".join(f"{x.by_map / x.loaded:.0%}" if x.loaded else "-" for x in (ours, theirs)),
        "product": f"{ours.shape()} / {theirs.shape()}",
        "outside": ratio(ours.outside, theirs.outside) * scale,
        "registers": " / ".join(f"{r}{f'+{s}s' if s else ''}" for r, s in (our_registers, their_registers)),
        "cycles": ratio(max(our_cycles.values()), max(their_cycles.values())) * scale,
        "bound by": "/".join(max(c, key=c.get) for c in (our_cycles, their_cycles)),
        "_": {"product": bool(theirs.macs), "maps": ours.by_map * scale >= 0.99 * theirs.by_map,
              "tensor memory": ours.in_tensor_memory >= theirs.in_tensor_memory,
              "pair": ("+2" in ours.shape()) >= ("+2" in theirs.shape()), "shape": size(ours.shape()) >= size(theirs.shape()),
              "spill": our_registers[1] == 0 or their_registers[1] > 0},
    }


def size(shape):
    """Multiply-adds of an instruction along M and N."""
    numbers = re.findall(r"\d+", shape.split("+")[0])
    return int(numbers[0]) * int(numbers[1]) if numbers else 0


def mean(values):
    values = [v for v in values if 0 < v < math.inf]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def print_table(rows):
    columns = [c for c in rows[0] if c != "_"]
    text = [[f"{r[c]:.2f}" if isinstance(r[c], float) else r[c] for c in columns] for r in rows]
    widths = [max(len(c), *(len(t[i]) for t in text)) for i, c in enumerate(columns)]
    for line in [columns, *text]:
        print("  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip())


def print_summary(rows):
    products = [r for r in rows if r["_"]["product"]]

    def share(which, what, key):
        print(f"{what}: {sum(r['_'][key] for r in which)} of {len(which)}")

    print(f"instructions outside products, ours/theirs, geometric mean: {mean(r['outside'] for r in products):.2f} with products, "
          f"{mean(r['outside'] for r in rows):.2f} of all {len(rows)}")
    print(f"predicted cycles, ours/theirs, geometric mean: {mean(r['cycles'] for r in products):.2f} with products, "
          f"{mean(r['cycles'] for r in rows):.2f} of all; at most theirs: {sum(r['cycles'] <= 1.005 for r in rows)} of {len(rows)}")
    share(products, "as many bytes through maps", "maps")
    share(products, "products of the same or a larger shape", "shape")
    share(products, "sums in tensor memory where theirs are", "tensor memory")
    share(products, "cta_group::2 where theirs have it", "pair")
    share(rows, "no spills where theirs have none", "spill")
    worst = sorted(products, key=lambda r: -r["outside"])[:5]
    print("furthest behind outside products: " + ", ".join(f"{r['kernel']} {r['outside']:.2f}" for r in worst))


def main():
    options = parse()
    missing = [name for name in ("tileiras", "ptxas", "cuobjdump") if not tool(name)]
    if missing:
        print(f"bench-sim-reference: skipped, there is no {', '.join(missing)} (TILEIR_TOOLS)")
        return 0
    os.environ.setdefault("CUDA_HOME", os.path.dirname(os.path.dirname(tool("tileiras"))))
    os.environ["PATH"] = os.path.dirname(tool("tileiras")) + os.pathsep + os.environ["PATH"]
    for part in ("ours", "theirs"):
        os.makedirs(os.path.join(options.folder, part), exist_ok=True)
    model = Model(options.target)
    names = sorted(f[:-4] for f in os.listdir(os.path.join(options.corpus, "bytecode", "13.5"))
                   if f.startswith("perf_") and f.endswith(".tbc") and options.filter in f)
    rows = []
    for name in names:
        both = measure(options, model, name)
        if both:
            rows.append(row_of(name, model, both))
    if not rows:
        print("bench-sim-reference: no kernel could be compared")
        return 1
    print(f"{options.target}; rates of a {model.name}. Never run on the hardware.")
    print_table(rows)
    print_summary(rows)
    if options.csv:
        with open(options.csv, "w", encoding="utf-8", newline="") as f:
            writer = csv.DictWriter(f, [c for c in rows[0] if c != "_"], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
    return 0 if len(rows) == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
