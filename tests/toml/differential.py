"""The reader of tilevm.toml beside Python's tomllib, on random documents: what it takes, tomllib takes and means the same;
what is written in the subset on purpose, it takes.

    differential.py TOML_DUMP [DOCUMENTS [SEED]]
"""
import json
import random
import subprocess
import sys

try:
    import tomllib
except ImportError:
    print("toml: skipped, Python 3.11 has what it is compared with")
    sys.exit(0)

PIECES = ["[[suppress]]", "[[a]]", "[a]", "[b]", "[ 'c d' ]", "[[ \"e\" ]]", "k", "rule", "line", "\"q\\u0041\"", "=", " = ", "1", "-7",
          "+0", "007", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1_000", "0x10", "1.5", "true", "false",
          "\"text\"", "'it'", "\"\"", "\"\\n\\t\\\"\\\\\"", "\"\\u00e9\\U0001F600\"", "\"\\ud800\"", "\"\\x41\"", "'''", "\"\"\"",
          "\"\u00e9\"", "# note", "#\x01", "\n", "\n", "\n", "\r\n", "\r", "\t", " ", ".", ",", "[1]", "{}", "\x00", "\x7f", "\ufeff",
          "1979-05-27", "inf", "nan", "a.b", "[a.b]", "]", "[", "]]"]
KEYS = ["rule", "reason", "kernel", "file", "line", "a-b", "_1", "'odd key'", "\"\\u0041\""]
VALUES = ["\"text\"", "'C:\\dir'", "\"tab\\t\"", "\"caf\u00e9 \\U0001F600\"", "0", "-41", "+9", "9223372036854775807", "true", "false"]


def subset(rng):
    """A document of the subset, each key once."""
    lines = ["# head"] if rng.random() < 0.3 else []
    for table in range(rng.randrange(4)):
        lines.append(rng.choice(["[[suppress]]", "[[ suppress ]]  # next"]))
        for key in rng.sample(KEYS, rng.randrange(len(KEYS))):
            lines.append(rng.choice(["", "\t"]) + key + rng.choice(["=", " = "]) + rng.choice(VALUES) + rng.choice(["", " # x"]))
        if rng.random() < 0.2:
            lines.append("")
    return rng.choice(["\n", "\r\n"]).join(lines) + rng.choice(["", "\n"])


def document(rng):
    kind = rng.randrange(3)
    if kind == 0:
        return "".join(rng.choice(PIECES) for _ in range(rng.randrange(14))).encode()
    data = bytearray(subset(rng).encode())
    for _ in range(rng.randrange(1, 4) if kind == 1 and data else 0):
        at = rng.randrange(len(data))
        what = rng.randrange(3)
        if what == 0:
            data[at] = rng.randrange(256)
        elif what == 1 and len(data) > 1:
            del data[at]
        else:
            data[at:at] = rng.choice(PIECES).encode()
    return bytes(data)


def meaning(events):
    """What tomllib would give for the events."""
    root = {}
    table = root
    for event, key, *value in events:
        key = key.encode("latin-1").decode()
        if event == "table":
            table = root[key] = {}
        elif event == "item":
            table = {}
            root.setdefault(key, []).append(table)
        elif event == "string":
            table[key] = value[0].encode("latin-1").decode()
        else:
            table[key] = bool(value[0]) if event == "boolean" else value[0]
    return root


def same(a, b):
    """Equal, and of the same types: 1 is not true."""
    return repr(a) == repr(b)


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    documents = [document(rng) for _ in range(count)]
    chosen = [subset(rng).encode() for _ in range(count // 10)]
    sent = b"".join(b"%d\n" % len(d) + d for d in documents + chosen)
    lines = subprocess.run([sys.argv[1]], input=sent, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    passed = failed = taken = 0
    for i, (data, line) in enumerate(zip(documents + chosen, lines, strict=True)):
        events = json.loads(line)
        try:
            theirs = tomllib.loads(data.decode())
        except ValueError:
            theirs = None
        wrong = events is None if i >= count else events is not None and (theirs is None or not same(meaning(events), theirs))
        taken += events is not None
        failed += wrong
        passed += not wrong
        if wrong:
            print(f"FAILED: {data!r}\n  here: {line.decode()}\n  tomllib: {theirs!r}")
    print(f"toml: {passed} passed, {failed} failed; {taken} documents taken")
    return 1 if failed or taken < count // 10 + 1 else 0


sys.exit(main())
