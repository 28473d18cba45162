"""Checks the documents: relative links and anchors, the commands, targets and options that they name, words not to use, and the
length of lines.

  check.py TILEVM TILEIRAS FILE...      run in the top folder; FILE: Markdown, *.md, or a man page, of which the words are checked

Prints what is wrong, then `documents: N passed, N failed`: a document passes or fails as a whole.
"""
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import markdown

COLUMNS = 120
OPTION = re.compile(r"--[a-z][a-z0-9-]*(?![A-Za-z0-9_])")
# A command line ends where the shell's next one begins.
COMMAND = re.compile(r"(?:^|[|;&(]\s*|\$ )(?:[A-Za-z_]+=\S+ +)*(tilevm|make) +([^|;&)#]*)")


class Names:
    """What there is to name: the commands with their options, and the targets of make."""

    def __init__(self, tilevm: str, tileiras: str) -> None:
        overview = output(tilevm, "--help")
        names = re.findall(r"^  ([a-z]+) +\S", overview.split("commands:")[1].split("\n\n")[0], re.MULTILINE)
        self.help = {name: output(tilevm, "help", name) for name in names}
        self.options = {name: set(OPTION.findall(text)) | {"--help", "--color"} for name, text in self.help.items()}
        self.overview = overview
        self.targets = set()
        for path in [Path("Makefile"), *Path("mk").glob("*.mk")]:
            for line in re.findall(r"^([a-z][a-z0-9 -]*):(?!=)", path.read_text(encoding="utf-8"), re.MULTILINE):
                self.targets |= set(line.split())
        self.known_options = set().union(*self.options.values(), OPTION.findall(output(tileiras, "--help")),
                                         OPTION.findall(overview), other_options())


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def other_options() -> set[str]:
    """Options of this repository's scripts and test programs, and of other programs (tools/docs/options.txt)."""
    text = Path("tools/docs/options.txt").read_text(encoding="utf-8")
    for folder in ("tests", "tools", "examples", "mk"):
        for path in Path(folder).rglob("*"):
            if path.suffix in (".c", ".sh", ".py", ".mk", ".cmake", ".yml") and path.is_file():
                text += path.read_text(encoding="utf-8", errors="replace")
    return set(OPTION.findall(text))


class Word:
    """A line of tools/words.txt."""

    def __init__(self, line: str) -> None:
        pattern, self.better = (part.strip() for part in line.split("=>"))
        self.used = False
        flags = re.IGNORECASE if pattern.islower() else 0
        self.pattern = re.compile(rf"(?<![\w`-])(?:{pattern})(?![\w`-])", flags)


def words_of(path: str) -> list[Word]:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [Word(line) for line in lines if line.strip() and not line.startswith("#")]


def check_words(lines: list[tuple[int, str]], words: list[Word]) -> list[tuple[int, str]]:
    return [(number, f"'{found[0]}': write {word.better}")
            for number, text in lines for word in words for found in word.pattern.finditer(text)]


def check_length(document: markdown.Document) -> list[tuple[int, str]]:
    """Rows of tables cannot be broken, nor can what a command prints, nor a line that is one long word."""
    return [(number, f"{len(text)} columns, more than {COLUMNS}") for number, text in document.prose
            if len(text) > COLUMNS and not text.startswith("    ") and not text.lstrip().startswith(("|", "<!--")) and len(text.split()) > 2]


def check_links(document: markdown.Document, anchors: dict[Path, set[str]]) -> list[tuple[int, str]]:
    wrong = []
    for number, target in document.targets():
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        path = document.path if not place else document.path.parent / unquote(place)
        if not path.exists():
            wrong.append((number, f"there is no {place}"))
        elif anchor and path.suffix == ".md":
            key = path.resolve()
            if key not in anchors:
                anchors[key] = markdown.read(path).anchors()
            if anchor not in anchors[key]:
                wrong.append((number, f"{path} has no heading for #{anchor}"))
    return wrong


def words_of_command(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def check_make(arguments: list[str], names: Names) -> list[str]:
    if any(a.startswith(("-C", "-f")) for a in arguments):
        return []  # of another folder
    targets = [a for a in arguments if "=" not in a and not a.startswith("-") and re.fullmatch(r"[a-z][a-z0-9-]*", a)]
    return [f"there is no target 'make {t}'" for t in targets if t not in names.targets]


def check_tilevm(arguments: list[str], names: Names) -> list[str]:
    if not arguments or not re.fullmatch(r"[a-z]+", arguments[0]) or arguments[0] == "help":
        return []
    command = arguments[0]
    if command not in names.options:
        return [f"there is no command 'tilevm {command}'"]
    given = {m[0] for a in arguments[1:] if (m := OPTION.match(a))}
    return [f"'tilevm {command}' has no option {o}" for o in sorted(given - names.options[command])]


def check_commands(document: markdown.Document, names: Names) -> list[tuple[int, str]]:
    wrong = []
    fenced = [(b.first + i, line) for b in document.blocks if b.info.split(" ")[0] in ("", "sh", "console", "bash")
              for i, line in enumerate(b.lines)]
    for number, text in document.spans() + fenced:
        for program, rest in COMMAND.findall(text):
            check = check_tilevm if program == "tilevm" else check_make
            wrong += [(number, message) for message in check(words_of_command(rest), names)]
    for number, text in document.spans():
        if OPTION.match(text):
            option = OPTION.match(text)[0]  # type: ignore[index]
            if option not in names.known_options:
                wrong.append((number, f"no program has the option {option}"))
    return wrong


def check_markdown(path: Path, names: Names, words: list[Word], anchors: dict[Path, set[str]]) -> list[tuple[int, str]]:
    document = markdown.read(path)
    return (check_length(document) + check_links(document, anchors) + check_commands(document, names)
            + check_words(document.words(), words))


def man_lines(path: Path) -> list[tuple[int, str]]:
    text = path.read_text(encoding="utf-8").replace("\\-", "-")
    return [(n, re.sub(r"\\f[BIRP]", "", line)) for n, line in enumerate(text.splitlines(), 1) if not line.startswith(".\\\"")]


def main() -> int:
    names = Names(sys.argv[1], sys.argv[2])
    words = words_of("tools/words.txt")
    anchors: dict[Path, set[str]] = {}
    failed = 0
    wrong: dict[str, list[tuple[int, str]]] = {}
    for name in sys.argv[3:]:
        path = Path(name)
        is_markdown = path.suffix == ".md"
        wrong[name] = check_markdown(path, names, words, anchors) if is_markdown else check_words(man_lines(path), words)
    for command, text in {"--help": names.overview, **names.help}.items():
        wrong[f"tilevm help {command}"] = check_words(list(enumerate(text.splitlines(), 1)), words)
    for name, items in wrong.items():
        failed += bool(items)
        for number, message in sorted(items):
            print(f"{name}:{number}: {message}")
    print(f"documents: {len(wrong) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
