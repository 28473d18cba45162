#!/usr/bin/env python3
"""report.py TOOL WORK [CORPUS]: tests `tilevm report`, `tilevm check --report` and `run --trace-events`.

The document is checked without a browser: its indices, its layouts, its lines, and that a page holds it escaped. Pages
are opened in headless Chromium where there is one: no errors, all parts are there and answer to the mouse and to keys,
controls have names, text has contrast. Prints `report: N passed, N failed`, and what was skipped."""
import json
import os
import re
import resource
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import browser  # noqa: E402

MOST_BYTES = 2 << 20
MOST_SECONDS = 1.0
KERNELS = os.path.join(HERE, "..", "bench")
EXAMPLES = os.path.join(HERE, "..", "..", "examples", "kernels")


class Tests:
    def __init__(self, tool, work):
        self.tool, self.work, self.passed, self.failed = tool, work, 0, 0

    def check(self, what, condition, found=""):
        self.passed += bool(condition)
        self.failed += not condition
        if not condition:
            print(f"FAILED: {what}: {str(found)[:600]}")

    def path(self, name):
        return os.path.join(self.work, name)

    def run(self, *words, code=0):
        done = subprocess.run([self.tool, *words], capture_output=True, check=False)
        self.check(" ".join(words[:3]) + f" gives {code}", done.returncode == code, done.stderr.decode()[-500:])
        return done.stdout

    def assemble(self, text, name):
        self.run("asm", text, "-o", self.path(name))
        return self.path(name)


# ---- the document ----


def indices_hold(kernel):
    ops, values, layouts = len(kernel["ops"]), len(kernel["values"]), len(kernel["layouts"])
    for i, op in enumerate(kernel["ops"]):
        yield op.get("parent", -1) < i
        yield op["number"] < len(kernel["code"])
        yield all(v < values for key in ("operands", "results", "arguments") for v in op.get(key, []))
    for value in kernel["values"]:
        yield value.get("op", 0) < ops
        yield all(n < layouts for n in value.get("layouts", []))
    for span in kernel["shared"]:
        yield span["first"] <= span["last"] < ops
        yield span["from"] < span["to"] <= kernel["shared_bytes"]
    for loop in kernel["loops"]:
        yield kernel["ops"][loop["op"]]["name"] in ("for", "loop")


def held_elements(layout):
    """The elements that some register of some thread holds."""
    reached = {0}
    for image in layout["register"] + layout["lane"] + layout["warp"]:
        reached |= {element ^ image for element in reached}
    return reached


def lines_agree(kernel):
    """The comment that the code generator writes before the instructions of an op names that op."""
    text = kernel["ptx"].split("\n")
    for (line, op), following in zip(kernel["lines"], kernel["lines"][1:] + [[len(text) + 1, -1]]):
        for at in range(line, following[0]):
            found = re.match(r"\t// op (\d+) (\S+) @0x([0-9a-f]+)", text[at - 1]) if at <= len(text) else None
            if found:
                yield op >= 0 and (int(found[1]), found[2]) == (kernel["ops"][op]["number"], kernel["ops"][op]["name"])


def test_document(t, path, target):
    document = json.loads(t.run("report", path, "-t", target, "--json"))
    name = f"{os.path.basename(path)} for {target}"
    t.check(name + ": schema", document["schema"] == "tilevm-report/1")
    ptx = t.run("compile", path, "-t", target, "-o", "-").decode()
    for kernel in document["kernels"]:
        t.check(name + ": indices", all(indices_hold(kernel)))
        t.check(name + ": layouts hold all elements", all(
            held_elements(layout) == set(range(2 ** layout["tile_bits"])) for layout in kernel["layouts"]
            if layout["tile_bits"] <= 14))
        agreed = list(lines_agree(kernel))
        t.check(name + ": lines of PTX are those of ops", len(agreed) > 5 and all(agreed), agreed)
        t.check(name + ": the PTX is that of compile", kernel["ptx"].strip() in ptx)
        t.check(name + ": registers", max(op["registers"] for op in kernel["ops"]) == kernel["registers_held"])
        t.check(name + ": one plan is taken", sum(plan["taken"] for plan in kernel["plans"]) == 1)
    t.check(name + ": there are remarks", document["remarks"])
    return document


