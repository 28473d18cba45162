"""Modules of Tile IR bytecode: checked, printed, compiled; their kernels run on NumPy arrays."""

import sys
import threading
import weakref
from ctypes import byref, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence

from tilevm import _abi, _interrupt
from tilevm._abi import lib
from tilevm.arrays import host_array, scalar_bits
from tilevm.device import DeviceModule
from tilevm.diagnostics import Diagnostic, Findings, InvalidError, Output, UsageError

def _bytes_of(source: Any) -> bytes:
    """Bytecode as it is, or a file of it."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    return Path(source).read_bytes()


def _target_number(target: str | None) -> int:
    """90 for "sm_90" and "sm_90a"; 0 for None."""
    if target is None:
        return 0
    digits = target.removeprefix("sm_").rstrip("af")
    if not target.startswith("sm_") or not digits.isdecimal():
        raise UsageError(f"target {target!r} is not of the form 'sm_90'")
    return int(digits)


def check_bits(checks: "str | Iterable[str] | bool | None") -> int:
    """Bits of tv_check for names: "races", "bounds,races", ["races"], "all" or True; 0 for None, False and ""."""
    known: dict[str, int] = {}
    while info := lib.tv_check_at(len(known)):
        known[info.contents.name.decode()] = info.contents.check
    names = {True: "all", False: "", None: ""}[checks] if checks is None or isinstance(checks, bool) else checks
    bits = 0
    for name in names.split(",") if isinstance(names, str) else names:
        if name == "all":
            bits |= sum(known.values())
        elif name in known:
            bits |= known[name]
        elif name:
            raise UsageError(f"there is no check {name!r}; there are all, {', '.join(known)}")
    return bits


def _release(function: Callable[[c_void_p], None], handle: c_void_p, *_kept: Any) -> None:
    """For finalizers: what is kept outlives the handle, also in a cycle that is collected at once."""
    function(handle)


@dataclass(frozen=True)
class Parameter:
    """What a kernel takes. text describes it for people: "f32[n0]  stride0 = 1, base % 16"."""

    name: str
    kind: str  # "scalar", "array", "list", "pointer", "tuple", "struct" or "constant"
    dtype: str
    ndim: int
    text: str
    items: "tuple[Parameter, ...]" = ()


_KINDS = ("scalar", "array", "list", "pointer", "tuple", "struct", "constant", "tensor_map", "stream")
_TYPED = ("scalar", "array", "list", "pointer")


def _parameter(param: Any) -> Parameter:
    out = Output()
    lib.tv_param_print(byref(param), out.writer)
    kind = _KINDS[param.kind]
    return Parameter(
        name=param.name.decode(), kind=kind, text=str(out), ndim=param.ndim if kind in ("array", "list") else 0,
        dtype=lib.tv_dtype_name(param.dtype).decode() if kind in _TYPED else "",
        items=tuple(_parameter(param.items[i]) for i in range(param.item_count)))


@dataclass(frozen=True)
class Stats:
    """What a run did."""

    blocks: int
    ops: int
    bytes_loaded: int
    bytes_stored: int
    flops: int
    threads: int
    seconds: float
    findings: tuple[Diagnostic, ...] = ()  # warnings of checks; errors are raised


class Machine:
    """A virtual machine for one kernel, which keeps what was compiled. Any thread may use it; runs wait for one
    another."""

    def __init__(self, kernel: "Kernel", *, checks: int = 0, threads: int = 0, step_limit: int = 0,
                 memory_limit: int = 0, order_seed: int = 0, output: Callable[[str], Any] | None = None,
                 progress: Callable[[int, int], Any] | None = None):
        self.kernel = kernel
        self._lock = threading.Lock()
        self._write = _abi.Write(self._print)
        self._output = output or _to_stdout
        options = _abi.VmOptions(
            checks=checks, threads=threads, step_limit=step_limit, memory_limit=memory_limit, order_seed=order_seed,
            output=_abi.Writer(None, self._write))
        self._progress = _interrupt.watch(options, progress)
        self._vm = c_void_p()
        with Findings() as findings:
            findings.check(lib.tv_vm_new(kernel.module.verified(), byref(options), findings.sink, byref(self._vm)))
        weakref.finalize(self, _release, lib.tv_vm_free, self._vm, kernel.module)

    def _print(self, _user: int | None, data: int, size: int) -> bool:
        self._output(str(_abi.Str(data, size)))
        return True

    def run(self, grid: Sequence[int], params: Any, leaves: Any = None,
            ranges: Sequence[tuple[int, int]] = ()) -> Findings:
        """Runs with the values of entry parameters at params, an array of addresses as cuLaunchKernel takes it. ranges
        of addresses may be reached, too."""
        kernel = self.kernel
        with self._lock, Findings() as findings, _interrupt.watched():
            lib.tv_vm_clear_buffers(self._vm)
            findings.check(lib.tv_vm_add_params(self._vm, kernel.signature, params, kernel.slot_count, leaves,
                                                findings.sink))
            for low, high in _merged(ranges):
                findings.check(lib.tv_vm_add_buffer(self._vm, low, high - low, None, True, findings.sink))
            findings.check(lib.tv_vm_run(self._vm, kernel.symbol.encode(), (c_uint32 * 3)(*grid), params,
                                         kernel.slot_count, findings.sink))
        return findings

    def stats(self, findings: Findings) -> Stats:
        s = _abi.VmStats()
        lib.tv_vm_get_stats(self._vm, byref(s))
        return Stats(s.blocks, s.ops, s.bytes_loaded, s.bytes_stored, s.flops, s.threads, s.seconds,
                     tuple(findings.diagnostics))


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same addresses, without overlaps."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(r for r in ranges if r[0] < r[1]):
        if merged and low < merged[-1][1]:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged


def _to_stdout(words: str) -> None:
    sys.stdout.write(words)
    sys.stdout.flush()


class Kernel:
    """An entry of a module."""

    def __init__(self, module: "Module", index: int):
        self.module = module
        self.symbol = str(lib.tv_module_entry_name(module.handle, index))
        self.signature = c_void_p()
        with Findings() as findings:
            findings.check(lib.tv_signature_of_entry(module.handle, index, findings.sink, byref(self.signature)))
        weakref.finalize(self, _release, lib.tv_signature_close, self.signature, module)
        self.name = str(lib.tv_signature_function(self.signature))
        self.slot_count: int = lib.tv_signature_slot_count(self.signature)
        self.takes_pointers = any(leaf.kind == _abi.POINTER_PARAM for leaf in self.leaves())
        self._named: dict[tuple[str, ...] | None, Any] = {}
        self._machines: dict[tuple[Any, ...], Machine] = {}

    def __repr__(self) -> str:
        return f"<tilevm.Kernel {self.name}>"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the kernel's author wrote, constants included."""
        count = lib.tv_signature_param_count(self.signature)
        return tuple(_parameter(lib.tv_signature_param(self.signature, i).contents) for i in range(count))

    def leaves(self) -> list[Any]:
        """What a caller provides: the C structs of arrays, lists, scalars and pointers, in order."""
        count = lib.tv_signature_leaf_count(self.signature)
        return [lib.tv_signature_leaf(self.signature, i).contents for i in range(count)]

    def named_leaves(self, names: "tuple[str, ...] | None") -> Any:
        """What tv_vm_add_params is told of the leaves: the names that the parameters have in the source."""
        if names not in self._named:
            leaves, given = self.leaves(), dict(zip((p.name for p in self.parameters), names or ()))
            array = self._named[names] = (_abi.Leaf * len(leaves))()
            for known, leaf in zip(array, leaves):
                name, dot, rest = leaf.name.decode().partition(".")
                known.name = (given.get(name, name) + dot + rest).encode()
        return (_abi.Leaf * len(self._named[names]))(*self._named[names])

    def array_slots(self) -> "list[int | None]":
        """For each leaf, the entry parameter that is the address of its array."""
        return [leaf.first_slot if leaf.kind == _abi.ARRAY else None for leaf in self.leaves()]

    def slot_sizes(self) -> list[int]:
        """Bytes of the entry parameters."""
        slot = _abi.Slot()
        sizes: list[int] = []
        while lib.tv_signature_slot(self.signature, len(sizes), byref(slot)):
            sizes.append(slot.size)
        return sizes

    def bind(self, args: Sequence[Any], array: Callable[[Any], Any] = host_array) -> "Call":
        """Arguments checked against every promise of the signature and laid out for a launch."""
        return Call(self, args, array)

    def run(self, grid: "int | Sequence[int]", *args: Any, checks: "str | Iterable[str] | bool | None" = None,
            threads: int = 0, step_limit: int = 0) -> Stats:
        """Runs the kernel on the CPU, in place. args are those of the kernel without its constants; tuples are given as
        they are written, or flat. checks names what to look for ("races", "bounds,races", "all": `tilevm check --help`
        lists them). Raises Trap where the kernel stops, InvalidError for what checks find or promises that do not
        hold."""
        call = self.bind(args)
        key = (check_bits(checks), threads, step_limit)
        if key not in self._machines:
            self._machines[key] = Machine(self, checks=key[0], threads=threads, step_limit=step_limit)
        machine = self._machines[key]
        return machine.stats(machine.run(grid_of(grid), call, call.known))


