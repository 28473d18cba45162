"""--dap: a program's launches in an editor's debugger, by the Debug Adapter Protocol.

The editor talks to this process, the program runs in its main thread, and each launch that an editor may want to stop in
is captured as by --tile-capture, once it has run, and run again by `tilevm debug --dap`. Messages go from one to the other
with their numbers changed; breakpoints are kept and set again for every launch.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, BinaryIO, Callable

from tilevm.cutile._capture import Capture, Launch
from tilevm.diagnostics import UsageError

Message = dict[str, Any]
_MOST_BODY = 4 << 20
_PATIENCE = 5.0  # seconds
_NO_LAUNCH = "no kernel is being debugged: the Python program runs"


def command() -> str:
    """`tilevm`: TILEVM_COMMAND, or the one beside the interpreter, or of the PATH."""
    given = os.environ.get("TILEVM_COMMAND")
    found = given or shutil.which("tilevm", path=str(Path(sys.executable).parent)) or shutil.which("tilevm")
    if found is None:
        raise UsageError("--dap needs the command 'tilevm': the wheel has it; or set TILEVM_COMMAND")
    return found


class Wire:
    """Messages with headers on two streams."""

    def __init__(self, source: BinaryIO, sink: BinaryIO):
        self._source, self._sink, self._lock, self._numbers = source, sink, threading.Lock(), itertools.count(1)

    def read(self) -> "Message | None":
        """The next message; None: the stream has ended, or what comes is none."""
        length = 0
        while (line := self._source.readline(4096)) not in (b"\r\n", b"\n"):
            if not line:
                return None
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length" and value.strip().isdigit():
                length = int(value)
        body = self._source.read(length) if 0 < length <= _MOST_BODY else b""
        try:
            message = json.loads(body)
        except ValueError:
            return None
        return message if isinstance(message, dict) else None

    def send(self, **message: Any) -> int:
        with self._lock:
            number = next(self._numbers)
            body = json.dumps({"seq": number, **message}).encode()
            self._sink.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self._sink.flush()
            return number

    def event(self, name: str, **body: Any) -> None:
        self.send(type="event", event=name, body=body)


class Adapter:
    """`tilevm debug --dap`, for one kernel."""

    def __init__(self, on_message: Callable[["Adapter", Message], None]):
        self._process = subprocess.Popen([command(), "debug", "--dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None and self._process.stdin is not None
        self._wire, self._on_message = Wire(self._process.stdout, self._process.stdin), on_message
        self._answers: dict[int, Callable[[Message], None]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while (message := self._wire.read()) is not None:
            with self._lock:  # who asks knows the number before its answer is looked for
                answer = self._answers.pop(message.get("request_seq", 0), None) if message.get("type") == "response" else None
            if answer is not None:
                answer(message)
            elif message.get("type") == "event":
                self._on_message(self, message)
        self._on_message(self, {"type": "event", "event": "ended"})
        with self._lock:
            left, self._answers = list(self._answers.values()), {}
        for answer in left:
            answer({"success": False, "message": "the debugger has ended"})

    def ask(self, name: str, arguments: Any, answer: Callable[[Message], None]) -> None:
        try:
            with self._lock:
                self._answers[self._wire.send(type="request", command=name, arguments=arguments or {})] = answer
        except OSError:
            answer({"success": False, "message": "the debugger has ended"})

    def wait(self, name: str, arguments: Any = None) -> Message:
        """Asks, and waits for the answer: not for the thread that listens."""
        come = threading.Event()
        answers: list[Message] = []

        def keep(message: Message) -> None:
            answers.append(message)
            come.set()

        self.ask(name, arguments, keep)
        come.wait()
        return answers[0]

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()


class Server:
    """The editor's side. One thread reads what it asks; the program's thread waits in launches that are debugged."""

    def __init__(self, source: BinaryIO, sink: BinaryIO):
        self._editor = Wire(source, sink)
        self._adapter: "Adapter | None" = None  # with a kernel that is being debugged
        self._capabilities: Message = {}
        self._stop_on_entry = False
        self._sources: dict[str, Message] = {}  # arguments of setBreakpoints, by source
        self._functions: Message = {}
        self._exceptions: Message = {}
        self._ids = itertools.count(1)
        self._known: dict[tuple[str, int], int] = {}  # the editor's numbers of breakpoints
        self._of_adapter: dict[int, int] = {}  # the same, by the adapter's
        self._go, self._next = threading.Event(), threading.Event()
        self._stopped = self._at_end = False  # the editor was told of a stop of this kernel; the kernel has ended
        self.outputs: list[threading.Thread] = []  # which pass on what the program prints
        self._over, self._closed = False, threading.Event()  # the program has ended; the editor has gone

    # ---- what the editor asks ----

    def serve(self) -> None:
        while (message := self._editor.read()) is not None:
            if message.get("type") != "request" or not isinstance(message.get("command"), str):
                continue
            if message["command"] in ("disconnect", "terminate"):
                self._respond(message)
                break
            self._request(message)
        self._closed.set()
        if not self._over:  # the program is not asked
            if self._adapter is not None:
                self._adapter.end()
            os._exit(0)

    def _respond(self, request: Message, body: Any = None, problem: str = "") -> None:
        more = {"message": problem} if problem else {"body": body or {}}
        self._editor.send(type="response", request_seq=request.get("seq", 0), command=request["command"],
                          success=not problem, **more)

    def _request(self, request: Message) -> None:
        name, arguments = request["command"], request.get("arguments")
        arguments = arguments if isinstance(arguments, dict) else {}
        if name == "initialize":
            self._respond(request, self._ask_capabilities(arguments))
        elif name in ("launch", "attach"):
            self._stop_on_entry = arguments.get("stopOnEntry") is True
            self._respond(request)
            self._editor.event("initialized")
        elif name == "configurationDone":
            self._respond(request)
            self._go.set()
        elif name in ("setBreakpoints", "setFunctionBreakpoints", "setExceptionBreakpoints"):
            self._keep_stops(request, name, arguments)
        elif self._adapter is None:
            self._without_kernel(request, name)
        elif name == "continue" and self._at_end:
            self._respond(request, {"allThreadsContinued": True})
            self._next.set()
        else:
            self._forward(request, name, arguments)

    def _ask_capabilities(self, arguments: Message) -> Message:
        if not self._capabilities:
            adapter = Adapter(lambda _adapter, _message: None)
            self._capabilities = adapter.wait("initialize", arguments).get("body", {})
            adapter.end()
        return self._capabilities

    def _without_kernel(self, request: Message, name: str) -> None:
        if name == "threads":
            self._respond(request, {"threads": [{"id": 1, "name": "Python"}]})
        elif name == "setDataBreakpoints":
            self._respond(request, {"breakpoints": []})
        else:
            self._respond(request, problem=_NO_LAUNCH)

    def _forward(self, request: Message, name: str, arguments: Message) -> None:
        assert self._adapter is not None

        def answer(message: Message) -> None:
            self._respond(request, message.get("body"), "" if message.get("success") else message.get("message") or "failed")

        self._adapter.ask(name, arguments, answer)

    # ---- breakpoints ----

    def _keep_stops(self, request: Message, name: str, arguments: Message) -> None:
        if name == "setBreakpoints":
            source = arguments.get("source")
            path = source.get("path") if isinstance(source, dict) else None
            if isinstance(path, str):
                self._sources[path] = arguments
            elif self._adapter is not None:
                return self._forward(request, name, arguments)  # of a listing, which only this kernel has
            place = path if isinstance(path, str) else ""
        elif name == "setFunctionBreakpoints":
            self._functions, place = arguments, "function"
        else:
            self._exceptions = arguments
            if self._adapter is not None:
                return self._forward(request, name, arguments)
            return self._respond(request)
        if self._adapter is None:
            wanted = arguments.get("breakpoints")
            count = len(wanted) if isinstance(wanted, list) else 0
            return self._respond(request, {"breakpoints": [
                {"id": self._number(place, i), "verified": False, "message": "set when a kernel is launched"}
                for i in range(count)]})
        self._adapter.ask(name, arguments, lambda message: self._respond(
            request, {"breakpoints": self._renumbered(place, message)},
            "" if message.get("success") else message.get("message") or "failed"))

    def _number(self, place: str, i: int) -> int:
        if (place, i) not in self._known:
            self._known[place, i] = next(self._ids)
        return self._known[place, i]

    def _renumbered(self, place: str, message: Message) -> list[Message]:
        """The breakpoints of an answer with the editor's numbers, which the adapter's are remembered by."""
        listed = message.get("body", {}).get("breakpoints", [])
        for i, item in enumerate(listed):
            number = self._number(place, i)
            if "id" in item:
                self._of_adapter[item["id"]] = number
            item["id"] = number
        return list(listed)

    def _set_stops(self, adapter: Adapter) -> None:
        """Sets what the editor has set before, and tells it what is verified now."""
        answers = [(path, adapter.wait("setBreakpoints", said)) for path, said in list(self._sources.items())]
        answers.append(("function", adapter.wait("setFunctionBreakpoints", self._functions or {"breakpoints": []})))
        for place, message in answers:
            for item in self._renumbered(place, message):
                self._editor.event("breakpoint", reason="changed", breakpoint=item)
        if self._exceptions:
            adapter.wait("setExceptionBreakpoints", self._exceptions)

    def _wants_stops(self) -> bool:
        return (self._stop_on_entry or any(said.get("breakpoints") for said in (*self._sources.values(), self._functions))
                or bool(self._exceptions.get("filters") or self._exceptions.get("filterOptions")))

    # ---- the program's side ----

    def wait_for_start(self) -> None:
        self._go.wait()

    def debug(self, folder: Path) -> None:
        """Lets the editor debug the launch in the folder, until it goes on from the kernel's end."""
        if not self._wants_stops():
            return
        self._stopped = self._at_end = False
        self._next.clear()
        self._of_adapter = {}
        adapter = Adapter(self._from_adapter)
        adapter.wait("initialize", {"adapterID": "tilevm"})
        answer = adapter.wait("launch", {"program": str(folder / "k.tbc"), "stopOnEntry": self._stop_on_entry})
        if not answer.get("success"):
            self._editor.event("output", category="stderr", output=f"{answer.get('message')}\n")
        else:
            self._set_stops(adapter)
            self._adapter = adapter
            adapter.ask("configurationDone", None, lambda _message: None)
            self._next.wait()
        self._adapter = None
        adapter.end()

    def _from_adapter(self, adapter: Adapter, message: Message) -> None:
        """Events: passed on, but for those about the adapter itself."""
        name, body = message["event"], message.get("body") or {}
        if name in ("initialized", "terminated"):
            return
        if name == "ended":
            self._next.set()
            return
        if name == "stopped":
            self._at_end = body.get("reason") == "end"
            if self._at_end and not self._stopped:
                self._next.set()  # nothing to see
                return
            self._stopped = True
            if "hitBreakpointIds" in body:
                body["hitBreakpointIds"] = [self._of_adapter.get(number, number) for number in body["hitBreakpointIds"]]
        self._editor.event(name, **body)

    def output(self, category: str, text: str) -> None:
        self._editor.event("output", category=category, output=text)

    def end(self, code: int) -> None:
        """Tells the editor that the program has ended, once all of its output is told, and waits until it goes."""
        sys.stdout.flush()
        sys.stderr.flush()
        nothing = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nothing, stream)
        for output in self.outputs:
            output.join(_PATIENCE)  # not for ever: another program may hold the stream
        self._over = True
        self._editor.event("exited", exitCode=code)
        self._editor.event("terminated")
        self._closed.wait(_PATIENCE)


class Debugging(Capture):
    """Captures launches into a folder of its own, and has each debugged."""

    def __init__(self, server: Server):
        self._temporary = tempfile.TemporaryDirectory(prefix="tilevm-dap-")
        super().__init__(self._temporary.name)
        self._server = server

    def written(self, folder: Path) -> None:
        self._server.debug(folder)
        shutil.rmtree(folder, ignore_errors=True)

    def before(self, args: tuple[Any, ...]) -> "Launch | None":
        return super().before(args) if self._server._wants_stops() else None

    def summary(self) -> list[str]:
        return []


def start() -> Server:
    """Takes standard input and output for the editor. What the program prints goes to it as events; it reads nothing."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    server = Server(source, sink)
    for stream, category in ((1, "stdout"), (2, "stderr")):
        read, write = os.pipe()
        os.dup2(write, stream)
        os.close(write)
        server.outputs.append(threading.Thread(target=_pass_on, args=(read, category, server), daemon=True))
        server.outputs[-1].start()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    threading.Thread(target=server.serve, daemon=True).start()
    return server


def _pass_on(read: int, category: str, server: Server) -> None:
    with os.fdopen(read, "r", errors="replace") as lines:
        for line in lines:
            server.output(category, line)
