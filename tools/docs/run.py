"""Runs the examples of documents and compares what they print.

  run.py BUILD SCRATCH FILE...      BUILD has the commands, SCRATCH is made

An example is a fenced block `console` behind a line `<!-- run -->`. Its lines `$ COMMAND` are run by bash, lines `> TEXT` behind one
are its further lines; what follows is what the command is to print on both streams. `...` stands for any text within a line and,
on a line of its own, for any number of lines. A command must succeed; `<!-- run exit=N -->` says how the last one of the block ends.
The examples of one document run one after the other in a folder of their own, where `examples` is that of the sources. Ends with `examples of documents: N passed, N failed`.
"""
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import markdown

MARK = re.compile(r"^<!-- run(?: exit=(\d+))? -->$")
SECONDS = 60


@dataclass
class Command:
    line: int
    text: str
    wanted: list[str] = field(default_factory=list)
    status: int = 0


def commands_of(block: markdown.Block, status: int) -> list[Command]:
    commands: list[Command] = []
    for number, line in enumerate(block.lines, block.first):
        if line.startswith("$ "):
            commands.append(Command(number, line[2:]))
        elif line.startswith("> ") and commands and not commands[-1].wanted:
            commands[-1].text += "\n" + line[2:]
        elif commands:
            commands[-1].wanted.append(line)
    if commands:
        commands[-1].status = status
    return commands


def examples_of(document: markdown.Document) -> list[list[Command]]:
    marked = [(block, MARK.match(block.before.strip())) for block in document.blocks if block.info == "console"]
    return [commands_of(block, int(mark[1] or 0)) for block, mark in marked if mark]


def pattern_of(wanted: list[str]) -> str:
    """A regular expression for the lines."""
    parts = []
    for line in wanted:
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append(r"[^\n]*".join(re.escape(piece) for piece in line.rstrip().split("...")) + r"[ ]*\n")
    return "".join(parts)


def run(command: Command, folder: Path, environment: dict[str, str]) -> str:
    """What is wrong, or nothing."""
    try:
        done = subprocess.run(["bash", "-c", command.text], cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"did not end in {SECONDS} seconds"
    text = done.stdout if not done.stdout or done.stdout.endswith("\n") else done.stdout + "\n"
    if done.returncode != command.status:
        return f"exit status {done.returncode}, not {command.status}; it printed:\n{text}"
    if not re.fullmatch(pattern_of(command.wanted), text):
        return f"it printed:\n{text}"
    return ""


def main() -> int:
    build, scratch = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    shutil.rmtree(scratch, ignore_errors=True)
    passed = failed = 0
    for number, name in enumerate(sys.argv[3:]):
        folder = scratch / str(number)
        folder.mkdir(parents=True)
        (folder / "examples").symlink_to(Path("examples").resolve())
        environment = {**os.environ, "PATH": f"{build}:{os.environ['PATH']}", "HOME": str(folder), "NO_COLOR": "1", "LC_ALL": "C.UTF-8",
                       "TILEVM_CACHE_DIR": str(folder / ".cache")}
        for command in (c for example in examples_of(markdown.read(Path(name))) for c in example):
            problem = run(command, folder, environment)
            passed += not problem
            failed += bool(problem)
            if problem:
                print(f"{name}:{command.line}: $ {command.text}\n{problem}")
    print(f"examples of documents: {passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
