"""cuTile Python on the virtual machine: scripts and pytest runs of their own, as users start them."""

import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import tilevm._gpus

HAS = {name: importlib.util.find_spec(name) is not None for name in ("numpy", "torch", "pytest", "ml_dtypes")}
try:
    HAS["cuda.tile"] = importlib.util.find_spec("cuda.tile") is not None
except ModuleNotFoundError:
    HAS["cuda.tile"] = False

HEAD = """
import numpy as np
import cuda.tile as ct

@ct.kernel
def vadd(x, y, out, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (T,)) + ct.load(y, (i,), (T,)))

@ct.kernel
def total(x, out, T: ct.Constant[int]):
    s = ct.load(out, (0,), (1,))
    ct.store(out, (0,), s + ct.sum(ct.load(x, (ct.bid(0),), (T,))))

x = np.arange(1000, dtype=np.float32)
out = np.zeros_like(x)
"""

WORKS = HEAD + """
from cuda.tile._cext import get_compute_capability
ct.launch(0, (4,), vadd, (x, x * 2, out, 256))
assert (out == x * 3).all()
both = np.zeros((2, 1000), np.float32)
ct.launch(0, (4,), vadd, (both[1], x, both[0], 256))
assert (both[0] == x).all()

@ct.kernel
def first(arrays, out):
    ct.store(out, (0,), ct.load(arrays[0], (0,), (16,)) + ct.load(arrays[1], (0,), (16,)))

z = np.zeros(16, np.float32)
ct.launch(0, (1,), first, ([x, x], z))
assert (z == 2 * x[:16]).all()

@ct.kernel
def sum_of(pairs, out):
    left, right = pairs[0]
    ct.store(out, (0,), ct.load(left, (0,), (16,)) + ct.load(right, (0,), (16,)))

ct.launch(0, (1,), sum_of, (((x, z.copy()),), z))
assert (z == 3 * x[:16]).all()
print(get_compute_capability())
"""

COMPILED_ONCE = HEAD + """
import cuda.tile._compile as client
calls, compile_cubin = [], client.compile_cubin
client.compile_cubin = lambda *args, **options: calls.append(1) or compile_cubin(*args, **options)
for _ in range(3):
    ct.launch(0, (4,), vadd, (x, x, out, 256))
print(len(calls))
"""

RACE = HEAD + """
total_of = np.zeros(16, np.float32)
try:
    ct.launch(0, (4,), total, (x, total_of, 256))
    print("no race")
except ct_error as error:
    print(error.diagnostics[0].rule, error.diagnostics[0].location)
"""

READ_ONLY = HEAD + """
out.flags.writeable = False
ct.launch(0, (4,), vadd, (x, x, out, 256))
"""

WITHOUT_MEMORY = HEAD + """
import sys, torch
from torch._subclasses.fake_tensor import FakeTensorMode

class MadeUp:
    __cuda_array_interface__ = dict(typestr="<f4", shape=(1000,), data=(0, False), version=3)

class Negative:
    __cuda_array_interface__ = dict(typestr="<f4", shape=(-1,), data=(out.ctypes.data, False), version=3)

class ByDlpack:
    def __init__(self):
        import tilevm.dlpack
        self.lent = tilevm.dlpack.Lent(out)
        self.lent._tensor.data = None
        self.__dlpack__, self.__dlpack_device__ = self.lent.__dlpack__, self.lent.__dlpack_device__

meta, resized, smaller = torch.zeros(1000, device="meta"), torch.zeros(1000), torch.zeros(1000)
resized.untyped_storage().resize_(0)
smaller.untyped_storage().resize_(3996)
with FakeTensorMode():
    fake = torch.zeros(1000, device="cuda")
for bad in (meta, fake, resized, smaller, torch.eye(1000).to_sparse(), MadeUp(), Negative(), ByDlpack()):
    try:
        ct.launch(0, (4,), vadd, (x, x, bad, 256))
    except (ValueError, RuntimeError) as error:
        print(str(error).splitlines()[0])
ct.launch(0, (1,), vadd, (x, x, torch.zeros(0), 256))
ct.launch(0, (4,), vadd, (x, x, out, 256))
assert (out == 2 * x).all()
"""

