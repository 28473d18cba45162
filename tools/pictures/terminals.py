"""Draws what commands print, as pictures of a terminal for README.md and the guides, each for light and for dark pages.

  terminals.py BUILD FOLDER      BUILD has the commands; writes FOLDER/NAME-light.svg and FOLDER/NAME-dark.svg

The commands run in a copy of examples/kernels. What they print is drawn as it is, wrapped at the width of the terminal. A command
that ends in another way than it should is an error.
"""
import io
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.terminal_theme import TerminalTheme
from rich.text import Text

KERNELS = Path(__file__).parents[2] / "examples" / "kernels"
COLUMNS = 108

# Background, foreground, and the colours 0 to 7, of which 8 to 15 are the bright ones.
THEMES = {
    "light": TerminalTheme((246, 248, 250), (31, 35, 40),
                           [(36, 41, 47), (207, 34, 46), (17, 99, 41), (125, 78, 0), (9, 105, 218), (130, 80, 223), (27, 124, 131), (110, 119, 129)]),
    "dark": TerminalTheme((22, 27, 34), (230, 237, 243),
                          [(110, 118, 129), (255, 123, 114), (63, 185, 80), (210, 153, 34), (88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196)]),
}

# rich's own form has fonts from elsewhere and a title bar.
FORM = """<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {width} {height}">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; white-space: pre }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


@dataclass(frozen=True)
class Command:
    text: str
    status: int = 0


# What the pictures show; the commands in front of them make what they need.
MADE = ["tilevm asm column_sum.tileir -o column_sum.tbc", "tilevm asm bad_quotient.tileir -o quotient.tbc",
        "tilevm asm product.tileir -o product.tbc"]
PICTURES = {
    "check": [Command("sed -n 5,11p column_sum.py"),
              Command("tilevm check column_sum.tbc --grid 4 --check races --max-errors 1", 1)],
    "verify": [Command("tilevm verify quotient.tbc", 1)],
    "explain": [Command("tilevm compile product.tbc --target sm_90a --explain -o product.ptx")],
    "debug": [Command("tilevm debug product.tbc --grid 2,2 --source . --batch -c 'break :13 if %loopIdx == 2' -c continue "
                      "-c 'print %iterArg0[0, 0:6]' -c 'picture %iterArg0[0:16, 0:128]' -c reverse-step")],
}


def run(command: Command, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(["sh", "-c", command.text], cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != command.status:
        raise SystemExit(f"{command.text}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout.rstrip("\n")


def in_colour(text: str) -> str:
    """The command as it is run: with the colours that it has on a terminal, which is not shown."""
    return f"{text} --color always" if text.startswith("tilevm") else text


def draw(name: str, shown: list[tuple[str, str]], theme: str) -> str:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False)
    for number, (command, output) in enumerate(shown):
        if number:
            console.print()
        console.print(Text.assemble(("$ ", "bold blue"), (command, "bold")))
        for line in Text.from_ansi(output).split():
            indent = len(line.plain) - len(line.plain.lstrip())  # further lines of a long one begin below its first word
            console.print(Padding(line[indent:], (0, 0, 0, indent), expand=False))
    svg = console.export_svg(title="", theme=THEMES[theme], code_format=FORM, unique_id=f"{name}-{theme}")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def main() -> int:
    build, pictures = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "kernels"
        shutil.copytree(KERNELS, folder)
        environment = {**os.environ, "PATH": f"{build}:{os.environ['PATH']}", "HOME": scratch, "LC_ALL": "C.UTF-8"}
        for text in MADE:
            run(Command(text), folder, environment)
        for name, commands in PICTURES.items():
            shown = [(c.text, run(Command(in_colour(c.text), c.status), folder, environment)) for c in commands]
            for theme in THEMES:
                (pictures / f"{name}-{theme}.svg").write_text(draw(name, shown, theme), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
