"""What the library has to say, as objects; and the exceptions that carry it."""

import ctypes
import itertools
from dataclasses import dataclass
from typing import Any, Iterator, Sequence

from tilevm import _abi

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Diagnostic:
    """One finding. What is not known is "" or None; `tilevm explain RULE` says what a rule is for."""

    severity: str  # "error", "warning" or "note"
    rule: str  # a stable id, "V-FLT-02"
    message: str
    file: str = ""  # the place in the kernel's source, or in the text that was parsed
    line: int | None = None
    column: int | None = None
    offset: int | None = None  # of the byte in the file of bytecode
    function: str = ""  # the entry
    op: str = ""  # mnemonic
    op_index: int = 0
    op_text: str = ""  # the op as the disassembler prints it
    caret: tuple[int, int] | None = None  # the part of op_text at fault: where it begins, and its length
    help: str = ""  # one thing to try
    other: "Diagnostic | None" = None  # the second op that takes part

    @property
    def location(self) -> str:
        """ "kernel.py:12:5", "byte 0x00a6" or "". """
        if self.file:
            return ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        return "" if self.offset is None else f"byte 0x{self.offset:04x}"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        place = f"{self.location}: " if self.location else ""
        yield f"{place}{self.severity}[{self.rule}]: {self.message}"
        if self.op_text:
            where = f"  in @{self.function}, op {self.op_index}:  "
            yield where + self.op_text
            if self.caret:
                yield " " * (len(where) + self.caret[0]) + "^" + "~" * (self.caret[1] - 1)
        if self.other is not None:
            place = self.other.location or f"op {self.other.op_index}"
            yield f"  and {place}: {self.other.op_text}" if self.other.op_text else f"  and {place}"
        if self.help:
            yield f"  help: {self.help}"


def _from_c(d: Any) -> Diagnostic:
    known = d.offset != _abi.NO_OFFSET
    return Diagnostic(
        severity=SEVERITIES[d.severity], rule=d.rule.decode(), message=str(d.message), file=str(d.file),
        line=d.line or None, column=d.column or None, offset=d.offset if known else None, function=str(d.function),
        op=str(d.op), op_index=d.op_index, op_text=str(d.op_text),
        caret=(d.caret, d.caret_len) if d.caret_len else None, help=str(d.help),
        other=_from_c(d.other.contents) if d.other else None)


class Error(Exception):
    """Something that tilevm could not do. The text says what and, where that is known, what to try."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()):
        super().__init__(message)
        self.diagnostics = list(diagnostics)


class InvalidError(Error, ValueError):
    """The input breaks a rule, or a run with checks found errors."""


class UsageError(Error, ValueError):
    """An argument is wrong."""


class MemoryLimitError(Error, MemoryError):
    """Memory, or a limit on it, was not enough."""


class UnsupportedError(Error, NotImplementedError):
    """Well formed, but this build or the target cannot do it."""


class Trap(Error, RuntimeError):
    """A kernel was stopped while it ran."""


class DeviceError(Error, RuntimeError):
    """The driver, or loading on a GPU, failed."""


# tv_status: the exception, and its words where nothing was reported
_BY_STATUS: dict[int, tuple[type[Error], str]] = {
    1: (InvalidError, "the input is not valid"),
    2: (UsageError, "an argument is wrong"),
    3: (Error, "the output could not be written"),
    4: (MemoryLimitError, "out of memory"),
    5: (UnsupportedError, "this build cannot do it"),
    6: (Trap, "the kernel stopped"),
}

_open: dict[int, "Findings"] = {}
_keys = itertools.count(1)


def _report(user: int, diag: Any) -> None:
    _open[user].diagnostics.append(_from_c(diag.contents))


_c_report = _abi.Report(_report)


class Findings:
    """Collects what is reported while calls run: `with Findings() as f: f.check(lib.tv_...(..., f.sink))`."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def __enter__(self) -> "Findings":
        self._key = next(_keys)
        _open[self._key] = self
        self.sink = _abi.Sink(self._key, _c_report)
        return self

    def __exit__(self, *_: object) -> None:
        del _open[self._key]

    def check(self, status: int) -> None:
        """Raises what a status other than TV_OK stands for."""
        if status:
            kind, words = _BY_STATUS.get(status, (Error, f"status {status}"))
            errors = [d for d in self.diagnostics if d.severity == "error"] or self.diagnostics
            raise kind("\n".join(map(str, errors)) or words, self.diagnostics)


class Output:
    """Collects what a tv_writer is given."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._write = _abi.Write(self._take)
        self.writer = _abi.Writer(None, self._write)

    def _take(self, _user: int | None, data: int, size: int) -> bool:
        self._parts.append(ctypes.string_at(data, size))
        return True

    def __bytes__(self) -> bytes:
        return b"".join(self._parts)

    def __str__(self) -> str:
        return bytes(self).decode(errors="replace")
