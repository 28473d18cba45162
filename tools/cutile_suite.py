#!/usr/bin/env python3
"""What became of cuTile Python's own tests on the virtual machine, by cause, as a table for docs/guides/cutile.md.

    cutile_suite.py [--update docs/guides/cutile.md] RESULTS.xml...

RESULTS.xml are what pytest writes with --junitxml when it runs the suite under `-p tilevm.cutile`. Each test that failed must
have a row in CAUSES, else it is listed by name and the exit status is 1.
"""
import argparse
import collections
import re
import sys
import xml.etree.ElementTree as xml

# tests (file::test), a part of the message: why
CAUSES = (
    (r"test_unary_elementwise::test_array_(root_ops|trig)", r"not equal",
     "the test wants the bits of torch's function on the same device, and those of torch's functions for the CPU differ in the"
     " last places, where ours are correctly rounded"),
    (r"test_unary_elementwise::test_array_abs\[bool", r"", "torch has no abs of bools on the CPU"),
    (r"test_atomic::test_mixed_scalar_tile_atomic\[True", r"X-MEM-01",
     "the test writes 16 bytes past the end of an array of one element, which a GPU does not report"),
    (r"test_tune::test_(ipc_|tune_.*_ipc)", r"",
     "needs memory of the device that another process opens (cuIpcOpenMemHandle); memory of the CPU cannot be shared that way"),
    (r"test_tune::test_skips_failed_configs|test_debug::", r"compiler_version|CalledProcessError",
     "an exception of the published package takes other arguments than the test gives; fails on a GPU, too"),
)

SKIPPED = (
    ("", r"tile_internal", "need a part of the client that is not published"),
    ("", r"Rubin", "are for Rubin (compute capability 10.7)"),
    ("", r"Blackwell", "are for Blackwell (`--tile-arch sm_100`; see below)"),
    ("", r"[Cc]upy", "need CuPy"),
    ("", r"cconv ?v?3", "need a calling convention that is not published"),
)


def outcomes(paths):
    """file::test: (passed, failed, skipped or xfailed; message), the last result of each test."""
    found = {}
    for path in paths:
        for case in xml.parse(path).iter("testcase"):
            name = f"{case.get('classname').replace('test.', '', 1)}::{case.get('name')}"
            outcome, message = "passed", ""
            for child in case:
                if child.tag in ("failure", "error", "skipped"):
                    outcome = "failed" if child.tag in ("failure", "error") else "skipped"
                    message = f"{child.get('message') or ''} {child.text or ''}"
                    if outcome == "skipped" and child.get("type") == "pytest.xfail":
                        outcome = "xfailed"
            found[name] = (outcome, message)
    return found


def cause_of(name, message, rows):
    return next((why for test, words, why in rows if re.search(test, name) and re.search(words, message)), None)


def table(found):
    """Lines of markdown, and the tests without a cause."""
    counts = collections.Counter(outcome for outcome, _ in found.values())
    causes, unknown, skips = collections.Counter(), [], collections.Counter()
    for name, (outcome, message) in sorted(found.items()):
        if outcome == "failed":
            cause = cause_of(name, message, CAUSES)
            causes[cause] += 1
            if cause is None:
                unknown.append(name)
        elif outcome == "skipped":
            skips[cause_of(name, message, SKIPPED) or "have other conditions"] += 1
    lines = ["| outcome | tests | |", "|---|---|---|", f"| passed | {counts['passed']:,} | |"]
    lines += [f"| failed | {n} | {cause} |" for cause, n in causes.most_common() if cause]
    lines += [f"| failed | {len(unknown)} | not looked into |"] if unknown else []
    lines += [f"| skipped | {n} | {reason} |" for reason, n in skips.most_common()]
    lines += [f"| expected to fail | {counts['xfailed']} | |"] if counts["xfailed"] else []
    return lines, unknown


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", nargs="+")
    parser.add_argument("--update", metavar="FILE", help="put the table between the marks in this file")
    given = parser.parse_args()
    lines, unknown = table(outcomes(given.results))
    if given.update:
        with open(given.update) as file:
            text = file.read()
        begin, end = "<!-- tools/cutile_suite.py -->\n", "<!-- end -->\n"
        before, rest = text.split(begin)
        with open(given.update, "w") as file:
            file.write(before + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1])
    else:
        print("\n".join(lines))
    for name in unknown:
        print("no cause is known:", name, file=sys.stderr)
    return bool(unknown)


if __name__ == "__main__":
    sys.exit(main())
