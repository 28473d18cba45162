#!/usr/bin/env python3
"""Lists numbers in C sources that may be thresholds: decimal literals other than 0, 1, 2, 3, sizes of types in bits and
bytes, and what stands in a table of bits.

    python3 tools/literals.py codegen/passes codegen/plan codegen/lift codegen/cluster codegen/groups

Comments, strings and preprocessor lines do not count, nor do numbers in a shift of 1 (a bit of a mask) or behind %.
A number of 32 bits or its half (INT32_MAX, 0xff...) is a type's. Prints FILE:LINE: NUMBER: the line, then the count.
"""
import re
import sys
from pathlib import Path

OF_TYPES = {0, 1, 2, 3, 4, 8, 16, 32, 64}


def without_comments(text):
    """The text with comments, strings and preprocessor lines blanked, line by line as before."""
    blank = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', blank, text)
    return re.sub(r"^[ \t]*#.*$", blank, text, flags=re.M)


def literals(path):
    for number, line in enumerate(without_comments(path.read_text()).split("\n"), 1):
        for m in re.finditer(r"(?<![\w.])(\d+)(?:[uU]?[lL]*)(?![\w.])", line):
            before = line[: m.start()].rstrip()
            if int(m.group(1)) in OF_TYPES or before.endswith("<<") or before.endswith("%"):
                continue
            yield number, m.group(1), line.strip()


def main():
    count = 0
    for name in sys.argv[1:]:
        folder = Path(name)
        for path in sorted(folder.rglob("*.[ch]")) if folder.is_dir() else [folder]:
            for number, literal, line in literals(path):
                print(f"{path}:{number}: {literal}: {line}")
                count += 1
    print(f"{count} literals")


if __name__ == "__main__":
    main()
