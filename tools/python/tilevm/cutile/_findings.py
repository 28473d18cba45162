"""What checks have found in a program or a test run: in the words of Python, without what tilevm.toml says is meant to
be, and as annotations or SARIF for CI.

tilevm.toml is not trusted: its size and the number of its entries are limited, and what is not known in it is an error."""

import dataclasses
import fnmatch
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, Iterable

from tilevm._abi import lib
from tilevm.diagnostics import Diagnostic, UsageError

CONFIG = "tilevm.toml"
_MOST_BYTES, _MOST_ENTRIES, _MOST_CHARACTERS = 1 << 20, 1000, 1000
_KEYS = {"rule": str, "reason": str, "kernel": str, "file": str, "line": int}

# ---- in the words of Python ----

# What may be done in Python about a rule's finding, where the library's own advice is about tokens: Python has none.
_ADVICE = {
    "X-RAC-01": "give each tile block elements of its own, or use ct.atomic_add and the like; to wait for another tile"
                " block, use an atomic operation with memory_order=ct.MemoryOrder.ACQ_REL",
    "X-TOK-01": "load what is needed before it is overwritten, or write to an array of its own: two arguments that share"
                " memory are not ordered",
}


def in_python(d: Diagnostic) -> Diagnostic:
    """The finding without what only the intermediate language has: its text, and advice about tokens."""
    if not d.file:
        return d  # there is nothing else to show
    other = None if d.other is None else dataclasses.replace(d.other, op_text="", caret=None)
    help_ = _ADVICE.get(d.rule, "" if "token" in d.help else d.help)
    return dataclasses.replace(d, op_text="", caret=None, other=other, help=help_)


# ---- tilevm.toml ----

@dataclasses.dataclass
class Suppression:
    """A finding that is meant to be. What is None or "" may be anything."""

    rule: str
    reason: str
    kernel: str = ""  # a pattern for the name of the kernel's function
    file: str = ""  # a pattern for the end of the path
    line: int = 0  # of either place of the finding
    uses: int = 0

    def matches(self, d: Diagnostic, kernel: str) -> bool:
        places = [p for p in (d, d.other) if p is not None]
        return (self.rule == d.rule and fnmatch.fnmatchcase(kernel, self.kernel or "*")
                and any(self._is_in(p.file) and (not self.line or p.line == self.line) for p in places))

    def _is_in(self, file: str) -> bool:
        path = Path(file).as_posix()
        return not self.file or fnmatch.fnmatchcase(path, self.file) or fnmatch.fnmatchcase(path, "*/" + self.file)

    def __str__(self) -> str:
        where = [f"{name} = {value!r}" for name in ("kernel", "file", "line") if (value := getattr(self, name))]
        return ", ".join([f"rule = {self.rule!r}", *where])


