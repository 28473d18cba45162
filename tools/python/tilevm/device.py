"""Kernels on a GPU, through the loader of the library: only the driver is needed."""

import ctypes
import weakref
from ctypes import byref, c_int, c_void_p
from typing import TYPE_CHECKING, Any, Sequence

from tilevm import _abi, dlpack
from tilevm._abi import lib
from tilevm.arrays import Described, check_address, from_interface, from_torch, is_torch
from tilevm.diagnostics import DeviceError, UnsupportedError, UsageError

if TYPE_CHECKING:
    from tilevm.module import Kernel, Module


def _check(status: int, what: str) -> None:
    if status:
        words = lib.tvGetLastErrorMessage().decode(errors="replace")
        raise DeviceError(words or f"{what}: the driver gives error {status}")


def _make_current(device: int) -> None:
    """The thread's current context, else the device's own."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise DeviceError(f"there is no CUDA driver here ({error}): run kernels on the CPU with Kernel.run") from None
    context, number = c_void_p(), c_int()
    steps = (("cuInit", 0), ("cuCtxGetCurrent", byref(context)), ("cuDeviceGet", byref(number), device))
    for name, *arguments in steps:
        status = getattr(driver, name)(*arguments)
        if status:
            raise DeviceError(f"{name} gives error {status}: is there a GPU {device}?")
    if not context.value:
        status = driver.cuDevicePrimaryCtxRetain(byref(context), number) or driver.cuCtxPushCurrent_v2(context)
        if status:
            raise DeviceError(f"the context of GPU {device} cannot be had: the driver gives error {status}")


def device_array(array: Any) -> Described:
    """A tensor of torch on a GPU, or anything with __cuda_array_interface__ or DLPack."""
    if is_torch(array):
        if array.device.type not in ("cuda", "meta"):
            raise UsageError(f"a tensor is on {array.device}: launch takes arrays on a GPU, run those of the CPU")
        return from_torch(array)
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        return from_interface(array, interface)
    if not hasattr(array, "__dlpack__"):
        raise UsageError(f"{type(array).__name__} is no array on a GPU: it has neither __cuda_array_interface__ nor"
                         " __dlpack__")
    if array.__dlpack_device__()[0] == dlpack.CPU:
        raise UsageError("an array is in the CPU's memory: launch takes arrays on a GPU, run those of the CPU")
    tensor, shape, strides = dlpack.take(array.__dlpack__(stream=-1))
    check_address(array, tensor.data or 0, shape)
    return Described(array, (tensor.data or 0) + tensor.byte_offset, dlpack.dtype_of(tensor), shape, strides, False)


class DeviceKernel:
    """A kernel that was loaded."""

    def __init__(self, owner: "DeviceModule", kernel: "Kernel"):
        self._owner, self.kernel, self._function = owner, kernel, c_void_p()
        _check(lib.tvModuleGetFunction(byref(self._function), owner.handle, kernel.symbol.encode()), kernel.name)

    def launch(self, grid: "int | Sequence[int]", *args: Any, stream: Any = 0) -> None:
        """Queues the kernel. args are arrays on the GPU and numbers, as for Kernel.run; stream is a number, or has it
        as cuda_stream (torch), ptr (CuPy) or __cuda_stream__."""
        from tilevm.module import grid_of
        if any(leaf.kind == _abi.LIST for leaf in self.kernel.leaves()):
            raise UnsupportedError(f"{self.kernel.name} takes a list of arrays, whose descriptors would have to be on the"
                                   " GPU: launch it with cuTile Python, or give it the arrays one by one")
        call = self.kernel.bind(args, device_array)
        _check(lib.tvLaunchKernel(self._function, *grid_of(grid), 1, 1, 1, 0, _stream_number(stream), call,
                                  None), self.kernel.name)


def _stream_number(stream: Any) -> int:
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    return int(getattr(stream, "cuda_stream", getattr(stream, "ptr", stream)))


class DeviceModule:
    """A module that was compiled and loaded for the current context's device. Unloaded when it is no longer used."""

    def __init__(self, module: "Module", device: int = 0):
        module.verified()
        _make_current(device)
        self.module, self.handle = module, c_void_p()
        _check(lib.tvModuleLoadData(byref(self.handle), module.data or module.write()), "loading")
        weakref.finalize(self, lib.tvModuleUnload, self.handle).atexit = False

    def kernel(self, name: str | None = None) -> DeviceKernel:
        return DeviceKernel(self, self.module.kernel(name))