MULTIPROCESSORS = HEAD + """
import subprocess, sys
from tilevm.cutile import _driver
try:
    import torch
    seen = torch.cuda.get_device_properties("cuda").multi_processor_count
except ImportError:
    seen = _driver.options.multiprocessor_count
grid = min(seen, 4)                     # of a program whose tile blocks share the work
ct.launch(0, (grid,), vadd, (x, x, out, 256))
assert out[:256].any()
print(seen, _driver.attributes()[16])
"""

STOPPED = HEAD + """
import os, signal, threading

@ct.kernel
def spin(x):
    while ct.gather(x, 0) == 0:
        ct.atomic_add(x, 1, 1)

def stop(*_):
    raise TimeoutError

signal.signal(signal.SIGUSR1, stop)
for i in range(2):
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    try:
        ct.launch(0, (2,), spin, (np.zeros(16, np.int32),))
    except TimeoutError:
        print("stopped")
"""

TORCH = HEAD + """
import subprocess, sys, torch
device = torch.device("cuda")
a = torch.randn(1000, device="cuda")
b = torch.zeros(1000, device=device)
c = torch.empty_like(a, device="cuda:0").fill_(7)
stream = torch.cuda.current_stream()
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
ct.launch(stream, (4,), vadd, (a, b, c, 256))
end.record()
torch.cuda.synchronize()
assert torch.equal(a, c) and start.elapsed_time(end) > 0 and a.is_cuda and torch.cuda.is_available()
assert torch.cuda.get_device_capability() == (9, 0)
assert np.from_dlpack(c)[0] == c[0]  # to others than the client it is on the CPU

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    d = a * 2
    ct.launch(torch.cuda.current_stream(), (4,), vadd, (d, d, c, 256))
assert torch.equal(a, c)            # captured, not run
a.fill_(1)
graph.replay()
assert (c == 4).all()

half = torch.ones(64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
ct.launch(stream, (1,), vadd, (half, half, torch.zeros_like(half), 64))
if len(sys.argv) == 1:              # a program that this one starts
    subprocess.run([sys.executable, __file__, "child"], check=True)
print("fine")
"""

DEBUGGED = HEAD + """
import sys
for n in range(2):
    ct.launch(0, (4,), vadd, (x, x * 2, out, 256))
    x += 1
print(out[0] - 2, out[1] - 3)
sys.exit(3)
"""

TESTS = HEAD + """
def test_sum():
    ct.launch(0, (4,), vadd, (x, x, out, 256))
    assert (out == 2 * x).all()

def test_race():
    ct.launch(0, (4,), total, (x, np.zeros(16, np.float32), 256))
"""


TUNE = HEAD + """
import cuda.tile.tune
best = ct.tune.exhaustive_search([3, 64, 128], 0, lambda t: (ct.cdiv(1000, t),), vadd, lambda t: (x, x, out, t), quiet=True)
print(best.best.config, len(best.successes), [f[0] for f in best.failures])
"""

CAPTURED = HEAD + """
wide = np.arange(64, dtype=np.float32).reshape(4, 16)[:, :8]

@ct.kernel
def twice(arrays, pair, flat, scale: float, T: ct.Constant[int]):
    s = ct.load(arrays[0], (0, 0), (4, 8)) + ct.load(arrays[1], (0, 0), (4, 8))
    ct.store(pair[0], (0, 0), s * scale)
    ct.store(flat, (0,), ct.load(pair[1], (0,), (T,)))

ct.launch(0, (4,), vadd, (x, x, out, 256))
ct.launch(0, (1,), twice, ([wide, wide + 1], (np.zeros((4, 8), np.float32), x), out, 2.5, 16))
"""

