#!/usr/bin/env python3
"""Puts the page together: one file with its style, its scripts, the machine and the example in it.

pack.py FOLDER SCRIPT MACHINE REPORT OUT: FOLDER has page.html, page.css, page.js and example.tir; SCRIPT is what emcc made
around MACHINE, the WebAssembly; REPORT is any page of `tilevm report`. The policy of the page allows exactly these scripts
and styles, by their sums, and no connection at all. Reports that the page makes are under it, too.
"""
import base64
import hashlib
import os
import re
import sys

MOST_BYTES = 3_000_000


def sum_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def data(name, text):
    """A block that is text for the scripts: what could end it is refused."""
    if "</script" in text or "<!--" in text:
        sys.exit(f"pack.py: {name} cannot stand in a page")
    return f'<script type="text/plain" id="{name}">{text}</script>\n'


def main():
    folder, script, machine, report, out = sys.argv[1:]
    style, page = read(f"{folder}/page.css"), read(f"{folder}/page.html")
    code = read(script) + "\n" + read(f"{folder}/page.js")
    if "</script" in code:
        sys.exit("pack.py: the script cannot stand in a page")
    with open(machine, "rb") as file:
        encoded = base64.b64encode(file.read()).decode()
    of_report = read(report)
    report_code = re.findall("<script>(.*?)</script>", of_report, re.S)[-1]
    report_style = re.search("<style>(.*?)</style>", of_report, re.S)[1]
    policy = (f"default-src 'none'; script-src {sum_of(code)} {sum_of(report_code)} 'wasm-unsafe-eval'; "
              f"style-src {sum_of(style)} {sum_of(report_style)}; base-uri 'none'; form-action 'none'")
    blocks = data("machine", encoded) + data("example-text", read(f"{folder}/example.tir"))
    page = page.replace("<script>@SCRIPT@</script>", blocks + "<script>@SCRIPT@</script>")
    for key, value in (("@POLICY@", policy), ("@STYLE@", style), ("@SCRIPT@", code)):
        page = page.replace(key, value)
    size = len(page.encode())
    if size > MOST_BYTES:
        sys.exit(f"pack.py: the page has {size} bytes, more than {MOST_BYTES}")
    with open(out + ".new", "w", encoding="utf-8") as file:
        file.write(page)
    os.replace(out + ".new", out)


if __name__ == "__main__":
    main()
