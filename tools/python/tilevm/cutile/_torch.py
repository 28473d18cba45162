"""The CPU of torch in the place of its CUDA device: what programs written for device="cuda" ask for. TABLE has it all.

Tensors stay CPU tensors, and say so (`x.device`); whatever is asked for on a device is made on the CPU. Work is done when
a call returns, so streams and events only keep their form. Graphs record what is called while they are captured, torch's
own operations too, and do it again when they are replayed."""

import collections
import contextlib
import ctypes
import functools
import importlib
import time
from types import SimpleNamespace
from typing import Any, Callable, Iterator

from tilevm.arrays import is_torch
from tilevm.cutile import _driver
from tilevm.cutile._client import device_capsule
from tilevm.module import check_bits

_CPU = "cpu"


def _is_device(value: Any) -> bool:
    """Does it name a CUDA device, as a torch.device or in words?"""
    return getattr(value, "type", value if isinstance(value, str) else "").partition(":")[0] == "cuda"


def _on_cpu(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function with the CPU in the place of the device, wherever it is named."""

    @functools.wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        if _is_device(options.get("device")):
            options["device"] = _CPU
        if options.get("pin_memory"):
            options["pin_memory"] = False
        return function(*(_CPU if isinstance(a, (str, _device_type)) and _is_device(a) else a for a in args), **options)

    return wrapped


_device_type: type = str  # torch.device, once torch is there


# ---- streams, events ----

class Stream:
    """Everything on it is done when it is asked for."""

    def __init__(self, device: Any = None, priority: int = 0, stream_ptr: int | None = None, **_: Any):
        self.cuda_stream = stream_ptr if stream_ptr is not None else _driver.new_handle()
        self.device_index, self.priority = 0, priority

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def query(self) -> bool:
        return True

    def synchronize(self, *_: Any) -> None:
        pass

    wait_stream = wait_event = synchronize

    def record_event(self, event: "Event | None" = None) -> "Event":
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> "Stream":
        self._before = _streams.current
        _streams.current = self
        return self

    def __exit__(self, *_: object) -> None:
        _streams.current = self._before


class Event:
    """The time at which it was recorded."""

    def __init__(self, enable_timing: bool = False, **_: Any):
        self.at = 0.0

    def record(self, stream: Any = None) -> None:
        def stamp() -> None:
            self.at = time.perf_counter()

        stamp()
        if _graphs:
            _graphs[-1].nodes.append(stamp)

    def elapsed_time(self, end: "Event") -> float:
        return (end.at - self.at) * 1e3

    def query(self) -> bool:
        return True

    def synchronize(self, *_: Any) -> None:
        pass

    wait = synchronize


_default = Stream(stream_ptr=0)
_streams = SimpleNamespace(current=_default)


@contextlib.contextmanager
def _stream(stream: Stream | None) -> Iterator[None]:
    with stream or contextlib.nullcontext():
        yield


# ---- graphs ----

class CUDAGraph:
    """What was called while it was captured, to be done again."""

    def __init__(self, *_: Any, **__: Any):
        self.nodes: list[Callable[[], Any]] = []

    def capture_begin(self, *_: Any, **__: Any) -> None:
        self.reset()
        self._record = _recorder(self)
        self._record.__enter__()
        _graphs.append(self)

    def capture_end(self) -> None:
        _graphs.remove(self)
        self._record.__exit__(None, None, None)

    def replay(self) -> None:
        for node in self.nodes:
            node()

    def reset(self) -> None:
        self.nodes.clear()


_graphs: list[CUDAGraph] = []  # that are being captured


def _capture_launch(kernel: int, grid: tuple[int, int, int], params: int) -> bool:
    """While a graph is captured kernels are recorded, not run."""
    if not _graphs:
        return False
    _graphs[-1].nodes.append(_driver.prepared(kernel, grid, params))
    return True


def _recorder(graph: CUDAGraph) -> Any:
    """Runs torch's operations, for their results' memory, and records them."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            import torch
            results = function(*args, **(kwargs or {}))

            def again() -> None:
                for old, new in zip(tree_leaves(results), tree_leaves(function(*args, **(kwargs or {})))):
                    if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                        old.copy_(new)

            graph.nodes.append(again)
            return results

    return Recorder()  # type: ignore[no-untyped-call]


class GraphCapture:
    """torch.cuda.graph."""

    def __init__(self, graph: CUDAGraph, *_: Any, **__: Any):
        self._graph = graph

    def __enter__(self) -> None:
        self._graph.capture_begin()

    def __exit__(self, *_: object) -> None:
        self._graph.capture_end()


class Device(contextlib.nullcontext[None]):
    """torch.cuda.device."""

    def __init__(self, *_: Any):
        super().__init__()


# ---- memory that nothing has written ----

_MARK = 0xA5  # what it is filled with while checks look for reads of it
_empties: dict[int, int] = {}  # address of a storage: its bytes, when it was made


def _marked(make: Callable[..., Any]) -> Callable[..., Any]:
    """torch.empty and its kin: where checks look for reads of what nothing has written, the memory is marked."""

    @functools.wraps(make)
    def wrapped(*args: Any, **options: Any) -> Any:
        tensor = make(*args, **options)
        if _driver.options.checks & _uninit() and tensor.layout == _strided and tensor.device.type == _CPU:
            storage = tensor.untyped_storage()
            if storage.nbytes():
                ctypes.memset(storage.data_ptr(), _MARK, storage.nbytes())
                _empties[storage.data_ptr()] = storage.nbytes()
        return tensor

    return wrapped


@functools.cache
def _uninit() -> int:
    return check_bits("uninit")


def _is_undefined(address: int, checks: int) -> bool:
    """Is it the address of an argument all of whose bytes are still as they were made? Memory may have gone to another
    tensor since, whose numbers would hardly be the mark."""
    if not checks & _uninit() or not _empties:
        return False
    for tensor in _driver.launching.arrays or ():
        if is_torch(tensor) and tensor.data_ptr() == address and tensor.untyped_storage().data_ptr() in _empties:
            import torch
            whole = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
            if bool((whole == _MARK).all()):
                return True
            del _empties[tensor.untyped_storage().data_ptr()]
    return False


_strided: Any = None  # torch.strided, once torch is there


# ---- what stands in for what ----

def _properties(*_: Any) -> SimpleNamespace:
    major, minor = _driver.options.capability
    return SimpleNamespace(
        name="tilevm virtual machine", major=major, minor=minor,
        multi_processor_count=_driver.options.multiprocessor_count, total_memory=1 << 34,
        L2_cache_size=1 << 20, shared_memory_per_block=48 << 10, shared_memory_per_block_optin=227 << 10,
        shared_memory_per_multiprocessor=228 << 10, regs_per_multiprocessor=1 << 16,
        max_threads_per_multi_processor=2048, warp_size=32, is_integrated=0, is_multi_gpu_board=0, pci_bus_id=0,
        pci_device_id=0, pci_domain_id=0, uuid="00000000-0000-0000-0000-000000000000")


def _free_memory(*_: Any) -> tuple[int, int]:
    return _properties().total_memory, _properties().total_memory


def _on_cpu_alone(profile: Callable[..., Any]) -> Callable[..., Any]:
    """torch.profiler.profile.__init__: nothing happens on a device that it could look at."""

    @functools.wraps(profile)
    def wrapped(self: Any, *, activities: Any = None, **options: Any) -> None:
        left = None if activities is None else [a for a in activities if a.name == "CPU"]
        profile(self, activities=left, **options)

    return wrapped


def _as_it_is(*functions: Any, **options: Any) -> Any:
    """torch.compile: the function itself, also where it is used as a decorator with options."""
    return functions[0] if functions else _as_it_is


def _always(value: Any) -> Callable[..., Any]:
    """A function of its own for each name: torch tells them apart. None: work is done already, caches there are none."""
    return lambda *_, **__: value


def _with_out_dtype(product: Callable[..., Any]) -> Callable[..., Any]:
    """Products whose result is of another type than their operands: torch has them for devices only."""

    @functools.wraps(product)
    def wrapped(*tensors: Any, out_dtype: Any = None, **options: Any) -> Any:
        given = tensors if out_dtype is None else tuple(t.to(out_dtype) for t in tensors)
        return product(*given, **options)

    return wrapped


_FACTORIES = """
    arange as_tensor asarray bartlett_window blackman_window empty empty_like empty_permuted empty_strided eye fft.fftfreq
    fft.rfftfreq from_file full full_like hamming_window hann_window kaiser_window linspace logspace normal ones ones_like
    rand rand_like randint randint_like randn randn_like randperm range scalar_tensor sparse_coo_tensor
    sparse_csr_tensor tensor tril_indices triu_indices zeros zeros_like set_default_device
    utils._device.DeviceContext.__init__
    Tensor.to Tensor.new_empty Tensor.new_empty_strided Tensor.new_full Tensor.new_ones Tensor.new_tensor
    Tensor.new_zeros nn.Module.to
"""

_EMPTY = ("empty", "empty_like", "empty_permuted", "empty_strided", "Tensor.new_empty", "Tensor.new_empty_strided")


def _state() -> Any:
    """torch, whose own generator stands in for the device's."""
    return importlib.import_module("torch")


# a name in torch: what is there instead of it, given what was there
TABLE: dict[str, Callable[[Any], Any]] = {
    **{name: _on_cpu for name in _FACTORIES.split()},
    **{name: lambda make: _marked(_on_cpu(make)) for name in _EMPTY},
    **{name: _with_out_dtype for name in ("mm", "bmm", "addmm", "baddbmm")},
    "Generator": lambda generator: type("Generator", (generator,), {"__new__": _on_cpu(generator.__new__)}),
    "Tensor.cuda": lambda _: lambda self, *_, **__: self,
    "Tensor.pin_memory": lambda _: lambda self, *_: self,
    "Tensor.record_stream": lambda _: _always(None),
    "Tensor.is_cuda": lambda _: property(lambda self: True),
    "nn.Module.cuda": lambda _: lambda self, *_: self,
    "_C._to_dlpack": device_capsule,
    "cuda.Stream": lambda _: Stream,
    "cuda.Event": lambda _: Event,
    "cuda.CUDAGraph": lambda _: CUDAGraph,
    "cuda.graph": lambda _: GraphCapture,
    "cuda.stream": lambda _: _stream,
    "cuda.device": lambda _: Device,
    "cuda.is_available": lambda _: _always(True),
    "cuda.is_initialized": lambda _: _always(True),
    "cuda.is_current_stream_capturing": lambda _: lambda: bool(_graphs),
    "cuda.device_count": lambda _: _always(1),
    "cuda.current_device": lambda _: _always(0),
    "cuda.current_stream": lambda _: lambda *_: _streams.current,
    "cuda.default_stream": lambda _: lambda *_: _default,
    "cuda.get_device_capability": lambda _: lambda *_: _driver.options.capability,
    "cuda.get_device_name": lambda _: lambda *_: _properties().name,
    "cuda.get_device_properties": lambda _: _properties,
    "cuda.mem_get_info": lambda _: _free_memory,
    "cuda.memory_stats": lambda _: lambda *_: collections.defaultdict(int),
    "cuda.memory_summary": lambda _: _always(""),
    "cuda.is_bf16_supported": lambda _: _always(True),
    "cuda.get_arch_list": lambda _: lambda: ["sm_%d%d" % _driver.options.capability],
    "cuda.can_device_access_peer": lambda _: _always(False),
    "cuda.get_rng_state": lambda _: lambda *_: _state().get_rng_state(),
    "cuda.get_rng_state_all": lambda _: lambda: [_state().get_rng_state()],
    "cuda.set_rng_state": lambda _: lambda state, *_: _state().set_rng_state(state),
    "cuda.set_rng_state_all": lambda _: lambda states: _state().set_rng_state(states[0]),
    "cuda.manual_seed": lambda _: lambda seed: _state().default_generator.manual_seed(seed) and None,
    "cuda.manual_seed_all": lambda _: lambda seed: _state().default_generator.manual_seed(seed) and None,
    "cuda.initial_seed": lambda _: lambda: _state().initial_seed(),
    "cuda.nvtx.range": lambda _: lambda *_, **__: contextlib.nullcontext(),
    "cuda.nvtx.range_push": lambda _: _always(0),
    "cuda.nvtx.range_pop": lambda _: _always(0),
    "cuda.nvtx.mark": lambda _: _always(None),
    "cuda.profiler.start": lambda _: _always(None),
    "cuda.profiler.stop": lambda _: _always(None),
    "cuda.profiler.profile": lambda _: contextlib.nullcontext,
    "profiler.profile.__init__": _on_cpu_alone,
    "nn.attention.sdpa_kernel": lambda choose: functools.wraps(choose)(lambda *_, **__: contextlib.nullcontext()),
    "amp.autocast_mode.autocast.__init__": _on_cpu,
    "compile": lambda _: _as_it_is,
    **{f"cuda.{name}": lambda _: _always(0) for name in (
        "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")},
    **{f"cuda.{name}": lambda _: _always(None) for name in (
        "init", "synchronize", "set_device", "set_stream", "empty_cache", "ipc_collect", "seed", "seed_all",
        "reset_peak_memory_stats", "reset_max_memory_allocated", "reset_accumulated_memory_stats")},
}


def install() -> None:
    """Puts everything of the table in its place."""
    global _device_type, _strided
    torch = importlib.import_module("torch")
    for name in ("utils._device", "nn.attention", "cuda.nvtx", "cuda.profiler", "profiler", "amp.autocast_mode"):
        importlib.import_module(f"torch.{name}")
    _device_type, _strided = torch.device, torch.strided
    for name, stand_in in TABLE.items():
        path, _, attribute = name.rpartition(".")
        owner = torch
        for part in path.split(".") if path else ():
            owner = getattr(owner, part)
        if hasattr(owner, attribute):
            setattr(owner, attribute, stand_in(getattr(owner, attribute)))
    _driver.hooks["launch"] = _capture_launch
    _driver.hooks["capturing"] = lambda: bool(_graphs)
    _driver.is_undefined.append(_is_undefined)
