"""Draws a page of `tilevm report` for README.md, for light and for dark pages: report.py BUILD PICTURES. Needs Chromium."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "report"))
import browser  # noqa: E402
import png  # noqa: E402

WIDTH = 1100
KERNELS = ROOT / "examples" / "kernels"

# The product is chosen; of the page, the code and the loop are left, with fewer lines.
ARRANGE = """(() => {
    for (const section of document.querySelectorAll("main > section"))
        section.hidden = !["code", "loops"].includes(section.id);
    for (const list of document.querySelectorAll(".lines"))
        list.style.height = "15rem";
    document.querySelectorAll(".loop").forEach((loop, i) => loop.hidden = i > 0);
    document.querySelectorAll("#code > p, nav, .loop details, .loop figure:first-of-type").forEach(e => e.hidden = true);
    [...document.querySelectorAll("[data-kind=op] > [data-at]")].find(e => e.textContent.includes("mmaf")).click();
    return document.documentElement.scrollHeight;
})()"""


def main():
    build, pictures = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    if not browser.find():
        print("docs/pictures/report-light.png: skipped, there is no chromium")
        return
    with tempfile.TemporaryDirectory() as folder:
        kernel, report = os.path.join(folder, "product.tbc"), os.path.join(folder, "product.html")
        subprocess.run([build / "tilevm", "asm", KERNELS / "product.tileir", "-o", kernel], check=True)
        subprocess.run([build / "tilevm", "report", "product.tbc", "-t", "sm_90a", "--source", KERNELS, "-o", report],
                       check=True, cwd=folder)
        for theme in ("light", "dark"):
            with browser.Page(report, width=WIDTH, dark=theme == "dark") as page:
                page.resize(WIDTH, page.value(ARRANGE))
                page.value("document.querySelector('#code .lines').scrollTop = 0, scrollTo(0, 0)")
                page.picture(pictures / f"report-{theme}.png")
            png.shrink(pictures / f"report-{theme}.png")


main()