def test_documents(t):
    for name, target in (("matmul_f16", "sm_80"), ("matmul_f16", "sm_90a"), ("attention_f16", "sm_90a"),
                         ("softmax_f32", "sm_80"), ("layernorm_f32", "sm_100a")):
        test_document(t, os.path.join(KERNELS, name + ".tbc"), target)
    kernel = test_document(t, os.path.join(KERNELS, "matmul_f16.tbc"), "sm_90a")["kernels"][0]
    t.check("roles", {op.get("role") for op in kernel["ops"]} >= {"consumers", "producers"})
    product = next(op for op in kernel["ops"] if op["name"] == "mmaf")
    t.check("operations of a product", product["flops"] == 2 * 128 * 128 * 64, product)  # two of its steps
    t.check("a ring", kernel["rings"][0]["slots"] > 1 and kernel["rings"][0]["loads"][0]["bytes"] == 16384, kernel["rings"])


def test_source(t):
    """Files are found by the last part of their names, and only in folders that were named."""
    product = t.assemble(os.path.join(EXAMPLES, "product.tileir"), "product.tbc")
    document = json.loads(t.run("report", product, "--json"))
    t.check("no source beside the kernel", all("text" not in source for source in document["sources"]))
    document = json.loads(t.run("report", product, "--json", "--source", EXAMPLES))
    found = {source["file"]: source.get("text") for source in document["sources"]}
    with open(os.path.join(EXAMPLES, "product.py"), encoding="utf-8") as file:
        t.check("the source", found["product.py"] == file.read())
    os.makedirs(t.path("etc"), exist_ok=True)
    with open(t.path("etc/secret"), "w", encoding="utf-8") as file:
        file.write("secret")
    with open(os.path.join(HERE, "hostile.tileir"), encoding="utf-8") as file:
        text = re.sub(r'"</script>[^"]*"', '"etc/secret"', file.read())
    with open(t.path("path.tileir"), "w", encoding="utf-8") as file:
        file.write(text)
    document = json.loads(t.run("report", t.assemble(t.path("path.tileir"), "path.tbc"), "--json"))
    t.check("a path is not followed", [source["file"] for source in document["sources"]] == ["etc/secret"]
            and "text" not in document["sources"][0], document["sources"])


def test_run(t):
    lock = t.assemble(os.path.join(EXAMPLES, "lost_lock.tileir"), "lock.tbc")
    document = json.loads(t.run("report", lock, "--json", "--run", "-g", "4"))
    run = document["run"]
    t.check("counts", len(run["counts"]) == len(document["kernels"][0]["code"]) and run["counts"][0] == 4, run["counts"])
    t.check("arrays", [array["name"] for array in run["arrays"]] == ["a", "b", "c"]
            and run["arrays"][1]["written"] and len(run["arrays"][1]["cells"]) == 32)
    iota = next(tile for tile in run["tiles"] if document["kernels"][0]["code"][tile["op"]]["text"].find("iota") > 0)
    t.check("a tile", iota["cells"] == list(range(32)), iota)
    race = run["races"][0]
    t.check("a race", race["rule"] == "X-RAC-01" and race["first"]["block"] == [0, 0, 0]
            and race["second"]["block"] == [1, 0, 0] and {race["first"]["does"], race["second"]["does"]} == {"writes", "reads"},
            race)
    code = document["kernels"][0]["code"]
    steps = [(tuple(step["block"]), re.search(r"= (\w+)", code[step["op"]]["text"])[1]) for step in race["schedule"]]
    t.check("its schedule: one block unlocks, the other one locks", steps == [((0, 0, 0), "atomic_rmw_tko"),
                                                                             ((1, 0, 0), "atomic_cas_tko")], steps)
    t.check("what was seen", {(tuple(s["release"]["block"]), tuple(s["acquire"]["block"])) for s in run["seen"]}
            == {((i, 0, 0), (i + 1, 0, 0)) for i in range(3)}, run["seen"])
    t.check("tokens", [15, 16] in run["tokens"] or run["tokens"], run["tokens"])
    alone = json.loads(t.run("report", lock, "--json", "--run", "-g", "1"))["run"]
    t.check("no race in one block", alone["races"] == [] and alone["seen"] == [], alone["races"])
    t.run("check", lock, "-g", "4", "-q", "--report", t.path("check.html"), code=1)