def grid_of(grid: "int | Sequence[int]") -> tuple[int, int, int]:
    sizes = (grid,) if isinstance(grid, int) else tuple(grid)
    if not 1 <= len(sizes) <= 3 or not all(isinstance(n, int) and 0 < n < 2**24 for n in sizes):
        raise UsageError(f"grid {grid!r} is not one to three numbers of tile blocks from 1 to 16777215")
    x, y, z = sizes + (1,) * (3 - len(sizes))
    return x, y, z


def _flat(args: Iterable[Any]) -> list[Any]:
    return [leaf for arg in args for leaf in (_flat(arg) if isinstance(arg, tuple) else [arg])]


class Call:
    """Arguments of one launch. ctypes takes it for the array of addresses that cuLaunchKernel takes, as long as it
    lives."""

    def __init__(self, kernel: Kernel, args: Sequence[Any], array: Callable[[Any], Any]):
        leaves, given = kernel.leaves(), _flat(args)
        if len(leaves) != len(given):
            names = ", ".join(leaf.name.decode() for leaf in leaves) or "nothing"
            raise UsageError(f"{kernel.name} takes {len(leaves)} arguments ({names}), and {len(given)} were given;"
                             " constants were compiled in and are not given")
        self._kept: list[Any] = [self._arrays_of(leaf, arg, array) for leaf, arg in zip(leaves, given)]
        self.known = (_abi.Leaf * len(leaves))()
        carg = (_abi.Arg * len(leaves))()
        for i, (leaf, arg, arrays) in enumerate(zip(leaves, given, self._kept)):
            self.known[i].read_only = any(a.read_only for a in arrays or ())
            if arrays is None:
                carg[i].dtype, carg[i].bits = leaf.dtype, scalar_bits(lib.tv_dtype_name(leaf.dtype).decode(), arg)
            else:
                carg[i].arrays = carg[i].kept = (_abi.Array * len(arrays))(*(a.c for a in arrays))
                carg[i].array_count = len(arrays)
        handle, count = c_void_p(), c_size_t()
        with Findings() as findings:
            findings.check(lib.tv_call_new(kernel.signature, carg, len(leaves), None, findings.sink, byref(handle)))
        weakref.finalize(self, lib.tv_call_free, handle)
        self._as_parameter_ = c_void_p(lib.tv_call_params(handle, byref(count)))

    @staticmethod
    def _arrays_of(leaf: Any, arg: Any, array: Callable[[Any], Any]) -> list[Any] | None:
        """The arrays of a leaf; None for a scalar."""
        if leaf.kind == _abi.SCALAR:
            return None
        if leaf.kind == _abi.LIST and not isinstance(arg, Iterable):
            raise UsageError(f"argument '{leaf.name.decode()}': {type(arg).__name__} is not a list of arrays")
        try:
            return [array(a) for a in arg] if leaf.kind == _abi.LIST else [array(arg)]
        except UsageError as error:
            raise UsageError(f"argument '{leaf.name.decode()}': {error}") from None


