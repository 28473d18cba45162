#!/usr/bin/env python3
"""client.py TILEVM WORK: sessions of a client of the Debug Adapter Protocol that is not ours, dap-python from PyPI, which parses
every message by the types of the specification. Without it, the test says so; the part about `python -m tilevm.cutile --dap`
also needs cuda-tile and numpy. Ends with `dap client: N passed, N failed`."""
import importlib.util
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
KERNELS = os.path.join(ROOT, "examples", "kernels")
PATIENCE_S = 60

PROGRAM = """import sys
import numpy as np
import cuda.tile as ct


@ct.kernel
def scale(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, (i,), (T,))
    u = t * 2.0
    ct.store(y, (i,), u)


x = np.arange(8, dtype=np.float32)
y = np.zeros(8, dtype=np.float32)
for n in range(2):
    ct.launch(0, (2,), scale, (x, y, 4))
    print("launch", n, y[7])
    x += 1
sys.exit(3)
"""
LINE = 1 + PROGRAM[:PROGRAM.index("u = t")].count("\n")


class Counts:
    passed = failed = 0

    def check(self, what, condition, found=""):
        self.passed += bool(condition)
        self.failed += not condition
        if not condition:
            print(f"FAILED: {what}: {str(found)[:600]}")


# Where dap-python 0.5.0 is not as the specification: answers without a body, where it looks for the members of the answer
# itself; breakpoints that were hit, which are numbers and not texts; and reasons to stop, which may be others.
EMPTY = ("launch", "configurationDone", "disconnect", "stepBack")


def client_of(dap):
    class Handler(dap.handler.Handler):
        def handle_response(self, response):
            if response.success and response.command in EMPTY:
                response.body = response.model_dump()
            return super().handle_response(response)

        def handle_event(self, event):
            if event.event == "stopped" and event.body.get("hitBreakpointIds"):
                event.body["hitBreakpointIds"] = list(map(str, event.body["hitBreakpointIds"]))
            if event.event == "stopped" and event.body["reason"] == "end":
                event.body.update(reason="pause", description="end")
            return super().handle_event(event)

    client = dap.Client("tilevm", client_name="test")
    client.handler = Handler(client)
    return client


