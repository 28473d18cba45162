"""A CUDA driver that runs kernels on the virtual machine.

cuTile Python's own launch code does everything up to the driver: arguments, signatures, specialization, its caches. It
asks cuda.tile._load_libcuda for cuGetProcAddress, and every other function of the driver through that. This module is a
stand-in for that one: a table of functions, for one device whose memory is the host's. Launches are done when they
return, so streams and events have nothing to do.

An "image" is what cuLibraryLoadData takes here: bytecode behind a header with its length.
"""

import ctypes
import itertools
import struct
import sys
import threading
import time
import types
import weakref
from ctypes import (CFUNCTYPE, POINTER, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_uint32, c_uint64,
                    c_ulonglong, c_void_p)
from dataclasses import dataclass, field
from typing import Any, Callable

from tilevm import _gpus
from tilevm.arrays import span
from tilevm.cutile._findings import in_python, session
from tilevm.diagnostics import Error, InvalidError
from tilevm.module import Kernel, Machine, Module

# CUresult
SUCCESS, INVALID_VALUE, INVALID_IMAGE, NOT_FOUND, LAUNCH_FAILED, NOT_SUPPORTED = 0, 1, 200, 500, 719, 801

DRIVER_VERSION = 13010
CONTEXT = 1

_IMAGE = struct.Struct("<8sQ")
_MAGIC = b"tilevmVM"


def image_of(bytecode: bytes) -> bytes:
    return _IMAGE.pack(_MAGIC, len(bytecode)) + bytecode


def check_image(image: bytes) -> None:
    """The client hands over where an image begins, not where it ends: it may come from a damaged cache."""
    if image.startswith(_MAGIC) and (len(image) < _IMAGE.size or _IMAGE.unpack_from(image)[1] != len(image) - _IMAGE.size):
        raise Error("a compiled kernel in cuTile's cache is damaged: remove the cache, as `cutile-cache` says how")


@dataclass
class Options:
    """How kernels are run."""

    arch: str = "sm_100"  # what the device is said to be
    checks: int = 0
    threads: int = 0
    memory_limit: int = 0
    multiprocessors: int = 0  # that the device is said to have; 0: as many as the largest model of arch
    progress: bool = False  # tell of launches that take long

    @property
    def capability(self) -> tuple[int, int]:
        digits = self.arch.removeprefix("sm_").rstrip("af")
        return int(digits[:-1]), int(digits[-1])

    @property
    def multiprocessor_count(self) -> int:
        major, minor = self.capability
        return self.multiprocessors or _gpus.multiprocessors(10 * major + minor)


options = Options()


def attributes() -> dict[int, int]:
    """CUdevice_attribute: value. What is not here is 0."""
    major, minor = options.capability
    return {
        1: 1024, 2: 1024, 3: 1024, 4: 64,  # threads of a block, and along x, y, z
        5: 2**31 - 1, 6: 65535, 7: 65535,  # grid
        10: 32, 16: options.multiprocessor_count, 38: 1 << 20,  # warp, multiprocessors, bytes of L2
        75: major, 76: minor, 97: 227 << 10,  # capability, shared memory of a block
    }


class LaunchConfig(ctypes.Structure):
    """The head of CUlaunchConfig."""

    _fields_ = [("grid", c_uint32 * 3), ("block", c_uint32 * 3), ("shared", c_uint32), ("stream", c_void_p)]


class KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS."""

    _fields_ = [("function", c_void_p), ("grid", c_uint32 * 3), ("block", c_uint32 * 3), ("shared", c_uint32),
                ("params", c_void_p), ("extra", c_void_p), ("kernel", c_void_p), ("context", c_void_p)]


# ---- what there is ----

@dataclass
class Library:
    module: Module
    kernels: dict[bytes, int] = field(default_factory=dict)


_handles = itertools.count(16)
_libraries: dict[int, Library] = {}
_kernels: dict[int, Machine] = {}
_memory: dict[int, Any] = {}
_events: dict[int, float] = {}  # when they were recorded
_graphs: dict[int, list[Callable[[], Any]]] = {}
_MOST = 1024  # events and graphs that are remembered: the client is done with one of its own when a call returns
#: symbol of a kernel: its parameters' names
parameter_names: dict[str, tuple[str, ...]] = {}
#: symbol of a kernel: the name of its function
kernel_names: dict[str, str] = {}
#: which arrays of a launch have no values yet; torch's stand-in replaces it
is_undefined: "list[Callable[[int, int], bool]]" = []
_said = threading.local()  # error: the exception behind the last failure of the thread; text: its words, for C

#: what a launch sees before it runs; the capture of graphs replaces it
hooks: dict[str, Callable[..., bool]] = {}


class Launching(threading.local):
    """The call of the client that this thread is in."""

    arrays: "list[Any] | None" = None  # that were given; None: it is in none
    read_only: "set[int]" = set()  # addresses of those that may not be written
    owner: Callable[[], Any] = staticmethod(lambda: None)  # a weak reference to the kernel that was compiled last
    ran: "tuple[Kernel, tuple[int, ...]] | None" = None  # the kernel that ran last, and its grid


launching = Launching()


def take_error() -> BaseException | None:
    """The exception behind the last failure of this thread, once."""
    error: BaseException | None = getattr(_said, "error", None)
    _said.error = None
    return error


def _fail(code: int, error: BaseException) -> int:
    _said.error = error
    _said.code, _said.text = code, ctypes.create_string_buffer(str(error).encode())
    return code


def _handle(table: dict[int, Any], value: Any) -> int:
    handle = next(_handles) * 16
    table[handle] = value
    return handle


# ---- the functions ----

_P = c_void_p
_OUT = POINTER(c_void_p)
_INT = POINTER(c_int)
_functions: dict[bytes, Any] = {}


def _cu(*arguments: Any) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Enters a function in the table under its name. It returns a CUresult, None for success; what it raises becomes an
    error whose words cuGetErrorString has."""

    def enter(function: Callable[..., int | None]) -> Callable[..., int | None]:
        def guarded(*values: Any) -> int:
            try:
                return function(*values) or SUCCESS
            except KeyError as error:
                return _fail(INVALID_VALUE, Error(f"{function.__name__}: there is no handle {error}"))
            except BaseException as error:  # KeyboardInterrupt too: nothing passes through the client's C code
                return _fail(LAUNCH_FAILED, error)

        _enter(function.__name__, CFUNCTYPE(c_int, *arguments)(guarded))
        return function

    return enter


def _enter(name: str, function: Any) -> None:
    """Functions stay for ever: the client calls some when the interpreter ends, after this module is gone."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(function))
    _functions[name.encode()] = function


# For which there is nothing to do. Those that release something the client calls also while an exception is on its way,
# which no callback in Python survives: hence a function of the C library that does nothing and returns 0.
_NOTHING = """
    cuInit cuCtxSynchronize cuCtxPushCurrent cuCtxPopCurrent cuCtxSetCurrent cuStreamDestroy cuStreamSynchronize
    cuStreamWaitEvent cuEventDestroy cuEventQuery cuEventRecord cuEventSynchronize cuGraphAddMemAllocNode
    cuGraphAddMemFreeNode cuGraphAddMemsetNode cuGraphDestroy cuGraphExecDestroy cuKernelSetAttribute cuLibraryUnload
