#!/usr/bin/env python3
"""What the hardware counters of a GPU say of kernels: how busy its units are, and what warps wait for.

    gpu_counters.py [--kernel RE] [--skip N] [--launches N] [--csv FILE] [--title TEXT] -- COMMAND...
    gpu_counters.py --read FILE...

Runs COMMAND under Nsight Compute (ncu on PATH, which must be allowed to read counters) and prints a table of the kernels that it
launches: those whose name matches, N of them behind the first ones. The clocks are left as they are, caches are empty before each
launch, which is repeated until all counters were read, so its time is near but not that of a benchmark. --csv keeps all that ncu
gives; --read prints the table of such files again, the name of the file as title, without a GPU.

tensor, DRAM, L2: of what these units can do in that time, as ncu has it; hits: of L2, of sectors; issue: of cycles in which a
multiprocessor had a warp, those in which a scheduler issued; warps: on a multiprocessor, on average; waits: of the time of warps,
the reasons why they issued nothing, the most frequent first, from 3 % (Nsight Compute, "Warp Scheduler States").
"""
import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile

TIME = "gpu__time_duration.sum"
SHARES = [
    ("tensor", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"),
    ("DRAM", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
    ("L2", "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
    ("hits", "lts__t_sector_hit_rate.pct"),
    ("issue", "smsp__issue_active.avg.pct_of_peak_sustained_active"),
]
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
WARPS = "sm__warps_active.avg.per_cycle_active"
REASON = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
SCALES = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6,
          "byte": 1e-6, "Kbyte": 1e-3, "Mbyte": 1, "Gbyte": 1e3}      # to microseconds, megabytes
LEAST_SHARE = 0.03


class Failure(Exception):
    pass


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--kernel", default="", help="kernels whose name this matches")
    p.add_argument("--skip", type=int, default=0, help="launches of them that are left out first")
    p.add_argument("--launches", type=int, default=1, help="how many are looked at (1)")
    p.add_argument("--csv", help="keep here what ncu gives")
    p.add_argument("--title", default="", help="the first column (the kernel's name)")
    p.add_argument("--read", nargs="+", metavar="FILE", help="what --csv kept")
    p.add_argument("command", nargs=argparse.REMAINDER)
    options = p.parse_args()
    options.command = [w for i, w in enumerate(options.command) if i or w != "--"]
    if bool(options.command) == bool(options.read):
        p.error("wanted: either a command, behind --, or --read")
    return options


def profile(options):
    """The lines that ncu has of the command's kernels."""
    with tempfile.TemporaryDirectory() as place:
        report = os.path.join(place, "report")
        words = ["ncu", "--clock-control", "none", "--set", "full", "--export", report,
                 "--launch-skip", str(options.skip), "--launch-count", str(options.launches)]
        if options.kernel:
            words += ["--kernel-name", "regex:" + options.kernel]
        try:
            ran = subprocess.run(words + options.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if ran.returncode or not os.path.exists(report + ".ncu-rep"):
                said = " / ".join(ran.stdout.strip().splitlines()[-3:])
                raise Failure("no counters (ncu's exit code is %d): %s" % (ran.returncode, said))
            words = ["ncu", "--import", report + ".ncu-rep", "--page", "raw", "--csv"]
            return subprocess.run(words, check=True, capture_output=True, text=True).stdout
        except FileNotFoundError:
            raise Failure("no ncu on PATH: it comes with CUDA's toolkit")
        except subprocess.CalledProcessError as e:
            raise Failure("ncu cannot read its own report: " + e.stderr.strip())


def kernels(text):
    """One dictionary of (value, unit) for each launch; ncu has a line of names, one of units, then the launches."""
    lines = list(csv.reader(text.splitlines()))
    head = next((i for i, line in enumerate(lines) if line and line[0] == "ID"), None)
    if head is None or len(lines) < head + 2:
        raise Failure("no table of Nsight Compute's page \"raw\"")
    names, units = lines[head], lines[head + 1]
    return [{n: (v, u) for n, v, u in zip(names, line, units)} for line in lines[head + 2:] if len(line) == len(names)]


def number(kernel, name):
    """Percent, or microseconds, or megabytes; None: it was not counted."""
    value, unit = kernel.get(name, ("", ""))
    try:
        return float(value.replace(",", "")) * SCALES.get(unit, 1)
    except ValueError:
        return None


def reasons(kernel):
    """(share, name), without that an instruction was issued."""
    found = {m[1]: number(kernel, n) or 0 for n in kernel for m in [REASON.fullmatch(n)] if m}
    total = sum(found.values())
    return sorted(((v / total, n) for n, v in found.items() if n != "selected" and v >= LEAST_SHARE * total), reverse=True)


def cell(value, form="%.0f"):
    return "–" if value is None else form % value


def describe(kernel, title):
    name = title or kernel.get("Kernel Name", ("?", ""))[0].split("(")[0]
    row = ["%-36s" % name[:36], "%10s" % cell(number(kernel, TIME), "%.1f")]
    row += ["%6s" % cell(number(kernel, metric)) for _, metric in SHARES]
    row += ["%6s" % cell(number(kernel, WARPS), "%.1f")]
    row += ["%9s" % cell(number(kernel, metric), "%.1f") for metric in (READ, WRITTEN)]
    return " ".join(row) + "  " + ", ".join("%s %.0f %%" % (n.replace("_", " "), 100 * share) for share, n in reasons(kernel))


def main():
    options = parse()
    shares = " ".join("%6s" % n for n, _ in SHARES)
    print("%-36s %10s %s %6s %9s %9s  %s" % ("percent", "us", shares, "warps", "MB read", "written", "waits"))
    if options.read:
        for path in options.read:
            with open(path) as f:
                for kernel in kernels(f.read()):
                    print(describe(kernel, os.path.basename(path).split(".")[0]))
        return
    text = profile(options)
    if options.csv:
        with open(options.csv, "w") as f:
            f.write(text)
    found = kernels(text)
    if not found:
        raise Failure("the command launched no such kernel")
    for kernel in found:
        print(describe(kernel, options.title))


if __name__ == "__main__":
    try:
        main()
    except (Failure, OSError) as e:
        sys.exit("gpu_counters: %s" % e)