class Module:
    """Bytecode that was read. Closed when it is no longer used."""

    def __init__(self, handle: c_void_p, data: bytes | None = None):
        self.handle = handle
        self.data = data  # borrowed by the handle
        self._verified = False
        weakref.finalize(self, lib.tv_module_close, handle)

    @classmethod
    def open(cls, source: Any, *, strict: bool = False) -> "Module":
        """Reads bytecode from bytes or a file. Raises InvalidError for what is malformed."""
        data, handle = _bytes_of(source), c_void_p()
        with Findings() as findings:
            options = _abi.OpenOptions(strict=strict)
            findings.check(lib.tv_module_open(data, len(data), byref(options), findings.sink, byref(handle)))
        return cls(handle, data)

    @classmethod
    def parse(cls, text: str, *, minor: int = 0) -> "Module":
        """Reads assembly. minor: the module is of version 13.minor; 0: the lowest that can express it."""
        data, handle = text.encode(), c_void_p()
        with Findings() as findings:
            findings.check(lib.tv_module_parse(data, len(data), minor, None, findings.sink, byref(handle)))
        return cls(handle)

    @property
    def version(self) -> tuple[int, int]:
        return 13, lib.tv_module_minor(self.handle)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        self.verified()
        return tuple(Kernel(self, i) for i in range(lib.tv_module_entry_count(self.handle)))

    def kernel(self, name: str | None = None) -> Kernel:
        """By symbol, or by function's name; without a name, the only one."""
        self.verified()
        index, wanted = c_size_t(), _abi.text(name or "")
        with Findings() as findings:
            findings.check(lib.tv_module_entry_find(self.handle, wanted, findings.sink, byref(index)))
        return Kernel(self, index.value)

    def verify(self, *, target: str | None = None, strict: bool = False, reference: bool = False,
               max_errors: int = 0) -> list[Diagnostic]:
        """Checks every rule, for a target ("sm_90") also whether it can run there; what was found, errors first.
        reference: what NVIDIA's compiler accepts for the target."""
        options = _abi.VerifyOptions(strict, max_errors, _target_number(target), reference)
        with Findings() as findings:
            status = lib.tv_module_verify(self.handle, byref(options), findings.sink)
            if status != 1:
                findings.check(status)
        self._verified |= status == 0
        return sorted(findings.diagnostics, key=lambda d: d.severity != "error")

    def verified(self) -> c_void_p:
        """The handle, once the module is known to be valid; raises InvalidError else."""
        if not self._verified:
            errors = [d for d in self.verify() if d.severity == "error"]
            if errors:
                raise InvalidError("\n".join(map(str, errors)), errors)
        return self.handle

    def disassemble(self, *, debug_info: bool = False, prefix: bool = False, offsets: bool = False) -> str:
        """The module as text, as `tilevm disasm` prints it."""
        out = Output()
        with Findings() as findings:
            options = _abi.PrintOptions(debug_info, prefix, offsets)
            findings.check(lib.tv_module_print(self.handle, byref(options), out.writer))
        return str(out)

    def write(self) -> bytes:
        """The module as bytecode."""
        out = Output()
        with Findings() as findings:
            findings.check(lib.tv_module_write(self.handle, findings.sink, out.writer))
        return bytes(out)

    def compile(self, target: str = "sm_80", *, opt_level: int = 3, line_info: bool = False) -> str:
        """PTX for a target."""
        out = Output()
        if not 0 <= opt_level <= 3:
            raise UsageError(f"opt_level {opt_level} is not 0 to 3")
        options = _abi.CompileOptions(target=target.encode(), opt_level=opt_level or 100, line_info=line_info)
        with Findings() as findings:
            findings.check(lib.tv_compile_ptx(self.verified(), byref(options), findings.sink, out.writer))
        return str(out)

    def load(self, device: int = 0) -> DeviceModule:
        """Compiles and loads for the GPU of the thread's current context, else for that device."""
        return DeviceModule(self, device)

    def run(self, grid: "int | Sequence[int]", *args: Any, entry: str | None = None, **options: Any) -> Stats:
        """Runs a kernel on the CPU: see Kernel.run."""
        return self.kernel(entry).run(grid, *args, **options)


def verify(source: Any, **options: Any) -> list[Diagnostic]:
    """What is wrong with bytecode in bytes or a file: empty where it is valid. Options are those of Module.verify."""
    try:
        return Module.open(source, strict=options.get("strict", False)).verify(**options)
    except InvalidError as error:
        return error.diagnostics