"""
for _name in _NOTHING.split():
    _enter(_name, ctypes.CDLL(None).sched_yield)


@_cu(_INT)
def cuDriverGetVersion(version: Any) -> None:
    version[0] = DRIVER_VERSION


@_cu(c_int, POINTER(c_char_p))
def cuGetErrorString(code: int, text: Any) -> None:
    if code == getattr(_said, "code", SUCCESS):
        ctypes.cast(text, POINTER(c_void_p))[0] = ctypes.addressof(_said.text)
    else:
        text[0] = {NOT_SUPPORTED: b"the virtual machine has no such operation", NOT_FOUND: b"not found"}.get(
            code, b"error %d" % code)


@_cu(_OUT)
def cuCtxGetCurrent(context: Any) -> None:
    context[0] = CONTEXT


@_cu(_INT)
def cuCtxGetDevice(device: Any) -> None:
    device[0] = 0


@_cu(_INT, _P)
def cuCtxGetDevice_v2(device: Any, _context: int) -> None:
    device[0] = 0


@_cu(_P, POINTER(c_ulonglong))
def cuCtxGetId(_context: int, number: Any) -> None:
    number[0] = CONTEXT


@_cu(_INT, c_int)
def cuDeviceGet(device: Any, ordinal: int) -> None:
    device[0] = ordinal


@_cu(_INT)
def cuDeviceGetCount(count: Any) -> None:
    count[0] = 1


@_cu(_INT, c_int, c_int)
def cuDeviceGetAttribute(value: Any, attribute: int, _device: int) -> None:
    value[0] = attributes().get(attribute, 0)


@_cu(_OUT, c_int)
def cuDevicePrimaryCtxRetain(context: Any, _device: int) -> None:
    context[0] = CONTEXT


@_cu(_OUT, c_int, c_uint64)
def cuPointerGetAttribute(value: Any, attribute: int, _address: int) -> int:
    if attribute != 1:  # CU_POINTER_ATTRIBUTE_CONTEXT
        return NOT_SUPPORTED
    value[0] = CONTEXT
    return SUCCESS


# ---- memory ----

def _allocate(out: Any, size: int) -> None:
    memory = (c_ubyte * max(size, 1))()
    out[0] = ctypes.addressof(memory)
    _memory[out[0]] = memory


def _free(address: int) -> None:
    del _memory[address]


for _name in ("cuMemAlloc", "cuMemAllocHost"):
    _allocate.__name__ = _name
    _cu(_OUT, c_size_t)(_allocate)
for _name in ("cuMemFree", "cuMemFreeHost"):
    _free.__name__ = _name
    _cu(_P)(_free)


@_cu(_P, _P, c_size_t, _P)
def cuMemcpyHtoDAsync(target: int, source: int, size: int, _stream: int) -> None:
    ctypes.memmove(target, source, size)


# ---- streams and events ----

def new_handle() -> int:
    """A handle that is nobody else's."""
    return next(_handles) * 16


@_cu(_OUT, c_uint)
def cuStreamCreate(stream: Any, _flags: int) -> None:
    stream[0] = new_handle()


@_cu(_P, _OUT)
def cuStreamGetCtx(_stream: int, context: Any) -> None:
    context[0] = CONTEXT


@_cu(_P, POINTER(c_ulonglong))
def cuStreamGetId(stream: int, number: Any) -> None:
    number[0] = stream or 1


@_cu(_P, _INT)
def cuStreamIsCapturing(_stream: int, status: Any) -> None:
    status[0] = int("capturing" in hooks and hooks["capturing"]())


@_cu(_OUT, c_uint)
def cuEventCreate(event: Any, _flags: int) -> None:
    event[0] = new_handle()


def _record(event: int) -> None:
    _events[event] = time.perf_counter()
    _forget_oldest(_events)


def _forget_oldest(table: dict[int, Any]) -> None:
    while len(table) > _MOST:
        del table[next(iter(table))]


@_cu(POINTER(c_float), _P, _P)
def cuEventElapsedTime(milliseconds: Any, start: int, end: int) -> None:
    milliseconds[0] = (_events[end] - _events[start]) * 1e3


# ---- kernels ----

@_cu(_OUT, _P, _P, _P, c_uint, _P, _P, c_uint)
def cuLibraryLoadData(library: Any, image: int, *_options: Any) -> int:
    magic, size = _IMAGE.unpack(ctypes.string_at(image, _IMAGE.size))
    if magic != _MAGIC:
        return _fail(INVALID_IMAGE, Error(
            "this is machine code for a GPU, which the virtual machine cannot run: let the client compile the kernel"
            " under tilevm.cutile"))
    library[0] = _handle(_libraries, Library(Module.open(ctypes.string_at(image + _IMAGE.size, size))))
    owner = launching.owner()
    if owner is not None:
        weakref.finalize(owner, _unload, library[0])
    return SUCCESS