SHARED = HEAD + """
@ct.kernel
def shift(a, b, T: ct.Constant[int]):
    ct.store(b, (0,), ct.load(a, (0,), (T,)) + 1)

@ct.kernel
def both(xs, y, T: ct.Constant[int]):
    ct.store(y, (0,), ct.load(xs[0], (0,), (T,)) + ct.load(xs[1], (0,), (T,)))

m = np.arange(64, dtype=np.float32)
ct.launch(0, (1,), shift, (m, m, 64))
ct.launch(0, (1,), shift, (m[17:33], m[16:], 16))
ct.launch(0, (1,), both, ([m[:32], m[16:32]], m[:32], 16))
ct.launch(0, (1,), shift, (m.view(np.int32)[8:24], m[:32], 16))
ct.launch(0, (1,), shift, (m[0::2], m[1::2], 32))
ct.launch(0, (1,), shift, (m[0:16], m[8:24], 16))
"""

LONG = HEAD + """
@ct.kernel
def slow(x):
    n = 0
    while n < 300_000_000:
        n += 1
    ct.scatter(x, 0, n)

import tilevm.cutile._driver as driver
driver._Progress.__call__.__globals__["time"] = type("Clock", (), {"monotonic": staticmethod(
    lambda seen=[0]: seen.__setitem__(0, seen[0] + 20) or seen[0])})
y = np.zeros(16, np.int32)
ct.launch(0, (1,), slow, (y,))
"""

ASKED = HEAD + """
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
cuda = torch.cuda
assert cuda.mem_get_info()[1] == cuda.get_device_properties(0).total_memory and not cuda.memory_reserved()
assert cuda.memory_stats()["allocated_bytes.all.current"] == 0 and cuda.get_arch_list() == ["sm_90"]
cuda.manual_seed(3)
state = cuda.get_rng_state()
a = torch.randn(4, device="cuda")
cuda.set_rng_state(state)
assert torch.equal(a, torch.randn(4, device="cuda"))
assert torch.compile(lambda v: v * 2)(a).equal(a * 2)
assert torch.compile(mode="max-autotune")(lambda v: v * 2)(a).equal(a * 2)
q = torch.randn(1, 1, 4, 8, device="cuda")
with sdpa_kernel(SDPBackend.FLASH_ATTENTION), torch.autocast("cuda", dtype=torch.bfloat16), cuda.nvtx.range("x"):
    torch.nn.functional.scaled_dot_product_attention(q, q, q)
    assert (q @ q.mT).dtype == torch.bfloat16
ones, filled, empty = torch.ones(256, device="cuda"), torch.empty(256, device="cuda").fill_(2), torch.empty(256, device="cuda")
result = torch.empty_like(ones)
ct.launch(cuda.current_stream(), (1,), vadd, (ones, filled, result, 256))
ct.launch(cuda.current_stream(), (1,), vadd, (ones, result, filled, 256))  # written by a kernel
assert (filled == 4).all()
print("so far")
ct.launch(cuda.current_stream(), (1,), vadd, (ones, empty, result, 256))
print("read")
"""

SUPPRESSED = """
[[suppress]]
rule = "X-RAC-01"
kernel = "tot*"
file = "test_it.py"
reason = "the sum is only an estimate"

[[suppress]]
rule = "X-RAC-02"
reason = "of another kernel"
"""


