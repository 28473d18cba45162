"""Markdown documents, as far as their checks need them: lines with what they are, code, links and headings."""
import re
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^ *(```+|~~~+) *(.*)$")
SPAN = re.compile(r"(`+)(.+?)\1(?!`)")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|^\[[^\]]+\]:\s+(\S+)")
HTML_TARGET = re.compile(r"\b(?:href|src|srcset)=\"([^\"]+)\"")
HTML_NAME = re.compile(r"\b(?:id|name)=\"([^\"]+)\"")


@dataclass
class Block:
    """A fenced block: its info string, its lines, the number of the first, and the last line of text before it."""
    info: str
    first: int
    before: str
    lines: list[str] = field(default_factory=list)


@dataclass
class Document:
    path: Path
    prose: list[tuple[int, str]] = field(default_factory=list)  # number and text of lines outside of fenced blocks
    blocks: list[Block] = field(default_factory=list)

    def spans(self) -> list[tuple[int, str]]:
        """Code within lines."""
        return [(number, match[2]) for number, text in self.prose for match in SPAN.finditer(text)]

    def words(self) -> list[tuple[int, str]]:
        """The lines without code, link targets and HTML."""
        plain = [(n, re.sub(r"\]\([^)]*\)", "]", SPAN.sub(" ", text))) for n, text in self.prose]
        return [(n, re.sub(r"<[^>]*>", " ", text)) for n, text in plain]

    def targets(self) -> list[tuple[int, str]]:
        """What links and pictures point to."""
        found = []
        for number, text in self.prose:
            plain = SPAN.sub(lambda m: "x" * len(m[0]), text)
            found += [(number, text[m.start(i):m.end(i)]) for m in LINK.finditer(plain) for i in (1, 2) if m[i]]
            found += [(number, m[1]) for m in HTML_TARGET.finditer(plain)]
        return found

    def anchors(self) -> set[str]:
        """Where a link into the document can lead."""
        names: set[str] = set()
        seen: dict[str, int] = {}
        for _, text in self.prose:
            names.update(HTML_NAME.findall(text))
            if heading := re.match(r"^ {0,3}#{1,6} +(.*?)(?: +#+)? *$", text):
                slug = slug_of(heading[1])
                count = seen.get(slug, 0)
                seen[slug] = count + 1
                names.add(f"{slug}-{count}" if count else slug)
        return names


def slug_of(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def read(path: Path) -> Document:
    document = Document(path)
    block: Block | None = None
    closing = before = ""
    in_comment = False
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(text)
        if block:
            if fence and fence[1].startswith(closing) and not fence[2]:
                block, before = None, ""
            else:
                block.lines.append(text)
        elif fence and not in_comment:
            block, closing = Block(fence[2].strip(), number + 1, before), fence[1]
            document.blocks.append(block)
        else:
            document.prose.append((number, "" if in_comment and "-->" not in text else text))
            in_comment = "-->" not in text if in_comment else "<!--" in text and "-->" not in text.split("<!--")[-1]
            before = text if text.strip() else before
    return document
