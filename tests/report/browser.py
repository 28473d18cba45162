"""A page in headless Chromium, driven through the DevTools protocol on a pair of pipes: no package is needed for it."""
import base64
import json
import os
import shutil
import subprocess
import tempfile


def find():
    """The browser's program, or None."""
    for name in (os.environ.get("BROWSER_PROGRAM"), "chromium", "chromium-browser", "google-chrome"):
        if name and shutil.which(name):
            return shutil.which(name)
    return None


class Page:
    """Opens a file. errors: what the page wrote to the console as an error or warning, or threw."""

    def __init__(self, path, width=1400, height=1000, dark=False, narrow=False):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        self.folder = tempfile.TemporaryDirectory()
        command = [find(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                   "--disable-extensions", "--remote-debugging-pipe", "--user-data-dir=" + self.folder.name]
        self.process = subprocess.Popen(command, pass_fds=(3, 4), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL,
                                        preexec_fn=lambda: _as_three_and_four(to_browser, from_browser))
        os.close(to_browser)
        os.close(from_browser)
        self.count, self.buffer, self.session, self.errors, self.events = 0, b"", None, [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.resize(width, height)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.receive()

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def receive(self):
        while b"\0" not in self.buffer:
            data = os.read(self.read_end, 1 << 16)
            if not data:
                raise EOFError("the browser is gone")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self.notice(message)
        return message

    def notice(self, message):
        self.events.append(message)
        parameters = message.get("params", {})
        if message["method"] == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif message["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(parameters["entry"]["text"])
        elif message["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.errors.append(str(parameters["args"]))

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == message["id"]:
                break
        if "error" in answer:
            raise RuntimeError(method + ": " + answer["error"]["message"])
        return answer["result"]

    def value(self, expression):
        """What the expression is in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", expression))
        return result["result"].get("value")

    def point(self, selector):
        """The middle of an element, brought into view."""
        return self.value("(() => { const e = document.querySelector(%s); e.scrollIntoView({block: 'center'}); "
                          "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
                          % json.dumps(selector))

    def click(self, selector):
        self.click_at(*self.point(selector))

    def click_at(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name):
        code = {"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Enter": 13, "Tab": 9, "Home": 36,
                "End": 35}[name]
        text = {"Enter": "\r"}.get(name)
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, code=name, windowsVirtualKeyCode=code,
                  **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, code=name, windowsVirtualKeyCode=code)

    def picture(self, path, whole=False, clip=None):
        how = {"format": "png"}
        if whole:
            how["captureBeyondViewport"] = True
            size = self.value("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
            how["clip"] = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        if clip:
            how["clip"] = dict(zip(("x", "y", "width", "height"), clip), scale=1)
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", **how)["data"]))

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (EOFError, OSError):
            pass
        self.process.wait(20)
        os.close(self.read_end)
        os.close(self.write_end)
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _as_three_and_four(reads, writes):
    """The browser reads file descriptor 3 and writes 4; the pair must not be in each other's way."""
    reads, writes = os.dup(reads), os.dup(writes)
    spare_reads, spare_writes = os.dup2(reads, 20), os.dup2(writes, 21)
    os.dup2(spare_reads, 3)
    os.dup2(spare_writes, 4)