def _unload(library: int) -> None:
    """With the kernel object for which it was made."""
    for kernel in _libraries.pop(library).kernels.values():
        del _kernels[kernel]


@_cu(_OUT, _P, c_char_p)
def cuLibraryGetKernel(kernel: Any, library: int, name: bytes) -> None:
    loaded = _libraries[library]
    if name not in loaded.kernels:
        machine = Machine(loaded.module.kernel(name.decode()), checks=options.checks, threads=options.threads,
                          memory_limit=options.memory_limit, progress=_teller(name.decode()))
        loaded.kernels[name] = _handle(_kernels, machine)
    kernel[0] = loaded.kernels[name]


@_cu(_OUT, _P)
def cuKernelGetFunction(function: Any, kernel: int) -> None:
    function[0] = kernel


@_cu(_INT, c_int, _P, c_int)
def cuKernelGetAttribute(value: Any, _attribute: int, _kernel: int, _device: int) -> None:
    value[0] = 0


class _Progress:
    """Tells of a launch that takes long: on a terminal in one line that is written again, else a line now and then."""

    def __init__(self, symbol: str):
        self._symbol, self._start, self._last, self._told = symbol, 0.0, 0.0, False

    def begin(self) -> None:
        self._start = self._last = time.monotonic()
        self._told = False

    def __call__(self, done: int, total: int) -> None:
        now, terminal = time.monotonic(), sys.stderr.isatty()
        if now - self._last >= (1 if terminal else 10) and now - self._start >= 3:
            self._last, self._told = now, True
            words = f"{_name_of(self._symbol)}: {done} of {total} tile blocks, {now - self._start:.0f} s"
            print(f"\r\033[K{words}" if terminal else words, end="" if terminal else "\n", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._told and sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


_tellers: dict[str, _Progress] = {}


def _teller(symbol: str) -> "_Progress | None":
    return _tellers.setdefault(symbol, _Progress(symbol)) if options.progress else None


def _name_of(symbol: str) -> str:
    return kernel_names.get(symbol, symbol)


def _leaves(kernel: Kernel, params: int) -> Any:
    """Names of parameters as the kernel's author wrote them, which arrays may only be read, and which have no values."""
    leaves = kernel.named_leaves(parameter_names.get(kernel.symbol))
    if launching.read_only or is_undefined:
        addresses = ctypes.cast(params, POINTER(POINTER(c_uint64)))
        for leaf, slot in zip(leaves, kernel.array_slots()):
            if slot is not None:
                leaf.read_only = addresses[slot][0] in launching.read_only
                leaf.undefined = any(test(addresses[slot][0], options.checks) for test in is_undefined)
    return leaves


def _run(machine: Machine, grid: "tuple[int, ...]", params: Any, leaves: Any, reached: list[tuple[int, int]]) -> None:
    """Raises what stops the kernel, and what checks find but for what is suppressed; in the words of Python."""
    symbol = machine.kernel.symbol
    launching.ran = machine.kernel, grid
    teller = _tellers.get(symbol)
    if teller is not None:
        teller.begin()
    try:
        session.take(machine.run(grid, params, leaves, reached).diagnostics, _name_of(symbol))
    except InvalidError as error:  # the run went to its end
        left = session.take(error.diagnostics, _name_of(symbol))
        errors = [d for d in left if d.severity == "error"]
        if errors:
            raise InvalidError("\n".join(map(str, errors)), left) from None
    except Error as error:  # it did not: this cannot be meant to be
        if not error.diagnostics:
            raise
        session.add(error.diagnostics, _name_of(symbol))
        said = list(map(in_python, error.diagnostics))
        raise type(error)("\n".join(map(str, said)), said) from None
    finally:
        if teller is not None:
            teller.end()


def _reached_by_pointers(kernel: Kernel) -> list[tuple[int, int]]:
    """Where the kernel takes addresses of which nothing else is said: the ranges of all arrays that were given."""
    return [span(array) for array in launching.arrays or ()] if kernel.takes_pointers else []


def _launch(kernel: int, grid: Any, params: int) -> int:
    if "launch" in hooks and hooks["launch"](kernel, tuple(grid), params):
        return SUCCESS
    machine = _kernels[kernel]
    _run(machine, tuple(grid), params, _leaves(machine.kernel, params), _reached_by_pointers(machine.kernel))
    return SUCCESS


@_cu(POINTER(LaunchConfig), _P, _P, _P)
def cuLaunchKernelEx(config: Any, kernel: int, params: int, _extra: int) -> int:
    return _launch(kernel, config[0].grid, params)


@_cu(_P, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, _P, _P, _P)
def cuLaunchKernel(kernel: int, x: int, y: int, z: int, *rest: Any) -> int:
    return _launch(kernel, (x, y, z), rest[-2])


# ---- graphs: as much as the client's timing of kernels needs ----

def prepared(kernel: int, grid: tuple[int, int, int], params: int) -> Callable[[], None]:
    """A launch for later: the values of its parameters are copied now."""
    copy, machine = _copy_params(kernel, params), _kernels[kernel]
    reached = _reached_by_pointers(machine.kernel)

    def launch() -> None:
        _run(machine, grid, copy, _leaves(machine.kernel, ctypes.addressof(copy)), reached)

    return launch


def _copy_params(kernel: int, params: int) -> Any:
    """The values of parameters: an array of addresses, which keeps what they point to."""
    machine = _kernels[kernel]
    count = machine.kernel.slot_count
    values = (c_uint64 * max(count, 1))()
    addresses = ctypes.cast(params, POINTER(c_void_p))
    for i, size in enumerate(machine.kernel.slot_sizes()):
        ctypes.memmove(ctypes.addressof(values) + 8 * i, addresses[i], size)
    copy: Any = (c_void_p * max(count, 1))(*(ctypes.addressof(values) + 8 * i for i in range(count)))
    copy.kept = values
    return copy


@_cu(_OUT, c_uint)
def cuGraphCreate(graph: Any, _flags: int) -> None:
    graph[0] = _handle(_graphs, [])
    _forget_oldest(_graphs)


@_cu(_OUT, _P, _P, c_size_t, _P)
def cuGraphAddEventRecordNode(_node: Any, graph: int, _after: int, _count: int, event: int) -> None:
    _graphs[graph].append(lambda: _record(event))


@_cu(_OUT, _P, _P, c_size_t, POINTER(KernelNode))
def cuGraphAddKernelNode(_node: Any, graph: int, _after: int, _count: int, node: Any) -> None:
    kernel = node[0].kernel or node[0].function
    _graphs[graph].append(prepared(kernel, tuple(node[0].grid), node[0].params))


@_cu(_OUT, _P, c_ulonglong)
def cuGraphInstantiateWithFlags(executable: Any, graph: int, _flags: int) -> None:
    executable[0] = graph


@_cu(_P, _P)
def cuGraphLaunch(graph: int, _stream: int) -> None:
    for node in _graphs[graph]:
        node()


# ---- finding them ----

_missing = CFUNCTYPE(c_int)(lambda: NOT_SUPPORTED)


def _find(name: bytes, function: Any, version: int, _flags: int, _status: int) -> int:
    versioned = name + b"_v2" if name == b"cuCtxGetDevice" and version >= 13000 else name
    function[0] = ctypes.cast(_functions.get(versioned, _missing), c_void_p).value
    return SUCCESS


_get_proc_address = CFUNCTYPE(c_int, c_char_p, _OUT, c_int, c_uint64, _P)(_find)


def install() -> None:
    """Stands in for the client's module that opens the driver's library."""
    name = "cuda.tile._load_libcuda"
    if name in sys.modules:
        raise Error("cuTile Python has opened a driver already: enable tilevm.cutile before the first launch")
    module: Any = types.ModuleType(name)
    module._cuGetProcAddress_v2 = _get_proc_address
    module.cuGetProcAddress_v2_ptrptr = ctypes.addressof(_get_proc_address)
    sys.modules[name] = module
