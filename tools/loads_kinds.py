#!/usr/bin/env python3
"""Counts why loads in loops are not ahead of the iteration that takes them.

    loads_kinds.py BUILD LIMITS --most N FOLDER...

BUILD has loads_told (tests/runners/loads_told.c), which lists the loads in loops of the kernels of a folder. What keeps a
load behind is of one of three kinds: what the kernel means; a budget for registers, instructions or iterations; or
neither, which is for want of an analysis. More than N of the third kind are a failure. Ends with
`loads-kinds: N passed, N failed`, of kernels with loads in loops.

LIMITS: a file of lines `SHARE REASON`. `-` is the share of what the kernel means, and `=` that of a budget.
tools/zoo_check.py counts kernels of the zoo in the same way, and has limits for each reason besides.
"""
import argparse
import collections
import os
import re
import subprocess
import sys

AHEAD = "ahead"


def listed(build, *paths):
    """(module, how the load is fed: AHEAD, or why it is not) of each load in a loop; an error of the lister."""
    p = subprocess.run([os.path.join(build, "loads_told"), "--list", *paths], capture_output=True, text=True)
    lines = re.findall(r"^(\S+):0x[0-9a-f]+: (.*)$", p.stdout, re.M)
    return lines, p.stderr.strip() if p.returncode else ""


def short(reason):
    """Without numbers, which differ."""
    return re.sub(r"\d+", "N", reason.replace("not loaded ahead: ", ""))


class Kinds:
    """Which reasons are the kernel's meaning, and which a budget. A reason says why a load is not in a ring of shared
    memory, and why not in registers."""

    SEPARATOR = "; nor into registers: "

    def __init__(self, path):
        self.shares, self.budgets = {}, set()
        with open(path) as f:
            for line in f:
                share, _, reason = line.strip().partition(" ")
                if share == "=":
                    self.budgets.add(reason)
                elif share and not share.startswith("#"):
                    self.shares[reason] = None if share == "-" else float(share)

    def part(self, reason):
        """What decides, of both: what is the kernel's meaning, else why it is not in a ring."""
        parts = reason.split(self.SEPARATOR)
        return next((p for p in parts if p in self.shares and self.shares[p] is None), parts[0])

    def of(self, reason):
        """Is any of its reasons the meaning, or else a budget?"""
        parts = reason.split(self.SEPARATOR)
        return "meaning" if any(self.shares.get(p, 0.0) is None for p in parts) else \
            "budget" if self.budgets.intersection(parts) else "neither"

    @staticmethod
    def line(counts):
        return "behind by what the kernel means: %d, by a budget for registers: %d, by neither: %d" % \
            (counts["meaning"], counts["budget"], counts["neither"])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("build")
    p.add_argument("limits")
    p.add_argument("folders", nargs="+")
    p.add_argument("--most", type=int, default=0)
    options = p.parse_args()
    kinds, counts, where = Kinds(options.limits), collections.Counter(), collections.defaultdict(list)
    lines, error = listed(options.build, *options.folders)
    for path, how in lines:
        kind = AHEAD if how == AHEAD else kinds.of(short(how))
        counts[kind] += 1
        if kind == "neither":
            where[short(how)].append(os.path.basename(path))
    for reason, names in sorted(where.items()):
        print("%5d  %s\n         %s" % (len(names), reason, " ".join(dict.fromkeys(names))))
    print("%d of %d loads in loops are ahead" % (counts[AHEAD], len(lines)))
    print(kinds.line(counts))
    failed = counts["neither"] > options.most or error or not lines
    if failed:
        print(error or "%d are behind for neither reason, and the limit is %d" % (counts["neither"], options.most))
    kernels = len({path for path, _ in lines})
    print("loads-kinds: %d passed, %d failed" % (0 if failed else kernels, kernels if failed else 0))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