@unittest.skipUnless(HAS["numpy"] and HAS["cuda.tile"], "numpy or cuda-tile is not installed")
class CuTile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.environment = {**os.environ, "CUDA_TILE_CACHE_DIR": str(self.folder / "cache")}

    def python(self, text, *options, module="tilevm.cutile", name="script.py", status=0):
        script = self.folder / name
        script.write_text(text.replace("ct_error", "RuntimeError"))
        result = subprocess.run([sys.executable, "-m", module, *options, name], cwd=self.folder, env=self.environment,
                                capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def test_works(self):
        self.assertEqual(self.python(WORKS, "--tile-arch", "sm_90"), "(9, 0)\n")
        self.assertEqual(self.python(WORKS, "--tile-check"), "(10, 0)\n")

    def test_compiled_once(self):
        self.assertEqual(self.python(COMPILED_ONCE), "1\n")
        self.assertEqual(self.python(COMPILED_ONCE), "0\n")  # from the client's cache on disk

    def test_checks(self):
        self.assertEqual(self.python(RACE), "no race\n")
        self.assertRegex(self.python(RACE, "--tile-check"), r"X-RAC-01 script.py:12\b")

    def test_errors(self):
        said = self.python(READ_ONLY, status=1)
        self.assertRegex(said, r"tilevm.cutile.KernelError: script.py:8:.*X-MEM-02.*'out', which may only be read")

    def test_options(self):
        """Invalid options are reported in one line, before the script runs."""
        known = "known are sm_80, sm_86, .*, sm_121"
        for words, *options in (
            ("there is no check 'x'; there are all, bounds, .*", "--tile-checks", "x"),
            ("architecture 'x' is not of the form 'sm_90'", "--tile-arch", "x"),
            (f"sm_77 is no known target; {known}", "--tile-arch", "sm_77"),
            ("65536 is not a number of multiprocessors from 1 to 65535", "--tile-multiprocessors", "65536"),
        ):
            with self.subTest(options):
                said = self.python(WORKS, *options, status=2)
                self.assertRegex(said, f"^python -m tilevm.cutile: {words}\n$")
        self.environment["TILEVM_MULTIPROCESSORS"] = "many"
        self.assertIn("'many' is not a number", self.python(WORKS, status=2))

    def test_script_that_cannot_be_read(self):
        for name, words in (("nowhere.py", "'nowhere.py': No such file or directory"),
                            (".", "'__main__.py': No such file or directory")):
            result = subprocess.run([sys.executable, "-m", "tilevm.cutile", name], cwd=self.folder, capture_output=True,
                                    text=True, env=self.environment, timeout=300)
            self.assertEqual((result.returncode, result.stderr), (2, f"python -m tilevm.cutile: cannot open {words}\n"))

    def test_multiprocessors(self):
        """As many as the largest model of the table has; the option counts more than the variable."""
        for arch, count in (("sm_80", 108), ("sm_89", 142), ("sm_90", 132), ("sm_90a", 132), ("sm_100", 148),
                            ("sm_103", 148), ("sm_120", 188)):
            with self.subTest(arch):
                self.assertEqual(tilevm._gpus.multiprocessors(int(arch[3:].rstrip("a"))), count)
        self.assertEqual(self.python(MULTIPROCESSORS, "--tile-arch", "sm_90a"), "132 132\n")
        self.environment["TILEVM_MULTIPROCESSORS"] = "7"
        self.assertEqual(self.python(MULTIPROCESSORS), "7 7\n")
        self.assertEqual(self.python(MULTIPROCESSORS, "--tile-multiprocessors", "9"), "9 9\n")

    def test_traceback(self):
        """It ends at the kernel's line, and nothing of tilevm stands in between."""
        said = self.python(RACE.replace("try:", "if True:").split("except")[0], "--tile-check", status=1)
        files = [line.split(",")[0].strip() for line in said.splitlines() if line.lstrip().startswith("File ")]
        self.assertEqual(files, ['File "script.py"'] * 2)
        self.assertIn("line 12, in total\n    s = ct.load(out, (0,), (1,))\n", said)
        self.assertNotIn("token", said)
        self.assertNotIn("load_view", said)

    def test_module_and_text(self):
        (self.folder / "program.py").write_text("import sys; print(sys.argv[1:], __name__)")
        for options in (("-m", "program", "a", "-x"), ("-c", "import sys; print(sys.argv[1:], __name__)", "a", "-x")):
            said = subprocess.run([sys.executable, "-m", "tilevm.cutile", *options], cwd=self.folder, text=True,
                                  env=self.environment, capture_output=True, timeout=300)
            self.assertEqual(said.stdout, "['a', '-x'] __main__\n", said.stderr)
        said = subprocess.run([sys.executable, "-m", "tilevm.cutile", "-c", WORKS], cwd=self.folder, text=True,
                              env=self.environment, capture_output=True, timeout=300)
        self.assertEqual(said.stdout, "(10, 0)\n", said.stderr)

    def test_tune(self):
        self.assertEqual(self.python(TUNE, "--tile-tune", "first"), "64 1 [3]\n")
        self.assertEqual(self.python(TUNE, "--tile-tune", "all"), "64 2 [3]\n")

    def test_capture(self):
        """What is written runs, and gives what the launch gave."""
        self.python(CAPTURED, "--tile-capture", "all")
        folders = sorted(p.name for p in (self.folder / "all").iterdir())
        self.assertEqual(folders, ["0001-vadd", "0002-twice"])
        tools = Path(os.environ["TILEVM_LIBRARY"]).parent
        environment = {**self.environment, "PATH": f"{tools}:{os.environ['PATH']}"}
        for folder in folders:
            for what, words in (("run", ""), ("check", "nothing found"), ("test", "1 test: 1 passed")):
                with self.subTest(folder + " " + what):
                    result = subprocess.run(["sh", self.folder / "all" / folder / "run.sh", what], capture_output=True,
                                            text=True, env=environment, timeout=300)
                    options = ("--check", "races,bounds,tokens") if what == "check" else ()
                    if options:
                        result = subprocess.run(["sh", self.folder / "all" / folder / "run.sh", what, *options],
                                                capture_output=True, text=True, env=environment, timeout=300)
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                    self.assertIn(words, result.stdout)
        said = self.python(CAPTURED, "--tile-capture", "script.py", status=2)
        self.assertIn("cannot make the folder 'script.py'", said)

    def test_dap(self):
        """An editor stops in the second of two launches, sees what its arrays held, and the program goes on."""
        from tilevm.cutile._debug import Wire
        script = self.folder / "script.py"
        script.write_text(DEBUGGED)
        tilevm = Path(os.environ["TILEVM_LIBRARY"]).parent / "tilevm"
        with subprocess.Popen([sys.executable, "-m", "tilevm.cutile", "--dap", script], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, env={**self.environment, "TILEVM_COMMAND": str(tilevm)}) as adapter:
            wire = Wire(adapter.stdout, adapter.stdin)

            def until(kind, name):
                while (message := wire.read()) is not None:
                    if message.get(kind) == name:
                        return message.get("body")
                self.fail(f"{name} does not come")

            def ask(name, **arguments):
                wire.send(type="request", command=name, arguments=arguments)
                return until("command", name)

            self.assertTrue(ask("initialize", adapterID="tilevm")["supportsStepBack"])
            ask("launch")
            line = 1 + DEBUGGED[:DEBUGGED.index("ct.store")].count("\n")
            early = ask("setBreakpoints", source={"path": str(script)},
                        breakpoints=[{"line": line, "condition": "bid == (3, 0, 0) and x[0] == 1"}])["breakpoints"][0]
            self.assertFalse(early["verified"])
            self.assertEqual(ask("threads")["threads"], [{"id": 1, "name": "Python"}])
            ask("configurationDone")
            changed = until("event", "breakpoint")["breakpoint"]
            self.assertEqual((changed["id"], changed["verified"]), (early["id"], True))
            stop = until("event", "stopped")
            self.assertEqual((stop["reason"], stop["hitBreakpointIds"]), ("breakpoint", [early["id"]]))
            self.assertEqual(ask("evaluate", expression="x[0]", context="watch")["result"], "1")
            self.assertEqual(ask("stackTrace", threadId=stop["threadId"])["stackFrames"][0]["line"], line)
            ask("continue", threadId=stop["threadId"])
            self.assertEqual(until("event", "stopped")["reason"], "end")
            ask("continue", threadId=stop["threadId"])
            self.assertEqual(until("event", "output")["output"], "1.0 3.0\n")
            self.assertEqual(until("event", "exited")["exitCode"], 3)
            ask("disconnect")
        said = self.python(DEBUGGED, "--dap", "--tile-capture", "all", status=2)
        self.assertIn("--dap and --tile-capture exclude each other", said)

    def test_capture_of_shared_memory(self):
        """Arguments share memory that changes again where one of them holds all of it; else the script says so."""
        said = self.python(SHARED, "--tile-capture", "all")
        self.assertRegex(said, r"in 1 launch arguments share memory and do not when repeated; .*: all/0006-shift\n")
        tools = Path(os.environ["TILEVM_LIBRARY"]).parent
        environment = {**self.environment, "PATH": f"{tools}:{os.environ['PATH']}"}
        for folder, args in (("0001-shift", {"a": "a.npy", "b": "@a(f32, [64])"}),
                             ("0002-shift", {"a": "@b(f32, [16], offset=1)", "b": "b.npy"}),
                             ("0003-both", {"xs": "[xs.0.npy, @xs[0](f32, [16], offset=16)]", "y": "@xs[0](f32, [32])"}),
                             ("0004-shift", {"a": "@b(i32, [16], offset=8)", "b": "b.npy"}),
                             ("0005-shift", {"a": "file(a.npy, strides=[2])", "b": "file(b.npy, strides=[2])"}),
                             ("0006-shift", {"a": "a.npy", "b": "b.npy"})):
            with self.subTest(folder):
                file = json.loads((self.folder / "all" / folder / "k.args.json").read_text())
                self.assertEqual(file["args"], args)
                self.assertEqual(file.get("allow_sharing", False), "@" in str(args))
                self.assertEqual(bool(file["expect"]), folder != "0006-shift")
                result = subprocess.run(["sh", self.folder / "all" / folder / "run.sh", "test"], capture_output=True,
                                        text=True, env=environment, timeout=300)
                self.assertIn("1 test: 1 passed", result.stdout)
                note = "run.sh: note: a, b share memory in the launch and do not here: none of them has all of it\n"
                self.assertEqual(result.stderr, note if folder == "0006-shift" else "")

    def test_progress(self):
        self.assertIn("slow: 0 of 1 tile blocks, ", self.python(LONG, "--tile-progress"))

    def test_suppressions(self):
        """Findings that are meant to be, with a reason; the others are told to GitHub and as SARIF."""
        options = ("-q", "-p", "tilevm.cutile", "-p", "no:cacheprovider", "--tile-check")
        if not HAS["pytest"]:
            self.skipTest("pytest is not installed")
        self.environment["GITHUB_ACTIONS"] = "true"
        said = self.python(TESTS, *options, module="pytest", name="test_it.py", status=1)
        self.assertRegex(said, r"(?m)^::error file=test_it.py,line=12,title=X-RAC-01::tile block .*%0Ahelp: ")
        (self.folder / "tilevm.toml").write_text(SUPPRESSED)
        said = self.python(TESTS, *options, "--tile-report", "all.sarif", module="pytest", name="test_it.py")
        self.assertIn("tilevm.toml: 2 findings suppressed", said)
        self.assertIn("tilevm.toml: no finding was suppressed by rule = 'X-RAC-02'", said)
        run = json.loads((self.folder / "all.sarif").read_text())["runs"][0]
        for result in run["results"]:
            self.assertEqual(result["suppressions"][0]["justification"], "the sum is only an estimate")
            self.assertEqual(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "test_it.py")
        self.assertEqual(len(run["results"]), 2)
        self.assertEqual(len(run["invocations"][0]["toolConfigurationNotifications"]), 1)

    def test_bad_suppressions(self):
        entry = '[[suppress]]\nrule = "X-RAC-01"\nreason = "r"\n'
        for text, words in (
            ("[[suppress", "tilevm.toml: "), ("[tool]\n", "'tool' is not known"), ("suppress = 5", "not a list"),
            ("suppress = [5]", "suppress 1: not a table"), (entry + "what = 1", "'what' is not known"),
            (entry.replace('"r"', '" "'), "a reason is missing"), (entry.replace("X-RAC-01", "all"), "the rule is missing"),
            (entry + "line = 3", "a line is a number from 1 on, of a file"), (entry + "kernel = 3", "'kernel' is not a text"),
            (entry + 'file = "' + "x" * 1001 + '"', "'file' is not a text of 1 to 1000"), (entry * 1001, "at most 1000 tables"),
            ("#" * (1 << 20) + "x", "larger than 1048576 bytes"), ("x = " + "[" * 5000, "tilevm.toml: "), ("\xff", "tilevm.toml: "),
        ):
            with self.subTest(words):
                (self.folder / "tilevm.toml").write_bytes(text.encode("latin1"))
                said = self.python(WORKS, "--tile-check", status=2)
                self.assertTrue(said.startswith("python -m tilevm.cutile: tilevm.toml: ") and words in said, said)
                self.assertEqual(said.count("\n"), 1)
        self.assertIn("cannot open 'nowhere.toml'", self.python(WORKS, "--tile-config", "nowhere.toml", status=2))

    def test_damaged_suppressions(self):
        """Bytes that have changed give suppressions or an error, and nothing else."""
        from tilevm.cutile._findings import read_config
        from tilevm.diagnostics import UsageError
        source, path, refused = SUPPRESSED.encode(), self.folder / "t.toml", 0
        draw = random.Random(1)
        for _ in range(400):
            damaged = bytearray(source)
            for _ in range(draw.randint(1, 4)):
                damaged[draw.randrange(len(damaged))] = draw.choice(b'[]"=\n\\x\0\xff09{}.')
            path.write_bytes(damaged)
            try:
                self.assertTrue(all(s.reason.strip() for s in read_config(path)))
            except UsageError:
                refused += 1
        self.assertGreater(refused, 100)

    @unittest.skipUnless(HAS["torch"], "torch is not installed")
    def test_asked_of_torch(self):
        self.assertIn("read", self.python(ASKED, "--tile-arch", "sm_90"))
        said = self.python(ASKED, "--tile-arch", "sm_90", "--tile-checks", "uninit", status=1)
        self.assertIn("so far", said)
        self.assertRegex(said, r"X-INI-01\]: .*reads element \[0\] of 'y', f32\[256\], which nothing has written")

    def test_stopped(self):
        self.assertEqual(self.python(STOPPED), "stopped\nstopped\n")

    @unittest.skipUnless(HAS["torch"], "torch is not installed")
    def test_torch(self):
        self.assertEqual(self.python(TORCH, "--tile-arch", "sm_90"), "fine\nfine\n")

    @unittest.skipUnless(HAS["torch"], "torch is not installed")
    def test_without_memory(self):
        said = self.python(WITHOUT_MEMORY).splitlines()
        start = "argument 'out' of vadd: "
        for line, words in zip(said, ("on the device 'meta'", "FakeTensorMode", "storage, which has 0:", "which has 3996:",
                                      "torch.sparse_coo", "MadeUp has elements but no memory",
                                      "Negative does not describe an array", "'out' has no memory: its 4000 bytes"),
                               strict=True):
            self.assertIn(words, line)
            self.assertTrue(line.startswith(start) or "buffer 'out'" in line, line)

    @unittest.skipUnless(HAS["pytest"], "pytest is not installed")
    def test_plugin(self):
        options = ("-q", "-p", "tilevm.cutile", "-p", "no:cacheprovider")
        self.assertIn("2 passed", self.python(TESTS, *options, module="pytest", name="test_it.py"))
        said = self.python(TESTS, *options, "--tile-check", module="pytest", name="test_it.py", status=1)
        self.assertIn("1 failed, 1 passed", said)
        self.assertIn("test_it.py:12", said)


if __name__ == "__main__":
    unittest.main()