def read_config(path: "str | os.PathLike[str]") -> list[Suppression]:
    """The suppressions of a file. Raises UsageError for an invalid entry, with its number."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot open {str(path)!r}: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path}: larger than {_MOST_BYTES} bytes")
    try:
        import tomllib
    except ImportError:
        raise UsageError(f"{path}: reading it needs Python 3.11 or later") from None
    try:
        root = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:  # what is not UTF-8 is a ValueError, too
        raise UsageError(f"{path}: {error}") from None
    entries = root.pop("suppress", [])
    if root:
        raise UsageError(f"{path}: {next(iter(root))!r} is not known; there is [[suppress]]")
    if not isinstance(entries, list) or len(entries) > _MOST_ENTRIES:
        raise UsageError(f"{path}: 'suppress' is not a list of at most {_MOST_ENTRIES} tables: write [[suppress]]")
    return [_suppression(f"{path}: suppress {i + 1}", entry) for i, entry in enumerate(entries)]


def _suppression(what: str, entry: Any) -> Suppression:
    if not isinstance(entry, dict):
        raise UsageError(f"{what}: not a table")
    for key, value in entry.items():
        if key not in _KEYS:
            raise UsageError(f"{what}: {key!r} is not known; there are {', '.join(_KEYS)}")
        if type(value) is not _KEYS[key] or (isinstance(value, str) and not 0 < len(value) <= _MOST_CHARACTERS):
            kind = "a number" if _KEYS[key] is int else f"a text of 1 to {_MOST_CHARACTERS} characters"
            raise UsageError(f"{what}: {key!r} is not {kind}")
    if not entry.get("reason", "").strip():
        raise UsageError(f"{what}: a reason is missing")
    if not re.fullmatch(r"X-[A-Z]{3}-\d{2}", entry.get("rule", "")):
        raise UsageError(f"{what}: the rule is missing, or not one of a check, as 'X-RAC-01' is")
    if entry.get("line", 1) < 1 or ("line" in entry and "file" not in entry):
        raise UsageError(f"{what}: a line is a number from 1 on, of a file")
    return Suppression(**entry)


# ---- what was found ----

@dataclasses.dataclass
class Found:
    diagnostic: Diagnostic
    kernel: str
    suppressed: "Suppression | None"


class Session:
    """All findings since the program has begun, each pair of places once."""

    def __init__(self) -> None:
        self.suppressions: list[Suppression] = []
        self.config = ""
        self.found: dict[tuple[Any, ...], Found] = {}

    def configure(self, path: str) -> None:
        """Takes a file, or with an empty name tilevm.toml of the current folder, if there is one."""
        chosen = path or (CONFIG if os.path.exists(CONFIG) else "")
        self.suppressions = read_config(chosen) if chosen else []
        self.config = chosen

    def take(self, diagnostics: Iterable[Diagnostic], kernel: str) -> list[Diagnostic]:
        """Remembers what was found in a launch; gives what no suppression is about, in the words of Python."""
        left = []
        for d in map(in_python, diagnostics):
            suppression = next((s for s in self.suppressions if s.matches(d, kernel)), None)
            if suppression is None:
                left.append(d)
            else:
                suppression.uses += 1
            self.found.setdefault((d.rule, d.location, d.other and d.other.location, kernel, suppression is None),
                                  Found(d, kernel, suppression))
        return left

    def add(self, diagnostics: Iterable[Diagnostic], kernel: str) -> None:
        """Remembers what cannot be suppressed."""
        for d in map(in_python, diagnostics):
            self.found.setdefault((d.rule, d.location, None, kernel, True), Found(d, kernel, None))

    def unused(self) -> list[str]:
        return [f"{self.config}: no finding was suppressed by {s}" for s in self.suppressions if not s.uses]

    # ---- for CI
    def annotations(self) -> list[str]:
        """Workflow commands of GitHub, which show a finding at its line."""
        def escape(text: str, more: str = "") -> str:
            for c in "%\r\n" + more:
                text = text.replace(c, f"%{ord(c):02X}")
            return text

        lines = []
        for f in self.found.values():
            d = f.diagnostic
            if f.suppressed is None:
                kind = {"error": "error", "warning": "warning"}.get(d.severity, "notice")
                place = f"file={escape(_relative(d.file), ':,')},line={d.line}" if d.file else ""
                title = f"title={escape(d.rule, ':,')}"
                text = d.message + (f"\nhelp: {d.help}" if d.help else "")
                lines.append(f"::{kind} {','.join(filter(None, (place, title)))}::{escape(text)}")
        return lines

    def sarif(self) -> str:
        rules = sorted({f.diagnostic.rule for f in self.found.values()})
        notes = [{"level": "warning", "message": {"text": text}} for text in self.unused()]
        invocation: dict[str, Any] = {"executionSuccessful": True}
        if notes:
            invocation["toolConfigurationNotifications"] = notes
        driver = {"name": "tilevm", "version": lib.tv_version().decode(), "rules": [{"id": r} for r in rules]}
        run = {"tool": {"driver": driver}, "invocations": [invocation],
               "results": [_result(f, rules) for f in self.found.values()]}
        schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
        return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"

    def write(self, path: str) -> None:
        """The report, beside its name and then renamed."""
        temporary = f"{path}.{os.getpid()}.tmp"
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(self.sarif())
            os.replace(temporary, path)
        except OSError as error:
            print(f"tilevm: cannot write {path!r}: {error.strerror}", file=sys.stderr)


def _relative(file: str) -> str:
    """As services for code want it: from the current folder, where it lies in there."""
    path = Path(file)
    try:
        return path.resolve().relative_to(Path.cwd().resolve()).as_posix()
    except (ValueError, OSError):
        return path.as_posix()


def _location(d: Diagnostic) -> dict[str, Any]:
    region = {"startLine": d.line, **({"startColumn": d.column} if d.column else {})}
    return {"physicalLocation": {"artifactLocation": {"uri": _relative(d.file)}, "region": region}}


def _result(f: Found, rules: list[str]) -> dict[str, Any]:
    d = f.diagnostic
    result: dict[str, Any] = {
        "ruleId": d.rule, "ruleIndex": rules.index(d.rule), "level": d.severity,
        "message": {"text": d.message + (f"\nhelp: {d.help}" if d.help else "")},
        "locations": [_location(d)] if d.file else [],
        "properties": {"kernel": f.kernel},
    }
    if d.other is not None and d.other.file:
        related = _location(d.other)
        result["relatedLocations"] = [{**related, "id": 1, "message": {"text": "the other access"}}]
    if f.suppressed is not None:
        result["suppressions"] = [{"kind": "external", "justification": f.suppressed.reason}]
    return result


session = Session()