def test_large(t):
    """Of a kernel that is too large for a page the first ops are shown, and the page says how many are not."""
    lines = ["entry @large(%a: tile<ptr<f32>>) {", "  %v0, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token"]
    lines += [f"  %v{i + 1} = mulf %v{i}, %v{i // 2} : tile<f32>" for i in range(5100)]
    lines += ["  %u = store_ptr_tko weak %a, %v5100 token=%t : tile<ptr<f32>>, tile<f32> -> token", "  return", "}"]
    with open(t.path("large.tileir"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    large = t.assemble(t.path("large.tileir"), "large.tbc")
    kernel = json.loads(t.run("report", large, "--json"))["kernels"][0]
    t.check("ops that are left out", len(kernel["code"]) == len(kernel["ops"]) == 5000 and kernel["code_left_out"] == 103
            and kernel["ops_left_out"] == 103, (len(kernel["code"]), len(kernel["ops"])))
    t.check("nothing names one of them", all(indices_hold(kernel)) and all(op < 5000 for _, op in kernel["lines"]))
    t.run("report", large, "-o", t.path("large.html"))


def test_usage(t):
    vadd = os.path.join(KERNELS, "add_f32.tbc")
    t.run("report", code=2)
    t.run("report", vadd, "-g", "4", code=2)
    t.run("report", vadd, "-t", "sm_80,sm_90", "-o", t.path("x.html"), code=2)
    t.run("report", vadd, "--json", "-o", t.path("x.html"), code=2)
    t.run("report", os.path.join(HERE, "report.py"), code=1)
    t.run("report", vadd, "-e", "nothing", "-o", t.path("x.html"), code=2)
    t.check("nothing was written", not os.path.exists(t.path("x.html")))


def test_limits(t, corpus):
    """The largest page of a kernel of the corpus, and how long it takes to make."""
    folder = os.path.join(corpus, "bytecode", "13.5") if corpus else ""
    if not os.path.isdir(folder):
        print("report-corpus: skipped, the corpus is not unpacked")
        return
    largest = 0, ""
    for name in sorted(os.listdir(folder)):
        if name.startswith("perf_attention") or name.startswith("perf_layernorm"):
            t.run("report", os.path.join(folder, name), "-t", "sm_90a", "-o", t.path("corpus.html"))
            largest = max(largest, (os.path.getsize(t.path("corpus.html")), name))
    t.check(f"{largest[1]}: {largest[0]} bytes", largest[0] <= MOST_BYTES)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    t.run("report", os.path.join(folder, largest[1]), "-t", "sm_90a", "-o", t.path("largest.html"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    t.check(f"{largest[1]}: {seconds:.2f} s", seconds <= MOST_SECONDS)


# ---- the trace ----


def slices_nest(events):
    """Slices of a thread lie inside each other or apart; times are rounded to a nanosecond."""
    open_until = []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        while open_until and open_until[-1] <= event["ts"] + 0.0015:
            open_until.pop()
        yield not open_until or event["ts"] + event["dur"] <= open_until[-1] + 0.0035
        open_until.append(event["ts"] + event["dur"])


def test_trace(t):
    path = os.path.join(KERNELS, "matmul_f16.tbc")
    t.run("run", path, "-g", "2,2", "-q", "--trace-events", t.path("trace.json"))
    with open(t.path("trace.json"), encoding="utf-8") as file:
        trace = json.load(file)
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    t.check("slices have all fields", all({"name", "cat", "ts", "dur", "pid", "tid", "args"} <= event.keys()
                                          and event["ts"] >= 0 and event["dur"] >= 0 for event in slices))
    t.check("a thread for each tile block", {event["tid"] for event in slices} == set(range(4)))
    for block in range(4):
        own = [event for event in slices if event["tid"] == block]
        t.check("slices nest", all(slices_nest(own)))
        names = [event["name"] for event in own]
        t.check("ops of a block", names.count("mmaf") == 32 and names.count("for") == 1 and names.count("tile block") == 1,
                names)
    named = {event["tid"]: event["args"]["name"] for event in trace["traceEvents"]
             if event["ph"] == "M" and event["name"] == "thread_name"}
    t.check("names of threads", named == {0: "tile block (0, 0, 0)", 1: "tile block (1, 0, 0)", 2: "tile block (0, 1, 0)",
                                          3: "tile block (1, 1, 0)"}, named)
    t.run("run", path, "-g", "2,2", "-q", "--trace-events", t.path("cut.json"), "--trace-events-max", "20")
    with open(t.path("cut.json"), encoding="utf-8") as file:
        cut = json.load(file)
    t.check("the limit", len(cut["traceEvents"]) == 20 and cut["otherData"]["left_out"] > 400, cut["otherData"])
    hostile = t.assemble(os.path.join(HERE, "hostile.tileir"), "hostile.tbc")
    t.run("run", hostile, "-g", "1", "-q", "--trace-events", t.path("hostile.json"))
    with open(t.path("hostile.json"), encoding="utf-8") as file:
        t.check("hostile names", any("owned" in event["args"].get("file", "") for event in json.load(file)["traceEvents"]))
    lock = t.assemble(os.path.join(EXAMPLES, "lost_lock.tileir"), "lock.tbc")
    t.run("run", lock, "-g", "4", "-q", "--trace-events", t.path("wait.json"))
    with open(t.path("wait.json"), encoding="utf-8") as file:
        waits = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "wait"]
    t.check("loops that wait", len(waits) == 4 and {event["name"] for event in waits} == {"loop"}, waits)
    t.run("run", path, "-g", "2,2", "--check", "races", "--trace-events", t.path("x.json"), code=2)


# ---- the page ----


def test_escapes(t):
    hostile = t.assemble(os.path.join(HERE, "hostile.tileir"), "hostile.tbc")
    t.run("report", hostile, "--run", "-g", "1", "-o", t.path("hostile.html"))
    with open(t.path("hostile.html"), "rb") as file:
        page = file.read()
    t.check("only the page's own scripts end", page.count(b"</script") == 2)
    t.check("no comment begins", b"<!--" not in page)
    t.check("no line ends in a string", b"\xe2\x80\xa8" not in page)
    t.check("nothing comes from elsewhere", not re.search(rb'(src|href)="(?!#)', page) and not re.search(rb"url\((?!#)", page))


HIGHLIGHTED = """(() => Object.fromEntries([...document.querySelectorAll("[data-kind]")].map(list =>
    [list.dataset.kind, [...list.querySelectorAll(".near, .chosen")].map(item => item.textContent)])))()"""

CONTRAST = """(() => {
    const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
    const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
        if (c.length === 3 || c[3] > .99) return c; } return [255, 255, 255]; };
    let least = 99, which = "";
    for (const e of document.querySelectorAll("h1,h2,h3,p,a,li,td,th,dt,dd,button,label,figcaption,summary,.badge,.kind,.dim,.no")) {
        if (!e.textContent.trim() || !e.offsetParent || e.closest(".hidden")) continue;
        const a = light(parse(getComputedStyle(e).color)), b = light(behind(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (ratio < least) { least = ratio; which = e.tagName + " " + e.className + " " + e.textContent.slice(0, 40); }
    }
    return [least, which];
})()"""


def nameless(page):
    """Controls that a screen reader has no name for."""
    found = []
    for node in page.call("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        if node.get("ignored") or role not in ("button", "slider", "link", "combobox", "listbox", "img", "image", "region"):
            continue
        if not node.get("name", {}).get("value", "").strip():
            found.append(role)
    return found


def test_parts(t, page):
    ids = page.value("[...document.querySelectorAll('section')].map(section => section.id)")
    wanted = {"summary", "code", "remarks", "plans", "loops", "roofline", "layouts", "memory", "registers", "run", "heat",
              "order", "races"}
    t.check("all parts are there", wanted <= set(ids), ids)
    t.check("the navigation leads to all of them",
            page.value("[...document.querySelectorAll('nav a')].map(a => a.hash.slice(1))") == ids)
    t.check("landmarks", page.value("['header', 'nav', 'main'].every(tag => document.querySelectorAll(tag).length === 1)"))
    t.check("headings follow each other", page.value(
        "[...document.querySelectorAll('h1,h2,h3')].map(h => Number(h.tagName[1])).every((n, i, all) => !i || n <= all[i - 1] + 1)"))
    t.check("drawings", page.value("document.querySelectorAll('svg').length >= 8 && !!document.querySelector('svg.timeline')"))
    t.check("controls have names", not nameless(page), nameless(page))


def test_links(t, page):
    page.click('[data-kind="op"] > [data-at="60"]')
    first = page.value(HIGHLIGHTED)
    t.check("a click highlights its PTX and source", all(first[kind] for kind in ("op", "line", "source")), first)
    t.check("what is said of it", page.value("document.getElementById('about').textContent.length > 30"))
    page.key("ArrowUp")
    second = page.value(HIGHLIGHTED)
    t.check("an arrow key goes on", second["op"] and second["op"] != first["op"], second)
    t.check("it is announced", page.value(
        "document.getElementById(document.querySelector('[data-kind=op]').getAttribute('aria-activedescendant'))"
        ".getAttribute('aria-selected')") == "true")
    page.value("document.querySelector('[data-kind=source] [data-at=\"4\"]').click()")
    third = page.value(HIGHLIGHTED)
    t.check("a source line has ops and PTX", len(third["op"]) > 1 and third["line"] and len(third["source"]) >= 1, third)
    page.value("[...document.querySelectorAll('#code button')].find(b => b.textContent === 'as written').click()")
    fourth = page.value(HIGHLIGHTED)
    t.check("as written, the same is highlighted", fourth["code"] and fourth["line"] == third["line"], fourth)
    page.value("document.querySelector('#remarks li button').click()")
    t.check("a remark leads to its op", len(page.value(HIGHLIGHTED)["code"]) == 1)


def test_drawings(t, page):
    for part in ("registers", "memory"):
        page.value(f"document.querySelector('#{part} svg').focus()")
        page.key("ArrowRight")
        page.key("ArrowRight")
        t.check(part + " along the ops", page.value(f"document.querySelector('#{part} svg').getAttribute('aria-valuenow')") == "2")
        before = page.value(HIGHLIGHTED)
        page.key("End" if part == "registers" else "Home")
        page.key("Enter")
        t.check(part + ": Enter shows the op", page.value(HIGHLIGHTED) != before)
    page.value("document.querySelector('#layouts canvas').focus()")
    page.key("ArrowDown")
    said = page.value("document.querySelector('#layouts canvas').getAttribute('aria-valuetext')")
    t.check("an element of a layout", re.match(r"element \[1, 0\]: warp \d+, lane \d+ \(thread \d+\), register \d+", said), said)
    t.check("a conversion has two sides", page.value("[...document.querySelectorAll('#layouts h3')].map(h => h.textContent.split(':')[0])")
            == ["before", "after"])
    t.check("both sides have the element", page.value(
        "[...document.querySelectorAll('#layouts canvas')].every(c => c.getAttribute('aria-valuetext').startsWith('element [1, 0]'))"))
    page.value("[...document.querySelectorAll('#remarks button')].find(b => b.textContent === 'missed').click()")
    t.check("missed decisions alone", page.value("[...document.querySelectorAll('#remarks li')].every(li => li.dataset.kind === 'missed')"))
    page.value("document.querySelector('#roofline [role=button]').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    t.check("a point of the roofline leads to its loop", page.value("document.getElementById('about').textContent").find("for") >= 0)


def test_look(t, page, what):
    least, which = page.value(CONTRAST)
    t.check(f"contrast, {what}", least >= 4.5, (least, which))
    t.check(f"nothing is wider than the window, {what}",
            page.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))
    t.check(f"no errors, {what}", not page.errors, page.errors)


def test_product(t):
    product = t.assemble(os.path.join(EXAMPLES, "product.tileir"), "product.tbc")
    t.run("report", product, "-t", "sm_90a", "--run", "-g", "2,2", "--source", EXAMPLES, "-o", t.path("product.html"))
    with browser.Page(t.path("product.html")) as page:
        test_parts(t, page)
        test_links(t, page)
        test_drawings(t, page)
        test_look(t, page, "light")
    with browser.Page(t.path("product.html"), width=420, dark=True) as page:
        test_look(t, page, "dark and narrow")


def test_races_page(t):
    with browser.Page(t.path("check.html")) as page:
        cards = page.value("[...document.querySelectorAll('.race')].map(card => card.textContent)")
        t.check("races have a card each", len(cards) == 2 and all("Tile block (0, 0, 0)" in card for card in cards), cards)
        t.check("with its schedule", page.value("document.querySelectorAll('.race svg.schedule').length") == 2)
        page.value("document.querySelector('.race button').click()")
        t.check("an access leads to its op", page.value(HIGHLIGHTED)["op"])
        test_look(t, page, "races")


def test_diff_page(t):
    old, new = (os.path.join(KERNELS, name + ".tbc") for name in ("matmul_bf16", "matmul_f16"))
    t.run("report", "--diff", old, new, "-t", "sm_90a", "-o", t.path("diff.html"))
    with browser.Page(t.path("diff.html")) as page:
        text = page.value("document.getElementById('diff').textContent")
        t.check("both versions", "matmul_bf16" in text and "matmul_f16" in text)
        removed, added = (page.value(f"[...document.querySelectorAll('#diff td.{kind}')].map(td => td.textContent)")
                          for kind in ("removed", "added"))
        t.check("what differs", any("bf16" in line for line in removed) and not any("bf16" in line for line in added), added[:3])
        test_look(t, page, "two versions")


def test_large_page(t):
    with browser.Page(t.path("large.html")) as page:
        t.check("it is said", "103 more ops left out" in page.value("document.querySelector('[data-kind=op]').textContent"))
        page.click('[data-kind="op"] > [data-at="4999"]')
        t.check("no errors, large", not page.errors, page.errors)


def test_hostile_page(t):
    with browser.Page(t.path("hostile.html")) as page:
        t.check("no markup came to life", page.value("document.title") == "k – tilevm report"
                and page.value("document.querySelectorAll('#owned, img, i:not([style])').length") == 0)
        t.check("the text is shown", "<img src=x" in page.value("document.querySelector('[data-kind=op]').textContent"))
        t.check("no errors, hostile", not page.errors, page.errors)


def test_pages(t):
    if not browser.find():
        print("report-browser: skipped, there is no chromium")
        return
    for test in (test_product, test_races_page, test_diff_page, test_large_page, test_hostile_page):
        try:
            test(t)
        except (EOFError, OSError, RuntimeError) as error:
            t.check(test.__name__, False, error)


def main():
    tool, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(work, exist_ok=True)
    t = Tests(tool, work)
    test_documents(t)
    test_source(t)
    test_run(t)
    test_large(t)
    test_usage(t)
    test_limits(t, sys.argv[3] if len(sys.argv) > 3 else None)
    test_trace(t)
    test_escapes(t)
    test_pages(t)
    print(f"report: {t.passed} passed, {t.failed} failed")
    return 1 if t.failed else 0


sys.exit(main())