class Session:
    """An adapter, and the client that talks to it."""

    def __init__(self, dap, command, **options):
        self.types = dap
        self.adapter = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        self.client = client_of(dap)
        self.come, self.ended = [], False
        os.set_blocking(self.adapter.stdout.fileno(), False)

    def pump(self):
        self.adapter.stdin.write(self.client.send())
        self.adapter.stdin.flush()
        data = self.adapter.stdout.read()
        if data == b"":
            self.ended = True
        elif data:
            self.come += self.client.receive(data)

    def wait(self, kind, fits=lambda body: True):
        """The first message of that type that fits, which is then forgotten with those before it; None: it does not come."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            for i, body in enumerate(self.come):
                if type(body).__name__ == kind and fits(body):
                    del self.come[:i + 1]
                    return body
            if self.ended:
                return None
            self.pump()
            time.sleep(0.002)
        return None

    def close(self):
        self.client.disconnect()
        self.wait("Disconnected")
        self.adapter.stdin.close()
        code = self.adapter.wait(PATIENCE_S)
        self.adapter.stdout.close()
        return code


def is_end(stop):
    return stop.description == "end"


def source(dap, path):
    return dap.types.Source(path=path, name=os.path.basename(path)).model_dump(exclude_none=True)


def breakpoint_at(dap, line, condition=None):
    return dap.types.SourceBreakpoint(line=line, condition=condition).model_dump(exclude_none=True)


def variables_of(s, thread):
    """The variables of the first scope of the top frame."""
    s.client.stack_trace(thread)
    frame = s.wait("StackTraceResponse").stackFrames[0]
    s.client.scopes(frame.id)
    scope = s.wait("ScopesResponse").scopes[0]
    s.client.variables(scope.variablesReference)
    return frame, s.wait("VariablesResponse").variables


def test_kernel(counts, dap, tilevm, work):
    """The kernel of product.py: a breakpoint with a condition, variables, steps on and back, the end."""
    kernel = os.path.join(work, "product.tbc")
    subprocess.run([tilevm, "asm", os.path.join(KERNELS, "product.tileir"), "-o", kernel], check=True)
    s = Session(dap, [tilevm, "debug", "--dap"])
    able = s.wait("Initialized")
    counts.check("capabilities", able is not None and able.supportsStepBack and able.supportsConfigurationDoneRequest, able)
    s.client.send_request("launch", {"program": kernel, "grid": [2, 2], "source": KERNELS, "stopOnEntry": True})
    counts.check("launched", s.wait("InitializedEvent") is not None and s.wait("LaunchDone") is not None)
    s.client.set_breakpoints(source(dap, os.path.join(KERNELS, "product.py")),
                             [breakpoint_at(dap, 13, "bid == (1, 0, 0) and %loopIdx == 3")])
    answer = s.wait("SetBreakpointsResponse")
    counts.check("breakpoints", [b.verified for b in answer.breakpoints] == [True], answer)
    s.client.configuration_done()
    s.wait("ConfigurationDone")
    counts.check("the entry", s.wait("StoppedEvent").reason == "entry")
    s.client.continue_(1)
    stop = s.wait("StoppedEvent")
    counts.check("the breakpoint", stop.reason == "breakpoint" and stop.hitBreakpointIds == [str(answer.breakpoints[0].id)], stop)
    s.client.threads()
    threads = s.wait("ThreadsResponse").threads
    counts.check("tile blocks are threads", any(t.id == stop.threadId and "(1, 0, 0)" in t.name for t in threads), threads)
    frame, variables = variables_of(s, stop.threadId)
    counts.check("the line", frame.line == 13 and frame.source.path.endswith("product.py"), frame)
    counts.check("a tile", any("iterArg" in v.name and v.variablesReference for v in variables), variables)
    s.client.evaluate("%loopIdx", frame_id=frame.id, context="hover")
    counts.check("an expression", s.wait("EvaluateResponse").result == "3")
    s.client.step_back(stop.threadId)
    counts.check("a step back", s.wait("StoppedEvent").reason == "step")
    s.client.continue_(stop.threadId)
    s.wait("StoppedEvent")
    s.client.continue_(stop.threadId)
    counts.check("the end", s.wait("StoppedEvent", is_end) is not None)
    counts.check("the exit code", s.close() == 0)


def test_program(counts, dap, tilevm, work):
    """A Python program with two launches: both stop at the breakpoint in the kernel's Python file."""
    path = os.path.join(work, "program.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    s = Session(dap, [sys.executable, "-m", "tilevm.cutile", "--dap", path], env=dict(os.environ, TILEVM_COMMAND=tilevm))
    able = s.wait("Initialized")
    counts.check("capabilities of a program", able is not None and able.supportsStepBack, able)
    s.client.send_request("launch", {})
    counts.check("a program is launched", s.wait("InitializedEvent") is not None)
    s.client.set_breakpoints(source(dap, path), [breakpoint_at(dap, LINE, "bid == (1, 0, 0)")])
    early = s.wait("SetBreakpointsResponse").breakpoints[0]
    counts.check("a breakpoint before there is a kernel", not early.verified and early.id, early)
    s.client.configuration_done()
    for launch in range(2):
        changed = s.wait("BreakpointEvent")
        counts.check("is verified at the launch", changed is not None and changed.breakpoint.verified
                     and changed.breakpoint.id == early.id and changed.breakpoint.line == LINE, changed)
        stop = s.wait("StoppedEvent")
        counts.check("stops", stop is not None and stop.reason == "breakpoint" and stop.hitBreakpointIds == [str(early.id)], stop)
        frame, _ = variables_of(s, stop.threadId)
        counts.check("at its line", frame.line == LINE and frame.source.path == path, frame)
        s.client.evaluate("x[7]", frame_id=frame.id, context="watch")
        value = s.wait("EvaluateResponse")
        counts.check("arrays have the parameters' names, and what they held", value and float(value.result) == 7 + launch, value)
        s.client.continue_(stop.threadId)
        counts.check("the kernel ends", is_end(s.wait("StoppedEvent")))
        s.client.step_back(stop.threadId)
        counts.check("and goes back", s.wait("StoppedEvent").reason == "step")
        for _ in range(2):  # to the end again, and on to the program
            s.client.continue_(stop.threadId)
            s.wait("Continued")
            if _ == 0:
                s.wait("StoppedEvent")
        told = s.wait("OutputEvent", lambda body: body.category == "stdout")
        counts.check("the program goes on", told is not None and told.output == f"launch {launch} {14.0 + 2 * launch}\n", told)
    counts.check("its exit code is told", getattr(s.wait("ExitedEvent"), "exitCode", None) == 3)
    counts.check("it has ended", s.wait("TerminatedEvent") is not None)
    s.close()


def main():
    tilevm, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    if importlib.util.find_spec("dap") is None:
        print("dap client: skipped, dap-python is not installed")
        return 0
    import dap
    import dap.handler
    os.makedirs(work, exist_ok=True)
    counts = Counts()
    test_kernel(counts, dap, tilevm, work)
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("numpy") is None:
        print("dap client: skipped, cuda-tile or numpy is not installed: python -m tilevm.cutile --dap")
    else:
        test_program(counts, dap, tilevm, work)
    print(f"dap client: {counts.passed} passed, {counts.failed} failed")
    return counts.failed != 0


if __name__ == "__main__":
    sys.exit(main())
