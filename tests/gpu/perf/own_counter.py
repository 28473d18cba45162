"""Rewrites loops so that their tiles are indexed by a counter of their own, which the loop carries beside its own counter.

    own_counter.py TILEVM KERNEL.tbc ... [--target sm_90a]

Only the indices of loads are replaced, so that masks still depend on the loop's counter; then every use is. The kernel computes the
same as before: the new counter begins at the loop's first value, and each iteration adds the loop's step. Prints which kernels
compile to another PTX (comments apart) than with the loop's own counter.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

HEAD = re.compile(r"^(\s*)(?:(%[\w:]+) = )?for (%\w+) in \((\S+) to (\S+), step (\S+)\) : (tile<\w+>)(?: iter_values\((.*)\) -> \((.*)\))? \{$")
LOAD = re.compile(r"^\s*%\S+, %\S+ = load_\w+ ")
THREADS = 2


def words(text):
    """The text with commas between, or nothing."""
    return [text] if text else []


class Loop:
    """A loop of the text: lines[first] is its head, lines[last] its brace."""

    def __init__(self, lines, first, head):
        self.first = first
        self.indent, self.result, self.counter, self.low, self.high, self.step, self.type, self.carried, self.types = head.groups()
        self.last = next(i for i in range(first + 1, len(lines)) if lines[i] == self.indent + "}")
        if not lines[self.last - 1].startswith(self.indent + "  continue"):     # nothing is carried
            lines.insert(self.last, self.indent + "  continue")
            self.last += 1
        self.end = self.last - 1

    def loads(self, lines):
        """Lines of loads that the loop's counter is an index of, in this loop or those inside it."""
        use = re.compile(re.escape(self.counter) + r"(?![\w#])")
        return [i for i in range(self.first + 1, self.end) if LOAD.match(lines[i]) and use.search(lines[i])]

    def rewrite(self, lines, number, every):
        own = "%%own%d" % number
        use = re.compile(re.escape(self.counter) + r"(?![\w#])")
        for i in range(self.first + 1, self.end + 1) if every else self.loads(lines):
            lines[i] = use.sub(own, lines[i])
        carried, types = ["%s = %s" % (own, self.low), *words(self.carried)], [self.type, *words(self.types)]
        name, _, count = (self.result or "").partition(":")
        if self.result:
            self.renumber(lines, name)
        result = "%s:%d = " % (name, int(count or 1) + 1) if self.result else ""
        lines[self.first] = "%s%sfor %s in (%s to %s, step %s) : %s iter_values(%s) -> (%s) {" % (
            self.indent, result, self.counter, self.low, self.high, self.step, self.type, ", ".join(carried), ", ".join(types))
        given = re.match(r"\s*continue(?: (.*) : (.*))?$", lines[self.end])
        lines[self.end:self.end + 1] = [
            "%s  %s_next = addi %s, %s : %s" % (self.indent, own, own, self.step, self.type),
            "%s  continue %s : %s" % (self.indent, ", ".join([own + "_next", *words(given[1])]), ", ".join([self.type, *words(given[2])]))]

    def renumber(self, lines, name):
        """Behind the loop, its results have one number more; a single one had none."""
        use = re.compile(re.escape(name) + r"(#(\d+))?(?![\w#:])")
        for i in range(self.last + 1, len(lines)):
            lines[i] = use.sub(lambda m: "%s#%d" % (name, int(m[2] or 0) + 1), lines[i])


def rewritten(text, every=False):
    """(the text with loops rewritten, how many loops)"""
    lines, done, at = text.split("\n"), 0, 0
    while at < len(lines):
        head = HEAD.match(lines[at])
        loop = Loop(lines, at, head) if head else None
        if loop and loop.loads(lines):
            loop.rewrite(lines, done, every)
            done += 1
        at += 1
    return "\n".join(lines), done


def rewrite(tilevm, source, out, every=False):
    """The kernel of a file into another file; how many loops were rewritten."""
    text = subprocess.run([tilevm, "disasm", source], capture_output=True, text=True, check=True).stdout
    text, count = rewritten(text, every)
    subprocess.run([tilevm, "asm", "-", "-o", out], input=text, text=True, check=True)
    return count


def compiled(tilevm, source, target, folder):
    """The PTX without comments, in which positions in the bytecode stand."""
    out = os.path.join(folder, "out.ptx")
    subprocess.run([tilevm, "compile", source, "-t", target, "-o", out], check=True)
    with open(out) as f:
        return re.sub(r"//.*", "", f.read())


def differs(tilevm, source, target):
    """What is wrong, or None."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "own.tbc")
        for every in (False, True):
            if not rewrite(tilevm, source, out, every):
                return "has no loop with loads by its counter"
            if compiled(tilevm, out, target, folder) != compiled(tilevm, source, target, folder):
                return "compiles to another PTX with %s by a counter of its own" % ("all uses" if every else "loads")
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("tilevm")
    p.add_argument("kernels", nargs="+")
    p.add_argument("--target", default="sm_90a")
    options = p.parse_args()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        for kernel, why in zip(options.kernels, pool.map(lambda k: differs(options.tilevm, k, options.target), options.kernels)):
            failed += why is not None
            if why:
                print("%s %s" % (os.path.basename(kernel), why), flush=True)
    print("own counters: %d passed, %d failed" % (len(options.kernels) - failed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
