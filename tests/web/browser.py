#!/usr/bin/env python3
"""The page of `make web` in a headless browser, by the DevTools protocol over pipes.

browser.py BROWSER PAGE SHOTS: opens PAGE from its file, uses it as people do, by mouse, file dialog and keyboard, and
leaves pictures in SHOTS. Ends with `web: N passed, N failed`.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile
import time

MOST_BYTES = 3_000_000
ADD_SECONDS = 0.2  # of 2^20 elements

BAD_TEXT = "entry @k(%a: tile<f32>) {\n  %b = addf %a, %c : tile<f32>\n  return\n}\n"
BROKEN_RULE = "entry @k(%a: tile<f32>, %b: tile<f64>) {\n  %0 = addf %a, %b : tile<f32>\n  return\n}\n"


class Browser:
    """One browser and one page of it."""

    def __init__(self, program, folder):
        to_browser, self.out = os.pipe()
        self.back, from_browser = os.pipe()
        self.log = open(os.path.join(folder, "browser.log"), "wb")

        def place_pipes():
            os.dup2(to_browser, 13)
            os.dup2(from_browser, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={folder}/profile",
             "about:blank"], preexec_fn=place_pipes, close_fds=False, stdout=self.log, stderr=self.log)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.next, self.session = b"", 1, None
        self.requests, self.problems = [], []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.call("Emulation.setScrollbarsHidden", hidden=True)
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.buffer:
            got = os.read(self.back, 1 << 20)
            if not got:
                raise RuntimeError("the browser has ended")
            self.buffer += got
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(str(params["exceptionDetails"].get("exception", params))[:300])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.problems.append(str(params["args"])[:300])

    def call(self, method, **params):
        number, self.next = self.next, self.next + 1
        command = {"id": number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            message = self.message()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"])[:400])
        return result["result"].get("value")

    def wait(self, expression, seconds=120):
        end = time.time() + seconds
        while time.time() < end:
            if self.value(expression):
                return True
            time.sleep(0.05)
        return False

    def text(self, name):
        return self.value(f"document.getElementById('{name}').textContent")

    def key(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      text=text if kind == "keyDown" else "")

    def size(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, is_dark):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def shot(self, path):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.process.wait(20)
        self.log.close()


class Counts:
    passed = failed = 0

    def check(self, condition, what):
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print(f"failed: {what}")


def settled(browser, name):
    return browser.wait(f"/(has run|has errors|Compiled|cannot)/.test(document.getElementById('{name}').textContent)")


def choose(browser, path):
    root = browser.call("DOM.getDocument")["root"]["nodeId"]
    node = browser.call("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    browser.call("DOM.setFileInputFiles", files=[path], nodeId=node)
    name = os.path.basename(path)
    return browser.wait(f"document.getElementById('state').textContent.startsWith('{name},')")


def check_example(browser, counts):
    """The example by keyboard alone: a button, the form, a large grid."""
    browser.value("document.activeElement.blur()")
    for _ in range(2):
        browser.key("Tab", 9)
    counts.check(browser.value("document.activeElement.id") == "example", "Tab reaches the example")
    browser.key("Enter", 13, "\r")
    counts.check(browser.wait("!document.getElementById('opened').hidden"), "the example opens")
    counts.check(browser.text("verdict") == "Every rule holds.", "the example is valid: " + browser.text("findings"))
    counts.check("addf" in browser.text("text"), "the listing has the op")
    seen = set()
    for _ in range(24):
        browser.key("Tab", 9)
        seen.add(browser.value("document.activeElement.id"))
    for name in ("text", "kernel", "grid-x", "seed", "checks", "start", "target"):
        counts.check(name in seen, f"Tab reaches {name}")
    browser.value("document.getElementById('grid-x').value = '1024'; document.getElementById('start').focus()")
    browser.key("Enter", 13, "\r")
    counts.check(settled(browser, "outcome") and "has run" in browser.text("outcome"),
                 "the example runs: " + browser.text("outcome") + browser.text("run-findings"))
    rows = browser.value("[...document.querySelectorAll('#arrays tbody tr')].map(r => "
                         "[...r.cells].map(c => c.textContent))")
    counts.check([r[1] for r in rows] == ["f32[1048576]"] * 3, f"arrays of 2^20 elements: {rows}")
    counts.check([r[2] for r in rows] == ["", "", "written"], f"c is written: {rows}")
    figures = browser.text("figures")
    counts.check("1024 tile blocks" in figures, figures)
    seconds = float(figures.split("\n")[1].split(" ms")[0]) / 1000
    counts.check(seconds <= ADD_SECONDS, f"2^20 elements take {seconds} s, more than {ADD_SECONDS}")
    first = [float(x) for x in rows[0][7].split(", ")[:4]]
    second = [float(x) for x in rows[1][7].split(", ")[:4]]
    third = [float(x) for x in rows[2][7].split(", ")[:4]]
    counts.check(all(abs(x + y - z) < 1e-5 for x, y, z in zip(first, second, third)), f"sums: {rows}")
    return seconds


def check_checks(browser, counts):
    browser.value("document.getElementById('grid-x').value = '4'; document.getElementById('checks').click();"
                  "document.getElementById('start').click()")
    browser.wait("document.getElementById('figures').textContent.startsWith('4 tile blocks')")
    counts.check("has run" in browser.text("outcome"), "checks find nothing: " + browser.text("run-findings"))
    browser.value("document.getElementById('checks').click()")


def check_ptx(browser, counts):
    for target in ("sm_80", "sm_90a", "sm_120"):
        browser.value(f"document.getElementById('target').value = '{target}';"
                      "document.getElementById('ptx-state').textContent = '';"
                      "document.querySelector('#ptx-form button').click()")
        counts.check(settled(browser, "ptx-state") and f".target {target}" in browser.text("ptx-text"),
                     f"PTX for {target}: " + browser.text("ptx-state"))


IN_REPORT = "document.getElementById('report-page').contentDocument"


def check_report(browser, counts, shots):
    """The report of the example: its parts are there and answer, with a run and without, and it can be saved."""
    browser.value("document.getElementById('target').value = 'sm_90a'; document.getElementById('grid-x').value = '4';"
                  "document.querySelector('#report-form button').click()")
    counts.check(browser.wait("document.getElementById('report-state').textContent.startsWith('Made')"),
                 "a report: " + browser.text("report-state") + browser.text("report-findings"))
    counts.check(browser.wait(IN_REPORT + "?.querySelectorAll('section').length > 5"), "the report is drawn")
    sections = browser.value(f"[...{IN_REPORT}.querySelectorAll('section')].map(s => s.id)")
    counts.check({"summary", "code", "layouts", "registers", "roofline", "run", "heat"} <= set(sections), f"parts: {sections}")
    counts.check("4 x 1 x 1 tile blocks" in browser.value(IN_REPORT + ".getElementById('run').textContent"), "the run is in the report")
    browser.value(IN_REPORT + ".querySelector('#sections a[href=\"#layouts\"]').click()")
    counts.check(browser.wait(IN_REPORT + ".documentElement.scrollTop > 0", 5), "a link of the report goes to its part")
    counts.check(browser.value(IN_REPORT + ".querySelectorAll('section').length") == len(sections), "and the report stays")
    browser.value(f"""(() => {{
        const line = [...{IN_REPORT}.querySelectorAll('#code [data-at]')].find(e => e.textContent.includes('addf'));
        line.click();
    }})()""")
    counts.check(browser.value(IN_REPORT + ".querySelectorAll('#code .near, #code .chosen').length") > 1,
                 "a line of the report is linked")
    counts.check(browser.value("document.getElementById('report-save').href").startswith("blob:"), "the report can be saved")
    for width in (1200, 360):
        for is_dark in (False, True):
            browser.size(width)
            browser.dark(is_dark)
            wide = browser.value("document.documentElement.scrollWidth")
            inner = browser.value(IN_REPORT + ".documentElement.scrollWidth - " + IN_REPORT + ".documentElement.clientWidth")
            counts.check(wide <= width and inner <= 0, f"with a report, the page is {wide} pixels wide on {width}, and {inner} more inside")
            browser.value("document.getElementById('report').scrollIntoView(); " + IN_REPORT + ".documentElement.scrollTop = 0")
            browser.shot(os.path.join(shots, f"report-{'narrow' if width < 600 else 'wide'}-{'dark' if is_dark else 'light'}.png"))
    browser.size(1200)
    browser.value("document.getElementById('report-run').click(); document.getElementById('report-state').textContent = '';"
                  "document.querySelector('#report-form button').click()")
    counts.check(browser.wait("document.getElementById('report-state').textContent.startsWith('Made')")
                 and browser.wait(IN_REPORT + "?.querySelectorAll('section').length > 5")
                 and not browser.value(IN_REPORT + ".getElementById('run')"), "a report without a run")


def check_files(browser, counts, folder):
    """Files by the dialog and by drag and drop; what is wrong with them is shown with carets."""
    for name, content, verdict in (("broken.tir", BROKEN_RULE, "The kernel breaks rules."),
                                   ("bad.tir", BAD_TEXT, "The file cannot be read.")):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        counts.check(choose(browser, path), f"{name} opens")
        counts.check(browser.text("verdict") == verdict, f"{name}: " + browser.text("verdict"))
        counts.check("error[" in browser.text("findings") and "^" in browser.text("findings"), browser.text("findings"))
        counts.check(browser.value("document.getElementById('run').hidden"), f"{name} does not run")
    browser.value("""(() => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array([0x7f, 84, 105, 108, 101, 73, 82, 0, 13, 1, 0, 0, 9])],
                                '<b>x<\\/b>.tbc'));
        document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
    })()""")
    counts.check(browser.wait("document.getElementById('state').textContent.includes('x</b>.tbc, 13 bytes')"),
                 "a dropped file opens: " + browser.text("state"))
    counts.check(browser.text("verdict") == "The file cannot be read.", browser.text("verdict"))
    counts.check(browser.value("document.querySelectorAll('b').length") == 0, "names are text")


def check_looks(browser, counts, shots):
    for width in (1200, 360):
        for is_dark in (False, True):
            browser.size(width)
            browser.dark(is_dark)
            wide = browser.value("document.documentElement.scrollWidth")
            counts.check(wide <= width, f"the page is {wide} pixels wide on {width}")
            browser.shot(os.path.join(shots, f"{'narrow' if width < 600 else 'wide'}-{'dark' if is_dark else 'light'}.png"))
    browser.size(1200)


def main():
    program, page, shots = sys.argv[1:]
    counts = Counts()
    os.makedirs(shots, exist_ok=True)
    size = os.path.getsize(page)
    counts.check(size <= MOST_BYTES, f"the page has {size} bytes")
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(program, folder)
        try:
            browser.size(1200)
            url = "file://" + os.path.abspath(page)
            browser.call("Page.navigate", url=url)
            counts.check(browser.wait("document.documentElement?.dataset.ready === 'yes'"),
                         "the machine starts: " + browser.text("state"))
            seconds = check_example(browser, counts)
            check_ptx(browser, counts)
            check_looks(browser, counts, shots)
            check_report(browser, counts, shots)
            check_checks(browser, counts)
            check_files(browser, counts, folder)
            others = [r for r in browser.requests if r != url and not r.startswith("data:")]
            counts.check(not others, f"the page asks for nothing: {others}")
            blocked = browser.value("fetch('https://example.org/').then(() => 'sent', () => 'blocked')")
            counts.check(blocked == "blocked", "the policy lets nothing out")
            problems = [p for p in browser.problems if "example.org" not in p]
            counts.check(not problems, f"no errors on the console: {problems}")
            print(f"web: the page has {size} bytes; 2^20 elements added in {seconds:.4f} s")
        finally:
            browser.close()
    print(f"web: {counts.passed} passed, {counts.failed} failed")
    return counts.failed != 0


if __name__ == "__main__":
    sys.exit(main())
